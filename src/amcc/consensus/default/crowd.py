"""What is believed about workers: groups, who belongs to them, and what a vote of each worker is worth.

Workers of most groups look at the items and have two rates, of hits and of false alarms. Some groups are
*uninformative*: they have one rate, whatever is there, so that votes of their workers say nothing. Spammers who always
tick the same and spammers who tick at random scatter differently: there is an uninformative group for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import cycle
from typing import Annotated, NamedTuple

import numpy as np

from amcc.arrays import Floats, Ints
from amcc.consensus.default.bayes import posterior
from amcc.consensus.default.coins import (
    Counts,
    Explained,
    Usual,
    effective_votes,
    expected_log_rates,
    group_fit,
    mean_rates,
)
from amcc.consensus.default.rates import (
    CROWD_SPREAD,
    NO_INDIVIDUALITY,
    RatePrior,
    Rates,
    improved_strengths,
    start_rates,
    update_group_rates,
)
from amcc.consensus.default.settings import Settings
from amcc.engine.shards import Shards
from amcc.fields import Each
from amcc.loops import LEAST_MEMBERSHIP
from amcc.special import logit
from amcc.votes import Coins

# Log-odds from the usual rates at which the best and the worst group start, the others evenly between. A start only:
# groups that start alike stay alike, and groups that start far apart catch nobody.
START_APART = 1.0

# A group lends more votes to false-alarm rates at the start: to tell a rate of one in twenty from one in ten takes
# more votes than to tell seven in ten from six. With as few as for hits, log-loss on real sets rises by .003.
FALSE_ALARM_FACTOR = 4.0

# Strengths at which uninformative groups start, against the usual one: workers who always tick the same do not resemble
# each other (lent less than one vote), those who tick at random do.
UNINFORMATIVE_STARTS = (1 / 8, 8.0)

# Groups, and labels of a worker above which there are twice as many. Where labels are many, a worker has few votes on
# each, and how good they are on the others is known to the model only by their group. With three groups of those who
# look, the default was up to .05 below majority on crowds of 50 labels and more; with ten groups it is .02 to .03
# above. On real sets, whose workers mostly have fewer labels, eight or twelve are as good as five and take longer
# (docs/method.md, section 2).
USUAL_GROUPS, MORE_GROUPS, MANY_LABELS = 5, 10, 30


# Votes by which a worker is half taken for what they seem to be. Who contradicts a crowd that shares a taste looks as
# if they did not look at the items; without this, small sets of such crowds are .003 worse in log-loss.
FEW_VOTES = 10

# How much false-alarm rates of labels differ, against hit rates: less, because false alarms are few and there is less
# to tell labels apart by. At double, small sets suffer.
FALSE_ALARM_SPREAD = 4 / 7


class CrowdPrior(NamedTuple):
    """What is believed of each kind of rate before any vote."""

    hit: RatePrior
    false_alarm: RatePrior
    uninformative: RatePrior
    settings: Settings


def crowd_prior(settings: Settings, *, individuality: bool = True) -> CrowdPrior:
    """The prior by the settings; without `individuality`, workers of a group do exactly as the group does."""

    def prior(usual: float, strength: float, label_spread: float) -> RatePrior:
        return RatePrior(float(logit(usual)), strength if individuality else NO_INDIVIDUALITY, label_spread)

    return CrowdPrior(
        prior(settings.usual_hit, settings.pseudo_votes, settings.label_spread),
        prior(
            settings.usual_false_alarm,
            FALSE_ALARM_FACTOR * settings.pseudo_votes,
            FALSE_ALARM_SPREAD * settings.label_spread,
        ),
        # Who does not look differs from label to label as freely as crowds differ: nothing is read from such labels.
        prior(settings.usual_yes, settings.pseudo_votes, CROWD_SPREAD),
        settings,
    )


@dataclass(frozen=True)
class Crowd:
    """What is believed about workers.

    hit, false_alarm : Rates of the two kinds, of the groups who look.
    uninformative : Rates of the groups who do not.
    member : (n_workers, n_groups) probability that a worker belongs to each group; the uninformative come last.
    share : (n_groups,) share of workers in each group.
    weight : (n_workers,) how much a vote of each worker teaches, below 1 where others repeat it.
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
    def looks(self) -> Floats:
        """(n_workers,) probability that a worker looks at the items at all."""
        return np.asarray(self.looking_member.sum(axis=1))

    def attentive(self, n_votes: Floats) -> Floats:
        """(n_workers,) the same as far as so many votes of each can show it: nobody is written off on a handful."""
        return np.asarray(1 - (1 - self.looks) * n_votes / (n_votes + FEW_VOTES))

    @property
    def commonality(self) -> Floats:
        """(2, n_groups, n_labels) usual hit and false-alarm rates of all groups: equal where nobody looks."""
        always = self.uninformative.commonality
        return np.stack([np.concatenate([rates.commonality, always]) for rates in (self.hit, self.false_alarm)])

    @property
    def rates(self) -> tuple[Rates, Rates, Rates]:
        """All kinds of them."""
        return self.hit, self.false_alarm, self.uninformative

    def with_rates(self, rates: Sequence[Rates]) -> Crowd:
        """The same workers with other rates."""
        hit, false_alarm, uninformative = rates
        return Crowd(hit, false_alarm, uninformative, self.member, self.share, self.weight)

    def explains(self, counts: CoinCounts) -> list[Explained]:
        """The votes that each kind of rate explains."""
        looking = self.looking_member
        return [
            Explained(counts.present, self.hit.pseudo_votes, looking),
            Explained(counts.absent, self.false_alarm.pseudo_votes, looking),
            Explained(counts.total, self.uninformative.pseudo_votes, self.uninformative_member),
        ]

    def log_prior(self, prior: CrowdPrior) -> float:
        """Log-density of all parameters; one pseudo-worker per group, so that none dies."""
        kinds = zip(self.rates, prior[:3], strict=True)
        return float(np.log(self.share).sum()) + sum(rates.log_prior(of_kind) for rates, of_kind in kinds)


def usual_groups(coins: Coins) -> int:
    """How many groups there are, unless the user says: more where workers answer on many labels.

    A crowd may have a few workers of very many labels beside its passers-by, and most votes are those of the former: so
    labels are counted by coin, not by worker.
    """
    labels_of_worker = np.bincount(coins.worker)
    n_labels = float((labels_of_worker**2).sum()) / max(len(coins), 1)
    return USUAL_GROUPS if n_labels <= MANY_LABELS else MORE_GROUPS


def start_crowd(n_workers: int, n_labels: int, n_groups: int, prior: CrowdPrior, weight: Floats | None = None) -> Crowd:
    """Groups from reliable (many hits, few false alarms) to sloppy, then up to two uninformative ones.

    Every worker belongs to all of them equally: the votes will tell. At least half of the groups look.
    """
    n_uninformative = min(n_groups // 2, len(UNINFORMATIVE_STARTS))
    apart = START_APART * np.linspace(1.0, -1.0, n_groups - n_uninformative) if n_groups > 1 else np.zeros(1)
    uninformative = start_rates(prior.uninformative, n_labels, np.zeros(n_uninformative))
    if prior.uninformative.strength != NO_INDIVIDUALITY:
        factors = np.array(UNINFORMATIVE_STARTS[:n_uninformative])
        uninformative = replace(uninformative, strength=factors * uninformative.strength)
    return Crowd(
        start_rates(prior.hit, n_labels, apart),
        start_rates(prior.false_alarm, n_labels, -apart),
        uninformative,
        np.full((n_workers, n_groups), 1 / n_groups),
        np.full(n_groups, 1 / n_groups),
        np.ones(n_workers) if weight is None else weight,
    )


def known_to(crowd: Crowd, worker: Ints, label: Ints) -> Crowd:
    """The crowd for other votes: their workers and labels have these codes in it (−1: new, so as usual)."""

    def relabelled(rates: Rates) -> Rates:
        return replace(rates, label=np.where(label >= 0, rates.label[label], rates.centre))

    # A new worker is anybody of the crowd: every group with its share.
    member = np.where(worker[:, None] >= 0, crowd.member[worker], crowd.share / crowd.share.sum())
    return Crowd(
        relabelled(crowd.hit),
        relabelled(crowd.false_alarm),
        relabelled(crowd.uninformative),
        member,
        crowd.share,
        np.where(worker >= 0, crowd.weight[worker], 1.0),
    )


@dataclass(frozen=True)
class CoinCounts:
    """Expected votes of coins on present and on absent labels.

    Expected, since nobody knows which labels are present: a yes on a pair that is present with probability 0.3 is 0.3
    of a hit and 0.7 of a false alarm.
    """

    present: Counts
    absent: Counts

    @classmethod
    def of_slots(cls, present: Floats, votes: Floats) -> CoinCounts:
        """From the (n_slots,) expected votes that met a present label, and all votes."""
        return cls(Counts.of_slots(present), Counts.of_slots(votes - present))

    @cached_property
    def total(self) -> Counts:
        """Votes of coins, whatever they were on."""
        return Counts(self.present.yes + self.absent.yes, self.present.no + self.absent.no)


def counts_of(coins: Coins, weight: Floats, share: float, present: Floats, given: Floats, votes: Floats) -> CoinCounts:
    """Expected votes of coins, mixed: to this share by what is believed of presence, else as the votes were given.

    A vote teaches as much as it counts, by the (n_workers,) weight: else the bound would be that of no model.
    """
    of_slot = np.repeat(weight[coins.worker], 2)
    return CoinCounts.of_slots(of_slot * (share * present + (1 - share) * given), of_slot * votes)


class Members(NamedTuple):
    """Who belongs where, of some workers.

    member : (n_workers, n_groups) probability of each group
    explained : (n_workers,) log-probability of their votes
    """

    member: Floats
    explained: Floats


def find_members(coins: Coins, crowd: Crowd, counts: CoinCounts, thorough: bool) -> Members:
    """Put every worker into the groups that explain them, in proportion: Bayes' rule, the exact maximum.

    Unless `thorough`, groups that a worker does not belong to are not tried again.
    """
    # Where nobody belongs the fit is not computed: a zero there would mean "explains everything", so it becomes −∞.
    tried = replace(crowd, member=np.ones_like(crowd.member)) if thorough else crowd
    hits, false_alarms, uninformative = group_fit(coins, tried.explains(counts))
    log_member = np.concatenate([hits + false_alarms, uninformative], axis=1) + np.log(crowd.share)
    log_member[tried.member < LEAST_MEMBERSHIP] = -np.inf
    found, explained = posterior(log_member.T)
    return Members(found.T, explained)


class MemberSums(NamedTuple):
    """Workers who voted, members of each group (n_groups,), and the log-probability of all votes."""

    n_workers: int
    member: Floats
    explained: float


def sum_members(coins: Coins, found: Members) -> MemberSums:
    """What groups need to know of some workers: of those who voted, for nobody else tells anything about groups."""
    voted = np.bincount(coins.worker, minlength=len(found.member)) > 0
    return MemberSums(int(voted.sum()), found.member[voted].sum(axis=0), float(found.explained[voted].sum()))


def update_members(crowd: Crowd, shards: Shards, counts: CoinCounts, *, thorough: bool = True) -> tuple[Crowd, float]:
    """All workers in the groups that explain them (`find_members`), and the log-probability of their votes.

    Shares are an exact maximum, too: the mean of members, with one pseudo-worker per group.
    """
    found = shards.over(find_members, crowd, counts, thorough)
    sums = shards.total(sum_members, found)
    share = (sums.member + 1) / (sums.n_workers + len(crowd.share))
    return replace(crowd, member=found.member, share=share), sums.explained


class GroupFits(NamedTuple):
    """(n_groups,) log-probability of the votes of each group's members, one kind and try after the other."""

    fit: Floats


def fit_of_groups(coins: Coins, crowd: Crowd, counts: CoinCounts, lent: Sequence[Usual]) -> GroupFits:
    """How well groups would explain their members if they lent so much: all kinds of rate, try after try."""
    kinds = [each._replace(usual=usual) for each, usual in zip(cycle(crowd.explains(counts)), lent, strict=False)]
    fits = zip(kinds, group_fit(coins, kinds), strict=True)
    return GroupFits(np.concatenate([(each.member * of_worker).sum(axis=0) for each, of_worker in fits]))


def update_strengths(crowd: Crowd, prior: CrowdPrior, shards: Shards, counts: CoinCounts) -> Crowd:
    """How alike workers of each group are, in all kinds of rate."""

    def fit(lent: Sequence[Usual]) -> list[Floats]:
        found = shards.total(fit_of_groups, crowd, counts, lent).fit
        return np.split(found, np.cumsum([len(usual.yes) for usual in lent])[:-1])

    if prior.hit.strength == NO_INDIVIDUALITY:
        return crowd
    return crowd.with_rates(improved_strengths(crowd.rates, fit))


class EffectiveSums(NamedTuple):
    """(2, n_groups, n_labels) effective votes of each kind of rate, yes and no."""

    hit: Floats
    false_alarm: Floats
    uninformative: Floats


def sum_effective(coins: Coins, crowd: Crowd, counts: CoinCounts) -> EffectiveSums:
    """What votes count for what groups have in common."""
    return EffectiveSums(*effective_votes(coins, crowd.explains(counts)))


def update_rates(crowd: Crowd, prior: CrowdPrior, shards: Shards, counts: CoinCounts) -> Crowd:
    """Commonality of all kinds of rate."""
    sums = shards.total(sum_effective, crowd, counts)
    return crowd.with_rates(update_group_rates(crowd.rates, prior[:3], sums))


def same_strengths(one: Crowd, other: Crowd) -> bool:
    """Whether all groups lend their workers as much as in the other crowd."""
    pairs = zip(one.rates, other.rates, strict=True)
    return all(np.array_equal(rates.strength, others.strength) for rates, others in pairs)


def slot_evidence(coins: Coins, crowd: Crowd, counts: CoinCounts) -> Floats:
    """(2 · n_coins,) log-odds that a no and a yes of each coin add to "present", expected over what is not known.

    The place of eq6: there the product of rates, here the sum of their expected logarithms. Votes of the uninformative
    add nothing, for their two rates are one.
    """
    # Memberships need not sum to 1: what is missing is the chance that the worker does not look, and adds nothing.
    member = crowd.looking_member * crowd.weight[:, None]
    if_present, if_absent = expected_log_rates(
        coins, [each._replace(member=member) for each in crowd.explains(counts)[:2]]
    )
    yes, no = if_present - if_absent
    return np.array([no, yes]).T.ravel()


def coin_rates(crowd: Crowd, coins: Coins, counts: CoinCounts) -> Floats:
    """(2, n_coins) expected hit and false-alarm rate."""
    looking = (crowd.hit, counts.present), (crowd.false_alarm, counts.absent)
    chance = mean_rates(coins, counts.total, crowd.uninformative.pseudo_votes, crowd.uninformative_member)
    return np.stack([chance + mean_rates(coins, each, of.pseudo_votes, crowd.looking_member) for of, each in looking])
