"""MACE against the worked numbers of the specification, §4.3, and its own promises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc import ConvergenceWarning, ParameterError, Votes, metrics
from amcc.consensus import MACE, MajorityVote
from amcc.consensus.coins import count_slots
from amcc.consensus.learned import Gold
from amcc.consensus.models.mace import AnswerLogs, MaceExpectation, mace_expectation
from amcc.consensus.restarts import RandomStarts
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.base import InMemory


def slot_votes(votes):
    return count_slots(votes).reshape(-1, 2)


def logs_of(votes, spam=0.2, habit_yes=0.5):
    n_coins = len(votes.coins)
    return AnswerLogs.of(np.log([[spam, 1 - spam]] * n_coins), np.log([[1 - habit_yes, habit_yes]] * n_coins))


def test_first_look_at_the_toy_votes(toy_votes):
    """ε = .2, ξ = ½; the unasked question makes item 2, label 1 two votes: 1/82, not 1/730."""
    found = mace_expectation(toy_votes, slot_votes(toy_votes), logs_of(toy_votes), np.zeros(4))
    assert_allclose(found.proba.reshape(2, 2), [[0.9, 0.1], [0.012195, 0.998630]], rtol=0, atol=5e-7)


def test_right_votes_by_hand(toy_votes):
    """w3 says no to label 1 of item 1, present with .9: right with .1."""
    found = mace_expectation(toy_votes, slot_votes(toy_votes), logs_of(toy_votes), np.zeros(4))
    assert_allclose(found.right[4], [0.1, 0], rtol=1e-12, atol=1e-12)  # coins by worker, then label


def test_log_likelihood_is_a_sum_over_both_truths(toy_votes):
    """Of label 1: yes yes no, and no no, with P(right) = .9 − the habit of .3 for yes makes it asymmetric."""
    found = mace_expectation(toy_votes, slot_votes(toy_votes), logs_of(toy_votes, habit_yes=0.3), np.zeros(4))
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


def test_spammed_and_known_votes_by_hand():
    """One worker, two yes and a no, all right with .9: known are .8/.9 of the right ones, the rest is spam."""
    logs = AnswerLogs.of(np.log([[0.2, 0.8]]), np.log([[0.5, 0.5]]))
    right = np.array([[0.9, 1.8]])
    counts = MACE()._count(np.array([[1.0, 2.0]]), logs, MaceExpectation(np.empty(0), right, np.empty(0)))
    known = right * 0.8 / 0.9
    assert_allclose(counts.spam, [[3 - known.sum() + 0.5, known.sum() + 0.5]], rtol=1e-12)
    assert_allclose(counts.habit, np.array([[1.0, 2.0]]) - known + 10, rtol=1e-12)


def test_habits_make_answers_of_unequal_worth():
    """Who spams yes adds more by a no than by a yes."""
    evidence = AnswerLogs.of(np.log([[0.5, 0.5]]), np.log([[0.1, 0.9]])).evidence
    assert evidence[0] < 0 < evidence[1]
    assert -evidence[0] > evidence[1]


def test_an_absent_label_by_hand():
    """P(no | absent) = .2 · .7 + .8, P(yes | absent) = .2 · .3."""
    logs = AnswerLogs.of(np.log([[0.2, 0.8]]), np.log([[0.7, 0.3]]))
    assert_allclose(np.exp(logs.if_absent), [[0.94, 0.06]], rtol=1e-12)


def test_a_pure_spammer_adds_nothing():
    logs = AnswerLogs.of(np.log([[1 - 1e-12, 1e-12]]), np.log([[0.3, 0.7]]))
    assert_allclose(logs.evidence, 0, rtol=0, atol=1e-10)


def test_known_truth_says_who_spams():
    """Two against two: known truth decides, and the pairs that nobody knows follow."""
    answer = np.where(np.random.default_rng(0).random((60, 1)) < 0.5, 1, -1)
    votes = Votes.from_dense(np.stack([answer, answer, -answer, -answer]))
    known = np.arange(60) < 40
    for sign in (1, -1):
        found = MACE()._learn(InMemory(votes, Gold((sign * answer > 0).ravel(), known).signs, None)).items
        assert ((found.pair > 0.5) == (sign * answer.ravel() > 0)).mean() > 0.95


def test_a_label_nobody_was_asked_about_is_as_likely_as_not():
    dense = np.zeros((3, 5, 2))
    dense[:, :, 0] = 1
    assert MACE().fit(Votes.from_dense(dense)).label_prior_[1] == 0.5


def test_a_newcomer_counts_as_average(crowd):
    model = MACE(n_restarts=2).fit(crowd.votes)
    newcomer = Votes.from_dense([[[1, 0, 0, 0, 0, 0]]], worker_names=["nobody"], label_names=crowd.votes.label_names)
    odds = np.exp(model.average_evidence_[0, 1])
    assert model.predict_proba(newcomer)[0, 0] == pytest.approx(odds / (1 + odds))
