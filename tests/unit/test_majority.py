"""Majority vote against the worked numbers of the specification, §3.1."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import ParameterError, Truth, Votes
from amcc.consensus import MajorityVote
from amcc.consensus.learned import Gold, Inferred
from amcc.consensus.workers import worker_rates
from amcc.engine.base import InMemory


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
    """Two workers who disagree on everything: neither is confirmed by their own votes, or known to be wrong."""
    dense = np.array([[[1], [1], [-1], [-1]], [[-1], [-1], [1], [1]]])
    model = MajorityVote()._learn(InMemory(votes := Votes.from_dense(dense)))
    assert (worker_rates(votes, model.judge()).informativeness < 0).all()
    assert not MajorityVote().fit(votes).workers()["known"].any()


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


def test_a_label_without_votes_has_the_share_of_all():
    """Nobody was asked about the last label; 2 of 4 votes are yes, and caution makes it 3 of 6."""
    model = MajorityVote().fit(Votes.from_dense([[[1, -1, 0]], [[1, -1, 0]]]))
    assert model.label_prior_[2] == pytest.approx(0.5)
    assert model.predict_proba()[0, 2] == model.label_prior_[2]


@pytest.mark.parametrize("value", [1, -1])
def test_one_voice_is_not_certain_about_other_items(value):
    model = MajorityVote().fit(Votes.from_dense(np.full((3, 4, 2), value)))
    assert (model.label_prior_ > 0).all()
    assert (model.label_prior_ < 1).all()
    assert np.isfinite(model.workers()["hit_rate"]).all()


def test_the_other_votes_decide_who_is_right():
    """Four agree on eight items, the fifth says the opposite."""
    dense = np.tile(np.where(np.arange(8) % 2, 1, -1)[:, None], (5, 1, 1))
    dense[4] *= -1
    rates = MajorityVote().fit(Votes.from_dense(dense)).workers()
    assert (rates["informativeness"][:4] > 0.3).all()
    assert rates["informativeness"][4] < -0.3


def test_known_truth_outweighs_all_votes_when_workers_are_judged():
    """All three say yes to everything; known truth says no to nine of ten items."""
    names = [f"i{n}" for n in range(10)]
    votes = Votes.from_dense(np.ones((3, 10, 1)), item_names=names, label_names=["l"])
    truth = Truth.from_frames(pd.DataFrame({"item": ["i0"], "label": ["l"]}), known_items=pd.DataFrame({"item": names}))
    model = MajorityVote().fit(votes, truth=truth)
    assert_array_equal(model.predict()[:, 0], np.arange(10) == 0)
    assert (model.workers()["false_alarm_rate"] > 0.5).all()


def test_hard_scores_of_new_votes(toy_votes):
    model = MajorityVote(scores="hard").fit(toy_votes)
    even = Votes.from_dense([[[1]], [[-1]]], label_names=["l1"])
    assert_array_equal(model.predict_proba(even), [[0]])


def test_there_is_nothing_to_converge(toy_votes):
    model = MajorityVote().fit(toy_votes)
    assert (model.objective_history_, model.n_iter_, model.converged_) == ([], 1, True)
