"""amcc reproduce: every table and figure of the paper.

The command parses, calls `amcc.experiments.reproduce` and prints. Like `amcc board`, it imports experiments when it
runs, and not before: help and all other commands do without them.

A run leaves in its folder:

index.html     all tables and figures of this run on one page, which needs no other file
results.md     its tables as markdown, with links to the figures
*.csv          the numbers of each table and figure
*.png, *.svg   the figures
cache/         what was measured; a run that was interrupted goes on from there

With --docs, tables and figures of the studies that were run also go into a document, and its other parts stay.

To stdout go the names of what was made, or one object with --json; what is missing, and why, goes to stderr.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amcc.cli.console import notes, screen
from amcc.cli.output import Json, print_json
from amcc.cli.paths import FILE, FOLDER, READS
from amcc.cli.studies import Processes, n_processes, progress_bar
from amcc.data.reading import data_folder
from amcc.errors import ParameterError

if TYPE_CHECKING:
    from amcc.experiments.reproduce.plan import Reproduction, Scale

# What help texts say of the experiments without importing them; a test compares both.
STUDY_NAMES = (
    "table2", "table3", "table4", "table5", "table6", "groups", "alpha-beta", "r", "m", "convergence", "runtime",
    "active", "active-batch", "active-eta", "active-replay",
)  # fmt: skip
BEGIN, END, FIGURES = "<!-- reproduce -->", "<!-- /reproduce -->", "figures"

What = Annotated[
    list[str] | None,
    typer.Argument(metavar="[WHAT]...", help=f"Which tables and figures: {', '.join(STUDY_NAMES)}. Default: all."),
]
Data = Annotated[
    Path | None,
    typer.Option(help="Folder of data sets (default: AMCC_DATA); without one, a generated crowd only."),
    READS,
]
Out = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        help="Folder for all files and the cache. Its index.html and results.md hold what the last run made; other "
        "files of earlier runs stay.",
    ),
    FOLDER,
]
Quick = Annotated[
    bool, typer.Option("--quick", help="In five minutes on two cores: all, with fewer runs, sets and methods.")
]
Seeds = Annotated[int | None, typer.Option(help="Runs where there is chance. Default: 10, with --quick 2.")]
Docs = Annotated[
    Path | None,
    typer.Option(
        help=f"Also put tables and figures into this markdown file, between {BEGIN} and {END}; parts of other studies "
        f"stay. Files of figures go into the folder {FIGURES} beside it."
    ),
    FILE,
]


def reproduce(
    what: What = None,
    data: Data = None,
    out: Out = Path("reproduction"),
    quick: Quick = False,
    seeds: Seeds = None,
    docs: Docs = None,
    processes: Processes = 0,
    as_json: Json = False,
) -> None:
    """Reproduce tables and figures of the paper beside its numbers; interrupted, it goes on where it stopped."""
    from amcc.experiments.reproduce import STUDIES, by_study, chosen_studies, document, make_plan, output, run_studies

    # All that can be wrong is looked at first: the run may take hours.
    studies, scale = chosen_studies(what or []), _scale(quick, seeds)
    if docs is not None:  # before hours of measuring
        document.check_docs(docs)
    plan = make_plan(scale, data_folder(data), out / "cache")
    with progress_bar("Reproducing") as progress:
        found = run_studies(studies, plan, n_processes=n_processes(processes), progress=progress)
    provenance = output.Provenance(what or [], _options(plan.data is not None, quick, seeds), scale.n_runs)
    with progress_bar("Drawing"):
        drawn = output.draw_all(found)
    written = output.write_all(found, drawn, out, provenance)
    if docs is not None:
        document.update_docs(docs, by_study(found, plan), drawn, provenance, order=STUDIES)
    # What is missing goes to stderr, also with --json: it is for people.
    for note in found.notes:
        notes.print(note, soft_wrap=True)
    if as_json:
        print_json(_as_json(found, written, docs))
        return
    for made in found.all():
        screen.print(f"{made.name:<28} {made.title}", soft_wrap=True)
    screen.print(f"this run on one page: {out / 'index.html'}", soft_wrap=True)


def _scale(quick: bool, seeds: int | None) -> Scale:
    """How large the studies are, with as many runs as wanted; --quick also means fewer sets and methods."""
    from amcc.experiments.reproduce.plan import FULL, QUICK

    scale = QUICK if quick else FULL
    if seeds is None:
        return scale
    if seeds < 1:
        raise ParameterError(f"seeds must be at least 1; got {seeds}.")
    return replace(scale, n_runs=seeds)


def _options(with_data: bool, quick: bool, seeds: int | None) -> list[str]:
    """What to type for the same tables, beside their names; whose folders these were is nobody's business."""
    # Folders of one machine would be wrong on every other.
    options = [*(["--data", "DATA"] if with_data else []), *(["--quick"] if quick else [])]
    return [*options, *([] if seeds is None else ["--seeds", str(seeds)])]


def _as_json(found: Reproduction, written: Sequence[Path], docs: Path | None) -> dict[str, Any]:
    """What was written, by study, and what is missing.

    studies : study → names of its tables and figures. files : paths. docs : the document that was changed, or null.
    """
    return {
        "studies": {name: [output.name for output in outputs] for name, outputs in found.outputs.items()},
        "files": [str(path) for path in written],
        "docs": None if docs is None else str(docs),
        "notes": list(found.notes),
    }
