"""Packing: the folder holds what reading the file would give, whatever the layout, and survives interruptions."""

from __future__ import annotations

import errno
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from amcc import Votes, read_votes
from amcc.engine import packed as packed_module
from amcc.engine.packed import PackedVotes
from amcc.errors import (
    ConflictError,
    EmptyInputError,
    FileFormatError,
    IdError,
    InputError,
    ParameterError,
    VoteValueError,
)
from amcc.io import pack as pack_module
from amcc.io import parquet, write_table
from amcc.io.pack import pack_votes


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Read in many batches, so that items and vocabularies are spread over them."""
    monkeypatch.setattr(parquet, "BATCH_ROWS", 50)
    monkeypatch.setattr("amcc.io.csv.BLOCK_BYTES", 2000)


def long_table(n_rows=600, seed=0):
    """Rows in no order, with repeated votes, ids as numbers and labels as text."""
    rng = np.random.default_rng(seed)
    item, worker, label = rng.integers(90, size=n_rows), rng.integers(9, size=n_rows), rng.integers(4, size=n_rows)
    value = np.where((item + worker * label) % 3 == 0, 1, -1)
    return pa.table({"item": item, "worker": worker, "label": np.array(list("dbca"))[label], "value": value})


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "jsonl"])
def test_a_long_table_becomes_the_same_votes(suffix, tmp_path):
    path = tmp_path / f"votes.{suffix}"
    write_table(long_table(), path)
    packed, votes = pack_votes(path, tmp_path / "packed", block_votes=100), read_votes(path)
    assert len(packed.entries) > 3
    assert packed.votes() == votes
    assert packed.reading == votes.reading
    assert packed.reading.duplicates_dropped > 0
    assert read_votes(tmp_path / "packed") == votes
    assert sorted(file.name for file in tmp_path.iterdir()) == ["packed", path.name]


def test_text_that_needs_care(tmp_path):
    """Quoted cells with line ends and separators, names that only differ in their last letter, blank values."""
    rows = [f'"item {n}, a\nb",w{n % 3},l{n % 2},{["yes", "no", ""][n % 3]}' for n in range(80)]
    (tmp_path / "votes.csv").write_text("item,worker,label,value\n" + "\n".join(rows) + "\n")
    packed = pack_votes(tmp_path / "votes.csv", tmp_path / "packed", block_votes=10)
    votes = read_votes(tmp_path / "votes.csv")
    assert packed.votes() == votes
    assert packed.reading.blanks == votes.reading.blanks > 0
    assert len(packed.entries) > 3


@pytest.mark.parametrize(
    "options",
    [{"unmentioned": "absent"}, {"unmentioned": "unknown"}, {"unmentioned": "absent", "labels": list("edcba")}],
    ids=str,
)
@pytest.mark.parametrize("layout", ["ticks", "sets", "asked"])
def test_every_layout(layout, options, tmp_path):
    table = long_table().select(["item", "worker", "label"])
    if layout != "ticks":
        table = table.group_by(["item", "worker"]).aggregate([("label", "distinct")])
        table = table.rename_columns({"label_distinct": "labels"})
    if layout == "asked":
        table = table.append_column("asked", pa.array([list("abcd")] * len(table)))
    pq.write_table(table, tmp_path / "votes.parquet")
    packed = pack_votes(tmp_path / "votes.parquet", tmp_path / "packed", block_votes=200, **options)
    assert packed.votes() == read_votes(tmp_path / "votes.parquet", **options)


def test_further_items_are_in_their_places(tmp_path):
    pq.write_table(long_table(), tmp_path / "votes.parquet")
    options = {"items": [-5, 3, 1000, 45, 95]}
    packed = pack_votes(tmp_path / "votes.parquet", tmp_path / "packed", block_votes=100, **options)
    assert packed.votes() == read_votes(tmp_path / "votes.parquet", **options)


def test_last_vote_counts(tmp_path):
    table = long_table().append_column("time", pa.array(np.random.default_rng(1).permutation(600)))
    table = pa.concat_tables([table, table.set_column(3, "value", pa.array(-table["value"].to_numpy()))])
    pq.write_table(table, tmp_path / "votes.parquet")
    packed = pack_votes(tmp_path / "votes.parquet", tmp_path / "packed", block_votes=100, on_conflict="last")
    votes = read_votes(tmp_path / "votes.parquet", on_conflict="last")
    assert packed.votes() == votes
    assert packed.reading == votes.reading


def test_one_block_is_enough_for_few_votes(tmp_path):
    pq.write_table(long_table(), tmp_path / "votes.parquet")
    assert len(pack_votes(tmp_path / "votes.parquet", tmp_path / "packed").entries) == 1


# -- wrong input ----------------------------------------------------------------------------------------------------


def changed(column, row, value):
    table = long_table()
    cells = table[column].to_pylist()
    cells[row] = value
    return table.set_column(table.column_names.index(column), column, pa.array(cells))


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        (changed("worker", 330, None), IdError, r"row 31.*from row 301"),
        (changed("value", 330, 7), VoteValueError, "threshold"),
        (changed("value", 330, 0), VoteValueError, "both -1 and 0"),
        (long_table().slice(0, 0), EmptyInputError, "no rows"),
        (long_table().drop(["label"]), InputError, "label is missing"),
    ],
    ids=["no worker", "no vote", "two meanings", "no rows", "no label"],
)
def test_wrong_tables_are_refused(table, error, words, tmp_path):
    pq.write_table(table, tmp_path / "votes.parquet")
    with pytest.raises(error, match=words):
        pack_votes(tmp_path / "votes.parquet", tmp_path / "packed", block_votes=100)
    assert not (tmp_path / "packed").exists()


def test_contradictions_are_refused(tmp_path):
    table = long_table()
    opposite = table.slice(5, 1).set_column(3, "value", pa.array(-table["value"].to_numpy()[5:6]))
    pq.write_table(pa.concat_tables([table, opposite]), tmp_path / "votes.parquet")
    item, worker = (table[role][5].as_py() for role in ("item", "worker"))
    with pytest.raises(ConflictError, match=rf"worker {worker} says both for item {item}, .* nearby items"):
        pack_votes(tmp_path / "votes.parquet", tmp_path / "packed", block_votes=100)


def test_nothing_is_overwritten_unless_told(tmp_path):
    pq.write_table(long_table(), tmp_path / "votes.parquet")
    pq.write_table(long_table(seed=1), tmp_path / "other.parquet")
    pack_votes(tmp_path / "votes.parquet", tmp_path / "packed")
    with pytest.raises(InputError, match="already"):
        pack_votes(tmp_path / "other.parquet", tmp_path / "packed")
    assert pack_votes(tmp_path / "other.parquet", tmp_path / "packed", overwrite=True).votes() == read_votes(
        tmp_path / "other.parquet"
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="not a folder of packed votes"):
        pack_votes(tmp_path / "votes.parquet", tmp_path / "mine", overwrite=True)


# -- interruptions ----------------------------------------------------------------------------------------------------


class Stop(Exception):  # noqa: N818
    """Something that ends a packing."""


def test_an_interrupted_packing_goes_on(tmp_path, monkeypatch):
    """Finished blocks are not made again, and the table is not read again."""
    pq.write_table(long_table(), tmp_path / "votes.parquet")
    write, written = pack_module.write_block, []

    def write_some(folder, number, votes):
        if len(written) == 3:
            raise Stop
        written.append(number)
        return write(folder, number, votes)

    monkeypatch.setattr(pack_module, "write_block", write_some)
    with pytest.raises(Stop):
        pack_votes(tmp_path / "votes.parquet", tmp_path / "packed", block_votes=100)
    assert not (tmp_path / "packed").exists()
    monkeypatch.setattr(pack_module, "write_block", lambda *a: written.append(a[1]) or write(*a))
    monkeypatch.setattr(pack_module, "read_batches", lambda *_, **__: pytest.fail("read once more"))
    packed = pack_votes(tmp_path / "votes.parquet", tmp_path / "packed", block_votes=100)
    assert packed.votes() == read_votes(tmp_path / "votes.parquet")
    assert sorted(written) == list(range(len(packed.entries)))  # each once, in whatever order threads come to it


def test_what_killed_packings_leave_is_not_packed_with_the_rest(tmp_path, monkeypatch):
    """A bucket whose block is finished, a temporary file, and votes that had made way for those to come."""
    pq.write_table(long_table(), tmp_path / "votes.parquet")
    folder, work, old = (tmp_path / name for name in ("packed", ".packing-packed", ".old-packed"))
    pack_votes(tmp_path / "votes.parquet", folder, block_votes=100)
    names = {path.name for path in folder.iterdir()}
    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(pack_module, "_complete", raising)
        pack_votes(tmp_path / "votes.parquet", folder, block_votes=100, overwrite=True)
    for name in ("bucket-00000.arrow", ".part-1234-entry-00001.json"):
        (work / name).touch()
    folder.rename(old)
    pack_votes(tmp_path / "votes.parquet", folder, block_votes=100)
    assert {path.name for path in folder.iterdir()} == names
    assert not old.exists()


def raising(*_):
    raise Stop


def test_another_file_starts_from_the_beginning(tmp_path, monkeypatch):
    path = tmp_path / "votes.parquet"
    pq.write_table(long_table(), path)
    with monkeypatch.context() as patch, pytest.raises(Stop):
        patch.setattr(pack_module, "_complete", lambda *_: (_ for _ in ()).throw(Stop))
        pack_votes(path, tmp_path / "packed", block_votes=100)
    pq.write_table(long_table(seed=1), path)
    assert pack_votes(path, tmp_path / "packed", block_votes=100).votes() == read_votes(path)


def test_a_full_disk_leaves_the_previous_votes(tmp_path, monkeypatch):
    pq.write_table(long_table(), tmp_path / "votes.parquet")
    pq.write_table(long_table(seed=1), tmp_path / "other.parquet")
    pack_votes(tmp_path / "votes.parquet", tmp_path / "packed")

    def full(path, content):
        with packed_module.whole_file(path):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(packed_module, "_write", full)
    with pytest.raises(InputError, match="No space left"):
        pack_votes(tmp_path / "other.parquet", tmp_path / "packed", overwrite=True)
    monkeypatch.undo()
    assert read_votes(tmp_path / "packed") == read_votes(tmp_path / "votes.parquet")


# -- opening ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["no folder", "empty", "text", "future"])
def test_opening_what_is_not_packed(damage, tmp_path):
    folder = tmp_path / "packed"
    if damage != "no folder":
        folder.mkdir()
    if damage == "text":
        (folder / "meta.json").write_text("hello")
    if damage == "future":
        (folder / "meta.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(FileFormatError, match=r"not a folder of packed|cannot be read|format 99"):
        PackedVotes(folder)


def test_options_of_reading_come_too_late(tmp_path):
    pq.write_table(long_table(), tmp_path / "votes.parquet")
    pack_votes(tmp_path / "votes.parquet", tmp_path / "packed")
    with pytest.raises(ParameterError, match="belong to amcc pack"):
        read_votes(tmp_path / "packed", zero="no")


def test_blocks_are_small_on_disk(tmp_path):
    rng = np.random.default_rng(0)
    dense = rng.choice([-1, 1], size=(5, 1000, 4))
    path = tmp_path / "votes.parquet"
    pq.write_table(Votes.from_dense(dense).to_arrow(), path)
    packed = pack_votes(path, tmp_path / "packed")
    assert (packed.folder / packed.entries[0].file).stat().st_size < 2 * len(packed)
