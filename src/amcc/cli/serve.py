"""amcc serve: the pages, the dashboard and the API of a live campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from amcc.cli.console import busy, say, screen
from amcc.cli.live import SERVER, Folder, address_of

# Addresses at which only this machine can reach the server.
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    *,
    folder: Folder,
    host: Annotated[
        str, typer.Option(help="Address to listen at; only this machine can reach the default.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8000,
    https: Annotated[
        bool, typer.Option("--https", help="A proxy in front of it speaks TLS: cookies are sent by TLS only.")
    ] = False,
    public: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Name by which people reach it: study.example.org. May be repeated."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Server processes; more than one needs PostgreSQL.")] = 1,
    log: Annotated[bool, typer.Option("--log", help="Write a line of JSON per request to standard error.")] = False,
) -> None:
    """Serve a campaign: pages for workers, the dashboard, the API; until Ctrl-C or SIGTERM.

    It may be killed at any moment: what was acknowledged is on the disk.
    """
    SERVER.check("amcc serve")
    with busy("Loading"):
        from amcc.serve.running import ServerPlan
        from amcc.serve.running import serve as run

    names = [host_of(each) for each in public or ()]
    if host not in LOOPBACK and not https:
        say(
            f"warning: {host} can be reached from outside, and without TLS passwords and answers can be read on the "
            "way. Put a proxy in front of it and give --https; see docs/campaigns-operations.md"
        )

    def ready(address: str) -> None:
        screen.print(f"{folder} is served at {address}", soft_wrap=True)
        screen.print(f"dashboard: {address}/dashboard", soft_wrap=True)
        say("Ctrl-C ends it")

    plan = ServerPlan(Path(folder), host, port, names, https=https, processes=workers, log=log)
    run(plan, ready)
    say("ended; everything that was acknowledged is stored")


def host_of(name: str) -> str:
    """The name of a host, however it was typed.

    >>> host_of("https://study.example.org/"), host_of("study.example.org")
    ('study.example.org', 'study.example.org')
    """
    return urlsplit(address_of(name)).hostname or name if "//" in name else name
