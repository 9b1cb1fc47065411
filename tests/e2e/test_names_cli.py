"""Names that would break markup, steer a terminal or compute in a spreadsheet, through every command."""

from __future__ import annotations

import csv
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from amcc.cli import COMMANDS as LISTED
from amcc.cli.console import visible
from amcc.cli.output import print_json
from amcc.io import read_votes
from running import amcc

HOSTILE = [
    "[/x]",
    "[bold]b[/bold]",
    "[link=http://x]y",
    ":cat:",
    "\x1b[31mred",
    "\x1b]0;owned\x07",
    "csi\x9b2J",
    "over\u202eturned",
    "two\nlines",
    "back\rover",
    "=1+1",
    "+1",
    "-1",
    "@sum(a1)",
    "t\tab",
]
ACTS = ("\x1b[31mred", "\x1b]0;", "\x07", "\x9b", "\u202e", "two\nlines", "back\rover")
"""What no terminal may get to see; Rich's own colours are others."""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Votes by, on and about such names, with truth and prices."""
    monkeypatch.chdir(tmp_path)
    rows = [
        (worker, item, label, (place + number) % 2)
        for worker in HOSTILE
        for place, item in enumerate(HOSTILE[::-1])
        for number, label in enumerate(HOSTILE)
        if place != number  # something is left to ask
    ]
    write(tmp_path / "votes.csv", ("worker", "item", "label", "value"), rows)
    write(tmp_path / "truth.csv", ("item", "label"), [(item, HOSTILE[0]) for item in HOSTILE])
    write(tmp_path / "prices.csv", ("worker", "price"), [(worker, 1) for worker in HOSTILE])
    return tmp_path


def write(path: Path, head: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


QUICK = ("--seeds", "1", "--processes", "1", "--strategy", "uniform", "--budget", "400")
COMMANDS = {
    "check": ("check", "votes.csv"),
    "consensus": ("consensus", "votes.csv", "-m", "majority", "-o", "[x]\x1b[31mred.csv", "--save", "[bold].amcc"),
    "consensus --json": ("consensus", "votes.csv", "-m", "majority", "--json"),
    "workers": ("workers", "votes.csv", "-o", "w.csv"),
    "workers --json": ("workers", "votes.csv", "--json"),
    "workers --worker": ("workers", "votes.csv", "-m", "majority", "--worker", "\x1b[31mred"),
    "pack": ("pack", "votes.csv", "-o", "[x]\x1b[31mred"),
    "next": ("next", "votes.csv", "--budget", "3", "--prices", "prices.csv", "--json"),
    "pay": ("pay", "money.jsonl", "votes.csv", "-o", "p.csv"),
    "pay --json": ("pay", "money.jsonl", "--json", "--prolific", "bonus.csv"),
    "replay": ("replay", "votes.csv", "truth.csv", *QUICK),
    "evaluate": ("evaluate", "c.csv", "truth.csv", "--by-label"),
    "audit": ("audit", "votes.csv", "truth.csv", "-m", "majority", "--judges", "[x]\x1b[31mred.csv"),
    "audit --json": ("audit", "votes.csv", "truth.csv", "-m", "majority", "--json"),
    "convert": ("convert", "votes.csv", "-o", "[x]\x1b[31mred.csv", "--workers-output", "[bold].csv"),
    "convert --json": ("convert", "votes.csv", "--json"),
    "no such file": ("check", "[/x]\x1b[31mred.csv"),
    "unknown method": ("consensus", "votes.csv", "-m", "[/x]\x1b[31mred"),
    "unknown worker": ("next", "votes.csv", "--budget", "3", "--worker", "[/x]\x1b[31mred"),
    "unknown set": ("data", "where", "[/x]\x1b[31mred"),
    "not a column": ("check", "votes.csv", "--columns", "worker=[/x]\x1b[31mred"),
}
WRONG = {"no such file", "unknown method", "unknown worker", "unknown set", "not a column"}


def test_every_command_that_meets_names_is_there():
    nameless = {
        "demo",
        "methods",
        "settings",
        "formats",
        "board",
        "reproduce",
        "simulate-crowd",
    }  # these make their own
    live = {"campaign", "serve", "judge", "label-studio"}  # tests/serve/test_cli_campaign.py, tests/label_studio
    assert set(LISTED) - nameless - live == {words[0] for words in COMMANDS.values()}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_name_reaches_a_terminal_as_it_is(name, folder, monkeypatch):
    if name == "evaluate":
        amcc("consensus", "votes.csv", "-m", "majority", "-o", "c.csv")
    if COMMANDS[name][0] == "pay":
        amcc("next", "votes.csv", "--budget", "30", "--prices", "prices.csv", "--ledger", "money.jsonl")
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich then writes as to a terminal
    said = amcc(*COMMANDS[name], code=2 if name in WRONG else 0)
    for stream in (said.stdout, said.stderr):
        assert not [act for act in ACTS if act in stream]
    assert "internal error" not in said.stderr
    if name in ("check", "evaluate", "audit"):
        for label in HOSTILE[:4]:
            assert label in said.stdout


def test_rows_on_a_terminal_are_visible(folder):
    """A terminal of its own, as the command must find it there; in a pipe or a file, names stay as they are."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "amcc", "consensus", "votes.csv", "-m", "majority"]
    subprocess.run(command, stdout=follower, stderr=subprocess.DEVNULL, check=True)
    os.close(follower)
    shown = b""
    while piece := _read(leader):
        shown += piece
    os.close(leader)
    assert visible("\x1b[31mred").encode() in shown
    for act in ACTS:
        assert act.encode() not in shown.replace(b"\r\n", b"\n")


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 1 << 16)
    except OSError:  # the other end is closed
        return b""


def test_json_stays_the_same_value(capsys):
    print_json({"names": HOSTILE})
    out = capsys.readouterr().out
    assert json.loads(out) == {"names": HOSTILE}
    assert not set("\x9b\u202e\x1b") & set(out)


@pytest.mark.parametrize(
    ("words", "column"),
    [
        (("consensus", "-m", "majority"), "item"),
        (("workers", "-m", "majority"), "worker"),
        (("next", "--budget", 225), "label"),
    ],
)
def test_spreadsheets_compute_nothing_with_safe_csv(words, column, folder):
    command, *options = words
    for safe in ((), ("--safe-csv",)):
        amcc(command, "votes.csv", *options, "-o", "o.csv", *safe)
        with Path("o.csv").open(newline="") as file:
            names = {row[column] for row in csv.DictReader(file)}
        assert {name.removeprefix("'") for name in names} <= set(HOSTILE)
        computed = {name for name in names if name[0] in "=+-@"}
        assert bool(computed) is not bool(safe)
    amcc(command, "votes.csv", *options, "-o", "o.parquet", "--safe-csv")
    assert not any(name.as_py().startswith("'") for name in pq.read_table("o.parquet")[column])


def test_the_first_label_of_a_set_begins_the_cell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text("worker,item,label,value\na,1,=x,1\na,1,=y,1\na,2,=x,0\na,2,=y,0\n")
    assert (
        amcc("consensus", "votes.csv", "-m", "majority", "--sets", "--safe-csv").stdout == "item,labels\n1,'=x|=y\n2,\n"
    )


def test_hostile_names_are_read_as_they_are(folder):
    assert set(read_votes("votes.csv").worker_names.to_pylist()) == set(HOSTILE)
