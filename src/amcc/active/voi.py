"""Our own strategy: the value of an answer per unit of cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from amcc.active.base import Beliefs, Candidates, Questions
from amcc.active.picking import pick_batch, questions_about
from amcc.errors import ParameterError
from amcc.kernels import Floats


def answer_value(proba: Floats, hit: Floats, false_alarm: Floats) -> Floats:
    """By how much an answer is expected to lower the variance p (1 − p) of a pair's presence.

    The variance of what is foretold: Cov(present, yes)² / Var(yes). It is never 0 where there is doubt and the worker
    looks, unlike the expected number of decisions that the answer changes.
    """
    yes = proba * hit + (1 - proba) * false_alarm
    covariance = proba * (1 - proba) * (hit - false_alarm)
    return np.asarray(covariance**2 / np.maximum(yes * (1 - yes), 1e-12))


def carried_over(proba: Floats, correlation: Floats) -> Floats:
    """(n_items, n_labels) how much more an answer is worth since it also tells about other labels of the item.

    What lowers the variance of a label by a share lowers that of another by this share times their correlation squared.
    """
    doubt = proba * (1 - proba)
    shared = correlation**2  # a copy
    np.fill_diagonal(shared, 1.0)
    return np.asarray(doubt @ shared / np.maximum(doubt, 1e-12))


@dataclass(frozen=True)
class ValueOfInformation:
    """Asks where an answer is expected to remove most doubt per unit of cost.

    Parameters
    ----------
    correlated : whether answers also count for what they tell about other labels of the item.
    repetition : by which power of the number of votes on a pair the next is worth less. A pair that is still in doubt
        after many votes is itself unclear: what it has is a share of yes, whose variance the next of n votes lowers by
        about 1 / n.
    overhead : what any question costs beside its price, in mean prices: the place that it takes from a better one. With
        little of it, where prices follow quality, the cheapest workers are asked first, before it is known how bad they
        are, and their noise has to be undone.
    """

    model: ClassVar[str] = "amcc"
    correlated: bool = False
    repetition: float = 1.0
    overhead: float = 3.0

    def __post_init__(self) -> None:
        for name in ("repetition", "overhead"):
            if not getattr(self, name) >= 0:
                raise ParameterError(f"{name} must be 0 or more; got {getattr(self, name)!r}.")

    def select(
        self, beliefs: Beliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        proba, votes = beliefs.proba, beliefs.votes
        n_votes = np.zeros(proba.shape)
        n_votes[votes.pairs.item, votes.pairs.label] = votes.pairs.n_votes
        weight = (1 + n_votes) ** -self.repetition
        if self.correlated:
            weight = weight * carried_over(proba, beliefs.correlation)
        best = np.argmax(beliefs.hit - beliefs.false_alarm, axis=0), np.arange(proba.shape[1])
        promise = weight * answer_value(proba, beliefs.hit[best], beliefs.false_alarm[best])
        asked = questions_about(np.where(candidates.open_pairs(), promise, np.nan), candidates, batch, len(prices), rng)
        value = weight[asked.item, asked.label] * answer_value(
            proba[asked.item, asked.label],
            beliefs.hit[asked.worker, asked.label],
            beliefs.false_alarm[asked.worker, asked.label],
        )
        cost = prices[asked.worker]
        parts = {"probability": proba[asked.item, asked.label], "value": value, "c": cost}
        return pick_batch(asked, value / (cost + self.overhead * prices.mean()), batch, rng, parts=parts)
