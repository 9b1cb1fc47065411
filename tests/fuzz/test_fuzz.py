"""A slice of `make fuzz`, and a check that the fuzzer notices what it is there to notice."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import fuzzing
import plain
import pytest
from readers import READERS

SLICE = 400
"""Inputs, about a second's worth."""


def test_a_slice_of_the_inputs(tmp_path: Path) -> None:
    end, found = fuzzing.run_batch(0, range(SLICE), tmp_path, deadline=float("inf"))
    assert end == SLICE
    assert [dataclasses.asdict(finding) for finding in found] == []


@pytest.mark.parametrize("name", READERS)
def test_whole_files_are_read_alike(name: str, tmp_path: Path) -> None:
    """Undamaged, every file is accepted, by the plain reading, too: else nothing would be compared."""
    reader = READERS[name]
    accepted = 0
    for data in reader.seeds():
        assert fuzzing.problem_of(name, data, tmp_path) is None
        if reader.plain is not None:
            accepted += bool(reader.plain(data))
    assert accepted or reader.plain is None


def test_inputs_depend_on_the_seed_and_the_number_only() -> None:
    assert fuzzing.input_of(3, 17) == fuzzing.input_of(3, 17)
    assert len({fuzzing.input_of(seed, number) for seed in (3, 4) for number in range(20)}) > 30


def crash(path: Path) -> None:
    os.abort()


def refuse_nothing(path: Path) -> dict[str, object]:
    return {}


@pytest.mark.parametrize(
    "read, kind",
    [
        (lambda path: 1 / 0, "ZeroDivisionError in"),
        (lambda path: {"votes": {}}, "read differently"),
        (refuse_nothing, "accepted though: columns"),
    ],
)
def test_findings_are_found(read: object, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that fails in this way is noticed."""
    monkeypatch.setitem(READERS, "csv", dataclasses.replace(READERS["csv"], read=read))  # type: ignore[arg-type]
    data = b"\xff" if "columns" in kind else READERS["csv"].seeds()[0]
    problem = fuzzing.problem_of("csv", data, tmp_path)
    assert problem is not None
    assert problem[0].startswith(kind)


def test_a_crash_is_a_finding_and_the_rest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys; sys.path.insert(0, {str(Path(fuzzing.__file__).parent)!r})\n"
        "import dataclasses, os, readers\n"
        "readers.READERS.update({name: dataclasses.replace(reader, read=lambda path: os.abort())\n"
        "                        for name, reader in readers.READERS.items() if name == 'ids'})\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    first = next(number for number in range(SLICE) if fuzzing.input_of(0, number)[0] == "ids")
    end, found = fuzzing.run_batch(0, range(first, first + 2), tmp_path, deadline=float("inf"))
    assert end == first + 1
    assert [(finding.number, finding.reader) for finding in found] == [(first, "ids")]
    assert found[0].kind.startswith("the process ended with -")


def test_the_plain_reading_reads() -> None:
    rows = plain.csv_rows(b'worker,item,label,value\n"a,b",1,x,yes\n"a,b",1,y,\n')
    assert plain.votes(rows) == {"votes": {("a,b", "1", "x"): 1}, "worker": {"a,b"}, "item": {"1"}, "label": {"x", "y"}}
