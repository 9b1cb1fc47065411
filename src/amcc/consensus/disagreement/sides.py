"""Who stands with whom: sides that workers take, and whether these predict votes on other items.

A side is a rate of yes on split pairs. Whoever *holds* it is a worker on one label, or a worker on all labels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from amcc.arrays import Floats, Ints, weight_per_code
from amcc.consensus.disagreement.asked import SIDE_FOLDS, AskedPairs
from amcc.consensus.disagreement.explanations import ABSENT, HARD, PRESENT, SPLIT, SURELY, Explanations

# Rounds of EM for the sides alone, see `learning.FIRST_ROUNDS`.
SIDE_ROUNDS = 4

# Votes of yes and of no that everybody's side starts with: a side is 1/2 until votes say otherwise.
SIDE_VOTES = 1.0

# Pairs that all labels together lend to the shares of each label: a label with twenty pairs is half its own.
LABEL_PAIRS = 20.0

# Share of hard and of split pairs before any vote was looked at: most disagreement is ordinary error.
FIRST_SHARE = 0.1

# Standard errors by which sides must predict the votes on other items better than no sides: 2 is what chance passes in
# one of forty labels, and noise then has few pairs that look split.
GATE = 2.0

# Rounds of the power iteration that finds the first guess of the sides. It need not converge: EM goes on from it.
POWER_ROUNDS = 20

# First sides lie this far from 1/2 at most: surer ones would stop EM from changing them.
FIRST_REACH = 0.4


def with_sides(asked: AskedPairs, now: Explanations, free: Floats) -> Explanations:
    """Sides where they predict the votes on other items, and the labels open to them; else nothing changes.

    Two readings are tried: sides of their own on each label, and one side per worker on all labels. Each label takes
    the one that predicts better. `free` : (n_pairs,) see `learning.independent_fit`.
    """
    base = np.logaddexp.reduce(now.log_joint(asked)[:, :SPLIT], axis=1)
    best = np.zeros(asked.n_labels)
    side, share = now.side.copy(), now.share.copy()
    for holder in (np.arange(len(asked.coin_worker)), asked.coin_worker.astype(np.int64)):
        found, strength = sides_by_fold(asked, now, holder, base)
        weight = strength[asked.fold, asked.label]
        by_sides = replace(now, side=found).log_split(asked)
        predicted = np.logaddexp(np.log1p(-weight) + base, np.log(weight) + by_sides)
        lead = np.minimum(_lead(asked, predicted - base), _lead(asked, predicted - free))
        better = (lead > GATE) & (lead > best)
        best = np.where(better, lead, best)
        chosen = better[asked.coin_label]
        side[:, chosen] = found[:, chosen]
        share[better, SPLIT] = strength.mean(axis=0)[better]
    # What split takes, the other explanations give in proportion, so that shares of a label sum to one.
    share[:, :SPLIT] *= (1 - share[:, SPLIT:]) / share[:, :SPLIT].sum(axis=1, keepdims=True)
    return replace(now, side=side, share=share)


def _lead(asked: AskedPairs, gain: Floats) -> Floats:
    """(n_labels,) sum of the gains over its standard error; pairs of a label are of different items, so independent."""
    total, squares = asked.by_label(gain), asked.by_label(gain**2)
    return np.divide(total, np.sqrt(squares), out=np.zeros(asked.n_labels), where=squares > 0)


def sides_by_fold(asked: AskedPairs, now: Explanations, holder: Ints, base: Floats) -> tuple[Floats, Floats]:
    """(SIDE_FOLDS, n_coins) sides learned from the other folds, and (SIDE_FOLDS, n_labels) how frequent split pairs
    are there.

    base : (n_pairs,) log-likelihood by the other explanations. A pair never helps to find the sides by which it is
    called split.
    """
    parts = ((asked.where(asked.fold != fold), base[asked.fold != fold]) for fold in range(SIDE_FOLDS))
    sides, shares = zip(*(_sides(part, now, holder, known) for part, known in parts), strict=True)
    return np.stack(sides), np.stack(shares)


def _sides(asked: AskedPairs, now: Explanations, holder: Ints, base: Floats) -> tuple[Floats, Floats]:
    """(n_coins,) sides and (n_labels,) shares of split pairs by EM; `base` as in `sides_by_fold`."""
    side, share = first_sides(asked, now, holder), np.full(asked.n_labels, FIRST_SHARE)
    pairs = asked.by_label(np.ones(len(base)))
    for _ in range(SIDE_ROUNDS):
        # E: whether a pair is split, and which side is the yes. Each way has half of the share.
        one_way, other_way = asked.log_likelihood(side), asked.log_likelihood(1 - side)
        half_share = np.log(share)[asked.label] - np.log(2)
        total = np.logaddexp(np.log1p(-share)[asked.label] + base, half_share + np.logaddexp(one_way, other_way))
        yes, no = (np.exp(half_share + way - total) for way in (one_way, other_way))
        # M: votes on pairs that are split the other way round count with yes and no exchanged.
        side = _held_sides(asked.counts(yes) + asked.counts(no)[:, ::-1], holder)
        split = asked.by_label(yes + no)
        share = np.clip((split + FIRST_SHARE * LABEL_PAIRS) / (pairs + LABEL_PAIRS), SURELY, 1 - SURELY)
    return side, share


def _held_sides(counts: Floats, holder: Ints) -> Floats:
    """(n_coins,) sides, from expected noes and yeses of whoever holds them."""
    no, yes = (weight_per_code(holder, column, int(holder.max()) + 1) for column in counts.T)
    return np.asarray((yes + SIDE_VOTES) / (yes + no + 2 * SIDE_VOTES))[holder]


def first_sides(asked: AskedPairs, now: Explanations, holder: Ints) -> Floats:
    """(n_coins,) guess of the sides: the leading eigenvector of what the other explanations leave unexplained.

    r[w, p] = vote − expected vote, less its mean on the pair, so that what all voters share (a hard item, a wrong
    consensus) leaves nothing. Who stands with whom is the sum over pairs of r[w, p] · r[v, p], w ≠ v. A matrix of all
    pairs of workers is never made: each step of the power iteration is a pass over the votes.
    """
    residual, pair = _residuals(asked, now)
    n_holders = int(holder.max()) + 1
    who = holder[asked.slot >> 1]
    spread = weight_per_code(who, residual**2, n_holders) + 1.0  # one more: who voted little has little say
    # Sides of different labels have nothing to do with each other, so each label is scaled by itself; one side per
    # worker is scaled as a whole.
    label = np.zeros(n_holders, np.int64)
    if len(np.unique(holder)) == len(holder):
        label[holder] = asked.coin_label
    side = _scaled(np.random.default_rng(0).standard_normal(n_holders), label)
    for _ in range(POWER_ROUNDS):
        own = residual * side[who]
        together = np.add.reduceat(own, asked.start[:-1])[pair] - own
        # Plus the side itself: all eigenvalues are raised by one, so that the largest is also the farthest from 0.
        side = _scaled(weight_per_code(who, residual * together, n_holders) / spread + side, label)
    return np.clip(0.5 + FIRST_REACH * np.tanh(side), 0.1, 0.9)[holder]  # rounding must not leave it outside


def _residuals(asked: AskedPairs, now: Explanations) -> tuple[Floats, Ints]:
    """(n_votes,) vote less what the explanations expect, centred within its pair; and the pair of each vote."""
    member = now.posterior(asked)
    coin, pair = asked.slot >> 1, np.repeat(np.arange(len(asked.label)), asked.n_votes)
    at_chance = (member[:, HARD] + member[:, SPLIT]) * asked.n_yes / asked.n_votes
    expected = member[pair, PRESENT] * now.hit[coin] + member[pair, ABSENT] * now.false_alarm[coin] + at_chance[pair]
    residual = (asked.slot & 1) - expected
    return residual - (np.add.reduceat(residual, asked.start[:-1]) / asked.n_votes)[pair], pair


def _scaled(values: Floats, group: Ints) -> Floats:
    """Values with a mean square of one within each group; groups of zeros stay what they are."""
    mean_square = np.bincount(group, values**2) / np.maximum(np.bincount(group), 1)
    return np.asarray(values / np.sqrt(mean_square + 1e-12)[group])
