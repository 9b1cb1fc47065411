"""A page: a head, chapters and panels become one HTML file that fetches nothing.

The charts are written down as Vega-Lite, a JSON description of a chart, and drawn by a script when the page is opened.
The script is embedded, about 0.9 MB of it. The policy of the page forbids it to load anything, so nobody learns who
reads a report, and a name in the data that looks like an address does no harm.

Colours of text and lines come from the browser: the page is light or dark as its reader likes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amcc.errors import MissingExtraError
from amcc.files import whole_file
from amcc.report.html import NO_HTML, Html, element, folded, joined, link
from amcc.report.language import Language, language

if TYPE_CHECKING:
    from amcc.report.charts import Chart


@dataclass(frozen=True)
class Panel:
    """A titled part of the page: how to read it, then a chart, tables or both, then notes.

    title : the heading
    explanation : what the panel shows and how to read it; screen readers say it in place of the chart
    chart : drawn by the browser
    body : tables, below the chart
    notes : small print at the end, such as what was left out
    name : its anchor, by which other parts of the page lead here
    numbers : what the chart shows, as a table, for those who do not see it; folded away
    """

    title: str
    explanation: str
    chart: Chart | None = None
    body: Html = NO_HTML
    notes: list[str] = field(default_factory=list)
    name: str = ""
    numbers: Html = NO_HTML


@dataclass(frozen=True)
class Chapter:
    """Panels below one heading, which the contents of the page lead to.

    name : its anchor; intro : before the panels; body : after them
    """

    name: str
    title: str
    panels: Sequence[Panel] = ()
    intro: Html = NO_HTML
    body: Html = NO_HTML


def check_extra() -> None:
    """Refuse to start without the packages that draw charts, and say how to install them."""
    for package in ("altair", "vl_convert"):
        try:
            import_module(package)
        except ImportError as error:
            raise MissingExtraError(
                f"the report needs altair and vl-convert-python; {package} cannot be imported ({error}). "
                "Install them: pip install 'amcc[report]'"
            ) from error


def now() -> str:
    """The time of writing as both pages show it, in the time zone of this computer."""
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")


def write_page(path: str | Path, page: str) -> None:
    """Write the file complete or not at all."""
    with whole_file(Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8")


# -- looks ---------------------------------------------------------------------------------------------------------

# Files of their own, so that editors know what they are.
STYLE, DRAW_CHARTS, LOOK_UP = (
    Path(__file__).with_name(name).read_text("utf-8") for name in ("page.css", "draw_charts.js", "look_up.js")
)

# Text and lines take the colour of the page, whether that is light or dark.
_TEXT = {
    "labelColor": "currentColor",
    "titleColor": "currentColor",
    "titleFontWeight": "normal",
    "labelLimit": 230,  # pixels: long names are cut, or they would leave no room for the chart
    "labelFontSize": 12,
    "titleFontSize": 12,
}
CHART_OPTIONS: dict[str, Any] = {
    "mode": "vega-lite",
    "renderer": "svg",  # sharp in print, and its text can be selected and takes the colour of the page
    "actions": False,  # the menu would offer an editor on the web, to which it sends the data
    "config": {
        "background": "transparent",
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "text": {"color": "currentColor", "fontSize": 12},
        "axis": _TEXT
        | {
            "domainColor": "currentColor",
            "tickColor": "currentColor",
            "gridColor": "currentColor",
            "gridOpacity": 0.1,  # the grid guides the eye; stronger, it competes with the data
            "maxExtent": 260,  # the 230 pixels of the longest name, and the ticks
        },
        "legend": _TEXT,
    },
}

# The page may run its own scripts, known by their hashes, and may not load anything: nothing that a name smuggles in is
# run. Vega compiles expressions, which needs unsafe-eval, and styles its marks itself.
POLICY = (
    "default-src 'none'; script-src 'unsafe-eval' {scripts}; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


# -- putting it together -------------------------------------------------------------------------------------------


def make_page(
    title: str,
    head: Html,
    parts: Sequence[Panel | Chapter],
    *,
    say: Language | None = None,
    data: Mapping[str, Any] | None = None,
) -> str:
    """The whole page as text: title, contents, head, chapters or panels, then the scripts.

    say : texts of the page's language; English unless told otherwise
    data : what the script that looks up items and names needs, by the name that it has there
    """
    say = say or language("en")
    panels = [panel for part in parts for panel in (part.panels if isinstance(part, Chapter) else [part])]
    places = {id(panel): f"chart-{number}" for number, panel in enumerate(panels) if panel.chart}
    charts = {places[id(panel)]: _specification(panel) for panel in panels if panel.chart}
    # The scripts come last: the places of the charts must be there before they are drawn.
    scripts = [_chart_script(), DRAW_CHARTS, *([LOOK_UP] if data else [])] if charts or data else []
    stored = {"charts": charts, "chart-options": _options(say), **(data or {})}
    policy = POLICY.format(scripts=" ".join(map(_hash, scripts)))
    return "\n".join(
        (
            f'<!DOCTYPE html>\n<html lang="{say.code}">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            element("title", title),
            element("style", Html(STYLE)),
            "</head>\n<body>",
            element("a", say("page.skip"), class_="skip", href="#main"),
            element("header", element("h1", title), _contents(parts, say)),
            element("main", head, *(_part(part, places, say) for part in parts), id="main", tabindex="-1"),
            element("noscript", element("p", say("page.no_script"), class_="note")),
            *(
                element("script", Html(script_json(each)), type="application/json", id=f"data-{key}")
                for key, each in stored.items()
            ),
            *(element("script", Html(script)) for script in scripts),
            "</body>\n</html>\n",
        )
    )


def _contents(parts: Sequence[Panel | Chapter], say: Language) -> Html:
    """Links to the chapters; nothing where there are none."""
    links = [link(part.name, part.title) for part in parts if part.name]
    return element("nav", element("ul", *(element("li", each) for each in links)), aria_label=say("page.contents"))


def _hash(script: str) -> str:
    """A script as a policy knows it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _options(say: Language) -> dict[str, Any]:
    """How charts look, and how numbers are written in them."""
    marks = {"decimal": say("number.decimal"), "thousands": say("number.thousands"), "grouping": [3]}
    return {**CHART_OPTIONS, "formatLocale": {**marks, "currency": ["", ""]}, "failed": say("page.failed")}


def _specification(panel: Panel) -> dict[str, Any]:
    """The chart as Vega-Lite, described for screen readers, without the web address of its schema."""
    # Altair would compare every chart with its schema, which takes longer than all else; tests draw them all instead.
    parts = panel.chart.to_dict(validate=False) if panel.chart else {}
    return {name: part for name, part in parts.items() if name != "$schema"} | {"description": panel.explanation}


def _part(part: Panel | Chapter, places: Mapping[int, str], say: Language) -> Html:
    """A chapter with its panels, or a panel that stands alone, as a part of the page with a heading."""
    if isinstance(part, Panel):
        return element("section", *_inside(part, places, say, "h2"), **_anchor(part.name))
    sections = (element("section", *_inside(panel, places, say, "h3"), **_anchor(panel.name)) for panel in part.panels)
    heading = element("h2", part.title, id=f"{part.name}-heading")
    whole = (heading, part.intro, *sections, part.body)
    return element("section", *whole, class_="chapter", id=part.name, aria_labelledby=f"{part.name}-heading")


def _anchor(name: str) -> dict[str, str]:
    return {"id": name} if name else {}


def _inside(panel: Panel, places: Mapping[int, str], say: Language, heading: str) -> Iterator[Html]:
    """A panel in HTML, with an empty place for its chart that the script finds by its id."""
    yield element(heading, panel.title)
    yield element("p", panel.explanation)
    if panel.chart:
        yield element("div", class_="chart", id=places[id(panel)])
    if panel.numbers:
        yield folded(say("page.numbers"), panel.numbers, class_="numbers")
    yield panel.body
    yield joined(element("p", note, class_="note") for note in panel.notes)


@cache
def _chart_script() -> str:
    """The JavaScript that draws charts, all of it, ready to stand in a script element."""
    import vl_convert

    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # A browser ends the element at the first </script, even inside of a JavaScript string.
    return script.replace("</script", r"<\/script")


def script_json(value: Any) -> str:
    """JSON that cannot end the script element it stands in.

    >>> script_json("</script>")
    '"\\\\u003c/script>"'
    """
    # NaN is no JSON: a browser would refuse the whole script, so it is an error here, where a test sees it
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")
