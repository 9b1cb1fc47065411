"""Our own strategy: by how much an answer is expected to lower the loss, for each unit of cost.

The value of asking a worker about a pair is made of five things, each a function of its own:

    what the answer may change          the expected drop in loss, several answers ahead  (`amcc.active.value`)
    how good the worker is              expected skill, and what asking teaches about it  (`amcc.active.skills`)
    what others said already            votes of one family repeat each other             (`amcc.consensus.families`)
    what is left to learn of the pair   after many votes it is a matter of degree         (`still_to_learn`)
    what it tells about other labels    by their correlation, where that is wanted        (`carried_over`)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from amcc.active.beliefs import CurrentBeliefs
from amcc.active.candidates import Candidates
from amcc.active.picking import distinct, pick_batch, questions_about
from amcc.active.questions import Questions, Triplets
from amcc.active.skills import Skills
from amcc.active.strategy import UsualStrategy, register
from amcc.active.value import LOSSES, answers_ahead, value_by_skill
from amcc.arrays import Floats
from amcc.errors import ParameterError


def still_to_learn(n_votes: Floats) -> Floats:
    """How much of an answer's value is left after so many votes on the pair.

    Pairs are of several kinds. Some are clear, and a few votes settle them. What is still in doubt after many votes is
    a matter of degree: so many people would say yes, and more votes only tell that share better. The next of n votes
    lowers its variance by about 1 / n.
    """
    return 1.0 / (1.0 + n_votes)


def carried_over(proba: Floats, correlation: Floats) -> Floats:
    """(n_items, n_labels) how much more an answer is worth since it also tells about other labels of the item.

    What lowers the variance of a label by a share lowers that of another by this share times their correlation squared.
    """
    doubt = proba * (1 - proba)
    shared = correlation**2  # a copy
    np.fill_diagonal(shared, 1.0)
    # Where there is no doubt nothing is gained either: any small divisor will do that is not 0.
    return np.asarray(doubt @ shared / np.maximum(doubt, 1e-12))


def not_heard_before(beliefs: CurrentBeliefs, asked: Triplets) -> Floats:
    """(n,) share of each answer's information that the votes on its pair do not have yet; 1 where nobody is related.

    The votes of a family repeat each other, see `amcc.consensus.families`: the first judge of a family tells most, a
    seventh almost nothing.
    """
    if beliefs.sharing is None:
        return np.ones(len(asked))
    votes = beliefs.votes
    pair, row = distinct(asked.item * votes.n_labels + asked.label)
    place = np.full(votes.n_items * votes.n_labels, -1)
    place[pair] = np.arange(len(pair))
    of_vote = place[votes.item.astype(np.int64) * votes.n_labels + votes.label]
    here = of_vote >= 0
    new = beliefs.sharing.new_in_next(of_vote[here], votes.worker[here], len(pair))
    source = beliefs.sharing.source
    learned = asked.worker < len(source)  # the requester was not there when it was learned, and has no family
    return np.where(learned, new[row, source[np.where(learned, asked.worker, 0)]], 1.0)


@register("voi")
@register("voi-myopic", ahead=1)
@register("voi-log", loss="log", ahead=1)
@dataclass(frozen=True)
class ValueOfInformation(UsualStrategy):
    """Asks where an answer is expected to lower the loss most per unit of cost.

    Parameters
    ----------
    loss : what it costs to be wrong: "decision" (share of wrong decisions), "log" (log-loss) or "squared".
    ahead : answers to look ahead: where one cannot change a decision, several can, and are worth it together.
    misread : chance that a pair is misread, whatever its votes say. A consensus is too sure of what few votes agree on,
        and what seems settled would never be looked at again.
    correlated : whether answers also count for what they tell about other labels of the item.
    answers_of_stranger : the skill of a worker is that of the crowd until they have given about as many answers.
    overhead : what any question costs beside its price, in mean prices: the place that it takes from a better one. With
        little of it, where prices follow quality, the cheapest workers are asked first, before it is known how bad they
        are, and their noise has to be undone.
    """

    loss: str = "decision"
    ahead: int = 5
    misread: float = 0.1
    correlated: bool = False
    answers_of_stranger: float = 1.0
    overhead: float = 3.0

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise ParameterError(f"loss must be one of {', '.join(LOSSES)}; got {self.loss!r}.")
        if not isinstance(self.ahead, int) or self.ahead < 1:
            raise ParameterError(f"ahead must be a whole number of answers of at least 1; got {self.ahead!r}.")
        if not 0 <= self.misread < 1:
            raise ParameterError(f"misread must be a chance from 0 to below 1; got {self.misread!r}.")
        if not self.overhead >= 0:
            raise ParameterError(f"overhead must be 0 or more; got {self.overhead!r}.")
        if not self.answers_of_stranger > 0:
            raise ParameterError(f"answers_of_stranger must be above 0; got {self.answers_of_stranger!r}.")

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        skills = Skills.of(beliefs, self.answers_of_stranger)
        skill, weight = skills.worth_asking(), self.weight_of_pairs(beliefs)
        usual = np.sqrt(np.mean(skill**2))
        promise = np.where(candidates.open_pairs(), weight * self.value(beliefs.proba, usual), np.nan)
        asked = questions_about(promise, candidates, batch, len(prices), rng)
        pair, cost = (asked.item, asked.label), prices[asked.worker]
        # The value of an answer goes with the square of the skill, and so does the information in it.
        new = not_heard_before(beliefs, asked)
        effective = skill[asked.worker] * np.sqrt(new)
        value = weight[pair] * self.value(beliefs.proba[pair], effective) + self.beside(beliefs, asked)
        ahead = answers_ahead(self.loss, self.hedged(beliefs.proba[pair]), effective, self.ahead).astype(np.float64)
        of_worker = {"skill": skills.mean[asked.worker], "skill_to_ask": skill[asked.worker], "new": new}
        parts = {"probability": beliefs.proba[pair], **of_worker, "ahead": ahead, "value": value, "c": cost}
        return pick_batch(asked, value / (cost + self.overhead * prices.mean()), batch, rng, parts=parts)

    def beside(self, beliefs: CurrentBeliefs, asked: Triplets) -> Floats | float:
        """(n,) what answers are worth beside their own pair, as far as it can be said in the unit of the loss."""
        return beliefs.gain_beside(asked) if self.loss == "log" else 0.0

    def weight_of_pairs(self, beliefs: CurrentBeliefs) -> Floats:
        """(n_items, n_labels) what the value of an answer about each pair is multiplied by."""
        votes, n_votes = beliefs.votes, np.zeros(beliefs.proba.shape)
        n_votes[votes.pairs.item, votes.pairs.label] = votes.pairs.n_votes
        weight = still_to_learn(n_votes)
        return weight * carried_over(beliefs.proba, beliefs.correlation) if self.correlated else weight

    def hedged(self, proba: Floats) -> Floats:
        """Probabilities as they are where some pairs are misread."""
        return np.asarray((1.0 - self.misread) * proba + self.misread / 2.0)

    def value(self, proba: Floats, skill: Floats | np.floating[Any]) -> Floats:
        """Expected drop in loss by an answer about pairs of these probabilities, by workers of this skill."""
        return value_by_skill(self.loss, self.hedged(proba), np.asarray(skill), self.ahead)
