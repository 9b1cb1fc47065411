"""What a campaign gives: votes, skips, checks, consensus, payments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sqlalchemy import Connection, select

from amcc.active.bookkeeping import WorkerAccount
from amcc.active.payouts import check_prolific_names, due_now, prolific_lines
from amcc.active.prices import as_number
from amcc.consensus import make_model
from amcc.errors import EmptyInputError, InputError
from amcc.files import whole_file
from amcc.io import write_table
from amcc.serve.core import Core
from amcc.serve.snapshot import take_snapshot
from amcc.serve.store.schema import identities, items, labels, skips, votes, workers
from amcc.serve.views import Payment
from amcc.truth import TOLD


def answers_table(connection: Connection, *, what: str = "votes") -> pa.Table:
    """Long table of votes (worker, item, label, value, at), of skips (without value), or of checks."""
    source = skips if what == "skips" else votes
    query = (
        select(workers.c.name.label("worker"), items.c.name.label("item"), labels.c.name.label("label"), source)
        .join(workers, workers.c.id == source.c.worker_id).join(items, items.c.id == source.c.item_id)
        .join(labels, labels.c.id == source.c.label_id).order_by(source.c.id)
    )  # fmt: skip
    if what != "skips":
        query = query.where((votes.c.kind == "check") if what == "checks" else (votes.c.kind != "check"))
    rows = connection.execute(query).mappings().all()
    columns = {name: pa.array([row[name] for row in rows], pa.string()) for name in ("worker", "item", "label")}
    if what != "skips":
        columns["value"] = pa.array([int(row["value"] > 0) for row in rows], pa.int8())
    columns["at"] = pa.array([row["at"] for row in rows], pa.float64())
    return pa.table(columns)


def export_votes(core: Core, path: str | Path, skips_to: str | Path | None, checks_to: str | Path | None) -> int:
    """Write votes, and skips and checks if they are wanted, of one moment."""
    with core.database.read(snapshot=True) as connection:
        found = {what: answers_table(connection, what=what) for what in ("votes", "skips", "checks")}
    for what, target in (("skips", skips_to), ("checks", checks_to), ("votes", path)):
        if target is not None:
            write_table(found[what].drop_columns("at"), target)
    return int(found["votes"].num_rows)


def export_consensus(core: Core, path: str | Path, method: str) -> int:
    """Fit a model to all votes, with truth and roster, and write its consensus."""
    with core.database.read(snapshot=True) as connection:
        known = take_snapshot(connection)
    if known.votes is None:
        raise EmptyInputError("there must be at least one vote for a consensus; nobody has answered yet.")
    table: pa.Table = make_model(method).fit(known.votes, truth=known.truth, roster=known.roster).pairs(frame="arrow")
    write_table(table, path)
    return int(table.num_rows)


def live_consensus(core: Core) -> pa.Table:
    """What is believed now of pairs with votes or known truth; settled as the last whole fit found, or known."""
    with core.database.read() as connection:
        till = core.look(connection)
        live = core.live(connection)
        live.catch_up(connection, till)
        names = [name for (name,) in connection.execute(select(items.c.name).order_by(items.c.id))]
    counts = live.counts
    item, label = np.nonzero((counts.n_votes > 0) | (counts.known >= 0))
    touched, row = np.unique(item, return_inverse=True)
    proba = live.believed.proba(touched)[row, label] if len(item) else np.empty(0)
    told = counts.known[item, label] >= 0
    settled = live.believed.fitted(item)[np.arange(len(item)), label] | told
    views = [view.label for view in core.views]
    return pa.table(
        {
            "item": pa.array([names[each] for each in item.tolist()], pa.string()),
            "label": pa.array([views[each] for each in label.tolist()], pa.string()),
            "probability": pa.array(proba, pa.float64()),
            "present": pa.array(proba > 0.5),
            "n_yes": pa.array(counts.n_yes[item, label].astype(np.int64)),
            "n_votes": pa.array(counts.n_votes[item, label].astype(np.int64)),
            "settled": pa.array(settled),
            **({TOLD: pa.array(told)} if told.any() else {}),
        }
    )


# -- money -----------------------------------------------------------------------------------------------------------


def payments(connection: Connection) -> list[Payment]:
    """Everybody who earned something, those who are due most first."""
    query = select(workers, identities.c.external, identities.c.platform).outerjoin(
        identities, identities.c.worker_id == workers.c.id
    )
    found = [
        Payment(row["name"], row["external"], row["platform"], row["n_answers"] + row["n_skips"], row["earned"],
                row["paid"], row["earned"] - row["paid"])
        for row in connection.execute(query.where(workers.c.earned > 0)).mappings()
    ]  # fmt: skip
    return sorted(found, key=lambda each: (-each.due, each.worker))


def due_amounts(people: list[Payment], decimals: int, *, in_cents: bool) -> dict[str, int]:
    """Minor units that are due, by pseudonym."""
    accounts = [WorkerAccount(each.worker, earned=each.earned, paid=each.paid) for each in people]
    return due_now(accounts, decimals, in_cents=in_cents)


def export_payments(core: Core, path: str | Path, *, prolific: bool) -> int:
    """Write who gets what: a table, or Prolific's list of those who came from there."""
    with core.database.read() as connection:
        people = payments(connection)
    decimals = core.settings.decimals
    if not prolific:
        write_table(_payment_table(people, decimals), path)
        return len(people)
    theirs = {each.worker: each for each in people if each.platform == "prolific" and each.identity}
    amounts = due_amounts(list(theirs.values()), decimals, in_cents=True)
    named = {str(theirs[worker].identity): amount for worker, amount in amounts.items()}
    check_prolific_names(named, "Pay them in another way.")
    if not named:
        raise InputError("nobody from Prolific is due a whole cent; the list would be empty.")
    with whole_file(Path(path)) as temporary:
        temporary.write_text(prolific_lines(named, decimals), encoding="utf-8", newline="")
    return len(named)


def _payment_table(people: list[Payment], decimals: int) -> pa.Table:
    money = pa.float64() if decimals else pa.int64()
    kinds: dict[str, Any] = {"worker": pa.string(), "identity": pa.string(), "platform": pa.string(),
                             "answered": pa.int64(), "earned": money, "paid": money, "due": money}  # fmt: skip

    def cells(name: str) -> list[Any]:
        values = [getattr(each, name) for each in people]
        return [as_number(value, decimals) for value in values] if kinds[name] is money and decimals else values

    return pa.table({name: pa.array(cells(name), kind) for name, kind in kinds.items()})
