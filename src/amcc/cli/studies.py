"""What the commands share that run studies for minutes to hours: how many processes, and how far they are.

Studies say how far they are by calling a function with two numbers; they know nothing of terminals.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from amcc.cli.console import notes

Processes = Annotated[int, typer.Option(min=0, help="How many at a time; 0 for one per core.")]


def n_processes(chosen: int) -> int:
    """As many as cores where nothing was chosen."""
    return chosen or os.cpu_count() or 1


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on terminals, gone when the block ends; called with how much is done, and of how much."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    # Not on files and pipes: what is written over and over would be thousands of lines there.
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        # Without a total it shows that it is alive, until the first call says how much there is.
        bar = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)
