"""Questions by their codes: which worker is asked whether which item has which label.

A *pair* is an item and a label: what a question is about. A *page* is an item and a worker: labels of one item that one
worker is asked about together stand on one page, which may have a price of its own. All codes are places in the
vocabularies of the `Votes` at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Ints
from amcc.votes import Votes


@dataclass(frozen=True)
class Triplets:
    """Questions that may be asked: (n,) codes of item, label and worker.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1]], [[1, 1]]], label_names=["cat", "dog"], worker_names=["ann", "bob"])
    >>> answered = Triplets.of_votes(votes)
    >>> answered.take(np.array([3])).named(votes)["worker"].to_pylist()
    ['bob']
    >>> answered.keys(votes)
    array([0, 1, 2, 3])
    """

    item: Ints
    label: Ints
    worker: Ints

    @classmethod
    def of_votes(cls, votes: Votes) -> Triplets:
        """The questions that these votes answer, in the order of the votes."""
        return cls(*(code.astype(np.int64) for code in (votes.item, votes.label, votes.worker)))

    def __len__(self) -> int:
        return len(self.item)

    def take(self, places: Ints) -> Triplets:
        """Some of them, in that order."""
        return Triplets(self.item[places], self.label[places], self.worker[places])

    def joined(self, other: Triplets) -> Triplets:
        """These, then the others."""
        codes = ("item", "label", "worker")
        return Triplets(*(np.append(getattr(self, code), getattr(other, code)) for code in codes))

    def keys(self, votes: Votes) -> Ints:
        """(n,) one integer per question. Those of votes come out sorted, for votes are ordered in the same way."""
        # Fits in 64 bits: tables of all items and labels are held in memory anyway, and that bounds their number.
        return (self.item * votes.n_labels + self.label) * votes.n_workers + self.worker

    def rows(self) -> list[tuple[int, int, int]]:
        """Item, label and worker of each question, as plain numbers that can stand in a set."""
        return list(zip(self.item.tolist(), self.label.tolist(), self.worker.tolist(), strict=True))

    def pages(self) -> list[tuple[int, int]]:
        """Item and worker of each question."""
        return list(zip(self.item.tolist(), self.worker.tolist(), strict=True))

    def named(self, votes: Votes) -> dict[str, pa.Array]:
        """Columns item, label and worker, with the names that the vocabularies of `votes` give them."""
        return {
            role: getattr(votes, f"{role}_names").take(pa.array(getattr(self, role)))
            for role in ("item", "label", "worker")
        }


# Before the first question.
NOTHING_ASKED = Triplets(*(np.empty(0, dtype=np.int64) for _ in range(3)))


@dataclass(frozen=True)
class Questions:
    """Questions that a strategy chose, the best first.

    asked : their codes.
    utility : (n,) higher is better; comparable within one strategy only.
    parts : what the utility was made of, by name (u1, u2, u, q, c, …), each (n,).
    """

    asked: Triplets
    utility: Floats
    parts: Mapping[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.asked)

    def take(self, places: Ints) -> Questions:
        """Some of them, in that order, with their parts."""
        parts = {name: part[places] for name, part in self.parts.items()}
        return Questions(self.asked.take(places), self.utility[places], parts)

    def joined(self, other: Questions) -> Questions:
        """These, then the others, with the parts that both have: questions drawn at random have none."""
        parts = {name: np.append(part, other.parts[name]) for name, part in self.parts.items() if name in other.parts}
        return Questions(self.asked.joined(other.asked), np.append(self.utility, other.utility), parts)
