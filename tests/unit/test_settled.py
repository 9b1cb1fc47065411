"""When a pair needs no more answers: the model is sure, and the votes by themselves do not contradict it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from amcc import DawidSkene, MajorityVote, Truth, Votes, load_model
from amcc.consensus.base import SETTLED_ERROR, settled


@pytest.mark.parametrize(
    ("n_yes", "n_no", "expected"),
    [
        (0, 0, False), (1, 0, False), (2, 0, False), (3, 0, True), (3, 1, False), (4, 1, False), (5, 1, True),
        (6, 2, False), (7, 2, True), (1, 1, False), (50, 50, False), (0, 3, False), (2, 7, False),
    ],
)  # fmt: skip
def test_votes_that_a_sure_model_needs(n_yes, n_no, expected):
    """A model that is certain is believed only by clear majorities on its side."""
    counts = np.array([n_yes]), np.array([n_yes + n_no])
    assert settled(np.ones(1), *counts).tolist() == [expected]
    mirrored = np.array([n_no]), np.array([n_yes + n_no])
    assert settled(np.zeros(1), *mirrored).tolist() == [expected]


def test_a_model_that_is_not_sure_settles_nothing():
    proba = np.array([0.05, 0.051, 0.5, 0.949, 0.95])
    n_yes = np.where(proba > 0.5, 100, 0)
    assert settled(proba, n_yes, np.full(5, 100)).tolist() == [True, False, False, False, True]


def test_by_the_distribution_of_the_share():
    rng = np.random.default_rng(0)
    n_yes, n_no = rng.integers(0, 40, (2, 20, 10))
    proba = rng.choice([0.0, 1.0], (20, 10))
    agree, differ = np.where(proba > 0.5, n_yes, n_no), np.where(proba > 0.5, n_no, n_yes)
    expected = stats.beta.cdf(0.5, agree + 0.5, differ + 0.5) <= SETTLED_ERROR
    assert 0 < expected.sum() < expected.size
    assert_array_equal(settled(proba, n_yes, n_yes + n_no), expected)


def test_known_truth_is_settled_and_an_unasked_pair_is_not():
    """Item i0, label a: one vote, and known; b: asked of nobody. Item i1: three noes on a."""
    dense = [[[1, 0], [-1, -1]], [[0, 0], [-1, 1]], [[0, 0], [-1, 0]]]
    votes = Votes.from_dense(dense, item_names=["i0", "i1"], label_names=["a", "b"])
    pair = pa.table({"item": ["i0"], "label": ["a"]})
    model = MajorityVote().fit(votes, truth=Truth.from_frames(pair, known_pairs=pair))
    assert model.pairs()["settled"].to_list() == [1, 1, 0]
    assert model.pairs(all_labels=True)["settled"].to_list() == [1, 0, 1, 0]
    assert MajorityVote().fit(votes).pairs()["settled"].to_list() == [0, 1, 0]


def test_saved_and_applied_models_settle_alike(crowd, tmp_path):
    model = DawidSkene().fit(crowd.votes)
    expected = model.pairs()
    assert 0 < np.sum(expected["settled"]) < len(expected)
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").pairs().equals(expected)
    assert_array_equal(model.applied_to(crowd.votes).pairs()["settled"], expected["settled"])
