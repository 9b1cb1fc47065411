"""Figures "type" and "worker-sonyc": what kinds of workers AMCC finds, what they share, and their weights.

Two figures per set: groups of the default with their rates (what members of a group have in common), and the matrices
D_w and C_m of the paper's objective.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Ints
from amcc.experiments.reproduce.fits import FitTask, Found, Results
from amcc.experiments.reproduce.plan import AMCC, FROBENIUS, Figure, Study, StudyPlan
from amcc.experiments.reproduce.sets import GENERATED, PaperSet
from amcc.plotting import BLUE, GREY, HEAT, PURPLE, VERMILION, canvas

if TYPE_CHECKING:
    from matplotlib import figure as mpl
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

# Kinds of simulated workers: how their names begin → what one of them is called.
KINDS = {"ranksvm ": "classifier", "uniform ": "uniform spammer", "random ": "random spammer"}
# Of people, and in generated crowds, kinds are not known.
WORKER = "worker"
# Kind → colour, marker and size; a cross has less ink than a dot.
MARKS = {
    WORKER: (BLUE, "o", 14),
    "classifier": (BLUE, "o", 14),
    "uniform spammer": (VERMILION, "x", 22),
    "random spammer": (PURPLE, "+", 34),
}


def sets_of(plan: StudyPlan) -> list[PaperSet]:
    """Yeast and SONYC-UST as in the paper, and Emotions; other sets where these are not to be had.

    Sets with simulated workers, whose kinds are known, and one of people.
    """
    simulated = [name for name in ("Yeast", "Emotions") if name in plan.mulan] or plan.mulan[:1] or [GENERATED]
    return [plan.paper_set(name) for name in simulated + plan.among(["SONYC-UST"])]


def tasks(plan: StudyPlan) -> list[FitTask]:
    """AMCC, and the paper's objective with its matrices, on one draw of each set."""
    return [FitTask(paper_set, 0, row) for paper_set in sets_of(plan) for row in (AMCC, FROBENIUS)]


def present(plan: StudyPlan, results: Results) -> Sequence[Figure]:
    """Two figures per set."""
    shown = []
    for paper_set in sets_of(plan):
        ours, printed = (peopled(results[FitTask(paper_set, 0, row)]["groups"]) for row in (AMCC, FROBENIUS))
        # Part of a file name.
        file = paper_set.name.lower().replace(" ", "-")
        # The default finds rates by group and label; matrices of labels are the paper's.
        shown.append(
            Figure(
                f"groups-{file}",
                f"Groups of workers on {paper_set.name}",
                f"AMCC, one run, the best group first. Weight: share in how informative groups are. Hits: how often a "
                "label is given that is there; false alarms: that is not. A mark is a worker"
                f"{marks_in_words(ours)}, judged by the truth: hit rate minus false-alarm rate, 0 for whoever answers "
                f"without looking. {who_is_where(ours)}The paper draws 3-D bars of D and λ; AMCC has rates in place of "
                f"matrices, so these are shown. {EMPTY_GROUPS}",
                group_table(ours),
                partial(draw_groups, ours),
            )
        )
        shown.append(
            Figure(
                f"groups-{file}-matrices",
                f"Individuality and commonality on {paper_set.name}",
                "The paper's objective (amcc-frobenius): D averaged over the workers of a group, and C of the group; "
                f"λ: weight of the group. {who_is_where(printed)}The paper draws D as 3-D bars, of which the front "
                f"ones hide the others; here they are colours, and C is shown as well. {EMPTY_GROUPS}",
                group_table(printed),
                partial(draw_matrices, printed),
            )
        )
    return shown


EMPTY_GROUPS = "Groups without workers are left out; the weights of the others sum to one."


def peopled(found: Found) -> Found:
    """What `fits.groups` says, without groups that nobody is in; the weights of the others sum to one.

    The group of a worker is the likeliest one, so that a group may be possible for many and likely for none. Its rates
    are then little more than a prior, and no weight of it would be about anybody.
    """
    member = np.array(found["worker_group"])
    kept, renumbered = np.unique(member, return_inverse=True)
    by_group = ("hit", "false_alarm", "weights", "individuality", "commonality")
    chosen = {name: np.array(found[name])[kept] for name in by_group if name in found}
    return {**found, **chosen, "weights": chosen["weights"] / chosen["weights"].sum(), "worker_group": renumbered}


def kind_of(name: str) -> str:
    """What a worker of this name is, as far as the name says it.

    >>> kind_of("uniform 2"), kind_of("ranksvm 90%"), kind_of("w17")
    ('uniform spammer', 'classifier', 'worker')
    """
    return next((word for start, word in KINDS.items() if name.startswith(start)), WORKER)


def who_is_where(found: Found) -> str:
    """A sentence, ending with a space, about the known kinds of workers in each group; nothing where none are known."""
    kinds = [kind_of(name) for name in found["names"]]
    if set(kinds) == {WORKER}:
        return ""
    groups = [f"{number + 1}: {', '.join(names)}" for number, names in enumerate(_names_by_group(found))]
    return (
        "The paper's five types are reliable, normal and sloppy workers, uniform and random spammers. Here kinds are "
        "known: classifiers trained on 90 to 30 % of the items, uniform spammers, who always give one label, and "
        f"random ones, who give any. Group {'; '.join(groups)}. "
    )


def marks_in_words(found: Found) -> str:
    """What crosses mean, in brackets after a space; nothing where kinds are not known and all marks are dots.

    >>> marks_in_words({"names": ["ranksvm 90%", "random 1"]}), marks_in_words({"names": ["w1"]})
    (' (+: random spammer)', '')
    """
    kinds = {kind_of(name) for name in found["names"]}
    signs = [f"{sign}: {kind}" for kind, sign in (("uniform spammer", "×"), ("random spammer", "+")) if kind in kinds]
    return f" ({', '.join(signs)})" if signs else ""


def _names_by_group(found: Found) -> list[list[str]]:
    """Names of the workers of each group."""
    member = np.array(found["worker_group"])
    return [[found["names"][worker] for worker in np.flatnonzero(member == group)] for group in np.unique(member)]


def _crews(found: Found) -> list[str]:
    """Who is in each group, counted by kind: "2 classifiers", or "1 classifier, 3 random spammers"."""
    counted = [Counter(map(kind_of, names)) for names in _names_by_group(found)]
    return ["\n".join(f"{n} {kind}{'s' * (n > 1)}" for kind, n in crew.items()) for crew in counted]


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
    rows = np.arange(n_groups)
    bars.barh(rows, weights, color=BLUE, height=0.6)
    for row, weight in enumerate(weights):
        # Away from the bar by points, not by a space: SVG files drop one at the beginning.
        bars.annotate(f"{weight:.2f}", (weight, row), (4, 0), textcoords="offset points", va="center", fontsize=8)
    # Room for the numbers beside the bars.
    bars.set_xlim(0, weights.max() * 1.25)
    bars.set_yticks(rows, [f"group {row + 1}\n{crew}" for row, crew in enumerate(_crews(found))])
    bars.set_title("weight")
    bars.grid(axis="y", visible=False)
    for panel, rates, title in ((hits, hit, "hits"), (alarms, false_alarm, "false alarms")):
        image = _heat(panel, rates, title)
        panel.set_xlabel("label")
    # Its name above it: beside it, it would seem to be that of the next panel's axis.
    figure.colorbar(image, ax=alarms, shrink=0.9, pad=0.02).ax.set_title("rate", fontsize=8.5, fontweight="normal")
    _worker_dots(workers, found, member)
    # The best group on top, in all panels: they share the axis.
    bars.set_ylim(n_groups - 0.5, -0.5)
    return figure


def _heat(panel: Axes, rates: Floats, title: str) -> AxesImage:
    """Rates of groups (rows) and labels (columns) as colours, from 0 to 1 in all panels."""
    image = panel.imshow(rates, cmap=HEAT, vmin=0, vmax=1, aspect="auto")
    panel.set_title(title)
    panel.grid(visible=False)
    panel.set_xticks(*_label_ticks(rates.shape[1]))
    return image


def _label_ticks(n_labels: int, most: int = 10) -> tuple[list[int], list[str]]:
    """Places and numbers of labels from 1 on, not more than fit.

    >>> _label_ticks(4)
    ([0, 1, 2, 3], ['1', '2', '3', '4'])
    >>> _label_ticks(23)[1]
    ['1', '6', '11', '16', '21']
    """
    step = 1 if n_labels <= most else 3 if n_labels <= 16 else 5
    places = list(range(0, n_labels, step))
    return places, [str(place + 1) for place in places]


def _worker_dots(panel: Axes, found: Found, member: Ints) -> None:
    """A mark per worker in the row of their group, by kind where that is known, and the mean of each group."""
    quality = np.array(found["quality"], dtype=np.float64)
    kinds = np.array([kind_of(name) for name in found["names"]])
    # Dots of a group are spread over its height, or they would hide each other; a seed, so that figures are equal.
    jitter = np.random.default_rng(0).uniform(-0.28, 0.28, len(quality))
    for kind, (colour, marker, size) in MARKS.items():
        chosen = kinds == kind
        if chosen.any():
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
    n_groups, n_labels = commonality.shape[:2]
    figure, axes = canvas(2, n_groups, (1.95, 2.15), sharex=True, sharey=True)
    # Commonality has both signs: one scale for all groups, with zero in its middle.
    reach = float(np.abs(commonality).max()) or 1.0
    for group, (weight, crew) in enumerate(zip(found["weights"], _crews(found), strict=True)):
        top, bottom = axes[:, group]
        upper = top.imshow(individuality[group], cmap=HEAT, vmin=0, vmax=1)
        lower = bottom.imshow(commonality[group], cmap="PuOr_r", vmin=-reach, vmax=reach)
        top.set_title(f"group {group + 1}, λ = {weight:.2f}\n{crew}", fontsize=8.5)
        bottom.set_xlabel("given label")
        for panel in (top, bottom):
            panel.grid(visible=False)
            # Panels are narrow: six numbers fit.
            panel.set_xticks(*_label_ticks(n_labels, 6))
            panel.set_yticks(*_label_ticks(n_labels, 6))
    for panel in axes[:, 0]:
        panel.set_ylabel("true label")
    figure.colorbar(upper, ax=axes[0, :], shrink=0.9, pad=0.01, label="mean D of the group")
    figure.colorbar(lower, ax=axes[1, :], shrink=0.9, pad=0.01, label="C of the group")
    return figure


STUDIES = (Study("groups", "groups of workers and their weights", tasks, present, ("Yeast", "Emotions", "SONYC-UST")),)
