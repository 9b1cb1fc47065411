"""PaperAMCC: the paper's objective as a model like any other."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np

from amcc import passes
from amcc.arrays import Floats, Ints
from amcc.consensus.grouped import GroupedModel
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import new_code
from amcc.consensus.models.paper.consensus import consensus, for_new_votes, new_evidence, printed_consensus
from amcc.consensus.models.paper.fitting import PaperFit, fit_paper
from amcc.consensus.models.paper.problem import Anchor, Cells, Cosines, PaperSettings, Rows, Start
from amcc.consensus.worth import worker_worth
from amcc.engine.base import Engine
from amcc.fields import Each
from amcc.special import logit
from amcc.votes import Votes


class PaperAMCC(GroupedModel, methods={"amcc-frobenius": {}, "amcc-printed": {"printed": True, "max_iter": 100}}):
    """The paper's own objective eq5, with the repairs of docs/deviations.md.

    Workers are in groups. Their answers are represented by the consensus times a matrix, what is their own (D_w) plus
    what their group has in common (C_m). Groups are weighted by how well that works. For comparison with the paper:
    `AMCC` is the better model, has no limit on labels, and takes packed votes, rosters and warm starts.

    Parameters
    ----------
    n_groups : int
        M of the paper; with fewer workers, each is a group of their own.
    hsic_weight : float
        How much workers of one group should be alike, α of eq5.
    laplacian_weight : float
        How much similar labels should be answered alike, β of eq5.
    ridge : float
        How much smaller matrices C_m are preferred, in answers. The paper has none (D17).
    weight_exponent : float
        r of eq5, above 1; near 1 the best group takes all, a large one makes groups equal.
    rows : "simplex" or "unit"
        Whether the rows of D_w sum to one (eq5) or have norm one (eq15 to eq18). Both are printed (D4).
    anchor : "consensus" or "self"
        Whether answers are represented by the consensus, or by themselves as printed (D1).
    cells : "asked", "all" or None
        Whether a label that was not asked enters nothing, or is an answer of 0 as printed (D13). None: "asked", and
        "all" if printed.
    cosines : "signed" or "clipped"
        Whether negative cosines between labels count, as printed, or are zero. Only answers of ±1, as in print, have
        negative ones (D14).
    start : "identity", "uniform" or None
        What D_w is before the first round: everybody gives the true label, or any label (D15). None: "identity", and
        "uniform" where workers represent themselves.
    printed : bool
        Follow the print as far as it runs, also in `anchor` and `cells`. For comparison, not for use.
    max_iter, tol
        Stop when the objective changes by less than `tol` in a round, at the latest after `max_iter` rounds; the paper
        has 100, and so has the method `amcc-printed` (D16).
    random_state : int
        Fixes the start of the groups.

    Attributes
    ----------
    commonality_, individuality_, worker_group_, worker_membership_, group_weights_, worker_cost_
        As for all models with groups, see `amcc.consensus.grouped.GroupedModel`. `group_weights_` is λ of eq23.
    individuality_matrices_ : (n_workers, n_labels, n_labels); commonality_matrices_ : (n_groups, n_labels, n_labels)
        D_w and C_m, [true label, given label].
    worker_answer_rates_ : (2, n_workers, n_labels); crowd_rates_ : (2, n_labels)
        Hit and false-alarm rates that votes are judged by (D8).
    vote_weight_ : (n_workers,)
        What a vote counts.
    label_correlation_ : (n_labels, n_labels)
        Cosines between labels, B of eq4.
    objective_history_ : list of float
        eq5 after each round; it falls, unless printed.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> PaperAMCC().fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

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
        ridge: float = 0.0,
        weight_exponent: float = 2.0,
        rows: Rows = "simplex",
        anchor: Anchor = "consensus",
        cells: Cells | None = None,
        cosines: Cosines = "signed",
        start: Start | None = None,
        printed: bool = False,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: int = 0,
    ) -> None:
        self.n_groups = n_groups
        self.hsic_weight = hsic_weight
        self.laplacian_weight = laplacian_weight
        self.ridge = ridge
        self.weight_exponent = weight_exponent
        self.rows = rows
        self.anchor = anchor
        self.cells = cells
        self.cosines = cosines
        self.start = start
        self.printed = printed
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_params(self) -> None:
        PaperSettings(**self.get_params()).check()

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        fit = fit_paper(votes, gold, PaperSettings(**self.get_params()))
        verdict = fit.verdict
        self._publish(fit.monitor)
        self._publish_fit(fit, votes)
        judge = partial(passes.others_pass, votes.coins.slot, votes.pairs.start, verdict.evidence, verdict.prior)
        # Workers are judged by the same evidence as pairs, each vote by the others.
        return Learned(verdict.label_prior, judge, Inferred(verdict.pair_proba))

    def _publish_fit(self, fit: PaperFit, votes: Votes) -> None:
        """Rates and groups as all models with groups have them, and the paper's matrices."""
        state, rates = fit.state, fit.verdict.rates
        worker, label = votes.coins.worker, votes.coins.label
        # Each worker is in one group for sure; other models say with what probability.
        membership = np.eye(state.n_groups)[state.worker_group]
        self._publish_groups(votes.coins, rates.worker[:, worker, label], rates.group, state.group_weights, membership)
        self.worker_cost_: Floats = worker_worth(votes, state.individuality[worker, label, label])  # eq12
        self.label_similarity_ = fit.label_similarity
        self.individuality_matrices_, self.commonality_matrices_ = state.individuality, state.commonality
        self.worker_answer_rates_, self.crowd_rates_ = rates.worker, rates.crowd
        self.vote_weight_ = fit.verdict.vote_weight

    def yes_rates(self) -> Floats:
        """(n_workers, n_labels) D_w(l, l), without what the group does."""
        self.check_fitted()
        return np.diagonal(self.individuality_matrices_, axis1=1, axis2=2)

    @property
    def label_correlation_(self) -> Floats:
        """(n_labels, n_labels) cosines between labels, B of eq4."""
        self.check_fitted()
        return self.label_similarity_

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        worker, label = new_code(votes.worker_names, self.worker_names_), new_code(votes.label_names, self.label_names_)
        if self.printed:
            return Inferred(self._infer_printed(votes, worker, label))
        rates = self.worker_answer_rates_, self.crowd_rates_
        # Priors of new votes are the labels' frequencies as learned; truth is known on none of their pairs.
        evidence = new_evidence(votes, worker, label, *rates, self.vote_weight_)
        return Inferred(consensus(votes, evidence, logit(prior)[votes.pairs.label]))

    def _infer_printed(self, votes: Votes, worker: Ints, label: Ints) -> Floats:
        """eq6 as printed on new votes; a newcomer (−1) has the mean of all D_w."""
        average = self.individuality_matrices_.mean(axis=0)
        own = np.where((worker >= 0)[:, None, None], self.individuality_matrices_[worker], average)
        individuality, commonality = (for_new_votes(each, label) for each in (own, self.commonality_matrices_))
        return printed_consensus(votes, individuality, commonality, self.group_weights_, self.weight_exponent)
