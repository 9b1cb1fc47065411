"""The decomposition of the paper as a probability model: worker = commonality of the group + individuality.

A worker says yes to a present label with a hit rate and to an absent one with a false-alarm rate, for each label. What
groups and workers are is in `crowd` and `rates`, how often labels are present in `frequency`.

The rates themselves are integrated out, so that what remains of a worker in a group is a beta-binomial. Groups of
workers, presence of labels and all parameters are found by coordinate ascent on one lower bound of the log-posterior:
no step of it can lower the bound (docs/method.md, section 2). It takes the place of eq5 and its updates eq15 to eq23. A
round is one pass over the votes and a few over the coins times groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from amcc.arrays import Floats
from amcc.consensus.default.crowd import (
    CoinCounts,
    Crowd,
    CrowdPrior,
    counts_of,
    same_strengths,
    slot_evidence,
    update_members,
    update_rates,
    update_strengths,
)
from amcc.consensus.default.frequency import LabelFrequency, update_usual
from amcc.consensus.monitor import Monitor
from amcc.consensus.rounds import LabelPrior, Prior, Start, entropy_of, first_look, one_round
from amcc.engine.base import Engine
from amcc.engine.shards import Shards
from amcc.fields import Each
from amcc.passes import Belief

# In every third round all groups are tried for all workers: they move slowly.
THOROUGH = 3

# Strengths cost most: they are tried every third round while they move. After a try that changed none, the next one
# waits for twice as many rounds as the last.
STRENGTHS_WAIT = 3

# How surely pairs are present at the start, by the log-odds of their shares of yes. With the shares as they are, one
# worker who answers at random decides what is present wherever labels are rare: their yes beside two noes would count
# as a third of a present label, and all others would look as if they missed it. At 2 or 4.5 hardly anything changes.
START_SHARPNESS = 3.0


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

    Arrays over workers, coins and slots are kept by the shards.

    crowd, counts, frequency, belief : of the last round; belief is None before the first
    present, label_present, entropy, change : what the votes made of that belief, see `rounds.Step`
    history, reported : the bound in every round, and the change that was last reported
    strengths_at, strengths_wait : the round in which strengths are tried next, and how long that was put off
    """

    crowd: Crowd
    counts: CoinCounts
    frequency: LabelFrequency
    belief: Belief | None
    present: Annotated[Floats, Each("slot")]
    label_present: Annotated[Floats, Each("label")]
    entropy: float
    change: float
    history: tuple[float, ...]
    reported: float
    strengths_at: int = 0
    strengths_wait: int = STRENGTHS_WAIT


def start_ascent(shards: Shards, first: Start, crowd: Crowd, belief: Belief | None, prior: CrowdPrior) -> Ascent:
    """Before the first round. The entropy is left out of the first bound: it lies below the true one, never above."""
    counts = shards.over(counts_of, crowd.weight, 1.0, first.present, first.present, first.slot_votes)
    usual, lent = prior.settings.usual_yes, prior.settings.pseudo_votes
    frequency = LabelFrequency(first.label_present, _rest(first.asked, first.label_present), usual, lent)
    return Ascent(crowd, counts, frequency, belief, first.present, first.label_present, 0.0, np.inf, (), np.inf)


def _mixed(weight: float, first: Floats, second: Floats) -> Floats:
    return weight * first + (1 - weight) * second


def _rest(total: Floats, part: Floats) -> Floats:
    """What is left of expected counts; rounding must not make it negative."""
    return np.maximum(total - part, 0.0)


def checkable(first: Start) -> float:
    """How far votes can be checked by each other: the share of pairs with a second vote, or with known truth.

    Pairs and not votes are counted: where questions are chosen, doubtful pairs have many votes and most have one.
    """
    return first.n_checked / max(float(first.asked.sum()), 1.0)


def fit_likelihood(
    engine: Engine,
    crowd: Crowd,
    prior: CrowdPrior,
    *,
    max_iter: int,
    tol: float,
    start: Belief | None = None,
    sharpness: float | None = START_SHARPNESS,
) -> LikelihoodFit:
    """Coordinate ascent: groups of workers, rates, presence of labels, in turn, until no probability moves.

    A single vote fits "present and told" as well as "absent and invented": as far as votes cannot be checked, workers
    and labels are judged by the votes as they are given, or the ascent drifts to labels that are all absent. A fixed
    mixture of both is still the bound of a model (some votes have a known cause), so it rises all the same.

    crowd : where it starts; start : what is believed of the votes, where their shares of yes are not the best there is
    sharpness : see `START_SHARPNESS`; None for the shares as they are
    """
    shards = engine.shards()
    start = shards.cut(start)
    first = shards.votes(first_look, start, sharpness)
    checked = checkable(first)
    # What the votes alone say is needed only where some of it stays: one more pass over all votes.
    given = first if start is None or checked == 1 else shards.votes(first_look, None, sharpness)
    before = engine.recall("fit", Ascent)
    at = start_ascent(shards, first, shards.cut(crowd), start, prior) if before is None else shards.cut(before)
    monitor = Monitor(tol, max_iter, at.history, at.reported)

    def grouped(at: Ascent, number: int) -> tuple[Ascent, float]:
        """With the counts that follow from its votes, and workers in the groups that explain them; its bound."""
        counts = shards.over(counts_of, at.crowd.weight, checked, at.present, given.present, first.slot_votes)
        label_present = _mixed(checked, at.label_present, given.label_present)
        frequency = replace(at.frequency, present=label_present, absent=_rest(first.asked, label_present))
        crowd, explained = update_members(at.crowd, shards, counts, thorough=number % THOROUGH == 0)
        # The bound of what the last round left: after it the parameters move, and each term would need another pass.
        bound = explained + at.crowd.log_prior(prior) + frequency.bound(prior.settings) + checked * at.entropy
        return replace(at, crowd=crowd, counts=counts, frequency=frequency), bound

    for number in monitor.rounds():
        now, bound = grouped(at, number)
        monitor.report(bound, now.change)
        now = _next_rates(shards, now, prior, number)
        now = replace(now, frequency=update_usual(now.frequency, prior.settings))
        now = _next_belief(engine, shards, now)
        at = replace(now, history=tuple(monitor.history), reported=monitor.change)
        engine.keep("fit", at, shards.gathered)  # a fit that is stopped here goes on from here
    at = shards.gathered(at)
    assert at.belief is not None  # for the type checker: there was a round
    return LikelihoodFit(
        at.crowd, at.counts, at.frequency.mean, at.belief.evidence, LabelPrior(at.belief.log_odds), monitor
    )


def _next_rates(shards: Shards, at: Ascent, prior: CrowdPrior, number: int) -> Ascent:
    """Rates of groups, by what votes count for; their strengths first, for votes depend on them."""
    if number >= at.strengths_at:
        crowd = update_strengths(at.crowd, prior, shards, at.counts)
        wait = 2 * at.strengths_wait if same_strengths(crowd, at.crowd) else STRENGTHS_WAIT
        at = replace(at, crowd=crowd, strengths_at=number + wait, strengths_wait=wait)
    return replace(at, crowd=update_rates(at.crowd, prior, shards, at.counts))


def _next_belief(engine: Engine, shards: Shards, at: Ascent) -> Ascent:
    """What is believed of votes and labels, and what the votes make of it.

    Given workers and frequencies, presence of pairs is Bayes' rule: the exact maximum of the bound.
    """
    belief = Belief(shards.over(slot_evidence, at.crowd, at.counts), at.frequency.log_odds)
    step = shards.votes(one_round, belief, at.belief)
    return replace(
        at,
        belief=belief,
        present=step.present,
        label_present=step.label_present,
        entropy=entropy_of(step),
        # Root mean square, not the largest: a pair that swings between two readings must not keep the others going.
        change=float(np.sqrt(step.squares / max(engine.n_pairs, 1))),
    )
