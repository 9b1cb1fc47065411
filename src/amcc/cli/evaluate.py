"""amcc evaluate: score a consensus against known truth.

`amcc.evaluation` computes the scores; this file reads the tables and prints. What the scores leave out (pairs that the
truth does not cover, items that the consensus does not have) goes to standard error, so that nobody takes the scores
for more than they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from amcc import evaluation
from amcc.cli.console import busy, say, screen, titled_table
from amcc.cli.options.truth import TRUTH_HELP, TruthCoverage
from amcc.cli.output import Json, print_json
from amcc.cli.paths import READS
from amcc.errors import ParameterError
from amcc.evaluation import Evaluation, SoftEvaluation, evaluate_soft
from amcc.io import read_soft_truth, read_table

SOFT_HELP = (
    "Also compare the column soft (else probability) with the share of people who say yes: a table item,label,share, "
    "or the votes of other people."
)


def evaluate(
    *,
    consensus: Annotated[Path, typer.Argument(help="What `amcc consensus` wrote."), READS],
    truth: Annotated[Path | None, typer.Argument(metavar="TRUTH", help=TRUTH_HELP), READS] = None,
    coverage: TruthCoverage,
    soft_truth: Annotated[Path | None, typer.Option(help=SOFT_HELP), READS] = None,
    by_label: Annotated[bool, typer.Option("--by-label", help="Also one row per label.")] = False,
    as_json: Json = False,
) -> None:
    """Score a consensus against what is known to be true, or against how many people say yes."""
    if truth is None and soft_truth is None:
        raise ParameterError("there must be something to compare with: TRUTH, --soft-truth FILE, or both.")
    with busy("Comparing"):
        result, soft = None, None
        # Read once: it may be a large file, and each comparison takes the columns that it needs.
        table = read_table(consensus)
        if truth is not None:
            result = evaluation.evaluate(table, coverage.read(truth))
        if soft_truth is not None:
            soft = evaluate_soft(table, read_soft_truth(soft_truth))
    if result is not None:
        _tell(result, covers_said=bool(coverage.known_items or coverage.known_pairs))
    if as_json:
        print_json({**(_scores(result, by_label) if result else {}), **({"soft": vars(soft)} if soft else {})})
        return
    if result is not None:
        _show(result, by_label)
    if soft is not None:
        _show_soft(soft)


def _tell(result: Evaluation, *, covers_said: bool) -> None:
    """What the scores leave out, to stderr."""
    say(*result.notes)
    if result.n_pairs_unknown:
        # Who says what the truth covers knows why the rest is left out.
        hint = "" if covers_said else ". If it covers everything, say --truth-unmentioned absent"
        say(
            f"{result.n_items_unknown:,} items and {result.n_pairs_unknown:,} pairs of the consensus are not scored: "
            f"the truth does not cover them{hint}"
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
    """Scores over all pairs, for people."""
    over = f"over {result.n_items:,} items, {result.n_pairs:,} pairs"
    screen.print(titled_table(["score", over], ([name, f"{score:.4f}"] for name, score in result.scores.items())))
    if by_label:
        rows = ([_cell(value) for value in row.values()] for row in result.labels.to_pylist())
        screen.print(titled_table(result.labels.column_names, rows))


def _show_soft(soft: SoftEvaluation) -> None:
    """Distances from the shares of people; both are 0 for a perfect match, and lower is better."""
    rows = [[name, f"{getattr(soft, name):.4f}"] for name in ("manhattan", "cross_entropy")]
    screen.print(titled_table([f"soft score of column {soft.column}", f"over {soft.n_pairs:,} pairs"], rows))


def _cell(value: object) -> str:
    """Scores are floats; counts and names stand as they are.

    >>> _cell(0.5), _cell(12), _cell("cat")
    ('0.5000', '12', 'cat')
    """
    return f"{value:.4f}" if isinstance(value, float) else str(value)
