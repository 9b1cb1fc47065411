"""What a worker costs by eq12: the model says how likely they say yes to the labels that they said yes to.

c_w is the mean over their answers of the product of D_w(l, l) over the labels l that they said yes to. An answer
without a yes is worth 1, the empty product. The reward function is the identity. D_w(l, l) is the chance of a yes where
the label is present: it does not ask whether a yes is right. So eq12 is no measure of quality: who never says yes is
worth 1, and so is, by hit rates, who always does.

The print adds up over all items, so that one without an answer counts as an answer without a yes, and divides by the
number of votes. Here it is the mean over answers, a share; `printed=True` gives the other (docs/deviations.md, D11).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy

from amcc.arrays import AnyInts, Codes, Floats, Ints, distinct, weight_per_code
from amcc.engine.base import Block, Engine, as_engine
from amcc.errors import ParameterError
from amcc.passes import SMALL
from amcc.votes import Votes

if TYPE_CHECKING:
    from amcc.consensus.base import ConsensusModel  # models with groups import this module

# Votes whose answers are put together at a time: a sparse table of them takes some tens of megabytes.
PIECE = 1_000_000
# No rate counts as less: its logarithm must be a number.
LEAST_RATE = 1e-10
# Nobody is free, for eq13 divides by the cost.
LEAST_COST = 1e-3


class Worth(NamedTuple):
    """(n_workers,) sum over a worker's answers of the product of their hit rates over its yeses; answers and votes."""

    worth: Floats
    answers: Ints
    votes: Ints


def worth_of_answers(block: Block, log_hit: Floats) -> Worth:
    """The sums of eq12 over the block's answers; `log_hit` is that of a yes, by slot."""
    votes, log_hit = block.votes(), block.of_slots(log_hit)
    worth = np.zeros(votes.n_workers)
    n_pieces = len(votes) // PIECE + 1
    # Pieces end between items: an answer must not be torn apart, because its product is taken as a whole.
    bounds = np.searchsorted(votes.item, np.linspace(0, votes.n_items, n_pieces + 1).astype(np.int64))
    for first, last in pairwise(bounds.tolist()):
        piece = slice(first, last)
        item = votes.item[piece] - votes.item[first : first + 1]  # from 0 on
        worker, product = _answers(item, votes.worker[piece], log_hit[block.coins.slot[piece]], votes.n_workers)
        worth += weight_per_code(worker, product, votes.n_workers)
    return Worth(worth, votes.answers_per_worker.copy(), np.bincount(votes.worker, minlength=votes.n_workers))


def _answers(item: Codes, worker: Codes, log_hit: Floats, n_workers: int) -> tuple[AnyInts, Floats]:
    """Worker of each answer, and the product of the hit rates of its votes: their logarithms added up."""
    if len(item) <= SMALL:  # slower, but so many votes are done before scipy's sparse tables are imported
        n_items = int(item.max(initial=-1)) + 1
        answer, place = distinct(item.astype(np.int64) * n_workers + worker, n_items * n_workers)
        return answer % n_workers, np.exp(np.bincount(place, log_hit, len(answer)))
    # Converting to rows adds up what stands in one cell.
    shape = int(item.max(initial=-1)) + 1, n_workers
    answers = scipy.sparse.coo_array((log_hit, (item, worker)), shape=shape).tocsr()
    return answers.indices, np.exp(answers.data)


def worker_worth(votes: Votes | Engine, hit_rate: Floats, *, printed: bool = False) -> Floats:
    """(n_workers,) c_w of eq12, with the hit rates of coins, (n_coins,), in the place of D_w(l, l).

    A worker without answers costs as much as the others do on average, and 1 where nobody has any.
    printed : add up over all items, and divide by votes.

    >>> votes = Votes.from_dense([[[1, 1], [-1, -1]], [[-1, 1], [0, 0]]])
    >>> worker_worth(votes, np.array([0.8, 0.5, 0.7, 0.9])).round(3).tolist()  # (.8 · .5 + 1) / 2, and .9
    [0.7, 0.9]
    """
    # A no multiplies nothing: its logarithm is 0.
    log_hit = np.stack([np.zeros_like(hit_rate), np.log(np.clip(hit_rate, LEAST_RATE, 1.0))], axis=1).ravel()
    engine = as_engine(votes)
    worth, n_answers, n_votes = engine.total(worth_of_answers, log_hit)
    n_paid = n_answers
    if printed:
        worth, n_paid = np.where(n_votes > 0, worth + engine.n_items - n_answers, 0.0), n_votes
    average = worth.sum() / n_paid.sum() if n_paid.sum() else 1.0
    return np.maximum(np.where(n_paid > 0, worth / np.maximum(n_paid, 1), average), LEAST_COST)


def worker_costs(model: ConsensusModel | None, votes: Votes, *, printed: bool = False) -> Floats:
    """(n_workers,) c_w of eq12 after these votes, by what the model knows of their workers; 1 without a model.

    votes : those that the model was fitted to, or more of the same items, labels and workers.
    """
    if model is None:  # before the first vote
        return np.ones(votes.n_workers)
    rate = model.yes_rates()
    if rate.shape != (votes.n_workers, votes.n_labels):
        raise ParameterError(
            f"the model must know the votes' {votes.n_workers} workers and {votes.n_labels} labels; it was fitted to "
            f"{rate.shape[0]} and {rate.shape[1]}. Fit it to votes with the same names."
        )
    return worker_worth(votes, rate[votes.coins.worker, votes.coins.label], printed=printed)
