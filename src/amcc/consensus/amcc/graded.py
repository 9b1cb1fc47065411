"""Labels that are a matter of degree: the share of people who would say yes differs from pair to pair, θ ~ Beta.

The other reading of the same votes has only two kinds of pairs, present and absent, and errors of workers. Where people
differ in taste (which emotion does a story convey?), that reading takes two yes in five for a label most people missed.
Here, a label is present when more than half of the people would say so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaln, logit

from amcc.kernels import Floats, sigmoid, weight_per_code
from amcc.votes import Votes

STRENGTHS: Floats = np.exp2(np.arange(-2.0, 6.0, 0.5))
"""Tried for the Beta distribution of θ: from crisp pairs to all pairs alike."""

LABEL_VOTES = 8.0
"""Votes at the overall share that each label starts with."""

LINE_PRECISION: Floats = np.array([1.0, 4.0])
"""How firmly a worker's line is held to offset 0 and slope 1."""


@dataclass(frozen=True)
class Graded:
    """(n_labels,) mean share of yes, strength of its Beta distribution, (n_workers, 2) offset and slope of workers."""

    mean: Floats
    strength: float
    line: Floats


def presence(n_yes: Floats, n_votes: Floats) -> Floats:
    """Probability that more than half would say yes, with Jeffreys' prior: one half where votes are tied."""
    return np.asarray(1 - betainc(0.5 + n_yes, 0.5 + n_votes - n_yes, 0.5))


def fit_graded(votes: Votes) -> Graded:
    """Distribution of the shares, and how each worker's answers follow those of the others."""
    pairs, n_votes = votes.pairs, votes.pairs.n_votes.astype(np.float64)
    n_yes = votes.n_yes.astype(np.float64)
    overall = (n_yes.sum() + 1) / (n_votes.sum() + 5)
    yes, asked = (weight_per_code(pairs.label, count, votes.n_labels) for count in (n_yes, n_votes))
    mean = np.clip((yes + LABEL_VOTES * overall) / (asked + LABEL_VOTES), 1e-4, 1 - 1e-4)

    def log_likelihood(strength: float) -> float:
        a, b = strength * mean[pairs.label], strength * (1 - mean[pairs.label])
        return float((betaln(a + n_yes, b + n_votes - n_yes) - betaln(a, b)).sum())

    strength = float(max(STRENGTHS, key=log_likelihood))
    pair = np.repeat(np.arange(len(pairs)), pairs.n_votes)
    is_yes = (votes.value > 0).astype(np.float64)
    others = _expected_share(mean[votes.label], strength, n_yes[pair] - is_yes, n_votes[pair] - 1)
    return Graded(mean, strength, _worker_lines(votes, logit(others), is_yes))


def vote_probability(graded: Graded, votes: Votes, n_yes: Floats, n_votes: Floats) -> Floats:
    """(n_votes,) probability of a yes from this worker, given the counts of other votes on the pair."""
    share = _expected_share(graded.mean[votes.label], graded.strength, n_yes, n_votes)
    offset, slope = graded.line[votes.worker].T
    return sigmoid(offset + slope * logit(share))


def _expected_share(mean: Floats, strength: float, n_yes: Floats, n_votes: Floats) -> Floats:
    return np.clip((strength * mean + n_yes) / (strength + n_votes), 1e-4, 1 - 1e-4)


def _worker_lines(votes: Votes, others: Floats, is_yes: Floats, n_steps: int = 15) -> Floats:
    """Logistic regression, per worker, of his votes on the log-odds that the others suggest."""
    usual = np.array([0.0, 1.0])
    line = np.tile(usual, (votes.n_workers, 1))
    columns = np.ones_like(others), others

    def per_worker(weight: Floats) -> Floats:
        return weight_per_code(votes.worker, weight, votes.n_workers)

    for _ in range(n_steps):
        offset, slope = line[votes.worker].T
        expected = sigmoid(offset + slope * others)
        gradient = np.stack([per_worker(x * (is_yes - expected)) for x in columns], axis=1)
        gradient -= LINE_PRECISION * (line - usual)
        bend = expected * (1 - expected)
        hessian = np.stack([np.stack([per_worker(x * y * bend) for y in columns], axis=1) for x in columns], axis=1)
        hessian += np.diag(LINE_PRECISION)
        step = np.clip(np.linalg.solve(hessian, gradient[..., None])[..., 0], -1.0, 1.0)
        line = line + step
        if np.abs(step).max(initial=0.0) < 1e-4:
            break
    return line
