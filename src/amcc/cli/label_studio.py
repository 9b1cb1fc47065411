"""amcc label-studio: a project of a running Label Studio as the place where people answer.

The token is read from the variable LABEL_STUDIO_TOKEN only: others see command lines.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from amcc.cli.console import busy, say
from amcc.cli.convert import FurtherTables
from amcc.cli.fitting import ModelChoice, fit
from amcc.cli.lazy import prepared
from amcc.cli.options.groups import OptionGroup
from amcc.cli.options.votes import listed_labels
from amcc.cli.output import Json, RowsOutput, print_json, write_rows
from amcc.cli.paths import Extra
from amcc.errors import EmptyInputError, OutOfMoneyError, ParameterError
from amcc.io import Export

if TYPE_CHECKING:
    from amcc.label_studio import Project

CLIENT = Extra("label-studio", ("httpx",))

TOKEN = "LABEL_STUDIO_TOKEN"


@dataclass(frozen=True)
class ProjectOptions(OptionGroup):
    """Which project of which server."""

    project: Annotated[int, typer.Option(min=1, help="Number of the project, as in the address of its page.")]
    url: Annotated[str, typer.Option(help="Address of the server.")] = "http://127.0.0.1:8080"
    labels: Annotated[
        str | None,
        typer.Option(
            help="All labels that were offered, where neither tasks nor configuration say it: a,b,c or a file."
        ),
    ] = None

    @contextmanager
    def opened(self) -> Iterator[Project]:
        """The project, with a connection that is closed afterwards."""
        CLIENT.check("amcc label-studio")
        from amcc.label_studio import LabelStudio, Project

        token = os.environ.get(TOKEN, "")
        if not token:
            raise ParameterError(
                f"the variable {TOKEN} must hold a token (Label Studio: Account & Settings); it is not set. Command "
                "lines are seen by others, so there is no option for it."
            )
        with LabelStudio(self.url, token) as server:
            yield Project(server, self.project)

    def pulled(self, project: Project) -> Export:
        """All that the tasks say."""
        from amcc.label_studio import pull

        with busy(f"Reading project {self.project}"):
            export = pull(project, None if self.labels is None else listed_labels(self.labels))
        say(*export.notes, style="dim")
        return export


@dataclass(frozen=True)
class AskingMore(OptionGroup):
    """Whether people are asked more, and whom."""

    budget: Annotated[
        str | None, typer.Option(help="What the next questions may cost; without it nobody is asked anything new.")
    ] = None
    price: Annotated[str, typer.Option(help="Of one answer.")] = "1"
    worker: Annotated[
        list[str] | None, typer.Option(help="Number of a user who may be asked, also before their first answer.")
    ] = None
    batch: Annotated[int, typer.Option(min=1, help="At most so many questions.")] = 100

    def questions(self, export: Export) -> list[tuple[str, str, str]] | None:
        """(item, label, worker), the best first; None where nobody is to be asked."""
        if self.budget is None:
            return None
        from amcc.active import next_questions

        newcomers = dict.fromkeys(self.worker or (), self.price)
        with busy(f"Choosing after {len(export.votes):,} votes"):
            found = next_questions(
                export.votes, budget=self.budget, price=self.price, prices=newcomers or None, batch=self.batch,
                workers=[*people_in(export), *newcomers], truth=export.truth, roster=export.roster, decimals=2,
            )  # fmt: skip
        table = found.table("arrow")
        columns = (map(str, table[name].to_pylist()) for name in ("item", "label", "worker"))
        return list(zip(*columns, strict=True))


def people_in(export: Export) -> list[str]:
    """Workers who can be asked through Label Studio: its users, and not the models whose predictions it holds."""
    names = [str(name) for name in export.votes.worker_names.to_pylist()]
    kinds = dict(zip(export.workers["worker"].to_pylist(), export.workers["kind"].to_pylist(), strict=True))
    return [name for name in names if kinds.get(name, "human") == "human"]


def pull(*, place: ProjectOptions, output: RowsOutput, further: FurtherTables, as_json: Json = False) -> None:
    """Write the answers of a project as votes: worker,item,label,value; items are numbers of tasks."""
    with place.opened() as project:
        export = place.pulled(project)
    for file, table in further.tables(export):
        write_rows(table, file, safe_csv=output.safe_csv)
    if output.is_wanted_beside(as_json):
        output.write(export.votes.to_arrow())
    if as_json:
        votes = export.votes
        print_json({"votes": len(votes), "workers": votes.n_workers, "items": votes.n_items, "labels": votes.n_labels})


def push(*, place: ProjectOptions, choice: ModelChoice, asking: AskingMore, as_json: Json = False) -> None:
    """Write the consensus as predictions; with --budget, also who is asked about which labels next.

    Each task is with one worker at a time: data.ask are the labels that it offers, data.ask_for is the worker. Every
    worker gets a tab with their tasks, the best first.
    """
    with place.opened() as project:
        done = _pushed(place, project, choice, asking)
    if as_json:
        print_json(done)


def watch(
    *,
    place: ProjectOptions,
    choice: ModelChoice,
    asking: AskingMore,
    every: Annotated[float, typer.Option(min=1, help="Seconds between two looks.")] = 30.0,
    times: Annotated[int | None, typer.Option(min=1, help="Stop after so many looks. Default: until Ctrl-C.")] = None,
) -> None:
    """Push whenever there are new answers, until Ctrl-C."""
    from amcc.label_studio import LabelStudioError

    seen, looks = -1, 0
    with place.opened() as project:
        while times is None or looks < times:
            if looks:
                time.sleep(every)
            looks += 1
            try:
                n_answers = project.n_answers()
                if n_answers == seen:
                    continue
                _pushed(place, project, choice, asking)
                seen = n_answers
            except EmptyInputError as error:
                say(f"nothing to do yet: {error}")
            except OutOfMoneyError as error:
                say(str(error))
                return
            except LabelStudioError as error:  # a server that restarts is no reason to give up
                if times is not None and looks >= times:
                    raise
                say(f"{error} Trying again in {every:g} s.")


def _pushed(place: ProjectOptions, project: Project, choice: ModelChoice, asking: AskingMore) -> dict[str, int]:
    from amcc.exports import Results
    from amcc.label_studio import push as push_to

    export = place.pulled(project)
    model = fit(export.votes, choice, truth=export.truth, roster=choice.usable(export.roster))
    say(model.settling_.sentence(), model.settled_counts_.sentence())
    with busy("Writing to Label Studio"):
        done = push_to(project, Results(model, export.votes), asking.questions(export))
    said = [f"{done.predictions:,} predictions written"]
    if asking.budget is not None:
        said.append(f"{done.asked:,} tasks are with somebody, {done.tabs:,} new tabs")
    say("; ".join(said))
    if done.hidden:
        say(f"warning: {done.hidden:,} of these tasks have as many answers as the project allows, so nobody is shown "
            "them. Raise Settings, Quality, Annotations per task.")  # fmt: skip
    return {"votes": len(export.votes), "predictions": done.predictions, "asked": done.asked, "tabs": done.tabs}


COMMANDS: dict[str, tuple[Callable[..., None], str]] = {
    "pull": (pull, "amcc label-studio pull --url http://127.0.0.1:8080 --project 3 -o votes.csv"),
    "push": (push, "amcc label-studio push --project 3 --budget 50 --price 1"),
    "watch": (watch, "amcc label-studio watch --project 3 --budget 50 --every 60"),
}

label_studio: typer.Typer = typer.Typer(
    help="A project of a running Label Studio: answers in, consensus and next questions out.",
    no_args_is_help=True,
    add_completion=False,  # amcc itself has it
)
for command_name, (command, example) in COMMANDS.items():
    label_studio.command(command_name, epilog=f"Example: {example}")(prepared(command))
