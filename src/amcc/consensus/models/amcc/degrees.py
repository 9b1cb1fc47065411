"""Degrees of pairs: votes are independent given how many people would say yes, not given presence.

Two coins per worker know present, absent and error. Where items are faint or tempting, where people share a taste or
language models share training data, votes on a pair agree for other reasons than presence, and two coins explain the
agreement as presence: they become sure where they should not. Here a pair (i, l) is of one of `N_DEGREES` degrees,

    degree of (i, l)       ~ share[l],  share[l] ~ Dirichlet(pseudo_votes · usual share)
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

from amcc import passes
from amcc.arrays import Codes, Floats, Ints, unsigned
from amcc.consensus.models.amcc.bayes import best_of_three, digamma, effective_votes_of, log_evidence, row_posterior
from amcc.consensus.models.amcc.presence import expected_share_of_yes, presence_at
from amcc.consensus.models.amcc.settings import Settings
from amcc.engine.base import Block, Engine
from amcc.fields import Each
from amcc.threads import in_threads

# Degrees of pairs. From three on they predict about the same, and the cost grows with them.
N_DEGREES = 6

# Few are enough, and with few, small crowds are not read too closely: workers start from the rates of the crowd.
DEGREE_ROUNDS = 12

# Rates of the lowest and the highest degree at the start; the others lie evenly between. They move with the votes, and
# are held to where they started by `pseudo_votes`, which is enough to keep them in order.
GRID: Floats = np.linspace(0.02, 0.97, N_DEGREES)

# Strengths are looked at in every third round: they move slowly.
THOROUGH = 3

# Pairs that numpy handles at a time: tables of pairs × degrees then stay in the processor's cache.
CHUNK = 1 << 14


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


def start_degrees(engine: Engine, looks: Floats, settings: Settings) -> Degrees:
    """All workers like the grid, all labels alike."""
    usual = np.full(N_DEGREES, 1 / N_DEGREES)
    log_rates = np.log(np.stack([1 - GRID, GRID]))
    return Degrees(
        looks[:, None, None] * log_rates,
        np.zeros_like(log_rates),
        np.broadcast_to(usual, (engine.n_labels, N_DEGREES)),
        usual,
        GRID,
        np.full(N_DEGREES, settings.pseudo_votes),
        usual,
    )


def fit_degrees(
    engine: Engine, looks: Floats, settings: Settings, start: Degrees | None = None, rounds: int = DEGREE_ROUNDS
) -> Degrees:
    """Degrees of pairs, rates of workers at each degree, shares of degrees by label, in turn.

    looks : (n_workers,) probability that a worker looks at the items; votes of the others say nothing
    start : degrees of an earlier fit, for these workers and labels
    """
    now = start_degrees(engine, looks, settings) if start is None else start
    for number in range(rounds):
        counts = engine.total(count_degrees, now.belief)
        now = update_degrees(now, counts, looks, settings, strengths=number % THOROUGH == 0)
    return now


def update_degrees(
    now: Degrees, counts: DegreeCounts, looks: Floats, settings: Settings, *, strengths: bool
) -> Degrees:
    """What one round makes of its counts."""
    by_worker = counts.votes.reshape(-1, 2, len(now.rate))
    no, yes = by_worker[:, 0], by_worker[:, 1]
    weight = looks[:, None]  # a worker who looks half of the time counts half
    rate = updated_rate(now.rate, now.strength, yes, no, weight, settings)
    strength = updated_strength(now.strength, rate, yes, no, weight) if strengths else now.strength
    lent_yes, lent_no = strength * rate, strength * (1 - rate)
    # What a new worker would say is that of nobody's votes; they look as often as the others do on average.
    nothing = np.zeros((1, len(rate)))
    newcomer = float(looks.mean()) * expected_log_rates(lent_yes, lent_no, nothing, nothing)[0]
    evidence = weight[:, :, None] * expected_log_rates(lent_yes, lent_no, yes, no)
    usual, share = updated_share(counts.pairs, settings)
    return Degrees(evidence, newcomer, share, usual, rate, strength, readings(yes, no, weight, settings))


def expected_log_rates(lent_yes: Floats, lent_no: Floats, yes: Floats, no: Floats) -> Floats:
    """(n, 2, n_degrees) expected log of one minus the rate, and of the rate, after so many votes: Beta posteriors."""
    total = digamma(lent_yes + lent_no + yes + no)
    return np.stack([digamma(lent_no + no) - total, digamma(lent_yes + yes) - total], axis=1)


def updated_rate(rate: Floats, strength: Floats, yes: Floats, no: Floats, weight: Floats, settings: Settings) -> Floats:
    """(n_degrees,) usual rates: Minka's fixed point, see `bayes.effective_votes_of`, held to the grid.

    yes, no : (n_workers, n_degrees) expected votes; weight : (n_workers, 1) how far each worker counts
    """
    effective_yes = (weight * effective_votes_of(strength * rate, yes)).sum(axis=0)
    effective_no = (weight * effective_votes_of(strength * (1 - rate), no)).sum(axis=0)
    lent = settings.pseudo_votes
    held = (effective_yes + lent * GRID) / (effective_yes + effective_no + lent)
    return np.asarray(np.clip(held, settings.nearest_share, 1 - settings.nearest_share))


def updated_strength(strength: Floats, rate: Floats, yes: Floats, no: Floats, weight: Floats) -> Floats:
    """(n_degrees,) pseudo-votes lent to each worker: as now, half or double, whichever explains the workers best."""

    def value(tried: Floats) -> Floats:
        return np.asarray((weight * log_evidence(tried * rate, tried * (1 - rate), yes, no)).sum(axis=0))

    return best_of_three(strength, value)


def updated_share(pairs: Floats, settings: Settings) -> tuple[Floats, Floats]:
    """(n_degrees,) how frequent degrees are, and (n_labels, n_degrees) by label, held to that; from expected pairs."""
    total, lent = pairs.sum(axis=0), settings.pseudo_votes
    usual = (total + 1 / len(total)) / (total.sum() + 1)  # one pair spread over all: no degree dies
    return usual, (pairs + lent * usual) / (pairs.sum(axis=1, keepdims=True) + lent)


def readings(yes: Floats, no: Floats, weight: Floats, settings: Settings) -> Floats:
    """(n_degrees,) probability that a pair counts as present, by the share of yes among those who look."""
    n_yes, n_no = (weight * yes).sum(axis=0), (weight * no).sum(axis=0)
    return presence_at(expected_share_of_yes(n_yes, n_yes + n_no), settings)


# -- passes over the votes ---------------------------------------------------------------------------------------------


def count_degrees(block: Block, belief: DegreeBelief) -> DegreeCounts:
    """Degrees of the block's pairs by what is believed, and the votes and pairs that makes."""
    votes, pairs = np.zeros_like(belief.evidence), np.zeros_like(belief.log_share)
    if _is_large(block):
        _compiled(block, belief, votes, pairs, None)
        return DegreeCounts(votes, pairs)
    slot, start, label = _worker_slots(block), block.pairs.start, block.pairs.label
    # Votes of a pair stand together and pairs are in order, so a piece of pairs is a piece of votes.
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
    if _is_large(block):
        member = np.empty((len(block.pairs), belief.evidence.shape[1]))
        _compiled(block, belief, np.zeros_like(belief.evidence), np.zeros_like(belief.log_share), member)
        return member
    return _members_numpy(_worker_slots(block), block.pairs.start, block.pairs.label, belief)


def _is_large(block: Block) -> bool:
    """Whether the compiled loop pays off: with so many degrees, it does so much earlier than for other passes."""
    return N_DEGREES * len(block.coins.slot) > passes.SMALL


def _worker_slots(block: Block) -> Ints:
    """(n_votes,) 2 · worker + yes."""
    slot = block.coins.slot
    return np.asarray(2 * block.coins.worker[slot >> 1].astype(np.int64) + (slot & 1))


def _members_numpy(slot: Ints, start: Ints, label: Codes, belief: DegreeBelief) -> Floats:
    """Members of some pairs; `start` says where their votes stand in `slot`."""
    if not len(label):
        return np.empty((0, belief.evidence.shape[1]))
    said = np.add.reduceat(belief.evidence[slot[start[0] : start[-1]]], start[:-1] - start[0], axis=0)
    return row_posterior(belief.log_share[label] + said)[0]


def _compiled(block: Block, belief: DegreeBelief, votes: Floats, pairs: Floats, member: Floats | None) -> None:
    """Add to the counts, and fill `member` if it is there, by the compiled loop on all threads."""
    from amcc.loops import degrees as degree_loops

    start, label = block.pairs.start, block.pairs.label
    bounds = passes.piece_bounds(start, votes.size)
    # The loop takes an array in any case; one without rows says that nobody wants to know the members.
    kept = np.empty((0, votes.shape[1])) if member is None else member
    parts = [(np.zeros_like(votes), np.zeros_like(pairs)) for _ in range(len(bounds) - 1)]
    codes = [unsigned(each) for each in (block.coins.slot, start, label, block.coins.worker)]

    def run(piece: int) -> None:
        degree_loops.count(*codes, *belief, bounds[piece], bounds[piece + 1], *parts[piece], kept)

    in_threads(run, len(parts))
    for votes_part, pairs_part in parts:
        votes += votes_part
        pairs += pairs_part
