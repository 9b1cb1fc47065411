"""The votes that are looked at, pair by pair, and the folds of their items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from amcc.arrays import Codes, Floats, Ints, Mask
from amcc.passes import sum_over_slots, sum_over_votes
from amcc.votes import Votes

FOLDS = 4
"""Of the items: sides are learned from three quarters of them, and used on the rest."""


class AskedPairs(NamedTuple):
    """Votes on some pairs: slots and starts as in `Votes`, labels and folds of the pairs, yes and all votes.

    coin_worker, coin_label : (n_coins,) whose coins the slots are.
    """

    slot: Codes
    start: Ints
    label: Codes
    fold: Codes
    n_yes: Ints
    n_votes: Ints
    coin_worker: Codes
    coin_label: Codes

    @property
    def n_slots(self) -> int:
        """Two for each coin."""
        return 2 * len(self.coin_worker)

    def where(self, chosen: Mask) -> AskedPairs:
        """The chosen pairs."""
        n_votes = self.n_votes[chosen]
        return self._replace(
            slot=self.slot[np.repeat(chosen, self.n_votes)],
            start=np.append(0, np.cumsum(n_votes)),
            label=self.label[chosen],
            fold=self.fold[chosen],
            n_yes=self.n_yes[chosen],
            n_votes=n_votes,
        )

    def log_likelihood(self, rate: Floats) -> Floats:
        """(n_pairs,) of the votes, where each coin says yes at its rate."""
        return sum_over_votes(self.slot, self.start, log_of_slots(rate))

    def counts(self, weight: Floats) -> Floats:
        """(n_coins, 2) noes and yeses, each with the weight of its pair."""
        return sum_over_slots(self.slot, self.start, weight, self.n_slots).reshape(-1, 2)


def asked_of(votes: Votes, item_number: Ints | None = None) -> AskedPairs:
    """All asked pairs; items are told apart by their numbers, by default their codes."""
    number = np.arange(votes.n_items, dtype=np.int64) if item_number is None else item_number
    pairs, coins = votes.pairs, votes.coins
    return AskedPairs(
        coins.slot,
        pairs.start,
        pairs.label,
        fold_of(number)[pairs.item],
        votes.n_yes,
        pairs.n_votes,
        coins.worker,
        coins.label,
    )


def fold_of(item_number: Ints) -> Codes:
    """(n_items,) as good as random, and the same for an item wherever it is met.

    >>> np.bincount(fold_of(np.arange(1000))).tolist()
    [250, 250, 250, 250]
    """
    mixed = (item_number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return (mixed % np.uint64(FOLDS)).astype(np.int32)


def log_of_slots(rate: Floats) -> Floats:
    """(2 · n_coins,) log-probability of a no and of a yes of each coin."""
    return np.stack([np.log1p(-rate), np.log(rate)], axis=1).ravel()
