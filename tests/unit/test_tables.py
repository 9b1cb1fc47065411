from __future__ import annotations

import datetime as dt
import decimal
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from amcc import tables
from amcc.errors import ColumnError, IdError, InputError, ParameterError, VoteValueError

# --- which column is what -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names, expected",
    [
        (
            ["worker", "item", "label", "value"],
            {"worker": "worker", "item": "item", "label": "label", "value": "value"},
        ),
        (["task", "worker", "label"], {"worker": "worker", "item": "task", "label": "label"}),
        (["Annotator ID", "Doc-Id", "TAG"], {"worker": "Annotator ID", "item": "Doc-Id", "label": "TAG"}),
        (["\ufeffworker", "item", "labels"], {"worker": "\ufeffworker", "item": "item", "labels": "labels"}),
        # its own name beats the aliases
        (["user", "worker", "item", "label"], {"worker": "worker", "item": "item", "label": "label"}),
    ],
)
def test_columns_are_found_by_their_names(names, expected):
    assert tables.match_columns(names) == expected


def test_an_explicit_mapping_wins_and_frees_the_other_names():
    found = tables.match_columns(["worker", "user", "item", "label"], {"worker": "user"})
    assert found == {"worker": "user", "item": "item", "label": "label"}


@pytest.mark.parametrize("mapped, left_out", [("label", "labels"), ("labels", "label")])
def test_mapping_one_of_label_and_labels_settles_which_counts(mapped, left_out):
    names = ["worker", "item", "label", "labels"]
    with pytest.raises(ColumnError, match="--columns label=label"):
        tables.match_columns(names)
    found = tables.match_columns(names, {mapped: mapped})
    assert mapped in found
    assert left_out not in found


@pytest.mark.parametrize(
    "names, mapping, error, message",
    [
        (["worker", "item"], None, ColumnError, "column for the label is missing; the columns are 'worker', 'item'"),
        (["worker;item;label"], None, ColumnError, "another separator"),
        (["user", "rater", "item", "label"], None, ColumnError, "'user', 'rater' all look like it"),
        (["worker", "item", "label"], {"worker": "who"}, ColumnError, "'who', given for 'worker', is missing"),
        (["worker", "item", "label"], {"who": "worker"}, ParameterError, "can be mapped for worker, item"),
        (["a", "label"], {"worker": "a", "item": "a"}, ColumnError, "one thing only"),
    ],
)
def test_unclear_columns_are_refused(names, mapping, error, message):
    with pytest.raises(error, match=message):
        tables.match_columns(names, mapping)


def test_roles_that_are_not_asked_for_cannot_be_ambiguous():
    names = ["created_at", "submitted_at", "worker", "item", "label"]
    with pytest.raises(ColumnError, match="time"):
        tables.match_columns(names)
    assert "time" not in tables.match_columns(names, roles=("worker", "item", "label"))


# --- frames -------------------------------------------------------------------------------------------------

CELLS = {"worker": ["w1", "w2"], "noise": [1, 2]}
FRAMES = {
    "pandas": pd.DataFrame(CELLS),
    "pandas with an index of the same name": pd.DataFrame(CELLS, index=pd.Index(["x", "y"], name="worker")),
    "polars": pl.DataFrame(CELLS),
    "table": pa.table(CELLS),
    "batch": pa.RecordBatch.from_pydict(CELLS),
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_become_tables_of_the_chosen_columns(name):
    assert tables.as_arrow(FRAMES[name]).to_pydict() == CELLS
    chosen = tables.as_arrow(FRAMES[name], lambda names: [column for column in names if column == "worker"])
    assert chosen.to_pydict() == {"worker": CELLS["worker"]}


def test_a_column_that_is_not_chosen_may_hold_anything():
    frame = pd.DataFrame({"worker": ["w"] * 3, "junk": [1, "a", object()]})
    assert tables.as_arrow(frame, lambda names: names[:1]).column_names == ["worker"]
    with pytest.raises(IdError, match=r"'junk' must hold one type; it starts with 1 \(int\), but row 2 has 'a'"):
        tables.as_arrow(frame)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_mixed_types_are_found_behind_missing_cells(missing):
    frame = pd.DataFrame({"worker": pd.Series([missing, 1, missing, "a"], dtype=object)})
    with pytest.raises(IdError, match=r"starts with 1 .* but row 4 has 'a'"):
        tables.as_arrow(frame)


@pytest.mark.parametrize("cells", [[2**70, 1], ["\ud800", "a"], [object(), object()], [1j, 2j]])
def test_cells_that_no_arrow_column_can_hold(cells):
    with pytest.raises(IdError, match="column 'worker'"):
        tables.as_arrow(pd.DataFrame({"worker": pd.Series(cells, dtype=object)}))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=[1, "1"]),
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ],
)
def test_column_names_must_be_unique(frame):
    with pytest.raises(ColumnError, match=r"unique; got '(a|1)', '(a|1)'"):
        tables.as_arrow(frame)


@pytest.mark.parametrize("frame", [None, 3, "votes.csv", {"a": [1]}, [1, 2], np.ones(3), pl.LazyFrame({"a": [1]})])
def test_other_things_are_not_tables(frame):
    with pytest.raises(ParameterError, match="read_votes"):
        tables.as_arrow(frame)


# --- ids ----------------------------------------------------------------------------------------------------


def encoded(column):
    ids = tables.encode_ids(column, "worker", "who")
    return ids.codes.tolist(), ids.names.to_pylist()


def dictionary(indices, values, kind=None):
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(values, kind))


TEXT_COLUMNS = {
    "text": pa.array(["b", "a", "b"]),
    "large text": pa.array(["b", "a", "b"], pa.large_string()),
    "view": pa.array(["b", "a", "b"], pa.string_view()),
    "dictionary": dictionary([0, 1, 0], ["b", "a"]),
    "dictionary with an entry that is not used": dictionary([2, 1, 2], ["z", "a", "b"]),
    "dictionary with one name twice": dictionary([0, 1, 2], ["b", "a", "b"]),
    "dictionary with a null that is not used": dictionary([0, 1, 0], ["b", "a", None]),
    "dictionary of views": dictionary([0, 1, 0], ["b", "a"], pa.string_view()),
    "one byte per index": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.uint8()), pa.array(["b", "a"])),
    "run ends": pc.run_end_encode(pa.array(["b", "a", "b"])),
    "slice": pa.array(["x", "b", "a", "b", "y"])[1:4],
    "slice of a dictionary": dictionary([2, 0, 1, 0, 2], ["b", "a", "z"])[1:4],
    "chunks": pa.chunked_array([["b"], [], ["a", "b"]]),
    "chunks with their own dictionaries": pa.chunked_array([dictionary([0], ["b"]), dictionary([1, 0], ["b", "a"])]),
}


@pytest.mark.parametrize("name", TEXT_COLUMNS)
def test_ids_are_codes_into_a_sorted_vocabulary(name):
    assert encoded(TEXT_COLUMNS[name]) == ([1, 0, 1], ["a", "b"])


NUMBER_COLUMNS = {
    "int8": pa.array([10, 9, 10], pa.int8()),
    "uint64": pa.array([10, 9, 10], pa.uint64()),
    "float": pa.array([10.0, 9.0, 10.0]),
    "half": pa.array(np.array([10, 9, 10], np.float16)),
    "dictionary": dictionary([0, 1, 0], [10, 9]),
}


@pytest.mark.parametrize("name", NUMBER_COLUMNS)
def test_whole_numbers_stay_numbers_and_sort_as_such(name):
    assert encoded(NUMBER_COLUMNS[name]) == ([1, 0, 1], [9, 10])


def test_numbers_beyond_64_bits_become_text():
    assert encoded(pa.array([2**64 - 1, 1], pa.uint64())) == ([1, 0], ["1", str(2**64 - 1)])


def test_dates_become_text():
    assert encoded(pa.array([dt.date(2024, 5, 31)])) == ([0], ["2024-05-31"])


def test_no_rows_give_no_names():
    for column in (pa.chunked_array([], pa.string()), pa.array([], pa.int64()), dictionary([], ["a"], pa.string())[:0]):
        assert encoded(column) == ([], [])


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b", None]),
        pa.array(["a", "b", "  \t"]),
        pa.array([1.0, 2.0, np.nan]),
        pa.array([1, 2, None]),
        dictionary([0, 0, 1], ["a", None]),
        dictionary([0, 0, None], ["a", "b"]),
        pa.chunked_array([["a", "b"], [None]]),
        pa.chunked_array([dictionary([0, 0], ["a"]), dictionary([None], ["a"])]),
    ],
)
def test_a_missing_id_is_named_by_row_and_column(column):
    with pytest.raises(IdError, match="every worker must have a name; column 'who' is empty in row 3"):
        encoded(column)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([True, False]),
        pa.array([b"a", b"b"]),
        pa.array([decimal.Decimal(1)]),
        pa.array([{"a": 1}]),
        pa.array([["a"]]),
        pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.array([uuid.UUID(int=1).bytes], pa.uuid()),
        dictionary([0], [{"a": 1}]),
    ],
)
def test_other_types_are_not_ids(column):
    with pytest.raises(IdError, match=r"must be text or a whole number; column 'who' holds .* Convert"):
        encoded(column)


@pytest.mark.parametrize("number", [1.5, np.inf, 2.0**60])
def test_numbers_that_are_no_ids(number):
    with pytest.raises(IdError, match="row 2"):
        encoded(pa.array([1.0, number]))


def test_broken_text_is_refused():
    broken = pa.array([b"a", b"\xff"]).view(pa.string())
    for column in (broken, dictionary([0, 1], broken), broken.cast(pa.large_string())):
        for read in (
            lambda column: tables.encode_ids(column, "worker", "who"),
            lambda column: tables.parse_values(column, "who"),
            lambda column: tables.encode_lists(column, "who", None),
            lambda column: tables.encode_times(column, "who"),
        ):
            with pytest.raises(InputError, match="column 'who' must hold UTF-8 text"):
                read(column)


def test_a_long_column_is_coded_piece_by_piece(monkeypatch):
    monkeypatch.setattr("amcc.tables.coded.PIECE_ROWS", 3)
    column = pa.chunked_array([["c", "a", "b", "a"], [], ["b", "c", "a", "d"]])
    codes, names = encoded(column)
    assert [names[code] for code in codes] == column.to_pylist()
    assert tables.encode_ids(column, "worker", "who").coded.first_row(3) == 8


# --- vocabularies -------------------------------------------------------------------------------------------


def test_a_given_vocabulary_keeps_its_order():
    names = tables.vocabulary_of(["z", "a"], "label")
    ids = tables.recode(tables.encode_ids(pa.array(["a", "z", "a"]), "label", "label"), names, "label", "label")
    assert ids.codes.tolist() == [1, 0, 1]
    assert ids.names.to_pylist() == ["z", "a"]


def test_a_stranger_is_named_by_row():
    names = tables.vocabulary_of(["a"], "label")
    with pytest.raises(IdError, match="label 'z' in row 2, which is not among the 1 given: 'a'"):
        tables.recode(tables.encode_ids(pa.array(["a", "z"]), "label", "tag"), names, "label", "tag")


def test_numbers_and_their_text_are_the_same_name():
    ids = tables.encode_ids(pa.array([2, 10]), "item", "item")
    assert tables.recode(ids, tables.vocabulary_of(["10", "2"], "item"), "item", "item").codes.tolist() == [1, 0]


@pytest.mark.parametrize(
    "names, error, message",
    [
        (["a", "b", "a"], IdError, "'a' is there more than once"),
        ([1, "a"], IdError, "one type"),
        (["a", None], IdError, "row 2"),
        ("abc", ParameterError, "must be a list"),
    ],
)
def test_bad_vocabularies(names, error, message):
    with pytest.raises(error, match=message):
        tables.vocabulary_of(names, "label")


@pytest.mark.parametrize(
    "names", [["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Series(["a", "b"]), pl.Series(["a", "b"]), iter("ab")]
)
def test_vocabularies_come_in_many_shapes(names):
    assert tables.vocabulary_of(names, "label").to_pylist() == ["a", "b"]


# --- values -------------------------------------------------------------------------------------------------


def parsed(column, **options):
    return tables.parse_values(
        column if isinstance(column, pa.Array) else pa.array(column), "v", **options
    ).codes.tolist()


@pytest.mark.parametrize(
    "column",
    [
        [1, 0],
        [1, -1],
        [1.0, 0.0],
        [True, False],
        ["1", "0"],
        [" +1 ", "-1.0"],
        ["1", "−1"],  # the typographic minus sign
        ["TRUE", "False"],
        ["t", "f"],
        ["Yes", " no"],
        ["y", "N"],
        ["present", "ABSENT"],
        [decimal.Decimal(1), decimal.Decimal(0)],
        pa.array([1, 0], pa.uint64()),
        pa.array(np.array([1, 0], np.float16)),
        pa.array(["yes", "no"], pa.string_view()),
        dictionary([1, 0], ["no", "yes"]),
        dictionary([1, 0], [False, True]),
        pc.run_end_encode(pa.array([1, 0])),
    ],
)
def test_the_spellings_people_use(column):
    assert parsed(column) == [1, -1]


@pytest.mark.parametrize(
    "column",
    [
        [1, None, 0],
        [1.0, np.nan, 0.0],
        [True, None, False],
        ["yes", "", "no"],
        ["yes", " N/A ", "no"],
        ["yes", "nan", "no"],
        dictionary([0, None, 1], ["yes", "no"]),
        dictionary([0, 2, 1], ["yes", "no", None]),
        dictionary([0, 2, 1], [1.0, 0.0, np.nan]),
    ],
)
def test_blanks_are_not_asked(column):
    assert parsed(column) == [1, 0, -1]


def test_an_empty_column_is_blank():
    assert parsed(pa.nulls(3)) == [0, 0, 0]


def test_zero_beside_minus_one_must_be_explained():
    with pytest.raises(VoteValueError, match=r"both -1 and 0 \(row 3\).*--zero unasked"):
        parsed([1, -1, 0])
    assert parsed([1, -1, 0], zero="no") == [1, -1, -1]
    assert parsed([1, -1, 0], zero="unasked") == [1, -1, 0]
    assert parsed([1, 0], zero="unasked") == [1, 0]
    with pytest.raises(ParameterError, match="zero must be"):
        parsed([1, 0], zero="maybe")


@pytest.mark.parametrize(
    "column, message",
    [
        (["yes", "perhaps"], "column 'v' has 'perhaps' in row 2"),
        ([1, 2], "'v' has 2 in row 2.*--threshold"),
        ([0.5, 1.0], "'v' has 0.5 in row 1.*threshold"),
        ([0.0, np.inf], "'v' has inf in row 2"),
        (["1", "1e999"], "'1e999' in row 2"),
        (list(np.linspace(0, 1, 20_000)), "in row 2.*threshold"),
        ([b"1"], "it holds binary"),
        ([[1]], "it holds list"),
        ([{"a": 1}], "it holds struct"),
        ([dt.date(2024, 5, 31)], "it holds date"),
        ([dt.timedelta(1)], "it holds duration"),
    ],
)
def test_other_values_are_refused(column, message):
    with pytest.raises(VoteValueError, match=message):
        parsed(column)


@pytest.mark.parametrize(
    "column, expected",
    [
        ([0.5, 0.49, None, np.nan], [1, -1, 0, 0]),
        ([3, 0, None, 1], [1, -1, 0, 1]),
        (["0.5", "-2", "", "1e1"], [1, -1, 0, 1]),
        (dictionary([0, 1, None, 0], [0.7, 0.2]), [1, -1, 0, 1]),
        ([decimal.Decimal("0.5"), decimal.Decimal("0.4"), None, decimal.Decimal(7)], [1, -1, 0, 1]),
    ],
)
def test_graded_scores_with_a_threshold(column, expected):
    assert parsed(column, threshold=0.5) == expected


def test_a_threshold_wants_numbers():
    with pytest.raises(VoteValueError, match=r"every score must be a number.*'yes' in row 2"):
        parsed(["1", "yes"], threshold=0.5)
    for threshold in (np.nan, np.inf, "high"):
        with pytest.raises(ParameterError, match="threshold must be a number"):
            parsed([1, 0], threshold=threshold)


# --- times --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        [9, 10, 9],
        [9.5, 10.5, 9.5],
        ["9", "10", " 9"],  # as numbers, not as words
        ["2024-05-31", "2024-06-01 10:00", "2024-05-31"],
        ["2024-05-31T23:30:00Z", "2024-06-01T01:00:00+01:00", "2024-05-31T23:30:00Z"],
        [dt.datetime(2024, 5, 31), dt.datetime(2024, 6, 1), dt.datetime(2024, 5, 31)],
        dictionary([0, 1, 0], ["2024-05-31", "2024-06-01"]),
    ],
)
def test_times_order_rows(column):
    times = tables.encode_times(column if isinstance(column, pa.Array) else pa.array(column), "time")
    assert times[0] == times[2]
    assert times[0] < times[1]


def test_times_know_about_zones():
    times = tables.encode_times(pa.array(["2024-06-01T00:30:00+01:00", "2024-06-01T00:00:00Z"]), "time")
    assert times[0] < times[1]


@pytest.mark.parametrize(
    "column, message",
    [
        (["1", "soon"], "in row 1"),
        ([1, None], "'time' has None in row 2"),
        ([1.0, np.nan], "'time' has nan in row 2"),
        (["2024-05-31", ""], "like 2024-05-31T12:00:00"),
        ([[1], [2]], "must hold times; it holds list"),
        ([True, False], "must hold times; it holds bool"),
    ],
)
def test_bad_times(column, message):
    with pytest.raises(InputError, match=message):
        tables.encode_times(pa.array(column), "time")


# --- lists --------------------------------------------------------------------------------------------------


def listed(column, separator=None):
    lists = tables.encode_lists(column, "labels", separator)
    names = [lists.labels.names[code].as_py() for code in lists.labels.codes]
    cells = [names[begin:end] for begin, end in zip(lists.start[:-1], lists.start[1:], strict=True)]
    return [None if gone else cell for gone, cell in zip(lists.missing, cells, strict=True)]


PYTHON_LISTS = [["b", "a"], [], None, ["b"]]
LIST_COLUMNS = {
    "list": pa.array(PYTHON_LISTS),
    "large list": pa.array(PYTHON_LISTS, pa.large_list(pa.string())),
    "list view": pa.array(PYTHON_LISTS, pa.list_view(pa.string())),
    "list of views": pa.array(PYTHON_LISTS, pa.list_(pa.string_view())),
    "list of a dictionary": pa.array(PYTHON_LISTS, pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    "text": pa.array(["b | a", " ", None, "b"]),
    "text view": pa.array(["b|a", "", None, "|b|"], pa.string_view()),
    "text in a dictionary": pa.array(["b|a", "", None, "b"]).dictionary_encode(),
    "slice": pa.array([["x"], *PYTHON_LISTS, ["y"]])[1:5],
    "slice of text": pa.array(["x", "b|a", "", None, "b"])[1:],
    "chunks": pa.chunked_array([[["b", "a"]], [], [[], None, ["b"]]], pa.list_(pa.string())),
    "chunks of text": pa.chunked_array([["b|a"], ["", None, "b"]]),
    "chunks of dictionaries": pa.chunked_array([dictionary([0], ["b|a"]), dictionary([1, None, 0], ["b", ""])]),
}


@pytest.mark.parametrize("name", LIST_COLUMNS)
def test_label_lists(name):
    assert listed(LIST_COLUMNS[name]) == PYTHON_LISTS


def test_label_lists_of_fixed_length():
    assert listed(pa.array([["a", "b"], None], pa.list_(pa.string(), 2))) == [["a", "b"], None]


def test_missing_and_empty_columns_of_lists():
    assert listed(pa.nulls(2)) == [None, None]
    assert listed(pa.array([[], []])) == [[], []]
    assert listed(pa.chunked_array([], pa.list_(pa.string()))) == []


def test_another_separator_must_be_said():
    column = pa.array(["a", "a,b"])
    with pytest.raises(ColumnError, match=r"has no '\|' but 'a,b' in row 2. Say label_separator=','"):
        listed(column)
    assert listed(column, ",") == [["a"], ["a", "b"]]
    assert listed(column, "|") == [["a"], ["a,b"]]
    with pytest.raises(ParameterError, match="label_separator"):
        listed(column, "")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([["a", "b"], [], ["c", " "]]),
        pa.array([["a", "b"], [], ["c", None]]),
        pa.array([[1.0, 2.0], [], [np.nan]]),
    ],
)
def test_an_empty_label_is_named_by_the_row_of_its_list(column):
    with pytest.raises(IdError, match="column 'labels' is empty in row 3"):
        listed(column)


@pytest.mark.parametrize("column", [pa.array([1]), pa.array([b"a"]), pa.array([{"a": 1}])])
def test_other_columns_are_not_lists(column):
    with pytest.raises(ColumnError, match="one list of labels per row; it holds"):
        listed(column)


@pytest.mark.parametrize("column", [pa.array([[{"a": 1}]]), pa.array([[["a"]]]), pa.array([[b"a"]])])
def test_other_entries_are_not_labels(column):
    with pytest.raises(IdError, match="label id must be text"):
        listed(column)


# --- numbers and names as they are written ------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["0_1", "1_0", "\u0661", "\uff11", "infinity", "0x1", "1e", "1.0.0", "--1", "1 0"])
def test_only_plain_numbers_are_numbers(spelling):
    with pytest.raises(VoteValueError, match="row 2"):
        tables.parse_values(pa.array(["yes", spelling]), "value")
    with pytest.raises(VoteValueError, match="row 2"):
        tables.parse_values(pa.array(["0.3", spelling]), "value", threshold=0.5)


@pytest.mark.parametrize("spelling, number", [("1", 1), ("+1.", 1), (".5", 0.5), ("1e-2", 0.01), (" \u22121 ", -1)])
def test_numbers_in_the_spellings_people_use(spelling, number):
    assert float(tables.number_in(spelling)) == number


@pytest.mark.parametrize("large", [2**53, 2**53 + 1, -(2**53), 2**60])
def test_ids_that_a_float_would_merge_are_refused(large):
    column = pa.array([1.0, float(large)])
    with pytest.raises(IdError, match="row 2"):
        tables.encode_ids(column, "item", "item")
    assert tables.encode_ids(pa.array([1.0, 2.0**53 - 1]), "item", "item").names.to_pylist() == [1, 2**53 - 1]


NANOSECONDS = 1_715_000_000_123_456_789


@pytest.mark.parametrize(
    "times",
    [
        [NANOSECONDS + 1, NANOSECONDS, NANOSECONDS + 2],
        [f"{NANOSECONDS + 1}", f" {NANOSECONDS}", f"{NANOSECONDS + 2}"],
        ["1715000000.123456790", "1715000000.123456789", "1715000000.1234567901"],
        [f"{NANOSECONDS}.5", f"{NANOSECONDS}", f"{NANOSECONDS}.75"],
        [decimal.Decimal("1.50"), decimal.Decimal("1.25"), decimal.Decimal("1.75")],
        ["1e3", "999.5", "+1000.5"],
        ["1e300", "-7", "1.5e300"],
        ["2024-05-31T12:00:00.000000002", "2024-05-31T12:00:00.000000001", "2024-05-31T12:00:00.000000003"],
    ],
    ids=str,
)
def test_times_are_compared_to_the_last_digit(times):
    assert np.argsort(tables.encode_times(pa.array(times), "time")).tolist() == [1, 0, 2]


def test_times_that_may_be_rounded_are_refused():
    with pytest.raises(InputError, match=r"row 2, which may be rounded"):
        tables.encode_times(pa.array([1.0, float(NANOSECONDS)]), "time")


@pytest.mark.parametrize(
    "other", ["dog ", " dog", "Dog", "DOG", "dog\u00a0", "d\u200bog", "dog\0", "\ufeffdog", "do\u00adg", "dog\t\t"]
)
def test_names_that_look_alike_are_pointed_out(other):
    (note,) = tables.note_on_lookalikes(pa.array(["cat", "dog", "doge", other]), "label")
    assert note.startswith("2 labels have names that differ only in case, spaces or invisible characters, like 'dog'")
    assert repr(other) in note


def test_names_that_people_can_tell_apart_are_not():
    names = ["cat", "dog", "hot dog", "hotdog", "été", "ete", "1", "01", "dog-", "ß"]
    assert tables.note_on_lookalikes(pa.array(names), "label") == []
    assert tables.note_on_lookalikes(pa.array([1, 2]), "item") == []
    two = pa.array(["hot  dog", "hot dog", "e\u0301", "\u00e9"])
    assert tables.note_on_lookalikes(two, "label")[0].startswith("4 labels")


def test_a_slip_in_a_list_of_names_is_refused():
    known = pa.array(["ann ", "bob"])
    with pytest.raises(IdError, match="'ann' and 'ann ' differ only in spaces"):
        tables.refuse_slips(pa.array(["bob", "ann"]), known, "worker")
    tables.refuse_slips(pa.array(["Ann", "bob", "ann ", "eve"]), known, "worker")
    tables.refuse_slips(pa.array([7]), pa.array([7, 8]), "worker")


# --- tables with known roles ----------------------------------------------------------------------------------


def test_columns_are_asked_for_by_role():
    frame = pd.DataFrame({"Rater ID": ["bob", "ann"], "doc": [8, 7], "tags": [["x"], ["y", "x"]], "note": ["", ""]})
    columns = tables.read_columns(frame)
    assert columns.roles == {"worker": "Rater ID", "item": "doc", "labels": "tags"}
    assert columns.table.column_names == ["Rater ID", "doc", "tags"]
    assert [columns.has(role) for role in ("worker", "label", "labels")] == [True, False, True]
    assert columns.ids("item").codes.tolist() == [1, 0]
    assert columns.lists("labels").start.tolist() == [0, 1, 3]


def test_a_label_column_of_lists_is_labels():
    columns = tables.read_columns(pa.table({"worker": ["a"], "item": ["i"], "label": [["x", "y"]]}))
    assert columns.roles["labels"] == "label"
    assert not columns.has("label")


@pytest.mark.parametrize(
    "names, expected", [(["kind", "type"], "kind"), (["Type"], "Type"), (["other"], None), ([], None)]
)
def test_the_own_name_of_a_column_beats_the_others(names, expected):
    assert tables.only_column("kind", ("kind", "type"), names, lambda *_: "") == expected


def test_two_columns_that_could_be_meant_are_refused_with_a_way_out():
    with pytest.raises(ColumnError, match=r"'kind', 'Kind', 'type' all look like it\. Rename kind to more"):
        tables.only_column(
            "more", ("kind", "type"), ["kind", "Kind", "type"], lambda role, one: f"Rename {one} to {role}"
        )


@pytest.mark.parametrize(
    "names, more, expected",
    [
        (["b"], ["c", "a", "b"], ["a", "b", "c"]),
        ([2], [10, 1], [1, 2, 10]),
        ([2], ["10"], ["10", "2"]),  # as text where one of them is
        (["b"], [], ["b"]),
        ([], [3, 1], [1, 3]),  # no names have no type
    ],
)
def test_further_names_are_sorted_in(names, more, expected):
    known = tables.vocabulary_of(names, "item")
    assert tables.with_further_names(known, more).to_pylist() == expected


def test_names_of_codes_are_text():
    assert tables.text_of(pa.array([7, 9]), np.array([1, 1, 0])).to_pylist() == ["9", "9", "7"]
    assert tables.text_of(pa.array([7, 9])).to_pylist() == ["7", "9"]


def test_messages_quote_a_few_names():
    assert tables.a_few(pa.array(["a", "b"])) == "'a', 'b'"
    assert tables.a_few(pa.array(["a", "b"]), most=1) == "'a' …"
    assert tables.listed(range(14)).endswith("11, … (14 in all)")
