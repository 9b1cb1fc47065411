"""amcc board: every method on every crowd whose truth is known."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from amcc.cli.common import Json, notes, print_json, screen
from amcc.cli.names import PlainConsole
from amcc.cli.paths import FOLDER, READS
from amcc.errors import ParameterError
from amcc.experiments.board import SCORES, Result, Variant, installed, known_methods, parse_variant, run_board
from amcc.experiments.cells import SIZES, cells_of
from amcc.experiments.families import GAINS, MEANS, family_verdict
from amcc.experiments.pages import (
    EMPTY,
    FAMILY_HEAD,
    VERDICT_HEAD,
    Rows,
    family_rows,
    footer,
    groups_of,
    page,
    score_rows,
    verdict_rows,
)
from amcc.experiments.peers import missing_crowdkit
from amcc.experiments.summary import JUDGED, Board, summarise
from amcc.files import whole_file
from amcc.io import write_table

# Columns of text that no table needs.
WIDE = 1000

# Before the cells of a table that are printed bold; no name holds it.
BEST = "\0"


def board(
    data: Annotated[
        Path | None, typer.Option(help="Folder of crowd data; without it, simulated crowds only."), READS
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for tables and the cache."), FOLDER] = Path(
        "board"
    ),
    methods: Annotated[
        str | None,
        typer.Option(help=f"What to compare, separated by commas. Default: all of {','.join(known_methods())}"),
    ] = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            help="A method with other parameters: NAME=METHOD:param=value,param=value; values as in JSON. Repeatable."
        ),
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(
            help="Also give amcc the truth of so many random items, and score the others: 10,30 does both. On a set "
            "that is used whole, they are drawn as often as --seeds says."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Draws of each thinned set.")] = 10,
    largest: Annotated[int, typer.Option(help="Leave out simulated crowds with more votes.")] = SIZES[-1],
    processes: Annotated[int, typer.Option(min=0, help="How many at a time; 0 for one per core.")] = 0,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page board.md instead of tables.")] = False,
    as_json: Json = False,
) -> None:
    """Compare methods on every crowd whose truth is known; interrupted, it goes on where it stopped."""
    if markdown and as_json:
        raise ParameterError("give either --markdown or --json; got both.")
    variants, n_known = _variants(variant or []), _numbers("--known", known or "")
    wanted = known_methods() if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    chosen = installed(wanted)
    if left_out := [method for method in wanted if method not in chosen]:
        notes.print(missing_crowdkit(left_out), soft_wrap=True)
    cells = cells_of(data, n_seeds=seeds, sizes=[size for size in SIZES if size <= largest])
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        bar = progress.add_task("Comparing", total=None)
        results = run_board(
            cells,
            chosen,
            output / "cache",
            variants=variants,
            known=n_known,
            known_draws=seeds,
            n_processes=processes or os.cpu_count() or 1,
            progress=lambda done, total: progress.update(bar, completed=done, total=total),
        )
    summary = summarise(results)
    write_table(_result_table(results), output / "results.csv")
    text = page(summary, shlex.join(["amcc", *sys.argv[1:]]))
    with whole_file(output / "board.md") as temporary:
        temporary.write_text(text)
    if as_json:
        print_json(_as_json(summary, output))
    elif markdown:
        typer.echo(text, nl=False)
    else:
        _print_tables(summary)
        screen.print(f"all scores: {output / 'board.md'}, {output / 'results.csv'}", soft_wrap=True)


def _print_tables(summary: Board) -> None:
    """Scores of every cell, means over families, and verdicts."""
    for score in ("jaccard", "log_loss"):
        cell_rows = score_rows(summary, score, mark=f"{BEST}{{}}".format)
        _print_table(JUDGED[score], summary.methods, cell_rows)
    if any(EMPTY in row for row in cell_rows):
        screen.print(footer(summary), soft_wrap=True)
    for group in groups_of(summary):
        _print_table(f"families of {group}", FAMILY_HEAD[1:], family_rows(summary, group))
    for score, name in JUDGED.items():
        _print_table(name, VERDICT_HEAD[1:], verdict_rows(summary, score))


def _numbers(option: str, text: str) -> list[int]:
    """Whole numbers between commas."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    for part in parts:
        if not part.isdecimal():
            raise ParameterError(f"{option} must be whole numbers separated by commas, such as 10,30; got {text!r}.")
    return list(map(int, parts))


def _variants(texts: Sequence[str]) -> dict[str, Variant]:
    variants: dict[str, Variant] = {}
    for text in texts:
        name, chosen = parse_variant(text)
        if name in variants:
            raise ParameterError(f"a variant must have a name of its own; got {name!r} twice.")
        variants[name] = chosen
    return variants


def _result_table(results: Sequence[Result]) -> pa.Table:
    """One row per result; without entry, the scores are blank."""
    roles = ("cell", "kind", "family", "seed", "method", "known")
    columns: dict[str, Any] = {role: [getattr(r, role) for r in results] for role in roles}
    for score in SCORES:
        columns[score] = pa.array([r.scores and r.scores[score] for r in results], pa.float64())
    return pa.table(columns)


def _as_json(summary: Board, output: Path) -> dict[str, Any]:
    """Verdicts of each method, means over families, and every score of each cell."""
    return {
        "cells": len(summary.cells),
        "methods": {method: _verdicts(summary, method) for method in summary.methods},
        "families": {
            group: {method: _family_verdict(summary, method, group) for method in summary.methods}
            for group in groups_of(summary)
        },
        **{score: _by_cell(summary, score) for score in SCORES},
        "output": str(output),
    }


def _by_cell(summary: Board, score: str) -> dict[str, dict[str, float]]:
    rows = zip(summary.cells, summary.of(score).tolist(), strict=True)
    return {cell: dict(zip(summary.methods, row, strict=True)) for cell, row in rows}


def _family_verdict(summary: Board, method: str, group: str) -> dict[str, Any]:
    verdict = family_verdict(summary, method, group)
    found: dict[str, Any] = {"families": verdict.n_families}
    for score in MEANS:
        found[score], found[f"{score}_error"] = verdict.means[score]
    for score in GAINS:
        found[f"{score}_gain"], found[f"{score}_gain_error"] = verdict.gains[score]
    for name in ("worst_lead", "worst_cell", "most_wrong_among_settled", "most_wrong_cell"):
        found[name] = getattr(verdict, name)
    return {**found, "first": verdict.first.value}


def _verdicts(summary: Board, method: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for score in JUDGED:
        verdict = summary.verdict(score, method)
        for kind, share in verdict.first.items():
            suffix = "" if kind == "all" else f"_{kind}"
            found[f"cells_{score}{suffix}"] = share.of
            found[f"first_{score}{suffix}"] = share.value
            found[f"mean_rank_{score}{suffix}"] = verdict.mean_rank[kind]
        found[f"worst_loss_{score}"], found[f"worst_cell_{score}"] = verdict.worst_loss, verdict.worst_cell
        found[f"above_oracle_{score}"] = verdict.above_oracle.count if verdict.above_oracle.of else None
    return found


def _print_table(name: str, head: Sequence[str], rows: Rows) -> None:
    """Print a table, as wide as it is unless a terminal sets a limit."""
    table = Table(name, *head, box=None)
    for row in rows:
        table.add_row(*(Text(cell[1:], "bold") if cell.startswith(BEST) else cell for cell in row))
    console = screen if screen.is_terminal else PlainConsole(width=WIDE)
    console.print()
    console.print(table)
