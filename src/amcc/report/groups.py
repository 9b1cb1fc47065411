"""Panels about workers who belong together: groups that the model found, and families that were declared.

A *group* answers alike. AMCC says of every worker how their group answers (the *commonality*) and how far they are from
it (the *individuality*); one panel shows each. A *family*, such as the versions of one language model, shares errors,
so its votes are worth less than as many votes of strangers. A workers file declares it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from amcc.arrays import Floats, Ints, weight_per_code
from amcc.consensus.grouped import GroupedModel
from amcc.report import charts
from amcc.report.findings import Findings, largest, names_of
from amcc.report.html import and_more, left_out, table
from amcc.report.page import Panel
from amcc.report.workers import SPAMMER, answers_as_size, sample_workers
from amcc.votes import Votes

# Labels of the maps: 30 columns share 640 pixels. Narrower ones would have no room for slanted names.
MAX_GROUP_LABELS = 30
# Columns up to which there is room for numbers: 12 of 52 pixels are about as wide as other charts.
MAX_COLUMNS_WITH_NUMBERS, WIDE_COLUMN = 12, 52
# Names in a cell of the table: about three lines.
MAX_NAMES_IN_GROUP = 12

RATES = ["hit rate: yes when present", "false-alarm rate: yes when absent"]


def groups_panel(findings: Findings) -> Panel | None:
    """The usual rates of each group on each label, and who belongs to it; None for models without groups."""
    model, votes = findings.model, findings.votes
    if not isinstance(model, GroupedModel):
        return None
    groups = [group for group in model.groups(frame="arrow").to_pylist() if group["workers"]]
    shown = largest(findings.items_per_label, MAX_GROUP_LABELS)
    codes = np.array([group["group"] for group in groups])
    rates = model.commonality_[:, codes][:, :, shown]
    lines = [(f"group {g['group']}", f"{g['weight']:.2f}", _said(g["summary"]), _members(findings, g)) for g in groups]
    return Panel(
        "Groups of workers",
        "Workers who answer alike form a group. The darker a cell, the more often the group says yes to this label: "
        "good groups are dark above and pale below, and where both maps look the same, answers have nothing to do "
        "with the truth. The weight says how informative the group is beside the others.",
        _groups_chart(rates, [line[0] for line in lines], names_of(votes.label_names, shown)),
        table("Groups, the most informative first", ("group", "weight", "what they do", "workers"), lines),
        left_out(votes.n_labels, len(shown), "label", "the most frequent"),
    )


def _groups_chart(rates: Floats, groups: list[str], labels: list[str]) -> charts.Chart:
    """Two heat maps below each other: hit rates above, false-alarm rates below.

    rates : [rate, group, label], both rates of these groups on these labels
    """
    data = charts.rows(
        rate=np.repeat(RATES, len(groups) * len(labels)),
        group=np.tile(np.repeat(groups, len(labels)), 2),
        label=np.tile(labels, 2 * len(groups)),
        share=rates.ravel(),
    )
    base = alt.Chart().encode(
        x=alt.X("label:N", sort=labels, title=None, axis=charts.slanted("bottom")), y=charts.ordered("group:N", groups)
    )
    tile = {
        "opacity": charts.strength("share:Q", title=None, format="%"),
        "tooltip": ["rate:N", "group:N", "label:N", alt.Tooltip("share:Q", format=".1%")],
    }
    numbered = len(labels) <= MAX_COLUMNS_WITH_NUMBERS
    # Many columns share 640 pixels; below 16 their names would cover each other.
    step = WIDE_COLUMN if numbered else max(16, min(WIDE_COLUMN, 640 // len(labels)))
    header = alt.Header(labelOrient="top", labelAnchor="start", labelAngle=0, labelFontSize=12)
    return (
        charts.heat_map(base, tile, "share:Q", ".0%", numbered=numbered, color=charts.BLUE)
        .properties(data=data, width=alt.Step(step), height=alt.Step(26))
        .facet(row=alt.Row("rate:N", sort=RATES, title=None, header=header))
    )


def _said(summary: str) -> str:
    """The summary of a group without its number and weight, which have columns of their own.

    >>> _said("group 0: says yes to everything; weight 0.31")
    'says yes to everything'
    """
    return summary.partition(": ")[2].rpartition("; ")[0]


def _members(findings: Findings, group: Mapping[str, Any]) -> str:
    """Names of the busiest workers of a group."""
    # One more than their answers: members without an answer come last, yet before those of other groups.
    answers = np.where(findings.model._groups()[0] == group["group"], findings.model.worker_rates_.answers + 1, 0)
    shown = largest(answers.astype(np.float64), min(MAX_NAMES_IN_GROUP, group["workers"]))
    return and_more(names_of(findings.votes.worker_names, shown), group["workers"])


def individuality_panel(findings: Findings) -> Panel | None:
    """How far each worker is from what their group usually does; None for models without groups."""
    if not isinstance(findings.model, GroupedModel):
        return None
    rng = np.random.default_rng(0)
    shown = sample_workers(findings, rng)
    return Panel(
        "Individuality",
        "Each mark is a worker, in the row of the group: on the left those who do just what their group usually does, "
        "on the right those with ways of their own. Whoever gave few answers is taken to be like the group.",
        _individuality_chart(findings, findings.model, shown, rng.uniform(-1, 1, len(shown))),
        notes=left_out(len(findings.active), len(shown), "worker", "a random sample"),
    )


def _individuality_chart(findings: Findings, model: GroupedModel, shown: Ints, heights: Floats) -> charts.Chart:
    """One row of marks for each group that has workers; random heights keep marks from covering each other."""
    group = model.worker_group_[shown]
    names = [f"group {code}, weight {weight:.2f}" for code, weight in enumerate(model.group_weights_)]
    data = charts.rows(
        worker=names_of(findings.votes.worker_names, shown),
        group=[names[code] for code in group.tolist()],
        distance=worker_individuality(model, findings.votes)[shown],
        answers=model.worker_rates_.answers[shown],
        height=heights,
        verdict=np.where(findings.spammers[shown], SPAMMER, "other"),
    )
    taken = alt.Scale(domain=[names[code] for code in np.unique(group)])
    distance = alt.X("distance:Q", title="individuality: distance from the group's rates", scale=alt.Scale(zero=True))
    marks = alt.Chart(data, width=560, height=alt.Step(64)).mark_point(filled=True, opacity=0.7)
    return charts.encode(
        marks,
        x=distance.axis(format="%"),
        y=alt.Y("group:N", sort=names, title=None, scale=taken),
        # Heights reach from -1 to 1; the rest of the row keeps it apart from its neighbours.
        yOffset=alt.YOffset("height:Q", scale=alt.Scale(domain=[-1.6, 1.6])),
        size=answers_as_size(250),
        # Shape as well as colour: the difference can be seen in print and by colour-blind people.
        color=charts.categories(alt.Color, "verdict:N", {SPAMMER: charts.VERMILION, "other": charts.BLUE}),
        shape=charts.categories(alt.Shape, "verdict:N", {SPAMMER: "triangle-up", "other": "circle"}, None),
        tooltip=[
            "worker:N",
            "group:N",
            alt.Tooltip("distance:Q", title="individuality", format=".1%"),
            alt.Tooltip("answers:Q", format=","),
            "verdict:N",
        ],
    )


def worker_individuality(model: GroupedModel, votes: Votes) -> Floats:
    """(n_workers,) how far a worker's rates are from their group's, root of the mean square over their votes.

    Rates differ by label, and a worker may have seen one label a thousand times and another once: each label counts
    as often as they voted on it.
    """
    n_votes = np.bincount(votes.coins.slot // 2, minlength=len(votes.coins))
    square = weight_per_code(model.coin_worker_, n_votes * (model.individuality_**2).mean(axis=1), votes.n_workers)
    total = weight_per_code(model.coin_worker_, n_votes, votes.n_workers)
    return np.sqrt(square / np.maximum(total, 1))


# -- families ------------------------------------------------------------------------------------------------------

# Rows of the chart, one screen; the table below it lists all.
MAX_FAMILIES = 40

FAMILY_HEADER = (
    "family", "kind", "workers", "votes on a pair", "correlation of errors", "worth", "if nothing were shared",
)  # fmt: skip

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
        table("Families", FAMILY_HEADER, map(_family_row, families)),
        left_out(len(families), len(shown), "family", "the first"),
    )


def _families_chart(families: list[Family]) -> charts.Chart:
    """For each family the votes on a pair, what they are worth, and the band of what chance alone would show."""
    columns = charts.columns_of(families, "family", "votes_per_pair", "effective_votes", "null_low", "null_high")
    names, *numbers = columns
    base = alt.Chart(charts.rows(**columns)).encode(
        y=charts.ordered("family:N", columns[names]),
        tooltip=["family:N", *(alt.Tooltip(f"{name}:Q", format=".2f") for name in numbers)],
    )
    band = base.mark_bar(color=charts.ORANGE, opacity=0.4, height=14).encode(
        x=alt.X("null_low:Q", title="votes on a pair"), x2="null_high:Q"
    )
    given = base.mark_point(color=charts.GREY, shape="diamond", size=60).encode(x="votes_per_pair:Q")
    worth = base.mark_point(color=charts.BLUE, filled=True, size=90).encode(x="effective_votes:Q")
    # The band first: what is drawn later lies above it.
    return alt.layer(band, given, worth).properties(width=560, height=alt.Step(26))


def _family_row(family: Family) -> list[str]:
    """A row of the table, in the order of `FAMILY_HEADER`."""
    return [
        family["family"],
        family["kind"],
        f"{family['members']:,}",
        f"{family['votes_per_pair']:.1f}",
        f"{family['correlation']:.2f}",
        f"{family['effective_votes']:.1f}",
        f"{family['null_low']:.1f} to {family['null_high']:.1f}",
    ]
