"""Answers: all votes of one worker on one item, for models that look at labels together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from amcc.arrays import Ints
from amcc.votes import Votes


class GatheredAnswers(NamedTuple):
    """Votes put together to answers, sorted by item, then worker.

    item, worker : (n_answers,) codes of each answer.
    of_vote : (n_votes,) the answer that each vote belongs to.
    """

    item: Ints
    worker: Ints
    of_vote: Ints


def gather_answers(votes: Votes) -> GatheredAnswers:
    """Find out which votes belong to one answer.

    >>> answers = gather_answers(Votes.from_dense([[[1, -1]], [[0, 1]]]))
    >>> answers.worker.tolist(), answers.of_vote.tolist()
    ([0, 1], [0, 0, 1])
    """
    # 64 bits: the product of two codes does not fit in 32. At least 1, since one cannot divide by no workers.
    n_workers = max(votes.n_workers, 1)
    key, of_vote = np.unique(votes.item.astype(np.int64) * n_workers + votes.worker, return_inverse=True)
    return GatheredAnswers(*np.divmod(key, n_workers), of_vote)
