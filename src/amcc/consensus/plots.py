"""Pictures of a fitted model, drawn with matplotlib: the methods `plot_…` of models.

Each takes axes or makes new ones, and gives back the axes. The numbers are those of the tables and of the report
(`amcc.report`); nothing is estimated here. Where there is too much to be seen, a picture shows a part and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from amcc import metrics, plotting
from amcc.arrays import Floats, Ints, weight_per_code
from amcc.consensus.workers import likely_spammers
from amcc.errors import EmptyInputError
from amcc.inference import LEVEL, clustered_shares
from amcc.plotting import BLUE, GREY, ORANGE, VERMILION, drawn_on, shortened
from amcc.truth import Truth
from amcc.votes import Votes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from amcc.consensus.about_items import AboutItems
    from amcc.consensus.about_workers import AboutWorkers
    from amcc.consensus.grouped import GroupedModel

# Names beside dots: more would cover them.
MAX_NAMED_WORKERS = 12
# How far apart names must be, as a share of the height: a line of text of 8 points on four inches.
NAME_GAP = 0.035
# Areas of the smallest and the largest dot in square points, for few workers; of many, dots share the room of so many.
DOT_AREAS, ROOMY = (14.0, 150.0), 60
# Height of a row and of what is above and below them, in inches: text of 9 points needs 0.125.
ROW, MARGINS = 0.24, 1.1


def plot_workers(model: AboutWorkers, ax: Axes | None) -> Axes:
    """See `AboutWorkers.plot_workers`."""
    rates = model.worker_rates_
    active = np.flatnonzero(rates.answers > 0)  # nothing is known about the others
    spammer = likely_spammers(rates)
    with drawn_on(ax, (5.2, 5.2)) as axes:
        _diagonal(axes)
        axes.annotate(
            "a yes says nothing", (0.8, 0.8), (9, -9), textcoords="offset points", color=GREY, fontsize="small",
            fontstyle="italic", ha="center", va="center", rotation=45,
        )  # fmt: skip
        # The busiest first, so that large dots do not hide small ones.
        active = active[np.argsort(-rates.answers[active], kind="stable")]
        areas = _dot_areas(rates.answers[active])
        for chosen, marker, colour, words in (
            (~spammer, "o", BLUE, "informative or unclear"),
            (spammer, "X", VERMILION, "likely spammer"),
        ):
            who = chosen[active]
            place = rates.false_alarm_rate[active[who]], rates.hit_rate[active[who]]
            axes.scatter(*place, areas[who], color=colour, marker=marker, alpha=0.6, linewidth=0, label=words)
        named = active if len(active) <= MAX_NAMED_WORKERS else active[spammer[active]]
        if len(named) <= MAX_NAMED_WORKERS:
            names = [shortened(model.worker_names_[worker].as_py()) for worker in named.tolist()]
            _names(axes, rates.false_alarm_rate[named], rates.hit_rate[named], names)
        axes.set_xlabel("false-alarm rate: yes although the label is absent")
        axes.set_ylabel("hit rate: yes when the label is present")
        n_spammers = int(spammer[active].sum())
        if n_spammers:
            axes.legend(loc="lower right", frameon=False)
        axes.set_title(f"{_counted(len(active), 'worker')}, {_counted(n_spammers, 'likely spammer')}")
    return axes


def _dot_areas(answers: Ints) -> Floats:
    """(n,) areas of dots that grow with the number of answers."""
    least, most = DOT_AREAS
    crowded = max(1.0, len(answers) / ROOMY)
    share = answers / max(int(answers.max(initial=1)), 1)
    return np.asarray((least + (most - least) * share) / np.sqrt(crowded))


def _names(axes: Axes, x: Floats, y: Floats, names: list[str]) -> None:
    """Names to the right of dots, or to the left of those at the right end; moved apart where they would overlap."""
    for at, height, moved, name in zip(x, y, plotting.spread(np.asarray(y), NAME_GAP), names, strict=True):
        side = -1 if at > 0.8 else 1  # there, a name would leave the picture
        axes.annotate(
            name, (at, height), (at + 0.025 * side, moved), fontsize="small", color=GREY, va="center",
            ha="left" if side > 0 else "right",
        )  # fmt: skip


def _diagonal(axes: Axes) -> None:
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")


def _key(axes: Axes, title: str) -> None:
    """What colours mean, in a line above the picture: inside, it would cover something sooner or later."""
    key = axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, title=title, alignment="left")
    key.get_title().set_fontweight("bold")


def _counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> _counted(1, "worker"), _counted(0, "label")
    ('1 worker', 'no labels')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}" if number else f"no {noun}s"


def plot_labels(model: AboutItems, votes: Votes | None, most: int, ax: Axes | None) -> Axes:
    """See `AboutItems.plot_labels`."""
    share = model.items_per_label() / max(len(model.item_names_), 1)
    n_labels = len(share)
    shown = np.argsort(-share, kind="stable")[:most]
    rows = np.arange(len(shown))
    with drawn_on(ax, (6.0, MARGINS + ROW * len(shown))) as axes:
        axes.barh(rows, 100 * share[shown], height=0.7, color=BLUE, label="items with the label, by the model")
        if votes is not None:
            raw = _yes_shares(votes)[shown]
            axes.plot(100 * raw, rows, "|", color=ORANGE, markersize=11, markeredgewidth=3, label="yes among its votes")
        cut = f"The {most} most frequent of {n_labels:,} labels"
        _key(axes, cut if most < n_labels else _counted(n_labels, "label"))
        axes.set_yticks(rows, [shortened(model.item_results().label_names[code].as_py()) for code in shown.tolist()])
        axes.set_ylim(len(shown) - 0.4, -0.6)  # the most frequent on top
        axes.grid(False, axis="y")
        axes.set_xlim(left=0)
        axes.set_xlabel("%")
    return axes


def _yes_shares(votes: Votes) -> Floats:
    """(n_labels,) share of yes among the votes on each label; NaN where nobody was asked."""
    asked = np.bincount(votes.label, minlength=votes.n_labels)
    yes = weight_per_code(votes.label, votes.value > 0, votes.n_labels)
    return np.asarray(np.divide(yes, asked, out=np.full(votes.n_labels, np.nan), where=asked > 0))


def plot_calibration(model: AboutItems, truth: Truth, ax: Axes | None) -> Axes:
    """See `AboutItems.plot_calibration`."""
    found = model.item_results()
    truth.check_names("the consensus", item=found.item_names, label=found.label_names)
    keys = found.pair_item.astype(np.int64) * len(found.label_names) + found.pair_label
    true, known = truth.lookup(keys, found.item_names, found.label_names)
    known &= ~found.pair_told
    if not known.any():
        raise EmptyInputError(
            "the truth must cover pairs that were asked about and that fit(truth=…) was not told; it covers none. Fit "
            "without them, or keep some of the truth apart."
        )
    proba, present, item = found.pair_proba[known], true[known], found.pair_item[known]
    curve = metrics.reliability_curve(present[:, None], proba[:, None])
    place = metrics.calibration_bin(proba)
    # Labels of an item are right or wrong together: an item counts as one draw.
    measured = clustered_shares(present.astype(np.float64), place, item, int(place.max()) + 1, LEVEL)
    filled = np.unique(place)
    bounds = np.abs(np.stack([measured.low[filled], measured.high[filled]]) - curve.observed_share)
    with drawn_on(ax, (4.8, 4.8)) as axes:
        _diagonal(axes)
        axes.errorbar(curve.mean_predicted, curve.observed_share, bounds, fmt="none", ecolor=BLUE, alpha=0.6)
        axes.plot(curve.mean_predicted, curve.observed_share, color=BLUE)
        axes.scatter(curve.mean_predicted, curve.observed_share, _dot_areas(curve.count), color=BLUE, zorder=3)
        axes.set_xlabel("probability by the model")
        axes.set_ylabel(f"share that is true, {100 * LEVEL:.0f} % intervals")
        error = metrics.expected_calibration_error(present[:, None], proba[:, None])
        axes.set_title(f"{_counted(len(proba), 'pair')}, mean gap {error:.3f}")
    return axes


def plot_groups(model: GroupedModel, ax: Axes | None) -> Axes:
    """See `GroupedModel.plot_groups`."""
    table = model.groups(frame="arrow")
    groups = [group for group in table.to_pylist() if group["workers"]]
    rows = np.arange(len(groups))
    looks = (("hit_rate", BLUE, "o", "hit rate"), ("false_alarm_rate", VERMILION, "D", "false-alarm rate"))
    with drawn_on(ax, (6.4, MARGINS + 0.5 + 0.5 * len(groups))) as axes:
        for rates, (mean, colour, marker, words) in zip(model.commonality_, looks, strict=True):
            for row, group in zip(rows, groups, strict=True):
                of_labels = rates[group["group"]]
                axes.plot(100 * of_labels, np.full(len(of_labels), row), "|", color=colour, alpha=0.35, markersize=9)
            means = [100 * group[mean] for group in groups]
            axes.plot(means, rows, marker, color=colour, markersize=9, markeredgecolor="white", label=words)
        for row, group in zip(rows, groups, strict=True):
            ends = 100 * group["false_alarm_rate"], 100 * group["hit_rate"]
            axes.plot(ends, (row, row), color=GREY, linewidth=1.5, zorder=1)
        axes.set_yticks(
            rows, [f"group {g['group']}: {_counted(g['workers'], 'worker')}\nweight {g['weight']:.2f}" for g in groups]
        )
        axes.set_ylim(len(groups) - 0.4, -0.6)  # the best on top
        axes.grid(False, axis="y")
        axes.set_xlim(-2, 102)
        axes.set_xlabel("%; ticks are labels, dots their means")
        _key(axes, _counted(len(groups), "group"))
    return axes
