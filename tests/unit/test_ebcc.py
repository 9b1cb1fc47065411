"""EBCC against the worked numbers of the specification, §4.2, and its own promises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import ConvergenceWarning, ParameterError, Votes, metrics
from amcc.consensus import EBCC, IBCC, MajorityVote
from amcc.consensus.coins import count_slots
from amcc.consensus.learned import Gold
from amcc.consensus.models.ebcc import normalised, random_split, subtype_counts, subtype_expectation, vote_incidence
from amcc.data.simulate import CrowdSpec, simulate_crowd

PRINTED = {"rtol": 0, "atol": 5e-7}  # the specification prints six digits
AS_IBCC = {"n_subtypes": 1, "class_prior": 1.0, "n_restarts": 1}


def after_one_loop(votes, split, **params):
    """Probabilities of present after the counts and the responsibilities were updated once."""
    nobody_knows = Gold.nothing(len(votes.pairs))
    share = votes.n_yes / votes.pairs.n_votes
    problem = EBCC(n_subtypes=len(split), **params)._problem(votes, nobody_knows, share)
    start = np.stack([1 - share, share], axis=1)[:, :, None] * np.array(split)
    return (
        subtype_expectation(problem, subtype_counts(problem, start).expected_logs())
        .responsibility[:, 1]
        .sum(axis=1)
        .reshape(2, 2)
    )


def test_one_subtype(toy_votes):
    assert_allclose(after_one_loop(toy_votes, [1.0], class_prior=1.0)[:, 0], [0.845230, 0.012607], **PRINTED)


def test_two_subtypes(toy_votes):
    assert_allclose(after_one_loop(toy_votes, [0.75, 0.25], class_prior=1.0)[:, 0], [0.796973, 0.010156], **PRINTED)


@pytest.mark.parametrize("asked_share", [1.0, 0.6])
def test_one_subtype_is_ibcc(asked_share):
    crowd = simulate_crowd(CrowdSpec(n_items=120, n_workers=15, n_labels=5, asked_share=asked_share, seed=0))
    ebcc, ibcc = EBCC(**AS_IBCC, tol=1e-9, max_iter=5000).fit(crowd.votes), IBCC(tol=1e-9).fit(crowd.votes)
    assert_allclose(ebcc.predict_proba(), ibcc.predict_proba(), rtol=0, atol=1e-7)
    assert ebcc.objective_history_[-1] == pytest.approx(ibcc.objective_history_[-1], rel=1e-9)
    assert ebcc.objective_history_[0] == pytest.approx(ibcc.objective_history_[0], rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_bound_never_falls(seed):
    crowd = simulate_crowd(CrowdSpec(n_items=120, n_workers=15, n_labels=4, asked_share=0.7, seed=seed))
    history = EBCC(tol=1e-6, max_iter=5000, n_restarts=2, n_subtypes=4).fit(crowd.votes).objective_history_
    assert len(history) > 5
    assert np.all(np.diff(history) >= -1e-9 * abs(history[0]))


def test_settled_labels_are_left_alone_without_harm():
    """Each label alone gives what it gives among others: same items, so the same random starts."""
    crowd = simulate_crowd(CrowdSpec(n_items=80, n_workers=10, n_labels=5, seed=4))
    votes, settings = crowd.votes, {"n_subtypes": 3, "n_restarts": 1}
    problem_of = EBCC(**settings)
    nobody_knows = Gold.nothing(len(votes.pairs))
    share = votes.n_yes / votes.pairs.n_votes
    problem = problem_of._problem(votes, nobody_knows, share)
    start = random_split(share, np.random.default_rng(0).random((len(share), 6)))
    together, course, _ = problem_of._run(problem, start)
    for label in range(5):
        only = np.arange(5) == label
        pairs = only[problem.pair_label]
        alone, its_course, _ = problem_of._run(problem.restricted(only), start[pairs])
        assert_allclose(alone, together[pairs], rtol=0, atol=5e-3)  # both stop near, not at, the end
        assert its_course[-1, 0] == pytest.approx(course[-1, label], abs=1e-2)
        assert its_course[0, 0] == pytest.approx(course[0, label], rel=1e-12)


def test_random_split_keeps_the_shares():
    share = np.array([0.25, 1.0])
    split = random_split(share, np.random.default_rng(0).random((2, 8)))
    assert split.shape == (2, 2, 4)
    assert_allclose(split.sum(axis=2), [[0.75, 0.25], [0, 1]])
    assert len(np.unique(split[0])) == 8


def test_better_than_majority():
    crowd = simulate_crowd(CrowdSpec(n_items=300, n_workers=15, n_labels=5, spammers=0.4, seed=0))
    ours = metrics.jaccard(crowd.truth, EBCC(n_restarts=2).fit(crowd.votes).predict())
    assert ours > metrics.jaccard(crowd.truth, MajorityVote().fit(crowd.votes).predict()) + 0.1


def test_class_prior_from_the_votes(toy_votes):
    """Label 1 has the shares 2/3 and 0, label 2 has 1/3 and 1; nobody's yes counts as one."""
    nobody_knows = Gold.nothing(4)
    problem = EBCC()._problem(toy_votes, nobody_knows, toy_votes.n_yes / toy_votes.pairs.n_votes)
    assert_allclose(problem.classes, [[4 / 3, 1], [1, 4 / 3]])


def test_judged_by_the_others():
    """With one subtype the workers are judged as those of iBCC are."""
    crowd = simulate_crowd(CrowdSpec(n_items=120, n_workers=15, n_labels=5, seed=1))
    ebcc, ibcc = EBCC(**AS_IBCC, tol=1e-9, max_iter=5000).fit(crowd.votes), IBCC(tol=1e-9).fit(crowd.votes)
    assert_allclose(ebcc.workers()["hit_rate"], ibcc.workers()["hit_rate"], rtol=0, atol=1e-6)


def test_a_thousand_votes_on_one_pair_do_not_underflow():
    dense = np.ones((1000, 2, 1))
    dense[:, 1] = -1
    assert np.isfinite(EBCC(n_restarts=1).fit(Votes.from_dense(dense)).predict_proba()).all()


def test_stopping_early_is_told(toy_votes):
    with pytest.warns(ConvergenceWarning, match="EBCC stopped after 1 iterations"):
        model = EBCC(max_iter=1).fit(toy_votes)
    assert not model.converged_


def test_random_state_changes_the_starts():
    crowd = simulate_crowd(CrowdSpec(n_items=60, n_workers=8, n_labels=3, seed=1))
    first, again, other = (EBCC(n_restarts=1, random_state=seed).fit(crowd.votes) for seed in (0, 0, 1))
    assert_array_equal(first.predict_proba(), again.predict_proba())
    assert first.objective_history_[0] != other.objective_history_[0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_subtypes": 0}, "n_subtypes must be at least 1; got 0"),
        ({"subtype_prior": 0.0}, "subtype_prior must be a positive number"),
        ({"class_prior": "empirical"}, "class_prior must be 'votes' or a positive number; got 'empirical'"),
        ({"class_prior": -1.0}, "class_prior must be a positive number"),
        ({"n_restarts": 0}, "n_restarts"),
        ({"tol": 0.0}, "tol"),
    ],
)
def test_bad_parameters(toy_votes, params, message):
    with pytest.raises(ParameterError, match=message):
        EBCC(**params).fit(toy_votes)


def test_votes_are_summed_by_pair_and_back(toy_votes):
    """The incidence holds a one for every vote, in the row of its pair and the column of its slot."""
    incidence = vote_incidence(toy_votes).toarray()
    assert_array_equal(incidence.sum(axis=1), toy_votes.pairs.n_votes)
    assert_array_equal(incidence.sum(axis=0), count_slots(toy_votes))
    assert incidence.max() == 1


def test_probabilities_of_huge_logs():
    """Logs of thousands of votes neither overflow nor vanish; what is impossible stays so."""
    log_joint = np.array([[[-4000.0, -4000.0], [-4000.0, -np.inf]], [[900.0, -900.0], [0.0, 0.0]]])
    proba, log_total = normalised(log_joint)
    assert_allclose(proba[0], [[1 / 3, 1 / 3], [1 / 3, 0]], rtol=1e-12)
    assert_allclose(proba[1], [[1, 0], [0, 0]], rtol=0, atol=1e-12)
    assert_allclose(log_total, [-4000 + np.log(3), 900], rtol=1e-12)


def test_known_truth_leaves_one_truth(toy_votes):
    known = np.array([True, False, False, False])  # l1 is known to be absent from i1
    gold, share = Gold(np.zeros(4, dtype=bool), known), toy_votes.n_yes / toy_votes.pairs.n_votes
    problem = EBCC(n_subtypes=2)._problem(toy_votes, gold, share)
    split = random_split(share, np.random.default_rng(0).random((4, 4)))
    found = subtype_expectation(problem, subtype_counts(problem, split).expected_logs())
    assert_array_equal(found.responsibility[0, 1], 0)
    assert_allclose(found.responsibility.sum(axis=(1, 2)), 1, rtol=1e-12)
    assert (found.responsibility[1:] > 0).all()


def test_counts_add_up_to_votes_and_pairs(toy_votes):
    """Whatever the split: every vote is in one truth and subtype, and so is every pair."""
    share = toy_votes.n_yes / toy_votes.pairs.n_votes
    problem = EBCC(n_subtypes=3, class_prior=1.0)._problem(toy_votes, Gold.nothing(4), share)
    counts = subtype_counts(problem, random_split(share, np.random.default_rng(1).random((4, 6))))
    votes_counted = (counts.answers - problem.answers).sum(axis=(2, 3))
    assert_allclose(votes_counted.ravel(), count_slots(toy_votes), rtol=0, atol=1e-12)
    assert_allclose((counts.classes - 1).sum(axis=1), [2, 2], rtol=1e-12)


def test_new_votes_are_judged_as_at_fit(crowd):
    model = EBCC(n_restarts=1, tol=1e-7, max_iter=5000, n_subtypes=2).fit(crowd.votes)
    assert_allclose(model.predict_proba(crowd.votes), model.predict_proba(), rtol=0, atol=1e-4)
    stranger = Votes.from_dense([[[1]]], worker_names=["new"], label_names=["new"])
    assert 0 < model.predict_proba(stranger)[0, 0] < 1
