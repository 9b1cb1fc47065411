"""Majority vote against the worked numbers of the specification, §3.1."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import ParameterError, Votes
from amcc.consensus import MajorityVote
from amcc.consensus.learned import Gold, Inferred


def test_worked_numbers(toy_votes):
    model = MajorityVote().fit(toy_votes)
    assert_allclose(model.predict_proba(), [[2 / 3, 1 / 3], [0, 1]], rtol=1e-12)  # i2/l1 is 0 of 2, not 0 of 3
    assert_array_equal(model.predict(), [[True, False], [False, True]])


def test_hard_scores(toy_votes):
    assert_array_equal(MajorityVote(scores="hard").fit(toy_votes).predict_proba(), [[1, 0], [0, 1]])


def test_even_split_is_a_no():
    assert not MajorityVote().fit(Votes.from_dense([[[1]], [[-1]]])).predict()[0, 0]


def test_unasked_pair_gets_the_share_of_its_label():
    """l0: 3 yes of 4; all labels: 3 of 6. With one vote's worth of the overall share: 3.5 / 5 and 0.5 / 3."""
    model = MajorityVote().fit(Votes.from_dense([[[1, -1], [1, 0]], [[1, -1], [-1, 0]]]))
    assert_allclose(model.label_prior_, [(3 + 0.5) / 5, 0.5 / 3], rtol=1e-12)
    assert_allclose(model.predict_proba()[1], [0.5, 0.5 / 3], rtol=1e-12)


def test_workers_are_judged_without_their_own_vote():
    """Two workers who disagree on everything: neither is confirmed by their own votes."""
    dense = np.array([[[1], [1], [-1], [-1]], [[-1], [-1], [1], [1]]])
    rates = MajorityVote().fit(Votes.from_dense(dense)).workers()
    assert (rates["informativeness"] < 0).all()


def test_bad_scores(toy_votes):
    with pytest.raises(ParameterError, match="'fraction' or 'hard'; got 'soft'"):
        MajorityVote(scores="soft").fit(toy_votes)


def test_real_data(shared_data):
    import amcc

    folder = shared_data / "sonyc_ust_fine_val"
    votes = amcc.read_votes(folder / "annotations.csv.gz")
    truth, known = amcc.read_truth(folder / "truth.csv", known_items=folder / "truth_items.csv").matrices(
        votes.item_names, votes.label_names
    )
    from amcc import metrics

    jaccard = metrics.jaccard(truth, MajorityVote().fit(votes).predict(), known)
    assert jaccard == pytest.approx(0.441, abs=0.001)


def test_probabilities_stay_within_one_whatever_rounding_does() -> None:
    class Rounding(MajorityVote):
        def _infer(self, votes: Votes, prior: np.ndarray, gold: Gold) -> Inferred:
            return Inferred(super()._infer(votes, prior, gold).pair * (1 + 4e-16) + 4e-16)

    votes = Votes.from_dense([[[1, -1]], [[1, -1]]])
    model = Rounding().fit(votes)
    for proba in (model.predict_proba(), model.predict_proba(votes)):
        assert proba.max() <= 1
        assert model.predict().tolist() == [[True, False]]
