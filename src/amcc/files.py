"""Files that are complete or absent, errors that name them, and the hash of what they hold.

Whoever writes a file uses `whole_file`: a reader finds the old file or the new one, never half of one, whatever
happens in between. Errors about files are worded here only: `not_written` and `not_read`.
"""

from __future__ import annotations

import glob
import hashlib
import io
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from amcc.errors import FileFormatError, InputError
from amcc.memory import check_read, most_read

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]


# -- errors ----------------------------------------------------------------------------------------------------------


def not_written(path: Path, reason: str | OSError, way_out: str = "Make room, or choose another place.") -> InputError:
    """The error that a file cannot be written, and why.

    >>> str(not_written(Path("a.csv"), "it is a directory", "Name a file in it."))
    'a.csv cannot be written: it is a directory. Name a file in it.'
    """
    return InputError(f"{path} cannot be written: {_reason(reason)}. {way_out}")


def not_read(path: Path, reason: str | OSError, way_out: str = "") -> FileFormatError:
    """The error that a file cannot be read, and why."""
    return FileFormatError(f"{path} cannot be read: {_reason(reason)}. {way_out}".rstrip())


def _reason(reason: str | OSError) -> str:
    if isinstance(reason, OSError):  # only what the system says of it: Arrow says more, for engineers
        return os.strerror(reason.errno) if reason.errno else str(reason)
    return reason


def first_line(error: Exception) -> str:
    """What a library says about a problem, shortly: its first line, or the kind of error if it says nothing.

    >>> first_line(ValueError("bad\\nin many lines")), first_line(KeyError())
    ('bad', 'KeyError')
    """
    return str(error).splitlines()[0] if str(error) else type(error).__name__


@contextmanager
def written_to(path: Path, way_out: str = "Make room, or choose another place.") -> Iterator[None]:
    """Say in errors of the system, such as a full disk, what could not be written."""
    try:
        yield
    except OSError as error:
        raise not_written(path, error, way_out) from None


def check_is_file(path: Path, what: str | None = None) -> None:
    """Raise FileFormatError unless there is a file; `what` it must be, for the error where it is a directory."""
    if not path.exists():
        raise FileFormatError(f"{path} does not exist.")
    if path.is_dir():
        raise FileFormatError(f"{path} is a directory{f', not {what}' if what else '; name a file in it'}.")


def check_readable(path: Path) -> None:
    """Raise a clear error unless `path` is a file with something in it."""
    check_is_file(path)
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise not_read(path, error) from None
    if empty:
        raise FileFormatError(f"{path} is empty; a table with a header line was expected.")


# -- writing ---------------------------------------------------------------------------------------------------------


def make_folder(path: Path) -> None:
    """Make a folder for output, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {path} cannot be made: {error.strerror}. Choose another place.") from None


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it when the block ends well, remove it when it does not.

    The temporary name ends like the final one, so that its suffix says the same. What writers of the same file left
    there when they were killed goes.
    """
    if path.is_dir():
        raise not_written(path, "it is a directory", "Name a file in it.")
    with written_to(path):
        remove_left_behind(path)
        # Beside the file, since only within one file system is a renaming all or nothing.
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


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until nobody else is in such a block for this folder. Where the system has no locks, there is no waiting."""
    with ExitStack() as stack:
        if fcntl is not None:
            with suppress(OSError):  # whoever works in the folder will say what is wrong with it
                lock = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, lock)  # which unlocks it, as does the end of a killed process
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def put_on_disk(*paths: Path) -> None:
    """Have the system write out files or folders that it may still hold in memory, so that a power cut spares them."""
    for path in paths:
        with suppress(OSError):  # Windows does so for files that are open for writing only
            file = os.open(path, os.O_RDONLY)
            try:
                os.fsync(file)
            finally:
                os.close(file)


# -- contents --------------------------------------------------------------------------------------------------------


def content_hash(*parts: Path | str | Any) -> str:
    """SHA-256, in 64 hexadecimal digits, of all parts one after the other.

    A path stands for what its file holds, text for its UTF-8 bytes; bytes and contiguous arrays are what they are.
    Parts are not told apart: put a separator between texts where that matters.

    >>> content_hash("ab", b"c")[:16], content_hash("abc")[:16]
    ('ba7816bf8f01cfea', 'ba7816bf8f01cfea')
    """
    found = hashlib.sha256()
    for part in parts:
        found.update(part.read_bytes() if isinstance(part, Path) else part.encode() if isinstance(part, str) else part)
    return found.hexdigest()


# Bytes that are unpacked at a time where all are wanted: a few megabytes more than allowed do no harm.
UNPACKED_AT_ONCE = 1 << 22

# Memory that a byte of text may take: the shortest rows, of 11 bytes, become votes that take 43 while they are read.
TEXT_GROWS = 4


class _Unpacked(io.RawIOBase):
    """What a compressed file holds, up to as much as may be in memory: a megabyte can hold a thousand."""

    def __init__(self, path: Path) -> None:
        # The limit as it is now: Arrow reads in other threads, which do not know it.
        self.path, self.n_read, self.limit = path, 0, most_read()
        self.stream = pa.input_stream(str(path), compression=_compression(path))

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        """So many bytes, or all that are left. Raises TooLargeError where they are too many."""
        if size is None or size < 0:
            return b"".join(iter(lambda: self.read(UNPACKED_AT_ONCE), b""))
        found: bytes = self.stream.read(size)
        self.n_read += len(found)
        check_read(f"{self.path}, unpacked,", self.n_read * TEXT_GROWS, self.limit)
        return found

    def close(self) -> None:
        self.stream.close()
        super().close()


def open_text(path: Path, *, in_pieces: bool = False) -> Any:
    """Stream of the bytes of a text file, which is compressed if its name says so.

    in_pieces : not all is going to be in memory, so that it may be more than fits there
    """
    if not in_pieces:
        if _compression(path) is not None:
            return _Unpacked(path)
        # What is not compressed is refused by its size only if somebody said a limit: not all columns may be wanted.
        if (limit := most_read()) is not None:
            check_read(str(path), path.stat().st_size * TEXT_GROWS, limit)
    return pa.input_stream(str(path), compression=_compression(path))


def create_text(path: Path) -> Any:
    """Stream to write the bytes of a text file to, compressed if its name says so."""
    return pa.output_stream(str(path), compression=_compression(path))


def _compression(path: Path) -> str | None:
    return "gzip" if path.name.lower().endswith(".gz") else None
