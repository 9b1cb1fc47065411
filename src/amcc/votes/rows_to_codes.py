"""The place where a vote becomes codes: item 3, worker 7, label 1, value +1, from a row of a table or from a caller.

Three layouts of tables are known. *Long*: one row per vote (worker, item, label, value). *Ticks*: one row per yes
(worker, item, label). *Sets*: one row per answer (worker, item, labels). The result, `VoteRows`, is still in the order
of the table; `merging` sorts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc import tables
from amcc.arrays import Signs
from amcc.errors import EmptyInputError, ParameterError, VoteValueError
from amcc.tables import Coded, Columns, Ids, Zero
from amcc.votes.merging import VoteRows
from amcc.votes.reading import OnConflict, Reading, Unmentioned, roles_read
from amcc.votes.ticks import votes_from_ticks


def rows_to_codes(
    frame: Any,
    *,
    columns: Mapping[str, str] | None,
    unmentioned: Unmentioned | None,
    labels: Iterable[Any] | None,
    items: Iterable[Any] | None,
    threshold: float | None,
    zero: Zero | None,
    label_separator: str | None,
    on_conflict: OnConflict,
) -> VoteRows:
    """Read a data frame; the options are those of `Votes.from_frame`.

    >>> table = pa.table({"worker": ["bob", "ann"], "item": [5, 5], "label": ["cat", "cat"], "value": ["yes", "no"]})
    >>> rows = rows_to_codes(
    ...     table, columns=None, unmentioned=None, labels=None, items=None, threshold=None, zero=None,
    ...     label_separator=None, on_conflict="error")
    >>> rows.codes["worker"].codes.tolist(), rows.value.codes.tolist(), rows.names["worker"].to_pylist()
    ([1, 0], [1, -1], ['ann', 'bob'])
    """
    found = tables.read_columns(frame, columns, roles=roles_read(on_conflict))
    if found.table.num_rows == 0:
        raise EmptyInputError("there must be at least one vote; the table has columns but no rows.")
    if unmentioned is not None and unmentioned not in get_args(Unmentioned):
        raise ParameterError(f"unmentioned must be 'absent' or 'unknown'; got {unmentioned!r}.")
    # All columns cut at the same rows: keys are packed piece by piece from all of them.
    found = Columns(pa.Table.from_batches(found.table.to_batches(), found.table.schema), found.roles)
    item, worker = _items(found, items), found.ids("worker")
    known_labels = None if labels is None else tables.vocabulary_of(labels, "label")
    sample = found.ids("sample").codes if found.has("sample") else None
    named = {str(role): column for role, column in found.roles.items()}
    # With a value and a label in each row the table is long; else rows are ticks, or answers with lists.
    if found.has("value") and found.has("label"):
        row, reading = None, Reading(columns=named)
        label = found.ids("label")
        if known_labels is not None:
            label = tables.recode(label, known_labels, "label", found.roles["label"])
        value = tables.parse_values(found.cells("value"), found.roles["value"], threshold=threshold, zero=zero)
    else:
        row, label, signs, blanks = votes_from_ticks(
            found, item, worker, sample, known_labels=known_labels, unmentioned=unmentioned,
            label_separator=label_separator,
        )  # fmt: skip
        value, reading = Coded.of(signs), Reading(columns=named, unmentioned=unmentioned, blanks=blanks)

    def of_votes(cells: npt.NDArray[Any] | None) -> npt.NDArray[Any] | None:
        """What rows say, for each vote: a row of ticks makes several votes."""
        return cells if row is None or cells is None else cells[row]

    time = tables.encode_times(found.cells("time"), found.roles["time"]) if found.has("time") else None
    # Of long tables nothing is translated yet: `Coded` keeps Arrow's indices until keys are packed.
    of_row = {"item": item.coded, "worker": worker.coded}
    if row is not None:
        of_row = {role: Coded.of(coded.codes[row]) for role, coded in of_row.items()}
    names = {"item": item.names, "worker": worker.names, "label": label.names}
    return VoteRows(
        {**of_row, "label": label.coded}, value, names, reading, of_votes(time), of_votes(sample), row
    )  # fmt: skip


def _items(found: Columns, further: Iterable[Any] | None) -> Ids:
    """The items of the table; `further` adds items that nobody answered yet, written alike."""
    item = found.ids("item")
    if further is None:
        return item
    vocabulary = tables.vocabulary_of(further, "item")
    # "img1 " in the list and "img1" in the table would be two items, one of them without an answer.
    tables.refuse_slips(vocabulary, item.names, "item")
    return tables.recode(item, tables.with_further_names(item.names, vocabulary), "item", found.roles["item"])


def check_codes(
    codes: Mapping[str, npt.ArrayLike],
    value: npt.ArrayLike,
    names: Mapping[str, Iterable[Any]],
    time: npt.ArrayLike | None = None,
    reading: Reading | None = None,
) -> VoteRows:
    """Codes that a caller brings, checked: compiled loops index with them without bounds checks.

    codes, names : by role, "item", "worker" and "label"; value : (n_votes,) of −1, 0 (not asked) and 1.
    """
    vocabularies = {role: tables.vocabulary_of(each, role) for role, each in names.items()}
    signs: Signs = np.asarray(value)
    coded = {}
    for role, given in codes.items():
        code, size = np.asarray(given), len(vocabularies[role])
        if code.shape != signs.shape or code.ndim != 1:
            raise ParameterError(f"{role} codes must have the shape of value {signs.shape}; got {code.shape}.")
        if code.size and code.dtype.kind not in "iu":
            raise ParameterError(f"{role} codes must be whole numbers; got {code.dtype}.")
        if code.size and (code.min() < 0 or code.max() >= size):
            raise ParameterError(f"{role} codes must lie in 0..{size - 1}; got {code.min()}..{code.max()}.")
        coded[role] = Coded.of(code)
    if not np.isin(np.unique(signs), (-1, 0, 1)).all():
        raise VoteValueError(f"values must be -1, 0 or 1; got {np.unique(signs)[:8]}.")
    times = None if time is None else np.asarray(time)
    return VoteRows(coded, Coded.of(signs), vocabularies, reading or Reading(), times)
