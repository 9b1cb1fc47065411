"""Soft truth: for some (item, label) pairs, the share of people who say yes.

Where people disagree for good reasons, a share is all there is to know. It is read from a table item, label, share, or
counted from the votes of other people than those who are judged by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from amcc import tables
from amcc.arrays import Floats
from amcc.errors import ColumnError, EmptyInputError, InputError
from amcc.truth import PairList, refuse_repeats
from amcc.votes import Votes

# Names of the column that holds the share.
SHARES = ("share", "soft", "soft_label", "yes_share")


@dataclass(frozen=True)
class SoftTruth(tables.Tabular):
    """Pairs by name, and (n_pairs,) the share of people who say yes to each.

    Read it with `amcc.io.read_soft_truth`, or make it from a data frame or from votes.
    """

    pairs: PairList
    share: Floats

    def to_arrow(self) -> pa.Table:
        """Table item, label, share."""
        return pa.table({"item": self.pairs.item, "label": self.pairs.label, "share": self.share})

    @classmethod
    def from_frame(cls, frame: Any) -> SoftTruth:
        """Read a table item, label, share, or the votes of other people: worker, item, label, value.

        >>> soft = SoftTruth.from_frame(pa.table({"item": [1, 1], "label": ["cat", "dog"], "share": [0.75, 0.0]}))
        >>> soft.pairs.named(0), soft.share
        ("item '1', label 'cat'", array([0.75, 0.  ]))
        """
        names = tables.column_names(frame)
        if tables.columns_named(tables.ALIASES["worker"], names):
            return cls.from_votes(Votes.from_frame(frame))
        found = tables.columns_named(SHARES, names)
        if len(found) != 1:
            raise ColumnError(
                "a soft truth must have one column 'share', or be a table of votes with a column 'worker'; the "
                f"columns are {', '.join(names)}."
            )
        columns = tables.read_columns(frame, needed=("item", "label"), roles=("item", "label"))
        if columns.table.num_rows == 0:
            raise EmptyInputError("a soft truth must hold at least one row; it has none.")
        item, label = columns.ids("item"), columns.ids("label")
        key = item.codes.astype(np.int64) * len(label.names) + label.codes
        refuse_repeats(key, np.arange(1, len(key) + 1), "(item, label) pair", "a soft truth")
        pairs = PairList(*(tables.text_of(ids.names, ids.codes) for ids in (item, label)))
        return cls(pairs, shares_in(tables.as_arrow(frame, lambda _: found)[found[0]], found[0]))

    @classmethod
    def from_votes(cls, votes: Votes) -> SoftTruth:
        """The share of yes among these votes, pair by pair."""
        item = tables.text_of(votes.item_names, votes.pairs.item)
        label = tables.text_of(votes.label_names, votes.pairs.label)
        return cls(PairList(item, label), votes.n_yes / votes.pairs.n_votes)


def shares_in(column: pa.ChunkedArray, name: str) -> Floats:
    """(n_rows,) the numbers of a column, which must lie between 0 and 1; a missing cell is none."""
    try:
        # Text files are read as dictionaries of text, which Arrow does not cast to numbers directly.
        cells = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        numbers = np.asarray(cells.cast(pa.float64()).to_numpy())
    except pa.ArrowException as error:
        raise InputError(f"column {name!r} must hold numbers ({error}).") from None
    # Not NaN < 0 or NaN > 1, which are both false: what does not lie between is refused.
    bad = ~((numbers >= 0) & (numbers <= 1))
    if bad.any():
        raise InputError(
            f"column {name!r} must lie between 0 and 1; row {int(bad.argmax()) + 1} has {numbers[bad.argmax()]}."
        )
    return numbers
