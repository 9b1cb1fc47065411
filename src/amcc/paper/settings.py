"""The settings of the paper's objective, by names instead of its Greek letters, and what they must be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from amcc.consensus.base import check_at_least_one, check_rounds
from amcc.errors import ParameterError

Rows = Literal["simplex", "unit"]
Anchor = Literal["consensus", "self"]


@dataclass(frozen=True)
class PaperSettings:
    """What a fit is told. Numbers are the paper's own choices.

    n_groups : int. M; with fewer workers, each is a group of their own.
    hsic_weight : float, at least 0. How much workers of one group should be alike. α of eq5; β from eq15 on (D5).
    laplacian_weight : float, at least 0. How much similar labels should be answered alike, in answers. β of eq5; α from
        eq15 on (D5).
    weight_exponent : float, above 1. r of eq5; near 1 the best group takes all, a large one makes groups equal.
    rows : "simplex" or "unit". What the rows of D_w must be (D4).
    anchor : "consensus" or "self". Whether answers are represented by the consensus, or by themselves (D1).
    printed : bool. Follow the print as far as it runs: a worker's own ±1 answers as anchor, eq20 to eq23 over all
        workers, eq6 from yes-votes only, Theorem 1's penalty by its letter. For comparison, not for use; nothing is
        promised about its objective (D2).
    max_iter, tol : rounds at most, and the change of the objective below which they end.
    random_state : int. Fixes the start of the groups.
    """

    n_groups: int = 5
    hsic_weight: float = 0.1
    laplacian_weight: float = 10.0
    weight_exponent: float = 2.0
    rows: Rows = "simplex"
    anchor: Anchor = "consensus"
    printed: bool = False
    max_iter: int = 200
    tol: float = 1e-5
    random_state: int = 0

    @property
    def by_itself(self) -> bool:
        """Whether a worker's answers are represented by themselves, as eq1 has it (D1)."""
        return self.printed or self.anchor == "self"

    def check(self) -> None:
        """Raise ParameterError for what is out of range.

        >>> PaperSettings(weight_exponent=1.0).check()
        Traceback (most recent call last):
        amcc.errors.ParameterError: weight_exponent must be above 1; got 1.0.
        """
        check_at_least_one("n_groups", self.n_groups)
        for name, holds, what in (
            # With a negative weight, eq5 would have no minimum.
            ("hsic_weight", 0 <= self.hsic_weight < np.inf, "at least 0"),
            ("laplacian_weight", 0 <= self.laplacian_weight < np.inf, "at least 0"),
            # At 1, eq23 divides by zero: all weight goes to the best group.
            ("weight_exponent", 1 < self.weight_exponent < np.inf, "above 1"),
            ("rows", self.rows in get_args(Rows), "'simplex' or 'unit'"),
            ("anchor", self.anchor in get_args(Anchor), "'consensus' or 'self'"),
        ):
            if not holds:
                raise ParameterError(f"{name} must be {what}; got {getattr(self, name)!r}.")
        check_rounds(self.max_iter, self.tol)
