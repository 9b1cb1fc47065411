"""A column as integers: Arrow's own indices, and small tables that translate them.

Arrow finds the distinct cells of a column; every later step (sorting names, reading yes and no) only changes the
small table from index to meaning. The rows themselves are touched once, in pieces, when votes are packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from amcc.arrays import Ints, Mask
from amcc.errors import InputError
from amcc.tables.arrow_types import Column, is_text, without_views
from amcc.threads import in_threads

# Rows handled at a time: temporaries of this size (1 MB of 64-bit numbers) stay in the processor's cache.
PIECE_ROWS = 1 << 17


class Piece(NamedTuple):
    """Some rows of a column, not yet translated: raw indices, and the table to look them up in."""

    raw: npt.NDArray[Any]
    table: npt.NDArray[Any] | None

    def codes(self) -> npt.NDArray[Any]:
        """The translated codes."""
        return self.raw if self.table is None else self.table.take(self.raw)


@dataclass(frozen=True)
class Coded:
    """A column as integers, batch by batch, with the table that translates each batch (None: as they are).

    A hundred million rows are never translated all at once unless somebody asks for `codes`. Where each row is a list
    and the codes are those of its entries, `list_start` says where each list begins.

    >>> column = Coded(((np.array([0, 1, 0]), np.array([5, 7])),))
    >>> column.codes, column.first_row(7), column.translated(np.arange(10) * 10).codes
    (array([5, 7, 5]), 2, array([50, 70, 50]))
    """

    batches: tuple[tuple[npt.NDArray[Any], npt.NDArray[Any] | None], ...]
    list_start: Ints | None = None

    @classmethod
    def of(cls, codes: npt.NDArray[Any]) -> Coded:
        """Wrap codes that need no translation."""
        return cls(((codes, None),))

    def __len__(self) -> int:
        return sum(len(raw) for raw, _ in self.batches)

    def pieces(self) -> Sequence[Piece]:
        """The column at most `PIECE_ROWS` rows at a time, cut at the ends of batches."""
        return [
            Piece(raw[begin : begin + PIECE_ROWS], table)
            for raw, table in self.batches
            for begin in range(0, len(raw), PIECE_ROWS)
        ]

    @cached_property
    def codes(self) -> npt.NDArray[Any]:
        """All rows at once."""
        pieces = [piece.codes() for piece in self.pieces()]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces) if pieces else np.empty(0, np.int32)

    def first_row(self, code: int) -> int:
        """The row, counted from 1, where `code` first stands."""
        before = 0
        for piece in self.pieces():
            if (found := piece.codes() == code).any():
                place = before + int(found.argmax())
                starts = self.list_start
                # Of lists, the place is that of an entry: its row is the last list that begins at or before it.
                return place + 1 if starts is None else int(np.searchsorted(starts, place, side="right"))
            before += len(piece.raw)
        raise KeyError(code)

    def translated(self, position: npt.NDArray[Any]) -> Coded:
        """The same rows with position[code] in place of each code: only the small tables change."""
        batches = tuple((raw, position if table is None else position[table]) for raw, table in self.batches)
        return replace(self, batches=batches)


def by_distinct_cells(column: Column, name: str) -> tuple[Coded, pa.Array]:
    """A column as codes into its distinct cells, in order of appearance; a missing cell has a code, too.

    Cells of a column that came encoded may be there more than once, because each chunk has a dictionary of its own.
    """
    column = without_views(column)
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    encoded_here = not pa.types.is_dictionary(column.type)
    if encoded_here:
        column = column.dictionary_encode(null_encoding="encode")
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    if encoded_here and chunks:  # then all chunks share one dictionary, and every entry is in use
        names = checked_text(chunks[-1].dictionary, name)
        return Coded(tuple((chunk.indices.to_numpy(), None) for chunk in chunks)), names
    # Dictionaries that came with the file may hold names that no row uses; they must not become items or workers.
    used_parts = in_threads(lambda number: _used_part(chunks[number]), len(chunks))
    batches, n_names = [], 0
    for raw, used, dictionary in used_parts:
        # Entries in use are counted from where those of the chunks before end.
        batches.append((raw, np.cumsum(used, dtype=np.int32) - 1 + n_names))
        n_names += len(dictionary)
    names = pa.concat_arrays([part[2] for part in used_parts]) if used_parts else pa.array([], pa.string())
    return Coded(tuple(batches)), checked_text(names, name)


def _used_part(chunk: pa.DictionaryArray) -> tuple[npt.NDArray[Any], Mask, pa.Array]:
    """Indices of a chunk, which entries of its dictionary they use, and those entries.

    Entries that a filter left without a row do not count; a missing cell becomes an entry of its own.
    """
    indices, dictionary = chunk.indices, chunk.dictionary
    if indices.null_count:  # as int64: the new index may not fit the type that the others have
        indices = pc.fill_null(indices.cast(pa.int64()), len(dictionary))
        dictionary = pa.concat_arrays([dictionary, pa.nulls(1, dictionary.type)])
    raw = np.asarray(indices)
    used = np.bincount(raw, minlength=len(dictionary)) > 0  # twice as fast as to set flags
    return raw, used, dictionary.filter(pa.array(used))


def checked_text(cells: pa.Array, name: str) -> pa.Array:
    """The cells, unless some are text in name only, as a damaged file may hold."""
    if is_text(cells.type):
        try:
            cells.validate(full=True)
        except pa.ArrowInvalid as error:
            raise InputError(f"column {name!r} must hold UTF-8 text; it does not ({error}).") from None
    return cells
