"""Appending: a folder that votes joined holds what packing all of them together gives; nothing is ever half done."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import tempfile
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from amcc import AMCC, Votes, read_votes
from amcc.consensus import DawidSkene
from amcc.engine import packed as packed_module
from amcc.engine.local import LocalEngine
from amcc.engine.packed import META, PackedVotes
from amcc.errors import ConflictError, EmptyInputError, FileFormatError, IdError, InputError, ParameterError
from amcc.io import append as append_module
from amcc.io.append import append_votes, pieces
from amcc.io.pack import pack_votes


def long_table(n_rows=600, seed=0, items=90, workers=9, labels="dbca"):
    """Rows in no order, with repeated votes, ids as numbers and labels as text; equal questions, equal votes."""
    rng = np.random.default_rng(seed)
    item, worker, label = (rng.integers(n, size=n_rows) for n in (items, workers, len(labels)))
    value = np.where((item + worker * label) % 3 == 0, 1, -1)
    return pa.table({"item": item, "worker": worker, "label": np.array(list(labels))[label], "value": value})


def written(table, path):
    pq.write_table(table, path)
    return path


def together(tables, folder, **options):
    return pack_votes(written(pa.concat_tables(tables), folder / "all.parquet"), folder / "together", **options)


def one_by_one(tables, folder, block_votes=100, **options):
    """Pack the first table, append the others."""
    first, *others = (written(table, folder / f"{number}.parquet") for number, table in enumerate(tables))
    packed = pack_votes(first, folder / "packed", block_votes=block_votes, **options)
    for path in others:
        packed = append_votes(path, folder / "packed", **options)
    return packed


def files_named(packed):
    """What a folder must hold, and nothing else."""
    shared = {packed_module.shared_file(name, packed.appended) for name in packed_module.SHARED}
    return {META, *shared, *(name for entry in packed.entries for name in (entry.file, entry.names_file))}


def check_same(packed, expected):
    assert packed.votes() == expected.votes()
    assert packed.n_pairs == expected.n_pairs
    assert set(content(packed.folder)) == files_named(packed)
    names = pa.concat_arrays([packed.item_names(entry) for entry in packed.entries])
    assert names.equals(names.take(pc.sort_indices(names))), "items are sorted over all blocks"


# -- the same as together ------------------------------------------------------------------------------------------

rows = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 5), st.sampled_from("abcde"), st.sampled_from([1, 1, -1, None])),
    min_size=1,
    max_size=60,
)


@settings(max_examples=60, deadline=None)
@given(rows=rows, cuts=st.lists(st.integers(0, 60), max_size=3), block_votes=st.integers(1, 30), text=st.booleans())
def test_any_split_gives_what_all_together_give(rows, cuts, block_votes, text):
    item, worker, label, value = zip(*rows, strict=True)
    item = [f"i{each}" for each in item] if text else item
    table = pa.table({"item": item, "worker": worker, "label": label, "value": pa.array(value, pa.int64())})
    bounds = [0, *sorted(cuts), len(rows)]
    parts = [table.slice(a, b - a) for a, b in pairwise(bounds)]
    # A file without any vote is refused, alone as well as appended.
    parts = [part for part in parts if part["value"].null_count < len(part)]
    if not parts:
        return
    with tempfile.TemporaryDirectory() as folder:
        options = {"on_conflict": "last"}
        packed = one_by_one(parts, Path(folder), block_votes, **options)
        check_same(packed, together(parts, Path(folder), **options))


@pytest.mark.parametrize("seed", [1, 2])
def test_new_items_workers_and_labels(seed, tmp_path):
    tables = [long_table(), long_table(300, seed, 140, 14, "dbcaAz"), long_table(20, 7, 200, 30, "q")]
    packed, expected = one_by_one(tables, tmp_path), together(tables, tmp_path)
    check_same(packed, expected)
    assert packed.reading == expected.reading
    assert packed.worker_names[:9].equals(pa.array(range(9)))
    assert packed.label_names.to_pylist() == ["a", "b", "c", "d", "A", "z", "q"]
    assert packed.appended == 2


@pytest.mark.parametrize("model", [AMCC, DawidSkene])
def test_the_consensus_is_the_same(model, tmp_path):
    """Blocks are cut elsewhere, and names stand in another order: sums round otherwise, and nothing else."""
    tables = [long_table(3000, 1, 200, 20), long_table(1000, 2, 260, 28, "dbcaz")]
    engines = [
        LocalEngine(made) for made in (one_by_one(tables, tmp_path, 400), together(tables, tmp_path, block_votes=400))
    ]
    assert len(engines[0].packed.entries) > 3

    def consensus(engine):
        table = pa.concat_tables(model().fit(engine).tables(engine, frame="arrow"))
        return table.sort_by([("item", "ascending"), ("label", "ascending")])

    one, other = map(consensus, engines)
    assert one.select(["item", "label", "present"]).equals(other.select(["item", "label", "present"]))
    assert_allclose(one["probability"], other["probability"], rtol=0, atol=1e-9)


def test_going_on_from_a_model_gives_the_same(tmp_path):
    tables = [long_table(3000, 1, 200, 20), long_table(150, 2, 210, 22)]
    early = AMCC().fit(LocalEngine(one_by_one(tables[:1], tmp_path, 400)))
    early.save(tmp_path / "model.amcc")
    append_votes(written(tables[1], tmp_path / "new.parquet"), tmp_path / "packed")
    found = []
    for folder in ("packed", together(tables, tmp_path, block_votes=400).folder.name):
        engine = LocalEngine(tmp_path / folder)
        model = AMCC.load(tmp_path / "model.amcc").set_params(warm_start=True).fit(engine)
        found.append(pa.concat_tables(model.tables(engine, frame="arrow")))
        assert model.n_iter_ <= 3
    assert_allclose(found[0]["probability"], found[1]["probability"], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "options",
    [{"unmentioned": "absent"}, {"unmentioned": "unknown"}, {"unmentioned": "absent", "labels": list("edcba")}],
    ids=str,
)
@pytest.mark.parametrize("layout", ["ticks", "sets", "asked"])
def test_every_layout(layout, options, tmp_path):
    table = long_table().select(["item", "worker", "label"]).group_by(["item", "worker"])
    table = table.aggregate([("label", "distinct")]).rename_columns({"label_distinct": "labels"})
    first, second = table.slice(0, 200), table.slice(200)  # whole answers
    if layout == "asked":
        first, second = (t.append_column("asked", pa.array([list("abcd")] * len(t))) for t in (first, second))
    if layout == "ticks":
        first, second = (
            pa.table(
                {
                    "item": t["item"].take(pc.list_parent_indices(t["labels"])),
                    "worker": t["worker"].take(pc.list_parent_indices(t["labels"])),
                    "label": pc.list_flatten(t["labels"]),
                }
            )
            for t in (first, second)
        )
    packed = one_by_one([first, second], tmp_path, 200, **options)
    check_same(packed, together([first, second], tmp_path, **options))
    assert packed.label_names.to_pylist() == options.get("labels", list("abcd"))


def test_further_items_are_in_their_places(tmp_path):
    one_by_one([long_table()], tmp_path)
    items = [-5, 3, 1000, 45, 95]
    packed = append_votes(written(long_table(50, 1), tmp_path / "new.parquet"), tmp_path / "packed", items=items)
    tables = [long_table(), long_table(50, 1)]
    check_same(packed, together(tables, tmp_path, items=items))


def test_numbers_join_text_and_text_joins_numbers(tmp_path):
    """A CSV file has text where a Parquet file has numbers."""
    numbers = long_table()
    text = pa.table({name: numbers[name].cast(pa.string()) for name in numbers.column_names})
    for first, second in ((numbers, text), (text, numbers)):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        packed = one_by_one([first.slice(0, 300), second.slice(300)], folder)
        check_same(packed, together([first], folder))
    packed = one_by_one([numbers], tmp_path)
    odd = text.slice(0, 1).set_column(0, "item", pa.array(["007"]))
    with pytest.raises(IdError, match=r"every item must be a whole number.*'007'"):
        append_votes(written(odd, tmp_path / "odd.parquet"), tmp_path / "packed")


def test_only_blocks_with_new_votes_are_written(tmp_path):
    packed = one_by_one([long_table()], tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in packed.folder.iterdir()}
    assert len(packed.entries) > 4
    new = pa.table({"item": [0, 1, 95], "worker": [50] * 3, "label": ["a"] * 3, "value": [1, 1, 1]})
    grown = append_votes(written(new, tmp_path / "new.parquet"), packed.folder)
    assert grown.entries[1:-1] == packed.entries[1:-1]
    assert {grown.entries[0].number, grown.entries[-1].number} == {len(packed.entries), len(packed.entries) + 1}
    for entry in grown.entries[1:-1]:
        assert (packed.folder / entry.file).stat().st_mtime_ns == before[entry.file]
    assert grown.identity != packed.identity


def test_blocks_that_have_grown_too_large_are_cut(tmp_path):
    packed = one_by_one([long_table(100, 0), long_table(3000, 1, 900, 9)], tmp_path, 100)
    assert max(entry.votes for entry in packed.entries) <= 250
    check_same(packed, together([long_table(100, 0), long_table(3000, 1, 900, 9)], tmp_path))


def test_pieces_are_whole_items_also_without_votes():
    dense = np.ones((5, 10, 2), int)
    dense[:, 8:] = 0
    votes = Votes.from_dense(dense)
    parts = list(pieces(votes, 20))
    assert [len(part) for part in parts] == [20] * 4
    assert [part.n_items for part in parts] == [2, 2, 2, 4]
    assert pa.concat_arrays([part.item_names for part in parts]).equals(votes.item_names)
    assert [len(part) for part in pieces(votes, 40)] == [80]


# -- votes that are there already ------------------------------------------------------------------------------------


def test_where_nothing_is_new_nothing_changes(tmp_path):
    packed = one_by_one([long_table()], tmp_path)
    before = content(packed.folder)
    assert append_votes(tmp_path / "0.parquet", packed.folder).identity == packed.identity
    assert content(packed.folder) == before


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def opposite(table):
    return table.set_column(3, "value", pa.array(-table["value"].to_numpy()))


def test_contradictions_are_refused(tmp_path):
    table = long_table()
    packed = one_by_one([table], tmp_path)
    before = content(packed.folder)
    item, worker = (table[role][5].as_py() for role in ("item", "worker"))
    new = written(pa.concat_tables([long_table(50, 3), opposite(table.slice(5, 1))]), tmp_path / "new.parquet")
    with pytest.raises(ConflictError, match=rf"new.parquet.*worker {worker} says both for item {item}, .*packed votes"):
        append_votes(new, packed.folder)
    assert content(packed.folder) == before


def test_the_last_vote_counts(tmp_path):
    tables = [long_table(), opposite(long_table().slice(0, 40)), long_table().slice(0, 10)]
    packed = one_by_one(tables, tmp_path, on_conflict="last")
    check_same(packed, together(tables, tmp_path, on_conflict="last"))
    assert packed.reading.conflicts_resolved > 0


@pytest.mark.parametrize(
    ("change", "options", "error", "words"),
    [
        (
            lambda t: t.append_column("time", pa.array(range(len(t)))),
            {"on_conflict": "last"},
            ConflictError,
            "when they",
        ),
        (lambda t: t, {"on_conflict": "samples"}, InputError, "further samples"),
        (lambda t: t.append_column("sample", pa.array([1] * len(t))), {}, InputError, "further samples"),
        (lambda t: t.drop(["value"]), {"unmentioned": "absent", "on_conflict": "last"}, ConflictError, "in one file"),
    ],
    ids=["time", "samples", "sample", "half an answer"],
)
def test_what_only_all_votes_together_can_decide(change, options, error, words, tmp_path):
    first = change(pa.table({"item": [1, 2], "worker": [1, 1], "label": ["a", "b"], "value": [1, 1]}))
    second = change(
        pa.table({"item": [1], "worker": [1], "label": ["b" if "unmentioned" in options else "a"], "value": [-1]})
    )
    packed = one_by_one([first], tmp_path, **options)
    before = content(packed.folder)
    with pytest.raises(error, match=words):
        append_votes(written(second, tmp_path / "new.parquet"), packed.folder, **options)
    assert content(packed.folder) == before


# -- wrong input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("packed_with", "appended_with", "words"),
    [
        ({"on_conflict": "last"}, {}, "--on-conflict was 'last', and is 'error'"),
        ({}, {"threshold": 0.5}, "--threshold was no such option, and is 0.5"),
        ({"zero": "no"}, {"zero": "unasked"}, "--zero was 'no', and is 'unasked'"),
        ({"labels": list("abcd")}, {}, "label list was 'a', 'b', 'c', 'd', and is now not given"),
        ({"labels": list("abcd")}, {"labels": list("dcba")}, "now another"),
        ({}, {"labels": list("abcd")}, "was not given"),
    ],
    ids=str,
)
def test_votes_must_be_read_as_before(packed_with, appended_with, words, tmp_path):
    one_by_one([long_table()], tmp_path, **packed_with)
    with pytest.raises(ParameterError, match=words):
        append_votes(tmp_path / "0.parquet", tmp_path / "packed", **appended_with)


@pytest.mark.parametrize("unmentioned", ["absent", None])
def test_a_label_that_cannot_be_new(unmentioned, tmp_path):
    """Packed together, every old answer would deny it; or the list said that there is no such label."""
    sets = pa.table({"item": [1, 2], "worker": [1, 1], "labels": [["a"], ["b"]]})
    table, options = (long_table(), {"labels": list("abcd")})
    if unmentioned:
        table, options = sets, {"unmentioned": unmentioned}
    one_by_one([table], tmp_path, **options)
    place = table.column_names.index("labels" if unmentioned else "label")
    strange = table.slice(0, 1).set_column(place, table.column_names[place], pa.array([["z"] if unmentioned else "z"]))
    with pytest.raises(IdError, match="'z'.*Pack all votes together" if unmentioned else "'z'"):
        append_votes(written(strange, tmp_path / "new.parquet"), tmp_path / "packed", **options)


def test_folders_and_files_that_will_not_do(tmp_path):
    packed = one_by_one([long_table()], tmp_path)
    new = tmp_path / "0.parquet"
    with pytest.raises(FileFormatError, match="not a folder of packed votes"):
        append_votes(new, tmp_path / "nowhere")
    with pytest.raises(FileFormatError, match="is a directory"):
        append_votes(packed.folder, packed.folder)
    with pytest.raises(EmptyInputError, match="no rows"):
        append_votes(written(long_table().slice(0, 0), tmp_path / "empty.parquet"), packed.folder)
    damaged = packed.folder / packed.entries[0].file
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    with pytest.raises(FileFormatError, match=r"block-00000\.npy cannot be read"):
        append_votes(written(opposite(long_table()), tmp_path / "new.parquet"), packed.folder)


def test_older_folders_are_read_and_nothing_joins_them(tmp_path):
    packed = one_by_one([long_table()], tmp_path)
    meta = json.loads((packed.folder / META).read_text())
    old = {name: value for name, value in meta.items() if name not in ("terms", "appended")} | {"format": 1}
    (packed.folder / META).write_text(json.dumps(old))
    assert PackedVotes(packed.folder).votes() == packed.votes()
    with pytest.raises(InputError, match="older amcc"):
        append_votes(tmp_path / "0.parquet", packed.folder)


# -- interruptions ---------------------------------------------------------------------------------------------------


class Stop(BaseException):
    """Something that ends an append at once, as Ctrl-C does."""


STEPS = ("write_block", "write_shared", "put_on_disk", "write_meta", "_remove_leftovers")


@pytest.mark.parametrize("error", [Stop(), OSError(errno.ENOSPC, "No space left on device")], ids=["stop", "full disk"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_an_append_that_fails_leaves_the_folder_as_it_was_or_will_be(step, after, error, tmp_path, monkeypatch):
    """At each call of each step; the next append ends as if nothing had happened."""
    packed = one_by_one([long_table()], tmp_path)
    new = written(long_table(100, 1, 120, 12, "dbcaz"), tmp_path / "new.parquet")
    old, expected = packed.votes(), together([long_table(), long_table(100, 1, 120, 12, "dbcaz")], tmp_path)
    work, failures = getattr(append_module, step), 0

    def failing_at(call):
        calls = count(1)

        def failing(*arguments):
            here = next(calls) == call
            result = None if here and not after else work(*arguments)
            if here:
                raise error
            return result

        return failing

    for call in count(1):
        with monkeypatch.context() as patch:
            patch.setattr(append_module, step, failing_at(call))
            try:
                append_votes(new, packed.folder)
            except (Stop, OSError):
                failures += 1
            else:
                break
        assert PackedVotes(packed.folder).votes() in (old, expected.votes())
    assert failures > 0
    check_same(append_votes(new, packed.folder), expected)


KILLED = """
import os, sys
from amcc.io import append
work, left = getattr(append, sys.argv[1]), int(sys.argv[2])
def deadly(*arguments):
    global left
    left -= 1
    return work(*arguments) if left else os._exit(9)
setattr(append, sys.argv[1], deadly)
append.append_votes("new.parquet", "packed")
"""


@pytest.mark.parametrize(("step", "call"), [("write_block", 2), ("write_meta", 1), ("_remove_leftovers", 2)])
def test_a_killed_append_leaves_what_the_next_one_clears(step, call, tmp_path):
    """Killed: nobody tidies up. The last point is after meta.json, where the votes are in already."""
    packed = one_by_one([long_table()], tmp_path)
    written(long_table(100, 1, 120, 12), tmp_path / "new.parquet")
    run = subprocess.run([sys.executable, "-c", KILLED, step, str(call)], cwd=tmp_path, check=False)
    assert run.returncode == 9
    expected = together([long_table(), long_table(100, 1, 120, 12)], tmp_path)
    now = PackedVotes(packed.folder)
    assert now.votes() == (expected if step == "_remove_leftovers" else packed).votes()
    assert set(content(packed.folder)) > files_named(now)
    check_same(append_votes(tmp_path / "new.parquet", packed.folder), expected)


def test_a_full_disk_leaves_the_votes(tmp_path, monkeypatch):
    packed = one_by_one([long_table()], tmp_path)
    new, before = written(long_table(100, 1), tmp_path / "new.parquet"), content(packed.folder)

    def full(path, _):
        with packed_module.whole_file(path):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(packed_module, "_write", full)
    with pytest.raises(InputError, match="No space left"):
        append_votes(new, packed.folder)
    assert content(packed.folder) == before


def test_several_at_once_wait_for_each_other(tmp_path):
    tables = [long_table(), *(long_table(100, seed, 150, 15) for seed in range(1, 5))]
    packed = one_by_one(tables[:1], tmp_path)
    code = "import sys; from amcc.io.append import append_votes; append_votes(sys.argv[1], sys.argv[2])"
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(written(table, tmp_path / f"new{n}.parquet")), packed.folder])
        for n, table in enumerate(tables[1:])
    ]
    assert [run.wait() for run in runs] == [0] * 4
    check_same(PackedVotes(packed.folder), together(tables, tmp_path))


def test_who_reads_an_older_state_is_told(tmp_path):
    """Blocks that were read stay in memory; others are gone, and nobody gets those of another state."""
    packed = one_by_one([long_table()], tmp_path)
    kept = packed.block(0)
    append_votes(written(long_table(300, 1), tmp_path / "new.parquet"), packed.folder)
    assert len(kept.votes()) == packed.entries[0].votes
    with pytest.raises(FileFormatError, match="start again if votes were appended meanwhile"):
        packed.block(1)


def test_who_changed_the_folder_meanwhile_is_not_overwritten(tmp_path, monkeypatch):
    """Where the system has no locks, or the folder was packed anew."""
    packed = one_by_one([long_table()], tmp_path)
    other = pack_votes(written(long_table(200, 9), tmp_path / "other.parquet"), tmp_path / "other")
    write = append_module.write_shared

    def meanwhile(*arguments):
        checksums = write(*arguments)
        pack_votes(tmp_path / "other.parquet", packed.folder, overwrite=True)
        return checksums

    monkeypatch.setattr(append_module, "write_shared", meanwhile)
    with pytest.raises(InputError, match="changed by somebody else"):
        append_votes(written(long_table(100, 1), tmp_path / "new.parquet"), packed.folder)
    assert read_votes(packed.folder) == other.votes()
