"""Score a written consensus against known truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc import metrics, tables
from amcc.errors import ColumnError, EmptyInputError, InputError
from amcc.truth import Truth, positions


@dataclass(frozen=True)
class Evaluation:
    """Scores (see `metrics.evaluate`), the same per label, how many items they rest on, and remarks."""

    scores: dict[str, float]
    labels: pa.Table
    n_items: int
    notes: list[str]


def evaluate_consensus(consensus: Any, truth: Truth) -> Evaluation:
    """Compare a table item, label, probability, present (or item, labels) with the truth.

    Pairs that the table does not list count as absent with probability 0 in sets and rankings; calibration looks
    only at the probabilities that are there.
    """
    pairs = _listed_pairs(tables.as_arrow(consensus))
    item_names = _distinct(pairs["item"], *truth.items())
    label_names = _distinct(pairs["label"], *truth.labels())
    true, known = truth.matrices(item_names, label_names)
    if not known.any():
        raise EmptyInputError("the truth must cover at least one pair of the consensus; it covers none.")
    row, column = positions(pairs["item"], item_names), positions(pairs["label"], label_names)
    predicted, given = np.zeros((2, *true.shape), dtype=bool)
    score = np.zeros(true.shape)
    given[row, column] = True
    score[row, column] = pairs["probability"].to_numpy()
    predicted[row, column] = pairs["present"].to_numpy() > 0
    scores = metrics.evaluate(true, predicted, score, known)
    calibration = known & given
    if calibration.any():
        scores["ece"] = metrics.expected_calibration_error(true, score, calibration)
        scores["brier"] = metrics.brier(true, score, calibration)
    missing = int((known.any(axis=1) & ~given.any(axis=1)).sum())
    per_label = metrics.label_scores(true, predicted, known)
    return Evaluation(
        scores=scores,
        labels=pa.table({"label": label_names, **vars(per_label)}),
        n_items=int(known.any(axis=1).sum()),
        notes=[f"{missing} items of the truth are not in the consensus; they count as having no label"] * (missing > 0),
    )


def _listed_pairs(table: pa.Table) -> pa.Table:
    """Columns item, label, probability, present, one row per pair."""
    roles = tables.match_columns(table.column_names, needed=("item", "label"))
    if table.num_rows == 0:
        raise EmptyInputError("the consensus must hold at least one row; it has none.")
    item = tables.encode_ids(table[roles["item"]], "item", roles["item"])
    if "labels" in roles:
        lists = tables.encode_lists(table[roles["labels"]], roles["labels"], None)
        code, label = item.codes[lists.row], lists.labels
        probability = np.ones(len(code))
    else:
        code, label = item.codes, tables.encode_ids(table[roles["label"]], "label", roles["label"])
        probability = _numbers(table, "probability")
    present = _numbers(table, "present") > 0 if "present" in table.column_names else probability > 0.5
    names = item.names.cast(pa.string()).take(pa.array(code))
    labels = label.names.cast(pa.string()).take(pa.array(label.codes))
    pairs = pa.table({"item": names, "label": labels, "probability": probability, "present": present.astype(np.int8)})
    if pairs.group_by(["item", "label"]).aggregate([]).num_rows < pairs.num_rows:
        raise InputError("every pair must stand in the consensus once; some (item, label) pairs are there twice.")
    return pairs


def _numbers(table: pa.Table, name: str) -> Any:
    if name not in table.column_names:
        raise ColumnError(
            f"a consensus must have the column {name!r}; the columns are {', '.join(table.column_names)}. "
            "Use what `amcc consensus` writes."
        )
    try:
        numbers = pc.cast(table[name], pa.string() if pa.types.is_dictionary(table[name].type) else pa.float64())
        numbers = pc.cast(numbers, pa.float64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise InputError(f"column {name!r} must hold numbers ({error}).") from None
    bad = ~((numbers >= 0) & (numbers <= 1))
    if bad.any():
        raise InputError(
            f"column {name!r} must lie between 0 and 1; row {int(bad.argmax()) + 1} has {numbers[bad.argmax()]}."
        )
    return numbers


def _distinct(*names: pa.Array | pa.ChunkedArray) -> pa.Array:
    chunks = [chunk for name in names for chunk in (name.chunks if isinstance(name, pa.ChunkedArray) else [name])]
    distinct = pc.unique(pa.concat_arrays(chunks))
    return distinct.take(pc.sort_indices(distinct))
