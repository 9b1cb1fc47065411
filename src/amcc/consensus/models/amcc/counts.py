"""Plain counts: a pair is what most workers say, whoever they are.

The reading that needs no model, so none of its errors: nobody should fall far below majority because a model was sure
without reason. `counts_predict` says how well counts predict votes, to be compared with what a model predicts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, logit

from amcc.arrays import Codes, Floats, sigmoid, weight_per_code
from amcc.consensus.models.amcc.presence import presence_at
from amcc.votes import Votes

STRENGTHS: Floats = np.exp2(np.arange(-2.0, 6.0, 0.5))
"""Tried for the Beta distribution of shares: from pairs on which all agree to pairs that are all alike."""

LABEL_VOTES = 8.0
"""Votes at the overall share that each label starts with."""

LINE_PRECISION: Floats = np.array([1.0, 4.0])
"""How firmly a worker's line is held to offset 0 and slope 1."""

NEWTON_STEPS, SMALL_STEP = 15, 1e-4
"""Of the workers' lines: steps at most, and when they have arrived."""


def presence_by_counts(n_yes: Floats, n_votes: Floats) -> Floats:
    """Probability that the label is present, by votes alone: one half where they are tied, so it decides as majority.

    >>> presence_by_counts(np.array([3.0, 1.0, 1.0]), np.array([3.0, 2.0, 5.0])).round(2).tolist()
    [0.96, 0.5, 0.15]
    """
    return presence_at((n_yes + 0.5) / (n_votes + 1), lean=0.0)


@dataclass(frozen=True)
class Shares:
    """Beta distribution of the share of yes: (n_labels,) means and one strength."""

    mean: Floats
    strength: float

    def given(self, label: Codes, n_yes: Floats, n_votes: Floats) -> Floats:
        """Expected share of yes of pairs with these labels and votes."""
        share = (self.strength * self.mean[label] + n_yes) / (self.strength + n_votes)
        return np.asarray(np.clip(share, 1e-4, 1 - 1e-4))


def fit_shares(votes: Votes) -> Shares:
    """How the share of yes differs from label to label, and from pair to pair."""
    label, n_yes, n_votes = votes.pairs.label, votes.n_yes.astype(np.float64), votes.pairs.n_votes.astype(np.float64)
    overall = (n_yes.sum() + 1) / (n_votes.sum() + 5)
    yes, asked = (weight_per_code(label, count, votes.n_labels) for count in (n_yes, n_votes))
    mean = np.clip((yes + LABEL_VOTES * overall) / (asked + LABEL_VOTES), 1e-4, 1 - 1e-4)

    def log_likelihood(strength: float) -> float:
        a, b = strength * mean[label], strength * (1 - mean[label])
        return float((betaln(a + n_yes, b + n_votes - n_yes) - betaln(a, b)).sum())

    return Shares(mean, float(max(STRENGTHS, key=log_likelihood)))


def counts_predict(votes: Votes) -> Floats:
    """(n_votes,) probability of yes, by how many of the others said yes, and how the worker follows the others.

    A worker follows them by a line in log-odds of their expected share: offset and slope.
    """
    shares, is_yes = fit_shares(votes), (votes.value > 0).astype(np.float64)
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    n_yes, n_votes = votes.n_yes[pair] - is_yes, votes.pairs.n_votes[pair].astype(np.float64) - 1
    others = logit(shares.given(votes.label, n_yes, n_votes))
    offset, slope = _worker_lines(votes, others, is_yes)[votes.worker].T
    return sigmoid(offset + slope * others)


def _worker_lines(votes: Votes, others: Floats, is_yes: Floats) -> Floats:
    """(n_workers, 2) offset and slope: logistic regression, per worker, of their votes on what the others suggest."""
    usual = np.array([0.0, 1.0])
    line = np.tile(usual, (votes.n_workers, 1))
    columns = np.ones_like(others), others

    def per_worker(weight: Floats) -> Floats:
        return weight_per_code(votes.worker, weight, votes.n_workers)

    for _ in range(NEWTON_STEPS):
        offset, slope = line[votes.worker].T
        expected = sigmoid(offset + slope * others)
        gradient = np.stack([per_worker(x * (is_yes - expected)) for x in columns], axis=1)
        gradient -= LINE_PRECISION * (line - usual)
        bend = expected * (1 - expected)
        hessian = np.stack([np.stack([per_worker(x * y * bend) for y in columns], axis=1) for x in columns], axis=1)
        hessian += np.diag(LINE_PRECISION)
        # A step beyond one unit of log-odds leaves the region where the quadratic approximation holds.
        step = np.clip(np.linalg.solve(hessian, gradient[..., None])[..., 0], -1.0, 1.0)
        line = line + step
        if np.abs(step).max(initial=0.0) < SMALL_STEP:
            break
    return line
