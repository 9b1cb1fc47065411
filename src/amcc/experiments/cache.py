"""Results that are kept: each in a file whose name is a hash of everything the result depends on.

A study that was interrupted goes on where it stopped, and after a change only that is measured again which the change
may have changed. Nothing is ever deleted or checked for age: a file of other code or other data has another name.

This is the only place of the experiments that hashes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import amcc
from amcc.files import make_folder, whole_file
from amcc.processes import computed

# Told how much is done, and of how much.
Progress = Callable[[int, int], object]

# Code that no result depends on: commands print, experiments come with a hash of their own, the report only shows.
NOT_MEASURED = {"cli", "experiments", "report", "report.py"}

# Hexadecimal digits of a file name: 96 bits, so that among a million results two meet with a chance of 10⁻¹⁷.
NAME_LENGTH = 24


def silent(done: int, total: int) -> None:
    """The progress of those who need not know."""


def array_hash(*parts: npt.NDArray[Any] | str) -> str:
    """Equal for equal arrays and texts in equal order.

    >>> array_hash("two items", np.arange(2)) == array_hash("two items", np.array([0, 1]))
    True
    """
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part).data)
    return found.hexdigest()


@cache
def file_hash(*paths: str | Path) -> str:
    """Changes with the content of the files; read once, for code does not change while it runs."""
    return hashlib.sha256(b"".join(Path(path).read_bytes() for path in paths)).hexdigest()


@cache
def code_version() -> str:
    """Changes with any code that models, data or metrics consist of."""
    package = Path(amcc.__file__).parent
    sources = sorted(package.rglob("*.py"))
    return file_hash(*(path for path in sources if not NOT_MEASURED & set(path.relative_to(package).parts)))


def place(folder: Path, depends_on: Iterable[Any]) -> Path:
    """The file of a result, named by what it depends on, which must be ready for JSON.

    >>> place(Path("cache"), ["majority", {"b": 2, "a": 1}]) == place(Path("cache"), ["majority", {"a": 1, "b": 2}])
    True
    """
    wanted = json.dumps(list(depends_on), sort_keys=True)
    return folder / f"{hashlib.sha256(wanted.encode()).hexdigest()[:NAME_LENGTH]}.json"


class Count:
    """How much of a study is done; every call adds to it and tells."""

    def __init__(self, total: int, progress: Progress) -> None:
        self.total = total
        self.done: int = 0
        self._progress = progress

    def __call__(self, more: int = 1) -> None:
        """So much more is done."""
        self.done += more
        self._progress(self.done, self.total)


def kept(
    work: Callable[..., Any], tasks: Sequence[tuple[Path, Sequence[Any]]], *, n_processes: int, count: Count
) -> list[Any]:
    """What `work` makes of the arguments of each task: from its file where there is one, or else measured and kept.

    tasks : file and arguments. What `work` returns must be ready for JSON. Equal tasks are measured once.
    """
    # A dict, for two tasks may have one file: a variant that is the default under another name.
    missing = {path: arguments for path, arguments in tasks if not path.exists()}
    count(len(tasks) - len(missing))
    # No more processes than tasks: each takes a second to start.
    for path, made in computed(work, missing.items(), max(1, min(n_processes, len(missing)))):
        make_folder(path.parent)
        # Whole or absent: an interrupt in the middle of a write must not leave half a result.
        with whole_file(path) as temporary:
            temporary.write_text(json.dumps(made))
        count()
    return [json.loads(path.read_text()) for path, _ in tasks]
