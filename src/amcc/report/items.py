"""The table of all items: what was decided of each, what is open, and how to find one.

The page holds the items as columns of bytes, and a script (`look_up.js`) shows a hundred of them at a time. A
probability is a whole number of percent in seven bits, and the eighth says whether the pair is settled. The first rows
are written as HTML: they can be read without a script, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from amcc.arrays import Floats, Ints, Mask, weight_per_code
from amcc.report.disagreement import yes_and_no
from amcc.report.findings import Findings, largest, names_of
from amcc.report.html import DASH, Html, bullets, element, joined, table
from amcc.report.language import Language
from amcc.report.page import Chapter
from amcc.report.stored import packed_bytes, packed_codes, packed_json

# Rows that are there without a script.
FIRST_ROWS = 25

# Labels of an item in one cell; the script has the same limit.
MOST_IN_ROW = 4

# Letters that the items may take. Scripts and charts take 1.5 million and workers one, and the page must stay below
# five: mail and chat refuse larger files.
MOST_LETTERS = 2_400_000

# Labels that two bytes can tell apart; with more, the table has no place for them.
MOST_LABELS = 2**16

SETTLED = 0x80

Bytes = npt.NDArray[np.uint8]


def percents(proba: Floats, settled: Mask) -> Bytes:
    """(n_pairs,) percent, with `SETTLED` added where more answers are hardly needed.

    Above 50 is present, as in the consensus: 0.501 is written as 51, not as 50.

    >>> (percents(np.array([0.004, 0.5, 0.501, 1.0]), np.array([True, False, False, True])) & 127).tolist()
    [0, 50, 51, 100]
    """
    nearest = np.rint(100 * proba)
    kept = np.where(proba > 0.5, np.maximum(nearest, 51), np.minimum(nearest, 50))
    return (kept + np.where(settled, SETTLED, 0)).astype(np.uint8)


@dataclass(frozen=True)
class ItemColumns:
    """Some items with their pairs, as the page holds them.

    item : (n,) codes, rising; start : (n + 1,) where the pairs of each begin among `pair`, (n_pairs,) places of pairs
    percent : (n_pairs,) see `percents`
    """

    item: Ints
    start: Ints
    pair: Ints
    percent: Bytes

    @classmethod
    def of(cls, findings: Findings, items: Ints) -> ItemColumns:
        """These items, whose codes rise."""
        model, n_items = findings.model, findings.votes.n_items
        chosen = np.zeros(n_items, dtype=bool)
        chosen[items] = True
        pair = np.flatnonzero(chosen[model.pair_item_])
        counts = np.bincount(model.pair_item_[pair], minlength=n_items)[items]
        percent = percents(model.pair_proba_[pair], model.pair_settled_[pair])
        return cls(items, np.append(0, np.cumsum(counts)), pair, percent)

    @property
    def wrong(self) -> Floats:
        """(n,) wrong decisions that are expected, in percent: what the table is ordered by."""
        percent = (self.percent & ~np.uint8(SETTLED)).astype(np.float64)
        place = np.repeat(np.arange(len(self.item)), np.diff(self.start))
        return weight_per_code(place, np.minimum(percent, 100 - percent), len(self.item))

    def packed(self, findings: Findings) -> dict[str, Any]:
        """All of it as the script reads it."""
        votes = findings.votes
        return {
            "names": packed_json(names_of(votes.item_names, self.item)),
            "counts": packed_codes(np.diff(self.start)),
            "labels": packed_codes(votes.pairs.label[self.pair]),
            "percent": packed_bytes(self.percent),
            "yes": packed_bytes(votes.n_yes[self.pair]),
            "votes": packed_bytes(votes.pairs.n_votes[self.pair]),
        }


def stored_items(findings: Findings, columns: ItemColumns, least_sure: Ints) -> tuple[dict[str, Any], int]:
    """The items as the page holds them, and how many: all, or the least sure ones where all would be too large."""
    while True:
        packed = columns.packed(findings)
        size = sum(map(len, packed.values()))
        if size <= MOST_LETTERS:
            return packed, len(columns.item)
        # Nearly as many as would fit; unsure items take more room than others, so it may take another turn.
        n_kept = int(0.95 * len(columns.item) * MOST_LETTERS / size)
        columns = ItemColumns.of(findings, np.sort(least_sure[:n_kept]))


def items_chapter(findings: Findings) -> tuple[Chapter, dict[str, Any]]:
    """The chapter, and the data of its script."""
    say, n_items = findings.say, findings.votes.n_items
    title = say("items.title")
    if findings.votes.n_labels > MOST_LABELS:
        return Chapter("items", title, intro=element("p", say("items.too_many"))), {}
    columns = ItemColumns.of(findings, np.arange(n_items))
    least_sure = np.argsort(-columns.wrong, kind="stable")
    packed, n_stored = stored_items(findings, columns, least_sure)
    first = least_sure[:FIRST_ROWS]
    header = [say(f"table.{name}") for name in ("item", "present", "open", "wrong")]
    command = element("code", f"amcc consensus {findings.source} -o consensus.csv")
    left_out = say.left_out(n_items, n_stored, "item", say("which.least_sure"))
    body = joined(
        (
            element("p", say("items.explanation")),
            _controls(say),
            element("p", say("items.first", n=say.counted(len(first), "item")), id="items-status", role="status"),
            element(
                "div", table(say("items.caption"), header, _first_rows(findings, columns, first)), id="items-table"
            ),
            element("div", id="items-pages", class_="pages"),
            element("p", say.html("items.all", command=command), *left_out, class_="note"),
        )
    )
    names = names_of(findings.votes.label_names, np.arange(findings.votes.n_labels))
    return Chapter("items", title, intro=body), {"items": {**packed, "label_names": names}}


def _first_rows(findings: Findings, columns: ItemColumns, first: Ints) -> Iterator[tuple[str, ...]]:
    """Rows of these places among the columns, as the script would write them."""
    votes, say, wrong = findings.votes, findings.say, columns.wrong
    names = names_of(votes.item_names, columns.item[first])
    for name, place in zip(names, first.tolist(), strict=True):
        own = slice(columns.start[place], columns.start[place + 1])
        percent = (columns.percent[own] & ~np.uint8(SETTLED)).astype(np.int64)
        unsure = largest(np.minimum(percent, 100 - percent).astype(np.float64), len(percent))
        labels = names_of(votes.label_names, votes.pairs.label[columns.pair[own]])
        told = [f"{label}\u00a0{percent_text(p, say)}" for label, p in zip(labels, percent.tolist(), strict=True)]
        present = [told[each] for each in np.flatnonzero(percent > 50).tolist()]
        opened = []
        for each in unsure[columns.percent[own][unsure] < SETTLED].tolist():
            pair = columns.pair[own][each]
            n_yes, n_votes = int(votes.n_yes[pair]), int(votes.pairs.n_votes[pair])
            opened.append(f"{told[each]} ({yes_and_no(n_yes, n_votes - n_yes, say)})")
        yield name, _few(present, say), _few(opened, say), say.number(wrong[place] / 100, 2)


def _few(parts: list[str], say: Language) -> Html:
    """Some labels of an item: as many as a row has room for."""
    more = len(parts) - MOST_IN_ROW
    rest = [say("items.more", n=say.number(more))] if more > 0 else []
    return bullets([*parts[:MOST_IN_ROW], *rest]) if parts else Html(DASH)


def percent_text(percent: int, say: Language) -> str:
    """A whole number of percent; nothing is quite impossible or certain."""
    text = say.percent(min(max(percent, 1), 99) / 100, 0)
    return f"<\u00a0{text}" if percent < 1 else f">\u00a0{text}" if percent > 99 else text


def _controls(say: Language) -> Html:
    """What to look for. It is there when the script is."""

    def choice(name: str, options: dict[str, str]) -> Html:
        shown = (element("option", text, value=value) for value, text in options.items())
        return element("label", say(f"items.{name}"), element("select", *shown, id=f"items-{name}"))

    find = element("label", say("items.find"), Html('<input type="search" id="items-find" autocomplete="off">'))
    states = {"": "items.state_all", **{name: f"items.state_{name}" for name in ("open", "settled", "disputed")}}
    orders = {name: say(f"items.order_{name}") for name in ("unsure", "name", "file")}
    parts = (
        find,
        choice("label", {"": say("items.label_all")}),
        choice("state", {value: say(key) for value, key in states.items()}),
        choice("order", orders),
    )
    return element("div", *parts, id="items-controls", class_="controls", role="search", hidden="")
