"""Kinds of disagreement that were planted, against those that are found.

    python benchmarks/disagreement.py --seeds 3
    python benchmarks/disagreement.py --data DATA      # also what is found in real sets, where nobody knows the kinds

Crowds have planted pairs of every kind: *clear* (only unreliable workers err), *likely slip* (one reliable worker
errs), *hard item* (everybody says yes at one rate between .35 and .65), *split crowd* (workers vote by the side that
they have on the label, or on all labels), *too few votes* (two votes). Rows of the tables are what was planted, columns
what is found. Then come crowds of the simulator whose workers err independently of one another: every split there is
false.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from script import parser_of

from amcc import Votes
from amcc.consensus import make_model
from amcc.consensus.disagreement import KINDS
from amcc.data.layout import read_crowd
from amcc.data.simulate import CrowdSpec, simulate_crowd

# Of planted kinds among the items that get enough votes.
SHARES = {"clear": 0.55, "likely slip": 0.15, "hard item": 0.15, "split crowd": 0.15}

# How often an unreliable worker errs: often enough to be noticed, better than a coin.
UNRELIABLE_ERROR = 0.35
# Larger sets are left out.
MOST_VOTES = 1_500_000


@dataclass(frozen=True)
class Planted:
    """Votes, and (n_pairs,) the kind of each pair."""

    votes: Votes
    kind: np.ndarray


def plant(
    seed: int,
    *,
    n_items: int = 500,
    n_labels: int = 5,
    n_workers: int = 40,
    votes_per_item: int = 15,
    one_side: bool = False,
    few: float = 0.15,
    shares: dict[str, float] = SHARES,
) -> Planted:
    """A crowd in which a fifth of the workers is unreliable; `few` of the items get two votes."""
    rng = np.random.default_rng(seed)
    side = rng.random((n_workers, 1 if one_side else n_labels)) < 0.5
    side = np.broadcast_to(side, (n_workers, n_labels))
    unreliable = np.arange(n_workers) % 5 == 4
    columns: list[tuple[np.ndarray, ...]] = []
    kinds = np.empty((n_items, n_labels), dtype=object)
    for item in range(n_items):
        is_few = rng.random() < few
        who = rng.choice(n_workers, 2 if is_few else votes_per_item, replace=False)
        for label in range(n_labels):
            kind = rng.choice(list(shares), p=list(shares.values()))
            present = rng.random() < 0.4
            error = unreliable[who] & (rng.random(len(who)) < UNRELIABLE_ERROR)
            yes = error ^ present
            if kind == "likely slip":
                reliable = np.flatnonzero(~unreliable[who])
                slipped = rng.choice(reliable if len(reliable) else len(who))
                yes[slipped] = not present
            elif kind == "hard item":
                yes = rng.random(len(who)) < rng.uniform(0.35, 0.65)
            elif kind == "split crowd":
                yes = side[who, label] ^ present ^ error
            kinds[item, label] = "too few votes" if is_few else kind
            columns.append((np.full(len(who), item), who, np.full(len(who), label), np.where(yes, 1, -1)))
    votes = Votes.from_codes(
        *map(np.concatenate, zip(*columns, strict=True)),
        item_names=range(n_items), worker_names=range(n_workers), label_names=range(n_labels),
    )  # fmt: skip
    return Planted(votes, kinds[votes.pairs.item, votes.pairs.label])


def found_in(votes: Votes, method: str) -> np.ndarray:
    """(n_pairs,) kinds that are found after a fit of this method."""
    table = make_model(method).fit(votes).pairs(disagreement=True, votes=votes, frame="arrow")
    return np.array(table["disagreement"].to_pylist(), dtype=object)


def confusion(planted: np.ndarray, found: np.ndarray) -> np.ndarray:
    """[planted, found] shares of the planted pairs; NaN where none was planted."""
    counts = np.array([[np.sum((planted == a) & (found == b)) for b in KINDS] for a in KINDS], dtype=float)
    total = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)


CROWDS: dict[str, dict[str, object]] = {
    "15 votes, sides by label": {},
    "15 votes, one side on all labels": {"one_side": True},
    "30 votes": {"votes_per_item": 30, "n_items": 250},
    "8 votes": {"votes_per_item": 8},
    "100 items": {"n_items": 100},
    "no split pairs": {"shares": {"clear": 0.6, "likely slip": 0.2, "hard item": 0.2}},
}

INDEPENDENT: dict[str, dict[str, object]] = {
    "5 answers": {},
    "12 answers": {"answers_per_item": 12},
    "10 answers, 15 workers": {"answers_per_item": 10, "n_workers": 15},
    "10 answers, 30 % spammers": {"answers_per_item": 10, "spammers": 0.3},
    "8 answers, 20 labels": {"answers_per_item": 8, "n_labels": 20},
}


def independent(seeds: int, method: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Share of each kind in crowds without splits and hard items."""
    for name, changes in INDEPENDENT.items():
        found = np.concatenate(
            [
                found_in(
                    simulate_crowd(CrowdSpec(**{"n_items": 500, "n_workers": 40, "seed": seed, **changes})).votes,
                    method,
                )
                for seed in range(seeds)
            ]
        )
        yield name, {kind: float((found == kind).mean()) for kind in KINDS}


def main() -> None:
    """Print a table for every crowd."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", type=Path, help="folder of real sets")
    parser.add_argument("--method", default="dawid-skene", help="whose consensus is the start")
    chosen = parser.parse_args()
    head = " ".join(f"{kind:>14s}" for kind in KINDS)
    for name, changes in CROWDS.items():
        crowds = [plant(seed, **changes) for seed in range(chosen.seeds)]
        planted = np.concatenate([crowd.kind for crowd in crowds])
        found = np.concatenate([found_in(crowd.votes, chosen.method) for crowd in crowds])
        print(f"\n{name:22s} {head}")
        for kind, row in zip(KINDS, confusion(planted, found), strict=True):
            if not np.isnan(row).any():
                print(f"{kind:22s} " + " ".join(f"{share:14.3f}" for share in row), flush=True)
    print(f"\n{'independent workers':26s} {head}")
    for name, shares in independent(chosen.seeds, chosen.method):
        print(f"{name:26s} " + " ".join(f"{shares[kind]:14.3f}" for kind in KINDS), flush=True)
    folders = sorted(path.parent for path in chosen.data.glob("*/annotations.csv.gz")) if chosen.data else []
    print(f"\n{'real sets, votes per pair':32s} {head}" if folders else "")
    for folder in folders:
        votes = read_crowd(folder).votes
        if len(votes) > MOST_VOTES:
            continue
        found = found_in(votes, chosen.method)
        shares = " ".join(f"{(found == kind).mean():14.3f}" for kind in KINDS)
        print(f"{folder.name:26s} {len(votes) / len(votes.pairs):5.1f} {shares}", flush=True)


if __name__ == "__main__":
    main()
