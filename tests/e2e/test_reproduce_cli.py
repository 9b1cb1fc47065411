"""amcc reproduce as a user runs it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from running import amcc

ROOT = Path(__file__).parents[2]


def amcc_reproduce(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    return amcc("reproduce", *arguments, code=code, AMCC_DATA=None)


def test_without_data_and_into_a_document(tmp_path):
    docs = tmp_path / "results.md"
    docs.write_text("# Ours\n\n<!-- reproduce -->\n<!-- /reproduce -->\n")
    out = tmp_path / "out"
    run = amcc_reproduce(
        "table2", "convergence", "--quick", "--seeds", 1, "-o", out, "--docs", docs, "--processes", 1, "--json"
    )
    found = json.loads(run.stdout, parse_constant=pytest.fail)
    assert found["studies"] == {"convergence": ["convergence"]}
    assert {Path(path).name for path in found["files"]} == {
        "convergence.csv", "convergence.png", "convergence.svg", "index.html", "results.md",
    }  # fmt: skip
    assert all(Path(path).stat().st_size for path in found["files"])
    assert "no data sets" in run.stderr
    assert "amcc data list" in found["notes"][0]
    text = docs.read_text()
    assert "amcc reproduce convergence --quick --seeds 1" in text
    assert "](figures/convergence.svg)" in text
    figure = (tmp_path / "figures" / "convergence.svg").read_text()
    assert figure == (out / "convergence.svg").read_text()
    assert str(tmp_path) not in text + figure
    assert not [path for path in out.rglob("*") if path.name.startswith(".part")]
    again = amcc_reproduce("convergence", "--quick", "--seeds", 1, "-o", out, "--processes", 1)
    # Not "all": pages hold one run.
    assert again.stdout.replace("\n", " ").rstrip().endswith(f"this run on one page: {out / 'index.html'}")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["table9"], "what to reproduce must be among table2, table3, table4"),
        (["table2", "--seeds", "0"], "seeds must be at least 1; got 0"),
        (["table2", "--data", "nowhere"], "nowhere must be a folder with data sets"),
        (["table2", "--docs", "nowhere.md"], "nowhere.md does not exist"),
        (["table2", "--docs", str(ROOT / "LICENSE")], "must hold the line <!-- reproduce -->"),
        (["table2"], "table2 needs data; nothing was computed"),
    ],
)
def test_bad_arguments_leave_nothing(tmp_path, arguments, message):
    run = amcc_reproduce("-o", tmp_path / "out", *arguments, code=2)
    assert message in run.stderr.replace("\n", " ")
    assert run.stdout == ""
    assert not list(tmp_path.rglob("*.html"))


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_passes_the_options_on():
    run = subprocess.run(
        ["make", "-n", "reproduce", "DATA=crowds", "QUICK=1"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "amcc reproduce --data crowds --quick" in run.stdout
