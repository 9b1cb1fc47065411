"""Packing, and fits over packed votes, as a user runs them."""

from __future__ import annotations

import inspect
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.csv as arrow_csv
import pytest
from numpy.testing import assert_allclose

from amcc import write_votes
from amcc.cli import COMMANDS
from amcc.cli.lazy import command_of, prepared
from amcc.consensus.default.warm_start import UPDATE_ROUNDS
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.io.pack import pack_votes
from running import amcc


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    crowd = simulate_crowd(CrowdSpec(n_items=150, n_workers=20, n_labels=5, seed=1))
    write_votes(crowd.votes, folder / "votes.csv")
    pack_votes(folder / "votes.csv", folder / "packed", block_votes=500)
    return folder


def test_pack_says_what_it_made(folder, tmp_path):
    made = json.loads(amcc("pack", folder / "votes.csv", "-o", "packed", "--json", cwd=tmp_path).stdout)
    assert (made["items"], made["labels"], made["blocks"]) == (150, 5, 1)
    assert made["bytes"] > 0
    refused = amcc("pack", folder / "votes.csv", "-o", "packed", cwd=tmp_path, code=2)
    assert "--overwrite" in refused.stderr
    assert (
        "packed 3,750 votes" in amcc("pack", folder / "votes.csv", "-o", "packed", "--overwrite", cwd=tmp_path).stderr
    )


def test_appended_votes_give_the_consensus_of_all(folder, tmp_path):
    lines = (folder / "votes.csv").read_text().splitlines()
    for name, some in (("early", lines[:3000]), ("late", [lines[0], *lines[3000:]])):
        (tmp_path / f"{name}.csv").write_text("\n".join(some) + "\n")
    amcc("pack", "early.csv", "-o", "packed", "--block-votes", "500", cwd=tmp_path)
    made = json.loads(amcc("pack", "late.csv", "--append", "packed", "--json", cwd=tmp_path).stdout)
    assert (made["votes"], made["new_votes"], made["output"]) == (3750, 751, "packed")
    assert 0 < made["new_blocks"] < made["blocks"]
    again = amcc("pack", "late.csv", "--append", "packed", cwd=tmp_path)
    assert "appended 0 votes and 0 items; wrote 0 of" in again.stderr
    amcc("consensus", "packed", "-o", "appended.csv", cwd=tmp_path)
    amcc("consensus", folder / "packed", "-o", "together.csv", cwd=tmp_path)
    one, other = (arrow_csv.read_csv(tmp_path / f"{name}.csv") for name in ("appended", "together"))
    assert one.drop(["probability"]).equals(other.drop(["probability"]))
    assert_allclose(one["probability"], other["probability"], rtol=0, atol=1e-9)


def test_new_labels_are_named(folder, tmp_path):
    (tmp_path / "new.csv").write_text("worker,item,label,value\nann,new,cat,yes\n")
    amcc("pack", folder / "votes.csv", "-o", "packed", cwd=tmp_path)
    told = amcc("pack", "new.csv", "--append", "packed", cwd=tmp_path).stderr
    assert "appended 1 votes and 1 items; wrote 1 of 1 blocks" in told
    assert "1 new labels: 'cat'" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give one of them"),
        (("-o", "new", "--append", "packed"), "give one of them"),
        (("--append", "packed", "--overwrite"), "are for --output"),
        (("--append", "packed", "--block-votes", "7"), "are for --output"),
        (("--append", "packed", "--on-conflict", "last"), "--on-conflict was 'error', and is 'last' now"),
        (("--append", "nowhere"), "not a folder of packed votes"),
    ],
    ids=str,
)
def test_wrong_appends_are_explained(arguments, words, folder):
    assert words in " ".join(amcc("pack", "votes.csv", *arguments, cwd=folder, code=2).stderr.split())


@pytest.mark.parametrize("method", ["majority", "dawid-skene", "amcc"])
def test_consensus_of_a_folder_is_that_of_the_file(method, folder, tmp_path):
    amcc("consensus", folder / "votes.csv", "-m", method, "-o", "file.csv", cwd=tmp_path)
    options = ("-m", method, "--memory", "100MB", "-o", "folder.csv")
    amcc("consensus", folder / "packed", *options, cwd=tmp_path)
    one, other = (arrow_csv.read_csv(tmp_path / f"{name}.csv") for name in ("file", "folder"))
    assert one.drop(["probability"]).equals(other.drop(["probability"]))
    assert_allclose(one["probability"], other["probability"], rtol=0, atol=1e-9)


def test_summaries_are_the_same(folder, tmp_path):
    by_file, by_folder = (
        json.loads(amcc("consensus", folder / name, "-m", "dawid-skene", "--json", cwd=tmp_path).stdout)
        for name in ("votes.csv", "packed")
    )
    assert by_file == by_folder


@pytest.mark.parametrize(
    "rows", [("--sets",), ("--all-labels",), ("--soft", "--disagreement"), ("--decode", "expected_f1")]
)
def test_summaries_count_the_asked_pairs_whatever_is_written(rows, folder, tmp_path):
    """From a file and from blocks, with rows and without: what --json counts does not depend on what is written."""
    written = ("-o", "rows.csv")
    first, *others = (
        json.loads(amcc("consensus", folder / name, "-m", "majority", "--json", *rows, *more, cwd=tmp_path).stdout)
        for name in ("votes.csv", "packed")
        for more in ((), written)
    )
    for other in others:
        assert {**other, "output": None} == first


def test_known_items_without_a_truth_are_a_mistake_for_packed_votes_too(folder, tmp_path):
    (tmp_path / "items.csv").write_text("item\ni001\n")
    for name in ("votes.csv", "packed"):
        run = amcc("consensus", folder / name, "--known-items", "items.csv", cwd=tmp_path, code=2)
        assert "say what --truth covers; name it" in run.stderr


MORE = {
    "audit": ("truth.csv",),
    "next": ("--budget", 10),
    "replay": ("truth.csv", "--seeds", 1, "--processes", 1, "--strategy", "uniform", "--batch", 4000),
}
TAKES_VOTES = {
    name: parameters
    for name, entry in COMMANDS.items()
    if entry.example and name not in ("pack", "pay")  # what is paid stands in a ledger
    if "path" in (parameters := inspect.signature(prepared(command_of(name, entry))).parameters)
}


@pytest.mark.parametrize("name", TAKES_VOTES)
def test_every_command_takes_the_folder_with_its_default_method(name, folder, tmp_path):
    """And where it has engines, with both; commands that are new join by themselves."""
    (tmp_path / "truth.csv").write_text("item,label\ni001,label_1\n")
    options = (*MORE.get(name, ()), "--json")
    expected = in_short(json.loads(amcc(name, folder / "votes.csv", *options, cwd=tmp_path).stdout))
    for engine in (("--engine", "local"), ("--engine", "dask")) if "engine" in TAKES_VOTES[name] else ((),):
        found = json.loads(amcc(name, folder / "packed", *options, *engine, cwd=tmp_path).stdout)
        assert in_short(found) == expected


def in_short(value):
    """Numbers up to rounding, and how long lists are: engines sum in another order."""
    if isinstance(value, dict):
        return {key: in_short(entry) for key, entry in value.items() if key != "notes"}
    return len(value) if isinstance(value, list) else round(value, 6) if isinstance(value, float) else value


def test_methods_without_blocks_take_the_folder(folder, tmp_path):
    amcc("consensus", folder / "packed", "-m", "mace", "-o", "mace.jsonl", cwd=tmp_path)
    amcc("consensus", folder / "packed", "-m", "majority", "--report", "report.html", "-o", "c.parquet", cwd=tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"mace.jsonl", "report.html", "c.parquet"}


def test_an_interrupted_command_goes_on(folder, tmp_path):
    """Ctrl-C in a fit that would take very long leaves a checkpoint, which nobody else may use."""
    options = ("consensus", folder / "packed", "-m", "dawid-skene", "--checkpoint", "fit.checkpoint", "-o", "c.csv")
    endless = "from amcc.consensus.monitor import Monitor; Monitor.converged = property(lambda self: False)"
    patient = "from amcc.consensus import DawidSkene; DawidSkene.__init__.__kwdefaults__.update(max_iter=10**9)"
    often = "from amcc.engine import Checkpoint; Checkpoint.__init__.__defaults__ = (0.0,)"
    program = f"{endless}\n{patient}\n{often}\nfrom amcc.cli import main; main()"
    run = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, options)], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    while not (tmp_path / "fit.checkpoint").exists() and run.poll() is None:
        time.sleep(0.1)
    os.kill(run.pid, signal.SIGINT)
    assert "Traceback" not in run.communicate(timeout=60)[1]
    assert run.returncode in (1, 130)
    assert [file.name for file in tmp_path.iterdir()] == ["fit.checkpoint"]
    assert "another fit" in amcc(*options[:3], "majority", *options[4:], cwd=tmp_path, code=2).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("packed", "--memory", "much"), "like 4GB"),
        (("packed", "--scheduler", "tcp://x:1"), "--engine dask"),
        (("packed", "--zero", "no"), "belong to amcc pack"),
        (("votes.csv", "--engine", "dask"), "amcc pack"),
        ((".",), "not a folder of packed votes"),
    ],
    ids=str,
)
def test_wrong_options_are_explained(arguments, words, folder):
    run = amcc("consensus", *arguments, cwd=folder, code=2)
    assert words in " ".join(run.stderr.split())


def test_new_votes_go_on_from_a_saved_model(folder, tmp_path):
    """The same from a file and from a folder; other methods, and files that are no models, are refused."""
    lines = (folder / "votes.csv").read_text().splitlines()
    (tmp_path / "early.csv").write_text("\n".join(lines[:-50]) + "\n")
    amcc("consensus", "early.csv", "-o", "early.stdout.csv", "--save", "model.amcc", cwd=tmp_path)
    options = ("--from", "model.amcc", "--json")
    for votes, output in ((folder / "votes.csv", "file.csv"), (folder / "packed", "folder.csv")):
        made = json.loads(amcc("consensus", votes, *options, "-o", output, cwd=tmp_path).stdout)
        assert made["iterations"] <= UPDATE_ROUNDS
    one, other = (arrow_csv.read_csv(tmp_path / f"{name}.csv") for name in ("file", "folder"))
    assert_allclose(one["probability"], other["probability"], rtol=0, atol=1e-9)
    wrong = amcc("consensus", folder / "votes.csv", *options, "-m", "majority", cwd=tmp_path, code=2)
    assert "--from goes on with -m amcc" in wrong.stderr
    wrong = amcc("consensus", folder / "votes.csv", "--from", "early.csv", cwd=tmp_path, code=2)
    assert "early.csv is not a model saved by amcc" in wrong.stderr


@pytest.mark.parametrize("votes", ["votes.csv", "packed"])
def test_without_new_votes_the_consensus_stays(votes, folder, tmp_path):
    amcc("consensus", folder / votes, "-o", "first.csv", "--save", "model.amcc", cwd=tmp_path)
    amcc("consensus", folder / votes, "-o", "again.csv", "--from", "model.amcc", cwd=tmp_path)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "first.csv").read_bytes()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("votes", ["votes.csv", "packed"])
def test_no_room_for_the_consensus_leaves_the_previous_one(folder, tmp_path, votes, suffix):
    """The system refuses to let files grow beyond two kilobytes, as a full disk would."""
    output = tmp_path / f"out.{suffix}"
    output.write_text("as it was")
    run = subprocess.run(
        [sys.executable, "-m", "amcc", "consensus", str(folder / votes), "-m", "majority", "-o", str(output)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)),
        capture_output=True,
        text=True,
    )
    assert run.returncode not in (0, -signal.SIGXFSZ), run.stderr
    assert "File too large" in run.stderr
    assert "Traceback" not in run.stderr
    assert output.read_text() == "as it was"
    assert [file.name for file in tmp_path.iterdir()] == [output.name]
