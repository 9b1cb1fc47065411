"""Packed votes on a cluster of processes: on this machine by default, on many with the address of a scheduler.

Functions and the numbers of blocks travel, never the votes: every process reads the blocks that it is given, so all
must see the folder under the same path. Functions change nothing, so whatever a lost process had to do is done again.
"""

from __future__ import annotations

import functools
import itertools
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from amcc.engine.base import Engine
from amcc.engine.checkpoint import Checkpoint
from amcc.engine.local import LocalEngine, parts_of
from amcc.engine.packed import PackedVotes
from amcc.errors import InputError, MissingExtraError
from amcc.kernels import one_thread

Result = TypeVar("Result")

N_PARTS = 32
"""Runs of blocks that are tasks. Fixed, so that results do not depend on how many processes there are."""

FAN_IN = 8
"""Results that one task adds up."""

ATTEMPTS = 4
"""Times a round is tried; a process that is lost takes with it what only it knew."""

START_SECONDS = 60


class DaskEngine(Engine):
    """Blocks are mapped over by the processes of a Dask cluster.

    scheduler : address of a running scheduler; None starts a cluster of processes here, one for each core
    memory : bytes for the blocks that all processes of a cluster started here keep; None keeps all
    """

    def __init__(
        self,
        packed: PackedVotes | str | Path,
        scheduler: str | None = None,
        *,
        n_processes: int | None = None,
        memory: int | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        try:
            import distributed
        except ImportError:
            raise MissingExtraError("the Dask engine needs Dask: pip install 'amcc[dask]'.") from None
        self.packed = packed if isinstance(packed, PackedVotes) else PackedVotes(packed)
        self.worker_names, self.label_names = self.packed.worker_names, self.packed.label_names
        self.coins, self.identity = self.packed.coins, f"packed votes {self.packed.identity:08x}"
        self.checkpoint = checkpoint
        self.n_votes, self.n_pairs, self.n_items = self.packed.n_votes, self.packed.n_pairs, self.packed.n_items
        n_processes = n_processes or os.cpu_count() or 1
        share = None if memory is None else memory // n_processes
        self._place = str(self.packed.folder.resolve()), self.packed.identity, share
        self._cluster: Any = None
        if scheduler is None:
            self._cluster = distributed.LocalCluster(
                n_workers=n_processes, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
                memory_limit=0, silence_logs=logging.CRITICAL,
            )  # fmt: skip
        try:
            self.client: Any = distributed.Client(self._cluster or scheduler, timeout=START_SECONDS)
        except (OSError, ValueError) as error:
            raise InputError(
                f"the scheduler {scheduler} must be a running Dask scheduler, like tcp://host:8786; it does not answer "
                f"({error}). Start it with dask scheduler, or leave out --scheduler."
            ) from None

    def close(self) -> None:
        """End the cluster that was started here, and the connection."""
        self.client.close()
        if self._cluster is not None:
            self._cluster.close()

    def total(self, function: Callable[..., Result], *shared: Any) -> Result:
        """Sum over blocks: runs of blocks are tasks, and so are the sums of their results."""
        runs = parts_of(len(self.packed.entries), N_PARTS)

        def add_up() -> Result:
            spread = self._share(shared)
            level = [self._submit(total_of_run, self._place, run, function, spread) for run in runs]
            while len(level) > 1:
                level = [self._submit(sum_of, level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
            result: Result = level[0].result()
            return result

        return _persistently(add_up)

    def each(self, function: Callable[..., Result], *shared: Any) -> Iterator[Result]:
        """Results in order; a few blocks for each process at a time."""
        wave = 4 * max(len(self.client.scheduler_info()["workers"]), 1)
        numbers = range(len(self.packed.entries))

        def results(some: Sequence[int]) -> list[Result]:
            spread = self._share(shared)
            found: list[Result] = self.client.gather(
                [self._submit(of_block, self._place, number, function, spread) for number in some]
            )
            return found

        for first in range(0, len(numbers), wave):
            yield from _persistently(functools.partial(results, numbers[first : first + wave]))

    def _share(self, values: tuple[Any, ...]) -> Any:
        """What all tasks of a round need, as the result of a task: when its process is lost, another makes it again."""
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._submit(handed_on, Parcel(values))

    def _submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        return self.client.submit(task, *arguments, pure=False, retries=ATTEMPTS)


def _persistently(work: Callable[[], Result]) -> Result:
    """Do it again where processes were lost in the middle."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    for attempt in itertools.count(1):
        try:
            return work()
        except (KilledWorker, CancelledError, OSError):
            if attempt == ATTEMPTS:
                raise
    raise AssertionError  # for the type checker: the loop does not end


# -- in the processes ------------------------------------------------------------------------------------------------

Place = tuple[str, int, int | None]


@dataclass(frozen=True)
class Parcel:
    """Values that travel as they are."""

    values: tuple[Any, ...]


def handed_on(parcel: Parcel) -> Parcel:
    """The parcel itself."""
    return parcel


@functools.lru_cache(maxsize=2)
def _engine(folder: str, identity: int, memory: int | None) -> LocalEngine:
    """The folder as this process knows it; `identity` changes when other votes are packed into it."""
    return LocalEngine(folder, memory)


def total_of_run(place: Place, run: range, function: Callable[..., Result], shared: Parcel) -> Result:
    """Sum over a run of blocks."""
    with one_thread():
        return _engine(*place).total_of(run, function, *shared.values)


def of_block(place: Place, number: int, function: Callable[..., Result], shared: Parcel) -> Result:
    """The result of one block."""
    with one_thread():
        return function(_engine(*place).block(number), *shared.values)


def sum_of(results: Sequence[Any]) -> Any:
    """Sum of named tuples, which stay as they are: they may be needed once more."""
    return functools.reduce(lambda one, other: type(one)(*(a + b for a, b in zip(one, other, strict=True))), results)
