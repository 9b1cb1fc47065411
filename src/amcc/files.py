"""Files that are complete or absent, and errors that name them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from amcc.errors import FileFormatError, InputError


def make_folder(path: Path) -> None:
    """Make a folder for output, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {path} cannot be made: {error.strerror}. Choose another place.") from None


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it when the block ends well, remove it when it does not.

    The temporary name ends like the final one, so that its suffix says the same.
    """
    temporary = path.with_name(f".part-{secrets.token_hex(4)}-{path.name}")
    try:
        if path.is_dir():
            raise InputError(f"{path} cannot be written: it is a directory. Name a file in it.")
        temporary.touch(exist_ok=False)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}. Choose another place.") from None
    finally:
        with suppress(OSError):  # what cannot be made need not be removed
            temporary.unlink()


def check_readable(path: Path) -> None:
    """Raise a clear error unless `path` is a file with something in it."""
    if not path.exists():
        raise FileFormatError(f"{path} does not exist.")
    if path.is_dir():
        raise FileFormatError(f"{path} is a directory; name a file in it.")
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from None
    if empty:
        raise FileFormatError(f"{path} is empty; a table with a header line was expected.")


def open_text(path: Path) -> Any:
    """Stream of the bytes of a text file, which is compressed if its name says so."""
    return pa.input_stream(str(path), compression=_compression(path))


def create_text(path: Path) -> Any:
    """Stream to write the bytes of a text file to, compressed if its name says so."""
    return pa.output_stream(str(path), compression=_compression(path))


def _compression(path: Path) -> str | None:
    return "gzip" if path.name.lower().endswith(".gz") else None
