"""What is written to files of plain arrays, and checked field by field when it is read again.

A state is a tree of dataclasses and named tuples whose leaves are arrays, names, numbers, text, or lists of numbers.
`take_apart` puts arrays under their paths in the tree (`crowd_.hit.label`) and everything else in one JSON text;
`Stored` builds the tree again. A file may come from anywhere, and compiled loops index without bounds checks: what an
array must be like is written next to its type, as `Annotated[Floats, Each("worker", "label")]`.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import json
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc.arrays import ROUNDING, Ints
from amcc.errors import FileFormatError
from amcc.files import check_is_file, first_line, whole_file

Arrays = dict[str, npt.NDArray[Any]]

# The array of a file that holds its JSON text, as bytes.
META = "meta"


class Each:
    """One number for each of something: what must hold of an array beside its type.

    of : the axes; a name stands for the same size wherever it occurs (with a dot before it, within one dataclass),
        None for any size
    code : numbers are codes of this, below its size; least : the smallest that may be, for codes 0
    share : numbers lie in [0, 1]; finite : they are neither infinite nor missing
    optional : the field may be missing; only : it is there where this parameter of the model has this value
    """

    def __init__(
        self, *of: str | int | None, code: str | None = None, least: int | None = None, share: bool = False,
        finite: bool = True, optional: bool = False, only: tuple[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.of = of
        self.code = code
        self.least = least
        self.share = share
        self.finite = finite
        self.optional = optional
        self.only = only


# -- writing ---------------------------------------------------------------------------------------------------------


def take_apart(value: Any, path: str, arrays: Arrays, plain: dict[str, Any]) -> None:
    """Put the arrays of a state under their paths, and everything else likewise.

    >>> arrays, plain = {}, {}
    >>> take_apart((1, 2), "sizes", arrays, plain)
    >>> take_apart(np.array([0.5]), "share", arrays, plain)
    >>> arrays, plain
    ({'share': array([0.5])}, {'sizes': [1, 2]})
    """
    if dataclasses.is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    else:
        parts = value._asdict() if hasattr(value, "_asdict") else {}
    for name, part in parts.items():
        take_apart(part, f"{path}.{name}", arrays, plain)
    if parts:
        return
    if isinstance(value, pa.Array):
        arrays[path] = np.frombuffer(names_to_bytes(value), np.uint8)
    elif isinstance(value, np.ndarray):
        arrays[path] = value
    else:
        plain[path] = list(value) if isinstance(value, tuple) else value.item() if hasattr(value, "item") else value


def write_fields(path: Path, meta: Mapping[str, Any], arrays: Arrays) -> None:
    """Write arrays and a description to one file that holds no pickle: reading a pickle may run any program."""
    # In memory first: np.savez would put its own suffix behind a name that has another.
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{**arrays, META: np.frombuffer(json.dumps(meta).encode(), np.uint8)})
    with whole_file(path) as temporary:
        temporary.write_bytes(buffer.getvalue())


def names_to_bytes(names: pa.Array) -> bytes:
    """Names exactly as they are, each as long as it is. (Arrays of numpy pad all to the longest, and cut zeros.)"""
    table = pa.table({"name": names})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


# -- reading ---------------------------------------------------------------------------------------------------------


def read_fields(path: Path, what: str) -> tuple[dict[str, Any], Arrays]:
    """Description and arrays of a file; `what` it must be, for the error where it is something else."""
    check_is_file(path, what)
    try:
        with path.open("rb") as source, np.load(source, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(arrays.pop(META).tobytes())
    except Exception:  # numpy, zlib and zipfile raise a dozen kinds, and what they say is not for users
        raise FileFormatError(f"{path} is not {what}, or it is damaged.") from None
    if not isinstance(meta, dict):
        raise FileFormatError(f"{path} is not {what}, or it is damaged: field {META!r} is no description.")
    return meta, arrays


def names_from_bytes(content: Any) -> pa.Array:
    """What `names_to_bytes` wrote; ValueError where it is not a list of different names."""
    try:
        table = pa.ipc.open_file(pa.py_buffer(content)).read_all()
        table.validate(full=True)
    except Exception as error:  # Arrow says of a broken file many things
        raise ValueError(f"it holds no names ({first_line(error)})") from None
    if table.column_names != ["name"] or table["name"].type not in (pa.string(), pa.large_string(), pa.int64()):
        raise ValueError("it holds no names")
    names = table["name"].combine_chunks()
    # A name that stands for two codes would make votes of one worker those of another.
    if names.null_count or len(names.unique()) < len(names):
        raise ValueError("names must be different and not missing")
    return names


@functools.cache
def hints_of(kind: Any) -> dict[str, Any]:
    """The types of the attributes of a class, or of the arguments of a function, with what is written beside them."""
    return typing.get_type_hints(kind, include_extras=True)


class Stored:
    """Fields of a file, which become what they were; whatever does not fit is an error that names file and field.

    sizes : of what is known to be there, like {"worker": 12}; others are what the first array says
    """

    def __init__(self, path: Path, arrays: Arrays, plain: Any, sizes: Mapping[str, int] | None = None) -> None:
        self.path = path
        self.arrays = arrays
        self.plain = plain
        self.sizes: dict[str, int] = dict(sizes or {})
        self.used: set[str] = set()
        if not isinstance(plain, dict):
            raise FileFormatError(f"{path} is damaged: field 'plain' must be a JSON object.")

    def wrong(self, field: str, reason: str) -> NoReturn:
        """Refuse the file because of a field."""
        raise FileFormatError(f"{self.path} is damaged, or amcc did not write it: field {field!r} {reason}.")

    @functools.cached_property
    def roots(self) -> set[str]:
        """Where the paths begin."""
        return {path.partition(".")[0] for path in (*self.arrays, *self.plain)}

    def refuse_unknown(self) -> None:
        """Raise FileFormatError for a field that nobody asked for."""
        for name in (*self.arrays, *self.plain):
            if name not in self.used:
                self.wrong(name, "is unknown")

    def rebuilt(self, kind: Any, path: str) -> Any:
        """The value of this type that was taken apart under the path."""
        rule = None
        if typing.get_origin(kind) is Annotated:
            kind, rule = typing.get_args(kind)[:2]
        if isinstance(kind, types.UnionType):  # `X | None`: all that states use
            if self._is_none(path):
                return None
            kind = next(choice for choice in typing.get_args(kind) if choice is not type(None))
        if kind is pa.Array:
            return self._names(path, rule)
        if kind is np.ndarray or typing.get_origin(kind) is np.ndarray:
            return self._array(kind, path, rule)
        if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
            self.used.add(path)  # of a checkpoint: the stage's mark
            parts = {name: self.rebuilt(hint, f"{path}.{name}") for name, hint in hints_of(kind).items()}
            try:
                return kind(**parts)
            except ValueError as error:
                self.wrong(path, str(error))
        return self._plain(kind, path)

    def _is_none(self, path: str) -> bool:
        """Whether an optional field was None when it was written."""
        missing = path in self.plain and self.plain[path] is None
        self.used |= {path} if missing else set()
        return missing

    def _names(self, path: str, rule: Each | None) -> pa.Array:
        """A vocabulary; its length is the size of all that has one entry for each name."""
        try:
            names = names_from_bytes(self._stored(self.arrays, path).tobytes())
        except ValueError as error:
            self.wrong(path, f"cannot be read: {error}")
        if rule is not None:
            self.sizes[str(rule.of[0])] = len(names)
        return names

    def _stored(self, where: Mapping[str, Any], path: str) -> Any:
        """A field of the arrays or of the plain values; noted, so that fields nobody asks for are found."""
        if path not in where:
            self.wrong(path, "is missing")
        self.used.add(path)
        return where[path]

    def _array(self, kind: Any, path: str, rule: Each | None) -> npt.NDArray[Any]:
        """An array of the type, sizes and numbers that are declared for the field."""
        array: npt.NDArray[Any] = self._stored(self.arrays, path)
        if typing.get_origin(kind) is np.ndarray:
            (number,) = typing.get_args(typing.get_args(kind)[1])
            if number is not Any:
                wanted = np.dtype(number)
                # Narrower numbers of the same kind fit; a float where codes belong does not, even if it is whole.
                if array.dtype.kind != wanted.kind or not np.can_cast(array.dtype, wanted):
                    self.wrong(path, f"must hold {wanted}; it holds {array.dtype}")
                array = array.astype(wanted, copy=False)  # where nothing was found, some libraries give smaller ones
        if rule is not None:
            self._check(array, path, rule)
        return array

    def _check(self, array: npt.NDArray[Any], path: str, rule: Each) -> None:
        """Raise FileFormatError unless the array has the sizes and numbers that it must have."""
        parent = path.rpartition(".")[0]
        axes = [f"{parent}{axis}" if isinstance(axis, str) and axis.startswith(".") else axis for axis in rule.of]
        # An axis without a known size takes the array's own, and from then on must have it wherever it occurs.
        sizes = [self.sizes.get(axis) if isinstance(axis, str) else axis for axis in axes]
        if array.ndim != len(sizes) or any(
            size not in (None, length) for size, length in zip(sizes, array.shape, strict=True)
        ):
            wanted = ", ".join("any" if size is None else str(size) for size in sizes)
            self.wrong(path, f"must have shape ({wanted}); it has {array.shape}")
        self.sizes |= {axis: length for axis, length in zip(axes, array.shape, strict=True) if isinstance(axis, str)}
        if rule.finite and not np.isfinite(array).all():
            self.wrong(path, "must hold numbers; some are infinite or missing")
        # Sums of shares round; what lies this near to 0 and 1 is no damage.
        if rule.share and array.size and not (array.min() >= -ROUNDING and array.max() <= 1 + ROUNDING):
            self.wrong(path, "must hold shares between 0 and 1")
        if (rule.code is not None or rule.least is not None) and array.size:
            least, most = rule.least or 0, np.inf if rule.code is None else self.sizes[rule.code] - 1
            if array.min() < least or array.max() > most:
                self.wrong(path, f"must hold numbers from {least} to {most}; it has {array.min()} to {array.max()}")

    def _plain(self, kind: Any, path: str) -> Any:
        """A number, text, truth value or list of them, of the declared type."""
        value = self._stored(self.plain, path)
        if not fits(value, kind):
            self.wrong(path, f"must be {kind}; it is {value!r}")
        return tuple(value) if typing.get_origin(kind) is tuple else value


def check_in_order(keys: Ints, what: str) -> None:
    """Raise ValueError unless keys rise: look-ups rely on it, and a file may come from anywhere."""
    if not len(keys) or (keys[1:] <= keys[:-1]).any():
        raise ValueError(f"must have its {what} in order, each once")


def fits(value: Any, kind: Any) -> bool:
    """Whether a value that was read from JSON is of this type; tuples have become lists there.

    >>> fits([1, 2], tuple[int, ...]), fits(True, int), fits(1, float), fits("a", int | None)
    (True, False, True, False)
    """
    choices, origin = typing.get_args(kind), typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return any(fits(value, choice) for choice in choices)
    if origin is typing.Literal:
        return value in choices
    if origin in (tuple, list):
        return isinstance(value, tuple | list) and all(fits(each, choices[0]) for each in value)
    if kind in (float, int):
        # JSON writes 1.0 as 1.0 and 1 as 1, so that a whole float may come back as an int; true is no number.
        return isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    return isinstance(value, origin or kind)
