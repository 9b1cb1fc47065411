"""Data sets are found, read in the common layout, and compared with the registry."""

from __future__ import annotations

import dataclasses
import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from amcc.data import registry
from amcc.data.reading import check_set, counts_of, data_folder, is_present, read_feature_set, read_set
from amcc.data.registry import DATASETS
from amcc.errors import FileFormatError, InputError, ParameterError

VOTES = """worker,item,label,value
ann,1,cat,1
ann,1,dog,-1
ann,2,cat,-1
ann,2,dog,1
bob,1,cat,1
bob,1,dog,1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one set under the name affective: two workers, two items, two labels."""
    place = tmp_path / "affective"
    place.mkdir()
    with gzip.open(place / "annotations.csv.gz", "wt") as file:
        file.write(VOTES)
    (place / "truth.csv").write_text("item,label\n1,cat\n2,dog\n")
    return tmp_path


# -- where it looks -------------------------------------------------------------------------------------------------


def test_the_option_comes_before_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("AMCC_DATA", raising=False)
    assert data_folder(None) is None
    monkeypatch.setenv("AMCC_DATA", "")
    assert data_folder(None) is None
    monkeypatch.setenv("AMCC_DATA", str(tmp_path))
    assert data_folder(None) == tmp_path
    (tmp_path / "other").mkdir()
    assert data_folder(tmp_path / "other") == tmp_path / "other"
    with pytest.raises(InputError, match="missing must be a folder"):
        data_folder(tmp_path / "missing")
    monkeypatch.setenv("AMCC_DATA", str(tmp_path / "missing"))
    with pytest.raises(InputError, match=r"\(AMCC_DATA\) must be a folder"):
        data_folder(None)


def test_unknown_and_missing_sets(folder):
    assert is_present("affective", folder)
    assert not is_present("love_ekman", folder)
    assert not is_present("mulan_scene", folder)
    with pytest.raises(ParameterError, match=r"affective.*got 'affected'"):
        read_set("affected", folder)
    with pytest.raises(FileFormatError, match="amcc data where love_ekman"):
        read_set("love_ekman", folder)
    with pytest.raises(FileFormatError, match="amcc data where mulan_scene"):
        read_feature_set("mulan_scene", folder)
    with pytest.raises(ParameterError, match="read_feature_set"):
        read_set("mulan_scene", folder)
    with pytest.raises(ParameterError, match="read_set"):
        read_feature_set("affective", folder)


# -- the common layout ----------------------------------------------------------------------------------------------


def test_truth_of_everything(folder):
    crowd = read_set("affective", folder)
    assert len(crowd.votes) == 6
    assert_array_equal(crowd.truth, [[True, False], [False, True]])
    assert crowd.known.all()
    assert crowd.features is None


def test_truth_of_some_items_or_pairs(folder):
    (folder / "affective" / "truth_items.csv").write_text("item\n2\n")
    assert_array_equal(read_set("affective", folder).known, [[False, False], [True, True]])
    (folder / "affective" / "truth_known.csv").write_text("item,label\n2,cat\n")
    assert_array_equal(read_set("affective", folder).known, [[False, False], [True, False]])


def test_no_truth(folder):
    (folder / "affective" / "truth.csv").unlink()
    crowd = read_set("affective", folder)
    assert not crowd.known.any()
    assert not crowd.truth.any()


def write_features(path: Path, items: list[str]) -> None:
    n_items = len(items)
    features = np.arange(2.0 * n_items).reshape(n_items, 2)
    labels = np.ones((n_items, 1), dtype=np.int8)
    np.savez(path, X=features, Y=labels, items=np.array(items), label_names=np.array(["cat"]))


def test_features_beside_votes_are_those_of_the_items(folder):
    write_features(folder / "affective" / "features.npz", ["2", "7", "1"])
    assert_array_equal(read_set("affective", folder).features, [[4, 5], [0, 1]])
    write_features(folder / "affective" / "features.npz", ["2", "7"])
    with pytest.raises(InputError, match="item '1' is not in it"):
        read_set("affective", folder)


def test_feature_sets(tmp_path):
    (tmp_path / "mulan_scene").mkdir()
    write_features(tmp_path / "mulan_scene" / "features.npz", ["a", "b"])
    described = read_feature_set("mulan_scene", tmp_path)
    assert described.item_names == ("a", "b")
    assert described.truth.dtype == bool
    assert described.features.dtype == np.float64
    np.savez(tmp_path / "mulan_scene" / "features.npz", X=np.ones((1, 1)))
    with pytest.raises(FileFormatError, match="X, Y, items and label_names"):
        read_feature_set("mulan_scene", tmp_path)
    for content in ("no archive", "PK\x03\x04 cut short"):
        (tmp_path / "mulan_scene" / "features.npz").write_text(content)
        with pytest.raises(FileFormatError, match="numpy archive"):
            read_feature_set("mulan_scene", tmp_path)


# -- checking -------------------------------------------------------------------------------------------------------


def test_differences_are_named(folder, monkeypatch):
    found = counts_of("affective", folder)
    assert found == {
        "workers": 2, "items": 2, "labels": 2, "answers": 3, "votes": 6, "items with truth": 2, "true labels": 2,
    }  # fmt: skip
    as_found = dataclasses.replace(DATASETS["affective"], counts=found)
    monkeypatch.setitem(registry.DATASETS, "affective", as_found)
    assert check_set("affective", folder) == []
    monkeypatch.setitem(registry.DATASETS, "affective", dataclasses.replace(as_found, counts={**found, "votes": 6000}))
    (difference,) = check_set("affective", folder)
    assert difference.startswith("affective should have 6,000 votes;")
    assert difference.endswith("affective has 6.")


def test_what_cannot_be_read_differs(folder):
    (folder / "affective" / "truth.csv").write_text("thing\n1\n")
    (difference,) = check_set("affective", folder)
    assert "truth.csv" in difference
    (difference,) = check_set("movie", folder)
    assert "amcc data where movie" in difference
