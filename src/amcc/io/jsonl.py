"""JSON lines: one object per line.

Arrow reads them, yet it crashes on some files that are no JSON lines. So every file is looked at first: quickly where
it is plain (one object per line, no list in a list), else bracket by bracket.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json as arrow_json

from amcc.arrays import Ints, Mask
from amcc.errors import AmccError, FileFormatError
from amcc.files import create_text, first_line, open_text
from amcc.io.format import Choose, Format, damaged_archive, register
from amcc.tables import check_unique

# Bytes looked at, and parsed, at a time; rows of a batch.
BLOCK_BYTES = 8 << 20
BATCH_ROWS = 1 << 19

# Levels of brackets; an object with a list of labels has two. Values that are nested very deeply make Arrow crash.
MAX_DEPTH = 64

# What a byte is to the counting of brackets: quote, line end, opening, closing, and by how much each goes deeper.
QUOTE, END = 1, 2
MARKS = np.zeros(256, np.uint8)
MARKS[list(b'"\n[{]}')] = QUOTE, END, 3, 3, 4, 4
STEPS = np.array([0, 0, 0, 1, -1])

# Where a line does not begin with an object, or something follows the object, unless it stands in text.
ODD = re.compile(rb"(?:\A|\n)[ \t\r]*[^{ \t\r\n]|\}[ \t\r]*[^],} \t\r\n]")

LIST_IN_LIST = re.compile(rb"\[[^]]*\[")


def read(path: Path, choose: Choose) -> pa.Table:
    """Read the fields that `choose` picks; a field that a line lacks is missing there."""
    try:
        _check_lines(path)
        table = _read(path, None)
        # Arrow takes text like 2024-05-31 for a time, but a name must stay what it is.
        if any(_has_time(field.type) for field in table.schema):
            table = _read(path, pa.schema([(field.name, _as_text(field.type)) for field in table.schema]))
        table.validate(full=True)  # Arrow reads bytes that are no text without a word
        return table.select(list(choose(check_unique(table.column_names))))
    except AmccError:
        raise
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
        raise _explained(path, error) from None


def read_batches(path: Path, choose: Choose) -> Iterator[pa.RecordBatch]:
    """The same rows in batches; all of them are read at once, because what a field is shows at the end only."""
    yield from read(path, choose).to_batches(BATCH_ROWS)


def _check_lines(path: Path) -> None:
    """Refuse what makes Arrow crash: anything but one object per line, and values that are nested very deeply.

    Odd lines are read by Python as well, since what looks odd may stand within text.
    """
    row = 1
    with open_text(path) as stream:
        for lines in _whole_lines(stream):
            if _is_plain(lines):  # counting bytes is quick, the rest is not
                row += lines.count(b"\n")
                continue
            depths, ends = _depths(lines)
            if (depths > MAX_DEPTH).any():
                row += int(np.count_nonzero(ends[: (depths > MAX_DEPTH).argmax()]))
                raise FileFormatError(
                    f"a field must hold text, a number or a list of labels; row {row} holds something nested more than "
                    f"{MAX_DEPTH} levels deep. Leave it out."
                )
            for odd in ODD.finditer(lines):
                begin, end = lines.rfind(b"\n", 0, odd.end() - 1) + 1, lines.find(b"\n", odd.end() - 1)
                line = lines[begin : end if end >= 0 else None]
                if not _is_object(line):
                    raise _no_object(row + lines.count(b"\n", 0, begin), line)
            row += lines.count(b"\n")


def _whole_lines(stream: Any) -> Iterator[bytes]:
    """What a stream holds, some lines at a time; a line that is longer than a block is given whole."""
    rest = b""
    while block := stream.read(BLOCK_BYTES):
        lines, end, new = block.rpartition(b"\n")
        if end:
            yield rest + lines + end
            rest = new
        else:
            rest += block
    if rest:
        yield rest


def _is_plain(lines: bytes) -> bool:
    """Whether a quick look shows one object per line and no list in a list, as in most files."""
    n_lines = lines.count(b"\n") + (not lines.endswith(b"\n"))
    begun = lines.startswith(b"{") + lines.count(b"\n{")
    ended = lines.endswith(b"}") + lines.count(b"}\n") + lines.count(b"}\r\n")
    all_braces_there = begun == ended == lines.count(b"{") == lines.count(b"}") == n_lines
    # Each line has one opening and one closing brace, at its ends: then it is one object, or Arrow says so itself.
    return all_braces_there and not LIST_IN_LIST.search(lines)


def _depths(lines: bytes) -> tuple[Ints, Mask]:
    """For each quote, bracket and line end: how many brackets of its line are open there, and if it is a line end."""
    # Escaped backslashes go first: else the quote in "a\\" would seem to be escaped itself.
    marks = MARKS[np.frombuffer(lines.replace(rb"\\", b"").replace(rb"\"", b""), np.uint8)]
    marks = marks[marks > 0]
    ends = marks == END
    quotes = np.cumsum(marks == QUOTE)
    # An odd number of quotes since the line began: brackets in text do not count.
    in_text = (quotes - np.maximum.accumulate(np.where(ends, quotes, 0))) % 2 == 1
    depth = np.cumsum(np.where(in_text, 0, STEPS[marks]))
    line = np.maximum.accumulate(np.where(ends, np.arange(1, len(ends) + 1), 0))
    return depth - np.append(0, depth)[line], ends


def _is_object(line: bytes) -> bool:
    """Whether Python reads the line as one object: slow, so only asked of lines that look odd."""
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _no_object(row: int, line: bytes) -> FileFormatError:
    """The error that a line is no object; 60 bytes of it are enough to find it."""
    return FileFormatError(
        f'every line must be a JSON object like {{"item": 1}}; row {row} is not, or it is cut off: {line[:60]!r}.'
    )


def _read(path: Path, schema: pa.Schema | None) -> pa.Table:
    """All rows; without a schema Arrow finds the types."""
    with open_text(path) as stream:
        return arrow_json.read_json(
            stream,
            read_options=arrow_json.ReadOptions(block_size=BLOCK_BYTES),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema),
        )


def _has_time(kind: pa.DataType) -> bool:
    """Whether Arrow took text for times, in cells or in lists."""
    return bool(pa.types.is_temporal(kind) or (pa.types.is_list(kind) and _has_time(kind.value_type)))


def _as_text(kind: pa.DataType) -> pa.DataType:
    """The same type with text in place of times."""
    if pa.types.is_list(kind):
        return pa.list_(_as_text(kind.value_type))
    return pa.string() if pa.types.is_temporal(kind) else kind


def _explained(path: Path, error: Exception) -> FileFormatError:
    """Read once more line by line, to say which line is wrong: Arrow's errors count blocks, not lines."""
    kinds: dict[str, tuple[type, int]] = {}
    try:
        with open_text(path) as stream:
            lines = stream.read().split(b"\n")
    except OSError as damage:
        return damaged_archive(damage)
    for row, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except UnicodeDecodeError:
            return FileFormatError(f"the file must be UTF-8 text; row {row} is not. Save it as UTF-8.")
        except (ValueError, RecursionError):
            return _no_object(row, line)
        if not isinstance(record, dict):
            return _no_object(row, line)
        if mixed := _other_type(record, row, kinds):
            return mixed
    return FileFormatError(f"the file is not readable as JSON lines ({first_line(error)}).")


def _other_type(record: dict[str, Any], row: int, kinds: dict[str, tuple[type, int]]) -> FileFormatError | None:
    """The error that a field has another type than in rows before; `kinds` notes the types, and where they began."""
    for name, cell in record.items():
        kind = float if isinstance(cell, int) and not isinstance(cell, bool) else type(cell)  # numbers go together
        first, first_row = kinds.setdefault(name, (kind, row))
        if cell is not None and first is type(None):
            kinds[name] = (kind, row)
        elif cell is not None and kind is not first:
            return FileFormatError(
                f"column {name!r} must hold one type; row {first_row} holds {first.__name__}, row {row} "
                f"{kind.__name__}: {cell!r}. Make them the same."
            )
    return None


def write(tables: Iterable[pa.Table], path: Path) -> None:
    """Write one object per row of all tables; text as it is, not escaped, so that people can read it."""
    with create_text(path) as stream:
        # 10 000 rows as Python objects at a time: a few megabytes.
        for batch in (batch for table in tables for batch in table.to_batches(max_chunksize=10_000)):
            rows = (json.dumps(row, ensure_ascii=False) for row in batch.to_pylist())
            stream.write("".join(f"{row}\n" for row in rows).encode())


register(
    Format(
        (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"), read, read_batches, write,
        starts=lambda beginning: beginning.lstrip().startswith(b"{"),
    )
)  # fmt: skip
