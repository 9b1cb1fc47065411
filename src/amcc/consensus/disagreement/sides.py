"""Who stands with whom: sides that workers take, and whether these predict votes on other items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from amcc.arrays import Codes, Floats, Ints, weight_per_code
from amcc.consensus.disagreement.asked import FOLDS, AskedPairs
from amcc.consensus.disagreement.explanations import ABSENT, HARD, PRESENT, SPLIT, SURELY, Explanations

SIDE_ROUNDS = 4
"""Of EM for the sides alone, see `learning.ROUNDS`."""

SIDE_VOTES = 1.0
"""Of yes and of no that everybody's side starts with: a side is 1/2 until votes say otherwise."""

LABEL_PAIRS = 20.0
"""Pairs that all labels together lend to the shares of each label."""

FIRST_SHARE = 0.1
"""Of hard and of split pairs, before any vote was looked at: most disagreement is ordinary error."""

GATE = 2.0
"""Standard errors by which sides must predict the votes on other items better than no sides."""

POWER_ROUNDS = 20
"""Of the power iteration that finds the first guess of the sides."""


def with_sides(asked: AskedPairs, now: Explanations, free: Floats, n_workers: int, n_labels: int) -> Explanations:
    """Sides where they predict the votes on other items, and the labels open to them; else nothing changes.

    Two readings are tried: sides of their own on each label, and one side per worker on all labels. Each label takes
    the one that predicts better. `free` : (n_pairs,) see `independent_fit`.
    """
    base = np.logaddexp.reduce(now._log_joint(asked)[:, :SPLIT], axis=1)
    best = np.zeros(n_labels)
    side, share = now.side.copy(), now.share.copy()
    for bearer in (np.arange(len(asked.coin_worker)), asked.coin_worker.astype(np.int64)):
        found, strength = sides_by_fold(asked, now, bearer, base, n_labels)
        tried = replace(now, side=found)
        weight = strength[asked.fold, asked.label]
        predicted = np.logaddexp(np.log1p(-weight) + base, np.log(weight) + tried.log_split(asked))
        lead = np.minimum(*(_lead(predicted - rival, asked.label, n_labels) for rival in (base, free)))
        better = (lead > GATE) & (lead > best)
        best = np.where(better, lead, best)
        chosen = better[asked.coin_label]
        side[:, chosen] = found[:, chosen]
        share[better, SPLIT] = strength.mean(axis=0)[better]
    share[:, :SPLIT] *= (1 - share[:, SPLIT:]) / share[:, :SPLIT].sum(axis=1, keepdims=True)
    return replace(now, side=side, share=share)


def _lead(gain: Floats, label: Codes, n_labels: int) -> Floats:
    """(n_labels,) sum of the gains over its standard error; a label's pairs are of different items."""
    total, squares = weight_per_code(label, gain, n_labels), weight_per_code(label, gain**2, n_labels)
    return np.divide(total, np.sqrt(squares), out=np.zeros(n_labels), where=squares > 0)


def sides_by_fold(
    asked: AskedPairs, now: Explanations, bearer: Ints, base: Floats, n_labels: int
) -> tuple[Floats, Floats]:
    """(FOLDS, n_coins) sides learned from the other folds, and (FOLDS, n_labels) how frequent split pairs are there."""
    sides, shares = [], []
    for fold in range(FOLDS):
        here = asked.fold != fold
        part, known = asked.where(here), base[here]
        side = first_sides(part, now, bearer)
        share = np.full(n_labels, FIRST_SHARE)
        for _ in range(SIDE_ROUNDS):
            one_way, other_way = part.log_likelihood(side), part.log_likelihood(1 - side)
            log_share = np.log(share)[part.label]
            total = np.logaddexp(
                np.log1p(-share)[part.label] + known, log_share - np.log(2) + np.logaddexp(one_way, other_way)
            )
            yes, no = (np.exp(log_share - np.log(2) + way - total) for way in (one_way, other_way))
            counts = part.counts(yes) + part.counts(no)[:, ::-1]
            side = _pooled_sides(counts, bearer)
            pairs, split = (weight_per_code(part.label, w, n_labels) for w in (np.ones(len(yes)), yes + no))
            share = np.clip((split + FIRST_SHARE * LABEL_PAIRS) / (pairs + LABEL_PAIRS), SURELY, 1 - SURELY)
        sides.append(side)
        shares.append(share)
    return np.stack(sides), np.stack(shares)


def _pooled_sides(counts: Floats, bearer: Ints) -> Floats:
    """(n_coins,) sides, from expected noes and yeses of whoever bears them."""
    no, yes = (weight_per_code(bearer, column, int(bearer.max()) + 1) for column in counts.T)
    return np.asarray((yes + SIDE_VOTES) / (yes + no + 2 * SIDE_VOTES))[bearer]


def first_sides(asked: AskedPairs, now: Explanations, bearer: Ints) -> Floats:
    """(n_coins,) guess of the sides: the leading eigenvector of what the other explanations leave unexplained.

    r[w, p] = vote − expected vote, less its mean on the pair, so that what all voters share (a hard item, a wrong
    consensus) leaves nothing. Who stands with whom is the sum over pairs of r[w, p] · r[v, p], w ≠ v.
    """
    member = now.posterior(asked)
    coin, pair = asked.slot >> 1, np.repeat(np.arange(len(asked.label)), asked.n_votes)
    at_chance = (member[:, HARD] + member[:, SPLIT]) * asked.n_yes / asked.n_votes
    expected = member[pair, PRESENT] * now.hit[coin] + member[pair, ABSENT] * now.false_alarm[coin] + at_chance[pair]
    residual = (asked.slot & 1) - expected
    residual -= (np.add.reduceat(residual, asked.start[:-1]) / asked.n_votes)[pair]
    who, n_bearers = bearer[coin], int(bearer.max()) + 1
    spread = weight_per_code(who, residual**2, n_bearers) + 1.0
    family = asked.coin_label if len(np.unique(bearer)) == len(bearer) else np.zeros(len(bearer), np.int32)
    scaled = _scaled_by(family, bearer, n_bearers)
    side = scaled(np.random.default_rng(0).standard_normal(n_bearers))
    for _ in range(POWER_ROUNDS):
        own = residual * side[who]
        together = np.add.reduceat(own, asked.start[:-1])[pair] - own
        side = scaled(weight_per_code(who, residual * together, n_bearers) / spread + side)
    return np.clip(0.5 + 0.4 * np.tanh(side), 0.1, 0.9)[bearer]


def _scaled_by(family: Codes, bearer: Ints, n_bearers: int) -> Callable[[Floats], Floats]:
    """Scales vectors over bearers to a mean square of one within each family (label, or all)."""
    of_bearer = np.zeros(n_bearers, np.int64)
    of_bearer[bearer] = family
    size = np.maximum(np.bincount(of_bearer), 1)

    def scaled(values: Floats) -> Floats:
        mean_square = np.bincount(of_bearer, values**2) / size
        return np.asarray(values / np.sqrt(mean_square + 1e-12)[of_bearer])

    return scaled
