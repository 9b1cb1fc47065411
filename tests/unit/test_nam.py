"""NAM against the worked numbers of the specification, §3.7, and its own promises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import amcc
from amcc import ConvergenceWarning, ParameterError, Votes, metrics
from amcc.consensus import NAM, MajorityVote
from amcc.consensus.answers import gather_answers
from amcc.consensus.learned import Gold
from amcc.consensus.models.nam import problem as rounds
from amcc.consensus.models.nam import regressions as solver
from amcc.consensus.models.nam.descriptions import LARGEST_CODE, item_deviations, label_basis
from amcc.consensus.models.nam.problem import NamProblem, NamWeights, ascent, first_weights, gradient, newton_round
from amcc.consensus.models.nam.regressions import Regressions
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.base import InMemory

EXACT = {"rtol": 0, "atol": 1e-12}
LABEL = np.arange(2)


def nobody_knows(votes):
    return Gold(*np.zeros((2, len(votes.pairs)), dtype=bool))


def make_problem(votes, rows, shrinkage=1e-3):
    """A problem where answers are described like items."""
    item, _, of_vote = gather_answers(votes)
    truth = Regressions(rows, votes.pairs.item, votes.pairs.label, votes.n_labels)
    workers = Regressions(rows[item], of_vote, votes.coins.slot // 2, len(votes.coins))
    return NamProblem(votes, truth, workers, nobody_knows(votes), shrinkage)


@pytest.fixture(scope="module")
def featured():
    """A crowd with features that tell something about the truth."""
    crowd = simulate_crowd(CrowdSpec(n_items=150, n_workers=12, n_labels=4, answers_per_item=4, seed=2))
    noise = np.random.default_rng(0).normal(size=(150, 6))
    return crowd, np.column_stack([crowd.truth + 0.3 * noise[:, :4], noise[:, 4:]])


def test_posterior_of_the_specification():
    """w0·x = 0, three workers right with .8, votes + + −: Z = .8."""
    votes = Votes.from_dense([[[1]], [[1]], [[-1]]])
    problem = make_problem(votes, np.ones((1, 1)))
    margins = problem.margins(NamWeights(np.zeros((1, 1)), np.full((3, 1), np.log(4))))
    assert_allclose(problem.posterior(margins), 0.8, **EXACT)


def test_gradient_of_the_specification():
    """x = (1), (2), Z = (.8, .2), w0 = 0, C = 8, λ = .001: g0 = −.0375."""
    regressions = Regressions(np.array([[1.0], [2.0]]), np.array([0, 1]), np.array([0, 0]), 1)
    slope = gradient(regressions, np.zeros((1, 1)), np.array([0.8, 0.2]) - 0.5, np.array([8.0]), 1e-3)
    assert_allclose(slope, -0.0375, **EXACT)


def test_first_step_of_the_specification(monkeypatch):
    """The same with the step .05/2, on votes that make C = 8: two items asked, three votes each; w0 = −.0009375."""
    votes = Votes.from_dense(np.ones((3, 2, 1)))
    problem = make_problem(votes, np.array([[1.0], [2.0]]))
    assert_array_equal(problem.n_observations, [8])
    monkeypatch.setattr(rounds, "ASCENT_ROUNDS", 2)
    start = NamWeights(np.zeros((1, 1)), np.zeros((3, 1)))
    weights = ascent(problem, start, np.array([0.8, 0.2]))
    assert_allclose(weights.truth, -0.0009375, **EXACT)
    assert_allclose(weights.workers, 0.025 * (0.3 - 2 * 0.3) / 8, **EXACT)  # yes votes: right when present


def test_a_no_is_right_when_the_label_is_absent():
    votes = Votes.from_dense([[[1]], [[-1]]])
    problem = make_problem(votes, np.ones((1, 1)))
    assert_allclose(problem.targets(np.array([0.9])).workers, [0.9, 0.1], **EXACT)


def test_log_likelihood_is_the_sum_over_both_truths():
    rng = np.random.default_rng(0)
    votes = Votes.from_dense(rng.choice([-1, 0, 1], size=(4, 5, 2)))
    problem = make_problem(votes, rng.normal(size=(5, 3)))
    weights = NamWeights(rng.normal(size=problem.truth.shape), rng.normal(size=problem.workers.shape))
    margins = problem.margins(weights)
    expected = 0.0
    for pair, (first, last) in enumerate(zip(votes.pairs.start[:-1], votes.pairs.start[1:], strict=True)):
        present = 1 / (1 + np.exp(-margins.truth[pair]))
        right = 1 / (1 + np.exp(-margins.workers[first:last]))
        yes = votes.value[first:last] > 0
        expected += np.log(
            present * np.where(yes, right, 1 - right).prod() + (1 - present) * np.where(yes, 1 - right, right).prod()
        )
    assert problem.log_likelihood(margins) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_features", [3, 40])  # more, and fewer, observations than weights
def test_regressions_are_those_of_liblinear(n_features):
    """Several regressions of different sizes at once, against one at a time."""
    rng = np.random.default_rng(0)
    size = np.array([30, 0, 12, 25])
    group = np.repeat(np.arange(4), size)
    rows, target = rng.normal(size=(20, n_features)), (rng.random(size.sum()) < 0.4).astype(float)
    row = rng.integers(20, size=size.sum())
    regressions = Regressions(rows, row, group, 4)
    weights = regressions.solved(np.zeros((4, n_features)), target, np.ones(4), 50)
    assert_array_equal(weights[1], 0)
    for number in (0, 2, 3):
        mine = group == number
        model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000)
        model.fit(rows[row[mine]], target[mine])
        assert_allclose(weights[number], model.coef_[0], rtol=0, atol=1e-6)


def test_batches_do_not_matter(monkeypatch, featured):
    crowd, features = featured
    expected = NAM(converge=True).fit(crowd.votes, features).predict_proba()
    monkeypatch.setattr(solver, "BATCH_CELLS", 2000)
    assert_allclose(NAM(converge=True).fit(crowd.votes, features).predict_proba(), expected, rtol=0, atol=1e-9)


def test_newton_rounds_never_lower_the_posterior_density():
    crowd = simulate_crowd(CrowdSpec(n_items=80, n_workers=10, n_labels=3, asked_share=0.7, seed=1))
    rows = np.random.default_rng(0).random((80, 4))
    problem = make_problem(crowd.votes, rows, shrinkage=1e-2)
    weights, history = first_weights(problem), []
    for _ in range(25):
        margins = problem.margins(weights)
        penalty = sum((ridge @ (part**2).sum(axis=1)) / 2 for part, ridge in zip(weights, problem.ridges, strict=True))
        history.append(problem.log_likelihood(margins) - penalty)
        weights = newton_round(problem, weights, problem.posterior(margins))
    assert history[-1] > history[0] + 1
    assert np.all(np.diff(history) >= -1e-9 * abs(history[0]))


def test_codes_by_hand():
    """Items on a line at 0, 1, 3; the two nearest of each, itself included: the neighbour of the last is the middle."""
    votes = Votes.from_dense([[[1, -1], [1, 1], [-1, 1]]])
    model = NAM(n_neighbors=2)
    answers = model._describe(votes, np.array([[0.0], [1.0], [3.0]]))
    assert_allclose(answers.description[:, 0], 1, **EXACT)
    assert_allclose(answers.description[:, 1], [0, 1 / 3, 1], **EXACT)
    assert_allclose(answers.description[:, 2:], [[1, 0.5], [1, 0.5], [0.5, 1]], **EXACT)


def test_neighbours_are_the_workers_own():
    """The other worker answered the near item; only the worker's own, far one counts."""
    votes = Votes.from_dense([[[1], [0], [-1]], [[1], [1], [0]]])
    model = NAM(n_neighbors=2)
    answers = model._describe(votes, np.array([[0.0], [0.1], [1.0]]))
    code = {(model.answer_worker_[n], model.answer_item_[n]): answers.description[n, 2] for n in range(4)}
    assert code == {(0, 0): 0.5, (0, 2): 0.5, (1, 0): 1.0, (1, 1): 1.0}


def test_unasked_labels_stand_at_their_share_of_yes(toy_votes):
    """w3's answer on item 2 says nothing about label 1, whose share of yes leans on all labels' by one vote."""
    model = NAM(n_neighbors=1)
    model._describe(toy_votes, None)
    overall = np.mean(toy_votes.value > 0)
    share = (2 + overall) / (5 + 1)
    last = (model.answer_worker_ == 2) & (model.answer_item_ == 1)
    assert_allclose(model.answer_vector_[last], [[share, 1]], **EXACT)
    assert_allclose(model._substitute(toy_votes, LABEL), [[2 / 3, 1 / 3], [0, 1]], **EXACT)


def test_what_is_said_about_a_new_item_replaces_the_farthest_neighbour():
    votes = Votes.from_dense([[[1], [1], [-1]]], item_names=["a", "b", "c"], worker_names=["w"])
    model = NAM(n_neighbors=2)
    model._describe(votes, np.array([[0.0], [1.0], [3.0]]))
    place, zero = np.array([[1.0, 0.0]]), np.zeros(1, dtype=np.int64)
    new = model._codes(place, zero, zero - 1, np.zeros((1, 1)))  # nearest: c, which was denied, and b
    assert_allclose(new, [[0.0]], **EXACT)
    old = model._codes(place, zero, zero + 2, np.ones((1, 1)))  # c itself: as at `fit`
    assert_allclose(old, [[0.5]], **EXACT)


def test_features_predict_unasked_pairs(featured):
    crowd, features = featured
    votes = crowd.votes.select(crowd.votes.item < 100)
    model = NAM().fit(votes, features)
    assert_array_equal(model.item_answered_, np.arange(150) < 100)
    predicted = model.predict_proba()[100:]
    present = crowd.truth[100:]
    assert predicted[present].mean() > predicted[~present].mean() + 0.1
    assert sum(map(len, model.sets()["labels"].to_list()[100:])) == (predicted > 0.5).sum()
    without = NAM().fit(votes).predict_proba()[100:]
    assert_array_equal(without, np.broadcast_to(without[0], without.shape))


def test_features_help(featured):
    crowd, features = featured
    """Sets stay as small as the majority's, from which the model starts; the order of labels gains."""
    losses = [
        metrics.ranking_loss(crowd.truth, proba)
        for proba in (
            NAM().fit(crowd.votes, features).predict_proba(),
            NAM().fit(crowd.votes).predict_proba(),
            MajorityVote().fit(crowd.votes).predict_proba(),
        )
    ]
    assert losses[0] < 0.9 * losses[1]
    assert losses[0] < 0.9 * losses[2]


def test_new_votes_use_known_features(featured):
    crowd, features = featured
    model = NAM().fit(crowd.votes, features)
    again = model.predict_proba(crowd.votes.select(crowd.votes.item < 20))
    assert_allclose(again[:20], model.predict_proba()[:20], rtol=0, atol=1e-9)
    stranger = Votes.from_dense([[[1, -1, 1, -1]]], item_names=["new"], label_names=crowd.votes.label_names)
    assert model.predict_proba(stranger).shape == (1, 4)


def test_many_labels_are_projected():
    rng = np.random.default_rng(0)
    votes = Votes.from_dense(np.where(rng.random((2, 40, 35)) < 0.1, 1, -1))
    model = NAM().fit(votes)
    assert model.truth_weights_.shape == (35, 1 + LARGEST_CODE)
    assert model.worker_weights_.shape == (70, 1 + 2 * LARGEST_CODE)
    few = Votes.from_dense(np.where(rng.random((2, 1, 50)) < 0.5, 1, -1))
    assert NAM().fit(few).truth_weights_.shape == (50, 2)


def test_known_truth_teaches():
    """Two against two: known truth says who is right, and the pairs that nobody knows follow."""
    rng = np.random.default_rng(0)
    answer = np.where(rng.random((60, 2)) < 0.5, 1, -1)
    votes = Votes.from_dense(np.stack([answer, answer, -answer, -answer]))
    known = np.repeat(np.arange(60) < 40, 2)
    for sign in (1, -1):
        found = NAM()._learn(InMemory(votes, Gold((sign * answer > 0).ravel(), known).signs)).items
        right = (found.pair.reshape(60, 2) > 0.5) == (sign * answer > 0)
        assert right[40:].mean() > 0.9


def test_out_of_patience(toy_votes):
    with pytest.warns(ConvergenceWarning, match="NAM stopped after 1 iterations"):
        model = NAM(max_iter=1).fit(toy_votes)
    assert (model.n_iter_, model.converged_) == (1, False)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be at least 1; got 0"),
        ({"shrinkage": 0.0}, "shrinkage must be a positive number"),
        ({"tol": np.nan}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"random_state": -1}, "random_state must be at least 0"),
    ],
)
def test_bad_parameters(toy_votes, params, message):
    with pytest.raises(ParameterError, match=message):
        NAM(**params).fit(toy_votes)


def test_real_data(shared_data):
    """SONYC coarse tags: ranks better than majority, whose ranking loss is .089."""
    folder = shared_data / "sonyc_ust_coarse_val"
    votes = amcc.read_votes(folder / "annotations.csv.gz")
    truth = amcc.read_truth(folder / "truth.csv", known_items=folder / "truth_items.csv")
    true, known = truth.matrices(votes.item_names, votes.label_names)
    model = NAM().fit(votes)
    assert metrics.ranking_loss(true, model.predict_proba(), known) < 0.07
    assert metrics.jaccard(true, model.predict(), known) > 0.58


# -- parts -----------------------------------------------------------------------------------------------------------


def test_deviations_leave_out_new_labels(toy_votes):
    """Label 2 is not among the learned ones; label 1 had a share of .5 at `fit`."""
    found = item_deviations(toy_votes, np.array([0.5]), np.array([0, -1])).toarray()
    assert_allclose(found, [[2 / 3 - 0.5], [-0.5]], **EXACT)


def test_main_directions_do_not_depend_on_the_order_of_items():
    rng = np.random.default_rng(0)
    rows = sparse.csr_array(rng.normal(size=(60, 30)))
    basis, again = label_basis(rows), label_basis(rows[rng.permutation(60)])
    assert basis.shape == (30, LARGEST_CODE)
    assert_allclose(again, basis, rtol=0, atol=1e-6)
    assert_allclose(basis.T @ basis, np.eye(LARGEST_CODE), rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_observations", [3, 12])  # fewer, and more, than weights
def test_both_systems_give_the_same_step(n_observations):
    rng = np.random.default_rng(n_observations)
    x, curvature = rng.normal(size=(4, n_observations, 6)), rng.uniform(0.05, 0.25, size=(4, n_observations))
    ridge, right = rng.uniform(0.5, 2, 4), rng.normal(size=(4, 6))
    found = solver.solve_ridge(x, curvature, ridge, right)
    for group in range(4):
        matrix = x[group].T @ np.diag(curvature[group]) @ x[group] + ridge[group] * np.eye(6)
        assert_allclose(matrix @ found[group], right[group], rtol=0, atol=1e-10)


def test_padding_is_no_observation():
    rng = np.random.default_rng(0)
    x, target, weights = rng.normal(size=(1, 5, 2)), rng.random((1, 5)), rng.normal(size=(1, 2))
    plain = solver.newton_step(weights, x, target, np.ones((1, 5), dtype=bool), np.ones(1))
    padded = np.concatenate([x, np.zeros((1, 3, 2))], axis=1)
    inside = np.arange(8)[None] < 5
    targets = np.concatenate([target, np.full((1, 3), 9.0)], axis=1)
    again = solver.newton_step(weights, padded, targets, inside, np.ones(1))
    assert_allclose(again, plain, **EXACT)


def test_weighted_rows_are_summed_by_regression():
    regressions = Regressions(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1, 1]), np.array([1, 1, 0]), 3)
    found = regressions.weighted_rows(np.array([1.0, 2.0, 10.0]))
    assert_allclose(found, [[30, 40], [7, 10], [0, 0]], **EXACT)
    assert_allclose(regressions.margins(np.eye(3, 2)), [2, 4, 3], **EXACT)


def test_a_label_at_rest_stays_where_it_is(monkeypatch):
    """A tolerance that nothing exceeds: every label rests after its first step."""
    votes = Votes.from_dense(np.random.default_rng(0).choice([-1, 1], size=(4, 6, 2)))
    problem = make_problem(votes, np.random.default_rng(1).normal(size=(6, 3)))
    begin = NamWeights(np.zeros(problem.truth.shape), np.zeros(problem.workers.shape))
    proba = np.random.default_rng(2).random(len(votes.pairs))
    monkeypatch.setattr(rounds, "ASCENT_TOL", 1e9)
    rested = ascent(problem, begin, proba)
    monkeypatch.setattr(rounds, "ASCENT_ROUNDS", 2)
    one_step = ascent(problem, begin, proba)
    assert_allclose(rested.workers, one_step.workers, **EXACT)
    assert np.abs(one_step.truth).max() > 0


def test_ascent_raises_what_it_climbs():
    votes = Votes.from_dense(np.random.default_rng(0).choice([-1, 0, 1], size=(5, 20, 3)))
    problem = make_problem(votes, np.random.default_rng(1).normal(size=(20, 3)))
    begin, proba = first_weights(problem), np.random.default_rng(2).random(len(votes.pairs))
    end = ascent(problem, begin, proba)
    before, after = (
        rounds.ascent_value(problem, weights, problem.margins(weights), problem.targets(proba))
        for weights in (begin, end)
    )
    assert (after > before).all()


def test_features_that_never_vary_say_nothing(featured):
    crowd, features = featured
    constant = np.column_stack([features, np.full(len(features), 7.0)])
    model = NAM().fit(crowd.votes, constant)
    assert_array_equal(model.item_features_[:, -1], 0)
    assert_allclose(model.predict_proba(), NAM().fit(crowd.votes, features).predict_proba(), rtol=0, atol=1e-6)
