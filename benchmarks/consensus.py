"""Time, memory and quality of our methods and of others', on the same simulated crowds.

Every measurement runs in a process of its own, so that peak memory is its own. Programs take turns: each once, then
each again, so whoever else uses the machine disturbs all of them. Medians over the turns count, and their range is
told. Ratios within one run, turn by turn, are what counts: machines differ. `--write` puts the tables and plots into
docs/performance.md.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from child import Others, Result, clock, look_around, measure_apart, measured, options_of, read_parquet
from page import line_of, write_page
from rows import Record, Row, Size
from script import parser_of, whole_number

SEED = 0
# Turns of all programs: of five, two may be disturbed and the median is not. Who has taken two minutes has had enough:
# over so long, what disturbs evens out, and the others wait.
TURNS, ENOUGH_IN_ALL = 5, 120.0
# Runs within a turn, whose median counts, as long as they take less than this: a run of milliseconds alone says little.
REPEATS, ENOUGH_SECONDS = 5, 0.5
# Rounds that are tried, and how far from the Jaccard index of rounds without end is near enough, for programs that are
# stopped at equal quality. A difference of .002 is one between two simulated crowds of 10⁶ votes.
ROUNDS_TRIED, NEAR_ENOUGH = (1, 2, 4, 8, 16, 32, 64, 100), 0.002
# Ten minutes where others take seconds: who is not done by then is out of the race.
TIMEOUT = 600.0


# -- what is measured ------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """A table of pairs, and how many rounds over all votes it took where a program goes round and round."""

    pairs: Any
    rounds: float | None = None


def _fitted(model: Any) -> Found:
    return Found(model.pairs(frame="arrow"), model.n_iter_)


def read_csv(folder: Path) -> None:
    """The limit for text: polars reads it, nothing else."""
    import polars as pl

    pl.read_csv(folder / "votes.csv")


def amcc_check_csv(folder: Path) -> None:
    """What `amcc check votes.csv` does."""
    import amcc

    amcc.read_votes(folder / "votes.csv").describe()


def amcc_majority(folder: Path) -> Found:
    """Our majority vote, from the file."""
    import amcc

    return Found(amcc.consensus.MajorityVote().fit(amcc.read_votes(folder / "votes.parquet")).pairs(frame="arrow"))


def amcc_dawid_skene(folder: Path, n_rounds: int = 500) -> Found:
    """Our Dawid–Skene, from the file."""
    import amcc

    return _fitted(amcc.consensus.DawidSkene(max_iter=n_rounds).fit(amcc.read_votes(folder / "votes.parquet")))


def amcc_default(folder: Path) -> Found:
    """What `amcc consensus` runs, from the file."""
    import amcc

    return _fitted(amcc.AMCC().fit(amcc.read_votes(folder / "votes.parquet")))


def crowdkit_majority(folder: Path) -> Found:
    """crowd-kit's majority vote, label by label."""
    from crowdkit.aggregation import MajorityVote

    return _label_by_label(folder, lambda votes: _crowdkit(MajorityVote(), votes))


def crowdkit_dawid_skene(folder: Path, n_rounds: int = 100) -> Found:
    """crowd-kit's Dawid–Skene, label by label; each label stops when it has settled, after 100 rounds at most."""
    from crowdkit.aggregation import DawidSkene

    votes_gone_over, n_votes = 0, 0

    def fitted(votes: Any) -> Any:
        nonlocal votes_gone_over, n_votes
        model = DawidSkene(n_iter=n_rounds)
        found = _crowdkit(model, votes)
        votes_gone_over += len(model.loss_history_) * len(votes)
        n_votes += len(votes)
        return found

    pairs, _ = _label_by_label(folder, fitted)
    return Found(pairs, votes_gone_over / n_votes)


def _crowdkit(model: Any, votes: Any) -> Any:
    single = votes[["item", "worker"]].astype(str).assign(label=votes["value"].to_numpy())
    found = model.fit_predict(single.rename(columns={"item": "task"}))
    return found.index, found == 1


def amcc_equal_quality(folder: Path) -> Found:
    """Our Dawid–Skene with as few rounds as it needs to be as good as crowd-kit's, and the other way round."""
    return _as_good(amcc_dawid_skene, folder)


def crowdkit_equal_quality(folder: Path) -> Found:
    """The same of crowd-kit's."""
    return _as_good(crowdkit_dawid_skene, folder)


def _as_good(task: Callable[[Path, int], Found], folder: Path) -> Found:
    """With the fewest rounds that make it as good as the less good of both in the end; to find them is not timed."""
    with clock.paused():
        goal = _noted(folder / "goal.rounds", lambda: _both_reach(folder))
        n_rounds = _noted(folder / f"{task.__name__}.rounds", lambda: _rounds_needed(task, folder, goal))
    return task(folder, int(n_rounds))


def _both_reach(folder: Path) -> float:
    """The Jaccard index that both come near to."""
    programs = amcc_dawid_skene, crowdkit_dawid_skene
    return min(_jaccard(program(folder).pairs, folder) for program in programs) - NEAR_ENOUGH


def _rounds_needed(task: Callable[[Path, int], Found], folder: Path, goal: float) -> float:
    good = (n_rounds for n_rounds in ROUNDS_TRIED if _jaccard(task(folder, n_rounds).pairs, folder) >= goal)
    return next(good, ROUNDS_TRIED[-1])


def _noted(note: Path, find: Callable[[], float]) -> float:
    """A number that is found once for a crowd and noted beside it: every turn is a process of its own."""
    if not note.exists():
        note.write_text(repr(find()))
    return float(note.read_text())


def cleanlab_majority(folder: Path) -> Found:
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


def snorkel_label_model(folder: Path) -> Found:
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


def _label_by_label(folder: Path, find: Callable[[Any], tuple[Any, Any]]) -> Found:
    """What `find` says about the votes on each label: items, and whether it is present."""
    import pandas as pd
    import pyarrow as pa

    frame = pd.read_parquet(folder / "votes.parquet")
    pieces = []
    for label, votes in frame.groupby("label", observed=True):
        items, present = find(votes)
        pieces.append(pd.DataFrame({"item": items.astype(str), "label": str(label), "present": present}))
    return Found(pa.Table.from_pandas(pd.concat(pieces).astype({"present": int}), preserve_index=False))


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
        amcc_equal_quality,
        crowdkit_equal_quality,
        amcc_default,
        read_csv,
        amcc_check_csv,
    )
}
# Votes up to which a task is tried, and why no further.
LARGEST = {
    "crowdkit_dawid_skene": (10**6, "not tried: on 2026-11-16 not within 10 min"),
    "cleanlab_majority": (10**6, "not tried: 4 GB for the table of each label"),
    "crowdkit_equal_quality": (10**6, "not tried: to find the rounds would take half an hour"),
    "amcc_equal_quality": (10**6, "not tried: to find the rounds would take half an hour"),
}

# Seconds after which a task is given up, where it is not `TIMEOUT`.
PATIENCE = {"snorkel_label_model": 180.0}


def measure_here(name: str, folder: Path) -> Result:
    """Run one task in this process."""
    warnings.simplefilter("ignore")
    # Only ours compile anything, and which loops they need depends on the size.
    warm = folder.parent / "tiny"
    if name.startswith("amcc"):
        warm = min(folder, folder.parent / "warm", key=lambda crowd: (crowd / "votes.parquet").stat().st_size)
    result, found = measured(TASKS[name], folder, warm, REPEATS, ENOUGH_SECONDS)
    if found is None:
        return result
    rounds = {} if found.rounds is None else {"rounds": found.rounds}
    return {**result, **rounds, "jaccard": _jaccard(found.pairs, folder)}


def _jaccard(consensus: Any, folder: Path) -> float:
    import amcc
    from amcc.evaluation import evaluate

    if "probability" not in consensus.column_names:
        consensus = consensus.append_column("probability", consensus["present"].cast("float64"))
    return evaluate(consensus, amcc.read_truth(folder / "truth.csv")).scores["jaccard"]


# -- the run --------------------------------------------------------------------------------------------------------


def hopeless(name: str, n_votes: int, rows: list[Row]) -> str:
    """Why a task need not be tried at this size; empty where it should be."""
    most, why_not = LARGEST.get(name, (n_votes, ""))
    if n_votes > most:
        return why_not
    # What did not end on fewer votes will not end on more.
    stopped = (row["votes"] for row in rows if row["task"] == name and "stopped" in row)
    return "not tried" if any(votes < n_votes for votes in stopped) else ""


def in_turns(names: list[str], n_turns: int, measure: Callable[[str], Result]) -> dict[str, Result]:
    """Each task once, then each again, and so on: what `together` makes of it."""
    found: dict[str, list[Result]] = {name: [] for name in names}
    for _ in range(n_turns):
        for name, results in found.items():
            if any("stopped" in each for each in results) or sum(each["seconds"] for each in results) > ENOUGH_IN_ALL:
                continue
            others = Others()
            result = measure(name)
            results.append({**result, "others": others.share()})
    return {name: together(results) for name, results in found.items()}


def together(results: list[Result]) -> Result:
    """Medians of the times, the most of memory and of what others took, and the rest as it was; or why it stopped."""
    if stopped := [each for each in results if "stopped" in each]:
        return {"stopped": stopped[0]["stopped"]}
    turns = [each["seconds"] for each in results]
    most = {what: max(each[what] for each in results) for what in ("megabytes", "growth", "others")}
    return {**results[-1], **most, "seconds": median(turns), "turns": turns}


def make_crowd(folder: Path, n_votes: int) -> Size:
    """Simulate once; the CSV is the same votes as text."""
    import pyarrow.csv as csv
    import pyarrow.parquet as pq

    from amcc.data.simulate import CrowdSpec, write_crowd

    spec = CrowdSpec.for_votes(n_votes, seed=SEED)
    write_crowd(spec, folder)
    for note in folder.glob("*.rounds"):  # of the crowd before
        note.unlink()
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
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = options_of(parser, TASKS, measure_here)
    if arguments is None:
        return
    record = Record("consensus", kept=arguments.write, resume=arguments.resume, look=look_around)
    with tempfile.TemporaryDirectory() as scratch:
        make_crowd(Path(scratch) / "warm", 300_000)  # large enough to compile the kernels
        make_crowd(Path(scratch) / "tiny", 1000)
        for n_votes in arguments.sizes:
            measure_size(record, Path(scratch) / "crowd", n_votes, arguments)
    if arguments.write:
        write_page()


def measure_size(record: Record, folder: Path, n_votes: int, arguments: Any) -> None:
    """All programs on a crowd of this size."""
    size = make_crowd(folder, n_votes)
    why_not = {name: hopeless(name, n_votes, record.rows) for name in arguments.only}
    names = [name for name in arguments.only if not why_not[name] and not record.has(name, size)]

    def measure(name: str) -> Result:
        print(f"{name} …", end="\r", flush=True)  # a turn may take minutes
        return measure_apart(__file__, name, folder, PATIENCE.get(name, TIMEOUT))

    found = in_turns(names, arguments.turns, measure)
    for name in arguments.only:
        result = found.get(name, {"stopped": why_not[name]})
        print(line_of(record.row(name, size, lambda: result)), flush=True)  # noqa: B023


if __name__ == "__main__":
    main()
