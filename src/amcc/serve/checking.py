"""`verify`: everything that must hold of a campaign, looked at from the ledger up.

The ledger is read with the rules of `amcc.active.accounts`, line by line; what it adds up to must be what stands in the
account, in the rows of workers and questions. Votes have seals of their own, each over the one before. So a changed
byte shows, and in which row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select, text

from amcc.active import chain
from amcc.active.bookkeeping import FIELDS, Record, require
from amcc.active.journal import decoded
from amcc.errors import AmccError, InputError
from amcc.serve.money import Till, vote_seal
from amcc.serve.store.schema import items, labels, leases, ledger, questions, skips, votes, workers
from amcc.serve.views import Problem

# Problems that are told of one kind: the first ones say what is wrong, and a damaged file has thousands.
MOST = 20

# What may become of the questions of a page, by what became of the page; of all others they are released.
OF_PAGE = {"open": {"waiting"}, "answered": {"answered", "skipped"}}


def verify(connection: Connection, *, is_sqlite: bool) -> list[Problem]:
    """All problems; the connection must see one moment."""
    if is_sqlite:
        found = connection.execute(text("PRAGMA quick_check(5)")).scalars().all()
        if found != ["ok"]:
            return [Problem("database", f"SQLite finds it damaged: {each}") for each in found]
    till = Till.look(connection)
    problems, record = check_ledger(connection, till)
    if record is None:
        return problems
    for check in (_sums, _workers, _questions, _pages, _votes, _counts):
        found_here = []
        for problem in check(connection, till, record):
            found_here.append(problem)
            if len(found_here) == MOST:
                break
        problems += found_here
    return problems


def check_ledger(connection: Connection, till: Till) -> tuple[list[Problem], Record | None]:
    """The problem of the ledger, and what it adds up to; None where it cannot be believed."""
    rows = connection.execute(select(ledger).order_by(ledger.c.seq)).all()
    lines = [bytes(row.line) for row in rows]
    for place, row in enumerate(rows, start=1):
        if row.seq != place:
            return [Problem(f"ledger row {place}", "is missing: rows must be numbered without a gap")], None
    if len(rows) != till.n_ledger:
        return [Problem(f"ledger row {len(rows) + 1}", f"is missing: there must be {till.n_ledger} rows")], None
    before = chain.START
    record = Record()
    for number, line in enumerate(lines, start=1):
        where = f"ledger row {number}"
        if not chain.follows(line, before):
            return [Problem(where, "its hash does not fit to its content and the row before: it was changed")], None
        before = chain.line_hash(line)
        try:
            _apply(record, number, line)
        except (ValueError, TypeError, AmccError) as problem:
            return [Problem(where, f"could not have happened: {problem}")], None
    if before != till.head:
        return [Problem(f"ledger row {len(rows)}", "its hash must be the head in the account; it is another")], None
    return [], record


def _apply(record: Record, number: int, line: bytes) -> None:
    """Take over one line, as `amcc.active.accounts` does."""
    event = decoded(number, line, tuple(FIELDS))
    event.pop("hash")
    require((event["event"] == "account") == (number == 1), "an account begins with its budget, once")
    require(chain.encoded(event) == chain.unsealed(line), "it is spelt in another way")
    record.apply(event)


def _sums(_: Connection, till: Till, record: Record) -> Iterator[Problem]:
    expected, found = record.balance, till.balance
    for name in ("budget", "paid", "due", "reserved"):
        if getattr(expected, name) != getattr(found, name):
            yield Problem(
                f"account.{name}", f"must be {getattr(expected, name)} by the ledger; it is {getattr(found, name)}"
            )
    if len(record.questions) != till.n_questions:
        yield Problem("account.n_questions", f"must be {len(record.questions)} by the ledger; it is {till.n_questions}")


def _workers(connection: Connection, _: Till, record: Record) -> Iterator[Problem]:
    for row in connection.execute(select(workers)).mappings():
        person = record.people.get(row["name"])
        expected = (0, 0, 0) if person is None else (person.earned, person.paid, person.reserved)
        found = (row["earned"], row["paid"], row["reserved"])
        if expected != found:
            yield Problem(
                f"workers row {row['id']} ({row['name']})",
                f"earned, paid and reserved must be {expected} by the ledger; they are {found}",
            )


def _questions(connection: Connection, till: Till, record: Record) -> Iterator[Problem]:
    names = [dict(connection.execute(select(table.c.id, table.c.name)).all())
             for table in (items, labels, workers)]  # fmt: skip
    unpaid = set(connection.execute(select(skips.c.question).where(skips.c.paid.is_(False))).scalars())
    rows = connection.execute(select(questions).order_by(questions.c.number)).all()
    if len(rows) != till.n_questions:
        yield Problem("questions", f"there must be {till.n_questions} rows; there are {len(rows)}")
    page = None
    for place, (row, known) in enumerate(zip(rows, record.questions, strict=False)):
        fee, page = 0 if known.page is page else known.page.fee, known.page  # the first of a page bears it
        where = f"questions row {row.number}"
        if row.number != place:
            yield Problem(f"questions row {place}", "is missing: rows must be numbered without a gap")
            return
        key = tuple(
            table.get(each) for table, each in zip(names, (row.item_id, row.label_id, row.worker_id), strict=True)
        )
        if (key, row.price, row.fee) != (known.key, known.price, fee):
            yield Problem(
                where,
                f"must ask {known.key} for {known.price} + {fee} by the ledger; it asks {key} for {row.price} + "
                f"{row.fee}",
            )
        state = row.state if row.state != "skipped" else "released" if row.number in unpaid else "answered"
        if state != known.state:
            yield Problem(where, f"must be {known.state} by the ledger; it is {row.state}")


def _pages(connection: Connection, till: Till, _: Record) -> Iterator[Problem]:
    """Every page has questions, of its item and worker, at its prices, of which the same became as of the page."""
    asked: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(select(questions).order_by(questions.c.number)):
        asked[row.lease_id].append(row)
    rows = connection.execute(select(leases).order_by(leases.c.id)).all()
    if len(rows) != till.n_leases:
        yield Problem("leases", f"there must be {till.n_leases} rows; there are {len(rows)}")
    for row in rows:
        mine, fees = asked[row.id], row.page_price
        said = {(each.item_id, each.worker_id, each.price) for each in mine}
        if said != {(row.item_id, row.worker_id, row.vote_price)} or sum(each.fee for each in mine) != fees:
            yield Problem(f"leases row {row.id}", "its item, worker and prices must be those of its questions")
        if not {each.state for each in mine} <= OF_PAGE.get(row.state, {"released"}):
            yield Problem(f"leases row {row.id}", f"is {row.state}, which its questions are not")


def _counts(connection: Connection, _: Till, __: Record) -> Iterator[Problem]:
    """Workers have as many pages, answers and skips as there are of theirs."""
    counted = {
        "n_pages": select(leases.c.worker_id).where(leases.c.state == "answered"),
        "n_answers": select(votes.c.worker_id),
        "n_skips": select(skips.c.worker_id),
    }
    found = {name: Counter(connection.execute(query).scalars()) for name, query in counted.items()}
    for row in connection.execute(select(workers)).mappings():
        for name, of_workers in found.items():
            if row[name] != of_workers[row["id"]]:
                yield Problem(
                    f"workers row {row['id']} ({row['name']})",
                    f"{name} must be {of_workers[row['id']]}; it is {row[name]}",
                )


def _votes(connection: Connection, till: Till, _: Record) -> Iterator[Problem]:
    """Every answered question has one vote, every skipped one a skip, nothing else has; seals fit."""
    asked = {row.number: row for row in connection.execute(select(questions))}
    pages = {row.id: (row.kind, row.closed_at) for row in connection.execute(select(leases))}
    rows = connection.execute(select(votes).order_by(votes.c.id)).all()
    seal, answered = b"", set()
    for place, row in enumerate(rows):
        where = f"votes row {row.id}"
        content = (row.question, row.item_id, row.label_id, row.worker_id, row.value, row.kind)
        if row.id != place:
            yield Problem(f"votes row {place}", "is missing: rows must be numbered without a gap")
            return
        if (seal := vote_seal(seal, *content)) != bytes(row.seal):
            yield Problem(where, "its seal does not fit to its content and the row before: it was changed")
            seal = bytes(row.seal)
        if not _fits(row, asked.get(row.question), "answered"):
            yield Problem(where, f"must answer question {row.question}, which asks something else or has no answer")
        elif pages.get(asked[row.question].lease_id) != (row.kind, row.at):
            yield Problem(where, "must have the kind of its page, and the time at which that was answered")
        answered.add(row.question)
    if len(rows) != till.n_votes or seal != till.votes_head:
        yield Problem(f"votes row {len(rows)}", f"must be the last of {till.n_votes}, with the seal in the account")
    for row in connection.execute(select(skips)):
        if not _fits(row, asked.get(row.question), "skipped"):
            yield Problem(f"skips row {row.id}", f"must be about question {row.question}, which was not skipped")
        elif pages.get(asked[row.question].lease_id, ("", None))[1] != row.at:
            yield Problem(f"skips row {row.id}", "must have the time at which its page was answered")
        answered.add(row.question)
    for number in sorted(n for n, row in asked.items() if row.state in ("answered", "skipped") and n not in answered):
        yield Problem(f"questions row {number}", f"is {asked[number].state}, but its answer is missing")


def _fits(row: Row[Any], asked: Row[Any] | None, state: str) -> bool:
    if asked is None:
        return False
    same: Sequence[tuple[Any, Any]] = (
        (row.item_id, asked.item_id), (row.label_id, asked.label_id), (row.worker_id, asked.worker_id)
    )  # fmt: skip
    return asked.state == state and all(mine == theirs for mine, theirs in same)


def refuse_problems(problems: Sequence[Problem]) -> None:
    """Raise InputError where there is any."""
    if problems:
        first = problems[0]
        raise InputError(f"the campaign must be whole; {first.where}: {first.what}. Take another backup.")
