"""Majority vote, label by label: the baseline that every other model has to beat.

It learns one number for each label, the share of yes, and nothing about workers. Read this file first: it shows what a
model has to say, and how it looks at votes block by block.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np

from amcc import passes
from amcc.arrays import Floats, weight_per_code
from amcc.consensus.averages import cautious_share, leaning_mean
from amcc.consensus.base import ConsensusModel
from amcc.consensus.coins import signed_evidence
from amcc.consensus.learned import Gold, Inferred, Learned
from amcc.consensus.parameters import check_choice
from amcc.consensus.rounds import with_truth
from amcc.engine.base import Block, Engine
from amcc.fields import Each
from amcc.passes import Judgement
from amcc.votes import Votes

Scores = Literal["fraction", "hard"]
# Log-odds of a vote when workers are judged: so many that the probability is 0 or 1, so few that the exponential of
# all votes on a pair stays a number.
ONE_VOTE = 40.0


class MajorityVote(ConsensusModel, methods={"majority": {}}):
    """A label is present when more workers say yes than no (an even split is a no).

    Parameters
    ----------
    scores : "fraction" or "hard"
        Whether `predict_proba` gives the share of yes among the votes on a pair, or 0 and 1. The first is the fair
        baseline; the second ranks badly, and seems to be what the paper compared with.

    Notes
    -----
    A pair that nobody was asked about gets the share of yes votes of its label; labels with few votes lean on the share
    over all labels. One pass over the votes.

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
        check_choice("scores", self.scores, Scores)

    def _learn(self, engine: Engine) -> Learned:
        found = engine.total(count_yes)
        # All labels together are never certain, or the log-odds of a label without votes would be infinite.
        self.yes_share_ = leaning_mean(found.yes, found.votes, cautious_share(found.yes.sum(), found.votes.sum()))
        # There is nothing to converge: one pass, and no objective.
        self.objective_history_: list[float] = []
        self.n_iter_: int = 1
        self.converged_: bool = True
        judge = partial(engine.total, judge_by_majority, self.yes_share_, engine.n_workers)
        return Learned(self._scored(self.yes_share_), judge)

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        return Inferred(self._scored(votes.n_yes / votes.pairs.n_votes))

    def _scored(self, share: Floats) -> Floats:
        """Shares of yes as they are, or only whether they are a majority."""
        return (share > 0.5).astype(np.float64) if self.scores == "hard" else share


def judge_by_majority(block: Block, yes_share: Floats, n_workers: int) -> Judgement:
    """Judge votes by the majority of the others; the label's share of yes counts only where votes are even."""
    evidence = signed_evidence(np.full(len(block.coins), ONE_VOTE))
    prior = np.log(yes_share / (1 - yes_share))[block.pairs.label]
    # Known truth outweighs the votes of all workers together.
    known = with_truth(block, prior, certain=ONE_VOTE * (n_workers + 1))
    judged = passes.others_pass(block.coins.slot, block.pairs.start, evidence, known)
    return Judgement(block.spread(judged.weight), block.spread(judged.square))


class YesCounts(NamedTuple):
    """(n_labels,) votes on each label, and how many of them are yes."""

    votes: Floats
    yes: Floats


def count_yes(block: Block) -> YesCounts:
    """Votes and yeses of each label."""
    both = (block.pairs.n_votes, block.n_yes)
    return YesCounts(*(weight_per_code(block.pairs.label, counts, block.n_labels) for counts in both))
