"""Figures "alpha-beta" and "rm": how much AMCC depends on α, β, r and the number of groups M."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from amcc import plotting
from amcc.experiments.reproduce.crowds import GENERATED, REAL, Crowd
from amcc.experiments.reproduce.fits import Contestant, Fit, Results, runs_of
from amcc.experiments.reproduce.plan import AMCC, FROBENIUS, Figure, Plan, Study
from amcc.experiments.reproduce.score_tables import measured
from amcc.experiments.reproduce.statistics import estimate
from amcc.plotting import BLUE, GREY, HEAT, ORANGE

SHOWN = {"jaccard": "Jaccard", "precision_skip": "precision"}
# α and β that the paper chose, as powers of ten.
PAPER_POWERS = (-1, 1)
# Runs per point of a figure with many points.
MOST_RUNS = 3


def crowds_of(plan: Plan) -> list[Crowd]:
    """The chosen sets that are there, or else a generated crowd."""
    chosen = [(name, answers) for name, answers in plan.scale.sensitivity if plan.has(name)] or [(GENERATED, None)]
    return [plan.crowd(name, answers=answers) for name, answers in chosen]


def changed(row: Contestant, **params: Any) -> Contestant:
    """The same method with other parameters."""
    return replace(row, params=(*row.params, *params.items()))


def weighted(alpha: int, beta: int) -> Contestant:
    """The paper's objective with these powers of ten."""
    return changed(FROBENIUS, hsic_weight=10.0**alpha, laplacian_weight=10.0**beta)


def _runs(plan: Plan, crowd: Crowd, row: Contestant) -> Sequence[Fit]:
    return runs_of(crowd, row, min(plan.scale.n_runs, MOST_RUNS))


# -- α and β --------------------------------------------------------------------------------------------------------


def _grid(plan: Plan) -> list[tuple[int, int]]:
    return [(alpha, beta) for alpha in plan.scale.weight_powers for beta in plan.scale.weight_powers]


def grid_tasks(plan: Plan) -> list[Fit]:
    """Every α with every β."""
    return [fit for crowd in crowds_of(plan) for powers in _grid(plan) for fit in _runs(plan, crowd, weighted(*powers))]


def present_grid(plan: Plan, results: Results) -> Sequence[Figure]:
    """One figure."""
    rows = []
    for crowd in crowds_of(plan):
        for alpha, beta in _grid(plan):
            line = measured(_runs(plan, crowd, weighted(alpha, beta)), results)
            means = {measure: estimate(line.samples[measure]).mean for measure in SHOWN}
            rows.append({"set": crowd.title, "alpha": 10.0**alpha, "beta": 10.0**beta, **means})
    data = pa.Table.from_pylist(rows)
    caption = (
        "The paper's objective (amcc-frobenius), in hundredths; squares: the paper's choice α = 0.1, β = 10; best "
        f"cells in bold. Mean over at most {MOST_RUNS} runs; @5: five answers per item. The paper shows Movie, "
        "which was not published, and Affective."
    )
    return [Figure("alpha-beta", "Weights of the two penalties", caption, data, partial(draw_grid, data))]


def draw_grid(data: pa.Table) -> Any:
    """Heat maps: crowds in columns, measures in rows."""
    rows = data.to_pylist()
    sets = list(dict.fromkeys(row["set"] for row in rows))
    alphas = sorted({row["alpha"] for row in rows})
    betas = sorted({row["beta"] for row in rows})
    side = 0.9 + 0.3 * len(alphas)
    figure, axes = plotting.canvas(len(SHOWN), len(sets), (side + 0.7, side))
    for row_of_axes, (measure, title) in zip(axes, SHOWN.items(), strict=True):
        for panel, name in zip(row_of_axes, sets, strict=True):
            values = {(row["alpha"], row["beta"]): row[measure] for row in rows if row["set"] == name}
            matrix = np.array([[values[alpha, beta] for beta in betas] for alpha in alphas])
            _draw_cells(panel, matrix)
            panel.set_title(f"{name}: {title}")
            panel.set_xticks(range(len(betas)), [_power(beta) for beta in betas])
            panel.set_yticks(range(len(alphas)), [_power(alpha) for alpha in alphas])
            panel.set_xlabel("β")
            panel.set_ylabel("α")
            chosen = tuple(10.0**power for power in PAPER_POWERS)
            if chosen in values:
                place = betas.index(chosen[1]) - 0.5, alphas.index(chosen[0]) - 0.5
                panel.add_patch(_square(place))
    return figure


def _draw_cells(panel: Any, matrix: Any) -> None:
    spread = max(np.ptp(matrix), 0.02)
    panel.imshow(matrix, cmap=HEAT, vmin=matrix.max() - spread, vmax=matrix.max(), origin="lower")
    panel.grid(visible=False)
    for (row, column), value in np.ndenumerate(matrix):
        light = value > matrix.max() - 0.45 * spread
        best = value >= matrix.max() - 5e-3
        text = f"{100 * value:.0f}"
        panel.text(
            column, row, text, ha="center", va="center", fontsize=7.5,
            color="black" if light else "white", fontweight="bold" if best else "normal",
        )  # fmt: skip


def _square(corner: tuple[float, float]) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, 1, 1, fill=False, edgecolor="#d55e00", linewidth=2)


def _power(value: float) -> str:
    return f"$10^{{{round(np.log10(value))}}}$"


# -- r and M --------------------------------------------------------------------------------------------------------


def _curve_tasks(plan: Plan, rows: Sequence[Contestant]) -> list[Fit]:
    return [fit for crowd in crowds_of(plan) for row in rows for fit in runs_of(crowd, row, plan.scale.n_runs)]


def exponent_rows(plan: Plan) -> dict[float, list[Contestant]]:
    """r → who has it."""
    return {r: [changed(FROBENIUS, weight_exponent=r)] for r in plan.scale.exponents}


def group_rows(plan: Plan) -> dict[int, list[Contestant]]:
    """M → who has it."""
    return {m: [changed(row, n_groups=m) for row in (AMCC, FROBENIUS)] for m in plan.scale.n_groups}


def _flat(rows: dict[Any, list[Contestant]]) -> list[Contestant]:
    return [row for of_value in rows.values() for row in of_value]


def _curve_table(plan: Plan, results: Results, rows: dict[Any, list[Contestant]], column: str) -> pa.Table:
    entries = []
    for crowd in crowds_of(plan):
        for value, contestants in rows.items():
            for row in contestants:
                line = measured(runs_of(crowd, row, plan.scale.n_runs), results)
                for measure in SHOWN:
                    found = estimate(line.samples[measure])
                    entries.append(
                        {
                            "set": crowd.title,
                            "method": row.name,
                            column: value,
                            "measure": measure,
                            "mean": found.mean,
                            "ci_low": found.low,
                            "ci_high": found.high,
                        }
                    )
    return pa.Table.from_pylist(entries)


def present_exponent(plan: Plan, results: Results) -> Sequence[Figure]:
    """One figure."""
    data = _curve_table(plan, results, exponent_rows(plan), "r")
    caption = (
        "The paper's objective (amcc-frobenius) with other powers r of the group weights; the paper chose r = 2. "
        "Bands: 95 % intervals. The likelihood form of AMCC has no such power."
    )
    return [Figure("r", "Power of the group weights", caption, data, partial(draw_curves, data, "r", 2))]


def present_groups(plan: Plan, results: Results) -> Sequence[Figure]:
    """One figure."""
    data = _curve_table(plan, results, group_rows(plan), "groups")
    caption = (
        "AMCC and the paper's objective with other numbers M of groups; the paper chose M = 5. Bands: 95 % intervals."
    )
    return [Figure("m", "Number of groups", caption, data, partial(draw_curves, data, "groups", 5))]


def draw_curves(data: pa.Table, column: str, chosen: float) -> Any:
    """Crowds in columns, methods in rows; both measures in each panel."""
    rows = data.to_pylist()
    sets = list(dict.fromkeys(row["set"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    figure, axes = plotting.canvas(len(methods), len(sets), (3.1, 2.2), sharex=True, sharey="col")
    for row_of_axes, method in zip(axes, methods, strict=True):
        for panel, name in zip(row_of_axes, sets, strict=True):
            ends = []
            for (measure, title), colour, marker in zip(SHOWN.items(), (BLUE, ORANGE), "os", strict=True):
                here = [r for r in rows if (r["set"], r["method"], r["measure"]) == (name, method, measure)]
                x, y = [r[column] for r in here], [r["mean"] for r in here]
                panel.fill_between(
                    x, [r["ci_low"] for r in here], [r["ci_high"] for r in here], color=colour, alpha=0.15
                )
                panel.plot(x, y, color=colour, marker=marker)
                ends.append((x[-1], y[-1], title, colour))
            panel.axvline(chosen, color=GREY, linewidth=1, linestyle=":")
            panel.set_xticks(x)
            panel.margins(x=0.08)
            plotting.label_ends(panel, ends, gap=0.1)
        row_of_axes[0].set_ylabel(method)
    for panel, name in zip(axes[0], sets, strict=True):
        panel.set_title(name)
    for panel in axes[-1]:
        panel.set_xlabel("M, number of groups" if column == "groups" else column)
    return figure


SETS = tuple(REAL)
STUDIES = (
    Study("alpha-beta", "sensitivity to α and β", grid_tasks, present_grid, SETS),
    Study("r", "sensitivity to r", lambda plan: _curve_tasks(plan, _flat(exponent_rows(plan))), present_exponent, SETS),
    Study("m", "number of groups", lambda plan: _curve_tasks(plan, _flat(group_rows(plan))), present_groups, SETS),
)
