"""How figures look: names that do not overlap, panels that are not needed, and settings that go as they came."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from amcc import plotting
from amcc.errors import MissingExtraError
from amcc.plotting import canvas, check_matplotlib, grid, key, label_ends, spread, style

GAP = 0.1
HEIGHTS = st.lists(st.floats(-1, 1), min_size=1, max_size=8)


@given(HEIGHTS)
def test_names_keep_their_distance_and_their_order(heights):
    moved = spread(np.array(heights), GAP)
    assert (np.diff(np.sort(moved)) >= GAP - 1e-9).all()
    assert (np.argsort(moved, kind="stable") == np.argsort(heights, kind="stable")).all()


@given(HEIGHTS)
def test_names_move_about_the_same_middle(heights):
    """Every block stands around the mean of where its members want to be, so that all do together."""
    assert_allclose(spread(np.array(heights), GAP).mean(), np.mean(heights), rtol=0, atol=1e-9)


def test_names_that_are_apart_stay():
    heights = np.array([0.9, 0.1, 0.5])
    assert_allclose(spread(heights, GAP), heights, rtol=0, atol=1e-12)
    assert_allclose(spread(heights, 0.4), heights, rtol=0, atol=1e-12)  # just far enough


def test_blocks_that_touch_are_joined_by_hand():
    # 0.50 and 0.52 would move to 0.46 and 0.56, and 0.60 is then too near: all three stand around their mean, 0.54
    assert_allclose(spread(np.array([0.5, 0.52, 0.6]), GAP), [0.44, 0.54, 0.64], rtol=0, atol=1e-12)


def test_a_figure_has_panels_of_the_given_size():
    figure, axes = canvas(2, 3, (2.0, 1.5), sharex=True)
    assert axes.shape == (2, 3)
    assert figure.get_size_inches().tolist() == [6.0, 3.0]


@pytest.mark.parametrize(("n_panels", "shape"), [(1, (1, 1)), (4, (1, 4)), (5, (2, 4)), (8, (2, 4))])
def test_panels_are_laid_out_row_by_row(n_panels, shape):
    figure, panels = grid(n_panels, (1.0, 1.0))
    assert len(panels) == n_panels
    assert len(figure.axes) == shape[0] * shape[1]
    assert sum(axes.get_visible() for axes in figure.axes) == n_panels


def test_names_stand_right_of_the_ends_in_their_colours():
    _, axes = canvas(1, 1, (4.0, 3.0))
    panel = axes[0, 0]
    panel.set_xlim(0, 1)
    panel.set_ylim(0, 1)
    label_ends(panel, [(0.8, 0.5, "one", "red"), (0.8, 0.5, "two", "blue")], gap=0.2)
    one, two = panel.texts
    assert (one.get_text(), two.get_text()) == ("one", "two")
    assert (one.get_color(), two.get_color()) == ("red", "blue")
    assert_allclose([one.xyann, two.xyann], [(0.85, 0.4), (0.85, 0.6)], rtol=0, atol=1e-9)


def test_words_above_the_panels_do_not_overlap():
    figure, _ = canvas(1, 1, (6.0, 3.0))
    key(figure, [("● Jaccard", "red"), ("□ precision", "blue")])
    first, second = figure.texts[-2:]  # before them, the room that they need
    assert first.get_position()[0] < second.get_position()[0]
    assert second.get_color() == "blue"


def test_settings_of_others_stay_as_they_are():
    import matplotlib as mpl

    before = mpl.rcParams["font.size"]
    with style():
        assert mpl.rcParams["font.size"] == plotting.STYLE["font.size"]
    assert mpl.rcParams["font.size"] == before


def test_without_matplotlib_it_says_what_to_install(monkeypatch):
    check_matplotlib()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'amcc\[plot\]'"):
        check_matplotlib()


def test_colours_are_told_apart():
    assert len(set(plotting.COLOURS)) == len(plotting.COLOURS) == len(plotting.MARKERS)
