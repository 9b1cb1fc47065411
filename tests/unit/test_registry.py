"""The registry of data sets: what it says of each."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import get_args

import pytest

from amcc.data.reading import check_set
from amcc.data.registry import DATASETS, LAYOUTS, DataSet, Layout, TruthKind, _load_sets, family_of, known_set
from amcc.errors import ParameterError
from amcc.experiments.cells import THINNED


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
    """Nineteen of them have votes and truth; sets of one maker about other things stand alone."""
    with_truth = {name for name, data_set in DATASETS.items() if data_set.truth in ("independent", "own")}
    assert len({family_of(name) for name in with_truth}) == 19
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


# -- how entries are written ----------------------------------------------------------------------------------------

ENTRY = """
[first]
title = "a"
source = "b"
files = "c"
licence = "d"
layout = "votes"
counts = { workers = 2, "true labels" = 5 }
truth = "own"
votes_from = "e"
scored_voters = ["w1"]
"""


def test_entries_hold_what_the_types_say():
    """TOML knows nothing of our types: a layout with a typo would only show when the set is read."""
    assert set(LAYOUTS) == set(get_args(Layout))
    for name, data_set in DATASETS.items():
        assert data_set.layout in LAYOUTS, name
        assert data_set.truth in get_args(TruthKind), name
        assert type(data_set.in_paper) is bool, name
        assert type(data_set.scored_voters) is tuple, name
        assert {type(count) for count in data_set.counts.values()} == {int}, name
        for field in ("title", "source", "files", "licence", "votes_from", "original", "family"):
            text = getattr(data_set, field)
            assert text == " ".join(text.split()), (name, field)  # no breaks and no double blanks


def test_counts_agree_with_each_other():
    for name, data_set in DATASETS.items():
        counts = data_set.counts
        assert counts.get("items with truth", 0) <= counts["items"], name
        if "votes" in counts:
            assert counts["answers"] <= counts["votes"] <= counts["answers"] * counts["labels"], name
            assert counts["answers"] <= counts["workers"] * counts["items"], name


def test_a_set_like_another_says_only_what_differs():
    sets = _load_sets(ENTRY + '[second]\nlike = "first"\ntitle = "z"\n[third]\nlike = "second"\nfiles = "y"\n')
    assert list(sets) == ["first", "second", "third"]
    assert (sets["second"].name, sets["second"].title, sets["second"].source) == ("second", "z", "b")
    assert (sets["third"].title, sets["third"].files) == ("z", "y")
    assert sets["third"].scored_voters == ("w1",)
    assert sets["first"].counts == {"workers": 2, "true labels": 5}
    assert not sets["first"].in_paper


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ('[second]\nlike = "nothing"\n', KeyError, "nothing"),
        ('[second]\nlike = "third"\n[third]\nlike = "first"\n', KeyError, "third"),  # stands after it
        ('[second]\nlike = "first"\ncolour = "red"\n', TypeError, "colour"),
        ('[second]\ntitle = "z"\n', TypeError, "missing"),
    ],
)
def test_entries_that_are_wrong_stop_the_import(text, error, message):
    with pytest.raises(error, match=message):
        _load_sets(ENTRY + text)


def test_unknown_names_are_told_which_there_are():
    assert known_set("affective") is DATASETS["affective"]
    with pytest.raises(ParameterError, match=r"sonyc_ust_fine_val, .*media_bias; got 'Affective'"):
        known_set("Affective")


def test_every_field_is_documented():
    assert all(f"    {field.name} : " in (DataSet.__doc__ or "") for field in fields(DataSet))
