"""Cells of the board: crowds whose truth is known, as they are, thinned to fewer answers, or simulated.

A `Cell` says which crowd; `Cell.draw(seed)` makes a `Draw` of it: votes with their truth. Which cells there are follows
from the tables at the top of this file (`THINNED`, `TROUBLES`, `SHARED_TROUBLES`) and from the folders at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc import Roster, Votes
from amcc.arrays import Floats, Mask
from amcc.data import DATASETS, CrowdSpec, family_of, read_crowd, simulate_crowd, thinned
from amcc.errors import EmptyInputError, ParameterError
from amcc.experiments.cache import array_hash
from amcc.truth import PairList, Truth

# Whether the truth was found without the votes, from the very votes, or before there were any.
Kind = Literal["independent", "own", "simulated"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Answers per item that the board uses of a set, None for all of them.
THINNED: dict[str, tuple[int | None, ...]] = {
    # Truth made from the very votes: only a part of the answers may be used, or majority is right by definition.
    "apple_ekman": (3, 5),
    "apple_nakamura": (3, 5),
    "love_ekman": (3, 5),
    "love_nakamura": (3, 5),
    "so_emotions": (2,),  # three raters an item
    # Many answers to each item: the question is what few of them are worth.
    "affective": (None, 3, 5),
    "crowdtruth_medical": (None, 3, 5),
    "imagenet_real_golden": (3, 10),
    "imagenet_real_full": (),  # for speed: its truth is that of the golden set, and takes 25 million pairs to say so
    # Models answer everything, as they do in use.
    "llm_framing": (None,),
    "llm_cebab_aspects": (None,),
    "llm_civilcomments": (None,),
}
# The same for every other set.
USUAL = (None, 3)


# Crowds whose votes are independent given presence.
TROUBLES: dict[str, dict[str, float]] = {
    "20 % spammers": {"spammers": 0.2},
    "60 % spammers": {"spammers": 0.6},
    "half unasked": {"asked_share": 0.5},
}
# Crowds whose workers share something (`amcc.data.simulate.troubles`), or whose truth is another thing than presence.
SHARED_TROUBLES: dict[str, dict[str, float]] = {
    "dependent": {"pair_spread": 1.5},
    # All workers answer everything about many labels, few of them true: there errors add up.
    "dense, rare labels": {
        "n_workers": 8, "answers_per_item": 8, "spammers": 0.0, "n_labels": 28, "labels_per_item": 1.5,
        "pair_spread": 1.5,
    },
    "faint and tempting": {"faint": 0.25, "tempting": 0.05},
    "taste": {"taste": 2.0, "n_tastes": 2, "taste_labels": 0.5},
    # Six models on everything and one person on a quarter, as in the sets llm_*; errors as shared as there.
    "judges": {
        "n_workers": 7, "answers_per_item": 1, "spammers": 0.0, "labels_per_item": 3.0, "n_specialties": 2,
        "n_models": 6, "n_families": 3, "family_correlation": 0.9, "model_correlation": 0.7, "people_share": 0.25,
    },
    # Experts who call a label present sooner, or later, than the workers do: no votes can tell, known items can.
    "lenient experts": {"pair_spread": 2.0, "convention": 1 / 3, "convention_spread": 0.5},
    "strict experts": {"pair_spread": 2.0, "convention": 0.8, "convention_spread": 0.5},
}  # fmt: skip

# Votes of simulated crowds: small as most real sets, and large enough for what only many votes can tell.
SIZES = (10_000, 100_000, 1_000_000)
# Votes of the largest crowd with shared trouble: more votes do not make dependent ones more telling.
MOST_SHARED = 100_000
# Simulated crowds are large, so that few of them tell enough.
MOST_SIMULATED_SEEDS = 3


class TrueRates(NamedTuple):
    """Chance of a yes to a label that is present and to one that is absent, both (n_workers, n_labels)."""

    hit: Floats
    false_alarm: Floats


@dataclass(frozen=True)
class Draw:
    """One crowd with its truth, as a seed gave it.

    truth, known : (n_items, n_labels) what is true, and where that is known.
    rates : of the workers, where a simulation knows them and votes are independent given presence.
    features : (n_items, n_features) of the items, where there are any.
    roster : who the workers are, where that is known and used.
    """

    votes: Votes
    truth: Mask
    known: Mask
    rates: TrueRates | None = None
    features: Floats | None = None
    roster: Roster | None = None

    def fingerprint(self) -> str:
        """Equal for equal draws, whatever code has read, thinned or simulated them."""
        votes = self.votes
        # The shape first: without it, codes alone do not say how many items or workers never occur.
        shape = repr((votes.n_items, votes.n_workers, votes.n_labels))
        if self.roster is not None:
            shape += repr((self.roster.worker.to_pylist(), self.roster.kind, self.roster.family.to_pylist()))
        about = (*(self.rates or ()), *(() if self.features is None else (self.features,)))
        return array_hash(shape, votes.item, votes.worker, votes.label, votes.value, self.truth, self.known, *about)


@dataclass(frozen=True)
class Cell:
    """A crowd to compare on: a named set, possibly thinned to `answers` per item, or a simulated crowd.

    n_seeds : how often it is drawn.
    folder, answers : of a set, and how many answers per item are used; None for all of them.
    spec : of a simulated crowd, votes and what makes it troublesome.
    family : cells of one family have a source in common: a mean over families counts them once.
    """

    name: str
    kind: Kind
    n_seeds: int
    folder: str | None = None
    answers: int | None = None
    spec: tuple[int, tuple[tuple[str, float], ...]] | None = None
    family: str = ""

    def draw(self, seed: int) -> Draw:
        """The crowd that this seed gives."""
        if self.spec is not None:
            n_votes, changes = self.spec
            crowd = simulate_crowd(CrowdSpec.for_votes(n_votes, seed=seed, **dict(changes)))
            # Rates say all about votes only where nothing else joins them: else an oracle would be none.
            rates = TrueRates(crowd.hit_rate, crowd.false_alarm_rate) if crowd.independent else None
            return Draw(crowd.votes, crowd.truth, np.ones_like(crowd.truth), rates)
        whole = whole_set(str(self.folder))
        votes = whole.votes if self.answers is None else thinned(whole.votes, self.answers, seed)
        return Draw(votes, whole.truth, whole.known)


def cells_of(data: Path | None, *, n_seeds: int = 10, sizes: Sequence[int] = SIZES) -> list[Cell]:
    """All sets with truth below `data`, and the simulated crowds of these sizes.

    n_seeds : draws of each thinned set; simulated crowds have at most `MOST_SIMULATED_SEEDS`.
    """
    if n_seeds < 1:
        raise ParameterError(f"seeds must be at least 1; got {n_seeds}.")
    cells = [cell for folder in folders_with_truth(data) for cell in _cells_of_set(folder, n_seeds)]
    if data is not None and not cells:
        raise EmptyInputError(f"{data} must hold folders with annotations.csv.gz and truth.csv; there is none.")
    small = [size for size in sizes if size <= MOST_SHARED]
    for troubles, their_sizes in ((TROUBLES, sizes), (SHARED_TROUBLES, small)):
        cells += [_simulated(*trouble, size, n_seeds) for trouble in troubles.items() for size in their_sizes]
    return cells


def folders_with_truth(data: Path | None) -> list[Path]:
    """Where votes lie beside their truth."""
    found = [] if data is None else sorted(path.parent for path in data.glob("*/annotations.csv.gz"))
    return [folder for folder in found if (folder / "truth.csv").exists()]


def _cells_of_set(folder: Path, n_seeds: int) -> list[Cell]:
    """A set as it is and thinned, as far as that changes something.

    A set that is thinned to more answers than any item has would be the set itself under another name.
    """
    name, known_set = folder.name, DATASETS.get(folder.name)
    kind: Kind = "own" if known_set and known_set.truth == "own" else "independent"
    cells = []
    for answers in THINNED.get(name, USUAL):
        title, seeds = (name, 1) if answers is None else (f"{name} @{answers}", n_seeds)
        cells.append(Cell(title, kind, seeds, str(folder), answers, family=family_of(name)))
    return [cell for cell in cells if kind == "own" or cell.answers is None or _can_be_thinned(cell)]


def _simulated(trouble: str, changes: Mapping[str, float], size: int, n_seeds: int) -> Cell:
    """A crowd with one trouble; all sizes of it are one family."""
    name = f"simulated {size:.0e}, {trouble}".replace("e+0", "e")  # 1e4, not 1e+04
    seeds = min(n_seeds, MOST_SIMULATED_SEEDS)
    return Cell(name, "simulated", seeds, spec=(size, tuple(changes.items())), family=f"simulated: {trouble}")


def _can_be_thinned(cell: Cell) -> bool:
    """Whether some item has more answers than are kept."""
    return bool(whole_set(str(cell.folder)).votes.answers_per_item.max() > (cell.answers or 0))


@cache  # cells of one set, and all their seeds, read it once
def whole_set(folder: str) -> Draw:
    """A whole set, without the votes of workers who had a part in its truth."""
    crowd, known_set = read_crowd(Path(folder)), DATASETS.get(Path(folder).name)
    votes = crowd.votes
    if known_set and known_set.scored_voters:  # the truth was made from the answers of the others
        names = votes.worker_names.cast(pa.string())
        apart = pc.is_in(names, value_set=pa.array(known_set.scored_voters)).to_numpy(zero_copy_only=False)
        votes = votes.select(apart[votes.worker])
    return Draw(votes, crowd.truth, crowd.known)


def with_known_items(draw: Draw, n_items: int, seed: int) -> tuple[Truth, Draw]:
    """The truth of some items, drawn at random among those known, and the draw in which only the others are scored.

    At least half of the known items stay to be scored.
    """
    there = np.flatnonzero(draw.known.any(axis=1))
    # The number of items is part of the seed: 30 known items are not the 10 and 20 more, but drawn again.
    chosen = np.random.default_rng((seed, n_items)).choice(there, min(n_items, len(there) // 2), replace=False)
    inside = np.zeros_like(draw.known)
    inside[chosen] = draw.known[chosen]
    return truth_inside(draw, inside), replace(draw, known=draw.known & ~inside)


def truth_inside(draw: Draw, inside: Mask) -> Truth:
    """What is true of the pairs (n_items, n_labels) inside, as a requester would tell it: by name."""
    return Truth(pair_list(draw.votes, draw.truth & inside), known_pairs=pair_list(draw.votes, inside))


def pair_list(votes: Votes, mask: Mask) -> PairList:
    """The pairs of a mask (n_items, n_labels) by their names."""
    names = votes.item_names, votes.label_names
    codes = (pa.array(code) for code in np.nonzero(mask))
    return PairList(*(name.cast(pa.string()).take(code) for name, code in zip(names, codes, strict=True)))
