"""Instructions of the compiled loops: no loop takes many more than it did."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from required import absent

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import instructions

REFERENCE = json.loads(instructions.REFERENCE.read_text())


def test_no_loop_takes_many_more_instructions_than_it_did():
    """A minute of one core. Counts do not depend on who else is busy, so this cannot fail by chance."""
    if shutil.which("valgrind") is None:
        absent("valgrind", "valgrind is not installed")
    if other := instructions.why_not_comparable(REFERENCE):
        pytest.skip(other)
    counts = instructions.count()
    assert counts.keys() == REFERENCE["counts"].keys(), "loops came or went: python benchmarks/instructions.py --write"
    grown = instructions.grown(counts, REFERENCE["counts"])
    assert not grown, "\n".join([*grown, instructions.WAY_OUT])


def test_what_takes_more_is_named_with_its_numbers():
    found = instructions.grown({"a": 11.1, "b": 10.9, "c": 5.0}, {"a": 10.0, "b": 10.0, "c": 10.0})
    assert found == ["a: 11.1 instructions a row, 11 % more than the 10.0 it had"]


def test_start_and_end_of_the_program_and_the_cost_of_a_call_cancel():
    call, row = 5_000, instructions.N
    once, twice = [call + 7 * row, call + 3 * row], [2 * call + 14 * row, 2 * call + 6 * row]
    counts = [10**9, once[0], twice[0], once[1], twice[1]]
    found = instructions.per_row(["one", "two"], counts)
    assert found == {"one": pytest.approx(7, abs=0.3), "two": pytest.approx(3, abs=0.3)}


def test_marks_of_somebody_else_are_noticed():
    with pytest.raises(instructions.CountingError, match="must see 3 calls of getppid, but saw 4"):
        instructions.per_row(["loop"], [1, 2, 3, 4])


def test_other_versions_are_told(monkeypatch):
    here = instructions.conditions()
    assert instructions.why_not_comparable({**here, "counts": {}}) == ""
    found = instructions.why_not_comparable({**here, "numba": "0.1"})
    assert "numba 0.1, here " in found and "--write" in found


def test_without_valgrind_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(instructions.CountingError, match="apt-get install valgrind"):
        instructions.count()


def test_counts_are_read_as_valgrind_writes_them(tmp_path):
    for number in (2, 10, 1):
        (tmp_path / f"count.{number}").write_text(f"version: 1\npart: {number}\nsummary: {number}00\ntotals: 7\n")
    (tmp_path / "count").write_text("summary: 5\n")
    assert [instructions.counted(tmp_path / f"count.{n}") for n in instructions.parts(tmp_path)] == [100, 200, 1000]
