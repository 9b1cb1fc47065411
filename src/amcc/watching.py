"""How far long work has come, and who is told: a bar in a notebook or a terminal, or a function of one's own.

Work tells (`tell`) and does not know who listens; nobody does unless asked to. Fits tell their rounds, replays and
campaigns the share of the money that is spent.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from importlib import import_module
from typing import Any

# Is told the share of the work that is done, None where nobody knows it, and a note in words.
Watcher = Callable[[float | None, str], object]

# A context variable, so that work in other threads is not shown to whoever watches this one.
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)

# Between two pictures of a bar: more often, nobody sees a difference, and a notebook stores them all for a while.
SECONDS = 0.1


def tell(share: float | None, note: str) -> None:
    """Say how far the work is."""
    if (watcher := _watcher.get()) is not None:
        watcher(share, note)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Tell `watcher` how far the work inside is.

    >>> with watched_by(lambda share, note: print(share, note)):
    ...     tell(0.5, "half of it")
    0.5 half of it
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def progress() -> Iterator[None]:
    """Show how far the fits, replays and campaigns inside are: `with amcc.progress(): model.fit(votes)`.

    A bar in notebooks, which needs nothing installed, and in terminals; it is gone at the end. Elsewhere, as in a log
    file, nothing is shown.
    """
    with _notebook_bar() if _in_notebook() else _terminal_bar() as show:
        share, shown = None, -SECONDS

        def watch(done: float | None, note: str) -> None:
            nonlocal share, shown
            share = share if done is None else done  # the fits of a replay do not know how far the replay is
            if (now := time.monotonic()) - shown >= SECONDS:
                shown = now
                show(share, note)

        with watched_by(watch):
            yield


def _in_notebook() -> bool:
    """Whether a kernel runs this: IPython in a terminal has none."""
    ipython: Any = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


@contextmanager
def _notebook_bar() -> Iterator[Watcher]:
    """A progress element of HTML, shown by any notebook; a library of widgets would have to be installed."""
    notebook: Any = import_module("IPython.display")  # typed in part only
    bar = notebook.display(notebook.HTML(""), display_id=True)

    def show(share: float | None, note: str) -> None:
        value = "" if share is None else f' value="{share:.3f}"'  # without a value it moves to and fro
        bar.update(notebook.HTML(f"<progress{value}></progress> {escape(note)}"))

    try:
        yield show
    finally:
        bar.update(notebook.HTML(""))


@contextmanager
def _terminal_bar() -> Iterator[Watcher]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = BarColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def show(share: float | None, note: str) -> None:
            bar.update(task, description=note, total=None if share is None else 1.0, completed=share or 0.0)

        yield show
