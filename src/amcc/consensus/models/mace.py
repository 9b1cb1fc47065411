"""MACE: every worker either knows the answer or spams.

A vote is one of two things: known, and then right, or spam, and then drawn from the worker's habit. The model learns
for each worker and label how often they spam and what they say when they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from amcc.arrays import Floats, sigmoid, weight_per_code
from amcc.consensus.averages import mean_per_code
from amcc.consensus.coins import CoinModel, count_slots, judge_later, met_present_labels, pair_evidence
from amcc.consensus.dirichlet import dirichlet_divergence, expected_log, log_mean, pooled_counts
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_at_least_one, check_positive, check_pseudo_counts, check_seed
from amcc.consensus.restarts import RandomStarts, Restarts
from amcc.engine.base import Engine
from amcc.fields import Each
from amcc.votes import Votes

PseudoVotes = tuple[float, float]


class MACE(CoinModel, methods={"mace": {}}):
    """A worker spams with a probability of their own and then answers by habit; otherwise they answer right.

    For each worker and label, P(answer | truth) = spam · habit[answer] + know · [answer = truth]. Present and absent
    are equally likely beforehand. Spam rates and habits have Beta priors and are estimated together with the truth by
    variational inference, from several random starts; each label keeps the start with the best bound on the evidence.

    Parameters
    ----------
    spam_prior : (spam, know)
        Pseudo-votes that every worker starts with on whether they spam. Below one: they mostly do or mostly do not.
    habit_prior : float
        Pseudo-votes of a spammer on yes and on no. The larger, the more a spammer looks like a thrown coin.
    n_restarts : int
        Random starts.
    noise : float
        Starts draw each weight between 1 and 1 + `noise` before they sum to one.
    random_state : int
    max_iter, tol
        Stop when no probability moves by more than `tol` in a round.

    Attributes
    ----------
    coin_worker_, coin_label_ : (n_coins,) int32
        The (worker, label) combinations that occur.
    spam_counts_ : (n_coins, 2)
        Beta counts of spamming and of knowing.
    habit_counts_ : (n_coins, 2)
        Beta counts of no and of yes when spamming.
    average_evidence_ : (n_labels, 2)
        Log-odds that a no and a yes of an average worker add; what a newcomer counts as.

    Notes
    -----
    ORIGINAL, read in crowd-kit's code: the model, the priors, the variational updates, ten starts. OURS: all in logs;
    starts that differ (there a fixed seed makes all alike); the choice among them by the bound that the updates raise
    instead of the likelihood; a stop at convergence instead of after 50 rounds; one model per label; a pair that
    nobody was asked about gets its label's mean probability, for the model itself has no prevalence.

    Because a yes is always evidence for a label and the classes are equally likely beforehand, MACE gives more labels
    than other models where labels are rare.

    References
    ----------
    D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy, Learning whom to trust with MACE, NAACL 2013.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> MACE().fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    spam_counts_: Annotated[Floats, Each("coin", 2)]
    habit_counts_: Annotated[Floats, Each("coin", 2)]
    average_evidence_: Annotated[Floats, Each("label", 2)]

    def __init__(
        self, *, spam_prior: PseudoVotes = (0.5, 0.5), habit_prior: float = 10.0, n_restarts: int = 10,
        noise: float = 0.5, random_state: int = 0, max_iter: int = 500, tol: float = 1e-3,
    ) -> None:  # fmt: skip
        self.spam_prior = spam_prior
        self.habit_prior = habit_prior
        self.n_restarts = n_restarts
        self.noise = noise
        self.random_state = random_state
        self.max_iter = max_iter
        self.tol = tol

    def _check_params(self) -> None:
        check_pseudo_counts("spam_prior", self.spam_prior, positive=True)
        for name in ("habit_prior", "noise", "tol"):
            check_positive(name, getattr(self, name))
        for name in ("n_restarts", "max_iter"):
            check_at_least_one(name, getattr(self, name))
        check_seed(self.random_state)

    @property
    def _priors(self) -> MaceCounts:
        """(2,) pseudo-votes of spamming and knowing, and of no and yes when spamming."""
        return MaceCounts(np.array(self.spam_prior), np.full(2, self.habit_prior))

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        coins, pairs = votes.coins, votes.pairs
        prior = gold.log_odds(np.zeros(len(pairs)))  # present and absent are equally likely beforehand
        slot_votes = count_slots(votes).reshape(-1, 2)
        draws = RandomStarts(votes, self.random_state)
        runs = Restarts(votes.n_labels)
        best = MaceCounts(*np.zeros((2, len(coins), 2)))
        for restart in range(self.n_restarts):
            counts = self._start(votes, slot_votes, prior, draws.per_worker(restart, 4)[coins.worker])
            counts, bounds, monitor = self._run(votes, slot_votes, prior, counts)
            better = runs.add(bounds, monitor)[coins.label]
            # Coins belong to one label each, so every label can take its counts from another run.
            for kept, new in zip(best, counts, strict=True):
                kept[better] = new[better]
        self._publish(runs.monitor())
        logs = AnswerLogs.expected(best)
        proba = mace_expectation(votes, slot_votes, logs, prior).proba
        self._keep_coins(votes)
        self.spam_counts_, self.habit_counts_ = best
        self.average_evidence_ = self._average(votes, best).evidence.reshape(-1, 2)
        # The model has no prevalence of its own; a label that nobody was asked about is as likely as not.
        label = mean_per_code(pairs.label, proba, votes.n_labels, overall=0.5)
        return Learned(label, judge_later(votes, logs.evidence, prior), Inferred(proba))

    def _start(self, votes: Votes, slot_votes: Floats, prior: Floats, draw: Floats) -> MaceCounts:
        """Counts after a first look at the votes with random spam rates and habits."""
        # (n_coins, 4): spamming and knowing, no and yes.
        weight = 1 + self.noise * draw
        logs = AnswerLogs.of(log_mean(weight[:, :2]), log_mean(weight[:, 2:]))
        return self._count(slot_votes, logs, mace_expectation(votes, slot_votes, logs, prior))

    def _run(
        self, votes: Votes, slot_votes: Floats, prior: Floats, counts: MaceCounts
    ) -> tuple[MaceCounts, Floats, Monitor]:
        """Improve the counts until nothing moves; also (rounds, n_labels) the bounds on the way."""
        monitor, bounds = Monitor(self.tol, self.max_iter), []
        proba = np.full(len(prior), 0.5)
        following = counts
        for _ in monitor.rounds():
            counts = following  # those of the last round that was scored are returned, not one step more
            logs = AnswerLogs.expected(counts)
            found = mace_expectation(votes, slot_votes, logs, prior)
            bounds.append(found.log_likelihood - self._divergence(votes, counts))
            monitor.report(float(bounds[-1].sum()), float(np.abs(found.proba - proba).max(initial=0.0)))
            proba, following = found.proba, self._count(slot_votes, logs, found)
        return counts, np.array(bounds), monitor

    def _count(self, slot_votes: Floats, logs: AnswerLogs, found: MaceExpectation) -> MaceCounts:
        """Expected votes spammed and known, and of the spammed ones those with each answer, with the priors."""
        # A wrong vote was spammed; a right one was known, or a habit that happened to be right.
        known = found.right * logs.know_share
        spammed = np.maximum(slot_votes - known, 0.0)
        spam = np.stack([spammed.sum(axis=1), known.sum(axis=1)], axis=1)
        return MaceCounts(spam + self._priors.spam, spammed + self._priors.habit)

    def _divergence(self, votes: Votes, counts: MaceCounts) -> Floats:
        """(n_labels,) what the bound pays for leaving the priors."""
        price = dirichlet_divergence(counts.spam, self._priors.spam)
        price += dirichlet_divergence(counts.habit, self._priors.habit)
        return weight_per_code(votes.coins.label, price, votes.n_labels)

    def _average(self, votes: Votes, counts: MaceCounts) -> AnswerLogs:
        """Of all workers together, label by label."""
        of_labels = votes.coins.label, votes.n_labels
        pairs = zip(self._priors, counts, strict=True)
        return AnswerLogs.of(*(log_mean(pooled_counts(prior, count - prior, *of_labels)) for prior, count in pairs))

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        of_coin = AnswerLogs.expected(MaceCounts(self.spam_counts_, self.habit_counts_)).evidence.reshape(-1, 2)
        evidence = self._match_coins(votes).learned_or_average(of_coin, self.average_evidence_).ravel()
        return Inferred(sigmoid(pair_evidence(votes, evidence)))


# -- model -----------------------------------------------------------------------------------------------------------


class MaceCounts(NamedTuple):
    """(n_coins, 2) Beta counts: spamming and knowing; no and yes when spamming."""

    spam: Floats
    habit: Floats


@dataclass(frozen=True)
class AnswerLogs:
    """(n_coins, 2) log-probabilities of a no and a yes.

    wrong : where the answer is wrong: only spammers give such.
    right : where the answer is right: it was known, or a spammer's habit met the truth.
    know : (n_coins, 1) of knowing the answer.
    """

    wrong: Floats
    right: Floats
    know: Floats

    @classmethod
    def of(cls, log_spam: Floats, log_habit: Floats) -> AnswerLogs:
        """P(answer | truth) = spam · habit[answer] + know · [answer = truth]."""
        # In logs, where a spam rate of 10⁻³⁰⁰ is a number like any other.
        wrong, know = log_spam[:, :1] + log_habit, log_spam[:, 1:]
        return cls(wrong, np.logaddexp(wrong, know), know)

    @classmethod
    def expected(cls, counts: MaceCounts) -> AnswerLogs:
        """With the expected logs of variational inference."""
        return cls.of(expected_log(counts.spam), expected_log(counts.habit))

    @property
    def know_share(self) -> Floats:
        """Probability that a right answer was known and not a lucky spammer's."""
        return np.exp(self.know - self.right)

    @property
    def evidence(self) -> Floats:
        """(n_slots,) log-odds that a no and a yes add to "present"."""
        # A no is right where the label is absent, so its gain counts against "present".
        gain = self.right - self.wrong
        return np.stack([-gain[:, 0], gain[:, 1]], axis=1).ravel()

    @property
    def if_absent(self) -> Floats:
        """(n_coins, 2) log-probabilities of a no and a yes to an absent label."""
        return np.stack([self.right[:, 0], self.wrong[:, 1]], axis=1)


class MaceExpectation(NamedTuple):
    """What the E-step finds.

    proba : (n_pairs,) probability of present.
    right : (n_coins, 2) expected number of right votes among the no and the yes of each coin.
    log_likelihood : (n_labels,) of each label's votes.
    """

    proba: Floats
    right: Floats
    log_likelihood: Floats


def mace_expectation(votes: Votes, slot_votes: Floats, logs: AnswerLogs, prior: Floats) -> MaceExpectation:
    """E-step: how likely each pair is present, and what that says about the votes.

    `slot_votes` are (n_coins, 2) the numbers of no and yes; `prior` holds log-odds of the pairs, 0 where present and
    absent are equally likely.
    """
    coins, pairs = votes.coins, votes.pairs
    log_odds = prior + pair_evidence(votes, logs.evidence)
    proba = sigmoid(log_odds)
    right = met_present_labels(votes, proba).reshape(-1, 2)
    right[:, 0] = np.maximum(slot_votes[:, 0] - right[:, 0], 0.0)  # a no is right where the label is absent
    # Each pair is (its votes if absent) · (1 + odds) / 2, as both truths have the prior one half.
    of_pairs = weight_per_code(pairs.label, np.logaddexp(0.0, log_odds) - np.log(2), votes.n_labels)
    of_votes = weight_per_code(coins.label, (slot_votes * logs.if_absent).sum(axis=1), votes.n_labels)
    return MaceExpectation(proba, right, of_pairs + of_votes)
