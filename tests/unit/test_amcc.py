"""AMCC as users meet it: what it publishes, how it is set, kept and asked."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from amcc import AMCC, Truth, Votes, load_model, metrics
from amcc.consensus.default.answering import STEPS
from amcc.consensus.default.crowd import MANY_LABELS, MORE_GROUPS, USUAL_GROUPS, coin_rates, usual_groups
from amcc.consensus.models.paper import PaperAMCC
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import ParameterError, TooLargeError

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from judges import judged_crowd

MODELS = AMCC, PaperAMCC


@pytest.fixture(scope="module")
def model(crowd):
    return AMCC().fit(crowd.votes)


@pytest.fixture(scope="module")
def sparse():
    """A crowd in which many pairs were not asked about at all."""
    return simulate_crowd(
        CrowdSpec(n_items=800, n_workers=30, n_labels=10, answers_per_item=4, asked_share=0.2, spammers=0.1, seed=0)
    )


@pytest.fixture(scope="module")
def sparse_model(sparse):
    return AMCC().fit(sparse.votes)


# -- what is published --------------------------------------------------------------------------------------------


def test_individuality_is_rate_minus_commonality(crowd, monkeypatch):
    rates = []

    def watched(*arguments):
        rates.extend(coin_rates(*arguments))
        return np.stack(rates)

    monkeypatch.setattr("amcc.consensus.default.estimator.coin_rates", watched)
    model = AMCC().fit(crowd.votes)
    group = model.worker_group_[model.coin_worker_]
    usual = model.commonality_[:, group, model.coin_label_]
    assert_allclose(model.individuality_, (np.stack(rates) - usual).T)


def test_labels_planted_together_are_correlated():
    rng = np.random.default_rng(0)
    truth = rng.random((200, 4)) < 0.3
    truth[:, 1] = truth[:, 0] ^ (rng.random(200) < 0.02)
    dense = np.where(truth ^ (rng.random((5, 200, 4)) < 0.1), 1, -1)
    correlation = AMCC().fit(Votes.from_dense(dense)).label_correlation_
    assert correlation[0, 1] > 0.5
    assert np.abs(correlation[2:, :2]).max() < 0.3


# -- settings -----------------------------------------------------------------------------------------------------


def tones():
    """One label of three for each item, by workers who err on two in ten."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    said = np.where(rng.random((7, 60)) < 0.2, rng.integers(0, 3, (7, 60)), truth)
    return Votes.from_dense(np.where(said[:, :, None] == np.arange(3), 1, -1))


@pytest.fixture(scope="module")
def grounds():
    """Votes, and what else is known, on which every step has something to do."""
    related = simulate_crowd(CrowdSpec(n_items=300, n_workers=30, n_labels=8, correlation=0.9, seed=0)).votes
    judged = judged_crowd(0, ((0.8, 0.2),) * 4, "aaab", ((0.8, 0.1),) * 3, n_items=60, n_labels=4)
    known = pa.table({"item": [str(item) for item in range(10)], "label": ["0"] * 10})
    roster = {"roster": judged.roster}
    special = {
        "families": (judged.votes, roster), "reference": (judged.votes, roster), "exclusive": (tones(), {}),
        "calibration": (judged.votes, {"truth": Truth.from_frames(known, known_pairs=known)}),
    }  # fmt: skip
    return {step: special.get(step, (related, {})) for step in STEPS}


@pytest.mark.parametrize("step", STEPS)
def test_every_step_can_be_switched_off(grounds, step):
    votes, given = grounds[step]
    whole, without = (AMCC(without=steps).fit(votes, **given) for steps in ((), [step]))
    assert np.abs(whole.pair_proba_ - without.pair_proba_).max() > 1e-3


def test_without_individuality_workers_do_as_their_group_does(crowd):
    model = AMCC(without=["individuality"]).fit(crowd.votes)
    sure = model.worker_membership_.max(axis=1)[model.coin_worker_] > 1 - 1e-6
    assert sure.any()
    assert np.abs(model.individuality_[sure]).max() < 1e-3


def test_own_answers_as_anchor(crowd):
    model = PaperAMCC(anchor="self").fit(crowd.votes)
    proba = model.predict_proba()
    assert proba.shape == crowd.truth.shape
    assert 0 <= proba.min() <= proba.max() <= 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_groups": 0}, "n_groups must be at least 1; got 0"),
        ({"max_iter": 0}, "max_iter must be at least 1; got 0"),
        ({"tol": 0.0}, "tol must be positive; got 0.0"),
        ({"tol": -1.0}, "tol must be positive; got -1.0"),
        ({"tol": float("nan")}, "tol must be positive; got nan"),
        ({"without": ["degree"]}, "without must be a list of steps, of start, .*; got"),
        ({"without": "degrees"}, "without must be a list of steps"),
        ({"without": ["coins", "counts", "degrees"]}, "must leave one reading of coins, counts and degrees"),
    ],
    ids=str,
)
def test_bad_settings(toy_votes, settings, message):
    with pytest.raises(ParameterError, match=message):
        AMCC(**settings).fit(toy_votes)


# -- answering ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_votes", "most"), [(10_000, 0.1), (100_000, 0.06)])
def test_probabilities_mean_what_they_say(n_votes, most):
    """These votes are independent, which takes more of them to believe: probabilities are more cautious than needed."""
    crowd = simulate_crowd(CrowdSpec.for_votes(n_votes, seed=0))
    proba = AMCC().fit(crowd.votes).predict_proba()
    assert metrics.expected_calibration_error(crowd.truth, proba) <= most


def test_unasked_pairs_are_predicted_better_than_by_frequency(sparse, sparse_model):
    unasked = np.ones(sparse.truth.shape, dtype=bool)
    unasked[sparse.votes.pairs.item, sparse.votes.pairs.label] = False
    assert 0.3 < unasked.mean() < 0.7
    truth = sparse.truth[unasked]
    ours = roc_auc_score(truth, sparse_model.predict_proba()[unasked])
    prior = roc_auc_score(truth, np.tile(sparse_model.label_prior_, (len(unasked), 1))[unasked])
    assert ours > prior + 0.02


@pytest.mark.parametrize("make", MODELS)
def test_sets_are_the_predicted_labels(sparse, sparse_model, make):
    model = sparse_model if make is AMCC else make().fit(sparse.votes)
    names = sparse.votes.label_names.to_pylist()
    expected = [[name for name, present in zip(names, row, strict=True) if present] for row in model.predict()]
    assert model.sets()["labels"].to_list() == expected


@pytest.mark.parametrize("make", MODELS)
def test_loaded_models_answer_alike(sparse, sparse_model, make, tmp_path):
    model = sparse_model if make is AMCC else make().fit(sparse.votes)
    model.save(tmp_path / "model.amcc")
    loaded = load_model(tmp_path / "model.amcc")
    new = sparse.votes.select(sparse.votes.item < 40)
    assert_array_equal(loaded.predict_proba(), model.predict_proba())
    assert_array_equal(loaded.predict_proba(new), model.predict_proba(new))
    assert loaded.groups().equals(model.groups())


def test_new_votes_predict_their_unasked_pairs_too(sparse, sparse_model):
    """The same votes as new ones: unasked pairs of answered items follow what the item's votes say."""
    assert_allclose(
        sparse_model.predict_proba(sparse.votes), sparse_model.predict_proba(), rtol=0, atol=1e-9
    )  # fmt: skip


def test_sets_need_no_table_of_all_items_and_labels():
    """A label that all said is present is expected everywhere; a table of 2·10⁹ cells would not fit."""
    n_items, n_labels = 40_000, 50_000
    item = np.repeat(np.arange(n_items), 2)
    label = 1 + item % (n_labels - 1)
    table = pa.table({
        "worker": np.concatenate([np.tile([0, 1], n_items), [0, 1, 2] * 10]),
        "item": np.concatenate([item, np.repeat(np.arange(10), 3)]),
        "label": np.concatenate([label, np.zeros(30, int)]),
        "value": np.concatenate([np.where(label % 3 == 0, 1, -1), np.ones(30, int)]),
    })  # fmt: skip
    model = AMCC().fit(Votes.from_frame(table))
    with pytest.raises(TooLargeError, match="a table of all items and labels"):
        model.predict()
    sets = model.sets(frame="arrow")
    assert sets["labels"].combine_chunks().flatten().null_count == 0
    found = dict(zip(sets["item"].to_pylist(), map(set, sets["labels"].to_pylist()), strict=True))
    assert all(0 in found[item] for item in (0, 9, 10, n_items - 1)), "asked, and not asked"
    assert 3 in found[2] and 1 not in found[0]


# -- groups -------------------------------------------------------------------------------------------------------


def test_there_are_more_groups_where_workers_answer_on_many_labels():
    rng = np.random.default_rng(0)
    few, many = (Votes.from_dense(rng.choice([-1, 1], (5, 4, n))) for n in (MANY_LABELS, MANY_LABELS + 1))
    assert [usual_groups(votes.coins) for votes in (few, many)] == [USUAL_GROUPS, MORE_GROUPS]
    assert AMCC().fit(many).commonality_.shape[1] == MORE_GROUPS
    assert AMCC(n_groups=3).fit(many).commonality_.shape[1] == 3


def test_many_labels_with_few_votes_of_a_worker_on_each_are_not_worse_than_majority():
    rng = np.random.default_rng(0)
    n_workers, n_pairs, n_labels = 100, 6000, 60
    present = rng.random(n_pairs) < 0.4
    spams = rng.random(n_workers) < 0.2
    hit, false_alarm = (np.where(spams, 0.5, rng.beta(*shape, n_workers)) for shape in ((8, 2), (2, 18)))
    worker = (rng.integers(0, n_workers, n_pairs)[:, None] + 20 * np.arange(5)) % n_workers
    yes = rng.random(worker.shape) < np.where(present[:, None], hit[worker], false_alarm[worker])
    pair = np.repeat(np.arange(n_pairs), 5)
    votes = Votes.from_codes(
        pair // n_labels, worker.ravel(), pair % n_labels, np.where(yes.ravel(), 1, -1),
        item_names=range(n_pairs // n_labels), worker_names=range(n_workers), label_names=range(n_labels),
    )  # fmt: skip
    right = ((AMCC().fit(votes).pair_proba_ > 0.5) == present).mean()
    assert right > ((yes.sum(axis=1) > 2.5) == present).mean() + 0.02  # with five groups it was .006 below
