"""From an export of another tool to a consensus in one command; and what else a command makes of such a file."""

from __future__ import annotations

import csv
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from amcc.io import FORMATS
from amcc.io.exchange import TOOLS
from exchange_files import LABELS, SAMPLES, annotation, as_json, prediction, task
from judge_records import SAID, mlflow
from running import run_amcc


def amcc(*arguments: object, code: int = 0, **options):
    done = run_amcc(*arguments, **options)
    assert done.returncode == code, done.stderr
    return done


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture
def tasks(tmp_path) -> Path:
    """An export with known truth and a model: people and the model disagree about everything."""
    made = [
        task(item, annotation(9, "economy"), annotation(10, "economy"), predictions=[prediction("sports", model="m1")])
        for item in range(1, 13)
    ]
    made.append(task(13, annotation(8, "economy", ground_truth=True), annotation(9, "economy")))
    made.append(task(14, annotation(9, was_cancelled=True)))
    path = tmp_path / "tasks.json"
    path.write_bytes(as_json(made))
    return path


# -- from each tool to a consensus -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_an_export_becomes_a_consensus(name, tmp_path):
    """With no flag, or with one whose need is explained."""
    sample = SAMPLES[name]
    path = sample.write(tmp_path)
    if sample.flag:
        refused = amcc("consensus", path, "-m", "majority", code=2)
        assert sample.why in refused.stderr
        assert sample.flag[0] in refused.stderr
        assert refused.stdout == ""
    done = amcc("consensus", path, "-m", "majority", *sample.flag)
    assert {row["label"] for row in rows(done.stdout)} == set(LABELS)
    assert "read as" in done.stderr


def test_standard_input_may_hold_an_export(tmp_path):
    data = SAMPLES["label studio"].data
    command = [sys.executable, "-m", "amcc", "convert", "-"]
    done = subprocess.run(command, input=data, capture_output=True, check=True)
    assert len(rows(done.stdout.decode())) == 18
    cut = subprocess.run([*command, "--format", "label-studio"], input=data[:-9], capture_output=True)
    assert cut.returncode == 2
    assert cut.stderr.decode().startswith("error: standard input: the file must be JSON")


# -- what commands make of it ----------------------------------------------------------------------------------------


def test_check_says_what_was_taken_for_what(tasks):
    told = amcc("check", tasks).stderr
    for sentence in (
        "read as Label Studio, JSON (tasks with data and annotations and predictions)",
        "1 questions or items were skipped: they are no votes",
        "1 items are marked as known truth",
        "what is what: Choices of annotators (completed_by) and predictions on tasks",
    ):
        assert sentence in " ".join(told.split())
    as_told = json.loads(amcc("check", tasks, "--json").stdout)
    for words in ("read as Label Studio", "what is what: Choices of annotators"):
        assert any(words in note for note in as_told["notes"])
    assert {family["kind"] for family in as_told["families"]} == {"human", "model"}


def test_the_labelling_configuration_says_what_was_offered(tmp_path):
    path = SAMPLES["label studio, labels not in the tasks"].write(tmp_path)
    assert "--labels config.xml" in amcc("consensus", path, code=2).stderr
    named = "".join(f'<Choice value="{label}"/>' for label in (*LABELS, "weather"))
    config = tmp_path / "config.xml"
    config.write_text(f'<View><Text name="t" value="$text"/><Choices name="topics" toName="t">{named}</Choices></View>')
    found = rows(amcc("consensus", path, "-m", "majority", "--labels", config).stdout)
    assert {row["label"]: row["present"] for row in found if row["item"] == "1"} == {
        "economy": "1", "politics": "0", "sports": "0", "weather": "0",
    }  # fmt: skip


def test_known_truth_of_an_export_is_used_unless_another_is_named(tasks, tmp_path):
    found = rows(amcc("consensus", tasks, "-m", "dawid-skene").stdout)
    assert {row["label"]: row["probability"] for row in found if row["item"] == "13"} == {
        "economy": "1", "politics": "0", "sports": "0",
    }  # fmt: skip
    other = tmp_path / "truth.csv"
    other.write_text("item,label,truth\n13,sports,yes\n")
    found = rows(amcc("consensus", tasks, "-m", "dawid-skene", "--truth", other).stdout)
    assert {row["label"]: row["probability"] for row in found if row["item"] == "13"}["sports"] == "1"


def test_kinds_of_an_export_are_used_unless_others_are_named(tasks, tmp_path):
    kinds = {row["worker"]: row["kind"] for row in rows(amcc("workers", tasks).stdout)}
    assert kinds == {"9": "human", "10": "human", "m1": "model"}
    other = tmp_path / "workers.csv"
    other.write_text("worker,kind\n9,code\nm1,human\n")
    kinds = {row["worker"]: row["kind"] for row in rows(amcc("workers", tasks, "--workers", other).stdout)}
    assert kinds == {"9": "code", "10": "human", "m1": "human"}


def test_nobody_is_asked_about_what_an_export_knows(tasks):
    asked = rows(amcc("next", tasks, "--budget", "100", "--price", "1", "--batch", "100").stdout)
    assert asked
    assert "13" not in {row["item"] for row in asked}


def test_an_export_cannot_be_packed_as_it_is(tasks, tmp_path):
    refused = amcc("pack", tasks, "-o", tmp_path / "packed", code=2)
    assert "Make it a table first: amcc convert" in refused.stderr


# -- convert and formats ---------------------------------------------------------------------------------------------


def test_convert_writes_all_that_an_export_says(tasks, tmp_path):
    names = ("votes", "truth", "workers", "skips", "text")
    files = {name: tmp_path / f"{name}.csv" for name in names}
    beside = [word for name in names[1:] for word in (f"--{name}-output", files[name])]
    amcc("convert", tasks, "-o", files["votes"], *beside)
    made = {name: rows(path.read_text()) for name, path in files.items()}
    assert len(made["votes"]) == 3 * (12 * 3 + 1)
    assert made["truth"][0] == {"item": "13", "label": "economy", "truth": "yes"}
    assert {"worker": "m1", "kind": "model", "family": "m1"} in made["workers"]
    assert made["skips"] == [{"worker": "9", "item": "14", "label": ""}]
    assert made["text"][0] == {"item": "1", "text": "text 1"}
    # What was written says the same as the export.
    again = amcc(
        "consensus", files["votes"], "--truth", files["truth"], "--workers", files["workers"], "-o", tmp_path / "a.csv"
    )
    assert again.returncode == 0
    amcc("consensus", tasks, "-o", tmp_path / "b.csv")
    assert {tuple(row.values()) for row in rows((tmp_path / "a.csv").read_text())} <= {
        tuple(row.values()) for row in rows((tmp_path / "b.csv").read_text())
    }


def test_convert_counts_and_writes_sets(tasks):
    told = json.loads(amcc("convert", tasks, "--json").stdout)
    assert (told["format"], told["workers"], told["skipped"], told["known"]) == ("label-studio", 3, 1, 3)
    assert rows(amcc("convert", tasks, "--sets").stdout)[0].keys() == {"worker", "item", "labels", "asked"}


def test_formats_lists_every_tool():
    told = amcc("formats").stdout
    as_told = json.loads(amcc("formats", "--json").stdout)
    assert [tool["format"] for tool in as_told["exports"]] == [tool.name for tool in TOOLS]
    assert as_told["tables"] == [list(kind.suffixes) for kind in FORMATS]
    by_name = {tool["format"]: tool for tool in as_told["exports"]}
    assert by_name["doccano"]["options"] == ["--labels", "--empty"]
    for tool in TOOLS:
        assert tool.name in told


PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
COMMANDS = PAGE.partition("<!-- commands -->")[2].split("```")[1]


def test_every_tool_is_on_the_page():
    for tool in TOOLS:
        assert f"(`{tool.name}`)" in PAGE


@pytest.mark.parametrize("command", re.findall(r"^amcc (.*?)(?: +#.*)?$", COMMANDS, flags=re.MULTILINE))
def test_commands_of_the_page_run(command, tmp_path):
    for name in ("label studio", "label studio csv", "prodigy, rejected", "doccano", "potato csv", "argilla", "mturk",
                 "zooniverse"):  # fmt: skip
        SAMPLES[name].write(tmp_path)
    (tmp_path / "assessments.json").write_text(json.dumps([mlflow(*said) for said in SAID]))
    amcc(*shlex.split(command), cwd=tmp_path)


# -- other names -----------------------------------------------------------------------------------------------------


def test_no_real_name_reaches_any_output(tmp_path):
    path = SAMPLES["mturk"].write(tmp_path)
    key = tmp_path / "key"
    for flags in ((), ("--pseudonyms", key)):
        told = amcc("workers", path, "--json", *flags)
        amcc("convert", path, *flags, "-o", tmp_path / "votes.csv", "--workers-output", tmp_path / "workers.csv")
        written = (tmp_path / "votes.csv").read_text() + (tmp_path / "workers.csv").read_text()
        assert "AAA111" not in told.stdout + told.stderr + written
    again = amcc("convert", path, "--pseudonyms", key).stdout
    assert again == (tmp_path / "votes.csv").read_text()
    kept = amcc("convert", path, "--keep-ids").stdout
    assert "AAA111" in kept


def test_tables_get_the_same_pseudonyms_as_exports(tmp_path):
    key = ("--pseudonyms", tmp_path / "key")
    table = tmp_path / "votes.csv"
    table.write_text("worker,item,label,value\nAAA111,1,dog,1\n")
    export = rows(amcc("convert", SAMPLES["mturk"].write(tmp_path), *key).stdout)
    assert rows(amcc("convert", table, *key).stdout)[0]["worker"] in {row["worker"] for row in export}
