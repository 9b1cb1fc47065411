"""What may be asked now: recorded votes, or anything of a live crowd, with or without some pairs."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from amcc.active.questions import Triplets
from amcc.arrays import Ints, Mask, find_sorted
from amcc.votes import Votes


class Candidates(Protocol):
    """What may be asked now."""

    def open_pairs(self) -> Mask:
        """(n_items, n_labels) where at least one worker can be asked."""

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """All questions about these pairs that can be asked."""

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """Up to `n` different questions, each equally likely."""


class Recorded:
    """Candidates of a replay: the votes of `pool` that have not been asked; every question can be asked once."""

    def __init__(self, pool: Votes, asked: Mask) -> None:
        self._pool, self._open = pool, ~asked
        self._n_open = np.add.reduceat(self._open.astype(np.int64), pool.pairs.start[:-1]) if len(pool) else np.empty(0)

    def open_pairs(self) -> Mask:
        """See `Candidates`."""
        pairs = self._pool.pairs
        result = np.zeros((self._pool.n_items, self._pool.n_labels), dtype=bool)
        result[pairs.item, pairs.label] = self._n_open > 0
        return result

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """See `Candidates`."""
        wanted = np.zeros((self._pool.n_items, self._pool.n_labels), dtype=bool)
        wanted[item, label] = True
        return self._triplets(np.flatnonzero(self._open & wanted[self._pool.item, self._pool.label]))

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """See `Candidates`."""
        places = np.flatnonzero(self._open)
        return self._triplets(rng.permutation(places)[:n])

    def _triplets(self, places: Ints) -> Triplets:
        pool = self._pool
        item, label, worker = (code[places].astype(np.int64) for code in (pool.item, pool.label, pool.worker))
        return Triplets(item, label, worker)


class Anything:
    """Candidates of a live crowd: every worker who is there, about every pair they have not answered."""

    def __init__(self, votes: Votes, available: Mask | None = None) -> None:
        self._votes = votes
        self._workers = np.flatnonzero(np.ones(votes.n_workers, bool) if available is None else available)
        key = (votes.item.astype(np.int64) * votes.n_labels + votes.label) * votes.n_workers + votes.worker
        self._done_keys = np.unique(key) if votes.reading.samples else np.sort(key)

    def open_pairs(self) -> Mask:
        """See `Candidates`."""
        votes = self._votes
        votes = votes.one_per_worker()
        by_available = np.isin(votes.worker, self._workers)
        n_asked = np.zeros((votes.n_items, votes.n_labels), dtype=np.int64)
        np.add.at(n_asked, (votes.item[by_available], votes.label[by_available]), 1)
        return np.asarray(n_asked < len(self._workers))

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """See `Candidates`."""
        n = len(self._workers)
        return self._not_done(Triplets(np.repeat(item, n), np.repeat(label, n), np.tile(self._workers, len(item))))

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """See `Candidates`."""
        votes, n_workers = self._votes, len(self._workers)
        n_all = votes.n_items * votes.n_labels * n_workers
        if n_all <= 4 * (n + len(votes)):
            drawn = np.arange(n_all)
        else:  # less than a quarter was asked, less than a quarter is drawn twice: of these, enough are left
            drawn = np.unique(rng.integers(0, n_all, size=2 * n + 20))
        pair, worker = np.divmod(rng.permutation(drawn), max(n_workers, 1))
        item, label = np.divmod(pair, votes.n_labels)
        found = self._not_done(Triplets(item, label, self._workers[worker]))
        return found.take(np.arange(min(n, len(found))))

    def _not_done(self, triplets: Triplets) -> Triplets:
        votes = self._votes
        key = (triplets.item * votes.n_labels + triplets.label) * votes.n_workers + triplets.worker
        return triplets.take(np.flatnonzero(~find_sorted(self._done_keys, key)[1]))


class OtherPairs:
    """Candidates without some pairs, (n_items, n_labels) `closed`: known ones, or those of an earlier choice."""

    def __init__(self, candidates: Candidates, closed: Mask) -> None:
        self._candidates = candidates
        could = candidates.open_pairs()
        self._free, self._shut = could & ~closed, could & closed

    def open_pairs(self) -> Mask:
        """See `Candidates`."""
        return self._free.copy()

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """See `Candidates`."""
        free = self._free[item, label]
        return self._candidates.of_pairs(item[free], label[free])

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """See `Candidates`."""
        n_shut = len(self._candidates.of_pairs(*np.nonzero(self._shut)))
        drawn = self._candidates.sample(n + n_shut, rng)
        return drawn.take(np.flatnonzero(self._free[drawn.item, drawn.label])[:n])
