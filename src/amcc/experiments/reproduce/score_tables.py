"""Tables 4, 5 and 6: every method on every crowd, under every reading of "Accuracy", beside the paper's figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats
from amcc.experiments import paper_values
from amcc.experiments.paper_values import Printed, Scores
from amcc.experiments.reproduce import figures
from amcc.experiments.reproduce.crowds import GENERATED, MULAN, OWN_TRUTH, REAL, Crowd
from amcc.experiments.reproduce.fits import (
    MEASURES,
    RANKINGS,
    READINGS,
    SET_RULE,
    SIZES,
    Contestant,
    Fit,
    Results,
    runs_of,
)
from amcc.experiments.reproduce.plan import AMCC, Figure, Plan, Study, Table, View
from amcc.experiments.reproduce.statistics import Estimate, Sample, estimate, mark, p_value

# Which of our measures stands beside which column of tables 4 and 5.
PAPER_COLUMN = {"precision_skip": 0, "one_minus_rl": 1, "one_minus_oe": 2}
MARKED = (*READINGS, *RANKINGS)
FEW_ANSWERS = 5
EMPTY = "—"

MARKS = (
    "• where AMCC is significantly better than the row, ◦ where it is worse (paired t-test at 95 %, not corrected for "
    "many comparisons, as in the paper)"
)
RULE = f"Set rule: {SET_RULE}."
READING_NOTE = (
    'The paper\'s "Accuracy" is, by its formula, precision; it stands beside ours with empty sets left out. '
    "Precision rewards small sets, so read Jaccard first (deviation D12)."
)


# -- one cell -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One contestant on one crowd: samples of all measures."""

    crowd: Crowd
    contestant: Contestant
    samples: dict[str, Sample]
    seconds: float
    n_runs: int


def measured(fits: Sequence[Fit], results: Results) -> Line:
    """Samples over the fits of one contestant on one crowd."""
    found = [results[fit] for fit in fits]
    crowd = fits[0].crowd
    samples = {}
    for measure in MEASURES:
        runs = np.array([one["scores"][measure] for one in found], dtype=np.float64)
        units = _mean_of_runs([one["items"][measure] for one in found]) if crowd.fixed else runs
        samples[measure] = Sample(runs, units)
    seconds = float(np.median([one["seconds"] for one in found]))
    return Line(crowd, fits[0].contestant, samples, seconds, len(fits))


def _mean_of_runs(values: Sequence[Sequence[float]]) -> Floats:
    """(n_items,) means over the runs in which an item has a value."""
    matrix = np.array(values, dtype=np.float64)
    n_defined = (~np.isnan(matrix)).sum(axis=0)
    return np.where(n_defined > 0, np.nansum(matrix, axis=0) / np.maximum(n_defined, 1), np.nan)


def lines_of(plan: Plan, crowd: Crowd, results: Results) -> list[Line]:
    """All contestants on one crowd."""
    return [measured(runs_of(crowd, row, plan.scale.n_runs), results) for row in plan.contestants]


def tasks_of(plan: Plan, crowds: Iterable[Crowd]) -> list[Fit]:
    """Every run of every contestant; those of one draw follow each other."""
    fits = [fit for crowd in crowds for row in plan.contestants for fit in runs_of(crowd, row, plan.scale.n_runs)]
    return sorted(fits, key=lambda fit: (fit.crowd.title, fit.seed))


def paper_cell(printed: Scores, line: Line, column: int) -> Printed | None:
    """What the paper prints of a line, if it does."""
    name = "MV" if line.contestant.method == "majority" else line.contestant.name
    row = printed.get(line.crowd.name, {}).get(name)
    return None if row is None else row[column]


def long_rows(lines: Sequence[Line], printed: dict[str, Printed | None]) -> list[dict[str, Any]]:
    """One row per contestant and measure of one crowd; `printed` is keyed by contestant and measure."""
    reference = _reference(lines)
    rows = []
    for line in lines:
        for measure, sample in line.samples.items():
            found, theirs = estimate(sample), printed.get(f"{line.contestant.name}/{measure}")
            rows.append(
                {
                    "set": line.crowd.name,
                    "answers_per_item": line.crowd.answers,
                    "removed": line.crowd.removed,
                    "method": line.contestant.name,
                    "measure": measure,
                    "mean": found.mean,
                    "sd": found.sd,
                    "ci_low": found.low,
                    "ci_high": found.high,
                    "mark": _mark(line, reference, measure),
                    "p_value": np.nan if reference is None else p_value(sample, reference.samples[measure]),
                    "runs": line.n_runs,
                    "units": "items" if line.crowd.fixed else "draws",
                    "paper_mean": theirs and theirs.mean,
                    "paper_sd": theirs and theirs.sd,
                    "paper_mark": theirs and theirs.mark,
                    "seconds": line.seconds,
                }
            )
    return rows


def _reference(lines: Sequence[Line]) -> Line | None:
    return next((line for line in lines if line.contestant == AMCC), None)


def _mark(line: Line, reference: Line | None, measure: str) -> str:
    if reference is None or line is reference or measure not in MARKED:
        return ""
    return mark(line.samples[measure], reference.samples[measure])


def data_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows as a table; undefined numbers are blank."""
    columns = {name: [_without_nan(row[name]) for row in rows] for name in rows[0]}
    return pa.table({name: pa.array(values, _type_of(name)) for name, values in columns.items()})


TEXT = ("set", "method", "measure", "mark", "units", "paper_mark")
COUNTS = ("answers_per_item", "runs")


def _type_of(column: str) -> pa.DataType:
    return pa.string() if column in TEXT else pa.int64() if column in COUNTS else pa.float64()


def _without_nan(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value


# -- text -----------------------------------------------------------------------------------------------------------


def score_view(lines: Sequence[Line], printed: Scores) -> View:
    """One crowd of tables 4 or 5: contestants in rows, readings side by side."""
    reference = _reference(lines)
    with_paper = any(paper_cell(printed, line, 0) for line in lines)
    head = ["method"]
    for measure, title in MEASURES.items():
        head += ["paper's Accuracy" if measure in READINGS else f"paper's {title}"] * (
            with_paper and measure in PAPER_COLUMN
        )
        head += [title] + ["95 % interval"] * (measure == "jaccard")
    best = {measure: max(_means(lines, measure)) for measure in MARKED}
    rows = []
    for line in lines:
        cells = [line.contestant.name]
        for measure, sample in line.samples.items():
            found = estimate(sample)
            if with_paper and measure in PAPER_COLUMN:
                cells.append(printed_text(paper_cell(printed, line, PAPER_COLUMN[measure])))
            text = cell_text(found, _mark(line, reference, measure), brief=measure in SIZES)
            cells.append(f"**{text}**" if measure in best and found.mean >= best[measure] - 5e-4 else text)
            if measure == "jaccard":
                cells.append(interval_text(found))
        rows.append(cells)
    crowd = lines[0].crowd
    return View(crowd_title(crowd), head, rows)


def crowd_title(crowd: Crowd) -> str:
    """Name of a crowd, said in full."""
    if crowd.name == GENERATED:
        return "Generated crowd (not in the paper; needs no data)"
    if crowd.answers is not None:
        return f"{crowd.name}, {crowd.answers} answers per item (not in the paper)"
    return crowd.name + (", all answers: truth made of these very answers" if crowd.name in OWN_TRUTH else "")


def _means(lines: Sequence[Line], measure: str) -> list[float]:
    return [mean for line in lines if not np.isnan(mean := estimate(line.samples[measure]).mean)] or [np.inf]


def cell_text(found: Estimate, marked: str, *, brief: bool = False) -> str:
    """Mean ± sd and mark."""
    if np.isnan(found.mean):
        return EMPTY
    return f"{found.mean:.2f}" if brief else f"{found.mean:.3f} ±{found.sd:.3f}{' ' * bool(marked)}{marked}"


def interval_text(found: Estimate) -> str:
    """Confidence interval, or a dash."""
    return EMPTY if np.isnan(found.low) else f"{found.low:.3f}–{found.high:.3f}"


def printed_text(printed: Printed | None) -> str:
    """The paper's cell."""
    if printed is None:
        return EMPTY
    return f"{printed.mean:.3f} ±{printed.sd:.3f}{' ' * bool(printed.mark)}{printed.mark}"


# -- tables 4 and 5 -------------------------------------------------------------------------------------------------


def table4_crowds(plan: Plan) -> list[Crowd]:
    """Simulated workers on feature sets, and a crowd that needs none."""
    return [plan.crowd(name) for name in (*plan.mulan, GENERATED)]


def table5_crowds(plan: Plan) -> list[Crowd]:
    """Real crowds as they are; then with few answers per item, where that is fewer."""
    few = [name for name in plan.among(plan.scale.thinned) if name != "SONYC-UST"]
    return [plan.crowd(name) for name in plan.real] + [plan.crowd(name, answers=FEW_ANSWERS) for name in few]


def _present_scores(
    plan: Plan, results: Results, *, name: str, title: str, caption: str, crowds: Sequence[Crowd], printed: Scores
) -> Sequence[Table | Figure]:
    if not crowds:
        return []
    blocks = [lines_of(plan, crowd, results) for crowd in crowds]
    rows: list[dict[str, Any]] = []
    for lines in blocks:
        # What the paper measured on all answers is no figure to set beside ours on a few.
        of_paper = printed if lines[0].crowd.answers is None else {}
        cells = {
            f"{line.contestant.name}/{measure}": paper_cell(of_paper, line, column)
            for line in lines
            for measure, column in PAPER_COLUMN.items()
        }
        rows += long_rows(lines, cells)
    views = [score_view(lines, printed if lines[0].crowd.answers is None else {}) for lines in blocks]
    caption = f"{caption} {READING_NOTE} {RULE} {MARKS}."
    table = Table(name, title, caption, data_table(rows), views)
    plotted = data_table([row for row in rows if row["measure"] in ("jaccard", "precision_skip")])
    figure = Figure(
        f"{name}-scores",
        f"{title}: Jaccard and precision",
        "Mean and 95 % interval. Crosses: what the paper prints as Accuracy.",
        plotted,
        partial(figures.score_panels, plotted),
    )
    return [table, figure]


def present_table4(plan: Plan, results: Results) -> Sequence[Table | Figure]:
    """Table 4."""
    caption = (
        f"Seven classifiers and six spammers as workers; mean ± sd over {plan.scale.n_runs} simulated crowds, which "
        "are also the units of intervals and tests."
    )
    return _present_scores(
        plan, results, name="table4", title="Table 4. Simulated workers", caption=caption,
        crowds=table4_crowds(plan), printed=paper_values.TABLE_4,
    )  # fmt: skip


def present_table5(plan: Plan, results: Results) -> Sequence[Table | Figure]:
    """Table 5."""
    caption = (
        f"Mean ± sd over {plan.scale.n_runs} runs. On all answers a run differs only by the seed of the method (a "
        "method without chance runs once), so intervals and tests are over items. The truth of the four story sets is "
        "the crowd's own most frequent set: there the fair question is how well a few answers recover it, and with "
        "five answers per item the units are draws."
    )
    return _present_scores(
        plan, results, name="table5", title="Table 5. Real crowds", caption=caption,
        crowds=table5_crowds(plan), printed=paper_values.TABLE_5,
    )  # fmt: skip


# -- Table 6 --------------------------------------------------------------------------------------------------------


def table6_crowds(plan: Plan) -> dict[str, list[Crowd]]:
    """Each set with more and more answers removed."""
    names = [*plan.among(plan.scale.thinned), GENERATED]
    return {name: [plan.crowd(name, removed=share) for share in plan.scale.removed] for name in names}


def present_table6(plan: Plan, results: Results) -> Sequence[Table | Figure]:
    """Table 6."""
    rows: list[dict[str, Any]] = []
    views: list[View] = []
    for crowds in table6_crowds(plan).values():
        blocks = [lines_of(plan, crowd, results) for crowd in crowds]
        for lines in blocks:
            rows += long_rows(lines, {f"{line.contestant.name}/precision_skip": _printed_share(line) for line in lines})
        views += [
            removal_view(blocks, measure, folded=measure not in ("precision_skip", "jaccard")) for measure in MARKED
        ]
    caption = (
        f"Accuracy where a share of each worker's answers is removed (whole answers, at least one stays); mean ± sd "
        f"over {plan.scale.n_runs} removals, which are also the units of tests. {READING_NOTE} The other readings are "
        f"in the file and, folded, on the page. {RULE} {MARKS}."
    )
    table = Table("table6", "Table 6. Answers removed", caption, data_table(rows), views)
    plotted = data_table([row for row in rows if row["measure"] == "jaccard"])
    figure = Figure(
        "table6-removed",
        "Jaccard where answers are removed",
        "Mean over removals; grey: the other methods.",
        plotted,
        partial(figures.removal_panels, plotted),
    )
    return [table, figure]


def _printed_share(line: Line) -> Printed | None:
    return paper_cell(paper_values.TABLE_6, line, paper_values.REMOVED.index(line.crowd.removed))


def removal_view(blocks: Sequence[Sequence[Line]], measure: str, *, folded: bool) -> View:
    """One set under one reading: contestants in rows, shares in columns."""
    with_paper = measure == "precision_skip" and any(_printed_share(line) for line in blocks[0])
    head = ["method"]
    for lines in blocks:
        share = f"−{lines[0].crowd.removed:.0%}"
        head += [f"paper's Accuracy, {share}"] * with_paper + [f"{MEASURES[measure]}, {share}"]
    rows = [[line.contestant.name] for line in blocks[0]]
    for lines in blocks:
        reference, best = _reference(lines), max(_means(lines, measure))
        for cells, line in zip(rows, lines, strict=True):
            found = estimate(line.samples[measure])
            cells += [printed_text(_printed_share(line))] * with_paper
            text = cell_text(found, _mark(line, reference, measure))
            cells.append(f"**{text}**" if found.mean >= best - 5e-4 else text)
    return View(f"{blocks[0][0].crowd.name}: {MEASURES[measure]}", head, rows, folded)


STUDIES = (
    Study(
        "table4",
        "methods on simulated workers",
        lambda plan: tasks_of(plan, table4_crowds(plan)),
        present_table4,
        tuple(MULAN),
        compares=True,
    ),
    Study(
        "table5",
        "methods on real crowds",
        lambda plan: tasks_of(plan, table5_crowds(plan)),
        present_table5,
        tuple(REAL),
        compares=True,
    ),
    Study(
        "table6",
        "methods where 10 to 50 % of the answers are removed",
        lambda plan: tasks_of(plan, [crowd for crowds in table6_crowds(plan).values() for crowd in crowds]),
        present_table6,
        tuple(REAL),
        compares=True,
    ),
)
