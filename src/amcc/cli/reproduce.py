"""amcc reproduce: every table and figure of the paper."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from amcc.cli.common import Json, notes, print_json, screen
from amcc.cli.paths import FILE, FOLDER, READS
from amcc.data.reading import data_folder
from amcc.errors import ParameterError
from amcc.experiments.reproduce import STUDIES, chosen_studies, make_plan, run_studies
from amcc.experiments.reproduce import output as files
from amcc.experiments.reproduce.plan import FULL, QUICK, Reproduction


def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WHAT]...", help=f"Which tables and figures: {', '.join(STUDIES)}. Default: all."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of data sets (default: AMCC_DATA); without one, a generated crowd only."),
        READS,
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for all files and the cache."), FOLDER] = Path(
        "reproduction"
    ),
    quick: Annotated[
        bool,
        typer.Option("--quick", help="In a few minutes: fewer runs, sets and methods; active studies only by name."),
    ] = False,
    seeds: Annotated[int | None, typer.Option(help="Runs where there is chance. Default: 10, with --quick 2.")] = None,
    docs: Annotated[
        Path | None,
        typer.Option(help=f"Also put the tables into this markdown file, between {files.BEGIN} and {files.END}."),
        FILE,
    ] = None,
    processes: Annotated[int, typer.Option(min=0, help="How many at a time; 0 for one per core.")] = 0,
    as_json: Json = False,
) -> None:
    """Reproduce tables and figures of the paper beside its numbers; interrupted, it goes on where it stopped."""
    studies = chosen_studies(what or [], quick=quick)
    scale = QUICK if quick else FULL
    if seeds is not None:
        if seeds < 1:
            raise ParameterError(f"seeds must be at least 1; got {seeds}.")
        scale = replace(scale, n_runs=seeds)
    if docs is not None:
        files.check_docs(docs)
    plan = make_plan(scale, data_folder(data), out / "cache")
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        bar = progress.add_task("Reproducing", total=None)
        found = run_studies(
            studies,
            plan,
            n_processes=processes or os.cpu_count() or 1,
            progress=lambda done, total: progress.update(bar, completed=done, total=total),
        )
        progress.update(bar, description="Drawing")
        provenance = files.Provenance(_command(what or [], plan.data is not None, quick, seeds), scale.n_runs)
        written = files.write_all(found, out, provenance)
    if docs is not None:
        files.update_docs(docs, found, provenance)
    for note in found.notes:
        notes.print(note, soft_wrap=True)
    if as_json:
        print_json(_as_json(found, written, docs))
        return
    for output in found.all():
        screen.print(f"{output.name:<28} {output.title}", soft_wrap=True)
    screen.print(f"all on one page: {out / 'index.html'}", soft_wrap=True)


def _command(what: Sequence[str], with_data: bool, quick: bool, seeds: int | None) -> str:
    """What to type for the same tables; whose folders these were is nobody's business."""
    options = [*(["--data", "DATA"] if with_data else []), *(["--quick"] if quick else [])]
    return shlex.join(["amcc", "reproduce", *what, *options, *([] if seeds is None else ["--seeds", str(seeds)])])


def _as_json(found: Reproduction, written: Sequence[Path], docs: Path | None) -> dict[str, Any]:
    """What was written, by study, and what is missing."""
    return {
        "studies": {name: [output.name for output in outputs] for name, outputs in found.outputs.items()},
        "files": [str(path) for path in written],
        "docs": None if docs is None else str(docs),
        "notes": list(found.notes),
    }
