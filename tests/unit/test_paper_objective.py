"""eq5 from its sums against eq5 cell by cell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc.paper.answers import gather_answers, statistics
from amcc.paper.objective import objective, worker_residuals
from paper_problems import EXACT, L, dense_objective, small


@pytest.mark.parametrize("partial", [True, False], ids=["partial answers", "whole answers"])
@pytest.mark.parametrize("seed", range(3))
def test_objective_from_statistics_is_the_objective_of_the_cells(seed, partial):
    state, problem, dense = small(seed, partial=partial)
    assert problem.data.gram.shape[1] == (L if partial else 1)
    assert_allclose(objective(state, problem), dense_objective(state, problem, dense), rtol=1e-12)


def test_self_representation_is_perfect_before_it_starts(crowd):
    """D1: with D = I and C = 0 everybody's residual is zero, whatever he says."""
    answers = gather_answers(crowd.votes)
    signed = answers.value.astype(float)
    _, problem, _ = small(0)
    problem = replace(problem, data=statistics(answers, signed, lambda part: signed[part]))
    identity = np.tile(np.eye(6), (25, 1, 1))
    assert_allclose(worker_residuals(identity, np.zeros((1, 6, 6)), problem), 0, **EXACT)
    assert problem.data.answer_norm.min() > 0
