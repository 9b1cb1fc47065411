"""Averages that lean on the average of all, against numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from amcc.consensus.averages import RunningMean, cautious_share, leaning_mean, mean_per_code

EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.mark.parametrize(("part", "whole", "share"), [(0, 0, 0.5), (0, 8, 0.1), (8, 8, 0.9), (3, 4, 4 / 6)])
def test_cautious_share_by_hand(part, whole, share):
    assert cautious_share(part, whole) == pytest.approx(share)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_cautious_share_is_never_certain(one, other):
    part, whole = min(one, other), max(one, other)
    assert 0 < cautious_share(part, whole) < 1


def test_the_overall_mean_counts_as_one_more_observation():
    """Two of two with .5 overall: 2.5 of 3. Nothing at all: the overall mean itself."""
    assert_allclose(leaning_mean(np.array([2.0, 0.0]), np.array([2, 0]), 0.5), [2.5 / 3, 0.5], **EXACT)


def test_mean_per_code_leans_on_the_mean_of_all():
    """Values 1, 0, 0, 0 have the mean 1/4: code 0 has (1 + 1/4) / 2, code 1 (0 + 1/4) / 4, code 2 nothing."""
    found = mean_per_code(np.array([0, 1, 1, 1]), np.array([1.0, 0.0, 0.0, 0.0]), 3)
    assert_allclose(found, [1.25 / 2, 0.25 / 4, 0.25], **EXACT)


def test_mean_per_code_may_lean_on_something_else():
    found = mean_per_code(np.array([0, 0]), np.array([1.0, 1.0]), 2, overall=0.5)
    assert_allclose(found, [2.5 / 3, 0.5], **EXACT)


def test_mean_per_code_of_nothing_needs_an_overall_mean():
    """Where no value came, the mean of all is not a number; whoever has such data says what to lean on."""
    assert_array_equal(mean_per_code(np.empty(0, np.int64), np.empty(0), 2, overall=0.3), [0.3, 0.3])


def test_masks_are_averaged_like_numbers():
    code, inside = np.array([0, 0, 1]), np.array([True, False, True])
    assert_allclose(mean_per_code(code, inside, 2), mean_per_code(code, inside.astype(float), 2), **EXACT)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), min_size=1, max_size=60))
def test_means_stay_between_the_values(observed):
    code, value = (np.array(column) for column in zip(*observed, strict=True))
    found = mean_per_code(code, value, 5)
    assert (found >= value.min() - 1e-12).all()
    assert (found <= value.max() + 1e-12).all()


def test_parts_of_a_running_mean_add_up():
    rng = np.random.default_rng(0)
    code, value = rng.integers(4, size=90), rng.normal(size=90)
    whole, parts = RunningMean(6), RunningMean(6)
    whole.add(code, value)
    for first in range(0, 90, 7):
        parts.add(code[first : first + 7], value[first : first + 7])
    expected = [value[code == number].mean() for number in range(4)]
    for mean in (whole, parts):
        assert_allclose(mean.result(np.full(6, -1.0)), [*expected, -1, -1], rtol=0, atol=1e-12)


def test_what_stands_for_nothing_is_not_written_to():
    otherwise = np.zeros(2)
    mean = RunningMean(2)
    mean.add(np.array([1]), np.array([3.0]))
    assert_array_equal(mean.result(otherwise), [0, 3])
    assert_array_equal(otherwise, [0, 0])
