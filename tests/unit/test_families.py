"""Shared errors: the tree of views against brute force, planted families, and what that does to a consensus."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from amcc import AMCC, Roster, Truth, Votes, load_model
from amcc.active.beliefs import as_they_count
from amcc.consensus import DawidSkene, MajorityVote
from amcc.consensus.families import describe_families, effective_counts, samples_per_pair, shared_errors
from amcc.consensus.families import tree as tree_module
from amcc.consensus.families.correlations import VoteCorrelations, centred_votes, vote_correlations
from amcc.consensus.families.tree import ViewTree, tree_of
from amcc.consensus.families.views import Views, fit_views
from amcc.consensus.families.weights import design_weights, information_in
from amcc.consensus.models.paper import PaperAMCC
from amcc.engine.base import InMemory
from amcc.errors import NotFittedError, ParameterError
from amcc.roster import HUMAN, MODEL, Seats

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from judges import judged_crowd, real_set, scores


def seats(kinds, families_, names=()):
    nobody = np.zeros(len(kinds), dtype=bool)
    return Seats(np.array(kinds, np.int8), np.array(families_, np.int32), nobody, pa.array(list(names), pa.string()))


def a_tree(kinds, families_, names=()):
    return tree_of(seats(kinds, families_, names), np.ones(len(kinds), np.int64), truth=False)


def brute_force(views: Views) -> np.ndarray:
    """Ψ⁻¹ λ over λ / (1 − λ²), with Ψ the covariance of what votes say beyond truth, one vote of each source."""
    skill, total = views.skill, views.correlation()
    np.fill_diagonal(total, 1.0)
    right = np.linalg.solve(total - np.outer(skill, skill), skill)
    return right / (skill / (1 - skill**2))


def test_equal_models_weigh_as_the_design_effect_says():
    """Three models, κ² = .6, τ² = .5: λ² = .3, ρ = (.6 − .3) / .7 = 3/7, so each weighs 1 / (1 + 2 · 3/7) = 7/13."""
    views = Views(a_tree([MODEL] * 3, [-1] * 3), np.full(3, np.sqrt(0.6)), np.array([np.sqrt(0.5)]))
    assert_allclose(design_weights(views, np.ones((3, 3)) - np.eye(3)), 7 / 13)
    # together they are worth 3 · 7/13 votes of one of them
    assert_allclose(information_in(views, np.ones(3)).truth / (0.3 / 0.7), 21 / 13)


def test_a_single_model_and_people_weigh_fully():
    views = Views(a_tree([MODEL, HUMAN, HUMAN], [-1] * 3), np.array([0.8, 0.7]), np.array([0.6]))
    assert views.tree.source.tolist() == [0, 1, 1]
    together = np.array([[0.0, 2.0], [1.0, 1.0]])
    assert_allclose(design_weights(views, together), 1.0)


def test_weights_are_those_of_fishers_discriminant():
    """Two families and two models without one, all different, beside people: against the inverse covariance."""
    tree = a_tree([MODEL] * 6 + [HUMAN], [0, 0, 1, 1, -1, -1, -1], "ab")
    assert tree.view_family.tolist() == [-1, 0, 1]
    views = Views(tree, np.array([0.5, 0.6, 0.7, 0.8, 0.65, 0.45, 0.7]), np.array([0.7, 0.9, 0.8]))
    together = np.ones((7, 7)) - np.eye(7)
    together[6, 6] = 0.0
    assert_allclose(design_weights(views, together), brute_force(views), rtol=1e-12)


def test_what_all_votes_tell_is_that_of_the_inverse_covariance():
    tree = a_tree([MODEL] * 4 + [HUMAN], [0, 0, 1, 1, -1], "ab")
    views = Views(tree, np.array([0.5, 0.6, 0.7, 0.8, 0.7]), np.array([0.7, 0.9, 0.8]))
    skill, total = views.skill, views.correlation()
    np.fill_diagonal(total, 1.0)
    told = skill @ np.linalg.solve(total - np.outer(skill, skill), skill)
    assert_allclose(information_in(views, np.ones(5)).truth, told, rtol=1e-12)


def test_human_families_have_views_of_their_own():
    tree = a_tree([HUMAN] * 5, [0, 0, 0, -1, -1], "t")
    assert tree.source.tolist() == [0, 0, 0, 1, 1]
    assert tree.seen_by.tolist() == [[True], [False]]
    views = Views(tree, np.array([0.8, 0.7]), np.array([0.9]))
    together = np.array([[2.0, 2.0], [3.0, 1.0]])  # three of the family and two others on every pair
    squared, skill = 0.64, 0.64 * 0.81
    rho = (squared - skill) / (1 - skill)
    assert_allclose(design_weights(views, together), [1 / (1 + 2 * rho), 1.0])


def test_a_family_of_all_models_needs_no_view_beside_theirs():
    assert a_tree([MODEL] * 3, [0] * 3, "a").view_family.tolist() == [-1]


def test_views_are_found_again_where_several_people_tell():
    """Correlations of a planted tree, many votes: people identify what the models' view is worth."""
    tree = a_tree([MODEL] * 4 + [HUMAN] * 3, [0, 0, -1, -1, -1, -1, -1], "a")
    planted = Views(tree, np.array([0.6, 0.7, 0.8, 0.65, 0.75]), np.array([0.45, 0.9]))
    many = np.full((5, 5), 1e6)
    found = fit_views(tree, VoteCorrelations(planted.correlation(), many, np.ones((5, 5))))
    assert_allclose(found.loading, planted.loading, atol=0.03)
    assert_allclose(found.validity, planted.validity, atol=0.05)


def test_moments_are_correlations_within_labels():
    """Two labels of different frequency: a correlation that only the labels make does not count."""
    rng = np.random.default_rng(0)
    often = np.array([0.1, 0.9])
    yes = rng.random((2, 4000, 2)) < often
    votes = Votes.from_dense(np.where(yes, 1, -1))
    tree = a_tree([MODEL, MODEL], [-1, -1])
    nothing = np.zeros(len(votes.pairs), dtype=bool)
    found = vote_correlations(centred_votes(votes, tree, nothing, nothing), len(votes.pairs))
    assert np.corrcoef(yes.reshape(2, -1))[0, 1] > 0.5
    assert abs(found.correlation[0, 1]) < 0.03
    assert found.shared.tolist() == [[0, 8000], [8000, 0]]
    assert found.together.tolist() == [[0, 1], [1, 0]]


def test_truth_is_a_voter_who_is_always_right():
    judged = judged_crowd(0, ((0.6, 0.3),) * 5, "abcde", ((0.85, 0.1),), among_all=0.7, in_family=0.0, share=0.25)
    who = judged.roster.seats(judged.votes.worker_names)
    known = judged.votes.pairs.item < 100
    told = shared_errors(judged.votes, who, judged.present, known)
    blind = shared_errors(judged.votes, who, judged.present, np.zeros_like(known))
    actual = np.corrcoef(judged.present, judged.votes.value[judged.votes.worker == 0])[0, 1]
    assert abs(told.views.skill[0] - actual) < 0.07 < abs(blind.views.skill[0] - actual)


# -- families in numbers ---------------------------------------------------------------------------------------------


def described(judged):
    who = judged.roster.seats(judged.votes.worker_names)
    nothing = np.zeros(len(judged.votes.pairs), dtype=bool)
    return describe_families(judged.votes, who, shared_errors(judged.votes, who, nothing, nothing))


def test_a_family_beside_three_people_is_seen_to_share():
    found = described(judged_crowd(1, ((0.8, 0.2),) * 4, "aaaa", ((0.8, 0.1),) * 3, among_all=0.6, in_family=0.3))
    row = found.table().to_pylist()[1]
    assert (row["family"], row["kind"], row["members"], row["votes"], row["votes_per_pair"]) == (
        "a",
        "model",
        4,
        9600,
        4,
    )
    assert row["effective_votes"] < 1.6 < row["null_low"]
    assert row["correlation"] > 0.5
    assert "assumed" not in found.sentences()[1]
    assert "4 models, 4.0 votes on a pair are worth 1." in found.sentences()[1]


def test_judges_who_share_nothing_lie_in_the_band():
    found = described(judged_crowd(2, ((0.8, 0.1),) * 5, "abcde", ((0.8, 0.1),) * 3, among_all=0.0, in_family=0.0))
    row = found.table().to_pylist()[0]
    assert row["family"] == "all models"
    assert row["null_low"] - 0.2 <= row["effective_votes"] <= row["null_high"] + 0.2
    assert "mostly assumed" in found.sentences()[0]


# -- in a consensus --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged():
    return judged_crowd(0, ((0.8, 0.2),) * 4, "aaaa", ((0.8, 0.1),) * 3, among_all=0.6, in_family=0.3)


@pytest.fixture(scope="module")
def model(judged):
    return AMCC().fit(judged.votes, roster=judged.roster)


def test_people_are_heard_beside_four_judges_of_a_family(judged, model):
    without = scores(judged, AMCC().fit(judged.votes).pair_proba_)
    found = scores(judged, model.pair_proba_)
    assert found["right"] > without["right"] + 0.08
    assert found["log-loss"] < 0.7 * without["log-loss"]


def test_models_alone_do_not_make_every_label_absent():
    """Of twenty models with common errors, each of which saw 30 % of the pairs, a vote is worth very little."""
    names = "aaaabbbbccddeeffaaaa"
    judged = judged_crowd(1, ((0.6, 0.15),) * 20, names, (), among_all=0.6, n_labels=1, n_items=400, often=0.5)
    some = judged.votes.select(np.random.default_rng(0).random(len(judged.votes)) < 0.3)
    present = np.zeros(some.n_items, dtype=bool)
    present[judged.votes.pairs.item] = judged.present
    right = {}
    for name, roster in {"with": judged.roster, "without": None}.items():
        model = AMCC().fit(some, roster=roster)
        right[name] = np.mean((model.pair_proba_ > 0.5) == present[some.pairs.item])
        if roster is not None:
            assert model.vote_worth_.mean() * some.pairs.n_votes.mean() < 2.5  # the case is as hard as it should be
    assert right["with"] > right["without"] - 0.035


def test_settled_counts_votes_as_they_are_worth(judged, model):
    """Four judges who agree are no three votes: nothing is settled on a family alone."""
    judges_only = judged.votes.select(judged.votes.worker < 4)
    alone = AMCC().fit(judges_only, roster=judged.roster)
    assert not alone.pair_settled_.any()
    yes, all_votes = effective_counts(judges_only, alone.vote_worth_)
    assert all_votes.max() < 2
    assert (yes <= all_votes).all()
    assert DawidSkene().fit(judges_only).pair_settled_.any()  # a model that takes them as independent
    assert model.pair_settled_.any()


def test_a_model_that_is_sure_settles_nothing_on_a_family_alone(judged):
    class Sure(AMCC):
        def _infer(self, *given):
            found = super()._infer(*given)
            return found._replace(pair=np.full_like(found.pair, 0.999))

    judges_only = judged.votes.select(judged.votes.worker < 4)
    told = Sure().fit(judges_only, roster=judged.roster)
    assert not told.pair_settled_.any()
    assert Sure().fit(judges_only).pair_settled_.any()


def test_rates_lie_nearer_where_answers_repeat_those_of_others():
    hit, false_alarm = np.array([[0.9], [0.9]]), np.array([[0.1], [0.1]])
    found = as_they_count(hit, false_alarm, np.array([0.25, 1.0]))
    assert_allclose(found, [[[0.6], [0.9]], [[0.4], [0.1]]])
    assert as_they_count(hit, false_alarm, None) == (hit, false_alarm)


def test_tables_say_who_is_who(model):
    table = model.workers()
    assert table["kind"].tolist() == ["model"] * 4 + ["human"] * 3
    assert table["family"].tolist()[:4] == ["a"] * 4
    assert (table["vote_worth"][:4] < 0.5).all()
    assert (table["vote_worth"][4:] == 1).all()
    assert model.families(frame="arrow")["family"].to_pylist() == ["all models", "a"]
    with pytest.raises(NotFittedError, match="fit was given a roster"):
        AMCC().fit(Votes.from_dense([[[1]], [[1]]])).families()


def test_where_families_are_switched_off_there_is_nothing_to_say_about_them(judged, tmp_path):
    model = AMCC(without=["families"]).fit(judged.votes, roster=judged.roster)
    model.save(tmp_path / "model")
    for each in (model, load_model(tmp_path / "model")):
        assert len(each.families()) == 0 and each.families_.sentences() == []
        assert (each.workers()["vote_worth"] == 1).all()


def test_saved_and_loaded(model, judged, tmp_path):
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.families().equals(model.families())
    assert again.workers().equals(model.workers())
    assert_allclose(again.predict_proba(judged.votes), model.predict_proba(judged.votes))


def test_new_votes_of_the_same_judges_count_the_same(model, judged):
    applied = model.applied_to(judged.votes)
    assert_allclose(applied.pair_proba_, model.pair_proba_, atol=1e-9)
    assert np.array_equal(applied.pair_settled_, model.pair_settled_)


def test_without_a_roster_nothing_changes(judged):
    assert AMCC().fit(judged.votes).vote_worth_ is None
    refitted = AMCC().fit(judged.votes, roster=judged.roster).fit(judged.votes)
    assert not refitted.has_roster
    assert_allclose(refitted.pair_proba_, AMCC().fit(judged.votes).pair_proba_)


def test_known_truth_and_a_roster_go_together(judged):
    names = [str(item) for item in range(10)]
    pairs = judged.votes.pairs
    true = judged.present & (pairs.item < 10)
    rows = pa.table({"item": pairs.item[true].astype(str), "label": pairs.label[true].astype(str)})
    truth = Truth.from_frames(rows, known_items=pa.table({"item": names}))
    fitted = AMCC().fit(judged.votes, truth=truth, roster=judged.roster)
    assert (fitted.pair_settled_[pairs.item < 10]).all()
    assert fitted.has_roster


@pytest.mark.parametrize("other", [MajorityVote(), PaperAMCC()])
def test_models_that_cannot_use_a_roster_refuse_it(other, judged):
    with pytest.raises(ParameterError, match=r"does not use kinds and families of workers.*-m amcc"):
        other.fit(judged.votes, roster=judged.roster)


def test_a_roster_needs_votes_in_memory(judged):
    with pytest.raises(ParameterError, match="a roster of workers need votes in memory"):
        AMCC().fit(InMemory(judged.votes), roster=judged.roster)


def test_many_models_are_pooled_by_family(monkeypatch, judged):
    monkeypatch.setattr(tree_module, "MOST_SOURCES", 3)
    who = judged.roster.seats(judged.votes.worker_names)
    tree = tree_of(who, np.ones(7, np.int64), truth=False)
    assert tree.source.tolist() == [0] * 4 + [1] * 3
    nothing = np.zeros(len(judged.votes.pairs), dtype=bool)
    weight = shared_errors(judged.votes, who, nothing, nothing).weight
    assert (weight[:4] < 0.5).all()
    assert (weight[4:] == 1).all()


def test_tree_without_votes_of_models():
    assert isinstance(a_tree([HUMAN], [-1]), ViewTree)
    assert a_tree([HUMAN], [-1]).view_kind.tolist() == []


# -- a model asked several times -------------------------------------------------------------------------------------


@pytest.fixture
def sampled():
    """A model asked three times about two pairs, beside two people."""
    rows = [("m", "i", said, sample) for sample, said in enumerate((1, 1, 0))]
    rows += [("m", "j", 0, sample) for sample in range(3)]
    rows += [(who, item, said, 0) for who in "pq" for item, said in (("i", 1), ("j", 0))]
    worker, item, value, sample = zip(*rows, strict=True)
    table = {"worker": worker, "item": item, "label": ["a"] * len(rows), "value": value, "sample": sample}
    return Votes.from_frame(pa.table(table))


def test_samples_of_a_worker_count_as_one_vote(sampled):
    assert samples_per_pair(sampled).tolist() == [3, 1, 1]
    model = AMCC().fit(sampled)
    yes, all_votes = effective_counts(sampled, model.vote_worth_)
    assert_allclose(yes, [2 / 3 + 2, 0])
    assert_allclose(all_votes, [3, 3])
    assert model.workers()["answers"].tolist() == [2, 2, 2]


def test_samples_repeated_many_times_do_not_make_a_model_surer():
    rng = np.random.default_rng(0)
    base = judged_crowd(0, ((0.8, 0.2),) * 3, "abc", ((0.8, 0.1),) * 2, n_items=60, n_labels=4).votes.to_arrow()
    again = pa.concat_tables([base.append_column("sample", pa.array([n] * len(base))) for n in range(4)])
    again = again.take(pa.array(rng.permutation(len(again))))
    once, often = AMCC().fit(Votes.from_frame(base)), AMCC().fit(Votes.from_frame(again))
    assert often.vote_worth_.tolist() == [0.25] * 5
    assert np.abs(once.pair_proba_ - often.pair_proba_).mean() < 0.05
    assert np.array_equal(once.pair_settled_, often.pair_settled_)
    rates = often.worker_rates_, once.worker_rates_
    assert_allclose(*(each.informativeness for each in rates), atol=0.05)  # not by their own further samples
    assert_allclose(*(each.hit_rate_high - each.hit_rate_low for each in rates), rtol=0.2)  # not half as wide


def test_models_that_do_not_weigh_take_the_majority_of_samples(sampled):
    assert MajorityVote().fit(sampled).pair_proba_.tolist() == [1, 0]
    assert sampled.one_per_worker().value.tolist() == [1, 1, 1, -1, -1, -1]


@pytest.mark.parametrize(("name", "person_is_better"), [("llm_framing", True), ("llm_cebab_aspects", False)])
def test_real_judges(shared_data, name, person_is_better):
    """On the pairs that the person saw: not below the better of the person and majority by more than .01."""
    judged = real_set(shared_data / name)
    found = scores(judged, AMCC().fit(judged.votes, roster=judged.roster).pair_proba_)
    assert (found["people"] > found["majority, seen"]) == person_is_better
    assert found["right, seen"] > max(found["people"], found["majority, seen"]) - 0.01
    assert found["ece"] < 0.1


def test_a_roster_made_by_hand(judged):
    """`Roster.from_frame` of what the seats say is the roster."""
    who = judged.roster.seats(judged.votes.worker_names)
    table = pa.table({"worker": judged.votes.worker_names, "kind": who.kinds(), "family": who.families()})
    assert Roster.from_frame(table) == judged.roster
