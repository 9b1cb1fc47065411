"""L-BFGS: climbs a smooth objective by its gradient, a rough curvature and the last few steps.

scipy's would do, but for its vector products in several threads, which on a busy machine take ten times as long as
everything else; and it knows nothing of curvatures, which save half of the steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amcc.arrays import Floats

# Steps that L-BFGS remembers, each a pair of vectors of all parameters; textbooks take three to twenty.
REMEMBERED_STEPS = 5
# How often half of a step is tried: 2⁻³⁰ of one is a matter of rounding.
MAX_HALVINGS = 30
# Share of the rise that the gradient promises which a step must bring (Armijo's rule, with its usual constant).
LEAST_OF_PROMISE = 1e-4
# Curvature along a step, relative to its length, below which it teaches nothing about the way to the top.
LEAST_BEND = 1e-12


class Height(NamedTuple):
    """The objective at a point.

    value : the objective; gradient : (n_parameters,) its slope.
    curvature : (n_parameters,) about how much it bends downwards along each coordinate, above 0.
    """

    value: float
    gradient: Floats
    curvature: Floats


@dataclass(frozen=True)
class ClimbResult:
    """Where L-BFGS arrived, the objective on the way, and its last rise."""

    parameters: Floats
    history: list[float]
    last_rise: float


def climb_by_lbfgs(
    objective: Callable[[Floats], Height], n_parameters: int, max_iter: int, least_rise: float
) -> ClimbResult:
    """Climb from 1 in all parameters, the mean of their priors, until a step brings less than `least_rise`."""
    point = np.ones(n_parameters)
    height = objective(point)
    history, rise = [height.value], np.inf
    steps: deque[tuple[Floats, Floats]] = deque(maxlen=REMEMBERED_STEPS)
    while rise >= least_rise and len(history) <= max_iter:
        step, there = step_uphill(objective, point, height, uphill(height, steps))
        bend = height.gradient - there.gradient
        # The climb must flatten along the step, or L-BFGS would turn around.
        if _product(step, bend) > LEAST_BEND * _product(step, step):
            steps.append((step, bend))
        rise = there.value - height.value
        point, height = point + step, there
        history.append(height.value)
    return ClimbResult(point, history[1:], rise)


def uphill(height: Height, steps: deque[tuple[Floats, Floats]]) -> Floats:
    """Newton's direction, as far as the curvatures and the latest steps tell.

    The two loops of L-BFGS multiply the gradient with an inverse of the Hessian that is never written down. `steps` are
    pairs of a step and of how much the gradient fell along it.
    """
    direction = height.gradient.copy()
    weights = []
    for step, bend in reversed(steps):
        weights.append(_product(step, direction) / _product(step, bend))
        direction -= weights[-1] * bend
    # Between the two loops the Hessian is guessed: by its diagonal, where the textbook takes one number for all.
    direction /= height.curvature
    for (step, bend), weight in zip(steps, reversed(weights), strict=True):
        direction += (weight - _product(bend, direction) / _product(step, bend)) * step
    return direction


def step_uphill(
    objective: Callable[[Floats], Height], point: Floats, height: Height, direction: Floats
) -> tuple[Floats, Height]:
    """Go in this direction, half as far until that is a rise; stay where it never is.

    Returns the step and the height where it ends.
    """
    promised = _product(height.gradient, direction)
    for halvings in range(MAX_HALVINGS):
        step = direction * 0.5**halvings
        there = objective(point + step)
        if there.value >= height.value + LEAST_OF_PROMISE * 0.5**halvings * promised:
            return step, there
    return np.zeros_like(point), height


def _product(one: Floats, other: Floats) -> float:
    """Scalar product without the threads of a matrix library."""
    return float((one * other).sum())
