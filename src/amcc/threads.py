"""Threads for passes over the votes: how many pieces there are, and how to run a task for each of them."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

N_PIECES = 2
"""Pieces a pass is cut into, see `n_pieces`. Fixed, so that results do not depend on how many cores a machine has."""


def in_threads(task: Callable[[int], Any], n_tasks: int) -> list[Any]:
    """Results of task(0), task(1), … in order; worth it where a task lets go of Python's lock.

    A task that comes here itself finds all threads taken, so its own tasks run one after the other.
    """
    if n_tasks <= 1 or getattr(_taken, "by_task", False):
        return [task(index) for index in range(n_tasks)]

    def run(index: int) -> Any:
        with one_thread():
            return task(index)

    return list((_threads(os.getpid()).map if (os.cpu_count() or 1) > 1 else map)(run, range(n_tasks)))


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, `in_threads` starts none: for processes of which there is already one for each core."""
    before = getattr(_taken, "by_task", False)
    _taken.by_task = True
    try:
        yield
    finally:
        _taken.by_task = before


def n_pieces() -> int:
    """Pieces to cut a pass into: one within a task of several, for then all threads are taken."""
    return 1 if getattr(_taken, "by_task", False) else N_PIECES


_taken = threading.local()


@functools.cache
def _threads(process: int) -> ThreadPoolExecutor:
    """Threads of this process (a fork has none), started once: a fit comes here a thousand times."""
    return ThreadPoolExecutor(os.cpu_count())
