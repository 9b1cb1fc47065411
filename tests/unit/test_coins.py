"""What models with coins share, against sums over single votes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import Votes
from amcc.consensus import EBCC, IBCC, MACE, MCMLD, NAM, DawidSkene
from amcc.consensus.coins import (
    count_slots,
    judge_later,
    label_slots,
    log_answers,
    met_present_labels,
    pair_evidence,
    signed_evidence,
    start_from_shares,
)
from amcc.consensus.learned import Gold

EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(scope="module")
def votes():
    """Not everybody was asked everything."""
    return Votes.from_dense(np.random.default_rng(0).choice([-1, 0, 1], size=(5, 12, 3)))


def slot_of_vote(votes, vote):
    coins = votes.coins
    same = (coins.worker == votes.worker[vote]) & (coins.label == votes.label[vote])
    return 2 * int(np.flatnonzero(same)[0]) + int(votes.value[vote] > 0)


def test_slots_are_counted_one_by_one(votes):
    expected = np.zeros(2 * len(votes.coins))
    for vote in range(len(votes)):
        expected[slot_of_vote(votes, vote)] += 1
    assert_array_equal(count_slots(votes), expected)
    assert count_slots(votes).dtype == np.float64


def test_slots_of_labels_add_up_all_workers(votes):
    """Noes and yeses of each label, whoever gave them."""
    found = np.bincount(label_slots(votes.coins), count_slots(votes))
    expected = [[(votes.value[votes.label == label] == value).sum() for value in (-1, 1)] for label in range(3)]
    assert_array_equal(found.reshape(3, 2), expected)


def test_votes_that_met_a_present_label(votes):
    proba = np.random.default_rng(1).random(len(votes.pairs))
    expected = np.zeros(2 * len(votes.coins))
    for vote, of_pair in enumerate(np.repeat(proba, votes.pairs.n_votes)):
        expected[slot_of_vote(votes, vote)] += of_pair
    assert_allclose(met_present_labels(votes, proba), expected, **EXACT)


def test_evidence_of_pairs_is_the_sum_over_their_votes(votes):
    evidence = np.random.default_rng(2).normal(size=2 * len(votes.coins))
    found = pair_evidence(votes, evidence)
    for pair in range(len(votes.pairs)):
        of_pair = range(*votes.pairs.start[pair : pair + 2])
        assert found[pair] == pytest.approx(sum(evidence[slot_of_vote(votes, vote)] for vote in of_pair))


def test_log_answers_of_several_rows():
    """One row for each cluster; a rate of 0 has a finite log."""
    found = log_answers(np.array([[0.5, 0.0], [0.9, 1.0]]))
    assert found.shape == (2, 4)
    assert_allclose(np.exp(found), [[0.5, 0.5, 1, 0], [0.1, 0.9, 0, 1]], rtol=0, atol=1e-9)
    assert np.isfinite(found).all()


def test_signed_evidence_is_a_coin_with_equal_rates():
    """A worker who is right with .8, whatever the truth: log 4 for yes and against it for no."""
    worth = np.log(0.8 / 0.2)
    assert_allclose(signed_evidence(np.array([worth])), log_answers(np.array([0.8])) - log_answers(np.array([0.2])))


def test_fits_start_from_shares_and_truth(toy_votes):
    """Shares of yes are 2/3, 1/3, 0 of 2 and 1; the first and the last are known to be otherwise."""
    known = np.array([True, False, False, True])
    gold = Gold(np.array([False, False, False, False]), known)
    assert_allclose(start_from_shares(toy_votes, Gold.nothing(4)), [2 / 3, 1 / 3, 0, 1], **EXACT)
    assert_allclose(start_from_shares(toy_votes, gold), [0, 1 / 3, 0, 0], **EXACT)


def test_judged_without_the_own_vote():
    """Two votes on a pair, log 3 for a yes: each is judged by the prior and the other alone."""
    votes = Votes.from_dense([[[1]], [[-1]]])
    judgement = judge_later(votes, signed_evidence(np.full(2, np.log(3))), np.zeros(1))()
    # worker 0 said yes and met the other's no: 1/4; worker 1 said no and met a yes: 3/4
    assert_allclose(judgement.weight, [0, 1 / 4, 3 / 4, 0], **EXACT)
    assert_allclose(judgement.square, [0, 1 / 16, 9 / 16, 0], **EXACT)


@pytest.mark.parametrize("model", [DawidSkene, IBCC, EBCC, MACE, MCMLD, NAM])
def test_coins_are_found_again(model, toy_votes):
    """Of the learned labels, one is not there; one label and one worker are new."""
    fitted = model().fit(toy_votes)
    assert_array_equal(fitted.coin_worker_, [0, 0, 1, 1, 2, 2])
    assert_array_equal(fitted.coin_label_, [0, 1, 0, 1, 0, 1])
    others = Votes.from_dense(
        np.ones((2, 1, 2)), worker_names=pa.array(["w3", "new"]), label_names=pa.array(["l2", "other"])
    )
    match = fitted._match_coins(others)
    assert_array_equal(match.met, [True, False, False, False])
    assert match.place[0] == 5
    assert_array_equal(match.label, [1, -1, 1, -1])
