"""amcc board: every method on every crowd whose truth is known."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from amcc.cli.common import Json, notes, print_json, screen
from amcc.consensus import METHODS
from amcc.experiments.board import BASELINE, SCORES, SIZES, Board, cells_of, run_board, summarise
from amcc.io import write_table

SHOWN = ("jaccard", "one_minus_rl", "one_minus_oe")


def board(
    data: Annotated[Path | None, typer.Option(help="Folder of crowd data; without it, simulated crowds only.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for tables and the cache.")] = Path("board"),
    methods: Annotated[str, typer.Option(help="Methods to compare, separated by commas.")] = ",".join(METHODS),
    seeds: Annotated[int, typer.Option(help="Draws of each thinned set.")] = 10,
    largest: Annotated[int, typer.Option(help="Leave out simulated crowds with more votes.")] = SIZES[-1],
    processes: Annotated[int, typer.Option(min=0, help="How many at a time; 0 for one per core.")] = 0,
    as_json: Json = False,
) -> None:
    """Compare methods on every crowd whose truth is known; interrupted, it goes on where it stopped."""
    cells = cells_of(data, n_seeds=seeds, sizes=[size for size in SIZES if size <= largest])
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        bar = progress.add_task("Comparing", total=None)
        results = run_board(
            cells,
            methods.split(","),
            output / "cache",
            n_processes=processes or os.cpu_count() or 1,
            progress=lambda done, total: progress.update(bar, completed=done, total=total),
        )
    summary = summarise(results)
    rows = [{"cell": r.cell, "seed": r.seed, "method": r.method, **r.scores} for r in results]
    write_table(pa.Table.from_pylist(rows), output / "results.csv")
    with_head = [f"## {score}\n\n{summary.markdown(score)}\n" for score in SCORES]
    (output / "board.md").write_text(
        "# Board\n\nMeans over seeds, best of each row in bold.\n\n" + "\n".join(with_head)
    )
    if as_json:
        print_json({"cells": len(summary.cells), "methods": _verdicts(summary), "output": str(output)})
        return
    screen.print(_table(summary))
    screen.print(f"all scores: {output / 'board.md'}, {output / 'results.csv'}", soft_wrap=True)


def _verdicts(summary: Board) -> dict[str, dict[str, float]]:
    """Share of cells where each method is first, and its worst loss against majority."""
    verdicts: dict[str, dict[str, float]] = {method: {} for method in summary.methods}
    for score in SHOWN:
        for number, method in enumerate(summary.methods):
            verdicts[method][f"first_{score}"] = float(summary.share_first(score)[number])
            if BASELINE in summary.methods:
                verdicts[method][f"worst_loss_{score}"] = float(summary.worst_loss(score)[number])
    return verdicts


def _table(summary: Board) -> Table:
    table = Table("Jaccard", *summary.methods, box=None)
    for cell, row in zip(summary.cells, summary.of("jaccard"), strict=True):
        table.add_row(cell, *(f"{value:.3f}" for value in row))
    table.add_section()
    for name in next(iter(_verdicts(summary).values())):
        table.add_row(name, *(f"{verdict[name]:.3f}" for verdict in _verdicts(summary).values()))
    return table
