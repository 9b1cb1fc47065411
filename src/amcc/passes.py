"""The few passes over all votes: compiled for large input, with a plain numpy twin that the tests compare.

Compiling costs a few seconds once per machine (the result is cached) and importing numba a third of a second in every
process, so small input takes the twin and never pays for either.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from amcc.arrays import Codes, Floats, Ints, Signs, sigmoid, unsigned, weight_per_code
from amcc.fields import Each
from amcc.threads import in_threads, n_pieces

SMALL = 200_000
"""Votes up to which the numpy twins are the faster choice in a fresh process."""

# -- posteriors and expected counts in one pass ------------------------------------------------------------------


class PosteriorResult(NamedTuple):
    """What one pass over the votes yields.

    proba : (n_pairs,) probability that the label is present.
    present : (n_slots,) expected number of votes in each slot that met a present label.
    log_odds_sum : sum over pairs of log(1 + exp(log-odds)), the data's share of the log-likelihood.
    change : the largest difference to the probabilities before.
    typical_change : the root mean square of these differences.
    """

    proba: Floats
    present: Floats
    log_odds_sum: float
    change: float
    typical_change: float


def posterior_pass(slot: Codes, start: Ints, evidence: Floats, prior: Floats, before: Floats | None = None) -> PosteriorResult:
    """Posterior of every asked pair, and what it says about every coin.

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
        Probabilities of the round before, to measure the change against.
    """
    if len(slot) <= SMALL:
        return posterior_pass_numpy(slot, start, evidence, prior, before)
    from amcc.loops import votes as vote_loops

    bounds = piece_bounds(start)
    proba = np.empty(len(prior))
    present = np.empty((n_pieces(), len(evidence)))
    slot, start = unsigned(slot), unsigned(start)

    compare = before is not None
    before = prior if before is None else before  # any will do

    def run(block: int) -> tuple[float, float, float]:
        first, last = bounds[block], bounds[block + 1]
        result: tuple[float, float, float] = vote_loops.posterior(
            slot, start, evidence, prior, first, last, before, proba, present[block]
        )
        return result

    sums, changes, squares = zip(*in_threads(run, n_pieces()), strict=True)
    change, typical = (max(changes), float(np.sqrt(sum(squares) / len(prior)))) if compare else (1.0, 1.0)
    return PosteriorResult(proba, present.sum(axis=0), float(sum(sums)), change, typical)


def posterior_pass_numpy(
    slot: Codes, start: Ints, evidence: Floats, prior: Floats, before: Floats | None = None
) -> PosteriorResult:
    """The numpy twin of `posterior_pass`."""
    if len(slot) == 0:
        return PosteriorResult(np.empty(0), np.zeros(len(evidence)), 0.0, 0.0, 0.0)
    log_odds = prior + np.add.reduceat(evidence[slot], start[:-1])
    proba = sigmoid(log_odds)
    present = weight_per_code(slot, np.repeat(proba, np.diff(start)), len(evidence))
    moved = np.ones(1) if before is None else np.abs(proba - before)
    typical = float(np.sqrt((moved**2).mean()))
    return PosteriorResult(proba, present, float(np.logaddexp(0.0, log_odds).sum()), float(moved.max()), typical)


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


CERTAIN = 50.0
"""Log-odds of a pair whose truth is known: large, yet finite, so that sums and exponentials stay numbers."""

NO_FLOATS: Floats = np.empty(0)


def round_pass(
    slot: Codes,
    start: Ints,
    label: Codes,
    known: Signs,
    now: Belief,
    before: Belief | Floats | None,
) -> RoundResult:
    """Posterior of every asked pair by `now`, what it says about coins and labels, and how far it moved.

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
    if len(slot) <= SMALL:
        return round_pass_numpy(slot, start, label, known, now, before)
    from amcc.loops import votes as vote_loops

    old = before if isinstance(before, Belief) else now
    kept = before if isinstance(before, np.ndarray) else NO_FLOATS
    bounds = piece_bounds(start)
    proba = np.empty(len(label))
    present = np.empty((n_pieces(), len(now.evidence)))
    label_present = np.zeros((n_pieces(), len(now.log_odds)))
    slot, start, label = unsigned(slot), unsigned(start), unsigned(label)

    def run(block: int) -> tuple[float, float, float, float]:
        sums: tuple[float, float, float, float] = vote_loops.one_round(
            slot, start, label, known, now.evidence, now.log_odds, old.evidence, old.log_odds, before is None, kept,
            CERTAIN, bounds[block], bounds[block + 1], proba, present[block], label_present[block],
        )  # fmt: skip
        return sums

    sums, priors, squares, changes = zip(*in_threads(run, n_pieces()), strict=True)
    of_slots, of_labels = present.sum(axis=0), label_present.sum(axis=0)
    return RoundResult(proba, of_slots, of_labels, float(sum(sums)), float(sum(priors)), float(sum(squares)), max(changes))


def round_pass_numpy(
    slot: Codes,
    start: Ints,
    label: Codes,
    known: Signs,
    now: Belief,
    before: Belief | Floats | None,
) -> RoundResult:
    """The numpy twin of `round_pass`."""
    if len(slot) == 0:
        return RoundResult(NO_FLOATS, np.zeros(len(now.evidence)), np.zeros(len(now.log_odds)), 0.0, 0.0, 0.0, 0.0)

    def priors(belief: Belief) -> Floats:
        prior = belief.log_odds[label]
        return np.where(known != 0, CERTAIN * known, prior) if len(known) else prior

    def posterior(belief: Belief) -> Floats:
        return priors(belief) + np.add.reduceat(belief.evidence[slot], start[:-1])

    if before is None:
        before = share_of_yes(slot, start, known)
    log_odds = posterior(now)
    proba = sigmoid(log_odds)
    moved = proba - (sigmoid(posterior(before)) if isinstance(before, Belief) else before)
    return RoundResult(
        proba,
        weight_per_code(slot, np.repeat(proba, np.diff(start)), len(now.evidence)),
        weight_per_code(label, proba, len(now.log_odds)),
        float(np.logaddexp(0.0, log_odds).sum()),
        float((proba * priors(now)).sum()),
        float((moved**2).sum()),
        float(np.abs(moved).max()),
    )


def share_of_yes(slot: Codes, start: Ints, known: Signs) -> Floats:
    """(n_pairs,) share of yes among the votes on each pair; the truth where it is `known`."""
    if len(slot) == 0:
        return np.empty(0)
    share = np.add.reduceat(slot & 1, start[:-1], dtype=np.int64) / np.diff(start)
    return np.where(known != 0, known > 0, share) if len(known) else share


def sum_over_votes(slot: Codes, start: Ints, evidence: Floats) -> Floats:
    """(n_pairs,) evidence of all votes on each pair; arguments as in `posterior_pass`."""
    if len(slot) <= SMALL:
        return np.add.reduceat(evidence[slot], start[:-1]) if len(slot) else np.empty(0)
    from amcc.loops import votes as vote_loops

    total = np.zeros(len(start) - 1)
    bounds = piece_bounds(start)
    slot, start = unsigned(slot), unsigned(start)

    def run(block: int) -> None:
        vote_loops.sum_over_votes(slot, start, evidence, bounds[block], bounds[block + 1], total)

    in_threads(run, n_pieces())
    return total


def sum_over_slots(slot: Codes, start: Ints, proba: Floats, n_slots: int) -> Floats:
    """(n_slots,) expected votes that met a present label, from the (n_pairs,) probabilities."""
    if len(slot) <= SMALL:
        return weight_per_code(slot, np.repeat(proba, np.diff(start)), n_slots)
    from amcc.loops import votes as vote_loops

    present = np.zeros((n_pieces(), n_slots))
    bounds = piece_bounds(start)
    slot, start = unsigned(slot), unsigned(start)

    def run(block: int) -> None:
        vote_loops.sum_over_slots(slot, start, proba, bounds[block], bounds[block + 1], present[block])

    in_threads(run, n_pieces())
    return np.asarray(present.sum(axis=0))


class Judgement(NamedTuple):
    """How present the labels were that a slot's votes met, each judged without the vote itself.

    weight, square : (n_slots,) sums of the probabilities and of their squares.
    """

    weight: Floats
    square: Floats


def others_pass(slot: Codes, start: Ints, evidence: Floats, prior: Floats) -> Judgement:
    """Judge every vote by the prior and the other votes on its pair; arguments as in `posterior_pass`."""
    if len(slot) <= SMALL:
        return others_pass_numpy(slot, start, evidence, prior)
    from amcc.loops import votes as vote_loops

    weight, square = np.zeros((2, n_pieces(), len(evidence)))
    bounds = piece_bounds(start)
    slot, start = unsigned(slot), unsigned(start)

    def run(block: int) -> None:
        first, last = bounds[block], bounds[block + 1]
        vote_loops.judge_by_others(slot, start, evidence, prior, first, last, weight[block], square[block])

    in_threads(run, n_pieces())
    return Judgement(weight.sum(axis=0), square.sum(axis=0))


def others_pass_numpy(slot: Codes, start: Ints, evidence: Floats, prior: Floats) -> Judgement:
    """The numpy twin of `others_pass`."""
    if len(slot) == 0:
        return Judgement(np.zeros(len(evidence)), np.zeros(len(evidence)))
    log_odds = prior + np.add.reduceat(evidence[slot], start[:-1])
    proba = sigmoid(np.repeat(log_odds, np.diff(start)) - evidence[slot])
    return Judgement(weight_per_code(slot, proba, len(evidence)), weight_per_code(slot, proba**2, len(evidence)))


def piece_bounds(start: Ints) -> Ints:
    """First pair of each block, and the number of pairs; blocks hold about equally many votes."""
    cuts = np.linspace(0, start[-1], n_pieces() + 1)[1:-1].astype(
        np.int64
    )  # as `start` is: else all of it is converted
    return np.concatenate([[0], np.searchsorted(start, cuts), [len(start) - 1]])


# -- answers ----------------------------------------------------------------------------------------------------


def count_answers(item: Codes, worker: Codes, n_items: int, n_workers: int) -> tuple[Ints, Ints]:
    """Answers per item and per worker; votes must be sorted by item."""
    if len(item) <= SMALL:
        return count_answers_numpy(item, worker, n_items, n_workers)
    from amcc.loops import votes as vote_loops

    per_item, per_worker = np.zeros(n_items, np.int64), np.zeros(n_workers, np.int64)
    vote_loops.count_answers(item, worker, per_item, per_worker, np.full(n_workers, -1, np.int32))
    return per_item, per_worker


def count_answers_numpy(item: Codes, worker: Codes, n_items: int, n_workers: int) -> tuple[Ints, Ints]:
    """The numpy twin of `count_answers`."""
    answers = np.unique(item.astype(np.int64) * max(n_workers, 1) + worker)
    who = np.divmod(answers, max(n_workers, 1))
    return np.bincount(who[0], minlength=n_items), np.bincount(who[1], minlength=n_workers)


# -- packed votes -----------------------------------------------------------------------------------------------


Unpacked = tuple[Codes, Codes, Codes, Signs]


def unpack_votes(keys: Ints, label_bits: int, worker_bits: int) -> Unpacked:
    """Item, worker, label and value (±1) of votes packed as item, label, worker, yes, the item in the highest bits."""
    if len(keys) <= SMALL:
        return unpack_votes_numpy(keys, label_bits, worker_bits)
    from amcc.loops import votes as vote_loops

    item, worker, label = (np.empty(len(keys), dtype=np.int32) for _ in range(3))
    value = np.empty(len(keys), dtype=np.int8)
    bounds = np.linspace(0, len(keys), n_pieces() + 1).astype(np.int64)

    def run(block: int) -> None:
        first, last = bounds[block], bounds[block + 1]
        vote_loops.unpack_votes(keys, label_bits, worker_bits, first, last, item, worker, label, value)

    in_threads(run, n_pieces())
    return item, worker, label, value


def unpack_votes_numpy(keys: Ints, label_bits: int, worker_bits: int) -> Unpacked:
    """The numpy twin of `unpack_votes`."""
    pair = keys >> (worker_bits + 1)
    worker = (keys >> 1) & (2**worker_bits - 1)
    label = pair & (2**label_bits - 1)
    value = ((keys & 1) * 2 - 1).astype(np.int8)
    return (pair >> label_bits).astype(np.int32), worker.astype(np.int32), label.astype(np.int32), value
