"""From a table that people have to coded columns: which column is what, which id is which code, yes or no.

Nothing here builds a Python object per row: ids and values are dictionary-encoded by Arrow first, and only the
distinct ones are looked at. Rows are counted from 1, without the header.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from amcc.arrays import Codes, Ints, Mask
from amcc.errors import ColumnError, IdError, InputError, ParameterError, VoteValueError
from amcc.threads import in_threads

Role = Literal["worker", "item", "label", "labels", "value", "asked", "time", "sample"]
ROLES: tuple[Role, ...] = get_args(Role)

# The first name of a role is its own; the others are what other tools and platforms call it. Compared without
# case, spaces, dashes and underscores, so that "Worker ID" is "worker_id".
ALIASES: dict[Role, tuple[str, ...]] = {
    "worker": (
        "worker", "worker_id", "annotator", "annotator_id", "annotator_name", "rater", "rater_id", "user", "user_id",
        "labeler", "labeler_id", "labeller", "labeller_id", "coder", "coder_id", "performer", "performer_id",
        "judge", "judge_id", "participant", "participant_id",
    ),
    "item": (
        "item", "item_id", "task", "task_id", "sample", "sample_id", "instance", "instance_id", "example",
        "example_id", "unit", "unit_id", "document", "document_id", "doc", "doc_id", "image", "image_id",
    ),
    "label": ("label", "label_name", "tag", "tag_name", "class", "class_name", "category"),
    "labels": ("labels", "label_set", "tags", "tag_set", "classes", "categories"),
    "value": ("value", "vote", "answer", "response", "present", "given", "score", "rating"),
    "asked": ("asked", "asked_labels", "labels_asked"),
    "time": ("time", "timestamp", "submitted_at", "created_at"),
    "sample": ("sample", "sample_number", "draw", "repetition", "repeat", "replicate", "run"),
}  # fmt: skip

OTHER_LAYOUT: dict[Role, Role] = {"label": "labels", "labels": "label"}
"""A table has one of the two; the one that is mapped explicitly wins."""

YES_WORDS = frozenset({"1", "+1", "true", "t", "yes", "y", "present"})
NO_WORDS = frozenset({"false", "f", "no", "n", "absent"})
BLANK_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none"})

Zero = Literal["no", "unasked"]
Frame = Literal["pandas", "polars", "arrow"]

EXACT = 2**53
"""From here on, whole numbers that differ may be the same as floating-point numbers."""

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
"""How numbers are written in tables. Python would also read 0_1, infinity and digits of other scripts."""


BLOCK = 1 << 17
"""Rows handled at a time: temporaries of this size stay in the processor's cache."""


class Block(NamedTuple):
    """Some rows of a column, not yet translated."""

    raw: npt.NDArray[Any]
    table: npt.NDArray[Any] | None

    def codes(self) -> npt.NDArray[Any]:
        """The translated codes."""
        return self.raw if self.table is None else self.table.take(self.raw)


@dataclass(frozen=True)
class Coded:
    """A column as integers: Arrow's own indices, batch by batch, and the table that translates each batch.

    A hundred million rows are never translated all at once unless somebody asks for `codes`. Where each row is a list
    and the codes are those of its entries, `list_start` says where each list begins.
    """

    batches: tuple[tuple[npt.NDArray[Any], npt.NDArray[Any] | None], ...]
    list_start: Ints | None = None

    @classmethod
    def of(cls, codes: npt.NDArray[Any]) -> Coded:
        """Wrap codes that need no translation."""
        return cls(((codes, None),))

    def __len__(self) -> int:
        return sum(len(raw) for raw, _ in self.batches)

    def blocks(self) -> Sequence[Block]:
        """The column at most `BLOCK` rows at a time, cut at the ends of batches."""
        return [
            Block(raw[begin : begin + BLOCK], table)
            for raw, table in self.batches
            for begin in range(0, len(raw), BLOCK)
        ]

    @cached_property
    def codes(self) -> npt.NDArray[Any]:
        """All rows at once."""
        blocks = [block.codes() for block in self.blocks()]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks) if blocks else np.empty(0, np.int32)

    def first_row(self, code: int) -> int:
        """The row, counted from 1, where `code` first stands."""
        before = 0
        for block in self.blocks():
            if (found := block.codes() == code).any():
                place = before + int(found.argmax())
                starts = self.list_start
                return place + 1 if starts is None else int(np.searchsorted(starts, place, side="right"))
            before += len(block.raw)
        raise KeyError(code)

    def translated(self, position: npt.NDArray[Any]) -> Coded:
        """The same rows with position[code] in place of each code."""
        batches = tuple((raw, position if table is None else position[table]) for raw, table in self.batches)
        return replace(self, batches=batches)


@dataclass(frozen=True)
class Ids:
    """One column of names as integer codes into a sorted vocabulary."""

    coded: Coded
    names: pa.Array

    @property
    def codes(self) -> Codes:
        """(n_rows,) all codes at once."""
        return self.coded.codes


def as_frame(table: pa.Table, frame: Frame) -> Any:
    """An Arrow table as the kind of frame the user wants."""
    if frame == "arrow":
        return table
    if frame == "pandas":
        made = table.to_pandas()
        for column in table.schema:
            if _is_list(column.type):
                made[column.name] = table[column.name].to_pylist()  # to_pandas would make arrays of them
        return made
    if frame == "polars":
        import polars as pl

        return pl.from_arrow(table)
    raise ParameterError(f"frame must be 'pandas', 'polars' or 'arrow'; got {frame!r}.")


def as_arrow(frame: Any, choose: Callable[[Sequence[str]], Sequence[str]] | None = None) -> pa.Table:
    """Turn a pandas, polars, Arrow or other eager data frame into an Arrow table.

    `choose` picks columns from those that are there (default: all); the others are not even looked at.
    """
    choose = choose or (lambda names: names)
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if isinstance(frame, pa.Table):
        return frame.select(list(choose(check_unique(frame.column_names))))
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        wrapped = nw.from_native(frame, eager_only=True)
        names = check_unique([str(name) for name in wrapped.columns])
    except TypeError:
        raise ParameterError(
            f"votes must be a Votes object or a pandas, polars or Arrow table; got {type(frame).__name__}. "
            "For files use amcc.read_votes(path), for arrays Votes.from_dense(array)."
        ) from None
    except DuplicateError:
        names = check_unique([str(name) for name in frame.columns])
    return pa.table({name: _as_column(name, wrapped[:, names.index(name)]) for name in choose(names)})


def column_names(frame: Any) -> list[str]:
    """The names of the columns of a data frame, of which none is looked at."""
    names: list[str] = []

    def choose(found: Sequence[str]) -> list[str]:
        names.extend(found)
        return []

    as_arrow(frame, choose)
    return names


def check_unique(names: list[str]) -> list[str]:
    """The column names, unless two columns have the same."""
    if len(set(names)) < len(names):
        raise ColumnError(f"column names must be unique; got {_listed(names)}. Rename or drop one of the columns.")
    return names


# What Arrow raises for cells that do not go together, from 2**70 to half a Unicode character.
UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError)


def _as_column(name: str, series: Any) -> pa.Array | pa.ChunkedArray:
    try:
        return series.to_arrow()
    except UNFIT:  # an object column with more than one type in it: find where
        return _column_of_objects(name, series.to_list())


def _column_of_objects(name: str, cells: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(cells, from_pandas=True)  # NaN and its relatives are missing cells
    except UNFIT:
        pass
    blank = ("None", "nan", "<NA>", "NaT")
    filled = [(row, cell) for row, cell in enumerate(cells, start=1) if isinstance(cell, str) or str(cell) not in blank]
    first = filled[0][1] if filled else cells[0]
    for row, cell in filled:
        if type(cell) is not type(first):
            raise IdError(
                f"column {name!r} must hold one type; it starts with {first!r} ({type(first).__name__}), but row "
                f"{row} has {cell!r} ({type(cell).__name__}). Convert it first, for example with "
                f"frame[{name!r}].astype(str)."
            )
    raise IdError(
        f"column {name!r} must hold text, whole numbers of at most 64 bits, or lists of text; got "
        f"{type(first).__name__} like {first!r}. Convert it to text first."
    )


def _plain(name: str) -> str:
    return "".join(char for char in name.lower().lstrip("\ufeff") if char.isalnum())


def read_columns(
    frame: Any,
    wanted: Mapping[str, str] | None = None,
    needed: Sequence[Role] = ("worker", "item", "label"),
    roles: Sequence[Role] = ROLES,
) -> tuple[pa.Table, dict[Role, str]]:
    """The columns of a data frame that play a role, and which is which; a `label` column of lists is `labels`."""
    found: dict[Role, str] = {}

    def choose(names: Sequence[str]) -> list[str]:
        found.update(match_columns(names, wanted, needed, roles))
        return list(found.values())

    table = as_arrow(frame, choose)
    if "label" in found and _is_list(value_type(table[found["label"]])):
        found["labels"] = found.pop("label")
    return table, found


def match_columns(
    names: Sequence[str],
    wanted: Mapping[str, str] | None = None,
    needed: Sequence[Role] = ("worker", "item", "label"),
    roles: Sequence[Role] = ROLES,
) -> dict[Role, str]:
    """Decide which column plays which of `roles`, by an explicit mapping first and known aliases second.

    Where "label" is needed, "labels" will do.

    >>> match_columns(["task", "Annotator ID", "label", "noise"])
    {'worker': 'Annotator ID', 'item': 'task', 'label': 'label'}
    """
    wanted = dict(wanted or {})
    for role, column in wanted.items():
        if role not in ROLES:
            raise ParameterError(f"columns can be mapped for {', '.join(ROLES)}; got {role!r}.")
        if column not in names:
            raise ColumnError(f"column {column!r}, given for {role!r}, is missing; the columns are {_listed(names)}.")
    taken = set(wanted.values())
    if len(taken) < len(wanted):
        raise ColumnError(f"a column can be one thing only; the mapping {wanted} names one twice.")
    found: dict[Role, str] = {}
    for role in roles:
        if role in wanted:
            found[role] = wanted[role]
        elif OTHER_LAYOUT.get(role) in wanted:
            continue
        elif alike := _column_like(role, [name for name in names if name not in {*taken, *found.values()}]):
            found[role] = alike
    for role in needed:
        if role not in found and not (role == "label" and "labels" in found):
            raise ColumnError(_missing(role, names))
    if "label" in found and "labels" in found:
        raise ColumnError(
            f"a table has one label per row or one list per row; columns {found['label']!r} and {found['labels']!r} "
            f"are both there. Leave one out, or map the one that counts: columns={{'label': {found['label']!r}}} "
            f"(command line: --columns label={found['label']})."
        )
    return found


@cache
def _plain_names(aliases: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(_plain, aliases))


def columns_named(aliases: tuple[str, ...], names: Iterable[str]) -> list[str]:
    """Those of the names that are one of the aliases, whatever their case, spaces, dashes and underscores."""
    return [name for name in names if _plain(name) in _plain_names(aliases)]


def _column_like(role: Role, names: Sequence[str]) -> str | None:
    """The column that is called like the role; its own name beats the aliases, of which there may be one."""
    candidates = columns_named(ALIASES[role], names)
    canonical = columns_named(ALIASES[role][:1], candidates)
    chosen = canonical if len(canonical) == 1 else candidates
    if len(chosen) > 1:
        raise ColumnError(
            f"one column must hold the {role}; {_listed(chosen)} all look like it. "
            f"Say which: columns={{{role!r}: {chosen[0]!r}}} (command line: --columns {role}={chosen[0]})."
        )
    return chosen[0] if chosen else None


def _missing(role: Role, names: Sequence[str]) -> str:
    hint = ""
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        hint = " The header looks as if another separator were used: give it with separator= (--separator)."
    return (
        f"a column for the {role} is missing; the columns are {_listed(names)}. Rename it to {role!r}, or map it: "
        f"columns={{{role!r}: 'your column'}} (command line: --columns {role}=your_column).{hint}"
    )


def _listed(names: Iterable[Any], most: int = 12) -> str:
    shown = [repr(name) for name in names]
    more = f", … ({len(shown)} in all)" if len(shown) > most else ""
    return (", ".join(shown[:most]) + more) or "none"


def encode_ids(column: pa.ChunkedArray | pa.Array, role: str, name: str, list_start: Ints | None = None) -> Ids:
    """Codes and sorted vocabulary of an id column, or of the entries of lists; every id must be usable."""
    kind = value_type(column)
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or is_text(kind) or pa.types.is_null(kind)
            or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind))):  # fmt: skip
        raise IdError(
            f"a {role} id must be text or a whole number; column {name!r} holds {kind}. Convert the column to text "
            "first."
        )
    coded, names = _by_dictionary(column, name)
    coded = replace(coded, list_start=list_start)
    names = _text_or_whole_numbers(names, coded, role, name)
    # Sorted, and equal names merged, so that codes do not depend on the order of rows.
    distinct = pc.unique(names)
    ordered = distinct.take(pc.sort_indices(distinct))
    position = pc.index_in(names, value_set=ordered).to_numpy(zero_copy_only=False).astype(np.int32)
    return Ids(coded.translated(position), ordered)


def value_type(column: pa.ChunkedArray | pa.Array) -> pa.DataType:
    """What the cells are, however they are encoded."""
    encoded = pa.types.is_dictionary(column.type) or pa.types.is_run_end_encoded(column.type)
    return column.type.value_type if encoded else column.type


def _without_views(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """The column in an encoding that all of Arrow's functions take."""
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    if pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):
        return column.cast(pa.dictionary(pa.int32(), pa.large_string()))
    return column


def _by_dictionary(column: pa.ChunkedArray | pa.Array, name: str) -> tuple[Coded, pa.Array]:
    """A column as codes into its distinct cells, in order of appearance; a missing cell has a code, too."""
    column = _without_views(column)
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    encoded_here = not pa.types.is_dictionary(column.type)
    if encoded_here:
        column = column.dictionary_encode(null_encoding="encode")
    chunks = [chunk for chunk in column.chunks if len(chunk)]
    if encoded_here and chunks:  # then all chunks share one dictionary, and every entry is in use
        names = _checked_text(chunks[-1].dictionary, name)
        return Coded(tuple((chunk.indices.to_numpy(), None) for chunk in chunks)), names
    used_parts = in_threads(lambda number: _used_part(chunks[number]), len(chunks))
    batches, n_names = [], 0
    for raw, used, dictionary in used_parts:
        batches.append((raw, np.cumsum(used, dtype=np.int32) - 1 + n_names))
        n_names += len(dictionary)
    names = pa.concat_arrays([part[2] for part in used_parts]) if used_parts else pa.array([], pa.string())
    return Coded(tuple(batches)), _checked_text(names, name)


def _used_part(chunk: pa.DictionaryArray) -> tuple[npt.NDArray[Any], Mask, pa.Array]:
    """Indices of a chunk, which entries of its dictionary they use, and those entries.

    Entries that a filter left without a row do not count; a missing cell becomes an entry of its own.
    """
    indices, dictionary = chunk.indices, chunk.dictionary
    if indices.null_count:
        indices = pc.fill_null(indices.cast(pa.int64()), len(dictionary))
        dictionary = pa.concat_arrays([dictionary, pa.nulls(1, dictionary.type)])
    raw = indices.to_numpy(zero_copy_only=False)
    used = np.zeros(len(dictionary), dtype=bool)
    np.put(used, raw, True)
    return raw, used, dictionary.filter(pa.array(used))


def _checked_text(cells: pa.Array, name: str) -> pa.Array:
    """The cells, unless some are text in name only, as a damaged file may hold."""
    if is_text(cells.type):
        try:
            cells.validate(full=True)
        except pa.ArrowInvalid as error:
            raise InputError(f"column {name!r} must hold UTF-8 text; it does not ({error}).") from None
    return cells


def _text_or_whole_numbers(names: pa.Array, coded: Coded, role: str, name: str) -> pa.Array:
    """Distinct names as text or int64; `coded` only serves to say in which row a bad one stands."""

    def first_row(bad: Mask) -> int:
        return coded.first_row(int(bad.argmax()))

    if names.null_count:
        raise IdError(_missing_id(role, name, first_row(pc.is_null(names).to_numpy(zero_copy_only=False))))
    if pa.types.is_integer(names.type):
        # Only an unsigned 64-bit number can be too large for int64.
        return names.cast(pa.int64() if (pc.max(names).as_py() or 0) < 2**63 else pa.string())
    if pa.types.is_floating(names.type):
        numbers = names.to_numpy(zero_copy_only=False).astype(np.float64)
        if np.isnan(numbers).any():
            raise IdError(_missing_id(role, name, first_row(np.isnan(numbers))))
        odd = ~np.isfinite(numbers) | (numbers != np.floor(numbers)) | (np.abs(numbers) >= EXACT)
        if odd.any():
            raise IdError(
                f"a {role} id must be text or a whole number below 2**53 where others have a decimal point; column "
                f"{name!r} has {numbers[odd.argmax()]} in row {first_row(odd)}. Convert the column to text first."
            )
        return pa.array(numbers.astype(np.int64))
    try:
        names = names.cast(pa.string())
    except pa.ArrowInvalid as error:  # a time in a zone that nobody knows
        raise IdError(f"a {role} id must be readable; column {name!r} holds {names.type} ({error}).") from None
    blank = pc.equal(pc.utf8_trim_whitespace(names), "").to_numpy(zero_copy_only=False)
    if blank.any():
        raise IdError(_missing_id(role, name, first_row(blank)))
    return names


def recode(ids: Ids, vocabulary: pa.Array, role: str, name: str) -> Ids:
    """Codes into a vocabulary that the user fixed; an id outside of it is an error."""
    names = ids.names
    if names.type != vocabulary.type:
        names, vocabulary = names.cast(pa.string()), vocabulary.cast(pa.string())
    position = pc.index_in(names, value_set=vocabulary)
    if position.null_count:
        refuse_slips(vocabulary, names, role)
        stranger = _first(pc.is_null(position))
        raise IdError(
            f"column {name!r} has the {role} {names[stranger].as_py()!r} in row {ids.coded.first_row(stranger)}, which "
            f"is not among the {len(vocabulary)} given: {_listed(vocabulary[:12].to_pylist())}. Add it to the list or "
            "drop the row."
        )
    return Ids(ids.coded.translated(position.to_numpy(zero_copy_only=False).astype(np.int32)), vocabulary)


def vocabulary_of(names: Iterable[Any], role: str) -> pa.Array:
    """Arrow vocabulary from what a caller hands over; names must be unique and neither missing nor mixed."""
    if isinstance(names, str):
        raise ParameterError(f"{role} names must be a list; got the text {names!r}. Put it in a list: [{names!r}].")
    array = names if isinstance(names, pa.Array) else _column_of_objects(role, list(names))
    if len(array) == 0:
        return pa.array([], pa.string())
    ids = encode_ids(array, role, role)
    if len(ids.names) < len(array):
        twice = int(ids.codes[np.flatnonzero(np.bincount(ids.codes)[ids.codes] > 1)[0]])
        raise IdError(f"{role} names must be unique; {ids.names[twice].as_py()!r} is there more than once.")
    return ids.names.take(pa.array(ids.codes))


# -- names that look alike -------------------------------------------------------------------------------------------

# A name is what stands there, to the last space, wherever it is read: in votes, price lists, lists of items and labels,
# options. People write "dog" and "dog " without seeing it, so such names are pointed out, never changed.

PLAIN_NAME = r"^[!-~]+( [!-~]+)*$"
"""ASCII words with single spaces between them: nothing in it is invisible."""

MOST_COMPARED = 1_000_000
"""Names among which look-alikes are searched, which takes about a second; more are hardly read by people."""


def looks(names: pa.Array, *, case: bool = False) -> pa.Array:
    """Names as people see them: without invisible characters and spaces at the ends, others as one space.

    Unless `case` matters, in small letters.
    """
    names = names.cast(pa.string())
    names = names if case else pc.utf8_lower(names)
    odd = pc.invert(pc.match_substring_regex(names, PLAIN_NAME))
    if not _any(odd):
        return names
    seen = pc.replace_substring_regex(pc.utf8_normalize(names.filter(odd), form="NFC"), r"[\s\p{Z}]+", " ")
    seen = pc.utf8_trim_whitespace(pc.replace_substring_regex(seen, r"[\p{Cf}\p{Cc}]", ""))
    return pc.replace_with_mask(names, odd, seen)


def note_on_lookalikes(names: pa.Array, role: str) -> list[str]:
    """A sentence about names that people would take for the same; none where there are none, or very many names."""
    if not is_text(names.type) or not 1 < len(names) <= MOST_COMPARED:
        return []
    code = looks(names).dictionary_encode().indices.to_numpy()
    alike = np.bincount(code)[code] > 1
    if not alike.any():
        return []
    example = names.filter(pa.array(code == code[alike.argmax()]))[:3].to_pylist()
    several = f"{role[:-1]}ies" if role.endswith("y") else f"{role}s"
    return [
        f"{alike.sum()} {several} have names that differ only in case, spaces or invisible characters, like "
        f"{' and '.join(map(repr, example))}; each counts as a {role} of its own"
    ]


def refuse_slips(given: pa.Array, known: pa.Array, role: str) -> None:
    """Raise IdError for a given name that is not known, but would be with other white space."""
    given, known = given.cast(pa.string()), known.cast(pa.string())
    strangers = given.filter(pc.invert(pc.is_in(given, value_set=known)))
    if not len(strangers):
        return
    meant = pc.index_in(looks(strangers, case=True), value_set=looks(known, case=True))
    if meant.null_count < len(meant):
        slip = _first(pc.is_valid(meant))
        one, other = strangers[slip].as_py(), known[meant[slip].as_py()].as_py()
        raise IdError(
            f"a {role} must be written in one way; {one!r} and {other!r} differ only in spaces or invisible "
            "characters. Write both alike, to the last space."
        )


def _missing_id(role: str, name: str, row: int) -> str:
    return (
        f"every {role} must have a name; column {name!r} is empty in row {row}. "
        "Drop such rows or fill the column before reading."
    )


def parse_values(
    column: pa.ChunkedArray | pa.Array, name: str, *, threshold: float | None = None, zero: Zero | None = None
) -> Coded:
    """Read yes (+1) and no (−1) in the spellings people use; 0 stands for a blank: asked of nobody.

    `threshold` turns graded scores into votes (score >= threshold is yes). `zero` says what 0 means where −1 occurs
    beside it; without −1 it is a plain "no".
    """
    if zero is not None and zero not in get_args(Zero):
        raise ParameterError(f"zero must be 'no' or 'unasked'; got {zero!r}.")
    if threshold is not None and not (isinstance(threshold, Real) and math.isfinite(threshold)):
        raise ParameterError(f"threshold must be a number; got {threshold!r}.")
    kind = value_type(column)
    if not (pa.types.is_boolean(kind) or _is_number(kind) or is_text(kind) or pa.types.is_null(kind)):
        raise VoteValueError(f"column {name!r} must hold yes or no; it holds {kind}. Convert it to text or numbers.")
    coded, names = _by_dictionary(column, name)
    if threshold is not None and (pa.types.is_integer(names.type) or pa.types.is_floating(names.type)):
        scores = names.to_numpy(zero_copy_only=False).astype(np.float64)  # missing cells become NaN
        return coded.translated(np.where(np.isnan(scores), 0, np.where(scores >= threshold, 1, -1)).astype(np.int8))
    meanings = []
    for code, spelling in enumerate(names.to_pylist()):
        if (meaning := _meaning(spelling, threshold)) is None:
            raise VoteValueError(_unknown(name, spelling, coded.first_row(code), threshold))
        meanings.append(meaning)
    if {"zero", "minus"} <= set(meanings) and zero is None:
        raise VoteValueError(
            f"column {name!r} has both -1 and 0 (row {coded.first_row(meanings.index('zero'))}), and 0 could mean 'no' "
            "or 'not asked'. Say which: zero='no' or zero='unasked' (command line: --zero no, --zero unasked)."
        )
    sign = {"yes": 1, "no": -1, "minus": -1, "blank": 0, "zero": 0 if zero == "unasked" else -1}
    return coded.translated(np.array([sign[meaning] for meaning in meanings], dtype=np.int8))


def _meaning(spelling: Any, threshold: float | None) -> str | None:
    """What one spelling stands for: yes, no, zero, minus, blank, or None if it is none of them."""
    if spelling is None or (isinstance(spelling, float) and math.isnan(spelling)):
        return "blank"
    if isinstance(spelling, bool):
        return "yes" if spelling else "no"
    word = str(spelling).strip().lower()
    if word in BLANK_WORDS:
        return "blank"
    number = _number(spelling)
    if threshold is not None:
        return None if number is None else ("yes" if number >= threshold else "no")
    if number is not None:
        return {1.0: "yes", 0.0: "zero", -1.0: "minus"}.get(number)
    return "yes" if word in YES_WORDS else "no" if word in NO_WORDS else None


def number_in(cell: Any) -> str | None:
    """The number that is written there, as text that Python reads the same way; None where there is none.

    >>> number_in(" −1.50 "), number_in("1_000"), number_in("infinity")
    ('-1.50', None, None)
    """
    text = str(cell).strip().replace("−", "-")
    return text if NUMBER.fullmatch(text) else None


def _number(spelling: Any) -> float | None:
    text = number_in(spelling)
    return float(text) if text is not None and math.isfinite(float(text)) else None


def _unknown(name: str, spelling: Any, row: int, threshold: float | None) -> str:
    where = f"column {name!r} has {spelling!r} in row {row}."
    if threshold is not None:
        return f"with a threshold every score must be a number, or blank for 'not asked'; {where}"
    if _number(spelling) is None:
        return (
            "a vote must be yes or no (1/0, 1/-1, true/false, yes/no, present/absent) or blank for 'not asked'; "
            f"{where} Correct it, or drop the row."
        )
    return (
        f"a vote must be yes or no; {where} For graded scores say from where on they count as yes: threshold=… "
        "(command line: --threshold …)."
    )


def encode_times(column: pa.ChunkedArray | pa.Array, name: str) -> npt.NDArray[Any]:
    """(n_rows,) integers that order the rows by time; text is read as a number or as ISO 8601."""
    kind = value_type(column)
    if not (_is_number(kind) or is_text(kind) or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind))):
        raise InputError(f"column {name!r} must hold times; it holds {kind}. Drop it to go by the order of rows.")
    coded, names = _by_dictionary(column, name)
    times = _parsed_times(names) if is_text(kind) else names
    numbers = times.to_numpy(zero_copy_only=False).astype(np.float64) if pa.types.is_floating(kind) else np.empty(0)
    if (large := np.abs(numbers) >= EXACT).any():
        code = int(large.argmax())
        raise InputError(
            f"times must be exact; column {name!r} has {names[code].as_py()!r} in row {coded.first_row(code)}, which "
            "may be rounded. Give whole numbers without missing cells, or text."
        )
    if times.null_count or pa.types.is_floating(times.type):
        missing = pc.fill_null(pc.is_null(times, nan_is_null=True), True).to_numpy(zero_copy_only=False)
        if missing.any():
            code = int(missing.argmax())
            raise InputError(
                f"every row must have a time, a number or like 2024-05-31T12:00:00; column {name!r} has "
                f"{names[code].as_py()!r} in row {coded.first_row(code)}. Drop the column to go by the order of rows."
            )
    return coded.translated(pc.rank(times, tiebreaker="dense").to_numpy()).codes


def _parsed_times(names: pa.Array) -> pa.Array:
    """Distinct times that were text; all missing if they cannot be read in one way."""
    words = pc.utf8_trim_whitespace(names)
    for kind in (pa.int64(), pa.float64(), pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
        try:
            times = words.cast(kind)
        except pa.ArrowInvalid:
            continue
        return _exact(words, times) if kind == pa.float64() else times
    return pa.nulls(len(names))


def _exact(words: pa.Array, numbers: pa.Array) -> pa.Array:
    """Written numbers with all their digits (seconds with nine decimals have more than a float), if they fit."""
    largest = pc.max(pc.abs(numbers)).as_py()
    if largest is None or not largest < 1e19:  # beyond, Arrow does not see that its decimals overflow
        return numbers
    try:
        return words.cast(pa.decimal128(38, 18))
    except pa.ArrowInvalid:  # more than 18 decimals, or no number
        return numbers


@dataclass(frozen=True)
class LabelLists:
    """A list-valued column: the labels of all rows behind each other, and where each row's begin."""

    labels: Ids
    start: Ints
    missing: Mask

    @property
    def row(self) -> Ints:
        """The row that each entry of `labels` belongs to."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


def encode_lists(column: pa.ChunkedArray | pa.Array, name: str, separator: str | None) -> LabelLists:
    """Codes of a column whose cells are label lists, real ones or text joined by `separator`.

    A missing cell is an answer that was not given; an empty one says that no label applies.
    """
    column = _contiguous(column)
    if is_text(column.type):
        column = _split(column, name, separator)
    if not _is_list(column.type):
        raise ColumnError(
            f"column {name!r} must hold one list of labels per row; it holds {column.type}. For one label per row "
            "call the column 'label' (command line: --columns label=your_column)."
        )
    missing = pc.is_null(column).to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    start = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return LabelLists(encode_ids(pc.list_flatten(column), "label", name, start), start, missing)


def _split(column: pa.Array, name: str, separator: str | None) -> pa.Array:
    """Text cells like `dog|cat` as lists; the empty text is the empty list."""
    column = _checked_text(column, name)
    if separator == "":
        raise ParameterError("label_separator must not be empty; leave it out for '|'.")
    if separator is None:
        separator = "|"
        for other in (";", ","):
            if not _any(pc.match_substring(column, "|")) and _any(found := pc.match_substring(column, other)):
                raise ColumnError(
                    f"label lists are separated by '|' unless told otherwise; column {name!r} has no '|' but "
                    f"{column[_first(found)].as_py()!r} in row {_first(found) + 1}. Say label_separator={other!r} "
                    f"(command line: --label-separator {other!r}), or '|' if this is one label."
                )
    lists = pc.split_pattern(column, separator)
    entries = pc.utf8_trim_whitespace(pc.list_flatten(lists))
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    kept = pc.not_equal(entries, "").to_numpy(zero_copy_only=False)
    row_start = np.concatenate([[0], np.cumsum(kept)])[offsets]
    mask = pc.is_null(column).to_numpy(zero_copy_only=False)
    return pa.LargeListArray.from_arrays(
        pa.array(row_start, pa.int64()), entries.filter(pa.array(kept)), mask=pa.array(mask)
    )


def _contiguous(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One array without a dictionary; text may be longer than 2 GB."""
    column = _without_views(column)
    kind = value_type(column)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if pa.types.is_dictionary(column.type):
        chunks = [chunk.dictionary_decode() for chunk in chunks]
    if is_text(kind) or pa.types.is_null(kind):
        chunks = [chunk.cast(pa.large_string()) for chunk in chunks]
    return pa.concat_arrays(chunks) if chunks else pa.array([], kind)


def is_text(kind: pa.DataType) -> bool:
    """Whether it is text, however it is stored."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind)
    )  # fmt: skip


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _any(mask: pa.Array) -> bool:
    return bool(pc.any(mask).as_py())


def _first(mask: pa.Array) -> int:
    return int(pc.index(mask, True).as_py())
