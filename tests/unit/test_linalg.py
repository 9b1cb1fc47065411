"""Linear algebra of eq3 and eq4 against definitions, small numbers by hand and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array

from amcc import linalg

EXACT = {"rtol": 0, "atol": 1e-12}


@pytest.mark.parametrize("seed", range(3))
def test_hsic_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(6, 4)), rng.normal(size=(6, 2))
    H = np.eye(6) - np.ones((6, 6)) / 6
    assert_allclose(linalg.hsic(x, y), np.trace(x @ x.T @ H @ y @ y.T @ H) / 25, rtol=1e-12)


def test_hsic_by_hand():
    x, y = np.array([[1.0], [-1.0]]), np.array([[3.0], [0.0]])
    assert_allclose(linalg.hsic(x, y), 9.0, **EXACT)  # n − 1 = 1: the squared covariance sum (1 · 1.5 + 1 · 1.5)²
    assert linalg.hsic(x, np.ones((2, 1))) == 0  # a constant depends on nothing
    assert linalg.hsic(np.ones((1, 3)), np.ones((1, 3))) == 0  # nor does one row


def test_centred_gram_of_many_matrices():
    x = np.random.default_rng(0).normal(size=(3, 5, 2))
    H = np.eye(5) - 1 / 5
    assert_allclose(linalg.centered_gram(x), [H @ one @ one.T @ H for one in x], **EXACT)


def test_similarity_of_labels_by_hand():
    mean_answers = np.array([[1.0, 1.0, 0.0, -1.0], [0.0, 1.0, 0.0, 0.0]])
    half = np.sqrt(0.5)
    expected = np.array([[1, half, 0, -1], [half, 1, 0, -half], [0, 0, 0, 0], [-1, -half, 0, 1]])  # one label is unused
    assert_allclose(linalg.label_similarity(mean_answers), expected, **EXACT)
    assert_allclose(linalg.label_similarity(mean_answers, clipped=True), np.maximum(expected, 0), **EXACT)


def test_laplacian_by_hand():
    B = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.25], [0.0, 0.25, 1.0]])
    assert_array_equal(linalg.label_degree(B), np.diag([1.5, 1.75, 1.25]))
    assert_array_equal(linalg.label_laplacian(B), [[0.5, -0.5, 0], [-0.5, 0.75, -0.25], [0, -0.25, 0.25]])


def test_laplacian_form_is_the_sum_over_pairs_of_labels():
    """The two sides of eq4."""
    rng = np.random.default_rng(1)
    B, C = linalg.label_similarity(rng.random((8, 5))), rng.normal(size=(5, 5))
    pairs = sum(B[i, j] * np.sum((C[i] - C[j]) ** 2) for i in range(5) for j in range(5)) / 2
    assert_allclose(np.trace(C.T @ linalg.label_laplacian(B) @ C), pairs, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_simplex_projection_is_the_nearest_point(seed):
    row = np.random.default_rng(seed).normal(size=5) * 2
    nearest = minimize(
        lambda x: np.sum((x - row) ** 2),
        np.full(5, 0.2),
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
        options={"ftol": 1e-14},
    ).x
    assert_allclose(linalg.project_simplex(row), nearest, rtol=0, atol=1e-6)


def test_projections_keep_what_is_allowed_and_shapes():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(4), size=(2, 3))
    assert_allclose(linalg.project_simplex(rows), rows, **EXACT)
    assert_allclose(linalg.project_simplex(rng.normal(size=(2, 3, 4))).sum(axis=-1), 1, **EXACT)
    assert_allclose(np.linalg.norm(linalg.project_unit(rng.normal(size=(2, 3, 4))), axis=-1), 1, **EXACT)
    assert_allclose(linalg.project_unit(np.zeros((1, 4))), 0.5, **EXACT)
    assert_array_equal(linalg.project_simplex(np.array([[-7.0]])), [[1.0]])


def test_unit_projection_is_the_nearest_point():
    row = np.array([0.3, -1.2, 0.4])
    nearest = linalg.project_unit(row)
    others = linalg.project_unit(np.random.default_rng(0).normal(size=(2000, 3)))
    assert np.sum((nearest - row) ** 2) <= np.sum((others - row) ** 2, axis=1).min()


def test_open_systems_get_the_smallest_solution():
    matrix = np.array([[2.0, 2.0], [2.0, 2.0]])
    assert_allclose(linalg.solve_least(matrix, np.array([[4.0], [4.0]])), [[1.0], [1.0]], **EXACT)


def test_one_row_and_no_rows_have_no_scale():
    assert (linalg.hsic_scale(1), linalg.hsic_scale(2), linalg.hsic_scale(5)) == (0.0, 1.0, 1 / 16)


@pytest.mark.parametrize("seed", range(3))
def test_the_laplacian_of_clipped_cosines_is_positive_semi_definite(seed):
    """Where mean answers are opposite, that of signed ones is not (D14)."""
    mean_answers = np.random.default_rng(seed).normal(size=(4, 7))
    clipped, signed = (
        linalg.label_laplacian(linalg.label_similarity(mean_answers, clipped=clipped)) for clipped in (True, False)
    )
    assert np.linalg.eigvalsh(clipped).min() > -1e-12
    assert np.linalg.eigvalsh(signed).min() < -0.1
    assert_allclose(clipped.sum(axis=1), 0, **EXACT)  # a constant has no edges to pay for


def test_hsic_does_not_change_when_rows_move_together():
    rng = np.random.default_rng(4)
    x, y, order = rng.normal(size=(7, 3)), rng.normal(size=(7, 2)), rng.permutation(7)
    assert_allclose(linalg.hsic(x[order], y[order] + 5.0), linalg.hsic(x, y), rtol=1e-12)
    assert linalg.hsic(x, y) == pytest.approx(linalg.hsic(y, x), rel=1e-12)
    assert linalg.hsic(x, y) >= 0


def test_solutions_of_many_systems_at_once():
    rng = np.random.default_rng(5)
    root = rng.normal(size=(3, 4, 4))
    matrix, right = root @ root.swapaxes(-1, -2), rng.normal(size=(3, 4, 2))
    assert_allclose(linalg.solve_least(matrix, right), np.linalg.solve(matrix, right), rtol=1e-6)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_the_first_number_that_is_none_is_found(wrong):
    table = np.ones((3, 2))
    assert linalg.first_not_finite(table) is None
    table[1, 1] = table[2, 0] = wrong
    assert linalg.first_not_finite(table) == (1, 1)
    assert linalg.first_not_finite(csr_array(table)) == (1, 1)


def test_sparse_tables_without_numbers_are_finite():
    assert linalg.first_not_finite(csr_array((4, 5))) is None


def test_products_of_rows_in_both_ways():
    """Most products wanted: one matrix product; few: gathered."""
    rng = np.random.default_rng(0)
    left, right = rng.random((30, 4)), rng.random((20, 4))
    for n_wanted in (20, 1000):
        of_left, of_right = rng.integers(30, size=n_wanted), rng.integers(20, size=n_wanted)
        expected = (left[of_left] * right[of_right]).sum(axis=1)
        assert_allclose(linalg.row_products(left, of_left, right, of_right), expected, rtol=1e-12)
