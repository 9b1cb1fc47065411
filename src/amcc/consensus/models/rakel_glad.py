"""RAkEL-GLAD: small sets of labels become multi-class questions for GLAD, and every label is averaged over its sets."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from math import comb
from typing import Annotated, Literal, NamedTuple, Self, get_args

import numpy as np
import pyarrow as pa

from amcc import passes
from amcc.arrays import Codes, Floats, Ints, find_sorted, sigmoid, weight_per_code
from amcc.consensus.base import ConsensusModel
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import new_code
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_rounds
from amcc.consensus.signature import Signatures, signatures
from amcc.engine.base import Engine
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.passes import Judgement
from amcc.votes import Votes

ClassPrior = Literal["uniform", "empirical"]
Partial = Literal["marginalise", "drop"]
Scores = Literal["marginal", "votes"]

EASE_BOUND = 5.0
"""exp(ease) multiplies abilities: further out it says no more, and overflows in the end."""

MAX_SUBSET_SIZE = 8
"""A subset has 2^size classes."""

ROWS_PER_BATCH = 50_000
"""Subsets with about so many votes in all are solved side by side: enough for numpy, few enough for the cache."""

MEMORY, MAX_HALVINGS = 5, 30
"""Steps that L-BFGS remembers, and how often it tries half of a step."""

MAX_EASE_STEPS = 20
"""Of Newton's method, for one ease."""

DRAWS_PER_SUBSET = 20
"""How often a new subset is looked for before there may be none left."""


class RakelGlad(ConsensusModel, methods={"rakel-glad": {}}):
    """GLAD on random subsets of labels.

    Within a subset of k labels every answer of a worker is one of 2^k classes, and so is the truth of an item. The
    answer is right with probability σ(ability · exp(ease)), where each worker has an ability and each item an ease, and
    otherwise any other class with equal probability. The probability of a label is its average over the subsets that
    contain it. The objective is the log-likelihood of all answers plus the log-densities of the priors N(1, 1) of
    abilities and eases, summed over subsets.

    Parameters
    ----------
    subset_size : int
        k, labels per subset; fewer where fewer labels are asked together. 1 is GLAD label by label.
    n_subsets : int, optional
        By default twice the number of labels; fewer where there are not so many, more where they are needed for every
        label to be in one.
    class_prior : "uniform" or "empirical"
        Probability of the classes before any answer: all equal, or as frequent as among the answers of the subset.
    partial : "marginalise" or "drop"
        What becomes of an answer where some labels of the subset were not asked: it stands for all classes that agree
        with it, or it is left out. Where everything is asked both are the same.
    scores : "marginal" or "votes"
        Whether a subset passes on the probability of a label, or 0 or 1 by its most likely class, as RAkEL's
        classifiers do; votes tie often, so they rank badly.
    max_iter, tol
        Stop when a step improves the objective by less than `tol` per answer and subset.
    random_state : int
        Chooses the subsets.

    Attributes
    ----------
    subset_label_ : (n_subsets, subset_size) int64
        Codes of the labels, −1 where a subset is smaller.
    subset_prior_ : (n_subsets, 2 ** subset_size), rows sum to 1
        Probability of each class; bit j of a class is the label at place j.
    ability_subset_, ability_worker_ : (n_abilities,) int64
        The (subset, worker) combinations that occur.
    ability_ : (n_abilities,)
        Below 0 for workers who are wrong more often than right.
    subset_ability_ : (n_subsets,)
        The average, which is what a newcomer counts as.
    item_ease_ : (n_items,)
        Average over subsets, 1 for unanswered items.

    Notes
    -----
    Reconstruction: nothing of the paper was at hand but its idea. GLAD follows Whitehill et al. and its usual program
    (priors, start, class of K − 1 equal errors), the number and size of the subsets RAkEL's. Ours: labels are drawn
    from those asked in one answer, or a subset might have no answer at all; "marginalise", the default, without which
    half of the labels unasked would leave one answer in eight; abilities belong to a subset. In place of
    expectation-maximisation with conjugate gradients inside, L-BFGS climbs the likelihood itself, whose gradient is
    that of the M-step at the present posterior: the same optima with far fewer passes over the answers. In the end
    eases are found once more for the abilities as learned, so that new votes are judged in the same way. Eases are kept
    within ±5. One pass takes time proportional to votes · subsets per label.

    GLAD knows no habits: workers who give the same answer to everything agree with each other perfectly, and are
    believed. Where they are nearly half of those who answer an item, few labels survive.

    References
    ----------
    K. Yoshimura, Y. Baba and H. Kashima, Quality control for crowdsourced multi-label classification using RAkEL,
    ICONIP 2017. J. Whitehill et al., Whose vote should count more, NIPS 2009. G. Tsoumakas, I. Katakis and I. Vlahavas,
    Random k-labelsets for multilabel classification, IEEE TKDE 23 (2011).

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> RakelGlad().fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    subset_label_: Annotated[Ints, Each("subset", None, code="label", least=-1)]
    subset_prior_: Annotated[Floats, Each("subset", None)]
    subset_ability_: Annotated[Floats, Each("subset")]
    ability_subset_: Annotated[Ints, Each("ability", code="subset")]
    ability_worker_: Annotated[Ints, Each("ability", code="worker")]
    ability_: Annotated[Floats, Each("ability")]
    item_ease_: Annotated[Floats, Each("fitted item")]

    def __init__(
        self,
        *,
        subset_size: int = 3,
        n_subsets: int | None = None,
        class_prior: ClassPrior = "uniform",
        partial: Partial = "marginalise",
        scores: Scores = "marginal",
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: int = 0,
    ) -> None:
        self.subset_size = subset_size
        self.n_subsets = n_subsets
        self.class_prior = class_prior
        self.partial = partial
        self.scores = scores
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_params(self) -> None:
        if not 1 <= self.subset_size <= MAX_SUBSET_SIZE:
            raise ParameterError(f"subset_size must lie in 1..{MAX_SUBSET_SIZE}; got {self.subset_size!r}.")
        if self.n_subsets is not None and self.n_subsets < 1:
            raise ParameterError(f"n_subsets must be at least 1, or None; got {self.n_subsets!r}.")
        for name, choices in (("class_prior", ClassPrior), ("partial", Partial), ("scores", Scores)):
            if getattr(self, name) not in get_args(choices):
                raise ParameterError(
                    f"{name} must be one of {', '.join(get_args(choices))}; got {getattr(self, name)!r}."
                )
        check_rounds(self.max_iter, self.tol)

    # -- learning ----------------------------------------------------------------------------------------------

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        order = NamelessOrder.of(signatures(votes, self.random_state))
        nameless, pair_order = order.apply(votes)
        gold_there = Gold(gold.present[pair_order], gold.known[pair_order])
        subsets = draw_subsets(nameless, self.subset_size, self.n_subsets, self.random_state)
        tally, climbs, eases, abilities, priors = Tally.empty(nameless), [], Average(votes.n_items), [], []
        for first, last in batches(nameless, subsets):
            tasks = Tasks.of(nameless, subsets[first:last], self.partial)
            prior = class_priors(tasks, self.class_prior)
            log_prior = tasks.log_prior(prior, nameless, gold_there)
            climbed = climb(
                partial(log_posterior, tasks, log_prior), tasks.n_abilities + tasks.n_groups, self.max_iter,
                self.tol * tasks.n_rows,
            )  # fmt: skip
            ability = climbed.parameters[: tasks.n_abilities]
            ease = find_ease(tasks, log_prior, ability)
            tally.add(tasks, answer(tasks, log_prior, ability, ease).proba, self.scores)
            eases.add(tasks.group_item, ease)
            climbs.append((climbed, tasks.n_rows))
            abilities.append((tasks.ability_subset + first, tasks.ability_worker, ability))
            priors.append(prior)
        self._record(climbs)
        self._keep(order, subsets, np.concatenate(priors), abilities, eases)
        proba = np.empty(len(votes.pairs))
        proba[pair_order] = tally.average(np.full(len(votes.pairs), np.nan))
        label_prior = _label_prior(votes, proba)
        proba = np.where(np.isnan(proba), label_prior[votes.pairs.label], proba)
        return Learned(label_prior, partial(self._judge, votes, label_prior, gold), Inferred(proba))

    def _record(self, climbs: list[tuple[Climb, int]]) -> None:
        """The course of the fit, over all batches together: those that arrived earlier wait where they are."""
        monitor = Monitor(self.tol, self.max_iter)
        n_rounds = max(len(climb.history) for climb, _ in climbs)
        histories = [np.pad(climb.history, (0, n_rounds - len(climb.history)), mode="edge") for climb, _ in climbs]
        for objective in np.sum(histories, axis=0):
            monitor.report(float(objective), max(climb.last_rise / n_rows for climb, n_rows in climbs))
        monitor.warn_unless_converged("RakelGlad")
        self.objective_history_, self.n_iter_, self.converged_ = monitor.history, n_rounds, monitor.converged

    def _keep(
        self,
        order: NamelessOrder,
        subsets: Ints,
        prior: Floats,
        abilities: list[tuple[Ints, Ints, Floats]],
        eases: Average,
    ) -> None:
        """Set the learned attributes, in the codes of the votes."""
        subset, worker, ability = (np.concatenate(column) for column in zip(*abilities, strict=True))
        worker = order.worker[worker]
        by_key = np.lexsort((worker, subset))
        self.ability_subset_, self.ability_worker_, self.ability_ = subset[by_key], worker[by_key], ability[by_key]
        self.subset_label_ = np.where(subsets >= 0, order.label[subsets], -1)
        self.subset_prior_ = prior
        mean = Average(len(subsets))
        mean.add(subset, ability)
        self.subset_ability_ = mean.average(np.ones(len(subsets)))
        self.item_ease_ = np.empty(len(order.item))
        self.item_ease_[order.item] = eases.average(np.ones(len(order.item)))

    def _judge(self, votes: Votes, label_prior: Floats, gold: Gold) -> Judgement:
        """Judge votes by the others; each weighs what its worker's abilities make of one label of an answer."""
        n_classes = np.count_nonzero(self.subset_prior_, axis=1)[self.ability_subset_]
        right = sigmoid(self.ability_ * math.e)  # on an item of average ease
        agree = right + (1 - right) * (n_classes / 2 - 1) / (n_classes - 1)
        weight = np.log(agree) - np.log1p(-agree)
        labels = self.subset_label_[self.ability_subset_]
        there = labels >= 0
        key = (self.ability_worker_[:, None] * votes.n_labels + labels)[there]
        coin_key = votes.coins.worker.astype(np.int64) * votes.n_labels + votes.coins.label
        coin, found = find_sorted(coin_key, key)
        of_coin = Average(len(coin_key))
        of_coin.add(coin[found], np.broadcast_to(weight[:, None], labels.shape)[there][found])
        worth = of_coin.average(np.zeros(len(coin_key)))
        prior = gold.log_odds((np.log(label_prior) - np.log1p(-label_prior))[votes.pairs.label])
        evidence = np.stack([-worth, worth], axis=1).ravel()
        return passes.others_pass(votes.coins.slot, votes.pairs.start, evidence, prior)

    # -- answering ---------------------------------------------------------------------------------------------

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        subsets, class_prior, average = self._subsets_of(votes.label_names)
        worker = new_code(votes.worker_names, self.worker_names_)
        learned_key = self.ability_subset_ * len(self.worker_names_) + self.ability_worker_
        nothing = np.zeros(len(votes.pairs), dtype=bool)
        tally = Tally.empty(votes)
        for first, last in batches(votes, subsets):
            tasks = Tasks.of(votes, subsets[first:last], self.partial)
            log_prior = tasks.log_prior(class_prior[first:last], votes, Gold(nothing, nothing))
            subset, known = tasks.ability_subset + first, worker[tasks.ability_worker] >= 0
            place, met = find_sorted(learned_key, subset * len(self.worker_names_) + worker[tasks.ability_worker])
            ability = np.where(met & known, self.ability_[place], average[subset])
            ease = find_ease(tasks, log_prior, ability)
            tally.add(tasks, answer(tasks, log_prior, ability, ease).proba, self.scores)
        return Inferred(tally.average(prior[votes.pairs.label]))

    def _subsets_of(self, label_names: pa.Array) -> tuple[Ints, Floats, Floats]:
        """Subsets in the codes of new votes, their priors and average abilities; a new label is a subset of its own."""
        learned = new_code(self.label_names_, label_names)
        new = np.flatnonzero(new_code(label_names, self.label_names_) < 0)
        # −2 holds the place of a label that is not there: it is part of the subset, and unasked
        subsets = np.where(self.subset_label_ >= 0, np.where(learned >= 0, learned, -2)[self.subset_label_], -1)
        alone = np.full((len(new), subsets.shape[1]), -1)
        alone[:, :1] = new[:, None]
        even = np.zeros((len(new), self.subset_prior_.shape[1]))
        even[:, :2] = 0.5
        return (
            np.concatenate([subsets, alone]),
            np.concatenate([self.subset_prior_, even]),
            np.append(self.subset_ability_, np.full(len(new), self.subset_ability_.mean())),
        )


# -- order and subsets -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamelessOrder:
    """Old codes of items, workers and labels in an order that depends on their votes only.

    L-BFGS magnifies the last digit of every sum, and the subsets are drawn by number. In this order neither depends on
    names or on the order of the votes.
    """

    item: Ints
    worker: Ints
    label: Ints

    @classmethod
    def of(cls, chance: Signatures) -> Self:
        """By their hashes."""
        return cls(*(np.argsort(hashes, kind="stable") for hashes in (chance.item, chance.worker, chance.label)))

    def apply(self, votes: Votes) -> tuple[Votes, Ints]:
        """Votes in this order, and the old numbers of their pairs."""
        item, worker, label = (np.argsort(order).astype(np.int32) for order in (self.item, self.worker, self.label))
        codes = item[votes.item], label[votes.label], worker[votes.worker]
        order = np.lexsort(codes[::-1])
        nameless = replace(
            votes,
            item=codes[0][order],
            label=codes[1][order],
            worker=codes[2][order],
            value=votes.value[order],
            item_names=votes.item_names.take(pa.array(self.item)),
            worker_names=votes.worker_names.take(pa.array(self.worker)),
            label_names=votes.label_names.take(pa.array(self.label)),
        )
        return nameless, np.lexsort((label[votes.pairs.label], item[votes.pairs.item]))


def draw_subsets(votes: Votes, size: int, n_subsets: int | None, seed: int) -> Ints:
    """(n_subsets, size) distinct sets of labels that are asked in one answer, −1 where there are fewer than `size`.

    Each label in turn draws one of its answers, among those that reach `size` labels if there are any, and the other
    labels from that answer. In the first turn this is skipped for labels that are in a subset already; then every
    label is in one.
    """
    rng = np.random.default_rng(seed)
    answers = LabelsByAnswer.of(votes, size)
    labels = np.flatnonzero(np.bincount(votes.label, minlength=votes.n_labels))
    wanted = min(n_subsets or 2 * len(labels), comb(len(labels), min(size, len(labels))))
    found: dict[tuple[int, ...], None] = {}
    covered: set[int] = set()
    for label, subset in zip(labels.tolist(), answers.draw(labels, rng).tolist(), strict=True):
        if label not in covered:
            found[tuple(subset)] = None
            covered.update(subset)
    for _ in range(DRAWS_PER_SUBSET * max(1, wanted // len(labels))):
        if len(found) >= wanted:
            break
        for subset in answers.draw(rng.permutation(labels), rng).tolist()[: wanted - len(found)]:
            found[tuple(subset)] = None
    return np.array(list(found), dtype=np.int64)


@dataclass(frozen=True)
class LabelsByAnswer:
    """Votes sorted by answer, and which of them a label may draw.

    label : (votes,); start, width : (votes,) where the vote's answer begins and how many votes it has
    drawn_from, first : label l draws from the votes drawn_from[first[l]:first[l + 1]]
    """

    label: Codes
    start: Ints
    width: Ints
    drawn_from: Ints
    first: Ints
    size: int

    @classmethod
    def of(cls, votes: Votes, size: int) -> Self:
        """Sort votes by answer, then those of the widest answers by label."""
        order = np.lexsort((votes.label, votes.worker, votes.item))
        label, item, worker = votes.label[order], votes.item[order], votes.worker[order]
        new = np.append(True, (item[1:] != item[:-1]) | (worker[1:] != worker[:-1]))
        answer, start = np.cumsum(new) - 1, np.flatnonzero(new)
        width = np.diff(np.append(start, len(label)))[answer]
        reach = np.minimum(width, size)
        best = np.zeros(votes.n_labels, dtype=np.int64)
        np.maximum.at(best, label, reach)
        eligible = np.flatnonzero(reach == best[label])
        eligible = eligible[np.argsort(label[eligible], kind="stable")]
        n_eligible = np.bincount(label[eligible], minlength=votes.n_labels)
        return cls(label, start[answer], width, eligible, np.append(0, np.cumsum(n_eligible)), size)

    def draw(self, labels: Ints, rng: np.random.Generator) -> Ints:
        """(labels, size) one subset around each label: sorted codes, −1 at the end."""
        first, last = self.first[labels], self.first[labels + 1]
        vote = self.drawn_from[first + (rng.random(len(labels)) * (last - first)).astype(np.int64)]
        start, width = self.start[vote], self.width[vote]
        places = (vote - start)[:, None]
        nowhere = len(self.label)
        for n_drawn in range(1, self.size):
            place = (rng.random(len(labels)) * np.maximum(width - n_drawn, 1)).astype(np.int64)
            for taken in np.sort(places, axis=1).T:  # count only places that are free
                place += place >= taken
            places = np.column_stack([places, np.where(width > n_drawn, place, nowhere)])
        places = np.sort(places, axis=1)
        return np.where(places < nowhere, self.label[np.minimum(start[:, None] + places, nowhere - 1)], -1)


def batches(votes: Votes, subsets: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of subsets with about ROWS_PER_BATCH votes."""
    n_votes = np.bincount(votes.label, minlength=votes.n_labels)
    load = np.cumsum(np.where(subsets >= 0, n_votes[subsets], 0).sum(axis=1))
    bounds = [0, *(np.flatnonzero(np.diff(load // ROWS_PER_BATCH)) + 1).tolist(), len(subsets)]
    return pairwise(bounds)


# -- GLAD ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tasks:
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
    def of(cls, votes: Votes, subsets: Ints, partial_answers: Partial) -> Self:
        """Put the votes of each answer together, subset by subset."""
        n_classes = 2 ** (subsets != -1).sum(axis=1)
        entry = Entries.of(subsets, votes.label)
        is_yes = votes.value > 0
        key = (entry.subset * votes.n_items + votes.item[entry.thing]) * votes.n_workers + votes.worker[entry.thing]
        row_key, row = np.unique(key, return_inverse=True)
        asked = weight_per_code(row, 1 << entry.bit, len(row_key)).astype(np.int64)
        given = weight_per_code(row, is_yes[entry.thing] << entry.bit, len(row_key)).astype(np.int64)
        group_key, worker = np.divmod(row_key, votes.n_workers)
        if partial_answers == "drop":
            whole = asked == n_classes[group_key // votes.n_items] - 1
            asked, given, group_key, worker = asked[whole], given[whole], group_key[whole], worker[whole]
        subset = group_key // votes.n_items
        group_key, group = np.unique(group_key, return_inverse=True)
        ability_key, ability = np.unique(subset * votes.n_workers + worker, return_inverse=True)
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
        known = np.flatnonzero(gold.known)
        entry = Entries.of(self.subsets, votes.pairs.label[known])
        group_key = self.group_subset * votes.n_items + self.group_item
        group, found = find_sorted(group_key, entry.subset * votes.n_items + votes.pairs.item[known][entry.thing])
        present = gold.present[known][entry.thing]
        wrong = class_bits(len(log_prior))[:, entry.bit] != present
        forbidden, number = np.nonzero(wrong & found)
        log_prior[forbidden, group[number]] = -np.inf
        return log_prior


@dataclass(frozen=True)
class Entries:
    """Things with a label, once for each subset with that label: which thing, which subset, which bit of a class."""

    thing: Ints
    subset: Ints
    bit: Ints

    @classmethod
    def of(cls, subsets: Ints, label: Codes) -> Self:
        """Look up the subsets of every label."""
        subset, bit = np.nonzero(subsets >= 0)
        member = subsets[subset, bit]
        by_label = np.argsort(member, kind="stable")
        first, last = (np.searchsorted(member[by_label], label, side=side) for side in ("left", "right"))
        thing = np.repeat(np.arange(len(label)), last - first)
        number = np.arange(len(thing)) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
        place = by_label[first[thing] + number]
        return cls(thing, subset[place], bit[place])


def class_bits(n_classes: int) -> Ints:
    """(classes, bits) which labels are in each class."""
    return (np.arange(n_classes)[:, None] >> np.arange((n_classes - 1).bit_length())) & 1


def class_priors(tasks: Tasks, kind: ClassPrior) -> Floats:
    """(subsets, classes) probabilities; those of answers count one of each class, partial ones as parts of several."""
    n_places = 2 ** tasks.subsets.shape[1]
    prior = (np.arange(n_places) < tasks.n_classes[:, None]).astype(np.float64)
    if kind == "empirical":
        cell = tasks.group_subset[tasks.group[tasks.cell_row]] * n_places + tasks.cell_class
        prior += weight_per_code(cell, 1 / tasks.n_agreeing[tasks.cell_row], prior.size).reshape(prior.shape)
    return np.asarray(prior / prior.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Answered:
    """Result of the E-step.

    proba : (classes, groups) probability of each class
    log_likelihood : (groups,) of the answers
    slope, curvature : (rows,) of the expected log-likelihood in x; the curvature is that of whole answers, downwards
    """

    proba: Floats
    log_likelihood: Floats
    slope: Floats
    curvature: Floats


def answer(tasks: Tasks, log_prior: Floats, ability: Floats, ease: Floats) -> Answered:
    """Learned of every group's class, with x = ability · exp(ease) and σ(x) the probability of a right answer.

    An answer that agrees with m of K classes has probability σ + (1 − σ)(m − 1)/(K − 1) if the truth is one of them,
    and (1 − σ) m/(K − 1) if it is not.
    """
    x = ability[tasks.ability] * stretch(ease)[tasks.group]
    tail = np.exp(-np.abs(x))
    log_right = np.minimum(x, 0.0) - np.log1p(tail)
    right = np.where(x >= 0, 1.0, tail) / (1 + tail)
    wrong = np.where(x >= 0, tail, 1.0) / (1 + tail)
    several = tasks.share_agreeing > 0
    agree = right + wrong * tasks.share_agreeing
    log_agree = np.where(several, np.log(np.maximum(agree, 1e-300)), log_right)
    log_disagree = tasks.log_disagreeing + log_right - x
    gain = (log_agree - log_disagree)[tasks.cell_row]
    joint = log_prior + weight_per_code(tasks.cell, gain, log_prior.size).reshape(log_prior.shape)
    top = joint.max(axis=0)
    proba = np.exp(joint - top)
    total = proba.sum(axis=0)
    proba /= total
    agrees = weight_per_code(tasks.cell_row, proba.ravel()[tasks.cell], len(x))
    share_right = np.divide(right, agree, out=np.ones(len(x)), where=several)
    slope = agrees * wrong * share_right * (1 - tasks.share_agreeing) - (1 - agrees) * right
    log_likelihood = top + np.log(total) + weight_per_code(tasks.group, log_disagree, tasks.n_groups)
    return Answered(proba, log_likelihood, slope, right * wrong)


class Height(NamedTuple):
    """The objective at a point, its gradient, and about how it bends along each coordinate (> 0)."""

    value: float
    gradient: Floats
    curvature: Floats


class Heights(NamedTuple):
    """(groups,) the same for each ease by itself."""

    value: Floats
    gradient: Floats
    curvature: Floats


def log_posterior(tasks: Tasks, log_prior: Floats, parameters: Floats) -> Height:
    """Objective in abilities and eases; its gradient, by Fisher's identity, is that of the M-step at this posterior."""
    ability, ease = np.split(parameters, [tasks.n_abilities])
    found = answer(tasks, log_prior, ability, ease)
    of_ease = of_each_ease(tasks, found, ability, ease)
    slope = stretch(ease)[tasks.group]  # of x
    return Height(
        float(of_ease.value.sum() - 0.5 * ((ability - 1) ** 2).sum()),
        np.append(weight_per_code(tasks.ability, found.slope * slope, len(ability)) - (ability - 1), of_ease.gradient),
        np.append(weight_per_code(tasks.ability, found.curvature * slope**2, len(ability)) + 1, of_ease.curvature),
    )


def of_each_ease(tasks: Tasks, found: Answered, ability: Floats, ease: Floats) -> Heights:
    """The part of the objective that belongs to each group: its answers and its ease."""
    slope = np.where(np.abs(ease) < EASE_BOUND, stretch(ease), 0.0)[tasks.group] * ability[tasks.ability]  # of x
    return Heights(
        found.log_likelihood - 0.5 * (ease - 1) ** 2,
        weight_per_code(tasks.group, found.slope * slope, tasks.n_groups) - (ease - 1),
        weight_per_code(tasks.group, found.curvature * slope**2, tasks.n_groups) + 1,
    )


def find_ease(tasks: Tasks, log_prior: Floats, ability: Floats) -> Floats:
    """(groups,) eases for given abilities, each by itself: there may be several optima, and company must not decide."""
    ease, pace = np.ones(tasks.n_groups), np.ones(tasks.n_groups)
    height = of_each_ease(tasks, answer(tasks, log_prior, ability, ease), ability, ease)
    for _ in range(MAX_EASE_STEPS):
        step = pace * height.gradient / height.curvature
        if np.abs(step).max(initial=0.0) < 1e-4:
            break
        there = of_each_ease(tasks, answer(tasks, log_prior, ability, ease + step), ability, ease + step)
        better = there.value > height.value
        ease = np.where(better, ease + step, ease)
        height = Heights(*(np.where(better, new, old) for new, old in zip(there, height, strict=True)))
        pace = np.where(better, np.minimum(1.5 * pace, 1.0), 0.25 * pace)
    return ease


def stretch(ease: Floats) -> Floats:
    """What abilities are multiplied with; an ease beyond the bound counts as the bound, and its prior pulls it back."""
    return np.exp(np.clip(ease, -EASE_BOUND, EASE_BOUND))


# -- L-BFGS ----------------------------------------------------------------------------------------------------------
# scipy's would do, but for its vector products in several threads, which on a busy machine take ten times as long as
# everything else; and it knows nothing of curvatures, which save half of the steps.


@dataclass(frozen=True)
class Climb:
    """Where L-BFGS arrived, the objective on the way, and its last rise."""

    parameters: Floats
    history: list[float]
    last_rise: float


def climb(objective: Callable[[Floats], Height], n_parameters: int, max_iter: int, least_rise: float) -> Climb:
    """Climb from 1 until a step brings less than `least_rise`."""
    point = np.ones(n_parameters)
    height = objective(point)
    history, rise = [height.value], np.inf
    steps: deque[tuple[Floats, Floats]] = deque(maxlen=MEMORY)
    while rise >= least_rise and len(history) <= max_iter:
        step, there = step_uphill(objective, point, height, uphill(height, steps))
        bend = height.gradient - there.gradient
        if _product(step, bend) > 1e-12 * _product(step, step):  # the climb must flatten, or L-BFGS would turn around
            steps.append((step, bend))
        rise = there.value - height.value
        point, height = point + step, there
        history.append(height.value)
    return Climb(point, history[1:], rise)


def uphill(height: Height, steps: deque[tuple[Floats, Floats]]) -> Floats:
    """Newton's direction, as far as the curvatures and the latest steps tell."""
    direction = height.gradient.copy()
    weights = []
    for step, bend in reversed(steps):
        weights.append(_product(step, direction) / _product(step, bend))
        direction -= weights[-1] * bend
    direction /= height.curvature
    for (step, bend), weight in zip(steps, reversed(weights), strict=True):
        direction += (weight - _product(bend, direction) / _product(step, bend)) * step
    return direction


def step_uphill(
    objective: Callable[[Floats], Height], point: Floats, height: Height, direction: Floats
) -> tuple[Floats, Height]:
    """Go in this direction, half as far until that is a rise; stay where it never is."""
    promised = _product(height.gradient, direction)
    for halvings in range(MAX_HALVINGS):
        step = direction * 0.5**halvings
        there = objective(point + step)
        if there.value >= height.value + 1e-4 * 0.5**halvings * promised:
            return step, there
    return np.zeros_like(point), height


def _product(one: Floats, other: Floats) -> float:
    return float((one * other).sum())


# -- from subsets to labels ------------------------------------------------------------------------------------------


class Average:
    """Running averages by code."""

    def __init__(self, n_codes: int) -> None:
        self.total, self.count = np.zeros(n_codes), np.zeros(n_codes)

    def add(self, code: Ints, value: Floats) -> None:
        """Take in more values."""
        self.total += weight_per_code(code, value, len(self.total))
        self.count += np.bincount(code, minlength=len(self.count))

    def average(self, otherwise: Floats) -> Floats:
        """What was taken in, on average; `otherwise` where that was nothing."""
        return np.divide(self.total, self.count, out=otherwise.copy(), where=self.count > 0)


@dataclass(frozen=True)
class Tally:
    """What the subsets say about each asked pair."""

    votes: Votes
    pair_key: Ints
    sums: Average

    @classmethod
    def empty(cls, votes: Votes) -> Self:
        """Before any subset has spoken."""
        key = votes.pairs.item.astype(np.int64) * votes.n_labels + votes.pairs.label
        return cls(votes, key, Average(len(key)))

    def add(self, tasks: Tasks, proba: Floats, scores: Scores) -> None:
        """Count the subsets of some tasks, with (classes, groups) probabilities."""
        bits = class_bits(len(proba))
        said = bits[np.argmax(proba, axis=0)].astype(np.float64) if scores == "votes" else proba.T @ bits
        labels = tasks.subsets[tasks.group_subset]
        there = labels >= 0
        pair, asked = find_sorted(self.pair_key, (tasks.group_item[:, None] * self.votes.n_labels + labels)[there])
        self.sums.add(pair[asked], np.clip(said[there][asked], 0.0, 1.0))

    def average(self, otherwise: Floats) -> Floats:
        """(pairs,) average over subsets."""
        return self.sums.average(otherwise)


def _label_prior(votes: Votes, proba: Floats) -> Floats:
    """(labels,) average probability of the pairs with one; labels with few of them lean on the average of all."""
    known = ~np.isnan(proba)
    label, proba = votes.pairs.label[known], proba[known]
    overall = (proba.sum() + 1) / (len(proba) + 2)  # never 0 or 1, nor a division by zero
    n_pairs = np.bincount(label, minlength=votes.n_labels)
    return np.asarray((weight_per_code(label, proba, votes.n_labels) + overall) / (n_pairs + 1))
