"""How far votes allow what the model supposes: each is predicted from the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit

from amcc import AMCC, Votes
from amcc.consensus.default import trust
from amcc.consensus.default.correlation import LabelSets, learn_label_sets
from amcc.consensus.default.crowd import crowd_prior, start_crowd
from amcc.consensus.default.likelihood import fit_likelihood
from amcc.consensus.default.settings import Settings
from amcc.consensus.default.trust import (
    Trust,
    ask_votes,
    clustered_z,
    gate,
    labels_predict,
    leave_votes_out,
    log_probability,
)
from amcc.consensus.signature import signatures
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.base import InMemory

SETTINGS = Settings()
PRIOR = crowd_prior(SETTINGS)


def fitted(votes, max_iter=60):
    start = start_crowd(votes.n_workers, votes.n_labels, 5, PRIOR)
    return fit_likelihood(InMemory(votes), start, PRIOR, max_iter=max_iter, tol=5e-4)


def asked(votes, **settings):
    """The answers; without `settings`, however few the votes are."""
    engine, fit = InMemory(votes), fitted(votes)
    chosen = Settings(**settings) if settings else Settings(independent_votes=0, correlated_items=0)
    lot = signatures(engine, 0).uniform
    return ask_votes(engine, lot, fit, learn_label_sets(engine, fit, lot, chosen), fitted, chosen)


def dense_crowd(seed=0, n_workers=8, n_items=150, n_labels=12):
    """Few workers who answer everything, about pairs that more or fewer people would say yes to."""
    rng = np.random.default_rng(seed)
    degree = 1.6 * logit(rng.uniform(0.03, 0.12, n_labels)) + rng.normal(0, 2.2, (n_items, n_labels))
    lean = rng.normal(0, 0.7, (n_workers, 1, 1))
    yes = rng.random((n_workers, n_items, n_labels)) < expit(rng.uniform(0.8, 1.4, (n_workers, 1, 1)) * degree + lean)
    return Votes.from_dense(np.where(yes, 1, -1))


# -- standard errors ---------------------------------------------------------------------------------------------------


def test_error_is_that_of_items():
    """Votes on an item that all repeat one another count as one: the same gain, a larger error."""
    rng = np.random.default_rng(0)
    gain = rng.normal(0.3, 1.0, 400)
    apart, item = clustered_z(gain, np.arange(400)), np.repeat(np.arange(400), 9)
    assert clustered_z(np.repeat(gain, 9), item) == pytest.approx(apart)
    assert clustered_z(np.repeat(gain, 9), np.arange(3600)) == pytest.approx(3 * apart, rel=1e-6)


def test_z_is_standard_normal_where_nothing_is_gained():
    rng = np.random.default_rng(1)
    item = np.repeat(np.arange(100), 5)
    z = [clustered_z(rng.normal(size=500) + np.repeat(rng.normal(size=100), 5), item) for _ in range(400)]
    assert np.mean(z) == pytest.approx(0, abs=0.15)
    assert np.std(z) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("gain", [[], [1.0], [0.0, 0.0]])
def test_nothing_to_compare_is_no_gain(gain):
    assert clustered_z(np.array(gain), np.arange(len(gain))) == 0


# -- leaving votes out -------------------------------------------------------------------------------------------------


def test_presence_without_a_vote_against_brute_force(toy_votes):
    fit = fitted(toy_votes)
    others = leave_votes_out(toy_votes, fit).others
    for number in range(len(toy_votes)):
        same = (toy_votes.item == toy_votes.item[number]) & (toy_votes.label == toy_votes.label[number])
        same[number] = False
        evidence = fit.evidence[toy_votes.coins.slot[same]].sum()
        assert others[number] == pytest.approx(expit(logit(fit.frequency)[toy_votes.label[number]] + evidence))


def test_rates_without_a_vote_against_brute_force(toy_votes):
    fit = fitted(toy_votes)
    found, crowd = leave_votes_out(toy_votes, fit), fit.crowd
    slot = toy_votes.coins.slot
    total = {}
    for number, each in enumerate(slot.tolist()):
        total.setdefault(each, []).append(number)
    number = 0
    coin, worker, label = slot[0] >> 1, toy_votes.worker[0], toy_votes.label[0]
    is_yes = toy_votes.value[0] > 0
    yes, no = fit.counts.total.yes[coin] - is_yes, fit.counts.total.no[coin] - (not is_yes)
    usual = crowd.uninformative.pseudo_votes
    rate = (usual.yes[:, label] + yes) / (usual.yes[:, label] + usual.no[:, label] + yes + no)
    assert found.by_chance[number] == pytest.approx(crowd.uninformative_member[worker] @ rate)


def test_rates_are_shares_of_those_who_look(crowd):
    fit = fitted(crowd.votes)
    found, looks = leave_votes_out(crowd.votes, fit), fit.crowd.looks[crowd.votes.worker]
    for rate in (found.hit, found.false_alarm):
        assert (rate >= 0).all()
        assert (rate <= looks + 1e-12).all()
    assert (found.by_chance <= 1 - looks + 1e-12).all()


def test_discounted_votes_lie_between_the_prior_and_what_they_say(crowd):
    coins = leave_votes_out(crowd.votes, fitted(crowd.votes))
    assert_allclose(coins.discounted(1.0), coins.others, rtol=1e-9)
    assert_allclose(coins.discounted(0.0), expit(coins.prior), rtol=1e-9)
    half, both = coins.discounted(0.5), (expit(coins.prior), coins.others)
    assert ((np.minimum(*both) <= half + 1e-12) & (half <= np.maximum(*both) + 1e-12)).all()


# -- the questions -----------------------------------------------------------------------------------------------------


def test_independent_votes_are_recognised():
    assert asked(simulate_crowd(CrowdSpec.for_votes(100_000, seed=0)).votes).independence > 0.9


def test_votes_that_agree_for_other_reasons_are_recognised():
    assert asked(dense_crowd()).independence < 1e-3


def test_labels_help_where_they_come_together():
    """Where they do not, a fit to so few items may find some of it by chance."""
    spec = CrowdSpec(n_items=300, n_workers=30, n_labels=8, seed=0)
    assert asked(simulate_crowd(replace(spec, correlation=0.9)).votes).correlation > 0.9
    apart = [asked(simulate_crowd(replace(spec, correlation=0.0, seed=seed)).votes).correlation for seed in range(4)]
    assert np.mean(apart) < 0.5


def test_gates_move_from_0_to_1():
    assert gate(2.0, middle=2.0) == 0.5
    assert gate(3.0, middle=2.0) == pytest.approx(expit(1.0))
    assert gate(-50.0, 2.0) < 1e-9 < 1 - 1e-9 < gate(50.0, 2.0)


def test_answers_are_believed_as_far_as_there_are_votes_and_items(crowd):
    votes = crowd.votes
    free = asked(votes, independent_z=-100.0, independent_votes=0, correlated_items=0)
    held = asked(votes, independent_z=-100.0, independent_votes=3 * len(votes), correlated_items=votes.n_items)
    assert free.independence == pytest.approx(1.0)
    assert held.independence == pytest.approx(free.independence / 4)
    assert held.correlation == pytest.approx(free.correlation / 2)


def test_single_votes_answer_nothing():
    dense = np.zeros((5, 20, 3), dtype=int)
    dense[np.arange(20) % 5, np.arange(20)] = np.random.default_rng(0).choice([-1, 1], size=(20, 3))
    assert asked(Votes.from_dense(dense)) == Trust()


def test_large_data_are_asked_by_a_sample_of_whole_items(crowd, monkeypatch):
    """Coins that answer are fitted to the sample alone."""
    seen, votes = [], crowd.votes
    monkeypatch.setattr(trust, "SAMPLE", len(votes) // 2)
    leave = trust.leave_votes_out
    monkeypatch.setattr(trust, "leave_votes_out", lambda *given: seen.append(given) or leave(*given))
    AMCC().fit(votes)
    ((part, fit),) = seen
    assert 0.2 * len(votes) < len(part) < 0.8 * len(votes)
    assert set(np.bincount(part.item)) - {0} <= set(np.bincount(votes.item))
    assert fit.counts.total.yes.sum() + fit.counts.total.no.sum() == pytest.approx(len(part))


def test_below_the_sample_sizes_chance_changes_nothing(crowd):
    one, other = (AMCC(random_state=seed).fit(crowd.votes) for seed in (0, 7))
    assert_array_equal(one.pair_proba_, other.pair_proba_)
    assert one.trust_ == other.trust_


def test_one_kind_of_items_changes_no_prediction(crowd):
    votes = crowd.votes
    fit = fitted(votes)
    coins = leave_votes_out(votes, fit)
    alone = LabelSets(np.ones(1), np.clip(fit.frequency, 1e-9, 1)[None])
    assert_allclose(labels_predict(votes, fit, alone, coins), coins.predict(coins.others), rtol=1e-9)


def test_a_vote_is_predicted_without_the_answer_it_is_part_of():
    """Two items that nobody else answered: what the worker says about one label must not predict the other."""
    dense = np.zeros((2, 40, 2), dtype=int)
    dense[0] = np.where(np.arange(40) % 2 == 0, 1, -1)[:, None]
    dense[1, 2:] = dense[0, 2:]
    votes = Votes.from_dense(dense)
    fit = fitted(votes)
    sets = LabelSets(np.array([0.5, 0.5]), np.array([[0.95, 0.95], [0.05, 0.05]]))
    yes = labels_predict(votes, fit, sets, leave_votes_out(votes, fit))
    on_first = votes.item == 0
    same_without = labels_predict(votes, fit, LabelSets(np.array([0.5, 0.5]), np.full((2, 2), 0.5)),
                                  leave_votes_out(votes, fit))  # fmt: skip
    assert_allclose(yes[on_first], same_without[on_first])


def test_one_slip_does_not_decide(toy_votes):
    sure = log_probability(toy_votes, (toy_votes.value < 0).astype(float))  # certain of the opposite
    assert_allclose(sure, np.log(trust.LEAST_PROBABLE))
