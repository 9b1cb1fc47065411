"""Who shares which view, what votes of sources have in common, and what they are worth: small cases by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from amcc import Votes
from amcc.consensus.families import correlations as correlations_module
from amcc.consensus.families import effective_counts, families_behind
from amcc.consensus.families import tree as tree_module
from amcc.consensus.families.correlations import centred_votes, vote_correlations, worker_shares
from amcc.consensus.families.description import Families
from amcc.consensus.families.tree import largest_families, tree_of
from amcc.consensus.families.views import FAMILY_VIEW, LOADING, PERSON, Views, fit_views, view_priors
from amcc.consensus.families.weights import (
    design_weights,
    information_in,
    information_of_one,
    passed_on,
    within_families,
)
from amcc.roster import CODE, HUMAN, MODEL, Seats


def seats(kinds, families, names="ab"):
    nobody = np.zeros(len(kinds), dtype=bool)
    return Seats(np.array(kinds, np.int8), np.array(families, np.int32), nobody, pa.array(list(names), pa.string()))


def nothing_known(votes):
    return np.zeros(len(votes.pairs), dtype=bool), np.zeros(len(votes.pairs), dtype=bool)


# -- the tree ----------------------------------------------------------------------------------------------------------


def test_only_the_families_with_the_most_votes_are_told_apart(monkeypatch):
    monkeypatch.setattr(tree_module, "MOST_FAMILIES", 1)
    kept = largest_families(seats([MODEL] * 4, [0, 0, 1, 1]), np.array([1, 1, 5, 5]))
    assert kept.family.tolist() == [-1, -1, 1, 1]
    assert kept.family.dtype == np.int32


def test_truth_is_the_last_source_and_no_view_lies_above_it():
    tree = tree_of(seats([HUMAN, MODEL, MODEL], [-1, 0, 0]), np.ones(3, int), truth=True)
    assert tree.is_truth.tolist() == [False, False, False, True]
    assert not tree.seen_by[-1].any()
    assert tree.is_model.tolist() == [False, True, True, False]
    assert tree.source.tolist() == [0, 1, 2]


def test_people_of_a_family_are_one_source_and_programs_are_not():
    tree = tree_of(seats([HUMAN, HUMAN, HUMAN, CODE, CODE], [0, 0, -1, 1, 1]), np.ones(5, int), truth=False)
    assert tree.source.tolist() == [0, 0, 1, 2, 3]
    assert tree.view_kind.tolist() == [HUMAN, CODE]
    assert tree.seen_by.tolist() == [[True, False], [False, False], [False, True], [False, True]]


def test_a_family_of_which_one_voted_has_no_view():
    tree = tree_of(seats([MODEL] * 3, [0, 0, -1]), np.array([4, 0, 4]), truth=False)
    assert tree.view_family.tolist() == [-1]


def test_a_roster_without_workers_has_an_empty_tree():
    tree = tree_of(seats([], []), np.zeros(0, int), truth=False)
    assert (tree.n_sources, len(tree.view_kind)) == (0, 0)


# -- what the votes show -----------------------------------------------------------------------------------------------


def test_several_votes_of_a_worker_on_a_pair_are_one_share():
    table = {"worker": ["m", "m", "m", "p"], "item": ["i"] * 4, "label": ["a"] * 4, "value": [1, 1, 0, 0]}
    votes = Votes.from_frame(pa.table({**table, "sample": [0, 1, 2, 0]}))
    pair, worker, share = worker_shares(votes)
    assert (pair.tolist(), worker.tolist()) == ([0, 0], [0, 1])
    assert_allclose(share, [2 / 3, 0])


def test_beyond_the_sample_whole_pairs_are_left_out(monkeypatch):
    votes = Votes.from_dense(np.where(np.random.default_rng(0).random((5, 200, 2)) < 0.5, 1, -1))
    monkeypatch.setattr(correlations_module, "SAMPLE", len(votes) // 4)
    pair, worker, _ = worker_shares(votes)
    assert 0.15 < len(pair) / len(votes) < 0.35
    assert set(np.bincount(pair)) == {0, 5}
    assert worker[:5].tolist() == [0, 1, 2, 3, 4]


def test_centred_votes_have_mean_zero_on_every_label_of_every_source():
    votes = Votes.from_dense(np.where(np.random.default_rng(1).random((3, 40, 2)) < 0.3, 1, -1))
    tree = tree_of(seats([MODEL, MODEL, HUMAN], [-1] * 3), np.full(3, 80), truth=True)
    known = votes.pairs.item < 10
    centred = centred_votes(votes, tree, votes.pairs.label == 0, known)
    key = centred.source * 2 + votes.pairs.label[centred.pair]
    assert_allclose(np.bincount(key, centred.value), 0, atol=1e-12)
    assert centred.n_votes.tolist() == [80, 80, 80, 20]
    expected = [(centred.value[centred.source == source] ** 2).mean() for source in range(4)]
    assert_allclose(centred.variance(), expected)


def test_a_worker_who_always_says_the_same_correlates_with_nobody():
    dense = np.array([[1] * 20, [1, -1] * 10, [1, -1] * 10])[:, :, None]
    votes = Votes.from_dense(dense)
    tree = tree_of(seats([MODEL] * 3, [-1] * 3), np.full(3, 20), truth=False)
    found = vote_correlations(centred_votes(votes, tree, *nothing_known(votes)), len(votes.pairs))
    assert_allclose(found.correlation[0], 0)
    assert found.correlation[1, 2] == 0.99  # not 1: its Fisher's z would be infinite


def test_a_source_of_several_workers_correlates_with_itself_by_their_votes_on_each_other():
    """Two people agree on three of four pairs; what each vote has in common with itself does not count."""
    dense = np.array([[1, 1, -1, -1], [1, 1, -1, 1]])[:, :, None]
    votes = Votes.from_dense(dense)
    tree = tree_of(seats([HUMAN, HUMAN], [-1, -1]), np.full(2, 4), truth=False)
    found = vote_correlations(centred_votes(votes, tree, *nothing_known(votes)), 4)
    centred = (dense[:, :, 0] > 0) - 5 / 8
    assert found.shared.tolist() == [[8]]
    assert_allclose(found.correlation[0, 0], (centred[0] @ centred[1] / 4) / (centred**2).mean())


# -- priors and the fit ------------------------------------------------------------------------------------------------


def flat(n, shared=0.0, correlation=0.0):
    return correlations_module.VoteCorrelations(np.full((n, n), correlation), np.full((n, n), shared), np.zeros((n, n)))


def test_without_shared_pairs_the_prior_is_what_is_found():
    tree = tree_of(seats([MODEL, MODEL, HUMAN, CODE, CODE], [-1, -1, -1, 0, 0]), np.ones(5, int), truth=True)
    found = fit_views(tree, flat(6))
    assert_allclose(found.loading, [LOADING, LOADING, PERSON, LOADING, LOADING, 1.0])
    assert_allclose(found.validity, [0.45 + 0.4 * LOADING**2, FAMILY_VIEW[CODE]])


def test_models_that_agree_more_are_believed_to_see_more():
    tree = tree_of(seats([MODEL] * 3, [-1] * 3), np.ones(3, int), truth=False)
    (low, _), (high, _) = (view_priors(tree, flat(3, 100.0, agree)) for agree in (0.2, 0.7))
    assert_allclose(np.tanh(low[:3]), np.sqrt(0.2))
    assert (low < high).all()
    extreme, _ = view_priors(tree, flat(3, 100.0, -0.9))
    assert np.isfinite(extreme).all()


def test_a_tree_of_truth_alone_needs_no_fit():
    tree = tree_of(seats([], []), np.zeros(0, int), truth=True)
    assert fit_views(tree, flat(1)).loading.tolist() == [1.0]


def test_correlations_of_a_tree_are_products_of_what_lies_between():
    tree = tree_of(seats([MODEL] * 3 + [HUMAN], [0, 0, -1, -1]), np.ones(4, int), truth=False)
    views = Views(tree, np.array([0.5, 0.6, 0.7, 0.8]), np.array([0.9, 0.4]))
    found = views.correlation()
    assert_allclose(found[0, 1], 0.5 * 0.6)  # one family: no view between them
    assert_allclose(found[0, 2], 0.5 * 0.4 * 0.7)
    assert_allclose(found[0, 3], 0.5 * 0.4 * 0.9 * 0.8)
    assert_allclose(views.skill, [0.5 * 0.36, 0.6 * 0.36, 0.7 * 0.9, 0.8])


# -- what votes are worth ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("validity", [0.1, 0.5, 0.9, 0.999])
def test_a_view_passes_on_less_than_it_knows_and_never_more_than_its_own_worth(validity):
    told = np.array([0.0, 0.1, 1.0, 1e3, 1e9])
    found = passed_on(told, validity)
    assert (np.diff(found) > 0).all()
    assert (found <= told).all()
    assert found[-1] <= validity**2 / (1 - validity**2)
    assert_allclose(passed_on(told, 1.0), told)


def test_one_vote_never_decides():
    assert_allclose(information_of_one(np.array([0.0, 1.0, -1.0])), [0, 19, 19])


def test_more_votes_of_a_family_are_each_worth_less_and_together_more():
    tree = tree_of(seats([MODEL] * 2, [-1] * 2), np.ones(2, int), truth=False)
    views = Views(tree, np.array([0.7, 0.7]), np.array([0.6]))
    few, many = (np.full((2, 2), n) for n in (1.0, 5.0))
    assert (design_weights(views, many) < design_weights(views, few)).all()
    truth = [float(information_in(views, np.full(2, n)).truth) for n in (1.0, 5.0, 50.0)]
    assert truth[0] < truth[1] < truth[2] < 0.36 / 0.64


def test_counts_are_weighted_vote_by_vote():
    rng = np.random.default_rng(0)
    votes = Votes.from_dense(rng.integers(-1, 2, (6, 30, 3)))
    weight = rng.random(6)
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    expected = [np.bincount(pair, weight[votes.worker] * chosen) for chosen in (votes.value > 0, np.ones(len(votes)))]
    assert_allclose(effective_counts(votes, weight), expected)
    plain = effective_counts(votes, None)
    assert [each.dtype for each in plain] == [np.float64, np.float64]
    assert_allclose(plain, effective_counts(votes, np.ones(6)))


def test_families_behind_a_decision_count_once_and_people_one_by_one():
    """Item 0: two of family a and a person say yes, one of family b no. Item 1: only family a says yes."""
    dense = np.array([[1, 1], [1, 1], [-1, -1], [1, 0], [0, -1]])[:, :, None]
    who = seats([MODEL, MODEL, MODEL, HUMAN, HUMAN], [0, 0, 1, -1, -1])
    votes = Votes.from_dense(dense)
    assert families_behind(votes, who, np.array([0.9, 0.9])).tolist() == [2, 1]
    assert families_behind(votes, who, np.array([0.1, 0.1])).tolist() == [1, 2]


def test_a_table_says_what_was_measured_and_what_was_assumed():
    columns = (np.array(each) for each in ([1, 1], [3, 2], [30, 20], [3.0, 2.0], [0.5, 0.1], [1.2, 1.9]))
    found = Families(pa.array(["all models", "a"]), *columns, np.array([2.0, 1.5]), np.array([3.0, 2.0]))
    assert found.table().column_names[:3] == ["family", "kind", "members"]
    assert found.table()["kind"].to_pylist() == ["model", "model"]
    measured, assumed = found.sentences()
    assert measured.startswith("all models: 3 models, 3.0 votes on a pair are worth 1.2 independent ones")
    assert "assumed" not in measured
    assert assumed.endswith("the votes cannot show which, so this is mostly assumed")


def test_twins_of_a_family_teach_less_and_all_others_as_much():
    """Two of one family, two models without one and a person; what all models share takes nothing away."""
    tree = tree_of(seats([MODEL] * 4 + [HUMAN], [0, 0, -1, -1, -1]), np.ones(5, int), truth=False)
    together = np.ones((5, 5)) - np.eye(5)
    near, far = (
        within_families(Views(tree, np.full(5, 0.9), np.where(tree.view_family >= 0, validity, 0.8)), together)
        for validity in (0.5, 0.9)
    )
    assert_allclose(near[2:], 1.0)
    assert (near[:2] < far[:2]).all() and (far[:2] < 1).all()
    # One vote of information t = .81 / .19, two of 2 t, through a view of φ² = .25: (1 + .75 t) / (1 + 1.5 t).
    told = 0.81 / 0.19
    assert_allclose(near[:2], (1 + 0.75 * told) / (1 + 1.5 * told))
