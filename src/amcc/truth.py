"""Known truth, which may cover all pairs, only some items, or only some (item, label) pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from amcc import tables
from amcc.errors import ParameterError
from amcc.memory import check_size
from amcc.votes import Votes

Mask = npt.NDArray[np.bool_]

SCORE_BYTES = 64
"""What a pair takes while it is compared: its key, what is true, known and predicted, its score, and their ranks."""


@dataclass(frozen=True)
class PairList:
    """(item, label) pairs by name, as text: ids that one file holds as numbers and another as text are the same."""

    item: pa.Array
    label: pa.Array

    @classmethod
    def from_frame(cls, frame: Any, *, only_present: bool = False) -> PairList:
        """Read a table item, label, or item, labels with lists.

        A column of votes (value, present …) may stand beside the label: blank rows are left out, and with
        `only_present` those that say no.
        """
        table, roles = tables.read_columns(frame, needed=("item", "label"), roles=("item", "label", "labels", "value"))
        item = tables.encode_ids(table[roles["item"]], "item", roles["item"])
        if "labels" in roles:
            lists = tables.encode_lists(table[roles["labels"]], roles["labels"], None)
            item_code, label = item.codes[lists.row], lists.labels
        else:
            item_code, label = item.codes, tables.encode_ids(table[roles["label"]], "label", roles["label"])
        label_code = label.codes
        if "value" in roles and "labels" not in roles:
            value = tables.parse_values(table[roles["value"]], roles["value"]).codes
            kept = value > 0 if only_present else value != 0
            item_code, label_code = item_code[kept], label_code[kept]
        return cls(_text(item.names).take(pa.array(item_code)), _text(label.names).take(pa.array(label_code)))

    def keys(self, item_names: pa.Array, label_names: pa.Array) -> npt.NDArray[np.int64]:
        """Pairs as item code · n_labels + label code; pairs outside the vocabularies are left out."""
        item = positions(self.item, item_names)
        label = positions(self.label, label_names)
        inside = (item >= 0) & (label >= 0)
        return item[inside] * len(label_names) + label[inside]


@dataclass(frozen=True)
class Truth:
    """True pairs, and what they cover: everything, `known_items` completely, or `known_pairs` only."""

    positives: PairList
    known_items: pa.Array | None = None
    known_pairs: PairList | None = None

    def __post_init__(self) -> None:
        if self.known_items is not None and self.known_pairs is not None:
            raise ParameterError("truth covers known items or known pairs; give one of them, not both.")

    @classmethod
    def from_frames(cls, truth: Any, *, known_items: Any | None = None, known_pairs: Any | None = None) -> Truth:
        """Read tables with columns item and label (`known_items`: item only); see `PairList.from_frame`."""
        return cls(
            PairList.from_frame(truth, only_present=True),
            None if known_items is None else item_list(known_items),
            None if known_pairs is None else PairList.from_frame(known_pairs),
        )

    def items(self) -> list[pa.Array]:
        """Names of the items it speaks of, with repetitions."""
        pairs = self.known_pairs or self.positives
        return [pairs.item if self.known_items is None else self.known_items]

    def labels(self) -> list[pa.Array]:
        """Names of the labels it speaks of, with repetitions."""
        return [self.positives.label] + ([] if self.known_pairs is None else [self.known_pairs.label])

    def matrices(self, item_names: pa.Array, label_names: pa.Array) -> tuple[Mask, Mask]:
        """(n_items, n_labels) what is true, and where that is known."""
        shape = len(item_names), len(label_names)
        check_size(
            "what is true of all items and labels",
            "Leave out labels or items that do not matter.",
            *shape,
            cell_bytes=SCORE_BYTES,
        )
        keys = np.arange(len(item_names) * len(label_names))
        true, known = self._lookup(keys, item_names, label_names)
        return true.reshape(shape), known.reshape(shape)

    def on_pairs(self, votes: Votes) -> tuple[Mask, Mask]:
        """(n_pairs,) what is true of the asked pairs of `votes`, and where that is known."""
        keys = votes.pairs.item.astype(np.int64) * votes.n_labels + votes.pairs.label
        return self._lookup(keys, votes.item_names, votes.label_names)

    def _lookup(self, keys: npt.NDArray[np.int64], item_names: pa.Array, label_names: pa.Array) -> tuple[Mask, Mask]:
        true = np.isin(keys, self.positives.keys(item_names, label_names))
        if self.known_pairs is not None:
            known = np.isin(keys, self.known_pairs.keys(item_names, label_names))
        elif self.known_items is not None:
            item_known = np.isin(np.arange(len(item_names)), positions(self.known_items, item_names))
            known = item_known[keys // max(len(label_names), 1)]
        else:
            known = np.ones(len(keys), dtype=bool)
        return true, known


def item_list(frame: Any) -> pa.Array:
    """Distinct items of a table, as text."""
    table, roles = tables.read_columns(frame, needed=("item",), roles=("item",))
    return _text(tables.encode_ids(table[roles["item"]], "item", roles["item"]).names)


def _text(names: pa.Array) -> pa.Array:
    return names.cast(pa.string())


def positions(names: pa.Array, vocabulary: pa.Array) -> npt.NDArray[np.int64]:
    """Place of each name in the vocabulary, −1 where it is not there."""
    found = pc.fill_null(pc.index_in(_text(names), value_set=_text(vocabulary)), -1)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)
