"""EBCC: workers who err together, because an absent or present label can be so in several ways.

Tables are indexed [coin or label, answer, truth, subtype], always in this order. Everything that the rounds need is in
`SubtypeProblem`; a round is `subtype_counts`, then `subtype_expectation`, and `subtype_bound` scores it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
import scipy

from amcc.arrays import Codes, Floats, Mask, sigmoid, weight_per_code
from amcc.consensus.coins import CoinModel, start_from_shares
from amcc.consensus.dirichlet import confusion_prior, dirichlet_divergence, expected_log, log_mean, pooled_counts
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import known_or_mean, new_code
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_at_least_one, check_positive, check_seed
from amcc.consensus.restarts import RandomStarts, Restarts
from amcc.engine.base import Engine
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.passes import Judgement
from amcc.votes import Votes

# Votes that are judged at a time: each needs numbers for all subtypes of both truths, some 8 MB for so many.
JUDGED_AT_ONCE = 50_000


class EBCC(CoinModel, methods={"ebcc": {}}):
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

    answer_counts_: Annotated[Floats, Each("coin", 2, 2, "subtype")]
    subtype_counts_: Annotated[Floats, Each("label", 2, "subtype")]
    class_counts_: Annotated[Floats, Each("label", 2)]
    average_answer_: Annotated[Floats, Each("label", 2, 2, "subtype")]

    def __init__(
        self, *, n_subtypes: int = 10, subtype_prior: float = 0.1, right_prior: float = 4.0, wrong_prior: float = 1.0,
        class_prior: Literal["votes"] | float = "votes", n_restarts: int = 5, random_state: int = 0,
        max_iter: int = 500, tol: float = 1e-3,
    ) -> None:  # fmt: skip
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
        check_seed(self.random_state)

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        pairs, share = votes.pairs, start_from_shares(votes, gold)
        problem = self._problem(votes, gold, share)
        draws = RandomStarts(votes, self.random_state)
        runs = Restarts(votes.n_labels)
        best = np.zeros((len(pairs), 2, self.n_subtypes))
        for restart in range(self.n_restarts):
            draw = draws.per_item(restart, 2 * self.n_subtypes)[pairs.item]
            responsibility, bounds, monitor = self._run(problem, random_split(share, draw))
            better = runs.add(bounds, monitor)[pairs.label]
            best[better] = responsibility[better]
        self._publish(runs.monitor())
        counts = subtype_counts(problem, best)
        logs = counts.expected_logs()
        found = subtype_expectation(problem, logs)
        self._keep_coins(votes)
        self.answer_counts_, self.subtype_counts_, self.class_counts_ = counts.answers, counts.subtypes, counts.classes
        self.average_answer_ = average_answers(problem, counts.answers)
        return Learned(
            counts.classes[:, 1] / counts.classes.sum(axis=1),
            partial(judge_in_subtypes, votes, found.log_joint, logs.answers),
            Inferred(found.responsibility[:, 1].sum(axis=1)),
        )

    def _problem(self, votes: Votes, gold: Gold, share: Floats) -> SubtypeProblem:
        """What stays as it is during a fit; `share` (n_pairs,) are the shares of yes that the prior counts."""
        pairs = votes.pairs
        if isinstance(self.class_prior, str):
            both = [weight_per_code(pairs.label, part, votes.n_labels) for part in (1 - share, share)]
            classes = np.maximum(np.stack(both, axis=1), 1.0)  # or a label that nobody gave could never be present
        else:
            classes = np.full((votes.n_labels, 2), self.class_prior)
        return SubtypeProblem(
            incidence=vote_incidence(votes),
            pair_label=pairs.label,
            coin_label=votes.coins.label,
            impossible=gold.known[:, None] & (gold.present[:, None] != np.array([False, True])),
            answers=confusion_prior(self.right_prior, self.wrong_prior).T[:, :, None],
            subtypes=np.full(self.n_subtypes, self.subtype_prior / self.n_subtypes),
            classes=classes,
        )

    def _run(self, problem: SubtypeProblem, responsibility: Floats) -> tuple[Floats, Floats, Monitor]:
        """Improve the responsibilities until nothing moves; also (rounds, n_labels) the bounds on the way.

        Labels do not know of each other, so those that have settled are left alone once they are half of the rest.
        """
        monitor, history = Monitor(self.tol, self.max_iter), []
        bounds, settled = np.zeros(len(problem.classes)), responsibility.copy()
        labels, pairs = np.arange(len(bounds)), np.arange(len(responsibility))
        for _ in monitor.rounds():
            counts = subtype_counts(problem, responsibility)
            logs = counts.expected_logs()
            found = subtype_expectation(problem, logs)
            bounds[labels] = subtype_bound(problem, counts, logs, found)
            history.append(bounds.copy())
            # What counts is whether a label is present; subtypes may exchange weight for ever.
            moved = np.zeros(len(labels))
            np.maximum.at(moved, problem.pair_label, np.abs((found.responsibility - responsibility)[:, 1].sum(axis=1)))
            monitor.report(float(bounds.sum()), float(moved.max()))
            settled[pairs] = responsibility = found.responsibility
            moving = moved >= self.tol
            # Cutting the tables takes time as well, so it is done only when it halves the next rounds.
            if 2 * moving.sum() <= len(labels) and moving.any():
                kept = moving[problem.pair_label]
                responsibility, pairs, labels = responsibility[kept], pairs[kept], labels[moving]
                problem = problem.restricted(moving)
        return settled, np.array(history), monitor

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        logs = SubtypeCounts(self.answer_counts_, self.subtype_counts_, self.class_counts_).expected_logs()
        answers = self._match_coins(votes).learned_or_average(logs.answers, self.average_answer_)
        truths = known_or_mean(logs.truths, new_code(votes.label_names, self.label_names_))
        log_joint = truths[votes.pairs.label] + sum_answers_per_pair(vote_incidence(votes), answers)
        return Inferred(np.asarray(normalised(log_joint)[0][:, 1].sum(axis=1)))


# -- model -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SubtypeProblem:
    """What stays as it is during a fit.

    incidence : (n_pairs, n_slots) the votes, see `vote_incidence`.
    pair_label, coin_label : (n_pairs,) and (n_coins,) codes.
    impossible : (n_pairs, 2) truths that known truth excludes.
    answers, subtypes, classes : prior counts, [answer, truth, 1], (n_subtypes,) and (n_labels, 2).
    """

    incidence: scipy.sparse.csr_array
    pair_label: Codes
    coin_label: Codes
    impossible: Mask
    answers: Floats
    subtypes: Floats
    classes: Floats

    def restricted(self, keep: Mask) -> SubtypeProblem:
        """The same for some of the labels only."""
        pairs, coins = keep[self.pair_label], keep[self.coin_label]
        # New codes of the kept labels, from 0; those of the others are never looked at.
        code = np.cumsum(keep, dtype=np.int32) - 1
        return replace(
            self,
            incidence=self.incidence[pairs][:, np.repeat(coins, 2)],
            pair_label=code[self.pair_label[pairs]],
            coin_label=code[self.coin_label[coins]],
            impossible=self.impossible[pairs],
            classes=self.classes[keep],
        )


class SubtypeLogs(NamedTuple):
    """Expected logs: [coin, answer, truth, subtype], and [label, truth, subtype] of truth and subtype together."""

    answers: Floats
    truths: Floats


class SubtypeCounts(NamedTuple):
    """Dirichlet counts: [coin, answer, truth, subtype], [label, truth, subtype] and [label, truth]."""

    answers: Floats
    subtypes: Floats
    classes: Floats

    def expected_logs(self) -> SubtypeLogs:
        """What an answer, and a subtype of a truth, is worth in logs."""
        # Answers sum to one for each truth and subtype, so their axis has to be the last for a moment.
        answers = np.moveaxis(expected_log(np.moveaxis(self.answers, 1, -1)), -1, 1)
        return SubtypeLogs(answers, expected_log(self.subtypes) + expected_log(self.classes)[:, :, None])


class SubtypeExpectation(NamedTuple):
    """How likely each pair is of each truth and subtype.

    responsibility : (n_pairs, 2, n_subtypes) probabilities, which sum to one for each pair.
    log_joint : the same as logs, before they sum to one.
    log_total : (n_pairs,) log of that sum.
    """

    responsibility: Floats
    log_joint: Floats
    log_total: Floats


def subtype_counts(problem: SubtypeProblem, responsibility: Floats) -> SubtypeCounts:
    """Counts of answers, subtypes and classes, given how likely each pair is of each truth and subtype."""
    n_pairs, _, n_subtypes = responsibility.shape
    flat = responsibility.reshape(n_pairs, -1)
    answers = (problem.incidence.T @ flat).reshape(-1, 2, 2, n_subtypes) + problem.answers
    n_labels = len(problem.classes)
    # A sparse product adds up all subtypes of the pairs of a label at once.
    of_label = scipy.sparse.csr_array(
        (np.ones(n_pairs), (problem.pair_label, np.arange(n_pairs))), shape=(n_labels, n_pairs)
    )
    pairs = (of_label @ flat).reshape(n_labels, 2, n_subtypes)
    return SubtypeCounts(answers, pairs + problem.subtypes, pairs.sum(axis=2) + problem.classes)


def subtype_expectation(problem: SubtypeProblem, logs: SubtypeLogs) -> SubtypeExpectation:
    """How likely each pair is of each truth and subtype."""
    log_joint = sum_answers_per_pair(problem.incidence, logs.answers) + logs.truths[problem.pair_label]
    # Logs of zero: known truth leaves the subtypes of one truth only.
    log_joint[problem.impossible] = -np.inf
    responsibility, log_total = normalised(log_joint)
    return SubtypeExpectation(responsibility, log_joint, log_total)


def subtype_bound(
    problem: SubtypeProblem, counts: SubtypeCounts, logs: SubtypeLogs, found: SubtypeExpectation
) -> Floats:
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


def average_answers(problem: SubtypeProblem, answers: Floats) -> Floats:
    """(n_labels, 2, 2, n_subtypes) log-probability of the answers of all workers together, whatever the subtype."""
    gained = (answers - problem.answers).sum(axis=3)
    pooled = pooled_counts(problem.answers[:, :, 0], gained, problem.coin_label, len(problem.classes))
    rates = np.moveaxis(log_mean(np.moveaxis(pooled, 1, -1)), -1, 1)
    return np.repeat(rates[..., None], answers.shape[3], axis=3)


def random_split(share: Floats, draw: Floats) -> Floats:
    """(n_pairs, 2, n_subtypes) vote shares cut into subtypes, uniformly over all ways to cut."""
    pieces = -np.log1p(-draw).reshape(len(share), 2, -1)  # exponential variables, scaled, are Dirichlet(1)
    pieces = np.maximum(pieces, 1e-300)  # a draw of 0 would leave nothing to divide by, were all of them 0
    pieces /= pieces.sum(axis=2, keepdims=True)
    return np.asarray(np.stack([1 - share, share], axis=1)[:, :, None] * pieces)


def vote_incidence(votes: Votes) -> scipy.sparse.csr_array:
    """(n_pairs, n_slots) one for every vote: turns tables by slot into sums by pair, and back."""
    shape = len(votes.pairs), 2 * len(votes.coins)
    return scipy.sparse.csr_array((np.ones(len(votes)), votes.coins.slot, votes.pairs.start), shape=shape)


def sum_answers_per_pair(incidence: scipy.sparse.csr_array, answers: Floats) -> Floats:
    """(n_pairs, 2, n_subtypes) sums over the votes on each pair of [coin, answer, truth, subtype]."""
    n_subtypes = answers.shape[3]
    sums: Floats = incidence @ answers.reshape(-1, 2 * n_subtypes)
    return sums.reshape(-1, 2, n_subtypes)


def normalised(log_joint: Floats) -> tuple[Floats, Floats]:
    """Probabilities that sum to one over truths and subtypes, and the logs of the sums before."""
    # The largest becomes 1 before the exponential: all of a thousand votes together would underflow.
    top = log_joint.max(axis=(1, 2), keepdims=True)
    proba = np.exp(log_joint - top)
    total = proba.sum(axis=(1, 2), keepdims=True)
    proba /= total
    return proba, (top + np.log(total)).ravel()


def judge_in_subtypes(votes: Votes, log_joint: Floats, answers: Floats) -> Judgement:
    """Judge every vote by the prior and the other votes on its pair, in all subtypes."""
    slot, n_slots = votes.coins.slot, 2 * len(votes.coins)
    of_slot = answers.reshape(n_slots, *answers.shape[2:])
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    proba = np.empty(len(slot))
    for first in range(0, len(slot), JUDGED_AT_ONCE):
        block = slice(first, first + JUDGED_AT_ONCE)
        # Dividing by the vote's own share takes it out of the product over the votes of its pair.
        without = np.logaddexp.reduce(log_joint[pair[block]] - of_slot[slot[block]], axis=2)
        proba[block] = sigmoid(without[:, 1] - without[:, 0])
    return Judgement(weight_per_code(slot, proba, n_slots), weight_per_code(slot, proba**2, n_slots))
