"""Groups of labels of which exactly one is true: the choice that an item poses, and the one label that it gets.

A question with one answer ("factual, mixed or opinion?") is a group of labels that exclude each other. A *choice* is
one item and one such group: the asked pairs of the item whose labels are in the group. Here is what every model and
table needs of it; how groups become known, and how votes on them are read, is in `default/exclusive.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa

from amcc.arrays import AnyInts, Codes, Floats, Ints, Mask, Signs, distinct
from amcc.consensus.matching import known_or_mean, new_code
from amcc.decode import Rule, check_rule
from amcc.decode import decode as decode_sets
from amcc.engine.base import Block, WholeBlock
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.votes import Votes

Basis = Literal["declared", "learned", "none"]

NO_GROUP = -1
MOST_NAMED = 6  # label names in a sentence


@dataclass(frozen=True)
class Choices:
    """The choices in which exactly one of the asked labels is taken to be true.

    place : (n,) places among the pairs, those of one choice together; start : (n_choices,) where each choice begins
    of : (n,) the choice of each; absent : (n,) whether known truth says that the label is not the true one
    """

    place: Ints
    start: Ints
    of: Ints
    absent: Mask

    @classmethod
    def among(cls, block: Block, group: Codes) -> Choices:
        """Those in a block; (n_labels,) `group` of each label, −1 for labels that exclude no other.

        One label is true where all labels of the group were asked about, or several of them and somebody said yes to
        one: the true label is among those that were on offer. Elsewhere it may be one that nobody was asked about.
        Known truth decides by itself: that a label is true, or that none of those is which were asked about.
        """
        pairs, n_groups = block.pairs, int(group.max(initial=NO_GROUP)) + 1
        place = np.flatnonzero(group[pairs.label] >= 0)
        key = pairs.item[place].astype(np.int64) * n_groups + group[pairs.label[place]]
        found, of = distinct(key, int(key.max(initial=-1)) + 1)
        sign = block.known[place] if len(block.known) else np.zeros(len(place), np.int8)
        of_pairs = np.ones(len(place)), block.n_yes[place], sign > 0, sign == 0
        asked, said, told, unknown = (np.bincount(of, each, len(found)) for each in of_pairs)
        all_asked = asked == np.bincount(group[group >= 0])[found % n_groups]
        decided = (told > 0) | ((asked > 1) & (all_asked | (said > 0)) & (unknown > 0))
        kept = np.flatnonzero(decided[of])
        kept = kept[np.argsort(of[kept], kind="stable")]  # pairs are sorted by item, not by group
        absent = np.where(told[of] > 0, sign <= 0, sign != 0)[kept]
        choice = (np.cumsum(decided) - 1)[of[kept]]
        return cls(place[kept], np.flatnonzero(np.diff(choice, prepend=-1)), choice, absent)

    def shares(self, log_odds: Floats) -> Floats:
        """(n,) shares that sum to one in each choice, from (n,) logarithms that are known up to a constant of each."""
        possible = np.where(self.absent, -np.inf, log_odds)
        shifted = np.exp(possible - np.maximum.reduceat(possible, self.start)[self.of])
        return np.asarray(shifted / np.add.reduceat(shifted, self.start)[self.of])


@dataclass(frozen=True)
class ChosenLabels:
    """Which label every choice got.

    group : (n_labels,) group of each label of the items, −1 for none
    pair : (n_pairs,) +1 the label that was chosen, −1 another of a choice that is decided, 0 a pair of no such choice
    """

    group: Annotated[Codes, Each("label of items", least=NO_GROUP)]
    pair: Annotated[Signs, Each("pair", least=-1)]

    def decode(self, proba: Floats, where: tuple[Any, Any], rule: Rule, k: int | None) -> Mask:
        """Label sets, pairs being at `where` (items, labels): the chosen labels, and by a rule those of no choice."""
        check_rule(rule, k)
        if rule == "top_k":
            raise ParameterError(
                "decode='top_k' gives each item a fixed number of labels, but here labels exclude each other: an item "
                "gets exactly one of each group. Leave it out, or fit with exclusive=False (command line: leave "
                "--decode out, or say --exclusive none)."
            )
        free = proba.copy()
        free[where] = np.where(self.pair == 0, free[where], 0.0)
        sets = decode_sets(free, rule, k)
        sets[where] |= self.pair > 0
        return sets

    def rules_out(self, items: AnyInts, n_items: int, labels: AnyInts, asked: AnyInts) -> Mask:
        """(n_items, len(labels)) where a choice excludes labels, asked or not; `items` and `asked` labels of pairs."""
        decided = np.zeros((n_items, int(self.group.max()) + 2), dtype=bool)  # the last column: labels of no group
        here = self.pair != 0
        decided[items[here], self.group[asked[here]]] = True
        return decided[:, self.group[labels]]


def one_label_each(votes: Votes, proba: Floats, group: Codes, known: Signs) -> tuple[Floats, ChosenLabels]:
    """(n_pairs,) probabilities that sum to one in each choice, and the label that it gets: the likeliest.

    A label that is known to be present makes the others of its group absent; one that is known to be absent leaves its
    share to the others.
    """
    choices = Choices.among(WholeBlock(votes, known), group)
    place, result, chosen = choices.place, proba.copy(), np.zeros(len(proba), np.int8)
    # What is left when truth takes a label away may be 0 by rounding.
    result[place] = choices.shares(np.log(np.maximum(proba[place], np.finfo(float).tiny)))
    likeliest = place[np.lexsort((-result[place], choices.of))[choices.start]]  # the first of equals
    chosen[place], chosen[likeliest] = -1, 1
    return result, ChosenLabels(group, chosen)


@dataclass(frozen=True)
class SingleChoice:
    """Which labels exclude each other, on what grounds, and what was learned about workers and labels of choices.

    basis : declared by the user, learned from the answers, or none (no label excludes another)
    group : (n_labels,) the group of each label, −1 for labels that exclude no other; names : of the groups
    answers : how many answers were asked about several labels of a group; single : those with exactly one yes. Where no
        label excludes another, both are 0 unless it looks as if they did
    right : (n_workers, n_groups) how often workers choose the true label; one column of zeros where there is no group
    frequency, mistaken : (n_labels,) how often a label of a group is the true one, and what wrong choices fall on
    """

    basis: Basis
    names: tuple[str, ...]
    group: Annotated[Codes, Each("label", least=NO_GROUP)]
    answers: int
    single: int
    right: Annotated[Floats, Each("worker", "exclusive group", share=True)]
    frequency: Annotated[Floats, Each("label", share=True)]
    mistaken: Annotated[Floats, Each("label", share=True)]

    def __post_init__(self) -> None:
        # Other votes need not have the labels of all groups.
        if self.group.max(initial=NO_GROUP) >= len(self.names) or self.right.shape[1] != max(len(self.names), 1):
            raise ValueError("every group needs a name, and rates of workers")

    def __bool__(self) -> bool:
        return self.basis != "none"

    def known_to(self, votes: Votes, worker_names: pa.Array, label_names: pa.Array) -> SingleChoice:
        """The same for the workers and labels of other votes, which were learned under these names.

        Newcomers choose as well as the others do; a new label excludes no other.
        """
        worker, label = new_code(votes.worker_names, worker_names), new_code(votes.label_names, label_names)
        group = np.append(self.group, NO_GROUP).astype(np.int32)[label]
        frequency, mistaken = (known_or_mean(each, label) for each in (self.frequency, self.mistaken))
        right = known_or_mean(self.right, worker)
        return replace(self, group=group, right=right, frequency=frequency, mistaken=mistaken)

    def labels(self, names: pa.Array) -> dict[str, list[Any]]:
        """The labels of each group, by its name."""
        return {name: names.filter(pa.array(self.group == k)).to_pylist() for k, name in enumerate(self.names)}

    def sentences(self, names: pa.Array) -> list[str]:
        """What users must know: that labels exclude each other, or that it looks so."""
        if not self:
            looks = (
                f"It looks as if workers choose one label of several: each of the {self.answers:,} answers has exactly "
                "one. That is too little to rely on; if it is so, say exclusive=True (command line: --exclusive all)."
            )
            return [looks] if self.answers else []
        groups = []
        for labels in self.labels(names).values():
            more = ", …" * (len(labels) > MOST_NAMED)
            groups.append(f"{len(labels)} labels ({', '.join(map(str, labels[:MOST_NAMED]))}{more})")
        what = "; and of ".join(groups)
        if self.basis == "learned":
            return [
                f"Learned: each item has exactly one of {what}, since each of the {self.answers:,} answers has exactly "
                "one. If several labels may be true, say exclusive=False (command line: --exclusive none)."
            ]
        none = self.answers - self.single
        but = f", but {none:,} of them have none: then the group may lack a label" if none else ""
        return [f"Declared: each item has exactly one of {what}. {self.answers:,} answers were asked about them{but}."]

    def as_json(self, names: pa.Array) -> dict[str, Any]:
        """The same for scripts."""
        return {
            "basis": self.basis, "groups": self.labels(names), "answers": self.answers, "answers_with_one": self.single,
            "looks_exclusive": bool(self.answers) and not self, "sentences": self.sentences(names),
        }  # fmt: skip
