"""Charts: where lines go, and what they say about the future."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from amcc.serve.views import History
from amcc.serve.web.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Band, Line, draw, nice_ticks
from amcc.serve.web.forecast import pace


def drawn(points, **options):
    return draw("Title", [Line(points, "line")], x_text=str, y_text=str, **options)


def numbers(points: str) -> list[tuple[float, float]]:
    return [tuple(map(float, pair.split(","))) for pair in points.split()]


def test_corners_by_hand():
    drawing = drawn([(0.0, 0.0), (10.0, 100.0)])
    assert numbers(drawing.lines[0][1]) == [(LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, TOP)]
    assert [tick.text for tick in drawing.x_ticks] == ["0.0", "10.0"]
    assert [tick.text for tick in drawing.y_ticks] == ["0.0", "25.0", "50.0", "75.0", "100.0"]


def test_one_moment_is_no_chart():
    assert drawn([]) is None
    assert drawn([(1.0, 2.0)]) is None
    assert drawn([(1.0, 2.0), (1.0, 3.0)]) is None


def test_long_numbers_have_room():
    drawing = draw(
        "Title", [Line([(0.0, 0.0), (1.0, 10.0)], "line")], x_text=str, y_text=lambda y: f"{y:,.2f} million EUR"
    )
    letters = max(len(tick.text) for tick in drawing.y_ticks)
    assert drawing.left - 8 >= 7 * letters > LEFT  # see chart.html: texts end 8 before the first line
    assert numbers(drawing.lines[0][1])[0][0] == drawing.left


def test_a_line_at_zero_is_drawn():
    drawing = drawn([(0.0, 0.0), (1.0, 0.0)])
    assert {y for _, y in numbers(drawing.lines[0][1])} == {HEIGHT - BOTTOM}


def test_an_interval_stays_inside():
    drawing = drawn([(0.0, 0.1), (1.0, 0.05)], bands=[Band(1.0, 0.02, 0.2, 0.6, "measured")])
    ((x, low, value, high),) = drawing.bands
    assert x == WIDTH - RIGHT
    assert TOP <= high < value < low <= HEIGHT - BOTTOM
    assert ("band", "measured") in drawing.legend


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), min_size=2))
def test_every_point_is_in_the_drawing(points):
    drawing = drawn(points)
    if drawing is not None:
        for x, y in numbers(drawing.lines[0][1]):
            assert LEFT <= x <= WIDTH - RIGHT
            assert TOP - 0.1 <= y <= HEIGHT - BOTTOM


@given(st.floats(1e-9, 1e12))
def test_ticks_reach_the_top_and_are_few(high):
    ticks = nice_ticks(0.0, high)
    assert ticks[-1] >= high * 0.999
    assert 2 <= len(ticks) <= 6
    assert all(math.isclose(b - a, ticks[1] - ticks[0], rel_tol=1e-6) for a, b in pairwise(ticks))


def at(time: float, spent: int, budget: int = 1000) -> History:
    return History(time, spent, 0, budget, 0, 0, 0.1)


def test_pace_is_that_of_the_last_third():
    found = pace([at(0, 0), at(100, 10), at(200, 20), at(300, 320)])
    assert found.per_second == 3.0
    assert found.ends_at == 300 + (1000 - 320) / 3


def test_no_pace_before_anything_is_spent():
    assert pace([]) is None
    assert pace([at(0, 0)]) is None
    assert pace([at(0, 5), at(100, 5)]) is None
    assert pace([at(0, 0), at(0, 5)]) is None


def test_a_forecast_stays_in_the_calendar():
    found = pace([at(0, 0), at(90, 1, budget=10**15)])
    assert found.ends_at == 90 + 10 * 365 * 86400
