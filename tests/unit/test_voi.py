"""Value of information: hand-worked numbers, and what it prefers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc.active.beliefs import cold_beliefs
from amcc.active.candidates import Anything
from amcc.active.strategies.voi import Skills, ValueOfInformation, answer_value, carried_over
from amcc.errors import ParameterError
from amcc.votes import Votes


def beliefs(proba, answers):
    """Beliefs after answers (n_workers, n_items, n_labels) of 1, -1 and 0."""
    return replace(cold_beliefs(Votes.from_dense(answers)), proba=np.array(proba, float))


def practised(proba, n_wrong, n_items=200):
    """Beliefs about an item with these probabilities that nobody has answered, and workers who answered many others.

    They are known: every second label is present, and the worker is wrong about as many items as it says.
    """
    n_labels = len(proba)
    present = np.tile([[True], [False]], (n_items // 2, n_labels))
    answers = np.where(present, 1, -1)[None].repeat(len(n_wrong), 0)
    for worker, wrong in enumerate(n_wrong):
        answers[worker, :wrong] *= -1
    answers = np.concatenate([np.zeros((len(n_wrong), 1, n_labels), int), answers], axis=1)
    return beliefs(np.concatenate([[proba], present]), answers)


def chosen(known, prices=None, n=1, seed=0, **settings):
    prices = np.ones(known.votes.n_workers) if prices is None else np.array(prices, float)
    strategy, rng = ValueOfInformation(**settings), np.random.default_rng(seed)
    questions = strategy.select(known, Anything(known.votes), prices, n, rng).asked
    return list(zip(questions.item.tolist(), questions.label.tolist(), questions.worker.tolist(), strict=True))


def test_skill_is_agreement_beyond_chance():
    """Half is present, so chance agrees with half. Ann: .9 + .9 of 2, beyond chance .8 of 1; Bob: .9 + .1, nothing.

    The crowd has .8 of 2, and ¼ of ½ of one more vote; a vote leaves room for ½: a stranger has .42 by a weight of ½.
    """
    known = beliefs([[0.9], [0.1]], [[[1], [-1]], [[1], [1]], [[0], [0]]])
    skills = Skills.from_beliefs(known.votes, known.proba, answers_of_stranger=1.0)
    assert_allclose(skills.mean, [(0.8 + 0.21) / 1.5, 0.21 / 1.5, 0.42])
    assert_allclose(skills.evidence, [1.5, 1.5, 0.5])


def test_who_never_says_yes_has_no_skill_though_he_is_mostly_right():
    present = np.arange(100)[:, None] < 10
    answers = np.stack([np.where(present, 1, -1), np.full(present.shape, -1)])
    known = beliefs(present, answers)
    looks, does_not = Skills.from_beliefs(known.votes, known.proba, 1e-9).mean
    assert looks == pytest.approx(1) and does_not == pytest.approx(0, abs=1e-6)


def test_before_the_first_vote_everybody_is_somewhat_skilled():
    votes = Votes.from_dense(np.ones((3, 1, 1)))
    known = cold_beliefs(votes.select(votes.value == 0))
    assert_allclose(Skills.from_beliefs(known.votes, known.proba, 1.0).mean, 0.5)
    assert len(chosen(known, n=5)) == 1


def test_who_is_little_known_is_drawn_more_widely():
    skills = Skills(np.array([0.6, 0.6, -0.9]), np.array([2.0, 200.0, 200.0]))
    draws = np.array([skills.draw(np.random.default_rng(seed)) for seed in range(400)])
    stranger, known, misleading = draws.T
    assert stranger.std() > 3 * known.std()
    assert known.mean() == pytest.approx(0.6, abs=0.02)
    assert (misleading == 0).all() and (draws <= 1).all()


def test_value_is_the_expected_drop_of_the_variance():
    """Skill .6 at even odds: after a yes .8, after a no .2, so ¼ becomes .16."""
    assert answer_value(0.5, 0.6) == pytest.approx(0.09)
    assert answer_value(0.5, 0.0) == 0


def test_what_is_carried_over():
    """Doubts ¼ and .09, correlation .5: ¼ + ¼ · .09 instead of ¼."""
    gain = carried_over(np.array([[0.5, 0.1]]), np.array([[1.0, 0.5], [0.5, 1.0]]))
    assert_allclose(gain, [[(0.25 + 0.25 * 0.09) / 0.25, (0.09 + 0.25 * 0.25) / 0.09]])


def test_the_doubtful_pair_and_the_better_worker():
    for seed in range(20):
        assert chosen(practised([0.99, 0.5, 0.2], n_wrong=[80, 10]), seed=seed) == [(0, 1, 1)]


def test_price_decides_between_equals_and_against_quality():
    known = practised([0.5], n_wrong=[500, 250], n_items=2000)  # skills ½ and ¾, values 1 : 2¼
    for seed in range(20):
        assert chosen(known, seed=seed) == [(0, 0, 1)]
        assert chosen(known, prices=[1, 1.5], overhead=0, seed=seed) == [(0, 0, 1)]
        assert chosen(known, prices=[1, 4], overhead=0, seed=seed) == [(0, 0, 0)]
        assert chosen(known, prices=[1, 4], overhead=3, seed=seed) == [(0, 0, 1)]  # 8½ : 11½


def test_a_stranger_gets_his_turn():
    known = practised([0.5], n_wrong=[60, 60])
    stranger = np.concatenate([known.votes.to_dense(), np.zeros((1, known.votes.n_items, 1))])
    known = beliefs(known.proba, stranger)
    asked = [chosen(known, seed=seed)[0][2] for seed in range(60)]
    assert 10 < asked.count(2) < 50


def test_pairs_asked_often_come_later():
    known = beliefs([[0.5, 0.45]], [[[1, 0]], [[-1, 0]], [[1, 0]], [[-1, 0]], [[0, 0]]])
    labels = {power: [chosen(known, repetition=power, seed=seed)[0][1] for seed in range(60)] for power in (0.0, 1.0)}
    assert labels[1.0].count(0) < labels[0.0].count(0)


def test_labels_that_tell_about_others_come_first():
    known = practised([0.5, 0.52, 0.5], n_wrong=[20])
    correlation = np.eye(3)
    correlation[1, 2] = correlation[2, 1] = 0.9
    known = replace(known, correlation=correlation)
    assert chosen(known, correlated=True)[0][1] in (1, 2)
    assert known.correlation[0, 0] == 1


def test_bad_parameters():
    for name in ("repetition", "overhead"):
        with pytest.raises(ParameterError, match=f"{name} must be 0 or more"):
            ValueOfInformation(**{name: -1})
    with pytest.raises(ParameterError, match="answers_of_stranger must be above 0"):
        ValueOfInformation(answers_of_stranger=0)
