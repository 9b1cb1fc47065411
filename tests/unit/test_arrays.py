"""Look-ups and sums over codes, logs and odds at the ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from amcc import arrays
from amcc.arrays import all_keys, distinct, find_sorted, safe_log, safe_logit, sigmoid, unsigned, weight_per_code


@pytest.mark.parametrize("most_flags", [0, 100], ids=["merged", "flags"])
@given(lists=st.lists(st.lists(st.integers(0, 99), unique=True).map(sorted), max_size=8))
def test_keys_of_all_lists(most_flags, lists):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "MOST_FLAGS", most_flags)
        found = all_keys((np.array(each, np.int64) for each in lists), 100)
    assert found.tolist() == sorted(set().union(*lists))


@pytest.mark.parametrize("n_keys", [100, 10**12], ids=["flags", "sorted"])
@given(keys=st.lists(st.integers(0, 99)))
def test_distinct_keys_and_their_places(n_keys, keys):
    found, place = distinct(np.array(keys, np.int64), n_keys)
    assert found.tolist() == sorted(set(keys))
    assert found[place].tolist() == keys


@given(st.lists(st.integers(-50, 50), unique=True).map(sorted), st.lists(st.integers(-60, 60)))
def test_keys_are_found_where_they_stand(keys, wanted):
    place, found = find_sorted(np.array(keys, np.int64), np.array(wanted, np.int64))
    assert found.tolist() == [key in keys for key in wanted]
    for where, key, there in zip(place, wanted, found, strict=True):
        assert not there or keys[where] == key


def test_places_of_what_is_not_there_can_be_used():
    place, found = find_sorted(np.array([2, 5]), np.array([[1, 9]]))
    assert place.shape == found.shape == (1, 2)
    assert ((place >= 0) & (place < 2)).all()


def test_nothing_is_found_among_nothing():
    place, found = find_sorted(np.empty(0, np.int64), np.array([3]))
    assert place.tolist() == [0]
    assert not found.any()


@pytest.mark.parametrize(("kind", "expected"), [(np.int32, np.uint32), (np.int64, np.uint64)])
def test_unsigned_codes_share_their_memory(kind, expected):
    codes = np.array([0, 7], kind)
    same = unsigned(codes)
    assert same.dtype == expected
    assert np.shares_memory(same, codes)


def test_sums_of_codes_that_do_not_occur_are_zero():
    found = weight_per_code(np.array([3, 3]), np.array([1, 2]), 5)
    assert_array_equal(found, [0, 0, 0, 3, 0])
    assert found.dtype == np.float64
    assert_array_equal(weight_per_code(np.empty(0, int), np.empty(0), 2), [0, 0])


def test_logs_stay_finite_and_leave_their_input():
    probability = np.array([0.0, 1e-12, 0.5, 1.0])
    assert_allclose(safe_log(probability), [np.log(1e-10), np.log(1e-10), np.log(0.5), 0])
    assert_array_equal(probability, [0, 1e-12, 0.5, 1])


@given(st.floats(1e-9, 1 - 1e-9))
def test_log_odds_and_probabilities_undo_each_other(probability):
    assert sigmoid(safe_logit(np.array([probability])))[0] == pytest.approx(probability, rel=1e-9)


def test_log_odds_of_certainty_are_finite_and_opposite():
    assert_allclose(safe_logit(np.array([0.0, 1.0, 0.5])), [np.log(1e-10), -np.log(1e-10), 0])


@given(st.floats(-800, 800))
def test_both_sides_of_a_probability_sum_to_one(log_odds):
    there, back = sigmoid(np.array([log_odds, -log_odds]))
    assert there + back == pytest.approx(1, abs=1e-15)
    assert 0 <= there <= 1
