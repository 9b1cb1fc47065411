"""amcc board as a user runs it."""

from __future__ import annotations

import json
import math
import subprocess

import pytest

from amcc.cli.board import board
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
    assert math.isclose(max(row["true-rates"] for row in found["jaccard"].values()), 0.85, abs_tol=0.1)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--methods", "majority,oracle"], "methods must be among "),
        (["--methods", ","], "a method or a variant"),
        (["--variant", "nonsense"], "must look like NAME=METHOD:param=value,param=value; got 'nonsense'"),
        (["--variant", "x=magic"], "variant 'x' must be of one of "),
        (["--variant", "x=majority:cats=1"], "has no parameter 'cats'"),
        (["--variant", "x=majority", "--variant", "x=dawid-skene"], "got 'x' twice"),
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
