"""Dirichlet distributions of shares, for models that know rates only as distributions (`IBCC`, `EBCC`, `MACE`).

A distribution over the shares of k outcomes is kept as k counts, along the last axis: pseudo-counts of the prior plus
expected observations. Variational inference needs three things of it: expected logs, means, and what the bound on the
evidence pays for leaving the prior.
"""

from __future__ import annotations

import numpy as np

from amcc.arrays import AnyInts, Floats
from amcc.special import digamma, gammaln


def confusion_prior(right: float, wrong: float) -> Floats:
    """(2, 2) pseudo-votes of a confusion matrix, [truth, answer]: `right` on the diagonal, `wrong` beside it."""
    return np.array([[right, wrong], [wrong, right]])


def expected_log(counts: Floats) -> Floats:
    """E log θ under Dirichlet(counts), along the last axis."""
    return np.asarray(digamma(counts) - digamma(counts.sum(axis=-1, keepdims=True)), dtype=np.float64)


def log_mean(counts: Floats) -> Floats:
    """Log E θ under Dirichlet(counts), along the last axis.

    >>> np.exp(log_mean(np.array([3.0, 1.0]))).tolist()
    [0.75, 0.25]
    """
    return np.asarray(np.log(counts / counts.sum(axis=-1, keepdims=True)), dtype=np.float64)


def dirichlet_divergence(counts: Floats, prior: Floats, log: Floats | None = None) -> Floats:
    """Kullback–Leibler divergence of Dirichlet(counts) from Dirichlet(prior), along the last axis.

    `log` is `expected_log(counts)`, for those who have it already.

    >>> dirichlet_divergence(np.array([[2.0, 1.0], [1.0, 1.0]]), np.ones(2)).round(6).tolist()  # log 2 − 1/2
    [0.193147, 0.0]
    """
    # E log of the ratio of both densities: their normalising constants, and the powers in which they differ.
    normaliser = gammaln(counts.sum(axis=-1)) - gammaln(counts).sum(axis=-1)
    prior_normaliser = gammaln(prior.sum(axis=-1)) - gammaln(prior).sum(axis=-1)
    gain = ((counts - prior) * (expected_log(counts) if log is None else log)).sum(axis=-1)
    return np.asarray(normaliser - prior_normaliser + gain, dtype=np.float64)


def pooled_counts(prior: Floats, gained: Floats, coin_label: AnyInts, n_labels: int) -> Floats:
    """(n_labels, …) counts of all workers together, label by label: what a newcomer is expected to do.

    `gained` (n_coins, …) are counts without their prior, which is added once for each label and not for each worker.

    >>> pooled_counts(np.ones(2), np.array([[3.0, 0.0], [2.0, 1.0]]), np.array([0, 0]), 1).tolist()
    [[6.0, 2.0]]
    """
    # `np.add.at`, since a label has many coins: plain indexing would keep the last of them only.
    pooled = np.tile(prior, (n_labels, *[1] * prior.ndim))
    np.add.at(pooled, coin_label, gained)
    return pooled
