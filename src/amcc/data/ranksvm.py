"""RankSVM: labels of an item ranked so that those present come first, and a threshold learned beside it.

Scores are linear. Each pair of a present and an absent label should be ranked right with a margin of 1; what is
missing to it is squared, averaged over the pairs of an item and summed over the items (`objective`). The items' best
thresholds (`best_thresholds`) are then regressed on the scores. After Elisseeff and Weston (2002), here with a squared
loss and solved directly for the weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from amcc.arrays import Floats, Mask
from amcc.errors import EmptyInputError, InputError, NotFittedError, ParameterError


class RankSVM:
    """Rank labels by linear scores, and cut the ranking by a threshold that depends on the scores.

    Objective:  ½ · |weights|² + ½ · bias_penalty · |bias|² + C · Σ_items mean_pairs max(0, 1 − score gap)²

    Parameters
    ----------
    C : float, default 0.1. Weight of the errors; a large one fits the training items closely.
    bias_penalty : float, default 1e-3. Weight of the squared biases: small, since a label's frequency is no complexity.
    max_iter : int, default 100. Steps of L-BFGS at most.
    fit_bias : bool, default True. Whether scores may have a constant part.

    Attributes
    ----------
    weights_ : (n_features, n_labels); bias_ : (n_labels,)
    threshold_weights_ : (n_labels + 1,) threshold = scores · the first n_labels + the last.

    Notes
    -----
    Features should be of similar scale. Items with no or all labels rank nothing and are left out of the training.
    One step costs n_items · n_labels · (n_features + n_labels).

    Examples
    --------
    >>> model = RankSVM(C=1.0, fit_bias=False).fit([[1.0]], [[True, False]])
    >>> model.weights_.round(3).tolist()
    [[0.4, -0.4]]
    """

    def __init__(
        self,
        C: float = 0.1,  # noqa: N803 - the name that everybody knows
        bias_penalty: float = 1e-3,
        max_iter: int = 100,
        fit_bias: bool = True,
    ) -> None:
        self.C = C
        self.bias_penalty = bias_penalty
        self.max_iter = max_iter
        self.fit_bias = fit_bias

    def fit(self, X: npt.ArrayLike, Y: npt.ArrayLike) -> RankSVM:  # noqa: N803
        """Learn from features X, (n_items, n_features), and labels Y, (n_items, n_labels) true or false."""
        from scipy.optimize import minimize

        self._check_params()
        features, present = _training_items(X, Y)
        n_features, n_labels = features.shape[1], present.shape[1]
        # The bias is the weight of a feature that is always 1, with a penalty of its own.
        if self.fit_bias:
            features = np.column_stack([features, np.ones(len(features))])
        pairs = pair_weights(present, self.C)
        penalty = np.ones((features.shape[1], 1))
        penalty[n_features:] = self.bias_penalty

        def loss(flat: Floats) -> tuple[float, Floats]:
            value, gradient = objective(flat.reshape(-1, n_labels), features, pairs, penalty)
            return value, gradient.ravel()

        # The objective is convex and smooth, as errors are squared: L-BFGS finds its one minimum from any start.
        start = np.zeros(features.shape[1] * n_labels)
        found: Any = minimize(loss, start, method="L-BFGS-B", jac=True, options={"maxiter": self.max_iter})
        weights = found.x.reshape(-1, n_labels)
        self.weights_: Floats = weights[:n_features]
        self.bias_: Floats = weights[n_features] if self.fit_bias else np.zeros(n_labels)
        scores = features @ weights
        # How high an item's scores are differs from item to item, so the cut is learned from all of them.
        cut, *_ = np.linalg.lstsq(_with_one(scores), best_thresholds(scores, present), rcond=None)
        self.threshold_weights_: Floats = cut.astype(np.float64)
        return self

    def scores(self, X: npt.ArrayLike) -> Floats:  # noqa: N803
        """(n_items, n_labels): the higher, the more relevant the label is to the item."""
        if not hasattr(self, "weights_"):
            raise NotFittedError("RankSVM must be fitted before it can score items. Call fit(X, Y) first.")
        features = np.asarray(X, dtype=np.float64)
        if features.ndim != 2 or features.shape[1] != len(self.weights_):
            raise InputError(
                f"X must have {len(self.weights_)} columns as in training; got the shape {features.shape}."
            )
        return np.asarray(features @ self.weights_ + self.bias_)

    def predict(self, X: npt.ArrayLike) -> Mask:  # noqa: N803
        """(n_items, n_labels) bool: labels with a score above the item's threshold; there may be none."""
        scores = self.scores(X)
        return np.asarray(scores > (_with_one(scores) @ self.threshold_weights_)[:, None])

    def _check_params(self) -> None:
        for name, value in (("C", self.C), ("bias_penalty", self.bias_penalty), ("max_iter", self.max_iter)):
            if not 0 < value < np.inf:
                raise ParameterError(f"{name} must be above 0 and finite; got {value!r}.")


def objective(weights: Floats, features: Floats, pair_weight: Floats, penalty: Floats) -> tuple[float, Floats]:
    """Value and gradient of RankSVM's objective with squared errors.

    weights : (n_features, n_labels); features : (n_items, n_features); pair_weight : of `pair_weights`;
    penalty : (n_features, 1).
    """
    # Items last, so that the sums over labels run through memory in order.
    scores = (features @ weights).T
    shortfall = np.maximum(1 - (scores[:, None] - scores[None, :]), 0)
    pull = pair_weight * shortfall
    # A pair pulls its present label up and its absent one down by twice its weighted shortfall, the derivative of
    # the square; pairs that have their margin do not pull.
    by_score = 2 * (pull.sum(axis=0) - pull.sum(axis=1))
    value = 0.5 * (penalty * weights**2).sum() + np.vdot(pull, shortfall)
    return float(value), penalty * weights + (by_score @ features).T


def pair_weights(present: Mask, error_weight: float) -> Floats:
    """(n_labels, n_labels, n_items): weight of the error that the first label, present, is not above the second.

    present : (n_items, n_labels), some but not all labels of each item. The pairs of an item share `error_weight`.
    """
    n_present = present.sum(axis=1)
    is_pair = present.T[:, None] & ~present.T[None, :]
    return np.asarray(is_pair * (error_weight / (n_present * (present.shape[1] - n_present))))


def best_thresholds(scores: Floats, present: Mask) -> Floats:
    """(n_items,) the first midpoint between neighbouring scores with the fewest labels on the wrong side.

    >>> best_thresholds(np.array([[3.0, 1.0, 2.0]]), np.array([[True, False, True]]))
    array([1.5])
    """
    # Between two neighbours all cuts are equal, so the middle stands for them.
    ordered = np.sort(scores, axis=1)
    middle = (ordered[:, 1:] + ordered[:, :-1]) / 2
    label, cut = scores[:, :, None], middle[:, None, :]
    n_wrong = np.where(present[:, :, None], label <= cut, label >= cut).sum(axis=1)
    return np.asarray(middle[np.arange(len(middle)), n_wrong.argmin(axis=1)])


def _training_items(X: npt.ArrayLike, Y: npt.ArrayLike) -> tuple[Floats, Mask]:  # noqa: N803
    """Features and labels of the items that rank something."""
    features, present = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=bool)
    if features.ndim != 2 or present.ndim != 2 or len(features) != len(present):
        raise InputError(
            f"X and Y must be tables with one row per item; got the shapes {features.shape} and {present.shape}."
        )
    if not np.isfinite(features).all():
        raise InputError("X must be finite numbers; there are others in it.")
    ranks = present.any(axis=1) & ~present.all(axis=1)
    if not ranks.any():
        raise EmptyInputError("some item must have a label and lack another; none of these does.")
    return features[ranks], present[ranks]


def _with_one(scores: Floats) -> Floats:
    """Scores with a column of ones, for the constant part of a threshold."""
    return np.column_stack([scores, np.ones(len(scores))])
