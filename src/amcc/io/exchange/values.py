"""What judges wrote, as yes and no: true and 1 are, `0.7` and "good" are only once somebody says so.

A label is read by one rule, for all its judgements alike. In this order:

1. `--yes A,B`, where the label has one of these values: they are a yes, its other values a no;
2. `--threshold X`, where it has numbers;
3. as it is: true and false, 1 and 0, and the words that `amcc.tables` knows (yes, no, true, false, present, absent).

Where no rule reads all values, one error shows them, label by label.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple, NoReturn

from amcc.io.exchange.decisions import Decisions, undecided
from amcc.tables import is_no, is_yes, listed, number_in

# Different values of a label that an error shows, and labels: enough to see a scale, on a few lines.
VALUES_SHOWN, LABELS_SHOWN = 6, 8


class Judgement(NamedTuple):
    """What a judge wrote about a label of an item; `values` are the fields where it may stand, the best one first."""

    worker: str
    item: str
    label: str
    values: tuple[Any, ...]
    at: str = ""

    @property
    def is_blank(self) -> bool:
        """Whether nothing was written."""
        return all(map(is_blank, self.values))


@dataclass
class Reading:
    """Judgements by label, and what they come to."""

    decisions: Decisions
    by_label: dict[str, list[Judgement]] = field(default_factory=dict)

    def add(self, judgement: Judgement) -> None:
        """One more; one without any value is not for here: nobody said anything."""
        self.by_label.setdefault(judgement.label, []).append(judgement)

    def read(self) -> Iterable[tuple[Judgement, bool]]:
        """Every judgement, with whether it is a yes. Raises InputError where a label is not readable."""
        said = {label: self._said(label, judgements) for label, judgements in self.by_label.items()}
        if open_ones := [label for label, answers in said.items() if answers is None]:
            self._refuse(open_ones, [label for label in said if label not in open_ones])
        for label, judgements in self.by_label.items():
            yield from zip(judgements, said[label] or (), strict=True)

    def _said(self, label: str, judgements: Sequence[Judgement]) -> list[bool] | None:
        """Yes or no for all judgements of a label, by the first rule that reads all of one field; else None."""
        columns = [column for column in _columns(judgements) if not any(map(is_blank, column))]
        for rule in (self._by_words, partial(self._by_threshold, label), _as_it_is):
            for column in columns:
                if (said := rule(column)) is not None:
                    return said
        return None

    def _by_words(self, column: Sequence[Any]) -> list[bool] | None:
        spelt = [spelling(value) for value in column]
        if self._yes.isdisjoint(spelt) and not (self._yes and self._noes.issuperset(spelt)):
            return None
        return [word in self._yes for word in spelt]

    def _by_threshold(self, label: str, column: Sequence[Any]) -> list[bool] | None:
        numbers, threshold = [number_of(value) for value in column], self.decisions.threshold
        if threshold is None or any(number is None for number in numbers):
            return None
        # From above 0 up to 1, the threshold reads 0 and 1 as no and yes, too.
        if not 0 < threshold <= 1 and {0.0, 1.0}.issuperset(numbers):
            others = ",".join(name for name in self.by_label if name != label)
            undecided(
                f"{label!r} has only the values 0 and 1: no and yes, or scores that --threshold {threshold:g} makes "
                "all alike?",
                f"--asked {others or 'NAMES'} to leave it out, and read it by itself",
            )
        return [number is not None and number >= threshold for number in numbers]

    @cached_property
    def _yes(self) -> frozenset[str]:
        return frozenset(map(spelling, self.decisions.yes or ()))

    @cached_property
    def _noes(self) -> set[str]:
        """Values beside those of --yes: where a label has only these, everybody said no."""
        found: set[str] = set()
        for judgements in self.by_label.values():
            for column in _columns(judgements):
                spelt = {spelling(value) for value in column if not is_blank(value)}
                found |= set() if spelt.isdisjoint(self._yes) else spelt - self._yes
        return found

    def _refuse(self, labels: list[str], readable: list[str]) -> NoReturn:
        seen = "; ".join(f"{label!r}: {self._seen(label)}" for label in labels[:LABELS_SHOWN])
        more = f"; and {len(labels) - LABELS_SHOWN} more" if len(labels) > LABELS_SHOWN else ""
        values = [value for label in labels for one in self.by_label[label] for value in one.values]
        ways = []
        if any(number_of(value) is not None for value in values):
            ways.append("--threshold X if scores from X on are a yes")
        if any(isinstance(value, str) and number_of(value) is None for value in values):
            ways.append("--yes A,B with the values that are a yes; the others are a no")
        names = ",".join(readable) or "NAME,NAME"
        ways.append(f"--asked {names} if only these are labels, and the others such things as cost")
        undecided(f"every judgement must be a yes or a no; these are neither. {seen}{more}.", *ways)

    def _seen(self, label: str) -> str:
        values = {spelling(value): value for one in self.by_label[label] for value in one.values if not is_blank(value)}
        return listed(values.values(), VALUES_SHOWN)


def _columns(judgements: Sequence[Judgement]) -> list[list[Any]]:
    """The values of each field; and last, what each judgement has in whatever field."""
    fields = [[one.values[place] for one in judgements] for place in range(len(judgements[0].values))]
    return [*fields, [next((value for value in one.values if not is_blank(value)), None) for one in judgements]]


def _as_it_is(column: Sequence[Any]) -> list[bool] | None:
    """True and false, 1 and 0, and words for them."""
    said = []
    for value in column:
        number = number_of(value)
        yes = is_yes(value) if number is None else number == 1
        no = is_no(value) if number is None else number == 0
        if not (yes or no):
            return None
        said.append(yes)
    return said


def is_blank(value: Any) -> bool:
    """Whether nothing is written; "none" and "n/a" are words that a judge chose.

    >>> is_blank(None), is_blank(" "), is_blank(0), is_blank("none")
    (True, True, False, False)
    """
    return value is None or (isinstance(value, str) and not value.strip()) or (value != value)  # NaN is not itself


def number_of(value: Any) -> float | None:
    """The number that is written there; true and false are none.

    >>> number_of("0.50"), number_of(True), number_of("good")
    (0.5, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = number_in(value)
    return float(text) if text is not None and math.isfinite(float(text)) else None


def spelling(value: Any) -> str:
    """A value as people compare it: without case, and 1.0 like 1.

    >>> spelling(" Good"), spelling(1.0), spelling(True)
    ('good', '1', 'true')
    """
    number = number_of(value)
    if number is not None:
        return f"{number:g}"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text.strip().casefold()
