"""Exclusive labels: where workers choose one of several labels, the item gets exactly one.

Reason for this step: the other steps judge each label by itself, and nothing keeps them from calling two labels of a
single choice, or none. Labels that exclude each other are *declared*, or *learned* from answers which all have exactly
one. The choice is then read in three ways that err differently, and pooled: by shares of yes, by the model's odds, and
by how often each worker chooses rightly (docs/method.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from amcc.arrays import Codes, Floats, Ints, distinct, safe_log, safe_logit, weight_per_code
from amcc.consensus.families import effective_counts
from amcc.consensus.learned import Gold
from amcc.consensus.single_choice import NO_GROUP, Choices, SingleChoice
from amcc.engine.base import Block, Engine
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
# surer than the votes; of the other two, neither is better everywhere. Thirds gain .008 of log-loss in the mean over
# five sets and fifteen simulated crowds, but lose .04 to .06 where workers share mistakes.
SHARES, ODDS, WORKERS = 0.5, 0.2, 0.3
# Votes added to yes and no in a share: Jeffreys' prior.
HALF = 0.5
# How far the frequency of a label speaks for it beside the workers, as a power: not at all calls rare labels too often
# (accuracy .34 on a skewed crowd of three votes an item), fully calls the commonest label wherever workers are unsure
# (drug_disease: .50 for .72).
FREQUENCY = 0.5
# Choices of a usual worker that are added to those of each, so that few answers say little: half or double change no
# score by more than .01.
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
        nobody = np.empty((engine.n_workers, 0))
        none, nothing = np.full(engine.n_labels, NO_GROUP, np.int32), np.zeros(engine.n_labels)
        looks = count.answers if alike and count.answers >= WORTH_SAYING else 0
        return SingleChoice("none", (), none, looks, looks, nobody, nothing, nothing)
    right, frequency, mistaken = _learned_choices(engine, group, len(names), weight)
    basis = "declared" if declared else "learned"
    return SingleChoice(basis, names, group, count.answers, count.single, right, frequency, mistaken)  # type: ignore[arg-type]


class ChoiceSums(NamedTuple):
    """What one round says about workers and labels; blocks add up.

    right, said : (n_workers, n_groups) choices that were right, as expected, and all
    true, wrong : (n_labels,) how often each label is the true one, and was chosen wrongly
    """

    right: Floats
    said: Floats
    true: Floats
    wrong: Floats


class ChoiceRates(NamedTuple):
    """(n_workers, n_groups) how often workers are right; (n_labels,) how often labels are true, and chosen wrongly."""

    right: Floats
    frequency: Floats
    mistaken: Floats


def _learned_choices(engine: Engine, group: Codes, n_groups: int, weight: Floats | None) -> ChoiceRates:
    """How workers choose, by expectation and maximisation from shares of yes on."""
    rates = None
    for _ in range(ROUNDS):
        rates = _rates_from(engine.total(sum_choices, group, n_groups, weight, rates), group, n_groups)
    assert rates is not None  # there is a round
    return rates


def _rates_from(sums: ChoiceSums, group: Codes, n_groups: int) -> ChoiceRates:
    """Rates that follow from the sums of a round; those of few answers lean to what is usual."""
    usual = (sums.right.sum(axis=0) + 1) / (sums.said.sum(axis=0) + 2)
    right = (sums.right + USUAL_CHOICES * usual) / (sums.said + USUAL_CHOICES)
    size = np.bincount(group[group >= 0], minlength=n_groups)

    def among_group(values: Floats) -> Floats:
        """Shares of the labels of each group; one more of each, so that none is 0."""
        total = weight_per_code(group[group >= 0], values[group >= 0], n_groups) + size
        return np.where(group >= 0, (values + 1) / np.append(total, 1.0)[group], 0.0)

    return ChoiceRates(right, among_group(sums.true), among_group(sums.wrong))


def sum_choices(
    block: Block, group: Codes, n_groups: int, weight: Floats | None, rates: ChoiceRates | None
) -> ChoiceSums:
    """A round: which labels are true by the rates of the last one, or at first by shares of yes, and who is right."""
    votes = block.votes()
    choices = Choices.among(votes.pairs.item, votes.pairs.label, group)
    n_yes, n_votes = effective_counts(votes, weight)
    log_odds = np.log((n_yes + HALF) / (n_votes + 2 * HALF))
    if rates is not None:
        log_odds = by_workers(votes, choices, n_yes, group, weight, rates)
    true = np.zeros(len(votes.pairs))
    true[choices.place] = choices.shares(log_odds[choices.place])
    true = np.where((gold := Gold.of(votes, block.known)).known, gold.present, true)
    yes, pair, each = _yes_votes(votes, group, weight)
    key = votes.worker[yes].astype(np.int64) * n_groups + group[votes.label[yes]]
    shape, n_keys, label = (votes.n_workers, n_groups), votes.n_workers * n_groups, votes.label[yes]
    return ChoiceSums(
        weight_per_code(key, each * true[pair], n_keys).reshape(shape),
        weight_per_code(key, each, n_keys).reshape(shape),
        weight_per_code(votes.pairs.label[choices.place], true[choices.place], votes.n_labels),
        weight_per_code(label, each * (1 - true[pair]), votes.n_labels),
    )


def _yes_votes(votes: Votes, group: Codes, weight: Floats | None) -> tuple[Ints, Ints, Floats]:
    """Votes that choose a label: their places, their pairs, and what each counts for."""
    yes = np.flatnonzero((votes.value > 0) & (group[votes.label] >= 0))
    pair = np.searchsorted(votes.pairs.start, yes, side="right") - 1
    return yes, pair, np.ones(len(yes)) if weight is None else weight[votes.worker[yes]]


# -- reading ---------------------------------------------------------------------------------------------------------


def by_workers(
    votes: Votes, choices: Choices, n_yes: Floats, group: Codes, weight: Floats | None, rates: ChoiceRates
) -> Floats:
    """(n_pairs,) logarithm, up to a constant of each choice, of how likely each label is the true one.

    A worker who is right with probability a, and else chooses label c with probability q_c / (1 − q_true), adds
    logit(a) − logit(q) to the label that they choose, and −log(1 − q) to each; never less than nothing to the former,
    as a worker who is worse than chance is not believed to know the truth and hide it.
    """
    log_wrong, odds_wrong = np.log1p(-rates.mistaken), safe_logit(rates.mistaken)
    yes, pair, each = _yes_votes(votes, group, weight)
    gain = safe_logit(rates.right)[votes.worker[yes], group[votes.label[yes]]] - odds_wrong[votes.label[yes]]
    evidence = weight_per_code(pair, each * np.maximum(gain, 0.0), len(votes.pairs))
    said = np.zeros(len(votes.pairs))
    said[choices.place] = choices.sums(n_yes)[choices.of]
    label = votes.pairs.label
    return np.asarray(FREQUENCY * safe_log(rates.frequency)[label] - said * log_wrong[label] + evidence)


def read_choices(votes: Votes, proba: Floats, found: SingleChoice, weight: Floats | None) -> Floats:
    """(n_pairs,) probabilities that sum to one in each choice that is decided; others stay as they are.

    proba : (n_pairs,) what the model says of each pair by itself; found : groups and rates for these votes
    weight : (n_workers,) what votes count for, None where all count alike
    """
    group = found.group
    choices = Choices.among(votes.pairs.item, votes.pairs.label, group)
    n_yes, n_votes = effective_counts(votes, weight)
    rates = ChoiceRates(found.right, found.frequency, found.mistaken)
    pooled = SHARES * np.log((n_yes + HALF) / (n_votes + 2 * HALF)) + ODDS * safe_logit(proba)
    pooled += WORKERS * by_workers(votes, choices, n_yes, group, weight, rates)
    here = choices.decided(n_yes, group)[choices.of]
    result = proba.copy()
    result[choices.place[here]] = choices.shares(pooled[choices.place])[here]
    return result
