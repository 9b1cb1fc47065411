"""Features of items on the command line: who uses them gets them, from every file; who does not says so."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array, save_npz

from amcc import load_model, pack_votes, write_votes
from amcc.data.simulate import CrowdSpec, simulate_crowd
from running import said


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Votes, and the truth as features in three files."""
    monkeypatch.chdir(tmp_path)
    crowd = simulate_crowd(CrowdSpec(n_items=12, n_workers=5, n_labels=3, answers_per_item=3, seed=3))
    write_votes(crowd.votes, "votes.csv")
    items, numbers = np.array(crowd.votes.item_names.to_pylist())[::-1], crowd.truth[::-1].astype(float)
    np.savez("f.npz", X=numbers, items=items)
    np.save("f.npy", numbers)
    Path("items.txt").write_text("\n".join(items))
    rows = [",".join(map(str, (item, *row))) for item, row in zip(items, numbers, strict=True)]
    Path("f.csv").write_text("\n".join(["item,x,y,z", *rows]))
    return tmp_path


@pytest.fixture
def amcc():
    """Runs a command: what it prints, what it notes."""
    return said


@pytest.mark.parametrize("command", ["consensus", "workers"])
def test_every_file_of_features_is_used(folder, amcc, command):
    plain, _ = amcc(command, "votes.csv", "-m", "nam")
    table, _ = amcc(command, "votes.csv", "-m", "nam", "--features", "f.csv")
    assert table != plain
    assert amcc(command, "votes.csv", "-m", "nam", "--features", "f.npz")[0] == table
    assert amcc(command, "votes.csv", "-m", "nam", "--features", "f.npy", "--features-items", "items.txt")[0] == table


@pytest.mark.parametrize("votes", ["votes.csv", "packed"])
@pytest.mark.parametrize(
    ("command", "method", "refused"),
    [
        ("consensus", "majority", "MajorityVote does not use features of items. .* AMCC .-m amcc., .* NAM .-m nam."),
        ("workers", "amcc", "AMCC does not use features of items to judge workers. .* NAM .-m nam."),
    ],
)
def test_features_that_would_be_ignored_are_refused(folder, amcc, command, votes, method, refused):
    pack_votes("votes.csv", "packed")
    out, err = amcc(command, votes, "-m", method, "--features", "f.npz", code=2)
    assert out == ""
    assert re.search(refused, " ".join(err.split()))
    assert "does not say whose" in amcc(command, votes, "-m", "nam", "--features", "f.npy", code=2)[1]
    assert "give both" in amcc(command, votes, "-m", "nam", "--features-items", "items.txt", code=2)[1]


# -- as a prior of the default ---------------------------------------------------------------------------------------

WORDS = ("calm", "angry", "happy")


@pytest.fixture
def described(tmp_path, monkeypatch) -> Path:
    """Votes on 100 of 130 items, features that are the truth, and texts that name it."""
    monkeypatch.chdir(tmp_path)
    crowd = simulate_crowd(CrowdSpec(n_items=130, n_workers=12, n_labels=3, answers_per_item=3, seed=5))
    votes = crowd.votes
    write_votes(votes.select(votes.item < 100), "votes.csv")
    items = np.array(votes.item_names.to_pylist())
    Path("items.txt").write_text("\n".join(items))
    np.savez("f.npz", X=crowd.truth.astype(float), items=items)
    save_npz("sparse.npz", csr_array(crowd.truth.astype(float)))
    texts = (" ".join([f"item{row % 7}", *np.array(WORDS)[present]]) for row, present in enumerate(crowd.truth))
    rows = [f"{item},x,{text}" for item, text in zip(items, texts, strict=True)]
    Path("texts.csv").write_text("\n".join(["item,other,text", *rows]))
    np.save("truth.npy", crowd.truth)
    return tmp_path


def summary(amcc, *options: object) -> dict:
    return json.loads(amcc("consensus", "votes.csv", "--items", "items.txt", "--json", *options)[0])


@pytest.mark.parametrize(
    "options",
    [
        ("--features", "f.npz"),
        ("--features", "sparse.npz", "--features-items", "items.txt"),
        ("--text", "texts.csv"),
        ("--text", "texts.csv", "--text-column", "text", "--text-units", "characters"),
    ],
)
def test_similar_items_tell_about_those_that_nobody_answered(described, amcc, options):
    assert summary(amcc)["features"] is None
    found = summary(amcc, *options)["features"]
    assert found["weight"] > 0.5
    assert found["gain_per_item"] > 3 * found["standard_error"] > 0
    rows, err = amcc("consensus", "votes.csv", "--items", "items.txt", "--all-labels", *options, "--save", "model")
    assert "Item features are used with weight" in err
    assert "30 items have no answer: all that is known there are their features" in err
    table = list(csv.DictReader(io.StringIO(rows)))
    proba = np.array([float(row["probability"]) for row in table]).reshape(130, 3)
    assert [row["item"] for row in table][::3] == Path("items.txt").read_text().split("\n")
    assert ((proba > 0.5) == np.load("truth.npy"))[100:].mean() > 0.85
    assert_array_equal(load_model("model").predict_proba().ravel().round(6), proba.ravel().round(6))


def test_packed_votes_are_read_for_features(described, amcc):
    pack_votes("votes.csv", "packed")
    packed, plain = (amcc("consensus", votes, "--text", "texts.csv")[0] for votes in ("packed", "votes.csv"))
    assert packed == plain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--text", "texts.csv", "--features", "f.npz"), "give one of them"),
        (("--text-column", "text"), "name it"),
        (("--text", "texts.csv", "--text-column", "body"), "a column 'body'; there is 'other', 'text'"),
        (("--text", "short.csv"), "short.csv: texts must describe every item of the votes; 99 are missing"),
        (("--text", "twice.csv"), "stands there again"),
        (("--text", "unnamed.csv"), "a column 'text', or one beside the item; there is 'a', 'b'"),
        (("--text", "alone.csv"), "there is none"),
        (("--text", "missing.csv"), "missing.csv"),
        (("--text", "numbers.csv"), "have words in common"),
        (("--features", "sparse.npz"), "does not say whose its rows are"),
        (("--features", "broken.npz", "--features-items", "items.txt"), "scipy.sparse.save_npz"),
    ],
)  # fmt: skip
def test_descriptions_that_cannot_be_used(described, amcc, options, message):
    item = Path("items.txt").read_text().split("\n")
    Path("short.csv").write_text(f"item,text\n{item[0]},calm\n")
    Path("twice.csv").write_text(f"item,text\n{item[0]},calm\n{item[0]},calm\n")
    Path("unnamed.csv").write_text(f"item,a,b\n{item[0]},calm,calm\n")
    Path("alone.csv").write_text(f"item\n{item[0]}\n")
    Path("numbers.csv").write_text("\n".join(["item,text", *(f"{name},-" for name in item)]))
    with np.load("sparse.npz") as held:
        np.savez("broken.npz", **{**held, "indices": held["indices"] + 99})
    out, err = amcc("consensus", "votes.csv", *options, "-o", "out.csv", code=2)
    assert message in " ".join(err.split())
    assert (out, Path("out.csv").exists()) == ("", False)


def test_report_says_what_became_of_features(described, amcc):
    pytest.importorskip("altair")
    amcc("consensus", "votes.csv", "--items", "items.txt", "--features", "f.npz", "--report", "r.html", "-o", "o.csv")
    page = Path("r.html").read_text()
    assert "What item features changed" in page
    assert "Item features are used with weight" in page
    assert "All that is known there is what their features say" in page
