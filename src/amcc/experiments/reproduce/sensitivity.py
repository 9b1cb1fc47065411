"""Figures "alpha-beta" and "rm": how much AMCC depends on α, β, r and the number of groups M.

α and β (eq5) weigh the two penalties and r (eq2, eq23) is the power of the group weights: these are parameters of the
paper's objective only. M is a parameter of both forms of AMCC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats
from amcc.experiments.entrants import Entrant
from amcc.experiments.reproduce.figures import cross
from amcc.experiments.reproduce.fits import FitTask, Results, fits_of
from amcc.experiments.reproduce.plan import AMCC, FROBENIUS, Figure, Study, StudyPlan
from amcc.experiments.reproduce.rows import Row, columns, distinct, where
from amcc.experiments.reproduce.score_tables import measured
from amcc.experiments.reproduce.sets import GENERATED, REAL, PaperSet
from amcc.experiments.reproduce.statistics import estimate, interval_note
from amcc.plotting import BLUE, GREY, HEAT, ORANGE, VERMILION, canvas, label_ends

if TYPE_CHECKING:
    from matplotlib import figure as mpl
    from matplotlib.axes import Axes

SHOWN = {"jaccard": "Jaccard", "precision_skip": "precision"}
# α and β that the paper chose, as powers of ten.
PAPER_POWERS = (-1, 1)
# Runs per point of a figure with many points: 81 weights on three sets.
MOST_RUNS = 3
# Colours of a heat map span at least so much of a score, or noise would look like a pattern.
LEAST_SPREAD = 0.02
# Scores that are shown as equal, in hundredths, share the bold print.
SHOWN_ALIKE = 5e-3
# How the figures differ from the paper's, and why.
OTHER_SETS = (
    "The paper shows Accuracy, that is precision, on Movie and Affective. Movie was not published, so other sets stand "
    "here; Jaccard is shown as well, because precision rewards small sets."
)


def sets_of(plan: StudyPlan) -> list[PaperSet]:
    """The chosen sets that are there, or else a generated crowd."""
    chosen = [(name, answers) for name, answers in plan.scale.sensitivity if plan.has(name)] or [(GENERATED, None)]
    return [plan.paper_set(name, answers=answers) for name, answers in chosen]


def changed(row: Entrant, **params: Any) -> Entrant:
    """The same method with other parameters.

    >>> changed(FROBENIUS, n_groups=3).params
    (('n_groups', 3),)
    """
    return replace(row, params=(*row.params, *params.items()))


# -- α and β --------------------------------------------------------------------------------------------------------


def grid_fits(plan: StudyPlan) -> list[tuple[int, int, Sequence[FitTask]]]:
    """Every α with every β on every set: both as powers of ten, and the fits of the paper's objective with them.

    α is `hsic_weight` and β is `laplacian_weight`, as in eq5.
    """
    # In tasks and figures alike, so that both go through the same fits in the same order.
    powers, n_runs = plan.scale.weight_powers, min(plan.scale.n_runs, MOST_RUNS)
    return [
        (alpha, beta, fits_of(paper_set, row, n_runs))
        for paper_set in sets_of(plan)
        for alpha in powers
        for beta in powers
        for row in [changed(FROBENIUS, hsic_weight=10.0**alpha, laplacian_weight=10.0**beta)]
    ]


def grid_tasks(plan: StudyPlan) -> list[FitTask]:
    """The fits of all of them."""
    return [fit for _, _, fits in grid_fits(plan) for fit in fits]


def present_grid(plan: StudyPlan, results: Results) -> Sequence[Figure]:
    """One figure."""
    rows = []
    for alpha, beta, fits in grid_fits(plan):
        samples = measured(fits, results).samples
        means = {measure: estimate(samples[measure]).mean for measure in SHOWN}
        rows.append({"set": fits[0].paper_set.title, "alpha": 10.0**alpha, "beta": 10.0**beta, **means})
    data = pa.Table.from_pylist(rows)
    caption = (
        "The paper's objective (amcc-frobenius), in hundredths; squares: the paper's choice α = 0.1, β = 10; best "
        f"cells in bold. Mean over at most {MOST_RUNS} runs; @5: five answers per item. {OTHER_SETS} AMCC itself has "
        "neither weight."
    )
    return [Figure("alpha-beta", "Weights of the two penalties", caption, data, partial(draw_grid, data))]


def draw_grid(data: pa.Table) -> mpl.Figure:
    """Heat maps: sets in columns, measures in rows; a square around what the paper chose, where it was tried."""
    rows = data.to_pylist()
    sets = distinct(rows, "set")
    alphas, betas = (sorted(distinct(rows, name)) for name in ("alpha", "beta"))
    side = 0.9 + 0.3 * len(alphas)
    figure, axes = canvas(len(SHOWN), len(sets), (side + 0.7, side))
    for row_of_axes, (measure, title) in zip(axes, SHOWN.items(), strict=True):
        for panel, name in zip(row_of_axes, sets, strict=True):
            values = {(row["alpha"], row["beta"]): row[measure] for row in where(rows, set=name)}
            _draw_cells(panel, np.array([[values[alpha, beta] for beta in betas] for alpha in alphas]))
            panel.set_title(f"{name}: {title}")
            panel.set_xticks(range(len(betas)), [_power(beta) for beta in betas])
            panel.set_yticks(range(len(alphas)), [_power(alpha) for alpha in alphas])
            panel.set_xlabel("β")
            panel.set_ylabel("α")
            alpha, beta = (10.0**power for power in PAPER_POWERS)
            if (alpha, beta) in values:
                panel.add_patch(_square((betas.index(beta) - 0.5, alphas.index(alpha) - 0.5)))
    return figure


def _draw_cells(panel: Axes, matrix: Floats) -> None:
    """Scores in hundredths on their colours."""
    spread = max(np.ptp(matrix), LEAST_SPREAD)
    panel.imshow(matrix, cmap=HEAT, vmin=matrix.max() - spread, vmax=matrix.max(), origin="lower")
    panel.grid(visible=False)
    for (row, column), value in np.ndenumerate(matrix):
        light = value > matrix.max() - 0.45 * spread  # black can be read on light colours only
        best = value >= matrix.max() - SHOWN_ALIKE
        panel.text(
            column, row, f"{100 * value:.0f}", ha="center", va="center", fontsize=7.5,
            color="black" if light else "white", fontweight="bold" if best else "normal",
        )  # fmt: skip


def _square(corner: tuple[float, float]) -> Any:
    """A frame around one cell."""
    from matplotlib.patches import Rectangle

    return Rectangle(corner, 1, 1, fill=False, edgecolor=VERMILION, linewidth=2)


def _power(value: float) -> str:
    """A power of ten as matplotlib sets it.

    >>> _power(0.1)
    '$10^{-1}$'
    """
    return f"$10^{{{round(np.log10(value))}}}$"


# -- r and M --------------------------------------------------------------------------------------------------------

# Value of a parameter → who has it.
Varied = Mapping[float, Sequence[Entrant]]


def exponent_rows(plan: StudyPlan) -> Varied:
    """The paper's objective with every r."""
    return {r: [changed(FROBENIUS, weight_exponent=r)] for r in plan.scale.exponents}


def group_rows(plan: StudyPlan) -> Varied:
    """Both forms of AMCC with every M."""
    return {m: [changed(row, n_groups=m) for row in (AMCC, FROBENIUS)] for m in plan.scale.n_groups}


def curve_fits(plan: StudyPlan, varied: Varied) -> list[tuple[float, Sequence[FitTask]]]:
    """Values of the parameter, and the fits with it, for every set and entrant.

    All runs, not `MOST_RUNS`: a curve has a handful of points.
    """
    return [
        (value, fits_of(paper_set, row, plan.scale.n_runs))
        for paper_set in sets_of(plan)
        for value, rows in varied.items()
        for row in rows
    ]


def curve_tasks(plan: StudyPlan, varied: Varied) -> list[FitTask]:
    """The fits of all of them."""
    return [fit for _, fits in curve_fits(plan, varied) for fit in fits]


def curve_table(plan: StudyPlan, results: Results, varied: Varied, column: str) -> pa.Table:
    """One row per set, entrant, value of the parameter, and measure; `column` is what the parameter is called."""
    rows = []
    for value, fits in curve_fits(plan, varied):
        line = measured(fits, results)
        about = {"set": line.paper_set.title, "method": line.entrant.name, column: value}
        for measure in SHOWN:
            found = estimate(line.samples[measure])
            rows.append(
                {**about, "measure": measure, "mean": found.mean, "ci_low": found.low, "ci_high": found.high}
            )  # fmt: skip
    return pa.Table.from_pylist(rows)


def present_exponent(plan: StudyPlan, results: Results) -> Sequence[Figure]:
    """One figure."""
    data = curve_table(plan, results, exponent_rows(plan), "r")
    caption = (
        "The paper's objective (amcc-frobenius) with other powers r of the group weights; the paper chose r = 2. "
        f"{interval_note(data, 'bands')} {OTHER_SETS} AMCC itself has no such power."
    )
    return [Figure("r", "Power of the group weights", caption, data, partial(draw_curves, data, "r", 2))]


def present_groups(plan: StudyPlan, results: Results) -> Sequence[Figure]:
    """One figure."""
    data = curve_table(plan, results, group_rows(plan), "groups")
    caption = (
        "AMCC and the paper's objective with other numbers M of groups; the paper chose M = 5. "
        f"{interval_note(data, 'bands')} {OTHER_SETS}"
    )
    return [Figure("m", "Number of groups", caption, data, partial(draw_curves, data, "groups", 5))]


def draw_curves(data: pa.Table, column: str, chosen: float) -> mpl.Figure:
    """Sets in columns, methods in rows; both measures in each panel; dotted: what the paper chose."""
    x_title = "M, number of groups" if column == "groups" else column

    ends_in = {}

    def draw(panel: Axes, rows: Sequence[Row]) -> None:
        ends = []
        for (measure, title), colour, marker in zip(SHOWN.items(), (BLUE, ORANGE), "os", strict=True):
            x, mean, low, high = columns(where(rows, measure=measure), column, "mean", "ci_low", "ci_high")
            panel.fill_between(x, low, high, color=colour, alpha=0.15)
            panel.plot(x, mean, color=colour, marker=marker)
            ends.append((x[-1], mean[-1], title, colour))
        panel.axvline(chosen, color=GREY, linewidth=1, linestyle=":")
        panel.set_xticks(x)
        panel.margins(x=0.08)
        ends_in[panel] = ends

    figure, first_panels = cross(data, draw, x_title, (3.1, 2.2), sharex=True, sharey="col")
    # Now that all are drawn: panels of a column share their heights, so that a lower one may move those above.
    for panel, ends in ends_in.items():
        label_ends(panel, ends, gap=0.1)
    for panel, method in first_panels:
        panel.set_ylabel(method)
    return figure


# All that may be chosen by a scale, so that missing ones are told.
SETS = tuple(REAL)
STUDIES = (
    Study("alpha-beta", "sensitivity to α and β", grid_tasks, present_grid, SETS),
    Study("r", "sensitivity to r", lambda plan: curve_tasks(plan, exponent_rows(plan)), present_exponent, SETS),
    Study("m", "number of groups", lambda plan: curve_tasks(plan, group_rows(plan)), present_groups, SETS),
)
