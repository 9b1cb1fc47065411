"""Time, memory and quality of majority vote and Dawid–Skene, ours and crowd-kit's, on the same simulated crowds.

Every measurement runs in a process of its own, so that peak memory is its own. Ratios within one run are what counts:
machines differ. `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from child import measure_apart

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
SEED = 0
REPEATS = 5
ENOUGH_SECONDS = 15.0

Result = dict[str, float]


# -- what is measured; each returns what `truth_score` needs, or None -------------------------------------------------


def read_parquet(folder: Path) -> None:
    """The machine's limit: read the file, nothing else."""
    import polars as pl

    pl.read_parquet(folder / "votes.parquet")


def read_csv(folder: Path) -> None:
    """The limit for text: polars reads it, nothing else."""
    import polars as pl

    pl.read_csv(folder / "votes.csv")


def amcc_check_csv(folder: Path) -> None:
    """What `amcc check votes.csv` does."""
    import amcc

    amcc.read_votes(folder / "votes.csv").describe()


def amcc_majority(folder: Path) -> Any:
    """Our majority vote, from the file."""
    import amcc

    return amcc.MajorityVote().fit(amcc.read_votes(folder / "votes.parquet")).pairs()


def amcc_dawid_skene(folder: Path) -> Any:
    """Our Dawid–Skene, from the file."""
    import amcc

    return amcc.DawidSkene().fit(amcc.read_votes(folder / "votes.parquet")).pairs()


def amcc_default(folder: Path) -> Any:
    """What `amcc consensus` runs, from the file."""
    import amcc

    return amcc.AMCC().fit(amcc.read_votes(folder / "votes.parquet")).pairs()


def crowdkit_majority(folder: Path) -> Any:
    """crowd-kit's majority vote, label by label."""
    from crowdkit.aggregation import MajorityVote

    return _label_by_label(folder, MajorityVote)


def crowdkit_dawid_skene(folder: Path) -> Any:
    """crowd-kit's Dawid–Skene, label by label."""
    from crowdkit.aggregation import DawidSkene

    return _label_by_label(folder, lambda: DawidSkene(n_iter=100))


def _label_by_label(folder: Path, make: Callable[[], Any]) -> Any:
    import pandas as pd
    import pyarrow as pa

    frame = pd.read_parquet(folder / "votes.parquet").rename(columns={"item": "task"})
    pieces = []
    for label, votes in frame.groupby("label", observed=True):
        single = votes[["task", "worker"]].astype(str).assign(label=votes["value"].to_numpy())
        found = make().fit_predict(single)
        pieces.append(pd.DataFrame({"item": found.index, "label": str(label), "present": (found == 1).astype(int)}))
    return pa.Table.from_pandas(pd.concat(pieces), preserve_index=False)


TASKS: dict[str, Callable[[Path], Any]] = {
    task.__name__: task
    for task in (
        read_parquet,
        amcc_majority,
        crowdkit_majority,
        amcc_dawid_skene,
        crowdkit_dawid_skene,
        amcc_default,
        read_csv,
        amcc_check_csv,
    )
}


def measure_here(name: str, folder: Path) -> Result:
    """Run one task in this process: best time of several (of one, if it is long), peak memory, Jaccard."""
    warnings.simplefilter("ignore")
    TASKS[name](folder.parent / "warm")  # imports and compiled code are not what we time
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        consensus = TASKS[name](folder)
        times.append(time.perf_counter() - start)
        if sum(times) > ENOUGH_SECONDS:
            break
    result = {"seconds": min(times), "megabytes": _peak_megabytes()}
    return result if consensus is None else {**result, "jaccard": _jaccard(consensus, folder)}


def _peak_megabytes() -> float:
    """Most memory this program ever had; getrusage would also count what its parent had."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def _jaccard(consensus: Any, folder: Path) -> float:
    import amcc
    from amcc.evaluate import evaluate_consensus

    if "probability" not in consensus.column_names:
        consensus = consensus.append_column("probability", consensus["present"].cast("float64"))
    return evaluate_consensus(consensus, amcc.read_truth(folder / "truth.csv")).scores["jaccard"]


# -- the run --------------------------------------------------------------------------------------------------------


def measure(name: str, folder: Path) -> Result:
    """Run one task in a process of its own."""
    return measure_apart(__file__, name, folder)


def make_crowd(folder: Path, n_votes: int) -> None:
    """Simulate once; the CSV is the same votes as text."""
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    from amcc.data.simulate import CrowdSpec, write_crowd

    write_crowd(CrowdSpec.for_votes(n_votes, seed=SEED), folder)
    table = pq.read_table(folder / "votes.parquet")
    plain = table.cast(pq.read_schema(folder / "votes.parquet").remove_metadata())
    for position, field in enumerate(plain.schema):
        if str(field.type).startswith("dictionary"):
            plain = plain.set_column(position, field.name, plain[field.name].cast(field.type.value_type))
    csv.write_csv(plain, folder / "votes.csv")


def rows_of(n_votes: int, results: dict[str, Result]) -> list[str]:
    """Table rows for one size; each task beside what it is compared with."""
    against = {
        "amcc_majority": "read_parquet",
        "crowdkit_majority": "amcc_majority",
        "crowdkit_dawid_skene": "amcc_dawid_skene",
        "amcc_default": "crowdkit_dawid_skene",
        "amcc_check_csv": "read_csv",
    }
    rows = []
    for name, result in results.items():
        other = against.get(name)
        compared = result and other and results.get(other)
        ratio = f"{result['seconds'] / compared['seconds']:.3g} × {other}" if compared else ""
        cells = [f"{result[key]:{form}}" if key in result else "–" for key, form in CELLS.items()]
        rows.append(f"| {n_votes:.0e} | {name} | {' | '.join(cells)} | {ratio} |".replace("e+0", "e"))
    return rows


CELLS = {"seconds": ".3f", "megabytes": ".0f", "jaccard": ".3f"}
HEAD = ["| votes | task | seconds | peak MB | Jaccard | ratio of times |", "|---|---|---|---|---|---|"]


def main() -> None:
    """Measure everything, print the table, write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=lambda text: int(float(text)), nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--write", action="store_true", help="also write docs/performance.md")
    parser.add_argument("--child", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measure_here(arguments.child, arguments.folder)))
        return
    print("\n".join(HEAD))
    rows: list[str] = []
    of_sizes: dict[int, dict[str, Result]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        make_crowd(Path(scratch) / "warm", 300_000)  # large enough to compile the kernels
        for n_votes in arguments.sizes:
            folder = Path(scratch) / "crowd"
            make_crowd(folder, n_votes)
            results = {name: measure(name, folder) for name in arguments.only}
            of_sizes[n_votes] = results
            rows += (new := rows_of(n_votes, results))
            print("\n".join(new), flush=True)
    print("\n".join(growth := growth_of(of_sizes)))
    if arguments.write:
        _, mark, engines = PAGE.read_text().partition("<!-- engines -->")  # written by engines.py
        PAGE.write_text(f"{page(rows, growth)}\n{mark}{engines}" if mark else page(rows, growth))


def growth_of(of_sizes: dict[int, dict[str, Result]]) -> list[str]:
    """Exponents by which times grow from size to size: 1 is linear."""
    steps = list(itertools.pairwise(of_sizes))
    titles = " | ".join(f"{small:.0e} to {large:.0e}".replace("e+0", "e") for small, large in steps)
    lines = [f"| task | {titles} |", "|---" * (len(steps) + 1) + "|"] if steps else []
    for name in of_sizes[steps[0][0]] if steps else ():
        exponents = []
        for small, large in steps:
            times = [of_sizes[size][name].get("seconds") for size in (small, large)]
            known = None not in times
            exponents.append(f"{math.log(times[1] / times[0]) / math.log(large / small):.2f}" if known else "–")
        lines.append(f"| {name} | {' | '.join(exponents)} |")
    return lines


def page(rows: list[str], growth: list[str]) -> str:
    """The whole of docs/performance.md."""
    versions = ", ".join(
        f"{name} {version(name)}" for name in ("amcc", "crowd-kit", "polars", "pyarrow", "numba", "numpy")
    )
    return "\n".join(
        [
            "# Speed and memory",
            "",
            f"Written by `make bench` on {date.today()}, seed {SEED}, with {versions},",
            f"on a machine with {os.cpu_count()} cores. Times of one machine mean little; the ratios in the last",
            "column come from one run on one crowd. crowd-kit has no multi-label Dawid–Skene: it runs label by label,",
            "as its own `BinaryRelevance` does. Memory is the peak of the whole process. Times are from the",
            "file to the finished consensus, the best of up to five, without imports and compiling (once per machine).",
            "",
            *HEAD,
            *rows,
            "",
            "Growth: the exponent of the time from one size to the next; 1 is linear, below a fixed cost weighs in.",
            "",
            *growth,
            "",
        ]
    )


if __name__ == "__main__":
    main()
