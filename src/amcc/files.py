"""Files that are complete or absent, and errors that name them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from amcc.errors import FileFormatError, InputError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; rename it when the block ends well, remove it when it does not."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}. Choose another place.") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if path.is_dir():
            raise InputError(f"{path} cannot be written: it is a directory. Name a file in it.")
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes private files; ours are ordinary ones
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_readable(path: Path) -> None:
    """Raise a clear error unless `path` is a file with something in it."""
    if not path.exists():
        raise FileFormatError(f"{path} does not exist.")
    if path.is_dir():
        raise FileFormatError(f"{path} is a directory; name a file in it.")
    try:
        with path.open("rb") as file:
            first = file.read(2)
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}.") from None
    if not first:
        raise FileFormatError(f"{path} is empty; a table with a header line was expected.")
