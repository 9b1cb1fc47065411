"""The registry of data sets: what it says of each."""

from __future__ import annotations

import json

from amcc.data.reading import (
    check_set,
)
from amcc.data.registry import DATASETS, family_of
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
