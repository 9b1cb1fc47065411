"""Packed votes on a cluster of processes: on this machine by default, on many with the address of a scheduler.

Functions and the numbers of blocks travel, never the votes: every process reads the blocks that it is given, so all
must see the folder under the same path. Functions change nothing, so whatever a lost process had to do is done again.

Who can talk to a Dask process can run code as its owner. So a cluster that is started here takes orders only over TLS
with a key that was made for it and is known to its processes alone.

How a round runs (`DaskEngine.total`):

1. What the round shares (beliefs about coins) is sent once, and spreads from process to process.
2. Each process adds up its own runs of blocks, always the same ones (`_homes`), so it can keep them in memory.
3. Sums of processes are brought together FAN_IN at a time, and the last few here.

Always the same two sums are added, in a tree over the numbers of the runs (`merged`), whoever had them. So a result
does not depend on how many processes there are, or on which of them were lost on the way.

A fit that works on many coins between its rounds has them cut into shards that live with the processes. Then 1 and 3
are not done here: see `amcc.engine.dask_shards`.
"""

from __future__ import annotations

import functools
import itertools
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from amcc.engine.checkpoint import Checkpoint
from amcc.engine.local import LocalEngine, runs_of
from amcc.engine.packed import PackedEngine, PackedVotes
from amcc.engine.shards import Shards
from amcc.errors import EngineError, InputError, MissingExtraError
from amcc.threads import one_thread

Result = TypeVar("Result")

# Runs of blocks that are added up in pairs, and pairs of pairs, … (`merged`). Fixed, so that results do not depend on
# how many processes there are. 32 keep 16 processes busy with two runs each; a power of two makes the tree even.
N_PARTS = 32

# Results that are brought together at a time: with two there would be more steps to wait for, with all of them one
# process would receive everything while the others have nothing to do.
FAN_IN = 8

# Times a round is tried; a process that is lost takes with it what only it knew. Machines fail one at a time: who
# loses processes four times in one round has another problem, and should hear of it.
ATTEMPTS = 4

# What a scheduler that is started here may take to answer: more than enough on a machine that is busy elsewhere.
START_SECONDS = 60

# What a running one may take: it needs milliseconds, and a name server or a busy network a second or two.
ANSWER_SECONDS = 5.0

# How often to look whether the scheduler is still there while tasks run: users should hear of its loss within seconds.
LOOK_SECONDS = 1.0

# Blocks for each process in a wave of `each`: enough that none waits for the slowest, few enough to be held here.
BLOCKS_AT_ONCE = 4

# Coins up to which the leader works on them alone: with 100,000 it is done sooner than Dask has handed out the tasks of
# shards, with 800,000 on two processes it is done later (benchmarks/cluster_rounds.py). With one process shards are
# always slower; the number of processes has no say all the same, for it must not change the last digits of a result.
FEW_COINS = 500_000

# What was sent and has come to this is sent again; what is lost with its process Dask makes again by itself.
USELESS = ("error", "cancelled")

# Arrays as large as these say are given back to the system when they are done with, and a round has many that the next
# one needs again: processes started here keep them, and take half the time that they take with Dask's own setting.
KEEP_MEMORY = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")


class DaskEngine(PackedEngine):
    """Blocks are mapped over by the processes of a Dask cluster.

    Use it in a `with` statement: at its end a cluster that was started here is shut down.

    packed : the folder, under a path that all processes can read
    scheduler : address of a running scheduler, or a cluster object of Dask's; None starts a cluster of processes here,
        one for each core, that nobody else can talk to. Certificates for tls:// come from Dask's own configuration
    memory : bytes for the blocks that all processes of a cluster started here keep; None keeps all
    timeout : seconds that a scheduler has to answer, and to come back when it was lost
    """

    def __init__(
        self,
        packed: PackedVotes | str | Path,
        scheduler: Any = None,
        *,
        n_processes: int | None = None,
        memory: int | None = None,
        checkpoint: Checkpoint | None = None,
        timeout: float = ANSWER_SECONDS,
    ) -> None:
        try:
            import distributed  # noqa: F401  # said at once, not in the middle of the work
        except ImportError:
            raise MissingExtraError("the Dask engine needs Dask: pip install 'amcc[dask]'.") from None
        super().__init__(packed, checkpoint)
        n_processes = n_processes or os.cpu_count() or 1
        share = None if memory is None else memory // n_processes
        self._place = str(self.packed.folder.resolve()), self.packed.identity, share
        self._sent: list[tuple[Any, Any]] = []
        self._here = scheduler is None
        self._few_coins: float = FEW_COINS
        # What was opened is closed again if a later step fails; else it stays open until `close`.
        with ExitStack() as opened:
            if scheduler is None:
                self.cluster: Any = _processes_here(n_processes, opened)
                timeout = START_SECONDS
            else:
                self.cluster = scheduler
            self.client: Any = opened.enter_context(_client(self.cluster, timeout))
            self._opened = opened.pop_all()

    def close(self) -> None:
        """End the cluster that was started here, and the connection."""
        self._opened.close()

    def total(self, function: Callable[..., Result], *shared: Any) -> Result:
        """Sum over blocks. Every process adds up its own, because a task takes as long as millions of votes."""
        runs = runs_of(len(self.packed.entries), N_PARTS)

        def add_up() -> Result:
            spread = self._share(shared)
            of_process: dict[str | None, Runs] = {}
            for number, home in enumerate(self._homes(runs)):
                of_process.setdefault(home, {})[number] = runs[number]
            level = [
                self._submit(total_of_runs, self._place, own, function, *spread, home=home)
                for home, own in of_process.items()
            ]
            while len(level) > FAN_IN:
                level = [self._submit(merged, level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
            return whole_sum(merged(self._results(level)))  # type: ignore[no-any-return]

        return self._persistently(add_up)

    def each(self, function: Callable[..., Result], *shared: Any) -> Iterator[Result]:
        """Results in order; a few blocks for each process at a time."""
        wave = BLOCKS_AT_ONCE * max(len(self._processes()), 1)
        blocks = [range(number, number + 1) for number in range(len(self.packed.entries))]

        def results(some: range) -> list[Result]:
            spread, homes = self._share(shared), self._homes(blocks)
            return self._results(
                [self._submit(of_block, self._place, number, function, *spread, home=homes[number]) for number in some]
            )

        for first in range(0, len(blocks), wave):
            yield from self._persistently(functools.partial(results, range(first, min(first + wave, len(blocks)))))

    def shards(self) -> Shards:
        """The coins, cut by worker and kept by the processes that there are now, where that pays."""
        from amcc.engine.dask_shards import DaskShards  # which is built on this module

        return super().shards() if len(self.coins) < self._few_coins else DaskShards(self)

    def _results(self, futures: list[Any]) -> list[Any]:
        """Results of tasks; straight from the processes where these are here.

        Dask waits for ever for tasks that it was given between the loss of the scheduler and the notice of it, and for
        processes that it started here and could not replace.
        """
        from distributed import wait

        seen = time.monotonic()
        while True:
            try:
                wait(futures, timeout=LOOK_SECONDS)
                break
            except TimeoutError:
                self._need_scheduler()
                if not self._here or self._processes():
                    seen = time.monotonic()
                    self._free_stranded()
                elif time.monotonic() - seen > START_SECONDS:
                    raise self._stopped("all processes of the Dask cluster were lost and none came back") from None
        found: list[Any] = self.client.gather(futures, direct=self._here)
        return found

    def _free_stranded(self) -> None:
        """Let others take the tasks whose processes were lost at a time when there was no other.

        Dask tries a task that no process can take again when a process comes that was asked for, and only then. Tasks
        that shards are computed from must not wait for one that will never come.
        """

        def free(dask_scheduler: Any) -> None:  # within a method, so that it is sent whole: schedulers need no amcc
            stranded = [
                task
                for task in dask_scheduler.unrunnable
                if task.loose_restrictions and not dask_scheduler.valid_workers(task)
            ]
            if stranded and dask_scheduler.running:
                dask_scheduler.transitions({task.key: "waiting" for task in stranded}, "stranded-tasks")

        self.client.run_on_scheduler(free)

    def _persistently(self, work: Callable[[], Result]) -> Result:
        """Do it again where processes were lost in the middle, as long as there is a scheduler."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        for attempt in itertools.count(1):
            try:
                return work()
            except Exception as error:
                self._need_scheduler()
                if not isinstance(error, (KilledWorker, CancelledError, OSError)):
                    raise
                if attempt == ATTEMPTS:
                    raise self._stopped(f"processes were lost {ATTEMPTS} times in the same round ({error})") from error
        raise AssertionError  # for the type checker: the loop does not end

    def _need_scheduler(self) -> None:
        """Raise EngineError where the scheduler was lost; Dask waits for it to come back, then gives up."""
        while self.client.status == "connecting":
            time.sleep(0.1)
        if self.client.status != "running":
            raise self._stopped(f"the Dask scheduler {self.cluster} was lost in the middle of the work")

    def _stopped(self, why: str) -> EngineError:
        """The error that says why the work stopped, and how to go on."""
        go_on = "with --checkpoint FILE a fit goes on where it stopped"
        if self.checkpoint is not None:
            go_on = f"the fit goes on from {self.checkpoint.path}"
        return EngineError(f"{why}. See that scheduler and processes run, and do the same again: {go_on}.")

    def _processes(self) -> list[str]:
        """Addresses of the processes that are there now."""
        return sorted(self.client.scheduler_info(n_workers=-1).get("workers", ()))

    def _homes(self, runs: Sequence[range], among: Sequence[Any] = ()) -> list[str | None]:
        """For each run of blocks a process: about equally many votes each, and the same in every round.

        So a process reads, and keeps, only its own blocks, as long as no other is lost. `among` which processes: unless
        given, all that there are now.
        """
        processes: list[Any] = [*(among or self._processes())] or [None]
        votes = np.array([sum(self.packed.entries[number].votes for number in run) for run in runs])
        # Where the middle of each run stands among all votes, from 0 to 1: neighbours go to the same process.
        middle = (np.cumsum(votes) - votes / 2) / votes.sum()
        return [processes[int(place * len(processes))] for place in middle]

    def _share(self, values: tuple[Any, ...]) -> list[Any]:
        """What all tasks of a round need, as results of tasks: when its process is lost, another makes it again.

        What was sent for the round before is not sent again.
        """
        import dask

        def sent(value: Any) -> Any:
            known = [future for other, future in self._sent if other is value and future.status not in USELESS]
            return known[0] if known else self._submit(handed_on, Parcel(value))

        # A belief of many coins is large on purpose: Dask need not warn of it in every round.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            self._sent = [(value, sent(value)) for value in values]
        return [future for _, future in self._sent]

    def _submit(self, task: Callable[..., Any], *arguments: Any, home: str | None = None) -> Any:
        """A task for the process `home`, or for any other where that one is lost."""
        # Not "pure": Dask would hash all arguments to look for a result that it has, and no round repeats one.
        return self.client.submit(
            task, *arguments, pure=False, retries=ATTEMPTS, workers=home, allow_other_workers=home is not None
        )


def _processes_here(n_processes: int, opened: ExitStack) -> Any:
    """A cluster of this machine. Blocks have their processes (`DaskEngine._homes`): nobody takes another's work.

    Dask cannot do without HTTP servers: these have no pages. It also looks for modules in its scratch folder, which
    others could make before us where everybody may write: this one is private.
    """
    import dask
    import distributed

    try:
        security = distributed.Security.temporary()
    except ImportError:
        raise MissingExtraError(
            "the Dask engine needs the package cryptography to keep other users out: pip install 'amcc[dask]'."
        ) from None
    scratch = opened.enter_context(tempfile.TemporaryDirectory(prefix="amcc-dask-"))
    keep_memory = {f"distributed.nanny.pre-spawn-environ.{name}": 2**30 for name in KEEP_MEMORY}
    of_scheduler = {"distributed.scheduler.work-stealing": False, "distributed.scheduler.http.routes": []}
    with dask.config.set({"temporary-directory": scratch, **keep_memory, **of_scheduler}):
        return opened.enter_context(
            distributed.LocalCluster(
                n_workers=n_processes, threads_per_worker=1, processes=True, security=security, memory_limit=0,
                dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False}, silence_logs=logging.CRITICAL,
                config={"distributed.worker.http.routes": []},  # also of processes that take the place of lost ones
            )
        )  # fmt: skip


def _client(scheduler: Any, timeout: float) -> Any:
    """A connection to a scheduler, given by its address or its cluster."""
    import distributed

    try:
        return distributed.Client(scheduler, timeout=timeout)
    except Exception as error:  # of many kinds: whatever listens there may not speak as Dask does
        raise InputError(
            f"the scheduler must be the address of a running Dask scheduler, like tcp://host:8786; {scheduler} does "
            f"not answer as one ({error}). Start it with dask scheduler, or leave out --scheduler. For tls:// the "
            "certificates must be in Dask's configuration (docs/scaling.md)."
        ) from None


# -- in the processes ------------------------------------------------------------------------------------------------

Place = tuple[str, int, int | None]


@dataclass(frozen=True)
class Parcel:
    """A value that travels as it is: Dask looks into lists and tuples for results of tasks, and need not here."""

    value: Any


def handed_on(parcel: Parcel) -> Parcel:
    """The parcel itself."""
    return parcel


@functools.lru_cache(maxsize=2)
def _engine(folder: str, identity: int, memory: int | None) -> LocalEngine:
    """The folder as this process knows it; `identity` changes when other votes are packed into it.

    Two are kept, so that work on one folder can alternate with work on another.
    """
    return LocalEngine(folder, memory)


Runs = dict[int, range]

# Sums of 2ⁿ runs of blocks, by n and by their place among all sums of so many.
Sums = dict[tuple[int, int], Any]


def total_of_runs(place: Place, runs: Runs, function: Callable[..., Any], *shared: Parcel) -> Sums:
    """Sums over some runs of blocks."""
    engine, values = _engine(*place), [parcel.value for parcel in shared]
    with one_thread():
        return merged({(0, number): engine.total_of(run, function, *values)} for number, run in runs.items())


def merged(sums: Iterable[Sums]) -> Sums:
    """Neighbours are added up, and the results likewise: always the same two, whoever had them.

    The sum at (level, place) waits for its neighbour (level, place ^ 1), and together they become the sum at
    (level + 1, place // 2). What has no neighbour yet stays as it is.

    >>> from typing import NamedTuple
    >>> class Number(NamedTuple):
    ...     value: int
    >>> merged([{(0, 0): Number(1)}, {(0, 2): Number(4)}, {(0, 1): Number(2)}])
    {(0, 2): Number(value=4), (1, 0): Number(value=3)}
    """
    together: Sums = {}
    for (level, place), value in itertools.chain.from_iterable(some.items() for some in sums):
        while (level, place ^ 1) in together:
            # Either may come first: a + b and b + a are equal to the last digit.
            value = _plus(together.pop((level, place ^ 1)), value)
            level, place = level + 1, place // 2
        together[level, place] = value
    return together


def whole_sum(sums: Sums) -> Any:
    """The sum of all runs of blocks, also where their number is no power of two: the largest parts first."""
    return functools.reduce(_plus, (sums[node] for node in sorted(sums, reverse=True)))


def _plus(one: Any, other: Any) -> Any:
    """Sum of named tuples, which stay as they are: they may be needed once more."""
    return type(one)(*(a + b for a, b in zip(one, other, strict=True)))


def of_block(place: Place, number: int, function: Callable[..., Result], *shared: Parcel) -> Result:
    """The result of one block."""
    with one_thread():
        return function(_engine(*place).block(number), *(parcel.value for parcel in shared))
