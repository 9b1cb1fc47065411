"""One kind of rate (hits, false alarms, or yeses of workers who do not look) in all groups, and how it is learned.

    commonality[m, l] = sigmoid(label[l] + shift[m])             what group m does on label l
    rate of worker w on l ~ Beta(strength[m] · commonality)      individuality: how far its workers scatter around it

Commonality and individuality are C_m and D_w of eq2 and eq5, as probabilities. Labels and groups add up in log-odds, so
that a group has a rate on labels it hardly met. The prior (`RatePrior`) is:

    label[l] ~ Normal(centre, label spread²),  centre ~ Normal(prior centre, crowd_spread²)
    shift[m] ~ Normal(0, group_spread²),       log strength[m] ~ even over `bayes.STRENGTH_RANGE`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Annotated, NamedTuple

import numpy as np

from amcc.arrays import Floats, clipped, sigmoid
from amcc.consensus.default.bayes import best_of_three
from amcc.consensus.default.coins import Usual
from amcc.fields import Each

# How much the crowd's usual rates may differ from those of the settings, and groups of workers from each other, in
# log-odds: 0.7 may as well be 0.46 or 0.86, and of a group 0.34 or 0.91. Half and double change little, because crowds
# and groups have many votes.
CROWD_SPREAD, GROUP_SPREAD = 1.0, 1.5

# The strength of groups whose workers are all the same: no worker gives so many votes on a label.
NO_INDIVIDUALITY = 1e6

# Rates are kept this far from 0 and 1: the log-gamma function of pseudo-votes must stay finite.
NEAREST_RATE = 1e-5

# Relative error of a sum. Steps must not depend on it: sums over blocks differ in their last digits, and engines must
# take the same steps.
SUM_ROUNDING = 1e-13

# Log-odds that a Newton step may move at most, and how often a step that falls is cut to a quarter. Beyond one unit the
# quadratic approximation means nothing; after three cuts a step is below a sixtieth of it, and the next round will do.
LONGEST_RATE_STEP, CUTS = 1.0, 4


class RatePrior(NamedTuple):
    """What is believed of one kind of rate before any vote.

    centre : its usual log-odds; strength : pseudo-votes at the start
    label_spread : how much labels differ, in log-odds
    """

    centre: float
    strength: float
    label_spread: float


@dataclass(frozen=True)
class Rates:
    """What was learned of one kind of rate.

    centre : log-odds of a usual label in a usual group
    label : (n_labels,) log-odds of labels; shift : (n_groups,) what groups add to them
    strength : (n_groups,) pseudo-votes that a group lends to each of its coins
    """

    centre: float
    label: Annotated[Floats, Each("label")]
    shift: Annotated[Floats, Each(".group")]
    strength: Annotated[Floats, Each(".group")]

    @cached_property
    def commonality(self) -> Floats:
        """(n_groups, n_labels) usual rate of each group on each label."""
        return clipped(sigmoid(self.label + self.shift[:, None]), NEAREST_RATE, 1 - NEAREST_RATE)

    @cached_property
    def pseudo_votes(self) -> Usual:
        """The same as pseudo-votes."""
        return self.lent(self.strength)

    def lent(self, strength: Floats) -> Usual:
        """What groups of these strengths would lend."""
        return Usual(strength[:, None] * self.commonality, strength[:, None] * (1 - self.commonality))

    def log_prior(self, prior: RatePrior) -> float:
        """Log-density of all parameters, without constants."""
        normal = (
            ((self.label - self.centre) ** 2).sum() / prior.label_spread**2
            + (self.shift**2).sum() / GROUP_SPREAD**2
            + (self.centre - prior.centre) ** 2 / CROWD_SPREAD**2
        )
        return float(-0.5 * normal)


def start_rates(prior: RatePrior, n_labels: int, shift: Floats) -> Rates:
    """All labels alike, groups set apart by `shift`."""
    return Rates(prior.centre, np.full(n_labels, prior.centre), shift, np.full(len(shift), prior.strength))


def improved_strengths(rates: Sequence[Rates], fit: Callable[[list[Usual]], list[Floats]]) -> list[Rates]:
    """The more alike workers of a group, the more votes it lends to each: twice as many, half as many, or as now.

    fit : says how well workers are explained where groups lend so much, (n_groups,) for each; asked about all kinds of
        rate with all strengths that are tried, one after the other
    """

    def value(tried: Floats) -> Floats:
        lent = [each.lent(own) for row in tried for each, own in zip(rates, _by_kind(rates, row), strict=True)]
        return np.concatenate(fit(lent)).reshape(tried.shape)

    best = _by_kind(rates, best_of_three(np.concatenate([each.strength for each in rates]), value))
    return [replace(each, strength=own) for each, own in zip(rates, best, strict=True)]


def update_group_rates(rates: Sequence[Rates], priors: Sequence[RatePrior], effective: Sequence[Floats]) -> list[Rates]:
    """Labels, their centre and shifts of groups: a logistic regression on effective votes, one Newton step each.

    One step is enough, because the effective votes are those of the rates as they were: the next round has better ones.
    Kinds of rate share nothing but the formula. They are updated together, for numpy takes no longer for all of them.
    """
    kind = np.repeat(np.arange(len(rates)), [len(each.shift) for each in rates])  # of each group
    of_kind = (kind == np.arange(len(rates))[:, None]).astype(np.float64)
    yes, no = np.concatenate(effective, axis=1)
    all_votes = _Effective(yes, yes + no)
    label, shift = np.array([each.label for each in rates]), np.concatenate([each.shift for each in rates])
    between, across = np.array([[each.label_spread] for each in priors]), GROUP_SPREAD
    slope, bend = (of_kind @ each for each in all_votes.slope_and_bend(label[kind] + shift[:, None]))
    label = _newton(
        label, np.array([[each.centre] for each in rates]), between, slope, bend,
        lambda tried: of_kind @ all_votes.log_likelihood(tried[kind] + shift[:, None]),
    )  # fmt: skip
    slope, bend = (each.sum(axis=1) for each in all_votes.slope_and_bend(label[kind] + shift[:, None]))
    moved = _newton(
        shift, 0.0, across, slope, bend,
        lambda tried: all_votes.log_likelihood(label[kind] + tried[:, None]).sum(axis=1),
    )  # fmt: skip
    return [
        Rates(_centre(of_label, prior), of_label, of_groups, each.strength)
        for each, prior, of_label, of_groups in zip(rates, priors, label, _by_kind(rates, moved), strict=True)
    ]


def _by_kind(rates: Sequence[Rates], of_groups: Floats) -> list[Floats]:
    """What is about the groups of each kind, from what is about all groups."""
    last = list(accumulate(len(each.shift) for each in rates))
    return [of_groups[first:end] for first, end in zip([0, *last], last, strict=False)]


def _centre(label: Floats, prior: RatePrior) -> float:
    """The centre's own maximum: labels and the prior, each weighted by its precision."""
    weights = 1 / prior.label_spread**2, 1 / CROWD_SPREAD**2
    return float((weights[0] * label.sum() + weights[1] * prior.centre) / (weights[0] * len(label) + weights[1]))


class _Effective(NamedTuple):
    """(n_groups, n_labels) effective votes: yes, and in all. What they say about rates with such log-odds."""

    yes: Floats
    total: Floats

    def log_likelihood(self, log_odds: Floats) -> Floats:
        """(n_groups, n_labels) log-probability of the votes."""
        # log sigmoid(x) = x + log sigmoid(−x): one logarithm instead of two.
        return np.asarray(self.yes * log_odds - self.total * np.logaddexp(0, log_odds))

    def slope_and_bend(self, log_odds: Floats) -> tuple[Floats, Floats]:
        """Its first derivative, and the second with its sign changed."""
        usual = sigmoid(log_odds)
        expected = self.total * usual
        return self.yes - expected, expected * (1 - usual)


def _newton(
    start: Floats,
    centre: Floats | float,
    spread: Floats | float,
    slope: Floats,
    bend: Floats,
    log_likelihood: Callable[[Floats], Floats],
) -> Floats:
    """One Newton step of each entry, with a Normal prior; cut until its value does not fall.

    The function is a sum of one term per entry (labels while groups are held, groups while labels are held), so that
    each can be cut alone.
    """

    def value(entry: Floats) -> Floats:
        return np.asarray(log_likelihood(entry) - 0.5 * ((entry - centre) / spread) ** 2)

    step = (slope - (start - centre) / spread**2) / (bend + 1 / spread**2)
    step = clipped(step, -LONGEST_RATE_STEP, LONGEST_RATE_STEP)
    before, result = value(start), start
    least = before - SUM_ROUNDING * np.abs(before)
    for _ in range(CUTS):
        tried = start + step
        result = np.where((value(tried) >= least) & (result == start), tried, result)
        if (result != start).all():
            break
        step = step / 4
    return result  # an entry that never rose stays where it was
