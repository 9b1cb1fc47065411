"""Times: read only to know which of two contradicting votes came last.

So only the order of times matters, and it must be exact: two times that a float cannot tell apart would let the wrong
vote count. Numbers with all their digits, dates, and ISO 8601 text are read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from amcc.errors import InputError
from amcc.tables.arrow_types import Column, is_moment, is_number, is_text, value_type
from amcc.tables.coded import by_distinct_cells
from amcc.tables.ids_to_codes import EXACT


def encode_times(column: Column, name: str) -> npt.NDArray[Any]:
    """(n_rows,) integers that order the rows by time; text is read as a number or as ISO 8601.

    >>> encode_times(pa.array(["2024-05-31T12:00:00", "2023-01-01T00:00:00"]), "time").tolist()
    [2, 1]
    """
    kind = value_type(column)
    if not (is_number(kind) or is_text(kind) or is_moment(kind)):
        raise InputError(f"column {name!r} must hold times; it holds {kind}. Drop it to go by the order of rows.")
    coded, names = by_distinct_cells(column, name)
    times = _parsed_times(names) if is_text(kind) else names
    numbers = np.asarray(times).astype(np.float64) if pa.types.is_floating(kind) else np.empty(0)
    if (large := np.abs(numbers) >= EXACT).any():
        code = int(large.argmax())
        raise InputError(
            f"times must be exact; column {name!r} has {names[code].as_py()!r} in row {coded.first_row(code)}, which "
            "may be rounded. Give whole numbers without missing cells, or text."
        )
    missing = np.asarray(pc.is_null(times, nan_is_null=True))
    if missing.any():
        code = int(missing.argmax())
        raise InputError(
            f"every row must have a time, a number or like 2024-05-31T12:00:00; column {name!r} has "
            f"{names[code].as_py()!r} in row {coded.first_row(code)}. Drop the column to go by the order of rows."
        )
    if pa.types.is_float16(times.type):
        times = times.cast(pa.float32())  # Arrow cannot rank halves
    return coded.translated(pc.rank(times, tiebreaker="dense").to_numpy()).codes


def _parsed_times(names: pa.Array) -> pa.Array:
    """Distinct times that were text; all missing if they cannot be read in one way."""
    words = pc.utf8_trim_whitespace(names)
    # One way for the whole column, the strictest first: a float would round the nanoseconds that an integer holds.
    for kind in (pa.int64(), pa.float64(), pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
        try:
            times = words.cast(kind)
        except pa.ArrowInvalid:
            continue
        return _exact(words, times) if kind == pa.float64() else times
    return pa.nulls(len(names))


def _exact(words: pa.Array, numbers: pa.Array) -> pa.Array:
    """Written numbers with all their digits (seconds with nine decimals have more than a float), if they fit."""
    largest = pc.max(pc.abs(numbers)).as_py()
    if largest is None or not largest < 1e19:  # beyond, Arrow does not see that its decimals overflow
        return numbers
    try:
        return words.cast(pa.decimal128(38, 18))  # 38 digits are the most; 18 of them hold an attosecond
    except pa.ArrowInvalid:  # more than 18 decimals, or no number
        return numbers
