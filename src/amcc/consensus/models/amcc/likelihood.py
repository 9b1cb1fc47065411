"""The decomposition of the paper as a probability model: worker = commonality of the group + individuality.

A worker says yes to a present label with a hit rate and to an absent one with a false-alarm rate, for each label.
For each of the two kinds of rate (`Rates`):

    commonality[m, l] = sigmoid(label[l] + shift[m])             what group m does on label l
    rate of worker w on l ~ Beta(strength[m] · commonality)      individuality: how far its workers scatter around it
    label[l] ~ Normal(centre, spread²),  shift[m] ~ Normal(0, SHIFT_SPREAD²),  log strength[m] ~ Normal

Some groups are *uninformative*: they have one rate, whatever is there, so that votes of their workers say nothing. Spammers who
always tick the same and spammers who tick at random scatter differently: there is a uninformative group for each.

The rates themselves are integrated out, so what remains of a worker in a group is a beta-binomial. Groups of workers,
presence of labels and all parameters are found by coordinate ascent on one lower bound of the log-posterior: no step
of it can lower the bound. A round is one pass over the votes and a few over the coins times groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from scipy.special import betaln, digamma

from amcc.arrays import Floats, Ints, sigmoid
from amcc.consensus.models.amcc.coins import (
    Counts,
    Effective,
    Usual,
    effective_votes,
    expected_log_rates,
    group_fit,
    mean_rates,
)
from amcc.consensus.monitor import Monitor
from amcc.consensus.rounds import LabelPrior, Prior, Start, entropy_of, first_look, one_round
from amcc.engine.base import Engine
from amcc.fields import Each
from amcc.loops import LEAST_MEMBERSHIP
from amcc.passes import Belief
from amcc.votes import Coins

HIT_SPREAD, FALSE_ALARM_SPREAD = 0.35, 0.2
"""How much labels differ in log-odds, before the data speak. With free labels, small data sets explain noise: a
label that is often present looks like one that is often invented."""

SHIFT_SPREAD = 1.5
"""How much groups differ in log-odds."""

CENTRE_SPREAD = 0.5
"""How far the crowd's usual rate may lie from ours, in log-odds."""

HIT_CENTRE, FALSE_ALARM_CENTRE = np.log(0.7 / 0.3), np.log(0.05 / 0.95)
"""Workers miss often and invent seldom."""

HIT_STRENGTH, FALSE_ALARM_STRENGTH = 8.0, 32.0
"""Pseudo-votes that a group lends to a coin, before the data speak, give or take a factor of exp(STRENGTH_SPREAD)."""

UNINFORMATIVE_CENTRE, UNINFORMATIVE_SPREAD, UNINFORMATIVE_STRENGTH = np.log(0.15 / 0.85), 0.5, 8.0
"""How often those say yes who do not look, as above."""

UNINFORMATIVE_STARTS = 1.0, 64.0
"""Strengths at the start: workers who always tick the same do not resemble each other, those who tick at random do."""

STRENGTH_SPREAD, STRENGTH_RANGE = 2.0, (0.5, 4096.0)
"""How far strengths may lie from those above, in logarithms; vague, since crowds differ. Beyond the range nothing
changes: fewer pseudo-votes than one vote, or more than anybody gives."""

THOROUGH = 3
"""In every third round strengths are looked at, and all groups for all workers: they move slowly and cost most."""

NO_INDIVIDUALITY = 1e6
"""The strength of groups whose workers are all the same."""


@dataclass(frozen=True)
class Rates:
    """One kind of rate: log-odds of labels (n_labels,) and groups (n_groups,), pseudo-votes (n_groups,)."""

    prior_centre: float
    prior_strength: float
    label_spread: float
    centre: float
    label: Annotated[Floats, Each("label")]
    shift: Annotated[Floats, Each(".group")]
    strength: Annotated[Floats, Each(".group")]

    @property
    def commonality(self) -> Floats:
        """(n_groups, n_labels) usual rate of each group on each label."""
        return np.clip(sigmoid(self.label + self.shift[:, None]), 1e-5, 1 - 1e-5)

    @property
    def usual(self) -> Usual:
        """The same as pseudo-votes."""
        strength = self.strength[:, None]
        return Usual(strength * self.commonality, strength * (1 - self.commonality))

    def log_prior(self) -> float:
        """Log-density of all parameters, without constants."""
        normal = (
            ((self.label - self.centre) ** 2).sum() / self.label_spread**2
            + (self.shift**2).sum() / SHIFT_SPREAD**2
            + (self.centre - self.prior_centre) ** 2 / CENTRE_SPREAD**2
        )
        return float(self.strength_prior().sum() - 0.5 * normal)

    def strength_prior(self) -> Floats:
        """(n_groups,) log-density of the strengths."""
        return -0.5 * (np.log(self.strength / self.prior_strength) / STRENGTH_SPREAD) ** 2


def start_rates(prior_centre: float, prior_strength: float, label_spread: float, n_labels: int, shift: Floats) -> Rates:
    """All labels alike, groups set apart by `shift`."""
    label, strength = np.full(n_labels, prior_centre), np.full(len(shift), prior_strength)
    return Rates(prior_centre, prior_strength, label_spread, prior_centre, label, shift, strength)


def update_strength(rates: Rates, coins: Coins, counts: Counts, member: Floats) -> Rates:
    """The more alike workers of a group, the more votes it lends to each: twice as many, half as many, or as now."""

    def value(strength: Floats) -> Floats:
        tried = replace(rates, strength=strength)
        fit = group_fit(coins, counts, tried.usual, member)
        return np.asarray((member * fit).sum(axis=0) + tried.strength_prior())

    if rates.prior_strength == NO_INDIVIDUALITY:
        return rates
    tried = [np.clip(rates.strength * factor, *STRENGTH_RANGE) for factor in (1.0, 0.5, 2.0)]
    best = np.argmax([value(strength) for strength in tried], axis=0)
    return replace(rates, strength=np.stack(tried)[best, np.arange(len(best))])


def update_commonality(rates: Rates, effective: Effective) -> Rates:
    """Labels, their centre and shifts of groups: a logistic regression on effective votes, one Newton step each."""

    def log_likelihood(label: Floats, shift: Floats) -> Floats:
        log_odds = label + shift[:, None]
        return np.asarray(-effective.yes * np.logaddexp(0, -log_odds) - effective.no * np.logaddexp(0, log_odds))

    def slope_and_bend(rates: Rates, axis: int) -> tuple[Floats, Floats]:
        usual, total = sigmoid(rates.label + rates.shift[:, None]), effective.yes + effective.no
        return (effective.yes - total * usual).sum(axis), (total * usual * (1 - usual)).sum(axis)

    slope, bend = slope_and_bend(rates, axis=0)
    label = _uphill(
        rates.label,
        (slope - (rates.label - rates.centre) / rates.label_spread**2) / (bend + 1 / rates.label_spread**2),
        lambda label: (
            log_likelihood(label, rates.shift).sum(0) - 0.5 * ((label - rates.centre) / rates.label_spread) ** 2
        ),
    )
    precision = len(label) / rates.label_spread**2 + 1 / CENTRE_SPREAD**2
    centre = float((label.sum() / rates.label_spread**2 + rates.prior_centre / CENTRE_SPREAD**2) / precision)
    rates = replace(rates, label=label, centre=centre)
    slope, bend = slope_and_bend(rates, axis=1)
    shift = _uphill(
        rates.shift,
        (slope - rates.shift / SHIFT_SPREAD**2) / (bend + 1 / SHIFT_SPREAD**2),
        lambda shift: log_likelihood(label, shift).sum(1) - 0.5 * (shift / SHIFT_SPREAD) ** 2,
    )
    return replace(rates, shift=shift)


ROUNDING = 1e-13
"""Relative error of a sum. Steps must not hang on it: sums over blocks differ in their last digits."""


def _uphill(start: Floats, step: Floats, value: Callable[[Floats], Floats]) -> Floats:
    """Follow each entry's step, or a part of it, or none, so that its value does not fall."""
    before = value(start)
    step = np.clip(step, -1.0, 1.0)
    result = start
    for _ in range(4):
        tried = start + step
        risen = value(tried) >= before - ROUNDING * np.abs(before)
        result = np.where(risen & (result == start), tried, result)
        if (result != start).all():
            break
        step = step / 4
    return result


@dataclass(frozen=True)
class Crowd:
    """What is believed about workers.

    hit, false_alarm : Rates of the two kinds, of the groups who look.
    uninformative : Rates of the groups who do not.
    member : (n_workers, n_groups) probability that a worker belongs to each group; the uninformative come last.
    share : (n_groups,) share of workers in each group.
    weight : (n_workers,) how much each vote counts, below 1 where workers repeat each other, see `families`.
    """

    hit: Rates
    false_alarm: Rates
    uninformative: Rates
    member: Annotated[Floats, Each("worker", "group")]
    share: Annotated[Floats, Each("group")]
    weight: Annotated[Floats, Each("worker", least=0)]

    def __post_init__(self) -> None:
        n_looking, n_uninformative = len(self.hit.shift), len(self.uninformative.shift)
        if len(self.false_alarm.shift) != n_looking or len(self.share) != n_looking + n_uninformative:
            raise ValueError("must have rates of every group")

    @property
    def looking_member(self) -> Floats:
        """(n_workers, n_looking) the same for the groups who look."""
        return self.member[:, : len(self.hit.shift)]

    @property
    def uninformative_member(self) -> Floats:
        """(n_workers, n_uninformative) and for those who do not."""
        return self.member[:, len(self.hit.shift) :]

    @property
    def commonality(self) -> Floats:
        """(2, n_groups, n_labels) usual hit and false-alarm rates of all groups."""
        return np.stack(
            [
                np.concatenate([rates.commonality, self.uninformative.commonality])
                for rates in (self.hit, self.false_alarm)
            ]
        )

    @property
    def strength(self) -> Floats:
        """(2, n_groups) strengths of the same."""
        return np.stack(
            [np.append(rates.strength, self.uninformative.strength) for rates in (self.hit, self.false_alarm)]
        )

    def log_prior(self) -> float:
        """Log-density of all parameters; one pseudo-worker per group."""
        rates = self.hit, self.false_alarm, self.uninformative
        return float(np.log(self.share).sum()) + sum(each.log_prior() for each in rates)


def start_crowd(
    n_workers: int, n_labels: int, n_groups: int, *, individuality: bool = True, weight: Floats | None = None
) -> Crowd:
    """Groups from reliable (many hits, few false alarms) to sloppy, and up to two uninformative ones; everybody in all of them.

    Without `individuality`, workers of a group do exactly as the group does.
    """
    n_uninformative = min(n_groups // 2, len(UNINFORMATIVE_STARTS))
    grade = np.linspace(0.0, 1.0, n_groups - n_uninformative)
    apart = float(n_groups > 1)
    strengths = (
        (HIT_STRENGTH, FALSE_ALARM_STRENGTH, UNINFORMATIVE_STRENGTH) if individuality else (NO_INDIVIDUALITY,) * 3
    )
    uninformative = start_rates(
        UNINFORMATIVE_CENTRE, strengths[2], UNINFORMATIVE_SPREAD, n_labels, np.zeros(n_uninformative)
    )
    if individuality:
        uninformative = replace(uninformative, strength=np.array(UNINFORMATIVE_STARTS[:n_uninformative]))
    return Crowd(
        start_rates(HIT_CENTRE, strengths[0], HIT_SPREAD, n_labels, apart * (1.2 - 2.0 * grade)),
        start_rates(FALSE_ALARM_CENTRE, strengths[1], FALSE_ALARM_SPREAD, n_labels, apart * (-1.2 + 2.2 * grade)),
        uninformative,
        np.full((n_workers, n_groups), 1 / n_groups),
        np.full(n_groups, 1 / n_groups),
        np.ones(n_workers) if weight is None else weight,
    )


def known_to(crowd: Crowd, worker: Ints, label: Ints) -> Crowd:
    """The crowd for other votes, whose workers and labels have these codes in it (−1: new, so as usual)."""

    def relabelled(rates: Rates) -> Rates:
        return replace(rates, label=np.where(label >= 0, rates.label[label], rates.centre))

    member = np.where(worker[:, None] >= 0, crowd.member[worker], crowd.share / crowd.share.sum())
    hit, false_alarm, uninformative = (relabelled(each) for each in (crowd.hit, crowd.false_alarm, crowd.uninformative))
    return Crowd(hit, false_alarm, uninformative, member, crowd.share, np.where(worker >= 0, crowd.weight[worker], 1.0))


@dataclass(frozen=True)
class CoinCounts:
    """Expected votes of coins on present and on absent labels."""

    present: Counts
    absent: Counts

    @cached_property
    def total(self) -> Counts:
        """Votes of coins, whatever they were on."""
        return Counts(self.present.yes + self.absent.yes, self.present.no + self.absent.no)


def update_members(crowd: Crowd, coins: Coins, counts: CoinCounts, *, thorough: bool = True) -> tuple[Crowd, float]:
    """Put every worker into the groups that explain them, in proportion; also the crowd's share of the bound.

    Unless `thorough`, groups that a worker does not belong to are not tried again.
    """
    n_workers, n_groups = crowd.member.shape
    tried = replace(crowd, member=np.ones_like(crowd.member)) if thorough else crowd
    looking = group_fit(coins, counts.present, crowd.hit.usual, tried.looking_member)
    looking += group_fit(coins, counts.absent, crowd.false_alarm.usual, tried.looking_member)
    uninformative = group_fit(coins, counts.total, crowd.uninformative.usual, tried.uninformative_member)
    log_member = np.concatenate([looking, uninformative], axis=1) + np.log(crowd.share)
    log_member[tried.member < LEAST_MEMBERSHIP] = -np.inf
    likeliest = log_member.max(axis=1, keepdims=True)
    member = np.exp(log_member - likeliest)
    in_all = member.sum(axis=1, keepdims=True)
    member /= in_all
    bound = float((likeliest + np.log(in_all)).sum()) + crowd.log_prior()
    return replace(crowd, member=member, share=(member.sum(axis=0) + 1) / (n_workers + n_groups)), bound


def update_rates(crowd: Crowd, coins: Coins, counts: CoinCounts, *, strengths: bool) -> Crowd:
    """Commonality of all kinds of rate, and the strengths if wanted."""

    def improved(rates: Rates, counts: Counts, member: Floats) -> Rates:
        if strengths:
            rates = update_strength(rates, coins, counts, member)
        return update_commonality(rates, effective_votes(coins, counts, rates.usual, member))

    return replace(
        crowd,
        hit=improved(crowd.hit, counts.present, crowd.looking_member),
        false_alarm=improved(crowd.false_alarm, counts.absent, crowd.looking_member),
        uninformative=improved(crowd.uninformative, counts.total, crowd.uninformative_member),
    )


def slot_evidence(crowd: Crowd, coins: Coins, counts: CoinCounts) -> Floats:
    """(2 · n_coins,) log-odds that a no and a yes of each coin add to "present", expected over what is not known.

    Votes of the uninformative add nothing, and those of workers who repeat each other less than others.
    """
    member = crowd.looking_member * crowd.weight[:, None]
    yes_if_present, no_if_present = expected_log_rates(coins, counts.present, crowd.hit.usual, member)
    yes_if_absent, no_if_absent = expected_log_rates(coins, counts.absent, crowd.false_alarm.usual, member)
    return np.asarray(np.stack([no_if_present - no_if_absent, yes_if_present - yes_if_absent], axis=1)).ravel()


def coin_rates(crowd: Crowd, coins: Coins, counts: CoinCounts) -> Floats:
    """(2, n_coins) expected hit and false-alarm rate."""
    looking = (crowd.hit, counts.present), (crowd.false_alarm, counts.absent)
    uninformative = mean_rates(coins, counts.total, crowd.uninformative.usual, crowd.uninformative_member)
    return np.stack(
        [uninformative + mean_rates(coins, each, rates.usual, crowd.looking_member) for rates, each in looking]
    )


PRESENCE_STRENGTH = 8.0
"""Pairs that the crowd of labels lends to each label."""

PRESENCE_START = (1.0, 4.0)
"""Pseudo-pairs of the labels' common frequency, present and absent: most labels are absent from most items."""


@dataclass(frozen=True)
class Presence:
    """How often labels are present.

    present, absent : (n_labels,) expected pairs of each label
    usual : common frequency of all labels
    """

    present: Annotated[Floats, Each("label")]
    absent: Annotated[Floats, Each("label")]
    usual: float

    @property
    def posterior(self) -> tuple[Floats, Floats]:
        """Beta posterior of each label's frequency."""
        return self.present + PRESENCE_STRENGTH * self.usual, self.absent + PRESENCE_STRENGTH * (1 - self.usual)

    @property
    def log_odds(self) -> Floats:
        """(n_labels,) expected log-odds of a pair before its votes."""
        present, absent = self.posterior
        return np.asarray(digamma(present) - digamma(absent))

    @property
    def mean(self) -> Floats:
        """(n_labels,) probability of a pair that nobody was asked about."""
        present, absent = self.posterior
        return present / (present + absent)

    def bound(self) -> float:
        """The labels' share of the bound: their frequencies integrated out."""
        prior = PRESENCE_STRENGTH * self.usual, PRESENCE_STRENGTH * (1 - self.usual)
        start = PRESENCE_START[0] * np.log(self.usual) + PRESENCE_START[1] * np.log1p(-self.usual)
        return float((betaln(*self.posterior) - betaln(*prior)).sum() + start)


def update_presence(presence: Presence) -> Presence:
    """The common frequency of labels: Minka's fixed point again."""
    prior = PRESENCE_STRENGTH * presence.usual, PRESENCE_STRENGTH * (1 - presence.usual)
    votes = [
        usual * float((digamma(each) - digamma(usual)).sum()) + start
        for usual, each, start in zip(prior, presence.posterior, PRESENCE_START, strict=True)
    ]
    return replace(presence, usual=votes[0] / sum(votes))


@dataclass(frozen=True)
class LikelihoodFit:
    """A fitted crowd.

    frequency : (n_labels,) how often labels are present
    evidence : that of slots, see `passes.Belief`
    prior : what pairs are before their votes
    """

    crowd: Crowd
    counts: CoinCounts
    frequency: Floats
    evidence: Floats
    prior: Prior
    monitor: Monitor


@dataclass(frozen=True)
class Ascent:
    """Where the ascent stands after some rounds: all that a further round needs, and all that the fit is.

    crowd, counts, presence, belief : of the last round; belief is None before the first
    present, label_present, entropy, change : what the votes made of that belief, see `rounds.Step`
    history, reported : the bound in every round, and the change that was last reported
    """

    crowd: Crowd
    counts: CoinCounts
    presence: Presence
    belief: Belief | None
    present: Annotated[Floats, Each("slot")]
    label_present: Annotated[Floats, Each("label")]
    entropy: float
    change: float
    history: tuple[float, ...]
    reported: float


def start_ascent(first: Start, crowd: Crowd, belief: Belief | None) -> Ascent:
    """Before the first round."""
    counts, usual = counts_of(first.present, first.slot_votes), PRESENCE_START[0] / sum(PRESENCE_START)
    presence = Presence(first.label_present, np.maximum(first.asked - first.label_present, 0.0), usual)
    return Ascent(crowd, counts, presence, belief, first.present, first.label_present, 0.0, np.inf, (), np.inf)


def counts_of(present: Floats, slot_votes: Floats) -> CoinCounts:
    """Counts from the (n_slots,) expected votes that met a present label, and all votes."""
    return CoinCounts(Counts.of_slots(present), Counts.of_slots(slot_votes - present))


def checkable(engine: Engine) -> float:
    """How far votes can be checked by each other: 0 if no pair has a second vote, 1 from one per pair on.

    The truth about a pair checks its votes as another vote does.
    """
    return min(1.0, (engine.n_votes - engine.n_pairs + engine.n_known) / max(engine.n_pairs, 1))


def fit_likelihood(
    engine: Engine, crowd: Crowd, *, max_iter: int, tol: float, start: Belief | None = None
) -> LikelihoodFit:
    """Coordinate ascent: groups of workers, rates, presence of labels, in turn, until no probability moves.

    A single vote fits "present and told" as well as "absent and invented": as far as votes cannot be checked, workers
    and labels are judged by the votes as they are given, or the ascent drifts to labels that are all absent.
    """
    coins, checked = engine.coins, checkable(engine)
    first = engine.total(first_look, start)
    given = first if start is None or checked == 1 else engine.total(first_look, None)
    at = engine.recall("fit", Ascent) or start_ascent(first, crowd, start)
    monitor = Monitor(tol, max_iter, at.history, at.reported)
    for number in monitor.rounds():
        counts = counts_of(checked * at.present + (1 - checked) * given.present, first.slot_votes)
        label_present = checked * at.label_present + (1 - checked) * given.label_present
        presence = Presence(label_present, np.maximum(first.asked - label_present, 0.0), at.presence.usual)
        thorough = number % THOROUGH == 0
        crowd, explained = update_members(at.crowd, coins, counts, thorough=thorough)
        monitor.report(explained + presence.bound() + checked * at.entropy, at.change)
        crowd = update_rates(crowd, coins, counts, strengths=thorough)
        presence = update_presence(presence)
        belief = Belief(slot_evidence(crowd, coins, counts), presence.log_odds)
        step = engine.total(one_round, belief, at.belief)
        at = Ascent(
            crowd,
            counts,
            presence,
            belief,
            step.present,
            step.label_present,
            entropy_of(step, belief.evidence),
            change=float(np.sqrt(step.squares / max(engine.n_pairs, 1))),
            history=tuple(monitor.history),
            reported=monitor.change,
        )
        engine.keep("fit", at)
    return as_fit(at, monitor)


def as_fit(at: Ascent, monitor: Monitor | None = None) -> LikelihoodFit:
    """Where the ascent stands, as if it had ended."""
    assert at.belief is not None  # for the type checker: there was a round, or a belief to start from
    monitor = monitor or Monitor(tol=0.0, max_iter=1)
    prior = LabelPrior(at.belief.log_odds)
    return LikelihoodFit(at.crowd, at.counts, at.presence.mean, at.belief.evidence, prior, monitor)
