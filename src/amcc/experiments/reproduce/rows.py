"""Rows of long tables: one measurement a row, which figures and views pick from and lay out.

A long table is a list of dicts with the same keys. It goes to a CSV file as it is; figures want its distinct sets and
methods, and the rows of one of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# A measurement: column → value. Rows of a table have the same columns in the same order.
Row = Mapping[str, Any]


def distinct(rows: Iterable[Row], column: str) -> list[Any]:
    """Values of a column, each once, in the order in which they first come.

    >>> distinct([{"set": "B"}, {"set": "A"}, {"set": "B"}], "set")
    ['B', 'A']
    """
    return list(dict.fromkeys(row[column] for row in rows))


def where(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Rows with these values in these columns.

    >>> where([{"set": "A", "x": 1}, {"set": "A", "x": 2}, {"set": "B", "x": 1}], set="A", x=1)
    [{'set': 'A', 'x': 1}]
    """
    return [row for row in rows if all(row[column] == value for column, value in wanted.items())]


def columns(rows: Sequence[Row], *names: str) -> list[list[Any]]:
    """The values of each of these columns.

    >>> columns([{"x": 1, "mean": 0.5}, {"x": 2, "mean": 0.7}], "x", "mean")
    [[1, 2], [0.5, 0.7]]
    """
    return [[row[name] for row in rows] for name in names]
