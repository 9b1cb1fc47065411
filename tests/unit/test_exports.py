"""What is written for other tools: read back, it says what the consensus says."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import amcc
from amcc.cli import app
from amcc.errors import InputError, ParameterError
from amcc.exports import WRITERS, Results, write_consensus
from amcc.exports.arrays import cleanlab_input
from amcc.exports.label_studio import MODEL_VERSION, set_score, tasks_to_ask

ANSWERS = [
    ("ann", "clip1", ["dog"], ["dog", "cat"]),
    ("bob", "clip1", ["dog"], ["dog", "cat"]),
    ("cid", "clip1", ["dog", "cat"], ["dog", "cat"]),
    ("ann", "clip2", [], ["dog", "cat"]),
    ("bob", "clip2", [], ["dog", "cat"]),
    ("cid", "clip2", [], ["dog"]),
    ("ann", "clip3", ["cat"], ["cat"]),
]
TEXTS = pa.table({"item": ["clip1", "clip2", "clip3"], "text": ["a dog barks", "silence", "meow, <b>twice</b>"]})


@pytest.fixture(scope="module")
def votes():
    names = ("worker", "item", "labels", "asked")
    return amcc.Votes.from_frame(pa.table(dict(zip(names, map(list, zip(*ANSWERS, strict=True)), strict=True))))


@pytest.fixture(scope="module")
def model(votes):
    return amcc.make_model("majority").fit(votes)


SETS = {"clip1": ["dog"], "clip2": [], "clip3": ["cat"]}


def test_every_writer_writes_the_sets_or_probabilities(model, votes, tmp_path):
    assert [writer.name for writer in WRITERS] == [
        "cleanlab", "huggingface", "label-studio", "lewidi", "scikit-learn", "soft-labels",
    ]  # fmt: skip
    for writer in WRITERS:
        write_consensus(model, votes, tmp_path / writer.name, to=writer.name, texts=TEXTS)
        assert (tmp_path / writer.name).exists()
    assert not list(tmp_path.glob(".part-*"))


def test_label_studio_predictions(model, votes, tmp_path):
    write_consensus(model, votes, tmp_path / "p.json", to="label-studio", texts=TEXTS, question="topics", shown="doc")
    tasks = json.loads((tmp_path / "p.json").read_text())
    assert [task["data"] for task in tasks] == [
        {"amcc_item": item, "doc": text} for item, text in zip(*TEXTS.to_pydict().values(), strict=True)
    ]
    first = tasks[0]["predictions"][0]
    assert first["model_version"] == MODEL_VERSION
    assert first["result"] == [
        {"from_name": "topics", "to_name": "doc", "type": "choices", "value": {"choices": ["dog"]}}
    ]
    assert tasks[1]["predictions"][0]["result"] == []


def test_the_score_of_a_set_counts_only_what_was_asked(model, votes):
    results = Results(model, votes)
    proba = dict(zip(results.labels, results.proba[2].tolist(), strict=True))
    assert set_score(results, 2) == pytest.approx(proba["cat"])  # nobody was asked about the dog of clip3


def test_tasks_to_ask_are_pages_in_the_order_of_their_best_question():
    asked = [("clip2", "cat", "ann"), ("clip1", "dog", "bob"), ("clip2", "dog", "ann")]
    assert tasks_to_ask(asked, {"clip2": "silence"}) == [
        {"data": {"amcc_item": "clip2", "text": "silence", "ask": [{"value": "cat"}, {"value": "dog"}],
                  "ask_for": "ann", "priority": 1}},
        {"data": {"amcc_item": "clip1", "text": "clip1", "ask": [{"value": "dog"}], "ask_for": "bob", "priority": 2}},
    ]  # fmt: skip


def test_answers_to_tasks_that_were_imported_join_the_votes(tmp_path):
    """Label Studio numbers tasks as they come; each worker had one of their own, about the same item."""
    asked = [("clip2", "cat", "ann"), ("clip2", "dog", "bob"), ("clip1", "dog", "ann")]
    tasks = tasks_to_ask(asked)
    for number, (task, chosen) in enumerate(zip(tasks, (["cat"], [], ["dog"]), strict=True), start=71):
        result = [{"from_name": "topics", "type": "choices", "value": {"choices": chosen}}] if chosen else []
        task |= {"id": number, "annotations": [{"completed_by": number % 2, "result": result}]}
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    rows = amcc.read_votes(tmp_path / "export.json").to_arrow().to_pylist()
    assert {(row["worker"], row["item"], row["label"], row["value"]) for row in rows} == {
        ("1", "clip2", "cat", 1), ("0", "clip2", "dog", -1), ("1", "clip1", "dog", 1),
    }  # fmt: skip


def test_predictions_that_were_imported_and_corrected_name_their_items(model, votes, tmp_path):
    write_consensus(model, votes, tmp_path / "p.json", to="label-studio", texts=TEXTS)
    tasks = json.loads((tmp_path / "p.json").read_text())
    for number, task in enumerate(tasks, start=71):
        # An export names predictions by their numbers only.
        task |= {"id": number, "annotations": [{"completed_by": 9, "result": task["predictions"][0]["result"]}],
                 "predictions": [number]}  # fmt: skip
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    found = amcc.read_export(tmp_path / "export.json", labels=["dog", "cat"])
    sets = {row["item"]: row["labels"] for row in found.votes.to_sets("arrow").to_pylist()}
    assert sets == SETS
    assert found.texts.to_pylist() == TEXTS.to_pylist()


def test_a_folder_for_the_hub_holds_sets_votes_and_a_card(model, votes, tmp_path):
    folder = tmp_path / "pets"
    write_consensus(model, votes, folder, to="huggingface", texts=TEXTS)
    rows = pq.read_table(folder / "consensus.parquet").to_pylist()
    assert {row["item"]: row["labels"] for row in rows} == SETS
    assert rows[2]["asked"] == ["cat"]
    assert rows[2]["text"] == "meow, <b>twice</b>"
    assert dict(zip(rows[0]["label_names"], rows[0]["probability"], strict=True)).keys() == {"dog", "cat"}
    assert amcc.read_votes(folder / "votes.parquet") == amcc.read_votes(folder) == votes
    card = (folder / "README.md").read_text()
    assert card.startswith("---\n")
    assert "Labels of 3 items" in card
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "consensus.parquet", "votes.parquet"]
    with pytest.raises(InputError, match="must be a new folder"):
        write_consensus(model, votes, folder, to="huggingface")


def test_lewidi_keeps_who_said_what(model, votes, tmp_path):
    write_consensus(model, votes, tmp_path / "l.json", to="lewidi")
    content = json.loads((tmp_path / "l.json").read_text())
    assert content["clip1"]["annotations"] == {"ann": "dog", "bob": "dog", "cid": "cat,dog"}
    assert content["clip1"]["annotators"] == "ann,bob,cid"
    assert {item: entry["hard_label"] for item, entry in content.items()} == SETS
    assert content["clip1"]["soft_label"]["dog"]["1"] > 0.5 > content["clip1"]["soft_label"]["cat"]["1"]
    assert "dog" not in content["clip3"]["soft_label"], "not asked is not absent"


def test_lewidi_is_read_back(tmp_path):
    """All labels were asked of everybody: what this form can say."""
    rows = [(worker, item, labels, ["cat", "dog"]) for worker, item, labels, _ in ANSWERS]
    names = ("worker", "item", "labels", "asked")
    votes = amcc.Votes.from_frame(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))))
    write_consensus(amcc.make_model("majority").fit(votes), votes, tmp_path / "l.json", to="lewidi", texts=TEXTS)
    found = amcc.read_export(tmp_path / "l.json")
    assert found.votes == votes
    assert found.texts.to_pylist() == TEXTS.to_pylist()


def test_lewidi_cannot_hold_a_label_with_a_comma(tmp_path):
    votes = amcc.Votes.from_frame(pa.table({"worker": ["a"], "item": ["i"], "label": ["red, blue"], "value": [1]}))
    with pytest.raises(InputError, match="'red, blue'"):
        write_consensus(amcc.make_model("majority").fit(votes), votes, tmp_path / "l.json", to="lewidi")


def test_cleanlab_gets_what_most_gave_and_how_likely_it_is(model, votes):
    found = cleanlab_input(Results(model, votes))
    names = [str(name) for name in votes.label_names.to_pylist()]
    assert [[names[code] for code in labels] for labels in found["labels"]] == [["dog"], [], ["cat"]]
    assert found["pred_probs"].shape == (3, 2)


def test_indicator_matrices_need_no_pickle(model, votes, tmp_path):
    write_consensus(model, votes, tmp_path / "y.npz", to="scikit-learn")
    with np.load(tmp_path / "y.npz", allow_pickle=False) as found:
        sets = {item: found["labels"][row > 0].tolist() for item, row in zip(found["items"], found["Y"], strict=True)}
        assert sets == SETS
        assert found["asked"].sum() == len(votes.pairs)
        np.testing.assert_array_equal(found["proba"] > 0.5, found["Y"] > 0)


def test_soft_labels_are_those_of_pairs(model, votes, tmp_path):
    write_consensus(model, votes, tmp_path / "s.jsonl", to="soft-labels")
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    pairs = model.pairs(soft=True, votes=votes, frame="arrow").to_pylist()
    for row in pairs:
        line = next(line for line in lines if line["item"] == row["item"])
        assert line["soft"][row["label"]] == pytest.approx(row["soft"], abs=1e-6)
        assert line["probability"][row["label"]] == pytest.approx(row["probability"], abs=1e-6)
    assert "dog" not in lines[2]["soft"]


def test_votes_of_others_and_unknown_tools_are_refused(model, votes, tmp_path):
    with pytest.raises(ParameterError, match="must be one of cleanlab"):
        write_consensus(model, votes, tmp_path / "x", to="excel")
    with pytest.raises(ParameterError, match="votes must be those"):
        write_consensus(model, votes.select(votes.item > 0), tmp_path / "x", to="lewidi")
    assert not list(tmp_path.iterdir())


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_commands_write_for_other_tools(votes, tmp_path):
    amcc.write_votes(votes, tmp_path / "votes.csv", sets=True)
    path = tmp_path / "votes.csv"
    done = run(
        "consensus", path, "-m", "majority", "-o", tmp_path / "c.csv", "--to", "lewidi", "--export", tmp_path / "l.json"
    )
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "l.json").read_text())["clip1"]["hard_label"] == ["dog"]
    done = run("next", path, "--budget", 2, "-o", tmp_path / "n.csv", "--tasks", tmp_path / "tasks.json")
    assert done.exit_code == 0, done.output
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert sum(len(task["data"]["ask"]) for task in tasks) == 2


def test_commands_refuse_half_of_what_is_needed(votes, tmp_path):
    amcc.write_votes(votes, tmp_path / "votes.csv", sets=True)
    for half in (["--to", "lewidi"], ["--export", tmp_path / "l.json"], ["--to", "x", "--export", tmp_path / "l.json"]):
        done = run("consensus", tmp_path / "votes.csv", *half)
        assert isinstance(done.exception, ParameterError)
    assert not (tmp_path / "l.json").exists()
