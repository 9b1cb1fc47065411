"""What a replay cannot buy: only what was recorded is for sale, and every vote once.

A live crowd can be asked anything, so a replay shows less than a strategy could do, and the more of its wishes the pool
refuses the less it shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from amcc.active.beliefs import Learner
from amcc.active.candidates import Anything, OtherPairs
from amcc.active.questions import Triplets
from amcc.active.strategy import Strategy
from amcc.arrays import Floats, Mask, find_sorted, weight_per_code
from amcc.votes import Votes

# More questions than these are not looked through for a strategy's wishes: some strategies score every one, in about
# 100 bytes each, and it is one number beside the result.
MOST_WISHES = 5_000_000


@dataclass(frozen=True)
class PoolLimits:
    """What is for sale: votes about pairs, by workers.

    pairs : that somebody was asked about. workers : who voted.
    votes_per_pair : the least, the median and the most.
    recorded : share of all questions to these workers about these pairs that was recorded.
    pairs_per_worker : share of the pairs that a worker voted on: the median, and the most.
    """

    pairs: int
    workers: int
    votes_per_pair: tuple[int, float, int]
    recorded: float
    pairs_per_worker: tuple[float, float]

    @classmethod
    def of(cls, votes: Votes) -> PoolLimits:
        """Those of recorded votes.

        >>> pool = PoolLimits.of(Votes.from_dense([[[1], [1], [-1]], [[1], [0], [0]]]))
        >>> pool.votes_per_pair, round(pool.recorded, 3), [round(share, 3) for share in pool.pairs_per_worker]
        ((1, 1.0, 2), 0.667, [0.667, 1.0])
        """
        once = votes.one_per_worker()  # several samples of one worker are one answer
        n_votes, n_pairs = once.pairs.n_votes, len(once.pairs)
        of_worker = weight_per_code(once.worker, np.ones(len(once)), once.n_workers)
        of_worker = of_worker[of_worker > 0]  # who has no vote is not for sale
        per_pair = int(n_votes.min()), float(np.median(n_votes)), int(n_votes.max())
        per_worker = float(np.median(of_worker)) / n_pairs, float(of_worker.max()) / n_pairs
        return cls(n_pairs, len(of_worker), per_pair, len(once) / (n_pairs * len(of_worker)), per_worker)

    def text(self) -> str:
        """In words, for people."""
        least, median, most = self.votes_per_pair
        each = f"{median:g}" if least == most else f"{median:g} ({least}–{most})"
        usual, busiest = (f"{100 * share:.0f} %" for share in self.pairs_per_worker)
        everywhere = "" if self.pairs_per_worker[1] > 0.995 else " No good worker can be asked about everything."
        return (
            f"only what was recorded can be bought, each vote once: {each} votes per pair, "
            f"{100 * self.recorded:.0f} % of what {self.workers:,} workers could be asked about {self.pairs:,} pairs. "
            f"A worker voted on {usual} of the pairs, the busiest on {busiest}.{everywhere}"
        )


def refused_share(
    votes: Votes,
    first: Mask,
    strategy: Strategy,
    learner: Learner,
    prices: Floats,
    batch: int,
    rng: np.random.Generator,
) -> float | None:
    """Of the questions that a strategy would ask next, could everybody be asked anything, the share not recorded.

    votes : what is recorded. first : (n_votes,) what is known. None where there is nothing left to ask, or too much to
    look through. Pairs that nobody was ever asked about do not count as wishes.
    """
    asked = np.zeros((votes.n_items, votes.n_labels), dtype=bool)
    asked[votes.pairs.item, votes.pairs.label] = True
    if len(votes.pairs) * votes.n_workers > MOST_WISHES:
        return None
    known = votes.select(first)
    beliefs, everything = learner.learn(known), OtherPairs(Anything(known), ~asked)
    wished = strategy.select(beliefs, everything, prices, batch, rng).asked
    if not len(wished):
        return None
    there = find_sorted(Triplets.of_votes(votes).keys(votes), wished.keys(votes))[1]
    return float(1 - there.mean())
