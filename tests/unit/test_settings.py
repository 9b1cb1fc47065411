"""Settings: each has a reason and a range, a change reaches the probabilities, and a saved model keeps its own."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from amcc import AMCC, ParameterError, load_model
from amcc.consensus.calibration import INTERCEPT_SPREAD, LABEL_SPREAD, SLOPE_SPREAD, Spreads, fit_calibration
from amcc.consensus.default.crowd import crowd_prior
from amcc.consensus.default.settings import (
    Settings,
    described_settings,
    half_and_double,
    measured_settings,
    settings_with,
)
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import FileFormatError
from amcc.fields import Stored, take_apart
from amcc.truth import Truth

NAMES = [each.name for each in fields(Settings)]


# -- what they are ----------------------------------------------------------------------------------------------------


def test_fourteen_with_reasons():
    rows = described_settings()
    assert len(rows) == 14  # each one more is one more number that somebody has to trust
    for row in rows:
        assert len(row["reason"].split()) >= 8
        assert row["reason"].endswith(".")
        assert row["least"] <= row["value"] <= row["most"]


def test_rows_are_together_by_group():
    groups = [row["group"] for row in described_settings()]
    assert list(dict.fromkeys(groups)) == ["crowd priors", "readings", "known truth"]
    assert groups == sorted(groups, key=list(dict.fromkeys(groups)).index)


@pytest.mark.parametrize("name", NAMES)
def test_half_and_double_lie_around_the_value_and_are_allowed(name):
    value, both = getattr(Settings(), name), half_and_double(name)
    assert min(both) < value < max(both)
    for other in both:
        assert getattr(settings_with({name: other}), name) == other


def test_half_and_double_by_hand():
    assert half_and_double("pseudo_votes") == (4, 16)
    assert half_and_double("coins_share") == (0.2, 0.5)  # odds 1/2: half 1/4, double 1
    assert half_and_double("usual_hit") == (0.538, 0.824)  # odds 7/3: half 7/6, double 14/3


# -- what they may be -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lean": 7}, "settings: lean must be a number from -5 to 5; got 7."),
        ({"lean": "much"}, "lean must be a number from -5 to 5; got 'much'"),
        ({"lean": True}, "lean must be a number from -5 to 5; got True"),
        ({"lean": float("nan")}, "lean must be a number from -5 to 5; got nan"),
        ({"usual_hit": 1.0}, "usual_hit must be a number from 0.0001 to 0.9999; got 1.0"),
        ({"leen": 0.5}, "there is no 'leen'; there are usual_hit, "),
        (0.5, "settings must be None or numbers by name; got 0.5"),
    ],
)
def test_what_cannot_be_is_refused_before_the_fit(changes, message, toy_votes):
    model = AMCC(settings=changes)
    with pytest.raises(ParameterError, match=message):
        model.fit(toy_votes)


@given(st.sampled_from(NAMES), st.floats(0, 1))
def test_any_number_in_its_range_is_taken(name, where):
    (row,) = (row for row in described_settings() if row["name"] == name)
    value = row["least"] + where * (row["most"] - row["least"])
    assert getattr(settings_with({name: value}), name) == value


def test_nothing_changed_is_the_default():
    assert settings_with(None) == settings_with({}) == Settings()


# -- what they do -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    """Items are faint, so that readings are pooled; labels are often left out, so that kinds of items matter."""
    return simulate_crowd(CrowdSpec.for_votes(2500, pair_spread=1.5, asked_share=0.8, seed=3))


@pytest.fixture(scope="module")
def usual(small):
    return AMCC().fit(small.votes)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "truth_spread"])  # which needs known truth
def test_every_setting_moves_probabilities(name, small, usual):
    changes, votes = {name: half_and_double(name)[1]}, small.votes
    if name.startswith("independent"):  # so few votes cannot show it
        votes = simulate_crowd(CrowdSpec.for_votes(40_000, seed=0)).votes
        usual = AMCC().fit(votes)
    model = AMCC(settings=changes).fit(votes)
    assert model.settings_ == replace(Settings(), **changes)
    assert np.abs(model.predict_proba() - usual.predict_proba()).max() > 1e-6


def test_the_default_is_what_no_change_gives(small, usual):
    assert usual.settings_ == Settings()
    same = AMCC(settings={"lean": Settings().lean}).fit(small.votes)
    assert_array_equal(same.predict_proba(), usual.predict_proba())


def test_known_truth_corrects_as_far_as_it_may(small):
    known = np.zeros_like(small.truth)
    known[:25] = True
    votes = small.votes
    item, label = (names.cast("string").to_pylist() for names in (votes.item_names, votes.label_names))
    rows = [{"item": item[i], "label": label[j], "truth": "no"} for i, j in zip(*np.nonzero(known), strict=True)]
    truth = Truth.from_frames(pa.Table.from_pylist(rows))
    held, free = (
        AMCC(settings={"truth_spread": spread}).fit(votes, truth=truth).calibration_ for spread in (0.05, 3.0)
    )
    assert free.intercept < held.intercept < 0  # nothing is present: the more it may, the lower it goes
    assert abs(held.intercept) < 0.2


def test_spreads_keep_their_proportion():
    assert Spreads() == Spreads.of(INTERCEPT_SPREAD) == (INTERCEPT_SPREAD, SLOPE_SPREAD, LABEL_SPREAD)
    assert_allclose(Spreads.of(2 * INTERCEPT_SPREAD), 2 * np.array(Spreads()))
    data = np.array([0.2, 0.6, 0.9]), np.array([0, 1, 0]), np.array([True, True, False]), 2
    assert fit_calibration(*data).slope == fit_calibration(*data, Spreads()).slope
    assert fit_calibration(*data, Spreads.of(1e-3)).slope == pytest.approx(1, abs=1e-4)


def test_priors_are_those_of_the_settings():
    prior = crowd_prior(Settings(usual_hit=0.8, usual_yes=0.5, pseudo_votes=2.0, label_spread=0.6))
    assert prior.hit.centre == pytest.approx(np.log(4))
    assert prior.uninformative.centre == 0
    assert (prior.hit.strength, prior.false_alarm.strength) == (2.0, 8.0)
    assert (prior.hit.label_spread, prior.false_alarm.label_spread) == pytest.approx((0.6, 0.6 * 4 / 7))


# -- what is kept -----------------------------------------------------------------------------------------------------


def test_a_saved_model_keeps_and_uses_its_settings(small, tmp_path):
    votes = small.votes
    once = votes.select(np.diff(np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes), prepend=-1) > 0)
    model = AMCC(settings={"steepness": 3.0, "pseudo_votes": 3.0}).fit(once)  # a vote per pair: counts are read at once
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.settings_ == model.settings_ == Settings(steepness=3.0, pseudo_votes=3.0)
    assert loaded.settings == {"steepness": 3.0, "pseudo_votes": 3.0}
    expected = model.applied_to(votes).predict_proba()
    assert_array_equal(loaded.applied_to(votes).predict_proba(), expected)
    loaded.settings_ = Settings()  # if a loaded model took the usual ones, this would change nothing
    assert np.abs(loaded.applied_to(votes).predict_proba() - expected).max() > 1e-3


def test_settings_of_a_file_are_checked(tmp_path):
    arrays, plain = {}, {}
    take_apart(Settings(), "settings_", arrays, plain)
    assert Stored(tmp_path, arrays, plain).rebuilt(Settings, "settings_") == Settings()
    for wrong in ({"settings_.lean": 99.0}, {"settings_.lean": "12"}):
        with pytest.raises(FileFormatError, match=r"settings_\.lean|lean must be"):
            Stored(tmp_path, arrays, plain | wrong).rebuilt(Settings, "settings_")


def test_a_warm_start_with_other_settings_learns_anew(small):
    model = AMCC(warm_start=True).fit(small.votes)
    before = model.predict_proba()
    model.set_params(settings={"usual_false_alarm": 0.3}).fit(small.votes)
    assert model.settings_.usual_false_alarm == 0.3
    assert np.abs(model.predict_proba() - before).max() > 1e-3


# -- what they are worth ----------------------------------------------------------------------------------------------


def test_every_setting_was_measured_at_its_present_value():
    found = measured_settings()
    assert {"command", "date", "seed", "families", "how"} <= set(found)
    assert set(found["settings"]) == set(NAMES)
    for name, at in found["settings"].items():
        assert (at["half"]["at"], at["double"]["at"]) == half_and_double(name)
        assert at["value"]["at"] == getattr(Settings(), name)
        for column in ("half", "value", "double"):
            assert 0 < at[column]["jaccard"] < 1
            assert 0 < at[column]["log_loss"] < 1
