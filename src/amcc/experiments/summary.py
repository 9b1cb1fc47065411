"""Reading a board: means over seeds, ranks, verdicts for each kind of truth, and the page that shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

import amcc
from amcc.experiments import peers
from amcc.experiments.board import HIGHER_IS_BETTER, SCORES, Result
from amcc.experiments.cells import KINDS, MOST_SIMULATED_SEEDS, Kind, Mask
from amcc.experiments.peers import ORACLE, PEERS
from amcc.kernels import Floats

BASELINE = "majority"
TIE = 0.005
"""Methods this close share a rank."""
JUDGED = {"jaccard": "Jaccard", "one_minus_rl": "1 − ranking loss", "one_minus_oe": "1 − one-error"}
"""The scores that verdicts are about, and how people call them."""
EMPTY = "—"


@dataclass(frozen=True)
class Share:
    """So many of so many cells."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        """As a number, None of no cells."""
        return self.count / self.of if self.of else None

    def __str__(self) -> str:
        return f"{self.count} of {self.of}" if self.of else EMPTY


@dataclass(frozen=True)
class Verdict:
    """How one method did in one score, on the cells where it has an entry.

    first, mean_rank : by kind of cell, "all" for all. The oracle has none: it knows what nobody knows.
    worst_loss, worst_cell : how far it falls below majority where it does so most (negative: it never does), and where.
    above_oracle : on how many simulated cells it is above the oracle.
    """

    first: dict[str, Share]
    mean_rank: dict[str, float | None]
    worst_loss: float | None
    worst_cell: str | None
    above_oracle: Share


@dataclass(frozen=True)
class Board:
    """Means over seeds, scores[cell, method, score], NaN where there is no entry; names and kinds along the axes."""

    cells: list[str]
    kinds: list[Kind]
    methods: list[str]
    scores: Floats
    n_draws: int = 1

    def of(self, score: str) -> Floats:
        """(n_cells, n_methods) one score."""
        return np.asarray(self.scores[:, :, SCORES.index(score)])

    @property
    def competes(self) -> Mask:
        """(n_methods,) False for the oracle."""
        return np.array([method != ORACLE for method in self.methods])

    def ranks(self, score: str) -> Floats:
        """(n_cells, n_methods) one more than how many competitors are better by more than `TIE`; NaN without entry."""
        goodness = self.of(score) if score in HIGHER_IS_BETTER else -self.of(score)
        rivals = np.where(self.competes, goodness, np.nan)
        better = rivals[:, None, :] > goodness[:, :, None] + TIE  # comparisons with NaN are false
        return np.where(np.isnan(rivals), np.nan, 1.0 + better.sum(axis=2))

    def verdict(self, score: str, method: str) -> Verdict:
        """How one method did in one score."""
        ranks = self.ranks(score)[:, self.methods.index(method)]
        of_kind = {"all": np.ones(len(self.cells), dtype=bool)}
        of_kind |= {kind: np.array([one == kind for one in self.kinds]) for kind in KINDS}
        placed = {kind: ranks[chosen & ~np.isnan(ranks)] for kind, chosen in of_kind.items()}
        loss, cell = self._worst_loss(score, method)
        return Verdict(
            first={kind: Share(int((found == 1).sum()), len(found)) for kind, found in placed.items()},
            mean_rank={kind: float(found.mean()) if found.size else None for kind, found in placed.items()},
            worst_loss=loss,
            worst_cell=cell,
            above_oracle=self._above_oracle(score, method),
        )

    def _against(self, score: str, method: str, other: str) -> Floats:
        """(n_cells,) how far a method is above another; NaN where one of them has no entry."""
        if other not in self.methods:
            return np.full(len(self.cells), np.nan)
        values = self.of(score)
        return np.asarray(values[:, self.methods.index(method)] - values[:, self.methods.index(other)])

    def _worst_loss(self, score: str, method: str) -> tuple[float, str] | tuple[None, None]:
        loss = -self._against(score, method, BASELINE)
        if method == BASELINE or np.isnan(loss).all():
            return None, None
        return float(np.nanmax(loss)), self.cells[int(np.nanargmax(loss))]

    def _above_oracle(self, score: str, method: str) -> Share:
        lead = self._against(score, method, ORACLE)
        return Share(int((lead > 0).sum()), int((~np.isnan(lead)).sum()) if method != ORACLE else 0)


def summarise(results: Sequence[Result]) -> Board:
    """Average results over seeds; a cell without entry for one seed has none."""
    kind_of = {result.cell: result.kind for result in results}
    cells = sorted(kind_of, key=lambda cell: KINDS.index(kind_of[cell]))
    methods = list(dict.fromkeys(result.method for result in results))
    sums = np.zeros((len(cells), len(methods), len(SCORES)))
    counts = np.zeros((len(cells), len(methods), 1))
    for result in results:
        place = cells.index(result.cell), methods.index(result.method)
        sums[place] += np.nan if result.scores is None else [result.scores[name] for name in SCORES]
        counts[place] += 1
    means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return Board(cells, [kind_of[cell] for cell in cells], methods, means, int(counts.max(initial=1)))


# -- tables ---------------------------------------------------------------------------------------------------------

Rows = list[list[str]]
FIRST_HEAD = [f"first ({kind})" for kind in ("all", *KINDS)]
VERDICT_HEAD = ["method", *FIRST_HEAD, "mean rank", "worst loss", "where", f"above {ORACLE}"]


def number(value: float | None, form: str = ".3f") -> str:
    """A number for people; what is not there is a dash."""
    return EMPTY if value is None or np.isnan(value) else format(value, form)


def verdict_rows(board: Board, score: str) -> Rows:
    """One row per method under `VERDICT_HEAD`."""
    rows = []
    for method in board.methods:
        verdict = board.verdict(score, method)
        first = [str(verdict.first[kind]) for kind in ("all", *KINDS)]
        worst = [number(verdict.worst_loss), verdict.worst_cell or EMPTY]
        rows.append([method, *first, number(verdict.mean_rank["all"], ".2f"), *worst, str(verdict.above_oracle)])
    return rows


def score_rows(board: Board, score: str, mark: Callable[[str], str] = lambda text: text) -> Rows:
    """One row per cell with the entries of all methods; the best competitor is marked."""
    values = board.of(score)
    goodness = np.where(board.competes, values if score in HIGHER_IS_BETTER else -values, -np.inf)
    best = np.nan_to_num(goodness, nan=-np.inf).max(axis=1, initial=-np.inf)
    return [
        [
            cell,
            *(mark(number(v)) if g == top and np.isfinite(g) else number(v) for v, g in zip(row, goods, strict=True)),
        ]
        for cell, row, goods, top in zip(board.cells, values, goodness, best, strict=True)
    ]


def rank_rows(board: Board) -> Rows:
    """One row per judged score and kind of cell with the mean ranks of all methods."""
    rows = []
    for score, name in JUDGED.items():
        verdicts = [board.verdict(score, method) for method in board.methods]
        for kind in ("all", *dict.fromkeys(board.kinds)):
            rows.append([f"{name}, {kind}", *(number(verdict.mean_rank[kind], ".2f") for verdict in verdicts)])
    return rows


def footer(board: Board) -> str:
    """Why there are dashes, as far as there may be."""
    reasons = [f"{method} runs up to {PEERS[method].max_votes:,} votes" for method in board.methods if method in PEERS]
    reasons += [f"{ORACLE} needs a simulated crowd"] if ORACLE in board.methods else []
    return f"{EMPTY} no entry: {'; '.join(reasons)}." if reasons else ""


# -- the page -------------------------------------------------------------------------------------------------------


def page(board: Board, command: str) -> str:
    """The whole of board.md; `command` made it."""
    kinds = ", ".join(f"{board.kinds.count(kind)} {kind}" for kind in dict.fromkeys(board.kinds))
    lines = [
        "# Board",
        "",
        f"Written on {date.today()} with amcc {amcc.__version__}, crowd-kit {peers.crowdkit_version() or EMPTY}:",
        "",
        f"    {command}",
        "",
        f"Cells: {len(board.cells)} ({kinds}). Seeds per cell: {board.n_draws} (sets that are used whole: 1,",
        f"simulated crowds: at most {MOST_SIMULATED_SEEDS}). Truth is *independent* of the votes, or the crowd's *own*",
        "(made from all its votes, of which the methods see a part), or *simulated*.",
        "",
        "## Summary",
        "",
        f"First is who is within {TIE} of the best of a cell; a rank counts those who are better by more than that.",
        f"Both are among the methods with an entry. The worst loss is against {BASELINE}; negative, it is a gain.",
    ]
    if ORACLE in board.methods:
        lines += [
            f"{ORACLE} is given the true rates of simulated workers, which nobody knows, so it does not compete; the",
            "last column says on how many simulated cells a method is above it.",
        ]
    for score, name in JUDGED.items():
        lines += ["", f"### {name}", "", *markdown_table(VERDICT_HEAD, verdict_rows(board, score))]
    lines += ["", "## Mean ranks", "", *markdown_table(["score, cells", *board.methods], rank_rows(board))]
    for score in SCORES:
        rows = score_rows(board, score, mark="**{}**".format)
        lines += ["", f"## {score}", "", "Means over seeds, the best of each row in bold.", ""]
        lines += markdown_table(["cell", *board.methods], rows)
        if any(EMPTY in row for row in rows):
            lines += ["", footer(board)]
    return "\n".join([*lines, ""])


def markdown_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Lines of a table."""
    table = [[cell.replace("|", "\\|") for cell in row] for row in (list(head), *rows)]
    lines = [f"| {' | '.join(row)} |" for row in table]
    return [lines[0], "|---" * len(table[0]) + "|", *lines[1:]]
