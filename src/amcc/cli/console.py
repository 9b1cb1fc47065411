"""What people read in a terminal: notes, tables, and a sign that work is going on.

`screen` prints what was asked for to standard output. `notes` prints everything else to standard error, so that a pipe
gets rows only. Every command starts here: nothing in this file may import numpy or pyarrow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from rich.table import Table

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

    # Overridden here, and not at each call: text takes many ways through Rich, and all of them end here.
    def render_str(self, text: str, **options: Any) -> Text:
        """What Rich makes of any text, be it printed or the cell of a table."""
        return super().render_str(visible(text), **options)


# Made once: whether they write to a terminal, and how wide it is, does not change while a command runs.
notes: PlainConsole = PlainConsole(stderr=True)
screen: PlainConsole = PlainConsole()


def say(*sentences: str, style: str = "") -> None:
    """Print each sentence to standard error, in one line however narrow the terminal is: scripts search for it."""
    for sentence in sentences:
        notes.print(sentence, style=style, soft_wrap=True)


@contextmanager
def busy(text: str) -> Iterator[Callable[[str], None]]:
    """Show that work is going on, on a terminal only: in a log file a turning wheel would be thousands of lines.

    What is given back adds to the text how far the work is.
    """
    if not notes.is_terminal:
        yield lambda far: None
        return
    with notes.status(Text(visible(f"{text} …"))) as status:
        yield lambda far: status.update(Text(visible(f"{text} … {far}")))


def titled_table(header: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> Table:
    """A table with a title above it at the left; without names of columns it is a list of names and values."""
    # Brings fractions and decimals, for a thing that most commands never print.
    from rich.table import Table

    # No lines between cells: what people copy from a terminal goes into mails and issues.
    table = Table(*header, show_header=bool(header), title=title, title_justify="left", box=None)
    for row in rows:
        table.add_row(*row)
    return table


def show_all(tables: Iterable[Table]) -> None:
    """Print tables with an empty line after each."""
    for table in tables:
        screen.print(table)
        screen.print()
