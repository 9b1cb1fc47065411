"""The votes that are looked at, pair by pair, and the folds of their items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from amcc.arrays import Codes, Floats, Ints, Mask, weight_per_code
from amcc.passes import sum_over_slots, sum_over_votes
from amcc.votes import Votes

# Parts of the items: sides are learned from three quarters of them, and used on the rest. More folds take longer and
# leave hardly more to learn from.
SIDE_FOLDS = 4


class AskedPairs(NamedTuple):
    """Votes on some pairs, in the order of pairs.

    slot : (n_votes,) coin and answer of each vote, see `amcc.votes.Coins`; a *coin* is a worker on a label
    start : (n_pairs + 1,) where the votes of each pair begin
    label, fold : (n_pairs,) label of the pair, and fold of its item
    n_yes, n_votes : (n_pairs,)
    coin_worker, coin_label : (n_coins,) whose coins the slots are
    n_workers, n_labels : how many there are, whether or not these votes have them
    """

    slot: Codes
    start: Ints
    label: Codes
    fold: Codes
    n_yes: Ints
    n_votes: Ints
    coin_worker: Codes
    coin_label: Codes
    n_workers: int
    n_labels: int

    def where(self, chosen: Mask) -> AskedPairs:
        """The chosen pairs; coins keep their numbers."""
        of_pair = {name: getattr(self, name)[chosen] for name in ("label", "fold", "n_yes", "n_votes")}
        start = np.append(0, np.cumsum(of_pair["n_votes"]))
        return self._replace(slot=self.slot[np.repeat(chosen, self.n_votes)], start=start, **of_pair)

    def log_likelihood(self, rate: Floats) -> Floats:
        """(n_pairs,) log-likelihood of the votes, where each coin says yes at its (n_coins,) rate."""
        of_slot = np.stack([np.log1p(-rate), np.log(rate)], axis=1).ravel()
        return sum_over_votes(self.slot, self.start, of_slot)

    def counts(self, weight: Floats) -> Floats:
        """(n_coins, 2) noes and yeses, each with the (n_pairs,) weight of its pair."""
        return sum_over_slots(self.slot, self.start, weight, 2 * len(self.coin_worker)).reshape(-1, 2)

    def by_label(self, weight: Floats) -> Floats:
        """(n_labels,) sum of the (n_pairs,) weights of each label's pairs."""
        return weight_per_code(self.label, weight, self.n_labels)


def asked_of(votes: Votes, item_number: Ints | None = None) -> AskedPairs:
    """All asked pairs; folds go by the numbers of the items, by default their codes."""
    number = np.arange(votes.n_items, dtype=np.int64) if item_number is None else item_number
    pairs, coins, fold = votes.pairs, votes.coins, fold_of(number)[votes.pairs.item]
    return AskedPairs(
        coins.slot, pairs.start, pairs.label, fold, votes.n_yes, pairs.n_votes, coins.worker, coins.label,
        votes.n_workers, votes.n_labels,
    )  # fmt: skip


def fold_of(item_number: Ints) -> Codes:
    """(n_items,) fold of each item: as good as random, and the same wherever the item is met.

    Multiplied by 2⁶⁴ over the golden ratio, consecutive numbers are spread evenly (Knuth's multiplicative hashing), and
    the upper bits are the best mixed. Drawn numbers would differ between blocks of packed votes.

    >>> np.bincount(fold_of(np.arange(1000))).tolist()
    [250, 250, 250, 250]
    """
    mixed = (item_number.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return (mixed % np.uint64(SIDE_FOLDS)).astype(np.int32)
