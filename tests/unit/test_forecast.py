"""What a smaller error will cost, and what the next money buys."""

import time
from dataclasses import replace
from math import inf

import numpy as np
import pyarrow as pa
import pytest

from amcc.active.beliefs import CurrentBeliefs, cold_beliefs
from amcc.active.forecast import REPLAYS, SoFar, cost_of_rest, cost_to, forecast, next_money, pairs_settled
from amcc.active.questions import Triplets
from amcc.errors import ParameterError
from amcc.roster import MODEL, Seats
from amcc.votes import Votes

NOW = SoFar(error=0.08, spent=1000.0, votes_per_pair=2.0)
ALL_EQUAL = np.ones(3)


def believing(proba: float, n_yes: int = 3, hit: float = 0.9, n_items: int = 1) -> CurrentBeliefs:
    """Items with one label, all with so many yes, by workers as good as said, of whom one more than that there is."""
    item, worker = np.repeat(np.arange(n_items), n_yes), np.tile(np.arange(n_yes), n_items)
    n_workers, names = n_yes + 1, [f"i{place}" for place in range(n_items)]
    votes = Votes.from_codes(
        item, worker, np.zeros_like(item), np.ones_like(item), item_names=names,
        worker_names=[f"w{place}" for place in range(n_workers)], label_names=["cat"],
    )  # fmt: skip
    rates = {"hit": np.full((n_workers, 1), hit), "false_alarm": np.full((n_workers, 1), 1 - hit)}
    return replace(cold_beliefs(votes), proba=np.full((n_items, 1), proba), **rates)


def test_without_spread_and_floor_the_cost_is_that_of_the_power_law() -> None:
    sure = replace(REPLAYS, stretch=2.0, spread=1e-9, floor=-1e9)
    told = cost_to(0.04, NOW, experience=sure)  # half of the error: four times the money in all
    assert [told.low, told.cost, told.high] == pytest.approx([3000.0] * 3, rel=1e-6)
    assert told.chance == pytest.approx(1.0)


def test_the_interval_holds_four_fifths_of_what_experience_says() -> None:
    told = cost_to(0.075, NOW)
    never = REPLAYS.below_floor(NOW, np.log(0.08 / 0.075))

    def share_below(cost: float) -> float:
        return REPLAYS.chance(np.log1p(cost / NOW.spent) / np.log(0.08 / 0.075), never)

    assert told.low < told.cost < told.high < inf
    assert share_below(told.cost) == pytest.approx(0.5)
    assert share_below(told.high) - share_below(told.low) == pytest.approx(0.8)


def test_an_interval_that_is_open_above_begins_where_one_in_five_is_through() -> None:
    told = cost_to(0.05, NOW, most=2000.0)
    never = REPLAYS.below_floor(NOW, np.log(0.08 / 0.05))
    assert told.high == inf
    assert told.low < 2000
    assert REPLAYS.chance(np.log1p(told.low / NOW.spent) / np.log(0.08 / 0.05), never) == pytest.approx(0.2)
    assert told.chance == pytest.approx(REPLAYS.chance(np.log(3) / np.log(0.08 / 0.05), never))


def test_what_all_that_can_be_asked_hardly_reaches_is_out_of_reach() -> None:
    told = cost_to(0.001, NOW, most=10.0)
    assert told.low == told.cost == told.high == inf
    assert 0 <= told.chance < 0.2


def test_a_lower_target_never_costs_less() -> None:
    told = [cost_to(target, NOW, most=50_000.0) for target in np.linspace(0.079, 0.001, 60)]
    for name in ("low", "cost", "high"):
        assert np.all(np.diff(np.nan_to_num([getattr(each, name) for each in told], posinf=1e300)) >= 0), name
    assert np.all(np.diff([each.chance for each in told]) <= 0)


def test_more_expensive_workers_raise_the_forecast_in_proportion() -> None:
    beliefs = believing(0.9, n_yes=2)
    cheap, dear = (forecast(beliefs, price * ALL_EQUAL, 0.095) for price in (1.0, 7.0))
    assert cheap is not None
    assert dear is not None
    assert [dear.low, dear.cost, dear.high] == pytest.approx([7 * cheap.low, 7 * cheap.cost, 7 * cheap.high])


def test_a_target_that_is_reached_costs_nothing() -> None:
    told = forecast(believing(0.99), np.ones(4), 0.02)
    assert told is not None
    assert (told.low, told.cost, told.high, told.chance) == (0, 0, 0, 1)


def test_where_nothing_is_open_nothing_can_be_reached() -> None:
    beliefs = believing(0.9)
    known = replace(beliefs, known=np.ones((1, 1), dtype=bool))
    assert cost_of_rest(known, np.ones(4)) == 0
    told = forecast(known, np.ones(4), 0.05, most=0.0)
    assert told is not None
    assert told.low == inf
    assert told.chance == 0


def test_before_the_first_vote_there_is_no_forecast() -> None:
    nobody_asked = believing(0.5).votes.select(np.zeros(3, dtype=bool))
    assert forecast(cold_beliefs(nobody_asked), np.ones(4), 0.1) is None


def test_the_rest_is_what_allowed_workers_have_not_answered() -> None:
    beliefs = believing(0.9, n_yes=2, n_items=5)  # the third worker has answered nothing
    assert cost_of_rest(beliefs, np.array([1.0, 1.0, 4.0])) == 20
    assert cost_of_rest(beliefs, np.array([1.0, 1.0, 4.0]), np.array([True, True, False])) == 0


@pytest.mark.parametrize("target", [0, 0.5, -1, float("nan"), "0.1", True])
def test_a_target_must_be_an_error(target: object) -> None:
    with pytest.raises(ParameterError, match=r"target must be an expected error above 0 and below 0\.5"):
        forecast(believing(0.9), np.ones(4), target)  # type: ignore[arg-type]


def test_an_answer_that_can_settle_a_pair_is_counted_by_its_chance() -> None:
    # One says yes. A second yes settles the pair where the model is then sure enough; a no never does.
    one_more = Triplets(np.array([0]), np.array([0]), np.array([1]))
    sure = believing(0.99, n_yes=1, hit=0.95)
    yes = 0.99 * 0.95 + 0.01 * 0.05
    assert pairs_settled(sure, one_more).tolist() == pytest.approx([yes])
    assert pairs_settled(believing(0.7, n_yes=1, hit=0.95), one_more).tolist() == [0.0]


def test_a_second_vote_of_a_family_settles_nothing() -> None:
    """One rule everywhere: with a roster, two families must agree, also where an answer is only expected."""
    sure, one_more = believing(0.99, n_yes=1, hit=0.95), Triplets(np.array([0]), np.array([0]), np.array([1]))
    kind, marked = np.array([MODEL, MODEL], np.int8), np.zeros(2, dtype=bool)
    family = {"one": [0, 0], "two": [0, 1]}
    seats = {name: Seats(kind, np.array(each, np.int32), marked, pa.array(["x", "y"])) for name, each in family.items()}
    alone, together = (float(pairs_settled(replace(sure, seats=seats[name]), one_more)[0]) for name in ("one", "two"))
    assert alone == 0 and together == pytest.approx(0.99 * 0.95 + 0.01 * 0.05)
    both = replace(believing(0.99, n_yes=2), proba=np.array([[0.99]]))
    settled = [bool(replace(both, seats=seats_of_three(each)).settled_pairs()[0, 0]) for each in family.values()]
    assert settled == [False, True]


def seats_of_three(family: list[int]) -> Seats:
    return Seats(
        np.full(3, MODEL, np.int8), np.array([*family, 0], np.int32), np.zeros(3, dtype=bool), pa.array(["x", "y"])
    )


def test_a_settled_pair_is_not_settled_again() -> None:
    one_more = Triplets(np.array([0]), np.array([0]), np.array([3]))
    assert pairs_settled(believing(0.99, n_yes=3), one_more).tolist() == [0.0]


def test_next_money_is_spent_on_the_first_questions_and_such_as_these() -> None:
    beliefs = believing(0.99, n_yes=1, hit=0.95, n_items=4)
    asked = Triplets(np.arange(4), np.zeros(4, np.int64), np.full(4, 1))
    price, each = np.full(4, 10), float(pairs_settled(beliefs, asked)[0])
    bought = {money: next_money(beliefs, 10 * ALL_EQUAL, asked, price, money) for money in (5.0, 20.0, 80.0)}
    assert [told.settled for told in bought.values()] == pytest.approx([each / 2, 2 * each, 8 * each])
    assert 0.01 > bought[5.0].error_after > bought[20.0].error_after > bought[80.0].error_after > 0
    # Four pairs, each with one chance in a hundred to be wrong.
    assert bought[80.0].put_right == pytest.approx(4 * (0.01 - bought[80.0].error_after))


def test_by_the_power_law_four_times_the_money_halves_the_error() -> None:
    beliefs, sure = believing(0.9), replace(REPLAYS, stretch=2.0, floor=-1e9)
    nothing = Triplets(*(np.empty(0, np.int64) for _ in range(3)))
    told = next_money(beliefs, np.ones(4), nothing, np.empty(0, np.int64), 9.0, sure)  # three votes so far
    assert told.error_after == pytest.approx(0.05)
    assert told.settled == 0


def test_before_the_first_vote_nothing_is_promised() -> None:
    cold = cold_beliefs(believing(0.5).votes.select(np.zeros(3, dtype=bool)))
    told = next_money(cold, np.ones(4), Triplets(np.array([0]), np.array([0]), np.array([0])), np.array([1]), 10.0)
    assert (told.error, told.error_after, told.settled, told.put_right) == (0.5, 0.5, 0, 0)


def test_twenty_thousand_pairs_take_less_than_a_second() -> None:
    beliefs = believing(0.9, n_yes=2, n_items=20_000)
    asked = Triplets(np.arange(20_000), np.zeros(20_000, np.int64), np.full(20_000, 2))
    beliefs.votes.pairs  # noqa: B018 made once for everybody
    start = time.process_time()
    forecast(beliefs, ALL_EQUAL, 0.05, most=cost_of_rest(beliefs, ALL_EQUAL))
    next_money(beliefs, ALL_EQUAL, asked, np.ones(20_000, np.int64), 100.0)
    assert time.process_time() - start < 1
