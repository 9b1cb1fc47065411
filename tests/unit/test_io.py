from __future__ import annotations

import csv
import gzip
import io
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from amcc.errors import (
    AmccError,
    ColumnError,
    ConflictError,
    EmptyInputError,
    FileFormatError,
    IdError,
    InputError,
    ParameterError,
    VoteValueError,
)
from amcc.files import whole_file
from amcc.io import read_ids, read_table, read_truth, read_votes, spool, write_table, write_votes
from amcc.io.pack import pack_votes
from amcc.votes import Votes

CSV = "worker,item,label,value\nw1,007,a,1\nw2,7,b,0\n"
EXPECTED = Votes.from_frame(
    pa.table({"worker": ["w1", "w2"], "item": ["007", "7"], "label": ["a", "b"], "value": [1, 0]})
)


@pytest.fixture
def put(tmp_path):
    """Write text or bytes to a file of this name."""

    def write(name, content):
        path = tmp_path / name
        content = content if isinstance(content, bytes) else content.encode()
        path.write_bytes(gzip.compress(content, mtime=0) if name.lower().endswith(".gz") else content)
        return path

    return write


# --- text tables --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, content",
    [
        ("votes.csv", CSV),
        ("VOTES.CSV", CSV),
        ("votes.csv.gz", CSV),
        ("VOTES.CSV.GZ", CSV),
        ("votes.gz.csv", CSV),
        ("votes.csv", "\ufeff" + CSV),
        ("votes.csv", CSV.replace("\n", "\r\n")),
        ("votes.csv", "\n" + CSV + "\n\n"),
        ("votes.csv", CSV.removesuffix("\n")),
        ("votes.csv", CSV.replace(",", ";")),
        ("votes.txt", CSV.replace(",", "\t")),
        ("votes.tsv", CSV.replace(",", "\t")),
        ("votes.tsv.gz", CSV.replace(",", "\t")),
        ("votes.csv", '"worker","item","label","value"\n"w1","007","a","1"\n"w2","7","b","0"\n'),
        ("votes.csv", 'worker,item,note,label,value\nw1,007,"x, y",a,1\nw2,7,,b,0\n'),
    ],
)
def test_text_tables_in_the_shapes_people_have(put, name, content):
    assert read_votes(put(name, content)) == EXPECTED


def test_another_separator_can_be_said(put):
    path = put("votes.csv", CSV.replace(",", "|"))
    with pytest.raises(ColumnError, match="another separator"):
        read_votes(path)
    assert read_votes(path, separator="|") == EXPECTED


@pytest.mark.parametrize("separator", ["", "ab", "\n", '"', "é"])
def test_a_separator_is_one_plain_character(put, separator):
    with pytest.raises(ParameterError, match="separator must be one ASCII character"):
        read_votes(put("votes.csv", CSV), separator=separator)


def test_only_text_tables_have_separators(tmp_path):
    write_votes(EXPECTED, tmp_path / "v.parquet")
    with pytest.raises(ParameterError, match="separator is for text tables"):
        read_votes(tmp_path / "v.parquet", separator=";")


def test_line_ends_in_cells_across_blocks(put, monkeypatch):
    monkeypatch.setattr("amcc.io.csv.BLOCK_BYTES", 64)
    rows = [(f"w\n{n}", f'i"{n}', "a,b", "1") for n in range(50)]
    lines = [",".join('"{}"'.format(cell.replace('"', '""')) for cell in row) for row in rows]
    votes = read_votes(put("votes.csv", "\n".join(["worker,item,label,value", *lines])))
    assert sorted(votes.worker_names.to_pylist()) == sorted(row[0] for row in rows)
    assert votes.label_names.to_pylist() == ["a,b"]


def test_sets_as_text(put):
    path = put("votes.csv", "worker,item,labels\nw,i,a|b\nw,j,\n")
    votes = read_votes(path, unmentioned="absent")
    assert votes.to_dense().tolist() == [[[1, 1], [-1, -1]]]
    other = put("other.csv", "worker,item,labels\nw,i,a;b\n")
    assert read_votes(other, unmentioned="absent", label_separator=";").n_labels == 2


def test_times_in_text_files(put):
    content = "worker,item,label,value,time\nw,i,a,1,2024-06-01\nw,i,a,0,2024-05-31\n"
    assert read_votes(put("votes.csv", content), on_conflict="last").value.tolist() == [1]


# --- errors -------------------------------------------------------------------------------------------------

HEADER = "worker,item,label,value\n"
BAD = {
    "empty file": ("v.csv", "", FileFormatError, "is empty"),
    "only line ends": ("v.csv", "\n\n \n", FileFormatError, "no header line"),
    "no rows": ("v.csv", HEADER, EmptyInputError, "no rows"),
    "missing column": ("v.csv", "worker,item,value\nw,i,1\n", ColumnError, "column for the label is missing"),
    "twice the same column": ("v.csv", "worker,item,item,label\nw,i,i,a\n", ColumnError, "unique"),
    "unknown value": ("v.csv", HEADER + "w,i,a,1\nw,i,b,maybe\n", VoteValueError, "'value' has 'maybe' in row 2"),
    "empty id": ("v.csv", HEADER + "w,i,a,1\n ,i,b,1\n", IdError, "'worker' is empty in row 2"),
    "contradiction": ("v.csv", HEADER + "w,i,a,1\nw,i,a,0\n", ConflictError, "row 1 and 2"),
    "short row": ("v.csv", HEADER + "w,i,a,1\nw,i,a\n", FileFormatError, "must have 4 columns; row 2 has 3"),
    "long row": ("v.csv", HEADER + "w,i,a,1\nw,i,a,b,1\n", FileFormatError, "must have 4 columns; row 2 has 5"),
    "Latin 1": ("v.csv", HEADER.encode() + b"w,i,a,1\nw,caf\xe9,a,1\n", FileFormatError, "row 2 has the byte 0xe9"),
    "Latin 1 header": ("v.csv", b"worker,item,l\xe9bel\n", FileFormatError, "the header has the byte 0xe9"),
    "UTF-16": ("v.csv", (HEADER + "w,i,a,1\n").encode("utf-16"), FileFormatError, "UTF-16"),
    "binary": ("v.csv", bytes(range(128, 256)), FileFormatError, "UTF-8"),
    "not compressed": ("v.csv.gz", None, FileFormatError, "damaged"),
    "JSON cut off": ("v.jsonl", '{"worker": "w"}\n{"worker": "w', FileFormatError, "row 2 is not, or it is cut off"),
    "JSON array": ("v.jsonl", '["w"]\n', FileFormatError, "row 1 is"),
    "JSON mixed": ("v.jsonl", '{"worker": 1}\n{"worker": "w"}\n', FileFormatError, "row 1 holds float, row 2 str"),
    "JSON not UTF-8": ("v.jsonl", b'{"worker": "w"}\n{"worker": "\xff"}\n', FileFormatError, "UTF-8 text; row 2"),
    "JSON missing field": (
        "v.jsonl",
        '{"worker": "w", "item": "i", "label": "a", "value": 1}\n{"worker": "w", "item": "i", "value": 1}\n',
        IdError,
        "'label' is empty in row 2",
    ),
    "no Parquet": ("v.parquet", CSV, FileFormatError, "not a readable Parquet file"),
    "other suffix": ("v.doc", CSV, InputError, "one of .csv"),
    "spreadsheet": ("v.xlsx", CSV, InputError, "save it as CSV"),
    "endless header": ("v.csv", "worker," * (3 << 20), FileFormatError, "must end within 16 MB"),
    "JSON lists 5,000 deep": (
        "v.jsonl",
        '{"worker": "w"}\n{"x": ' + "[" * 5000 + "]" * 5000 + "}\n",
        FileFormatError,
        "row 2 holds something nested more than 64 levels deep",
    ),
    # Arrow crashes the process on each of these.
    "JSON objects 100,000 deep": ("v.jsonl", '{"x":' * 10**5 + "1" + "}" * 10**5, FileFormatError, "row 1 holds"),
    "JSON lists 100,000 deep, also closed": (
        "v.jsonl",
        '{"x": ' + "[[]," * 10**5 + "1" + "]" * 10**5 + "}",
        FileFormatError,
        "row 1 holds",
    ),
    "JSON null before an object": ("v.jsonl", 'null{"worker": "w"}\n', FileFormatError, "row 1 is not"),
    "JSON null after an object": ("v.jsonl", '{"worker": "}"}\n{"worker": "w"}null\n', FileFormatError, "row 2 is not"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_explained(put, name):
    file, content, error, message = BAD[name]
    path = put(file, content or "")
    if content is None:
        path.write_text(CSV)
    with pytest.raises(error, match=message) as caught:
        read_votes(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("suffix", [".csv.gz", ".jsonl.gz"])
def test_a_compressed_file_that_is_cut_off(tmp_path, suffix):
    path = tmp_path / f"votes{suffix}"
    write_votes(EXPECTED, path)
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(FileFormatError, match=r"damaged or cut off.*again"):
        read_votes(path)


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(FileFormatError, match="does not exist"):
        read_votes(tmp_path / "nothing.csv")
    with pytest.raises(FileFormatError, match="is not a folder of packed votes"):
        read_votes(tmp_path)


def test_headers_may_be_long(put):
    """Also where the columns that matter stand behind the first 64 KB."""
    others = [f"a column with number {number}" for number in range(4000)]
    rows = [[*others, "worker", "item", "label", "value"], [""] * 4000 + ["w", "i", "a", "1"]]
    votes = read_votes(put("v.csv", "\n".join(",".join(row) for row in rows)))
    assert votes.worker_names.to_pylist() == ["w"]


def test_brackets_in_json_text_are_text(put):
    deep = "[{" * 100
    rows = [
        {"worker": 'a "[', "item": deep, "label": "\\", "value": 1},
        {"worker": "} x", "item": deep, "label": '\\"['},
    ]
    votes = read_votes(put("v.jsonl", "\n".join(json.dumps({"value": 0, **row}) for row in rows)))
    assert votes.worker_names.to_pylist() == ['a "[', "} x"]
    assert votes.item_names.to_pylist() == [deep]


def test_json_lines_are_checked_in_blocks(put, monkeypatch):
    monkeypatch.setattr("amcc.io.jsonl.BLOCK_BYTES", 7)
    row = '{"worker": "w", "item": %d, "label": "a\\\\", "value": 1}\n'
    path = put("v.jsonl", "".join(row % number for number in range(9)) + "[]")
    with pytest.raises(FileFormatError, match=r"row 10 is not, or it is cut off: b'\[\]'"):
        read_votes(path)


def test_json_lines_with_a_mark_at_the_beginning(put):
    votes = read_votes(put("v.jsonl", b'\xef\xbb\xbf{"worker": "w", "item": 1, "label": "a", "value": 1}\r\n'))
    assert votes.worker_names.to_pylist() == ["w"]


def test_no_wrong_byte_in_a_parquet_file_gets_past_us(tmp_path):
    """Codes of words that are not in the dictionary, for example, which Arrow reads without a word."""
    path = tmp_path / "v.parquet"
    column = pa.array(["a", "b", "a"])
    pq.write_table(pa.table({"worker": column, "item": column, "label": column, "value": [1, 1, 1]}), path)
    data, refused = path.read_bytes(), 0
    for place in range(4, 200):
        path.write_bytes(data[:place] + b"\x7f" + data[place + 1 :])
        try:
            read_votes(path)
        except AmccError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("read", [read_votes, pack_votes])
def test_columns_of_any_type_are_read_or_refused(read, tmp_path):
    """In memory and packed."""
    path, folder = tmp_path / "v.parquet", [tmp_path / "packed"] if read is pack_votes else []
    table = pa.table({"worker": ["w", "v"], "item": ["i", "i"], "label": ["a", "b"]})
    pq.write_table(table.append_column("value", pa.array([{"x": 1}, {"x": 0}])), path)
    with pytest.raises(InputError, match=r"v\.parquet: "):
        read(path, *folder)
    lists = {"labels": pa.array([[1], []], pa.list_(pa.int64())), "asked": pa.array(["1|2", "1"])}
    pq.write_table(
        table.drop("label").append_column("labels", lists["labels"]).append_column("asked", lists["asked"]), path
    )
    votes = read(path, *folder)
    votes = votes if read is read_votes else votes.votes()
    assert votes.label_names.to_pylist() == ["1", "2"]
    assert len(votes) == 3


def test_parquet_with_one_name_twice(tmp_path):
    path = tmp_path / "v.parquet"
    pq.write_table(pa.table([pa.array(["a"])] * 2, names=["worker", "worker"]), path)
    with pytest.raises(ColumnError, match="unique"):
        read_votes(path)


# --- types --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix, kind", [(".parquet", int), (".jsonl", int), (".csv", str)])
def test_numbers_stay_numbers_where_the_format_knows_them(tmp_path, suffix, kind):
    votes = Votes.from_frame(pa.table({"worker": [10, 9], "item": [1, 2], "label": ["a", "b"], "value": [1, 0]}))
    path = tmp_path / f"v{suffix}"
    write_votes(votes, path)
    assert read_votes(path).worker_names.to_pylist() == sorted([kind(9), kind(10)])


@pytest.mark.parametrize("sets", [False, True])
def test_json_text_that_looks_like_a_date_stays_text(tmp_path, sets):
    names = ["2024-05-31", "2024-05-31 10:00:00", "2024-05-31T10:00:00Z"]
    votes = Votes.from_frame(pa.table({"worker": names, "item": names, "label": names, "value": [1, 1, 0]}))
    write_votes(votes, tmp_path / "v.jsonl", sets=sets)
    assert read_votes(tmp_path / "v.jsonl") == votes


def test_parquet_columns_may_have_any_name_and_type_where_they_are_not_needed(tmp_path):
    path = tmp_path / "_v.pq"
    table = EXPECTED.to_arrow().rename_columns(["a.b", "item", "label", "value"])
    pq.write_table(table.append_column("junk", pa.array([{"x": [1]}, None])), path)
    assert read_votes(path, columns={"worker": "a.b"}) == EXPECTED


# --- lists of names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, content",
    [
        ("labels.txt", "a\n\n \nb\n"),
        ("labels", "\ufeffa\r\nb"),
        ("labels.csv", "label,note\na,x\nb,\n"),
        ("labels.jsonl", '{"label": "a"}\n{"label": "b"}\n{"label": null}\n'),
    ],
)
def test_lists_of_names(put, name, content):
    assert read_ids(put(name, content)) == ["a", "b"]


def test_lists_of_numbers(tmp_path):
    pq.write_table(pa.table({"item": [0, 7, None]}), tmp_path / "items.parquet")
    assert read_ids(tmp_path / "items.parquet") == [0, 7]


def test_only_line_ends_end_a_name_in_a_list(put):
    assert read_ids(put("l.txt", "a\u2028b\nc\x0bd\r\ne\x85f\rg\n")) == ["a\u2028b", "c\x0bd", "e\x85f", "g"]


@pytest.mark.parametrize(
    "content, suffix",
    [
        (CSV.encode(), ".csv"),
        (gzip.compress(CSV.encode(), mtime=0), ".csv.gz"),
        (b'\n {"worker": 1}\n', ".jsonl"),
        (gzip.compress(b'{"worker": 1}\n', mtime=0), ".jsonl.gz"),
        (b"PAR1....", ".parquet"),
        (b"", ".csv"),
        (b"\x1f\x8bnot really", ".csv.gz"),
    ],
)
def test_what_a_stream_holds_is_known_by_its_beginning(content, suffix, tmp_path):
    path = spool(io.BytesIO(content), tmp_path)
    assert path.name == f"standard-input{suffix}"
    assert path.read_bytes() == content


def test_a_list_of_names_that_ends_in_the_mark_at_its_beginning(put):
    with pytest.raises(FileFormatError, match="UTF-8"):
        read_ids(put("l.txt", b"\xef\xbb"))


def test_a_list_of_names_that_is_not_utf8(put):
    with pytest.raises(FileFormatError, match="UTF-8"):
        read_ids(put("labels.txt", b"caf\xe9\n"))


# --- writing ------------------------------------------------------------------------------------------------


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("suffix", [".csv", ".CSV.GZ", ".tsv", ".parquet", ".jsonl.gz"])
def test_a_written_file_is_alone_and_ordinary(tmp_path, suffix):
    path = tmp_path / f"votes{suffix}"
    write_votes(EXPECTED, path)
    assert files_in(tmp_path) == [path.name]
    assert read_votes(path) == EXPECTED
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_compression_goes_by_the_end_of_the_name(tmp_path):
    write_votes(EXPECTED, tmp_path / "votes.gz.csv")
    assert (tmp_path / "votes.gz.csv").read_bytes().startswith(b"worker,item,label,value\nw1,007,a,1\n")


@pytest.mark.parametrize("name", ["a,b", 'say "x"', "a\nb", "a\rb", "a\tb"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_text_is_quoted_where_it_must_be(tmp_path, name, suffix):
    header = name.replace("\r", " ")
    table = pa.table({header: pa.array([name, "plain"], pa.large_string()), "n": [1, 2]})
    path = tmp_path / f"table{suffix}"
    write_table(table, path)
    with path.open(newline="") as file:
        rows = list(csv.reader(file, delimiter="\t" if suffix == ".tsv" else ","))
    assert rows == [[header, "n"], [name, "1"], ["plain", "2"]]


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").touch()
    for path, reason in (
        (tmp_path / "folder.csv", "it is a directory"),
        (tmp_path / "missing" / "votes.csv", "No such file or directory"),
        (tmp_path / "file" / "votes.csv", "Not a directory"),
    ):
        with pytest.raises(InputError, match=f"cannot be written: {reason}"):
            write_votes(EXPECTED, path)
    assert files_in(tmp_path) == ["file", "folder.csv"]
    assert files_in(tmp_path / "folder.csv") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        write_votes(EXPECTED, folder / "votes.csv")


def test_who_reads_the_old_file_is_not_disturbed(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("old")
    with path.open() as reader:
        write_votes(EXPECTED, path)
        assert reader.read() == "old"
    assert read_votes(path) == EXPECTED


def test_unknown_suffixes_are_refused_before_writing(tmp_path):
    with pytest.raises(InputError, match="nothing is written to them; save it as CSV"):
        write_votes(EXPECTED, tmp_path / "votes.xlsx")
    assert files_in(tmp_path) == []


def test_the_old_file_stays_when_writing_fails(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("old")
    bad = pa.table({"labels": [["a|b"]]})
    with pytest.raises(ColumnError, match=r"without the separator '\|' .* got 'a\|b'. Write .jsonl or .parquet"):
        write_table(bad, path)
    assert path.read_text() == "old"
    assert files_in(tmp_path) == ["votes.csv"]


@pytest.mark.parametrize(
    "problem, error", [(OSError(28, "No space left on device"), InputError), (KeyboardInterrupt(), KeyboardInterrupt)]
)
def test_nothing_is_left_when_writing_stops_half_way(tmp_path, problem, error):
    path = tmp_path / "votes.csv"
    path.write_text("old")
    with pytest.raises(error), whole_file(path) as temporary:
        temporary.write_text("half")
        raise problem
    assert path.read_text() == "old"
    assert files_in(tmp_path) == ["votes.csv"]


@pytest.mark.parametrize("label", [" a", "a ", "a|b"])
def test_labels_that_a_text_list_would_change_are_refused(tmp_path, label):
    votes = Votes.from_frame(pa.table({"worker": ["w"], "item": ["i"], "label": [label], "value": [1]}))
    with pytest.raises(ColumnError, match=r"Write .jsonl or .parquet"):
        write_votes(votes, tmp_path / "v.csv", sets=True)
    write_votes(votes, tmp_path / "v.csv")
    assert read_votes(tmp_path / "v.csv") == votes
    write_votes(votes, tmp_path / "v.jsonl", sets=True)
    assert read_votes(tmp_path / "v.jsonl") == votes


def test_lists_with_missing_cells_and_slices_are_written(tmp_path):
    table = pa.table({"item": ["x", "i", "j", "k"], "labels": [["x"], ["a", "b"], None, []]})[1:]
    write_table(table, tmp_path / "sets.csv")
    assert (tmp_path / "sets.csv").read_text().splitlines()[1:] == ["i,a|b", "j,", "k,"]
    chunked = pa.concat_tables([table, table[:1]])
    write_table(chunked, tmp_path / "sets.csv")
    assert (tmp_path / "sets.csv").read_text().splitlines()[-1] == "i,a|b"


# --- truth --------------------------------------------------------------------------------------------------


def test_errors_about_truth_name_the_right_file(put):
    truth, items = put("truth.csv", "item,label\ni,a\n"), put("items.csv", "thing\ni\n")
    with pytest.raises(ColumnError, match="column for the item is missing") as caught:
        read_truth(truth, known_items=items)
    assert str(caught.value).startswith(str(items))
    with pytest.raises(FileFormatError) as caught:
        read_truth(truth, known_pairs=put("pairs.csv", ""))
    assert str(caught.value).startswith(str(items.with_name("pairs.csv")))
    with pytest.raises(ColumnError) as caught:
        read_truth(items)
    assert str(caught.value).startswith(str(items))


def test_truth_from_files(put):
    truth = read_truth(put("truth.csv", "item,label\n1,a\n"), known_items=put("items.csv", "item\n1\n2\n"))
    true, known = truth.matrices(pa.array([1, 2, 3]), pa.array(["a"]))
    assert true[:, 0].tolist() == [True, False, False]
    assert known[:, 0].tolist() == [True, True, False]


def test_read_table_reads_everything(put):
    assert read_table(put("t.csv", "a,b\n1,x\n")).to_pylist() == [{"a": "1", "b": "x"}]
    assert np.shape(read_table(put("t.jsonl", '{"a": 1.5}\n'))) == (1, 1)


def test_json_ids_that_would_merge_are_refused(put):
    """Beside a number with a point all are read as such, and above 2**53 not every whole number is one."""
    lines = [f'{{"worker": "w", "item": {item}, "label": "a", "value": 1}}' for item in (2**53 + 1, 2**53, "1.0")]
    with pytest.raises(IdError, match=r"votes.jsonl: .*row 1"):
        read_votes(put("votes.jsonl", "\n".join(lines)))
    assert read_votes(put("votes.jsonl", "\n".join(lines[:2]))).item_names.to_pylist() == [2**53, 2**53 + 1]


def test_lists_of_names_keep_every_space(put):
    assert read_ids(put("labels.txt", " a\nb \u2028\n\n")) == [" a", "b \u2028"]
