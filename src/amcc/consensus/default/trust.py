"""How far votes allow what the model supposes: two questions, answered by predicting votes from the other votes.

1. *Are votes independent given presence?* Where items are faint or tempting, where people share a taste or language
   models share training data, they are not. If they are, a vote is predicted best where the other votes on its pair
   count fully; if they repeat each other, where they count for less (`DISCOUNT`). A crowd that shares a taste looks
   independent until there are enough votes, so the answer is believed only as far as there are many.
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

from amcc.arrays import AnyInts, Codes, Floats, Ints, distinct, sigmoid, weight_per_code
from amcc.consensus.default.bayes import posterior
from amcc.consensus.default.coins import Counts, Usual
from amcc.consensus.default.correlation import LabelSets
from amcc.consensus.default.likelihood import LikelihoodFit
from amcc.consensus.default.settings import Settings
from amcc.engine.base import Engine, gather
from amcc.special import logit
from amcc.sums import sum_per_code
from amcc.votes import Votes

# Votes that suffice to answer the questions; with five times as many, no answer changes.
SAMPLE = 100_000

# Standard errors from which on other labels count as helpful, half of the way. More than two, because with few items
# the error itself is not well known.
LABELS_HELP_Z = 3.0

# What the other votes count for where they count for less. With a half, many real crowds say as clearly as independent
# ones that it is too little; with nine tenths, there is hardly a difference to see.
DISCOUNT = 0.75

# No vote counts as less probable than this: one slip must not decide a sum over thousands.
LEAST_PROBABLE = 1e-4

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
    engine: Engine,
    lot: Floats,
    fit: LikelihoodFit,
    sets: LabelSets,
    fit_again: Callable[[Votes], LikelihoodFit],
    settings: Settings,
) -> Trust:
    """Ask both questions; no trust where no pair has a second vote, so that nothing can be predicted from others.

    lot : (n_items,) chance by item, to draw a sample of large data, to which `fit_again` fits
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
    full = log_probability(votes, coins.predict(coins.others))
    discounted = log_probability(votes, coins.predict(coins.discounted(DISCOUNT)))
    labels = log_probability(votes, labels_predict(votes, fit, sets, coins))
    # An item that nobody answered must not change the others.
    n_answered = engine.n_items * int(np.count_nonzero(np.bincount(votes.item))) / len(items)
    independent = gate(clustered_z(full - discounted, votes.item), settings.independent_z)
    correlated = gate(clustered_z(labels - full, votes.item), LABELS_HELP_Z)
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

    others : probability that the label is present; prior : (n_votes,) its log-odds without any vote
    hit, false_alarm : rates, times the probability that the worker looks
    by_chance : probability that the worker does not look and says yes
    """

    others: Floats
    prior: Floats
    hit: Floats
    false_alarm: Floats
    by_chance: Floats

    def discounted(self, share: float) -> Floats:
        """(n_votes,) probability that the label is present, if the other votes tell this share of what they claim."""
        said = logit(np.clip(self.others, NEAREST_PRIOR, 1 - NEAREST_PRIOR)) - self.prior
        return sigmoid(self.prior + share * said)

    def predict(self, present: Floats) -> Floats:
        """(n_votes,) probability of yes, if the label is present with this probability."""
        return present * self.hit + (1 - present) * self.false_alarm + self.by_chance


def leave_votes_out(votes: Votes, fit: LikelihoodFit) -> LeftOut:
    """Take each vote out of what the fit learned from it."""
    said, pair = fit.evidence[votes.coins.slot], pair_of_vote(votes)
    prior = logit(fit.frequency)[votes.label]
    log_odds = prior + weight_per_code(pair, said, len(votes.pairs))[pair]
    present, crowd, counts = sigmoid(log_odds), fit.crowd, fit.counts
    own = crowd.weight[votes.worker]
    return LeftOut(
        sigmoid(log_odds - said),
        prior,
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
