"""Votes for a command that asks for more: there may be none yet, and items and labels that nobody was asked about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from amcc.active.buying import nothing_known, with_names
from amcc.cli.options.votes import ReadingOptions, listed_labels, names_in
from amcc.cli.paths import READS
from amcc.errors import EmptyInputError
from amcc.io import Export, is_export, read_table
from amcc.votes import Votes


@dataclass(frozen=True)
class AskingOptions(ReadingOptions):
    """How votes are read, if there are any, and what can be asked about beside them."""

    labels: Annotated[
        str | None,
        typer.Option(
            help="Further labels, which nobody was asked about: names separated by commas, or a file of them. Of an "
            "export of another tool: all labels that were offered."
        ),
        READS,
    ] = None
    items: Annotated[
        Path | None, typer.Option(help="Table with a column item: further items, which nobody was asked about."), READS
    ] = None

    def export(self, path: Path) -> Export:
        """Votes, or none, with the items and labels that are named beside."""
        items = [] if self.items is None else names_in(self.items, "item")
        labels = [] if self.labels is None else listed_labels(self.labels)
        # Where answers deny what they do not mention, everybody was asked about every label of the list.
        offered = self.labels if self.unmentioned == "absent" or is_export(path, self.format) else None
        reading = ReadingOptions(**{**vars(self), "items": None, "labels": offered})
        export = export_so_far(reading, path)
        votes = with_names(with_names(export.votes, "item", items), "label", labels)
        if not votes.n_items or not votes.n_labels:
            raise EmptyInputError(
                f"{path} holds no vote, so it must be said what can be asked: --items FILE (a table with a column "
                "item) and --labels a,b,c."
            )
        return replace(export, votes=votes)


def votes_so_far(reading: ReadingOptions, path: Path) -> Votes:
    """The votes of a table, which may have none yet."""
    return export_so_far(reading, path).votes


def export_so_far(reading: ReadingOptions, path: Path) -> Export:
    """The same with what else an export says."""
    try:
        return reading.export(path)
    except EmptyInputError:
        if is_export(path, reading.format) or read_table(path, separator=reading.separator).num_rows:
            raise  # rows without a value are a mistake, and no table before the first vote
        return Export(nothing_known())
