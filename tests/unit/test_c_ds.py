"""C-DS against the worked numbers of the specification, §3.2, and the cascade of §3.3 against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from amcc import ConvergenceWarning, ParameterError, Truth, Votes, load_model, metrics
from amcc.consensus import CDS, DawidSkene
from amcc.consensus.models.c_ds import _exchanged, pool_of_sets, set_posteriors, set_shares
from amcc.data.simulate import CrowdSpec, simulate_crowd

PRINTED = {"rtol": 0, "atol": 5e-7}  # the specification prints six digits


@pytest.fixture(scope="module")
def small_crowd():
    return simulate_crowd(CrowdSpec(n_items=120, n_workers=15, n_labels=5, answers_per_item=4, seed=2))


# -- label by label --------------------------------------------------------------------------------------------------


def test_one_round(toy_votes):
    with pytest.warns(ConvergenceWarning):
        model = CDS(max_iter=1).fit(toy_votes)
    assert model.label_prior_[0] == pytest.approx(0.416667, abs=5e-7)
    assert_allclose(model.hit_rate_[0::2], [0.727273, 0.727273, 0.545455], **PRINTED)
    # w3 was not asked about l1 on i2; reading that as "no" would give .769231
    assert_allclose(1 - model.false_alarm_rate_[0::2], [0.692308, 0.692308, 0.7], **PRINTED)
    assert_allclose(model.predict_proba(), [[0.721547, 0.297791], [0.099787, 0.938525]], **PRINTED)


def test_converged(toy_votes):
    model = CDS(tol=1e-10).fit(toy_votes)
    assert_allclose(model.predict_proba(), [[0.780086, 0.245026], [0.135912, 0.920907]], **PRINTED)


def test_switched_labels_are_switched_back(small_crowd):
    """Priors that take everybody for a liar lead to the mirror image, and the guard to what the votes say."""
    liars = {"hit_prior": (1.0, 60.0), "false_alarm_prior": (60.0, 1.0), "prevalence_prior": (1.0, 1.0)}
    mirrored = DawidSkene(**liars).fit(small_crowd.votes)
    model = CDS(**liars).fit(small_crowd.votes)
    switched = np.bincount(mirrored.coin_label_, mirrored.hit_rate_ - mirrored.false_alarm_rate_) < 0
    assert switched.any()
    assert_allclose(model.predict_proba()[:, switched], 1 - mirrored.predict_proba()[:, switched], rtol=0, atol=1e-12)
    assert_array_equal(model.predict_proba()[:, ~switched], mirrored.predict_proba()[:, ~switched])
    assert_allclose(model.predict_proba(small_crowd.votes), model.predict_proba(), rtol=0, atol=1e-3)
    informativeness = np.bincount(model.coin_label_, model.hit_rate_ - model.false_alarm_rate_)
    assert (informativeness >= 0).all()


def test_known_truth_forbids_switching():
    """Both workers lie, and known truth says so: then it is not a mistake of the fit."""
    names = [f"i{n:02d}" for n in range(30)]
    value = np.where(np.arange(30) % 3 == 0, 1, -1)
    votes = Votes.from_dense(np.tile(value[:, None], (2, 1, 1)), item_names=names, label_names=["l"])
    true = [name for name, said in zip(names[:28], value, strict=False) if said < 0]
    truth = Truth.from_frames(
        pd.DataFrame({"item": true, "label": "l"}), known_items=pd.DataFrame({"item": names[:28]})
    )
    assert_array_equal(CDS().fit(votes, truth=truth).predict()[28:, 0], value[28:] < 0)


# -- cascade ---------------------------------------------------------------------------------------------------------


def test_pool_holds_what_was_handed_in_and_the_majoritys_sets():
    """Nobody handed in {a, b}, but the majority of each label makes it; the empty set is always there."""
    dense = np.array([[[1, -1, 0]], [[-1, 1, 0]], [[1, 0, 1]], [[0, 1, -1]]])
    sets = {tuple(row) for row in pool_of_sets(Votes.from_dense(dense), 1000).astype(int).tolist()}
    assert sets == {(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 0)}


def test_pool_keeps_the_most_frequent_sets():
    dense = np.where(np.array([[[1, 0, 0, 0]] * 3 + [[0, 1, 0, 0]] * 2 + [[0, 0, 0, 1]]]) > 0, 1, -1)
    assert_array_equal(pool_of_sets(Votes.from_dense(dense), 3), [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])


def test_more_than_eight_labels_fit_into_the_bits():
    dense = np.where(np.random.default_rng(0).random((3, 6, 19)) < 0.3, 1, -1)
    expected = {tuple(row) for row in (dense.reshape(-1, 19) > 0).astype(int).tolist()}
    pool = pool_of_sets(Votes.from_dense(dense), 1000).astype(int)
    assert expected <= {tuple(row) for row in pool.tolist()}


def test_sets_of_one_item_by_hand():
    """Two votes' worth of evidence for a, none for b: q ∝ share · exp(evidence)."""
    sets = np.array([[0, 0], [1, 0], [1, 1]], dtype=bool)
    ((first, q),) = set_posteriors(csr_array([[np.log(4.0), 0.0]]), sets, np.array([0.5, 0.25, 0.25]))
    assert first == 0
    assert_allclose(q, [[0.5 / 2.5, 1 / 2.5, 1 / 2.5]])


def test_all_sets_in_the_pool_equal_enumeration(small_crowd):
    """Log-likelihood of every set, straight from the definition."""
    model = CDS(mode="cascade").fit(small_crowd.votes)
    dense, item = small_crowd.votes.to_dense(), 7
    hit, false_alarm = np.full((2, *dense.shape[::2]), np.nan)
    hit[model.coin_worker_, model.coin_label_] = model.hit_rate_
    false_alarm[model.coin_worker_, model.coin_label_] = model.false_alarm_rate_
    joint = model.set_share_.copy()
    for number, members in enumerate(model.label_sets_):
        for worker, label in product(range(dense.shape[0]), range(dense.shape[2])):
            if answer := dense[worker, item, label]:
                yes = (hit if members[label] else false_alarm)[worker, label]
                joint[number] *= yes if answer > 0 else 1 - yes
    expected = (joint[:, None] * model.label_sets_).sum(axis=0) / joint.sum()
    assert_allclose(model.predict_proba()[item], expected, rtol=0, atol=1e-9)


def test_blocks_do_not_matter(small_crowd, monkeypatch):
    whole = CDS(mode="cascade").fit(small_crowd.votes).predict_proba()
    monkeypatch.setattr("amcc.consensus.models.c_ds.BLOCK_CELLS", 200)
    assert_allclose(CDS(mode="cascade").fit(small_crowd.votes).predict_proba(), whole, rtol=0, atol=1e-9)


def test_shares_sum_to_one_and_follow_the_items():
    sets = np.eye(3, dtype=bool)
    share = set_shares(csr_array(np.repeat(np.eye(3) * 40, [6, 3, 1], axis=0)), sets)
    assert_allclose(share, np.array([6.1, 3.1, 1.1]) / 10.3, rtol=1e-6)


def test_cascade_uses_what_labels_have_in_common():
    """b always comes with a. On the last item only a has clear votes; b, an even split, follows in the cascade."""
    together = np.array([[1, 1, -1]] * 10 + [[-1, -1, 1]] * 10)
    dense = np.tile(together, (4, 1, 1))
    doubtful = np.array([[[1, 1, -1]], [[1, -1, -1]], [[1, 1, -1]], [[1, -1, -1]]])
    votes = Votes.from_dense(np.concatenate([dense, doubtful], axis=1))
    cascade, separate = (CDS(mode=mode).fit(votes).predict_proba()[20, 1] for mode in ("cascade", "separate"))
    assert cascade > separate


def test_cascade_on_new_votes_and_from_a_file(small_crowd, tmp_path):
    model = CDS(mode="cascade").fit(small_crowd.votes)
    assert_allclose(model.predict_proba(small_crowd.votes), model.predict_proba(), rtol=0, atol=1e-9)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_array_equal(loaded.predict_proba(small_crowd.votes), model.predict_proba(small_crowd.votes))
    strangers = Votes.from_dense([[[1, -1, 1]]], worker_names=["new"], label_names=["new", "other", "l"])
    proba = model.predict_proba(strangers)
    assert proba[0, 0] > proba[0, 1]


def test_cascade_is_worth_having(small_crowd):
    cascade, separate = (
        metrics.jaccard(small_crowd.truth, CDS(mode=mode).fit(small_crowd.votes).predict())
        for mode in ("cascade", "separate")
    )
    assert cascade > separate - 0.05


def test_unasked_is_not_absent_in_the_cascade(toy_votes):
    dense = toy_votes.to_dense()
    dense[2, 1, 0] = -1
    silent, denied = (CDS(mode="cascade").fit(votes).predict_proba() for votes in (toy_votes, Votes.from_dense(dense)))
    assert silent[1, 0] > denied[1, 0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"mode": "joint"}, "mode must be 'separate' or 'cascade'; got 'joint'"),
        ({"max_sets": 0}, "max_sets must be at least 1"),
        ({"hit_prior": (1, -1)}, "hit_prior must be two numbers >= 0"),
    ],
)
def test_bad_parameters(toy_votes, params, message):
    with pytest.raises(ParameterError, match=message):
        CDS(**params).fit(toy_votes)


def test_only_switched_entries_change_places():
    one, other = _exchanged(np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([True, False]))
    assert (one.tolist(), other.tolist()) == ([3, 2], [1, 4])


def test_an_item_without_votes_does_not_count(small_crowd):
    """Fifty items that nobody answered: shares of sets stay as they were."""
    dense = small_crowd.votes.to_dense()
    more = np.concatenate([dense, np.zeros((dense.shape[0], 50, dense.shape[2]))], axis=1)
    plain, with_idle = (CDS(mode="cascade").fit(Votes.from_dense(votes)) for votes in (dense, more))
    assert_array_equal(with_idle.label_sets_, plain.label_sets_)
    assert_allclose(with_idle.set_share_, plain.set_share_, rtol=0, atol=1e-12)
    assert_allclose(with_idle.predict_proba()[-1], with_idle.label_prior_, rtol=0, atol=1e-12)


def test_known_truth_moves_the_other_labels_of_an_item():
    """a and b go together; on the last item votes are even, and a is known to be present: b follows."""
    together = np.array([[1, 1]] * 10 + [[-1, -1]] * 10)
    doubtful = np.array([[[1, 1]], [[-1, -1]], [[1, 1]], [[-1, -1]]])
    dense = np.concatenate([np.tile(together, (4, 1, 1)), doubtful], axis=1)
    votes = Votes.from_dense(dense, item_names=[f"i{n:02d}" for n in range(21)], label_names=["a", "b"])
    pair = pd.DataFrame({"item": ["i20"], "label": ["a"]})
    truth = Truth.from_frames(pair, known_pairs=pair)
    plain, taught = (CDS(mode="cascade").fit(votes, truth=known).predict_proba()[20, 1] for known in (None, truth))
    assert taught > plain + 0.1


def test_the_pool_has_room_for_the_empty_set_only(small_crowd):
    model = CDS(mode="cascade", max_sets=1).fit(small_crowd.votes)
    assert_array_equal(model.label_sets_, np.zeros((1, 5), dtype=bool))
    assert_allclose(model.predict_proba(), 0, rtol=0, atol=1e-12)


def test_probabilities_of_sets_sum_to_one(small_crowd):
    rng = np.random.default_rng(0)
    sets, share = rng.random((30, 5)) < 0.4, rng.dirichlet(np.ones(30))
    for _, found in set_posteriors(csr_array(rng.normal(size=(40, 5), scale=200)), sets, share):
        assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
