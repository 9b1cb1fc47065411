"""What eq5 is made of (`PaperProblem`) and what is estimated (`PaperState`).

Both are frozen: an update makes a new state, so that a step that raises the objective is simply not taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from amcc.arrays import Floats, Ints
from amcc.paper.settings import PaperSettings
from amcc.paper.statistics import Statistics

# Least loss and least scale of a group: a perfect group would have an endless weight by eq23, an empty one no loss.
# Losses are shares of unexplained variation, so that this is one in a million.
RESIDUAL_FLOOR = 1e-6


@dataclass(frozen=True)
class PaperProblem:
    """What eq5 is made of, apart from what is estimated.

    data : sufficient statistics.
    worker_scale : (n_workers,). How much data a worker brings: their answers, or their variation (D7).
    prior_scale : float. Amount of unexplained data that every group starts with (D7).
    label_laplacian : (n_labels, n_labels). L of eq4.
    admm_penalty : float. μ of eq17.
    """

    data: Statistics
    worker_scale: Floats
    prior_scale: float
    label_laplacian: Floats
    admm_penalty: float
    settings: PaperSettings = field(default_factory=PaperSettings)

    @property
    def n_workers(self) -> int:
        """Workers, with or without answers."""
        return len(self.data.cross)

    @property
    def n_labels(self) -> int:
        """Labels."""
        return int(self.data.cross.shape[-1])

    @property
    def total_scale(self) -> float:
        """Scale of all workers together."""
        return max(float(self.worker_scale.sum()), RESIDUAL_FLOOR)


@dataclass(frozen=True)
class PaperState:
    """What is estimated.

    individuality : (n_workers, n_labels, n_labels). D_w, [true label, given label]; obeys the constraint on rows.
    commonality : (n_groups, n_labels, n_labels). C_m.
    group_weights : (n_groups,). λ, sums to one.
    worker_group : (n_workers,). W_m of eq3 as the group of each worker.
    admm_dual : as individuality. T of eq17 and eq18, kept from round to round.
    """

    individuality: Floats
    commonality: Floats
    group_weights: Floats
    worker_group: Ints
    admm_dual: Floats

    @property
    def n_groups(self) -> int:
        """Groups."""
        return len(self.commonality)

    @property
    def response(self) -> Floats:
        """(n_workers, n_labels, n_labels) D_w + C_m of eq1, each worker in their own group."""
        return self.individuality + self.commonality[self.worker_group]

    @property
    def members(self) -> Floats:
        """(n_groups, n_workers) one where a worker is in a group."""
        return members_of(self.worker_group, self.n_groups)


def members_of(worker_group: Ints, n_groups: int) -> Floats:
    """(n_groups, n_workers) one where a worker is in a group, else zero.

    >>> members_of(np.array([0, 1, 0]), 2).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    return np.asarray(np.arange(n_groups)[:, None] == worker_group, dtype=np.float64)


def who_counts(state: PaperState, problem: PaperProblem) -> Floats:
    """(n_groups, n_workers) one where a worker counts for a group; in print, all count for each (D2)."""
    return np.ones((state.n_groups, problem.n_workers)) if problem.settings.printed else state.members
