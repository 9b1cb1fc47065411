"""What is tried against a Label Studio, a recorded one and a real one: the same steps and the same checks."""

from __future__ import annotations

from typing import Any

from amcc.label_studio import LabelStudio, Project, pull, push

CONFIG = (
    '<View><Text name="text" value="$text"/>'
    '<Choices name="topics" toName="text" value="$ask" choice="multiple"/></View>'
)
LABELS = ["economy", "politics", "sports"]
ASK = [{"value": label} for label in LABELS]

# Who says what about the tasks, by place; None is skipped. The first worker is the account itself.
SAID: list[list[list[str] | None]] = [
    [["economy"], ["economy", "politics"], [], ["sports"], None, ["politics"]],
    [["economy"], ["politics"], [], ["sports"], ["economy"], ["politics"]],
    [["economy"], ["economy"], ["sports"], ["sports"], ["economy"], ["politics"]],
]


def choices(labels: list[str]) -> list[dict[str, Any]]:
    """An annotation's result."""
    value = {"from_name": "topics", "to_name": "text", "type": "choices", "value": {"choices": labels}}
    return [value] if labels else []


def prepared(server: LabelStudio, workers: list[int]) -> Project:
    """A project with tasks and annotations of these workers."""
    content = {"title": "a trial", "label_config": CONFIG, "maximum_annotations": 10}
    project = Project(server, int(server.post("/api/projects/", content)["id"]))
    tasks = [{"text": f"text {place}", "ask": ASK} for place in range(len(SAID[0]))]
    server.post(f"/api/projects/{project.id}/import", tasks)
    numbers = sorted(task["id"] for task in project.tasks())
    for worker, said in zip(workers, SAID, strict=True):
        for task, labels in zip(numbers, said, strict=True):
            answer(server, task, worker, labels)
    return project


def answer(server: LabelStudio, task: int, worker: int, labels: list[str] | None) -> None:
    """One annotation; None skips the task."""
    content = {"completed_by": worker, "was_cancelled": labels is None, "result": choices(labels or [])}
    server.post(f"/api/tasks/{task}/annotations/", content)


def check_whole_round(server: LabelStudio, workers: list[int], newcomer: int) -> None:
    """Pull, push the consensus, ask the newcomer, read what they say, and push again."""
    from amcc.consensus import MajorityVote
    from amcc.exports import Results

    project = prepared(server, workers)
    export = pull(project)
    assert len(export.votes) == 3 * (6 * 3 - 1)
    assert export.skipped.num_rows == 1
    items = [str(name) for name in export.votes.item_names.to_pylist()]
    model = MajorityVote().fit(export.votes)

    questions = [(items[0], "sports", str(newcomer)), (items[2], "sports", str(newcomer)),
                 (items[0], "politics", str(newcomer)), (items[1], "economy", str(workers[0]))]  # fmt: skip
    done = push(project, Results(model, export.votes), questions)
    assert (done.predictions, done.asked, done.tabs, done.hidden) == (6, 2, 1, 0), "nobody is asked twice about a task"
    tasks = {str(task["id"]): task for task in project.tasks()}
    first = tasks[items[0]]["data"]
    assert first["ask"] == [{"value": "sports"}, {"value": "politics"}]
    assert (first["ask_for"], first["priority"], first["text"]) == (str(newcomer), "000001", "text 0")
    assert tasks[items[1]]["data"]["ask"] == ASK
    said = {number: task["predictions"][0]["result"] for number, task in tasks.items()}
    assert [each["value"]["choices"] for each in said[items[0]]] == [["economy"]]
    assert said[items[2]] == []

    # The newcomer answers what they were offered. What the others were offered before still holds.
    answer(server, int(items[0]), newcomer, ["politics"])
    again = pull(project)
    votes = {(row["worker"], row["item"], row["label"]): row["value"] for row in again.votes.to_arrow().to_pylist()}
    mine = {key[1:]: value for key, value in votes.items() if key[0] == str(newcomer)}
    assert mine == {(items[0], "sports"): -1, (items[0], "politics"): 1}, "economy was not asked"
    assert votes[str(workers[0]), items[0], "politics"] == -1
    assert len(again.votes) == len(export.votes) + 2, "our own predictions are no votes"

    done = push(project, Results(MajorityVote().fit(again.votes), again.votes), [])
    assert done.predictions < 6, "what did not change is not written again"
    assert done.tabs == 0
    assert len(project.predictions()) == 6, "one of ours for each task"
    assert all(task["data"].get("ask_for", "") == "" for task in project.tasks())
