"""Random sets of labels that are asked together, as RAkEL draws them.

Everything here depends on the votes and the seed only, not on names: see `NamelessOrder`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import comb
from typing import Self

import numpy as np
import pyarrow as pa

from amcc.arrays import Codes, Ints
from amcc.consensus.signature import Signatures
from amcc.votes import Votes

# Subsets with about so many votes in all are solved side by side: enough for numpy, few enough for the cache.
ROWS_PER_BATCH = 50_000


# How often each label draws for a new subset before there may be none left: labels that are seldom asked together allow
# fewer subsets than there are ways to choose labels.
DRAWS_PER_SUBSET = 20


@dataclass(frozen=True)
class NamelessOrder:
    """Old codes of items, workers and labels in an order that depends on their votes only.

    L-BFGS magnifies the last digit of every sum, and the subsets are drawn by number. In this order neither depends on
    names or on the order of the votes.
    """

    item: Ints
    worker: Ints
    label: Ints

    @classmethod
    def of(cls, chance: Signatures) -> Self:
        """By their hashes: equal votes, equal places, whatever the names."""
        return cls(*(np.argsort(hashes, kind="stable") for hashes in (chance.item, chance.worker, chance.label)))

    def apply(self, votes: Votes) -> tuple[Votes, Ints]:
        """Votes in this order, and the old numbers of their pairs.

        The second is (n_pairs,): pair p of the new votes was pair number[p] of the old ones.
        """
        item, worker, label = (np.argsort(order).astype(np.int32) for order in (self.item, self.worker, self.label))
        codes = item[votes.item], label[votes.label], worker[votes.worker]
        order = np.lexsort(codes[::-1])
        nameless = replace(
            votes,
            item=codes[0][order],
            label=codes[1][order],
            worker=codes[2][order],
            value=votes.value[order],
            item_names=votes.item_names.take(pa.array(self.item)),
            worker_names=votes.worker_names.take(pa.array(self.worker)),
            label_names=votes.label_names.take(pa.array(self.label)),
        )
        return nameless, np.lexsort((label[votes.pairs.label], item[votes.pairs.item]))


def draw_subsets(votes: Votes, size: int, n_subsets: int | None, seed: int) -> Ints:
    """(n_subsets, size) distinct sets of labels that are asked in one answer, −1 where there are fewer than `size`.

    Each label in turn draws one of its answers, among those that reach `size` labels if there are any, and the other
    labels from that answer. In the first turn this is skipped for labels that are in a subset already; then every
    label is in one.
    """
    rng = np.random.default_rng(seed)
    answers = LabelsByAnswer.of(votes, size)
    labels = np.flatnonzero(np.bincount(votes.label, minlength=votes.n_labels))
    wanted = min(n_subsets or 2 * len(labels), comb(len(labels), min(size, len(labels))))
    found: dict[tuple[int, ...], None] = {}
    covered: set[int] = set()
    for label, subset in zip(labels.tolist(), answers.draw(labels, rng).tolist(), strict=True):
        if label not in covered:
            found[tuple(subset)] = None
            covered.update(subset)
    # Dictionaries keep the order of insertion, so the same seed gives the same subsets in the same order.
    for _ in range(DRAWS_PER_SUBSET * max(1, wanted // len(labels))):
        if len(found) >= wanted:
            break
        for subset in answers.draw(rng.permutation(labels), rng).tolist()[: wanted - len(found)]:
            found[tuple(subset)] = None
    return np.array(list(found), dtype=np.int64)


@dataclass(frozen=True)
class LabelsByAnswer:
    """Votes sorted by answer, and which of them a label may draw.

    label : (votes,); start, width : (votes,) where the vote's answer begins and how many votes it has
    drawn_from, first : label l draws from the votes drawn_from[first[l]:first[l + 1]]
    """

    label: Codes
    start: Ints
    width: Ints
    drawn_from: Ints
    first: Ints
    size: int

    @classmethod
    def of(cls, votes: Votes, size: int) -> Self:
        """Sort votes by answer, then those of the widest answers by label.

        Every label draws from its widest answers only: from a narrow one, a subset could not reach `size`.
        """
        order = np.lexsort((votes.label, votes.worker, votes.item))
        label, item, worker = votes.label[order], votes.item[order], votes.worker[order]
        new = np.append(True, (item[1:] != item[:-1]) | (worker[1:] != worker[:-1]))
        answer, start = np.cumsum(new) - 1, np.flatnonzero(new)
        width = np.diff(np.append(start, len(label)))[answer]
        # An answer to three labels is as good as one to ten, where three are wanted.
        reach = np.minimum(width, size)
        best = np.zeros(votes.n_labels, dtype=np.int64)
        np.maximum.at(best, label, reach)
        eligible = np.flatnonzero(reach == best[label])
        eligible = eligible[np.argsort(label[eligible], kind="stable")]
        n_eligible = np.bincount(label[eligible], minlength=votes.n_labels)
        return cls(label, start[answer], width, eligible, np.append(0, np.cumsum(n_eligible)), size)

    def draw(self, labels: Ints, rng: np.random.Generator) -> Ints:
        """(labels, size) one subset around each label: sorted codes, −1 at the end."""
        first, last = self.first[labels], self.first[labels + 1]
        vote = self.drawn_from[first + (rng.random(len(labels)) * (last - first)).astype(np.int64)]
        start, width = self.start[vote], self.width[vote]
        places = (vote - start)[:, None]
        nowhere = len(self.label)  # the place of a label that a narrow answer does not have; it sorts last
        for n_drawn in range(1, self.size):
            place = (rng.random(len(labels)) * np.maximum(width - n_drawn, 1)).astype(np.int64)
            for taken in np.sort(places, axis=1).T:  # count only places that are free
                place += place >= taken
            places = np.column_stack([places, np.where(width > n_drawn, place, nowhere)])
        places = np.sort(places, axis=1)
        return np.where(places < nowhere, self.label[np.minimum(start[:, None] + places, nowhere - 1)], -1)


def subset_batches(votes: Votes, subsets: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of subsets, first and last + 1, with about ROWS_PER_BATCH votes each."""
    # A vote counts in every subset with its label.
    n_votes = np.bincount(votes.label, minlength=votes.n_labels)
    load = np.cumsum(np.where(subsets >= 0, n_votes[subsets], 0).sum(axis=1))
    bounds = [0, *(np.flatnonzero(np.diff(load // ROWS_PER_BATCH)) + 1).tolist(), len(subsets)]
    return pairwise(bounds)
