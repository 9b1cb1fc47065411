"""What the data choose by foretelling held-out answers, and the graded reading of votes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from scipy.stats import beta

from amcc import AMCC, MajorityVote, Votes
from amcc.consensus.amcc import adaptation, graded
from amcc.consensus.amcc.adaptation import Blend, Evidence, choose_blend, held_out_answers
from amcc.consensus.amcc.correlation import LabelSets, label_set_step
from amcc.consensus.amcc.likelihood import fit_likelihood, start_crowd
from amcc.consensus.signature import signatures
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.base import InMemory


def quick_fit(votes):
    start = start_crowd(votes.n_workers, votes.n_labels, 5)
    return fit_likelihood(InMemory(votes), start, max_iter=40, tol=5e-3)


def chosen(votes, **settings):
    return choose_blend(votes, signatures(votes, 0), quick_fit, **settings)


def answers(votes):
    return set(zip(votes.item.tolist(), votes.worker.tolist(), strict=True))


# -- holding out --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def uneven():
    """Items with 1 to 8 answers, each about some of four labels."""
    rng = np.random.default_rng(0)
    dense = rng.choice([-1, 0, 1], p=[0.5, 0.2, 0.3], size=(8, 30, 4))
    for item in range(30):
        dense[item % 8 + 1 :, item] = 0
        dense[: item % 8 + 1, item, 0] = 1  # so that every answer has a vote
    return Votes.from_dense(dense)


@pytest.fixture(scope="module")
def folds(uneven):
    return list(held_out_answers(uneven, signatures(uneven, 0)))


def test_train_and_test_are_all_votes(uneven, folds):
    assert len(folds) == adaptation.N_FOLDS
    for train, test in folds:
        assert not answers(train) & answers(test)
        assert answers(train) | answers(test) == answers(uneven)
        assert len(train) + len(test) == len(uneven)


def test_each_item_loses_one_answer_per_fold(uneven, folds):
    for number, (_, test) in enumerate(folds):
        can_lose = (uneven.answers_per_item > 1) & (uneven.answers_per_item > number)
        assert_array_equal(test.answers_per_item, can_lose)


def test_single_answers_are_kept(uneven, folds):
    single = uneven.answers_per_item == 1
    assert single.any()
    for train, _ in folds:
        assert (train.answers_per_item[single] == 1).all()


def test_no_answer_is_held_out_twice(folds):
    held_out = [answer for _, test in folds for answer in answers(test)]
    assert len(held_out) == len(set(held_out))


def test_enough_is_enough(uneven, folds, monkeypatch):
    monkeypatch.setattr(adaptation, "ENOUGH", len(folds[0][1]) + 1)
    assert len(list(held_out_answers(uneven, signatures(uneven, 0)))) == 2


def test_large_data_are_sampled_by_item(uneven, monkeypatch):
    monkeypatch.setattr(adaptation, "SAMPLE", len(uneven) // 2)
    train, test = next(held_out_answers(uneven, signatures(uneven, 0)))
    kept = (train.answers_per_item + test.answers_per_item)[np.unique(np.append(train.item, test.item))]
    assert len(kept) < 30
    assert set(kept) <= set(uneven.answers_per_item)


# -- choosing -----------------------------------------------------------------------------------------------------


def graded_votes(seed=0):
    """Presence is a matter of degree: every pair has its own share of people who say yes."""
    rng = np.random.default_rng(seed)
    share = rng.beta(0.3, 0.7, size=(150, 6))
    dense = np.zeros((25, 150, 6), dtype=int)
    for item in range(150):
        workers = rng.choice(25, size=8, replace=False)
        dense[workers, item] = np.where(rng.random((8, 6)) < share[item], 1, -1)
    return Votes.from_dense(dense)


def test_correlated_crowd_gets_correlation():
    crowd = simulate_crowd(CrowdSpec(n_items=300, n_workers=30, n_labels=8, correlation=0.9, seed=0))
    blend = chosen(crowd.votes)
    assert blend.correlation > 0.95
    assert blend.graded < 0.01
    assert sum(blend.tempers) + blend.graded == pytest.approx(1)


def test_correlation_can_be_switched_off(crowd):
    assert chosen(crowd.votes, correlation=False).correlation == 0


def test_matters_of_degree_are_recognised():
    assert chosen(graded_votes()).graded >= 0.7


def test_matters_of_degree_are_decided_as_majority_does():
    """But for ties (four yes of eight: one pair in sixteen), which majority takes for absent."""
    votes = graded_votes()
    same = AMCC().fit(votes).predict() == MajorityVote().fit(votes).predict()
    tied = (2 * votes.n_yes == votes.pairs.n_votes).reshape(same.shape)
    assert np.mean(same[~tied]) >= 0.97
    assert tied.mean() < 0.1


def test_one_answer_per_item_leaves_nothing_to_choose():
    """Votes are then taken as they are, and nobody may keep that as if it had been a choice."""
    rng = np.random.default_rng(0)
    dense = np.zeros((5, 20, 3), dtype=int)
    dense[np.arange(20) % 5, np.arange(20)] = rng.choice([-1, 1], size=(20, 3))
    assert chosen(Votes.from_dense(dense)) is None
    model = AMCC().fit(Votes.from_dense(dense))
    assert Blend(**{**model.blend_, "tempers": tuple(model.blend_["tempers"])}) == Blend()
    assert model.settled_params() is None
    dense[0, 1] = 1
    assert "blend" in AMCC().fit(Votes.from_dense(dense)).settled_params()


def test_default_blend_takes_votes_as_they_are():
    assert (Blend().correlation, Blend().graded) == (0, 0)
    assert dict(zip(adaptation.TEMPERS, Blend().tempers, strict=True)) == {0.7: 0, 0.85: 0, 1.0: 1}


# -- blending -----------------------------------------------------------------------------------------------------


@pytest.fixture
def evidence(toy_votes):
    log_odds = np.array([2.0, -1.0, -2.0, 3.0])
    sets = LabelSets(np.array([0.4, 0.6]), np.array([[0.8, 0.1], [0.1, 0.7]]))
    counts = toy_votes.n_yes.astype(float), toy_votes.pairs.n_votes.astype(float)
    return Evidence(toy_votes.pairs, log_odds, *counts, np.array([0.3, 0.4]), sets)


def test_crisp_presence_is_prior_plus_scaled_votes(evidence):
    expected = expit(logit([0.3, 0.4, 0.3, 0.4]) + 0.7 * evidence.log_odds)
    assert_allclose(evidence.crisp(0.0, 0.7), expected)


def test_correlation_mixes_with_independence(evidence):
    correlated = label_set_step(evidence.pairs, evidence.log_odds, evidence.sets).proba
    assert_allclose(evidence.crisp(0.25, 1.0), 0.75 * evidence.crisp(0.0, 1.0) + 0.25 * correlated)


def test_blend_is_a_weighted_mean(evidence):
    graded_presence = graded.presence(evidence.n_yes, evidence.pairs.n_votes)
    expected = 0.2 * evidence.crisp(0.5, 0.7) + 0.3 * evidence.crisp(0.5, 1.0) + 0.5 * graded_presence
    assert_allclose(evidence.blended(Blend(0.5, (0.2, 0.0, 0.3), 0.5)), expected)


def test_unasked_pairs_follow_the_kind_of_their_item(evidence):
    item, label = np.array([0, 1, 2], np.int32), np.array([1, 0, 1], np.int32)
    proba = evidence.unasked(item, label, 1.0, 3)
    assert_allclose(proba, (evidence.kinds(3) @ evidence.sets.frequency)[item, label])
    assert proba[2] == pytest.approx(evidence.sets.share @ evidence.sets.frequency[:, 1])  # an item without votes
    assert_allclose(evidence.unasked(item, label, 0.0, 3), evidence.prior[label])


# -- graded presence ----------------------------------------------------------------------------------------------


def test_ties_are_one_half():
    assert_allclose(graded.presence(np.arange(5.0), 2 * np.arange(5.0)), 0.5)


def test_graded_presence_is_the_posterior_of_more_than_half():
    assert graded.presence(np.array([3.0]), np.array([4.0]))[0] == pytest.approx(beta(3.5, 1.5).sf(0.5))
    assert graded.presence(np.array([1.0]), np.array([4.0]))[0] == pytest.approx(beta(1.5, 3.5).sf(0.5))


def test_strength_of_shares_is_found():
    assert 0.5 <= graded.fit_graded(graded_votes()).strength <= 2  # drawn from Beta(0.3, 0.7)


def test_worker_who_says_the_opposite_has_a_negative_slope():
    rng = np.random.default_rng(0)
    others = rng.normal(scale=2, size=600)
    worker = np.repeat([0, 1], 300)
    is_yes = (rng.random(600) < expit(np.where(worker == 0, others, -others))).astype(float)
    honest, contrary = graded._worker_lines(SimpleNamespace(worker=worker, n_workers=2), others, is_yes)
    assert_allclose(honest, [0, 1], rtol=0, atol=0.3)
    assert_allclose(contrary, [0, -1], rtol=0, atol=0.3)


def test_worker_without_votes_has_the_usual_line():
    line = graded._worker_lines(SimpleNamespace(worker=np.zeros(0, int), n_workers=1), np.empty(0), np.empty(0))
    assert_allclose(line, [[0, 1]])


def test_foretold_votes_follow_the_others_on_the_pair():
    votes = graded_votes()
    learned = graded.fit_graded(votes)
    none, all_yes = (graded.vote_probability(learned, votes, np.full(len(votes), n), 5.0) for n in (0.0, 5.0))
    assert (none < all_yes).all()
    assert none.min() > 0
    assert all_yes.max() < 1
