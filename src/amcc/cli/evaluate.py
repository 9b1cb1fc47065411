"""amcc evaluate: score a consensus against known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from amcc import evaluation
from amcc.cli.common import (
    TRUTH_HELP,
    Json,
    KnownItems,
    KnownPairs,
    TruthUnmentioned,
    busy,
    notes,
    print_json,
    screen,
)
from amcc.cli.paths import READS
from amcc.errors import ParameterError
from amcc.evaluation import Evaluation, SoftEvaluation, evaluate_soft
from amcc.io import read_soft_truth, read_table, read_truth

SOFT_HELP = (
    "Also compare the column soft (else probability) with the share of people who say yes: a table item,label,share, "
    "or the votes of other people."
)


def evaluate(
    consensus: Annotated[Path, typer.Argument(help="What `amcc consensus` wrote."), READS],
    truth: Annotated[Path | None, typer.Argument(metavar="TRUTH", help=TRUTH_HELP), READS] = None,
    known_items: KnownItems = None,
    known_pairs: KnownPairs = None,
    truth_unmentioned: TruthUnmentioned = "unknown",
    soft_truth: Annotated[Path | None, typer.Option(help=SOFT_HELP), READS] = None,
    by_label: Annotated[bool, typer.Option("--by-label", help="Also one row per label.")] = False,
    as_json: Json = False,
) -> None:
    """Score a consensus against what is known to be true, or against how many people say yes."""
    if truth is None and soft_truth is None:
        raise ParameterError("there must be something to compare with: TRUTH, --soft-truth FILE, or both.")
    with busy("Comparing"):
        result, soft = None, None
        table = read_table(consensus)
        if truth is not None:
            known = read_truth(truth, known_items=known_items, known_pairs=known_pairs, unmentioned=truth_unmentioned)
            result = evaluation.evaluate(table, known)
        if soft_truth is not None:
            soft = evaluate_soft(table, read_soft_truth(soft_truth))
    if result is not None:
        _tell(result, covers_said=bool(known_items or known_pairs))
    if as_json:
        print_json({**(_scores(result, by_label) if result else {}), **({"soft": vars(soft)} if soft else {})})
        return
    if result is not None:
        _show(result, by_label)
    if soft is not None:
        _show_soft(soft)


def _tell(result: Evaluation, *, covers_said: bool) -> None:
    """What the scores leave out, to stderr."""
    for note in result.notes:
        notes.print(note, markup=False, soft_wrap=True)
    if result.n_pairs_unknown:
        hint = "" if covers_said else ". If it covers everything, say --truth-unmentioned absent"
        notes.print(
            f"{result.n_items_unknown:,} items and {result.n_pairs_unknown:,} pairs of the consensus are not scored: "
            f"the truth does not cover them{hint}",
            soft_wrap=True,
        )


def _scores(result: Evaluation, by_label: bool) -> dict[str, Any]:
    """Scores and counts, for scripts."""
    counts = {
        "items_scored": result.n_items,
        "pairs_scored": result.n_pairs,
        "items_unknown": result.n_items_unknown,
        "pairs_unknown": result.n_pairs_unknown,
    }
    return {**result.scores, **counts, **({"labels": result.labels.to_pylist()} if by_label else {})}


def _show(result: Evaluation, by_label: bool) -> None:
    table = Table("score", f"over {result.n_items:,} items, {result.n_pairs:,} pairs", box=None)
    for name, score in result.scores.items():
        table.add_row(name, f"{score:.4f}")
    screen.print(table)
    if by_label:
        labels = Table(*result.labels.column_names, box=None)
        for row in result.labels.to_pylist():
            labels.add_row(*(f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row.values()))
        screen.print(labels)


def _show_soft(soft: SoftEvaluation) -> None:
    table = Table(f"soft score of column {soft.column}", f"over {soft.n_pairs:,} pairs", box=None)
    table.add_row("manhattan", f"{soft.manhattan:.4f}")
    table.add_row("cross_entropy", f"{soft.cross_entropy:.4f}")
    screen.print(table)
