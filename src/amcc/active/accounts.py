"""What was asked, answered and paid, over many calls of `amcc next`: one budget, one append-only file.

    with Account.open("money.jsonl", budget="20.00", decimals=2) as account:
        found = next_questions(votes, account=account, prices={"ann": "0.08"}, decimals=2)
        account.balance     # budget = paid + due + reserved + left

A question *waits* from the moment it is chosen, and its price is reserved. When the votes hold an answer to it, it is
*answered* and its price is due to its worker. One that will never be answered can be *released*: its money is free
again, and it may be asked again. An answer that comes in spite of that is due like any other, for somebody has given
it; only by that can more be due than is left.

The file is a journal (`amcc.active.journal`) with one line per event: account (the budget at the start), budget
(another one), asked (a batch: whole or not at all), answered, released, paid. It holds the names of workers, which may
be personal data. What happens is first noted in memory; `save` puts it on the disk, all together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from amcc.active import chain
from amcc.active.bookkeeping import FIELDS, FORMAT_VERSION, ROLES, Balance, Record, WorkerAccount, require
from amcc.active.chain import damaged
from amcc.active.journal import Journal, decoded, naming_ledger
from amcc.active.prices import as_number, budget_units, major_units
from amcc.active.questions import NOTHING_ASKED, Triplets
from amcc.arrays import Mask, find_sorted
from amcc.errors import FileFormatError, InputError, OutOfMoneyError, ParameterError
from amcc.tables import Frame, as_frame
from amcc.truth import positions
from amcc.votes import Votes

__all__ = ["Account", "Balance", "WorkerAccount"]


class Account:
    """A budget, and what became of it: the questions on record with their prices, and who was paid.

    Open it with `Account.open`, best in a `with` block, which lets go of the file at its end.

    Attributes
    ----------
    decimals : digits after the point in which amounts are written.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "money.jsonl"
    >>> with Account.open(path, budget="1.00", decimals=2) as account:
    ...     account.ask({"item": ["one"], "label": ["cat"], "worker": ["ann"]}, price=[8], page=[0])
    ...     account.save()
    >>> with Account.open(path) as account:
    ...     account.balance, account.balance.left
    (Balance(budget=100, paid=0, due=0, reserved=8), 92)
    """

    def __init__(self, path: Path, journal: Journal, record: Record) -> None:
        self._path, self._journal, self._record = path, journal, record
        self._unsaved: list[dict[str, Any]] = []

    @classmethod
    def open(cls, path: str | Path, *, budget: Any = None, decimals: int | None = None, create: bool = True) -> Account:
        """Read the account in a file, or begin one there; nobody else can use it until it is closed.

        budget : what may be spent, from the first call to the last, as a person writes it. Needed to begin; later it
            may be left out, and must be the same otherwise (see `change_budget`).
        decimals : digits after the point of all amounts; 0 in a new account, unless it is given.
        create : begin an account where there is no file.
        """
        path = Path(path)
        if not path.exists() and (budget is None or not create):
            way_out = "Give a budget, which begins it." if create else "Check its name."
            raise InputError(f"the ledger {path} does not exist. {way_out}")
        decimals = 0 if budget is not None and decimals is None else decimals
        units = None if budget is None else budget_units(budget, decimals or 0)
        begun = {"format": FORMAT_VERSION, "decimals": decimals or 0, "budget": units}
        record = Record()
        with naming_ledger(path):
            journal = Journal(path, first={"event": "account", **begun}, create=create)
            try:
                _read(record, journal.lines)
                if not journal.lines and units is None:
                    raise FileFormatError("it holds no account yet. Give a budget, which begins one.")
                if journal.lines:
                    _check_same(record, units, decimals)
                journal.accept()
            except BaseException:
                journal.close()
                raise
        account = cls(path, journal, record)
        if not journal.lines:  # a new account, or one that was killed while it was begun
            account._note("account", **begun)
        return account

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; what was not saved is forgotten."""
        self._journal.close()

    def save(self) -> None:
        """Write down all that was noted; it is on the disk when this returns."""
        if self._unsaved:
            self._journal.write(self._unsaved)
            self._unsaved = []

    def _note(self, event: str, /, **content: Any) -> None:
        """Take over an event, to be written by `save`."""
        line = {"event": event, **content}
        try:
            self._record.apply(line)
        except ValueError as problem:
            raise ParameterError(f"{self._path}: {event} cannot be noted: {problem}.") from None
        self._unsaved.append(line)

    # -- what there is ---------------------------------------------------------------------------------------------

    @property
    def decimals(self) -> int:
        """Digits after the point in which amounts are written."""
        return self._record.decimals

    @property
    def balance(self) -> Balance:
        """Where the money is."""
        return self._record.balance

    @property
    def head(self) -> str:
        """The hash of the last line on the disk, which stands for the whole file, see `amcc.active.chain`."""
        return self._journal.head

    def text(self, units: int) -> str:
        """Minor units as amounts of this account are written."""
        return major_units(units, self.decimals)

    def workers(self) -> list[WorkerAccount]:
        """Everybody who was asked: those who are due most first."""
        return sorted(self._record.people.values(), key=lambda each: (-each.due, each.worker))

    def waiting(self, frame: Frame = "pandas") -> Any:
        """Table item, label, worker, price of the questions that wait for an answer, as they were asked.

        A page that is paid with its first answer adds its fee to the first of its questions here, unless it is due.
        """
        rows, paged = [], set()
        for each in self._record.questions:
            if each.state == "waiting":
                fee = 0 if each.page.answered or id(each.page) in paged else each.page.fee
                paged.add(id(each.page))
                rows.append((each.item, each.label, each.worker, self.amount(each.price + fee)))
        columns = zip(*rows, strict=True) if rows else ([], [], [], [])
        kinds = (pa.string(), pa.string(), pa.string(), pa.float64() if self.decimals else pa.int64())
        arrays = [pa.array(list(column), kind) for column, kind in zip(columns, kinds, strict=True)]
        return as_frame(pa.table(dict(zip((*ROLES, "price"), arrays, strict=True))), frame)

    def amount(self, units: int) -> float:
        """Minor units as the number that a person writes."""
        return as_number(units, self.decimals)

    # -- what happens ----------------------------------------------------------------------------------------------

    def ask(self, names: Mapping[str, Sequence[str]], price: Iterable[int], page: Iterable[int]) -> None:
        """Note questions that are going to be asked: their prices, and which part of them is for their page."""
        columns = {role: list(map(str, names[role])) for role in ROLES}
        if columns["item"]:
            self._note("asked", **columns, price=list(map(int, price)), page=list(map(int, page)))

    def note_answers(self, votes: Votes) -> int:
        """Note which questions on record are answered in the votes now, and give their number.

        An answer on record stays due where its vote is not there any more. Where none is there, the votes are others.
        """
        record = self._record
        found = self._are_answered(votes, numbers := list(record.latest.values()))
        done = np.array([record.questions[number].state == "answered" for number in numbers], dtype=bool)
        if done.any() and not (found & done).any():
            raise InputError(
                f"{self._path} must be the ledger of these votes; none of its {done.sum():,} answers is among them. "
                "Name the votes that were asked for with this ledger, or another ledger."
            )
        if (found & ~done).any():
            self._note("answered", question=sorted(np.array(numbers)[found & ~done].tolist()))
        return int((found & ~done).sum())

    def release(self) -> int:
        """Give up the questions that wait: their money is free, and they may be asked again. Gives their number."""
        if numbers := self._record.waiting():
            self._note("released", question=numbers)
        return len(numbers)

    def change_budget(self, budget: Any) -> None:
        """From now on, this much may be spent, what was spent before included."""
        units, now = budget_units(budget, self.decimals), self.balance
        if units < (least := now.budget - now.left) and units < now.budget:
            raise InputError(
                f"the budget must not be below what is paid, due and reserved, {self.text(least)}; got {budget}. "
                "Release questions that wait, or give more."
            )
        if units != now.budget:
            self._note("budget", budget=units)

    def pay(self, amounts: Mapping[str, int]) -> None:
        """Note that these workers were paid these minor units, each at most what is due."""
        if amounts:
            self._note("paid", worker=list(amounts), amount=list(amounts.values()))

    def before_asking(self, votes: Votes) -> tuple[int, Triplets]:
        """What new questions may cost, and what waits, after the answers among the votes were noted."""
        self.note_answers(votes)
        return self.balance.left, self.waiting_in(votes)

    def stop_out_of_money(self, cheapest: int) -> None:
        """Save what was noted, and raise OutOfMoneyError: what is left does not pay for a vote that costs this."""
        now = self.balance
        if now.left == now.budget:
            return  # nothing was ever spent: the budget itself is too small
        self.save()
        waits = f" {self.text(now.reserved)} is reserved for answers that are awaited (release)." * (now.reserved > 0)
        raise OutOfMoneyError(
            f"{self.text(now.left)} is left of the budget of {self.text(now.budget)}, and a vote costs at least "
            f"{self.text(cheapest)}: nothing can be asked.{waits} More money: change_budget."
        )

    # -- beside votes ----------------------------------------------------------------------------------------------

    def waiting_in(self, votes: Votes) -> Triplets:
        """The questions that wait, by the codes of the votes, which must know all that they are about."""
        numbers = self._record.waiting()
        if not numbers:
            return NOTHING_ASKED
        codes = self._codes(votes, numbers)
        for role, way_out in (
            ("item", "Add it to the items (items=…), or name the votes of this ledger."),
            ("label", "Add it to the labels (labels=…), or name the votes of this ledger."),
            ("worker", "Put them into the price list again, or give up what waits (release)."),
        ):
            unknown = np.flatnonzero(getattr(codes, role) < 0)
            if unknown.size:
                name = getattr(self._record.questions[numbers[unknown[0]]], role)
                place = "who has not voted and has no price" if role == "worker" else "which the votes do not know"
                raise InputError(
                    f"{self._path} has a question that waits, with the {role} {name!r}, {place}. {way_out}"
                )
        return codes

    def _codes(self, votes: Votes, numbers: Sequence[int]) -> Triplets:
        """Codes of questions in the vocabularies of the votes; −1 for names that they do not have."""
        questions = [self._record.questions[number] for number in numbers]
        names = (pa.array([getattr(each, role) for each in questions], pa.string()) for role in ROLES)
        vocabularies = (getattr(votes, f"{role}_names") for role in ROLES)
        return Triplets(*(positions(each, known) for each, known in zip(names, vocabularies, strict=True)))

    def _are_answered(self, votes: Votes, numbers: Sequence[int]) -> Mask:
        """(n,) which of these questions the votes have an answer to."""
        if not numbers or not len(votes):
            return np.zeros(len(numbers), dtype=bool)
        codes = self._codes(votes, numbers)
        known = (codes.item >= 0) & (codes.label >= 0) & (codes.worker >= 0)
        there: Mask = find_sorted(Triplets.of_votes(votes).keys(votes), codes.keys(votes))[1]
        return known & there


def _read(record: Record, lines: Sequence[bytes]) -> None:
    """Take over the lines of a file; each must be what an account writes, in this order."""
    if not lines:
        return
    if decoded(1, lines[0], ("account", "campaign"))["event"] == "campaign":
        raise FileFormatError(
            "this is the ledger of a Campaign, which keeps its own account. Name another file for amcc next and pay."
        )
    chain.checked_head(lines)  # all hashes, before anything in the lines is believed
    for number, line in enumerate(lines, start=1):
        event = decoded(number, line, tuple(FIELDS))
        event.pop("hash")
        try:
            require((event["event"] == "account") == (number == 1), "an account begins with its budget, once")
            # Types that Python takes for each other (1, 1.0, true) are not the same bytes.
            require(chain.encoded(event) == chain.unsealed(line), "it is spelt in another way")
            record.apply(event)
        except (ValueError, TypeError) as problem:
            raise damaged(number, str(problem)) from None


def _check_same(record: Record, budget: int | None, decimals: int | None) -> None:
    """Raise ParameterError where the account on record was begun with other decimals, or has another budget."""
    if decimals is not None and decimals != record.decimals:
        raise ParameterError(f"decimals must be {record.decimals}, as in the ledger; got {decimals}.")
    if budget is not None and budget != record.budget:
        was, now = (major_units(units, record.decimals) for units in (record.budget, budget))
        raise ParameterError(
            f"budget must be the ledger's own, {was}, or be left out; got {now}. It holds for all calls together. To "
            f"change it, use change_budget({now})."
        )
