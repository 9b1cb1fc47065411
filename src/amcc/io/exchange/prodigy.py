"""Prodigy: JSON lines, one task and answer each.

Choices: a label that is among the `options` and not in `accept` is a no. One label (`label`): accept is a yes, reject a
no. `ignore` is skipped. Of choices, `reject` may mean that none fits, or that the task is bad: a person must say.
"""

from __future__ import annotations

from typing import Any

from amcc.errors import FileFormatError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions, undecided
from amcc.io.exchange.source import Source, field
from amcc.io.exchange.tool import Tool, register

ANSWERS = ("accept", "reject", "ignore")


def recognises(source: Source) -> str | None:
    """Tasks have hashes, and an answer."""
    first = source.first
    if first.get("answer") in ANSWERS and ("_task_hash" in first or "_input_hash" in first):
        return "tasks with hashes and an answer"
    return None


def read(source: Source, decisions: Decisions) -> Answers:
    """All answers."""
    answers = Answers()
    for where, task in source.records():
        item, worker = _item(task, where), _worker(task, where)
        answers.see(item, task.get("text"))
        answer = field(task, "answer", str, where)
        if answer not in ANSWERS:
            raise FileFormatError(f"'answer' of {where} must be accept, reject or ignore; it is {answer!r}.")
        at = str(task.get("_timestamp") or "")
        if answer == "ignore":
            answers.skip(worker, item)
        elif "options" in task:
            _read_choices(answers, worker, item, task, decisions, where, at)
        elif "label" in task:
            answers.vote(worker, item, field(task, "label", (str, int), where), yes=answer == "accept", at=at)
        else:
            raise FileFormatError(
                f"{where} must have options to choose from, or a label to accept; it has {', '.join(map(repr, task))}. "
                "Spans in texts and pictures are not read."
            )
    return answers


def _read_choices(
    answers: Answers, worker: str, item: str, task: dict[str, Any], decisions: Decisions, where: str, at: str
) -> None:
    options = field(task, "options", list, where)
    offered = [field(each, "id", (str, int), f"an option of {where}") for each in options if isinstance(each, dict)]
    if len(offered) < len(options):
        raise FileFormatError(f"every option of {where} must be an object with an id.")
    if task["answer"] == "accept":
        answers.say(worker, item, yes=field(task, "accept", list, where), offered=offered, at=at)
    elif decisions.rejected == "none":
        answers.say(worker, item, yes=[], offered=offered, at=at)
    elif decisions.rejected == "skipped":
        answers.skip(worker, item)
    else:
        undecided(
            f"{where} was rejected (answer: reject, accept: {task.get('accept')!r}): none of its {len(offered)} "
            "options fits, or the worker would not say. The file does not say which.",
            "--rejected none if reject meant that none fits",
            "--rejected skipped if it meant that the task is bad",
        )


def _item(task: dict[str, Any], where: str) -> str:
    """An id that was given with the task, else the hash of its input: the same for all who saw it."""
    meta = task.get("meta")
    for found in (task.get("id"), meta.get("id") if isinstance(meta, dict) else None, task.get("_input_hash")):
        if found is not None:
            return str(found)
    raise FileFormatError(
        f"{where} must have an id or an _input_hash; it has {', '.join(map(repr, task)) or 'nothing'}."
    )


def _worker(task: dict[str, Any], where: str) -> str:
    for name in ("_annotator_id", "_session_id"):
        if task.get(name) is not None:
            return str(task[name])
    raise FileFormatError(
        f"{where} must say who answered (_annotator_id or _session_id); it does not. Prodigy knows workers by named "
        "sessions: ?session=name in the address."
    )


register(
    Tool(
        "prodigy", "Prodigy, JSON lines (db-out)",
        "Answers of annotators (_annotator_id, else _session_id) to tasks with options, or about one label. Options "
        "that are not accepted are a no, ignored tasks are skipped; what reject means must be said.",
        recognises, read, uses=("labels", "rejected"),
    )
)  # fmt: skip
