"""Replays as a picture: what quality costs, strategy by strategy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from amcc.active.curves import Replay
from amcc.errors import ParameterError
from amcc.plotting import COLOURS, GREY, drawn_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Styles of lines, and what they look like beside a name.
LINES = {"-": "——", "--": "– –", ":": "····"}

# First all colours with a whole line, then again with broken ones: few strategies differ by colour alone.
LOOKS = [(colour, line) for line in LINES for colour in COLOURS]

# More strategies are drawn without the range of their seeds, which would hide the lines.
MOST_BANDS = 4


def plot_replay(found: Mapping[str, Replay], ax: Axes | None = None) -> Axes:
    """Draw quality against money: means as lines, the range of the seeds as bands, a dot at the cost of the middle one.

    Lines meet where everything is bought, so their names stand beside it in the order of what they cost.

    found : the runs of each strategy, by name. ax : where to draw; a new figure, unless it is given.
    """
    if not 0 < len(found) <= len(LOOKS):
        raise ParameterError(f"there must be 1 to {len(LOOKS)} strategies to draw; got {len(found)}.")
    quality = float(np.mean(next(iter(found.values())).all_votes))
    look = dict(zip(found, LOOKS, strict=False))
    with drawn_on(ax, (6.4, 4.0)) as axes:
        for name, each in found.items():
            _draw_curves(axes, each, *look[name], band=len(found) <= MOST_BANDS)
        axes.text(1.02, 0.95, "● stays from", transform=axes.transAxes, color=GREY, fontsize=8)
        for rank, name in enumerate(sorted(found, key=lambda name: _cost_of_all(found[name]))):
            colour, line = look[name]
            text = f"{LINES[line]} {name}: {found[name].in_percent(1.0)}"
            axes.text(1.02, 0.89 - 0.06 * rank, text, transform=axes.transAxes, color=colour, fontsize=8)
        axes.axhline(quality, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            f"all votes: {quality:.3f}", (0, quality), (4, 4), xycoords=("axes fraction", "data"),
            textcoords="offset points", color=GREY, fontsize=8,
        )  # fmt: skip
        axes.set_title("What quality costs; ● from here on the same as with all votes" + cut_note(found))
        axes.set_xlabel("money spent, % of what all votes cost")
        axes.set_ylabel("mean Jaccard index")
        axes.set_xlim(left=0)
    return axes


def cut_note(found: Mapping[str, Replay]) -> str:
    """A second line for the title, where lines end although runs went on."""
    cut = any(each.is_cut for each in found.values())
    return "\nlines are means, and end where the first run ended" if cut else ""


def _draw_curves(axes: Axes, each: Replay, colour: str, line: str, *, band: bool) -> None:
    mean = each.mean
    share = 100 * mean.cost_share
    if band:
        of_seeds = np.array([np.interp(mean.cost_share, curve.cost_share, curve.jaccard) for curve in each.curves])
        axes.fill_between(share, of_seeds.min(axis=0), of_seeds.max(axis=0), color=colour, alpha=0.15, linewidth=0)
    axes.plot(share, mean.jaccard, color=colour, linestyle=line)
    stays = each.sustained_cost[1.0].median
    if stays is not None:
        axes.plot(100 * stays, np.interp(stays, mean.cost_share, mean.jaccard), marker="o", color=colour, zorder=3)


def _cost_of_all(each: Replay) -> float:
    stays = each.sustained_cost[1.0].median
    return float("inf") if stays is None else stays
