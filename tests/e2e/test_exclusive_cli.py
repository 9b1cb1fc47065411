"""--exclusive as a user types it: what is said, what is written, what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from running import said

CHOICES = ["aaab", "bbbb", "cccb", "abbb", "aaaa", "ccac", "bbcb", "cccc", "aaca", "bbba"]


def write_choices(path: Path, n_items: int, rows: tuple[str, ...] = ()) -> Path:
    """Answers of four workers, each with one label of three."""
    lines = ["worker,item,label,value", *rows]
    for item in range(n_items):
        for worker, choice in enumerate(CHOICES[item % len(CHOICES)]):
            lines += [f"w{worker},i{item},{label},{int(label == choice)}" for label in "abc"]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def few(tmp_path) -> Path:
    return write_choices(tmp_path / "few.csv", 30)


@pytest.fixture
def many(tmp_path) -> Path:
    return write_choices(tmp_path / "many.csv", 80)


def labels_of(path: Path) -> list[str]:
    with path.open() as file:
        return [row["labels"] for row in csv.DictReader(file)]


def test_a_switch_is_announced_and_can_be_refused(many, tmp_path):
    sets = tmp_path / "sets.csv"
    out, err = said("consensus", many, "--sets", "-o", sets, "--json")
    assert "Learned: each item has exactly one of 3 labels (a, b, c), since each of the 320 answers" in err
    told = json.loads(out)["exclusive"]
    assert (told["basis"], told["answers"], told["groups"]) == ("learned", 320, {"all": ["a", "b", "c"]})
    assert set(labels_of(sets)) == {"a", "b", "c"}
    out, err = said("consensus", many, "--sets", "-o", sets, "--json", "--exclusive", "none")
    assert "exactly one" not in err and json.loads(out)["exclusive"]["basis"] == "none"


def test_what_it_looks_like_comes_with_the_option_to_type(few, tmp_path):
    sets = tmp_path / "sets.csv"
    for command in (["consensus", few, "-o", sets], ["workers", few, "-o", sets], ["next", few, "--budget", "2"]):
        _, err = said(*command)
        assert "each of the 120 answers has exactly one" in err and "--exclusive all" in err
    out, err = said("consensus", few, "--sets", "-o", sets, "--json", "--exclusive", "all")
    assert "Declared: each item has exactly one of 3 labels (a, b, c)" in err and "looks as if" not in err
    assert json.loads(out)["exclusive"]["basis"] == "declared"
    assert set(labels_of(sets)) == {"a", "b", "c"}


@pytest.mark.parametrize("command", ["consensus", "workers", "next"])
def test_groups_can_be_declared_wherever_a_model_is_fitted(few, command):
    more = ["--budget", "2"] if command == "next" else []
    out, err = said(command, few, "--exclusive", "a, c", "--json", *more)
    assert json.loads(out)["exclusive"]["groups"] == {"group 1": ["a", "c"]}
    assert "exactly one of 2 labels (a, c)" in err and "of them have none" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--exclusive", "a,q"], "'q', which these votes do not have (command line: --exclusive); they have a, b, c"),
        (["--exclusive", "a"], "two or more of each group; got 'a'"),
        (["--exclusive", "a,b", "--exclusive", "b,c"], "'b' is in group 1 and in group 2"),
        (["--exclusive", "all", "--exclusive", "b,c"], "got 'all' beside others"),
        (["--exclusive", "all", "-m", "majority"], "--exclusive is for -m amcc; got -m majority"),
        (["--exclusive", "all", "--decode", "top_k", "--top-k", "1"], "leave --decode out, or say --exclusive none"),
    ],
)
def test_what_cannot_be_is_refused(few, options, message):
    _, err = said("consensus", few, *options, code=2)
    assert message in err


def test_an_answer_with_two_labels_is_named(tmp_path):
    votes = write_choices(tmp_path / "votes.csv", 30, ("ann,i3,a,1", "ann,i3,b,1", "ann,i3,c,0"))
    _, err = said("consensus", votes, "--exclusive", "all", code=2)
    assert "worker 'ann' said yes to 'a' and 'b' of item 'i3'" in err and "leave the group out" in err
    _, err = said("consensus", votes)
    assert "exactly one" not in err
