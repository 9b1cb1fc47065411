"""Reading a board: means over seeds, ranks, and verdicts for each kind of truth.

`summarise` makes a `Board` of results; everything that tables show is worked out of the board's one array
scores[cell, method, score], where NaN stands for no entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from amcc.arrays import Floats, Mask
from amcc.experiments.board import HIGHER_IS_BETTER, SCORES, Result
from amcc.experiments.cells import KINDS, Kind
from amcc.experiments.peers import ORACLE
from amcc.experiments.text import EMPTY

BASELINE = "majority"
# Methods this close share a rank: half a point of a hundred is less than another draw of a small set changes.
TIE = 0.005
# The scores that verdicts are about, and how people call them.
JUDGED = {
    "jaccard": "Jaccard", "log_loss": "log-loss", "one_minus_rl": "1 − ranking loss", "one_minus_oe": "1 − one-error",
}  # fmt: skip


@dataclass(frozen=True)
class Share:
    """So many of so many cells.

    >>> str(Share(3, 8)), Share(3, 8).value, str(Share(0, 0))
    ('3 of 8', 0.375, '—')
    """

    count: int
    of: int

    @property
    def value(self) -> float | None:
        """As a number, None of no cells."""
        return self.count / self.of if self.of else None

    def __str__(self) -> str:
        return f"{self.count} of {self.of}" if self.of else EMPTY


@dataclass(frozen=True)
class ScoreVerdict:
    """How one method did in one score, on the cells where it has an entry.

    first, mean_rank : by kind of cell, "all" for all. The oracle has none: it knows what nobody knows.
    worst_loss, worst_cell : how far it is behind majority where it is so most (negative: it never is), and where.
    above_oracle : on how many simulated cells it is better than the oracle.
    """

    first: dict[str, Share]
    mean_rank: dict[str, float | None]
    worst_loss: float | None
    worst_cell: str | None
    above_oracle: Share


@dataclass(frozen=True)
class Board:
    """Means over seeds, scores[cell, method, score], NaN where there is no entry; what is along the axes.

    kinds, families : of each cell.
    informed : of each method, whether it was given truth that the others were not.
    n_draws : how often the cell with most draws was drawn.
    """

    cells: list[str]
    kinds: list[Kind]
    families: list[str]
    methods: list[str]
    informed: list[bool]
    scores: Floats
    n_draws: int = 1

    def of(self, score: str) -> Floats:
        """(n_cells, n_methods) one score."""
        return np.asarray(self.scores[:, :, SCORES.index(score)])

    def goodness(self, score: str) -> Floats:
        """(n_cells, n_methods) one score, turned so that more is better."""
        return self.of(score) if score in HIGHER_IS_BETTER else -self.of(score)

    @property
    def competes(self) -> Mask:
        """(n_methods,) False for the oracle and for who was given truth: they know more than the others."""
        return np.array([name != ORACLE and not told for name, told in zip(self.methods, self.informed, strict=True)])

    def ranks(self, score: str) -> Floats:
        """(n_cells, n_methods) one more than how many competitors are better by more than `TIE`; NaN without entry.

        Who was given truth has a rank among the competitors without taking one from them; the oracle has none.
        """
        goodness = self.goodness(score)
        # [cell, method, rival]: whether the rival is better by more than a tie.
        rivals = np.where(self.competes, goodness, np.nan)
        better = rivals[:, None, :] > goodness[:, :, None] + TIE  # comparisons with NaN are false
        ranked = np.array([method != ORACLE for method in self.methods]) & ~np.isnan(goodness)
        return np.where(ranked, 1.0 + better.sum(axis=2), np.nan)

    def verdict(self, score: str, method: str) -> ScoreVerdict:
        """How one method did in one score."""
        ranks = self.ranks(score)[:, self.methods.index(method)]
        # A kind without cells has a share of nothing and no rank, and is shown as a dash.
        of_kind = {"all": np.ones(len(self.cells), dtype=bool)}
        of_kind |= {kind: np.array([one == kind for one in self.kinds]) for kind in KINDS}
        placed = {kind: ranks[chosen & ~np.isnan(ranks)] for kind, chosen in of_kind.items()}
        loss, cell = self._worst_loss(score, method)
        return ScoreVerdict(
            first={kind: Share(int((found == 1).sum()), len(found)) for kind, found in placed.items()},
            mean_rank={kind: float(found.mean()) if found.size else None for kind, found in placed.items()},
            worst_loss=loss,
            worst_cell=cell,
            above_oracle=self._above_oracle(score, method),
        )

    def lead(self, score: str, method: str, other: str = BASELINE) -> Floats:
        """(n_cells,) how much better a method is than another; NaN where one of them has no entry."""
        if other not in self.methods:
            return np.full(len(self.cells), np.nan)
        values = self.goodness(score)
        return np.asarray(values[:, self.methods.index(method)] - values[:, self.methods.index(other)])

    def _worst_loss(self, score: str, method: str) -> tuple[float, str] | tuple[None, None]:
        """Against majority; None for majority itself."""
        return (None, None) if method == BASELINE else largest(-self.lead(score, method), self.cells)

    def _above_oracle(self, score: str, method: str) -> Share:
        """The oracle itself has no cells to be above."""
        lead = self.lead(score, method, ORACLE)
        return Share(int((lead > 0).sum()), int((~np.isnan(lead)).sum()) if method != ORACLE else 0)


def largest(values: Floats, names: Sequence[str]) -> tuple[float, str] | tuple[None, None]:
    """The largest value and its name; None where all are NaN.

    >>> largest(np.array([0.1, np.nan, 0.3]), ["a", "b", "c"])
    (0.3, 'c')
    """
    if np.isnan(values).all():  # numpy would warn, and find none
        return None, None
    place = int(np.nanargmax(values))
    return float(values[place]), names[place]


def summarise(results: Sequence[Result]) -> Board:
    """Average results over seeds; a cell without entry for one seed has none.

    A score that is undefined in a draw (what is wrong among the settled pairs, where none is settled) is averaged over
    the other draws.
    """
    # Reversed, so that the first result of a cell stays.
    first_of = {result.cell: result for result in reversed(results)}
    cells = sorted(dict.fromkeys(result.cell for result in results), key=lambda cell: KINDS.index(first_of[cell].kind))
    informed = {result.method: result.known > 0 for result in results}
    methods = list(informed)
    drawn: dict[tuple[str, str], list[list[float]]] = {}
    for result in results:
        drawn.setdefault((result.cell, result.method), []).append(_as_numbers(result))
    means = np.full((len(cells), len(methods), len(SCORES)), np.nan)
    for (cell, method), rows in drawn.items():
        means[cells.index(cell), methods.index(method)] = _mean_of_draws(np.array(rows))
    return Board(
        cells,
        [first_of[cell].kind for cell in cells],
        [first_of[cell].family or cell for cell in cells],
        methods,
        list(informed.values()),
        means,
        max(map(len, drawn.values()), default=1),
    )


def _as_numbers(result: Result) -> list[float]:
    """The scores; NaN where one is undefined, infinite where there is no entry.

    Both are gone in a mean, but differently: undefined scores are left out of it, infinite ones spoil it.
    """
    if result.scores is None:
        return [np.inf] * len(SCORES)
    found = [result.scores[name] for name in SCORES]
    return [np.nan if score is None else score for score in found]


def _mean_of_draws(rows: Floats) -> Floats:
    """(n_scores,) means of the defined scores; NaN where there are none, or where a draw has no entry."""
    defined = ~np.isnan(rows)
    count = defined.sum(axis=0)
    total = np.where(defined, rows, 0.0).sum(axis=0)
    means = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return np.where(np.isfinite(means), means, np.nan)
