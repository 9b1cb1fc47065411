"""Explanations of disagreement: their likelihoods and updates by hand, before any crowd is simulated."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc import Votes
from amcc.arrays import once_per_pair
from amcc.consensus.disagreement import KINDS, asked_of, kinds_of, learn, why
from amcc.consensus.disagreement.asked import SIDE_FOLDS, fold_of
from amcc.consensus.disagreement.explanations import ABSENT, HARD, PRESENT, SPLIT, SURELY, log_chance
from amcc.consensus.disagreement.learning import LEAST_HIT, MOST_FALSE_ALARM, _rates, _shares, independent_fit, updated
from amcc.consensus.disagreement.sides import _held_sides, _lead, _scaled, with_sides


@pytest.fixture(scope="module")
def votes():
    return Votes.from_dense(np.random.default_rng(0).integers(-1, 2, (7, 40, 3)))


@pytest.fixture(scope="module")
def asked(votes):
    return asked_of(votes)


def member_of(proba):
    member = np.zeros((len(proba), 4))
    member[:, PRESENT], member[:, ABSENT] = proba, 1 - proba
    return member


# -- votes -------------------------------------------------------------------------------------------------------------


def test_folds_go_by_number_and_not_by_place():
    numbers = np.array([5, 17, 1_000_000])
    assert fold_of(numbers).tolist() == [int(fold_of(numbers[[place]])[0]) for place in range(3)]
    assert np.bincount(fold_of(np.arange(0, 40_000, 7)), minlength=SIDE_FOLDS).min() > 1300


def test_chosen_pairs_are_those_of_chosen_votes(votes, asked):
    chosen = votes.pairs.label == 1
    part = asked.where(chosen)
    rate = np.linspace(0.1, 0.9, len(asked.coin_worker))
    assert_allclose(part.log_likelihood(rate), asked.log_likelihood(rate)[chosen])
    assert part.n_yes.tolist() == votes.n_yes[chosen].tolist()
    assert (part.start[0], part.start[-1]) == (0, (votes.label == 1).sum())


def test_likelihoods_and_counts_are_sums_over_votes(votes, asked):
    coin, yes = asked.slot >> 1, votes.value > 0
    rate = np.random.default_rng(1).uniform(0.1, 0.9, len(asked.coin_worker))
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    expected = np.bincount(pair, np.log(np.where(yes, rate[coin], 1 - rate[coin])))
    assert_allclose(asked.log_likelihood(rate), expected)
    weight = np.random.default_rng(2).random(len(votes.pairs))
    assert_allclose(asked.counts(weight)[:, 1], np.bincount(coin, weight[pair] * yes))
    assert_allclose(asked.counts(weight).sum(), weight[pair].sum())


def test_slow_functions_see_every_pair_of_counts_once():
    seen = []

    def slow(first, second):
        seen.extend(zip(first.tolist(), second.tolist(), strict=True))
        return np.stack([first + second, first * second])

    first, second = np.array([[3, 0], [3, 2]]), np.array([[1, 0], [1, 9]])
    total, product = once_per_pair(slow, first, second)
    assert sorted(seen) == [(0, 0), (2, 9), (3, 1)]
    assert total.tolist() == (first + second).tolist()
    assert product.tolist() == (first * second).tolist()
    empty = np.zeros(0, np.int64)
    assert once_per_pair(np.add, empty, empty).shape == (0,)


@pytest.mark.parametrize("n", [1, 4, 15])
def test_chance_is_a_distribution_over_all_ways_to_vote(n):
    yes = np.arange(n + 1)
    ways = np.array([comb(n, k) for k in yes])
    assert_allclose((ways * np.exp(log_chance(yes, np.full(n + 1, n)))).sum(), 1.0)


# -- updates -----------------------------------------------------------------------------------------------------------


def test_rates_of_a_single_worker_by_hand():
    """Four yes and one no on one label: the crowd is (4 + 4 · 4.5/6) / 9, the worker leans on it, twice."""
    asked = asked_of(Votes.from_dense(np.array([1, 1, 1, 1, -1])[None, :, None]))
    (rate,), (crowd,) = _rates(asked, np.ones(5), 0.0, 1.0)
    expected = (4 + 4 * 4.5 / 6) / 9
    assert crowd == pytest.approx(expected)
    mean = (4 + 4 * expected) / 9
    assert rate == pytest.approx((4 + 8 * mean) / 13)


def test_a_crowd_outside_the_limits_is_moved_as_a_whole():
    """Three workers see a label in 6, 3 and 0 of 10 cases: the crowd becomes three quarters, their order stays."""
    dense = np.full((3, 10, 1), -1)
    dense[0, :6], dense[1, :3] = 1, 1
    asked = asked_of(Votes.from_dense(dense))
    rate, crowd = _rates(asked, np.ones(10), LEAST_HIT, 1.0)
    assert_allclose(crowd, LEAST_HIT)
    assert (np.diff(rate) < 0).all()
    assert rate[0] > LEAST_HIT > rate[2]
    _, crowd = _rates(asked, np.ones(10), 0.0, MOST_FALSE_ALARM)
    assert_allclose(crowd, MOST_FALSE_ALARM)


def test_rates_are_never_certain():
    asked = asked_of(Votes.from_dense(np.ones((4, 5000, 1), int)))
    rate, crowd = _rates(asked, np.ones(5000), 0.0, 1.0)
    assert rate.max() == crowd.max() == 1 - SURELY


def test_shares_sum_to_one_and_only_open_labels_split():
    pairs = np.array([[10.0, 5.0, 1.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
    share = _shares(pairs, np.array([True, False]))
    assert_allclose(share.sum(axis=1), 1)
    assert share[0, SPLIT] > 0.1
    assert share[1, SPLIT] == 0
    assert (share[1, :SPLIT] > 0).all()  # a label without pairs has the shares of all


def test_a_model_that_knows_no_hard_pair_leaves_room_for_them(asked, votes):
    first = updated(asked, member_of(np.full(len(votes.pairs), 0.5)), None)
    assert (first.share[:, HARD] > 0.02).all()
    assert_allclose(first.share[:, SPLIT], 0)
    assert_allclose(first.side, 0.5)


def test_independent_votes_are_likelier_the_better_the_start(votes, asked):
    share = votes.n_yes / votes.pairs.n_votes
    assert np.isfinite(independent_fit(asked, share)).all()
    assert (independent_fit(asked, share) < 0).all()


# -- sides -------------------------------------------------------------------------------------------------------------


def test_a_lead_is_counted_in_standard_errors(asked):
    label, gain = asked.label, np.where(asked.label == 0, 1.0, 0.0)
    n = int((label == 0).sum())
    assert_allclose(_lead(asked, gain), [np.sqrt(n), 0, 0])


def test_sides_are_one_half_until_votes_say_otherwise():
    counts = np.array([[0.0, 0.0], [0.0, 8.0], [8.0, 0.0]])
    assert_allclose(_held_sides(counts, np.arange(3)), [0.5, 0.9, 0.1])
    assert_allclose(_held_sides(counts, np.array([0, 1, 1])), [0.5, 0.5, 0.5])  # one side for both labels


def test_scaling_is_done_group_by_group():
    assert_allclose(_scaled(np.array([2.0, 2.0, 30.0, 0.0]), np.array([0, 0, 1, 2])), [1, 1, 1, 0])


def test_votes_without_sides_open_no_label(asked, votes):
    now = updated(asked, member_of(votes.n_yes / votes.pairs.n_votes), None)
    free = independent_fit(asked, votes.n_yes / votes.pairs.n_votes)
    found = with_sides(asked, now, free)
    assert_allclose(found.share, now.share)
    assert not found.share[:, SPLIT].any()


# -- kinds -------------------------------------------------------------------------------------------------------------


def test_a_pair_that_the_model_decides_otherwise_is_not_clear():
    votes = Votes.from_dense(np.ones((5, 30, 1), int))
    asked = asked_of(votes)
    known = learn(asked, np.full(30, 0.95))
    assert {KINDS[code] for code in kinds_of(asked, known, np.full(30, 0.95))} == {"clear"}
    assert {KINDS[code] for code in kinds_of(asked, known, np.full(30, 0.05))} == {"too few votes"}
    assert why(asked, known, 0, KINDS.index("clear"), str) == "5\u00a0yes, 0\u00a0no"
