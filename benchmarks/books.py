"""The books of a campaign after a load, checked by hand: without a line of the code that wrote them.

Every acknowledged answer must be there, with the value that was sent. What is there beside must have been sent, too, by
somebody who got no answer to it: a server that is killed after it has stored a page cannot say so. No question may have
been paid twice, and at no line of the ledger may more be bound than the budget has.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from visitors import Times

from amcc.serve.folders import Folder
from amcc.serve.service import Service

Answers = dict[tuple[str, str, str], str]  # by worker, item and label


@dataclass(frozen=True)
class Unsure:
    """Answers to a page that were sent and never answered: they may be stored or not, but whole."""

    worker: str
    answers: Answers
    pays: int


@dataclass
class Noted:
    """What workers saw: acknowledged answers, money they were told they earned, times, and what was refused."""

    answers: Answers = field(default_factory=dict)
    unsure: list[Unsure] = field(default_factory=list)
    earned: Counter[str] = field(default_factory=Counter)
    lease: Times = field(default_factory=Times)
    answer: Times = field(default_factory=Times)
    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    money_gone: int = 0
    begun: float = 0.0
    ended: float = 0.0

    @property
    def n_no_room(self) -> int:
        """How often a server said that it could not write."""
        return sum(n for what, n in self.statuses.items() if what.split()[-1].startswith("5"))


@dataclass
class Books:
    """What is in the database: votes, skips and checks by worker, item and label; the ledger, added up again."""

    stored: Answers
    earned: Counter[str]
    paid_twice: int
    overdrawn: int
    problems: list[str]


def read_books(folder: Path, place: Path) -> Books:
    """Read everything by the export and by SQL, and add it up."""
    with Service.open(folder) as service:
        files = {name: place / f"{name}.csv" for name in ("votes", "skips", "checks")}
        service.export_votes(files["votes"], skips=files["skips"], checks=files["checks"])
        problems = [f"{each.where}: {each.what}" for each in service.verify()]
    stored: Answers = {}
    for name, path in files.items():
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                key = row["worker"], row["item"], row["label"]
                value = (
                    "skip" if name == "skips" else {"1": "yes", "0": "no"}.get(row.get("value", ""), row.get("value"))
                )
                if key in stored:
                    problems.append(f"{key} is stored twice")
                stored[key] = str(value)
    return Books(stored, *replay(ledger_lines(folder)), problems)


def ledger_lines(folder: Path) -> list[dict[str, Any]]:
    """The lines of the ledger as they are in the database."""
    from sqlalchemy import create_engine, text

    url = Folder.read(folder).database
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT line FROM ledger ORDER BY seq")).scalars().all()
    engine.dispose()
    return [json.loads(row) for row in rows]


def replay(events: Sequence[dict[str, Any]]) -> tuple[Counter[str], int, int]:
    """Money by worker, questions that were paid twice, and the largest overdraft at any line; a till of its own."""
    budget, questions, earned = 0, [], Counter[str]()
    bound = paid_twice = overdrawn = 0
    # A page's fee goes with its first answer: (item, worker, batch) → [fee, answered, waiting].
    for number, event in enumerate(events):
        kind = event["event"]
        if kind in ("account", "budget"):
            budget = event["budget"]
        elif kind == "asked":
            page: dict[str, Any] = {"fee": sum(event["page"]), "state": "waiting", "open": len(event["item"])}
            for item, label, worker, price, fee in zip(
                event["item"], event["label"], event["worker"], event["price"], event["page"], strict=True
            ):
                questions.append({"key": (item, label, worker), "price": price - fee, "state": "waiting", "page": page,
                                  "worker": worker})  # fmt: skip
            bound += sum(event["price"])
        elif kind in ("answered", "released"):
            for place in event["question"]:
                each = questions[place]
                if kind == "answered" and each["state"] == "answered":
                    paid_twice += 1
                bound += _moved(each, kind, earned)
        overdrawn = max(overdrawn, bound - budget) if number else 0
    return earned, paid_twice, overdrawn


def _moved(question: dict[str, Any], kind: str, earned: Counter[str]) -> int:
    """A question changes its state; by how much the bound money grows."""
    page, before, grows = question["page"], question["state"], 0
    if before == kind:
        return 0
    question["state"] = kind
    page["open"] -= before == "waiting"
    if kind == "answered":
        grows += question["price"] if before == "released" else 0
        earned[question["worker"]] += question["price"]
        if page["state"] != "answered":
            grows += page["fee"] if page["state"] == "released" else 0
            earned[question["worker"]] += page["fee"]
            page["state"] = "answered"
    else:
        grows -= question["price"]
        if page["state"] == "waiting" and not page["open"]:
            grows -= page["fee"]
            page["state"] = "released"
    return grows


@dataclass(frozen=True)
class Compared:
    """What workers saw beside what is stored.

    lost : acknowledged answers that are not there as they were sent. unsure_stored : pages that are there and were
    never acknowledged. differs : cents between what was earned by the ledger and what workers know of, with the pages
    that are there unacknowledged.
    """

    lost: int
    unsure_stored: int
    differs: int
    problems: list[str]


def compare(noted: Noted, books: Books) -> Compared:
    """Compare; see the module."""
    told, problems, stored = Counter(noted.earned), list(books.problems), 0
    unexplained = {key for key in books.stored if key not in noted.answers}
    for page in noted.unsure:
        here = [books.stored.get(key) == value for key, value in page.answers.items()]
        if all(here):
            stored += 1
            told[page.worker] += page.pays
            unexplained -= set(page.answers)
        elif any(here):
            problems.append(f"half of a page of {page.worker} is stored: {page.answers}")
    problems += [f"{key} is stored, and nobody sent it" for key in sorted(unexplained)]
    return Compared(
        lost=sum(books.stored.get(key) != value for key, value in noted.answers.items()),
        unsure_stored=stored,
        differs=sum(abs(books.earned[name] - told[name]) for name in {*books.earned, *told}),
        problems=problems,
    )
