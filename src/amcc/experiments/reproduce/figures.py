"""Figures that show tables, and panels laid out by two columns of a table.

All take long tables (`rows.py`): one measurement a row. What they have in common with other figures of amcc, colours
and names beside lines, is in `amcc.plotting`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from amcc.experiments.reproduce.rows import Row, columns, distinct, where
from amcc.plotting import BLUE, GREEN, GREY, ORANGE, PALE, VERMILION, canvas, grid, key, label_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Lines that stand out; all others are pale, for sixteen colours tell nobody apart.
HIGHLIGHTED = {"AMCC": (BLUE, "o"), "MV": (VERMILION, "s"), "Dawid–Skene": (GREEN, "^")}


def cross(
    data: pa.Table, draw: Callable[[Axes, Sequence[Row]], None], x_title: str, size: tuple[float, float], **options: Any
) -> tuple[Figure, list[tuple[Axes, str]]]:
    """Methods in rows of panels, sets in columns, `draw` in each; also the first panel of each row, with its method.

    data : a long table with columns set and method. draw : gets a panel and the rows of its set and method.
    size : of a panel, in inches. Sets are named above the first row, the axis below the last.
    """
    rows = data.to_pylist()
    methods, sets = distinct(rows, "method"), distinct(rows, "set")
    figure, axes = canvas(len(methods), len(sets), size, **options)
    for row_of_axes, method in zip(axes, methods, strict=True):
        for panel, name in zip(row_of_axes, sets, strict=True):
            draw(panel, where(rows, set=name, method=method))
    for panel, name in zip(axes[0], sets, strict=True):
        panel.set_title(name)
    for panel in axes[-1]:
        panel.set_xlabel(x_title)
    return figure, list(zip(axes[:, 0], methods, strict=True))


def score_panels(data: pa.Table) -> Figure:
    """Per set and method: Jaccard and precision with intervals, and the paper's Accuracy.

    One panel per set, and per number of answers where it was thinned; methods from top to bottom as in the table.
    """
    rows = data.to_pylist()
    sets = list(dict.fromkeys((row["set"], row["answers_per_item"]) for row in rows))
    methods = distinct(rows, "method")
    figure, panels = grid(len(sets), (2.6, 0.9 + 0.19 * len(methods)), sharex=True, sharey=True)
    place = {method: len(methods) - number for number, method in enumerate(methods)}  # the first on top
    for axes, (name, answers) in zip(panels, sets, strict=True):
        for row in where(rows, set=name, answers_per_item=answers):
            if row["mean"] is not None:
                _score_mark(axes, row, place[row["method"]])
        axes.set_title(name if answers is None else f"{name}, {answers} answers")
        axes.set_yticks(list(place.values()), list(place))
        axes.set_ylim(0.3, len(methods) + 0.7)
        if "AMCC" in place:  # a stripe behind the method that all are compared with
            axes.axhspan(place["AMCC"] - 0.5, place["AMCC"] + 0.5, color="#eaf2f8", zorder=0)
        axes.grid(axis="y", visible=False)
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("score")
    # No score is above 1, though an interval may go on; a little room, or marks at 1 would be cut.
    lowest = panels[0].get_xlim()[0]
    panels[0].set_xlim(lowest, 1 + 0.03 * (1 - lowest))
    with_paper = any(row["paper_mean"] is not None for row in rows)
    of_paper = [("× Accuracy in the paper", GREY)] * with_paper
    key(figure, [("● Jaccard", BLUE), ("□ precision, empty sets left out", ORANGE), *of_paper])
    return figure


def _score_mark(axes: Axes, row: Row, height: float) -> None:
    """Precision above the line of its method, the paper's number on it, Jaccard below: equal ones hide nothing."""
    is_jaccard = row["measure"] == "jaccard"
    colour, shift, marker, face = (BLUE, -0.28, "o", BLUE) if is_jaccard else (ORANGE, 0.28, "s", "white")
    if row["ci_low"] is not None:
        axes.plot([row["ci_low"], row["ci_high"]], [height + shift] * 2, color=colour, linewidth=1.4)
    axes.plot(row["mean"], height + shift, marker=marker, color=colour, markerfacecolor=face, markersize=4)
    if row["paper_mean"] is not None:
        axes.plot(row["paper_mean"], height, marker="x", color=GREY, markersize=4.5)


def removal_panels(data: pa.Table) -> Figure:
    """Per set: Jaccard against the share of answers removed; three methods stand out, and have their names."""
    rows = [row for row in data.to_pylist() if row["mean"] is not None]
    sets = distinct(rows, "set")
    figure, panels = grid(len(sets), (2.7, 2.3))
    for axes, name in zip(panels, sets, strict=True):
        here = where(rows, set=name)
        ends = []
        for method in distinct(here, "method"):
            colour, marker = HIGHLIGHTED.get(method, (PALE, ""))
            removed, y = columns(where(here, method=method), "removed", "mean")
            x = [100 * share for share in removed]
            axes.plot(x, y, color=colour, marker=marker, zorder=3 if marker else 2, linewidth=1.8 if marker else 1)
            ends += [(x[-1], y[-1], method, colour)] * bool(marker)
        axes.set_title(name)
        axes.set_xticks([100 * share for share in sorted(distinct(here, "removed"))])
        axes.set_xlabel("answers removed, %")
        label_ends(axes, ends, gap=0.09)
    panels[0].set_ylabel("Jaccard")
    return figure
