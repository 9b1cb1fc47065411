"""Our larger replay: what would the quality of all votes have cost, had a strategy chosen the questions?

A *case* is one strategy on one set at one price list, with its seeds. Every case gives a curve of quality against
money; tables say from where on the curve stays at the quality of all votes, or of the best method with all votes, how
large the area under the curve is beside that of `voi`, and by how much asking at random leads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from amcc.active import (
    GOALS,
    GROWTH,
    SAME_QUALITY,
    SPENT_ALREADY,
    Curve,
    cost_of_goals,
    cost_of_quality,
    largest_lead,
    mean_curve,
)
from amcc.arrays import Floats
from amcc.experiments.paper_values import WORSE
from amcc.experiments.reproduce import active
from amcc.experiments.reproduce.active import extent_of
from amcc.experiments.reproduce.active_figures import LOOKS, name_ends
from amcc.experiments.reproduce.active_runs import ReplayRun, replay_run
from amcc.experiments.reproduce.fits import FitTask, Found, Results, Task
from amcc.experiments.reproduce.plan import AMCC, Figure, Study, StudyPlan, Table, View
from amcc.experiments.reproduce.rows import Row, columns, distinct, where
from amcc.experiments.reproduce.sets import GENERATED, PaperSet, further_sets
from amcc.experiments.reproduce.statistics import Sample, estimate, mark
from amcc.experiments.text import EMPTY
from amcc.plotting import GREY, canvas

if TYPE_CHECKING:
    from matplotlib import figure as mpl
    from matplotlib.axes import Axes

# Sets of the paper with at least five answers per item: with fewer there is little to choose.
SETS = ("AppleNakamura", "AppleEkman", "LoveNakamura", "LoveEkman", "Affective")
# Of a mean curve: one for every two percent of the cost, which is as fine as a batch, and keeps the figure small.
N_POINTS = 51
# The strategy that all others are compared with.
REFERENCE = "voi"
# Asking at random.
CHANCE = "uniform"
# Methods that are quick and need nothing but votes: the best of these with all votes is a goal, too.
BEST_OF = ("majority", "dawid-skene", "ibcc", "ebcc", "amcc")

# A lead of asking at random that counts as none: our goal, and an item on most of the small sets.
SMALL_LEAD = 0.01

# What people call the price lists.
TITLES = {"equal": "equal prices", "paper": "the paper's prices, 1 to W", "random": "random prices, 1 to 10"}


# -- cases -----------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """One strategy on one set at one price list: its runs, and the fits of all votes that they are compared with.

    all_votes : by method, the fit of the votes of each run; a set that is always the same is fitted once.
    """

    paper_set: PaperSet
    prices: str
    strategy: str
    runs: list[ReplayRun]
    all_votes: dict[str, list[FitTask]]

    def quality(self, results: Results, method: str) -> Floats:
        """(n_runs,) the Jaccard index of a method with all votes of each run."""
        return np.array([results[fit]["scores"]["jaccard"] for fit in self.all_votes[method]])


def sets_of(plan: StudyPlan) -> list[PaperSet]:
    """Sets with answers enough and a generated crowd; in short, two small sets, or a generated crowd without them."""
    of_paper = [plan.paper_set(name) for name in plan.among(SETS) if name in extent_of(plan).sets]
    if extent_of(plan) is active.SHORT:
        return of_paper or [plan.paper_set(GENERATED)]
    return [*of_paper, *further_sets(plan.data), plan.paper_set(GENERATED)]


def seeds_of(plan: StudyPlan) -> range:
    """All of them; in short, one. First answers, ties, random prices and parts of large sets change with them."""
    extent = extent_of(plan)
    return range(min(plan.scale.n_runs, extent.most_runs) if extent is active.SHORT else plan.scale.n_runs)


def cases_of(plan: StudyPlan) -> list[Case]:
    """All strategies on all sets at all price lists."""
    extent, seeds, found = extent_of(plan), seeds_of(plan), []
    methods = [entrant for entrant in plan.entrants if entrant.method in BEST_OF and not entrant.params]
    for paper_set in sets_of(plan):
        # A set that is always the same is fitted once with all votes, however many seeds its runs have.
        fits = {
            entrant.method: [FitTask(paper_set, 0 if paper_set.fixed else seed, entrant) for seed in seeds]
            for entrant in methods
        }
        for prices in extent.price_lists:
            for strategy in extent.strategies:
                runs = [replay_run(paper_set, seed, strategy, prices, extent.budget) for seed in seeds]
                found.append(Case(paper_set, prices, strategy, runs, fits))
    return found


def tasks(plan: StudyPlan) -> list[Task]:
    """The runs of all cases, and the consensus of all votes; equal ones once."""
    found: dict[Task, None] = {}
    for case in cases_of(plan):
        found |= dict.fromkeys(fit for fits in case.all_votes.values() for fit in fits)
        found |= dict.fromkeys(case.runs)
    return list(found)


# Captions.
ABOUT_BEST = (
    "The same for the best of several methods with all votes, whose name and Jaccard index stand beside the set; the "
    "strategies keep their own consensus, so that many never get there (—)."
)
ABOUT_MEANS = (
    "Area and cost as in the tables below, in the mean over all sets; who never comes to stay at a goal has spent all "
    f"the money. The last column counts the sets on which asking at random leads by at most {SMALL_LEAD}, anywhere on "
    f"the mean curves from {100 * SPENT_ALREADY:.0f} % of the cost on."
)
ABOUT_AREAS = (
    "Mean Jaccard over the money from the first votes to the end: the area under the curve, divided by its width. Mean "
    f"and standard deviation over seeds; the largest in bold; •/◦: {REFERENCE} is significantly better/worse (paired "
    "t-test over seeds, 95 %, from three seeds on)."
)


# -- tables ----------------------------------------------------------------------------------------------------------


def curve_of(found: Found, prices: str) -> Curve:
    """What a run has measured, at one of the price lists."""
    return Curve(*(np.array(found[column], dtype=np.float64) for column in (prices, "votes", "jaccard")))


def rows_of(case: Case, results: Results) -> tuple[list[Row], list[Row]]:
    """What each goal costs, a row per goal; and the mean curve with the range of its runs, a row per point.

    A goal is a share of the Jaccard index that the default has with all votes of the same seed.
    """
    of_runs = case.quality(results, AMCC.method)
    quality = float(of_runs.mean())
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
        for goal, cost in cost_of_goals(curves, of_runs).items()
    ]
    # [run, point]: runs have points of their own, so that all are read at those of the mean.
    heights = np.array([np.interp(mean.cost_share, each.cost_share, each.jaccard) for each in curves])
    points = np.stack([mean.cost_share, mean.jaccard, heights.min(axis=0), heights.max(axis=0)], axis=1).tolist()
    names = "cost_share", "mean", "ci_low", "ci_high"
    return goals, [{**about, **dict(zip(names, point, strict=True))} for point in points]


def best_row(case: Case, results: Results) -> Row:
    """What it costs to stay as good as the best method is with all votes, on the mean over the runs."""
    mean = {method: float(case.quality(results, method).mean()) for method in case.all_votes}
    best = max(mean, key=lambda method: mean[method])
    curves = [curve_of(results[run], case.prices) for run in case.runs]
    cost = cost_of_quality(curves, case.quality(results, best) - SAME_QUALITY)
    return {
        "set": case.paper_set.title, "prices": case.prices, "strategy": case.strategy, "method": best,
        "jaccard": mean[best], "sustained_cost": cost.median, "least": cost.least, "most": cost.most,
    }  # fmt: skip


def best_views(rows: Sequence[Row]) -> list[View]:
    """Strategies in rows, sets in columns with the method that is best there."""
    views = []
    for prices in distinct(rows, "prices"):
        here = where(rows, prices=prices)
        cost = {(row["strategy"], row["set"]): (row["sustained_cost"], row["least"], row["most"]) for row in here}
        head = {row["set"]: f"{row['set']}: {row['method']} {row['jaccard']:.3f}" for row in here}
        strategies = distinct(here, "strategy")
        cells = [_percents([cost[strategy, name] for strategy in strategies]) for name in head]
        body = [list(row) for row in zip(strategies, *cells, strict=True)]
        views.append(View(_heading(prices), ["strategy", *head.values()], body, folded=prices != "equal"))
    return views


def area_rows(cases: Sequence[Case], results: Results) -> list[Row]:
    """Mean quality over the money, and the gap to the reference by the paired t-test over seeds, a row per case."""
    curves = {
        (case.paper_set.title, case.prices, case.strategy): [curve_of(results[run], case.prices) for run in case.runs]
        for case in cases
    }
    rows: list[Row] = []
    for (name, prices, strategy), each in curves.items():
        area, reference = (
            np.array([curve.area() for curve in runs]) for runs in (each, curves[name, prices, REFERENCE])
        )
        gap = estimate(Sample(area - reference, area - reference))
        rows.append({
            "set": name, "prices": prices, "strategy": strategy, "runs": len(each), "area": float(area.mean()),
            "sd": estimate(Sample(area, area)).sd, "gap": gap.mean, "gap_low": gap.low, "gap_high": gap.high,
            "mark": mark(Sample(area, area), Sample(reference, reference)),
        })  # fmt: skip
    return rows


def area_views(rows: Sequence[Row]) -> list[View]:
    """Wins of the reference; then strategies in rows and sets in columns, the largest area of a set in bold."""
    views, sets = [win_view(rows)], distinct(rows, "set")
    for prices in distinct(rows, "prices"):
        here = where(rows, prices=prices)
        most = {name: max(row["area"] for row in where(here, set=name)) for name in sets}
        text = {}
        for row in here:
            bold = "**" if row["area"] == most[row["set"]] else ""
            cell = f"{bold}{row['area']:.3f}{bold} ±{row['sd']:.3f} {row['mark']}".strip()
            text[row["strategy"], row["set"]] = cell
        body = [[each, *(text[each, name] for name in sets)] for each in distinct(here, "strategy")]
        views.append(View(_heading(prices), ["strategy", *sets], body, folded=prices != "equal"))
    return views


def win_view(rows: Sequence[Row]) -> View:
    """In how many sets the reference has the largest area, and in how many nobody is significantly ahead of it."""
    body = []
    for prices in distinct(rows, "prices"):
        cells = [where(rows, prices=prices, set=name) for name in distinct(rows, "set")]
        won = sum(max(cell, key=lambda row: row["area"])["strategy"] == REFERENCE for cell in cells)
        unbeaten = sum(all(row["mark"] != WORSE for row in cell) for cell in cells)
        body.append([TITLES[prices], str(len(cells)), str(won), str(unbeaten)])
    head = ["prices", "sets", f"{REFERENCE} has the largest area", "nobody is significantly ahead of it"]
    return View(f"How often {REFERENCE} is first", head, body)


def mean_rows(goals: Sequence[Row], areas: Sequence[Row], leads: Sequence[Row]) -> list[Row]:
    """A row per price list and strategy: means over sets of area and costs, and on how many sets chance is behind.

    Who never comes to stay at a goal has spent all the money.
    """
    found: list[Row] = []
    for prices in distinct(areas, "prices"):
        for strategy in distinct(areas, "strategy"):
            here = {"prices": prices, "strategy": strategy}
            costs = {goal: [row["sustained_cost"] for row in where(goals, **here, goal=goal)] for goal in sorted(GOALS)}
            of_sets = [row["lead"] for row in where(leads, **here)]
            row = {
                **here,
                "area": float(np.mean([each["area"] for each in where(areas, **here)])),
                **{
                    f"cost of {100 * goal:.0f} %": float(np.mean([1.0 if cost is None else cost for cost in of_goal]))
                    for goal, of_goal in costs.items()
                },
                "sets": len(of_sets),
                "not behind chance": sum(lead <= SMALL_LEAD for lead in of_sets),
            }
            found.append(row)
    return found


def mean_views(rows: Sequence[Row]) -> list[View]:
    """Strategies in rows, a table for each price list."""
    costs = [name for name in rows[0] if name.startswith("cost of")]
    head = [
        "strategy",
        "mean area",
        *(f"{name} of the quality" for name in costs),
        "sets where it is not behind chance",
    ]
    views = []
    for prices in distinct(rows, "prices"):
        body = [
            [row["strategy"], f"{row['area']:.3f}", *(f"{100 * row[name]:.0f} %" for name in costs),
             EMPTY if row["strategy"] == CHANCE else f"{row['not behind chance']} of {row['sets']}"]
            for row in where(rows, prices=prices)
        ]  # fmt: skip
        views.append(View(_heading(prices), head, body, folded=False))
    return views


def present(plan: StudyPlan, results: Results) -> Sequence[Table | Figure]:
    """Means over sets, costs of the goals, areas, leads of asking at random, and the curves: tables and a figure."""
    cases = cases_of(plan)
    found = [rows_of(case, results) for case in cases]
    best, areas = [best_row(case, results) for case in cases], area_rows(cases, results)
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
    means = mean_rows(goal_rows, areas, leads)
    goals, bests, sizes, points, led = map(pa.Table.from_pylist, (goal_rows, best, areas, curve_rows, leads))
    return [
        Table(
            "active-replay-means", "In the mean over sets", ABOUT_MEANS, pa.Table.from_pylist(means), mean_views(means)
        ),
        Table("active-replay", title, _about_goals(plan), goals, goal_views(goal_rows)),
        Table(
            "active-replay-best", "What the best method's quality would have cost", ABOUT_BEST, bests, best_views(best)
        ),
        Table("active-replay-areas", "Quality over all the money", ABOUT_AREAS, sizes, area_views(areas)),
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
    """How many runs each case has, and of which sets a part is used."""
    parts = [each for each in sets_of(plan) if each.items]
    cut = ", ".join(f"{each.items} of {each.name}" for each in parts)
    return f"{len(seeds_of(plan))} runs" + (f", each with other random items ({cut}) of the large sets" if cut else "")


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
    points: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for row in curve_rows:
        points.setdefault((row["set"], row["prices"], row["strategy"]), []).append((row["cost_share"], row["mean"]))
    curves = {
        case: Curve(share, share, mean) for case, (share, mean) in ((c, np.array(p).T) for c, p in points.items())
    }
    return [
        {"set": name, "prices": prices, "strategy": strategy,
         "lead": largest_lead(curves[name, prices, CHANCE], curve)}
        for (name, prices, strategy), curve in curves.items()
    ]  # fmt: skip


def lead_views(rows: Sequence[Row]) -> list[View]:
    """Strategies in rows, sets in columns, a table for each price list."""
    sets, views = distinct(rows, "set"), []
    for prices in distinct(rows, "prices"):
        here = where(rows, prices=prices)
        lead = {(row["strategy"], row["set"]): row["lead"] for row in here}
        others = [strategy for strategy in distinct(here, "strategy") if strategy != CHANCE]
        body = [[each, *(f"{lead[each, name]:.3f}" for name in sets)] for each in others]
        views.append(View(_heading(prices), ["strategy", *sets], body, folded=prices != "equal"))
    return views


def _heading(prices: str) -> str:
    """What people call a price list, as a title; W keeps its size.

    >>> _heading("paper")
    "The paper's prices, 1 to W"
    """
    title = TITLES[prices]
    return title[0].upper() + title[1:]


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
