"""When a pair needs no more answers: the model is sure, votes do not contradict it, and known truth bears it out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from amcc import AMCC, Truth, Votes, load_model
from amcc.consensus import DawidSkene, MajorityVote
from amcc.consensus.settling import (
    ASSUMED,
    CLAIMS,
    CONFIDENCE,
    SETTLED_ERROR,
    Settling,
    error_bound,
    measured_settling,
    settled,
)
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.truth import PairList


@pytest.mark.parametrize(
    ("n_yes", "n_no", "expected"),
    [
        (0, 0, False), (1, 0, False), (2, 0, True), (2, 1, True), (2, 2, False), (3, 2, True), (1, 1, False),
        (50, 50, False), (0, 3, False), (2, 7, False),
    ],
)  # fmt: skip
def test_votes_that_a_sure_model_needs(n_yes, n_no, expected):
    """Two that agree with it, and more than differ."""
    counts = np.array([n_yes]), np.array([n_yes + n_no])
    assert settled(np.ones(1), *counts).tolist() == [expected]
    mirrored = np.array([n_no]), np.array([n_yes + n_no])
    assert settled(np.zeros(1), *mirrored).tolist() == [expected]


def test_a_model_that_is_not_sure_settles_nothing():
    proba = np.array([0.05, 0.051, 0.5, 0.949, 0.951])
    n_yes = np.where(proba > 0.5, 100, 0)
    assert settled(proba, n_yes, np.full(5, 100)).tolist() == [True, False, False, False, True]
    assert settled(proba, n_yes, np.full(5, 100), claim=0.06).tolist() == [True, True, False, True, True]
    assert not settled(proba, n_yes, np.full(5, 100), claim=-1.0).any()


def test_one_family_alone_settles_nothing():
    proba, n_votes = np.array([1.0, 1.0, 0.0]), np.full(3, 9)
    n_yes = np.array([9, 9, 0])
    assert settled(proba, n_yes, n_votes, n_families=np.array([1, 2, 1])).tolist() == [False, True, False]
    assert ASSUMED.of(proba, n_yes, n_votes, np.array([0, 2, 3])).tolist() == [False, True, True]


def test_known_truth_is_settled_and_an_unasked_pair_is_not():
    """Item i0, label a: one vote, and known; b: asked of nobody. Item i1: three noes on a."""
    dense = [[[1, 0], [-1, -1]], [[0, 0], [-1, 1]], [[0, 0], [-1, 0]]]
    votes = Votes.from_dense(dense, item_names=["i0", "i1"], label_names=["a", "b"])
    pair = pa.table({"item": ["i0"], "label": ["a"]})
    model = MajorityVote().fit(votes, truth=Truth.from_frames(pair, known_pairs=pair))
    assert model.pairs()["settled"].to_list() == [1, 1, 0]
    assert model.pairs(all_labels=True)["settled"].to_list() == [1, 0, 1, 0]
    assert MajorityVote().fit(votes).pairs()["settled"].to_list() == [0, 1, 0]


def test_saved_and_applied_models_settle_alike(crowd, tmp_path):
    model = DawidSkene().fit(crowd.votes)
    expected = model.pairs()
    assert 0 < np.sum(expected["settled"]) < len(expected)
    model.save(tmp_path / "m")
    assert load_model(tmp_path / "m").pairs().equals(expected)
    assert_array_equal(model.applied_to(crowd.votes).pairs()["settled"], expected["settled"])


# -- measured --------------------------------------------------------------------------------------------------------


def known_pairs(n: int, claimed: float, n_wrong: int):
    """So many pairs of as many items, on all of which five workers and the model say no, some of them wrongly."""
    return np.full(n, claimed), np.zeros(n, int), np.full(n, 5), np.arange(n) < n_wrong, np.arange(n)


def test_the_bound_is_that_of_jeffreys_and_pairs_of_one_item_count_less():
    wrong = np.arange(40) < 1
    assert error_bound(wrong, np.arange(40)) == pytest.approx(stats.beta.ppf(CONFIDENCE, 1.5, 39.5))
    # 10 items with 4 pairs each: 40 / (1 + 3 · 0.1) single ones
    n_single = 40 / 1.3
    expected = stats.beta.ppf(CONFIDENCE, n_single / 40 + 0.5, n_single * 39 / 40 + 0.5)
    assert error_bound(wrong, np.arange(40) // 4) == pytest.approx(expected)
    assert error_bound(wrong[:0], np.arange(0)) == 1.0


def test_enough_truth_without_errors_allows_what_is_promised():
    assert measured_settling(*known_pairs(100, 0.05, 0)) == Settling("measured", 0.05, 100, 0)


def test_errors_among_the_less_sure_ask_for_surer_claims():
    """Of 100 pairs at 4 %, 20 are wrong; of 200 at 0.4 %, none is."""
    parts = [known_pairs(100, 0.04, 20), known_pairs(200, 0.004, 0)]
    joined = [np.concatenate(each) for each in zip(*parts, strict=True)]
    joined[-1] = np.arange(300)
    assert measured_settling(*joined) == Settling("measured", 0.03, 200, 0)  # 220 at 4 % would bring the errors


def test_scarce_truth_leaves_what_is_assumed_and_truth_against_it_settles_nothing():
    assert measured_settling(*known_pairs(5, 0.01, 0)) == replace(ASSUMED, n_checked=5)
    # With 0.6 errors in 20 pairs by experience: 1.6 in 32 are 5 %, in 31 they are more.
    assert measured_settling(*known_pairs(12, 0.01, 1)) == replace(ASSUMED, n_checked=12, n_wrong=1)
    assert measured_settling(*known_pairs(11, 0.01, 1)).claim < 0
    nothing = measured_settling(*known_pairs(50, 0.01, 10))
    assert (nothing.basis, nothing.n_wrong) == ("measured", 10)
    assert not nothing.of(np.zeros(3), np.zeros(3, int), np.full(3, 99)).any()
    assert "nothing is settled but what is known" in nothing.sentence()


def test_a_measured_rule_keeps_its_promise_on_average():
    """A model that claims 1 % and errs in 0, 4, 8 or 30 % of pairs; the rule sees 60 of them, and never the rest."""
    rng = np.random.default_rng(0)
    for error in (0.0, 0.04, 0.08, 0.3):
        shares = []
        for _ in range(200):
            proba, n_yes, n_votes, _, item = known_pairs(60, 0.01, 0)
            rule = measured_settling(proba, n_yes, n_votes, rng.random(60) < error, item)
            shares.append(error * (rule.claim >= 0.01))
        assert np.mean(shares) <= SETTLED_ERROR


def test_models_say_what_settled_rests_on(crowd, tmp_path):
    """Truth of 150 items is enough to measure by, also for a loaded model; without truth it is assumed."""
    item, label = np.nonzero(crowd.truth[:150])
    names = crowd.votes.item_names, crowd.votes.label_names
    pairs = pa.table({role: name.take(pa.array(code)) for role, name, code in
                      zip(("item", "label"), names, (item, label), strict=True)})  # fmt: skip
    items = pa.table({"item": names[0][:150]})
    model = DawidSkene().fit(crowd.votes, truth=Truth.from_frames(pairs, known_items=items))
    assert model.settled_basis_ == "measured"
    assert model.settling_.n_checked > 0
    assert model.settling_.claim in CLAIMS
    unseen = DawidSkene().fit(crowd.votes)
    assert_array_equal(model.pair_unseen_, unseen.pair_proba_)
    assert (unseen.settled_basis_, unseen.settling_.claim) == ("assumed", SETTLED_ERROR)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.settling_ == model.settling_
    assert loaded.pairs().equals(model.pairs())
    assert_array_equal(loaded.pair_known_, model.pair_known_)
    assert model.fit(crowd.votes).pair_known_ is None
    assert model.settled_basis_ == "assumed"


def test_truth_too_scarce_to_measure_by_settles_nothing_new():
    """It may make probabilities surer, but it is believed only where the votes alone were sure enough."""
    crowd = simulate_crowd(CrowdSpec.for_votes(5_000, seed=1))
    votes = crowd.votes
    names = votes.item_names.cast("string"), votes.label_names.cast("string")
    first = np.arange(votes.n_items) < 2

    def listed(mask):
        return PairList(*(name.take(pa.array(code)) for name, code in zip(names, np.nonzero(mask), strict=True)))

    everything = np.ones_like(crowd.truth)
    truth = Truth(listed(crowd.truth & first[:, None]), known_pairs=listed(everything & first[:, None]))
    plain, told = AMCC().fit(votes), AMCC().fit(votes, truth=truth)
    assert told.settled_basis_ == "assumed"
    elsewhere = votes.pairs.item >= 2
    assert not (told.pair_settled_ & ~plain.pair_settled_)[elsewhere].any()
