"""One project of a Label Studio: its question, its tasks with all annotations, predictions, and tabs of workers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from xml.etree import ElementTree

from amcc.errors import InputError
from amcc.label_studio.client import LabelStudio, LabelStudioError

# The choices that the server takes from a task.
DYNAMIC = "$ask"

# How the tab of a worker is called; those of people's own making are left alone.
TAB = "amcc: worker {worker}"


@dataclass(frozen=True)
class Question:
    """The control with the choices, and what it is about. labels : those that the configuration lists itself."""

    name: str
    shown: str
    labels: tuple[str, ...]
    dynamic: bool


@dataclass(frozen=True)
class Project:
    """A project by its number."""

    server: LabelStudio
    id: int

    @cached_property
    def question(self) -> Question:
        """The one question with choices that the project has."""
        return question_of(str(self._about().get("label_config") or ""))

    def answers_per_task(self) -> int:
        """After so many annotations Label Studio shows a task to nobody."""
        return int(self._about().get("maximum_annotations") or 1)

    def _about(self) -> dict[str, Any]:
        told = self.server.get(f"/api/projects/{self.id}/")
        if not isinstance(told, dict):
            raise LabelStudioError(f"{self.server.url} does not answer as Label Studio does.")
        return told

    def tasks(self) -> list[dict[str, Any]]:
        """All tasks, with their annotations and predictions, also those that nobody has answered."""
        found = self.server.get(f"/api/projects/{self.id}/export", exportType="JSON", download_all_tasks="true")
        if not isinstance(found, list):
            raise LabelStudioError(f"project {self.id} must export a list of tasks; it gave {type(found).__name__}.")
        # An export names predictions by their numbers only.
        of_models: dict[int, list[dict[str, Any]]] = {}
        for one in self.predictions():
            of_models.setdefault(int(one["task"]), []).append(one)
        return [{**task, "predictions": of_models.get(int(task["id"]), [])} for task in found]

    def n_answers(self) -> int:
        """How many annotations there are, skipped ones included: whether something is new."""
        told = self._about()
        counted = (told.get(name) or 0 for name in ("total_annotations_number", "skipped_annotations_number"))
        return sum(int(each) for each in counted)

    def change_data(self, task: int, data: Mapping[str, Any]) -> None:
        """Replace what a task holds."""
        self.server.patch(f"/api/tasks/{task}/", {"data": dict(data)})

    def predictions(self) -> list[dict[str, Any]]:
        """All predictions of the project."""
        found = self.server.get("/api/predictions/", project=self.id)
        return list(found if isinstance(found, list) else found.get("results", []))

    def predict(self, task: int, prediction: Mapping[str, Any]) -> None:
        """Add a prediction to a task."""
        self.server.post("/api/predictions/", {"task": task, "project": self.id, **prediction})

    def remove_prediction(self, number: int) -> None:
        """Remove a prediction."""
        self.server.delete(f"/api/predictions/{number}/")

    def give_tabs(self, workers: Iterable[str]) -> list[str]:
        """A tab for each of these workers who has none yet: their tasks, in our order. Gives who got one."""
        there = {str(view.get("data", {}).get("title")) for view in self.server.get("/api/dm/views", project=self.id)}
        new = [worker for worker in workers if TAB.format(worker=worker) not in there]
        for worker in new:
            mine = {"filter": "filter:tasks:data.ask_for", "operator": "equal", "type": "String", "value": worker}
            shown = {"filters": {"conjunction": "and", "items": [mine]}, "ordering": ["tasks:data.priority"]}
            data = {"title": TAB.format(worker=worker), "type": "list", "target": "tasks", **shown}
            self.server.post("/api/dm/views/", {"project": self.id, "data": data})
        return new


def question_of(config: str) -> Question:
    """The question of a labelling configuration; InputError where it has none, or several.

    >>> question_of('<View><Text name="t" value="$text"/><Choices name="topics" toName="t" value="$ask"/></View>')
    Question(name='topics', shown='t', labels=(), dynamic=True)
    """
    try:
        found = list(ElementTree.fromstring(config).iter("Choices"))
    except ElementTree.ParseError:
        raise InputError("the project must have a labelling configuration; it has none that is XML.") from None
    if len(found) != 1:
        raise InputError(
            f"the project must have one question with <Choices>; its labelling configuration has {len(found)}."
        )
    only = found[0]
    labels = tuple(str(each.get("alias") or each.get("value")) for each in only.iter("Choice"))
    return Question(str(only.get("name")), str(only.get("toName")), labels, only.get("value") == DYNAMIC)
