"""What a fit is told (`PaperSettings`), what eq5 is made of (`PaperProblem`), and what is estimated (`PaperState`).

Settings have names instead of the paper's Greek letters, for α and β change places on the way (D5). All three are
frozen: an update makes a new state, so that a step that raises the objective is simply not taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from amcc.arrays import Floats, Ints
from amcc.consensus.models.paper.answers import Statistics
from amcc.consensus.parameters import (
    check_at_least_one,
    check_choice,
    check_flag,
    check_number,
    check_rounds,
    check_seed,
)
from amcc.errors import ParameterError

Rows = Literal["simplex", "unit"]
Anchor = Literal["consensus", "self"]
Cells = Literal["asked", "all"]
Cosines = Literal["signed", "clipped"]
Start = Literal["identity", "uniform"]

# Least loss and least scale of a group: a perfect group would have an endless weight by eq23, an empty one no loss.
# Losses are shares of unexplained variation, so that this is one in a million.
RESIDUAL_FLOOR = 1e-6


@dataclass(frozen=True)
class PaperSettings:
    """What a fit is told. M, α, β, r and `tol` are the paper's own choices. `None` leaves a choice to `printed`.

    n_groups : int. M; with fewer workers, each is a group of their own.
    hsic_weight : float, at least 0. How much workers of one group should be alike. α of eq5; β from eq15 on (D5).
    laplacian_weight : float, at least 0. How much similar labels should be answered alike, in answers. β of eq5; α from
        eq15 on (D5).
    ridge : float, at least 0. How much smaller C_m are preferred, in answers; the paper has none (D17).
    weight_exponent : float, above 1. r of eq5; near 1 the best group takes all, a large one makes groups equal.
    rows : "simplex" or "unit". What the rows of D_w must be (D4).
    anchor : "consensus" or "self". Whether answers are represented by the consensus, or by themselves (D1).
    cells : "asked" or "all". Whether what was not asked enters nothing, or is an answer of 0, as printed (D13).
    cosines : "signed" or "clipped". Whether negative cosines of labels count, as printed, or are zero (D14).
    start : "identity" or "uniform". What D_w of everybody is before the first round (D15).
    printed : bool. Follow the print as far as it runs: a worker's own ±1 answers as anchor, all cells, eq5 and eq15 to
        eq23 over all workers and groups, eq6 from yes-votes only, Theorem 1's penalty by its letter. For comparison,
        not for use; nothing is promised about its objective (D2).
    max_iter, tol : rounds at most (the paper has 100, D16), and the change of the objective below which they end.
    random_state : int. Fixes the start of the groups.
    """

    n_groups: int = 5
    hsic_weight: float = 0.1
    laplacian_weight: float = 10.0
    ridge: float = 0.0
    weight_exponent: float = 2.0
    rows: Rows = "simplex"
    anchor: Anchor = "consensus"
    cells: Cells | None = None
    cosines: Cosines = "signed"
    start: Start | None = None
    printed: bool = False
    max_iter: int = 200
    tol: float = 1e-5
    random_state: int = 0

    @property
    def by_itself(self) -> bool:
        """Whether a worker's answers are represented by themselves, as eq1 has it (D1)."""
        return self.printed or self.anchor == "self"

    @property
    def all_cells(self) -> bool:
        """Whether what was not asked is an answer of 0 (D13)."""
        return self.printed if self.cells is None else self.cells == "all"

    @property
    def starts_uniform(self) -> bool:
        """Whether D_w starts as "gives any label" instead of "gives the true label" (D15)."""
        return self.by_itself if self.start is None else self.start == "uniform"

    def check(self) -> None:
        """Raise ParameterError for what is out of range.

        >>> PaperSettings(weight_exponent=1.0).check()
        Traceback (most recent call last):
        amcc.errors.ParameterError: weight_exponent must be above 1; got 1.0.
        """
        check_at_least_one("n_groups", self.n_groups)
        for name in ("hsic_weight", "laplacian_weight", "weight_exponent"):
            check_number(name, getattr(self, name))
        for name, holds, what in (
            # With a negative weight, eq5 would have no minimum.
            ("hsic_weight", 0 <= self.hsic_weight < np.inf, "at least 0"),
            ("laplacian_weight", 0 <= self.laplacian_weight < np.inf, "at least 0"),
            ("ridge", 0 <= self.ridge < np.inf, "at least 0"),
            # At 1, eq23 divides by zero: all weight goes to the best group.
            ("weight_exponent", 1 < self.weight_exponent < np.inf, "above 1"),
        ):
            if not holds:
                raise ParameterError(f"{name} must be {what}; got {getattr(self, name)!r}.")
        check_choice("rows", self.rows, Rows)
        check_choice("anchor", self.anchor, Anchor)
        check_choice("cosines", self.cosines, Cosines)
        if self.cells is not None:
            check_choice("cells", self.cells, Cells)
        if self.start is not None:
            check_choice("start", self.start, Start)
        check_flag("printed", self.printed)
        check_rounds(self.max_iter, self.tol)
        check_seed(self.random_state)


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
        # Without any answer it would be zero, and eq5 divides HSIC by it.
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
