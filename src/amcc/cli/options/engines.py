"""Where a command runs: the options of engines.

They are about packed votes. A file of votes is read into memory, if it fits there, and worked on by this process.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from amcc.cli.options.groups import OptionGroup
from amcc.cli.paths import FILE
from amcc.engine.base import Engine
from amcc.engine.checkpoint import Checkpoint
from amcc.engine.packed import PackedVotes
from amcc.errors import ParameterError
from amcc.memory import free_memory, reading_at_most
from amcc.votes import Votes

# Methods that learn from sums over blocks of items, and so need a few blocks in memory; the others need all votes.
BY_BLOCKS = ("amcc", "dawid-skene", "majority")

# Decimal, as disks and most people count.
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True)
class EngineOptions(OptionGroup):
    """Where a fit to packed votes runs.

    engine, scheduler : this process, or a cluster and where it is
    memory : about how much the blocks that are kept may take; those beyond are read again in each round. Files of votes
        that hold more are refused
    checkpoint : a file from which an interrupted fit goes on
    """

    engine: Annotated[
        Literal["local", "dask"],
        typer.Option(help="Where packed votes are worked on: by this process, or by a Dask cluster."),
    ] = "local"
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler, for --engine dask. Default: processes on this machine."),
    ] = None
    memory: Annotated[
        str | None,
        typer.Option(
            help="Memory for votes, about, like 4GB. Packed ones are kept up to it (default: half of what is free), "
            "files that hold more are refused."
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File to note how far a fit to packed votes is; if it is there, the fit goes on."),
        FILE,
    ] = None

    def reading(self) -> AbstractContextManager[None]:
        """Within it, files of votes that would not fit in the memory are refused."""
        return reading_at_most(None if self.memory is None else parsed_bytes(self.memory))

    @contextmanager
    def running(self, votes: Votes | PackedVotes, method: str, *, whole: bool) -> Iterator[Votes | Engine]:
        """Packed votes block by block where the method can, otherwise votes in memory.

        whole : the command needs all votes in memory, whatever the method.
        """
        if isinstance(votes, PackedVotes) and method in BY_BLOCKS and not whole:
            with self.over(votes) as blocks:
                yield blocks
        else:
            self.refuse_for_files()
            yield votes.votes() if isinstance(votes, PackedVotes) else votes

    def over(self, packed: PackedVotes) -> Engine:
        """The engine over packed votes; it is a context manager, as clusters and open files must be closed."""
        # Half, since what is free now is also wanted by other programs, and by the results.
        memory = free_memory() // 2 if self.memory is None else parsed_bytes(self.memory)
        checkpoint = None if self.checkpoint is None else Checkpoint(self.checkpoint)
        if self.engine == "dask":
            # Dask is an extra, and takes a second to import.
            from amcc.engine.dask import DaskEngine

            # Our own error says what went wrong; the log of the client would stand above it.
            logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
            return DaskEngine(packed, self.scheduler, memory=memory, checkpoint=checkpoint)
        # A cluster that was meant and not used would look like a slow one.
        if self.scheduler is not None:
            raise ParameterError(f"--scheduler is for --engine dask; got {self.scheduler!r} with --engine local.")
        from amcc.engine.local import LocalEngine

        return LocalEngine(packed, memory, checkpoint)

    def refuse_for_files(self) -> None:
        """Raise ParameterError where something was asked for that needs packed votes and a method by blocks."""
        if replace(self, memory=None) != EngineOptions():
            raise ParameterError(
                "--engine, --scheduler and --checkpoint are for packed votes (amcc pack VOTES -o FOLDER), "
                f"the methods {', '.join(BY_BLOCKS)}, and not for --report. Leave them out, or pack the votes."
            )


def parsed_bytes(text: str) -> int:
    """A size like 4GB in bytes; GiB and GB are the same here, as the number is a rough one.

    >>> parsed_bytes("1.5 GB"), parsed_bytes("200m")
    (1500000000, 200000000)
    """
    # What does not match gives None, and 1.2.3 is no number: both are the same mistake.
    match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)i?b?\s*", text.lower())
    try:
        return int(float(match.group(1)) * UNITS[match.group(2)])  # type: ignore[union-attr]
    except (AttributeError, ValueError):
        raise ParameterError(f"--memory must be a size like 4GB or 800MB; got {text!r}.") from None
