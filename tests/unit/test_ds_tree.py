"""DS-tree against the worked numbers of the specification, §3.3, and against enumeration of all label sets."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import ConvergenceWarning, ParameterError, Truth, Votes, load_model, metrics
from amcc.consensus import CDS, DSTree
from amcc.consensus.models.ds_tree import (
    LabelTree,
    TreeBeliefs,
    chow_liu,
    expected_along,
    first_beliefs,
    label_affinities,
    mutual_information,
    pass_messages,
    present_given_parent,
    relevant_nodes,
)
from amcc.data.simulate import CrowdSpec, simulate_crowd

CHAIN = np.array([-1, 0])


def log_odds(hit, votes):
    """Evidence of votes ±1 of workers with hit rate and specificity `hit`."""
    return sum(np.log(hit / (1 - hit)) * vote for vote in votes)


def enumerated(parent, table, evidence):
    """Probabilities of labels and log-likelihood by a sum over all label sets, for one item."""
    marginal, total = np.zeros(len(parent)), 0.0
    for labels in product((0, 1), repeat=len(parent)):
        weight = 1.0
        for label, present in enumerate(labels):
            chance = table[label, labels[parent[label]] if parent[label] >= 0 else 0]
            weight *= chance * np.exp(evidence[label]) if present else 1 - chance
        marginal += weight * np.array(labels)
        total += weight
    return marginal / total, np.log(total)


# -- messages --------------------------------------------------------------------------------------------------------


def test_two_labels_by_hand():
    """P(z1) = .4, P(z2 | z1) = .1 or .7, coins of .8; label 1 has a yes and a no, label 2 a yes."""
    nodes = relevant_nodes(LabelTree(CHAIN), np.array([0, 0]), np.array([0, 1]))
    table = np.array([[0.4, 0.4], [0.1, 0.7]])
    found = pass_messages(nodes, table, np.array([log_odds(0.8, [1, -1]), log_odds(0.8, [1])]))
    assert_allclose(found.proba, [0.613861, 0.673267], rtol=0, atol=5e-7)
    both, second = found.with_parent[1], found.proba[1]
    joint = [1 - found.proba[0] - (second - both), second - both, found.proba[0] - both, both]
    assert_allclose(joint, [0.267327, 0.118812, 0.059406, 0.554455], rtol=0, atol=5e-7)


@pytest.mark.parametrize("seed", range(5))
def test_messages_equal_enumeration(seed):
    """Random forests of nine labels and three items with some labels unasked."""
    rng = np.random.default_rng(seed)
    parent = np.array([-1 if label == 0 or rng.random() < 0.2 else rng.integers(label) for label in range(9)])
    order = rng.permutation(9)  # children may come before their parents
    shuffled = np.empty(9, dtype=np.int64)
    shuffled[order] = np.where(parent >= 0, order[parent], -1)
    table = rng.uniform(0.05, 0.95, (9, 2))
    asked = rng.random((3, 9)) < 0.6
    item, label = np.nonzero(asked)
    evidence = np.where(asked, rng.normal(0, 2, (3, 9)), 0.0)
    nodes = relevant_nodes(LabelTree(shuffled), item, label)
    found = pass_messages(nodes, table, nodes.from_pairs(evidence[asked]))
    expected = [enumerated(shuffled, table, row) for row in evidence]
    marginal = np.array([proba for proba, _ in expected])
    assert_allclose(found.proba, marginal[nodes.item, nodes.label], rtol=0, atol=1e-12)
    assert found.log_likelihood == pytest.approx(sum(total for _, total in expected), rel=1e-10)


def test_only_asked_labels_and_their_ancestors_are_looked_at():
    """A chain 0 → 1 → 2 → 3; item 0 was asked about 2, item 1 about 0."""
    nodes = relevant_nodes(LabelTree(np.array([-1, 0, 1, 2])), np.array([0, 1]), np.array([2, 0]))
    assert list(zip(nodes.item, nodes.label, strict=True)) == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert_array_equal(nodes.parent, [-1, 0, 1, -1])
    assert_array_equal(nodes.of_pair, [2, 3])
    assert [level.tolist() for level in nodes.levels] == [[0, 3], [1], [2]]


# -- the tree --------------------------------------------------------------------------------------------------------


def copies(n_items=200, seed=0):
    """Label b copies a nine times of ten, c copies b likewise, d is on its own."""
    rng = np.random.default_rng(seed)
    a = rng.random(n_items) < 0.5
    b = np.where(rng.random(n_items) < 0.1, ~a, a)
    c = np.where(rng.random(n_items) < 0.1, ~b, b)
    return np.stack([a, b, c, rng.random(n_items) < 0.5], axis=1)


def test_tree_finds_who_copies_whom():
    parent = chow_liu(Votes.from_dense(np.where(copies(), 1, -1)[None]))
    edges = {frozenset(edge) for edge in enumerate(parent.tolist()) if edge[1] >= 0}
    assert edges == {frozenset((0, 1)), frozenset((1, 2))}
    assert parent[3] == -1


def test_depth_of_a_forest():
    assert_array_equal(LabelTree(np.array([2, -1, 1, -1, 0])).depth, [2, 0, 1, 0, 3])


def test_affinity_counts_answers_that_cover_both_labels():
    """Labels 0 and 1 meet in four answers (2 both, 1 first only, 1 none); 2 meets nobody."""
    dense = np.array([[[1, 1, 0], [1, 1, 0], [1, -1, 0], [-1, -1, 0], [0, 1, 0], [0, 0, 1]]])
    one, other, gain = label_affinities(Votes.from_dense(dense))
    assert (one.tolist(), other.tolist()) == ([0], [1])
    information = mutual_information(np.array([[[1.5, 0.5], [1.5, 2.5]]]))
    assert gain[0] == pytest.approx(4 * information[0] - 0.5 * np.log(4))


# -- the model -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_objective_never_falls(seed):
    crowd = simulate_crowd(CrowdSpec(n_items=150, n_workers=20, n_labels=6, asked_share=0.6, seed=seed))
    model = DSTree(tol=1e-7, max_iter=5000).fit(crowd.votes)
    assert (model.parent_label_ >= 0).any()
    assert len(model.objective_history_) > 5
    assert np.all(np.diff(model.objective_history_) >= -1e-9 * abs(model.objective_history_[0]))


@pytest.mark.parametrize(("label", "expected"), [(0, [0.780086, 0.135912]), (1, [0.245026, 0.920907])])
def test_a_label_on_its_own_is_treated_as_by_c_ds(toy_votes, label, expected):
    alone = toy_votes.select(toy_votes.label == label)
    model = DSTree(tol=1e-10).fit(alone)
    assert_array_equal(model.parent_label_, [-1, -1])
    assert_allclose(model.predict_proba()[:, label], expected, rtol=0, atol=5e-7)
    assert_allclose(model.label_prior_, CDS(tol=1e-10).fit(alone).label_prior_, rtol=0, atol=1e-7)


def test_opposite_labels_of_the_toy_votes_are_neighbours(toy_votes):
    """Every answer that covers both says yes to exactly one."""
    assert sorted(chow_liu(toy_votes).tolist()) in ([-1, 0], [-1, 1])


def test_relatives_help_where_votes_are_even():
    """Ten clear items teach that a and b go together; on the last, b has one yes and one no."""
    clear = np.tile(np.where(np.array([[1, 1]] * 10 + [[0, 0]] * 10), 1, -1), (2, 1, 1))
    doubtful = np.array([[[1, 1]], [[1, -1]]])
    votes = Votes.from_dense(np.concatenate([clear, doubtful], axis=1))
    assert DSTree().fit(votes).predict_proba()[20, 1] > CDS().fit(votes).predict_proba()[20, 1] + 0.2


def test_unasked_labels_follow_their_relatives_and_are_no_evidence():
    truth = copies()
    dense = np.tile(np.where(truth, 1, -1), (3, 1, 1))
    dense[:, :100, 1:3] = 0  # of the first hundred items only a and d were asked
    model = DSTree().fit(Votes.from_dense(dense))
    proba = model.predict_proba()
    assert_array_equal(proba[:100, 1] > 0.5, truth[:100, 0])
    assert_array_equal(proba[:100, 2] > 0.5, truth[:100, 0])
    assert abs(proba[:100, 1] - 0.5).max() < abs(proba[:100, 0] - 0.5).min()  # a is less sure of its copy


def test_unasked_labels_equal_enumeration():
    truth = copies(60)
    dense = np.tile(np.where(truth, 1, -1), (2, 1, 1))
    dense[:, :10, [0, 2]] = 0
    votes = Votes.from_dense(dense)
    model = DSTree().fit(votes)
    evidence = np.zeros(4)
    coins = {(w, label): n for n, (w, label) in enumerate(zip(model.coin_worker_, model.coin_label_, strict=True))}
    for worker, label in product(range(2), (1, 3)):
        hit, false_alarm = (rate[coins[worker, label]] for rate in (model.hit_rate_, model.false_alarm_rate_))
        yes = dense[worker, 0, label] > 0
        evidence[label] += np.log(hit / false_alarm) if yes else np.log((1 - hit) / (1 - false_alarm))
    expected, _ = enumerated(model.parent_label_, model.present_given_parent_, evidence)
    assert_allclose(model.predict_proba()[0], expected, rtol=0, atol=1e-9)
    assert_allclose(model.predict_proba(votes), model.predict_proba(), rtol=0, atol=1e-9)


def test_unasked_labels_survive_saving(tmp_path):
    dense = np.tile(np.where(copies(60), 1, -1), (2, 1, 1))
    dense[:, :10, 1] = 0
    model = DSTree().fit(Votes.from_dense(dense))
    model.save(tmp_path / "model")
    assert_array_equal(load_model(tmp_path / "model").predict_proba(), model.predict_proba())
    assert load_model(tmp_path / "model").sets().equals(model.sets())


def test_new_votes_with_a_new_label_and_without_an_old_one():
    """Label b is gone from the vocabulary, yet a still speaks for c through it; "new" has the mean prior."""
    model = DSTree().fit(Votes.from_dense(np.tile(np.where(copies(), 1, -1), (3, 1, 1)), label_names=list("abcd")))
    fresh = Votes.from_dense([[[1, 0, 1]], [[1, 0, 1]]], label_names=["a", "c", "new"])
    proba = model.predict_proba(fresh)[0]
    assert proba[1] > model.label_prior_[2] + 0.1
    assert proba[2] > model.label_prior_.mean()


def test_known_truth_speaks_for_relatives():
    dense = np.tile(np.where(copies(), 1, -1), (3, 1, 1))
    dense[:, 0] = [[1, 1, 1, 1], [-1, -1, -1, -1], [0, 0, 0, 0]]  # an even split on item 0
    votes = Votes.from_dense(dense)
    known = pd.DataFrame({"item": [0], "label": [0]})

    def proba_of_b(true):
        truth = Truth.from_frames(known.iloc[: int(true)], known_pairs=known)
        return DSTree().fit(votes, truth=truth).predict_proba()[0, 1]

    assert proba_of_b(True) > proba_of_b(False) + 0.3


def test_better_than_separate_labels():
    """Labels of simulated items come in groups, and a tree sees that: on average over three crowds."""
    gains = []
    for seed in range(3):
        crowd = simulate_crowd(CrowdSpec(n_items=400, n_workers=20, n_labels=8, answers_per_item=4, seed=seed))
        ours, theirs = (metrics.jaccard(crowd.truth, m().fit(crowd.votes).predict()) for m in (DSTree, CDS))
        gains.append(ours - theirs)
    assert np.mean(gains) > 0


def test_stopping_early_is_told(toy_votes):
    with pytest.warns(ConvergenceWarning, match="DSTree stopped after 1 iterations"):
        DSTree(max_iter=1).fit(toy_votes)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"hit_prior": (1, -1)}, "hit_prior must be two numbers >= 0"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"tol": 0.0}, "tol must be positive"),
    ],
)
def test_bad_parameters(toy_votes, params, message):
    with pytest.raises(ParameterError, match=message):
        DSTree(**params).fit(toy_votes)


def test_evidence_stays_where_it_was_given():
    """Three labels in a chain; only the leaf was asked, and its ancestors are nodes without evidence."""
    nodes = relevant_nodes(LabelTree(np.array([-1, 0, 1])), np.array([0]), np.array([2]))
    assert_array_equal(nodes.label, [0, 1, 2])
    assert_array_equal(nodes.parent, [-1, 0, 1])
    assert_array_equal(nodes.from_pairs(np.array([1.5])), [0, 0, 1.5])
    assert [level.tolist() for level in nodes.levels] == [[0], [1], [2]]


def test_first_beliefs_treat_labels_as_independent():
    """The root was asked on item 0 only; on item 1 it stands at its label's mean, (.8 + .5) / 2."""
    nodes = relevant_nodes(LabelTree(CHAIN), np.array([0, 1]), np.array([0, 1]))
    beliefs = first_beliefs(nodes, np.array([0.8, 0.4]), 2)
    found = dict(zip(zip(nodes.item.tolist(), nodes.label.tolist(), strict=True), beliefs.proba, strict=True))
    assert found == {(0, 0): pytest.approx(0.8), (1, 0): pytest.approx(0.65), (1, 1): pytest.approx(0.4)}
    child = int(np.flatnonzero((nodes.item == 1) & (nodes.label == 1))[0])
    assert beliefs.with_parent[child] == pytest.approx(0.4 * 0.65)


def test_probabilities_under_a_parent_by_hand():
    """Two items: parents .5 and 1, children .5 and 1, together .5 and 1, with half a pseudo-pair each way."""
    nodes = relevant_nodes(LabelTree(CHAIN), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    beliefs = TreeBeliefs(np.array([0.5, 0.5, 1.0, 1.0]), np.array([0.0, 0.5, 0.0, 1.0]), 0.0)
    table = present_given_parent(nodes, beliefs, np.array([1.0, 0.5]))
    assert_allclose(table[1], [(0 + 0.5) / (0.5 + 1), (1.5 + 0.5) / (1.5 + 1)], rtol=1e-12)
    assert table[0, 0] == pytest.approx((1.5 + 1) / (2 + 2))


def test_expectations_follow_the_tree():
    """P(root) = .4; the child is present with .9 under it and .1 without: .4 · .9 + .6 · .1."""
    table = np.array([[0.4, 0.4], [0.1, 0.9]])
    nothing, known = np.full((1, 2), np.nan), np.array([[1.0, np.nan]])
    assert_allclose(expected_along(LabelTree(CHAIN), table, nothing), [[0.4, 0.42]], rtol=1e-12)
    assert_allclose(expected_along(LabelTree(CHAIN), table, known), [[1.0, 0.9]], rtol=1e-12)


def test_log_prior_of_a_tree_by_hand():
    """Roots have one pseudo-pair each way, children half of one, in both columns."""
    table = np.array([[0.5, 0.5], [0.2, 0.8]])
    expected = 2 * (2 * np.log(0.5)) + 0.5 * 2 * (np.log(0.2) + np.log(0.8))
    assert LabelTree(CHAIN).log_prior(table) == pytest.approx(expected)


def test_a_deep_chain_is_no_trouble():
    """Forty labels, each the parent of the next, and one vote at the end."""
    parent = np.arange(-1, 39)
    nodes = relevant_nodes(LabelTree(parent), np.array([0]), np.array([39]))
    table = np.tile([0.2, 0.8], (40, 1))
    beliefs = pass_messages(nodes, table, nodes.from_pairs(np.array([50.0])))
    assert beliefs.proba[39] == pytest.approx(1)
    assert (np.diff(beliefs.proba[20:]) > 0).all()
