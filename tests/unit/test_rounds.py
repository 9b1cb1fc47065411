"""One look at a block of votes: sums that add up over blocks, against sums over single votes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import Votes
from amcc.arrays import safe_logit, sigmoid
from amcc.consensus.coins import count_slots, met_present_labels, pair_evidence
from amcc.consensus.rounds import (
    MOST_CERTAIN,
    LabelPrior,
    count_votes,
    entropy_of,
    evidence_of_pairs,
    first_look,
    judge_votes,
    met_present,
    one_round,
    with_truth,
)
from amcc.engine.base import InMemory
from amcc.passes import CERTAIN, Belief

EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(scope="module")
def votes():
    return Votes.from_dense(np.random.default_rng(3).choice([-1, 0, 1], size=(6, 15, 4)))


@pytest.fixture(scope="module")
def belief(votes):
    rng = np.random.default_rng(4)
    return Belief(rng.normal(size=2 * len(votes.coins)), rng.normal(size=votes.n_labels))


def block_of(votes, known=None):
    return InMemory(votes, np.zeros(0, np.int8) if known is None else known, None).block


def by_hand(votes, belief):
    """Log-odds of all pairs."""
    return belief.log_odds[votes.pairs.label] + pair_evidence(votes, belief.evidence)


def test_first_look_counts_votes_and_pairs(votes):
    start = first_look(block_of(votes), None)
    share = votes.n_yes / votes.pairs.n_votes
    assert_array_equal(start.slot_votes, count_slots(votes))
    assert_array_equal(start.asked, np.bincount(votes.pairs.label))
    assert_allclose(start.present, met_present_labels(votes, share), **EXACT)
    assert_allclose(start.label_present, np.bincount(votes.pairs.label, share), **EXACT)


def test_first_look_may_start_from_a_belief(votes, belief):
    start = first_look(block_of(votes), belief)
    expected = np.bincount(votes.pairs.label, sigmoid(by_hand(votes, belief)))
    assert_allclose(start.label_present, expected, **EXACT)


def test_known_truth_is_where_a_fit_starts():
    known = np.array([-1], np.int8)
    start = first_look(block_of(Votes.from_dense([[[1]], [[1]]]), known), None)
    assert_array_equal(start.label_present, [0])
    assert_array_equal(start.present, [0, 0, 0, 0])


def test_a_round_is_the_posterior_of_all_pairs(votes, belief):
    step = one_round(block_of(votes), belief, None)
    log_odds = by_hand(votes, belief)
    proba, share = sigmoid(log_odds), votes.n_yes / votes.pairs.n_votes
    assert_allclose(step.present, met_present_labels(votes, proba), **EXACT)
    assert_allclose(step.label_present, np.bincount(votes.pairs.label, proba), **EXACT)
    assert step.log_odds_sum == pytest.approx(np.logaddexp(0, log_odds).sum())
    assert float(step.change) == pytest.approx(np.abs(proba - share).max())
    assert step.squares == pytest.approx(((proba - share) ** 2).sum())


def test_a_round_that_changes_nothing(votes, belief):
    """By what was kept, and computed again from the belief before."""
    block = block_of(votes)
    one_round(block, belief, None)
    again = one_round(block, belief, belief)
    fresh = one_round(block_of(votes), belief, belief)
    assert float(again.change) == float(fresh.change) == 0
    assert again.squares == fresh.squares == 0


def test_entropy_is_that_of_the_presence(votes, belief):
    step = one_round(block_of(votes), belief, None)
    proba = sigmoid(by_hand(votes, belief))
    expected = -(proba * np.log(proba) + (1 - proba) * np.log(1 - proba)).sum()
    assert entropy_of(step) == pytest.approx(expected)


def test_evidence_has_an_end():
    """A thousand votes of log-odds 5 are as certain as anybody gets."""
    block = block_of(Votes.from_dense(np.ones((1000, 1, 1))))
    assert_array_equal(evidence_of_pairs(block, np.full(2000, 5.0)), [MOST_CERTAIN])
    assert_array_equal(evidence_of_pairs(block, np.full(2000, -5.0)), [-MOST_CERTAIN])


def test_sums_of_a_block_are_those_of_all_votes(votes):
    proba = np.random.default_rng(5).random(len(votes.pairs))
    assert_allclose(met_present(block_of(votes), proba), met_present_labels(votes, proba), **EXACT)


def test_truth_replaces_log_odds(toy_votes):
    known, log_odds = np.array([1, 0, -1, 0], np.int8), np.array([0.1, 0.2, 0.3, 0.4])
    assert_array_equal(with_truth(block_of(toy_votes, known), log_odds), [CERTAIN, 0.2, -CERTAIN, 0.4])
    assert_array_equal(with_truth(block_of(toy_votes, known), log_odds, certain=7.0), [7, 0.2, -7, 0.4])
    assert with_truth(block_of(toy_votes), log_odds) is log_odds


def test_priors_of_pairs_are_those_of_their_labels(toy_votes):
    prior = LabelPrior(safe_logit(np.array([0.2, 0.6])))
    assert_allclose(sigmoid(prior.of(block_of(toy_votes))), [0.2, 0.6, 0.2, 0.6], **EXACT)


def test_votes_are_judged_by_the_others(votes, belief):
    judged = judge_votes(block_of(votes), belief.evidence, LabelPrior(belief.log_odds))
    slot = votes.coins.slot
    without = np.repeat(by_hand(votes, belief), votes.pairs.n_votes) - belief.evidence[slot]
    assert_allclose(judged.weight, np.bincount(slot, sigmoid(without), len(belief.evidence)), **EXACT)
    assert_allclose(judged.square, np.bincount(slot, sigmoid(without) ** 2, len(belief.evidence)), **EXACT)


def test_answers_with_a_yes_are_counted(toy_votes):
    """Everybody answered both items, with a yes in each."""
    counted = count_votes(block_of(toy_votes))
    assert_array_equal(counted.answers, [2, 2, 2])
    assert_array_equal(counted.ticked, [2, 2, 2])
    silent = count_votes(block_of(Votes.from_dense([[[1, -1], [-1, -1]], [[0, 0], [-1, 0]]])))
    assert_array_equal(silent.answers, [2, 1])
    assert_array_equal(silent.ticked, [1, 0])
    assert silent.slot_votes.sum() == 5
