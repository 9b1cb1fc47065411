"""When a fit may stop; every round is told to who watches (`amcc.watching`)."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator

import numpy as np

from amcc.errors import ConvergenceWarning
from amcc.watching import tell


class Monitor:
    """Follows the objective and the largest change of a probability, and says when a model may stop.

    tol : a round that changes less is the last
    max_iter : the last round in any case
    history, change : of the rounds before, where an interrupted fit goes on
    """

    def __init__(self, tol: float, max_iter: int, history: Iterable[float] = (), change: float = np.inf) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.history: list[float] = list(history)
        self.change: float = change

    @property
    def converged(self) -> bool:
        """Whether the last change was small enough."""
        return self.change < self.tol

    def rounds(self) -> Iterator[int]:
        """Count rounds until converged or out of patience, from those that are already in the history."""
        for number in range(len(self.history), self.max_iter):
            if self.converged:
                return
            yield number

    def report(self, objective: float, change: float) -> None:
        """Record one round."""
        self.history.append(objective)
        self.change = change
        moved = f", probabilities move by {change:.1e}" if np.isfinite(change) else ""
        tell(None, f"round {len(self.history)}{moved}")

    def warn_unless_converged(self, model: str) -> None:
        """Warn whoever called `fit` where the last round still changed the estimates."""
        if self.converged:
            return
        last = f"last change {self.change:.1e} > tol={self.tol:.1e}" if np.isfinite(self.change) else "too few to tell"
        warnings.warn(
            f"{model} stopped after {self.max_iter} iterations, {last}; raise max_iter or look at objective_history_.",
            ConvergenceWarning,
            stacklevel=_levels_to_caller(),
        )


def _levels_to_caller() -> int:
    """How many calls above `warn_unless_converged` the first line stands that is not ours."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("amcc."):
        level, frame = level + 1, frame.f_back
    return level
