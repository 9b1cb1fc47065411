"""Dawid–Skene against the worked numbers of the specification, §3.2, and its own promises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import amcc
from amcc import ConvergenceWarning, ParameterError, Votes, metrics
from amcc.consensus import DawidSkene, MajorityVote
from amcc.consensus.models.dawid_skene import log_prior, slot_evidence
from amcc.data.simulate import CrowdSpec, simulate_crowd

PRINTED = {"rtol": 0, "atol": 5e-7}  # the specification prints six digits
SMOOTHED = {"hit_prior": (2, 1), "false_alarm_prior": (1, 2), "prevalence_prior": (1, 1)}
UNSMOOTHED = {"hit_prior": (0, 0), "false_alarm_prior": (0, 0), "prevalence_prior": (0, 0)}


def after_one_round(votes, **priors):
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 iterations.*raise max_iter"):
        return DawidSkene(**priors, max_iter=1).fit(votes)


def of_first_label(rates):
    """Coins are sorted by worker, then label; all three workers met both labels."""
    return rates[0::2]


def test_one_round_without_smoothing(toy_votes):
    model = after_one_round(toy_votes, **UNSMOOTHED)
    assert_allclose(model.predict_proba(), [[8 / 9, 1 / 9], [0, 1]], rtol=0, atol=1e-9)  # certainty ends at 1e-10
    assert_allclose(model.label_prior_, [1 / 3, 2 / 3], rtol=1e-12)
    assert_allclose(of_first_label(model.hit_rate_), [1, 1, 0], rtol=1e-12)
    assert_allclose(1 - of_first_label(model.false_alarm_rate_), [3 / 4, 3 / 4, 1], rtol=1e-12)


def test_one_round_with_smoothing(toy_votes):
    model = after_one_round(toy_votes, **SMOOTHED)
    assert model.label_prior_[0] == pytest.approx(0.416667, abs=5e-7)
    assert_allclose(of_first_label(model.hit_rate_), [0.727273, 0.727273, 0.545455], **PRINTED)
    # w3 was not asked about l1 on i2; reading that as "no" would give .769231
    assert_allclose(1 - of_first_label(model.false_alarm_rate_), [0.692308, 0.692308, 0.7], **PRINTED)
    assert_allclose(model.predict_proba(), [[0.721547, 0.297791], [0.099787, 0.938525]], **PRINTED)


def test_converged_with_smoothing(toy_votes):
    model = DawidSkene(**SMOOTHED, tol=1e-10).fit(toy_votes)
    assert_allclose(model.predict_proba(), [[0.780086, 0.245026], [0.135912, 0.920907]], **PRINTED)
    assert model.converged_


def test_symmetric_priors_collapse(toy_votes):
    """Why the default is not symmetric: with (1, 1) everything on the toy data becomes uncertain."""
    model = DawidSkene(hit_prior=(1, 1), false_alarm_prior=(1, 1), prevalence_prior=(1, 1), tol=1e-9, max_iter=5000)
    assert_allclose(model.fit(toy_votes).predict_proba(), 0.5, rtol=0, atol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_objective_never_falls(seed):
    crowd = simulate_crowd(CrowdSpec(n_items=150, n_workers=20, n_labels=5, asked_share=0.7, seed=seed))
    history = DawidSkene(tol=1e-8, max_iter=2000).fit(crowd.votes).objective_history_
    assert len(history) > 5
    assert np.all(np.diff(history) >= -1e-9 * abs(history[0]))


def test_objective_is_the_log_posterior(toy_votes):
    """Against a sum over both truths of every pair, straight from the definition."""
    model = after_one_round(toy_votes, **SMOOTHED)
    dense, expected = toy_votes.to_dense(), 0.0
    hit, false_alarm = np.zeros((2, 3, 2))
    hit[model.coin_worker_, model.coin_label_] = model.hit_rate_
    false_alarm[model.coin_worker_, model.coin_label_] = model.false_alarm_rate_
    for item in range(2):
        for label in range(2):
            asked = dense[:, item, label] != 0
            yes = dense[asked, item, label] > 0
            chance = [np.where(yes, rate[asked, label], 1 - rate[asked, label]).prod() for rate in (hit, false_alarm)]
            prevalence = model.label_prior_[label]
            expected += np.log(prevalence * chance[0] + (1 - prevalence) * chance[1])
    for rates, prior in (
        (model.hit_rate_, (2, 1)), (model.false_alarm_rate_, (1, 2)), (model.label_prior_, (1, 1))
    ):  # fmt: skip
        expected += (prior[0] * np.log(rates) + prior[1] * np.log(1 - rates)).sum()
    assert model.objective_history_[0] == pytest.approx(expected, rel=1e-12)


def test_recovers_planted_rates():
    """Within .05 on average over 5 seeds, for coins that were thrown often."""
    errors = []
    for seed in range(5):
        spec = CrowdSpec(n_items=3000, n_workers=8, n_labels=4, answers_per_item=6, spammers=0, difficulty=0, seed=seed)
        crowd = simulate_crowd(spec)
        model = DawidSkene().fit(crowd.votes)
        planted = crowd.hit_rate[model.coin_worker_, model.coin_label_]
        errors.append(np.abs(model.hit_rate_ - planted).mean())
        planted = crowd.false_alarm_rate[model.coin_worker_, model.coin_label_]
        errors.append(np.abs(model.false_alarm_rate_ - planted).mean())
    assert np.mean(errors) < 0.05


def test_silences_spammers():
    """A crowd with spammers: far better than majority, and close to knowing the rates."""
    gains = []
    for seed in range(3):
        crowd = simulate_crowd(CrowdSpec(n_items=600, n_workers=40, n_labels=10, spammers=0.4, seed=seed))
        ours = metrics.jaccard(crowd.truth, DawidSkene().fit(crowd.votes).predict())
        gains.append(ours - metrics.jaccard(crowd.truth, MajorityVote().fit(crowd.votes).predict()))
    assert np.mean(gains) > 0.1


def test_new_worker_counts_as_average():
    crowd = simulate_crowd(CrowdSpec(n_items=300, n_workers=20, n_labels=4, seed=1))
    model = DawidSkene().fit(crowd.votes)
    newcomer = Votes.from_dense([[[1, 0, 0, 0]]], worker_names=["nobody"], label_names=crowd.votes.label_names)
    odds = model.label_prior_[0] / (1 - model.label_prior_[0])
    odds *= model.average_hit_rate_[0] / model.average_false_alarm_rate_[0]
    assert model.predict_proba(newcomer)[0, 0] == pytest.approx(odds / (1 + odds))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"hit_prior": (1, -1)}, "hit_prior must be two numbers >= 0"),
        ({"false_alarm_prior": (1, 2, 3)}, "false_alarm_prior"),
        ({"prevalence_prior": (np.nan, 1)}, "prevalence_prior"),
        ({"max_iter": 0}, "max_iter must be at least 1; got 0"),
        ({"tol": 0.0}, "tol must be positive"),
    ],
)
def test_bad_parameters(toy_votes, params, message):
    with pytest.raises(ParameterError, match=message):
        DawidSkene(**params).fit(toy_votes)


def test_five_votes():
    """Three against two on one question: no priors of ours overrule the crowd."""
    dense = np.array([1, 1, 1, -1, -1]).reshape(5, 1, 1)
    assert DawidSkene().fit(Votes.from_dense(dense)).predict()[0, 0]
    assert not DawidSkene().fit(Votes.from_dense(-np.ones((5, 1, 1)))).predict()[0, 0]


def test_real_data(shared_data):
    """The bar of the specification on SONYC fine tags; majority has .44."""
    folder = shared_data / "sonyc_ust_fine_val"
    votes = amcc.read_votes(folder / "annotations.csv.gz")
    truth = amcc.read_truth(folder / "truth.csv", known_items=folder / "truth_items.csv")
    true, known = truth.matrices(votes.item_names, votes.label_names)
    assert metrics.jaccard(true, DawidSkene().fit(votes).predict(), known) >= 0.5


def test_gold_pairs_teach_about_workers():
    """A worker who contradicts known truth loses against one who agrees with it."""
    dense = np.array([[[1]] * 10 + [[1]], [[-1]] * 10 + [[-1]]])
    votes = Votes.from_dense(dense, item_names=[f"i{n:02d}" for n in range(11)], label_names=["l"])
    known = {"item": [f"i{n:02d}" for n in range(10)]}
    import pandas as pd

    def proba(true_items):
        truth = amcc.Truth.from_frames(
            pd.DataFrame({"item": true_items, "label": ["l"] * len(true_items)}), known_items=pd.DataFrame(known)
        )
        return DawidSkene().fit(votes, truth=truth).predict_proba()[10, 0]

    assert proba(known["item"]) > 0.5 > proba([])
    assert_array_equal(votes.to_dense(), dense)


def test_a_thousand_votes_on_one_pair_do_not_underflow():
    """A product of a thousand probabilities is 0.0; a sum of their logs is not."""
    dense = np.ones((1000, 2, 1))
    dense[:, 1] = -1
    proba = DawidSkene().fit(Votes.from_dense(dense)).predict_proba()
    assert_allclose(proba[:, 0], [1, 0], rtol=0, atol=1e-9)


# -- parts -----------------------------------------------------------------------------------------------------------


def test_evidence_of_slots_by_hand():
    """Hit rate .8, false alarms .2: a yes is worth log 4, a no as much against it; a coin of equal rates nothing."""
    found = slot_evidence(np.array([0.8, 0.3]), np.array([0.2, 0.3]))
    assert_allclose(found, [-np.log(4), np.log(4), 0, 0], rtol=0, atol=1e-12)


def test_certain_rates_have_finite_evidence():
    assert np.isfinite(slot_evidence(np.array([1.0, 0.0]), np.array([0.0, 1.0]))).all()


def test_log_prior_is_highest_at_its_mode():
    """Beta(1 + 3, 1 + 1) has its mode at 3/4."""
    grid = np.linspace(0.01, 0.99, 99)
    values = [log_prior(np.array([rate]), (3.0, 1.0)) for rate in grid]
    assert grid[np.argmax(values)] == pytest.approx(0.75)
    assert log_prior(grid, (0.0, 0.0)) == 0


def test_average_rates_are_those_of_one_worker_with_all_votes(toy_votes):
    """As if w1, w2 and w3 were one: the M-step on votes pooled by label."""
    model = DawidSkene(**SMOOTHED, tol=1e-10).fit(toy_votes)
    proba, dense = model.predict_proba(), toy_votes.to_dense()
    for label in range(2):
        yes, no = (dense[:, :, label] > 0).sum(axis=0), (dense[:, :, label] < 0).sum(axis=0)
        present = proba[:, label]
        hit = ((yes * present).sum() + 2) / (((yes + no) * present).sum() + 3)
        false_alarm = ((yes * (1 - present)).sum() + 1) / (((yes + no) * (1 - present)).sum() + 3)
        assert model.average_hit_rate_[label] == pytest.approx(hit, abs=1e-6)
        assert model.average_false_alarm_rate_[label] == pytest.approx(false_alarm, abs=1e-6)


def test_without_data_and_prior_rates_are_one_half():
    """A worker who only met labels that are certainly absent: no prior, so nothing is known of their hits."""
    model = DawidSkene(**UNSMOOTHED).fit(Votes.from_dense(-np.ones((3, 4, 1))))
    assert_array_equal(model.hit_rate_, 0.5)
    assert_array_equal(model.false_alarm_rate_, 0)


def test_a_new_label_is_an_average_one(toy_votes):
    model = DawidSkene().fit(toy_votes)
    other = Votes.from_dense([[[1]]], worker_names=["w1"], label_names=["new"])
    prior, hit = model.label_prior_.mean(), model.average_hit_rate_.mean()
    odds = prior / (1 - prior) * hit / model.average_false_alarm_rate_.mean()
    assert model.predict_proba(other)[0, 0] == pytest.approx(odds / (1 + odds))


def test_new_votes_of_the_same_crowd_give_the_same_probabilities(crowd):
    model = DawidSkene(tol=1e-10, max_iter=5000).fit(crowd.votes)
    assert_allclose(model.predict_proba(crowd.votes), model.predict_proba(), rtol=0, atol=1e-8)
