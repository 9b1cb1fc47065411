"""Data frames in and out: pandas, polars and whatever else narwhals knows become Arrow tables, and back.

Everything behind this file sees Arrow only. Columns that play no role are never converted: a table of votes may carry
texts or images beside the ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import pyarrow as pa

from amcc.errors import ColumnError, IdError, MissingExtraError, ParameterError
from amcc.tables.arrow_types import is_list
from amcc.tables.quoting import listed

Frame = Literal["pandas", "polars", "arrow"]

# What Arrow raises for cells that do not go together, from 2**70 to half a Unicode character.
UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError)


def as_frame(table: pa.Table, frame: Frame) -> Any:
    """An Arrow table as the kind of frame the user wants; polars is imported only for those who have it."""
    if frame == "arrow":
        return table
    if frame == "pandas":
        made = table.to_pandas()
        for column in table.schema:
            if is_list(column.type):
                made[column.name] = table[column.name].to_pylist()  # to_pandas would make arrays of them
        return made
    if frame == "polars":
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtraError(
                f"polars cannot be imported ({error}). Install it: pip install 'amcc[polars]'."
            ) from error
        return pl.from_arrow(table)
    raise ParameterError(f"frame must be 'pandas', 'polars' or 'arrow'; got {frame!r}.")


def as_arrow(frame: Any, choose: Callable[[Sequence[str]], Sequence[str]] | None = None) -> pa.Table:
    """Turn a pandas, polars, Arrow or other eager data frame into an Arrow table.

    Raises ParameterError for what is no data frame, ColumnError where two columns have one name, IdError for columns
    with cells of several types.

    `choose` picks columns from those that are there (default: all); the others are not even looked at.
    """
    choose = choose or (lambda names: names)
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return frame.select(list(choose(check_unique(frame.column_names))))
    # Here, since Arrow tables, and so all files, do not need it.
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        wrapped = nw.from_native(frame, eager_only=True)
        names = check_unique([str(name) for name in wrapped.columns])
    except TypeError:
        raise ParameterError(
            f"votes must be a Votes object or a pandas, polars or Arrow table; got {type(frame).__name__}. "
            "For files use amcc.read_votes(path), for arrays Votes.from_dense(array)."
        ) from None
    except DuplicateError:
        names = check_unique([str(name) for name in frame.columns])
    # By place, not by name: pandas columns may be called by numbers, which are text here.
    return pa.table({name: _as_column(name, wrapped[:, names.index(name)]) for name in choose(names)})


def column_names(frame: Any) -> list[str]:
    """The names of the columns of a data frame; no column is looked at.

    >>> column_names(pa.table({"item": [1], "label": ["a"]}))
    ['item', 'label']
    """
    names: list[str] = []

    def choose(found: Sequence[str]) -> list[str]:
        names.extend(found)
        return []

    as_arrow(frame, choose)
    return names


def check_unique(names: list[str]) -> list[str]:
    """The column names, unless two columns have the same."""
    if len(set(names)) < len(names):
        raise ColumnError(f"column names must be unique; got {listed(names)}. Rename or drop one of the columns.")
    return names


def _as_column(name: str, series: Any) -> Any:
    """A narwhals series as an Arrow column."""
    try:
        return series.to_arrow()
    except UNFIT:  # an object column with more than one type in it: find where
        return column_of_objects(name, series.to_list())


def column_of_objects(name: str, cells: Sequence[Any]) -> pa.Array:
    """Python objects as an Arrow array; IdError names the first that does not go with the others."""
    try:
        return pa.array(cells, from_pandas=True)  # NaN and its relatives are missing cells
    except UNFIT:
        pass
    # Blank cells have types of their own (float, NoneType, NAType, NaTType): they are not what does not fit.
    blank = ("None", "nan", "<NA>", "NaT")
    filled = [(row, cell) for row, cell in enumerate(cells, start=1) if isinstance(cell, str) or str(cell) not in blank]
    first = filled[0][1] if filled else cells[0]
    for row, cell in filled:
        if type(cell) is not type(first):
            raise IdError(
                f"column {name!r} must hold one type; it starts with {first!r} ({type(first).__name__}), but row "
                f"{row} has {cell!r} ({type(cell).__name__}). Convert it first, for example with "
                f"frame[{name!r}].astype(str)."
            )
    raise IdError(
        f"column {name!r} must hold text, whole numbers of at most 64 bits, or lists of text; got "
        f"{type(first).__name__} like {first!r}. Convert it to text first."
    )
