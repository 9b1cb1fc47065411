"""The decomposition of the paper as a probability model: worker = commonality of the group + individuality.

A worker says yes to a present label with his hit rate and to an absent one with his false-alarm rate, for each label.
For each of the two kinds of rate (`Rates`):

    commonality[m, l] = sigmoid(label[l] + shift[m])            what group m does on label l
    rate of worker w on l ~ Beta(strength[m] · commonality)     individuality: how far its workers scatter around it
    label[l] ~ Normal(centre, LABEL_SPREAD²),  shift[m] ~ Normal(0, SHIFT_SPREAD²)

The rates themselves are integrated out, so what remains of a worker in a group is a beta-binomial. Groups of workers,
presence of labels and all parameters are found by coordinate ascent on one lower bound of the log-posterior: no step
of it can lower the bound. One round is one pass over the votes and work in proportion to (worker, label) combinations
times groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaln, digamma, logsumexp

from amcc import kernels
from amcc.consensus.base import Gold, Monitor
from amcc.kernels import Floats, sigmoid, weight_per_code
from amcc.tables import Codes
from amcc.votes import Votes

LABEL_SPREAD = 0.35
"""How much labels differ in log-odds, before the data speak. With free labels, small data sets explain noise."""

SHIFT_SPREAD = 1.5
"""How much groups differ in log-odds."""

CENTRE_SPREAD = 0.5
"""How far the crowd's usual rate may lie from ours, in log-odds."""

HIT_CENTRE, FALSE_ALARM_CENTRE = np.log(0.7 / 0.3), np.log(0.05 / 0.95)
"""Workers miss often and invent seldom."""

STRENGTHS: Floats = np.exp2(np.arange(-1.0, 11.0))
"""Strengths that are tried: from workers of all sorts to workers as alike as twins."""


@dataclass(frozen=True)
class Counts:
    """Expected votes of each coin on labels that are present (or absent): (n_coins,) yes and all."""

    yes: Floats
    total: Floats

    @property
    def no(self) -> Floats:
        """Votes that are not yes; never below zero by rounding."""
        return np.maximum(self.total - self.yes, 0.0)


@dataclass(frozen=True)
class Rates:
    """One kind of rate: usual(.) = `prior_centre`; log-odds by label (n_labels,) and group (n_groups,)."""

    prior_centre: float
    centre: float
    label: Floats
    shift: Floats
    strength: Floats

    @property
    def commonality(self) -> Floats:
        """(n_groups, n_labels) usual rate of each group on each label."""
        return np.clip(sigmoid(self.label + self.shift[:, None]), 1e-5, 1 - 1e-5)

    def pseudo_votes(self, coin_label: Codes) -> tuple[Floats, Floats]:
        """(n_coins, n_groups) yes and no votes that the group lends to each of its workers."""
        usual = self.commonality.T[coin_label]
        return self.strength * usual, self.strength * (1 - usual)

    def log_marginal(self, coin_label: Codes, counts: Counts) -> Floats:
        """(n_coins, n_groups) log-probability of a coin's votes in each group, its own rate integrated out."""
        yes, no = self.pseudo_votes(coin_label)
        return np.asarray(betaln(yes + counts.yes[:, None], no + counts.no[:, None]) - betaln(yes, no))

    def log_prior(self) -> float:
        """Log-density of labels, shifts and centre, without constants."""
        return -0.5 * float(
            ((self.label - self.centre) ** 2).sum() / LABEL_SPREAD**2
            + (self.shift**2).sum() / SHIFT_SPREAD**2
            + (self.centre - self.prior_centre) ** 2 / CENTRE_SPREAD**2
        )

    def expected_log_rates(self, coin_label: Codes, counts: Counts) -> tuple[Floats, Floats]:
        """(n_coins, n_groups) expected log of the rate and of one minus it, given the votes."""
        yes, no = self.pseudo_votes(coin_label)
        total = digamma(self.strength + counts.total[:, None])
        return digamma(yes + counts.yes[:, None]) - total, digamma(no + counts.no[:, None]) - total


def start_rates(prior_centre: float, n_labels: int, shift: Floats, strength: float) -> Rates:
    """All labels alike, groups set apart by `shift`."""
    return Rates(
        prior_centre, prior_centre, np.full(n_labels, prior_centre), shift.copy(), np.full(len(shift), strength)
    )


def update_strength(rates: Rates, coin_label: Codes, counts: Counts, member: Floats) -> Rates:
    """Each group takes the best of its strength and the neighbours on the grid; `member` is (n_coins, n_groups)."""
    place = np.searchsorted(STRENGTHS, rates.strength)
    best, best_value = rates.strength, (member * rates.log_marginal(coin_label, counts)).sum(axis=0)
    for step in (-1, 1):
        other = STRENGTHS[np.clip(place + step, 0, len(STRENGTHS) - 1)]
        value = (member * replace(rates, strength=other).log_marginal(coin_label, counts)).sum(axis=0)
        best = np.where(value > best_value, other, best)
        best_value = np.maximum(value, best_value)
    return replace(rates, strength=best)


def update_labels(rates: Rates, coin_label: Codes, counts: Counts, member: Floats) -> Rates:
    """A step uphill for each label's log-odds, then the centre where it is best."""
    n_labels = len(rates.label)
    slope, bend = _slopes(rates, coin_label, counts, member)
    slope_of_label = (
        weight_per_code(coin_label, slope.sum(axis=1), n_labels) - (rates.label - rates.centre) / LABEL_SPREAD**2
    )
    bend_of_label = weight_per_code(coin_label, bend.sum(axis=1), n_labels) + 1 / LABEL_SPREAD**2

    def value(label: Floats) -> Floats:
        data = member * replace(rates, label=label).log_marginal(coin_label, counts)
        prior = -0.5 * (label - rates.centre) ** 2 / LABEL_SPREAD**2
        return weight_per_code(coin_label, data.sum(axis=1), n_labels) + prior

    label = _uphill(rates.label, slope_of_label / bend_of_label, value)
    precision = n_labels / LABEL_SPREAD**2 + 1 / CENTRE_SPREAD**2
    centre = (label.sum() / LABEL_SPREAD**2 + rates.prior_centre / CENTRE_SPREAD**2) / precision
    return replace(rates, label=label, centre=float(centre))


def update_shifts(rates: Rates, coin_label: Codes, counts: Counts, member: Floats) -> Rates:
    """A step uphill for each group's shift."""
    slope, bend = _slopes(rates, coin_label, counts, member)
    step = (slope.sum(axis=0) - rates.shift / SHIFT_SPREAD**2) / (bend.sum(axis=0) + 1 / SHIFT_SPREAD**2)

    def value(shift: Floats) -> Floats:
        data = (member * replace(rates, shift=shift).log_marginal(coin_label, counts)).sum(axis=0)
        return np.asarray(data - 0.5 * shift**2 / SHIFT_SPREAD**2)

    return replace(rates, shift=_uphill(rates.shift, step, value))


def _slopes(rates: Rates, coin_label: Codes, counts: Counts, member: Floats) -> tuple[Floats, Floats]:
    """(n_coins, n_groups) derivative of the bound in the log-odds of the commonality, and its usual curvature."""
    yes, no = rates.pseudo_votes(coin_label)
    usual = rates.commonality.T[coin_label]
    spread = usual * (1 - usual)
    push = digamma(yes + counts.yes[:, None]) - digamma(yes) - digamma(no + counts.no[:, None]) + digamma(no)
    # n votes of one worker tell as much about the group as n / (1 + n / strength) votes of different workers
    votes = counts.total[:, None] / (1 + counts.total[:, None] / (1 + rates.strength))
    return member * rates.strength * push * spread, member * votes * spread


def _uphill(start: Floats, step: Floats, value: Callable[[Floats], Floats]) -> Floats:
    """Follow each entry's step, or a part of it, or none, so that its value does not fall."""
    before = value(start)
    step = np.clip(step, -1.0, 1.0)
    result = start
    for _ in range(4):
        tried = start + step
        risen = value(tried) >= before
        result = np.where(risen & (result == start), tried, result)
        step = step / 4
    return result


@dataclass(frozen=True)
class Crowd:
    """What is believed about workers.

    hit, false_alarm : Rates of the two kinds.
    member : (n_workers, n_groups) probability that a worker belongs to each group.
    share : (n_groups,) log of the share of workers in each group.
    """

    hit: Rates
    false_alarm: Rates
    member: Floats
    share: Floats


def start_crowd(n_workers: int, n_labels: int, n_groups: int) -> Crowd:
    """Groups from reliable (many hits, few false alarms) to spammers (both alike); everybody in all of them."""
    grade = np.linspace(0.0, 1.0, n_groups) if n_groups > 1 else np.zeros(1)
    apart = float(n_groups > 1)
    return Crowd(
        start_rates(HIT_CENTRE, n_labels, apart * (1.2 - 2.6 * grade), 8.0),
        start_rates(FALSE_ALARM_CENTRE, n_labels, apart * (-1.2 + 2.8 * grade), 32.0),
        np.full((n_workers, n_groups), 1 / n_groups),
        np.full(n_groups, -np.log(n_groups)),
    )


def update_members(crowd: Crowd, coin_worker: Codes, coin_label: Codes, present: Counts, absent: Counts) -> Crowd:
    """Put every worker into the groups that explain him, in proportion."""
    fits = crowd.hit.log_marginal(coin_label, present) + crowd.false_alarm.log_marginal(coin_label, absent)
    n_workers, n_groups = crowd.member.shape
    per_worker = np.stack([weight_per_code(coin_worker, fits[:, m], n_workers) for m in range(n_groups)], axis=1)
    log_member = per_worker + crowd.share
    member = np.exp(log_member - logsumexp(log_member, axis=1, keepdims=True))
    # One pseudo-worker per group: no group dies.
    share = np.log(member.sum(axis=0) + 1) - np.log(n_workers + n_groups)
    return replace(crowd, member=member, share=share)


def update_rates(crowd: Crowd, coin_worker: Codes, coin_label: Codes, present: Counts, absent: Counts) -> Crowd:
    """Strength, labels and shifts of both kinds of rate, one after the other."""
    member = crowd.member[coin_worker]

    def improved(rates: Rates, counts: Counts) -> Rates:
        for update in (update_strength, update_labels, update_shifts):
            rates = update(rates, coin_label, counts, member)
        return rates

    return replace(crowd, hit=improved(crowd.hit, present), false_alarm=improved(crowd.false_alarm, absent))


def slot_evidence(crowd: Crowd, coin_worker: Codes, coin_label: Codes, present: Counts, absent: Counts) -> Floats:
    """(2 · n_coins,) log-odds that a no and a yes of each coin add to "present", expected over what is not known."""
    member = crowd.member[coin_worker]
    yes_if_present, no_if_present = crowd.hit.expected_log_rates(coin_label, present)
    yes_if_absent, no_if_absent = crowd.false_alarm.expected_log_rates(coin_label, absent)
    no = (member * (no_if_present - no_if_absent)).sum(axis=1)
    yes = (member * (yes_if_present - yes_if_absent)).sum(axis=1)
    return np.asarray(np.stack([no, yes], axis=1)).ravel()


def crowd_bound(crowd: Crowd, coin_worker: Codes, coin_label: Codes, present: Counts, absent: Counts) -> float:
    """What the votes and the priors say for this crowd: the workers' share of the bound."""
    fits = crowd.hit.log_marginal(coin_label, present) + crowd.false_alarm.log_marginal(coin_label, absent)
    member = crowd.member
    belonging = member * (crowd.share - np.log(np.maximum(member, 1e-300)))
    # The shares' own prior: one pseudo-worker per group.
    return float(
        (member[coin_worker] * fits).sum()
        + belonging.sum()
        + crowd.share.sum()
        + crowd.hit.log_prior()
        + crowd.false_alarm.log_prior()
    )


def counts_of(slot_weight: Floats) -> Counts:
    """Counts of coins from the weights of their slots (no, yes, no, yes …)."""
    no, yes = slot_weight[0::2], slot_weight[1::2]
    return Counts(yes, no + yes)


def entropy_of(step: kernels.Pass, evidence: Floats, prior: Floats) -> float:
    """Entropy of the presence of all pairs, from what the pass already summed up."""
    return step.log_odds_sum - float(step.proba @ prior + step.present @ evidence)


@dataclass(frozen=True)
class Presence:
    """How often labels are present: expected present and absent pairs of each label, priors included."""

    present: Floats
    absent: Floats

    @property
    def log_odds(self) -> Floats:
        """(n_labels,) expected log-odds of a pair before its votes."""
        return np.asarray(digamma(self.present) - digamma(self.absent))

    @property
    def mean(self) -> Floats:
        """(n_labels,) probability of a pair that nobody was asked about."""
        return self.present / (self.present + self.absent)


PRESENCE_PRIOR = (1.6, 6.4)
"""Pseudo-pairs of each label, present and absent: most labels are absent from most items."""


def presence_of(pair_label: Codes, proba: Floats, asked: Floats) -> Presence:
    """Presence of labels given the pairs' probabilities; `asked` counts the pairs of each label."""
    present = weight_per_code(pair_label, proba, len(asked))
    return Presence(present + PRESENCE_PRIOR[0], np.maximum(asked - present, 0.0) + PRESENCE_PRIOR[1])


def presence_bound(presence: Presence) -> float:
    """The labels' share of the bound: their frequencies integrated out."""
    return float((betaln(presence.present, presence.absent) - betaln(*PRESENCE_PRIOR)).sum())


@dataclass(frozen=True)
class LikelihoodFit:
    """Result of `fit_likelihood`; evidence and prior are log-odds of slots and pairs, see `kernels.posterior_pass`."""

    crowd: Crowd
    pair_proba: Floats
    label_prior: Floats
    evidence: Floats
    prior: Floats
    monitor: Monitor


def fit_likelihood(votes: Votes, gold: Gold, *, n_groups: int, max_iter: int, tol: float) -> LikelihoodFit:
    """Coordinate ascent: presence of labels, groups of workers, rates, in turn, until no probability moves."""
    coins, pairs = votes.coins, votes.pairs
    n_slots = 2 * len(coins)
    slot_votes = weight_per_code(coins.slot, np.ones(len(votes)), n_slots)
    asked = weight_per_code(pairs.label, np.ones(len(pairs)), votes.n_labels)
    proba = np.where(gold.known, gold.present, votes.n_yes / pairs.n_votes)
    weight = weight_per_code(coins.slot, np.repeat(proba, pairs.n_votes), n_slots)
    entropy = 0.0
    crowd = start_crowd(votes.n_workers, votes.n_labels, n_groups)
    monitor = Monitor(tol, max_iter)
    change = np.inf
    for _ in monitor.rounds():
        present, absent = counts_of(weight), counts_of(np.maximum(slot_votes - weight, 0.0))
        where = coins.worker, coins.label, present, absent
        crowd = update_rates(update_members(crowd, *where), *where)
        presence = presence_of(pairs.label, proba, asked)
        monitor.report(crowd_bound(crowd, *where) + presence_bound(presence) + entropy, change)
        evidence = slot_evidence(crowd, *where)
        prior = gold.log_odds(presence.log_odds[pairs.label])
        step = kernels.posterior_pass(coins.slot, pairs.start, evidence, prior, proba)
        entropy = entropy_of(step, evidence, prior)
        proba, weight, change = step.proba, step.present, step.change
    return LikelihoodFit(crowd, proba, presence.mean, evidence, prior, monitor)
