"""Time and memory of packing and of fits over packed votes, on every engine; and the hot loop against the machine.

Every measurement runs in a process of its own, so that peak memory is its own (with Dask, of the process that leads the
others). Ratios within one run are what counts. `--write` puts the tables into docs/performance.md, below those of
consensus.py.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from child import Result, clock, look_around, measure_apart, measured, options_of, read_parquet
from hot_loop import hot_loop
from page import line_of, write_page
from rows import Record, Row, Size
from script import parser_of, whole_number

SEED = 0
# Out of core means something only where the votes do not fit: a gigabyte is less than 10⁸ votes take.
MEMORY = 10**9
# Seconds: packing and fitting 10⁸ votes takes minutes.
TIMEOUT = 900.0


# -- what is measured; each returns further numbers, or None -----------------------------------------------------------


def pack(folder: Path) -> Row:
    """What `amcc pack` does."""
    import amcc

    packed = amcc.pack_votes(folder / "votes.parquet", folder / "packed", overwrite=True)
    with clock.paused():
        return {"bytes_on_disk": sum(file.stat().st_size for file in packed.folder.iterdir()) / packed.n_votes}


def _consensus(folder: Path, method: str, engine: Any) -> Row:
    """From packed votes to a file of probabilities; also the time of the fit alone."""
    import amcc
    from amcc.io import write_tables

    start = clock.now()
    model = amcc.make_model(method).fit(engine)
    fit = clock.now() - start
    write_tables(model.tables(engine, frame="arrow"), folder / f"{method}.parquet")
    return {"fit": fit}


def _local(folder: Path, method: str, memory: int | None = None) -> Row:
    import amcc

    with amcc.engine.LocalEngine(folder / "packed", memory=memory) as engine:
        return _consensus(folder, method, engine)


def _dask(folder: Path, method: str, n_processes: int) -> Row:
    """The same on processes that run already and have fitted the small crowd: their start is not what we time."""
    import amcc

    with clock.paused():
        engine = amcc.engine.DaskEngine(folder / "packed", n_processes=n_processes)
        with amcc.engine.DaskEngine(folder.parent / "warm" / "packed", engine.cluster) as warm:
            amcc.make_model(method).fit(warm)
    try:
        return _consensus(folder, method, engine)
    finally:
        with clock.paused():
            engine.close()


def majority_kept(folder: Path) -> Row:
    """Majority vote, blocks kept in memory."""
    return _local(folder, "majority")


def dawid_skene_kept(folder: Path) -> Row:
    """Dawid–Skene likewise."""
    return _local(folder, "dawid-skene")


def dawid_skene_dask_1(folder: Path) -> Row:
    """The same on one Dask process."""
    return _dask(folder, "dawid-skene", 1)


def dawid_skene_dask_2(folder: Path) -> Row:
    """The same on two."""
    return _dask(folder, "dawid-skene", 2)


def amcc_kept(folder: Path) -> Row:
    """The default method, blocks kept in memory."""
    return _local(folder, "amcc")


def amcc_out_of_core(folder: Path) -> Row:
    """The default method with a gigabyte of memory."""
    return {**_local(folder, "amcc", MEMORY), "memory": MEMORY}


TASKS: dict[str, Callable[[Path], Row | None]] = {
    task.__name__: task
    for task in (
        read_parquet,
        pack,
        majority_kept,
        dawid_skene_kept,
        dawid_skene_dask_1,
        dawid_skene_dask_2,
        amcc_kept,
        amcc_out_of_core,
    )
}
ALL = tuple(TASKS)
FIRST = "read_parquet", "pack"  # without them there is nothing to measure
IN_MEMORY = *FIRST, "majority_kept", "dawid_skene_kept", "amcc_kept"
LARGE = *FIRST, "majority_kept", "dawid_skene_dask_1", "dawid_skene_dask_2", "amcc_out_of_core"

# Votes, labels and workers (None: as many as go with the votes), and what is worth its time there.
PLAN: list[tuple[int, int, int | None, tuple[str, ...]]] = [
    (10**4, 20, 50, IN_MEMORY),
    (10**5, 20, None, IN_MEMORY),
    (10**6, 20, None, ALL),
    (10**6, 1000, None, IN_MEMORY),
    (10**7, 20, None, ALL),
    (10**7, 20, 10**5, IN_MEMORY),
    (10**8, 20, None, LARGE),
]
QUICK: list[tuple[int, int, int | None, tuple[str, ...]]] = [(10**5, 20, None, ALL), (10**5, 1000, None, IN_MEMORY)]


def measure_here(name: str, folder: Path) -> Result:
    """Run one task in this process, once."""
    warnings.simplefilter("ignore")
    result, more = measured(TASKS[name], folder, folder.parent / "warm", repeats=1, enough_seconds=0.1)
    return {**result, **(more or {})}


# -- the run ---------------------------------------------------------------------------------------------------------


def make_crowd(folder: Path, n_votes: int, n_labels: int, n_workers: int | None) -> Size:
    """Simulate votes of this size; of a thousand labels six are asked in an answer."""
    from amcc.data.simulate import CrowdSpec, write_crowd

    wishes: dict[str, Any] = {"n_labels": n_labels} if n_labels <= 20 else {"n_labels": n_labels, "asked_share": 0.006}
    if n_workers is not None:
        wishes["n_workers"] = n_workers
    spec = CrowdSpec.for_votes(n_votes, seed=SEED, **wishes)
    write_crowd(spec, folder)
    return n_votes, n_labels, spec.n_workers


def main() -> None:
    """Measure everything, print row by row, write the page if asked."""
    parser = parser_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only: a minute or two")
    parser.add_argument("--most", type=whole_number, default=10**8, help="largest number of votes")
    parser.add_argument("--scratch", type=Path, help="where crowds are put; default: the folder for temporary files")
    arguments = options_of(parser, TASKS, measure_here)
    if arguments is None:
        return
    record = Record("engines", kept=arguments.write, resume=arguments.resume, look=look_around)
    loop = hot_loop(10**6 if arguments.quick else 10**7)
    print("\n".join([*loop, ""]))
    record.row("hot_loop", (1, 0, 0), lambda: {"lines": loop})
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        make_crowd(Path(scratch) / "warm", 300_000, 20, None)  # large enough to compile the kernels
        measure_apart(__file__, "pack", Path(scratch) / "warm", TIMEOUT)
        for *wanted, tasks in QUICK if arguments.quick else PLAN:
            if wanted[0] > arguments.most:
                continue
            folder = Path(scratch) / "crowd"
            size = make_crowd(folder, *wanted)
            for name in (task for task in tasks if task in (*FIRST, *arguments.only)):
                row = record.row(name, size, partial(measure_apart, __file__, name, folder, TIMEOUT))
                print(line_of(row), flush=True)
    if arguments.write:
        write_page()


if __name__ == "__main__":
    main()
