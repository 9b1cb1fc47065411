"""Many small logistic regressions with a ridge, solved side by side by Newton's method.

NAM has one for every label and one for every coin, thousands in all, each with a handful of observations. Solved one by
one they would take minutes; here regressions of similar size are one batch of numpy's linear algebra.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from amcc.arrays import Floats, Ints, Mask, sigmoid
from amcc.linalg import row_products

# Numbers in the padded tables of the logistic regressions solved at a time: 4 MB each.
BATCH_CELLS = 2**19
# Newton's method ends when no weight moves by more: the next step, by its quadratic convergence, would change nothing.
SMALLEST_STEP = 1e-7
# Curvature of an observation that is as good as certain. Zero would leave the ridge alone to bound the step.
LEAST_CURVATURE = 1e-6
# Half a step so often is nothing; a step that still falls is one of rounding.
MAX_HALVINGS = 20


@dataclass(frozen=True)
class Regressions:
    """Logistic regressions with targets between 0 and 1; each observation belongs to one of them.

    rows : (n_rows, n) descriptions; row, group : (n_observations,) the description and regression of an observation.
    """

    rows: Floats
    row: npt.NDArray[Any]
    group: npt.NDArray[Any]
    n_groups: int

    @property
    def shape(self) -> tuple[int, int]:
        """Of the weights."""
        return self.n_groups, self.rows.shape[1]

    def margins(self, weights: Floats) -> Floats:
        """(n_observations,) log-odds."""
        return row_products(weights, self.group, self.rows, self.row)

    def weighted_rows(self, weight: Floats) -> Floats:
        """(n_groups, n) sum over the observations of each regression, weight · description."""
        matrix = scipy.sparse.csr_array((weight, (self.group, self.row)), shape=(self.n_groups, len(self.rows)))
        return np.asarray(matrix @ self.rows)

    @cached_property
    def batches(self) -> list[tuple[Ints, Ints]]:
        """Regressions of similar size, and their observations as rows of a table padded with −1."""
        return list(self._batches())

    def _batches(self) -> Iterator[tuple[Ints, Ints]]:
        """Cut the regressions, largest first, where the tables of a batch would become too large."""
        order = np.argsort(self.group, kind="stable")
        size = np.bincount(self.group, minlength=self.n_groups)
        begin = np.cumsum(size) - size
        by_size = np.argsort(-size, kind="stable")
        by_size = by_size[size[by_size] > 0]
        first = 0
        while first < len(by_size):
            widest = int(size[by_size[first]])
            # The table of descriptions, and the matrix that `solve_ridge` solves.
            cells = widest * self.shape[1] + min(widest, self.shape[1]) ** 2
            groups = by_size[first : first + max(BATCH_CELLS // cells, 1)]
            column = np.arange(widest)
            inside = column < size[groups, None]
            yield groups, np.where(inside, order[np.where(inside, begin[groups, None] + column, 0)], -1)
            first += len(groups)

    def solved(self, weights: Floats, target: Floats, ridge: Floats, n_steps: int) -> Floats:
        """Weights after at most so many Newton steps up Σ [target · m − log(1 + eᵐ)] − ridge / 2 · ‖w‖², m = w · x."""
        weights = weights.copy()
        for groups, observation in self.batches:
            inside = observation >= 0
            x = np.where(inside[..., None], self.rows[self.row[observation]], 0.0)
            of_batch = weights[groups]
            for _ in range(n_steps):
                step = newton_step(of_batch, x, target[observation], inside, ridge[groups])
                of_batch = of_batch + step
                if np.abs(step).max() < SMALLEST_STEP:
                    break
            weights[groups] = of_batch
        return weights


def newton_step(weights: Floats, x: Floats, target: Floats, inside: Mask, ridge: Floats) -> Floats:
    """(n_groups, n) Newton steps, each halved until its objective does not fall.

    x : (n_groups, n_observations, n), zero in padding. target, inside : (n_groups, n_observations).
    ridge : (n_groups,).
    """
    margin = _products(x, weights)
    proba = sigmoid(margin)
    slope = _products(x.swapaxes(1, 2), np.where(inside, target - proba, 0.0)) - ridge[:, None] * weights
    step = solve_ridge(x, np.maximum(proba * (1 - proba), LEAST_CURVATURE), ridge, slope)
    along = _products(x, step)

    def value(share: Floats) -> Floats:
        """(n_groups,) the objectives after a share of each step."""
        moved = margin + share[:, None] * along
        size = ((weights + share[:, None] * step) ** 2).sum(axis=1)
        return np.asarray(
            np.where(inside, target * moved - np.logaddexp(0.0, moved), 0.0).sum(axis=1) - ridge / 2 * size
        )

    share, now = np.ones(len(weights)), value(np.zeros(len(weights)))
    for _ in range(MAX_HALVINGS):
        # Rounding may lower a value that has arrived.
        worse = value(share) < now - 1e-12 * np.abs(now)
        if not worse.any():
            break
        share = np.where(worse, share / 2, share)
    return share[:, None] * step


def solve_ridge(x: Floats, curvature: Floats, ridge: Floats, right: Floats) -> Floats:
    """(Xᵀ S X + ridge)⁻¹ right for every group, by the smaller of the two equivalent systems.

    x : (n_groups, n_observations, n); curvature : (n_groups, n_observations), the diagonal of S; ridge : (n_groups,);
    right : (n_groups, n).
    """
    n_observations, n = x.shape[1:]
    if n_observations >= n:
        matrix = (x * curvature[..., None]).swapaxes(1, 2) @ x + ridge[:, None, None] * np.eye(n)
        return np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0])
    # Woodbury: (right − Xᵀ (ridge S⁻¹ + X Xᵀ)⁻¹ X right) / ridge
    matrix = x @ x.swapaxes(1, 2)
    matrix[:, np.arange(n_observations), np.arange(n_observations)] += ridge[:, None] / curvature
    inner: Floats = np.asarray(np.linalg.solve(matrix, _products(x, right)[..., None]), dtype=np.float64)[..., 0]
    return np.asarray((right - _products(x.swapaxes(1, 2), inner)) / ridge[:, None])


def _products(matrix: Floats, vector: Floats) -> Floats:
    """Matrix times vector, group by group."""
    return np.asarray((matrix @ vector[..., None])[..., 0])
