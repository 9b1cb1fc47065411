"""amcc evaluate: score a consensus against known truth.

`amcc.evaluation` computes the scores; this file reads the tables and prints. What the scores leave out (pairs that the
truth does not cover or that the consensus was told, items that the consensus does not have) goes to standard error, so
that nobody takes the scores for more than they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from amcc import evaluation
from amcc.audit import cross_fitted
from amcc.audit.doubts import refuse_told
from amcc.audit.slices import ConsensusPairs, answers_on
from amcc.cli.console import busy, say, screen, titled_table
from amcc.cli.fitting import DEFAULT_METHOD, ModelChoice
from amcc.cli.options.roster import WorkersFile, listed_workers
from amcc.cli.options.truth import TRUTH_HELP, CountTold, TruthCoverage
from amcc.cli.options.votes import ReadingOptions
from amcc.cli.output import Json, print_json
from amcc.cli.paths import READS
from amcc.errors import ParameterError
from amcc.evaluation import Evaluation, SoftEvaluation, evaluate_soft, refuse_itself, told_notes
from amcc.io import read_soft_truth, read_table
from amcc.truth import TOLD, Truth

SOFT_HELP = (
    "Also compare the column soft (else probability) with the share of people who say yes: a table item,label,share, "
    "or the votes of other people."
)
CONSENSUS_HELP = (
    "What `amcc consensus` wrote. Pairs that it was told (columns told, told_labels) are not scored. With --cross-fit: "
    "the votes."
)
CROSS_FIT_HELP = (
    "Score a consensus that learns from TRUTH, as with consensus --truth: the first argument is the votes, the items "
    "of TRUTH are dealt into N parts, and each part is scored by a fit that knows the others only."
)


@dataclass(frozen=True)
class CrossFit(ModelChoice):
    """How many parts the truth is dealt into, and by which fit each is scored; without parts nothing is fitted."""

    cross_fit: Annotated[int | None, typer.Option(metavar="N", help=CROSS_FIT_HELP)] = None
    roster: WorkersFile = None

    def table(self, path: Path, reading: ReadingOptions, truth: Path | None, coverage: TruthCoverage) -> pa.Table:
        """The consensus to score, written before or fitted now; ParameterError where an option would be ignored."""
        if self.cross_fit is None:
            given = (self.roster, self.param, self.exclusive, self.reference)
            if any(given) or self.method != DEFAULT_METHOD or reading != ReadingOptions():
                raise ParameterError(
                    "--method, --param, --exclusive, --reference, --workers and options for reading votes are for "
                    "--cross-fit N, which fits; a consensus is scored as it is. Leave them out, or give votes and "
                    "--cross-fit."
                )
            return read_table(path)
        if truth is None:
            raise ParameterError("--cross-fit needs TRUTH, which the fits learn from; name it, or leave it out.")
        self.check_used(roster=self.roster)
        votes = reading.read(path)
        listed = listed_workers(self.roster, votes.worker_names)
        say(f"the consensus learns from the truth: each of its {self.cross_fit} parts is scored by a fit without it")
        with busy(f"Fitting {self.method} without each part of the truth"):
            return cross_fitted(self.make, votes, coverage.read(truth), folds=self.cross_fit, workers=listed)


def evaluate(
    *,
    consensus: Annotated[Path, typer.Argument(help=CONSENSUS_HELP), READS],
    truth: Annotated[Path | None, typer.Argument(metavar="TRUTH", help=TRUTH_HELP), READS] = None,
    coverage: TruthCoverage,
    soft_truth: Annotated[Path | None, typer.Option(help=SOFT_HELP), READS] = None,
    count_told: CountTold = False,
    by_label: Annotated[bool, typer.Option("--by-label", help="Also one row per label.")] = False,
    as_json: Json = False,
    cross_fit: CrossFit,
    reading: ReadingOptions,
) -> None:
    """Score a consensus against what is known to be true, or against how many people say yes.

    What the consensus was told is not scored: `amcc consensus` marks it in the column told (1 known truth, 2 taken from
    workers who are the reference), with --sets in told_labels (then whole items are left out). Keep these columns.
    """
    # Each of them may be left out, so typer cannot ask for one.
    if truth is None and soft_truth is None:
        raise ParameterError("there must be something to compare with: TRUTH, --soft-truth FILE, or both.")
    # Read once: it may be a large file, and each comparison takes the columns that it needs.
    table = cross_fit.table(consensus, reading, truth, coverage)
    with busy("Comparing"):
        result, soft = None, None
        if truth is not None:
            known = coverage.read(truth)
            refuse_itself(table, read_table(truth))
            result = evaluation.evaluate(table, known, count_told=count_told)
            _refuse_lost(table, result, known)
        if soft_truth is not None:
            refuse_itself(table, read_table(soft_truth))
            soft = evaluate_soft(table, read_soft_truth(soft_truth), count_told=count_told)
    # Also with --json: what is not scored concerns scripts as well, and goes to standard error.
    if result is not None:
        _tell(result, covers_said=bool(coverage.known_items or coverage.known_pairs))
    elif soft is not None:
        say(*told_notes(soft.n_pairs_told))
    if as_json:
        print_json({**(_scores(result, by_label) if result else {}), **({"soft": vars(soft)} if soft else {})})
        return
    if result is not None:
        _show(result, by_label)
    if soft is not None:
        _show_soft(soft)


def _refuse_lost(table: pa.Table, result: Evaluation, truth: Truth) -> None:
    """Raise InputError where a consensus that does not say what it was told seems to repeat the truth, as in audits."""
    if TOLD not in table.column_names and "claimed_error" in result.scores:
        pairs = ConsensusPairs.of(table)
        refuse_told(pairs, answers_on(pairs, truth))


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
        "pairs_told": result.n_pairs_told,
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
