"""Measurements in processes of their own, so that peak memory and imports are those of one task.

A task that takes too long or too much memory is a result as well: `{"stopped": why}`.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Result = dict[str, Any]

# Bytes that a task may ask for: more than that and the machine itself would suffer.
MEMORY_LIMIT = 14 << 30


def measure_apart(script: str, task: str, folder: Path, timeout: float) -> Result:
    """What `script --child task --folder folder` prints in its last line, or why there is nothing."""
    command = [sys.executable, script, "--child", task, "--folder", str(folder)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"stopped": f"not within {timeout / 60:.0f} min"}
    if run.returncode == 0:
        result: Result = json.loads(run.stdout.splitlines()[-1])
        return result
    if run.returncode == -9 or "MemoryError" in run.stderr or "bad_alloc" in run.stderr:
        return {"stopped": "out of memory"}
    if missing := run.stderr.rpartition("No module named ")[2] if "No module named" in run.stderr else "":
        return {"stopped": f"{missing.strip().strip(chr(39))} is not installed"}
    print(run.stderr[-2000:], file=sys.stderr)
    return {"stopped": "failed"}


def read_parquet(folder: Path) -> None:
    """The machine's limit: read the file, nothing else."""
    import polars as pl

    pl.read_parquet(folder / "votes.parquet")


def options_of(
    parser: argparse.ArgumentParser, tasks: Mapping[str, Any], measure: Callable[[str, Path], Result]
) -> argparse.Namespace | None:
    """The options of a script, with those that its measurements need; None in a process that was started for one.

    measure : what runs a task in this process; in a process of its own, its result is printed here.
    """
    parser.add_argument("--only", nargs="+", choices=tasks, default=list(tasks))
    parser.add_argument("--write", action="store_true", help="also write docs/performance.md")
    parser.add_argument("--resume", action="store_true", help="leave out what an interrupted --write has measured")
    parser.add_argument("--child", choices=tasks, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.child:
        return options
    print(json.dumps(measure(options.child, options.folder)))
    return None


class Others:
    """How busy programs other than this one and its own keep the processors, by the kernel's count."""

    def __init__(self) -> None:
        self.start = self._used()

    def share(self) -> float:
        """Share of all processors that they took since, from 0 to 1."""
        (busy, own, capacity), before = self._used(), self.start
        return max(busy - before[0] - (own - before[1]), 0.0) / max(capacity - before[2], 1e-9)

    @staticmethod
    def _used() -> tuple[float, float, float]:
        """Seconds of processors: busy, busy with us, and all there were. A guest's time is in that of its host."""
        ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        user, nice, system, idle, waiting, *rest = (tick / os.sysconf("SC_CLK_TCK") for tick in ticks)
        own = os.times()
        return user + nice + system + sum(rest), sum(own[:4]), user + nice + system + idle + waiting + sum(rest)


# Seconds that we look at the machine before a run: long enough that what comes and goes is seen.
LOOK_SECONDS = 3.0
# Others may take a twentieth of the processors: a desktop or a monitor does, and it moves times by no more than that.
QUIET = 0.05


def look_around(seconds: float = LOOK_SECONDS) -> Result:
    """How busy the machine is before we begin, printed."""
    others = Others()
    time.sleep(seconds)
    found = {"others": others.share(), "load": os.getloadavg()[0]}
    verdict = "quiet" if found["others"] <= QUIET else "NOT QUIET: believe ratios, not seconds"
    print(
        f"others take {found['others']:.0%} of the processors, load average {found['load']:.1f}: {verdict}", flush=True
    )
    return found


class Stopwatch:
    """Time that passes, except while it is paused."""

    def __init__(self) -> None:
        self.waited = 0.0

    def now(self) -> float:
        """Seconds since some moment, without pauses."""
        return time.perf_counter() - self.waited

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """What happens inside takes no time."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.waited += time.perf_counter() - start


clock = Stopwatch()


def measured(
    task: Callable[[Path], Any], folder: Path, warm: Path, repeats: int, enough_seconds: float
) -> tuple[Result, Any]:
    """Median time of some runs, of fewer if they are long, peak memory, and what the last run returned.

    The task runs on the small crowd `warm` first: imports and compiled code are not what we measure. Growth is the
    memory that came on top of what the process held then.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    task(warm)
    gc.collect()
    before = _megabytes("VmRSS")
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    times: list[float] = []
    returned = None
    while len(times) < repeats and sum(times) < enough_seconds:
        returned = None  # what the last run returned would count as memory of this one
        start = clock.now()
        returned = task(folder)
        times.append(clock.now() - start)
    peak = _megabytes("VmHWM")
    return {"seconds": statistics.median(times), "megabytes": peak, "growth": peak - before}, returned


def _megabytes(what: str) -> float:
    """Memory of this program by the kernel's count; getrusage would also count what its parent had."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) / 1024
