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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np

from amcc import passes
from amcc.arrays import Codes, Floats, Ints, clipped, unsigned
from amcc.consensus.default.bayes import best_of_three, digamma, effective_votes_of, log_evidence, posterior
from amcc.consensus.default.presence import NEAREST_SHARE, expected_share_of_yes, presence_at
from amcc.consensus.default.settings import Settings
from amcc.engine.base import Block, Engine
from amcc.fields import Each
from amcc.sums import sum_at, sum_by, sum_per_code
from amcc.threads import in_threads
from amcc.votes import Coins

# Degrees of pairs. From three on they predict about the same, and the cost grows with them.
N_DEGREES = 6

# Few are enough, and with few, small crowds are not read too closely: workers start from the rates of the crowd.
DEGREE_ROUNDS = 8

# Rates of the lowest and the highest degree at the start; the others lie evenly between. They move with the votes, and
# are held to where they started by `pseudo_votes`, which is enough to keep them in order.
GRID: Floats = np.linspace(0.02, 0.97, N_DEGREES)

# Strengths are looked at in every third round: they move slowly.
THOROUGH = 3

# Pairs that numpy handles at a time: tables of degrees × pairs then stay in the processor's cache.
CHUNK = 1 << 13


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

    def weighted(self, weight: Floats) -> Degrees:
        """The same where a vote of each worker counts for so much (n_workers,)."""
        return replace(self, evidence=self.evidence * weight[:, None, None])

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
    newcomer = float(looks.mean()) * np.stack(expected_log_rates(lent_yes, lent_no))
    evidence = weight[:, :, None] * np.stack(expected_log_rates(lent_yes + yes, lent_no + no), axis=1)
    usual, share = updated_share(counts.pairs, settings)
    return Degrees(evidence, newcomer, share, usual, rate, strength, readings(yes, no, weight, settings))


def expected_log_rates(yes: Floats, no: Floats) -> tuple[Floats, Floats]:
    """Expected log of one minus the rate, and of the rate, that is a Beta variable with these votes, lent and own."""
    total = digamma(yes + no)
    return digamma(no) - total, digamma(yes) - total


def updated_rate(rate: Floats, strength: Floats, yes: Floats, no: Floats, weight: Floats, settings: Settings) -> Floats:
    """(n_degrees,) usual rates: Minka's fixed point, see `bayes.effective_votes_of`, held to the grid.

    yes, no : (n_workers, n_degrees) expected votes; weight : (n_workers, 1) how far each worker counts
    """
    effective_yes = (weight * effective_votes_of(strength * rate, yes)).sum(axis=0)
    effective_no = (weight * effective_votes_of(strength * (1 - rate), no)).sum(axis=0)
    lent = settings.pseudo_votes
    held = (effective_yes + lent * GRID) / (effective_yes + effective_no + lent)
    return clipped(held, NEAREST_SHARE, 1 - NEAREST_SHARE)


def updated_strength(strength: Floats, rate: Floats, yes: Floats, no: Floats, weight: Floats) -> Floats:
    """(n_degrees,) pseudo-votes lent to each worker: as now, half or double, whichever explains the workers best."""

    def value(tried: Floats) -> Floats:
        lent = ((each * rate, each * (1 - rate)) for each in tried)
        return np.array([(weight * log_evidence(*each, yes, no)).sum(axis=0) for each in lent])

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
    place, counted = _worker_slots(block.coins), np.zeros((votes.shape[1], 2 * len(block.coins)))
    for member, slot, start, label in _pieces(block, belief):
        counted += sum_by(start, slot, member, counted.shape[1])
        pairs += sum_per_code(label, member, len(pairs)).T
    return DegreeCounts(sum_per_code(place, counted, len(votes)).T, pairs)


def _members(block: Block, belief: DegreeBelief) -> Floats:
    """(n_pairs, n_degrees) probability of each degree."""
    if _is_large(block):
        member = np.empty((len(block.pairs), belief.evidence.shape[1]))
        _compiled(block, belief, np.zeros_like(belief.evidence), np.zeros_like(belief.log_share), member)
        return member
    return np.concatenate([np.empty((0, belief.evidence.shape[1])), *(piece[0].T for piece in _pieces(block, belief))])


def _is_large(block: Block) -> bool:
    """Whether the compiled loop pays off: with so many degrees, it does so much earlier than for other passes."""
    return N_DEGREES * len(block.coins.slot) > passes.SMALL


def _worker_slots(coins: Coins) -> Ints:
    """(2 · n_coins,) 2 · worker + yes, of each slot."""
    slots = np.repeat(2 * coins.worker.astype(np.int64), 2)
    slots[1::2] += 1
    return slots


def _pieces(block: Block, belief: DegreeBelief) -> Iterator[tuple[Floats, Codes, Ints, Codes]]:
    """Degrees of some pairs at a time, (n_degrees, n_pairs); the slots of their votes, where these begin, labels."""
    pairs, slots = block.pairs, block.coins.slot
    evidence, log_share = belief.evidence.T.take(_worker_slots(block.coins), axis=1), belief.log_share.T
    # Votes of a pair stand together and pairs are in order, so a piece of pairs is a piece of votes.
    for first in range(0, len(pairs), CHUNK):
        label, start = pairs.label[first : first + CHUNK], pairs.start[first : first + CHUNK + 1]
        slot = slots[start[0] : start[-1]]
        log_joint = sum_at(start - start[0], slot, evidence)
        log_joint += log_share.take(label, axis=1)
        yield posterior(log_joint)[0], slot, start - start[0], label


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
