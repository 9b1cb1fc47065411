"""Entrants: the models they stand for, and what a seed does."""

from __future__ import annotations

import pytest

from amcc import ParameterError
from amcc.consensus import METHODS, MajorityVote
from amcc.experiments.entrants import Entrant, entrants_of, installed, known_methods, parse_variant
from amcc.experiments.peers import ORACLE, PEERS


def test_a_model_has_the_parameters_of_its_entrant():
    model = Entrant("hard", "majority", (("scores", "hard"),)).model()
    assert isinstance(model, MajorityVote)
    assert model.get_params()["scores"] == "hard"
    assert Entrant("soft", "majority").model().get_params()["scores"] != "hard"


def test_every_model_is_new():
    entrant = Entrant("DS", "dawid-skene")
    assert entrant.model() is not entrant.model()


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_goes_to_those_who_have_chance(method):
    entrant = Entrant(method, method)
    assert entrant.exists
    assert entrant.random == ("random_state" in entrant.model().get_params())
    if entrant.random:
        assert entrant.model(7).get_params()["random_state"] == 7
    assert entrant.model().get_params() == METHODS[method]().get_params()  # without a seed, as it comes


def test_entrants_are_keys():
    one = Entrant("x", "majority", (("scores", "hard"),))
    assert {one: 1}[Entrant("x", "majority", (("scores", "hard"),))] == 1
    assert one != Entrant("x", "majority")


def test_methods_of_others_do_not_exist_in_amcc():
    assert not Entrant("oracle", ORACLE).exists
    assert known_methods() == [*METHODS, *PEERS, ORACLE]


def test_methods_are_compared_once_and_in_their_order():
    names = [entrant.name for entrant in entrants_of(["majority", "amcc", "majority"], {})]
    assert names == ["majority", "amcc"]


def test_variants_come_last_with_their_parameters():
    found = entrants_of(["majority"], dict([parse_variant("strict=dawid-skene:max_iter=5")]), ())
    assert [entrant.name for entrant in found] == ["majority", "strict"]
    assert found[1].model().get_params()["max_iter"] == 5


def test_a_variant_may_leave_out_steps():
    found = entrants_of([], dict([parse_variant('less=amcc:without=["degrees", "counts"],n_groups=3')]))
    assert found[0].model().get_params()["without"] == ["degrees", "counts"]
    with pytest.raises(ParameterError, match="variant 'less': without must be a list of steps"):
        entrants_of([], {"less": ("amcc", {"without": ["degree"]})})


def test_known_items_are_for_the_default_and_not_for_its_variants():
    found = entrants_of(["amcc"], {"other": ("amcc", {"n_groups": 3})}, [5])
    assert [(entrant.name, entrant.known) for entrant in found] == [
        ("amcc", 0), ("amcc, 5 known items", 5), ("other", 0),
    ]  # fmt: skip
    assert found[1].params == ()


def test_a_slip_in_the_last_variant_is_found_before_anything_runs():
    good, bad = ("majority", {}), ("majority", {"scores": "loud"})
    with pytest.raises(ParameterError, match="variant 'second': scores must be"):
        entrants_of(["majority"], {"first": good, "second": bad})


def test_our_methods_are_always_installed(monkeypatch):
    monkeypatch.setattr("amcc.experiments.peers.crowdkit_version", lambda: None)
    assert installed(METHODS) == list(METHODS)
    assert installed(PEERS) == []
