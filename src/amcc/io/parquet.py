"""Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from amcc.errors import AmccError, FileFormatError
from amcc.tables import check_unique, is_text

BATCH_ROWS = 1 << 19

UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError)
"""What Arrow raises for files whose parts do not go together: a footer may name any type, size and place."""


def read(path: Path, choose: Callable[[Sequence[str]], Sequence[str]]) -> pa.Table:
    """Read the columns that `choose` picks; text stays dictionary-encoded as it is stored."""
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
        wanted = list(choose(check_unique(schema.names)))
        text = [name for name in wanted if is_text(schema.field(name).type)]
        table = pq.read_table(path, columns=wanted, read_dictionary=text, partitioning=None)
        table.validate(full=True)  # Arrow reads codes of words that are not in the dictionary without a word
        return table
    except AmccError:
        raise
    except UNREADABLE as error:
        raise FileFormatError(_explained(error)) from None


def read_batches(path: Path, choose: Callable[[Sequence[str]], Sequence[str]]) -> Iterator[pa.RecordBatch]:
    """The same rows, some at a time."""
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
        wanted = list(choose(check_unique(schema.names)))
        text = [name for name in wanted if is_text(schema.field(name).type)]
        with pq.ParquetFile(path, read_dictionary=text) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
                batch.validate(full=True)
                yield batch
    except AmccError:
        raise
    except UNREADABLE as error:
        raise FileFormatError(_explained(error)) from None


def _explained(error: Exception) -> str:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"the file is not a readable Parquet file, or it is cut off ({reason}). Copy or download it again."


def write(tables: Iterable[pa.Table], path: Path) -> None:
    """Write tables with the same columns, one after the other, to one Parquet file."""
    with ExitStack() as stack:
        writer = None
        for table in tables:
            writer = writer or stack.enter_context(pq.ParquetWriter(path, table.schema))
            writer.write_table(table)
