"""What the documents say is what happens."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc.active import Account
from amcc.active.strategies import STRATEGIES
from amcc.experiments.reproduce import STUDIES
from amcc.experiments.reproduce.document import FIGURES, check_docs
from amcc.votes import Votes
from running import amcc

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
ACTIVE = (ROOT / "docs" / "active.md").read_text()
AUDIT = (ROOT / "docs" / "audit.md").read_text()
FEATURES = (ROOT / "docs" / "features.md").read_text()


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL)


def load_script(name: str):
    spec = importlib.util.spec_from_file_location("script", ROOT / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_command_line_page_is_up_to_date():
    page = load_script("docs/build_cli.py").cli_page()
    assert (ROOT / "docs" / "cli.md").read_text() == page, "run `make docs`"


def test_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert "{1: ['dog'], 2: ['cat']}" in printed.getvalue()
    assert (tmp_path / "model.amcc").exists()


def test_example_of_the_features_page_prints_what_it_says(capsys):
    """Features are used, and both shares of right pairs are higher with them, nearly as printed."""
    code = blocks("python", FEATURES)[-1]
    exec(compile(code, "features.md", "exec"), {})
    printed, shown = capsys.readouterr().out.split("\n"), blocks("text", FEATURES)[0].split("\n")
    assert printed[0].startswith("Item features are used with weight")
    plain, informed = (np.array(row.split(), dtype=float) for row in printed[1:3])
    assert (informed > plain).all()
    for row, said in zip((plain, informed), shown[1:3], strict=True):
        assert_allclose(row, np.array(said.split(), dtype=float), atol=0.03)


def test_campaign_of_the_active_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python", ACTIVE)
    exec(compile(code, "active.md", "exec"), {})
    (spent,) = re.findall(r"^money (\d+\.\d\d)$", capsys.readouterr().out, flags=re.MULTILINE)
    assert 19 < float(spent) <= 20
    assert (tmp_path / "campaign.jsonl").exists()


def test_first_questions_of_the_active_page(tmp_path):
    (tmp_path / "items.csv").write_text("item\none\ntwo\n")
    (tmp_path / "prices.csv").write_text("worker,price\nann,5\nbob,7\n")
    header, command = blocks("sh", ACTIVE)[0].splitlines()
    assert header == "echo worker,item,label,value > votes.csv"
    (tmp_path / "votes.csv").write_text("worker,item,label,value\n")
    amcc(*shlex.split(command)[1:], cwd=tmp_path)
    asked = (tmp_path / "ask.csv").read_text().splitlines()
    assert asked[0] == "item,label,worker,price,utility,why"
    assert len({tuple(row.split(",")[:2]) for row in asked[1:]}) == 2 * 3  # every pair


def test_every_strategy_is_on_the_active_page():
    named = re.findall(r"^\| `([a-z-]+)`.*\|.*\|.*\|$", ACTIVE.partition("## Strategies")[2], flags=re.MULTILINE)
    assert sorted(named) == sorted(STRATEGIES)


def test_example_of_the_audit_page_prints_what_the_page_shows(tmp_path):
    simulate, draw, audit = blocks("sh", AUDIT)[1].splitlines()
    amcc(*shlex.split(simulate)[1:], cwd=tmp_path)
    _, _, code, arrow, target = shlex.split(draw)
    assert arrow == ">"
    drawn = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    (tmp_path / target).write_text(drawn.stdout)
    printed = [words(line) for line in amcc(*shlex.split(audit)[1:], cwd=tmp_path).stdout.splitlines()]
    (shown,) = blocks("text", AUDIT)
    for line in shown.splitlines():
        assert words(line) in printed


def readme_commands() -> list[str]:
    lines = [line.partition("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("amcc ")]


@pytest.fixture(scope="module")
def readme_folder(tmp_path_factory) -> Path:
    """A folder in which the files exist that the README's commands read."""
    folder = tmp_path_factory.mktemp("readme")
    votes = Votes.from_dense(
        [[[1, -1], [-1, 1]]] * 3, item_names=["a", "b"], label_names=["x", "y"], worker_names=["ann", "bob", "cid"]
    )
    from amcc import write_votes

    write_votes(votes, folder / "votes.csv")
    (folder / "truth.csv").write_text("item,label\na,x\nb,y\n")
    (folder / "people.csv").write_text("item,label,truth\na,x,yes\na,y,no\nb,x,no\nb,y,yes\n")
    (folder / "workers.csv").write_text("worker,kind,family\nann,human,\nbob,model,gpt\ncid,model,gpt\n")
    (folder / "items.csv").write_text("item,text\na,a red cat sat here\nb,a red dog sat here\n")
    with Account.open(folder / "money.jsonl", budget=20) as account:  # commands may run in any order
        account.save()
    (folder / "consensus.csv").write_text("item,label,probability,present\na,x,0.9,1\nb,y,0.8,1\n")
    return folder


@pytest.mark.parametrize("command", readme_commands())
def test_commands_of_the_readme_run(command, readme_folder):
    amcc(*shlex.split(command)[1:], cwd=readme_folder)


def test_links_lead_somewhere():
    pages = [(ROOT, README), *((ROOT / "docs", page.read_text()) for page in (ROOT / "docs").glob("*.md"))]
    for folder, page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page):
            assert (folder / target).exists(), target


def test_every_figure_of_the_studies_is_on_a_page():
    """A figure whose name has changed would else stay, forgotten; the other way round, see above."""
    linked = {
        target
        for page in (ROOT / "docs").glob("*.md")
        for target in re.findall(rf"\]\(({FIGURES}/[^)]+)\)", page.read_text())
    }
    assert {f"{FIGURES}/{path.name}" for path in (ROOT / "docs" / FIGURES).glob("*")} == linked


@pytest.mark.parametrize("name", ["results.md", "active-results.md"])
def test_parts_of_pages_are_those_of_studies(name):
    check_docs(ROOT / "docs" / name)
    parts = re.findall("^<!-- reproduce (.+) -->$", (ROOT / "docs" / name).read_text(), flags=re.MULTILINE)
    assert set(parts) <= set(STUDIES)


def test_demo_output_in_the_readme_is_what_the_demo_prints(tmp_path):
    shown = re.search(r"<!-- demo -->\n```text\n(.*?)```", README, flags=re.DOTALL).group(1)
    run = subprocess.run(
        [sys.executable, "-m", "amcc", "demo"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert words(run.stdout) == words(shown)


def words(text: str) -> list[str]:
    return text.split()


def test_version_is_said_once():
    import tomllib

    import amcc

    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == amcc.__version__
