"""iBCC against the worked numbers of the specification, §4.1, and its own promises."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma

from amcc import ConvergenceWarning, ParameterError, Truth, Votes, metrics
from amcc.consensus import IBCC, MajorityVote
from amcc.consensus.models.ibcc import by_truth
from amcc.data.simulate import CrowdSpec, simulate_crowd

PRINTED = {"rtol": 0, "atol": 5e-7}  # the specification prints six digits


def after_one_round(votes):
    with pytest.warns(ConvergenceWarning, match="IBCC stopped after 1 iterations"):
        return IBCC(max_iter=1).fit(votes)


def test_one_round(toy_votes):
    assert_allclose(after_one_round(toy_votes).predict_proba(), [[0.845230, 0.160516], [0.012607, 0.996443]], **PRINTED)


def test_converged(toy_votes):
    model = IBCC(tol=1e-10).fit(toy_votes)
    assert_allclose(model.predict_proba(), [[0.947613, 0.055886], [0.015848, 0.994964]], **PRINTED)


def test_counts_leave_out_what_was_not_asked(toy_votes):
    """w3 has one vote on l1, a no on i1, where two of three say yes."""
    counts = after_one_round(toy_votes).answer_counts_[4]  # coins by worker, then label
    assert_allclose(counts, [[4 + 1 / 3, 1], [1 + 2 / 3, 4]], rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_bound_never_falls(seed):
    crowd = simulate_crowd(CrowdSpec(n_items=150, n_workers=20, n_labels=5, asked_share=0.7, seed=seed))
    history = IBCC(tol=1e-8, max_iter=2000).fit(crowd.votes).objective_history_
    assert len(history) > 5
    assert np.all(np.diff(history) >= -1e-9 * abs(history[0]))


def test_bound_stays_below_the_evidence():
    """The evidence of one yes is log ½ by symmetry: the bound stays below it, not far."""
    bound = IBCC(tol=1e-12).fit(Votes.from_dense([[[1]]])).objective_history_[-1]
    assert np.log(0.5) - 0.2 < bound < np.log(0.5)


def test_silences_spammers():
    crowd = simulate_crowd(CrowdSpec(n_items=1500, n_workers=20, n_labels=6, spammers=0.4, seed=0))
    ours = metrics.jaccard(crowd.truth, IBCC().fit(crowd.votes).predict())
    assert ours > metrics.jaccard(crowd.truth, MajorityVote().fit(crowd.votes).predict()) + 0.1


def test_new_worker_counts_as_average():
    crowd = simulate_crowd(CrowdSpec(n_items=300, n_workers=20, n_labels=4, seed=1))
    model = IBCC().fit(crowd.votes)
    newcomer = Votes.from_dense([[[1, 0, 0, 0]]], worker_names=["nobody"], label_names=crowd.votes.label_names)
    prior = digamma(model.class_counts_[0, 1]) - digamma(model.class_counts_[0, 0])
    log_odds = prior + model.average_evidence_[0, 1]
    assert model.predict_proba(newcomer)[0, 0] == pytest.approx(1 / (1 + np.exp(-log_odds)))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"right_prior": 0}, "right_prior must be a positive number; got 0"),
        ({"wrong_prior": -1.0}, "wrong_prior"),
        ({"class_prior": np.nan}, "class_prior"),
        ({"tol": 0.0}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be at least 1; got 0"),
    ],
)
def test_bad_parameters(toy_votes, params, message):
    with pytest.raises(ParameterError, match=message):
        IBCC(**params).fit(toy_votes)


def test_weights_by_truth_are_never_negative():
    """Rounding may carry a sum of probabilities above the number of its votes."""
    found = by_truth(np.array([1.0 + 1e-15, 0.25]), np.array([1.0, 1.0]))
    assert_allclose(found, [[0, 1], [0.75, 0.25]], rtol=0, atol=1e-12)
    assert (found >= 0).all()


def test_few_votes_are_little_evidence():
    """Two workers are always with the majority, one of them on two items: their yes is worth less."""
    dense = np.where(np.arange(40) % 2, 1, -1)[None, :, None] * np.ones((4, 1, 1))
    dense[3, 2:] = 0
    model = IBCC(tol=1e-9).fit(Votes.from_dense(dense))
    evidence = digamma(model.answer_counts_[:, 1]) - digamma(model.answer_counts_[:, 1].sum(axis=1, keepdims=True))
    evidence -= digamma(model.answer_counts_[:, 0]) - digamma(model.answer_counts_[:, 0].sum(axis=1, keepdims=True))
    assert evidence[3, 1] < 0.6 * evidence[:3, 1].min()


def test_average_worker_by_hand(toy_votes):
    """Counts of all three workers without their priors, and the prior once."""
    model = after_one_round(toy_votes)
    prior = np.array([[4.0, 1.0], [1.0, 4.0]])
    pooled = prior + (model.answer_counts_[0::2] - prior).sum(axis=0)
    share = pooled / pooled.sum(axis=1, keepdims=True)
    assert_allclose(model.average_evidence_[0], np.log(share[1] / share[0]), rtol=1e-12)


def test_known_truth_is_clamped(toy_votes):
    """Truth that contradicts two of three is believed, and those two lose by it."""
    known = pd.DataFrame({"item": ["i1"]})
    truth = Truth.from_frames(pd.DataFrame({"item": ["i1"], "label": ["l2"]}), known_items=known)
    plain, taught = IBCC().fit(toy_votes), IBCC().fit(toy_votes, truth=truth)
    assert_allclose(taught.predict_proba()[0], [0, 1], rtol=0, atol=1e-12)
    wrong = plain.answer_counts_[0, 0, 1], taught.answer_counts_[0, 0, 1]  # w1's yes to an absent l1
    assert wrong[1] > wrong[0] + 0.5
