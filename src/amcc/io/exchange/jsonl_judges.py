"""JSON lines of judges, as small tools for panels of language models write them.

{"item": "s1", "judge": "m1", "label": "economy", "value": true}      about one label: yes or no
{"item": "s1", "judge": "m1", "label": "economy"}                     what the judge gave; the others are left open
"""

from __future__ import annotations

from typing import Any

from amcc.errors import FileFormatError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions
from amcc.io.exchange.source import Source, field
from amcc.io.exchange.tool import Tool, register
from amcc.io.exchange.values import Judgement, Reading


def recognises(source: Source) -> str | None:
    """Records have an item, a judge and a label."""
    found = {"item", "judge", "label"} <= source.first.keys() and "worker" not in source.first
    return "records with item, judge and label" if found else None


def read(source: Source, decisions: Decisions) -> Answers:
    """All judgements; those without a value by judge and item, as what a judge gave is one answer."""
    answers, reading = Answers(), Reading(decisions)
    gave: dict[tuple[str, str], list[str]] = {}
    for where, record in source.records():
        item, judge = (str(field(record, name, (str, int), where)) for name in ("item", "judge"))
        label = field(record, "label", (str, int, list, type(None)), where, None)
        answers.see(item, record.get("text"))
        answers.meet(judge, "model", family=record.get("family") or "")
        if "value" not in record:
            given = gave.setdefault((judge, item), [])
            given += [] if label is None else [str(each) for each in label] if isinstance(label, list) else [str(label)]
            continue
        if not isinstance(label, str | int):
            raise FileFormatError(f"{where} must have one label for its value; it has {label!r}.")
        _take(answers, reading, Judgement(judge, item, str(label), (record["value"],), _time(record)))
    for one, yes in reading.read():
        answers.vote(one.worker, one.item, one.label, yes=yes, at=one.at)
    for (judge, item), labels in gave.items():
        answers.say(judge, item, yes=labels, offered=None)
    return answers


def _take(answers: Answers, reading: Reading, judgement: Judgement) -> None:
    if judgement.is_blank:
        answers.skip(judgement.worker, judgement.item, [judgement.label])
    else:
        reading.add(judgement)


def _time(record: dict[str, Any]) -> str:
    return str(next((record[name] for name in ("time", "timestamp", "created_at") if record.get(name)), ""))


register(
    Tool(
        "judges", "JSON lines with item, judge, label",
        "Judges are language models. With a value, a line is a yes or no; without, it is what the judge gave.",
        recognises, read, uses=("labels", "unmentioned", "threshold", "yes"),
    )
)  # fmt: skip
