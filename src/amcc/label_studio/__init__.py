"""A running Label Studio as the place where people answer; needs the extra `label-studio`.

    with LabelStudio("http://127.0.0.1:8080", token) as server:
        project = Project(server, 3)
        export = pull(project)                     # votes, known truth, what was skipped
        push(project, export, model, questions)    # predictions, and who is asked what next

| file | what it knows |
|---|---|
| `client` | requests with a token: the few that are needed, what is wrong with an answer |
| `project` | one project: its question, tasks, predictions and tabs |
| `sync` | answers in; consensus and next questions out |

Label Studio is told what to offer by `data.ask` of a task (`<Choices value="$ask">`), to whom by `data.ask_for`. Since
a task has one `ask`, it is with one worker at a time, and nobody gets it twice: so it is known later what was offered
to whom (`data.asked_of`). In the open-source edition every account may export and delete a project: for teams in-house
only.
"""

from __future__ import annotations

from amcc.label_studio.client import LabelStudio, LabelStudioError
from amcc.label_studio.project import Project
from amcc.label_studio.sync import Pushed, pages_to_ask, pull, push

__all__ = ["LabelStudio", "LabelStudioError", "Project", "Pushed", "pages_to_ask", "pull", "push"]
