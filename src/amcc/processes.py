"""One function, many arguments, several processes: for studies that take minutes to hours.

Threads (`amcc.threads`) share memory and serve inside one fit; processes share nothing and serve whole fits. Each of
them computes with one thread, so that `n_processes` is also the number of cores in use.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, TypeVar

Name = TypeVar("Name")
Made = TypeVar("Made")


def computed(
    work: Callable[..., Made], tasks: Iterable[tuple[Name, Sequence[Any]]], n_processes: int
) -> Iterator[tuple[Name, Made]]:
    """What `work` makes of the arguments of each task, in the order in which they are done, by name.

    tasks : name and arguments. With one process, work is done here, when its result is asked for. With more, all tasks
    are handed over at once; `work`, arguments and results travel by pickle. An error of a task is raised here.
    """
    if n_processes == 1:
        yield from ((name, work(*arguments)) for name, arguments in tasks)
        return
    # Fresh processes, not copies of this one: a copy would keep the number of threads that numpy has already chosen.
    context = multiprocessing.get_context("spawn")
    with _one_thread_each(), ProcessPoolExecutor(n_processes, context, _die_of_interrupts) as pool:
        with _interrupts_wait():
            running = {pool.submit(work, *arguments): name for name, arguments in tasks}
        try:
            yield from ((running[future], future.result()) for future in as_completed(running))
        finally:
            pool.shutdown(cancel_futures=True)  # after an error, what waits need not run


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C waits until the block has ended; in processes started inside, until `_die_of_interrupts`."""
    # A process inherits what is blocked: none of ours dies half started, with a traceback of its own.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _die_of_interrupts() -> None:
    """In a process of the pool: Ctrl-C ends it without a word, because the one that started it has the last.

    A terminal sends Ctrl-C to all processes at once; by default, each would print a traceback.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started inside compute linear algebra with one thread each, so that they do not share cores."""
    settings = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]  # first, for None cannot be assigned
            if value is not None:
                os.environ[name] = value
