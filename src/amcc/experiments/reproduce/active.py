"""Figures "active", "cost", "batchsize" and "eta": which questions to ask next, by the paper's protocol.

All three studies vary one thing (the strategy, the questions at a time, η) and measure the same curves: `Curves` has
the runs and makes rows of what they found. How they are drawn is in `active_figures.py`, how they are run in
`active_runs.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, get_args

import numpy as np
import pyarrow as pa

from amcc.active import GROWTH, STRATEGIES
from amcc.arrays import Floats
from amcc.experiments.reproduce import active_figures
from amcc.experiments.reproduce.active_figures import EVALUATIONS, READINGS
from amcc.experiments.reproduce.active_runs import N_QUESTIONS, PAPER_BATCH, PRICE_LISTS, Costs, PaperRun
from amcc.experiments.reproduce.fits import Results
from amcc.experiments.reproduce.plan import Figure, Study, StudyPlan, Table, View
from amcc.experiments.reproduce.rows import Row
from amcc.experiments.reproduce.sets import GENERATED, REAL, WITHOUT_ONE_TIMERS, PaperSet
from amcc.experiments.reproduce.statistics import Sample, estimate, interval_note, mark

# η of eq9 that the paper chose; also the default of the strategy.
PAPER_MIX = 0.3

PROTOCOL = (
    f"Items at random: 5 % with all their answers, 70 % to ask about, 25 % for tests. {N_QUESTIONS} questions, "
    f"{PAPER_BATCH} at a time; a question is one worker about one label of one item, and only what was recorded can be "
    "asked, once. Training items: consensus of the votes bought; test items: their recorded votes, judged by the "
    "workers as learned so far. New votes count at once, workers are judged again when the votes have grown by "
    f"{100 * GROWTH:.0f} %."
)
# What stands under the names of the rows.
NAMES = (
    "Capital names are the paper's methods: AMCC and its variants have the paper's consensus (amcc-frobenius; as "
    "printed: amcc-printed), SAC, NAM(A) and MV(rSW) their own. Small names are strategies of amcc with its default "
    "consensus."
)
PRICED = {
    "1…W": "Prices go from 1 to the number of workers W by their accuracy on the first items.",
    "eq12": "Prices are those of eq12, by the fit of the moment: at most 1.",
}
# What differs from the paper in all figures, and in those of quality.
DIFFERS = "Unlike the paper: Movie is missing because its answers are not public"
QUALITY_DIFFERS = f"{DIFFERS}, training and test items are shown apart, and both readings of accuracy."


class Contender(NamedTuple):
    """A strategy and its consensus, under the name of its row; its own consensus where none is given."""

    name: str
    strategy: str
    model: str | None = None

    @property
    def of_paper(self) -> bool:
        """Whether it is one of the paper's methods: their names are written as the paper does."""
        return self.name != self.strategy


PAPER_CONSENSUS = "amcc-frobenius"

# The paper's methods by its names; "as printed" also with the printed consensus.
PAPER_METHODS = (
    Contender("AMCC", "amcc", PAPER_CONSENSUS),
    Contender("AMCC(rW)", "amcc-rw", PAPER_CONSENSUS),
    Contender("AMCC(rSL)", "amcc-rsl", PAPER_CONSENSUS),
    Contender("AMCC(nLC)", "amcc-nlc", PAPER_CONSENSUS),
    Contender("AMCC (as printed)", "amcc", "amcc-printed"),
    Contender("SAC", "sac"),
    Contender("NAM(A)", "nam-a"),
    Contender("MV(rSW)", "mv-rsw"),
)
# A shortlist is for larger crowds than these, and a classifier for items with features, which the paper's sets lack;
# amcc-paper is the row AMCC.
STUDIED = tuple(name for name in STRATEGIES if name not in ("amcc-short", "amcc-classifier", "amcc-paper"))
# Of the larger replay: ours, chance, the paper's pairs with random workers, and who came nearest in version 0.1.0. All
# strategies at all prices would take a day.
REPLAYED = ("voi", "uniform", "amcc-rw", "okg")
# The same strategies and others with our consensus; those that come with another consensus stand above.
OURS = tuple(Contender(name, name) for name in STUDIED if name not in ("sac", "nam-a", "mv-rsw"))
# Rows at eq12's costs.
EQ12_ROWS = (*(each.name for each in PAPER_METHODS if each.model != "amcc-printed"), "voi")
# To whom all others are compared.
REFERENCE = PAPER_METHODS[0]


@dataclass(frozen=True)
class Extent:
    """How much is measured.

    contenders : rows of the paper's protocol. costs : what workers cost there.
    strategies : of the larger replay. sets : of the curves.
    sensitivity : sets of the figure of batches, the two of the paper's figure.
    batches : questions at a time.
    mixes : η.
    up_to : the share of votes that is known at the end of the figure of batches.
    most_runs : partitions or seeds where runs take long.
    price_lists, budget : of the larger replay, which ends when this share of the cost of all votes is spent.
    """

    contenders: tuple[Contender, ...]
    costs: tuple[Costs, ...]
    strategies: tuple[str, ...]
    sets: tuple[str, ...]
    sensitivity: tuple[str, ...]
    batches: tuple[int, ...]
    mixes: tuple[float, ...]
    up_to: float
    most_runs: int
    price_lists: tuple[str, ...]
    budget: float


# All strategies on all sets, as in the paper, with more η and batches than it shows.
WHOLE = Extent(
    contenders=PAPER_METHODS + OURS,
    costs=get_args(Costs),
    strategies=REPLAYED,
    sets=tuple(REAL),
    sensitivity=("Affective", "SONYC-UST"),
    batches=(2, 5, 10, 25),
    mixes=(0.0, 0.2, 0.3, 0.5, 0.7, 1.0),
    up_to=0.5,
    most_runs=2,
    price_lists=PRICE_LISTS,
    budget=1.0,
)
# Minutes instead of days: the default, the paper's criterion and chance, on two small sets.
SHORT = Extent(
    contenders=tuple(each for each in PAPER_METHODS + OURS if each.name in ("AMCC", "AMCC(nLC)", "uniform", "voi")),
    costs=get_args(Costs),
    strategies=("voi", "amcc", "uniform"),
    sets=("LoveEkman", "Affective"),
    sensitivity=("Affective",),
    batches=(5, 25),
    mixes=(0.0, 0.3, 1.0),
    up_to=0.1,
    most_runs=1,
    price_lists=PRICE_LISTS[:1],
    budget=0.5,
)


def extent_of(plan: StudyPlan) -> Extent:
    """All of it, or the short one: where methods are left out since they take too long, strategies are as well."""
    return SHORT if plan.scale.left_out else WHOLE


def sets_of(plan: StudyPlan, names: Iterable[str]) -> list[PaperSet]:
    """Those that are there, or else a generated crowd."""
    return [plan.paper_set(name) for name in plan.among(names) or [GENERATED]]


# -- curves ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curves:
    """The runs of a study that varies one thing.

    column : what is varied, as tables call it. values : what it is set to, one after the other.
    runs : those of one set with one of the values, a run per partition.
    """

    column: str
    sets: Sequence[PaperSet]
    values: Sequence[Any]
    runs: Callable[[PaperSet, Any], Sequence[PaperRun]]

    def tasks(self) -> list[PaperRun]:
        """All runs."""
        return [run for paper_set in self.sets for value in self.values for run in self.runs(paper_set, value)]

    def rows(self, results: Results, *, ends_only: bool = False) -> list[Row]:
        """Means over partitions for every set and value, point by point or at the last point only."""
        # The last point has a row for each evaluation and reading.
        first = -len(EVALUATIONS) * len(READINGS) if ends_only else 0
        return [
            {"set": paper_set.title, self.column: value, **row}
            for paper_set in self.sets
            for value in self.values
            for row in summary(self.runs(paper_set, value), results)[first:]
        ]


def summary(runs: Sequence[PaperRun], results: Results) -> list[Row]:
    """Means and intervals over partitions: one row for each point of the curve, evaluation and reading.

    Points are those of the first run: all runs ask in batches of one size, so that their points are the same.
    """
    found = [results[run] for run in runs]
    # Curves of one set may differ in length by a point, where partitions leave more or fewer votes to buy.
    n_points = min(len(each["queries"]) for each in found)
    rows: list[Row] = []
    for point in range(n_points):
        cost = float(np.mean([each["cost"][point] for each in found]))
        for part in EVALUATIONS:
            for reading in READINGS:
                values = np.array([each[f"{part} {reading}"][point] for each in found], dtype=np.float64)
                mean = estimate(Sample(values, values))
                at = {"queries": found[0]["queries"][point], "cost": cost, "evaluation": part, "measure": reading}
                rows.append({**at, "mean": mean.mean, "ci_low": mean.low, "ci_high": mean.high})
    return rows


def strategy_curves(plan: StudyPlan, costs: Costs = "1…W") -> Curves:
    """All contenders on all sets and partitions; at eq12's costs the paper's own and, for comparison, the default.

    Without the printed consensus and without SONYC's other form there, to save an hour.
    """
    extent = extent_of(plan)
    contenders, names = extent.contenders, extent.sets
    if costs == "eq12":
        contenders = tuple(each for each in contenders if each.name in EQ12_ROWS)
        names = tuple(name for name in names if name not in WITHOUT_ONE_TIMERS)
    known = {each.name: each for each in contenders}

    def runs(paper_set: PaperSet, name: str) -> list[PaperRun]:
        strategy, model = known[name].strategy, known[name].model
        return [PaperRun(paper_set, seed, strategy, model=model, costs=costs) for seed in range(plan.scale.n_runs)]

    return Curves("strategy", sets_of(plan, names), tuple(known), runs)


def strategy_tasks(plan: StudyPlan) -> list[PaperRun]:
    """The runs at all kinds of costs."""
    return [run for costs in extent_of(plan).costs for run in strategy_curves(plan, costs).tasks()]


def batch_curves(plan: StudyPlan) -> Curves:
    """AMCC with other numbers of questions at a time, until half of the votes are known.

    A point every 50 questions, which all batch sizes divide.
    """
    extent = extent_of(plan)
    seeds = range(min(plan.scale.n_runs, extent.most_runs))

    def runs(paper_set: PaperSet, batch: int) -> list[PaperRun]:
        return [PaperRun(paper_set, seed, "amcc", batch=batch, every=50, up_to=extent.up_to) for seed in seeds]

    return Curves("batch", sets_of(plan, extent.sensitivity), extent.batches, runs)


def mix_curves(plan: StudyPlan) -> Curves:
    """AMCC with other η on all partitions; η is `correlation_mix` of the strategy (eq9)."""
    extent = extent_of(plan)

    def runs(paper_set: PaperSet, mix: float) -> list[PaperRun]:
        # The paper's η is the default: its runs are those of the other study, which are then measured once.
        params = () if mix == PAPER_MIX else (("correlation_mix", mix),)
        seeds = range(plan.scale.n_runs)
        return [PaperRun(paper_set, seed, "amcc", params, model=PAPER_CONSENSUS) for seed in seeds]

    names = [name for name in extent.sets if name not in WITHOUT_ONE_TIMERS]
    return Curves("eta", sets_of(plan, names), extent.mixes, runs)


# -- strategies ------------------------------------------------------------------------------------------------------


def present(plan: StudyPlan, results: Results) -> Sequence[Table | Figure]:
    """For each kind of costs a table of the ends of the curves, the curves, and what they cost."""
    return [made for costs in extent_of(plan).costs for made in _present_at(plan, results, costs)]


def _present_at(plan: StudyPlan, results: Results, costs: Costs) -> list[Table | Figure]:
    """What `present` says, at one kind of costs. The paper's methods and ours have panels of their own."""
    curves = strategy_curves(plan, costs)
    rows = curves.rows(results)
    suffix, at = ("", "") if costs == "1…W" else (f"-{costs}", f", costs by {costs}")
    made: list[Table | Figure] = [end_table(curves, results, pa.Table.from_pylist(rows), costs)]
    of_paper = {each.name for each in extent_of(plan).contenders if each.of_paper}
    blocks = {"paper": ("the paper's methods, and voi", of_paper | {"voi"})}
    if costs == "1…W":
        blocks["ours"] = ("with our consensus, and the paper's AMCC", set(curves.values) - of_paper | {REFERENCE.name})
    for block, (who, names) in blocks.items():
        for reading, title in READINGS.items():
            shown = [row for row in rows if row["measure"] == reading and row["strategy"] in names]
            part = pa.Table.from_pylist(shown)
            caption = (
                'The paper\'s figure "active". Protocol as in the table above. '
                f"{interval_note(part, 'bands')} Only AMCC and voi have any, because a dozen could not be told apart. "
                "Against cost: means of both at the same number of questions, in the colours of the panel to the left. "
                f"{QUALITY_DIFFERS}"
            )
            if reading == "precision":
                caption += " Items without a predicted label do not count: so few votes leave most of them out."
            draw = partial(active_figures.draw_quality, part, title)
            made.append(Figure(f"active-{block}-{reading}{suffix}", f"{title}: {who}{at}", caption, part, draw))
    # Rows repeat the cost for each evaluation and reading.
    columns = "set", "strategy", "queries", "cost"
    distinct_costs = dict.fromkeys(tuple((name, row[name]) for name in columns) for row in rows)
    spent = pa.Table.from_pylist([dict(row) for row in distinct_costs])
    caption = f'The paper\'s figure "cost": what the questions cost, mean over partitions. {PRICED[costs]} {DIFFERS}.'
    draw_costs = partial(active_figures.draw_costs, spent)
    return [*made, Figure(f"active-cost{suffix}", f"Strategies: cost{at}", caption, spent, draw_costs)]


def end_table(curves: Curves, results: Results, data: pa.Table, costs: Costs) -> Table:
    """Quality after the last question, and its cost; strategies in rows, sets in columns.

    A view for each evaluation and reading, precision folded, and one for the cost. Marks are against `REFERENCE`.
    """
    head = ["strategy", *(paper_set.title for paper_set in curves.sets)]

    def ends(column: str) -> list[list[Floats]]:
        """[set, strategy] what the runs of a strategy end with."""
        return [
            [np.array([results[run][column][-1] for run in curves.runs(paper_set, name)], dtype=np.float64)
             for name in curves.values]
            for paper_set in curves.sets
        ]  # fmt: skip

    def view(title: str, cells: Sequence[Sequence[str]], folded: bool = False) -> View:
        """A column of cells for each set."""
        return View(title, head, [list(row) for row in zip(curves.values, *cells, strict=True)], folded)

    reference = curves.values.index(REFERENCE.name)
    views = [
        view(
            f"{title} on {evaluation}",
            [_end_cells(each, reference) for each in ends(f"{part} {reading}")],
            folded=reading == "precision",
        )
        for part, evaluation in EVALUATIONS.items()
        for reading, title in READINGS.items()
    ]
    # Costs of eq12 are below 1 each: without decimals, all would look alike.
    cost_format = ",.0f" if costs == "1…W" else ".1f"
    views.append(view("cost", [[f"{values.mean():{cost_format}}" for values in each] for each in ends("cost")]))
    caption = (
        f"{PROTOCOL} {PRICED[costs]} {NAMES} Mean and standard deviation over partitions; •/◦: AMCC is significantly "
        "better/worse (paired t-test, 95 %, from three partitions on)."
    )
    name, title = ("active", "") if costs == "1…W" else (f"active-{costs}", f", costs by {costs}")
    return Table(name, f"Strategies after 100 questions{title}", caption, data, views)


def _end_cells(ends: Sequence[Floats], reference: int) -> list[str]:
    """Mean ± deviation of each strategy, with marks against that at `reference`."""
    samples = [Sample(each, each) for each in ends]
    cells = []
    for number, sample in enumerate(samples):
        found = estimate(sample)
        sign = "" if number == reference else mark(sample, samples[reference])
        cells.append(f"{found.mean:.3f} ±{found.sd:.3f} {sign}".rstrip())
    return cells


# -- batches and η ---------------------------------------------------------------------------------------------------


def present_batches(plan: StudyPlan, results: Results) -> Sequence[Figure]:
    """One figure."""
    extent, data = extent_of(plan), pa.Table.from_pylist(batch_curves(plan).rows(results))
    caption = (
        'The paper\'s figure "batchsize": strategy amcc with 5 % of the items at the start, until '
        f"{100 * extent.up_to:.0f} % of all votes are known, with other numbers of questions at a time. "
        f"{interval_note(data, 'bands')} Unlike the paper: our consensus and not more than {extent.most_runs} of the "
        "partitions, because the paper's takes minutes a fit on SONYC-UST; the end is a share of the votes rather than "
        "of the samples. The paper chose 5."
    )
    draw = partial(active_figures.draw_batches, data)
    return [Figure("active-batch", "Questions at a time", caption, data, draw)]


def present_mixes(plan: StudyPlan, results: Results) -> Sequence[Figure]:
    """One figure."""
    data = pa.Table.from_pylist(mix_curves(plan).rows(results, ends_only=True))
    caption = (
        'The paper\'s figure "eta": AMCC after the last question with other shares η of the correlation term in eq9; '
        f"dotted: the paper's η = {PAPER_MIX}. {PROTOCOL} {PRICED['1…W']} {interval_note(data, 'bands')} "
        f"{QUALITY_DIFFERS}"
    )
    draw = partial(active_figures.draw_mixes, data, PAPER_MIX)
    return [Figure("active-eta", "Share of the correlation term", caption, data, draw)]


STUDIES = (
    Study("active", "which questions to ask next", strategy_tasks, present, WHOLE.sets),
    Study(
        "active-batch", "questions at a time", lambda plan: batch_curves(plan).tasks(), present_batches,
        WHOLE.sensitivity,
    ),
    Study(
        "active-eta", "share of the correlation term", lambda plan: mix_curves(plan).tasks(), present_mixes, WHOLE.sets
    ),
)  # fmt: skip
