"""Files that would not fit in memory are refused before they fill it, also those that look small."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from amcc import memory
from amcc.cli.options.engines import EngineOptions
from amcc.errors import TooLargeError
from amcc.files import TEXT_GROWS, open_text
from amcc.io import read_table, read_votes
from amcc.io.pack import pack_votes
from amcc.memory import reading_at_most
from running import run_amcc

N_ROWS = 200_000
LIMIT = 2_000_000


@pytest.fixture(scope="module")
def bomb(tmp_path_factory) -> Path:
    """Two megabytes of votes in a few kilobytes."""
    path = tmp_path_factory.mktemp("bomb") / "votes.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"worker,item,label,value\n" + b"w1,i1,l1,1\n" * N_ROWS)
    assert path.stat().st_size < 0.01 * N_ROWS * 11
    return path


def test_a_small_file_that_holds_much_is_refused(bomb):
    run = run_amcc("consensus", bomb, "--memory", "2MB")
    assert run.returncode == 1
    assert "must fit in 2 MB of memory" in run.stderr
    assert "amcc pack" in run.stderr
    assert run_amcc("consensus", bomb, "--memory", "100MB").returncode == 0


@pytest.mark.parametrize("suffix", [".csv.gz", ".jsonl.gz", ".json.gz"])
def test_all_compressed_text_is_limited(tmp_path, suffix):
    path = tmp_path / f"votes{suffix}"
    line = {".csv.gz": b"ann,1,cat\n", ".jsonl.gz": b'{"worker": 1, "item": 2, "label": 3}\n', ".json.gz": b"[1],\n"}
    path.write_bytes(gzip.compress((b"worker,item,label\n" if suffix == ".csv.gz" else b"") + line[suffix] * N_ROWS))
    with reading_at_most(LIMIT), pytest.raises(TooLargeError, match=r"2 MB.*amcc pack"):
        read_votes(path)


def test_a_column_of_one_word_takes_no_room_in_parquet_but_in_memory(tmp_path):
    path = tmp_path / "votes.parquet"
    pq.write_table(pa.table({name: pa.array(["x"] * N_ROWS) for name in ("worker", "item", "label")}), path)
    assert path.stat().st_size < 10_000
    with reading_at_most(LIMIT), pytest.raises(TooLargeError, match=r"2 MB.*amcc pack"):
        read_table(path)
    assert read_table(path).num_rows == N_ROWS


def test_plain_files_are_refused_by_their_size_only_where_a_limit_was_said(tmp_path, monkeypatch):
    path = tmp_path / "votes.csv"
    path.write_text("worker,item,label\n" + "ann,1,cat\n" * 100)
    with reading_at_most(100 * TEXT_GROWS), pytest.raises(TooLargeError):
        read_table(path)
    monkeypatch.setattr(memory, "all_memory", lambda: 100)
    assert read_table(path).num_rows == 100


def test_without_a_limit_what_is_compressed_must_fit_in_the_machine(bomb, monkeypatch):
    monkeypatch.setattr(memory, "all_memory", lambda: LIMIT)
    with pytest.raises(TooLargeError, match="2 MB"):
        read_votes(bomb)


def test_what_is_packed_need_not_fit(bomb, tmp_path):
    with reading_at_most(LIMIT):
        assert pack_votes(bomb, tmp_path / "packed").n_votes == 1


def test_all_of_it_is_read_within_the_limit(bomb):
    with open_text(bomb) as stream:
        assert len(stream.read()) == 24 + 11 * N_ROWS


def test_a_size_is_the_limit_of_files():
    with EngineOptions(memory="3KB").reading():
        assert memory.most_read() == 3000
    assert memory.most_read() is None
