"""Soft labels: the share of competent people who would say yes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta

from amcc import Votes
from amcc.consensus import DawidSkene, MajorityVote
from amcc.consensus.soft_labels import (
    STRENGTHS,
    SoftLabels,
    beta_interval,
    competence,
    fitted_strength,
    learn_soft_labels,
    weighted_counts,
)
from amcc.consensus.workers import WorkerRates, likely_spammers
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import ColumnError, EmptyInputError, InputError
from amcc.soft_truth import SoftTruth

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "soft_labels.py"


def drawn_pairs(strength, mean, n_pairs=4000, n_votes=8, seed=0):
    """Shares of a label, and yeses among votes."""
    rng = np.random.default_rng(seed)
    share = rng.beta(strength * mean, strength * (1 - mean), n_pairs)
    return share, rng.binomial(n_votes, share).astype(float), np.full(n_pairs, float(n_votes))


@pytest.mark.parametrize("strength", [0.5, 4.0, 20.0])
def test_strength_of_a_label_is_found(strength):
    _, yes, total = drawn_pairs(strength, 0.3)
    (found,) = fitted_strength(yes, total, np.zeros(len(yes), np.int32), np.array([0.3]))
    assert abs(np.log(found / strength)) < 0.3  # the strengths tried lie .22 apart


def test_labels_have_strengths_of_their_own_and_few_pairs_lean_on_all():
    parts = [drawn_pairs(0.5, 0.3), drawn_pairs(20.0, 0.3, seed=1), drawn_pairs(0.5, 0.3, n_pairs=2, seed=2)]
    yes, total = (np.concatenate([part[which] for part in parts]) for which in (1, 2))
    label = np.repeat([0, 1, 2], [len(part[1]) for part in parts]).astype(np.int32)
    found = fitted_strength(yes, total, label, np.full(3, 0.3))
    assert found[0] < 1 < 10 < found[1]
    alone = fitted_strength(yes[:4000], total[:4000], label[:4000], np.full(3, 0.3))
    assert alone[0] < found[2] < found[1]
    assert set(found) <= set(STRENGTHS)


def test_soft_is_the_posterior_mean_by_hand():
    votes = Votes.from_dense([[[1]], [[1]], [[-1]], [[-1]]])
    soft = SoftLabels(np.array([1.0, 0.5, 1.0, 0.0]), np.array([0.2]), np.array([4.0])).shares(votes)
    for_yes, for_no = 1.5 + 0.8, 1.0 + 3.2
    assert_allclose(soft.mean, [for_yes / (for_yes + for_no)])
    assert_allclose([soft.low[0], soft.high[0]], beta(for_yes, for_no).ppf([0.025, 0.975]), atol=1e-3)


def test_intervals_hold_the_share_as_often_as_they_say():
    share, yes, total = drawn_pairs(3.0, 0.4)
    soft = SoftLabels(np.ones(1), np.array([0.4]), np.array([3.0]))._posterior(yes, total, np.zeros(len(yes), int))
    inside = (soft.low <= share) & (share <= soft.high)
    assert abs(inside.mean() - 0.95) < 0.01


def test_interval_of_nearly_certain_pairs_stays_in_range():
    low, high = beta_interval(np.array([1e-6, 2e5]), np.array([300.0, 1e-6]))
    assert (low >= 0).all()
    assert (high <= 1).all()
    assert (low <= high).all()


def test_votes_of_spammers_hardly_count():
    crowd = simulate_crowd(CrowdSpec(n_items=400, n_workers=20, n_labels=5, answers_per_item=8, spammers=0.3, seed=2))
    rates = DawidSkene().fit(crowd.votes).worker_rates_
    weight, spammer = competence(rates), likely_spammers(rates)
    assert 0 < spammer.sum() < 12
    assert weight[spammer].max() < 0.1
    assert weight[~spammer].mean() > 0.8
    yes, total = weighted_counts(crowd.votes, weight)
    assert (yes <= total).all()
    assert total.sum() < len(crowd.votes)


def test_competence_of_a_beginner_is_between_that_of_experts_and_spammers():
    hit, false_alarm = np.array([0.95, 0.95, 0.5, 0.7]), np.array([0.05, 0.05, 0.5, 0.4])
    margin = np.array([0.02, 0.02, 0.02, 0.4])
    rates = WorkerRates.of_independent(
        np.full(4, 100), hit, hit - margin, hit + margin, false_alarm, false_alarm - margin, false_alarm + margin
    )
    good, _, spammer, beginner = competence(rates)
    assert good > 0.999 > beginner > 0.5 > 0.01 > spammer


def test_few_votes_come_nearer_to_what_all_people_say():
    """Shares vary from pair to pair; four voters are seen, and what all would say is known."""
    rng = np.random.default_rng(0)
    share = rng.beta(1.0, 2.0, (500, 3))
    votes = Votes.from_dense(np.where(rng.random((4, 500, 3)) < share, 1, -1))
    soft = MajorityVote().fit(votes).pairs(soft=True)["soft"].to_numpy()
    raw = votes.n_yes / votes.pairs.n_votes
    assert ((soft - share.ravel()) ** 2).mean() < 0.75 * ((raw - share.ravel()) ** 2).mean()


def test_labels_nobody_ticked_are_not_impossible():
    votes = Votes.from_dense(np.full((3, 5, 1), -1))
    learned = learn_soft_labels(votes, np.ones(3))
    assert 0 < learned.shares(votes).mean.max() < 0.1


# -- on real people ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "k"), [("apple_nakamura", 3), ("love_ekman", 5), ("imagenet_real_golden", 10)])
def test_held_out_people_are_predicted_better_than_by_the_share_of_yes(shared_data, name, k):
    from amcc.data.layout import read_crowd

    spec = importlib.util.spec_from_file_location("soft_bench", SCRIPT)
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    votes = read_crowd(shared_data / name).votes
    rows = [bench.scores(votes, k, seed, "majority") for seed in range(3)]
    manhattan, cross_entropy = (
        {which: np.mean([row[which][place] for row in rows]) for which in bench.PREDICTIONS} for place in (0, 1)
    )
    assert cross_entropy["soft"] < 0.99 * min(cross_entropy["raw"], cross_entropy["jeffreys"])
    assert manhattan["soft"] < 1.03 * manhattan["raw"]  # where nearly all agree, 0 and 1 are hard to beat


# -- soft truth ----------------------------------------------------------------------------------------------------


def test_votes_of_other_people_are_a_soft_truth():
    frame = pa.table({"worker": list("abcab"), "item": [1, 1, 1, 2, 2], "label": ["x"] * 5, "value": [1, 0, 1, 0, 0]})
    truth = SoftTruth.from_frame(frame)
    assert truth.pairs.item.to_pylist() == ["1", "2"]
    assert_allclose(truth.share, [2 / 3, 0])


@pytest.mark.parametrize("name", ["share", "soft", "Yes share"])
def test_shares_by_name(name):
    truth = SoftTruth.from_frame(pa.table({"task": ["a"], "label": ["x"], name: ["0.25"]}))
    assert truth.share.tolist() == [0.25]


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ({"item": ["a"], "label": ["x"]}, ColumnError, "must have one column 'share'"),
        ({"item": ["a"], "label": ["x"], "share": [1.5]}, InputError, "between 0 and 1; row 1 has 1.5"),
        ({"item": ["a"], "label": ["x"], "share": [None]}, InputError, "between 0 and 1; row 1 has nan"),
        ({"item": ["a"], "label": ["x"], "share": ["much"]}, InputError, "must hold numbers"),
        ({"item": ["a", "a"], "label": ["x", "x"], "share": [0.1, 0.2]}, InputError, "row 2 repeats row 1"),
        ({"item": pa.array([], "string"), "label": pa.array([], "string"), "share": []}, EmptyInputError, "one row"),
    ],
)
def test_what_a_soft_truth_must_not_hold(columns, error, message):
    with pytest.raises(error, match=message):
        SoftTruth.from_frame(pa.table(columns))
