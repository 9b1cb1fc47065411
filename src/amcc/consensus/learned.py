"""What passes between a model and its base class: the truth that is known beforehand, and what was learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from amcc.arrays import Floats, Ints, Mask, Signs
from amcc.engine.base import NOTHING_KNOWN, Engine, InMemory
from amcc.fields import Each
from amcc.passes import CERTAIN, Judgement
from amcc.votes import Votes


@dataclass(frozen=True)
class Gold:
    """Known truth on the asked pairs: (n_pairs,) what is true, and where that is known."""

    present: Mask
    known: Mask

    @classmethod
    def nothing(cls, n_pairs: int) -> Gold:
        """No truth is known."""
        return cls(np.zeros(n_pairs, dtype=bool), np.zeros(n_pairs, dtype=bool))

    @classmethod
    def of(cls, votes: Votes, signs: Signs) -> Gold:
        """From +1 present, −1 absent, 0 not known; `signs` are empty where nothing is known."""
        return cls(signs > 0, signs != 0) if len(signs) else cls.nothing(len(votes.pairs))

    @property
    def signs(self) -> Signs:
        """(n_pairs,) +1 present, −1 absent, 0 not known; empty where nothing is known."""
        if not self.known.any():
            return NOTHING_KNOWN
        return np.where(self.known, np.where(self.present, 1, -1), 0).astype(np.int8)

    def log_odds(self, otherwise: Floats, certain: float = CERTAIN) -> Floats:
        """Certain log-odds where truth is known (large, yet finite: sums and exponentials stay numbers)."""
        if not self.known.any():
            return otherwise
        return np.where(self.known, np.where(self.present, certain, -certain), otherwise)


class Inferred(NamedTuple):
    """What a model says about the items of votes.

    pair : (n_pairs,) probability that the label is present, for the asked pairs.
    state : what else it knows about these items, from a model that predicts pairs that nobody was asked about; it
        becomes `item_state_`, by which `_unasked` predicts.
    """

    pair: Floats
    state: Any = None


@dataclass(frozen=True)
class ItemKinds:
    """Items as mixtures of a few kinds, each with its own labels.

    share : (n_items, n_kinds) how much of each kind an item is
    frequency : (n_kinds, n_labels) how often labels are present in items of each kind
    """

    share: Annotated[Floats, Each("item", "kind of item")]
    frequency: Annotated[Floats, Each("kind of item", "label of items")]

    def expected(self, labels: Ints | None = None) -> Floats:
        """(n_items, n_labels) probability of all labels, or of some, by the kinds alone."""
        return self.share @ (self.frequency if labels is None else self.frequency[:, labels])


class Learned(NamedTuple):
    """What a model hands to its base class when it has learned.

    label : (n_labels,) probability that the label of a pair is present that nobody was asked about.
    judge : judges every vote by the others, see `passes.others_pass`; called when somebody asks about the workers.
    items : what learning found out about the items of the votes; None where it did not, and the model's `_infer` will.
    """

    label: Floats
    judge: Callable[[], Judgement]
    items: Inferred | None = None


def in_memory(engine: Engine) -> tuple[Votes, Gold]:
    """The votes of an engine and what is known about them, for models that need all votes at once."""
    # `fit` refuses other engines unless the class says that it learns in blocks.
    assert isinstance(engine, InMemory)
    votes = engine.block.source
    return votes, Gold.of(votes, engine.block.known)
