"""EBCC: workers who err together, because an absent or present label can be so in several ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from amcc.arrays import Codes, Floats, Mask, sigmoid, weight_per_code
from amcc.consensus.base import ConsensusModel
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import match_coins, new_code
from amcc.consensus.models.ibcc import (
    confusion_prior,
    dirichlet_divergence,
    expected_log,
    learned_or_average,
    log_mean,
)
from amcc.consensus.models.mace import RandomStarts, Restarts
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_at_least_one, check_positive
from amcc.engine.base import Engine
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.passes import Judgement
from amcc.votes import Votes

JUDGED_AT_ONCE = 50_000
"""Votes whose pairs are looked at in all subtypes at a time."""


class EBCC(ConsensusModel, methods={"ebcc": {}}):
    """Confusion matrices per worker, label and subtype of the truth, by variational inference.

    "Present" and "absent" each come in `n_subtypes` subtypes, such as clear and hidden, and a worker answers by the
    confusion row of the subtype: workers who are right on one subtype and wrong on another are wrong together, which
    independent coins take for agreement. The objective is the variational bound on the log-evidence of the votes; each
    label keeps the best of several random starts.

    Parameters
    ----------
    n_subtypes : int
        Subtypes of each truth. With 1 and `class_prior=1` this is `IBCC`.
    subtype_prior : float
        Pseudo-pairs shared out among the subtypes of a truth; below one, few of them are used.
    right_prior, wrong_prior : float
        Pseudo-votes on and off the diagonal of every confusion matrix.
    class_prior : "votes" or float
        Pseudo-pairs of "present" and "absent" that every label starts with; "votes" are as many as the votes make of
        its pairs, each pair shared out by its votes.
    n_restarts : int
        Random starts.
    random_state : int
    max_iter, tol
        Stop when no probability moves by more than `tol` in a round.

    Attributes
    ----------
    coin_worker_, coin_label_ : (n_coins,) int32
        The (worker, label) combinations that occur.
    answer_counts_ : (n_coins, 2, 2, n_subtypes)
        Dirichlet counts, [coin, answer, truth, subtype] with 0 = no or absent and 1 = yes or present.
    subtype_counts_ : (n_labels, 2, n_subtypes)
        The same for the subtypes of each truth.
    class_counts_ : (n_labels, 2)
        The same for absent and present.
    average_answer_ : (n_labels, 2, 2, n_subtypes)
        Log-probability of the answers of an average worker; what a newcomer counts as.

    Notes
    -----
    ORIGINAL, read in the authors' code: the model, all priors, the order of the updates, the random start and the stop.
    They use 40 starts and we 5. OURS: logs throughout (their exponentials underflow);
    a label that nobody gave has one yes in its class prior; one model per label; known truth is clamped.

    A subtype has its price in the bound: where a label has only a handful of pairs, the best explanation may be one
    subtype of one truth for all of them.

    One round takes time proportional to votes × 2 · `n_subtypes`.

    References
    ----------
    Y. Li, B. I. P. Rubinstein and T. Cohn, Exploiting worker correlation for label aggregation in crowdsourcing,
    ICML 2019.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1], [-1]] * 9, [[1], [-1]] * 9, [[-1], [-1]] * 9])
    >>> EBCC().fit(votes).predict()[:2].astype(int).tolist()
    [[1], [0]]
    """

    coin_worker_: Annotated[Codes, Each("coin", code="worker")]
    coin_label_: Annotated[Codes, Each("coin", code="label")]
    answer_counts_: Annotated[Floats, Each("coin", 2, 2, "subtype")]
    subtype_counts_: Annotated[Floats, Each("label", 2, "subtype")]
    class_counts_: Annotated[Floats, Each("label", 2)]
    average_answer_: Annotated[Floats, Each("label", 2, 2, "subtype")]

    def __init__(
        self,
        *,
        n_subtypes: int = 10,
        subtype_prior: float = 0.1,
        right_prior: float = 4.0,
        wrong_prior: float = 1.0,
        class_prior: Literal["votes"] | float = "votes",
        n_restarts: int = 5,
        random_state: int = 0,
        max_iter: int = 500,
        tol: float = 1e-3,
    ) -> None:
        self.n_subtypes = n_subtypes
        self.subtype_prior = subtype_prior
        self.right_prior = right_prior
        self.wrong_prior = wrong_prior
        self.class_prior = class_prior
        self.n_restarts = n_restarts
        self.random_state = random_state
        self.max_iter = max_iter
        self.tol = tol

    def _check_params(self) -> None:
        for name in ("n_subtypes", "n_restarts", "max_iter"):
            check_at_least_one(name, getattr(self, name))
        for name in ("subtype_prior", "right_prior", "wrong_prior", "tol"):
            check_positive(name, getattr(self, name))
        if isinstance(self.class_prior, str) and self.class_prior != "votes":
            raise ParameterError(f"class_prior must be 'votes' or a positive number; got {self.class_prior!r}.")
        if not isinstance(self.class_prior, str):
            check_positive("class_prior", self.class_prior)

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        coins, pairs = votes.coins, votes.pairs
        share = np.where(gold.known, gold.present, votes.n_yes / pairs.n_votes)
        problem = self._problem(votes, gold, share)
        draws = RandomStarts(votes, self.random_state)
        runs = Restarts(votes.n_labels)
        best = np.zeros((len(pairs), 2, self.n_subtypes))
        for restart in range(self.n_restarts):
            draw = draws.per_item(restart, 2 * self.n_subtypes)[pairs.item]
            responsibility, course, monitor = self._run(problem, random_split(share, draw))
            better = runs.add(course, monitor)[pairs.label]
            best[better] = responsibility[better]
        runs.finish(self)
        runs.slowest.warn_unless_converged("EBCC")
        counts = maximise(problem, best)
        logs = counts.expected_logs()
        found = expect(problem, logs)
        self.coin_worker_, self.coin_label_ = coins.worker, coins.label
        self.answer_counts_, self.subtype_counts_, self.class_counts_ = counts.answers, counts.subtypes, counts.classes
        self.average_answer_ = average_answers(problem, counts.answers)
        return Learned(
            counts.classes[:, 1] / counts.classes.sum(axis=1),
            partial(judge, votes, found.log_joint, logs.answers),
            Inferred(found.responsibility[:, 1].sum(axis=1)),
        )

    def _problem(self, votes: Votes, gold: Gold, share: Floats) -> Problem:
        pairs = votes.pairs
        if isinstance(self.class_prior, str):
            both = [weight_per_code(pairs.label, part, votes.n_labels) for part in (1 - share, share)]
            classes = np.maximum(np.stack(both, axis=1), 1.0)  # or a label that nobody gave could never be present
        else:
            classes = np.full((votes.n_labels, 2), self.class_prior)
        return Problem(
            incidence=vote_incidence(votes),
            pair_label=pairs.label,
            coin_label=votes.coins.label,
            impossible=gold.known[:, None] & (gold.present[:, None] != np.array([False, True])),
            answers=confusion_prior(self.right_prior, self.wrong_prior).T[:, :, None],
            subtypes=np.full(self.n_subtypes, self.subtype_prior / self.n_subtypes),
            classes=classes,
        )

    def _run(self, problem: Problem, responsibility: Floats) -> tuple[Floats, Floats, Monitor]:
        """Improve the responsibilities until nothing moves; also (rounds, n_labels) the bounds on the way.

        Labels do not know of each other, so those that have settled are left alone once they are half of the rest.
        """
        monitor, course = Monitor(self.tol, self.max_iter), []
        bounds, settled = np.zeros(len(problem.classes)), responsibility.copy()
        labels, pairs = np.arange(len(bounds)), np.arange(len(responsibility))
        for _ in monitor.rounds():
            counts = maximise(problem, responsibility)
            logs = counts.expected_logs()
            found = expect(problem, logs)
            bounds[labels] = bound(problem, counts, logs, found)
            course.append(bounds.copy())
            moved = np.zeros(len(labels))
            np.maximum.at(moved, problem.pair_label, np.abs((found.responsibility - responsibility)[:, 1].sum(axis=1)))
            monitor.report(float(bounds.sum()), float(moved.max()))
            settled[pairs] = responsibility = found.responsibility
            moving = moved >= self.tol
            if 2 * moving.sum() <= len(labels) and moving.any():
                kept = moving[problem.pair_label]
                responsibility, pairs, labels = responsibility[kept], pairs[kept], labels[moving]
                problem = problem.restricted(moving)
        return settled, np.array(course), monitor

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        logs = Counts(self.answer_counts_, self.subtype_counts_, self.class_counts_).expected_logs()
        coins = match_coins(votes, self.worker_names_, self.label_names_, self.coin_worker_, self.coin_label_)
        answers = learned_or_average(coins, logs.answers, self.average_answer_)
        label = new_code(votes.label_names, self.label_names_)
        truths = np.concatenate([logs.truths, logs.truths.mean(axis=0, keepdims=True)])[label]  # −1: the last row
        log_joint = truths[votes.pairs.label] + sum_answers_per_pair(vote_incidence(votes), answers)
        return Inferred(np.asarray(normalised(log_joint)[0][:, 1].sum(axis=1)))


# -- model -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """What stays as it is during a fit.

    incidence : (n_pairs, n_slots) the votes, see `vote_incidence`.
    pair_label, coin_label : (n_pairs,) and (n_coins,) codes.
    impossible : (n_pairs, 2) truths that known truth excludes.
    answers, subtypes, classes : prior counts, [answer, truth, 1], (n_subtypes,) and (n_labels, 2).
    """

    incidence: csr_array
    pair_label: Codes
    coin_label: Codes
    impossible: Mask
    answers: Floats
    subtypes: Floats
    classes: Floats

    def restricted(self, keep: Mask) -> Problem:
        """The same for some of the labels only."""
        pairs, coins = keep[self.pair_label], keep[self.coin_label]
        code = np.cumsum(keep, dtype=np.int32) - 1
        return replace(
            self,
            incidence=self.incidence[pairs][:, np.repeat(coins, 2)],
            pair_label=code[self.pair_label[pairs]],
            coin_label=code[self.coin_label[coins]],
            impossible=self.impossible[pairs],
            classes=self.classes[keep],
        )


class Logs(NamedTuple):
    """Expected logs: [coin, answer, truth, subtype], and [label, truth, subtype] of truth and subtype together."""

    answers: Floats
    truths: Floats


class Counts(NamedTuple):
    """Dirichlet counts: [coin, answer, truth, subtype], [label, truth, subtype] and [label, truth]."""

    answers: Floats
    subtypes: Floats
    classes: Floats

    def expected_logs(self) -> Logs:
        """What an answer, and a subtype of a truth, is worth in logs."""
        answers = np.moveaxis(expected_log(np.moveaxis(self.answers, 1, -1)), -1, 1)
        return Logs(answers, expected_log(self.subtypes) + expected_log(self.classes)[:, :, None])


class Expectation(NamedTuple):
    """(n_pairs, 2, n_subtypes) probabilities and their logs before they sum to one; (n_pairs,) log of that sum."""

    responsibility: Floats
    log_joint: Floats
    log_total: Floats


def maximise(problem: Problem, responsibility: Floats) -> Counts:
    """Counts of answers, subtypes and classes, given how likely each pair is of each truth and subtype."""
    n_pairs, _, n_subtypes = responsibility.shape
    flat = responsibility.reshape(n_pairs, -1)
    answers = (problem.incidence.T @ flat).reshape(-1, 2, 2, n_subtypes) + problem.answers
    n_labels = len(problem.classes)
    of_label = csr_array((np.ones(n_pairs), (problem.pair_label, np.arange(n_pairs))), shape=(n_labels, n_pairs))
    pairs = (of_label @ flat).reshape(n_labels, 2, n_subtypes)
    return Counts(answers, pairs + problem.subtypes, pairs.sum(axis=2) + problem.classes)


def expect(problem: Problem, logs: Logs) -> Expectation:
    """How likely each pair is of each truth and subtype."""
    log_joint = sum_answers_per_pair(problem.incidence, logs.answers) + logs.truths[problem.pair_label]
    log_joint[problem.impossible] = -np.inf
    responsibility, log_total = normalised(log_joint)
    return Expectation(responsibility, log_joint, log_total)


def bound(problem: Problem, counts: Counts, logs: Logs, found: Expectation) -> Floats:
    """(n_labels,) variational bound on the log-evidence of each label's votes."""
    n_labels = len(problem.classes)
    answers = np.zeros(len(problem.coin_label))
    for truth in (0, 1):  # one at a time takes half of the memory
        count, log = (np.moveaxis(table[:, :, truth], 1, -1) for table in (counts.answers, logs.answers))
        answers += dirichlet_divergence(count, problem.answers[:, truth, 0], log).sum(axis=1)
    return np.asarray(
        weight_per_code(problem.pair_label, found.log_total, n_labels)
        - weight_per_code(problem.coin_label, answers, n_labels)
        - dirichlet_divergence(counts.subtypes, problem.subtypes).sum(axis=1)
        - dirichlet_divergence(counts.classes, problem.classes)
    )


def average_answers(problem: Problem, answers: Floats) -> Floats:
    """(n_labels, 2, 2, n_subtypes) log-probability of the answers of all workers together, whatever the subtype."""
    prior = problem.answers[:, :, 0]
    pooled = np.tile(prior, (len(problem.classes), 1, 1))
    np.add.at(pooled, problem.coin_label, (answers - problem.answers).sum(axis=3))
    rates = np.moveaxis(log_mean(np.moveaxis(pooled, 1, -1)), -1, 1)
    return np.repeat(rates[..., None], answers.shape[3], axis=3)


def random_split(share: Floats, draw: Floats) -> Floats:
    """(n_pairs, 2, n_subtypes) vote shares cut into subtypes, uniformly over all ways to cut."""
    pieces = -np.log1p(-draw).reshape(len(share), 2, -1)  # exponential variables, scaled, are Dirichlet(1)
    pieces = np.maximum(pieces, 1e-300)
    pieces /= pieces.sum(axis=2, keepdims=True)
    return np.asarray(np.stack([1 - share, share], axis=1)[:, :, None] * pieces)


def vote_incidence(votes: Votes) -> csr_array:
    """(n_pairs, n_slots) one for every vote: turns tables by slot into sums by pair, and back."""
    shape = len(votes.pairs), 2 * len(votes.coins)
    return csr_array((np.ones(len(votes)), votes.coins.slot, votes.pairs.start), shape=shape)


def sum_answers_per_pair(incidence: csr_array, answers: Floats) -> Floats:
    """(n_pairs, 2, n_subtypes) sums over the votes on each pair of [coin, answer, truth, subtype]."""
    n_subtypes = answers.shape[3]
    sums: Floats = incidence @ answers.reshape(-1, 2 * n_subtypes)
    return sums.reshape(-1, 2, n_subtypes)


def normalised(log_joint: Floats) -> tuple[Floats, Floats]:
    """Probabilities that sum to one over truths and subtypes, and the logs of the sums before."""
    top = log_joint.max(axis=(1, 2), keepdims=True)
    proba = np.exp(log_joint - top)
    total = proba.sum(axis=(1, 2), keepdims=True)
    proba /= total
    return proba, (top + np.log(total)).ravel()


def judge(votes: Votes, log_joint: Floats, answers: Floats) -> Judgement:
    """Judge every vote by the prior and the other votes on its pair, in all subtypes."""
    slot, n_slots = votes.coins.slot, 2 * len(votes.coins)
    of_slot = answers.reshape(n_slots, *answers.shape[2:])
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    proba = np.empty(len(slot))
    for first in range(0, len(slot), JUDGED_AT_ONCE):
        block = slice(first, first + JUDGED_AT_ONCE)
        without = np.logaddexp.reduce(log_joint[pair[block]] - of_slot[slot[block]], axis=2)
        proba[block] = sigmoid(without[:, 1] - without[:, 0])
    return Judgement(weight_per_code(slot, proba, n_slots), weight_per_code(slot, proba**2, n_slots))
