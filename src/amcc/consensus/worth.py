"""What a worker's answers are worth by eq12 of the paper, with hit rates in the place of D_w(l, l)."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array

from amcc.arrays import Floats, Ints, weight_per_code
from amcc.engine.base import Block, Engine, as_engine
from amcc.votes import Votes

PIECE = 1_000_000
"""Votes whose answers are put together at a time."""


class Worth(NamedTuple):
    """(n_workers,) sum over a worker's answers of the product of their hit rates over its yeses, and their number."""

    worth: Floats
    answers: Ints


def worth_of_answers(block: Block, log_hit: Floats) -> Worth:
    """The sums of eq12 over the block's answers; `log_hit` is that of a yes, by slot."""
    votes, log_hit = block.votes(), block.of_slots(log_hit)
    worth = np.zeros(votes.n_workers)
    n_pieces = len(votes) // PIECE + 1
    bounds = np.searchsorted(votes.item, np.linspace(0, votes.n_items, n_pieces + 1).astype(np.int64))
    for first, last in pairwise(bounds.tolist()):
        piece = slice(first, last)
        item = votes.item[piece] - votes.item[first : first + 1]  # from 0 on
        shape = int(item.max(initial=-1)) + 1, votes.n_workers
        answers = coo_array((log_hit[block.coins.slot[piece]], (item, votes.worker[piece])), shape=shape).tocsr()
        worth += weight_per_code(answers.indices, np.exp(answers.data), votes.n_workers)  # votes of answers were summed
    return Worth(worth, votes.answers_per_worker.copy())


def worker_worth(votes: Votes | Engine, hit_rate: Floats) -> Floats:
    """(n_workers,) c_w of eq12: the mean over a worker's answers of the product of their hit rates over its yeses.

    `hit_rate` is that of coins, in the place of D_w(l, l). A worker without answers costs as much as the others do on
    average; nobody is free, for eq13 divides by this.
    """
    log_hit = np.stack([np.zeros_like(hit_rate), np.log(np.clip(hit_rate, 1e-10, 1.0))], axis=1).ravel()
    worth, n_answers = as_engine(votes).total(worth_of_answers, log_hit)
    average = worth.sum() / n_answers.sum() if n_answers.sum() else 1.0
    return np.maximum(np.where(n_answers > 0, worth / np.maximum(n_answers, 1), average), 1e-3)
