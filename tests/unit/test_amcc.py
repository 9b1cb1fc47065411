"""AMCC as users meet it: what it publishes, how it is set, kept and asked."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from amcc import AMCC, Votes, load_model, metrics
from amcc.consensus.models.amcc.crowd import coin_rates
from amcc.consensus.models.amcc.estimator import UPDATE_ROUNDS
from amcc.consensus.models.amcc.groups import describe_groups, summary
from amcc.consensus.models.amcc.worth import worker_worth
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import ParameterError
from amcc.truth import Truth

LOSSES = "likelihood", "frobenius"


@pytest.fixture(scope="module", params=LOSSES)
def fitted(request, crowd):
    """A model of each loss, fitted to the same crowd."""
    return AMCC(loss=request.param).fit(crowd.votes)


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


def test_shapes(fitted, crowd):
    n_workers, n_labels, n_coins = 25, 6, len(crowd.votes.coins)
    shapes = {
        "commonality_": (2, 5, n_labels),
        "individuality_": (n_coins, 2),
        "coin_worker_": (n_coins,),
        "coin_label_": (n_coins,),
        "worker_group_": (n_workers,),
        "worker_membership_": (n_workers, 5),
        "group_weights_": (5,),
        "label_correlation_": (n_labels, n_labels),
        "worker_cost_": (n_workers,),
    }
    assert {name: getattr(fitted, name).shape for name in shapes} == shapes


def test_ranges(fitted):
    assert 0 < fitted.commonality_.min() <= fitted.commonality_.max() < 1
    assert np.abs(fitted.individuality_).max() < 1
    assert 0 < fitted.worker_cost_.min() <= fitted.worker_cost_.max() <= 1
    assert_allclose(fitted.worker_membership_.sum(axis=1), 1)
    assert_array_equal(fitted.worker_group_, fitted.worker_membership_.argmax(axis=1))


def test_group_weights_sum_to_one_and_the_best_comes_first(fitted):
    assert_allclose(fitted.group_weights_.sum(), 1)
    assert np.diff(fitted.group_weights_).max() <= 0


def test_label_correlation_is_symmetric(fitted):
    assert_allclose(fitted.label_correlation_, fitted.label_correlation_.T, rtol=0, atol=1e-12)
    assert_allclose(np.diag(fitted.label_correlation_), 1)


def test_history_rises_for_the_likelihood_and_falls_for_the_paper(fitted):
    steps = np.diff(fitted.objective_history_) * (1 if fitted.loss == "likelihood" else -1)
    assert steps.min() >= -1e-6 * abs(fitted.objective_history_[0])
    assert fitted.n_iter_ == len(fitted.objective_history_)
    assert fitted.converged_


def test_blend_holds_weights(model):
    assert list(model.blend_) == ["crisp", "degrees", "counts", "correlation"]
    assert all(0 <= weight <= 1 for weight in model.blend_.values())


def test_individuality_is_rate_minus_commonality(crowd, monkeypatch):
    rates = []

    def watched(*arguments):
        rates.extend(coin_rates(*arguments))
        return np.stack(rates)

    monkeypatch.setattr("amcc.consensus.models.amcc.estimator.coin_rates", watched)
    model = AMCC(adapt=False, correlation=False).fit(crowd.votes)
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


def test_worker_worth_by_hand():
    """w1 ticks a and b on the first item (.8 · .5) and nothing on the second (1); w2 ticks b once (.9); w3 nothing."""
    votes = Votes.from_dense([[[1, 1], [-1, -1]], [[-1, 1], [0, 0]], [[0, 0], [0, 0]]])
    worth = worker_worth(votes, np.array([0.8, 0.5, 0.7, 0.9]))
    assert_allclose(worth, [(0.4 + 1) / 2, 0.9, (0.4 + 1 + 0.9) / 3])


def test_nobody_is_free():
    votes = Votes.from_dense([[[1, 1, 1]]])
    assert_allclose(worker_worth(votes, np.full(3, 1e-5)), 1e-3)


# -- groups in words ----------------------------------------------------------------------------------------------


def test_groups_table(fitted):
    table = fitted.groups()
    assert table.columns.tolist() == ["group", "workers", "weight", "hit_rate", "false_alarm_rate", "summary"]
    assert table["workers"].sum() == 25
    assert_array_equal(table["weight"], fitted.group_weights_)
    assert_allclose(table["hit_rate"], fitted.commonality_[0].mean(axis=1))
    assert fitted.groups("arrow").num_rows == 5


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ((0, 0.9, 0.01), "nobody"),
        ((1, 0.9, 0.012), "1 worker, find 90% of the labels and invent few (1.2% of absent ones)"),
        ((4, 0.3, 0.02), "4 workers, miss most labels (70%) and invent few (2.0% of absent ones)"),
        ((2, 0.8, 0.3), "2 workers, find 80% of the labels and invent many (30% of absent ones)"),
        ((3, 0.95, 0.93), "3 workers, say yes nearly always (94%) whatever is there"),
        ((3, 0.31, 0.29), "3 workers, say yes to 30% whatever is there"),
        ((3, 0.02, 0.01), "3 workers, tick hardly anything (1.5%) whatever is there"),
    ],
)
def test_summaries(rates, words):
    assert summary(*rates) == words


def test_description_counts_the_workers_of_each_group():
    commonality = np.array([[[0.9, 0.7], [0.2, 0.2]], [[0.01, 0.03], [0.1, 0.1]]])
    table = describe_groups(commonality, np.array([0.75, 0.25]), np.array([0, 0, 0], np.int32))
    assert table["workers"].to_pylist() == [3, 0]
    assert table["summary"].to_pylist() == [
        "group 0: 3 workers, find 80% of the labels and invent few (2.0% of absent ones); weight 0.75",
        "group 1: nobody; weight 0.25",
    ]


# -- settings -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [{"individuality": False}, {"correlation": False}, {"adapt": False}, {"n_groups": 1}, {"n_groups": 2}],
    ids=str,
)
def test_parts_can_be_switched_off(crowd, settings):
    model = AMCC(**settings).fit(crowd.votes)
    assert metrics.jaccard(crowd.truth, model.predict()) > 0.6
    assert model.commonality_.shape == (2, settings.get("n_groups", 5), 6)


def test_without_individuality_workers_do_as_their_group_does(crowd):
    model = AMCC(individuality=False, adapt=False).fit(crowd.votes)
    sure = model.worker_membership_.max(axis=1)[model.coin_worker_] > 1 - 1e-6
    assert sure.any()
    assert np.abs(model.individuality_[sure]).max() < 1e-3


def test_blend_of_an_earlier_fit(crowd):
    """Gives the same result without the choosing; anything else is refused."""
    chosen = AMCC().fit(crowd.votes)
    again = AMCC(blend=chosen.blend_).fit(crowd.votes)
    assert again.blend_ == chosen.blend_
    assert_array_equal(again.predict_proba(), chosen.predict_proba())
    assert AMCC().set_params(**chosen.settled_params()).blend == chosen.blend_
    with pytest.raises(ParameterError, match="blend must be None or the blend_ of an earlier fit; got"):
        AMCC(blend={"graded": 1}).fit(crowd.votes)


def test_without_adaptation_votes_count_fully(crowd):
    for correlation in (True, False):
        model = AMCC(adapt=False, correlation=correlation).fit(crowd.votes)
        assert model.blend_ == {"crisp": 1, "degrees": 0.3, "counts": 0, "correlation": float(correlation)}


def test_own_answers_as_anchor(crowd):
    model = AMCC(loss="frobenius", anchor="self").fit(crowd.votes)
    proba = model.predict_proba()
    assert proba.shape == crowd.truth.shape
    assert 0 <= proba.min() <= proba.max() <= 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "hinge"}, "loss must be 'likelihood' or 'frobenius'; got 'hinge'"),
        ({"n_groups": 0}, "n_groups must be at least 1; got 0"),
        ({"max_iter": 0}, "max_iter must be at least 1; got 0"),
        ({"tol": 0.0}, "tol must be positive; got 0.0"),
        ({"tol": -1.0}, "tol must be positive; got -1.0"),
        ({"tol": float("nan")}, "tol must be positive; got nan"),
        ({"loss": "frobenius", "anchor": "mast"}, "anchor"),
    ],
    ids=str,
)
def test_bad_settings(toy_votes, settings, message):
    with pytest.raises(ParameterError, match=message):
        AMCC(**settings).fit(toy_votes)


def test_warm_start_goes_on_where_it_was(crowd):
    """With the votes in other words, so that they count as new."""
    model = AMCC(warm_start=True, adapt=False, correlation=False).fit(crowd.votes)
    rounds, proba = model.n_iter_, model.predict_proba()
    renamed = replace(crowd.votes, item_names=pa.array([f"another {i:05}" for i in range(crowd.votes.n_items)]))
    model.fit(renamed)
    assert model.n_iter_ <= UPDATE_ROUNDS < rounds
    assert np.abs(model.predict_proba() - proba).mean() < 0.01
    assert np.mean((model.predict_proba() > 0.5) == (proba > 0.5)) > 0.99


# -- new votes ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def growing():
    """A crowd, and its votes without one in a hundred answers."""
    crowd = simulate_crowd(CrowdSpec.for_votes(20_000, seed=4))
    votes = crowd.votes
    late = np.random.default_rng(0).random((votes.n_items, votes.n_workers)) < 0.01
    return crowd, votes.select(~late[votes.item, votes.worker])


@pytest.fixture(scope="module")
def before(growing):
    return AMCC(warm_start=True).fit(growing[1])


def truth_of_some(crowd):
    """The truth about the first 20 items."""
    items, labels = crowd.votes.item_names.to_pylist(), crowd.votes.label_names.to_pylist()
    present = pd.DataFrame([(items[item], labels[label]) for item, label in np.argwhere(crowd.truth[:20])])
    return Truth.from_frames(
        present.set_axis(["item", "label"], axis=1), known_items=pd.DataFrame({"item": items[:20]})
    )


@pytest.mark.parametrize(
    ("adapt", "truth_known", "saved"),
    [(True, False, True), (False, False, False), (False, True, False), (False, True, True)],
)
def test_without_new_votes_nothing_changes(crowd, adapt, truth_known, saved, tmp_path):
    """Known truth belongs to what is new or not."""
    votes = crowd.votes
    truth = truth_of_some(crowd) if truth_known else None
    model = AMCC(warm_start=True, adapt=adapt).fit(votes, truth=truth)
    before = copy.deepcopy((model.predict_proba(), model.pairs(), model.workers("arrow"), model.label_prior_))
    if saved:
        model.save(tmp_path / "model.amcc")
        model = load_model(tmp_path / "model.amcc")
    model.fit(Votes.from_frame(votes.to_pandas().sample(frac=1, random_state=0)), truth=truth)
    after = model.predict_proba(), model.pairs(), model.workers("arrow"), model.label_prior_
    assert_array_equal(after[0], before[0])
    assert after[1].equals(before[1])
    assert after[2].equals(before[2])
    assert_array_equal(after[3], before[3])


@pytest.mark.parametrize(
    "other",
    [
        lambda votes: (votes.select(np.arange(len(votes)) > 0), {}),
        lambda votes: (replace(votes, value=np.where(np.arange(len(votes)) == 7, -votes.value, votes.value)), {}),
        lambda votes: (replace(votes, worker_names=votes.worker_names.take(np.roll(np.arange(25), 1))), {}),
        lambda votes: (votes, {"tol": 1e-6}),
    ],
    ids=["a vote less", "a vote the other way", "other workers", "other settings"],
)
def test_anything_new_is_noticed(crowd, other):
    model = AMCC(warm_start=True, adapt=False).fit(crowd.votes)
    before = model.predict_proba()
    votes, settings = other(crowd.votes)
    assert not np.array_equal(model.set_params(**settings).fit(votes).predict_proba(), before)


def test_few_new_votes_need_few_rounds(growing, before):
    """Little is done, most of it is kept, and the result is about that of a whole fit."""
    crowd, _ = growing
    model = copy.copy(before).fit(crowd.votes)
    whole = AMCC().fit(crowd.votes)
    assert len(model.objective_history_) == model.n_iter_ <= UPDATE_ROUNDS < whole.n_iter_
    assert (model.blend_, model.n_votes_) == (before.blend_, before.n_votes_)
    assert len(model.pair_proba_) == len(crowd.votes.pairs)
    assert np.sqrt(np.mean((model.pair_proba_ - whole.pair_proba_) ** 2)) < 0.03
    assert np.mean((model.pair_proba_ > 0.5) != (whole.pair_proba_ > 0.5)) < 0.01
    assert metrics.jaccard(crowd.truth, model.predict()) > metrics.jaccard(crowd.truth, whole.predict()) - 0.01


def test_new_votes_count(growing, before):
    """An item about which everybody changes their mind is judged anew, though workers hardly are."""
    votes = growing[1]
    told = replace(votes, value=np.where(votes.item == 3, -votes.value, votes.value).astype(np.int8))
    model = copy.copy(before).fit(told)
    changed = (model.predict() != before.predict()).any(axis=1)
    assert changed[3]
    assert changed.mean() < 0.1


@pytest.mark.parametrize("correlation", [True, False])
def test_a_saved_model_goes_on_alike(growing, tmp_path, correlation):
    crowd, votes = growing
    model = AMCC(warm_start=True, adapt=False, correlation=correlation).fit(votes)
    model.save(tmp_path / "model.amcc")
    loaded = load_model(tmp_path / "model.amcc").fit(crowd.votes)
    assert loaded.n_iter_ <= UPDATE_ROUNDS
    assert_array_equal(loaded.predict_proba(), model.fit(crowd.votes).predict_proba())


def test_many_new_votes_or_fewer_votes_need_a_fit(growing, before):
    crowd, _ = growing
    for share in (0.8, 1.2):
        model = copy.copy(before)
        model.n_votes_ = round(len(crowd.votes) * share)
        assert model.fit(crowd.votes).n_votes_ == len(crowd.votes)
        assert model.n_iter_ > UPDATE_ROUNDS


def test_newcomers_among_the_new_votes(growing, before):
    """A new item, worker and label."""
    votes = growing[1]
    frame = votes.to_pandas()
    label = votes.label_names[0].as_py()
    new = pd.DataFrame({"item": "new item", "worker": "new worker", "label": [label, "new label"], "value": 1})
    grown = Votes.from_frame(pd.concat([frame[list(new)].astype({name: str for name in new if name != "value"}), new]))
    model = copy.copy(before).fit(grown)
    assert model.n_iter_ <= UPDATE_ROUNDS
    proba = model.predict_proba()
    assert proba.shape == (votes.n_items + 1, votes.n_labels + 1)
    assert np.isfinite(proba).all()


# -- answering ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_votes", "most"), [(10_000, 0.08), (100_000, 0.03)])
def test_probabilities_mean_what_they_say(n_votes, most):
    """With few votes it cannot be shown that they are independent, so probabilities stay more cautious than needed."""
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


@pytest.mark.parametrize("loss", LOSSES)
def test_sets_are_the_predicted_labels(sparse, sparse_model, loss):
    model = sparse_model if loss == "likelihood" else AMCC(loss=loss).fit(sparse.votes)
    names = sparse.votes.label_names.to_pylist()
    expected = [[name for name, present in zip(names, row, strict=True) if present] for row in model.predict()]
    assert model.sets()["labels"].to_list() == expected


@pytest.mark.parametrize("loss", LOSSES)
def test_loaded_models_answer_alike(sparse, sparse_model, loss, tmp_path):
    model = sparse_model if loss == "likelihood" else AMCC(loss=loss).fit(sparse.votes)
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
