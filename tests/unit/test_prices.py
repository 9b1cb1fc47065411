"""Money is whole minor units; price lists are read, checked and matched with the workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amcc.active.prices import (
    LARGEST,
    Prices,
    eq12_prices,
    major_units,
    minor_units,
    price_list,
    read_price_list,
    whole_units,
)
from amcc.consensus import AMCC
from amcc.errors import ColumnError, IdError, InputError, ParameterError
from amcc.votes import Votes

WORKERS = ["ann", "bob", "cid"]


@pytest.mark.parametrize(
    ("amount", "decimals", "units"),
    [
        (12, 0, 12), ("12", 0, 12), (12.0, 0, 12), (0, 0, 0), ("0.05", 2, 5), (0.29, 2, 29), (1.1, 1, 11),
        (np.float32(0.07), 2, 7), (np.int64(3), 2, 300), (" 7.50 ", 2, 750), ("1e3", 0, 1000), ("1.234", 3, 1234),
        ("0.0005", 4, 5), ("0.00005", 5, 5), (0.000075, 6, 75),
    ],
)  # fmt: skip
def test_amounts_become_whole_units(amount: Any, decimals: int, units: int) -> None:
    assert minor_units(amount, decimals) == units


@pytest.mark.parametrize(
    ("amount", "decimals", "words"),
    [
        (-1, 0, "must not be negative; got -1"), ("-0.01", 2, "must not be negative"),
        (float("nan"), 0, "finite number; got nan"), ("inf", 0, "finite number"), (1e300, 0, "at most"),
        ("1e999999", 2, "at most"), (0.5, 0, "whole number of minor units"), (0.005, 2, "at most 2 decimals; got 0"),
        ("0.12345", 4, "at most 4 decimals"), ("", 0, "must be a number; got ''"), ("five", 0, "got 'five'"),
        (None, 0, "got None"), (True, 0, "got True"), ([1], 0, "must be a number"),
    ],
)  # fmt: skip
def test_wrong_amounts_are_refused_in_words(amount: Any, decimals: int, words: str) -> None:
    with pytest.raises(InputError, match="the budget must") as caught:
        minor_units(amount, decimals, "the budget")
    assert words in str(caught.value)


@pytest.mark.parametrize("decimals", [-1, 7, 0.5, True, "2"])
def test_currencies_have_few_decimals(decimals: Any) -> None:
    with pytest.raises(ParameterError, match="decimals must be"):
        minor_units(1, decimals)


@given(st.integers(0, LARGEST), st.integers(0, 6))
def test_amounts_survive_writing_and_reading(units: int, decimals: int) -> None:
    assert minor_units(major_units(units, decimals), decimals) == units


def test_prices_by_worker_with_a_default() -> None:
    prices = Prices.of(WORKERS, {"cid": 9, "ann": 4}, default=5)
    assert prices.vote.tolist() == [4, 5, 9]
    assert prices.lone_vote.tolist() == [4, 5, 9]


def test_one_price_for_everybody_with_pages() -> None:
    prices = Prices.of(WORKERS, default="0.05", page="0.10", decimals=2)
    assert prices.vote.tolist() == [5, 5, 5]
    assert prices.lone_vote.tolist() == [15, 15, 15]
    assert prices.text(minor_units("1.5", prices.decimals)) == "1.50"


def test_workers_called_by_numbers_match_a_text_file() -> None:
    assert Prices.of([7, 8], {"8": 2, "7": 3}).vote.tolist() == [3, 2]


def test_votes_cost_their_price_and_each_answer_a_page() -> None:
    votes = Votes.from_dense([[[1, -1], [1, 0]], [[0, 0], [1, 1]]], worker_names=["ann", "bob"])
    prices = Prices.of(["ann", "bob"], {"ann": 2, "bob": 5}, page=10)
    assert prices.of_votes(votes) == 3 * 2 + 2 * 5 + 3 * 10  # ann: 3 votes on 2 pages, bob: 2 votes on 1 page


@pytest.mark.parametrize(
    ("listed", "options", "words"),
    [
        ({"ann": 1}, {}, "there is none for 'bob', 'cid'"),
        ({"ann": -1}, {"default": 1}, "the price of worker 'ann' must not be negative"),
        ({"ann": float("nan")}, {"default": 1}, "the price of worker 'ann' must be a finite"),
        ({"ann": 0.5}, {"default": 1}, "the price of worker 'ann' must be a whole number"),
        ({"eve": 1}, {"default": 1}, "'eve' are not among the 3"),
        ({}, {"default": -2}, "the default price must not be negative"),
        ({}, {"default": 1, "page": -2}, "the page price must not be negative"),
        ({"bob": 0}, {"default": 1}, "those of 'bob' cost nothing"),
    ],
)
def test_wrong_price_lists_are_refused(listed: dict[str, Any], options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        Prices.of(WORKERS, listed, **options)
    assert words in str(caught.value)


def test_a_vote_may_be_free_on_a_page_that_is_not() -> None:
    assert Prices.of(WORKERS, default=0, page=3).lone_vote.tolist() == [3, 3, 3]


def test_pages_may_cost_of_each_worker_what_they_like() -> None:
    prices = Prices(np.array([5, 3]), np.array([0, 10]))
    assert prices.lone_vote.tolist() == [5, 13]
    votes = Votes.from_dense([[[1, -1], [1, 0]], [[0, 0], [1, 1]]], worker_names=["ann", "bob"])
    assert prices.of_votes(votes) == 3 * 5 + 2 * 3 + 2 * 0 + 1 * 10
    with pytest.raises(ParameterError, match="one price, or one for each worker"):
        Prices(np.array([5, 3]), np.array([1, 1, 1]))
    with pytest.raises(ParameterError, match="negative"):
        Prices(np.array([5, 3]), np.array([1, -1]))


def test_made_by_hand_prices_are_checked_too() -> None:
    with pytest.raises(ParameterError, match="int64"):
        Prices(np.array([0.5]))
    with pytest.raises(ParameterError, match="negative"):
        Prices(np.array([-1]))
    with pytest.raises(ParameterError, match="negative"):
        Prices(np.array([1]), page=-1)


def test_price_list_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("kind,Worker ID,price\ngood,bob,0.07\npoor,007,0.03\n")
    listed = read_price_list(path, decimals=2)
    assert listed == {"bob": "0.07", "007": "0.03"}
    assert Prices.of(["007", "bob"], listed, decimals=2).vote.tolist() == [3, 7]


def test_rows_without_a_worker_are_prices_of_kinds() -> None:
    rows = {"worker": ["gpt", None, "", "7"], "kind": ["model", "Model ", "human", None], "price": [1, 2, 3, 4]}
    listed = price_list(pd.DataFrame(rows))
    assert listed == {"gpt": 1, "7": 4}  # a worker's own row counts, whatever kind stands beside it
    assert listed.kinds == {"model": 2, "human": 3}
    assert price_list(pd.DataFrame({"kind": ["code"], "price": ["3"]})).kinds == {"code": "3"}


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("", "robot", 1)], "a kind must be human, model or code; row 1 of a price list has 'robot'"),
        ([("", "model", 1), ("ann", "", 2), ("", "MODEL", 2)], "'model' has another in row 3"),
        ([("", "model", -1)], "the price of kind 'model' (row 1) must not be negative"),
        ([("", "model", 1), ("ann", "", 1), ("", "", 1)], "column 'worker' is empty in row 3"),
        ([("", "model", 1), ("ann", "", -2)], "the price of worker 'ann' (row 2) must not be neg"),
    ],
)
def test_wrong_prices_of_kinds_are_refused_with_their_row(rows: list[tuple[Any, ...]], words: str) -> None:
    with pytest.raises(InputError) as caught:
        price_list(pd.DataFrame(rows, columns=["worker", "kind", "price"]))
    assert words in str(caught.value)


def test_price_list_of_a_frame() -> None:
    assert price_list(pd.DataFrame({"annotator": [1, 2], "cost": [3.0, 4.0]})) == {"1": 3.0, "2": 4.0}


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("worker,price\nann,1\nann,1\n", InputError, "'ann' has another in row 2"),
        ("worker,price\nann,-3\n", InputError, "worker 'ann' (row 1) must not be negative"),
        ("worker,price\nann,nan\n", InputError, "(row 1) must be a finite number"),
        ("worker,price\nann,\n", InputError, "(row 1) must be a number"),
        ("worker,price\nann,0.5\n", InputError, "(row 1) must be a whole number"),
        ("worker,price\n,2\n", IdError, "column 'worker' is empty in row 1"),
        ("worker,wage\nann,2\n", ColumnError, "a column for the price is missing"),
        ("who,price\nann,2\n", ColumnError, "a column for the worker is missing"),
    ],
)
def test_wrong_price_files_are_refused_with_their_name(
    tmp_path: Path, text: str, error: type[InputError], words: str
) -> None:
    path = tmp_path / "prices.csv"
    path.write_text(text)
    with pytest.raises(error) as caught:
        read_price_list(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("amount", ["1_000", "\u0661", "0x1", "1,5", "1e", "sNaN"])
def test_amounts_are_plain_numbers(amount):
    with pytest.raises(InputError, match="an amount must be a number"):
        minor_units(amount)


def test_workers_of_a_price_list_are_those_of_the_votes_to_the_last_space(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("worker,price\nann ,5\nbob,3\n")
    listed = read_price_list(path)
    assert Prices.of(["ann ", "bob"], listed).vote.tolist() == [5, 3]
    with pytest.raises(IdError, match="'ann ' and 'ann' differ only in spaces"):
        Prices.of(["ann", "bob"], listed, default=1)


def test_prices_by_eq12_are_shares_of_the_best(crowd: Any) -> None:
    model = AMCC().fit(crowd.votes)
    cost = model.worker_cost_
    assert eq12_prices(model, crowd.votes).vote.tolist() == np.floor(100 * cost + 0.5).tolist()
    finer = eq12_prices(model, crowd.votes, price="25.00", decimals=2)
    assert (finer.decimals, finer.vote.tolist()) == (2, np.floor(2500 * cost + 0.5).tolist())
    assert eq12_prices(model, crowd.votes, price=1).vote.tolist() == [1] * crowd.votes.n_workers  # nobody is free
    printed = eq12_prices(model, crowd.votes, "eq12-printed").vote
    assert printed.tolist() != eq12_prices(model, crowd.votes).vote.tolist()


def test_amounts_are_rounded_half_up() -> None:
    assert whole_units(np.array([0.0, 0.4, 1.5, 2.5, 2.49])).tolist() == [1, 1, 2, 3, 2]
    with pytest.raises(InputError, match="a vote must cost at most"):
        whole_units(np.array([1.0, 1e20]))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"price": 0}, "^price must be at least one minor unit with eq12; got 0"),
        ({"price": -1}, "^price must be at least one minor unit with eq12; got -1"),
        ({"price": "0.5"}, "^price must be a whole number of minor units"),
        ({"price": "much"}, "^price must be a number; got 'much'"),
        ({"kind": "eq13"}, "kind must be one of eq12, eq12-printed; got 'eq13'"),
    ],
)
def test_wrong_prices_by_eq12(settings: dict[str, Any], words: str) -> None:
    with pytest.raises((InputError, ParameterError), match=words):
        eq12_prices(None, Votes.from_dense([[[1]]]), **settings)
