"""Linear algebra: dependence of matrices, the graph of labels, projections of rows; tables that may be sparse.

Pieces of the paper that are plain mathematics stand here, under their equations: HSIC (before eq3), the similarity of
labels and its Laplacian (eq4), the sets of rows that the updates project to. Nothing here knows votes or workers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from amcc.arrays import AnyInts, Floats


def centered_gram(x: Floats) -> Floats:
    """H x xᵀ H, the centred Gram matrix of the rows of x under the linear kernel; (..., n, d) → (..., n, n).

    H = I − 1/n subtracts the mean of n rows.
    """
    # Subtracting means is H x; H is symmetric, so that is all: no (n, n) product with H.
    rows = x - x.mean(axis=-2, keepdims=True)
    return np.asarray(rows @ rows.swapaxes(-1, -2))


def hsic_scale(n: int) -> float:
    """(n − 1)⁻², the factor of the empirical HSIC; 0 for one row, which depends on nothing."""
    return (n - 1.0) ** -2 if n > 1 else 0.0


def hsic(x: Floats, y: Floats) -> float:
    """Empirical HSIC of two matrices with rows that belong together, by linear kernels (paper, before eq3).

    (n − 1)⁻² tr(K₁ H K₂ H), with K₁ = x xᵀ and K₂ = y yᵀ. x : (n, d), y : (n, e).

    >>> round(hsic(np.eye(3), np.eye(3)), 9), hsic(np.eye(3), np.ones((3, 3)))
    (0.5, 0.0)
    """
    # tr(A B) of symmetric A and B is the sum of A ∘ B; and H K H = (H K H) H, since H H = H.
    return float(np.sum(centered_gram(x) * centered_gram(y))) * hsic_scale(len(x))


def label_similarity(mean_answers: Floats, *, clipped: bool = False) -> Floats:
    """Cosines between labels, B of eq4.

    mean_answers : (n_items, n_labels), the average of all workers' answers. A label of norm zero (nobody gave it) is
    like no other, itself included. clipped : negative cosines count as zero. With negative edges, which answers of ±1
    may have, the Laplacian need not be positive semi-definite, and eq5 need not have a minimum (D14).
    """
    norm = np.linalg.norm(mean_answers, axis=0)
    unit = np.divide(mean_answers, norm, out=np.zeros_like(mean_answers), where=norm > 0)
    # Beyond the bounds there is only rounding.
    return np.asarray(np.clip(unit.T @ unit, 0.0 if clipped else -1.0, 1.0))


def label_degree(similarity: Floats) -> Floats:
    """Diagonal matrix of row sums, O of eq4."""
    return np.diag(similarity.sum(axis=1))


def label_laplacian(similarity: Floats) -> Floats:
    """O − B, the Laplacian of the graph of labels (eq4): tr(Cᵀ L C) is half the sum of B_ij ‖C_i − C_j‖²."""
    return label_degree(similarity) - similarity


def project_simplex(rows: Floats) -> Floats:
    """The nearest rows with non-negative entries that sum to one, (..., n).

    Subtracts from each row the one number that makes its positive part sum to one.

    >>> project_simplex(np.array([[0.5, 0.5], [2.0, 0.0], [0.2, 0.4]])).round(3).tolist()
    [[0.5, 0.5], [1.0, 0.0], [0.4, 0.6]]
    """
    excess = np.cumsum(-np.sort(-rows, axis=-1), axis=-1)
    excess -= 1.0
    excess /= np.arange(1, rows.shape[-1] + 1)
    # What the k largest entries would have to give up each is largest at the right k: with too few, the next entry
    # would stay above zero as well; with too many, some would give up more than they have.
    return np.asarray(np.maximum(rows - excess.max(axis=-1, keepdims=True), 0.0))


def project_unit(rows: Floats) -> Floats:
    """The nearest rows of 2-norm one, (..., n); from a zero row all are equally near, and the even one is taken.

    >>> project_unit(np.array([[3.0, 4.0], [0.0, 0.0]])).round(3).tolist()
    [[0.6, 0.8], [0.707, 0.707]]
    """
    norm = np.linalg.norm(rows, axis=-1, keepdims=True)
    even = np.full_like(rows, rows.shape[-1] ** -0.5)
    return np.asarray(np.divide(rows, norm, out=even, where=norm > 0))


def solve_least(matrix: Floats, right: Floats) -> Floats:
    """The smallest of the solutions of positive semi-definite systems, (..., n, n) and (..., n, k).

    Where directions are free (a label that nobody was asked about), the solution has nothing in them.
    """
    # Eigenvalues below 1e-10 of the largest count as zero: rounding leaves some 1e-16 · n of it, real ones are larger.
    return np.asarray(np.linalg.pinv(matrix, rcond=1e-10, hermitian=True) @ right)


def first_not_finite(table: Any) -> tuple[int, int] | None:
    """Row and column of the first number of a table, dense or sparse, that is infinite or missing.

    >>> first_not_finite(np.array([[1.0, 2.0], [3.0, np.nan]])), first_not_finite(np.ones((2, 2)))
    ((1, 1), None)
    """
    if scipy.sparse.issparse(table):
        cells = table.tocoo()
        wrong = np.stack(cells.coords, axis=1)[~np.isfinite(cells.data)]
    else:
        wrong = np.empty((0, 2)) if np.isfinite(table).all() else np.argwhere(~np.isfinite(table))
    return (int(wrong[0, 0]), int(wrong[0, 1])) if len(wrong) else None


# Numbers gathered at a time by `row_products`: two tables of 2 MB, however many products there are.
GATHERED_CELLS = 2**18


def row_products(left: Floats, left_row: AnyInts, right: Floats, right_row: AnyInts) -> Floats:
    """left[left_row[n]] · right[right_row[n]] for every n, in memory that follows n and the two tables.

    >>> row_products(np.array([[1.0, 2.0]]), np.array([0, 0]), np.eye(2), np.array([0, 1])).tolist()
    [1.0, 2.0]
    """
    # Where most products are wanted, one matrix product is the quickest.
    if len(left) * len(right) <= 4 * len(left_row):
        return np.asarray((left @ right.T).ravel()[left_row * len(right) + right_row])
    products = np.empty(len(left_row))
    block = max(GATHERED_CELLS // max(left.shape[1], 1), 1)
    for first in range(0, len(products), block):
        part = slice(first, first + block)
        products[part] = np.einsum("nd,nd->n", left[left_row[part]], right[right_row[part]])
    return products
