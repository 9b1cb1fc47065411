"""amcc next says what the next money buys, what a target will cost, and when to stop."""

import json

import pytest

from amcc import write_votes
from amcc.data.simulate import CrowdSpec, simulate_crowd
from running import said

PAID = ("--budget", "2.00", "--price", "0.05", "--decimals", "2", "--batch", "3")


@pytest.fixture
def amcc_next(tmp_path, monkeypatch):
    """Runs the command on few votes: what it prints, what it notes."""
    monkeypatch.chdir(tmp_path)
    spec = CrowdSpec(n_items=10, n_workers=6, n_labels=3, answers_per_item=2, seed=1)
    write_votes(simulate_crowd(spec).votes, tmp_path / "votes.csv")
    return lambda *arguments, code=0: said("next", "votes.csv", *PAID, *arguments, code=code)


def test_the_next_money(amcc_next):
    _, noted = amcc_next()
    assert "the next 1.00 " in noted
    assert "puts right about" in noted
    assert "decisions; expected error ." in noted
    assert "settles about 0.0" not in noted


def test_the_next_money_is_no_more_than_all_that_can_be_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "few.csv").write_text("worker,item,label,value\nann,one,dog,yes\nbob,one,dog,no\nann,two,dog,yes\n")
    _, noted = said("next", "few.csv", "--budget", "9", "--price", "2")
    assert "the next 2 " in noted  # bob about two is all that is left


def test_before_the_first_vote_there_is_no_forecast(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none.csv").write_text("worker,item,label,value\n")
    first = ("none.csv", "--labels", "dog", "--items", "items.csv", "--worker", "ann", "--budget", "9")
    (tmp_path / "items.csv").write_text("item\none\n")
    assert "can be said only after the first votes" in said("next", *first, "--target-error", "0.1")[1]
    assert "first votes" not in said("next", *first)[1]


def test_a_target_has_a_forecast(amcc_next):
    printed, noted = amcc_next("--target-error", "0.01", "--json")
    told = json.loads(printed)
    assert "an expected error of .0100 " in noted
    assert told["stopped"] is None
    assert told["forecast"]["target_error"] == 0.01
    assert 0 <= told["forecast"]["chance"] <= 1
    assert told["next_money"]["expected_error_after"] < told["expected_error"]


def test_a_target_that_is_reached_leaves_an_empty_table(amcc_next):
    printed, noted = amcc_next("--target-error", "0.49")
    assert printed == "item,label,worker,price,utility,why\n"
    assert "is reached" in noted
    assert "nothing needs to be asked" in noted


def test_too_little_gain_leaves_an_empty_table(amcc_next):
    printed, noted = amcc_next("--stop-gain", "1000")
    assert printed == "item,label,worker,price,utility,why\n"
    assert "nothing needs to be asked: the next 1.00 puts right about" in noted


def test_wrong_rules_are_named_as_options(amcc_next):
    assert "--target-error must be an expected error above 0" in amcc_next("--target-error", "5", code=2)[1]
    assert "--stop-gain must be" in amcc_next("--stop-gain", "-1", code=2)[1]


def test_rules_are_not_for_experts(amcc_next):
    assert "--target-error" in said("next", "votes.csv", "--for-expert", "--target-error", "0.1", code=2)[1]
