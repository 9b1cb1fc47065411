"""GLAD: the probability of a right answer is σ(ability · exp(ease)), for many multi-class questions at once.

`glad_expectation` is the E-step. `log_posterior` turns it into an objective with a gradient, which `ascent` climbs;
`find_ease` finds the eases alone, for abilities that are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amcc.arrays import Floats, weight_per_code
from amcc.consensus.models.rakel_glad.ascent import Height
from amcc.consensus.models.rakel_glad.tasks import SubsetTasks

# exp(ease) multiplies abilities: further out it says no more, and overflows in the end. exp(5) is 148.
EASE_BOUND = 5.0


# Steps of Newton's method for one ease, and the step below which it has arrived.
MAX_EASE_STEPS, SMALLEST_EASE_STEP = 20, 1e-4


@dataclass(frozen=True)
class GladExpectation:
    """Result of the E-step.

    proba : (classes, groups) probability of each class
    log_likelihood : (groups,) of the answers
    slope, curvature : (rows,) of the expected log-likelihood in x; the curvature is that of whole answers, downwards
    """

    proba: Floats
    log_likelihood: Floats
    slope: Floats
    curvature: Floats


def glad_expectation(tasks: SubsetTasks, log_prior: Floats, ability: Floats, ease: Floats) -> GladExpectation:
    """Posterior of every group's class, with x = ability · exp(ease) and σ(x) the probability of a right answer.

    An answer that agrees with m of K classes has probability σ + (1 − σ)(m − 1)/(K − 1) if the truth is one of them,
    and (1 − σ) m/(K − 1) if it is not.
    """
    # σ(x) and 1 − σ(x) by the exponential of −|x|, which never overflows; both keep their digits near 0.
    x = ability[tasks.ability] * stretch(ease)[tasks.group]
    tail = np.exp(-np.abs(x))
    log_right = np.minimum(x, 0.0) - np.log1p(tail)
    right = np.where(x >= 0, 1.0, tail) / (1 + tail)
    wrong = np.where(x >= 0, tail, 1.0) / (1 + tail)
    several = tasks.share_agreeing > 0
    agree = right + wrong * tasks.share_agreeing
    # The log of a sum only where there is one: elsewhere log σ(x) is exact, however small σ(x) is.
    log_agree = np.where(several, np.log(np.maximum(agree, 1e-300)), log_right)
    log_disagree = tasks.log_disagreeing + log_right - x
    # Every answer disagrees with all classes at first; those that it agrees with gain the difference.
    gain = (log_agree - log_disagree)[tasks.cell_row]
    joint = log_prior + weight_per_code(tasks.cell, gain, log_prior.size).reshape(log_prior.shape)
    top = joint.max(axis=0)
    proba = np.exp(joint - top)
    total = proba.sum(axis=0)
    proba /= total
    agrees = weight_per_code(tasks.cell_row, proba.ravel()[tasks.cell], len(x))
    share_right = np.divide(right, agree, out=np.ones(len(x)), where=several)
    slope = agrees * wrong * share_right * (1 - tasks.share_agreeing) - (1 - agrees) * right
    log_likelihood = top + np.log(total) + weight_per_code(tasks.group, log_disagree, tasks.n_groups)
    return GladExpectation(proba, log_likelihood, slope, right * wrong)


class EaseHeights(NamedTuple):
    """(groups,) value, gradient and curvature as in `Height`, for each ease by itself."""

    value: Floats
    gradient: Floats
    curvature: Floats


def log_posterior(tasks: SubsetTasks, log_prior: Floats, parameters: Floats) -> Height:
    """Objective in abilities and eases; its gradient, by Fisher's identity, is that of the M-step at this posterior."""
    ability, ease = np.split(parameters, [tasks.n_abilities])
    found = glad_expectation(tasks, log_prior, ability, ease)
    of_ease = of_each_ease(tasks, found, ability, ease)
    slope = stretch(ease)[tasks.group]  # of x
    return Height(
        float(of_ease.value.sum() - 0.5 * ((ability - 1) ** 2).sum()),
        np.append(weight_per_code(tasks.ability, found.slope * slope, len(ability)) - (ability - 1), of_ease.gradient),
        np.append(weight_per_code(tasks.ability, found.curvature * slope**2, len(ability)) + 1, of_ease.curvature),
    )


def of_each_ease(tasks: SubsetTasks, found: GladExpectation, ability: Floats, ease: Floats) -> EaseHeights:
    """The part of the objective that belongs to each group: its answers and its ease.

    x = ability · exp(ease) has the slope x in the ease, and none beyond the bound: there the prior alone decides.
    """
    slope = np.where(np.abs(ease) < EASE_BOUND, stretch(ease), 0.0)[tasks.group] * ability[tasks.ability]  # of x
    return EaseHeights(
        found.log_likelihood - 0.5 * (ease - 1) ** 2,
        weight_per_code(tasks.group, found.slope * slope, tasks.n_groups) - (ease - 1),
        weight_per_code(tasks.group, found.curvature * slope**2, tasks.n_groups) + 1,
    )


def find_ease(tasks: SubsetTasks, log_prior: Floats, ability: Floats) -> Floats:
    """(groups,) eases for given abilities, each by itself: there may be several optima, and company must not decide."""
    ease, pace = np.ones(tasks.n_groups), np.ones(tasks.n_groups)
    height = of_each_ease(tasks, glad_expectation(tasks, log_prior, ability, ease), ability, ease)
    for _ in range(MAX_EASE_STEPS):
        step = pace * height.gradient / height.curvature
        if np.abs(step).max(initial=0.0) < SMALLEST_EASE_STEP:
            break
        there = of_each_ease(tasks, glad_expectation(tasks, log_prior, ability, ease + step), ability, ease + step)
        better = there.value > height.value
        ease = np.where(better, ease + step, ease)
        height = EaseHeights(*(np.where(better, new, old) for new, old in zip(there, height, strict=True)))
        # A step that failed is tried again a quarter as long; later ones grow back to Newton's.
        pace = np.where(better, np.minimum(1.5 * pace, 1.0), 0.25 * pace)
    return ease


def stretch(ease: Floats) -> Floats:
    """What abilities are multiplied with; an ease beyond the bound counts as the bound, and its prior pulls it back."""
    return np.exp(np.clip(ease, -EASE_BOUND, EASE_BOUND))
