"""What the commands of live campaigns share: the extra they need, who does something, passwords, names of workers."""

from __future__ import annotations

import getpass
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amcc.cli.paths import Extra, Keeps
from amcc.errors import InputError, ParameterError
from amcc.files import check_is_file

if TYPE_CHECKING:
    from amcc.serve.service import Service
    from amcc.serve.views import Payment

SERVE = Extra("serve", ("sqlalchemy", "alembic", "argon2", "itsdangerous"))
SERVER = Extra("serve", (*SERVE.packages, "fastapi", "uvicorn", "jinja2", "nh3", "prometheus_client", "multipart"))
CLIENT = Extra("serve", ("httpx",))

Folder = Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="Folder of the campaign."), Keeps()]
Reason = Annotated[str, typer.Option(help="Why, for the log of the campaign.")]
Url = Annotated[
    str, typer.Option("--url", help="Address at which workers reach the server: https://study.example.org.")
]

# Where `amcc serve` listens unless it is told otherwise.
HERE = "http://127.0.0.1:8000"

# Bytes of a password that is made: as text 16 letters, which nobody guesses and one can still type.
PASSWORD_BYTES = 12


def opened(folder: Path) -> Service:
    """The campaign in a folder, for a command: it may run beside the server."""
    SERVE.check("amcc campaign")
    # Here, for whoever has not installed the extra gets a message first.
    from amcc.serve.service import Service

    return Service.open(folder)


def actor() -> str:
    """Who does something, for the log of the campaign.

    >>> actor().startswith("command:")
    True
    """
    try:
        return f"command:{getpass.getuser()}"
    except (KeyError, OSError):  # a user without a name, as in some containers
        return "command:unknown"


def password_from(path: Path | None) -> tuple[str, bool]:
    """The requester's password: from a file, asked for at a terminal, or made; whether it was made."""
    if path is not None:
        check_is_file(path)
        text = path.read_text(encoding="utf-8").strip("\r\n")
        if not text or "\n" in text:
            raise InputError(f"{path} must hold a password in one line; it has {len(text.splitlines())} lines.")
        return text, False
    if sys.stdin.isatty() and sys.stderr.isatty():
        asked = typer.prompt(
            "Password for the dashboard (empty: one is made)", hide_input=True, default="", show_default=False, err=True
        )  # fmt: skip
        if asked:
            if typer.prompt("The same again", hide_input=True, err=True) != asked:
                raise ParameterError("both passwords must be the same; nothing was made. Try again.")
            return str(asked), False
    return secrets.token_urlsafe(PASSWORD_BYTES), True


def check_database(url: str | None) -> None:
    """Raise ParameterError unless it is an address of PostgreSQL, or none."""
    if url is not None and not url.startswith(("postgresql://", "postgresql+psycopg://", "postgres://")):
        scheme = url.partition(":")[0]  # the rest may hold a password
        raise ParameterError(f"--database must begin with postgresql://; it begins with {scheme!r}.")


def is_named(payment: Payment, name: str) -> bool:
    """Whether somebody is meant by a name: their pseudonym, or who they are on the requester's own list."""
    return name in (payment.worker, payment.identity)


def address_of(url: str) -> str:
    """An address without a slash at its end; ParameterError where it is none.

    >>> address_of("https://study.example.org/")
    'https://study.example.org'
    """
    if not url.startswith(("http://", "https://")) or len(url.split("//", 1)[1].strip("/")) == 0:
        raise ParameterError(f"an address must begin with http:// or https:// and name a host; got {url!r}.")
    return url.rstrip("/")
