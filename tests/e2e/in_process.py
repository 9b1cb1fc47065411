"""Commands in this process: much quicker than one of their own, and the same up to the streams."""

from __future__ import annotations

import contextlib
import io
import sys
import warnings
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

from amcc.cli import main
from amcc.cli.common import notes, screen


class Run(NamedTuple):
    """What a command printed, and what it noted beside."""

    stdout: str
    stderr: str


def amcc(*arguments: object, code: int = 0, cwd: Path | None = None, columns: int = 200) -> Run:
    """Run a command as a user types it, and expect an exit code."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with (
        mock.patch.multiple(sys, argv=["amcc", *map(str, arguments)], stdout=out, stderr=err),
        mock.patch.object(screen, "_width", columns),
        mock.patch.object(notes, "_width", columns),
        contextlib.chdir(cwd or Path()),
        warnings.catch_warnings(),
        pytest.raises(SystemExit) as stopped,
    ):
        warnings.simplefilter("default")  # for users, warnings are no errors
        main()
    said = []
    for stream in (out, err):
        stream.flush()
        said.append(stream.buffer.getvalue().decode())
    run = Run(*said)
    assert (stopped.value.code or 0) == code, run.stderr
    assert "Traceback" not in run.stderr
    return run
