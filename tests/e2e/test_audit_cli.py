"""amcc audit as a user runs it."""

from __future__ import annotations

import csv
import json

import pytest

from amcc import read_votes, write_votes
from amcc.data.simulate import CrowdSpec, simulate_crowd
from running import amcc, said


@pytest.fixture(scope="module")
def crowd():
    return simulate_crowd(CrowdSpec(n_items=150, n_workers=10, n_labels=4, answers_per_item=4, seed=2))


@pytest.fixture(scope="module")
def folder(crowd, tmp_path_factory):
    """Votes, and 40 items drawn at random with their labels, in the ways people write them."""
    import numpy as np

    folder = tmp_path_factory.mktemp("audit")
    write_votes(crowd.votes, folder / "votes.csv")
    items, labels = crowd.votes.item_names.to_pylist(), crowd.votes.label_names.to_pylist()
    chosen = np.random.default_rng(0).choice(150, 40, replace=False).tolist()
    sets = ["|".join(labels[code] for code in np.flatnonzero(crowd.truth[item])) for item in chosen]
    lines = [f"{items[item]},{each}" for item, each in zip(chosen, sets, strict=True)]
    (folder / "people.csv").write_text("\n".join(["item,labels", *lines]) + "\n")
    pairs = [(items[item], name, int(crowd.truth[item, code])) for item in chosen for code, name in enumerate(labels)]
    (folder / "pairs.csv").write_text("item,label,truth\n" + "".join(f"{i},{n},{t}\n" for i, n, t in pairs))
    votes = "".join(f"{who},{i},{n},{t}\n" for i, n, t in pairs for who in ("eve", "dan"))
    (folder / "answers.csv").write_text("worker,item,label,value\n" + votes)
    amcc("consensus", "votes.csv", "-m", "majority", "-o", "consensus.csv", cwd=folder)
    return folder


def told(folder, *options, slice_="people.csv") -> dict:
    return json.loads(said("audit", "votes.csv", slice_, "-m", "majority", "--json", *options, cwd=folder)[0])


def test_screen(folder):
    out, err = said("audit", "votes.csv", "people.csv", "-m", "majority", cwd=folder)
    assert "people answered 40 of 150 items" in out
    for words in ("corrected", "95 % interval", "slice alone", "settled", "claimed error", "measured share", "kappa"):
        assert words in out
    assert "the consensus" in out
    assert "warning" not in err


def test_every_way_to_write_the_slice_says_the_same(folder):
    sets, pairs, votes = (told(folder, slice_=name) for name in ("people.csv", "pairs.csv", "answers.csv"))
    assert sets == pairs
    assert votes["people_disagree"]["estimate"] == 0
    assert {**votes, "people_disagree": None} == sets


def test_json(folder):
    found = told(folder)
    assert (found["items"], found["items_in_slice"], found["pairs_in_slice"]) == (150, 40, 160)
    assert len(found["prevalence"]) == 4
    assert all(row["low"] <= row["share"] <= row["high"] for row in found["prevalence"])
    assert {row["pairs"] for row in found["errors"]} == {"all", "settled", "open", "present", "absent"}
    assert found["judges"][0]["label"] is None
    wide = told(folder, "--level", "0.99")["prevalence"][0]
    assert wide["low"] < found["prevalence"][0]["low"]


def test_files(folder, tmp_path):
    outputs = {name: tmp_path / f"{name}.csv" for name in ("output", "judges", "disagreements")}
    options = [word for name, path in outputs.items() for word in (f"--{name}", path)]
    found = told(folder, *options)
    written = {name: list(csv.DictReader(path.read_text().splitlines())) for name, path in outputs.items()}
    assert [row["label"] for row in written["output"]] == [row["label"] for row in found["prevalence"]]
    assert len(written["judges"]) == len(found["judges"])
    assert len(written["disagreements"]) == found["disagreements"] > 0
    first = written["disagreements"][0]
    assert {*first["said_yes"].split("|"), *first["said_no"].split("|")} - {""} <= {f"w{n:02}" for n in range(1, 11)}


def test_a_written_consensus_is_measured_as_it_is(folder):
    plain = ("audit", "votes.csv", "people.csv", "--json")
    written = json.loads(said(*plain, "--consensus", "consensus.csv", cwd=folder)[0])
    assert written["errors"] == told(folder)["errors"]
    _, err = said(*plain, "--consensus", "consensus.csv", "--cross-fit", code=2, cwd=folder)
    assert "--consensus is measured as it is" in err


def test_what_the_consensus_was_told_is_not_measured_and_cross_fitting_is_the_way_out(folder, tmp_path):
    amcc("consensus", "votes.csv", "--truth", "people.csv", "-m", "majority", "-o", tmp_path / "told.csv", cwd=folder)
    _, err = said("audit", "votes.csv", "people.csv", "--consensus", tmp_path / "told.csv", code=2, cwd=folder)
    assert "told all 160 of them" in err
    assert "--cross-fit" in err
    out, err = said("audit", "votes.csv", "people.csv", "-m", "majority", "--json", "--cross-fit", cwd=folder)
    assert json.loads(out)["items_in_slice"] == 40
    assert "each fifth of it is measured by a fit that knows the other four only" in err
    lines = (folder / "people.csv").read_text().splitlines()
    (tmp_path / "half.csv").write_text("\n".join(lines[:21]) + "\n")
    amcc(
        "consensus",
        "votes.csv",
        "--truth",
        tmp_path / "half.csv",
        "-m",
        "majority",
        "-o",
        tmp_path / "half_told.csv",
        cwd=folder,
    )
    plain = "audit", "votes.csv", "people.csv", "--json", "--consensus"
    out, err = said(*plain, tmp_path / "half_told.csv", cwd=folder)
    found = json.loads(out)
    assert (found["items"], found["items_in_slice"], found["pairs_in_slice"], found["pairs_told"]) == (130, 20, 80, 80)
    assert "80 pairs are left out: the consensus was told their truth" in err


def test_a_consensus_is_not_measured_by_itself(folder, tmp_path):
    (tmp_path / "copy.csv").write_bytes((folder / "consensus.csv").read_bytes())
    _, err = said("audit", "votes.csv", tmp_path / "copy.csv", "--consensus", "consensus.csv", code=2, cwd=folder)
    assert "the same table as the consensus" in err


def test_pairs_that_nobody_was_asked_about(folder, tmp_path):
    votes = read_votes(folder / "votes.csv")
    write_votes(votes.select(votes.label != 0), tmp_path / "votes.csv")
    (tmp_path / "labels.txt").write_text("\n".join(votes.label_names.to_pylist()) + "\n")
    command = (
        "audit",
        tmp_path / "votes.csv",
        "pairs.csv",
        "--labels",
        tmp_path / "labels.txt",
        "-m",
        "majority",
        "--json",
    )
    out, err = said(*command, cwd=folder)
    assert "40 of 160 answered pairs are not in the consensus" in err
    assert json.loads(out)["pairs_in_slice"] == 120
    assert json.loads(said(*command, "--all-labels", cwd=folder)[0])["pairs_in_slice"] == 160


def test_report(folder, tmp_path, crowd):
    pytest.importorskip("altair")
    page = tmp_path / "audit.html"
    said("audit", "votes.csv", "people.csv", "-m", "majority", "--report", page, cwd=folder)
    text = page.read_text()
    measured = next(row for row in told(folder)["errors"] if row["pairs"] == "settled")["measured"]
    assert f"{100 * measured:.1f}\u00a0% (" in text
    for title in ("How frequent labels are", "Calibration", "Who agrees with people", "Where people decide otherwise"):
        assert f"<h2>{title}</h2>" in text
    assert "http-equiv" in text


def test_names_in_the_report_are_text(folder, tmp_path):
    pytest.importorskip("altair")
    for name in ("votes.csv", "people.csv"):
        text = (folder / name).read_text().replace("label_1", "<script>alert(1)</script>").replace("w01", "<b>w</b>")
        (tmp_path / name).write_text(text)
    said("audit", "votes.csv", "people.csv", "-m", "majority", "--report", "page.html", cwd=tmp_path)
    text = (tmp_path / "page.html").read_text()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert "<b>w</b>" not in text


def test_what_does_not_fit(folder, tmp_path):
    _, err = said("audit", "votes.csv", "answers.csv", "--known-items", "people.csv", code=2, cwd=folder)
    assert "this one is a table of votes" in err
    _, err = said("audit", "votes.csv", "people.csv", "--level", "95", code=2, cwd=folder)
    assert "level must be" in err
    (tmp_path / "other.csv").write_text("item,labels\nx,label_1\n")
    _, err = said("audit", "votes.csv", tmp_path / "other.csv", "-m", "majority", code=2, cwd=folder)
    assert "none of its 1 items is there" in err
    (tmp_path / "new.csv").write_text("worker,item,label,value\neve,i001,label_9,1\n")
    _, err = said("audit", "votes.csv", tmp_path / "new.csv", "-m", "majority", code=2, cwd=folder)
    assert "label_9" in err


def test_a_slice_that_is_not_random_is_noted(folder, crowd, tmp_path):
    items = crowd.votes.item_names.to_pylist()[:40]
    (tmp_path / "first.csv").write_text("item,labels\n" + "".join(f"{item},label_1\n" for item in items))
    _, err = said("audit", "votes.csv", tmp_path / "first.csv", "-m", "majority", cwd=folder)
    assert "warning: the slice is not like the rest" in err
    assert "place in the file" in err


def test_a_workers_file_changes_what_is_measured(folder, crowd, tmp_path):
    """And a method that cannot use it says so, as does a consensus that is there already."""
    names = crowd.votes.worker_names.to_pylist()
    rows = [f"{name},model,one" if number < 5 else f"{name},human," for number, name in enumerate(names)]
    (tmp_path / "workers.csv").write_text("\n".join(["worker,kind,family", *rows]) + "\n")
    option = "--workers", tmp_path / "workers.csv", "--count-told"  # the slice does not come from these workers
    plain, listed = (
        json.loads(said("audit", "votes.csv", "people.csv", "--json", *more, cwd=folder)[0]) for more in ((), option)
    )
    assert plain["errors"] != listed["errors"]
    assert plain["prevalence"][0]["slice"] == listed["prevalence"][0]["slice"]
    of_models = said("audit", "votes.csv", "people.csv", "--json", *option[:2], cwd=folder)
    assert json.loads(of_models[0])["pairs_told"] > 0 and "--count-told" in of_models[1]
    for more in (("-m", "majority"), ("--consensus", "consensus.csv")):
        refused = said("audit", "votes.csv", "people.csv", *option, *more, cwd=folder, code=2)[1]
        assert "leave" in refused.lower()
