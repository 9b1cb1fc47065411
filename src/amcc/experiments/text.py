"""Numbers and tables for people: what all pages of the experiments write alike.

Cells are text when they get here: how many digits a number has is up to the table.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

# What stands where there is no number: a blank cell could be taken for a mistake.
EMPTY = "—"

Rows = list[list[str]]


def number(value: float | None, form: str = ".3f") -> str:
    """A number for people; what is not there, None or NaN, is a dash.

    >>> number(0.12345), number(0.5, "+.1f"), number(None), number(float("nan"))
    ('0.123', '+0.5', '—', '—')
    """
    return EMPTY if value is None or np.isnan(value) else format(value, form)


def markdown_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Lines of a table; bars inside of cells are escaped, because they would end the cell.

    >>> markdown_table(["method", "a|b"], [["amcc", "0.9"]])
    ['| method | a\\\\|b |', '|---|---|', '| amcc | 0.9 |']
    """
    table = [[cell.replace("|", "\\|") for cell in row] for row in (list(head), *rows)]
    lines = [f"| {' | '.join(row)} |" for row in table]
    return [lines[0], "|---" * len(table[0]) + "|", *lines[1:]]
