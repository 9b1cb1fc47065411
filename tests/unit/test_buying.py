"""What to buy next, from Python: prices of every kind, people, money, and what comes back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from amcc import Roster, Truth, Votes
from amcc.active import Basket, Prices, next_questions
from amcc.active.beliefs import cold_beliefs
from amcc.active.buying import allowed_workers, fill_basket, with_names, with_people
from amcc.active.given_prices import listed_prices, prices_of_allowed
from amcc.active.prices import eq12_prices
from amcc.active.questions import Questions
from amcc.active.reasons import by_value, reason
from amcc.active.strategies.baselines import Uniform
from amcc.active.strategies.voi import ValueOfInformation
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import ColumnError, EmptyInputError, IdError, InputError, ParameterError

COLUMNS = ["item", "label", "worker", "price", "utility", "why"]
WORKERS = [f"w{number}" for number in range(1, 9)]


@pytest.fixture(scope="module")
def votes() -> Votes:
    spec = CrowdSpec(n_items=12, n_workers=len(WORKERS), n_labels=3, answers_per_item=4, spammers=0.0, seed=1)
    return simulate_crowd(spec).votes


def by_worker(found: Any) -> dict[str, Any]:
    """The prices that questions have, by worker."""
    table = found.table("arrow")
    return dict(zip(table["worker"].to_pylist(), table["price"].to_pylist(), strict=True))


# -- prices ------------------------------------------------------------------------------------------------------------

LISTED = {worker: number for number, worker in enumerate(WORKERS, start=1)}


@pytest.mark.parametrize(
    "prices",
    [
        LISTED,
        pd.DataFrame({"worker": list(LISTED), "price": list(LISTED.values())}),
        pa.table({"worker": list(LISTED), "price": list(LISTED.values())}),
        Prices.of(WORKERS, LISTED),
    ],
    ids=["mapping", "pandas", "arrow", "Prices"],
)
def test_price_lists_of_every_kind_give_the_same_questions(votes: Votes, prices: Any) -> None:
    found = next_questions(votes, budget=30, prices=prices)
    expected = next_questions(votes, budget=30, prices=LISTED)
    assert found.table("arrow").equals(expected.table("arrow"))
    assert 0 < found.cost <= 30
    assert all(price == LISTED[worker] for worker, price in by_worker(found).items())


@pytest.mark.parametrize("prices", [3, "3", Decimal(3), np.int64(3), 3.0])
def test_one_price_for_everybody(votes: Votes, prices: Any) -> None:
    found = next_questions(votes, budget=10, prices=prices)
    assert (len(found), found.cost, found.price.tolist()) == (3, 9, [3, 3, 3])
    assert next_questions(votes, budget=10, price=prices).price.tolist() == [3, 3, 3]


def test_without_prices_a_vote_costs_one(votes: Votes) -> None:
    assert next_questions(votes, budget=4).price.tolist() == [1, 1, 1, 1]


def test_by_eq12_workers_cost_what_their_answers_are_worth(votes: Votes) -> None:
    """By the model of the strategy, fitted to these votes: c_w of 100, in whole units."""
    found = next_questions(votes, budget=2000, prices="eq12", strategy="amcc", batch=20)
    worth = found.model.worker_cost_  # type: ignore[union-attr]
    expected = dict(zip(WORKERS, np.floor(100 * worth + 0.5).astype(int).tolist(), strict=True))
    assert 0 < found.cost <= 2000
    assert all(price == expected[worker] for worker, price in by_worker(found).items())
    assert len(set(expected.values())) > 1


def test_eq12_decides_whom_to_ask(votes: Votes) -> None:
    """Constant prices in its place would show: where all cost the same, other workers are asked."""
    settings: dict[str, Any] = {"budget": 10**6, "strategy": "amcc", "batch": 12}
    by_worth, alike, printed = (
        next_questions(votes, **settings, prices=prices).table("arrow") for prices in ("eq12", 100, "eq12-printed")
    )
    assert by_worth["worker"].to_pylist() != alike["worker"].to_pylist()
    assert by_worth["price"].to_pylist() != printed["price"].to_pylist()
    with_q = next_questions(votes, **settings, prices="eq12").questions.parts
    assert_array_equal(with_q["c"], by_worth["price"].to_numpy())  # eq13 divides by what is paid


def test_eq12_with_a_price_of_one_s_own(votes: Votes) -> None:
    settings: dict[str, Any] = {"strategy": "amcc", "batch": 5, "decimals": 2}
    found = next_questions(votes, budget="9.00", prices="eq12", price="0.50", **settings)
    assert 1 <= found.price.min() <= found.price.max() <= 50
    with pytest.raises(InputError, match=r"one vote, \d+\.\d\d; got 0.01. .* raise the budget, or lower price"):
        next_questions(votes, budget="0.01", prices="eq12", price="90.00", **settings)
    with pytest.raises(InputError, match="price must be at least one minor unit with eq12; got 0"):
        next_questions(votes, budget=9, prices="eq12", price=0)


def test_before_the_first_vote_all_cost_the_same_by_eq12() -> None:
    found = next_questions(budget=300, prices="eq12", items=["photo"], labels=["cat", "dog"], workers=["ann", "bob"])
    assert found.price.tolist() == [100, 100]


@pytest.mark.parametrize("seed", range(3))
def test_eq12_is_no_measure_of_quality(seed: int) -> None:
    """docs/active.md warns of it, with these numbers of seeds 0 to 7: eight workers are reliable, the others never or
    always say yes, or guess."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random((100, 5)) < 0.3, 1, -1)
    reliable = [np.where(rng.random(truth.shape) < 0.85, truth, -truth) for _ in range(8)]
    styles = np.full_like(truth, -1), np.full_like(truth, 1), np.where(rng.random(truth.shape) < 0.3, 1, -1)
    asked = rng.random((11, 100, 1)) < 0.5
    names = [*WORKERS, "never", "always", "guess"]
    votes = Votes.from_dense(np.where(asked, [*reliable, *styles], 0), worker_names=names)
    found = next_questions(votes, budget=10**4, prices="eq12", strategy="amcc", batch=50)
    *of_reliable, never, always, guess = eq12_prices(found.model, votes).vote.tolist()
    assert 68 <= min(of_reliable) <= max(of_reliable) <= 81
    assert (never, always in (97, 98), guess <= 35) == (100, True, True)
    assert 36 <= found.table()["worker"].tolist().count("guess") <= 49
    assert "guess" not in by_worker(next_questions(votes, budget=10**4, prices="eq12", batch=50))  # voi


def test_newcomers_cost_the_mean_by_eq12(votes: Votes) -> None:
    """There is no list to add them to. A stranger is none where there could be one."""
    settings: dict[str, Any] = {"budget": 10**6, "strategy": "amcc", "prices": "eq12"}
    cost = next_questions(votes, **settings).model.worker_cost_  # type: ignore[union-attr]
    found = next_questions(votes, **settings, workers=["zoe"], batch=3)
    assert by_worker(found) == {"zoe": round(100 * np.average(cost, weights=votes.answers_per_worker))}
    with pytest.raises(InputError, match="'w1 ' and 'w1' differ only in spaces"):
        next_questions(votes, **settings, workers=["zoe", "w1 "])
    with pytest.raises(InputError, match="'zoe' is neither"):
        next_questions(votes, budget=9, workers=["zoe"])


def test_amounts_are_written_as_people_write_them(votes: Votes) -> None:
    found = next_questions(votes, budget=Decimal("0.30"), prices="0.07", decimals=2)
    assert (found.budget, found.cost, found.amount(found.cost)) == (30, 28, 0.28)
    assert found.table()["price"].tolist() == [0.07] * 4
    assert next_questions(votes, budget=30, prices=7).table()["price"].dtype == np.int64


def test_prices_of_ones_own_have_their_decimals_and_pages(votes: Votes) -> None:
    prices = Prices.of(WORKERS, default="0.05", page="0.02", decimals=2)
    found = next_questions(votes, budget="0.15", prices=prices)
    assert (found.decimals, found.price.tolist()) == (2, [7, 5])  # two labels share a page
    with pytest.raises(ParameterError, match="prices must be those of 8 workers; got 2"):
        next_questions(votes, budget=9, prices=Prices(np.array([1, 1])))


def test_who_is_not_listed_has_the_price_of_others_or_none(votes: Votes) -> None:
    found = next_questions(votes, budget=60, prices={"w1": 5}, price=2)
    assert set(by_worker(found).values()) <= {2, 5}
    with pytest.raises(InputError, match="every worker must have a price; there is none for 'w2'"):
        next_questions(votes, budget=60, prices={"w1": 5})


def test_the_kinds_of_prices() -> None:
    assert listed_prices(None, None, 0) == ({}, 1)
    assert listed_prices(None, "4", 0) == ({}, "4")
    assert listed_prices("0.5", None, 1) == ({}, "0.5")
    assert listed_prices({7: 2}, None, 0) == ({"7": 2}, None)
    with pytest.raises(ParameterError, match="prices=3 is for everybody already"):
        listed_prices(3, 4, 0)
    with pytest.raises(
        ParameterError, match=r"a mapping worker → price, a table .* Prices, or one of eq12, .*; got list"
    ):
        listed_prices([1, 2], None, 0)
    for slip in ("eq13", "./eq12", "prices.csv"):
        with pytest.raises(ParameterError, match=f"or one of eq12, .*; got '{slip}'. A file is read with .*read_price"):
            listed_prices(slip, None, 0)
    with pytest.raises(ColumnError, match="a column for the price is missing"):
        listed_prices(pd.DataFrame({"worker": ["a"], "wage": [1]}), None, 0)


def test_the_usual_price_is_that_of_those_who_may_be_asked(votes: Votes) -> None:
    """The median of all, which neither one expensive expert moves nor those who may not be asked."""
    allowed = np.isin(WORKERS, ["w6", "w7", "w8"])
    listed = {"w6": 70, "w7": 90, "w8": 5000}
    prices = prices_of_allowed(votes, allowed, listed, None, 0, page={"w6": 2, "w7": 4, "w8": 6})
    assert prices.vote[allowed].tolist() == [70, 90, 5000]
    assert (np.median(prices.vote), np.median(prices.lone_vote)) == (90, 94)
    own = prices_of_allowed(votes, allowed, Prices(np.array([1, 1, 1, 1, 1, 70, 90, 5000])), None, 0)
    assert_array_equal(own.vote, prices.vote)


# -- money -------------------------------------------------------------------------------------------------------------


class MostExpensive:
    """Wants the workers with the highest prices, and some of every price."""

    model, uses_features = "majority", False

    def select(self, beliefs, candidates, prices, batch, rng):
        asked = candidates.sample(1000, rng)
        best = np.argsort(-prices[asked.worker], kind="stable")[:batch]
        return Questions(asked.take(best), prices[asked.worker[best]])


def test_what_is_left_of_the_money_goes_to_cheaper_workers(votes: Votes) -> None:
    """Of 20: two votes at 8, then one at 4, for all others are too expensive."""
    prices = Prices(np.arange(1, 9))
    for batch, expected in ((2, [8, 8]), (3, [8, 8, 4]), (9, [8, 8, 4])):
        basket = Basket(prices, 20, batch)
        fill_basket(basket, MostExpensive(), cold_beliefs(votes), prices, batch, np.random.default_rng(0))
        assert basket.price.tolist() == expected


def test_a_strategy_of_ones_own_is_taken(votes: Votes) -> None:
    found = next_questions(votes, budget=20, prices=LISTED, strategy=MostExpensive(), batch=3)
    assert found.price.tolist() == [8, 8, 4]
    lonely = next_questions(votes, budget=5, strategy=ValueOfInformation(overhead=0.0))
    assert lonely.strategy == ValueOfInformation(overhead=0.0)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"budget": 0}, InputError, "the budget must be above 0; got 0"),
        ({"budget": "0.5"}, InputError, "the budget must be a whole number of minor units"),
        ({"budget": 2, "prices": 3}, InputError, "pay for at least one vote, 3; got 2. Raise the budget"),
        ({"budget": 2, "batch": 0}, ParameterError, "batch must be at least 1; got 0"),
        ({"budget": 2, "strategy": "magic"}, ParameterError, "strategy must be one of amcc, "),
        ({"budget": 2, "decimals": 9}, ParameterError, "decimals must be a whole number from 0 to 6"),
        ({"budget": 2, "workers": ["zoe"]}, InputError, "workers must name somebody who has voted or is in the price"),
        ({"budget": 2, "workers": ["w1 "]}, IdError, "differ only in spaces"),
        ({"budget": 2, "items": [" i01"]}, IdError, "differ only in spaces"),
        ({"budget": 2, "strategy": "sac", "features": np.zeros((12, 1))}, ParameterError, "does not use features"),
        ({"budget": 2, "prices": "cheap"}, ParameterError, "prices must be a number, a mapping .*; got 'cheap'"),
    ],
)
def test_senseless_requests(votes: Votes, options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        next_questions(votes, **options)


def test_a_roster_for_a_model_without_families_is_refused(votes: Votes) -> None:
    roster = Roster.from_frame(pd.DataFrame({"worker": ["w1"], "kind": ["human"]}))
    with pytest.raises(ParameterError, match="DawidSkene"):
        next_questions(votes, budget=3, strategy="sac", roster=roster)


# -- who and what ------------------------------------------------------------------------------------------------------


def test_before_the_first_vote_everything_must_be_named() -> None:
    names = {"items": ["one", "two"], "labels": ["cat", "dog"], "workers": ["ann", "bob"]}
    found = next_questions(budget=9, **names)
    table = found.table()
    assert len(found) == 4  # one question about each pair
    assert (set(table["item"]), set(table["label"]), set(table["worker"])) == tuple(map(set, names.values()))
    assert found.model is None
    assert "before the first vote; new worker (hit 0.75, false alarm 0.25)" in found.why[0]
    priced = next_questions(budget=9, items=["one"], labels=["cat"], prices={"zoe": 4})
    assert by_worker(priced) == {"zoe": 4}


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"labels": ["cat"], "workers": ["ann"]}, "without votes it must be said what can be asked"),
        ({"items": ["one"], "workers": ["ann"]}, "without votes it must be said what can be asked"),
        ({"items": ["one"], "labels": ["cat"]}, r"Name people in a price list \(prices=…\) or one by one"),
        ({"items": ["one"], "labels": ["cat"], "workers": [" "]}, "there must be somebody to ask"),
    ],
)
def test_before_the_first_vote_nothing_may_be_missing(names: dict[str, list[str]], words: str) -> None:
    with pytest.raises(EmptyInputError, match=words):
        next_questions(budget=9, **names)


def test_tables_are_votes_too() -> None:
    rows = pd.DataFrame({"worker": ["a", "b"], "item": ["x", "x"], "label": ["cat", "cat"], "value": [1, 0]})
    found = next_questions(rows, budget=9, items=["y"])
    assert set(found.table()["item"]) == {"y"}  # both have answered x
    nothing_left = next_questions(rows, budget=9)
    assert (len(nothing_left), nothing_left.cost, nothing_left.table().columns.tolist()) == (0, 0, COLUMNS)


def test_only_those_who_may_be_asked_are(votes: Votes) -> None:
    assert set(by_worker(next_questions(votes, budget=6, workers=["w2", "w3"]))) <= {"w2", "w3"}
    assert set(by_worker(next_questions(votes, budget=6, prices={"zoe": 2}, workers=["zoe"]))) == {"zoe"}
    assert allowed_workers(votes, ["w8", "w1", "w8"]).tolist() == [True] + [False] * 6 + [True]
    assert allowed_workers(votes, None).all()


def test_names_are_added_behind_those_there_are(votes: Votes) -> None:
    more = with_names(votes, "item", ["new", "i01", "new"])
    assert more.item_names.to_pylist() == [*votes.item_names.to_pylist(), "new"]
    assert_array_equal(more.item, votes.item)
    assert with_names(votes, "item", ["i01"]) is votes
    assert with_people(votes, {"zoe": 1}, ()).worker_names.to_pylist()[-1] == "zoe"
    assert with_people(votes, {}, ["zoe"]).n_workers == votes.n_workers  # wanted, but nobody knows them


@pytest.mark.parametrize("column", [np.array, pd.Series, pa.array, tuple])
def test_names_may_come_in_any_column(column: Any) -> None:
    names = {"items": ["one", "two"], "labels": ["cat", "dog"], "workers": ["ann", "bob"]}
    found = next_questions(budget=9, **{name: column(each) for name, each in names.items()})
    assert found.table("arrow").equals(next_questions(budget=9, **names).table("arrow"))


@pytest.mark.parametrize("role", ["item", "label", "worker"])
def test_one_text_is_no_list_of_letters(role: str) -> None:
    names: dict[str, Any] = {"items": ["one"], "labels": ["cat"], "workers": ["ann"], f"{role}s": "abc"}
    with pytest.raises(ParameterError, match=f"{role} names must be a list; got the text 'abc'"):
        next_questions(budget=9, **names)


def test_workers_called_by_numbers() -> None:
    rows = pd.DataFrame({"worker": [7, 8], "item": [1, 1], "label": ["cat", "cat"], "value": [1, 0]})
    found = next_questions(rows, budget=9, prices={7: 2, 8: 3}, items=["2"], workers=[8])
    assert by_worker(found) == {8: 3}


def test_what_is_known_is_not_asked(votes: Votes) -> None:
    known = Truth.from_frames(
        pd.DataFrame({"item": ["i01"], "label": ["label_1"]}), known_items=pd.DataFrame({"item": ["i01"]})
    )
    found = next_questions(votes, budget=1000, truth=known)
    assert "i01" not in set(found.table()["item"])
    assert found.model is not None


# -- what comes back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", ["pandas", "arrow", "polars"])
def test_tables_of_every_kind(votes: Votes, frame: Any) -> None:
    if frame == "polars":
        pytest.importorskip("polars")
    table = next_questions(votes, budget=5).table(frame)
    assert list(getattr(table, "column_names", None) or table.columns) == COLUMNS


PARTS = ["probability", "skill", "skill_to_ask", "to_know", "new", "ahead", "value", "c"]


def test_the_parts_of_the_utility_are_told_on_demand(votes: Votes) -> None:
    found = next_questions(votes, budget=5)
    assert list(found.table(explain=True).columns)[6:] == PARTS
    assert len(found.why) == len(found) == len(found.questions.utility) == 5
    assert (np.diff(found.questions.utility) <= 0).all()


def test_a_seed_fixes_the_choice_and_votes_stay_as_they_are(votes: Votes) -> None:
    names = votes.worker_names.to_pylist()
    options: dict[str, Any] = {"budget": 9, "prices": {"zoe": 1}, "price": 1, "strategy": "uniform"}
    one, same, other = (next_questions(votes, **options, seed=seed) for seed in (3, 3, 4))
    assert one.table("arrow").equals(same.table("arrow"))
    assert not one.table("arrow").equals(other.table("arrow"))
    assert votes.worker_names.to_pylist() == names
    assert one.votes.worker_names.to_pylist() == [*names, "zoe"]


def test_luck_decides_between_equals_only(votes: Votes) -> None:
    """What asking teaches is a part of the value, so that nothing is left to chance but ties."""
    one, other = (next_questions(votes, budget=9, seed=seed).questions for seed in (3, 4))
    assert np.allclose(one.utility, other.utility)


def test_only_value_of_information_says_that_a_question_is_worth_nothing(votes: Votes) -> None:
    assert next_questions(votes, budget=5, strategy="uniform").n_worthless == 0  # all its utilities are 0
    found = next_questions(votes, budget=5)
    assert found.n_worthless == int((found.questions.utility <= 0).sum())


def test_reasons_say_what_chance_did(votes: Votes) -> None:
    drawn = next_questions(votes, budget=2, strategy=Uniform())
    assert all(why.startswith("drawn at random: probability ") for why in drawn.why)
    assert by_value(-0.2, 0.0, 1.0, 1.0) == ", skill on all labels -0.20"
    assert by_value(-0.2, 0.6, 1.0, 2.0).endswith("-0.20, asked to get to know them; 2 such answers may decide it")
    assert by_value(0.5, 0.5, 0.04, 1.0) == ", skill on all labels 0.50; 4 % new beside their family"


@pytest.mark.parametrize(
    ("rates", "kind"),
    [((0.75, 0.25), "informative"), ((0.69, 0.2), "fairly informative"), ((0.4, 0.2), "fairly informative"),
     ((0.3, 0.2), "hardly informative"), ((0.1, 0.9), "hardly informative")],
)  # fmt: skip
def test_how_workers_are_called(rates: tuple[float, float], kind: str) -> None:
    assert f"; {kind} worker (hit" in reason(0.5, 1, 3, *rates)
    assert "; new worker (hit" in reason(0.5, 1, 0, *rates)
    assert reason(0.5, 1, 3, *rates).startswith("probability 0.50 after 1 vote;")


# -- when to stop ------------------------------------------------------------------------------------------------------


def test_nothing_is_asked_once_the_target_is_reached(votes: Votes) -> None:
    error = next_questions(votes, budget=30).beliefs.expected_error()
    reached = next_questions(votes, budget=30, target_error=error * 1.01)
    assert (len(reached), reached.cost, reached.stopped) == (0, 0, "target")
    assert len(reached.table("arrow")) == 0
    below = next_questions(votes, budget=30, target_error=error * 0.99)
    assert below.stopped is None
    assert len(below) > 0


def test_nothing_is_asked_where_money_puts_too_little_right(votes: Votes) -> None:
    found = next_questions(votes, budget=30)
    gain = found.next_money().put_right
    assert gain > 0
    assert next_questions(votes, budget=30, stop_gain=gain * 1.01).stopped == "gain"
    assert next_questions(votes, budget=30, stop_gain=gain * 0.99).stopped is None


def test_where_only_pages_are_paid_money_still_puts_something_right(votes: Votes) -> None:
    """One page for all labels at 30 is as good as ten for each of three votes, as far as money can tell."""
    by_page = next_questions(votes, budget=90, price=0, page=10 * votes.n_labels)
    by_vote = next_questions(votes, budget=90, price=10)
    assert by_page.next_money().put_right == pytest.approx(by_vote.next_money().put_right)
    target = by_page.beliefs.expected_error() * 0.9
    assert by_page.forecast(target) == by_vote.forecast(target)


def test_where_nothing_is_left_no_gain_stops() -> None:
    everything = Votes.from_dense([[[1, 1]], [[-1, 1]]])
    assert next_questions(everything, budget=30, stop_gain=100.0).stopped is None


def test_before_the_first_vote_no_gain_stops() -> None:
    first = {"items": ["photo"], "labels": ["cat"], "workers": ["ann"]}
    assert len(next_questions(budget=3, stop_gain=100.0, **first)) == 1


def test_a_forecast_ends_where_nobody_is_left_to_be_asked(votes: Votes) -> None:
    everybody = next_questions(votes, budget=30)
    target = everybody.beliefs.expected_error() * 0.9
    one = next_questions(votes, budget=30, workers=["w1"])
    told = [found.forecast(target) for found in (everybody, one)]
    assert told[0] is not None
    assert told[1] is not None
    assert told[0].chance > told[1].chance


@pytest.mark.parametrize("wrong", [{"target_error": 0.0}, {"target_error": 0.7}, {"stop_gain": -1.0}])
def test_rules_to_stop_by_must_make_sense(votes: Votes, wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        next_questions(votes, budget=30, **wrong)
