"""Answers as matrices, and the sums that eq5 is made of."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from amcc import Votes
from amcc.paper.answers import answer_variation, gather_answers, presence, statistics
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
