"""Draws without repeats: each code once in a row, as often as its weight says, by either way of drawing."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from amcc.data.simulate import distinct
from amcc.data.simulate.distinct import draw_by_racing, draw_by_redrawing, draw_distinct

WEIGHTS = st.lists(st.floats(0.01, 100), min_size=1, max_size=30)


def chance_of_codes(weight: np.ndarray, n_draws: int) -> np.ndarray:
    """Chance of each code to be among those drawn, by all orders in which they can come."""
    chance = np.zeros(len(weight))
    for order in permutations(range(len(weight)), n_draws):
        left, probability = weight.sum(), 1.0
        for code in order:
            probability *= weight[code] / left
            left -= weight[code]
        chance[list(order)] += probability
    return chance


@given(weights=WEIGHTS, n_rows=st.integers(0, 20), seed=st.integers(0, 2**32), data=st.data())
def test_no_code_stands_twice_in_a_row(weights, n_rows, seed, data):
    n_draws = data.draw(st.integers(1, len(weights)))
    codes = draw_distinct(np.random.default_rng(seed), np.array(weights), n_rows, n_draws)
    assert codes.shape == (n_rows, n_draws)
    assert codes.dtype == np.int32
    assert all(len(set(row)) == n_draws for row in codes.tolist())
    if n_rows:
        assert 0 <= codes.min() <= codes.max() < len(weights)


@pytest.mark.parametrize("draw", [draw_by_redrawing, draw_by_racing])
@pytest.mark.parametrize("n_draws", [1, 2, 3])
def test_codes_come_as_often_as_their_weights_say(draw, n_draws):
    """Against the exact chances of drawing one after the other from what is left; four standard errors are .01."""
    weight = np.array([5.0, 2.0, 1.0, 1.0])
    codes = draw(np.random.default_rng(n_draws), weight, 40_000, n_draws)
    found = np.bincount(codes.ravel(), minlength=4) / 40_000
    assert_allclose(found, chance_of_codes(weight, n_draws), rtol=0, atol=0.01)


def test_who_are_all_drawn_come_in_order_and_cost_no_luck():
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert_array_equal(draw_distinct(rng, np.array([9.0, 1.0, 4.0]), 2, 3), [[0, 1, 2], [0, 1, 2]])
    assert rng.bit_generator.state == before


def test_the_cheaper_way_is_chosen(monkeypatch):
    """Few of many alike: redraw. Most of a few, or where one outweighs all others: race."""
    chosen = []
    for name in ("draw_by_redrawing", "draw_by_racing"):
        monkeypatch.setattr(distinct, name, lambda *_, name=name: chosen.append(name))
    draw_distinct(None, np.ones(100), 1, 3)
    draw_distinct(None, np.ones(10), 1, 9)
    draw_distinct(None, np.array([1e6] + [1.0] * 99), 1, 3)
    assert chosen == ["draw_by_redrawing", "draw_by_racing", "draw_by_racing"]


def test_weights_of_any_scale_draw_alike():
    weight = np.array([3.0, 2.0, 1.0, 1.0, 1.0])
    for draw in (draw_by_redrawing, draw_by_racing):
        one, other = (draw(np.random.default_rng(1), scale * weight, 200, 2) for scale in (1.0, 1024.0))
        assert_array_equal(one, other)


def test_repeats_are_those_that_stood_earlier():
    codes = np.array([[2, 2, 1, 2], [0, 1, 2, 3], [4, 3, 4, 3]], dtype=np.int32)
    expected = [[0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 1, 1]]
    assert_array_equal(distinct._is_repeated(codes), np.array(expected, dtype=bool))
