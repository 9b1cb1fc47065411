"""Score a written consensus against known truth: `amcc.evaluate`, and `evaluate_soft` for shares of people.

A consensus comes in two layouts, as `amcc consensus` writes them: pairs with probabilities (item, label, probability,
present, settled), or sets (item, labels). `read_consensus` reads both into one form. Truth is compared only where it is
known: a pair that it does not cover is neither right nor wrong, and is counted apart. Pairs whose truth the consensus
was told (columns told and told_labels) are left out: it repeats them, so that they measure nothing.

Both sides name items and labels by themselves. They are brought together by name, as text: 1 in one file is "1" in the
other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc import metrics, tables
from amcc.arrays import Floats, Ints, Mask
from amcc.errors import ColumnError, EmptyInputError, InputError
from amcc.soft_truth import SoftTruth, shares_in
from amcc.truth import BY_REFERENCE, TOLD, TOLD_LABELS, Truth, positions, refuse_repeats

Listing = TypeVar("Listing", Floats, Mask)


@dataclass(frozen=True)
class Evaluation(tables.Tabular):
    """Scores (see `metrics.evaluate`), the same per label, and remarks.

    n_items, n_pairs : what the scores rest on. n_items_unknown, n_pairs_unknown : what they leave out of the items of
    the consensus, because its truth is unknown. n_pairs_told : of the pairs that the truth covers, those that were left
    out because the consensus was told them.
    """

    scores: dict[str, float]
    labels: pa.Table
    n_items: int
    n_pairs: int
    n_items_unknown: int
    n_pairs_unknown: int
    n_pairs_told: int
    notes: list[str]

    def to_arrow(self) -> pa.Table:
        """Table score, value; the scores of each label are the table `labels`."""
        return pa.table({"score": list(self.scores), "value": pa.array(self.scores.values(), pa.float64())})


@dataclass(frozen=True)
class Listed:
    """What a consensus table says: all its items, and one entry per (item, label) pair that it lists.

    Tables of sets list what is present, without probabilities; only what `amcc consensus` writes says what is settled.

    items : (n_items,) names of all items, also of those with an empty set
    item, label : (n_pairs,) names of the listed pairs
    probability : (n_pairs,) that the label is present, None for sets
    present, settled : (n_pairs,) decisions; settled is None where the table does not say it
    told : (n_pairs,) what the consensus was told, and did not find out
    by_reference : (n_pairs,) those of them that it took from workers who are the reference; sets do not say it
    told_items : names of the items of which nothing else is left to measure: all listed pairs were told. Of sets, which
        do not say what else was asked, those of which anything was told
    """

    items: pa.Array
    item: pa.Array
    label: pa.Array
    probability: Floats | None
    present: Mask
    settled: Mask | None
    told: Mask
    by_reference: Mask
    told_items: pa.Array


# Scores of probabilities, which sets do not have.
CALIBRATION: dict[str, Callable[..., float]] = {
    "ece": metrics.expected_calibration_error,
    "brier": metrics.brier,
    "log_loss": metrics.log_loss,
}

# The column of soft labels that `amcc consensus --soft` writes.
SOFT = "soft"


def evaluate(consensus: Any, truth: Truth, *, count_told: bool = False) -> Evaluation:
    """Compare a table item, label, probability, present (or item, labels) with the truth, where that is known.

    Beside the scores of `metrics.evaluate` there are claimed_error and true_error of the decisions, and, where the
    table has the column settled, the share of settled pairs and wrong_among_settled.

    Pairs that the table does not list count as absent with probability 0 in sets and rankings; calibration looks
    only at the probabilities that are there, and is left out where there are none. Pairs that the consensus was told
    are not scored, see `Listed`.

    Parameters
    ----------
    consensus : table of any kind that `tables.as_arrow` takes, in one of the two layouts
    truth : what is true, and which pairs it covers; nothing else is scored
    count_told : score also what the consensus took from workers who are the reference, because the truth comes from
        others. What it was told as known truth is never scored.

    Examples
    --------
    Item 1 has both labels and one was found; item 2 is right. The Jaccard index is the mean of 1/2 and 1.

    >>> truth = Truth.from_frames(pa.table({"item": [1, 1, 2], "label": ["cat", "dog", "dog"]}))
    >>> found = evaluate(pa.table({"item": [1, 2], "labels": [["cat"], ["dog"]]}), truth)
    >>> found.scores["jaccard"], found.n_items, found.n_pairs
    (0.75, 2, 4)
    """
    listed = read_consensus(tables.as_arrow(consensus), count_told=count_told)
    in_sets = listed.probability is None
    # Sets name only what is present, so a label that they never name is no sign of a mistake in the names.
    truth.check_names("the consensus", item=listed.items, label=None if in_sets else listed.label)
    item_names = _distinct(listed.items, *truth.items())
    label_names = _distinct(listed.label, *truth.labels())
    true, known = truth.matrices(item_names, label_names)
    if not known.any():
        raise EmptyInputError("the truth must cover at least one pair of the consensus; it covers none.")
    place = positions(listed.item, item_names), positions(listed.label, label_names)
    # Items that only one side has: those of the truth count as missed, those of the consensus are not scored.
    in_consensus, covered = positions(item_names, listed.items) >= 0, known.any(axis=1)
    unknown = int((in_consensus & ~covered).sum()), int((~known[in_consensus]).sum())
    told = _told_cells(listed, item_names, place, true.shape) & known
    n_reference = int((_spread(listed.by_reference & listed.told, place, true.shape) & told).sum())
    known &= ~told
    if not known.any():
        raise nothing_left(int(told.sum()), n_reference)
    predicted = _spread(listed.present, place, true.shape)
    scores = _scores(listed, place, true, predicted, known)
    scored = known.any(axis=1)
    return Evaluation(
        scores=scores,
        labels=pa.table({"label": label_names, **vars(metrics.label_scores(true, predicted, known))}),
        n_items=int(scored.sum()),
        n_pairs=int(known.sum()),
        n_items_unknown=unknown[0],
        n_pairs_unknown=unknown[1],
        n_pairs_told=int(told.sum()),
        notes=[
            *told_notes(int(told.sum()), n_reference),
            *_notes_on_names((true & known).sum(axis=0), label_names, listed, int((scored & ~in_consensus).sum())),
            *["sets have no probabilities: calibration (ece, brier, log-loss) is left out"] * in_sets,
        ],
    )


def _scores(listed: Listed, place: tuple[Ints, Ints], true: Mask, predicted: Mask, known: Mask) -> dict[str, float]:
    """Every score by name; matrices are (n_items, n_labels), and `place` says where in them the listed pairs are."""
    if listed.probability is None:
        # A set ranks its labels before all others, and says no more.
        scores = metrics.evaluate(true, predicted, predicted.astype(float), known)
        return {name: score for name, score in scores.items() if name not in CALIBRATION}
    score = _spread(listed.probability, place, true.shape)
    # What is not listed has no probability that could be trusted or not.
    rated = known & _spread(np.ones_like(listed.present), place, true.shape)
    scores = metrics.evaluate(true, predicted, score, known)
    scores |= {name: measure(true, score, rated) for name, measure in CALIBRATION.items()}
    scores["claimed_error"] = metrics.claimed_error(predicted, score, rated)
    scores["true_error"] = metrics.error(true, predicted, rated)
    if listed.settled is not None:
        settled = _spread(listed.settled, place, true.shape)
        scores["settled"] = float(settled[rated].mean()) if rated.any() else np.nan
        scores["wrong_among_settled"] = metrics.error(true, predicted, rated & settled)
    return scores


def _told_cells(listed: Listed, item_names: pa.Array, place: tuple[Ints, Ints], shape: tuple[int, ...]) -> Mask:
    """(n_items, n_labels) what must not be scored; of wholly told items also what nobody was asked about.

    Otherwise an item that has nothing but told pairs would count as one without labels, which is mostly right.
    """
    told = _spread(listed.told, place, shape)
    told[positions(listed.told_items, item_names)] = True
    return told


# The way out where the truth is that of others than the reference.
COUNT_THEM = "count them with --count-told (in Python count_told=True)"


def told_notes(n_pairs: int, n_reference: int = 0) -> list[str]:
    """That so many pairs are left out and why; `n_reference` of them were taken from workers who are the reference."""
    notes = []
    if n_truth := n_pairs - n_reference:
        notes.append(f"{n_truth:,} pairs are left out: the consensus was told their truth, so they do not measure it")
    if n_reference:
        notes.append(
            f"{n_reference:,} pairs are left out: the consensus took them from workers who are the reference. If the "
            f"truth does not come from these workers, {COUNT_THEM}"
        )
    return notes


def nothing_left(n_pairs: int, n_reference: int = 0) -> EmptyInputError:
    """The error where all of so many pairs were told, `n_reference` of them by workers who are the reference."""
    if n_reference:
        return EmptyInputError(
            f"a consensus must be measured by pairs that it found out; of {n_pairs:,} it took {n_reference:,} from "
            f"workers who are the reference. If the truth does not come from these workers, {COUNT_THEM}; else measure "
            "by items that they did not see."
        )
    return EmptyInputError(
        "a consensus must be measured by pairs whose truth it was not told; it was told all "
        f"{n_pairs:,} of them. Keep some items back from --truth and measure by those, or use all of them by turns: "
        "amcc evaluate VOTES TRUTH --cross-fit 5, or amcc audit VOTES TRUTH --cross-fit (in Python "
        "amcc.audit.cross_fitted)."
    )


def refuse_itself(consensus: pa.Table, truth: pa.Table) -> None:
    """Raise InputError where the truth is the consensus itself: the same table, perhaps in a file of another format."""
    if consensus.column_names != truth.column_names or consensus.num_rows != truth.num_rows:
        return
    one, other = read_consensus(consensus), read_consensus(truth)
    names_alike = (getattr(one, name).equals(getattr(other, name)) for name in ("items", "item", "label"))
    said_alike = (np.array_equal(getattr(one, name), getattr(other, name)) for name in ("probability", "present"))
    if all(names_alike) and all(said_alike):
        raise InputError(
            "a consensus must be compared with something else; the truth is the same table as the consensus, so that "
            "every score would be perfect. Give what people know to be true."
        )


def _spread(values: Listing, place: tuple[Ints, Ints], shape: tuple[int, ...]) -> Listing:
    """Values of the listed pairs as a matrix of items and labels; 0 or no where a pair is not listed."""
    matrix = np.zeros(shape, dtype=values.dtype)
    matrix[place] = values
    return matrix


@dataclass(frozen=True)
class SoftEvaluation:
    """How near a column of the consensus is to the share of people who say yes, over `n_pairs` pairs that both have.

    n_pairs_told : further pairs, left out because the consensus was told them.
    """

    manhattan: float
    cross_entropy: float
    column: str
    n_pairs: int
    n_pairs_told: int


def evaluate_soft(consensus: Any, truth: SoftTruth, *, count_told: bool = False) -> SoftEvaluation:
    """Compare the soft labels of a consensus, or its probabilities where it has none, with a soft truth.

    A soft truth has no yes or no: it says which share of people would say yes. Pairs that only one side has are left
    out, and so are those that the consensus was told; `count_told` as in `evaluate`.

    Examples
    --------
    >>> consensus = pa.table({"item": [1], "label": ["cat"], "probability": [0.9]})
    >>> people = SoftTruth.from_frame(pa.table({"item": [1], "label": ["cat"], "share": [0.7]}))
    >>> found = evaluate_soft(consensus, people)
    >>> round(found.manhattan, 3), found.column, found.n_pairs
    (0.2, 'probability', 1)
    """
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
    row = _keys(listed.item, listed.label, items, labels)
    true_row = _keys(truth.pairs.item, truth.pairs.label, items, labels)
    # Pairs that the consensus does not name all have the key -1, and would be taken for one pair.
    both, here, there = np.intersect1d(row, true_row[true_row >= 0], return_indices=True)
    if not len(both):
        raise EmptyInputError(
            "the soft truth must cover at least one pair of the consensus; it covers none. Write items and labels "
            "alike."
        )
    told = listed.told[here]
    if told.all():
        raise nothing_left(len(told), int((told & listed.by_reference[here]).sum()))
    here, there = here[~told], there[~told]
    # Metrics want a matrix with one column per value that is compared.
    share = truth.share[true_row >= 0][there][:, None]
    predicted = values[here][:, None]
    return SoftEvaluation(
        metrics.manhattan(share, predicted), metrics.cross_entropy(share, predicted), column, len(here), int(told.sum())
    )


def _keys(item: pa.Array, label: pa.Array, items: pa.Array, labels: pa.Array) -> Ints:
    """Pairs as numbers, −1 where the item or the label is not there."""
    row, column = positions(item, items), positions(label, labels)
    return np.where((row >= 0) & (column >= 0), row * len(labels) + column, -1)


def _notes_on_names(n_true: Ints, label_names: pa.Array, listed: Listed, n_missing: int) -> list[str]:
    """What of the truth the consensus does not name: `n_missing` items, and labels with `n_true` true pairs each."""
    notes = []
    if n_missing:
        notes.append(f"{n_missing:,} items of the truth are not in the consensus; they count as having no label")
    # Labels that are never true cost nothing, however they are spelt.
    strange = (positions(label_names, listed.label) < 0) & (n_true > 0)
    if strange.any():
        notes.append(
            f"{n_true[strange].sum():,} of {n_true.sum():,} true pairs have labels that the consensus never names, "
            f"such as {label_names[int(strange.argmax())].as_py()!r}; they count as missed"
        )
    return notes


def read_consensus(table: pa.Table, *, count_told: bool = False) -> Listed:
    """Read either layout; every pair, and in tables of sets every item, must stand there once.

    count_told : what was taken from the reference does not count as told

    >>> listed = read_consensus(pa.table({"item": [1, 2], "labels": [["cat", "dog"], []]}))
    >>> listed.items.to_pylist(), listed.item.to_pylist(), listed.label.to_pylist()
    (['1', '2'], ['1', '1'], ['cat', 'dog'])
    """
    columns, roles = tables.read_columns(table, needed=("item", "label"), roles=("item", "label", "labels"))
    # Scores of nothing would be undefined, one by one; this says it once.
    if table.num_rows == 0:
        raise EmptyInputError("the consensus must hold at least one row; it has none.")
    item = tables.encode_ids(columns[roles["item"]], "item", roles["item"])
    settled = None
    if "labels" in roles:
        refuse_repeats(item.codes, np.arange(1, len(item.codes) + 1), "item", "the consensus")
        lists = tables.encode_lists(columns[roles["labels"]], roles["labels"], None)
        row, label = lists.row, lists.labels
        probability, present = None, np.ones(len(row), dtype=bool)
        told_items = np.zeros(len(item.names), dtype=bool)
        if TOLD_LABELS in table.column_names:
            if count_told:
                raise InputError(
                    "counting pairs of the reference needs a consensus with one row per pair: sets do not say which "
                    "pairs are theirs. Write it without --sets."
                )
            told_items[item.codes[tables.encode_lists(table[TOLD_LABELS], TOLD_LABELS, None).row]] = True
        told = told_items[item.codes[row]]
        by_reference = np.zeros(len(told), dtype=bool)
    else:
        row, label = np.arange(table.num_rows), tables.encode_ids(columns[roles["label"]], "label", roles["label"])
        probability = _probabilities(table)
        # Tables of other programs may have probabilities alone; the decision is then the likelier one.
        named = "present" in table.column_names
        present = tables.parse_values(table["present"], "present").codes > 0 if named else probability > 0.5
        if "settled" in table.column_names:
            settled = tables.parse_values(table["settled"], "settled").codes > 0
        told, by_reference = _told_by(table)
        told &= ~(by_reference & count_told)
        told_items = np.bincount(item.codes, ~told, len(item.names)) == 0
    item_code, label_code = item.codes[row], label.codes
    # One number per pair; 64 bits, since items times labels may be more than 32 bits hold.
    pair = item_code.astype(np.int64) * len(label.names) + label_code
    refuse_repeats(pair, row + 1, "(item, label) pair", "the consensus")
    items, labels = item.names.cast(pa.string()), label.names.cast(pa.string())
    names = items.take(pa.array(item_code)), labels.take(pa.array(label_code))
    return Listed(items, *names, probability, present, settled, told, by_reference, items.filter(pa.array(told_items)))


def _told_by(table: pa.Table) -> tuple[Mask, Mask]:
    """(n_rows,) what the consensus was told, and what of it by the reference."""
    if TOLD not in table.column_names:
        return np.zeros(table.num_rows, dtype=bool), np.zeros(table.num_rows, dtype=bool)
    said = table[TOLD].cast(pa.string())
    # A spreadsheet may have made a fraction of it.
    by_reference = pc.fill_null(pc.is_in(said, pa.array([f"{BY_REFERENCE}", f"{BY_REFERENCE}.0"])), False)
    told = tables.parse_values(pc.if_else(by_reference, "1", said), TOLD).codes > 0
    return told, by_reference.to_numpy()


def _probabilities(table: pa.Table) -> Floats:
    """The column of probabilities, each from 0 to 1."""
    name = "probability"
    if name not in table.column_names:
        raise ColumnError(
            f"a consensus must have the column {name!r}; the columns are {', '.join(table.column_names)}. "
            "Use what `amcc consensus` writes."
        )
    return shares_in(table[name], name)


def _distinct(*names: pa.Array) -> pa.Array:
    """All names once, in alphabetical order: results must not depend on the order of rows."""
    distinct = pc.unique(pa.concat_arrays(names))
    return distinct.take(pc.sort_indices(distinct))
