"""People, models and you in one choice: prices of kinds and pages, the requester as a worker, the plan in words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest

from amcc import Roster, Votes
from amcc.active import Prices, next_questions
from amcc.active.beliefs import CurrentBeliefs, cold_beliefs
from amcc.active.candidates import Anything, Candidates
from amcc.active.picking import pick_batch, questions_about
from amcc.active.plan import asked_text, drop_of_all, plan_lines, planned_pairs
from amcc.active.questions import Questions, Triplets
from amcc.active.reasons import reasons
from amcc.active.strategy import UsualStrategy
from amcc.active.value import entropy, expected_drop
from amcc.active.yourself import EXPERT_FALSE_ALARM, EXPERT_HIT, reading_gain, with_expert, with_my_price
from amcc.arrays import Floats
from amcc.consensus import AMCC
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import AmccError

WORKERS = [f"w{number}" for number in range(1, 7)]
KINDS = {"human": "8", "model": "2"}


@pytest.fixture(scope="module")
def votes() -> Votes:
    spec = CrowdSpec(n_items=12, n_workers=6, n_labels=3, answers_per_item=3, spammers=0.0, seed=1)
    return simulate_crowd(spec).votes


def roster_of(workers: list[str], models: int, family: str = "gpt") -> Roster:
    kind = ["model"] * models + ["human"] * (len(workers) - models)
    return Roster.from_frame(
        pd.DataFrame({"worker": workers, "kind": kind, "family": [family if k == "model" else "" for k in kind]})
    )


@dataclass(frozen=True)
class ByDrop(UsualStrategy):
    """The expected drop of the log-loss, with what an answer of the requester is worth beside its pair, per price."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        promise = np.where(candidates.open_pairs(), entropy(beliefs.proba), np.nan)
        asked = questions_about(promise, candidates, batch, len(prices), rng)
        rates = (rate[asked.worker, asked.label] for rate in (beliefs.hit, beliefs.false_alarm))
        value = expected_drop(entropy, beliefs.proba[asked.item, asked.label], *rates) + beliefs.gain_beside(asked)
        return pick_batch(asked, value / prices[asked.worker], batch, rng)


# -- prices ------------------------------------------------------------------------------------------------------------


def test_own_price_before_that_of_the_kind_before_that_of_others(votes: Votes) -> None:
    roster = roster_of(WORKERS, 3)
    found = next_questions(votes, budget=50, prices={"w1": 5}, kind_prices={"model": 2}, price=7, roster=roster)
    assert found.prices.vote.tolist() == [5, 2, 2, 7, 7, 7]


def test_a_list_may_have_the_prices_of_kinds(votes: Votes) -> None:
    listed = pd.DataFrame({"worker": ["w6", "", ""], "kind": ["", "model", "human"], "price": [1, 2, 8]})
    found = next_questions(votes, budget=50, prices=listed, roster=roster_of(WORKERS, 3))
    assert found.prices.vote.tolist() == [2, 2, 2, 8, 8, 1]


def test_pages_cost_once_and_of_a_kind(votes: Votes) -> None:
    found = next_questions(votes, budget=60, kind_prices=KINDS, page={"human": 10}, roster=roster_of(WORKERS, 3))
    assert found.prices.lone_vote.tolist() == [2, 2, 2, 18, 18, 18]
    everybody = next_questions(votes, budget=400, price=1, page=10, batch=9)
    pages = set(everybody.questions.asked.pages())
    assert everybody.cost == len(everybody) + 10 * len(pages)
    assert len(pages) < len(everybody)  # more than one label is asked where the page is paid
    rows = everybody.questions.asked.pages()
    runs = 1 + sum(one != other for one, other in pairwise(rows))
    assert runs == len(pages)  # page by page


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind_prices": {"model": 2}, "price": 1}, "say so in a roster"),
        ({"kind_prices": {"robot": 2}, "roster": 3}, "a kind must be human, model or code"),
        ({"kind_prices": {"code": 2}, "price": 1, "roster": 3}, "nobody is of kind 'code'"),
        ({"kind_prices": {"model": -2}, "roster": 3}, "the price of kind 'model' must not be negative"),
        ({"kind_prices": {"model": 0}, "price": 1, "roster": 3}, "a vote must cost at least one minor unit"),
        ({"kind_prices": {"model": 2}, "roster": 3}, "there is none for 'w4', 'w5', 'w6'"),
        ({"kind_prices": KINDS, "prices": 3, "roster": 3}, "is for everybody already"),
        ({"kind_prices": KINDS, "prices": "eq12", "roster": 3}, "is for everybody already"),
        ({"page": -1}, "the page price must not be negative"),
        ({"page": {"model": 1}}, "the page price of a kind"),
        ({"page": 1, "prices": Prices(np.ones(6, np.int64), page=2)}, "say what pages cost already"),
        ({"my_price": 0}, "your price must be above 0"),
        ({"my_price": -1}, "your price must not be negative"),
        ({"my_price": "much"}, "your price must be a number"),
        ({"my_price": 3, "me": "w1"}, "a name that no worker has; got 'w1'"),
        ({"my_price": 3, "me": " "}, "a name that no worker has"),
    ],
)
def test_wrong_prices(votes: Votes, options: dict[str, Any], words: str) -> None:
    if "roster" in options:
        options = {**options, "roster": roster_of(WORKERS, options["roster"])}
    with pytest.raises(AmccError) as caught:
        next_questions(votes, budget=50, **options)
    assert words in str(caught.value)


# -- you ---------------------------------------------------------------------------------------------------------------


def test_you_are_one_more_worker_with_rates_of_an_expert(votes: Votes) -> None:
    before = cold_beliefs(votes)
    beliefs = with_expert(before, "you", np.full((12, 3), 0.3))
    assert beliefs.votes.worker_names.to_pylist() == [*WORKERS, "you"]
    assert beliefs.hit[-1].tolist() == [EXPERT_HIT] * 3
    assert beliefs.false_alarm[-1].tolist() == [EXPERT_FALSE_ALARM] * 3
    assert (beliefs.hit[:-1] == before.hit).all()
    asked = Triplets(np.array([0, 0]), np.array([1, 1]), np.array([6, 2]))
    assert beliefs.gain_beside(asked).tolist() == [0.3, 0.0]
    assert before.gain_beside(asked).tolist() == [0.0, 0.0]


def test_what_your_answers_teach_is_counted_once(votes: Votes) -> None:
    model = AMCC().fit(votes)
    one, many = reading_gain(model, votes, 1), reading_gain(model, votes, 30)
    assert (one > 0).sum() == 1
    assert (many > 0).sum() == 30
    assert many.sum() < 30 * one.max()  # thirty times the first would count the same lesson again and again
    assert many.max() >= one.max() - 1e-12
    assert not reading_gain(None, votes, 3).any()


def test_you_are_asked_where_it_pays_and_only_there(votes: Votes) -> None:
    def mine(my_price: int) -> int:
        return next_questions(votes, budget=400, price=100, my_price=my_price, strategy=ByDrop(), batch=10).n_mine

    assert mine(1) == 10
    assert mine(399) < 10
    found = next_questions(votes, budget=50, price=100, my_price=5, me="boss")
    assert set(found.table("arrow")["worker"].to_pylist()) == {"boss"}  # nobody else can be paid
    assert found.cost <= 50


def test_your_price_has_no_page() -> None:
    prices = with_my_price(Prices(np.array([8]), page=2), 50)
    assert prices.lone_vote.tolist() == [10, 50]


# -- a cheap judge that is enough is used, one that adds nothing is not ------------------------------------------------


def judged(hit: list[float], proba: float = 0.5) -> CurrentBeliefs:
    """Two models of a family and two people, who are right about present and absent alike; nobody has voted."""
    votes = Votes.from_dense(np.zeros((4, 6, 1)) + 1, worker_names=["gpt", "gpt-mini", "ann", "bob"])
    cold = cold_beliefs(votes.select(np.zeros(len(votes), dtype=bool)))
    rate = np.array(hit)[:, None]
    return replace(cold, hit=rate, false_alarm=1 - rate, proba=np.full((6, 1), proba))


def chosen_by_drop(beliefs: CurrentBeliefs, price: list[int]) -> list[int]:
    chosen = ByDrop().select(
        beliefs, Anything(beliefs.votes), np.array(price, dtype=np.float64), 6, np.random.default_rng(0)
    )
    return sorted(set(chosen.asked.worker.tolist()))


def test_a_cheap_judge_that_is_enough_is_used() -> None:
    assert chosen_by_drop(judged([0.85, 0.8, 0.9, 0.9]), [2, 2, 80, 80]) == [0]


def test_a_judge_that_adds_nothing_is_not_used() -> None:
    assert set(chosen_by_drop(judged([0.5, 0.5, 0.9, 0.9]), [2, 2, 80, 80])) <= {2, 3}


# -- saying it ---------------------------------------------------------------------------------------------------------


def plan_of(beliefs: CurrentBeliefs, workers: list[int], price: list[int]) -> list[Any]:
    n = len(workers)
    asked = Triplets(np.zeros(n, np.int64), np.zeros(n, np.int64), np.array(workers))
    names = beliefs.votes.worker_names
    seats = roster_of(["gpt", "gpt-mini", "ann"], 2).seats(names)
    prices = Prices(np.array(price))
    return planned_pairs(
        Questions(asked, np.ones(n)), prices.vote[asked.worker], beliefs, seats, prices, np.ones(len(price), dtype=bool)
    )


def test_two_models_as_good_as_a_person() -> None:
    beliefs = judged([0.9, 0.9, 0.92, 0.9])
    (pair,) = plan_of(beliefs, [0, 1], [2, 2, 80, 80])
    assert pair.n_asked == {"model": 2}
    assert pair.ask == "ask two models"
    assert pair.why == "together as good as what a person would say for 80"
    lines = plan_lines([pair], beliefs.votes, Prices(np.array([2, 2, 80, 80])))
    assert lines == ["item 0, label 0: ask two models (4): together as good as what a person would say for 80"]


def test_a_person_where_models_add_little() -> None:
    assert plan_of(judged([0.55, 0.55, 0.9, 0.9]), [2], [2, 2, 80, 80])[0].why == "a further model would add little"
    assert plan_of(judged([0.8, 0.8, 0.9, 0.9]), [2], [70, 70, 80, 80])[0].why == "more for the money than a model"


def test_yourself_where_nobody_else_adds_much() -> None:
    beliefs = judged([0.55, 0.55, 0.6, 0.6])
    price = [2, 2, 80, 80, 500]
    alone, teaches = (with_expert(beliefs, "you", np.full((6, 1), gain)) for gain in (0.0, 5.0))
    assert plan_of(alone, [4], price)[0].why == "anybody else would add little"
    assert "how to read all others" in plan_of(teaches, [4], price)[0].why
    assert plan_of(teaches, [4], price)[0].ask == "ask yourself"


def test_drop_of_all_is_that_of_one_for_one_and_grows() -> None:
    one = drop_of_all(0.3, np.array([0.8]), np.array([0.1]))
    assert one == pytest.approx(float(expected_drop(entropy, np.array(0.3), np.array(0.8), np.array(0.1))))
    assert drop_of_all(0.3, np.array([0.8, 0.5]), np.array([0.1, 0.5])) == pytest.approx(
        one
    )  # who guesses adds nothing
    assert drop_of_all(0.3, np.array([0.8, 0.8]), np.array([0.1, 0.1])) > one
    assert asked_text({"human": 7, "model": 1}) == "ask 7 people and a model"


def test_reasons_name_the_kind_and_the_family(votes: Votes) -> None:
    found = next_questions(votes, budget=200, kind_prices=KINDS, roster=roster_of(WORKERS, 6 - 2), my_price=3)
    told = dict(zip(found.table("arrow")["worker"].to_pylist(), found.why, strict=True))
    for worker, why in told.items():
        noun = "model" if worker in WORKERS[:4] else "person"
        assert why.endswith("; you, as an expert") if worker == "you" else f"{noun} (hit" in why
    asked = Triplets(*(code[:1].astype(np.int64) for code in (votes.item, votes.label)), np.array([0]))
    model_votes = int(((votes.item == votes.item[0]) & (votes.label == votes.label[0]) & (votes.worker < 4)).sum())
    beliefs = found.beliefs
    (why,) = reasons(Questions(asked, np.ones(1)), beliefs, found.seats, drawn=False)
    assert (f"its family gpt has {model_votes} vote" in why) == (model_votes > 0)
