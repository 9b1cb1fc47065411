"""Exclusive labels: where workers choose one of several labels, the item gets exactly one.

Reason for this step: the other steps judge each label by itself, and nothing keeps them from calling two labels of a
single choice, or none. Labels that exclude each other are *declared*, or *learned* from answers which all have exactly
one. The choice is then read in three ways that err differently, and pooled: by shares of yes, by the model's odds, and
by how often each worker chooses rightly (docs/method.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from amcc.arrays import Codes, Floats, Ints, Signs, distinct, safe_log, safe_logit, weight_per_code
from amcc.consensus.families import effective_counts
from amcc.consensus.learned import Gold
from amcc.consensus.single_choice import NO_GROUP, ChoiceRates, Choices, SingleChoice
from amcc.engine.base import Block, Engine, InMemory, WholeBlock
from amcc.errors import ConflictError, ParameterError
from amcc.votes import Votes

Groups = bool | Mapping[str, Sequence[Any]] | Sequence[Sequence[Any]] | None

# Answers that must all have exactly one label before labels are taken to exclude each other unasked. In four of the
# multi-label sets that we know, the first ten have; in one, 95 % of all have: 300 in a row would then be chance once in
# five million sets.
ENOUGH_ANSWERS = 300
# Answers from which on it is worth saying that it looks so.
WORTH_SAYING = 10

# Weights of the three readings in the pool of their logarithms. Half for the shares of yes, since they alone are never
# surer than the votes; of the other two, neither is better everywhere. Without the workers, accuracy on drug_disease is
# .49 for .71, without the odds it falls by .002 on simulated crowds, and log-loss on media_bias is .70 for .64. Thirds
# gain .01 of log-loss on simulated crowds, but lose .03 to .06 where workers share mistakes.
SHARES, ODDS, WORKERS = 0.5, 0.2, 0.3
# Votes added to yes and no in a share: Jeffreys' prior.
HALF = 0.5
# How far the frequency of a label speaks for it beside the workers, as a power: not at all calls rare labels too often
# (accuracy .34 on a skewed crowd of three votes an item), fully calls the commonest label wherever workers are unsure
# (drug_disease: .50 for .72). Between a third and .7 nothing changes by more than .02.
FREQUENCY = 0.5
# Choices of a usual worker that are added to those of each, so that few answers say little: half or double change
# log-loss by .02 at most, accuracy by .004, on drug_disease by .03.
USUAL_CHOICES = 9.0
# Rounds in which workers and choices are learned from each other, always as many: after ten, hardly anything moves.
ROUNDS = 30
# Votes of the first piece of a file that is searched for answers with several labels; pieces double from there on, so
# that most multi-label files are done after the first one and others take one pass.
PIECE, MOST_IN_PIECE = 1 << 14, 1 << 20


# -- which labels ----------------------------------------------------------------------------------------------------


def check_exclusive(said: Groups) -> None:
    """Raise ParameterError unless this is None, True, False, or groups of at least two labels, each label in one."""
    if said is None or isinstance(said, bool):
        return
    groups = _groups(said)
    first: dict[str, str] = {}
    for name, labels in groups.items():
        if len(labels) < 2:
            raise ParameterError(
                f"exclusive must name two labels or more in each group, of which one is true; got {labels!r} "
                f"(command line: --exclusive a,b,c). Leave this group out, or name the others."
            )
        for label in map(str, labels):
            if label in first:
                where = f"twice in {name}" if first[label] == name else f"in {first[label]} and in {name}"
                raise ParameterError(
                    f"exclusive must name each label once; {label!r} is {where}. Leave one of the two out."
                )
            first[label] = name


def _groups(said: Any) -> dict[str, list[Any]]:
    """Groups of labels by name; groups without one are numbered from 1."""
    named = dict(said) if isinstance(said, Mapping) else None
    listed = not isinstance(said, str) and isinstance(said, Sequence)
    groups = named if named is not None else {f"group {k}": each for k, each in enumerate(said, 1)} if listed else {}
    if not groups or any(isinstance(labels, str) or not isinstance(labels, Sequence) for labels in groups.values()):
        raise ParameterError(
            "exclusive must be None (learned from the answers), True (all labels), False (none), or groups of labels "
            f"that exclude each other, like [['factual', 'mixed', 'opinion']]; got {said!r}."
        )
    return {str(name): list(labels) for name, labels in groups.items()}


def label_groups(said: Groups, label_names: pa.Array) -> tuple[tuple[str, ...], Codes]:
    """Names of the groups, and (n_labels,) the group of each label, −1 for none."""
    group = np.full(len(label_names), NO_GROUP, np.int32)
    if isinstance(said, bool) or said is None:
        if said and len(label_names) < 2:
            raise ParameterError(
                "exclusive=True needs two labels of which one is true; these votes have one. Leave it out (command "
                "line: --exclusive)."
            )
        group[:] = 0
        return ("all",), group
    place = {str(name): code for code, name in enumerate(label_names.to_pylist())}
    groups = _groups(said)
    for code, labels in enumerate(groups.values()):
        for label in map(str, labels):
            if label not in place:
                raise ParameterError(
                    f"exclusive names the label {label!r}, which these votes do not have (command line: --exclusive); "
                    f"they have {', '.join(list(place)[:20])}{', …' * (len(place) > 20)}."
                )
            group[place[label]] = code
    return tuple(groups), group


# -- whether every answer has one ------------------------------------------------------------------------------------


class AnswerCount(NamedTuple):
    """What answers look like; blocks add up.

    answers : of one worker on one item, that were asked about two labels or more of a group
    single : those with exactly one yes; where one is not, counting may stop
    several : an answer with more than one yes, or an item with two labels that are known to be true, in words
    """

    answers: int
    single: int
    several: tuple[str, ...]


def count_answers(block: Block, group: Codes, declared: bool) -> AnswerCount:
    """Count the answers of a block; where groups are declared, all of them, else until one has not one label."""
    votes = block.votes(names=declared)
    several = _known_twice(votes, Gold.of(votes, block.known), group)
    answers = single = first = 0
    size = PIECE
    while first < len(votes) and not several:
        end = len(votes) if first + size >= len(votes) else int(np.searchsorted(votes.item, votes.item[first + size]))
        end = end if end > first else int(np.searchsorted(votes.item, votes.item[first], side="right"))
        key, asked, given, yes = _answers(votes, group, slice(first, end))
        choice = asked > 1
        one = yes * asked == given  # of answers given several times, as samples, one for each time
        answers, single = answers + int(choice.sum()), single + int((choice & one).sum())
        if declared and (wrong := np.flatnonzero(choice & (yes * asked > given))).size:
            several = (_answer_in_words(votes, group, int(key[wrong[0]])),)
        if not declared and single < answers:
            break
        first, size = end, min(2 * size, MOST_IN_PIECE)
    return AnswerCount(answers, single, several)


def _answers(votes: Votes, group: Codes, part: slice) -> tuple[Ints, Ints, Ints, Ints]:
    """Of a part of the votes, the answers to each group: their keys, labels asked about, votes, and yes among them."""
    here = slice(None) if (group >= 0).all() else np.flatnonzero(group[votes.label[part]] >= 0)
    item, worker, label, value = (each[part][here] for each in (votes.item, votes.worker, votes.label, votes.value))
    n_groups = int(group.max(initial=0)) + 1
    key = (item.astype(np.int64) * votes.n_workers + worker) * n_groups + group[label]
    least = int(key.min(initial=np.iinfo(np.int64).max)) if len(key) else 0
    found, place = distinct(key - least, int(key.max(initial=0)) - least + 1)
    given = np.bincount(place, minlength=len(found))
    yes = np.bincount(place[value > 0], minlength=len(found))
    if not votes.reading.samples:
        return found + least, given, given, yes
    again = (item[1:] == item[:-1]) & (label[1:] == label[:-1]) & (worker[1:] == worker[:-1])
    return found + least, np.bincount(place[np.append(True, ~again)], minlength=len(found)), given, yes


def _answer_in_words(votes: Votes, group: Codes, key: int) -> str:
    """Who said yes to which labels of which item, by the key of an answer."""
    answer, which = divmod(key, int(group.max()) + 1)
    item, worker = divmod(answer, votes.n_workers)
    mine = (votes.item == item) & (votes.worker == worker) & (group[votes.label] == which) & (votes.value > 0)
    labels = " and ".join(repr(str(votes.label_names[int(code)])) for code in votes.label[mine])
    return f"worker {str(votes.worker_names[worker])!r} said yes to {labels} of item {str(votes.item_names[item])!r}"


def _known_twice(votes: Votes, gold: Gold, group: Codes) -> tuple[str, ...]:
    """An item of which two labels of a group are known to be true, in words."""
    if not gold.known.any():
        return ()
    choices = Choices.among(votes.pairs.item, votes.pairs.label, group)
    true = gold.present & gold.known
    twice = np.flatnonzero(choices.sums(true) > 1)
    if not len(twice):
        return ()
    mine = choices.place[choices.of == twice[0]]
    labels = " and ".join(repr(str(votes.label_names[int(code)])) for code in votes.pairs.label[mine[true[mine]]])
    return (f"the known truth has {labels} of item {str(votes.item_names[int(choices.item[twice[0]])])!r}",)


# -- learning --------------------------------------------------------------------------------------------------------


def learn_exclusive(engine: Engine, said: Groups, weight: Floats | None) -> SingleChoice:
    """Which labels exclude each other, as was `said` or as the answers show, and how workers choose between them.

    said : the parameter `exclusive`; weight : (n_workers,) what votes count for, None where all count alike
    """
    declared = said is not None and said is not False
    names, group = label_groups(said, engine.label_names)
    count = AnswerCount(0, 0, ())
    if declared or (said is None and engine.n_labels > 1):
        count = engine.total(count_answers, group, declared)
    if declared and count.several:
        raise ConflictError(
            f"exclusive labels: an answer must have one label of a group at most, but {count.several[0]}. Correct the "
            "row, or leave the group out (command line: --exclusive) if both may be true."
        )
    alike = count.answers > 0 and count.single == count.answers and not count.several
    if not (declared or (alike and count.answers >= ENOUGH_ANSWERS)):
        none = np.full(engine.n_labels, NO_GROUP, np.int32)
        looks = count.answers if alike and count.answers >= WORTH_SAYING else 0
        return SingleChoice("none", (), none, looks, looks, None)
    rates = _learned_choices(engine, group, len(names), weight)
    return SingleChoice("declared" if declared else "learned", names, group, count.answers, count.single, rates)


class ChoiceSums(NamedTuple):
    """What one round says about workers and labels; blocks add up.

    right, said : (n_workers * n_groups,) choices that were right, as expected, and all
    true, wrong : (n_labels,) how often each label is the true one, and was chosen wrongly
    """

    right: Floats
    said: Floats
    true: Floats
    wrong: Floats


def _learned_choices(engine: Engine, group: Codes, n_groups: int, weight: Floats | None) -> ChoiceRates:
    """How workers choose, by expectation and maximisation from shares of yes on."""
    # Of votes in memory, what is the same in every round is found once.
    found = choice_votes(engine.block, group, weight) if isinstance(engine, InMemory) else None
    rates = None
    for _ in range(ROUNDS):
        if found is None:
            sums = engine.total(sum_choices, group, weight, rates)
        else:
            sums = found.sums(rates, engine.n_workers * n_groups, engine.n_labels)
        rates = _rates_from(sums, group, n_groups)
    assert rates is not None  # there is a round
    return rates


def sum_choices(block: Block, group: Codes, weight: Floats | None, rates: ChoiceRates | None) -> ChoiceSums:
    """A round over a block."""
    votes = block.votes()
    n_groups = int(group.max()) + 1
    return choice_votes(block, group, weight).sums(rates, votes.n_workers * n_groups, votes.n_labels)


def _rates_from(sums: ChoiceSums, group: Codes, n_groups: int) -> ChoiceRates:
    """Rates that follow from the sums of a round; those of few answers lean to what is usual."""
    right, said = (each.reshape(-1, n_groups) for each in (sums.right, sums.said))
    usual = (right.sum(axis=0) + 1) / (said.sum(axis=0) + 2)
    inside = group >= 0
    size = np.bincount(group[inside], minlength=n_groups)

    def among_group(values: Floats) -> Floats:
        """Shares of the labels of each group; one more of each, so that none is 0."""
        total = weight_per_code(group[inside], values[inside], n_groups) + size
        return np.where(inside, (values + 1) / total[group], 0.0)

    shrunk = (right + USUAL_CHOICES * usual) / (said + USUAL_CHOICES)
    return ChoiceRates(shrunk, among_group(sums.true), among_group(sums.wrong))


# -- reading ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChoiceVotes:
    """The choices that are decided, and who chose what.

    choices : theirs are the n pairs; label : (n,) of each; share : (n,) smoothed share of yes
    said : (n,) how many chose any label of the choice
    known : (n,) truth: 1 present, 0 absent, −1 not known; a label that is present makes the others absent
    at, rate, chose, weight : of each vote that chooses: its place among the n, that of its worker and group among the
        rates, the label, and what it counts for
    """

    choices: Choices
    label: Codes
    share: Floats
    said: Floats
    known: Signs
    at: Ints
    rate: Ints
    chose: Codes
    weight: Floats

    def by_workers(self, rates: ChoiceRates) -> Floats:
        """(n,) logarithm, up to a constant of each choice, of how likely each label is the true one.

        A worker who is right with probability a, and else chooses label c with probability q_c / (1 − q_true), adds
        logit(a) − logit(q) to the label that they choose, and −log(1 − q) to each; never less than nothing to the
        former, as a worker who is worse than chance is not believed to know the truth and hide it.
        """
        gain = safe_logit(rates.right).ravel()[self.rate] - safe_logit(rates.mistaken)[self.chose]
        evidence = weight_per_code(self.at, self.weight * np.maximum(gain, 0.0), len(self.label))
        of_label = FREQUENCY * safe_log(rates.frequency)
        return of_label[self.label] - self.said * np.log1p(-rates.mistaken)[self.label] + evidence

    def sums(self, rates: ChoiceRates | None, n_rates: int, n_labels: int) -> ChoiceSums:
        """A round: which labels are true by the last rates, or at first by shares of yes, and who is right."""
        true = self.choices.shares(np.log(self.share) if rates is None else self.by_workers(rates))
        if (self.known >= 0).any():
            true = np.where(self.known >= 0, self.known, true)
            true /= np.add.reduceat(true, self.choices.start)[self.choices.of]
        right = self.weight * true[self.at]
        return ChoiceSums(
            weight_per_code(self.rate, right, n_rates),
            weight_per_code(self.rate, self.weight, n_rates),
            weight_per_code(self.label, true, n_labels),
            weight_per_code(self.chose, self.weight - right, n_labels),
        )


def choice_votes(block: Block, group: Codes, weight: Floats | None) -> ChoiceVotes:
    """The choices of a block that are decided, with known truth; (n_workers,) `weight` is what votes count for."""
    votes = block.votes()
    pairs, gold = votes.pairs, Gold.of(votes, block.known)
    choices = Choices.among(pairs.item, pairs.label, group)
    true = gold.present & gold.known
    told = choices.sums(true) > 0
    # Where truth says that no label is present that was asked about, there is nothing to choose from.
    decided = choices.decided(votes.n_yes, group) & (told | (choices.sums(~gold.known) > 0))
    known = np.where(told[choices.of], true[choices.place], np.where(gold.known[choices.place], 0, -1))
    kept, known = choices.only(decided), known[decided[choices.of]].astype(np.int8)
    n_yes, n_votes = (each[kept.place] for each in effective_counts(votes, weight))
    at = np.full(len(pairs), -1)
    at[kept.place] = np.arange(len(kept.place))
    yes = np.flatnonzero(votes.value > 0)
    where = np.repeat(at, pairs.n_votes)[yes]
    yes, where = yes[where >= 0], where[where >= 0]
    chose, worker = votes.label[yes], votes.worker[yes].astype(np.int64)
    return ChoiceVotes(
        kept,
        pairs.label[kept.place],
        (n_yes + HALF) / (n_votes + 2 * HALF),
        np.add.reduceat(n_yes, kept.start)[kept.of] if len(kept) else n_yes,
        known,
        where,
        worker * (int(group.max()) + 1) + group[chose],
        chose,
        np.ones(len(yes)) if weight is None else weight[worker],
    )


def read_choices(votes: Votes, proba: Floats, group: Codes, rates: ChoiceRates, weight: Floats | None) -> Floats:
    """(n_pairs,) probabilities that sum to one in each choice that is decided; others stay as they are.

    proba : (n_pairs,) what the model says of each pair by itself; group : (n_labels,) of each label, −1 for none
    weight : (n_workers,) what votes count for, None where all count alike
    """
    found = choice_votes(WholeBlock(votes), group, weight)
    place = found.choices.place
    pooled = SHARES * np.log(found.share) + ODDS * safe_logit(proba[place]) + WORKERS * found.by_workers(rates)
    result = proba.copy()
    result[place] = found.choices.shares(pooled)
    return result
