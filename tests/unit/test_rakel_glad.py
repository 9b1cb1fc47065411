"""RAkEL-GLAD against the worked numbers of the specification, §3.4, and its own promises."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import ConvergenceWarning, ParameterError, Truth, Votes, metrics
from amcc.consensus import MajorityVote, RakelGlad
from amcc.consensus.learned import Gold
from amcc.consensus.models.rakel_glad.ascent import Height, climb_by_lbfgs, step_uphill
from amcc.consensus.models.rakel_glad.glad import EASE_BOUND, find_ease, glad_expectation, log_posterior, stretch
from amcc.consensus.models.rakel_glad.subsets import NamelessOrder, draw_subsets, subset_batches
from amcc.consensus.models.rakel_glad.tally import PairTally
from amcc.consensus.models.rakel_glad.tasks import SubsetEntries, SubsetTasks, class_bits, class_priors
from amcc.consensus.signature import signatures
from amcc.data.simulate import CrowdSpec, simulate_crowd

PRINTED = {"rtol": 0, "atol": 5e-7}  # the specification prints six digits


def tasks_of(votes, subsets, partial="marginalise", class_prior="uniform", gold=None):
    """Tasks, and the log-prior of their classes."""
    nothing = np.zeros(len(votes.pairs), dtype=bool)
    tasks = SubsetTasks.of(votes, np.array(subsets), partial)
    return tasks, tasks.log_prior(class_priors(tasks, class_prior), votes, gold or Gold(nothing, nothing))


def at_the_start(tasks, log_prior):
    return glad_expectation(tasks, log_prior, np.ones(tasks.n_abilities), np.ones(tasks.n_groups))


# -- worked numbers ------------------------------------------------------------------------------------------------


def test_first_posterior_of_the_toy_data(toy_votes):
    """w3 was not asked about l1 on i2: dropped, only w1 and w2 count there."""
    proba = at_the_start(*tasks_of(toy_votes, [[0, 1]], "drop")).proba
    assert_allclose(proba[:, 0], [0.000473, 0.977552, 0.021502, 0.000473], **PRINTED)  # {}, {l1}, {l2}, {l1, l2}
    assert proba[2, 1] == pytest.approx(0.998551, abs=5e-7)
    marginal = proba.T @ class_bits(4)
    assert_allclose(marginal, [[0.978025, 0.021975], [0.000966, 0.999034]], **PRINTED)


def test_partial_answer_stands_for_all_classes_that_agree(toy_votes):
    """w3's yes to l2 on i2 agrees with {l2} and {l1, l2}."""
    proba = at_the_start(*tasks_of(toy_votes, [[0, 1]])).proba[:, 1]
    right = 1 / (1 + np.exp(-np.e))
    wrong = (1 - right) / 3
    expected = np.array([wrong**2, wrong**2, right**2, wrong**2])  # w1 and w2 say {l2}
    expected *= [2 * wrong, 2 * wrong, right + wrong, right + wrong]
    assert_allclose(proba, expected / expected.sum(), rtol=1e-12)


def test_binary_glad():
    """Votes +, +, − on one label: the third worker is pushed down, the others are where they should be."""
    votes = Votes.from_dense([[[1]], [[1]], [[-1]]])
    tasks, log_prior = tasks_of(votes, [[0]])
    assert at_the_start(tasks, log_prior).proba[1, 0] == pytest.approx(0.938097, abs=5e-7)
    gradient = log_posterior(tasks, log_prior, np.ones(4)).gradient
    assert_allclose(gradient[:3], [0, 0, (0.061903 - 0.938097) * np.e], rtol=0, atol=5e-6)


# -- the objective ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sparse():
    """Workers × items × labels, half of it not asked."""
    dense = np.random.default_rng(0).choice([-1, 0, 1], p=[0.35, 0.45, 0.2], size=(4, 5, 4))
    return Votes.from_dense(dense)


@pytest.mark.parametrize("partial", ["marginalise", "drop"])
@pytest.mark.parametrize("class_prior", ["uniform", "empirical"])
def test_gradient_equals_finite_differences(sparse, partial, class_prior):
    tasks, log_prior = tasks_of(sparse, [[0, 1, 2], [1, 3, -1]], partial, class_prior)
    point = np.random.default_rng(1).normal(1, 1, size=tasks.n_abilities + tasks.n_groups)
    step = 1e-6 * np.eye(len(point))
    slope = [log_posterior(tasks, log_prior, point + d).value - log_posterior(tasks, log_prior, point - d).value
             for d in step]  # fmt: skip
    assert_allclose(log_posterior(tasks, log_prior, point).gradient, np.array(slope) / 2e-6, rtol=1e-5, atol=1e-7)


def test_objective_is_the_sum_over_all_classes(sparse):
    """Straight from the definition, with answers told apart class by class."""
    subset = [0, 2, 3]
    tasks, log_prior = tasks_of(sparse, [subset])
    rng = np.random.default_rng(2)
    ability, ease = rng.normal(1, 1, tasks.n_abilities), rng.normal(1, 1, tasks.n_groups)
    dense, expected = sparse.to_dense(), 0.0
    for item, item_ease in zip(tasks.group_item, ease, strict=True):
        total = 0.0
        for truth in product([-1, 1], repeat=3):
            chance = 1 / 8
            for worker, worker_ability in zip(tasks.ability_worker, ability, strict=True):
                votes = dense[worker, item, subset]
                right = 1 / (1 + np.exp(-worker_ability * np.exp(item_ease)))
                agreeing = [c for c in product([-1, 1], repeat=3) if all(votes * (votes != c) == 0)]
                chance *= sum(right if c == truth else (1 - right) / 7 for c in agreeing)
            total += chance
        expected += np.log(total)
    expected -= ((ability - 1) ** 2).sum() / 2 + ((ease - 1) ** 2).sum() / 2
    found = log_posterior(tasks, log_prior, np.append(ability, ease)).value
    assert found == pytest.approx(expected, rel=1e-10)


def test_labels_that_were_not_asked_say_nothing(sparse):
    """A subset with a label that is not in the votes answers as the smaller subset does, on the other labels."""
    ability_only = {"rtol": 0, "atol": 1e-12}
    with_gap, prior_with_gap = tasks_of(sparse, [[0, -2]])
    proba = at_the_start(with_gap, prior_with_gap).proba
    assert_allclose(proba[0], proba[2], **ability_only)  # whether the missing label is there remains open
    assert_allclose(proba[1], proba[3], **ability_only)


def test_known_truth_forbids_classes(toy_votes):
    known = np.array([True, False, False, False])  # l1 is known to be absent from i1, against two of three
    tasks, log_prior = tasks_of(toy_votes, [[0, 1]], gold=Gold(np.zeros(4, dtype=bool), known))
    proba = at_the_start(tasks, log_prior).proba
    assert_array_equal(proba[[1, 3], 0], 0)
    assert_allclose(proba.sum(axis=0), 1, rtol=1e-12)
    assert (proba[:, 1] > 0).all()


def test_empirical_prior_counts_answers(toy_votes):
    """{l1} twice and {l2} three times; w3's lone yes to l2 counts half for {l2} and half for both labels."""
    tasks = SubsetTasks.of(toy_votes, np.array([[0, 1]]), "marginalise")
    assert_allclose(class_priors(tasks, "empirical"), [[1 / 10, 3 / 10, 4.5 / 10, 1.5 / 10]], rtol=1e-12)
    assert_allclose(class_priors(tasks, "uniform"), [[1 / 4] * 4], rtol=1e-12)


# -- climbing --------------------------------------------------------------------------------------------------------


def test_climb_arrives_where_the_gradient_is_zero(sparse):
    tasks, log_prior = tasks_of(sparse, [[0, 1, 2], [1, 3, -1]])
    n_parameters = tasks.n_abilities + tasks.n_groups
    climbed = climb_by_lbfgs(lambda point: log_posterior(tasks, log_prior, point), n_parameters, 500, 1e-12)
    assert_allclose(log_posterior(tasks, log_prior, climbed.parameters).gradient, 0, rtol=0, atol=1e-4)
    assert np.all(np.diff(climbed.history) >= 0)
    ability, ease = np.split(climbed.parameters, [tasks.n_abilities])
    assert_allclose(find_ease(tasks, log_prior, ability), ease, rtol=0, atol=1e-2)


@pytest.mark.parametrize("seed", range(2))
def test_objective_never_falls(seed):
    crowd = simulate_crowd(CrowdSpec(n_items=60, n_workers=12, n_labels=5, asked_share=0.7, seed=seed))
    history = RakelGlad().fit(crowd.votes).objective_history_
    assert len(history) > 5
    assert np.all(np.diff(history) >= -1e-9 * abs(history[0]))


def test_an_easy_item_does_not_overflow():
    """Two hundred workers agree on everything: whatever the ease, numbers stay numbers."""
    model = RakelGlad(subset_size=2).fit(Votes.from_dense(np.tile([[1, -1], [-1, 1]], (200, 1, 1))))
    assert np.isfinite(model.objective_history_).all()
    assert (np.abs(model.item_ease_) <= EASE_BOUND).all()
    assert_allclose(model.predict_proba(), [[1, 0], [0, 1]], rtol=0, atol=1e-6)


# -- subsets ---------------------------------------------------------------------------------------------------------


def subsets_of(dense, size, n_subsets=None, seed=0):
    return draw_subsets(Votes.from_dense(dense), size, n_subsets, seed)


def test_subsets_are_distinct_and_cover_every_label():
    subsets = subsets_of(np.ones((2, 3, 12)), 3)
    assert subsets.shape == (24, 3)
    assert len({tuple(subset) for subset in subsets.tolist()}) == 24
    assert_array_equal(np.unique(subsets), np.arange(12))
    assert all(len(set(subset)) == 3 for subset in subsets.tolist())
    assert not np.array_equal(subsets, subsets_of(np.ones((2, 3, 12)), 3, seed=1))


def test_there_are_no_more_subsets_than_there_are():
    assert_array_equal(subsets_of(np.ones((2, 3, 2)), 3), [[0, 1, -1]])
    assert len(subsets_of(np.ones((2, 3, 4)), 3)) == 4
    assert_array_equal(np.sort(subsets_of(np.ones((1, 1, 3)), 1), axis=0), [[0], [1], [2]])


def test_few_subsets_still_cover_every_label():
    assert_array_equal(np.unique(subsets_of(np.ones((1, 1, 9)), 3, n_subsets=1)), np.arange(9))


def test_all_labels_are_drawn_alike():
    """A thousand draws of pairs among five labels: every pair as often as any other, within four deviations."""
    counts, votes = np.zeros((5, 5)), Votes.from_dense(np.ones((1, 1, 5)))
    for seed in range(200):
        for one, other in draw_subsets(votes, 2, 5, seed).tolist():
            counts[one, other] += 1
    pairs = counts[np.triu_indices(5, 1)]
    assert counts.sum() == pairs.sum()
    assert np.abs(pairs - pairs.mean()).max() < 4 * np.sqrt(pairs.mean())


def test_labels_of_a_subset_are_asked_together():
    """Items ask about labels 0–3 or 4–7, so no subset mixes them."""
    dense = np.zeros((2, 10, 8))
    dense[:, :5, :4] = dense[:, 5:, 4:] = 1
    assert {len(set(np.array(subset) // 4)) for subset in subsets_of(dense, 3).tolist()} == {1}


def test_labels_asked_one_by_one_are_subsets_of_their_own():
    dense = np.eye(4)[:, None, :].repeat(3, axis=1)  # worker w is asked about label w only
    assert_array_equal(np.sort(subsets_of(dense, 3)[:, 0]), np.arange(4))
    assert_array_equal(subsets_of(dense, 3)[:, 1:], -1)


def test_nameless_order_is_undone(crowd):
    votes = crowd.votes
    order = NamelessOrder.of(signatures(votes, 0))
    nameless, pair_order = order.apply(votes)
    assert_array_equal(order.item[nameless.pairs.item], votes.pairs.item[pair_order])
    assert_array_equal(order.label[nameless.pairs.label], votes.pairs.label[pair_order])
    assert_array_equal(nameless.n_yes, votes.n_yes[pair_order])
    assert nameless.item_names[int(nameless.item[0])] == votes.item_names[int(order.item[nameless.item[0]])]


# -- the whole -------------------------------------------------------------------------------------------------------


def test_whole_answers_are_the_same_dropped_or_marginalised(crowd):
    proba = RakelGlad(partial="drop").fit(crowd.votes).predict_proba()
    assert_allclose(proba, RakelGlad().fit(crowd.votes).predict_proba(), rtol=0, atol=1e-12)


def test_dropping_everything_leaves_the_prior():
    """All answers hold one label of two, yet the labels are in a subset of two by one whole answer on another item."""
    dense = np.array([[[1, 0], [0, -1], [1, -1]], [[1, 0], [0, -1], [1, -1]]])
    model = RakelGlad(partial="drop").fit(Votes.from_dense(dense))
    assert model.predict_proba()[0, 0] == model.label_prior_[0]
    assert model.predict_proba()[2, 0] > 0.9
    assert RakelGlad().fit(Votes.from_dense(dense)).predict_proba()[0, 0] > model.label_prior_[0]


def test_votes_of_subsets_are_shares(crowd):
    model = RakelGlad(scores="votes").fit(crowd.votes)
    n_subsets = np.array([(model.subset_label_ == label).sum() for label in range(6)])
    share = model.predict_proba() * n_subsets
    assert_allclose(share, share.round(), rtol=0, atol=1e-9)
    assert metrics.jaccard(crowd.truth, model.predict()) > 0.5


def test_better_than_majority_where_workers_differ():
    gains = []
    for seed in range(3):
        crowd = simulate_crowd(CrowdSpec(n_items=150, n_workers=25, n_labels=6, spammers=0.3, seed=seed))
        ours = metrics.jaccard(crowd.truth, RakelGlad().fit(crowd.votes).predict())
        gains.append(ours - metrics.jaccard(crowd.truth, MajorityVote().fit(crowd.votes).predict()))
    assert np.mean(gains) > 0.02


def test_a_contrary_worker_has_a_negative_ability():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], size=(60, 1))
    dense = np.stack([truth, truth, truth, -truth])
    model = RakelGlad().fit(Votes.from_dense(dense))
    assert model.ability_[3] < 0 < model.ability_[:3].min()
    assert_array_equal(model.predict(), truth > 0)


def test_known_truth_teaches_about_workers():
    """Two workers against one who is right by what is known: the one is believed on the item in doubt."""
    dense = np.array([[[1]] * 31, [[1]] * 31, [[-1]] * 31])
    votes = Votes.from_dense(dense, item_names=[f"i{n:02d}" for n in range(31)], label_names=["l"])
    known = pd.DataFrame({"item": [f"i{n:02d}" for n in range(30)]})
    absent = Truth.from_frames(pd.DataFrame({"item": [], "label": []}, dtype=str), known_items=known)
    assert RakelGlad().fit(votes).predict_proba()[30, 0] > 0.5
    assert RakelGlad().fit(votes, truth=absent).predict_proba()[30, 0] < 0.5


def test_new_worker_counts_as_average(crowd):
    model = RakelGlad(subset_size=1).fit(crowd.votes)
    names = {"label_names": crowd.votes.label_names}
    newcomer = Votes.from_dense([[[1, 0, 0, 0, 0, 0]]], worker_names=["nobody"], **names)
    subset = int(np.flatnonzero(model.subset_label_[:, 0] == 0)[0])
    tasks, log_prior = tasks_of(newcomer, [[0]])
    ability = model.subset_ability_[[subset]]
    expected = glad_expectation(tasks, log_prior, ability, find_ease(tasks, log_prior, ability)).proba[1, 0]
    assert model.predict_proba(newcomer)[0, 0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"subset_size": 0}, r"subset_size must lie in 1\.\.8; got 0"),
        ({"n_subsets": 0}, "n_subsets must be at least 1"),
        ({"class_prior": "flat"}, "class_prior must be 'uniform' or 'empirical'; got 'flat'"),
        ({"partial": "keep"}, "partial must be 'marginalise' or 'drop'"),
        ({"scores": "hard"}, "scores must be 'marginal' or 'votes'"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"tol": 0.0}, "tol must be positive"),
    ],
)
def test_bad_parameters(toy_votes, params, message):
    with pytest.raises(ParameterError, match=message):
        RakelGlad(**params).fit(toy_votes)


def test_too_few_rounds_are_told(crowd):
    with pytest.warns(ConvergenceWarning, match="RakelGlad stopped after 2 iterations"):
        RakelGlad(max_iter=2).fit(crowd.votes)


# -- parts -----------------------------------------------------------------------------------------------------------


def hill(top, curvature):
    """A concave quadratic: its height, slope and bend at any point."""

    def height(point):
        away = point - top
        return Height(float(-0.5 * (curvature * away**2).sum()), -curvature * away, curvature)

    return height


def test_a_quadratic_is_climbed_in_one_step():
    """With the true curvatures the first step is Newton's."""
    top, curvature = np.array([3.0, -2.0, 0.5]), np.array([1.0, 100.0, 0.01])
    climbed = climb_by_lbfgs(hill(top, curvature), 3, 50, 1e-12)
    assert_allclose(climbed.parameters, top, rtol=0, atol=1e-9)
    assert len(climbed.history) <= 2


def test_wrong_curvatures_only_cost_steps():
    """L-BFGS learns the curvature from its steps."""
    top, curvature = np.array([3.0, -2.0, 0.5, 8.0]), np.array([1.0, 30.0, 0.1, 5.0])
    climbed = climb_by_lbfgs(
        lambda point: hill(top, curvature)(point)._replace(curvature=np.ones(4)), 4, 200, 1e-14
    )  # fmt: skip
    assert_allclose(climbed.parameters, top, rtol=0, atol=1e-4)
    assert np.all(np.diff(climbed.history) >= 0)


def test_a_direction_that_never_rises_is_not_taken():
    height = hill(np.zeros(2), np.ones(2))
    here = height(np.ones(2))
    step, there = step_uphill(height, np.ones(2), here, np.array([1.0, 1.0]))  # away from the top
    assert_array_equal(step, 0)
    assert there is here


def test_too_long_a_step_is_halved():
    height = hill(np.zeros(1), np.ones(1))
    step, there = step_uphill(height, np.ones(1), height(np.ones(1)), np.array([-8.0]))
    assert_allclose(step, -1.0)  # −8, −4 and −2 do not rise enough
    assert there.value == 0


def test_climbing_ends_when_patience_does():
    climbed = climb_by_lbfgs(hill(np.full(3, 9.0), np.array([1.0, 2.0, 3.0])), 3, 1, 0.0)
    assert len(climbed.history) == 1


def test_pairs_get_the_average_of_their_subsets(toy_votes):
    """l1 is in both subsets, with .2 and .6 on the first item; l2 in one of them."""
    tally = PairTally.empty(toy_votes)
    both, _ = tasks_of(toy_votes, [[0, 1]])
    alone, _ = tasks_of(toy_votes, [[0, -1]])
    of_both = np.array([[0.5, 0.0], [0.1, 0.0], [0.3, 1.0], [0.1, 0.0]])  # {}, {l1}, {l2}, {l1, l2}
    tally.add(both, of_both, "marginal")
    tally.add(alone, np.array([[0.4, 1.0], [0.6, 0.0], [0, 0], [0, 0]]), "marginal")
    assert_allclose(tally.average(np.full(4, np.nan)), [(0.2 + 0.6) / 2, 0.4, 0, 1], rtol=0, atol=1e-12)
    votes_only = PairTally.empty(toy_votes)
    votes_only.add(both, of_both, "votes")
    assert_array_equal(votes_only.average(np.full(4, np.nan)), [0, 0, 0, 1])


@pytest.fixture
def rows_per_batch(monkeypatch):
    """Sets how many votes a batch holds."""
    return lambda number: monkeypatch.setattr("amcc.consensus.models.rakel_glad.subsets.ROWS_PER_BATCH", number)


def test_batches_cover_all_subsets_once(rows_per_batch, crowd):
    subsets = draw_subsets(crowd.votes, 3, 40, 0)
    rows_per_batch(10**9)
    assert list(subset_batches(crowd.votes, subsets)) == [(0, len(subsets))]
    rows_per_batch(4000)
    parts = list(subset_batches(crowd.votes, subsets))
    assert len(parts) > 3
    assert [number for first, last in parts for number in range(first, last)] == list(range(len(subsets)))


def test_batches_hardly_matter(rows_per_batch, crowd):
    """A subset may have several optima, and its batch decides the path to one; the label sets are nearly the same."""
    rows_per_batch(10**9)
    whole = RakelGlad().fit(crowd.votes)
    rows_per_batch(4000)
    parts = RakelGlad().fit(crowd.votes)
    assert_array_equal(parts.subset_label_, whole.subset_label_)
    assert (parts.predict() == whole.predict()).mean() > 0.97
    assert parts.objective_history_[-1] == pytest.approx(whole.objective_history_[-1], rel=0.01)


def test_things_are_looked_up_in_all_subsets_of_their_label():
    entries = SubsetEntries.of(np.array([[0, 2], [2, -1]]), np.array([2, 1, 0]))
    found = set(zip(entries.thing.tolist(), entries.subset.tolist(), entries.bit.tolist(), strict=True))
    assert found == {(0, 0, 1), (0, 1, 0), (2, 0, 0)}  # label 1 is in no subset


def test_an_ease_beyond_the_bound_counts_as_the_bound():
    assert_allclose(stretch(np.array([-99.0, 0.0, 99.0])), np.exp([-EASE_BOUND, 0, EASE_BOUND]))
