"""What was learned about names, found again for other votes: workers, labels and coins, and who is new.

Votes number their names from 0 in their own order. A model that judges other votes than those it learned from has to
translate. Whoever was not there at `fit` counts as an average worker, and a new label as an average label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc.arrays import Codes, Floats, Ints, Mask, find_sorted
from amcc.engine.base import Engine
from amcc.votes import Votes


def new_code(names: pa.Array, learned: pa.Array) -> Ints:
    """Place of each name among the learned ones, −1 for newcomers.

    >>> new_code(pa.array(["b", "x"]), pa.array(["a", "b"])).tolist()
    [1, -1]
    """
    if names is learned:  # as in every fit that judges its own votes
        return np.arange(len(names))
    # A table may hold numbers where the one before held the same numbers as text.
    if names.type != learned.type:
        names, learned = names.cast(pa.string()), learned.cast(pa.string())
    return np.asarray(pc.fill_null(pc.index_in(names, value_set=learned), -1).to_numpy(zero_copy_only=False), np.int64)


@dataclass(frozen=True)
class CoinMatch:
    """Coins of new votes among learned ones.

    place : (n_coins,) where each stands among the learned coins; any valid place where it is none of them.
    met : (n_coins,) whether it is one of them: a known worker may meet a known label for the first time.
    label : (n_coins,) code of the label among the learned ones, −1 for a new label.
    """

    place: Ints
    met: Mask
    label: Ints

    def learned_or_average(self, of_coin: Floats, of_label: Floats) -> Floats:
        """(n_coins, …) what was learned about each coin, else its label's average, else that of all labels.

        of_coin : (n_learned_coins, …); of_label : (n_learned_labels, …), the averages of all workers.
        """
        values = known_or_mean(of_label, self.label)
        values[self.met] = of_coin[self.place[self.met]]
        return values


def match_coins(
    votes: Votes | Engine, worker_names: pa.Array, label_names: pa.Array, coin_worker: Codes, coin_label: Codes
) -> CoinMatch:
    """Find the (worker, label) combinations of new votes among those that a model learned.

    `coin_worker` and `coin_label` are the learned ones, in codes of the learned names.
    """
    worker = new_code(votes.worker_names, worker_names)[votes.coins.worker]
    label = new_code(votes.label_names, label_names)[votes.coins.label]
    # One key for worker and label, wide enough for their product. It rises, as coins are sorted.
    key = coin_worker.astype(np.int64) * len(label_names) + coin_label
    wanted = worker * len(label_names) + label
    place, found = find_sorted(key, wanted)
    return CoinMatch(place, found & (worker >= 0) & (label >= 0), label)


def known_or_mean(learned: Floats, code: Ints) -> Floats:
    """(n_codes, …) what was learned for each code, the mean of all for newcomers (−1).

    >>> known_or_mean(np.array([0.2, 0.6]), np.array([1, -1])).tolist()
    [0.6, 0.4]
    """
    # Code −1 counts from the end, so the mean stands there.
    return np.concatenate([learned, learned.mean(axis=0, keepdims=True)])[code]
