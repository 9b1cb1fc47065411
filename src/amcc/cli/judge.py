"""amcc judge: a program, such as a language model behind any API, works in a live campaign."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Annotated
from urllib.parse import urlsplit

import typer

from amcc.cli.console import busy, say
from amcc.cli.live import CLIENT, address_of
from amcc.cli.output import Json, print_json
from amcc.cli.pay import counted
from amcc.errors import ParameterError


def judge(
    *,
    command: Annotated[
        list[str], typer.Argument(metavar="COMMAND", help="Reads a question as JSON, prints its answer.")
    ],
    campaign: Annotated[
        str, typer.Option(metavar="URL", help="Address of the campaign's server, or the whole link of the judge.")
    ],
    token: Annotated[
        str | None,
        typer.Option(envvar="AMCC_TOKEN", help="What stands after /w/ in its link; better in the variable, as others "
                     "see command lines."),
    ] = None,
    pages: Annotated[
        bool, typer.Option("--pages", help="All questions of a page in one call; prints {\"answers\": {LABEL: …}}.")
    ] = False,
    parallel: Annotated[int, typer.Option(min=1, max=64, help="Questions of a page that are asked at once.")] = 1,
    most: Annotated[int | None, typer.Option(min=1, help="Stop after so many pages.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for a call of the command.")] = 60.0,
    retries: Annotated[int, typer.Option(min=0, max=10, help="Further calls where one fails.")] = 2,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for new work where there is none.")] = 0.0,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Let a command work in a live campaign: it gets questions as JSON, its answers are posted and paid.

    Stops where there is no work left, or after --most pages. A page that the command cannot answer is given back;
    after three of them in a row the judge stops with exit code 1.
    """
    CLIENT.check("amcc judge")
    from amcc.serve.client import CampaignClient
    from amcc.serve.judge import Judge, JudgeCommand

    address, key = place_of(campaign, token)
    if shutil.which(command[0]) is None:
        raise ParameterError(f"the command must be a program that can be run; there is no {command[0]!r}.")
    words = JudgeCommand(command, timeout=timeout, retries=retries, whole_pages=pages)
    with CampaignClient(address, key) as client, ThreadPoolExecutor(parallel) as pool, busy("Judging") as progress:
        worker = Judge(client, words, most, wait, lambda now: progress(f"{now.pages:,} pages, {now.answers:,} answers"))
        report = worker.run(pool)
    if as_json:
        print_json({**asdict(report), "problems": report.problems[-10:]})
    say(
        f"{counted(report.pages, 'page')} with {counted(report.answers, 'answer')} and "
        f"{counted(report.skips, 'skip')}, {counted(report.given_back, 'page')} given back, {report.refused} refused; "
        f"stopped because {report.why}"
    )
    if report.is_broken:
        raise typer.Exit(1)


def place_of(campaign: str, token: str | None) -> tuple[str, str]:
    """The address of the server and the token, of what was typed.

    >>> place_of("http://127.0.0.1:8000/w/abc", None), place_of("http://127.0.0.1:8000/", "abc")
    (('http://127.0.0.1:8000', 'abc'), ('http://127.0.0.1:8000', 'abc'))
    """
    parts = urlsplit(address_of(campaign))
    path, _, in_link = parts.path.rpartition("/w/")
    key = token or (in_link if "/w/" in parts.path else "")
    if not key:
        raise ParameterError("who works must be known; give --token, AMCC_TOKEN, or the judge's whole link.")
    return f"{parts.scheme}://{parts.netloc}{path if '/w/' in parts.path else parts.path}", key
