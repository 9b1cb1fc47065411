"""Exclusive labels: where workers choose one of several labels, the item gets exactly one.

Reason for this step: the other steps judge each label by itself, and nothing keeps them from calling two labels of a
single choice, or none. Labels that exclude each other are *declared*, or *learned* from answers which all have exactly
one. The choice is then read in three ways that err differently, and pooled: by shares of yes, by the model's odds, and
by how often each worker chooses rightly (docs/method.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from amcc.arrays import Codes, Floats, distinct, safe_log, safe_logit, weight_per_code
from amcc.consensus.families import effective_counts
from amcc.consensus.matching import new_code
from amcc.consensus.single_choice import NO_GROUP, Basis, Choices, SingleChoice
from amcc.engine.base import Block, Engine, InMemory, WholeBlock
from amcc.errors import ConflictError, ParameterError
from amcc.passes import sum_over_slots, sum_over_votes
from amcc.sums import sum_per_code
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
# Votes that are searched for answers with several labels at a time: most multi-label files are done after so many.
PIECE = 1 << 14


def named_groups(said: Any) -> dict[str, list[str]]:
    """Groups of labels by name, by number from 1 without one; none for None, True and False. ParameterError otherwise.

    >>> named_groups([["a", "b"]])
    {'group 1': ['a', 'b']}
    """
    if said is None or isinstance(said, bool):
        return {}
    if isinstance(said, Sequence) and not isinstance(said, str):
        said = {f"group {number}": labels for number, labels in enumerate(said, 1)}
    if not isinstance(said, Mapping) or not said or not all(isinstance(each, list | tuple) for each in said.values()):
        raise ParameterError(
            "exclusive must be None (learned from the answers), True (all labels), False (none), or groups of labels "
            f"that exclude each other, like [['factual', 'mixed', 'opinion']]; got {said!r}."
        )
    groups = {str(name): list(map(str, labels)) for name, labels in said.items()}
    first: dict[str, str] = {}
    for name, labels in groups.items():
        if len(labels) < 2:
            raise ParameterError(
                f"exclusive must name two labels or more in each group, of which one is true; got {labels!r} "
                f"(command line: --exclusive a,b,c). Leave this group out, or name the others."
            )
        for label in labels:
            if label in first:
                where = f"twice in {name}" if first[label] == name else f"in {first[label]} and in {name}"
                raise ParameterError(
                    f"exclusive must name each label once; {label!r} is {where}. Leave one of the two out."
                )
            first[label] = name
    return groups


def label_groups(said: Groups, label_names: pa.Array) -> tuple[tuple[str, ...], Codes]:
    """Names of the groups, and (n_labels,) the group of each label, −1 for none."""
    groups, group = named_groups(said), np.full(len(label_names), NO_GROUP, np.int32)
    if said is True and len(label_names) < 2:
        raise ParameterError(
            "exclusive=True needs two labels of which one is true; these votes have one. Leave it out (command line: "
            "--exclusive)."
        )
    if not groups:
        return ("all",), np.zeros_like(group)
    for number, labels in enumerate(groups.values()):
        code = new_code(pa.array(labels, pa.string()), label_names)
        if (code < 0).any():
            names = list(map(str, label_names.to_pylist()))
            raise ParameterError(
                f"exclusive names the label {labels[code.argmin()]!r}, which these votes do not have (command line: "
                f"--exclusive); they have {', '.join(names[:20])}{', …' * (len(names) > 20)}."
            )
        group[code] = number
    return tuple(groups), group


class AnswerCount(NamedTuple):
    """Answers of one worker on one item that were asked about two labels or more of a group; blocks add up.

    single : those with exactly one yes; several : one with more than one yes, in words
    """

    answers: int = 0
    single: int = 0
    several: tuple[str, ...] = ()


def count_answers(block: Block, group: Codes, declared: bool) -> AnswerCount:
    """Count the answers of a block; where groups are declared, all of them, else until one has not one label."""
    votes, count = block.votes(names=declared), AnswerCount()
    step = max(1, votes.n_items * PIECE // max(len(votes), 1))
    bounds = np.searchsorted(votes.item, np.arange(0, votes.n_items + step, step, dtype=np.int32))
    columns = votes.item, votes.worker, votes.label, votes.value
    parts: list[list[Any]] = [[each[first:end] for each in columns] for first, end in pairwise(bounds)]
    # What is known to be true is the answer of one more worker, and looked at first.
    true = np.flatnonzero(block.known > 0)
    parts.insert(0, [votes.pairs.item[true], np.full(len(true), votes.n_workers), votes.pairs.label[true], true >= 0])
    for part in parts:
        item, worker, label, value = (each[group[part[2]] >= 0] for each in part)
        key = (item - item[:1]).astype(np.int64) * (votes.n_workers + 1) + worker
        key = key * (int(group.max()) + 1) + group[label]
        found, place = distinct(key, int(key.max(initial=-1)) + 1)
        # Samples of an answer stand side by side, and each label that it was asked about counts once.
        asked = np.bincount(place, np.diff(key * votes.n_labels + label, prepend=-1) != 0, len(found))
        given, yes = np.bincount(place, minlength=len(found)), np.bincount(place, value > 0, len(found))
        choice = asked > 1
        single = choice & (yes * asked == given)  # one yes in each sample
        count = AnswerCount(count.answers + int(choice.sum()), count.single + int(single.sum()))
        wrong = np.flatnonzero(choice & (yes * asked > given))
        if declared and len(wrong):
            rows = np.flatnonzero((place == wrong[0]) & (value > 0))
            return count._replace(several=(_in_words(votes, item[rows[0]], worker[rows[0]], label[rows]),))
        if not declared and count.single < count.answers:
            break
    return count


def _in_words(votes: Votes, item: int, worker: int, labels: Codes) -> str:
    """Who said yes to which labels of which item."""
    who = "the known truth has"
    if worker < votes.n_workers:
        who = f"worker {str(votes.worker_names[worker])!r} said yes to"
    said = " and ".join(repr(str(votes.label_names[code])) for code in np.unique(labels).tolist())
    return f"{who} {said} of item {str(votes.item_names[item])!r}"


def learn_exclusive(engine: Engine, said: Groups, weight: Floats | None) -> SingleChoice:
    """Which labels exclude each other, as was `said` or as the answers show, and how workers choose between them.

    said : the parameter `exclusive`; weight : (n_workers,) what votes count for, None where all count alike
    """
    declared, count = said is not None and said is not False, AnswerCount()
    names, group = label_groups(said, engine.label_names)
    if declared or (said is None and engine.n_labels > 1):
        count = engine.total(count_answers, group, declared)
    if count.several:
        raise ConflictError(
            f"exclusive labels: an answer must have one label of a group at most, but {count.several[0]}. Correct the "
            "row, or leave the group out (command line: --exclusive) if both may be true."
        )
    right, nothing = np.zeros((engine.n_workers, len(names))), np.zeros(engine.n_labels)
    if not declared and not ENOUGH_ANSWERS <= count.answers == count.single:
        looks = count.answers if WORTH_SAYING <= count.answers == count.single else 0
        return SingleChoice("none", (), np.full_like(group, NO_GROUP), looks, looks, right, nothing, nothing)
    basis: Basis = "declared" if declared else "learned"
    now = SingleChoice(basis, names, group, count.answers, count.single, right, nothing, nothing)
    # Of votes in memory, what is the same in every round is found once.
    choices = Choices.among(engine.block, group) if isinstance(engine, InMemory) else None
    for number in range(ROUNDS):
        now = _updated(now, engine.total(sum_choices, now, weight, choices, number == 0))
    return now


class ChoiceSums(NamedTuple):
    """What one round says; blocks add up.

    of_workers : (2, n_workers * n_groups) choices that were right, as expected, and all
    of_labels : (2, n_labels) how often a label is the true one, and was chosen wrongly
    """

    of_workers: Floats
    of_labels: Floats


def sum_choices(
    block: Block, now: SingleChoice, weight: Floats | None, choices: Choices | None, by_share: bool
) -> ChoiceSums:
    """A round: which labels are true by the last one, or at first by shares of yes, and who is right."""
    choices = choices or Choices.among(block, now.group)
    coins, start, n_labels = block.coins, block.pairs.start, len(now.group)
    log_odds = _log_share(block, choices, weight) if by_share else _by_workers(block, choices, now, weight)
    # Who was asked about one label alone did not choose.
    chose, true = np.zeros((2, len(block.pairs)))
    chose[choices.place] = np.bincount(choices.of)[choices.of] > 1
    true[choices.place] = chose[choices.place] * choices.shares(log_odds)
    worth = 1.0 if weight is None else weight[coins.worker]
    right, said = (worth * sum_over_slots(coins.slot, start, each, 2 * len(coins))[1::2] for each in (true, chose))
    # Labels of no group were not chosen: nothing is added for them, wherever it is.
    key = coins.worker.astype(np.int64) * len(now.names) + np.maximum(now.group[coins.label], 0)
    labels = [(block.pairs.label, true), (coins.label, said - right)]
    return ChoiceSums(
        np.array([weight_per_code(key, each, now.right.size) for each in (right, said)]),
        np.array([weight_per_code(*each, n_labels) for each in labels]),
    )


def _updated(now: SingleChoice, sums: ChoiceSums) -> SingleChoice:
    """What follows from the sums of a round; what is known of few answers leans to what is usual."""
    right, said = sums.of_workers.reshape(2, *now.right.shape)
    usual = (right.sum(axis=0) + 1) / (said.sum(axis=0) + 2)
    # One more of each label, so that no share is 0 among those of its group.
    counted = np.where(now.group >= 0, sums.of_labels + 1, 0.0)
    frequency, mistaken = counted / sum_per_code(np.maximum(now.group, 0), counted, len(usual))[:, now.group]
    shrunk = (right + USUAL_CHOICES * usual) / (said + USUAL_CHOICES)
    return replace(now, right=shrunk, frequency=frequency, mistaken=mistaken)


def _log_share(block: Block, choices: Choices, weight: Floats | None) -> Floats:
    """(n,) logarithm of the smoothed share of yes."""
    n_yes, n_votes = (each[choices.place] for each in effective_counts(block.votes(), weight))
    return np.log((n_yes + HALF) / (n_votes + 2 * HALF))


def _by_workers(block: Block, choices: Choices, now: SingleChoice, weight: Floats | None) -> Floats:
    """(n,) logarithm, up to a constant of each choice, of how likely each label is the true one.

    A worker who is right with probability a, and else chooses label c with probability q_c / (1 − q_true), adds
    logit(a) − logit(q) to the label that they choose, and −log(1 − q) to each; never less than nothing to the
    former, as a worker who is worse than chance is not believed to know the truth and hide it.
    """
    coins, place, label = block.coins, choices.place, block.pairs.label[choices.place]
    right = safe_logit(now.right)[coins.worker, now.group[coins.label]]
    gain = np.maximum(right - safe_logit(now.mistaken)[coins.label], 0.0)
    of_slot = np.zeros(2 * len(coins))
    of_slot[1::2] = gain if weight is None else gain * weight[coins.worker]
    evidence = sum_over_votes(coins.slot, block.pairs.start, of_slot)[place]
    said = weight_per_code(choices.of, effective_counts(block.votes(), weight)[0][place], len(choices.start))
    others = said[choices.of] * np.log1p(-now.mistaken)[label]
    return FREQUENCY * safe_log(now.frequency)[label] - others + evidence


def read_choices(votes: Votes, proba: Floats, exclusive: SingleChoice, weight: Floats | None) -> Floats:
    """(n_pairs,) probabilities that sum to one in each choice that is decided; others stay as they are.

    proba : (n_pairs,) what the model says of each pair by itself
    weight : (n_workers,) what votes count for, None where all count alike
    """
    block = WholeBlock(votes)
    choices, result = Choices.among(block, exclusive.group), proba.copy()
    by_share, by_workers = _log_share(block, choices, weight), _by_workers(block, choices, exclusive, weight)
    pooled = SHARES * by_share + ODDS * safe_logit(proba[choices.place]) + WORKERS * by_workers
    result[choices.place] = choices.shares(pooled)
    return result
