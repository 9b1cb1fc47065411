"""amcc pack: votes of any size as a folder of blocks.

A block holds all votes on some items, small enough for memory. `amcc.io.pack` reads the table in pieces, sorts them by
item and writes the blocks; here are only the progress bar and the summary. All options of reading belong to this
command: whoever opens the folder later cannot read the table differently any more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from amcc.cli.console import notes
from amcc.cli.options.votes import ReadingOptions, VotesPath, tell_decisions
from amcc.cli.output import Json, print_json
from amcc.cli.paths import PACK
from amcc.io.pack import BLOCK_VOTES, pack_votes


def pack(
    *,
    path: VotesPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to make."), PACK],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace packed votes that are there.")] = False,
    block_votes: Annotated[int, typer.Option(help="Votes of a block, about: memory follows it.")] = BLOCK_VOTES,
    as_json: Json = False,
    reading: ReadingOptions,
) -> None:
    """Pack votes into a folder that every command takes in place of a file, for votes that do not fit in memory.

    Interrupted, it goes on where it was when it is started again.
    """
    with Progress(console=notes, transient=True, disable=not notes.is_terminal) as bars:
        bar = bars.add_task("")

        def show(what: str, done: int, total: int) -> None:
            # Where the total is not known yet, rich shows a bar that only moves.
            bars.update(bar, description=what, completed=done, total=total or None)

        options = reading.arguments()
        packed = pack_votes(path, output, overwrite=overwrite, block_votes=block_votes, progress=show, **options)
    tell_decisions(packed)
    sizes = {
        "votes": packed.n_votes,
        "pairs": packed.n_pairs,
        "items": packed.n_items,
        "workers": len(packed.worker_names),
        "labels": len(packed.label_names),
        "blocks": len(packed.entries),
        "bytes": sum(file.stat().st_size for file in output.iterdir()),
    }
    if as_json:
        print_json({**sizes, "output": str(output)})
    else:
        notes.print(
            f"packed {packed.n_votes:,} votes on {packed.n_items:,} items into {len(packed.entries):,} blocks "
            f"({sizes['bytes'] / 1e6:,.1f} MB) in {output}"
        )
