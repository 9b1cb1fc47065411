"""Whatever is a table: as a frame of the library that people use, and as a card in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from amcc.tables.frames import as_frame

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

# Rows of a card: enough to see what the columns hold.
CARD_ROWS = 5
# Letters of a cell: longer texts would make the card wider than a notebook.
CARD_TEXT = 60

# Colours are those of the notebook, be it light or dark; all that is set here is space.
_CELL = 'style="text-align: left; padding: 0 1em 0 0"'


class Tabular(ABC):
    """Base of what is a table. A class says which (`to_arrow`), and what to call it in a notebook (`_heading`)."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas frame."""
        frame: pd.DataFrame = as_frame(self.to_arrow(), "pandas")
        return frame

    def to_polars(self) -> pl.DataFrame:
        """As a polars frame; needs `pip install 'amcc[polars]'`."""
        frame: pl.DataFrame = as_frame(self.to_arrow(), "polars")
        return frame

    def _heading(self) -> str:
        """What stands above the table in a notebook."""
        return type(self).__name__

    def _repr_html_(self) -> str:
        """For notebooks: the heading and the first rows."""
        return card(self._heading(), rows=self.to_arrow())


def card(heading: str, facts: Mapping[str, str] | None = None, rows: pa.Table | None = None) -> str:
    """A small piece of HTML for notebooks: a heading, facts by name, and the first rows of a table; names are escaped.

    >>> card("Votes", {"workers": "<b>"})
    '<div><b>Votes</b><br>workers: &lt;b&gt;</div>'
    """
    lines = [f"<b>{escape(heading)}</b>", *(f"{escape(name)}: {escape(text)}" for name, text in (facts or {}).items())]
    return f"<div>{'<br>'.join(lines)}{'' if rows is None else _rows(rows)}</div>"


def _rows(table: pa.Table) -> str:
    """The first rows, and how many there are."""
    head = "".join(f"<th {_CELL}>{escape(name)}</th>" for name in table.column_names)
    body = "".join(
        f"<tr>{''.join(f'<td {_CELL}>{escape(_shown(cell))}</td>' for cell in row.values())}</tr>"
        for row in table.slice(0, CARD_ROWS).to_pylist()
    )
    left_out = "" if table.num_rows <= CARD_ROWS else f"the first {CARD_ROWS} of {table.num_rows:,} rows"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{left_out}"


def _shown(cell: Any) -> str:
    """A cell as text.

    >>> _shown(0.123456), _shown(["cat", "dog"]), _shown(None)
    ('0.1235', 'cat, dog', '')
    """
    if cell is None:
        return ""
    if isinstance(cell, list):
        return _shown(", ".join(map(str, cell)))
    text = f"{cell:.4g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= CARD_TEXT else f"{text[: CARD_TEXT - 1]}…"
