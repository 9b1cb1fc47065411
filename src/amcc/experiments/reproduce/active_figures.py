"""Figures of the active studies: quality and cost against questions, with bands, and a name at the end of each line.

Every function takes the long table of its figure: rows of set, what was varied, queries, cost, evaluation and measure,
with mean, ci_low and ci_high.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from amcc.experiments.reproduce.rows import Row, columns, distinct, where
from amcc.plotting import BLUE, COLOURS, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, canvas, grid, label_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Columns of what was measured → what people call them; every pair of both is a panel.
EVALUATIONS = {"training": "training items", "test": "test items"}
READINGS = {"jaccard": "Jaccard", "precision": "precision"}

# Strategies with a band: the paper's, and ours.
BANDED = ("AMCC", "voi")

# Colour and line of each strategy; those of one kind share a colour. Capital names are the paper's methods.
LOOKS: dict[Any, tuple[str, str]] = {
    "AMCC": (VERMILION, "-"),
    "AMCC(rW)": (ORANGE, "--"),
    "AMCC(rSL)": (ORANGE, ":"),
    "AMCC(nLC)": (ORANGE, "-."),
    "AMCC (as printed)": (VERMILION, ":"),
    "SAC": (GREEN, "-"),
    "NAM(A)": (GREEN, "--"),
    "MV(rSW)": (GREY, "--"),
    "voi": (BLUE, "-"),
    "voi-decision": (BLUE, "--"),
    "amcc": (ORANGE, "-"),
    "amcc-presence": (SKY, ":"),
    "amcc-rw": (ORANGE, "--"),
    "amcc-rsl": (ORANGE, ":"),
    "amcc-nlc": (ORANGE, "-."),
    "sac": (GREEN, "-"),
    "nam-a": (GREEN, "--"),
    "mv-rsw": (GREY, "--"),
    "uniform": (GREY, "-"),
    "activelab": (PURPLE, "-"),
    "okg": (PURPLE, "--"),
    "ceal": (SKY, "-"),
}


def draw_line(
    axes: Axes, rows: Sequence[Row], x: str, colour: str, line: str, marker: str = "", *, band: bool = True
) -> None:
    """Means, with their band unless it is not wanted; x : the column across."""
    across, low, high, mean = columns(rows, x, "ci_low", "ci_high", "mean")
    if band:
        # NaN where there are too few partitions for an interval: no band.
        axes.fill_between(across, low, high, color=colour, alpha=0.1, linewidth=0)
    axes.plot(across, mean, color=colour, linestyle=line, marker=marker, linewidth=1.5)


def draw_lines(
    axes: Axes,
    rows: Sequence[Row],
    x: str,
    by: str,
    looks: dict[Any, tuple[str, str]],
    *,
    named: bool = True,
    text: str = "{}",
) -> None:
    """One line for each value of the column `by`, with its name at the end, or else a dot.

    looks : colour and line of each value. text : what to write at the end, with {} for the value.
    """
    ends = []
    for name in distinct(rows, by):
        of_name = where(rows, **{by: name})
        # Of strategies only these two have bands: of a dozen that overlap, none could be read.
        draw_line(axes, of_name, x, *looks[name], band=by != "strategy" or name in BANDED)
        ends.append((of_name[-1][x], of_name[-1]["mean"], text.format(name), looks[name][0]))
    if named:
        name_ends(axes, ends)
    else:
        for across, height, _, colour in ends:
            axes.plot(across, height, marker="o", color=colour, markersize=4)


def name_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Names beside lines that are all drawn by now: where they end in the panel depends on its limits.

    ends : x, y, name and colour of each line.
    """
    axes.autoscale_view()
    label_ends(axes, ends, gap=0.07)


def draw_quality(data: pa.Table, title: str) -> Figure:
    """Sets in rows; both evaluations against questions and against cost.

    title : what quality is, as the vertical axis calls it. Lines are named where they end at the same place, which is
    against questions; against cost, a dot marks the end and the colour says whose it is.
    """
    rows = data.to_pylist()
    sets = distinct(rows, "set")
    figure, axes = canvas(len(sets), 4, (3.7, 2.8))
    views = [(part, x) for part in EVALUATIONS for x in ("queries", "cost")]
    for line_of_axes, name in zip(axes, sets, strict=True):
        for panel, (part, x) in zip(line_of_axes, views, strict=True):
            here = where(rows, set=name, evaluation=part)
            if x == "cost":
                panel.set_xscale("log")
                here = [row for row in here if row["cost"] > 0]  # before the first question, no logarithm
            draw_lines(panel, here, x, "strategy", LOOKS, named=x == "queries")  # costs end anywhere in the panel
            panel.set_title(f"{name}, {EVALUATIONS[part]}")
            panel.set_xlabel("questions" if x == "queries" else "cost of the questions")
        line_of_axes[0].set_ylabel(title)
    return figure


def draw_costs(data: pa.Table) -> Figure:
    """One panel per set: what the questions of each strategy have cost so far."""
    rows = data.rename_columns({"cost": "mean"}).to_pylist()
    sets = distinct(rows, "set")
    figure, panels = grid(len(sets), (3.7, 2.8), n_columns=3)
    for panel, name in zip(panels, sets, strict=True):
        here = [{**row, "ci_low": np.nan, "ci_high": np.nan} for row in where(rows, set=name)]  # costs have no band
        draw_lines(panel, here, "queries", "strategy", LOOKS)
        panel.set_title(name)
        panel.set_xlabel("questions")
    panels[0].set_ylabel("cost of the questions")
    return figure


def draw_batches(data: pa.Table) -> Figure:
    """Sets in rows; evaluations and readings in columns."""
    rows = data.to_pylist()
    looks: dict[Any, tuple[str, str]] = {
        size: (colour, "-") for size, colour in zip(distinct(rows, "batch"), COLOURS, strict=False)
    }

    def draw(panel: Axes, here: Sequence[Row]) -> None:
        draw_lines(panel, here, "queries", "batch", looks, text="{} at a time")

    return _draw_all(rows, draw, "questions")


def draw_mixes(data: pa.Table, chosen: float) -> Figure:
    """Sets in rows; evaluations and readings in columns; dotted: the η that the paper chose."""

    def draw(panel: Axes, rows: Sequence[Row]) -> None:
        draw_line(panel, rows, "eta", BLUE, "-", "o")
        panel.axvline(chosen, color=GREY, linewidth=1, linestyle=":")

    return _draw_all(data.to_pylist(), draw, "η")


def _draw_all(rows: Iterable[Row], draw: Callable[[Axes, Sequence[Row]], None], x_title: str) -> Figure:
    """`draw` in every panel: sets in rows, evaluations and readings in columns."""
    rows = list(rows)
    sets = distinct(rows, "set")
    figure, axes = canvas(len(sets), 4, (3.3, 2.3), sharex="row")
    views = [(part, reading) for part in EVALUATIONS for reading in READINGS]
    for line_of_axes, name in zip(axes, sets, strict=True):
        for panel, (part, reading) in zip(line_of_axes, views, strict=True):
            draw(panel, where(rows, set=name, evaluation=part, measure=reading))
            panel.set_title(f"{name}, {EVALUATIONS[part]}")
            panel.set_xlabel(x_title)
            panel.set_ylabel(READINGS[reading])
    return figure
