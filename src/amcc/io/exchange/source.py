"""A file of another tool: looked at as little as needed to know whose it is, then read, with the place of each record.

Large tables are recognised by their header, JSON lines by their first line. A JSON document is parsed whole, once.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from amcc.errors import FileFormatError, InputError
from amcc.files import first_line, open_text
from amcc.tables import check_unique, listed

# Cells of a table may hold a whole JSON document; Python's own limit is 128 kB.
csv.field_size_limit(1 << 30)

# How much of a text is looked at to see what it is: a header with some thousand names.
LOOKED_AT = 1 << 16

# Bytes of the longest first line that is looked at: a task of Prodigy may hold a whole picture.
LONGEST_LINE = 1 << 25

# Files of a folder that are looked at: more than any export has.
MOST_MEMBERS = 100_000

# A bomb of a few kilobytes unpacks to more than any memory. Exports of text pack to a tenth, rarely to a hundredth.
MOST_UNPACKED, MOST_RATIO = 4 << 30, 200


class Source:
    """A file or folder, and what can be learned of it.

    path : where it is. All errors are FileFormatError with the row or record in them, and without the path, which
    `amcc.io.naming` puts before.
    """

    def __init__(self, path: str | Path) -> None:
        self.path: Path = Path(path)

    # -- a quick look ------------------------------------------------------------------------------------------------

    @property
    def suffix(self) -> str:
        """How the name ends, in small letters, without .gz."""
        name = self.path.name.lower().removesuffix(".gz")
        return Path(name).suffix

    @property
    def is_file(self) -> bool:
        """Whether there is such a file; a folder is none."""
        return self.path.is_file()

    @property
    def is_json(self) -> bool:
        """Whether it is one JSON document, a list or an object."""
        return self.suffix == ".json" and self.is_file

    @cached_property
    def first(self) -> dict[str, Any]:
        """The first record of a JSON document or of JSON lines; empty for anything else, and for damaged files."""
        if not self.is_file:
            return {}
        try:
            if self.is_json:
                return next((record for _, record in self.records()), {})
            if self.suffix in (".jsonl", ".ndjson"):
                return _object(self._first_line())
        except (FileFormatError, ValueError, OSError, RecursionError):
            return {}
        return {}

    @cached_property
    def some(self) -> list[dict[str, Any]]:
        """The first records, for what the very first may lack."""
        try:
            return [record for _, record in islice(self.records(), 100)]
        except (FileFormatError, ValueError, OSError):
            return []

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The header of a delimited text; empty for anything else."""
        if not self.is_file or self.suffix not in (".csv", ".tsv", ".txt"):
            return ()
        try:
            return tuple(next(csv.reader(io.StringIO(self._head(), newline=""), delimiter=self._separator()), []))
        except (OSError, csv.Error):
            return ()

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Names of the files in a zip archive or a folder, as paths with /; empty for anything else."""
        try:
            if self.path.is_dir():
                # One folder deep, and not more: somebody may name the root of a disk.
                found = (each for pattern in ("*", "*/*") for each in self.path.glob(pattern))
                some = islice((each for each in found if each.is_file()), MOST_MEMBERS)
                names = [each.relative_to(self.path).as_posix() for each in some]
            elif self.is_file and self.suffix == ".zip":
                with zipfile.ZipFile(self.path) as archive:
                    names = archive.namelist()
            else:
                return ()
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
            return ()
        # What systems put beside files is nobody's export.
        own = (
            name for name in names if not name.startswith("__MACOSX/") and not name.rpartition("/")[2].startswith(".")
        )
        return tuple(sorted(name for name in own if not name.endswith("/")))

    # -- all of it ---------------------------------------------------------------------------------------------------

    @cached_property
    def document(self) -> Any:
        """A JSON document, whole."""
        return parsed(self._text(), "the file")

    def records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The objects of a JSON list, of an object's values, or of JSON lines, each with words for its place."""
        if self.is_json:
            document = self.document
            if isinstance(document, dict):
                document = [document]
            if not isinstance(document, list):
                raise FileFormatError(f"the file must hold a list of records; it holds {type(document).__name__}.")
            for number, record in enumerate(document, start=1):
                yield f"record {number}", _checked(record, f"record {number}")
            return
        yield from json_lines(self._text())

    def rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        """The rows of a delimited text, each with words for its place; cells are text."""
        try:
            cells = self._cells()
            names = check_unique(next(cells, []))
            for number, row in enumerate(cells, start=1):
                if not row:
                    continue
                if len(row) != len(names):
                    raise FileFormatError(f"every row must have {len(names)} columns; row {number} has {len(row)}.")
                yield f"row {number}", dict(zip(names, row, strict=True))
        except UnicodeDecodeError:
            raise FileFormatError("the file must be UTF-8 text. Save it as UTF-8.") from None
        except csv.Error as error:
            raise FileFormatError(f"the table cannot be read ({error}).") from None

    def check_columns(self, *names: str) -> None:
        """Raise FileFormatError unless it is a table with these columns: somebody may have named the wrong format."""
        if missing := [name for name in names if name not in self.columns]:
            raise FileFormatError(f"the columns {listed(names)} must be there; {listed(missing)} are not.")

    def member(self, name: str) -> bytes:
        """A file of the archive or folder, whole."""
        try:
            if self.path.is_dir():
                return (self.path / name).read_bytes()
            with zipfile.ZipFile(self.path) as archive:
                info = archive.getinfo(name)
                whole = sum(each.file_size for each in archive.infolist())
                if info.file_size > max(MOST_RATIO * info.compress_size, 1 << 20) or whole > MOST_UNPACKED:
                    raise FileFormatError(
                        f"an archive must unpack to no more than an export can have; {name!r} in it unpacks to "
                        f"{info.file_size:,} bytes of {whole:,}. Unpack it yourself, and name the folder."
                    )
                return archive.read(info)
        # An encrypted member is a RuntimeError, a packing that nobody knows a NotImplementedError, which is one, too.
        except (zipfile.BadZipFile, OSError, KeyError, RuntimeError, zlib.error) as error:
            raise FileFormatError(
                f"{name!r} cannot be read from the archive ({first_line(error)}). Export it again."
            ) from None

    def parts(self) -> Iterator[tuple[str, Source]]:
        """The files of the archive or folder, each as a source of its own, with its name; see `within`."""
        for name in self.members:
            yield name, _Part(name, self.member(name))

    def _opened(self) -> Any:
        """A stream of the bytes of the text."""
        return open_text(self.path)

    def _text(self) -> str:
        try:
            with self._opened() as stream:
                return bytes(stream.read()).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise FileFormatError("the file must be UTF-8 text. Save it as UTF-8.") from None
        except OSError as error:
            raise FileFormatError(f"the file cannot be read ({first_line(error)}).") from None

    def _head(self) -> str:
        """How a text begins; a character that the cut goes through is left out."""
        with self._opened() as stream:
            return bytes(stream.read(LOOKED_AT)).decode("utf-8-sig", errors="ignore").lstrip()

    def _first_line(self) -> str:
        """The first line, whole, unless it is longer than any record: a picture may stand in it."""
        with self._opened() as stream:
            begun = bytes(stream.read(LOOKED_AT))
            while b"\n" not in begun.lstrip() and len(begun) < LONGEST_LINE and (more := bytes(stream.read(LOOKED_AT))):
                begun += more
        return begun.decode("utf-8-sig", errors="ignore").lstrip().split("\n", 1)[0]

    def _separator(self) -> str:
        """Tab-separated exports come under names that end with .csv, too: the header tells."""
        return max(",\t;", key=self._head().split("\n", 1)[0].count)

    def _cells(self) -> Iterator[list[str]]:
        yield from csv.reader(io.StringIO(self._text(), newline=""), delimiter=self._separator())


class _Part(Source):
    """A file of an archive or folder, which is in memory already."""

    def __init__(self, name: str, data: bytes) -> None:
        super().__init__(name)
        self.data = data

    @property
    def is_file(self) -> bool:
        """See `Source`."""
        return True

    def _opened(self) -> Any:
        return io.BytesIO(self.data)


@contextmanager
def within(name: str) -> Iterator[None]:
    """Say in errors in which file of an archive or folder they are."""
    try:
        yield
    except InputError as error:
        raise type(error)(f"{name}: {error}") from None


def suffix_of(beginning: bytes) -> str | None:
    """How a name should end, of a text without one that is no table: an archive, or one JSON document.

    >>> suffix_of(b'[{"id": 7'), suffix_of(b'{"id": 7}'), suffix_of(b"PK\\x03\\x04 and so on")
    ('.json', None, '.zip')
    """
    if beginning.startswith(b"PK\x03\x04"):
        return ".zip"
    # An object per line are JSON lines, which are a table; an object over several lines is a document.
    return ".json" if re.match(rb"(\xef\xbb\xbf)?\s*(\[\s*[{\]]|\{\s*\n)", beginning) else None


class Records(Source):
    """Records that are in memory already: dictionaries, or the objects that libraries of tools give."""

    def __init__(self, records: Any) -> None:
        super().__init__("records")
        self.document = records if isinstance(records, dict) else [_as_dict(record) for record in records]

    @property
    def suffix(self) -> str:
        """As of a JSON document."""
        return ".json"

    @property
    def is_json(self) -> bool:
        """They are what a JSON document would hold."""
        return True

    @cached_property
    def first(self) -> dict[str, Any]:
        """The first record."""
        return next((record for _, record in self.records()), {})

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the first record's fields."""
        return tuple(self.first)

    def rows(self) -> Iterator[tuple[str, dict[str, str]]]:
        """The records with cells as text, as a table would have them."""
        for where, record in self.records():
            yield where, {name: "" if cell is None else str(cell) for name, cell in record.items()}


def _as_dict(record: Any) -> Any:
    """A record as a dictionary, whatever class a library has for it; what is none stays what it is."""
    if hasattr(record, "model_dump"):  # pydantic; the aliases are the names that files have
        return record.model_dump(mode="json", by_alias=True)
    # Of MLflow, and of Argilla.
    for method in ("to_dictionary", "to_dict"):
        if hasattr(record, method):
            return getattr(record, method)()
    return asdict(record) if is_dataclass(record) and not isinstance(record, type) else record


def parsed(text: str, where: str) -> Any:
    """JSON; FileFormatError with the line where it is none."""
    try:
        found = json.loads(text)
        if "\\ud" in text.lower():  # halves of characters, which are no text unless they come in pairs
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except UnicodeEncodeError:
        raise FileFormatError(f"{where} must be text; it has half of a character (\\ud…). Export it again.") from None
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{where} must be JSON; line {error.lineno}, column {error.colno}: {error.msg}. Is it cut off?"
        ) from None
    except RecursionError:
        raise FileFormatError(f"{where} is nested more deeply than any export.") from None
    except ValueError:  # Python's limit of digits
        raise FileFormatError(f"{where} holds a number that is longer than any export has.") from None


def json_lines(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of JSON lines, each with words for its place."""
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield f"line {number}", _checked(parsed(line, f"line {number}"), f"line {number}")


def _checked(record: Any, where: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise FileFormatError(f"{where} must be an object; it is {type(record).__name__}.")
    return record


def _object(text: str) -> dict[str, Any]:
    found = json.loads(text)
    return found if isinstance(found, dict) else {}


def field(record: dict[str, Any], name: str, kind: type | tuple[type, ...], where: str, default: Any = ...) -> Any:
    """A field of a record, of the kind that it must be; without a default it must be there.

    >>> field({"id": 7}, "id", int, "record 1"), field({}, "score", float, "record 1", None)
    (7, None)
    """
    value = record.get(name, default)
    if value is ...:
        raise FileFormatError(f"{where} must have a field {name!r}; it has {', '.join(map(repr, record)) or 'none'}.")
    if value is not default and not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        wanted = " or ".join(each.__name__ for each in kinds)
        raise FileFormatError(f"{name!r} of {where} must be {wanted}; it is {type(value).__name__}.")
    return value
