"""Subsets of labels as multi-class questions: which classes an answer agrees with, and how likely classes are.

A class of a subset is a number of as many bits as the subset has labels: bit j says whether the label at place j is
present. An answer that covers all labels agrees with one class, a partial one with several.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

import numpy as np

from amcc.arrays import Codes, Floats, Ints, find_sorted, weight_per_code
from amcc.consensus.learned import Gold
from amcc.votes import Votes

ClassPrior = Literal["uniform", "empirical"]
PartialAnswers = Literal["marginalise", "drop"]


@dataclass(frozen=True)
class SubsetTasks:
    """The multi-class questions of some subsets, side by side.

    A *group* is an item in a subset, a *row* an answer in a subset, a *cell* a class that a row agrees with.

    subsets : (subsets, k) label codes, −1 behind the last, −2 for labels that are not in the votes
    n_classes : (subsets,) K
    group_subset, group_item : (groups,); ability_subset, ability_worker : (abilities,)
    group, ability : (rows,)
    n_agreeing : (rows,) classes that agree with the answer, 1 where all labels were asked
    cell_row, cell_class : (cells,)
    """

    subsets: Ints
    n_classes: Ints
    group_subset: Ints
    group_item: Ints
    ability_subset: Ints
    ability_worker: Ints
    group: Ints
    ability: Ints
    n_agreeing: Ints
    cell_row: Ints
    cell_class: Ints

    @classmethod
    def of(cls, votes: Votes, subsets: Ints, partial_answers: PartialAnswers) -> Self:
        """Put the votes of each answer together, subset by subset."""
        n_classes = 2 ** (subsets != -1).sum(axis=1)
        entry = SubsetEntries.of(subsets, votes.label)
        is_yes = votes.value > 0
        key = (entry.subset * votes.n_items + votes.item[entry.thing]) * votes.n_workers + votes.worker[entry.thing]
        row_key, row = np.unique(key, return_inverse=True)
        # Sums of distinct powers of two: the bits of the labels that were asked, and of those with a yes.
        asked = weight_per_code(row, 1 << entry.bit, len(row_key)).astype(np.int64)
        given = weight_per_code(row, is_yes[entry.thing] << entry.bit, len(row_key)).astype(np.int64)
        group_key, worker = np.divmod(row_key, votes.n_workers)
        # Only answers that cover all labels of the subset remain.
        if partial_answers == "drop":
            whole = asked == n_classes[group_key // votes.n_items] - 1
            asked, given, group_key, worker = asked[whole], given[whole], group_key[whole], worker[whole]
        subset = group_key // votes.n_items
        group_key, group = np.unique(group_key, return_inverse=True)
        ability_key, ability = np.unique(subset * votes.n_workers + worker, return_inverse=True)
        # Subsets that are smaller than others do not have the highest classes.
        classes = np.arange(2 ** subsets.shape[1])
        agrees = ((classes & asked[:, None]) == given[:, None]) & (classes < n_classes[subset][:, None])
        cell_row, cell_class = np.nonzero(agrees)
        return cls(
            subsets, n_classes, *np.divmod(group_key, votes.n_items), *np.divmod(ability_key, votes.n_workers),
            group, ability, agrees.sum(axis=1), cell_row, cell_class,
        )  # fmt: skip

    @cached_property
    def n_others(self) -> Ints:
        """(rows,) wrong classes, K − 1."""
        return np.asarray((self.n_classes - 1)[self.group_subset][self.group])

    @cached_property
    def share_agreeing(self) -> Floats:
        """(rows,) share (m − 1)/(K − 1) of the wrong classes that agree with the answer, if the right one does."""
        return (self.n_agreeing - 1) / self.n_others

    @cached_property
    def log_disagreeing(self) -> Floats:
        """(rows,) log of the same share if the right class does not agree, m/(K − 1)."""
        return np.log(self.n_agreeing / self.n_others)

    @cached_property
    def cell(self) -> Ints:
        """(cells,) place in a table of classes × groups."""
        return self.cell_class * self.n_groups + self.group[self.cell_row]

    @property
    def n_rows(self) -> int:
        """Answers in subsets, at least 1: what is counted per row need not look out for zero."""
        return max(len(self.group), 1)

    @property
    def n_groups(self) -> int:
        """Items in subsets."""
        return len(self.group_item)

    @property
    def n_abilities(self) -> int:
        """Workers in subsets."""
        return len(self.ability_worker)

    def log_prior(self, class_prior: Floats, votes: Votes, gold: Gold) -> Floats:
        """(classes, groups) log-probability of each class, minus infinity where known truth forbids it."""
        with np.errstate(divide="ignore"):  # classes that a small subset does not have
            log_prior: Floats = np.log(class_prior.T)[:, self.group_subset]
        # One known pair forbids half of the classes of every subset with its label.
        known = np.flatnonzero(gold.known)
        entry = SubsetEntries.of(self.subsets, votes.pairs.label[known])
        group_key = self.group_subset * votes.n_items + self.group_item
        group, found = find_sorted(group_key, entry.subset * votes.n_items + votes.pairs.item[known][entry.thing])
        present = gold.present[known][entry.thing]
        wrong = class_bits(len(log_prior))[:, entry.bit] != present
        forbidden, number = np.nonzero(wrong & found)
        log_prior[forbidden, group[number]] = -np.inf
        return log_prior


@dataclass(frozen=True)
class SubsetEntries:
    """Things with a label, once for each subset with that label: which thing, which subset, which bit of a class."""

    thing: Ints
    subset: Ints
    bit: Ints

    @classmethod
    def of(cls, subsets: Ints, label: Codes) -> Self:
        """Look up the subsets of every label."""
        subset, bit = np.nonzero(subsets >= 0)
        member = subsets[subset, bit]
        # Members sorted by label: the subsets of a label are one slice of them.
        by_label = np.argsort(member, kind="stable")
        first, last = (np.searchsorted(member[by_label], label, side=side) for side in ("left", "right"))
        thing = np.repeat(np.arange(len(label)), last - first)
        number = np.arange(len(thing)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
        place = by_label[first[thing] + number]
        return cls(thing, subset[place], bit[place])


def class_bits(n_classes: int) -> Ints:
    """(classes, bits) which labels are in each class.

    >>> class_bits(4).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    return (np.arange(n_classes)[:, None] >> np.arange((n_classes - 1).bit_length())) & 1


def class_priors(tasks: SubsetTasks, kind: ClassPrior) -> Floats:
    """(subsets, classes) probabilities; those of answers count one of each class, partial ones as parts of several."""
    n_places = 2 ** tasks.subsets.shape[1]
    prior = (np.arange(n_places) < tasks.n_classes[:, None]).astype(np.float64)
    if kind == "empirical":
        cell = tasks.group_subset[tasks.group[tasks.cell_row]] * n_places + tasks.cell_class
        prior += weight_per_code(cell, 1 / tasks.n_agreeing[tasks.cell_row], prior.size).reshape(prior.shape)
    return np.asarray(prior / prior.sum(axis=1, keepdims=True))
