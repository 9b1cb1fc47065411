"""When a fit may go on from the one before: nothing new, a few new votes, or so many that it has to start again.

A campaign fits after every batch of answers. Workers hardly change then, so that a few rounds of the ascent from where
it ended bring the same result as a whole fit, at a fraction of the time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats
from amcc.consensus.matching import new_code
from amcc.consensus.signature import content_hash
from amcc.engine.base import Engine

# Share of new votes below which a warm start takes only a few rounds. On large sets the result is then as near to that
# of a whole fit as another random state brings it (benchmarks/incremental.py).
UPDATE_GROWTH = 0.1
# How many rounds: the first moves what the new votes change, two more let it settle.
UPDATE_ROUNDS = 3


def few_are_new(n_before: int, n_now: int) -> bool:
    """Whether so few votes are new that a few rounds will do. With fewer votes than before, some were taken back.

    >>> few_are_new(1000, 1099), few_are_new(1000, 1100), few_are_new(1000, 999)
    (True, False, False)
    """
    return n_before <= n_now < (1 + UPDATE_GROWTH) * n_before


def fingerprint(engine: Engine, params: Mapping[str, Any], vote_weight: Floats | None) -> str:
    """What a fit depends on, except names, which the model has. It begins with the number of votes.

    Whether the fit may go on from the one before is left out: it changes nothing where nothing is new.
    """
    told = {name: value for name, value in params.items() if name != "warm_start"}
    # Nine decimals: weights are sums over votes, and the order of these must not make them look new.
    weight = "" if vote_weight is None else f" {vote_weight.round(9).tolist()}"
    return f"{content_hash(engine)} {json.dumps(told, sort_keys=True, default=str)}{weight}"


def may_be_same(fitted_to: str, engine: Engine) -> bool:
    """Whether a fingerprint is of as many votes as these: cheap, where hashing them all is not."""
    return fitted_to.startswith(f"{engine.n_votes} votes")


def same_names(names: pa.Array, learned: pa.Array) -> bool:
    """Whether these are the same names in the same order.

    >>> same_names(pa.array(["a", "b"]), pa.array(["a", "b"])), same_names(pa.array(["b", "a"]), pa.array(["a", "b"]))
    (True, False)
    """
    return len(names) == len(learned) and bool((new_code(names, learned) == np.arange(len(names))).all())
