"""Known truth corrects probabilities: the correction by itself, and what a fit makes of it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, logit
from test_degrees import log_loss, tempting_crowd

from amcc import AMCC, Truth, Votes, load_model
from amcc.consensus.calibration import (
    FOLDS,
    INTERCEPT_SPREAD,
    LABEL_SPREAD,
    SLOPE_SPREAD,
    SURE,
    Calibration,
    fit_calibration,
    held_out_calibrated,
    log_odds,
)
from amcc.truth import PairList


def truth_of(items, votes: Votes, present) -> Truth:
    """All labels of some items."""
    pairs = [(item, label) for item in items for label in np.flatnonzero(present[item])]
    rows = [(str(votes.item_names[item]), str(votes.label_names[label])) for item, label in pairs]
    names = votes.item_names.cast("string")
    item, label = zip(*rows, strict=True)
    return Truth(PairList(pa.array(item), pa.array(label)), known_items=names.take(pa.array(items)))


def test_it_is_the_most_probable_correction():
    """The same optimum as a general method finds, on every parameter."""
    rng = np.random.default_rng(0)
    proba, label = rng.uniform(0.01, 0.99, 200), rng.integers(0, 3, 200)
    present = rng.random(200) < expit(-0.8 + 0.6 * logit(proba) + np.array([0.5, 0, -0.5])[label])

    def loss(parameters):
        intercept, slope, *offset = parameters
        log_odds = intercept + slope * logit(proba) + np.array(offset)[label]
        prior = (intercept / INTERCEPT_SPREAD) ** 2 + ((slope - 1) / SLOPE_SPREAD) ** 2
        prior += (np.array(offset) ** 2).sum() / LABEL_SPREAD**2
        return np.logaddexp(0, np.where(present, -log_odds, log_odds)).sum() + 0.5 * prior

    best = minimize(loss, [0, 1, 0, 0, 0], options={"gtol": 1e-9}).x
    found = fit_calibration(proba, label, present, 3)
    assert_allclose([found.intercept, found.slope, *found.label], best, rtol=0, atol=1e-5)
    assert found.n_pairs == 200


def test_cross_fitted_probabilities_have_not_seen_the_truth_of_their_item():
    """Each item is corrected by all others; what is true of it does not matter to it, but to them."""
    rng = np.random.default_rng(1)
    proba, label, item = rng.uniform(0.01, 0.99, 60), np.tile([0, 1, 2], 20), np.repeat(np.arange(20), 3)
    present = rng.random(60) < 0.3
    found = held_out_calibrated(proba, label, present, item, 3)
    out = item == 7
    rest = fit_calibration(proba[~out], label[~out], present[~out], 3)
    assert_allclose(found[out], rest.of(proba[out], label[out]), rtol=1e-12)
    other = held_out_calibrated(proba, label, present ^ out, item, 3)
    assert_allclose(other[out], found[out], rtol=1e-12)
    assert np.abs(other[~out] - found[~out]).max() > 1e-3
    many = np.arange(3 * FOLDS)
    assert np.isfinite(held_out_calibrated(np.full(len(many), 0.2), many % 3, many % 5 == 0, many, 3)).all()


def test_nothing_known_changes_nothing_and_new_labels_have_no_offset():
    nothing = fit_calibration(np.empty(0), np.empty(0, int), np.empty(0, bool), 2)
    assert (nothing.intercept, nothing.slope, nothing.label.tolist()) == (0.0, 1.0, [0.0, 0.0])
    proba = np.array([0.2, 0.7])
    assert_allclose(nothing.of(proba, np.array([0, 1])), proba, rtol=1e-12)
    strict = Calibration(-1.0, 0.5, np.array([2.0]), 5)
    assert_allclose(strict.of(proba, np.array([-1, 0])), expit([-1 + 0.5 * logit(0.2), 1 + 0.5 * logit(0.7)]))


def test_truth_that_contradicts_everything_is_followed_only_so_far():
    """Sure probabilities, all wrong: the slope falls, and every number stays finite however many there are."""
    proba = np.tile([0.999999, 0.0], 500)
    found = fit_calibration(proba, np.zeros(1000, int), proba < 0.5, 1)
    assert found.slope < 0
    assert np.isfinite([found.intercept, found.slope, *found.label]).all()
    few = fit_calibration(proba[:2], np.zeros(2, int), proba[:2] < 0.5, 1)
    assert found.slope < few.slope < 1  # two pairs do not overrule the prior


def test_the_only_known_item_is_corrected_by_nothing():
    proba = np.array([0.3, 0.8])
    found = held_out_calibrated(proba, np.array([0, 1]), np.array([True, False]), np.zeros(2, int), 2)
    assert_allclose(found, proba, rtol=1e-12)


def test_certain_probabilities_count_as_very_sure():
    assert_allclose(log_odds(np.array([0.0, 1.0])), logit([SURE, 1 - SURE]))
    strict = Calibration(0.0, 1.0, np.zeros(1), 1)
    assert_allclose(strict.of(np.array([0.0, 1.0]), np.zeros(2, int)), [SURE, 1 - SURE])


@pytest.fixture(scope="module")
def strict_expert():
    """A crowd, and an expert who keeps only what nearly everybody sees; the truth of ten items is known."""
    votes, _ = tempting_crowd(seed=4, n_items=200)
    present = votes.to_dense().mean(axis=0) > 0.75
    return votes, present, truth_of(range(10), votes, present)


def test_ten_known_items_say_what_the_expert_means(strict_expert):
    votes, present, truth = strict_expert
    plain, told = AMCC().fit(votes), AMCC().fit(votes, truth=truth)
    assert told.calibration_.n_pairs == 40
    assert told.calibration_.intercept < 0
    rest = slice(10, None)
    before, after = (log_loss(present[rest], model.predict_proba()[rest]) for model in (plain, told))
    assert after < 0.85 * before
    assert_allclose(told.predict_proba()[:10], present[:10], rtol=0, atol=0)  # what is known stays


def test_the_correction_is_kept_and_holds_for_new_votes(strict_expert, tmp_path):
    votes, _, truth = strict_expert
    told = AMCC().fit(votes, truth=truth)
    told.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.calibration_.slope == told.calibration_.slope
    some = votes.select(votes.item >= 100)
    assert_allclose(loaded.predict_proba(some), told.predict_proba(some), rtol=0, atol=0)
    unknown = np.arange(votes.n_items) >= 100
    assert_allclose(told.predict_proba(some)[unknown], told.predict_proba()[unknown], rtol=0, atol=1e-9)
    assert told.fit(votes).calibration_ is None
