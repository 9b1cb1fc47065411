"""amcc simulate-crowd: options are fields of a spec, and errors speak of options."""

from __future__ import annotations

import dataclasses
import json

import pytest
from pyarrow import csv, parquet

import running
from amcc.cli.simulate_crowd import FIELDS, spec_of
from amcc.data.simulate import CrowdSpec
from amcc.errors import ParameterError


def test_every_option_is_a_field_and_reaches_it():
    """Values that no default has, so that an option that went elsewhere would show."""
    fields = {field.name: field for field in dataclasses.fields(CrowdSpec)}
    assert set(fields) - set(FIELDS) == {"kind_weights", "n_specialties", "activity_exponent"}
    changes = {
        "n_items": 31, "n_workers": 13, "n_labels": 7, "answers_per_item": 3, "labels_per_item": 1.5, "spammers": 0.3,
        "correlation": 0.4, "difficulty": 0.7, "asked_share": 0.8, "faint": 0.11, "tempting": 0.12, "pair_spread": 0.6,
        "taste": 0.9, "n_tastes": 4, "taste_labels": 0.25, "n_models": 6, "n_families": 3, "family_correlation": 0.55,
        "model_correlation": 0.35, "people_share": 0.65, "convention": 0.45, "convention_spread": 0.15, "n_features": 2,
        "seed": 17,
    }  # fmt: skip
    assert set(changes) == set(FIELDS)
    spec = spec_of(None, changes)
    assert {field: getattr(spec, field) for field in changes} == changes


def test_options_reach_the_files(tmp_path):
    sizes = ("--items", 12, "--workers", 9, "--labels", 4, "--answers-per-item", 3, "--features", 2, "--seed", 5)
    run = running.amcc("simulate-crowd", "-o", tmp_path / "crowd", *sizes, "--json")
    assert json.loads(run.stdout) == {
        "n_votes": 144, "n_items": 12, "n_workers": 9, "n_labels": 4, "seed": 5, "output": str(tmp_path / "crowd"),
    }  # fmt: skip
    assert parquet.read_table(tmp_path / "crowd" / "features.parquet").shape == (12, 3)
    assert csv.read_csv(tmp_path / "crowd" / "workers.csv").num_rows == 9


def test_sizes_follow_from_the_votes_unless_items_are_given():
    assert spec_of(None, {}) == CrowdSpec.for_votes(100_000)
    assert spec_of(3000, {"seed": 2}) == CrowdSpec.for_votes(3000, seed=2)
    assert spec_of(None, {"n_items": 30}) == CrowdSpec(n_items=30)
    with pytest.raises(ParameterError, match=r"either --votes or --items.*got 50 and 5"):
        spec_of(50, {"n_items": 5})


@pytest.mark.parametrize("n_labels", [1, 2, 3, 9])
def test_few_labels_have_fewer_specialties(n_labels):
    """There is no option for specialties: who asks for two labels must get them."""
    spec = spec_of(None, {"n_items": 5, "n_labels": n_labels, "labels_per_item": 0.5})
    assert spec.n_specialties == min(3, n_labels)


@pytest.mark.parametrize(
    ("votes", "changes", "message"),
    [
        (0, {}, "--votes must be a whole number of at least 1; got 0."),
        (None, {"n_items": 0}, "--items must be a whole number from 1 to 2147483647; got 0."),
        (None, {"n_labels": -1}, "--labels must be a whole number from 1 to 2147483647; got -1."),
        (None, {"n_items": 5, "n_models": 51}, "--models must be at most --workers=50; got 51."),
        (
            None,
            {"n_items": 5, "n_models": 46},
            "--answers-per-item must be at most the 4 people (--workers=50 less --models=46); got 5.",
        ),
        (None, {"n_items": 5, "labels_per_item": 10.0}, "--labels-per-item must be above 0 and below --labels=10; got"),
        (None, {"people_share": 0.5}, "--people-share must be 1 where there are no models (--models=0); got 0.5."),
        (None, {"n_models": 3, "n_families": 4}, "--families must be at most --models=3; got 4."),
        (None, {"taste_labels": 0.0}, "--taste-labels must be above 0; got 0.0."),
        (
            None,
            {"convention_spread": 1.0},
            "--convention-spread must be 0 without a convention (--convention=0); got 1.0.",  # the first is a word
        ),
        (
            None,
            {"n_models": 3, "family_correlation": 0.1, "model_correlation": 0.2},
            "--model-correlation must be at most --family-correlation=0.1; got 0.2.",
        ),
    ],
)
def test_errors_name_options(votes, changes, message):
    with pytest.raises(ParameterError) as caught:
        spec_of(votes, changes)
    assert str(caught.value).startswith(message)


def test_the_error_that_a_user_sees(tmp_path):
    run = running.amcc("simulate-crowd", "-o", tmp_path / "crowd", "--items", 5, "--models", 51, code=2)
    assert run.stderr == "error: --models must be at most --workers=50; got 51.\n"
    assert not (tmp_path / "crowd").exists()


def test_options_stay_in_the_order_of_the_help():
    told = running.amcc("simulate-crowd", "--help", COLUMNS="200").stdout
    names = ["--output", "--votes", *(f"--{field.removeprefix('n_').replace('_', '-')} " for field in FIELDS), "--json"]
    places = [told.index(name) for name in names]
    assert places == sorted(places)
