"""What a requester changes in a running campaign: settings, budget, prices, items, questions, decisions, payments.

Each change is one transaction with an entry in the log. Changes that servers have to see raise the revision.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from amcc.active.prices import LARGEST, minor_units
from amcc.errors import InputError, NotFoundError, ParameterError, RefusedError
from amcc.serve.events import tell_money, tell_state
from amcc.serve.exporting import due_amounts, payments
from amcc.serve.money import Till
from amcc.serve.passwords import hashed
from amcc.serve.people import refuse_free, row_by_name, set_prices
from amcc.serve.reading import read_items, read_labels
from amcc.serve.settings import Settings
from amcc.serve.store.schema import campaign, items, labels, truth, workers
from amcc.serve.views import Balance


def _stored(connection: Connection) -> Settings:
    return Settings.from_json(json.loads(connection.execute(select(campaign.c.settings)).scalar_one()))


def change(connection: Connection, changes: Mapping[str, Any], actor: str, reason: str, now: float) -> None:
    """Other settings."""
    till = Till.open(connection)
    before = _stored(connection)
    after = before.changed(**changes)
    if after == before:
        return
    if after.worker_cap != before.worker_cap:
        after.refuse_small_cap(till.budget)
    connection.execute(campaign.update().values(settings=json.dumps(after.as_json())))
    old, new = before.as_json(), after.as_json()
    shown = {name: value for name, value in new.items() if value != old[name] and name != "instructions"}
    till.log(now, actor, "change", reason=reason, **shown)
    if after.state != before.state:
        tell_state(till, after, reason, now)
    till.revision += 1
    till.close()


def add_budget(connection: Connection, amount: Any, actor: str, key: str | None, now: float) -> Balance:
    """More money, or less."""
    till = Till.open(connection)
    settings = _stored(connection)
    decimals = settings.decimals
    written = str(amount).strip()
    less = written.startswith("-")
    units = minor_units(written.lstrip("+-"), decimals, "the amount", fixed=True)
    if units == 0:
        raise InputError(f"an amount must be above 0; got {amount}.")

    def work() -> list[int]:
        budget = till.budget - units if less else till.budget + units
        if budget > LARGEST:
            raise InputError("the budget must be smaller: sums would not be exact any more.")
        before = till.balance
        till.change_budget(budget, decimals)
        till.log(now, actor, "budget", budget=budget)
        tell_money(till, settings, before, now)
        till.close()
        return [till.budget, till.paid, till.due, till.reserved]

    return Balance(*till.once(key and f"budget {key}", [written], now, work))


def set_price(
    connection: Connection, name: str | None, vote_price: Any, page_price: Any, actor: str, now: float
) -> None:
    """Other prices of one worker, or of everybody without their own."""
    till, settings = Till.open(connection), _stored(connection)
    given = {"vote_price": vote_price, "page_price": page_price}
    new = {what: minor_units(amount, settings.decimals, f"the {what.replace('_', ' ')}", fixed=True)
           for what, amount in given.items() if amount is not None}  # fmt: skip
    if not new:
        raise ParameterError("a price must be given: of votes, of pages, or both.")
    if name is None:
        connection.execute(campaign.update().values(settings=json.dumps(settings.changed(**new).as_json())))
        _refuse_free_workers(connection, settings.changed(**new))
    else:
        row = row_by_name(connection, name)
        old = {what: settings.vote_price if what == "vote_price" else settings.page_price for what in given}
        own = {what: row[what] for what in given if row[what] is not None}
        after = {**old, **own, **new}
        refuse_free(after["vote_price"], after["page_price"], row["name"])
        set_prices(connection, row["id"], new.get("vote_price"), new.get("page_price"))
        name = row["name"]
    if new.get("vote_price") == 0 and "page_price" not in new:  # as for a new campaign, where it is then 0, too
        raise InputError(
            "a price of 0 for answers must come with the price of a page, which is then all that people get; got none. "
            "Give the page price as well."
        )
    till.log(now, actor, "price", worker=name, **new)
    till.revision += 1
    till.close()


def _refuse_free_workers(connection: Connection, settings: Settings) -> None:
    """Raise InputError where the own price of somebody, together with the new one of all, is nothing."""
    for row in connection.execute(select(workers).where((workers.c.vote_price == 0) | (workers.c.page_price == 0))):
        price = settings.vote_price if row.vote_price is None else row.vote_price
        page = settings.page_price if row.page_price is None else row.page_price
        refuse_free(price, page, row.name)


def add_items(connection: Connection, path: str | Path, media: Path | None, actor: str, now: float) -> int:
    """Append the items of a file, all or none."""
    rows, folder = read_items(path)
    if folder is not None and folder != media:
        raise InputError(
            f"{path}: files of new items must be in the campaign's own media folder, {media or 'which it has not'}. "
            "Copy them, and the table, there."
        )
    till = Till.open(connection)
    there = set(connection.execute(select(items.c.name)).scalars())
    for number, row in enumerate(rows, start=1):
        if row["name"] in there:
            raise InputError(
                f"{path}: new items must have new names; {row['name']!r:.60} in row {number} is there already."
            )
    connection.execute(items.insert(), [{"id": till.n_items + place, **row} for place, row in enumerate(rows)])
    till.n_items += len(rows)
    till.log(now, actor, "items", n=len(rows))
    till.close()
    return len(rows)


def change_labels(connection: Connection, path: str | Path, actor: str, now: float) -> int:
    """Other questions and helps of the same labels."""
    rows = {row["name"]: row for row in read_labels(path)}
    till = Till.open(connection)
    there = connection.execute(select(labels).order_by(labels.c.id)).all()
    names = [row.name for row in there]
    if set(rows) != set(names):
        gone, new = sorted(set(names) - set(rows)), sorted(set(rows) - set(names))
        said = " and ".join(f"{what} {', '.join(map(repr, some[:3]))}"
                            for what, some in (("lacks", gone), ("adds", new)) if some)  # fmt: skip
        raise InputError(
            f"{path}: the labels of a running campaign must stay as they are, since answers were given by these names; "
            f"the file {said}. Change 'question' and 'help' only, or make a new campaign."
        )
    changed = 0
    for row in there:
        given = rows[row.name]
        if (row.question, row.help) != (given["question"], given["help"]):
            connection.execute(labels.update().where(labels.c.id == row.id).values(
                question=given["question"], help=given["help"]))  # fmt: skip
            changed += 1
    till.log(now, actor, "labels", n=changed)
    till.revision += 1
    till.close()
    return changed


def decide(connection: Connection, item_id: int, label_id: int, present: bool, actor: str, now: float) -> None:
    """The requester's decision about a pair."""
    till = Till.open(connection)
    if not 0 <= item_id < till.n_items or connection.execute(
        select(labels.c.id).where(labels.c.id == label_id)
    ).first() is None:  # fmt: skip
        raise NotFoundError("there is no such item or label.")
    where = (truth.c.item_id == item_id) & (truth.c.label_id == label_id)
    new = {"present": bool(present), "source": "decided", "serial": till.n_truth}
    if not connection.execute(truth.update().where(where).values(**new)).rowcount:
        connection.execute(truth.insert(), {"item_id": item_id, "label_id": label_id, **new})
    till.n_truth += 1
    till.log(now, actor, "decide", item=item_id, label=label_id, present=bool(present))
    till.close()


def pay(
    connection: Connection, amounts: Mapping[str, int] | None, in_cents: bool, actor: str, key: str | None, now: float
) -> dict[str, int]:
    """Record what was paid to whom."""
    till = Till.open(connection)
    decimals = _stored(connection).decimals

    def work() -> dict[str, int]:
        people = payments(connection)
        if amounts is None:
            paid = due_amounts(people, decimals, in_cents=in_cents)
        else:
            due = {each.worker: each.due for each in people}
            paid = {name: int(units) for name, units in amounts.items() if units}
            for name, units in paid.items():
                if not 0 < units <= due.get(name, 0):
                    raise RefusedError(
                        f"{name!r} must be paid at most what is due, {due.get(name, 0)}; got {units}.", "due"
                    )
        if paid:
            till.pay(paid)
            for name, units in paid.items():
                connection.execute(workers.update().where(workers.c.name == name).values(paid=workers.c.paid + units))
            till.log(now, actor, "pay", workers=len(paid), total=sum(paid.values()))
            till.close()
        return paid

    body = [dict(amounts) if amounts is not None else None, in_cents]
    return dict(till.once(key and f"pay {key}", body, now, work))


def set_password(connection: Connection, password: str, actor: str, now: float) -> None:
    """Another password; sessions of the old one end."""
    till = Till.open(connection)
    version = campaign.c.password_version + 1
    connection.execute(campaign.update().values(password=hashed(password), password_version=version))
    till.log(now, actor, "password")
    till.revision += 1
    till.close()
