"""Names come from anybody: none may steer a terminal, and none need compute in a spreadsheet."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from amcc.tables import is_text

ACTING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal obeys instead of showing them: controls, line ends, changes of direction, half pairs."""

FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")
"""How a cell begins that a spreadsheet computes instead of showing it, as OWASP lists it (CSV injection)."""


def visible(text: str) -> str:
    r"""Text in which such characters are written as Python writes them.

    >>> visible("caf\u00e9 \x1b[31m")
    'café \\x1b[31m'
    """
    return ACTING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class PlainConsole(Console):
    """Prints text as it is: no [markup], no :emoji:, and nothing that the terminal would obey."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """What Rich makes of any text, be it printed or the cell of a table."""
        return super().render_str(visible(text), **options)


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
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if is_text(column.type):
            table = table.set_column(place, name, _each_changed(column, change))
        elif pa.types.is_nested(column.type) and is_text(column.type.value_type):
            lists = (cell and [change(cell[0]), *map(change_further, cell[1:])] for cell in column.to_pylist())
            table = table.set_column(place, name, pa.array(lists, column.type))
    return table


def _each_changed(column: pa.ChunkedArray, change: Change) -> pa.ChunkedArray:
    chunks = []
    for chunk in column.chunks:
        coded = chunk.dictionary_encode()  # few names, many rows
        names = [change(name) for name in coded.dictionary.to_pylist()]
        chunks.append(pa.array(names, chunk.type).take(coded.indices))
    return pa.chunked_array(chunks, column.type)
