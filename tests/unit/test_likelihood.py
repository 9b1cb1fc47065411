"""The likelihood form: one bound that never falls, integrals done right, groups that mean something."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import beta

from amcc import DawidSkene, MajorityVote, metrics
from amcc.consensus.amcc import likelihood as module
from amcc.consensus.amcc.likelihood import Counts, Rates, fit_likelihood, start_crowd
from amcc.consensus.base import Gold
from amcc.data.simulate import CrowdSpec, simulate_crowd


def fit(votes, **changes):
    nothing = np.zeros(len(votes.pairs), dtype=bool)
    return fit_likelihood(votes, Gold(nothing, nothing), **{"n_groups": 5, "max_iter": 400, "tol": 1e-4, **changes})


def some_rates(rng, n_labels=4, n_groups=3):
    shift, strength = rng.normal(size=n_groups), rng.choice([0.5, 2.0, 8.0, 64.0], size=n_groups)
    return Rates(0.5, 0.4, rng.normal(size=n_labels), shift, strength)


def some_counts(rng, n_coins=40):
    total = rng.gamma(2.0, 3.0, size=n_coins)
    return Counts(total * rng.random(n_coins), total), rng.integers(4, size=n_coins).astype(np.int32)


def test_marginal_is_the_integral_over_the_rate():
    rates = Rates(0.0, 0.0, np.array([0.3]), np.array([-0.5]), np.array([6.0]))
    usual = expit(-0.2)
    prior = beta(6 * usual, 6 * (1 - usual))
    integral, _ = quad(lambda p: p**2.5 * (1 - p) ** 1.5 * prior.pdf(p), 0, 1)
    value = rates.log_marginal(np.zeros(1, np.int32), Counts(np.array([2.5]), np.array([4.0])))
    assert value[0, 0] == pytest.approx(np.log(integral), rel=1e-6)


def test_expected_log_rates_are_those_of_the_posterior():
    rates = Rates(0.0, 0.0, np.array([0.3]), np.array([-0.5]), np.array([6.0]))
    posterior = beta(6 * expit(-0.2) + 3, 6 * (1 - expit(-0.2)) + 1)
    hit, miss = rates.expected_log_rates(np.zeros(1, np.int32), Counts(np.array([3.0]), np.array([4.0])))
    assert hit[0, 0] == pytest.approx(posterior.expect(np.log), rel=1e-6)
    assert miss[0, 0] == pytest.approx(posterior.expect(lambda p: np.log1p(-p)), rel=1e-6)


def test_slopes_are_derivatives():
    rng = np.random.default_rng(0)
    rates, (counts, label) = some_rates(rng), some_counts(rng)
    member = rng.dirichlet(np.ones(3), size=40)
    slope, _ = module._slopes(rates, label, counts, member)
    step = 1e-5
    for group in range(3):
        nudge = np.eye(3)[group] * step
        ahead, behind = (
            (member * replace(rates, shift=rates.shift + sign * nudge).log_marginal(label, counts)).sum()
            for sign in (1, -1)
        )
        assert slope[:, group].sum() == pytest.approx((ahead - behind) / (2 * step), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("update", [module.update_strength, module.update_labels, module.update_shifts])
@pytest.mark.parametrize("seed", range(5))
def test_no_update_lowers_the_bound(update, seed):
    rng = np.random.default_rng(seed)
    rates, (counts, label) = some_rates(rng), some_counts(rng)
    member = rng.dirichlet(np.ones(3), size=40)

    def bound(some):
        return (member * some.log_marginal(label, counts)).sum() + some.log_prior()

    risen = [bound(rates)]
    for _ in range(30):
        rates = update(rates, label, counts, member)
        risen.append(bound(rates))
    assert np.all(np.diff(risen) >= -1e-9 * abs(risen[0]))
    assert risen[-1] > risen[0]
    assert risen[-1] - risen[-2] < 1e-6  # and it arrives


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("asked_share", [1.0, 0.6])
def test_bound_never_falls(seed, asked_share):
    spec = CrowdSpec(n_items=150, n_workers=20, n_labels=5, asked_share=asked_share, spammers=0.4, seed=seed)
    history = np.array(fit(simulate_crowd(spec).votes, tol=1e-6, max_iter=1000).monitor.history)
    assert len(history) > 5
    assert np.all(np.diff(history[1:]) >= -1e-9 * abs(history[1]))  # the first round has no entropy yet


def test_groups_tell_spammers_apart():
    crowd = simulate_crowd(CrowdSpec(n_items=800, n_workers=50, n_labels=8, spammers=0.4, seed=2))
    result = fit(crowd.votes).crowd
    usual = (result.hit.commonality - result.false_alarm.commonality).mean(axis=1)
    informativeness = result.member @ usual
    spammer = np.char.endswith(crowd.worker_kind, "spammer")
    assert informativeness[spammer].max() < np.median(informativeness[~spammer])


def test_beats_dawid_skene_where_workers_are_few_and_spam():
    gains = []
    for seed in range(3):
        crowd = simulate_crowd(CrowdSpec(n_items=300, n_workers=40, n_labels=8, spammers=0.5, seed=seed))
        proba = np.tile((result := fit(crowd.votes)).label_prior, (300, 1))
        proba[crowd.votes.pairs.item, crowd.votes.pairs.label] = result.pair_proba
        ours = metrics.jaccard(crowd.truth, proba > 0.5)
        rivals = [metrics.jaccard(crowd.truth, m().fit(crowd.votes).predict()) for m in (DawidSkene, MajorityVote)]
        gains.append(ours - max(rivals))
    assert np.mean(gains) > 0


def test_start_has_reliable_workers_first_and_spammers_last():
    crowd = start_crowd(3, 2, 5)
    informativeness = (crowd.hit.commonality - crowd.false_alarm.commonality).mean(axis=1)
    assert np.all(np.diff(informativeness) < 0)
    assert_allclose(crowd.member.sum(axis=1), 1)
    alone = start_crowd(3, 2, 1)
    assert_allclose(alone.hit.commonality, 0.7)
    assert_allclose(alone.false_alarm.commonality, 0.05)
