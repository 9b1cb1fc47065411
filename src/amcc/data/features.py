"""Features of the items that were voted on, from files of numbers or of texts.

Whatever the file, the rows come out in the order of `votes.item_names`, as models and strategies want them. A row
belongs to an item by the item's id, never by its place: a file in another order would give wrong features silently.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy

from amcc import tables
from amcc.arrays import Floats, Ints
from amcc.errors import ColumnError, FileFormatError, InputError, MissingExtraError, ParameterError
from amcc.files import check_readable
from amcc.io import naming, read_ids, read_table
from amcc.linalg import first_not_finite
from amcc.truth import positions
from amcc.votes import Votes


def read_features(path: str | Path, votes: Votes, *, items: str | Path | None = None) -> Any:
    """(n_items, n_features) from a file, in the order of `votes.item_names`, as models and strategies want them.

    An array; for a sparse file a sparse one.

    Parameters
    ----------
    path : a table with a column for the item and columns of numbers; a numpy archive (.npz) of X, the numbers, and
        items, one for each row; X alone (.npy); or a sparse matrix that scipy.sparse.save_npz wrote (.npz).
    votes : all their items must be described; others may be.
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


# -- rows and items --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Described:
    """Items (ids, in any order), and a table of numbers with a row for each."""

    items: Any
    numbers: Any
    columns: tuple[str, ...]

    def of(self, votes: Votes) -> Any:
        """The numbers of each item of the votes; every one must be described once."""
        shape = self.numbers.shape
        # Booleans, integers and floats; complex numbers and text would only fail later, and less clearly.
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


def _rows_of(items: Any, votes: Votes, what: str) -> Ints:
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
    # Names may be sorted, rows are not: argsort turns "code of each row" into "row of each code".
    return np.asarray(np.argsort(ids.codes)[place])


def _refuse_items(path: Path) -> NoReturn:
    raise ParameterError(f"{path} names its items itself; a list of items is for files of numbers alone. Leave it out.")


def _ask_for_items(path: Path) -> NoReturn:
    raise ParameterError(
        f"{path} does not say whose its rows are. List the items in their order in a file (--features-items FILE, "
        "in Python items=FILE), or save both together: numpy.savez('features.npz', X=X, items=items)."
    )


# -- files of numbers ------------------------------------------------------------------------------------------------


def _is_sparse(path: Path) -> bool:
    """Whether an archive is one of scipy's sparse matrices; False for what is no archive."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            return {"format", "shape", "data"} <= set(held.files)
    except Exception:  # a damaged file fails in a dozen ways; who reads it next says what is wrong
        return False


def _from_sparse(path: Path, items: str | Path | None) -> Described:
    """A matrix that scipy.sparse.save_npz wrote."""
    try:
        matrix = scipy.sparse.csr_array(scipy.sparse.load_npz(path))
        matrix.check_format(full_check=True)  # a file may come from anywhere, and compiled loops do not look
    except Exception as error:  # as above
        raise FileFormatError(
            f"{path} must hold a sparse matrix as scipy.sparse.save_npz writes it; {error}."
        ) from None
    if items is None:
        _ask_for_items(path)
    return Described(_listed(read_ids(items), items), matrix, _column_numbers(matrix))


def _from_arrays(path: Path, items: str | Path | None) -> Described:
    """What is in a file of numpy's: an array alone (.npy), or X beside items (.npz)."""
    try:
        # Pickles run code when they are read, and files come from strangers.
        with path.open("rb") as file:
            held = np.load(file, allow_pickle=False)
            alone = isinstance(held, np.ndarray)
            numbers, names = (held, []) if alone else (held["X"], np.atleast_1d(held["items"]).tolist())
    except Exception as error:  # as above
        raise FileFormatError(
            f"{path} must hold an array of numbers, in an archive X beside items, without Python objects; {error}."
        ) from None
    if alone and items is None:
        _ask_for_items(path)
    if not alone and items is not None:
        _refuse_items(path)
    listed = _listed(names, path) if items is None else _listed(read_ids(items), items)
    return Described(listed, numbers, _column_numbers(numbers))


def _listed(names: Any, path: str | Path) -> Any:
    """Items as ids, each once; errors name the file where they stand."""
    with naming(path):
        return tables.vocabulary_of(names, "item")


def _column_numbers(numbers: Any) -> tuple[str, ...]:
    """Names of columns that have none, counted from 0 as in numpy."""
    return tuple(map(str, range(numbers.shape[-1]))) if numbers.ndim else ()


def _from_table(path: Path) -> Described:
    """A table with a column of items; all its other columns must be numbers."""
    table = read_table(path)
    with naming(path):
        item, others = _item_and_others(table)
        if not others:
            raise ColumnError(f"features must have columns of numbers beside the item; there is only {item!r}.")
        return Described(table[item], np.column_stack([_numbers(table[name], name) for name in others]), tuple(others))


def _item_and_others(table: pa.Table) -> tuple[str, list[str]]:
    """The column of items, by any of its usual names, and all other columns."""
    item = tables.match_columns(table.column_names, needed=("item",), roles=("item",))["item"]
    return item, [name for name in table.column_names if name != item]


def _numbers(column: pa.ChunkedArray, name: str) -> Floats:
    """Cells as floats; text that reads as a number counts as one."""
    try:
        # Delimited files are read as dictionaries of text, where cells may be padded with blanks.
        cells = pc.utf8_trim_whitespace(column.cast(pa.string())) if pa.types.is_dictionary(column.type) else column
        return np.asarray(cells.cast(pa.float64()).to_numpy())
    except pa.ArrowException as error:
        raise InputError(f"column {name!r} must hold numbers ({error}). Leave it out, or convert it.") from None


# -- texts -----------------------------------------------------------------------------------------------------------

# What texts are compared by: words and pairs of neighbours, or 2 to 5 letters in a row, for languages without spaces,
# short texts and many spellings.
Units = Literal["words", "characters"]
_UNITS: dict[Units, dict[str, Any]] = {
    "words": {"ngram_range": (1, 2)},
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 5)},
}
# Different words, at most, the most frequent ones: rarer ones occur in too few items to tell them apart.
MOST_UNITS = 50_000


def read_text_features(
    path: str | Path, votes: Votes, *, column: str | None = None, units: Units = "words"
) -> scipy.sparse.csr_array:
    """(n_items, n_units) TF-IDF of the items' texts, sparse, in the order of `votes.item_names`.

    How often a unit occurs in a text (1 + its logarithm), times how rare it is among all texts, in rows of length 1.
    Units of a single text say nothing about others and are left out.

    Parameters
    ----------
    path : a table with a column for the item and one of texts.
    votes : all their items must be in it; a text may be empty.
    column : which one; by default `text`, or the only one beside the item.
    units : "words" or "characters", see `Units`.
    """
    if units not in get_args(Units):
        raise ParameterError(f"units must be one of {', '.join(get_args(Units))}; got {units!r}.")
    with naming(path):
        texts = _texts_of(read_table(Path(path)), votes, column)
        return tf_idf(texts, units)


def tf_idf(texts: list[str], units: Units = "words") -> scipy.sparse.csr_array:
    """(n_texts, n_units), see `read_text_features`."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
    except ImportError as error:
        raise MissingExtraError(
            f"texts need scikit-learn, which cannot be imported ({error}). Install it: pip install 'amcc[features]'"
        ) from None
    # The logarithm (sublinear_tf), because a word said ten times is not ten times as telling.
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, max_features=MOST_UNITS, **_UNITS[units])
    try:
        return scipy.sparse.csr_array(vectorizer.fit_transform(texts))
    except ValueError as error:  # of an empty vocabulary
        raise InputError(
            f"texts must have {units} in common; these have none ({error}). Name the column of texts, or compare them "
            "by characters."
        ) from None


def _texts_of(table: pa.Table, votes: Votes, column: str | None) -> list[str]:
    """The text of each item of the votes; a missing one is empty."""
    item, others = _item_and_others(table)
    usual = "text" if "text" in others else others[0] if len(others) == 1 else None
    chosen = usual if column is None else column
    if chosen not in others:
        wanted = "a column 'text', or one beside the item" if column is None else f"a column {column!r}"
        raise ColumnError(
            f"texts must have {wanted}; there is {', '.join(map(repr, others)) or 'none'}. Name it (--text-column, in "
            "Python column=…)."
        )
    place = _rows_of(table[item], votes, "texts")
    # Before the cast, which Arrow would refuse in its own words.
    if pa.types.is_nested(table[chosen].type):
        raise ColumnError(f"column {chosen!r} must hold texts; it holds {table[chosen].type}.")
    return [text or "" for text in table[chosen].cast(pa.string()).take(pa.array(place)).to_pylist()]
