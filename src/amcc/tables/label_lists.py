"""Columns with one list of labels per row: real lists, or text like `dog|cat`.

A missing cell is an answer that was not given; an empty list says that no label applies. Text cannot tell the two
apart: there, an empty cell is an empty list.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc.arrays import Ints, Mask
from amcc.errors import ColumnError, ParameterError
from amcc.tables.arrow_types import Column, any_true, first_true, is_list, is_text, value_type, without_views
from amcc.tables.coded import checked_text
from amcc.tables.ids_to_codes import Ids, encode_ids


@dataclass(frozen=True)
class LabelLists:
    """A list-valued column: the labels of all rows behind each other, and where each row's begin.

    labels : the entries; start : (n_rows + 1,); missing : (n_rows,) where there is no list at all
    """

    labels: Ids
    start: Ints
    missing: Mask

    @property
    def row(self) -> Ints:
        """The row that each entry of `labels` belongs to."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


def encode_lists(column: Column, name: str, separator: str | None) -> LabelLists:
    """Codes of a column of label lists, real ones or text joined by `separator` (default: `|`).

    >>> lists = encode_lists(pa.array(["dog|cat", "", "dog"]), "labels", None)
    >>> lists.labels.codes.tolist(), lists.start.tolist()
    ([1, 0, 1], [0, 2, 2, 3])
    """
    column = _contiguous(column)
    if is_text(column.type):
        column = _split(column, name, separator)
    if not is_list(column.type):
        raise ColumnError(
            f"column {name!r} must hold one list of labels per row; it holds {column.type}. For one label per row "
            "call the column 'label' (command line: --columns label=your_column)."
        )
    start = _list_starts(column)  # of rows: errors about an entry must name its row
    return LabelLists(
        encode_ids(pc.list_flatten(column), "label", name, start), start, np.asarray(pc.is_null(column))
    )  # fmt: skip


def _list_starts(lists: pa.Array) -> Ints:
    """(n_rows + 1,) where each row's entries begin among those of all; a missing list has none."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0))
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _split(column: pa.Array, name: str, separator: str | None) -> pa.Array:
    """Text cells like `dog|cat` as lists; the empty text is the empty list."""
    column = checked_text(column, name)
    if separator == "":
        raise ParameterError("label_separator must not be empty; leave it out for '|'.")
    if separator is None:
        separator = "|"
        _refuse_other_separators(column, name)
    # Names in lists are trimmed, unlike others: people write "dog | cat", and cannot mean the spaces.
    lists = pc.split_pattern(column, separator)
    entries = pc.utf8_trim_whitespace(pc.list_flatten(lists))
    # Empty entries ("dog||cat", a "|" at the end) name no label; without them, rows begin earlier.
    kept = np.asarray(pc.not_equal(entries, ""))
    row_start = np.concatenate([[0], np.cumsum(kept)])[_list_starts(lists)]
    return pa.LargeListArray.from_arrays(
        pa.array(row_start, pa.int64()), entries.filter(pa.array(kept)), mask=pc.is_null(column)
    )


def _refuse_other_separators(column: pa.Array, name: str) -> None:
    """Where no cell has a '|', a ';' or ',' is probably the separator: one label "dog,cat" would be a silent error."""
    if any_true(pc.match_substring(column, "|")):
        return
    for other in (";", ","):
        found = pc.match_substring(column, other)
        if any_true(found):
            raise ColumnError(
                f"label lists are separated by '|' unless told otherwise; column {name!r} has no '|' but "
                f"{column[first_true(found)].as_py()!r} in row {first_true(found) + 1}. Say label_separator={other!r} "
                f"(command line: --label-separator {other!r}), or '|' if this is one label."
            )


def _contiguous(column: Column) -> pa.Array:
    """One array without a dictionary; text may be longer than 2 GB, hence the large type."""
    column = without_views(column)
    kind = value_type(column)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if pa.types.is_dictionary(column.type):
        chunks = [chunk.dictionary_decode() for chunk in chunks]
    if is_text(kind) or pa.types.is_null(kind):
        chunks = [chunk.cast(pa.large_string()) for chunk in chunks]
    return pa.concat_arrays(chunks) if chunks else pa.array([], kind)
