"""Figures "type" and "worker-sonyc": what kinds of workers AMCC finds, what they share, and their weights.

Two figures per set: groups of the default with their rates (what members of a group have in common), and the matrices
D_w and C_m of the paper's objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Ints
from amcc.experiments.reproduce.fits import FitTask, Found, Results
from amcc.experiments.reproduce.plan import AMCC, FROBENIUS, Figure, Study, StudyPlan
from amcc.experiments.reproduce.sets import GENERATED, PaperSet
from amcc.plotting import BLUE, GREY, HEAT, VERMILION, canvas

if TYPE_CHECKING:
    from matplotlib import figure as mpl
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

# How the names of simulated spammers begin.
SPAMMERS = ("uniform ", "random ")


def sets_of(plan: StudyPlan) -> list[PaperSet]:
    """Yeast and SONYC-UST as in the paper, other sets where these are not to be had.

    One set with simulated workers, of whom it is known who spams, and one of people.
    """
    simulated = [name for name in ("Yeast", *plan.mulan) if plan.has(name) and name in plan.scale.mulan][:1]
    return [plan.paper_set(name) for name in (simulated or [GENERATED]) + plan.among(["SONYC-UST"])]


def tasks(plan: StudyPlan) -> list[FitTask]:
    """AMCC, and the paper's objective with its matrices, on one draw of each set."""
    return [FitTask(paper_set, 0, row) for paper_set in sets_of(plan) for row in (AMCC, FROBENIUS)]


def present(plan: StudyPlan, results: Results) -> Sequence[Figure]:
    """Two figures per set."""
    shown = []
    for paper_set in sets_of(plan):
        ours, printed = (results[FitTask(paper_set, 0, row)]["groups"] for row in (AMCC, FROBENIUS))
        # Part of a file name.
        file = paper_set.name.lower().replace(" ", "-")
        # The default finds rates by group and label; matrices of labels are the paper's.
        shown.append(
            Figure(
                f"groups-{file}",
                f"Groups of workers on {paper_set.name}",
                "AMCC, one run, the best group first. Weight: share in how informative groups are. Hits: how often a "
                "label is given that is there; false alarms: that is not. A dot is a worker, judged by the truth: hit "
                "rate minus false-alarm rate, 0 for whoever answers without looking."
                + (" Crosses: simulated spammers." if paper_set.name != "SONYC-UST" else ""),
                group_table(ours),
                partial(draw_groups, ours),
            )
        )
        shown.append(
            Figure(
                f"groups-{file}-matrices",
                f"Individuality and commonality on {paper_set.name}",
                "The paper's objective (amcc-frobenius): D averaged over the workers of a group, and C of the group; "
                "rows: true label, columns: given label; λ: weight of the group.",
                group_table(printed),
                partial(draw_matrices, printed),
            )
        )
    return shown


def group_table(found: Found) -> pa.Table:
    """One row per group and label, with what its workers are like.

    hit_rate, false_alarm_rate : what members of the group have in common. weight, workers, mean_quality : of the group,
    the same in all its rows.
    """
    hit, false_alarm = np.array(found["hit"]), np.array(found["false_alarm"])
    member, quality = np.array(found["worker_group"]), np.array(found["quality"], dtype=np.float64)
    n_groups, n_labels = hit.shape
    # Rows go through the labels of one group before the next.
    group, label = np.indices(hit.shape).reshape(2, -1)
    mean_quality = np.array([_mean(quality[member == number]) for number in range(n_groups)])
    return pa.table(
        {
            "group": group + 1,
            "label": label + 1,
            "hit_rate": hit.ravel(),
            "false_alarm_rate": false_alarm.ravel(),
            "weight": np.repeat(found["weights"], n_labels),
            "workers": np.repeat(np.bincount(member, minlength=n_groups), n_labels),
            "mean_quality": np.repeat(mean_quality, n_labels),
        }
    )


def _mean(values: Floats) -> float:
    """Mean of what is defined; NaN of nothing, without the warning that numpy would give."""
    return float(np.nanmean(values)) if (~np.isnan(values)).any() else np.nan


def draw_groups(found: Found) -> mpl.Figure:
    """Weights, commonality of hits and false alarms, and workers; a row per group.

    found : what `fits.groups` and `fits.worker_quality` say.
    """
    hit, false_alarm = np.array(found["hit"]), np.array(found["false_alarm"])
    weights, member = np.array(found["weights"]), np.array(found["worker_group"])
    n_groups = len(weights)
    figure, axes = canvas(1, 4, (2.9, 0.9 + 0.42 * n_groups), sharey=True, width_ratios=[0.7, 1.2, 1.2, 1.2])
    bars, hits, alarms, workers = axes[0]
    n_workers = np.bincount(member, minlength=n_groups)  # also of groups that nobody is in
    rows = np.arange(n_groups)
    bars.barh(rows, weights, color=BLUE, height=0.6)
    for row, weight in enumerate(weights):
        bars.text(weight, row, f" {weight:.2f}", va="center", fontsize=8)
    # Room for the numbers beside the bars.
    bars.set_xlim(0, weights.max() * 1.25)
    bars.set_yticks(rows, [f"group {row + 1}\n{_people(n_workers[row])}" for row in rows])
    bars.set_title("weight")
    bars.grid(axis="y", visible=False)
    for panel, rates, title in ((hits, hit, "hits"), (alarms, false_alarm, "false alarms")):
        image = _heat(panel, rates, title)
        panel.set_xlabel("label")
    figure.colorbar(image, ax=alarms, shrink=0.9, pad=0.02, label="rate")
    _worker_dots(workers, found, member)
    # The best group on top, in all panels: they share the axis.
    bars.set_ylim(n_groups - 0.5, -0.5)
    return figure


def _people(count: int) -> str:
    """So many workers, in words.

    >>> _people(1), _people(3)
    ('1 worker', '3 workers')
    """
    return f"{count} worker" if count == 1 else f"{count} workers"


def _heat(panel: Axes, rates: Floats, title: str) -> AxesImage:
    """Rates of groups (rows) and labels (columns) as colours, from 0 to 1 in all panels."""
    image = panel.imshow(rates, cmap=HEAT, vmin=0, vmax=1, aspect="auto")
    panel.set_title(title)
    panel.grid(visible=False)
    n_labels = rates.shape[1]
    # Not more numbers than fit below the panel.
    step = 1 if n_labels <= 10 else 3 if n_labels <= 16 else 5
    panel.set_xticks(range(0, n_labels, step), [str(label + 1) for label in range(0, n_labels, step)])
    return image


def _worker_dots(panel: Axes, found: Found, member: Ints) -> None:
    """A dot per worker in the row of their group, a cross per spammer, and the mean of each group."""
    quality = np.array(found["quality"], dtype=np.float64)
    spammer = np.array([name.startswith(SPAMMERS) for name in found["names"]])
    # Dots of a group are spread over its height, or they would hide each other; a seed, so that figures are equal.
    jitter = np.random.default_rng(0).uniform(-0.28, 0.28, len(quality))
    for chosen, colour, marker, size in ((~spammer, BLUE, "o", 14), (spammer, VERMILION, "x", 22)):
        panel.scatter(quality[chosen], (member + jitter)[chosen], color=colour, marker=marker, s=size, alpha=0.75)
    for group in np.unique(member):
        mean = _mean(quality[member == group])
        panel.plot([mean, mean], [group - 0.36, group + 0.36], color="black", linewidth=1.4)
    panel.axvline(0, color=GREY, linewidth=0.9, linestyle=":")
    panel.set_title("workers; line: mean")
    panel.set_xlabel("hit − false-alarm rate, by the truth")


def draw_matrices(found: Found) -> mpl.Figure:
    """Mean D_w and C_m of each group, one above the other; rows of a matrix are true labels, columns given ones."""
    individuality, commonality = np.array(found["individuality"]), np.array(found["commonality"])
    weights, member = np.array(found["weights"]), np.array(found["worker_group"])
    n_workers = np.bincount(member, minlength=len(weights))
    figure, axes = canvas(2, len(weights), (1.85, 2.0), sharex=True, sharey=True)
    # Commonality has both signs: one scale for all groups, with zero in its middle.
    reach = float(np.abs(commonality).max()) or 1.0
    for group, weight in enumerate(weights):
        top, bottom = axes[:, group]
        upper = top.imshow(individuality[group], cmap=HEAT, vmin=0, vmax=1)
        lower = bottom.imshow(commonality[group], cmap="PuOr_r", vmin=-reach, vmax=reach)
        top.set_title(f"λ = {weight:.2f}, {_people(n_workers[group])}", fontsize=8.5)
        for panel in (top, bottom):
            panel.grid(visible=False)
            panel.set_xticks([])
            panel.set_yticks([])
    axes[0, 0].set_ylabel("mean D of the group")
    axes[1, 0].set_ylabel("C of the group")
    figure.colorbar(upper, ax=axes[0, :], shrink=0.9, pad=0.01)
    figure.colorbar(lower, ax=axes[1, :], shrink=0.9, pad=0.01)
    return figure


STUDIES = (Study("groups", "groups of workers and their weights", tasks, present, ("Yeast", "SONYC-UST")),)
