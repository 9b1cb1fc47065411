"""Workers who stand for all: in large fits, groups are learned from their votes.

What groups are is a few hundred numbers, whatever the crowd. But they move slowly: shares of groups by a little in
every round, strengths by factors of two. Where a round takes one step of each, it is they that keep a large fit going,
for fifty rounds over millions of votes and coins. The votes of a few thousand workers say almost the same about them,
so every round can take as many steps as they need.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple, Self

import numpy as np

from amcc.arrays import Floats, Mask
from amcc.consensus.default.coins import Counts
from amcc.consensus.default.crowd import (
    CoinCounts,
    Crowd,
    CrowdPrior,
    same_strengths,
    update_members,
    update_rates,
    update_strengths,
)
from amcc.engine.base import Engine
from amcc.engine.shards import Shards
from amcc.fields import Each
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


class Chosen(NamedTuple):
    """(n_workers,) whether each stands for all."""

    worker: Annotated[Mask, Each("worker")]


class Picked(NamedTuple):
    """What is known of those who were chosen: as in `Crowd`, and the counts of their coins."""

    member: Floats
    weight: Floats
    counts: CoinCounts


def pick(coins: Coins, chosen: Chosen, member: Floats, weight: Floats, counts: CoinCounts) -> Picked:
    """What is known of those who were chosen."""
    coin = chosen.worker[coins.worker]
    present, absent = (Counts(each.yes[coin], each.no[coin]) for each in (counts.present, counts.absent))
    return Picked(member[chosen.worker], weight[chosen.worker], CoinCounts(present, absent))


@dataclass(frozen=True, eq=False)
class Representatives:
    """Workers who stand for all.

    mine : their coins, with workers numbered from 0, as one shard
    everybody : all coins; chosen : who they are, kept there
    """

    mine: Shards
    everybody: Shards
    chosen: Chosen

    @classmethod
    def of(cls, engine: Engine, everybody: Shards) -> Self | None:
        """So many as are enough, by lot; all where that is more than there are. None where they would be too many."""
        coins, enough = engine.coins, max(ENOUGH_COINS, ENOUGH_OF_LABEL * engine.n_labels)
        if min(enough, len(coins)) > MOST_COINS * engine.n_votes:
            return None
        chosen = np.random.default_rng(LOT).random(engine.n_workers) < enough / max(len(coins), 1)
        coin = chosen[coins.worker]
        number = np.cumsum(chosen, dtype=coins.worker.dtype) - 1
        mine = Shards(Coins(number[coins.worker[coin]], coins.label[coin], coins.slot[:0]))
        return cls(mine, everybody, everybody.cut(Chosen(chosen)))

    def learn_groups(self, crowd: Crowd, prior: CrowdPrior, counts: CoinCounts) -> Crowd:
        """The crowd with rates, strengths and shares of groups as these workers' votes want them; members stay."""
        now, mine = self._of(crowd, counts)
        for step in range(MOST_STEPS):
            before = now
            now, _ = update_members(now, self.mine, mine)
            if step % STRENGTHS_EVERY == 0:
                now = update_strengths(now, prior, self.mine, mine)
            now = update_rates(now, prior, self.mine, mine)
            if same_strengths(now, before) and np.abs(now.share - before.share).max() < AT_REST:
                break
        return replace(now, member=crowd.member, weight=crowd.weight)

    def learn_strengths(self, crowd: Crowd, prior: CrowdPrior, counts: CoinCounts) -> Crowd:
        """The crowd with one step of strengths."""
        now, mine = self._of(crowd, counts)
        return replace(update_strengths(now, prior, self.mine, mine), member=crowd.member, weight=crowd.weight)

    def _of(self, crowd: Crowd, counts: CoinCounts) -> tuple[Crowd, CoinCounts]:
        """Crowd and counts without all others; these are few, so they come here from wherever they are kept."""
        kept = self.everybody.over(pick, self.chosen, crowd.member, crowd.weight, counts)
        few = self.everybody.gathered(kept)
        return replace(crowd, member=few.member, weight=few.weight), few.counts
