"""Passes over all votes: posteriors, expected counts, judgements. What a round of a fit spends its time on.

Every pass has two forms that give the same numbers up to rounding, and the tests compare them:

* the *numpy twin* (`…_numpy`), a few lines that say what is computed. Read this one first.
* the compiled loop (`amcc.loops.votes`), for large input. It runs in pieces, one thread for each (`amcc.threads`).

Compiling costs a few seconds once per machine (the result is cached) and importing numba a third of a second in every
process, so small input takes the twin and never pays for either. `or_twin` makes the choice.

Votes come in the order of pairs (item, label). All passes take them as two arrays: `slot`, (n_votes,), which gives for
each vote its coin and whether it is a yes (`amcc.votes.Coins`), and `start`, (n_pairs + 1,), which says where
the votes of each pair begin. A table over slots, like `evidence`, therefore holds what a yes or a no of one worker on
one label is worth.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from amcc.arrays import Codes, Floats, Ints, Signs, distinct, sigmoid, unsigned, weight_per_code
from amcc.fields import Each
from amcc.sums import sum_at, sum_by
from amcc.threads import in_threads, n_pieces

Pass = TypeVar("Pass", bound=Callable[..., Any])
Number = TypeVar("Number", bound=np.generic)

# Votes up to which the numpy twins are the faster choice in a fresh process: a pass over so many takes numpy a few
# milliseconds, so some hundred passes of a fit cost about as much as importing numba once.
SMALL = 200_000

# Log-odds of a pair with known truth: large, yet finite, so that sums and exponentials stay numbers. exp(−50) is 2e-22,
# below the rounding of any probability. Votes still add to it: only 50 log-odds of votes against it could hide the
# truth from a round. Published results hold the truth in any case, since the base class of models writes it in.
CERTAIN = 50.0

# Steps in which many keys are unpacked, and their memory given back: while one is, its part is there twice.
UNPACKING_STEPS = 16

NO_FLOATS: Floats = np.empty(0)


# -- which form, and in how many pieces ------------------------------------------------------------------------------


def or_twin(twin: Pass) -> Callable[[Pass], Pass]:
    """A decorator: up to SMALL votes (the length of the first argument) the numpy twin answers, else the loop."""

    def decorate(compiled: Pass) -> Pass:
        @functools.wraps(compiled)
        def choose(votes: npt.NDArray[Any], *others: Any) -> Any:
            return (twin if len(votes) <= SMALL else compiled)(votes, *others)

        return cast("Pass", choose)

    return decorate


def run_pieces(loop: str, bounds: Ints, shared: tuple[Any, ...], *tables: npt.NDArray[Any]) -> list[Any]:
    """What a loop of `amcc.loops.votes` returns for each piece, in order.

    Parameters
    ----------
    loop
        Its name. Numba is imported here, and so only where a loop is wanted.
    bounds : (n_pieces + 1,)
        The loop gets the first place of its piece, and the one after its last.
    shared
        Arguments that all pieces share. They may write to different places of the same array.
    tables : (n_pieces, …)
        Each piece adds to its own row: two threads that add to one number would lose sums.
    """
    from amcc.loops import votes as vote_loops

    compiled = getattr(vote_loops, loop)

    def run(piece: int) -> Any:
        return compiled(bounds[piece], bounds[piece + 1], *shared, *(table[piece] for table in tables))

    return in_threads(run, len(bounds) - 1)


def piece_bounds(start: Ints, n_sums: int = 0) -> Ints:
    """First pair of each piece, and the number of pairs; pieces hold about equally many votes.

    The bounds depend on the votes and on how many sums each piece makes (`n_pieces`). So every sum is made of the same
    parts in the same order on any machine, however many cores it has.
    """
    # Whole numbers as `start` holds them: else searchsorted converts all of `start` first.
    cuts = np.linspace(0, start[-1], n_pieces(int(start[-1]), n_sums) + 1)[1:-1].astype(np.int64)
    return np.concatenate([[0], np.searchsorted(start, cuts), [len(start) - 1]])


# -- posteriors and expected counts in one pass ------------------------------------------------------------------


class PosteriorResult(NamedTuple):
    """What one pass over the votes yields.

    proba : (n_pairs,) probability that the label is present.
    present : (n_slots,) expected number of votes in each slot that met a present label.
    log_odds_sum : sum over pairs of log(1 + exp(log-odds)), the data's share of the log-likelihood.
    change : the largest difference to the probabilities before.
    """

    proba: Floats
    present: Floats
    log_odds_sum: float
    change: float


def posterior_pass_numpy(
    slot: Codes, start: Ints, evidence: Floats, prior: Floats, before: Floats | None = None
) -> PosteriorResult:
    """The numpy twin of `posterior_pass`."""
    if len(slot) == 0:
        return PosteriorResult(np.empty(0), np.zeros(len(evidence)), 0.0, 0.0)
    log_odds = prior + sum_over_votes_numpy(slot, start, evidence)
    proba = sigmoid(log_odds)
    present = sum_over_slots_numpy(slot, start, proba, len(evidence))
    change = 1.0 if before is None else float(np.abs(proba - before).max())
    return PosteriorResult(proba, present, float(np.logaddexp(0.0, log_odds).sum()), change)


@or_twin(posterior_pass_numpy)
def posterior_pass(
    slot: Codes, start: Ints, evidence: Floats, prior: Floats, before: Floats | None = None
) -> PosteriorResult:
    """Posterior of every asked pair, and what it says about every coin.

    Bayes' rule in log-odds, where votes that are independent given the truth add up: log-odds of a pair = its prior +
    the evidence of its votes.

    Parameters
    ----------
    slot : (n_votes,)
        Votes in the order of pairs, see `amcc.votes.Coins`.
    start : (n_pairs + 1,)
        Where the votes of each pair begin.
    evidence : (n_slots,)
        Log-odds that a vote in this slot adds to "present".
    prior : (n_pairs,)
        Log-odds of each pair before any vote.
    before : (n_pairs,), optional
        Probabilities of the round before, to measure the change against. Without them the change is 1: far from
        any tolerance, so no fit stops at its first round.

    Examples
    --------
    A yes worth +2 and a no worth −1 on one pair, a priori even: log-odds 1.

    >>> found = posterior_pass(np.array([1, 0]), np.array([0, 2]), np.array([-1.0, 2.0]), np.zeros(1))
    >>> found.proba.round(3).tolist(), found.present.round(3).tolist()
    ([0.731], [0.731, 0.731])
    """
    bounds = piece_bounds(start, len(evidence))
    proba, present = np.empty(len(prior)), np.empty((len(bounds) - 1, len(evidence)))
    # The loop compares with something in any case: the prior has the right length, and the result is not used.
    shared = unsigned(slot), unsigned(start), evidence, prior, prior if before is None else before, proba
    sums, changes = zip(*run_pieces("posterior", bounds, shared, present), strict=True)
    return PosteriorResult(proba, present.sum(axis=0), float(sum(sums)), 1.0 if before is None else max(changes))


class Belief(NamedTuple):
    """What is believed about coins and labels in one round.

    evidence : (n_slots,) log-odds that a vote in each slot adds to "present"
    log_odds : (n_labels,) log-odds of a pair before any vote
    """

    evidence: Annotated[Floats, Each("slot")]
    log_odds: Annotated[Floats, Each("label")]


class RoundResult(NamedTuple):
    """What one round over the votes adds up to.

    proba : (n_pairs,) probability that the label is present
    present : (n_slots,) expected votes in each slot that met a present label
    label_present : (n_labels,) expected pairs of each label that are present
    log_odds_sum : sum over pairs of log(1 + exp(log-odds)); prior_sum : sum of probability times log-odds before votes
    squares, change : sum of the squared differences to the probabilities before, and the largest difference
    """

    proba: Floats
    present: Floats
    label_present: Floats
    log_odds_sum: float
    prior_sum: float
    squares: float
    change: float


def round_pass_numpy(
    slot: Codes, start: Ints, label: Codes, known: Signs, now: Belief, before: Belief | Floats | None
) -> RoundResult:
    """The numpy twin of `round_pass`."""
    if len(slot) == 0:
        return RoundResult(NO_FLOATS, np.zeros(len(now.evidence)), np.zeros(len(now.log_odds)), 0.0, 0.0, 0.0, 0.0)

    def priors(belief: Belief) -> Floats:
        prior = belief.log_odds[label]
        return np.where(known != 0, CERTAIN * known, prior) if len(known) else prior

    def posterior(belief: Belief) -> Floats:
        return priors(belief) + sum_over_votes_numpy(slot, start, belief.evidence)

    if before is None:
        before = share_of_yes(slot, start, known)
    log_odds = posterior(now)
    proba = sigmoid(log_odds)
    moved = proba - (sigmoid(posterior(before)) if isinstance(before, Belief) else before)
    return RoundResult(
        proba,
        sum_over_slots_numpy(slot, start, proba, len(now.evidence)),
        weight_per_code(label, proba, len(now.log_odds)),
        float(np.logaddexp(0.0, log_odds).sum()),
        float((proba * priors(now)).sum()),
        float((moved**2).sum()),
        float(np.abs(moved).max()),
    )


@or_twin(round_pass_numpy)
def round_pass(
    slot: Codes, start: Ints, label: Codes, known: Signs, now: Belief, before: Belief | Floats | None
) -> RoundResult:
    """Posterior of every asked pair by `now`, what it says about coins and labels, and how far it moved.

    As `posterior_pass`, with the priors made on the way from labels and known truth. It returns sums, not means, so
    that results of blocks can be added up (`amcc.engine`).

    Parameters
    ----------
    slot, start, label
        Votes in the order of pairs, where the votes of each pair begin, and the pairs' labels.
    known : (n_pairs,), or (0,) where no truth is known
        +1 present, −1 absent, 0 not known.
    before
        The probabilities of the round before, or the belief they came from (it takes a little longer to compute them
        again than to keep them), or None at the start, when they are the shares of yes.
    """
    # The loop takes arrays only: an empty one says that there is none.
    both, old_log_odds, kept = NO_FLOATS.reshape(0, 2), NO_FLOATS, NO_FLOATS
    if isinstance(before, Belief):
        both, old_log_odds = np.stack([now.evidence, before.evidence], axis=1), before.log_odds
    elif before is not None:
        kept = before
    proba = np.empty(len(label))
    bounds = piece_bounds(start, len(now.evidence))
    n = len(bounds) - 1
    present, label_present = np.empty((n, len(now.evidence))), np.zeros((n, len(now.log_odds)))
    votes = unsigned(slot), unsigned(start), unsigned(label), known
    shared = *votes, *now, both, old_log_odds, before is None, kept, CERTAIN, proba
    results = run_pieces("one_round", bounds, shared, present, label_present)
    sums, priors, squares, changes = zip(*results, strict=True)
    tables = present.sum(axis=0), label_present.sum(axis=0)
    return RoundResult(proba, *tables, float(sum(sums)), float(sum(priors)), float(sum(squares)), max(changes))


# -- one sum at a time -----------------------------------------------------------------------------------------------


def share_of_yes(slot: Codes, start: Ints, known: Signs) -> Floats:
    """(n_pairs,) share of yes among the votes on each pair; the truth where it is `known`.

    >>> share_of_yes(np.array([1, 0, 3, 2]), np.array([0, 3, 4]), np.array([0, 1])).round(3).tolist()
    [0.667, 1.0]
    """
    if len(slot) == 0:
        return np.empty(0)
    # The last bit of a slot says yes or no, so no table of answers is needed.
    share = np.add.reduceat(slot & 1, start[:-1], dtype=np.int64) / np.diff(start)
    return np.where(known != 0, known > 0, share) if len(known) else share


def sum_over_votes_numpy(slot: Codes, start: Ints, evidence: Floats) -> Floats:
    """The numpy twin of `sum_over_votes`."""
    return sum_at(start, slot, evidence)


@or_twin(sum_over_votes_numpy)
def sum_over_votes(slot: Codes, start: Ints, evidence: Floats) -> Floats:
    """(n_pairs,) evidence of all votes on each pair; arguments as in `posterior_pass`."""
    total = np.zeros(len(start) - 1)
    run_pieces("sum_over_votes", piece_bounds(start), (unsigned(slot), unsigned(start), evidence, total))
    return total


def sum_over_slots_numpy(slot: Codes, start: Ints, proba: Floats, n_slots: int) -> Floats:
    """The numpy twin of `sum_over_slots`."""
    return sum_by(start, slot, proba, n_slots)


@or_twin(sum_over_slots_numpy)
def sum_over_slots(slot: Codes, start: Ints, proba: Floats, n_slots: int) -> Floats:
    """(n_slots,) expected votes that met a present label, from the (n_pairs,) probabilities."""
    bounds = piece_bounds(start, n_slots)
    present = np.zeros((len(bounds) - 1, n_slots))
    run_pieces("sum_over_slots", bounds, (unsigned(slot), unsigned(start), proba), present)
    return np.asarray(present.sum(axis=0))


def at_coins(place: Ints, table: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Of a table of two for each coin, those in these places.

    >>> at_coins(np.array([0, 2]), np.arange(6)).tolist()
    [0, 1, 4, 5]
    """
    return np.take(table.reshape(-1, 2), place, axis=0).ravel()  # table.reshape(-1, 2)[place] takes four times as long


def add_at_coins_numpy(place: Ints, values: npt.NDArray[Number], table: npt.NDArray[Number]) -> None:
    """The numpy twin of `add_at_coins`."""
    sums = np.add(at_coins(place, table), values)
    # Two numbers are assigned as one of twice the size, whatever is in it: three times as fast as rows of two.
    both = f"V{2 * table.itemsize}"
    table.view(both)[place] = sums.view(both)


@or_twin(add_at_coins_numpy)
def add_at_coins(place: Ints, values: npt.NDArray[Number], table: npt.NDArray[Number]) -> None:
    """Add to a table of two for each coin, in these places: no two are the same.

    >>> add_at_coins(np.array([0, 2]), np.ones(4), table := np.arange(6.0))
    >>> table.tolist()
    [1.0, 2.0, 2.0, 3.0, 5.0, 6.0]
    """
    bounds = np.linspace(0, len(place), n_pieces(len(place)) + 1).astype(np.int64)
    run_pieces("add_at_coins", bounds, (unsigned(place), values, table))


# -- every vote judged by the others ---------------------------------------------------------------------------------


class Judgement(NamedTuple):
    """How present the labels were that a slot's votes met, each judged without the vote itself.

    weight, square : (n_slots,) sums of the probabilities and of their squares.
    """

    weight: Floats
    square: Floats


def others_pass_numpy(slot: Codes, start: Ints, evidence: Floats, prior: Floats) -> Judgement:
    """The numpy twin of `others_pass`."""
    if len(slot) == 0:
        return Judgement(np.zeros(len(evidence)), np.zeros(len(evidence)))
    log_odds = prior + sum_over_votes_numpy(slot, start, evidence)
    # Leaving a vote out is a subtraction, since evidence adds up: no need to sum all other votes for each.
    proba = sigmoid(np.repeat(log_odds, np.diff(start)) - evidence[slot])
    return Judgement(weight_per_code(slot, proba, len(evidence)), weight_per_code(slot, proba**2, len(evidence)))


@or_twin(others_pass_numpy)
def others_pass(slot: Codes, start: Ints, evidence: Floats, prior: Floats) -> Judgement:
    """Judge every vote by the prior and the other votes on its pair; arguments as in `posterior_pass`.

    A worker must not be judged by a consensus that contains their own vote: they would agree with themselves.
    """
    bounds = piece_bounds(start, 2 * len(evidence))
    weight, square = np.zeros((2, len(bounds) - 1, len(evidence)))
    shared = unsigned(slot), unsigned(start), evidence, prior
    run_pieces("judge_by_others", bounds, shared, weight, square)
    return Judgement(weight.sum(axis=0), square.sum(axis=0))


# -- answers ----------------------------------------------------------------------------------------------------


def count_answers_numpy(item: Codes, worker: Codes, n_items: int, n_workers: int) -> tuple[Ints, Ints]:
    """The numpy twin of `count_answers`."""
    # One whole number for each (item, worker); 64 bits, since a product of two codes does not fit in 32.
    answers = distinct(item.astype(np.int64) * max(n_workers, 1) + worker, n_items * max(n_workers, 1))[0]
    who = np.divmod(answers, max(n_workers, 1))
    return np.bincount(who[0], minlength=n_items), np.bincount(who[1], minlength=n_workers)


@or_twin(count_answers_numpy)
def count_answers(item: Codes, worker: Codes, n_items: int, n_workers: int) -> tuple[Ints, Ints]:
    """Answers per item and per worker; votes must be sorted by item.

    An answer is all that one worker says about one item, so votes on several labels count once.

    >>> [counts.tolist() for counts in count_answers(np.array([0, 0, 0, 1]), np.array([1, 1, 0, 1]), 2, 3)]
    [[2, 1], [1, 2, 0]]
    """
    from amcc.loops import votes as vote_loops

    # In one piece: a worker's latest item is known to one thread only.
    per_item, per_worker = np.zeros(n_items, np.int64), np.zeros(n_workers, np.int64)
    vote_loops.count_answers(item, worker, per_item, per_worker, np.full(n_workers, -1, np.int32))
    return per_item, per_worker


# -- packed votes -----------------------------------------------------------------------------------------------


Unpacked = tuple[Codes, Codes, Codes, Signs]


def unpack_votes_numpy(keys: Ints, label_bits: int, worker_bits: int) -> Unpacked:
    """The numpy twin of `unpack_votes`."""
    pair = keys >> (worker_bits + 1)
    worker = (keys >> 1) & (2**worker_bits - 1)
    label = pair & (2**label_bits - 1)
    value = ((keys & 1) * 2 - 1).astype(np.int8)
    return (pair >> label_bits).astype(np.int32), worker.astype(np.int32), label.astype(np.int32), value


@or_twin(unpack_votes_numpy)
def unpack_votes(keys: Ints, label_bits: int, worker_bits: int) -> Unpacked:
    """Item, worker, label and value (±1) of votes packed as item, label, worker, yes, the item in the highest bits.

    So sorted keys are votes in the order that `Votes` wants: by item, label, worker. Many keys are used up: what is
    unpacked is given back, from the end on, while memory fills with votes.

    >>> key = ((6 << 2 | 3) << 4 | 9) << 1 | 1  # item 6, label 3 of 2 bits, worker 9 of 4 bits, yes
    >>> [column.tolist() for column in unpack_votes(np.array([key]), 2, 4)]
    [[6], [9], [3], [1]]
    """
    item, worker, label = (np.empty(len(keys), dtype=np.int32) for _ in range(3))
    value = np.empty(len(keys), dtype=np.int8)
    unpacked = label_bits, worker_bits, item, worker, label, value
    for first, end in reversed(list(pairwise(np.linspace(0, len(keys), UNPACKING_STEPS + 1).astype(np.int64)))):
        bounds = np.linspace(first, end, n_pieces(end - first) + 1).astype(np.int64)
        run_pieces("unpack_votes", bounds, (keys, *unpacked))
        if keys.flags.owndata:
            keys.resize(first, refcheck=False)
    return item, worker, label, value
