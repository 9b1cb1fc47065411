"""Zhang and Wu's mixture models: items come in clusters, and given its cluster an item's labels are independent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from amcc import passes
from amcc.arrays import Codes, Floats, Ints, Mask, safe_log, safe_logit, weight_per_code
from amcc.consensus.base import ConsensusModel
from amcc.consensus.item_results import ItemResults
from amcc.consensus.learned import Gold, Inferred, ItemKinds, Learned, in_memory
from amcc.consensus.matching import known_or_mean, match_coins, new_code
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_rounds
from amcc.consensus.signature import draws, signatures
from amcc.engine.base import Engine
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.votes import Votes

Variant = Literal["paper", "code", "exact"]

START_ACCURACY = 0.8
"""Of every worker on every label before the first round. It is what tells present from absent."""

MAX_CLUSTERS = 12
"""Where their number is found from the votes: unrelated labels would ask for about as many clusters as labels."""

ITEMS_PER_BLOCK = 512
"""Items whose most likely sets are searched at a time."""


class MCMLD(ConsensusModel, methods={"mcmld": {}}):
    """A mixture of independent labels for the truth, two coins per worker and label for the votes.

    An item belongs to cluster r with probability `cluster_share_[r]`; then label l is present with probability
    `cluster_label_rate_[r, l]`, independently of the other labels, and a worker says yes with a hit rate where it is
    present and with a false-alarm rate where it is absent. Labels that tend to go together do so because they are
    frequent in the same clusters.

    Parameters
    ----------
    n_clusters : int, optional
        The authors' R. By default as many principal components as explain `explained` of the variance of all answers,
        at most 12.
    explained : float
        The authors' ρ.
    variant : "exact", "paper" or "code"
        How clusters learn. "exact" is expectation-maximisation. "paper" replaces the joint expectation of cluster and
        label by the product of both, as the authors' Eq. 15 and 19 do, so the likelihood may fall. "code" does the
        same and gives each worker coins of their own in every cluster, as the authors' program does.
    one_coin : bool
        One accuracy per worker and label in place of two rates (the authors' MCMLD-OC).
    smoothing : float
        Pseudo-count for every outcome of every estimated probability.
    max_iter, tol
        Stop when a round changes the log-likelihood by less than this share. The default is that of the authors'
        program, whose MCMLD takes .005, and at most 20 rounds. Going on longer gains on crowds with much data per
        worker, and loses where there are a few dozen items and clusters begin to fit noise.
    random_state : int
        The clusters start at random label rates.

    Attributes
    ----------
    cluster_share_ : (n_clusters,), sums to 1
    cluster_label_rate_ : (n_clusters, n_labels)
    item_state_ : ItemKinds or None
        Shares of the clusters in every item, rows sum to 1; None with one cluster.
        Probability of each cluster; that of an unanswered item is `cluster_share_`.
    coin_worker_, coin_label_ : (n_coins,) int32
        The (worker, label) combinations that occur.
    hit_rate_, false_alarm_rate_ : (1, n_coins), with variant "code" (n_clusters, n_coins)
    average_hit_rate_, average_false_alarm_rate_ : the same with n_labels in place of n_coins
        Of all workers together; what a newcomer counts as.

    Notes
    -----
    Original, from the authors' text and program: model, variants "paper" and "code", one coin, the rule for the number
    of clusters, the start at accuracy .8 (the program's; the text draws it between .7 and .9), random label rates.
    Ours: variant "exact", the default; logs, and sums over labels in place of sums over all label sets, which give the
    same numbers in time linear in the labels; smoothing; at most 12 clusters; answers with unasked labels count as
    average there when the number of clusters is sought; labels that were not asked enter no sum and are predicted from
    the item's clusters. A cluster or coin that meets no data keeps its former value.

    The authors' label sets (Eq. 24), the most likely ones as a whole, are given by `most_likely_sets`; `predict`
    decides label by label, as for every other model. One round takes time proportional to clusters · asked pairs plus
    votes (clusters · votes with variant "code").

    References
    ----------
    J. Zhang and X. Wu, Multi-label inference for crowdsourcing, KDD 2018.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> MCMLD(n_clusters=2).fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    n_clusters: int | None
    variant: Variant
    explained: float
    random_state: int

    coin_worker_: Annotated[Codes, Each("coin", code="worker")]
    coin_label_: Annotated[Codes, Each("coin", code="label")]
    cluster_share_: Annotated[Floats, Each("cluster")]
    cluster_label_rate_: Annotated[Floats, Each("cluster", "label")]
    item_state_: Annotated[ItemKinds | None, Each(optional=True)] = None
    hit_rate_: Annotated[Floats, Each("own", "coin")]
    false_alarm_rate_: Annotated[Floats, Each("own", "coin")]
    average_hit_rate_: Annotated[Floats, Each("own", "label")]
    average_false_alarm_rate_: Annotated[Floats, Each("own", "label")]

    def __init__(
        self,
        *,
        n_clusters: int | None = None,
        explained: float = 0.7,
        variant: Variant = "exact",
        one_coin: bool = False,
        smoothing: float = 0.1,
        max_iter: int = 100,
        tol: float = 0.001,
        random_state: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.explained = explained
        self.variant = variant
        self.one_coin = one_coin
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_params(self) -> None:
        if self.n_clusters is not None and self.n_clusters < 1:
            raise ParameterError(f"n_clusters must be at least 1, or None; got {self.n_clusters!r}.")
        if not 0 < self.explained <= 1:
            raise ParameterError(f"explained must lie in (0, 1]; got {self.explained!r}.")
        if self.variant not in get_args(Variant):
            raise ParameterError(f"variant must be one of {', '.join(get_args(Variant))}; got {self.variant!r}.")
        if not (np.isfinite(self.smoothing) and self.smoothing >= 0):
            raise ParameterError(f"smoothing must be a number >= 0; got {self.smoothing!r}.")
        check_rounds(self.max_iter, self.tol)

    # -- learning ----------------------------------------------------------------------------------------------

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        data = Asked.of(votes, gold)
        rules = Rules(self.variant, self.one_coin, self.smoothing)
        n_clusters = self.n_clusters or count_clusters(votes, self.explained)
        mixture = start(votes, n_clusters, rules, self.random_state)
        belief = expect(mixture, data)
        before = objective(mixture, belief, rules)
        monitor = Monitor(self.tol, self.max_iter)
        for _ in monitor.rounds():
            mixture = maximise(mixture, belief, data, rules)
            belief = expect(mixture, data)
            after = objective(mixture, belief, rules)
            # a likelihood of one has the logarithm zero, of which nothing is a share
            monitor.report(after, abs(after - before) / max(abs(before), 1.0))
            before = after
        monitor.warn_unless_converged(type(self).__name__)
        self.objective_history_, self.n_iter_, self.converged_ = (
            monitor.history,
            len(monitor.history),
            monitor.converged,
        )
        self._keep(votes, data, mixture, belief, rules)
        label_prior = mixture.share @ self.cluster_label_rate_
        evidence = mixture.share @ mixture.slot_log_odds if rules.per_cluster else mixture.slot_log_odds[0]
        prior = gold.log_odds(safe_logit(label_prior)[votes.pairs.label])
        judge = partial(passes.others_pass, votes.coins.slot, votes.pairs.start, evidence, prior)
        kinds = self._kinds(self.cluster_label_rate_, data, belief, votes.n_items)
        return Learned(label_prior, judge, Inferred(belief.proba, kinds))

    def _keep(self, votes: Votes, data: Asked, mixture: Mixture, belief: Belief, rules: Rules) -> None:
        """Set the learned attributes."""
        asked = np.bincount(data.label, minlength=votes.n_labels) > 0
        # nothing is known about a label that nobody was asked about, so it is an average one
        typical = mixture.label_rate[:, asked].mean(axis=1, keepdims=True)
        self.cluster_share_ = mixture.share
        self.cluster_label_rate_ = np.where(asked, mixture.label_rate, typical)
        self.coin_worker_, self.coin_label_ = votes.coins.worker, votes.coins.label
        self.hit_rate_, self.false_alarm_rate_ = mixture.hit, mixture.false_alarm
        self.average_hit_rate_, self.average_false_alarm_rate_ = average_rates(votes, belief, data, rules)

    # -- answering ---------------------------------------------------------------------------------------------

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        mixture, belief, data = self._belief(votes)
        return Inferred(belief.proba, self._kinds(mixture.label_rate, data, belief, votes.n_items))

    def _kinds(self, label_rate: Floats, data: Asked, belief: Belief, n_items: int) -> ItemKinds | None:
        """The clusters of the items; None where there is one, which says no more than the labels' priors."""
        if len(self.cluster_share_) == 1:
            return None
        return ItemKinds(data.spread(belief.cluster, self.cluster_share_, n_items), label_rate)

    def _unasked(self, found: ItemResults) -> Floats:
        if self.item_state_ is None:
            return super()._unasked(found)
        return np.where(found.item_answered[:, None], self.item_state_.expected(), found.label_prior)

    def _belief(self, votes: Votes) -> tuple[Mixture, Belief, Asked]:
        """What new votes say, by the clusters and coins as learned."""
        coins = match_coins(votes, self.worker_names_, self.label_names_, self.coin_worker_, self.coin_label_)
        label = new_code(votes.label_names, self.label_names_)

        def rates(of_coin: Floats, of_label: Floats) -> Floats:
            return np.stack(
                [
                    np.where(coins.met, known[coins.place], known_or_mean(average, coins.label))
                    for known, average in zip(of_coin, of_label, strict=True)
                ]
            )

        mixture = Mixture(
            self.cluster_share_,
            np.stack([known_or_mean(rate, label) for rate in self.cluster_label_rate_]),
            rates(self.hit_rate_, self.average_hit_rate_),
            rates(self.false_alarm_rate_, self.average_false_alarm_rate_),
        )
        nothing = np.zeros(len(votes.pairs), dtype=bool)
        data = Asked.of(votes, Gold(nothing, nothing))
        return mixture, expect(mixture, data), data

    def most_likely_sets(self, votes: Any) -> Mask:
        """(n_items, n_labels) the label sets that are most likely as a whole (Eq. 24), judged by what was learned.

        They differ from `predict` where labels exclude each other: with a cluster for each of two labels, both may be
        likely while the set of both is not.
        """
        self.check_fitted()
        votes = self._as_it_counts(votes)
        mixture, belief, data = self._belief(votes)
        cluster = data.spread(belief.cluster, mixture.share, votes.n_items)
        sets = np.empty((votes.n_items, votes.n_labels), dtype=bool)
        for first in range(0, votes.n_items, ITEMS_PER_BLOCK):
            block = slice(first, first + ITEMS_PER_BLOCK)
            of_block = (data.item >= first) & (data.item < first + ITEMS_PER_BLOCK)
            present = np.repeat(mixture.label_rate[None], len(sets[block]), axis=0)
            present[data.item[of_block] - first, :, data.label[of_block]] = belief.given[:, of_block].T
            sets[block] = mode_of_mixture(cluster[block], present)
        return sets


class MCMLI(MCMLD, methods={"mcmli": {}}):
    """Zhang and Wu's model without label dependence: `MCMLD` with one cluster, where all its variants are the same.

    Parameters
    ----------
    one_coin, smoothing, max_iter, tol
        As in `MCMLD`.

    Notes
    -----
    This is Dawid and Skene's model, label by label, started at accuracy .8 and prevalence one half.

    References
    ----------
    J. Zhang and X. Wu, Multi-label inference for crowdsourcing, KDD 2018.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> MCMLI().fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    n_clusters = 1
    variant = "exact"
    explained = 1.0
    random_state = 0

    def __init__(
        self, *, one_coin: bool = False, smoothing: float = 0.1, max_iter: int = 100, tol: float = 0.001
    ) -> None:
        self.one_coin = one_coin
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol


# -- the model -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """How the M-step learns, see `MCMLD`."""

    variant: Variant
    one_coin: bool
    smoothing: float

    @property
    def per_cluster(self) -> bool:
        """Whether workers have coins of their own in every cluster."""
        return self.variant == "code"


@dataclass(frozen=True)
class Mixture:
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
        return slot_logs(self.hit) - slot_logs(self.false_alarm)


@dataclass(frozen=True)
class Belief:
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
class Asked:
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
        """From votes."""
        pairs = votes.pairs
        new = np.append(True, pairs.item[1:] != pairs.item[:-1])[: len(pairs)]
        return cls(
            pairs.item, pairs.label, np.cumsum(new) - 1, np.flatnonzero(new), votes.coins.slot, pairs.start, gold
        )

    def spread(self, cluster: Floats, share: Floats, n_items: int) -> Floats:
        """(n_items, clusters) probabilities of clusters; those of unanswered items are their shares."""
        everywhere = np.tile(share, (n_items, 1))
        everywhere[self.item[self.first]] = cluster.T
        return everywhere


def start(votes: Votes, n_clusters: int, rules: Rules, random_state: int) -> Mixture:
    """Equal clusters with random label rates, without which they would never differ; one cluster starts at one half."""
    if n_clusters == 1:
        label_rate = np.full((1, votes.n_labels), 0.5)
    else:
        drawn = draws(signatures(votes, random_state).label, 2 * n_clusters).T
        label_rate = drawn[:n_clusters] / (drawn[:n_clusters] + drawn[n_clusters:])
    accuracy = np.full((n_clusters if rules.per_cluster else 1, len(votes.coins)), START_ACCURACY)
    return Mixture(np.full(n_clusters, 1 / n_clusters), label_rate, accuracy, 1 - accuracy)


def expect(mixture: Mixture, data: Asked) -> Belief:
    """E-step: sums over labels one by one equal the authors' sum over all label sets, as labels are independent."""
    if_present = safe_log(mixture.label_rate)[:, data.label] + votes_per_pair(slot_logs(mixture.hit), data)
    if_absent = safe_log(1 - mixture.label_rate)[:, data.label] + votes_per_pair(slot_logs(mixture.false_alarm), data)
    if_present[:, data.gold.known & ~data.gold.present] = -np.inf
    if_absent[:, data.gold.known & data.gold.present] = -np.inf
    either = np.logaddexp(if_present, if_absent)
    given = np.exp(if_present - either)
    joint = safe_log(mixture.share)[:, None] + np.add.reduceat(either, data.first, axis=1)
    per_item = np.logaddexp.reduce(joint, axis=0)
    cluster = np.exp(joint - per_item)
    return Belief(cluster, given, _over_clusters(cluster, given, data.row), float(per_item.sum()))


def maximise(before: Mixture, belief: Belief, data: Asked, rules: Rules) -> Mixture:
    """M-step of the chosen variant."""
    share = _share(belief.cluster.sum(axis=1), float(belief.cluster.shape[1]), before.share, rules.smoothing)
    in_cluster = belief.cluster[:, data.row]
    present = in_cluster * (belief.given if rules.variant == "exact" else belief.proba)
    n_labels = before.label_rate.shape[1]
    label_rate = _share(
        _per_code(data.label, present, n_labels), _per_code(data.label, in_cluster, n_labels), before.label_rate,
        rules.smoothing,
    )  # fmt: skip
    met_present, met = votes_met(belief, data, rules, 2 * before.hit.shape[1])
    return Mixture(share, label_rate, *coin_rates(met_present, met, (before.hit, before.false_alarm), rules))


def votes_met(belief: Belief, data: Asked, rules: Rules, n_slots: int) -> tuple[Floats, Floats]:
    """(1 or clusters, slots) expected number of votes that met a present label, and of all votes."""
    weight = belief.cluster[:, data.row] if rules.per_cluster else np.ones((1, len(data.row)))
    n_votes = np.diff(data.start)

    def per_slot(of_pair: Floats) -> Floats:
        return _per_code(data.slot, np.repeat(of_pair, n_votes, axis=1), n_slots)

    return per_slot(weight * belief.proba), per_slot(weight)


def coin_rates(present: Floats, met: Floats, before: tuple[Floats, Floats], rules: Rules) -> tuple[Floats, Floats]:
    """Hit and false-alarm rates from expected numbers of votes by slot."""
    no, yes = slice(0, None, 2), slice(1, None, 2)
    absent = np.maximum(met - present, 0.0)
    if rules.one_coin:
        right = present[:, yes] + absent[:, no]
        accuracy = _share(right, met[:, no] + met[:, yes], before[0], rules.smoothing)
        return accuracy, 1 - accuracy
    hit = _share(present[:, yes], present[:, no] + present[:, yes], before[0], rules.smoothing)
    return hit, _share(absent[:, yes], absent[:, no] + absent[:, yes], before[1], rules.smoothing)


def average_rates(votes: Votes, belief: Belief, data: Asked, rules: Rules) -> tuple[Floats, Floats]:
    """(1 or clusters, labels) rates of all workers together."""
    slot_label = 2 * np.repeat(votes.coins.label, 2) + np.tile([0, 1], len(votes.coins))
    present, met = (
        _per_code(slot_label, weight, 2 * votes.n_labels)
        for weight in votes_met(belief, data, rules, 2 * len(votes.coins))
    )
    accuracy = np.full((len(met), votes.n_labels), START_ACCURACY)
    return coin_rates(present, met, (accuracy, 1 - accuracy), rules)


def objective(mixture: Mixture, belief: Belief, rules: Rules) -> float:
    """Log-likelihood plus the log-densities of the priors that the smoothing stands for; "exact" never lowers it."""
    coins = (mixture.hit,) if rules.one_coin else (mixture.hit, mixture.false_alarm)
    log_prior = safe_log(mixture.share).sum() if len(mixture.share) > 1 else 0.0
    log_prior += sum((safe_log(rate) + safe_log(1 - rate)).sum() for rate in (mixture.label_rate, *coins))
    return belief.log_likelihood + rules.smoothing * float(log_prior)


def slot_logs(rate: Floats) -> Floats:
    """(…, slots) log-probability of a no and a yes of coins with these rates of yes."""
    return safe_log(np.stack([1 - rate, rate], axis=-1)).reshape(len(rate), -1)


def votes_per_pair(of_slot: Floats, data: Asked) -> Floats:
    """(…, pairs) sums over the votes of each pair."""
    return np.stack([np.add.reduceat(row[data.slot], data.start[:-1]) for row in of_slot])


# -- how many clusters -----------------------------------------------------------------------------------------------


def count_clusters(votes: Votes, explained: float) -> int:
    """As many principal components of the answers as come nearest to explaining this share of their variance."""
    variance, total = leading_variances(votes, MAX_CLUSTERS)
    if total <= 0:
        return 1
    return int(np.argmin(np.abs(explained - np.cumsum(variance) / total))) + 1


def leading_variances(votes: Votes, n_leading: int) -> tuple[Floats, float]:
    """The largest eigenvalues, falling, of the covariance of all answers, and the sum of all (up to a factor).

    An unasked label counts as the label's average, that is zero once the average is taken away.
    """
    answer = np.unique(votes.item.astype(np.int64) * votes.n_workers + votes.worker, return_inverse=True)[1]
    n_votes = np.maximum(np.bincount(votes.label, minlength=votes.n_labels), 1)
    mean = weight_per_code(votes.label, votes.value, votes.n_labels) / n_votes
    centred = votes.value - mean[votes.label]
    answers = csr_array((centred, (answer, votes.label)), shape=(answer.max() + 1, votes.n_labels))
    covariance = answers.T @ answers
    if votes.n_labels <= 10 * n_leading:
        variance = np.linalg.eigvalsh(covariance.toarray())
    else:
        from scipy.sparse.linalg import eigsh  # `import amcc` need not pay for it

        variance = np.sort(eigsh(covariance, n_leading, v0=np.ones(votes.n_labels), return_eigenvectors=False))
    return variance[::-1][:n_leading], float(covariance.trace())


# -- most likely sets ------------------------------------------------------------------------------------------------


def mode_of_mixture(cluster: Floats, present: Floats) -> Mask:
    """(items, labels) sets with the largest sum over clusters of P(cluster) · P(set given cluster), Eq. 24.

    Starts from the best set of every cluster and from the labels more likely present than absent, changes one label at
    a time as long as that helps, and takes the best end. With one cluster, or a dominant one, this is exact.

    cluster : (items, clusters); present : (items, clusters, labels)
    """
    log_odds, log_cluster = safe_logit(present), safe_log(cluster) + safe_log(1 - present).sum(axis=2)
    starts = [np.einsum("nk,nkl->nl", cluster, present) > 0.5, *np.moveaxis(log_odds > 0, 1, 0)]
    ends, scores = zip(*(climb(sets, log_cluster, log_odds) for sets in starts), strict=True)
    best = np.argmax(np.stack(scores), axis=0)
    mode: Mask = np.stack(ends)[best, np.arange(len(cluster))]
    return mode


def climb(sets: Mask, log_empty: Floats, log_odds: Floats) -> tuple[Mask, Floats]:
    """Change the one label that helps most, in every item, until none does.

    sets : (items, labels); log_empty : (items, clusters) log-probability of cluster and empty set;
    log_odds : (items, clusters, labels) what a label adds to it.
    """
    sets = sets.copy()
    item = np.arange(len(sets))
    while True:
        joint = log_empty + np.einsum("nkl,nl->nk", log_odds, sets)
        score = np.logaddexp.reduce(joint, axis=1)
        flip = np.where(sets[:, None, :], -log_odds, log_odds)
        flipped = np.logaddexp.reduce(joint[:, :, None] + flip, axis=1)
        label = np.argmax(flipped, axis=1)
        better = flipped[item, label] > score + 1e-9
        if not better.any():
            return sets, score
        sets[item[better], label[better]] ^= True


# -- small arithmetic ------------------------------------------------------------------------------------------------


def _over_clusters(cluster: Floats, given: Floats, row: Ints) -> Floats:
    """(pairs,) Σ_r ζ_r · P(present | r)."""
    proba: Floats = np.einsum("kp,kp->p", cluster[:, row], given)
    return np.clip(proba, 0.0, 1.0)


def _per_code(code: npt.NDArray[Any], weight: Floats, n_codes: int) -> Floats:
    """(rows, n_codes) sums by code, row by row."""
    return np.stack([weight_per_code(code, row, n_codes) for row in weight])


def _share(part: Floats, whole: Floats | float, before: Floats, smoothing: float) -> Floats:
    """Smoothed share of one outcome, as it was before where there is neither data nor smoothing."""
    n_outcomes = len(part) if part.ndim == 1 else 2  # clusters, or yes and no
    total = np.broadcast_to(whole + n_outcomes * smoothing, part.shape)
    share: Floats = np.divide(part + smoothing, total, out=before.copy(), where=total > 0)
    return np.clip(share, 0.0, 1.0)
