from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import amcc
from amcc import metrics
from amcc.errors import ColumnError, ConflictError, EmptyInputError, IdError, InputError, ParameterError, VoteValueError
from amcc.truth import PairList, Truth
from amcc.votes import Votes

ITEMS, LABELS = pa.array(["i", "j", "k"]), pa.array(["a", "b"])
POSITIVES = pa.table({"item": ["i", "j", "elsewhere"], "label": ["a", "b", "a"]})


def cells(mask):
    """The (item, label) pairs where a mask holds, as text."""
    return {f"{ITEMS[row]}{LABELS[column]}" for row, column in zip(*mask.nonzero(), strict=True)}


def test_items_that_are_not_mentioned_are_unknown():
    for truth in (Truth.from_frames(POSITIVES), Truth(PairList(pa.array(["i", "j"]), pa.array(["a", "b"])))):
        true, known = truth.matrices(ITEMS, LABELS)
        assert cells(true) == {"ia", "jb"}
        assert cells(known) == {"ia", "ib", "ja", "jb"}


def test_full_truth_covers_everything():
    true, known = Truth.from_frames(POSITIVES, unmentioned="absent").matrices(ITEMS, LABELS)
    assert cells(true) == {"ia", "jb"}
    assert known.all()
    with pytest.raises(ParameterError, match="'absent' or 'unknown'; got 'no'"):
        Truth.from_frames(POSITIVES, unmentioned="no")


def test_known_items_are_covered_completely():
    truth = Truth.from_frames(POSITIVES, known_items=pa.table({"item": ["k", "i", "i", "nowhere"]}))
    true, known = truth.matrices(ITEMS, LABELS)
    assert cells(true) == {"ia", "jb"}
    assert cells(known) == {"ia", "ib", "ka", "kb"}


def test_known_pairs_are_all_that_is_covered():
    pairs = pa.table({"item": ["i", "i", "k"], "label": ["a", "b", "c"]})
    true, known = Truth.from_frames(POSITIVES, known_pairs=pairs).matrices(ITEMS, LABELS)
    assert cells(true) == {"ia", "jb"}
    assert cells(known) == {"ia", "ib"}


def test_only_one_kind_of_coverage():
    some = pa.table({"item": ["i"], "label": ["a"]})
    with pytest.raises(ParameterError, match="not both"):
        Truth.from_frames(POSITIVES, known_items=some, known_pairs=some)
    with pytest.raises(ParameterError, match="give one"):
        Truth.from_frames(POSITIVES, known_items=some, unmentioned="absent")


def test_truth_of_the_asked_pairs():
    table = {"worker": ["w"] * 3, "item": ["i", "j", "k"], "label": ["a", "a", "b"], "value": [1, 1, 0]}
    votes = Votes.from_frame(pa.table(table))
    true, known = Truth.from_frames(POSITIVES, known_items=pa.table({"item": ["i", "k"]})).on_pairs(votes)
    assert true.tolist() == [True, False, False]
    assert known.tolist() == [True, False, True]


@pytest.mark.parametrize("items", [pa.array([1, 2, 10]), pa.array(["1", "2", "10"])])
@pytest.mark.parametrize("given", [[1, 10], ["1", "10"], [1.0, 10.0]])
def test_numbers_and_their_text_are_the_same_item(items, given):
    truth = Truth.from_frames(pa.table({"item": given, "label": ["a", "a"]}), known_items=pa.table({"item": given}))
    true, known = truth.matrices(items, LABELS)
    assert true[:, 0].tolist() == [True, False, True]
    assert known[:, 1].tolist() == [True, False, True]


@pytest.mark.parametrize(
    "labels, covered", [([["a", "b"], [], None], "ij"), (["a|b", "", None], "ij"), (["a|b", "", ""], "ijk")]
)
def test_an_empty_list_is_known_to_be_empty(labels, covered):
    true, known = Truth.from_frames(pa.table({"item": ["i", "j", "k"], "labels": labels})).matrices(ITEMS, LABELS)
    assert cells(true) == {"ia", "ib"}
    assert cells(known) == {f"{item}{label}" for item in covered for label in "ab"}


@pytest.mark.parametrize("name", ["truth", "Truth", "is_true", "gold", "ground truth", "value", "present", "answer"])
@pytest.mark.parametrize("cells_of_rows", [["yes", "no", ""], [1, 0, None], [True, False, None], ["1", "-1", "n/a"]])
def test_a_column_of_yes_and_no_covers_its_rows(name, cells_of_rows):
    table = pa.table({"item": ["i", "i", "j"], "label": ["a", "b", "a"], name: cells_of_rows})
    for truth in (Truth.from_frames(table), Truth.from_frames(table, known_pairs=table)):
        true, known = truth.matrices(ITEMS, LABELS)
        assert cells(true) == {"ia"}
        assert cells(known) == {"ia", "ib"}


def test_the_column_called_truth_beats_other_values():
    table = pa.table({"item": ["i", "j"], "label": ["a", "b"], "score": [0.3, 0.9], "truth": ["yes", "no"]})
    true, known = Truth.from_frames(table).matrices(ITEMS, LABELS)
    assert cells(true) == {"ia"}
    assert cells(known) == {"ia", "jb"}


def test_votes_know_no_column_called_truth():
    votes = {"worker": ["w"] * 2, "item": ["i", "j"], "label": ["a", "a"], "value": [1, 0], "truth": [0, 0]}
    assert Votes.from_frame(pa.table(votes)).value.tolist() == [1, -1]


def test_yes_and_no_may_cover_more():
    """Known items, or a truth of everything: what has no row is absent."""
    table = pa.table({"item": ["i", "j"], "label": ["a", "b"], "truth": ["yes", "no"]})
    true, known = Truth.from_frames(table, known_items=pa.table({"item": ["i"]})).matrices(ITEMS, LABELS)
    assert cells(true) == {"ia"}
    assert cells(known) == {"ia", "ib"}
    assert Truth.from_frames(table, unmentioned="absent").matrices(ITEMS, LABELS)[1].all()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_truth_from_frames_of_every_kind(make):
    truth = Truth.from_frames(make({"task": ["i"], "tag": ["a"], "note": ["x"], "page": [0.5]}))
    assert cells(truth.matrices(ITEMS, LABELS)[0]) == {"ia"}


def test_truth_without_rows_is_all_absent():
    true, known = Truth.from_frames(
        pa.table({"item": pa.array([], pa.string()), "label": pa.array([], pa.string())}), unmentioned="absent"
    ).matrices(ITEMS, LABELS)
    assert not true.any()
    assert known.all()
    assert Truth.from_frames(POSITIVES).matrices(ITEMS, LABELS[:0])[0].shape == (3, 0)


@pytest.mark.parametrize(
    "table, error, message",
    [
        ({"item": ["i"]}, ColumnError, "column for the label is missing"),
        ({"label": ["a"]}, ColumnError, "column for the item is missing"),
        ({"item": ["i", None], "label": ["a", "b"]}, IdError, "'item' is empty in row 2"),
        ({"item": ["i"], "labels": [1]}, ColumnError, "one list of labels per row"),
        ({"item": ["i"], "label": ["a"], "value": ["maybe"]}, VoteValueError, "'maybe' in row 1"),
        ({"item": ["i"], "label": ["a"], "truth": ["maybe"]}, VoteValueError, "'maybe' in row 1"),
        ({"worker": ["w"], "item": ["i"], "label": ["a"], "value": [0]}, ColumnError, "'worker'.*table of votes"),
        ({"Annotator ID": ["w"], "item": ["i"], "label": ["a"]}, ColumnError, "'Annotator ID'.*Drop that column"),
        (
            {"item": ["i", "j"], "label": ["a", "a"], "verified": ["yes", "no"]},
            VoteValueError,
            "'verified' says no in row 2. Call it 'truth'",
        ),
        ({"item": ["i"], "labels": ["a|b"], "value": [0]}, VoteValueError, "'value' says no in row 1"),
        (
            {"item": ["i", "j", "i"], "label": ["a", "a", "a"], "truth": ["no", "yes", "yes"]},
            ConflictError,
            "item 'i', label 'a' is a yes in row 3 and a no in row 1",
        ),
        ({"item": ["i", "j", "i"], "labels": ["a", "", "b"]}, InputError, "item .* row 3 repeats row 1"),
    ],
)
def test_bad_truth(table, error, message):
    with pytest.raises(error, match=message):
        Truth.from_frames(pa.table(table))


YES_AND_BLANK = {"item": ["i", "j"], "label": ["a", "b"], "truth": ["yes", ""]}


@pytest.mark.parametrize(
    "truth, coverage, message",
    [
        (YES_AND_BLANK, {"unmentioned": "absent"}, "item 'j', label 'b' is blank in row 2"),
        (YES_AND_BLANK, {"known_items": {"item": ["j"]}}, "item 'j', label 'b' is blank in row 2"),
        (YES_AND_BLANK, {"known_pairs": {"item": ["j"], "label": ["b"]}}, "row 1 of .* neither yes nor no"),
        (YES_AND_BLANK, {"known_pairs": {"item": ["i"], "label": ["b"]}}, "row 1 of .* neither yes nor no"),
        (YES_AND_BLANK, {"known_pairs": {"item": ["i"], "label": ["a"], "value": [0]}}, "row 1 .* another value"),
        ({"item": ["i"], "label": ["a"]}, {"known_pairs": {**YES_AND_BLANK, "truth": [1, 1]}}, "row 2 .* another"),
    ],
)
def test_what_is_known_must_not_contradict_the_truth(truth, coverage, message):
    frames = {name: given if isinstance(given, str) else pa.table(given) for name, given in coverage.items()}
    with pytest.raises(ConflictError, match=message):
        Truth.from_frames(pa.table(truth), **frames)


def test_a_blank_that_another_row_fills_is_no_contradiction():
    table = pa.table({"item": ["i", "i"], "label": ["a", "a"], "truth": ["", "no"]})
    true, known = Truth.from_frames(table, unmentioned="absent").matrices(ITEMS, LABELS)
    assert known.all()
    assert not true.any()


# -- learning from some truth --------------------------------------------------------------------------------------


def gold_of(item_names, label_names, true) -> pa.Table:
    """True pairs as a table item, label."""
    item, label = np.nonzero(true)
    return pa.table({"item": item_names.take(pa.array(item)), "label": label_names.take(pa.array(label))})


def test_truth_of_few_items_leaves_the_others_their_consensus(crowd):
    votes, few = crowd.votes, np.arange(crowd.votes.n_items) < 30
    truth = Truth.from_frames(gold_of(votes.item_names, votes.label_names, crowd.truth & few[:, None]))
    with_truth, without = (amcc.consensus.DawidSkene().fit(votes, truth=known).predict() for known in (truth, None))
    labelled = few & crowd.truth.any(axis=1)
    assert np.array_equal(with_truth[labelled], crowd.truth[labelled])
    scores = [metrics.jaccard(crowd.truth[~few], found[~few]) for found in (with_truth, without)]
    assert scores[0] > scores[1] - 0.01  # the workers are judged by more, so that a few decisions differ


def test_real_truth_of_few_items(shared_data, tmp_path):
    """The truth of 30 of 443 recordings: the others keep their labels."""
    folder = shared_data / "sonyc_ust_fine_val"
    votes = amcc.read_votes(folder / "annotations.csv.gz")
    full = amcc.read_truth(folder / "truth.csv", known_items=folder / "truth_items.csv")
    true, known = full.matrices(votes.item_names, votes.label_names)
    first = np.flatnonzero(true.any(axis=1))[:30]
    few = np.isin(np.arange(votes.n_items), first)
    gold = tmp_path / "gold.csv"
    gold_of(votes.item_names, votes.label_names, true & few[:, None]).to_pandas().to_csv(gold, index=False)
    found = amcc.AMCC().fit(votes, truth=amcc.read_truth(gold)).predict()
    others = known.any(axis=1) & ~few
    assert metrics.jaccard(true[others], found[others]) > 0.6  # 0.64, with or without the truth of the thirty


@pytest.mark.parametrize(
    "table, message",
    [
        ({"item": [901, 902], "label": ["a", "b"]}, "none of its 2 items is there.*'901', '902'; the votes 'i', 'j'"),
        ({"item": ["i", "j"], "label": ["A", "B"]}, "none of its 2 labels is there.*'A', 'B'; the votes 'a'"),
    ],
)
def test_truth_about_something_else_is_refused(table, message):
    votes = Votes.from_dense([[[1], [-1]]], item_names=["i", "j"], label_names=["a"])
    with pytest.raises(EmptyInputError, match=message):
        amcc.consensus.MajorityVote().fit(votes, truth=Truth.from_frames(pa.table(table)))
