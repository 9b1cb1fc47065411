"""Label Studio: tasks with predictions, for review; tasks that ask each worker about some labels only.

Both are files to import into a project. To write into a running project, see `amcc label-studio`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from amcc.exports.writer import VERSION, Results, Writer, register
from amcc.files import whole_file
from amcc.io.exchange.label_studio import ITEM

# What Label Studio shows as the author of a prediction.
MODEL_VERSION = f"amcc-{VERSION}"


def write(results: Results, path: Path) -> None:
    """Tasks with the consensus as prediction; its score is how likely the whole set is right."""
    write_json(path, [task_with_prediction(results, item) for item in range(len(results.items))])


def task_with_prediction(results: Results, item: int) -> dict[str, Any]:
    """A task of one item."""
    return {
        "data": task_data(results.items[item], results.texts, results.shown),
        "predictions": [prediction(results, item)],
    }


def prediction(results: Results, item: int) -> dict[str, Any]:
    """The consensus on an item as Label Studio holds predictions."""
    choices = results.set_of(item)
    return {
        "model_version": MODEL_VERSION,
        "score": round(set_score(results, item), 6),
        "result": [choices_result(choices, results.question, results.shown)] if choices else [],
    }


def choices_result(choices: list[str], question: str, shown: str) -> dict[str, Any]:
    """An answer to a question with choices."""
    return {"from_name": question, "to_name": shown, "type": "choices", "value": {"choices": choices}}


def set_score(results: Results, item: int) -> float:
    """How likely the item has just these labels, of those that anybody was asked about; 1 if nobody was."""
    proba, present = results.proba[item], results.present[item]
    return float(np.prod(np.where(present, proba, 1 - proba)[results.asked[item]]))


def task_data(item: str, texts: Mapping[str, str], shown: str) -> dict[str, Any]:
    """What a task shows, and the item's own name, by which answers are put together again."""
    return {ITEM: item, shown: texts.get(item, item)}


def tasks_to_ask(
    questions: Iterable[tuple[str, str, str]], texts: Mapping[str, str] | None = None, shown: str = "text"
) -> list[dict[str, Any]]:
    """Tasks of next questions, (item, label, worker) with the best first: the labels of an item for a worker together.

    `data.ask` are the choices (`<Choices value="$ask">`), `data.ask_for` is the worker, `data.priority` the order.
    """
    pages: dict[tuple[str, str], list[str]] = {}
    for item, label, worker in questions:
        pages.setdefault((item, worker), []).append(label)
    return [
        {"data": {**task_data(item, texts or {}, shown), "ask": [{"value": label} for label in labels],
                  "ask_for": worker, "priority": place}}
        for place, ((item, worker), labels) in enumerate(pages.items(), start=1)
    ]  # fmt: skip


def write_json(path: Path, content: Any) -> None:
    """Write JSON, completely or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


register(Writer("label-studio", "Label Studio: tasks with predictions (.json)", write))
