"""The page about an audit: what a random slice, answered by people, says about a consensus.

What the numbers are and how they are estimated is in `amcc.audit` and docs/audit.md; here they become sentences. The
panels are in `audit_panels.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from amcc.audit import Audit
from amcc.report.audit_panels import (
    MAX_NAMED,
    Row,
    calibration_panel,
    disagreements_panel,
    errors_panel,
    judges_panel,
    labels_panel,
    percent,
    percent_with_interval,
    prevalence_panel,
)
from amcc.report.html import DASH, Html, and_more, chapter, counted, joined, tiles, with_interval
from amcc.report.page import make_page, now

# In the order of the page: what most readers came for, then what it rests on, then details.
PANELS = (prevalence_panel, errors_panel, calibration_panel, judges_panel, labels_panel, disagreements_panel)


def audit_page(audit: Audit, title: str) -> str:
    """The page as text."""
    return make_page(title, _head(audit), [make(audit) for make in PANELS])


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
    changed = [
        str(row["label"])
        for row in audit.prevalence.to_pylist()
        if row["slice"] and _outside(row["consensus_share"], row)
    ]
    if changed:
        named = and_more(changed[:MAX_NAMED], len(changed))
        yield f"The slice corrects the frequency of {counted(len(changed), 'label')}: {named}."


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
