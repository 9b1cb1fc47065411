"""MACE against the worked numbers of the specification, §4.3, and its own promises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import ConvergenceWarning, ParameterError, Votes, metrics
from amcc.consensus import MACE, MajorityVote
from amcc.consensus.models.mace import AnswerLogs, RandomStarts, Restarts, expect
from amcc.consensus.monitor import Monitor
from amcc.data.simulate import CrowdSpec, simulate_crowd


def slot_votes(votes):
    return np.bincount(votes.coins.slot, minlength=2 * len(votes.coins)).reshape(-1, 2).astype(float)


def logs_of(votes, spam=0.2, habit_yes=0.5):
    n_coins = len(votes.coins)
    return AnswerLogs.of(np.log([[spam, 1 - spam]] * n_coins), np.log([[1 - habit_yes, habit_yes]] * n_coins))


def test_first_look_at_the_toy_votes(toy_votes):
    """ε = .2, ξ = ½; the unasked question makes item 2, label 1 two votes: 1/82, not 1/730."""
    found = expect(toy_votes, slot_votes(toy_votes), logs_of(toy_votes), np.zeros(4))
    assert_allclose(found.proba.reshape(2, 2), [[0.9, 0.1], [0.012195, 0.998630]], rtol=0, atol=5e-7)


def test_right_votes_by_hand(toy_votes):
    """w3 says no to label 1 of item 1, present with .9: right with .1."""
    found = expect(toy_votes, slot_votes(toy_votes), logs_of(toy_votes), np.zeros(4))
    assert_allclose(found.right[4], [0.1, 0], rtol=1e-12, atol=1e-12)  # coins by worker, then label


def test_log_likelihood_is_a_sum_over_both_truths(toy_votes):
    """Of label 1: yes yes no, and no no, with P(right) = .9 − the habit of .3 for yes makes it asymmetric."""
    found = expect(toy_votes, slot_votes(toy_votes), logs_of(toy_votes, habit_yes=0.3), np.zeros(4))
    hit, false_alarm = 0.8 + 0.2 * 0.3, 0.2 * 0.3
    first = (hit**2 * (1 - hit) + false_alarm**2 * (1 - false_alarm)) / 2
    second = ((1 - hit) ** 2 + (1 - false_alarm) ** 2) / 2
    assert found.log_likelihood[0] == pytest.approx(np.log(first) + np.log(second), rel=1e-12)


def test_shares_of_knowing(toy_votes):
    """A right answer was known with .8 of .9."""
    assert_allclose(logs_of(toy_votes).know_share, 0.8 / 0.9)


@pytest.mark.parametrize("seed", range(3))
def test_bound_never_falls(seed):
    crowd = simulate_crowd(CrowdSpec(n_items=150, n_workers=20, n_labels=5, asked_share=0.7, seed=seed))
    history = MACE(tol=1e-6, max_iter=5000, n_restarts=3).fit(crowd.votes).objective_history_
    assert len(history) > 5
    assert np.all(np.diff(history) >= -1e-9 * abs(history[0]))


def test_restarts_differ_and_the_best_counts():
    crowd = simulate_crowd(CrowdSpec(n_items=100, n_workers=12, n_labels=6, answers_per_item=3, seed=0))
    draws = RandomStarts(crowd.votes, 0)
    assert not np.allclose(draws.per_worker(0, 4), draws.per_worker(1, 4))
    ends = [MACE(n_restarts=n, noise=3.0).fit(crowd.votes).objective_history_[-1] for n in (1, 4)]
    assert ends[1] >= ends[0]


def test_every_label_keeps_its_best_run():
    runs = Restarts(2)
    settled, unsettled = Monitor(1e-3, 2), Monitor(1e-3, 2)
    settled.report(0.0, 1e-4)
    unsettled.report(0.0, 0.5)
    assert_array_equal(runs.add(np.array([[-9.0, -9.0], [-5.0, -4.0]]), settled), [True, True])
    assert_array_equal(runs.add(np.array([[-8.0, -8.0], [-7.0, -6.0], [-3.0, -5.0]]), unsettled), [True, False])
    assert runs.history() == [-17.0, -11.0, -7.0]
    assert runs.slowest is unsettled


def test_workers_without_votes_change_nobodys_chance(toy_votes):
    dense = np.concatenate([np.zeros((1, 2, 2)), toy_votes.to_dense()])
    draws, with_idle = RandomStarts(toy_votes, 3).per_worker(0, 4), RandomStarts(Votes.from_dense(dense), 3)
    assert_array_equal(with_idle.per_worker(0, 4)[1:], draws)


def test_finds_spammers():
    """Half of the crowd answers by throwing a coin, the rest is right."""
    rng = np.random.default_rng(0)
    truth = rng.random((400, 1)) < 0.5
    dense = np.where(np.stack([truth] * 3 + [rng.random((400, 1)) < 0.5 for _ in range(3)]), 1, -1)
    votes = Votes.from_dense(dense)
    model = MACE().fit(votes)
    spam = model.spam_counts_[:, 0] / model.spam_counts_.sum(axis=1)
    assert spam[:3].max() < 0.05
    assert spam[3:].min() > 0.75
    ours, theirs = (metrics.jaccard(truth, m.fit(votes).predict()) for m in (model, MajorityVote()))
    assert ours > 0.99 > theirs


def test_habits_are_found():
    """A worker who spams yes: their habit is yes."""
    rng = np.random.default_rng(1)
    truth = rng.random((400, 1)) < 0.5
    dense = np.where(np.stack([truth, truth, truth, np.ones_like(truth)]), 1, -1)
    model = MACE().fit(Votes.from_dense(dense))
    assert model.habit_counts_[3, 1] / model.habit_counts_[3].sum() > 0.9


def test_stopping_early_is_told(toy_votes):
    with pytest.warns(ConvergenceWarning, match="MACE stopped after 1 iterations"):
        model = MACE(max_iter=1).fit(toy_votes)
    assert not model.converged_
    assert model.n_iter_ == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"spam_prior": (1, 0)}, "spam_prior must be two positive numbers"),
        ({"spam_prior": (1,)}, "spam_prior must be two positive numbers"),
        ({"habit_prior": 0}, "habit_prior must be a positive number; got 0"),
        ({"noise": -1}, "noise"),
        ({"n_restarts": 0}, "n_restarts must be at least 1; got 0"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": 0.0}, "tol"),
    ],
)
def test_bad_parameters(toy_votes, params, message):
    with pytest.raises(ParameterError, match=message):
        MACE(**params).fit(toy_votes)
