"""The command line. Rows go to stdout, all else to stderr; exit 0 done, 1 failed, and two that scripts can tell apart:
2 wrong input or arguments, 3 a budget is used up.

`COMMANDS` lists the commands. A new one is a file here with a function of the same name, and an entry in that table.
The function parses nothing and checks no path: its signature says what people can type (see `options`), and
`lazy.prepared` does the rest. Nothing that is imported here may import numpy, pyarrow or scipy.

    lazy.py            commands that are loaded when they are called
    options/           what people can say: groups of options by what they are about
    paths.py           what is read and written, checked before the work starts
    standard_input.py  `-` in the place of a file
    console.py         notes and tables for people
    output.py          rows and JSON for scripts
    names.py           names from anybody, made harmless
    fitting.py         fit a model and say what is worth knowing about it

All other files are commands, or what one of them needs.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from amcc import __version__
from amcc.cli.console import notes, say, visible
from amcc.cli.lazy import CommandEntry, LazyCommand
from amcc.errors import AmccError, InputError, NotFoundError, OutOfMoneyError, ParameterError

# In the order in which a newcomer meets them; the help and docs/cli.md keep it.
COMMANDS = {
    "demo": CommandEntry(
        "Simulate a crowd, find the consensus, say what was found, and write a report with pictures.", "amcc demo"
    ),
    "check": CommandEntry(
        "Validate a file of votes and describe what is in it; with --workers also who gave them.",
        "amcc check votes.csv --columns worker=rater",
    ),
    "formats": CommandEntry(
        "List the files that can be read, with the options that they may need, and the forms that can be written.",
        "amcc formats",
    ),
    "convert": CommandEntry(
        "Write the votes of any file as a plain table worker,item,label,value, and what else it says beside it.",
        "amcc convert export.json -o votes.csv --truth-output truth.csv --pseudonyms key.txt",
    ),
    "consensus": CommandEntry(
        "Find the labels of each item; writes item,label,probability,present,settled.",
        "amcc consensus votes.csv -o consensus.csv --report report.html",
    ),
    "pack": CommandEntry(
        "Pack votes into a folder that every command takes in place of a file, for votes that do not fit in memory.",
        "amcc pack votes.parquet -o votes.packed",
    ),
    "workers": CommandEntry(
        "Judge the workers, best first, and give the evidence against the likely spammers.",
        "amcc workers votes.csv -o workers.csv",
    ),
    "evaluate": CommandEntry(
        "Score a consensus against what is known to be true, or against how many people say yes.",
        "amcc evaluate consensus.csv truth.csv --known-items truth_items.csv",
    ),
    "audit": CommandEntry(
        "Measure a consensus on a random slice that people answered.",
        "amcc audit votes.csv people.csv --report audit.html --disagreements disagreements.csv",
    ),
    "next": CommandEntry(
        "Choose the questions that help most for the money; writes item,label,worker,price,utility,why.",
        "amcc next votes.csv --budget 100 --prices prices.csv --explain",
        module="next_questions",
    ),
    "pay": CommandEntry(
        "List who gets what for answers to questions of amcc next --ledger; writes worker,answered,paid,due,….",
        "amcc pay money.jsonl votes.csv --prolific bonus.csv --mark-paid",
    ),
    "campaign": CommandEntry(
        "Live campaigns: make one, invite workers, see how it goes, pay, export, check and keep it."
    ),
    "serve": CommandEntry(
        "Serve a campaign: pages for workers, the dashboard, the API; until Ctrl-C or SIGTERM.", "amcc serve pets"
    ),
    "judge": CommandEntry(
        "Let a command work in a live campaign: it gets questions as JSON, its answers are posted and paid.",
        "amcc judge --campaign http://127.0.0.1:8000 --token TOKEN -- python my_model.py",
    ),
    "label-studio": CommandEntry(
        "A project of a running Label Studio: answers in, consensus and next questions out.", module="label_studio"
    ),
    "replay": CommandEntry(
        "Buy recorded votes one after the other, as strategies choose them: what would the same quality have cost?",
        "amcc replay votes.csv truth.csv --strategy voi,uniform --plot replay.png",
    ),
    "settings": CommandEntry(
        "List the settings of the default: value, reason, and scores at half, at the value and at double.",
        "amcc settings",
    ),
    "methods": CommandEntry("List the methods that -m and --methods know, with one line each.", "amcc methods"),
    "board": CommandEntry(
        "Compare methods on every crowd whose truth is known; interrupted, it goes on where it stopped.",
        "amcc board --data crowd-data --methods amcc,majority,ebcc --known 10,30 -o board",
    ),
    "reproduce": CommandEntry(
        "Reproduce tables and figures of the paper beside its numbers; interrupted, it goes on where it stopped.",
        "amcc reproduce table4 groups --data crowd-data --out reproduction --quick",
    ),
    "simulate-crowd": CommandEntry(
        "Simulate a crowd; writes votes.parquet, truth.csv and workers.csv (with kinds and prices) to a folder.",
        "amcc simulate-crowd -o crowd --votes 100000 --spammers 0.3 --seed 1",
        module="simulate_crowd",
    ),
    "data": CommandEntry("Public data sets: what there is, what is here, and where to get the rest."),
}


class Commands(TyperGroup):
    """The commands of the table: what `app` is when it runs."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, entry in COMMANDS.items():
            self.add_command(LazyCommand(name, entry))


app: typer.Typer = typer.Typer(
    name="amcc",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # `main` says what went wrong
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    """Print the version and stop; where nothing else was typed, `amcc.__main__` does it without coming here."""
    if wanted:
        sys.stdout.write(f"amcc {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """True label sets, worker quality and next questions from multi-label crowd answers."""


# What typer makes of Ctrl-C, and what shells expect: 128 + the number of the signal.
INTERRUPTED = 130

# Neither done nor wrong: there is no question that the rest of a budget pays for.
OUT_OF_MONEY = 3


def main() -> None:
    """Run a command; whatever goes wrong becomes one message and an exit code.

    Nobody should meet a stack trace: it hides the one line that says what to do. AMCC_DEBUG=1 shows it.
    """
    # Python's own way would show a line of our source beside each warning.
    warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}")
    try:
        app(prog_name="amcc")  # also as `python -m amcc`, so that completion is made for the name that people type
    except (InputError, ParameterError, NotFoundError) as error:
        # The message says what must hold, what came and the way out: it is all that people need.
        _stop(str(error), 2)
    except OutOfMoneyError as error:
        # No mistake, but the end of a loop that asks until the money is gone.
        _stop(str(error), OUT_OF_MONEY)
    except (AmccError, MemoryError) as error:
        # Nothing is wrong with what was typed. Python's own MemoryError has no text.
        _stop(str(error) or "not enough memory for these data", 1)
    except BrokenPipeError:
        # The reader of our output has had enough; leave without a second complaint at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        # It came while typer was not looking.
        _say_interrupted()
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        # Typer makes an exit of Ctrl-C, without a word.
        if end.code == INTERRUPTED:
            _say_interrupted()
        raise
    except OSError as error:
        # Files that are written have a name in errors, see `files.written_to`; only standard output has none.
        _stop(f"{error.filename or 'standard output'}: {error.strerror or error}", 1)
    except Exception as error:
        # A mistake of ours: nothing that people could do about it, but they can report it.
        if os.environ.get("AMCC_DEBUG"):
            raise
        _stop(f"internal error: {type(error).__name__}: {error} (AMCC_DEBUG=1 shows where). Please report it.", 1)


def _say_interrupted() -> None:
    """Outputs appear when they are complete (see `amcc.files`), so this holds whenever it is said."""
    notes.print("interrupted; nothing half-written was left")


def _stop(message: str, code: int) -> None:
    """Say what went wrong and leave."""
    # Assembled, as the message may hold names of anybody: only the first word has a style.
    notes.print(Text.assemble(("error:", "bold red"), f" {visible(message)}"), soft_wrap=True)
    sys.exit(code)
