"""How readings of the same votes are pooled."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit
from test_counts import votes_by_degree

from amcc import AMCC, Votes, metrics
from amcc.consensus import MajorityVote
from amcc.consensus.default import readings
from amcc.consensus.default.correlation import LabelSets, label_set_step
from amcc.consensus.default.counts import presence_by_counts
from amcc.consensus.default.presence import presence_at
from amcc.consensus.default.readings import Blend, Evidence, blend_of_single_votes, gate
from amcc.consensus.default.settings import Settings
from amcc.data.simulate import CrowdSpec, simulate_crowd

SETTINGS = Settings()


@pytest.fixture
def evidence(toy_votes):
    log_odds = np.array([2.0, -1.0, -2.0, 3.0])
    sets = LabelSets(np.array([0.4, 0.6]), np.array([[0.8, 0.1], [0.1, 0.7]]))
    counts = toy_votes.n_yes.astype(float), toy_votes.pairs.n_votes.astype(float)
    return Evidence(toy_votes.pairs, log_odds, *counts, np.array([0.3, 0.4]), sets, SETTINGS)


TWO_KINDS, BY_DEGREES = np.array([0.1, 0.7]), np.array([0.6, 0.2, 0.1, 0.9])


def test_crisp_presence_is_prior_plus_votes(evidence):
    assert_allclose(evidence.crisp(0.0), expit(logit([0.3, 0.4, 0.3, 0.4]) + evidence.log_odds))


def test_correlation_mixes_with_independence(evidence):
    correlated = label_set_step(evidence.pairs, evidence.log_odds, evidence.sets).proba
    assert_allclose(evidence.crisp(0.25), 0.75 * evidence.crisp(0.0) + 0.25 * correlated)


def test_the_pool_by_hand(evidence):
    """Each reading with its weight; two coins at their word get the rest."""
    soft = 0.1 + 0.6 * evidence.crisp(0.0)
    counted = presence_by_counts(evidence.n_yes, evidence.n_votes, SETTINGS)
    pool = 0.4 * (0.75 * soft + 0.25 * counted) + 0.6 * BY_DEGREES
    found = evidence.pooled(Blend(0.3, 0.6, 0.25, 0.0), TWO_KINDS, BY_DEGREES)
    assert_allclose(found, 0.3 * evidence.crisp(0.0) + 0.7 * pool)


def test_other_labels_count_for_at_most_half_of_the_pool(evidence):
    pool = evidence.pooled(Blend(0.0, 0.5, 0.5, 0.0), TWO_KINDS, BY_DEGREES)
    said = logit(pool) - logit(evidence.prior[evidence.pairs.label])
    correlated = label_set_step(evidence.pairs, said, evidence.sets).proba
    weight = 0.8 * SETTINGS.most_correlation
    found = evidence.pooled(Blend(0.0, 0.5, 0.5, 0.8), TWO_KINDS, BY_DEGREES)
    assert_allclose(found, (1 - weight) * pool + weight * correlated)


def test_without_degrees_two_coins_are_taken_at_their_word(evidence):
    assert_allclose(evidence.pooled(Blend(0.4, 0.4, 0.3, 0.2), TWO_KINDS, None), evidence.crisp(0.2))


@pytest.mark.parametrize("blend", [{"crisp": 1.5}, {"counts": -0.1}, {"correlation": "much"}, {"crisp": True}])
def test_weights_are_from_0_to_1(blend):
    with pytest.raises(ValueError, match="must be a number from 0 to 1"):
        Blend(**blend)


def test_gates_move_from_0_to_1():
    assert gate(2.0, middle=2.0) == 0.5
    assert gate(3.0, middle=2.0) == pytest.approx(expit(1.0))
    assert gate(-50.0, 2.0) < 1e-9 < 1 - 1e-9 < gate(50.0, 2.0)


# -- what the votes choose ---------------------------------------------------------------------------------------------


def test_independent_crowds_are_taken_at_their_word():
    crowd = simulate_crowd(CrowdSpec.for_votes(100_000, seed=0))
    model = AMCC().fit(crowd.votes)
    assert model.blend_["crisp"] > 0.9
    assert model.blend_["degrees"] < SETTINGS.least_degrees + 0.01
    assert model.blend_["counts"] < 0.01
    assert metrics.log_loss(crowd.truth, model.predict_proba()) < 0.15


def test_matters_of_degree_are_decided_as_majority_does():
    """But for ties (four yes of eight: one pair in sixteen), which majority takes for absent."""
    votes = votes_by_degree()
    model = AMCC().fit(votes)
    assert model.blend_["crisp"] < 0.1
    assert model.blend_["counts"] > 0.5
    assert SETTINGS.least_degrees < model.blend_["degrees"] <= SETTINGS.most_degrees
    same = model.predict() == MajorityVote().fit(votes).predict()
    tied = (2 * votes.n_yes == votes.pairs.n_votes).reshape(same.shape)
    assert np.mean(same[~tied]) >= 0.95
    assert tied.mean() < 0.1


def test_correlated_crowd_gets_correlation():
    crowd = simulate_crowd(CrowdSpec(n_items=300, n_workers=30, n_labels=8, correlation=0.9, seed=0))
    assert AMCC().fit(crowd.votes).blend_["correlation"] > 0.95
    assert AMCC(correlation=False).fit(crowd.votes).blend_["correlation"] == 0


def test_one_answer_per_item_leaves_nothing_to_choose():
    """What one worker says is probably so, and no more; and nobody may keep that as if it had been a choice."""
    rng = np.random.default_rng(0)
    dense = np.zeros((5, 20, 3), dtype=int)
    dense[np.arange(20) % 5, np.arange(20)] = rng.choice([-1, 1], size=(20, 3))
    model = AMCC().fit(Votes.from_dense(dense))
    assert Blend(**model.blend_) == blend_of_single_votes(SETTINGS)
    said_yes = dense.sum(axis=0) > 0
    assert (model.predict() == said_yes).all()
    assert (
        0.7 < np.abs(model.predict_proba() - ~said_yes).min() <= np.abs(model.predict_proba() - ~said_yes).max() < 0.97
    )
    assert model.chosen_params() is None
    dense[0, 1] = 1
    assert "blend" in AMCC().fit(Votes.from_dense(dense)).chosen_params()


def test_large_data_are_asked_by_a_sample_of_items(crowd, monkeypatch):
    seen = []
    monkeypatch.setattr(readings, "SAMPLE", len(crowd.votes) // 2)
    compare = readings.compare
    monkeypatch.setattr(readings, "compare", lambda votes, *rest: seen.append(votes) or compare(votes, *rest))
    model = AMCC().fit(crowd.votes)
    assert 0.2 * len(crowd.votes) < len(seen[0]) < 0.8 * len(crowd.votes)
    whole = dict(zip(*np.unique(crowd.votes.item, return_counts=True), strict=True))
    assert set(np.bincount(seen[0].item).tolist()) - {0} <= {int(n) for n in whole.values()}  # items stay whole
    assert 0 <= model.blend_["crisp"] <= 1


def test_kinds_of_two_coins_are_read_by_their_share_of_yes(crowd):
    """Workers who look say yes to present pairs at their hit rate: that is what present means to them."""
    model = AMCC().fit(crowd.votes)
    absent, present = model.kind_presence_
    assert absent < 0.2 < 0.5 < present
    assert present < presence_at(np.array([0.97]), SETTINGS)[0]
