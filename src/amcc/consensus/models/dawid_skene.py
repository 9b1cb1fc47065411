"""Dawid and Skene's model, one per label: every worker has a hit rate and a false-alarm rate for each label.

The oldest model that judges workers and truth together, and the parent of `CDS` and `DSTree`. It looks at votes through
an engine only, so it also learns from votes that do not fit in memory, and can go on after an interruption.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np

from amcc import passes
from amcc.arrays import Floats, safe_log, safe_logit, weight_per_code
from amcc.consensus.coins import CoinModel, label_slots, log_answers, pair_evidence
from amcc.consensus.learned import Gold, Inferred, Learned
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_pseudo_counts, check_rounds
from amcc.consensus.rounds import LabelPrior, first_look, judge_votes, one_round
from amcc.engine.base import Engine
from amcc.fields import Each
from amcc.passes import Belief
from amcc.votes import Votes

PseudoVotes = tuple[float, float]  # of yes and of no, or of present and of absent


class DawidSkene(CoinModel, methods={"dawid-skene": {}}):
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

    hit_rate_: Annotated[Floats, Each("coin", share=True)]
    false_alarm_rate_: Annotated[Floats, Each("coin", share=True)]
    average_hit_rate_: Annotated[Floats, Each("label", share=True)]
    average_false_alarm_rate_: Annotated[Floats, Each("label", share=True)]

    def __init__(
        self, *, hit_prior: PseudoVotes = (2.8, 1.2), false_alarm_prior: PseudoVotes = (1.0, 19.0),
        prevalence_prior: PseudoVotes = (1.0, 4.0), max_iter: int = 500, tol: float = 1e-4,
    ) -> None:  # fmt: skip
        self.hit_prior = hit_prior
        self.false_alarm_prior = false_alarm_prior
        self.prevalence_prior = prevalence_prior
        self.max_iter = max_iter
        self.tol = tol

    def _check_params(self) -> None:
        for name in ("hit_prior", "false_alarm_prior", "prevalence_prior"):
            check_pseudo_counts(name, getattr(self, name))
        check_rounds(self.max_iter, self.tol)

    def _learn(self, engine: Engine) -> Learned:
        """Expectation and maximisation in turn, until no probability moves."""
        slot_votes, asked, present, label_present, _ = engine.total(first_look, None)
        # The rates before the last step are kept as well: an interrupted fit must end exactly where a whole one does.
        start = DawidSkeneRounds(present, label_present, present, label_present, None, (), np.inf)
        at = engine.recall("rounds", DawidSkeneRounds) or start
        monitor = Monitor(self.tol, self.max_iter, at.history, at.change)
        for _ in monitor.rounds():
            prevalence = self._prevalence(at.label_present, asked)
            hit, false_alarm = self._rates(at.present, slot_votes)
            belief = Belief(slot_evidence(hit, false_alarm), safe_logit(prevalence))
            step = engine.total(one_round, belief, at.belief)
            objective = self._objective(step.log_odds_sum, slot_votes, asked, hit, false_alarm, prevalence)
            monitor.report(objective, step.change)
            so_far = tuple(monitor.history), monitor.change
            at = DawidSkeneRounds(step.present, step.label_present, at.present, at.label_present, belief, *so_far)
            engine.keep("rounds", at)
        # The rates that gave the last probabilities, not those that these would give: both must belong together.
        prevalence = self._prevalence(at.label_present_before, asked)
        hit, false_alarm = self._rates(at.present_before, slot_votes)
        self._publish(monitor)
        self._keep_coins(engine)
        self._set_rates(hit, false_alarm, *self._averages(engine, at.present, slot_votes))
        evidence, prior = slot_evidence(hit, false_alarm), LabelPrior(safe_logit(prevalence))
        return Learned(prevalence, partial(engine.total, judge_votes, evidence, prior))

    def _set_rates(self, hit: Floats, false_alarm: Floats, average_hit: Floats, average_false_alarm: Floats) -> None:
        self.hit_rate_, self.false_alarm_rate_ = hit, false_alarm
        self.average_hit_rate_, self.average_false_alarm_rate_ = average_hit, average_false_alarm

    def _prevalence(self, present: Floats, asked: Floats) -> Floats:
        """M-step of the labels: the share of asked pairs where each is present."""
        # The mode of the posterior: pseudo-pairs are added to both sides of the ratio.
        return _ratio(present + self.prevalence_prior[0], asked + sum(self.prevalence_prior))

    def _rates(self, present: Floats, slot_votes: Floats) -> tuple[Floats, Floats]:
        """M-step of the coins: hit and false-alarm rate of each (worker, label) that occurs."""
        absent = np.maximum(slot_votes - present, 0.0)  # rounding may carry the difference below nothing
        return _share_of_yes(present, self.hit_prior), _share_of_yes(absent, self.false_alarm_prior)

    def _averages(self, votes: Votes | Engine, present: Floats, slot_votes: Floats) -> tuple[Floats, Floats]:
        """Rates of all workers together, label by label: as if one worker had given all votes."""
        of_label = label_slots(votes.coins)
        pooled = (weight_per_code(of_label, weight, 2 * votes.n_labels) for weight in (present, slot_votes))
        return self._rates(*pooled)

    def _objective(
        self, log_odds_sum: float, slot_votes: Floats, asked: Floats, hit: Floats, false_alarm: Floats,
        prevalence: Floats,
    ) -> float:  # fmt: skip
        """Log-likelihood of the votes plus log-priors, at the parameters of the pass.

        A pair's likelihood is (its likelihood if absent) · (1 + odds); the first factor needs no pass over votes.
        """
        # Summed by slot and by label, not by vote: equal votes have equal logs.
        if_absent = (slot_votes * log_answers(false_alarm)).sum()
        likelihood = if_absent + (asked * safe_log(1 - prevalence)).sum() + log_odds_sum
        return float(
            likelihood
            + log_prior(hit, self.hit_prior)
            + log_prior(false_alarm, self.false_alarm_prior)
            + log_prior(prevalence, self.prevalence_prior)
        )

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        coins = self._match_coins(votes)
        hit = coins.learned_or_average(self.hit_rate_, self.average_hit_rate_)
        false_alarm = coins.learned_or_average(self.false_alarm_rate_, self.average_false_alarm_rate_)
        log_odds, evidence = safe_logit(prior)[votes.pairs.label], slot_evidence(hit, false_alarm)
        return Inferred(passes.posterior_pass(votes.coins.slot, votes.pairs.start, evidence, log_odds).proba)

    def _evidence_of_pairs(self, votes: Votes) -> Floats:
        """(n_pairs,) evidence of new votes by the learned coins, for models that go on from there.

        A new label has the average evidence of all labels, where `_infer` takes the evidence of average rates.
        """
        of_coin = slot_evidence(self.hit_rate_, self.false_alarm_rate_).reshape(-1, 2)
        of_label = slot_evidence(self.average_hit_rate_, self.average_false_alarm_rate_).reshape(-1, 2)
        return pair_evidence(votes, self._match_coins(votes).learned_or_average(of_coin, of_label).ravel())


@dataclass(frozen=True)
class DawidSkeneRounds:
    """Where expectation and maximisation stand: what a checkpoint holds.

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
    return log_answers(hit) - log_answers(false_alarm)


def _share_of_yes(slot_weight: Floats, prior: PseudoVotes) -> Floats:
    """(n_coins,) share of yes in the weights of two slots each, with pseudo-votes."""
    # Slots of a coin stand side by side, the no first.
    no, yes = slot_weight[0::2], slot_weight[1::2]
    return _ratio(yes + prior[0], no + yes + sum(prior))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Share; one half where there is neither data nor prior."""
    share: Floats = np.divide(part, whole, out=np.full(len(whole), 0.5), where=whole > 0)
    return share


def log_prior(rate: Floats, prior: PseudoVotes) -> float:
    """Log-density of Beta(1 + yes, 1 + no) without its constant; the M-step finds its mode."""
    return float((prior[0] * safe_log(rate) + prior[1] * safe_log(1 - rate)).sum())
