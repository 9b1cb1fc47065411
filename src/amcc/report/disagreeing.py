"""Why people disagree, pair by pair: what panels about labels and about disagreement look at.

What the kinds are and how a pair gets its kind is in `amcc.consensus.disagreement`, here called `kinds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from amcc.arrays import Floats, Ints, Signs
from amcc.consensus import disagreement as kinds
from amcc.consensus.base import ConsensusModel
from amcc.consensus.item_results import pair_reader
from amcc.engine.base import InMemory
from amcc.votes import Votes

# From the kind that needs nothing to the one that needs a decision.
ORDER: tuple[kinds.Kind, ...] = ("clear", "likely slip", "too few votes", "hard item", "split crowd")
PLACES = [kinds.KINDS.index(kind) for kind in ORDER]

# Examples of each kind: what somebody reads to the end.
MAX_EXAMPLES = 3


@dataclass(frozen=True)
class Disagreement:
    """(n_pairs,) kinds of disagreement as places in `kinds.KINDS`, and what they were decided by.

    asked : the votes on each pair; explanations : what each explanation makes of them
    member : (n_pairs, n_explanations) probability of each explanation
    """

    asked: kinds.AskedPairs
    explanations: kinds.Explanations
    kind: Signs
    member: Floats

    @classmethod
    def of(cls, model: ConsensusModel, votes: Votes) -> Disagreement:
        """Why people disagree, pair by pair, by what the model knows of its workers."""
        reader = pair_reader(model, InMemory(votes), True, False, model.pair_proba_)
        asked = kinds.asked_of(votes)
        assert reader.explanations is not None  # for the type checker: it was asked for
        explanations = reader.explanations.known_to(asked)
        kind = kinds.kinds_of(asked, explanations, model.pair_proba_)
        return cls(asked, explanations, kind, explanations.posterior(asked))

    def telling(self, kind: int) -> Ints:
        """The few pairs of this kind that are shown as examples, the most telling first."""
        pairs = np.flatnonzero(self.kind == kind)
        n_yes, n_votes = self.asked.n_yes[pairs], self.asked.n_votes[pairs]
        margin = np.abs(2.0 * n_yes - n_votes)
        # The terms with 1e-3 only break ties: more votes in the minority, or more votes, tell more.
        sure = {kinds.HARD_ITEM: kinds.HARD, kinds.SPLIT_CROWD: kinds.SPLIT}.get(kind)
        if sure is not None:
            telling = self.member[pairs, sure] + 1e-3 * np.minimum(n_yes, n_votes - n_yes)
        elif kind == kinds.LIKELY_SLIP:  # one against many
            telling = margin
        else:  # the least that is known
            telling = 1e-3 * n_votes - margin
        return np.asarray(pairs[np.argsort(-telling, kind="stable")[:MAX_EXAMPLES]])

    def by_label(self, label: npt.NDArray[np.integer[Any]], n_labels: int) -> Ints:
        """(n_labels, n_kinds) number of pairs of each kind, kinds in the order of `ORDER`.

        label : (n_pairs,) codes
        """
        n_kinds = len(PLACES)
        counts = np.bincount(label * n_kinds + self.kind, minlength=n_labels * n_kinds)
        return counts.reshape(-1, n_kinds)[:, PLACES]
