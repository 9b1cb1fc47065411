"""A file that only grows: chained lines on the disk, which one process has at a time.

What a campaign did (`amcc.active.ledger`) and what was asked and paid from the command line (`amcc.active.accounts`)
stand in such a file. It is opened and locked, its lines are read and judged by their owner, and only then is it
written: whatever the owner refuses stays as it is. A line is on the disk when `write` returns.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

from amcc.active import chain
from amcc.active.chain import damaged
from amcc.errors import FileFormatError, InputError, ParameterError

__all__ = ["Journal", "decoded", "naming_ledger"]


class Journal:
    """The lines of a file, and the right to add to them, until it is closed or the process ends.

    Cut off is a last line without a newline, from a writer that was killed: nobody has relied on it yet. It is dropped
    by `accept`. Two writers of one file would spend the same money twice, so there is only one.

    Parameters
    ----------
    path : the file. create : make it where it is not there.
    first : the first line that the owner would write. A file with less than a line must be its beginning: it may be the
        notes of somebody, and must not be overwritten.

    Attributes
    ----------
    lines : the complete lines that were there. Their hashes are not checked yet, see `chain.checked_head`.
    head : hash of the last line.
    """

    def __init__(self, path: Path, *, first: dict[str, Any], create: bool = True) -> None:
        self._path, self._is_ours = path, not path.exists()
        self.lines: list[bytes]
        self._file = _opened(path, create=create)
        try:
            text = self._file.readall()
            self.lines, tail = _lines_of(text, first)
        except BaseException:
            self._file.close()
            raise
        self.head: str = chain.line_hash(self.lines[-1]) if self.lines else chain.START
        self._size = len(text) - len(tail)
        self._lacks_newline = bool(self.lines) and text.endswith(self.lines[-1])

    def accept(self) -> None:
        """Believe the lines: drop what was cut off, and see to it that the rest is on the disk."""
        self._file.truncate(self._size)
        if self.lines:  # what a killed writer left counts once it is on the disk, too
            self._add(b"\n" if self._lacks_newline else b"")

    def write(self, events: list[dict[str, Any]]) -> None:
        """Add lines to the file, all or none; they are on the disk when this returns."""
        is_new = os.fstat(self._file.fileno()).st_size == 0
        lines, head = chain.chained(events, self.head)
        self._add(lines)
        self.head = head
        if is_new:
            _keep_entry(self._path)

    def close(self) -> None:
        """Let go of the file. One that was made here, and to which nothing was written, goes."""
        if self._file.closed:
            return
        with suppress(OSError):
            if self._is_ours and os.fstat(self._file.fileno()).st_size == 0:
                self._path.unlink()
        self._file.close()

    def _add(self, text: bytes) -> None:
        """Add all of the text to the file, or nothing of it."""
        size = os.fstat(self._file.fileno()).st_size
        try:
            while text:  # a write without buffer may take a part only
                text = text[self._file.write(text) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):  # else the next run drops what is not complete
                self._file.truncate(size)
            raise InputError(
                f"the ledger {self._path} cannot be written: {error.strerror}. What stands there so far is all that "
                "counts. Make room and run it again: it goes on from there."
            ) from None


@contextmanager
def naming_ledger(path: Path) -> Iterator[None]:
    """Name the file in errors while it is opened and read."""
    try:
        yield
    except BlockingIOError:
        raise InputError(
            f"the ledger {path} is in use: another process has it. Wait until that ends, or name another file."
        ) from None
    except OSError as error:
        raise InputError(f"the ledger {path} cannot be used: {error.strerror}. Name another file.") from None
    except (FileFormatError, ParameterError) as error:
        raise type(error)(f"{path}: {error}") from None


def decoded(line: int, text: bytes, events: tuple[str, ...]) -> dict[str, Any]:
    """What a line says: an object, which must be one of these events."""
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        no_ledger = ", so that this is perhaps no ledger, and another file was meant" if line == 1 else ""
        raise damaged(line, f"it is not JSON{no_ledger}") from None
    if not isinstance(event, dict) or event.get("event") not in events:
        raise damaged(line, f"its event is none of {', '.join(events)}")
    return event


def _opened(path: Path, *, create: bool) -> FileIO:
    """The file, to be read and added to, which nobody else has; BlockingIOError where somebody has."""
    # O_APPEND: every write goes to the end, whatever was read; 0o666 is cut down by the umask of the user.
    flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0) | (os.O_CREAT if create else 0)
    while True:
        # Unbuffered: what could not be written must not be tried once more when the file is closed.
        file = FileIO(os.open(path, flags, 0o666), "a+")
        try:
            # A pipe or a folder can be opened, but not be read back after a crash.
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OSError(errno.EINVAL, "it is not a file")
            _lock(file)
            if _is_at(file, path):
                file.seek(0)
                return file
        except OSError:
            file.close()
            raise
        file.close()  # whoever had it before wrote nothing, and took it away: what is written to it would be lost


def _is_at(file: FileIO, path: Path) -> bool:
    """Whether the open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _lock(file: FileIO) -> None:
    """Raise BlockingIOError where somebody else holds the file; the lock ends with the file, and with the process."""
    try:
        import fcntl
    except ImportError:  # Windows: there, nobody is kept out
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _keep_entry(path: Path) -> None:
    """See to it that a new file is in its folder after a power cut, too."""
    with suppress(OSError):  # Windows does not open folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _lines_of(text: bytes, first: dict[str, Any]) -> tuple[list[bytes], bytes]:
    """Complete lines, and the beginning of one that was cut off while it was written."""
    *lines, tail = text.split(b"\n")  # the tail is empty where the last line is whole
    head = chain.line_hash(lines[-1]) if lines else chain.START
    if chain.follows(tail, head):  # only the newline is missing
        return [*lines, tail], b""
    if not lines and not chain.chained([first], chain.START)[0].startswith(tail):
        raise damaged(1, "it is not the beginning of these settings")
    if chain.follows(tail[:-1], head):
        raise damaged(len(lines) + 1, f"it must end with a newline, not with {tail[-1:]!r}")
    return lines, tail
