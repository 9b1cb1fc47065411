"""How much memory there is, and a refusal before the work starts where a table would not fit.

A system that runs out of memory first becomes slow, then ends a process without a word. So code that is about to make a
table with a number for every item and label, or every label and label, calls `check_size` before the work begins.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod

from amcc.errors import TooLargeError

# Share of the machine's memory that one table may take: the rest is for votes, results and other programs. A share of
# all memory, not of what is free now: whether an input is refused must not depend on how busy the machine is.
MOST = 0.5

# Powers of 1000, as disks and people count, not of 1024.
UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB")

# Memory that a file may take which is read; a context variable, as readers of all formats ask for it.
_most_read: ContextVar[int | None] = ContextVar("most_read", default=None)


def free_memory() -> int:
    """Bytes that are free now."""
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def all_memory() -> int:
    """Bytes that the machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check_size(what: str, way_out: str, *sides: int, cell_bytes: int = 8) -> None:
    """Raise TooLargeError, before anything is allocated, where a table with these sides would not fit in memory.

    what, way_out : begin and end of the message: what is too large, and what to do instead
    sides : lengths of the table; cell_bytes : what one cell takes, 8 for a number of double precision
    """
    needed, there = prod(sides) * cell_bytes, all_memory()
    if needed > MOST * there:
        raise TooLargeError(
            f"{what} must fit in {MOST:.0%} of the memory ({in_words(there)}); {' x '.join(f'{n:,}' for n in sides)} "
            f"cells would take {in_words(needed)}. {way_out}"
        )


@contextmanager
def reading_at_most(n_bytes: int | None) -> Iterator[None]:
    """Refuse files, inside, that would take more memory; None: compressed ones that would take more than there is."""
    token = _most_read.set(n_bytes)
    try:
        yield
    finally:
        _most_read.reset(token)


def most_read() -> int | None:
    """Memory that a file may take which is read; None where nobody said it."""
    return _most_read.get()


def check_read(what: str, n_bytes: int, limit: int | None) -> None:
    """Raise TooLargeError where a file would take more memory than `limit`, None for all that the machine has.

    what : the file, for the message; n_bytes : what it takes, or what is known of it so far
    """
    limit = all_memory() if limit is None else limit
    if n_bytes > limit:
        raise TooLargeError(
            f"{what} must fit in {in_words(limit)} of memory; it takes more than that. Pack the votes (amcc pack VOTES "
            "-o FOLDER), which needs little memory, or allow more, where there is more: --memory 8GB."
        )


def in_words(n_bytes: float) -> str:
    """A size as people write it.

    >>> in_words(320e9), in_words(1500), in_words(12)
    ('320 GB', '1.5 KB', '12 bytes')
    """
    power = 0
    while n_bytes >= 1000 and power < len(UNITS) - 1:
        n_bytes, power = n_bytes / 1000, power + 1
    return f"{n_bytes:.3g} {UNITS[power]}"
