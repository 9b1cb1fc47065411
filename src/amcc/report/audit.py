"""One HTML page about an audit: what the slice says about the consensus, built by the same means as `amcc.report`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amcc.audit import Audit
from amcc.files import whole_file
from amcc.report.consensus import (
    BLUE,
    MAX_CELLS_WITH_NUMBERS,
    ORANGE,
    VERMILION,
    Html,
    Panel,
    _check_extra,
    _counted,
    _element,
    _left_out,
    _list,
    _page,
    _rows,
    _table,
)

if TYPE_CHECKING:
    import altair as alt

__all__ = ["write_audit_report"]

MAX_LABELS, MAX_JUDGES, MAX_DISAGREEMENTS = 40, 30, 30
"""Rows of a panel: what fits on a page that somebody reads to its end; the rest is in the files."""

MAX_NAMED = 6
"""Names in a sentence."""

CONSENSUS = "the consensus"
SKY_BLUE = "#56b4e9"  # of Okabe and Ito, too; black numbers can be read on it

Row = Mapping[str, Any]


def write_audit_report(audit: Audit, path: str | Path, *, title: str = "Audit of a crowd consensus") -> None:
    """Write one self-contained HTML page about an audit; it needs `pip install 'amcc[report]'`."""
    _check_extra()
    panels = [
        _prevalence_panel(audit),
        _errors_panel(audit),
        _calibration_panel(audit),
        _judges_panel(audit),
        _labels_panel(audit),
        _disagreements_panel(audit),
    ]
    page = _page(title, _head(audit), panels)
    with whole_file(Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _head(audit: Audit) -> Html:
    summary = {
        "written": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        "items answered by people": f"{audit.n_items:,} of {audit.n_items_all:,}",
        "pairs answered by people": f"{audit.n_pairs:,} of {audit.n_pairs_all:,}",
        "labels per item": _labels_per_item(audit),
        "two people disagree about": "–" if audit.people is None else _shown(vars(audit.people), "estimate"),
        "intervals": f"{100 * audit.level:g} %",
    }
    tiles = (_element("div", _element("dt", name), _element("dd", value)) for name, value in summary.items())
    parts = [_element("dl", *tiles), _element("h2", "What it says"), _list(_findings(audit))]
    if audit.warnings:
        parts += [_element("h2", "What to doubt"), _list(audit.warnings)]
    return Html("".join(parts))


def _labels_per_item(audit: Audit) -> str:
    found = audit.labels_per_item
    return "–" if found is None else f"{found.estimate:.2f} ({found.low:.2f} to {found.high:.2f})"


def _findings(audit: Audit) -> list[str]:
    """Sentences about errors, most important first."""
    errors = {row["pairs"]: row for row in audit.errors.to_pylist()}
    sentences: list[str] = []
    for name, subject in (("all", "of all pairs"), ("settled", "of the settled pairs")):
        row = errors.get(name)
        if row is not None and row["slice"]:
            measured = _shown(row, "measured")
            claim = f" {subject}; it claims {_percent(row['claimed'])}{_verdict(row)}."
            sentences.append(Html(f"The consensus is wrong about {measured}{claim}"))
    frequencies = [row for row in audit.prevalence.to_pylist() if row["slice"]]
    changed = [row for row in frequencies if _outside(row["consensus_share"], row)]
    if changed:
        named = ", ".join(str(row["label"]) for row in changed[:MAX_NAMED])
        more = f" and {len(changed) - MAX_NAMED} more" if len(changed) > MAX_NAMED else ""
        sentences.append(f"The slice corrects the frequency of {_counted(len(changed), 'label')}: {named}{more}.")
    return sentences


def _verdict(row: Row) -> str:
    """Whether a claim lies in the interval of what was measured."""
    if not _outside(row["claimed"], row):
        return ", and the slice does not contradict that"
    return ", so it is worse than it says" if row["claimed"] < row["low"] else ", so it is better than it says"


def _outside(number: float, row: Row) -> bool:
    return bool(number < row["low"] or number > row["high"])


# -- panels --------------------------------------------------------------------------------------------------------


def _prevalence_panel(audit: Audit) -> Panel:
    rows = audit.prevalence.to_pylist()
    shown = [row for row in rows if row["slice"]][:MAX_LABELS]
    return Panel(
        "How frequent labels are",
        "The blue dot with its interval is the share of items with the label: the consensus of all items, corrected by "
        "what people said about the slice. A cross outside the interval shows a label that the consensus alone gets "
        "wrong.",
        _prevalence_chart(shown) if shown else None,
        _prevalence_table(rows[:MAX_LABELS]),
        notes=_left_out(len(rows), min(len(rows), MAX_LABELS), "label", "the most frequent"),
    )


def _prevalence_chart(shown: list[dict[str, Any]]) -> alt.LayerChart | alt.FacetChart:
    """The corrected share with its interval, and what the slice and the consensus alone say."""
    import altair as alt

    names = [str(row["label"]) for row in shown]
    columns = {
        name: [row[name] for row in shown] for name in ("share", "low", "high", "slice_share", "consensus_share")
    }
    meanings = {"share": "corrected", "slice_share": "slice alone", "consensus_share": "consensus alone"}
    base = alt.Chart(_rows(label=names, **columns)).encode(y=alt.Y("label:N", sort=names, title=None))
    axis = alt.Axis(format="%", tickCount=6)
    rules = base.mark_rule(color=BLUE, strokeWidth=2).encode(
        x=alt.X("low:Q", title="share of items with the label", axis=axis), x2="high:Q"
    )
    colour = alt.Scale(domain=list(meanings.values()), range=[BLUE, ORANGE, VERMILION])
    shape = alt.Scale(domain=list(meanings.values()), range=["circle", "diamond", "cross"])
    legend = alt.Legend(orient="top", title=None)
    points = [
        base.transform_calculate(meaning=f"'{meaning}'")
        .mark_point(filled=True, size=60, opacity=1)
        .encode(
            x=f"{name}:Q",
            color=alt.Color("meaning:N", scale=colour, legend=legend),
            shape=alt.Shape("meaning:N", scale=shape, legend=legend),
            tooltip=["label:N", *(alt.Tooltip(f"{each}:Q", format=".1%") for each in columns)],
        )
        for name, meaning in reversed(meanings.items())
    ]
    return alt.layer(rules, *points).properties(width=560, height=alt.Step(24))


def _prevalence_table(rows: list[dict[str, Any]]) -> Html:
    """The same in numbers."""
    return _table(
        "Share of items with each label",
        ["label", "items", "answered", "corrected", "slice alone", "consensus alone"],
        (
            [
                str(row["label"]),
                f"{row['items']:,}",
                f"{row['slice']:,}",
                _shown(row, "share"),
                _shown(row, "slice_share", "slice_low", "slice_high"),
                _percent(row["consensus_share"]),
            ]
            for row in rows
        ),
    )


def _errors_panel(audit: Audit) -> Panel:
    rows = (
        [
            {"all": "all", "present": "called present", "absent": "called absent"}.get(row["pairs"], row["pairs"]),
            f"{row['number']:,}",
            f"{row['slice']:,}",
            _percent(row["claimed"]),
            _shown(row, "measured"),
        ]
        for row in audit.errors.to_pylist()
    )
    header = ["pairs", "number", "answered", "claimed error", "measured error"]
    return Panel(
        "Claimed and measured errors",
        "The claimed error is what the probabilities themselves say about the decisions; the measured one is how many "
        "decisions people contradict.",
        body=_table("Errors of the decisions", header, rows),
    )


def _calibration_panel(audit: Audit) -> Panel:
    import altair as alt

    rows = audit.calibration.to_pylist()
    measured = [row for row in rows if row["slice"]]
    names = ("claimed", "measured", "low", "high", "number", "slice")
    data = _rows(**{name: [row[name] for row in measured] for name in names})
    share = alt.Scale(domain=[0, 1])
    diagonal = alt.Chart(_rows(x=[0.0, 1.0], y=[0.0, 1.0])).mark_line(strokeDash=[4, 4], color="#888")
    base = alt.Chart(data).encode(x=alt.X("claimed:Q", title="probability that the consensus gives", scale=share))
    bars = base.mark_rule(color=BLUE, strokeWidth=2).encode(
        y=alt.Y("low:Q", title="share of yes by people", scale=share), y2="high:Q"
    )
    points = base.mark_point(filled=True, color=BLUE, size=70, opacity=1).encode(
        y="measured:Q",
        tooltip=[
            *(alt.Tooltip(f"{name}:Q", format=".3f") for name in names[:4]),
            alt.Tooltip("number:Q", title="pairs", format=","),
            alt.Tooltip("slice:Q", title="answered", format=","),
        ],
    )
    table = _table(
        "Probabilities against answers of people",
        ["probability", "pairs", "answered", "claimed", "measured"],
        (
            [
                f"{row['low_edge']:g} to {row['high_edge']:g}",
                f"{row['number']:,}",
                f"{row['slice']:,}",
                _percent(row["claimed"]),
                _shown(row, "measured"),
            ]
            for row in rows
        ),
    )
    return Panel(
        "Calibration",
        "Each dot is a range of probabilities: how often people say yes where the consensus gives about that "
        "probability. On the dashed line it means what it says; dots nearer to the middle than the line show a "
        "consensus that is too sure.",
        alt.layer(diagonal.encode(x=alt.X("x:Q"), y=alt.Y("y:Q")), bars, points).properties(width=420, height=420),
        table,
    )


def _judges_panel(audit: Audit) -> Panel:
    import altair as alt

    overall = [row for row in audit.judges.to_pylist() if row["label"] is None]
    shown = [{**audit.decisions.to_pylist()[0], "worker": CONSENSUS}, *overall[:MAX_JUDGES]]
    names = [str(row["worker"]) for row in shown]
    unique = [f"{place}. {name}" if place else name for place, name in enumerate(names)]
    columns = {name: [row[f"agreement{end}"] for row in shown] for name, end in _ENDS.items()}
    kind = ["consensus", *["worker"] * (len(shown) - 1)]
    data = _rows(who=unique, kind=kind, votes=[row["votes"] for row in shown], **columns)
    colour = alt.Color("kind:N", scale=alt.Scale(domain=["consensus", "worker"], range=[VERMILION, BLUE]), legend=None)
    base = alt.Chart(data).encode(y=alt.Y("who:N", sort=unique, title=None), color=colour)
    rules = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="share of votes that agree with people", axis=alt.Axis(format="%")), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("estimate:Q", scale=alt.Scale(zero=False)),
        tooltip=["who:N", alt.Tooltip("votes:Q", format=","), alt.Tooltip("estimate:Q", format=".1%")],
    )
    measures = ("agreement", "kappa", "hit_rate", "false_alarm_rate", "informativeness")
    table = _table(
        "Agreement with people over all labels",
        ["who", "votes", "agreement", "kappa", "hit rate", "false alarms", "informativeness"],
        ([name, f"{row['votes']:,}", *_measures(row, measures)] for name, row in zip(names, shown, strict=True)),
    )
    return Panel(
        "Who agrees with people",
        "How often the decisions of the consensus, and the votes of each worker on the slice, are what people say. A "
        "worker to the right of the consensus would do better alone, as far as they were asked.",
        alt.layer(rules, points).properties(width=520, height=alt.Step(20)),
        table,
        notes=_left_out(len(overall), len(shown) - 1, "worker", "those who agree most for certain"),
    )


_ENDS = {"estimate": "", "low": "_low", "high": "_high"}


def _labels_panel(audit: Audit) -> Panel:
    """Where a worker and people part ways: agreement label by label."""
    import altair as alt

    labels = [row["label"] for row in audit.decisions.to_pylist()[1 : 1 + MAX_LABELS]]
    workers = [row["worker"] for row in audit.judges.to_pylist() if row["label"] is None]
    shown = workers[:MAX_JUDGES]
    cells = [
        *({**row, "worker": CONSENSUS} for row in audit.decisions.to_pylist() if row["label"] in labels),
        *(row for row in audit.judges.to_pylist() if row["label"] in labels and row["worker"] in shown),
    ]
    names = ["worker", "label", "votes", "agreement", "agreement_low", "agreement_high"]
    data = _rows(**{name: [str(row[name]) if name == "worker" else row[name] for row in cells] for name in names})
    base = alt.Chart(data).encode(
        x=alt.X("label:N", sort=labels, title=None, axis=alt.Axis(orient="top", labelAngle=-45)),
        y=alt.Y("worker:N", sort=[CONSENSUS, *map(str, shown)], title=None),
    )
    scale = alt.Scale(domain=[0.5, 1], range=[ORANGE, "#fff", SKY_BLUE], clamp=True, interpolate="rgb")
    tiles = base.mark_rect().encode(
        color=alt.Color("agreement:Q", scale=scale, legend=alt.Legend(title="agreement", format="%")),
        tooltip=["worker:N", "label:N", "votes:Q", *(alt.Tooltip(f"{name}:Q", format=".2f") for name in names[3:])],
    )
    has_numbers = len(cells) <= MAX_CELLS_WITH_NUMBERS
    numbers = base.mark_text(color="#000").encode(text=alt.Text("agreement:Q", format=".2f"))
    step = alt.Step(44 if has_numbers else 20)
    return Panel(
        "Agreement by label",
        "Share of votes that agree with people: the bluer, the more; orange is a coin's toss or worse. Pointing at a "
        "cell shows how many votes it rests on, and its interval.",
        alt.layer(tiles, *[numbers] * has_numbers).properties(width=step, height=alt.Step(20)) if cells else None,
        notes=_left_out(len(workers), len(shown), "worker", "those who agree most for certain"),
    )


def _disagreements_panel(audit: Audit) -> Panel:
    every = audit.disagreements.num_rows
    rows = audit.disagreements.slice(0, MAX_DISAGREEMENTS).to_pylist()
    header = ["item", "label", "probability", "consensus", "people", "said yes", "said no"]
    body = (
        [
            str(row["item"]),
            str(row["label"]),
            f"{row['probability']:.3f}",
            ("absent", "present")[row["consensus"]] + (", settled" if row.get("settled") else ""),
            f"{row['people_yes']} yes, {row['people_no']} no",
            _some(row["said_yes"]),
            _some(row["said_no"]),
        ]
        for row in rows
    )
    return Panel(
        "Where people decide otherwise",
        "The pairs about which the consensus was surest come first: look at them to see whether it errs, or people do.",
        body=_table("Disagreements", header, body) if rows else _element("p", "There is none."),
        notes=_left_out(every, len(rows), "disagreement", "those of which the consensus was surest"),
    )


# -- numbers as text -----------------------------------------------------------------------------------------------


def _some(names: list[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _shown(row: Row, name: str, low: str = "low", high: str = "high") -> str:
    """A share in percent with its interval."""
    if row[name] is None:
        return "–"
    return _unbroken(f"{_percent(row[name])} ({100 * row[low]:.1f} to {100 * row[high]:.1f})")


def _unbroken(text: str) -> Html:
    """Text that stays on one line: an interval that is broken in three cannot be read."""
    return _element("span", text, style="white-space: nowrap")


def _measures(row: Row, names: Iterable[str]) -> list[str]:
    return [_measure(row, name) for name in names]


def _measure(row: Row, name: str) -> str:
    """A number with its interval, as far as they are defined."""
    estimate, low, high = (row[name + end] for end in _ENDS.values())
    if estimate is None:
        return "–"
    return _unbroken(f"{estimate:.2f}" + ("" if low is None else f" ({low:.2f} to {high:.2f})"))
