"""Names of new votes among learned ones, and what stands for whoever is new."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.testing import assert_allclose, assert_array_equal

from amcc import Votes
from amcc.consensus.matching import CoinMatch, known_or_mean, match_coins, new_code

EXACT = {"rtol": 0, "atol": 1e-12}


def test_places_of_names():
    assert_array_equal(new_code(pa.array(["c", "a", "x"]), pa.array(["a", "b", "c"])), [2, 0, -1])


def test_the_same_vocabulary_is_not_searched():
    names = pa.array(["b", "a"])
    assert_array_equal(new_code(names, names), [0, 1])


def test_numbers_are_found_as_text():
    """A file may hold 7 where another holds "7"."""
    assert_array_equal(new_code(pa.array([7, 8]), pa.array(["8", "9"])), [-1, 0])
    assert_array_equal(new_code(pa.array(["8"]), pa.array([8])), [0])


def test_nobody_is_known_where_nobody_was():
    assert_array_equal(new_code(pa.array(["a"]), pa.array([], pa.string())), [-1])
    assert len(new_code(pa.array([], pa.string()), pa.array(["a"]))) == 0


def test_newcomers_are_average():
    assert_allclose(known_or_mean(np.array([1.0, 2.0, 6.0]), np.array([2, -1, 0])), [6, 3, 1], **EXACT)


def test_rows_of_newcomers_are_average_rows():
    table = np.array([[0.0, 1.0], [4.0, 3.0]])
    assert_allclose(known_or_mean(table, np.array([-1, 1])), [[2, 2], [4, 3]], **EXACT)


def test_coins_are_matched_by_worker_and_label():
    """Learned: w1 on a and b, w2 on b. New: w2 on a (never met), w2 on b, w3 on b, and w1 on a new label."""
    who, what = ["w2", "w2", "w3", "w1"], ["a", "b", "b", "z"]
    votes = Votes.from_frame(pd.DataFrame({"item": "i", "worker": who, "label": what, "value": 1}))
    learned = np.array([0, 0, 1], np.int32), np.array([0, 1, 1], np.int32)
    match = match_coins(votes, pa.array(["w1", "w2"]), pa.array(["a", "b"]), *learned)
    names = [
        (votes.worker_names[int(worker)].as_py(), votes.label_names[int(label)].as_py())
        for worker, label in zip(votes.coins.worker, votes.coins.label, strict=True)
    ]
    met = dict(zip(names, match.met.tolist(), strict=True))
    assert met == {("w2", "a"): False, ("w2", "b"): True, ("w3", "b"): False, ("w1", "z"): False}
    label = dict(zip(names, match.label.tolist(), strict=True))
    assert label == {("w2", "a"): 0, ("w2", "b"): 1, ("w3", "b"): 1, ("w1", "z"): -1}
    assert match.place[names.index(("w2", "b"))] == 2


def test_what_stands_for_a_coin():
    """A learned coin, a known label with another worker, a new label."""
    match = CoinMatch(np.array([1, 0, 0]), np.array([True, False, False]), np.array([0, 1, -1]))
    found = match.learned_or_average(np.array([0.1, 0.2]), np.array([0.5, 0.9]))
    assert_allclose(found, [0.2, 0.9, 0.7], **EXACT)


def test_what_stands_for_a_coin_may_be_a_table():
    match = CoinMatch(np.array([0, 0]), np.array([True, False]), np.array([0, -1]))
    found = match.learned_or_average(np.array([[1.0, 2.0]]), np.array([[3.0, 5.0], [5.0, 7.0]]))
    assert_allclose(found, [[1, 2], [4, 6]], **EXACT)


def test_learned_arrays_are_left_alone():
    of_label = np.array([0.5, 0.9])
    CoinMatch(np.array([0]), np.array([True]), np.array([0])).learned_or_average(np.array([0.1]), of_label)
    assert_array_equal(of_label, [0.5, 0.9])
