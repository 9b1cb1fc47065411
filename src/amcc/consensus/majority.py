"""Majority vote, label by label."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from amcc.consensus.base import ConsensusModel, Gold, Posterior
from amcc.errors import ParameterError
from amcc.kernels import Floats
from amcc.votes import Votes

Scores = Literal["fraction", "hard"]


class MajorityVote(ConsensusModel):
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

    def __init__(self, *, scores: Scores = "fraction") -> None:
        self.scores = scores

    def _check_params(self) -> None:
        if self.scores not in get_args(Scores):
            raise ParameterError(f"scores must be 'fraction' or 'hard'; got {self.scores!r}.")

    def _fit(self, votes: Votes, features: Floats | None, gold: Gold) -> Posterior:
        self.yes_share_ = _yes_share(votes)
        self.objective_history_ = []
        self.n_iter_, self.converged_ = 1, True
        prior = self._scored(self.yes_share_)
        return Posterior(self._infer(votes, prior), prior, self._without_own_vote(votes))

    def _infer(self, votes: Votes, prior: Floats) -> Floats:
        return self._scored(votes.n_yes / votes.pairs.n_votes)

    def _scored(self, share: Floats) -> Floats:
        return (share > 0.5).astype(np.float64) if self.scores == "hard" else share

    def _without_own_vote(self, votes: Votes) -> Floats:
        """Majority of the other voters; the label's share of yes where there is no other."""
        n_other = np.repeat(votes.pairs.n_votes, votes.pairs.n_votes) - 1
        yes_other = np.repeat(votes.n_yes, votes.pairs.n_votes) - (votes.value > 0)
        share = np.divide(yes_other, n_other, out=self.yes_share_[votes.label], where=n_other > 0)
        # An even split among the others says nothing: the label's share decides how likely it is.
        return np.where(share == 0.5, self.yes_share_[votes.label], share > 0.5)


def _yes_share(votes: Votes) -> Floats:
    """Share of yes per label; labels with few votes lean on the share over all labels."""
    overall = (votes.value > 0).mean() if len(votes) else 0.5
    yes = np.bincount(votes.label[votes.value > 0], minlength=votes.n_labels)
    asked = np.bincount(votes.label, minlength=votes.n_labels)
    return np.asarray((yes + overall) / (asked + 1), dtype=np.float64)
