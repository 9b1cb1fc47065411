"""Who is in which group (D3): moves never raise eq5, and no group dies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc.consensus.models.paper.objective import worker_residuals
from amcc.consensus.models.paper.updates import Moving, assign_groups, fill_empty_groups
from paper_problems import EXACT, L, M, W, dense_objective, dense_residual, small


def test_workers_go_to_the_group_that_explains_them():
    """D3, where nothing stands against it: groups of equal weight, all in the wrong one but one each."""
    state, problem, dense = small(1, hsic_weight=0.0)
    problem = replace(problem, worker_scale=np.ones(W))
    state = replace(state, group_weights=np.array([0.5, 0.5]))
    residuals = worker_residuals(state.individuality, state.commonality, problem)
    expected = np.array(
        [[dense_residual(w, state.individuality[w] + C, dense) for w in range(W)] for C in state.commonality]
    )
    assert_allclose(residuals, expected, rtol=1e-9)
    moved = assign_groups(state, problem)
    changed = np.flatnonzero(moved.worker_group != state.worker_group)
    assert changed.size
    assert_array_equal(moved.worker_group[changed], residuals.argmin(axis=0)[changed])


@pytest.mark.parametrize("seed", range(4))
def test_a_move_is_judged_by_what_it_does_to_the_objective(seed):
    """The sums that `assign_groups` keeps against the whole of eq5, with HSIC as the larger part, move by move."""
    state, problem, dense = small(seed, hsic_weight=40.0)
    residuals = worker_residuals(state.individuality, state.commonality, problem)
    moving = Moving(state, problem, residuals)
    for worker in range(W):
        groups = moving.worker_group.copy()
        other = 1 - groups[worker]
        expected = groups.copy()
        expected[worker] = other
        before, after = (dense_objective(replace(state, worker_group=g), problem, dense) for g in (groups, expected))
        assert_allclose(moving.change(worker, other), after - before, **EXACT)
        moving.move(worker, other)
        allowed = after <= before and np.sum(groups == groups[worker]) > 1
        assert_array_equal(moving.worker_group, expected if allowed else groups)


def test_no_group_dies():
    """D3: all would like to be in group 0."""
    state, problem, _ = small(2)
    state = replace(state, commonality=np.stack([state.commonality[0] * 0, np.full((L, L), 50.0)]))
    groups = assign_groups(state, problem).worker_group
    assert np.bincount(groups, minlength=M).min() >= 1
    filled = fill_empty_groups(np.zeros(4, dtype=np.int64), np.array([1.0, 5.0, 2.0, 0.0]), 3)
    assert_array_equal(filled, [0, 1, 2, 0])  # the worst explained, then the next
