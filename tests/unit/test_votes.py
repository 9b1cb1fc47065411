from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from amcc.errors import ColumnError, ConflictError, EmptyInputError, IdError, ParameterError, VoteValueError
from amcc.votes import Reading, Votes
from amcc.votes.description import MAX_AGREEMENT_CELLS, answer_matrices

EXACT = {"rtol": 0, "atol": 1e-12}


def long(*rows, columns="worker item label value"):
    return pa.Table.from_pylist([dict(zip(columns.split(), row, strict=True)) for row in rows])


def sets(*rows, columns="worker item labels"):
    return long(*rows, columns=columns)


def triples(votes):
    """Votes as plain tuples (worker, item, label, value)."""
    return [tuple(row.values()) for row in votes.to_arrow().to_pylist()]


dense_arrays = arrays(np.int8, st.tuples(*[st.integers(1, 4)] * 3), elements=st.sampled_from([-1, 0, 1])).filter(np.any)


# --- long tables --------------------------------------------------------------------------------------------


def test_votes_are_sorted_by_item_label_worker():
    votes = Votes.from_frame(
        long(("w2", "i2", "b", 1), ("w1", "i2", "a", 0), ("w2", "i1", "b", 0), ("w1", "i2", "b", 1))
    )
    assert triples(votes) == [("w2", "i1", "b", -1), ("w1", "i2", "a", -1), ("w1", "i2", "b", 1), ("w2", "i2", "b", 1)]
    assert_array_equal(votes.pairs.item, [0, 1, 1])
    assert_array_equal(votes.pairs.label, [1, 0, 1])
    assert_array_equal(votes.pairs.n_votes, [1, 1, 2])
    assert_array_equal(votes.n_yes, [0, 0, 2])


@given(dense_arrays, st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_the_order_of_rows_does_not_matter(dense, random):
    table = Votes.from_dense(dense).to_arrow()
    order = list(range(table.num_rows))
    random.shuffle(order)
    assert Votes.from_frame(table) == Votes.from_frame(table.take(order))


def test_arrays_are_read_only_and_input_is_not_touched():
    codes = [np.array([1, 0]), np.array([0, 0]), np.array([0, 0]), np.array([1, -1])]
    votes = Votes.from_codes(*codes, item_names=["a", "b"], worker_names=["w"], label_names=["l"])
    for column in (votes.item, votes.worker, votes.label, votes.value):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0
    assert all(code.flags.writeable for code in codes)
    assert_array_equal(codes[0], [1, 0])
    with pytest.raises(AttributeError):
        votes.value = votes.value


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_whole_numbers_stay_numbers(make):
    votes = Votes.from_frame(make({"worker": [10, 9], "item": [1, 1], "label": ["007", "7"], "value": [1, 0]}))
    assert votes.worker_names.to_pylist() == [9, 10]
    assert votes.item_names.to_pylist() == [1]
    assert votes.label_names.to_pylist() == ["007", "7"]


def test_the_mapping_that_was_chosen_is_reported():
    frame = pd.DataFrame({"task": ["t"], "Rater": ["w"], "tag": ["a"], "answer": ["yes"], "colour": ["red"]})
    reading = Votes.from_frame(frame).reading
    assert reading.columns == {"worker": "Rater", "item": "task", "label": "tag", "value": "answer"}
    assert reading.notes() == ["columns: worker = 'Rater', item = 'task', label = 'tag', value = 'answer'"]
    mapped = Votes.from_frame(frame, columns={"label": "colour"})
    assert mapped.label_names.to_pylist() == ["red"]
    assert Reading().notes() == []


def test_blank_values_are_not_asked_and_counted():
    votes = Votes.from_frame(long(("w", "i", "a", "1"), ("w", "i", "b", ""), ("w", "j", "a", "NA")))
    assert triples(votes) == [("w", "i", "a", 1)]
    assert votes.n_items == 2
    assert votes.n_labels == 2
    assert votes.reading.notes() == ["2 rows without a value count as not asked"]


@pytest.mark.parametrize(
    "table",
    [
        long(("w", "i", "a", None), ("w", "i", "b", None)),
        long(("w", "i", "a", "1"))[:0],
        pa.schema({"worker": pa.string(), "item": pa.string(), "label": pa.string(), "value": pa.int8()}).empty_table(),
    ],
)
def test_nothing_left_is_an_error(table):
    with pytest.raises(EmptyInputError, match="at least one vote"):
        Votes.from_frame(table)


def test_chunks_that_are_cut_differently_are_read_row_by_row():
    table = pa.table(
        {
            "worker": pa.chunked_array([["w1"], ["w2", "w3"], []]),
            "item": pa.chunked_array([["i1", "i2", "i3"]]),
            "label": pa.chunked_array([["a", "b"], [], ["c"]]),
            "value": pa.chunked_array([[1, None], [0]]),
        }
    )
    assert triples(Votes.from_frame(table)) == [("w1", "i1", "a", 1), ("w3", "i3", "c", -1)]
    assert triples(Votes.from_frame(table[1:])) == [("w3", "i3", "c", -1)]


def test_graded_scores_need_a_threshold():
    table = long(("w", "i", "a", 0.7), ("w", "i", "b", 0.2))
    with pytest.raises(VoteValueError, match=r"0\.7 in row 1"):
        Votes.from_frame(table)
    assert triples(Votes.from_frame(table, threshold=0.5)) == [("w", "i", "a", 1), ("w", "i", "b", -1)]


# --- duplicates and contradictions --------------------------------------------------------------------------


def test_identical_votes_count_once():
    votes = Votes.from_frame(long(("w", "i", "a", 1), ("w", "i", "a", 1), ("w", "i", "b", 0), ("w", "i", "a", 1)))
    assert triples(votes) == [("w", "i", "a", 1), ("w", "i", "b", -1)]
    assert votes.reading.notes() == ["2 identical votes were there more than once and count once"]


def test_a_contradiction_names_both_rows():
    yes, no, blank = ("w", "i", "a", 1), ("w", "i", "a", 0), ("w", "i", "a", None)
    table = long(("w", "i", "b", 0), blank, yes, yes, ("v", "i", "a", 1), no)
    with pytest.raises(ConflictError, match=r"worker 'w'.*item 'i', label 'a' \(row 3 and 6\).*on_conflict='last'"):
        Votes.from_frame(table)


def test_contradictions_are_counted():
    table = long(("w", "i", "a", 1), ("w", "i", "a", 0), ("w", "i", "b", 0), ("w", "i", "b", 1))
    with pytest.raises(ConflictError, match="There are 2 such cases"):
        Votes.from_frame(table)


def test_sets_that_contradict_each_other_name_both_rows():
    table = sets(("v", "i", ["a"]), ("w", "i", ["a"]), ("w", "j", ["b"]), ("w", "i", ["b"]))
    with pytest.raises(ConflictError, match=r"label 'a' \(row 2 and 4\)"):
        Votes.from_frame(table, unmentioned="absent")


def test_the_last_vote_counts_by_row_or_by_time():
    rows = [("w", "i", "a", 1, "10"), ("w", "i", "a", 0, "9"), ("w", "j", "a", 0, "1"), ("w", "j", "a", 1, "2")]
    timed = long(*rows, columns="worker item label value time")
    by_row = Votes.from_frame(timed.drop_columns("time"), on_conflict="last")
    assert triples(by_row) == [("w", "i", "a", -1), ("w", "j", "a", 1)]
    by_time = Votes.from_frame(timed, on_conflict="last")
    assert triples(by_time) == [("w", "i", "a", 1), ("w", "j", "a", 1)]
    assert by_time.reading.notes() == ["2 contradicting votes were resolved: the last one counts"]
    assert by_time.reading.columns["time"] == "time"


def test_at_the_same_time_the_last_row_counts():
    rows = [("w", "i", "a", 1, 5), ("w", "i", "a", 0, 5), ("w", "i", "a", 1, 4)]
    votes = Votes.from_frame(long(*rows, columns="worker item label value time"), on_conflict="last")
    assert triples(votes) == [("w", "i", "a", -1)]


def test_blanks_do_not_shift_the_times():
    rows = [("w", "i", "a", None, 1), ("w", "i", "a", 1, 9), ("w", "i", "a", 0, 2)]
    votes = Votes.from_frame(long(*rows, columns="worker item label value time"), on_conflict="last")
    assert triples(votes) == [("w", "i", "a", 1)]


def test_sets_are_resolved_by_time():
    table = sets(("w", "i", ["a"], 2), ("w", "i", ["b"], 1), columns="worker item labels time")
    votes = Votes.from_frame(table, unmentioned="absent", on_conflict="last")
    assert triples(votes) == [("w", "i", "a", 1), ("w", "i", "b", -1)]


def test_times_matter_only_where_the_last_vote_counts():
    table = long(("w", "i", "a", 1, None, "x"), columns="worker item label value created_at submitted_at")
    assert len(Votes.from_frame(table)) == 1
    with pytest.raises(ColumnError, match="time"):
        Votes.from_frame(table, on_conflict="last")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"on_conflict": "first"}, "on_conflict must be 'error', 'last' or 'samples'; got 'first'"),
        ({"unmentioned": "no"}, "unmentioned must be 'absent' or 'unknown'; got 'no'"),
        ({"zero": "yes"}, "zero must be"),
        ({"labels": "ab"}, "label names must be a list"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        Votes.from_frame(long(("w", "i", "a", 1)), **options)


# --- ticks and sets -----------------------------------------------------------------------------------------

SETS = sets(("w1", "i", ["a"]), ("w2", "i", []), ("w1", "j", ["a", "b", "a"]), ("w2", "j", None))


def test_what_is_not_mentioned_must_be_said():
    with pytest.raises(ParameterError, match=r"unmentioned='absent'.*--unmentioned unknown"):
        Votes.from_frame(SETS)


def test_unmentioned_labels_are_absent():
    votes = Votes.from_frame(SETS, unmentioned="absent")
    assert triples(votes) == [
        ("w1", "i", "a", 1), ("w2", "i", "a", -1), ("w1", "i", "b", -1), ("w2", "i", "b", -1),
        ("w1", "j", "a", 1), ("w1", "j", "b", 1),
    ]  # fmt: skip
    assert votes.reading.unmentioned == "absent"
    assert votes.reading.blanks == 1


def test_unmentioned_labels_are_unknown():
    votes = Votes.from_frame(SETS, unmentioned="unknown")
    assert triples(votes) == [("w1", "i", "a", 1), ("w1", "j", "a", 1), ("w1", "j", "b", 1)]
    assert votes.n_workers == 2


def test_the_label_list_may_be_longer_than_what_was_given():
    votes = Votes.from_frame(SETS, unmentioned="absent", labels=["z", "b", "a"])
    assert votes.label_names.to_pylist() == ["z", "b", "a"]
    assert len(votes) == 9
    assert (votes.value[votes.label == 0] == -1).all()


def test_a_closed_label_list_refuses_others_by_row():
    with pytest.raises(IdError, match="'b' in row 3"):
        Votes.from_frame(SETS, unmentioned="absent", labels=["a"])
    with pytest.raises(IdError, match="'b' in row 2"):
        Votes.from_frame(long(("w", "i", "a", 1), ("w", "i", "b", 1)), labels=["a"])


def test_the_column_asked_says_which_labels_were_asked():
    table = sets(("w1", "i", ["a"], ["a", "c"]), ("w2", "i", [], ["b"]), columns="worker item labels asked")
    assert triples(Votes.from_frame(table)) == [("w1", "i", "a", 1), ("w2", "i", "b", -1), ("w1", "i", "c", -1)]
    closed = Votes.from_frame(table, labels=["c", "b", "a"])
    assert sorted(triples(closed)) == sorted(triples(Votes.from_frame(table)))
    with pytest.raises(IdError, match="column 'asked' has the label 'c' in row 1"):
        Votes.from_frame(table, labels=["a", "b"])


def test_a_label_that_was_given_but_not_asked():
    table = sets(("w1", "i", ["a"], ["a"]), ("w2", "i", ["a", "b"], ["a"]), columns="worker item labels asked")
    with pytest.raises(VoteValueError, match="row 2 gives 'b', which column 'asked' does not list"):
        Votes.from_frame(table)


def test_one_row_per_tick_as_in_crowd_kit():
    ticks = pd.DataFrame({"task": ["t", "t", "t", "u"], "worker": ["w", "v", "w", "w"], "label": ["a", "a", "b", "b"]})
    votes = Votes.from_frame(ticks, unmentioned="absent")
    assert triples(votes) == [
        ("v", "t", "a", 1), ("w", "t", "a", 1), ("v", "t", "b", -1), ("w", "t", "b", 1),
        ("w", "u", "a", -1), ("w", "u", "b", 1),
    ]  # fmt: skip
    assert len(Votes.from_frame(ticks, unmentioned="unknown")) == 4


def test_ticks_with_the_labels_that_were_asked():
    ticks = long(
        ("w", "i", "a", "a|b"), ("w", "i", "b", "a|b"), ("v", "i", "a", "a|c"), columns="worker item label asked"
    )
    votes = Votes.from_frame(ticks)
    assert triples(votes) == [("v", "i", "a", 1), ("w", "i", "a", 1), ("w", "i", "b", 1), ("v", "i", "c", -1)]


@pytest.mark.parametrize("cell", [list, tuple, set, lambda names: np.array(list(names))])
def test_crowd_kit_frames_with_lists_in_the_label_column(cell):
    frame = pd.DataFrame({"task": ["t", "u"], "worker": ["w", "w"], "label": [cell("a"), cell("ab")]})
    votes = Votes.from_frame(frame, unmentioned="absent")
    assert triples(votes) == [("w", "t", "a", 1), ("w", "t", "b", -1), ("w", "u", "a", 1), ("w", "u", "b", 1)]
    assert votes.reading.columns["labels"] == "label"


def test_lists_with_a_value_beside_them_are_refused():
    table = sets(("w", "i", ["a"], 1), columns="worker item labels value")
    with pytest.raises(ColumnError, match="'labels' and 'value' are both there"):
        Votes.from_frame(table, unmentioned="absent")


def test_empty_lists_only_need_a_label_list():
    table = sets(("w", "i", []))
    with pytest.raises(EmptyInputError, match="at least one label"):
        Votes.from_frame(table, unmentioned="absent")
    assert triples(Votes.from_frame(table, unmentioned="absent", labels=["a"])) == [("w", "i", "a", -1)]


def test_items_that_nobody_answered():
    votes = Votes.from_frame(long(("w", "b", "a", 1)), items=["c", "a", "b"])
    assert votes.item_names.to_pylist() == ["a", "b", "c"]
    assert_array_equal(votes.answers_per_item, [0, 1, 0])
    numbers = Votes.from_frame(long(("w", 2, "a", 1)), items=["10"])  # one of them is text, so all are
    assert numbers.item_names.to_pylist() == ["10", "2"]


# --- dense and wide -----------------------------------------------------------------------------------------


@given(dense_arrays)
@settings(max_examples=50, deadline=None)
def test_dense_arrays_round_trip(dense):
    votes = Votes.from_dense(dense)
    assert_array_equal(votes.to_dense(), dense)
    with_nan = np.where(dense == 0, np.nan, dense > 0)
    if np.isnan(with_nan).any():
        assert Votes.from_dense(with_nan) == votes
    assert Votes.from_dense(dense.transpose(2, 0, 1), axes=("label", "worker", "item")) == votes


@pytest.mark.parametrize(
    "array, options, error, message",
    [
        ([[1]], {}, ParameterError, "three axes"),
        ([[[1]], [[1, 1]]], {}, ParameterError, "ragged"),
        ([[[1, 2]]], {}, VoteValueError, "got .*2.* at worker 0, item 0, label 1"),
        ([[[np.nan, -1.0]]], {}, VoteValueError, "0, 1 and NaN"),
        ([[["yes"]]], {}, VoteValueError, "must hold -1, 0"),
        ([[[None, 1]]], {}, VoteValueError, "None"),
        ([[[True, False]]], {}, VoteValueError, "np.where"),
        ([[[0]]], {}, EmptyInputError, "at least one vote"),
        (np.zeros((0, 2, 2)), {}, EmptyInputError, "at least one vote"),
        ([[[1]]], {"axes": ("worker", "item", "item")}, ParameterError, "axes must name"),
        ([[[1]]], {"label_names": ["a", "b"]}, ParameterError, "label_names must have 1 entries; got 2"),
    ],
)
def test_bad_dense_arrays(array, options, error, message):
    with pytest.raises(error, match=message):
        Votes.from_dense(array, **options)


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"item": [0.0]}, ParameterError, "item codes must be whole numbers"),
        ({"item": [1]}, ParameterError, r"item codes must lie in 0..0; got 1..1"),
        ({"worker": [-1]}, ParameterError, "worker codes"),
        ({"label": [0, 0]}, ParameterError, "label codes must have the shape"),
        ({"value": [2]}, VoteValueError, "-1, 0 or 1"),
        ({"on_conflict": "never"}, ParameterError, "on_conflict"),
        ({"item_names": ["a", "a"]}, IdError, "more than once"),
    ],
)
def test_bad_codes(change, error, message):
    codes = {"item": [0], "worker": [0], "label": [0], "value": [1]}
    names = {"item_names": ["i"], "worker_names": ["w"], "label_names": ["l"]}
    with pytest.raises(error, match=message):
        Votes.from_codes(**{**codes, **names, **change})


WIDE = {"ann": [1.0, 0.0], "bob": [np.nan, 1.0]}
WIDE_VOTES = [("ann", "x", "a", 1), ("ann", "y", "a", -1), ("bob", "y", "a", 1)]


@pytest.mark.parametrize("index", [["x", "y"], pd.Index(["x", "y"], name="ann"), pd.Index(["x", "y"], name="item")])
def test_wide_pandas_frames_name_items_by_their_index(index):
    assert triples(Votes.from_wide({"a": pd.DataFrame(WIDE, index=index)})) == WIDE_VOTES


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_wide_frames_without_names_count_their_rows(make):
    frame = make({"ann": [1, 0], "bob": [None, 1]})
    expected = [(worker, "xy".index(item), label, value) for worker, item, label, value in WIDE_VOTES]
    assert triples(Votes.from_wide({"a": frame})) == expected


def test_wide_frames_of_several_labels_keep_their_order_and_the_items_nobody_answered():
    frames = {
        "b": pd.DataFrame({"ann": [1, np.nan]}, index=["x", "y"]),
        "a": pd.DataFrame({"bob": ["no"]}, index=["x"]),
    }
    votes = Votes.from_wide(frames)
    assert votes.label_names.to_pylist() == ["b", "a"]
    assert votes.item_names.to_pylist() == ["x", "y"]
    assert triples(votes) == [("ann", "x", "b", 1), ("bob", "x", "a", -1)]
    assert votes.reading.blanks == 1


def test_wide_frames_take_scores_and_explained_zeros():
    scores = {"a": pd.DataFrame({"ann": [0.2, 0.9]})}
    assert Votes.from_wide(scores, threshold=0.5).value.tolist() == [-1, 1]
    signs = {"a": pd.DataFrame({"ann": [1, 0, -1]})}
    with pytest.raises(VoteValueError, match="both -1 and 0"):
        Votes.from_wide(signs)
    assert Votes.from_wide(signs, zero="unasked").value.tolist() == [1, -1]
    assert Votes.from_wide(signs, zero="no").value.tolist() == [1, -1, -1]


def test_wide_frames_with_numbers_for_labels():
    assert Votes.from_wide({7: pd.DataFrame({"ann": [1]})}).label_names.to_pylist() == [7]


@pytest.mark.parametrize(
    "frames, error, message",
    [
        ({}, EmptyInputError, "there is none"),
        ({"a": pd.DataFrame({"ann": []})}, EmptyInputError, "there is none"),
        ({"a": pd.DataFrame(index=["x"])}, EmptyInputError, "there is none"),
        (pd.DataFrame(WIDE), ParameterError, "must be a mapping"),
        ({"a": pd.DataFrame(WIDE, index=["x", "x"])}, IdError, "'x' is there more than once"),
        ({"a": pd.DataFrame(WIDE, index=[1, "x"])}, IdError, "one type"),
        ({"a": pd.DataFrame(WIDE, index=[1, 2]), "b": pd.DataFrame(WIDE, index=["x", "y"])}, IdError, "named alike"),
        ({"a": pd.DataFrame(WIDE), 1: pd.DataFrame(WIDE)}, IdError, "one type"),
        ({"a": pd.DataFrame({"ann": ["maybe"]})}, VoteValueError, "column 'ann' has 'maybe' in row 1"),
    ],
)
def test_bad_wide_frames(frames, error, message):
    with pytest.raises(error, match=message):
        Votes.from_wide(frames)


# --- giving back --------------------------------------------------------------------------------------------

NAMES = {
    "text": {"worker": ["w1", 'ü|,"\n', "x y", "0"], "item": ["i", "007", "7", "e"], "label": ["b", "a", "c", "d"]},
    "numbers": {"worker": [5, -1, 7, 2**62], "item": [10, 9, 8, 7], "label": [3, 2, 1, 0]},
}


@st.composite
def votes_without_spare_names(draw):
    """Votes whose names all have a vote, for only those survive a round trip through a table."""
    dense = draw(dense_arrays)
    names = NAMES[draw(st.sampled_from(sorted(NAMES)))]
    worker, item, label = np.nonzero(dense)
    table = {
        role: [names[role][code] for code in codes]
        for role, codes in (("worker", worker), ("item", item), ("label", label))
    }
    return Votes.from_frame(pa.table({**table, "value": dense[worker, item, label]}))


@given(votes_without_spare_names())
@settings(max_examples=50, deadline=None)
def test_frames_round_trip(votes):
    assert Votes.from_frame(votes.to_arrow()) == votes
    assert Votes.from_frame(votes.to_pandas()) == votes
    assert Votes.from_frame(votes.to_polars()) == votes
    assert Votes.from_frame(votes.to_sets()) == votes
    assert Votes.from_frame(votes.to_sets("arrow")) == votes
    assert Votes.from_frame(votes.to_sets("polars")) == votes


def test_equality_looks_at_names_and_votes(toy_votes):
    dense = toy_votes.to_dense()
    names = {"worker_names": ["w1", "w2", "w3"], "item_names": ["i1", "i2"], "label_names": ["l1", "l2"]}
    assert Votes.from_dense(dense, **names) == toy_votes
    assert Votes.from_dense(-dense, **names) != toy_votes
    assert Votes.from_dense(dense, **{**names, "item_names": ["i1", "i3"]}) != toy_votes
    assert toy_votes != "votes"


def test_sets_list_what_was_ticked_and_what_was_asked(toy_votes):
    assert toy_votes.to_sets("arrow").to_pylist()[-1] == {
        "worker": "w3",
        "item": "i2",
        "labels": ["l2"],
        "asked": ["l2"],
    }
    assert len(toy_votes.to_sets()) == 6


def test_select_keeps_the_vocabularies(toy_votes):
    some = toy_votes.select(toy_votes.worker == 2)
    assert len(some) == 3
    assert some.worker_names.equals(toy_votes.worker_names)
    assert_array_equal(some.answers_per_worker, [0, 0, 2])
    nobody = toy_votes.select(np.zeros(len(toy_votes), dtype=bool))
    assert (len(nobody), len(nobody.pairs), len(nobody.coins), len(nobody.to_sets())) == (0, 0, 0, 0)
    assert nobody.to_dense().any() == 0


def test_coins_number_the_combinations_of_worker_and_label(toy_votes):
    coins = toy_votes.coins
    assert len(coins) == 6
    assert_array_equal(coins.worker[coins.slot // 2], toy_votes.worker)
    assert_array_equal(coins.label[coins.slot // 2], toy_votes.label)
    assert_array_equal(coins.slot % 2, toy_votes.value > 0)


def test_coins_of_a_huge_vocabulary_are_found_by_sorting():
    spec = {"item_names": range(2), "worker_names": range(3000), "label_names": range(400)}
    votes = Votes.from_codes([0, 1, 1], [2999, 5, 5], [399, 0, 1], [1, -1, 1], **spec)
    assert_array_equal(votes.coins.worker, [5, 5, 2999])
    assert_array_equal(votes.coins.label, [0, 1, 399])
    assert_array_equal(votes.coins.slot, [5, 0, 3])


# --- counting -----------------------------------------------------------------------------------------------


def test_describe_counts_by_hand(toy_votes):
    said = toy_votes.describe(n_boot=20)
    assert (said.workers, said.items, said.labels, said.votes, said.answers) == (3, 2, 2, 11, 6)
    assert (said.answers_per_item_min, said.answers_per_item_max) == (3, 3)
    assert_allclose(said.answers_per_item_mean, 3, **EXACT)
    assert_allclose(said.labels_per_answer, 6 / 6, **EXACT)  # l1: 2 + 0 yes, l2: 1 + 3 yes
    assert_allclose(said.share_unasked, 1 / 12, **EXACT)
    assert said.items_without_answer == 0
    assert said.workers_with_one_answer == 0
    first, second = said.by_label
    assert (first.label, first.asked, first.yes_share) == ("l1", 5, 2 / 5)
    assert (second.label, second.asked, second.yes_share) == ("l2", 6, 4 / 6)
    # Label l2: item 1 has 1 yes of 3, item 2 has 3 of 3. Observed 2·1·2/2 / 6, expected 2·4·2 / (6·5).
    assert_allclose(second.agreement.estimate, 1 - (2 / 6) / (16 / 30), **EXACT)
    assert said.to_dict()["by_label"][0]["agreement"]["estimate"] == first.agreement.estimate
    assert toy_votes.describe(n_boot=20) == said


def test_describe_one_worker():
    said = Votes.from_dense([[[1, -1], [1, 1]]]).describe(n_boot=5)
    assert said.workers_with_one_answer == 0
    assert said.agreement.estimate is None
    assert all(label.agreement.estimate is None for label in said.by_label)
    assert said.labels_per_answer == 1.5
    assert Votes.from_dense([[[1, -1]]]).describe(n_boot=5).workers_with_one_answer == 1


def test_describe_items_and_labels_without_votes():
    votes = Votes.from_frame(long(("w", "i", "a", 1)), items=["i", "j", "k"], labels=["a", "b"])
    said = votes.describe(n_boot=5)
    assert said.items_without_answer == 2
    assert (said.answers_per_item_min, said.answers_per_item_max) == (0, 1)
    assert_allclose(said.answers_per_item_mean, 1 / 3, **EXACT)
    assert said.share_unasked == 0.5
    assert said.by_label[1].yes_share is None


def test_describe_no_votes_at_all(toy_votes):
    said = toy_votes.select(np.zeros(len(toy_votes), dtype=bool)).describe(n_boot=5)
    assert (said.votes, said.answers, said.labels_per_answer, said.share_unasked) == (0, 0, 0, 1)
    assert said.agreement.estimate is None


def test_two_empty_sets_agree():
    votes = Votes.from_dense([[[-1, -1], [1, 1]], [[-1, -1], [1, 1]]])
    assert votes.describe(n_boot=5).agreement.estimate == 1


def test_agreement_looks_at_as_many_answers_as_have_room_with_their_own_labels():
    """40,000 labels, of which each item has ten of its own: a table of all would have room for 500 answers."""
    item = np.repeat(np.arange(4000), 20)
    label = (item.reshape(-1, 2, 10) * 10 + np.arange(10)).ravel()
    worker = np.tile(np.repeat([0, 1], 10), 4000)
    votes = Votes.from_codes(
        item, worker, label, np.ones(len(item), int), item_names=range(4000), worker_names=[0, 1],
        label_names=range(40_000),
    )  # fmt: skip
    answer_item, yes, asked = answer_matrices(votes, np.random.default_rng(0))
    assert len(answer_item) > 1900
    assert yes.size <= MAX_AGREEMENT_CELLS
    assert (asked.sum(axis=1) == 10).all()


def test_agreement_of_very_many_answers_looks_at_a_sample_of_items(crowd, monkeypatch):
    whole = crowd.votes.describe(n_boot=5).agreement.estimate
    monkeypatch.setattr("amcc.votes.description.MAX_AGREEMENT_ANSWERS", 500)
    sampled = crowd.votes.describe(n_boot=5).agreement.estimate
    assert sampled != whole
    assert_allclose(sampled, whole, atol=0.1, rtol=0)  # half of the items
    assert crowd.votes.describe(n_boot=5).agreement.estimate == sampled


# --- names that differ in what nobody sees ------------------------------------------------------------------


def test_votes_tell_about_names_that_look_alike():
    votes = Votes.from_frame(long(("w", "i", "dog", 1), ("W ", "j", "dog ", 0), ("x", "I", "Dog", 1)))
    notes = votes.notes()
    assert [note.partition(" have")[0] for note in notes] == ["2 workers", "2 items", "3 labels"]
    assert "'Dog' and 'dog' and 'dog '" in notes[2]
    assert votes.label_names.to_pylist() == ["Dog", "dog", "dog "]
    assert Votes.from_frame(long(("w", "i", "dog", 1))).notes() == []


@pytest.mark.parametrize("role, given", [("labels", ["dog ", "cat"]), ("items", ["i ", "j"])])
def test_lists_of_names_are_taken_to_the_last_space(role, given):
    with pytest.raises(IdError, match=f"{given[0]!r} and {given[0].strip()!r} differ only in spaces"):
        Votes.from_frame(long(("w", "i", "dog", 1)), **{role: given})


def test_the_later_of_two_nanoseconds_counts():
    late, early = 1_715_000_000_000_000_001, 1_715_000_000_000_000_000
    for kind in (int, str):
        rows = [("w", "i", "a", 1, kind(late)), ("w", "i", "a", 0, kind(early))]
        votes = Votes.from_frame(long(*rows, columns="worker item label value time"), on_conflict="last")
        assert triples(votes) == [("w", "i", "a", 1)]


# -- samples: one worker asked several times -------------------------------------------------------------------------


def sampled(*rows, **options):
    """Rows worker, item, label, value, sample as votes."""
    return Votes.from_frame(long(*rows, columns="worker item label value sample"), **options)


def test_samples_are_kept_and_counted():
    votes = sampled(("m", "i", "a", 1, 1), ("m", "i", "a", 0, 2), ("m", "i", "a", 1, 3), ("p", "i", "a", 1, 1))
    assert votes.value.tolist() == [-1, 1, 1, 1]
    assert votes.reading.samples == 2
    assert votes.reading.duplicates_dropped == 0
    assert votes.answers_per_worker.tolist() == [1, 1]
    assert votes.answers_per_item.tolist() == [2]
    assert Votes.from_frame(votes.to_arrow()) == votes


def test_a_sample_that_stands_there_twice_counts_once_and_must_not_contradict_itself():
    votes = sampled(("m", "i", "a", 1, 1), ("m", "i", "a", 1, 1), ("m", "i", "a", 0, 2))
    assert (votes.reading.duplicates_dropped, votes.reading.samples) == (1, 1)
    rows = ("m", "i", "a", 1, 1), ("m", "i", "a", 0, 2), ("m", "i", "a", 0, 1)
    with pytest.raises(ConflictError, match=r"worker 'm'.*\(row 1 and 3\).*a column 'sample'"):
        sampled(*rows)
    last = sampled(*rows, on_conflict="last")
    assert last.value.tolist() == [-1, -1]
    assert last.reading.conflicts_resolved == 1


def test_one_sample_of_everybody_is_nothing_special():
    votes = sampled(("m", "i", "a", 1, 1), ("p", "i", "a", 0, 1))
    assert votes.reading.samples == 0
    assert votes.one_per_worker() is votes
    assert "sample" not in votes.to_arrow().column_names


def test_without_a_column_repeated_votes_may_be_samples():
    rows = ("m", "i", "a", 1), ("m", "i", "a", 0), ("m", "i", "a", 1), ("p", "i", "a", 1)
    votes = Votes.from_frame(long(*rows), on_conflict="samples")
    assert votes.value.tolist() == [-1, 1, 1, 1]
    assert votes.reading.samples == 2


def test_samples_of_answers_with_lists():
    rows = ("m", "i", ["a"], 1), ("m", "i", ["a", "b"], 2), ("p", "i", [], 1)
    worker, item, labels, sample = zip(*rows, strict=True)
    table = pa.table({"worker": worker, "item": item, "labels": labels, "sample": sample})
    votes = Votes.from_frame(table, unmentioned="absent")
    assert list(zip(votes.label.tolist(), votes.worker.tolist(), votes.value.tolist(), strict=True)) == [
        (0, 0, 1), (0, 0, 1), (0, 1, -1), (1, 0, -1), (1, 0, 1), (1, 1, -1),
    ]  # fmt: skip


def test_samples_of_ticks():
    rows = ("m", "i", "a", 1), ("m", "i", "b", 2), ("p", "i", "b", 1)
    votes = Votes.from_frame(long(*rows, columns="worker item label sample"), unmentioned="absent")
    assert votes.value.tolist() == [-1, 1, -1, -1, 1, 1]
    assert votes.reading.samples == 2


def test_a_column_called_sample_may_still_be_the_item():
    votes = Votes.from_frame(long(("w", "i", "a", 1), columns="worker sample label value"))
    assert votes.item_names.to_pylist() == ["i"]


def test_agreement_counts_samples_once():
    rows = [(w, i, "a", v, n) for n in range(3) for w, i, v in (("m", 1, 1), ("m", 2, 0), ("p", 1, 1), ("p", 2, 0))]
    often, once = sampled(*rows).describe(), sampled(*rows[:4]).describe()
    assert often.votes == 12
    assert often.agreement == once.agreement
    assert often.by_label == once.by_label


def test_whoever_was_asked_and_did_not_answer_has_not_said_no():
    """A missing cell beside a list of asked labels is no answer; an empty list denies them all."""
    table = {"worker": ["a", "b", "c"], "item": ["i", "i", "i"], "asked": [["x", "y"]] * 3}
    votes = Votes.from_frame(pa.table({**table, "labels": pa.array([["x"], None, []], pa.list_(pa.string()))}))
    given = {(row["worker"], row["label"]): row["value"] for row in votes.to_arrow().to_pylist()}
    assert given == {("a", "x"): 1, ("a", "y"): -1, ("c", "x"): -1, ("c", "y"): -1}
    assert votes.worker_names.to_pylist() == ["a", "b", "c"]
    assert votes.reading.blanks == 1
