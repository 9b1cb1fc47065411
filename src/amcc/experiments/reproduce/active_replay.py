"""Our larger replay: what would the quality of all votes have cost, had a strategy chosen the questions?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from amcc import plotting
from amcc.active.base import GROWTH
from amcc.active.replay import GOALS, SAME_QUALITY, Curve, cost_of_goals, mean_curve
from amcc.experiments.reproduce.active import LOOKS, SHORT, extent_of, name_ends
from amcc.experiments.reproduce.active_runs import FURTHER, ReplayRun, further_crowds, replay_run
from amcc.experiments.reproduce.crowds import GENERATED, Crowd
from amcc.experiments.reproduce.fits import Fit, Results, Task
from amcc.experiments.reproduce.plan import AMCC, Figure, Plan, Study, Table, View
from amcc.plotting import GREY

# Sets of the paper with at least five answers per item.
SETS = ("AppleNakamura", "AppleEkman", "LoveNakamura", "LoveEkman", "Affective")
# Of a mean curve.
N_POINTS = 101
# Share of the cost from which on a strategy should not be worse than asking at random.
SPENT_ALREADY = 0.1

# What people call the price lists.
TITLES = {"equal": "equal prices", "paper": "the paper's prices, 1 to W", "random": "random prices, 1 to 10"}

# What these leave out of `amcc` is about pairs: they are compared with it at equal prices only, to save time.
ABOUT_PAIRS = ("amcc-rsl", "amcc-nlc")


def crowds_of(plan: Plan) -> list[Crowd]:
    """Sets with answers enough and a generated crowd; in short, two small sets."""
    of_paper = [plan.crowd(name) for name in plan.among(SETS) if name in extent_of(plan).sets]
    if extent_of(plan) is SHORT:
        return of_paper or [plan.crowd(GENERATED)]
    return [*of_paper, *further_crowds(plan.data), plan.crowd(GENERATED)]


def seeds_of(plan: Plan, crowd: Crowd, strategy: str, prices: str) -> range:
    """A few; more for those on the shortlist. First answers, ties and random prices change with them."""
    extent, most = extent_of(plan), plan.scale.n_runs
    often = strategy in extent.shortlist and prices == "equal" and crowd.name not in FURTHER  # these take long
    return range(most if often else min(most, extent.most_runs))


def runs_of(plan: Plan, crowd: Crowd, strategy: str, prices: str) -> list[ReplayRun]:
    """A strategy with its seeds."""
    budget = extent_of(plan).budget
    return [replay_run(crowd, seed, strategy, prices, budget) for seed in seeds_of(plan, crowd, strategy, prices)]


def all_votes(crowd: Crowd, seeds: range) -> list[Fit]:
    """The consensus that it is compared with."""
    return [Fit(crowd, seed, AMCC) for seed in ([0] if crowd.fixed else seeds)]


def _cases(plan: Plan) -> list[tuple[Crowd, str, str]]:
    return [
        (crowd, prices, strategy)
        for crowd in crowds_of(plan)
        for prices in extent_of(plan).price_lists
        for strategy in extent_of(plan).strategies
        if prices == "equal" or strategy not in ABOUT_PAIRS
    ]


def tasks(plan: Plan) -> list[Task]:
    """All strategies on all sets at all price lists, and the consensus of all votes."""
    found: list[Task] = []
    for crowd, prices, strategy in _cases(plan):
        found += all_votes(crowd, seeds_of(plan, crowd, strategy, prices))
        found += runs_of(plan, crowd, strategy, prices)
    return list(dict.fromkeys(found))


def curve_of(found: Mapping[str, Any], prices: str) -> Curve:
    """What a run has measured, at one of the price lists."""
    return Curve(*(np.array(found[column], dtype=np.float64) for column in (prices, "votes", "jaccard")))


def present(plan: Plan, results: Results) -> Sequence[Table | Figure]:
    """Costs of the goals, and the curves."""
    goal_rows, curve_rows = [], []
    for crowd, prices, strategy in _cases(plan):
        fits = all_votes(crowd, seeds_of(plan, crowd, strategy, prices))
        quality = float(np.mean([results[fit]["scores"]["jaccard"] for fit in fits]))
        curves = [curve_of(results[run], prices) for run in runs_of(plan, crowd, strategy, prices)]
        mean = mean_curve(curves, N_POINTS)
        where = {"set": crowd.title, "prices": prices, "strategy": strategy, "all_votes_jaccard": quality}
        goal_rows += [
            {
                **where,
                "goal": goal,
                "runs": len(curves),
                "first_share": float(mean.cost_share[0]),
                "sustained_cost": cost.median,
                "least": cost.least,
                "most": cost.most,
            }
            for goal, cost in cost_of_goals(curves, quality).items()
        ]
        of_runs = np.array([np.interp(mean.cost_share, each.cost_share, each.jaccard) for each in curves])
        curve_rows += [
            {**where, "cost_share": share, "mean": jaccard, "ci_low": low, "ci_high": high}
            for share, jaccard, low, high in zip(
                mean.cost_share.tolist(), mean.jaccard.tolist(), of_runs.min(0).tolist(), of_runs.max(0).tolist(),
                strict=True,
            )
        ]  # fmt: skip
    goals, curves_table = pa.Table.from_pylist(goal_rows), pa.Table.from_pylist(curve_rows)
    drawn = (
        "The curves of the table: means as lines, seeds as bands; dashed: all votes; ●: from here on the mean stays."
    )
    title = "What the quality of all votes would have cost"
    figure = Figure("active-replay-curves", f"{title}, drawn", drawn, curves_table, partial(draw, curves_table))
    leads = pa.Table.from_pylist(leads_of_uniform(curve_rows))
    about_leads = (
        "The largest lead in Jaccard of asking at random, anywhere on the mean curves from "
        f"{100 * SPENT_ALREADY:.0f} % of the cost on; 0 where it never leads."
    )
    return [
        Table("active-replay", title, _about_goals(plan), goals, goal_views(goal_rows)),
        Table(
            "active-replay-leads", "Is it ever worse than chance?", about_leads, leads, lead_views(leads.to_pylist())
        ),
        figure,
    ]


def _about_goals(plan: Plan) -> str:
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


def _runs_in_words(plan: Plan) -> str:
    extent = extent_of(plan)
    usual, often = min(plan.scale.n_runs, extent.most_runs), plan.scale.n_runs
    if not extent.shortlist or often == usual:
        return f"{usual} runs"
    names, elsewhere = ", ".join(extent.shortlist), ", ".join(FURTHER)
    return f"{often} runs of {names} at equal prices (not on {elsewhere}), {usual} of all else"


def goal_views(rows: Sequence[Mapping[str, Any]]) -> list[View]:
    """Strategies in rows, sets in columns; the highest goal first, others folded."""
    sets = list(dict.fromkeys(row["set"] for row in rows))
    views = []
    for goal in sorted(GOALS, reverse=True):
        for prices in dict.fromkeys(row["prices"] for row in rows):
            here = {
                (row["strategy"], row["set"]): tuple(row[which] for which in ("sustained_cost", "least", "most"))
                for row in rows
                if (row["prices"], row["goal"]) == (prices, goal)
            }
            strategies = list(dict.fromkeys(strategy for strategy, _ in here))
            columns = [_percents([here[strategy, name] for strategy in strategies]) for name in sets]
            body = [[name, *cells] for name, *cells in zip(strategies, *columns, strict=True)]
            title = f"{100 * goal:.0f} % of the quality, {TITLES[prices]}"
            views.append(View(title, ["strategy", *sets], body, folded=goal != 1))
    return views


def leads_of_uniform(curve_rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """By how much `uniform` is ahead of each strategy at most, where it has been run as well."""
    curves: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for row in curve_rows:
        curves.setdefault((row["set"], row["prices"], row["strategy"]), []).append((row["cost_share"], row["mean"]))
    leads = []
    for (name, prices, strategy), curve in curves.items():
        share, jaccard = np.array(curve).T
        of_chance = np.interp(share, *np.array(curves[name, prices, "uniform"]).T)
        lead = (of_chance - jaccard)[share >= SPENT_ALREADY].max(initial=0.0)
        leads.append({"set": name, "prices": prices, "strategy": strategy, "lead": float(lead)})
    return leads


def lead_views(rows: Sequence[Mapping[str, Any]]) -> list[View]:
    """Strategies in rows, sets in columns, a table for each price list."""
    sets, views = list(dict.fromkeys(row["set"] for row in rows)), []
    for prices in dict.fromkeys(row["prices"] for row in rows):
        here = {(row["strategy"], row["set"]): row["lead"] for row in rows if row["prices"] == prices}
        others = [strategy for strategy in dict.fromkeys(strategy for strategy, _ in here) if strategy != "uniform"]
        body = [[each, *(f"{here[each, name]:.3f}" for name in sets)] for each in others]
        views.append(View(TITLES[prices].capitalize(), ["strategy", *sets], body, folded=prices != "equal"))
    return views


def _percents(costs: Sequence[tuple[float | None, float | None, float | None]]) -> list[str]:
    """Median, least and most in words, the least median in bold.

    >>> _percents([(0.25, 0.25, 0.25), (None, 0.3, None), (0.5, 0.4, None)])
    ['**25.0 %**', '— (30–—)', '50.0 % (40–—)']
    """

    def text(share: float | None, form: str) -> str:
        return "—" if share is None else form.format(100 * share)

    best = min((median for median, _, _ in costs if median is not None), default=None)
    texts = []
    for median, least, most in costs:
        cell = text(median, "{:.1f} %")
        cell = f"**{cell}**" if median is not None and median == best else cell
        texts.append(cell if least == most else f"{cell} ({text(least, '{:.0f}')}–{text(most, '{:.0f}')})")
    return texts


def draw(data: pa.Table) -> Any:
    """Sets in rows, price lists in columns."""
    rows = data.to_pylist()
    sets, lists = (list(dict.fromkeys(row[column] for row in rows)) for column in ("set", "prices"))
    figure, axes = plotting.canvas(len(sets), len(lists), (4.6, 3.0))
    for line_of_axes, name in zip(axes, sets, strict=True):
        for panel, prices in zip(line_of_axes, lists, strict=True):
            _draw_panel(panel, [row for row in rows if (row["set"], row["prices"]) == (name, prices)])
            panel.set_title(f"{name}, {TITLES[prices]}")
            panel.set_xlabel("money spent, % of what all votes cost")
        line_of_axes[0].set_ylabel("Jaccard")
    return figure


def _draw_panel(panel: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    quality = rows[0]["all_votes_jaccard"]
    panel.axhline(quality, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    ends = []
    for name in dict.fromkeys(row["strategy"] for row in rows):
        here = [row for row in rows if row["strategy"] == name]
        share = 100 * np.array([row["cost_share"] for row in here])
        mean, low, high = (np.array([row[column] for row in here]) for column in ("mean", "ci_low", "ci_high"))
        colour, line = LOOKS[name]
        panel.fill_between(share, low, high, color=colour, alpha=0.1, linewidth=0)
        panel.plot(share, mean, color=colour, linestyle=line, linewidth=1.4)
        stays = Curve(share, share, mean).sustained_cost(
            here[0]["all_votes_jaccard"] - SAME_QUALITY
        )  # of its own seeds
        if stays is not None:
            panel.plot(stays, np.interp(stays, share, mean), marker="o", color=colour, markersize=5, zorder=4)
        ends.append((float(share[-1]), float(mean[-1]), name, colour))
    name_ends(panel, ends)


STUDIES = (Study("active-replay", "what the quality of all votes would have cost", tasks, present, SETS),)
