"""What a reproduction consists of: studies, how large they are, and the data at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from amcc.experiments.paper_values import REMOVED
from amcc.experiments.reproduce.crowds import GENERATED, MULAN, REAL, Crowd
from amcc.experiments.reproduce.fits import Contestant, Results, Task

AMCC = Contestant("AMCC", "amcc")
FROBENIUS = Contestant("AMCC (paper's objective)", "amcc-frobenius")
PRINTED = Contestant("AMCC (as printed)", "amcc-printed")

PAPER_ROWS = (
    Contestant("MV", "majority"),
    Contestant("MV (hard output)", "majority", (("scores", "hard"),)),
    Contestant("C-DS", "c-ds"),
    Contestant("RAkEL-GLAD", "rakel-glad"),
    Contestant("MCMLI", "mcmli"),
    Contestant("MCMLD", "mcmld"),
    Contestant("ML-JMF", "ml-jmf"),
    Contestant("NAM", "nam"),
    AMCC,
)
FURTHER_ROWS = (
    Contestant("Dawid–Skene", "dawid-skene"),
    Contestant("DS-tree", "ds-tree"),
    Contestant("iBCC", "ibcc"),
    Contestant("EBCC", "ebcc"),
    Contestant("MACE", "mace"),
    FROBENIUS,
    PRINTED,
)
ROWS = PAPER_ROWS + FURTHER_ROWS


@dataclass(frozen=True)
class Scale:
    """How large the studies are.

    n_runs : runs with chance, as seeds 0, 1 … .
    mulan : feature sets whose workers are simulated.
    left_out : methods that take too long.
    thinned : sets that are also used with fewer answers (tables 5 and 6); removed : shares of them (Table 6).
    weight_powers : α and β as powers of ten; exponents : r; n_groups : M.
    sensitivity : crowds of the sensitivity figures: name, answers per item.
    growth_votes, patience : sizes of the generated crowds to be timed, and seconds after which no larger one follows.
    """

    n_runs: int = 10
    mulan: tuple[str, ...] = tuple(MULAN)
    left_out: tuple[str, ...] = ()
    thinned: tuple[str, ...] = tuple(REAL)
    removed: tuple[float, ...] = REMOVED
    weight_powers: tuple[int, ...] = tuple(range(-4, 5))
    exponents: tuple[float, ...] = (2.0, 3.0, 4.0, 5.0)
    n_groups: tuple[int, ...] = (2, 3, 4, 5, 6, 7)
    sensitivity: tuple[tuple[str, int | None], ...] = (("Affective", None), ("AppleNakamura", 5), ("SONYC-UST", None))
    growth_votes: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    patience: float = 30.0


FULL = Scale()
QUICK = Scale(
    n_runs=2,
    mulan=("Emotions",),
    left_out=("ml-jmf", "ebcc", "mace", "amcc-printed"),
    thinned=("LoveEkman", "Affective"),
    removed=(0.1, 0.5),
    weight_powers=(-3, -1, 1, 3),
    exponents=(2.0, 3.0, 5.0),
    n_groups=(2, 5, 7),
    sensitivity=(("Affective", None),),
    growth_votes=(1_000, 10_000, 100_000),
    patience=1.0,
)


@dataclass(frozen=True)
class Plan:
    """Scale, and where things are; `sets` are those that were found in `data`, by the paper's names."""

    scale: Scale
    data: Path | None
    cache: Path
    sets: frozenset[str] = frozenset()

    def crowd(self, name: str, *, answers: int | None = None, removed: float = 0.0) -> Crowd:
        """A crowd of the paper, from the data at hand."""
        data = None if name == GENERATED else str(self.data)
        return Crowd(name, data, str(self.cache / "workers"), answers, removed)

    def has(self, name: str) -> bool:
        """Whether a crowd can be drawn."""
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
    def contestants(self) -> list[Contestant]:
        """The rows of tables that can be had."""
        return [row for row in ROWS if row.known and row.method not in self.scale.left_out]

    def missing_methods(self) -> list[str]:
        """Why rows are missing, in sentences."""
        unknown = [row.name for row in ROWS if not row.known]
        slow = [row.name for row in ROWS if row.known and row.method in self.scale.left_out]
        notes = [f"without {', '.join(unknown)}: this version of amcc does not have them yet"] * bool(unknown)
        return notes + [f"without {', '.join(slow)}: left out by --quick, for they take longer"] * bool(slow)


@dataclass(frozen=True)
class View:
    """A table for people: text in rows, under a title; folded ones are shown on the page only, on demand."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    folded: bool = False


@dataclass(frozen=True)
class Table:
    """A table of the paper: all numbers for a file, and views of it."""

    name: str
    title: str
    caption: str
    data: pa.Table
    views: Sequence[View]


@dataclass(frozen=True)
class Figure:
    """A figure: `draw` makes a matplotlib figure; `data` are its numbers."""

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
    tasks: Callable[[Plan], Sequence[Task]]
    present: Callable[[Plan, Results], Sequence[Table | Figure]]
    sets: tuple[str, ...] = ()
    draws: bool = True
    compares: bool = False


@dataclass(frozen=True)
class Reproduction:
    """What came out, and what to tell."""

    outputs: Mapping[str, Sequence[Table | Figure]]
    notes: Sequence[str] = ()

    def all(self) -> Iterator[Table | Figure]:
        """Tables and figures of all studies, in order."""
        return (output for outputs in self.outputs.values() for output in outputs)
