"""Instructions as requesters write them: paragraphs, headings, lists, **strong** words. Nothing else, and no HTML."""

from __future__ import annotations

import re
from itertools import groupby

from markupsafe import Markup, escape

BULLET = re.compile(r"\s*[-*•]\s+")
NUMBER = re.compile(r"\s*\d+[.)]\s+")
HEADING = re.compile(r"#{1,6}\s+")
STRONG = re.compile(r"\*\*(.+?)\*\*")


def as_html(text: str) -> Markup:
    """Text with a little Markdown as HTML; everything in it is escaped.

    >>> as_html("# Dogs\\n\\nSay **yes** for\\n- wolves\\n- <b>")
    Markup('<h3>Dogs</h3>\\n<p>Say <strong>yes</strong> for</p>\\n<ul><li>wolves</li><li>&lt;b&gt;</li></ul>')
    """
    parts = (_block(kind, list(lines)) for kind, lines in groupby(text.strip().splitlines(), key=_kind))
    return Markup("\n").join(part for part in parts if part)


def _kind(line: str) -> str:
    if not line.strip():
        return "empty"
    kinds = {"heading": HEADING, "bullets": BULLET, "numbers": NUMBER}
    return next((kind for kind, begin in kinds.items() if begin.match(line)), "text")


def _block(kind: str, lines: list[str]) -> Markup:
    if kind == "empty":
        return Markup("")
    if kind == "text":
        return Markup("<p>{}</p>").format(Markup("<br>").join(map(_inline, lines)))
    if kind == "heading":  # below the headings of the page itself
        return Markup("\n").join(Markup("<h3>{}</h3>").format(_inline(HEADING.sub("", line))) for line in lines)
    tag, begin = (Markup("ul"), BULLET) if kind == "bullets" else (Markup("ol"), NUMBER)
    entries = Markup("").join(Markup("<li>{}</li>").format(_inline(begin.sub("", line, count=1))) for line in lines)
    return Markup("<{0}>{1}</{0}>").format(tag, entries)


def _inline(line: str) -> Markup:
    return Markup(STRONG.sub(r"<strong>\1</strong>", str(escape(line.strip()))))
