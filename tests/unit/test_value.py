"""What an answer is worth: hand-worked cases, and what holds for all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from amcc.active.value import (
    LOSSES,
    answers_ahead,
    best_ahead,
    decision_error,
    entropy,
    expected_drop,
    loss_after,
    outcomes,
    value_by_skill,
    variance,
)

chances = st.floats(0.0, 1.0)


@pytest.mark.parametrize("loss", LOSSES)
@given(proba=chances, hit=chances, false_alarm=chances)
def test_an_answer_is_never_worth_less_than_nothing(loss, proba, hit, false_alarm):
    drop = expected_drop(LOSSES[loss], np.array(proba), np.array(hit), np.array(false_alarm))
    assert 0 <= drop <= LOSSES[loss](np.array(proba)) + 1e-12
    later = loss_after(LOSSES[loss], np.array(proba), np.array(hit), np.array(false_alarm), 3)
    assert later <= LOSSES[loss](np.array(proba)) + 1e-9


@given(proba=chances, hit=chances, false_alarm=chances)
def test_what_is_believed_later_is_in_the_mean_what_is_believed_now(proba, hit, false_alarm):
    yes, after_yes, after_no = outcomes(np.array(proba), np.array(hit), np.array(false_alarm))
    assert yes * after_yes + (1 - yes) * after_no == pytest.approx(proba, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_answer_that_is_known_is_worth_nothing(loss):
    """A duplicate: whoever says yes in any case tells nothing, and of what is certain nothing can be learned."""
    certain, always = np.array([0.0, 1.0, 0.4]), np.array([0.9, 0.9, 1.0])
    false_alarm = np.array([0.1, 0.1, 1.0])
    assert_allclose(expected_drop(LOSSES[loss], certain, always, false_alarm), 0, atol=1e-15)
    assert_allclose(best_ahead(LOSSES[loss], certain, always, false_alarm, most=4).drop, 0, atol=1e-12)
    assert_allclose(value_by_skill(loss, np.array([0.0, 1.0]), np.array(0.8), most=4), 0, atol=1e-12)


def test_hand_worked_drops():
    """At even odds, right in 8 of 10: error .5 → .2; variance ¼ → .16; entropy log 2 → that of .8."""
    half, hit, false_alarm = np.array(0.5), np.array(0.8), np.array(0.2)
    assert expected_drop(decision_error, half, hit, false_alarm) == pytest.approx(0.3)
    assert expected_drop(variance, half, hit, false_alarm) == pytest.approx(0.09)
    left = -(0.8 * np.log(0.8) + 0.2 * np.log(0.2))
    assert expected_drop(entropy, half, hit, false_alarm) == pytest.approx(np.log(2) - left)


def test_where_one_answer_cannot_change_a_decision_several_are_worth_something():
    """Present with .1, right in 8 of 10. One yes: odds 1/9 · 4 < 1, still absent. Two: 16/9, present.

    Both say yes with .1 · .64 if present and .9 · .04 if absent: the error falls by .064 − .036 = .028, .014 an answer.
    """
    proba, hit, false_alarm = np.array(0.1), np.array(0.8), np.array(0.2)
    assert expected_drop(decision_error, proba, hit, false_alarm) == 0
    found = best_ahead(decision_error, proba, hit, false_alarm, most=2)
    assert (float(found.drop), int(found.n_answers)) == (pytest.approx(0.014), 2)
    assert int(answers_ahead("decision", proba, np.array(0.6), most=2)) == 2


def test_the_more_answers_one_may_look_ahead_the_more_an_answer_is_worth():
    proba = np.linspace(0, 1, 41)
    drops = [best_ahead(decision_error, proba, np.array(0.75), np.array(0.3), most).drop for most in (1, 2, 3, 5)]
    assert (np.diff(drops, axis=0) >= -1e-12).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("most", [1, 5])
def test_the_table_says_what_is_computed(loss, most):
    rng = np.random.default_rng(0)
    proba, skill = rng.random(2000), rng.random(2000)
    exact = best_ahead(LOSSES[loss], proba, (1 + skill) / 2, (1 - skill) / 2, most).drop
    read = value_by_skill(loss, proba, skill, most)
    assert np.abs(read - exact).max() < 0.004
    assert np.sqrt(np.mean((read - exact) ** 2)) < 0.001
    assert (read >= 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_better_workers_are_worth_more(loss):
    skill = np.linspace(0, 1, 50)
    for proba in (0.05, 0.3, 0.5, 0.8):
        assert (np.diff(value_by_skill(loss, np.array(proba), skill, most=3)) >= -1e-12).all()
