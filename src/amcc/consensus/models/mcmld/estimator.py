"""Zhang and Wu's mixture models: items come in clusters, and given its cluster an item's labels are independent.

This file is the models as users see them. One round of learning is in `mixture`, the number of clusters in `clusters`,
the most likely label sets in `label_sets`. Equations of the authors are cited as MCMLD eq15, MCMLD eq24 and so on.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from amcc.arrays import Floats, Mask, safe_logit
from amcc.consensus.coins import CoinModel, judge_later
from amcc.consensus.item_results import ItemResults
from amcc.consensus.learned import Gold, Inferred, ItemKinds, Learned, in_memory
from amcc.consensus.matching import known_or_mean, new_code
from amcc.consensus.models.mcmld.clusters import count_clusters
from amcc.consensus.models.mcmld.label_sets import ITEMS_PER_BLOCK, mode_of_mixture
from amcc.consensus.models.mcmld.mixture import (
    AskedPairs,
    ClusterBelief,
    ClusterMixture,
    MixtureRules,
    Variant,
    average_coin_rates,
    first_mixture,
    mixture_expectation,
    mixture_objective,
    updated_mixture,
)
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_at_least_one, check_choice, check_not_negative, check_rounds, check_seed
from amcc.engine.base import Engine
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.votes import Votes


class MCMLD(CoinModel, methods={"mcmld": {}}):
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
        label by the product of both, as the authors do (MCMLD eq15 and MCMLD eq19), so the likelihood may fall. "code"
        does the same and gives each worker coins of their own in every cluster, as the authors' program does.
    one_coin : bool
        One accuracy per worker and label in place of two rates (the authors' MCMLD-OC).
    smoothing : float
        Pseudo-count for every outcome of every estimated probability.
    max_iter, tol
        Stop when a round changes the log-likelihood by less than this share. The default is that of the authors'
        program, which for MCMLD takes .005 and at most 20 rounds. Going on longer gains on crowds with much data per
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

    The authors' label sets (MCMLD eq24), the most likely ones as a whole, are given by `most_likely_sets`; `predict`
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

    cluster_share_: Annotated[Floats, Each("cluster")]
    cluster_label_rate_: Annotated[Floats, Each("cluster", "label")]
    item_state_: Annotated[ItemKinds | None, Each(optional=True)] = None
    hit_rate_: Annotated[Floats, Each("own", "coin")]
    false_alarm_rate_: Annotated[Floats, Each("own", "coin")]
    average_hit_rate_: Annotated[Floats, Each("own", "label")]
    average_false_alarm_rate_: Annotated[Floats, Each("own", "label")]

    def __init__(
        self, *, n_clusters: int | None = None, explained: float = 0.7, variant: Variant = "exact",
        one_coin: bool = False, smoothing: float = 0.1, max_iter: int = 100, tol: float = 0.001, random_state: int = 0,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.explained = explained
        self.variant = variant
        self.one_coin = one_coin
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_params(self) -> None:
        check_at_least_one("n_clusters", self.n_clusters, optional=True)
        if not 0 < self.explained <= 1:
            raise ParameterError(f"explained must lie in (0, 1]; got {self.explained!r}.")
        check_choice("variant", self.variant, Variant)
        check_not_negative("smoothing", self.smoothing)
        check_rounds(self.max_iter, self.tol)
        check_seed(self.random_state)

    # -- learning ----------------------------------------------------------------------------------------------

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        data = AskedPairs.of(votes, gold)
        rules = MixtureRules(self.variant, self.one_coin, self.smoothing)
        # Found from the votes only, so that known truth does not change what kind of model this is.
        n_clusters = self.n_clusters or count_clusters(votes, self.explained)
        mixture = first_mixture(votes, n_clusters, rules, self.random_state)
        belief = mixture_expectation(mixture, data)
        before = mixture_objective(mixture, belief, rules)
        monitor = Monitor(self.tol, self.max_iter)
        for _ in monitor.rounds():
            mixture = updated_mixture(mixture, belief, data, rules)
            belief = mixture_expectation(mixture, data)
            after = mixture_objective(mixture, belief, rules)
            # A likelihood of one has the logarithm zero, and no change is a share of that.
            monitor.report(after, abs(after - before) / max(abs(before), 1.0))
            before = after
        self._publish(monitor)
        self._keep(votes, data, mixture, belief, rules)
        label_prior = mixture.share @ self.cluster_label_rate_
        # Workers are judged by one evidence for each slot; with coins by cluster, that of the average item.
        evidence = mixture.share @ mixture.slot_log_odds if rules.per_cluster else mixture.slot_log_odds[0]
        prior = gold.log_odds(safe_logit(label_prior)[votes.pairs.label])
        kinds = self._kinds(self.cluster_label_rate_, data, belief, votes.n_items)
        return Learned(label_prior, judge_later(votes, evidence, prior), Inferred(belief.proba, kinds))

    def _keep(
        self, votes: Votes, data: AskedPairs, mixture: ClusterMixture, belief: ClusterBelief, rules: MixtureRules
    ) -> None:
        """Set the learned attributes."""
        asked = np.bincount(data.label, minlength=votes.n_labels) > 0
        # Nothing is known about a label that nobody was asked about, so it is an average one.
        typical = mixture.label_rate[:, asked].mean(axis=1, keepdims=True)
        self.cluster_share_ = mixture.share
        self.cluster_label_rate_ = np.where(asked, mixture.label_rate, typical)
        self._keep_coins(votes)
        self.hit_rate_, self.false_alarm_rate_ = mixture.hit, mixture.false_alarm
        self.average_hit_rate_, self.average_false_alarm_rate_ = average_coin_rates(votes, belief, data, rules)

    # -- answering ---------------------------------------------------------------------------------------------

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        mixture, belief, data = self._belief(votes)
        return Inferred(belief.proba, self._kinds(mixture.label_rate, data, belief, votes.n_items))

    def _kinds(self, label_rate: Floats, data: AskedPairs, belief: ClusterBelief, n_items: int) -> ItemKinds | None:
        """The clusters of the items; None where there is one, which says no more than the labels' priors."""
        if len(self.cluster_share_) == 1:
            return None
        return ItemKinds(data.spread(belief.cluster, self.cluster_share_, n_items), label_rate)

    def _unasked(self, found: ItemResults) -> Floats:
        if self.item_state_ is None:
            return super()._unasked(found)
        return np.where(found.item_answered[:, None], self.item_state_.expected(), found.label_prior)

    def _belief(self, votes: Votes) -> tuple[ClusterMixture, ClusterBelief, AskedPairs]:
        """What new votes say, by the clusters and coins as learned."""
        coins, label = self._match_coins(votes), new_code(votes.label_names, self.label_names_)

        def rates(of_coin: Floats, of_label: Floats) -> Floats:
            """(1 or clusters, coins) of the new votes."""
            return np.stack(list(map(coins.learned_or_average, of_coin, of_label)))

        mixture = ClusterMixture(
            self.cluster_share_,
            np.stack([known_or_mean(rate, label) for rate in self.cluster_label_rate_]),
            rates(self.hit_rate_, self.average_hit_rate_),
            rates(self.false_alarm_rate_, self.average_false_alarm_rate_),
        )
        data = AskedPairs.of(votes, Gold.nothing(len(votes.pairs)))
        return mixture, mixture_expectation(mixture, data), data

    def most_likely_sets(self, votes: Any) -> Mask:
        """(n_items, n_labels) the label sets that are most likely as a whole (MCMLD eq24), judged by what was learned.

        They differ from `predict` where labels exclude each other: with a cluster for each of two labels, both may be
        likely while the set of both is not.
        """
        self.check_fitted()
        votes = self._as_it_counts(votes)
        mixture, belief, data = self._belief(votes)
        # An unanswered item may be of any cluster, as often as each occurs.
        cluster = data.spread(belief.cluster, mixture.share, votes.n_items)
        sets = np.empty((votes.n_items, votes.n_labels), dtype=bool)
        # A table of all items × clusters × labels would not fit where there are many.
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

    # What `MCMLD` is told is fixed here; with one cluster nothing is drawn, so the seed does not matter.
    n_clusters: int = 1
    variant: Variant = "exact"
    explained: float = 1.0
    random_state = 0

    def __init__(
        self, *, one_coin: bool = False, smoothing: float = 0.1, max_iter: int = 100, tol: float = 0.001
    ) -> None:
        self.one_coin = one_coin
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol
