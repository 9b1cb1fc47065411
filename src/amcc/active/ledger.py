"""What a campaign asked, was answered and paid: one append-only file that is its whole state.

A round is written before anybody is asked, its answers when they come. Whenever the process is killed, the file says
what was asked and what was paid, and the campaign goes on from there. Money is paid here, and reserved in
`amcc.active.basket`: a question that nobody answers was reserved, but costs nothing.

Reading trusts nothing. Every line is decoded, written again from what it says, and compared byte by byte with what
stands there: whatever a campaign would not have written is refused, with its line number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from amcc.active import chain
from amcc.active.chain import damaged
from amcc.active.crowd import check_known
from amcc.active.journal import Journal, decoded, naming_ledger
from amcc.active.prices import Money, Prices
from amcc.active.questions import NOTHING_ASKED, Triplets
from amcc.arrays import Floats, Mask, Signs
from amcc.errors import FileFormatError, ParameterError
from amcc.files import check_readable, whole_file
from amcc.tables import Frame, as_frame
from amcc.votes import Votes

__all__ = ["Ledger", "PlannedRound", "add_hashes", "answer_prices", "workers_on_record"]

# Of the file; 1 had no hashes.
FORMAT_VERSION = 2


@dataclass(frozen=True)
class PlannedRound:
    """Questions that are asked together, those on one page beside each other.

    questions : their codes; audit : (n,) whether drawn at random; utility : (n,) NaN for audits.
    fitted : whether the model was fitted again before they were chosen.
    expected_error : mean probability that a decision was wrong, before they were asked.
    """

    questions: Triplets
    audit: Mask
    utility: Floats
    fitted: bool
    expected_error: float


class Ledger:
    """All rounds and answers so far, in memory and, where there is a path, in a file.

    Attributes
    ----------
    rounds : list of PlannedRound
    head : the hash of the last line of the file, which stands for all of it, see `amcc.active.chain`. Note it down
        elsewhere where somebody could cut lines off the end. Empty where there is no file.
    asked, value, price : questions with an answer on record, (n,) its value (0: nobody answered) and its price.
    """

    def __init__(self, vocabularies: Votes, prices: Prices) -> None:
        self._vocabularies, self._prices = vocabularies, prices
        self._journal: Journal | None = None
        self.head: str = chain.START
        self._n_planned = 0
        self.rounds: list[PlannedRound] = []
        self.asked: Triplets = NOTHING_ASKED
        self.value: Signs = np.empty(0, dtype=np.int8)
        self.price: Money = np.empty(0, dtype=np.int64)

    @property
    def spent(self) -> int:
        """The sum of the prices of all answers, in minor units: what was really paid."""
        return int(self.price.sum())

    def waiting(self) -> Triplets:
        """Questions of the last round that have no answer on record yet."""
        if not self.rounds:
            return NOTHING_ASKED
        questions = self.rounds[-1].questions
        n_waiting = self._n_planned - len(self.value)
        return questions.take(np.arange(len(questions) - n_waiting, len(questions)))

    def plan(self, new: PlannedRound) -> None:
        """Record what is going to be asked."""
        # On the disk first: who is killed in between has asked nobody, and asks the same when it goes on.
        self._write([_round_line(len(self.rounds), new)])
        self._append_round(new)

    def answer(self, value: Signs) -> None:
        """Record the answers to the next questions that wait for them; they count once they are on the disk."""
        price = self._priced(value)
        self._write(self._answer_lines(value, price))
        self._append_answers(value, price)

    def table(self, frame: Frame = "pandas") -> Any:
        """Table round, item, label, worker, value, price, audit, one row per answer; value is null where nobody did."""
        number = np.repeat(np.arange(len(self.rounds)), [len(each.questions) for each in self.rounds])
        audit = np.concatenate([np.empty(0, dtype=bool), *(each.audit for each in self.rounds)])
        table = pa.table(
            {
                "round": number[: len(self.value)],
                **self.asked.named(self._vocabularies),
                "value": pa.array(self.value, mask=self.value == 0),
                "price": self.price,
                "audit": audit[: len(self.value)],
            }
        )
        return as_frame(table, frame)

    def _priced(self, value: Signs) -> Money:
        """Prices of answers to the next questions; what was answered on the same pages before counts."""
        questions = self.rounds[-1].questions
        n_before = len(questions) - len(self.waiting())
        # Answers of one page may come in two parts; the page is paid by the first of them.
        so_far = np.append(self.value[len(self.value) - n_before :], value)
        return answer_prices(questions.take(np.arange(len(so_far))), so_far, self._prices)[n_before:]

    def _append_round(self, new: PlannedRound) -> None:
        self.rounds.append(new)
        self._n_planned += len(new.questions)

    def _append_answers(self, value: Signs, price: Money) -> None:
        self.asked = self.asked.joined(self.waiting().take(np.arange(len(value))))
        self.value = np.append(self.value, value)
        self.price = np.append(self.price, price)

    def _answer_lines(self, value: Signs, price: Money) -> list[dict[str, Any]]:
        waiting, last = self.waiting(), self.rounds[-1]
        questions = waiting.take(np.arange(len(value)))
        audit = last.audit[len(last.questions) - len(waiting) :][: len(value)]
        columns = {
            **{role: names.to_pylist() for role, names in questions.named(self._vocabularies).items()},
            "value": [each or None for each in value.tolist()],
            "price": price.tolist(),
            "audit": audit.tolist(),
        }
        rows = zip(*columns.values(), strict=True)
        number = len(self.rounds) - 1
        return [{"event": "answer", "round": number, **dict(zip(columns, row, strict=True))} for row in rows]

    # -- in a file -------------------------------------------------------------------------------------------------

    def open(self, path: Path, settings: dict[str, Any], expected_head: str | None = None) -> None:
        """Read the file if there is one, drop a last line that was cut off, and write to it from now on.

        Cut off is a line without a newline, from a writer that was killed: nobody has relied on it yet. Anything else
        that a campaign does not write is an error that names the line, and the file is left alone. `expected_head`
        is a head that was noted before; the line that it is the hash of must still be there.

        Until it is closed, or the process ends, nobody else can open it this way: two campaigns on one file would pay
        for the same questions twice.
        """
        header = {"event": "campaign", "format": FORMAT_VERSION, "settings": settings}
        with naming_ledger(path):
            self._journal = Journal(path, first=header, create=expected_head is None)
            lines = self._journal.lines
            if lines:
                self._read(lines, settings)
            if expected_head is not None:
                _check_head(expected_head, lines)
            self._journal.accept()
        if not lines:  # a new campaign, or one that was killed while it wrote its settings
            self._write([header])

    def close(self) -> None:
        """Let go of the file."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _write(self, events: list[dict[str, Any]]) -> None:
        """Add lines to the file; they are on the disk when this returns."""
        if self._journal is not None:
            self._journal.write(events)
            self.head = self._journal.head

    def _read(self, lines: Sequence[bytes], settings: dict[str, Any]) -> None:
        """Take over what the lines of a ledger say, after checking that all of it fits together."""
        _check_version(lines[0])
        self.head = chain.checked_head(lines)  # all hashes, before anything in the lines is believed
        events = [_decoded(number, line) for number, line in enumerate(lines, start=1)]
        check_settings(events[0], settings)
        begins = [place for place, event in enumerate(events) if event["event"] == "round"]
        if len(events) > 1 and begins[:1] != [1]:
            raise damaged(2, "a round must follow the settings")
        for begin, end in pairwise([*begins, len(events)]):
            if len(self.waiting()):
                raise damaged(begin + 1, "the round before has questions without an answer")
            self._append_round(self._round_of(events[begin], lines[begin], begin + 1))
            self._read_answers(events[begin + 1 : end], lines[begin + 1 : end], begin + 2, settings["budget"])
        self._check_asked_once(begins)

    def _round_of(self, event: dict[str, Any], text: bytes, line: int) -> PlannedRound:
        """The round of a line, which must be what this round would be written as."""
        try:
            questions = Triplets(*(np.array(event[role], dtype=np.int64) for role in ("item", "label", "worker")))
            utility = np.array([np.nan if each is None else each for each in event["utility"]], dtype=np.float64)
            audit = np.array(event["audit"], dtype=bool)
            columns = (questions.item, questions.label, questions.worker, utility, audit)
            if {each.shape for each in columns} != {(len(audit),)} or not len(audit):
                raise ValueError("its lists must have one entry for each question")
            check_known(questions, self._vocabularies)
            new = PlannedRound(questions, audit, utility, event["fitted"] is True, float(event["expected_error"]))
            # Types that Python takes for each other (1, 1.0, true) are not the same bytes.
            if chain.encoded(_round_line(len(self.rounds), new)) != chain.unsealed(text):
                raise ValueError("it is not a round, or not the next one")
        except (ValueError, KeyError, TypeError, OverflowError) as problem:
            raise damaged(line, str(problem)) from None
        return new

    def _read_answers(self, events: Sequence[dict[str, Any]], lines: Sequence[bytes], line: int, budget: int) -> None:
        """Take over the answers of the last round; each must be to the next question, at its price."""
        given = [event.get("value") for event in events]
        if len(events) > len(self.waiting()) or not all(each in (1, -1, None) for each in given):
            raise damaged(line, "there are more answers than questions, or other answers than 1, -1 and null")
        value = np.array([each or 0 for each in given], dtype=np.int8)
        price = self._priced(value)
        for place, (text, expected) in enumerate(zip(lines, self._answer_lines(value, price), strict=True)):
            if chain.encoded(expected) != chain.unsealed(text):
                raise damaged(line + place, f"the next question of the round was {expected}")
        # Hashes can be calculated again by anybody; that money was never overspent is checked by itself.
        too_much = self.spent + np.cumsum(price) > budget
        if too_much.any():
            raise damaged(line + int(too_much.argmax()), f"with it, more is spent than the budget of {budget}")
        self._append_answers(value, price)

    def _check_asked_once(self, begins: Sequence[int]) -> None:
        """Raise FileFormatError where a question was asked in two rounds: it was paid twice, or is made up."""
        asked: set[tuple[int, ...]] = set()
        for begin, each in zip(begins, self.rounds, strict=True):
            new = each.questions.rows()
            if len(set(new)) < len(new) or not asked.isdisjoint(new):
                raise damaged(begin + 1, "it has a question that was asked before")
            asked.update(new)


def _check_head(expected: str, lines: Sequence[bytes]) -> None:
    """Raise FileFormatError unless the line with this hash is still there."""
    if expected not in map(chain.line_hash, lines):
        raise FileFormatError(
            f"the head noted before must be the hash of a line; {expected} is that of none of {len(lines)} lines. "
            "Lines at the end are missing, or the file was written again; take it from a backup."
        )


def _decoded(line: int, text: bytes) -> dict[str, Any]:
    """The event of a line."""
    return decoded(line, text, ("campaign", "round", "answer"))


def _check_version(first: bytes) -> None:
    """Raise FileFormatError, with the way out, for a ledger of the format without hashes."""
    event = _decoded(1, first)
    if event.get("format") == 1 and "hash" not in event:
        raise FileFormatError(
            "it was written by an earlier version, whose ledgers had no hashes. If it is as it was left, add them with "
            "amcc.active.ledger.add_hashes(path), once."
        )


def add_hashes(path: str | Path) -> str:
    """Turn a ledger of an earlier version, without hashes, into one with them; gives its head.

    It is taken as it is. Whether it fits together is checked when a campaign goes on with it. A last line that was cut
    off is dropped.
    """
    path = Path(path)
    check_readable(path)
    lines = path.read_bytes().split(b"\n")[:-1]
    try:
        events = [_decoded(number, line) for number, line in enumerate(lines, start=1)]
        if not events or events[0].get("format") != 1 or any("hash" in event for event in events):
            raise damaged(1, "it must hold the settings in format 1, without a hash")
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None
    with_hashes, head = chain.chained([{**events[0], "format": FORMAT_VERSION}, *events[1:]], chain.START)
    with whole_file(path) as temporary:
        temporary.write_bytes(with_hashes)
    return head


def _round_line(number: int, new: PlannedRound) -> dict[str, Any]:
    """A round as it is written. Codes, not names: a round is for the program, answers are for people."""
    return {
        "event": "round",
        "round": number,
        "fitted": new.fitted,
        "expected_error": new.expected_error,
        "item": new.questions.item.tolist(),
        "label": new.questions.label.tolist(),
        "worker": new.questions.worker.tolist(),
        # JSON has no NaN, which audits have.
        "utility": [each if math.isfinite(each) else None for each in new.utility.tolist()],
        "audit": new.audit.tolist(),
    }


def check_settings(event: dict[str, Any], settings: dict[str, Any]) -> None:
    """Raise ParameterError unless the campaign on record has these settings."""
    recorded = event.get("settings")
    if (event["event"], event.get("format")) != ("campaign", FORMAT_VERSION) or not isinstance(recorded, dict):
        raise damaged(1, f"it must hold the settings in format {FORMAT_VERSION}")
    missing = object()  # other than None, which is a setting
    names = dict.fromkeys([*settings, *recorded])
    differ = [name for name in names if recorded.get(name, missing) != settings.get(name, missing)]
    if differ:
        changes = ", ".join(f"{name} was {recorded.get(name)!r} and is {settings.get(name)!r}" for name in differ)
        raise ParameterError(
            f"a campaign must go on with the settings it began with; {changes}. Use the same, or another file."
        )


def answer_prices(questions: Triplets, value: Signs, prices: Prices) -> Money:
    """(n,) what each answer of a round costs; the first answer on a page bears its price, no answer costs nothing."""
    answered = np.flatnonzero(value)
    page = questions.item[answered] * len(prices.vote) + questions.worker[answered]  # one number per page
    first = answered[np.unique(page, return_index=True)[1]]
    price = np.zeros(len(value), dtype=np.int64)
    price[answered] = prices.vote[questions.worker[answered]]
    price[first] += prices.page_of_worker[questions.worker[first]]
    return price


def workers_on_record(path: Path) -> int | None:
    """How many workers a campaign began with, None where that is not (or not readably) on record."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            number = json.loads(file.readline())["settings"]["n_workers"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return number if isinstance(number, int) and number > 0 else None
