"""Votes that do not come as rows of one table: three-way arrays, and one frame per label.

Both are made what the other readers know: codes, or one long table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc import tables
from amcc.arrays import Ints, Mask
from amcc.errors import EmptyInputError, IdError, ParameterError, VoteValueError
from amcc.tables import Zero

AXES = ("worker", "item", "label")


class DenseVotes(NamedTuple):
    """Votes of a three-way array: codes of each, its value, and the size of each axis, in the order of `AXES`."""

    codes: Mapping[str, Ints]
    value: Ints
    sizes: Mapping[str, int]


def dense_votes(array: npt.ArrayLike, axes: Sequence[str] = AXES) -> DenseVotes:
    """Read a three-way array of −1, 0, 1 with 0 = not asked, or of 0, 1 and NaN with NaN = not asked.

    >>> dense_votes([[[1, 0]], [[-1, 1]]]).value
    array([ 1, -1,  1])
    """
    if sorted(axes) != sorted(AXES):
        raise ParameterError(f"axes must name worker, item and label once each; got {tuple(axes)}.")
    try:
        dense = np.asarray(array)
    except ValueError:
        raise ParameterError(f"a dense array must have three axes {tuple(axes)}; got ragged lists.") from None
    if dense.dtype == bool:  # true and false leave no way to say "not asked"
        raise VoteValueError(
            "a dense array must say which questions were not asked; got only true and false. Use 1 for yes, -1 for "
            "no and 0 for not asked: np.where(array, 1, -1) if all were asked."
        )
    if dense.ndim != 3:
        raise ParameterError(f"a dense array must have three axes {tuple(axes)}; got shape {dense.shape}.")
    dense = np.transpose(dense, [list(axes).index(role) for role in AXES])
    asked = _asked(dense)
    codes = dict(zip(AXES, np.nonzero(asked), strict=True))
    sizes = dict(zip(AXES, dense.shape, strict=True))
    return DenseVotes(codes, np.where(dense[asked] > 0, 1, -1), sizes)


def _asked(dense: npt.NDArray[Any]) -> Mask:
    """Where a question was asked. With a NaN anywhere, NaN is "not asked" and 0 is "no"; else 0 is "not asked"."""
    missing = np.isnan(dense) if dense.dtype.kind == "f" else np.zeros(dense.shape, dtype=bool)
    # One convention per array: 0 would mean "no" in one cell and "not asked" in the next.
    with_nan = bool(missing.any())
    strange = ~missing & ~np.isin(dense, (0, 1) if with_nan else (-1, 0, 1))
    if strange.any():
        place = np.argwhere(strange)[0]
        raise VoteValueError(
            f"a dense array must hold {'0, 1 and NaN (not asked)' if with_nan else '-1, 0 (not asked) and 1'}"
            f"; got {dense[tuple(place)]!r} at worker {place[0]}, item {place[1]}, label {place[2]}."
        )
    return ~missing if with_nan else np.asarray(dense != 0)


def long_from_wide(frames: Any, threshold: float | None, zero: Zero | None) -> tuple[pa.Table, pa.Array]:
    """A long table worker, item, label, value (+1, −1, 0 = not asked) from one frame per label, and the labels.

    frames : a mapping label → frame with one row per item and one column per worker, as cleanlab has them.
    """
    if not isinstance(frames, Mapping):
        raise ParameterError(f"frames must be a mapping label → frame; got {type(frames).__name__}.")
    labels = tables.vocabulary_of(frames, "label")
    pieces: list[pa.Table] = []
    for label, frame in zip(labels.to_pylist(), frames.values(), strict=True):
        table = tables.as_arrow(frame)
        indexed = hasattr(frame, "index") and hasattr(frame, "iloc")  # pandas, which alone names its rows
        items = tables.vocabulary_of(frame.index if indexed else range(table.num_rows), "item")
        # Row numbers of one frame and names of another would silently become different items.
        if pieces and pieces[0]["item"].type != items.type:
            raise IdError(
                f"items must be named alike in all frames; those of label {label!r} are {items.type}, those before "
                f"are {pieces[0]['item'].type}. Give the frames the same index."
            )
        for worker in table.column_names if len(items) else ():
            value = tables.parse_values(table[worker], worker, threshold=threshold, zero=zero).codes
            same = {role: _constant(name, len(items)) for role, name in (("worker", worker), ("label", label))}
            pieces.append(pa.table({**same, "item": items, "value": value}))
    if not pieces:
        # Frames without rows or columns are fine beside others: a label that nobody was asked about.
        raise EmptyInputError("there must be a frame with a row and a worker's column; there is none.")
    return pa.concat_tables(pieces), labels


def _constant(name: Any, n_rows: int) -> pa.DictionaryArray:
    """A column that says the same in every row."""
    return pa.DictionaryArray.from_arrays(np.zeros(n_rows, np.int32), pa.array([name]))
