"""The updates of commonality and group weights, eq19 to eq23, and one round over everything.

Each is the exact minimum of eq5 over its own variable, all others fixed; so none can raise it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from amcc import linalg
from amcc.arrays import Floats
from amcc.paper.individuality import update_individuality
from amcc.paper.membership import assign_groups
from amcc.paper.objective import group_losses
from amcc.paper.problem import RESIDUAL_FLOOR, PaperProblem, PaperState, who_counts
from amcc.paper.statistics import times, weighted_sums


def update_all(state: PaperState, problem: PaperProblem) -> PaperState:
    """One round over everything that eq5 is minimised over; with the print's sums over all, groups do not matter."""
    state = update_individuality(state, problem)  # eq15, eq16, eq17, eq18
    state = update_commonality(state, problem)  # eq19, eq20, eq21
    if not problem.settings.printed:
        state = assign_groups(state, problem)  # D3
    return update_group_weights(state, problem)  # eq22, eq23


def update_commonality(state: PaperState, problem: PaperProblem) -> PaperState:
    """Minimise eq19, which is eq5 in C_m alone, by eq21: the solution of the linear system of eq20.

    Where the data leave C_m open, as on labels that nobody of the group met, it is as small as possible.
    """
    system, right = commonality_system(state, problem)
    if system.shape[1] == 1:
        return replace(state, commonality=linalg.solve_least(system[:, 0], right))
    columns = linalg.solve_least(system, right.swapaxes(-1, -2)[..., None])
    return replace(state, commonality=columns[..., 0].swapaxes(-1, -2))


def commonality_system(state: PaperState, problem: PaperProblem) -> tuple[Floats, Floats]:
    """eq20, the derivative of eq19 set to zero: matrices, (n_groups, K, n_labels, n_labels), and right sides.

    Sums run over the group's own workers, and D_w is subtracted from what C_m has to explain; in print they run over
    all workers, and D_w is forgotten (D2). λ_m^r stands before residual and penalty, and cancels. So does the scale.
    """
    data, settings = problem.data, problem.settings
    member = who_counts(state, problem)
    target = data.cross if settings.printed else data.cross - times(data.gram, state.individuality)
    system = weighted_sums(member, data.gram) + settings.laplacian_weight * problem.label_laplacian
    return system, weighted_sums(member, target)


def group_weights(losses: Floats, weight_exponent: float) -> Floats:
    """eq23, the minimum of eq22 over λ: losses to the power 1 / (1 − r), normalised.

    eq22 is Σ λ_m^r loss_m with a multiplier γ for Σ λ_m = 1. Its derivative is zero where r λ_m^(r − 1) loss_m is γ for
    every group, so that λ_m is proportional to loss_m^(1 / (1 − r)). As r > 1, eq22 is convex and this its minimum.

    >>> group_weights(np.array([1.0, 4.0]), 3.0).round(4).tolist()  # 1 and 4 to the power −1/2
    [0.6667, 0.3333]
    """
    floored = np.maximum(losses, RESIDUAL_FLOOR)
    # Seen from the smallest loss, no power can overflow: all are at most 1.
    power = (floored / floored.min()) ** (1.0 / (1.0 - weight_exponent))
    return np.asarray(power / power.sum())


def update_group_weights(state: PaperState, problem: PaperProblem) -> PaperState:
    """eq23 with losses per unit of scale (D7)."""
    weights = group_weights(group_losses(state, problem), problem.settings.weight_exponent)
    return replace(state, group_weights=weights)
