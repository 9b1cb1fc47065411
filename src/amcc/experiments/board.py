"""The board: every method on every crowd whose truth is known, with ranks and the worst loss against majority.

A *cell* is a crowd with its truth, drawn with a seed where it is thinned or simulated. A *result* is one method on one
draw of one cell. Results are kept in a cache, so that a board that was interrupted goes on where it stopped, and a
board after a change of one method runs that method only.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

import amcc
from amcc import METHODS, Votes, metrics
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import ConvergenceWarning, EmptyInputError, ParameterError
from amcc.files import make_folder, whole_file

Mask = npt.NDArray[np.bool_]
Kind = Literal["independent", "own", "simulated"]

SCORES = ("jaccard", "f1", "hamming", "one_minus_rl", "one_minus_oe", "ece", "seconds")
HIGHER_IS_BETTER = SCORES[:5]
BASELINE = "majority"
TIE = 0.005
"""Methods this close to the first share its rank."""

# Truth made from the very votes: only a part of the answers may be used, or majority is right by definition.
OWN_TRUTH: dict[str, tuple[int, ...]] = {
    "apple_ekman": (3, 5),
    "apple_nakamura": (3, 5),
    "love_ekman": (3, 5),
    "love_nakamura": (3, 5),
    "so_emotions": (2,),  # three raters an item
}
TROUBLES: dict[str, dict[str, float]] = {
    "20 % spammers": {"spammers": 0.2},
    "60 % spammers": {"spammers": 0.6},
    "half unasked": {"asked_share": 0.5},
}
SIZES = (10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Cell:
    """A crowd to compare on: a named set, possibly thinned to `answers` per item, or a simulated crowd."""

    name: str
    kind: Kind
    n_seeds: int
    folder: str | None = None
    answers: int | None = None
    spec: tuple[int, tuple[tuple[str, float], ...]] | None = None

    def draw(self, seed: int) -> tuple[Votes, Mask, Mask]:
        """Votes, truth and where it is known, both (n_items, n_labels)."""
        if self.spec is not None:
            n_votes, changes = self.spec
            crowd = simulate_crowd(CrowdSpec.for_votes(n_votes, seed=seed, **dict(changes)))
            return crowd.votes, crowd.truth, np.ones_like(crowd.truth)
        votes, truth, known = _read_set(str(self.folder))
        return votes if self.answers is None else thinned(votes, self.answers, seed), truth, known


@dataclass(frozen=True)
class Result:
    """The scores of one method on one draw of one cell."""

    cell: str
    seed: int
    method: str
    scores: Mapping[str, float]


def cells_of(data: Path | None, *, n_seeds: int = 10, sizes: Sequence[int] = SIZES) -> list[Cell]:
    """All sets with truth below `data`, and the simulated crowds."""
    if n_seeds < 1:
        raise ParameterError(f"seeds must be at least 1; got {n_seeds}.")
    cells = []
    folders = [] if data is None else sorted(path.parent for path in data.glob("*/annotations.csv.gz"))
    for folder in folders:
        if not (folder / "truth.csv").exists():
            continue
        own = OWN_TRUTH.get(folder.name)
        if own is None:
            cells.append(Cell(folder.name, "independent", 1, str(folder)))
        kind: Kind = "independent" if own is None else "own"
        cells += [Cell(f"{folder.name} @{k}", kind, n_seeds, str(folder), k) for k in own or (3,)]
    if data is not None and not cells:
        raise EmptyInputError(f"{data} must hold folders with annotations.csv.gz and truth.csv; there is none.")
    # Thinning to three changes nothing where nobody has more answers.
    cells = [cell for cell in cells if cell.kind == "own" or cell.answers is None or _can_be_thinned(cell)]
    for trouble, changes in TROUBLES.items():
        spec = tuple(changes.items())
        cells += [
            Cell(
                f"simulated {size:.0e}, {trouble}".replace("e+0", "e"), "simulated", min(n_seeds, 3), spec=(size, spec)
            )
            for size in sizes
        ]
    return cells


def _can_be_thinned(cell: Cell) -> bool:
    return bool(_read_set(str(cell.folder))[0].answers_per_item.max() > (cell.answers or 0))


@cache
def _read_set(folder: str) -> tuple[Votes, Mask, Mask]:
    path = Path(folder)
    votes = amcc.read_votes(path / "annotations.csv.gz")
    known_pairs, known_items = path / "truth_known.csv", path / "truth_items.csv"
    truth = amcc.read_truth(
        path / "truth.csv",
        known_pairs=known_pairs if known_pairs.exists() else None,
        known_items=known_items if known_items.exists() and not known_pairs.exists() else None,
    )
    return votes, *truth.matrices(votes.item_names, votes.label_names)


def thinned(votes: Votes, n_answers: int, seed: int) -> Votes:
    """At most `n_answers` random answers per item."""
    answer = votes.item.astype(np.int64) * votes.n_workers + votes.worker
    distinct, answer_of_vote = np.unique(answer, return_inverse=True)
    item = distinct // votes.n_workers
    order = np.lexsort((np.random.default_rng(seed).random(len(distinct)), item))
    place = np.empty(len(distinct), dtype=np.int64)
    place[order] = np.arange(len(distinct)) - np.searchsorted(item, item[order])
    return votes.select((place < n_answers)[answer_of_vote])


def run_board(
    cells: Sequence[Cell],
    methods: Sequence[str],
    folder: Path,
    *,
    n_processes: int = 1,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> list[Result]:
    """Results of every method on every draw, those in the cache of `folder` first."""
    for method in methods:
        if method not in METHODS:
            raise ParameterError(f"methods must be among {', '.join(METHODS)}; got {method!r}.")
    if not cells:
        raise EmptyInputError("there must be a crowd to compare on; neither data nor a simulated size was chosen.")
    make_folder(folder)
    tasks = [(cell, seed, method) for cell in cells for seed in range(cell.n_seeds) for method in methods]
    kept = {_place(folder, *task): _kept(_place(folder, *task)) for task in tasks}
    missing = [task for task in tasks if kept[_place(folder, *task)] is None]
    done = len(tasks) - len(missing)
    progress(done, len(tasks))
    for task, new in _computed(missing, n_processes):
        path = _place(folder, *task)
        with whole_file(path) as temporary:
            temporary.write_text(json.dumps(asdict(new)))
        kept[path] = new
        done += 1
        progress(done, len(tasks))
    return [result for task in tasks if (result := kept[_place(folder, *task)]) is not None]


Task = tuple[Cell, int, str]


def _computed(tasks: Iterable[Task], n_processes: int) -> Iterator[tuple[Task, Result]]:
    if n_processes == 1:
        yield from ((task, evaluate_method(*task)) for task in tasks)
        return
    with ProcessPoolExecutor(n_processes) as pool:
        running = {pool.submit(evaluate_method, *task): task for task in tasks}
        yield from ((running[future], future.result()) for future in as_completed(running))


def evaluate_method(cell: Cell, seed: int, method: str) -> Result:
    """Fit one method to one draw and score it."""
    votes, truth, known = cell.draw(seed)
    model = METHODS[method]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        model.fit(votes)
        seconds = time.perf_counter() - start
    scores = metrics.evaluate(truth, model.predict(), model.predict_proba(), known)
    return Result(cell.name, seed, method, {name: ({**scores, "seconds": seconds})[name] for name in SCORES})


def _place(folder: Path, cell: Cell, seed: int, method: str) -> Path:
    """Where a result is kept: under what it depends on, the code of all models included."""
    wanted = json.dumps([asdict(cell), seed, method, _code_version()], sort_keys=True)
    return folder / f"{hashlib.sha256(wanted.encode()).hexdigest()[:24]}.json"


@cache
def _code_version() -> str:
    sources = sorted(Path(amcc.__file__).parent.rglob("*.py"))
    code = [path for path in sources if not {"cli", "experiments"} & set(path.parts) and path.name != "report.py"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in code)).hexdigest()


def _kept(path: Path) -> Result | None:
    return Result(**json.loads(path.read_text())) if path.exists() else None


# -- reading the board ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Board:
    """Means over seeds: scores[cell, method, score], with the names along each axis."""

    cells: list[str]
    methods: list[str]
    scores: npt.NDArray[np.float64]

    def of(self, score: str) -> npt.NDArray[np.float64]:
        """(n_cells, n_methods) one score."""
        return np.asarray(self.scores[:, :, SCORES.index(score)])

    def share_first(self, score: str) -> npt.NDArray[np.float64]:
        """(n_methods,) on which share of the cells each method is first or within `TIE` of the first."""
        values = self.of(score)
        return np.asarray((values >= values.max(axis=1, keepdims=True) - TIE).mean(axis=0))

    def worst_loss(self, score: str) -> npt.NDArray[np.float64]:
        """(n_methods,) how far each method falls below majority where it does so most; negative if it never does."""
        values = self.of(score)
        return np.asarray((values[:, [self.methods.index(BASELINE)]] - values).max(axis=0))

    def markdown(self, score: str) -> str:
        """One score as a table, the best of each row in bold."""
        values = self.of(score)
        best = values.max(axis=1, keepdims=True) if score in HIGHER_IS_BETTER else values.min(axis=1, keepdims=True)
        rows = [
            " | ".join(f"**{value:.3f}**" if value == top else f"{value:.3f}" for value in row)
            for row, (top,) in zip(values, best, strict=True)
        ]
        head = ["| cell | " + " | ".join(self.methods) + " |", "|---" * (1 + len(self.methods)) + "|"]
        return "\n".join(head + [f"| {cell} | {row} |" for cell, row in zip(self.cells, rows, strict=True)])


def summarise(results: Sequence[Result]) -> Board:
    """Average results over seeds."""
    cells = list(dict.fromkeys(result.cell for result in results))
    methods = list(dict.fromkeys(result.method for result in results))
    sums = np.zeros((len(cells), len(methods), len(SCORES)))
    counts = np.zeros((len(cells), len(methods), 1))
    for result in results:
        place = cells.index(result.cell), methods.index(result.method)
        sums[place] += [result.scores[name] for name in SCORES]
        counts[place] += 1
    return Board(cells, methods, sums / counts)
