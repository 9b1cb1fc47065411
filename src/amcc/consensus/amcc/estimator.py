"""AMCC: the estimator. Checks, fits one of the losses, publishes the same attributes whichever ran."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from amcc import kernels
from amcc.consensus.amcc.likelihood import Counts, Crowd, fit_likelihood
from amcc.consensus.amcc.likelihood import slot_evidence as crowd_evidence
from amcc.consensus.base import ConsensusModel, Gold, Posterior, match_coins
from amcc.errors import ParameterError
from amcc.kernels import Floats
from amcc.tables import Codes
from amcc.votes import Votes


class AMCC(ConsensusModel):
    """Consensus from groups of alike workers: commonality of the group plus individuality of the worker.

    Parameters
    ----------
    n_groups : int, default 5
        Groups of workers (M in the paper). More than the data need do no harm: they stay empty or alike.
    max_iter, tol
        Stop when no probability moves by more than `tol` in a round.

    Attributes
    ----------
    commonality_ : (2, n_groups, n_labels)
        Usual hit rate and false-alarm rate of each group on each label.
    group_weights_ : (n_groups,)
        How informative each group is, in shares; spammers come last.
    worker_group_ : (n_workers,) int
        The group that explains each worker best.
    worker_membership_ : (n_workers, n_groups)
        Probabilities of all groups.

    Notes
    -----
    The model is described in `amcc.consensus.amcc.likelihood`. Its objective rises at every round.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> AMCC().fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(self, *, n_groups: int = 5, max_iter: int = 500, tol: float = 1e-4) -> None:
        self.n_groups = n_groups
        self.max_iter = max_iter
        self.tol = tol

    def _check_params(self) -> None:
        for name in ("n_groups", "max_iter"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} must be at least 1; got {getattr(self, name)!r}.")
        if not self.tol > 0:
            raise ParameterError(f"tol must be positive; got {self.tol!r}.")

    def _fit(self, votes: Votes, features: Floats | None, gold: Gold) -> Posterior:
        fit = fit_likelihood(votes, gold, n_groups=self.n_groups, max_iter=self.max_iter, tol=self.tol)
        fit.monitor.warn_unless_converged("AMCC")
        history = fit.monitor.history
        self.objective_history_, self.n_iter_, self.converged_ = history, len(history), fit.monitor.converged
        self._publish(fit.crowd)
        self.coin_worker_, self.coin_label_ = votes.coins.worker, votes.coins.label
        self.coin_evidence_ = fit.evidence.reshape(-1, 2)
        judge = partial(kernels.others_pass, votes.coins.slot, votes.pairs.start, fit.evidence, fit.prior)
        return Posterior(fit.pair_proba, fit.label_prior, judge)

    def _publish(self, crowd: Crowd) -> None:
        informativeness = (crowd.hit.commonality - crowd.false_alarm.commonality).mean(axis=1)
        order = np.argsort(-informativeness, kind="stable")
        self.commonality_ = np.stack([crowd.hit.commonality[order], crowd.false_alarm.commonality[order]])
        positive = np.maximum(informativeness[order], 1e-6)
        self.group_weights_ = positive / positive.sum()
        self.worker_membership_ = crowd.member[:, order]
        self.worker_group_ = self.worker_membership_.argmax(axis=1).astype(np.int32)
        self.newcomer_evidence_ = _newcomer_evidence(crowd)

    def _infer(self, votes: Votes, prior: Floats) -> Floats:
        coins = match_coins(votes, self.worker_names_, self.label_names_, self.coin_worker_, self.coin_label_)
        known_label = coins.label[:, None] >= 0
        newcomer = np.where(known_label, self.newcomer_evidence_[coins.label], self.newcomer_evidence_.mean(axis=0))
        evidence = np.where(coins.met[:, None], self.coin_evidence_[coins.place], newcomer).ravel()
        log_odds = np.log(prior / (1 - prior))[votes.pairs.label]
        return kernels.posterior_pass(votes.coins.slot, votes.pairs.start, evidence, log_odds).proba

    def _groups(self) -> tuple[npt.NDArray[np.int32], Floats]:
        return self.worker_group_, self.group_weights_[self.worker_group_]


def _newcomer_evidence(crowd: Crowd) -> Floats:
    """(n_labels, 2) what a no and a yes of a worker without a history are worth."""
    n_labels = len(crowd.hit.label)
    label: Codes = np.arange(n_labels, dtype=np.int32)
    nothing = Counts(np.zeros(n_labels), np.zeros(n_labels))
    stranger = Crowd(crowd.hit, crowd.false_alarm, np.exp(crowd.share)[None] / np.exp(crowd.share).sum(), crowd.share)
    return crowd_evidence(stranger, np.zeros(n_labels, np.int32), label, nothing, nothing).reshape(n_labels, 2)
