"""Worker rates by hand, and spammers that cannot hide behind a frequent label."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc import DawidSkene, Votes
from amcc.consensus.workers import WorkerRates, likely_spammers, wilson_interval, worker_rates
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.kernels import Judgement


def rates_of(dense, truth):
    votes = Votes.from_dense(dense)
    q = np.asarray(truth, dtype=float)[votes.item, votes.label]
    slot, n_slots = votes.coins.slot, 2 * len(votes.coins)
    return worker_rates(votes, Judgement(*(np.bincount(slot, weights, n_slots) for weights in (q, q**2))))


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


def test_uncertain_judgement_does_not_dilute():
    """q is right on average: a worker with rates .9 and .1 keeps them although no single q is 0 or 1."""
    rng = np.random.default_rng(1)
    q = rng.choice([0.2, 0.7], size=(20_000, 1))
    truth = rng.random(q.shape) < q
    answers = rng.random(q.shape) < np.where(truth, 0.9, 0.1)
    rates = rates_of(np.where(answers, 1, -1)[None], q)
    assert_allclose([rates.hit_rate[0], rates.false_alarm_rate[0]], [0.9, 0.1], rtol=0, atol=0.03)


def test_worker_alone_on_the_items_counts_as_the_crowd_and_is_not_accused():
    truth = np.array([[1], [0]] * 50)
    company = np.where(truth, 1, -1)
    dense = np.zeros((3, 200, 1))
    dense[0, :100] = dense[1, :100] = company
    dense[2, 100:] = company
    q = np.concatenate([truth, np.full((100, 1), 0.5)])  # nobody else voted on the second half
    rates = rates_of(dense, q)
    assert rates.informativeness[2] == rates.informativeness[:2].mean()
    assert (rates.hit_rate_low[2], rates.hit_rate_high[2]) == (0, 1)
    assert not likely_spammers(rates).any()


@pytest.mark.parametrize("seed", range(3))
def test_spammers_of_a_simulated_crowd_are_found(seed):
    crowd = simulate_crowd(CrowdSpec.for_votes(10**5, seed=seed))
    accused = likely_spammers(DawidSkene().fit(crowd.votes).worker_rates_)
    guilty = np.char.endswith(crowd.worker_kind, "spammer")
    assert (accused & guilty).sum() >= 0.8 * accused.sum()
    assert (accused & guilty).sum() >= 0.8 * guilty.sum()


def test_honest_crowd_has_hardly_any_likely_spammer():
    crowd = simulate_crowd(CrowdSpec.for_votes(10**5, spammers=0.0))
    assert likely_spammers(DawidSkene().fit(crowd.votes).worker_rates_).mean() < 0.02


@pytest.mark.parametrize(("n_votes", "accused"), [(3, False), (300, True)])
def test_spammers_are_accused_on_enough_evidence_only(n_votes, accused):
    hit_rate, false_alarm_rate = np.array([0.8, 0.8, 0.3]), np.array([0.1, 0.1, 0.3])
    n = np.array([300.0, 300.0, n_votes])
    rates = WorkerRates(
        n.astype(int), hit_rate, *wilson_interval(hit_rate, n), false_alarm_rate, *wilson_interval(false_alarm_rate, n)
    )
    assert likely_spammers(rates).tolist() == [False, False, accused]


def test_worker_without_company_is_not_called_a_spammer():
    crowd = simulate_crowd(CrowdSpec(n_items=600, n_workers=12, seed=2))
    votes = crowd.votes
    loner = int(np.flatnonzero(crowd.worker_kind == "reliable")[0])
    his_items = np.isin(votes.item, votes.item[votes.worker == loner])
    rates = DawidSkene().fit(votes.select((votes.worker == loner) | ~his_items)).worker_rates_
    assert not likely_spammers(rates)[loner]
