"""Krippendorff's alpha between workers, label by label and on whole label sets.

Alpha is 1 - observed / expected disagreement: 1 is perfect agreement, 0 what chance would give. Observed
disagreement compares answers to the same item, expected disagreement compares all answers. Only an item with
at least two answers can show disagreement, so the others are left out. If all compared answers are alike, no
disagreement is expected; alpha is then set to 1, because there is none to see either.

Intervals are 95 % percentile bootstraps over items. What an item contributes never changes, so a replicate
only gives each item a new weight. Copies of one item count as different items there, which lowers the
disagreement expected by chance: with few items the interval lies too low and may even miss the estimate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from amcc.arrays import Codes, Floats, Ints, Mask

Value = TypeVar("Value", float, Floats)

# Quantiles of the replicates: the interval holds 95 % of them, as everywhere.
INTERVAL = (0.025, 0.975)

# Rows of the matrix of distances that are computed at once: their intermediate results stay in the processor's cache.
ROWS_PER_BLOCK = 64

# Labels whose replicates are drawn at once: a few MB.
LABELS_PER_BLOCK = 64

# Replicates of a bootstrap, unless asked otherwise: 5 of 200 lie beyond each end of the interval.
N_BOOT = 200


@dataclass(frozen=True)
class Agreement(Generic[Value]):
    """Alpha with its bootstrap interval: numbers, or one entry per label; NaN where not defined.

    `n_items_used` counts the items that had answers to compare and were not left out to save work.
    """

    alpha: Value
    low: Value
    high: Value
    n_items_used: int


# --- one label at a time ------------------------------------------------------------------------------------


def nominal_alpha_per_label(
    pair_item: Ints,
    pair_label: Ints,
    n_yes: Ints,
    n_asked: Ints,
    n_labels: int,
    *,
    rng: np.random.Generator,
    n_boot: int = N_BOOT,
) -> Agreement[Floats]:
    """Alpha of the yes/no votes on each label.

    Parameters
    ----------
    pair_item, pair_label, n_yes, n_asked : (n_pairs,) int
        One entry per asked (item, label) pair: its codes, its yes votes and all its votes.
    n_boot : int
        Replicates per label, each of as many items as the label has with two votes or more.

    Returns
    -------
    Agreement of (n_labels,) arrays. A label that no item has two votes on gets NaN, one whose votes are all
    equal gets 1.
    """
    pairable = np.flatnonzero(n_asked >= 2)  # one vote has nothing to disagree with
    # Items with the same votes are interchangeable, so a replicate only needs how many of each kind it holds.
    base = int(n_asked.max(initial=0)) + 1
    key = (pair_label[pairable].astype(np.int64) * base + n_asked[pairable]) * base + n_yes[pairable]
    kind, n_items = np.unique(key, return_counts=True)
    label, kind_asked, kind_yes = kind // base**2, kind // base % base, kind % base
    alpha, low, high = np.full((3, n_labels), np.nan)
    described = np.unique(label)
    for start in range(0, len(described), LABELS_PER_BLOCK):
        block = described[start : start + LABELS_PER_BLOCK]
        cells = slice(*np.searchsorted(label, [block[0], block[-1] + 1]))
        of_block = _nominal_alphas(label[cells], n_items[cells], kind_asked[cells], kind_yes[cells], rng, n_boot)
        alpha[block] = of_block[:, 0]
        if n_boot:
            low[block], high[block] = np.quantile(of_block[:, 1:], INTERVAL, axis=1)
    return Agreement(alpha, low, high, n_items_used=len(np.unique(pair_item[pairable])))


def _nominal_alphas(
    label: Ints, n_items: Ints, n_asked: Ints, n_yes: Ints, rng: np.random.Generator, n_boot: int
) -> Floats:
    """(n_labels, 1 + n_boot) alpha of the data and of each replicate, from the kinds of votes on items, by label."""
    row = np.cumsum(np.diff(label, prepend=label[0]) != 0)
    n_kinds = np.bincount(row)
    # Kinds stand at the end of their row: a row with kinds that never occur before them draws the same numbers.
    column = np.arange(len(row)) - np.cumsum(n_kinds)[row] + n_kinds.max()

    def by_row(values: Ints | Floats) -> Floats:
        table = np.zeros((len(n_kinds), n_kinds.max()))
        table[row, column] = values
        return table

    weight = by_row(n_items)
    total = weight.sum(axis=1, keepdims=True)
    drawn = rng.multinomial(total.astype(np.int64), (weight / total)[:, None], size=(len(total), n_boot))
    weights = np.concatenate([weight[:, None], drawn], axis=1)

    def summed(values: Ints | Floats) -> Floats:
        return np.asarray((weights @ by_row(values)[:, :, None])[:, :, 0])

    # Of n votes on an item, y of them yes, 2 y (n − y) ordered pairs differ; each vote is compared with n − 1 others.
    n_votes = summed(n_asked)
    observed = summed(2 * n_yes * (n_asked - n_yes) / (n_asked - 1)) / n_votes
    expected = 2 * summed(n_yes) * summed(n_asked - n_yes) / (n_votes * (n_votes - 1))
    return _alpha(observed, expected)


# --- whole label sets ---------------------------------------------------------------------------------------


def masi_alpha(
    answer_item: Ints,
    yes: Mask,
    asked: Mask,
    *,
    rng: np.random.Generator,
    n_boot: int = N_BOOT,
    max_patterns: int = 3_000,
    max_answers: int = 50_000,
) -> Agreement[float]:
    """Alpha of label sets under the MASI distance.

    Two answers are compared on the labels both were asked about; without such a label they enter neither the
    observed nor the expected disagreement. An answer that was asked nothing is no answer.

    Parameters
    ----------
    answer_item : (n_answers,) int
        Item code of each answer.
    yes, asked : (n_answers, n_labels) bool
        Labels that an answer affirms, and labels it was asked about.
    max_patterns, max_answers : int
        With more distinct (yes, asked) patterns or more answers than this, whole items are drawn with `rng`
        until the next one would pass a limit. NaN results if the first one does.
    """
    answer, item = _shuffle_items(answer_item, asked, rng)
    n_used = _end_of_whole_items(item, max_answers)
    answer, item = answer[:n_used], item[:n_used]
    asked = asked[answer]
    yes = yes[answer] & asked
    pattern, first_seen = _number_patterns(np.hstack([yes, asked]))
    if len(first_seen) > max_patterns:
        n_used = _end_of_whole_items(item, first_seen[max_patterns])
        item, pattern, first_seen = item[:n_used], pattern[:n_used], first_seen[first_seen < n_used]
    if n_used == 0:
        return Agreement(np.nan, np.nan, np.nan, n_items_used=0)
    distance, comparable = masi_distances(yes[first_seen], asked[first_seen])
    alpha = _set_alpha(item, pattern, distance, comparable, rng, n_boot)
    return Agreement(*_estimate_and_interval(alpha), n_items_used=int(item[-1]) + 1)


def masi_distances(yes: Mask, asked: Mask) -> tuple[Floats, Mask]:
    """MASI distance between any two answers, and whether some label was asked of both.

    The distance is 1 - Jaccard * monotonicity, where monotonicity is 1 for equal sets, 2/3 if one contains
    the other, 1/3 if they only overlap and 0 if they are disjoint. Two empty sets are equal; answers that
    cannot be compared have distance 0.

    yes, asked : (n, n_labels), yes only where asked. Returns two (n, n) arrays.
    """
    affirmed, judged = _pack_words(yes), _pack_words(asked)
    distance = np.empty((len(yes), len(yes)))
    comparable = np.empty(distance.shape, dtype=np.bool_)
    for start in range(0, len(yes), ROWS_PER_BLOCK):
        rows = slice(start, start + ROWS_PER_BLOCK)
        n_shared = _count_shared(affirmed[rows], affirmed)
        size, other_size = _count_shared(affirmed[rows], judged), _count_shared(judged[rows], affirmed)
        n_union = size + other_size - n_shared
        jaccard = np.divide(n_shared, n_union, out=np.ones(size.shape), where=n_union > 0)
        # Disjoint sets need no case of their own: their Jaccard is 0 already.
        n_thirds = np.int8(1) + (n_shared == np.minimum(size, other_size)) + (n_shared == n_union)
        distance[rows] = 1 - jaccard * n_thirds / 3
        comparable[rows] = _count_shared(judged[rows], judged) > 0
    return distance, comparable


def _pack_words(sets: Mask) -> NDArray[np.uint64]:
    """Label sets as bits, 64 labels to a word: (n, n_labels) becomes (n, n_words)."""
    packed = np.packbits(sets, axis=1)
    return np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8))).view(np.uint64)


def _count_shared(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> Codes:
    """Number of labels that two packed sets share, (n_left, n_right)."""
    n_shared = np.zeros((len(left), len(right)), dtype=np.int32)
    for left_word, right_word in zip(left.T, right.T, strict=True):
        n_shared += np.bitwise_count(left_word[:, None] & right_word)
    return n_shared


def _set_alpha(
    item: Ints, pattern: Ints, distance: Floats, comparable: Mask, rng: np.random.Generator, n_boot: int
) -> Floats:
    """Alpha of the data, then of every replicate: (1 + n_boot,).

    item, pattern : (n_answers,), items numbered from 0 without gaps.
    distance, comparable : (n_patterns, n_patterns), see `masi_distances`.
    """
    n_answers = np.bincount(item)
    n_items, n_patterns = len(n_answers), len(distance)
    cell, n_in_cell = np.unique(item * n_patterns + pattern, return_counts=True)
    cell_item, cell_pattern = np.divmod(cell, n_patterns)

    # Twice as many ordered pairs as unordered ones; within a cell answers are equal, and their distance is 0.
    disagreement = np.zeros(n_items)
    n_compared = np.bincount(cell_item, n_in_cell * (n_in_cell - 1))
    for left, right in _pairs_within_items(cell_item):
        n_pairs = 2 * n_in_cell[left] * n_in_cell[right]
        patterns = cell_pattern[left], cell_pattern[right]
        disagreement += np.bincount(cell_item[left], n_pairs * distance[patterns], n_items)
        n_compared += np.bincount(cell_item[left], n_pairs * comparable[patterns], n_items)

    weights = _item_weights(n_items, n_boot, rng)
    observed = _divide(weights @ (disagreement / (n_answers - 1)), weights @ (n_compared / (n_answers - 1)))
    counts = np.empty((len(weights), n_patterns))
    # Row by row: all weights of all cells at once would take 200 times the memory of the data.
    for row, item_weight in zip(counts, weights, strict=True):
        row[:] = np.bincount(cell_pattern, item_weight[cell_item] * n_in_cell, n_patterns)
    n_total = counts.sum(axis=1)
    # Usually everybody is asked everything; then one of the two large products can be left out.
    n_comparable = n_total**2 if comparable.all() else _pair_sum(counts, comparable)
    # No answer is compared with itself; `distance` is 0 there anyway.
    expected = _divide(_pair_sum(counts, distance), n_comparable - n_total)
    return _alpha(observed, expected)


def _pair_sum(counts: Floats, values: Floats | Mask) -> Floats:
    """Sum of `values` over all ordered pairs of answers, for each row of pattern counts."""
    return np.asarray(((counts @ values) * counts).sum(axis=1))


def _pairs_within_items(cell_item: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Every two cells of one item, left before right, in batches of equal distance; `cell_item` is sorted."""
    left = np.arange(len(cell_item))
    # Items with few cells drop out early: what is left shrinks with the distance.
    for lag in range(1, len(cell_item)):
        left = left[: np.searchsorted(left, len(cell_item) - lag)]
        left = left[cell_item[left] == cell_item[left + lag]]
        if left.size == 0:
            return
        yield left, left + lag


def _item_weights(n_items: int, n_boot: int, rng: np.random.Generator) -> Floats:
    """How often each item counts in the data (once) and in each replicate, (1 + n_boot, n_items)."""
    weights = np.ones((1 + n_boot, n_items))
    for row in weights[1:]:
        row[:] = np.bincount(rng.integers(n_items, size=n_items), minlength=n_items)
    return weights


# --- choosing answers ---------------------------------------------------------------------------------------


def _shuffle_items(answer_item: Ints, asked: Mask, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Answers of items that have two or more, item after item in random order.

    Returns their positions and their items, numbered 0, 1, ... in that order.
    """
    answer = np.flatnonzero(asked.any(axis=1))  # an answer that was asked nothing is no answer
    _, item, n_answers = np.unique(answer_item[answer], return_inverse=True, return_counts=True)
    pairable = n_answers[item] >= 2
    answer, item = answer[pairable], rng.permutation(len(n_answers))[item[pairable]]
    order = np.argsort(item, kind="stable")
    return answer[order], np.unique(item[order], return_inverse=True)[1]


def _end_of_whole_items(item: Ints, limit: int) -> int:
    """Largest position up to `limit` that cuts the sorted `item` between two items."""
    return len(item) if limit >= len(item) else int(np.searchsorted(item, item[limit]))


def _number_patterns(rows: Mask) -> tuple[Ints, Ints]:
    """Number of each row's pattern, in order of first appearance, and where each pattern first appears."""
    _, first_seen, code = np.unique(np.packbits(rows, axis=1), axis=0, return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first_seen))
    return number[code.ravel()], np.sort(first_seen)


# --- shared arithmetic --------------------------------------------------------------------------------------


def _alpha(observed: Floats, expected: Floats) -> Floats:
    """Alpha from disagreements; where none is expected, none is observed, and alpha is 1.

    >>> _alpha(np.array([0.1, 0.0]), np.array([0.5, 0.0])).tolist()
    [0.8, 1.0]
    """
    return 1 - observed / np.where(expected == 0, 1, expected)


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    """Quotient, NaN where nothing was compared."""
    quotient = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator > 0)
    return quotient


def _estimate_and_interval(alpha: Floats) -> tuple[float, float, float]:
    """Estimate (first entry) and percentile interval of the defined replicates (the rest)."""
    replicates = alpha[1:][~np.isnan(alpha[1:])]
    low, high = np.quantile(replicates, INTERVAL) if replicates.size else (np.nan, np.nan)
    return float(alpha[0]), float(low), float(high)
