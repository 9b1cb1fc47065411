"""Label Studio: the flat exports JSON-MIN, CSV and TSV, one row per annotation.

One label is a bare text, two or more are an object with `choices`; an answer without a label drops the field, or leaves
its cell empty. What a task offers stands in its data, where choices are dynamic. Annotations that were skipped are not
there, and neither are ground truth and predictions: the JSON export has them. A task that nobody annotated may have a
row, without an annotator.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from amcc.errors import FileFormatError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions, undecided
from amcc.io.exchange.label_studio import CONFIGURATION, ITEM, TEXTS, offered_to, worker_of
from amcc.io.exchange.source import Source
from amcc.io.exchange.tool import Tool, register
from amcc.tables import listed

# What is in every row, beside the data of the task and the answers.
OWN = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "history")

# What says in the data of a task which labels it offers, and to whom.
ASKED = ("ask", "asked_of")


def recognises(source: Source) -> str | None:
    """Rows have an id, an annotator and an annotation_id. A column of values says that it is a table of votes."""
    names = set(source.columns or source.first)
    if not {"id", "annotator", "annotation_id"} <= names or "value" in names:
        return None
    return "rows with id, annotator and annotation_id"


def read(source: Source, decisions: Decisions) -> Answers:
    """All annotations."""
    answers = Answers(elsewhere=CONFIGURATION)
    rows = list(source.rows() if source.columns else source.records())
    question = _question(rows, decisions)
    for where, row in rows:
        if row.get("id") in (None, ""):
            raise FileFormatError(f"{where} must have an id; it has none.")
        item = str(row.get(ITEM) or row["id"])
        answers.see(item, next((row[name] for name in TEXTS if name != question and name in row), None))
        if all(row.get(name) in (None, "") for name in ("annotation_id", "annotator")):
            continue  # a task that nobody annotated has a row of its own, where all tasks were exported
        worker = worker_of(row.get("annotator"), where)
        yes = labels_of(row.get(question), question, where)
        data = {name: _unpacked(row.get(name)) for name in ASKED}
        answers.say(worker, item, yes=yes, offered=offered_to(worker, data), at=str(row.get("updated_at") or ""))
    answers.note("skipped tasks, ground truth and predictions are not in this export; Label Studio's JSON has them")
    return answers


def _question(rows: list[tuple[str, Any]], decisions: Decisions) -> str:
    """The field of the answers. A field with one label looks like any text, so it is known by answers with several."""
    fields = [name for name in _in_order(rows) if name not in (*OWN, *ASKED, ITEM)]
    if decisions.question is not None:
        return str(decisions.only_question(fields))
    found = {name for name in fields if any(_choices(row.get(name)) is not None for _, row in rows)}
    if not found and decisions.labels is not None:
        found = {name for name in fields if len(seen := set(_values(rows, name))) > 0 and seen <= set(decisions.labels)}
    if not found:
        shown = "; ".join(f"{name}: {listed(_shortened(rows, name), most=3)}" for name in fields)
        undecided(
            f"no answer has two labels, and one label looks like any other text. The fields are {shown or 'none'}.",
            "--labels a,b,c (or a file of them): all that were offered, by which the answers are known",
            f"--question {fields[-1] if fields else 'NAME'}, for example, if that field holds them",
        )
    return str(decisions.only_question(found))


def _in_order(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    return list(dict.fromkeys(name for _, row in rows for name in row))


def _values(rows: Iterable[tuple[str, Mapping[str, Any]]], name: str) -> Iterator[str]:
    """Different values of a field."""
    yield from dict.fromkeys(str(row[name]) for _, row in rows if row.get(name) not in (None, ""))


def _shortened(rows: Iterable[tuple[str, Mapping[str, Any]]], name: str) -> Iterator[str]:
    """The same, cut where they are long."""
    yield from dict.fromkeys(value[:30] for value in _values(rows, name))


def _unpacked(cell: Any) -> Any:
    """What a cell holds: lists and objects are JSON in tables."""
    if isinstance(cell, str) and cell.startswith(("{", "[")):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def _choices(cell: Any) -> list[Any] | None:
    """The labels of an answer that has several; None for anything else."""
    cell = _unpacked(cell)
    found = cell.get("choices") if isinstance(cell, dict) else None
    return found if isinstance(found, list) else None


def labels_of(cell: Any, question: str, where: str) -> list[str]:
    """The labels of an answer: several in an object, one as text, none as nothing.

    >>> labels_of({"choices": ["a", "b"]}, "topics", "row 1"), labels_of("a", "topics", "row 1")
    (['a', 'b'], ['a'])
    """
    if cell is None or cell == "":
        return []
    if (several := _choices(cell)) is not None:
        return [str(label) for label in several]
    if not isinstance(cell, str):
        raise FileFormatError(f"{question!r} of {where} must be a label or an object with choices; it is {cell!r:.60}.")
    return [cell]


register(
    Tool(
        "label-studio-min", "Label Studio, JSON-MIN, CSV or TSV",
        "One row per annotation; a missing or empty answer is none of the labels. What was offered stands in the "
        "project's configuration: --labels config.xml. Skipped tasks and ground truth are not in it.",
        recognises, read, uses=("labels", "unmentioned", "question"),
    )
)  # fmt: skip
