"""Soft labels: for each pair, the share of competent people who would say yes.

The probability of presence answers "is the label there?"; the soft label answers "how many see it?". Where 60 % of
good workers tick a label, the first may be .99 and the second is .6. It is a beta-binomial with a prior for each label:

    share of (i, l) ~ Beta(strength[l] · mean[l], strength[l] · (1 − mean[l]))
    soft = (Y + strength[l] · mean[l]) / (N + strength[l])

with N and Y the votes and the yeses on the pair, each weighted by the probability that its worker is competent. Only
the votes and the worker rates that every model has are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amcc.arrays import AnyInts, Codes, Floats, Ints, once_per_pair, weight_per_code
from amcc.consensus.workers import NEAR_NOTHING, Z_95, WorkerRates
from amcc.passes import sum_over_votes
from amcc.special import betaincinv, betaln, ndtr
from amcc.votes import Votes

# Votes that all labels together lend to the mean of each label: a label with eight votes is half its own.
LABEL_VOTES = 8.0

# Average pairs of all labels that every label is taken to have seen, when its strength is chosen: a strength needs many
# pairs, and labels of one task are much alike in it.
LABEL_PAIRS = 50.0

# Pseudo-votes of the prior that are tried: from 1/12, where people agree on nearly everything, to 55, where pairs of a
# label hardly differ. Neighbours differ by a quarter, which changes a soft label by less than its interval.
STRENGTHS = np.exp(np.linspace(-2.5, 4.0, 30))

# Pairs from which a prior is learned, at even distances: it has two numbers for each label.
MOST_PAIRS = 100_000

# Means of labels stay this far from 0 and 1: what nobody has ticked yet may still be ticked.
NOT_NONE = 1e-3

# Level of the intervals, as everywhere.
INTERVAL = 0.95

# Decimals of Beta parameters by which intervals are told apart: the integrals are slow, and few pairs differ.
DIGITS = 2


def competence(rates: WorkerRates) -> Floats:
    """(n_workers,) probability that a worker is no spammer.

    A spammer has less than `NEAR_NOTHING` of a good worker's informativeness; the estimate is taken as normal about
    its value, with the standard error that its 95 % interval stands for. Beginners are near the crowd.
    """
    # An interval of no width would make the step at the limit infinitely steep, and its middle undefined.
    error = np.maximum(rates.informativeness_high - rates.informativeness, 1e-6) / Z_95
    return np.asarray(ndtr((rates.informativeness - NEAR_NOTHING * rates.good_informativeness) / error))


class SoftShares(NamedTuple):
    """Shares of people who would say yes: (n_pairs,) posterior means, and the bounds of their 95 % intervals."""

    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class SoftLabels:
    """What soft labels are made from.

    competence : (n_workers,) weights of votes
    mean, strength : (n_labels,) of the priors; the strength counts in votes
    """

    competence: Floats
    mean: Floats
    strength: Floats

    def shares(self, votes: Votes) -> SoftShares:
        """Of the asked pairs of votes with these workers and labels."""
        yes, total = weighted_counts(votes, self.competence)
        return self._posterior(yes, total, votes.pairs.label)

    def unasked(self) -> SoftShares:
        """(n_labels,) the same for pairs that have no votes."""
        n_labels = len(self.mean)
        return self._posterior(np.zeros(n_labels), np.zeros(n_labels), np.arange(n_labels))

    def _posterior(self, yes: Floats, total: Floats, label: AnyInts) -> SoftShares:
        for_yes = yes + (self.strength * self.mean)[label]
        for_no = total - yes + (self.strength * (1 - self.mean))[label]
        mean = for_yes / (for_yes + for_no)
        low, high = beta_interval(for_yes, for_no)
        # The mean of a very skewed Beta lies outside its central interval; a reader expects it inside.
        return SoftShares(mean, np.minimum(low, mean), np.maximum(high, mean))


def weighted_counts(votes: Votes, weight: Floats) -> tuple[Floats, Floats]:
    """(n_pairs,) yeses and votes on each pair, weighted by worker.

    As `families.effective_counts`, but by slots: no array as long as the votes is made. On large input the two add up
    in different orders, so they may differ in the last digit.
    """
    of_coin = weight[votes.coins.worker]
    only_yes = np.stack([np.zeros_like(of_coin), of_coin], axis=1).ravel()
    slot, start = votes.coins.slot, votes.pairs.start
    return sum_over_votes(slot, start, only_yes), sum_over_votes(slot, start, np.repeat(of_coin, 2))


def learn_soft_labels(votes: Votes, weight: Floats) -> SoftLabels:
    """Priors of the labels from the votes of workers with these weights, by maximum likelihood."""
    yes, total = weighted_counts(votes, weight)
    label, n_labels = votes.pairs.label, votes.n_labels
    of_label = np.stack([weight_per_code(label, count, n_labels) for count in (yes, total)])
    overall = (of_label[0].sum() + 0.5) / (of_label[1].sum() + 1)  # one half where there are no votes at all
    mean = np.clip((of_label[0] + LABEL_VOTES * overall) / (of_label[1] + LABEL_VOTES), NOT_NONE, 1 - NOT_NONE)
    some = slice(None, None, max(1, -(-len(label) // MOST_PAIRS)))
    return SoftLabels(weight, mean, fitted_strength(yes[some], total[some], label[some], mean))


def fitted_strength(yes: Floats, total: Floats, label: Codes, mean: Floats) -> Floats:
    """(n_labels,) strengths under which the counts are likeliest, labels with few pairs leaning on all."""
    n_labels = len(mean)
    value = np.empty((len(STRENGTHS), n_labels))
    for place, strength in enumerate(STRENGTHS):
        prior = (strength * mean)[label], (strength * (1 - mean))[label]
        value[place] = weight_per_code(label, betaln(prior[0] + yes, prior[1] + total - yes) - betaln(*prior), n_labels)
    lent = value.sum(axis=1, keepdims=True) * (LABEL_PAIRS / max(len(label), 1))
    return np.asarray(STRENGTHS[(value + lent).argmax(axis=0)])


def beta_interval(for_yes: Floats, for_no: Floats) -> tuple[Floats, Floats]:
    """Central 95 % interval of Beta distributions.

    >>> low, high = beta_interval(np.array([1.0, 30.0]), np.array([1.0, 10.0]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.025, 0.607], [0.975, 0.87])
    """
    least = 10.0**-DIGITS
    key = np.maximum(np.round(np.stack([for_yes, for_no]), DIGITS), least)  # a Beta parameter of 0 has no interval
    tails = np.array([[(1 - INTERVAL) / 2], [(1 + INTERVAL) / 2]])

    def bounds(yes: Ints, no: Ints) -> Floats:
        return np.asarray(betaincinv(yes * least, no * least, tails))

    low, high = once_per_pair(bounds, *np.round(key / least).astype(np.int64))
    return low, high
