"""Dirichlet distributions against numbers by hand and integration."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma

from amcc.consensus.dirichlet import confusion_prior, dirichlet_divergence, expected_log, log_mean, pooled_counts


def test_expected_log_by_hand():
    assert_allclose(expected_log(np.array([1.0, 1.0])), [-1, -1], rtol=1e-12)  # ψ(1) − ψ(2) = −1
    assert_allclose(expected_log(np.array([3.0, 1.0])), [digamma(3) - digamma(4), digamma(1) - digamma(4)])


def test_divergence_against_integration():
    """KL of Beta(3, 2) from Beta(1.5, 2.5), by a sum over a fine grid."""
    from scipy.stats import beta

    x = (np.arange(200_000) + 0.5) / 200_000
    expected = np.mean(beta.pdf(x, 3, 2) * (beta.logpdf(x, 3, 2) - beta.logpdf(x, 1.5, 2.5)))
    assert dirichlet_divergence(np.array([3.0, 2.0]), np.array([1.5, 2.5])) == pytest.approx(expected, abs=1e-6)


def test_confusion_prior_is_indexed_by_truth_and_answer():
    assert confusion_prior(4, 1).tolist() == [[4, 1], [1, 4]]


def test_expected_logs_stay_below_the_log_of_the_mean():
    """Jensen's inequality, and the gap closes as counts grow."""
    counts = np.random.default_rng(0).uniform(0.1, 5, size=(50, 3))
    few, many = (log_mean(counts) - expected_log(counts), log_mean(1000 * counts) - expected_log(1000 * counts))
    assert (few > 0).all()
    assert (many > 0).all()
    assert (many < few).all()


def test_means_sum_to_one():
    counts = np.random.default_rng(1).uniform(0.1, 5, size=(4, 2, 3))
    assert_allclose(np.exp(log_mean(counts)).sum(axis=-1), 1, rtol=1e-12)


@pytest.mark.parametrize("size", [2, 5])
def test_divergence_is_zero_only_at_the_prior(size):
    rng = np.random.default_rng(size)
    prior, counts = rng.uniform(0.5, 3, size), rng.uniform(0.5, 3, size=(20, size))
    assert dirichlet_divergence(prior, prior) == pytest.approx(0, abs=1e-12)
    assert (dirichlet_divergence(counts, prior) > 0).all()


def test_divergence_takes_logs_that_are_there_already():
    counts, prior = np.array([[2.0, 3.0], [1.0, 7.0]]), np.array([1.0, 2.0])
    assert_allclose(dirichlet_divergence(counts, prior, expected_log(counts)), dirichlet_divergence(counts, prior))


def test_a_label_without_workers_has_the_prior():
    prior = confusion_prior(4, 1)
    gained = np.arange(12.0).reshape(3, 2, 2)
    pooled = pooled_counts(prior, gained, np.array([2, 0, 2]), 3)
    assert_allclose(pooled, [prior + gained[1], prior, prior + gained[0] + gained[2]])
    assert prior.tolist() == [[4, 1], [1, 4]]
