"""One entry for each worker and each label, which a link opens; the first are in the page, the rest is packed.

An entry is a folded piece of HTML. All of them together would make a page of a large crowd too long to be read and to
be sent; packed, ten of them take the room of one. `look_up.js` puts an entry into the page when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amcc.report.findings import Findings
from amcc.report.html import NO_HTML, Html, element, joined
from amcc.report.stored import packed_json

# Entries of a kind that are there without a script.
INLINE = 30

# Letters that packed entries of a kind may take, so that the page stays below five million.
MOST_LETTERS = 500_000


def entry(anchor: str, name: str, summary: str, body: Html) -> Html:
    """What is known of a worker or a label, below a name that opens it."""
    head = element("summary", element("h4", name), " ", element("span", summary, class_="note"))
    return element("details", head, body, class_="entry", id=anchor)


def entries_of(findings: Findings, kind: str, entries: Mapping[str, Html], command: str) -> tuple[Html, dict[str, str]]:
    """The first entries with a way to find the others, and the others, by their anchors.

    kind : "worker" or "label"; entries : by anchor, those that matter most first
    command : by which all can be seen without this page
    """
    say, every = findings.say, list(entries.items())
    shown, others = every[:INLINE], every[INLINE:]
    while others and len(packed_json(dict(others))) > MOST_LETTERS:
        others = others[: int(0.8 * len(others))]
    note = NO_HTML
    if len(every) > len(shown) + len(others):
        kept = say.left_out(len(every), len(shown) + len(others), kind, say("which.matter"))
        note = element("p", *kept, " ", element("code", command), class_="note")
    find = element("label", say(f"{kind}.find"), Html(f'<input type="search" id="{kind}-find" autocomplete="off">'))
    status = element("p", id=f"{kind}-status", role="status", class_="note")
    controls = element("div", find, status, element("ul", id=f"{kind}-found", class_="found"), role="search", hidden="")
    without = element("p", say(f"{kind}.first", n=say.number(len(shown))), " ", element("code", command))
    places = [controls, note, *([element("noscript", without)] if others else [])]
    listed = element("div", joined(html for _, html in shown), id=f"{kind}-entries")
    return joined([*places, listed]), dict(others)


def packed_entries(others: Iterable[Mapping[str, str]]) -> str | None:
    """Entries of all kinds that are not in the page, as one text; None where all are."""
    together = {anchor: html for each in others for anchor, html in each.items()}
    return packed_json(together) if together else None
