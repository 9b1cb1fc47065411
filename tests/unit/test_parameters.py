"""Checks of constructor arguments: what they refuse, and what they say."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from amcc import ParameterError
from amcc.consensus import AMCC, EBCC, MACE, MCMLD, DawidSkene, PaperAMCC, RakelGlad
from amcc.consensus import parameters as check

TWO, THREE = Literal["red", "blue"], Literal["red", "green", "blue"]


def test_choices_are_told():
    check.check_choice("colour", "red", TWO)
    check.check_choice("colour", "green", THREE)
    with pytest.raises(ParameterError, match=r"^colour must be 'red' or 'blue'; got 'pink'\.$"):
        check.check_choice("colour", "pink", TWO)
    with pytest.raises(ParameterError, match=r"^colour must be one of red, green, blue; got None\.$"):
        check.check_choice("colour", None, THREE)


@pytest.mark.parametrize("value", [0, -1, np.nan, np.inf])
def test_positive_numbers(value):
    check.check_positive("size", 1e-300)
    with pytest.raises(ParameterError, match="size must be a positive number; got"):
        check.check_positive("size", value)


@pytest.mark.parametrize("value", [-1e-9, np.nan, np.inf])
def test_numbers_that_may_be_zero(value):
    check.check_not_negative("size", 0)
    with pytest.raises(ParameterError, match="size must be a number >= 0; got"):
        check.check_not_negative("size", value)


def test_counts_that_may_be_left_out():
    check.check_at_least_one("rank", 1)
    check.check_at_least_one("rank", None, optional=True)
    with pytest.raises(ParameterError, match=r"rank must be at least 1, or None; got 0\."):
        check.check_at_least_one("rank", 0, optional=True)
    with pytest.raises(ParameterError, match=r"rank must be at least 1; got None\."):
        check.check_at_least_one("rank", None)


@pytest.mark.parametrize("value", ["3", 1.5, True, np.True_, [3]])
def test_what_counts_nothing(value):
    check.check_whole_number("rank", np.int64(3))
    for refused in (check.check_at_least_one, check.check_whole_number):
        with pytest.raises(ParameterError, match="rank must be a whole number; got"):
            refused("rank", value)


@pytest.mark.parametrize("value", ["3", True, None, [3]])
def test_what_is_no_number(value):
    check.check_number("size", np.float32(3))
    for refused in (check.check_number, check.check_positive, check.check_not_negative):
        with pytest.raises(ParameterError, match="size must be a number; got"):
            refused("size", value)


def test_flags_are_no_texts():
    check.check_flag("printed", np.False_)
    with pytest.raises(ParameterError, match=r"printed must be True or False; got 'no'\."):
        check.check_flag("printed", "no")


@pytest.mark.parametrize("counts", [(1,), (1, 2, 3), (-1, 2), (np.nan, 1), (1, np.inf)])
def test_pseudo_counts_are_two_numbers(counts):
    check.check_pseudo_counts("prior", (0, 0))
    with pytest.raises(ParameterError, match="prior must be two numbers >= 0; got"):
        check.check_pseudo_counts("prior", counts)


def test_some_pseudo_counts_must_be_positive():
    check.check_pseudo_counts("prior", (1e-9, 1), positive=True)
    with pytest.raises(ParameterError, match="prior must be two positive numbers; got"):
        check.check_pseudo_counts("prior", (0, 1), positive=True)


@pytest.mark.parametrize("model", [AMCC, PaperAMCC, MACE, EBCC, MCMLD, RakelGlad])
def test_seeds_that_numpy_does_not_take(model, toy_votes):
    with pytest.raises(ParameterError, match=r"random_state must be at least 0; got -1\."):
        model(random_state=-1).fit(toy_votes)


def test_rounds_must_start_and_stop():
    check.check_rounds(1, 1e-9)
    with pytest.raises(ParameterError, match=r"max_iter must be at least 1; got 0\."):
        check.check_rounds(0, 1e-9)
    with pytest.raises(ParameterError, match=r"tol must be positive; got nan\."):
        check.check_rounds(1, np.nan)
    with pytest.raises(ParameterError, match=r"tol must be a number; got '1e-3'\."):
        check.check_rounds(1, "1e-3")


def test_wrong_arguments_are_kept_until_fit(toy_votes):
    """Constructors only store, as scikit-learn wants it."""
    model = DawidSkene(max_iter=0)
    assert model.get_params()["max_iter"] == 0
    with pytest.raises(ParameterError):
        model.fit(toy_votes)
    assert model.set_params(max_iter=50, tol=0.1).fit(toy_votes).n_iter_ <= 50
