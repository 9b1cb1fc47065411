"""amcc board: every method on every crowd whose truth is known.

The command parses, calls `amcc.experiments` and prints. Experiments are imported when the command runs, not before:
no other command needs them.

A run leaves in its folder:

board.md       the page: means over families, verdicts, every score of every cell
results.csv    one row per result: cell, method and seed, with all scores
cache/         a file per result, named by what it depends on; a board that was interrupted goes on from there

To stdout go tables, or the page with --markdown, or one object with --json (`export.board_json`, and `output`, the
folder). Methods that cannot run here are left out with a note to stderr.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from amcc.cli.console import PlainConsole, notes, screen
from amcc.cli.output import Json, print_json
from amcc.cli.paths import FOLDER, READS
from amcc.cli.studies import Processes, n_processes, progress_bar
from amcc.consensus import METHODS
from amcc.errors import ParameterError
from amcc.files import whole_file
from amcc.io import write_table

if TYPE_CHECKING:
    from amcc.experiments.entrants import Variant
    from amcc.experiments.summary import Board

# What help texts say of the experiments without importing them; a test compares both.
METHOD_NAMES = (*METHODS, "crowdkit-ds", "crowdkit-glad", "crowdkit-mace", "true-rates")
# All sizes that there are, so that nothing is left out unless asked: `amcc.experiments.cells.SIZES` ends with it.
LARGEST = 1_000_000

# Columns of text that no table needs.
WIDE = 1000

# Before the cells of a table that are printed bold; no name holds it.
BEST = "\0"

Data = Annotated[Path | None, typer.Option(help="Folder of crowd data; without it, simulated crowds only."), READS]
Output = Annotated[Path, typer.Option("--output", "-o", help="Folder for tables and the cache."), FOLDER]
Methods = Annotated[
    str | None, typer.Option(help=f"What to compare, separated by commas. Default: all of {','.join(METHOD_NAMES)}")
]
Variants = Annotated[
    list[str] | None,
    typer.Option(
        help="A method with other parameters: NAME=METHOD:param=value,param=value; values as in JSON. Repeatable."
    ),
]
Known = Annotated[
    str | None,
    typer.Option(
        help="Also give amcc the truth of so many random items, and score the others: 10,30 does both. On a set "
        "that is used whole, they are drawn as often as --seeds says."
    ),
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the page board.md instead of tables.")]


def board(
    data: Data = None,
    output: Output = Path("board"),
    methods: Methods = None,
    variant: Variants = None,
    known: Known = None,
    seeds: Annotated[int, typer.Option(help="Draws of each thinned set.")] = 10,
    largest: Annotated[int, typer.Option(help="Leave out simulated crowds with more votes.")] = LARGEST,
    processes: Processes = 0,
    markdown: Markdown = False,
    as_json: Json = False,
) -> None:
    """Compare methods on every crowd whose truth is known; interrupted, it goes on where it stopped."""
    from amcc.experiments.board import run_board
    from amcc.experiments.cells import SIZES, cells_of
    from amcc.experiments.export import board_json, result_table
    from amcc.experiments.pages import page
    from amcc.experiments.summary import summarise

    # All that can be wrong is looked at first: the run may take hours.
    if markdown and as_json:
        raise ParameterError("give either --markdown or --json; got both.")
    # What users type becomes what experiments take; both complain with the words of the option.
    variants, n_known = _variants(variant or []), _numbers("--known", known or "")
    chosen = _installed(METHOD_NAMES if methods is None else _between_commas(methods))
    cells = cells_of(data, n_seeds=seeds, sizes=[size for size in SIZES if size <= largest])
    with progress_bar("Comparing") as progress:
        results = run_board(
            cells, chosen, output / "cache", variants=variants, known=n_known, known_draws=seeds,
            n_processes=n_processes(processes), progress=progress,
        )  # fmt: skip
    summary = summarise(results)
    write_table(result_table(results), output / "results.csv")
    # With the command as it was typed, so that a page can be made again.
    text = page(summary, shlex.join(["amcc", *sys.argv[1:]]))
    with whole_file(output / "board.md") as temporary:
        temporary.write_text(text)
    if as_json:
        print_json({**board_json(summary), "output": str(output)})
    elif markdown:
        typer.echo(text, nl=False)
    else:
        _print_tables(summary)
        screen.print(f"all scores: {output / 'board.md'}, {output / 'results.csv'}", soft_wrap=True)


# -- reading options --------------------------------------------------------------------------------------------------


def _between_commas(text: str) -> list[str]:
    """Names or numbers as people list them, with or without blanks."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(option: str, text: str) -> list[int]:
    """Whole numbers between commas; `option` is what to complain about."""
    parts = _between_commas(text)
    if not all(part.isdecimal() for part in parts):
        raise ParameterError(f"{option} must be whole numbers separated by commas, such as 10,30; got {text!r}.")
    return list(map(int, parts))


def _variants(texts: Sequence[str]) -> dict[str, Variant]:
    """Name → method and parameters; no name twice, because it would be a column twice.

    What is behind a name is checked by `run_board`, before anything runs.
    """
    from amcc.experiments.entrants import parse_variant

    variants: dict[str, Variant] = {}
    for text in texts:
        name, chosen = parse_variant(text)
        if name in variants:
            raise ParameterError(f"a variant must have a name of its own; got {name!r} twice.")
        variants[name] = chosen
    return variants


def _installed(wanted: Sequence[str]) -> list[str]:
    """Methods that can run here; a note says which cannot, and how to change that."""
    from amcc.experiments.entrants import installed
    from amcc.experiments.peers import missing_crowdkit

    chosen = installed(wanted)
    if left_out := [method for method in wanted if method not in chosen]:
        notes.print(missing_crowdkit(left_out), soft_wrap=True)
    return chosen


# -- printing ---------------------------------------------------------------------------------------------------------


def _print_tables(summary: Board) -> None:
    """Scores of every cell, means over families, and verdicts.

    Two scores of cells only: all others are in board.md.
    """
    from amcc.experiments.pages import (
        FAMILY_HEAD,
        VERDICT_HEAD,
        family_rows,
        footer,
        groups_of,
        score_rows,
        verdict_rows,
    )
    from amcc.experiments.summary import JUDGED
    from amcc.experiments.text import EMPTY

    # Decisions, and the probabilities behind them.
    for score in ("jaccard", "log_loss"):
        cell_rows = score_rows(summary, score, mark=f"{BEST}{{}}".format)
        _print_table(JUDGED[score], summary.methods, cell_rows)
    if any(EMPTY in row for row in cell_rows):
        screen.print(footer(summary), soft_wrap=True)
    for group in groups_of(summary):
        _print_table(f"families of {group}", FAMILY_HEAD[1:], family_rows(summary, group))
    for score, name in JUDGED.items():
        _print_table(name, VERDICT_HEAD[1:], verdict_rows(summary, score))


def _print_table(name: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, as wide as it is unless a terminal sets a limit.

    In a file or a pipe nobody scrolls, and lines that are cut would lose numbers.
    """
    table = Table(name, *head, box=None)
    for row in rows:
        table.add_row(*(Text(cell[1:], "bold") if cell.startswith(BEST) else cell for cell in row))
    console = screen if screen.is_terminal else PlainConsole(width=WIDE)
    console.print()
    console.print(table)
