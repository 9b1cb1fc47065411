"""Every way in which an export can be misread has a row here: asked or not, no or none, skipped, known, and by whom."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from amcc.io import read_export
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
        "a.json", as_json([flat(1, 9, E), flat(2, 9)]), ANN | answered("9", "2"), {**ALL, "question": "topics"}),
    "flat csv: an empty cell is none of them": Trap(
        "a.csv", as_csv([flat_csv(1, 9, E), flat_csv(2, 9), flat_csv(3, 9, E, P)]),
        ANN | answered("9", "2") | answered("9", "3", E, P), ALL),
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
}  # fmt: skip


@pytest.mark.parametrize("name", TRAPS)
def test_trap(name, tmp_path):
    trap = TRAPS[name]
    path = tmp_path / trap.name
    path.write_bytes(trap.data)
    found = read_export(path, **trap.options)
    rows = found.votes.to_arrow().to_pylist()
    # All of them, and no other: a label that was not asked has no vote, one that was has one.
    assert {(row["worker"], row["item"], row["label"]): row["value"] for row in rows} == trap.votes
    assert len(rows) == len(trap.votes)
    assert tuple(tuple(row.values()) for row in found.skipped.to_pylist()) == trap.skipped
    assert {(row["item"], row["label"]): row["truth"] for row in found.known.to_pylist()} == trap.known
    kinds = {row["worker"]: row["kind"] for row in found.workers.to_pylist()}
    assert {worker for worker, kind in kinds.items() if kind == "model"} == set(trap.models)


def test_the_table_names_every_tool():
    """Those of annotation tools; judges of language models have a table of their own."""
    tools = {name.partition(":")[0] for name in TRAPS}
    assert tools == {
        "label studio",
        "json-min",
        "flat csv",
        "prodigy",
        "doccano",
        "potato",
        "argilla",
        "mturk",
        "zooniverse",
    }
