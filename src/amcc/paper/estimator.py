"""PaperAMCC: the paper's objective as a model like any other."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np
from scipy.special import logit

from amcc import passes
from amcc.arrays import Floats
from amcc.consensus.base import Gold, Posterior
from amcc.consensus.grouped import GroupedModel
from amcc.consensus.matching import new_code
from amcc.fields import Each
from amcc.paper import frobenius
from amcc.paper.frobenius import Anchor, FrobeniusFit, _check_settings, fit_frobenius
from amcc.votes import Votes


class PaperAMCC(GroupedModel):
    """The paper's own objective eq5, with the repairs of docs/deviations.md."""

    label_similarity_: Annotated[Floats, Each("label", "label", finite=False)]
    individuality_matrices_: Annotated[Floats, Each("worker", "label", "label")]
    commonality_matrices_: Annotated[Floats, Each("group", "label", "label")]
    worker_answer_rates_: Annotated[Floats, Each(2, "worker", "label")]
    crowd_rates_: Annotated[Floats, Each(2, "label")]
    vote_weight_: Annotated[Floats, Each("worker")]

    def __init__(
        self,
        *,
        n_groups: int = 5,
        hsic_weight: float = 0.1,
        laplacian_weight: float = 10.0,
        weight_exponent: float = 2.0,
        anchor: Anchor = "consensus",
        printed: bool = False,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: int = 0,
    ) -> None:
        self.n_groups = n_groups
        self.hsic_weight = hsic_weight
        self.laplacian_weight = laplacian_weight
        self.weight_exponent = weight_exponent
        self.anchor = anchor
        self.printed = printed
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_params(self) -> None:
        shapes = self.n_groups, self.hsic_weight, self.laplacian_weight, self.weight_exponent
        _check_settings(*shapes, "simplex", self.anchor, self.max_iter, self.tol)

    def _fit(self, votes: Votes, features: Floats | None, gold: Gold) -> Posterior:
        fit = fit_frobenius(votes, gold, **self.get_params())
        self._publish_rounds(fit.monitor)
        self._publish(fit, votes)
        judge = partial(passes.others_pass, votes.coins.slot, votes.pairs.start, fit.evidence, fit.prior)
        posterior = Posterior(fit.pair_proba, fit.label_prior, judge)
        return self._with_item_prior(posterior, votes, features, gold)

    def _publish(self, fit: FrobeniusFit, votes: Votes) -> None:
        coins = votes.coins
        self._publish_groups(
            coins,
            fit.rates.worker[:, coins.worker, coins.label],
            commonality=fit.group_rates,
            weights=fit.group_weights,
            membership=np.eye(len(fit.group_weights))[fit.worker_group],
        )
        self.label_similarity_, self.worker_cost_ = fit.label_correlation, fit.worker_cost
        self.individuality_matrices_, self.commonality_matrices_ = fit.individuality, fit.commonality
        self.worker_answer_rates_, self.crowd_rates_ = fit.rates.worker, fit.rates.crowd
        self.vote_weight_ = fit.vote_weight

    @property
    def label_correlation_(self) -> Floats:
        """(n_labels, n_labels) cosines between labels, B of eq4."""
        self._check_fitted(items=False)
        return self.label_similarity_

    def _infer(self, votes: Votes, prior: Floats) -> Floats:
        worker, label = new_code(votes.worker_names, self.worker_names_), new_code(votes.label_names, self.label_names_)
        if self.printed:
            average = self.individuality_matrices_.mean(axis=0)
            own = np.where((worker >= 0)[:, None, None], self.individuality_matrices_[worker], average)
            individuality, commonality = (
                frobenius.for_new_votes(part, label) for part in (own, self.commonality_matrices_)
            )
            return frobenius.printed_consensus(
                votes, individuality, commonality, self.group_weights_, self.weight_exponent
            )
        evidence = frobenius.new_evidence(
            votes,
            worker,
            label,
            worker_rates=self.worker_answer_rates_,
            crowd_rates=self.crowd_rates_,
            vote_weight=self.vote_weight_,
        )
        return frobenius.consensus(votes, evidence, logit(prior)[votes.pairs.label])
