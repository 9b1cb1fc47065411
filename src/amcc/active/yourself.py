"""The requester as one of those who can be asked, with a price of their own.

An answer of yours settles its own pair almost for certain. It also corrects how all other pairs are read
(`amcc.active.expert`): the log-loss that this is expected to save, over all pairs, is what the answer is worth beside
its own pair. Both are in nats, so that a strategy whose loss is log-loss (`amcc.active.value.entropy`) can add them.

What the second of your answers adds depends on the first. So pairs stand in an order in which you could be asked, drawn
as `questions_for_expert` draws, and each is worth what it adds to those before it. Other pairs are worth what settles
them, and no more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from amcc import tables
from amcc.active.beliefs import CurrentBeliefs, Expert
from amcc.active.expert import questions_for_expert
from amcc.active.prices import Prices, minor_units
from amcc.arrays import Floats
from amcc.consensus.base import ConsensusModel
from amcc.errors import InputError
from amcc.roster import HUMAN, Roster, Seats
from amcc.truth import positions
from amcc.votes import Votes

# What the requester is called among the workers.
YOU = "you"

# One answer in a hundred is a slip even of somebody who knows. Were it none, the surest pairs of the crowd would be
# worth your time, too, although a slip of yours is as likely there as an error of the crowd.
EXPERT_HIT, EXPERT_FALSE_ALARM = 0.99, 0.01


def check_free_name(name: str, votes: Votes, roster: Roster | None) -> None:
    """Raise InputError where a worker is called as the requester wants to be."""
    given = pa.array([name], pa.string())
    taken = [votes.worker_names, *([] if roster is None else [roster.worker])]
    if not name.strip() or any((positions(given, names) >= 0).any() for names in taken):
        raise InputError(
            f"you must have a name that no worker has; got {name!r}. Choose another (me=…). Answers of your own are no "
            "votes: hand them over as known truth (truth=…)."
        )
    for names in taken:
        tables.refuse_slips(given, names, "worker")


def with_my_price(prices: Prices, my_price: Any) -> Prices:
    """Prices with one more worker, the requester: what an answer costs is all that it costs, whatever a page does.

    >>> with_my_price(Prices(np.array([8]), page=2, decimals=2), "0.50").lone_vote
    array([10, 50])
    """
    mine = minor_units(my_price, prices.decimals, "your price")
    if mine == 0:
        raise InputError(f"your price must be above 0, for strategies divide by it; got {my_price}.")
    return Prices(np.append(prices.vote, mine), np.append(prices.page_of_worker, 0), prices.decimals)


def reading_gain(model: ConsensusModel | None, votes: Votes, n: int, seed: int = 0) -> Floats:
    """(n_items, n_labels) log-loss over all pairs, in nats, that your answer saves beside that of its own pair.

    model : fitted to these votes; None before the first vote, when there is nothing to be read.
    n : how many answers you may give. All other pairs have 0.
    """
    gain = np.zeros((votes.n_items, votes.n_labels))
    known = None if model is None else model.pair_known_
    if model is None or n < 1 or (known is not None and known.all()):
        return gain
    asked = questions_for_expert(model, votes, n, seed=seed)
    gain[asked.item, asked.label] = asked.nats
    return gain


def with_expert(beliefs: CurrentBeliefs, name: str, gain: Floats) -> CurrentBeliefs:
    """Beliefs with the requester as one more worker: near perfect, of no family, not learned from votes.

    gain : (n_items, n_labels), see `reading_gain`.
    """
    votes = beliefs.votes
    names = pa.concat_arrays([votes.worker_names.cast(pa.string()), pa.array([name], pa.string())])
    row = np.ones((1, votes.n_labels))
    return replace(
        beliefs,
        votes=replace(votes, worker_names=names),
        hit=np.vstack([beliefs.hit, EXPERT_HIT * row]),
        false_alarm=np.vstack([beliefs.false_alarm, EXPERT_FALSE_ALARM * row]),
        experience=np.append(beliefs.experience, 0),
        seats=None if beliefs.seats is None else _with_person(beliefs.seats),
        expert=Expert(votes.n_workers, gain),
    )


def _with_person(seats: Seats) -> Seats:
    """The same with one more person, of no family."""
    return Seats(
        np.append(seats.kind, np.int8(HUMAN)), np.append(seats.family, np.int32(-1)), np.append(seats.reference, False),
        seats.family_names,
    )  # fmt: skip
