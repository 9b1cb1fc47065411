"""The board for scripts: every result as a row of a table, and verdicts, means and scores as one JSON object.

Names of fields are flat, such as `first_jaccard_own`: scripts compare them from board to board. What is undefined is
NaN here; whoever prints it makes null of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from amcc.experiments.board import SCORES, Result
from amcc.experiments.families import GAINS, MEANS, family_verdict
from amcc.experiments.pages import groups_of
from amcc.experiments.summary import JUDGED, Board


def result_table(results: Sequence[Result]) -> pa.Table:
    """One row per result; without entry, the scores are blank."""
    names = ("cell", "kind", "family", "seed", "method", "known")
    columns: dict[str, Any] = {name: [getattr(result, name) for result in results] for name in names}
    for score in SCORES:
        # Typed, because a score may be blank in all rows.
        columns[score] = pa.array([result.scores and result.scores[score] for result in results], pa.float64())
    return pa.table(columns)


def board_json(board: Board) -> dict[str, Any]:
    """Verdicts of each method, means over families, and every score of each cell.

    methods : method → verdicts. families : group of cells → method → means over its families. Then each score by name:
    cell → method → mean over draws.
    """
    return {
        "cells": len(board.cells),
        "methods": {method: _verdicts(board, method) for method in board.methods},
        "families": {
            group: {method: _family_verdict(board, method, group) for method in board.methods}
            for group in groups_of(board)
        },
        **{score: _by_cell(board, score) for score in SCORES},
    }


def _by_cell(board: Board, score: str) -> dict[str, dict[str, float]]:
    """Cell → method → one score."""
    # Python's own numbers: JSON knows none of numpy's.
    rows = zip(board.cells, board.of(score).tolist(), strict=True)
    return {cell: dict(zip(board.methods, row, strict=True)) for cell, row in rows}


def _family_verdict(board: Board, method: str, group: str) -> dict[str, Any]:
    """Means and gains with their errors, and the worst cells."""
    verdict = family_verdict(board, method, group)
    found: dict[str, Any] = {"families": verdict.n_families}
    # A mean and its error are two fields: a script should not take text apart.
    for score in MEANS:
        found[score], found[f"{score}_error"] = verdict.means[score]
    for score in GAINS:
        found[f"{score}_gain"], found[f"{score}_gain_error"] = verdict.gains[score]
    for name in ("worst_lead", "worst_cell", "most_wrong_among_settled", "most_wrong_cell"):
        found[name] = getattr(verdict, name)
    return {**found, "first": verdict.first.value}


def _verdicts(board: Board, method: str) -> dict[str, Any]:
    """Firsts, ranks and losses in every judged score, flat: the kind of cells is part of the name, except all."""
    found: dict[str, Any] = {}
    for score in JUDGED:
        verdict = board.verdict(score, method)
        for kind, share in verdict.first.items():
            # "all" is what most want, so that it has the short name.
            suffix = "" if kind == "all" else f"_{kind}"
            found[f"cells_{score}{suffix}"] = share.of
            found[f"first_{score}{suffix}"] = share.value
            found[f"mean_rank_{score}{suffix}"] = verdict.mean_rank[kind]
        found[f"worst_loss_{score}"], found[f"worst_cell_{score}"] = verdict.worst_loss, verdict.worst_cell
        found[f"above_oracle_{score}"] = verdict.above_oracle.count if verdict.above_oracle.of else None
    return found
