"""Commands run in the tests' own process: the same up to the streams, without seconds of imports for each."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path
from unittest import mock

from amcc.cli import main
from amcc.cli.console import notes, screen

Run = subprocess.CompletedProcess[str]

WIDE = "200"
"""Columns of the terminal that is not there: no sentence is broken."""


def run_amcc(*arguments: object, cwd: Path | None = None, **environment: str | None) -> Run:
    """What `python -m amcc …` prints, notes and returns. Variables that are None are not set."""
    environment = {**os.environ, "COLUMNS": WIDE, **environment}
    given = {name: value for name, value in environment.items() if value is not None}
    command = ["amcc", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.dict(os.environ, given, clear=True),
        mock.patch.object(sys, "argv", command),
        mock.patch.object(notes, "_width", int(given["COLUMNS"])),  # consoles ask once, when they are made
        mock.patch.object(screen, "_width", int(given["COLUMNS"])),
        contextlib.chdir(cwd or "."),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")  # for users, warnings are no errors
        try:
            code: int | str | None = main()  # type: ignore[func-returns-value]
        except SystemExit as end:
            code = end.code
    said, noted = (stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(command, int(code or 0), said, noted)


def amcc(*arguments: object, code: int = 0, cwd: Path | None = None, **environment: str | None) -> Run:
    """The same for a command that must return this code."""
    run = run_amcc(*arguments, cwd=cwd, **environment)
    assert run.returncode == code, run.stderr
    assert "Traceback" not in run.stderr
    return run


def said(*arguments: object, code: int = 0, cwd: Path | None = None) -> tuple[str, str]:
    """The same: what it prints, and what it notes."""
    run = amcc(*arguments, code=code, cwd=cwd)
    return run.stdout, run.stderr
