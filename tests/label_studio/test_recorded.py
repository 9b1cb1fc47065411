"""The way to Label Studio and back, against recorded answers; `make test-label-studio` tries a real server."""

from __future__ import annotations

import httpx
import pytest
from recorded import TOKEN, Recorded
from scenario import CONFIG, check_whole_round, prepared

from amcc.errors import EmptyInputError, InputError
from amcc.label_studio import LabelStudio, LabelStudioError, Project, pages_to_ask, push
from amcc.label_studio.project import question_of


@pytest.fixture
def recorded(monkeypatch):
    monkeypatch.setattr("amcc.label_studio.client.WAITS", (0.0, 0.0))
    return Recorded()


@pytest.fixture
def server(recorded):
    with LabelStudio("http://127.0.0.1:8080", TOKEN, transport=recorded) as found:
        yield found


def test_a_whole_round(server):
    check_whole_round(server, workers=[1, 2, 3], newcomer=4)


def test_a_personal_access_token_is_exchanged_and_kept(recorded):
    with LabelStudio("http://127.0.0.1:8080", "a.b.c", transport=recorded) as found:
        prepared(found, [1, 2, 3])
    assert recorded.requests.count("POST /api/token/refresh") == 1
    with (
        LabelStudio("http://127.0.0.1:8080", "x.y.z", transport=recorded) as found,
        pytest.raises(LabelStudioError, match="refuses the personal access token"),
    ):
        found.get("/api/projects/1/")


def test_a_wrong_token_is_said_and_not_shown(recorded):
    with (
        LabelStudio("http://127.0.0.1:8080", "a-secret-token", transport=recorded) as found,
        pytest.raises(LabelStudioError, match="refuses the token") as error,
    ):
        Project(found, 1).tasks()
    assert "a-secret-token" not in str(error.value)


def test_a_server_that_is_busy_is_asked_again_and_one_that_is_gone_is_not_waited_for(server, recorded):
    project = prepared(server, [1, 2, 3])
    recorded.failing = [503, 502]
    assert len(project.tasks()) == 6
    recorded.failing = [503] * 3
    with pytest.raises(LabelStudioError, match="does not answer"):
        project.tasks()


def test_wrong_places_are_told(server):
    with pytest.raises(LabelStudioError, match="Is it the right project"):
        Project(server, 99).tasks()
    with pytest.raises(InputError, match="must begin with https"):
        LabelStudio("127.0.0.1:8080", TOKEN)
    with pytest.raises(InputError, match="a token is needed"):
        LabelStudio("http://127.0.0.1:8080", " ")


def test_something_else_that_answers_is_no_label_studio():
    page = httpx.MockTransport(lambda request: httpx.Response(200, text="<html>hello</html>"))
    with (
        LabelStudio("http://127.0.0.1:8080", TOKEN, transport=page) as found,
        pytest.raises(LabelStudioError, match="does not answer as Label Studio"),
    ):
        Project(found, 1).tasks()


def test_the_token_follows_no_redirect():
    seen = []

    def elsewhere(request):
        seen.append(request.url.host)
        return httpx.Response(302, headers={"Location": "http://elsewhere.example/"})

    with (
        LabelStudio("http://127.0.0.1:8080", TOKEN, transport=httpx.MockTransport(elsewhere)) as found,
        pytest.raises(LabelStudioError, match="302"),
    ):
        Project(found, 1).tasks()
    assert seen == ["127.0.0.1"]


def test_a_project_without_tasks_or_with_fixed_choices_is_refused(server):
    fixed = CONFIG.replace(' value="$ask"', "").replace("/></View>", '><Choice value="a"/></Choices></View>')
    number = server.post("/api/projects/", {"title": "fixed", "label_config": fixed})["id"]
    project = Project(server, number)
    with pytest.raises(EmptyInputError, match="Import them first"):
        push(project, None, [])
    server.post(f"/api/projects/{number}/import", [{"text": "one"}])
    with pytest.raises(InputError, match=r'value="\$ask"'):
        push(project, None, [("1", "a", "2")])


@pytest.mark.parametrize("config", ["", "<View", "<View/>", "<View><Choices name='a'/><Choices name='b'/></View>"])
def test_configurations_without_one_question_are_refused(config):
    with pytest.raises(InputError, match="must have"):
        question_of(config)


def test_a_task_is_with_the_worker_of_its_best_question_and_with_nobody_who_saw_it():
    tasks = {"1": {"annotations": [{"completed_by": {"id": 7, "email": "x"}}]}, "2": {}, "3": {}}
    asked = [("1", "a", "7"), ("2", "a", "7"), ("2", "b", "8"), ("2", "b", "7"), ("3", "a", "7"), ("9", "a", "7")]
    pages = pages_to_ask(asked, tasks)
    assert {item: (page.worker, page.labels, page.priority) for item, page in pages.items()} == {
        "2": ("7", ("a", "b"), "000001"), "3": ("7", ("a",), "000002"),
    }  # fmt: skip
