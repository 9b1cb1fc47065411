"""Score a written consensus against known truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc import metrics, tables
from amcc.arrays import Floats, Ints, Mask
from amcc.errors import ColumnError, EmptyInputError
from amcc.soft_truth import SoftTruth, shares_in
from amcc.truth import Truth, positions, refuse_repeats


@dataclass(frozen=True)
class Evaluation:
    """Scores (see `metrics.evaluate`), the same per label, and remarks.

    n_items, n_pairs : what the scores rest on. n_items_unknown, n_pairs_unknown : what they leave out of the items of
    the consensus, because its truth is unknown.
    """

    scores: dict[str, float]
    labels: pa.Table
    n_items: int
    n_pairs: int
    n_items_unknown: int
    n_pairs_unknown: int
    notes: list[str]


@dataclass(frozen=True)
class Listed:
    """What a consensus table says: all its items, and one entry per (item, label) pair that it lists.

    Tables of sets list what is present, without probabilities; only what `amcc consensus` writes says what is settled.
    """

    items: pa.Array
    item: pa.Array
    label: pa.Array
    probability: Floats | None
    present: Mask
    settled: Mask | None = None


CALIBRATION = {"ece": metrics.expected_calibration_error, "brier": metrics.brier, "log_loss": metrics.log_loss}
"""Scores of probabilities, which sets do not have."""


def evaluate(consensus: Any, truth: Truth) -> Evaluation:
    """Compare a table item, label, probability, present (or item, labels) with the truth, where that is known.

    Beside the scores of `metrics.evaluate` there are claimed_error and true_error of the decisions, and, where the
    table has the column settled, the share of settled pairs and wrong_among_settled.

    Pairs that the table does not list count as absent with probability 0 in sets and rankings; calibration looks
    only at the probabilities that are there, and is left out where there are none.
    """
    listed = read_consensus(tables.as_arrow(consensus))
    in_sets = listed.probability is None
    truth.check_names("the consensus", item=listed.items, label=None if in_sets else listed.label)
    item_names = _distinct(listed.items, *truth.items())
    label_names = _distinct(listed.label, *truth.labels())
    true, known = truth.matrices(item_names, label_names)
    if not known.any():
        raise EmptyInputError("the truth must cover at least one pair of the consensus; it covers none.")
    row, column = positions(listed.item, item_names), positions(listed.label, label_names)
    predicted, given = np.zeros((2, *true.shape), dtype=bool)
    score = np.zeros(true.shape)
    given[row, column] = not in_sets
    score[row, column] = listed.present if listed.probability is None else listed.probability
    predicted[row, column] = listed.present
    scores = metrics.evaluate(true, predicted, score, known)
    for name, measure in CALIBRATION.items():
        del scores[name]
        if not in_sets:
            scores[name] = measure(true, score, known & given)
    if listed.probability is not None:
        scores |= _trust(true, predicted, score, known & given)
    if listed.settled is not None:
        settled = np.zeros(true.shape, dtype=bool)
        settled[row, column] = listed.settled
        scores |= _of_settled(true, predicted, settled, known & given)
    scored, in_consensus = known.any(axis=1), positions(item_names, listed.items) >= 0
    per_label = metrics.label_scores(true, predicted, known)
    return Evaluation(
        scores=scores,
        labels=pa.table({"label": label_names, **vars(per_label)}),
        n_items=int(scored.sum()),
        n_pairs=int(known.sum()),
        n_items_unknown=int((in_consensus & ~scored).sum()),
        n_pairs_unknown=int((~known[in_consensus]).sum()),
        notes=[
            *_notes_on_names((true & known).sum(axis=0), label_names, listed, int((scored & ~in_consensus).sum())),
            *["sets have no probabilities: calibration (ece, brier, log-loss) is left out"] * in_sets,
        ],
    )


Pairs = Mask


def _trust(true: Pairs, predicted: Pairs, score: Floats, rated: Pairs) -> dict[str, float]:
    """How often the consensus says that it is wrong, and how often it is, among the pairs with a probability."""
    return {
        "claimed_error": metrics.claimed_error(predicted, score, rated),
        "true_error": metrics.error(true, predicted, rated),
    }


def _of_settled(true: Pairs, predicted: Pairs, settled: Pairs, rated: Pairs) -> dict[str, float]:
    """How many of the same pairs are settled, and how many of those are wrong."""
    return {
        "settled": float(settled[rated].mean()) if rated.any() else np.nan,
        "wrong_among_settled": metrics.error(true, predicted, rated & settled),
    }


@dataclass(frozen=True)
class SoftEvaluation:
    """How near a column of the consensus is to the share of people who say yes, over `n_pairs` pairs that both have."""

    manhattan: float
    cross_entropy: float
    column: str
    n_pairs: int


def evaluate_soft(consensus: Any, truth: SoftTruth) -> SoftEvaluation:
    """Compare the soft labels of a consensus, or its probabilities where it has none, with a soft truth."""
    table = tables.as_arrow(consensus)
    column = SOFT if SOFT in table.column_names else "probability"
    listed = read_consensus(table)
    if listed.probability is None:
        raise ColumnError(
            "a soft truth is compared with the column 'soft' or 'probability' of pairs; this consensus has sets. Write "
            "it without --sets."
        )
    values: Floats = shares_in(table[column], column)
    items, labels = _distinct(listed.items), _distinct(listed.label)
    row, true_row = (_keys(item, label, items, labels) for item, label in (
        (listed.item, listed.label), (truth.pairs.item, truth.pairs.label)
    ))  # fmt: skip
    both, here, there = np.intersect1d(row, true_row[true_row >= 0], return_indices=True)
    if not len(both):
        raise EmptyInputError(
            "the soft truth must cover at least one pair of the consensus; it covers none. Write items and labels "
            "alike."
        )
    share = truth.share[true_row >= 0][there][:, None]
    predicted = values[here][:, None]
    return SoftEvaluation(
        metrics.manhattan(share, predicted), metrics.cross_entropy(share, predicted), column, len(both)
    )


SOFT = "soft"
"""The column of soft labels that `amcc consensus --soft` writes."""


def _keys(item: pa.Array, label: pa.Array, items: pa.Array, labels: pa.Array) -> Ints:
    """Pairs as numbers, −1 where the item or the label is not there."""
    row, column = positions(item, items), positions(label, labels)
    return np.where((row >= 0) & (column >= 0), row * len(labels) + column, -1)


def _notes_on_names(n_true: Ints, label_names: pa.Array, listed: Listed, n_missing: int) -> list[str]:
    """What of the truth the consensus does not name: `n_missing` items, and labels with `n_true` true pairs each."""
    notes = []
    if n_missing:
        notes.append(f"{n_missing:,} items of the truth are not in the consensus; they count as having no label")
    strange = (positions(label_names, listed.label) < 0) & (n_true > 0)
    if strange.any():
        notes.append(
            f"{n_true[strange].sum():,} of {n_true.sum():,} true pairs have labels that the consensus never names, "
            f"such as {label_names[int(strange.argmax())].as_py()!r}; they count as missed"
        )
    return notes


def read_consensus(table: pa.Table) -> Listed:
    """Read either layout; every pair, and in tables of sets every item, must stand there once."""
    columns, roles = tables.read_columns(table, needed=("item", "label"), roles=("item", "label", "labels"))
    if table.num_rows == 0:
        raise EmptyInputError("the consensus must hold at least one row; it has none.")
    item = tables.encode_ids(columns[roles["item"]], "item", roles["item"])
    settled = None
    if "labels" in roles:
        refuse_repeats(item.codes, np.arange(1, len(item.codes) + 1), "item", "the consensus")
        lists = tables.encode_lists(columns[roles["labels"]], roles["labels"], None)
        row, label = lists.row, lists.labels
        probability, present = None, np.ones(len(row), dtype=bool)
    else:
        row, label = np.arange(table.num_rows), tables.encode_ids(columns[roles["label"]], "label", roles["label"])
        probability = _probabilities(table)
        named = "present" in table.column_names
        present = tables.parse_values(table["present"], "present").codes > 0 if named else probability > 0.5
        if "settled" in table.column_names:
            settled = tables.parse_values(table["settled"], "settled").codes > 0
    item_code, label_code = item.codes[row], label.codes
    pair = item_code.astype(np.int64) * len(label.names) + label_code
    refuse_repeats(pair, row + 1, "(item, label) pair", "the consensus")
    items, labels = item.names.cast(pa.string()), label.names.cast(pa.string())
    names = items.take(pa.array(item_code)), labels.take(pa.array(label_code))
    return Listed(items, *names, probability, present, settled)


def _probabilities(table: pa.Table) -> Floats:
    name = "probability"
    if name not in table.column_names:
        raise ColumnError(
            f"a consensus must have the column {name!r}; the columns are {', '.join(table.column_names)}. "
            "Use what `amcc consensus` writes."
        )
    return shares_in(table[name], name)


def _distinct(*names: pa.Array) -> pa.Array:
    distinct = pc.unique(pa.concat_arrays(names))
    return distinct.take(pc.sort_indices(distinct))
