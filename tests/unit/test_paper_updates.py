"""Commonality and group weights against brute force: each update is the minimum of eq5 over its variable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from amcc.consensus.models.paper.objective import group_losses, objective
from amcc.consensus.models.paper.updates import (
    assign_groups,
    commonality_system,
    group_weights,
    update_commonality,
    update_group_weights,
)
from paper_problems import EXACT, L, M, dense_objective, small


@pytest.mark.parametrize("partial", [True, False], ids=["partial answers", "whole answers"])
@pytest.mark.parametrize(("seed", "ridge"), [(0, 0.0), (1, 0.0), (0, 0.5)])
def test_commonality_is_the_minimum(seed, ridge, partial):
    """D2: eq19–eq21 with D_w, over the group's own workers; D17: with a ridge, if there is one."""
    state, problem, dense = small(seed, partial=partial, ridge=ridge)
    updated = update_commonality(state, problem)

    def at(flat):
        return dense_objective(replace(state, commonality=flat.reshape(M, L, L)), problem, dense)

    brute = minimize(at, state.commonality.ravel(), method="BFGS", options={"gtol": 1e-7})
    assert_allclose(updated.commonality.ravel(), brute.x, rtol=0, atol=1e-3)
    assert objective(updated, problem) <= brute.fun + 1e-12


@pytest.mark.parametrize("exponent", [1.5, 2.0, 3.0])
def test_weights_are_the_minimum(exponent):
    state, problem, _ = small(4, weight_exponent=exponent)
    updated = update_group_weights(state, problem)
    losses = group_losses(state, problem)
    grid = np.linspace(0, 1, 100_001)
    values = grid**exponent * losses[0] + (1 - grid) ** exponent * losses[1]
    assert_allclose(updated.group_weights[0], grid[values.argmin()], rtol=0, atol=1e-5)
    assert_allclose(updated.group_weights.sum(), 1, **EXACT)


def test_weights_at_exponent_three_by_hand():
    """D7: the power is 1 / (1 − r) = −1/2, not 1/1 − r = −2."""
    assert_allclose(group_weights(np.array([1.0, 4.0, 16.0]), 3.0), np.array([4, 2, 1]) / 7, **EXACT)
    assert_allclose(group_weights(np.array([1.0, 3.0]), 2.0), [3 / 4, 1 / 4], **EXACT)


def test_perfect_groups_do_not_divide_by_zero():
    assert_allclose(group_weights(np.array([0.0, 0.0]), 2.0), [0.5, 0.5], **EXACT)
    assert np.isfinite(group_weights(np.array([0.0, 1.0]), 1.01)).all()


@pytest.mark.parametrize("seed", range(8))
def test_exact_updates_do_not_raise_the_objective(seed):
    state, problem, dense = small(seed)
    for update in (update_commonality, assign_groups, update_group_weights) * 3:
        before, state = dense_objective(state, problem, dense), update(state, problem)
        assert dense_objective(state, problem, dense) <= before + 1e-12 * abs(before)


def test_commonality_solves_its_system():
    """eq20: the derivative is zero at the solution eq21; and where the system is singular, C_m is small."""
    state, problem, _ = small(1, partial=False)
    system, right = commonality_system(state, problem)
    updated = update_commonality(state, problem).commonality
    assert_allclose(system[:, 0] @ updated, right, rtol=0, atol=1e-8)
    silent = replace(problem, data=replace(problem.data, gram=0 * problem.data.gram, cross=0 * problem.data.cross))
    assert_array_equal(update_commonality(state, silent).commonality, 0)


def test_print_sums_over_all_workers_and_forgets_individuality():
    """D2: eq20 by its letter gives every group the same system."""
    state, problem, _ = small(1, printed=True)
    system, right = commonality_system(state, problem)
    for each in (system, right):
        assert_allclose(each[0], each[1], **EXACT)
    assert_allclose(right[0], problem.data.cross.sum(axis=0), **EXACT)
