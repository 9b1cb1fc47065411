"""The page about an audit: what a random slice, answered by people, says about a consensus.

What the numbers are and how they are estimated is in `amcc.audit` and docs/audit.md; here they become sentences, tables
and charts. Tables of an `Audit` are Arrow tables, which panels read row by row. A number that was not measured is None
and is shown as a dash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import pyarrow as pa

from amcc.audit import Audit
from amcc.audit.measures import JUDGE_MEASURES
from amcc.report import charts
from amcc.report.html import DASH, Html, chapter, element, joined, table, tiles
from amcc.report.language import Language, language
from amcc.report.page import Panel, make_page, now

# Rows of a panel: what fits on a page that somebody reads to its end; the rest is in the files.
MAX_LABELS, MAX_JUDGES, MAX_DISAGREEMENTS = 40, 30, 30
# Names in a sentence or a cell.
MAX_NAMED = 6

CONSENSUS = "the consensus"

# The page about an audit is in English; two of its panels are parts of the other page, too, in any language.
ENGLISH = language("en")
counted, and_more, left_out = ENGLISH.counted, ENGLISH.and_more, ENGLISH.left_out
percent, with_interval = ENGLISH.percent, ENGLISH.interval

# Columns of estimates come in threes: kappa, kappa_low, kappa_high.
ENDS = {"estimate": "", "low": "_low", "high": "_high"}

Row = Mapping[str, Any]


def audit_page(audit: Audit, title: str) -> str:
    """The page as text: what most readers came for, then what it rests on, then details."""
    panels = [
        prevalence_panel(audit),
        errors_panel(audit),
        calibration_panel(audit.calibration, ENGLISH),
        judges_panel(audit),
        labels_panel(audit),
        disagreements_panel(audit),
    ]
    return make_page(title, _head(audit), panels)


def _head(audit: Audit) -> Html:
    """Summary numbers, what they say in words, and reasons to doubt them."""
    per_item, people = audit.labels_per_item, audit.people
    summary = {
        "written": now(),
        "items answered by people": f"{audit.n_items:,} of {audit.n_items_all:,}",
        "pairs answered by people": f"{audit.n_pairs:,} of {audit.n_pairs_all:,}",
        "labels per item": DASH if per_item is None else with_interval(per_item.estimate, per_item.low, per_item.high),
        "two people disagree about": DASH if people is None else percent_with_interval(vars(people), "estimate"),
        "intervals": f"{100 * audit.level:g} %",
    }
    return joined([tiles(summary), chapter("What it says", says(audit)), chapter("What to doubt", audit.warnings)])


def says(audit: Audit) -> Iterator[str]:
    """Sentences about errors and frequencies, most important first."""
    errors = {row["pairs"]: row for row in audit.errors.to_pylist()}
    for name, subject in (("all", "of all pairs"), ("settled", "of the settled pairs")):
        row = errors.get(name)
        if row is not None and row["slice"]:
            # Safe as HTML: it holds numbers, and no name.
            measured, claimed = percent_with_interval(row, "measured"), percent(row["claimed"])
            yield Html(f"The consensus is wrong about {measured} {subject}; it claims {claimed}{verdict(row)}.")
    # Only labels with answers: others have no interval that their frequency could lie outside of.
    changed = [
        str(row["label"])
        for row in audit.prevalence.to_pylist()
        if row["slice"] and _outside(row["consensus_share"], row)
    ]
    if changed:
        named = and_more(changed[:MAX_NAMED], len(changed))
        yield Html(f"The slice corrects the frequency of {counted(len(changed), 'label')}: {named}.")


def verdict(row: Row) -> str:
    """Whether a claim lies in the interval of what was measured.

    >>> verdict({"claimed": 0.1, "low": 0.2, "high": 0.3})
    ', so it is worse than it says'
    """
    if not _outside(row["claimed"], row):
        return ", and the slice does not contradict that"
    return ", so it is worse than it says" if row["claimed"] < row["low"] else ", so it is better than it says"


def _outside(number: float, row: Row) -> bool:
    """Whether a number lies outside of the interval of a row."""
    return bool(number < row["low"] or number > row["high"])


# -- numbers as text -----------------------------------------------------------------------------------------------


def percent_with_interval(row: Row, name: str, low: str = "low", high: str = "high", *, say: Language = ENGLISH) -> str:
    """A share in percent with its interval, or a dash.

    >>> percent_with_interval({"share": 0.5, "low": 0.4, "high": 0.6}, "share")
    '<span class="unbroken">50.0\xa0% (40.0 to 60.0)</span>'
    """
    if row[name] is None:
        return DASH
    bounds = {"low": say.number(100 * row[low], 1), "high": say.number(100 * row[high], 1)}
    return _unbroken(say("number.interval", estimate=say.percent(row[name]), **bounds))


def measure(row: Row, name: str) -> str:
    """An estimate with its interval, as far as they are defined.

    >>> measure({"kappa": None, "kappa_low": None, "kappa_high": None}, "kappa")
    '–'
    """
    shown = with_interval(*(row[name + end] for end in ENDS.values()))
    return shown if shown == DASH else _unbroken(shown)


def _unbroken(text: str) -> Html:
    """Text that stays on one line: an interval that is broken in three cannot be read."""
    return element("span", text, class_="unbroken")


# -- frequencies ---------------------------------------------------------------------------------------------------

# What the three points of a label mean: colour and shape. The shape says the same as the colour, for print and for
# colour-blind people.
POINTS = {
    "share": ("corrected", charts.BLUE, "circle"),
    "slice_share": ("slice alone", charts.ORANGE, "diamond"),
    "consensus_share": ("consensus alone", charts.VERMILION, "cross"),
}


def prevalence_panel(audit: Audit) -> Panel:
    """The share of items with each label, corrected by the slice."""
    every = audit.prevalence.to_pylist()
    answered = [row for row in every if row["slice"]][:MAX_LABELS]
    header = ["label", "items", "answered", *(meaning for meaning, *_ in POINTS.values())]
    lines = (
        [
            str(row["label"]),
            f"{row['items']:,}",
            f"{row['slice']:,}",
            percent_with_interval(row, "share"),
            percent_with_interval(row, "slice_share", "slice_low", "slice_high"),
            percent(row["consensus_share"]),
        ]
        for row in every[:MAX_LABELS]
    )
    return Panel(
        "How frequent labels are",
        "The blue dot with its interval is the share of items with the label: the consensus of all items, corrected by "
        "what people said about the slice. A cross outside the interval shows a label that the consensus alone gets "
        "wrong.",
        _prevalence_chart(answered) if answered else None,
        table("Share of items with each label", header, lines),
        notes=left_out(len(every), min(len(every), MAX_LABELS), "label", "the most frequent"),
    )


def _prevalence_chart(shown: list[Row]) -> charts.Chart:
    """The corrected share with its interval, and what the slice and the consensus alone say."""
    names = [str(row["label"]) for row in shown]
    numbers = charts.columns_of(shown, "share", "low", "high", "slice_share", "consensus_share")
    base = alt.Chart(charts.rows(label=names, **numbers)).encode(y=charts.ordered("label:N", names))
    share = alt.X("low:Q", title="share of items with the label", axis=alt.Axis(format="%", tickCount=6))
    rules = base.mark_rule(color=charts.BLUE, strokeWidth=2).encode(x=share, x2="high:Q")
    colours = {meaning: colour for meaning, colour, _ in POINTS.values()}
    shapes = {meaning: shape for meaning, _, shape in POINTS.values()}
    key = {
        "color": charts.categories(alt.Color, "meaning:N", colours, charts.ON_TOP),
        "shape": charts.categories(alt.Shape, "meaning:N", shapes, charts.ON_TOP),
    }
    tooltip = ["label:N", *(alt.Tooltip(f"{name}:Q", format=".1%") for name in numbers)]
    points = [
        base.transform_calculate(meaning=f"'{meaning}'")
        .mark_point(filled=True, size=60, opacity=1)
        .encode(x=f"{name}:Q", tooltip=tooltip, **key)
        for name, (meaning, *_) in reversed(POINTS.items())  # the corrected share last, above the others
    ]
    return alt.layer(rules, *points).properties(width=560, height=alt.Step(24))


# -- errors and calibration ----------------------------------------------------------------------------------------


def _claim(row: Row, pairs: str, say: Language) -> list[str]:
    """A row of the tables of errors and of calibration: these pairs, what is claimed of them, and what was measured."""
    counts = [say.number(row["number"]), say.number(row["slice"])]
    return [pairs, *counts, say.percent(row["claimed"]), percent_with_interval(row, "measured", say=say)]


def errors_panel(audit: Audit) -> Panel:
    """How many decisions people contradict, among all pairs, settled ones, present ones, …"""
    return Panel(
        "Claimed and measured errors",
        "The claimed error is what the probabilities themselves say about the decisions; the measured one is how many "
        "decisions people contradict.",
        body=errors_table(audit.errors, ENGLISH),
    )


def errors_table(errors: pa.Table, say: Language) -> Html:
    """Claimed and measured errors of all pairs, of settled ones, and so on."""
    lines = (_claim(row, say(f"errors.{row['pairs']}"), say) for row in errors.to_pylist())
    header = [say(f"errors.{name}") for name in ("pairs", "number", "answered", "claimed", "measured")]
    return table(say("errors.caption"), header, lines)


def calibration_panel(calibration: pa.Table, say: Language) -> Panel:
    """Whether probabilities mean what they say."""
    every = calibration.to_pylist()
    lines = (
        _claim(row, f"{say.local(format(row['low_edge'], 'g'))} – {say.local(format(row['high_edge'], 'g'))}", say)
        for row in every
    )
    header = [say(f"calibration.{name}") for name in ("probability", "pairs", "answered", "claimed", "measured")]
    return Panel(
        say("calibration.title"),
        say("calibration.explanation"),
        _calibration_chart([row for row in every if row["slice"]], say),
        table(say("calibration.caption"), header, lines),
        name="calibration",
    )


def _calibration_chart(measured: list[Row], say: Language) -> charts.Chart:
    """Claimed against measured shares with intervals, and the diagonal where both are equal."""
    numbers = charts.columns_of(measured, "claimed", "measured", "low", "high")
    data = charts.rows(**numbers, **charts.columns_of(measured, "number", "slice"))
    diagonal = charts.diagonal([4, 4], x="x:Q", y="y:Q")
    claimed = alt.X("claimed:Q", title=say("calibration.x"), scale=charts.SHARE)
    base = alt.Chart(data).encode(x=claimed)
    low = alt.Y("low:Q", title=say("calibration.y"), scale=charts.SHARE)
    bars = base.mark_rule(color=charts.BLUE, strokeWidth=2).encode(y=low, y2="high:Q")
    points = base.mark_point(filled=True, color=charts.BLUE, size=70, opacity=1).encode(
        y="measured:Q",
        tooltip=[
            alt.Tooltip("claimed:Q", title=say("calibration.claimed"), format=".3f"),
            alt.Tooltip("measured:Q", title=say("calibration.measured"), format=".3f"),
            alt.Tooltip("number:Q", title=say("calibration.pairs"), format=","),
            alt.Tooltip("slice:Q", title=say("calibration.answered"), format=","),
        ],
    )
    return alt.layer(diagonal, bars, points).properties(width=420, height=420)


# -- who agrees with people ----------------------------------------------------------------------------------------


def _overall(audit: Audit) -> list[dict[str, Any]]:
    """Rows of the workers over all labels, those who agree most for certain first."""
    return [row for row in audit.judges.to_pylist() if row["label"] is None]


def _workers_left_out(n_all: int, n_shown: int) -> list[str]:
    return left_out(n_all, n_shown, "worker", "those who agree most for certain")


def judges_panel(audit: Audit) -> Panel:
    """How often each worker agrees with people, beside the consensus."""
    workers = _overall(audit)
    shown = [{**audit.decisions.to_pylist()[0], "worker": CONSENSUS}, *workers[:MAX_JUDGES]]
    lines = (
        [str(row["worker"]), f"{row['votes']:,}", *(measure(row, name) for name in JUDGE_MEASURES)] for row in shown
    )
    return Panel(
        "Who agrees with people",
        "How often the decisions of the consensus, and the votes of each worker on the slice, are what people say. A "
        "worker to the right of the consensus would do better alone, as far as they were asked.",
        _judges_chart(shown),
        table("Agreement with people over all labels", ["who", "votes", *JUDGE_MEASURES.values()], lines),
        notes=_workers_left_out(len(workers), len(shown) - 1),
    )


def _judges_chart(shown: list[dict[str, Any]]) -> charts.Chart:
    """Agreement with its interval, one row for each judge; the first one is the consensus."""
    # Numbered, as a worker may be called like another, or like the consensus, once names are text.
    unique = [f"{place}. {row['worker']}" if place else str(row["worker"]) for place, row in enumerate(shown)]
    columns = {name: [row[f"agreement{end}"] for row in shown] for name, end in ENDS.items()}
    kind = ["consensus", *["worker"] * (len(shown) - 1)]
    base = alt.Chart(charts.rows(who=unique, kind=kind, votes=[row["votes"] for row in shown], **columns)).encode(
        y=charts.ordered("who:N", unique),
        color=charts.categories(alt.Color, "kind:N", {"consensus": charts.VERMILION, "worker": charts.BLUE}, None),
    )
    low = alt.X("low:Q", title="share of votes that agree with people", axis=alt.Axis(format="%"))
    rules = base.mark_rule(strokeWidth=2).encode(x=low, x2="high:Q")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("estimate:Q", scale=alt.Scale(zero=False)),  # most agree on most: from 0, all dots were at the right
        tooltip=["who:N", alt.Tooltip("votes:Q", format=","), alt.Tooltip("estimate:Q", format=".1%")],
    )
    return alt.layer(rules, points).properties(width=520, height=alt.Step(20))


def labels_panel(audit: Audit) -> Panel:
    """Where a worker and people part ways: agreement label by label."""
    decisions = audit.decisions.to_pylist()
    labels = [row["label"] for row in decisions[1 : 1 + MAX_LABELS]]  # the first row is over all labels
    workers = [row["worker"] for row in _overall(audit)]
    shown = workers[:MAX_JUDGES]
    cells = [
        *({**row, "worker": CONSENSUS} for row in decisions if row["label"] in labels),
        *(row for row in audit.judges.to_pylist() if row["label"] in labels and row["worker"] in shown),
    ]
    return Panel(
        "Agreement by label",
        "Share of votes that agree with people: the bluer, the more; orange is a coin's toss or worse. Pointing at a "
        "cell shows how many votes it rests on, and its interval.",
        _labels_chart(cells, labels, [CONSENSUS, *map(str, shown)]) if cells else None,
        notes=_workers_left_out(len(workers), len(shown)),
    )


def _labels_chart(cells: list[dict[str, Any]], labels: list[str], workers: list[str]) -> charts.Chart:
    """A heat map of the agreement of each worker on each label."""
    numbers = charts.columns_of(cells, "agreement", "agreement_low", "agreement_high")
    names = {"worker": [str(row["worker"]) for row in cells], **charts.columns_of(cells, "label", "votes")}
    base = alt.Chart(charts.rows(**names, **numbers)).encode(
        x=alt.X("label:N", sort=labels, title=None, axis=charts.slanted()), y=charts.ordered("worker:N", workers)
    )
    # From a coin's toss, below which nobody is useful, over white to always; black numbers can be read on all three.
    scale = alt.Scale(domain=[0.5, 1], range=[charts.ORANGE, "#fff", charts.SKY], clamp=True, interpolate="rgb")
    tile = {
        "color": alt.Color("agreement:Q", scale=scale, legend=alt.Legend(title="agreement", format="%")),
        "tooltip": ["worker:N", "label:N", "votes:Q", *(alt.Tooltip(f"{name}:Q", format=".2f") for name in numbers)],
    }
    numbered = len(cells) <= charts.MAX_CELLS_WITH_NUMBERS
    chart = charts.heat_map(base, tile, "agreement:Q", ".2f", numbered=numbered, ink="#000")
    return chart.properties(width=alt.Step(44 if numbered else 20), height=alt.Step(20))


# -- disagreements -------------------------------------------------------------------------------------------------


def disagreements_panel(audit: Audit) -> Panel:
    """The pairs that people decide otherwise, and which workers said what."""
    shown = audit.disagreements.slice(0, MAX_DISAGREEMENTS).to_pylist()
    header = ["item", "label", "probability", "consensus", "people", "said yes", "said no"]
    lines = (
        [
            str(row["item"]),
            str(row["label"]),
            f"{row['probability']:.3f}",
            ("absent", "present")[row["consensus"]] + (", settled" if row.get("settled") else ""),
            f"{row['people_yes']} yes, {row['people_no']} no",
            *(and_more([*map(str, row[side][:MAX_NAMED])], len(row[side])) for side in ("said_yes", "said_no")),
        ]
        for row in shown
    )
    return Panel(
        "Where people decide otherwise",
        "The pairs about which the consensus was surest come first: look at them to see whether it errs, or people do.",
        body=table("Disagreements", header, lines) if shown else element("p", "There is none."),
        notes=left_out(
            audit.disagreements.num_rows, len(shown), "disagreement", "those of which the consensus was surest"
        ),
    )
