"""The pool: three readings of the same votes, with fixed weights, since none of them is right everywhere.

- *Coins*: a pair is present or absent and votes are independent given that (`likelihood`). What a pair of either kind
  means is read off how many people say yes to it (`presence_at`): a kind that only half of them see is not certain.
- *Counts*: what most workers say, whoever they are (`presence_by_counts`).
- *Degrees*: votes are independent given how many people would say yes (`degrees`).

Probabilities are averaged, not log-odds: one reading that is sure without reason cannot outvote the others. Coins have
`coins_share` of the weight on a pair that nobody voted on, and the less the more votes it has: the more people agree,
the surer the other two become, and what the kind of a pair says in general matters less. The rest is shared evenly.

As far as votes are independent beyond doubt (`independence`), coins without softening take the place of the pool.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from amcc.arrays import Floats, sigmoid
from amcc.consensus.default.correlation import LabelSets, kinds_of_items, label_set_step
from amcc.consensus.default.presence import presence_by_counts
from amcc.consensus.default.settings import Settings
from amcc.consensus.default.trust import Trust
from amcc.special import logit
from amcc.votes import Pairs

# Readings with less weight than this are not computed: they would move no probability by more than it.
IGNORED = 1e-3

# Probabilities of the pool that are nearer to 0 or 1 count as this before other labels are asked: log-odds are finite.
NEAREST = 1e-4

READINGS = ("coins", "counts", "degrees")


@dataclass(frozen=True)
class Evidence:
    """What votes say about pairs.

    log_odds : (n_pairs,) by coins: sum of the evidence of the votes
    n_yes, n_votes : (n_pairs,) votes that say yes, and all votes, as far as they are not repeated by others
    degrees : (n_pairs,) probability of presence by degrees
    kinds : (2,) probability that absent and present pairs of the coins count as present, see `pool_kinds`
    prior : (n_labels,) probability of a pair without votes
    sets : kinds of label sets
    """

    pairs: Pairs
    log_odds: Floats
    n_yes: Floats
    n_votes: Floats
    degrees: Floats
    kinds: Floats
    prior: Floats
    sets: LabelSets
    settings: Settings

    def unsoftened(self, correlation: float) -> Floats:
        """(n_pairs,) probability that the label is present, if votes are independent given presence."""
        independent = sigmoid(logit(self.prior)[self.pairs.label] + self.log_odds)
        if correlation < IGNORED:
            return independent
        correlated = label_set_step(self.pairs, self.log_odds, self.sets).proba
        return (1 - correlation) * independent + correlation * correlated

    def pooled(self, trust: Trust, without: Collection[str] = ()) -> Floats:
        """(n_pairs,) probability that the label is present, by all readings but those `without`."""
        weights = self._weights(without)
        # A pair is of either kind with the coins' probability, and each kind counts as present to some part.
        softened = self.kinds[0] + (self.kinds[1] - self.kinds[0]) * self.unsoftened(0.0)
        counted = presence_by_counts(self.n_yes, self.n_votes, self.settings)
        pool = (weights * np.stack([softened, counted, self.degrees])).sum(axis=0)
        pool = self._with_other_labels(pool, self.settings.most_correlation * trust.correlation)
        if trust.independence < IGNORED:
            return pool
        return trust.independence * self.unsoftened(trust.correlation) + (1 - trust.independence) * pool

    def _weights(self, without: Collection[str]) -> Floats:
        """(3, n_pairs) weights of the readings, which sum to 1."""
        settings = self.settings
        coins = settings.coins_share * settings.coins_votes / (settings.coins_votes + self.n_votes)
        weights = np.stack([coins, (1 - coins) / 2, (1 - coins) / 2])
        weights[[reading in without for reading in READINGS]] = 0.0
        return np.asarray(weights / weights.sum(axis=0))

    def _with_other_labels(self, proba: Floats, weight: float) -> Floats:
        """Probabilities in which the other labels of the item count with this weight."""
        if weight < IGNORED:
            return proba
        # What the pool says beyond the label's frequency takes the place of the evidence of votes: the step adds the
        # frequency itself, which would count twice.
        said = logit(np.clip(proba, NEAREST, 1 - NEAREST)) - logit(self.prior)[self.pairs.label]
        return (1 - weight) * proba + weight * label_set_step(self.pairs, said, self.sets).proba

    def item_kinds(self, n_items: int) -> Floats:
        """(n_items, n_kinds) probability of each kind of label set."""
        return kinds_of_items(self.pairs, self.log_odds, self.sets, n_items)
