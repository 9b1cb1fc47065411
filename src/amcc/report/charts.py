"""Pieces of charts that more than one panel draws with: data, colours, keys of categories, heat maps.

The charts are made with altair, which writes Vega-Lite. A chart is data (`rows`), a mark (a bar, a point, a tile) and
*channels*, which say what of the data becomes a place, a colour or a size. In `"share:Q"` the letter is the kind of
data: Q for numbers, N for names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import altair as alt
import numpy as np

from amcc import plotting

# As in figures, so that a reader meets one set of colours.
BLUE, ORANGE, VERMILION, SKY = plotting.BLUE, plotting.ORANGE, plotting.VERMILION, plotting.SKY
# For what is not the message. Both can be seen on white and on black.
GREY, PALE_GREY = "#888", "#bbbbbb"

# A table of more cells than this is drawn without its numbers: they would have to be too small to be read.
MAX_CELLS_WITH_NUMBERS = 15**2

Chart = alt.Chart | alt.LayerChart | alt.FacetChart

SHARE = alt.Scale(domain=[0, 1])

Key = Mapping[str, Any] | None
ON_TOP: Key = {"orient": "top"}
# Beside the chart, where vega puts keys unless told otherwise.
BESIDE: Key = {}

Channel = TypeVar("Channel")


def rows(**columns: Iterable[Any]) -> dict[str, Any]:
    """Columns as the data of a chart. NaN becomes an empty cell, as JSON has none.

    Numbers are rounded to four digits: no eye sees more in a chart, and the page is smaller.

    >>> rows(label=["a", "b"], share=np.array([1 / 3, np.nan]))
    {'values': [{'label': 'a', 'share': 0.3333}, {'label': 'b', 'share': None}]}
    """

    def short(value: Any) -> Any:
        if not isinstance(value, float):
            return value
        return None if np.isnan(value) else round(value, 4)

    plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    return {"values": [dict(zip(columns, map(short, row), strict=True)) for row in zip(*plain, strict=True)]}


def columns_of(records: Iterable[Mapping[str, Any]], *names: str) -> dict[str, list[Any]]:
    """Some columns of a table that is given row by row, ready for `rows`.

    >>> columns_of([{"a": 1, "b": 2}, {"a": 3, "b": 4}], "b")
    {'b': [2, 4]}
    """
    found = list(records)
    return {name: [record[name] for record in found] for name in names}


def categories(channel: Callable[..., Channel], field: str, looks: Mapping[str, Any], key: Key = BESIDE) -> Channel:
    """A channel that gives every category its own look, with a key that needs no title.

    channel : such as `alt.Color`, `alt.Shape`, `alt.StrokeDash`
    looks : category to colour, shape or dash, in the order of the key
    key : options of `alt.Legend`; None for no key

    >>> categories(alt.Color, "state:N", {"open": ORANGE, "settled": BLUE}, None).to_dict()["scale"]
    {'domain': ['open', 'settled'], 'range': ['#e69f00', '#0072b2']}
    """
    scale = alt.Scale(domain=list(looks), range=list(looks.values()))
    return channel(field, scale=scale, legend=None if key is None else alt.Legend(title=None, **key))


def constant(text: str) -> str:
    """A text as an expression of Vega, whatever quotes are in it.

    >>> print(constant("it's"))
    "it's"
    """
    return json.dumps(text)


def strength(field: str, most: float = 1.0, **key: Any) -> alt.Opacity:
    """Opacity for shares: pale is 0, dark is the most there can be.

    It ends at 0.9, so that numbers can be read on the darkest tile, and starts above 0, so that a tile for 0 is not
    taken for an empty cell.
    """
    scale = alt.Scale(domain=[0, most], range=[0.03, 0.9])
    return alt.Opacity(field, scale=scale, legend=alt.Legend(symbolType="square", **key))


def slanted(orient: Literal["top", "bottom"] = "top") -> alt.Axis:
    """The axis of a heat map's columns: slanted names take less width, and those at the top are read first."""
    return alt.Axis(orient=orient, labelAngle=-45)


def heat_map(
    base: alt.Chart, tile: Mapping[str, Any], number: str, digits: str, *, numbered: bool,
    color: Any = alt.Undefined, ink: Any = alt.Undefined,
) -> Chart:  # fmt: skip
    """Tiles for a table, with its numbers written on them where there is room.

    base : the data with its two axes
    tile : channels of the tiles; color : of all tiles, unless a channel says it
    number, digits : the field that is written on the tiles, and its format; ink : the colour of the numbers
    numbered : whether there is room, see `MAX_CELLS_WITH_NUMBERS`
    """
    tiles = base.mark_rect(color=color).encode(**tile)
    numbers = base.mark_text(color=ink).encode(text=alt.Text(number, format=digits))
    return alt.layer(tiles, *[numbers] * numbered)


def encode(marks: alt.Chart, **channels: Any) -> alt.Chart:
    """Marks with what of the data becomes a place, a colour, …: altair's own `encode`, which has no types."""
    chart: alt.Chart = marks.encode(**channels)
    return chart


def diagonal(dash: list[float], **channels: Any) -> alt.Chart:
    """The dashed line from corner to corner of a square of shares, in fields x and y; dash and gap in pixels."""
    return encode(alt.Chart(rows(x=[0, 1], y=[0, 1])).mark_line(strokeDash=dash, color=GREY), **channels)


def ordered(field: str, names: Sequence[str]) -> alt.Y:
    """The vertical axis with one row for each name, in this order; vega would sort them by the alphabet."""
    return alt.Y(field, sort=names, title=None)
