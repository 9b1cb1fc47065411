"""Parquet files.

Text stays dictionary-encoded as it is stored. Everything is validated: a footer may name any type, size and place, and
Arrow reads codes of words that are not in the dictionary without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from amcc.errors import AmccError, FileFormatError
from amcc.files import first_line
from amcc.io.format import Choose, Format, register
from amcc.lazy import WhenUsed
from amcc.memory import check_read, most_read
from amcc.tables import check_unique, is_text

pq: Any = WhenUsed("pyarrow.parquet")  # brings file systems of clouds, which a table of text has no use for

# Rows of a batch: with a few columns, some ten megabytes.
BATCH_ROWS = 1 << 19

# Memory that a cell takes: a vote, of four, takes 43 bytes while it is read.
CELL_BYTES = 11

# What Arrow raises for files with parts that do not go together.
UNREADABLE = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError)


def read(path: Path, choose: Choose) -> pa.Table:
    """Read the columns that `choose` picks."""
    with _explaining():
        wanted, text = _chosen(path, choose)
        with pq.ParquetFile(path, read_dictionary=text) as file:
            # A column of one word takes no room in the file, however many rows it has.
            n_cells = file.metadata.num_rows * len(wanted)
            check_read(f"{path}, unpacked,", n_cells * CELL_BYTES, most_read())
            # Arrow gives columns in the order of the file, and with "item" also "item.text".
            table = file.read(wanted).select(wanted)
        table.validate(full=True)
        return table


def read_batches(path: Path, choose: Choose) -> Iterator[pa.RecordBatch]:
    """The same rows, some at a time."""
    with _explaining():
        wanted, text = _chosen(path, choose)
        with pq.ParquetFile(path, read_dictionary=text) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
                batch.validate(full=True)
                yield batch


def _chosen(path: Path, choose: Choose) -> tuple[list[str], list[str]]:
    """The columns that are wanted, and those of them that hold text."""
    with pq.ParquetFile(path) as file:  # only the footer is read
        schema = file.schema_arrow
    wanted = list(choose(check_unique(schema.names)))
    return wanted, [name for name in wanted if is_text(schema.field(name).type)]


@contextmanager
def _explaining() -> Iterator[None]:
    """What Arrow says about a broken file, in words for a person."""
    try:
        yield
    except AmccError:  # from `choose`: about columns, in our own words
        raise
    except UNREADABLE as error:
        raise FileFormatError(
            f"the file is not a readable Parquet file, or it is cut off ({first_line(error)}). Copy or download it "
            "again."
        ) from None


def write(tables: Iterable[pa.Table], path: Path) -> None:
    """Write tables with the same columns, one after the other, to one Parquet file; without a table, nothing."""
    with ExitStack() as stack:
        writer = None
        for table in tables:
            writer = writer or stack.enter_context(pq.ParquetWriter(path, table.schema))
            writer.write_table(table)


register(Format((".parquet", ".pq"), read, read_batches, write, starts=lambda beginning: beginning.startswith(b"PAR1")))
