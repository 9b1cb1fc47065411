"""The command line. Rows go to stdout, all else to stderr; exit 0 done, 2 wrong input or arguments, 1 otherwise."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated

import typer
from rich.text import Text

from amcc import __version__
from amcc.cli import data
from amcc.cli.audit import audit
from amcc.cli.board import board
from amcc.cli.check import check
from amcc.cli.common import notes, reads_standard_input
from amcc.cli.consensus import consensus
from amcc.cli.demo import demo
from amcc.cli.evaluate import evaluate
from amcc.cli.methods import methods
from amcc.cli.names import visible
from amcc.cli.next_questions import next_questions
from amcc.cli.pack import pack
from amcc.cli.paths import checked
from amcc.cli.replay import replay
from amcc.cli.reproduce import reproduce
from amcc.cli.settings import settings
from amcc.cli.simulate_crowd import simulate_crowd
from amcc.cli.workers import workers
from amcc.errors import AmccError, InputError, ParameterError

app = typer.Typer(
    name="amcc",
    help="True label sets, worker quality and next questions from multi-label crowd answers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
EXAMPLES: dict[Callable[..., None], str] = {
    demo: "amcc demo",
    check: "amcc check votes.csv --columns worker=rater",
    consensus: "amcc consensus votes.csv -o consensus.csv --report report.html",
    pack: "amcc pack votes.parquet -o votes.packed",
    workers: "amcc workers votes.csv --intervals -o workers.csv",
    evaluate: "amcc evaluate consensus.csv truth.csv --known-items truth_items.csv",
    audit: "amcc audit votes.csv people.csv --report audit.html --disagreements disagreements.csv",
    next_questions: "amcc next votes.csv --budget 100 --prices prices.csv --explain",
    replay: "amcc replay votes.csv truth.csv --strategy voi,uniform --plot replay.png",
    methods: "amcc methods",
    settings: "amcc settings",
    board: "amcc board --data crowd-data --methods amcc,majority,ebcc --known 10,30 -o board",
    reproduce: "amcc reproduce table4 groups --data crowd-data --out reproduction --quick",
    simulate_crowd: "amcc simulate-crowd -o crowd --votes 100000 --spammers 0.3 --seed 1",
}
for command, example in EXAMPLES.items():
    app.command(epilog=f"Example: {example}")(reads_standard_input(checked(command)))
app.add_typer(data.app, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"amcc {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """True label sets, worker quality and next questions from multi-label crowd answers."""


INTERRUPTED = 130
"""What typer makes of Ctrl-C, and what shells expect."""


def main() -> None:
    """Run a command; whatever goes wrong becomes one message and an exit code."""
    warnings.showwarning = lambda message, *_, **__: notes.print(f"warning: {message}", soft_wrap=True)
    try:
        app()
    except (InputError, ParameterError) as error:
        _stop(str(error), 2)
    except (AmccError, MemoryError) as error:
        _stop(str(error) or "not enough memory for these data", 1)
    except BrokenPipeError:
        # The reader of our output has had enough; leave without a second complaint at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:  # while typer was not looking
        _say_interrupted()
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            _say_interrupted()
        raise
    except OSError as error:
        # files that are written have a name in errors, see `files.written_to`
        _stop(f"{error.filename or 'standard output'}: {error.strerror or error}", 1)
    except Exception as error:
        if os.environ.get("AMCC_DEBUG"):
            raise
        _stop(f"internal error: {type(error).__name__}: {error} (AMCC_DEBUG=1 shows where). Please report it.", 1)


def _say_interrupted() -> None:
    notes.print("interrupted; nothing half-written was left")


def _stop(message: str, code: int) -> None:
    notes.print(Text.assemble(("error:", "bold red"), f" {visible(message)}"), soft_wrap=True)
    sys.exit(code)
