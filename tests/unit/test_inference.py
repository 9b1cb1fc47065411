"""Intervals: by hand, against published numbers, and by how often they cover."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import cohen_kappa_score

from amcc.errors import ParameterError
from amcc.inference import (
    SliceShares,
    check_level,
    clustered_shares,
    corrected_mean,
    corrected_share,
    kappas,
    newcombe,
    power_of,
    wilson,
)

REPEATS = 300
BAND = {0.9: (0.86, 0.96), 0.95: (0.92, 0.99)}
"""Where the share of intervals that cover must lie: the level ± 2 points, and as much again for 300 repetitions."""
WIDE = 0.025
"""How much more they may cover at 20 items, where intervals of a good consensus are wide rather than narrow."""


def population(n: int, share: float, hit: float, false_alarm: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What is true of n items, and how probable a consensus with these rates calls it."""
    rng = np.random.default_rng(seed)
    true = (rng.random(n) < share).astype(float)
    said = rng.random(n) < np.where(true > 0, hit, false_alarm)
    return true, np.where(said, 0.9, 0.05)


def slices(n_all: int, n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    return (rng.choice(n_all, n, replace=False) for _ in range(REPEATS))


# -- pieces --------------------------------------------------------------------------------------------------------


def test_wilson_against_published_intervals():
    """Newcombe 1998 (Statistics in Medicine 17:857), table I: 81/263, 15/148, 0/20, 1/29."""
    published = {
        (81, 263): (0.2553, 0.3662),
        (15, 148): (0.0624, 0.1605),
        (0, 20): (0, 0.1611),
        (1, 29): (0.0061, 0.1718),
    }
    for (yes, n), bounds in published.items():
        assert_allclose(wilson(yes / n, n, 0.95), bounds, atol=5e-5)


def test_wilson_of_an_endless_number_is_the_share():
    assert_allclose(wilson(0.3, np.inf, 0.95), (0.3, 0.3))


def test_newcombe_against_a_published_interval():
    """Newcombe 1998 (Statistics in Medicine 17:873), method 10: 56/70 against 48/80."""
    value, group = np.repeat([1.0, 0, 1, 0], [56, 14, 48, 32]), np.repeat([0, 0, 1, 1], [56, 14, 48, 32])
    shares = clustered_shares(value, group, np.arange(150), 2, 0.95)
    first, second = (SliceShares(**{name: each[[code]] for name, each in vars(shares).items()}) for code in (0, 1))
    low, high = newcombe(first, second)
    assert_allclose((low[0], high[0]), (0.0524, 0.3339), atol=2e-3)  # the design effect of single rows is all but 1


@pytest.mark.parametrize("level", [0.3, 1.0, 95, float("nan")])
def test_levels_that_make_no_sense(level):
    with pytest.raises(ParameterError, match="level must be"):
        check_level(level)


def test_power_is_the_slope_where_there_is_enough_to_see():
    rng = np.random.default_rng(0)
    f = rng.random(4000)
    y = 0.6 * f + rng.normal(0, 0.1, 4000)
    assert power_of(y, f).power == pytest.approx(0.6, abs=0.02)
    assert power_of(1 - y, f).power == 0  # a consensus that says the opposite is not turned round
    assert power_of(rng.random(50), np.full(50, 0.4)).unexplained == 1


# -- corrected shares ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize(
    ("share", "n", "hit", "false_alarm"),
    [(0.3, 20, 0.9, 0.05), (0.3, 100, 0.9, 0.05), (0.1, 50, 0.7, 0.02), (0.5, 300, 0.8, 0.2), (0.2, 100, 0.5, 0.5)],
)
def test_corrected_shares_cover(share, n, hit, false_alarm, level):
    covers, narrower = [], []
    for seed, chosen in enumerate(slices(1000, n)):
        true, predicted = population(1000, share, hit, false_alarm, seed)
        found = corrected_share(true[chosen], predicted[chosen], predicted.mean(), 1000, level)
        covers.append(found.low <= true.mean() <= found.high)
        narrower.append(found.high - found.low <= 1.02 * (found.slice.high - found.slice.low))
    low, high = BAND[level]
    assert low <= np.mean(covers) <= high + WIDE * (n <= 20)
    assert np.mean(narrower) > 0.9  # never much worse than the slice alone


def test_correction_removes_the_bias_of_a_consensus_and_most_of_the_noise_of_the_slice():
    true, predicted = population(2000, 0.3, 0.85, 0.02, seed=1)
    predicted = predicted**2  # far too low
    found = [corrected_share(true[s], predicted[s], predicted.mean(), 2000, 0.95) for s in slices(2000, 100)]
    assert abs(predicted.mean() - true.mean()) > 0.07
    assert np.mean([each.estimate for each in found]) == pytest.approx(true.mean(), abs=0.005)
    noise = np.std([each.estimate for each in found]) / np.std([each.slice.estimate for each in found])
    assert noise < 0.6


def test_a_slice_of_everything_has_no_error():
    true, predicted = population(200, 0.3, 0.9, 0.05, seed=1)
    found = corrected_share(true, predicted, predicted.mean(), 200, 0.95)
    assert_allclose((found.estimate, found.low, found.high), true.mean())


def test_no_yes_in_the_slice_is_no_proof_of_absence():
    found = corrected_share(np.zeros(20), np.full(20, 0.01), 0.01, 10_000, 0.95)
    assert (found.estimate, found.power) == (0, 0)
    assert 0.14 < found.high < 0.17  # rule of three: 3/20


def test_one_lucky_hit_does_not_make_a_consensus_perfect():
    answer, predicted = np.eye(20)[0], 0.02 + 0.96 * np.eye(20)[0]
    found = corrected_share(answer, predicted, 0.05, 10_000, 0.95)
    assert found.high - found.low > 0.35 * (found.slice.high - found.slice.low)
    assert found.high > 0.09  # of 20 items, one is 5 %


def test_shares_of_people_vary_less_than_yes_and_no():
    answer = np.tile([0.4, 0.6], 50)
    assert_allclose(answer.mean(), 0.5)
    soft = corrected_share(answer, np.full(100, 0.5), 0.5, 10_000, 0.95)
    crisp = corrected_share(np.round(answer), np.full(100, 0.5), 0.5, 10_000, 0.95)
    assert soft.high - soft.low < 0.4 * (crisp.high - crisp.low)


def test_nothing_asked_nothing_measured():
    found = corrected_share(np.empty(0), np.empty(0), 0.2, 100, 0.95)
    assert np.isnan([found.estimate, found.low, found.high]).all()
    assert (found.predicted, found.n) == (0.2, 0)


@pytest.mark.parametrize("n", [20, 60])
def test_corrected_means_cover(n):
    rng = np.random.default_rng(4)
    expected = rng.gamma(4, 0.5, 1500)
    true = rng.poisson(expected).astype(float)
    found = [corrected_mean(true[s], expected[s] - 0.4, expected.mean() - 0.4, 1500, 0.95) for s in slices(1500, n)]
    assert BAND[0.95][0] <= np.mean([each.low <= true.mean() <= each.high for each in found]) <= BAND[0.95][1]
    width, alone = ([e.high - e.low for e in each] for each in (found, [e.slice for e in found]))
    assert np.mean(width) < np.mean(alone)


# -- clusters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_shares_cover_where_rows_of_a_cluster_err_together(together, level):
    """With errors that come five at a time, intervals that count rows as independent would cover 60 %."""
    rng = np.random.default_rng(2)
    wrong = (rng.random((2000, 1 if together else 5)) < 0.2).astype(float) * np.ones((2000, 5))
    covers = []
    for chosen in slices(2000, 60):
        shares = clustered_shares(
            wrong[chosen].ravel(), np.zeros(300, int), np.repeat(chosen, 5), 1, level, left=1 - 60 / 2000
        )
        covers.append(shares.low[0] <= wrong.mean() <= shares.high[0])
    assert BAND[level][0] <= np.mean(covers) <= BAND[level][1]


def test_groups_do_not_meet():
    rng = np.random.default_rng(0)
    value, group, cluster = rng.random(200).round(), rng.integers(0, 3, 200), rng.integers(0, 30, 200)
    together = clustered_shares(value, group, cluster, 4, 0.95)
    for code in range(3):
        mine = group == code
        alone = clustered_shares(value[mine], np.zeros(mine.sum(), int), cluster[mine], 1, 0.95)
        for name in ("estimate", "low", "high", "n", "clusters", "effective"):
            assert_allclose(getattr(together, name)[code], getattr(alone, name)[0])
    assert np.isnan(together.estimate[3])
    assert np.isnan(together.low[3])


def test_weights_of_zero_and_one_choose_rows():
    rng = np.random.default_rng(0)
    value, weight, zeros = rng.random(80).round(), rng.random(80).round(), np.zeros(80, int)
    weighted = clustered_shares(value, zeros, np.arange(80), 1, 0.95, weight=weight)
    chosen = clustered_shares(value[weight > 0], zeros[weight > 0], np.arange(80)[weight > 0], 1, 0.95)
    assert_allclose((weighted.low, weighted.high), (chosen.low, chosen.high))


def test_kappa_is_that_of_others_and_its_interval_covers():
    rng = np.random.default_rng(5)
    answer = (rng.random(3000) < 0.25).astype(float)
    vote = np.where(rng.random(3000) < 0.15, 1 - answer, answer)
    zeros = np.zeros(3000, int)

    def of(chosen, level=0.95, left=1.0):
        rows = zeros[chosen]
        agreement = clustered_shares(1 - abs(vote - answer)[chosen], rows, chosen, 1, level, left=left)
        return kappas(vote[chosen], answer[chosen], rows, agreement, level)

    true = cohen_kappa_score(answer, vote)
    assert_allclose(of(np.arange(3000)).estimate[0], true)
    for n in (30, 100):
        found = [of(chosen, left=1 - n / 3000) for chosen in slices(3000, n)]
        assert BAND[0.95][0] <= np.mean([each.low[0] <= true <= each.high[0] for each in found]) <= BAND[0.95][1]


def test_kappa_is_undefined_where_both_always_say_the_same():
    agreement = clustered_shares(np.ones(9), np.zeros(9, int), np.arange(9), 1, 0.95)
    found = kappas(np.zeros(9), np.zeros(9), np.zeros(9, int), agreement, 0.95)
    assert np.isnan([found.estimate[0], found.low[0], found.high[0]]).all()
