"""Scores of questions, against numbers worked by hand; those of the specification are quoted."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc.active import scores

EXACT = {"rtol": 0, "atol": 1e-12}
PRINTED = {"rtol": 0, "atol": 5e-7}  # six printed digits
SINGLE = {"rtol": 1e-6, "atol": 0}


# -- pairs -----------------------------------------------------------------------------------------------------------


def test_eq7_is_largest_at_one_half_and_nan_where_nothing_may_be_asked():
    proba, allowed = np.array([[0.5, 0.9, 0.0], [1.0, 0.3, 0.5]]), np.array([[True] * 3, [True, True, False]])
    assert_allclose(scores.pair_uncertainty(proba, allowed), [[1.0, 0.6, 0.5], [0.5, 0.8, np.nan]], **EXACT)


def test_eq8_averages_over_unqueried_labels():
    correlation = np.array([[1.0, -0.5, 0.2], [-0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    unqueried = np.array([[True, True, True], [False, True, True], [False, False, True], [False, False, False]])
    expected = [
        [1.7 / 3, 1.9 / 3, 1.6 / 3],
        [0.7 / 2, 1.4 / 2, 1.4 / 2],  # the first label is queried: only its relation to the other two counts
        [0.0, 0.0, 0.0],  # one left
        [0.0, 0.0, 0.0],
    ]
    assert_allclose(scores.correlation_gain(correlation, unqueried), expected, **EXACT)


def test_eq9_mixes():
    u1, u2 = np.array([0.6, np.nan]), np.array([0.2, 0.2])
    assert_allclose(scores.pair_utility(u1, u2), [0.3 * 0.2 + 0.7 * 0.6, np.nan], **EXACT)
    assert_allclose(scores.pair_utility(u1, u2, 0.9), [0.9 * 0.2 + 0.1 * 0.6, np.nan], **EXACT)


# -- workers ---------------------------------------------------------------------------------------------------------


def test_eq11_likelihood_is_the_chance_to_repeat_the_consensus_per_asked_label():
    hit, false_alarm = np.array([[0.9, 0.8, 0.6], [1.0, 1.0, 1.0]]), np.array([[0.1, 0.3, 0.5], [1.0, 1.0, 1.0]])
    present = np.array([[True, False, False], [True, True, True]])
    asked = np.array([[True, True, False], [False, False, False]])
    likelihood = scores.answer_likelihood(present, asked, hit, false_alarm)
    # first item: hit on label 1, rejection of label 2; the second was never asked about: all labels count
    assert_allclose(likelihood[:, 0], [np.sqrt(0.9 * 0.7), np.cbrt(0.9 * 0.8 * 0.6)], **SINGLE)
    assert_allclose(likelihood[:, 1], [np.sqrt(scores.NEAREST_RATE), 1.0], **SINGLE)  # they say yes to everything


def test_eq11_likelihood_of_many_labels_is_no_zero():
    n_labels = 400  # .1 to the power of 400 is below every float
    one = np.ones((1, n_labels), dtype=bool)
    rates = np.full((1, n_labels), 0.1)
    assert_allclose(scores.answer_likelihood(one, one, rates, rates), [[0.1]], **SINGLE)


def test_eq11_credibility_weighs_neighbours_by_similarity():
    similar = scores.similarity(np.array([[0.0, 1.0], [3.0, np.inf]]))
    assert_allclose(similar, [[1.0, 0.5], [0.25, 0.0]], **EXACT)
    likelihood = np.array([[0.9, 0.5], [0.7, 0.1]])  # two neighbours × two workers
    q = scores.credibility(similar, np.array([[0, 1], [1, 0]]), likelihood)
    assert_allclose(q, [[(0.9 + 0.35) / 2, (0.5 + 0.05) / 2], [0.7 / 8, 0.1 / 8]], **EXACT)


def test_prices_of_the_paper_run_from_one_to_the_number_of_workers():
    assert_allclose(scores.paper_prices(np.array([0.5, 0.7, 0.9, np.nan])), [1.0, 2.5, 4.0, 2.5], **EXACT)
    assert_array_equal(scores.paper_prices(np.array([0.7, 0.7, np.nan])), [1.0, 1.0, 1.0])
    assert_array_equal(scores.paper_prices(np.array([np.nan, np.nan])), [1.0, 1.0])


def test_eq13_and_a_price_of_zero():
    utility = scores.triplet_utility(np.array([0.8, 0.8]), np.array([0.5, 0.5]), np.array([2.0, 0.0]))
    assert_allclose(utility, [0.2, 0.4 / scores.CHEAPEST], **EXACT)


# -- neighbours ------------------------------------------------------------------------------------------------------


def test_nearest_by_hand():
    profile = np.array([[0.0], [1.0], [3.0], [7.0]])
    near = scores.nearest(profile, of=np.array([0, 2]), among=np.array([1, 2, 3]), k=2)
    order = np.argsort(near.distance, axis=1)
    assert_array_equal(np.take_along_axis(near.item, order, 1), [[1, 2], [1, 3]])
    assert_allclose(np.take_along_axis(near.distance, order, 1), [[1, 3], [2, 4]], **EXACT)


def test_nearest_when_there_are_not_enough():
    near = scores.nearest(np.array([[0.0], [1.0]]), of=np.array([0, 1]), among=np.array([1]), k=3)
    assert_allclose(near.distance, [[1.0], [np.inf]], **EXACT)
    assert scores.nearest(np.zeros((3, 2)), np.array([0, 1]), np.empty(0, np.int64), 5).item.shape == (2, 0)
    assert scores.nearest(np.zeros((3, 2)), np.empty(0, np.int64), np.array([1, 2]), 5).item.shape == (0, 2)


@pytest.mark.parametrize(("n_items", "k"), [(11, 10), (57, 4), (500, 10), (1001, 1)])
def test_nearest_equals_sorting_all_distances(n_items, k):
    rng = np.random.default_rng(n_items)
    profile = rng.random((n_items, 3))
    among = np.sort(rng.choice(n_items, n_items - 1, replace=False))
    of = np.arange(n_items)
    every = np.linalg.norm(profile[:, None] - profile[among], axis=2)
    every[of[:, None] == among] = np.inf
    near = scores.nearest(profile, of, among, k)
    assert_allclose(np.sort(near.distance, axis=1), np.sort(every, axis=1)[:, :k], rtol=0, atol=1e-9)
    found = np.isfinite(near.distance)
    assert all(len(set(row[there])) == there.sum() for row, there in zip(near.item, found, strict=True))


# -- SAC, NAM(A), CEAL -----------------------------------------------------------------------------------------------


def test_sac_chooses_the_pair_nearest_to_one_half():
    """The specification: p = [[.9, .45], [.2, .7]] → pair (1, 2)."""
    u1 = scores.pair_uncertainty(np.array([[0.9, 0.45], [0.2, 0.7]]), np.ones((2, 2), dtype=bool))
    assert np.unravel_index(np.argmax(u1), u1.shape) == (0, 1)


def test_agreement_counts_one_more_of_each_kind(toy_votes):
    proba = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert_allclose(scores.agreement(toy_votes, proba), [5 / 6, 5 / 6, 2 / 5], **EXACT)


def test_qci_of_the_specification():
    """Counts (3, 1, 2), mean 1.5, asked (0, 0, 4) → (3, 1, .125)."""
    lci = scores.label_cardinality_inconsistency(np.array([3.0, 1.0, 2.0]), 1.5)
    assert_allclose(lci, [1.5, 0.5, 0.5], **EXACT)
    assert_allclose(scores.query_cardinality_inconsistency(lci, np.array([0.0, 0.0, 4.0])), [3, 1, 0.125], **EXACT)


def test_ceal_of_the_specification():
    """Distances (0, 1), right (1, 0), k = 2 → q = .5; p = .7 → factor .6; c = 2 → .15."""
    similar = scores.similarity(np.array([0.0, 1.0]))
    right, nobody = np.array([True, False]), np.zeros(2, np.int64)
    q = scores.record_among_neighbors(nobody, nobody, similar, right, (1, 2), k=2)
    assert_allclose(q, [[0.5, 0.0]], **EXACT)  # the second worker never answered
    assert_allclose(scores.ceal_utility(np.array([0.7]), q[0, :1], np.array([2.0])), [0.15], **EXACT)
    assert_allclose(scores.ceal_utility(np.array([0.7]), q[0, :1], np.array([0.0])), [0.3 / 1e-4], **EXACT)


# -- knowledge gradient ----------------------------------------------------------------------------------------------


def test_okg_of_the_specification():
    """(2, 1): R = (.125, −.25), OKG = .125; OKG of (1, 1) .25, (2, 2) .1875, (3, 1) .0625."""
    two, one = np.array([2.0]), np.array([1.0])
    assert_allclose(scores.answer_gains(two, one), [[0.125], [-0.25]], **EXACT)
    yes, no = np.array([2.0, 1.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0, 1.0])
    assert_allclose(scores.optimistic_gradient(yes, no), [0.125, 0.25, 0.1875, 0.0625], **EXACT)


def test_update_by_a_perfect_worker_counts_and_by_a_coin_does_nothing():
    yes, no = np.array([2.0, 3.5]), np.array([1.0, 4.0])
    assert_allclose(scores.matched_update(yes, no, np.ones(2)), [yes + 1, no], **EXACT)
    assert_allclose(scores.matched_update(yes, no, np.zeros(2)), [yes, no + 1], **EXACT)
    assert_allclose(scores.matched_update(yes, no, np.full(2, 0.5)), [yes, no], **EXACT)


def test_update_has_the_moments_of_the_true_posterior():
    yes, no, reliability = 2.0, 3.0, 0.8
    theta = (np.arange(200_000) + 0.5) / 200_000
    density = theta ** (yes - 1) * (1 - theta) ** (no - 1) * (theta * reliability + (1 - theta) * (1 - reliability))
    mean = (density * theta).sum() / density.sum()
    square = (density * theta**2).sum() / density.sum()
    a, b = (part[0] for part in scores.matched_update(np.array([yes]), np.array([no]), np.array([reliability])))
    assert_allclose(a / (a + b), mean, rtol=1e-8)
    assert_allclose(a * (a + 1) / ((a + b) * (a + b + 1)), square, rtol=1e-8)


def test_gain_from_a_worker_rises_with_his_distance_from_a_coin():
    reliability = np.array([0.5, 0.6, 0.8, 1.0])
    gain = scores.optimistic_gain(np.full(4, 2.0), np.full(4, 2.0), reliability)
    assert_allclose(gain[[0, 3]], [0.0, 0.1875], **EXACT)
    assert np.all(np.diff(gain) > 0)
    assert_allclose(scores.optimistic_gain(np.full(4, 2.0), np.full(4, 2.0), 1 - reliability), gain, **EXACT)


def test_reliability_starts_at_four_to_one(toy_votes):
    proba = np.array([[1.0, 0.0], [0.0, 0.5]])
    # worker 1 of the toy: three right, one half right; worker 3: two wrong, one half right
    assert_allclose(scores.reliability_of_workers(toy_votes, proba), [7.5 / 9, 7.5 / 9, 4.5 / 8], **EXACT)
    nothing = toy_votes.select(np.zeros(len(toy_votes), dtype=bool))
    assert_allclose(scores.reliability_of_workers(nothing, proba), [0.8] * 3, **EXACT)


# -- CROWDLAB --------------------------------------------------------------------------------------------------------

VOTED = np.array([[1, 1, 1], [0, 0, 1], [1, 1, np.nan], [0, 0, np.nan]])
MODEL = np.array([0.8, 0.3, 0.6, 0.1])


def worked_example(**options) -> scores.CrowdLab:
    item, worker = np.nonzero(~np.isnan(VOTED))
    return scores.crowdlab(item, worker, VOTED[item, worker] > 0, MODEL, n_workers=3, **options)


def test_crowdlab_of_the_specification():
    known = worked_example()
    assert_allclose(known.worker_weight, [2 / 3, 2 / 3, 1e-6], **PRINTED)
    assert_allclose(known.model_weight, 1.581139, **PRINTED)
    assert_allclose(known.posterior, [0.853374, 0.200878, 0.744871, 0.092375], **PRINTED)


def test_activelab_of_the_specification():
    quality = scores.activelab_quality(worked_example())
    assert_allclose(quality, [0.806616, 0.759543, 0.712470, 0.853689], **PRINTED)
    assert np.argmin(quality) == 2


def test_rare_labels_do_not_make_everybody_worthless():
    # eleven items with two noes, and one where the workers disagree: always "no" errs in no item
    item, worker = np.repeat(np.arange(12), 2), np.tile([0, 1], 12)
    yes = np.zeros(24, dtype=bool)
    yes[-1] = True
    model = np.full(12, 0.2)
    floored, bare = (scores.crowdlab(item, worker, yes, model, 2, error_floor=floor) for floor in (0.1, 1e-6))
    assert_allclose(floored.worker_weight, np.full(2, 1 - (1 / 12) / 0.1), **EXACT)
    assert_allclose(bare.worker_weight, [1e-6, 1e-6], **EXACT)


def test_crowdlab_without_votes_is_the_model():
    nothing = np.empty(0, np.int64)
    known = scores.crowdlab(nothing, nothing, nothing.astype(bool), MODEL, n_workers=2)
    assert_allclose(known.posterior, MODEL, **EXACT)
    assert_allclose(known.worker_weight, [0.6, 0.6], **EXACT)  # right with .8: 1 − .2 / .5
    quality = scores.activelab_quality(known)
    # weight of the model is .6 too: (.6 · max(p, 1 − p) + .3) / 1.2
    assert_allclose(quality, (np.maximum(MODEL, 1 - MODEL) + 0.5) / 2, **EXACT)


def test_a_new_worker_agrees_as_others_do():
    item, worker = np.nonzero(~np.isnan(VOTED))
    known = scores.crowdlab(item, worker, VOTED[item, worker] > 0, MODEL, n_workers=4)
    agreeing = (5 + 5 + 2) / (6 + 6 + 4)
    assert_allclose(known.worker_weight[3], 1 - (1 - agreeing) / 0.5, **EXACT)


def test_temperature_of_an_overconfident_model():
    """Probability .9 where .6 say yes: exact would be logit(.9) / logit(.6) = 5.42."""
    model, share = np.array([0.9, 0.1]), np.array([0.6, 0.4])
    assert 5.0 <= scores.best_temperature(share, model) <= 5.75
    assert_allclose(scores.at_temperature(model, np.log(9) / np.log(1.5)), share, **EXACT)
    assert scores.best_temperature(model, model) == 1.0
    assert scores.best_temperature(np.empty(0), np.empty(0)) == 1.0
