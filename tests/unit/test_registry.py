"""The registry of data sets: what it says, and how sets are read in their layouts."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc.data import registry
from amcc.data.mulan import read_arff, read_label_names
from amcc.data.reading import (
    check_set,
    counts_of,
    data_folder,
    is_present,
    read_feature_set,
    read_set,
)
from amcc.data.registry import DATASETS, family_of
from amcc.data.sonyc import read_sonyc
from amcc.errors import ColumnError, EmptyInputError, FileFormatError, InputError, ParameterError, VoteValueError
from amcc.experiments.cells import THINNED

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


# -- what it says ---------------------------------------------------------------------------------------------------


def test_entries_are_complete():
    for name, data_set in DATASETS.items():
        assert data_set.name == name
        for field in ("title", "source", "licence", "votes_from"):
            assert getattr(data_set, field), (name, field)
        assert bool(data_set.files) == (name != "movie")
        assert (data_set.layout == "features") == (data_set.truth == "labels")


def test_sets_of_the_paper():
    assert sum(data_set.in_paper for data_set in DATASETS.values()) == 10  # seven real ones, three simulated
    assert "not found" in DATASETS["movie"].source


def test_the_board_thins_where_truth_comes_from_the_votes():
    assert set(THINNED) <= set(DATASETS)
    for name, data_set in DATASETS.items():
        if data_set.truth == "own":
            assert name in THINNED and None not in THINNED[name], name


def test_families_have_one_source_each():
    """Twelve of them have votes and truth; sets of one maker about other things stand alone."""
    with_truth = {name for name, data_set in DATASETS.items() if data_set.truth in ("independent", "own")}
    assert len({family_of(name) for name in with_truth}) == 12
    assert {name for name in with_truth if family_of(name) == "stories"} == {
        "apple_ekman", "apple_nakamura", "apple_nakamura_run10", "love_ekman", "love_nakamura",
    }  # fmt: skip
    assert family_of("crowdtruth_tweets") == "crowdtruth_tweets"
    assert family_of("a set of my own") == "a set of my own"


def test_every_set_of_the_real_folder_is_known_and_as_described(shared_data):
    found = {path.parent.name for path in shared_data.glob("*/META.json")}
    assert found == set(DATASETS) - {"movie"}
    for name in sorted(found):
        assert check_set(name, shared_data) == []
        described, counts = json.loads((shared_data / name / "META.json").read_text()), DATASETS[name].counts
        if "numbers" not in described:  # the sets of language models count votes and items only
            assert (counts["votes"], counts["items"]) == (described["votes"], described["items"]), name
            continue
        for ours, theirs in {"votes": "annotation_rows", "answers": "answers_worker_item_pairs"}.items():
            assert counts.get(ours) == described["numbers"].get(theirs), name


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


# -- SONYC-UST as published -----------------------------------------------------------------------------------------

SONYC = """\
split,sensor_id,audio_filename,annotator_id,1-1_small_presence,1-2_big_presence,1-X_any_presence,1_engine_presence,near
train,0,a.wav,7,1,0,0,1,near
train,0,a.wav,12,0,-1,0,0,-1
validate,0,b.wav,12,1,1,0,1,far
validate,0,b.wav,-2,0,0,0,0,-1
validate,0,b.wav,0,0,1,1,1,-1
"""


@pytest.fixture
def sonyc(tmp_path: Path) -> Path:
    (tmp_path / "sonyc_ust").mkdir()
    (tmp_path / "sonyc_ust" / "annotations.csv").write_text(SONYC)
    return tmp_path


def test_sonyc_all_clips(sonyc):
    crowd = read_set("sonyc_ust_fine_all", sonyc)
    assert crowd.votes.worker_names.to_pylist() == ["7", "12"]
    assert crowd.votes.item_names.to_pylist() == ["a.wav", "b.wav"]
    assert crowd.votes.label_names.to_pylist() == ["1-1_small", "1-2_big"]
    assert_array_equal(crowd.votes.to_dense(), [[[1, -1], [0, 0]], [[-1, 0], [1, 1]]])
    assert_array_equal(crowd.truth, [[False, False], [False, True]])
    assert_array_equal(crowd.known, [[False, False], [True, True]])


def test_sonyc_verified_clips_and_coarse_tags(sonyc):
    crowd = read_set("sonyc_ust_fine_val", sonyc)
    assert crowd.votes.item_names.to_pylist() == ["b.wav"]
    assert crowd.votes.worker_names.to_pylist() == ["12"]
    coarse = read_set("sonyc_ust_coarse_val", sonyc)
    assert coarse.votes.label_names.to_pylist() == ["1_engine"]
    assert_array_equal(coarse.truth, [[True]])


def test_sonyc_in_its_own_folder_comes_first(sonyc):
    own = sonyc / "sonyc_ust_fine_all"
    own.mkdir()
    (own / "annotations.csv").write_text(SONYC.replace("a.wav", "c.wav"))
    assert read_set("sonyc_ust_fine_all", sonyc).votes.item_names.to_pylist() == ["b.wav", "c.wav"]
    assert check_set("sonyc_ust_fine_all", sonyc)[0].startswith("sonyc_ust_fine_all should have 549 workers")


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("annotator_id", "who", ColumnError, "annotator_id is not there"),
        ("_presence", "_seen", ColumnError, "fine tags"),
        ("a.wav,7,1", "a.wav,7,3", VoteValueError, "1, 0 or -1"),
        ("a.wav,7,1", "a.wav,7,", VoteValueError, "whole numbers"),
        (".wav,12,", ".wav,-3,", EmptyInputError, "volunteers"),
    ],
)
def test_sonyc_files_of_another_kind(sonyc, old, new, error, message):
    path = sonyc / "sonyc_ust" / "annotations.csv"
    path.write_text(SONYC.replace(old, new))
    with pytest.raises(error, match=message):
        read_sonyc(path)


def test_sonyc_written_back_as_published(shared_data, tmp_path):
    """The verified clips in the published layout give the same votes and truth as in the common one."""
    crowd = read_set("sonyc_ust_fine_val", shared_data)
    dense, labels = crowd.votes.to_dense(), crowd.votes.label_names.to_pylist()
    clips = crowd.votes.item_names.to_pylist()
    lines = [",".join(["audio_filename", "annotator_id", *(f"{label}_presence" for label in labels)])]
    for worker, item in np.argwhere((dense != 0).any(axis=2)):
        lines.append(",".join([clips[item], str(worker + 1), *np.where(dense[worker, item] > 0, "1", "0")]))
    for clip, truth in zip(clips, crowd.truth, strict=True):
        lines.append(",".join([clip, "0", *np.where(truth, "1", "0")]))
    (tmp_path / "sonyc_ust").mkdir()
    (tmp_path / "sonyc_ust" / "annotations.csv").write_text("\n".join(lines) + "\n")
    assert check_set("sonyc_ust_fine_val", tmp_path) == []
    again = read_set("sonyc_ust_fine_val", tmp_path)
    assert_array_equal(again.votes.to_dense(), dense)
    assert_array_equal(again.truth, crowd.truth)


# -- MULAN as published ---------------------------------------------------------------------------------------------

XML = '<?xml version="1.0"?>\n<labels xmlns="http://mulan.sourceforge.net/labels"><label name="sad song"/>{}</labels>'
HEAD = """% made up
@RELATION music

@attribute loud numeric
@attribute "sad song" {0, 1}
@attribute 'key' {minor,major}
@attribute merry {0,1}
@data
"""


@pytest.fixture
def mulan(tmp_path: Path) -> Path:
    place = tmp_path / "mulan_emotions"
    place.mkdir()
    (place / "emotions.xml").write_text(XML.format('<label name="merry"></label>'))
    (place / "emotions.arff").write_text(HEAD + "0.5,1,major,0\n\n% a remark\n-2e-1, 0, minor, 1\n")
    return tmp_path


def test_mulan_dense(mulan):
    described = read_feature_set("mulan_emotions", mulan)
    assert_allclose(described.features, [[0.5, 1], [-0.2, 0]], rtol=0, atol=0)
    assert_array_equal(described.truth, [[True, False], [False, True]])
    assert described.label_names == ("sad song", "merry")
    assert described.item_names == ("emotions_00000", "emotions_00001")


def test_mulan_sparse_rows_leave_out_what_is_zero(mulan):
    (mulan / "mulan_emotions" / "emotions.arff").write_text(HEAD + "{0 0.5, 1 1,2 major}\n{ 3 1 }\n{}\n")
    described = read_feature_set("mulan_emotions", mulan)
    assert_allclose(described.features, [[0.5, 1], [0, 0], [0, 0]], rtol=0, atol=0)
    assert_array_equal(described.truth, [[True, False], [False, True], [False, False]])


def test_mulan_parts(mulan):
    place = mulan / "mulan_emotions"
    (place / "emotions.arff").unlink()
    (place / "emotions-test.arff").write_text(HEAD + "9,0,minor,1\n")
    (place / "emotions-train.arff").write_text(HEAD + "1,0,minor,1\n2,0,minor,1\n")
    assert_array_equal(read_feature_set("mulan_emotions", mulan).features[:, 0], [1, 2, 9])
    (place / "emotions-test.arff").write_text(HEAD.replace("loud", "lord") + "9,0,minor,1\n")
    with pytest.raises(FileFormatError, match="they differ"):
        read_feature_set("mulan_emotions", mulan)
    (place / "emotions-test.arff").unlink()
    with pytest.raises(FileFormatError, match=r"emotions-test\.arff does not exist"):
        read_feature_set("mulan_emotions", mulan)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "rows after a line @data"),
        ("1,0,minor\n", "line 9: a row must have 4 cells; got 3"),
        ("1,0,minor,1\nx,0,minor,1\n", "line 10: could not convert"),
        ("1,0,dorian,1\n", "'dorian' is not one of its values"),
        ("{9 1}\n", "line 9"),
        ("?,0,minor,1\n", "line 9"),
    ],
)
def test_arff_files_that_are_wrong(tmp_path, rows, message):
    path = tmp_path / "x.arff"
    path.write_text(HEAD + rows)
    with pytest.raises(FileFormatError, match=message):
        read_arff(path)


def test_arff_columns_of_text_are_refused(tmp_path):
    path = tmp_path / "x.arff"
    path.write_text("@attribute name string\n@data\nx\n")
    with pytest.raises(FileFormatError, match="'name' must hold numbers"):
        read_arff(path)


def test_mulan_labels_that_are_wrong(mulan):
    xml = mulan / "mulan_emotions" / "emotions.xml"
    xml.write_text(XML.format('<label name="angry"/>'))
    with pytest.raises(FileFormatError, match="'angry' has none"):
        read_feature_set("mulan_emotions", mulan)
    xml.write_text(XML.format('<label name="loud"/>'))
    with pytest.raises(FileFormatError, match="labels must be 0 or 1"):
        read_feature_set("mulan_emotions", mulan)
    xml.write_text("<labels/>")
    with pytest.raises(FileFormatError, match="there is none"):
        read_label_names(xml)
    xml.write_text("<labels>")
    with pytest.raises(FileFormatError, match="XML"):
        read_label_names(xml)
