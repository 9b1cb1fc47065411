"""What models with coins share: every worker has, for each label, rates of their own.

A *coin* is a (worker, label) combination that occurs. It has two *slots*, the no and the yes of that worker on that
label. Such a model learns something about every coin, turns it into evidence (log-odds) of the slots, and adds up the
evidence of the votes on each pair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

import numpy as np

from amcc import passes
from amcc.arrays import Codes, Floats, Ints, safe_log
from amcc.consensus.base import ConsensusModel
from amcc.consensus.learned import Gold
from amcc.consensus.matching import CoinMatch, match_coins
from amcc.engine.base import Engine
from amcc.fields import Each
from amcc.passes import Judgement
from amcc.votes import Coins, Votes


class CoinModel(ConsensusModel):
    """A model that learns something about every coin, and finds it again for the coins of other votes.

    Attributes
    ----------
    coin_worker_, coin_label_ : (n_coins,) int32
        The (worker, label) combinations that occur, sorted by worker, then label.
    """

    coin_worker_: Annotated[Codes, Each("coin", code="worker")]
    coin_label_: Annotated[Codes, Each("coin", code="label")]

    def _keep_coins(self, votes: Votes | Engine) -> None:
        """Remember which coins there are."""
        self.coin_worker_, self.coin_label_ = votes.coins.worker, votes.coins.label

    def _match_coins(self, votes: Votes) -> CoinMatch:
        """Find the coins of other votes among the learned ones."""
        return match_coins(votes, self.worker_names_, self.label_names_, self.coin_worker_, self.coin_label_)


def count_slots(votes: Votes) -> Floats:
    """(n_slots,) votes in each slot."""
    return np.bincount(votes.coins.slot, minlength=2 * len(votes.coins)).astype(np.float64)


def label_slots(coins: Coins) -> Ints:
    """(n_slots,) 2 · label + (1 for yes, 0 for no): adds up what the slots of all workers hold, label by label."""
    # 64 bits, for codes of labels are 32 wide and twice the number of labels must fit.
    slots: Ints = 2 * np.repeat(coins.label.astype(np.int64), 2) + np.tile([0, 1], len(coins))
    return slots


def log_answers(rate: Floats) -> Floats:
    """(…, n_slots) log-probability of a no and a yes, for (…, n_coins) coins that say yes at these rates.

    >>> np.exp(log_answers(np.array([0.25, 1.0]))).round(6).tolist()
    [0.75, 0.25, 0.0, 1.0]
    """
    # No and yes side by side, as slots are.
    return safe_log(np.stack([1 - rate, rate], axis=-1)).reshape(*rate.shape[:-1], -1)


def met_present_labels(votes: Votes, proba: Floats) -> Floats:
    """(n_slots,) expected votes in each slot that met a present label, from the (n_pairs,) probabilities."""
    return passes.sum_over_slots(votes.coins.slot, votes.pairs.start, proba, 2 * len(votes.coins))


def start_from_shares(votes: Votes, gold: Gold) -> Floats:
    """(n_pairs,) share of yes among the votes on each pair, and the truth where it is known: where most fits start."""
    # A pair without votes does not exist, so nothing is divided by zero.
    return np.where(gold.known, gold.present, votes.n_yes / votes.pairs.n_votes)


def pair_evidence(votes: Votes, slot_evidence: Floats) -> Floats:
    """(n_pairs,) log-odds that the votes on each pair add, from those of the slots."""
    return passes.sum_over_votes(votes.coins.slot, votes.pairs.start, slot_evidence)


def signed_evidence(worth: Floats) -> Floats:
    """(n_slots,) log-odds of a no and a yes, for (n_coins,) coins where both are worth the same.

    >>> signed_evidence(np.array([2.0, 0.5])).tolist()
    [-2.0, 2.0, -0.5, 0.5]
    """
    return np.stack([-worth, worth], axis=1).ravel()


def judge_later(votes: Votes, slot_evidence: Floats, prior: Floats) -> Callable[[], Judgement]:
    """A task that judges every vote by the (n_pairs,) prior log-odds and the other votes on its pair.

    Called when somebody asks about the workers: a fit that nobody asks about them does not pay for it.
    """
    return partial(passes.others_pass, votes.coins.slot, votes.pairs.start, slot_evidence, prior)
