"""Pages are leased: an item and questions for one worker, for a time, with the money for the answers put aside.

What is worth asking was chosen before (`live`), without a lock. Here, inside the transaction, everything is checked
again that must never go wrong: the state of the campaign, the worker, what they were asked before, who else works on
the same, the money. What does not hold any more is left out, and where nothing is left the caller chooses again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from amcc.errors import CampaignError, NotFoundError
from amcc.serve.money import Till
from amcc.serve.settings import Settings
from amcc.serve.store.prepared import Prepared
from amcc.serve.store.schema import items, leases, questions, workers
from amcc.serve.views import ItemView, NoWork, PageKind, QuestionView, WorkPage

_WORKER = Prepared(select(workers).where(workers.c.id == bindparam("worker")))
_BY_ID = Prepared(select(leases).where(leases.c.id == bindparam("lease")))
_OPEN_OF = Prepared(select(leases).where(leases.c.worker_id == bindparam("worker"), leases.c.state == "open"))
_ON_ITEM = Prepared(
    select(questions.c.label_id, questions.c.worker_id, questions.c.state)
    .where(questions.c.item_id == bindparam("item"), questions.c.state != "released")
)  # fmt: skip
_ITEM = Prepared(select(items).where(items.c.id == bindparam("item")))
_LEASE, _QUESTION = Prepared(leases.insert()), Prepared(questions.insert())
OF_LEASE = Prepared(select(questions).where(questions.c.lease_id == bindparam("lease")).order_by(questions.c.number))
CLOSE = Prepared(
    leases.update().where(leases.c.id == bindparam("lease"))
    .values(state=bindparam("new_state"), closed_at=bindparam("now"), late=bindparam("new_late"))
)  # fmt: skip
MOVE = Prepared(questions.update().where(questions.c.number == bindparam("which")).values(state=bindparam("new_state")))
_RESERVE = Prepared(
    workers.update().where(workers.c.id == bindparam("worker"))
    .values(reserved=workers.c.reserved + bindparam("more"))
)  # fmt: skip
# Some hundred at a time: a server that was away for a night must not keep others waiting for all of them.
_OVERDUE = Prepared(
    select(leases.c.id).where(leases.c.state == "open", leases.c.expires_at <= bindparam("now")).limit(200)
)


Row = Mapping[str, Any]


class StaleError(CampaignError):
    """The settings were changed since they were read: read them, and choose again."""


@dataclass(frozen=True)
class Proposal:
    """A page that would be worth its money."""

    item: int
    labels: Sequence[int]
    kind: PageKind


@dataclass(frozen=True)
class Terms:
    """What a page is leased on: settings and labels as they were at a revision."""

    settings: Settings
    views: Sequence[QuestionView]
    revision: int


@dataclass(frozen=True)
class Taken:
    """Nothing of a proposal can be asked: these labels of the item are taken, or were asked of this worker before."""

    item: int
    labels: tuple[int, ...]


def worker_row(connection: Connection, worker_id: int) -> Row | None:
    """A worker's row."""
    return _WORKER.first(connection, {"worker": worker_id})


def open_lease(connection: Connection, worker_id: int) -> Row | None:
    """The lease that a worker has open."""
    return _OPEN_OF.first(connection, {"worker": worker_id})


def lease_row(connection: Connection, lease_id: int) -> Row | None:
    """A lease, whoever has it."""
    return _BY_ID.first(connection, {"lease": lease_id})


def page_of_key(till: Till, worker_id: int, key: str | None, views: Sequence[QuestionView]) -> WorkPage | None:
    """The page that a request with this key got, however that ended since; None where there was no such request."""
    number = till.kept(_request(worker_id, key), None)
    row = None if number is None else lease_row(till.connection, number)
    return None if row is None else page_of(till.connection, row, views, again=True)


def _request(worker_id: int, key: str | None) -> str | None:
    return key and f"lease {worker_id} {key}"


def lease(
    connection: Connection, proposal: Proposal, worker_id: int, terms: Terms, now: float, key: str | None = None
) -> WorkPage | NoWork | Taken:
    """Lease a page with what still holds of the proposal; gives an open one again, if there is any.

    key : of the request: the same key again gives the same page.
    """
    settings = terms.settings
    till = Till.open(connection)
    if till.revision != terms.revision:
        raise StaleError("the settings were changed.")
    worker = worker_row(connection, worker_id)
    if worker is None or worker["state"] != "active":
        return NoWork("blocked")
    before = page_of_key(till, worker_id, key, terms.views)
    if before is not None:
        return before
    current = open_lease(connection, worker_id)
    if current is not None and current["expires_at"] > now:
        till.keep(_request(worker_id, key), None, current["id"], now)
        return page_of(connection, current, terms.views, again=True)
    if has_all_pages(worker, settings):  # before the state: whoever is done gets their code
        return NoWork("pages")
    if settings.state != "running":
        return NoWork(settings.state)
    if current is not None:
        end_lease(till, current["id"], "expired", now)
    free = _free_labels(connection, proposal, worker_id, settings)
    if not free:
        till.close()
        return Taken(proposal.item, tuple(proposal.labels))
    price, fee = prices_of(worker, settings)
    if current is not None:  # its money is free again
        worker = worker_row(connection, worker_id) or worker
    affordable = _affordable(free, price, fee, min(till.left, share_left(worker, settings, till)))
    if not affordable:
        till.close()
        return NoWork("money" if till.left < price + fee else "cap")
    page = _leased(till, proposal, affordable, worker, (price, fee), terms, now)
    till.keep(_request(worker_id, key), None, page.lease_id, now)
    return page


def has_all_pages(worker: Row, settings: Settings, others: int = 0) -> bool:
    """Whether a worker has answered as many pages as one can, together with `others` that they hold."""
    return bool(0 < settings.pages_per_worker <= worker["n_pages"] + others)


def share_left(worker: Row, settings: Settings, till: Till) -> int:
    """What a worker can still earn of the share of the budget that is the most for one."""
    return int(settings.share_of(till.budget) - worker["earned"] - worker["reserved"])


def prices_of(worker: Row, settings: Settings) -> tuple[int, int]:
    """What a vote and a page of a worker cost: their own prices, or everybody's."""
    price, fee = worker["vote_price"], worker["page_price"]
    return settings.vote_price if price is None else price, settings.page_price if fee is None else fee


def _free_labels(connection: Connection, proposal: Proposal, worker_id: int, settings: Settings) -> list[int]:
    """Labels of the proposal that this worker was not asked about, and of which not too many others hold a lease."""
    own, busy = set(), dict.fromkeys(proposal.labels, 0)
    for label, who, state in _ON_ITEM.all(connection, {"item": proposal.item}):
        if who == worker_id:
            own.add(label)
        elif state == "waiting" and label in busy:
            busy[label] += 1
    return [each for each in proposal.labels if each not in own and busy[each] < settings.open_leases_per_pair]


def _affordable(free: list[int], price: int, fee: int, money: int) -> list[int]:
    """The first labels, best first, that this much money pays for."""
    if money < price + fee:
        return []
    return free if price == 0 else free[: (money - fee) // price]


def _leased(
    till: Till, proposal: Proposal, asked: list[int], worker: Row, prices: tuple[int, int], terms: Terms, now: float
) -> WorkPage:  # fmt: skip
    """Write down a lease with its questions and their money."""
    connection, views, (price, fee), number = till.connection, terms.views, prices, till.n_leases
    item = item_view(connection, proposal.item)
    asked = sorted(asked)  # as the label list has them: a page must not tell which label is in doubt
    first = till.ask(item.name, [views[each].label for each in asked], worker["name"], price, fee)
    till.n_leases += 1
    row = {"id": number, "worker_id": worker["id"], "item_id": proposal.item, "kind": proposal.kind, "state": "open",
           "leased_at": now, "expires_at": now + terms.settings.lease_seconds, "vote_price": price, "page_price": fee,
           "late": False, "revision": till.revision, "closed_at": None}  # fmt: skip
    _LEASE.run(connection, row)
    shared = {"lease_id": number, "item_id": proposal.item, "worker_id": worker["id"], "price": price}
    _QUESTION.many(
        connection,
        [{**shared, "number": first + place, "label_id": label, "fee": 0 if place else fee, "state": "waiting"}
         for place, label in enumerate(asked)],
    )  # fmt: skip
    _RESERVE.run(connection, {"worker": worker["id"], "more": price * len(asked) + fee})
    till.close()
    return WorkPage(number, item, tuple(views[each] for each in asked), price, fee, row["expires_at"])


def end_lease(till: Till, lease_id: int, state: str, now: float) -> None:
    """An open lease ends without answers: its money is free again, and its questions may be asked again."""
    connection = till.connection
    asked = OF_LEASE.all(connection, {"lease": lease_id})
    cost = sum(each.price + each.fee for each in asked)
    till.settle([], [each.number for each in asked], earned=0, reserved=cost)
    MOVE.many(connection, [{"which": each.number, "new_state": "released"} for each in asked])
    CLOSE.run(connection, {"lease": lease_id, "new_state": state, "now": now, "new_late": False})
    _RESERVE.run(connection, {"worker": asked[0].worker_id, "more": -cost})


def is_overdue(connection: Connection, now: float) -> bool:
    """Whether the time of any lease is over."""
    return _OVERDUE.first(connection, {"now": now}) is not None


def expire_overdue(connection: Connection, now: float) -> int:
    """End leases whose time is over, some hundred at a time; gives their number."""
    till = Till.open(connection)
    overdue = _OVERDUE.all(connection, {"now": now})
    for (number,) in overdue:
        end_lease(till, number, "expired", now)
    if overdue:
        till.close()
    return len(overdue)


def item_view(connection: Connection, item_id: int) -> ItemView:
    """One item; NotFoundError where there is none."""
    item = _ITEM.first(connection, {"item": item_id})
    if item is None:
        raise NotFoundError("there is no such item.")
    return ItemView(**item)


def page_of(connection: Connection, lease: Row, views: Sequence[QuestionView], *, again: bool) -> WorkPage:
    """A lease as its worker sees it; `views` are all labels by their id."""
    asked = OF_LEASE.all(connection, {"lease": lease["id"]})
    return WorkPage(
        lease["id"], item_view(connection, lease["item_id"]),
        tuple(views[each.label_id] for each in asked), lease["vote_price"], lease["page_price"], lease["expires_at"],
        again,
    )  # fmt: skip
