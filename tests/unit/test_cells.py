"""Draws of crowds: thinning, known items, and what cells are called."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from amcc import ParameterError, Votes
from amcc.experiments.cells import (
    MOST_SHARED,
    MOST_SIMULATED_SEEDS,
    SHARED_TROUBLES,
    SIZES,
    TROUBLES,
    Cell,
    Draw,
    TrueRates,
    cells_of,
    pair_list,
    thinned,
    truth_inside,
    with_known_items,
)

TINY = Cell("tiny", "simulated", 2, spec=(1000, (("spammers", 0.2),)))


@st.composite
def sparse_votes(draw):
    """Votes of up to five workers on up to four items, with holes."""
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 2)))
    n_votes = math.prod(shape)
    values = draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n_votes, max_size=n_votes))
    dense = np.array(values, dtype=np.int8).reshape(shape)
    dense[0, 0, 0] = 1  # votes must not be empty
    return Votes.from_dense(dense)


@settings(max_examples=60, deadline=None)
@given(sparse_votes(), st.integers(1, 5), st.integers(0, 3))
def test_thinning_keeps_so_many_whole_answers(votes, n_answers, seed):
    few = thinned(votes, n_answers, seed)
    assert_array_equal(few.answers_per_item, np.minimum(votes.answers_per_item, n_answers))
    answers = {(item, worker) for item, worker in zip(few.item, few.worker, strict=True)}
    whole = sum((item, worker) in answers for item, worker in zip(votes.item, votes.worker, strict=True))
    assert whole == len(few)
    assert (few.n_items, few.n_workers, few.n_labels) == (votes.n_items, votes.n_workers, votes.n_labels)


@settings(max_examples=30, deadline=None)
@given(sparse_votes())
def test_nothing_is_thinned_where_there_are_no_more(votes):
    assert thinned(votes, votes.n_workers, 0) == votes


def test_a_draw_is_the_same_for_the_same_seed():
    one, again, other = TINY.draw(0), TINY.draw(0), TINY.draw(1)
    assert one.votes == again.votes != other.votes
    assert_array_equal(one.truth, again.truth)


def test_simulated_workers_have_rates_where_votes_are_independent():
    draw = TINY.draw(0)
    assert isinstance(draw.rates, TrueRates)
    assert draw.rates.hit.shape == (draw.votes.n_workers, draw.votes.n_labels)
    assert draw.known.all()


def test_features_are_part_of_a_fingerprint():
    draw = TINY.draw(0)
    featured = replace(draw, features=np.zeros((draw.votes.n_items, 2)))
    assert len({draw.fingerprint(), featured.fingerprint(), replace(featured, features=featured.features + 1)
                .fingerprint()}) == 3  # fmt: skip


# -- truth ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def named() -> Draw:
    votes = Votes.from_dense(np.ones((1, 2, 2)), item_names=["a", "b"], label_names=["x", "y"])
    return Draw(votes, np.array([[True, False], [False, True]]), np.ones((2, 2), dtype=bool))


def test_pairs_are_told_by_name(named):
    pairs = pair_list(named.votes, named.truth)
    assert (pairs.item.to_pylist(), pairs.label.to_pylist()) == (["a", "b"], ["x", "y"])
    nothing = pair_list(named.votes, ~named.known)
    assert len(nothing.item) == 0


def test_truth_inside_says_yes_and_no_there_and_nothing_elsewhere(named):
    inside = np.array([[True, True], [False, False]])
    told, known = truth_inside(named, inside).matrices(named.votes.item_names, named.votes.label_names)
    assert_array_equal(known, inside)
    assert_array_equal(told, named.truth & inside)


def test_known_items_are_among_those_that_are_known():
    draw = TINY.draw(0)
    known = draw.known.copy()
    known[::2] = False
    _, rest = with_known_items(replace(draw, known=known), 5, seed=0)
    assert not rest.known[::2].any()
    assert rest.known.any(axis=1).sum() == known.any(axis=1).sum() - 5


def test_more_known_items_are_drawn_anew():
    draw = TINY.draw(0)
    few, many = (with_known_items(draw, n, seed=0)[1].known.any(axis=1) for n in (5, 15))
    assert (~few & many).any()  # not all of the five are among the fifteen


# -- which cells ----------------------------------------------------------------------------------------------------


def test_without_data_there_are_simulated_crowds():
    cells = cells_of(None, n_seeds=10)
    assert {cell.kind for cell in cells} == {"simulated"}
    assert {cell.n_seeds for cell in cells} == {MOST_SIMULATED_SEEDS}
    small = [size for size in SIZES if size <= MOST_SHARED]
    assert len(cells) == len(TROUBLES) * len(SIZES) + len(SHARED_TROUBLES) * len(small)
    assert len({cell.name for cell in cells}) == len(cells)
    assert cells[0].name == "simulated 1e4, 20 % spammers"


def test_fewer_seeds_are_fewer_draws():
    assert {cell.n_seeds for cell in cells_of(None, n_seeds=1, sizes=[1000])} == {1}
    with pytest.raises(ParameterError, match="seeds must be at least 1; got 0"):
        cells_of(None, n_seeds=0)


def test_no_sizes_and_no_data_are_no_cells():
    assert cells_of(None, sizes=[]) == []
