"""Mechanical Turk: the results of a batch as CSV, one row per assignment.

`Answer.taskAnswers` holds a form as JSON: boxes as true and false, so that a no is a no. Worker ids are the same for
all who pay there, and lead to people: workers get numbers unless somebody decides otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from amcc.errors import FileFormatError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions
from amcc.io.exchange.source import Source, parsed
from amcc.io.exchange.tool import Tool, register

ANSWER, INPUT = "Answer.taskAnswers", "Input."

# Where requesters put the id of an item; without any, it is the HIT that workers have in common.
ITEMS = ("Input.id", "Input.item", "Input.item_id", "HITId")

# What single boxes are a question of, as they have no common name.
BOXES = "boxes"


class Form(NamedTuple):
    """What was ticked, and what could have been (None: not said)."""

    yes: list[str]
    offered: list[str] | None


def recognises(source: Source) -> str | None:
    """Columns of a batch."""
    return (
        "columns HITId, WorkerId and Answer.taskAnswers"
        if {"HITId", "WorkerId", ANSWER} <= set(source.columns)
        else None
    )


def read(source: Source, decisions: Decisions) -> Answers:
    """All assignments, whatever was decided about paying them."""
    answers = Answers()
    source.check_columns("HITId", "WorkerId", ANSWER)
    rows = [(where, row, forms_in(row[ANSWER], f"{ANSWER} of {where}")) for where, row in source.rows()]
    question = decisions.only_question(name for _, _, forms in rows for name in forms)
    item_column = next(name for name in ITEMS if name in source.columns)
    rejected = 0
    for where, row, forms in rows:
        item, worker = row[item_column], row["WorkerId"]
        if not item or not worker:
            raise FileFormatError(f"{where} must have a WorkerId and a {item_column}; one is empty.")
        answers.see(item, row.get("Input.text"))
        if question in forms:
            answers.say(worker, item, yes=forms[question].yes, offered=forms[question].offered)
        rejected += row.get("AssignmentStatus") == "Rejected"
    if rejected:
        answers.note(f"{rejected:,} rejected assignments are votes like all others: payment says nothing about answers")
    return answers


def forms_in(text: str, where: str) -> dict[str, Form]:
    """The questions about labels in an answer; fields with texts and numbers are left out.

    >>> forms_in('[{"topics": {"economy": true, "sports": false}, "comment": "fine"}]', "row 1")
    {'topics': Form(yes=['economy'], offered=['economy', 'sports'])}
    """
    pages = parsed(text, where)
    if not isinstance(pages, list) or not all(isinstance(page, dict) for page in pages):
        raise FileFormatError(f"{where} must be a list of objects; it is {text[:60]!r}.")
    forms: dict[str, Form] = {}
    for name, value in (each for page in pages for each in page.items()):
        if isinstance(value, dict) and set(value) == {"on"} and isinstance(value["on"], bool):
            yes, offered = forms.get(BOXES, Form([], []))
            forms[BOXES] = Form([*yes, *[name] * value["on"]], [*(offered or []), name])
        elif form := _form(value):
            forms[name] = form
    return forms


def _form(value: Any) -> Form | None:
    """Boxes with true and false, or a list of the labels that were chosen from a menu."""
    if isinstance(value, dict) and value and all(isinstance(ticked, bool) for ticked in value.values()):
        return Form([label for label, ticked in value.items() if ticked], list(value))
    chosen = value.get("labels") if isinstance(value, dict) else None
    if isinstance(chosen, list) and all(isinstance(label, str) for label in chosen):
        return Form(chosen, None)
    return None


register(
    Tool(
        "mturk", "Mechanical Turk, results of a batch as CSV",
        "Boxes that workers ticked (true) and did not (false) on items. Rejected assignments count. Worker ids are "
        "personal, so workers are numbered: --pseudonyms KEYFILE or --keep-ids decide otherwise.",
        recognises, read, uses=("labels", "unmentioned", "question"), personal=True,
    )
)  # fmt: skip
