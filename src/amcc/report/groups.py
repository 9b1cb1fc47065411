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
from amcc.report.html import Html, element, table
from amcc.report.language import Language
from amcc.report.page import Panel
from amcc.report.workers import answers_as_size, sample_workers
from amcc.votes import Votes

# Labels of the maps: 30 columns share 640 pixels. Narrower ones would have no room for slanted names.
MAX_GROUP_LABELS = 30
# Columns up to which there is room for numbers: 12 of 52 pixels are about as wide as other charts.
MAX_COLUMNS_WITH_NUMBERS, WIDE_COLUMN = 12, 52
# Names in a cell of the table: about three lines.
MAX_NAMES_IN_GROUP = 12


def groups_panel(findings: Findings) -> Panel | None:
    """The usual rates of each group on each label, and who belongs to it; None for models without groups."""
    model, votes = findings.model, findings.votes
    if not isinstance(model, GroupedModel):
        return None
    groups = [group for group in model.groups(frame="arrow").to_pylist() if group["workers"]]
    shown = largest(findings.items_per_label, MAX_GROUP_LABELS)
    codes = np.array([group["group"] for group in groups])
    rates = model.commonality_[:, codes][:, :, shown]
    say = findings.say
    # What groups do is told by the library, in English.
    lines = [
        (
            say("groups.group", group=g["group"]),
            say.number(g["weight"], 2),
            element("span", _said(g["summary"]), lang="en"),
            _members(findings, g),
        )
        for g in groups
    ]
    header = [say(f"groups.{name}") for name in ("name", "weight", "does", "workers")]
    return findings.panel(
        "groups",
        _groups_chart(rates, [line[0] for line in lines], names_of(votes.label_names, shown), say),
        table(say("groups.caption"), header, lines),
        say.left_out(votes.n_labels, len(shown), "label", say("which.most_frequent")),
    )


def _groups_chart(rates: Floats, groups: list[str], labels: list[str], say: Language) -> charts.Chart:
    """Two heat maps below each other: hit rates above, false-alarm rates below.

    rates : [rate, group, label], both rates of these groups on these labels
    """
    titles = [say("groups.hit"), say("groups.false_alarm")]
    data = charts.rows(
        rate=np.repeat(titles, len(groups) * len(labels)),
        group=np.tile(np.repeat(groups, len(labels)), 2),
        label=np.tile(labels, 2 * len(groups)),
        share=rates.ravel(),
    )
    base = alt.Chart().encode(
        x=alt.X("label:N", sort=labels, title=None, axis=charts.slanted("bottom")), y=charts.ordered("group:N", groups)
    )
    tile = {
        "opacity": charts.strength("share:Q", title=None, format="%"),
        "tooltip": ["rate:N", "group:N", "label:N", alt.Tooltip("share:Q", title=say("together.share"), format=".1%")],
    }
    numbered = len(labels) <= MAX_COLUMNS_WITH_NUMBERS
    # Many columns share 640 pixels; below 16 their names would cover each other.
    step = WIDE_COLUMN if numbered else max(16, min(WIDE_COLUMN, 640 // len(labels)))
    header = alt.Header(labelOrient="top", labelAnchor="start", labelAngle=0, labelFontSize=12)
    return (
        charts.heat_map(base, tile, "share:Q", ".0%", numbered=numbered, color=charts.BLUE)
        .properties(data=data, width=alt.Step(step), height=alt.Step(26))
        .facet(row=alt.Row("rate:N", sort=titles, title=None, header=header))
    )


def _said(summary: str) -> str:
    """The summary of a group without its number and weight, which have columns of their own.

    >>> _said("group 0: says yes to everything; weight 0.31")
    'says yes to everything'
    """
    return summary.partition(": ")[2].rpartition("; ")[0]


def _members(findings: Findings, group: Mapping[str, Any]) -> Html:
    """Names of the busiest workers of a group."""
    # One more than their answers: members without an answer come last, yet before those of other groups.
    answers = np.where(findings.model._groups()[0] == group["group"], findings.model.worker_rates_.answers + 1, 0)
    shown = largest(answers.astype(np.float64), min(MAX_NAMES_IN_GROUP, group["workers"]))
    return findings.say.and_more(findings.worker_links(shown), group["workers"])


def individuality_panel(findings: Findings) -> Panel | None:
    """How far each worker is from what their group usually does; None for models without groups."""
    if not isinstance(findings.model, GroupedModel):
        return None
    rng = np.random.default_rng(0)
    shown = sample_workers(findings, rng)
    return findings.panel(
        "individuality",
        _individuality_chart(findings, findings.model, shown, rng.uniform(-1, 1, len(shown))),
        notes=findings.say.left_out(len(findings.active), len(shown), "worker", findings.say("which.random")),
    )


def _individuality_chart(findings: Findings, model: GroupedModel, shown: Ints, heights: Floats) -> charts.Chart:
    """One row of marks for each group that has workers; random heights keep marks from covering each other."""
    group = model.worker_group_[shown]
    say, spammer, other = findings.say, findings.say("verdict.spammer"), findings.say("verdict.none")
    names = [
        say("groups.weighted", group=code, weight=say.number(weight, 2))
        for code, weight in enumerate(model.group_weights_.tolist())
    ]
    data = charts.rows(
        worker=names_of(findings.votes.worker_names, shown),
        group=[names[code] for code in group.tolist()],
        distance=worker_individuality(model, findings.votes)[shown],
        answers=model.worker_rates_.answers[shown],
        height=heights,
        verdict=np.where(findings.spammers[shown], spammer, other),
    )
    taken = alt.Scale(domain=[names[code] for code in np.unique(group)])
    distance = alt.X("distance:Q", title=say("individuality.x"), scale=alt.Scale(zero=True))
    marks = alt.Chart(data, width=560, height=alt.Step(64)).mark_point(filled=True, opacity=0.7)
    return charts.encode(
        marks,
        x=distance.axis(format="%"),
        y=alt.Y("group:N", sort=names, title=None, scale=taken),
        # Heights reach from -1 to 1; the rest of the row keeps it apart from its neighbours.
        yOffset=alt.YOffset("height:Q", scale=alt.Scale(domain=[-1.6, 1.6])),
        size=answers_as_size(250, say("table.answers")),
        # Shape as well as colour: the difference can be seen in print and by colour-blind people.
        color=charts.categories(alt.Color, "verdict:N", {spammer: charts.VERMILION, other: charts.BLUE}),
        shape=charts.categories(alt.Shape, "verdict:N", {spammer: "triangle-up", other: "circle"}, None),
        tooltip=[
            alt.Tooltip("worker:N", title=say("table.worker")),
            alt.Tooltip("group:N", title=say("groups.name")),
            alt.Tooltip("distance:Q", title=say("individuality.title"), format=".1%"),
            alt.Tooltip("answers:Q", title=say("table.answers"), format=","),
            alt.Tooltip("verdict:N", title=say("table.verdict")),
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

# Keys of the catalogue, in the order of the table.
FAMILY_HEADER = ("family", "kind", "workers", "given", "correlation", "worth", "by_chance")

Family = Mapping[str, Any]


def families_panel(findings: Findings) -> Panel | None:
    """How many independent votes each family is worth, beside what workers who share nothing would show.

    None where no family was declared.
    """
    families = findings.model.families(frame="arrow").to_pylist() if findings.model.has_roster else []
    if not families:
        return None
    shown, say = families[:MAX_FAMILIES], findings.say
    header = [say(f"families.{name}") for name in FAMILY_HEADER]
    return findings.panel(
        "families",
        _families_chart(shown, say),
        table(say("families.caption"), header, (_family_row(family, say) for family in families)),
        say.left_out(len(families), len(shown), "family", say("which.first")),
    )


def _families_chart(families: list[Family], say: Language) -> charts.Chart:
    """For each family the votes on a pair, what they are worth, and the band of what chance alone would show."""
    columns = charts.columns_of(families, "family", "votes_per_pair", "effective_votes", "null_low", "null_high")
    base = alt.Chart(charts.rows(**columns)).encode(
        y=charts.ordered("family:N", columns["family"]),
        tooltip=[
            alt.Tooltip("family:N", title=say("families.family")),
            alt.Tooltip("votes_per_pair:Q", title=say("families.given"), format=".2f"),
            alt.Tooltip("effective_votes:Q", title=say("families.worth"), format=".2f"),
        ],
    )
    band = base.mark_bar(color=charts.ORANGE, opacity=0.4, height=14).encode(
        x=alt.X("null_low:Q", title=say("families.given")), x2="null_high:Q"
    )
    given = base.mark_point(color=charts.GREY, shape="diamond", size=60).encode(x="votes_per_pair:Q")
    worth = base.mark_point(color=charts.BLUE, filled=True, size=90).encode(x="effective_votes:Q")
    # The band first: what is drawn later lies above it.
    return alt.layer(band, given, worth).properties(width=560, height=alt.Step(26))


def _family_row(family: Family, say: Language) -> list[str]:
    """A row of the table, in the order of `FAMILY_HEADER`."""
    return [
        family["family"],
        family["kind"],
        say.number(family["members"]),
        say.number(family["votes_per_pair"], 1),
        say.number(family["correlation"], 2),
        say.number(family["effective_votes"], 1),
        f"{say.number(family['null_low'], 1)} – {say.number(family['null_high'], 1)}",
    ]
