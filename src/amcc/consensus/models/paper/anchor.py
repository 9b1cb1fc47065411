"""What a worker's answers are represented by: the anchor (D1), and how it follows the consensus.

The print represents a worker by their own answers, A_w ≈ A_w (D_w + C_m) (eq1). Then D_w = I and C_m = 0 explain
everybody perfectly, and a residual says nothing about quality. So answers are represented by the consensus Y_w on the
items they answered: this is what the text says that D and C mean, "gives label l when the truth is g".

Encoding. With the consensus as anchor, answers and anchor speak of presence: 1 for yes, 0 for no, and probabilities in
between. Then response[g, l] is the paper's "probability of giving label l when the truth is g", which eq6 needs, and
zero rows of the truth predict silence. With ±1 every absent label would predict something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from amcc import linalg
from amcc.arrays import Floats, Ints
from amcc.consensus.learned import Gold
from amcc.consensus.models.paper.answers import (
    Answers,
    Statistics,
    answer_variation,
    mean_answers,
    presence,
    statistics,
)
from amcc.consensus.models.paper.consensus import Verdict, judge_pairs, mean_presence
from amcc.consensus.models.paper.individuality import admm_penalty
from amcc.consensus.models.paper.objective import HALVINGS, objective
from amcc.consensus.models.paper.problem import PaperProblem, PaperSettings, PaperState
from amcc.consensus.models.paper.updates import update_commonality, update_group_weights
from amcc.votes import Votes


@dataclass(frozen=True)
class Observed:
    """What a fit is given: votes, also as answers, known truth, and settings."""

    votes: Votes
    gold: Gold
    answers: Answers
    settings: PaperSettings

    @cached_property
    def given(self) -> Floats:
        """(n_answers, n_labels) answers as numbers, 0 where not asked; ±1 in print, presence else."""
        return self.answers.value.astype(np.float64) if self.settings.printed else presence(self.answers.value)

    @cached_property
    def label_similarity(self) -> Floats:
        """(n_labels, n_labels) cosines between labels, B of eq4."""
        mean = mean_answers(self.answers, self.given, self.votes.n_items)
        return linalg.label_similarity(mean, clipped=self.settings.cosines == "clipped")

    @property
    def first_proba(self) -> Floats:
        """(n_pairs,) where the anchor starts: known truth, else the share of yes."""
        return np.where(self.gold.known, self.gold.present, self.votes.n_yes / self.votes.pairs.n_votes)

    def statistics(self, proba: Floats) -> Statistics:
        """The sums of eq5 with these probabilities as anchor; by themselves, the answers are their own."""
        if self.settings.by_itself:  # whatever the consensus is, the sums stay the same
            return statistics(self.answers, self.given, self.given.__getitem__)
        return statistics(self.answers, self.given, anchor_rows(self.votes, self.answers, proba))

    def problem(self, proba: Floats) -> PaperProblem:
        """eq5 with these probabilities as anchor.

        Per answer, who ticks the same label everywhere would be the best worker of all: nobody is easier to predict. So
        with the consensus as anchor the scale is the variation of the answers, which makes the loss of a group the
        share of its variation that the consensus does not explain. Every group starts with the variation of as many
        answers as there are labels, since C_m has that many parameters in each column. With a worker's own answers as
        anchor it is the number of answers, to show D1 as it is (D7).
        """
        votes, answers, settings = self.votes, self.answers, self.settings
        # Both stay the same from round to round, so that C and λ have exact updates and rounds can be compared.
        n_answers = len(answers.item)
        scale = answers.per_worker.astype(np.float64) if settings.by_itself else answer_variation(answers)
        prior_scale = 0.0 if settings.by_itself else votes.n_labels * float(scale.sum()) / max(n_answers, 1)
        return PaperProblem(
            data=self.statistics(proba),
            worker_scale=scale,
            prior_scale=prior_scale,
            label_laplacian=linalg.label_laplacian(self.label_similarity),
            admm_penalty=admm_penalty(votes.n_labels, votes.n_workers, settings),
            settings=settings,
        )


class Place(NamedTuple):
    """Where the fit stands.

    state : the estimates. problem : what they solve. proba : (n_pairs,) what anchors it. value : eq5.
    """

    state: PaperState
    problem: PaperProblem
    proba: Floats
    value: float

    def verdict(self, observed: Observed) -> Verdict:
        """What eq6 makes of the estimates."""
        return judge_pairs(observed.votes, observed.gold, self.state, self.problem, self.proba)


def follow_consensus(place: Place, wanted: Floats, sums: Callable[[Floats], Statistics]) -> Place:
    """Move the anchor to the consensus, or a part of the way, or not, so that eq5 does not end above its value (D1).

    wanted : (n_pairs,) the consensus. sums : statistics with some probabilities as anchor.

    Commonality and weights come along: they are what the new anchor makes of them. Without the condition the consensus
    may run away with one worker where few answered everything.
    """
    for halving in range(HALVINGS):
        # Between two sets of probabilities lie probabilities, and known truth, the same in both, stays.
        proba = place.proba + 0.5**halving * (wanted - place.proba)
        problem = replace(place.problem, data=sums(proba))
        state = update_group_weights(update_commonality(place.state, problem), problem)
        moved = Place(state, problem, proba, objective(state, problem))
        if moved.value <= place.value:
            return moved
    # Stay: the updates before have lowered eq5 with the anchor as it was.
    return place._replace(value=objective(place.state, place.problem))


def anchor_rows(votes: Votes, answers: Answers, proba: Floats) -> Callable[[Ints], Floats]:
    """Rows of the consensus on the items of some answers; what is usual for the label where nobody was asked (D1)."""
    # A row must be complete, for response[g, l] speaks of every label g that the item may have.
    table = np.tile(mean_presence(votes, proba), (votes.n_items, 1))
    table[votes.pairs.item, votes.pairs.label] = proba
    return lambda row: np.asarray(table[answers.item[row]])
