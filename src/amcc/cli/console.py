"""What people read in a terminal: notes, tables, and a sign that work is going on.

`screen` prints what was asked for to standard output. `notes` prints everything else to standard error, so that a pipe
gets rows only. Every command starts here: nothing in this file may import numpy or pyarrow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

# Characters that a terminal obeys instead of showing them: controls, line ends, changes of direction, half pairs.
# Names in the data come from anybody, and such a name could rewrite what is already on the screen.
ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

# For a number that is not defined or was not measured: an empty cell would look like a mistake.
DASH = "–"


def visible(text: str) -> str:
    r"""Text in which such characters are written as Python writes them.

    >>> visible("caf\u00e9 \x1b[31m")
    'café \\x1b[31m'
    """
    return ACTING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class PlainConsole(Console):
    """Prints text as it is: no [markup], no :emoji:, and nothing that the terminal would obey."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """What Rich makes of any text, be it printed or the cell of a table."""
        return super().render_str(visible(text), **options)


notes = PlainConsole(stderr=True)
screen = PlainConsole()


def say(*sentences: str, style: str = "") -> None:
    """Print each sentence to standard error, in one line however narrow the terminal is: scripts search for it."""
    for sentence in sentences:
        notes.print(sentence, style=style, soft_wrap=True)


@contextmanager
def busy(text: str) -> Iterator[None]:
    """Show that work is going on, on a terminal only: in a log file a turning wheel would be thousands of lines."""
    if not notes.is_terminal:
        yield
        return
    with notes.status(Text(visible(f"{text} …"))):
        yield


def titled_table(header: Iterable[str], rows: Iterable[Iterable[str]], title: str | None = None) -> Table:
    """A table without lines, which is easy to copy; the title stands above it at the left."""
    table = Table(*header, title=title, title_justify="left", box=None)
    for row in rows:
        table.add_row(*row)
    return table


def list_of(rows: Iterable[tuple[str, str]]) -> Table:
    """A list of names and what is known about them, as a table without a header."""
    table = Table(show_header=False, box=None)
    for row in rows:
        table.add_row(*row)
    return table


def show_all(tables: Iterable[Table]) -> None:
    """Print tables with an empty line after each."""
    for table in tables:
        screen.print(table)
        screen.print()
