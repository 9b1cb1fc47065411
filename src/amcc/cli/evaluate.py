"""amcc evaluate: score a consensus against known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from amcc.cli.common import Json, busy, notes, print_json, screen
from amcc.cli.paths import READS
from amcc.evaluate import evaluate_consensus
from amcc.io import read_table, read_truth


def evaluate(
    consensus: Annotated[Path, typer.Argument(help="What `amcc consensus` wrote."), READS],
    truth: Annotated[Path, typer.Argument(help="True pairs: a table item,label."), READS],
    known_items: Annotated[Path | None, typer.Option(help="Table of the items that the truth covers."), READS] = None,
    known_pairs: Annotated[Path | None, typer.Option(help="Table item,label of the pairs it covers."), READS] = None,
    by_label: Annotated[bool, typer.Option("--by-label", help="Also one row per label.")] = False,
    as_json: Json = False,
) -> None:
    """Score a consensus against known truth."""
    with busy("Comparing"):
        result = evaluate_consensus(
            read_table(consensus), read_truth(truth, known_items=known_items, known_pairs=known_pairs)
        )
    for note in result.notes:
        notes.print(note)
    if as_json:
        print_json({**result.scores, **({"labels": result.labels.to_pylist()} if by_label else {})})
        return
    table = Table("score", f"over {result.n_items:,} items", box=None)
    for name, score in result.scores.items():
        table.add_row(name, f"{score:.4f}")
    screen.print(table)
    if by_label:
        labels = Table(*result.labels.column_names, box=None)
        for row in result.labels.to_pylist():
            labels.add_row(*(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row.values()))
        screen.print(labels)
