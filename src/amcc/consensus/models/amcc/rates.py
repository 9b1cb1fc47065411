"""One kind of rate (hits, false alarms, or yeses of workers who do not look) in all groups, and how it is learned.

    commonality[m, l] = sigmoid(label[l] + shift[m])             what group m does on label l
    rate of worker w on l ~ Beta(strength[m] · commonality)      individuality: how far its workers scatter around it

Commonality and individuality are C_m and D_w of eq2 and eq5, as probabilities. Labels and groups add up in log-odds, so
that a group has a rate on labels it hardly met. The prior (`RatePrior`) is:

    label[l] ~ Normal(centre, label spread²),  centre ~ Normal(prior centre, crowd_spread²)
    shift[m] ~ Normal(0, group_spread²),       log strength[m] ~ even over `bayes.STRENGTH_RANGE`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np

from amcc.arrays import Floats, sigmoid
from amcc.consensus.models.amcc.coins import Effective, Usual
from amcc.consensus.models.amcc.settings import Settings
from amcc.fields import Each

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
    settings: Settings


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
        return np.clip(sigmoid(self.label + self.shift[:, None]), NEAREST_RATE, 1 - NEAREST_RATE)

    @cached_property
    def pseudo_votes(self) -> Usual:
        """The same as pseudo-votes."""
        strength = self.strength[:, None]
        return Usual(strength * self.commonality, strength * (1 - self.commonality))

    def log_prior(self, prior: RatePrior) -> float:
        """Log-density of all parameters, without constants."""
        normal = (
            ((self.label - self.centre) ** 2).sum() / prior.label_spread**2
            + (self.shift**2).sum() / prior.settings.group_spread**2
            + (self.centre - prior.centre) ** 2 / prior.settings.crowd_spread**2
        )
        return float(-0.5 * normal)


def start_rates(prior: RatePrior, n_labels: int, shift: Floats) -> Rates:
    """All labels alike, groups set apart by `shift`."""
    return Rates(prior.centre, np.full(n_labels, prior.centre), shift, np.full(len(shift), prior.strength))


def update_group_rates(rates: Rates, prior: RatePrior, effective: Effective) -> Rates:
    """Labels, their centre and shifts of groups: a logistic regression on effective votes, one Newton step each.

    One step is enough, because the effective votes are those of the rates as they were: the next round has better ones.
    """
    between, across = prior.label_spread, prior.settings.group_spread
    label = _newton(
        rates.label, rates.centre, between, *_slope_and_bend(rates, effective, axis=0),
        lambda label: _log_likelihood(effective, label, rates.shift).sum(axis=0),
    )  # fmt: skip
    # The centre's own maximum: labels and the prior, each weighted by its precision.
    weights = 1 / between**2, 1 / prior.settings.crowd_spread**2
    centre = (weights[0] * label.sum() + weights[1] * prior.centre) / (weights[0] * len(label) + weights[1])
    rates = replace(rates, label=label, centre=float(centre))
    shift = _newton(
        rates.shift, 0.0, across, *_slope_and_bend(rates, effective, axis=1),
        lambda shift: _log_likelihood(effective, label, shift).sum(axis=1),
    )  # fmt: skip
    return replace(rates, shift=shift)


def _log_likelihood(effective: Effective, label: Floats, shift: Floats) -> Floats:
    """(n_groups, n_labels) log-probability of the effective votes."""
    log_odds = label + shift[:, None]
    # log sigmoid(x) = x + log sigmoid(−x): one logarithm instead of two.
    return np.asarray(effective.yes * log_odds - (effective.yes + effective.no) * np.logaddexp(0, log_odds))


def _slope_and_bend(rates: Rates, effective: Effective, axis: int) -> tuple[Floats, Floats]:
    """First derivative of the log-likelihood, and the second with its sign changed, of labels (0) or groups (1)."""
    usual, total = sigmoid(rates.label + rates.shift[:, None]), effective.yes + effective.no
    return (effective.yes - total * usual).sum(axis), (total * usual * (1 - usual)).sum(axis)


def _newton(
    start: Floats, centre: float, spread: float, slope: Floats, bend: Floats, log_likelihood: Callable[[Floats], Floats]
) -> Floats:
    """One Newton step of each entry, with a Normal prior; cut until its value does not fall.

    The function is a sum of one term per entry (labels while groups are held, groups while labels are held), so that
    each can be cut alone.
    """

    def value(entry: Floats) -> Floats:
        return np.asarray(log_likelihood(entry) - 0.5 * ((entry - centre) / spread) ** 2)

    step = (slope - (start - centre) / spread**2) / (bend + 1 / spread**2)
    step = np.clip(step, -LONGEST_RATE_STEP, LONGEST_RATE_STEP)
    before, result = value(start), start
    for _ in range(CUTS):
        tried = start + step
        risen = value(tried) >= before - SUM_ROUNDING * np.abs(before)
        result = np.where(risen & (result == start), tried, result)
        if (result != start).all():
            break
        step = step / 4
    return result  # an entry that never rose stays where it was
