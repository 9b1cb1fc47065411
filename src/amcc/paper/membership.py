"""Which worker is in which group. The paper's W_m appears in eq3 and is never computed; this is our rule (D3).

Minimising eq5 over membership is no way out: a worker costs least in the group of the lowest weight, so all would go
there. Instead, workers go to the group that explains them best, unless that raises eq5.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from amcc import linalg
from amcc.arrays import Floats, Ints
from amcc.paper.objective import dependence, group_scales, group_totals, per_scale, worker_residuals
from amcc.paper.problem import RESIDUAL_FLOOR, PaperProblem, PaperState
from amcc.paper.statistics import weighted_sums


def assign_groups(state: PaperState, problem: PaperProblem) -> PaperState:
    """Let each worker go to the group that explains them best (D3), unless that raises eq5 or empties their group.

    Those who gain most go first, so that the order of the workers does not matter.
    """
    residuals = worker_residuals(state.individuality, state.commonality, problem)
    own = residuals[state.worker_group, np.arange(problem.n_workers)]
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

    Computed anew for every move, eq5 would cost workers² instead of workers. C_m, λ and D_w stand still meanwhile.
    """

    def __init__(self, state: PaperState, problem: PaperProblem, residuals: Floats) -> None:
        settings, member = problem.settings, state.members
        self.worker_group = state.worker_group.copy()
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
