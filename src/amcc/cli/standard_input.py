"""`-` stands for standard input in any option that names a file to read.

    zcat votes.csv.gz | amcc consensus - | amcc evaluate - truth.csv

Nothing has to be done for a new option: it is enough that it is marked with READS.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from amcc.cli.options.groups import Command
from amcc.cli.paths import Reads, marks_of
from amcc.errors import InputError, ParameterError
from amcc.io import spool


def reads_standard_input(command: Command) -> Command:
    """Let `-` stand for standard input in one argument of a command; its text is kept in a file for that long.

    Readers want a file: they look at it twice, and its suffix says its format. What `-` may stand for is what is
    marked with READS.
    """
    readable = [name for name, (_, mark) in marks_of(command).items() if type(mark) is Reads]

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        # Text that names a file, as --labels of next, is not a path and keeps its dash.
        given = [name for name in readable if arguments[name] == Path("-")]
        if len(given) > 1:
            raise ParameterError(
                f"standard input (-) can be read once; it stands for {' and '.join(given)}. Name a file for the others."
            )
        # The folder is removed when the command is done, also by an error.
        with ExitStack() as kept:
            for name in given:
                folder = kept.enter_context(TemporaryDirectory(prefix="amcc-"))
                arguments[name] = spool(sys.stdin.buffer, Path(folder))
                kept.enter_context(_called_standard_input(arguments[name]))
            command(**arguments)

    return run


@contextmanager
def _called_standard_input(path: Path) -> Iterator[None]:
    """Errors about the file are about standard input: nobody else knows its name."""
    try:
        yield
    except InputError as error:
        raise type(error)(str(error).replace(str(path), "standard input")) from None
