"""Learning With Disagreements, and other JSON with one entry per item and annotator: several labels, joined by commas.

    {"id7": {"text": "…", "annotators": "Ann1,Ann3", "annotations": {"Ann1": "contradiction,neutral", "Ann3": ""}}}

Who is among the annotators was asked about all labels: those that they do not mention are a no. The labels are those of
the soft label, and all that anybody gave; --labels may name more.
"""

from __future__ import annotations

from typing import Any

from amcc.errors import FileFormatError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions
from amcc.io.exchange.source import Source, field
from amcc.io.exchange.tool import Tool, register


def recognises(source: Source) -> str | None:
    """Every item has `annotators` and, by annotator, `annotations`."""
    first = next(iter(source.first.values()), None)
    found = isinstance(first, dict) and "annotators" in first and isinstance(first.get("annotations"), dict)
    return "items with annotators, and annotations by annotator" if found else None


def read(source: Source, decisions: Decisions) -> Answers:
    """All annotations."""
    answers = Answers()
    document = source.document
    if not isinstance(document, dict):
        raise FileFormatError(f"the file must hold an object with one entry per item; it is {type(document).__name__}.")
    given = {str(item): _given(entry, f"item {item!r}") for item, entry in document.items()}
    labels = list(decisions.labels or _labels(document, given))
    silent = 0
    for item, by_worker in given.items():
        answers.see(item, document[item].get("text"))
        for worker, yes in by_worker.items():
            silent += yes is None
            answers.say(worker, item, yes=yes or [], offered=labels)
    if silent:
        answers.note(f"{silent:,} times an annotator is named without an annotation: they gave none of the labels")
    answers.note("soft labels are left out: they are made of the annotations")
    return answers


def _given(entry: Any, where: str) -> dict[str, list[str] | None]:
    """What each annotator of an item gave; None for those who are named and gave nothing."""
    if not isinstance(entry, dict):
        raise FileFormatError(f"{where} must be an object; it is {type(entry).__name__}.")
    annotations = field(entry, "annotations", dict, where)
    named = field(entry, "annotators", (str, list), where, list(annotations))
    workers = _split(named) if isinstance(named, str) else [str(name) for name in named]
    return {
        worker: None if annotations.get(worker) is None else _split(annotations[worker])
        for worker in dict.fromkeys([*workers, *map(str, annotations)])
    }


def _labels(document: dict[str, Any], given: dict[str, dict[str, list[str] | None]]) -> dict[str, None]:
    """All labels: those with a share of their own in soft labels, then all that were given."""
    found: dict[str, None] = {}
    for entry in document.values():
        soft = entry.get("soft_label")
        for label, share in soft.items() if isinstance(soft, dict) else ():
            if isinstance(share, dict):
                found.setdefault(str(label))
    for by_worker in given.values():
        for yes in by_worker.values():
            found.update(dict.fromkeys(yes or ()))
    return found


def _split(text: Any) -> list[str]:
    return [part.strip() for part in str(text).split(",") if part.strip()]


register(
    Tool(
        "lewidi", "Learning With Disagreements, JSON by annotator",
        "Annotators of each item, and their labels joined by commas; an annotator who does not mention a label denies "
        "it.",
        recognises, read, uses=("labels",),
    )
)  # fmt: skip
