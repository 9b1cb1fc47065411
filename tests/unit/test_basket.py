"""The basket reserves money: never a unit too much, one question after the other, the best first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amcc.active import Basket, Prices
from amcc.active.questions import Questions, Triplets
from amcc.errors import InputError

ANN, BOB, CID = 0, 1, 2
PRICES = Prices(np.array([5, 2, 9]))


def wanted(*rows: tuple[int, int, int], utility: list[float] | None = None, **parts: list[float]) -> Questions:
    """Questions (item, label, worker), the best first."""
    asked = Triplets(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)
    score = np.arange(len(rows), 0, -1.0) if utility is None else np.array(utility)
    return Questions(asked, score, {name: np.array(part) for name, part in parts.items()})


def basket(money: int, size: int = 10, page: int = 0, allowed: list[int] | None = None) -> Basket:
    prices = Prices(PRICES.vote, page)
    return Basket(prices, money, size, None if allowed is None else np.array(allowed))


def rows_in(filled: Basket) -> list[tuple[int, int, int]]:
    return filled.questions.asked.rows()


# -- what fits ---------------------------------------------------------------------------------------------------------


def test_what_is_too_expensive_is_refused_and_the_next_is_taken() -> None:
    filled = basket(money=9)
    assert filled.reserve(wanted((0, 0, ANN), (1, 0, ANN), (2, 0, BOB), (3, 0, BOB))) == 3
    assert rows_in(filled) == [(0, 0, ANN), (2, 0, BOB), (3, 0, BOB)]
    assert (filled.price.tolist(), filled.cost, filled.left) == ([5, 2, 2], 9, 0)


def test_a_replay_stops_at_the_first_that_is_refused() -> None:
    filled = basket(money=9)
    assert filled.reserve(wanted((0, 0, ANN), (1, 0, ANN), (2, 0, BOB)), until_refused=True) == 1
    assert filled.left == 4


def test_a_basket_has_a_size() -> None:
    filled = basket(money=100, size=2)
    assert filled.reserve(wanted((0, 0, ANN), (1, 0, ANN), (2, 0, ANN))) == 2
    assert filled.missing == 0
    assert filled.reserve(wanted((5, 0, BOB))) == 0
    assert filled.left == 90


def test_workers_give_no_more_votes_than_they_may() -> None:
    allowed = np.array([1, 2, 0])
    filled = Basket(PRICES, 100, 10, allowed)
    assert filled.reserve(wanted((0, 0, ANN), (1, 0, ANN), (2, 0, BOB), (3, 0, CID))) == 2
    assert filled.open_workers().tolist() == [False, True, False]
    assert allowed.tolist() == [1, 2, 0]  # those of the caller stay


def test_who_can_be_asked_depends_on_what_is_left() -> None:
    filled = basket(money=9)
    assert filled.open_workers().tolist() == [True, True, True]
    filled.reserve(wanted((0, 0, ANN)))
    assert filled.open_workers().tolist() == [False, True, False]
    assert filled.open_workers(rich=True).tolist() == [True, True, True]


def test_a_budget_must_pay_for_one_vote_of_those_who_may_be_asked() -> None:
    basket(money=2).check_pays_for_a_vote()
    with pytest.raises(InputError, match="the budget must pay for at least one vote, 5; got 4"):
        basket(money=4, allowed=[9, 0, 9]).check_pays_for_a_vote()
    cents = Basket(Prices(np.array([5]), page=10, decimals=2), 14, 1)
    with pytest.raises(InputError, match=r"at least one vote, 0\.15; got 0\.14"):
        cents.check_pays_for_a_vote()


# -- pages and pairs ---------------------------------------------------------------------------------------------------


def test_the_first_question_on_a_page_bears_its_price() -> None:
    filled = basket(money=100, page=10)
    filled.reserve(wanted((0, 0, BOB), (1, 0, BOB), (0, 1, BOB), (0, 2, ANN)))
    assert filled.price.tolist() == [12, 12, 2, 15]
    assert filled.questions.asked.take(filled.by_page()).rows() == [(0, 0, 1), (0, 1, 1), (1, 0, 1), (0, 2, 0)]


def test_an_open_page_may_take_what_no_page_of_its_own_could_pay() -> None:
    filled = basket(money=14, page=10)
    assert filled.reserve(wanted((0, 0, BOB), (1, 0, BOB), (0, 1, BOB))) == 2
    assert rows_in(filled) == [(0, 0, BOB), (0, 1, BOB)]
    assert not filled.open_workers().any()  # 0 is left


def test_a_later_proposal_has_other_pairs_but_one_proposal_may_draw_a_pair_twice() -> None:
    filled = basket(money=100)
    assert filled.reserve(wanted((0, 0, ANN), (0, 0, BOB))) == 2
    assert filled.reserve(wanted((0, 0, CID), (1, 0, CID))) == 1
    assert rows_in(filled)[-1] == (1, 0, CID)


def test_the_pair_of_an_audit_may_be_chosen_again() -> None:
    filled = basket(money=100)
    filled.reserve(wanted((0, 0, ANN), utility=[np.nan]), at_random=True)
    assert filled.reserve(wanted((0, 0, BOB))) == 1
    assert filled.at_random.tolist() == [True, False]
    np.testing.assert_array_equal(filled.questions.utility, [np.nan, 1.0])


def test_parts_stay_with_their_questions() -> None:
    filled = basket(money=9)
    filled.reserve(wanted((0, 0, ANN), (1, 0, ANN), (2, 0, BOB), q=[0.1, 0.2, 0.3]))
    filled.reserve(wanted((3, 0, BOB), q=[0.4]))
    assert filled.questions.parts["q"].tolist() == [0.1, 0.3, 0.4]


def test_the_best_come_first_and_equals_stay_in_order() -> None:
    filled = basket(money=100)
    filled.reserve(wanted((0, 0, ANN), (1, 0, ANN), utility=[0.5, 0.2]))
    filled.reserve(wanted((2, 0, BOB), (3, 0, BOB), utility=[0.5, 0.9]))
    assert filled.best_first().tolist() == [3, 0, 2, 1]


# -- filling -----------------------------------------------------------------------------------------------------------


def proposals(*each: Questions) -> tuple[Callable[[], Questions], list[int]]:
    """One proposal after the other, and how many were asked for."""
    left, asked_for = list(each), []

    def propose() -> Questions:
        asked_for.append(1)
        return left.pop(0)

    return propose, asked_for


def test_refused_choices_are_replaced() -> None:
    filled = basket(money=9, size=3)
    propose, asked_for = proposals(wanted((0, 0, ANN), (1, 0, ANN)), wanted((2, 0, BOB), (3, 0, ANN)), wanted())
    filled.fill(propose)
    assert rows_in(filled) == [(0, 0, ANN), (2, 0, BOB)]
    assert len(asked_for) == 3  # the last proposal is empty: there is nothing more to choose


@pytest.mark.parametrize(
    ("money", "size", "first"),
    [
        (100, 3, [(0, 0, ANN)]),  # all was taken: whoever proposes has no more
        (100, 1, [(0, 0, ANN), (1, 0, ANN)]),  # full
        (5, 3, [(0, 0, ANN), (1, 0, ANN)]),  # nobody can be paid any more
        (8, 3, [(0, 0, CID), (1, 0, CID)]),  # all was refused
    ],
)
def test_filling_ends(money: int, size: int, first: list[tuple[int, int, int]]) -> None:
    filled = basket(money, size)
    propose, asked_for = proposals(wanted(*first))
    filled.fill(propose)  # a second call would raise
    assert len(asked_for) == 1


def test_nobody_is_asked_for_a_proposal_without_money() -> None:
    filled = basket(money=1)
    filled.fill(proposals()[0])
    assert len(filled) == filled.cost == 0
    assert filled.by_page().tolist() == filled.best_first().tolist() == []


@given(
    money=st.integers(0, 60),
    page=st.integers(0, 7),
    size=st.integers(1, 12),
    choices=st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), max_size=6, unique=True),
        max_size=4,
    ),
)
def test_whatever_is_proposed_money_adds_up(
    money: int, page: int, size: int, choices: list[list[tuple[int, int, int]]]
) -> None:
    filled = basket(money, size, page)
    for choice in choices:
        filled.reserve(wanted(*choice))
    questions = filled.questions.asked
    by_hand = PRICES.vote[questions.worker].sum() + page * len(set(questions.pages()))
    assert filled.cost == by_hand == money - filled.left
    assert filled.left >= 0
    assert len(filled) == len(filled.price) == len(filled.at_random) <= size


def test_a_page_costs_what_its_worker_s_pages_cost() -> None:
    basket = Basket(Prices(np.array([5, 2]), np.array([10, 0])), money=100, size=9)
    codes = np.array([0, 0, 0, 0]), np.array([0, 1, 2, 3]), np.array([0, 0, 1, 1])
    basket.reserve(Questions(Triplets(*codes), np.ones(4)))
    assert basket.price.tolist() == [15, 5, 2, 2]
