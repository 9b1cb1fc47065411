"""The mixture of clusters: its parameters, the E-step and the M-step.

Arrays have clusters first, then items, pairs, coins or slots. Coins are shared by all clusters, (1, coins), but for the
variant "code", (clusters, coins).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from amcc.arrays import AnyInts, Codes, Floats, Ints, safe_log, weight_per_code
from amcc.consensus.coins import label_slots, log_answers
from amcc.consensus.learned import Gold
from amcc.consensus.signature import draws, signatures
from amcc.votes import Votes

Variant = Literal["paper", "code", "exact"]

# Of every worker on every label before the first round, as in the authors' program. It is what tells present from
# absent: at one half, both would stay alike for ever.
START_ACCURACY = 0.8


@dataclass(frozen=True)
class MixtureRules:
    """How the M-step learns, see `MCMLD`.

    variant : what clusters learn from; one_coin : one accuracy in place of two rates; smoothing : pseudo-count of every
    outcome.
    """

    variant: Variant
    one_coin: bool
    smoothing: float

    @property
    def per_cluster(self) -> bool:
        """Whether workers have coins of their own in every cluster."""
        return self.variant == "code"


@dataclass(frozen=True)
class ClusterMixture:
    """Parameters.

    share : (clusters,) ω; label_rate : (clusters, labels) θ; hit, false_alarm : (1 or clusters, coins) π
    """

    share: Floats
    label_rate: Floats
    hit: Floats
    false_alarm: Floats

    @property
    def slot_log_odds(self) -> Floats:
        """(1 or clusters, slots) log-odds that a vote in this slot adds to "present"."""
        return log_answers(self.hit) - log_answers(self.false_alarm)


@dataclass(frozen=True)
class ClusterBelief:
    """Result of the E-step.

    cluster : (clusters, answered items) ζ, columns sum to 1
    given : (clusters, pairs) probability that the label is present, in each cluster
    proba : (pairs,) the same over all clusters
    log_likelihood : of the votes
    """

    cluster: Floats
    given: Floats
    proba: Floats
    log_likelihood: float


@dataclass(frozen=True)
class AskedPairs:
    """The asked pairs, with what the E- and M-step want to know about them.

    item, label : (pairs,); row : (pairs,) number of the item among the answered ones, `first` where its pairs begin;
    slot, start : the votes, see `passes.posterior_pass`.
    """

    item: Codes
    label: Codes
    row: Ints
    first: Ints
    slot: Codes
    start: Ints
    gold: Gold

    @classmethod
    def of(cls, votes: Votes, gold: Gold) -> Self:
        """Of these votes, with what is known about them."""
        pairs = votes.pairs
        # Pairs are sorted by item: a new item begins where it differs from the pair before.
        new = np.append(True, pairs.item[1:] != pairs.item[:-1])[: len(pairs)]
        return cls(
            pairs.item, pairs.label, np.cumsum(new) - 1, np.flatnonzero(new), votes.coins.slot, pairs.start, gold
        )

    def spread(self, cluster: Floats, share: Floats, n_items: int) -> Floats:
        """(n_items, clusters) probabilities of clusters; those of unanswered items are their shares."""
        everywhere = np.tile(share, (n_items, 1))
        everywhere[self.item[self.first]] = cluster.T
        return everywhere


def first_mixture(votes: Votes, n_clusters: int, rules: MixtureRules, random_state: int) -> ClusterMixture:
    """Equal clusters with random label rates, without which they would never differ; one cluster starts at one half."""
    if n_clusters == 1:
        label_rate = np.full((1, votes.n_labels), 0.5)
    else:
        drawn = draws(signatures(votes, random_state).label, 2 * n_clusters).T
        label_rate = drawn[:n_clusters] / (drawn[:n_clusters] + drawn[n_clusters:])
    accuracy = np.full((n_clusters if rules.per_cluster else 1, len(votes.coins)), START_ACCURACY)
    return ClusterMixture(np.full(n_clusters, 1 / n_clusters), label_rate, accuracy, 1 - accuracy)


def mixture_expectation(mixture: ClusterMixture, data: AskedPairs) -> ClusterBelief:
    """E-step: sums over labels one by one equal the authors' sum over all label sets, as labels are independent."""
    if_present = safe_log(mixture.label_rate)[:, data.label] + votes_per_pair(log_answers(mixture.hit), data)
    if_absent = safe_log(1 - mixture.label_rate)[:, data.label] + votes_per_pair(log_answers(mixture.false_alarm), data)
    # Known truth leaves one of the two, in every cluster: so it also says something about the item's cluster.
    if_present[:, data.gold.known & ~data.gold.present] = -np.inf
    if_absent[:, data.gold.known & data.gold.present] = -np.inf
    either = np.logaddexp(if_present, if_absent)
    # The votes of an item say something about its cluster by all of its labels together.
    given = np.exp(if_present - either)
    joint = safe_log(mixture.share)[:, None] + np.add.reduceat(either, data.first, axis=1)
    per_item = np.logaddexp.reduce(joint, axis=0)
    cluster = np.exp(joint - per_item)
    return ClusterBelief(cluster, given, _over_clusters(cluster, given, data.row), float(per_item.sum()))


def updated_mixture(
    before: ClusterMixture, belief: ClusterBelief, data: AskedPairs, rules: MixtureRules
) -> ClusterMixture:
    """M-step of the chosen variant."""
    share = _share(belief.cluster.sum(axis=1), float(belief.cluster.shape[1]), before.share, rules.smoothing)
    in_cluster = belief.cluster[:, data.row]
    # "exact" is the joint expectation of cluster and label; the authors multiply both (MCMLD eq15, MCMLD eq19).
    present = in_cluster * (belief.given if rules.variant == "exact" else belief.proba)
    n_labels = before.label_rate.shape[1]
    label_rate = _share(
        _per_code(data.label, present, n_labels), _per_code(data.label, in_cluster, n_labels), before.label_rate,
        rules.smoothing,
    )  # fmt: skip
    met_present, met = votes_met(belief, data, rules, 2 * before.hit.shape[1])
    return ClusterMixture(share, label_rate, *coin_rates(met_present, met, (before.hit, before.false_alarm), rules))


def votes_met(belief: ClusterBelief, data: AskedPairs, rules: MixtureRules, n_slots: int) -> tuple[Floats, Floats]:
    """(1 or clusters, slots) expected number of votes that met a present label, and of all votes."""
    weight = belief.cluster[:, data.row] if rules.per_cluster else np.ones((1, len(data.row)))
    n_votes = np.diff(data.start)

    def per_slot(of_pair: Floats) -> Floats:
        return _per_code(data.slot, np.repeat(of_pair, n_votes, axis=1), n_slots)

    return per_slot(weight * belief.proba), per_slot(weight)


def coin_rates(
    present: Floats, met: Floats, before: tuple[Floats, Floats], rules: MixtureRules
) -> tuple[Floats, Floats]:
    """Hit and false-alarm rates from expected numbers of votes by slot."""
    no, yes = slice(0, None, 2), slice(1, None, 2)
    absent = np.maximum(met - present, 0.0)
    # One accuracy for both truths: a yes is right where the label is present, a no where it is absent.
    if rules.one_coin:
        right = present[:, yes] + absent[:, no]
        accuracy = _share(right, met[:, no] + met[:, yes], before[0], rules.smoothing)
        return accuracy, 1 - accuracy
    hit = _share(present[:, yes], present[:, no] + present[:, yes], before[0], rules.smoothing)
    return hit, _share(absent[:, yes], absent[:, no] + absent[:, yes], before[1], rules.smoothing)


def average_coin_rates(
    votes: Votes, belief: ClusterBelief, data: AskedPairs, rules: MixtureRules
) -> tuple[Floats, Floats]:
    """(1 or clusters, labels) rates of all workers together."""
    met_by_slot = votes_met(belief, data, rules, 2 * len(votes.coins))
    present, met = (_per_code(label_slots(votes.coins), weight, 2 * votes.n_labels) for weight in met_by_slot)
    accuracy = np.full((len(met), votes.n_labels), START_ACCURACY)
    return coin_rates(present, met, (accuracy, 1 - accuracy), rules)


def mixture_objective(mixture: ClusterMixture, belief: ClusterBelief, rules: MixtureRules) -> float:
    """Log-likelihood plus the log-densities of the priors that the smoothing stands for; "exact" never lowers it."""
    coins = (mixture.hit,) if rules.one_coin else (mixture.hit, mixture.false_alarm)
    # One cluster has the share 1, which is no parameter; and one coin's false alarms are not estimated.
    log_prior = safe_log(mixture.share).sum() if len(mixture.share) > 1 else 0.0
    log_prior += sum((safe_log(rate) + safe_log(1 - rate)).sum() for rate in (mixture.label_rate, *coins))
    return belief.log_likelihood + rules.smoothing * float(log_prior)


def votes_per_pair(of_slot: Floats, data: AskedPairs) -> Floats:
    """(…, pairs) sums over the votes of each pair."""
    return np.stack([np.add.reduceat(row[data.slot], data.start[:-1]) for row in of_slot])


def _over_clusters(cluster: Floats, given: Floats, row: Ints) -> Floats:
    """(pairs,) Σ_r ζ_r · P(present | r)."""
    proba: Floats = np.einsum("kp,kp->p", cluster[:, row], given)
    return np.clip(proba, 0.0, 1.0)


def _per_code(code: AnyInts, weight: Floats, n_codes: int) -> Floats:
    """(rows, n_codes) sums by code, row by row."""
    return np.stack([weight_per_code(code, row, n_codes) for row in weight])


def _share(part: Floats, whole: Floats | float, before: Floats, smoothing: float) -> Floats:
    """Smoothed share of one outcome, as it was before where there is neither data nor smoothing."""
    n_outcomes = len(part) if part.ndim == 1 else 2  # clusters, or yes and no
    total = np.broadcast_to(whole + n_outcomes * smoothing, part.shape)
    share: Floats = np.divide(part + smoothing, total, out=before.copy(), where=total > 0)
    return np.clip(share, 0.0, 1.0)
