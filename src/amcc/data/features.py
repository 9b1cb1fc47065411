"""Items described by features: with their true labels, or those that were voted on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from amcc import tables
from amcc.errors import ColumnError, FileFormatError, InputError, ParameterError
from amcc.files import check_readable
from amcc.io import naming, read_ids, read_table
from amcc.truth import positions
from amcc.votes import Votes

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FeatureSet:
    """Features and true labels of the same items.

    Parameters
    ----------
    features : (n_items, n_features) finite numbers.
    truth : (n_items, n_labels) bool.
    item_names : (n_items,); label_names : (n_labels,).
    """

    features: Floats
    truth: Mask
    item_names: tuple[str, ...]
    label_names: tuple[str, ...]

    def __post_init__(self) -> None:
        shapes = self.features.shape, self.truth.shape
        if self.features.ndim != 2 or self.truth.shape != (len(self.item_names), len(self.label_names)):
            raise InputError(
                f"features and truth must be tables with a row for each of {len(self.item_names)} items, and truth a "
                f"column for each of {len(self.label_names)} labels; got the shapes {shapes[0]} and {shapes[1]}."
            )
        if len(self.features) != len(self.truth):
            raise InputError(
                f"features and truth must have the same items; got {len(self.features)} and {len(self.truth)}."
            )
        if not np.isfinite(self.features).all():
            item, column = np.argwhere(~np.isfinite(self.features))[0]
            raise InputError(
                f"features must be finite numbers; item {self.item_names[item]!r} has {self.features[item, column]} in "
                f"column {column}."
            )


def read_npz(path: Path) -> FeatureSet:
    """Read arrays X (features), Y (labels, 0 and 1), items and label_names from a numpy archive."""
    check_readable(path)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            features, labels, items, label_names = (held[name] for name in ("X", "Y", "items", "label_names"))
    except Exception as error:  # of zip, zlib, tokenize …: a damaged file fails in a dozen ways
        raise FileFormatError(
            f"{path} must be a numpy archive of X, Y, items and label_names without Python objects; {error}."
        ) from None
    names = tuple(map(str, items)), tuple(map(str, label_names))
    return FeatureSet(np.asarray(features, dtype=np.float64), np.asarray(labels) > 0, *names)


# -- of the items that were voted on ---------------------------------------------------------------------------------


def read_features(path: str | Path, votes: Votes, *, items: str | Path | None = None) -> Floats:
    """(n_items, n_features) from a file, in the order of `votes.item_names`, as models and strategies want them.

    Parameters
    ----------
    path : a table with a column for the item and columns of numbers; a numpy archive (.npz) of X, the numbers, and
        items, whose they are; or X alone (.npy).
    votes : whose items must all be described; others may be.
    items : for .npy, a file with the items of its rows: the first column of a table, or a .txt with one per line.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if items is not None and kind != ".npy":
        raise ParameterError(f"{path} names its items itself; a list of items is for .npy files. Leave it out.")
    described = _from_arrays(path, items) if kind in (".npy", ".npz") else _from_table(path)
    with naming(path):
        return described.of(votes)


@dataclass(frozen=True)
class Described:
    """Items (ids, in any order), and a table of numbers with a row for each."""

    items: Any
    numbers: npt.NDArray[Any]
    columns: tuple[str, ...]

    def of(self, votes: Votes) -> Floats:
        """The numbers of each item of the votes; every one must be described once."""
        shape = self.numbers.shape
        if len(shape) != 2 or shape[0] != len(self.items) or self.numbers.dtype.kind not in "biuf":
            raise InputError(
                f"features must be numbers in a row for each of {len(self.items)} items; got the shape {shape} of "
                f"{self.numbers.dtype}."
            )
        ids = tables.encode_ids(self.items, "item", "item")
        if len(ids.names) < shape[0]:
            twice = ids.names[int(np.bincount(ids.codes).argmax())].as_py()
            raise InputError(f"features must describe every item once; {twice!r} stands there again. Drop one row.")
        place = positions(votes.item_names, ids.names)
        if (place < 0).any():
            first = votes.item_names[int((place < 0).argmax())].as_py()
            raise InputError(
                f"features must describe every item of the votes; {(place < 0).sum()} are missing, {first!r} is the "
                "first."
            )
        numbers = self.numbers.astype(np.float64)
        if not np.isfinite(numbers).all():
            row, column = np.argwhere(~np.isfinite(numbers))[0]
            raise InputError(
                f"column {self.columns[column]!r} must hold finite numbers; row {row + 1} has {numbers[row, column]}."
            )
        return np.asarray(numbers[np.argsort(ids.codes)[place]])


def _from_arrays(path: Path, items: str | Path | None) -> Described:
    """What is in a file of numpy's."""
    check_readable(path)
    try:
        with path.open("rb") as file:
            held = np.load(file, allow_pickle=False)
            alone = isinstance(held, np.ndarray)
            numbers, names = (held, []) if alone else (held["X"], np.atleast_1d(held["items"]).tolist())
    except Exception as error:  # likewise
        raise FileFormatError(
            f"{path} must hold an array of numbers, in an archive X beside items, without Python objects; {error}."
        ) from None
    if alone and items is None:
        raise ParameterError(
            f"{path} does not say whose its rows are. List the items in their order in a file (--features-items FILE, "
            "in Python items=FILE), or save both together: numpy.savez('features.npz', X=X, items=items)."
        )
    with naming(path if items is None else items):
        listed = tables.vocabulary_of(names if items is None else read_ids(items), "item")
    columns = tuple(map(str, range(numbers.shape[-1]))) if numbers.ndim else ()
    return Described(listed, numbers, columns)


def _from_table(path: Path) -> Described:
    table = read_table(path)
    with naming(path):
        item = tables.match_columns(table.column_names, needed=("item",), roles=("item",))["item"]
        columns = tuple(name for name in table.column_names if name != item)
        if not columns:
            raise ColumnError(f"features must have columns of numbers beside the item; there is only {item!r}.")
        return Described(table[item], np.column_stack([_numbers(table[name], name) for name in columns]), columns)


def _numbers(column: pa.ChunkedArray, name: str) -> Floats:
    try:
        cells = pc.utf8_trim_whitespace(column.cast(pa.string())) if pa.types.is_dictionary(column.type) else column
        return np.asarray(cells.cast(pa.float64()).to_numpy())
    except pa.ArrowException as error:
        raise InputError(f"column {name!r} must hold numbers ({error}). Leave it out, or convert it.") from None
