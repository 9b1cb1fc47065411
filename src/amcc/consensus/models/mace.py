"""MACE: every worker either knows the answer or spams."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from amcc import passes
from amcc.arrays import Codes, Floats, Ints, Mask, sigmoid, weight_per_code
from amcc.consensus.base import ConsensusModel
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import match_coins
from amcc.consensus.models.c_ds import pair_evidence
from amcc.consensus.models.ibcc import (
    dirichlet_divergence,
    expected_log,
    learned_or_average,
    log_mean,
)
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_at_least_one, check_positive
from amcc.consensus.signature import signatures
from amcc.engine.base import Engine
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.votes import Votes

PseudoVotes = tuple[float, float]

SAME_END = 1e-6
"""Runs whose objectives differ by less ended in the same place: the first counts, whatever the rounding."""


class MACE(ConsensusModel, methods={"mace": {}}):
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

    Because a yes always speaks for a label and the classes are equally likely beforehand, MACE gives more labels than
    other models where labels are rare.

    References
    ----------
    D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy, Learning whom to trust with MACE, NAACL 2013.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> MACE().fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    coin_worker_: Annotated[Codes, Each("coin", code="worker")]
    coin_label_: Annotated[Codes, Each("coin", code="label")]
    spam_counts_: Annotated[Floats, Each("coin", 2)]
    habit_counts_: Annotated[Floats, Each("coin", 2)]
    average_evidence_: Annotated[Floats, Each("label", 2)]

    def __init__(
        self,
        *,
        spam_prior: PseudoVotes = (0.5, 0.5),
        habit_prior: float = 10.0,
        n_restarts: int = 10,
        noise: float = 0.5,
        random_state: int = 0,
        max_iter: int = 500,
        tol: float = 1e-3,
    ) -> None:
        self.spam_prior = spam_prior
        self.habit_prior = habit_prior
        self.n_restarts = n_restarts
        self.noise = noise
        self.random_state = random_state
        self.max_iter = max_iter
        self.tol = tol

    def _check_params(self) -> None:
        if len(self.spam_prior) != 2 or not all(np.isfinite(count) and count > 0 for count in self.spam_prior):
            raise ParameterError(f"spam_prior must be two positive numbers; got {self.spam_prior!r}.")
        for name in ("habit_prior", "noise", "tol"):
            check_positive(name, getattr(self, name))
        for name in ("n_restarts", "max_iter"):
            check_at_least_one(name, getattr(self, name))

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        coins, pairs = votes.coins, votes.pairs
        prior = gold.log_odds(np.zeros(len(pairs)))
        slot_votes = np.bincount(coins.slot, minlength=2 * len(coins)).reshape(-1, 2).astype(np.float64)
        draws = RandomStarts(votes, self.random_state)
        runs = Restarts(votes.n_labels)
        best = Counts(*np.zeros((2, len(coins), 2)))
        for restart in range(self.n_restarts):
            counts = self._start(votes, slot_votes, prior, draws.per_worker(restart, 4)[coins.worker])
            counts, course, monitor = self._run(votes, slot_votes, prior, counts)
            better = runs.add(course, monitor)[coins.label]
            for kept, new in zip(best, counts, strict=True):
                kept[better] = new[better]
        runs.finish(self)
        runs.slowest.warn_unless_converged("MACE")
        logs = AnswerLogs.expected(best)
        proba = expect(votes, slot_votes, logs, prior).proba
        self.coin_worker_, self.coin_label_ = coins.worker, coins.label
        self.spam_counts_, self.habit_counts_ = best
        self.average_evidence_ = self._average(votes, best).evidence.reshape(-1, 2)
        asked = np.bincount(pairs.label, minlength=votes.n_labels)
        label = (weight_per_code(pairs.label, proba, votes.n_labels) + 0.5) / (asked + 1)
        return Learned(
            label, partial(passes.others_pass, coins.slot, pairs.start, logs.evidence, prior), Inferred(proba)
        )

    def _start(self, votes: Votes, slot_votes: Floats, prior: Floats, draw: Floats) -> Counts:
        """Counts after a first look at the votes with random spam rates and habits."""
        weight = 1 + self.noise * draw
        logs = AnswerLogs.of(_log_shares(weight[:, :2]), _log_shares(weight[:, 2:]))
        return self._count(slot_votes, logs, expect(votes, slot_votes, logs, prior))

    def _run(self, votes: Votes, slot_votes: Floats, prior: Floats, counts: Counts) -> tuple[Counts, Floats, Monitor]:
        """Improve the counts until nothing moves; also (rounds, n_labels) the bounds on the way."""
        monitor, course = Monitor(self.tol, self.max_iter), []
        proba = np.full(len(prior), 0.5)
        following = counts
        for _ in monitor.rounds():
            counts = following
            logs = AnswerLogs.expected(counts)
            found = expect(votes, slot_votes, logs, prior)
            course.append(found.log_likelihood - self._divergence(votes, counts))
            monitor.report(float(course[-1].sum()), float(np.abs(found.proba - proba).max(initial=0.0)))
            proba, following = found.proba, self._count(slot_votes, logs, found)
        return counts, np.array(course), monitor

    def _count(self, slot_votes: Floats, logs: AnswerLogs, found: Expectation) -> Counts:
        """Expected votes spammed and known, and of the spammed ones those with each answer, with the priors."""
        known = found.right * logs.know_share
        spammed = np.maximum(slot_votes - known, 0.0)
        spam = np.stack([spammed.sum(axis=1), known.sum(axis=1)], axis=1) + np.array(self.spam_prior)
        return Counts(spam, spammed + self.habit_prior)

    def _divergence(self, votes: Votes, counts: Counts) -> Floats:
        """(n_labels,) what the bound pays for leaving the priors."""
        price = dirichlet_divergence(counts.spam, np.array(self.spam_prior))
        price += dirichlet_divergence(counts.habit, np.full(2, self.habit_prior))
        return weight_per_code(votes.coins.label, price, votes.n_labels)

    def _average(self, votes: Votes, counts: Counts) -> AnswerLogs:
        """Of all workers together, label by label."""

        def pooled(of_coin: Floats, prior: Floats) -> Floats:
            total = np.tile(prior, (votes.n_labels, 1))
            np.add.at(total, votes.coins.label, of_coin - prior)
            return log_mean(total)

        spam = pooled(counts.spam, np.array(self.spam_prior))
        return AnswerLogs.of(spam, pooled(counts.habit, np.full(2, self.habit_prior)))

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        coins = match_coins(votes, self.worker_names_, self.label_names_, self.coin_worker_, self.coin_label_)
        learned = AnswerLogs.expected(Counts(self.spam_counts_, self.habit_counts_)).evidence.reshape(-1, 2)
        evidence = learned_or_average(coins, learned, self.average_evidence_).ravel()
        return Inferred(sigmoid(pair_evidence(votes, evidence)))


# -- model -----------------------------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """(n_coins, 2) Beta counts: spamming and knowing; no and yes when spamming."""

    spam: Floats
    habit: Floats


@dataclass(frozen=True)
class AnswerLogs:
    """(n_coins, 2) log-probabilities of a no and a yes where it is wrong (only spam) and where it is right."""

    wrong: Floats
    right: Floats
    know: Floats

    @classmethod
    def of(cls, log_spam: Floats, log_habit: Floats) -> AnswerLogs:
        """P(answer | truth) = spam · habit[answer] + know · [answer = truth]."""
        wrong, know = log_spam[:, :1] + log_habit, log_spam[:, 1:]
        return cls(wrong, np.logaddexp(wrong, know), know)

    @classmethod
    def expected(cls, counts: Counts) -> AnswerLogs:
        """With the expected logs of variational inference."""
        return cls.of(expected_log(counts.spam), expected_log(counts.habit))

    @property
    def know_share(self) -> Floats:
        """Probability that a right answer was known and not a lucky spammer's."""
        return np.exp(self.know - self.right)

    @property
    def evidence(self) -> Floats:
        """(n_slots,) log-odds that a no and a yes add to "present"."""
        gain = self.right - self.wrong
        return np.stack([-gain[:, 0], gain[:, 1]], axis=1).ravel()

    @property
    def if_absent(self) -> Floats:
        """(n_coins, 2) log-probabilities of a no and a yes to an absent label."""
        return np.stack([self.right[:, 0], self.wrong[:, 1]], axis=1)


class Expectation(NamedTuple):
    """(n_pairs,) probability of present, (n_coins, 2) expected right votes, (n_labels,) log-likelihood."""

    proba: Floats
    right: Floats
    log_likelihood: Floats


def expect(votes: Votes, slot_votes: Floats, logs: AnswerLogs, prior: Floats) -> Expectation:
    """E-step.

    `slot_votes` are (n_coins, 2) the numbers of no and yes; `prior` holds log-odds of the pairs, 0 where present and
    absent are equally likely.
    """
    coins, pairs = votes.coins, votes.pairs
    log_odds = prior + pair_evidence(votes, logs.evidence)
    proba = sigmoid(log_odds)
    right = weight_per_code(coins.slot, np.repeat(proba, pairs.n_votes), slot_votes.size).reshape(-1, 2)
    right[:, 0] = np.maximum(slot_votes[:, 0] - right[:, 0], 0.0)  # a no is right where the label is absent
    of_pairs = weight_per_code(pairs.label, np.logaddexp(0.0, log_odds) - np.log(2), votes.n_labels)
    of_votes = weight_per_code(coins.label, (slot_votes * logs.if_absent).sum(axis=1), votes.n_labels)
    return Expectation(proba, right, of_pairs + of_votes)


def _log_shares(weight: Floats) -> Floats:
    return np.asarray(np.log(weight / weight.sum(axis=1, keepdims=True)), dtype=np.float64)


# -- restarts --------------------------------------------------------------------------------------------------------


class RandomStarts:
    """Random numbers for workers and items that depend on their votes and not on their names.

    Labels may share them, for each label is a model of its own.
    """

    def __init__(self, votes: Votes, random_state: int) -> None:
        self.random_state = random_state
        hashes = signatures(votes, random_state)
        self._worker = _rank(hashes.worker, np.bincount(votes.worker, minlength=votes.n_workers) > 0)
        self._item = _rank(hashes.item, np.bincount(votes.item, minlength=votes.n_items) > 0)

    def per_worker(self, restart: int, size: int) -> Floats:
        """(n_workers, size) between 0 and 1."""
        return self._draw(restart, len(self._worker), size)[self._worker]

    def per_item(self, restart: int, size: int) -> Floats:
        """(n_items, size) between 0 and 1."""
        return self._draw(restart, len(self._item), size)[self._item]

    def _draw(self, restart: int, rows: int, size: int) -> Floats:
        return np.random.default_rng([self.random_state, restart]).random((rows, size))


def _rank(key: npt.NDArray[np.uint64], counts: Mask) -> Ints:
    """Place in sorted order, first those that count: those without votes change nobody's chance."""
    rank = np.empty(len(key), dtype=np.int64)
    rank[np.lexsort((key, ~counts))] = np.arange(len(key))
    return rank


class Restarts:
    """Runs from several starts: every label keeps its best, and the history is that of the kept ones."""

    def __init__(self, n_labels: int) -> None:
        self._best = np.zeros(n_labels, dtype=np.int64)
        self._courses: list[Floats] = []
        self._monitors: list[Monitor] = []

    def add(self, course: Floats, monitor: Monitor) -> Mask:
        """Take the (rounds, n_labels) objectives of a run and say for which labels it is the best so far."""
        ends = np.array([earlier[-1] for earlier in self._courses])
        better = np.ones(len(self._best), dtype=bool)
        if len(ends):
            better = course[-1] > ends[self._best, np.arange(len(better))] + SAME_END
        self._best[better] = len(ends)
        self._courses.append(course)
        self._monitors.append(monitor)
        return better

    def history(self) -> list[float]:
        """Objective round by round, each label in its best run; runs that ended earlier stay where they ended."""
        rounds = np.arange(max(map(len, self._courses)))
        total = np.zeros(len(rounds))
        for number, course in enumerate(self._courses):
            total += course[np.minimum(rounds, len(course) - 1)][:, self._best == number].sum(axis=1)
        return [float(objective) for objective in total]

    def finish(self, model: ConsensusModel) -> None:
        """Tell the model, and its user, how the runs went."""
        model.objective_history_ = self.history()
        model.n_iter_ = len(model.objective_history_)
        model.converged_ = all(monitor.converged for monitor in self._monitors)

    @property
    def slowest(self) -> Monitor:
        """The run that was farthest from having settled."""
        return max(self._monitors, key=lambda monitor: monitor.change)
