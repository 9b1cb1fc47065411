"""Items described by features: with their true labels, or those that were voted on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array, load_npz

from amcc import tables
from amcc.errors import ColumnError, FileFormatError, InputError, MissingExtraError, ParameterError
from amcc.files import check_readable
from amcc.io import naming, read_ids, read_table
from amcc.linalg import first_not_finite
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


def read_features(path: str | Path, votes: Votes, *, items: str | Path | None = None) -> Any:
    """(n_items, n_features) from a file, in the order of `votes.item_names`, as models and strategies want them.

    An array; for a sparse file a sparse one.

    Parameters
    ----------
    path : a table with a column for the item and columns of numbers; a numpy archive (.npz) of X, the numbers, and
        items, whose they are; X alone (.npy); or a sparse matrix that scipy.sparse.save_npz wrote (.npz).
    votes : whose items must all be described; others may be.
    items : for files of numbers alone, a file with the items of their rows: the first column of a table, or a .txt with
        one per line.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in (".npy", ".npz"):
        if items is not None:
            _refuse_items(path)
        described = _from_table(path)
    else:
        check_readable(path)
        described = _from_sparse(path, items) if kind == ".npz" and _is_sparse(path) else _from_arrays(path, items)
    with naming(path):
        return described.of(votes)


def _refuse_items(path: Path) -> NoReturn:
    raise ParameterError(f"{path} names its items itself; a list of items is for files of numbers alone. Leave it out.")


# -- texts -----------------------------------------------------------------------------------------------------------

Units = Literal["words", "characters"]
"""What texts are compared by: words and pairs of neighbours, or 2 to 5 letters in a row, for languages without spaces,
short texts and many spellings."""

MOST_UNITS = 50_000
"""Different words, at most, the most frequent ones: rarer ones occur in too few items to tell them apart."""


def read_text_features(
    path: str | Path, votes: Votes, *, column: str | None = None, units: Units = "words"
) -> csr_array:
    """(n_items, n_units) TF-IDF of the items' texts, sparse, in the order of `votes.item_names`.

    How often a unit occurs in a text (1 + its logarithm), times how rare it is among all texts, in rows of length 1.
    Units of a single text say nothing about others and are left out.

    Parameters
    ----------
    path : a table with a column for the item and one of texts.
    votes : whose items must all be in it; a text may be empty.
    column : which one; by default `text`, or the only one beside the item.
    units : "words" or "characters", see `Units`.
    """
    if units not in get_args(Units):
        raise ParameterError(f"units must be one of {', '.join(get_args(Units))}; got {units!r}.")
    with naming(path):
        texts = _texts_of(read_table(Path(path)), votes, column)
        return tf_idf(texts, units)


def tf_idf(texts: list[str], units: Units = "words") -> csr_array:
    """(n_texts, n_units), see `read_text_features`."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError(
            f"texts need scikit-learn, which cannot be imported ({error}). Install it: pip install 'amcc[features]'"
        ) from None
    kind: dict[str, Any] = {
        "words": {"ngram_range": (1, 2)},
        "characters": {"analyzer": "char_wb", "ngram_range": (2, 5)},
    }
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, max_features=MOST_UNITS, **kind[units])
    try:
        return csr_array(vectorizer.fit_transform(texts))
    except ValueError as error:  # of an empty vocabulary
        raise InputError(
            f"texts must have {units} in common; these have none ({error}). Name the column of texts, or compare them "
            "by characters."
        ) from None


def _texts_of(table: pa.Table, votes: Votes, column: str | None) -> list[str]:
    """The text of each item of the votes."""
    item = tables.match_columns(table.column_names, needed=("item",), roles=("item",))["item"]
    others = [name for name in table.column_names if name != item]
    usual = "text" if "text" in others else others[0] if len(others) == 1 else None
    chosen = usual if column is None else column
    if chosen not in others:
        wanted = "a column 'text', or one beside the item" if column is None else f"a column {column!r}"
        raise ColumnError(
            f"texts must have {wanted}; there is {', '.join(map(repr, others)) or 'none'}. Name it (--text-column, in "
            "Python column=…)."
        )
    place = _rows_of(table[item], votes, "texts")
    cells = table[chosen].cast(pa.string())
    if pa.types.is_nested(table[chosen].type):
        raise ColumnError(f"column {chosen!r} must hold texts; it holds {table[chosen].type}.")
    return [text or "" for text in cells.take(pa.array(place)).to_pylist()]


def _rows_of(items: Any, votes: Votes, what: str) -> npt.NDArray[np.int64]:
    """(n_items,) the row of each item of the votes in a table of `what`; every one must have one row."""
    ids = tables.encode_ids(items, "item", "item")
    if len(ids.names) < len(ids.codes):
        twice = ids.names[int(np.bincount(ids.codes).argmax())].as_py()
        raise InputError(f"{what} must describe every item once; {twice!r} stands there again. Drop one row.")
    place = positions(votes.item_names, ids.names)
    if (place < 0).any():
        first = votes.item_names[int((place < 0).argmax())].as_py()
        raise InputError(
            f"{what} must describe every item of the votes; {(place < 0).sum()} are missing, {first!r} is the first."
        )
    return np.asarray(np.argsort(ids.codes)[place])


@dataclass(frozen=True)
class Described:
    """Items (ids, in any order), and a table of numbers with a row for each."""

    items: Any
    numbers: Any
    columns: tuple[str, ...]

    def of(self, votes: Votes) -> Any:
        """The numbers of each item of the votes; every one must be described once."""
        shape = self.numbers.shape
        if len(shape) != 2 or shape[0] != len(self.items) or self.numbers.dtype.kind not in "biuf":
            raise InputError(
                f"features must be numbers in a row for each of {len(self.items)} items; got the shape {shape} of "
                f"{self.numbers.dtype}."
            )
        place = _rows_of(self.items, votes, "features")
        numbers = self.numbers.astype(np.float64)
        if (wrong := first_not_finite(numbers)) is not None:
            row, column = wrong
            raise InputError(
                f"column {self.columns[column]!r} must hold finite numbers; row {row + 1} has {numbers[row, column]}."
            )
        return numbers[place]


def _is_sparse(path: Path) -> bool:
    """Whether an archive is one of scipy's sparse matrices; False for what is no archive."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            return {"format", "shape", "data"} <= set(held.files)
    except Exception:  # likewise; who reads it says what is wrong
        return False


def _from_sparse(path: Path, items: str | Path | None) -> Described:
    """A matrix that scipy.sparse.save_npz wrote."""
    try:
        matrix = csr_array(load_npz(path))
        matrix.check_format(full_check=True)  # a file may come from anywhere, and compiled loops do not look
    except Exception as error:  # likewise
        raise FileFormatError(
            f"{path} must hold a sparse matrix as scipy.sparse.save_npz writes it; {error}."
        ) from None
    if items is None:
        _ask_for_items(path)
    with naming(items):
        listed = tables.vocabulary_of(read_ids(items), "item")
    return Described(listed, matrix, _numbered(matrix))


def _ask_for_items(path: Path) -> NoReturn:
    raise ParameterError(
        f"{path} does not say whose its rows are. List the items in their order in a file (--features-items FILE, "
        "in Python items=FILE), or save both together: numpy.savez('features.npz', X=X, items=items)."
    )


def _numbered(numbers: Any) -> tuple[str, ...]:
    """Names of columns that have none."""
    return tuple(map(str, range(numbers.shape[-1]))) if numbers.ndim else ()


def _from_arrays(path: Path, items: str | Path | None) -> Described:
    """What is in a file of numpy's."""
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
        _ask_for_items(path)
    if not alone and items is not None:
        _refuse_items(path)
    with naming(path if items is None else items):
        listed = tables.vocabulary_of(names if items is None else read_ids(items), "item")
    return Described(listed, numbers, _numbered(numbers))


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
