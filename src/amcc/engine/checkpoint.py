"""Checkpoints: how far a long fit has come, in one file of plain arrays, so that an interrupted one goes on.

A state is a tree of dataclasses and named tuples whose leaves are arrays, numbers, text, or tuples of numbers. Arrays
are stored under their paths in the tree (`fit.crowd.hit.label`), everything else in one JSON text.
"""

from __future__ import annotations

import dataclasses
import io
import json
import time
import types
import typing
import zipfile
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from amcc.errors import FileFormatError, InputError
from amcc.files import whole_file

State = TypeVar("State")
Arrays = dict[str, npt.NDArray[Any]]

SECONDS = 20.0
"""Between two writings; the last state is written in any case when a fit stops, unless the process is killed."""


class Checkpoint:
    """What the stages of a fit have found so far.

    path : the file
    seconds : least time between two writings
    """

    def __init__(self, path: str | Path, seconds: float = SECONDS) -> None:
        self.path = Path(path)
        self.seconds = seconds
        self.identity = ""
        self._arrays: Arrays = {}
        self._plain: dict[str, Any] = {}
        self._written = time.monotonic()
        self._pending = False

    def begin(self, identity: str) -> None:
        """Go on with the fit of this identity, which says what is fitted to what; the file may be there or not."""
        self.identity, self._arrays, self._plain = identity, {}, {}
        if not self.path.exists():
            return
        try:
            with np.load(self.path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            meta = json.loads(arrays.pop("meta").tobytes())
            of_file, plain = meta["identity"], meta["plain"]
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise FileFormatError(
                f"{self.path} is not a checkpoint, or it is damaged ({error}). Remove it to start from the beginning."
            ) from None
        if of_file != identity:
            raise InputError(
                f"{self.path} is the checkpoint of another fit ({of_file}, not {identity}). Name another file, or "
                "remove this one to start from the beginning."
            )
        self._arrays, self._plain = arrays, plain

    def recall(self, stage: str, kind: type[State]) -> State | None:
        """The state of a stage, if there is one."""
        return rebuilt(kind, stage, self._arrays, self._plain) if stage in self._plain else None

    def keep(self, stage: str, state: Any) -> None:
        """Note the state of a stage in place of the one before."""
        own = f"{stage}."
        self._arrays = {path: array for path, array in self._arrays.items() if not path.startswith(own)}
        self._plain = {path: value for path, value in self._plain.items() if not path.startswith(own)}
        self._plain[stage] = True
        take_apart(state, stage, self._arrays, self._plain)
        self._pending = True
        if time.monotonic() - self._written >= self.seconds:
            self.flush()

    def flush(self) -> None:
        """Write what is not yet written."""
        if not self._pending:
            return
        meta = json.dumps({"identity": self.identity, "plain": self._plain})
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, meta=np.frombuffer(meta.encode(), np.uint8), **self._arrays)
        with whole_file(self.path) as temporary:
            temporary.write_bytes(buffer.getvalue())
        self._written, self._pending = time.monotonic(), False

    def remove(self) -> None:
        """The fit is finished: nothing is left to go on with."""
        self._pending = False
        self.path.unlink(missing_ok=True)


def _parts(value: Any) -> dict[str, Any] | None:
    """Fields of a dataclass or named tuple."""
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value._asdict() if hasattr(value, "_asdict") else None


def take_apart(value: Any, path: str, arrays: Arrays, plain: dict[str, Any]) -> None:
    """Put the arrays of a state under their paths, and everything else likewise."""
    parts = _parts(value)
    if parts is not None:
        for name, part in parts.items():
            take_apart(part, f"{path}.{name}", arrays, plain)
    elif isinstance(value, np.ndarray):
        arrays[path] = value
    else:
        plain[path] = list(value) if isinstance(value, tuple) else value.item() if hasattr(value, "item") else value


def rebuilt(kind: Any, path: str, arrays: Arrays, plain: dict[str, Any]) -> Any:
    """The state of this kind that was taken apart under the path."""
    if path in arrays:
        return arrays[path]
    if path in plain and plain[path] is not True:
        value = plain[path]
        return tuple(value) if isinstance(value, list) else value
    if isinstance(kind, types.UnionType):  # a field that may be None, and is not
        kind = next(choice for choice in typing.get_args(kind) if choice is not type(None))
    hints = typing.get_type_hints(kind)
    return kind(**{name: rebuilt(hint, f"{path}.{name}", arrays, plain) for name, hint in hints.items()})
