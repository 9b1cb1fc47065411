"""Who the workers are, as the option --workers says.

A roster says of each worker whether they are a person, a language model or a program, and which family a model belongs
to. Models of one family share errors: five of them are not five opinions. See `amcc.roster`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from amcc.cli.console import say
from amcc.cli.paths import READS
from amcc.io import naming, read_roster
from amcc.roster import Roster

WorkersFile = Annotated[
    Path | None,
    typer.Option(
        "--workers",
        help="Who the workers are: a table worker,kind,family; kind is human, model or code. Votes of workers who "
        "share errors then count for less.",
    ),
    READS,
]


def listed_workers(path: Path | None, worker_names: pa.Array) -> Roster | None:
    """The roster that --workers names, if it does, with notes about how it meets these workers.

    worker_names : everybody who voted; notes count who of them is not in the file, and who in the file did not vote
    """
    if path is None:
        return None
    roster = read_roster(path)
    # Looked up only for its errors, here where the name of the file is known.
    with naming(path):
        roster.seats(worker_names)
    say(*roster.notes(worker_names), style="dim")
    return roster
