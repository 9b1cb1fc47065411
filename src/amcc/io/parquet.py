"""Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from amcc.errors import AmccError, FileFormatError
from amcc.tables import check_unique, is_text


def read(path: Path, choose: Callable[[Sequence[str]], Sequence[str]]) -> pa.Table:
    """Read the columns that `choose` picks; text stays dictionary-encoded as it is stored."""
    try:
        with pq.ParquetFile(path) as file:
            schema = file.schema_arrow
        wanted = list(choose(check_unique(schema.names)))
        text = [name for name in wanted if is_text(schema.field(name).type)]
        return pq.read_table(path, columns=wanted, read_dictionary=text, partitioning=None)
    except AmccError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileFormatError(
            f"the file is not a readable Parquet file, or it is cut off ({reason}). Copy or download it again."
        ) from None


def write(table: pa.Table, path: Path) -> None:
    """Write a Parquet file."""
    pq.write_table(table, path)
