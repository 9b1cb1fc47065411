"""Argilla: records as `to_dict` gives them, or flat, as `to_list(flatten=True)` does; a list, or JSON lines.

Submitted responses are answers, discarded ones are skipped, drafts are nothing yet. The nested form loses the status:
there, an empty response may be a draft.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from amcc.errors import FileFormatError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions, undecided
from amcc.io.exchange.source import Source, field
from amcc.io.exchange.tool import Tool, register

# How names end in the flat form.
FLAT, USERS, STATUS = ".responses", ".responses.users", ".responses.status"
SUGGESTED, AGENT = ".suggestion", ".suggestion.agent"

STATUSES = ("submitted", "discarded", "draft")


class Response(NamedTuple):
    """What somebody answered to a question; status is empty where the file does not say it."""

    question: str
    value: Any
    user: str
    status: str = ""
    model: bool = False


def recognises(source: Source) -> str | None:
    """Records have responses by question, and perhaps suggestions."""
    first = source.first
    if "id" in first and isinstance(first.get("responses"), dict) and "annotations" not in first:
        return "records with responses by question"
    if any(name.endswith(USERS) for name in first):
        return "flat records with responses and their users"
    return None


def read(source: Source, decisions: Decisions) -> Answers:
    """All responses and suggestions of the question."""
    answers = Answers(same_for_all=True)
    records = [(where, record, list(_responses(record, where))) for where, record in source.records()]
    question = decisions.only_question(
        one.question for _, _, made in records for one in made if _is_labels(one.value) or decisions.question
    )
    for where, record, made in records:
        item = str(field(record, "id", (str, int), where))
        shown = record.get("fields")
        answers.see(item, (shown if isinstance(shown, dict) else record).get("text"))
        for one in (one for one in made if one.question == question):
            _read_response(answers, item, one, decisions, where)
    return answers


def _read_response(answers: Answers, item: str, one: Response, decisions: Decisions, where: str) -> None:
    if one.status not in (*STATUSES, ""):
        raise FileFormatError(f"a status in {where} must be one of {', '.join(STATUSES)}; it is {one.status!r}.")
    if one.status in ("discarded", "draft"):
        answers.mention(_labels(one.value, where))
        if one.status == "discarded":
            answers.skip(one.user, item)
        else:
            answers.note("drafts are no answers yet, and are left out")
        return
    if not one.status and not one.model:
        answers.note(
            "some responses have no status, so drafts and discarded ones count as answers; to_list(flatten=True) has it"
        )
    if not one.value and not one.status and decisions.empty is None:
        undecided(
            f"a response in {where} has no label ({one.value!r}) and no status: none of the labels fits, or it is a "
            "draft, or discarded. An export with dataset.records.to_list(flatten=True) has the status.",
            "--empty none if all were submitted",
            "--empty unasked if the empty ones were not",
        )
    if not one.value and not one.status and decisions.empty == "unasked":
        return
    if one.model:
        answers.meet(one.user, kind="model", family=one.user)
    answers.say(one.user, item, yes=_labels(one.value, where), offered=None)


def _responses(record: dict[str, Any], where: str) -> Iterator[Response]:
    if isinstance(record.get("responses"), dict):
        yield from _nested(record, where)
        return
    for name in (name for name in record if name.endswith(USERS)):
        question = name.removesuffix(USERS)
        users = field(record, name, list, where, None) or []
        values = field(record, question + FLAT, list, where, None) or []
        status = field(record, question + STATUS, list, where, None) or [""] * len(users)
        if not len(users) == len(values) == len(status):
            raise FileFormatError(f"{where} must have as many responses as users and statuses to {question!r}.")
        for user, value, state in zip(users, values, status, strict=True):
            yield Response(question, value, str(user), str(state or ""))
        if record.get(question + SUGGESTED) is not None:
            agent = str(record.get(question + AGENT) or "suggestion")
            yield Response(question, record[question + SUGGESTED], agent, model=True)


def _nested(record: dict[str, Any], where: str) -> Iterator[Response]:
    for question, made in record["responses"].items():
        if not isinstance(made, list) or not all(isinstance(one, dict) for one in made):
            raise FileFormatError(f"responses to {question!r} in {where} must be a list of objects.")
        for one in made:
            user = field(one, "user_id", (str, int), f"a response in {where}")
            yield Response(question, one.get("value"), str(user), str(one.get("status") or ""))
    for question, one in field(record, "suggestions", dict, where, {}).items():
        if not isinstance(one, dict):
            raise FileFormatError(f"the suggestion for {question!r} in {where} must be an object.")
        yield Response(question, one.get("value"), str(one.get("agent") or "suggestion"), model=True)


def _is_labels(value: Any) -> bool:
    """Whether it can be labels: one, or a list of them. Ratings, ranks and spans are something else."""
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))


def _labels(value: Any, where: str) -> list[str]:
    if value is not None and not _is_labels(value):
        raise FileFormatError(f"a response in {where} must be labels; it is {value!r:.60}. Name another --question.")
    return [value] if isinstance(value, str) else list(value or [])


register(
    Tool(
        "argilla", "Argilla, records (to_dict, to_list)",
        "Responses of users, and suggestions of models (agent), to a question about labels. Discarded responses are "
        "skipped and drafts left out, where the file has the status; else --empty says what no label means.",
        recognises, read, uses=("labels", "question", "empty"),
    )
)  # fmt: skip
