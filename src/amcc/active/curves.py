"""Quality against money: what one replay gave, and what replays with several seeds say together.

A `Curve` is what one run measured. `cost_of_goals` reads from several what a quality costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from amcc.arrays import Floats

# Why a replay ended: all votes are bought; the money does not pay for what the strategy wants next; no progress in
# `patience` batches.
EndReason = Literal["all", "money", "patience"]

# Shares of the quality of all votes for which the cost is asked.
GOALS = (0.90, 0.95, 1.00)

# A Jaccard index so far below that of all votes counts as the same: runs of one strategy with other seeds differ by
# more, and nobody would pay for half a percent.
SAME_QUALITY = 0.005

# With fewer, chance decides what a goal seems to cost: on small sets, runs of one strategy differ by a factor of two
# and more.
ENOUGH_RUNS = 5


@dataclass(frozen=True)
class Curve:
    """Quality against money: (n_points,) share of the cost of all votes, votes, and mean Jaccard; why it ended."""

    cost_share: Floats
    n_votes: Floats
    jaccard: Floats
    end: EndReason | None = field(default=None, kw_only=True)  # a mean of curves has none

    def sustained_cost(self, jaccard: float) -> float | None:
        """The share of the cost from which on the quality is never again below this; None where the end is below.

        A curve is noisy: where it first touches a quality says little.
        """
        below = np.flatnonzero(self.jaccard < jaccard)  # from behind the last of these on it stays
        stays = below[-1] + 1 if len(below) else 0
        return float(self.cost_share[stays]) if stays < len(self.jaccard) else None


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


def cost_of_goals(curves: Sequence[Curve], all_votes_jaccard: float) -> dict[float, CostOfGoal]:
    """What each of the `GOALS` costs, given the quality of all votes and a curve for each run."""
    wanted = {goal: goal * all_votes_jaccard - (SAME_QUALITY if goal == 1 else 0.0) for goal in GOALS}
    return {
        goal: CostOfGoal(tuple(curve.sustained_cost(jaccard) for curve in curves)) for goal, jaccard in wanted.items()
    }


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
