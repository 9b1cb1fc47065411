"""Rounds of a fit on Dask processes of this machine: seconds, and bytes through the leader, by who has the coins.

    python benchmarks/cluster_rounds.py            coins with the leader, and cut by worker on 1, 2 and 4 processes
    python benchmarks/cluster_rounds.py --write    also into docs/scaling.md

Both are run in turn in one process of each cluster. Bytes are what the leader pickles into tasks and gets as their
results, without what Dask adds to it: they are the same in every run. Seconds are not, where processes share cores.
"""

from __future__ import annotations

import itertools
import math
import os
import pickle
import statistics
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import scaling
from page import figure, short, table
from script import parser_of, whole_number, write_between

# Rounds of a fit. Of the first, groups are learned from some workers, whose counts come to the leader; those after
# them are what a fit spends its time on as it grows.
N_ROUNDS, N_FIRST = 14, 10
N_BLOCKS = 10
# Workers of the crowds. With a million votes on 20 labels they have about as many coins as the page says.
WORKERS = 5_000, 500_000
PROCESSES = 1, 2, 4


class Traffic:
    """Bytes that go through the leader of an engine, counted while it works."""

    def __init__(self, engine: Any) -> None:
        self.n_bytes = 0
        self._submit, self._results = engine._submit, engine._results
        engine._submit, engine._results = self.submit, self.results

    def submit(self, *arguments: Any, **options: Any) -> Any:
        """A task, with what travels in it."""
        self.n_bytes += pickled(arguments)
        return self._submit(*arguments, **options)

    def results(self, futures: list[Any]) -> list[Any]:
        """Results, which travel to the leader."""
        found: list[Any] = self._results(futures)
        self.n_bytes += pickled(found)
        return found


class _Pickler(pickle.Pickler):
    """Pickles all but what stays where it is: of results of tasks, only their names travel."""

    def persistent_id(self, value: Any) -> Any:
        """The name of a result."""
        from distributed import Future

        return value.key if isinstance(value, Future) else None


def pickled(value: Any) -> int:
    """Bytes that it takes to send a value."""
    _Pickler(buffer := BytesIO(), protocol=5).dump(value)
    return buffer.tell()


class Found(NamedTuple):
    """Medians over the later rounds, and bytes of the first."""

    seconds: float
    n_bytes: float
    first_bytes: float


def rounds_of(engine: Any, *, few_coins: float, n_rounds: int = N_ROUNDS) -> Found:
    """A fit that is cut after some rounds; up to so many coins, the leader has them."""
    from amcc.consensus.default.crowd import crowd_prior, start_crowd
    from amcc.consensus.default.likelihood import fit_likelihood
    from amcc.consensus.default.settings import Settings

    traffic, marks = Traffic(engine), [(time.perf_counter(), 0)]
    before, engine._few_coins = engine._few_coins, few_coins
    engine.keep = lambda *_: marks.append((time.perf_counter(), traffic.n_bytes))
    try:
        prior = crowd_prior(Settings())
        crowd = start_crowd(engine.n_workers, engine.n_labels, 5, prior)
        fit_likelihood(engine, crowd, prior, max_iter=n_rounds, tol=0.0)
    finally:
        engine._few_coins = before
        del engine.keep, engine._submit, engine._results
    seconds, n_bytes = ([later[i] - mark[i] for mark, later in itertools.pairwise(marks)] for i in (0, 1))
    first = min(N_FIRST, n_rounds - 2)
    medians = (statistics.median(each) for each in (seconds[first:], n_bytes[first:], n_bytes[1:first]))
    return Found(*medians)


@contextmanager
def crowds(n_votes: int) -> Iterator[list[Path]]:
    """Packed crowds with few and with many workers."""
    with tempfile.TemporaryDirectory() as scratch:
        folders = []
        for n_workers in WORKERS:
            folder = Path(scratch) / str(n_workers)
            folder.mkdir()
            folders.append(scaling.pack_crowd(folder, n_votes, n_workers, N_BLOCKS))
        yield folders


HEAD = ["coins", "processes", "with the leader: s", "MB", "in shards: s", "MB", "MB in the first rounds"]


def line_of(packed: Path, n_processes: int) -> list[str]:
    """Both ways on one cluster."""
    with scaling.dask_engine(packed, n_processes) as engine:
        for few in (math.inf, 0):  # blocks are read, loops compiled
            rounds_of(engine, few_coins=few, n_rounds=4)
        leader, shards = (rounds_of(engine, few_coins=few) for few in (math.inf, 0))
    cells = [figure(leader.seconds), f"{leader.n_bytes / 1e6:.2f}", figure(shards.seconds)]
    cells += [f"{shards.n_bytes / 1e6:.2f}", f"{shards.first_bytes / 1e6:.2f}"]
    line = [f"{len(engine.coins):,}", str(n_processes), *cells]
    print(" | ".join(line), flush=True)
    return line


def main() -> None:
    """Measure, print, write if asked."""
    parser = parser_of(__doc__)
    parser.add_argument("--votes", type=whole_number, default=10**6)
    parser.add_argument("--write", action="store_true", help="also write docs/scaling.md")
    options = parser.parse_args()
    with crowds(options.votes) as folders:
        lines = [line_of(packed, n_processes) for packed in folders for n_processes in PROCESSES]
    about = (
        f"`python benchmarks/cluster_rounds.py --write`, {date.today()}, seed {scaling.SEED}: {short(options.votes)} "
        f"votes, {scaling.N_LABELS} labels, {N_BLOCKS} blocks; {os.cpu_count()} cores for all processes and for "
        f"other programs (load {os.getloadavg()[2]:.0f}). Medians of rounds {N_FIRST + 1} to {N_ROUNDS}."
    )
    if options.write:
        write_between(scaling.PAGE, "measured rounds", [*textwrap.wrap(about, 120), "", *table(HEAD, lines)])


if __name__ == "__main__":
    main()
