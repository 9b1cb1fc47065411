"""make fuzz: damaged files through every reader. Only our own errors may come out, and no other votes than are there.

    python tests/fuzz/fuzzing.py --n 1e6 --seconds 600 --seed 0     # what make fuzz does
    python tests/fuzz/fuzzing.py --seed 0 --only 4711               # one input again, with its traceback

Inputs are numbered; the seed and the number make the input. They are read in processes of their own, so that a crash
is a finding like any other. Findings are saved in a folder with the input and how to repeat it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import plain
import pyarrow as pa
from mutations import mutated
from readers import READERS, Reader

from amcc.errors import AmccError

BATCH = 5_000
"""Inputs per process: starting one takes about as long as a thousand of them."""

HANGS = 60.0
"""Seconds that no input of a few hundred bytes can need."""

MOST_ALIKE = 3
"""Findings of one kind that are saved."""

NAMES = [name for name, reader in READERS.items() for _ in range(reader.share)]


@dataclass(frozen=True)
class Finding:
    """What went wrong with an input; `kind` is the same for findings that look alike."""

    number: int
    reader: str
    kind: str
    detail: str


def input_of(seed: int, number: int) -> tuple[str, bytes]:
    """The reader and the bytes of an input."""
    rng = random.Random(f"{seed}/{number}")
    name = rng.choice(NAMES)
    reader = READERS[name]
    seeds = reader.seeds()
    data, other = rng.choice(seeds), rng.choice(seeds)
    if reader.suffix.endswith(".gz") and rng.random() < 0.7:  # damaged before it was compressed
        return name, gzip.compress(mutated(rng, gzip.decompress(data), gzip.decompress(other)), mtime=0)
    return name, mutated(rng, data, other)


def problem_of(name: str, data: bytes, folder: Path) -> tuple[str, str] | None:
    """Kind and detail of what is wrong with how the package reads these bytes, None if nothing is."""
    reader: Reader = READERS[name]
    path = folder / f"input-{name.replace(' ', '-').replace('.', '-')}{reader.suffix}"
    path.write_bytes(data)
    try:
        found = reader.read(path)
    except AmccError:
        return None
    except Exception as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "amcc" in frame.filename]
        where = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "?"
        return f"{type(error).__name__} in {where}", traceback.format_exc()
    if reader.plain is None:
        return None
    try:
        expected = reader.plain(data)
    except plain.RefusedError as reason:
        if str(reason) in plain.LENIENT.get(name, frozenset()):
            return None
        return f"accepted though: {reason}", f"found {found!r}"
    if found != expected:
        return "read differently", f"found    {found!r}\nexpected {expected!r}"
    return None


def findings(seed: int, numbers: range, folder: Path) -> Iterator[Finding]:
    """What is wrong with these inputs; the number of the current one is kept in a file, for whoever outlives us."""
    pa.set_cpu_count(1)  # tiny files: threads only wait for each other
    warnings.simplefilter("ignore")
    with (folder / "progress").open("wb", buffering=0) as progress:
        for number in numbers:
            progress.seek(0)
            progress.write(b"%012d" % number)
            name, data = input_of(seed, number)
            if problem := problem_of(name, data, folder):
                yield Finding(number, name, *problem)


def run_batch(seed: int, numbers: range, folder: Path, deadline: float) -> tuple[int, list[Finding]]:
    """Read inputs in another process; gives the number after the last one that was read, and what was found."""
    log, progress = folder / "findings.jsonl", folder / "progress"
    log.write_bytes(b"")
    progress.write_bytes(b"%012d" % numbers.start)
    command = [sys.executable, __file__, "--seed", seed, "--batch", numbers.start, numbers.stop, "--folder", folder]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE) as child:
        crash = _watch(child, progress, deadline)
        errors = child.stderr.read().decode(errors="replace") if child.stderr else ""
    found = [Finding(**json.loads(line)) for line in log.read_text().splitlines()]
    last = int(progress.read_bytes())
    if crash is None:
        return (numbers.stop if child.returncode == 0 else last), found
    return last + 1, [*found, Finding(last, input_of(seed, last)[0], crash, errors[-2000:])]


def _watch(child: subprocess.Popen[bytes], progress: Path, deadline: float) -> str | None:
    """Wait for the end of a process, and say how it failed: None if it did not, or if time was up."""
    last, since = b"", time.monotonic()
    while child.poll() is None:
        time.sleep(0.2)
        now = time.monotonic()
        if progress.read_bytes() != last:
            last, since = progress.read_bytes(), now
        if now > deadline or now - since > HANGS:
            child.kill()
            child.wait()
            return None if now > deadline else f"no end after {HANGS:.0f} s"
    return None if child.returncode == 0 else f"the process ended with {child.returncode}"


def saved(finding: Finding, seed: int, folder: Path) -> Path:
    """Keep the input and how to repeat it."""
    folder.mkdir(exist_ok=True)
    name, data = input_of(seed, finding.number)
    path = folder / f"{seed}-{finding.number}-{name.replace(' ', '-')}{READERS[name].suffix}"
    path.write_bytes(data)
    again = f"python tests/fuzz/fuzzing.py --seed {seed} --only {finding.number}"
    path.with_name(path.name + ".txt").write_text(
        f"{finding.reader}: {finding.kind}\nagain: {again}\n{finding.detail}\n"
    )
    return path


def run_all(seed: int, numbers: range, deadline: float) -> tuple[int, list[Finding]]:
    """Read inputs in processes, one after the other until all are read or time is up: how many were, what was found."""
    begin, found = numbers.start, []
    with TemporaryDirectory(prefix="amcc-fuzz-", dir=_memory_folder()) as folder:
        while begin < numbers.stop and time.monotonic() < deadline:
            begin, more = run_batch(seed, range(begin, numbers.stop), Path(folder), deadline)
            found += more
    return begin - numbers.start, found


def run(seed: int, n_inputs: int, seconds: float, jobs: int, kept: Path) -> int:
    """Read inputs until there are enough or time is up; the number of kinds of findings."""
    print(f"seed {seed}: {n_inputs:,} inputs, at most {seconds:,.0f} s; findings go to {kept}", flush=True)
    begin, done = time.monotonic(), 0
    kinds: dict[tuple[str, str], int] = {}
    batches = [range(first, min(first + BATCH, n_inputs)) for first in range(0, n_inputs, BATCH)]
    with ThreadPoolExecutor(jobs) as pool:
        for read, found in pool.map(lambda numbers: run_all(seed, numbers, begin + seconds), batches):
            done += read
            for finding in found:
                kind = finding.reader, finding.kind
                kinds[kind] = kinds.get(kind, 0) + 1
                if kinds[kind] <= MOST_ALIKE:
                    print(f"{finding.reader}: {finding.kind} ({saved(finding, seed, kept)})", flush=True)
            if read:
                rate = done / (time.monotonic() - begin)
                print(f"{done:,} inputs, {len(kinds)} kinds of findings, {rate:,.0f} a second", flush=True)
    for (reader, kind), count in sorted(kinds.items()):
        print(f"{count:6,} x {reader}: {kind}")
    return len(kinds)


def _memory_folder() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def main() -> None:
    """Parse, run, and fail where something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="another one each time, if not given")
    parser.add_argument("--n", type=lambda text: int(float(text)), default=10**6)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--only", type=int, help="read this input again, and show what comes of it")
    parser.add_argument("--batch", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        with (options.folder / "findings.jsonl").open("a") as log:
            for finding in findings(options.seed, range(*options.batch), options.folder):
                log.write(json.dumps(asdict(finding)) + "\n")
                log.flush()
    elif options.only is not None:
        name, data = input_of(options.seed, options.only)
        print(name, data[:2000], sep="\n")
        with TemporaryDirectory() as folder:
            print(*(problem_of(name, data, Path(folder)) or ("nothing is wrong",)), sep="\n")
    else:
        sys.exit(run(options.seed, options.n, options.seconds, options.jobs, options.out) > 0)


if __name__ == "__main__":
    main()
