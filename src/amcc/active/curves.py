"""Quality against money: what one replay gave, and what replays with several seeds say together.

A `Curve` is what one run measured. `cost_of_goals` reads from several what a quality costs. `compared` says whether one
strategy is better than another: both have the same seeds, so what differs is looked at seed by seed. A `Replay` is all
runs of one strategy; `amcc.active.replay_plot` draws several of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc.arrays import Floats
from amcc.inference import EQUAL, mean_interval
from amcc.tables import Tabular

# Why a replay ended: all votes are bought; the money does not pay for what the strategy wants next; no progress in
# `patience` batches.
EndReason = Literal["all", "money", "patience"]

# Shares of the quality of all votes for which the cost is asked.
GOALS = (0.90, 0.95, 1.00)

# A Jaccard index so far below that of all votes counts as the same. Half a percent, because runs of one strategy with
# other seeds differ by more (docs/active-results.md), and nobody would pay for it.
SAME_QUALITY = 0.005

# With fewer, chance decides what a goal seems to cost: on small sets, runs of one strategy differ by a factor of two
# and more.
ENOUGH_RUNS = 5

# Share of the cost from which on a strategy should not be worse than asking at random. A tenth, because one answer per
# item, with which replays begin, is up to that much of the cost of most sets: before, all know too little.
SPENT_ALREADY = 0.1

# What a run counts with that does not reach a goal, where costs are compared: all the money. Had it gone on it would
# have all votes then, and a strategy that is better at last is not to look cheap because it stopped.
MISSED = 1.0

# Shares of the money that differ by less are one place in the picture.
VISIBLE = 0.01

# Of a strategy beside another.
Verdict = Literal["ahead", "behind", "not told apart"]


@dataclass(frozen=True)
class Curve(Tabular):
    """Quality against money: (n_points,) share of the cost of all votes, votes, and mean Jaccard.

    by_worker : (n_points, n_workers) share of the cost of all votes that each worker has got so far, where it is known.
    end : why it ended.
    """

    cost_share: Floats
    n_votes: Floats
    jaccard: Floats
    by_worker: Floats | None = field(default=None, kw_only=True)  # a mean of curves has neither
    end: EndReason | None = field(default=None, kw_only=True)

    def to_arrow(self) -> pa.Table:
        """Table cost_share, votes, jaccard."""
        votes = self.n_votes.astype(np.int64)
        return pa.table({"cost_share": self.cost_share, "votes": votes, "jaccard": self.jaccard})

    def sustained_cost(self, jaccard: float) -> float | None:
        """The share of the cost from which on the quality is never again below this; None where the end is below.

        A curve is noisy: where it first touches a quality says little.
        """
        below = np.flatnonzero(self.jaccard < jaccard)  # from behind the last of these on it stays
        stays = below[-1] + 1 if len(below) else 0
        return float(self.cost_share[stays]) if stays < len(self.jaccard) else None

    def area(self, first: float | None = None, last: float | None = None) -> float:
        """Mean quality over the money from `first` to `last`: the area under the curve, divided by its width.

        first, last : shares of the cost; where the curve begins and ends, unless they are given.

        >>> curve = Curve(np.array([0.2, 0.6, 1.0]), np.arange(3.0), np.array([0.4, 0.8, 0.8]))
        >>> round(curve.area(), 3), round(curve.area(0.6, 1.0), 3)
        (0.7, 0.8)
        """
        share = self.cost_share
        first = float(share[0]) if first is None else first
        last = float(share[-1]) if last is None else last
        if last - first <= EQUAL:  # no width: nothing was bought after the first votes
            return float(np.interp(first, share, self.jaccard))
        inside = share[(share > first) & (share < last)]
        points = np.concatenate([[first], inside, [last]])
        return float(np.trapezoid(np.interp(points, share, self.jaccard), points)) / (last - first)


@dataclass(frozen=True)
class CostOfGoal:
    """What a goal costs: the sustained cost of each run, None where the run ends below the goal."""

    of_runs: tuple[float | None, ...]

    @property
    def median(self) -> float | None:
        """That of the run in the middle, None where it does not get there."""
        return _or_none(np.median(self._costs))

    @property
    def least(self) -> float | None:
        """That of the cheapest run."""
        return _or_none(self._costs.min())

    @property
    def most(self) -> float | None:
        """That of the most expensive run."""
        return _or_none(self._costs.max())

    @property
    def _costs(self) -> Floats:
        """(n_runs,) infinite where the run does not get there."""
        return np.array([np.inf if cost is None else cost for cost in self.of_runs])


def _or_none(cost: np.floating[Any]) -> float | None:
    return float(cost) if np.isfinite(cost) else None


def cost_of_quality(curves: Sequence[Curve], jaccard: npt.ArrayLike) -> CostOfGoal:
    """What it costs to stay at a quality; a number for each run where runs have votes of their own."""
    wanted = np.broadcast_to(np.asarray(jaccard, dtype=np.float64), len(curves))
    return CostOfGoal(tuple(curve.sustained_cost(float(each)) for curve, each in zip(curves, wanted, strict=True)))


def cost_of_goals(curves: Sequence[Curve], all_votes_jaccard: npt.ArrayLike) -> dict[float, CostOfGoal]:
    """What each of the `GOALS` costs; all_votes_jaccard : the quality of all votes, of every run or one for all."""
    quality = np.asarray(all_votes_jaccard, dtype=np.float64)
    wanted = {goal: goal * quality - (SAME_QUALITY if goal == 1 else 0.0) for goal in GOALS}
    return {goal: cost_of_quality(curves, each) for goal, each in wanted.items()}


@dataclass(frozen=True)
class Gap:
    """By how much two strategies differ, run by run: (n_runs,), the first minus the second."""

    of_runs: Floats

    @property
    def mean(self) -> float:
        """Over the runs."""
        return float(self.of_runs.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """Of the mean, 95 %; NaN where there are too few runs, or all differ by the same."""
        return (np.nan, np.nan) if np.ptp(self.of_runs) <= EQUAL else mean_interval(self.of_runs)

    def verdict(self, *, more_is_better: bool) -> Verdict:
        """What the interval allows to say of the first."""
        low, high = self.interval
        if not (low > 0 or high < 0):  # also where there is none
            return "not told apart"
        return "ahead" if (low > 0) == more_is_better else "behind"


@dataclass(frozen=True)
class Comparison:
    """One strategy beside another with the same seeds.

    area : gap in mean quality, over the money that both runs of a seed have seen.
    cost : gap in the share of the money from which on the quality of all votes stays; `MISSED` counts where it is not
        reached. missed : how many runs that are, of the first and of the second.
    first, last : the money that all pairs of runs have seen, as shares of the cost of all votes.
    """

    area: Gap
    cost: Gap
    missed: tuple[int, int]
    first: float
    last: float


def compared(curves: Sequence[Curve], reference: Sequence[Curve], all_votes_jaccard: npt.ArrayLike) -> Comparison:
    """The runs of a strategy beside those of another, seed by seed; both begin with the same votes."""
    pairs = list(zip(curves, reference, strict=True))
    ranges = [
        (max(one.cost_share[0], other.cost_share[0]), min(one.cost_share[-1], other.cost_share[-1]))
        for one, other in pairs
    ]
    areas = [one.area(*seen) - other.area(*seen) for (one, other), seen in zip(pairs, ranges, strict=True)]
    of_runs = [cost_of_goals(each, all_votes_jaccard)[1.0].of_runs for each in (curves, reference)]
    costs = [np.array([MISSED if cost is None else cost for cost in each]) for each in of_runs]
    return Comparison(
        Gap(np.array(areas)),
        Gap(costs[0] - costs[1]),
        (of_runs[0].count(None), of_runs[1].count(None)),
        float(max(first for first, _ in ranges)),
        float(min(last for _, last in ranges)),
    )


def largest_lead(leader: Curve, other: Curve) -> float:
    """By how much one is ahead of the other at most, at equal cost, from `SPENT_ALREADY` on; 0 where it never is."""
    share = other.cost_share
    gap = np.interp(share, leader.cost_share, leader.jaccard) - other.jaccard
    # Only where both are known: a curve that ended is not as good as at its end for ever.
    return float(gap[(share >= SPENT_ALREADY) & (share <= leader.cost_share[-1] + EQUAL)].max(initial=0.0))


def mean_curve(curves: Sequence[Curve], n_points: int = 101) -> Curve:
    """The mean of curves from several seeds, at equal shares of the cost that all of them have seen."""
    first, last = max(curve.cost_share[0] for curve in curves), min(curve.cost_share[-1] for curve in curves)
    # Where all runs are known: beyond, the mean would jump when one of them ends.
    share = np.linspace(first, last, n_points)
    columns = (
        np.mean([np.interp(share, curve.cost_share, getattr(curve, name)) for curve in curves], axis=0)
        for name in ("n_votes", "jaccard")
    )
    return Curve(share, *columns)


@dataclass(frozen=True)
class Replay(Tabular):
    """What one strategy achieved: for each seed a curve, and the quality of all votes to compare with."""

    curves: Sequence[Curve]
    all_votes: Sequence[float]

    def to_arrow(self) -> pa.Table:
        """Table seed, cost_share, votes, jaccard: all runs, one after the other."""
        runs = ((np.full(len(curve.jaccard), seed), curve.to_arrow()) for seed, curve in enumerate(self.curves))
        return pa.concat_tables([table.add_column(0, "seed", pa.array(seed)) for seed, table in runs])

    @property
    def mean(self) -> Curve:
        """Mean over the seeds."""
        return mean_curve(self.curves)

    @property
    def sustained_cost(self) -> dict[float, CostOfGoal]:
        """Share of the money for each of the goals."""
        return cost_of_goals(self.curves, self.all_votes)

    def in_percent(self, goal: float) -> str:
        """What a goal costs, in words."""
        return self.in_words(self.sustained_cost[goal])

    def in_words(self, cost: CostOfGoal) -> str:
        """What runs cost, in words: one that ended before all votes were bought might have got there later."""
        missed = [curve.end for curve, share in zip(self.curves, cost.of_runs, strict=True) if share is None]
        return _in_percent(cost, "stopped before" if {"patience", "money"} & set(missed) else "never")

    @property
    def areas(self) -> Floats:
        """(n_runs,) mean quality over the money of each run, from its first votes to its end."""
        return np.array([curve.area() for curve in self.curves])

    @property
    def is_cut(self) -> bool:
        """Whether the mean ends where the first run did, while others went on."""
        ends = [curve.cost_share[-1] for curve in self.curves]
        return bool(max(ends) - min(ends) > VISIBLE)


def _in_percent(cost: CostOfGoal, missed: str) -> str:
    """The middle run; the cheapest and the most expensive where there are several. missed : of those that miss it.

    >>> [_in_percent(CostOfGoal(of_runs), "never") for of_runs in ((0.5,), (0.3, None, 0.5), (None,))]
    ['50 %', '50 % (30 %–never)', 'never']
    """

    def text(share: float | None, unit: str = " %") -> str:
        return missed if share is None else f"{100 * share:.0f}{unit}"

    least, most = (text(share) for share in (cost.least, cost.most))
    if least == most:
        return least
    return f"{text(cost.median)} ({text(cost.least, '' if cost.most is not None else ' %')}–{most})"
