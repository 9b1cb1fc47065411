"""A Label Studio that answers as version 1.23 did when it was tried: the same paths, bodies and refusals."""

from __future__ import annotations

import json
import re
from itertools import count
from typing import Any

import httpx

TOKEN = "0123456789abcdef0123456789abcdef01234567"


class Recorded(httpx.BaseTransport):
    """Projects, tasks, annotations, predictions and tabs in memory; `requests` is what was asked for."""

    def __init__(self) -> None:
        self.projects: dict[int, dict[str, Any]] = {}
        self.tasks: dict[int, dict[str, Any]] = {}
        self.predictions: dict[int, dict[str, Any]] = {}
        self.views: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.failing: list[int] = []  # statuses that the next requests get
        self._numbers = count(1)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """See httpx."""
        self.requests.append(f"{request.method} {request.url.path}")
        if self.failing:
            return httpx.Response(self.failing.pop(0), json={"detail": "busy"})
        known = request.headers.get("Authorization") in (f"Token {TOKEN}", "Bearer short-lived")
        if not known and request.url.path != "/api/token/refresh":
            return httpx.Response(401, json={"detail": "Invalid token."})
        content = json.loads(request.content) if request.content else {}
        status, answer = self.answer(request.method, request.url.path, dict(request.url.params), content)
        return httpx.Response(status) if answer is None else httpx.Response(status, json=answer)

    def answer(self, method: str, path: str, params: dict[str, str], content: Any) -> tuple[int, Any]:
        """Status and body of one request."""
        if path == "/api/token/refresh":
            return (200, {"access": "short-lived"}) if content.get("refresh") == "a.b.c" else (401, {"detail": "no"})
        if path == "/api/projects/" and method == "POST":
            number = next(self._numbers)
            self.projects[number] = {"id": number, **content}
            return 201, self.projects[number]
        if found := re.fullmatch(r"/api/projects/(\d+)/(import|export)?", path) or re.fullmatch(
            r"/api/projects/(\d+)/(import|export)/?", path
        ):
            return self.project(method, int(found[1]), found[2], content)
        if found := re.fullmatch(r"/api/tasks/(\d+)/(annotations/)?", path):
            return self.task(int(found[1]), bool(found[2]), content)
        if path.startswith("/api/predictions/"):
            return self.prediction(method, path, params, content)
        if path in ("/api/dm/views", "/api/dm/views/"):
            if method == "POST":
                self.views.append({"id": next(self._numbers), **content})
                return 201, self.views[-1]
            return 200, [view for view in self.views if view["project"] == int(params["project"])]
        return 404, {"detail": "Not found."}

    def project(self, method: str, number: int, what: str | None, content: Any) -> tuple[int, Any]:
        if number not in self.projects:
            return 404, {"detail": "No Project matches the given query."}
        mine = [task for task in self.tasks.values() if task["project"] == number]
        if what == "import":
            for data in content:
                task = {"id": next(self._numbers), "project": number, "data": data, "annotations": []}
                self.tasks[task["id"]] = task
            return 201, {"task_count": len(content)}
        if what == "export":
            ids = {task["id"]: [p["id"] for p in self.predictions.values() if p["task"] == task["id"]] for task in mine}
            return 200, [{**task, "drafts": [], "predictions": ids[task["id"]]} for task in mine]
        made = [one for task in mine for one in task["annotations"]]
        skipped = sum(one["was_cancelled"] for one in made)
        return 200, {**self.projects[number], "total_annotations_number": len(made) - skipped,
                     "skipped_annotations_number": skipped}  # fmt: skip

    def task(self, number: int, annotates: bool, content: Any) -> tuple[int, Any]:
        if number not in self.tasks:
            return 404, {"detail": "No Task matches the given query."}
        if not annotates:
            self.tasks[number] |= content
            return 200, self.tasks[number]
        made = {
            "id": next(self._numbers),
            "ground_truth": False,
            "updated_at": "2026-11-18T07:51:09.614129Z",
            **content,
        }
        self.tasks[number]["annotations"].append(made)
        return 201, made

    def prediction(self, method: str, path: str, params: dict[str, str], content: Any) -> tuple[int, Any]:
        if method == "POST":
            made = {"id": next(self._numbers), **content}
            self.predictions[made["id"]] = made
            return 201, made
        if method == "DELETE":
            del self.predictions[int(path.rstrip("/").rsplit("/", 1)[1])]
            return 204, None
        return 200, [each for each in self.predictions.values() if each["project"] == int(params["project"])]
