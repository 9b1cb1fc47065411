"""amcc audit: measure a consensus on a random slice that people answered.

Claimed errors are what a model believes about itself; only answers that it did not learn from can tell whether it is
right. People answer a random slice of the items, and `amcc.audit` compares. This file reads the slice and the
consensus, and prints four tables:

1. how frequent each label is, corrected by what the slice shows (the number most people want);
2. claimed and measured errors, also among settled pairs;
3. probabilities, in bins, against the share of pairs that people say yes to;
4. who agrees with people: the consensus first, then single workers.

docs/audit.md says how the numbers are made and what they rest on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.table import Table

from amcc import tables
from amcc.audit import LEVEL, AnswerRule, Audit, cross_fitted
from amcc.audit import audit as measure
from amcc.audit.measures import JUDGE_MEASURES
from amcc.cli.console import DASH, busy, notes, say, show_all, titled_table
from amcc.cli.fitting import DEFAULT_METHOD, ModelChoice, fit
from amcc.cli.options.groups import OptionGroup
from amcc.cli.options.roster import WorkersFile, listed_workers
from amcc.cli.options.truth import CountTold, TruthCoverage
from amcc.cli.options.votes import ReadingOptions, VotesPath, plain_number
from amcc.cli.output import Json, Output, SafeCsv, print_json, write_rows
from amcc.cli.paths import PAGE, READS, TABLE
from amcc.consensus.item_results import check_all_pairs
from amcc.errors import ParameterError
from amcc.evaluation import refuse_itself
from amcc.inference import check_level
from amcc.io import read_table, read_votes
from amcc.report.language import language
from amcc.roster import Roster
from amcc.truth import Truth
from amcc.votes import Votes

# The terminal speaks English.
ENGLISH = language("en")
percent, with_interval = ENGLISH.percent, ENGLISH.interval

SLICE_HELP = (
    "What people say about a random slice of the items: as TRUTH of evaluate, or votes worker,item,label,value of one "
    "person or more per pair."
)
CONSENSUS_HELP = (
    "What `amcc consensus` wrote, to measure that instead of a new fit. Pairs that it was told (column told) are left "
    "out."
)
CROSS_FIT_HELP = (
    "Measure the consensus that learns from the slice, as with --truth: each fifth of it by a fit that knows the other "
    "four only."
)
CROSS_FITTED = (
    "the consensus learns from the slice: each fifth of it is measured by a fit that knows the other four only"
)
# Workers that are shown on the screen, as many as one looks at; --judges writes all.
MOST_JUDGES = 15


@dataclass(frozen=True)
class Measured(ModelChoice):
    """Which consensus is measured: that of a fit, of a fit that learns from the slice, or one that was written.

    method, param, roster : of the fit
    consensus : a written one, which is measured as it is
    cross_fit : let the fit learn from what people said, without measuring it by the same answers
    all_labels : measure also pairs without a vote, whose probability is what is usual for the label
    """

    roster: WorkersFile = None
    consensus: Annotated[Path | None, typer.Option(help=CONSENSUS_HELP), READS] = None
    cross_fit: Annotated[bool, typer.Option("--cross-fit", help=CROSS_FIT_HELP)] = False
    all_labels: Annotated[bool, typer.Option("--all-labels", help="Also pairs that no worker was asked about.")] = False

    def check(self) -> None:
        """Raise ParameterError where options would change nothing."""
        given = (self.cross_fit, self.all_labels, self.roster, self.param, self.exclusive, self.reference)
        if self.consensus is not None and (any(given) or self.method != DEFAULT_METHOD):
            raise ParameterError(
                "--consensus is measured as it is; leave --cross-fit, --all-labels, --workers, --method, --param, "
                "--exclusive and --reference out."
            )
        self.check_used(roster=self.roster)

    def pairs(self, votes: Votes, said: Truth | Votes, listed: Roster | None) -> tuple[pa.Table, str]:
        """The consensus as a table of pairs, and who its reference is; empty where there is none, or many fits.

        Only with --cross-fit does it learn from what people said.
        """
        # It must not have learnt from the slice; `amcc.audit` leaves out what it says it was told.
        if self.consensus is not None:
            return read_table(self.consensus), ""
        if self.cross_fit:
            say(CROSS_FITTED)
            with busy(f"Fitting {self.method} without each fifth of the slice"):
                return cross_fitted(self.make, votes, said, all_labels=self.all_labels, workers=listed), ""
        model = fit(votes, self, roster=listed)
        return model.pairs(all_labels=self.all_labels, frame="arrow"), model.reference_sentence_


@dataclass(frozen=True)
class AuditFiles(OptionGroup):
    """What is written beside what is printed.

    output : how frequent labels are. judges : agreement of each worker, by label. disagreements : pairs that people
    decide otherwise, to look at or to ask again. report : all of it with charts.
    """

    output: Output = None
    judges: Annotated[
        Path | None, typer.Option(help="Also write how each worker agrees with people, by label, to this file."), TABLE
    ] = None
    disagreements: Annotated[
        Path | None, typer.Option(help="Also write the pairs that people decide otherwise to this file."), TABLE
    ] = None
    report: Annotated[Path | None, typer.Option(help="Also write an HTML page to this file."), PAGE] = None
    safe_csv: SafeCsv = False

    def write(self, result: Audit) -> None:
        """Write those that were asked for."""
        written = (
            (result.prevalence, self.output),
            (result.judges, self.judges),
            (result.disagreements, self.disagreements),
        )
        for rows, where in written:
            if where is not None:
                write_rows(rows, where, safe_csv=self.safe_csv)
        if self.report is not None:
            # Charts take a second to import.
            from amcc.report import write_audit_report

            with busy("Drawing the report"):
                write_audit_report(result, self.report)
            notes.print(f"wrote the report to {self.report}")


def audit(
    *,
    path: VotesPath,
    people: Annotated[Path, typer.Argument(metavar="SLICE", help=SLICE_HELP), READS],
    coverage: TruthCoverage,
    people_rule: Annotated[
        AnswerRule, typer.Option("--people", help="What several people say: what most do, or the share of yes.")
    ] = "majority",
    measured: Measured,
    count_told: CountTold = False,
    level: Annotated[float, typer.Option(parser=plain_number, metavar="FLOAT", help="Of the intervals.")] = LEVEL,
    files: AuditFiles,
    as_json: Json = False,
    reading: ReadingOptions,
) -> None:
    """Measure a consensus on a random slice that people answered.

    Prints how frequent labels are, corrected by the slice, claimed and measured errors, also among settled pairs, how
    far probabilities can be trusted, and who agrees with people. --output writes the frequencies.
    """
    # What is wrong with the options is said before a large file is read.
    check_level(level)
    measured.check()
    votes = reading.read(path)
    listed = listed_workers(measured.roster, votes.worker_names)
    if measured.all_labels:
        check_all_pairs(votes.n_items, votes.n_labels)
    said = _read_people(people, votes, reading, coverage)
    pairs, reference = measured.pairs(votes, said, listed)
    if measured.consensus is not None:
        refuse_itself(pairs, read_table(people))
    with busy("Comparing with people"):
        result = measure(pairs, votes, said, level=level, rule=people_rule, count_told=count_told)
    # Above the tables, as they say how far these can be believed.
    say(*(f"warning: {warning}" for warning in result.warnings))
    if as_json:
        print_json(result.to_dict() | {"reference": reference or None})
    else:
        show_all(_tables(result))
    files.write(result)


def _read_people(path: Path, votes: Votes, reading: ReadingOptions, coverage: TruthCoverage) -> Truth | Votes:
    """The slice, which is a table of votes if it says who answered."""
    names = tables.column_names(read_table(path))
    if not tables.columns_named(tables.ALIASES["worker"], names):
        return coverage.read(path)
    if coverage.is_said():
        raise ParameterError(
            "--known-items, --known-pairs and --truth-unmentioned say what a slice without workers covers; this one is "
            "a table of votes. Leave them out."
        )
    # The labels are those of the votes: one that people never tick would otherwise not be known here.
    # Of the options of reading, those about cells; the columns of the slice have names of their own.
    cells = replace(reading, columns=None, items=None, labels=None, separator=None)
    return read_votes(path, **{**cells.arguments(), "labels": votes.label_names.to_pylist()})


# -- on the screen -------------------------------------------------------------------------------------------------


def _tables(result: Audit) -> list[Table]:
    """What is printed, most important first."""
    # As everywhere else in amcc, with a space before the sign.
    level = f"{result.level:.0%}".replace("%", " %")
    return [
        titled_table(
            ["label", "corrected", f"{level} interval", "slice alone", "consensus alone"],
            [_frequency(row["label"], row) for row in result.prevalence.to_pylist()],
            f"Share of items with each label; people answered {result.n_items:,} of {result.n_items_all:,} items",
        ),
        titled_table(
            ["pairs", "number", "in the slice", "claimed error", "measured error", f"{level} interval"],
            [[row["pairs"], *_claim(row)] for row in result.errors.to_pylist()],
            "Errors of the consensus",
        ),
        titled_table(
            ["probability", "number", "in the slice", "claimed", "measured share", f"{level} interval"],
            [[f"{row['low_edge']:g} to {row['high_edge']:g}", *_claim(row)] for row in result.calibration.to_pylist()],
            "Probabilities against what people say",
        ),
        _judges_table(result),
    ]


def _frequency(label: str, row: Mapping[str, Any]) -> list[str]:
    """A label with its corrected share, beside what the slice and the consensus say alone."""
    return [
        label,
        percent(row["share"]),
        _interval(row, "low", "high"),
        f"{percent(row['slice_share'])} ({_interval(row, 'slice_low', 'slice_high')})",
        percent(row["consensus_share"]),
    ]


def _claim(row: Mapping[str, Any]) -> list[str]:
    """How many pairs there are, in all and in the slice, and what was claimed and measured of them."""
    return [
        f"{row['number']:,}",
        f"{row['slice']:,}",
        percent(row["claimed"]),
        percent(row["measured"]),
        _interval(row, "low", "high"),
    ]


# On the screen, which is not as wide as a page: the others say most of what informativeness does.
MEASURES = {name: title for name, title in JUDGE_MEASURES.items() if name != "informativeness"}


def _judges_table(result: Audit) -> Table:
    """Agreement with people over all labels; rows by label are only in the file that --judges writes."""
    # What is about all labels together has no label.
    overall = [row for row in result.judges.to_pylist() if row["label"] is None]
    # The consensus has the same measures in a table of its own; its first row is about all labels.
    decisions = result.decisions.to_pylist()[:1]
    rows = [
        [
            str(row.get("worker", "the consensus")),
            f"{row['votes']:,}",
            *(with_interval(row[name], row[f"{name}_low"], row[f"{name}_high"]) for name in MEASURES),
        ]
        for row in [*decisions, *overall[:MOST_JUDGES]]
    ]
    # Best first, by the lower bound of agreement: who is left out agrees less, or has too few votes to show it.
    left = len(overall) - MOST_JUDGES
    more = f"; {left:,} more workers: --judges FILE" if left > 0 else ""
    return titled_table(["who", "votes", *MEASURES.values()], rows, f"Agreement with people, over all labels{more}")


def _interval(row: Mapping[str, Any], low: str, high: str) -> str:
    """Bounds in percent, from the columns of these names.

    >>> _interval({"low": 0.02, "high": 0.1}, "low", "high")
    '2.0 to 10.0'
    """
    return DASH if row[low] is None else f"{100 * row[low]:.1f} to {100 * row[high]:.1f}"
