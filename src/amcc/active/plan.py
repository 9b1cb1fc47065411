"""What was chosen, pair by pair and in words: ask two models, ask a person, ask yourself, and why these.

A strategy has chosen already; here it is said how its choice compares with what else could have been asked. What
answers tell is the expected drop of the log-loss of their pair (`amcc.active.value`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from amcc.active.beliefs import CurrentBeliefs
from amcc.active.prices import Money, Prices, as_number
from amcc.active.questions import Questions
from amcc.active.strategies.common import votes_on_pairs
from amcc.active.value import entropy, expected_drop, outcomes
from amcc.arrays import Floats, Ints, Mask
from amcc.roster import WORKER_KINDS, Seats
from amcc.votes import Votes

# Whom a plan speaks of; without a roster nobody knows of which kind a worker is.
YOURSELF, WORKER = "you", "worker"
ONE = {"human": "a person", "model": "a model", "code": "a program", WORKER: "a worker"}
MANY = {"human": "people", "model": "models", "code": "programs", WORKER: "workers"}
NUMBERS = ("no", "one", "two", "three", "four", "five")

# Answers are as good as others where they tell nine tenths as much: what is expected is not known more exactly.
AS_GOOD = 0.9

# And add little where they tell a quarter of it or less: four of them would be needed, and they repeat each other.
LITTLE = 0.25


@dataclass(frozen=True)
class PlannedPair:
    """What is asked about a pair.

    item, label : codes. n_asked : how many of each kind, "you" and, without a roster, "worker" among them.
    cost : in minor units. told : expected drop of the pair's log-loss, in nats. ask, why : in words.
    """

    item: int
    label: int
    n_asked: dict[str, int]
    cost: int
    told: float
    ask: str
    why: str

    def as_json(self, votes: Votes, prices: Prices) -> dict[str, Any]:
        """For scripts."""
        pair = {"item": votes.item_names[self.item].as_py(), "label": votes.label_names[self.label].as_py()}
        cost = as_number(self.cost, prices.decimals)
        return {**pair, **self.n_asked, "cost": cost, "told": self.told, "ask": self.ask, "why": self.why}


def drop_of_all(proba: float, hit: Floats, false_alarm: Floats) -> float:
    """By how much the log-loss of a pair is expected to drop when all of these answer; they err independently.

    >>> drop = drop_of_all(0.5, np.array([0.9, 0.9]), np.array([0.1, 0.1]))
    >>> round(drop, 3), round(drop_of_all(0.5, np.array([0.97]), np.array([0.03])), 3)
    (0.514, 0.558)
    """
    chance, after = np.ones(1), np.array([proba])
    for each_hit, each_false in zip(hit.tolist(), false_alarm.tolist(), strict=True):
        yes, after_yes, after_no = outcomes(after, np.array(each_hit), np.array(each_false))
        chance, after = np.append(chance * yes, chance * (1 - yes)), np.append(after_yes, after_no)
    return max(float(entropy(np.array(proba)) - chance @ entropy(after)), 0.0)


def planned_pairs(
    chosen: Questions, price: Money, beliefs: CurrentBeliefs, seats: Seats | None, prices: Prices, allowed: Mask
) -> list[PlannedPair]:
    """The questions pair by pair, in the order in which the pairs come first."""
    rows: dict[tuple[int, int], list[int]] = {}
    for row, (item, label, _) in enumerate(chosen.asked.rows()):
        rows.setdefault((item, label), []).append(row)
    around = _Around(beliefs, kinds_of(beliefs, seats), seats, prices, allowed)
    return [
        around.planned(pair, chosen.asked.worker[places], int(price[places].sum())) for pair, places in rows.items()
    ]


def kinds_of(beliefs: CurrentBeliefs, seats: Seats | None) -> list[str]:
    """(n_workers,) what each worker is called: a kind of the roster, "worker" without one, and "you"."""
    unknown = [WORKER] * beliefs.votes.n_workers
    kinds = unknown if seats is None else [WORKER_KINDS[code] for code in seats.kind.tolist()]
    if beliefs.expert is not None:
        kinds[beliefs.expert.worker] = YOURSELF
    return kinds


@dataclass(frozen=True)
class _Around:
    """What else could be asked about a pair, and what it would tell."""

    beliefs: CurrentBeliefs
    kinds: list[str]
    seats: Seats | None
    prices: Prices
    allowed: Mask

    def planned(self, pair: tuple[int, int], workers: Ints, cost: int) -> PlannedPair:
        """What was chosen about a pair."""
        n_asked = dict(Counter(self.kinds[worker] for worker in workers.tolist()))
        hit, false_alarm = self.rates(pair, workers)
        told = drop_of_all(float(self.beliefs.proba[pair]), hit, false_alarm)
        return PlannedPair(*pair, n_asked, cost, told, asked_text(n_asked), self.why(pair, n_asked, told, cost))

    def rates(self, pair: tuple[int, int], workers: Ints) -> tuple[Floats, Floats]:
        """Hit and false-alarm rates of these workers on the label of a pair."""
        return self.beliefs.hit[workers, pair[1]], self.beliefs.false_alarm[workers, pair[1]]

    def have_answered(self, pair: tuple[int, int]) -> Ints:
        """Workers who voted on the pair."""
        votes, (item, label) = self.beliefs.votes, pair
        start, n_votes = votes_on_pairs(votes, np.array([item]), np.array([label]))
        return np.asarray(votes.worker[start[0] : start[0] + n_votes[0]], dtype=np.int64)

    def best(self, pair: tuple[int, int], kinds: Iterable[str]) -> tuple[int, float] | None:
        """Who of these kinds could be asked and tells most for the money, and how much; None where nobody is left."""
        can_be = np.isin(np.array(self.kinds), list(kinds)) & self.allowed
        can_be[self.have_answered(pair)] = False
        others = np.flatnonzero(can_be)
        if not len(others):
            return None
        told = expected_drop(entropy, self.beliefs.proba[pair], *self.rates(pair, others))
        place = int(np.argmax(told / self.prices.lone_vote[others]))
        return int(others[place]), float(told[place])

    def why(self, pair: tuple[int, int], n_asked: dict[str, int], told: float, cost: int) -> str:
        """Why these and nobody else, as far as it can be said."""
        if YOURSELF in n_asked:
            return self._why_you(pair, told)
        if set(n_asked) == {"human"}:
            return self._why_people(pair, told)
        if set(n_asked) <= {"model", "code"}:
            return self._why_machines(pair, sum(n_asked.values()), told, cost)
        return ""

    def _why_you(self, pair: tuple[int, int], told: float) -> str:
        """An answer of the requester settles its pair, or is worth more for all others."""
        expert = self.beliefs.expert
        if expert is not None and expert.gain[pair] > told:
            return "your answer says more about how to read all others than about this pair"
        other = self.best(pair, (*WORKER_KINDS, WORKER))
        if other is None:
            return "everybody else has answered"
        if other[1] < LITTLE * told:
            return "anybody else would add little"
        return "it settles the pair"

    def _why_people(self, pair: tuple[int, int], told: float) -> str:
        """Models have answered, add little, or are not worth their price."""
        if not {"model", "code"} & set(self.kinds):
            return ""
        model = self.best(pair, ("model", "code"))
        if model is None:
            return f"{self._machines_of(pair)} have answered"
        if model[1] < LITTLE * told:
            return "a further model would add little"
        return "more for the money than a model"

    def _machines_of(self, pair: tuple[int, int]) -> str:
        """Models that have answered a pair, and whether they are one family."""
        models = [worker for worker in self.have_answered(pair).tolist() if self.kinds[worker] in ("model", "code")]
        families = set() if self.seats is None else {int(self.seats.family[worker]) for worker in models}
        one = len(models) > 1 and len(families) == 1 and -1 not in families
        return "the models are one family and" if one else "the models"

    def _why_machines(self, pair: tuple[int, int], n: int, told: float, cost: int) -> str:
        """They tell as much as a person, or enough of it for their price."""
        person = self.best(pair, ("human", YOURSELF))
        if person is None:
            return ""
        price = int(self.prices.lone_vote[person[0]])
        whom = "you would" if self.kinds[person[0]] == YOURSELF else "a person would"
        if told >= AS_GOOD * person[1] and cost < price:
            return f"{'together ' * (n > 1)}as good as what {whom} say for {self.prices.text(price)}"
        share = told / person[1] if person[1] > 0 else 1.0
        return f"{share:.0%} of what {whom} tell, for {cost / price:.0%} of the price"


def asked_text(n_asked: dict[str, int]) -> str:
    """Whom to ask.

    >>> asked_text({"model": 2}), asked_text({"human": 1, "you": 1})
    ('ask two models', 'ask a person and yourself')
    """
    said = [
        "yourself" if kind == YOURSELF else ONE[kind] if n == 1 else f"{_number(n)} {MANY[kind]}"
        for kind, n in n_asked.items()
    ]
    return f"ask {' and '.join(said)}"


def _number(n: int) -> str:
    return NUMBERS[n] if n < len(NUMBERS) else str(n)


# Lines that people read; all of the plan is in --json.
MOST_LINES = 8


def plan_lines(plan: Sequence[PlannedPair], votes: Votes, prices: Prices) -> list[str]:
    """The plan in a few lines: pairs of which the same is said stand together, those with most pairs first."""
    groups: dict[tuple[str, str], list[PlannedPair]] = {}
    for each in plan:
        groups.setdefault((each.ask, each.why), []).append(each)
    lines = []
    for (ask, why), pairs in sorted(groups.items(), key=lambda group: -len(group[1])):
        item, label = votes.item_names[pairs[0].item].as_py(), votes.label_names[pairs[0].label].as_py()
        about = f"item {item}, label {label}" if len(pairs) == 1 else f"{len(pairs):,} pairs"
        cost = prices.text(sum(each.cost for each in pairs))
        lines.append(f"{about}: {ask} ({cost}){f': {why}' * bool(why)}")
    more = len(lines) - MOST_LINES
    return lines[:MOST_LINES] + [f"and {more} more, see plan in --json"] * (more > 0)
