"""Panels about label correlation, of models that learn it: a heat map, and the strongest links on a circle.

The probability model of AMCC learns how much more or less often two labels come together than by chance, from −1 to 1.
The paper's objective has cosines instead (eq4). They are never negative, and above 0 also for labels that have nothing
to do with each other, so they get the heat map in other words, and no links.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from amcc.arrays import Floats, Ints
from amcc.consensus import PaperAMCC
from amcc.consensus.base import ConsensusModel
from amcc.consensus.grouped import GroupedModel
from amcc.report import charts
from amcc.report.findings import Findings, largest, names_of
from amcc.report.html import Html, table
from amcc.report.language import Language
from amcc.report.page import Panel

# Labels up to which all their correlations are looked at: 200 MB.
MOST_CORRELATED = 5_000
# Labels that are shown: 30 columns of 20 pixels fit on the page, and 30 names around the circle.
MAX_CORRELATED = 30
# More lines than this cannot be followed by the eye.
MAX_LINKS = 60
# Correlations that are listed beside the map of all.
MAX_LISTED = 15
# Correlations nearer to zero are not drawn as lines: in a crowd of some hundred items, chance alone reaches so far.
MIN_LINK = 0.1

# Pixels: the side of the square with the circle, and the most of it that a name takes on each side.
CIRCLE, MAX_NAME_WIDTH = 660, 165
CHARACTER = 7  # pixels, of a usual letter at 12 pixels
# Names stand a little outside of the circle, which has the radius 1, not on their dots.
OUTSIDE = 1.06

# Colours and dashes of labels that come together, and of those that avoid each other. Dashes say the same as the
# colour, for print and for colour-blind people.
HUES = (charts.BLUE, charts.VERMILION)
DASHES = ([1, 0], [10, 6])


def correlation_of(findings: Findings) -> Floats | None:
    """[label, label] correlation with an empty diagonal, if the model has learned it and there is anything to see."""
    if not (isinstance(findings.model, GroupedModel) and 2 <= findings.votes.n_labels <= MOST_CORRELATED):
        return None
    # A copy: the model keeps what it has learned. NaN stands where nothing could be estimated.
    correlation = np.nan_to_num(findings.model.label_correlation_)
    np.fill_diagonal(correlation, 0.0)
    return correlation


def are_cosines(model: ConsensusModel) -> bool:
    """Whether label correlations are the cosines of eq4: never negative, and above zero for unrelated labels."""
    return isinstance(model, PaperAMCC)


def strongest(correlation: Floats) -> float:
    """Where the scale of strength ends, in tenths: correlations of crowds are often far from 1.

    It is 0.3 at least, so that the noise of labels without any correlation stays pale.

    >>> strongest(np.array([[0.0, -0.42], [-0.42, 0.0]])), strongest(np.zeros((2, 2)))
    (0.5, 0.3)
    """
    return max(0.3, float(np.ceil(10 * np.abs(correlation).max()) / 10))


def most_involved(correlation: Floats) -> Ints:
    """The labels most involved in correlations, ordered so that similar ones are neighbours.

    The order is that of the leaves of a tree: labels are merged by average distance (1 minus their correlation), and of
    all orders that the tree allows, the one with the nearest neighbours is taken. A matrix ordered like this shows
    clusters as squares along the diagonal, and on the circle most links are short.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    # Weak correlations are summed with a weight of 1/1000: they decide only between labels without strong ones. In
    # full, the noise of a thousand other labels would outweigh one real link.
    size = np.abs(correlation)
    involved = np.where(size > MIN_LINK, size, 1e-3 * size).sum(axis=1)
    shown = np.sort(largest(involved, MAX_CORRELATED))
    distance = np.clip(1 - correlation[np.ix_(shown, shown)], 0, 2)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(0.5 * (distance + distance.T)), "average", optimal_ordering=True)
    return np.asarray(shown[leaves_list(tree)])


def signs(say: Language) -> tuple[str, str]:
    """In words, that labels come together, and that they avoid each other."""
    return say("correlation.together"), say("correlation.apart")


def signs_of(values: Floats, say: Language) -> Any:
    """In words, which of both labels do.

    >>> from amcc.report.language import language
    >>> signs_of(np.array([0.4, -0.4]), language("en")).tolist()
    ['more often together', 'less often together']
    """
    together, apart = signs(say)
    return np.where(values < 0, apart, together)


# -- heat map ------------------------------------------------------------------------------------------------------


def correlation_panel(findings: Findings) -> Panel | None:
    """All correlations between the labels most involved; None for models that learn none."""
    say = findings.say
    if isinstance(findings.model, GroupedModel) and findings.votes.n_labels > MOST_CORRELATED:
        return findings.plain("correlation", say("correlation.too_many", n=say.number(MOST_CORRELATED)))
    correlation = correlation_of(findings)
    if correlation is None:
        return None
    shown, cosines = most_involved(correlation), are_cosines(findings.model)
    value = correlation[np.ix_(shown, shown)]
    value[np.eye(len(shown), dtype=bool)] = np.nan  # a label with itself says nothing
    key = None if cosines else {"symbolType": "square", "symbolOpacity": 1}  # cosines have one sign
    names = names_of(findings.votes.label_names, shown)
    return findings.panel(
        "correlation",
        _correlation_chart(value, names, strongest(correlation), key, say),
        notes=say.left_out(findings.votes.n_labels, len(shown), "label", say("which.strongest_labels")),
        numbers=_listed(np.nan_to_num(value), names, say),
        meaning=say("correlation.cosines" if cosines else "correlation.meaning"),
    )


def _listed(correlation: Floats, names: list[str], say: Language) -> Html:
    """The strongest correlations as a table, each pair of labels once."""
    first, second = np.triu_indices(len(names), 1)
    value = correlation[first, second]
    order = largest(np.abs(value), MAX_LISTED).tolist()
    rows = ((names[first[place]], names[second[place]], say.number(value[place], 2)) for place in order)
    return table(say("correlation.caption"), [say(f"correlation.{name}") for name in ("one", "other", "value")], rows)


def _correlation_chart(
    value: Floats, names: list[str], most: float, key: dict[str, Any] | None, say: Language
) -> charts.Chart:
    """A heat map of (n, n) correlations, NaN left empty; the colour is the sign, its strength the opacity."""
    data = charts.rows(
        first=np.repeat(names, len(names)),
        second=np.tile(names, len(names)),
        value=value.ravel(),
        strength=np.abs(value).ravel(),
        sign=signs_of(value.ravel(), say),
    )
    base = alt.Chart(data).encode(
        x=alt.X("second:N", sort=names, title=None, axis=charts.slanted()), y=charts.ordered("first:N", names)
    )
    tile = {
        "color": charts.categories(alt.Color, "sign:N", dict(zip(signs(say), HUES, strict=True)), key),
        "opacity": charts.strength("strength:Q", most, title=say("correlation.strength"), symbolFillColor=charts.GREY),
        "tooltip": [
            alt.Tooltip("first:N", title=say("correlation.one")),
            alt.Tooltip("second:N", title=say("correlation.other")),
            alt.Tooltip("value:Q", title=say("correlation.value"), format=".2f"),
        ],
    }
    numbered = value.size <= charts.MAX_CELLS_WITH_NUMBERS
    step = alt.Step(44 if numbered else 20)  # pixels: "-0.42" needs 44
    chart = charts.heat_map(base, tile, "value:Q", ".2f", numbered=numbered)
    return chart.transform_filter("isValid(datum.value)").properties(width=step, height=step)


# -- links ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Links:
    """(n_links,) pairs of labels, as places among those that are shown, with their correlation, strongest first."""

    first: Ints
    second: Ints
    value: Floats

    @classmethod
    def among(cls, correlation: Floats) -> Links:
        """The strongest links beyond `MIN_LINK`, each pair of labels once.

        >>> Links.among(np.array([[0, 0.2, -0.5], [0.2, 0, 0.05], [-0.5, 0.05, 0]])).value.tolist()
        [-0.5, 0.2]
        """
        value = np.triu(correlation)
        first, second = np.nonzero(np.abs(value) > MIN_LINK)
        kept = largest(np.abs(value[first, second]), MAX_LINKS)
        return cls(first[kept], second[kept], value[first[kept], second[kept]])


def links_panel(findings: Findings) -> Panel | None:
    """The strongest correlations as lines between labels on a circle.

    None for models that learn none, for cosines, and for two labels, where the heat map says it all.
    """
    correlation = correlation_of(findings)
    if correlation is None or findings.votes.n_labels < 3 or are_cosines(findings.model):
        return None
    shown, say = most_involved(correlation), findings.say
    least = say.number(MIN_LINK, 1)
    links = Links.among(correlation[np.ix_(shown, shown)])
    if links.first.size == 0:
        return findings.plain("links", say("links.none", least=least))
    n_links = int((np.abs(np.triu(correlation)) > MIN_LINK).sum())
    return findings.panel(
        "links",
        _links_chart(links, names_of(findings.votes.label_names, shown), strongest(correlation), say),
        notes=say.left_out(n_links, len(links.first), "correlation", say("which.strongest")),
        least=least,
    )


def _links_chart(links: Links, names: list[str], most: float, say: Language) -> charts.Chart:
    """Labels as dots on a circle of radius 1, lines between them, names around it."""
    turn = 2 * np.pi * np.arange(len(names)) / len(names)  # clockwise, from the top
    x, y = np.sin(turn), np.cos(turn)
    # The axes reach so far beyond the circle that the longest name still fits into the square.
    width = min(CHARACTER * max(map(len, names)), MAX_NAME_WIDTH)
    reach = OUTSIDE * CIRCLE / (CIRCLE - 2 * width)
    square = alt.Scale(domain=[-reach, reach])
    place = {"x": alt.X("x:Q", scale=square, axis=None), "y": alt.Y("y:Q", scale=square, axis=None)}
    dots = alt.Chart(charts.rows(x=x, y=y)).mark_point(filled=True, color="currentColor", size=45, opacity=1)
    layers = [_lines(links, x, y, names, most, say), dots, *_names_around(turn, names, width)]
    return alt.layer(*(layer.encode(**place) for layer in layers)).properties(width=CIRCLE, height=CIRCLE)


def _lines(links: Links, x: Floats, y: Floats, names: list[str], most: float, say: Language) -> charts.Chart:
    """The links between dots at x and y: thick for strong, dashed for negative."""
    first, second = links.first, links.second
    data = charts.rows(
        x=x[first],
        y=y[first],
        x2=x[second],
        y2=y[second],
        pair=[f"{names[a]} – {names[b]}" for a, b in zip(first.tolist(), second.tolist(), strict=True)],
        value=links.value,
        strength=np.abs(links.value),
        sign=signs_of(links.value, say),
    )
    thickness = alt.Scale(domain=[MIN_LINK, most], range=[0.75, 7], clamp=True)
    marks = alt.Chart(data).mark_rule(opacity=0.75)
    return charts.encode(
        marks,
        x2="x2:Q",
        y2="y2:Q",
        strokeWidth=alt.StrokeWidth(
            "strength:Q", scale=thickness, legend=alt.Legend(title=say("correlation.strength"), tickCount=4)
        ),
        strokeDash=charts.categories(alt.StrokeDash, "sign:N", dict(zip(signs(say), DASHES, strict=True)), None),
        color=charts.categories(alt.Color, "sign:N", dict(zip(signs(say), HUES, strict=True)), charts.BESIDE),
        tooltip=["pair:N", alt.Tooltip("value:Q", title=say("correlation.value"), format=".2f")],
    )


def _names_around(turn: Floats, names: list[str], width: int) -> list[alt.Chart]:
    """The names, each along its radius; those on the left are turned round, or they would stand on their heads.

    turn : (n_labels,) angles of the labels; width : pixels after which a name is cut
    """
    x, y, degrees = np.sin(turn), np.cos(turn), np.degrees(turn) - 90
    right = x >= -1e-9  # the lowest label has a sine of about -1e-16 and belongs to the right
    texts: list[alt.Chart] = []
    for side, half_turn in ((right, 0), (~right, 180)):
        data = charts.rows(
            x=OUTSIDE * x[side],
            y=OUTSIDE * y[side],
            label=[names[node] for node in np.flatnonzero(side).tolist()],
            angle=degrees[side] + half_turn,
        )
        text = alt.Chart(data).mark_text(align="right" if half_turn else "left", baseline="middle", limit=width)
        texts += [text.encode(text="label:N", angle=alt.Angle("angle:Q", scale=None))] * bool(side.any())
    return texts
