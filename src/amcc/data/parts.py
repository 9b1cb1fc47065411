"""Parts of a crowd: fewer answers per item, or fewer items, drawn at random."""

from __future__ import annotations

import numpy as np

from amcc.arrays import Ints
from amcc.errors import ParameterError
from amcc.votes import Votes


def thinned(votes: Votes, n_answers: int, seed: int) -> Votes:
    """At most `n_answers` random answers per item; an answer is all that one worker says about one item.

    >>> votes = Votes.from_dense([[[1, -1], [1, 1]], [[1, -1], [-1, 1]], [[1, 1], [1, 1]]])
    >>> few = thinned(votes, 2, seed=0)
    >>> few.answers_per_item.tolist(), len(few)
    ([2, 2], 8)
    """
    if n_answers < 1:
        raise ParameterError(f"answers per item must be at least 1; got {n_answers}.")
    answer = votes.item.astype(np.int64) * votes.n_workers + votes.worker
    distinct, answer_of_vote = np.unique(answer, return_inverse=True)
    item = distinct // votes.n_workers
    # Answers of an item in random order; the place of each in its item says whether it is kept.
    order = np.lexsort((np.random.default_rng(seed).random(len(distinct)), item))
    place = np.empty(len(distinct), dtype=np.int64)
    place[order] = np.arange(len(distinct)) - np.searchsorted(item, item[order])
    return votes.select((place < n_answers)[answer_of_vote])


def of_some_items(votes: Votes, n_items: int, seed: int) -> Votes:
    """The votes about so many random items; all of them where there are no more.

    >>> votes = Votes.from_dense([[[1], [1], [-1]], [[1], [1], [-1]]])
    >>> of_some_items(votes, 2, seed=0).answers_per_item.tolist(), of_some_items(votes, 9, seed=0) is votes
    ([2, 0, 2], True)
    """
    if n_items >= votes.n_items:
        return votes
    chosen = np.zeros(votes.n_items, dtype=bool)
    chosen[np.random.default_rng(seed).permutation(votes.n_items)[:n_items]] = True
    return votes.select(chosen[votes.item])


def without_idle(votes: Votes) -> tuple[Votes, Ints]:
    """The same votes without the items and workers that have none, and the codes that the items had before.

    >>> few, item = without_idle(Votes.from_dense([[[1], [0], [1]], [[0], [0], [0]]]))
    >>> few.n_items, few.n_workers, item.tolist()
    (2, 1, [0, 2])
    """
    item, worker = (np.flatnonzero(n_answers) for n_answers in (votes.answers_per_item, votes.answers_per_worker))
    few = Votes.from_codes(
        np.searchsorted(item, votes.item),
        np.searchsorted(worker, votes.worker),
        votes.label,
        votes.value,
        item_names=votes.item_names.take(item).to_pylist(),
        worker_names=votes.worker_names.take(worker).to_pylist(),
        label_names=votes.label_names.to_pylist(),
    )
    return few, item
