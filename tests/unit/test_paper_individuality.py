"""ADMM (eq15 to eq18) and Theorem 1 against numerical minimisers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from amcc import linalg
from amcc.consensus.models.paper.individuality import (
    admm,
    individuality_hessian,
    project_rows,
    theorem_one_bound,
    update_individuality,
)
from paper_problems import EXACT, L, W, dense_objective, dense_residual, small


@pytest.mark.parametrize("rows", ["simplex", "unit"])
def test_first_admm_step_minimises_the_augmented_objective(rows):
    """eq18 for one worker, all others fixed, against a numerical minimiser of eq17."""
    state, problem, dense = small(3, rows=rows)
    state = replace(state, admm_dual=np.random.default_rng(0).normal(size=state.admm_dual.shape) / 10)
    copy, dual = admm(state, problem, n_steps=1)
    updated = copy + dual - state.admm_dual  # T ← T + D − S
    target = state.individuality[0] - state.admm_dual[0]
    total = problem.worker_scale.sum()

    def at(flat):
        D = state.individuality.copy()
        D[0] = flat.reshape(L, L)
        penalty = problem.admm_penalty * np.sum((D[0] - target) ** 2)
        return total * dense_objective(replace(state, individuality=D), problem, dense) + penalty

    brute = minimize(at, state.individuality[0].ravel(), method="BFGS", options={"gtol": 1e-8})
    assert_allclose(updated[0].ravel(), brute.x, rtol=0, atol=1e-5)
    assert_allclose(copy, project_rows(updated + state.admm_dual, rows), **EXACT)


def test_printed_admm_step_minimises_over_all_groups_and_workers():
    """eq17 by its letter: the residual in every group with its λ_m^r, HSIC with every other worker."""
    state, problem, dense = small(3, printed=True)
    problem = replace(problem, prior_scale=0.0)  # as in print, where groups start with no data
    copy, dual = admm(state, problem, n_steps=1)
    powers = state.group_weights**problem.settings.weight_exponent

    def at(flat):
        D = flat.reshape(L, L)
        data = sum(p * dense_residual(0, D + C, dense) for p, C in zip(powers, state.commonality, strict=True))
        alike = sum(linalg.hsic(D, other) for other in state.individuality[1:])
        penalty = problem.admm_penalty * np.sum((D - state.individuality[0]) ** 2)
        return data - problem.settings.hsic_weight * alike + penalty

    brute = minimize(at, state.individuality[0].ravel(), method="BFGS", options={"gtol": 1e-8})
    assert_allclose((copy + dual)[0].ravel(), brute.x, rtol=0, atol=1e-5)


def test_admm_ends_at_the_constrained_minimum():
    state, problem, dense = small(5, hsic_weight=0.0)
    ended, dual = admm(state, problem, n_steps=3000)
    after, dual_after = admm(replace(state, individuality=ended, admm_dual=dual), problem, n_steps=1)
    assert_allclose(dual_after, dual, rtol=0, atol=1e-6)  # it grows by D − S: they have met
    assert_allclose(after, ended, rtol=0, atol=1e-6)

    def at(flat):
        return dense_residual(2, flat.reshape(L, L) + state.commonality[state.worker_group[2]], dense)

    sums = [{"type": "eq", "fun": lambda x, g=g: x.reshape(L, L)[g].sum() - 1} for g in range(L)]
    brute = minimize(at, np.full(L * L, 1 / L), bounds=[(0, 1)] * (L * L), constraints=sums, options={"ftol": 1e-13})
    assert_allclose(at(ended[2].ravel()), brute.fun, rtol=0, atol=1e-6)
    assert_array_equal(update_individuality(state, problem, n_steps=3000).individuality, ended)  # all the way


@pytest.mark.parametrize("rows", ["simplex", "unit"])
def test_copy_and_individuality_approach_each_other(rows):
    """The dual grows by D − S in each step (eq18), so its last step is the gap between the two."""
    state, problem, _ = small(6, rows=rows)
    gaps = []
    for n_steps in (20, 160):
        dual, later = (admm(state, problem, n)[1] for n in (n_steps, n_steps + 1))
        gaps.append(np.abs(later - dual).max())
    assert gaps[1] < 1e-3
    assert gaps[1] < gaps[0] / 5


@pytest.mark.parametrize("rows", ["simplex", "unit"])
@pytest.mark.parametrize("seed", range(8))
def test_individuality_never_raises_the_objective(seed, rows):
    """ADMM's own steps may: here they do, where HSIC is the larger part and its penalty far below Theorem 1."""
    state, problem, dense = small(seed, rows=rows, hsic_weight=60.0)
    problem = replace(problem, admm_penalty=0.3)
    state = replace(state, individuality=project_rows(state.individuality, rows))
    raised = 0
    for _ in range(6):
        before = dense_objective(state, problem, dense)
        free, _ = admm(state, problem)
        raised += dense_objective(replace(state, individuality=free), problem, dense) > before + 1e-9
        state = update_individuality(state, problem)
        assert dense_objective(state, problem, dense) <= before + 1e-12 * abs(before)
        assert_allclose(project_rows(state.individuality, rows), state.individuality, **EXACT)
    assert raised or rows == "simplex"


@pytest.mark.parametrize("seed", range(5))
def test_theorem_one_makes_the_subproblem_convex(seed):
    """D6: at the bound the Hessian is positive definite, whatever the data say (here: nothing)."""
    state, problem, _ = small(seed, hsic_weight=5.0)
    state = replace(
        state, worker_group=np.zeros(W, dtype=np.int64), commonality=state.commonality[:1], group_weights=np.ones(1)
    )
    silent = replace(problem, data=replace(problem.data, gram=0 * problem.data.gram))
    bound = theorem_one_bound(L, W, 5.0 * linalg.hsic_scale(L))
    at_bound = individuality_hessian(state, replace(silent, admm_penalty=bound))
    assert np.linalg.eigvalsh(at_bound).min() > 0
    far_below = individuality_hessian(state, replace(silent, admm_penalty=bound / 1000))
    assert np.linalg.eigvalsh(far_below).min() < 0


def test_theorem_one_by_hand_and_how_loose_it_is():
    """D6: rows of only two kinds are the worst case; even there a quarter of a half of the bound is enough."""
    assert theorem_one_bound(10, 40, 0.1) == pytest.approx(156.0)
    n_workers, n_labels = 6, 4
    two_kinds = np.zeros((n_workers, n_labels, n_labels))
    two_kinds[:, :2, 0] = two_kinds[:, 2:, 1] = 1
    trace_weight = linalg.hsic_scale(n_labels)  # hsic_weight = 1
    gram = linalg.centered_gram(two_kinds)
    worst = np.linalg.eigvalsh(gram[1:].sum(axis=0)).max() * trace_weight
    assert worst == pytest.approx(theorem_one_bound(n_labels, n_workers, trace_weight) / 8)


def test_hessian_is_that_of_the_augmented_objective():
    """Against finite differences, in the first column of the first worker."""
    state, problem, dense = small(7)
    total, half = problem.worker_scale.sum(), individuality_hessian(state, problem)[0, 0]

    def at(step):
        D = state.individuality.copy()
        D[0, :, 0] += step
        return (
            total * dense_objective(replace(state, individuality=D), problem, dense)
            + problem.admm_penalty * step @ step
        )

    h, unit = 1e-2, np.eye(L)
    numeric = [
        [(at(h * (a + b)) - at(h * (a - b)) - at(h * (b - a)) + at(-h * (a + b))) / (4 * h * h) for b in unit]
        for a in unit
    ]
    assert_allclose(2 * half, numeric, rtol=0, atol=1e-7)
