"""Figures "active", "cost", "batchsize" and "eta": which questions to ask next, by the paper's protocol."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from amcc import plotting
from amcc.active.base import GROWTH
from amcc.active.strategies import STRATEGIES, Amcc
from amcc.experiments.reproduce.active_runs import N_QUESTIONS, PAPER_BATCH, PRICE_LISTS, PaperRun
from amcc.experiments.reproduce.crowds import GENERATED, REAL, Crowd
from amcc.experiments.reproduce.fits import Results
from amcc.experiments.reproduce.plan import Figure, Plan, Study, Table, View
from amcc.experiments.reproduce.statistics import Sample, estimate, mark
from amcc.plotting import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION

EVALUATIONS = {"training": "training items", "test": "test items"}
READINGS = {"jaccard": "Jaccard", "precision": "precision"}
# η that the paper chose.
PAPER_MIX = Amcc().correlation_mix

# Colour and line of each strategy; those of one kind share a colour.
LOOKS = {
    "voi": (BLUE, "-"),
    "amcc": (VERMILION, "-"),
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

PROTOCOL = (
    f"Items at random: 5 % with all their answers, 70 % to ask about, 25 % for tests. {N_QUESTIONS} questions, "
    f"{PAPER_BATCH} at a time; a question is one worker about one label of one item, and only what was recorded can be "
    "asked, once. Prices go from 1 to the number of workers by their accuracy on the first items. Training items: "
    "consensus of the votes bought; test items: their recorded votes, judged by the workers as learned so far. New "
    f"votes count at once, workers are judged anew when the votes have grown by {100 * GROWTH:.0f} %."
)
BANDS = "Bands: 95 % intervals over partitions, from three on."


@dataclass(frozen=True)
class Extent:
    """How much is measured.

    strategies, sets : of the curves. sensitivity : sets of the figure of batches.
    batches : questions at a time; up_to : the share of votes that is known at its end. mixes : η.
    most_runs : partitions or seeds where runs take long; the shortlist of strategies has them all in the larger replay
        at equal prices. price_lists, budget : of the larger replay, which ends when
        this share of the cost of all votes is spent.
    """

    strategies: tuple[str, ...]
    sets: tuple[str, ...]
    sensitivity: tuple[str, ...]
    batches: tuple[int, ...]
    mixes: tuple[float, ...]
    up_to: float
    most_runs: int
    shortlist: tuple[str, ...]
    price_lists: tuple[str, ...]
    budget: float


WHOLE = Extent(
    strategies=tuple(STRATEGIES),
    sets=tuple(REAL),
    sensitivity=("Affective", "SONYC-UST"),
    batches=(2, 5, 10, 25),
    mixes=(0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0),
    up_to=0.5,
    most_runs=2,
    shortlist=("amcc-rw", "uniform", "okg", "voi"),
    price_lists=PRICE_LISTS,
    budget=1.0,
)
SHORT = Extent(
    strategies=("voi", "amcc", "uniform"),
    sets=("LoveEkman", "Affective"),
    sensitivity=("Affective",),
    batches=(5, 25),
    mixes=(0.0, 0.3, 1.0),
    up_to=0.1,
    most_runs=1,
    shortlist=(),
    price_lists=PRICE_LISTS[:1],
    budget=0.5,
)


def extent_of(plan: Plan) -> Extent:
    """Where methods are left out since they take too long, strategies are as well."""
    return SHORT if plan.scale.left_out else WHOLE


def crowds_of(plan: Plan, names: Iterable[str]) -> list[Crowd]:
    """Those that are there, or else a generated crowd."""
    return [plan.crowd(name) for name in plan.among(names) or [GENERATED]]


def summary(runs: Sequence[PaperRun], results: Results) -> list[dict[str, Any]]:
    """Means and intervals over partitions: one row for each point of the curve, evaluation and reading."""
    found = [results[run] for run in runs]
    n_points = min(len(each["queries"]) for each in found)
    rows = []
    for point in range(n_points):
        cost = float(np.mean([each["cost"][point] for each in found]))
        for part in EVALUATIONS:
            for reading in READINGS:
                values = np.array([each[f"{part} {reading}"][point] for each in found], dtype=np.float64)
                mean = estimate(Sample(values, values))
                where = {"queries": found[0]["queries"][point], "cost": cost, "evaluation": part, "measure": reading}
                rows.append({**where, "mean": mean.mean, "ci_low": mean.low, "ci_high": mean.high})
    return rows


# -- strategies ------------------------------------------------------------------------------------------------------


def runs_of(plan: Plan, crowd: Crowd, strategy: str) -> list[PaperRun]:
    """One strategy on all partitions."""
    return [PaperRun(crowd, seed, strategy) for seed in range(plan.scale.n_runs)]


def tasks(plan: Plan) -> list[PaperRun]:
    """All strategies on all sets."""
    extent = extent_of(plan)
    crowds = crowds_of(plan, extent.sets)
    return [run for crowd in crowds for name in extent.strategies for run in runs_of(plan, crowd, name)]


def present(plan: Plan, results: Results) -> Sequence[Table | Figure]:
    """A table of the ends of the curves; the curves; and the paper's figure of costs."""
    extent = extent_of(plan)
    rows = [
        {"set": crowd.title, "strategy": name, **row}
        for crowd in crowds_of(plan, extent.sets)
        for name in extent.strategies
        for row in summary(runs_of(plan, crowd, name), results)
    ]
    data = pa.Table.from_pylist(rows)
    made: list[Table | Figure] = [end_table(plan, results, data)]
    for reading, title in READINGS.items():
        part = pa.Table.from_pylist([row for row in rows if row["measure"] == reading])
        caption = (
            f"{PROTOCOL} {BANDS} Against cost: means of both at the same number of questions, in the colours of the "
            "panel to the left."
        )
        if reading == "precision":
            caption += " Items without a predicted label do not count: so few votes leave most of them out."
        made.append(
            Figure(f"active-{reading}", f"Strategies: {title}", caption, part, partial(draw_quality, part, title))
        )
    columns = "set", "strategy", "queries", "cost"
    distinct = dict.fromkeys(tuple((column, row[column]) for column in columns) for row in rows)  # one per measure
    spent = pa.Table.from_pylist([dict(row) for row in distinct])
    caption = "What the questions cost, mean over partitions. The prices are those of the paper's protocol."
    made.append(Figure("active-cost", "Strategies: cost", caption, spent, partial(draw_costs, spent)))
    return made


def end_table(plan: Plan, results: Results, data: pa.Table) -> Table:
    """Quality after the last question, and its cost."""
    views = []
    crowds = crowds_of(plan, extent_of(plan).sets)
    strategies = extent_of(plan).strategies
    for part, evaluation in EVALUATIONS.items():
        for reading, title in READINGS.items():
            columns = [
                _end_cells([_ends(runs_of(plan, crowd, name), results, f"{part} {reading}") for name in strategies],
                           strategies.index("amcc"))
                for crowd in crowds
            ]  # fmt: skip
            rows = [[name, *cells] for name, *cells in zip(strategies, *columns, strict=True)]
            head = ["strategy", *(crowd.title for crowd in crowds)]
            views.append(View(f"{title} on {evaluation}", head, rows, folded=reading == "precision"))
    cost_cells = [
        [f"{_ends(runs_of(plan, crowd, name), results, 'cost').mean():,.0f}" for crowd in crowds] for name in strategies
    ]
    rows = [[name, *cells] for name, cells in zip(strategies, cost_cells, strict=True)]
    views.append(View("cost", ["strategy", *(crowd.title for crowd in crowds)], rows))
    caption = (
        f"{PROTOCOL} Mean and standard deviation over partitions; •/◦: amcc is significantly better/worse (paired "
        "t-test, 95 %, from three partitions on)."
    )
    return Table("active", "Strategies after 100 questions", caption, data, views)


def _ends(runs: Sequence[PaperRun], results: Results, column: str) -> Any:
    return np.array([results[run][column][-1] for run in runs], dtype=np.float64)


def _end_cells(ends: Sequence[Any], reference: int) -> list[str]:
    """Mean ± deviation of each strategy, with marks against that at `reference`."""
    samples = [Sample(each, each) for each in ends]
    cells = []
    for number, sample in enumerate(samples):
        found = estimate(sample)
        sign = "" if number == reference else mark(sample, samples[reference])
        cells.append(f"{found.mean:.3f} ±{found.sd:.3f} {sign}".rstrip())
    return cells


# -- batches and η ---------------------------------------------------------------------------------------------------


def _few(plan: Plan) -> range:
    return range(min(plan.scale.n_runs, extent_of(plan).most_runs))


def batch_runs(plan: Plan, crowd: Crowd, batch: int) -> list[PaperRun]:
    """AMCC with this many questions at a time, until half of the votes are known."""
    up_to = extent_of(plan).up_to
    return [PaperRun(crowd, seed, "amcc", batch=batch, every=50, up_to=up_to) for seed in _few(plan)]


def batch_tasks(plan: Plan) -> list[PaperRun]:
    """All sizes on the two sets of the paper's figure."""
    extent = extent_of(plan)
    crowds = crowds_of(plan, extent.sensitivity)
    return [run for crowd in crowds for batch in extent.batches for run in batch_runs(plan, crowd, batch)]


def present_batches(plan: Plan, results: Results) -> Sequence[Figure]:
    """One figure."""
    extent = extent_of(plan)
    data = pa.Table.from_pylist(
        [
            {"set": crowd.title, "batch": batch, **row}
            for crowd in crowds_of(plan, extent.sensitivity)
            for batch in extent.batches
            for row in summary(batch_runs(plan, crowd, batch), results)
        ]
    )
    caption = (
        f"Strategy amcc with 5 % of the items at the start, until {100 * extent.up_to:.0f} % of all votes are known, "
        f"with other numbers of questions at a time. {BANDS} At most {extent.most_runs} partitions. Otherwise the "
        "protocol of the paper; it chose 5."
    )
    return [Figure("active-batch", "Questions at a time", caption, data, partial(draw_batches, data))]


def mix_runs(plan: Plan, crowd: Crowd, mix: float) -> list[PaperRun]:
    """AMCC with this η on all partitions; the paper's η is that of the other study."""
    if mix == PAPER_MIX:
        return runs_of(plan, crowd, "amcc")
    return [PaperRun(crowd, seed, "amcc", (("correlation_mix", mix),)) for seed in range(plan.scale.n_runs)]


def mix_tasks(plan: Plan) -> list[PaperRun]:
    """All η on all sets."""
    extent = extent_of(plan)
    crowds = crowds_of(plan, extent.sets)
    return [run for crowd in crowds for mix in extent.mixes for run in mix_runs(plan, crowd, mix)]


def present_mixes(plan: Plan, results: Results) -> Sequence[Figure]:
    """One figure."""
    extent = extent_of(plan)
    rows = []
    for crowd in crowds_of(plan, extent.sets):
        for mix in extent.mixes:
            course = summary(mix_runs(plan, crowd, mix), results)
            end = course[-1]["queries"]
            rows += [{"set": crowd.title, "eta": mix, **row} for row in course if row["queries"] == end]
    data = pa.Table.from_pylist(rows)
    caption = (
        "Strategy amcc after the last question with other shares η of the correlation term in eq. 9; dotted: the "
        f"paper's η = {PAPER_MIX}. {PROTOCOL} {BANDS}"
    )
    return [Figure("active-eta", "Share of the correlation term", caption, data, partial(draw_mixes, data))]


# -- drawing ---------------------------------------------------------------------------------------------------------


def draw_line(axes: Any, rows: Sequence[dict[str, Any]], x: str, colour: str, line: str, marker: str = "") -> None:
    """Means with their band."""
    across = [row[x] for row in rows]
    axes.fill_between(
        across, [row["ci_low"] for row in rows], [row["ci_high"] for row in rows], color=colour, alpha=0.1, linewidth=0
    )
    axes.plot(across, [row["mean"] for row in rows], color=colour, linestyle=line, marker=marker, linewidth=1.5)


def draw_lines(
    axes: Any, rows: Sequence[dict[str, Any]], x: str, by: str, looks: dict[Any, tuple[str, str]], *, named: bool = True
) -> None:
    """One line for each value of a column, with its name at the end, or else a dot."""
    ends = []
    for name in dict.fromkeys(row[by] for row in rows):
        of_name = [row for row in rows if row[by] == name]
        draw_line(axes, of_name, x, *looks[name])
        ends.append((of_name[-1][x], of_name[-1]["mean"], str(name), looks[name][0]))
    if named:
        name_ends(axes, ends)
    else:
        for across, height, _, colour in ends:
            axes.plot(across, height, marker="o", color=colour, markersize=4)


def name_ends(axes: Any, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Names beside lines that are all drawn by now: where they end in the panel depends on its limits."""
    axes.autoscale_view()
    plotting.label_ends(axes, ends, gap=0.07)


def draw_quality(data: pa.Table, title: str) -> Any:
    """Sets in rows; both evaluations against questions and against cost."""
    rows = data.to_pylist()
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = plotting.canvas(len(sets), 4, (3.7, 2.8))
    views = [(part, x) for part in EVALUATIONS for x in ("queries", "cost")]
    for line_of_axes, name in zip(axes, sets, strict=True):
        for panel, (part, x) in zip(line_of_axes, views, strict=True):
            here = [row for row in rows if (row["set"], row["evaluation"]) == (name, part)]
            if x == "cost":
                panel.set_xscale("log")
                here = [row for row in here if row["cost"] > 0]
            draw_lines(panel, here, x, "strategy", LOOKS, named=x == "queries")  # costs end anywhere in the panel
            panel.set_title(f"{name}, {EVALUATIONS[part]}")
            panel.set_xlabel("questions" if x == "queries" else "cost of the questions")
        line_of_axes[0].set_ylabel(title)
    return figure


def draw_costs(data: pa.Table) -> Any:
    """One panel per set."""
    rows = data.rename_columns({"cost": "mean"}).to_pylist()
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure, panels = plotting.grid(len(sets), (3.7, 2.8), n_columns=3)
    for panel, name in zip(panels, sets, strict=True):
        here = [{**row, "ci_low": np.nan, "ci_high": np.nan} for row in rows if row["set"] == name]
        draw_lines(panel, here, "queries", "strategy", LOOKS)
        panel.set_title(name)
        panel.set_xlabel("questions")
    panels[0].set_ylabel("cost of the questions")
    return figure


def draw_batches(data: pa.Table) -> Any:
    """Sets in rows; evaluations and readings in columns."""
    rows = data.to_pylist()
    sizes = list(dict.fromkeys(row["batch"] for row in rows))
    looks = {size: (plotting.COLOURS[number], "-") for number, size in enumerate(sizes)}
    return _draw_all(rows, lambda panel, here: draw_lines(panel, here, "queries", "batch", looks), "questions")


def draw_mixes(data: pa.Table) -> Any:
    """Sets in rows; evaluations and readings in columns."""

    def draw(panel: Any, rows: Sequence[dict[str, Any]]) -> None:
        draw_line(panel, rows, "eta", BLUE, "-", "o")
        panel.axvline(PAPER_MIX, color=GREY, linewidth=1, linestyle=":")

    return _draw_all(data.to_pylist(), draw, "η")


def _draw_all(rows: Sequence[dict[str, Any]], draw: Any, x_title: str) -> Any:
    sets = list(dict.fromkeys(row["set"] for row in rows))
    figure, axes = plotting.canvas(len(sets), 4, (3.3, 2.3), sharex="row")
    views = [(part, reading) for part in EVALUATIONS for reading in READINGS]
    for line_of_axes, name in zip(axes, sets, strict=True):
        for panel, (part, reading) in zip(line_of_axes, views, strict=True):
            draw(panel, [r for r in rows if (r["set"], r["evaluation"], r["measure"]) == (name, part, reading)])
            panel.set_title(f"{name}, {EVALUATIONS[part]}")
            panel.set_xlabel(x_title)
            panel.set_ylabel(READINGS[reading])
    return figure


STUDIES = (
    Study("active", "which questions to ask next", tasks, present, WHOLE.sets),
    Study("active-batch", "questions at a time", batch_tasks, present_batches, WHOLE.sensitivity),
    Study("active-eta", "share of the correlation term", mix_tasks, present_mixes, WHOLE.sets),
)
