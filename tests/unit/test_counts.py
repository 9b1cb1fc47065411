"""Plain counts: what they say about presence, and how well they predict votes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import expit

from amcc import Votes
from amcc.consensus.default import counts
from amcc.consensus.default.counts import counts_predict, fit_shares, presence_by_counts
from amcc.consensus.default.presence import presence_at
from amcc.consensus.default.settings import Settings

SETTINGS = Settings()


def votes_by_degree(seed=0):
    """Every pair has its own share of people who say yes, and nobody is better than others."""
    rng = np.random.default_rng(seed)
    share = rng.beta(0.3, 0.7, size=(150, 6))
    dense = np.zeros((25, 150, 6), dtype=int)
    for item in range(150):
        workers = rng.choice(25, size=8, replace=False)
        dense[workers, item] = np.where(rng.random((8, 6)) < share[item], 1, -1)
    return Votes.from_dense(dense)


def test_ties_are_one_half():
    assert_allclose(presence_by_counts(np.arange(5.0), 2 * np.arange(5.0), SETTINGS), 0.5)


def test_counts_decide_as_majority_does():
    n_votes = np.repeat(np.arange(1.0, 30), 30)
    n_yes = np.minimum(np.tile(np.arange(30.0), 29), n_votes)
    apart = 2 * n_yes != n_votes
    assert ((presence_by_counts(n_yes, n_votes, SETTINGS) > 0.5) == (2 * n_yes > n_votes))[apart].all()


def test_more_votes_that_agree_say_more():
    n = np.arange(1.0, 20)
    assert (np.diff(presence_by_counts(n, n, SETTINGS)) > 0).all()
    assert presence_by_counts(n, n, SETTINGS)[-1] < 0.999  # never certain: the votes may repeat each other


def test_presence_rises_with_the_share_of_yes_and_leans():
    share = np.linspace(0, 1, 101)
    assert (np.diff(presence_at(share, SETTINGS)) >= 0).all()
    assert presence_at(np.array([0.43]), SETTINGS)[0] > 0.5 > presence_at(np.array([0.42]), SETTINGS)[0]
    assert presence_at(np.array([0.5]), SETTINGS, lean=0.0)[0] == 0.5


def test_strength_of_shares_is_found():
    assert 0.5 <= fit_shares(votes_by_degree(), SETTINGS).strength <= 2  # drawn from Beta(0.3, 0.7)


def test_a_vote_is_predicted_without_itself():
    """Whatever the only vote on a pair is, the prediction knows only the label and the worker's line."""
    dense = np.ones((3, 2, 1), dtype=int)
    dense[1:, 1] = 0
    yes, dense[0, 1, 0] = counts_predict(Votes.from_dense(dense), SETTINGS), -1
    votes = Votes.from_dense(dense)
    shares = fit_shares(votes, SETTINGS)
    assert_allclose(shares.given(np.array([0]), np.array([0.0]), np.array([0.0])), shares.mean)
    assert 0 < counts_predict(votes, SETTINGS).min() < yes.max() < 1


def test_predictions_follow_the_others_on_the_pair():
    votes = votes_by_degree()
    predicted = counts_predict(votes, SETTINGS)
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    others = (votes.n_yes[pair] - (votes.value > 0)) / (votes.pairs.n_votes[pair] - 1)
    assert np.corrcoef(predicted, others)[0, 1] > 0.9
    log_loss = -np.log(np.where(votes.value > 0, predicted, 1 - predicted)).mean()
    rate = (votes.value > 0).mean()
    assert log_loss < 0.75 * -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))


def test_worker_who_says_the_opposite_has_a_negative_slope():
    rng = np.random.default_rng(0)
    others = rng.normal(scale=2, size=600)
    worker = np.repeat([0, 1], 300)
    is_yes = (rng.random(600) < expit(np.where(worker == 0, others, -others))).astype(float)
    honest, contrary = counts._worker_lines(SimpleNamespace(worker=worker, n_workers=2), others, is_yes)
    assert_allclose(honest, [0, 1], rtol=0, atol=0.3)
    assert_allclose(contrary, [0, -1], rtol=0, atol=0.3)


def test_worker_without_votes_has_the_usual_line():
    line = counts._worker_lines(SimpleNamespace(worker=np.zeros(0, int), n_workers=1), np.empty(0), np.empty(0))
    assert_allclose(line, [[0, 1]])
