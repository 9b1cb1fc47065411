"""Majority vote, label by label."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, NamedTuple, get_args

import numpy as np

from amcc import passes
from amcc.arrays import Floats, weight_per_code
from amcc.consensus.base import ConsensusModel
from amcc.consensus.learned import Gold, Inferred, Learned
from amcc.consensus.rounds import with_truth
from amcc.engine.base import Block, Engine
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.passes import Judgement
from amcc.votes import Votes

Scores = Literal["fraction", "hard"]
ONE_VOTE = 40.0
"""Log-odds of a vote when workers are judged: so many that the probability is 0 or 1."""


class MajorityVote(ConsensusModel, methods={"majority": {}}):
    """A label is present when more workers say yes than no (an even split is a no).

    Parameters
    ----------
    scores : "fraction" or "hard"
        Whether `predict_proba` gives the share of yes among the votes on a pair, or 0 and 1. The first is the fair
        baseline; the second ranks badly, and seems to be what the paper compared with.

    Notes
    -----
    A pair that nobody was asked about gets the share of yes votes of its label. One pass over the votes.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> MajorityVote().fit(votes).predict_proba().round(3).tolist()
    [[0.667, 0.333], [0.0, 1.0]]
    """

    learns_in_blocks = True

    yes_share_: Annotated[Floats, Each("label", share=True)]

    def __init__(self, *, scores: Scores = "fraction") -> None:
        self.scores = scores

    def _check_params(self) -> None:
        if self.scores not in get_args(Scores):
            raise ParameterError(f"scores must be 'fraction' or 'hard'; got {self.scores!r}.")

    def _learn(self, engine: Engine) -> Learned:
        asked = engine.total(count_yes)
        self.yes_share_ = _yes_share(asked.votes, asked.yes)
        self.objective_history_ = []
        self.n_iter_, self.converged_ = 1, True
        return Learned(self._scored(self.yes_share_), partial(engine.total, judge, self.yes_share_, engine.n_workers))

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        return Inferred(self._scored(votes.n_yes / votes.pairs.n_votes))

    def _scored(self, share: Floats) -> Floats:
        return (share > 0.5).astype(np.float64) if self.scores == "hard" else share


def judge(block: Block, yes_share: Floats, n_workers: int) -> Judgement:
    """Judge votes by the majority of the others; the label's share of yes counts only where votes are even."""
    evidence = np.tile([-ONE_VOTE, ONE_VOTE], len(block.coins))
    prior = np.log(yes_share / (1 - yes_share))[block.pairs.label]
    known = with_truth(block, prior, certain=ONE_VOTE * (n_workers + 1))
    judged = passes.others_pass(block.coins.slot, block.pairs.start, evidence, known)
    return Judgement(block.spread(judged.weight), block.spread(judged.square))


class Asked(NamedTuple):
    """(n_labels,) votes on each label, and how many of them are yes."""

    votes: Floats
    yes: Floats


def count_yes(block: Block) -> Asked:
    """Votes and yeses of each label."""
    label = block.pairs.label
    return Asked(
        weight_per_code(label, block.pairs.n_votes, block.n_labels), weight_per_code(label, block.n_yes, block.n_labels)
    )


def _yes_share(asked: Floats, yes: Floats) -> Floats:
    """Share of yes per label; labels with few votes lean on the share over all labels."""
    overall = (yes.sum() + 1) / (asked.sum() + 2)  # never 0 or 1, nor a division by zero
    return np.asarray((yes + overall) / (asked + 1))
