"""amcc audit: measure a consensus on a random slice that people answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from amcc import tables
from amcc.audit import LEVEL, Audit, Rule, cross_fitted
from amcc.audit import audit as measure
from amcc.cli.common import (
    DEFAULT_METHOD,
    Json,
    KnownItems,
    KnownPairs,
    Method,
    Output,
    SafeCsv,
    TruthUnmentioned,
    WorkersFile,
    busy,
    fit,
    listed_workers,
    load_votes,
    notes,
    plain_number,
    print_json,
    reading_options,
    screen,
    takes_reading,
    write_rows,
)
from amcc.cli.paths import PAGE, READS, TABLE
from amcc.consensus import make_model
from amcc.consensus.item_results import check_all_pairs
from amcc.errors import ParameterError
from amcc.inference import check_level
from amcc.io import read_table, read_truth, read_votes
from amcc.truth import Truth
from amcc.votes import Unmentioned, Votes

SLICE_HELP = (
    "What people say about a random slice of the items: as TRUTH of evaluate, or votes worker,item,label,value of one "
    "person or more per pair."
)
CONSENSUS_HELP = "What `amcc consensus` wrote, to measure that instead of a new fit; it must not know the slice."
CROSS_FIT_HELP = (
    "Measure the consensus that learns from the slice, as with --truth: each fifth of it by a fit that knows the other "
    "four only."
)
MOST_JUDGES = 15
"""Workers that are shown on the screen; --judges writes all."""


@takes_reading
def audit(
    path: Path,
    reading: Mapping[str, Any],
    people: Annotated[Path, typer.Argument(metavar="SLICE", help=SLICE_HELP), READS],
    known_items: KnownItems = None,
    known_pairs: KnownPairs = None,
    truth_unmentioned: TruthUnmentioned = "unknown",
    people_rule: Annotated[
        Rule, typer.Option("--people", help="What several people say: what most do, or the share of yes.")
    ] = "majority",
    method: Method = DEFAULT_METHOD,
    roster: WorkersFile = None,
    consensus: Annotated[Path | None, typer.Option(help=CONSENSUS_HELP), READS] = None,
    cross_fit: Annotated[bool, typer.Option("--cross-fit", help=CROSS_FIT_HELP)] = False,
    all_labels: Annotated[
        bool, typer.Option("--all-labels", help="Also pairs that no worker was asked about.")
    ] = False,
    level: Annotated[float, typer.Option(parser=plain_number, metavar="FLOAT", help="Of the intervals.")] = LEVEL,
    output: Output = None,
    judges: Annotated[
        Path | None, typer.Option(help="Also write how each worker agrees with people, by label, to this file."), TABLE
    ] = None,
    disagreements: Annotated[
        Path | None, typer.Option(help="Also write the pairs that people decide otherwise to this file."), TABLE
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Also write an HTML page to this file."), PAGE] = None,
    safe_csv: SafeCsv = False,
    as_json: Json = False,
) -> None:
    """Measure a consensus on a random slice that people answered.

    Prints how frequent labels are, corrected by the slice, claimed and measured errors, also among settled pairs, how
    far probabilities can be trusted, and who agrees with people. --output writes the frequencies.
    """
    check_level(level)
    if consensus is not None and (cross_fit or all_labels or roster or method != DEFAULT_METHOD):
        raise ParameterError(
            "--consensus is measured as it is; leave --cross-fit, --all-labels, --workers and --method out."
        )
    if roster is not None:
        make_model(method).check_uses_roster()
    votes = load_votes(path, reading)
    listed = listed_workers(roster, votes.worker_names)
    if all_labels:
        check_all_pairs(votes.n_items, votes.n_labels)
    said = _read_people(people, votes, reading, known_items, known_pairs, truth_unmentioned)
    if consensus is not None:
        table = read_table(consensus)
    elif cross_fit:
        with busy(f"Fitting {method} without each fifth of the slice"):
            table = cross_fitted(lambda: make_model(method), votes, said, all_labels=all_labels, workers=listed)
    else:
        table = fit(votes, method, roster=listed).pairs(all_labels=all_labels, frame="arrow")
    with busy("Comparing with people"):
        result = measure(table, votes, said, level=level, rule=people_rule)
    for warning in result.warnings:
        notes.print(f"warning: {warning}", markup=False, soft_wrap=True)
    if as_json:
        print_json(result.to_dict())
    else:
        for each in _tables(result):
            screen.print(each)
            screen.print()
    written = ((result.prevalence, output), (result.judges, judges), (result.disagreements, disagreements))
    for rows, where in written:
        if where is not None:
            write_rows(rows, where, safe_csv=safe_csv)
    if report is not None:
        from amcc.report import write_audit_report

        with busy("Drawing the report"):
            write_audit_report(result, report)
        notes.print(f"wrote the report to {report}")


def _read_people(
    path: Path,
    votes: Votes,
    reading: Mapping[str, Any],
    known_items: Path | None,
    known_pairs: Path | None,
    unmentioned: Unmentioned,
) -> Truth | Votes:
    """The slice, which is a table of votes if it says who answered."""
    names = tables.column_names(read_table(path))
    if not tables.columns_named(tables.ALIASES["worker"], names):
        return read_truth(path, known_items=known_items, known_pairs=known_pairs, unmentioned=unmentioned)
    if known_items is not None or known_pairs is not None or unmentioned != "unknown":
        raise ParameterError(
            "--known-items, --known-pairs and --truth-unmentioned say what a slice without workers covers; this one is "
            "a table of votes. Leave them out."
        )
    # of the options of reading, those about cells; the columns of the slice have names of their own
    options = reading_options({**reading, "columns": None, "items": None, "labels": None, "separator": None})
    return read_votes(path, **{**options, "labels": votes.label_names.to_pylist()})


# -- on the screen -------------------------------------------------------------------------------------------------


def _tables(result: Audit) -> list[Table]:
    level = f"{result.level:.0%}".replace("%", " %")
    return [
        _table(
            ["label", "corrected", f"{level} interval", "slice alone", "consensus alone"],
            [_frequency(row["label"], row) for row in result.prevalence.to_pylist()],
            f"Share of items with each label; people answered {result.n_items:,} of {result.n_items_all:,} items",
        ),
        _table(
            ["pairs", "number", "in the slice", "claimed error", "measured error", f"{level} interval"],
            [
                [row["pairs"], f"{row['number']:,}", f"{row['slice']:,}", *_claim(row)]
                for row in result.errors.to_pylist()
            ],
            "Errors of the consensus",
        ),
        _table(
            ["probability", "number", "in the slice", "claimed", "measured share", f"{level} interval"],
            [
                [
                    f"{row['low_edge']:g} to {row['high_edge']:g}",
                    f"{row['number']:,}",
                    f"{row['slice']:,}",
                    *_claim(row),
                ]
                for row in result.calibration.to_pylist()
            ],
            "Probabilities against what people say",
        ),
        _judges_table(result),
    ]


def _frequency(label: str, row: Mapping[str, Any]) -> list[str]:
    return [
        label,
        _percent(row["share"]),
        _interval(row, "low", "high"),
        f"{_percent(row['slice_share'])} ({_interval(row, 'slice_low', 'slice_high')})",
        _percent(row["consensus_share"]),
    ]


def _claim(row: Mapping[str, Any]) -> list[str]:
    return [_percent(row["claimed"]), _percent(row["measured"]), _interval(row, "low", "high")]


DASH = "–"  # for what was not measured

MEASURES = {
    "agreement": "agreement",
    "kappa": "kappa",
    "hit_rate": "hit rate",
    "false_alarm_rate": "false alarms",
}
"""Of a worker, on the screen: columns of the table, and what they are called."""


def _judges_table(result: Audit) -> Table:
    overall = [row for row in result.judges.to_pylist() if row["label"] is None]
    decisions = result.decisions.to_pylist()[:1]
    rows = [
        [
            str(row.get("worker", "the consensus")),
            f"{row['votes']:,}",
            *(_with_interval(row, name) for name in MEASURES),
        ]
        for row in [*decisions, *overall[:MOST_JUDGES]]
    ]
    left = len(overall) - MOST_JUDGES
    more = f"; {left:,} more workers: --judges FILE" if left > 0 else ""
    return _table(["who", "votes", *MEASURES.values()], rows, f"Agreement with people, over all labels{more}")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], title: str) -> Table:
    table = Table(*header, title=title, title_justify="left", box=None)
    for row in rows:
        table.add_row(*row)
    return table


def _with_interval(row: Mapping[str, Any], name: str) -> str:
    """An estimate with its interval, as far as they are defined."""
    estimate, low, high = (row[name + end] for end in ("", "_low", "_high"))
    if estimate is None:
        return DASH
    return f"{estimate:.2f}" + ("" if low is None else f" ({low:.2f} to {high:.2f})")


def _percent(share: float | None) -> str:
    return DASH if share is None else f"{100 * share:.1f} %"


def _interval(row: Mapping[str, Any], low: str, high: str) -> str:
    return DASH if row[low] is None else f"{100 * row[low]:.1f} to {100 * row[high]:.1f}"
