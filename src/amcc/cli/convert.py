"""amcc convert: votes of any file as a plain table, and beside it what else an export of another tool says.

For whoever wants to see what was taken for what, to share votes without the names of people, or to pack them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from amcc.cli.options.groups import OptionGroup
from amcc.cli.options.votes import ReadingOptions, VotesPath
from amcc.cli.output import Json, RowsOutput, print_json, write_rows
from amcc.cli.paths import TABLE
from amcc.io import Export


@dataclass(frozen=True)
class FurtherTables(OptionGroup):
    """What an export says beside votes, each in a file of its own."""

    truth_output: Annotated[
        Path | None, typer.Option("--truth-output", help="Also write item,label,truth: what is marked as known."), TABLE
    ] = None
    workers_output: Annotated[
        Path | None, typer.Option("--workers-output", help="Also write worker,kind,family."), TABLE
    ] = None
    skips_output: Annotated[
        Path | None,
        typer.Option("--skips-output", help="Also write worker,item,label of what was skipped; an empty label: all."),
        TABLE,
    ] = None
    text_output: Annotated[
        Path | None, typer.Option("--text-output", help="Also write item,text: what was shown."), TABLE
    ] = None

    def tables(self, export: Export) -> list[tuple[Path, pa.Table]]:
        """The files that were asked for, and what goes into each."""
        wanted = [(self.truth_output, export.known), (self.workers_output, export.workers),
                  (self.skips_output, export.skipped), (self.text_output, export.texts)]  # fmt: skip
        return [(path, table) for path, table in wanted if path is not None]


def convert(
    *,
    path: VotesPath,
    output: RowsOutput,
    sets: Annotated[bool, typer.Option("--sets", help="Write worker,item,labels,asked: one row per answer.")] = False,
    further: FurtherTables,
    as_json: Json = False,
    reading: ReadingOptions,
) -> None:
    """Write the votes of any file as a plain table worker,item,label,value, and what else it says beside it."""
    export = reading.export(path)
    for file, table in further.tables(export):
        write_rows(table, file, safe_csv=output.safe_csv)
    if output.is_wanted_beside(as_json):
        output.write(export.votes.to_sets("arrow") if sets else export.votes.to_arrow())
    if as_json:
        votes = export.votes
        sizes = {"votes": len(votes), "workers": votes.n_workers, "items": votes.n_items, "labels": votes.n_labels}
        beside = {"skipped": export.skipped.num_rows, "texts": export.texts.num_rows,
                  "known": export.known.num_rows}  # fmt: skip
        print_json({"format": export.tool or "table", **sizes, **beside, "notes": list(export.notes)})
