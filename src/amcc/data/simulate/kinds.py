"""Kinds of workers: how well each usually sees, and how rates become log-odds and back.

A worker has two rates for each label. The hit rate is the chance of a yes where the label is present, the false-alarm
rate where it is absent. All that makes workers and items differ is added in log-odds, where no sum leaves 0 … 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from amcc.arrays import Floats

# Honest kinds with their usual (hit rate, false-alarm rate). Workers overlook a present label far more easily than
# they tick an absent one: who is in doubt ticks nothing.
HONEST_RATES = {"reliable": (0.92, 0.02), "normal": (0.78, 0.05), "sloppy": (0.50, 0.12)}
# How many workers are of a kind, relative to the others of its camp (honest, or spamming).
KIND_WEIGHTS = {"reliable": 1.0, "normal": 2.0, "sloppy": 2.0, "random_spammer": 1.0, "uniform_spammer": 1.0}
# Workers hold a place in this tuple. The honest kinds come first, in the order of HONEST_RATES: a place below
# len(HONEST_RATES) is a place there, too.
KINDS = tuple(KIND_WEIGHTS)
# What spammers say does not depend on the truth.
IS_SPAMMER = np.array([kind not in HONEST_RATES for kind in KINDS])

# Log-odds of (false alarms, hits) that one unit of difficulty adds, indexed by presence. Hard items hide their labels
# (−1) more than they suggest labels that are not there (+0.25): again, who is in doubt ticks nothing.
DIFFICULTY_SHIFT = np.array([0.25, -1.0], dtype=np.float32)


def sigmoid(log_odds: NDArray[Any]) -> NDArray[Any]:
    """Probability of each log-odds, in the precision of the input.

    >>> float(sigmoid(np.log(3.0)))
    0.75
    """
    # Not scipy's expit, which rounds differently: a seed must give the same crowd in every version of amcc.
    probability: NDArray[Any] = 1 / (1 + np.exp(-log_odds))
    return probability


def logit(probability: ArrayLike) -> Floats:
    """Log-odds of each probability; -inf and inf for what never and always happens.

    >>> logit([0, 0.5, 1]).tolist()
    [-inf, 0.0, inf]
    """
    chance = np.asarray(probability, dtype=np.float64)
    # Uniform spammers have rates of 0 and 1: their infinite log-odds are meant, and no reason for a warning.
    with np.errstate(divide="ignore"):
        return np.log(chance) - np.log1p(-chance)
