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

from amcc.arrays import AnyInts, Codes, Floats, Ints, Mask, Signs
from amcc.consensus.matching import known_or_mean, new_code
from amcc.decode import Rule, check_rule
from amcc.decode import decode as decode_sets
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.votes import Pairs, Votes

NO_GROUP = -1

# Label names in a sentence; of more than these, the first and how many there are.
MOST_NAMED = 6


@dataclass(frozen=True)
class Choices:
    """The choices that the items of some votes pose.

    place : (n,) places among the pairs, those of one choice together; start : (n_choices,) where each choice begins
    of : (n,) the choice of each; item, group : (n_choices,)
    """

    place: Ints
    start: Ints
    of: Ints
    item: Ints
    group: Ints

    @classmethod
    def among(cls, pair_item: AnyInts, pair_label: AnyInts, group: Codes) -> Choices:
        """The choices among pairs; (n_labels,) `group` of each label, −1 for labels that exclude no other."""
        place = np.flatnonzero(group[pair_label] >= 0)
        n_groups = int(group.max(initial=NO_GROUP)) + 1
        key = pair_item[place].astype(np.int64) * max(n_groups, 1) + group[pair_label[place]]
        if n_groups > 1:  # pairs are sorted by item; with one group they are in order already
            order = np.argsort(key, kind="stable")
            place, key = place[order], key[order]
        start = np.flatnonzero(np.diff(key, prepend=-1))
        of = np.repeat(np.arange(len(start)), np.diff(start, append=len(key)))
        item, which = np.divmod(key[start], max(n_groups, 1))
        return cls(place, start, of, item, which)

    def __len__(self) -> int:
        return len(self.start)

    def only(self, chosen: Mask) -> Choices:
        """Some of the choices; (n_choices,) whether each is one of them."""
        if chosen.all():
            return self
        size = np.diff(self.start, append=len(self.place))[chosen]
        start, of = np.cumsum(size) - size, np.repeat(np.arange(len(size)), size)
        return Choices(self.place[chosen[self.of]], start, of, self.item[chosen], self.group[chosen])

    def sums(self, values: Any) -> Floats:
        """(n_choices,) sums of (n_pairs,) values."""
        chosen = np.asarray(values)[self.place].astype(np.float64)  # sums of truth values are numbers
        return np.add.reduceat(chosen, self.start) if len(self) else chosen

    def shares(self, log_odds: Floats) -> Floats:
        """(n,) shares that sum to one in each choice, from (n,) logarithms that are known up to a constant of each."""
        if not len(self):
            return log_odds
        shifted = np.exp(log_odds - np.maximum.reduceat(log_odds, self.start)[self.of])
        return np.asarray(shifted / np.add.reduceat(shifted, self.start)[self.of])

    def decided(self, n_yes: Any, group: Codes) -> Mask:
        """(n_choices,) whether exactly one of the asked labels is taken to be true.

        It is where all labels of the group were asked about, or several of them and somebody said yes to one: the true
        label is among those that were on offer. Elsewhere it may be one that nobody was asked about.
        """
        if not len(self):
            return np.empty(0, dtype=bool)
        asked, size = np.diff(self.start, append=len(self.place)), np.bincount(group[group >= 0])
        return np.asarray((asked > 1) & ((asked == size[self.group]) | (self.sums(n_yes) > 0)))


@dataclass(frozen=True)
class ChosenLabels:
    """Which label every choice got.

    group : (n_labels,) group of each label of the items, −1 for none
    pair : (n_pairs,) +1 the label that was chosen, −1 another of a choice that is decided, 0 a pair of no such choice
    """

    group: Annotated[Codes, Each("label of items", least=NO_GROUP)]
    pair: Annotated[Signs, Each("pair", least=-1)]

    def decode(self, proba: Floats, where: tuple[Any, Any], rule: Rule, k: int | None) -> Mask:
        """Label sets by a rule of `amcc.decode`, where (items, labels) of the pairs are `where`.

        A choice gets its one label; the rule is for labels that exclude no other.
        """
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
        """(n_items, len(labels)) where a choice excludes labels: asked or not, unless they were chosen.

        items, asked : (n_pairs,) items and labels of the pairs
        """
        n_groups = int(self.group.max(initial=NO_GROUP)) + 1
        decided = np.zeros((n_items, n_groups + 1), dtype=bool)  # the last column is for labels of no group
        here = self.pair != 0
        decided[items[here], self.group[asked[here]]] = True
        return decided[:, self.group[labels]]


@dataclass(frozen=True)
class ChoiceRates:
    """What was learned about choices.

    right : (n_workers, n_groups) how often workers choose the true label
    frequency, mistaken : (n_labels,) how often a label of a group is the true one, and what wrong choices fall on
    """

    right: Annotated[Floats, Each("worker", "exclusive group", share=True)]
    frequency: Annotated[Floats, Each("label", share=True)]
    mistaken: Annotated[Floats, Each("label", share=True)]


@dataclass(frozen=True)
class SingleChoice:
    """Which labels exclude each other, on what grounds, and what was learned about workers and labels of choices.

    basis : declared by the user, learned from the answers, or none (no label excludes another)
    group : (n_labels,) the group of each label, −1 for labels that exclude no other; names : of the groups
    answers : how many answers were asked about several labels of a group; single : those with exactly one yes. Where no
        label excludes another, both are 0 unless it looks as if they did
    rates : what was learned about workers and labels; None where no label excludes another
    """

    basis: Literal["declared", "learned", "none"]
    names: tuple[str, ...]
    group: Annotated[Codes, Each("label", least=NO_GROUP)]
    answers: int
    single: int
    rates: ChoiceRates | None

    def __post_init__(self) -> None:
        n_groups = 0 if self.rates is None else self.rates.right.shape[1]
        # Other votes need not have the labels of all groups.
        if self.group.max(initial=NO_GROUP) >= n_groups or len(self.names) != n_groups:
            raise ValueError("every group needs a name, and rates of workers")

    def __bool__(self) -> bool:
        return self.rates is not None

    def known_to(self, votes: Votes, worker_names: pa.Array, label_names: pa.Array) -> SingleChoice:
        """The same for the workers and labels of other votes, which were learned under these names.

        Newcomers choose as well as the others do; a new label excludes no other.
        """
        if self.rates is None or (votes.worker_names is worker_names and votes.label_names is label_names):
            return self
        label = new_code(votes.label_names, label_names)
        group = np.append(self.group, NO_GROUP).astype(np.int32)[label]
        right = known_or_mean(self.rates.right, new_code(votes.worker_names, worker_names))
        of_labels = (known_or_mean(each, label) for each in (self.rates.frequency, self.rates.mistaken))
        return replace(self, group=group, rates=ChoiceRates(right, *of_labels))

    # -- in words ----------------------------------------------------------------------------------------------------

    def labels(self, names: pa.Array) -> dict[str, list[Any]]:
        """The labels of each group, by its name."""
        every = names.to_pylist()
        return {name: [every[code] for code in np.flatnonzero(self.group == k)] for k, name in enumerate(self.names)}

    def sentences(self, names: pa.Array) -> list[str]:
        """What users must know: that labels exclude each other, or that it looks so."""
        if not self:
            return [LOOKS_SINGLE.format(answers=f"{self.answers:,}")] if self.answers else []
        groups = [f"{len(labels)} labels ({_listed(labels)})" for labels in self.labels(names).values()]
        what = "; and of ".join(f"{group}" for group in groups)
        if self.basis == "learned":
            return [LEARNED.format(what=what, answers=f"{self.answers:,}")]
        none = self.answers - self.single
        but = f", but {none:,} of them have none: then the group may lack a label" if none else ""
        return [f"Declared: each item has exactly one of {what}. {self.answers:,} answers were asked about them{but}."]

    def as_json(self, names: pa.Array) -> dict[str, Any]:
        """The same for scripts."""
        return {
            "basis": self.basis,
            "groups": self.labels(names),
            "answers": self.answers,
            "answers_with_one": self.single,
            "looks_exclusive": bool(self.answers) and not self,
            "sentences": self.sentences(names),
        }


LEARNED = (
    "Learned: each item has exactly one of {what}, since each of the {answers} answers has exactly one. If several "
    "labels may be true, say exclusive=False (command line: --exclusive none)."
)
LOOKS_SINGLE = (
    "It looks as if workers choose one label of several: each of the {answers} answers has exactly one. That is too "
    "little to rely on; if it is so, say exclusive=True (command line: --exclusive all)."
)


def _listed(labels: list[Any]) -> str:
    shown = ", ".join(str(label) for label in labels[:MOST_NAMED])
    return shown + ", …" * (len(labels) > MOST_NAMED)


# -- the one label ---------------------------------------------------------------------------------------------------


def one_label_each(
    pairs: Pairs, proba: Floats, n_yes: Any, group: Codes, present: Mask, known: Mask
) -> tuple[Floats, ChosenLabels]:
    """(n_pairs,) probabilities that sum to one in each decided choice, and the label that it gets: the likeliest.

    Known truth, (n_pairs,) `present` where `known`, keeps its value: a label that is known to be present makes the
    others of its group absent, and one that is known to be absent leaves its share to the others.
    """
    choices = Choices.among(pairs.item, pairs.label, group)
    chosen = np.zeros(len(proba), np.int8)
    if not len(choices):
        return proba, ChosenLabels(group, chosen)
    place, of = choices.place, choices.of
    told = choices.sums(present & known) > 0
    share = np.where(told[of], (present & known)[place], np.where(known[place], 0.0, proba[place]))
    total = np.add.reduceat(share, choices.start)
    # Where truth says that none of the asked labels is present, there is nothing to choose from.
    decided = (told | choices.decided(n_yes, group)) & (total > 0)
    here = decided[of]
    result = proba.copy()
    result[place[here]] = share[here] / total[of[here]]
    first = np.full(len(choices), len(place))  # of the likeliest labels
    best = np.flatnonzero(share == np.maximum.reduceat(share, choices.start)[of])[::-1]
    first[of[best]] = best
    chosen[place[here]] = -1
    chosen[place[first[decided]]] = 1
    return result, ChosenLabels(group, chosen)
