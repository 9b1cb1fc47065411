"""eq5 from its sums against eq5 cell by cell."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import linalg
from amcc.consensus.models.paper.answers import gather_answers, statistics
from amcc.consensus.models.paper.objective import (
    group_scales,
    group_totals,
    hsic_penalties,
    laplacian_penalties,
    objective,
    per_scale,
    worker_residuals,
)
from paper_problems import EXACT, L, M, W, dense_objective, dense_printed_objective, small


@pytest.mark.parametrize("partial", [True, False], ids=["partial answers", "whole answers"])
@pytest.mark.parametrize("seed", range(3))
def test_objective_from_statistics_is_the_objective_of_the_cells(seed, partial):
    state, problem, dense = small(seed, partial=partial)
    assert problem.data.gram.shape[1] == (L if partial else 1)
    assert_allclose(objective(state, problem), dense_objective(state, problem, dense), rtol=1e-12)


@pytest.mark.parametrize("partial", [True, False], ids=["partial answers", "whole answers"])
def test_printed_objective_is_that_of_the_cells(partial):
    """eq5 by its letter has no scales, all workers in all groups, and no λ before the Laplacian."""
    state, problem, dense = small(1, partial=partial, printed=True)
    assert_allclose(objective(state, problem), dense_printed_objective(state, problem, dense), rtol=1e-12)


def test_self_representation_is_perfect_before_it_starts(crowd):
    """D1: with D = I and C = 0 everybody's residual is zero, whatever they say."""
    answers = gather_answers(crowd.votes)
    signed = answers.value.astype(float)
    _, problem, _ = small(0)
    problem = replace(problem, data=statistics(answers, signed, lambda part: signed[part]))
    identity = np.tile(np.eye(6), (25, 1, 1))
    assert_allclose(worker_residuals(identity, np.zeros((1, 6, 6)), problem), 0, **EXACT)
    assert problem.data.answer_norm.min() > 0


def test_hsic_is_a_sum_over_pairs_of_one_group():
    """eq3: each pair once, nobody with themselves."""
    state, _, _ = small(2)
    penalties = hsic_penalties(state.individuality, state.worker_group, M)
    for m in range(M):
        mates = state.individuality[state.worker_group == m]
        pairs = [linalg.hsic(first, second) for first, second in combinations(mates, 2)]
        assert_allclose(penalties[m], -sum(pairs), **EXACT)
    assert_allclose(hsic_penalties(state.individuality[:1], np.zeros(1, int), 1), 0, **EXACT)


def test_laplacian_punishes_differences_of_similar_labels():
    """eq4: half the sum of B_ij ‖C_i − C_j‖²; equal rows cost nothing."""
    rng = np.random.default_rng(0)
    similarity = linalg.label_similarity(rng.random((9, L)))
    C = rng.normal(size=(M, L, L))
    expected = [
        sum(similarity[i, j] * np.sum((one[i] - one[j]) ** 2) for i in range(L) for j in range(L)) / 2 for one in C
    ]
    laplacian = linalg.label_laplacian(similarity)
    assert_allclose(laplacian_penalties(C, laplacian), expected, **EXACT)
    assert_allclose(laplacian_penalties(np.tile(rng.random(L), (1, L, 1)), laplacian), 0, **EXACT)


def test_a_group_starts_with_what_is_not_explained():
    """D7: without workers the loss is that of the prior, one unit per unit, and the Laplacian penalty."""
    state, problem, _ = small(0)
    nobody = np.zeros((M, W))
    totals = group_totals(np.ones((M, W)), nobody, 0 * state.commonality, problem)
    assert_array_equal(totals, problem.prior_scale)
    assert_array_equal(per_scale(totals, group_scales(nobody, problem)), 1.0)
