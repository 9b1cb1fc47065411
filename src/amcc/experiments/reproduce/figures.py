"""Figures that show tables: scores of methods by crowd, and scores where answers are removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from amcc.plotting import BLUE, GREEN, GREY, ORANGE, PALE, VERMILION, grid, key, label_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def score_panels(data: pa.Table) -> Figure:
    """Per crowd and method: Jaccard and precision with intervals, and the paper's Accuracy."""
    rows = data.to_pylist()
    crowds = list(dict.fromkeys((row["set"], row["answers_per_item"]) for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, panels = grid(len(crowds), (2.6, 0.7 + 0.19 * len(methods)), sharex=True, sharey=True)
    place = {method: len(methods) - number for number, method in enumerate(methods)}
    for axes, (name, answers) in zip(panels, crowds, strict=True):
        for row in rows:
            if (row["set"], row["answers_per_item"]) == (name, answers) and row["mean"] is not None:
                _score_mark(axes, row, place[row["method"]])
        axes.set_title(name if answers is None else f"{name}, {answers} answers")
        axes.set_yticks(list(place.values()), list(place))
        axes.set_ylim(0.3, len(methods) + 0.7)
        if "AMCC" in place:
            axes.axhspan(place["AMCC"] - 0.5, place["AMCC"] + 0.5, color="#eaf2f8", zorder=0)
        axes.grid(axis="y", visible=False)
        axes.tick_params(labelbottom=True)
    key(figure, [("● Jaccard", BLUE), ("□ precision, empty sets left out", ORANGE), ("× Accuracy in the paper", GREY)])
    return figure


def _score_mark(axes: Axes, row: dict[str, Any], height: float) -> None:
    is_jaccard = row["measure"] == "jaccard"
    colour, shift = (BLUE, -0.17) if is_jaccard else (ORANGE, 0.17)
    if row["ci_low"] is not None:
        axes.plot([row["ci_low"], row["ci_high"]], [height + shift] * 2, color=colour, linewidth=1.4)
    face = colour if is_jaccard else "white"
    axes.plot(
        row["mean"], height + shift, marker="o" if is_jaccard else "s", color=colour, markerfacecolor=face, markersize=4
    )
    if row["paper_mean"] is not None:
        axes.plot(row["paper_mean"], height + 0.17, marker="x", color=GREY, markersize=4.5)


HIGHLIGHTED = {"AMCC": (BLUE, "o"), "MV": (VERMILION, "s"), "Dawid–Skene": (GREEN, "^")}


def removal_panels(data: pa.Table) -> Figure:
    """Per set: Jaccard against the share of answers removed."""
    rows = data.to_pylist()
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure, panels = grid(len(sets), (2.7, 2.3))
    for axes, name in zip(panels, sets, strict=True):
        here = [row for row in rows if row["set"] == name and row["mean"] is not None]
        ends = []
        for method in dict.fromkeys(row["method"] for row in here):
            colour, marker = HIGHLIGHTED.get(method, (PALE, ""))
            of_method = [row for row in here if row["method"] == method]
            x, y = [100 * row["removed"] for row in of_method], [row["mean"] for row in of_method]
            axes.plot(x, y, color=colour, marker=marker, zorder=3 if marker else 2, linewidth=1.8 if marker else 1)
            ends += [(x[-1], y[-1], method, colour)] * bool(marker)
        axes.set_title(name)
        axes.set_xticks(sorted({100 * row["removed"] for row in here}))
        axes.set_xlabel("answers removed, %")
        label_ends(axes, ends, gap=0.09)
    panels[0].set_ylabel("Jaccard")
    return figure
