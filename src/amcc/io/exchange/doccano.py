"""doccano: an archive, or a folder, with one file per user.

A user who never looked at an example has the same empty list in it as one who saw none of the labels. Only the export
of confirmed examples tells them apart, and no file says which export it is.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from amcc.errors import FileFormatError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions, undecided
from amcc.io.exchange.source import Source, within
from amcc.io.exchange.tool import Tool, register

SUFFIXES = (".jsonl", ".json", ".csv")

# Where labels are; the older name is "labels".
LABELS = ("label", "labels")

# Between the labels of a cell.
JOINED = "#"

# The file of a project whose users share one answer.
SHARED = "all"


def recognises(source: Source) -> str | None:
    """All files of an archive or folder have an id and a label."""
    members = source.members
    if not members or not all(PurePosixPath(name).suffix.lower() in SUFFIXES for name in members):
        return None
    try:
        alike = all(_has_labels(part) for _, part in source.parts())
    except FileFormatError:
        return None
    return "one file per user with id and label" if alike else None


def _has_labels(part: Source) -> bool:
    """Whether a file is that of a user, perhaps without examples. A column of workers is that of a table of votes."""
    names = set(part.columns or part.first)
    return ("id" in names and any(name in names for name in LABELS) and not {"worker", "value"} & names) or not names


def read(source: Source, decisions: Decisions) -> Answers:
    """All examples of all users."""
    answers = Answers(same_for_all=True)
    empty: list[tuple[str, str]] = []
    parts = list(source.parts()) if source.members else [(source.path.name, source)]
    for name, part in parts:
        with within(name):
            empty += _read_user(answers, PurePosixPath(name).stem, part)
    if empty and decisions.empty is None:
        undecided(
            f"{len(empty):,} of {len(empty) + len(answers.said):,} answers are empty (label: []). A user who never "
            "looked at an example has the same as one who found none of the labels in it.",
            "--empty none if only confirmed examples were exported",
            "--empty unasked if all were: the empty ones are then left out",
        )
    if decisions.empty == "none":
        for worker, item in empty:
            answers.say(worker, item, yes=[], offered=None)
    return answers


def _read_user(answers: Answers, user: str, part: Source) -> list[tuple[str, str]]:
    """What a user said; gives the user and item of answers without a label."""
    empty = []
    for where, row in part.rows() if part.columns else part.records():
        if user == SHARED:
            raise FileFormatError(
                "the users of this project share one answer per example, so there are no votes to compare. In "
                "doccano's settings, do not share annotations across users."
            )
        if row.get("id") in (None, ""):
            raise FileFormatError(f"{where} must have an id; it has none.")
        item = str(row["id"])
        answers.see(item, row.get("text"))
        if yes := _labels(row, where):
            answers.say(user, item, yes=yes, offered=None)
        else:
            empty.append((user, item))
    return empty


def _labels(row: dict[str, Any], where: str) -> list[str]:
    found = next((row[name] for name in LABELS if name in row), None)
    if isinstance(found, str):
        found = [label for label in found.split(JOINED) if label]
    if not isinstance(found, list) or not all(isinstance(label, str | int) for label in found):
        raise FileFormatError(f"'label' of {where} must be a list of labels; it is {found!r:.80}. Spans are not read.")
    return [str(label) for label in found]


register(
    Tool(
        "doccano", "doccano, archive with a file per user",
        "Labels of users (names of the files) on examples. An empty list means none of the labels only where confirmed "
        "examples were exported: --empty none; else --empty unasked.",
        recognises, read, uses=("labels", "empty"),
    )
)  # fmt: skip
