"""Measuring strategies on recorded votes: by the paper's protocol, and on whole sets.

Both buy recorded votes batch after batch (`amcc.active.purchases`) and note quality and cost on the way. They differ in
where they begin, when they end, and which items count.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from amcc import Votes, make_model, metrics
from amcc.active import (
    STRATEGIES,
    Learner,
    cold_beliefs,
    first_votes,
    paper_prices,
    purchases,
    usual_batch,
    worker_costs,
)
from amcc.arrays import Floats, Mask, weight_per_code
from amcc.consensus import NAM
from amcc.errors import ConvergenceWarning
from amcc.experiments.cache import file_hash
from amcc.experiments.cells import Draw
from amcc.experiments.reproduce.fits import Found, OnOneDraw
from amcc.experiments.reproduce.sets import PaperSet

# Of the items, in the paper's protocol; the others are the pool to ask about.
INITIAL_SHARE, TEST_SHARE = 0.05, 0.25
# 20 rounds of 5 questions, as in the paper.
N_QUESTIONS, PAPER_BATCH = 100, 5

# What c of eq13 is in the paper's protocol: its experiments', from 1 to the number of workers by accuracy on the first
# items; or its method's, by the fit of the moment.
Costs = Literal["1…W", "eq12"]

# All the same; from 1 to the number of workers by accuracy; or whole numbers from 1 to 10 at random.
PRICE_LISTS = ("equal", "paper", "random")
# Strategies whose questions do not depend on prices: one run of them tells the cost at every price list.
PRICE_BLIND = ("amcc-rw", "sac", "nam-a", "mv-rsw", "uniform")


# -- the paper's protocol --------------------------------------------------------------------------------------------


class Partition(NamedTuple):
    """(n_items,) which items come with all their answers, and which are for testing only."""

    initial: Mask
    test: Mask


def partition(n_items: int, rng: np.random.Generator) -> Partition:
    """Parts of 5 % and 25 %, at least one item each, drawn at random.

    >>> parts = partition(100, np.random.default_rng(0))
    >>> int(parts.initial.sum()), int(parts.test.sum()), bool((parts.initial & parts.test).any())
    (5, 25, False)
    """
    place = rng.permutation(n_items)
    n_initial, n_test = (max(1, round(share * n_items)) for share in (INITIAL_SHARE, TEST_SHARE))
    # From both ends of one permutation, so that no item is in both.
    return Partition(place < n_initial, place >= n_items - n_test)


def worker_accuracy(draw: Draw, item: Mask) -> Floats:
    """(n_workers,) share of each worker's votes on these items that are true; NaN without any that can be judged."""
    votes = draw.votes
    judged = draw.known[votes.item, votes.label] & item[votes.item]
    right = judged & ((votes.value > 0) == draw.truth[votes.item, votes.label])
    n_judged, n_right = (
        weight_per_code(votes.worker, which.astype(float), votes.n_workers) for which in (judged, right)
    )
    return np.where(n_judged > 0, n_right / np.maximum(n_judged, 1.0), np.nan)


def quality(draw: Draw, item: Mask, proba: Floats) -> dict[str, float]:
    """Both readings of the paper's accuracy on these items."""
    known = draw.known & item[:, None]
    return {
        "jaccard": metrics.jaccard(draw.truth, proba > 0.5, known),
        "precision": metrics.precision(draw.truth, proba > 0.5, known),
    }


@dataclass(frozen=True)
class PaperRun(OnOneDraw):
    """One strategy on one partition.

    params : of the strategy. model : the consensus, that of the strategy unless it is given. costs : of workers.
    batch : questions at a time. every : questions from one point of the curve to the next.
    up_to : ask until this share of the votes on all items is known, and not the paper's 100 questions.
    """

    strategy: str
    params: tuple[tuple[str, Any], ...] = ()
    model: str | None = None
    costs: Costs = "1…W"
    batch: int = PAPER_BATCH
    every: int = PAPER_BATCH
    up_to: float | None = None

    @property
    def depends_on(self) -> list[Any]:
        """All settings, and how it is measured."""
        settings = [self.strategy, self.params, self.model, self.costs, self.batch, self.every, self.up_to]
        return ["active", *settings, self.seed, file_hash(__file__)]

    def measure(self) -> Found:
        """Questions, their cost, and quality on training and test items, point by point.

        The quality on test items is that of their recorded votes, judged by the workers as learned so far.
        """
        draw, rng = self.paper_set.draw(self.seed), np.random.default_rng(self.seed)
        votes = draw.votes
        initial, test = partition(votes.n_items, rng)
        prices = worker_costs if self.costs == "eq12" else paper_prices(worker_accuracy(draw, initial))
        train_votes, test_votes = (votes.select(part[votes.item]) for part in (~test, test))
        first = initial[train_votes.item]
        n_questions = N_QUESTIONS if self.up_to is None else round(self.up_to * len(votes)) - int(first.sum())
        strategy = STRATEGIES[self.strategy](**dict(self.params))
        learner = _learner(self.model or strategy.model, draw)
        points: list[dict[str, float]] = []
        spent_first = None
        with _without_warnings():
            for moment in purchases(train_votes, first, strategy, learner, prices, batch=self.batch, rng=rng):
                # The paper's cost is that of the questions: what the first items cost is not part of it.
                spent_first = moment.spent if spent_first is None else spent_first
                n_asked = int(moment.asked.sum() - first.sum())
                if n_asked % self.every == 0:
                    point = {"queries": n_asked, "cost": moment.spent - spent_first}
                    of_parts = {"training": (~test, moment.beliefs.proba), "test": (test, _judged(learner, test_votes))}
                    for part, (item, proba) in of_parts.items():
                        point |= {f"{part} {name}": value for name, value in quality(draw, item, proba).items()}
                    points.append(point)
                if n_asked + self.batch > n_questions:  # the next batch would be too many
                    break
        return _columns(points)


# -- whole sets ------------------------------------------------------------------------------------------------------


def price_list(kind: str, draw: Draw, seed: int) -> Floats:
    """(n_workers,) what one vote costs, by one of the `PRICE_LISTS`.

    Random prices depend on the seed and the number of workers, not on the strategy: all see the same.
    """
    n_workers = draw.votes.n_workers
    if kind == "equal":
        return np.ones(n_workers)
    if kind == "paper":
        return paper_prices(worker_accuracy(draw, np.ones(draw.votes.n_items, dtype=bool)))
    return np.random.default_rng([seed, n_workers]).integers(1, 11, size=n_workers).astype(np.float64)


@dataclass(frozen=True)
class ReplayRun(OnOneDraw):
    """One strategy that buys all votes of a set, from one answer per item on.

    prices : those that the strategy sees. budget : share of the cost of all votes, at these prices, that it may spend.
    """

    strategy: str
    prices: str
    budget: float = 1.0

    @property
    def depends_on(self) -> list[Any]:
        """All settings, and how it is measured."""
        return ["replay", self.strategy, self.prices, self.budget, self.seed, file_hash(__file__)]

    def measure(self) -> Found:
        """Votes, quality, and share of the cost of all votes at each of the price lists, point by point.

        Quality is the Jaccard index and the log-loss; beside them is the error that the model expects.

        The first point is one recorded answer per item, which is paid too. What a run costs is told at all price
        lists, whichever the strategy saw: those that do not look at prices are run once for all of them.
        """
        draw, rng = self.paper_set.draw(self.seed), np.random.default_rng(self.seed)
        votes = draw.votes
        prices = {kind: price_list(kind, draw, self.seed) for kind in PRICE_LISTS}
        share = {kind: each[votes.worker] / each[votes.worker].sum() for kind, each in prices.items()}
        seen = prices[self.prices]
        strategy = STRATEGIES[self.strategy]()
        bought = purchases(
            votes, first_votes(votes, "one", rng), strategy, _learner(strategy.model, draw), seen,
            batch=usual_batch(votes), limit=self.budget * float(seen[votes.worker].sum()), rng=rng,
        )  # fmt: skip
        points = []
        with _without_warnings():
            for moment in bought:
                jaccard = metrics.jaccard(draw.truth, moment.beliefs.proba > 0.5, draw.known)
                shares = {kind: float(each[moment.asked].sum()) for kind, each in share.items()}
                loss = metrics.log_loss(draw.truth, moment.beliefs.proba, draw.known)
                told = {"jaccard": jaccard, "log_loss": loss, "expected_error": moment.beliefs.expected_error()}
                points.append({"votes": int(moment.asked.sum()), **told, **shares})
        return _columns(points)


def replay_run(paper_set: PaperSet, seed: int, strategy: str, prices: str, budget: float) -> ReplayRun:
    """The run that tells the cost of a strategy at these prices: those that do not look at prices need only one."""
    return ReplayRun(paper_set, seed, strategy, "equal" if strategy in PRICE_BLIND else prices, budget)


# -- small things ---------------------------------------------------------------------------------------------------


def _learner(model: str, draw: Draw) -> Learner:
    """With features for those to whom the paper gives them: strategies, and NAM, which cannot do without."""
    make = partial(make_model, model)
    roster = draw.roster if make().uses_roster else None
    return Learner(make, features=draw.features, describe=isinstance(make(), NAM), roster=roster)


def _judged(learner: Learner, votes: Votes) -> Floats:
    """(n_items, n_labels) probabilities from these votes, by the workers as learned so far."""
    return cold_beliefs(votes).proba if learner.model is None else learner.model.predict_proba(votes)


def _without_warnings() -> Any:
    """Fits that did not settle are made again soon."""
    return warnings.catch_warnings(action="ignore", category=ConvergenceWarning)


def _columns(points: list[dict[str, float]]) -> Mapping[str, list[float]]:
    """Points as columns; six digits, for files of thousands of points are read again and again."""
    return {name: [round(point[name], 6) for point in points] for name in points[0]}
