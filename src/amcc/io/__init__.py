"""Readers and writers: one file per format, chosen by the suffix of the path.

`read_votes`, `read_truth`, `read_roster` and `read_soft_truth` first read a table (`read_table`), whatever its format,
and then make of it what is wanted. Errors about the data name the file, since the types that read tables do not know
it. A new format is a new file in this folder: see `format`. `pack` reads files that are larger than memory. Exports of
other tools are known by what they hold: see `exchange`.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import IO, Any, TypeVar, Unpack

import pyarrow as pa

from amcc import tables
from amcc.engine.packed import META, PackedVotes
from amcc.errors import FileFormatError, InputError, ParameterError
from amcc.files import check_readable, first_line, whole_file
from amcc.io import exchange
from amcc.io.exchange import Export
from amcc.io.exchange.pseudonyms import keyed, read_key
from amcc.io.format import FORMATS, Choose, Format, format_of
from amcc.roster import Roster
from amcc.soft_truth import SoftTruth
from amcc.tables import Zero
from amcc.truth import Statement, Truth, item_list
from amcc.votes import Decided, Given, OnConflict, Unmentioned, Votes, roles_read

Made = TypeVar("Made")

__all__ = [
    "FORMATS", "Export", "VoteOptions", "format_of", "is_export", "is_packed", "naming", "open_packed", "read_export",
    "read_ids", "read_roster", "read_soft_truth", "read_table", "read_truth", "read_votes", "spool", "write_table",
    "write_tables", "write_votes",
]  # fmt: skip


# How a gzip file begins, and how much of a stream is looked at to see its format.
GZIP, SNIFFED = b"\x1f\x8b", 1 << 16


def read_table(path: str | Path, choose: Choose | None = None, *, separator: str | None = None) -> pa.Table:
    """Read a table; `choose` picks columns from those that are there (default: all).

    `separator` separates the columns of text tables; it is guessed unless it is given.
    """
    path = Path(path)
    kind, options = _format_and_options(path, separator)
    with naming(path):
        return kind.read(path, choose or (lambda names: names), **options)


def read_batches(path: str | Path, choose: Choose, *, separator: str | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a table, some at a time: for files that are larger than memory."""
    path = Path(path)
    kind, options = _format_and_options(path, separator)
    with naming(path):  # also around what comes later: a damaged block may be the last one
        yield from kind.read_batches(path, choose, **options)


def _format_and_options(path: Path, separator: str | None) -> tuple[Format, dict[str, str]]:
    check_readable(path)
    kind = format_of(path)
    if separator is not None and not kind.has_separator:
        raise ParameterError(f"separator is for text tables; {path} is not one.")
    return kind, {} if separator is None else {"separator": separator}


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Say in errors about the data in which file they are, also in those of Arrow about what nobody thought of.

    Types that read tables (`Votes`, `Truth`, …) know rows and columns, not files: their errors pass through here.
    """
    try:
        yield
    except InputError as error:
        raise type(error)(f"{path}: {error}") from None
    except pa.ArrowException as error:
        raise FileFormatError(
            f"{path}: the file must hold text, numbers and lists of them; it is damaged, or holds something else "
            f"({first_line(error)}). Copy it again, or save it as CSV."
        ) from None


def spool(stream: IO[bytes], folder: Path) -> Path:
    """Put what a stream holds into a file that is named by its format: what no format claims is delimited text."""
    start = stream.read(SNIFFED)
    text, packed = start, start.startswith(GZIP)
    with suppress(zlib.error):  # whoever reads the file will say that it is damaged
        # 31: a window of 32 KB, the largest there is, and 16 for the header of gzip
        text = zlib.decompressobj(wbits=31).decompress(start, SNIFFED) if packed else start
    of_table = next((kind.suffixes[0] for kind in FORMATS if kind.starts(text)), ".csv")
    suffix = exchange.suffix_of(text) or of_table
    path = folder / f"standard-input{suffix}{'.gz' * packed}"
    with path.open("wb") as file:
        file.write(start)
        shutil.copyfileobj(stream, file)
    return path


def write_table(table: pa.Table, path: str | Path) -> None:
    """Write a table in the format of the path's suffix: completely, or not at all."""
    write_tables([table], path)


def write_tables(tables: Iterable[pa.Table], path: str | Path) -> None:
    """Write the rows of tables with the same columns, one table after the other, as `write_table` does."""
    path = Path(path)
    kind = format_of(path)
    with whole_file(path) as temporary:
        kind.write(tables, temporary)


class VoteOptions(Decided, total=False):
    """How a file of votes is read; every option may be left out.

    Of plain tables, see `Votes.from_frame`: columns, unmentioned, labels, items, threshold, zero, label_separator,
    on_conflict; and `separator`, between the columns of a text. Of exports of other tools, see `Decisions`: labels,
    unmentioned, empty, rejected, threshold, yes, asked, question, on_conflict. Of all: `format` says whose export it is
    where its content does not, and "table" that it is a plain one; `pseudonyms` is a file with a key, which is made
    where it is not there, by which workers get other names; `keep_ids` keeps worker ids that are personal.
    """

    format: str | None
    separator: str | None
    items: Iterable[Any] | None
    zero: Zero | None
    label_separator: str | None


def read_votes(path: Given, **options: Unpack[VoteOptions]) -> Votes:
    """Read votes from a CSV, TSV, Parquet or JSON-lines file, plain or compressed, or from an export of another tool.

    Exports are known by what they hold (`amcc formats` lists them); `read_export` gives what else they say: known
    truth, who the workers are, what was skipped. In place of a path, records of a tool may be given that are in memory
    already. A folder of packed votes is read as it is. Ids in text files stay text. See `VoteOptions` for the options.
    """
    return read_export(path, **options).votes


def read_export(path: Given, **options: Unpack[VoteOptions]) -> Export:
    """Read votes and all else that a file, or records, say about them; plain tables say nothing else."""
    said, source = dict(options), _source(path)
    name, key_file, keep_ids = said.pop("format", None), said.pop("pseudonyms", None), said.pop("keep_ids", False)
    key = None if key_file is None else read_key(Path(str(key_file)))
    tool, why = _tool_of(source, None if name is None else str(name))
    if tool is None:
        return _read_plain(source, key, said)
    if tool.table is not None:
        export = _read_held_table(source, tool, tool.table, key, said)
    else:
        decisions = _decisions(source.path, tool, said)
        with naming(source.path):
            export = exchange.read_source(source, tool, decisions, key=key, keep_ids=bool(keep_ids))
    taken = f"read as {tool.title}" + (f" ({why})" if why else "")
    return replace(export, notes=(taken, *export.notes))


def _source(given: Given) -> exchange.Source:
    return exchange.Source(given) if isinstance(given, str | Path) else exchange.Records(given)


def _tool_of(source: exchange.Source, name: str | None) -> tuple[exchange.Tool | None, str]:
    """Whose export it is, by its name or by what it holds, and how that was known; None for plain tables."""
    if name == "table" or (name is None and is_packed(source.path)):
        return None, ""
    if name is not None:
        return exchange.tool_named(name), ""
    return exchange.recognised(source) or (None, "")


def is_export(path: str | Path, format: str | None = None) -> bool:  # noqa: A002  # the word that people look for
    """Whether a file is an export of another tool, by its name or by what it holds; a plain table is none."""
    return _tool_of(exchange.Source(path), format)[0] is not None


def _decisions(path: Path, tool: exchange.Tool, said: Mapping[str, Any]) -> exchange.Decisions:
    """What was decided about an export. Raises ParameterError for what concerns plain tables only."""
    said = {name: value for name, value in said.items() if value is not None and value != {}}
    others = said.keys() - {each.name for each in fields(exchange.Decisions)}
    if others:
        raise ParameterError(
            f"{', '.join(sorted(map(exchange.flag, others)))} can only be said of plain tables; {path} was read as "
            f"{tool.title}. Say --format table if it is one."
        )
    if not isinstance(labels := said.get("labels"), str | None):
        said["labels"] = list(labels)
    return exchange.Decisions(**said)


def _read_plain(source: exchange.Source, key: bytes | None, options: Mapping[str, Any]) -> Export:
    """A table of votes, or packed ones."""
    rest = _table_options(options, f"{source.path} was read as a plain table")
    if isinstance(source, exchange.Records):
        raise InputError(
            "records must be those of a tool that amcc knows, and these look like none. Say whose they are: "
            "format='langfuse', for example; amcc formats lists them. Tables are read by Votes.from_frame."
        )
    if source.is_json:
        with naming(source.path):
            _refuse_json(source)
    votes = _read_table_of_votes(source.path, **rest)
    return Export(votes if key is None else votes.with_workers_renamed(keyed(key)))


def _refuse_json(source: exchange.Source) -> None:
    """Raise FileFormatError: what is wrong with the JSON, or that it is nobody's export."""
    found = source.document
    shape = "a list of records" if isinstance(found, list) else type(found).__name__
    names = f" with the fields {tables.listed(list(source.first))}" if source.first else ""
    raise FileFormatError(
        f"a JSON document must be an export of a tool that amcc knows (amcc formats lists them); it is none: {shape}"
        f"{names}. Say --format NAME if it is one of them; a table is one object per line, with the suffix .jsonl."
    )


def _read_held_table(
    source: exchange.Source, tool: exchange.Tool, find: Callable[[exchange.Source, str | None], exchange.PlainTable],
    key: bytes | None, options: Mapping[str, Any],
) -> Export:  # fmt: skip
    """A plain table that a file of another tool holds."""
    which = {name: value for name, value in options.items() if name in tool.uses}
    others = {name: value for name, value in options.items() if name not in tool.uses}
    rest = _table_options(others, f"{source.path} was read as {tool.title}")
    if rest.pop("separator", None) is not None:
        raise ParameterError(f"separator is for text tables; {source.path} is not one.")
    with naming(source.path):
        if isinstance(source, exchange.Records):
            held = exchange.PlainTable(pa.Table.from_pylist([record for _, record in source.records()]))
        else:
            held = find(source, which.get("question"))
        votes = Votes.from_frame(held.table, **rest)
    return Export(
        votes if key is None else votes.with_workers_renamed(keyed(key)), tool=tool.name, notes=tuple(held.notes)
    )


def _table_options(options: Mapping[str, Any], what: str) -> dict[str, Any]:
    """The options that plain tables have. Raises ParameterError for what concerns other exports only."""
    rest = dict(options)
    for name in ("empty", "rejected", "yes", "asked", "question"):
        if rest.pop(name, None) is not None:
            raise ParameterError(f"{exchange.flag(name)} is for exports of other tools (amcc formats); {what}.")
    return rest


def _read_table_of_votes(
    path: Path, *, separator: str | None = None, columns: Mapping[str, str] | None = None,
    on_conflict: OnConflict = "error", **options: Any,
) -> Votes:  # fmt: skip
    if path.is_dir():  # packed votes: their options were used up when they were packed
        plain = not any((separator, columns, *options.values())) and on_conflict == "error"
        return open_packed(path, plain=plain).votes()

    # Columns without a role are not even read: texts of items may be most of a file.
    def role_columns(names: Sequence[str]) -> list[str]:
        return list(tables.match_columns(names, columns, roles=roles_read(on_conflict)).values())

    table = read_table(path, role_columns, separator=separator)
    with naming(path):
        votes = Votes.from_frame(table, columns=columns, on_conflict=on_conflict, **options)
    del table
    pa.default_memory_pool().release_unused()  # Arrow would keep it, a third of what a fit needs
    return votes


def is_packed(path: Path) -> bool:
    """Whether it is a folder that `amcc pack` made."""
    return path.is_dir() and (path / META).exists()


def open_packed(path: str | Path, *, plain: bool = True) -> PackedVotes:
    """Open a folder of packed votes; `plain` says that no option of reading was given, since it would come too late."""
    packed = PackedVotes(path)
    if not plain:
        raise ParameterError(
            f"{path} holds packed votes, which were read when they were packed; options of reading belong to amcc pack."
        )
    return packed


def write_votes(votes: Votes, path: str | Path, *, sets: bool = False) -> None:
    """Write votes as a long table worker, item, label, value, or with `sets` one row per answer."""
    write_table(votes.to_sets("arrow") if sets else votes.to_arrow(), path)


def read_truth(
    path: str | Path,
    *,
    known_items: str | Path | None = None,
    known_pairs: str | Path | None = None,
    unmentioned: Unmentioned = "unknown",
) -> Truth:
    """Read what is true from a table item, label, or item, labels, or item, label, truth with yes and no.

    What the table does not mention is unknown, unless `known_items` or `known_pairs`, files with what it covers, or
    unmentioned="absent", which says that it covers everything, say otherwise; see `Truth.from_frames`.
    """
    # Each file by itself first, so that an error names the right one; what they say together is the truth's affair.
    truth = _read_as(Statement.from_frame, path)
    items = None if known_items is None else _read_as(item_list, known_items)
    pairs = None if known_pairs is None else _read_as(Statement.from_frame, known_pairs)
    with naming(path):
        return Truth.from_statements(truth, items, pairs, unmentioned)


def read_soft_truth(path: str | Path) -> SoftTruth:
    """Read the share of people who say yes: a table item, label, share, or votes of other people."""
    return _read_as(SoftTruth.from_frame, path)


def read_roster(path: str | Path) -> Roster:
    """Read who the workers are from a table worker, kind, family; see `Roster.from_frame`."""
    return _read_as(Roster.from_frame, path)


def _read_as(make: Callable[[pa.Table], Made], path: str | Path) -> Made:
    """Read a table and make of it what is wanted; errors of both name the file."""
    table = read_table(path)
    with naming(path):
        return make(table)


def read_ids(path: str | Path) -> list[Any]:
    """Read a list of names: the first column of a table, or of a .txt file one name per line without a header.

    Blank lines and cells are no names. Names keep their spaces: "dog " is not "dog".
    """
    path = Path(path)
    check_readable(path)
    try:
        if path.suffix.lower() in (".txt", ".list", ""):
            # Not splitlines(), which also cuts at form feeds and other characters that names may hold.
            names: list[Any] = re.split(r"\r\n|\r|\n", path.read_bytes().decode("utf-8-sig"))
        else:
            table = read_table(path, lambda columns: columns[:1])
            with naming(path):
                names = [name for column in table.columns for name in column.to_pylist()]
    except UnicodeDecodeError:
        raise FileFormatError(f"{path}: the file must be UTF-8 text. Save it as UTF-8.") from None
    return [name for name in names if name is not None and str(name).strip()]


# Formats register themselves when they are imported. Last, since what is in this folder may use what is above.
for _module in pkgutil.iter_modules(__path__):
    if _module.name in ("append", "pack"):  # no formats, but votes that are larger than memory
        continue
    importlib.import_module(f"{__name__}.{_module.name}")
