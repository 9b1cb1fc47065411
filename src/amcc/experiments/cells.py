"""Cells of the board: crowds whose truth is known, as they are, thinned to fewer answers, or simulated."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from amcc import Votes
from amcc.data.layout import read_crowd
from amcc.data.registry import DATASETS
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import EmptyInputError, ParameterError
from amcc.kernels import Floats

Mask = npt.NDArray[np.bool_]
Kind = Literal["independent", "own", "simulated"]
"""Whether the truth was found without the votes, from the very votes, or before there were any."""
KINDS: tuple[Kind, ...] = get_args(Kind)

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
MOST_SIMULATED_SEEDS = 3
"""Simulated crowds are large, so that few of them tell enough."""


class Rates(NamedTuple):
    """Chance of a yes to a label that is present and to one that is absent, both (n_workers, n_labels)."""

    hit: Floats
    false_alarm: Floats


@dataclass(frozen=True)
class Draw:
    """One crowd with its truth and where that is known, both (n_items, n_labels); rates only where simulated."""

    votes: Votes
    truth: Mask
    known: Mask
    rates: Rates | None = None

    def fingerprint(self) -> str:
        """Equal for equal draws, whatever code has read, thinned or simulated them."""
        votes = self.votes
        found = hashlib.sha256(repr((votes.n_items, votes.n_workers, votes.n_labels)).encode())
        for array in (votes.item, votes.worker, votes.label, votes.value, self.truth, self.known, *(self.rates or ())):
            found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()


@dataclass(frozen=True)
class Cell:
    """A crowd to compare on: a named set, possibly thinned to `answers` per item, or a simulated crowd."""

    name: str
    kind: Kind
    n_seeds: int
    folder: str | None = None
    answers: int | None = None
    spec: tuple[int, tuple[tuple[str, float], ...]] | None = None

    def draw(self, seed: int) -> Draw:
        """The crowd that this seed gives."""
        if self.spec is not None:
            n_votes, changes = self.spec
            crowd = simulate_crowd(CrowdSpec.for_votes(n_votes, seed=seed, **dict(changes)))
            rates = Rates(crowd.hit_rate, crowd.false_alarm_rate)
            return Draw(crowd.votes, crowd.truth, np.ones_like(crowd.truth), rates)
        whole = _read_set(str(self.folder))
        votes = whole.votes if self.answers is None else thinned(whole.votes, self.answers, seed)
        return Draw(votes, whole.truth, whole.known)


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
        for size in sizes:
            name = f"simulated {size:.0e}, {trouble}".replace("e+0", "e")
            spec = size, tuple(changes.items())
            cells.append(Cell(name, "simulated", min(n_seeds, MOST_SIMULATED_SEEDS), spec=spec))
    return cells


def _can_be_thinned(cell: Cell) -> bool:
    return bool(_read_set(str(cell.folder)).votes.answers_per_item.max() > (cell.answers or 0))


@cache
def _read_set(folder: str) -> Draw:
    crowd, known_set = read_crowd(Path(folder)), DATASETS.get(Path(folder).name)
    votes = crowd.votes
    if known_set and known_set.scored_voters:  # the truth was made from the answers of the others
        names = votes.worker_names.cast(pa.string())
        apart = pc.is_in(names, value_set=pa.array(known_set.scored_voters)).to_numpy(zero_copy_only=False)
        votes = votes.select(apart[votes.worker])
    return Draw(votes, crowd.truth, crowd.known)


def thinned(votes: Votes, n_answers: int, seed: int) -> Votes:
    """At most `n_answers` random answers per item."""
    answer = votes.item.astype(np.int64) * votes.n_workers + votes.worker
    distinct, answer_of_vote = np.unique(answer, return_inverse=True)
    item = distinct // votes.n_workers
    order = np.lexsort((np.random.default_rng(seed).random(len(distinct)), item))
    place = np.empty(len(distinct), dtype=np.int64)
    place[order] = np.arange(len(distinct)) - np.searchsorted(item, item[order])
    return votes.select((place < n_answers)[answer_of_vote])
