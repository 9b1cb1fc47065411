"""Plain counts: a pair is what most workers say, whoever they are.

The reading that needs no model, so none of its errors: nobody should fall far below majority because a model was sure
without reason. `counts_predict` says how well counts predict votes, to be compared with what a model predicts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from amcc.arrays import Codes, Floats, sigmoid, weight_per_code
from amcc.consensus.default.bayes import log_evidence
from amcc.consensus.default.presence import expected_share_of_yes, presence_at
from amcc.consensus.default.settings import Settings
from amcc.special import logit
from amcc.votes import Votes

# Tried for the Beta distribution of shares: from pairs on which all agree to pairs that are all alike.
STRENGTHS: Floats = np.exp2(np.arange(-2.0, 6.0, 0.5))

# Shares are kept this far from 0 and 1: one vote must not be impossible.
NEAREST_SHARE = 1e-4

# How firmly a worker's line is held to offset 0 and slope 1, as precisions: offsets differ by about 1 (some say yes
# more easily than others), slopes by about a half (few contradict the others, few are twice as sure as they are).
LINE_PRECISION: Floats = np.array([1.0, 4.0])

# Of the workers' lines: steps at most, the step at which they have arrived, and the longest step. A step beyond one
# unit of log-odds leaves the region where the quadratic approximation holds.
NEWTON_STEPS, SMALL_STEP, LONGEST_LINE_STEP = 15, 1e-4, 1.0


def presence_by_counts(n_yes: Floats, n_votes: Floats, settings: Settings) -> Floats:
    """Probability that the label is present, by votes alone: one half where they are tied, so it decides as majority.

    >>> presence_by_counts(np.array([3.0, 1.0, 1.0]), np.array([3.0, 2.0, 5.0]), Settings()).round(2).tolist()
    [0.96, 0.5, 0.15]
    """
    return presence_at(expected_share_of_yes(n_yes, n_votes), settings, lean=0.0)


@dataclass(frozen=True)
class Shares:
    """Beta distribution of the share of yes: (n_labels,) means and one strength."""

    mean: Floats
    strength: float

    def given(self, label: Codes, n_yes: Floats, n_votes: Floats) -> Floats:
        """Expected share of yes of pairs with these labels and votes."""
        share = (self.strength * self.mean[label] + n_yes) / (self.strength + n_votes)
        return np.asarray(np.clip(share, NEAREST_SHARE, 1 - NEAREST_SHARE))


def fit_shares(votes: Votes, settings: Settings) -> Shares:
    """How the share of yes differs from label to label, and from pair to pair."""
    label, n_yes, n_votes = votes.pairs.label, votes.n_yes.astype(np.float64), votes.pairs.n_votes.astype(np.float64)
    overall, lent = expected_share_of_yes(n_yes.sum(), n_votes.sum()), settings.pseudo_votes
    yes, asked = (weight_per_code(label, count, votes.n_labels) for count in (n_yes, n_votes))
    mean = np.clip((yes + lent * overall) / (asked + lent), NEAREST_SHARE, 1 - NEAREST_SHARE)

    # Labels and counts repeat over and over: each combination is looked at once.
    span = int(n_votes.max(initial=0)) + 1
    key = (label.astype(np.int64) * span + votes.n_yes) * span + votes.pairs.n_votes
    distinct, times = np.unique(key, return_counts=True)
    (label, yes), asked = np.divmod(distinct // span, span), distinct % span

    def log_likelihood(strength: float) -> float:
        lent_yes, lent_no = strength * mean[label], strength * (1 - mean[label])
        return float(times @ log_evidence(lent_yes, lent_no, yes, asked - yes))

    return Shares(mean, float(max(STRENGTHS, key=log_likelihood)))


def counts_predict(votes: Votes, settings: Settings) -> Floats:
    """(n_votes,) probability of yes, by how many of the others said yes, and how the worker follows the others.

    A worker follows them by a line in log-odds of their expected share: offset and slope.
    """
    shares, is_yes = fit_shares(votes, settings), (votes.value > 0).astype(np.float64)
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    # The vote itself is taken out of its pair: it must not predict itself.
    n_yes, n_votes = votes.n_yes[pair] - is_yes, votes.pairs.n_votes[pair].astype(np.float64) - 1
    others = logit(shares.given(votes.label, n_yes, n_votes))
    offset, slope = _worker_lines(votes, others, is_yes)[votes.worker].T
    return sigmoid(offset + slope * others)


def _worker_lines(votes: Votes, others: Floats, is_yes: Floats) -> Floats:
    """(n_workers, 2) offset and slope: logistic regression, per worker, of their votes on what the others suggest.

    All workers at once: a regression is two numbers, so its Hessian is a small matrix, solved for all of them together.
    """
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
        step = np.clip(np.linalg.solve(hessian, gradient[..., None])[..., 0], -LONGEST_LINE_STEP, LONGEST_LINE_STEP)
        line = line + step
        if np.abs(step).max(initial=0.0) < SMALL_STEP:
            break
    return line
