"""amcc pack: votes of any size as a folder of blocks.

A block holds all votes on some items, small enough for memory. `amcc.io.pack` reads the table in pieces, sorts them by
item and writes the blocks, `amcc.io.append` adds to them; here are only the progress bar and the summary. All options
of reading belong to this command: whoever opens the folder later cannot read the table differently any more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from amcc.cli.console import notes
from amcc.cli.options.votes import ReadingOptions, VotesPath, tell_decisions
from amcc.cli.output import Json, print_json
from amcc.cli.paths import FOLDER, PACK
from amcc.engine.packed import PackedVotes
from amcc.errors import ParameterError
from amcc.io.append import append_votes
from amcc.io.pack import BLOCK_VOTES, pack_votes
from amcc.tables import listed


def pack(
    *,
    path: VotesPath,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Folder to make."), PACK] = None,
    append: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Add the votes to this folder of packed votes instead, with the same options of reading as before; a "
            "vote that is there already counts once.",
        ),
        FOLDER,
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace packed votes that are there.")] = False,
    block_votes: Annotated[
        int | None, typer.Option(help=f"Votes of a block, about: memory follows it. Default: {BLOCK_VOTES}")
    ] = None,
    as_json: Json = False,
    reading: ReadingOptions,
) -> None:
    """Pack votes into a folder that every command takes in place of a file, for votes that do not fit in memory.

    Interrupted, it goes on where it was when it is started again. With --append, new votes join those of a folder; only
    blocks of their items are written again, and an interruption leaves the folder as it was before or as it is after.
    """
    if (output is None) == (append is None):
        raise ParameterError("--output FOLDER makes a folder, --append FOLDER adds to one: give one of them.")
    if append is not None and (overwrite or block_votes is not None):
        raise ParameterError("--overwrite and --block-votes are for --output; leave them out with --append.")
    with Progress(console=notes, transient=True, disable=not notes.is_terminal) as bars:
        bar = bars.add_task("")

        def show(what: str, done: int, total: int) -> None:
            # Where the total is not known yet, rich shows a bar that only moves.
            bars.update(bar, description=what, completed=done, total=total or None)

        # Within the bar, as lists of labels and items may be long files.
        options = reading.table_arguments(path)
        before = None if append is None else PackedVotes(append)
        if append is not None:
            packed = append_votes(path, append, progress=show, **options)
        else:
            size = BLOCK_VOTES if block_votes is None else block_votes
            packed = pack_votes(path, str(output), overwrite=overwrite, block_votes=size, progress=show, **options)
    tell_decisions(packed)
    _tell(packed, before, as_json)


def _tell(packed: PackedVotes, before: PackedVotes | None, as_json: bool) -> None:
    """Say what the folder holds now, and what joined it."""
    # Counted when it is done: a number that is too small shows that columns were taken for others.
    sizes = {
        "votes": packed.n_votes,
        "pairs": packed.n_pairs,
        "items": packed.n_items,
        "workers": len(packed.worker_names),
        "labels": len(packed.label_names),
        "blocks": len(packed.entries),
        "bytes": sum(file.stat().st_size for file in packed.folder.iterdir()),
    }
    if before is not None:
        sizes["new_votes"] = packed.n_votes - before.n_votes
        sizes["new_blocks"] = len(set(packed.entries) - set(before.entries))
    if as_json:
        print_json({**sizes, "output": str(packed.folder)})
    elif before is not None:
        notes.print(
            f"appended {sizes['new_votes']:,} votes and {packed.n_items - before.n_items:,} items; wrote "
            f"{sizes['new_blocks']:,} of {len(packed.entries):,} blocks; there are {packed.n_votes:,} votes now in "
            f"{packed.folder}"
        )
        new = packed.label_names[len(before.label_names) :].to_pylist()
        if new:  # a label that is spelt in another way would be one, too
            notes.print(f"{len(new):,} new labels: {listed(new[:12])}", style="dim")
    else:
        notes.print(
            f"packed {packed.n_votes:,} votes on {packed.n_items:,} items into {len(packed.entries):,} blocks "
            f"({sizes['bytes'] / 1e6:,.1f} MB) in {packed.folder}"
        )
