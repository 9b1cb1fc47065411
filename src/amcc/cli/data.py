"""amcc data: the public data sets that amcc knows.

Three commands: `list` says what there is, `where` says how to get one set, `check` counts what is there and compares it
with what the registry says. Nothing is ever downloaded: licences differ, and some sets must be asked for. What is known
about each set is in `amcc.data.registry`; this file only prints it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from amcc.cli.console import screen, titled_table
from amcc.cli.lazy import prepared
from amcc.cli.output import Json, print_json
from amcc.cli.paths import READS
from amcc.data.reading import VARIABLE, check_set, data_folder, is_present
from amcc.data.registry import DATASETS, LAYOUTS, DataSet, family_of, known_set
from amcc.errors import EmptyInputError, ParameterError

Data = Annotated[
    Path | None, typer.Option("--data", help=f"Folder of data sets. Default: environment variable {VARIABLE}."), READS
]
# What the registry calls the origin of a truth, in words.
TRUTH = {
    "independent": "found without the votes",
    "own": "made from the very votes",
    "none": "none",
    "labels": "labels, no votes",
}


def list_sets(data: Data = None, as_json: Json = False) -> None:
    """List all data sets, and which of them are here."""
    folder = data_folder(data)
    if as_json:
        print_json({"folder": folder and str(folder), "sets": {name: _described(name, folder) for name in DATASETS}})
        return
    # Two rows per set: in one, its sizes would not fit beside the title at 80 columns.
    table = Table("set", "about", "here", box=None)
    for name, data_set in DATASETS.items():
        # Unknown is not absent here either.
        here = "?" if folder is None else _yes(is_present(name, folder))
        table.add_row(name, data_set.title, here)
        table.add_row("", _in_short(data_set), style="dim")
    screen.print(table)
    if folder is None:
        screen.print(f"where they are is not known: give --data FOLDER or set {VARIABLE}", soft_wrap=True)


def check_sets(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Default: all that are here.")] = None,
    data: Data = None,
    as_json: Json = False,
) -> None:
    """Count what is in the data sets and compare; exit code 2 where something differs."""
    folder = data_folder(data)
    if folder is None:
        raise ParameterError(f"where the data sets are must be known; give --data FOLDER or set {VARIABLE}.")
    # All that are here, not all that are known: nobody has every set.
    chosen = names or [name for name in DATASETS if is_present(name, folder)]
    if not chosen:
        raise EmptyInputError(f"{folder} must hold data sets that amcc knows; there is none. See `amcc data list`.")
    found = {name: check_set(known_set(name).name, folder) for name in chosen}
    if as_json:
        print_json({"folder": str(folder), "differences": found})
    for name, differences in found.items() if not as_json else ():
        screen.print(f"{name}: {_verdict(DATASETS[name], differences)}", soft_wrap=True)
        for difference in differences:
            screen.print(f"  {difference}", soft_wrap=True)
    # For scripts that go on only with the data that results were published for.
    if any(found.values()):
        raise typer.Exit(2)


def where(
    name: Annotated[str, typer.Argument(help="Name of a data set.")], data: Data = None, as_json: Json = False
) -> None:
    """Say where a data set comes from, under which licence, and how to lay it out; nothing is downloaded."""
    data_set, folder = known_set(name), data_folder(data)
    if as_json:
        print_json(_described(name, folder))
        return
    screen.print(titled_table([], _account(data_set, folder)))


COMMANDS: dict[str, tuple[Callable[..., None], str]] = {
    "list": (list_sets, "amcc data list --data crowd-data"),
    "check": (check_sets, "amcc data check affective --data crowd-data"),
    "where": (where, "amcc data where mulan_yeast"),
}
data: typer.Typer = typer.Typer(
    help="Public data sets: what there is, what is here, and where to get the rest.",
    no_args_is_help=True,
    add_completion=False,  # amcc itself has it
)
for _name, (_command, _example) in COMMANDS.items():
    data.command(_name, epilog=f"Example: {_example}")(prepared(_command))


def _in_short(data_set: DataSet) -> str:
    """Sizes, truth, and whether the paper has it, in a line or two; all counts are in `where`."""
    counts = ", ".join(f"{count:,} {what}" for what, count in data_set.counts.items() if what in _COUNTED)
    return "; ".join([counts, f"truth: {TRUTH[data_set.truth]}", *(["in the paper"] if data_set.in_paper else [])])


# Of the counts, those that say how large a set is.
_COUNTED = ("workers", "items", "labels", "answers")


def _described(name: str, folder: Path | None) -> dict[str, Any]:
    """Everything that is known, for scripts; `present` is None where the folder is not known."""
    data_set = DATASETS[name]
    present = None if folder is None else is_present(name, folder)
    return {**asdict(data_set), "layout_files": LAYOUTS[data_set.layout], "present": present}


def _account(data_set: DataSet, folder: Path | None) -> list[tuple[str, str]]:
    """Everything that is known, for people."""
    # Without a folder, a name that can be replaced by one.
    base = folder or Path("DATA")
    rows = [
        ("set", f"{data_set.name}: {data_set.title}"),
        ("source", data_set.source),
        ("files there", data_set.files or "not known"),
        ("licence, as stated", data_set.licence),
        ("counts", ", ".join(f"{count:,} {what}" for what, count in data_set.counts.items())),
        ("truth", TRUTH[data_set.truth]),
        ("how it is read", data_set.votes_from),
        ("in the paper", _yes(data_set.in_paper)),
        ("family", family_of(data_set.name)),
        ("folder", str(base / data_set.name)),
        ("files in it", LAYOUTS[data_set.layout]),
    ]
    # Some sets can be read as their authors published them, without being laid out again.
    if data_set.original:
        rows.append(("or, as published", data_set.original))
    fetch = "fetch the files and put them there" if data_set.files else "who has the files may put them there"
    here = _yes(is_present(data_set.name, folder)) if folder else f"? (give --data FOLDER or set {VARIABLE})"
    return [*rows, ("how to get it", f"amcc downloads nothing: {fetch}"), ("here", here)]


def _verdict(data_set: DataSet, differences: list[str]) -> str:
    """Whether a set is as the registry says, in a line."""
    if differences:
        return f"{len(differences)} difference{'s' * (len(differences) > 1)}"
    return f"as described ({', '.join(f'{count:,} {what}' for what, count in data_set.counts.items())})"


def _yes(holds: bool) -> str:
    """In words, for tables."""
    return "yes" if holds else "no"
