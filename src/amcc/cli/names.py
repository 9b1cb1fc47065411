"""Names come from anybody: none may steer a terminal, and none need compute in a spreadsheet.

This file is about whole tables that are written; `console.visible` does the same for text that is printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa

from amcc.cli.console import visible
from amcc.tables import is_text

# How a cell begins that a spreadsheet computes instead of showing it, as OWASP lists it (CSV injection). The last four
# are the same signs at full width, which some spreadsheets take for the narrow ones.
FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")


def for_terminals(table: pa.Table) -> pa.Table:
    """The table with every name visible."""
    return _changed(table, visible, visible)


def for_spreadsheets(table: pa.Table) -> pa.Table:
    """The table with ' before every cell that would be computed; the cell of a list begins as its first entry does."""
    return _changed(table, uncomputed, str)


def uncomputed(cell: str) -> str:
    """A cell that a spreadsheet shows.

    >>> uncomputed("=1+1"), uncomputed("cat")
    ("'=1+1", 'cat')
    """
    return f"'{cell}" if FORMULA.match(cell) else cell


Change = Callable[[str], str]


def _changed(table: pa.Table, change: Change, change_further: Change) -> pa.Table:
    """The table with other text; `change_further` is for the entries of lists from the second on."""
    for place, name in enumerate(table.column_names):
        column = table[place]
        # Coded columns are unpacked: two names may become the same text, and a dictionary must not repeat.
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if is_text(column.type):
            table = table.set_column(place, name, _each_changed(column, change))
        elif pa.types.is_nested(column.type) and is_text(column.type.value_type):
            lists = (cell and [change(cell[0]), *map(change_further, cell[1:])] for cell in column.to_pylist())
            table = table.set_column(place, name, pa.array(lists, column.type))
    return table


def _each_changed(column: pa.ChunkedArray, change: Change) -> pa.ChunkedArray:
    """A column of text with each cell changed; blank cells stay blank."""
    chunks = []
    for chunk in column.chunks:
        # Few names stand in many rows: each distinct name is changed once.
        coded = chunk.dictionary_encode()
        names = [change(name) for name in coded.dictionary.to_pylist()]
        chunks.append(pa.array(names, chunk.type).take(coded.indices))
    return pa.chunked_array(chunks, column.type)
