"""Run time: seconds of every method, how they grow with the votes, and what the paper says about its own.

The paper prints minutes of its AMCC and what its parts cost. Beside the minutes stand seconds of the fits that other
studies make (`paper_times`), beside the costs ours, with the growth of a round (`terms`). Growth is measured alone,
after all else, on generated crowds, so that anybody can repeat it without data.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from amcc.experiments.entrants import Entrant
from amcc.experiments.paper_values import CHOICE_TERMS, MINUTES, ROUND_TERMS
from amcc.experiments.reproduce.fits import (
    GROWTH_LABELS,
    ROUND_SPEC,
    ROUNDS,
    FitTask,
    GrowthTask,
    Results,
    RoundTask,
    Task,
    fits_of,
)
from amcc.experiments.reproduce.plan import AMCC, FROBENIUS, PRINTED, Figure, Study, StudyPlan, Table, View
from amcc.experiments.reproduce.rows import Row, columns, distinct, where
from amcc.experiments.reproduce.sets import MULAN, REAL, printed_name
from amcc.experiments.text import EMPTY
from amcc.plotting import COLOURS, GREY, MARKERS, PALE, canvas, label_ends

if TYPE_CHECKING:
    from matplotlib import figure as mpl
    from matplotlib.axes import Axes


# Runs whose median stands beside the paper's minutes: the first of a process also loads compiled code.
MOST_RUNS = 3

# What a part costs here; A: answers, a worker about an item, at most W N_l; B: items of the pairs with the highest u.
OUR_TERMS = {
    "C_m": "A L² + W L² + M L³",
    "D_w": "W L³",
    "λ_m": "W L³",
    "pairs": "L² N_u",
    "workers": "B N_l L + N_l W L + k B W",
    "costs": "votes, once a fit",
}
# What grows → its letter, and the power that the paper's terms of a round give it.
POWERS = {"labels": ("L", "2 to 3"), "workers": ("W", "1"), "items": ("N_l", "1")}


def tasks(plan: StudyPlan) -> list[Task]:
    """Growing crowds, growing rounds, and the fits that stand beside the paper's minutes."""
    timed = [fit for fits in timed_fits(plan).values() for fit in fits]
    return [*growth_tasks(plan), *round_tasks(plan), *timed]


def present(plan: StudyPlan, results: Results) -> Sequence[Table | Figure]:
    """The paper's minutes and costs beside ours, then growth of all methods."""
    return [*paper_times(plan, results), terms(plan, results), *growth(plan, results)]


# -- what the paper says --------------------------------------------------------------------------------------------


def timed_fits(plan: StudyPlan) -> dict[tuple[str, Entrant], Sequence[FitTask]]:
    """Set and form of AMCC → its fits, which tables 4 and 5 need as well."""
    forms = [row for row in (FROBENIUS, PRINTED, AMCC) if row in plan.entrants]
    n_runs = min(plan.scale.n_runs, MOST_RUNS)
    names = [*plan.real, *plan.mulan]
    return {(name, row): fits_of(plan.paper_set(name), row, n_runs) for name in names for row in forms}


def paper_times(plan: StudyPlan, results: Results) -> list[Table]:
    """The paper's minutes beside our seconds; nothing without its sets."""
    rows: list[Row] = []
    for (name, row), fits in timed_fits(plan).items():
        found = [results[fit] for fit in fits]
        rows.append(
            {
                "set": name,
                "method": row.name,
                "paper_minutes": MINUTES[printed_name(name)],
                "seconds": float(np.median([one["seconds"] for one in found])),
                "rounds": float(np.median([len(one["history"]) for one in found])),
            }
        )
    if not rows:
        return []
    view = []
    for name in distinct(rows, "set"):
        here = where(rows, set=name)
        times = [f"{row['seconds']:.3g} s, {row['rounds']:.0f} rounds" for row in here]
        view.append([name, here[0]["paper_minutes"], *times])
    caption = (
        'Minutes as the paper says them, of its AMCC "on a moderate PC"; it does not say whether choosing questions is '
        f"included. Beside them seconds of a fit, the median of at most {MOST_RUNS} runs, while other fits may have "
        "run on other cores. The paper fixes 100 rounds; ours end when the objective has settled."
    )
    head = ["set", "paper's minutes", *distinct(rows, "method")]
    title = "Run time beside the paper's"
    return [Table("runtime-paper", title, caption, pa.Table.from_pylist(rows), [View("", head, view)])]


def round_tasks(plan: StudyPlan) -> list[RoundTask]:
    """Rounds of the paper's objective, with one thing growing at a time."""
    return [RoundTask(FROBENIUS, grows, sizes) for grows, sizes in plan.scale.round_sizes]


def terms(plan: StudyPlan, results: Results) -> Table:
    """The paper's costs beside ours, and how a round of the paper's objective really grows."""
    measured = [(task.grows, results[task]) for task in round_tasks(plan)]
    data = pa.Table.from_pylist(
        [
            {"grows": grows, "size": size, "seconds_per_round": seconds}
            for grows, found in measured
            for size, seconds in zip(found["sizes"], found["seconds"], strict=True)
        ]
    )
    costs = [
        [f"{what}: {part}", term, OUR_TERMS[part]]
        for what, of_parts in (("a round", ROUND_TERMS), ("a choice", CHOICE_TERMS))
        for part, term in of_parts.items()
    ]
    grown = [
        [
            f"{grows} ({POWERS[grows][0]})",
            ", ".join(f"{s:.2g} s at {n:,}" for n, s in zip(found["sizes"], found["seconds"], strict=True)),
            POWERS[grows][1],
            growth_text(found["sizes"], found["seconds"]),
        ]
        for grows, found in measured
    ]
    spec = ROUND_SPEC
    caption = (
        "Costs up to constants. The paper's are as it prints them: t₁ = 100 rounds, and active learning takes t₂ times "
        "the sum of a choice, t₂ being the number of queries. Its first two read as if exchanged: there are M matrices "
        "C_m and W matrices D_w. Ours are of one round and one choice. A: answers, at most W N_l; sums over them serve "
        "all three parts (L times as many where answers leave labels out). B: items of the pairs with the highest u, "
        "whose workers alone are compared. Growth: seconds of a round of the paper's objective (amcc-frobenius, "
        f"{ROUNDS} rounds with their start) where one size grows and the others stay at {spec.n_items:,} items with "
        f"{spec.answers_per_item} answers each, {spec.n_workers} workers and {spec.n_labels} labels; power: between "
        "the two largest."
    )
    views = [
        View("Costs", ["part", "paper's cost", "ours"], costs),
        View("Growth of a round", ["what grows", "seconds a round", "paper's power", "measured power"], grown),
    ]
    return Table("runtime-terms", "What the parts cost", caption, data, views)


# -- growth of all methods ------------------------------------------------------------------------------------------


def growth_tasks(plan: StudyPlan) -> list[GrowthTask]:
    """Every entrant on growing crowds; variants of a method take about the same time."""
    # Parameters name a variant of a method that is there already.
    rows = [row for row in plan.entrants if not row.params]
    return [GrowthTask(row, plan.scale.growth_votes, plan.scale.patience) for row in rows]


def growth(plan: StudyPlan, results: Results) -> list[Table | Figure]:
    """Table of seconds, and figure of growth; a method that ran out of patience has dashes from there on."""
    found_by = {task.entrant.name: results[task] for task in growth_tasks(plan)}
    data = pa.Table.from_pylist(
        [
            {"method": name, "votes": votes, "seconds": seconds}
            for name, found in found_by.items()
            for votes, seconds in zip(found["votes"], found["seconds"], strict=True)
        ]
    )
    sizes = sorted(set(data["votes"].to_pylist()))
    rows = [
        [name, *_cells(found["votes"], found["seconds"], sizes), growth_text(found["votes"], found["seconds"])]
        for name, found in found_by.items()
    ]
    caption = (
        f"Seconds of a fit on generated crowds ({GROWTH_LABELS} labels, 5 answers per item, 20 % spammers; larger "
        "ones have more items and workers) with nothing else of this reproduction running; the best of three where a "
        f"fit is quick. No larger crowd is tried after a fit of more than {plan.scale.patience:g} s. Growth: power of "
        "the number of votes between the two largest crowds; 1 is linear."
    )
    head = ["method", *(f"{size:,} votes" for size in sizes), "growth"]
    title = "Run time and its growth"
    table = Table("runtime", title, caption, data, [View("", head, rows)])
    drawn = (
        "The seconds of the table; dashed: growth in step with the votes. The paper draws no such figure, only the "
        "terms above."
    )
    return [table, Figure("runtime-growth", f"{title}, drawn", drawn, data, partial(draw, data))]


def _cells(votes: Sequence[int], seconds: Sequence[float], sizes: Sequence[int]) -> list[str]:
    """Seconds at each size; a dash where patience had ended."""
    of_size = dict(zip(votes, seconds, strict=True))
    return [f"{of_size[size]:.3g}" if size in of_size else EMPTY for size in sizes]


def growth_text(votes: Sequence[int], seconds: Sequence[float]) -> str:
    """Slope between the two largest sizes, on logarithmic scales: the power of the votes that seconds grow with.

    >>> growth_text([10, 100, 1000], [1.0, 2.0, 20.0])
    '1.00'
    """
    if len(votes) < 2:
        return EMPTY
    slope = np.log(seconds[-1] / seconds[-2]) / np.log(votes[-1] / votes[-2])
    return f"{slope:.2f}"


def draw(data: pa.Table) -> mpl.Figure:
    """Seconds against votes, both on logarithmic axes; a name at the end of each line.

    AMCC has a thicker line; a dashed one shows how time grows that is in proportion to the votes.
    """
    rows = data.to_pylist()
    figure, axes = canvas(1, 1, (6.4, 4.6))
    panel = axes[0, 0]
    ends = []
    for number, method in enumerate(distinct(rows, "method")):
        # More methods than colours: after all colours, the next marker begins.
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number // len(COLOURS) % len(MARKERS)]
        x, y = columns(where(rows, method=method), "votes", "seconds")
        panel.plot(x, y, color=colour, marker=marker, linewidth=2.6 if method == AMCC.name else 1.4)
        ends.append((x[-1], y[-1], method, colour))
    # Powers of the votes are straight lines on these axes, and methods differ by a factor of a thousand.
    panel.set_xscale("log")
    panel.set_yscale("log")
    ends.append(_draw_linear_growth(panel, rows))
    panel.set_xlabel("votes")
    panel.set_ylabel("seconds")
    label_ends(panel, ends, gap=0.04)
    return figure


def _draw_linear_growth(panel: Axes, rows: Sequence[Row]) -> tuple[float, float, str, str]:
    """A pale line that grows as the votes do, to compare with, and its end: place, name and colour."""
    few, many = (chosen(row["votes"] for row in rows) for chosen in (min, max))
    # Through the geometric middle of all times, so that lines lie on both sides of it.
    middle = float(np.exp(np.log([row["seconds"] for row in rows]).mean()))
    reach = (many / few) ** 0.5
    panel.plot([few, many], [middle / reach, middle * reach], color=PALE, linestyle="--", linewidth=1, zorder=1)
    return many, middle * reach, "linear growth", GREY


STUDIES = (
    Study(
        "runtime", "seconds of every method, growth, and the paper's minutes", tasks, present, (*REAL, *MULAN),
        compares=True,
    ),
)  # fmt: skip
