"""Instructions of the compiled loops per vote or coin, counted by valgrind: they do not depend on who else is busy.

    python benchmarks/instructions.py            counts beside the reference; exit 1 where a loop takes over 10 % more
    python benchmarks/instructions.py --write    the counts become the reference, benchmarks/instructions.json

The loops are compiled for a plain processor, whatever this one can do, so that counts agree from machine to machine.
Another compiler makes other code: the reference says for which versions it holds. One minute of one core.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from script import parser_of

REFERENCE = Path(__file__).with_suffix(".json")
SOURCE = Path(__file__).parents[1] / "src"
SEED = 0

# A loop may take so many times the instructions of its reference. Counts repeat to 0.1 %; a needless operation in the
# innermost loop is more than this, and a step per chunk or per pair that somebody wants for a reason is less.
ALLOWED = 1.1

# Votes or coins of a call: so many that what a call costs beside its loop is lost, so few that it takes milliseconds.
N = 20_000
# As in usual crowds: votes of a pair, labels, workers and groups of workers.
PAIR_VOTES, N_LABELS, N_WORKERS, N_GROUPS = 5, 20, 500, 5

# A function of the system's that nobody else calls: valgrind writes down its count whenever it is called.
MARK = "getppid"


class CountingError(Exception):
    """There is no valgrind here, or it did not count; the message says which."""


# -- in the process that is watched ------------------------------------------------------------------------------------


def calls() -> dict[str, Callable[[], Any]]:
    """The loops by name, each with a call over N votes or coins."""
    import numpy as np

    from amcc.loops import coins, votes

    rng = np.random.default_rng(SEED)
    n_pairs = N // PAIR_VOTES
    start = (PAIR_VOTES * np.arange(n_pairs + 1)).astype(np.uint64)
    slot = rng.integers(2 * N_WORKERS * N_LABELS, size=N).astype(np.uint32)
    label = (np.arange(n_pairs) % N_LABELS).astype(np.uint32)
    both = rng.normal(size=(2 * N_WORKERS * N_LABELS, 2))
    evidence, prior, proba = both[:, 0].copy(), np.full(N_LABELS, -1.5), rng.random(n_pairs)
    present, of_label = np.zeros(len(evidence)), np.zeros(N_LABELS)

    def one_round(old: Any, kept: Any) -> Callable[[], Any]:
        belief = evidence, prior, old, prior
        known = np.empty(0, np.int8)
        tables = np.empty(n_pairs), present, of_label
        return lambda: votes.one_round(0, n_pairs, slot, start, label, known, *belief, False, kept, 50.0, *tables)

    coin = np.repeat(np.arange(N // N_LABELS), N_LABELS).astype(np.uint32), np.resize(label, N)
    counted = rng.gamma(2.0, size=(2, N))
    usual = rng.gamma(2.0, size=(4, N_GROUPS, N_LABELS))
    member = rng.random((N_GROUPS, N // N_LABELS))
    member[rng.random(member.shape) < 0.5] = 0.0  # half of the groups are out of the question for a worker
    beside = *coin, *counted, usual[0], usual[1]
    fit, effective, rates = np.zeros_like(member), np.zeros((2, N_GROUPS, N_LABELS)), np.zeros((2, N))
    return {
        "one_round, probabilities kept": one_round(both[:0], proba),
        "one_round, computed again": one_round(both, np.empty(0)),
        "group_fit": lambda: coins.group_fit(*beside, usual[2], member, fit),
        "effective_votes": lambda: coins.effective_votes(*beside, usual[2], usual[3], member, effective),
        "expected_log_rates": lambda: coins.expected_log_rates(*beside, member, *rates),
    }


def run_marked() -> None:
    """Each loop once, then twice, with a mark before, between and after."""
    import gc

    loops = calls()
    for loop in loops.values():  # compiled now, or found in the cache
        loop()
    gc.disable()
    os.getppid()
    for loop in loops.values():
        for times in (1, 2):
            for _ in range(times):
                loop()
            os.getppid()
    print(json.dumps(list(loops)))


# -- the watcher -----------------------------------------------------------------------------------------------------


def conditions() -> dict[str, str]:
    """What the counts depend on."""
    return {"machine": platform.machine(), "numba": version("numba"), "llvmlite": version("llvmlite")}


def count() -> dict[str, float]:
    """Instructions per vote or coin of each loop."""
    if shutil.which("valgrind") is None:
        raise CountingError("counting instructions needs valgrind, and it is not installed: apt-get install valgrind")
    with tempfile.TemporaryDirectory() as scratch:
        # Plain code, compiled by a first run that is not watched, and kept apart from that of this machine.
        plain = {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": scratch, "OPENBLAS_NUM_THREADS": "1"}
        path = os.pathsep.join([str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, **plain, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
        watch = [f"--dump-before={MARK}", f"--callgrind-out-file={scratch}/count"]
        child = [sys.executable, __file__, "--marked"]
        for command in (child, ["valgrind", "--tool=callgrind", *watch, *child]):
            run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
            if run.returncode:
                raise CountingError(f"{' '.join(command)} failed:\n{run.stderr[-2000:]}")
        return per_row(json.loads(run.stdout), [counted(Path(scratch) / f"count.{n}") for n in parts(Path(scratch))])


def parts(folder: Path) -> list[int]:
    """Numbers of the files that valgrind wrote at marks; the one at the end of the program has none."""
    return sorted(int(file.suffix[1:]) for file in folder.glob("count.*"))


def counted(file: Path) -> int:
    """Instructions since the mark before."""
    line = next(line for line in file.read_text().splitlines() if line.startswith("summary:"))
    return int(line.split()[1])


def per_row(names: list[str], counts: list[int]) -> dict[str, float]:
    """Two calls less one call: what surrounds them cancels. The first count is that of the start of the program.

    >>> per_row(["loop"], [10**9, 220_000, 420_000])
    {'loop': 10.0}
    """
    if len(counts) != 1 + 2 * len(names):
        raise CountingError(f"valgrind must see {1 + 2 * len(names)} calls of {MARK}, but saw {len(counts)}")
    return {
        name: round((twice - once) / N, 1) for name, once, twice in zip(names, counts[1::2], counts[2::2], strict=True)
    }


def why_not_comparable(reference: dict[str, Any]) -> str:
    """Why counts made here say nothing about the reference; empty where they do."""
    differing = [
        f"{what} {reference[what]}, here {here}" for what, here in conditions().items() if reference[what] != here
    ]
    renew = "renew it where nothing else has changed: python benchmarks/instructions.py --write"
    return f"the reference counts are for {'; '.join(differing)}: {renew}" if differing else ""


def grown(counts: dict[str, float], reference: dict[str, float]) -> list[str]:
    """What to say about loops that take more instructions than they may.

    >>> grown({"loop": 109.0, "other": 12.0}, {"loop": 100.0, "other": 10.0})
    ['other: 12.0 instructions a row, 20 % more than the 10.0 it had']
    """
    return [
        f"{name}: {now:.1f} instructions a row, {100 * (now / before - 1):.0f} % more than the {before:.1f} it had"
        for name, now in counts.items()
        if now > ALLOWED * (before := reference[name])
    ]


WAY_OUT = (
    "Look at what changed in src/amcc/loops. If it is worth its price: python benchmarks/instructions.py --write, "
    "and say in the commit why."
)


def main() -> int:
    """Count, compare or write."""
    parser = parser_of(__doc__)
    parser.add_argument("--write", action="store_true", help="the counts become the reference")
    parser.add_argument("--marked", action="store_true", help="only run the loops, with marks: what valgrind watches")
    options = parser.parse_args()
    if options.marked:
        run_marked()
        return 0
    try:
        counts = count()
    except CountingError as error:
        print(error, file=sys.stderr)
        return 2
    if options.write:
        REFERENCE.write_text(json.dumps({**conditions(), "counts": counts}, indent=2) + "\n")
    reference = json.loads(REFERENCE.read_text())
    for name, now in counts.items():
        print(f"{name:32}{now:8.1f}   reference{reference['counts'].get(name, float('nan')):8.1f}")
    if other := why_not_comparable(reference):
        print(other)
        return 0
    slower = grown(counts, reference["counts"])
    print("\n".join([*slower, WAY_OUT] if slower else ["No loop takes over 10 % more than the reference."]))
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
