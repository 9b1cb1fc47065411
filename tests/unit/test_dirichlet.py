"""Dirichlet distributions against numbers by hand and integration."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma

from amcc.consensus.dirichlet import dirichlet_divergence, expected_log


def test_expected_log_by_hand():
    assert_allclose(expected_log(np.array([1.0, 1.0])), [-1, -1], rtol=1e-12)  # ψ(1) − ψ(2) = −1
    assert_allclose(expected_log(np.array([3.0, 1.0])), [digamma(3) - digamma(4), digamma(1) - digamma(4)])


def test_divergence_against_integration():
    """KL of Beta(3, 2) from Beta(1.5, 2.5), by a sum over a fine grid."""
    from scipy.stats import beta

    x = (np.arange(200_000) + 0.5) / 200_000
    expected = np.mean(beta.pdf(x, 3, 2) * (beta.logpdf(x, 3, 2) - beta.logpdf(x, 1.5, 2.5)))
    assert dirichlet_divergence(np.array([3.0, 2.0]), np.array([1.5, 2.5])) == pytest.approx(expected, abs=1e-6)
