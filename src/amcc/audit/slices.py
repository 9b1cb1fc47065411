"""The pairs of a consensus, what people say about a slice of them, and the shares that this gives.

`ConsensusPairs` is everything, `PeopleAnswers` what people said about some of it, `Slice` both together. Arrays of a
slice have one entry per answered pair, in the order of the consensus; *places* count among these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc import tables
from amcc.arrays import AnyInts, Floats, Ints, Mask, find_sorted
from amcc.errors import EmptyInputError, InputError
from amcc.evaluation import nothing_left, read_consensus
from amcc.inference import SliceEstimate, SliceShares, clustered_shares
from amcc.truth import PairList, Truth, positions
from amcc.votes import Votes

AnswerRule = Literal["majority", "share"]  # what several people say: what most say, or the share of yes
People = Truth | Votes


@dataclass(frozen=True)
class ConsensusPairs:
    """A consensus in codes; items are in the order of its rows.

    item, label : (n_pairs,) codes of `item_names` and `label_names`
    probability, present : (n_pairs,) of presence, and what was decided
    settled : (n_pairs,) as the consensus has it, None where it does not say
    told : (n_pairs,) what the consensus was told, and did not find out
    by_reference : (n_pairs,) those of them that it took from workers who are the reference
    """

    item_names: pa.Array
    label_names: pa.Array
    item: Ints
    label: Ints
    probability: Floats
    present: Mask
    settled: Mask | None
    told: Mask
    by_reference: Mask

    @classmethod
    def of(cls, table: Any, *, count_told: bool = False) -> ConsensusPairs:
        """Those that a table of pairs lists; `count_told` as in `amcc.evaluate`."""
        listed = read_consensus(tables.as_arrow(table), count_told=count_told)
        if listed.probability is None:
            raise InputError(
                "an audit needs probabilities; the consensus has sets without them. Use what `amcc consensus` writes "
                "without --sets."
            )
        # Codes are given in the order of the rows, so that the place of an item in the file can be told (`doubts`).
        item, label = listed.item.dictionary_encode(), listed.label.dictionary_encode()
        row, column = (each.indices.to_numpy().astype(np.int64) for each in (item, label))
        said = listed.probability, listed.present, listed.settled
        told = listed.told, listed.told & listed.by_reference
        return cls(item.dictionary, label.dictionary, row, column, *said, *told)

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
        """(n_pairs,) each pair as one number, by which pairs are looked up."""
        return self.item * self.n_labels + self.label

    def where(self, chosen: Mask) -> ConsensusPairs:
        """Those that a mask chooses, and their items, as if there were no others."""
        items, item = np.unique(self.item[chosen], return_inverse=True)
        labels, label = np.unique(self.label[chosen], return_inverse=True)
        settled = None if self.settled is None else self.settled[chosen]
        names = self.item_names.take(pa.array(items)), self.label_names.take(pa.array(labels))
        probability, present = self.probability[chosen], self.present[chosen]
        told = self.told[chosen], self.by_reference[chosen]
        return ConsensusPairs(*names, item, label, probability, present, settled, *told)

    def places_of(self, votes: Votes, chosen: Ints) -> Ints:
        """(n_votes,) place of each vote's pair among the chosen pairs, −1 where it is not there.

        Names decide, not codes: the votes may know other items and labels than the consensus.
        """
        item = positions(votes.item_names, self.item_names)[votes.item]
        label = positions(votes.label_names, self.label_names)[votes.label]
        order = np.argsort(self.keys[chosen])
        key = np.where((item >= 0) & (label >= 0), item * self.n_labels + label, -1)
        place, found = find_sorted(self.keys[chosen][order], key)
        return np.where(found, order[place], -1)

    @cached_property
    def claimed_error(self) -> Floats:
        """(n_pairs,) probability that the decision is wrong, as the consensus itself says."""
        return np.where(self.present, 1 - self.probability, self.probability)


@dataclass(frozen=True)
class PeopleAnswers:
    """(n_pairs,) how many people answered each pair, and how many said yes."""

    n: Ints
    yes: Ints

    def said(self, rule: AnswerRule) -> Floats:
        """(n_pairs,) what people say, from 0 to 1; NaN where nobody was asked."""
        with np.errstate(invalid="ignore"):
            share = self.yes / self.n
        if rule == "share":
            return np.asarray(share)
        # Half a yes where people are even: either decision is then half wrong.
        return np.asarray(np.where(self.n > 0, (np.sign(share - 0.5) + 1) / 2, np.nan))


def answers_on(pairs: ConsensusPairs, people: People) -> PeopleAnswers:
    """What people say about the pairs of a consensus, where they say anything."""
    truth = people if isinstance(people, Truth) else as_truth(people)
    truth.check_names("the consensus", item=pairs.item_names, label=pairs.label_names)
    if isinstance(people, Truth):
        true, known = people.lookup(pairs.keys, pairs.item_names, pairs.label_names)
        answers = PeopleAnswers(known.astype(np.int64), (true & known).astype(np.int64))
    else:
        place = pairs.places_of(people, np.arange(len(pairs.keys)))
        answered, yes = (place[chosen & (place >= 0)] for chosen in (True, people.value > 0))
        n, n_yes = (np.bincount(each, minlength=len(pairs.keys)) for each in (answered, yes))
        answers = PeopleAnswers(n, n_yes)
    if not answers.n.any():
        raise EmptyInputError("people must have answered at least one pair of the consensus; they answered none.")
    return answers


def without_own(votes: Votes, people: People) -> tuple[People, int]:
    """The answers of people that are not among the votes, and how many are.

    An answer is the same where the same person said the same about the pair. Where one of them said something else,
    people were asked again, or others have their names: then all answers stay, and `doubts.own_votes` warns.
    """
    if isinstance(people, Truth):
        return people, 0
    place = [
        positions(getattr(people, f"{role}_names"), getattr(votes, f"{role}_names"))[getattr(people, role)]
        for role in ("worker", "item", "label")
    ]

    def keys(worker: AnyInts, item: AnyInts, label: AnyInts) -> Ints:
        return (worker.astype(np.int64) * votes.n_items + item) * votes.n_labels + label

    asked, voted = keys(*place), keys(votes.worker, votes.item, votes.label)
    own = np.isin(asked, voted) & (np.min(place, axis=0) >= 0)
    if not np.isin(2 * asked[own] + (people.value[own] > 0), 2 * voted + (votes.value > 0)).all():
        return people, 0
    if own.all():
        raise InputError(
            f"a consensus must be measured by answers that it has not seen; all {len(own):,} of the slice are among "
            "the votes, by the same people. Take these people out of the votes, or ask others about the slice."
        )
    return people.select(~own), int(own.sum())


def without_told(pairs: ConsensusPairs, answers: PeopleAnswers) -> tuple[ConsensusPairs, PeopleAnswers, int, int]:
    """What may be measured: the pairs that the consensus was not told, and the answers; and how many answers go.

    The last is how many of these it took from the reference. The rest of the audit is about these pairs alone. Told
    ones are right, and would make the others look so.
    """
    if not pairs.told.any():
        return pairs, answers, 0, 0
    mine, n_answered = ~pairs.told, int((answers.n > 0).sum())
    n_reference = int((answers.n[pairs.by_reference] > 0).sum())
    kept = PeopleAnswers(answers.n[mine], answers.yes[mine])
    if not kept.n.any():
        raise nothing_left(n_answered, n_reference)
    return pairs.where(mine), kept, n_answered - int((kept.n > 0).sum()), n_reference


def as_truth(people: Votes) -> Truth:
    """What most people say; unknown where they are even."""
    # Known are pairs on which a majority is for yes or for no; where people are even, nobody knows.
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
    """The pairs of a consensus that people answered.

    said : (n_pairs,) what people say, from 0 to 1; NaN where nobody was asked. level : of the intervals.
    """

    pairs: ConsensusPairs
    answers: PeopleAnswers
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
        """Share of the pairs that people did not answer: as it falls to 0, so do all errors."""
        return 1 - len(self.chosen) / len(self.pairs.item)

    @cached_property
    def wrong(self) -> Floats:
        """Share of people, or of what most of them say, that is against the decision."""
        return np.abs(self.pairs.present[self.chosen] - self.answer)

    def shares(
        self, value: Floats, group: Ints, n_groups: int, place: Ints | None = None, weight: Floats | None = None
    ) -> SliceShares:
        """Means by group over these pairs, or those at `place` among them; pairs of one item may err together."""
        item = self.item if place is None else self.item[place]
        return clustered_shares(value, group, item, n_groups, self.level, left=self.left, weight=weight)

    def share(self, value: Floats, place: Ints) -> SliceEstimate:
        """The mean over those at `place`."""
        return self.shares(value, np.zeros(len(place), np.int64), 1, place).at(0)


def rows_to_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows as a table, see `with_blanks`."""
    return with_blanks(pa.Table.from_pylist(rows))


def with_blanks(table: pa.Table) -> pa.Table:
    """The same table, in which NaN is missing: JSON and spreadsheets have no NaN."""
    columns = [
        pa.array(column.to_numpy(), from_pandas=True) if pa.types.is_floating(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)
