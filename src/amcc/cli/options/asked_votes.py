"""Votes for a command that asks for more: there may be none yet, and items and labels that nobody was asked about."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from amcc import tables
from amcc.active.buying import nothing_known, with_names
from amcc.cli.options.votes import ReadingOptions
from amcc.cli.paths import READS
from amcc.errors import EmptyInputError, ParameterError
from amcc.io import FORMATS, naming, read_ids, read_table
from amcc.votes import Votes


@dataclass(frozen=True)
class AskingOptions(ReadingOptions):
    """How votes are read, if there are any, and what can be asked about beside them."""

    labels: Annotated[  # names themselves are a choice here, not only a file
        str | None,
        typer.Option(
            help="Further labels, which nobody was asked about: names separated by commas, or a file of them."
        ),
        READS,
    ] = None  # type: ignore[assignment]
    items: Annotated[
        Path | None, typer.Option(help="Table with a column item: further items, which nobody was asked about."), READS
    ] = None

    def read(self, path: Path) -> Votes:
        """Votes, or none, with the items and labels that are named beside."""
        items = [] if self.items is None else names_in(self.items, "item")
        labels = [] if self.labels is None else listed_labels(self.labels)
        # Where answers deny what they do not mention, everybody was asked about every label of the list.
        mentionable = labels if labels and self.unmentioned == "absent" else None
        votes = votes_so_far(ReadingOptions(**{**vars(self), "items": None, "labels": mentionable}), path)
        votes = with_names(with_names(votes, "item", items), "label", labels)
        if not votes.n_items or not votes.n_labels:
            raise EmptyInputError(
                f"{path} holds no vote, so it must be said what can be asked: --items FILE (a table with a column "
                "item) and --labels a,b,c."
            )
        return votes


def votes_so_far(reading: ReadingOptions, path: Path) -> Votes:
    """The votes of a table, which may have none yet."""
    try:
        return reading.read(path)
    except EmptyInputError:
        if read_table(path, separator=reading.separator).num_rows:
            raise  # rows without a value are a mistake, and no table before the first vote
        return nothing_known()


def listed_labels(text: str) -> Sequence[Any]:
    """Labels from what a person writes: a file of them, or names separated by commas.

    >>> listed_labels("cat, dog,")
    ['cat', 'dog']
    """
    if is_file_name(text):
        return names_in(Path(text), "label")
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ParameterError(f"--labels must name a label or a file; got {text!r}.")
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
