"""Independent Bayesian classifier combination: Dawid and Skene's coins, known only as distributions.

Where `DawidSkene` looks for the best rates, this model keeps counts that say how likely every rate is. A worker with
three votes then adds less evidence than one with three hundred, even where both have the same share of yes.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from amcc import passes
from amcc.arrays import Floats, weight_per_code
from amcc.consensus.coins import CoinModel, count_slots, judge_later, met_present_labels, start_from_shares
from amcc.consensus.dirichlet import confusion_prior, dirichlet_divergence, expected_log, log_mean, pooled_counts
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import known_or_mean, new_code
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_at_least_one, check_positive
from amcc.engine.base import Engine
from amcc.fields import Each
from amcc.votes import Votes


class IBCC(CoinModel, methods={"ibcc": {}}):
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

    answer_counts_: Annotated[Floats, Each("coin", 2, 2)]
    class_counts_: Annotated[Floats, Each("label", 2)]
    average_evidence_: Annotated[Floats, Each("label", 2)]

    def __init__(
        self, *, right_prior: float = 4.0, wrong_prior: float = 1.0, class_prior: float = 1.0, max_iter: int = 500,
        tol: float = 1e-3,
    ) -> None:  # fmt: skip
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
        pairs, slot_votes = votes.pairs, count_slots(votes)
        asked = weight_per_code(pairs.label, np.ones(len(pairs)), votes.n_labels)
        proba = start_from_shares(votes, gold)
        present = met_present_labels(votes, proba)
        monitor = Monitor(self.tol, self.max_iter)
        for _ in monitor.rounds():
            # Counts first, then expected logs, then probabilities: the order of the authors' code.
            class_counts = by_truth(weight_per_code(pairs.label, proba, votes.n_labels), asked) + self.class_prior
            answer_counts = _answers_by_truth(present, slot_votes) + self._answer_prior
            log_class, log_answer = expected_log(class_counts), expected_log(answer_counts)
            evidence = _log_odds(log_answer).ravel()
            prior = gold.log_odds(_log_odds(log_class)[pairs.label])
            step = passes.posterior_pass(votes.coins.slot, pairs.start, evidence, prior, proba)
            # As for a likelihood: all votes as if every label were absent, times (1 + odds) of each pair. The bound on
            # the evidence is that of the expected logs, less the price of leaving the priors.
            bound = slot_votes @ log_answer[:, 0].ravel() + asked @ log_class[:, 0] + step.log_odds_sum
            bound -= dirichlet_divergence(answer_counts, self._answer_prior).sum()
            bound -= dirichlet_divergence(class_counts, np.full(2, self.class_prior)).sum()
            monitor.report(float(bound), step.change)
            proba, present = step.proba, step.present
        self._publish(monitor)
        self._keep_coins(votes)
        self.answer_counts_, self.class_counts_ = answer_counts, class_counts
        gained = answer_counts - self._answer_prior
        pooled = pooled_counts(self._answer_prior, gained, votes.coins.label, votes.n_labels)
        # So many votes are behind an average worker that the mean will do; expected logs are for single coins.
        self.average_evidence_ = _log_odds(log_mean(pooled))
        label = class_counts[:, 1] / class_counts.sum(axis=1)
        return Learned(label, judge_later(votes, evidence, prior), Inferred(proba))

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        of_coin = _log_odds(expected_log(self.answer_counts_))
        evidence = self._match_coins(votes).learned_or_average(of_coin, self.average_evidence_)
        label = new_code(votes.label_names, self.label_names_)
        # Not `prior`, which is the mean of the class probabilities, but its expected logs, as in the rounds of `fit`.
        log_odds = known_or_mean(_log_odds(expected_log(self.class_counts_)), label)[votes.pairs.label]
        return Inferred(passes.posterior_pass(votes.coins.slot, votes.pairs.start, evidence.ravel(), log_odds).proba)


def by_truth(present: Floats, total: Floats) -> Floats:
    """(…, 2) weight on absent and on present."""
    # Sums of probabilities may end a rounding above the number of their pairs.
    return np.stack([np.maximum(total - present, 0.0), present], axis=-1)


def _answers_by_truth(present: Floats, slot_votes: Floats) -> Floats:
    """(n_coins, 2, 2) expected votes, [coin, truth, answer]."""
    # `by_truth` puts the truth last; it belongs before the answer, so that answers sum along the last axis.
    return by_truth(present.reshape(-1, 2), slot_votes.reshape(-1, 2)).swapaxes(1, 2)


def _log_odds(log_of_truth: Floats) -> Floats:
    """Present minus absent, along the axis of the truth, the second."""
    return np.asarray(log_of_truth[:, 1] - log_of_truth[:, 0], dtype=np.float64)
