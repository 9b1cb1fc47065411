"""Rates of workers measured on pairs whose truth is known, and where these are better than what the others say."""

from __future__ import annotations

import numpy as np

from amcc.arrays import Floats, Ints, Mask, Signs
from amcc.consensus.workers import WorkerRates, off_the_ends
from amcc.inference import LEVEL, SliceShares, clustered_shares
from amcc.votes import Votes


def with_measured(rates: WorkerRates, votes: Votes, known: Signs) -> WorkerRates:
    """The rates, for each worker the measured ones where they tell more, or say something else.

    Something else means that the intervals of the informativeness have nothing in common: truth is then believed. As in
    an audit, the pairs with known truth stand for all others.
    """
    measured = measured_rates(votes, known, rates.answers)
    width, of_truth = (each.informativeness_high - each.informativeness_low for each in (rates, measured))
    apart = (measured.informativeness_low > rates.informativeness_high) | (
        measured.informativeness_high < rates.informativeness_low
    )
    return rates.replaced_by(measured, (of_truth < width) | (apart & measured.known))


def measured_rates(votes: Votes, known: Signs, answers: Ints) -> WorkerRates:
    """Rates on pairs with known truth; all of [0, 1] where a worker met no present, or no absent, pair of a label.

    known : (n_pairs,) +1 present, −1 absent, 0 not known. Rates are compared within labels, as in `worker_rates`: each
    vote counts by the share of the other truth among those of this worker on the label (Mantel and Haenszel).
    """
    sign = np.repeat(known, votes.pairs.n_votes)
    there = np.flatnonzero(sign)
    present, coin = sign[there] > 0, votes.coins.slot[there] >> 1
    worker, item = votes.worker[there].astype(np.int64), votes.item[there].astype(np.int64)
    yes = (votes.value[there] > 0).astype(np.float64)
    share = np.bincount(coin, present, len(votes.coins)) / np.maximum(np.bincount(coin, minlength=len(votes.coins)), 1)

    def rate(which: Mask, weight: Floats) -> tuple[Floats, Floats, Floats]:
        found = clustered_shares(yes, worker, item, votes.n_workers, LEVEL, weight=np.where(which, weight, 0.0))
        return _filled(found)

    hit = rate(present, 1 - share[coin])
    false_alarm = rate(~present, share[coin])
    return WorkerRates.of_independent(answers, *hit, *false_alarm, by_truth=True)


def _filled(found: SliceShares) -> tuple[Floats, Floats, Floats]:
    """Rate, low, high; where nothing was measured, one half and all of [0, 1]."""
    nothing = found.n == 0
    rate = off_the_ends(found.estimate, np.where(nothing, 0.0, found.effective))
    return np.where(nothing, 0.5, rate), np.where(nothing, 0.0, found.low), np.where(nothing, 1.0, found.high)
