"""Potato: annotations as CSV or JSON lines, one row per user and instance.

An answer without any label leaves no row, so it looks like an instance that the user never saw.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from amcc.errors import FileFormatError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions, undecided
from amcc.io.exchange.source import Source, field
from amcc.io.exchange.tool import Tool, register

# Between the question and the label in names of columns.
JOINED = ":::"

YES, NO = ("true", "1", "yes", "on"), ("", "false", "0", "no")


def recognises(source: Source) -> str | None:
    """Rows have instance_id and user_id, and columns like topics:::economy, or labels by question."""
    if {"instance_id", "user_id"} <= set(source.columns) and any(JOINED in name for name in source.columns):
        return "columns instance_id, user_id and question:::label"
    labels = source.first.get("labels")
    if {"instance_id", "user_id"} <= set(source.first) and isinstance(labels, dict):
        return "records with instance_id, user_id and labels by question"
    return None


def read(source: Source, decisions: Decisions) -> Answers:
    """All rows, and what is missing between them."""
    answers = Answers(same_for_all=True)
    rows = list(_rows(source))
    question = decisions.only_question(name for _, _, _, labels in rows for name in labels)
    for where, user, item, labels in rows:
        answers.see(item)
        ticked = labels.get(str(question), {})
        answers.say(user, item, yes=[label for label, value in ticked.items() if _is_yes(value, label, where)],
                    offered=None)  # fmt: skip
    _fill(answers, decisions)
    return answers


def _fill(answers: Answers, decisions: Decisions) -> None:
    """Say what it means that a user has no row for an instance."""
    there = {(one.worker, one.item) for one in answers.said}
    users, items = dict.fromkeys(one.worker for one in answers.said), list(answers.items)
    n_pairs = len(users) * len(items)
    if n_pairs == len(there):
        return
    if decisions.empty is None:
        undecided(
            f"{len(there):,} of {n_pairs:,} pairs of a user and an instance have a row. An answer "
            "without a label leaves no row in Potato, so a missing one may mean none of the labels, or not asked.",
            "--empty unasked if users saw some of the instances only (answers without a label are then missing)",
            "--empty none if every user saw every instance",
        )
    if decisions.empty == "none":
        answers.note("instances on which nobody ticked anything are not in the file, and so not in the result")
        for user, item in ((user, item) for user in users for item in items if (user, item) not in there):
            answers.say(user, item, yes=[], offered=None)


Row = tuple[str, str, str, dict[str, dict[str, Any]]]


def _rows(source: Source) -> Iterator[Row]:
    """Where it is, user, instance, and what was ticked, by question and label."""
    if not source.columns:
        for where, record in source.records():
            user, item = (str(field(record, name, (str, int), where)) for name in ("user_id", "instance_id"))
            labels = field(record, "labels", dict, where)
            yield where, user, item, {name: _ticked(ticks, name, where) for name, ticks in labels.items()}
        return
    source.check_columns("user_id", "instance_id")
    split = [(name, *name.split(JOINED, 1)) for name in source.columns if JOINED in name]
    for where, row in source.rows():
        yield where, row["user_id"], row["instance_id"], _grouped((to, label, row[name]) for name, to, label in split)


def _grouped(cells: Iterable[tuple[str, str, str]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for question, label, cell in cells:
        found.setdefault(question, {})[label] = cell
    return found


def _ticked(ticks: Any, question: str, where: str) -> dict[str, Any]:
    if not isinstance(ticks, dict):
        raise FileFormatError(f"labels of {question!r} in {where} must be an object; it is {type(ticks).__name__}.")
    return ticks


def _is_yes(value: Any, label: str, where: str) -> bool:
    text = str("" if value is None else value).strip().lower()
    if text not in (*YES, *NO):
        raise FileFormatError(
            f"label {label!r} in {where} must be true or blank; it is {value!r:.60}. Texts and ratings are not labels: "
            "say --question with the name of a question whose labels are ticked."
        )
    return text in YES


register(
    Tool(
        "potato", "Potato, annotations as CSV or JSON lines",
        "Labels that users ticked on instances, and all others of the question as no. An answer without a label leaves "
        "no row: --empty says what a missing row means.",
        recognises, read, uses=("labels", "empty", "question"),
    )
)  # fmt: skip
