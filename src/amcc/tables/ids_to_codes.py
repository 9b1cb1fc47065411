"""The place where a name becomes a code: codes count the names of a vocabulary from 0.

A vocabulary is sorted, unless the user gave it in an order to keep: so codes do not depend on the order of rows. A name
is what stands there, to the last space, wherever it is read: in votes, price lists, lists of items and labels, options.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc.arrays import AnyInts, Codes, Ints, Mask
from amcc.errors import IdError, ParameterError
from amcc.tables.arrow_types import Column, first_true, is_moment, is_text, value_type
from amcc.tables.coded import Coded, by_distinct_cells
from amcc.tables.frames import column_of_objects
from amcc.tables.lookalikes import refuse_slips
from amcc.tables.quoting import listed

# From here on, whole numbers that differ may be the same as floating-point numbers: an id would stand for two items.
EXACT = 2**53


@dataclass(frozen=True)
class Ids:
    """One column of names as integer codes into a vocabulary.

    `coded` knows in which row a code stands first, for messages.
    """

    coded: Coded
    names: pa.Array

    @property
    def codes(self) -> Codes:
        """(n_rows,) all codes at once."""
        return self.coded.codes


def encode_ids(column: Column, role: str, name: str, list_start: Ints | None = None) -> Ids:
    """Codes and sorted vocabulary of an id column, or of the entries of lists; every id must be usable.

    Parameters
    ----------
    role, name : what the ids are of ("worker") and what the column is called, for errors.
    list_start : where each row's list begins, if the column holds the entries of lists.

    >>> ids = encode_ids(pa.array(["bob", "ann", "bob"]), "worker", "worker")
    >>> ids.codes.tolist(), ids.names.to_pylist()
    ([1, 0, 1], ['ann', 'bob'])
    """
    found = distinct_ids(column, role, name, list_start)
    merged = found.names.dictionary_encode()  # equal names of several chunks
    order = pc.sort_indices(merged.dictionary)
    rank = np.empty(len(order), np.int32)
    rank[np.asarray(order)] = np.arange(len(order), dtype=np.int32)
    return Ids(found.coded.translated(rank[np.asarray(merged.indices)]), merged.dictionary.take(order))


def distinct_ids(column: Column, role: str, name: str, list_start: Ints | None = None) -> Ids:
    """The same without sorting: names are in order of appearance, and may be there more than once.

    Enough, and quicker, where only the names themselves are wanted.
    """
    kind = value_type(column)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or is_text(kind) or pa.types.is_null(kind)
            or is_moment(kind)):  # fmt: skip
        raise IdError(
            f"a {role} id must be text or a whole number; column {name!r} holds {kind}. Convert the column to text "
            "first."
        )
    coded, names = by_distinct_cells(column, name)
    coded = replace(coded, list_start=list_start)
    return Ids(coded, _text_or_whole_numbers(names, coded, role, name))


def _sorted_names(names: pa.Array) -> pa.Array:
    return names.take(pc.sort_indices(names))


def _text_or_whole_numbers(names: pa.Array, coded: Coded, role: str, name: str) -> pa.Array:
    """Distinct names as text or int64; `coded` only serves to say in which row a bad one stands."""

    def first_row(bad: Mask) -> int:
        return coded.first_row(int(bad.argmax()))

    def refuse_missing(missing: Mask) -> None:
        if missing.any():
            raise IdError(
                f"every {role} must have a name; column {name!r} is empty in row {first_row(missing)}. "
                "Drop such rows or fill the column before reading."
            )

    if names.null_count:
        refuse_missing(np.asarray(pc.is_null(names)))
    if pa.types.is_integer(names.type):
        # Only an unsigned 64-bit number can be too large for int64.
        return names.cast(pa.int64() if (pc.max(names).as_py() or 0) < 2**63 else pa.string())
    if pa.types.is_floating(names.type):
        # pandas makes floats of whole numbers as soon as one cell of the column is missing.
        numbers = np.asarray(names).astype(np.float64)
        refuse_missing(np.isnan(numbers))
        odd = ~np.isfinite(numbers) | (numbers != np.floor(numbers)) | (np.abs(numbers) >= EXACT)
        if odd.any():
            raise IdError(
                f"a {role} id must be text or a whole number below 2**53 where others have a decimal point; column "
                f"{name!r} has {numbers[odd.argmax()]} in row {first_row(odd)}. Convert the column to text first."
            )
        return pa.array(numbers.astype(np.int64))
    try:
        names = names.cast(pa.string())
    except pa.ArrowInvalid as error:  # a time in a zone that nobody knows
        raise IdError(f"a {role} id must be readable; column {name!r} holds {names.type} ({error}).") from None
    refuse_missing(np.asarray(pc.equal(pc.utf8_trim_whitespace(names), "")))
    return names


def recode(ids: Ids, vocabulary: pa.Array, role: str, name: str) -> Ids:
    """The same ids as codes into a vocabulary that the user fixed; an id outside of it is an error.

    Where one has numbers and the other has text, both are compared as text: 7 is "7".
    """
    names = ids.names
    if names.type != vocabulary.type:
        names, vocabulary = names.cast(pa.string()), vocabulary.cast(pa.string())
    position = pc.index_in(names, value_set=vocabulary)
    if position.null_count:
        # A name that only has another space is worth another message than a stranger.
        refuse_slips(vocabulary, names, role)
        stranger = first_true(pc.is_null(position))
        raise IdError(
            f"column {name!r} has the {role} {names[stranger].as_py()!r} in row {ids.coded.first_row(stranger)}, which "
            f"is not among the {len(vocabulary)} given: {listed(vocabulary[:12].to_pylist())}. Add it to the list or "
            "drop the row."
        )
    return Ids(ids.coded.translated(np.asarray(position).astype(np.int32)), vocabulary)


def vocabulary_of(names: Iterable[Any], role: str) -> pa.Array:
    """Arrow vocabulary from what a caller hands over, in its order; names must be unique, none missing, none mixed."""
    if isinstance(names, str):
        raise ParameterError(f"{role} names must be a list; got the text {names!r}. Put it in a list: [{names!r}].")
    array = names if isinstance(names, pa.Array) else column_of_objects(role, list(names))
    if len(array) == 0:
        return pa.array([], pa.string())
    ids = encode_ids(array, role, role)
    if len(ids.names) < len(array):
        twice = int(ids.codes[np.flatnonzero(np.bincount(ids.codes)[ids.codes] > 1)[0]])
        raise IdError(f"{role} names must be unique; {ids.names[twice].as_py()!r} is there more than once.")
    return ids.names.take(pa.array(ids.codes))


def with_further_names(names: pa.Array, more: Iterable[Any], role: str = "item") -> pa.Array:
    """The vocabulary with further names, sorted; as text where one has numbers and the other has text.

    >>> with_further_names(pa.array(["b", "c"]), ["a", "b"]).to_pylist()
    ['a', 'b', 'c']
    """
    other = vocabulary_of(more, role)
    if len(other) == 0:
        return names
    if len(names) == 0:  # no names are text: they must not make text of the numbers beside them
        return _sorted_names(other)
    if names.type != other.type:
        names, other = names.cast(pa.string()), other.cast(pa.string())
    return _sorted_names(pc.unique(pa.concat_arrays([names, other])))


def text_of(names: pa.Array, codes: AnyInts | None = None) -> pa.Array:
    """The names that codes stand for (default: all), as text: ids that one file holds as numbers are the same there."""
    text = names.cast(pa.string())
    return text if codes is None else text.take(pa.array(codes))
