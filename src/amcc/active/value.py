"""What an answer is worth: by how much it is expected to lower the loss of what is believed.

A worker says yes with the chance `hit` where the label is present and `false_alarm` where it is absent. Before the
answer comes, both answers have a chance, and each would change the probability of presence by Bayes' rule. The expected
loss after the answer is never above the loss now, because a loss of probabilities is concave: an answer is never worth
less than nothing, and worth nothing where it cannot change what is believed.

One answer often cannot change a decision, where two or three can. So an answer is worth the best of what several like
it are worth together, divided by their number: `best_ahead`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np

from amcc.arrays import Floats, Ints
from amcc.special import xlogy

# What it costs, in expectation, to believe so; by probability.
Loss = Callable[[Floats], Floats]

# Steps of the tables in doubt (0 … ½) and in skill (0 … 1): what is read between them is off by less than 0.004, and by
# less than 0.001 in the root mean square (test_value.py); a skill is not known to a hundredth.
DOUBT_STEPS, SKILL_STEPS = 200, 100


def decision_error(proba: Floats) -> Floats:
    """Chance that the more likely of present and absent is wrong."""
    return np.asarray(np.minimum(proba, 1.0 - proba))


def entropy(proba: Floats) -> Floats:
    """Expected log-loss, in nats."""
    return np.asarray(-xlogy(proba, proba) - xlogy(1.0 - proba, 1.0 - proba))


def variance(proba: Floats) -> Floats:
    """Expected squared error (half of Brier's score)."""
    return np.asarray(proba * (1.0 - proba))


# Losses by the names that a user can choose.
LOSSES: dict[str, Loss] = {"decision": decision_error, "log": entropy, "squared": variance}


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
    no = proba * (1.0 - hit) + (1.0 - proba) * (1.0 - false_alarm)  # not 1 − yes: rounding would leave 0 … 1
    after_yes = np.divide(proba * hit, yes, out=np.array(np.broadcast_to(proba, yes.shape)), where=yes > 0)
    after_no = np.divide(proba * (1.0 - hit), no, out=np.array(np.broadcast_to(proba, yes.shape)), where=no > 0)
    return Outcomes(yes, after_yes, after_no)


def expected_drop(loss: Loss, proba: Floats, hit: Floats, false_alarm: Floats) -> Floats:
    """By how much the answer of a worker with these rates is expected to lower the loss; never below 0."""
    yes, after_yes, after_no = outcomes(proba, hit, false_alarm)
    later = yes * loss(after_yes) + (1.0 - yes) * loss(after_no)
    return np.asarray(np.maximum(loss(proba) - later, 0.0))  # a rounding error is no loss


class Ahead(NamedTuple):
    """What an answer is worth as one of several: drop in loss per answer, and how many it takes to get it."""

    drop: Floats
    n_answers: Ints


def best_ahead(loss: Loss, proba: Floats, hit: Floats, false_alarm: Floats, most: int) -> Ahead:
    """The largest expected drop in loss per answer, of one to `most` answers by workers like this one.

    Nine in ten are right, and absent has a chance of .05. One yes leaves it the likelier decision, so it is worth
    nothing; two answers together are worth something, and each of them half of that.

    >>> found = best_ahead(decision_error, np.array(0.05), np.array(0.9), np.array(0.1), most=3)
    >>> float(found.drop.round(4)), int(found.n_answers)
    (0.0155, 2)
    """
    proba, hit, false_alarm = np.broadcast_arrays(proba, hit, false_alarm)
    best, number = np.zeros(proba.shape), np.ones(proba.shape, dtype=np.int64)
    for n in range(1, most + 1):
        drop = (loss(proba) - loss_after(loss, proba, hit, false_alarm, n)) / n
        better = drop > best * (1 + 1e-9)  # no more answers than it takes, whatever rounding says
        best, number = np.where(better, drop, best), np.where(better, n, number)
    return Ahead(best, number)


def loss_after(loss: Loss, proba: Floats, hit: Floats, false_alarm: Floats, n: int) -> Floats:
    """Expected loss after n answers by workers with these rates, independent given presence."""
    later = np.zeros(proba.shape)
    for n_yes in range(n + 1):
        n_no, ways = n - n_yes, comb(n, n_yes)
        present = ways * proba * hit**n_yes * (1.0 - hit) ** n_no
        absent = ways * (1.0 - proba) * false_alarm**n_yes * (1.0 - false_alarm) ** n_no
        chance = present + absent
        later += chance * loss(np.divide(present, chance, out=np.full(chance.shape, 0.5), where=chance > 0))
    return later


@lru_cache(maxsize=8)
def _table(loss: str, most: int) -> Ahead:
    """`best_ahead` on a grid of doubt and skill: what a table answers need not be computed for millions of pairs."""
    doubt, skill = np.linspace(0.0, 0.5, DOUBT_STEPS + 1)[:, None], np.linspace(0.0, 1.0, SKILL_STEPS + 1)
    return best_ahead(LOSSES[loss], doubt, (1.0 + skill) / 2.0, (1.0 - skill) / 2.0, most)


def value_by_skill(loss: str, proba: Floats, skill: Floats, most: int) -> Floats:
    """`best_ahead` of workers who are right with a chance of (1 + skill) / 2, of present labels and of absent ones.

    Read from a table, between the four nearest entries.
    """
    drop, width = _table(loss, most).drop.ravel(), SKILL_STEPS + 1
    row, column = 2.0 * DOUBT_STEPS * np.minimum(proba, 1.0 - proba), SKILL_STEPS * np.clip(skill, 0.0, 1.0)
    i, j = np.minimum(row.astype(np.int32), DOUBT_STEPS - 1), np.minimum(column.astype(np.int32), SKILL_STEPS - 1)
    down, right, place = row - i, column - j, i * width + j
    above, below = (drop[start] + right * (drop[start + 1] - drop[start]) for start in (place, place + width))
    return np.asarray(above + down * (below - above))


def answers_ahead(loss: str, proba: Floats, skill: Floats, most: int) -> Ints:
    """How many such answers the value rests on, by the nearest entry of the table."""
    row = np.rint(2.0 * DOUBT_STEPS * np.minimum(proba, 1.0 - proba)).astype(np.int64)
    return np.asarray(_table(loss, most).n_answers[row, np.rint(SKILL_STEPS * np.clip(skill, 0.0, 1.0)).astype(int)])
