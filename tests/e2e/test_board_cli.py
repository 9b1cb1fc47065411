"""amcc board as a user runs it."""

from __future__ import annotations

import json
import math
import subprocess

import pytest
from pyarrow import csv

from amcc import write_votes
from amcc.cli.board import board
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.experiments import peers
from running import amcc

SMALL = ("--seeds", 1, "--largest", 10_000, "--processes", 1)


def amcc_board(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    return amcc("board", *arguments, code=code)


def test_variants_and_oracle(tmp_path):
    arguments = (
        *SMALL, "-o", tmp_path / "board", "--methods", "majority, true-rates",
        "--variant", "hard, or not=majority:scores=hard",
    )  # fmt: skip
    shown = amcc_board(*arguments).stdout
    assert "hard, or not" in shown
    assert "worst loss" in shown
    text = (tmp_path / "board" / "board.md").read_text()
    assert "--variant 'hard, or not=majority:scores=hard'" in text
    found = json.loads(amcc_board(*arguments, "--json").stdout, parse_constant=pytest.fail)  # no NaN
    oracle, hard = found["methods"]["true-rates"], found["methods"]["hard, or not"]
    assert oracle["first_jaccard"] is None
    assert oracle["worst_loss_jaccard"] < 0
    assert (hard["first_jaccard"], hard["first_jaccard_simulated"], hard["first_jaccard_own"]) == (1, 1, None)
    assert hard["above_oracle_jaccard"] == 0
    assert hard["worst_loss_one_minus_rl"] > 0
    assert hard["worst_cell_one_minus_rl"].startswith("simulated 1e4")
    of_oracle = {cell: row["true-rates"] for cell, row in found["jaccard"].items()}
    assert math.isclose(max(value for value in of_oracle.values() if value is not None), 0.85, abs_tol=0.1)
    assert of_oracle["simulated 1e4, taste"] is None  # rates do not say what workers share


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--methods", "majority,oracle"], "methods must be among "),
        (["--methods", ","], "a method or a variant"),
        (["--variant", "nonsense"], "must look like NAME=METHOD:param=value,param=value; got 'nonsense'"),
        (["--variant", "x=magic"], "variant 'x' must be of one of "),
        (["--variant", "x=majority:cats=1"], "has no parameter 'cats'"),
        (["--variant", "x=majority", "--variant", "x=dawid-skene"], "got 'x' twice"),
        (["--known", "ten"], "--known must be whole numbers separated by commas, such as 10,30; got 'ten'"),
        (["--known", "0"], "known items must be at least 1; got 0"),
        (["--known", "10", "--methods", "majority"], "given to amcc, which must be among the methods"),
        (["--markdown", "--json"], "either --markdown or --json"),
    ],
)
def test_bad_arguments(tmp_path, arguments, message):
    run = amcc_board(*SMALL, "-o", tmp_path, *arguments, code=2)
    assert message in run.stderr.replace("\n", " ")
    assert run.stdout == ""


def test_without_crowdkit_its_rows_are_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(peers, "crowdkit_version", lambda: None)
    board(output=tmp_path, methods="majority,crowdkit-ds", seeds=1, largest=10_000, processes=1, as_json=True)
    said = capsys.readouterr()
    assert list(json.loads(said.out)["methods"]) == ["majority"]
    assert said.err == "crowd-kit is not installed: without crowdkit-ds. Install it: pip install 'amcc[bench]'\n"
    assert "crowd-kit —" in (tmp_path / "board.md").read_text()


def test_families_known_items_and_markdown(tmp_path):
    """Of two tiny sets, so that the default is quick; both stand alone."""
    for name in ("one", "two"):
        crowd = simulate_crowd(CrowdSpec(n_items=60, n_workers=8, n_labels=4, seed=len(name)))
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        write_votes(crowd.votes, folder / "annotations.csv.gz")
        names = [array.to_pylist() for array in (crowd.votes.item_names, crowd.votes.label_names)]
        rows = [f"{names[0][item]},{names[1][label]}" for item, label in zip(*crowd.truth.nonzero(), strict=True)]
        (folder / "truth.csv").write_text("\n".join(["item,label", *rows, ""]))
        (folder / "truth_items.csv").write_text("\n".join(["item", *names[0], ""]))
    arguments = (
        "--data", tmp_path / "data", "--seeds", 2, "--largest", 1, "--processes", 1, "-o", tmp_path / "board",
        "--methods", "amcc,majority", "--known", "5, 10",
    )  # fmt: skip
    found = json.loads(amcc_board(*arguments, "--json").stdout, parse_constant=pytest.fail)
    real = found["families"]["real sets"]
    assert list(real) == ["amcc", "majority", "amcc, 5 known items", "amcc, 10 known items"]
    assert real["amcc"]["families"] == 2
    assert real["amcc"]["log_loss_error"] >= 0
    assert real["majority"]["worst_lead"] is None
    assert set(found["log_loss"]) == {"one", "one @3", "two", "two @3"}
    text = amcc_board(*arguments, "--markdown").stdout
    assert text == (tmp_path / "board" / "board.md").read_text()
    assert "### Mean over the families of real sets" in text
    shown = amcc_board(*arguments).stdout
    assert "families of real sets" in shown and "wrong among settled" in shown
    table = csv.read_csv(tmp_path / "board" / "results.csv").to_pylist()
    assert {row["family"] for row in table} == {"one", "two"}
    whole = [row for row in table if row["cell"] == "one"]
    assert [(row["known"], row["seed"]) for row in whole] == [(0, 0), (0, 0), (5, 0), (10, 0), (5, 1), (10, 1)]
