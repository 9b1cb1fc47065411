"""Our larger replay: what would the quality of all votes have cost, had a strategy chosen the questions?

A *case* is one strategy on one set at one price list, with its seeds. Every case gives a curve of quality against
money; tables say from where on the curve stays at the quality of all votes, and by how much asking at random leads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from amcc.active import GOALS, GROWTH, SAME_QUALITY, Curve, cost_of_goals, mean_curve
from amcc.experiments.reproduce import active
from amcc.experiments.reproduce.active import extent_of
from amcc.experiments.reproduce.active_figures import LOOKS, name_ends
from amcc.experiments.reproduce.active_runs import ReplayRun, replay_run
from amcc.experiments.reproduce.fits import FitTask, Found, Results, Task
from amcc.experiments.reproduce.plan import AMCC, Figure, Study, StudyPlan, Table, View
from amcc.experiments.reproduce.rows import Row, columns, distinct, where
from amcc.experiments.reproduce.sets import FURTHER, GENERATED, PaperSet, further_sets
from amcc.experiments.text import EMPTY
from amcc.plotting import GREY, canvas

if TYPE_CHECKING:
    from matplotlib import figure as mpl
    from matplotlib.axes import Axes

# Sets of the paper with at least five answers per item: with fewer there is little to choose.
SETS = ("AppleNakamura", "AppleEkman", "LoveNakamura", "LoveEkman", "Affective")
# Of a mean curve: one for each percent of the cost.
N_POINTS = 101
# Share of the cost from which on a strategy should not be worse than asking at random: before, all know too little.
SPENT_ALREADY = 0.1

# What people call the price lists.
TITLES = {"equal": "equal prices", "paper": "the paper's prices, 1 to W", "random": "random prices, 1 to 10"}

# What these leave out of `amcc` is about pairs: they are compared with it at equal prices only, to save time.
ABOUT_PAIRS = ("amcc-rsl", "amcc-nlc")


# -- cases -----------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """One strategy on one set at one price list: its runs, and the fits of all votes that they are compared with."""

    paper_set: PaperSet
    prices: str
    strategy: str
    runs: list[ReplayRun]
    all_votes: list[FitTask]


def sets_of(plan: StudyPlan) -> list[PaperSet]:
    """Sets with answers enough and a generated crowd; in short, two small sets, or a generated crowd without them."""
    of_paper = [plan.paper_set(name) for name in plan.among(SETS) if name in extent_of(plan).sets]
    if extent_of(plan) is active.SHORT:
        return of_paper or [plan.paper_set(GENERATED)]
    return [*of_paper, *further_sets(plan.data), plan.paper_set(GENERATED)]


def seeds_of(plan: StudyPlan, paper_set: PaperSet, strategy: str, prices: str) -> range:
    """A few; more for those on the shortlist, at equal prices. First answers, ties and random prices change with them.

    Between the strategies on the shortlist the differences are small: it takes ten runs to see them.
    """
    extent, most = extent_of(plan), plan.scale.n_runs
    often = strategy in extent.shortlist and prices == "equal" and paper_set.name not in FURTHER  # these take long
    return range(most if often else min(most, extent.most_runs))


def cases_of(plan: StudyPlan) -> list[Case]:
    """All strategies on all sets at all price lists, except those whose question is answered at equal prices.

    A set that is always the same is fitted once with all votes, however many seeds its runs have.
    """
    extent, found = extent_of(plan), []
    for paper_set in sets_of(plan):
        for prices in extent.price_lists:
            for strategy in extent.strategies:
                if prices == "equal" or strategy not in ABOUT_PAIRS:
                    seeds = seeds_of(plan, paper_set, strategy, prices)
                    runs = [replay_run(paper_set, seed, strategy, prices, extent.budget) for seed in seeds]
                    fits = [FitTask(paper_set, seed, AMCC) for seed in ([0] if paper_set.fixed else seeds)]
                    found.append(Case(paper_set, prices, strategy, runs, fits))
    return found


def tasks(plan: StudyPlan) -> list[Task]:
    """The runs of all cases, and the consensus of all votes; equal ones once."""
    found: dict[Task, None] = {}
    for case in cases_of(plan):
        found |= dict.fromkeys(case.all_votes)
        found |= dict.fromkeys(case.runs)
    return list(found)


# -- tables ----------------------------------------------------------------------------------------------------------


def curve_of(found: Found, prices: str) -> Curve:
    """What a run has measured, at one of the price lists."""
    return Curve(*(np.array(found[column], dtype=np.float64) for column in (prices, "votes", "jaccard")))


def rows_of(case: Case, results: Results) -> tuple[list[Row], list[Row]]:
    """What each goal costs, a row per goal; and the mean curve with the range of its runs, a row per point.

    A goal is a share of the Jaccard index that the default has with all votes of the same seeds.
    """
    quality = float(np.mean([results[fit]["scores"]["jaccard"] for fit in case.all_votes]))
    curves = [curve_of(results[run], case.prices) for run in case.runs]
    mean = mean_curve(curves, N_POINTS)
    about: Row = {
        "set": case.paper_set.title, "prices": case.prices, "strategy": case.strategy, "all_votes_jaccard": quality,
    }  # fmt: skip
    goals: list[Row] = [
        {
            **about,
            "goal": goal,
            "runs": len(curves),
            "first_share": float(mean.cost_share[0]),
            "sustained_cost": cost.median,
            "least": cost.least,
            "most": cost.most,
        }
        for goal, cost in cost_of_goals(curves, quality).items()
    ]
    # [run, point]: runs have points of their own, so that all are read at those of the mean.
    of_runs = np.array([np.interp(mean.cost_share, each.cost_share, each.jaccard) for each in curves])
    points = np.stack([mean.cost_share, mean.jaccard, of_runs.min(axis=0), of_runs.max(axis=0)], axis=1).tolist()
    names = "cost_share", "mean", "ci_low", "ci_high"
    return goals, [{**about, **dict(zip(names, point, strict=True))} for point in points]


def present(plan: StudyPlan, results: Results) -> Sequence[Table | Figure]:
    """Costs of the goals, leads of asking at random, and the curves: two tables and a figure."""
    found = [rows_of(case, results) for case in cases_of(plan)]
    goal_rows = [row for goals, _ in found for row in goals]
    curve_rows = [row for _, points in found for row in points]
    leads = leads_of_uniform(curve_rows)
    about_leads = (
        "The largest lead in Jaccard of asking at random, anywhere on the mean curves from "
        f"{100 * SPENT_ALREADY:.0f} % of the cost on; 0 where it never leads."
    )
    drawn = (
        "The curves of the table: means as lines, seeds as bands; dashed: all votes; ●: from here on the mean stays."
    )
    title = "What the quality of all votes would have cost"
    goals, points, led = map(pa.Table.from_pylist, (goal_rows, curve_rows, leads))
    return [
        Table("active-replay", title, _about_goals(plan), goals, goal_views(goal_rows)),
        Table("active-replay-leads", "Is it ever worse than chance?", about_leads, led, lead_views(leads)),
        Figure("active-replay-curves", f"{title}, drawn", drawn, points, partial(draw, points)),
    ]


def _about_goals(plan: StudyPlan) -> str:
    """The caption of the table of costs."""
    budget = extent_of(plan).budget
    return (
        "Share of the cost of all votes from which on a run never again falls below a share of the Jaccard index that "
        f"AMCC has with all votes ({SAME_QUALITY} below counts as all of it): the median of the runs, in brackets the "
        "least and the most; — where a run ends below"
        f"{'' if budget == 1 else f' within {100 * budget:.0f} % of the cost'}. One recorded answer per item at the "
        "start, which is paid too; about 1 % of the votes at a time; workers are judged anew when the votes have "
        f"grown by {100 * GROWTH:.0f} %; {_runs_in_words(plan)}. The paper's prices go from 1 "
        "to the number of workers by accuracy on all their votes; random ones differ from seed to seed. Best in bold."
    )


def _runs_in_words(plan: StudyPlan) -> str:
    """How many runs each case has."""
    extent = extent_of(plan)
    usual, often = min(plan.scale.n_runs, extent.most_runs), plan.scale.n_runs
    if not extent.shortlist or often == usual:
        return f"{usual} runs"
    names, elsewhere = ", ".join(extent.shortlist), ", ".join(FURTHER)
    return f"{often} runs of {names} at equal prices (not on {elsewhere}), {usual} of all else"


def goal_views(rows: Sequence[Row]) -> list[View]:
    """Strategies in rows, sets in columns; the highest goal first, others folded.

    Cells are the median share of the cost over runs, with its range where runs differ; the least of a set is bold.
    """
    sets, views = distinct(rows, "set"), []
    for goal in sorted(GOALS, reverse=True):
        for prices in distinct(rows, "prices"):
            here = where(rows, prices=prices, goal=goal)
            cost = {(row["strategy"], row["set"]): (row["sustained_cost"], row["least"], row["most"]) for row in here}
            strategies = distinct(here, "strategy")
            cells = [_percents([cost[strategy, name] for strategy in strategies]) for name in sets]
            body = [list(row) for row in zip(strategies, *cells, strict=True)]
            title = f"{100 * goal:.0f} % of the quality, {TITLES[prices]}"
            views.append(View(title, ["strategy", *sets], body, folded=goal != 1))
    return views


def leads_of_uniform(curve_rows: Sequence[Row]) -> list[Row]:
    """By how much `uniform` is ahead of each strategy at most, where it has been run as well.

    Curves are compared at equal cost, at the points of the strategy; before `SPENT_ALREADY`, nothing counts.
    """
    curves: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for row in curve_rows:
        curves.setdefault((row["set"], row["prices"], row["strategy"]), []).append((row["cost_share"], row["mean"]))
    leads: list[Row] = []
    for (name, prices, strategy), curve in curves.items():
        share, jaccard = np.array(curve).T
        of_chance = np.interp(share, *np.array(curves[name, prices, "uniform"]).T)
        lead = (of_chance - jaccard)[share >= SPENT_ALREADY].max(initial=0.0)
        leads.append({"set": name, "prices": prices, "strategy": strategy, "lead": float(lead)})
    return leads


def lead_views(rows: Sequence[Row]) -> list[View]:
    """Strategies in rows, sets in columns, a table for each price list."""
    sets, views = distinct(rows, "set"), []
    for prices in distinct(rows, "prices"):
        here = where(rows, prices=prices)
        lead = {(row["strategy"], row["set"]): row["lead"] for row in here}
        others = [strategy for strategy in distinct(here, "strategy") if strategy != "uniform"]
        body = [[each, *(f"{lead[each, name]:.3f}" for name in sets)] for each in others]
        views.append(View(TITLES[prices].capitalize(), ["strategy", *sets], body, folded=prices != "equal"))
    return views


def _percents(costs: Sequence[tuple[float | None, float | None, float | None]]) -> list[str]:
    """Median, least and most in words, the least median in bold.

    >>> _percents([(0.25, 0.25, 0.25), (None, 0.3, None), (0.5, 0.4, None)])
    ['**25.0 %**', '— (30–—)', '50.0 % (40–—)']
    """

    def text(share: float | None, form: str) -> str:
        return EMPTY if share is None else form.format(100 * share)

    # Of those whose median run reaches the goal at all.
    best = min((median for median, _, _ in costs if median is not None), default=None)
    texts = []
    for median, least, most in costs:
        cell = text(median, "{:.1f} %")
        cell = f"**{cell}**" if median is not None and median == best else cell
        texts.append(cell if least == most else f"{cell} ({text(least, '{:.0f}')}–{text(most, '{:.0f}')})")
    return texts


# -- drawing ---------------------------------------------------------------------------------------------------------


def draw(data: pa.Table) -> mpl.Figure:
    """Sets in rows, price lists in columns."""
    rows = data.to_pylist()
    sets, lists = distinct(rows, "set"), distinct(rows, "prices")
    figure, axes = canvas(len(sets), len(lists), (4.6, 3.0))
    for line_of_axes, name in zip(axes, sets, strict=True):
        for panel, prices in zip(line_of_axes, lists, strict=True):
            _draw_panel(panel, where(rows, set=name, prices=prices))
            panel.set_title(f"{name}, {TITLES[prices]}")
            panel.set_xlabel("money spent, % of what all votes cost")
        line_of_axes[0].set_ylabel("Jaccard")
    return figure


def _draw_panel(panel: Axes, rows: Sequence[Row]) -> None:
    """The curves of all strategies, a dot where each comes to stay, and dashed the quality of all votes."""
    panel.axhline(rows[0]["all_votes_jaccard"], color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    ends = []
    for name in distinct(rows, "strategy"):
        here = where(rows, strategy=name)
        share, mean, low, high = map(np.array, columns(here, "cost_share", "mean", "ci_low", "ci_high"))
        share = 100 * share
        colour, line = LOOKS[name]
        panel.fill_between(share, low, high, color=colour, alpha=0.1, linewidth=0)
        panel.plot(share, mean, color=colour, linestyle=line, linewidth=1.4)
        # Against the quality of all votes in its own seeds: strategies on the shortlist have more of them.
        stays = Curve(share, share, mean).sustained_cost(here[0]["all_votes_jaccard"] - SAME_QUALITY)
        if stays is not None:
            panel.plot(stays, np.interp(stays, share, mean), marker="o", color=colour, markersize=5, zorder=4)
        ends.append((float(share[-1]), float(mean[-1]), name, colour))
    name_ends(panel, ends)


STUDIES = (Study("active-replay", "what the quality of all votes would have cost", tasks, present, SETS),)
