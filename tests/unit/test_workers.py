"""Worker rates by hand, and spammers that cannot hide behind a frequent label."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from amcc import Votes
from amcc.consensus.workers import wilson_interval, worker_rates


def rates_of(dense, truth):
    votes = Votes.from_dense(dense)
    judged = np.asarray(truth, dtype=float)[votes.item, votes.label]
    return worker_rates(votes, judged)


def test_rates_by_hand():
    """One label, 4 present and 4 absent items: one worker hits 3 and invents 1, the other hits 1 and invents 0."""
    truth = np.array([1, 1, 1, 1, 0, 0, 0, 0]).reshape(8, 1)
    dense = np.array([[1, 1, 1, -1, 1, -1, -1, -1], [1, -1, -1, -1, -1, -1, -1, -1]]).reshape(2, 8, 1)
    rates = rates_of(dense, truth)
    # Mantel–Haenszel weight 4 · 4 / 8 = 2; the crowd (hit rate 1/2, false alarms 1/8) counts as one more
    assert_allclose(rates.hit_rate, [(2 * 0.75 + 0.5) / 3, (2 * 0.25 + 0.5) / 3], rtol=1e-12)
    assert_allclose(rates.false_alarm_rate, [(2 * 0.25 + 0.125) / 3, (2 * 0.0 + 0.125) / 3], rtol=1e-12)
    assert_allclose(rates.informativeness, rates.hit_rate - rates.false_alarm_rate, rtol=1e-12)
    assert rates.answers.tolist() == [8, 8]


def test_uniform_spammer_is_uninformative():
    """He ticks the most frequent label always: right on 80 % of his ticks, and worth nothing."""
    rng = np.random.default_rng(0)
    truth = rng.random((400, 4)) < [0.8, 0.1, 0.1, 0.1]
    honest = np.where(rng.random(truth.shape) < 0.1, ~truth, truth)
    spammer = np.zeros(truth.shape, dtype=bool)
    spammer[:, 0] = True
    dense = np.where([honest, honest, spammer], 1, -1)
    informativeness = rates_of(dense, truth).informativeness
    assert informativeness[0] > 0.7
    assert abs(informativeness[2]) < 0.02


def test_worker_who_met_only_absent_labels_counts_as_the_crowd():
    truth = np.array([[1], [0], [0]])
    dense = np.array([[[1], [-1], [-1]], [[0], [-1], [0]]])
    rates = rates_of(dense, truth)
    assert rates.hit_rate[1] == rates.hit_rate[0]
    assert (rates.hit_rate_low[1], rates.hit_rate_high[1]) == (0, 1)


def test_wilson_interval_matches_the_textbook():
    """8 of 10 at z = 1.96: .4902 to .9433."""
    low, high = wilson_interval(np.array([0.8]), np.array([10.0]))
    assert_allclose([low[0], high[0]], [0.4902, 0.9433], rtol=0, atol=5e-5)
