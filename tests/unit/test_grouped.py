"""What models with groups publish alike, and groups in words."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import AMCC, load_model
from amcc.consensus.grouped import describe_groups, summary
from amcc.consensus.models.paper import PaperAMCC
from amcc.data import CrowdSpec, simulate_crowd
from amcc.errors import FileFormatError
from amcc.fields import read_fields, write_fields

MODELS = AMCC, PaperAMCC


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, crowd):
    """Each model with groups, fitted to the same crowd."""
    return request.param().fit(crowd.votes)


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


def test_groups_of_nobody_come_last_and_weigh_nothing():
    """Three workers cannot fill five groups; a group with the rates of a prior alone must not look like the best."""
    n_empty = 0
    for seed in range(3):
        crowd = simulate_crowd(CrowdSpec(n_items=60, n_workers=3, n_labels=4, answers_per_item=3, seed=seed))
        model = AMCC().fit(crowd.votes)
        n_workers = np.bincount(model.worker_group_, minlength=5)
        assert_array_equal(n_workers > 0, np.arange(5) < (n_workers > 0).sum())
        assert model.group_weights_[n_workers == 0].max() < 1e-5
        assert_allclose(model.group_weights_.sum(), 1)
        assert_allclose(model.worker_membership_.sum(axis=1), 1)
        n_empty += (n_workers == 0).sum()
    assert n_empty > 3  # each crowd has at least two


def test_label_correlation_is_symmetric(fitted):
    assert_allclose(fitted.label_correlation_, fitted.label_correlation_.T, rtol=0, atol=1e-12)
    assert_allclose(np.diag(fitted.label_correlation_), 1)


def test_history_rises_for_the_likelihood_and_falls_for_the_paper(fitted):
    history = np.array(fitted.objective_history_)
    steps = np.diff(history) * (1 if isinstance(fitted, AMCC) else -1)
    assert steps.min() >= -1e-6 * abs(fitted.objective_history_[0])
    assert fitted.n_iter_ == len(fitted.objective_history_)
    assert fitted.converged_


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


def test_rates_are_commonality_and_individuality(fitted):
    """On labels they met their own, on others what their groups do."""
    rates = np.stack(fitted.rates_of_coins())
    usual = np.einsum("wm,aml->awl", fitted.worker_membership_, fitted.commonality_)
    met = np.zeros(rates.shape[1:], dtype=bool)
    met[fitted.coin_worker_, fitted.coin_label_] = True
    assert_array_equal(rates[:, ~met], usual[:, ~met])
    group = fitted.worker_group_[fitted.coin_worker_]
    own = fitted.individuality_.T + fitted.commonality_[:, group, fitted.coin_label_]
    assert_array_equal(rates[:, fitted.coin_worker_, fitted.coin_label_], own)


def test_workers_table_names_group_and_weight(fitted):
    table = fitted.workers()
    assert_array_equal(table["group"], fitted.worker_group_)
    assert_array_equal(table["weight"], fitted.group_weights_[fitted.worker_group_])


@pytest.mark.parametrize("make", MODELS)
def test_coins_out_of_order_are_refused(make, toy_votes, tmp_path):
    """Look-ups of new votes search among sorted coins: a damaged file would answer nonsense."""
    path = tmp_path / "model.amcc"
    make().fit(toy_votes).save(path)
    meta, arrays = read_fields(path, "a model")
    for name in ("coin_worker_", "coin_label_"):
        arrays[name] = arrays[name][::-1]
    write_fields(path, meta, arrays)
    with pytest.raises(FileFormatError, match="must have its coins in order, each once"):
        load_model(path)
