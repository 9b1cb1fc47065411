"""Degrees of pairs: votes are independent given how many people would say yes, not given presence.

Two coins per worker know present, absent and error. Where items are faint or tempting, where people share a taste or
language models share training data, votes on a pair agree for other reasons than presence, and two coins explain the
agreement as presence: they become sure where they should not. Here a pair (i, l) is of one of `N_DEGREES` degrees,

    degree of (i, l)       ~ share[l],  share[l] ~ Dirichlet(LABEL_PAIRS · usual share)
    worker w says yes to a pair of degree k at a rate ~ Beta(strength[k] · rate[k], strength[k] · (1 − rate[k]))

and votes are independent given the degree. Rates of workers are integrated out as in `likelihood`: what a vote adds to
each degree is the expected log of its rate, times the probability that the worker looks at all (the groups of the
crowd). All of a worker's labels share the rates: with few votes there is nothing to tell them apart by, and where there
are many, the readings by presence do it.

Votes cannot say which degrees count as present: `presence_at` is our guess, by how many of those who look say yes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np
from scipy.special import betaln, digamma

from amcc import passes
from amcc.arrays import Codes, Floats, Ints, unsigned
from amcc.consensus.models.amcc.presence import presence_at
from amcc.engine.base import Block, Engine
from amcc.fields import Each
from amcc.threads import in_threads, n_pieces

N_DEGREES = 6
"""From three on they do about the same, and the cost grows with them."""

ROUNDS = 12
"""Few are enough, and with few, small crowds are not read too closely: workers start from the rates of the crowd."""

LEAST_RATE, MOST_RATE = 0.02, 0.97
"""Rates of the lowest and the highest degree at the start; the others lie evenly between."""

RATE_VOTES = 3.0
"""Pseudo-votes that hold the rate of each degree to where it started, so that degrees stay in order."""

STRENGTH, STRENGTH_SPREAD, STRENGTH_RANGE = 8.0, 2.0, (0.5, 4096.0)
"""Pseudo-votes that a degree lends to each worker: log-normal, as in `likelihood`."""

THOROUGH = 3
"""Strengths are looked at in every third round: they move slowly."""

LABEL_PAIRS = 8.0
"""Pairs that all labels together lend to each label."""

SURE = 0.01
"""Nobody's rate is nearer to 0 or 1 than this: one slip must not decide."""


class DegreeBelief(NamedTuple):
    """What one round believes.

    evidence : (2 · n_workers, n_degrees) log-probability of a no and a yes of each worker at each degree
    log_share : (n_labels, n_degrees) log-probability of each degree before any vote
    """

    evidence: Floats
    log_share: Floats


class DegreeCounts(NamedTuple):
    """What one round adds up to: expected votes (2 · n_workers, n_degrees) and pairs (n_labels, n_degrees)."""

    votes: Floats
    pairs: Floats


@dataclass(frozen=True)
class Degrees:
    """Fitted degrees.

    evidence : (n_workers, 2, n_degrees) see `DegreeBelief`
    newcomer : (2, n_degrees) that of a worker without a history
    share : (n_labels, n_degrees); usual_share : (n_degrees,) that of a label without a history
    rate, strength : (n_degrees,) of the crowd; present : (n_degrees,) probability that such a pair counts as present
    """

    evidence: Annotated[Floats, Each("worker", 2, "degree")]
    newcomer: Annotated[Floats, Each(2, "degree")]
    share: Annotated[Floats, Each("label", "degree", share=True)]
    usual_share: Annotated[Floats, Each("degree", share=True)]
    rate: Annotated[Floats, Each("degree", share=True)]
    strength: Annotated[Floats, Each("degree")]
    present: Annotated[Floats, Each("degree", share=True)]

    def known_to(self, worker: Ints, label: Ints) -> Degrees:
        """The same for other votes, whose workers and labels have these codes here (−1: new)."""
        evidence = np.where((worker >= 0)[:, None, None], self.evidence[worker], self.newcomer)
        share = np.where((label >= 0)[:, None], self.share[label], self.usual_share)
        return replace(self, evidence=evidence, share=share)

    @property
    def belief(self) -> DegreeBelief:
        """What a round starts from."""
        n_degrees = len(self.rate)
        return DegreeBelief(self.evidence.reshape(-1, n_degrees), np.log(self.share))

    def presence(self, block: Block) -> Floats:
        """(n_pairs,) probability that the label is present."""
        return np.asarray(_members(block, self.belief) @ self.present)


def fit_degrees(engine: Engine, looks: Floats, start: Degrees | None = None, rounds: int = ROUNDS) -> Degrees:
    """Degrees of pairs, rates of workers at each degree, shares of degrees by label, in turn.

    looks : (n_workers,) probability that a worker looks at the items; votes of the others say nothing
    start : degrees of an earlier fit, for these workers and labels
    """
    grid = np.linspace(LEAST_RATE, MOST_RATE, N_DEGREES)
    if start is None:
        usual = np.full(N_DEGREES, 1 / N_DEGREES)
        crowd = np.broadcast_to(np.stack([grid, 1 - grid])[::-1], (engine.n_workers, 2, N_DEGREES))
        evidence = looks[:, None, None] * np.log(crowd)
        share = np.broadcast_to(usual, (engine.n_labels, N_DEGREES))
        start = Degrees(evidence, evidence[:0].sum(axis=0), share, usual, grid, np.full(N_DEGREES, STRENGTH), usual)
    now = start
    for number in range(rounds):
        counts = engine.total(count_degrees, now.belief)
        now = update_degrees(now, counts, looks, grid, strengths=number % THOROUGH == 0)
    return now


def update_degrees(now: Degrees, counts: DegreeCounts, looks: Floats, grid: Floats, *, strengths: bool) -> Degrees:
    """What one round makes of its counts."""
    n_degrees = len(now.rate)
    by_worker = counts.votes.reshape(-1, 2, n_degrees)
    no, yes = by_worker[:, 0], by_worker[:, 1]
    weight = looks[:, None]
    rate = updated_rate(now.rate, now.strength, yes, no, weight, grid)
    strength = updated_strength(now.strength, rate, yes, no, weight) if strengths else now.strength
    prior_yes, prior_no = strength * rate, strength * (1 - rate)
    total = digamma(prior_yes + prior_no + yes + no)
    log_rates = np.stack([digamma(prior_no + no) - total, digamma(prior_yes + yes) - total], axis=1)
    # A new worker looks as often as the others do on average.
    at_rest = np.stack([digamma(prior_no), digamma(prior_yes)]) - digamma(prior_yes + prior_no)
    newcomer = float(looks.mean()) * at_rest
    usual, share = updated_share(counts.pairs)
    present = readings(yes, no, weight)
    return Degrees(weight[:, :, None] * log_rates, newcomer, share, usual, rate, strength, present)


def updated_rate(rate: Floats, strength: Floats, yes: Floats, no: Floats, weight: Floats, grid: Floats) -> Floats:
    """(n_degrees,) usual rates: Minka's fixed point, see `coins.effective_votes`, held to the grid.

    yes, no : (n_workers, n_degrees) expected votes; weight : (n_workers, 1) how far each worker counts
    """
    prior_yes, prior_no = strength * rate, strength * (1 - rate)
    effective_yes = (weight * prior_yes * (digamma(prior_yes + yes) - digamma(prior_yes))).sum(axis=0)
    effective_no = (weight * prior_no * (digamma(prior_no + no) - digamma(prior_no))).sum(axis=0)
    updated = (effective_yes + RATE_VOTES * grid) / (effective_yes + effective_no + RATE_VOTES)
    return np.asarray(np.clip(updated, SURE, 1 - SURE))


def updated_strength(strength: Floats, rate: Floats, yes: Floats, no: Floats, weight: Floats) -> Floats:
    """(n_degrees,) as now, half or double, whichever explains the workers best."""

    def value(tried: Floats) -> Floats:
        prior = tried * rate, tried * (1 - rate)
        fit = betaln(prior[0] + yes, prior[1] + no) - betaln(*prior)
        return np.asarray((weight * fit).sum(axis=0) - 0.5 * (np.log(tried / STRENGTH) / STRENGTH_SPREAD) ** 2)

    tried = np.stack([np.clip(strength * factor, *STRENGTH_RANGE) for factor in (1.0, 0.5, 2.0)])
    best = np.argmax([value(each) for each in tried], axis=0)
    return np.asarray(tried[best, np.arange(len(best))])


def updated_share(pairs: Floats) -> tuple[Floats, Floats]:
    """(n_degrees,) how frequent degrees are, and (n_labels, n_degrees) by label, held to that; from expected pairs."""
    total = pairs.sum(axis=0)
    usual = (total + 1 / len(total)) / (total.sum() + 1)
    return usual, (pairs + LABEL_PAIRS * usual) / (pairs.sum(axis=1, keepdims=True) + LABEL_PAIRS)


def readings(yes: Floats, no: Floats, weight: Floats) -> Floats:
    """(n_degrees,) probability that a pair counts as present, by the share of yes among those who look."""
    n_yes, n_no = (weight * yes).sum(axis=0), (weight * no).sum(axis=0)
    return presence_at((n_yes + 0.5) / (n_yes + n_no + 1))


# -- passes over the votes ---------------------------------------------------------------------------------------------

CHUNK = 1 << 14
"""Pairs that numpy handles at a time."""


def count_degrees(block: Block, belief: DegreeBelief) -> DegreeCounts:
    """Degrees of the block's pairs by what is believed, and the votes and pairs that makes."""
    votes, pairs = np.zeros_like(belief.evidence), np.zeros_like(belief.log_share)
    if len(block.coins.slot) > passes.SMALL:
        _compiled(block, belief, votes, pairs, None)
        return DegreeCounts(votes, pairs)
    slot, start, label = _worker_slots(block), block.pairs.start, block.pairs.label
    for first in range(0, len(label), CHUNK):
        here = slice(first, first + CHUNK)
        member = _members_numpy(slot, start[first : first + CHUNK + 1], label[here], belief)
        slots = slot[start[first] : start[min(first + CHUNK, len(label))]]
        of_vote = np.repeat(member, np.diff(start[first : first + CHUNK + 1]), axis=0)
        for degree in range(votes.shape[1]):
            votes[:, degree] += np.bincount(slots, of_vote[:, degree], len(votes))
            pairs[:, degree] += np.bincount(label[here], member[:, degree], len(pairs))
    return DegreeCounts(votes, pairs)


def _members(block: Block, belief: DegreeBelief) -> Floats:
    """(n_pairs, n_degrees) probability of each degree."""
    if len(block.coins.slot) > passes.SMALL:
        member = np.empty((len(block.pairs), belief.evidence.shape[1]))
        _compiled(block, belief, np.zeros_like(belief.evidence), np.zeros_like(belief.log_share), member)
        return member
    return _members_numpy(_worker_slots(block), block.pairs.start, block.pairs.label, belief)


def _worker_slots(block: Block) -> Ints:
    """(n_votes,) 2 · worker + yes."""
    slot = block.coins.slot
    return np.asarray(2 * block.coins.worker[slot >> 1].astype(np.int64) + (slot & 1))


def _members_numpy(slot: Ints, start: Ints, label: Codes, belief: DegreeBelief) -> Floats:
    """Members of some pairs; `start` says where their votes stand in `slot`."""
    if not len(label):
        return np.empty((0, belief.evidence.shape[1]))
    said = np.add.reduceat(belief.evidence[slot[start[0] : start[-1]]], start[:-1] - start[0], axis=0)
    log_member = belief.log_share[label] + said
    member = np.exp(log_member - log_member.max(axis=1, keepdims=True))
    return np.asarray(member / member.sum(axis=1, keepdims=True))


def _compiled(block: Block, belief: DegreeBelief, votes: Floats, pairs: Floats, member: Floats | None) -> None:
    """Add to the counts, and fill `member` if it is there, by the compiled loop on all threads."""
    from amcc.loops import degrees as degree_loops

    start, label = block.pairs.start, block.pairs.label
    bounds = passes.piece_bounds(start)
    kept = np.empty((0, votes.shape[1])) if member is None else member
    parts = [(np.zeros_like(votes), np.zeros_like(pairs)) for _ in range(n_pieces())]
    worker = unsigned(block.coins.worker)

    def run(piece: int) -> None:
        first, last = bounds[piece], bounds[piece + 1]
        degree_loops.count(
            unsigned(block.coins.slot),
            unsigned(start),
            unsigned(label),
            worker,
            *belief,
            first,
            last,
            *parts[piece],
            kept,
        )

    in_threads(run, n_pieces())
    for votes_part, pairs_part in parts:
        votes += votes_part
        pairs += pairs_part
