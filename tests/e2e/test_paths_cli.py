"""No output is an input or another output, and every output has a place: for every command and every path option.

Commands and options come from the app itself, so a new one is tested as soon as it is there.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.models import ArgumentInfo, ParameterInfo

from amcc.cli import COMMANDS as LISTED
from amcc.cli.data import COMMANDS as OF_DATA
from amcc.cli.lazy import command_of, prepared
from amcc.cli.paths import FILE, READS, TABLE, Reads, Writes, check_paths
from amcc.engine.packed import META
from running import amcc

BYTES = b"paid for"


@dataclass(frozen=True)
class Parameter:
    """One argument or option of a command as people type it."""

    name: str
    option: str | None
    kind: Any
    mark: Reads | Writes | None
    required: bool

    def typed(self, value: object) -> list[str]:
        return [str(value)] if self.option is None else [self.option, str(value)]


def parameters_of(command: Callable[..., None]) -> list[Parameter]:
    found = []
    for name, parameter in inspect.signature(prepared(command)).parameters.items():
        kind, *told = get_args(parameter.annotation)
        info = next(each for each in told if isinstance(each, ParameterInfo))
        names = [each for each in (info.default, *(info.param_decls or ())) if isinstance(each, str)]
        option = None if isinstance(info, ArgumentInfo) else next(iter(names), f"--{name.replace('_', '-')}")
        mark = next((each for each in told if isinstance(each, Reads | Writes)), None)
        found.append(Parameter(name, option, kind, mark, parameter.default is inspect.Parameter.empty))
    return found


COMMANDS = {(name,): parameters_of(command_of(name, entry)) for name, entry in LISTED.items() if entry.example}
COMMANDS |= {("data", name): parameters_of(command) for name, (command, _) in OF_DATA.items()}
OUTPUTS = {name: [each for each in of if isinstance(each.mark, Writes)] for name, of in COMMANDS.items()}
INPUTS = {name: [each for each in of if isinstance(each.mark, Reads)] for name, of in COMMANDS.items()}
PAIRS = [
    pytest.param(name, one, other, id=f"{' '.join(name)} {one.name} {other.name}")
    for name in COMMANDS
    for one, other in [*product(INPUTS[name], OUTPUTS[name]), *combinations(OUTPUTS[name], 2)]
]


def typed(name: tuple[str, ...], values: dict[str, object], folder: Path) -> list[str]:
    """A command line with these values and something for everything else that it needs."""
    words = list(name)
    for parameter in COMMANDS[name]:
        if parameter.name in values:
            words += parameter.typed(values[parameter.name])
        elif parameter.required:
            words += parameter.typed(folder / parameter.name if parameter.mark else 1)
    return words


def test_every_path_says_whether_it_is_read_or_written():
    """And there are as many as expected, so that the tests below are about something."""
    for name, parameters in COMMANDS.items():
        for parameter in parameters:
            is_path = Path in (parameter.kind, *get_args(parameter.kind))
            assert parameter.mark or not is_path, f"{' '.join(name)} {parameter.name} needs READS or one of Writes"
    assert len(COMMANDS) >= 15
    assert len(PAIRS) >= 35


@pytest.mark.parametrize(("name", "one", "other"), PAIRS)
def test_no_two_options_may_share_a_file_that_is_written(name, one, other, tmp_path):
    shared = tmp_path / "shared.csv"
    shared.write_bytes(BYTES)
    said = amcc(*typed(name, {one.name: shared, other.name: shared}, tmp_path), code=2)
    assert "both are" in said.stderr
    assert other.option in said.stderr
    assert said.stdout == ""
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("shared.csv", BYTES)]


@pytest.mark.parametrize(
    ("name", "output"),
    [pytest.param(name, each, id=" ".join((*name, each.name))) for name in OUTPUTS for each in OUTPUTS[name]],
)
def test_every_output_needs_a_place_before_the_work_starts(name, output, tmp_path):
    """No votes are there either: what is said first is what is wrong with the output."""
    (tmp_path / "file").write_bytes(BYTES)
    said = amcc(*typed(name, {output.name: tmp_path / "file" / "out.csv"}, tmp_path), code=2)
    assert "file" in said.stderr
    assert "cannot be" in said.stderr or "suffix must say the format" in said.stderr
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("file", BYTES)]


def clash(source: Path, output: Path) -> bool:
    try:
        check_paths({"VOTES": (source, READS), "--save": (output, FILE)})
    except ValueError as error:
        return "both are" in str(error)
    return False


def test_a_file_has_many_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    votes = tmp_path / "votes.csv"
    votes.write_bytes(BYTES)
    (tmp_path / "soft.csv").symlink_to(votes)
    (tmp_path / "hard.csv").hardlink_to(votes)
    (tmp_path / "folder").symlink_to(tmp_path)
    up = f"../{tmp_path.name}/votes.csv"
    for name in ("votes.csv", "./votes.csv", up, "soft.csv", "hard.csv", "folder/votes.csv"):
        assert clash(votes, Path(name)), name
        assert clash(Path(name), votes), name
    assert not clash(votes, Path("other.csv"))


def test_two_outputs_must_differ_by_more_than_case(tmp_path):
    with pytest.raises(ValueError, match="--save and --report must be different"):
        check_paths({"--save": (tmp_path / "Out", FILE), "--report": (tmp_path / "oUT", FILE)})
    (tmp_path / "loop").symlink_to("loop")
    check_paths({"--save": (tmp_path / "loop", FILE), "--output": (tmp_path / "out.csv", TABLE)})


def test_packed_votes_are_not_written_into_nor_replaced_with_what_is_read(tmp_path):
    packed = tmp_path / "packed"
    packed.mkdir()
    (packed / META).write_text("{}")
    (packed / "votes.csv").write_bytes(BYTES)
    said = amcc("consensus", packed, "-o", packed / "c.csv", code=2)
    assert "--output must not be in packed votes" in said.stderr
    said = amcc("pack", packed / "votes.csv", "-o", packed, "--overwrite", code=2)
    assert "--output must not hold what VOTES reads" in said.stderr
    assert (packed / "votes.csv").read_bytes() == BYTES


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("", "it is a directory"),
        ("nowhere/out.csv", "there is no folder nowhere"),
        ("out.xyz", "the suffix must say the format"),
        ("pipe.csv", "it is not a regular file"),
        ("locked/out.csv", "the folder locked is not writable"),
    ],
)
def test_where_an_output_cannot_go(place, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    Path("locked").mkdir(mode=0o500)
    if place.startswith("locked") and os.access("locked", os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(ValueError, match=reason):
        check_paths({"--output": (Path(place), FILE if not place else TABLE)})


@pytest.mark.parametrize(
    ("package", "words"),
    [("altair", ("consensus", "missing.csv", "--report", "r.html")), ("altair", ("demo", "-o", "demo"))],
)
def test_a_missing_extra_is_found_before_the_work_starts(package, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    assert "pip install 'amcc[report]'" in amcc(*words, code=1).stderr
    assert list(tmp_path.iterdir()) == []
