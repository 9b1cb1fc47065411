"""A page: a head and panels become one HTML file that fetches nothing.

The charts are written down as Vega-Lite, a JSON description of a chart, and drawn by a script when the page is opened.
The script is embedded, about 0.9 MB of it. The policy of the page forbids it to load anything, so nobody learns who
reads a report, and a name in the data that looks like an address does no harm.

Colours of text and lines come from the browser: the page is light or dark as its reader likes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amcc.errors import MissingExtraError
from amcc.files import whole_file
from amcc.report.html import NO_HTML, Html, element

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
    """

    title: str
    explanation: str
    chart: Chart | None = None
    body: Html = NO_HTML
    notes: list[str] = field(default_factory=list)


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
STYLE, DRAW_CHARTS = (Path(__file__).with_name(name).read_text("utf-8") for name in ("page.css", "draw_charts.js"))

# Text and lines take the colour of the page, whether that is light or dark.
_TEXT = {
    "labelColor": "currentColor",
    "titleColor": "currentColor",
    "titleFontWeight": "normal",
    "labelLimit": 230,  # pixels: long names are cut, or they would leave no room for the chart
    "labelFontSize": 12,
    "titleFontSize": 12,
}
CHART_OPTIONS = {
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

# The page may run its own scripts and may not load anything. Vega compiles expressions, which needs unsafe-eval.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


# -- putting it together -------------------------------------------------------------------------------------------


def make_page(title: str, head: Html, panels: Sequence[Panel]) -> str:
    """The whole page as text: title, head, one section for each panel, then the scripts that draw the charts."""
    charts = {f"chart-{number}": _specification(panel) for number, panel in enumerate(panels) if panel.chart}
    sections = (_section(panel, f"chart-{number}") for number, panel in enumerate(panels))
    drawing = f"const charts = {script_json(charts)}, options = {script_json(CHART_OPTIONS)};\n{DRAW_CHARTS}"
    # The scripts come last: the places of the charts must be there before they are drawn.
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            element("title", title),
            element("style", Html(STYLE)),
            "</head>\n<body>",
            element("h1", title),
            head,
            *sections,
            element("noscript", "The charts need JavaScript; the tables do not."),
            element("script", Html(_chart_script())),
            element("script", Html(drawing)),
            "</body>\n</html>\n",
        )
    )


def _specification(panel: Panel) -> dict[str, Any]:
    """The chart as Vega-Lite, described for screen readers, without the web address of its schema."""
    parts = panel.chart.to_dict() if panel.chart else {}
    return {name: part for name, part in parts.items() if name != "$schema"} | {"description": panel.explanation}


def _section(panel: Panel, chart_id: str) -> Html:
    """A panel in HTML, with an empty place for its chart that the script finds by its id."""
    chart = [element("div", class_="chart", id=chart_id)] if panel.chart else []
    notes = (element("p", note, class_="note") for note in panel.notes)
    return element("section", element("h2", panel.title), element("p", panel.explanation), *chart, panel.body, *notes)


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
