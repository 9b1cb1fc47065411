"""ML-JMF against the worked number of the specification, §3.6, and its own promises."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import amcc
from amcc import ConvergenceWarning, ParameterError, Votes, metrics
from amcc.consensus import MLJMF
from amcc.consensus.learned import Gold
from amcc.consensus.models import ml_jmf
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.engine.base import InMemory

EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.fixture(scope="module")
def sparse_crowd():
    return simulate_crowd(CrowdSpec(n_items=60, n_workers=12, n_labels=5, asked_share=0.6, seed=1))


@pytest.fixture(scope="module")
def problem(sparse_crowd):
    """Dense X, Ω and everything that the updates need, for comparison with the formulas as they are printed."""
    votes = sparse_crowd.votes
    similarity = ml_jmf.worker_similarity(votes)
    answers = ml_jmf.AnswerRows.of(votes, similarity)
    rng = np.random.default_rng(0)
    rows, factors = rng.random((len(answers.item), 3)), rng.random((votes.n_labels, 3))
    target = answers.matrix((votes.value > 0)[answers.vote].astype(float))
    trust = rng.random(votes.n_workers)
    return votes, similarity, answers, rows, factors, target, trust / trust.sum()


def test_weights_of_the_specification():
    assert_allclose(ml_jmf.worker_weights(np.array([1.0, 2.0, 6.0]), gamma=1.0), [0.75, 0.25, 0.0], **EXACT)


def test_default_gamma_is_half_the_sum_of_misfits():
    """γ = W · mean(f) / 2 = 4.5: −f / 9 plus the same number for all sums to one."""
    assert_allclose(ml_jmf.worker_weights(np.array([1.0, 2.0, 6.0])), [5 / 9, 4 / 9, 0.0], **EXACT)
    assert_allclose(ml_jmf.worker_weights(np.array([0.0, 0.0])), [0.5, 0.5], **EXACT)
    assert_allclose(ml_jmf.worker_weights(np.array([2.0, np.inf])), [1.0, 0.0], **EXACT)


def test_cosines_by_hand(toy_votes):
    """w1 and w2 say the same; w3 shares one of two yes with each."""
    similarity = ml_jmf.worker_similarity(toy_votes).toarray()
    assert_allclose(similarity, [[0, 1, 0.5], [1, 0, 0.5], [0.5, 0.5, 0]], **EXACT)
    # shares of yes: label 1 (2/3, 0), label 2 (1/3, 1)
    cosine = (2 / 9) / (2 / 3 * np.sqrt(10) / 3)
    assert_allclose(ml_jmf.label_cosines(toy_votes).toarray(), [[0, cosine], [cosine, 0]], **EXACT)


def test_updates_are_the_printed_formulas(problem):
    """Against dense matrices, worker by worker; the common step of an item's rows comes first."""
    votes, similarity, answers, rows, factors, target, trust = problem
    relations = ml_jmf.label_cosines(votes)
    given, asked, own = (np.zeros((votes.n_workers, votes.n_items, size)) for size in (5, 5, 3))
    given[votes.worker, votes.item, votes.label] = votes.value > 0
    asked[votes.worker, votes.item, votes.label] = 1
    own[answers.worker, answers.item] = rows
    fitted = asked * (own @ factors.T)

    towards = np.einsum("w,wnl,wnk->lk", trust, given, own) + 0.3 * relations @ factors
    away = np.einsum("w,wnl,wnk->lk", trust, fitted, own)
    away += 0.3 * relations.toarray().sum(axis=1)[:, None] * factors
    updated = ml_jmf.update_factors(rows, factors, target, trust, answers, relations, 0.3)
    assert_allclose(updated, factors * np.sqrt(towards / away), rtol=1e-10)

    def one_by_one(own):
        answered = np.zeros((votes.n_workers, votes.n_items))
        answered[answers.worker, answers.item] = 1
        both = np.einsum("wv,wn,vn->nwv", similarity.toarray(), answered, answered)
        towards = trust[:, None, None] * given @ factors + 0.3 * np.einsum("nwv,vnk->wnk", both, own)
        away = trust[:, None, None] * (asked * (own @ factors.T)) @ factors
        away += 0.3 * both.sum(axis=2).T[:, :, None] * own
        return own * np.sqrt(np.divide(towards, away, out=np.ones_like(away), where=away > 0))

    stress = 0.3 * (answers.degree * rows - answers.alike @ rows)
    pull = trust[answers.worker, None]
    towards = answers.on_item @ (rows * pull * (given[answers.worker, answers.item] @ factors))
    away = answers.on_item @ (rows * (pull * (fitted[answers.worker, answers.item] @ factors) + stress))
    common = np.sqrt(towards / away)
    expected = one_by_one(own * common[None])
    updated = ml_jmf.update_rows(rows, factors, target, trust, answers, 0.3)
    assert_allclose(updated, expected[answers.worker, answers.item], rtol=1e-10)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 10.0])
def test_updates_never_raise_the_objective(problem, smoothing):
    votes, _, answers, rows, factors, target, trust = problem
    relations = ml_jmf.label_cosines(votes)
    model = MLJMF(label_smoothing=smoothing, worker_smoothing=smoothing)
    history = []
    for _ in range(40):
        rows = ml_jmf.update_rows(rows, factors, target, trust, answers, smoothing)
        history.append(model._objective(rows, factors, target, trust, answers, relations))
        factors = ml_jmf.update_factors(rows, factors, target, trust, answers, relations, smoothing)
        history.append(model._objective(rows, factors, target, trust, answers, relations))
    assert history[-1] < 0.9 * history[0]
    assert np.all(np.diff(history) <= 1e-9 * history[0])


def test_set_sizes_by_hand():
    """Shares of yes 1 + 1/2 round up to 2; 1/2 + 0 to 1; no yes at all means no label."""
    votes = Votes.from_dense([[[1, 1], [1, -1], [-1, -1]], [[1, -1], [-1, -1], [-1, -1]]])
    assert_array_equal(ml_jmf.set_sizes(votes), [2, 1, 0])


def test_unasked_labels_do_not_shrink_the_set():
    """Each of two workers is asked about one of two labels: one yes each makes a set of two, not of one."""
    votes = Votes.from_dense([[[1, 0]], [[0, 1]]])
    assert_array_equal(ml_jmf.set_sizes(votes), [2])
    assert MLJMF().fit(votes).predict().all()


def test_probabilities_follow_the_scores():
    """Above 0.5 are as many as the set size says, in the order of the scores; ties at the border stay outside."""
    votes = Votes.from_dense([[[1, 1, -1, -1], [1, -1, -1, -1]], [[1, -1, -1, 1], [-1, 1, -1, -1]]])
    scores = np.array([0.1, 0.9, 0.4, 0.3, 0.2, 0.2, 0.1, 0.0])
    proba = ml_jmf.rcard_proba(votes, scores).reshape(2, 4)
    assert_array_equal(proba > 0.5, [[False, True, True, False], [False] * 4])
    assert_array_equal(np.argsort(proba[0]), [0, 3, 2, 1])
    assert_allclose(proba[1, :2], 0.5, **EXACT)


def test_scores_above_one_keep_their_order():
    votes = Votes.from_dense([[[1, 1, -1]]])
    proba = ml_jmf.rcard_proba(votes, np.array([1.2, 1.1, 0.0]))
    assert proba[0] > proba[1] > 0.5 > proba[2]


def spammed(seed):
    """Seven honest workers and three who always tag the same label."""
    spec = CrowdSpec(n_items=80, n_workers=7, n_labels=6, answers_per_item=7, spammers=0, seed=seed)
    crowd = simulate_crowd(spec)
    spam = -np.ones((3, 80, 6), dtype=int)
    spam[np.arange(3), :, np.arange(3)] = 1
    return crowd.truth, Votes.from_dense(np.concatenate([crowd.votes.to_dense(), spam]))


def test_uniform_spammers_win_only_where_everybody_is_his_own_measure():
    """The known defect of the literal objective, and its cure."""
    literal, anchored = [], []
    for seed in range(2):
        votes = spammed(seed)[1]
        for weights, anchor in ((literal, "self"), (anchored, "consensus")):
            weight = MLJMF(anchor=anchor).fit(votes).worker_weight_
            assert weight.sum() == pytest.approx(1)
            weights.append(weight[7:].mean() / weight[:7].mean())
    assert np.mean(literal) > 1 > np.mean(anchored)
    assert np.mean(anchored) < 0.8


def test_better_than_chance_when_labels_are_unasked(sparse_crowd):
    model = MLJMF().fit(sparse_crowd.votes)
    assert model.converged_
    assert metrics.jaccard(sparse_crowd.truth, model.predict()) > 0.4


def test_silenced_worker_still_speaks_where_he_is_alone():
    """Two agree, the third contradicts everywhere and gets no weight; only the third voted on the last item."""
    rng = np.random.default_rng(0)
    dense = np.zeros((3, 41, 3), dtype=int)
    dense[:2, :40] = np.where(rng.random((40, 3)) < 0.4, 1, -1)
    dense[2, :40] = -dense[0, :40]
    dense[2, 40] = [1, -1, -1]
    model = MLJMF().fit(Votes.from_dense(dense))
    assert model.worker_weight_[2] == 0
    assert_array_equal(model.predict()[40], [True, False, False])
    assert np.isnan(model.workers()["group"]).all()
    assert_allclose(model.workers()["weight"], model.worker_weight_, **EXACT)


def test_known_truth_moves_the_weights():
    """Two against two: known truth says who is right."""
    rng = np.random.default_rng(0)
    answer = np.where(rng.random((30, 3)) < 0.5, 1, -1)
    votes = Votes.from_dense(np.stack([answer, answer, -answer, -answer]))
    known = np.repeat(np.arange(30) < 15, 3)
    for sign, right, wrong in ((1, slice(0, 2), slice(2, 4)), (-1, slice(2, 4), slice(0, 2))):
        model = MLJMF()
        model._learn(InMemory(votes, Gold((sign * answer > 0).ravel(), known).signs))
        assert model.worker_weight_[right].min() > model.worker_weight_[wrong].max()


def test_rank_is_bounded():
    votes = Votes.from_dense(np.ones((1, 1, 100)))
    assert MLJMF().fit(votes).label_factors_.shape == (100, ml_jmf.LARGEST_RANK)
    assert MLJMF(rank=3).fit(votes).label_factors_.shape == (100, 3)
    assert MLJMF().fit(Votes.from_dense(np.ones((1, 1, 1)))).label_factors_.shape == (1, 2)


def test_out_of_patience(toy_votes):
    with pytest.warns(ConvergenceWarning, match="MLJMF stopped after 2 iterations"):
        model = MLJMF(max_iter=2).fit(toy_votes)
    assert (model.n_iter_, model.converged_) == (2, False)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"anchor": "other"}, "anchor must be 'consensus' or 'self'; got 'other'"),
        ({"rank": 0}, "rank must be at least 1"),
        ({"label_smoothing": -1.0}, "label_smoothing must be a number >= 0"),
        ({"worker_smoothing": np.nan}, "worker_smoothing"),
        ({"max_iter": 0}, "max_iter must be at least 1; got 0"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"random_state": -1}, "random_state must be at least 0"),
    ],
)
def test_bad_parameters(toy_votes, params, message):
    with pytest.raises(ParameterError, match=message):
        MLJMF(**params).fit(toy_votes)


def test_real_data(shared_data):
    """SONYC coarse tags; majority has .607."""
    folder = shared_data / "sonyc_ust_coarse_val"
    votes = amcc.read_votes(folder / "annotations.csv.gz")
    truth = amcc.read_truth(folder / "truth.csv", known_items=folder / "truth_items.csv")
    true, known = truth.matrices(votes.item_names, votes.label_names)
    assert metrics.jaccard(true, MLJMF().fit(votes).predict(), known) >= 0.65


def test_smoothness_is_half_the_sum_over_related_rows():
    """Rows 0 and 1 are related with .5: .5 · ‖(1, 2) − (3, 1)‖² = 2.5; row 2 is related to nobody."""
    rows = np.array([[1.0, 2.0], [3.0, 1.0], [9.0, 9.0]])
    relations = sparse.csr_array(np.array([[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]]))
    assert ml_jmf.smoothness(rows, relations) == pytest.approx(2.5)
    assert ml_jmf.smoothness(np.ones((3, 2)), relations) == pytest.approx(0)


def test_nothing_pulls_where_nothing_is():
    assert_allclose(ml_jmf.root_ratio(np.array([4.0, 0.0, 5.0]), np.array([1.0, 2.0, 0.0])), [2, 0, 1], **EXACT)


def test_misfits_are_means_over_votes(toy_votes):
    """Against a model that says .5 everywhere, every vote is .25 away."""
    assert_allclose(ml_jmf.misfits(toy_votes, np.full(len(toy_votes), 0.5)), 0.25, **EXACT)
    idle = Votes.from_dense(np.concatenate([toy_votes.to_dense(), np.zeros((1, 2, 2))]))
    assert np.isinf(ml_jmf.misfits(idle, np.full(len(idle), 0.5))[3])


def test_shares_of_yes_by_weight():
    votes = Votes.from_dense([[[1]], [[-1]], [[-1]]])
    assert_allclose(ml_jmf.weighted_yes_share(votes, np.array([0.6, 0.3, 0.1])), [0.6], **EXACT)


def test_change_is_a_share_of_the_first_value():
    assert ml_jmf.relative_change([], 5.0) == np.inf
    assert ml_jmf.relative_change([8.0, 4.0], 3.0) == pytest.approx(1 / 8)
    assert ml_jmf.relative_change([0.0], 0.0) == 0


def test_rows_without_a_yes_are_like_no_other():
    found = ml_jmf.cosines(np.array([0, 1]), np.array([0, 0]), np.array([1.0, 0.0]), (3, 1))
    assert found.nnz == 0


def test_a_new_label_is_judged_by_weighted_votes(sparse_crowd):
    """It has no factors; where all say yes it is in the set, where all say no it is not."""
    model = MLJMF().fit(sparse_crowd.votes)
    dense = np.array([[[1], [-1]]] * 3)
    votes = Votes.from_dense(dense, worker_names=["a", "b", "c"], label_names=["new"])
    assert_array_equal(model.predict(votes), [[True], [False]])


def test_workers_are_judged_by_the_weighted_majority():
    """Two of weight one half each outvote three of no weight."""
    dense = np.tile(np.where(np.arange(12) % 2, 1, -1)[:, None], (5, 1, 1))
    dense[2:] *= -1
    votes = Votes.from_dense(dense)
    judged = ml_jmf.judge_by_weights(votes, np.array([0.5, 0.5, 0, 0, 0]), Gold.nothing(12))
    met = judged.weight.reshape(5, 2) / np.bincount(votes.coins.slot).reshape(5, 2)  # present where they said no, yes
    assert_allclose(met[:2], [[0, 1], [0, 1]], rtol=0, atol=1e-6)
    assert_allclose(met[2:], [[1, 0]] * 3, rtol=0, atol=1e-6)
