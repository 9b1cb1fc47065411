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
from amcc.consensus.settling import ASSUMED_CLAIM, DEPENDENT_CLAIM, SETTLED_ERROR, assumed_settling
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import FileFormatError
from amcc.fields import Stored, take_apart
from amcc.roster import Roster
from amcc.truth import Truth

NAMES = [each.name for each in fields(Settings)]


# -- what they are ----------------------------------------------------------------------------------------------------


def test_about_twenty_with_reasons():
    rows = described_settings()
    assert 15 <= len(rows) <= 25
    for row in rows:
        assert len(row["reason"].split()) >= 8
        assert row["reason"].endswith(".")
        assert row["least"] <= row["value"] <= row["most"]


def test_rows_are_together_by_group():
    groups = [row["group"] for row in described_settings()]
    assert list(dict.fromkeys(groups)) == ["crowd priors", "label sets", "readings", "settling", "known truth"]
    assert groups == sorted(groups, key=list(dict.fromkeys(groups)).index)


@pytest.mark.parametrize("name", NAMES)
def test_half_and_double_lie_around_the_value_and_are_allowed(name):
    value, both = getattr(Settings(), name), half_and_double(name)
    assert min(both) < value < max(both)
    for other in both:
        assert getattr(settings_with({name: other}), name) == other


def test_half_and_double_by_hand():
    assert half_and_double("pseudo_votes") == (4, 16)
    assert half_and_double("counts_z") == (-0.75, -3)
    assert half_and_double("n_kinds") == (6, 24)
    assert half_and_double("usual_hit") == (0.538, 0.824)  # odds 7/3: half 7/6, double 14/3


# -- what they may be -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lean": 7}, "settings: lean must be a number from -5 to 5; got 7."),
        ({"lean": "much"}, "lean must be a number from -5 to 5; got 'much'"),
        ({"lean": True}, "lean must be a number from -5 to 5; got True"),
        ({"lean": float("nan")}, "lean must be a number from -5 to 5; got nan"),
        ({"n_kinds": 2.5}, "n_kinds must be a whole number from 1 to 200; got 2.5"),
        ({"assumed_claim": 0.06}, "assumed_claim must be a number from 0.0001 to 0.05; got 0.06"),
        ({"assumed_claim": 0}, "assumed_claim must be a number from 0.0001 to 0.05; got 0"),
        ({"usual_hit": 1.0}, "usual_hit must be a number from 0.0001 to 0.9999; got 1.0"),
        ({"least_degrees": 0.9}, r"least_degrees must not be above most_degrees \(0.8\); got 0.9"),
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
    if isinstance(row["value"], int):
        value = int(value)
    if name in ("least_degrees", "most_degrees"):
        found = settings_with({"least_degrees": min(value, 0.4), "most_degrees": max(value, 0.4)})
        assert found.least_degrees <= found.most_degrees
    else:
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


UNSEEN_HERE = {"declared_crisp": "a roster", "assumed_claim": "settled pairs", "truth_spread": "known truth"}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in UNSEEN_HERE])
def test_every_setting_moves_probabilities(name, small, usual):
    changes = {name: half_and_double(name)[1]}
    model = AMCC(settings=changes).fit(small.votes)
    assert model.settings_ == replace(Settings(), **changes)
    assert np.abs(model.predict_proba() - usual.predict_proba()).max() > 1e-6


def test_the_default_is_what_no_change_gives(small, usual):
    assert usual.settings_ == Settings()
    same = AMCC(settings={"lean": Settings().lean}).fit(small.votes)
    assert_array_equal(same.predict_proba(), usual.predict_proba())


def test_claims_move_what_is_settled_and_nothing_else():
    crowd = simulate_crowd(CrowdSpec.for_votes(20_000, seed=0))
    strict, usual, free = (
        AMCC(settings={"assumed_claim": claim}).fit(crowd.votes) for claim in (0.001, ASSUMED_CLAIM, SETTLED_ERROR)
    )
    assert strict.pair_settled_.sum() < usual.pair_settled_.sum() < free.pair_settled_.sum()
    assert_array_equal(strict.pair_proba_, free.pair_proba_)
    assert free.settling_.claim <= SETTLED_ERROR


def test_claims_keep_their_proportion_where_votes_depend():
    assert assumed_settling(0.0, 0.1).claim == 0.1
    assert assumed_settling(1.0, 0.1).claim == pytest.approx(0.1 * DEPENDENT_CLAIM / ASSUMED_CLAIM)
    assert assumed_settling(1.0).claim == pytest.approx(DEPENDENT_CLAIM)


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


def test_a_roster_keeps_two_coins_at_their_word():
    crowd = simulate_crowd(
        CrowdSpec.for_votes(3000, n_workers=7, answers_per_item=1, n_models=6, n_families=3, people_share=0.5, seed=0)
    )
    names = crowd.votes.worker_names.cast("string").to_pylist()
    kinds = ["model" if family >= 0 else "human" for family in crowd.family.tolist()]
    assert (kinds.count("model"), kinds.count("human")) == (6, 1)
    roster = Roster.from_frame(pa.table({"worker": names, "kind": kinds}))
    for least in (0.0, 0.9):
        blend = AMCC(settings={"declared_crisp": least}).fit(crowd.votes, roster=roster).blend_
        assert blend["crisp"] >= least
    assert AMCC(settings={"declared_crisp": 1.0}).fit(crowd.votes, roster=roster).blend_["crisp"] == 1.0


def test_priors_are_those_of_the_settings():
    prior = crowd_prior(Settings(usual_hit=0.8, usual_yes=0.5, pseudo_votes=2.0, label_spread=0.6))
    assert prior.hit.centre == pytest.approx(np.log(4))
    assert prior.uninformative.centre == 0
    assert (prior.hit.strength, prior.false_alarm.strength) == (2.0, 8.0)
    assert (prior.hit.label_spread, prior.false_alarm.label_spread) == (0.6, 0.2)


# -- what is kept -----------------------------------------------------------------------------------------------------


def test_a_saved_model_keeps_and_uses_its_settings(small, tmp_path):
    votes = small.votes
    once = votes.select(np.diff(np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes), prepend=-1) > 0)
    model = AMCC(settings={"steepness": 3.0, "n_kinds": 3}).fit(once)  # a vote per pair: counts are read at once
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.settings_ == model.settings_ == Settings(steepness=3.0, n_kinds=3)
    assert loaded.settings == {"steepness": 3.0, "n_kinds": 3}
    assert loaded.set_frequency_.shape[0] == 3
    expected = model.applied_to(votes).predict_proba()
    assert_array_equal(loaded.applied_to(votes).predict_proba(), expected)
    loaded.settings_ = Settings()  # if a loaded model took the usual ones, this would change nothing
    assert np.abs(loaded.applied_to(votes).predict_proba() - expected).max() > 1e-3


def test_settings_of_a_file_are_checked(tmp_path):
    arrays, plain = {}, {}
    take_apart(Settings(), "settings_", arrays, plain)
    assert Stored(tmp_path, arrays, plain).rebuilt(Settings, "settings_") == Settings()
    for wrong in ({"settings_.lean": 99.0}, {"settings_.n_kinds": "12"}):
        with pytest.raises(FileFormatError, match=r"lean must be a number|n_kinds"):
            Stored(tmp_path, arrays, plain | wrong).rebuilt(Settings, "settings_")


def test_a_warm_start_with_other_settings_learns_anew(small):
    model = AMCC(warm_start=True).fit(small.votes)
    before = model.predict_proba()
    model.set_params(settings={"usual_false_alarm": 0.3, "n_kinds": 4}).fit(small.votes)
    assert model.settings_.usual_false_alarm == 0.3
    assert model.set_frequency_.shape[0] == 4
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
