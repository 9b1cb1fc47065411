"""What a smaller error will cost, and what the next money is expected to buy.

How good a consensus is nobody knows without the truth, so what is forecast is the error that the model expects
(`CurrentBeliefs.expected_error`). It falls with the money that was spent as a power law:

    error ∝ money ^ (−1 / stretch)        so that        cost = spent · ((error / target) ^ stretch − 1)

Nobody knows the stretch beforehand, and some pairs stay unclear whomever one asks, so that the error has a floor. How
both vary is experience: they were fitted to replays of many crowds (`benchmarks/forecast.py`). The model's own view of
the future, Bayes' rule vote by vote, is no forecast: in those replays the real cost was five times as high in the
median, half of the targets were never reached, and to know that view made the intervals no better. Votes on an unclear
pair do not add up to certainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, inf, log, log1p

import numpy as np

from amcc.active.beliefs import CurrentBeliefs
from amcc.active.prices import Money
from amcc.active.questions import Triplets
from amcc.active.value import outcomes
from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.families import voices
from amcc.errors import ParameterError
from amcc.special import expit, logit

# Beyond this exponent a cost is no amount of money any more: e¹⁰⁰ is 10⁴³ times what was spent. From 709 on it would
# overflow.
FAR = 100.0

# Share of the campaigns whose cost an interval holds. Four in five, because at 95 % nearly all would be open above: in
# every tenth campaign the error stops falling for reasons that nobody sees beforehand.
COVERAGE = 0.8

# How much of a vote counts where the next answer is weighed. A model reads all votes on a pair together, and each tells
# less than it would alone. With whole votes, eight replays settled four in ten of the pairs that were promised; a third
# of a vote was about right there, and seven in ten in the median of 56 later ones (docs/active.md).
PART_OF_VOTE = 1 / 3


@dataclass(frozen=True)
class SoFar:
    """What a forecast goes by.

    error : expected, now. spent : what all votes so far cost at present prices, those at the start included.
    votes_per_pair : mean number of votes on pairs that have any; 1 where no pair has.
    """

    error: float
    spent: float
    votes_per_pair: float

    @classmethod
    def of(cls, beliefs: CurrentBeliefs, prices: Floats) -> SoFar:
        """How things stand; prices : (n_workers,) what a vote of each worker costs."""
        votes = beliefs.votes
        per_pair = len(votes) / len(votes.pairs) if len(votes) else 1.0
        return cls(beliefs.expected_error(), float(prices[votes.worker].sum()), per_pair)


@dataclass(frozen=True)
class Experience:
    """How the error of replays fell.

    stretch : the median of the stretch, where there is no floor. spread : of its logarithm, which is logistic.
    floor, per_votes, per_distance : log-odds that the target lies below the floor: of pairs with one vote and a target
        just below the error; more for each unit of log votes per pair, because what many votes left in doubt stays
        there; more for each unit of log(error / target).
    """

    stretch: float
    spread: float
    floor: float
    per_votes: float
    per_distance: float

    def below_floor(self, so_far: SoFar, distance: float) -> float:
        """Chance that a target so far below the error, log(error / target), cannot be reached."""
        odds = self.floor + self.per_votes * log(so_far.votes_per_pair) + self.per_distance * distance
        return float(expit(odds))

    def quantile(self, share: float, below_floor: float) -> float:
        """The stretch that this share of all campaigns stays below; infinite where more of them have a floor."""
        among_others = share / (1 - below_floor) if below_floor < 1 else inf
        return self.stretch * exp(self.spread * logit(among_others)) if among_others < 1 else inf

    def chance(self, stretch: float, below_floor: float) -> float:
        """Chance of a stretch of at most this much, and of no floor."""
        return float((1 - below_floor) * expit(log(stretch / self.stretch) / self.spread)) if stretch > 0 else 0.0


# Fitted to replays, every family of sets with the same weight: see docs/active.md, "When to stop".
REPLAYS = Experience(stretch=1.8, spread=0.59, floor=-5.9, per_votes=3.4, per_distance=4.9)


@dataclass(frozen=True)
class Forecast:
    """What it will cost until the expected error is at most the target for the first time.

    error, target : expected error now, and wanted.
    low, cost, high : in minor units, the interval that holds the cost of `COVERAGE` of such campaigns, and the median.
        Infinite is what all that can be asked does not reach. Where `high` is, the interval is open above, and begins
        where only 1 − `COVERAGE` of the campaigns are through.
    chance : that all that can be asked reaches the target.
    """

    error: float
    target: float
    low: float
    cost: float
    high: float
    chance: float


def forecast(
    beliefs: CurrentBeliefs, prices: Floats, target: float, *, most: float = inf, experience: Experience = REPLAYS
) -> Forecast | None:
    """The cost until the model expects an error of at most `target`; None before the first vote.

    prices : (n_workers,) what a vote of each worker costs. most : what all costs that can be asked, see `cost_of_rest`.
    """
    check_target(target)
    now = SoFar.of(beliefs, prices)
    return None if not now.spent and now.error > target else cost_to(target, now, most, experience)


def cost_to(target: float, now: SoFar, most: float = inf, experience: Experience = REPLAYS) -> Forecast:
    """The forecast where things stand so.

    >>> told = cost_to(0.05, SoFar(error=0.06, spent=1000, votes_per_pair=1.5))
    >>> told.low < told.cost < told.high
    True
    """
    error, spent = now.error, now.spent
    if error <= target:
        return Forecast(error, target, 0.0, 0.0, 0.0, 1.0)
    distance = log(error / target)
    never = experience.below_floor(now, distance)

    def cost(share: float) -> float:
        money = spent * expm1(min(distance * experience.quantile(share, never), FAR))
        return money if money <= most else inf

    tail = (1 - COVERAGE) / 2
    high = cost(1 - tail)
    low = cost(tail if high < inf else 2 * tail)
    chance = 1 - never if most == inf else experience.chance(log1p(most / spent) / distance, never)
    return Forecast(error, target, low, cost(0.5), high, chance)


def check_target(target: float, what: str = "target") -> None:
    """Raise ParameterError unless it is an error that a decision between two can have."""
    if isinstance(target, bool) or not isinstance(target, int | float) or not 0 < target < 0.5:
        raise ParameterError(f"{what} must be an expected error above 0 and below 0.5, as 0.05; got {target!r}.")


def cost_of_rest(beliefs: CurrentBeliefs, prices: Floats, allowed: Mask | None = None) -> float:
    """What all costs that can still be asked: every worker, or those `allowed`, about every pair that is new to them.

    >>> from amcc.active.beliefs import cold_beliefs
    >>> from amcc.votes import Votes
    >>> votes = Votes.from_dense([[[1], [0]], [[0], [0]]])  # of two workers, one has answered one of two items
    >>> cost_of_rest(cold_beliefs(votes), np.array([3.0, 10.0]))
    23.0
    """
    votes = beliefs.votes.one_per_worker()  # several samples of one worker are one answer
    n_known = 0 if beliefs.known is None else int(beliefs.known.sum())
    answered = np.ones(len(votes)) if beliefs.known is None else 1.0 - beliefs.known[votes.item, votes.label]
    left = beliefs.proba.size - n_known - np.bincount(votes.worker, answered, minlength=votes.n_workers)
    return float((prices * left)[slice(None) if allowed is None else allowed].sum())


@dataclass(frozen=True)
class NextMoney:
    """What the next so much money is expected to buy.

    money : in minor units. error, error_after : expected error before and after.
    settled : pairs that it settles. put_right : wrong decisions that it puts right, of all items and labels.
    """

    money: float
    error: float
    error_after: float
    settled: float
    put_right: float


def next_money(
    beliefs: CurrentBeliefs, prices: Floats, questions: Triplets, price: Money, money: float,
    experience: Experience = REPLAYS,
) -> NextMoney:  # fmt: skip
    """What so much money buys, spent on these questions, the best first, and on such as these beyond them.

    prices : (n_workers,) what a vote of each worker costs. price : (n,) what each of the questions costs.
    """
    now = SoFar.of(beliefs, prices)
    # Before the first vote there is no pace to go by: what one vote on each pair leaves in doubt is not known.
    moves = 1 - experience.below_floor(now, 0.0) if now.spent else 0.0
    falls = moves * (1 - (1 + money / now.spent) ** (-1 / experience.stretch)) if moves else 0.0  # share of the error
    gain = pairs_settled(beliefs, questions)
    paid = np.cumsum(price)
    n_paid = max(1, int(np.searchsorted(paid, money, side="right")))
    rate = gain[:n_paid].sum() / paid[n_paid - 1] if len(gain) and paid[n_paid - 1] else 0.0
    wrong = now.error * falls * beliefs.proba.size
    return NextMoney(money, now.error, now.error * (1 - falls), float(rate * money), float(wrong))


def pairs_settled(beliefs: CurrentBeliefs, questions: Triplets) -> Floats:
    """(n,) chance that the answer settles the pair, see `Settling`, over both answers; 0 where it is settled."""
    pair, worker = (questions.item, questions.label), questions.worker
    proba = beliefs.proba[pair]
    hit, false_alarm = beliefs.hit[worker, questions.label], beliefs.false_alarm[worker, questions.label]
    middle, half = (hit + false_alarm) / 2, PART_OF_VOTE * (hit - false_alarm) / 2
    later = outcomes(proba, middle + half, middle - half)
    n_yes, n_votes = (counts[pair] for counts in beliefs.vote_counts())
    say_no, say_yes = _families_that_say(False, beliefs, questions), _families_that_say(True, beliefs, questions)

    def settled_after(proba: Floats, *, yes: int) -> Mask:
        behind = None
        if say_no is not None and say_yes is not None:
            behind = np.where(proba > 0.5, say_yes[yes], say_no[1 - yes])
        return beliefs.settling.of(proba, n_yes + yes, n_votes + 1, behind)

    yes = outcomes(proba, hit, false_alarm).yes  # how likely it is, is another matter than how much it tells
    later_yes, later_no = settled_after(later.after_yes, yes=1), settled_after(later.after_no, yes=0)
    return np.where(beliefs.settled_pairs()[pair], 0.0, yes * later_yes + (1 - yes) * later_no)


def _families_that_say(yes: bool, beliefs: CurrentBeliefs, questions: Triplets) -> tuple[Ints, Ints] | None:
    """(n,) families that say so of the pair of each question, now, and if its worker does; None without a roster."""
    if (seats := beliefs.seats) is None:
        return None
    votes, voice = beliefs.votes.one_per_worker(), voices(seats)
    n_voices, n_labels = len(seats.family_names) + votes.n_workers, beliefs.proba.shape[1]
    pair = questions.item.astype(np.int64) * n_labels + questions.label
    said = votes.value > 0 if yes else votes.value < 0
    pair_said = votes.item[said].astype(np.int64) * n_labels + votes.label[said]
    heard = np.unique(pair_said * n_voices + voice[votes.worker[said]])
    now = np.searchsorted(heard, (pair + 1) * n_voices) - np.searchsorted(heard, pair * n_voices)
    return now, now + ~np.isin(pair * n_voices + voice[questions.worker], heard)
