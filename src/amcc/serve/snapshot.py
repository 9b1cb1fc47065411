"""The votes of a campaign as the models take them: codes are the ids of the tables; with truth and roster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlalchemy import Connection, select

from amcc.roster import Roster
from amcc.serve.money import Till
from amcc.serve.store.schema import items, labels, truth, votes, workers
from amcc.truth import PairList, Truth
from amcc.votes import Votes

# A worker who has not come yet. No pseudonym has a space in it.
STRANGER = "a stranger"


@dataclass(frozen=True)
class Snapshot:
    """All that a model is fitted to.

    votes : None before the first. The last of the workers is a `STRANGER`, where one was asked for.
    n_votes : ids of all votes in it are below. prices : (n_workers,) of a vote, NaN where it is everybody's.
    """

    votes: Votes | None
    truth: Truth | None
    roster: Roster | None
    n_votes: int
    active: tuple[bool, ...]


def take_snapshot(connection: Connection, *, stranger: bool = False) -> Snapshot:
    """Read a campaign; best in a transaction that sees one moment."""
    till = Till.look(connection)
    query = select(votes.c.item_id, votes.c.worker_id, votes.c.label_id, votes.c.value)
    rows = connection.execute(query.where(votes.c.kind != "check", votes.c.id < till.n_votes)).all()
    names = {
        role: [name for _, name in connection.execute(select(table.c.id, table.c.name).order_by(table.c.id))]
        for role, table in (("item", items), ("worker", workers), ("label", labels))
    }
    people = connection.execute(select(workers).order_by(workers.c.id)).mappings().all()
    known = connection.execute(select(truth.c.item_id, truth.c.label_id, truth.c.present)).all()
    roster = None
    if any(each["kind"] != "human" or each["family"] for each in people):
        columns = {"worker": names["worker"], "kind": [each["kind"] for each in people],
                   "family": [each["family"] or None for each in people]}  # fmt: skip
        roster = Roster.from_frame(pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()}))
    if stranger:
        names["worker"] = [*names["worker"], STRANGER]
    found = None
    if rows:
        item, worker, label, value = np.array(rows, dtype=np.int64).T
        found = Votes.from_codes(
            item, worker, label, value, item_names=names["item"], worker_names=names["worker"],
            label_names=names["label"],
        )  # fmt: skip
    active = tuple(each["state"] == "active" for each in people) + (False,) * stranger
    return Snapshot(found, _truth(known, names["item"], names["label"]), roster, till.n_votes, active)


def _truth(known: object, item_names: list[str], label_names: list[str]) -> Truth | None:
    rows = list(known)  # type: ignore[call-overload]
    if not rows:
        return None

    def pairs(chosen: list[tuple[int, int, bool]]) -> PairList:
        item, label = ([names[row[place]] for row in chosen] for place, names in enumerate((item_names, label_names)))
        return PairList(pa.array(item, pa.string()), pa.array(label, pa.string()))

    return Truth(pairs([row for row in rows if row[2]]), known_pairs=pairs(rows))
