"""Questions about Arrow types and masks that Arrow itself answers only piece by piece.

Arrow stores text, lists and encoded columns in several ways (plain, large, view, dictionary, run-end). A reader must
take them all: which one a column has depends on the program that wrote the file.
"""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Column: TypeAlias = pa.ChunkedArray | pa.Array


def value_type(column: Column) -> pa.DataType:
    """What the cells are, however they are encoded.

    >>> value_type(pa.array(["a", "a"]).dictionary_encode())
    DataType(string)
    """
    encoded = pa.types.is_dictionary(column.type) or pa.types.is_run_end_encoded(column.type)
    return column.type.value_type if encoded else column.type


def is_text(kind: pa.DataType) -> bool:
    """Whether it is text, however it is stored."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether each cell is a list, however it is stored.

    >>> is_list(pa.list_(pa.string())), is_list(pa.string())
    (True, False)
    """
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind)
    )  # fmt: skip


def is_number(kind: pa.DataType) -> bool:
    """Whether each cell is a number; true and false are none."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_moment(kind: pa.DataType) -> bool:
    """Whether each cell is a date or a time that can be put in order; calendar intervals cannot."""
    return bool(pa.types.is_temporal(kind) and not pa.types.is_interval(kind))


def without_views(column: Column) -> Column:
    """The column in an encoding that all of Arrow's functions take."""
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    if pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):
        return column.cast(pa.dictionary(pa.int32(), pa.large_string()))
    return column


def any_true(mask: pa.Array) -> bool:
    """Whether the mask holds anywhere."""
    return bool(pc.any(mask).as_py())


def first_true(mask: pa.Array) -> int:
    """Where the mask holds first, −1 if nowhere."""
    return int(pc.index(mask, True).as_py())
