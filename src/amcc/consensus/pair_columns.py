"""Columns that tables of pairs have only when asked for: the kind of disagreement, and soft labels.

Both look at the votes again. They are learned once, from at most `MOST_LEARNED` votes, and then read off block by
block, so that they work the same way in memory and over packed votes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Ints, Signs
from amcc.consensus import disagreement as kinds
from amcc.consensus.soft_labels import SoftLabels, SoftShares, learn_soft_labels
from amcc.engine.base import Engine, gather
from amcc.votes import Votes

# Votes, of whole items at even distances, from which rates, sides and priors are learned: packed votes may
# be more than fits in memory, and these are a few hundred MB at work.
MOST_LEARNED = 2_000_000


@dataclass(frozen=True)
class PairReader:
    """What the columns are read off with; None for a column that nobody asked for."""

    explanations: kinds.Explanations | None
    soft_labels: SoftLabels | None

    def columns(self, votes: Votes, proba: Floats, first_item: int = 0) -> dict[str, Any]:
        """The columns by name, for the asked pairs of votes whose items are counted from `first_item`."""
        found: dict[str, Any] = {}
        if self.explanations is not None:
            asked = kinds.asked_of(votes, np.arange(votes.n_items) + first_item)
            found["disagreement"] = names_of(kinds.kinds_of(asked, self.explanations, proba))
        if self.soft_labels is not None:
            found |= _named(self.soft_labels.shares(votes))
        return found

    def all_columns(self, columns: dict[str, Any], asked: Ints, n_items: int) -> dict[str, Any]:
        """The same for every item and label; `asked` says where the asked pairs stand among them."""
        found: dict[str, Any] = {}
        if self.explanations is not None:
            # The code behind the last kind is that of `NOT_ASKED`, see `names_of`.
            cells = np.full(n_items * len(self.explanations.share), len(kinds.KINDS), np.int8)
            cells[asked] = columns["disagreement"].indices.to_numpy()
            found["disagreement"] = names_of(cells)
        if self.soft_labels is not None:
            for name, values in _named(self.soft_labels.unasked()).items():
                found[name] = np.tile(values, n_items)
                found[name][asked] = columns[name]
        return found


def learn_reader(
    item_sample: Ints, sample: Votes, proba: Floats, competence: Floats | None, *, disagreement: bool
) -> PairReader:
    """Learn what the columns need from a sample of the items of an engine, see `sample_of`.

    proba : (n_pairs of the sample,) what the model says
    competence : (n_workers,) see `soft_labels`, or None where no soft labels are asked for
    """
    # Items keep the numbers that they have in the engine: the folds that learned sides must be those that use them.
    explanations = kinds.learn(kinds.asked_of(sample, item_sample), proba) if disagreement else None
    return PairReader(explanations, None if competence is None else learn_soft_labels(sample, competence))


def sample_of(engine: Engine) -> tuple[Ints, Votes]:
    """Numbers of items at even distances with at most `MOST_LEARNED` votes or so, and the votes on them."""
    step = max(1, -(-engine.n_votes // MOST_LEARNED))
    items = np.arange(0, engine.n_items, step)
    return items, gather(engine, items)


def names_of(codes: Signs) -> pa.DictionaryArray:
    """Kinds as text, each word stored once."""
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array([*kinds.KINDS, kinds.NOT_ASKED]))


def _named(shares: SoftShares) -> dict[str, Floats]:
    """Soft labels as columns."""
    return {"soft": shares.mean, "soft_low": shares.low, "soft_high": shares.high}
