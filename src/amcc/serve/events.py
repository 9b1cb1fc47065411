"""What webhooks are told. An event is put into the outbox in the transaction of what it tells: both are true, or none.

An event names workers by pseudonym and holds no personal data. It is written once for each webhook that wants it;
sending is the postman's business.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, bindparam, select

from amcc.active.bookkeeping import Balance
from amcc.active.prices import major_units
from amcc.serve.money import Till
from amcc.serve.settings import Settings
from amcc.serve.store.prepared import Prepared
from amcc.serve.store.schema import items, labels, outbox, webhooks, workers

EVENTS = (
    "page.answered", "budget.low", "budget.used_up", "campaign.paused", "campaign.resumed", "campaign.ended",
    "fit.finished", "worker.proposed",
)  # fmt: skip

# What the receiver gets when somebody tries it; it is never in the outbox.
TEST = "webhook.test"

# The budget is low when less than a tenth is not spent: time to add some, or to say good-bye.
LOW_SHARE = 0.1

# Bytes of an event's id: nobody ever meets the same twice, also where two campaigns have one receiver.
ID_BYTES = 16

_OF_STATE = {"paused": "campaign.paused", "running": "campaign.resumed", "ended": "campaign.ended"}

_WANTED = Prepared(select(webhooks.c.id, webhooks.c.events).order_by(webhooks.c.id))
_OUT = Prepared(outbox.insert())
_WORKER = Prepared(select(workers.c.name).where(workers.c.id == bindparam("worker")))
_ITEM = Prepared(select(items.c.name).where(items.c.id == bindparam("item")))
_LABELS = Prepared(select(labels.c.id, labels.c.name).order_by(labels.c.id))

Data = dict[str, Any]


def written(event: str, campaign: str, data: Data, now: float) -> tuple[str, str]:
    """The id of a new event, and its body."""
    number = secrets.token_hex(ID_BYTES)
    at = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    body = {"id": number, "type": event, "timestamp": at, "campaign": campaign, "data": data}
    return number, json.dumps(body, ensure_ascii=False)


def tell(till: Till, settings: Settings, event: str, now: float, data: Callable[[], Data]) -> None:
    """Put an event into the outbox of all who want it; `data` is asked for only where somebody does.

    The till must be closed afterwards, as it counts events.
    """
    wanted = [hook.id for hook in _WANTED.all(till.connection) if not hook.events or event in hook.events.split()]
    if not wanted:
        return
    event_id, body = written(event, settings.name, data(), now)
    shared = {"event_id": event_id, "body": body, "made_at": now, "next_at": now, "tries": 0}
    _OUT.many(till.connection, [{"id": till.n_events + place, "webhook_id": number, **shared}
                                for place, number in enumerate(wanted)])  # fmt: skip
    till.n_events += len(wanted)


def tell_answers(
    till: Till, settings: Settings, lease: Mapping[str, Any], given: Mapping[int, str], earned: int, now: float,
    *, late: bool,
) -> None:  # fmt: skip
    """A page was answered. Answers of the kind "check" are about known truth, and are no votes."""

    def data() -> Data:
        names = _names(till.connection, lease, given)
        amount = {"earned": major_units(earned, settings.decimals), "currency": settings.currency}
        return {"page": lease["id"], "kind": lease["kind"], **names, **amount, "late": late}

    tell(till, settings, "page.answered", now, data)


def _names(connection: Connection, lease: Mapping[str, Any], given: Mapping[int, str]) -> Data:
    ((worker,),) = _WORKER.run(connection, {"worker": lease["worker_id"]})
    ((item,),) = _ITEM.run(connection, {"item": lease["item_id"]})
    answers = {label.name: given[label.id] for label in _LABELS.all(connection) if label.id in given}
    return {"worker": worker, "item": item, "answers": answers}


def tell_money(till: Till, settings: Settings, before: Balance, now: float) -> None:
    """The money that is neither paid nor due became low, or less than a page costs: told once, as it is passed."""
    known, found = (_shortage(each, settings) for each in (before, till.balance))
    if found > known:
        text = {"budget": major_units(till.budget, settings.decimals), "currency": settings.currency,
                "unspent": major_units(_unspent(till.balance), settings.decimals)}  # fmt: skip
        tell(till, settings, ("", "budget.low", "budget.used_up")[found], now, lambda: text)


def _unspent(money: Balance) -> int:
    return money.budget - money.paid - money.due


def _shortage(money: Balance, settings: Settings) -> int:
    """0, or 1 where little is left, or 2 where no further page can be paid. It does not fall when a page expires."""
    unspent = _unspent(money)
    return 2 if unspent < settings.vote_price + settings.page_price else int(unspent < LOW_SHARE * money.budget)


def tell_state(till: Till, settings: Settings, reason: str, now: float) -> None:
    """The campaign was paused, resumed or ended."""
    tell(till, settings, _OF_STATE[settings.state], now, lambda: {"state": settings.state, "reason": reason})
