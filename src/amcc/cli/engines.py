"""Where a command runs: the options of engines."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from amcc.cli.paths import FILE
from amcc.engine.base import Engine
from amcc.engine.checkpoint import Checkpoint
from amcc.engine.packed import PackedVotes
from amcc.errors import ParameterError
from amcc.memory import free_memory

BY_BLOCKS = ("amcc", "dawid-skene", "majority")
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}

ENGINE_OPTIONS: dict[str, tuple[Any, Any]] = {
    "engine": (
        Annotated[
            Literal["local", "dask"],
            typer.Option(help="Where packed votes are worked on: by this process, or by a Dask cluster."),
        ],
        "local",
    ),
    "scheduler": (
        Annotated[
            str | None,
            typer.Option(help="Address of a Dask scheduler, for --engine dask. Default: processes on this machine."),
        ],
        None,
    ),
    "memory": (
        Annotated[
            str | None,
            typer.Option(help="Memory for packed votes, about, like 4GB. Default: half of what is free."),
        ],
        None,
    ),
    "checkpoint": (
        Annotated[
            Path | None,
            typer.Option(help="File to note how far a fit to packed votes is; if it is there, the fit goes on."),
            FILE,
        ],
        None,
    ),
}


def by_blocks(method: str) -> bool:
    """Whether the method works on packed votes without having them all in memory."""
    return method in BY_BLOCKS


@dataclass(frozen=True)
class EngineChoice:
    """What was said on the command line."""

    engine: Literal["local", "dask"]
    scheduler: str | None
    memory: str | None
    checkpoint: Path | None

    def over(self, packed: PackedVotes) -> Engine:
        """The engine over packed votes."""
        memory = free_memory() // 2 if self.memory is None else parsed_bytes(self.memory)
        checkpoint = None if self.checkpoint is None else Checkpoint(self.checkpoint)
        if self.engine == "dask":
            from amcc.engine.dask import DaskEngine

            logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # our error says what went wrong
            return DaskEngine(packed, self.scheduler, memory=memory, checkpoint=checkpoint)
        if self.scheduler is not None:
            raise ParameterError(f"--scheduler is for --engine dask; got {self.scheduler!r} with --engine local.")
        from amcc.engine.local import LocalEngine

        return LocalEngine(packed, memory, checkpoint)

    def refuse_for_files(self) -> None:
        """Raise ParameterError where something was asked for that needs packed votes and a method by blocks."""
        if self.engine != "local" or self.scheduler or self.memory or self.checkpoint:
            raise ParameterError(
                "--engine, --scheduler, --memory and --checkpoint are for packed votes (amcc pack VOTES -o FOLDER), "
                f"the methods {', '.join(BY_BLOCKS)}, and not for --report. Leave them out, or pack the votes."
            )


def parsed_bytes(text: str) -> int:
    """A size like 4GB in bytes.

    >>> parsed_bytes("1.5 GB"), parsed_bytes("200m")
    (1500000000, 200000000)
    """
    match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)i?b?\s*", text.lower())
    try:
        return int(float(match.group(1)) * UNITS[match.group(2)])  # type: ignore[union-attr]
    except (AttributeError, ValueError):
        raise ParameterError(f"--memory must be a size like 4GB or 800MB; got {text!r}.") from None
