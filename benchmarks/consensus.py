"""Time, memory and quality of our methods and of others', on the same simulated crowds.

Every measurement runs in a process of its own, so that peak memory is its own. Ratios within one run are what counts:
machines differ. `--write` puts the tables and plots into docs/performance.md.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from child import Result, clock, measure_apart, measured, options_of, read_parquet
from page import Record, Row, Size, line_of, write_page
from script import parser_of, whole_number

SEED = 0
# The best of five says what the machine can do; a task that has taken three seconds is not disturbed by a hiccup.
REPEATS = 5
ENOUGH_SECONDS = 3.0
# Ten minutes where others take seconds: who is not done by then is out of the race.
TIMEOUT = 600.0


# -- what is measured; each returns a table of pairs, or None ----------------------------------------------------------


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

    return amcc.consensus.MajorityVote().fit(amcc.read_votes(folder / "votes.parquet")).pairs(frame="arrow")


def amcc_dawid_skene(folder: Path) -> Any:
    """Our Dawid–Skene, from the file."""
    import amcc

    return amcc.consensus.DawidSkene().fit(amcc.read_votes(folder / "votes.parquet")).pairs(frame="arrow")


def amcc_default(folder: Path) -> Any:
    """What `amcc consensus` runs, from the file."""
    import amcc

    return amcc.AMCC().fit(amcc.read_votes(folder / "votes.parquet")).pairs(frame="arrow")


def crowdkit_majority(folder: Path) -> Any:
    """crowd-kit's majority vote, label by label."""
    from crowdkit.aggregation import MajorityVote

    return _label_by_label(folder, lambda votes: _crowdkit(MajorityVote(), votes))


def crowdkit_dawid_skene(folder: Path) -> Any:
    """crowd-kit's Dawid–Skene, label by label."""
    from crowdkit.aggregation import DawidSkene

    return _label_by_label(folder, lambda votes: _crowdkit(DawidSkene(n_iter=100), votes))


def _crowdkit(model: Any, votes: Any) -> Any:
    single = votes[["item", "worker"]].astype(str).assign(label=votes["value"].to_numpy())
    found = model.fit_predict(single.rename(columns={"item": "task"}))
    return found.index, found == 1


def cleanlab_majority(folder: Path) -> Any:
    """cleanlab's majority vote, label by label."""
    import numpy as np
    from cleanlab.multiannotator import get_majority_vote_label

    def majority(votes: Any) -> Any:
        with clock.paused():  # making the table is not the method's work
            items, said = _items_by_workers(votes, np.nan)
            if not np.nanmax(said):  # nobody ticked the label, and cleanlab wants two classes
                return items, np.zeros(len(items))
        return items, get_majority_vote_label(said, verbose=False) == 1

    return _label_by_label(folder, majority)


def snorkel_label_model(folder: Path) -> Any:
    """Snorkel's label model, label by label: workers are labelling functions."""
    from snorkel.labeling.model import LabelModel

    def modelled(votes: Any) -> Any:
        with clock.paused():
            items, said = _items_by_workers(votes, -1)
        model = LabelModel(cardinality=2, verbose=False)
        model.fit(said, seed=SEED, progress_bar=False)
        return items, model.predict(said, tie_break_policy="random") == 1

    return _label_by_label(folder, modelled)


def _items_by_workers(votes: Any, not_asked: float) -> tuple[Any, Any]:
    """The votes on a label as a table: 1 yes, 0 no."""
    import numpy as np

    item, items = votes["item"].factorize()
    worker, workers = votes["worker"].factorize()
    said = np.full((len(items), len(workers)), not_asked)
    said[item, worker] = votes["value"] > 0
    return items, said


def _label_by_label(folder: Path, find: Callable[[Any], tuple[Any, Any]]) -> Any:
    """What `find` says about the votes on each label: items, and whether it is present."""
    import pandas as pd
    import pyarrow as pa

    frame = pd.read_parquet(folder / "votes.parquet")
    pieces = []
    for label, votes in frame.groupby("label", observed=True):
        items, present = find(votes)
        pieces.append(pd.DataFrame({"item": items.astype(str), "label": str(label), "present": present}))
    return pa.Table.from_pandas(pd.concat(pieces).astype({"present": int}), preserve_index=False)


TASKS: dict[str, Callable[[Path], Any]] = {
    task.__name__: task
    for task in (
        read_parquet,
        amcc_majority,
        crowdkit_majority,
        cleanlab_majority,
        amcc_dawid_skene,
        crowdkit_dawid_skene,
        snorkel_label_model,
        amcc_default,
        read_csv,
        amcc_check_csv,
    )
}
# Votes up to which a task is tried, and why no further.
LARGEST = {"cleanlab_majority": (10**6, "not tried: 4 GB for the table of each label")}

# Seconds after which a task is given up, where it is not `TIMEOUT`.
PATIENCE = {"snorkel_label_model": 180.0}


def measure_here(name: str, folder: Path) -> Result:
    """Run one task in this process."""
    warnings.simplefilter("ignore")
    warm = "warm" if name.startswith("amcc") else "tiny"  # only ours compile anything
    result, consensus = measured(TASKS[name], folder, folder.parent / warm, REPEATS, ENOUGH_SECONDS)
    return result if consensus is None else {**result, "jaccard": _jaccard(consensus, folder)}


def _jaccard(consensus: Any, folder: Path) -> float:
    import amcc
    from amcc.evaluation import evaluate

    if "probability" not in consensus.column_names:
        consensus = consensus.append_column("probability", consensus["present"].cast("float64"))
    return evaluate(consensus, amcc.read_truth(folder / "truth.csv")).scores["jaccard"]


# -- the run --------------------------------------------------------------------------------------------------------


def measure(name: str, folder: Path, n_votes: int, smaller: list[Row]) -> Result:
    """Run one task in a process of its own, unless it is known to lead nowhere."""
    most, why_not = LARGEST.get(name, (n_votes, ""))
    if n_votes > most:
        return {"stopped": why_not}
    # What did not end on fewer votes will not end on more.
    if any(row["task"] == name and "stopped" in row for row in smaller):
        return {"stopped": "not tried"}
    return measure_apart(__file__, name, folder, PATIENCE.get(name, TIMEOUT))


def make_crowd(folder: Path, n_votes: int) -> Size:
    """Simulate once; the CSV is the same votes as text."""
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    from amcc.data.simulate import CrowdSpec, write_crowd

    spec = CrowdSpec.for_votes(n_votes, seed=SEED)
    write_crowd(spec, folder)
    table = pq.read_table(folder / "votes.parquet")
    plain = table.cast(pq.read_schema(folder / "votes.parquet").remove_metadata())
    for position, field in enumerate(plain.schema):
        if str(field.type).startswith("dictionary"):
            plain = plain.set_column(position, field.name, plain[field.name].cast(field.type.value_type))
    csv.write_csv(plain, folder / "votes.csv")
    return n_votes, spec.n_labels, spec.n_workers


def main() -> None:
    """Measure everything, print row by row, write the page if asked."""
    parser = parser_of(__doc__)
    parser.add_argument("--sizes", type=whole_number, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    arguments = options_of(parser, TASKS, measure_here)
    if arguments is None:
        return
    record = Record("consensus", kept=arguments.write, resume=arguments.resume)
    with tempfile.TemporaryDirectory() as scratch:
        make_crowd(Path(scratch) / "warm", 300_000)  # large enough to compile the kernels
        make_crowd(Path(scratch) / "tiny", 1000)
        for n_votes in arguments.sizes:
            folder = Path(scratch) / "crowd"
            size = make_crowd(folder, n_votes)
            for name in arguments.only:
                row = record.row(name, size, partial(measure, name, folder, n_votes, list(record.rows)))
                print(line_of(row), flush=True)
    if arguments.write:
        write_page()


if __name__ == "__main__":
    main()
