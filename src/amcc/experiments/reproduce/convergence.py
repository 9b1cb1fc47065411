"""Figure "convergence": the objective in each round."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from amcc import plotting
from amcc.experiments.reproduce.crowds import GENERATED, Crowd
from amcc.experiments.reproduce.fits import Fit, Results
from amcc.experiments.reproduce.plan import AMCC, FROBENIUS, Figure, Plan, Study
from amcc.plotting import BLUE, GREY, VERMILION

OBJECTIVES = {AMCC.name: "bound, rises", FROBENIUS.name: "loss, falls"}
# After so many, the paper says, AMCC has converged.
PAPER_ROUNDS = 5


def crowds_of(plan: Plan) -> list[Crowd]:
    """Affective and SONYC-UST as in the paper, or else a generated crowd."""
    return [plan.crowd(name) for name in plan.among(["Affective", "SONYC-UST"]) or [GENERATED]]


def tasks(plan: Plan) -> list[Fit]:
    """Both forms of AMCC on one draw."""
    return [Fit(crowd, 0, row) for crowd in crowds_of(plan) for row in (AMCC, FROBENIUS)]


def present(plan: Plan, results: Results) -> Sequence[Figure]:
    """One figure."""
    rows = [
        {"set": crowd.name, "method": row.name, "round": number, "objective": value}
        for crowd in crowds_of(plan)
        for row in (AMCC, FROBENIUS)
        for number, value in enumerate(results[Fit(crowd, 0, row)]["history"], 1)
    ]
    data = pa.Table.from_pylist(rows)
    caption = (
        "AMCC's bound on the log-likelihood rises at every round, the paper's loss falls. Dotted: the five rounds "
        "after which the paper says that its loss no longer changes; in grey, how much of the whole change they made."
    )
    return [Figure("convergence", "Objective in each round", caption, data, partial(draw, data))]


def draw(data: pa.Table) -> Any:
    """Crowds in columns, forms of AMCC in rows."""
    rows = data.to_pylist()
    sets = list(dict.fromkeys(row["set"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = plotting.canvas(len(methods), len(sets), (3.6, 2.2))
    for row_of_axes, method, colour in zip(axes, methods, (BLUE, VERMILION), strict=False):
        for panel, name in zip(row_of_axes, sets, strict=True):
            here = [row for row in rows if (row["set"], row["method"]) == (name, method)]
            course = [row["objective"] for row in here]
            panel.plot([row["round"] for row in here], course, color=colour, marker="o", markersize=3)
            panel.axvline(PAPER_ROUNDS, color=GREY, linewidth=1, linestyle=":")
            height = 0.08 if course[-1] > course[0] else 0.88  # away from the curve
            panel.text(
                0.97, height, reached_text(course), transform=panel.transAxes, ha="right", fontsize=8, color=GREY
            )
        row_of_axes[0].set_ylabel(f"{method}:\n{OBJECTIVES[method]}")
    for panel, name in zip(axes[0], sets, strict=True):
        panel.set_title(name)
    for panel in axes[-1]:
        panel.set_xlabel("round")
    return figure


def reached_text(course: Sequence[float]) -> str:
    """How much of the change was done after the paper's five rounds.

    >>> reached_text([0.0, 2.0, 3.0, 3.5, 3.75, 4.0])
    'after 5 of 6 rounds: 94 %'
    """
    whole = course[-1] - course[0]
    done = course[min(PAPER_ROUNDS, len(course)) - 1] - course[0]
    share = 1.0 if whole == 0 else done / whole
    return f"after {min(PAPER_ROUNDS, len(course))} of {len(course)} rounds: {share:.0%}".replace("%", " %")


STUDIES = (Study("convergence", "objective in each round", tasks, present, ("Affective", "SONYC-UST")),)
