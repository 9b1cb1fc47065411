"""Rows and JSON for scripts, notes and tables for people."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from amcc.cli import console
from amcc.cli.console import busy, say, show_all, titled_table, visible
from amcc.cli.names import for_spreadsheets, for_terminals, uncomputed
from amcc.cli.output import RowsOutput, print_json, write_rows
from amcc.errors import InputError

TABLE = pa.table({"item": ["=1+1", "cat"], "number": [1, 2]})


@pytest.mark.parametrize(
    ("output", "as_json", "wanted"), [(None, False, True), (None, True, False), ("f.csv", True, True)]
)
def test_standard_output_belongs_to_one_of_rows_and_json(output, as_json, wanted):
    assert RowsOutput(output).is_wanted_beside(as_json) is wanted


def test_rows_go_to_standard_output(capfdbinary):
    RowsOutput().write(TABLE)
    assert capfdbinary.readouterr().out == b"item,number\n=1+1,1\ncat,2\n"


def test_several_tables_are_one_file(tmp_path, capsys):
    write_rows(iter([TABLE, TABLE.slice(0, 1)]), tmp_path / "rows.csv", safe_csv=False)
    assert (tmp_path / "rows.csv").read_text() == "item,number\n=1+1,1\ncat,2\n=1+1,1\n"
    assert "wrote 3 rows to" in capsys.readouterr().err


def test_only_text_files_are_made_safe(tmp_path):
    for name in ("rows.csv", "rows.tsv", "rows.parquet", "rows.jsonl"):
        write_rows(TABLE, tmp_path / name, safe_csv=True)
    assert "'=1+1" in (tmp_path / "rows.csv").read_text()
    assert "'=1+1" in (tmp_path / "rows.tsv").read_text()
    assert "'" not in (tmp_path / "rows.jsonl").read_text()
    assert pq.read_table(tmp_path / "rows.parquet")["item"].to_pylist() == ["=1+1", "cat"]


def test_a_table_that_fails_leaves_no_file(tmp_path):
    def failing():
        yield TABLE
        raise InputError("the second block is damaged")

    with pytest.raises(InputError):
        write_rows(failing(), tmp_path / "rows.csv", safe_csv=False)
    assert list(tmp_path.iterdir()) == []


def test_json_has_null_for_what_is_not_defined(capsys):
    print_json({"a": math.nan, "b": [1.5, math.nan, {"c": (math.nan,)}], "d": None, "e": "nan"})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1.5, None, {"c": [None]}], "d": None, "e": "nan"}


def test_json_steers_no_terminal_and_is_read_back_as_it_was(capsys):
    name = "red\x1b[31m \u202e back\nline \x9b café"
    print_json({"name": name})
    printed = capsys.readouterr().out
    assert not {"\x1b", "\u202e", "\x9b"} & set(printed)
    assert "café" in printed
    assert json.loads(printed) == {"name": name}


def test_text_that_acts_is_shown():
    assert visible("a\tb\x1b[2J\u2028") == "a\\tb\\x1b[2J\\u2028"
    assert visible("plain – ü") == "plain – ü"


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@x", "\tx", "＝1"])
def test_formulas_are_quoted(cell):
    assert uncomputed(cell) == f"'{cell}"


def test_lists_are_quoted_at_their_beginning_and_blanks_stay():
    table = pa.table(
        {"labels": pa.array([["=a", "=b"], [], None]), "name": pa.array(["@x", None, "y"]).dictionary_encode()}
    )
    safe = for_spreadsheets(table)
    assert safe["labels"].to_pylist() == [["'=a", "=b"], [], None]
    assert safe["name"].to_pylist() == ["'@x", None, "y"]
    assert for_terminals(pa.table({"labels": [["a\x1b", "b\x1b"]]}))["labels"].to_pylist() == [["a\\x1b", "b\\x1b"]]


def test_sentences_are_not_broken(capsys, monkeypatch):
    monkeypatch.setattr(console.notes, "_width", 20)
    say("a sentence that is much longer than the terminal", "[bold]another[/bold]")
    assert capsys.readouterr().err.splitlines() == [
        "a sentence that is much longer than the terminal",
        "[bold]another[/bold]",
    ]


def test_nothing_turns_where_nobody_looks(capsys):
    with busy("Working"):
        pass
    assert capsys.readouterr() == ("", "")


def test_tables_show_names_as_they_are(capsys):
    show_all(
        [
            titled_table(["name", "n"], [["[red]x[/red]", "1"], ["y\x1b", "2"]], "A title"),
            titled_table([], [("key", "value")]),
        ]
    )
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "A title"
    assert any(line.startswith("[red]x[/red]") for line in lines)
    assert any(line.startswith("y\\x1b") for line in lines)
    assert [line.split() for line in lines[-2:]] == [["key", "value"], []]
