"""Text as HTML. What is not HTML already is escaped here, and nowhere else.

Names of labels, items and workers come from files of strangers, and one of them may be `<script>`. So all text goes
through `element`: plain strings are escaped, and only a string of the type `Html` is trusted. Make an `Html` from
parts that are `Html` themselves, never from a name.

Below are the sentences and numbers that both reports write in the same way.
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
    """An HTML element; content is escaped unless it is Html. A final underscore in attribute names is dropped.

    >>> element("p", "1 < 2", element("b", "!"), class_="note")
    '<p class="note">1 &lt; 2<b>!</b></p>'
    """
    shown = "".join(f' {name.rstrip("_")}="{escape(value)}"' for name, value in attributes.items())
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


def chapter(title: str, sentences: Iterable[str]) -> Html:
    """A heading with a list of sentences below it; nothing at all where there is no sentence.

    >>> chapter("What to doubt", ["The slice is small."])
    '<h2>What to doubt</h2><ul><li>The slice is small.</li></ul>'
    >>> chapter("What to doubt", [])
    ''
    """
    said = list(sentences)
    return joined([element("h2", title), bullets(said)]) if said else NO_HTML


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


def counted(n: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "item"), counted(2000, "item"), counted(2, "family")
    ('1 item', '2,000 items', '2 families')
    """
    several = f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun if n == 1 else several}"


def and_more(shown: Sequence[str], n_all: int) -> str:
    """The names that are shown, and how many there are beside them.

    >>> and_more(["ann", "bob"], 2), and_more(["ann", "bob"], 2002)
    ('ann, bob', 'ann, bob and 2,000 more')
    """
    more = n_all - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def left_out(n_all: int, n_shown: int, noun: str, which: str) -> list[str]:
    """The note below a panel that shows only some; no note where it shows all.

    >>> left_out(50, 40, "label", "the most frequent"), left_out(40, 40, "label", "the most frequent")
    (['Shown are 40 of 50 labels: the most frequent.'], [])
    """
    return [f"Shown are {n_shown:,} of {counted(n_all, noun)}: {which}."] if n_shown < n_all else []


def with_interval(estimate: float | None, low: float | None, high: float | None) -> str:
    """A number with two digits and its interval, as far as they are known.

    >>> with_interval(0.5, 0.401, 0.6), with_interval(-0.001, None, None), with_interval(None, None, None)
    ('0.50 (0.40 to 0.60)', '0.00', '–')
    """
    if estimate is None:
        return DASH
    # z: what rounds to zero has no sign, as -0.00 looks like a mistake
    return f"{estimate:z.2f}" + ("" if low is None or high is None else f" ({low:z.2f} to {high:z.2f})")


def percent(share: float | None) -> str:
    """A share in percent, or a dash.

    >>> percent(0.1234), percent(None)
    ('12.3 %', '–')
    """
    return DASH if share is None else f"{100 * share:.1f} %"
