"""What a reproduction consists of: studies, how large they are, and the data at hand.

A `Study` names its tasks and, when they are measured, presents tables and figures. A `StudyPlan` says how large it may
be (`Scale`) and which sets are there. `Reproduction` is what comes out; `output.py` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from amcc.experiments.entrants import Entrant
from amcc.experiments.paper_values import REMOVED
from amcc.experiments.reproduce.fits import Results, Task
from amcc.experiments.reproduce.sets import GENERATED, MULAN, REAL, PaperSet

# The default; the paper's objective with all repairs; and as printed, as far as that runs (docs/deviations.md).
AMCC = Entrant("AMCC", "amcc")
FROBENIUS = Entrant("AMCC (paper's objective)", "amcc-frobenius")
PRINTED = Entrant("AMCC (as printed)", "amcc-printed")

# Rows of the paper's tables, in its order; hard majority beside soft, because the paper does not say which it used; and
# MCMLD as its authors print it beside our exact one.
PAPER_ROWS = (
    Entrant("MV", "majority"),
    Entrant("MV (hard output)", "majority", (("scores", "hard"),)),
    Entrant("C-DS", "c-ds"),
    Entrant("RAkEL-GLAD", "rakel-glad"),
    Entrant("MCMLI", "mcmli"),
    Entrant("MCMLD", "mcmld"),
    Entrant("MCMLD (as printed)", "mcmld", (("variant", "paper"),)),
    Entrant("ML-JMF", "ml-jmf"),
    Entrant("NAM", "nam"),
    AMCC,
)
# Methods that the paper does not compare with, and its own objective.
FURTHER_ROWS = (
    Entrant("Dawid–Skene", "dawid-skene"),
    Entrant("DS-tree", "ds-tree"),
    Entrant("iBCC", "ibcc"),
    Entrant("EBCC", "ebcc"),
    Entrant("MACE", "mace"),
    FROBENIUS,
    PRINTED,
)
ROWS = PAPER_ROWS + FURTHER_ROWS

# Method → the row of the paper whose numbers stand beside it: that of every reading of what the paper describes.
PAPER_ROW = {"majority": "MV", "mcmld": "MCMLD", AMCC.method: "AMCC", FROBENIUS.method: "AMCC", PRINTED.method: "AMCC"}


@dataclass(frozen=True)
class Scale:
    """How large the studies are.

    n_runs : runs with chance, as seeds 0, 1 … .
    mulan : feature sets whose workers are simulated.
    left_out : methods that take too long.
    thinned : sets that are also used with fewer answers (tables 5 and 6).
    removed : shares of answers that are removed (Table 6).
    weight_powers : α and β as powers of ten.
    exponents : r.
    n_groups : M.
    sensitivity : sets of the sensitivity figures: name, answers per item.
    growth_votes : sizes of the generated crowds to be timed.
    patience : seconds of a fit after which no larger crowd follows.
    round_sizes : what grows where a round of the paper's objective is timed, and how large it gets.
    """

    n_runs: int = 10  # as in the paper
    mulan: tuple[str, ...] = tuple(MULAN)
    left_out: tuple[str, ...] = ()
    thinned: tuple[str, ...] = tuple(REAL)
    removed: tuple[float, ...] = REMOVED
    weight_powers: tuple[int, ...] = tuple(range(-4, 5))
    exponents: tuple[float, ...] = (2.0, 3.0, 4.0, 5.0)
    n_groups: tuple[int, ...] = (2, 3, 4, 5, 6, 7)
    sensitivity: tuple[tuple[str, int | None], ...] = (("Affective", None), ("AppleNakamura", 5), ("SONYC-UST", None))
    growth_votes: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    patience: float = 5.0  # ten times as many votes take a minute then, and three methods would take ten
    # Doubled and quadrupled: the smallest takes milliseconds, the largest a second a round.
    round_sizes: tuple[tuple[str, tuple[int, ...]], ...] = (
        ("labels", (10, 20, 40)), ("workers", (50, 200, 800)), ("items", (1_000, 4_000, 16_000)),
    )  # fmt: skip


FULL = Scale()
# A few minutes on two cores: what takes longest is left out, everything else is tried at least once.
QUICK = Scale(
    n_runs=2,
    mulan=("Emotions",),
    left_out=("ml-jmf", "ebcc", "mace", "amcc-printed"),
    thinned=("LoveEkman", "Affective"),
    removed=(0.1, 0.5),
    weight_powers=(-3, -1, 1, 3),  # with the paper's choice, -1 and 1
    exponents=(2.0, 3.0, 5.0),
    n_groups=(2, 5, 7),
    sensitivity=(("Affective", None),),
    growth_votes=(1_000, 10_000, 100_000),
    patience=1.0,
    round_sizes=(("labels", (10, 20)), ("workers", (50, 200)), ("items", (1_000, 4_000))),
)


@dataclass(frozen=True)
class StudyPlan:
    """How large the studies are, and where things are.

    data : folder of data sets, if there is one. cache : folder of what was measured, and of simulated workers.
    sets : those that were found in `data`, by the paper's names.
    """

    scale: Scale
    data: Path | None
    cache: Path
    sets: frozenset[str] = frozenset()

    def paper_set(self, name: str, *, answers: int | None = None, removed: float = 0.0) -> PaperSet:
        """A set of the paper, from the data at hand, whole or with fewer answers."""
        # A generated crowd needs no folder: tasks about it are equal wherever the data lie.
        data = None if name == GENERATED else str(self.data)
        return PaperSet(name, data, str(self.cache / "workers"), answers, removed)

    def has(self, name: str) -> bool:
        """Whether a set can be drawn."""
        return name == GENERATED or name in self.sets

    def among(self, names: Iterable[str]) -> list[str]:
        """Those that can be drawn."""
        return [name for name in names if self.has(name)]

    @property
    def mulan(self) -> list[str]:
        """Feature sets to simulate workers on."""
        return self.among(self.scale.mulan)

    @property
    def real(self) -> list[str]:
        """Sets with answers of people."""
        return self.among(REAL)

    @property
    def entrants(self) -> list[Entrant]:
        """The rows of tables that can be had: methods that this version has and this scale has time for."""
        return [row for row in ROWS if row.exists and row.method not in self.scale.left_out]

    def missing_methods(self) -> list[str]:
        """Why rows are missing, in sentences."""
        unknown = [row.name for row in ROWS if not row.exists]
        slow = [row.name for row in ROWS if row.exists and row.method in self.scale.left_out]
        notes = [f"without {', '.join(unknown)}: this version of amcc does not have them yet"] * bool(unknown)
        return notes + [f"without {', '.join(slow)}: left out by --quick, for they take longer"] * bool(slow)


@dataclass(frozen=True)
class View:
    """A table for people: text in rows, under a title.

    Columns that begin with "paper's" hold its numbers; `**` around a text prints it bold.
    folded : shown on the page only, on demand.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    folded: bool = False


@dataclass(frozen=True)
class Table:
    """A table of the paper.

    name : of its file. data : all numbers, one measurement a row, for the file. views : parts of it, for people.
    """

    name: str
    title: str
    caption: str
    data: pa.Table
    views: Sequence[View]


@dataclass(frozen=True)
class Figure:
    """A figure.

    name : of its files. data : its numbers, for a file. draw : makes a matplotlib figure, when it is written.
    """

    name: str
    title: str
    caption: str
    data: pa.Table
    draw: Callable[[], Any]


@dataclass(frozen=True)
class Study:
    """One thing to reproduce.

    tasks : what must be measured. present : tables and figures from the results; none if no data serve it.
    sets : data sets that it would use if they were there, by the paper's names. draws : whether it needs matplotlib.
    compares : whether all methods take part.
    """

    name: str
    title: str
    tasks: Callable[[StudyPlan], Sequence[Task]]
    present: Callable[[StudyPlan, Results], Sequence[Table | Figure]]
    sets: tuple[str, ...] = ()
    draws: bool = True
    compares: bool = False


@dataclass(frozen=True)
class Reproduction:
    """What came out, by study, and what to tell: data and methods that were missing."""

    outputs: Mapping[str, Sequence[Table | Figure]]
    notes: Sequence[str] = ()

    def all(self) -> Iterator[Table | Figure]:
        """Tables and figures of all studies, in order."""
        return (output for outputs in self.outputs.values() for output in outputs)
