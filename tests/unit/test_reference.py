"""The reference: whose view counts, how much they have to say, and what the others mean by it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import AMCC, Roster, Votes, load_model
from amcc.consensus.default.reference import MANY_MEMBERS, Said, members_of, said_by, say_of, with_reference
from amcc.consensus.workers import Z_95
from amcc.errors import ParameterError

N_ITEMS, N_LABELS = 60, 4
MODELS = [f"m{n}" for n in range(4)]


def panel(wrong_person, n_seen=60, seed=0, n_models=4):
    """Models that share a mistake on a fifth of the pairs, and a person who is wrong so often, on the first items."""
    rng = np.random.default_rng(seed)
    truth = rng.random((N_ITEMS, N_LABELS)) < 0.4
    misled = truth ^ (rng.random(truth.shape) < 0.2)
    says = np.concatenate([
        misled ^ (rng.random((n_models, *truth.shape)) < 0.05), (truth ^ (rng.random(truth.shape) < wrong_person))[None]
    ])  # fmt: skip
    dense = np.where(says, 1, -1)
    dense[-1, n_seen:] = 0
    return Votes.from_dense(dense, worker_names=[*MODELS[:n_models], "ann"]), truth


def roster(kinds, **columns):
    return Roster.from_frame(pa.table({"worker": list(kinds), "kind": list(kinds.values()), **columns}))


WHO = roster({**dict.fromkeys(MODELS, "model"), "ann": "human"})


def right(model, truth):
    return (model.predict() == truth).mean()


def test_a_good_person_has_nearly_all_to_say_and_a_random_one_nearly_nothing():
    for wrong, least, most in ((0.05, 0.9, 1.0), (0.5, 0.0, 0.15)):
        votes, truth = panel(wrong)
        model, equals = (AMCC(reference=who).fit(votes, roster=WHO) for who in (None, "none"))
        assert least <= model.reference_.most <= most
        assert (model.reference_.say[:4] == 0).all()
        assert right(model, truth) > right(equals, truth) + (0.05 if wrong < 0.5 else -0.03)


def test_the_others_are_calibrated_to_the_reference_also_where_it_did_not_vote():
    """Models that say yes far too often: on unseen items, their yes proves less."""
    rng = np.random.default_rng(0)
    truth = rng.random((200, 3)) < 0.2
    eager = rng.random((4, *truth.shape)) < np.where(truth, 0.9, 0.45)
    dense = np.where(np.concatenate([eager, truth[None]]), 1, -1)
    dense[-1, 60:] = 0
    votes = Votes.from_dense(dense, worker_names=[*MODELS, "ann"])
    model, equals = (AMCC(reference=who).fit(votes, roster=WHO) for who in (None, "none"))
    wrong = [np.abs(each.predict_proba()[60:] - truth[60:]).mean() for each in (model, equals)]
    assert wrong[0] < wrong[1]


def test_one_vote_of_a_person_moves_other_pairs_little():
    votes, _ = panel(0.1)
    votes = votes.select((votes.worker < 4) | (votes.item * N_LABELS + votes.label == 0))
    without = votes.select(votes.worker < 4)
    before, after = (AMCC().fit(each, roster=WHO).pair_proba_[1:] for each in (without, votes))
    assert np.sqrt(np.mean((after - before) ** 2)) < 0.03
    assert np.abs(after - before).max() < 0.1


def test_none_is_as_without_the_step_and_others_are_named_or_marked():
    votes, _ = panel(0.1)
    equals = AMCC(reference="none").fit(votes, roster=WHO)
    assert equals.reference_ is None and equals.reference_sentence_ == ""
    assert_array_equal(equals.pair_proba_, AMCC(without=["reference"]).fit(votes, roster=WHO).pair_proba_)
    usual, named = AMCC().fit(votes, roster=WHO), AMCC(reference=["m0", "m1"]).fit(votes, roster=WHO)
    assert_array_equal(named.reference_.say > 0, [True, True, False, False, False])
    assert np.abs(named.pair_proba_ - usual.pair_proba_).max() > 0.1
    marked = roster({**dict.fromkeys(MODELS, "model"), "ann": "human"}, reference=["yes", "yes", "", "no", ""])
    assert_array_equal(AMCC().fit(votes, roster=marked).pair_proba_, named.pair_proba_)
    assert_array_equal(AMCC(reference="ann").fit(votes, roster=marked).pair_proba_, usual.pair_proba_)


def test_workers_whom_nobody_listed_are_not_the_reference():
    votes, _ = panel(0.1)
    names = votes.worker_names
    assert not members_of(None, roster(dict.fromkeys(MODELS, "model")).seats(names), names).any()
    assert members_of(None, WHO.seats(names), names).tolist() == [False] * 4 + [True]


def test_a_roster_that_says_nothing_changes_nothing():
    """All are human: nobody shares errors, and where all are the reference nobody is."""
    votes, _ = panel(0.1)
    human = roster(dict.fromkeys([*MODELS, "ann"], "human"))
    with_file, without = AMCC().fit(votes, roster=human), AMCC().fit(votes)
    assert with_file.reference_ is None
    assert_allclose(with_file.pair_proba_, without.pair_proba_, rtol=0, atol=1e-12)
    assert_array_equal(with_file.pair_settled_, without.pair_settled_)


@pytest.mark.parametrize("file", [WHO, None], ids=["roster", "none"])
def test_samples_three_times_change_nothing(file):
    votes, _ = panel(0.1)
    table = votes.to_arrow()
    thrice = pa.concat_tables([table.append_column("sample", pa.array([n] * len(table))) for n in range(3)])
    once, often = (AMCC().fit(each, roster=file) for each in (votes, Votes.from_frame(thrice)))
    assert_allclose(often.pair_proba_, once.pair_proba_, rtol=0, atol=1e-9)
    assert_array_equal(often.pair_settled_, once.pair_settled_)


def test_pairs_are_told_where_the_reference_is_clear():
    votes, _ = panel(0.1, n_seen=30)
    model = AMCC().fit(votes, roster=WHO)
    assert_array_equal(model.pair_told_, votes.pairs.item < 30)
    assert not AMCC(reference="none").fit(votes, roster=WHO).pair_told_.any()
    assert model.reference_sentence_ == (
        "people are the reference (1: 'ann'); 120 pairs are taken from them, and the others are calibrated to these"
    )
    by_chance = AMCC().fit(panel(0.5)[0], roster=WHO)
    assert by_chance.reference_.most == 0 and "no better than chance" in by_chance.reference_sentence_
    assert not by_chance.pair_told_.any()


def test_the_reason_for_less_than_all_is_the_right_one():
    """A good person on few pairs, a doubtful one on many, and a doubtful one on few."""
    few, doubted = "only {} pairs are theirs", "no more informative than that"
    for wrong, n_seen, reason in ((0.05, 1, few.format(4)), (0.33, 60, doubted), (0.33, 2, "not very informative")):
        model = AMCC().fit(panel(wrong, n_seen=n_seen)[0], roster=WHO)
        text = model.reference_sentence_
        assert f"by {100 * model.reference_.most:.0f} %, since" in text and reason in text, text


def test_loaded_models_ask_the_same_reference(tmp_path):
    votes, _ = panel(0.1, n_seen=30)
    model = AMCC().fit(votes, roster=WHO)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert_array_equal(loaded.applied_to(votes).pair_proba_, model.applied_to(votes).pair_proba_)
    assert loaded.reference_sentence_ == model.reference_sentence_


@pytest.mark.parametrize(
    ("reference", "message"),
    [(["bob"], "reference must name workers who voted.*got 'bob'"), ([], "must name workers"), (3, "must be None, ")],
)
def test_a_reference_that_cannot_be(reference, message):
    with pytest.raises(ParameterError, match=message):
        AMCC(reference=reference).fit(panel(0.1)[0], roster=WHO)


def test_named_workers_need_a_roster():
    with pytest.raises(ParameterError, match=r"reference='ann' needs a workers file"):
        AMCC(reference="ann").fit(panel(0.1)[0])


# -- by hand -----------------------------------------------------------------------------------------------------------


def found(informativeness, error):
    """What the others find of one worker, as far as it is looked at."""
    at = np.array([informativeness])
    return SimpleNamespace(informativeness=at, informativeness_high=at + Z_95 * error)


def test_say_by_hand():
    """Of an error of .25 as of what is usual, the mean of both counts: .3 and .5 make .4, and (.4 − .1) / .3 is all."""
    member = np.array([True])
    assert say_of(member, found(0.3, 0.25))[0] == pytest.approx(1.0, abs=1e-4)
    assert say_of(member, found(0.0, 0.25))[0] == pytest.approx(0.5, abs=1e-4)
    assert say_of(member, found(-0.5, 0.02))[0] == 0
    assert say_of(~member, found(0.9, 0.02))[0] == 0


def test_what_is_said_and_what_it_makes_of_the_others():
    votes = Votes.from_dense([[[1, 1]], [[-1, 1]], [[1, 0]]])
    said = said_by(np.array([0.8, 0.4, 0.0]), votes)
    assert_allclose(said.votes, [0.5, 1.5])
    assert_allclose(said.number, [1.5, 1.5])
    assert said.told.tolist() == [True, True]
    assert Said(np.array([0.4, -0.6]), np.ones(2)).told.tolist() == [False, True]
    even = with_reference(np.array([0.2]), np.array([0.5]), Said(np.array([2.0]), np.array([4.0])), 0.75)
    weight = 0.75 * MANY_MEMBERS / (MANY_MEMBERS + 3)  # of four votes, three agree
    assert_allclose(even, weight / (1 + np.exp(-1.1)) + (1 - weight) * 0.2)
