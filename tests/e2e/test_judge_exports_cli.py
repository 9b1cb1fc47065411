"""From an evaluation tool, or a data set of others, to a consensus by one command; or to an explanation of one flag."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import judge_records as jr
from running import run_amcc

GRID = [["worker", "item", "label", "value"], *([*row.values()] for row in jr.rows())]


def make(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    make(path / "people.json", jr.PEOPLE)
    make(path / "models.json", jr.MODELS)
    return path


def saved(path: Path) -> Path:
    jr.save_to_disk(path, pa.Table.from_pylist(jr.rows()))
    return path


def sheet(path: Path) -> Path:
    jr.workbook(path, {"votes": GRID})
    return path


WITHOUT_A_FLAG = {
    **{tool: (f"{tool}.json", lambda path, one=one: make(path, [one(*each) for each in jr.SAID]))
       for tool, one in jr.JUDGES.items()},
    "lewidi": ("lewidi.json", lambda path: make(path, jr.LEWIDI)),
    "alttest": ("both", folder),
    "judges": ("judges.json", lambda path: make(
        path, [{"item": i, "judge": w, "label": name, "value": yes} for w, i, name, yes in jr.SAID])),
    "huggingface": ("saved", saved),
    "excel": ("votes.xlsx", sheet),
}  # fmt: skip


@pytest.mark.parametrize("tool", WITHOUT_A_FLAG)
def test_one_command_makes_a_consensus(tmp_path, tool):
    name, write = WITHOUT_A_FLAG[tool]
    run = run_amcc("consensus", write(tmp_path / name), "-m", "majority", "--sets")
    assert run.returncode == 0, run.stderr
    assert "read as" in run.stderr
    rows = {row["item"]: row for row in csv.DictReader(io.StringIO(run.stdout))}
    assert rows.keys() == {"s1", "s2"}
    assert (rows["s1"]["labels"], rows["s2"]["labels"]) == ("correct", "")


SCORES = {"ann": (4, "good"), "bob": (5, "good"), "m1": (2, "bad")}
NUMBERS = {tool: [one(who, "s1", "helpful", SCORES[who][0]) for who in SCORES] for tool, one in jr.JUDGES.items()}
for each in NUMBERS["langfuse"]:
    each["dataType"] = "NUMERIC"
WORDS = {
    "langfuse": [jr.langfuse(who, "s1", "helpful", SCORES[who][1], "CATEGORICAL") for who in SCORES],
    "langsmith": [{**jr.langsmith(who, "s1", "helpful", None), "value": SCORES[who][1]} for who in SCORES],
    "phoenix": [jr.phoenix(who, "s1", "helpful", None, SCORES[who][1]) for who in SCORES],
    "mlflow": [jr.mlflow(who, "s1", "helpful", SCORES[who][1]) for who in SCORES],
}


@pytest.mark.parametrize("tool", jr.JUDGES)
@pytest.mark.parametrize("records, flag, seen", [(NUMBERS, "--threshold", "2"), (WORDS, "--yes", "'good', 'bad'")])
def test_one_flag_is_asked_for_with_the_values_seen_and_is_enough(tmp_path, tool, records, flag, seen):
    path = make(tmp_path / "records.json", records[tool])
    run = run_amcc("consensus", path, "-m", "majority", "--sets")
    assert run.returncode == 2
    assert run.stdout == ""
    for word in (str(path), flag, "helpful", seen):
        assert word in run.stderr
    assert "Traceback" not in run.stderr
    run = run_amcc("consensus", path, "-m", "majority", "--sets", flag, {"--threshold": "3", "--yes": "good"}[flag])
    assert run.returncode == 0, run.stderr
    assert next(csv.DictReader(io.StringIO(run.stdout)))["labels"] == "helpful"


def test_the_rubric_leaves_out_what_is_no_label(tmp_path):
    records = [*(jr.langfuse(*each) for each in jr.SAID), jr.langfuse("m1", "s1", "latency", 7.5, "NUMERIC")]
    path = make(tmp_path / "records.json", records)
    run = run_amcc("check", path)
    assert (run.returncode, "--asked correct,polite" in run.stderr) == (2, True)
    run = run_amcc("convert", path, "--asked", "correct,polite", "-o", tmp_path / "votes.csv", "--json")
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert (told["format"], told["votes"], told["labels"]) == ("langfuse", 6, 2)
    assert any("'latency'" in note for note in told["notes"])


def test_all_tools_are_listed():
    tools = {each["format"] for each in json.loads(run_amcc("formats", "--json").stdout)["exports"]}
    assert set(WITHOUT_A_FLAG) <= tools
