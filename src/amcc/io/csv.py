"""Delimited text, plain or compressed (.csv, .tsv, .csv.gz …). Every cell is read as text, so 007 stays 007.

Arrow reads the rows; the header is read here first, to find the separator and to choose columns. Arrow is fast where a
cell holds no line end, so that is tried first; only files with other cells are read again, carefully.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from amcc import tables
from amcc.errors import ColumnError, FileFormatError, ParameterError
from amcc.files import create_text, first_line, open_text
from amcc.io.format import Choose, Format, damaged_archive, register

TEXT = pa.dictionary(pa.int32(), pa.string())  # encoded while parsing: no text object per row

# Bytes that Arrow parses at a time: dictionaries are made per block, so that small blocks mean many of them.
BLOCK_BYTES = 8 << 20

LIST_SEPARATOR = "|"

# This much is read first, and up to this much in all: a hundred thousand columns with long names.
HEADER_PIECE, HEADER_BYTES = 1 << 16, 1 << 24


def read(path: Path, choose: Choose, separator: str | None = None) -> pa.Table:
    """Read the columns that `choose` picks from the header; `separator` is guessed unless it is given."""
    with _explaining(path):
        names, separator = _header(path, separator)
        wanted = list(choose(names))
        try:
            return _read(path, wanted, separator, careful=False)
        except pa.ArrowInvalid:
            return _read(path, wanted, separator, careful=True)


def read_batches(path: Path, choose: Choose, separator: str | None = None) -> Iterator[pa.RecordBatch]:
    """The same rows, some at a time; carefully, for rows that were given cannot be taken back."""
    with _explaining(path):
        names, separator = _header(path, separator)
        wanted = list(choose(names))
        options = _options(wanted, separator, careful=True)
        with open_text(path, in_pieces=True) as stream, arrow_csv.open_csv(stream, **options) as rows:
            yield from rows


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """What Arrow and Python say about a broken file, in words for a person."""
    try:
        yield
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except (pa.ArrowException, OSError, csv.Error) as error:
        raise _explained(path, error) from None


def _read(path: Path, columns: list[str], separator: str, *, careful: bool) -> pa.Table:
    """Read the table; carefully means slowly, so that cells may hold line ends and errors can name the row."""
    with open_text(path) as stream:
        return arrow_csv.read_csv(stream, **_options(columns, separator, careful=careful))


def _options(columns: list[str], separator: str, *, careful: bool) -> dict[str, Any]:
    # Only without threads do Arrow's errors name the row. A blank cell stays blank text: it may be a name, or no list.
    return {
        "read_options": arrow_csv.ReadOptions(use_threads=not careful, block_size=BLOCK_BYTES),
        "parse_options": arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=careful),
        "convert_options": arrow_csv.ConvertOptions(
            include_columns=columns, column_types=dict.fromkeys(columns, TEXT), strings_can_be_null=False
        ),
    }


def _header(path: Path, separator: str | None) -> tuple[list[str], str]:
    """The names of the columns and the separator: the given one, else the one that the header has most of."""
    if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n'):
        raise ParameterError(f"separator must be one ASCII character such as ',' or a tab; got {separator!r}.")
    with open_text(path, in_pieces=True) as stream:
        line = _first_line(stream).decode("utf-8-sig")
    if not line:  # blank lines only
        raise FileFormatError("the file has no header line.")
    if separator is None:
        separator = "\t" if _is_tsv(path) else max(",;\t", key=line.count)
    # By the standard library: a name may be quoted and hold the separator.
    names = next(csv.reader(io.StringIO(line), delimiter=separator))
    return tables.check_unique(names), separator


def _first_line(stream: Any) -> bytes:
    """The first line with something in it, however long it is, within reason.

    Only as much is read as needed: the file may be a hundred gigabytes, or no table at all.
    """
    beginning = b""
    while len(beginning) < HEADER_BYTES:
        more = stream.read(max(HEADER_PIECE, len(beginning)))  # twice as much each time
        beginning = (beginning + more).lstrip(b"\r\n")
        if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise FileFormatError("the file is UTF-16; save it as UTF-8.")
        lines = beginning.splitlines()
        if len(lines) > 1 or not more:
            return next((line for line in lines if line.strip()), b"")
    raise FileFormatError(
        f"the header line must end within {HEADER_BYTES >> 20} MB; it does not. Is this a table with one row per line?"
    )


def _explained(path: Path, error: Exception) -> FileFormatError:
    """Arrow's message in words for a person, with the data row."""
    problem = str(error)
    if "invalid UTF8" in problem:
        return _not_utf8(path)
    if match := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", problem):
        row, expected, got = map(int, match.groups())
        return FileFormatError(
            f"every row must have {expected} columns; row {row - 1} has {got}. The file may be cut off, or a cell "
            "with the separator in it is not quoted."
        )
    if "Truncated" in problem or "zlib" in problem or "decompress" in problem:
        return damaged_archive(problem)
    return FileFormatError(f"the file is not a readable table ({first_line(error)}).")


def _not_utf8(path: Path) -> FileFormatError:
    """Read all of the file again, to say where it is no text."""
    try:
        with open_text(path) as stream:
            content = stream.read()
        content.decode()
    except OSError as damage:
        return _explained(path, damage)
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start)  # the header is row 0
        where = f"row {row}" if row else "the header"
        byte = f"0x{content[error.start]:02x}"
        return FileFormatError(f"the file must be UTF-8 text; {where} has the byte {byte}. Save it as UTF-8.")
    return FileFormatError("the file must be UTF-8 text.")


def write(tables: Iterable[pa.Table], path: Path) -> None:
    """Write delimited text; lists are joined by `|`."""
    with create_text(path) as stream:
        write_stream(tables, stream, "\t" if _is_tsv(path) else ",")


def write_stream(tables: Iterable[pa.Table], stream: Any, separator: str = ",") -> None:
    """Write tables with the same columns, one after the other, as delimited text to an open binary stream."""
    for number, table in enumerate(tables):
        if number == 0:
            header = io.StringIO()
            csv.writer(header, delimiter=separator, lineterminator="\n").writerow(table.column_names)
            stream.write(header.getvalue().encode())
        _write_rows(_joined_lists(table), stream, separator)


def _write_rows(table: pa.Table, stream: Any, separator: str) -> None:
    """Write rows without a header, quoted only if they must be."""
    # What Arrow calls "needed" are quotes around all text: twice the bytes, where most tables need none.
    quoting = "needed" if _needs_quotes(table, separator) else "none"
    options = arrow_csv.WriteOptions(include_header=False, delimiter=separator, quoting_style=quoting)
    arrow_csv.write_csv(table, stream, options)


def _needs_quotes(table: pa.Table, separator: str) -> bool:
    """Whether a cell holds what would be taken for the end of a cell or line."""
    # A carriage return ends a line for many readers; quotes are doubled only within quotes.
    special = f'["\r\n{re.escape(separator)}]'
    text = (column for column in table.columns if tables.is_text(column.type))
    return any(pc.any(pc.match_substring_regex(column, special)).as_py() for column in text)


def _is_tsv(path: Path) -> bool:
    """Whether the suffix says that columns are separated by tabs, whatever the header looks like."""
    return path.name.lower().endswith((".tsv", ".tsv.gz"))


def _joined_lists(table: pa.Table) -> pa.Table:
    """The table without lists, which text files do not know, and without dictionaries, which Arrow does not write."""
    for position, column in enumerate(table.schema):
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            lists = table[position].cast(pa.list_(pa.string()))
            names = pc.list_flatten(lists)
            trimmed = pc.equal(names, pc.utf8_trim_whitespace(names))
            clash = pc.index(pc.or_(pc.match_substring(names, LIST_SEPARATOR), pc.invert(trimmed)), True).as_py()
            if clash >= 0:  # written, it would be read as two labels, or as another one
                raise ColumnError(
                    f"a label in a list in a text file must be without the separator {LIST_SEPARATOR!r} and without "
                    f"spaces around it; got {names[clash].as_py()!r}. Write .jsonl or .parquet instead."
                )
            table = table.set_column(position, column.name, pc.binary_join(lists, LIST_SEPARATOR))
        elif pa.types.is_dictionary(column.type):
            table = table.set_column(position, column.name, table[position].cast(column.type.value_type))
    return table


register(
    Format(
        (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"), read, read_batches, write, has_separator=True
    )
)  # fmt: skip
