"""JSON lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.json as arrow_json

from amcc.errors import AmccError, FileFormatError

BLOCK_BYTES = 8 << 20


def read(path: Path, choose: Callable[[Sequence[str]], Sequence[str]]) -> pa.Table:
    """Read the fields that `choose` picks."""
    try:
        table = arrow_json.read_json(path, read_options=arrow_json.ReadOptions(block_size=BLOCK_BYTES))
        return table.select(list(choose(table.column_names)))
    except AmccError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FileFormatError(_explained(path, error)) from None


def _explained(path: Path, error: Exception) -> str:
    """Read once more line by line, to say which line is wrong."""
    kinds: dict[str, tuple[type, int]] = {}
    try:
        with pa.input_stream(str(path)) as stream:
            lines = stream.read().split(b"\n")
    except OSError as damage:
        return f"the compressed file is damaged or cut off ({damage}). Copy or download it again."
    for row, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except UnicodeDecodeError:
            return f"the file must be UTF-8 text; row {row} is not. Save it as UTF-8."
        except (ValueError, RecursionError):
            return f"every line must be a JSON object; row {row} is not, or it is cut off: {line[:60]!r}."
        if not isinstance(record, dict):
            return f'every line must be a JSON object like {{"item": 1}}; row {row} is {line[:60]!r}.'
        for name, cell in record.items():
            kind = float if isinstance(cell, int) and not isinstance(cell, bool) else type(cell)
            first, first_row = kinds.setdefault(name, (kind, row))
            if cell is not None and first is type(None):
                kinds[name] = (kind, row)
            elif cell is not None and kind is not first:
                return (
                    f"column {name!r} must hold one type; row {first_row} holds {first.__name__}, row {row} "
                    f"{kind.__name__}: {cell!r}. Make them the same."
                )
    return f"the file is not readable as JSON lines ({str(error).splitlines()[0] if str(error) else 'empty'})."


def write(table: pa.Table, path: Path) -> None:
    """Write one object per row."""
    with pa.output_stream(str(path), compression="gzip" if ".gz" in path.suffixes else None) as stream:
        for batch in table.to_batches(max_chunksize=10_000):
            rows = (json.dumps(row, ensure_ascii=False) for row in batch.to_pylist())
            stream.write("".join(f"{row}\n" for row in rows).encode())
