"""Commands that are loaded when they are called: `amcc --help` knows all of them and imports none.

Models and formats bring numpy, pyarrow and scipy, which take a second or two to import. Whoever asks for the list of
commands, or types a name wrong, should not wait for that.
"""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand


@dataclass(frozen=True)
class CommandEntry:
    """What is known about a command before it is loaded.

    summary : first paragraph of its docstring, for the list of commands.
    example : a command line that people can start from; a group of commands has none.
    module : file in `amcc.cli`, where it is not called like the command. What has the same name in that file is the
        command: a function or, for a group, a `typer.Typer`.
    """

    summary: str
    example: str | None = None
    module: str | None = None


class LazyCommand(TyperCommand):
    """Stands for a command until that is called, or until its help is asked for."""

    def __init__(self, name: str, entry: CommandEntry) -> None:
        # All that a list of commands shows; parameters come with the command itself.
        super().__init__(name, help=entry.summary)
        self.entry = entry

    @cached_property
    def loaded(self) -> Any:
        """The command itself."""
        keep_pandas_out()
        found = command_of(self.name or "", self.entry)
        # A group has prepared its commands itself.
        if isinstance(found, typer.Typer):
            return typer.main.get_command(found)
        # An app with one command is this command: so typer makes its options from the signature.
        alone = typer.Typer(add_completion=False)
        alone.command(self.name, epilog=f"Example: {self.entry.example}")(prepared(found))
        return typer.main.get_command(alone)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Parse arguments: the first thing that happens to a command that is called, so the other takes over here."""
        context = self.loaded.make_context(info_name, args, parent, **extra)
        collect_garbage_again()
        return context


def collect_garbage_again() -> None:
    """End what `amcc.__main__` began: from now on garbage is looked for, but not among what was imported."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


class _NoPandas:
    """Finds no pandas, as if it were not installed."""

    @staticmethod
    def find_spec(name: str, *_: Any) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def keep_pandas_out() -> None:
    """Let Arrow go without pandas, which it would import for the first list that it is given: half a second.

    Arrow looks for pandas once, and then again only where somebody asks for a frame: it looks here, and finds none.
    """
    if "pandas" in sys.modules:  # somebody uses it already
        return
    import pyarrow as pa

    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(_NoPandas)


def command_of(name: str, entry: CommandEntry) -> Any:
    """The function or the app of an entry, imported now."""
    module = entry.module or name
    return getattr(import_module(f"amcc.cli.{module}"), module)


def prepared(command: Any) -> Any:
    """A command as typer takes it: one parameter per option, `-` for standard input, paths checked before the work."""
    # Both need amcc.io, which is too much for a list of commands.
    from amcc.cli.options.groups import flat
    from amcc.cli.paths import checked
    from amcc.cli.standard_input import reads_standard_input

    return reads_standard_input(checked(flat(command)))
