"""What long commands share: processes, progress, and options that experiments understand."""

from __future__ import annotations

import os

import pytest

from amcc.cli import studies
from amcc.cli.board import _between_commas, _numbers, _variants
from amcc.cli.reproduce import _options, _scale
from amcc.errors import ParameterError
from amcc.experiments.reproduce.output import Provenance
from amcc.experiments.reproduce.plan import FULL, QUICK


def test_as_many_processes_as_cores_unless_chosen(monkeypatch):
    assert studies.n_processes(3) == 3
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert studies.n_processes(0) == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)  # it does not know
    assert studies.n_processes(0) == 1


def test_progress_is_not_written_to_files(capsys):
    with studies.progress_bar("Comparing") as progress:
        progress(1, 2)
        progress(2, 2)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_progress_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), studies.progress_bar("Comparing"):
        1 // 0  # noqa: B018


@pytest.mark.parametrize(("text", "parts"), [("", []), (",", []), ("a", ["a"]), (" a ,b,, c ", ["a", "b", "c"])])
def test_lists_as_people_type_them(text, parts):
    assert _between_commas(text) == parts


def test_numbers_are_whole():
    assert _numbers("--known", "10, 30") == [10, 30]
    for wrong in ("-1", "1.5", "10;30", "ten"):
        with pytest.raises(ParameterError, match=f"--known must be whole numbers .* got '{wrong}'"):
            _numbers("--known", wrong)


def test_variants_have_names_of_their_own():
    assert _variants(["a=majority", "b=majority:scores=hard"]) == {
        "a": ("majority", {}),
        "b": ("majority", {"scores": "hard"}),
    }
    with pytest.raises(ParameterError, match="got 'a' twice"):
        _variants(["a=majority", "a=dawid-skene"])


def test_seeds_change_nothing_else():
    assert _scale(False, None) is FULL
    assert _scale(True, None) is QUICK
    assert _scale(True, 7).n_runs == 7
    assert _scale(True, 7).left_out == QUICK.left_out
    with pytest.raises(ParameterError, match="seeds must be at least 1; got 0"):
        _scale(False, 0)


@pytest.mark.parametrize(
    ("what", "with_data", "quick", "seeds", "command"),
    [
        ([], False, False, None, "amcc reproduce"),
        (["table2", "r"], True, True, 3, "amcc reproduce table2 r --data DATA --quick --seeds 3"),
    ],
)
def test_the_command_names_no_folder(what, with_data, quick, seeds, command):
    assert Provenance(what, _options(with_data, quick, seeds), 10).command == command
