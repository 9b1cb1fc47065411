"""Compiled loops by themselves: special functions against scipy and their error bounds, steps against plain Python."""

from __future__ import annotations

import subprocess
import sys
from math import factorial, log, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import bernoulli, betaln, digamma, expit, gammaln, logsumexp

from amcc.loops import HASH_FIRST, HASH_SECOND, HASH_STEP, coins, compiling, degrees, hashes, sets
from amcc.loops import votes as vote_loops

ROUNDING = 2.0**-53  # of one operation


# -- loading ---------------------------------------------------------------------------------------------------------


def test_loops_load_without_the_linear_algebra_of_scipy():
    """Numba looks for a BLAS there, and finds it; later on, whoever wants scipy.linalg gets all of it."""
    code = """
import sys
import numpy as np
from amcc.loops import coins
result = np.empty(1)
coins.digamma(np.ones(1), result)
assert round(result[0], 4) == -0.5772
assert not {name for name in sys.modules if name.startswith("scipy.linalg")}
from numba.np import arraymath
assert arraymath._HAVE_BLAS
import scipy.linalg.cython_blas
assert scipy.linalg.cython_blas.__pyx_capi__
assert scipy.linalg.det(np.eye(2)) == 1.0
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# -- error bounds that the docstrings give --------------------------------------------------------------------------


def test_taylor_of_the_exponential_leaves_out_less_than_rounding():
    """Degree 13 on |r| ≤ ln 2 / 2; a degree less would be seen."""
    r = log(2) / 2
    left_out = [r ** (degree + 1) / factorial(degree + 1) / np.exp(-r) for degree in (12, 13)]
    assert left_out[1] < 6e-18 < ROUNDING / 16
    assert left_out[0] > ROUNDING


def test_taylor_of_the_logarithm_leaves_out_less_than_rounding():
    z = ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2
    assert sum(z**k / (2 * k + 1) for k in range(10, 100)) < 2.5e-17 < ROUNDING / 4


def test_stirling_leaves_out_what_the_docstrings_say():
    """The error of an alternating series of this kind is less than the first term that is left out."""
    numbers = np.abs(bernoulli(16))
    assert numbers[14] / (14 * 13) / coins.SHIFT**13 < 1.2e-14
    assert numbers[16] / 16 / coins.SHIFT**16 < 1.6e-15


def test_multiples_of_the_high_part_of_ln_2_are_exact():
    """What exp_minus relies on: 21 zero bits at the end, 11 bits for n."""
    bits = np.float64(vote_loops.LN_2_HIGH).view(np.uint64)
    assert bits % np.uint64(2**21) == 0
    assert -vote_loops.MOST_NEGATIVE * vote_loops.LOG2_E < 2**11
    assert log(2) == vote_loops.LN_2_HIGH + vote_loops.LN_2_LOW


def test_a_chunk_cannot_overflow():
    assert np.finfo(float).max ** 0.5 > 2.0**vote_loops.CHUNK


# -- special functions ----------------------------------------------------------------------------------------------


def test_bits_there_and_back():
    numbers = np.array([0.0, -0.0, 1.5, np.pi, -np.inf, 5e-324])

    @compiling.machine_code()
    def there_and_back(x):
        return vote_loops.number_of(vote_loops.bits_of(x))

    assert_array_equal([there_and_back(x) for x in numbers], numbers)


@pytest.mark.parametrize("x", [1e-12, 1e-3, 0.5, 1.0, 1.4616, 2.0, 7.9, 8.0, 40.0, 1e4, 1e9])
def test_digamma_of_all_sizes(x):
    found = np.empty(1)
    coins.digamma(np.array([x]), found)
    assert found[0] == pytest.approx(digamma(x), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("x", [1e-6, 0.3, 1.0, 5.0, 300.0])
def test_digamma_is_the_slope_of_log_gamma(x):
    found, step = np.empty(1), 1e-5 * x
    coins.digamma(np.array([x]), found)
    assert found[0] == pytest.approx((gammaln(x + step) - gammaln(x - step)) / (2 * step), rel=1e-6)


def test_log_beta_of_small_counts_by_hand():
    """B(a, b) = (a − 1)! (b − 1)! / (a + b − 1)!"""
    yes, no, found = np.array([1.0, 2.0, 3.0, 5.0]), np.array([1.0, 1.0, 2.0, 5.0]), np.empty(4)
    coins.log_beta(yes, no, found)
    assert_allclose(np.exp(found), [1, 1 / 2, 1 / 12, 1 / 630], rtol=1e-13)


def test_log_beta_is_symmetric_and_does_not_overflow():
    yes, no = np.array([1e-8, 1e30, 3e-300, 7.0]), np.array([1e30, 1e-8, 2.0, 1e12])
    there, back = np.empty(4), np.empty(4)
    coins.log_beta(yes, no, there)
    coins.log_beta(no, yes, back)
    assert np.isfinite(there).all()
    assert_allclose(there, back, rtol=1e-12)
    assert there[2] == pytest.approx(betaln(3e-300, 2.0), rel=1e-13)


@pytest.mark.parametrize("n", [1e3, 1e6, 1e9])
def test_log_beta_of_many_votes_loses_no_more_than_it_says(n):
    found, yes = np.empty(3), n * np.array([0.01, 0.4, 0.9])
    coins.log_beta(yes, n - yes, found)
    assert_allclose(found, betaln(yes, n - yes), rtol=1e-14, atol=1e-13 + 2e-16 * n * np.log(n))


def test_probabilities_keep_their_digits_on_both_sides():
    log_odds, proba = np.array([-600.0, -40.0, 0.0, 40.0, 600.0]), np.empty(5)
    total = vote_loops.probabilities(log_odds, proba)
    assert_allclose(proba, expit(log_odds), rtol=1e-15)
    assert total == pytest.approx(np.logaddexp(0, log_odds).sum(), rel=1e-15)


# -- steps ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_votes", range(1, 10))
def test_votes_are_taken_four_two_and_one_at_a_time(n_votes):
    """Every rest of four, with a pair before and a pair behind that must not be touched."""
    rng = np.random.default_rng(n_votes)
    start = np.cumsum([0, 3, n_votes, 2]).astype(np.uint64)
    slot = rng.integers(6, size=int(start[-1])).astype(np.uint32)
    evidence, prior = rng.normal(size=6), rng.normal(size=3)
    log_odds, present = np.empty(3), np.zeros(6)
    vote_loops.add_evidence(slot, start, evidence, prior, log_odds)
    vote_loops.add_to_slots(slot, start, np.array([100.0, 1.0, 0.01]), present)
    of_pair = np.repeat(np.arange(3), [3, n_votes, 2])
    assert_allclose(log_odds, prior + np.bincount(of_pair, evidence[slot]), rtol=1e-14)
    assert_allclose(present, np.bincount(slot, np.array([100.0, 1.0, 0.01])[of_pair], 6), rtol=1e-14)


def test_known_truth_takes_the_place_of_the_prior():
    prior = np.empty(3)
    label, log_odds = np.array([0, 1, 1], np.uint32), np.array([0.5, -2.0])
    vote_loops.priors(label, np.array([0, 1, -1], np.int8), log_odds, 50.0, prior)
    assert_array_equal(prior, [0.5, 50, -50])
    vote_loops.priors(label, np.empty(0, np.int8), log_odds, 50.0, prior)
    assert_array_equal(prior, [0.5, -2, -2])


def test_members_are_put_side_by_side():
    """Coins 0 and 2 belong to worker 1, who is a member; worker 0 has less than counts."""
    worker, label = np.array([1, 0, 1], np.uint32), np.array([0, 1, 1], np.uint32)
    found, yes, no = np.empty(3, np.uint64), np.empty(3), np.empty(3)
    n = coins.members_of(
        worker, label, np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), np.array([0.1, 0.2]),
        np.array([0.3, 0.4]), np.array([1e-13, 0.5]), found, yes, no,
    )  # fmt: skip
    assert n == 2
    assert_array_equal(found[:2], [0, 2])
    assert_allclose(yes[:2], [1.1, 3.2])
    assert_allclose(no[:2], [4.3, 6.4])


def test_degrees_of_one_pair_by_hand():
    """A yes of worker 0 and a no of worker 1: shares times probabilities, made to sum to one."""
    slot, start = np.array([1, 2], np.uint32), np.array([0, 2], np.uint64)
    label, worker = np.zeros(1, np.uint32), np.array([0, 1], np.uint32)
    yes = np.array([[0.1, 0.9], [0.2, 0.6]])  # worker × degree
    evidence = np.log(np.stack([1 - yes, yes], axis=1).reshape(4, 2))
    votes, pairs, kept = np.zeros((4, 2)), np.zeros((1, 2)), np.empty((1, 2))
    log_share = np.log([[0.7, 0.3]])
    degrees.count(slot, start, label, worker, evidence, log_share, 0, 1, votes, pairs, kept)
    expected = np.array([0.7 * 0.1 * 0.8, 0.3 * 0.9 * 0.4])
    expected /= expected.sum()
    assert_allclose(kept[0], expected, rtol=1e-14)
    assert_allclose(pairs[0], expected, rtol=1e-14)
    assert_allclose(votes, [[0, 0], expected, expected, [0, 0]], rtol=1e-14)


def test_degrees_of_many_votes_do_not_vanish():
    """3000 votes of evidence −1 and less: exp of it is zero, the difference counts."""
    slot, start = np.zeros(3000, np.uint32), np.array([0, 3000], np.uint64)
    votes, pairs, kept = np.zeros((2, 2)), np.zeros((1, 2)), np.empty((1, 2))
    evidence = np.array([[-1.0, -1.001], [0.0, 0.0]])
    zeros = np.zeros(1, np.uint32)
    degrees.count(slot, start, zeros, zeros, evidence, np.log([[0.5, 0.5]]), 0, 1, votes, pairs, kept)
    assert_allclose(kept[0], [expit(3), expit(-3)], rtol=1e-9)


def test_label_sets_of_one_item_by_hand():
    """Two kinds, two labels: the kind by Bayes, then each label within the kind."""
    shares, frequency = np.array([0.4, 0.6]), np.array([[0.9, 0.2], [0.8, 0.1]])  # label × kind
    log_odds = np.array([1.0, -0.5])
    say = expit(log_odds)
    proba, share, present, asked = np.empty(2), np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2))
    item, label = np.zeros(2, np.int32), np.array([0, 1], np.int32)
    found = sets.step(item, label, log_odds, shares, frequency, proba, share, present, asked)
    agrees = frequency * say[:, None] + (1 - frequency) * (1 - say[:, None])
    joint = shares * agrees.prod(axis=0)
    kind = joint / joint.sum()
    expected = kind * frequency * say[:, None] / agrees
    assert_allclose(share, kind, rtol=1e-14)
    assert_allclose(present, expected, rtol=1e-14)
    assert_allclose(asked, [kind, kind], rtol=1e-14)
    assert_allclose(proba, expected.sum(axis=1), rtol=1e-14)
    assert found == pytest.approx(np.log(joint.sum()) + np.logaddexp(0, log_odds).sum(), rel=1e-14)


def test_label_sets_of_items_with_thousands_of_labels_do_not_vanish():
    """Products of 5000 probabilities are zero; their logarithms are not."""
    n = 5000
    rng = np.random.default_rng(0)
    shares, frequency = np.array([0.5, 0.5]), rng.uniform(0.01, 0.99, size=(n, 2))
    log_odds = rng.normal(size=n)
    say, label = expit(log_odds), np.arange(n, dtype=np.int32)
    tables = np.empty(n), np.zeros(2), np.zeros((n, 2)), np.zeros((n, 2))
    found = sets.step(np.zeros(n, np.int32), label, log_odds, shares, frequency, *tables)
    agrees = frequency * say[:, None] + (1 - frequency) * (1 - say[:, None])
    joint = np.log(shares) + np.log(agrees).sum(axis=0)
    assert joint.max() < -1000
    assert found == pytest.approx(logsumexp(joint) + np.logaddexp(0, log_odds).sum(), rel=1e-12)
    assert_allclose(tables[1], np.exp(joint - logsumexp(joint)), rtol=1e-9, atol=1e-12)


def splitmix(key: int) -> int:
    """The last steps of splitmix64 in whole numbers of Python, which have no end."""
    key = ((key ^ key >> 30) * int(HASH_FIRST)) % 2**64
    key = ((key ^ key >> 27) * int(HASH_SECOND)) % 2**64
    return key ^ key >> 31


def test_hashes_are_those_of_splitmix64():
    """Two votes, a yes and a no of one worker on two items: sums begin again at zero as 64 bits do."""
    item, worker, label = (np.array(codes, np.uint64) for codes in ([2**63, 5], [3], [2**64 - 1]))
    sums = np.zeros(2, np.uint64), np.zeros(1, np.uint64), np.zeros(1, np.uint64)
    zeros = np.zeros(2, np.int32)
    hashes.add_hashes(np.array([0, 1], np.int32), zeros, zeros, np.array([1, -1], np.int8), item, worker, label, *sums)
    shared = int(HASH_STEP) * 3 + 2**64 - 1
    expected = [splitmix((2**63 + shared + 1) % 2**64), splitmix((5 + shared) % 2**64)]
    assert [int(key) for key in sums[0]] == expected
    assert int(sums[1][0]) == int(sums[2][0]) == sum(expected) % 2**64


def test_the_first_number_of_splitmix64():
    """Published for the seed 0: the generator's first output is the hash of one step."""
    assert splitmix(int(HASH_STEP)) == 0xE220A8397B1DCDAF
