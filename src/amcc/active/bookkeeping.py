"""What an account holds in memory: questions with their money, and workers with what they earned and were paid.

Every event goes through `Record.apply`, be it new or read from a file (`amcc.active.accounts`), and what could not have
happened is refused there: a question that is asked twice, a payment of more than is due, a batch that costs more than
is left. So the sums always add up: budget = paid + due + reserved + left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from amcc.active.prices import minor_units

__all__ = ["Balance", "Record", "WorkerAccount"]

# Of the file.
FORMAT_VERSION = 1

# What each event says, in the order in which it is written.
FIELDS: dict[str, tuple[str, ...]] = {
    "account": ("format", "decimals", "budget"),
    "budget": ("budget",),
    "asked": ("item", "label", "worker", "price", "page"),
    "answered": ("question",),
    "released": ("question",),
    "paid": ("worker", "amount"),
}

ROLES = ("item", "label", "worker")

State = Literal["waiting", "answered", "released"]


@dataclass(frozen=True)
class Balance:
    """Where the money is, in minor units: budget = paid + due + reserved + left."""

    budget: int
    paid: int
    due: int
    reserved: int

    @property
    def left(self) -> int:
        """What new questions may cost; below 0 where released questions were answered after all."""
        return self.budget - self.paid - self.due - self.reserved


@dataclass
class WorkerAccount:
    """What one worker was asked and gets; money in minor units. `earned` is what was paid and what is due."""

    worker: str
    waiting: int = 0
    answered: int = 0
    released: int = 0
    reserved: int = 0
    earned: int = 0
    paid: int = 0

    @property
    def due(self) -> int:
        """What is to be paid now."""
        return self.earned - self.paid


@dataclass
class Page:
    """Questions of one batch on one page: its fee is due once, with the first answer."""

    fee: int = 0
    waiting: int = 0
    answered: int = 0
    released: int = 0

    @property
    def state(self) -> State:
        """Whether its fee is due, reserved or free."""
        return "answered" if self.answered else "waiting" if self.waiting else "released"


@dataclass
class Question:
    """A question on record. `price` is that of the vote; the fee of its page is counted with the page."""

    item: str
    label: str
    worker: str
    price: int
    page: Page
    state: State

    @property
    def key(self) -> tuple[str, str, str]:
        """What is asked of whom."""
        return self.item, self.label, self.worker


@dataclass
class Record:
    """All that was recorded, in memory. Every event goes through `apply`, be it read or new."""

    decimals: int = 0
    budget: int = 0
    questions: list[Question] = field(default_factory=list)
    people: dict[str, WorkerAccount] = field(default_factory=dict)
    # Number of the last question with this content: a released one may have been asked again.
    latest: dict[tuple[str, str, str], int] = field(default_factory=dict)

    @property
    def balance(self) -> Balance:
        """Where the money is."""
        people = self.people.values()
        paid, reserved = (sum(getattr(each, what) for each in people) for what in ("paid", "reserved"))
        return Balance(self.budget, paid, sum(each.due for each in people), reserved)

    def waiting(self) -> list[int]:
        """Numbers of the questions that wait for an answer."""
        return [number for number, each in enumerate(self.questions) if each.state == "waiting"]

    def apply(self, event: Mapping[str, Any]) -> None:
        """Take over an event; ValueError, and nothing is changed, where it could not have happened."""
        name = event["event"]
        require(tuple(event)[1:] == FIELDS[name], f"its fields must be {', '.join(FIELDS[name])}")
        getattr(self, f"_{name}")(*(event[field] for field in FIELDS[name]))

    def _account(self, version: Any, decimals: Any, budget: Any) -> None:
        require(version == FORMAT_VERSION, f"its format must be {FORMAT_VERSION}")
        require(not self.budget, "it must be the first")
        minor_units(0, decimals)  # refuses what cannot be a number of decimals
        require(_is_count(budget) and budget > 0, "its budget must be above 0")
        self.decimals, self.budget = decimals, budget

    def _budget(self, budget: Any) -> None:
        require(_is_count(budget), "a budget must be a whole number")
        now = self.balance
        require(budget >= min(self.budget, now.budget - now.left), "its budget is below what is spent and reserved")
        self.budget = budget

    def _asked(self, item: Any, label: Any, worker: Any, price: Any, page: Any) -> None:
        columns = (item, label, worker, price, page)
        require(all(isinstance(each, list) for each in columns) and {len(each) for each in columns} == {len(item)},
                 "its lists must have one entry for each question")  # fmt: skip
        require(all(isinstance(name, str) for names in columns[:3] for name in names), "names must be text")
        require(all(map(_is_count, [*price, *page])), "prices must be whole numbers")
        require(all(fee <= whole for fee, whole in zip(page, price, strict=True)), "a page is a part of the price")
        keys = list(zip(item, label, worker, strict=True))
        require(len(set(keys)) == len(keys) > 0, "it must ask something, and nothing twice")
        require(not any(self._is_open_or_done(key) for key in keys), "it has a question that was asked before")
        require(sum(price) <= self.balance.left, "it costs more than was left")
        pages: dict[tuple[str, str], Page] = {}
        for key, whole, fee in zip(keys, price, page, strict=True):
            sheet = pages.setdefault((key[0], key[2]), Page())
            self.latest[key] = len(self.questions)
            self.questions.append(Question(*key, whole - fee, sheet, "waiting"))
            person = self.people.setdefault(key[2], WorkerAccount(key[2]))
            sheet.fee, sheet.waiting, person.waiting = sheet.fee + fee, sheet.waiting + 1, person.waiting + 1
            person.reserved += whole

    def _is_open_or_done(self, key: tuple[str, str, str]) -> bool:
        return key in self.latest and self.questions[self.latest[key]].state != "released"

    def _answered(self, numbers: Any) -> None:
        self._check_numbers(numbers, ("waiting", "released"))
        require(all(self.latest[self.questions[n].key] == n for n in numbers), "a question was asked again since")
        self._move(numbers, "answered")

    def _released(self, numbers: Any) -> None:
        self._check_numbers(numbers, ("waiting",))
        self._move(numbers, "released")

    def _check_numbers(self, numbers: Any, states: Sequence[State]) -> None:
        require(isinstance(numbers, list) and all(map(_is_count, numbers)), "it must number questions")
        require(len(set(numbers)) == len(numbers) > 0 and max(numbers) < len(self.questions), "there is no such one")
        require(all(self.questions[n].state in states for n in numbers), f"a question was not {' or '.join(states)}")

    def _move(self, numbers: Iterable[int], state: State) -> None:
        """Questions change their state, and their money goes along."""
        for number in numbers:
            question = self.questions[number]
            page, person = question.page, self.people[question.worker]
            _add_money(person, page.state, -page.fee)
            _add_money(person, question.state, -question.price)
            for counts in (page, person):
                setattr(counts, question.state, getattr(counts, question.state) - 1)
                setattr(counts, state, getattr(counts, state) + 1)
            question.state = state
            _add_money(person, question.state, question.price)
            _add_money(person, page.state, page.fee)

    def _paid(self, workers: Any, amounts: Any) -> None:
        require(isinstance(workers, list) and isinstance(amounts, list), "it must have a list of workers and amounts")
        require(len(workers) == len(amounts) == len(set(workers)) > 0, "every worker must have one amount")
        for worker, amount in zip(workers, amounts, strict=True):
            due = self.people[worker].due if worker in self.people else 0
            require(_is_count(amount) and 0 < amount <= due, f"{worker!r} was not due {amount!r}")
        for worker, amount in zip(workers, amounts, strict=True):
            self.people[worker].paid += amount


def _add_money(person: WorkerAccount, state: State, units: int) -> None:
    """Money of answered questions is earned, of waiting ones reserved; of released ones there is none."""
    if state == "answered":
        person.earned += units
    elif state == "waiting":
        person.reserved += units


def require(holds: bool, problem: str) -> None:
    """Raise ValueError with the problem unless it holds."""
    if not holds:
        raise ValueError(problem)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0  # True is an int to Python, and no amount
