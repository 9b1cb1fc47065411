"""Zooniverse: the classifications of a project as CSV, one row per volunteer and subject.

An empty list is "none of them", null is a task that was not answered. Which answers a task offered stands in the
workflow, which is another export.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amcc.errors import FileFormatError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions
from amcc.io.exchange.source import Source, parsed
from amcc.io.exchange.tool import Tool, register

COLUMNS = ("classification_id", "user_name", "annotations", "subject_ids")


def recognises(source: Source) -> str | None:
    """Columns of classifications."""
    return "columns classification_id, annotations and subject_ids" if set(source.columns).issuperset(COLUMNS) else None


def read(source: Source, decisions: Decisions) -> Answers:
    """All classifications of a task."""
    answers = Answers(elsewhere="the workflow, which is another export of the project")
    source.check_columns(*COLUMNS)
    rows = [(where, row, list(_tasks(row["annotations"], where))) for where, row in source.rows()]
    flows = {row.get("workflow_id", "") for _, row, _ in rows}

    def called(row: dict[str, str], task: str) -> str:
        # T0 of one workflow has nothing to do with T0 of another.
        return task if len(flows) == 1 else f"{row.get('workflow_id', '')}/{task}"

    question = decisions.only_question(
        called(row, task) for _, row, tasks in rows for task, value in tasks if _is_answer(value)
    )
    for where, row, tasks in rows:
        worker, item = row.get("user_id") or row["user_name"], row["subject_ids"]
        if not worker or not item:
            raise FileFormatError(f"{where} must have a user_name and subject_ids; one is empty.")
        answers.see(item)
        for task, value in tasks:
            if called(row, task) == question:
                _read_answer(answers, worker, item, value, row, where)
    return answers


def _read_answer(answers: Answers, worker: str, item: str, value: Any, row: dict[str, str], where: str) -> None:
    if value is None:
        answers.skip(worker, item)
        return
    if not _is_answer(value):
        raise FileFormatError(f"the answer in {where} must be a list of texts; it is {value!r:.60}.")
    yes = [value] if isinstance(value, str) else value
    if row.get("gold_standard", "").strip().lower() in ("true", "t", "1"):
        answers.know(item, yes=yes, offered=None)
        return
    answers.say(worker, item, yes=yes, offered=None, at=row.get("created_at", ""))


def _tasks(text: str, where: str) -> Iterator[tuple[str, Any]]:
    """Task and value of each part of a classification."""
    tasks = parsed(text, f"'annotations' of {where}")
    if not isinstance(tasks, list) or not all(isinstance(task, dict) and "task" in task for task in tasks):
        raise FileFormatError(f"'annotations' of {where} must be a list of objects with a task; it is {text[:60]!r}.")
    for task in tasks:
        yield str(task["task"]), task.get("value")


def _is_answer(value: Any) -> bool:
    """Whether it is a choice of answers: marks in pictures are lists of objects."""
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))


register(
    Tool(
        "zooniverse", "Zooniverse, classifications as CSV",
        "Answers of volunteers (user_id, else user_name) to a task about subjects; null is skipped, gold_standard is "
        "known. What was offered stands in the workflow: --labels.",
        recognises, read, uses=("labels", "unmentioned", "question"),
    )
)  # fmt: skip
