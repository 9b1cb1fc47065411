"""JSON lines: one object per line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.json as arrow_json

from amcc.errors import AmccError, FileFormatError
from amcc.files import create_text, open_text
from amcc.tables import check_unique

BLOCK_BYTES = 8 << 20
BATCH_ROWS = 1 << 19

MAX_DEPTH = 64
"""Levels of brackets; an object with a list of labels has two."""

QUOTE, END = 1, 2
MARKS = np.zeros(256, np.uint8)
MARKS[list(b'"\n[{]}')] = QUOTE, END, 3, 3, 4, 4
STEPS = np.array([0, 0, 0, 1, -1])


def read(path: Path, choose: Callable[[Sequence[str]], Sequence[str]]) -> pa.Table:
    """Read the fields that `choose` picks."""
    try:
        _check_depth(path)
        table = _read(path, None)
        # Arrow takes text like 2024-05-31 for a time, but a name must stay what it is.
        if any(_has_time(field.type) for field in table.schema):
            table = _read(path, pa.schema([(field.name, _as_text(field.type)) for field in table.schema]))
        table.validate(full=True)  # Arrow reads bytes that are no text without a word
        return table.select(list(choose(check_unique(table.column_names))))
    except AmccError:
        raise
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
        raise FileFormatError(_explained(path, error)) from None


def read_batches(path: Path, choose: Callable[[Sequence[str]], Sequence[str]]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches; all of them are read at once, for what a field is shows at the end only."""
    yield from read(path, choose).to_batches(BATCH_ROWS)


def _check_depth(path: Path) -> None:
    """Refuse values that are nested too deeply: Arrow goes down by recursion, and would take the process with it."""
    depth, in_text, row = 0, 0, 1
    with open_text(path) as stream:
        while block := stream.read(BLOCK_BYTES):
            while block.endswith(b"\\") and (more := stream.read(1)):
                block += more
            marks = MARKS[np.frombuffer(block.replace(rb"\\", b"").replace(rb"\"", b""), np.uint8)]
            marks = marks[marks > 0]
            if not len(marks):
                continue
            depths, in_text = _depths(marks, depth, in_text)
            too_deep = depths > MAX_DEPTH
            if too_deep.any():
                row += int(np.count_nonzero(marks[: too_deep.argmax()] == END))
                raise FileFormatError(
                    f"a field must hold text, a number or a list of labels; row {row} holds something nested more than "
                    f"{MAX_DEPTH} levels deep. Leave it out."
                )
            depth, row = int(depths[-1]), row + int(np.count_nonzero(marks == END))


def _depths(marks: npt.NDArray[np.uint8], depth: int, in_text: int) -> tuple[npt.NDArray[np.int64], int]:
    """How deep each mark stands, and whether (1) the last stands in text; the first are those before the marks."""
    # No text goes over the end of a line, so quotes are counted from there; brackets in text do not count.
    quotes = in_text + np.cumsum(marks == QUOTE)
    since_line = quotes - np.maximum.accumulate(np.where(marks == END, quotes, 0))
    depths = depth + np.cumsum(np.where(since_line % 2 == 0, STEPS[marks], 0))
    return depths - np.minimum(np.minimum.accumulate(depths), 0), int(since_line[-1]) % 2


def _read(path: Path, schema: pa.Schema | None) -> pa.Table:
    with open_text(path) as stream:
        return arrow_json.read_json(
            stream,
            read_options=arrow_json.ReadOptions(block_size=BLOCK_BYTES),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema),
        )


def _has_time(kind: pa.DataType) -> bool:
    return bool(pa.types.is_temporal(kind) or (pa.types.is_list(kind) and _has_time(kind.value_type)))


def _as_text(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_as_text(kind.value_type))
    return pa.string() if pa.types.is_temporal(kind) else kind


def _explained(path: Path, error: Exception) -> str:
    """Read once more line by line, to say which line is wrong."""
    kinds: dict[str, tuple[type, int]] = {}
    try:
        with open_text(path) as stream:
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


def write(tables: Iterable[pa.Table], path: Path) -> None:
    """Write one object per row of all tables."""
    with create_text(path) as stream:
        for batch in (batch for table in tables for batch in table.to_batches(max_chunksize=10_000)):
            rows = (json.dumps(row, ensure_ascii=False) for row in batch.to_pylist())
            stream.write("".join(f"{row}\n" for row in rows).encode())
