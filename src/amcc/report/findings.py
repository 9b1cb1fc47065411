"""What more than one panel needs: a fitted model beside its votes, and small helpers on codes and names.

Workers, items and labels are integer *codes* in all arrays, and have names only where somebody reads them: a panel
computes with codes and calls `names_of` at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc.arrays import Floats, Ints, Mask, weight_per_code
from amcc.consensus.base import ConsensusModel
from amcc.consensus.workers import likely_spammers
from amcc.votes import Description, Votes


@dataclass(frozen=True)
class Findings:
    """A fitted model beside its votes. What is expensive is computed when a panel first asks for it, and kept.

    A *pair* is an item with a label that somebody was asked about; arrays over pairs are in the order of
    `votes.pairs`, sorted by item, then label.

    model : fitted to the votes
    votes : what it was fitted to, as a model does not keep who said what
    description : counts and agreement of the votes, from `votes.describe()`
    """

    model: ConsensusModel
    votes: Votes
    description: Description

    @cached_property
    def spammers(self) -> Mask:
        """(n_workers,) who looks like a spammer."""
        return likely_spammers(self.model.worker_rates_)

    @cached_property
    def active(self) -> Ints:
        """Codes of the workers who gave an answer; nothing is known about the others."""
        return np.flatnonzero(self.model.worker_rates_.answers > 0)

    @cached_property
    def items_per_label(self) -> Floats:
        """(n_labels,) expected number of items with each label.

        Pairs that nobody was asked about count with the prior of their label: not asked is not "no".
        """
        asked = np.bincount(self.model.pair_label_, minlength=self.votes.n_labels)
        among_asked = weight_per_code(self.model.pair_label_, self.model.pair_proba_, self.votes.n_labels)
        return np.asarray(among_asked + self.model.label_prior_ * (self.votes.n_items - asked))

    @cached_property
    def doubt(self) -> Floats:
        """(n_pairs,) probability that the more likely of present and absent is wrong, at most a half."""
        return np.minimum(self.model.pair_proba_, 1 - self.model.pair_proba_)

    @cached_property
    def rates_of_coins(self) -> tuple[Floats, Floats]:
        """(n_workers, n_labels) expected hit and false-alarm rates."""
        return self.model.rates_of_coins()

    @property
    def n_open(self) -> int:
        """Asked pairs that are not settled, as in the column settled of the consensus."""
        return int((~self.model.pair_settled_).sum())


def largest(values: Floats, most: int) -> Ints:
    """Positions of the largest values, largest first.

    Ties keep their order, so that a report does not change from one run to the next.

    >>> largest(np.array([1.0, 3.0, 3.0, 2.0]), 3).tolist()
    [1, 2, 3]
    """
    return np.argsort(-values, kind="stable")[:most]


def names_of(vocabulary: pa.Array, codes: npt.NDArray[np.integer[Any]]) -> list[str]:
    """The names behind some codes, as text whatever their type.

    >>> names_of(pa.array([10, 20, 30]), np.array([2, 0]))
    ['30', '10']
    """
    return [str(name) for name in vocabulary.take(pa.array(codes)).to_pylist()]
