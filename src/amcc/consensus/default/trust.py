"""How far votes allow what the model supposes: two questions, answered by predicting votes from the other votes.

1. *Are votes independent given presence?* Where items are faint or tempting, where people share a taste or language
   models share training data, they are not. If they are, two kinds of pairs, present and absent, predict a vote from
   the others better than `N_DEGREES` kinds do, since more kinds only add noise (`kinds_predict`). A crowd that shares a
   taste looks independent until there are enough votes, so the answer is believed only as far as there are many.
2. *Do the other labels of an item help to predict?* (`labels_predict`) Believed only as far as there are many items.

A gain is a sum over thousands of votes that depend on each other, so its size says little. It is divided by its
standard error, where the votes on one item are one observation (`clustered_z`). An answer moves from 0 to 1 as a
logistic function of it: what the data cannot rule out keeps its share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amcc.arrays import AnyInts, Codes, Floats, Ints, clipped, distinct, sigmoid, weight_per_code
from amcc.consensus.default.bayes import best_of_three, log_evidence, posterior
from amcc.consensus.default.coins import Counts, Usual
from amcc.consensus.default.correlation import LabelSets, learn_label_sets
from amcc.consensus.default.degrees import (
    GRID,
    N_DEGREES,
    THOROUGH,
    expected_log_rates,
    updated_rate,
    updated_share,
    updated_strength,
)
from amcc.consensus.default.likelihood import LikelihoodFit
from amcc.consensus.default.settings import Settings
from amcc.engine.base import Engine, gather
from amcc.special import logit
from amcc.sums import sum_at, sum_by, sum_per_code
from amcc.votes import Votes

# Votes that suffice to answer the questions; with five times as many, no answer changes.
SAMPLE = 100_000

# Standard errors from which on other labels count as helpful, half of the way. More than two, because with few items
# the error itself is not well known.
LABELS_HELP_Z = 3.0

# Strengths of coins need some rounds; beyond these the answer does not change.
KIND_ROUNDS = 20

# No vote counts as less probable than this: one slip must not decide a sum over thousands.
LEAST_PROBABLE = 1e-4

# No worker's rate at a kind is nearer to 0 or 1, before their votes on a label: pseudo-votes must be above 0.
NEAREST_RATE = 1e-3

# No label is certain, or impossible, by the other labels of an item: log-odds must be finite.
NEAREST_PRIOR = 1e-9


@dataclass(frozen=True)
class Trust:
    """How far the model's suppositions are believed, from 0 to 1.

    independence : that votes are independent given presence, so that coins need no softening
    correlation : that labels of an item inform each other
    """

    independence: float = 0.0
    correlation: float = 0.0

    def __post_init__(self) -> None:
        for name, answer in vars(self).items():  # they may come from a file
            if isinstance(answer, bool) or not isinstance(answer, int | float) or not 0 <= answer <= 1:
                raise ValueError(f"must hold numbers from 0 to 1; {name} is {answer!r}")


def ask_votes(
    engine: Engine, lot: Floats, fit: LikelihoodFit, fit_again: Callable[[Votes], LikelihoodFit], settings: Settings
) -> Trust:
    """Ask both questions; no trust where no pair has a second vote, so that nothing can be predicted from others.

    lot : (n_items,) chance by item, to draw a sample of large data, to which `fit_again` fits.
    """
    if engine.n_votes == engine.n_pairs:  # every pair that is there has a vote, so no pair has two
        return Trust()
    items = np.flatnonzero(lot < SAMPLE / max(engine.n_votes, 1))
    if not len(items):  # few items with very many votes each
        items = np.arange(engine.n_items)
    votes = gather(engine, items)
    if len(items) < engine.n_items:
        # Fitted to the sample alone: coins that knew all votes would predict better than kinds that know a part.
        fit = fit_again(votes)
    coins = leave_votes_out(votes, fit)
    two_coins = log_probability(votes, coins.predict(coins.others))
    kinds = log_probability(votes, kinds_predict(votes, fit.crowd.looks, coins.by_chance, settings))
    sets = learn_label_sets(votes, fit, lot[items], settings)
    labels = log_probability(votes, labels_predict(votes, fit, sets, coins))
    # An item that nobody answered must not change the others.
    n_answered = engine.n_items * np.count_nonzero(np.bincount(votes.item)) / len(items)
    independent = gate(clustered_z(two_coins - kinds, votes.item), settings.independent_z)
    correlated = gate(clustered_z(labels - two_coins, votes.item), LABELS_HELP_Z)
    return Trust(
        independent * engine.n_votes / (engine.n_votes + settings.independent_votes),
        correlated * n_answered / (n_answered + settings.correlated_items),
    )


def gate(z: float, middle: float) -> float:
    """A weight that moves from 0 to 1 as z, a gain over its standard error, passes `middle`, where it is one half.

    >>> round(gate(3.0, 2.0), 2)
    0.73
    """
    return float(sigmoid(np.array(z - middle)))


def clustered_z(gain: Floats, item: AnyInts) -> float:
    """Sum of the (n_votes,) gains over its standard error, where the votes on one item are one observation.

    >>> round(clustered_z(np.array([1.0, 1.0, 1.0, 0.0]), np.array([0, 0, 1, 1])), 3)  # items gain 2 and 1: 3 / √½
    4.243
    """
    # Votes on one item share what is special about it: as single observations they would make any gain look certain.
    of_item = weight_per_code(item, gain, int(item.max(initial=-1)) + 1)[np.bincount(item) > 0]
    error = float(np.sqrt(((of_item - of_item.mean()) ** 2).sum())) if len(of_item) else 0.0
    return float(of_item.sum()) / error if error > 0 else 0.0


def pair_of_vote(votes: Votes) -> Ints:
    """(n_votes,) the pair of each vote."""
    return np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)


def log_probability(votes: Votes, yes: Floats) -> Floats:
    """(n_votes,) log-probability of what was said, from that of yes."""
    said_yes = votes.value > 0
    return np.asarray(np.log(np.clip(np.where(said_yes, yes, 1 - yes), LEAST_PROBABLE, 1.0)))


# -- two coins ---------------------------------------------------------------------------------------------------------


class LeftOut(NamedTuple):
    """What two coins know of each vote's pair and coin, by all votes but this one: (n_votes,) each.

    others : probability that the label is present
    hit, false_alarm : rates, times the probability that the worker looks
    by_chance : probability that the worker does not look and says yes
    """

    others: Floats
    hit: Floats
    false_alarm: Floats
    by_chance: Floats

    def predict(self, present: Floats) -> Floats:
        """(n_votes,) probability of yes, if the label is present with this probability."""
        return present * self.hit + (1 - present) * self.false_alarm + self.by_chance


def leave_votes_out(votes: Votes, fit: LikelihoodFit) -> LeftOut:
    """Take each vote out of what the fit learned from it."""
    said, pair = fit.evidence[votes.coins.slot], pair_of_vote(votes)
    log_odds = (logit(fit.frequency)[votes.pairs.label] + weight_per_code(pair, said, len(votes.pairs)))[pair]
    present, crowd, counts = sigmoid(log_odds), fit.crowd, fit.counts
    own = crowd.weight[votes.worker]
    return LeftOut(
        sigmoid(log_odds - said),
        _rate_without(votes, counts.present, crowd.hit.pseudo_votes, crowd.looking_member, own * present),
        _rate_without(votes, counts.absent, crowd.false_alarm.pseudo_votes, crowd.looking_member, own * (1 - present)),
        _rate_without(votes, counts.total, crowd.uninformative.pseudo_votes, crowd.uninformative_member, own),
    )


def _rate_without(votes: Votes, counts: Counts, usual: Usual, member: Floats, weight: Floats) -> Floats:
    """(n_votes,) expected rate of each vote's coin, if the counts held `weight` less of this vote."""
    coin = votes.coins.slot >> 1
    worker, label, is_yes = votes.coins.worker[coin], votes.coins.label[coin], votes.value > 0
    yes = np.maximum(counts.yes[coin] - weight * is_yes, 0.0)
    no = np.maximum(counts.no[coin] - weight * ~is_yes, 0.0)
    rate = np.zeros(len(votes))
    for group, share in enumerate(member.T):
        all_yes, all_no = usual.yes[group][label] + yes, usual.no[group][label] + no
        rate += share[worker] * all_yes / (all_yes + all_no)
    return rate


# -- kinds of pairs ----------------------------------------------------------------------------------------------------


def kinds_predict(votes: Votes, looks: Floats, by_chance: Floats, settings: Settings) -> Floats:
    """(n_votes,) probability of yes, by kinds of pairs, to each of which every coin says yes at a rate of its own.

        kind of (i, l) ~ share[l];   rate of coin (w, l) at kind k ~ Beta around the worker's rate at k on other labels
        rate of w at k ~ Beta around the usual rate of k;   votes are independent given the kind

    These are the degrees of `degrees` with rates by label, which would cost too much for all votes. Without such rates,
    crowds whose workers know some labels better than others would look dependent.
    """
    coins, label, pair = votes.coins, votes.pairs.label, pair_of_vote(votes)
    now = _start_kinds(votes, looks, settings)
    for number in range(KIND_ROUNDS):
        now = _next_kinds(now, votes, looks, settings, number)
    log_member = np.log(now.share)[:, label] + _said(votes, now.evidence)
    member, coin, is_yes = posterior(log_member)[0], coins.slot >> 1, votes.value > 0
    rate, by_others = np.zeros(len(votes)), log_member.take(pair, axis=1)
    by_others -= now.evidence.take(coins.slot, axis=1)
    for number, kind in enumerate(posterior(by_others)[0]):
        mine = member[number].take(pair)
        # The vote is taken out of its coin's counts as far as it was of each kind; what was lent stays.
        lent_yes, lent_no = now.lent_yes[number].take(coin), now.lent_no[number].take(coin)
        all_yes = lent_yes + np.maximum(now.yes[number].take(coin) - mine * is_yes, 0.0)
        all_no = lent_no + np.maximum(now.no[number].take(coin) - mine * ~is_yes, 0.0)
        rate += kind * all_yes / (all_yes + all_no)
    return np.asarray(looks[coins.worker[coin]] * rate + by_chance)


class _KindRates(NamedTuple):
    """(n_kinds,) usual rates of yes; pseudo-votes lent to workers (n_kinds,), and to coins (1,).

    The strengths are learned: coins that are freer than the data ask for would predict too well from themselves.
    """

    usual: Floats
    to_worker: Floats
    to_coin: Floats

    def lent(self, other_no: Floats, other_yes: Floats) -> tuple[Floats, Floats]:
        """(n_kinds, n_coins) pseudo-votes, no and yes, that a worker's votes on other labels lend to each coin.

        Their mean is the worker's rate there. They weigh as much as the worker's votes there and the crowd's together,
        but never more than `to_coin`: workers differ from label to label.
        """
        to_worker, usual = self.to_worker[:, None], self.usual[:, None]
        weight = to_worker + other_no + other_yes
        mean = clipped((to_worker * usual + other_yes) / weight, NEAREST_RATE, 1 - NEAREST_RATE)
        strength = 1 / (1 / weight + 1 / self.to_coin)  # two sources of scatter in a row: their variances add up
        return strength * (1 - mean), strength * mean


class _Kinds(NamedTuple):
    """Where the kinds stand after a round.

    evidence : (n_kinds, 2 · n_coins) log-probability of a no and a yes of each coin; share : (n_kinds, n_labels)
    no, yes, lent_no, lent_yes : (n_kinds, n_coins) expected votes and pseudo-votes
    """

    rates: _KindRates
    evidence: Floats
    share: Floats
    no: Floats
    yes: Floats
    lent_no: Floats
    lent_yes: Floats


def _start_kinds(votes: Votes, looks: Floats, settings: Settings) -> _Kinds:
    """All coins like the grid of `degrees`, all labels alike; nothing was counted."""
    lent, looking = settings.pseudo_votes, looks[votes.coins.worker]
    evidence = _by_slot(*(np.log(rate)[:, None] * looking for rate in (1 - GRID, GRID)))
    nothing = np.empty((N_DEGREES, 0))
    rates = _KindRates(GRID, np.full(N_DEGREES, lent), np.full(1, lent))
    return _Kinds(rates, evidence, np.full((N_DEGREES, votes.n_labels), 1 / N_DEGREES), *(nothing,) * 4)


def _by_slot(no: Floats, yes: Floats) -> Floats:
    """(n_kinds, 2 · n_coins) from (n_kinds, n_coins) of a no and of a yes."""
    return np.stack([no, yes], axis=2).reshape(len(no), -1)


def _said(votes: Votes, evidence: Floats) -> Floats:
    """(n_kinds, n_pairs) log-probability of the votes on each pair."""
    return sum_at(votes.pairs.start, votes.coins.slot, evidence)


def _next_kinds(now: _Kinds, votes: Votes, looks: Floats, settings: Settings, number: int) -> _Kinds:
    """One round: kinds of pairs, votes that this makes, rates of the crowd, of workers and of coins."""
    coins, rates = votes.coins, now.rates
    weight, looking = looks[:, None], looks[coins.worker]
    member, _ = posterior(np.log(now.share).take(votes.pairs.label, axis=1) + _said(votes, now.evidence))
    counts = sum_by(votes.pairs.start, coins.slot, member, 2 * len(coins))
    both = counts[:, 0::2], counts[:, 1::2]
    of_worker = [sum_per_code(coins.worker, each, votes.n_workers) for each in both]
    no, yes, worker_no, worker_yes = *both, of_worker[0].T, of_worker[1].T
    usual = updated_rate(rates.usual, rates.to_worker, worker_yes, worker_no, weight, settings)
    rates = rates._replace(usual=usual)
    other_no, other_yes = (all_of.take(coins.worker, axis=1) - own for all_of, own in zip(of_worker, both, strict=True))
    # The two strengths in different rounds: each is chosen while the other stands still.
    if number % THOROUGH == 0:
        strength = updated_strength(rates.to_worker, rates.usual, worker_yes, worker_no, weight)
        rates = rates._replace(to_worker=strength)
    elif number % THOROUGH == THOROUGH - 1:
        rates = _coin_strength(rates, other_no, other_yes, no, yes, looking)
    lent_no, lent_yes = rates.lent(other_no, other_yes)
    evidence = _by_slot(*(looking * each for each in expected_log_rates(lent_yes + yes, lent_no + no)))
    _, share = updated_share(sum_per_code(votes.pairs.label, member, votes.n_labels).T, settings)
    return _Kinds(rates, evidence, share.T, no, yes, lent_no, lent_yes)


def _coin_strength(
    rates: _KindRates, other_no: Floats, other_yes: Floats, no: Floats, yes: Floats, looking: Floats
) -> _KindRates:
    """What workers lend to their coins: as now, half or double, whichever explains the coins best."""

    def value(tried: Floats) -> Floats:
        lent = (rates._replace(to_coin=each).lent(other_no, other_yes) for each in tried)
        return np.array([[(looking * log_evidence(lent_yes, lent_no, yes, no)).sum()] for lent_no, lent_yes in lent])

    return rates._replace(to_coin=best_of_three(rates.to_coin, value))


# -- labels that inform each other -------------------------------------------------------------------------------------


def labels_predict(votes: Votes, fit: LikelihoodFit, sets: LabelSets, coins: LeftOut) -> Floats:
    """(n_votes,) probability of yes, by two coins and the other labels of the item.

    A vote is predicted without all that its worker said about the item: workers who tick whatever comes with what they
    ticked before would otherwise look like labels that come together.
    """
    said, pair, label = fit.evidence[votes.coins.slot], pair_of_vote(votes), votes.label
    on_pair = weight_per_code(pair, said, len(votes.pairs))
    key = votes.item.astype(np.int64) * votes.n_workers + votes.worker
    answers, answer = distinct(key, votes.n_items * votes.n_workers)
    with_all, others = _agreement(on_pair, votes.pairs.label, sets), on_pair[pair] - said
    with_others = _agreement(others, label, sets)
    of_item = np.log(sets.share)[:, None] + sum_per_code(votes.pairs.item, with_all, votes.n_items)
    without_answer = of_item.take(answers // votes.n_workers, axis=1)
    without_answer += sum_per_code(answer, with_others - with_all.take(pair, axis=1), len(answers))
    # What the others said about the pair itself counts once, as evidence: here it is taken out of the item's kinds.
    kinds = without_answer.take(answer, axis=1)
    kinds -= with_others
    kinds, _ = posterior(kinds)
    kinds *= sets.frequency.take(label, axis=1)
    prior = np.clip(kinds.sum(axis=0), NEAREST_PRIOR, 1 - NEAREST_PRIOR)
    return coins.predict(sigmoid(logit(prior) + others))


def _agreement(log_odds: Floats, label: Codes, sets: LabelSets) -> Floats:
    """(n_kinds, n) log-probability of what votes say about pairs, if their item were of each kind."""
    say = sigmoid(log_odds)
    agrees = sets.frequency.take(label, axis=1)
    agrees *= say - (1 - say)
    agrees += 1 - say
    return np.asarray(np.log(agrees, out=agrees))
