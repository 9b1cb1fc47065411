"""The argument VOTES, and how the table that it names is read.

Tables of votes come in many layouts, and other tools have exports of their own. `amcc.read_votes` finds out by itself
which column is what, or whose export it is, and says so; each option here takes one of these decisions from it. A
command that works on votes has two parameters:

    path: VotesPath             the first argument
    reading: ReadingOptions     at the end, as few people need these options

and calls `reading.read(path)`, or `reading.open(path)` where it can work on packed votes without reading them all, or
`reading.export(path)` where it can use what else an export says: known truth, and who the workers are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pyarrow as pa
import typer

from amcc import tables
from amcc.cli.console import busy, notes
from amcc.cli.options.groups import OptionGroup
from amcc.cli.paths import KEEPS, READS
from amcc.engine.packed import PackedVotes
from amcc.errors import ParameterError
from amcc.files import check_readable
from amcc.io import FORMATS, Export, is_export, is_packed, naming, open_packed, read_export, read_ids, read_table
from amcc.io.exchange.label_studio import labels_in_config
from amcc.roster import Roster
from amcc.tables import ROLES, number_in
from amcc.truth import Truth
from amcc.votes import OnConflict, Votes

# The first argument of every command that works on votes.
VotesPath = Annotated[
    Path,
    typer.Argument(
        metavar="VOTES",
        help="Table of votes: .csv, .tsv, .parquet or .jsonl; an export of another tool (amcc formats); a folder that "
        "amcc pack made; or - for standard input.",
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
    labels: Annotated[
        str | None,
        typer.Option(
            help="All labels that were offered: names separated by commas, or a file of them (also the labelling "
            "configuration of Label Studio, .xml)."
        ),
        READS,
    ] = None
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
    format: Annotated[
        str | None,
        typer.Option(help="Whose export it is (amcc formats lists them), or table. Default: known by its content."),
    ] = None
    empty: Annotated[
        Literal["none", "unasked"] | None,
        typer.Option(help="What an answer without a label means in an export: none of them, or not asked."),
    ] = None
    rejected: Annotated[
        Literal["none", "skipped"] | None,
        typer.Option(help="What a rejected task means in an export: none of the labels, or skipped."),
    ] = None
    yes: Annotated[
        str | None, typer.Option(help="Values that are a yes, where an export has words: separated by commas.")
    ] = None
    asked: Annotated[
        str | None,
        typer.Option(
            help="Names of the rubric that judges were asked about, separated by commas; others are left out."
        ),
    ] = None
    question: Annotated[str | None, typer.Option(help="Which of several questions of an export is meant.")] = None
    pseudonyms: Annotated[
        Path | None,
        typer.Option(
            metavar="KEYFILE",
            help="Give workers other names by the key in this file, which is made if absent: the same in all files.",
        ),
        KEEPS,
    ] = None
    keep_ids: Annotated[
        bool, typer.Option("--keep-ids", help="Keep worker ids of exports whose ids are personal data.")
    ] = False

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
        lists = {"yes": self.yes, "asked": self.asked}
        words = {name: None if text is None else split_names(text, f"--{name}") for name, text in lists.items()}
        files = {"labels": _labels(self.labels), "items": None if self.items is None else read_ids(self.items)}
        return {**vars(self), "columns": columns, **words, **files}

    def table_arguments(self, path: Path) -> dict[str, Any]:
        """The options that a plain table has, for what reads it in pieces; ParameterError for an export."""
        if is_export(path, self.format):
            raise ParameterError(
                f"{path} is an export of another tool, which cannot be read in pieces. Make it a table first: amcc "
                "convert FILE -o votes.parquet."
            )
        arguments, usual = self.arguments(), ReadingOptions()
        for name in ("empty", "rejected", "yes", "asked", "question", "pseudonyms", "keep_ids", "format"):
            if arguments.pop(name) != getattr(usual, name) and name != "format":
                raise ParameterError(f"--{name.replace('_', '-')} cannot be used here. Use amcc convert first.")
        return arguments

    def read(self, path: Path) -> Votes:
        """Read votes, and say what was decided: a column that was taken for another must be noticed at once."""
        return self.export(path).votes

    def export(self, path: Path) -> Export:
        """The same with what else an export of another tool says."""
        # First, as its mistakes are quick to find.
        arguments = self.arguments()
        with busy(f"Reading {path.name}"):
            export = read_export(path, **arguments)
        for note in (*export.notes, *export.votes.notes()):
            notes.print(note, style="dim")
        return export

    def open(self, path: Path) -> Opened:
        """The same, but a folder of packed votes is only opened: it may be larger than memory.

        Packed votes were read when they were packed, so options of reading are refused for them.
        """
        if is_packed(path):
            return Opened(open_packed(path, plain=self == type(self)()))
        export = self.export(path)
        return Opened(export.votes, export.truth, export.roster, export.texts)


class Opened(NamedTuple):
    """Votes, perhaps packed ones, and what an export says of them besides."""

    votes: Votes | PackedVotes
    truth: Truth | None = None
    roster: Roster | None = None
    texts: pa.Table | None = None


def tell_decisions(votes: Votes | PackedVotes) -> None:
    """Note how the table was read, dimly: most people have seen it before."""
    for note in votes.notes():
        notes.print(note, style="dim")


def _labels(given: str | Path | Sequence[Any] | None) -> Sequence[Any] | None:
    """Labels from what a person writes, in the order of a file's first column; lists of names are there already."""
    return listed_labels(str(given), read_ids) if isinstance(given, str | Path) else given


def listed_labels(text: str, read: Callable[[Path], Sequence[Any]] | None = None) -> Sequence[Any]:
    """Labels from what a person writes: a file of them, or names separated by commas.

    read : how a file of them is read; by default it is a table with a column for labels.

    >>> listed_labels("cat, dog,")
    ['cat', 'dog']
    """
    if not is_file_name(text):
        return split_names(text, "--labels")
    path = Path(text)
    if path.suffix.lower() == ".xml":
        check_readable(path)
        with naming(path):
            return labels_in_config(path.read_text(encoding="utf-8"))
    return names_in(path, "label") if read is None else read(path)


def split_names(text: str, option: str) -> list[str]:
    """Names separated by commas, without the spaces around them; the option is for the error.

    >>> split_names("cat, dog,", "--labels")
    ['cat', 'dog']
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        what = "a label or a file" if option == "--labels" else "at least one"
        raise ParameterError(f"{option} must name {what}; got {text!r}.")
    return names


def is_file_name(text: str) -> bool:
    """Whether it is meant as a file: it is one, or one of that kind is misspelt.

    >>> is_file_name("lables.csv"), is_file_name("cat,dog.csv")
    (True, False)
    """
    suffixes = tuple(suffix for kind in FORMATS for suffix in kind.suffixes)
    return os.path.isfile(text) or (  # noqa: PTH113  # pathlib raises where text is too long for a name
        "," not in text and text.lower().endswith(suffixes)
    )


def names_in(path: Path, role: tables.Role) -> Sequence[Any]:
    """Items or labels of a table with a column for them, or of a .txt file with one name per line."""
    if path.suffix.lower() == ".txt":
        return read_ids(path)
    # Only that column is read: a list of items may stand in a table with everything known about them.
    table = read_table(
        path, lambda columns: list(tables.match_columns(columns, needed=(role,), roles=(role,)).values())
    )
    with naming(path):
        names: list[Any] = tables.encode_ids(table.column(0), role, table.column_names[0]).names.to_pylist()
    return names
