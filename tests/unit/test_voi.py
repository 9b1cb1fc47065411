"""Value of information: hand-worked numbers, and what it prefers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc.active.base import Anything, cold_beliefs
from amcc.active.voi import ValueOfInformation, answer_value, carried_over
from amcc.errors import ParameterError
from amcc.votes import Votes


def beliefs(proba, hit, false_alarm, votes=None):
    n_items, n_labels = np.shape(proba)
    n_workers = len(hit)
    if votes is None:
        one = np.ones((n_workers, n_items, n_labels))
        votes = Votes.from_dense(one)
        votes = votes.select(votes.value == 0)  # nobody was asked anything
    cold = cold_beliefs(votes)
    rates = (np.repeat(np.array(rate, float)[:, None], n_labels, 1) for rate in (hit, false_alarm))
    return replace(cold, proba=np.array(proba, float), **dict(zip(("hit", "false_alarm"), rates, strict=True)))


def chosen(known, prices=None, n=1, **settings):
    prices = np.ones(known.votes.n_workers) if prices is None else np.array(prices, float)
    questions = (
        ValueOfInformation(**settings).select(known, Anything(known.votes), prices, n, np.random.default_rng(0)).asked
    )
    return list(zip(questions.item.tolist(), questions.label.tolist(), questions.worker.tolist(), strict=True))


def test_value_is_the_expected_drop_of_the_variance():
    """p = ½, hit .8, false alarm .2: after a yes .8, after a no .2, so ¼ becomes .16."""
    assert answer_value(0.5, 0.8, 0.2) == pytest.approx(0.09)
    p, h, f = np.random.default_rng(0).uniform(0.05, 0.95, (3, 50))
    yes = p * h + (1 - p) * f
    after_yes, after_no = p * h / yes, p * (1 - h) / (1 - yes)
    drop = p * (1 - p) - yes * after_yes * (1 - after_yes) - (1 - yes) * after_no * (1 - after_no)
    assert_allclose(answer_value(p, h, f), drop)


def test_who_does_not_look_is_worth_nothing():
    assert answer_value(0.5, 0.3, 0.3) == 0


def test_what_is_carried_over():
    """Doubts ¼ and .09, correlation .5: ¼ + ¼ · .09 instead of ¼."""
    gain = carried_over(np.array([[0.5, 0.1]]), np.array([[1.0, 0.5], [0.5, 1.0]]))
    assert_allclose(gain, [[(0.25 + 0.25 * 0.09) / 0.25, (0.09 + 0.25 * 0.25) / 0.09]])


def test_the_doubtful_pair_and_the_better_worker():
    assert chosen(beliefs([[0.99, 0.5], [0.1, 0.8]], hit=[0.6, 0.9], false_alarm=[0.1, 0.1])) == [(0, 1, 1)]


def test_price_decides_between_equals_and_against_quality():
    known = beliefs([[0.5]], hit=[0.8, 0.9], false_alarm=[0.2, 0.1])  # values .09 and .16
    assert chosen(known) == [(0, 0, 1)]
    assert chosen(known, prices=[1, 1.7], overhead=0) == [(0, 0, 1)]
    assert chosen(known, prices=[1, 1.8], overhead=0) == [(0, 0, 0)]
    assert chosen(known, prices=[1, 3], overhead=1) == [(0, 0, 1)]  # .09 / 3 < .16 / 5
    assert chosen(known, prices=[1, 6], overhead=1) == [(0, 0, 0)]  # .09 / 4.5 > .16 / 9.5


def test_pairs_asked_often_come_later():
    votes = Votes.from_dense([[[1, 0]], [[-1, 0]], [[1, 0]], [[-1, 0]], [[0, 0]]])
    known = beliefs([[0.5, 0.45]], hit=[0.8] * 5, false_alarm=[0.2] * 5, votes=votes)
    assert chosen(known)[0][:2] == (0, 1)
    assert chosen(known, repetition=0.0)[0][:2] == (0, 0)


def test_labels_that_tell_about_others_come_first():
    known = beliefs([[0.5, 0.52, 0.5]], hit=[0.8], false_alarm=[0.2])
    correlation = np.eye(3)
    correlation[1, 2] = correlation[2, 1] = 0.9
    known = replace(known, correlation=correlation)
    assert chosen(known, correlated=True)[0][1] in (1, 2)
    assert known.correlation[0, 0] == 1


def test_bad_parameters():
    for name in ("repetition", "overhead"):
        with pytest.raises(ParameterError, match=f"{name} must be 0 or more"):
            ValueOfInformation(**{name: -1})
