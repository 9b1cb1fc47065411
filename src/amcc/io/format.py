"""What a file format is, and the registry of those there are.

A format is one file of this folder that ends with `register(Format(…))`. The package imports all files of the folder
when it is loaded; no list elsewhere names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from amcc.errors import FileFormatError, InputError

# Picks columns by name from those that are there.
Choose: TypeAlias = Callable[[Sequence[str]], Sequence[str]]

# Spreadsheets, of which votes are read (see `exchange.excel`); nothing else is, and nothing is written to them.
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    suffixes : how names of such files end, in small letters, the usual one first.
    read : (path, choose) → the table with the columns that `choose` picks.
    read_batches : the same rows, some at a time, for files that are larger than memory.
    write : (tables, path): tables with the same columns, one after the other.
    starts : whether a file that begins with these bytes is of the format, for input without a name.
    has_separator : whether `read` and `read_batches` take a separator of columns.
    """

    suffixes: tuple[str, ...]
    read: Callable[..., pa.Table]
    read_batches: Callable[..., Iterator[pa.RecordBatch]]
    write: Callable[[Iterable[pa.Table], Path], None]
    starts: Callable[[bytes], bool] = lambda beginning: False
    has_separator: bool = False


FORMATS: list[Format] = []


def register(kind: Format) -> None:
    """Make a format known; no two formats may share a suffix."""
    taken = {suffix for other in FORMATS for suffix in other.suffixes}.intersection(kind.suffixes)
    if taken:
        raise ValueError(f"another format has the suffix {min(taken)} already")
    FORMATS.append(kind)


def format_of(path: Path) -> Format:
    """The format that a path's suffix stands for."""
    for kind in FORMATS:
        if path.name.lower().endswith(kind.suffixes):
            return kind
    if path.suffix.lower() in (*SPREADSHEETS, ".numbers"):
        raise InputError(
            f"{path} is a spreadsheet: votes can be read from most of them, other tables cannot, and nothing is "
            "written to them; save it as CSV (in most programs: File, Save as, CSV UTF-8)."
        )
    if path.suffix.lower() == ".zip":
        raise InputError(
            f"{path}: an archive must be an export of a tool that amcc knows (amcc formats lists them); it is none, or "
            "it is damaged or cut off. Export it again, or unpack it and name a file of it."
        )
    known = ", ".join(suffix for kind in FORMATS for suffix in kind.suffixes)
    raise InputError(f"{path}: the suffix must say the format, one of {known}.")


def damaged_archive(problem: object) -> FileFormatError:
    """The error that a compressed file cannot be unpacked."""
    return FileFormatError(f"the compressed file is damaged or cut off ({problem}). Copy or download it again.")
