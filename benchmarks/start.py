"""What a small consensus takes from the command to its rows: start of Python, imports, reading, fit and writing.

    python benchmarks/start.py                         this package
    python benchmarks/start.py --against OTHER/src     beside the package in another folder, in turns
    python benchmarks/start.py --write                 also write docs/performance.md

Every turn is a process of its own. What Python and numba compile once per machine is compiled before the first turn.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from child import look_around
from page import short, write_page
from rows import Record, Row
from script import parser_of

SOURCE = Path(__file__).parents[1] / "src"
SEED = 1

# What people begin with, as votes, workers and format. The last crowd has so many coins that
# numba is used.
CROWDS = [(10_000, 100, "parquet"), (30_000, 200, "parquet"), (30_000, 200, "csv"), (30_000, 1_500, "parquet")]


def amcc(source: Path, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command of the package in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # who installs a package has it compiled
    command = [sys.executable, *options.get("python", ()), "-m", "amcc", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)


def turn(source: Path, votes: Path) -> tuple[float, float]:
    """Seconds that pass, and seconds of processors, of one consensus."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    amcc(source, "consensus", votes, "-o", votes.with_name("consensus.csv"))
    passed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return passed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def n_modules(source: Path, votes: Path) -> int:
    """How many modules a consensus imports; unlike times, the same on every machine."""
    told = amcc(source, "consensus", votes, "-o", votes.with_name("consensus.csv"), python=("-X", "importtime")).stderr
    return sum(line.startswith("import time:") for line in told.splitlines()) - 1  # less the line with the heads


def measure(sources: list[Path], votes: Path, turns: int) -> Row:
    """Medians of the first package, and the median ratio of the others to it."""
    modules = [n_modules(source, votes) for source in sources]  # compiles what is not compiled yet
    taken = [[turn(source, votes) for source in sources] for _ in range(turns)]
    seconds = [each[0][0] for each in taken]
    row: Row = {
        "seconds": statistics.median(seconds),
        "turns": seconds,
        "processor": statistics.median(each[0][1] for each in taken),
        "least": min(each[0][1] for each in taken),
        "modules": modules[0],
    }
    if len(sources) > 1:
        row["ratio"] = statistics.median(each[1][1] / each[0][1] for each in taken)
        row["other_least"], row["other_modules"] = min(each[1][1] for each in taken), modules[1]
    return row


def line_of(row: Row) -> str:
    """A row as it is printed."""
    line = f"{short(row['votes'])} votes of {row['workers']:,} workers, {row['task']:8}"
    line += f"{row['seconds']:.2f} s ({min(row['turns']):.2f} to {max(row['turns']):.2f}), of processors "
    line += f"{row['processor']:.2f} s (least {row['least']:.2f}), {row['modules']} modules"
    if "ratio" in row:
        line += f"; the other: least {row['other_least']:.2f} s of processors, {row['ratio']:.2f} ×, "
        line += f"{row['other_modules']} modules"
    return line


def main() -> None:
    """Measure all crowds, print row by row, write the page if asked."""
    parser = parser_of(__doc__)
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("--against", type=Path, help="folder with another package amcc")
    parser.add_argument("--write", action="store_true", help="also write docs/performance.md")
    options = parser.parse_args()
    if options.write and options.against:
        parser.error("--write is about this package: leave --against out.")
    sources = [SOURCE, *([options.against] if options.against else [])]
    record = Record("start", kept=options.write, resume=False, look=look_around)
    with tempfile.TemporaryDirectory() as name:
        for n_votes, n_workers, suffix in CROWDS:
            folder = Path(name) / f"{n_votes}-{n_workers}"
            amcc(SOURCE, "simulate-crowd", "-o", folder, "--votes", n_votes, "--workers", n_workers, "--seed", SEED)
            votes = folder / f"votes.{suffix}"
            if not votes.exists():
                amcc(SOURCE, "convert", folder / "votes.parquet", "-o", votes)
            row = record.row(suffix, (n_votes, 0, n_workers), partial(measure, sources, votes, options.turns))
            print(line_of(row), flush=True)
    if options.write:
        write_page()


if __name__ == "__main__":
    main()
