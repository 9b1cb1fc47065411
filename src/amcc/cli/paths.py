"""What commands read and write: each path option is marked, and all are checked before the work starts.

    votes: Annotated[Path, typer.Argument(), READS]
    output: Annotated[Path | None, typer.Option(), TABLE]

No output may be an input or another output, however it is spelt, and every output must have a place to go to.
"""

from __future__ import annotations

import inspect
import os
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

from typer.models import OptionInfo, ParameterInfo

from amcc.cli.options.groups import Command
from amcc.engine.packed import META
from amcc.errors import InputError, MissingExtraError, ParameterError
from amcc.io import format_of


@dataclass(frozen=True)
class Reads:
    """Marks an option that names a file or folder to read; text counts where it names a file."""


@dataclass(frozen=True)
class Keeps(Reads):
    """Marks an option that names a file which is read and added to, so that it cannot be standard input."""


@dataclass(frozen=True)
class Extra:
    """Optional packages that an output needs, and the name by which pip knows them."""

    name: str
    packages: tuple[str, ...]

    def check(self, option: str) -> None:
        """Raise MissingExtraError where one of them is missing."""
        for package in self.packages:
            # Imported, not only looked for: a package that is there may still not load.
            try:
                import_module(package)
            except ImportError as error:
                raise MissingExtraError(
                    f"{option} needs {package}, which cannot be imported ({error}). Install it: "
                    f"pip install 'amcc[{self.name}]'."
                ) from error


def _any_name(path: Path) -> None:
    """Every name will do."""


@dataclass(frozen=True)
class Writes:
    """Marks an option that names a file to write, or with `folder` a folder to make.

    check_name : raises InputError where the name does not say a format that can be written.
    replaces : whether what is in the folder may have to go.
    """

    check_name: Callable[[Path], object] = _any_name
    extra: Extra | None = None
    folder: bool = False
    replaces: bool = False

    def check(self, path: Path, option: str) -> None:
        """Raise where it could not be written."""
        self.check_name(path)
        if self.folder:
            _check_folder(path)
        else:
            _check_file(path)
        if self.extra is not None:
            self.extra.check(option)


# What matplotlib writes without further packages, and everybody can open.
PICTURES = (".png", ".svg", ".pdf")


def _check_picture(path: Path) -> None:
    """Raise InputError for suffixes that matplotlib would refuse after the work is done."""
    if path.suffix.lower() not in PICTURES:
        raise InputError(f"{path}: the suffix must say the format, one of {', '.join(PICTURES)}.")


REPORT = Extra("report", ("altair", "vl_convert"))
PLOT = Extra("plot", ("matplotlib",))

# The marks that commands use.
READS = Reads()
KEEPS = Keeps()
TABLE = Writes(format_of)
FILE = Writes()
FOLDER = Writes(folder=True)
PACK = Writes(folder=True, replaces=True)
FOLDER_OF_REPORT = Writes(folder=True, extra=REPORT)
PAGE = Writes(extra=REPORT)
PICTURE = Writes(_check_picture, PLOT)


Mark = Reads | Writes


def checked(command: Command) -> Command:
    """The same command, which first looks at all its paths."""
    marks = marks_of(command)

    @wraps(command)
    def run(**arguments: Any) -> None:
        check_paths({option: (arguments[name], mark) for name, (option, mark) in marks.items()})
        command(**arguments)

    return run


def marks_of(command: Command) -> dict[str, tuple[str, Mark]]:
    """By parameter, what people call it and its mark: those that have one."""
    declared = inspect.signature(command, eval_str=True).parameters
    return {name: found for name, parameter in declared.items() if (found := _mark(name, parameter))}


def _mark(name: str, parameter: inspect.Parameter) -> tuple[str, Mark] | None:
    """What people call a parameter, and its mark, if it has one."""
    told = get_args(parameter.annotation)[1:]
    mark = next((each for each in told if isinstance(each, Reads | Writes)), None)
    info = next((each for each in told if isinstance(each, ParameterInfo)), None)
    if mark is None or info is None:
        return None
    if not isinstance(info, OptionInfo):
        return info.metavar or name.upper(), mark
    # Beside Annotated, what typer takes for the default is the first name.
    names = [each for each in (info.default, *(info.param_decls or ())) if isinstance(each, str)]
    return next((each for each in names if each.startswith("--")), f"--{name.replace('_', '-')}"), mark


def check_paths(given: Mapping[str, tuple[Path | str | None, Mark]]) -> None:
    """Raise where an output is an input, is another output, or could not be written; by the names of options.

    This comes before any work: a fit of an hour must not end with a file that cannot be written.
    """
    inputs = [
        (option, path) for option, value, mark in _flat(given) if isinstance(mark, Reads) for path in _read(value)
    ]
    outputs = [(option, Path(value), mark) for option, value, mark in _flat(given) if isinstance(mark, Writes)]
    for option, path, mark in outputs:
        for other, source in inputs:
            _check_apart(option, path, mark, other, source)
    for (option, path, _), (other, second, _) in combinations(outputs, 2):
        # Neither need exist yet, so names are compared as the strictest file system would.
        if _same(path, second) or _folded(path) == _folded(second):
            raise ParameterError(f"{option} and {other} must be different files; both are {second}. Rename one.")
    for option, path, mark in outputs:
        mark.check(path, option)


def _flat(given: Mapping[str, tuple[Path | str | None, Mark]]) -> Iterator[tuple[str, Path | str, Mark]]:
    """Option, value and mark of those that were given."""
    return ((option, value, mark) for option, (value, mark) in given.items() if value is not None)


def _read(value: Path | str) -> list[Path]:
    """The file that an option names, if it does; text may also be a list of names."""
    # Path.is_file raises for text that cannot be a path; this one takes any text.
    return [Path(value)] if isinstance(value, Path) or os.path.isfile(value) else []  # noqa: PTH113


def _check_apart(option: str, path: Path, mark: Writes, other: str, source: Path) -> None:
    """Votes were paid for, and so was everything else: no result may take the place of what it was made from."""
    if _same(path, source):
        raise ParameterError(f"{option} must not be what {other} reads; both are {source}. Name another place.")
    # A folder that is replaced takes everything in it away.
    if mark.replaces and _within(source, path):
        raise ParameterError(f"{option} must not hold what {other} reads; {source} is in {path}. Name another place.")
    # A strange file among the blocks would make packed votes unreadable.
    if (source / META).is_file() and _within(path, source):
        raise ParameterError(f"{option} must not be in packed votes; {path} is in {source}. Name another place.")


def _same(one: Path, other: Path) -> bool:
    """Whether both are one file, also by links and where upper and lower case are one."""
    try:
        return os.path.realpath(one) == os.path.realpath(other) or one.samefile(other)
    except OSError:
        # One of them is not there, so it cannot be the other.
        return False


def _folded(path: Path) -> str:
    """What is one name on file systems that do not tell case or ways of writing é apart."""
    return unicodedata.normalize("NFC", os.path.realpath(path)).casefold()


def _within(path: Path, folder: Path) -> bool:
    """Whether the path is somewhere below the folder, also by way of links."""
    return Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents


def _check_file(path: Path) -> None:
    """Raise InputError where a file of that name could not take its place at the end."""
    if path.is_dir():
        raise InputError(f"{path} cannot be written: it is a directory. Name a file in it.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path} cannot be written: it is not a regular file. Choose another place.")
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}. Make it, or choose another.")
    _check_writable(path, path.parent)


def _check_folder(path: Path) -> None:
    """Raise InputError where the folder is not there and could not be made."""
    # The folder may be made with its parents: what counts is the nearest that is there.
    there = next((each for each in (path, *path.parents) if each.exists()), Path())
    if not there.is_dir():
        raise InputError(f"the folder {path} cannot be made: {there} is not a folder. Choose another place.")
    _check_writable(path, there)


def _check_writable(path: Path, folder: Path) -> None:
    """Raise InputError where nothing can be put into the folder."""
    # A file is made beside its place and then renamed: what counts is the folder, not the file that is replaced.
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written: the folder {folder} is not writable. Choose another place.")
