"""--reference as a user types it: who it is, what is said about it, what is refused, and how it is measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from running import said

N_ITEMS = 60


@pytest.fixture
def panel(tmp_path) -> tuple[Path, Path, Path]:
    """Three models and a person who saw half of the items; votes, workers file, truth of all items."""
    rng = np.random.default_rng(0)
    truth = rng.random((N_ITEMS, 2)) < 0.5
    votes, names = ["worker,item,label,value"], {"m0": 0.75, "m1": 0.75, "m2": 0.75, "ann": 0.9}
    for worker, right in names.items():
        for item in range(N_ITEMS // (1 + (worker == "ann"))):
            for label in range(2):
                value = truth[item, label] ^ (rng.random() > right)
                votes.append(f"{worker},i{item},{'ab'[label]},{int(value)}")
    roster = ["worker,kind,family", "m0,model,x", "m1,model,y", "m2,model,z", "ann,human,"]
    gold = ["item,label,truth", *(f"i{i},{'ab'[j]},{int(truth[i, j])}" for i in range(N_ITEMS) for j in range(2))]
    files = {"votes": votes, "workers": roster, "truth": gold}
    for name, lines in files.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return tuple(tmp_path / f"{name}.csv" for name in files)  # type: ignore[return-value]


def test_people_are_the_reference_and_every_command_says_so(panel, tmp_path):
    votes, workers, truth = panel
    commands = (
        ["consensus", votes, "-o", tmp_path / "c.csv", "--report", tmp_path / "r.html"], ["workers", votes],
        ["next", votes, "--budget", "2"], ["audit", votes, truth],
    )  # fmt: skip
    for command in commands:
        out, err = said(*command, "--workers", workers, "--json")
        told = json.loads(out)["reference"]
        assert told.startswith("people are the reference") and "ann" in told and told in err.replace("\n", " "), command
        out, err = said(*command, "--workers", workers, "--json", "--reference", "none")
        assert json.loads(out)["reference"] is None and "the reference" not in err, command
        assert json.loads(said(*command, "--json")[0])["reference"] is None  # nobody says who the workers are
    said("consensus", votes, "--workers", workers, "-o", tmp_path / "c.csv", "--report", tmp_path / "r.html")
    assert "people are the reference" in (tmp_path / "r.html").read_text()


def test_both_shares_are_those_of_the_rows(panel, tmp_path):
    votes, workers, _ = panel
    out, err = said("consensus", votes, "--workers", workers, "-o", tmp_path / "c.csv", "--json")
    told = json.loads(out)
    rows = [line.split(",") for line in (tmp_path / "c.csv").read_text().splitlines()[1:]]
    for called, name in (("1", "settled_present"), ("0", "settled_absent")):
        settled = [row[4] == "1" for row in rows if row[3] == called]
        assert told[name] == pytest.approx(np.mean(settled))
    assert "asked pairs called present" in err and told["settled"] == sum(row[4] == "1" for row in rows)


def test_named_workers_are_the_reference(panel):
    votes, workers, _ = panel
    out, _ = said("consensus", votes, "--workers", workers, "--reference", "m0, ann", "--json")
    assert json.loads(out)["reference"].startswith("named workers are the reference (2:")


@pytest.mark.parametrize(
    ("said_who", "message"),
    [("zoe", "reference must name workers who voted"), ("ann,,bob", "--reference must be people, none, or names")],
)
def test_a_reference_that_is_nobody_is_refused(panel, said_who, message):
    votes, workers, _ = panel
    for command in (["consensus", votes], ["workers", votes], ["next", votes, "--budget", "2"]):
        assert message in said(*command, "--workers", workers, "--reference", said_who, code=2)[1]


def test_a_reference_needs_a_workers_file_and_the_default_method(panel):
    votes, _, _ = panel
    assert "--workers workers.csv" in said("consensus", votes, "--reference", "ann", code=2)[1]
    message = said("consensus", votes, "-m", "majority", "--reference", "none", code=2)[1]
    assert "--reference is for -m amcc; got -m majority" in message


def test_pairs_of_the_reference_are_not_scored_unless_the_truth_is_of_others(panel, tmp_path):
    votes, workers, truth = panel
    said("consensus", votes, "--workers", workers, "-o", tmp_path / "c.csv")
    of_reference = sum(line.endswith(",2") for line in (tmp_path / "c.csv").read_text().splitlines())
    assert of_reference == N_ITEMS
    out, err = said("evaluate", tmp_path / "c.csv", truth, "--json")
    assert json.loads(out)["pairs_scored"] == N_ITEMS and "--count-told" in err
    out, _ = said("evaluate", tmp_path / "c.csv", truth, "--json", "--count-told")
    assert json.loads(out)["pairs_scored"] == 2 * N_ITEMS and json.loads(out)["pairs_told"] == 0
    # Truth that was given is never counted: here that of the first ten items.
    (tmp_path / "known.csv").write_text("\n".join(truth.read_text().splitlines()[:21]) + "\n")
    given = ["consensus", votes, "--workers", workers, "--truth", tmp_path / "known.csv", "-o", tmp_path / "t.csv"]
    said(*given)
    out, _ = said("evaluate", tmp_path / "t.csv", truth, "--json", "--count-told")
    assert (json.loads(out)["pairs_scored"], json.loads(out)["pairs_told"]) == (2 * N_ITEMS - 20, 20)


def test_where_people_answered_everything_the_way_out_is_said(panel, tmp_path):
    votes, workers, truth = panel
    half = [
        line for line in votes.read_text().splitlines() if not line.startswith("m") or int(line.split(",")[1][1:]) < 30
    ]
    (tmp_path / "half.csv").write_text("\n".join(half) + "\n")
    (tmp_path / "gold.csv").write_text("\n".join(truth.read_text().splitlines()[:61]) + "\n")
    said("consensus", tmp_path / "half.csv", "--workers", workers, "-o", tmp_path / "c.csv")
    message = said("evaluate", tmp_path / "c.csv", tmp_path / "gold.csv", code=2)[1]
    assert "--count-told" in message and "reference" in message
    out, _ = said("evaluate", tmp_path / "c.csv", tmp_path / "gold.csv", "--count-told", "--json")
    assert json.loads(out)["pairs_scored"] == 60
