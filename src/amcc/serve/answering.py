"""Answers: stored with their money in one transaction, once, however often they are sent.

An answer is known by its lease. The same answers again get the same receipt; others are refused. Answers that come
after the lease has ended count if nobody asked the worker the same again, the campaign goes on, and the money is still
there: somebody has done the work. Otherwise they are refused, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, select

from amcc.errors import InputError, NotFoundError, RefusedError
from amcc.serve.events import tell_answers, tell_money
from amcc.serve.leasing import (
    CLOSE,
    MOVE,
    OF_LEASE,
    end_lease,
    has_all_pages,
    lease_row,
    open_lease,
    share_left,
    worker_row,
)  # fmt: skip
from amcc.serve.money import Till
from amcc.serve.settings import Settings
from amcc.serve.store.prepared import Prepared
from amcc.serve.store.schema import questions, skips, truth, votes, workers
from amcc.serve.views import Receipt

VALUES = {"yes": 1, "no": -1}
ANSWERS = ("yes", "no", "skip")

Lease = Mapping[str, Any]

_VOTES = select(votes.c.question, votes.c.value).where(votes.c.question.in_(bindparam("numbers", expanding=True)))
_SKIPS = select(skips.c.question, skips.c.paid).where(skips.c.question.in_(bindparam("numbers", expanding=True)))
_TRUTH = Prepared(select(truth.c.label_id, truth.c.present).where(truth.c.item_id == bindparam("item")))
_VOTE, _SKIP = Prepared(votes.insert()), Prepared(skips.insert())
_AGAIN = (
    select(func.count()).select_from(questions)
    .where(questions.c.worker_id == bindparam("worker"), questions.c.item_id == bindparam("item"),
           questions.c.number > bindparam("last"), questions.c.label_id.in_(bindparam("asked", expanding=True)))
)  # fmt: skip
_COUNT = Prepared(
    workers.update().where(workers.c.id == bindparam("worker"))
    .values({name: workers.c[name] + bindparam(f"more_{name}")
             for name in ("earned", "reserved", "n_pages", "n_answers", "n_skips", "n_checks", "n_checks_right")})
)  # fmt: skip


def answer(
    connection: Connection, worker_id: int, lease_id: int, given: Mapping[int, str], settings: Settings, now: float,
    key: str | None = None,
) -> tuple[Receipt, bool]:  # fmt: skip
    """Store answers by label, see the module; gives also whether this ended an open page."""
    till = Till.open(connection)
    lease = own_lease(connection, worker_id, lease_id)
    asked = OF_LEASE.all(connection, {"lease": lease_id})
    check_answers(given, asked)

    def work() -> dict[str, Any]:
        if lease["state"] == "answered":
            return asdict(_receipt_again(connection, lease, asked, given))
        late = lease["state"] != "open" or lease["expires_at"] <= now
        if late:
            _check_still_wanted(connection, till, lease, asked, settings)
        before = till.balance
        receipt = _store(till, lease, asked, given, settings, now, late=late)
        tell_answers(till, settings, lease, given, receipt.earned, now, late=late)
        tell_money(till, settings, before, now)
        till.close()
        return asdict(receipt)

    found = till.once(key and f"answer {worker_id} {key}", [lease_id, given], now, work)
    return Receipt(**found), lease["state"] == "open"


def own_lease(connection: Connection, worker_id: int, lease_id: int) -> Lease:
    """A lease of this worker; of others' leases nobody learns whether they exist."""
    lease = lease_row(connection, lease_id)
    if lease is None or lease["worker_id"] != worker_id:
        raise NotFoundError("this page was not handed to you. Ask for the next one.")
    return lease


def labels_asked(connection: Connection, worker_id: int, lease_id: int) -> tuple[int, ...]:
    """Labels on a page of this worker, open or not."""
    own_lease(connection, worker_id, lease_id)
    return tuple(each.label_id for each in OF_LEASE.all(connection, {"lease": lease_id}))


def check_answers(given: Mapping[int, str], asked: Sequence[Row[Any]]) -> None:
    """Raise InputError unless every question of the page has one of the three answers, and nothing else has."""
    expected = {each.label_id for each in asked}
    if not isinstance(given, Mapping) or set(given) != expected:
        raise InputError(
            f"every question of the page must be answered, and no other; the labels are {sorted(expected)}, answers "
            f"came to {sorted(map(str, given))}. Say 'skip' where you cannot tell."
        )
    for label, said in given.items():
        if said not in ANSWERS:
            raise InputError(f"an answer must be yes, no or skip; label {label} has {said!r:.40}.")


def _check_still_wanted(
    connection: Connection, till: Till, lease: Lease, asked: Sequence[Row[Any]], settings: Settings
) -> None:
    """Raise RefusedError where late answers are of no use any more; an overdue lease is not ended by this."""
    worker, open_now = worker_row(connection, lease["worker_id"]), open_lease(connection, lease["worker_id"])
    assert worker is not None  # the lease is theirs
    others = int(open_now is not None and open_now["id"] != lease["id"])  # a page that they were given since
    wanted = worker["state"] == "active" and settings.state != "ended" and not has_all_pages(worker, settings, others)
    again = {"worker": lease["worker_id"], "item": lease["item_id"], "last": asked[-1].number,
             "asked": [each.label_id for each in asked]}  # fmt: skip
    if not wanted or connection.execute(_AGAIN, again).scalar():
        raise RefusedError("the time for this page was over, and it is not needed any more.", "late")
    cost = sum(each.price + each.fee for each in asked)
    if lease["state"] != "open" and cost > till.left:
        raise RefusedError("the time for this page was over, and its money has been spent since.", "late")
    if lease["state"] != "open" and cost > share_left(worker, settings, till):
        raise RefusedError("the time for this page was over, and you have earned as much as one can since.", "late")


def _store(
    till: Till, lease: Lease, asked: Sequence[Row[Any]], given: Mapping[int, str], settings: Settings, now: float,
    *, late: bool,
) -> Receipt:  # fmt: skip
    """Write votes, skips, ledger and sums."""
    connection = till.connection
    skipped = [each for each in asked if given[each.label_id] == "skip"]
    said = [each for each in asked if given[each.label_id] != "skip"]
    paid = asked if settings.pay_skips else said
    unpaid = [] if settings.pay_skips else skipped
    # The fee of the page is due with its first paid answer, whichever question bears it (bookkeeping.Page).
    earned = sum(each.price for each in paid) + (lease["page_price"] if paid else 0)
    waited = lease["state"] == "open"  # an overdue lease that nobody has ended yet still has its money
    reserved = sum(each.price + each.fee for each in asked) if waited else 0
    till.settle([each.number for each in paid], [each.number for each in unpaid] if waited else [], earned, reserved)
    first = till.n_votes
    rows = [_vote(till, each, VALUES[given[each.label_id]], lease["kind"], now) for each in said]
    if rows:
        _VOTE.many(connection, [{**row, "id": first + place} for place, row in enumerate(rows)])
    if skipped:
        _write_skips(till, skipped, settings.pay_skips, now)
    moved = [(said, "answered"), (skipped, "skipped")]
    MOVE.many(connection, [{"which": e.number, "new_state": state} for some, state in moved for e in some])
    CLOSE.run(connection, {"lease": lease["id"], "new_state": "answered", "now": now, "new_late": late})
    checks, right = _checked(connection, lease, rows)
    counts = {"earned": earned, "reserved": -reserved, "n_pages": 1, "n_answers": len(said), "n_skips": len(skipped),
              "n_checks": checks, "n_checks_right": right}  # fmt: skip
    _COUNT.run(connection, {"worker": lease["worker_id"], **{f"more_{name}": n for name, n in counts.items()}})
    return Receipt(lease["id"], earned, len(said), len(skipped), late=late)


def _vote(till: Till, asked: Row[Any], value: int, kind: str, now: float) -> dict[str, Any]:
    content = (asked.number, asked.item_id, asked.label_id, asked.worker_id, value, kind)
    row = dict(zip(("question", "item_id", "label_id", "worker_id", "value", "kind"), content, strict=True))
    return {**row, "at": now, "seal": till.seal(*content)}


def _write_skips(till: Till, skipped: Sequence[Row[Any]], paid: bool, now: float) -> None:
    rows = [{"id": till.n_skips + place, "question": each.number, "item_id": each.item_id, "label_id": each.label_id,
             "worker_id": each.worker_id, "paid": paid, "at": now} for place, each in enumerate(skipped)]  # fmt: skip
    _SKIP.many(till.connection, rows)
    till.n_skips += len(rows)


def _checked(connection: Connection, lease: Lease, rows: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """How many answers were to questions whose truth is known, and how many of them are right."""
    if lease["kind"] != "check":
        return 0, 0
    known = dict(_TRUTH.all(connection, {"item": lease["item_id"]}))
    checked = [row for row in rows if row["label_id"] in known]
    return len(checked), sum((row["value"] > 0) == bool(known[row["label_id"]]) for row in checked)


def _receipt_again(
    connection: Connection, lease: Lease, asked: Sequence[Row[Any]], given: Mapping[int, str]
) -> Receipt:
    """The receipt of answers that were stored before; RefusedError where these are others."""
    numbers = {"numbers": [each.number for each in asked]}
    said = {number: "yes" if value > 0 else "no" for number, value in connection.execute(_VOTES, numbers)}
    skipped = dict(connection.execute(_SKIPS, numbers).all())
    if any(given[each.label_id] != said.get(each.number, "skip") for each in asked):
        raise RefusedError("this page was answered already, with other answers; the first ones count.", "contradiction")
    paid = [each for each in asked if skipped.get(each.number, True)]
    earned = sum(each.price for each in paid) + (lease["page_price"] if paid else 0)
    return Receipt(lease["id"], earned, len(said), len(skipped), already=True, late=bool(lease["late"]))


def give_back(connection: Connection, worker_id: int, lease_id: int, now: float, key: str | None = None) -> bool:
    """A worker gives a page back; nothing happens where it has ended already. Gives whether this ended it."""
    till = Till.open(connection)
    lease = own_lease(connection, worker_id, lease_id)

    def work() -> int:
        if lease["state"] == "open":
            end_lease(till, lease_id, "returned", now)
            till.close()
        return lease_id

    till.once(key and f"release {worker_id} {key}", lease_id, now, work)
    return bool(lease["state"] == "open")
