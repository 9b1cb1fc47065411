"""Panels about workers: a map of hit and false-alarm rates, and tables of the best and the worst.

The *hit rate* is how often a worker says yes when the label is present, the *false-alarm rate* how often when it is
absent. Their difference is the informativeness: 1 for who is always right, 0 for who answers without looking.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import altair as alt
import numpy as np

from amcc.arrays import Floats, Ints
from amcc.consensus.workers import WorkerRates
from amcc.report import charts
from amcc.report.findings import Findings, largest, names_of
from amcc.report.html import joined, table
from amcc.report.language import Language
from amcc.report.page import Panel

# Dots of a map: more make the page slow to open, and look no different.
MAX_MAPPED_WORKERS = 2000
# Names beside the dots of spammers: more would cover the map.
MAX_NAMED_SPAMMERS = 12
# The best and the worst that are listed, as many of each. All are in `amcc workers`.
MAX_LISTED_WORKERS = 15

# How far apart two dots of the map must be to be told apart, in its units: about eight of its 500 pixels.
DOT = 0.016
# How far apart two names must be: a line of text is 15 of the 500 pixels high.
NAME_HEIGHT = 0.03


def sample_workers(findings: Findings, rng: np.random.Generator) -> Ints:
    """Codes of the workers that a map shows, rising: all who answered, or a random sample where they are too many."""
    n_shown = min(len(findings.active), MAX_MAPPED_WORKERS)
    return np.sort(rng.choice(findings.active, n_shown, replace=False))


def answers_as_size(largest_dot: int, title: str) -> alt.Size:
    """The size of dots by the number of answers, up to an area in square pixels; one answer can still be seen."""
    key = alt.Legend(tickMinStep=1, format=",d", symbolFillColor=charts.GREY)
    return alt.Size("answers:Q", title=title, scale=alt.Scale(range=[20, largest_dot]), legend=key)


def worker_map_panel(findings: Findings) -> Panel:
    """Every worker by hit rate and false-alarm rate."""
    # A fixed seed: the same model gives the same page.
    shown = sample_workers(findings, np.random.default_rng(0))
    say = findings.say
    layers = [*_diagonal(say("map.nothing")), _dots(_worker_rows_of_map(findings, shown), say)]
    spammers = shown[findings.spammers[shown]]
    if 0 < len(spammers) <= MAX_NAMED_SPAMMERS:
        layers.append(_spammer_names(findings, spammers))
    return findings.panel(
        "map",
        alt.layer(*layers).properties(width=500, height=500),
        notes=say.left_out(len(findings.active), len(shown), "worker", say("which.random")),
    )


def _worker_rows_of_map(findings: Findings, shown: Ints) -> dict[str, Any]:
    """Chart data, one row for each worker: the place of the dot, and the exact rates as text."""
    rates = findings.model.worker_rates_
    hit_rate, false_alarm_rate = interval_columns(rates, shown, findings.say)
    x, y = apart(rates.false_alarm_rate[shown], rates.hit_rate[shown])
    return charts.rows(
        worker=names_of(findings.votes.worker_names, shown),
        answers=rates.answers[shown],
        hit=y,
        false_alarm=x,
        informativeness=rates.informativeness[shown],
        hit_rate=hit_rate,
        false_alarm_rate=false_alarm_rate,
        verdict=np.where(findings.spammers[shown], *verdicts(findings.say)),
    )


def verdicts(say: Language) -> dict[str, str]:
    """What is said of workers, and the colours: likely spammers first, then all others."""
    return {say("verdict.spammer"): charts.VERMILION, say("verdict.other"): charts.GREY}


def _dots(data: dict[str, Any], say: Language) -> charts.Chart:
    """The dots of the map: colour for informativeness, size for answers, a ring for spammers."""
    looks, informativeness = verdicts(say), say("table.informativeness")
    spammer = charts.constant(next(iter(looks)))
    viridis = alt.Scale(scheme="viridis", domain=[0, 1], clamp=True)
    marks = alt.Chart(data).mark_point(filled=True, opacity=0.75)  # transparent, as dots may still touch
    return charts.encode(
        marks,
        x=alt.X("false_alarm:Q", title=say("map.x"), scale=charts.SHARE),
        y=alt.Y("hit:Q", title=say("map.y"), scale=charts.SHARE),
        size=answers_as_size(350, say("table.answers")),
        # Viridis also differs in brightness, so that it can be read without colours. Who is worse than chance is at 0.
        color=alt.Color("informativeness:Q", title=informativeness, scale=viridis),
        stroke=charts.categories(alt.Stroke, "verdict:N", looks, {"symbolFillColor": "transparent"}),
        strokeWidth=alt.condition(f"datum.verdict == {spammer}", alt.value(2), alt.value(0.5)),
        tooltip=[
            alt.Tooltip("worker:N", title=say("table.worker")),
            alt.Tooltip("answers:Q", title=say("table.answers"), format=","),
            alt.Tooltip("hit_rate:N", title=say("table.hit_rate")),
            alt.Tooltip("false_alarm_rate:N", title=say("table.false_alarm_rate")),
            alt.Tooltip("informativeness:Q", title=informativeness, format=".2f"),
            alt.Tooltip("verdict:N", title=say("table.verdict")),
        ],
    )


def _diagonal(words: str) -> list[alt.Chart]:
    """The line where hits and false alarms are equally frequent, and what it means."""
    place = {"x": alt.X("x:Q", scale=charts.SHARE), "y": alt.Y("y:Q", scale=charts.SHARE)}
    middle = alt.Chart(charts.rows(x=[0.75], y=[0.75]))
    meaning = middle.mark_text(text=words, angle=315, dy=12, fontStyle="italic")  # along the line, below it
    return [charts.diagonal([6, 4], **place), charts.encode(meaning, **place)]


def _spammer_names(findings: Findings, spammers: Ints) -> charts.Chart:
    """Names to the right of the dots, moved up where one would cover the next."""
    rates = findings.model.worker_rates_
    by_height = spammers[np.argsort(rates.hit_rate[spammers])]
    data = charts.rows(
        x=rates.false_alarm_rate[by_height],
        y=spread(rates.hit_rate[by_height], gap=NAME_HEIGHT),
        worker=names_of(findings.votes.worker_names, by_height),
    )
    return charts.encode(alt.Chart(data).mark_text(align="left", dx=9), x="x:Q", y="y:Q", text="worker:N")


def apart(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The points, those that share a cell of `DOT` by `DOT` wound about its first one like the seeds of a sunflower.

    Workers with few answers have the same estimates; without this, a hundred of them would look like one.

    >>> x, y = apart(np.array([0.5, 0.5, 0.9]), np.array([0.5, 0.5, 0.9]))
    >>> bool(np.hypot(x[1] - x[0], y[1] - y[0]) > DOT / 2), x[2].item()
    (True, 0.9)
    """
    cells = np.floor(np.column_stack([x, y]) / DOT)
    _, first, cell = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(cell, kind="stable")
    rank = np.empty(len(x), dtype=np.int64)  # of a point among those of its cell
    rank[order] = np.arange(len(x)) - np.searchsorted(cell[order], cell[order])
    # Areas grow with the rank, so distances grow with its root; the golden angle leaves no gaps.
    reach, turn = 0.7 * DOT * np.sqrt(rank), rank * np.pi * (3 - np.sqrt(5))
    moved, centre = rank > 0, first[cell]
    return (
        np.where(moved, np.clip(x[centre] + reach * np.cos(turn), 0, 1), x),
        np.where(moved, np.clip(y[centre] + reach * np.sin(turn), 0, 1), y),
    )


def spread(rising: Floats, gap: float) -> Floats:
    """The rising values, raised where needed to be `gap` apart.

    >>> spread(np.array([0.0, 0.1, 0.5]), gap=0.2).tolist()
    [0.0, 0.2, 0.5]
    """
    steps = gap * np.arange(len(rising))
    return np.asarray(np.maximum.accumulate(rising - steps) + steps)


# -- tables --------------------------------------------------------------------------------------------------------


def workers_panel(findings: Findings) -> Panel:
    """The most and the least informative workers with their rates, or all where they are few."""
    informativeness = findings.model.worker_rates_.informativeness[findings.active]
    order = findings.active[largest(informativeness, len(findings.active))]
    most = MAX_LISTED_WORKERS
    if len(order) <= 2 * most:
        listed = {"workers.all": order}
    else:  # the worst come first in their table, as who reads it looks for them
        listed = {"workers.most": order[:most], "workers.least": order[: -most - 1 : -1]}
    say = findings.say
    columns = ("worker", "answers", "hit_rate", "false_alarm_rate", "informativeness", "verdict")
    header = [say(f"table.{name}") for name in columns]
    tables = (table(say(caption), header, _worker_rows(findings, who)) for caption, who in listed.items())
    told = findings.model.pair_told_
    counts = {"n": say.number(told.sum()), "n_all": say.number(len(told))}
    return findings.panel("workers", body=joined(tables), notes=[say("workers.told", **counts)] if told.any() else [])


def _worker_rows(findings: Findings, workers: Ints) -> Iterable[tuple[str, ...]]:
    """Rows of the table, one for each of these workers; spammers come with the evidence against them."""
    rates, say = findings.model.worker_rates_, findings.say
    return zip(
        findings.worker_links(workers),
        [say.number(n) for n in rates.answers[workers].tolist()],
        *interval_columns(rates, workers, say),
        [say.number(value, 2) for value in rates.informativeness[workers].tolist()],
        [accusation(findings, worker) for worker in workers.tolist()],
        strict=True,
    )


def accusation(findings: Findings, worker: int) -> str:
    """Of a likely spammer the verdict with its evidence; nothing of others.

    The sentences of the library are English; a page in another language gives both rates instead, which are what the
    verdict rests on.
    """
    say, evidence, rates = findings.say, findings.model.worker_evidence_, findings.model.worker_rates_
    if worker not in evidence:
        return ""
    own = say(
        "verdict.rates",
        hit=say.percent(float(rates.hit_rate[worker]), 0),
        false_alarm=say.percent(float(rates.false_alarm_rate[worker]), 0),
        good=say.percent(rates.good_informativeness, 0),
    )
    return f"{say('verdict.spammer')}: {evidence[worker] if say.code == 'en' else own}"


def interval_columns(rates: WorkerRates, workers: Ints, say: Language) -> tuple[list[str], list[str]]:
    """Hit and false-alarm rates of these workers with their intervals, as text."""

    def shown(*columns: Floats) -> list[str]:
        return [say.interval(*row) for row in np.column_stack(columns)[workers].tolist()]

    return (
        shown(rates.hit_rate, rates.hit_rate_low, rates.hit_rate_high),
        shown(rates.false_alarm_rate, rates.false_alarm_rate_low, rates.false_alarm_rate_high),
    )
