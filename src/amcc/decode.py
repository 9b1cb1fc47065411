"""From probabilities to label sets.

Every rule takes an (n_items, n_labels) array of probabilities and returns an indicator of the same shape. The labels of
an item count as independent given their probabilities. Then a more probable label is never the worse choice, so the
best set holds the k most probable labels for some k, and it is enough to compare n_labels + 1 sets. Among equally
probable labels the first is taken, among equally good sets the smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import isqrt
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from amcc.arrays import ROUNDING, Floats, Ints, Mask
from amcc.errors import ParameterError

Rule = Literal["threshold", "expected_f1", "expected_jaccard", "top_k"]

# Items decoded at a time: their intermediate results stay in the processor's cache.
ITEMS_PER_BLOCK = 512

# Labels below this probability are in no best set and cannot move an expected score.
NEGLIGIBLE = 1e-12


def threshold(proba: npt.ArrayLike, cut: float = 0.5) -> Mask:
    """Labels more probable than `cut`; the default, more likely present than absent, has the fewest wrong pairs.

    >>> threshold([[0.9, 0.5, 0.1]]).astype(int).tolist()
    [[1, 0, 0]]
    """
    if not 0 <= cut <= 1:
        raise ParameterError(f"cut must lie in [0, 1]; got {cut}.")
    return _checked(proba) > cut


def expected_f1(proba: npt.ArrayLike) -> Mask:
    """The sets with the best expected F1, which is 1 where both sets are empty, as in `amcc.metrics`.

    >>> expected_f1([[0.7, 0.4]]).astype(int).tolist()
    [[1, 1]]
    """
    return _most_probable(proba, lambda ranked: _best_size(ranked, _f1_of_sizes))


def expected_jaccard(proba: npt.ArrayLike) -> Mask:
    """The sets with the best expected Jaccard score, which is 1 where both sets are empty, as in `amcc.metrics`.

    >>> expected_jaccard([[0.7, 0.4]]).astype(int).tolist()
    [[1, 0]]
    """
    return _most_probable(proba, lambda ranked: _best_size(ranked, _jaccard_of_sizes))


def top_k(proba: npt.ArrayLike, k: int) -> Mask:
    """The `k` most probable labels of every item, all of them where there are no more than that.

    >>> top_k([[0.2, 0.1, 0.2]], 1).astype(int).tolist()
    [[1, 0, 0]]
    """
    _check_k(k)
    return _most_probable(proba, lambda ranked: np.full(len(ranked), k))


RULES: dict[Rule, Callable[..., Mask]] = {
    "threshold": threshold,
    "expected_f1": expected_f1,
    "expected_jaccard": expected_jaccard,
    "top_k": top_k,
}


def decode(proba: npt.ArrayLike, rule: Rule = "threshold", k: int | None = None) -> Mask:
    """Label sets by the rule of that name; `k` is for "top_k" only.

    >>> [decode([[0.7, 0.4]], *rule).astype(int).tolist() for rule in (["expected_f1"], ["top_k", 1])]
    [[[1, 1]], [[1, 0]]]
    """
    check_rule(rule, k)
    return RULES[rule](proba) if k is None else RULES[rule](proba, k)


def check_rule(rule: Rule, k: int | None) -> None:
    """Raise ParameterError unless this is a rule, with `k` if and only if it needs one."""
    if rule not in RULES:
        raise ParameterError(f"decode must be one of {', '.join(RULES)}; got {rule!r}.")
    if rule == "top_k":
        if k is None:
            raise ParameterError("decode='top_k' needs the number of labels per item: k=… (command line: --top-k N).")
        _check_k(k)
    elif k is not None:
        raise ParameterError(
            f"k is for decode='top_k' only; got k={k} with decode={rule!r}. Leave it out, or say decode='top_k' "
            f"(command line: --decode top_k --top-k {k})."
        )


# -- the best number of labels -------------------------------------------------------------------------------------


def _most_probable(proba: npt.ArrayLike, sizes: Callable[[Floats], Ints]) -> Mask:
    """The most probable labels of each item, as many as `sizes` says, given falling probabilities by item."""
    matrix = _checked(proba)
    chosen = np.zeros(matrix.shape, dtype=bool)
    for first in range(0, len(matrix), ITEMS_PER_BLOCK):
        block = slice(first, first + ITEMS_PER_BLOCK)
        order = np.argsort(-matrix[block], axis=1, kind="stable")
        size = sizes(np.take_along_axis(matrix[block], order, axis=1))
        np.put_along_axis(chosen[block], order, np.arange(matrix.shape[1]) < size[:, None], axis=1)
    return chosen


def _best_size(ranked: Floats, score_of_sizes: Callable[[Floats], Floats]) -> Ints:
    """(n_items,) how many of the ranked labels to take; none scores the probability that there are none."""
    possible = ranked[:, : np.count_nonzero(ranked > NEGLIGIBLE, axis=1).max()]
    scores = np.column_stack([np.prod(1 - possible, axis=1), score_of_sizes(possible)])
    # Expected scores that differ by less count as equal: rounding must not decide.
    good = scores >= scores.max(axis=1, keepdims=True) - ROUNDING
    return np.asarray(good.argmax(axis=1))


# S is a set, Y the truth. Both scores divide hits by a number of labels, and 1/c is the integral of x^(c − 1) over
# [0, 1]. So E[1 / (c + |Y|)] is the integral of x^(c − 1) · E x^|Y|, and E x^|Y| is the product of 1 − p + p·x over the
# labels: a polynomial, which Gauss-Legendre quadrature integrates exactly. One pass over the labels serves every k,
# while the distribution of |Y \ S| would have to be stored or found again for each.


def _jaccard_of_sizes(ranked: Floats) -> Floats:
    """(n_items, n_labels) expected Jaccard score of the 1, 2, … first labels: E|S ∩ Y| · E[1 / (|S| + |Y \\ S|)]."""
    n_labels = ranked.shape[1]
    x, weight = _quadrature(n_labels - 1)
    inverse = np.empty_like(ranked)
    beyond = np.tile(weight, (len(ranked), 1))  # weight · E x^|Y \ S|
    for label in reversed(range(n_labels)):
        inverse[:, label] = beyond @ x**label
        beyond *= 1 - ranked[:, [label]] * (1 - x)
    return np.cumsum(ranked, axis=1) * inverse


def _f1_of_sizes(ranked: Floats) -> Floats:
    """(n_items, n_labels) expected F1 of the 1, 2, … first labels: E[2 |S ∩ Y| / (|S| + |Y|)].

    A label that is present turns its own factor 1 − p + p·x into p·x, and the hits are a sum over such labels.
    """
    n_labels = ranked.shape[1]
    x, weight = _quadrature(2 * n_labels - 1)
    everything = np.tile(2 * weight, (len(ranked), 1))  # 2 · weight · E x^|Y|
    for label in range(n_labels):
        everything *= 1 - ranked[:, [label]] * (1 - x)
    scores = np.empty_like(ranked)
    hits = np.zeros_like(everything)  # 2 · weight · E[|S ∩ Y| x^|Y|]
    for label in range(n_labels):
        hits += everything * (ranked[:, [label]] * x / (1 - ranked[:, [label]] * (1 - x)))
        scores[:, label] = hits @ x**label
    return scores


@cache
def _quadrature(degree: int) -> tuple[Floats, Floats]:
    """Points and weights in [0, 1] that integrate polynomials with coefficients ≥ 0 up to rounding.

    degree / 2 + 1 points are exact. Fewer are enough for a high degree: of x^degree, Chebyshev polynomials of degree n
    hold a share that falls as exp(−n² / degree), which 3 √degree points (n twice as large) bring down to 1e-15.
    """
    n_points = max(1, min(degree // 2 + 1, 3 * isqrt(max(degree, 0)) + 6))
    x, weight = np.polynomial.legendre.leggauss(n_points)
    return (1 + x) / 2, weight / 2


# -- checks --------------------------------------------------------------------------------------------------------


def _checked(proba: npt.ArrayLike) -> Floats:
    """Probabilities as a matrix; ParameterError names the first cell that holds none."""
    matrix = np.asarray(proba, dtype=np.float64)
    if matrix.ndim != 2:
        raise ParameterError(f"probabilities must have the shape (n_items, n_labels); got {matrix.shape}.")
    within = (matrix >= 0) & (matrix <= 1)  # NaN is not
    if not within.all():
        row, column = np.argwhere(~within)[0]
        raise ParameterError(
            f"probabilities must lie in [0, 1]; row {row}, column {column} holds {matrix[row, column]} "
            f"({np.count_nonzero(~within)} such cells)."
        )
    return matrix


def _check_k(k: Any) -> None:
    """Raise ParameterError unless k is a number of labels."""
    if not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"k must be a whole number of at least 1; got {k!r} (command line: --top-k).")
