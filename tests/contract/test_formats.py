"""What holds for every format: what is written comes back, and whatever is read, only our own errors come out."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import gzip
import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amcc.errors import AmccError
from amcc.evaluation import evaluate
from amcc.io import FORMATS, read_ids, read_table, read_truth, read_votes, write_votes
from amcc.truth import Truth
from amcc.votes import Votes

SUFFIXES = [suffix for kind in FORMATS for suffix in kind.suffixes]
TEXT_SUFFIXES = tuple(FORMATS[0].suffixes)
# A file is written for each example, over the same path; that is what the health check asks about.
quick = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

# --- round trips --------------------------------------------------------------------------------------------

whole_numbers = st.integers(-(2**63), 2**63 - 1)
# No half characters, which no file can hold, and nothing that is only spaces, which is no name.
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(str.strip)
tricky = st.sampled_from(
    ["007", "7", "2024-05-31", "a,b", 'say "x"', "a\tb", "a\nb", "a\r\nb", " a", "true", "NaN", "a|b", "{", "ü"]
)
text = names | tricky
# What a list in a text file can carry; other labels are refused there.
plain_labels = text.filter(lambda name: "|" not in name and name.strip() == name)


@st.composite
def vote_tables(draw, label_names=text):
    """Votes of every kind of name; each worker answers a question at most once."""
    worker, item = (draw(st.sampled_from([text, whole_numbers])) for _ in range(2))
    rows = draw(
        st.lists(
            st.tuples(worker, item, label_names, st.sampled_from([-1, 1])),
            min_size=1,
            max_size=12,
            unique_by=lambda row: row[:3],
        )
    )
    return Votes.from_frame(
        pa.table(dict(zip(["worker", "item", "label", "value"], zip(*rows, strict=True), strict=True)))
    )


def as_text(votes):
    """The same votes with text for numbers, which is what a text file keeps of them."""
    table = votes.to_arrow()
    for position, name in enumerate(["worker", "item", "label"]):
        table = table.set_column(position, name, table[name].cast(table[name].type.value_type).cast(pa.string()))
    return Votes.from_frame(table)


def survives(votes, path, *, sets, **options):
    write_votes(votes, path, sets=sets)
    again = read_votes(path, **options)
    return again == (as_text(votes) if path.name.endswith(TEXT_SUFFIXES) else votes)


@pytest.mark.parametrize("suffix", SUFFIXES)
@quick
@given(votes=vote_tables())
def test_votes_survive_every_format(tmp_path, suffix, votes):
    assert survives(votes, tmp_path / f"votes{suffix}", sets=False)


@pytest.mark.parametrize("suffix", SUFFIXES)
@quick
@given(votes=vote_tables(plain_labels))
def test_answers_survive_every_format(tmp_path, suffix, votes):
    options = {"label_separator": "|"} if suffix in TEXT_SUFFIXES else {}
    assert survives(votes, tmp_path / f"votes{suffix}", sets=True, **options)


@pytest.mark.parametrize("suffix", SUFFIXES)
@quick
@given(votes=vote_tables(), order=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(tmp_path, suffix, votes, order):
    rows = list(range(len(votes)))
    order.shuffle(rows)
    path = tmp_path / f"votes{suffix}"
    next(kind for kind in FORMATS if suffix in kind.suffixes).write([votes.to_arrow().take(rows)], path)
    assert read_votes(path) == (as_text(votes) if suffix in TEXT_SUFFIXES else votes)


# --- files that are broken ----------------------------------------------------------------------------------


def read_all_ways(path):
    """Read a file in every way there is; an error that is not ours fails the test."""
    for read in (
        read_votes,
        lambda path: read_votes(path, unmentioned="absent", zero="no", on_conflict="last"),
        read_table,
        read_truth,
        read_ids,
    ):
        with contextlib.suppress(AmccError):
            read(path)


SEED_ROLES = {"label": ["a", "b", "a", "c"], "value": [1, 0, 1, 1]}
SEED_VOTES = [
    Votes.from_frame(pa.table({"worker": ["w1", "w2", "w1", "ü"], "item": ["i", "i", "j", "k"], **SEED_ROLES})),
    Votes.from_frame(pa.table({"worker": [1, 2, 1, 3], "item": [7, 7, 8, 9], **SEED_ROLES})),
]
SPLINTERS = [
    b'"',
    b",",
    b"\n",
    b"\r",
    b"\0",
    b"|",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"{",
    b"}",
    b"[",
    b"null",
    b"NaN",
    b"1e999",
    b"9" * 20,
]


def mutated(content, rng):
    """The bytes with a few flips, holes, insertions and cuts."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        place = rng.randrange(len(content)) if content else 0
        match rng.randrange(5):
            case 0 if content:
                content[place] ^= 1 << rng.randrange(8)
            case 1:
                del content[place : place + rng.randrange(1, 9)]
            case 2:
                content[place:place] = rng.randbytes(rng.randrange(1, 9))
            case 3:
                content[place:place] = rng.choice(SPLINTERS)
            case 4:
                del content[place:]
    return bytes(content)


@pytest.fixture(scope="module")
def valid_files(tmp_path_factory):
    """For each suffix the bytes of valid files: long and sets, text and numbers."""
    folder = tmp_path_factory.mktemp("valid")
    files = {}
    for suffix in SUFFIXES:
        path = folder / f"votes{suffix}"
        for votes in SEED_VOTES:
            for sets in (False, True):
                write_votes(votes, path, sets=sets)
                files.setdefault(suffix, []).append(path.read_bytes())
    return files


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_bytes(tmp_path, suffix):
    rng = random.Random(suffix)
    path = tmp_path / f"votes{suffix}"
    for length in [1, 2, 3, 4, 8, *(rng.randrange(1, 200) for _ in range(20))]:
        content = rng.randbytes(length)
        for variant in (
            content,
            gzip.compress(content),
            b"PAR1" + content + b"PAR1",
            bytes(byte % 128 for byte in content),
        ):
            path.write_bytes(variant)
            read_all_ways(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_files(tmp_path, valid_files, suffix):
    rng = random.Random(suffix)
    path = tmp_path / f"votes{suffix}"
    for content in valid_files[suffix]:
        for _ in range(20):
            path.write_bytes(mutated(content, rng))
            read_all_ways(path)
            if suffix.endswith(".gz"):  # also damage behind the compression
                path.write_bytes(gzip.compress(mutated(gzip.decompress(content), rng)))
                read_all_ways(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_that_are_cut_off(tmp_path, valid_files, suffix):
    """At every byte of short files, and at two hundred places of longer ones."""
    path = tmp_path / f"votes{suffix}"
    content = valid_files[suffix][0]
    for length in sorted({*np.linspace(0, len(content) - 1, 200, dtype=int).tolist()}):
        path.write_bytes(content[:length])
        with contextlib.suppress(AmccError):
            read_votes(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_one_format_under_the_name_of_another(tmp_path, valid_files, suffix):
    path = tmp_path / f"votes{suffix}"
    for contents in valid_files.values():
        path.write_bytes(contents[0])
        read_all_ways(path)


# --- tables of odd columns ----------------------------------------------------------------------------------

N_ROWS = 6


def dictionary(indices, values):
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int32()), values if isinstance(values, pa.Array) else pa.array(values)
    )


def in_chunks(column):
    return pa.chunked_array([column[:1], column[1:1], column[1:4], column[4:]])


WORDS = pa.array(["a", "b", "a", "c", "b", "a"])
ARROW_COLUMNS = {
    "text": WORDS,
    "votes": pa.array([1, 0, 1, 0, 1, 1]),
    "text with blanks": pa.array(["a", "", " ", None, "1", "NaN"]),
    "unicode": pa.array(["ü", "\u200b", "e\u0301", "\U0001f600", "\0", "\u00a0"]),
    "broken text": pa.array([b"a", b"\xff", b"\xc3", b"b", b"c", b"d"]).view(pa.string()),
    "view": WORDS.cast(pa.string_view()),
    "large text": WORDS.cast(pa.large_string()),
    "bool": pa.array([True, False, None] * 2),
    "float": pa.array([1.0, 0.0, np.nan, np.inf, -1.0, None]),
    "half": pa.array(np.array([1, 0, 1, 0, np.nan, 1], np.float16)),
    "uint64": pa.array([0, 1, 2**64 - 1] * 2, pa.uint64()),
    "int64": pa.array([-(2**63), 2**63 - 1, 0, 1, -1, None]),
    "decimal": pa.array([decimal.Decimal(n) for n in range(N_ROWS)]),
    "date": pa.array([dt.date(2024, 5, day + 1) for day in range(N_ROWS)]),
    "time": pa.array([dt.time(hour) for hour in range(N_ROWS)]),
    "timestamp": pa.array(range(N_ROWS), pa.timestamp("ns", "Europe/Berlin")),
    "timestamp nowhere": pa.array(range(N_ROWS), pa.timestamp("ns", "Nowhere/Nowhere")),
    "duration": pa.array(range(N_ROWS), pa.duration("us")),
    "interval": pa.array([(1, 2, 3)] * N_ROWS, pa.month_day_nano_interval()),
    "binary": pa.array([b"a", b"\xff", None] * 2),
    "binary view": pa.array([b"a", b"\xff", None] * 2, pa.binary_view()),
    "fixed binary": pa.array([b"ab"] * N_ROWS, pa.binary(2)),
    "null": pa.nulls(N_ROWS),
    "lists": pa.array([["a"], [], None, ["a", "b"], ["b", "b"], ["c"]]),
    "lists with nulls": pa.array([["a", None], [], None, [None], ["b"], [" "]]),
    "lists of nothing": pa.array([[], [], None, [], [], []]),
    "lists of lists": pa.array([[["a"]], [], None, [[]], [[None]], []]),
    "lists of numbers": pa.array([[1], [2, 3], None, [], [1], [1]]),
    "lists of structs": pa.array([[{"a": 1}], [], None, [], [], []]),
    "large lists": pa.array([["a"]] * N_ROWS, pa.large_list(pa.string())),
    "fixed lists": pa.array([["a", "b"], None] * 3, pa.list_(pa.string(), 2)),
    "list views": pa.array([["a"], [], None] * 2, pa.list_view(pa.string())),
    "lists of a dictionary": pa.array([["a"], [], None] * 2, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "struct": pa.array([{"a": 1}, None] * 3),
    "map": pa.array([[("a", 1)], None] * 3, pa.map_(pa.string(), pa.int64())),
    "union": pa.UnionArray.from_sparse(pa.array([0, 1] * 3, pa.int8()), [pa.array(range(6)), WORDS]),
    "dictionary": dictionary([0, 1, 0, 1, 0, 0], ["a", "b"]),
    "dictionary with null inside": dictionary([0, 1, 2, 0, 0, 0], ["a", "b", None]),
    "dictionary with nulls": dictionary([0, None, 1, 0, 0, 0], ["a", "b"]),
    "dictionary of nulls": dictionary([0, 0, None, 0, 0, 0], pa.nulls(1)),
    "dictionary with spare entries": dictionary([3, 0, 3, 0, 3, 0], ["a", None, "", "b", "b"]),
    "dictionary of floats": dictionary([0, 1, 2, 0, 0, 0], [1.0, np.nan, 0.0]),
    "dictionary of views": dictionary([0, 1] * 3, WORDS[:2].cast(pa.string_view())),
    "dictionary of structs": dictionary([0, 1] * 3, [{"a": 1}, {"a": 2}]),
    "dictionary of lists": dictionary([0, 1] * 3, [["a"], []]),
    "run ends": pc.run_end_encode(WORDS),
    "json": WORDS.cast(pa.json_()),
    "uuid": pa.array([bytes(16)] * N_ROWS, pa.uuid()),
    "slice": pa.concat_arrays([WORDS, WORDS])[3:9],
    "chunks": in_chunks(WORDS),
    "chunks of dictionaries": pa.chunked_array(
        [dictionary([0], ["a"]), dictionary([1, 0], ["c", "b"]), dictionary([0, None, 0], ["a"])]
    ),
    "chunks of lists": in_chunks(pa.array([["a"], [], None, ["a", "b"], ["b", "b"], ["c"]])),
}  # fmt: skip

PANDAS_COLUMNS = {
    "mixed": [1, "a", None, 2.5, True, b"x"],
    "mixed behind nothing": [None, np.nan, pd.NA, pd.NaT, 1, "a"],
    "huge": [2**70, 1, 2, 3, 4, 5],
    "objects": [object()] * N_ROWS,
    "complex": [1j] * N_ROWS,
    "half characters": ["\ud800", "a", "b", "c", "d", "e"],
    "decimals": [decimal.Decimal("NaN"), decimal.Decimal(1)] * 3,
    "sets": [{"a"}, set(), {"a", "b"}] * 2,
    "tuples": [("a",), (), ("a", "b")] * 2,
    "arrays": [np.array(["a"]), np.array([]), np.array(["b", "c"])] * 2,
    "square arrays": [np.ones((2, 2))] * N_ROWS,
    "lists and text": [["a"], "b"] * 3,
    "dicts": [{"a": 1}, {"b": 2}] * 3,
    "dates": [dt.date(2024, 5, 31), pd.Timestamp("2024-05-31")] * 3,
    "categories": pd.Categorical(["a", "b", None, "a", "b", "a"], categories=["z", "b", "a"]),
    "mixed categories": pd.Categorical([1, "a"] * 3),
    "intervals": pd.cut([1, 2, 3, 4, 5, 6], 3),
    "periods": pd.period_range("2024", periods=N_ROWS, freq="D"),
    "nullable": pd.array([1, None] * 3, dtype="Int64"),
    "nullable bool": pd.array([True, None] * 3, dtype="boolean"),
    "sparse": pd.arrays.SparseArray([1, 0] * 3),
    "zones": pd.date_range("2024-05-31", periods=N_ROWS, tz="Europe/Berlin"),
}

POLARS_COLUMNS = {
    "categories": pl.Series(["a", "b", None] * 2, dtype=pl.Categorical),
    "enum": pl.Series(["a", "b"] * 3, dtype=pl.Enum(["z", "b", "a"])),
    "struct": pl.Series([{"a": 1}] * N_ROWS),
    "array": pl.Series([["a", "b"]] * N_ROWS, dtype=pl.Array(pl.String, 2)),
    "lists of categories": pl.Series([["a", None], []] * 3, dtype=pl.List(pl.Categorical)),
    "object": pl.Series([object()] * N_ROWS, dtype=pl.Object),
    "int128": pl.Series([2**100, 1] * 3, dtype=pl.Int128),
    "null": pl.Series([None] * N_ROWS),
    "decimal": pl.Series([decimal.Decimal("0.5")] * N_ROWS),
    "binary": pl.Series([b"\xff"] * N_ROWS),
    "duration": pl.Series([dt.timedelta(1)] * N_ROWS),
    "float": pl.Series([1.0, float("nan"), None] * 2),
}

ROLES = ["worker", "item", "label", "labels", "value", "asked", "time"]
SOME_TRUTH = Truth.from_frames(pa.table({"item": ["a"], "label": ["a"]}))
WAYS = [
    {},
    {"unmentioned": "absent"},
    {"unmentioned": "unknown", "on_conflict": "last", "labels": ["a", "b"]},
    {"zero": "no", "on_conflict": "last", "items": ["a", "z"]},
    {"threshold": 0.5, "label_separator": ","},
]


def without_workers(frame):
    """The same table as truth, which would be refused at once where it names workers."""
    if isinstance(frame, pa.Table):
        return frame.select([place for place, name in enumerate(frame.column_names) if name != "worker"])
    if isinstance(frame, pd.DataFrame):
        return frame.drop(columns="worker", errors="ignore")
    return frame.drop("worker", strict=False) if isinstance(frame, pl.DataFrame) else frame


def use_all_ways(frame):
    """Make everything of a frame that can be made of it; an error that is not ours fails the test."""
    for options in WAYS:
        with contextlib.suppress(AmccError):
            votes = Votes.from_frame(frame, **options)
            assert len(votes.to_sets()) <= len(votes)
    for make in (
        lambda: Truth.from_frames(frame),
        lambda: Truth.from_frames(without_workers(frame), unmentioned="absent"),
        lambda: Truth.from_frames(without_workers(frame), known_items=frame),
        lambda: Truth.from_frames(without_workers(frame), known_pairs=without_workers(frame)),
        lambda: evaluate(frame, SOME_TRUTH),
        lambda: Votes.from_wide({"x": frame, "y": frame}),
    ):
        with contextlib.suppress(AmccError):
            make()


LONG = {"worker": WORDS, "item": WORDS, "label": WORDS, "value": ARROW_COLUMNS["votes"]}
SETS = {"worker": WORDS, "item": pa.array(list("uvwxyz")), "labels": ARROW_COLUMNS["lists"]}
PLACES = [(LONG, role) for role in ROLES] + [(SETS, role) for role in ("labels", "asked")]


@pytest.mark.parametrize("name", ARROW_COLUMNS)
def test_odd_arrow_columns_in_every_role(name):
    column = ARROW_COLUMNS[name]
    for layout, role in PLACES:
        use_all_ways(pa.table({**layout, role: column}))
    use_all_ways(pa.table({"item": WORDS, "label": pa.array(list("uvwxyz")), "probability": column}))


@pytest.mark.parametrize("name", PANDAS_COLUMNS)
def test_odd_pandas_columns_in_every_role(name):
    column = PANDAS_COLUMNS[name]
    column = pd.Series(column, dtype=object) if isinstance(column, list) else column
    for layout, role in PLACES:
        use_all_ways(pd.DataFrame({**{key: cells.to_pylist() for key, cells in layout.items()}, role: column}))


@pytest.mark.parametrize("name", POLARS_COLUMNS)
def test_odd_polars_columns_in_every_role(name):
    column = POLARS_COLUMNS[name]
    for layout, role in PLACES:
        use_all_ways(pl.DataFrame({**{key: cells.to_pylist() for key, cells in layout.items()}, role: column}))


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*ROLES, "probability", "present"]), st.sampled_from(sorted(ARROW_COLUMNS)), min_size=1
    ),
    st.integers(0, N_ROWS),
    st.integers(0, N_ROWS),
)
def test_random_tables(roles, begin, length):
    use_all_ways(pa.table({role: ARROW_COLUMNS[name] for role, name in roles.items()}).slice(begin, length))


@pytest.mark.parametrize(
    "table",
    [
        pa.table({}),
        pa.table([WORDS, WORDS, WORDS, WORDS], names=["worker", "worker", "item", "label"]),
        pa.table({"": WORDS, "item": WORDS, "label": WORDS}),
        pa.schema({"worker": pa.string(), "item": pa.string(), "label": pa.string()}).empty_table(),
        pa.table({name: pa.chunked_array([], pa.string()) for name in ("worker", "item", "label")}),
        pd.DataFrame(),
        pd.DataFrame([[1, 2, 3]], columns=["worker", "item", "item"]),
        pd.DataFrame([[1, 2, 3]], columns=pd.MultiIndex.from_tuples([("a", "worker"), ("a", "item"), ("b", "label")])),
        pd.DataFrame([[1, 2, 3]], columns=[0, "item", None]),
        pl.DataFrame(),
    ],
)  # fmt: skip
def test_odd_tables(table):
    use_all_ways(table)
    with pytest.raises(AmccError):
        Votes.from_frame(table, unmentioned="absent")
