"""Pages valued as pages: hand-worked cases, and the best page of all by trying every one."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from amcc import Votes
from amcc.active.beliefs import cold_beliefs
from amcc.active.candidates import Anything
from amcc.active.crowd import without_votes
from amcc.active.page_picking import best_prefix, pick_pages, promise_of_pages
from amcc.active.pages import select_with_pages
from amcc.active.prices import Prices
from amcc.active.questions import Triplets
from amcc.active.strategies.voi import ValueOfInformation


def triplets(*rows):
    return Triplets(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def picked(asked, value, price, page, batch=100):
    n = len(asked)
    value, price, page = (np.broadcast_to(np.asarray(each, dtype=float), n) for each in (value, price, page))
    return pick_pages(asked, value, price, page, batch, np.random.default_rng(0), parts={"value": value})


# Item 0 has one label that promises much, item 1 three that promise less each.
ONE_OR_THREE = triplets((0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0), (1, 2, 0))
VALUES = [3.0, 0.0, 2.0, 2.0, 2.0]


def test_three_labels_share_an_expensive_page():
    """At 9 a page, three of 2 cost 12 together and give .5 for the money, one of 3 costs 10 and gives .3."""
    found = picked(ONE_OR_THREE, VALUES, price=1.0, page=9.0)
    assert found.asked.item.tolist() == [1, 1, 1, 0]
    assert_allclose(found.utility, [0.5, 0.5, 0.5, 0.3])
    assert found.parts["value"].tolist() == [2.0, 2.0, 2.0, 3.0]  # and the label of no worth is not asked


def test_where_pages_cost_nothing_each_label_stands_for_itself():
    found = picked(ONE_OR_THREE, VALUES, price=1.0, page=0.0, batch=1)
    assert found.asked.rows() == [(0, 0, 0)]


def test_a_page_is_worth_less_when_its_pairs_are_taken():
    """Both workers could be asked about all three labels of item 0; the second then has only label 3 left, for 2."""
    asked = triplets((0, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1), (0, 2, 1), (1, 0, 1))
    found = picked(asked, [5.0, 5.0, 4.0, 4.0, 1.0, 2.0], price=1.0, page=2.0)
    assert found.asked.rows() == [(0, 0, 0), (0, 1, 0), (1, 0, 1), (0, 2, 1)]
    assert_allclose(found.utility, [10 / 4, 10 / 4, 2 / 3, 1 / 3])


def test_a_batch_ends_in_the_middle_of_a_page():
    assert len(picked(ONE_OR_THREE, VALUES, price=1.0, page=9.0, batch=2)) == 2


def test_nothing_to_ask():
    assert len(picked(triplets(), [], 1.0, 1.0)) == 0
    assert len(picked(triplets((0, 0, 0)), [0.0], 1.0, 1.0)) == 0
    assert best_prefix(np.empty(0), np.empty(0), 1.0) == (0, 0.0)


def by_trying(rows, value, price, page, batch):
    """Worth of the questions that are chosen where every set of labels of every page is tried, one page at a time."""
    left, opened, worth = set(range(len(rows))), set(), []
    while left and len(worth) < batch:
        best = (0.0, ())
        for item, worker in itertools.product(range(3), range(2)):
            mine = [n for n in left if (rows[n][0], rows[n][2]) == (item, worker)]
            opening = 0.0 if (item, worker) in opened else page
            for size in range(1, len(mine) + 1):
                for some in map(list, itertools.combinations(mine, size)):
                    per_money = value[some].sum() / (opening + price[some].sum())
                    best = max(best, (per_money, some), key=lambda each: each[0])
        opened.add((rows[best[1][0]][0], rows[best[1][0]][2]))
        taken = {rows[n][:2] for n in best[1]}
        left = {n for n in left if rows[n][:2] not in taken}
        worth += [best[0]] * len(best[1])
    return worth[:batch]


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 20.0), st.integers(1, 12))
def test_each_page_is_the_best_of_all_that_are_left(seed, page, batch):
    """Against every subset of labels of every page; no pair is asked about twice."""
    rng = np.random.default_rng(seed)
    every = list(itertools.product(range(3), range(3), range(2)))
    rows = [row for row in every if rng.random() < 0.8] or every
    asked, value = triplets(*rows), rng.random(len(rows))
    price = rng.integers(1, 5, size=2)[[worker for _, _, worker in rows]].astype(float)
    found = picked(asked, value, price, page, batch)
    assert_allclose(found.utility, by_trying(rows, value, price, page, batch), rtol=1e-5)
    pairs = [(item, label) for item, label, _ in found.asked.rows()]
    assert len(set(pairs)) == len(pairs) <= batch


def test_what_is_left_of_an_open_page_costs_its_votes_only():
    """At 4 a page, 5 for 5 is better than 5.9 for 6. The .9 costs 1 then, the 1 of another page 5."""
    found = picked(triplets((0, 0, 0), (0, 1, 0), (1, 0, 0)), [5.0, 0.9, 1.0], price=1.0, page=4.0)
    assert found.asked.rows() == [(0, 0, 0), (0, 1, 0), (1, 0, 0)]
    assert_allclose(found.utility, [1.0, 0.9, 0.2])


def test_free_votes_on_a_page_that_costs_something():
    """All labels that are worth anything stand on the page; nothing is divided by nothing afterwards."""
    found = picked(triplets((0, 0, 0), (0, 1, 0), (0, 2, 0)), [2.0, 0.0, 1.0], price=0.0, page=6.0)
    assert found.asked.rows() == [(0, 0, 0), (0, 2, 0)]
    assert_allclose(found.utility, 0.5)


def test_pages_of_a_large_crowd_need_no_table_of_items_and_workers():
    """A million items and a million workers: such a table would not fit in any memory."""
    last = 10**6
    found = picked(triplets((0, 0, last), (last, 0, 0), (last, 1, 0)), [1.0, 2.0, 2.0], price=1.0, page=1.0)
    assert found.asked.item.tolist() == [last, last, 0]


def test_items_of_many_middling_labels_are_looked_at():
    """What is looked at at all follows the worth of pages, and pairs that must not be asked stay out."""
    found = promise_of_pages(np.array([[3.0, 0.0, 0.0], [2.0, 2.0, np.nan]]), 1.0, 9.0)
    assert found[1, 0] == found[1, 1] > found[0, 0]
    assert np.isnan(found[1, 2])


@pytest.mark.parametrize(("page", "item", "labels"), [(0, 0, 1), (50, 1, 4)])
def test_voi_opens_the_page_that_is_worth_most_as_a_page(page, item, labels):
    """Item 0 has one open label, item 1 has four that are a little less open."""
    votes = without_votes(Votes.from_dense(np.ones((1, 2, 4), dtype=int)))
    beliefs = replace(cold_beliefs(votes), proba=np.array([[0.5, 0.01, 0.01, 0.01], [0.3, 0.3, 0.3, 0.3]]))
    strategy, prices = ValueOfInformation(), Prices(np.array([1]), page)
    found = select_with_pages(strategy, beliefs, Anything(votes), prices, labels, np.random.default_rng(0))
    assert found.asked.item.tolist() == [item] * labels


def test_before_the_first_vote_pages_are_filled():
    """All labels are equally open: eight questions stand on two pages or three, not on eight."""
    votes = without_votes(Votes.from_dense(np.ones((2, 3, 4), dtype=int)))
    prices = Prices(np.array([2, 2]), 10)
    rng = np.random.default_rng(0)
    found = select_with_pages(ValueOfInformation(), cold_beliefs(votes), Anything(votes), prices, 8, rng)
    assert len(found) == 8
    assert len(set(found.asked.pages())) in (2, 3)


def test_labels_of_a_page_are_asked_one_after_the_other():
    """A worker counts for less with each question. On a page these are its labels, not those of all better pages.

    Ten items with three labels each, a page at less than a vote: two labels or more on a page are the better buy.
    """
    votes = without_votes(Votes.from_dense(np.ones((2, 10, 3), dtype=int)))
    for seed in range(5):
        rng = np.random.default_rng(seed)
        found = select_with_pages(
            ValueOfInformation(), cold_beliefs(votes), Anything(votes), Prices(np.array([5, 5]), 3), 6, rng
        )
        assert len(set(found.asked.pages())) <= 3


def test_a_page_has_the_overhead_of_three_pages():
    """One vote at 2 on a page at 4: the value is divided by 2 + 3 · 2 + 4 + 3 · 4."""
    votes = without_votes(Votes.from_dense(np.ones((1, 1, 1), dtype=int)))
    prices, rng = Prices(np.array([2]), 4), np.random.default_rng(0)
    found = select_with_pages(ValueOfInformation(), cold_beliefs(votes), Anything(votes), prices, 1, rng)
    assert_allclose(found.utility, found.parts["value"] / 24)
