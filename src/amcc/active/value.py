"""What an answer is worth: by how much it is expected to lower the loss of what is believed.

A worker says yes with the chance `hit` where the label is present and `false_alarm` where it is absent. Before the
answer comes, both answers have a chance, and each would change the probability of presence by Bayes' rule. The expected
loss after the answer is never above the loss now, because a loss of probabilities is concave: an answer is never worth
less than nothing, and worth nothing where it cannot change what is believed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from amcc.arrays import Floats

# What it costs, in expectation, to believe so; by probability.
Loss = Callable[[Floats], Floats]


def decision_error(proba: Floats) -> Floats:
    """Chance that the more likely of present and absent is wrong."""
    return np.asarray(np.minimum(proba, 1.0 - proba))


def entropy(proba: Floats) -> Floats:
    """Expected log-loss, in nats."""
    return np.asarray(-xlogy(proba, proba) - xlogy(1.0 - proba, 1.0 - proba))


class Outcomes(NamedTuple):
    """What may come of a question: the chance of a yes, and the probability of presence after a yes and after a no."""

    yes: Floats
    after_yes: Floats
    after_no: Floats


def outcomes(proba: Floats, hit: Floats, false_alarm: Floats) -> Outcomes:
    """By Bayes' rule. An answer that cannot come leaves the probability as it is.

    >>> [float(each.round(2)) for each in outcomes(np.array(0.5), np.array(0.9), np.array(0.2))]
    [0.55, 0.82, 0.11]
    """
    yes = proba * hit + (1.0 - proba) * false_alarm
    no = 1.0 - yes
    after_yes = np.divide(proba * hit, yes, out=np.array(np.broadcast_to(proba, yes.shape)), where=yes > 0)
    after_no = np.divide(proba * (1.0 - hit), no, out=np.array(np.broadcast_to(proba, yes.shape)), where=no > 0)
    return Outcomes(yes, after_yes, after_no)


def expected_drop(loss: Loss, proba: Floats, hit: Floats, false_alarm: Floats) -> Floats:
    """By how much the answer of a worker with these rates is expected to lower the loss; never below 0."""
    yes, after_yes, after_no = outcomes(proba, hit, false_alarm)
    later = yes * loss(after_yes) + (1.0 - yes) * loss(after_no)
    return np.asarray(np.maximum(loss(proba) - later, 0.0))  # a rounding error is no loss
