"""Files of a reproduction: CSV of tables, PNG and SVG of figures, one HTML page, and markdown.

The page needs no other file and no network: figures are inside of it. How the markdown gets into a document of people
is in `document.py`.
"""

from __future__ import annotations

import base64
import io
import platform
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import amcc
from amcc.experiments.reproduce.plan import AMCC, Figure, Reproduction, Table, View
from amcc.experiments.text import EMPTY, markdown_table
from amcc.files import make_folder, whole_file
from amcc.io import write_table
from amcc.plotting import style, to_svg

TITLE = "The paper's tables and figures, reproduced"


@dataclass(frozen=True)
class Drawn:
    """A figure in both formats."""

    png: bytes
    svg: bytes


@dataclass(frozen=True)
class Provenance:
    """What to know about how the numbers came about.

    what : studies as they were named, none for all. options : of the command. seeds : how many runs where there is
    chance.
    """

    what: Sequence[str]
    options: Sequence[str]
    seeds: int

    @property
    def command(self) -> str:
        """What to type for the same tables."""
        return shlex.join(["amcc", "reproduce", *self.what, *self.options])

    def sentences(self) -> list[str]:
        """For people: date, versions and seeds. Numbers may change with any of the versions."""
        # Those that numbers depend on.
        packages = [f"{name} {_version(name)}" for name in ("numpy", "scipy", "numba", "matplotlib")]
        seeds = f"Seeds 0 to {self.seeds - 1}" if self.seeds > 1 else "Seed 0"
        python = platform.python_version()
        return [
            f"Written on {date.today()} with amcc {amcc.__version__}, Python {python}, {', '.join(packages)}. {seeds}."
        ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return EMPTY


def draw_all(found: Reproduction) -> dict[str, Drawn]:
    """All figures, by name.

    Before the first file is written: a figure that fails leaves the files of an earlier run as they were.
    """
    return {output.name: render(output) for output in found.all() if isinstance(output, Figure)}


def write_all(found: Reproduction, drawn: Mapping[str, Drawn], folder: Path, provenance: Provenance) -> list[Path]:
    """Write everything and say which files."""
    texts = {"index.html": page(found, drawn, provenance), "results.md": markdown(found, provenance)}
    make_folder(folder)
    paths = []
    for output in found.all():
        paths.append(folder / f"{output.name}.csv")
        write_table(output.data, paths[-1])
    for name, figure in drawn.items():
        for suffix, content in (("png", figure.png), ("svg", figure.svg)):
            paths.append(folder / f"{name}.{suffix}")
            _write(paths[-1], content)
    for name, text in texts.items():
        paths.append(folder / name)
        _write(paths[-1], text.encode())
    return paths


def _write(path: Path, content: bytes) -> None:
    """Whole, or not at all."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


def render(figure: Figure) -> Drawn:
    """Draw once, save twice: PNG for pages of others, SVG for ours."""
    with style():
        made = figure.draw()
        png = io.BytesIO()
        made.savefig(png, format="png")
        made.set_layout_engine("none")  # it stays as it is laid out
        return Drawn(png.getvalue(), to_svg(made))


# -- markdown -------------------------------------------------------------------------------------------------------


def markdown(found: Reproduction, provenance: Provenance) -> str:
    """The whole of results.md, with links to the figures beside it; folded views are on the page only."""
    return "\n".join([f"# {TITLE}", "", *note_lines(found, provenance), *output_lines(found, "{}.png"), ""])


def note_lines(found: Reproduction, provenance: Provenance) -> Iterator[str]:
    """How the numbers came about, and what is missing."""
    yield from provenance.sentences()
    yield from ("", f"    {provenance.command}")
    if found.notes:
        yield ""
        yield from (f"- {note}" for note in found.notes)


def output_lines(found: Reproduction, place: str) -> Iterator[str]:
    """Tables and figures, each after an empty line.

    place : where the file of a figure is, seen from the document, with {} for its name.
    """
    for output in found.all():
        yield from ("", f"## {output.title}", "", output.caption)
        if isinstance(output, Figure):
            yield from ("", f"![{output.title}]({place.format(output.name)})")
            continue
        for view in output.views:
            if not view.folded:
                yield from ("", f"### {view.title}") if view.title else ()
                yield from ("", *markdown_table(view.head, view.rows))


# -- the page -------------------------------------------------------------------------------------------------------

# Wide tables scroll inside of a frame, their first column stays in sight; the paper's numbers have their own colour.
# On phones figures keep their size and scroll as well: shrunk to such a width, nobody could read their labels. What
# scrolls has a shadow at the side where there is more: one that stays, below a white one that scrolls away. Images are
# multiplied with it, for their own white would hide it.
CSS = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1d2329; margin: 0 auto; max-width: 1180px; padding: 1.5rem; }
h1 { font-size: 1.7rem; margin: 0 0 .5rem; } h2 { margin: 2.6rem 0 .3rem; font-size: 1.25rem; }
h3 { margin: 1.3rem 0 .3rem; font-size: 1rem; }
.note, .caption { color: #4a545e; max-width: 60rem; } .caption { font-size: .9rem; margin: .2rem 0 .8rem; }
code { background: #f1f4f6; padding: .15rem .4rem; border-radius: 4px; }
nav { columns: 18rem; } nav a { display: block; } a { color: #0060a0; }
.wide { width: fit-content; max-width: 100%; border: 1px solid #e1e5e9; border-radius: 6px; }
table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid #eef1f3; }
th { background: #f6f8f9; vertical-align: bottom; font-weight: 600; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
th:first-child { background: #f6f8f9; }
td.paper, th.paper { color: #6a4a00; background: #fdf8ec; }
tr.ours td { background: #eaf2f8; } tr.ours td.paper { background: #f3efe2; }
img { max-width: 100%; height: auto; } details { margin: .4rem 0; } summary { cursor: pointer; color: #0060a0; }
@media screen and (max-width: 600px) { .figure img { max-width: none; } }
.wide, .figure {
  overflow-x: auto; background: linear-gradient(to right, #fff 40%, #fff0) left / 48px 100% no-repeat local,
  linear-gradient(to left, #fff 40%, #fff0) right / 48px 100% no-repeat local,
  linear-gradient(to right, #0005, #0000) left / 16px 100% no-repeat scroll,
  linear-gradient(to left, #0005, #0000) right / 16px 100% no-repeat scroll;
}
.figure img { mix-blend-mode: multiply; }
@media print { .wide { overflow: visible; } table { font-size: 7pt; } h2 { break-after: avoid; } }
"""


def page(found: Reproduction, drawn: Mapping[str, Drawn], provenance: Provenance) -> str:
    """One HTML page that needs no other file and no network: styles and figures are inside.

    drawn : the figures by name. Names and captions are escaped: labels of real sets hold what they like.
    """
    outputs = list(found.all())
    # A page of twenty tables is found one's way in by their titles.
    links = " ".join(f'<a href="#{output.name}">{escape(output.title)}</a>' for output in outputs)
    notes = "".join(f"<li>{_inline(note)}</li>" for note in found.notes)
    parts = [
        f"<h1>{TITLE}</h1>",
        *(f'<p class="note">{escape(sentence)}</p>' for sentence in provenance.sentences()),
        f"<p><code>{escape(provenance.command)}</code></p>",
        f'<ul class="note">{notes}</ul>' if notes else "",
        f"<nav>{links}</nav>",
    ]
    for output in outputs:
        parts.append(f'<section id="{output.name}"><h2>{escape(output.title)}</h2>')
        parts.append(f'<p class="caption">{_inline(output.caption)}</p>')
        parts += _table_html(output) if isinstance(output, Table) else [_image(output, drawn[output.name])]
        parts.append("</section>")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{TITLE}</title>'
    body = "\n".join(part for part in parts if part)
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{CSS}</style></head>\n<body>\n{body}\n</body></html>\n'


def _image(figure: Figure, drawn: Drawn) -> str:
    """A figure inside of the page, as text."""
    content = base64.b64encode(drawn.svg).decode()
    image = f'<img alt="{escape(figure.title)}" src="data:image/svg+xml;base64,{content}">'
    return f'<div class="figure">{image}</div>'


def _table_html(table: Table) -> Iterator[str]:
    """The views of a table; the folded ones at the end, in a part that opens on demand."""
    folded = [view for view in table.views if view.folded]
    for view in table.views:
        if not view.folded:
            yield f"<h3>{escape(view.title)}</h3>" if view.title else ""
            yield _view_html(view)
    if folded:
        yield f"<details><summary>{len(folded)} more tables: the other readings</summary>"
        for view in folded:
            yield f"<h3>{escape(view.title)}</h3>{_view_html(view)}"
        yield "</details>"


def _view_html(view: View) -> str:
    """A table; columns with numbers of the paper and the row of AMCC have colours of their own."""
    # Told by the title of the column: views are text, and so need no other mark.
    of_paper = [title.startswith("paper's") for title in view.head]
    head = _cells(view.head, of_paper, "th")
    opening = {True: '<tr class="ours">', False: "<tr>"}
    rows = "".join(f"{opening[row[0] == AMCC.name]}{_cells(row, of_paper, 'td')}</tr>" for row in view.rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cells(texts: Sequence[str], of_paper: Sequence[bool], tag: str) -> str:
    """A row of cells, each of the paper's columns with its class."""
    classes = [' class="paper"' if paper else "" for paper in of_paper]
    return "".join(f"<{tag}{kind}>{_inline(text)}</{tag}>" for text, kind in zip(texts, classes, strict=True))


def _inline(text: str) -> str:
    """What markdown would print bold or as code.

    >>> _inline("**1 < 2** by `amcc`")
    '<b>1 &lt; 2</b> by <code>amcc</code>'
    """
    bold = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", escape(text))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", bold)
