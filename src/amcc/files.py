"""Files that are complete or absent, and errors that name them."""

from __future__ import annotations

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from amcc.errors import FileFormatError, InputError

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]


def make_folder(path: Path) -> None:
    """Make a folder for output, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {path} cannot be made: {error.strerror}. Choose another place.") from None


@contextmanager
def written_to(path: Path) -> Iterator[None]:
    """Say in errors of the system, such as a full disk, what could not be written."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)  # Arrow says more, for engineers
        raise InputError(f"{path} cannot be written: {reason}. Make room, or choose another place.") from None


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it when the block ends well, remove it when it does not.

    The temporary name ends like the final one, so that its suffix says the same. What writers of the same file left
    there when they were killed goes.
    """
    if path.is_dir():
        raise InputError(f"{path} cannot be written: it is a directory. Name a file in it.")
    with written_to(path):
        remove_left_behind(path)
        temporary = path.with_name(f".part-{secrets.token_hex(4)}-{path.name}")
        with ExitStack() as stack:
            stack.callback(_remove, temporary)  # before it is there: Ctrl-C may come at any moment
            stack.callback(_locked(temporary).close)
            yield temporary
            temporary.replace(path)


def _remove(temporary: Path) -> None:
    with suppress(OSError):  # what cannot be made need not be removed
        temporary.unlink()


def _locked(temporary: Path) -> IO[bytes]:
    """The new empty file, locked until it is closed: so others see that its writer lives."""
    while True:
        file = temporary.open("xb")
        _lock(file, wait=True)
        if temporary.exists():
            return file
        file.close()  # somebody took it for left behind before it was locked


def remove_left_behind(path: Path) -> None:
    """Remove what writers of this file left when they were killed; files of living writers stay."""
    for left in path.parent.glob(f".part-????????-{glob.escape(path.name)}"):
        with suppress(OSError), left.open("r+b") as file:
            if _lock(file, wait=False):
                left.unlink()


def _lock(file: IO[bytes], *, wait: bool) -> bool:
    """Whether the file is now ours: nobody else holds it, and the system knows locks."""
    if fcntl is None:
        file.close()  # Windows, where an open file cannot be renamed
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


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
