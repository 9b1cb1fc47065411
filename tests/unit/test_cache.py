"""Results that are kept: names of files, what is measured again, and how far it is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import amcc
from amcc.experiments import cache
from amcc.experiments.cache import Count, array_hash, code_version, file_hash, kept, place


def counted(total: int) -> tuple[Count, list[tuple[int, int]]]:
    calls: list[tuple[int, int]] = []
    return Count(total, lambda *numbers: calls.append(numbers)), calls


def test_arrays_are_told_apart_by_content_and_order():
    one, two = np.arange(3), np.arange(3) + 1
    found = [array_hash(one), array_hash(two), array_hash(one, two), array_hash(two, one), array_hash("x", one)]
    assert len(set(found)) == 5
    assert array_hash(one) == array_hash(one.copy())


def test_how_an_array_lies_in_memory_does_not_matter():
    table = np.arange(12).reshape(3, 4)
    assert array_hash(table) == array_hash(np.asfortranarray(table))
    assert array_hash(table[:, ::2]) == array_hash(table[:, ::2].copy())


def test_files_are_told_apart_by_content(tmp_path):
    for name, text in (("a", "one"), ("b", "one"), ("c", "two")):
        (tmp_path / name).write_text(text)
    assert file_hash(tmp_path / "a") == file_hash(tmp_path / "b") != file_hash(tmp_path / "c")


def test_the_version_covers_models_but_not_commands(monkeypatch):
    seen = []
    monkeypatch.setattr(cache, "file_hash", lambda *paths: seen.extend(paths) or "hash")
    assert code_version.__wrapped__() == "hash"
    rooms = {path.relative_to(Path(amcc.__file__).parent).parts[0] for path in seen}
    assert {"consensus", "votes", "metrics.py", "data"} <= rooms
    assert not rooms & {"cli", "experiments", "report"}


PARTS = st.lists(st.one_of(st.integers(), st.text(max_size=5), st.none(), st.booleans()), max_size=4)


@given(PARTS, PARTS)
def test_names_are_equal_exactly_where_results_depend_on_the_same(one, other):
    same = json.dumps(one) == json.dumps(other)
    assert (place(Path("x"), one) == place(Path("x"), other)) == same


def test_names_are_short_files_of_the_folder(tmp_path):
    found = place(tmp_path, ["anything"])
    assert found.parent == tmp_path
    assert found.suffix == ".json"
    assert len(found.stem) == cache.NAME_LENGTH


def test_what_is_there_is_not_measured(tmp_path):
    there, missing = tmp_path / "there.json", tmp_path / "missing.json"
    there.write_text("7")
    seen = []
    count, calls = counted(2)
    found = kept(lambda x: seen.append(x) or 10 * x, [(there, (1,)), (missing, (2,))], n_processes=1, count=count)
    assert found == [7, 20]
    assert seen == [2]
    assert missing.read_text() == "20"
    assert calls == [(1, 2), (2, 2)]


def test_two_tasks_with_one_file_are_measured_once(tmp_path):
    path, seen = tmp_path / "one.json", []
    count, calls = counted(2)
    assert kept(lambda x: seen.append(x), [(path, (1,)), (path, (1,))], n_processes=1, count=count) == [None, None]
    assert seen == [1]
    assert calls[-1] == (2, 2)


def test_an_error_keeps_what_was_done(tmp_path):
    tasks = [(tmp_path / f"{number}.json", (number,)) for number in (2, 1, 0)]
    with pytest.raises(ZeroDivisionError):
        kept(lambda x: 1 // x, tasks, n_processes=1, count=counted(3)[0])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.json", "2.json"]


def test_no_more_processes_than_tasks(tmp_path, monkeypatch):
    used = []

    def spy(work, tasks, n_processes):
        used.append(n_processes)
        return iter(())

    monkeypatch.setattr(cache, "computed", spy)
    there = tmp_path / "there.json"
    there.write_text("0")
    kept(abs, [(there, (1,))], n_processes=8, count=counted(1)[0])
    assert used == [1]


def test_counting_adds_up():
    count, calls = counted(5)
    count(3)
    count()
    assert calls == [(3, 5), (4, 5)]
    assert cache.silent(1, 2) is None
