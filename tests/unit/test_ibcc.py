"""iBCC against the worked numbers of the specification, §4.1, and its own promises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma

from amcc import IBCC, ConvergenceWarning, MajorityVote, ParameterError, Votes, metrics
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
