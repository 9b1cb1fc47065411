"""Answers as matrices, A_w of the paper, and the sums over them that eq5 is made of.

A *vote* is one yes or no; an *answer* is all that one worker said about one item, a row of A_w.

With the anchor Y_w of a worker's answers A_w (D1), a residual multiplied out is
‖A − Y R‖² = ‖A‖² − 2 ⟨YᵀA, R⟩ + ⟨R, YᵀY R⟩ for any response R. So YᵀY, YᵀA and ‖A‖² are all there is to know
(`Statistics`): no update has to look at an answer again.

Not asked. A cell that was not asked enters nothing, or is an answer of 0 as printed (D13). If every answer covers all
labels, one Gram matrix YᵀY per worker will do. Otherwise each column l has its own, of the answers to l.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from amcc.arrays import Codes, Floats, Ints, Mask, Signs, weight_per_code
from amcc.votes import Votes

# Numbers handled at a time where answers are summed up: 2 MB, about what a core's own cache holds.
BLOCK_NUMBERS = 2**18
# And where the same ones are needed again and again: 128 kB, well inside it.
CACHE_NUMBERS = 2**14


@dataclass(frozen=True)
class Answers:
    """The votes as answers, by worker.

    item : (n_answers,) which item was answered.
    value : (n_answers, n_labels) +1 yes, −1 no, 0 not asked.
    start : (n_workers + 1,) answers of worker w are start[w]:start[w + 1].
    all_cells : whether a label that was not asked is an answer of 0 (D13).
    """

    item: Codes
    value: Signs
    start: Ints
    all_cells: bool = False

    @property
    def per_worker(self) -> Ints:
        """(n_workers,) how many answers each worker gave."""
        return np.diff(self.start)

    @cached_property
    def worker(self) -> Ints:
        """(n_answers,) who answered."""
        return np.repeat(np.arange(len(self.per_worker)), self.per_worker)

    @cached_property
    def asked(self) -> Mask:
        """(n_answers, n_labels) the cells that count."""
        return np.asarray((self.value != 0) | self.all_cells)

    @cached_property
    def whole(self) -> bool:
        """Whether every answer covers all labels."""
        return bool(self.asked.all())

    @cached_property
    def blocks(self) -> list[AnswerBlock]:
        """All answers, workers side by side."""
        n_labels = self.value.shape[1]
        # What is made of an answer: a row of the anchor, or where labels were left out all products of two entries.
        numbers = n_labels if self.whole else n_labels**2
        return list(answer_blocks(self.start, max(1, BLOCK_NUMBERS // numbers)))


class AnswerBlock(NamedTuple):
    """Answers of several workers side by side: row[i, j] is one of worker[i], and counts if there[i, j].

    worker : (n,) all different. row : (n, width) places of answers. there : (n, width) bool.
    """

    worker: Ints
    row: Ints
    there: Mask


def answer_blocks(start: Ints, n_answers: int) -> Iterator[AnswerBlock]:
    """All answers in blocks of about `n_answers`; each answer is in one block, each worker at most once in a block.

    >>> for block in answer_blocks(np.array([0, 3, 4, 7]), 8):
    ...     print(block.worker.tolist(), block.row[block.there].tolist())
    [1] [3]
    [0, 2] [0, 1, 2, 4, 5, 6]
    """
    count = np.diff(start)
    for first in range(0, int(count.max(initial=0)), n_answers):
        length = np.clip(count - first, 0, n_answers)
        # Workers whose numbers of answers round up to one power of two share a block: less than half of it is empty.
        doublings = np.ceil(np.log2(np.maximum(length, 1)))
        for size in np.unique(doublings[length > 0]):
            workers = np.flatnonzero((doublings == size) & (length > 0))
            place = np.arange(length[workers].max())
            n_blocks = -(-len(workers) * len(place) // n_answers)
            for some in np.array_split(workers, n_blocks):
                there = place < length[some, None]
                # Empty places repeat the worker's first answer, which is at least a row that exists.
                yield AnswerBlock(some, start[some, None] + np.where(there, first + place, 0), there)


def gather_answers(votes: Votes, *, all_cells: bool = False) -> Answers:
    """One row per answer, sorted by worker and item.

    >>> answers = gather_answers(Votes.from_dense([[[1, -1], [0, 0]], [[0, 1], [1, 1]]]))
    >>> answers.item.tolist(), answers.value.tolist(), answers.start.tolist()
    ([0, 0, 1], [[1, -1], [0, 1], [1, 1]], [0, 1, 3])
    """
    # One number per (worker, item): sorted, equal ones are the votes of one answer.
    key = votes.worker.astype(np.int64) * votes.n_items + votes.item
    answers, place = np.unique(key, return_inverse=True)
    worker, item = np.divmod(answers, max(votes.n_items, 1))
    value = np.zeros((len(answers), votes.n_labels), dtype=np.int8)
    value[place, votes.label] = votes.value
    start = np.append(0, np.cumsum(np.bincount(worker, minlength=votes.n_workers)))
    return Answers(item.astype(np.int32), value, start, all_cells)


def presence(value: Signs) -> Floats:
    """Answers as numbers that speak of presence: 1 for yes, 0 for no and for what was not asked."""
    return (value > 0).astype(np.float64)


def mean_answers(answers: Answers, given: Floats, n_items: int) -> Floats:
    """(n_items, n_labels) sum of all A_w over the number of workers; eq4 compares labels by it."""
    total = np.zeros((n_items, given.shape[1]))
    np.add.at(total, answers.item, given)
    return total / len(answers.per_worker)


def answer_variation(answers: Answers) -> Floats:
    """(n_workers,) how much each worker's answers vary from item to item: squares about their own mean of each label.

    Who always says the same is easy to predict and tells nothing, so a residual has to be seen in proportion to this
    (D7). Each answer is compared with the mean of the worker's *other* answers and one at the crowd's rate: compared
    with a mean that holds it, a single answer would have no variation at all.
    """
    n_yes, n_asked = np.zeros((2, len(answers.per_worker), answers.value.shape[1]))
    np.add.at(n_yes, answers.worker, presence(answers.value))
    np.add.at(n_asked, answers.worker, answers.asked)
    crowd = n_yes.sum(axis=0) / np.maximum(n_asked.sum(axis=0), 1.0)
    beside_yes, beside_no = ((n_yes - said + crowd) / np.maximum(n_asked, 1.0) for said in (1.0, 0.0))
    squares = n_yes * (1 - beside_yes) ** 2 + (n_asked - n_yes) * beside_no**2
    return np.asarray(squares.sum(axis=1))


# -- sums over answers ----------------------------------------------------------------------------------------------


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
        asked = answers.asked[block.row, :n_columns] & there
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
