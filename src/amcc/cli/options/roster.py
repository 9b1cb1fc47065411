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
from amcc.errors import ParameterError
from amcc.io import naming, read_roster
from amcc.roster import Roster

# Called roster in code: "workers" are the people and models, this is the file about them.
WorkersFile = Annotated[
    Path | None,
    typer.Option(
        "--workers",
        help="Who the workers are: a table worker,kind,family; kind is human, model or code. Votes of workers who "
        "share errors then count for less.",
    ),
    READS,
]

REFERENCE_HELP = (
    "Whose view counts: people (unless the workers file marks others), none, or workers by name, like ann,bob. All "
    "others are calibrated to what they said. For a workers file with people and models."
)

ReferenceOption = Annotated[str | None, typer.Option("--reference", metavar="WHO", help=REFERENCE_HELP)]


def reference_of(said: str | None) -> list[str] | str | None:
    """What was typed, as the parameter `reference` of the default method.

    >>> reference_of(None), reference_of("people"), reference_of("none"), reference_of("ann, bob")
    (None, None, 'none', ['ann', 'bob'])
    """
    if said is None or said.strip().lower() == "people":
        return None
    # What the model calls nobody, too; to import its name would make every command slow.
    if said.strip().lower() == "none":
        return "none"
    names = [name.strip() for name in said.split(",")]
    if not all(names):
        raise ParameterError(
            f"--reference must be people, none, or names of workers with commas between them; got {said!r}. Names that "
            "have commas themselves can be given in Python: AMCC(reference=…)."
        )
    return names


def listed_workers(path: Path | None, worker_names: pa.Array, in_votes: Roster | None = None) -> Roster | None:
    """The roster that --workers names, with notes about how it meets these workers; else that of the file of votes.

    worker_names : everybody who voted; notes count who of them is not in the file, and who in the file did not vote
    in_votes : what an export of another tool says about its workers
    """
    if path is None:
        return in_votes
    roster = read_roster(path)
    # Looked up only for its errors, here where the name of the file is known.
    with naming(path):
        roster.seats(worker_names)
    say(*roster.notes(worker_names), style="dim")
    return roster
