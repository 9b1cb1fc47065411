"""What the documents say is what happens."""

from __future__ import annotations

import functools
import importlib.util
import io
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc.active import Account
from amcc.active.strategies import STRATEGIES
from amcc.experiments.reproduce import STUDIES
from amcc.experiments.reproduce.document import FIGURES, check_docs
from amcc.votes import Votes
from doc_pages import ROOT, run_page
from doc_pages import blocks as all_blocks
from running import amcc

README = (ROOT / "README.md").read_text()
ACTIVE = (ROOT / "docs" / "active.md").read_text()
AUDIT = (ROOT / "docs" / "audit.md").read_text()
FEATURES = (ROOT / "docs" / "features.md").read_text()


# Blocks that do not run: what is printed or stands in a file, and commands that wait for people, need data that is not
# here, take minutes, or change a machine.
FOR_SHOW = {"text", "json", "ini", "yaml", "xml", "dockerfile", "console"}
# Run elsewhere: by test_tasks.py, with the contract of engines, with exports at hand (test_exchange_cli.py), and as the
# receiver of a real webhook (serve/test_webhooks.py).
RUN_ELSEWHERE = {"tasks.md", "examples/engine.md", "formats.md", "campaigns-operations.md"}
PAGES = {str(path.relative_to(ROOT / "docs")): path.read_text() for path in sorted((ROOT / "docs").rglob("*.md"))}


def blocks(language: str, page: str = README) -> list[str]:
    return [text for name, text in all_blocks(page) if name == language]


@functools.cache
def given_files() -> dict[str, bytes]:
    """What a reader of a page has at hand: votes of five workers on six items, and tables about them."""
    rng = np.random.default_rng(0)
    items, labels = [f"clip{n}" for n in range(6)], ["dog", "cat", "siren"]
    truth = rng.random((6, 3)) < 0.4
    rows = [
        f"{worker},{item},{label},{'yes' if there ^ (rng.random() < 0.15) else 'no'}"
        for worker in ("ann", "bob", "cid", "gpt-4o", "gpt-4o-mini")
        for item, row in zip(items, truth, strict=True)
        for label, there in zip(labels, row, strict=True)
    ]
    said = [f"{items[i]},{labels[j]},{'yes' if truth[i, j] else 'no'}" for i in range(6) for j in range(3)]
    tables = {
        "votes.csv": ["worker,item,label,value", *rows],
        "items.csv": ["item,text", *(f"{item},a clip with a sound" for item in [*items, "clip6"])],
        "all.csv": ["item", *items, "clip6"],
        "labels.csv": ["label,question,help", *(f"{label},Is there a {label}?," for label in labels)],
        "prices.csv": ["worker,price", "ann,8", "bob,5", "cid,6", "gpt-4o,1", "gpt-4o-mini,1"],
        "workers.csv": ["worker,kind,family", "ann,human,", "bob,human,", "gpt-4o,model,gpt", "gpt-4o-mini,model,gpt"],
        "truth.csv": ["item,label,truth", *said],
        "people.csv": ["item,label,truth", *said[:15]],
        "mine.csv": ["item,label,truth", *said[:6]],
        "asked.csv": ["item,label", *(row.rpartition(",")[0] for row in said[:6])],
    }
    files = {name: ("\n".join(lines) + "\n").encode() for name, lines in tables.items()}
    archive = io.BytesIO()
    np.savez(archive, X=rng.normal(size=(6, 4)), items=np.array(items))
    return files | {"embeddings.npz": archive.getvalue()}


@functools.cache
def printed_by(name: str) -> list[str]:
    """What the blocks of a page print. Tutorials start with nothing; readers of other pages have some files."""
    given = {} if name.startswith("tutorials/") else given_files()
    with tempfile.TemporaryDirectory() as folder:
        return run_page(PAGES[name], Path(folder), given)


@pytest.mark.parametrize("name", sorted(set(PAGES) - RUN_ELSEWHERE))
def test_blocks_of_pages_run(name):
    printed_by(name)


def test_blocks_are_run_or_for_show():
    used = {(name, language) for name, page in PAGES.items() for language, _ in all_blocks(page)}
    assert {language for _, language in used} <= {"sh", "python"} | FOR_SHOW, used


def load_script(name: str):
    spec = importlib.util.spec_from_file_location("script", ROOT / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_command_line_page_is_up_to_date():
    page = load_script("docs/build_cli.py").cli_page()
    assert (ROOT / "docs" / "cli.md").read_text() == page, "run `make docs`"


def test_python_of_the_readme_runs(tmp_path):
    (code,) = blocks("python")
    (printed,) = run_page(f"```python\n{code}```\n", tmp_path)
    assert "{1: ['dog'], 2: ['cat']}" in printed
    assert (tmp_path / "model.amcc").exists()


def test_example_of_the_features_page_prints_what_it_says():
    """Features are used, and both shares of right pairs are higher with them, nearly as printed."""
    printed, shown = printed_by("features.md")[-1].split("\n"), blocks("text", FEATURES)[0].split("\n")
    assert printed[0].startswith("Item features are used with weight")
    plain, informed = (np.array(row.split(), dtype=float) for row in printed[1:3])
    assert (informed > plain).all()
    for row, said in zip((plain, informed), shown[1:3], strict=True):
        assert_allclose(row, np.array(said.split(), dtype=float), atol=0.03)


def test_campaign_of_the_active_page_runs():
    (spent,) = re.findall(r"^money (\d+\.\d\d)$", "".join(printed_by("active.md")), flags=re.MULTILINE)
    assert 19 < float(spent) <= 20


def test_first_questions_of_the_active_page(tmp_path):
    (tmp_path / "items.csv").write_text("item\none\ntwo\n")
    (tmp_path / "prices.csv").write_text("worker,price\nann,5\nbob,7\n")
    run_page(f"```sh\n{blocks('sh', ACTIVE)[0]}```\n", tmp_path)
    asked = (tmp_path / "ask.csv").read_text().splitlines()
    assert asked[0] == "item,label,worker,price,utility,why"
    assert len({tuple(row.split(",")[:2]) for row in asked[1:]}) == 2 * 3  # every pair


def test_every_strategy_is_on_the_active_page():
    named = re.findall(r"^\| `([a-z-]+)`.*\|.*\|.*\|$", ACTIVE.partition("## Strategies")[2], flags=re.MULTILINE)
    assert sorted(named) == sorted(STRATEGIES)


def test_example_of_the_audit_page_prints_what_the_page_shows():
    printed = [words(line) for line in printed_by("audit.md")[1].splitlines()]
    (shown,) = blocks("text", AUDIT)
    for line in shown.splitlines():
        assert words(line) in printed


def test_the_page_about_judges_says_who_the_reference_is_as_the_tutorial_does():
    (shown,) = [block for block in blocks("text", PAGES["judges.md"]) if "reference" in block]
    assert any(words(shown) == words(line) for line in "".join(printed_by("tutorials/llm-judges.md")).splitlines())


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
    (folder / "labels.csv").write_text("label,question,help\nx,Is it x?,\ny,Is it y?,\n")
    (folder / "consensus.csv").write_text("item,label,probability,present\na,x,0.9,1\nb,y,0.8,1\n")
    return folder


@pytest.mark.parametrize("command", readme_commands())
def test_commands_of_the_readme_run(command, readme_folder):
    amcc(*shlex.split(command)[1:], cwd=readme_folder)


def test_links_lead_somewhere():
    pages = [(ROOT, README), *(((ROOT / "docs" / name).parent, page) for name, page in PAGES.items())]
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


def test_first_page_says_what_the_demo_prints():
    scores = dict(re.findall(r"^ (majority|amcc) +(\d\.\d+)", README, flags=re.MULTILINE))
    assert f"a majority scores {scores['majority']} (Jaccard), amcc {scores['amcc']}." in PAGES["index.md"]


def test_picture_of_the_first_page_is_up_to_date():
    drawn = load_script("docs/build_home.py").picture()
    assert (ROOT / "docs" / "figures" / "home.svg").read_text() == drawn, "run `make pages`"


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
