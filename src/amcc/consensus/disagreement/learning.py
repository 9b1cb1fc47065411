"""How rates and shares of the explanations are learned from votes: EM, started by the consensus of any model."""

from __future__ import annotations

import numpy as np

from amcc.arrays import Floats, Mask, safe_logit, sigmoid, weight_per_code
from amcc.consensus.disagreement.asked import FOLDS, AskedPairs
from amcc.consensus.disagreement.explanations import ABSENT, HARD, PRESENT, SPLIT, SURELY, Explanations
from amcc.consensus.disagreement.sides import FIRST_SHARE, LABEL_PAIRS, with_sides

ROUNDS, LAST_ROUNDS = 6, 3
"""Of EM without sides, and with both: with four times as many, about one kind in a hundred is
another (crowds of benchmarks/disagreement.py)."""

LEAST_HIT, MOST_FALSE_ALARM = 0.75, 0.25
"""Where less than three in four of the crowd see a label, people do not agree that it is there, whatever an expert
would say: such pairs are hard, and must not become what `present` means."""

CROWD_VOTES, WORKER_VOTES = 4.0, 8.0
"""Votes that the label's crowd lends to a worker's rate, and at most so many that they and the worker's other labels
lend to a rate on one label."""

LEAST_COMPARED = 4
"""Votes on a pair from which sides are learned: with fewer there is hardly a pair of voters on each side."""


def learn(asked: AskedPairs, proba: Floats, n_workers: int, n_labels: int) -> Explanations:
    """Explanations of these votes, from the probabilities that a model gives to their pairs."""
    start = np.zeros((len(proba), 4))
    start[:, PRESENT], start[:, ABSENT] = proba, 1 - proba
    now = _updated(asked, start, n_workers, n_labels, None)
    for _ in range(ROUNDS):
        now = _updated(asked, now.posterior(asked), n_workers, n_labels, now)
    contested = (asked.n_yes > 0) & (asked.n_yes < asked.n_votes) & (asked.n_votes >= LEAST_COMPARED)
    if not contested.any():
        return now
    free = independent_fit(asked, proba, n_workers, n_labels)[contested]
    now = with_sides(asked.where(contested), now, free, n_workers, n_labels)
    if not (now.share[:, SPLIT] > 0).any():
        return now
    for _ in range(LAST_ROUNDS):
        member = now.posterior(asked)
        now = _updated(asked, member, n_workers, n_labels, now)
    return now


def _updated(
    asked: AskedPairs, member: Floats, n_workers: int, n_labels: int, before: Explanations | None
) -> Explanations:
    """Rates and shares by what explains each pair; sides stay as they were."""
    rates, usual = zip(
        *(
            _rates(asked.counts(member[:, of]), limits, asked, n_workers, n_labels)
            for of, limits in ((PRESENT, (LEAST_HIT, 1.0)), (ABSENT, (0.0, MOST_FALSE_ALARM)))
        ),
        strict=True,
    )
    pairs = np.stack([weight_per_code(asked.label, column, n_labels) for column in member.T], axis=1)
    if before is None:
        side, open_to = np.full((FOLDS, len(asked.coin_worker)), 0.5), np.zeros(n_labels, bool)
        pairs[:, HARD] = FIRST_SHARE * pairs.sum(axis=1)
    else:
        side, open_to = before.side, before.share[:, SPLIT] > 0
    return Explanations(
        rates[0], rates[1], side, _shares(pairs, open_to), asked.coin_worker, asked.coin_label, np.stack(usual)
    )


def _rates(
    counts: Floats, limits: tuple[float, float], asked: AskedPairs, n_workers: int, n_labels: int
) -> tuple[Floats, Floats]:
    """(n_coins,) rates of yes, and (n_labels,) those of the crowd, from the votes (no, yes) that met such pairs.

    A worker's rate on a label leans on their other labels, and that on the crowd of the label. Where the crowd of a
    label is outside the limits, the log-odds of all its rates are moved by as much as it takes to bring it back.
    """
    of_label = np.stack([weight_per_code(asked.coin_label, column, n_labels) for column in counts.T], axis=1)
    of_worker = np.stack([weight_per_code(asked.coin_worker, column, n_workers) for column in counts.T], axis=1)
    total = of_label.sum(axis=0)
    overall = (total[1] + 0.5) / (total.sum() + 1)
    crowd = (of_label[:, 1] + CROWD_VOTES * overall) / (of_label.sum(axis=1) + CROWD_VOTES)
    own = of_worker[asked.coin_worker]
    mean = (own[:, 1] + CROWD_VOTES * crowd[asked.coin_label]) / (own.sum(axis=1) + CROWD_VOTES)
    rate = (counts[:, 1] + WORKER_VOTES * mean) / (counts.sum(axis=1) + WORKER_VOTES)
    inside = np.clip(crowd, *limits)
    move = (safe_logit(inside) - safe_logit(crowd))[asked.coin_label]
    return np.clip(sigmoid(safe_logit(rate) + move), SURELY, 1 - SURELY), np.clip(inside, SURELY, 1 - SURELY)


def independent_fit(asked: AskedPairs, proba: Floats, n_workers: int, n_labels: int) -> Floats:
    """(n_pairs,) log-likelihood if votes are independent given presence, at whatever rates fit best.

    In a crowd that often errs the limits of hit and false-alarm rates leave something unexplained, in which sides may
    seem to last. They must predict better than this as well.
    """
    member = np.stack([proba, 1 - proba])
    log_joint = np.empty_like(member)
    for _ in range(ROUNDS):
        pairs = np.stack([weight_per_code(asked.label, weight, n_labels) for weight in member])
        share = (pairs + 1) / (pairs.sum(axis=0) + 2)
        for place in (PRESENT, ABSENT):
            rate, _ = _rates(asked.counts(member[place]), (0.0, 1.0), asked, n_workers, n_labels)
            log_joint[place] = np.log(share[place])[asked.label] + asked.log_likelihood(rate)
        total = np.logaddexp(*log_joint)
        member = np.exp(log_joint - total)
    return np.asarray(total)


def _shares(pairs: Floats, open_to_split: Mask) -> Floats:
    """(n_labels, 4) how frequent explanations are, from expected pairs; split only where a label is open to it."""
    allowed = np.ones(pairs.shape)
    allowed[:, SPLIT] = open_to_split
    pairs = pairs * allowed
    usual = pairs.sum(axis=0) + np.array([1.0, 1.0, FIRST_SHARE, FIRST_SHARE])
    lent = usual / usual.sum() * allowed
    share = pairs + LABEL_PAIRS * lent
    return np.asarray(share / share.sum(axis=1, keepdims=True))
