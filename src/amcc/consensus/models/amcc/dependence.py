"""Are votes independent given presence? What the votes themselves can say about it, and about two other questions.

Two coins per worker take the votes on a pair as independent, given whether the label is present. Where items are faint
or tempting, where people share a taste or language models share training data, they are not. The votes are asked
(`compare`) by how well each of them is predicted from the *others*. No truth and no second fit is needed.

- Do two kinds of pairs, present and absent, predict as well as `N_DEGREES` kinds do (`kinds_predict`)? Where votes are
  independent given presence, two predict better, since more kinds only add noise.
- Do plain counts predict as well (`counts.counts_predict`)?
- Do the other labels of an item help (`labels_predict`)?

A gain is a sum over thousands of votes that depend on each other, so its size says little. It is divided by its
standard error, where the votes on one item are one observation (`clustered_z`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, digamma, logit

from amcc.arrays import AnyInts, Codes, Floats, Ints, sigmoid, weight_per_code
from amcc.consensus.models.amcc.coins import Counts, Usual
from amcc.consensus.models.amcc.correlation import LabelSets
from amcc.consensus.models.amcc.counts import counts_predict
from amcc.consensus.models.amcc.degrees import (
    LEAST_RATE,
    MOST_RATE,
    N_DEGREES,
    STRENGTH,
    STRENGTH_RANGE,
    THOROUGH,
    updated_rate,
    updated_share,
    updated_strength,
)
from amcc.consensus.models.amcc.likelihood import LikelihoodFit
from amcc.votes import Votes

ROUNDS = 20
"""Strengths of coins need some; beyond these the answer does not change."""

SURE = 1e-4
"""No vote counts as less probable than this: one slip must not decide a sum over thousands."""


def clustered_z(gain: Floats, item: AnyInts) -> float:
    """Sum of the (n_votes,) gains over its standard error, where the votes on one item are one observation.

    >>> round(clustered_z(np.array([1.0, 1.0, 1.0, 0.0]), np.array([0, 0, 1, 1])), 3)  # items gain 2 and 1: 3 / √½
    4.243
    """
    of_item = weight_per_code(item, gain, int(item.max(initial=-1)) + 1)[np.unique(item)]
    error = float(np.sqrt(((of_item - of_item.mean()) ** 2).sum())) if len(of_item) else 0.0
    return float(of_item.sum()) / error if error > 0 else 0.0


class Comparison(NamedTuple):
    """How much better one prediction is than another, over its standard error: above 0 in favour of the first."""

    two_coins_over_kinds: float
    counts_over_two_coins: float
    labels_over_none: float


def compare(votes: Votes, fit: LikelihoodFit, sets: LabelSets) -> Comparison:
    """Ask the votes that a crowd was fitted to."""
    coins = leave_votes_out(votes, fit)
    two_coins = coins.predict(coins.others)

    def over(first: Floats, second: Floats) -> float:
        return clustered_z(log_probability(votes, first) - log_probability(votes, second), votes.item)

    return Comparison(
        over(two_coins, kinds_predict(votes, looks_of(fit), coins.by_chance)),
        over(counts_predict(votes), two_coins),
        over(labels_predict(votes, fit, sets, coins), two_coins),
    )


def looks_of(fit: LikelihoodFit) -> Floats:
    """(n_workers,) probability that a worker looks at the items at all."""
    return np.asarray(fit.crowd.looking_member.sum(axis=1))


def pair_of_vote(votes: Votes) -> Ints:
    """(n_votes,) the pair of each vote."""
    return np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)


def log_probability(votes: Votes, yes: Floats) -> Floats:
    """(n_votes,) log-probability of what was said, from that of yes."""
    said_yes = votes.value > 0
    return np.asarray(np.log(np.clip(np.where(said_yes, yes, 1 - yes), SURE, 1.0)))


# -- two coins ---------------------------------------------------------------------------------------------------------


class LeftOut(NamedTuple):
    """What two coins know of each vote's pair and coin, by all votes but this one: (n_votes,) each.

    others : probability that the label is present
    hit, false_alarm : rates, times the probability that the worker looks
    by_chance : probability that the worker does not look and says yes
    """

    others: Floats
    hit: Floats
    false_alarm: Floats
    by_chance: Floats

    def predict(self, present: Floats) -> Floats:
        """(n_votes,) probability of yes, if the label is present with this probability."""
        return present * self.hit + (1 - present) * self.false_alarm + self.by_chance


def leave_votes_out(votes: Votes, fit: LikelihoodFit) -> LeftOut:
    """Take each vote out of what the fit learned from it."""
    said, pair = fit.evidence[votes.coins.slot], pair_of_vote(votes)
    log_odds = (logit(fit.frequency)[votes.pairs.label] + weight_per_code(pair, said, len(votes.pairs)))[pair]
    present, crowd, counts = sigmoid(log_odds), fit.crowd, fit.counts
    return LeftOut(
        sigmoid(log_odds - said),
        _rate_without(votes, counts.present, crowd.hit.usual, crowd.looking_member, present),
        _rate_without(votes, counts.absent, crowd.false_alarm.usual, crowd.looking_member, 1 - present),
        _rate_without(votes, counts.total, crowd.uninformative.usual, crowd.uninformative_member, np.ones(len(votes))),
    )


def _rate_without(votes: Votes, counts: Counts, usual: Usual, member: Floats, weight: Floats) -> Floats:
    """(n_votes,) expected rate of each vote's coin, if the counts held `weight` less of this vote."""
    coin = votes.coins.slot >> 1
    worker, label, is_yes = votes.coins.worker[coin], votes.coins.label[coin], votes.value > 0
    yes = np.maximum(counts.yes[coin] - weight * is_yes, 0.0)
    no = np.maximum(counts.no[coin] - weight * ~is_yes, 0.0)
    rate = np.zeros(len(votes))
    for group, share in enumerate(member.T):
        all_yes, all_no = usual.yes[group][label] + yes, usual.no[group][label] + no
        rate += share[worker] * all_yes / (all_yes + all_no)
    return rate


# -- kinds of pairs ----------------------------------------------------------------------------------------------------


def kinds_predict(votes: Votes, looks: Floats, by_chance: Floats) -> Floats:
    """(n_votes,) probability of yes, by kinds of pairs, to each of which every coin says yes at a rate of its own.

        kind of (i, l) ~ share[l];   rate of coin (w, l) at kind k ~ Beta around the worker's rate at k on other labels
        rate of w at k ~ Beta around the usual rate of k;   votes are independent given the kind

    These are the degrees of `degrees` with rates by label, which would cost too much for all votes. Without such rates,
    crowds whose workers know some labels better than others would look dependent.
    """
    coins, pairs, pair = votes.coins, votes.pairs, pair_of_vote(votes)
    coin, is_yes = coins.slot >> 1, votes.value > 0
    grid = np.linspace(LEAST_RATE, MOST_RATE, N_DEGREES)
    rates = _KindRates(grid, np.full(N_DEGREES, STRENGTH), STRENGTH)
    share = np.full((votes.n_labels, N_DEGREES), 1 / N_DEGREES)
    weight, looking = looks[:, None], looks[coins.worker][:, None]
    evidence = np.stack([looking * np.log(1 - grid), looking * np.log(grid)], axis=1).reshape(-1, N_DEGREES)
    for number in range(ROUNDS):
        log_member = np.log(share)[pairs.label] + np.add.reduceat(evidence[coins.slot], pairs.start[:-1], axis=0)
        member = _normalised(log_member)
        counts = _sums(coins.slot, member[pair], 2 * len(coins)).reshape(-1, 2, N_DEGREES)
        no, yes = counts[:, 0], counts[:, 1]
        worker_no, worker_yes = (_sums(coins.worker, each, votes.n_workers) for each in (no, yes))
        usual = updated_rate(rates.usual, rates.to_worker, worker_yes, worker_no, weight, grid)
        rates = rates._replace(usual=usual)
        others = worker_no[coins.worker] - no, worker_yes[coins.worker] - yes
        if number % THOROUGH == 0:
            strength = updated_strength(rates.to_worker, rates.usual, worker_yes, worker_no, weight)
            rates = rates._replace(to_worker=strength)
        elif number % THOROUGH == THOROUGH - 1:
            rates = _coin_strength(rates, *others, no, yes, looking)
        prior_no, prior_yes = rates.lent(*others)
        total = digamma(prior_yes + prior_no + yes + no)
        log_rates = np.stack([digamma(prior_no + no) - total, digamma(prior_yes + yes) - total], axis=1)
        evidence = (looking[:, :, None] * log_rates).reshape(-1, N_DEGREES)
        _, share = updated_share(_sums(pairs.label, member, votes.n_labels))
    log_member = np.log(share)[pairs.label] + np.add.reduceat(evidence[coins.slot], pairs.start[:-1], axis=0)
    kinds = _normalised(log_member[pair] - evidence[coins.slot])  # by the other votes
    mine = _normalised(log_member)[pair]
    all_yes = np.maximum((prior_yes + yes)[coin] - mine * is_yes[:, None], prior_yes[coin])
    all_no = np.maximum((prior_no + no)[coin] - mine * ~is_yes[:, None], prior_no[coin])
    rate = (kinds * all_yes / (all_yes + all_no)).sum(axis=1)
    return np.asarray(looks[coins.worker[coin]] * rate + by_chance)


def _normalised(log_member: Floats) -> Floats:
    member = np.exp(log_member - log_member.max(axis=1, keepdims=True))
    return np.asarray(member / member.sum(axis=1, keepdims=True))


def _sums(code: AnyInts, weight: Floats, n_codes: int) -> Floats:
    """(n_codes, n_kinds) sums of the (n, n_kinds) weights by code."""
    return np.stack([weight_per_code(code, column, n_codes) for column in weight.T], axis=1)


class _KindRates(NamedTuple):
    """(n_kinds,) usual rates of yes; pseudo-votes lent to workers (n_kinds,), and to coins.

    The strengths are learned: coins that are freer than the data ask for would predict too well from themselves.
    """

    usual: Floats
    to_worker: Floats
    to_coin: float

    def lent(self, other_no: Floats, other_yes: Floats) -> tuple[Floats, Floats]:
        """(n_coins, n_kinds) pseudo-votes, no and yes, that a worker's votes on other labels lend to each coin.

        Their mean is the worker's rate there. They weigh as much as the worker's votes there and the crowd's together,
        but never more than `to_coin`: workers differ from label to label.
        """
        weight = self.to_worker + other_no + other_yes
        mean = np.clip((self.to_worker * self.usual + other_yes) / weight, 1e-3, 1 - 1e-3)
        strength = 1 / (1 / weight + 1 / self.to_coin)
        return strength * (1 - mean), strength * mean


def _coin_strength(
    rates: _KindRates, other_no: Floats, other_yes: Floats, no: Floats, yes: Floats, looking: Floats
) -> _KindRates:
    """What workers lend to their coins: as now, half or double, whichever explains the coins best."""

    def value(tried: float) -> float:
        prior_no, prior_yes = rates._replace(to_coin=tried).lent(other_no, other_yes)
        return float((looking * (betaln(prior_yes + yes, prior_no + no) - betaln(prior_yes, prior_no))).sum())

    tried = [float(np.clip(rates.to_coin * factor, *STRENGTH_RANGE)) for factor in (1.0, 0.5, 2.0)]
    return rates._replace(to_coin=max(tried, key=value))


# -- labels that inform each other -------------------------------------------------------------------------------------


def labels_predict(votes: Votes, fit: LikelihoodFit, sets: LabelSets, coins: LeftOut) -> Floats:
    """(n_votes,) probability of yes, by two coins and the other labels of the item.

    A vote is predicted without all that its worker said about the item: workers who tick whatever comes with what they
    ticked before would otherwise look like labels that come together.
    """
    said, pair, label = fit.evidence[votes.coins.slot], pair_of_vote(votes), votes.label
    on_pair = weight_per_code(pair, said, len(votes.pairs))
    answers, answer = np.unique(votes.item.astype(np.int64) * votes.n_workers + votes.worker, return_inverse=True)
    with_all, others = _agreement(on_pair, votes.pairs.label, sets), on_pair[pair] - said
    with_others = _agreement(others, label, sets)
    of_item = np.log(sets.share) + _sums(votes.pairs.item, with_all, votes.n_items)
    without_answer = of_item[answers // votes.n_workers] + _sums(answer, with_others - with_all[pair], len(answers))
    # What the others said about the pair itself counts once, as evidence: here it is taken out of the item's kinds.
    kinds = _normalised(without_answer[answer] - with_others)
    prior = np.clip((kinds * sets.frequency.T[label]).sum(axis=1), 1e-9, 1 - 1e-9)
    return coins.predict(sigmoid(logit(prior) + others))


def _agreement(log_odds: Floats, label: Codes, sets: LabelSets) -> Floats:
    """(n, n_kinds) log-probability of what votes say about pairs, if their item were of each kind."""
    say, frequency = sigmoid(log_odds)[:, None], sets.frequency.T[label]
    return np.asarray(np.log(frequency * say + (1 - frequency) * (1 - say)))
