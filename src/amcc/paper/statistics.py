"""The sums over answers that eq5 is made of: with them, no update has to look at an answer again.

With the anchor Y_w of a worker's answers A_w (D1), a residual multiplied out is
‖A − Y R‖² = ‖A‖² − 2 ⟨YᵀA, R⟩ + ⟨R, YᵀY R⟩ for any response R. So YᵀY, YᵀA and ‖A‖² are all there is to know.

Not asked. A cell that was not asked enters nothing. If every answer covers all labels, one Gram matrix YᵀY per worker
will do. Otherwise each column l has its own, of the answers that were asked about l.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from amcc.arrays import Floats, Ints, weight_per_code
from amcc.paper.answers import Answers

# Numbers handled at a time where the same ones are needed again and again: 128 kB, well inside a core's own cache.
CACHE_NUMBERS = 2**14


@dataclass(frozen=True)
class Statistics:
    """All that eq5 needs to know of answers and anchor Y. K is 1 for whole answers, n_labels otherwise.

    gram : (n_workers, K, n_labels, n_labels). YᵀY over the answers that were asked about a column.
    cross : (n_workers, n_labels, n_labels). YᵀA over asked cells, [anchor label, given label].
    anchor_sum : (n_workers, K, n_labels). Column sums of Y, over the same answers as `gram`.
    n_asked : (n_workers, K). How many answers those are.
    answer_norm : (n_workers,). ‖A_w‖² over asked cells.
    """

    gram: Floats
    cross: Floats
    anchor_sum: Floats
    n_asked: Floats
    answer_norm: Floats


def statistics(answers: Answers, given: Floats, anchor: Callable[[Ints], Floats]) -> Statistics:
    """Sums over each worker's answers, asked cells only.

    given : (n_answers, n_labels), the answers as numbers, 0 where not asked. anchor : rows of Y for some answers.
    """
    n_workers, n_labels = len(answers.per_worker), answers.value.shape[1]
    n_columns = 1 if answers.whole else n_labels
    gram = np.zeros((n_workers, n_columns, n_labels, n_labels))
    cross = np.zeros((n_workers, n_labels, n_labels))
    anchor_sum = np.zeros((n_workers, n_columns, n_labels))
    n_asked = np.zeros((n_workers, n_columns))
    for block in answers.blocks:
        there = block.there[:, :, None]
        basis = anchor(block.row) * there
        asked = (answers.value[block.row, :n_columns] != 0) & there
        weight = asked.astype(np.float64).swapaxes(1, 2)
        # `given` is 0 where not asked, so that the anchor needs no mask here.
        cross[block.worker] += basis.swapaxes(1, 2) @ given[block.row]
        anchor_sum[block.worker] += weight @ basis
        n_asked[block.worker] += weight.sum(axis=2)
        if n_columns == 1:
            gram[block.worker, 0] += basis.swapaxes(1, 2) @ basis
        else:  # one product of matrices for all columns: the weights of answers by column, times squares by answer
            squares = (basis[..., :, None] * basis[..., None, :]).reshape(*block.row.shape, -1)
            gram[block.worker] += (weight @ squares).reshape(-1, *gram.shape[1:])
    answer_norm = weight_per_code(answers.worker, np.sum(given**2, axis=1), n_workers)
    return Statistics(gram, cross, anchor_sum, n_asked, answer_norm)


def times(stack: Floats, matrix: Floats) -> Floats:
    """Column l of `matrix` times matrix l of `stack`: (..., K, n, n), (..., n, n) → (..., n, n)."""
    if stack.shape[-3] == 1:
        return np.asarray(stack[..., 0, :, :] @ matrix)
    product = stack @ matrix.swapaxes(-1, -2)[..., None]
    return np.asarray(product[..., 0].swapaxes(-1, -2))


def worker_blocks(matrices: Floats) -> Iterator[slice]:
    """Few workers at a time, so that what is made of their matrices stays in the cache."""
    block = max(1, CACHE_NUMBERS // max(1, matrices[:1].size))
    for first in range(0, len(matrices), block):
        yield slice(first, min(first + block, len(matrices)))


def weighted_sums(weight: Floats, matrices: Floats) -> Floats:
    """Sums of the workers' matrices with the weights of each row: (m, w), (w, ...) → (m, ...)."""
    flat = matrices.reshape(len(matrices), -1)
    return np.asarray((weight @ flat).reshape(len(weight), *matrices.shape[1:]))
