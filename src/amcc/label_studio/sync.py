"""Answers in; consensus and next questions out.

What is pushed may be cut off in the middle: each step leaves a project that can be read and worked on, and the next
push does what is left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amcc.errors import EmptyInputError, InputError
from amcc.exports import Results
from amcc.exports.label_studio import prediction
from amcc.io import Export, read_export
from amcc.io.exchange.label_studio import ITEM, OURS, names_of
from amcc.label_studio.project import Project

# What says who is asked, and in which order. A task that is with nobody keeps none of it.
ASKED_NOW = ("ask", "ask_for", "priority")


@dataclass(frozen=True)
class Pushed:
    """What a push changed: predictions written, tasks that somebody is asked about now, and new tabs.

    hidden : tasks of these that Label Studio shows to nobody, because they have as many answers as the project allows.
    """

    predictions: int
    asked: int = 0
    tabs: int = 0
    hidden: int = 0


def pull(project: Project, labels: Sequence[str] | None = None) -> Export:
    """All that the project's tasks say: votes, known truth, what was skipped.

    labels : all labels that were offered, where neither the tasks nor the configuration say it.
    """
    question = project.question
    offered = labels or (None if question.dynamic else question.labels)
    # Items are tasks by their number: what is pushed goes back to each of them.
    tasks = [
        {**task, "data": {name: value for name, value in task["data"].items() if name != ITEM}}
        for task in project.tasks()
    ]
    # Predictions of models without a label: a model that was run has looked.
    return read_export(tasks, format="label-studio", labels=offered, question=question.name, empty="none")


def push(
    project: Project, results: Results | None = None, questions: Iterable[tuple[str, str, str]] | None = None
) -> Pushed:
    """Write the consensus as predictions, and what is to be asked next.

    results : the consensus; None leaves predictions as they are. questions : (item, label, worker), the best first;
    None leaves tasks as they are. Items are tasks by their number.
    """
    tasks = {str(task["id"]): task for task in project.tasks()}
    if not tasks:
        raise EmptyInputError(f"project {project.id} must have tasks; it has none. Import them first.")
    written = 0 if results is None else _write_predictions(project, tasks, results)
    if questions is None:
        return Pushed(written)
    if not project.question.dynamic:
        raise InputError(
            f"to say which labels a task is about, <Choices name={project.question.name!r}> must take them from the "
            'task: value="$ask" in place of its <Choice> entries, and import tasks with data.ask (amcc next --tasks).'
        )
    pages = pages_to_ask(questions, tasks)
    for number, task in tasks.items():
        data = task_data(task["data"], pages.get(number), seen_by(task))
        if data != task["data"]:
            project.change_data(int(number), data)
    tabs = project.give_tabs(dict.fromkeys(page.worker for page in pages.values()))
    most = project.answers_per_task()
    hidden = sum(len(tasks[number].get("annotations") or []) >= most for number in pages)
    return Pushed(written, len(pages), len(tabs), hidden)


@dataclass(frozen=True)
class Page:
    """What one worker is asked about a task, and its place in their order, by which the server sorts as text."""

    worker: str
    labels: tuple[str, ...]
    priority: str


def pages_to_ask(questions: Iterable[tuple[str, str, str]], tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, Page]:
    """By task, who is asked about what. A task is with one worker at a time, and nobody gets one twice."""
    worker_of: dict[str, str] = {}
    labels: dict[str, list[str]] = {}
    for item, label, worker in questions:
        if item not in tasks or worker in seen_by(tasks[item]):
            continue
        if worker_of.setdefault(item, worker) == worker:
            labels.setdefault(item, []).append(label)
    places: dict[str, int] = {}
    pages = {}
    for item, worker in worker_of.items():
        places[worker] = places.get(worker, 0) + 1
        pages[item] = Page(worker, tuple(labels[item]), f"{places[worker]:06d}")
    return pages


def seen_by(task: Mapping[str, Any]) -> set[str]:
    """Who annotated or skipped a task."""
    by = (each.get("completed_by") for each in task.get("annotations") or [])
    return {str(who.get("id") if isinstance(who, dict) else who) for who in by}


def task_data(before: Mapping[str, Any], page: Page | None, seen: Collection[str]) -> dict[str, Any]:
    """What a task holds when it is with the worker of a page, or with nobody.

    seen : who has answered it. What each of them was offered stays in `asked_of`, by which their answers are read
    later; those who came before the first page were offered the labels of the import, `asked_first`.
    """
    data = {name: value for name, value in before.items() if name not in ASKED_NOW}
    if page is None:
        # Where nobody was asked yet in our way, the labels of the import stay.
        return dict(before) if "ask_for" not in before else {**data, "ask": [], "ask_for": ""}
    first = names_of(before.get("asked_first", before.get("ask"))) or []
    asked_of = {**before.get("asked_of", dict.fromkeys(sorted(seen), first)), page.worker: list(page.labels)}
    now = {"ask": [{"value": label} for label in page.labels], "ask_for": page.worker, "priority": page.priority}
    return {**data, **now, "asked_of": asked_of, "asked_first": first}


def _write_predictions(project: Project, tasks: Mapping[str, Any], results: Results) -> int:
    """Replace our predictions where they changed; gives how many were written."""
    before = {
        number: [one for one in task["predictions"] if str(one.get("model_version")).startswith(OURS)]
        for number, task in tasks.items()
    }
    told = replace(results, question=project.question.name, shown=project.question.shown)
    written = 0
    for place, item in enumerate(told.items):
        if item not in tasks:
            continue
        new, old = prediction(told, place), before.get(item, [])
        if [_content(each) for each in old] == [_content(new)]:
            continue
        project.predict(int(item), new)  # first: a task with two predictions is better than one with none
        for each in old:
            project.remove_prediction(int(each["id"]))
        written += 1
    return written


def _content(one: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a prediction says; the score to three digits, since the last ones change with every fit."""
    choices: Sequence[Any] = [each.get("value") for each in one.get("result") or []]
    return one.get("model_version"), round(float(one.get("score") or 0), 3), choices
