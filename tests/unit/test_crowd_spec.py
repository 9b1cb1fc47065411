"""CrowdSpec: which choices are refused, and what follows from those that are not."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from numpy.testing import assert_allclose

from amcc.data.simulate import CrowdSpec
from amcc.errors import ParameterError

SMALL = CrowdSpec(n_items=300, n_workers=20, n_labels=6, n_features=3, seed=4)


class TestSpec:
    @pytest.mark.parametrize("exponent", range(3, 9))
    def test_for_votes_comes_within_two_per_cent(self, exponent: int) -> None:
        spec = CrowdSpec.for_votes(10**exponent)
        assert_allclose(spec.n_votes, 10**exponent, rtol=0.02)
        assert spec.answers_per_item <= spec.n_workers < spec.n_items

    def test_for_votes_sizes(self) -> None:
        def sizes(spec: CrowdSpec) -> tuple[int, ...]:
            return spec.n_items, spec.n_workers, spec.n_labels, spec.answers_per_item

        assert sizes(CrowdSpec.for_votes(10**7)) == (100_000, 5000, 20, 5)
        assert sizes(CrowdSpec.for_votes(10**3)) == (40, 13, 5, 5)

    def test_for_votes_takes_changes(self) -> None:
        spec = CrowdSpec.for_votes(10**4, n_labels=8, asked_share=0.5, answers_per_item=100, spammers=0.6)
        assert (spec.n_items, spec.n_labels, spec.answers_per_item, spec.spammers) == (25, 8, 100, 0.6)
        assert spec.n_workers == 100

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"n_items": 0}, "n_items must be a whole number from 1 to 2147483647; got 0"),
            ({"n_workers": 2.5}, "n_workers must be a whole number .*; got 2.5"),
            ({"n_labels": True}, "n_labels must be a whole number .*; got True"),
            ({"answers_per_item": 51}, "answers_per_item must be at most n_workers=50; got 51"),
            ({"labels_per_item": 10}, "labels_per_item must be above 0 and below n_labels=10; got 10"),
            ({"labels_per_item": 0.0}, "labels_per_item must be above 0"),
            ({"correlation": 1.1}, "correlation must be a number from 0 to 1; got 1.1"),
            ({"correlation": float("nan")}, "correlation must be a number from 0 to 1; got nan"),
            ({"spammers": -0.1}, "spammers must be a number from 0 to 1; got -0.1"),
            ({"kind_weights": {"lazy": 1}}, "kind_weights must be weights of reliable, .*; got {'lazy': 1}"),
            ({"kind_weights": {"sloppy": -1}}, r"kind_weights\['sloppy'\] must be a number of at least 0; got -1"),
            ({"kind_weights": {"random_spammer": 0, "uniform_spammer": 0}}, "kind_weights must be positive for .*0.2"),
            ({"n_specialties": 11}, "n_specialties must be at most n_labels=10; got 11"),
            ({"activity_exponent": -1}, "activity_exponent must be a number from 0 to 3; got -1"),
            ({"difficulty": "hard"}, "difficulty must be a number from 0 to 10; got 'hard'"),
            ({"asked_share": 0.0}, "asked_share must be above 0; got 0.0"),
            ({"n_features": -1}, "n_features must be a whole number of at least 0; got -1"),
            ({"seed": None}, "seed must be a whole number of at least 0; got None"),
            ({"faint": 1.2}, "faint must be a number from 0 to 1; got 1.2"),
            ({"tempting": -1}, "tempting must be a number from 0 to 1; got -1"),
            ({"pair_spread": float("inf")}, "pair_spread must be a number from 0 to 10; got inf"),
            ({"taste": "strong"}, "taste must be a number from 0 to 10; got 'strong'"),
            ({"n_tastes": 0}, "n_tastes must be a whole number from 1 to 1000; got 0"),
            ({"taste_labels": 0}, "taste_labels must be above 0; got 0"),
            ({"n_models": 51}, "n_models must be at most n_workers=50; got 51"),
            ({"n_models": 46}, r"answers_per_item must be at most the 4 people \(n_workers=50 less n_models=46\)"),
            ({"n_models": 3, "n_families": 4}, "n_families must be at most n_models=3; got 4"),
            ({"family_correlation": 0.5}, r"family_correlation must be 0 without models \(n_models=0\); got 0.5"),
            (
                {"n_models": 3, "family_correlation": 0.5, "model_correlation": 0.6},
                "model_correlation must be at most family_correlation=0.5; got 0.6",
            ),
            ({"people_share": 0.5}, r"people_share must be 1 where there are no models \(n_models=0\); got 0.5"),
            ({"n_models": 3, "people_share": 0.0}, "people_share must be above 0; for models alone, make all"),
            ({"convention": 1}, "convention must be below 1: nothing is seen by all; got 1"),
            ({"convention_spread": 1}, r"convention_spread must be 0 without a convention \(convention=0\); got 1"),
            (
                {"spammers": 1, "n_models": 3, "kind_weights": dict.fromkeys(("reliable", "normal", "sloppy"), 0)},
                "kind_weights must be positive for some honest kind",
            ),
        ],
    )
    def test_a_wrong_field_is_named_with_its_limits(self, change: dict[str, object], message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            CrowdSpec(**change)

    def test_for_votes_refuses_what_it_chooses_itself(self) -> None:
        with pytest.raises(ParameterError, match="n_items must be left to for_votes; got 5"):
            CrowdSpec.for_votes(1000, n_items=5)
        with pytest.raises(ParameterError, match="n_votes must be a whole number of at least 1; got 0"):
            CrowdSpec.for_votes(0)

    def test_can_be_hashed_and_rebuilt_from_its_fields(self) -> None:
        assert CrowdSpec(**asdict(SMALL)) == SMALL
        assert len({SMALL, replace(SMALL), replace(SMALL, seed=9)}) == 2
