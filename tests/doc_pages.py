"""Pages of the documentation, run: every `sh` and `python` block, one after the other, in one folder."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from amcc.serve.demo import served
from running import amcc

ROOT = Path(__file__).parents[1]
RUNS = ("sh", "python")
"""Languages of blocks that run. Others are for show, but for `amcc serve`, see `people_answer`."""


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and text of every fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


def run_page(page: str, folder: Path, given: Mapping[str, bytes] | None = None) -> list[str]:
    """What each block that runs prints. Python blocks of a page share their names, as cells of a notebook do.

    given : files that the reader of the page has; they are put back before each block, as one may replace them.
    """
    names: dict[str, Any] = {"__name__": "page"}
    printed = []
    for language, text in blocks(page):
        if campaign := re.fullmatch(r"amcc serve (\w+)\n", text):
            people_answer(folder / campaign[1])
        elif language in RUNS:
            for name, content in (given or {}).items():
                (folder / name).write_bytes(content)
            printed.append(run_python(text, folder, names) if language == "python" else run_shell_block(text, folder))
    return printed


def people_answer(campaign: Path) -> None:
    """Serve a campaign while a few simulated people answer. The command of the page would wait for them for ever."""
    with served(campaign) as address:
        amcc("campaign", "simulate", campaign, "--url", address, "--pages", "6", "--pause", "0", "--seconds", "20")


def run_shell_block(text: str, folder: Path) -> str:
    """What the commands of a block print, one after the other."""
    return "".join(run_line(command, folder) for command in commands(text))


def commands(text: str) -> Iterator[str]:
    """The commands of a block for a shell, without comments; a backslash continues a line."""
    for line in text.replace("\\\n", " ").splitlines():
        command = re.sub(r"(^|\s)#.*", "", line).strip()
        if command:
            yield command


def run_line(command: str, folder: Path) -> str:
    """What a command prints and notes; commands of amcc run in this process, which saves seconds of imports each."""
    words = shlex.split(command)
    if words[0] != "amcc" or "|" in words:
        return run_shell(command, folder)
    *arguments, target = words[1:] if ">" in words else [*words[1:], None]
    if target is None:
        run = amcc(*arguments, cwd=folder)
        return run.stdout + run.stderr
    run = amcc(*arguments[: arguments.index(">")], cwd=folder)
    (folder / target).write_text(run.stdout)
    return run.stderr


def run_shell(command: str, folder: Path) -> str:
    """The same by a shell, for which `amcc` and `python` are those of the tests."""
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    run = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, f"{command}: {run.stderr}"
    return run.stdout + run.stderr


def run_python(code: str, folder: Path, names: dict[str, Any]) -> str:
    """What code prints."""
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        exec(compile(code, "page", "exec"), names)
    return printed.getvalue()
