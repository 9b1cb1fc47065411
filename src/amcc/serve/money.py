"""The till: the ledger and its sums, which change together or not at all.

Whoever changes anything opens the till first: it locks the one row of `account` until the transaction ends, so changes
come one after the other, in every thread and process. The lines are those of `amcc.active.accounts`, and what they add
up to by `bookkeeping.Record` is what stands in the row: `keeping.verify` compares the two.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from amcc.active import chain
from amcc.active.bookkeeping import FORMAT_VERSION, Balance
from amcc.active.prices import major_units
from amcc.errors import InputError, RefusedError
from amcc.serve.store.prepared import Prepared
from amcc.serve.store.schema import account, ledger, log, requests

_SUMS = [column.name for column in account.columns if column.name != "id"]
_ACCOUNT = select(*(account.c[name] for name in _SUMS)).where(account.c.id == 1)
_OPEN, _LOOK = Prepared(_ACCOUNT.with_for_update()), Prepared(_ACCOUNT)
_CLOSE = Prepared(account.update().where(account.c.id == 1).values({name: bindparam(f"new_{name}") for name in _SUMS}))
_LINE = Prepared(ledger.insert())
_KEPT, _KEEP = Prepared(select(requests).where(requests.c.key == bindparam("which"))), Prepared(requests.insert())

# Bytes of a vote's seal: half of SHA-256, as many as nobody can try out.
SEAL_BYTES = 16


@dataclass
class Till:
    """The account of a campaign, locked in a transaction; `close` writes down what was changed."""

    connection: Connection
    budget: int
    paid: int
    due: int
    reserved: int
    head: str
    votes_head: bytes
    n_ledger: int
    n_questions: int
    n_votes: int
    n_skips: int
    n_leases: int
    n_workers: int
    n_items: int
    n_truth: int
    n_log: int
    revision: int
    n_events: int

    @classmethod
    def open(cls, connection: Connection) -> Till:
        """Lock the account until the transaction ends."""
        return cls(connection, *_OPEN.run(connection)[0])

    @classmethod
    def look(cls, connection: Connection) -> Till:
        """The account as it is now, not locked: only to be looked at."""
        return cls(connection, *_LOOK.run(connection)[0])

    @classmethod
    def begin(cls, connection: Connection, budget: int, decimals: int) -> Till:
        """The account of a new campaign, with its first line."""
        counters = {name: 0 for name in _SUMS if name.startswith("n_") or name == "revision"}
        sums = {"budget": budget, "paid": 0, "due": 0, "reserved": 0, "head": chain.START, "votes_head": b""}
        connection.execute(account.insert(), {"id": 1, **sums, **counters})
        till = cls.open(connection)
        till.note("account", format=FORMAT_VERSION, decimals=decimals, budget=budget)
        return till

    def close(self) -> None:
        """Write the sums and counters."""
        _CLOSE.run(self.connection, {f"new_{name}": getattr(self, name) for name in _SUMS})

    @property
    def balance(self) -> Balance:
        """Where the money is."""
        return Balance(self.budget, self.paid, self.due, self.reserved)

    @property
    def left(self) -> int:
        """What new questions may cost."""
        return self.balance.left

    def note(self, event: str, /, **content: Any) -> None:
        """Append a line to the ledger."""
        line, self.head = chain.chained([{"event": event, **content}], self.head)
        self.n_ledger += 1
        _LINE.run(self.connection, {"seq": self.n_ledger, "line": line.rstrip(b"\n")})

    # -- what happens to money -----------------------------------------------------------------------------------

    def ask(self, item: str, labels: Sequence[str], worker: str, price: int, page_price: int) -> int:
        """Reserve the money of a page; gives the number of its first question."""
        first, n = self.n_questions, len(labels)
        fees = [page_price] + [0] * (n - 1)
        cost = price * n + page_price
        if cost > self.left:
            raise RefusedError("there is no money left for this page.", "money")
        self.note("asked", item=[item] * n, label=list(labels), worker=[worker] * n,
                  price=[price + fee for fee in fees], page=fees)  # fmt: skip
        self.reserved += cost
        self.n_questions += n
        return first

    def settle(self, answered: Sequence[int], released: Sequence[int], earned: int, reserved: int) -> None:
        """Answers came to questions: what they earned is due. Others of the page are given up.

        answered, released : numbers. reserved : what of it was reserved until now: nothing where the page had expired.
        """
        if earned - reserved > self.left:
            raise RefusedError("the money for this page has been spent since.", "late")
        for event, numbers in (("answered", answered), ("released", released)):
            if numbers:
                self.note(event, question=sorted(numbers))
        self.reserved -= reserved
        self.due += earned

    def pay(self, amounts: Mapping[str, int]) -> None:
        """Workers, by pseudonym, were paid what was due."""
        self.note("paid", worker=list(amounts), amount=list(amounts.values()))
        total = sum(amounts.values())
        self.due -= total
        self.paid += total

    def change_budget(self, budget: int, decimals: int) -> None:
        """Another budget, not below what is paid, due and reserved."""
        least = self.budget - self.left
        if budget < max(least, 1):
            raise InputError(
                f"the budget must not be below what is paid, due and reserved, {major_units(least, decimals)}; got "
                f"{major_units(budget, decimals)}. Wait until open pages are answered or expire, or take less away."
            )
        if budget != self.budget:
            self.note("budget", budget=budget)
            self.budget = budget

    # -- beside money --------------------------------------------------------------------------------------------

    def seal(self, question: int, item: int, label: int, worker: int, value: int, kind: str) -> bytes:
        """The seal of the next vote, which stands for it and all before."""
        self.votes_head = vote_seal(self.votes_head, question, item, label, worker, value, kind)
        self.n_votes += 1
        return self.votes_head

    def log(self, at: float, actor: str, action: str, **details: Any) -> None:
        """Append to the log of who did what."""
        row = {"id": self.n_log, "at": at, "actor": actor, "action": action, "details": json.dumps(details)}
        self.connection.execute(log.insert(), row)
        self.n_log += 1

    def once(self, key: str | None, body: Any, at: float, work: Callable[[], Any]) -> Any:
        """What `work` gives (as JSON can hold it); with a key that was used before, what it gave then."""
        before = self.kept(key, body)
        if before is None:
            before = work()
            self.keep(key, body, before, at)
        return before

    def kept(self, key: str | None, body: Any) -> Any:
        """What a request with this key gave; None where there was none. RefusedError where it was another request."""
        before = None if key is None else _KEPT.first(self.connection, {"which": key})
        if before is None:
            return None
        if before["body"] != _as_text(body):
            raise RefusedError("this idempotency key was used for another request. Take a new one.", "key")
        return json.loads(before["result"])

    def keep(self, key: str | None, body: Any, result: Any, at: float) -> None:
        """Keep what a request with this key gave."""
        if key is not None:
            row = {"key": key, "body": _as_text(body), "result": json.dumps(result), "at": at}
            _KEEP.run(self.connection, row)


def _as_text(body: Any) -> str:
    return json.dumps(body, sort_keys=True)


def vote_seal(before: bytes, question: int, item: int, label: int, worker: int, value: int, kind: str) -> bytes:
    """The seal of a vote after one with the seal `before`."""
    content = f"{question},{item},{label},{worker},{value},{kind}".encode()
    return hashlib.sha256(before + content).digest()[:SEAL_BYTES]
