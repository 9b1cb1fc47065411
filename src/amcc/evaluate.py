"""Score a written consensus against known truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
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


@dataclass(frozen=True)
class _Listed:
    """What a consensus table says: all its items, and one entry per (item, label) pair that it lists."""

    items: pa.Array
    item: pa.Array
    label: pa.Array
    probability: npt.NDArray[np.float64]
    present: npt.NDArray[np.bool_]


def evaluate_consensus(consensus: Any, truth: Truth) -> Evaluation:
    """Compare a table item, label, probability, present (or item, labels) with the truth.

    Pairs that the table does not list count as absent with probability 0 in sets and rankings; calibration looks
    only at the probabilities that are there.
    """
    listed = _listed(tables.as_arrow(consensus))
    item_names = _distinct(listed.items, *truth.items())
    label_names = _distinct(listed.label, *truth.labels())
    true, known = truth.matrices(item_names, label_names)
    if not known.any():
        raise EmptyInputError("the truth must cover at least one pair of the consensus; it covers none.")
    row, column = positions(listed.item, item_names), positions(listed.label, label_names)
    predicted, given = np.zeros((2, *true.shape), dtype=bool)
    score = np.zeros(true.shape)
    given[row, column] = True
    score[row, column] = listed.probability
    predicted[row, column] = listed.present
    scores = metrics.evaluate(true, predicted, score, known)
    calibration = known & given
    if calibration.any():
        scores["ece"] = metrics.expected_calibration_error(true, score, calibration)
        scores["brier"] = metrics.brier(true, score, calibration)
    absent = positions(item_names, listed.items) < 0
    missing = int((known.any(axis=1) & absent).sum())
    per_label = metrics.label_scores(true, predicted, known)
    return Evaluation(
        scores=scores,
        labels=pa.table({"label": label_names, **vars(per_label)}),
        n_items=int(known.any(axis=1).sum()),
        notes=[f"{missing} items of the truth are not in the consensus; they count as having no label"] * (missing > 0),
    )


def _listed(table: pa.Table) -> _Listed:
    """Read either layout; every pair, and in tables of sets every item, must stand there once."""
    columns, roles = tables.read_columns(table, needed=("item", "label"), roles=("item", "label", "labels"))
    if table.num_rows == 0:
        raise EmptyInputError("the consensus must hold at least one row; it has none.")
    item = tables.encode_ids(columns[roles["item"]], "item", roles["item"])
    if "labels" in roles:
        _refuse_repeats(item.codes, np.arange(len(item.codes)), "item")
        lists = tables.encode_lists(columns[roles["labels"]], roles["labels"], None)
        row, label = lists.row, lists.labels
        probability, present = np.ones(len(row)), np.ones(len(row), dtype=bool)
    else:
        row, label = np.arange(table.num_rows), tables.encode_ids(columns[roles["label"]], "label", roles["label"])
        probability = _probabilities(table)
        named = "present" in table.column_names
        present = tables.parse_values(table["present"], "present").codes > 0 if named else probability > 0.5
    item_code, label_code = item.codes[row], label.codes
    _refuse_repeats(item_code.astype(np.int64) * len(label.names) + label_code, row, "(item, label) pair")
    items, labels = item.names.cast(pa.string()), label.names.cast(pa.string())
    return _Listed(items, items.take(pa.array(item_code)), labels.take(pa.array(label_code)), probability, present)


def _refuse_repeats(key: npt.NDArray[Any], row: npt.NDArray[np.int64], what: str) -> None:
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(len(key)))
    if again.size:
        before, now = row[first[inverse[again[0]]]] + 1, row[again[0]] + 1
        raise InputError(f"every {what} must stand in the consensus once; row {now} repeats row {before}. Drop one.")


def _probabilities(table: pa.Table) -> npt.NDArray[np.float64]:
    name = "probability"
    if name not in table.column_names:
        raise ColumnError(
            f"a consensus must have the column {name!r}; the columns are {', '.join(table.column_names)}. "
            "Use what `amcc consensus` writes."
        )
    try:
        cells = table[name].cast(pa.string()) if pa.types.is_dictionary(table[name].type) else table[name]
        numbers = np.asarray(cells.cast(pa.float64()).to_numpy())
    except pa.ArrowException as error:
        raise InputError(f"column {name!r} must hold numbers ({error}).") from None
    bad = ~((numbers >= 0) & (numbers <= 1))
    if bad.any():
        raise InputError(
            f"column {name!r} must lie between 0 and 1; row {int(bad.argmax()) + 1} has {numbers[bad.argmax()]}."
        )
    return numbers


def _distinct(*names: pa.Array) -> pa.Array:
    distinct = pc.unique(pa.concat_arrays(names))
    return distinct.take(pc.sort_indices(distinct))
