"""The argument VOTES, and how the table that it names is read.

Tables of votes come in many layouts. `amcc.read_votes` finds out by itself which column is what, and says so; each
option here takes one of these decisions from it. A command that works on votes has two parameters:

    path: VotesPath             the first argument
    reading: ReadingOptions     at the end, as few people need these options

and calls `reading.read(path)`, or `reading.open(path)` where it can work on packed votes without reading them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from amcc.cli.console import busy, notes
from amcc.cli.options.groups import OptionGroup
from amcc.cli.paths import READS
from amcc.engine.packed import PackedVotes
from amcc.errors import ParameterError
from amcc.io import open_packed, read_ids, read_votes
from amcc.tables import ROLES, number_in
from amcc.votes import OnConflict, Votes

# The first argument of every command that works on votes.
VotesPath = Annotated[
    Path,
    typer.Argument(
        metavar="VOTES",
        help="Table of votes: .csv, .tsv, .parquet or .jsonl, a folder that amcc pack made, or - for standard input.",
    ),
    READS,
]


def plain_number(text: str) -> float:
    """A number as tables have it: Python's own reading would take 0_1 and nan, too.

    >>> plain_number("0.5")
    0.5
    """
    number = number_in(text)
    if number is None:
        raise typer.BadParameter(f"{text!r} is not a number.")
    return float(number)


@dataclass(frozen=True)
class ReadingOptions(OptionGroup):
    """How a table of votes is read: the options of `amcc.read_votes`. Every default lets the table decide."""

    columns: Annotated[
        list[str] | None,
        typer.Option(help=f"Which column is what, as role=column; roles: {', '.join(ROLES)}. May be repeated."),
    ] = None
    unmentioned: Annotated[
        Literal["absent", "unknown"] | None,
        typer.Option(help="What a label means that an answer does not mention, where only ticks are recorded."),
    ] = None
    labels: Annotated[Path | None, typer.Option(help="File with the whole label list."), READS] = None
    items: Annotated[Path | None, typer.Option(help="File with further items that nobody answered yet."), READS] = None
    threshold: Annotated[
        float | None,
        typer.Option(parser=plain_number, metavar="FLOAT", help="Graded scores from here on count as yes."),
    ] = None
    zero: Annotated[Literal["no", "unasked"] | None, typer.Option(help="What 0 means where -1 occurs beside it.")] = (
        None
    )
    label_separator: Annotated[str | None, typer.Option(help="Between the labels of a list. Default: |")] = None
    separator: Annotated[str | None, typer.Option(help="Between the columns of a text table.")] = None
    on_conflict: Annotated[
        OnConflict,
        typer.Option(
            help="When a worker answers a question twice: refuse a yes beside a no; take the last; or take all as "
            "samples, which together count as one vote with a share of yes (for language models)."
        ),
    ] = "error"

    def arguments(self) -> dict[str, Any]:
        """The options as `read_votes` wants them: columns by role, and names in place of files of names.

        >>> ReadingOptions(columns=["worker=rater", "item=picture"]).arguments()["columns"]
        {'worker': 'rater', 'item': 'picture'}
        """
        columns = {}
        for mapping in self.columns or []:
            # Only the first = divides: names of columns may have more.
            role, equals, column = mapping.partition("=")
            if not equals or not column:
                raise ParameterError(f"--columns must look like worker=my_column; got {mapping!r}.")
            columns[role] = column
        return {**vars(self), "columns": columns, "labels": _listed(self.labels), "items": _listed(self.items)}

    def read(self, path: Path) -> Votes:
        """Read votes, and say what was decided: a column that was taken for another must be noticed at once."""
        arguments = self.arguments()
        with busy(f"Reading {path.name}"):
            votes = read_votes(path, **arguments)
        tell_decisions(votes)
        return votes

    def open(self, path: Path) -> Votes | PackedVotes:
        """The same, but a folder of packed votes is only opened: it may be larger than memory.

        Packed votes were read when they were packed, so options of reading are refused for them.
        """
        return open_packed(path, plain=self == type(self)()) if path.is_dir() else self.read(path)


def tell_decisions(votes: Votes | PackedVotes) -> None:
    """Note how the table was read, dimly: most people have seen it before."""
    for note in votes.notes():
        notes.print(note, style="dim")


def _listed(names: Path | Sequence[Any] | None) -> Sequence[Any] | None:
    """The names in a file; lists of names are there already."""
    return read_ids(names) if isinstance(names, Path) else names
