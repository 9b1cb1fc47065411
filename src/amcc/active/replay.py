"""What would it have cost? Recorded votes are asked for one after the other, as a strategy chooses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from amcc import metrics
from amcc.active.beliefs import GROWTH, CurrentBeliefs, Learner
from amcc.active.candidates import Recorded
from amcc.active.questions import Triplets
from amcc.active.strategies import check_features_used
from amcc.active.strategy import Strategy
from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.base import ConsensusModel
from amcc.errors import ParameterError
from amcc.votes import Votes

Start = Literal["none", "one"] | float
"""What is known before the first question: nothing, one answer per item, or a share of the votes."""

N_POINTS, BATCHES_PER_PAIR = 100, 20
"""A batch, unless its size is given, is at most this part of the votes and of the pairs: enough for a smooth curve, and
small enough that there is something to choose, for a batch asks about a pair only once."""

GOALS = (0.90, 0.95, 1.00)
"""Shares of the quality of all votes whose cost is asked for."""

SAME_QUALITY = 0.005
"""A Jaccard index so far below that of all votes counts as the same."""

ENOUGH_RUNS = 5
"""With fewer, chance decides what a goal seems to cost: on small sets, runs of one strategy differ by a factor of two
and more."""


@dataclass(frozen=True)
class Recording:
    """Votes that were really given, and what is true where that is known, (n_items, n_labels) each."""

    votes: Votes
    truth: Mask
    known: Mask


@dataclass(frozen=True)
class Curve:
    """Quality against money: (n_points,) share of the cost of all votes, votes, and mean Jaccard."""

    cost_share: Floats
    n_votes: Floats
    jaccard: Floats

    def sustained_cost(self, jaccard: float) -> float | None:
        """The share of the cost from which on the quality is never again below this; None where the end is below.

        A curve is noisy: where it first touches a quality says little.
        """
        below = np.flatnonzero(self.jaccard < jaccard)
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


def replay(
    recording: Recording,
    strategy: Strategy,
    make_model: Callable[[], ConsensusModel],
    prices: Floats,
    *,
    start: Start = "one",
    batch: int | None = None,
    budget: float | None = None,
    seed: int = 0,
    features: Floats | None = None,
    growth: float = GROWTH,
    progress: Callable[[float], object] = lambda share: None,
) -> Curve:
    """Ask until all votes are bought, or the budget is spent; prices (n_workers,) are those of one vote."""
    votes = recording.votes
    rng = np.random.default_rng(seed)
    price = prices[votes.worker]
    total, limit = price.sum(), price.sum() if budget is None else budget
    if features is not None:
        check_features_used(strategy, make_model())
    learner = Learner(make_model, features=features, growth=growth)
    first = first_votes(votes, start, rng)
    points: list[tuple[float, float, float]] = []
    for moment in purchases(
        votes, first, strategy, learner, prices, batch=batch or usual_batch(votes), limit=limit, rng=rng
    ):
        proba = moment.beliefs.proba
        jaccard = metrics.jaccard(recording.truth, proba > 0.5, recording.known)
        points.append((moment.spent / total, moment.asked.sum(), jaccard))
        progress(moment.spent / limit)
    return Curve(*(np.array(column, dtype=np.float64) for column in zip(*points, strict=True)))


@dataclass(frozen=True)
class Moment:
    """Where a replay stands: (n_votes,) which votes were bought, what they cost, and what is believed after them."""

    asked: Mask
    spent: float
    beliefs: CurrentBeliefs


def purchases(
    votes: Votes,
    first: Mask,
    strategy: Strategy,
    learner: Learner,
    prices: Floats,
    *,
    batch: int,
    rng: np.random.Generator,
    limit: float = np.inf,
) -> Iterator[Moment]:
    """Buy batch after batch of `votes` until all are bought or the limit is spent; `first` are there at the start."""
    price = prices[votes.worker]
    place = _Places(votes)
    asked = first.copy()
    while True:
        beliefs = learner.learn(votes.select(asked), fresh=bool(asked.all()))
        spent = float(price[asked].sum())
        yield Moment(asked.copy(), spent, beliefs)
        if asked.all() or spent >= limit:
            return
        chosen = strategy.select(beliefs, Recorded(votes, asked), prices, batch, rng).asked
        new = place.of(chosen)
        new = new[np.cumsum(price[new]) <= limit - spent + 1e-9]
        if not len(new):
            return
        asked[new] = True


def usual_batch(votes: Votes) -> int:
    """How many questions are asked at a time, unless a number is given."""
    return max(1, round(min(len(votes) / N_POINTS, len(votes.pairs) / BATCHES_PER_PAIR)))


def first_votes(votes: Votes, start: Start, rng: np.random.Generator) -> Mask:
    """(n_votes,) which votes are there at the start; whole answers, chosen at random."""
    if start == "none":
        return np.zeros(len(votes), dtype=bool)
    answer = votes.item.astype(np.int64) * votes.n_workers + votes.worker
    distinct, answer_of_vote = np.unique(answer, return_inverse=True)
    lot = rng.random(len(distinct))
    if start == "one":
        item = distinct // votes.n_workers
        order = np.lexsort((lot, item))
        chosen = np.zeros(len(distinct), dtype=bool)
        chosen[order[np.flatnonzero(np.diff(item[order], prepend=-1))]] = True
    else:
        if not isinstance(start, float | int) or not 0 <= start <= 1:
            raise ParameterError(f"start must be 'none', 'one' or a share from 0 to 1; got {start!r}.")
        chosen = lot < np.quantile(lot, start) if start < 1 else np.ones(len(lot), dtype=bool)
    return np.asarray(chosen[answer_of_vote])


def mean_curve(curves: Sequence[Curve], n_points: int = 101) -> Curve:
    """The mean of curves from several seeds, at equal shares of the cost that all of them have seen."""
    first, last = max(curve.cost_share[0] for curve in curves), min(curve.cost_share[-1] for curve in curves)
    share = np.linspace(first, last, n_points)
    columns = (
        np.mean([np.interp(share, curve.cost_share, getattr(curve, name)) for curve in curves], axis=0)
        for name in ("n_votes", "jaccard")
    )
    return Curve(share, *columns)


class _Places:
    """Finds votes by item, label and worker."""

    def __init__(self, votes: Votes) -> None:
        self._votes = votes
        self._key = self._keys(votes.item, votes.label, votes.worker)  # votes are in this order

    def of(self, asked: Triplets) -> Ints:
        """(n,) places of the questions among the votes."""
        return np.asarray(np.searchsorted(self._key, self._keys(asked.item, asked.label, asked.worker)))

    def _keys(self, item: npt.NDArray[Any], label: npt.NDArray[Any], worker: npt.NDArray[Any]) -> Ints:
        pair = item.astype(np.int64) * self._votes.n_labels + label
        return np.asarray(pair * self._votes.n_workers + worker)
