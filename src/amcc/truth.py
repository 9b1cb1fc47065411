"""Known truth, which may cover all pairs, only some items, or only some (item, label) pairs.

Three tables are known: what is true (item, label), which covers the items that it mentions; label sets (item, labels),
which also know items without any label; and yes and no (item, label, truth), which covers its rows. A table first
becomes a `Statement`, which knows its rows for messages; `Truth` is what statements say together, by name. Names are
text here: ids that one file holds as numbers and another as text are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from amcc import tables
from amcc.arrays import Ints, Mask, Signs
from amcc.errors import ColumnError, ConflictError, EmptyInputError, InputError, ParameterError, VoteValueError
from amcc.memory import check_size
from amcc.tables import a_few, text_of
from amcc.votes import Unmentioned, Votes

# Names of a column that says yes and no, in tables of truth only: tables of votes use those of `tables.ALIASES`.
VERDICTS = ("truth", "is_true", "true", "gold", "ground_truth")

# Columns by which a consensus says what it was told, in tables of pairs and of sets; they are there only where
# something was told. `evaluation.read_consensus` reads them again.
TOLD, TOLD_LABELS = "told", "told_labels"
# What the column of pairs says: 0 found out, 1 known truth, 2 taken from workers who are the reference.
BY_TRUTH, BY_REFERENCE = 1, 2

# What a pair takes while it is compared: its key, what is true, known and predicted, its score, and their ranks.
SCORE_BYTES = 64


@dataclass(frozen=True)
class PairList:
    """(item, label) pairs by name, as text: ids that one file holds as numbers and another as text are the same."""

    item: pa.Array
    label: pa.Array

    def keys(self, item_names: pa.Array, label_names: pa.Array) -> Ints:
        """Pairs as item code · n_labels + label code; pairs outside the vocabularies are left out."""
        # 64 bits wide: the product of two codes does not fit in 32.
        item = positions(self.item, item_names)
        label = positions(self.label, label_names)
        inside = (item >= 0) & (label >= 0)
        return item[inside] * len(label_names) + label[inside]

    def where(self, chosen: Mask) -> PairList:
        """The pairs that a mask chooses."""
        mask = pa.array(chosen)
        return PairList(self.item.filter(mask), self.label.filter(mask))

    def among(self, others: PairList) -> Mask:
        """(n_pairs,) which of them are also in another list."""
        # Codes of our own names: what the other list names besides cannot match and is left out.
        items, labels = pc.unique(self.item), pc.unique(self.label)
        return np.isin(self.keys(items, labels), others.keys(items, labels))

    def named(self, place: int) -> str:
        """One of them, for messages."""
        return f"item {self.item[place].as_py()!r}, label {self.label[place].as_py()!r}"


@dataclass(frozen=True)
class Statement:
    """What a table says about (item, label) pairs.

    Parameters
    ----------
    items : the items that it mentions.
    pairs : one for each row, or for each entry of a list.
    sign : (n_pairs,) +1 for yes, −1 for no, 0 where the cell is blank.
    row : (n_pairs,) rows of the table, from 1.
    only_yes : whether it lists what is present, so that it has no way to say no.
    """

    items: pa.Array
    pairs: PairList
    sign: Signs
    row: Ints
    only_yes: bool

    @classmethod
    def from_frame(cls, frame: Any) -> Statement:
        """Read a table item, label, which may have a column that says yes and no, or item, labels with lists."""
        names = tables.column_names(frame)
        _refuse_workers(names)
        columns = tables.read_columns(
            frame, _verdict(names), needed=("item", "label"), roles=("item", "label", "labels", "value")
        )
        item, roles = columns.ids("item"), columns.roles
        only_yes = columns.has("labels") or not columns.has("value")
        if only_yes:
            _refuse_unread_no(frame, [name for name in names if name not in (roles["item"], roles.get("label"))])
        if columns.has("labels"):
            lists = columns.lists("labels")
            given = np.flatnonzero(~lists.missing)
            # Two lists of one item may differ, and which of them is true cannot be known.
            refuse_repeats(item.codes[given], given + 1, "item", "a truth with lists of labels")
            row, label, mentioned = lists.row, lists.labels, item.codes[given]
        else:
            row, label, mentioned = np.arange(columns.table.num_rows), columns.ids("label"), item.codes
        sign = np.ones(len(row), np.int8)
        if not only_yes:
            sign = tables.parse_values(columns.cells("value"), roles["value"]).codes
        pairs = PairList(text_of(item.names, item.codes[row]), text_of(label.names, label.codes))
        _refuse_contradictions(item.codes[row].astype(np.int64) * len(label.names) + label.codes, sign, row + 1, pairs)
        return cls(text_of(item.names, np.unique(mentioned)), pairs, sign, row + 1, only_yes)

    @property
    def said(self) -> PairList:
        """The pairs of which it says yes or no."""
        return self.pairs.where(self.sign != 0)


@dataclass(frozen=True)
class Truth(tables.Tabular):
    """True pairs, and what they cover.

    Parameters
    ----------
    positives : the pairs that are true.
    known_items : items of which all is known: other labels are absent there. Default: the items of `positives`.
    known_pairs : the pairs of which it is known whether they are true.
    unmentioned : "unknown", or "absent" where the truth covers everything: other pairs are absent.

    Read it with `amcc.read_truth` or `from_frames`, which also know items that have no label.
    """

    positives: PairList
    known_items: pa.Array | None = None
    known_pairs: PairList | None = None
    unmentioned: Unmentioned = "unknown"

    def __post_init__(self) -> None:
        if self.unmentioned not in get_args(Unmentioned):
            raise ParameterError(f"unmentioned must be 'absent' or 'unknown'; got {self.unmentioned!r}.")
        given = (self.known_items is not None) + (self.known_pairs is not None) + (self.unmentioned == "absent")
        if given > 1:
            raise ParameterError(
                "truth covers known items or known pairs, or everything (unmentioned='absent'); give one, not both."
            )
        if not given:  # the class is frozen, hence by way of `object`
            object.__setattr__(self, "known_items", pc.unique(self.positives.item))

    @classmethod
    def from_frames(
        cls,
        truth: Any,
        *,
        known_items: Any | None = None,
        known_pairs: Any | None = None,
        unmentioned: Unmentioned = "unknown",
    ) -> Truth:
        """Read tables with columns item and label (`known_items`: item only).

        Parameters
        ----------
        truth
            *Pairs*: item, label lists what is true. *Sets*: item, labels (lists, or text joined by `|`) also knows
            items without any label. Both cover the items that they mention, completely. *Yes and no*: item, label,
            truth (or value, present …) covers the pairs of its rows; a blank cell is unknown.
        known_items, known_pairs
            Tables of what the truth covers, where that is something else.
        unmentioned : "unknown" or "absent"
            With "absent" it covers everything: what it does not mention is not there.
        """
        return cls.from_statements(
            Statement.from_frame(truth),
            None if known_items is None else item_list(known_items),
            None if known_pairs is None else Statement.from_frame(known_pairs),
            unmentioned,
        )

    @classmethod
    def from_statements(
        cls, truth: Statement, known_items: pa.Array | None, known_pairs: Statement | None, unmentioned: Unmentioned
    ) -> Truth:
        """Put together what was read; see `from_frames`."""
        # Blank cells of known pairs say nothing: what is said covers, whether yes or no.
        covered = None if known_pairs is None else known_pairs.said
        # Where nobody says what is covered, the truth's own kind does: lists of what is true speak of whole items.
        if known_items is None and covered is None and unmentioned == "unknown":
            known_items, covered = (truth.items, None) if truth.only_yes else (None, truth.said)
        made = cls(truth.pairs.where(truth.sign > 0), known_items, covered, unmentioned)
        if known_pairs is not None:
            _refuse_other_verdicts(truth, known_pairs)
        made._refuse_blanks(truth)
        return made

    def _refuse_blanks(self, truth: Statement) -> None:
        """A blank cell is unknown: known items, or a truth of everything, must not hold its pair."""
        if self.known_pairs is not None:
            return
        blank = truth.sign == 0
        # Another row may say what a blank one leaves open.
        blank[blank] = ~truth.pairs.where(blank).among(truth.said)
        if self.known_items is not None:
            blank[blank] = positions(truth.pairs.item.filter(pa.array(blank)), self.known_items) >= 0
        if blank.any():
            place = int(blank.argmax())
            raise ConflictError(
                f"a pair that counts as known must have a yes or a no; {truth.pairs.named(place)} is blank in row "
                f"{truth.row[place]}. Fill the cell, or do not say that it is known."
            )

    def items(self) -> list[pa.Array]:
        """Names of the items it speaks of, with repetitions."""
        pairs = self.known_pairs or self.positives
        return [pairs.item if self.known_items is None else self.known_items]

    def labels(self) -> list[pa.Array]:
        """Names of the labels it speaks of, with repetitions."""
        return [self.positives.label] + ([] if self.known_pairs is None else [self.known_pairs.label])

    def to_arrow(self) -> pa.Table:
        """One of the tables that `from_frames` reads: item, label, truth; or item, labels where whole items are known.

        A truth that covers everything is item, label; read it back with unmentioned="absent".
        """
        if self.known_pairs is not None:
            truth = pa.array(self.known_pairs.among(self.positives).astype(np.int8))
            return pa.table({"item": self.known_pairs.item, "label": self.known_pairs.label, "truth": truth})
        if self.known_items is None:
            return pa.table({"item": self.positives.item, "label": self.positives.label})
        labels: dict[str, list[str]] = {item: [] for item in self.known_items.to_pylist()}
        for item, label in zip(self.positives.item.to_pylist(), self.positives.label.to_pylist(), strict=True):
            if item in labels:
                labels[item].append(label)
        return pa.table({"item": list(labels), "labels": pa.array(list(labels.values()), pa.list_(pa.string()))})

    def check_names(self, where: str, *, item: pa.Array, label: pa.Array | None = None) -> None:
        """Raise EmptyInputError if it names items, or labels, and none of them is there: the names are others."""
        for role, said, names in (("item", self.items(), item), ("label", self.labels(), label)):
            named = pc.unique(pa.concat_arrays(said))
            # Some strangers are normal, a truth may cover more than was voted on; nothing but strangers is a slip.
            if names is not None and len(named) and (positions(named, names) < 0).all():
                raise EmptyInputError(
                    f"the truth must name {role}s of {where}; none of its {len(named):,} {role}s is there. It names "
                    f"{a_few(named)}; {where} {a_few(pc.unique(names)) or 'none'}. Write them alike."
                )

    def matrices(self, item_names: pa.Array, label_names: pa.Array) -> tuple[Mask, Mask]:
        """(n_items, n_labels) what is true, and where that is known."""
        shape = len(item_names), len(label_names)
        check_size(
            "what is true of all items and labels",
            "Leave out labels or items that do not matter.",
            *shape,
            cell_bytes=SCORE_BYTES,
        )
        # Every cell of the matrix as a key, row by row.
        keys = np.arange(len(item_names) * len(label_names))
        true, known = self.lookup(keys, item_names, label_names)
        return true.reshape(shape), known.reshape(shape)

    def on_pairs(self, votes: Votes) -> tuple[Mask, Mask]:
        """(n_pairs,) what is true of the asked pairs of `votes`, and where that is known."""
        self.check_names("the votes", item=votes.item_names, label=votes.label_names)
        keys = votes.pairs.item.astype(np.int64) * votes.n_labels + votes.pairs.label
        return self.lookup(keys, votes.item_names, votes.label_names)

    def lookup(self, keys: Ints, item_names: pa.Array, label_names: pa.Array) -> tuple[Mask, Mask]:
        """(n_keys,) what is true of pairs item code · n_labels + label code, and where that is known."""
        # A pair outside of what is known is "not true" here as well: whoever uses `true` must look at `known`.
        true = np.isin(keys, self.positives.keys(item_names, label_names))
        if self.known_pairs is not None:
            known = np.isin(keys, self.known_pairs.keys(item_names, label_names))
        elif self.known_items is not None:
            # Per item first, then per key: keys may be many millions, items are fewer.
            item_known = np.isin(np.arange(len(item_names)), positions(self.known_items, item_names))
            known = item_known[keys // max(len(label_names), 1)]
        else:
            known = np.ones(len(keys), dtype=bool)
        return true, known


def item_list(frame: Any) -> pa.Array:
    """Distinct items of a table, as text."""
    return text_of(tables.read_columns(frame, needed=("item",), roles=("item",)).ids("item").names)


def positions(names: pa.Array, vocabulary: pa.Array) -> Ints:
    """Place of each name in the vocabulary, −1 where it is not there; numbers and text are compared as text.

    >>> positions(pa.array(["7", "x"]), pa.array([5, 7]))
    array([ 1, -1])
    """
    return np.asarray(pc.fill_null(pc.index_in(text_of(names), value_set=text_of(vocabulary)), -1), dtype=np.int64)


# -- what a table of truth must not hold ---------------------------------------------------------------------------


def refuse_repeats(key: npt.NDArray[Any], row: Ints, what: str, where: str) -> None:
    """Raise InputError where a key comes twice; `row` counts from 1."""
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(len(key)))
    if again.size:
        before, now = row[first[inverse[again[0]]]], row[again[0]]
        raise InputError(f"every {what} must stand in {where} once; row {now} repeats row {before}. Drop one.")


def _verdict(names: Iterable[str]) -> dict[str, str]:
    """The column that says yes and no, where it is called as only truth is."""
    found = [name for alias in VERDICTS for name in tables.columns_named((alias,), names)]
    return {"value": found[0]} if found else {}


def _refuse_workers(names: Iterable[str]) -> None:
    """Who said something is in tables of votes only."""
    if workers := tables.columns_named(tables.ALIASES["worker"], names):
        raise ColumnError(
            f"a truth must say what is true, not who said so; column {workers[0]!r} makes this a table of votes. Drop "
            "that column if one worker's answers are the truth; else find it with amcc consensus."
        )


def _refuse_unread_no(frame: Any, unread: Iterable[str]) -> None:
    """In a table of what is present every row is a yes, so that no other column may say no.

    Otherwise a column "checked" or "correct" with a no in it would be ignored, and the row would count as true.
    """
    for name in unread:  # one by one: a column that cannot be converted at all must not stop the others
        try:
            sign = tables.parse_values(_column(frame, name), name).codes
        except InputError:  # it says something else
            continue
        if (sign < 0).any():
            raise VoteValueError(
                f"without a column called 'truth' every row is something true; yet column {name!r} says no in row "
                f"{int((sign < 0).argmax()) + 1}. Call it 'truth' if that is what it says (with one label per row), "
                "or drop it."
            )


def _column(frame: Any, name: str) -> pa.ChunkedArray:
    """One column of a data frame; the others are not looked at."""
    return tables.as_arrow(frame, lambda _: [name])[name]


def _refuse_contradictions(key: Ints, sign: Signs, row: Ints, pairs: PairList) -> None:
    """Of one pair a table must not say both yes and no."""
    both = np.intersect1d(key[sign > 0], key[sign < 0])
    if both.size:
        yes, no = (int(((key == both[0]) & (sign == said)).argmax()) for said in (1, -1))
        raise ConflictError(
            f"a truth must say yes or no of each pair, not both; {pairs.named(yes)} is a yes in row {row[yes]} and a "
            f"no in row {row[no]}. Drop one of them."
        )


def _refuse_other_verdicts(truth: Statement, known: Statement) -> None:
    """Known pairs must be known: where one of the tables says yes or no, the other must not say something else.

    A table that only lists what is true says no to nothing, so that it cannot differ in a no.
    """
    says_yes = known.pairs.among(truth.pairs.where(truth.sign > 0))
    differs = (known.sign != 0) & (says_yes != (known.sign > 0)) & (not known.only_yes)
    unsaid = (known.sign != 0) & ~known.pairs.among(truth.said) & (not truth.only_yes)
    for wrong, what in ((differs, "has another value in the truth"), (unsaid, "has neither yes nor no in the truth")):
        if wrong.any():
            place = int(wrong.argmax())
            raise ConflictError(
                f"known pairs must agree with the truth; {known.pairs.named(place)} (row {known.row[place]} of the "
                f"known pairs) {what}. Correct one of the two tables."
            )
