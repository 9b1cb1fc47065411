"""Small charts as SVG without scripts and styles of their own: where lines and ticks go; `chart.html` draws them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

# Of the drawing, in its own units, and of the lines of text around it.
WIDTH, HEIGHT = 360.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 10.0, 30.0

# Of a letter of the vertical axis: digits of 12 pixels are 7 wide. And the room beside them.
LETTER, BESIDE = 7.0, 10.0

# About as many ticks as have room beside each other on a telephone.
TICKS = 4

# More points than a line has pixels would be sent for nothing.
MOST_POINTS = 240

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """A line of a chart; `look` is its class: main, second or forecast."""

    points: Sequence[Point]
    name: str
    look: str = "main"


@dataclass(frozen=True)
class Band:
    """A value with its interval, at one place: what was measured."""

    at: float
    low: float
    value: float
    high: float
    name: str


@dataclass(frozen=True)
class Tick:
    """A line of the grid and what it says."""

    place: float
    text: str


@dataclass(frozen=True)
class Drawing:
    """A chart in the units of the drawing; see `draw`."""

    title: str
    lines: Sequence[tuple[str, str, str]]  # look, points, name
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    bands: Sequence[tuple[float, float, float, float]] = field(default_factory=tuple)  # x, low, value, high
    legend: Sequence[tuple[str, str]] = field(default_factory=tuple)  # look, name
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    bottom: float = HEIGHT - BOTTOM


def draw(
    title: str, lines: Sequence[Line], *, x_text: Callable[[float], str], y_text: Callable[[float], str],
    bands: Sequence[Band] = (), top: float | None = None,
) -> Drawing | None:  # fmt: skip
    """A chart with both axes from the data; the vertical one begins at 0. None where there is nothing to draw.

    top : the least that the vertical axis reaches.
    """
    points = [point for line in lines for point in line.points]
    if len({x for x, _ in points}) < 2:
        return None
    xs = [x for x, _ in points] + [band.at for band in bands]
    low, high = min(xs), max(xs)
    y_high = max([y for _, y in points] + [band.high for band in bands] + [top or 0.0])
    y_values = nice_ticks(0.0, y_high or 1.0)
    y_high = max(y_high, y_values[-1]) or 1.0
    left = max(LEFT, BESIDE + LETTER * max(len(y_text(y)) for y in y_values))

    def place_x(x: float) -> float:
        return round(left + (x - low) / (high - low) * (WIDTH - left - RIGHT), 1)

    def place_y(y: float) -> float:
        return round(HEIGHT - BOTTOM - y / y_high * (HEIGHT - TOP - BOTTOM), 1)

    drawn = [
        (line.look, " ".join(f"{place_x(x)},{place_y(y)}" for x, y in thinned(line.points)), line.name)
        for line in lines
        if line.points
    ]
    legend = [(look, name) for look, _, name in drawn] + [("band", band.name) for band in bands]
    return Drawing(
        title=title, lines=drawn, legend=legend, left=left,
        x_ticks=[Tick(place_x(low), x_text(low)), Tick(place_x(high), x_text(high))],
        y_ticks=[Tick(place_y(y), y_text(y)) for y in y_values],
        bands=[(place_x(b.at), place_y(b.low), place_y(b.value), place_y(b.high)) for b in bands],
    )  # fmt: skip


def thinned(points: Sequence[Point]) -> list[Point]:
    """At most MOST_POINTS of them, the last one always.

    >>> len(thinned([(x, x) for x in range(1000)])), thinned([(x, x) for x in range(1000)])[-1]
    (240, (999, 999))
    """
    if len(points) <= MOST_POINTS:
        return list(points)
    step = (len(points) - 1) / (MOST_POINTS - 1)
    return [points[round(place * step)] for place in range(MOST_POINTS)]


def nice_ticks(low: float, high: float, n: int = TICKS) -> list[float]:
    """Round numbers from `low` to at most one step above `high`.

    >>> nice_ticks(0, 200), nice_ticks(0, 0.07)
    ([0.0, 50.0, 100.0, 150.0, 200.0], [0.0, 0.02, 0.04, 0.06, 0.08])
    """
    rough = (high - low) / n
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough * 0.999)
    count = math.ceil((high - low) / step - 1e-9)
    return [round(low + place * step, 12) for place in range(count + 1)]
