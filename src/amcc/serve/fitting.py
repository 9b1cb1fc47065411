"""A fit: reads a snapshot, learns, stores the beliefs. `fit` is the process that does it."""

from __future__ import annotations

import contextlib
import time
from functools import partial
from typing import Any

import numpy as np
from sqlalchemy import text

from amcc.active.beliefs import CurrentBeliefs, Learner
from amcc.active.candidates import Anything
from amcc.active.forecast import NextMoney, next_money
from amcc.active.strategies.voi import ValueOfInformation
from amcc.consensus import make_model
from amcc.serve.fit import BUSY
from amcc.serve.folders import Folder
from amcc.serve.learned import Learned, load_learned, store_learned
from amcc.serve.reports import usual_price
from amcc.serve.snapshot import Snapshot, take_snapshot
from amcc.serve.store.database import Database
from amcc.votes import Votes

# Questions by which the next money is judged: what a crowd answers between two fits of a small campaign.
NEXT = 100

# Any number that nobody else uses as a lock in the same database: "amcc fit" on a telephone's keys.
FIT_LOCK = 2622348

# What the process ends with where there is nothing to learn from.
NOTHING = 4


def learn(known: Snapshot, votes: Votes, before: Learned, price: float, money: float) -> Learned:
    """Fit the default model to the votes of a snapshot with a stranger.

    price : of a vote, and `money`, what to say of the next money.
    """
    make = partial(make_model, ValueOfInformation.model)
    learner = Learner(make, truth=known.truth, roster=known.roster)
    believed = learner.learn(votes)
    bought = _next_money(believed, known, price, money)
    found: dict[str, Any] = {}
    if learner.model is not None:
        found = {"counts": learner.model.settled_counts_, "reference": learner.model.reference_sentence_}
    return Learned.of(believed, version=before.version + 1, n_votes=known.n_votes, next_money=bought, **found)


def _next_money(believed: CurrentBeliefs, known: Snapshot, price: float, money: float) -> NextMoney | None:
    """What the next money is expected to buy, spent on the questions that are worth most now."""
    active = np.array(known.active)
    if not active.any():
        return None
    prices = np.full(len(active), price)
    candidates = believed.open_among(Anything(believed.votes, active))
    rng = np.random.default_rng(0)  # decides between equals only
    chosen = ValueOfInformation().select(believed, candidates, prices, NEXT, rng)
    if not len(chosen):
        return None
    return next_money(believed, prices, chosen.asked, np.full(len(chosen), price, dtype=np.int64), money)


def run(folder: str) -> int:
    """Fit once; gives the exit code."""
    database = Database(Folder.read(folder).database)
    try:
        with contextlib.ExitStack() as stack:
            if not database.is_sqlite:
                lock = stack.enter_context(database.read())
                if not lock.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": FIT_LOCK}).scalar():
                    return BUSY
            with database.read(snapshot=True) as connection:
                known = take_snapshot(connection, stranger=True)
                if known.votes is None:
                    return NOTHING
                before = load_learned(connection, known.votes.n_labels)
                price, unit = usual_price(connection)
            store_learned(database, learn(known, known.votes, before, price, unit), time.time())
            return 0
    finally:
        database.close()
