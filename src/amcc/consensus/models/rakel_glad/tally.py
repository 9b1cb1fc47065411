"""From subsets back to labels: every asked pair gets the average of the subsets that contain its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from amcc.arrays import Floats, Ints, find_sorted
from amcc.consensus.averages import RunningMean
from amcc.consensus.models.rakel_glad.tasks import SubsetTasks, class_bits
from amcc.votes import Votes

SubsetScores = Literal["marginal", "votes"]


@dataclass(frozen=True)
class PairTally:
    """What the subsets say about each asked pair.

    votes : those that were asked; pair_key : (n_pairs,) item · n_labels + label, which rises.
    sums : running means of the pairs.
    """

    votes: Votes
    pair_key: Ints
    sums: RunningMean

    @classmethod
    def empty(cls, votes: Votes) -> Self:
        """Before any subset has spoken."""
        key = votes.pairs.item.astype(np.int64) * votes.n_labels + votes.pairs.label
        return cls(votes, key, RunningMean(len(key)))

    def add(self, tasks: SubsetTasks, proba: Floats, scores: SubsetScores) -> None:
        """Count the subsets of some tasks, with (classes, groups) probabilities.

        scores : "marginal" counts the probability of a label, "votes" whether it is in the most likely class.
        """
        bits = class_bits(len(proba))
        said = bits[np.argmax(proba, axis=0)].astype(np.float64) if scores == "votes" else proba.T @ bits
        labels = tasks.subsets[tasks.group_subset]
        there = labels >= 0
        # A subset also judges labels of an item that nobody was asked about; only asked pairs are kept.
        pair, asked = find_sorted(self.pair_key, (tasks.group_item[:, None] * self.votes.n_labels + labels)[there])
        # Sums of probabilities may end a rounding above one.
        self.sums.add(pair[asked], np.clip(said[there][asked], 0.0, 1.0))

    def average(self, otherwise: Floats) -> Floats:
        """(pairs,) average over subsets."""
        return self.sums.result(otherwise)
