"""The panel about families: workers who were declared to share errors, and what their votes are worth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from amcc.report.charts import BLUE, GREY, ORANGE, Chart, columns_of, ordered, rows
from amcc.report.findings import Findings
from amcc.report.html import left_out, table
from amcc.report.page import Panel

# Rows of the chart, one screen; the table below it lists all.
MAX_FAMILIES = 40

HEADER = ("family", "kind", "workers", "votes on a pair", "correlation of errors", "worth", "if nothing were shared")

Family = Mapping[str, Any]


def families_panel(findings: Findings) -> Panel | None:
    """How many independent votes each family is worth, beside what workers who share nothing would show.

    None where no family was declared.
    """
    families = findings.model.families(frame="arrow").to_pylist() if findings.model.has_roster else []
    if not families:
        return None
    shown = families[:MAX_FAMILIES]
    return Panel(
        "Families of workers",
        "Workers of a family, and language models in general, make the same mistakes, so that their votes (grey "
        "diamonds) are worth fewer independent ones (blue). The orange band is what the same estimate would say of "
        "workers who share no errors: where the blue point lies in it, votes alone cannot tell, and what it says is "
        "mostly assumed. Answers by several people on the same pairs, or known truth, would tell.",
        _families_chart(shown),
        table("Families", HEADER, map(_family_row, families)),
        left_out(len(families), len(shown), "family", "the first"),
    )


def _families_chart(families: list[Family]) -> Chart:
    """For each family the votes on a pair, what they are worth, and the band of what chance alone would show."""
    columns = columns_of(families, "family", "votes_per_pair", "effective_votes", "null_low", "null_high")
    names, *numbers = columns
    base = alt.Chart(rows(**columns)).encode(
        y=ordered("family:N", columns[names]),
        tooltip=["family:N", *(alt.Tooltip(f"{name}:Q", format=".2f") for name in numbers)],
    )
    band = base.mark_bar(color=ORANGE, opacity=0.4, height=14).encode(
        x=alt.X("null_low:Q", title="votes on a pair"), x2="null_high:Q"
    )
    given = base.mark_point(color=GREY, shape="diamond", size=60).encode(x="votes_per_pair:Q")
    worth = base.mark_point(color=BLUE, filled=True, size=90).encode(x="effective_votes:Q")
    # The band first: what is drawn later lies above it.
    return alt.layer(band, given, worth).properties(width=560, height=alt.Step(26))


def _family_row(family: Family) -> list[str]:
    """A row of the table, in the order of `HEADER`."""
    return [
        family["family"],
        family["kind"],
        f"{family['members']:,}",
        f"{family['votes_per_pair']:.1f}",
        f"{family['correlation']:.2f}",
        f"{family['effective_votes']:.1f}",
        f"{family['null_low']:.1f} to {family['null_high']:.1f}",
    ]
