"""Answers as matrices, and the sums that eq5 is made of."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from amcc import Votes
from amcc.consensus.models.paper import answers as paper_answers
from amcc.consensus.models.paper.answers import (
    answer_blocks,
    answer_variation,
    gather_answers,
    mean_answers,
    presence,
    statistics,
    times,
)
from paper_problems import EXACT, crowd_of


def test_not_asked_is_not_no(toy_votes):
    """A no where nobody asked changes the residual; filling in what is not asked must not be needed."""
    anchor = np.array([[0.9, 0.2], [0.1, 0.8]])

    def norm_and_gram(votes):
        answers = gather_answers(votes)
        stats = statistics(answers, presence(answers.value), lambda part: anchor[answers.item[part]])
        return stats, answers

    stats, answers = norm_and_gram(toy_votes)
    assert_array_equal(answers.value[-1], [0, 1])  # w3 was asked about l2 only on i2
    assert_allclose(stats.gram[2, 0], np.outer(anchor[0], anchor[0]), **EXACT)  # so column l1 knows i1 alone
    assert_allclose(stats.gram[2, 1], anchor.T @ anchor, **EXACT)
    assert_array_equal(stats.n_asked[2], [1, 2])


def test_all_cells_take_what_was_not_asked_as_zero(toy_votes):
    """D13: the sums of answers that leave a label out are those of answers that say 0 there."""
    anchor = np.array([[0.9, 0.2], [0.1, 0.8]])
    answers = gather_answers(toy_votes, all_cells=True)
    signed = answers.value.astype(float)
    stats = statistics(answers, signed, lambda part: anchor[answers.item[part]])
    assert stats.gram.shape[1] == 1
    assert_allclose(stats.gram[2, 0], anchor.T @ anchor, **EXACT)  # w3 answered both items, l1 of i2 with 0
    assert_allclose(stats.cross[2], anchor.T @ signed[answers.worker == 2], **EXACT)
    assert_array_equal(stats.n_asked[2], [2])
    no_is_said = gather_answers(Votes.from_dense([[[1, -1], [-1, -1]], [[-1, 1], [1, -1]]]))
    no_is_left_out = gather_answers(Votes.from_dense([[[1, -1], [0, -1]], [[-1, 1], [1, -1]]]), all_cells=True)
    assert_allclose(answer_variation(no_is_left_out), answer_variation(no_is_said), **EXACT)


def test_answer_variation_by_hand():
    """Yes, yes, no of one worker, one no of another; habits: the other answers, and one at the crowd's rate."""
    answers = gather_answers(Votes.from_dense([[[1], [1], [-1]], [[-1], [0], [0]]]))
    crowd = 2 / 4
    first = 2 * (1 - (1 + crowd) / 3) ** 2 + ((2 + crowd) / 3) ** 2
    assert_allclose(answer_variation(answers), [first, crowd**2], **EXACT)


def test_residual_per_answer_would_favour_who_never_varies():
    """D7: why the scale is the variation of the answers."""
    crowd = crowd_of(0)
    answers = gather_answers(crowd.votes)
    per_answer = answer_variation(answers) / answers.per_worker
    uniform = crowd.worker_kind == "uniform_spammer"
    assert per_answer[uniform].max() < 0.1 * per_answer[~uniform].min()


@given(counts=st.lists(st.integers(0, 40), min_size=1, max_size=12), n_answers=st.integers(1, 30))
def test_every_answer_is_in_one_block(counts, n_answers):
    """Once, with its own worker; a worker is at most once in a block, for sums are added by `+=` on their rows."""
    start = np.append(0, np.cumsum(counts))
    seen = []
    for block in answer_blocks(start, n_answers):
        assert len(np.unique(block.worker)) == len(block.worker)
        assert block.row.shape == block.there.shape
        worker = np.broadcast_to(block.worker[:, None], block.row.shape)[block.there]
        row = block.row[block.there]
        assert ((start[worker] <= row) & (row < start[worker + 1])).all()
        seen.extend(row.tolist())
    assert sorted(seen) == list(range(sum(counts)))


def test_blocks_of_few_answers_give_the_same_sums(crowd, monkeypatch):
    monkeypatch.setattr(paper_answers, "BLOCK_NUMBERS", 30)
    small_blocks = gather_answers(crowd.votes)
    few = statistics(small_blocks, presence(small_blocks.value), presence(small_blocks.value).__getitem__)
    monkeypatch.undo()
    answers = gather_answers(crowd.votes)
    assert len(answers.blocks) < len(small_blocks.blocks)
    many = statistics(answers, presence(answers.value), presence(answers.value).__getitem__)
    for name in ("gram", "cross", "anchor_sum", "n_asked", "answer_norm"):
        assert_allclose(getattr(few, name), getattr(many, name), **EXACT)


def test_columns_have_their_own_matrices():
    """`times` with one matrix per column is a loop over columns."""
    rng = np.random.default_rng(0)
    stack, matrix = rng.normal(size=(4, 3, 3, 3)), rng.normal(size=(4, 3, 3))
    expected = np.empty_like(matrix)
    for w, column in np.ndindex(4, 3):
        expected[w, :, column] = stack[w, column] @ matrix[w, :, column]
    assert_allclose(times(stack, matrix), expected, **EXACT)
    assert_allclose(times(stack[:, :1], matrix), stack[:, 0] @ matrix, **EXACT)


def test_mean_answers_count_the_silent_as_well():
    """eq4 divides the sum of all A_w by the number of all workers."""
    votes = Votes.from_dense([[[1, -1], [1, 1]], [[1, 0], [0, 0]], [[0, 0], [0, 0]]])
    answers = gather_answers(votes)
    assert_allclose(mean_answers(answers, presence(answers.value), 2), [[2 / 3, 0], [1 / 3, 1 / 3]], **EXACT)
