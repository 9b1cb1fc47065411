"""Every way in which an export can be misread has a row here: asked or not, no or none, skipped, known, and by whom."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from amcc.io import read_export
from amcc.io.exchange import TOOLS
from amcc.io.exchange.feedback import TOOLS_OF_JUDGES
from exchange_files import (
    LABELS,
    annotation,
    argilla,
    argilla_flat,
    as_csv,
    as_json,
    as_lines,
    as_zip,
    boxes,
    choices,
    doccano,
    flat,
    flat_csv,
    judged,
    mturk,
    potato,
    potato_csv,
    prediction,
    prodigy,
    response,
    task,
    zooniverse,
)  # fmt: skip

E, P, S = LABELS
ALL = {"labels": list(LABELS)}
IDS = {"keep_ids": True}


def answered(worker: str, item: str, *yes: str, asked: tuple[str, ...] = LABELS) -> dict[tuple[str, str, str], int]:
    """A vote on each label that the worker was asked about."""
    return {(worker, item, label): 1 if label in yes else -1 for label in asked}


@dataclass(frozen=True)
class Trap:
    """A file, how it is read, and exactly what it says."""

    name: str
    data: bytes
    votes: dict[tuple[str, str, str], int]
    options: dict[str, Any] = field(default_factory=dict)
    skipped: tuple[tuple[str, str, str], ...] = ()
    known: dict[tuple[str, str], str] = field(default_factory=dict)
    models: tuple[str, ...] = ()


def known(item: str, *yes: str) -> dict[tuple[str, str], str]:
    return {(item, label): "yes" if label in yes else "no" for label in LABELS}


ANN = answered("9", "1", E)

TRAPS = {
    # Label Studio, JSON
    "label studio: what is not chosen of what the task offers is a no": Trap(
        "a.json", as_json([task(1, annotation(9, E, P))]), answered("9", "1", E, P)),
    "label studio: what the task does not offer was not asked": Trap(
        "a.json", as_json([task(1, annotation(9, E), ask=[E, P]), task(2, annotation(9, S), ask=[S])]),
        answered("9", "1", E, asked=(E, P)) | answered("9", "2", S, asked=(S,))),
    "label studio: an empty result is none of them": Trap(
        "a.json", as_json([task(1, annotation(9))]), answered("9", "1")),
    "label studio: a cancelled annotation is skipped, though its result is empty, too": Trap(
        "a.json", as_json([task(1, annotation(9, E), annotation(10, was_cancelled=True))]), ANN,
        skipped=(("10", "1", ""),)),
    "label studio: a task without annotations was not asked": Trap(
        "a.json", as_json([task(1, annotation(9, E)), task(2)]), ANN),
    "label studio: ground truth is known, and no vote": Trap(
        "a.json", as_json([task(1, annotation(9, E)), task(2, annotation(9, S, ground_truth=True))]), ANN,
        known=known("2", S)),
    "label studio: an empty ground truth is known to have none": Trap(
        "a.json", as_json([task(1, annotation(9, E)), task(2, annotation(9, ground_truth=True))]), ANN,
        known=known("2")),
    "label studio: predictions are votes of a model": Trap(
        "a.json", as_json([task(1, annotation(9, E), predictions=[prediction(P)])]),
        ANN | answered("m1", "1", P), models=("m1",)),
    "label studio: an empty prediction is none of them where that is said": Trap(
        "a.json", as_json([task(1, annotation(9, E), predictions=[prediction()])]), ANN | answered("m1", "1"),
        {"empty": "none"}, models=("m1",)),
    "label studio: an empty prediction is no answer where that is said": Trap(
        "a.json", as_json([task(1, annotation(9, E), predictions=[prediction()])]), ANN, {"empty": "unasked"}),
    "label studio: who annotated may be an object": Trap(
        "a.json", as_json([task(1, annotation({"id": 9, "email": "nine@example.org"}, E))]), ANN),
    "label studio: or one with an email only": Trap(
        "a.json", as_json([task(1, annotation({"email": "n@example.org"}, E))]), answered("n@example.org", "1", E)),
    "label studio: tasks of our own making name their item, which several may be about": Trap(
        "a.json", as_json([
            task(1, annotation(9, E), ask=[E]) | {"data": {"amcc_item": "s1", "ask": [{"value": E}]}},
            task(2, annotation(9), ask=[P]) | {"data": {"amcc_item": "s1", "ask": [{"value": P}]}},
        ]), answered("9", "s1", E, asked=(E, P))),
    "label studio: labels that --labels adds were offered": Trap(
        "a.json", as_json([task(1, annotation(9, E), ask=None)]), ANN, ALL),
    "label studio: what is not mentioned was not asked where that is said": Trap(
        "a.json", as_json([task(1, annotation(9, E), annotation(10), ask=None)]), answered("9", "1", E, asked=(E,)),
        {"unmentioned": "unknown"}),
    "label studio: choices of another question are not mixed in": Trap(
        "a.json", as_json([task(1, annotation(9, result=[choices(E), choices("bad", question="quality")]))]), ANN,
        {"question": "topics"}),
    # Label Studio, flat
    "json-min: one label is a text, two are an object": Trap(
        "a.json", as_json([flat(1, 9, E), flat(2, 9, E, P)]), ANN | answered("9", "2", E, P), ALL),
    "json-min: none drops the field": Trap(
        "a.json", as_json([flat(1, 9, E), flat(2, 9), flat(3, 9, E, P)]),
        ANN | answered("9", "2") | answered("9", "3", E, P), ALL),
    "json-min: without two labels anywhere, the field is told": Trap(
        "a.json", as_json([flat(1, 9, E), flat(2, 9)]),
        answered("9", "1", E, asked=(E,)) | answered("9", "2", asked=(E,)),
        {"unmentioned": "absent", "question": "topics"}),
    "json-min: or it is known by the labels": Trap(
        "a.json", as_json([flat(1, 9, E), flat(2, 9)]), ANN | answered("9", "2"), ALL),
    "json-min: what the task does not offer was not asked": Trap(
        "a.json", as_json([flat(1, 9, E, P, ask=[{"value": E}, {"value": P}]), flat(2, 9, ask=[{"value": S}])]),
        answered("9", "1", E, P, asked=(E, P)) | answered("9", "2", asked=(S,))),
    "json-min: a task that nobody annotated has a row, and was not asked": Trap(
        "a.json", as_json([flat(1, 9, E), flat(2, 9, annotator=None, annotation_id=None)]), ANN, ALL),
    "flat csv: an empty cell is none of them": Trap(
        "a.csv", as_csv([flat_csv(1, 9, E), flat_csv(2, 9), flat_csv(3, 9, E, P)]),
        ANN | answered("9", "2") | answered("9", "3", E, P), ALL),
    "flat csv: what the task does not offer was not asked": Trap(
        "a.csv", as_csv([flat_csv(1, 9, E, P) | {"ask": json.dumps([{"value": E}, {"value": P}])},
                         flat_csv(2, 9) | {"ask": json.dumps([{"value": S}])}]),
        answered("9", "1", E, P, asked=(E, P)) | answered("9", "2", asked=(S,))),
    "flat csv: a task that nobody annotated has a row, and was not asked": Trap(
        "a.csv", as_csv([flat_csv(1, 9, E), flat_csv(2, 9) | {"annotator": "", "annotation_id": ""}]), ANN, ALL),
    "flat csv: tabs come under the name of commas": Trap(
        "a.csv", as_csv([flat_csv(1, 9, E), flat_csv(3, 9, E, P)], "\t"), ANN | answered("9", "3", E, P), ALL),
    # Prodigy
    "prodigy: an option that is not accepted is a no": Trap(
        "a.jsonl", as_lines([prodigy(1, "ann", E, P)]), answered("ann", "1", E, P)),
    "prodigy: what is no option was not asked": Trap(
        "a.jsonl", as_lines([prodigy(1, "ann", E, options=[E, P]), prodigy(2, "ann", S)]),
        answered("ann", "1", E, asked=(E, P)) | answered("ann", "2", S)),
    "prodigy: nothing accepted is none of them": Trap(
        "a.jsonl", as_lines([prodigy(1, "ann")]), answered("ann", "1")),
    "prodigy: ignore is skipped, whatever was accepted": Trap(
        "a.jsonl", as_lines([prodigy(1, "ann", E), prodigy(1, "bob", E, answer="ignore")]), answered("ann", "1", E),
        skipped=(("bob", "1", ""),)),
    "prodigy: reject is none of them where that is said": Trap(
        "a.jsonl", as_lines([prodigy(1, "ann", answer="reject")]), answered("ann", "1"), {"rejected": "none"}),
    "prodigy: reject is skipped where that is said": Trap(
        "a.jsonl", as_lines([prodigy(1, "ann", E), prodigy(2, "ann", answer="reject")]), answered("ann", "1", E),
        {"rejected": "skipped"}, skipped=(("ann", "2", ""),)),
    "prodigy: without options, reject is a no to the label": Trap(
        "a.jsonl", as_lines([
            {"text": "t", "label": E, "answer": "accept", "_session_id": "db-ann", "_input_hash": 1, "_task_hash": 1},
            {"text": "t", "label": P, "answer": "reject", "_session_id": "db-ann", "_input_hash": 1, "_task_hash": 2},
        ]), answered("db-ann", "1", E, asked=(E, P))),
    "prodigy: an id of the task comes before the hash": Trap(
        "a.jsonl", as_lines([prodigy(1, "ann", E) | {"meta": {"id": "s1"}}]), answered("ann", "s1", E)),
    # doccano
    "doccano: an empty list is none of them in an export of confirmed examples": Trap(
        "a.zip", as_zip({"ann.jsonl": as_lines([doccano(1, E), doccano(2)])}),
        answered("ann", "1", E) | answered("ann", "2"), {"empty": "none", **ALL}),
    "doccano: an empty list is nothing in an export of all examples": Trap(
        "a.zip", as_zip({"ann.jsonl": as_lines([doccano(1, E), doccano(2)])}), answered("ann", "1", E),
        {"empty": "unasked", **ALL}),
    "doccano: a label that others gave was offered": Trap(
        "a.zip", as_zip({"ann.jsonl": as_lines([doccano(1, E)]), "bob.jsonl": as_lines([doccano(1, P)])}),
        answered("ann", "1", E, asked=(E, P)) | answered("bob", "1", P, asked=(E, P))),
    "doccano: labels of a cell are joined by #": Trap(
        "a.zip", as_zip({"ann.csv": b"id,text,label\n1,t,economy#politics\n"}), answered("ann", "1", E, P), ALL),
    # Potato
    "potato: a blank cell in a row is a no": Trap(
        "a.csv", as_csv([potato_csv("s1", "w1", E)]), answered("w1", "s1", E), ALL),
    "potato: a row without ticks is none of them": Trap(
        "a.csv", as_csv([potato_csv("s1", "w1", E), potato_csv("s2", "w1")]),
        answered("w1", "s1", E) | answered("w1", "s2"), ALL),
    "potato: a missing row is none of them where everybody saw everything": Trap(
        "a.jsonl", as_lines([potato("s1", "w1", E), potato("s2", "w2", S)]),
        answered("w1", "s1", E) | answered("w2", "s2", S) | answered("w1", "s2") | answered("w2", "s1"),
        {"empty": "none", **ALL}),
    "potato: a missing row was not asked where people saw a part": Trap(
        "a.jsonl", as_lines([potato("s1", "w1", E), potato("s2", "w2", S)]),
        answered("w1", "s1", E) | answered("w2", "s2", S), {"empty": "unasked", **ALL}),
    # Argilla
    "argilla: a submitted response without labels is none of them": Trap(
        "a.json", as_json([argilla("s1", response("u1", status="submitted"))]), answered("u1", "s1"), ALL),
    "argilla: a discarded response is skipped, though it has labels": Trap(
        "a.json", as_json([argilla("s1", response("u1", E), response("u2", E, status="discarded"))]),
        answered("u1", "s1", E), ALL, skipped=(("u2", "s1", ""),)),
    "argilla: a draft is nothing yet": Trap(
        "a.json", as_json([argilla("s1", response("u1", E), response("u2", E, status="draft"))]),
        answered("u1", "s1", E), ALL),
    "argilla: no label and no status is none of them where that is said": Trap(
        "a.json", as_json([argilla("s1", response("u1"))]), answered("u1", "s1"), {"empty": "none", **ALL}),
    "argilla: no label and no status is nothing where that is said": Trap(
        "a.json", as_json([argilla("s1", response("u1"), response("u2", E))]), answered("u2", "s1", E),
        {"empty": "unasked", **ALL}),
    "argilla: suggestions are votes of a model": Trap(
        "a.json", as_json([argilla("s1", response("u1", E), suggestion={"value": [P], "agent": "m1"})]),
        answered("u1", "s1", E) | answered("m1", "s1", P), ALL, models=("m1",)),
    "argilla: the flat form has the status": Trap(
        "a.json",
        as_json([argilla_flat("s1", ("u1", [E], "submitted"), ("u2", [P], "discarded"), ("u3", [S], "draft"))]),
        answered("u1", "s1", E), ALL, skipped=(("u2", "s1", ""),)),
    # Mechanical Turk
    "mturk: false is a no": Trap("a.csv", as_csv([mturk("h1", "A", boxes(E))]), answered("A", "h1", E), IDS),
    "mturk: all false is none of them": Trap("a.csv", as_csv([mturk("h1", "A", boxes())]), answered("A", "h1"), IDS),
    "mturk: a box that is not in the form was not asked": Trap(
        "a.csv", as_csv([mturk("h1", "A", {"topics": {E: True}}), mturk("h2", "A", boxes(P))]),
        answered("A", "h1", E, asked=(E,)) | answered("A", "h2", P), IDS),
    "mturk: rejected assignments are votes": Trap(
        "a.csv", as_csv([mturk("h1", "A", boxes(E), "Rejected")]), answered("A", "h1", E), IDS),
    "mturk: a menu gives what was chosen only, so what was offered is told": Trap(
        "a.csv", as_csv([mturk("h1", "A", {"topics": {"labels": [E]}})]), answered("A", "h1", E), IDS | ALL),
    "mturk: an empty menu is none of them": Trap(
        "a.csv", as_csv([mturk("h1", "A", {"topics": {"labels": []}})]), answered("A", "h1"), IDS | ALL),
    "mturk: boxes without a common name": Trap(
        "a.csv", as_csv([mturk("h1", "A", {E: {"on": True}, P: {"on": False}})]),
        answered("A", "h1", E, asked=(E, P)), IDS),
    # Zooniverse
    "zooniverse: an empty list is none of them": Trap(
        "a.csv", as_csv([zooniverse("1", "v", [])]), answered("v", "1"), ALL),
    "zooniverse: null is skipped": Trap(
        "a.csv", as_csv([zooniverse("1", "v", [E]), zooniverse("2", "v", None)]), answered("v", "1", E), ALL,
        skipped=(("v", "2", ""),)),
    "zooniverse: one answer is a text": Trap("a.csv", as_csv([zooniverse("1", "v", E)]), answered("v", "1", E), ALL),
    "zooniverse: gold standard is known, and no vote": Trap(
        "a.csv", as_csv([zooniverse("1", "v", [E]), zooniverse("2", "v", [P], gold_standard="true")]),
        answered("v", "1", E), ALL, known=known("2", P)),
    "zooniverse: who is logged in is known by their number": Trap(
        "a.csv", as_csv([zooniverse("1", "v", [E], user_id="41")]), answered("41", "1", E), ALL),
    "zooniverse: the same task of another workflow is another question": Trap(
        "a.csv", as_csv([zooniverse("1", "v", [E]), zooniverse("1", "v", [P], workflow_id="8")]), answered("v", "1", E),
        {**ALL, "question": "7/T0"}),
    # Learning With Disagreements
    "lewidi: several labels are joined, and what an annotator does not mention is a no": Trap(
        "a.json", as_json({"s1": {"annotators": "a1,a2", "annotations": {"a1": "economy,politics", "a2": ""}}}),
        answered("a1", "s1", E, P) | answered("a2", "s1"), ALL),
    "lewidi: who is named without an annotation gave none, who is not named was not asked": Trap(
        "a.json", as_json({"s1": {"annotators": "a1,a2", "annotations": {"a1": E}},
                           "s2": {"annotators": "a1", "annotations": {"a1": S}}}),
        answered("a1", "s1", E) | answered("a2", "s1") | answered("a1", "s2", S), ALL),
    "lewidi: a label of the soft label that nobody gave was offered": Trap(
        "a.json", as_json({"s1": {"annotators": "a1", "annotations": {"a1": E},
                                  "soft_label": {label: {"0": 0.5, "1": 0.5} for label in LABELS}}}),
        answered("a1", "s1", E)),
    # Alternative annotator test
    "alttest: 0 is a no, null is skipped, and what has no entry was not asked": Trap(
        "people.json", as_json({"ann": {"s1__economy": 1, "s1__politics": 0, "s1__sports": None},
                                "bob": {"s1__sports": 1}}),
        answered("ann", "s1", E, asked=(E, P)) | answered("bob", "s1", S, asked=(S,)), skipped=(("ann", "s1", S),)),
    "alttest: the files say who is a model": Trap(
        "both.zip", as_zip({"people.json": as_json({"ann": {"s1__economy": 1}}),
                            "models.json": as_json({"m1": {"s1__economy": 0}})}),
        answered("ann", "s1", E, asked=(E,)) | answered("m1", "s1", asked=(E,)), models=("m1",)),
    # Judges as JSON lines
    "judges: a value is a yes or no to its label, none is skipped": Trap(
        "a.jsonl", as_lines([judged("s1", "m1", E, value=True), judged("s1", "m1", P, value=False),
                             judged("s1", "m2", E, value=None)]),
        answered("m1", "s1", E, asked=(E, P)), skipped=(("m2", "s1", E),), models=("m1",)),
    "judges: without values, what a judge lacks was not asked where that is said": Trap(
        "a.jsonl", as_lines([judged("s1", "m1", E), judged("s1", "m2", P)]),
        answered("m1", "s1", E, asked=(E,)) | answered("m2", "s1", P, asked=(P,)), {"unmentioned": "unknown"},
        models=("m1", "m2")),
    "judges: or is a no where that is said": Trap(
        "a.jsonl", as_lines([judged("s1", "m1", E), judged("s1", "m2", P)]),
        answered("m1", "s1", E) | answered("m2", "s1", P), ALL, models=("m1", "m2")),
}  # fmt: skip

# What the names of traps begin with, and the tool whose export it is.
TOOL = {
    "label studio": "label-studio", "json-min": "label-studio-min", "flat csv": "label-studio-min",
    "prodigy": "prodigy", "doccano": "doccano", "potato": "potato", "argilla": "argilla", "mturk": "mturk",
    "zooniverse": "zooniverse",
    "lewidi": "lewidi", "alttest": "alttest", "judges": "judges",
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_trap(name, tmp_path):
    trap = TRAPS[name]
    path = tmp_path / trap.name
    path.write_bytes(trap.data)
    found = read_export(path, **trap.options)
    assert found.tool == TOOL[name.partition(":")[0]]
    rows = found.votes.to_arrow().to_pylist()
    # All of them, and no other: a label that was not asked has no vote, one that was has one.
    assert {(row["worker"], row["item"], row["label"]): row["value"] for row in rows} == trap.votes
    assert len(rows) == len(trap.votes)
    assert tuple(tuple(row.values()) for row in found.skipped.to_pylist()) == trap.skipped
    assert {(row["item"], row["label"]): row["truth"] for row in found.known.to_pylist()} == trap.known
    kinds = {row["worker"]: row["kind"] for row in found.workers.to_pylist()}
    assert {worker for worker, kind in kinds.items() if kind == "model"} == set(trap.models)


@pytest.mark.parametrize("name", [name for name in TRAPS if name.endswith("are votes of a model")])
def test_versions_of_a_model_are_a_family(name, tmp_path):
    (tmp_path / TRAPS[name].name).write_bytes(TRAPS[name].data)
    found = read_export(tmp_path / TRAPS[name].name, **TRAPS[name].options)
    assert {row["worker"]: row["family"] for row in found.workers.to_pylist() if row["kind"] == "model"} == {"m1": "m1"}


def test_the_table_has_every_tool():
    """Evaluation tools have a table of their own, in test_judge_exports.py; spreadsheets and data sets hold votes."""
    assert {name.partition(":")[0] for name in TRAPS} == set(TOOL)
    assert set(TOOL.values()) == {tool.name for tool in TOOLS if tool.table is None} - set(TOOLS_OF_JUDGES)
