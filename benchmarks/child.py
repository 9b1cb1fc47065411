"""Measurements in processes of their own, so that peak memory and imports are those of one task.

A task that takes too long or too much memory is a result as well: `{"stopped": why}`.
"""

from __future__ import annotations

import contextlib
import gc
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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
    """Best time of some runs, of fewer if they are long, peak memory, and what the last run returned.

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
    return {"seconds": min(times), "megabytes": peak, "growth": peak - before}, returned


def _megabytes(what: str) -> float:
    """Memory of this program by the kernel's count; getrusage would also count what its parent had."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) / 1024
