"""How far to trust each worker: hit and false-alarm rates that cannot be faked by ticking a common label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from amcc.kernels import Floats, Ints, weight_per_code
from amcc.votes import Votes

PRIOR_WEIGHT = 1.0
"""Comparisons' worth of the whole crowd that every worker starts with, so that one vote does not make a rate of 0."""


@dataclass(frozen=True)
class WorkerRates:
    """(n_workers,) arrays: answers, rates and the bounds of their 95 % intervals."""

    answers: Ints
    hit_rate: Floats
    hit_rate_low: Floats
    hit_rate_high: Floats
    false_alarm_rate: Floats
    false_alarm_rate_low: Floats
    false_alarm_rate_high: Floats

    @property
    def informativeness(self) -> Floats:
        """How much more often a worker says yes when the label is there than when it is not."""
        return self.hit_rate - self.false_alarm_rate

    def table(self, worker_names: pa.Array) -> pa.Table:
        """One row per worker."""
        return pa.table({"worker": worker_names, **vars(self), "informativeness": self.informativeness})


def worker_rates(votes: Votes, judged: Floats) -> WorkerRates:
    """Rates of every worker against the probabilities `judged`, (n_votes,), that the label of a vote is present.

    Rates are compared within labels and pooled with the weights of Mantel and Haenszel. A worker who always ticks
    the same frequent label is right often; within that label he says yes to present and absent alike, so his hit
    rate equals his false-alarm rate and he is seen for what he is.
    """
    coins = votes.coins
    n_slots = 2 * len(coins)
    present = weight_per_code(coins.slot, judged, n_slots).reshape(-1, 2)  # columns: no, yes
    total = np.bincount(coins.slot, minlength=n_slots).reshape(-1, 2)
    absent = total - present
    n_present, n_absent, n_votes = present.sum(axis=1), absent.sum(axis=1), total.sum(axis=1)

    def per_worker(weight: Floats) -> Floats:
        return weight_per_code(coins.worker, weight, votes.n_workers)

    weight = per_worker(n_present * n_absent / n_votes)
    hits = per_worker(present[:, 1] * n_absent / n_votes)
    false_alarms = per_worker(absent[:, 1] * n_present / n_votes)
    hit_rate = _shrunk(hits, weight)
    false_alarm_rate = _shrunk(false_alarms, weight)
    low, high = wilson_interval(hit_rate, per_worker(n_present))
    low_false, high_false = wilson_interval(false_alarm_rate, per_worker(n_absent))
    return WorkerRates(votes.answers_per_worker, hit_rate, low, high, false_alarm_rate, low_false, high_false)


def _shrunk(count: Floats, weight: Floats) -> Floats:
    """Ratio, pulled towards that of all workers together; one half if nothing at all is known."""
    crowd = count.sum() / weight.sum() if weight.sum() > 0 else 0.5
    return (count + PRIOR_WEIGHT * crowd) / (weight + PRIOR_WEIGHT)


def wilson_interval(rate: Floats, n: Floats, z: float = 1.96) -> tuple[Floats, Floats]:
    """95 % score interval of a rate seen in n trials; it stays in [0, 1], and is all of it for n = 0.

    >>> low, high = wilson_interval(np.array([0.5, 0.5]), np.array([100.0, 0.0]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.404, 0.0], [0.596, 1.0])
    """
    # All terms times n, so that n = 0 needs no special case.
    centre = (rate * n + z * z / 2) / (n + z * z)
    half = z * np.sqrt(rate * (1 - rate) * n + z * z / 4) / (n + z * z)
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)
