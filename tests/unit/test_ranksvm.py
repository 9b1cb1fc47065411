"""RankSVM against hand-made numbers and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad

from amcc.data.ranksvm import RankSVM, best_thresholds, objective, pair_weights
from amcc.errors import EmptyInputError, InputError, NotFittedError, ParameterError


def test_one_item_by_hand():
    """Symmetric weights ±a: a² + (1 − 2a)² is least at a = .4."""
    model = RankSVM(C=1.0, fit_bias=False).fit([[1.0]], [[True, False]])
    assert_allclose(model.weights_, [[0.4, -0.4]], rtol=0, atol=1e-6)
    assert_array_equal(model.bias_, [0, 0])
    assert_array_equal(model.predict([[1.0]]), [[True, False]])


def test_another_error_weight_by_hand():
    """a² + C (1 − 2a)² is least at a = 2C / (1 + 4C); a twin of the item doubles C."""
    for twins in (1, 2):
        model = RankSVM(C=0.25, fit_bias=False).fit([[1.0]] * twins, [[True, False]] * twins)
        error_weight = 0.25 * twins
        expected = 2 * error_weight / (1 + 4 * error_weight)
        assert_allclose(model.weights_, [[expected, -expected]], rtol=0, atol=1e-6)


def test_bias_by_hand():
    """Without features the biases do it all: penalty · b² + C (1 − 2b)² is least at b = 2C / (penalty + 4C)."""
    model = RankSVM(C=1.0, bias_penalty=0.5).fit([[0.0]], [[False, True]])
    assert_allclose(model.bias_, [-2 / 4.5, 2 / 4.5], rtol=0, atol=1e-6)
    assert_allclose(model.weights_, [[0, 0]], rtol=0, atol=1e-12)


def test_pairs_of_an_item_share_its_weight():
    weight = pair_weights(np.array([[True, True, False], [False, True, False]]), error_weight=3.0)
    assert_allclose(weight.sum(axis=(0, 1)), [3, 3], rtol=0, atol=1e-12)
    assert_array_equal(weight[:, :, 0], [[0, 0, 1.5], [0, 0, 1.5], [0, 0, 0]])


def test_gradient_is_that_of_the_value():
    rng = np.random.default_rng(0)
    features, present = rng.normal(size=(12, 4)), rng.random((12, 5)) < 0.5
    ranks = present.any(axis=1) & ~present.all(axis=1)
    fixed = features[ranks], pair_weights(present[ranks], 0.7), np.array([[1.0], [1], [1], [1e-3]])
    error = check_grad(
        lambda flat: objective(flat.reshape(4, 5), *fixed)[0],
        lambda flat: objective(flat.reshape(4, 5), *fixed)[1].ravel(),
        rng.normal(size=20),
    )
    assert error < 1e-4


@pytest.mark.parametrize(
    ("scores", "present", "threshold"),
    [
        ([1, 2, 4], [0, 0, 1], 3.0),
        ([1, 2, 4], [0, 1, 1], 1.5),
        ([1, 2, 4], [1, 0, 0], 3.0),  # three wrong at 1.5, two at 3
        ([1, 2, 4, 8], [0, 1, 0, 1], 1.5),  # one wrong at 1.5 and at 6: the first counts
        ([1, 1, 2], [1, 0, 1], 1.5),  # not at 1, where both equals would be wrong
    ],
)
def test_best_threshold(scores, present, threshold):
    found = best_thresholds(np.array([scores], dtype=float), np.array([present], dtype=bool))
    assert_array_equal(found, [threshold])


def test_learns_which_labels_apply():
    rng = np.random.default_rng(1)
    features = rng.normal(size=(400, 3))
    truth = np.column_stack([features[:, 0] > 0, features[:, 1] > 0, features[:, 0] < 0, features[:, 2] > 1])
    model = RankSVM(C=1.0).fit(features[:200], truth[:200])
    assert (model.predict(features[200:]) == truth[200:]).mean() > 0.9
    assert (model.scores(features[200:]).argmax(axis=1) == truth[200:].argmax(axis=1)).mean() > 0.3


def test_items_that_rank_nothing_do_not_matter():
    features, truth = np.array([[1.0], [2.0], [5.0], [-9.0]]), np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    assert_array_equal(RankSVM().fit(features, truth).weights_, RankSVM().fit(features[:2], truth[:2]).weights_)


@pytest.mark.parametrize("parameters", [{"C": 0}, {"bias_penalty": -1}, {"max_iter": 0}, {"C": np.inf}])
def test_impossible_parameters(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        RankSVM(**parameters).fit([[1.0]], [[True, False]])


def test_impossible_input():
    with pytest.raises(EmptyInputError, match="have a label and lack another"):
        RankSVM().fit([[1.0]], [[True, True]])
    with pytest.raises(InputError, match="one row per item"):
        RankSVM().fit([[1.0]], [[True, False]] * 2)
    with pytest.raises(InputError, match="finite"):
        RankSVM().fit([[np.nan]], [[True, False]])
    with pytest.raises(NotFittedError):
        RankSVM().predict([[1.0]])
    with pytest.raises(InputError, match="1 columns"):
        RankSVM().fit([[1.0]], [[True, False]]).predict([[1.0, 2.0]])


def training(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(40, 3))
    return features, features @ rng.normal(size=(3, 4)) + 0.5 * rng.normal(size=(40, 4)) > 0


def test_what_is_found_is_a_minimum():
    """No step in any of 50 directions lowers the objective, beyond what L-BFGS leaves."""
    features, present = training(0)
    model = RankSVM(fit_bias=False, max_iter=1000).fit(features, present)
    ranks = present.any(axis=1) & ~present.all(axis=1)
    fixed = features[ranks], pair_weights(present[ranks], model.C), np.ones((3, 1))
    least = objective(model.weights_, *fixed)[0]
    rng = np.random.default_rng(1)
    for _ in range(50):
        assert objective(model.weights_ + 0.01 * rng.normal(size=(3, 4)), *fixed)[0] > least - 1e-6


def test_labels_and_features_may_be_in_any_order():
    features, present = training(2)
    labels, columns = [2, 0, 3, 1], [1, 2, 0]
    one, other = RankSVM().fit(features, present), RankSVM().fit(features[:, columns], present[:, labels])
    assert_allclose(other.scores(features[:, columns]), one.scores(features)[:, labels], atol=0.02)


def test_a_larger_error_weight_fits_more_closely():
    features, present = training(3)
    right = [(RankSVM(C=C).fit(features, present).predict(features) == present).mean() for C in (1e-4, 10.0)]
    assert right[0] < right[1]


def test_arguments_are_stored_as_they_came():
    model = RankSVM(C=2.0, bias_penalty=0.5, max_iter=7, fit_bias=False)
    features, present = training(4)
    kept = features.copy(), present.copy()
    model.fit(features, present)
    assert (model.C, model.bias_penalty, model.max_iter, model.fit_bias) == (2.0, 0.5, 7, False)
    assert_array_equal(features, kept[0])
    assert_array_equal(present, kept[1])
