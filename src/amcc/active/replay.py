"""What would it have cost? Recorded votes are asked for one after the other, as a strategy chooses them.

`replay` gives a `Curve`: quality against money. What several curves say together is in `curves`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from amcc import metrics
from amcc.active.basket import Basket
from amcc.active.beliefs import GROWTH, CurrentBeliefs, Learner
from amcc.active.candidates import Recorded
from amcc.active.curves import Curve, EndReason
from amcc.active.prices import Money, Prices
from amcc.active.questions import Triplets
from amcc.active.stopping import check_patience, has_progress
from amcc.active.strategy import Strategy, check_features_used
from amcc.arrays import Floats, Mask, find_sorted, weight_per_code
from amcc.consensus.base import ConsensusModel
from amcc.errors import ParameterError
from amcc.roster import Roster
from amcc.votes import Votes
from amcc.watching import tell

# What is known before the first question: nothing, one answer per item, or a share of the votes.
Start = Literal["none", "one"] | float

# A batch, unless its size is given, is at most this part of the votes and of the pairs: enough for a smooth curve, and
# small enough that there is something to choose, because a batch asks about a pair only once.
N_POINTS, BATCHES_PER_PAIR = 100, 20

# Baskets count whole units of money. Prices of the paper's experiments are fractions that no currency has
# (`paper_prices`), so a replay counts in millionths.
FRACTION = 10**6
NO_LIMIT = 2**62  # more than all votes can cost; it still fits in 64 bits

# (n_workers,) what one vote of each worker costs now, given the model, None before the first vote, and the votes so
# far. `worker_costs` is one: the paper's own cost, which changes with each fit.
PricesNow = Callable[[ConsensusModel | None, Votes], Floats]


@dataclass(frozen=True)
class Recording:
    """Votes that were really given, and what is true where that is known, (n_items, n_labels) each."""

    votes: Votes
    truth: Mask
    known: Mask


def replay(
    recording: Recording,
    strategy: Strategy,
    make_model: Callable[[], ConsensusModel],
    prices: Floats | PricesNow,
    *,
    start: Start = "one",
    batch: int | None = None,
    budget: float | None = None,
    total: float | None = None,
    patience: int | None = None,
    seed: int = 0,
    features: Floats | None = None,
    roster: Roster | None = None,
    growth: float = GROWTH,
    progress: Callable[[float], object] = lambda share: None,
) -> Curve:
    """Ask until all votes are bought, the budget is spent, or there was no progress for too long.

    recording : votes with their truth. make_model : makes a new consensus model, see `Learner`.
    prices : (n_workers,) what one vote of each worker costs, or what says it before each batch, see `purchases`.
    budget : in the same units; all votes, unless it is given.
    total : what all votes cost, of which the curve gives shares; at the prices after all votes, unless it is given.
    patience : end after so many batches in which the expected error did not reach a new low.
    start : what is there before the first question, see `Start`. batch : see `usual_batch`.
    roster : who the workers are; a model that has no use for it does without.
    progress : is told the share of the budget that is spent.
    """
    votes = recording.votes
    rng = np.random.default_rng(seed)
    if features is not None:
        check_features_used(strategy, make_model())
    about: dict[str, Any] = {"features": features, "roster": roster if make_model().uses_roster else None}
    learner = Learner(make_model, **about, growth=growth)
    total = cost_of_all(votes, prices, Learner(make_model, **about)) if total is None else total
    limit = np.inf if budget is None else budget
    first = first_votes(votes, start, rng)
    settings: dict[str, Any] = {"batch": batch or usual_batch(votes), "limit": limit, "patience": patience, "rng": rng}
    points: list[tuple[float, float, float]] = []
    by_worker: list[Floats] = []
    for moment in purchases(votes, first, strategy, learner, prices, **settings):
        jaccard = metrics.jaccard(recording.truth, moment.beliefs.proba > 0.5, recording.known)
        points.append((moment.spent / total, moment.asked.sum(), jaccard))
        by_worker.append(weight_per_code(votes.worker, moment.paid, votes.n_workers) / total)
        spent = min(moment.spent / min(limit, total), 1.0)  # prices may change, and all votes cost more in the end
        progress(spent)
        tell(spent, f"{100 * spent:.0f} % of the money is spent")
    end: EndReason = "all" if moment.asked.all() else "patience" if moment.stuck else "money"
    columns = (np.array(column, dtype=np.float64) for column in zip(*points, strict=True))
    return Curve(*columns, by_worker=np.array(by_worker), end=end)


def cost_of_all(votes: Votes, prices: Floats | PricesNow, learner: Learner) -> float:
    """What all votes cost at the prices that there are after all of them."""
    if callable(prices):
        learner.learn(votes)
        prices = prices(learner.model, votes)
    return float(prices[votes.worker].sum())


@dataclass(frozen=True)
class Moment:
    """Where a replay stands: (n_votes,) which votes were bought, what they cost, and what is believed after them.

    paid : (n_votes,) the price of each vote that was bought, else 0.
    stuck : whether it ends here for want of progress.
    """

    asked: Mask
    spent: float
    beliefs: CurrentBeliefs
    paid: Floats
    stuck: bool = False


def purchases(
    votes: Votes,
    first: Mask,
    strategy: Strategy,
    learner: Learner,
    prices: Floats | PricesNow,
    *,
    batch: int,
    rng: np.random.Generator,
    limit: float = np.inf,
    patience: int | None = None,
) -> Iterator[Moment]:
    """Buy batch after batch of `votes` until all are bought or the limit is spent; `first` are there at the start.

    prices : (n_workers,), or what says them before each batch. What was bought keeps the price at which it was bought,
        and the first votes have the price that there is before any vote.
    patience : see `replay`.
    """
    check_patience(patience, "batches")
    price_now, keys = as_prices_now(prices), Triplets.of_votes(votes).keys(votes)
    asked, money = first.copy(), _money(votes, prices, limit)
    before = price_now(None, votes.select(np.zeros_like(first)))
    paid = np.where(first, before[votes.worker], 0.0)  # (n_votes,)
    errors: list[float] = []
    while True:
        beliefs = learner.learn(votes.select(asked), fresh=bool(asked.all()))
        errors.append(beliefs.expected_error())
        stuck = patience is not None and not has_progress(errors, patience)
        yield Moment(asked.copy(), float(paid[asked].sum()), beliefs, paid.copy(), stuck)
        left = money - int(_units(paid).sum())
        if asked.all() or stuck or left <= 0:
            return
        price = price_now(learner.model, beliefs.votes)
        basket = Basket(Prices(_units(price)), left, batch)
        # A replay measures what the strategy wants: to take cheaper votes in place of one that is too expensive would
        # measure something else, so the first that cannot be paid ends it.
        basket.reserve(strategy.select(beliefs, Recorded(votes, asked), price, batch, rng), until_refused=True)
        if not len(basket):
            return
        bought = find_sorted(keys, basket.questions.asked.keys(votes))[0]
        asked[bought], paid[bought] = True, price[basket.questions.asked.worker]


def as_prices_now(prices: Floats | PricesNow) -> PricesNow:
    """What says the prices of the moment; those of an array are always the same."""
    return prices if callable(prices) else lambda model, votes: prices


def _units(amount: Floats) -> Money:
    return np.rint(amount * FRACTION).astype(np.int64)


def _money(votes: Votes, prices: Floats | PricesNow, limit: float) -> int:
    """The limit in whole units."""
    # With money for all votes, rounded prices must not be compared with the sum of exact ones.
    pays_for_all = not callable(prices) and limit >= prices[votes.worker].sum()
    return NO_LIMIT if pays_for_all or limit == np.inf else round(limit * FRACTION)


def usual_batch(votes: Votes) -> int:
    """How many questions are asked at a time, unless a number is given."""
    return max(1, round(min(len(votes) / N_POINTS, len(votes.pairs) / BATCHES_PER_PAIR)))


def first_votes(votes: Votes, start: Start, rng: np.random.Generator) -> Mask:
    """(n_votes,) which votes are there at the start; whole answers, chosen at random."""
    if start == "none":
        return np.zeros(len(votes), dtype=bool)
    answer = votes.item.astype(np.int64) * votes.n_workers + votes.worker
    distinct, answer_of_vote = np.unique(answer, return_inverse=True)
    luck = rng.random(len(distinct))
    if start == "one":
        item = distinct // votes.n_workers
        order = np.lexsort((luck, item))  # of each item, the luckiest answer comes first
        chosen = np.zeros(len(distinct), dtype=bool)
        chosen[order[np.flatnonzero(np.diff(item[order], prepend=-1))]] = True
    else:
        if not isinstance(start, float | int) or not 0 <= start <= 1:
            raise ParameterError(f"start must be 'none', 'one' or a share from 0 to 1; got {start!r}.")
        # The answers below the quantile, not those below `start`: their number is exact, whatever was drawn.
        chosen = luck < np.quantile(luck, start) if start < 1 else np.ones(len(luck), dtype=bool)
    return np.asarray(chosen[answer_of_vote])
