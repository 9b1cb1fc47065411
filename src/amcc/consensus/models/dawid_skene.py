"""Dawid and Skene's model, one per label: every worker has a hit rate and a false-alarm rate for each label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from amcc import passes
from amcc.arrays import Codes, Floats, safe_log, safe_logit, weight_per_code
from amcc.consensus.base import ConsensusModel
from amcc.consensus.learned import Gold, Inferred, Learned
from amcc.consensus.matching import known_or_mean, match_coins
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_rounds
from amcc.consensus.rounds import LabelPrior, first_look, judge_votes, one_round
from amcc.engine.base import Engine
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.passes import Belief
from amcc.votes import Votes

PseudoVotes = tuple[float, float]


class DawidSkene(ConsensusModel, methods={"dawid-skene": {}}):
    """Two coins per worker and label, estimated together with the truth by expectation-maximisation.

    A pair (item, label) is present with probability `prevalence` of the label; a worker says yes to a present label
    with their hit rate and to an absent one with their false-alarm rate. The objective is the log-likelihood of the
    votes plus the log-densities of the Beta priors.

    Parameters
    ----------
    hit_prior, false_alarm_prior : (yes, no)
        Pseudo-votes that every worker starts with on present and on absent labels. The default says that workers
        miss often and invent seldom, and holds rates of workers with few votes in place; with symmetric priors
        sparse data collapse to "everything is uncertain".
    prevalence_prior : (present, absent)
        Pseudo-pairs that every label starts with: most labels are absent from most items.
    max_iter, tol
        Stop when no probability moves by more than `tol` in a round.

    Attributes
    ----------
    coin_worker_, coin_label_ : (n_coins,) int32
        The (worker, label) combinations that occur.
    hit_rate_, false_alarm_rate_ : (n_coins,)
    average_hit_rate_, average_false_alarm_rate_ : (n_labels,)
        Of all workers together; what a newcomer counts as.

    Notes
    -----
    All labels run side by side; one round is one pass over the votes. Votes that were not asked enter no sum.

    References
    ----------
    A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the EM algorithm,
    Applied Statistics 28 (1979).

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> DawidSkene().fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    learns_in_blocks = True

    coin_worker_: Annotated[Codes, Each("coin", code="worker")]
    coin_label_: Annotated[Codes, Each("coin", code="label")]
    hit_rate_: Annotated[Floats, Each("coin", share=True)]
    false_alarm_rate_: Annotated[Floats, Each("coin", share=True)]
    average_hit_rate_: Annotated[Floats, Each("label", share=True)]
    average_false_alarm_rate_: Annotated[Floats, Each("label", share=True)]

    def __init__(
        self,
        *,
        hit_prior: PseudoVotes = (2.8, 1.2),
        false_alarm_prior: PseudoVotes = (1.0, 19.0),
        prevalence_prior: PseudoVotes = (1.0, 4.0),
        max_iter: int = 500,
        tol: float = 1e-4,
    ) -> None:
        self.hit_prior = hit_prior
        self.false_alarm_prior = false_alarm_prior
        self.prevalence_prior = prevalence_prior
        self.max_iter = max_iter
        self.tol = tol

    def _check_params(self) -> None:
        for name in ("hit_prior", "false_alarm_prior", "prevalence_prior"):
            prior = getattr(self, name)
            if len(prior) != 2 or not all(np.isfinite(count) and count >= 0 for count in prior):
                raise ParameterError(f"{name} must be two numbers >= 0; got {prior!r}.")
        check_rounds(self.max_iter, self.tol)

    def _learn(self, engine: Engine) -> Learned:
        """Expectation and maximisation in turn, until no probability moves."""
        slot_votes, asked, present, label_present = engine.total(first_look, None)
        at = engine.recall("rounds", Rounds) or Rounds(present, label_present, present, label_present, None, (), np.inf)
        monitor = Monitor(self.tol, self.max_iter, at.history, at.change)
        for _ in monitor.rounds():
            prevalence = self._prevalence(at.label_present, asked)
            hit, false_alarm = self._rates(at.present, slot_votes)
            belief = Belief(slot_evidence(hit, false_alarm), safe_logit(prevalence))
            step = engine.total(one_round, belief, at.belief)
            objective = self._objective(step.log_odds_sum, slot_votes, asked, hit, false_alarm, prevalence)
            monitor.report(objective, step.change)
            course = tuple(monitor.history), monitor.change
            at = Rounds(step.present, step.label_present, at.present, at.label_present, belief, *course)
            engine.keep("rounds", at)
        prevalence = self._prevalence(at.label_present_before, asked)
        hit, false_alarm = self._rates(at.present_before, slot_votes)
        monitor.warn_unless_converged(type(self).__name__)
        self.objective_history_, self.n_iter_, self.converged_ = (
            monitor.history,
            len(monitor.history),
            monitor.converged,
        )
        self.coin_worker_, self.coin_label_ = engine.coins.worker, engine.coins.label
        self.hit_rate_, self.false_alarm_rate_ = hit, false_alarm
        self.average_hit_rate_, self.average_false_alarm_rate_ = self._averages(engine, at.present, slot_votes)
        evidence, prior = slot_evidence(hit, false_alarm), LabelPrior(safe_logit(prevalence))
        return Learned(prevalence, partial(engine.total, judge_votes, evidence, prior))

    def _prevalence(self, present: Floats, asked: Floats) -> Floats:
        """M-step of the labels: the share of asked pairs where each is present."""
        return _ratio(present + self.prevalence_prior[0], asked + sum(self.prevalence_prior))

    def _rates(self, present: Floats, slot_votes: Floats) -> tuple[Floats, Floats]:
        """M-step of the coins: hit and false-alarm rate of each (worker, label) that occurs."""
        absent = np.maximum(slot_votes - present, 0.0)
        return _share_of_yes(present, self.hit_prior), _share_of_yes(absent, self.false_alarm_prior)

    def _averages(self, votes: Votes | Engine, present: Floats, slot_votes: Floats) -> tuple[Floats, Floats]:
        """Rates of all workers together, label by label."""

        def pooled(weight: Floats) -> Floats:
            yes_no = np.empty((votes.n_labels, 2))
            for answer in (0, 1):
                yes_no[:, answer] = weight_per_code(votes.coins.label, weight[answer::2], votes.n_labels)
            return yes_no.ravel()

        return self._rates(pooled(present), pooled(slot_votes))

    def _objective(
        self,
        log_odds_sum: float,
        slot_votes: Floats,
        asked: Floats,
        hit: Floats,
        false_alarm: Floats,
        prevalence: Floats,
    ) -> float:
        """Log-likelihood of the votes plus log-priors, at the parameters of the pass.

        A pair's likelihood is (its likelihood if absent) · (1 + odds); the first factor needs no pass over votes.
        """
        if_absent = safe_log(np.stack([1 - false_alarm, false_alarm], axis=1)).ravel()
        likelihood = (slot_votes * if_absent).sum() + (asked * safe_log(1 - prevalence)).sum() + log_odds_sum
        return float(
            likelihood
            + log_prior(hit, self.hit_prior)
            + log_prior(false_alarm, self.false_alarm_prior)
            + log_prior(prevalence, self.prevalence_prior)
        )

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        coins = match_coins(votes, self.worker_names_, self.label_names_, self.coin_worker_, self.coin_label_)

        def rates(of_coin: Floats, of_label: Floats) -> Floats:
            return np.where(coins.met, of_coin[coins.place], known_or_mean(of_label, coins.label))

        evidence = slot_evidence(
            rates(self.hit_rate_, self.average_hit_rate_),
            rates(self.false_alarm_rate_, self.average_false_alarm_rate_),
        )
        log_odds = safe_logit(prior)[votes.pairs.label]
        return Inferred(passes.posterior_pass(votes.coins.slot, votes.pairs.start, evidence, log_odds).proba)


@dataclass(frozen=True)
class Rounds:
    """Where expectation and maximisation stand.

    present, label_present : what the last round found, see `rounds.Step`; those before it gave its `belief`
    history, change : the objective in every round, and the last change
    """

    present: Annotated[Floats, Each("slot")]
    label_present: Annotated[Floats, Each("label")]
    present_before: Annotated[Floats, Each("slot")]
    label_present_before: Annotated[Floats, Each("label")]
    belief: Belief | None
    history: tuple[float, ...]
    change: float


def slot_evidence(hit: Floats, false_alarm: Floats) -> Floats:
    """(2 · n_coins,) log-odds that a no and a yes of each coin add to "present"."""
    no, yes = safe_log(1 - hit) - safe_log(1 - false_alarm), safe_log(hit) - safe_log(false_alarm)
    evidence: Floats = np.stack([no, yes], axis=1).ravel()
    return evidence


def _share_of_yes(slot_weight: Floats, prior: PseudoVotes) -> Floats:
    no, yes = slot_weight[0::2], slot_weight[1::2]
    return _ratio(yes + prior[0], no + yes + sum(prior))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Share; one half where there is neither data nor prior."""
    share: Floats = np.divide(part, whole, out=np.full(len(whole), 0.5), where=whole > 0)
    return share


def log_prior(rate: Floats, prior: PseudoVotes) -> float:
    """Log-density of Beta(1 + yes, 1 + no), whose mode the M-step finds, without its constant."""
    return float((prior[0] * safe_log(rate) + prior[1] * safe_log(1 - rate)).sum())
