"""Threads for passes over the votes: how many pieces there are, and how to run a task for each of them.

Sums of fractions depend on the order: (a + b) + c and a + (b + c) differ in their last digits. If a pass were cut into
as many pieces as there are cores, every machine would bracket its sums in its own way, and a fit of a hundred rounds
could stop one round earlier on one of them. So the number of pieces follows from the data alone, each piece is summed
from beginning to end by whichever thread takes it, and the sums of the pieces are added in the order of the pieces.
Neither the number of cores nor which thread was faster changes anything.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from amcc.errors import ParameterError

Made = TypeVar("Made")

# What follows the last thing that `read_ahead` reads.
END: Any = object()

# The environment variable with the number of threads, for those who share a machine. Without it: all cores that the
# process may use.
VARIABLE = "AMCC_THREADS"

# Pieces a pass is cut into, see `n_pieces`: enough for two cores at least, for the 64 of a large machine at most. Other
# numbers change the last digits of all results, so they do not follow the machine.
FEWEST_PIECES, MOST_PIECES = 2, 64

# Rows of a piece, at least: a pass over so many takes about a millisecond, and handing a piece to a thread some ten
# microseconds.
PIECE_ROWS = 50_000

# Rows of a piece for each of its sums, at least. Every piece has a table of sums of its own, which is cleared, filled
# and added to the others: with half as many rows that takes a tenth of a round, and with a quarter, a third.
ROWS_PER_SUM = 8

# Held while numpy reads arrays from a file: it parses a header as Python, and before 3.11.8 Python counts the depth of
# what it parses for all threads together, so two that parse at once may see "recursion depth mismatch".
READING_HEADERS = threading.Lock()


def in_threads(task: Callable[[int], Any], n_tasks: int) -> list[Any]:
    """Results of task(0), task(1), … in order; worth it where a task lets go of Python's lock.

    A task that comes here itself finds all threads taken, so its own tasks run one after the other. An error of a task
    is raised here.

    >>> in_threads(lambda number: number**2, 4)
    [0, 1, 4, 9]
    """
    if n_tasks <= 1 or _is_taken():
        return [task(index) for index in range(n_tasks)]

    def run(index: int) -> Any:
        with one_thread():
            return task(index)

    # With one, threads would only take turns.
    return list((_threads(os.getpid(), n_threads()).map if n_threads() > 1 else map)(run, range(n_tasks)))


def in_few_threads(task: Callable[[int], Made], n_tasks: int, most: int) -> Iterator[Made]:
    """The same one by one as they are ready, with `most` tasks at work at a time: for tasks that take much memory.

    Whatever happens, also Ctrl-C, no task is at work any more when this ends.

    >>> list(in_few_threads(lambda number: number**2, 4, most=2))
    [0, 1, 4, 9]
    """
    if n_tasks <= 1 or _is_taken():
        yield from map(task, range(n_tasks))
        return

    def run(index: int) -> Made:
        with one_thread():
            return task(index)

    if n_threads() == 1:
        yield from map(run, range(n_tasks))
        return
    with ThreadPoolExecutor(min(n_threads(), most)) as threads:
        yield from threads.map(run, range(n_tasks))


def read_ahead(source: Iterator[Made]) -> Iterator[Made]:
    """What the source gives; while one is looked at, a thread of its own gets the next.

    >>> list(read_ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    if _is_taken() or n_threads() == 1:
        yield from source
        return
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, source, END)
        while (found := coming.result()) is not END:
            coming = thread.submit(next, source, END)
            yield found


def n_threads() -> int:
    """Threads at work at the same time: as the environment says, else as many as this process may use cores."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted:
        if not (wanted.isdecimal() and int(wanted)):
            message = f"the environment variable {VARIABLE} must be a whole number of at least 1, not {wanted!r}"
            raise ParameterError(message)
        return int(wanted)
    # A container or a batch system often allows fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, `in_threads` starts none: for use where each core has a process of its own already."""
    before = _is_taken()
    _taken.by_task = True
    try:
        yield
    finally:
        _taken.by_task = before


def n_pieces(n_rows: int, n_sums: int = 0) -> int:
    """Pieces to cut a pass over so many rows into, where each piece has a table of `n_sums` sums of its own.

    One within a task of several, for then all threads are taken. That, too, depends only on the engine, not on the
    machine: tasks over blocks always see one piece.

    >>> n_pieces(10_000_000, n_sums=200_000), n_pieces(10_000_000, n_sums=4_000_000), n_pieces(100)
    (6, 2, 2)
    """
    if _is_taken():
        return 1
    return min(max(n_rows // max(PIECE_ROWS, ROWS_PER_SUM * n_sums), FEWEST_PIECES), MOST_PIECES)


# Each thread knows for itself whether it is at work on a task: a variable of all would be wrong for the others.
_taken = threading.local()


def _is_taken() -> bool:
    return getattr(_taken, "by_task", False)


@functools.cache
def _threads(process: int, n_threads: int) -> ThreadPoolExecutor:
    """Threads of this process (a fork has none), started once: a fit comes here a thousand times."""
    return ThreadPoolExecutor(n_threads)
