"""How figures look: colours (also those of reports), fonts, panels, names next to lines, and small SVG files.

matplotlib is an optional package, imported when a figure is drawn. Colours are those of Okabe and Ito, which most
colour-blind people can tell apart; shapes or line styles say the same once more, for print in grey. Names stand next
to what they name.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from amcc.arrays import Floats
from amcc.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, VERMILION, GREEN, PURPLE, SKY = "#0072b2", "#e69f00", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"
# For what is beside the point: axes that are drawn by us, and methods that do not stand out.
GREY, PALE = "#5f6b76", "#c3cad1"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = ("o", "s", "^", "D", "v", "P")
# Dark to light, the same to colour-blind eyes and in grey.
HEAT = "cividis"

# Light lines, no box, the title at the left where reading begins; a salt, so that equal figures are equal files.
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "font.family": "sans-serif",
    # The first comes with matplotlib; the second has nearly its widths, and is where the first is not.
    "font.sans-serif": ["DejaVu Sans", "Verdana"],
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": "#30383f",
    "axes.edgecolor": "#8b959e",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e9ec",
    "grid.linewidth": 0.8,
    "xtick.color": "#30383f",
    "ytick.color": "#30383f",
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "savefig.bbox": "tight",
    "savefig.facecolor": "white",
    "svg.hashsalt": "amcc",
    "svg.fonttype": "none",  # text as text: smaller than drawn letters, and found by a search
    # One pixel per cell of a matrix, enlarged by who shows it: sharp at any size, and a small file.
    "image.interpolation": "none",
    "image.composite_image": False,
}

# Hundredths of a point, far below what an eye can tell. Last digits of numbers differ from machine to machine; these
# do not, and the file is smaller.
SVG_DIGITS = 2
# Places of things in an SVG file. Scales and the text of labels are not among them.
_PLACES = re.compile(r'(?<= )(?:d|x|y|points)="[^"]*"|(?:translate|rotate)\([^)]*\)')
# What shows nothing: turns by no angle, lines of one point (below their marker), and space before and after lines.
_IDLE = re.compile(r' transform="rotate\(-?0 [^"]*"|<path d="M [-.\d]+ [-.\d]+\s*"[^>]*/>|[ \t]+(?=\n)|(?<=\n)[ \n\t]+')
_STYLES = re.compile(r' style="([^"]*)"')


def check_matplotlib(otherwise: str = "") -> None:
    """Raise unless figures can be drawn; `otherwise` : a sentence about what can be had without."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"figures need matplotlib, which cannot be imported ({error}). Install it: pip install 'amcc[plot]'. "
            f"{otherwise}".rstrip()
        ) from error


@contextmanager
def style() -> Iterator[None]:
    """Figures that are drawn and saved inside look alike; outside, the settings of others stay as they are."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        yield


@contextmanager
def drawn_on(ax: Axes | None, size: tuple[float, float]) -> Iterator[Axes]:
    """Axes to draw on: those given, as their owner set them up; or new ones of pyplot, which notebooks show by itself.

    size : of a new figure, in inches.
    """
    check_matplotlib()
    if ax is not None:
        yield ax
        return
    import matplotlib.pyplot as plt

    with style():
        yield plt.subplots(figsize=size, layout="constrained")[1]


def shortened(name: object, longest: int = 24) -> str:
    """A name that leaves room for the picture.

    >>> shortened("a very long name of a worker", 12), shortened(7)
    ('a very long…', '7')
    """
    text = str(name)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def to_svg(figure: Figure) -> bytes:
    """A small SVG file of a figure: the same bytes for the same figure, whenever and wherever it is drawn."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    svg = _PLACES.sub(lambda found: _rounded(found[0]), file.getvalue())
    return _with_classes(_IDLE.sub("", svg)).encode()


def _rounded(text: str) -> str:
    """The same text with fewer digits.

    >>> _rounded('d="M 48.350703 240.0480 L -0.001 7.2"')
    'd="M 48.35 240.05 L 0 7.2"'
    """
    return re.sub(r"-?\d+\.\d+", lambda found: f"{round(float(found[0]), SVG_DIGITS) + 0.0:.10g}", text)


def _with_classes(svg: str) -> str:
    """The same file where every style is said once, at the beginning, however many things have it.

    >>> _with_classes('<style></style><path style="fill: red"/><path style="fill: red"/>')
    '<style>\\n.s0{fill: red}</style><path class="s0"/><path class="s0"/>'
    """
    names = {style: f"s{number}" for number, style in enumerate(dict.fromkeys(_STYLES.findall(svg)))}
    rules = "".join(f"\n.{name}{{{style}}}" for style, name in names.items())
    return _STYLES.sub(lambda found: f' class="{names[found[1]]}"', svg).replace("</style>", f"{rules}</style>", 1)


def canvas(n_rows: int, n_columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """A figure and its (n_rows, n_columns) axes; `size` is that of one panel in inches.

    Made without pyplot, which would keep every figure in memory until it is closed.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **options)


def grid(n_panels: int, size: tuple[float, float], n_columns: int = 4, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, row by row; places left over stay empty.

    size : of one panel in inches. options : for matplotlib's subplots, such as sharex.
    """
    columns = min(n_panels, n_columns)
    figure, axes = canvas(ceil(n_panels / columns), columns, size, **options)
    for spare in axes.flat[n_panels:]:
        spare.set_visible(False)
    return figure, list(axes.flat[:n_panels])


def key(figure: Figure, entries: Sequence[tuple[str, str]]) -> None:
    """Words in their colours above the panels: what would else be a box far away."""
    # Placed by hand, since a legend would stand in a panel or far away from it.
    figure.suptitle(" ")  # room for the words
    offset = 0.01
    # Matplotlib knows the width of words only once they are drawn; 0.075 inches a letter fits bold text of 9.5 points.
    for text, colour in entries:
        figure.text(offset, 0.995, text, color=colour, fontsize=9.5, fontweight="bold", va="top")
        offset += (len(text) + 4) * 0.075 / figure.get_figwidth()


def label_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]], gap: float = 0.055) -> None:
    """Names beside the right ends (x, y, name, colour) of lines, moved apart where they would overlap.

    gap : least distance between names, as a share of the height of the panel. Limits of the panel must be final.
    """
    to_panel = axes.transData + axes.transAxes.inverted()
    places = to_panel.transform([(x, y) for x, y, _, _ in ends])
    for (x, y, name, colour), across, height in zip(ends, places[:, 0], spread(places[:, 1], gap), strict=True):
        axes.annotate(
            name,
            (x, y),
            (across + 0.05, height),
            textcoords="axes fraction",
            color=colour,
            fontsize=8,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 3},
        )


def spread(heights: Floats, gap: float) -> Floats:
    """The same heights, moved as little as keeps them `gap` apart, in the same order.

    Neighbours that would touch form a block that moves as one, to the mean of where its members want to be; blocks that
    then touch are joined (pool adjacent violators).

    >>> spread(np.array([0.5, 0.5, 0.9]), 0.1).round(3).tolist()
    [0.45, 0.55, 0.9]
    """
    order = np.argsort(heights, kind="stable")
    blocks: list[list[float]] = []  # [sum of wished starts, how many]: neighbours that touch move together
    for rank, height in enumerate(heights[order]):
        blocks.append([height - rank * gap, 1.0])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    starts = np.repeat([total / count for total, count in blocks], [int(count) for _, count in blocks])
    moved = np.empty_like(heights)
    moved[order] = starts + gap * np.arange(len(heights))
    return moved
