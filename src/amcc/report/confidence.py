"""Panels about the fit itself: how sure it is of the pairs, and whether it had settled when it stopped.

Two things are called settled. A *pair* is settled when more answers are hardly needed (`amcc.consensus.settling` says
how that is decided). A *fit* had settled when another round would have changed next to nothing.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from amcc.arrays import Floats, Mask
from amcc.consensus.settling import SETTLED_ERROR, SettledCounts, Settling
from amcc.report import charts
from amcc.report.findings import Findings
from amcc.report.html import Html, table
from amcc.report.language import Language
from amcc.report.page import Panel

# Bars of 0.025: a probability of 0.98 can be told from one of 0.95, and a bar can still be pointed at.
N_BINS = 40

STATES = {"open": charts.ORANGE, "settled": charts.BLUE}  # in the catalogue, state.open and so on

# Rounds up to which the curve gets dots: more of them would cover the line.
MAX_DOTS = 60


def confidence_panel(findings: Findings) -> Panel:
    """How many pairs have which probability, and which of them are settled."""
    model, say = findings.model, findings.say
    counts, settled, edges = histogram(model.pair_proba_, model.pair_settled_)
    return findings.panel(
        "confidence",
        _confidence_chart(counts, settled, edges, say),
        notes=[both_shares(model.settled_counts_, say), settling_sentence(model.settling_, say)],
        numbers=_confidence_table(counts, settled, edges, say),
    )


def both_shares(counts: SettledCounts, say: Language) -> str:
    """How much is settled of what is called present, and of what is called absent: `SettledCounts.sentence`."""
    shares = {name: say.percent(share, 0) for name, share in counts.shares().items()}
    return say("settling.both", present=say.number(counts.present), absent=say.number(counts.absent), **shares)


def settling_sentence(settling: Settling, say: Language) -> str:
    """What settled pairs rest on, in words: that of `Settling.sentence` in each language."""
    places = {
        "checked": say.number(settling.n_checked), "wrong": say.number(settling.n_wrong),
        "promise": say.percent(SETTLED_ERROR, 0), "claim": say.percent(settling.claim),
    }  # fmt: skip
    if settling.claim < 0:
        return say("settling.nothing", **places)
    if settling.basis == "measured":
        return say("settling.measured", **places)
    return say("settling.little" if settling.n_checked else "settling.assumed", **places)


def _confidence_table(counts: Any, settled: Any, edges: Floats, say: Language) -> Html:
    """The same in ten ranges, as a table."""
    step = N_BINS // 10
    rows = (
        (
            f"{say.number(edges[start], 1)} – {say.number(edges[start + step], 1)}",
            *(say.number(each[start : start + step].sum()) for each in (counts, settled, counts - settled)),
        )
        for start in range(0, N_BINS, step)
    )
    header = (say("table.probability"), say("table.pairs"), say("state.settled"), say("state.open"))
    return table(say("confidence.caption"), header, rows)


def histogram(proba: Floats, settled: Mask) -> tuple[Any, Any, Floats]:
    """Count pairs by probability.

    proba, settled : (n_pairs,)

    Returns the (N_BINS,) numbers of all pairs and of the settled ones, and the (N_BINS + 1,) edges of the bins.

    >>> counts, settled, edges = histogram(np.array([0.01, 0.99, 1.0]), np.array([False, False, True]))
    >>> counts[0].item(), counts[-1].item(), settled[-1].item()
    (1, 2, 1)
    """
    counts, edges = np.histogram(proba, N_BINS, (0.0, 1.0))
    return counts, np.histogram(proba[settled], edges)[0], edges


def _confidence_chart(counts: Any, settled: Any, edges: Floats, say: Language) -> charts.Chart:
    """Bars for all pairs with bars for the settled ones in front: what is left to be seen is open.

    They cannot be stacked: on a logarithmic scale heights do not add up. The scale is logarithmic as nearly all pairs
    of a good crowd are in the first bar and the last. It is linear near 0, so that an empty bar has a place.
    """
    states = {say(f"state.{state}"): colour for state, colour in STATES.items()}
    powers_of_ten = [0, *(10**power for power in range(len(str(counts.max())) + 1))]
    data = charts.rows(
        low=np.tile(edges[:-1], 2),
        high=np.tile(edges[1:], 2),
        height=np.concatenate([counts, settled]),
        pairs=np.concatenate([counts - settled, settled]),
        state=np.repeat(list(states), N_BINS),
    )
    marks = alt.Chart(data, width=620, height=240).mark_bar(binSpacing=1)
    return charts.encode(
        marks,
        x=alt.X("low:Q", bin="binned", title=say("confidence.x"), axis=alt.Axis(tickCount=10)),
        x2="high:Q",
        y=alt.Y(
            "height:Q",
            title=say("confidence.y"),
            stack=None,
            scale=alt.Scale(type="symlog", domainMax=powers_of_ten[-1], nice=False),
            axis=alt.Axis(values=powers_of_ten, format=",d"),
        ),
        color=charts.categories(alt.Color, "state:N", states, charts.ON_TOP),
        tooltip=[
            alt.Tooltip("low:Q", title=say("confidence.from")),
            alt.Tooltip("high:Q", title=say("confidence.to")),
            alt.Tooltip("state:N", title=say("table.state")),
            alt.Tooltip("pairs:Q", title=say("table.pairs"), format=","),
        ],
    )


def convergence_panel(findings: Findings) -> Panel | None:
    """The objective round by round; nothing for models that count, and for fits of a round or two."""
    history = findings.model.objective_history_
    if len(history) < 3:  # two points are no curve
        return None
    # Some models raise a likelihood and others lower a loss; the history itself says which.
    rises = history[-1] >= history[0]
    say = findings.say
    direction, end = ("rises" if rises else "falls"), ("settled" if findings.model.converged_ else "unsettled")
    return findings.panel(
        "convergence",
        _curve(history, say(f"convergence.objective_{direction}"), say("convergence.round")),
        direction=say(f"convergence.{direction}"),
        rounds=say.counted(len(history), "round"),
        end=say(f"convergence.{end}"),
    )


def _curve(history: Any, title: str, round_title: str) -> charts.Chart:
    """The objective against the round."""
    data = charts.rows(round=range(1, len(history) + 1), objective=[float(value) for value in history])
    dots = alt.OverlayMarkDef(color=charts.BLUE, size=14) if len(history) <= MAX_DOTS else False
    digits = ",.0f" if max(history) - min(history) > 10 else ",.3~f"  # neighbouring ticks must differ
    marks = alt.Chart(data, width=620, height=200).mark_line(color=charts.BLUE, point=dots)
    return charts.encode(
        marks,
        x=alt.X("round:Q", title=round_title, axis=alt.Axis(tickMinStep=1, format=",d")),
        y=alt.Y("objective:Q", title=title, scale=alt.Scale(zero=False), axis=alt.Axis(format=digits)),
        tooltip=[alt.Tooltip("round:Q", title=round_title), alt.Tooltip("objective:Q", title=title, format=",.4f")],
    )
