"""How figures look: names that do not overlap, settings that go as they came, and SVG files that are small."""

from __future__ import annotations

import base64
import io
import re
import struct
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from amcc import plotting
from amcc.errors import MissingExtraError
from amcc.plotting import canvas, check_matplotlib, grid, key, label_ends, spread, style, to_svg

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


# -- SVG ------------------------------------------------------------------------------------------------------------


def drawing():
    """A figure with a line of many points, points alone, a matrix, and a label with many digits."""
    with style():
        figure, axes = canvas(1, 2, (3.0, 2.0))
        axes[0, 0].plot(np.linspace(0, 1, 50), np.sin(np.linspace(0, 9, 50)))
        axes[0, 0].plot([0.123456], [0.5], "o")
        axes[0, 0].set_title("0.123456 <of> d")
        axes[0, 1].imshow(np.arange(6.0).reshape(2, 3))
        return to_svg(figure).decode(), figure


def test_equal_figures_are_equal_files():
    assert drawing()[0] == drawing()[0]


def test_svg_files_are_small_and_keep_their_text():
    svg, figure = drawing()
    root = ElementTree.fromstring(svg)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "0.123456 <of> d" in texts  # text is text, with all of its digits
    assert "style=" not in svg
    assert not re.search(r' d="[^"]*\.\d{3}', svg)
    assert not re.search(r'<path d="M [\d.]+ [\d.]+\s*"', svg)  # lines of one point
    plain = io.StringIO()
    with style():
        figure.savefig(plain, format="svg")
    assert len(svg) < 0.7 * len(plain.getvalue())


def test_svg_files_say_nothing_of_when_and_where():
    svg, _ = drawing()
    assert "<dc:date>" not in svg
    assert "Matplotlib" not in svg


def test_every_class_has_its_style():
    svg, _ = drawing()
    used, said = set(re.findall(r'class="(\w+)"', svg)), set(re.findall(r"^\.(\w+)\{", svg, flags=re.MULTILINE))
    assert used
    assert used == said


def test_cells_of_a_matrix_are_pixels():
    svg, _ = drawing()
    (content,) = re.findall(r'href="data:image/png;base64,\s*([^"]+)"', svg)
    width, height = struct.unpack(">II", base64.b64decode(content)[16:24])
    assert (width, height) == (3, 2)
