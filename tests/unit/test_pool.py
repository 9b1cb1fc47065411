"""How readings of the same votes are pooled."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit
from test_presence import votes_by_degree

from amcc import AMCC, Votes, metrics
from amcc.consensus import MajorityVote
from amcc.consensus.default.correlation import LabelSets, label_set_step
from amcc.consensus.default.pool import READINGS, Evidence
from amcc.consensus.default.presence import presence_at, presence_by_counts
from amcc.consensus.default.settings import Settings
from amcc.consensus.default.trust import Trust
from amcc.data.simulate import CrowdSpec, simulate_crowd

SETTINGS = Settings()


@pytest.fixture
def evidence(toy_votes):
    log_odds, degrees = np.array([2.0, -1.0, -2.0, 3.0]), np.array([0.6, 0.2, 0.1, 0.9])
    sets = LabelSets(np.array([0.4, 0.6]), np.array([[0.8, 0.1], [0.1, 0.7]]))
    counts = toy_votes.n_yes.astype(float), toy_votes.pairs.n_votes.astype(float)
    kinds, prior = np.array([0.1, 0.7]), np.array([0.3, 0.4])
    return Evidence(toy_votes.pairs, log_odds, *counts, degrees, kinds, prior, sets, SETTINGS)


def test_unsoftened_coins_are_prior_plus_votes_mixed_with_what_other_labels_say(evidence):
    independent = expit(logit([0.3, 0.4, 0.3, 0.4]) + evidence.log_odds)
    assert_allclose(evidence.unsoftened(0.0), independent)
    correlated = label_set_step(evidence.pairs, evidence.log_odds, evidence.sets).proba
    assert_allclose(evidence.unsoftened(0.25), 0.75 * independent + 0.25 * correlated)


def test_the_pool_by_hand(evidence):
    """Coins have half of the weight that they have without votes at `coins_votes`; the other two share the rest."""
    coins = SETTINGS.coins_share * SETTINGS.coins_votes / (SETTINGS.coins_votes + evidence.n_votes)
    softened = 0.1 + 0.6 * evidence.unsoftened(0.0)
    counted = presence_by_counts(evidence.n_yes, evidence.n_votes, SETTINGS)
    pool = coins * softened + (1 - coins) / 2 * (counted + evidence.degrees)
    assert_allclose(evidence.pooled(Trust()), pool)
    assert_allclose(evidence.pooled(Trust(independence=0.3)), 0.3 * evidence.unsoftened(0.0) + 0.7 * pool)
    said = logit(pool) - logit(evidence.prior[evidence.pairs.label])
    correlated = label_set_step(evidence.pairs, said, evidence.sets).proba
    weight = 0.8 * SETTINGS.most_correlation
    assert_allclose(evidence.pooled(Trust(correlation=0.8)), (1 - weight) * pool + weight * correlated)


@pytest.mark.parametrize("without", [(), ("coins",), ("counts", "degrees"), ("degrees", "start")])
def test_weights_sum_to_one_and_move_with_the_votes(evidence, without):
    weights = evidence._weights(without)
    assert_allclose(weights.sum(axis=0), 1)
    for name, weight in zip(READINGS, weights, strict=True):
        assert (weight == 0).all() if name in without else (weight > 0).all()
    if not without:
        assert weights[0].argmin() == evidence.n_votes.argmax()  # coins give way to the others


def test_a_tenth_more_or_less_of_coins_makes_no_difference_that_matters():
    for spec in (CrowdSpec.for_votes(2500, pair_spread=1.5, seed=3), CrowdSpec.for_votes(2500, seed=0)):
        votes = simulate_crowd(spec).votes
        less, now, more = (
            AMCC(settings={"coins_share": factor * SETTINGS.coins_share}).fit(votes).pair_proba_
            for factor in (0.9, 1.0, 1.1)
        )
        for other in (less, more):
            assert 1e-4 < np.abs(other - now).max() < 0.02


def test_matters_of_degree_are_decided_as_majority_does():
    """But for ties (four yes of eight: one pair in sixteen), which majority takes for absent."""
    votes = votes_by_degree()
    model = AMCC().fit(votes)
    assert model.trust_["independence"] < 0.01
    same = model.predict() == MajorityVote().fit(votes).predict()
    tied = (2 * votes.n_yes == votes.pairs.n_votes).reshape(same.shape)
    assert np.mean(same[~tied]) >= 0.95


def test_one_answer_per_item_is_probably_so():
    rng = np.random.default_rng(0)
    dense = np.zeros((5, 20, 3), dtype=int)
    dense[np.arange(20) % 5, np.arange(20)] = rng.choice([-1, 1], size=(20, 3))
    model, said_yes = AMCC().fit(Votes.from_dense(dense)), dense.sum(axis=0) > 0
    assert (model.predict() == said_yes).all()
    right = np.abs(model.predict_proba() - ~said_yes)
    assert 0.6 < right.min() <= right.max() < 0.97


def test_kinds_of_two_coins_are_read_by_their_share_of_yes(crowd):
    """Workers who look say yes to present pairs at their hit rate: that is what present means to them."""
    absent, present = AMCC().fit(crowd.votes).kind_presence_
    assert absent < 0.2 < 0.5 < present < presence_at(np.array([0.97]), SETTINGS)[0]


def test_many_independent_votes_are_taken_at_their_word():
    crowd = simulate_crowd(CrowdSpec.for_votes(100_000, seed=0))
    model, hedged = (AMCC(without=without).fit(crowd.votes) for without in ((), ["independence"]))
    assert model.trust_["independence"] > 0.2
    losses = [metrics.log_loss(crowd.truth, each.predict_proba()) for each in (model, hedged)]
    assert losses[0] < losses[1] < 0.2
