"""Threads for passes over the votes: how many pieces there are, and how to run a task for each of them.

Sums of fractions depend on the order: (a + b) + c and a + (b + c) differ in their last digits. If a pass were cut into
as many pieces as there are cores, every machine would bracket its sums in its own way, and a fit of a hundred rounds
could stop one round earlier on one of them. So the number of pieces is fixed, each piece is summed from beginning to
end by whichever thread takes it, and the sums of the pieces are added in the order of the pieces. Which thread was
faster changes nothing.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

# Pieces a pass is cut into, see `n_pieces`. Fixed for the reason above: another number changes the last digits of all
# results. Two is what the machines of our benchmarks have. More would keep more cores busy, and each piece needs a
# table of all coins of its own; many cores are better used by engines, which give each core blocks of its own.
N_PIECES = 2


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

    # On one core threads would only take turns.
    return list((_threads(os.getpid()).map if (os.cpu_count() or 1) > 1 else map)(run, range(n_tasks)))


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, `in_threads` starts none: for use where each core has a process of its own already."""
    before = _is_taken()
    _taken.by_task = True
    try:
        yield
    finally:
        _taken.by_task = before


def n_pieces() -> int:
    """Pieces to cut a pass into: one within a task of several, for then all threads are taken.

    That, too, depends only on the engine, not on the machine: tasks over blocks always see one piece.
    """
    return 1 if _is_taken() else N_PIECES


# Each thread knows for itself whether it is at work on a task: a variable of all would be wrong for the others.
_taken = threading.local()


def _is_taken() -> bool:
    return getattr(_taken, "by_task", False)


@functools.cache
def _threads(process: int) -> ThreadPoolExecutor:
    """Threads of this process (a fork has none), started once: a fit comes here a thousand times."""
    return ThreadPoolExecutor(os.cpu_count())
