"""Commands in this process: much quicker than one of their own, and the same up to the streams."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import NamedTuple

import pytest

from amcc.cli import main


class Said(NamedTuple):
    """What a command printed, and what it noted beside."""

    out: str
    err: str


@pytest.fixture
def run_amcc(monkeypatch, capsys) -> Callable[..., Said]:
    """Runs a command as a user types it, and expects an exit code."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # the command sets its own

    def run(*arguments: object, code: int = 0) -> Said:
        monkeypatch.setattr(sys, "argv", ["amcc", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped, warnings.catch_warnings():
            warnings.simplefilter("default")  # for users, warnings are no errors
            main()
        said = Said(*capsys.readouterr())
        assert (stopped.value.code or 0) == code, said.err
        assert "Traceback" not in said.err
        return said

    return run
