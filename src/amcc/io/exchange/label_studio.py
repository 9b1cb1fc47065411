"""Label Studio: the JSON export, with all annotations of each task.

A label that was offered and is not among the choices is a no. What was offered stands in the task itself where choices
are dynamic (`data.ask`), else in the project's labelling configuration, which the export lacks: --labels takes it.
Where `amcc label-studio` changes what a task asks, it notes what was offered to whom (`data.asked_of`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amcc.errors import FileFormatError
from amcc.io.exchange.answers import Answers
from amcc.io.exchange.decisions import Decisions, undecided
from amcc.io.exchange.source import Source, field
from amcc.io.exchange.tool import Tool, register
from amcc.tables import listed

# Kinds of results that are labels of the whole item.
CHOICES = ("choices", "taxonomy")

# How the model version of our own predictions begins.
OURS = "amcc-"

# Where tasks of our own making name their item: a task of another worker may be about the same one.
ITEM = "amcc_item"

# Where the labels stand that a project offers, for errors.
CONFIGURATION = "the project's labelling configuration (Settings, Labeling Interface, Code): --labels config.xml"

# Where people put what is shown.
TEXTS = ("text", "sentence", "content", "document", "image", "audio", "video", "url")


def recognises(source: Source) -> str | None:
    """Tasks have `data`, and `annotations` or `predictions`."""
    made = [name for name in ("annotations", "predictions") if isinstance(source.first.get(name), list)]
    if not source.is_json or not made or not isinstance(source.first.get("data"), dict):
        return None
    return f"tasks with data and {' and '.join(made)}"


def read(source: Source, decisions: Decisions) -> Answers:
    """All annotations and predictions of the tasks."""
    answers = Answers(elsewhere=CONFIGURATION)
    question = _question(source, decisions)
    for where, task in source.records():
        data = field(task, "data", dict, where, {})
        item = str(data[ITEM] if ITEM in data else field(task, "id", (int, str), where))
        answers.see(item, next((data[name] for name in TEXTS if isinstance(data.get(name), str)), None))
        for number, annotation in enumerate(field(task, "annotations", list, where, []), start=1):
            place = f"annotation {number} of {where}"
            _read_annotation(answers, item, _object(annotation, place), question, data, place)
        for number, prediction in enumerate(field(task, "predictions", list, where, []), start=1):
            place = f"prediction {number} of {where}"
            if isinstance(prediction, int):
                answers.note("predictions that are only named by a number are not in the file, and are not read")
            else:
                _read_prediction(answers, item, _object(prediction, place), question, data, place, decisions)
    return answers


def _object(thing: Any, where: str) -> dict[str, Any]:
    if not isinstance(thing, dict):
        raise FileFormatError(f"{where} must be an object; it is {type(thing).__name__}.")
    return thing


def _read_annotation(
    answers: Answers, item: str, annotation: dict[str, Any], question: str | None, data: dict[str, Any], where: str
) -> None:
    worker = worker_of(annotation.get("completed_by"), where)
    # Skipped annotations have an empty result, too, which would be "none of them".
    if annotation.get("was_cancelled"):
        answers.skip(worker, item)
        return
    yes = chosen(field(annotation, "result", list, where), question, where)
    offered = offered_to(worker, data)
    if annotation.get("ground_truth"):
        answers.know(item, yes=yes, offered=offered)
        return
    answers.say(worker, item, yes=yes, offered=offered, at=str(annotation.get("updated_at") or ""))


def _read_prediction(
    answers: Answers, item: str, prediction: dict[str, Any], question: str | None, data: dict[str, Any],
    where: str, decisions: Decisions,
) -> None:  # fmt: skip
    result = field(prediction, "result", list, where)
    model = str(prediction.get("model_version") or "prediction")
    if model.startswith(OURS):
        answers.note("predictions of amcc are its own consensus, and no votes: they are left out")
        return
    if not result and decisions.empty is None:
        undecided(
            f"{where} has an empty result: the model found none of the labels, or it gave no answer, and the file does "
            "not say which.",
            "--empty none if models answered",
            "--empty unasked if they did not",
        )
    if not result and decisions.empty == "unasked":
        return
    answers.meet(model, kind="model", family=model)
    yes = chosen(result, question, where)
    offered = names_of(data.get("asked_first", data.get("ask")))
    answers.say(model, item, yes=yes, offered=offered, at=str(prediction.get("updated_at") or ""))


def worker_of(by: Any, where: str) -> str:
    """Who annotated: a number, or an object with an id; an email says more than is needed, so it is taken last."""
    if isinstance(by, dict):
        by = next((by[name] for name in ("id", "email", "username") if by.get(name) is not None), None)
    if by is None or by == "":
        raise FileFormatError(f"{where} must say who made it (completed_by, or annotator); it does not.")
    return str(by)


def offered_to(worker: str, data: dict[str, Any]) -> list[str] | None:
    """Labels of dynamic choices (`<Choices value="$ask">`) that a worker was offered; None where the task has none.

    Where a task was with several workers one after the other, `asked_of` says what each of them was offered. Of anybody
    else, who found the task by another way, only the labels that they gave are known to have been there: [].
    """
    asked_of = data.get("asked_of")
    if isinstance(asked_of, dict) and asked_of:
        return names_of(asked_of.get(worker, []))
    return names_of(data.get("ask"))


def names_of(ask: Any) -> list[str] | None:
    """The labels of a list of choices, which are objects with a value, or names; None where it is no list."""
    if not isinstance(ask, list):
        return None
    return [str(each.get("value", each.get("alias"))) if isinstance(each, dict) else str(each) for each in ask]


def chosen(result: list[Any], question: str | None, where: str) -> list[str]:
    """The choices of the question; text that labels only a part of the item is no label of the item."""
    found: list[str] = []
    for one in result:
        if not isinstance(one, dict) or one.get("type") not in CHOICES:
            continue
        if question is not None and one.get("from_name") != question:
            continue
        for choice in field(field(one, "value", dict, where), str(one["type"]), list, where, []):
            # A taxonomy gives the path from the root; the whole path is the label, since equal ends may differ.
            found.append(" / ".join(map(str, choice)) if isinstance(choice, list) else str(choice))
    return found


def labels_in_config(text: str) -> list[str]:
    """Labels that a project's labelling configuration offers, as XML.

    >>> labels_in_config('<View><Choices name="t"><Choice value="a"/><Choice value="b" alias="B"/></Choices></View>')
    ['a', 'B']
    """
    # Most files that this module looks at are no export at all, and need no XML.
    from xml.etree import ElementTree

    try:
        found = ElementTree.fromstring(text).iter("Choice")
        # An alias takes the place of the value in exports.
        labels = [str(each.get("alias") or each.get("value")) for each in found]
    except ElementTree.ParseError as error:
        raise FileFormatError(f"the labelling configuration must be XML; it is not ({error}).") from None
    if not labels:
        raise FileFormatError("the labelling configuration must have <Choice value=…> entries; it has none.")
    return labels


def _question(source: Source, decisions: Decisions) -> str | None:
    """Name of the control that choices come from (from_name); None where nobody chose anything."""
    results = list(_results(source))
    question = decisions.only_question(str(each.get("from_name")) for each in results if each.get("type") in CHOICES)
    if question is None and results:
        kinds = listed(sorted({str(each.get("type")) for each in results}))
        raise FileFormatError(
            f"there must be choices that label the whole task; the results are {kinds} only. Marks in texts and "
            "pictures, texts and ratings are not read."
        )
    return question


def _results(source: Source) -> Iterator[dict[str, Any]]:
    """All parts of all annotations and predictions."""
    for _, task in source.records():
        made = (one for group in ("annotations", "predictions") for one in _list(task.get(group)))
        for one in made:
            yield from (each for each in _list(one.get("result") if isinstance(one, dict) else None)
                        if isinstance(each, dict))  # fmt: skip


def _list(thing: Any) -> list[Any]:
    """It, where it is a list; else none: whoever reads it will say so."""
    return thing if isinstance(thing, list) else []


register(
    Tool(
        "label-studio", "Label Studio, JSON",
        "Choices of annotators (completed_by) and predictions on tasks; skipped and ground truth are marked. What was "
        "offered stands in data.ask, or in the project's configuration: --labels config.xml.",
        recognises, read, uses=("labels", "unmentioned", "question", "empty"),
    )
)  # fmt: skip
