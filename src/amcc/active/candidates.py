"""What may be asked now.

A strategy never sees a list of all questions: of thousands of items, labels and workers there would be too many. It
asks its candidates for the pairs that are open, for the questions about some pairs, or for a random sample.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from amcc.active.questions import NOTHING_ASKED, Triplets
from amcc.arrays import Ints, Mask, find_sorted
from amcc.votes import Votes


class Candidates(Protocol):
    """What may be asked now."""

    def open_pairs(self) -> Mask:
        """(n_items, n_labels) where at least one worker can be asked. The caller may change it."""

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """All questions about these pairs that can be asked."""

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """Up to `n` different questions, each equally likely."""


class Recorded:
    """Candidates of a replay: the votes of `pool` that have not been asked; every question can be asked once.

    asked : (n_votes,) which votes of the pool were asked already.
    """

    def __init__(self, pool: Votes, asked: Mask) -> None:
        self._pool, self._open = pool, ~asked
        self._questions = Triplets.of_votes(pool)

    def open_pairs(self) -> Mask:
        """See `Candidates`."""
        result = np.zeros((self._pool.n_items, self._pool.n_labels), dtype=bool)
        result[self._pool.item[self._open], self._pool.label[self._open]] = True
        return result

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """See `Candidates`."""
        # A table of all pairs: quicker than to look up each vote's pair among those wanted.
        wanted = np.zeros((self._pool.n_items, self._pool.n_labels), dtype=bool)
        wanted[item, label] = True
        return self._questions.take(np.flatnonzero(self._open & wanted[self._pool.item, self._pool.label]))

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """See `Candidates`."""
        return self._questions.take(rng.permutation(np.flatnonzero(self._open))[:n])


class Anything:
    """Candidates of a live crowd: every worker who is there, about every pair they have not answered.

    available : (n_workers,) who is there; everybody, unless it is given.
    waiting : questions that were asked and have no answer yet; they are not asked again.
    """

    def __init__(self, votes: Votes, available: Mask | None = None, waiting: Triplets = NOTHING_ASKED) -> None:
        self._votes, self._waiting = votes, waiting
        self._workers = np.flatnonzero(np.ones(votes.n_workers, bool) if available is None else available)
        self._done_keys = Triplets.of_votes(votes).keys(votes)
        if len(waiting):
            self._done_keys = np.sort(np.append(self._done_keys, waiting.keys(votes)))

    def open_pairs(self) -> Mask:
        """See `Candidates`."""
        votes = self._votes.one_per_worker()  # several samples of one worker are one answer
        by_available = np.isin(votes.worker, self._workers)
        n_asked = np.zeros((votes.n_items, votes.n_labels), dtype=np.int64)
        np.add.at(n_asked, (votes.item[by_available], votes.label[by_available]), 1)
        by_available = np.isin(self._waiting.worker, self._workers)
        np.add.at(n_asked, (self._waiting.item[by_available], self._waiting.label[by_available]), 1)
        return np.asarray(n_asked < len(self._workers))

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """See `Candidates`."""
        n = len(self._workers)
        return self._not_done(Triplets(np.repeat(item, n), np.repeat(label, n), np.tile(self._workers, len(item))))

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """See `Candidates`."""
        votes, n_workers = self._votes, len(self._workers)
        n_all = votes.n_items * votes.n_labels * n_workers
        if n_all <= 4 * (n + len(self._done_keys)):
            drawn = np.arange(n_all)
        else:
            # Less than a quarter of all questions was asked, and less than a quarter of what is drawn comes twice:
            # at least half of twice as many is left. The 20 more are for small n, where chance deviates further.
            drawn = np.unique(rng.integers(0, n_all, size=2 * n + 20))
        pair, worker = np.divmod(rng.permutation(drawn), max(n_workers, 1))
        item, label = np.divmod(pair, votes.n_labels)
        found = self._not_done(Triplets(item, label, self._workers[worker]))
        return found.take(np.arange(min(n, len(found))))

    def _not_done(self, questions: Triplets) -> Triplets:
        """Those that their workers have not answered."""
        return questions.take(np.flatnonzero(~find_sorted(self._done_keys, questions.keys(self._votes))[1]))


class OtherPairs:
    """Candidates without some pairs, (n_items, n_labels) `closed`: known ones, or those of an earlier choice."""

    def __init__(self, candidates: Candidates, closed: Mask) -> None:
        self._candidates = candidates
        could = candidates.open_pairs()
        # Known here once: strategies ask for the open pairs again and again.
        self._free, self._shut = could & ~closed, could & closed

    @classmethod
    def than(cls, taken: Triplets, candidates: Candidates) -> OtherPairs:
        """Those without the pairs of some questions: a second choice of a round is no repetition of the first."""
        closed = np.zeros_like(candidates.open_pairs())
        closed[taken.item, taken.label] = True
        return cls(candidates, closed)

    def open_pairs(self) -> Mask:
        """See `Candidates`."""
        return self._free.copy()

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """See `Candidates`."""
        free = self._free[item, label]
        return self._candidates.of_pairs(item[free], label[free])

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """See `Candidates`."""
        # As many more as could be about closed pairs: whatever is drawn, n are left where there are n.
        n_shut = len(self._candidates.of_pairs(*np.nonzero(self._shut)))
        drawn = self._candidates.sample(n + n_shut, rng)
        return drawn.take(np.flatnonzero(self._free[drawn.item, drawn.label])[:n])


class SamePages:
    """Candidates on the pages of some questions: the same items, of the same workers."""

    def __init__(self, candidates: Candidates, opened: Triplets) -> None:
        self._candidates = candidates
        self._pages = set(opened.pages())
        self._items = np.unique(opened.item)

    def open_pairs(self) -> Mask:
        """See `Candidates`."""
        free = self._candidates.open_pairs()
        item, label = np.nonzero(free[self._items])  # other items have no page
        on_pages = self.of_pairs(self._items[item], label)
        free[:] = False
        free[on_pages.item, on_pages.label] = True
        return free

    def of_pairs(self, item: Ints, label: Ints) -> Triplets:
        """See `Candidates`."""
        found = self._candidates.of_pairs(item, label)
        return found.take(np.flatnonzero([page in self._pages for page in found.pages()]))

    def sample(self, n: int, rng: np.random.Generator) -> Triplets:
        """See `Candidates`."""
        every = self.of_pairs(*np.nonzero(self.open_pairs()))
        return every.take(rng.permutation(len(every))[:n])
