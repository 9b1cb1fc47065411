"""Questions by their codes, and what may be asked: against every question looked at one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from amcc.active.candidates import Anything, Candidates, OtherPairs, Recorded, SamePages
from amcc.active.questions import NOTHING_ASKED, Questions, Triplets
from amcc.votes import Votes

SHAPE = (3, 4, 2)  # workers, items, labels


def triplets(*rows: tuple[int, int, int]) -> Triplets:
    return Triplets(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def some_votes(seed: int = 0) -> Votes:
    """About half of all questions are answered; worker 2 never said a word about item 0."""
    dense = np.random.default_rng(seed).choice((-1, 0, 0, 1), SHAPE)
    dense[2, 0] = 0
    return Votes.from_dense(dense, worker_names=["w", "x", "y"], item_names=list("abcd"), label_names=["cat", "dog"])


def every_question() -> set[tuple[int, int, int]]:
    workers, items, labels = SHAPE
    return {(item, label, worker) for item in range(items) for label in range(labels) for worker in range(workers)}


def offered(candidates: Candidates) -> set[tuple[int, int, int]]:
    """All that can be asked, by asking about every pair."""
    item, label = np.nonzero(np.ones(SHAPE[1:], dtype=bool))
    found = candidates.of_pairs(item, label).rows()
    assert len(set(found)) == len(found)
    return set(found)


def check_consistent(candidates: Candidates, expected: set[tuple[int, int, int]]) -> None:
    """All three ways to ask what may be asked say the same."""
    assert offered(candidates) == expected
    assert set(map(tuple, np.argwhere(candidates.open_pairs()).tolist())) == {row[:2] for row in expected}
    rng = np.random.default_rng(0)
    assert set(candidates.sample(1000, rng).rows()) == expected
    few = candidates.sample(3, rng).rows()
    assert len(set(few)) == min(3, len(expected))
    assert set(few) <= expected


# -- questions ---------------------------------------------------------------------------------------------------------


def test_keys_of_votes_are_sorted_and_differ() -> None:
    votes = some_votes()
    keys = Triplets.of_votes(votes).keys(votes)
    assert (np.diff(keys) > 0).all()
    assert Triplets.of_votes(votes).item.dtype == np.int64


def test_names_come_from_the_vocabularies() -> None:
    named = triplets((3, 1, 0), (0, 0, 2)).named(some_votes())
    assert {role: names.to_pylist() for role, names in named.items()} == {
        "item": ["d", "a"], "label": ["dog", "cat"], "worker": ["w", "y"],
    }  # fmt: skip


def test_questions_are_joined_and_taken_in_order() -> None:
    both = triplets((0, 0, 0)).joined(triplets((1, 1, 1), (2, 0, 2)))
    assert both.rows() == [(0, 0, 0), (1, 1, 1), (2, 0, 2)]
    assert both.pages() == [(0, 0), (1, 1), (2, 2)]
    assert both.take(np.array([2, 0])).rows() == [(2, 0, 2), (0, 0, 0)]
    assert NOTHING_ASKED.joined(both).rows() == both.rows()
    assert len(NOTHING_ASKED) == 0


def test_chosen_questions_keep_the_parts_that_all_have() -> None:
    one = Questions(triplets((0, 0, 0)), np.array([0.5]), {"q": np.array([0.1]), "c": np.array([2.0])})
    other = Questions(triplets((1, 0, 0)), np.array([0.7]), {"c": np.array([3.0])})
    both = one.joined(other)
    assert (both.asked.rows(), both.utility.tolist()) == ([(0, 0, 0), (1, 0, 0)], [0.5, 0.7])
    assert {name: part.tolist() for name, part in both.parts.items()} == {"c": [2.0, 3.0]}
    assert both.take(np.array([1])).parts["c"].tolist() == [3.0]


# -- candidates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_recorded_votes_can_be_asked_once(seed: int) -> None:
    votes = some_votes(seed)
    asked = np.random.default_rng(seed).random(len(votes)) < 0.4
    left = [row for row, gone in zip(Triplets.of_votes(votes).rows(), asked, strict=True) if not gone]
    check_consistent(Recorded(votes, asked), set(left))


@pytest.mark.parametrize("seed", range(4))
def test_anything_that_was_not_answered_can_be_asked_of_who_is_there(seed: int) -> None:
    votes = some_votes(seed)
    done = set(Triplets.of_votes(votes).rows())
    check_consistent(Anything(votes), every_question() - done)
    there = np.array([True, False, True])
    check_consistent(Anything(votes, there), {row for row in every_question() - done if there[row[2]]})
    check_consistent(Anything(votes, np.zeros(3, dtype=bool)), set())


def test_several_samples_of_one_worker_are_one_answer() -> None:
    import pandas as pd

    rows = pd.DataFrame({"worker": ["m", "m", "n"], "item": ["a"] * 3, "label": ["cat"] * 3, "value": [1, 0, 1]})
    votes = Votes.from_frame(rows, on_conflict="samples")
    assert len(votes) == 3
    assert not Anything(votes).open_pairs().any()
    assert len(Anything(votes).of_pairs(np.array([0]), np.array([0]))) == 0


@settings(max_examples=30, deadline=None)
@given(n=st.integers(1, 60), seed=st.integers(0, 9))
def test_a_sample_of_a_large_crowd_is_as_large_as_wanted(n: int, seed: int) -> None:
    """Too many questions to list: some are drawn, and of these enough are left."""
    dense = np.zeros((9, 30, 5), dtype=int)
    dense[0] = 1
    votes = Votes.from_dense(dense)
    found = Anything(votes).sample(n, np.random.default_rng(seed)).rows()
    assert len(set(found)) == n
    assert all(worker > 0 for _, _, worker in found)


@pytest.mark.parametrize("seed", range(4))
def test_other_pairs_leave_some_out(seed: int) -> None:
    votes = some_votes(seed)
    taken = triplets((0, 0, 1), (2, 1, 1))
    free = {row for row in offered(Anything(votes)) if row[:2] not in {(0, 0), (2, 1)}}
    check_consistent(OtherPairs.than(taken, Anything(votes)), free)
    everything = OtherPairs(Anything(votes), np.ones(SHAPE[1:], dtype=bool))
    check_consistent(everything, set())


@pytest.mark.parametrize("seed", range(4))
def test_same_pages_have_the_items_and_workers_of_some_questions(seed: int) -> None:
    votes = some_votes(seed)
    on_pages = {row for row in offered(Anything(votes)) if (row[0], row[2]) in {(0, 2), (3, 1)}}
    check_consistent(SamePages(Anything(votes), triplets((0, 0, 2), (3, 1, 1))), on_pages)


def test_open_pairs_may_be_changed_by_who_asks() -> None:
    candidates = OtherPairs(Anything(some_votes()), np.zeros(SHAPE[1:], dtype=bool))
    before = candidates.open_pairs()
    candidates.open_pairs()[:] = False
    assert_array_equal(candidates.open_pairs(), before)
