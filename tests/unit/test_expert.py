"""What the requester should answer first: the design by itself, by brute force, and on a fitted model."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from test_calibration import truth_of
from test_degrees import tempting_crowd

from amcc import AMCC, Truth, Votes
from amcc.active import expert
from amcc.active.expert import ITEM_SPREAD, PairFeatures, Readings, expected_weight, questions_for_expert
from amcc.consensus import MajorityVote
from amcc.errors import EmptyInputError, ParameterError


@pytest.fixture(scope="module")
def fitted():
    votes, present = tempting_crowd(seed=3, n_items=60)
    return AMCC().fit(votes), votes, present


def belief_of(model, votes):
    readings = Readings.of(model, votes)
    known = model.pair_known_ if model.pair_known_ is not None else np.zeros(len(votes.pairs), dtype=bool)
    return expert._Belief.before(readings.features(), expert._believed(model, readings), known, ~known)


def uncertainty(rows, weight, informations) -> float:
    """V by its definition, after answers with these (rows, covariance of the noise)."""
    precision = np.eye(rows.shape[1])
    for asked, noise in informations:
        precision = precision + asked.T @ np.linalg.inv(noise) @ asked
    return float((weight * np.einsum("na,ab,nb->n", rows, np.linalg.inv(precision), rows)).sum())


def noise_of(weight) -> np.ndarray:
    return np.diag(1 / weight) + ITEM_SPREAD**2


def test_features_are_sparse_but_the_same(fitted):
    model, votes, _ = fitted
    features = Readings.of(model, votes).features()
    rows = features.dense(np.arange(len(votes.pairs)))
    assert_allclose((rows != 0).sum(axis=1).max(), 5)
    rng = np.random.default_rng(0)
    matrix, weight = rng.normal(size=(features.size, features.size)), rng.random(len(rows))
    assert_allclose(features.quadratic(matrix), np.einsum("na,ab,nb->n", rows, matrix, rows), rtol=1e-10)
    assert_allclose(features.information(weight), rows.T @ (weight[:, None] * rows), rtol=1e-10)


def test_what_an_answer_is_expected_to_tell():
    """By numerical integration, also where the model is too sure to learn from at its own word."""
    for mean, variance in ((0.0, 0.5), (-2.0, 1.0), (5.0, 4.0)):

        def integrand(z, mean=mean, variance=variance):
            proba = expit(mean + np.sqrt(variance) * z)
            return proba * (1 - proba) * norm.pdf(z)

        found = expected_weight(np.array([mean]), np.array([variance]))[0]
        assert found == pytest.approx(quad(integrand, -8, 8)[0], rel=0.02)


def test_gains_are_what_uncertainty_falls_by(fitted):
    """Of every pair, and of every item with all its labels; V is computed anew from the information."""
    model, votes, _ = fitted
    belief = belief_of(model, votes)
    rows = belief.features.dense(np.arange(len(votes.pairs)))
    before = uncertainty(rows, belief.weight, [])
    assert belief.uncertainty == pytest.approx(before)
    after = [
        uncertainty(rows, belief.weight, [(rows[[pair]], noise_of(belief.weight[[pair]]))]) for pair in range(len(rows))
    ]
    assert_allclose(belief.gains(), before - np.array(after), rtol=1e-6, atol=1e-9)
    for item in range(0, votes.n_items, 7):
        pairs = np.flatnonzero(votes.pairs.item == item)
        told = uncertainty(rows, belief.weight, [(rows[pairs], noise_of(belief.weight[pairs]))])
        assert belief.gain_of_item(pairs) == pytest.approx(before - told)


def test_the_choice_is_greedy_and_near_the_best_of_all(fitted):
    """The first pair is the best; two by greed bring at least 95 % of what the best two of all do."""
    model, votes, _ = fitted
    votes = votes.select(votes.item < 8)
    model = AMCC().fit(votes)
    belief = belief_of(model, votes)
    rows, weight = belief.features.dense(np.arange(len(votes.pairs))), belief.weight
    before = uncertainty(rows, weight, [])

    def gain(pairs) -> float:
        return before - uncertainty(rows, weight, [(rows[[pair]], noise_of(weight[[pair]])) for pair in pairs])

    chosen = questions_for_expert(model, votes, 2, drawn=0.0)
    key = votes.pairs.item.astype(int) * votes.n_labels + votes.pairs.label
    places = [int(np.flatnonzero(key == k)[0]) for k in chosen.item * votes.n_labels + chosen.label]
    assert gain(places[:1]) == pytest.approx(max(gain([pair]) for pair in range(len(rows))))
    apart = [(a, b) for a, b in combinations(range(len(rows)), 2) if votes.pairs.item[a] != votes.pairs.item[b]]
    assert gain(places) >= 0.95 * max(gain(pair) for pair in apart)
    assert_allclose(chosen.gain.sum(), gain(places) / before, rtol=1e-6)


def test_pairs_of_different_items_spread_over_labels(fitted):
    model, votes, _ = fitted
    chosen = questions_for_expert(model, votes, 12, drawn=0.0)
    assert len(chosen) == len(set(chosen.item.tolist())) == 12
    assert set(chosen.label.tolist()) == set(range(votes.n_labels))
    assert (np.diff(chosen.gain) <= 1e-12).all()
    assert len(questions_for_expert(model, votes, 10_000)) == len(votes.pairs)  # all there are


def test_whole_items_come_with_all_their_pairs(fitted):
    model, votes, _ = fitted
    chosen = questions_for_expert(model, votes, 3, whole_items=True, drawn=0.4)
    items = list(dict.fromkeys(chosen.item.tolist()))
    assert len(items) == 3
    assert chosen.label.tolist() == list(range(votes.n_labels)) * 3


def test_what_is_known_is_not_asked_again_and_teaches(fitted):
    """With ten items known, less is uncertain, and other questions come first."""
    model, votes, present = fitted
    first = questions_for_expert(model, votes, 5, whole_items=True)
    items = sorted(set(first.item.tolist()))
    told = AMCC().fit(votes, truth=truth_of(items, votes, present))
    assert belief_of(told, votes).uncertainty < 0.8 * belief_of(model, votes).uncertainty
    second = questions_for_expert(told, votes, 5, whole_items=True)
    assert not set(second.item.tolist()) & set(items)
    assert not set(questions_for_expert(told, votes, 200).item.tolist()) & set(items)


@pytest.mark.parametrize("whole_items", [False, True])
def test_every_second_question_is_drawn_at_random(fitted, whole_items):
    """The first is the best, whatever the seed; those drawn say so, differ between seeds, and are as fair as chance."""
    model, votes, _ = fitted
    runs = [questions_for_expert(model, votes, 4, whole_items=whole_items, drawn=0.5, seed=seed) for seed in range(60)]
    size = votes.n_labels if whole_items else 1
    by_chance = [[why.startswith("drawn at random") for why in run.why] for run in runs]
    assert by_chance == [[False] * size + [True] * size + [False] * size + [True] * size] * 60
    assert len({tuple(run.item[:size]) for run in runs}) == 1
    second = np.array([run.item[size] for run in runs])
    assert len(set(second.tolist())) > 25  # of 59 items; about 38 are expected
    everything = questions_for_expert(model, votes, 10_000, whole_items=whole_items)
    assert len(everything) == len(set(zip(everything.item, everything.label, strict=True))) == len(votes.pairs)
    with pytest.raises(ParameterError, match="drawn must be a share"):
        questions_for_expert(model, votes, 4, drawn=1.5)


def test_reasons_name_readings_that_disagree():
    """On label a, two reliable workers say yes where three others say no."""
    rng = np.random.default_rng(0)
    present = rng.random((80, 2)) < 0.5
    good = [np.where(rng.random(present.shape) < 0.95, present, ~present) for _ in range(2)]
    bad = [rng.random(present.shape) < 0.5 for _ in range(3)]
    dense = np.where(np.stack([*good, *bad]), 1, -1)
    votes = Votes.from_dense(dense, label_names=["a", "b"])
    chosen = questions_for_expert(AMCC().fit(votes), votes, 10, drawn=0.0)
    told = [why for why in chosen.why if why.startswith("readings disagree: most say")]
    assert told
    assert all(" of 5 say yes), weighed by reliability it is " in why and "look like this" in why for why in told)
    assert not any("readings disagree" in why for why in questions_for_expert(MajorityVote().fit(votes), votes, 9).why)


def test_senseless_requests():
    votes = Votes.from_dense([[[1, -1]], [[1, 1]], [[1, -1]]], item_names=["i"], label_names=["a", "b"])
    with pytest.raises(ParameterError, match="n must be at least 1; got 0"):
        questions_for_expert(MajorityVote().fit(votes), votes, 0)
    truth = Truth.from_frames(pa.table({"item": ["i"], "label": ["a"]}))
    with pytest.raises(EmptyInputError, match="that of all asked pairs is"):
        questions_for_expert(MajorityVote().fit(votes, truth=truth), votes, 1)


def test_features_count_what_is_given():
    assert PairFeatures(np.array([[0, 1]]), np.array([[2.0, 3.0]]), 2).quadratic(np.eye(2)).tolist() == [13.0]
