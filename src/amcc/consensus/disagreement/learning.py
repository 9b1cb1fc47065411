"""How rates and shares of the explanations are learned from votes: EM, started by the consensus of any model.

First without sides. Then sides are searched on contested pairs (`sides`), and where some last, EM goes on with them.
"""

from __future__ import annotations

import numpy as np

from amcc.arrays import Floats, Mask, safe_logit, sigmoid, weight_per_code
from amcc.consensus.disagreement.asked import SIDE_FOLDS, AskedPairs
from amcc.consensus.disagreement.explanations import ABSENT, HARD, PRESENT, SPLIT, SURELY, Explanations
from amcc.consensus.disagreement.sides import FIRST_SHARE, LABEL_PAIRS, with_sides

# Rounds of EM without sides, and with them: with four times as many (also of `sides.SIDE_ROUNDS`), about one kind in a
# hundred is another (crowds of benchmarks/disagreement.py).
FIRST_ROUNDS, LAST_ROUNDS = 6, 3

# Where less than three in four of the crowd see a label, people do not agree that it is there, whatever an expert would
# say: such pairs are hard, and must not become what `present` means. The same with yes and no exchanged.
LEAST_HIT, MOST_FALSE_ALARM = 0.75, 0.25

# Votes that the label's crowd lends to a worker's rate: a newcomer with four votes is half their own.
CROWD_VOTES = 4.0

# Votes that a worker's other labels (and the crowd) lend to their rate on one label: with eight votes of theirs on it,
# the rate is half its own.
WORKER_VOTES = 8.0

# Votes on a pair from which sides are learned: with fewer there is hardly a pair of voters on each side.
LEAST_COMPARED = 4


def learn(asked: AskedPairs, proba: Floats) -> Explanations:
    """Explanations of these votes, from the (n_pairs,) probabilities that a model gives to their pairs.

    The probabilities only start EM: a model that is wrong about hard pairs need not be believed.
    """
    start = np.zeros((len(proba), 4))
    start[:, PRESENT], start[:, ABSENT] = proba, 1 - proba
    now = updated(asked, start, None)
    for _ in range(FIRST_ROUNDS):
        now = updated(asked, now.posterior(asked), now)
    contested = (asked.n_yes > 0) & (asked.n_yes < asked.n_votes) & (asked.n_votes >= LEAST_COMPARED)
    if not contested.any():
        return now
    now = with_sides(asked.where(contested), now, independent_fit(asked, proba)[contested])
    # Without any split label nothing has changed since the rounds above, and there is nothing to go on with.
    for _ in range(LAST_ROUNDS if (now.share[:, SPLIT] > 0).any() else 0):
        now = updated(asked, now.posterior(asked), now)
    return now


def updated(asked: AskedPairs, member: Floats, before: Explanations | None) -> Explanations:
    """Rates and shares by what explains each pair, (n_pairs, 4); sides stay as they were, None at the start."""
    hit, usual_hit = _rates(asked, member[:, PRESENT], LEAST_HIT, 1.0)
    false_alarm, usual_false_alarm = _rates(asked, member[:, ABSENT], 0.0, MOST_FALSE_ALARM)
    pairs = np.stack([asked.by_label(column) for column in member.T], axis=1)
    if before is None:
        side, open_to_split = np.full((SIDE_FOLDS, len(asked.coin_worker)), 0.5), np.zeros(asked.n_labels, bool)
        # A model knows present and absent only; without any share EM would never find a hard pair.
        pairs[:, HARD] = FIRST_SHARE * pairs.sum(axis=1)
    else:
        side, open_to_split = before.side, before.share[:, SPLIT] > 0
    usual, share = np.stack([usual_hit, usual_false_alarm]), _shares(pairs, open_to_split)
    return Explanations(hit, false_alarm, side, share, asked.coin_worker, asked.coin_label, usual)


def _rates(asked: AskedPairs, weight: Floats, least: float, most: float) -> tuple[Floats, Floats]:
    """(n_coins,) rates of yes, and (n_labels,) those of the crowd, on pairs that count by these (n_pairs,) weights.

    A worker's rate on a label leans on their other labels, and that on the crowd of the label. Where the crowd of a
    label is outside the limits, the log-odds of all its rates are moved by as much as it takes to bring it back:
    workers keep their order, which clipping each of them would lose.
    """
    label, worker = asked.coin_label, asked.coin_worker
    no, yes = asked.counts(weight).T
    label_no, label_yes = (weight_per_code(label, each, asked.n_labels) for each in (no, yes))
    worker_no, worker_yes = (weight_per_code(worker, each, asked.n_workers)[worker] for each in (no, yes))
    all_no, all_yes = np.stack([label_no, label_yes], axis=1).sum(axis=0)
    overall = _pulled(all_no, all_yes, 0.5, 1.0)
    crowd = _pulled(label_no, label_yes, overall, CROWD_VOTES)
    mean = _pulled(worker_no, worker_yes, crowd[label], CROWD_VOTES)
    rate = _pulled(no, yes, mean, WORKER_VOTES)
    inside = np.clip(crowd, least, most)
    move = (safe_logit(inside) - safe_logit(crowd))[label]
    return np.clip(sigmoid(safe_logit(rate) + move), SURELY, 1 - SURELY), np.clip(inside, SURELY, 1 - SURELY)


def _pulled(no: Floats, yes: Floats, towards: Floats | float, votes: float) -> Floats:
    """Share of yes, as if so many more votes had been seen at the rate `towards`."""
    return (yes + votes * towards) / (no + yes + votes)


def independent_fit(asked: AskedPairs, proba: Floats) -> Floats:
    """(n_pairs,) log-likelihood if votes are independent given presence, at whatever rates fit best.

    In a crowd that often errs the limits of hit and false-alarm rates leave something unexplained, in which sides may
    seem to last. They must predict better than this as well.
    """
    member = np.stack([proba, 1 - proba])
    log_joint = np.empty_like(member)
    for _ in range(FIRST_ROUNDS):
        pairs = np.stack([asked.by_label(weight) for weight in member])
        share = (pairs + 1) / (pairs.sum(axis=0) + 2)  # one pair of each to begin with: no share is 0
        for place in (PRESENT, ABSENT):
            rate, _ = _rates(asked, member[place], 0.0, 1.0)
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
    share = pairs + LABEL_PAIRS * (usual / usual.sum() * allowed)
    return np.asarray(share / share.sum(axis=1, keepdims=True))
