"""NAM's two sets of logistic regressions, and the steps of expectation-maximisation.

One set predicts whether a label is present, from the features of the item; the other whether a vote is right, from the
description of the answer. Neither sees its target: both learn from the probabilities that the other leads to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from amcc.arrays import Codes, Floats, sigmoid, weight_per_code
from amcc.consensus.learned import Gold
from amcc.consensus.models.nam.regressions import Regressions
from amcc.votes import Votes

# Ridge of the logistic regressions that the search starts from: liblinear's default, C = 1.
START_RIDGE = 1.0

# The short ascent: step divided by its number, the last number, relative change at which it stops.
# The published code goes on to 1000, which only labels with few votes ever see; here they go on in the next round.
ASCENT_STEP, ASCENT_ROUNDS, ASCENT_TOL = 0.05, 10, 1e-4


class NamWeights(NamedTuple):
    """Of the truth, (n_labels, …), and of the workers, (n_coins, …); or their margins, by pair and by vote."""

    truth: Floats
    workers: Floats


@dataclass(frozen=True)
class NamProblem:
    """Two sets of logistic regressions that share their targets, the truth of the pairs.

    truth : one regression for each label, with an observation for each pair.
    workers : one for each coin, with an observation for each vote.
    gold, shrinkage : the truth that is known, and the precision λ of the weights' prior for each observation.
    """

    votes: Votes
    truth: Regressions
    workers: Regressions
    gold: Gold
    shrinkage: float

    @cached_property
    def n_observations(self) -> Floats:
        """(n_labels,) C: pairs and votes of each label."""
        pairs, votes = (np.bincount(code, minlength=self.votes.n_labels) for code in self.observed_labels)
        return np.asarray(pairs + votes, dtype=np.float64)

    @property
    def observed_labels(self) -> tuple[Codes, Codes]:
        """Label of each pair, and of each vote."""
        return self.votes.pairs.label, self.votes.label

    @property
    def ridges(self) -> NamWeights:
        """λ C for each regression: the ridge of a sum over observations."""
        ridge = self.shrinkage * np.maximum(self.n_observations, 1.0)
        return NamWeights(ridge, ridge[self.votes.coins.label])

    def margins(self, weights: NamWeights) -> NamWeights:
        """Log-odds of presence of each pair before its votes, and of each vote to be right.

        (n_pairs,) and (n_votes,).
        """
        return NamWeights(self.truth.margins(weights.truth), self.workers.margins(weights.workers))

    def targets(self, proba: Floats) -> NamWeights:
        """Probability that the label is present, and that the vote is right."""
        of_vote = np.repeat(proba, self.votes.pairs.n_votes)
        return NamWeights(proba, np.where(self.votes.value > 0, of_vote, 1 - of_vote))

    def log_odds(self, margins: NamWeights) -> Floats:
        """E-step: v·x + Σ ± w·x̂ over the votes of each pair."""
        return margins.truth + np.add.reduceat(self.votes.value * margins.workers, self.votes.pairs.start[:-1])

    def posterior(self, margins: NamWeights) -> Floats:
        """(n_pairs,) probability of presence, known truth as it is."""
        return np.where(self.gold.known, self.gold.present, sigmoid(self.log_odds(margins)))

    def log_likelihood(self, margins: NamWeights) -> float:
        """Of the votes, and of the known truth.

        A pair's likelihood is (its likelihood if absent) · (1 + odds); of a known pair only one of the two counts.
        """
        log_odds = self.log_odds(margins)
        by_pair = np.where(self.gold.known, self.gold.present * log_odds, np.logaddexp(0.0, log_odds))
        if_absent = np.logaddexp(0.0, margins.truth).sum() + np.logaddexp(0.0, self.votes.value * margins.workers).sum()
        return float(by_pair.sum() - if_absent)


def first_weights(problem: NamProblem) -> NamWeights:
    """Logistic regressions on the majority's labels, and on whether each vote agrees with them."""
    votes = problem.votes
    # An even split is a no, as for `MajorityVote`.
    majority = votes.n_yes / votes.pairs.n_votes > 0.5
    targets = problem.targets(np.where(problem.gold.known, problem.gold.present, majority).astype(np.float64))
    return NamWeights(
        *(
            # Newton's method stops by itself where its steps become small; fifty of them are only a guard.
            regressions.solved(np.zeros(regressions.shape), target, np.full(regressions.n_groups, START_RIDGE), 50)
            for regressions, target in zip((problem.truth, problem.workers), targets, strict=True)
        )
    )


def newton_round(problem: NamProblem, weights: NamWeights, proba: Floats) -> NamWeights:
    """M-step: one damped Newton step on every regression."""
    targets, ridges = problem.targets(proba), problem.ridges
    return NamWeights(
        problem.truth.solved(weights.truth, targets.truth, ridges.truth, 1),
        problem.workers.solved(weights.workers, targets.workers, ridges.workers, 1),
    )


def ascent(problem: NamProblem, weights: NamWeights, proba: Floats) -> NamWeights:
    """M-step of the publication: gradient steps of length 0.05 / t, t = 2, 3, …, label by label until they rest."""
    targets, coin_label, shrinkage = problem.targets(proba), problem.votes.coins.label, problem.shrinkage
    scale = np.maximum(problem.n_observations, 1.0)
    margins = problem.margins(weights)
    before = ascent_value(problem, weights, margins, targets)
    moving = np.ones(problem.votes.n_labels, dtype=bool)
    for number in range(2, ASCENT_ROUNDS + 1):
        step = np.where(moving, ASCENT_STEP / number, 0.0)
        residual = NamWeights(*(target - sigmoid(margin) for target, margin in zip(targets, margins, strict=True)))
        slope = gradient(problem.truth, weights.truth, residual.truth, scale, shrinkage)
        slopes = gradient(problem.workers, weights.workers, residual.workers, scale[coin_label], shrinkage)
        # In place, as in `gradient`: the slopes become the new weights.
        slopes *= step[coin_label, None]
        slopes += weights.workers
        weights = NamWeights(weights.truth + step[:, None] * slope, slopes)
        margins = problem.margins(weights)
        after = ascent_value(problem, weights, margins, targets)
        # A label that rests once stays at rest, as in the published code.
        moving &= np.abs(after - before) > ASCENT_TOL * np.abs(before)
        before = after
        if not moving.any():
            break
    return weights


def ascent_value(problem: NamProblem, weights: NamWeights, margins: NamWeights, targets: NamWeights) -> Floats:
    """(n_labels,) expected log-likelihood per observation plus log-prior: what the ascent climbs."""
    n_labels, scale = problem.votes.n_labels, np.maximum(problem.n_observations, 1.0)
    likely = [
        weight_per_code(label, target * margin - np.logaddexp(0.0, margin), n_labels)
        for label, target, margin in zip(problem.observed_labels, targets, margins, strict=True)
    ]
    squares = [np.einsum("gp,gp->g", part, part) for part in weights]
    size = squares[0] + weight_per_code(problem.votes.coins.label, squares[1], n_labels)
    return np.asarray(sum(likely) / scale - problem.shrinkage / 2 * size)


def gradient(regressions: Regressions, weights: Floats, residual: Floats, scale: Floats, shrinkage: float) -> Floats:
    """g = Xᵀ (target − σ(X w)) / C − λ w of every regression.

    weights : (n_groups, n); residual : (n_observations,) target − σ(X w); scale : (n_groups,) C.
    """
    slope = regressions.weighted_rows(residual)
    slope /= scale[:, None]  # in place: this is the largest table of the model
    slope -= shrinkage * weights
    return slope
