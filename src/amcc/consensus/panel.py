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
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from amcc.arrays import Codes, Floats, Ints, Mask, Signs
from amcc.consensus.workers import ABOVE_OTHERS, WorkerRates
from amcc.engine.base import Engine, gather
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


class RateDraws(NamedTuple):
    """(n_draws, n_workers) rates that fit the votes together."""

    hit: Floats
    false_alarm: Floats


@dataclass(frozen=True)
class Panel:
    """Votes of a few workers as tables, pairs in the order of their labels.

    yes, no : (n_pairs, n_workers) 1 where the worker said so
    label, item : (n_pairs,) from 0. known : (n_pairs,) +1 present, −1 absent, 0 not known
    """

    yes: Floats
    no: Floats
    label: Ints
    item: Ints
    known: Signs

    @classmethod
    def of(cls, votes: Votes, known: Signs) -> tuple[Panel, Ints]:
        """The votes, and the column of each worker.

        Everything is sorted by name: the same votes in another order give the same draws.
        """
        pairs, worker = votes.pairs, _ranks(votes.worker_names)
        of_label, of_item = _ranks_of(pairs.label, votes.label_names), _ranks_of(pairs.item, votes.item_names)
        order = np.lexsort((of_item, of_label))
        row = np.empty(len(order), np.int64)
        row[order] = np.arange(len(order))
        said = np.zeros((2, len(order), votes.n_workers))
        said[(votes.value > 0).astype(int), np.repeat(row, pairs.n_votes), worker[votes.worker]] = 1.0
        sign = known[order] if len(known) else np.zeros(len(order), np.int8)
        return cls(said[1], said[0], of_label[order], of_item[order], sign), worker

    def without_habits(self) -> Mask:
        """(n_pairs, n_workers) False for votes of a worker who always says the same on a label where others do not.

        Such votes do not depend on the pair, so they tell nothing about it, and would make kinds of pairs of the label.
        """
        code = np.arange(self.label.max(initial=-1) + 1)
        first = np.searchsorted(self.label, code)
        yes, no = (np.add.reduceat(said, first, axis=0) for said in (self.yes, self.no))
        share = yes / np.maximum(yes + no, 1)
        others = (yes.sum(axis=1, keepdims=True) - yes) / np.maximum(
            (yes + no).sum(axis=1, keepdims=True) - yes - no, 1
        )
        always = np.minimum(share, 1 - share) <= NEVER
        return np.asarray(~(always & (np.abs(share - others) >= ABOVE_OTHERS))[self.label])


def _ranks(names: pa.Array) -> Ints:
    """(n,) place of each name among the sorted ones; items gathered from blocks are named by numbers."""
    numbered = pa.types.is_integer(names.type)
    order = np.argsort(np.array(names.to_pylist() if numbered else text_of(names).to_pylist()), kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def _ranks_of(code: Codes, names: pa.Array) -> Ints:
    """(n_pairs,) place of the name of each code among those that occur."""
    used, place = np.unique(code, return_inverse=True)
    return np.asarray(_ranks(names.take(pa.array(used)))[place])


def panel_rates(votes: Votes | Engine, known: Signs, answers: Ints) -> WorkerRates:
    """Rates of every worker of a panel: means and 95 % intervals of `draw_rates`, to which the arguments go."""
    hit, false_alarm = draw_rates(votes, known)
    draws = hit, false_alarm, hit - false_alarm
    (low, high), (low_false, high_false), both = (np.quantile(each, (OUTSIDE, 1 - OUTSIDE), axis=0) for each in draws)
    # A mean may lie outside where a few draws are far from all others.
    hit_rate = np.clip(hit.mean(axis=0), low, high)
    false_alarm_rate = np.clip(false_alarm.mean(axis=0), low_false, high_false)
    by_truth = np.zeros(len(answers), dtype=bool)
    of_hit, of_false = (hit_rate, low, high), (false_alarm_rate, low_false, high_false)
    return WorkerRates(answers, *of_hit, *of_false, both[0], both[1], by_truth)


def draw_rates(votes: Votes | Engine, known: Signs) -> RateDraws:
    """Rates of every worker that fit the votes, and the known truth of their pairs.

    known : (n_pairs,) +1 present, −1 absent, 0 not known; empty where nothing is known
    """
    rng = np.random.default_rng(0)  # always the same: a second look must show the same numbers
    n_items, n_votes = votes.n_items, votes.n_votes if isinstance(votes, Engine) else len(votes)
    if n_votes > MOST_VOTES:
        n_items = -(-MOST_VOTES * n_items // n_votes)
    chosen = np.sort(rng.choice(votes.n_items, n_items, replace=False))
    if isinstance(votes, Engine):
        votes = gather(votes, chosen)
    elif n_items < votes.n_items:
        among = np.zeros(votes.n_items, dtype=bool)
        among[chosen] = True
        known = known[among[votes.pairs.item]] if len(known) else known
        votes = votes.select(among[votes.item])
    panel, column = Panel.of(votes, known)
    chains = [_chain(panel, n_kinds, rng) for n_kinds in KINDS]
    return RateDraws(*(np.concatenate(each)[:, column] for each in zip(*chains, strict=True)))


def _chain(panel: Panel, n_kinds: int, rng: np.random.Generator) -> RateDraws:
    """One chain of the sampler. Classes are the kinds of present pairs, then those of absent ones."""
    sampler = Sampler.of(panel, n_kinds)
    truth = panel.known > 0
    share = (panel.yes.sum(axis=1) + 0.5) / ((panel.yes + panel.no).sum(axis=1) + 1)
    present = np.where(panel.known != 0, truth, rng.random(len(share)) < share)
    of_kinds = sampler.of_kinds / sampler.of_kinds.sum()
    class_ = np.where(present, 0, n_kinds) + rng.choice(n_kinds, len(share), p=of_kinds)
    draws = []
    for sweep in range(SWEEPS):
        drawn = sampler.classes(class_, rng)
        class_ = np.where(_better_than_chance(panel, drawn < n_kinds, class_ < n_kinds), drawn, class_)
        if sweep >= FIRST and sweep % STEP == 0:
            draws.append(_rates_given(panel, class_ < n_kinds, rng))
    hit, false_alarm = zip(*draws, strict=True)
    return RateDraws(np.array(hit), np.array(false_alarm))


@dataclass(frozen=True)
class Sampler:
    """What a sweep needs, made once.

    yes, no : (n_pairs, n_workers) votes that depend on the pair
    of_kinds : (n_kinds,) pairs of each kind before any vote; more, less : (2 n_kinds,) yes and no votes likewise
    impossible : (n_pairs, 2 n_kinds) classes that contradict known truth
    """

    yes: Floats
    no: Floats
    label: Ints
    of_kinds: Floats
    more: Floats
    less: Floats
    impossible: Mask

    @classmethod
    def of(cls, panel: Panel, n_kinds: int) -> Sampler:
        """For so many kinds per truth."""
        varies, usual = panel.without_habits(), np.arange(n_kinds) == 0
        more, less = (np.where(usual, *each) for each in zip(USUAL, OTHER, strict=True))
        is_present = np.arange(2 * n_kinds) < n_kinds
        impossible = np.where(is_present, panel.known[:, None] < 0, panel.known[:, None] > 0)
        votes = panel.yes * varies, panel.no * varies, panel.label
        both = np.concatenate([more, less]), np.concatenate([less, more])
        return cls(*votes, np.where(usual, USUAL_PAIRS, OTHER_PAIRS), *both, impossible)

    def classes(self, class_: Ints, rng: np.random.Generator) -> Ints:
        """(n_pairs,) a new class of every pair, drawn from rates and frequencies that fit the old ones."""
        n_labels, n_classes = int(self.label[-1]) + 1, len(self.more)
        n_kinds, n_workers = n_classes // 2, self.yes.shape[1]
        cell = self.label * n_classes + class_

        def counted(said: Floats) -> Floats:
            sums = [np.bincount(cell, each, n_labels * n_classes) for each in said.T]
            return np.reshape(sums, (n_workers, n_labels, n_classes))

        rate = _varied_rates(counted(self.yes), counted(self.no), self.more, self.less, rng)
        count = np.bincount(cell, minlength=n_labels * n_classes).reshape(n_labels, 2, n_kinds)
        # Labels have kinds in their own shares, which vary about those of all labels as rates do.
        of_truth = np.maximum(count.sum(axis=2, keepdims=True), 1)
        mean = rng.gamma(self.of_kinds + (count * ALIKE / (of_truth + ALIKE)).sum(axis=0))
        mean /= mean.sum(axis=1, keepdims=True)
        kind = rng.gamma(count + ALIKE * mean) + LEAST_RATE
        kind /= kind.sum(axis=2, keepdims=True)
        present = count.sum(axis=2)
        frequency = rng.beta(1 + present[:, 0], 1 + present[:, 1]).clip(LEAST_RATE, 1 - LEAST_RATE)
        prior = np.log(kind * np.stack([frequency, 1 - frequency], axis=1)[:, :, None]).reshape(n_labels, n_classes)
        evidence = [np.moveaxis(each, 0, 1)[self.label] for each in (np.log(rate), np.log1p(-rate))]
        log_odds = prior[self.label]
        for said, each in zip((self.yes, self.no), evidence, strict=True):
            log_odds += (said[:, None, :] @ each)[:, 0]
        log_odds[self.impossible] = -np.inf
        up_to = np.exp(log_odds - log_odds.max(axis=1, keepdims=True)).cumsum(axis=1)
        return np.asarray((up_to <= (rng.random(len(cell)) * up_to[:, -1])[:, None]).sum(axis=1))


def _varied_rates(yes: Floats, no: Floats, more: Floats, less: Floats, rng: np.random.Generator) -> Floats:
    """(n_workers, n_labels, n_classes) rates of yes on each label, which vary about those of the worker on all labels.

    Many votes on one label tell about the rate on that label; about the mean of all labels they tell as much as `ALIKE`
    votes at most.
    """
    told = ALIKE / (yes + no + ALIKE)
    mean = rng.beta(more + (yes * told).sum(axis=1), less + (no * told).sum(axis=1))[:, None]
    return np.asarray(rng.beta(ALIKE * mean + yes, ALIKE * (1 - mean) + no).clip(LEAST_RATE, 1 - LEAST_RATE))


def _better_than_chance(panel: Panel, present: Mask, before: Mask) -> Mask:
    """(n_pairs,) where the judges of the label together tell present pairs from absent ones.

    Otherwise a label that is unlike others could be read upside down, or as always present. Where it is so, the truths
    of that label stay as they were (a Metropolis step for a prior that is 0 there). Known truth may show judges who are
    worse than chance.
    """
    leaning = (panel.yes - panel.no).sum(axis=1)
    n_pairs = np.bincount(panel.label)

    def agreement(truth: Mask) -> Floats:
        share = np.bincount(panel.label, truth) / n_pairs
        return np.asarray(np.bincount(panel.label, leaning * (truth - share[panel.label])), np.float64)

    usual = np.bincount(panel.label, leaning) / n_pairs
    least = LEAST_AGREEMENT * agreement(leaning > usual[panel.label])
    now = agreement(present)
    told = np.bincount(panel.label, panel.known != 0) > 0
    return np.asarray(((now >= least) | (now >= agreement(before)) | told)[panel.label])


def _rates_given(panel: Panel, present: Mask, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(n_workers,) rates drawn from what they may be, were this the truth.

    Items are the clusters of a Bayesian bootstrap (Rubin 1981). Rates are compared within labels, with the weights of
    Mantel and Haenszel, as in `worker_rates`: who always ticks a frequent label is told apart from who finds it.
    """
    chance = rng.exponential(size=panel.item.max(initial=0) + 1)[panel.item]
    first = np.searchsorted(panel.label, np.arange(panel.label.max(initial=-1) + 1))

    def per_label(vote: Floats, which: Mask) -> Floats:
        return np.asarray(np.add.reduceat(vote * (chance * which)[:, None], first, axis=0))

    met = [(per_label(panel.yes, which), per_label(panel.no, which)) for which in (present, ~present)]
    (n_present, n_absent), shown = [yes + no for yes, no in met], []
    everywhere = np.maximum(n_present + n_absent, LEAST_RATE)
    for (yes, _), own, other in zip(met, (n_present, n_absent), (n_absent, n_present), strict=True):
        weight = other / everywhere
        total = (weight * own).sum(axis=0)
        # In votes that count alike: a share of them decides, not how the weights are scaled.
        scale = total / np.maximum((weight**2 * own).sum(axis=0), LEAST_RATE)
        one, none = rng.gamma(JEFFREYS, size=(2, len(total)))
        shown.append(((weight * yes).sum(axis=0) * scale + one) / (total * scale + one + none))
    return shown[0], shown[1]
