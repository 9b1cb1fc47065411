"""What was learned about names, found again for other votes: workers, labels and coins, and who is new."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc.arrays import Codes, Floats, Ints, Mask, find_sorted
from amcc.engine.base import Engine
from amcc.votes import Votes


def new_code(names: pa.Array, learned: pa.Array) -> Ints:
    """Place of each name among the learned ones, −1 for newcomers."""
    if names is learned:  # as in every fit that judges its own votes
        return np.arange(len(names))
    if names.type != learned.type:
        names, learned = names.cast(pa.string()), learned.cast(pa.string())
    return np.asarray(pc.fill_null(pc.index_in(names, value_set=learned), -1).to_numpy(zero_copy_only=False), np.int64)


@dataclass(frozen=True)
class CoinMatch:
    """Coins of new votes among learned ones: (n_coins,) place, whether it is one, and the learned label (−1: none)."""

    place: Ints
    met: Mask
    label: Ints


def match_coins(
    votes: Votes | Engine, worker_names: pa.Array, label_names: pa.Array, coin_worker: Codes, coin_label: Codes
) -> CoinMatch:
    """Find the (worker, label) combinations of new votes among those that a model learned."""
    worker = new_code(votes.worker_names, worker_names)[votes.coins.worker]
    label = new_code(votes.label_names, label_names)[votes.coins.label]
    key = coin_worker.astype(np.int64) * len(label_names) + coin_label  # sorted, as coins are
    wanted = worker * len(label_names) + label
    place, found = find_sorted(key, wanted)
    return CoinMatch(place, found & (worker >= 0) & (label >= 0), label)


def known_or_mean(learned: Floats, code: Ints) -> Floats:
    """What was learned for each code, the mean of all for newcomers (−1)."""
    return np.where(code >= 0, learned[code], learned.mean())
