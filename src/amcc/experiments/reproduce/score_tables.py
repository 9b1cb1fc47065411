"""Tables 4, 5 and 6: every method on every set, under every reading of "Accuracy", beside the paper's figures.

A `Line` is one entrant on one set, with all that was measured and what the paper prints of it. Lines become rows of a
long table, which goes to a file (`long_rows`), and rows of views for people (`score_view`, `removal_view`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats
from amcc.experiments.entrants import Entrant
from amcc.experiments.paper_values import REMOVED, TABLE_4, TABLE_5, TABLE_6, Printed, Scores
from amcc.experiments.reproduce import figures
from amcc.experiments.reproduce.fits import MEASURES, RANKINGS, READINGS, SET_RULE, SIZES, FitTask, Results, fits_of
from amcc.experiments.reproduce.plan import AMCC, PAPER_ROW, Figure, Study, StudyPlan, Table, View
from amcc.experiments.reproduce.rows import Row
from amcc.experiments.reproduce.sets import (
    GENERATED,
    MULAN,
    OWN_TRUTH,
    REAL,
    WITHOUT_ONE_TIMERS,
    PaperSet,
    printed_name,
)
from amcc.experiments.reproduce.statistics import MeanWithInterval, Sample, estimate, interval_note, mark, p_value
from amcc.experiments.text import EMPTY

# Which of our measures stands beside which column of tables 4 and 5.
PAPER_COLUMN = {"precision_skip": 0, "one_minus_rl": 1, "one_minus_oe": 2}
# Measures with marks and a best: those of size say how sets differ, not how good they are.
MARKED = (*READINGS, *RANKINGS)
# Answers per item where a set is thinned: five still let methods differ, and all sets but SONYC-UST have more.
FEW_ANSWERS = 5
# Means that are shown as equal share the bold print: half of the last digit.
SHOWN_ALIKE = 5e-4

MARKS = (
    "• where AMCC is significantly better than the row, ◦ where it is worse (paired t-test at 95 %, not corrected for "
    "many comparisons, as in the paper)"
)
RULE = f"Set rule: {SET_RULE}."
READING_NOTE = "Precision rewards small sets, so read Jaccard first (deviation D12)."
ACCURACY = 'The paper\'s "Accuracy" is, by its formula, precision; it stands beside ours with empty sets left out.'
REPEATED = (
    "The paper's numbers of AMCC stand three times: beside AMCC, which users get; beside the paper's objective, which "
    "is its model with what had to be repaired (deviations D1 to D8); and beside AMCC as printed, as far as that runs. "
    "Those of MV stand twice, because the paper does not say how it makes scores of votes; those of MCMLD as well, "
    "beside our exact learning and beside its authors' approximation."
)
ONE_TIMERS = (
    "SONYC-UST 2+ is without the workers who answered once, as the paper has it; its numbers stand beside both. Movie "
    "was not published."
)


# -- lines ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One entrant on one set.

    samples : by measure, one of `MEASURES`.
    seconds : of a fit, the median over runs.
    printed : what the paper prints, by the measure that it stands beside; empty where it prints nothing.
    """

    paper_set: PaperSet
    entrant: Entrant
    samples: Mapping[str, Sample]
    seconds: float
    n_runs: int
    printed: Mapping[str, Printed]

    def mark(self, measure: str, reference: Line | None) -> str:
        """Whether the reference is better or worse; nothing for itself, and where there is nothing to be better at."""
        if reference is None or self is reference or measure not in MARKED:
            return ""
        return mark(self.samples[measure], reference.samples[measure])


# Entrant and set → what the paper prints, by our measures.
PrintedOf = Callable[[Entrant, PaperSet], Mapping[str, Printed]]


def measured(fits: Sequence[FitTask], results: Results, printed: Mapping[str, Printed] | None = None) -> Line:
    """Samples over the fits of one entrant on one set.

    Units of chance are runs where each has votes of its own, and items where all runs see the same votes.
    """
    found = [results[fit] for fit in fits]
    paper_set = fits[0].paper_set
    samples = {}
    for measure in MEASURES:
        runs = np.array([one["scores"][measure] for one in found], dtype=np.float64)
        units = _mean_of_runs([one["items"][measure] for one in found]) if paper_set.fixed else runs
        samples[measure] = Sample(runs, units)
    seconds = float(np.median([one["seconds"] for one in found]))
    return Line(paper_set, fits[0].entrant, samples, seconds, len(fits), printed or {})


def _mean_of_runs(values: Sequence[Sequence[float]]) -> Floats:
    """(n_items,) means over the runs in which an item has a value; NaN where it has none in any.

    >>> _mean_of_runs([[1.0, np.nan, 0.0], [0.5, np.nan, np.nan]]).tolist()
    [0.75, nan, 0.0]
    """
    matrix = np.array(values, dtype=np.float64)
    n_defined = (~np.isnan(matrix)).sum(axis=0)
    return np.where(n_defined > 0, np.nansum(matrix, axis=0) / np.maximum(n_defined, 1), np.nan)


def lines_of(plan: StudyPlan, paper_set: PaperSet, results: Results, printed_of: PrintedOf) -> list[Line]:
    """All entrants on one set."""
    return [
        measured(fits_of(paper_set, row, plan.scale.n_runs), results, printed_of(row, paper_set))
        for row in plan.entrants
    ]


def tasks_of(plan: StudyPlan, paper_sets: Iterable[PaperSet]) -> list[FitTask]:
    """Every run of every entrant; those of one draw follow each other, for drawing takes time and a few are kept."""
    fits = [fit for each in paper_sets for row in plan.entrants for fit in fits_of(each, row, plan.scale.n_runs)]
    return sorted(fits, key=lambda fit: (fit.paper_set.title, fit.seed))


def printed_row(printed: Scores, entrant: Entrant, paper_set: PaperSet) -> tuple[Printed, ...]:
    """What the paper prints of an entrant on a set; nothing if it does not.

    >>> printed_row(TABLE_4, Entrant("MV (hard output)", "majority"), PaperSet("Yeast"))[0]
    Printed(mean=0.815, sd=0.0, mark='•')
    >>> printed_row(TABLE_5, AMCC, PaperSet("Affective", answers=5))
    ()
    """
    # What the paper measured on all answers is no figure to set beside ours on a few.
    if paper_set.answers is not None:
        return ()
    return printed.get(printed_name(paper_set.name), {}).get(PAPER_ROW.get(entrant.method, entrant.name), ())


def _reference(lines: Sequence[Line]) -> Line | None:
    """The line that others are tested against."""
    return next((line for line in lines if line.entrant == AMCC), None)


# -- the long table -------------------------------------------------------------------------------------------------


def long_rows(lines: Sequence[Line]) -> list[Row]:
    """One row per entrant and measure of one set, with everything that is known about it.

    The paper's numbers are blank where it prints none; `units` says what intervals and tests are over.
    """
    reference = _reference(lines)
    rows: list[Row] = []
    for line in lines:
        for measure, sample in line.samples.items():
            found, theirs = estimate(sample), line.printed.get(measure)
            rows.append(
                {
                    "set": line.paper_set.name,
                    "answers_per_item": line.paper_set.answers,
                    "removed": line.paper_set.removed,
                    "method": line.entrant.name,
                    "measure": measure,
                    "mean": found.mean,
                    "sd": found.sd,
                    "ci_low": found.low,
                    "ci_high": found.high,
                    "mark": line.mark(measure, reference),
                    "p_value": np.nan if reference is None else p_value(sample, reference.samples[measure]),
                    "runs": line.n_runs,
                    "units": "items" if line.paper_set.fixed else "draws",
                    "paper_mean": theirs and theirs.mean,
                    "paper_sd": theirs and theirs.sd,
                    "paper_mark": theirs and theirs.mark,
                    "seconds": line.seconds,
                }
            )
    return rows


# Columns of the long table that are not fractions.
TEXT = ("set", "method", "measure", "mark", "units", "paper_mark")
COUNTS = ("answers_per_item", "runs")


def data_table(rows: Sequence[Row]) -> pa.Table:
    """Rows as a table; undefined numbers are blank. Types are given: a column may be blank from top to bottom."""
    types = {name: pa.string() if name in TEXT else pa.int64() if name in COUNTS else pa.float64() for name in rows[0]}
    columns = {name: [_without_nan(row[name]) for row in rows] for name in types}
    return pa.table({name: pa.array(values, types[name]) for name, values in columns.items()})


def _without_nan(value: Any) -> Any:
    return None if isinstance(value, float) and np.isnan(value) else value


# -- views ----------------------------------------------------------------------------------------------------------


def score_view(lines: Sequence[Line]) -> View:
    """One set of tables 4 or 5: entrants in rows, readings side by side.

    Where the paper prints something of the set, its columns stand left of ours; the best of each column is bold.
    """
    reference = _reference(lines)
    with_paper = any(line.printed for line in lines)
    head = ["method"]
    for measure, title in MEASURES.items():
        if with_paper and measure in PAPER_COLUMN:
            head.append("paper's Accuracy" if measure in READINGS else f"paper's {title}")
        head += [title] + ["95 % interval"] * (measure == "jaccard")
    best = {measure: _best(lines, measure) for measure in MARKED}
    rows = []
    for line in lines:
        cells = [line.entrant.name]
        for measure, sample in line.samples.items():
            found = estimate(sample)
            if with_paper and measure in PAPER_COLUMN:
                cells.append(printed_text(line.printed.get(measure)))
            text = cell_text(found, line.mark(measure, reference), brief=measure in SIZES)
            cells.append(f"**{text}**" if measure in best and found.mean >= best[measure] - SHOWN_ALIKE else text)
            cells += [interval_text(found)] * (measure == "jaccard")
        rows.append(cells)
    return View(set_title(lines[0].paper_set), head, rows)


def removal_view(blocks: Sequence[Sequence[Line]], measure: str, *, folded: bool) -> View:
    """One set under one reading: entrants in rows, shares of removed answers in columns.

    blocks : lines of all entrants, for each share; all blocks have the same entrants in the same order.
    """
    with_paper = any(measure in line.printed for line in blocks[0])
    head = ["method"]
    rows = [[line.entrant.name] for line in blocks[0]]
    for lines in blocks:
        share = f"−{lines[0].paper_set.removed:.0%}"
        head += [f"paper's Accuracy, {share}"] * with_paper + [f"{MEASURES[measure]}, {share}"]
        reference, best = _reference(lines), _best(lines, measure)
        for cells, line in zip(rows, lines, strict=True):
            found = estimate(line.samples[measure])
            cells += [printed_text(line.printed.get(measure))] * with_paper
            text = cell_text(found, line.mark(measure, reference))
            cells.append(f"**{text}**" if found.mean >= best - SHOWN_ALIKE else text)
    return View(f"{blocks[0][0].paper_set.name}: {MEASURES[measure]}", head, rows, folded)


def set_title(paper_set: PaperSet) -> str:
    """Name of a set, said in full."""
    if paper_set.name == GENERATED:
        return "Generated crowd (not in the paper; needs no data)"
    if paper_set.answers is not None:
        return f"{paper_set.name}, {paper_set.answers} answers per item (not in the paper)"
    if paper_set.name in WITHOUT_ONE_TIMERS:
        return f"{paper_set.name}: without the workers who answered once, as in the paper"
    if paper_set.name in WITHOUT_ONE_TIMERS.values():
        return f"{paper_set.name}: all workers"
    return paper_set.name + (", all answers: truth made of these very answers" if paper_set.name in OWN_TRUTH else "")


def _best(lines: Sequence[Line], measure: str) -> float:
    """The largest mean; infinite where there is none, so that nothing is best."""
    means = np.array([estimate(line.samples[measure]).mean for line in lines])
    return float(np.nanmax(means)) if not np.isnan(means).all() else np.inf


def cell_text(found: MeanWithInterval, marked: str, *, brief: bool = False) -> str:
    """Mean ± sd and mark; two digits and nothing else where brief.

    >>> cell_text(MeanWithInterval(0.5, 0.01, 0.4, 0.6), "•")
    '0.500 ±0.010 •'
    >>> cell_text(MeanWithInterval(1.875, 0.0, 1.0, 2.0), "", brief=True)
    '1.88'
    """
    if np.isnan(found.mean):
        return EMPTY
    return f"{found.mean:.2f}" if brief else f"{found.mean:.3f} ±{found.sd:.3f} {marked}".rstrip()


def interval_text(found: MeanWithInterval) -> str:
    """Confidence interval, or a dash."""
    return EMPTY if np.isnan(found.low) else f"{found.low:.3f}–{found.high:.3f}"


def printed_text(printed: Printed | None) -> str:
    """The paper's cell, or a dash."""
    return EMPTY if printed is None else f"{printed.mean:.3f} ±{printed.sd:.3f} {printed.mark}".rstrip()


# -- tables 4 and 5 -------------------------------------------------------------------------------------------------


def table4_sets(plan: StudyPlan) -> list[PaperSet]:
    """Simulated workers on feature sets, and a crowd that needs none."""
    return [plan.paper_set(name) for name in (*plan.mulan, GENERATED)]


def table5_sets(plan: StudyPlan) -> list[PaperSet]:
    """Real crowds as they are; then with few answers per item, where that is fewer.

    SONYC-UST has three answers per item, so that five would be all of them.
    """
    few = [name for name in plan.among(plan.scale.thinned) if printed_name(name) != "SONYC-UST"]
    return [plan.paper_set(name) for name in plan.real] + [plan.paper_set(name, answers=FEW_ANSWERS) for name in few]


def _present_scores(
    plan: StudyPlan, results: Results, paper_sets: Sequence[PaperSet], printed: Scores, table: tuple[str, str, str]
) -> Sequence[Table | Figure]:
    """A table and its figure; nothing without sets.

    printed : the paper's table. table : name, title, and the first sentences of the caption.
    """
    if not paper_sets:
        return []
    name, title, caption = table

    def printed_of(entrant: Entrant, paper_set: PaperSet) -> dict[str, Printed]:
        row = printed_row(printed, entrant, paper_set)
        return {measure: row[column] for measure, column in PAPER_COLUMN.items()} if row else {}

    blocks = [lines_of(plan, paper_set, results, printed_of) for paper_set in paper_sets]
    rows = [row for lines in blocks for row in long_rows(lines)]
    plotted = data_table([row for row in rows if row["measure"] in ("jaccard", "precision_skip")])
    caption = f"{caption} {about_paper(chain(*blocks))} {RULE} {MARKS}."
    with_paper = any(row["paper_mean"] is not None for row in rows)
    crosses = "Crosses: what the paper prints as Accuracy, beside every reading of its methods. " * with_paper
    drawn = (
        f"Marks: means. {interval_note(plotted, 'lines')} {crosses}The paper draws no such figure: it is "
        f"{title.partition('.')[0]} at a glance."
    )
    draw = partial(figures.score_panels, plotted)
    return [
        Table(name, title, caption, data_table(rows), [score_view(lines) for lines in blocks]),
        Figure(f"{name}-scores", f"{title}: Jaccard and precision", drawn, plotted, draw),
    ]


def about_paper(lines: Iterable[Line]) -> str:
    """What a caption says of readings, and of the paper's numbers where there are any."""
    return f"{ACCURACY} {READING_NOTE} {REPEATED}" if any(line.printed for line in lines) else READING_NOTE


def present_table4(plan: StudyPlan, results: Results) -> Sequence[Table | Figure]:
    """Table 4."""
    who = "Seven classifiers and six spammers as workers" if plan.mulan else "A generated crowd only"
    caption = (
        f"{who}; mean ± sd over {plan.scale.n_runs} simulated crowds, which are also the units of intervals and tests."
    )
    about = "table4", "Table 4. Simulated workers", caption
    return _present_scores(plan, results, table4_sets(plan), TABLE_4, about)


def present_table5(plan: StudyPlan, results: Results) -> Sequence[Table | Figure]:
    """Table 5."""
    caption = (
        f"Mean ± sd over {plan.scale.n_runs} runs. On all answers a run differs only by the seed of the method (a "
        "method without chance runs once), so intervals and tests are over items. The truth of the four story sets is "
        "the crowd's own most frequent set: there the fair question is how well a few answers recover it, and with "
        f"five answers per item the units are draws. {ONE_TIMERS}"
    )
    about = "table5", "Table 5. Real crowds", caption
    return _present_scores(plan, results, table5_sets(plan), TABLE_5, about)


# -- Table 6 --------------------------------------------------------------------------------------------------------


def table6_sets(plan: StudyPlan) -> list[list[PaperSet]]:
    """Each set with more and more answers removed."""
    names = [*plan.among(plan.scale.thinned), GENERATED]
    return [[plan.paper_set(name, removed=share) for share in plan.scale.removed] for name in names]


def _printed_share(entrant: Entrant, paper_set: PaperSet) -> dict[str, Printed]:
    """The cell of Table 6, whose columns are shares of removed answers."""
    row = printed_row(TABLE_6, entrant, paper_set)
    return {"precision_skip": row[REMOVED.index(paper_set.removed)]} if row else {}


def present_table6(plan: StudyPlan, results: Results) -> Sequence[Table | Figure]:
    """Table 6."""
    rows: list[Row] = []
    views: list[View] = []
    all_lines: list[Line] = []
    for paper_sets in table6_sets(plan):
        blocks = [lines_of(plan, paper_set, results, _printed_share) for paper_set in paper_sets]
        all_lines += chain(*blocks)
        rows += [row for lines in blocks for row in long_rows(lines)]
        # A table for each reading would be ten per set: two are shown at once, the others on demand.
        views += [
            removal_view(blocks, measure, folded=measure not in ("precision_skip", "jaccard")) for measure in MARKED
        ]
    caption = (
        f"Accuracy where a share of each worker's answers is removed (whole answers, at least one stays); mean ± sd "
        f"over {plan.scale.n_runs} removals, which are also the units of tests. The other readings are in the file "
        f"and, folded, on the page. {about_paper(all_lines)} {f'{ONE_TIMERS} ' * bool(plan.real)}{RULE} {MARKS}."
    )
    plotted = data_table([row for row in rows if row["measure"] == "jaccard"])
    drawn = (
        "Mean over removals; grey: the other methods. The paper draws no such figure, and its Table 6 has no Jaccard, "
        "so nothing of it stands here."
    )
    draw = partial(figures.removal_panels, plotted)
    return [
        Table("table6", "Table 6. Answers removed", caption, data_table(rows), views),
        Figure("table6-removed", "Jaccard where answers are removed", drawn, plotted, draw),
    ]


def _table6_tasks(plan: StudyPlan) -> list[FitTask]:
    return tasks_of(plan, [paper_set for paper_sets in table6_sets(plan) for paper_set in paper_sets])


# All methods take part in all three, so that missing methods are told.
_study = partial(Study, compares=True)
STUDIES = (
    _study(
        "table4", "methods on simulated workers", lambda plan: tasks_of(plan, table4_sets(plan)), present_table4,
        tuple(MULAN),
    ),
    _study(
        "table5", "methods on real crowds", lambda plan: tasks_of(plan, table5_sets(plan)), present_table5, tuple(REAL)
    ),
    _study(
        "table6", "methods where 10 to 50 % of the answers are removed", _table6_tasks, present_table6, tuple(REAL)
    ),
)  # fmt: skip
