"""amcc evaluate: score a consensus against known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from amcc.cli.common import (
    Json,
    KnownItems,
    KnownPairs,
    TruthPath,
    TruthUnmentioned,
    busy,
    notes,
    print_json,
    screen,
)
from amcc.cli.paths import READS
from amcc.evaluate import evaluate_consensus
from amcc.io import read_table, read_truth


def evaluate(
    consensus: Annotated[Path, typer.Argument(help="What `amcc consensus` wrote."), READS],
    truth: TruthPath,
    known_items: KnownItems = None,
    known_pairs: KnownPairs = None,
    truth_unmentioned: TruthUnmentioned = "unknown",
    by_label: Annotated[bool, typer.Option("--by-label", help="Also one row per label.")] = False,
    as_json: Json = False,
) -> None:
    """Score a consensus against what is known to be true."""
    with busy("Comparing"):
        known = read_truth(truth, known_items=known_items, known_pairs=known_pairs, unmentioned=truth_unmentioned)
        result = evaluate_consensus(read_table(consensus), known)
    for note in result.notes:
        notes.print(note, markup=False, soft_wrap=True)
    if result.n_pairs_unknown:
        hint = "" if known_items or known_pairs else ". If it covers everything, say --truth-unmentioned absent"
        notes.print(
            f"{result.n_items_unknown:,} items and {result.n_pairs_unknown:,} pairs of the consensus are not scored: "
            f"the truth does not cover them{hint}",
            soft_wrap=True,
        )
    if as_json:
        counts = {
            "items_scored": result.n_items,
            "pairs_scored": result.n_pairs,
            "items_unknown": result.n_items_unknown,
            "pairs_unknown": result.n_pairs_unknown,
        }
        print_json({**result.scores, **counts, **({"labels": result.labels.to_pylist()} if by_label else {})})
        return
    table = Table("score", f"over {result.n_items:,} items, {result.n_pairs:,} pairs", box=None)
    for name, score in result.scores.items():
        table.add_row(name, f"{score:.4f}")
    screen.print(table)
    if by_label:
        labels = Table(*result.labels.column_names, box=None)
        for row in result.labels.to_pylist():
            labels.add_row(*(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row.values()))
        screen.print(labels)
