"""Four explanations of the votes on a pair, and how probable each of them is."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from amcc.arrays import Codes, Floats, Ints, find_sorted, once_per_pair, safe_logit, sigmoid
from amcc.consensus.disagreement.asked import AskedPairs
from amcc.special import betaln

# Columns of every table with one column per explanation; what is uncertain stands last, so that HARD: is both.
PRESENT, ABSENT, HARD, SPLIT = range(4)

# On hard items the rate of yes is q ~ Beta(2, 2) or, as often, Beta(40, 40): about as many say yes as no, and a nearly
# unanimous crowd is hardly ever chance. The second is nearly a toss of a coin. A split without clear sides looks like
# that, too: only what sides explain beyond it may count as split.
HARD_VOTES = 2.0, 40.0

# Log-odds by which everybody's rates are better on half of the present and of the absent pairs. Some pairs are plainer
# than others, and with one rate for all of them, two errors on a plain pair would look like ordinary ones.
PLAINER = 1.5

# Nobody's rate is nearer to 0 or 1: one slip must not decide.
SURELY = 0.01

# Votes on each side of a hard or split pair: one dissenter alone shows neither noise nor a group.
EACH_SIDE = 2


@dataclass(frozen=True)
class Explanations:
    """Rates of every coin under each explanation, and how frequent explanations are.

    hit, false_alarm : (n_coins,)
    side : (FOLDS, n_coins) rate of yes on split pairs of each fold, learned from the others
    share : (n_labels, 4) present, absent, hard, split; split is 0 where sides do not last
    coin_worker, coin_label : (n_coins,) whose coins these are, sorted; newcomers get what is `usual`
    usual : (2, n_labels) hit and false-alarm rate of the crowd
    """

    hit: Floats
    false_alarm: Floats
    side: Floats
    share: Floats
    coin_worker: Codes
    coin_label: Codes
    usual: Floats

    def known_to(self, asked: AskedPairs) -> Explanations:
        """The same for the coins of other votes with the same workers and labels."""
        coins = asked.coin_worker, asked.coin_label
        if np.array_equal(coins, (self.coin_worker, self.coin_label)):
            return self
        n_labels = len(self.share)
        known = self.coin_worker.astype(np.int64) * n_labels + self.coin_label
        place, met = find_sorted(known, coins[0].astype(np.int64) * n_labels + coins[1])
        hit, false_alarm = np.where(met, [self.hit[place], self.false_alarm[place]], self.usual[:, coins[1]])
        side = np.where(met, self.side[:, place], 0.5)  # nobody knows on which side a newcomer stands
        return replace(self, hit=hit, false_alarm=false_alarm, side=side, coin_worker=coins[0], coin_label=coins[1])

    def posterior(self, asked: AskedPairs) -> Floats:
        """(n_pairs, 4) probability of each explanation."""
        log_joint = self.log_joint(asked)
        joint = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))

    def log_joint(self, asked: AskedPairs) -> Floats:
        """(n_pairs, 4) log of share times likelihood of the votes; −∞ where an explanation is ruled out."""
        with np.errstate(divide="ignore"):
            log_joint = np.log(self.share)[asked.label]
        log_joint[:, PRESENT] += log_plain(asked, self.hit, PLAINER)
        log_joint[:, ABSENT] += log_plain(asked, self.false_alarm, -PLAINER)
        log_joint[:, HARD] += log_chance(asked.n_yes, asked.n_votes)
        two_minds = np.minimum(asked.n_yes, asked.n_votes - asked.n_yes) >= EACH_SIDE
        log_joint[~two_minds, HARD:] = -np.inf
        # Most pairs are not of two minds, and `log_split` is the slowest of the four.
        split = two_minds & (self.share[asked.label, SPLIT] > 0)
        if split.any():
            log_joint[split, SPLIT] += self.log_split(asked.where(split))
        return log_joint

    def log_split(self, asked: AskedPairs) -> Floats:
        """(n_pairs,) log-likelihood of the votes if sides vote against each other: either side may be the yes."""
        result = np.empty(len(asked.label))
        for fold, side in enumerate(self.side):
            here = asked.fold == fold
            part = asked.where(here)
            result[here] = np.logaddexp(part.log_likelihood(side), part.log_likelihood(1 - side)) - np.log(2)
        return result


def log_plain(asked: AskedPairs, rate: Floats, plainer: float) -> Floats:
    """(n_pairs,) log-likelihood of the votes at these rates or, as often, at rates whose log-odds are moved."""
    moved = np.clip(sigmoid(safe_logit(rate) + plainer), SURELY, 1 - SURELY)
    return np.asarray(np.logaddexp(asked.log_likelihood(rate), asked.log_likelihood(moved)) - np.log(2))


def log_chance(n_yes: Ints, n_votes: Ints) -> Floats:
    """(n_pairs,) log-likelihood of votes at one unknown rate, see `HARD_VOTES`.

    >>> np.exp(log_chance(np.array([0, 1]), np.array([1, 1]))).round(6).tolist()  # a single vote is a toss of a coin
    [0.5, 0.5]
    """

    def one_rate(total: Ints, yes: Ints) -> Floats:
        broad, narrow = (betaln(yes + lent, total - yes + lent) - betaln(lent, lent) for lent in HARD_VOTES)
        return np.asarray(np.logaddexp(broad, narrow) - np.log(2))

    return once_per_pair(one_rate, n_votes, n_yes)
