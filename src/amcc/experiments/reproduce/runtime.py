"""Run time: seconds of every method, and how they grow with the number of votes.

The paper only says that its AMCC takes 18 minutes on SONYC-UST and at most 7 on every other set. Times here are
measured alone, after all else, on generated crowds, so that anybody can repeat them without data.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from amcc.experiments.reproduce.fits import GROWTH_LABELS, GrowthTask, Results
from amcc.experiments.reproduce.plan import AMCC, Figure, Study, StudyPlan, Table, View
from amcc.experiments.reproduce.rows import Row, columns, distinct, where
from amcc.experiments.text import EMPTY
from amcc.plotting import COLOURS, GREY, MARKERS, PALE, canvas, label_ends

if TYPE_CHECKING:
    from matplotlib import figure as mpl
    from matplotlib.axes import Axes


def tasks(plan: StudyPlan) -> list[GrowthTask]:
    """Every entrant on growing crowds; hard and soft majority take the same time."""
    # Parameters name a variant of a method that is there already.
    rows = [row for row in plan.entrants if not row.params]
    return [GrowthTask(row, plan.scale.growth_votes, plan.scale.patience) for row in rows]


def present(plan: StudyPlan, results: Results) -> Sequence[Table | Figure]:
    """Table of seconds, and figure of growth; a method that ran out of patience has dashes from there on."""
    found_by = {task.entrant.name: results[task] for task in tasks(plan)}
    data = pa.Table.from_pylist(
        [
            {"method": name, "votes": votes, "seconds": seconds}
            for name, found in found_by.items()
            for votes, seconds in zip(found["votes"], found["seconds"], strict=True)
        ]
    )
    sizes = sorted(set(data["votes"].to_pylist()))
    rows = [
        [name, *_cells(found["votes"], found["seconds"], sizes), growth_text(found["votes"], found["seconds"])]
        for name, found in found_by.items()
    ]
    caption = (
        f"Seconds of a fit on generated crowds ({GROWTH_LABELS} labels, 5 answers per item, 20 % spammers; larger "
        "ones have more items and workers) with nothing else of this reproduction running; the best of three where a "
        f"fit is quick. No larger crowd is tried after a fit of more than {plan.scale.patience:g} s. Growth: power of "
        "the number of votes between the two largest crowds; 1 is linear."
    )
    head = ["method", *(f"{size:,} votes" for size in sizes), "growth"]
    title = "Run time and its growth"
    table = Table("runtime", title, caption, data, [View("", head, rows)])
    drawn = "The seconds of the table; dashed: growth in step with the votes."
    return [table, Figure("runtime-growth", f"{title}, drawn", drawn, data, partial(draw, data))]


def _cells(votes: Sequence[int], seconds: Sequence[float], sizes: Sequence[int]) -> list[str]:
    """Seconds at each size; a dash where patience had ended."""
    of_size = dict(zip(votes, seconds, strict=True))
    return [f"{of_size[size]:.3g}" if size in of_size else EMPTY for size in sizes]


def growth_text(votes: Sequence[int], seconds: Sequence[float]) -> str:
    """Slope between the two largest sizes, on logarithmic scales: the power of the votes that seconds grow with.

    >>> growth_text([10, 100, 1000], [1.0, 2.0, 20.0])
    '1.00'
    """
    if len(votes) < 2:
        return EMPTY
    slope = np.log(seconds[-1] / seconds[-2]) / np.log(votes[-1] / votes[-2])
    return f"{slope:.2f}"


def draw(data: pa.Table) -> mpl.Figure:
    """Seconds against votes, both on logarithmic axes; a name at the end of each line.

    AMCC has a thicker line; a dashed one shows how time grows that is in proportion to the votes.
    """
    rows = data.to_pylist()
    figure, axes = canvas(1, 1, (6.4, 4.6))
    panel = axes[0, 0]
    ends = []
    for number, method in enumerate(distinct(rows, "method")):
        # More methods than colours: after all colours, the next marker begins.
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number // len(COLOURS) % len(MARKERS)]
        x, y = columns(where(rows, method=method), "votes", "seconds")
        panel.plot(x, y, color=colour, marker=marker, linewidth=2.6 if method == AMCC.name else 1.4)
        ends.append((x[-1], y[-1], method, colour))
    # Powers of the votes are straight lines on these axes, and methods differ by a factor of a thousand.
    panel.set_xscale("log")
    panel.set_yscale("log")
    ends.append(_draw_linear_growth(panel, rows))
    panel.set_xlabel("votes")
    panel.set_ylabel("seconds")
    label_ends(panel, ends, gap=0.04)
    return figure


def _draw_linear_growth(panel: Axes, rows: Sequence[Row]) -> tuple[float, float, str, str]:
    """A pale line that grows as the votes do, to compare with, and its end: place, name and colour."""
    few, many = (chosen(row["votes"] for row in rows) for chosen in (min, max))
    # Through the geometric middle of all times, so that lines lie on both sides of it.
    middle = float(np.exp(np.log([row["seconds"] for row in rows]).mean()))
    reach = (many / few) ** 0.5
    panel.plot([few, many], [middle / reach, middle * reach], color=PALE, linestyle="--", linewidth=1, zorder=1)
    return many, middle * reach, "linear growth", GREY


STUDIES = (Study("runtime", "seconds of every method, and growth", tasks, present, compares=True),)
