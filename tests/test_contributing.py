"""The examples of CONTRIBUTING.md are whole files: each is added to a copy of the package, and must work there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import amcc

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
EXAMPLES = dict(re.findall(r"<!-- example: (\S+) -->\n```python\n(.*?)```", PAGE, flags=re.DOTALL))
MODEL, FORMAT, STRATEGY = "consensus/models/smoothed_share.py", "io/pipes.py", "active/strategies/cheapest.py"
EXPORT = "io/exchange/ticksheet.py"


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A folder with the package, linked file by file, and the examples beside them: nothing else knows of these."""
    folder, package = tmp_path_factory.mktemp("copy"), Path(amcc.__file__).parent
    for path in package.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            there = folder / "amcc" / path.relative_to(package)
            there.parent.mkdir(parents=True, exist_ok=True)
            there.symlink_to(path)
    for place, code in EXAMPLES.items():
        (folder / "amcc" / place).write_text(code)
    return folder


def run(copy: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    return subprocess.run(
        [sys.executable, *map(str, command)], env=environment, cwd=ROOT, capture_output=True, text=True
    )


def test_there_is_an_example_of_each_kind():
    assert set(EXAMPLES) == {MODEL, FORMAT, STRATEGY, EXPORT}


@pytest.mark.parametrize("place", EXAMPLES)
def test_examples_pass_lint(place, copy):
    done = run(copy, "-m", "ruff", "check", "--no-cache", "--config", ROOT / "pyproject.toml", copy / "amcc" / place)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("contract", "name", "at_least"), [("test_models", "smoothed-share", 30), ("test_strategies", "cheapest", 10)]
)
def test_the_contract_holds_for_the_example(contract, name, at_least, copy):
    """But for one check: a majority does not weigh who voted, so truth elsewhere teaches it nothing."""
    by_count = f"not test_known_truth_teaches_the_consensus and {name}"
    done = run(
        copy, "-m", "pytest", f"tests/contract/{contract}.py", "-k", by_count, "-p", "no:cacheprovider",
        "-p", "no:xdist", "-q", "-q", "--no-header", "-rN",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert done.stdout.count(".") >= at_least


def test_commands_know_the_examples(copy, tmp_path):
    """As a user would: votes in the new format, the new model, the new strategy."""
    votes = tmp_path / "votes.pipes"
    votes.write_text("worker | item | label | value\nann | 1 | dog | yes\nbob | 1 | dog | no\nann | 2 | dog | yes\n")
    done = run(copy, "-m", "amcc", "consensus", votes, "-m", "smoothed-share", "-o", tmp_path / "found.pipes")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "found.pipes").read_text().startswith("item | label | probability | present | settled\n1 | dog")
    done = run(copy, "-m", "amcc", "next", votes, "--budget", "2", "--strategy", "cheapest")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("item,label,worker,price")


def test_a_wrong_row_of_the_new_format_is_a_clear_error(copy, tmp_path):
    (tmp_path / "votes.pipes").write_text("worker | item | label | value\nann | 1\n")
    done = run(copy, "-m", "amcc", "consensus", tmp_path / "votes.pipes")
    assert done.returncode == 2
    assert "every row must have 4 columns; row 1 has 2" in done.stderr


def test_an_export_of_the_new_tool_is_known(copy, tmp_path):
    sheets = tmp_path / "sheets.jsonl"
    sheets.write_text(
        '{"sheet": 1, "by": "ann", "boxes": ["dog", "cat"], "ticked": ["dog"]}\n'
        '{"sheet": 1, "by": "bob", "boxes": ["dog", "cat"]}\n'
    )
    done = run(copy, "-m", "amcc", "convert", sheets, "--skips-output", tmp_path / "skips.csv")
    assert done.stdout == "worker,item,label,value\nann,1,dog,1\nann,1,cat,-1\n", done.stderr
    assert (tmp_path / "skips.csv").read_text() == "worker,item,label\nbob,1,\n"
    assert "ticksheet" in run(copy, "-m", "amcc", "formats", "--json").stdout
