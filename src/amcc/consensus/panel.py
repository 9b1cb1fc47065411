"""Rates of a few judges, and how sure one can be of them where hardly anybody else voted.

In a crowd every worker is judged by what the others make of a pair (`workers.worker_rates`). Among a few judges the
others are two or three, so what they make of a pair is itself in doubt, and may be wrong in the same way. Here this
doubt is drawn: a Gibbs sampler goes through truths of all pairs and rates of all judges that fit the votes together.

    truth y of a pair ── kind k of the pair, given y ──▶ votes of all judges, independent given (y, k)

Kinds are what judges who share errors have in common: on an absent pair of a tempting kind, several of them say yes.
Nobody needs to say who shares errors with whom, and nobody knows how many kinds there are, so chains with two and with
three are taken together. benchmarks/worker_rates.py measures how often the intervals hold the true rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from amcc.arrays import Codes, Floats, Ints, Mask, Signs
from amcc.consensus.workers import ABOVE_OTHERS, WorkerRates
from amcc.engine.base import Engine, as_engine, gather
from amcc.sums import sum_per_code
from amcc.tables import text_of
from amcc.votes import Votes

# Workers of a panel. With more of them, those who judge a worker are many, and the rates of `worker_rates` hold.
MOST_JUDGES = 10

# Votes that are looked at, of items drawn by chance where there are more: a second of work. Their sampling error is
# below .02, less than the doubt about what is true.
MOST_VOTES = 6_000

# Numbers of kinds per truth, one chain each. With one kind alone, intervals hold for 24 to 70 % of the judges of a
# panel with a family; beside two and three it makes those of a person among judges who all share errors too narrow (86
# of 100 hold). With three alone, rates of three independent judges are too low.
KINDS = (2, 2, 2, 3, 3, 3)

# Sweeps of a chain, those at its beginning that are not used, and from one draw that is used to the next.
SWEEPS, FIRST, STEP = 240, 60, 3

# Share of the draws outside the interval on each side. Less than .025, since what judges share is not made of kinds:
# with .025, intervals hold for 86 % where an undeclared family of three outnumbers two others, with .015 for 91 %.
OUTSIDE = 0.015

# Before any vote, a judge says yes to present pairs of the usual kind as Beta(2, 1), to absent ones as Beta(1, 2): this
# tells present from absent. On other kinds they may say anything, Beta(1, 1).
USUAL, OTHER = (2.0, 1.0), (1.0, 1.0)

# As many pairs before any vote are of the usual kind, and of each other kind.
USUAL_PAIRS, OTHER_PAIRS = 4.0, 1.0

# Votes on all labels that count like one on the label itself: rates of a worker vary between labels by about .1.
ALIKE = 10.0

# Least agreement of all judges of a label with the truth, as a share of what it would be with their own majority. Three
# judges with an informativeness of a quarter each have more; without it, a clear label may be read as always present.
LEAST_AGREEMENT = 0.2

# Two items, one with a yes and one with a no, that count on average half a pair each (Jeffreys's prior).
JEFFREYS = 0.5

# Share of votes that may differ where a worker always says the same.
NEVER = 0.05

# Rates stay this far from 0 and 1, so that logarithms are numbers.
LEAST_RATE = 1e-4


@dataclass(frozen=True)
class Panel:
    """Votes of a few workers as a table, pairs in the order of their labels.

    said : (2, n_workers, n_pairs) 1 where the worker said yes, and where no
    label, item : (n_pairs,) from 0; first : (n_labels,) first pair of each
    known : (n_pairs,) +1 present, −1 absent, 0 not known
    """

    said: Floats
    label: Ints
    item: Ints
    first: Ints
    known: Signs

    @classmethod
    def of(cls, votes: Votes, known: Signs) -> tuple[Panel, Ints]:
        """The votes, and the row of each worker.

        Everything is sorted by name: the same votes in another order give the same draws.
        """
        pairs, worker = votes.pairs, _ranks(votes.worker_names)
        label, item = _ranks(votes.label_names, pairs.label), _ranks(votes.item_names, pairs.item)
        order = np.lexsort((item, label))
        said, column = np.zeros((2, votes.n_workers, len(order))), np.repeat(np.argsort(order), pairs.n_votes)
        said[(votes.value < 0).astype(int), worker[votes.worker], column] = 1.0
        sign = known[order] if len(known) else np.zeros(len(order), np.int8)
        first = np.flatnonzero(np.diff(label[order], prepend=-1))
        return cls(said, label[order], item[order], first, sign), worker

    @cached_property
    def telling(self) -> Floats:
        """The table without votes of a worker who always says the same on a label where others do not.

        Such votes do not depend on the pair, so they tell nothing about it, and would make kinds of pairs of the label.
        """
        yes, no = np.add.reduceat(self.said, self.first, axis=2)
        all_yes, all_votes = yes.sum(axis=0), (yes + no).sum(axis=0)
        share = yes / np.maximum(yes + no, 1)
        others = (all_yes - yes) / np.maximum(all_votes - yes - no, 1)
        habit = (np.minimum(share, 1 - share) <= NEVER) & (np.abs(share - others) >= ABOVE_OTHERS)
        return np.asarray(self.said * ~habit[:, self.label])


def _ranks(names: pa.Array, code: Codes | None = None) -> Ints:
    """Place of each name among the sorted ones; with codes, of the name of each among those that occur."""
    numbered = pa.types.is_integer(names.type)  # as items are that were gathered from blocks
    named = np.array((names if numbered else text_of(names)).to_pylist())
    return np.unique(named if code is None else named[code], return_inverse=True)[1]


def panel_rates(votes: Votes | Engine, known: Signs, answers: Ints) -> WorkerRates:
    """Rates of every worker that fit the votes and the known truth of their pairs: means and 95 % intervals.

    known : (n_pairs,) +1 present, −1 absent, 0 not known; empty where nothing is known. answers : (n_workers,)
    """
    rng = np.random.default_rng(0)  # always the same: a second look must show the same numbers
    engine = as_engine(votes)
    n_items = min(engine.n_items, -(-MOST_VOTES * engine.n_items // max(engine.n_votes, 1)))
    chosen = np.sort(rng.choice(engine.n_items, n_items, replace=False))
    if isinstance(votes, Votes) and len(known):
        known = known[np.isin(votes.pairs.item, chosen)]
    panel, row = Panel.of(gather(engine, chosen), known)
    hit, false_alarm = np.concatenate([_chain(panel, n_kinds, rng) for n_kinds in KINDS])[:, :, row].swapaxes(0, 1)
    draws = np.array([hit, false_alarm, hit - false_alarm])
    low, high = np.quantile(draws, (OUTSIDE, 1 - OUTSIDE), axis=1)
    mean = np.clip(draws.mean(axis=1), low, high)  # it may lie outside where a few draws are far from all others
    of_hit, of_false_alarm, both = zip(mean, low, high, strict=True)
    return WorkerRates(answers, *of_hit, *of_false_alarm, *both[1:], np.zeros(len(answers), dtype=bool))


def _chain(panel: Panel, n_kinds: int, rng: np.random.Generator) -> Floats:
    """(n_draws, 2, n_workers) rates of one chain. Classes are the kinds of present pairs, then those of absent ones."""
    n_yes, n_no = panel.said.sum(axis=1)
    present = rng.random(len(n_yes)) < (n_yes + 0.5) / (n_yes + n_no + 1)
    present = np.where(panel.known != 0, panel.known > 0, present)
    of_kinds = np.array([USUAL_PAIRS] + [OTHER_PAIRS] * (n_kinds - 1))  # pairs of each kind before any vote
    class_ = np.where(present, 0, n_kinds) + rng.choice(n_kinds, len(present), p=of_kinds / of_kinds.sum())
    draws = []
    for sweep in range(SWEEPS):
        drawn = _classes_given(panel, class_, of_kinds, rng)
        class_ = np.where(_better_than_chance(panel, drawn < n_kinds, class_ < n_kinds), drawn, class_)
        if sweep >= FIRST and sweep % STEP == 0:
            draws.append(_rates_given(panel, class_ < n_kinds, rng))
    return np.array(draws)


def _classes_given(panel: Panel, class_: Ints, of_kinds: Floats, rng: np.random.Generator) -> Ints:
    """(n_pairs,) a new class of every pair, drawn from rates and frequencies that fit the old ones."""
    n_kinds, n_labels = len(of_kinds), len(panel.first)
    cell, n_cells = panel.label * 2 * n_kinds + class_, n_labels * 2 * n_kinds
    said = sum_per_code(cell, panel.telling.reshape(-1, len(cell)), n_cells).reshape(2, -1, n_labels, 2 * n_kinds)
    more, less = ([usual] + [other] * (n_kinds - 1) for usual, other in zip(USUAL, OTHER, strict=True))
    # Rates on a label vary about those of the worker on all labels, of which many votes on one tell as much as `ALIKE`.
    yes, no = (said * ALIKE / (said.sum(axis=0) + ALIKE)).sum(axis=2)
    mean = rng.beta(np.array(more + less) + yes, np.array(less + more) + no)[:, None]
    rate = rng.beta(ALIKE * mean + said[0], ALIKE * (1 - mean) + said[1]).clip(LEAST_RATE, 1 - LEAST_RATE)
    # Labels have kinds in their own shares, which vary about those of all labels likewise.
    count = np.bincount(cell, minlength=n_cells).reshape(n_labels, 2, n_kinds)
    of_truth = count.sum(axis=2)
    mean = rng.gamma(of_kinds + (count * ALIKE / (np.maximum(of_truth, 1)[:, :, None] + ALIKE)).sum(axis=0))
    kind = rng.gamma(count + ALIKE * mean / mean.sum(axis=1, keepdims=True)) + LEAST_RATE
    frequency = rng.beta(1 + of_truth[:, 0], 1 + of_truth[:, 1]).clip(LEAST_RATE, 1 - LEAST_RATE)
    prior = kind / kind.sum(axis=2, keepdims=True) * np.stack([frequency, 1 - frequency], axis=1)[:, :, None]
    log_odds = np.log(prior).reshape(n_labels, -1)[panel.label]
    for votes, evidence in zip(panel.telling, (np.log(rate), np.log1p(-rate)), strict=True):
        log_odds += np.einsum("wp,wpc->pc", votes, evidence[:, panel.label])
    log_odds[panel.known > 0, n_kinds:] = log_odds[panel.known < 0, :n_kinds] = -np.inf
    up_to = np.exp(log_odds - log_odds.max(axis=1, keepdims=True)).cumsum(axis=1)
    return np.asarray((up_to <= (rng.random(len(cell)) * up_to[:, -1])[:, None]).sum(axis=1))


def _better_than_chance(panel: Panel, present: Mask, before: Mask) -> Mask:
    """(n_pairs,) where the judges of the label together tell present pairs from absent ones.

    Otherwise a label that is unlike others could be read upside down, or as always present. Where it is so, the truths
    of that label stay as they were (a Metropolis step for a prior that is 0 there). Known truth may show judges who are
    worse than chance.
    """
    yes, no = panel.said.sum(axis=1)
    leaning, label, n_pairs = yes - no, panel.label, np.bincount(panel.label)

    def agreement(truth: Mask) -> Floats:
        share = np.bincount(label, truth) / n_pairs
        return np.asarray(np.bincount(label, leaning * (truth - share[label])), np.float64)

    usual = np.bincount(label, leaning) / n_pairs
    least, now = LEAST_AGREEMENT * agreement(leaning > usual[label]), agreement(present)
    good = (now >= least) | (now >= agreement(before)) | (np.bincount(label, panel.known != 0) > 0)
    return np.asarray(good[label])


def _rates_given(panel: Panel, present: Mask, rng: np.random.Generator) -> list[Floats]:
    """Hit rates and false-alarm rates, (n_workers,) each, drawn from what they may be, were this the truth.

    Items are the clusters of a Bayesian bootstrap (Rubin 1981). Rates are compared within labels, with the weights of
    Mantel and Haenszel, as in `worker_rates`: who always ticks a frequent label is told apart from who finds it.
    """
    chance, drawn = rng.exponential(size=panel.item.max(initial=0) + 1)[panel.item], []
    met = [np.add.reduceat(panel.said * (chance * which), panel.first, axis=2) for which in (present, ~present)]
    n_votes = [each.sum(axis=0) for each in met]
    for (yes, _), own, other in zip(met, n_votes, n_votes[::-1], strict=True):
        weight = other / np.maximum(own + other, LEAST_RATE)
        total = (weight * own).sum(axis=1)
        # In votes that count alike: a share of them decides, not how the weights are scaled.
        scale = total / np.maximum((weight**2 * own).sum(axis=1), LEAST_RATE)
        one, none = rng.gamma(JEFFREYS, size=(2, len(total)))
        drawn.append(((weight * yes).sum(axis=1) * scale + one) / (total * scale + one + none))
    return drawn
