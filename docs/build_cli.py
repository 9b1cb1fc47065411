"""Write docs/cli.md from the command line's own help texts: `python docs/build_cli.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from amcc.cli import app

PAGE = Path(__file__).with_name("cli.md")
HEAD = """# The command line

All commands with all options, written from their help texts (`make pages`). Rows go to standard output, notes and
errors to standard error, progress bars to terminals only. Exit codes: 0 done, 2 the input or the arguments are wrong,
1 anything else. `AMCC_DEBUG=1` shows where an internal error came from. `amcc --install-completion` sets up completion
for your shell.
"""


def cli_page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_command(name, command) for name, command in _commands(typer.main.get_command(app)))])


def _commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its whole name, those of a group one after the other."""
    for name, command in group.commands.items():
        # Commands of amcc are loaded when they are wanted, see amcc.cli.lazy; those of a group are there with it.
        loaded = getattr(command, "loaded", command)
        if hasattr(loaded, "commands"):
            yield from _commands(loaded, f"{prefix}{name} ")
        else:
            yield prefix + name, loaded


def _command(name: str, command: Any) -> str:
    """The section of one command: how it is called, what it does, an example, and its options."""
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    usage = " ".join(["amcc", name, *((parameter.metavar or parameter.name).upper() for parameter in arguments)])
    rows = [f"| `{', '.join(option.opts)}` | {_cell(option)} |" for option in options if option.name != "help"]
    return "\n".join(
        [
            f"## `{usage}`",
            "",
            command.help,
            "",
            f"    {command.epilog.removeprefix('Example: ')}",
            "",
            "| option | meaning |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def _cell(option: Any) -> str:
    """What an option means, and its default, where that says more than "off"."""
    # A bar would end the cell of a Markdown table.
    shown = option.default is not None and option.default is not False and not callable(option.default)
    return option.help.replace("|", "\\|") + (f" (default: {option.default})" if shown else "")


if __name__ == "__main__":
    PAGE.write_text(cli_page())
