"""Text as HTML. What is not HTML already is escaped here, and nowhere else.

Names of labels, items and workers come from files of strangers, and one of them may be `<script>`. So all text goes
through `element`: plain strings are escaped, and only a string of the type `Html` is trusted. Make an `Html` from
parts that are `Html` themselves, never from a name.

Sentences and numbers are the business of `language.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape


class Html(str):
    """Text that is HTML already."""


NO_HTML = Html("")

# Stands for a number that is not known; an empty cell would look like a mistake.
DASH = "–"


def element(tag: str, *content: str, **attributes: str) -> Html:
    """An HTML element; content is escaped unless it is Html. In the names of attributes, a final underscore is dropped,
    and others are hyphens.

    >>> element("p", "1 < 2", element("b", "!"), class_="note", aria_label="no")
    '<p class="note" aria-label="no">1 &lt; 2<b>!</b></p>'
    """
    shown = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"' for name, value in attributes.items())
    inner = "".join(part if isinstance(part, Html) else escape(part) for part in content)
    return Html(f"<{tag}{shown}>{inner}</{tag}>")


def joined(parts: Iterable[Html]) -> Html:
    """Pieces of HTML, one after the other."""
    return Html("".join(parts))


def bullets(sentences: Iterable[str]) -> Html:
    """A list with one point for each sentence.

    >>> bullets(["so", "what?"])
    '<ul><li>so</li><li>what?</li></ul>'
    """
    return element("ul", *(element("li", sentence) for sentence in sentences))


def chapter(title: str, sentences: Iterable[str], heading: str = "h2") -> Html:
    """A heading with a list of sentences below it; nothing at all where there is no sentence.

    >>> chapter("What to doubt", ["The slice is small."])
    '<h2>What to doubt</h2><ul><li>The slice is small.</li></ul>'
    >>> chapter("What to doubt", [])
    ''
    """
    said = list(sentences)
    return joined([element(heading, title), bullets(said)]) if said else NO_HTML


def link(anchor: str, text: str) -> Html:
    """A link to another part of the page.

    >>> link("worker-3", "<ann>")
    '<a href="#worker-3">&lt;ann&gt;</a>'
    """
    return element("a", text, href=f"#{anchor}")


def folded(title: str, body: Html, **attributes: str) -> Html:
    """What is read on demand: a title that opens and closes what is below it."""
    return element("details", element("summary", title), body, **attributes)


def tiles(summary: Mapping[str, str]) -> Html:
    """The numbers at the top of a page, each below its name."""
    return element("dl", *(element("div", element("dt", name), element("dd", text)) for name, text in summary.items()))


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table in which the first column names the rows.

    The div around it scrolls: on a phone a wide table would make the whole page wide.

    >>> print(table("Sizes", ["who", "size"], [["ann", "3"]]).replace("><", ">⏎<").replace("⏎", chr(10)))
    <div class="wide">
    <table>
    <caption>Sizes</caption>
    <thead>
    <tr>
    <th scope="col">who</th>
    <th scope="col">size</th>
    </tr>
    </thead>
    <tbody>
    <tr>
    <th scope="row">ann</th>
    <td>3</td>
    </tr>
    </tbody>
    </table>
    </div>
    """
    head = element("tr", *(element("th", cell, scope="col") for cell in header))
    body = (
        element("tr", element("th", first, scope="row"), *(element("td", cell) for cell in rest))
        for first, *rest in rows
    )
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", *body))
    return element("div", whole, class_="wide")
