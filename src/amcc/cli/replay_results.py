"""What the runs of `amcc replay` say together: in a table, as JSON, as rows, or in a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from rich.table import Table

from amcc.active import Curve, cost_of_goals, mean_curve
from amcc.active.curves import ENOUGH_RUNS, GOALS, CostOfGoal
from amcc.arrays import Floats
from amcc.cli.console import notes, screen
from amcc.files import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# -- telling ---------------------------------------------------------------------------------------------------------


def note_few_seeds(seeds: int) -> None:
    """Say so where chance has too large a say."""
    if seeds < ENOUGH_RUNS:
        notes.print(
            f"{seeds} {'seed is' if seeds == 1 else 'seeds are'} too few to tell what a goal costs: use --seeds "
            f"{ENOUGH_RUNS} or more, 10 to compare strategies"
        )


@dataclass(frozen=True)
class Replay:
    """What one strategy achieved: a curve for each seed, and the quality of all votes to compare with."""

    curves: Sequence[Curve]
    all_votes_jaccard: float

    @property
    def mean(self) -> Curve:
        """Mean over the seeds."""
        return mean_curve(self.curves)

    @property
    def sustained_cost(self) -> dict[float, CostOfGoal]:
        """Share of the money for each of the goals."""
        return cost_of_goals(self.curves, self.all_votes_jaccard)

    def in_percent(self, goal: float) -> str:
        """What a goal costs, in words: a run that ended before all votes were bought might have reached it later."""
        cost = self.sustained_cost[goal]
        missed = [curve.end for curve, share in zip(self.curves, cost.of_runs, strict=True) if share is None]
        return _in_percent(cost, "stopped before" if {"patience", "money"} & set(missed) else "never")

    @property
    def is_cut(self) -> bool:
        """Whether the mean ends where the first run did, while others went on."""
        ends = [curve.cost_share[-1] for curve in self.curves]
        return bool(max(ends) - min(ends) > VISIBLE)

    def as_json(self) -> dict[str, Any]:
        """All that scripts may want."""
        curve = np.column_stack([self.mean.cost_share, self.mean.jaccard]).tolist()
        costs = {
            f"{goal:.2f}": {"median": cost.median, "min": cost.least, "max": cost.most, "seeds": list(cost.of_runs)}
            for goal, cost in self.sustained_cost.items()
        }
        ends = [
            {"reason": each.end, "cost_share": each.cost_share[-1], "votes": int(each.n_votes[-1]),
             "jaccard": each.jaccard[-1]}
            for each in self.curves
        ]  # fmt: skip
        return {"all_votes_jaccard": self.all_votes_jaccard, "sustained_cost": costs, "curve": curve, "ends": ends}


def verdict(found: Replay) -> str:
    """What the quality of all votes costs, in words."""
    cost = found.sustained_cost[1.0]
    if cost.median is None:  # more than half of the runs end below the goal
        often = sum(share is not None for share in cost.of_runs)
        but = f", but for {often} of {len(cost.of_runs)} runs" if often else ""
        return f"the quality of all votes is not reached for good{but}"
    return f"same quality as all votes from {found.in_percent(1.0)} of the money on"


def show(found: Mapping[str, Replay], quality: float, n_votes: int, total: str, *, ends: bool) -> None:
    """What each strategy needed, for people; `total` is what all votes cost. ends : also where runs ended, and why."""
    screen.print(f"all {n_votes:,} votes cost {total} and reach Jaccard {quality:.4f}", soft_wrap=True)
    screen.print(result_table(found))
    for name, each in found.items():
        screen.print(f"{name}: {verdict(each)}", soft_wrap=True)
    if ends:
        show_ends(found)


# What a run had done when it ended, by reason.
ENDED = {"all": "bought all votes", "money": "spent the budget", "patience": "stopped without progress"}


def show_ends(found: Mapping[str, Replay]) -> None:
    """Where the runs of each strategy ended, and why, for people."""
    for name, each in found.items():
        for reason, text in ENDED.items():
            ended = [curve for curve in each.curves if curve.end == reason]
            if not ended:
                continue
            share = _spread(np.array([100 * curve.cost_share[-1] for curve in ended]), ".0f")
            jaccard = _spread(np.array([curve.jaccard[-1] for curve in ended]), ".4f")
            runs = f"{len(ended)} of {len(each.curves)} runs {text}"
            screen.print(f"{name}: {runs}, at {share} % of the money, with Jaccard {jaccard}", soft_wrap=True)


def _spread(values: Floats, digits: str) -> str:
    """The middle one, and where there are several, the least and the most.

    >>> _spread(np.array([31.0, 29.6, 40.0]), ".0f"), _spread(np.array([0.5]), ".2f")
    ('31 (30–40)', '0.50')
    """
    middle, least, most = (format(of(values), digits) for of in (np.median, np.min, np.max))
    return middle if least == most else f"{middle} ({least}–{most})"


def result_table(found: Mapping[str, Replay]) -> Table:
    """One row per strategy: the cost of each goal."""
    table = Table("strategy", "first votes", *(f"{100 * goal:.0f} % of it" for goal in GOALS), box=None)
    for name, each in found.items():
        first = f"{100 * each.mean.cost_share[0]:.0f} %"
        table.add_row(name, first, *map(each.in_percent, GOALS))
    return table


def _in_percent(cost: CostOfGoal, missed: str) -> str:
    """The middle run; the cheapest and the most expensive where there are several. missed : of those that miss it.

    >>> [_in_percent(CostOfGoal(of_runs), "never") for of_runs in ((0.5,), (0.3, None, 0.5), (None,))]
    ['50 %', '50 % (30 %–never)', 'never']
    """

    def text(share: float | None, unit: str = " %") -> str:
        return missed if share is None else f"{100 * share:.0f}{unit}"

    least, most = (text(share) for share in (cost.least, cost.most))
    if least == most:
        return least
    return f"{text(cost.median)} ({text(cost.least, '' if cost.most is not None else ' %')}–{most})"


def curve_rows(curves: Mapping[tuple[str, int], Curve]) -> pa.Table:
    """One row per strategy, seed and point."""

    def rows(name: str, seed: int, curve: Curve) -> pa.Table:
        same = {"strategy": [name] * len(curve.jaccard), "seed": [seed] * len(curve.jaccard)}
        votes = curve.n_votes.astype(np.int64)
        return pa.table({**same, "cost_share": curve.cost_share, "votes": votes, "jaccard": curve.jaccard})

    return pa.concat_tables([rows(*run, curve) for run, curve in curves.items()])


# -- drawing ---------------------------------------------------------------------------------------------------------

# Styles of lines, and what they look like beside a name.
LINES = {"-": "——", "--": "– –", ":": "····"}

# More strategies are drawn without the range of their seeds, which would hide the lines.
MOST_BANDS = 4

# Shares of the money that differ by less are one place in the picture.
VISIBLE = 0.01


def draw_curves(found: Mapping[str, Replay], quality: float, path: Path) -> None:
    """Quality against money: means as lines, the range of the seeds as bands, a dot at the cost of the middle one.

    Lines meet where everything is bought, so their names stand beside it in the order of what they cost.
    """
    from amcc import plotting

    # First all colours with a whole line, then again with broken ones: few strategies differ by colour alone.
    looks = [(colour, line) for line in LINES for colour in plotting.COLOURS]
    look = dict(zip(found, looks, strict=False))
    with plotting.style():
        figure, panels = plotting.canvas(1, 1, (6.4, 4.0))
        axes = panels[0, 0]
        for name, each in found.items():
            _draw_curves(axes, each, *look[name], band=len(found) <= MOST_BANDS)
        axes.text(1.02, 0.95, "● stays from", transform=axes.transAxes, color=plotting.GREY, fontsize=8)
        for rank, name in enumerate(sorted(found, key=lambda name: _cost_of_all(found[name]))):
            colour, line = look[name]
            text = f"{LINES[line]} {name}: {found[name].in_percent(1.0)}"
            axes.text(1.02, 0.89 - 0.06 * rank, text, transform=axes.transAxes, color=colour, fontsize=8)
        axes.axhline(quality, color=plotting.GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            f"all votes: {quality:.3f}", (0, quality), (4, 4), xycoords=("axes fraction", "data"),
            textcoords="offset points", color=plotting.GREY, fontsize=8,
        )  # fmt: skip
        axes.set_title("What quality costs; ● from here on the same as with all votes" + cut_note(found))
        axes.set_xlabel("money spent, % of what all votes cost")
        axes.set_ylabel("mean Jaccard index")
        axes.set_xlim(left=0)
        with whole_file(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:].lower())


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
