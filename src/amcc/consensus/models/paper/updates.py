"""The updates of commonality, groups and group weights (eq19 to eq23, D3), and one round over everything.

Commonality and weights are exact minima of eq5, all else fixed. The groups W_m appear in eq3 and are never computed in
print; our rule (D3) lets workers go to the group that explains them best, unless that raises eq5. Minimising eq5 over
membership is no way out: a worker costs least in the group of the lowest weight, so all would go there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from amcc import linalg
from amcc.arrays import Floats, Ints
from amcc.consensus.models.paper.answers import times, weighted_sums
from amcc.consensus.models.paper.individuality import update_individuality
from amcc.consensus.models.paper.objective import (
    dependence,
    group_losses,
    group_scales,
    group_totals,
    per_scale,
    worker_residuals,
)
from amcc.consensus.models.paper.problem import RESIDUAL_FLOOR, PaperProblem, PaperState, who_counts


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
    penalty = settings.laplacian_weight * problem.label_laplacian + settings.ridge * np.eye(problem.n_labels)
    system = weighted_sums(member, data.gram) + penalty
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


# -- groups (D3) ----------------------------------------------------------------------------------------------------


def assign_groups(state: PaperState, problem: PaperProblem) -> PaperState:
    """Let each worker go to the group that explains them best (D3), unless that raises eq5 or empties their group.

    Those who gain most go first, so that the order of the workers does not matter.
    """
    residuals = worker_residuals(state.individuality, state.commonality, problem)
    own = residuals[state.worker_group, np.arange(problem.n_workers)]
    # Per unit of scale, or those with many answers would always go first.
    gain = (own - residuals.min(axis=0)) / np.maximum(problem.worker_scale, RESIDUAL_FLOOR)
    moving = Moving(state, problem, residuals)
    for worker in np.argsort(-gain, kind="stable"):
        if gain[worker] > 0:
            moving.move(int(worker), int(np.argmin(residuals[:, worker])))
    return replace(state, worker_group=moving.worker_group)


def fill_empty_groups(worker_group: Ints, badness: Floats, n_groups: int) -> Ints:
    """Give each empty group the worker who is explained worst (D3), among those who do not leave a group empty.

    >>> fill_empty_groups(np.array([0, 0, 0]), np.array([1.0, 5.0, 2.0]), 2).tolist()
    [0, 1, 0]
    """
    filled = worker_group.astype(np.int64)
    for group in range(n_groups):
        size = np.bincount(filled, minlength=n_groups)
        if size[group] == 0:
            filled[np.argmax(np.where(size[filled] > 1, badness, -np.inf))] = group
    return filled


class Moving:
    """Sums per group that tell at once what a worker's move does to eq5.

    Computed again for every move, eq5 would cost workers² instead of workers. C_m, λ and D_w stand still meanwhile.
    """

    def __init__(self, state: PaperState, problem: PaperProblem, residuals: Floats) -> None:
        settings, member = problem.settings, state.members
        self.worker_group: Ints = state.worker_group.copy()
        self._worker_scale = problem.worker_scale
        self._residuals = residuals
        self._power = state.group_weights**settings.weight_exponent
        self._hsic_weight = settings.hsic_weight * linalg.hsic_scale(problem.n_labels) / problem.total_scale
        self._size = np.bincount(self.worker_group, minlength=state.n_groups)
        self._gram = dependence(state.individuality)
        self._gram_sum = weighted_sums(member, self._gram)
        self._scale = group_scales(member, problem)
        self._loss = group_totals(residuals, member, state.commonality, problem)

    def move(self, worker: int, group: int) -> None:
        """Move the worker if that does not raise eq5 and leaves nobody's group empty."""
        old = int(self.worker_group[worker])
        if self._size[old] == 1 or self.change(worker, group) > 0:
            return
        self.worker_group[worker] = group
        for place, sign in ((old, -1), (group, 1)):
            self._size[place] += sign
            self._scale[place] += sign * self._worker_scale[worker]
            self._loss[place] += sign * self._residuals[place, worker]
            self._gram_sum[place] += sign * self._gram[worker]

    def change(self, worker: int, group: int) -> float:
        """What eq5 would change by if the worker went to this group."""
        old = int(self.worker_group[worker])
        places, signs = np.array([old, group]), np.array([-1, 1])
        scale, loss = self._scale[places], self._loss[places]
        after = per_scale(loss + signs * self._residuals[places, worker], scale + signs * self._worker_scale[worker])
        change = np.sum(self._power[places] * (after - per_scale(loss, scale)))
        # HSIC with the new mates is won, that with the old ones, themselves left out, is lost.
        mates = self._gram_sum[group] - (self._gram_sum[old] - self._gram[worker])
        return float(change - self._hsic_weight * np.sum(mates * self._gram[worker]))
