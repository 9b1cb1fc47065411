"""Independent Bayesian classifier combination: Dawid and Skene's coins, known only as distributions."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np
from scipy.special import digamma, gammaln

from amcc import passes
from amcc.arrays import Codes, Floats, weight_per_code
from amcc.consensus.base import ConsensusModel
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import CoinMatch, known_or_mean, match_coins, new_code
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_at_least_one, check_positive
from amcc.engine.base import Engine
from amcc.fields import Each
from amcc.votes import Votes


class IBCC(ConsensusModel, methods={"ibcc": {}}):
    """A confusion matrix per worker and label with a Dirichlet prior, by variational inference.

    A pair (item, label) is present or absent by the label's class probabilities, and a worker's answer follows the
    row of their confusion matrix for that truth. Both have Dirichlet priors, so a worker with few votes counts for
    little and nobody is ever certain. The objective is the variational bound on the log-evidence of the votes.

    Parameters
    ----------
    right_prior, wrong_prior : float
        Pseudo-votes on the diagonal and off the diagonal of every confusion matrix. Their ratio says how good workers
        are before they are known, their sum how many votes it takes to change that.
    class_prior : float
        Pseudo-pairs of "present" and of "absent" that every label starts with.
    max_iter, tol
        Stop when no probability moves by more than `tol` in a round.

    Attributes
    ----------
    coin_worker_, coin_label_ : (n_coins,) int32
        The (worker, label) combinations that occur.
    answer_counts_ : (n_coins, 2, 2)
        Dirichlet counts, [coin, truth, answer] with 0 = absent or no and 1 = present or yes.
    class_counts_ : (n_labels, 2)
        The same for the labels: absent, present.
    average_evidence_ : (n_labels, 2)
        Log-odds that a no and a yes of an average worker add; what a newcomer counts as.

    Notes
    -----
    ORIGINAL, read in the code of Li, Rubinstein and Cohn: the priors (4, 1) and 1, the start from vote shares, the
    order of the updates and the stop at a change of .001. OURS: one model per label; votes that were not asked enter
    no sum; known truth is clamped.

    One round is one pass over the votes. The prior expects a false alarm in every fifth vote: where workers have few
    votes on each label and labels are rare, it drowns true labels, and a smaller one of the same ratio is better.

    References
    ----------
    H.-C. Kim and Z. Ghahramani, Bayesian classifier combination, AISTATS 2012.
    Y. Li, B. I. P. Rubinstein and T. Cohn, Truth inference at scale, WWW 2019.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> IBCC().fit(votes).predict_proba().round(2).tolist()
    [[0.95, 0.06], [0.02, 0.99]]
    """

    coin_worker_: Annotated[Codes, Each("coin", code="worker")]
    coin_label_: Annotated[Codes, Each("coin", code="label")]
    answer_counts_: Annotated[Floats, Each("coin", 2, 2)]
    class_counts_: Annotated[Floats, Each("label", 2)]
    average_evidence_: Annotated[Floats, Each("label", 2)]

    def __init__(
        self,
        *,
        right_prior: float = 4.0,
        wrong_prior: float = 1.0,
        class_prior: float = 1.0,
        max_iter: int = 500,
        tol: float = 1e-3,
    ) -> None:
        self.right_prior = right_prior
        self.wrong_prior = wrong_prior
        self.class_prior = class_prior
        self.max_iter = max_iter
        self.tol = tol

    def _check_params(self) -> None:
        for name in ("right_prior", "wrong_prior", "class_prior", "tol"):
            check_positive(name, getattr(self, name))
        check_at_least_one("max_iter", self.max_iter)

    @property
    def _answer_prior(self) -> Floats:
        """(2, 2) pseudo-votes, [truth, answer]."""
        return confusion_prior(self.right_prior, self.wrong_prior)

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        coins, pairs = votes.coins, votes.pairs
        slot_votes = np.bincount(coins.slot, minlength=2 * len(coins)).astype(np.float64)
        asked = weight_per_code(pairs.label, np.ones(len(pairs)), votes.n_labels)
        proba = np.where(gold.known, gold.present, votes.n_yes / pairs.n_votes)
        present = weight_per_code(coins.slot, np.repeat(proba, pairs.n_votes), len(slot_votes))
        monitor = Monitor(self.tol, self.max_iter)
        for _ in monitor.rounds():
            class_counts = by_truth(weight_per_code(pairs.label, proba, votes.n_labels), asked) + self.class_prior
            answer_counts = _answers_by_truth(present, slot_votes) + self._answer_prior
            log_class, log_answer = expected_log(class_counts), expected_log(answer_counts)
            evidence = _log_odds(log_answer).ravel()
            prior = gold.log_odds(_log_odds(log_class)[pairs.label])
            step = passes.posterior_pass(coins.slot, pairs.start, evidence, prior, proba)
            bound = slot_votes @ log_answer[:, 0].ravel() + asked @ log_class[:, 0] + step.log_odds_sum
            bound -= dirichlet_divergence(answer_counts, self._answer_prior).sum()
            bound -= dirichlet_divergence(class_counts, np.full(2, self.class_prior)).sum()
            monitor.report(float(bound), step.change)
            proba, present = step.proba, step.present
        self._publish(monitor)
        self.coin_worker_, self.coin_label_ = coins.worker, coins.label
        self.answer_counts_, self.class_counts_ = answer_counts, class_counts
        self.average_evidence_ = _log_odds(log_mean(self._pooled(votes, answer_counts)))
        return Learned(
            class_counts[:, 1] / class_counts.sum(axis=1),
            partial(passes.others_pass, coins.slot, pairs.start, evidence, prior),
            Inferred(proba),
        )

    def _pooled(self, votes: Votes, answer_counts: Floats) -> Floats:
        """(n_labels, 2, 2) counts of all workers together."""
        pooled = np.tile(self._answer_prior, (votes.n_labels, 1, 1))
        np.add.at(pooled, votes.coins.label, answer_counts - self._answer_prior)
        return pooled

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        coins = match_coins(votes, self.worker_names_, self.label_names_, self.coin_worker_, self.coin_label_)
        evidence = learned_or_average(coins, _log_odds(expected_log(self.answer_counts_)), self.average_evidence_)
        label = new_code(votes.label_names, self.label_names_)
        log_odds = known_or_mean(_log_odds(expected_log(self.class_counts_)), label)[votes.pairs.label]
        return Inferred(passes.posterior_pass(votes.coins.slot, votes.pairs.start, evidence.ravel(), log_odds).proba)


def confusion_prior(right: float, wrong: float) -> Floats:
    """(2, 2) pseudo-votes, [truth, answer]."""
    return np.array([[right, wrong], [wrong, right]])


def by_truth(present: Floats, total: Floats) -> Floats:
    """(…, 2) weight on absent and on present."""
    return np.stack([np.maximum(total - present, 0.0), present], axis=-1)


def _answers_by_truth(present: Floats, slot_votes: Floats) -> Floats:
    """(n_coins, 2, 2) expected votes, [coin, truth, answer]."""
    return by_truth(present.reshape(-1, 2), slot_votes.reshape(-1, 2)).swapaxes(1, 2)


def expected_log(counts: Floats) -> Floats:
    """E log θ under Dirichlet(counts), along the last axis."""
    return np.asarray(digamma(counts) - digamma(counts.sum(axis=-1, keepdims=True)), dtype=np.float64)


def log_mean(counts: Floats) -> Floats:
    """Log E θ under Dirichlet(counts), along the last axis."""
    return np.asarray(np.log(counts / counts.sum(axis=-1, keepdims=True)), dtype=np.float64)


def dirichlet_divergence(counts: Floats, prior: Floats, log: Floats | None = None) -> Floats:
    """Kullback–Leibler divergence of Dirichlet(counts) from Dirichlet(prior), along the last axis.

    `log` is `expected_log(counts)`, for those who have it already.

    >>> dirichlet_divergence(np.array([[2.0, 1.0], [1.0, 1.0]]), np.ones(2)).round(6).tolist()  # log 2 − 1/2
    [0.193147, 0.0]
    """
    normaliser = gammaln(counts.sum(axis=-1)) - gammaln(counts).sum(axis=-1)
    prior_normaliser = gammaln(prior.sum(axis=-1)) - gammaln(prior).sum(axis=-1)
    gain = ((counts - prior) * (expected_log(counts) if log is None else log)).sum(axis=-1)
    return np.asarray(normaliser - prior_normaliser + gain, dtype=np.float64)


def learned_or_average(coins: CoinMatch, of_coin: Floats, of_label: Floats) -> Floats:
    """(n_coins, …) of new votes: what was learned about a coin, else its label's average, else that of all labels."""
    average = np.concatenate([of_label, of_label.mean(axis=0, keepdims=True)])[coins.label]  # −1: the last row
    average[coins.met] = of_coin[coins.place[coins.met]]
    return average


def _log_odds(log_of_truth: Floats) -> Floats:
    """Present minus absent, along the axis of the truth, the second."""
    return np.asarray(log_of_truth[:, 1] - log_of_truth[:, 0], dtype=np.float64)
