"""How far to trust each worker: hit and false-alarm rates that cannot be faked by ticking a common label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc.kernels import Floats, Ints, Judgement, weight_per_code
from amcc.votes import Votes

PRIOR_WEIGHT = 1.0
"""Evidence in the crowd's favour that every worker starts with: about four votes on a label that is often present."""

NEAR_NOTHING, SURELY_LITTLE, GOOD_WORKER = 0.2, 0.5, 0.75
"""See `likely_spammers`."""


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


def worker_rates(votes: Votes, judgement: Judgement) -> WorkerRates:
    """Rates of every worker against what the others say, see `kernels.others_pass`.

    A worker says yes with probability false_alarm_rate + informativeness · q where the others make the label present
    with probability q, so informativeness is the slope of a regression of his votes on q. The regression runs within
    labels and is pooled over them: a worker who always ticks the same frequent label is right often, yet within that
    label his votes do not depend on q, and he is seen for what he is. Where q is never in doubt this is the rate
    difference of Mantel and Haenszel; where q says nothing (nobody else voted) it counts for nothing.
    """
    coins = votes.coins
    total = np.bincount(coins.slot, minlength=2 * len(coins)).reshape(-1, 2)  # columns: no, yes
    n_votes = total.sum(axis=1)
    present, square = judgement.weight.reshape(-1, 2), judgement.square.reshape(-1, 2)
    yes_share, q_mean = total[:, 1] / n_votes, present.sum(axis=1) / n_votes
    spread = np.maximum(square.sum(axis=1) - n_votes * q_mean**2, 0.0)  # sum of squares of q about its mean
    product = present[:, 1] - n_votes * yes_share * q_mean  # sum of products of vote and q about their means

    def per_worker(weight: Floats) -> Floats:
        return weight_per_code(coins.worker, weight, votes.n_workers)

    evidence = per_worker(spread)
    hit_rate = _shrunk(per_worker(spread * yes_share + product * (1 - q_mean)), evidence)
    false_alarm_rate = _shrunk(per_worker(spread * yes_share - product * q_mean), evidence)
    # As many votes on surely present and surely absent labels would tell as much.
    n_present = per_worker(_divided(spread, 1 - q_mean))
    n_absent = per_worker(_divided(spread, q_mean))
    low, high = wilson_interval(hit_rate, n_present)
    low_false, high_false = wilson_interval(false_alarm_rate, n_absent)
    return WorkerRates(votes.answers_per_worker, hit_rate, low, high, false_alarm_rate, low_false, high_false)


def _divided(spread: Floats, share: Floats) -> Floats:
    quotient: Floats = np.divide(spread, share, out=np.zeros_like(spread), where=share > 1e-12)
    return quotient


def _shrunk(count: Floats, weight: Floats) -> Floats:
    """Ratio, pulled towards that of all workers together; one half if nothing at all is known."""
    crowd = count.sum() / weight.sum() if weight.sum() > 0 else 0.5
    return np.clip((count + PRIOR_WEIGHT * crowd) / (weight + PRIOR_WEIGHT), 0.0, 1.0)


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


def likely_spammers(rates: WorkerRates) -> npt.NDArray[np.bool_]:
    """(n_workers,) whose answers, on enough evidence, tell next to nothing about the truth.

    The measure is a good worker of the same crowd, one more informative than three quarters of it: where questions
    are hard, nobody is very informative, and a crowd without agreement has nothing to accuse anybody with. A likely
    spammer has less than a fifth of a good worker's informativeness, and even the upper end of its 95 % interval
    (Newcombe's, from the intervals of both rates) stays below half of it. Few answers make that interval wide, so
    beginners are not accused; nor is anybody judged where one worker is the whole crowd.

    >>> two_of_three = np.array([0.9, 0.9, 0.4])
    >>> rates = WorkerRates(np.full(3, 500), two_of_three, two_of_three - 0.03, two_of_three + 0.03,
    ...                     np.full(3, 0.38), np.full(3, 0.36), np.full(3, 0.40))
    >>> likely_spammers(rates).tolist()
    [False, False, True]
    """
    informativeness = rates.informativeness
    margin = np.hypot(rates.hit_rate_high - rates.hit_rate, rates.false_alarm_rate - rates.false_alarm_rate_low)
    good = max(0.0, float(np.quantile(informativeness, GOOD_WORKER)))
    little = informativeness < NEAR_NOTHING * good
    return np.asarray(little & (informativeness + margin < SURELY_LITTLE * good))
