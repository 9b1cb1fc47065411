"""Plots of the pages: logarithmic axes, names beside the lines."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from amcc.plotting import spread

Line = list[tuple[float, float]]
Lines = dict[str, list[tuple[int, float]]]

RED, BLUE, GREEN, VIOLET = "#c1272d", "#1f6fb4", "#2a8a57", "#8a5aa8"
# Lines that end so many times before the others have their names at their end, not at the side.
NEAR = 500

COLOURS = {"amcc": RED, "crowd-kit": BLUE, "cleanlab": GREEN, "Snorkel": VIOLET, "10⁹ votes": BLUE, "10¹⁰ votes": RED}
STYLES = ("-", "--", ":")
GREY = "#777777"
# Least distance between two names, as a share of the height.
GAP = 0.055


def draw(lines: Lines, what: str, path: Path, across: str = "votes") -> None:
    """One line per task; whose it is shows in the colour, and in the name at its end."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "amcc", "font.size": 9})
    figure, axes = plt.subplots(figsize=(7.2, 4.2))
    axes.set(xscale="log", yscale="log", xlabel=across, ylabel=what)
    seen: dict[str, int] = {}
    for title, points in lines.items():
        colour, style = _look(title, seen)
        axes.plot(*zip(*points, strict=True), color=colour, linestyle=style, marker="o", markersize=3, linewidth=1.4)
    low, high = axes.get_ylim()
    right = max(votes for points in lines.values() for votes, _ in points)
    seen.clear()
    heights = [math.log(points[-1][1] / low) / math.log(high / low) for points in lines.values()]
    far = [points[-1][0] >= right / NEAR for points in lines.values()]
    places = iter(spread(np.array([height for height, is_far in zip(heights, far, strict=True) if is_far]), GAP))
    for (title, points), is_far in zip(lines.items(), far, strict=True):
        colour, _ = _look(title, seen)
        beside = points[-1][0] * 1.2, points[-1][1]
        aside = (right * 1.6, low * (high / low) ** next(places)) if is_far else beside
        axes.annotate(
            title, xy=points[-1], xytext=aside, va="center" if is_far else "bottom", color=colour,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.4, "alpha": 0.6 * is_far},
        )  # fmt: skip
    axes.set_ylim(low, high)
    axes.grid(True, which="major", linewidth=0.3, alpha=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def _look(title: str, seen: dict[str, int]) -> tuple[str, str]:
    """Colour by whose it is, style by how many of theirs came before."""
    owner = title.partition(",")[0]
    seen[owner] = seen.get(owner, -1) + 1
    return COLOURS.get(owner, GREY), STYLES[seen[owner] % len(STYLES)]
