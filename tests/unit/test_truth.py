from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from amcc.errors import ColumnError, IdError, ParameterError, VoteValueError
from amcc.truth import PairList, Truth
from amcc.votes import Votes

ITEMS, LABELS = pa.array(["i", "j", "k"]), pa.array(["a", "b"])
POSITIVES = pa.table({"item": ["i", "j", "elsewhere"], "label": ["a", "b", "a"]})


def cells(mask):
    """The (item, label) pairs where a mask holds, as text."""
    return {f"{ITEMS[row]}{LABELS[column]}" for row, column in zip(*mask.nonzero(), strict=True)}


def test_full_truth_covers_everything():
    true, known = Truth.from_frames(POSITIVES).matrices(ITEMS, LABELS)
    assert cells(true) == {"ia", "jb"}
    assert known.all()


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


@pytest.mark.parametrize("labels", [[["a", "b"], [], None], ["a|b", "", None]])
def test_truth_as_sets(labels):
    truth = Truth.from_frames(pa.table({"item": ["i", "j", "k"], "labels": labels}))
    assert cells(truth.matrices(ITEMS, LABELS)[0]) == {"ia", "ib"}


def test_rows_that_say_no_are_not_true_but_may_be_known():
    table = pa.table({"item": ["i", "i", "j"], "label": ["a", "b", "a"], "present": [1, 0, None]})
    true, known = Truth.from_frames(table, known_pairs=table).matrices(ITEMS, LABELS)
    assert cells(true) == {"ia"}
    assert cells(known) == {"ia", "ib"}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_truth_from_frames_of_every_kind(make):
    truth = Truth.from_frames(make({"task": ["i"], "tag": ["a"], "user": ["x"], "rater": ["y"]}))
    assert cells(truth.matrices(ITEMS, LABELS)[0]) == {"ia"}


def test_truth_without_rows_is_all_absent():
    true, known = Truth.from_frames(
        pa.table({"item": pa.array([], pa.string()), "label": pa.array([], pa.string())})
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
    ],
)
def test_bad_truth(table, error, message):
    with pytest.raises(error, match=message):
        PairList.from_frame(pa.table(table))
