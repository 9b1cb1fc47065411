"""Our own strategy: the value of an answer per unit of cost.

What an answer is worth is the doubt that it is expected to remove: the variance p (1 − p) of the pair's presence, times
the square of the worker's skill. The skill is not known but drawn from what is believed of it (Thompson sampling), so
that newcomers get their turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from amcc.active.beliefs import COLD_FALSE_ALARM, COLD_HIT, CurrentBeliefs
from amcc.active.candidates import Candidates
from amcc.active.picking import pick_batch, questions_about
from amcc.active.questions import Questions
from amcc.active.strategy import UsualStrategy, register
from amcc.arrays import Floats, weight_per_code
from amcc.errors import ParameterError
from amcc.passes import sum_over_slots
from amcc.votes import Votes

# Before the first vote, chance is expected to be right about half of the labels, and to leave room for the other half:
# of a yes and a no, nothing says yet which is more frequent.
COLD_ROOM = 0.5

# Nobody is always right, or always wrong: one answer in a hundred is a slip even of the best. A Beta distribution with
# a parameter of 0 could not be drawn from.
NEVER_SURE = 0.01


@dataclass(frozen=True)
class Skills:
    """What is known about how well each worker tells present labels from absent ones.

    The skill of somebody who is always right is 1; of somebody who answers as often yes as others, without looking, 0.
    It is the share of the agreement with the consensus that is beyond chance.

    mean : (n_workers,) expected.
    evidence : (n_workers,) how many surprises, votes that chance would not have given, it rests on.
    """

    mean: Floats
    evidence: Floats

    @classmethod
    def from_beliefs(cls, votes: Votes, proba: Floats, answers_of_stranger: float) -> Skills:
        """By the votes so far. A stranger has the skill of the crowd, as if seen in so many answers."""
        coins, pairs = votes.coins, votes.pairs
        present = sum_over_slots(coins.slot, pairs.start, proba[pairs.item, pairs.label], 2 * len(coins))
        n_no, n_yes = np.bincount(coins.slot, minlength=2 * len(coins)).reshape(-1, 2).T
        usual = proba.mean(axis=0)[coins.label]
        agreed = present[1::2] + (n_no - present[0::2])
        by_chance = n_yes * usual + n_no * (1 - usual)
        gain = weight_per_code(coins.worker, agreed - by_chance, votes.n_workers)
        room = weight_per_code(coins.worker, n_yes + n_no - by_chance, votes.n_workers)
        # As if there were one more vote, with something expected of it: even where all disagree, a question is worth
        # asking.
        of_crowd = (gain.sum() + COLD_ROOM * (COLD_HIT - COLD_FALSE_ALARM)) / (room.sum() + COLD_ROOM)
        prior = answers_of_stranger * votes.n_labels * (room.sum() + COLD_ROOM) / (len(votes) + 1)
        return cls((gain + prior * of_crowd) / (room + prior), room + prior)

    def draw(self, rng: np.random.Generator) -> Floats:
        """(n_workers,) skills as they may be, from a Beta distribution of the chance to be right; at least 0.

        Who is little known is sometimes thought good, then asked, then known. Always to ask who seems best may end with
        a consensus that is mostly theirs, and speaks for them.
        """
        right = np.clip((1 + self.mean) / 2, NEVER_SURE, 1 - NEVER_SURE)
        drawn = rng.beta(right * self.evidence, (1 - right) * self.evidence)
        return np.maximum(2 * drawn - 1, 0.0)


def answer_value(proba: Floats, skill: Floats) -> Floats:
    """By how much an answer is expected to lower the variance p (1 − p) of a pair's presence, at even odds.

    Somebody of skill s is right with a chance of (1 + s) / 2: after a yes the probability is that, after a no the
    rest, and ¼ has become ¼ (1 − s²). It is never 0 where there is doubt and the worker looks, unlike the expected
    number of decisions that the answer changes.
    """
    return proba * (1 - proba) * skill**2


def carried_over(proba: Floats, correlation: Floats) -> Floats:
    """(n_items, n_labels) how much more an answer is worth since it also tells about other labels of the item.

    What lowers the variance of a label by a share lowers that of another by this share times their correlation squared.
    """
    doubt = proba * (1 - proba)
    shared = correlation**2  # a copy
    np.fill_diagonal(shared, 1.0)
    # Where there is no doubt nothing is gained either: any small divisor will do that is not 0.
    return np.asarray(doubt @ shared / np.maximum(doubt, 1e-12))


@register("voi")
@dataclass(frozen=True)
class ValueOfInformation(UsualStrategy):
    """Asks where an answer is expected to remove most doubt per unit of cost.

    Parameters
    ----------
    correlated : whether answers also count for what they tell about other labels of the item.
    repetition : by which power of the number of votes on a pair the next is worth less. A pair that is still in doubt
        after many votes is itself unclear: what it has is a share of yes, whose variance the next of n votes lowers by
        about 1 / n.
    answers_of_stranger : the skill of a worker is that of the crowd until they have given about as many answers.
    overhead : what any question costs beside its price, in mean prices: the place that it takes from a better one. With
        little of it, where prices follow quality, the cheapest workers are asked first, before it is known how bad they
        are, and their noise has to be undone.
    """

    correlated: bool = False
    repetition: float = 1.0
    answers_of_stranger: float = 1.0
    overhead: float = 3.0

    def __post_init__(self) -> None:
        for name in ("repetition", "overhead"):
            if not getattr(self, name) >= 0:
                raise ParameterError(f"{name} must be 0 or more; got {getattr(self, name)!r}.")
        if not self.answers_of_stranger > 0:
            raise ParameterError(f"answers_of_stranger must be above 0; got {self.answers_of_stranger!r}.")

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        proba, votes = beliefs.proba, beliefs.votes
        n_votes = np.zeros(proba.shape)
        n_votes[votes.pairs.item, votes.pairs.label] = votes.pairs.n_votes
        weight = (1 + n_votes) ** -self.repetition
        if self.correlated:
            weight = weight * carried_over(proba, beliefs.correlation)
        promise = np.where(candidates.open_pairs(), weight * answer_value(proba, np.ones(1)), np.nan)
        skills = Skills.from_beliefs(votes, proba, self.answers_of_stranger)
        drawn = skills.draw(rng)  # before all else that is random, see `Strategy.select`
        asked = questions_about(promise, candidates, batch, len(prices), rng)
        pair, cost = (asked.item, asked.label), prices[asked.worker]
        value = weight[pair] * answer_value(proba[pair], drawn[asked.worker])
        of_worker = {"skill": skills.mean[asked.worker], "drawn_skill": drawn[asked.worker]}
        parts = {"probability": proba[pair], **of_worker, "value": value, "c": cost}
        return pick_batch(asked, value / (cost + self.overhead * prices.mean()), batch, rng, parts=parts)
