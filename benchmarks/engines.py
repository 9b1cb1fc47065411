"""Time and memory of packing and of fits over packed votes, on every engine; and the hot loop against the machine.

Every measurement runs in a process of its own, so that peak memory is its own (with Dask, of the process that leads the
others). Ratios within one run are what counts. `--write` puts the tables into docs/performance.md, below those of
consensus.py.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from child import measure_apart
from hot_loop import hot_loop

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
MARK = "<!-- engines -->"
SEED = 0
MEMORY = 10**9
TIMEOUT = 3600

Result = dict[str, float]
Size = tuple[int, int, int | None]  # votes, labels, workers (None: as many as go with the votes)

SIZES: list[Size] = [
    (10**4, 20, 50),
    (10**5, 20, None),
    (10**6, 20, None),
    (10**6, 1000, None),
    (10**7, 20, None),
    (10**7, 20, 10**5),
    (10**8, 20, None),
]
QUICK: list[Size] = [(10**4, 20, 50), (10**5, 20, None), (10**5, 1000, None)]


# -- what is measured ------------------------------------------------------------------------------------------------


def read_parquet(folder: Path) -> None:
    """The machine's limit: read the file, nothing else."""
    import polars as pl

    pl.read_parquet(folder / "votes.parquet")


def pack(folder: Path) -> None:
    """What `amcc pack` does."""
    import amcc

    amcc.pack_votes(folder / "votes.parquet", folder / "packed", overwrite=True)


def _consensus(folder: Path, method: str, engine: Callable[[Path], Any]) -> None:
    import amcc
    from amcc.io import write_tables

    with engine(folder / "packed") as blocks:
        model = amcc.make_model(method).fit(blocks)
        write_tables(model.tables(blocks), folder / f"{method}.parquet")


def _local(packed: Path) -> Any:
    import amcc

    return amcc.LocalEngine(packed)


def _out_of_core(packed: Path) -> Any:
    import amcc

    return amcc.LocalEngine(packed, memory=MEMORY)


def _dask(n_processes: int) -> Callable[[Path], Any]:
    import amcc

    return lambda packed: amcc.DaskEngine(packed, n_processes=n_processes)


def majority_kept(folder: Path) -> None:
    """Majority vote, from packed votes to a file of probabilities, blocks kept in memory."""
    _consensus(folder, "majority", _local)


def dawid_skene_kept(folder: Path) -> None:
    """Dawid–Skene likewise."""
    _consensus(folder, "dawid-skene", _local)


def dawid_skene_out_of_core(folder: Path) -> None:
    """The same with a gigabyte of memory."""
    _consensus(folder, "dawid-skene", _out_of_core)


def dawid_skene_dask_1(folder: Path) -> None:
    """The same on one Dask process, with its start."""
    _consensus(folder, "dawid-skene", _dask(1))


def dawid_skene_dask_2(folder: Path) -> None:
    """The same on two."""
    _consensus(folder, "dawid-skene", _dask(2))


def amcc_kept(folder: Path) -> None:
    """The default method, blocks kept in memory."""
    _consensus(folder, "amcc", _local)


def amcc_out_of_core(folder: Path) -> None:
    """The default method with a gigabyte of memory."""
    _consensus(folder, "amcc", _out_of_core)


TASKS: dict[str, Callable[[Path], None]] = {
    task.__name__: task
    for task in (
        read_parquet,
        pack,
        majority_kept,
        dawid_skene_kept,
        dawid_skene_out_of_core,
        dawid_skene_dask_1,
        dawid_skene_dask_2,
        amcc_kept,
        amcc_out_of_core,
    )
}
AGAINST = {
    "pack": "read_parquet",
    "majority_kept": "read_parquet",
    "dawid_skene_out_of_core": "dawid_skene_kept",
    "dawid_skene_dask_1": "dawid_skene_kept",
    "dawid_skene_dask_2": "dawid_skene_dask_1",
    "amcc_out_of_core": "amcc_kept",
}


def measure_here(name: str, folder: Path) -> Result:
    """Run one task in this process, once it has run on a small crowd: compiling is not what we time."""
    warnings.simplefilter("ignore")
    TASKS[name](folder.parent / "warm")
    start = time.perf_counter()
    TASKS[name](folder)
    return {"seconds": time.perf_counter() - start, "megabytes": _peak_megabytes()}


def _peak_megabytes() -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


# -- the run ---------------------------------------------------------------------------------------------------------


def measure(name: str, folder: Path) -> Result:
    """Run one task in a process of its own."""
    return measure_apart(__file__, name, folder, TIMEOUT)


def make_crowd(folder: Path, size: Size) -> None:
    """Simulate votes of this size; of a thousand labels six are asked in an answer."""
    from amcc.data.simulate import CrowdSpec, write_crowd

    n_votes, n_labels, n_workers = size
    wishes: dict[str, Any] = {"n_labels": n_labels} if n_labels <= 20 else {"n_labels": n_labels, "asked_share": 0.006}
    if n_workers is not None:
        wishes["n_workers"] = n_workers
    write_crowd(CrowdSpec.for_votes(n_votes, seed=SEED, **wishes), folder)


def rows_of(size: Size, results: dict[str, Result], folder: Path) -> list[str]:
    """Table rows for one size."""
    import amcc

    packed = amcc.PackedVotes(folder / "packed")
    on_disk = sum(file.stat().st_size for file in packed.folder.iterdir()) / packed.n_votes
    what = f"{packed.n_votes:.0e} | {size[1]} | {len(packed.worker_names):,} | {len(packed.coins):,}"
    rows = []
    for name, result in results.items():
        other = results.get(AGAINST.get(name, ""))
        ratio = f"{result['seconds'] / other['seconds']:.2f} × {AGAINST[name]}" if result and other else ""
        ratio += f", {on_disk:.1f} bytes per vote" if name == "pack" else ""
        cells = f"{result['seconds']:.2f} | {result['megabytes']:.0f}" if result else "– | –"
        rows.append(f"| {what} | {name} | {cells} | {ratio} |".replace("e+0", "e"))
    return rows


HEAD = ["| votes | labels | workers | coins | task | seconds | peak MB | ratio |", "|---|---|---|---|---|---|---|---|"]


def main() -> None:
    """Measure everything, print the tables, write them if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only: a minute or two")
    parser.add_argument("--most", type=lambda text: int(float(text)), default=10**8, help="largest number of votes")
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--scratch", type=Path, help="where crowds are put; default: the folder for temporary files")
    parser.add_argument("--write", action="store_true", help="also write docs/performance.md")
    parser.add_argument("--child", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measure_here(arguments.child, arguments.folder)))
        return
    loop = hot_loop(10**6 if arguments.quick else 10**7)
    print("\n".join([*loop, "", *HEAD]))
    rows: list[str] = []
    tasks = list(dict.fromkeys(["read_parquet", "pack", *arguments.only]))
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        make_crowd(Path(scratch) / "warm", (300_000, 20, None))  # large enough to compile the kernels
        measure("pack", Path(scratch) / "warm")
        for size in QUICK if arguments.quick else SIZES:
            if size[0] > arguments.most:
                continue
            folder = Path(scratch) / "crowd"
            make_crowd(folder, size)
            results = {name: measure(name, folder) for name in tasks}
            rows += (new := rows_of(size, results, folder))
            print("\n".join(new), flush=True)
    if arguments.write:
        before = PAGE.read_text().partition(MARK)[0].rstrip("\n")
        PAGE.write_text(f"{before}\n\n{section(loop, rows)}")


def section(loop: list[str], rows: list[str]) -> str:
    """What this script adds to the page."""
    return "\n".join(
        [
            MARK,
            "## Packed votes",
            "",
            f"Written by `make bench` on {date.today()}, seed {SEED}, on a machine with {os.cpu_count()} cores.",
            "Fits go from a packed folder to a Parquet file of probabilities; Dask's times include the start of its",
            f"processes. Out of core means `--memory` of {MEMORY / 1e9:.0f} GB. Peak memory is that of the process,",
            "with Dask of the one that leads the others.",
            "",
            *HEAD,
            *rows,
            "",
            "The hot loop, on all cores, against two limits of the same run: to read as many bytes from memory, one",
            "after the other; and to look up and add to a number of each vote's coin, without any arithmetic.",
            "",
            *loop,
            "",
        ]
    )


if __name__ == "__main__":
    main()
