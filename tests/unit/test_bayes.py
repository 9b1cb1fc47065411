"""Bayes' rule and Beta distributions: exact against integrals and sums, and steps that never fall."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import gammaln, logsumexp, softmax
from scipy.stats import beta

from amcc import special
from amcc.consensus.default import bayes
from amcc.consensus.default.bayes import STRENGTH_RANGE, best_of_three, effective_votes_of, log_evidence, posterior


def test_posterior_is_softmax_and_its_normaliser():
    log_joint = np.random.default_rng(0).normal(scale=5, size=(4, 7))
    proba, evidence = posterior(log_joint)
    assert_allclose(proba, softmax(log_joint, axis=0), rtol=1e-12)
    assert_allclose(evidence, logsumexp(log_joint, axis=0), rtol=1e-12)


def test_posterior_neither_overflows_nor_minds_what_is_impossible():
    proba, evidence = posterior(np.array([[1e5, -np.inf], [1e5 - np.log(3), -1e5]]))
    assert_allclose(proba, [[0.75, 0], [0.25, 1]])
    assert np.isfinite(evidence).all()


def test_posterior_of_nothing():
    proba, evidence = posterior(np.empty((3, 0)))
    assert proba.shape == (3, 0)
    assert evidence.shape == (0,)


@pytest.mark.parametrize(("yes", "no"), [(0.0, 0.0), (1.0, 0.0), (2.5, 1.5), (0.0, 7.0)])
def test_evidence_is_the_integral_over_the_rate(yes, no):
    integral = beta(2.5, 3.5).expect(lambda rate: rate**yes * (1 - rate) ** no)
    found = log_evidence(*(np.array(each) for each in (2.5, 3.5, yes, no)))
    assert found == pytest.approx(np.log(integral), abs=1e-7)


def above_the_bound(lent, votes, factor):
    """log Γ(x + n) − log Γ(x) at x = factor · x₀, minus the function that should lie below it; and its rounding."""

    def exact(x):
        return gammaln(x + votes) - gammaln(x)

    effective = effective_votes_of(np.array(lent), np.array(votes))
    rounding = 1e-12 * (abs(gammaln(lent * factor + votes)) + abs(gammaln(lent + votes)) + abs(gammaln(lent)) + 10)
    return exact(lent * factor) - exact(lent) - effective * np.log(factor), rounding


@given(st.floats(0.01, 500), st.just(0.0) | st.floats(1, 200), st.floats(0.1, 10))
def test_effective_votes_bound_the_evidence_from_below(lent, votes, factor):
    """Wherever x is, for no votes or one and more: why steps may be trusted."""
    above, rounding = above_the_bound(lent, votes, factor)
    assert above >= -rounding
    assert -1e-9 <= effective_votes_of(np.array(lent), np.array(votes)) <= votes + 1e-9


@given(st.floats(0.01, 500), st.floats(0.001, 0.999), st.floats(np.exp(-1), np.e))
def test_parts_of_a_vote_may_miss_the_bound_by_little(lent, votes, factor):
    """The inequality is the other way round there; a step is at most one unit of log-odds, so it is never much."""
    above, rounding = above_the_bound(lent, votes, factor)
    assert -0.13 <= above <= rounding


@given(st.lists(st.floats(*STRENGTH_RANGE), min_size=1, max_size=5))
def test_best_of_three_never_falls_and_stays_in_range(strengths):
    strength, wanted = np.array(strengths), 40.0

    def value(tried):
        return -np.abs(np.log(tried / wanted))

    found = best_of_three(strength, value)
    assert (value(found) >= value(strength)).all()
    assert ((found >= STRENGTH_RANGE[0]) & (found <= STRENGTH_RANGE[1])).all()
    assert (
        np.isin(np.round(np.log2(found / strength), 9), [-1, 0, 1]).all()
        or (found == STRENGTH_RANGE[1]).any()
        or (found == STRENGTH_RANGE[0]).any()
    )


def test_best_of_three_stays_where_nothing_is_better():
    strength = np.array([3.0, 8.0])
    assert best_of_three(strength, np.zeros_like).tolist() == strength.tolist()


def test_best_of_three_finds_the_best_in_a_few_rounds():
    strength = np.array([0.5, 8.0, 4096.0])
    for _ in range(12):
        strength = best_of_three(strength, lambda tried: -np.abs(np.log(tried / 64.0)))
    assert strength.tolist() == [64.0, 64.0, 64.0]


# -- special functions of many numbers ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables():
    """Two tables of positive numbers, from a hundredth to a few thousand, just too large to be small."""
    rng = np.random.default_rng(0)
    return np.exp(rng.uniform(np.log(0.01), np.log(5000), size=(2, bayes.MANY // 7 + 1, 7)))


def test_compiled_loops_say_the_same_as_scipy(tables):
    yes, no = tables
    assert_allclose(bayes.log_beta(yes, no), special.betaln(yes, no), rtol=1e-10, atol=1e-9)
    assert_allclose(bayes.digamma(yes), special.digamma(yes), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("piece", [bayes.PIECE, 1000], ids=["usual pieces", "small pieces"])
def test_the_series_says_the_same_as_scipy(tables, piece, monkeypatch):
    yes, no = tables
    monkeypatch.setattr(bayes, "PIECE", piece)
    assert_allclose(bayes.log_beta(yes.T, no.T, many=np.inf), special.betaln(yes, no).T, rtol=1e-10, atol=1e-9)
    many = np.full(bayes.SOME, 1e6)
    assert_allclose(bayes.log_beta(many, many), special.betaln(1e6, 1e6), rtol=1e-12)


def test_tables_that_are_not_in_one_piece_count_as_they_look(tables):
    yes, no = tables
    assert_allclose(bayes.log_beta(yes.T, no.T), special.betaln(yes, no).T, rtol=1e-10, atol=1e-9)
