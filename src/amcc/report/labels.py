"""Panels about labels: how frequent they are, and which occur together.

Both count expected items: a pair with a probability of 0.7 is 0.7 items with the label. Decisions would be rounder, but
a label that is likely on no single item, and a bit likely on many, would then look as if it did not exist.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from amcc.arrays import Floats, Ints
from amcc.report import charts
from amcc.report.findings import Findings, largest, names_of
from amcc.report.html import Html, table
from amcc.report.language import Language
from amcc.report.page import Panel

# Labels of a chart: what fits on a screen. 40 bars of 20 pixels are one, and so are 25 rows of a table.
MAX_FREQUENCIES, MAX_COOCCURRING = 40, 25
# Pairs of labels that are listed beside the map of all.
MAX_LISTED = 15
# At 25 labels, a block of this many items takes 25 MB; all items at once might not fit in memory.
ITEMS_PER_BLOCK = 2**16


def frequency_panel(findings: Findings) -> Panel:
    """The most frequent labels, as the model and as the raw votes see them."""
    shown = largest(findings.items_per_label, MAX_FREQUENCIES)
    say, n_labels = findings.say, findings.votes.n_labels
    names = names_of(findings.votes.label_names, shown)
    return findings.panel(
        "frequency",
        _frequency_chart(frequencies(findings, shown), names, say),
        notes=say.left_out(n_labels, len(shown), "label", say("which.most_frequent")),
    )


def frequencies(findings: Findings, shown: Ints) -> dict[str, Any]:
    """Chart data, one row for each of these labels: estimated and raw share, votes, expected items as text."""
    by_label = [findings.description.by_label[code] for code in shown]
    items = findings.items_per_label[shown]
    return charts.rows(
        label=names_of(findings.votes.label_names, shown),
        estimated=items / findings.votes.n_items,
        raw=[label.yes_share for label in by_label],
        asked=[label.asked for label in by_label],
        # Expected numbers are fractions; a rare label would be rounded to nothing.
        items=[findings.say.number(n, 0 if n >= 10 else 1) for n in items.tolist()],
    )


def _frequency_chart(data: dict[str, Any], names: list[str], say: Language) -> charts.Chart:
    """A bar for the model, a tick for the votes, and the number of items at the right end."""
    # What the bar and the tick of a label mean, and their colours.
    estimated, raw = say("frequency.estimated"), say("frequency.raw")
    meanings = {estimated: charts.BLUE, raw: charts.ORANGE}
    base = alt.Chart(data).encode(
        y=charts.ordered("label:N", names),
        tooltip=[
            alt.Tooltip("label:N", title=say("table.label")),
            alt.Tooltip("items:N", title=say("frequency.items")),
            alt.Tooltip("estimated:Q", title=estimated, format=".1%"),
            alt.Tooltip("raw:Q", title=raw, format=".1%"),
            alt.Tooltip("asked:Q", title=say("table.votes"), format=","),
        ],
    )
    # A column `meaning` is made up for each layer, as only data, not layers, can have an entry in the key.
    bars, ticks = (base.transform_calculate(meaning=charts.constant(meaning)) for meaning in meanings)
    colour = charts.categories(alt.Color, "meaning:N", meanings, charts.ON_TOP)
    share = alt.X("estimated:Q", title=None, axis=alt.Axis(format="%", tickCount=6))
    return alt.layer(
        bars.mark_bar().encode(x=share, color=colour),
        ticks.mark_tick(thickness=3, opacity=1).encode(x="raw:Q", color=colour),
        base.mark_text(align="left", dx=8).encode(x=alt.value("width"), text="items:N"),
    ).properties(width=560, height=alt.Step(20))


def cooccurrence_panel(findings: Findings) -> Panel:
    """Of the items with one label, how many also have another."""
    votes, say = findings.votes, findings.say
    shown = largest(findings.items_per_label, MAX_COOCCURRING)
    shown = shown[findings.items_per_label[shown] >= 1]
    share = cooccurrence(findings, shown)
    if np.isnan(share).all():
        return findings.plain("together", say("together.none"))
    names = names_of(votes.label_names, shown)
    return findings.panel(
        "together",
        _cooccurrence_chart(share, names, say),
        notes=say.left_out(votes.n_labels, len(shown), "label", say("which.frequent_and_expected")),
        numbers=_strongest(share, names, say),
    )


def _strongest(share: Floats, names: list[str], say: Language) -> Html:
    """The pairs of labels that occur together most, as a table: what the heat map shows first."""
    order = largest(np.nan_to_num(share.ravel(), nan=-1.0), MAX_LISTED)
    rows = (
        (names[given], names[other], say.percent(share[given, other], 0))
        for given, other in (divmod(place, len(names)) for place in order.tolist())
        if not np.isnan(share[given, other])
    )
    return table(say("together.caption"), [say(f"together.{name}") for name in ("given", "other", "share")], rows)


def cooccurrence(findings: Findings, labels: Ints) -> Floats:
    """[a, b] share of the items with label a that also have b, among those asked about both; NaN if unknown.

    labels : codes of the labels that are compared; rows and columns are in their order

    It is unknown on the diagonal, where it would be 1, and where less than one item with a is expected.
    Only the labels asked for are held, and only a block of items at a time, so this works for any number of items.
    """
    model, n_shown = findings.model, len(labels)
    place = np.full(findings.votes.n_labels, -1)
    place[labels] = np.arange(n_shown)
    both, first = np.zeros((2, n_shown, n_shown))
    for start in range(0, findings.votes.n_items, ITEMS_PER_BLOCK):
        pairs = slice(*np.searchsorted(model.pair_item_, (start, start + ITEMS_PER_BLOCK)))  # sorted by item
        column = place[model.pair_label_[pairs]]
        shown = column >= 0
        cells = (model.pair_item_[pairs][shown] - start, column[shown])
        proba, asked = np.zeros((2, min(ITEMS_PER_BLOCK, findings.votes.n_items - start), n_shown))
        proba[cells], asked[cells] = model.pair_proba_[pairs][shown], 1.0
        # Labels of an item count as independent given the votes. A pair that was not asked adds to neither sum.
        both += proba.T @ proba
        first += proba.T @ asked
    known = (first >= 1) & ~np.eye(n_shown, dtype=bool)
    return np.asarray(np.divide(both, first, out=np.full(both.shape, np.nan), where=known))


def _cooccurrence_chart(share: Floats, names: list[str], say: Language) -> charts.Chart:
    """A heat map of (n, n) shares, NaN left empty."""
    data = charts.rows(given=np.repeat(names, len(names)), other=np.tile(names, len(names)), share=share.ravel())
    base = alt.Chart(data).encode(
        x=alt.X("other:N", sort=names, title=say("together.column"), axis=charts.slanted()),
        y=alt.Y("given:N", sort=names, title=say("together.row")),
    )
    tile = {
        "opacity": charts.strength("share:Q", title=say("together.share"), format="%"),
        "tooltip": [
            alt.Tooltip("given:N", title=say("together.given")),
            alt.Tooltip("other:N", title=say("together.other")),
            alt.Tooltip("share:Q", title=say("together.share"), format=".1%"),
        ],
    }
    numbered = share.size <= charts.MAX_CELLS_WITH_NUMBERS
    step = alt.Step(40 if numbered else 24)  # pixels: "100%" needs 40
    chart = charts.heat_map(base, tile, "share:Q", ".0%", numbered=numbered, color=charts.BLUE)
    return chart.transform_filter("isValid(datum.share)").properties(width=step, height=step)
