"""Small exports of other tools, written after their documented shapes; nobody in them is a real person.

Each tells the same little story where its format can: workers 9 and 10 (or ann and bob) look at items with the labels
economy, politics and sports.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LABELS = ("economy", "politics", "sports")

Record = dict[str, Any]


def as_json(records: Sequence[Record] | Record) -> bytes:
    return json.dumps(records).encode()


def as_lines(records: Sequence[Record]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def as_csv(rows: Sequence[Mapping[str, str]], separator: str = ",") -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=separator)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def as_zip(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()


# -- one record of each tool -------------------------------------------------------------------------------------------


def choices(*labels: str, question: str = "topics") -> Record:
    return {"from_name": question, "to_name": "text", "type": "choices", "value": {"choices": list(labels)}}


def annotation(worker: Any, *labels: str, **other: Any) -> Record:
    result = [choices(*labels)] if labels else []
    return {"id": 1, "completed_by": worker, "was_cancelled": False, "ground_truth": False, "result": result, **other}


def prediction(*labels: str, model: str = "m1") -> Record:
    return {"model_version": model, "score": 0.8, "result": [choices(*labels)] if labels else []}


def task(item: int, *annotations: Record, ask: Sequence[str] | None = LABELS, **other: Any) -> Record:
    data: Record = {"text": f"text {item}"}
    if ask is not None:
        data["ask"] = [{"value": label} for label in ask]
    return {"id": item, "data": data, "annotations": list(annotations), "predictions": [], **other}


def flat(item: int, worker: int, *labels: str, **other: Any) -> Record:
    """A row of Label Studio's JSON-MIN: one label is a text, two are an object, none is nothing."""
    answer: Record = {}
    if labels:
        answer["topics"] = labels[0] if len(labels) == 1 else {"choices": list(labels)}
    return {
        "id": item,
        "text": f"text {item}",
        **answer,
        "annotator": worker,
        "annotation_id": 10 * item + worker,
        **other,
    }


def flat_csv(item: int, worker: int, *labels: str) -> dict[str, str]:
    row = flat(item, worker, *labels)
    cell = row.get("topics", "")
    return {
        "annotation_id": str(row["annotation_id"]), "annotator": str(worker), "id": str(item), "lead_time": "1.5",
        "text": row["text"], "topics": cell if isinstance(cell, str) else json.dumps(cell),
    }  # fmt: skip


def prodigy(item: int, worker: str, *accept: str, answer: str = "accept", options: Sequence[str] = LABELS) -> Record:
    return {
        "text": f"text {item}", "options": [{"id": each, "text": each.title()} for each in options],
        "accept": list(accept), "answer": answer, "_annotator_id": worker, "_session_id": f"db-{worker}",
        "_input_hash": item, "_task_hash": 100 + item,
    }  # fmt: skip


def doccano(item: int, *labels: str) -> Record:
    return {"id": item, "text": f"text {item}", "label": list(labels), "Comments": []}


def potato(item: str, user: str, *labels: str) -> Record:
    return {"instance_id": item, "user_id": user, "labels": {"topics": dict.fromkeys(labels, "true")}}


def potato_csv(item: str, user: str, *labels: str) -> dict[str, str]:
    ticks = {f"topics:::{label}": "true" if label in labels else "" for label in LABELS}
    return {"instance_id": item, "user_id": user, **ticks}


def response(user: str, *labels: str, **other: Any) -> Record:
    return {"value": list(labels), "user_id": user, **other}


def argilla(item: str, *responses: Record, suggestion: Record | None = None) -> Record:
    suggestions = {} if suggestion is None else {"topics": suggestion}
    return {
        "id": item, "fields": {"text": f"text {item}"}, "metadata": {}, "vectors": {}, "status": "pending",
        "responses": {"topics": list(responses)}, "suggestions": suggestions,
    }  # fmt: skip


def argilla_flat(item: str, *answers: tuple[str, list[str], str]) -> Record:
    return {
        "id": item, "text": f"text {item}", "topics.responses": [labels for _, labels, _ in answers],
        "topics.responses.users": [user for user, _, _ in answers],
        "topics.responses.status": [status for _, _, status in answers],
    }  # fmt: skip


def mturk(item: str, worker: str, form: Any, status: str = "Approved") -> dict[str, str]:
    return {
        "HITId": item, "Title": "Topics", "AssignmentId": f"a-{item}-{worker}", "WorkerId": worker,
        "AssignmentStatus": status, "WorkTimeInSeconds": "12", "Input.text": f"text {item}",
        "Answer.taskAnswers": json.dumps([form]), "Approve": "", "Reject": "",
    }  # fmt: skip


def boxes(*ticked: str) -> Record:
    return {"topics": {label: label in ticked for label in LABELS}}


def zooniverse(
    subject: str, user: str, value: Any, *, user_id: str = "", task: str = "T0", **other: str
) -> dict[str, str]:
    return {
        "classification_id": f"{subject}{user}", "user_name": user, "user_id": user_id, "workflow_id": "7",
        "created_at": "2026-01-01 10:00:00 UTC", "gold_standard": "", "expert": "",
        "annotations": json.dumps([{"task": task, "task_label": "Topics?", "value": value}]),
        "subject_ids": subject, **other,
    }  # fmt: skip


def judged(item: str, judge: str, label: Any, **other: Any) -> Record:
    return {"item": item, "judge": judge, "label": label, **other}


# -- one export of each tool -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """An export that needs no flag, or one: without it, `why` is part of the explanation."""

    tool: str
    name: str
    data: bytes
    flag: tuple[str, ...] = ()
    why: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        path = folder / self.name
        path.write_bytes(self.data)
        return path


OFFERED: dict[str, Any] = {
    "flag": ("--labels", "economy,politics,sports"),
    "why": "does not say which labels were offered",
    "options": {"labels": list(LABELS)},
}

SAMPLES = {
    "label studio": Sample("label-studio", "tasks.json", as_json([
        task(1, annotation(9, "economy", "politics"), annotation(10, "economy")),
        task(2, annotation(9), annotation(10, was_cancelled=True)),
        task(3, annotation(9, "sports", ground_truth=True), annotation(10, "sports"),
             predictions=[prediction("sports")]),
        task(4, annotation({"id": 9, "email": "nine@example.org"}, "politics")),
    ])),
    "label studio, labels not in the tasks": Sample("label-studio", "tasks.json", as_json([
        task(1, annotation(9, "economy", "politics"), annotation(10, "economy"), ask=None),
        task(2, annotation(9), annotation(10, "sports"), ask=None),
    ]), **OFFERED),
    "label studio json-min": Sample("label-studio-min", "min.json", as_json([
        flat(1, 9, "economy", "politics"), flat(1, 10, "economy"), flat(2, 9), flat(2, 10, "sports"),
    ]), **OFFERED),
    "label studio csv": Sample("label-studio-min", "min.csv", as_csv([
        flat_csv(1, 9, "economy", "politics"), flat_csv(1, 10, "economy"), flat_csv(2, 9), flat_csv(2, 10, "sports"),
    ]), **OFFERED),
    "label studio tsv, called csv": Sample("label-studio-min", "min.csv", as_csv([
        flat_csv(1, 9, "economy", "politics"), flat_csv(1, 10, "economy"), flat_csv(2, 9), flat_csv(2, 10, "sports"),
    ], "\t"), **OFFERED),
    "label studio csv, one label at most": Sample("label-studio-min", "min.csv", as_csv([
        flat_csv(1, 9, "economy"), flat_csv(1, 10, "politics"), flat_csv(2, 9), flat_csv(2, 10, "sports"),
    ]), ("--labels", "economy,politics,sports"), "one label looks like any other text", {"labels": list(LABELS)}),
    "prodigy": Sample("prodigy", "prodigy.jsonl", as_lines([
        prodigy(1, "ann", "economy", "politics"), prodigy(1, "bob", "economy"), prodigy(2, "ann"),
        prodigy(2, "bob", answer="ignore"),
    ])),
    "prodigy, rejected": Sample("prodigy", "prodigy.jsonl", as_lines([
        prodigy(1, "ann", "economy"), prodigy(1, "bob", answer="reject"), prodigy(2, "ann", "sports"),
    ]), ("--rejected", "none"), "was rejected (answer: reject", {"rejected": "none"}),
    "doccano": Sample("doccano", "doccano.zip", as_zip({
        "ann.jsonl": as_lines([doccano(1, "economy", "politics"), doccano(2, "sports"), doccano(3)]),
        "bob.jsonl": as_lines([doccano(1, "economy"), doccano(2), doccano(3, "politics")]),
    }), ("--empty", "none"), "has the same as one who found none", {"empty": "none"}),
    "doccano csv": Sample("doccano", "doccano.zip", as_zip({
        "ann.csv": b"id,text,label\n1,text 1,economy#politics\n2,text 2,sports\n",
        "bob.csv": b"id,text,label\n1,text 1,economy\n2,text 2,sports\n",
    })),
    "potato csv": Sample("potato", "annotations.csv", as_csv([
        potato_csv("s1", "w1", "economy", "politics"), potato_csv("s1", "w2", "economy"),
        potato_csv("s2", "w1", "sports"),
    ]), ("--empty", "unasked"), "may mean none of the labels, or not asked", {"empty": "unasked"}),
    "potato jsonl": Sample("potato", "annotations.jsonl", as_lines([
        potato("s1", "w1", "economy", "politics"), potato("s1", "w2", "economy"), potato("s2", "w1", "sports"),
        potato("s2", "w2", "politics"),
    ])),
    "argilla": Sample("argilla", "records.json", as_json([
        argilla("s1", response("u1", "economy", "politics"), response("u2", "economy")),
        argilla("s2", response("u1", "sports"), suggestion={"value": ["sports"], "score": [0.9], "agent": "m1"}),
    ])),
    "argilla, flat": Sample("argilla", "records.json", as_json([
        argilla_flat("s1", ("u1", ["economy", "politics"], "submitted"), ("u2", ["economy"], "draft")),
        argilla_flat("s2", ("u1", [], "submitted"), ("u2", ["sports"], "discarded")),
    ])),
    "argilla, empty": Sample("argilla", "records.jsonl", as_lines([
        argilla("s1", response("u1", "economy", "politics"), response("u2")), argilla("s2", response("u1", "sports")),
    ]), ("--empty", "none"), "it is a draft, or discarded", {"empty": "none"}),
    "mturk": Sample("mturk", "batch.csv", as_csv([
        mturk("h1", "AAA111", boxes("economy", "politics")), mturk("h1", "BBB222", boxes("economy"), "Rejected"),
        mturk("h2", "AAA111", boxes()), mturk("h2", "BBB222", boxes("sports")),
    ])),
    "zooniverse": Sample("zooniverse", "classifications.csv", as_csv([
        zooniverse("1", "volunteer-a", ["economy", "politics"], user_id="41"), zooniverse("1", "not-logged-in-0a", []),
        zooniverse("2", "volunteer-a", ["sports"], user_id="41"), zooniverse("2", "not-logged-in-0a", None),
    ]), **OFFERED),
}  # fmt: skip
