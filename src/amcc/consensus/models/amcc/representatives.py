"""Workers who stand for all: in large fits, groups are learned from their votes.

What groups are is a few hundred numbers, whatever the crowd. But they move slowly: shares of groups by a little in
every round, strengths by factors of two. Where a round takes one step of each, it is they that keep a large fit going,
for fifty rounds over millions of votes and coins. The votes of a few thousand workers say almost the same about them,
so every round can take as many steps as they need.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from amcc.arrays import Ints
from amcc.consensus.models.amcc.coins import Counts
from amcc.consensus.models.amcc.crowd import (
    CoinCounts,
    Crowd,
    CrowdPrior,
    same_strengths,
    update_members,
    update_rates,
    update_strengths,
)
from amcc.engine.base import Engine
from amcc.votes import Coins

# Coins that are enough: in all, and of a usual label. A group's rate is known to a fiftieth then, a label's to a
# tenth in log-odds: much less than groups and labels differ by.
ENOUGH_COINS, ENOUGH_OF_LABEL = 50_000, 500

# Coins for each vote, at most: with more, the steps of a round take longer than the rounds that they save. So it is
# where labels are very many.
MOST_COINS = 1 / 8

# Steps in a round, at most, and how often strengths are tried, which costs more than all else: three times then. With
# four steps a fit of 10⁶ votes takes a fifth more rounds; ten rounds of six take any group to where it belongs.
MOST_STEPS, STRENGTHS_EVERY = 6, 2

# Groups are at rest where no strength changes in a step, and no share by more than this: a tenth of how well so few
# workers know it, a hundredth or so.
AT_REST = 1e-3

# Who they are is decided by lot, and always by the same one: a fit can be repeated.
LOT = 0


@dataclass(frozen=True, eq=False)
class Representatives:
    """Workers who stand for all.

    worker : (n_chosen,) their codes, in order
    coin : where their coins stand among all
    coins : these, with workers numbered from 0
    """

    worker: Ints
    coin: Ints
    coins: Coins

    @classmethod
    def of(cls, engine: Engine) -> Self | None:
        """So many as are enough, by lot; all where that is more than there are. None where they would be too many."""
        coins, enough = engine.coins, max(ENOUGH_COINS, ENOUGH_OF_LABEL * engine.n_labels)
        if min(enough, len(coins)) > MOST_COINS * engine.n_votes:
            return None
        chosen = np.random.default_rng(LOT).random(engine.n_workers) < enough / max(len(coins), 1)
        coin = np.flatnonzero(chosen[coins.worker])
        number = np.cumsum(chosen, dtype=coins.worker.dtype) - 1
        return cls(np.flatnonzero(chosen), coin, Coins(number[coins.worker[coin]], coins.label[coin], coins.slot[:0]))

    def learn_groups(self, crowd: Crowd, prior: CrowdPrior, counts: CoinCounts) -> Crowd:
        """The crowd with rates, strengths and shares of groups as these workers' votes want them; members stay."""
        now, mine = self._of_crowd(crowd), self._of_counts(counts)
        for step in range(MOST_STEPS):
            before = now
            now, _ = update_members(now, self.coins, mine)
            if step % STRENGTHS_EVERY == 0:
                now = update_strengths(now, prior, self.coins, mine)
            now = update_rates(now, prior, self.coins, mine)
            if same_strengths(now, before) and np.abs(now.share - before.share).max() < AT_REST:
                break
        return replace(now, member=crowd.member, weight=crowd.weight)

    def learn_strengths(self, crowd: Crowd, prior: CrowdPrior, counts: CoinCounts) -> Crowd:
        """The crowd with one step of strengths."""
        now = update_strengths(self._of_crowd(crowd), prior, self.coins, self._of_counts(counts))
        return replace(now, member=crowd.member, weight=crowd.weight)

    def _of_crowd(self, crowd: Crowd) -> Crowd:
        return replace(crowd, member=crowd.member[self.worker], weight=crowd.weight[self.worker])

    def _of_counts(self, counts: CoinCounts) -> CoinCounts:
        return CoinCounts(
            *(Counts(each.yes[self.coin], each.no[self.coin]) for each in (counts.present, counts.absent))
        )
