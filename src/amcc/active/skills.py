"""How well each worker tells present labels from absent ones, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from amcc.active.beliefs import COLD_FALSE_ALARM, COLD_HIT, CurrentBeliefs
from amcc.arrays import Floats, weight_per_code
from amcc.passes import sum_over_slots
from amcc.special import betainc
from amcc.votes import Votes

# Before the first vote, chance is expected to be right about half of the labels, and to leave room for the other half:
# of a yes and a no, nothing says yet which is more frequent.
COLD_ROOM = 0.5

# Nobody is always right, or always wrong: one answer in a hundred is a slip even of the best. A Beta distribution with
# a parameter of 0 could not be drawn from.
NEVER_SURE = 0.01


# Surprises by which the skill of an expert is as good as known: nobody is tried out who says what they know. More than
# anybody ever gives, so that no answer moves it.
KNOWN = 1e6


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
    def of(cls, beliefs: CurrentBeliefs, answers_of_stranger: float) -> Skills:
        """By what is believed. The requester, if they are one of the workers, is known to be an expert."""
        found = cls.from_beliefs(beliefs.votes, beliefs.proba, answers_of_stranger)
        if beliefs.expert is None:
            return found
        mean, evidence, expert = found.mean.copy(), found.evidence.copy(), beliefs.expert.worker
        mean[expert] = (beliefs.hit[expert] - beliefs.false_alarm[expert]).mean()
        evidence[expert] = KNOWN
        return cls(mean, evidence)

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

    def worth_asking(self) -> Floats:
        """(n_workers,) the skill by which to choose whom to ask: what is expected, and what asking teaches."""
        return np.sqrt(self.expected_square + self.option)

    @cached_property
    def expected_square(self) -> Floats:
        """(n_workers,) E[s²]: an answer is worth about the square of its worker's skill."""
        return self._square_above(0.0)

    def believed_square(self, share: float) -> Floats:
        """(n_workers,) E[s²] with only this share of what tells workers apart; those who are known keep theirs.

        What looks like skill is agreement with the consensus. A part of it is taste, and with few votes the consensus
        is that of those who gave most of them.
        """
        square, known = self.expected_square, self.evidence >= KNOWN
        usual = float(square[~known].mean()) if not known.all() else 0.0
        return np.where(known, square, (1.0 - share) * usual + share * square)

    @cached_property
    def option(self) -> Floats:
        """(n_workers,) what asking teaches about the worker, in squares of skill.

        Asking shows how good somebody is, and who turns out better than the usual worker can be asked again, where
        others need not be. With s*² of the usual worker, this option is worth

            E[max(s², s*²)] − max(E[s²], s*²)

        for one further answer: much for strangers, nothing for those who are known. So newcomers get their turn because
        it pays, and not by luck.
        """
        expected = self.expected_square
        usual = float(np.median(expected))
        best = self._square_above(np.sqrt(usual)) + usual * betainc(*self._beta, (1 + np.sqrt(usual)) / 2)
        return np.asarray(np.maximum(best - np.maximum(expected, usual), 0.0))

    @property
    def _beta(self) -> tuple[Floats, Floats]:
        """Parameters of the Beta distribution of the chance x = (1 + s) / 2 to be right."""
        right = np.clip((1 + self.mean) / 2, NEVER_SURE, 1 - NEVER_SURE)
        return right * self.evidence, (1 - right) * self.evidence

    def _square_above(self, skill: float | np.floating[Any]) -> Floats:
        """(n_workers,) E[s²; s > skill], the part of the expectation that lies above; below 0, nobody is of use."""
        a, b = self._beta
        # (2x − 1)² = 4x² − 4x + 1, and the part of E[xᵏ] above c is E[xᵏ] of the whole times 1 − I_c(a + k, b).
        first, n = a / (a + b), a + b
        moments = 1.0, -4.0 * first, 4.0 * first * (a + 1) / (n + 1)
        above = ((1 - betainc(a + k, b, (1 + skill) / 2)) * moment for k, moment in enumerate(moments))
        return np.asarray(np.maximum(sum(above), 0.0))  # rounding
