"""The argument VOTES, and how the table that it names is read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from amcc.cli.console import busy, notes
from amcc.cli.options.groups import Command, OptionGroup, signed
from amcc.cli.paths import READS
from amcc.engine.packed import PackedVotes
from amcc.errors import ParameterError
from amcc.io import open_packed, read_ids, read_votes
from amcc.tables import ROLES, number_in
from amcc.votes import OnConflict, Votes

VotesPath = Annotated[
    Path,
    typer.Argument(
        metavar="VOTES",
        help="Table of votes: .csv, .tsv, .parquet or .jsonl, a folder that amcc pack made, or - for standard input.",
    ),
    READS,
]


def plain_number(text: str) -> float:
    """A number as tables have it: Python's own reading would take 0_1 and nan, too."""
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
        """The options as `read_votes` wants them."""
        columns = {}
        for mapping in self.columns or []:
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
        """The same, but a folder of packed votes is only opened: it may be larger than memory."""
        return open_packed(path, plain=self == type(self)()) if path.is_dir() else self.read(path)


def tell_decisions(votes: Votes | PackedVotes) -> None:
    """Note how the table was read."""
    for note in votes.notes():
        notes.print(note, style="dim")


def _listed(names: Path | Sequence[Any] | None) -> Sequence[Any] | None:
    return read_ids(names) if isinstance(names, Path) else names


def reading_votes(load: Callable[[Path, Mapping[str, Any]], Votes], **kinds: Any) -> Callable[[Command], Command]:
    """A decorator: the command gets the argument VOTES and the options of reading, and is called with `votes`.

    load : reads them, given the path and the options by name.
    kinds : annotations of options of reading, where the command has its own.
    """
    own = make_dataclass(
        "OwnReadingOptions", [(name, kind, None) for name, kind in kinds.items()], bases=(ReadingOptions,), frozen=True
    )

    def decorate(command: Command) -> Command:
        def run(*, path: Path, reading: ReadingOptions, **arguments: Any) -> None:
            command(votes=load(path, vars(reading)), **arguments)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        keyword = inspect.Parameter.KEYWORD_ONLY
        declared = inspect.signature(command, eval_str=True).parameters.values()
        path, reading = (
            inspect.Parameter(name, keyword, annotation=kind) for name, kind in (("path", VotesPath), ("reading", own))
        )
        return signed(run, [path, *(each for each in declared if each.name != "votes"), reading])

    return decorate
