"""Means, intervals and tests of what was measured in several runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from amcc.experiments.reproduce.statistics import LEVEL, Sample, estimate, mark, p_value

SCORES = st.lists(st.integers(0, 100).map(lambda hundredths: hundredths / 100), min_size=3, max_size=8)


def sample(*values: float) -> Sample:
    return Sample(np.array(values), np.array(values))


def test_estimates_by_hand():
    found = estimate(sample(1.0, 2.0, 3.0))
    assert (found.mean, found.sd) == (2.0, 1.0)
    assert_allclose([found.low, found.high], [2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5], rtol=0, atol=1e-6)
    alone = estimate(sample(0.7))
    assert (alone.mean, alone.sd) == (0.7, 0.0)
    assert np.isnan(alone.low)
    # One run, but four items, one of which has no value: 0, 1, 1.
    by_items = estimate(Sample(np.array([2 / 3]), np.array([0.0, 1.0, np.nan, 1.0])))
    assert_allclose(by_items.high - by_items.mean, 4.302653 / 3, rtol=0, atol=1e-6)


def test_marks_are_those_of_the_paper():
    ours = sample(0.80, 0.82, 0.81, 0.83)
    worse, better, alike = (
        sample(0.70, 0.71, 0.72, 0.72),
        sample(0.90, 0.91, 0.93, 0.94),
        sample(0.83, 0.80, 0.82, 0.81),
    )
    assert [mark(row, ours) for row in (worse, better, alike)] == ["•", "◦", ""]
    # Differences 1, 2, 3: t = 2 / (1 / √3) = 3.4641 with two degrees of freedom.
    assert_allclose(p_value(sample(0, 0, 0), sample(1, 2, 3)), 0.0741799, rtol=0, atol=1e-6)


def test_nothing_is_significant_without_chance():
    assert mark(sample(0.5, 0.5), sample(0.6, 0.6)) == ""
    assert mark(sample(0.5), sample(0.6)) == ""
    assert mark(sample(0.5, 0.6), sample(0.6, 0.701)) == ""  # two runs tell too little
    assert np.isnan(p_value(sample(0.5, 0.5), sample(0.6, 0.6)))


@given(SCORES)
def test_intervals_hold_their_mean_and_grow_with_the_spread(values):
    found = estimate(sample(*values))
    assert found.low <= found.mean + 1e-12
    assert found.mean - 1e-12 <= found.high
    wider = estimate(sample(*(2 * value for value in values)))
    assert_allclose(wider.high - wider.low, 2 * (found.high - found.low), rtol=1e-9, atol=1e-12)


@given(SCORES, st.floats(-5, 5))
def test_intervals_move_with_the_values(values, shift):
    here, there = estimate(sample(*values)), estimate(sample(*(value + shift for value in values)))
    assert_allclose([there.low, there.high], [here.low + shift, here.high + shift], rtol=0, atol=1e-9)
    assert_allclose(there.sd, here.sd, rtol=0, atol=1e-9)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=3, max_size=8))
def test_who_is_better_is_worse_the_other_way_round(pairs):
    one, other = (sample(*(value / 50 for value in values)) for values in zip(*pairs, strict=True))
    opposite = {"•": "◦", "◦": "•", "": ""}
    assert mark(one, other) == opposite[mark(other, one)]
    there, back = p_value(one, other), p_value(other, one)
    assert (np.isnan(there) and np.isnan(back)) or there == pytest.approx(back)


def test_intervals_cover_at_their_level():
    """Of 2,000 samples of eight normal values, 95 % of the intervals hold the true mean."""
    rng = np.random.default_rng(0)
    found = [estimate(Sample(values, values)) for values in rng.normal(size=(2000, 8))]
    covered = np.mean([each.low <= 0 <= each.high for each in found])
    assert_allclose(covered, LEVEL, rtol=0, atol=0.015)


def test_only_common_units_are_compared():
    one = Sample(np.zeros(1), np.array([0.1, 0.2, 0.3, np.nan, 0.9]))
    other = Sample(np.zeros(1), np.array([0.2, 0.4, 0.5, 0.0, np.nan]))
    assert p_value(one, other) == pytest.approx(p_value(sample(0.1, 0.2, 0.3), sample(0.2, 0.4, 0.5)))
    few = Sample(np.zeros(1), np.array([np.nan, np.nan, 0.3, 0.1, 0.9]))
    assert np.isnan(p_value(few, other))  # two in common


def test_nothing_measured_has_no_mean():
    nothing = estimate(Sample(np.array([np.nan, np.nan]), np.array([np.nan])))
    assert np.isnan([nothing.mean, nothing.low, nothing.high]).all()
    assert nothing.sd == 0.0


def test_runs_and_units_are_told_apart():
    found = estimate(Sample(np.array([0.5, 0.7]), np.array([0.0, 0.5, 1.0])))
    assert (found.mean, round(found.sd, 6)) == (0.6, round(0.2 / 2**0.5, 6))  # over runs
    assert (found.low + found.high) / 2 == pytest.approx(0.5)  # over items
