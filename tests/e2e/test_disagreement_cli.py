"""amcc consensus --disagreement and --soft as a user runs them."""

from __future__ import annotations

import csv
import json

import pytest

from amcc import write_votes
from amcc.consensus.disagreement import KINDS
from running import amcc, said


@pytest.fixture(scope="module")
def folder(tmp_path_factory, crowd):
    folder = tmp_path_factory.mktemp("disagreement")
    write_votes(crowd.votes, folder / "votes.csv")
    amcc("pack", "votes.csv", "-o", "packed", cwd=folder)
    return folder


def rows(text):
    return list(csv.DictReader(text.splitlines()))


@pytest.mark.parametrize("source", ["votes.csv", "packed"])
def test_columns_and_counts(folder, source, crowd):
    options = ("-m", "dawid-skene", "--disagreement", "--soft")
    table = rows(said("consensus", source, *options, cwd=folder)[0])
    usual = ["item", "label", "probability", "present", "settled"]
    assert list(table[0]) == [*usual, "disagreement", "soft", "soft_low", "soft_high"]
    kinds = [row["disagreement"] for row in table]
    assert set(kinds) <= set(KINDS)
    assert all(float(row["soft_low"]) <= float(row["soft"]) <= float(row["soft_high"]) for row in table)
    found = json.loads(said("consensus", source, *options, "--json", cwd=folder)[0])
    assert found["disagreement"] == {kind: kinds.count(kind) for kind in KINDS}
    written = json.loads(said("consensus", source, *options, "--json", "-o", "out.csv", cwd=folder)[0])
    assert written["disagreement"] == found["disagreement"]
    assert rows((folder / "out.csv").read_text()) == table


def test_default_columns_and_json_stay_as_they_were(folder):
    table = rows(said("consensus", "votes.csv", "-m", "majority", cwd=folder)[0])
    assert list(table[0]) == ["item", "label", "probability", "present", "settled"]
    assert "disagreement" not in json.loads(said("consensus", "votes.csv", "-m", "majority", "--json", cwd=folder)[0])


def test_all_labels_count_asked_pairs_only(folder):
    """Label x is nearly always there, so that it is expected for the second item, of which nobody asked."""
    votes = [f"w{worker},{item},x,1" for worker in range(3) for item in "acde"] + ["w0,b,y,-1", "w1,b,y,-1"]
    (folder / "some.csv").write_text("worker,item,label,value\n" + "\n".join(votes) + "\n")
    options = ("-m", "majority", "--disagreement", "--all-labels", "--json", "-o", "all.csv")
    found = json.loads(said("consensus", "some.csv", *options, cwd=folder)[0])
    assert sum(found["disagreement"].values()) == found["pairs"] == 5
    assert found["present"] == 4
    written = rows((folder / "all.csv").read_text())
    assert sum(int(row["present"]) for row in written) == 5
    assert [row["disagreement"] for row in written].count("not asked") == 5


@pytest.mark.parametrize("source", ["votes.csv", "packed"])
@pytest.mark.parametrize("option", ["--disagreement", "--soft"])
def test_sets_have_no_such_columns(folder, source, option):
    assert "leave them out, or --sets" in said("consensus", source, "--sets", option, code=2, cwd=folder)[1]


def test_what_soft_writes_can_be_evaluated(folder):
    said("consensus", "votes.csv", "-m", "majority", "--soft", "-o", "soft.csv", cwd=folder)
    result = json.loads(said("evaluate", "soft.csv", "--soft-truth", "votes.csv", "--json", cwd=folder)[0])["soft"]
    assert result["column"] == "soft"
    assert 0 < result["manhattan"] < 0.2
