"""How well consensus sets and scores match a truth that may be known only in part.

Every function takes (n_items, n_labels) arrays: `truth` and `predicted` are bool, `scores` are floats, and
`known` marks the pairs whose truth is known (None means all). Unknown pairs enter no count, an item without a
known pair enters no average, and an average over nothing is NaN.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from amcc.arrays import Floats, Ints, Mask
from amcc.errors import ParameterError

Scores = NDArray[np.floating[Any]]  # of whatever width: a model may give 32 bits

# What a tied pair costs in `ranking_loss`, by name of the rule. Papers differ, so the rule must be named.
TIE_COST = {"error": 1.0, "half": 0.5, "free": 0.0}

# Rules for ties at the top (`one_error`), and for items without a predicted label (`precision`).
TOP_TIE_RULES = ("expected", "any", "first")
EMPTY_RULES = ("skip", 0, 1)

# Probabilities nearer to 0 or 1 count as this far away: one pair that was called impossible must not decide a mean.
NEVER = 1e-4

# Bins of a reliability curve, unless asked otherwise: usual in the literature, so that numbers can be compared.
N_BINS = 15


@dataclass(frozen=True)
class ItemScores:
    """Set metrics of each item, all (n_items,); NaN where a metric is undefined or nothing is known."""

    precision: Floats
    recall: Floats
    jaccard: Floats
    f1: Floats
    hamming: Floats
    subset: Floats
    n_known: Ints


@dataclass(frozen=True)
class LabelScores:
    """Metrics of each label over the items where it is known, all (n_labels,); NaN where undefined."""

    precision: Floats
    recall: Floats
    f1: Floats
    support: Ints
    n_known: Ints


@dataclass(frozen=True)
class ReliabilityCurve:
    """Promised against observed frequency, all (n_filled_bins,), in order of rising score."""

    mean_predicted: Floats
    observed_share: Floats
    count: Ints


# --- set metrics --------------------------------------------------------------------------------------------


def item_scores(truth: Mask, predicted: Mask, known: Mask | None = None) -> ItemScores:
    """Set metrics item by item.

    Precision needs a predicted label and recall a true one; Jaccard and F1 are 1 if both sets are empty.
    """
    counts = _count_pairs(truth, predicted, known, axis=1)
    return ItemScores(
        precision=_ratio(counts.n_hits, counts.n_predicted),
        recall=_ratio(counts.n_hits, counts.n_true),
        jaccard=counts.where_known(_ratio(counts.n_hits, counts.n_union, if_empty=1.0)),
        f1=counts.where_known(_ratio(2 * counts.n_hits, counts.n_true + counts.n_predicted, if_empty=1.0)),
        hamming=_ratio(counts.n_known - counts.n_wrong, counts.n_known),
        subset=counts.where_known((counts.n_wrong == 0).astype(np.float64)),
        n_known=counts.n_known,
    )


def label_scores(truth: Mask, predicted: Mask, known: Mask | None = None) -> LabelScores:
    """Metrics label by label; F1 is undefined for a label that is neither true nor predicted anywhere."""
    counts = _count_pairs(truth, predicted, known, axis=0)
    return LabelScores(
        precision=_ratio(counts.n_hits, counts.n_predicted),
        recall=_ratio(counts.n_hits, counts.n_true),
        f1=_ratio(2 * counts.n_hits, counts.n_true + counts.n_predicted),
        support=counts.n_true,
        n_known=counts.n_known,
    )


def precision(
    truth: Mask, predicted: Mask, known: Mask | None = None, *, empty: Literal["skip", 0, 1] = "skip"
) -> float:
    """Mean share of predicted labels that are true: what the paper prints as accuracy.

    `empty` says what an item without a predicted label scores: it is left out ("skip"), or counts as 0 or 1.
    """
    _check_choice("empty", empty, EMPTY_RULES)
    per_item = item_scores(truth, predicted, known)
    if empty == "skip":
        return _mean_defined(per_item.precision)
    filled = np.where(np.isnan(per_item.precision), float(empty), per_item.precision)
    return _mean_defined(filled[per_item.n_known > 0])


def recall(truth: Mask, predicted: Mask, known: Mask | None = None) -> float:
    """Mean share of true labels that are predicted, over items with a true label."""
    return _mean_defined(item_scores(truth, predicted, known).recall)


def jaccard(truth: Mask, predicted: Mask, known: Mask | None = None) -> float:
    """Mean size of the intersection over that of the union; two empty sets score 1.

    >>> jaccard(np.array([[True, True, False]]), np.array([[True, False, False]]))
    0.5
    """
    return _mean_defined(item_scores(truth, predicted, known).jaccard)


def f1(truth: Mask, predicted: Mask, known: Mask | None = None) -> float:
    """Mean harmonic mean of an item's precision and recall; two empty sets score 1."""
    return _mean_defined(item_scores(truth, predicted, known).f1)


def hamming(truth: Mask, predicted: Mask, known: Mask | None = None) -> float:
    """Share of an item's known labels that are right, averaged over items."""
    return _mean_defined(item_scores(truth, predicted, known).hamming)


def subset(truth: Mask, predicted: Mask, known: Mask | None = None) -> float:
    """Share of items with every known label right.

    >>> subset(np.array([[True, False], [True, True]]), np.array([[True, False], [True, False]]))
    0.5
    """
    return _mean_defined(item_scores(truth, predicted, known).subset)


# --- ranking metrics ----------------------------------------------------------------------------------------


def ranking_loss(
    truth: Mask, scores: Scores, known: Mask | None = None, *, ties: Literal["error", "half", "free"] = "error"
) -> float:
    """Mean share of (true, false) label pairs in which the true label does not score higher.

    A tied pair costs 1 ("error"), 1/2 ("half") or nothing ("free"). Items without both a true and a false
    known label have no such pair and are left out.

    >>> truth, scores = np.array([[True, False, False]]), np.array([[0.5, 0.5, 0.2]])
    >>> ranking_loss(truth, scores), ranking_loss(truth, scores, ties="half")
    (0.5, 0.25)
    """
    _check_choice("ties", ties, TIE_COST)
    is_true, is_false, scores = _rankable_items(truth, scores, known)
    return _mean_defined(_item_ranking_loss(is_true, is_false, scores, TIE_COST[ties]))


def one_error(
    truth: Mask, scores: Scores, known: Mask | None = None, *, ties: Literal["expected", "any", "first"] = "expected"
) -> float:
    """Share of items whose top-scored label is false.

    Labels tied at the top give the share of them that is false ("expected", as if one were drawn), count as
    right if one of them is true ("any"), or leave the lowest label code to decide ("first"). Items without
    both a true and a false known label are left out.
    """
    _check_choice("ties", ties, TOP_TIE_RULES)
    is_true, is_false, scores = _rankable_items(truth, scores, known)
    if len(scores) == 0:  # a maximum over no row is an error
        return np.nan
    # Unknown labels may have any score, also NaN: they are never at the top.
    is_known = is_true | is_false
    is_top = is_known & (scores == scores.max(axis=1, keepdims=True, where=is_known, initial=-np.inf))
    if ties == "expected":
        right = _ratio(np.count_nonzero(is_top & is_true, axis=1), np.count_nonzero(is_top, axis=1))
    elif ties == "any":
        right = (is_top & is_true).any(axis=1).astype(np.float64)
    else:
        right = is_true[np.arange(len(is_top)), is_top.argmax(axis=1)].astype(np.float64)
    return 1.0 - _mean_defined(right)


# --- calibration --------------------------------------------------------------------------------------------


def reliability_curve(
    truth: Mask, scores: Scores, known: Mask | None = None, *, n_bins: int = N_BINS
) -> ReliabilityCurve:
    """Mean score and share of true pairs in `n_bins` equal-width bins over [0, 1], without empty bins."""
    if n_bins < 1:
        raise ParameterError(f"n_bins must be at least 1; got {n_bins}.")
    is_true, probability = _calibration_pairs(truth, scores, known)
    bin_of_pair = calibration_bin(probability, n_bins)
    count = np.bincount(bin_of_pair, minlength=n_bins)
    filled = count > 0
    return ReliabilityCurve(
        mean_predicted=np.bincount(bin_of_pair, probability, n_bins)[filled] / count[filled],
        observed_share=np.bincount(bin_of_pair, is_true, n_bins)[filled] / count[filled],
        count=count[filled],
    )


def calibration_bin(probability: Floats, n_bins: int = N_BINS) -> Ints:
    """(n_pairs,) the bin of each probability, of equal width; the last is closed on the right, so that 1 has a bin.

    >>> calibration_bin(np.array([0.0, 0.1, 1.0]), 10).tolist()
    [0, 1, 9]
    """
    return np.minimum((probability * n_bins).astype(np.int64), n_bins - 1)


def expected_calibration_error(
    truth: Mask, scores: Scores, known: Mask | None = None, *, n_bins: int = N_BINS
) -> float:
    """Gap between promised and observed frequency, averaged over known pairs bin by bin."""
    curve = reliability_curve(truth, scores, known, n_bins=n_bins)
    if curve.count.size == 0:
        return np.nan
    return float(np.average(np.abs(curve.mean_predicted - curve.observed_share), weights=curve.count))


def brier(truth: Mask, scores: Scores, known: Mask | None = None) -> float:
    """Mean squared distance between score and truth over known pairs.

    >>> round(brier(np.array([[True, False]]), np.array([[0.9, 0.3]])), 3)
    0.05
    """
    is_true, probability = _calibration_pairs(truth, scores, known)
    return _mean_defined((probability - is_true) ** 2)


def log_loss(truth: Mask, scores: Scores, known: Mask | None = None) -> float:
    """Mean of −log of the probability that was given to what is true, over known pairs.

    It punishes false certainty: .9 for something absent costs 2.3, .999 costs 6.9.
    """
    is_true, probability = _calibration_pairs(truth, scores, known)
    probability = np.clip(probability, NEVER, 1 - NEVER)
    return _mean_defined(-np.log(np.where(is_true, probability, 1 - probability)))


# --- trust --------------------------------------------------------------------------------------------------


def claimed_error(predicted: Mask, scores: Scores, known: Mask | None = None) -> float:
    """Mean probability that a decision is wrong, as the scores themselves say: 1 − score of what is called present.

    >>> round(claimed_error(np.array([[True, False]]), np.array([[0.9, 0.3]])), 2)
    0.2
    """
    is_predicted, probability = _calibration_pairs(predicted, scores, known)
    return _mean_defined(np.where(is_predicted, 1 - probability, probability))


def error(truth: Mask, predicted: Mask, known: Mask | None = None) -> float:
    """Share of the known pairs that are decided wrongly; every pair counts alike, whichever item it is of."""
    is_known = _known_pairs(truth, known)
    _check_like_truth("predicted", predicted, np.bool_, truth.shape)
    return _mean_defined((truth != predicted)[is_known].astype(np.float64))


# --- soft truth ---------------------------------------------------------------------------------------------


def manhattan(share: Scores, predicted: Scores, known: Mask | None = None) -> float:
    """Mean distance |predicted − share| over known pairs; `share` is the part of people who say yes.

    Half the Manhattan distance between (yes, no) and (yes, no), which LeWiDi 2025 averages over labels and items.

    >>> manhattan(np.array([[0.75, 0.0]]), np.array([[0.5, 0.25]]))
    0.25
    """
    wanted, given = _soft_pairs(share, predicted, known)
    return _mean_defined(np.abs(given - wanted))


def cross_entropy(share: Scores, predicted: Scores, known: Mask | None = None) -> float:
    """Mean of −share · log predicted − (1 − share) · log (1 − predicted) over known pairs; `NEVER` is as in `log_loss`.

    It is least, and equal to the entropy of the share, where the two are the same.

    >>> share = np.array([[0.25]])
    >>> [round(cross_entropy(share, np.array([[predicted]])), 3) for predicted in (0.1, 0.25, 0.5)]
    [0.655, 0.562, 0.693]
    """
    wanted, given = _soft_pairs(share, predicted, known)
    given = np.clip(given, NEVER, 1 - NEVER)
    return _mean_defined(-wanted * np.log(given) - (1 - wanted) * np.log1p(-given))


# --- everything at once -------------------------------------------------------------------------------------


def evaluate(truth: Mask, predicted: Mask, scores: Scores, known: Mask | None = None) -> dict[str, float]:
    """All metrics under their default rules; higher is better except for `ece`, `brier` and `log_loss`.

    `scores` must be probabilities. A metric that no item or pair defines is NaN.
    """
    per_item = item_scores(truth, predicted, known)
    return {
        "jaccard": _mean_defined(per_item.jaccard),
        "precision": _mean_defined(per_item.precision),
        "recall": _mean_defined(per_item.recall),
        "f1": _mean_defined(per_item.f1),
        "hamming": _mean_defined(per_item.hamming),
        "subset": _mean_defined(per_item.subset),
        "one_minus_rl": 1.0 - ranking_loss(truth, scores, known),
        "one_minus_oe": 1.0 - one_error(truth, scores, known),
        "ece": expected_calibration_error(truth, scores, known),
        "brier": brier(truth, scores, known),
        "log_loss": log_loss(truth, scores, known),
    }


# --- shared arithmetic --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PairCounts:
    """Numbers of known pairs per item or per label, from which every set metric follows."""

    n_hits: Ints
    n_true: Ints
    n_predicted: Ints
    n_known: Ints

    @property
    def n_union(self) -> Ints:
        """Pairs that are true or predicted."""
        return self.n_true + self.n_predicted - self.n_hits

    @property
    def n_wrong(self) -> Ints:
        """Pairs that are true or predicted, but not both."""
        return self.n_union - self.n_hits

    def where_known(self, values: Floats) -> Floats:
        """`values`, with NaN where no pair is known."""
        return np.where(self.n_known > 0, values, np.nan)


def _count_pairs(truth: Mask, predicted: Mask, known: Mask | None, axis: Literal[0, 1]) -> _PairCounts:
    """Sum the known pairs over items (axis 0) or over labels (axis 1)."""
    is_known = _known_pairs(truth, known)
    _check_like_truth("predicted", predicted, np.bool_, truth.shape)
    is_true, is_predicted = truth & is_known, predicted & is_known
    return _PairCounts(
        n_hits=np.count_nonzero(is_true & is_predicted, axis=axis),
        n_true=np.count_nonzero(is_true, axis=axis),
        n_predicted=np.count_nonzero(is_predicted, axis=axis),
        n_known=np.count_nonzero(is_known, axis=axis),
    )


def _item_ranking_loss(is_true: Mask, is_false: Mask, scores: Scores, tie_cost: float) -> Floats:
    """Ranking loss of each item, (n_items,), in O(n_labels log n_labels) per item.

    With labels sorted by falling score, equal scores form a run, and a true label loses to the false labels
    of all earlier runs and ties with those of its own. Unknown labels are neither, so they count nowhere;
    their scores may be NaN, which sorts last.
    """
    # All items at once: runs of equal scores are found in the flattened table, where each row begins a new run.
    order = np.argsort(-scores, axis=1)
    ranked_scores = np.take_along_axis(scores, order, axis=1)
    ranked_true = np.take_along_axis(is_true, order, axis=1).astype(np.int64)
    ranked_false = np.take_along_axis(is_false, order, axis=1).astype(np.int64)
    starts_run = np.ones(scores.shape, dtype=np.bool_)
    starts_run[:, 1:] = ranked_scores[:, 1:] != ranked_scores[:, :-1]
    run_start = np.flatnonzero(starts_run)
    n_false_above = (np.cumsum(ranked_false, axis=1) - ranked_false).ravel()[run_start]
    n_true_in_run = np.add.reduceat(ranked_true.ravel(), run_start)
    n_false_in_run = np.add.reduceat(ranked_false.ravel(), run_start)
    # In a run every true label loses to all false labels above, and ties with those beside it.
    run_cost = n_true_in_run * (n_false_above + tie_cost * n_false_in_run)
    item_cost = np.bincount(run_start // scores.shape[1], run_cost, minlength=len(scores))
    n_comparisons = np.count_nonzero(is_true, axis=1) * np.count_nonzero(is_false, axis=1)
    return np.asarray(item_cost / n_comparisons)


def _ratio(numerator: Ints, denominator: Ints, if_empty: float = np.nan) -> Floats:
    """Elementwise quotient, `if_empty` where the denominator is zero."""
    quotient = np.full(denominator.shape, if_empty)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient


def _mean_defined(values: Floats) -> float:
    """Mean of the values that are not NaN; NaN, without a warning, if there are none."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else np.nan


# --- checks -------------------------------------------------------------------------------------------------


def _known_pairs(truth: Mask, known: Mask | None) -> Mask:
    """Mask of known pairs, after checking `truth` and `known`."""
    if truth.ndim != 2 or truth.dtype != np.bool_:
        raise ParameterError(
            f"truth must be a bool array of shape (n_items, n_labels); got {truth.dtype} of shape {truth.shape}."
        )
    if known is None:
        return np.ones(truth.shape, dtype=np.bool_)
    _check_like_truth("known", known, np.bool_, truth.shape)
    return known


def _rankable_items(truth: Mask, scores: Scores, known: Mask | None) -> tuple[Mask, Mask, Scores]:
    """True mask, false mask and scores of the items with a true and a false known label."""
    is_known = _known_pairs(truth, known)
    _check_scores(scores, is_known)
    is_true, is_false = truth & is_known, ~truth & is_known
    rankable = is_true.any(axis=1) & is_false.any(axis=1)
    return is_true[rankable], is_false[rankable], scores[rankable]


def _calibration_pairs(truth: Mask, scores: Scores, known: Mask | None) -> tuple[Mask, Floats]:
    """Truth and probability of the known pairs, both (n_known_pairs,)."""
    is_known = _known_pairs(truth, known)
    _check_scores(scores, is_known)
    _check_pairs(is_known & ((scores < 0) | (scores > 1)), scores, "lie in [0, 1] for calibration")
    return truth[is_known], scores[is_known].astype(np.float64)


def _soft_pairs(share: Scores, predicted: Scores, known: Mask | None) -> tuple[Floats, Floats]:
    """Share and prediction of the known pairs, both (n_known_pairs,)."""
    if share.ndim != 2 or not np.issubdtype(share.dtype, np.floating):
        raise ParameterError(
            f"share must be a float array of shape (n_items, n_labels); got {share.dtype} of shape {share.shape}."
        )
    is_known = _known_pairs(np.zeros(share.shape, dtype=np.bool_), known)  # a truth of this shape, for its checks
    for name, values in (("share", share), ("predicted", predicted)):
        _check_like_truth(name, values, np.floating, share.shape)
        _check_pairs(is_known & ~((values >= 0) & (values <= 1)), values, "lie in [0, 1]", name)
    return share[is_known].astype(np.float64), predicted[is_known].astype(np.float64)


def _check_scores(scores: Scores, is_known: Mask) -> None:
    """Raise ParameterError unless scores are floats of truth's shape, and numbers where truth is known."""
    _check_like_truth("scores", scores, np.floating, is_known.shape)
    _check_pairs(is_known & np.isnan(scores), scores, "be numbers at every known pair")


def _check_like_truth(name: str, array: NDArray[Any], kind: type[np.generic], shape: tuple[int, ...]) -> None:
    """Raise ParameterError unless an array is of this kind and of truth's shape."""
    if array.shape != shape or not np.issubdtype(array.dtype, kind):
        wanted = "bool" if kind is np.bool_ else "float"
        raise ParameterError(
            f"{name} must be a {wanted} array of truth's shape {shape}; got {array.dtype} of shape {array.shape}."
        )


def _check_pairs(wrong: Mask, scores: Scores, requirement: str, name: str = "scores") -> None:
    """Raise ParameterError with the first wrong pair, if there is one."""
    if wrong.any():
        item, label = np.argwhere(wrong)[0]
        raise ParameterError(
            f"{name} must {requirement}; got {scores[item, label]} at item {item}, label {label} "
            f"({np.count_nonzero(wrong)} such pairs)."
        )


def _check_choice(name: str, value: object, allowed: Collection[object]) -> None:
    """Raise ParameterError unless the value is one of those allowed."""
    if value not in allowed:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
