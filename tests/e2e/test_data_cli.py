"""amcc data and amcc methods as a user runs them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import running
from amcc.cli.data import COMMANDS
from amcc.consensus import METHODS
from amcc.data.registry import DATASETS


def amcc(*arguments: object, code: int = 0, data: Path | None = None) -> running.Run:
    """Run a command; AMCC_DATA is `data` or not set."""
    return running.amcc(*arguments, code=code, AMCC_DATA=None if data is None else str(data))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Scene with the right number of items and labels but too few features, and a tiny set of votes."""
    n_items, n_true = 2407, 2585
    labels = np.zeros((n_items, 6), dtype=np.int8)
    labels.flat[:n_true] = 1
    (tmp_path / "mulan_scene").mkdir()
    np.savez(
        tmp_path / "mulan_scene" / "features.npz",
        X=np.zeros((n_items, 3)), Y=labels, items=np.arange(n_items).astype(str), label_names=np.array(list("abcdef")),
    )  # fmt: skip
    (tmp_path / "love_ekman").mkdir()
    with gzip.open(tmp_path / "love_ekman" / "annotations.csv.gz", "wt") as file:
        file.write("worker,item,label,value\nann,1,Joy,1\n")
    return tmp_path


def test_list_without_a_folder():
    run = amcc("data", "list")
    for name in DATASETS:
        assert name in run.stdout
    assert "AMCC_DATA" in run.stdout
    found = json.loads(amcc("data", "list", "--json").stdout)
    assert found["folder"] is None
    assert found["sets"]["movie"]["present"] is None
    assert found["sets"]["affective"]["counts"]["votes"] == 6000


def test_list_says_what_is_here(folder):
    for arguments, data in ((("--data", folder), None), ((), folder)):
        found = json.loads(amcc("data", "list", "--json", *arguments, data=data).stdout)["sets"]
        assert {name for name, entry in found.items() if entry["present"]} == {"mulan_scene", "love_ekman"}
    rows = {line.split()[0]: line.split()[-1] for line in amcc("data", "list", data=folder).stdout.splitlines()}
    assert rows["mulan_scene"] == "yes"
    assert rows["movie"] == "no"


def test_check_names_differences(folder):
    run = amcc("data", "check", "mulan_scene", "--data", folder, code=2)
    assert "mulan_scene: 1 difference\n" in run.stdout
    assert "should have 294 features" in run.stdout
    everything = amcc("data", "check", "--data", folder, code=2).stdout
    assert "love_ekman should have 54 workers" in everything
    found = json.loads(amcc("data", "check", "movie", "love_ekman", "--json", data=folder, code=2).stdout)
    assert "amcc data where movie" in found["differences"]["movie"][0]
    assert len(found["differences"]["love_ekman"]) == len(DATASETS["love_ekman"].counts)


def test_check_of_what_is_as_described(folder):
    n_items, n_true = 2407, 2585
    labels = np.zeros((n_items, 6), dtype=np.int8)
    labels.flat[:n_true] = 1
    names = {"items": np.arange(n_items).astype(str), "label_names": np.array(list("abcdef"))}
    np.savez(folder / "mulan_scene" / "features.npz", X=np.zeros((n_items, 294)), Y=labels, **names)
    run = amcc("data", "check", "mulan_scene", "--data", folder)
    assert "mulan_scene: as described (2,407 items, 6 labels, 294 features, 2,585 true labels)" in run.stdout
    assert json.loads(amcc("data", "check", "mulan_scene", "--json", data=folder).stdout)["differences"] == {
        "mulan_scene": []
    }


def test_check_needs_a_folder_with_something_in_it(tmp_path):
    assert "--data FOLDER or set AMCC_DATA" in amcc("data", "check", code=2).stderr
    assert "there is none" in amcc("data", "check", "--data", tmp_path, code=2).stderr
    assert "must be a folder" in amcc("data", "check", "--data", tmp_path / "no", code=2).stderr
    assert "got 'afective'" in amcc("data", "check", "afective", "--data", tmp_path, code=2).stderr


def test_where():
    run = amcc("data", "where", "mulan_yeast")
    for text in ("tsoumakas/mulan", "none stated", "yeast.arff and yeast.xml", "features.npz", "downloads nothing"):
        assert text in run.stdout
    assert "not found in public" in amcc("data", "where", "movie").stdout
    found = json.loads(amcc("data", "where", "affective", "--json").stdout)
    assert found["licence"].startswith("repository BSD-3-Clause")
    assert found["truth"] == "independent"
    assert "got 'yeast'" in amcc("data", "where", "yeast", code=2).stderr


def test_real_data_are_as_described(shared_data):
    run = amcc("data", "check", "--data", shared_data)
    assert run.stdout.count(": as described") == len(DATASETS) - 1  # the Movie set was not found


def test_every_command_has_help_with_an_example():
    for name in COMMANDS:
        assert f"Example: amcc data {name}" in amcc("data", name, "--help").stdout


def test_methods():
    found = json.loads(amcc("methods", "--json").stdout)
    assert set(found["methods"]) == set(METHODS)
    assert found["default"] == "amcc"
    assert found["uses_features"] == ["amcc", "amcc-frobenius", "amcc-printed", "nam"]
    assert found["methods"]["majority"] == (
        "A label is present when more workers say yes than no (an even split is a no)."
    )
    assert found["methods"]["amcc-frobenius"] == (
        "The paper's own objective eq5, with the repairs of docs/deviations.md."
    )
    assert found["methods"]["amcc-printed"] == "amcc-frobenius with printed=True, max_iter=100"
    lines = amcc("methods").stdout
    assert "amcc (default)" in lines
    assert "With features of the items (--features): amcc, amcc-frobenius, amcc-printed, nam." in lines
    for name, description in found["methods"].items():
        assert description, name
        assert description in lines


def test_the_list_is_readable_at_80_columns():
    lines = running.amcc("data", "list", COLUMNS="80").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert {line.split()[0] for line in lines} >= set(DATASETS)
    assert len(lines) <= 5 * len(DATASETS)
