"""A table with its roles known: ask for the worker's ids, and need not know what the column is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from amcc.tables.arrow_types import is_list, value_type
from amcc.tables.frames import as_arrow
from amcc.tables.ids_to_codes import Ids, encode_ids
from amcc.tables.label_lists import LabelLists, encode_lists
from amcc.tables.roles import ROLES, Role, match_columns


class Columns(NamedTuple):
    """The columns of a table that play a role, and which is which."""

    table: pa.Table
    roles: Mapping[Role, str]

    def has(self, role: Role) -> bool:
        """Whether a column plays this role."""
        return role in self.roles

    def cells(self, role: Role) -> pa.ChunkedArray:
        """The column as it is."""
        return self.table[self.roles[role]]

    def ids(self, role: Role) -> Ids:
        """The column's names as codes."""
        return encode_ids(self.cells(role), role, self.roles[role])

    def lists(self, role: Role, separator: str | None = None) -> LabelLists:
        """The column's lists of labels as codes."""
        return encode_lists(self.cells(role), self.roles[role], separator)


def read_columns(
    frame: Any,
    wanted: Mapping[str, str] | None = None,
    needed: Sequence[Role] = ("worker", "item", "label"),
    roles: Sequence[Role] = ROLES,
) -> Columns:
    """The columns of a data frame that play a role; a `label` column of lists is `labels`.

    Columns without a role are not even converted. The arguments are those of `match_columns`.

    >>> columns = read_columns(pa.table({"Rater": ["bob", "ann"], "task": [7, 8], "tag": ["x", "y"]}))
    >>> columns.roles["worker"], columns.ids("worker").codes.tolist()
    ('Rater', [1, 0])
    """
    found: dict[Role, str] = {}

    def choose(names: Sequence[str]) -> list[str]:
        found.update(match_columns(names, wanted, needed, roles))
        return list(found.values())

    table = as_arrow(frame, choose)
    if "label" in found and is_list(value_type(table[found["label"]])):
        found["labels"] = found.pop("label")
    return Columns(table, found)
