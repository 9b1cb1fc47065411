"""The pairs of a consensus, what people say about a slice of them, and the shares that this gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc import tables
from amcc.arrays import Floats, Ints, Mask, find_sorted
from amcc.errors import EmptyInputError, InputError
from amcc.evaluation import read_consensus
from amcc.inference import (
    Estimate,
    Shares,
    clustered_shares,
)
from amcc.truth import PairList, Truth, positions
from amcc.votes import Votes

Rule = Literal["majority", "share"]
People = Truth | Votes


@dataclass(frozen=True)
class Pairs:
    """A consensus in codes; items are in the order of its rows."""

    item_names: pa.Array
    label_names: pa.Array
    item: Ints
    label: Ints
    probability: Floats
    present: Mask
    settled: Mask | None

    @classmethod
    def of(cls, table: Any) -> Pairs:
        """Those that a table of pairs lists."""
        listed = read_consensus(tables.as_arrow(table))
        if listed.probability is None:
            raise InputError(
                "an audit needs probabilities; the consensus has sets without them. Use what `amcc consensus` writes "
                "without --sets."
            )
        item, label = listed.item.dictionary_encode(), listed.label.dictionary_encode()
        row, column = (each.indices.to_numpy().astype(np.int64) for each in (item, label))
        probability, present, settled = listed.probability, listed.present, listed.settled
        return cls(item.dictionary, label.dictionary, row, column, probability, present, settled)

    @property
    def n_items(self) -> int:
        """Items of the consensus."""
        return len(self.item_names)

    @property
    def n_labels(self) -> int:
        """Labels of the consensus."""
        return len(self.label_names)

    @cached_property
    def keys(self) -> Ints:
        """(n_pairs,) each pair as one number."""
        return self.item * self.n_labels + self.label

    @cached_property
    def claimed_error(self) -> Floats:
        """(n_pairs,) probability that the decision is wrong, as the consensus itself says."""
        return np.where(self.present, 1 - self.probability, self.probability)


@dataclass(frozen=True)
class Answers:
    """(n_pairs,) how many people answered each pair, and how many said yes."""

    n: Ints
    yes: Ints

    def said(self, rule: Rule) -> Floats:
        """(n_pairs,) what people say, from 0 to 1; NaN where nobody was asked."""
        with np.errstate(invalid="ignore"):
            share = self.yes / self.n
        if rule == "share":
            return np.asarray(share)
        return np.asarray(np.where(self.n > 0, (np.sign(share - 0.5) + 1) / 2, np.nan))


def answers_on(pairs: Pairs, people: People) -> Answers:
    """What people say about the pairs of a consensus, where they say anything."""
    where = "the consensus"
    if isinstance(people, Truth):
        people.check_names(where, item=pairs.item_names, label=pairs.label_names)
        true, known = people.lookup(pairs.keys, pairs.item_names, pairs.label_names)
        answers = Answers(known.astype(np.int64), (true & known).astype(np.int64))
    else:
        as_truth(people).check_names(where, item=pairs.item_names, label=pairs.label_names)
        item = positions(people.item_names, pairs.item_names)[people.item]
        label = positions(people.label_names, pairs.label_names)[people.label]
        order = np.argsort(pairs.keys)
        place = places(pairs.keys[order], np.where((item >= 0) & (label >= 0), item * pairs.n_labels + label, -1))
        there, n_pairs = place >= 0, len(order)
        place = order[place[there]]
        n = np.bincount(place, minlength=n_pairs)
        answers = Answers(n, np.bincount(place[people.value[there] > 0], minlength=n_pairs))
    if not answers.n.any():
        raise EmptyInputError("people must have answered at least one pair of the consensus; they answered none.")
    return answers


def places(keys: Ints, wanted: Ints) -> Ints:
    """Place of each key among sorted ones, −1 where it is not there."""
    place, found = find_sorted(keys, wanted)
    return np.where(found, place, -1)


def as_truth(people: Votes) -> Truth:
    """What most people say; unknown where they are even."""
    pairs = PairList(*named(people, people.pairs.item, people.pairs.label))
    balance = 2 * people.n_yes - people.pairs.n_votes
    return Truth(pairs.where(balance > 0), known_pairs=pairs.where(balance != 0))


def named(votes: Votes, item: npt.NDArray[Any], label: npt.NDArray[Any]) -> tuple[pa.Array, pa.Array]:
    """Items and labels of these codes, by name."""
    names = (votes.item_names, item), (votes.label_names, label)
    first, second = (each.cast(pa.string()).take(pa.array(codes)) for each, codes in names)
    return first, second


@dataclass(frozen=True)
class Slice:
    """The pairs of a consensus that people answered; `said` is NaN at the others."""

    pairs: Pairs
    answers: Answers
    said: Floats
    level: float

    @cached_property
    def chosen(self) -> Ints:
        """Places of the pairs that people answered."""
        return np.flatnonzero(self.answers.n > 0)

    @cached_property
    def answer(self) -> Floats:
        """What they said there."""
        return self.said[self.chosen]

    @cached_property
    def item(self) -> Ints:
        """Items of these pairs."""
        return self.pairs.item[self.chosen]

    @cached_property
    def n_items(self) -> int:
        """Items that people answered."""
        return len(np.unique(self.item))

    @property
    def left(self) -> float:
        """Share of the pairs that people did not answer."""
        return 1 - len(self.chosen) / len(self.pairs.item)

    @cached_property
    def wrong(self) -> Floats:
        """Share of people, or of what most of them say, that is against the decision."""
        return np.abs(self.pairs.present[self.chosen] - self.answer)

    def shares(
        self, value: Floats, group: Ints, n_groups: int, place: Ints | None = None, weight: Floats | None = None
    ) -> Shares:
        """Means by group over these pairs, or those at `place` among them; pairs of one item may err together."""
        item = self.item if place is None else self.item[place]
        return clustered_shares(value, group, item, n_groups, self.level, left=self.left, weight=weight)

    def share(self, value: Floats, place: Ints) -> Estimate:
        """The mean over those at `place`."""
        return self.shares(value, np.zeros(len(place), np.int64), 1, place).at(0)


def table_of(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table, see `with_blanks`."""
    return with_blanks(pa.Table.from_pylist(rows))


def with_blanks(table: pa.Table) -> pa.Table:
    """The same table, in which numbers that are not defined are missing."""
    columns = [
        pa.array(column.to_numpy(), from_pandas=True) if pa.types.is_floating(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)
