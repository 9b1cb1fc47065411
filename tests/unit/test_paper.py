"""The paper's objective: every update against brute force, and the deviations D1–D8 of docs/deviations.md."""

from __future__ import annotations

import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import amcc
from amcc import MajorityVote, ParameterError, Votes, linalg, metrics
from amcc.consensus.base import Gold
from amcc.data.simulate import CrowdSpec, SimulatedCrowd, simulate_crowd
from amcc.errors import ConvergenceWarning, TooLargeError
from amcc.paper import frobenius
from amcc.paper.frobenius import (
    FrobeniusFit,
    FrobeniusProblem,
    FrobeniusState,
    assign_groups,
    fit_frobenius,
    gather_answers,
    group_losses,
    group_weights,
    individuality_hessian,
    objective,
    printed_consensus,
    project_rows,
    statistics,
    theorem_one_bound,
    update_commonality,
    update_group_weights,
    update_individuality,
    worker_cost,
    worker_residuals,
)

EXACT = {"rtol": 0, "atol": 1e-9}
W, N, L, M = 7, 12, 3, 2


def small(seed: int = 0, *, partial: bool = True, **settings) -> tuple[FrobeniusState, FrobeniusProblem, np.ndarray]:
    """A random problem and state, and the dense answers and anchor behind it: (2, W, N, L), NaN where not asked."""
    rng = np.random.default_rng(seed)
    value = rng.choice([-1, 0, 1] if partial else [-1, 1], size=(W, N, L))
    value[:, 0] = 1  # everybody answers something
    anchor_table = rng.random((N, L))
    answers = gather_answers(Votes.from_dense(value))
    given = frobenius.presence(answers.value)
    stats = statistics(answers, given, lambda part: anchor_table[answers.item[part]])
    problem = FrobeniusProblem(
        stats,
        worker_scale=rng.uniform(1, 3, W),
        prior_scale=0.5,
        label_laplacian=linalg.label_laplacian(linalg.label_similarity(rng.random((N, L)))),
        admm_penalty=2.0,
        **({"hsic_weight": 0.3, "laplacian_weight": 0.7, "weight_exponent": 3.0} | settings),
    )
    D = project_rows(rng.normal(size=(W, L, L)), "simplex")
    weights = rng.dirichlet(np.ones(M) * 5)
    state = FrobeniusState(D, rng.normal(size=(M, L, L)), weights, rng.permutation(np.arange(W) % M), 0 * D)
    dense = np.stack([np.where(value == 0, np.nan, value > 0), np.broadcast_to(anchor_table, (W, N, L))])
    return state, problem, dense


def dense_residual(w: int, response, dense) -> float:
    answers, anchor = dense[:, w]
    return float(np.nansum((answers - anchor @ response) ** 2))


def dense_objective(state: FrobeniusState, problem: FrobeniusProblem, dense) -> float:
    """eq5 cell by cell and pair by pair."""
    total = 0.0
    for m in range(state.n_groups):
        group = np.flatnonzero(state.worker_group == m)
        C = state.commonality[m]
        loss = problem.prior_scale + problem.laplacian_weight * np.trace(C.T @ problem.label_laplacian @ C)
        loss += sum(dense_residual(w, state.individuality[w] + C, dense) for w in group)
        scale = problem.prior_scale + sum(problem.worker_scale[w] for w in group)
        total += state.group_weights[m] ** problem.weight_exponent * loss / scale
        for w in group:
            for v in group[group > w]:
                alike = linalg.hsic(state.individuality[w], state.individuality[v])
                total -= problem.hsic_weight * alike / problem.worker_scale.sum()
    return total


def crowd_of(seed: int) -> SimulatedCrowd:
    return simulate_crowd(CrowdSpec(n_items=600, n_workers=40, n_labels=10, answers_per_item=6, seed=seed))


def table(votes: Votes, fit: FrobeniusFit) -> np.ndarray:
    proba = np.tile(fit.label_prior, (votes.n_items, 1))
    proba[votes.pairs.item, votes.pairs.label] = fit.pair_proba
    return proba


@pytest.fixture(scope="module")
def fits() -> list[tuple[SimulatedCrowd, FrobeniusFit]]:
    return [(crowd, fit_frobenius(crowd.votes)) for crowd in map(crowd_of, range(3))]


# -- the objective ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("partial", [True, False], ids=["partial answers", "whole answers"])
@pytest.mark.parametrize("seed", range(3))
def test_objective_from_statistics_is_the_objective_of_the_cells(seed, partial):
    state, problem, dense = small(seed, partial=partial)
    assert problem.data.gram.shape[1] == (L if partial else 1)
    assert_allclose(objective(state, problem), dense_objective(state, problem, dense), rtol=1e-12)


def test_not_asked_is_not_no(toy_votes):
    """A no where nobody asked changes the residual; filling in what is not asked must not be needed."""
    anchor = np.array([[0.9, 0.2], [0.1, 0.8]])

    def norm_and_gram(votes):
        answers = gather_answers(votes)
        stats = statistics(answers, frobenius.presence(answers.value), lambda part: anchor[answers.item[part]])
        return stats, answers

    stats, answers = norm_and_gram(toy_votes)
    assert_array_equal(answers.value[-1], [0, 1])  # w3 was asked about l2 only on i2
    assert_allclose(stats.gram[2, 0], np.outer(anchor[0], anchor[0]), **EXACT)  # so column l1 knows i1 alone
    assert_allclose(stats.gram[2, 1], anchor.T @ anchor, **EXACT)
    assert_array_equal(stats.n_asked[2], [1, 2])


# -- exact updates ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("partial", [True, False], ids=["partial answers", "whole answers"])
@pytest.mark.parametrize("seed", range(2))
def test_commonality_is_the_minimum(seed, partial):
    """D2: eq19–eq21 with D_w, over the group's own workers."""
    state, problem, dense = small(seed, partial=partial)
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
    moving = frobenius._Membership(state, problem, residuals)
    for worker in range(W):
        groups = moving.worker_group.copy()
        other = 1 - groups[worker]
        expected = groups.copy()
        expected[worker] = other
        before, after = (dense_objective(replace(state, worker_group=g), problem, dense) for g in (groups, expected))
        assert_allclose(moving._change(worker, groups[worker], other), after - before, **EXACT)
        moving.move(worker, other)
        allowed = after <= before and np.sum(groups == groups[worker]) > 1
        assert_array_equal(moving.worker_group, expected if allowed else groups)


def test_no_group_dies():
    """D3: all would like to be in group 0."""
    state, problem, _ = small(2)
    state = replace(state, commonality=np.stack([state.commonality[0] * 0, np.full((L, L), 50.0)]))
    groups = assign_groups(state, problem).worker_group
    assert np.bincount(groups, minlength=M).min() >= 1
    filled = frobenius.fill_empty_groups(np.zeros(4, dtype=np.int64), np.array([1.0, 5.0, 2.0, 0.0]), 3)
    assert_array_equal(filled, [0, 1, 2, 0])  # the worst explained, then the next


# -- individuality: ADMM ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["simplex", "unit"])
def test_first_admm_step_minimises_the_augmented_objective(rows):
    """eq18 for one worker, all others fixed, against a numerical minimiser of eq17."""
    state, problem, dense = small(3, rows=rows)
    state = replace(state, admm_dual=np.random.default_rng(0).normal(size=state.admm_dual.shape) / 10)
    copy, dual = frobenius.admm(state, problem, n_steps=1)
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


def test_admm_ends_at_the_constrained_minimum():
    state, problem, dense = small(5, hsic_weight=0.0)
    ended, dual = frobenius.admm(state, problem, n_steps=3000)
    after, dual_after = frobenius.admm(replace(state, individuality=ended, admm_dual=dual), problem, n_steps=1)
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
        dual, later = (frobenius.admm(state, problem, n)[1] for n in (n_steps, n_steps + 1))
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
        free, _ = frobenius.admm(state, problem)
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


def test_printed_penalty_holds_individuality_back(fits):
    """D6: by the letter of Theorem 1 D_w hardly leaves its start; with the bound for HSIC as defined it does."""
    crowd, fit = fits[0]
    assert fit.individuality_moved > 0.3
    assert fit_frobenius(crowd.votes, printed=True).individuality_moved < 0.1


# -- consensus and cost -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("partial", [True, False], ids=["partial answers", "whole answers"])
def test_answer_rates_are_means_over_the_answered_items(partial, monkeypatch):
    """D8: rates from statistics equal those computed item by item."""
    monkeypatch.setattr(frobenius, "RATE_PRIOR", 0.0)
    monkeypatch.setattr(frobenius, "RATE_FLOOR", -10.0)
    state, problem, dense = small(8, partial=partial)
    hit, false_alarm = frobenius.answer_rates(state, problem).worker
    w, label = 3, 1
    asked = ~np.isnan(dense[0, w, :, label])
    y, R = dense[1, w][asked], state.response[w]
    with_label, without = y.copy(), y.copy()
    with_label[:, label], without[:, label] = 1, 0
    assert_allclose(hit[w, label], np.average(with_label @ R[:, label], weights=y[:, label]), rtol=1e-9)
    assert_allclose(false_alarm[w, label], np.average(without @ R[:, label], weights=1 - y[:, label]), rtol=1e-9)


def test_denials_count():
    """D8: a no is evidence too; the print reads only yes-votes, and gives the same whether it was said or not."""
    asked = Votes.from_dense([[[1, -1]], [[1, -1]], [[1, 1]]])
    not_asked = asked.select((asked.value > 0) | (asked.worker == 0))
    both = asked, not_asked
    response = np.tile([[0.8, 0.1], [0.1, 0.8]], (3, 1, 1))
    state = FrobeniusState(response, np.zeros((1, 2, 2)), np.ones(1), np.zeros(3, dtype=np.int64), 0 * response)

    def of_second_label(votes):
        answers = gather_answers(votes)
        stats = statistics(answers, frobenius.presence(answers.value), lambda row: np.full((*row.shape, 2), 0.5))
        problem = FrobeniusProblem(
            stats, worker_scale=np.ones(3), prior_scale=0.0, label_laplacian=np.zeros((2, 2)), admm_penalty=1.0
        )
        rates = frobenius.answer_rates(state, problem)
        return frobenius.consensus(votes, frobenius.coin_evidence(votes, rates, np.ones(3)), np.zeros(2))[1]

    assert of_second_label(asked) < of_second_label(not_asked) - 0.1  # one no more
    said, unsaid = (printed_consensus(votes, response, np.zeros((1, 2, 2)), np.ones(1), 2.0) for votes in both)
    assert_allclose(said, unsaid, **EXACT)


def test_printed_consensus_by_hand():
    """eq6 as printed: one item, one yes each, two groups."""
    votes = Votes.from_dense([[[1, -1]], [[-1, 1]]])
    D = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.2, 0.8]]])
    C = np.array([[[0.0, 0.1], [0.0, 0.0]], [[-0.1, 0.0], [0.0, -0.3]]])
    first = 0.75**3 * 0.9 * 0.6 + 0.25**3 * 0.8 * 0.5
    second = 0.75**3 * 0.4 * 0.8 + 0.25**3 * 0.4 * 0.5
    expected = np.array([first, second]) / (first + second)
    assert_allclose(printed_consensus(votes, D, C, np.array([0.75, 0.25]), 3.0), expected, **EXACT)


def test_printed_consensus_without_a_yes():
    """D8: products over no vote are equal for all labels, which is no evidence for the only one."""
    for n_labels, share in ((1, 0.5), (2, 0.5), (4, 0.25)):
        votes = Votes.from_dense(-np.ones((3, 1, n_labels), dtype=int))
        none = np.zeros((3, n_labels, n_labels))
        assert_allclose(printed_consensus(votes, none, none[:1], np.ones(1), 2.0), share, **EXACT)


def test_vote_weights_by_hand():
    """D8: below an equal share a vote counts less, above it no more than one vote."""
    zeros = np.zeros((3, 1, 1))
    state = FrobeniusState(zeros, zeros, np.array([0.6, 1 / 3, 1 / 15]), np.arange(3), zeros)
    assert_allclose(frobenius.vote_weights(state, 2.0), [1, 1, 0.04], **EXACT)


def test_worker_cost_by_hand():
    """eq12: product of the diagonal over the labels said yes to, averaged over answers; a newcomer costs the mean."""
    votes = Votes.from_dense([[[1, 1], [1, -1]], [[-1, -1], [0, 0]], [[0, 0], [0, 0]]])
    D = np.array([[[0.5, 0.5], [0.2, 0.8]]] * 3)
    assert_allclose(worker_cost(gather_answers(votes), D), [(0.4 + 0.5) / 2, 1.0, (0.4 + 0.5 + 1.0) / 3], **EXACT)
    nobody = gather_answers(votes.select(votes.value == 0))
    assert_array_equal(worker_cost(nobody, D), [1.0, 1.0, 1.0])
    useless = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    assert worker_cost(gather_answers(Votes.from_dense([[[1, 1]]])), useless)[0] > 0  # eq13 divides by it


# -- the print ----------------------------------------------------------------------------------------------------


def test_print_makes_all_groups_equal(fits):
    """D2: eq21 as printed gives one C for all groups, and eq23 then one weight."""
    fit = fit_frobenius(fits[0][0].votes, printed=True)
    assert_allclose(fit.state.group_weights, 1 / 5, **EXACT)
    assert_allclose(fit.state.commonality, fit.state.commonality[[0] * 5], **EXACT)
    ours = fits[0][1].state
    assert ours.group_weights.max() > 2 * ours.group_weights.min()
    assert np.ptp(ours.commonality, axis=0).max() > 0.1


def test_self_representation_is_perfect_before_it_starts(crowd):
    """D1: with D = I and C = 0 everybody's residual is zero, whatever he says."""
    answers = gather_answers(crowd.votes)
    signed = answers.value.astype(float)
    _, problem, _ = small(0)
    problem = replace(problem, data=statistics(answers, signed, lambda part: signed[part]))
    identity = np.tile(np.eye(6), (25, 1, 1))
    assert_allclose(worker_residuals(identity, np.zeros((1, 6, 6)), problem), 0, **EXACT)
    assert problem.data.answer_norm.min() > 0


def test_self_anchor_cannot_tell_spammers_from_the_reliable(fits):
    """D1: everybody repeats himself well, a uniform spammer leads or shares the lead, and the consensus suffers."""
    for crowd, ours in fits:
        fit = fit_frobenius(crowd.votes, anchor="self")
        weight, our_weight = (one.group_weights[one.worker_group] for one in (fit, ours))
        uniform, reliable = (crowd.worker_kind == kind for kind in ("uniform_spammer", "reliable"))
        assert weight[uniform].max() >= weight[reliable].max()
        assert our_weight[uniform].max() < our_weight[reliable].min()
        scores = [metrics.jaccard(crowd.truth, table(crowd.votes, one) > 0.5) for one in (fit, ours)]
        assert scores[0] < scores[1] - 0.05


def test_residual_per_answer_would_favour_who_never_varies():
    """D7: why the scale is the variation of the answers."""
    crowd = crowd_of(0)
    answers = gather_answers(crowd.votes)
    per_answer = frobenius.answer_variation(answers) / answers.per_worker
    uniform = crowd.worker_kind == "uniform_spammer"
    assert per_answer[uniform].max() < 0.1 * per_answer[~uniform].min()


def test_answer_variation_by_hand():
    """Yes, yes, no of one worker, one no of another; habits: the other answers, and one at the crowd's rate."""
    answers = gather_answers(Votes.from_dense([[[1], [1], [-1]], [[-1], [0], [0]]]))
    crowd = 2 / 4
    first = 2 * (1 - (1 + crowd) / 3) ** 2 + ((2 + crowd) / 3) ** 2
    assert_allclose(frobenius.answer_variation(answers), [first, crowd**2], **EXACT)


# -- fits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["simplex", "unit"])
def test_toy_sets(toy_votes, rows):
    fit = fit_frobenius(toy_votes, rows=rows)
    assert_array_equal(fit.pair_proba > 0.5, [True, False, False, True])
    assert fit.state.n_groups == 3  # no more groups than workers
    power = {"simplex": 1, "unit": 2}[rows]  # D4
    assert_allclose(np.sum(np.abs(fit.state.individuality) ** power, axis=2), 1, **EXACT)


def test_consensus_anchor_keeps_up_with_majority(fits):
    """D1: far above it on crowds with spammers (measured .80, .86, .82 against .51, .58, .62)."""
    for crowd, fit in fits:
        ours = metrics.jaccard(crowd.truth, table(crowd.votes, fit) > 0.5)
        assert ours > metrics.jaccard(crowd.truth, MajorityVote().fit(crowd.votes).predict()) + 0.1


def test_anchor_follows_the_consensus(fits):
    """D1: represented by majority alone, as in the first round, workers are known less well."""
    crowd, fit = fits[0]
    first = fit_frobenius(crowd.votes, max_iter=1)
    assert not first.converged
    better, worse = (metrics.jaccard(crowd.truth, table(crowd.votes, one) > 0.5) for one in (fit, first))
    assert better > worse + 0.02


def test_sparse_real_crowd(shared_data):
    """D7: most workers answered one to three clips; without `prior_scale` the smallest groups lead, and it is .38."""
    folder = shared_data / "sonyc_ust_fine_val"
    votes = amcc.read_votes(folder / "annotations.csv.gz")
    truth, known = amcc.read_truth(folder / "truth.csv", known_items=folder / "truth_items.csv").matrices(
        votes.item_names, votes.label_names
    )
    ours = metrics.jaccard(truth, table(votes, fit_frobenius(votes, max_iter=20)) > 0.5, known)
    assert ours > metrics.jaccard(truth, MajorityVote().fit(votes).predict(), known) + 0.05


def test_spammers_are_in_groups_of_low_weight(fits):
    for crowd, fit in fits:
        spammer = np.char.endswith(crowd.worker_kind, "spammer")
        weight = fit.state.group_weights[fit.state.worker_group]
        assert np.mean(weight[spammer] < np.median(weight[~spammer])) >= 0.75
        assert weight[crowd.worker_kind == "reliable"].min() > weight[spammer].mean()


def test_fit_is_consistent(fits):
    crowd, fit = fits[1]
    assert fit.pair_proba.shape == (len(crowd.votes.pairs),)
    assert_allclose(fit.state.individuality.sum(axis=2), 1, **EXACT)
    assert fit.state.individuality.min() >= 0
    assert_allclose(fit.state.group_weights.sum(), 1, **EXACT)
    assert fit.converged
    assert fit.n_iter == len(fit.objective_history)
    assert abs(fit.objective_history[-1] - fit.objective_history[-2]) < 1e-5
    assert ((fit.worker_cost > 0) & (fit.worker_cost <= 1)).all()
    assert_allclose(np.diag(fit.label_correlation), 1, **EXACT)


def test_order_and_names_do_not_matter_and_the_seed_does(crowd):
    votes = crowd.votes
    fit = fit_frobenius(votes)
    assert_array_equal(fit.pair_proba, fit_frobenius(votes).pair_proba)
    names = votes.worker_names.to_pylist()
    reversed_workers = Votes.from_codes(
        votes.item[::-1], (votes.n_workers - 1 - votes.worker)[::-1], votes.label[::-1], votes.value[::-1],
        item_names=votes.item_names, worker_names=names[::-1], label_names=votes.label_names,
    )  # fmt: skip
    other = fit_frobenius(reversed_workers)
    assert_allclose(other.pair_proba, fit.pair_proba, rtol=0, atol=1e-9)
    assert_allclose(other.worker_cost[::-1], fit.worker_cost, rtol=0, atol=1e-9)
    seeds = [fit_frobenius(votes, random_state=seed).state.worker_group for seed in range(5)]
    assert any(not np.array_equal(fit.state.worker_group, groups) for groups in seeds)


def test_half_of_the_labels_unasked_still_works():
    crowd = simulate_crowd(CrowdSpec(n_items=400, n_workers=30, n_labels=8, asked_share=0.5, seed=5))
    fit = fit_frobenius(crowd.votes)
    ours = metrics.jaccard(crowd.truth, table(crowd.votes, fit) > 0.5)
    assert ours > metrics.jaccard(crowd.truth, MajorityVote().fit(crowd.votes).predict()) - 0.02


T1 = np.array([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"anchor": "self"},
        {"printed": True},
        {"rows": "unit"},
        {"hsic_weight": 0.0},
        {"n_groups": 50},
        {"n_groups": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "dense",
    [
        [[[1, -1], [-1, -1], [1, 1]]],
        [[[1, -1]], [[1, 1]], [[-1, -1]]],
        [[[1], [-1]], [[1], [-1]], [[-1], [-1]]],
        [[[1]]],
        [[[-1]]],
        np.concatenate([T1, -np.ones((3, 2, 1), dtype=int)], axis=2),
        np.concatenate([T1, np.zeros((3, 2, 1), dtype=int)], axis=2),
        np.concatenate([T1, np.zeros((1, 2, 2), dtype=int)], axis=0),
        np.concatenate([T1, np.zeros((3, 1, 2), dtype=int)], axis=1),
        np.ones((4, 5, 3), dtype=int),
        -np.ones((4, 5, 3), dtype=int),
        np.where(np.arange(60).reshape(3, 5, 4) % 13 == 0, 1, 0),
    ],
    ids=[
        "one worker", "one item", "one label", "one yes", "one no", "never given", "never asked", "silent worker",
        "unanswered item", "all yes", "all no", "five votes",
    ],
)  # fmt: skip
def test_tiny_inputs(dense, settings):
    votes = Votes.from_dense(dense)
    fit = fit_frobenius(votes, **settings)
    for proba in (fit.pair_proba, fit.label_prior):
        assert ((proba >= 0) & (proba <= 1)).all()
    assert ((fit.label_prior > 0) & (fit.label_prior < 1)).all()  # its log-odds are wanted
    assert np.isfinite(fit.objective_history).all()
    assert np.isfinite(fit.evidence).all()
    assert np.isfinite(fit.prior).all()
    assert (fit.worker_cost > 0).all()
    assert np.isfinite(fit.state.response).all()
    assert ((fit.group_rates > 0) & (fit.group_rates < 1)).all()
    assert fit.worker_group.max() < len(fit.group_weights) <= min(settings.get("n_groups", 5), votes.n_workers)
    if not settings.get("printed"):
        assert np.diff(fit.objective_history).max(initial=0.0) <= 1e-12


def test_one_worker_is_believed():
    dense = np.where(np.random.default_rng(0).random((1, 40, 4)) < 0.3, 1, -1)
    votes = Votes.from_dense(dense)
    assert_array_equal(table(votes, fit_frobenius(votes)) > 0.5, dense[0] > 0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_groups": 0}, "n_groups must be at least 1; got 0"),
        ({"weight_exponent": 1.0}, "weight_exponent must be above 1"),
        ({"hsic_weight": -1.0}, "hsic_weight must be at least 0"),
        ({"laplacian_weight": np.inf}, "laplacian_weight must be at least 0"),
        ({"rows": "columns"}, "rows must be 'simplex' or 'unit'"),
        ({"anchor": "truth"}, "anchor must be 'consensus' or 'self'"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"tol": 0.0}, "tol must be positive"),
    ],
)
def test_settings_out_of_range(toy_votes, settings, message):
    with pytest.raises(ParameterError, match=message):
        fit_frobenius(toy_votes, **settings)


def test_too_many_labels_are_refused_before_anything_is_made():
    """10⁵ labels: D_w alone would be 80 GB a worker, and one number for each answer and label 1 GB."""
    n_items = 10_000
    item = np.arange(n_items)
    votes = Votes.from_codes(
        item, item % 3, item % 100_000, np.ones(n_items, dtype=np.int8),
        item_names=range(n_items), worker_names=range(3), label_names=range(100_000),
    )  # fmt: skip
    votes.answers_per_worker  # noqa: B018  (counted once for all models)
    tracemalloc.start()
    with pytest.raises(
        TooLargeError, match=r"must fit into 2.0 GB; 3 workers × 100000 × 100000 labels × 100000 .*Use AMCC"
    ):
        fit_frobenius(votes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6


@pytest.mark.parametrize("asked_share", [1.0, 0.5], ids=["whole answers", "partial answers"])
def test_memory_is_what_the_limit_counts(asked_share, monkeypatch):
    """A limit just below what is really held refuses the fit: the estimate is not too low."""
    votes = simulate_crowd(
        CrowdSpec(n_items=60, n_workers=50, n_labels=24, asked_share=asked_share, answers_per_item=4, seed=1)
    ).votes
    fit_frobenius(votes, max_iter=1)  # everything imported and counted
    tracemalloc.start()
    fit_frobenius(votes, max_iter=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    monkeypatch.setattr(frobenius, "MAX_NUMBERS", peak // 8 - 2 * frobenius.BLOCK_NUMBERS)
    with pytest.raises(TooLargeError, match="Use AMCC"):
        fit_frobenius(votes)


def test_no_votes_at_all(toy_votes):
    fit = fit_frobenius(toy_votes.select(toy_votes.value == 0))
    assert fit.pair_proba.shape == (0,)
    assert_array_equal(fit.label_prior, [0.5, 0.5])


# -- known truth --------------------------------------------------------------------------------------------------


def gold_of(crowd: SimulatedCrowd, known_items: slice) -> Gold:
    pairs = crowd.votes.pairs
    known = np.zeros(crowd.votes.n_items, dtype=bool)
    known[known_items] = True
    return Gold(crowd.truth[pairs.item, pairs.label], known[pairs.item])


MODES = [{}, {"anchor": "self"}, {"printed": True}]


@pytest.mark.parametrize("settings", MODES, ids=str)
def test_known_truth_is_kept(crowd, settings):
    gold = gold_of(crowd, slice(0, 50))
    fit = fit_frobenius(crowd.votes, gold, **settings)
    assert_array_equal(fit.pair_proba[gold.known], gold.present[gold.known])
    assert_array_equal(np.abs(fit.prior[gold.known]), 50.0)  # so votes on these pairs are judged by their truth
    assert np.abs(fit.prior[~gold.known]).max() < 10


def test_known_truth_is_the_anchor_in_every_round(crowd, monkeypatch):
    gold = gold_of(crowd, slice(0, 50))
    anchors, original = [], frobenius._anchor

    def watched(votes, answers, proba):
        anchors.append(proba)
        return original(votes, answers, proba)

    monkeypatch.setattr(frobenius, "_anchor", watched)
    fit_frobenius(crowd.votes, gold, max_iter=4)
    assert len(anchors) >= 5
    for proba in anchors:
        assert_array_equal(proba[gold.known], gold.present[gold.known])


def test_known_truth_teaches_who_is_right():
    """Two of three workers lie on every item: nobody could know, but for the truth of some items."""
    rng = np.random.default_rng(0)
    truth = rng.random((60, 3)) < 0.4
    wrong = rng.random((60, 3)) < 0.4
    dense = np.where(np.stack([truth, wrong, wrong]), 1, -1)
    votes = Votes.from_dense(dense)
    pairs = votes.pairs
    gold = Gold(truth[pairs.item, pairs.label], pairs.item < 30)
    unseen, right = pairs.item >= 30, truth[pairs.item, pairs.label]
    taught, untaught = (fit_frobenius(votes, known).pair_proba[unseen] > 0.5 for known in (gold, None))
    assert np.mean(taught == right[unseen]) > 0.9
    assert np.mean(untaught == right[unseen]) < 0.8


# -- the course of a fit ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"anchor": "self"}, {"rows": "unit"}, {"weight_exponent": 3.0}], ids=str)
@pytest.mark.parametrize("asked_share", [1.0, 0.5], ids=["whole answers", "partial answers"])
def test_no_round_raises_the_objective(settings, asked_share):
    """ADMM and anchor included; up to rounding errors."""
    for seed in range(3):
        crowd = simulate_crowd(
            CrowdSpec(n_items=120, n_workers=20, n_labels=5, answers_per_item=4, asked_share=asked_share, seed=seed)
        )
        history = fit_frobenius(crowd.votes, max_iter=40, **settings).objective_history
        assert np.diff(history).max(initial=0.0) <= 1e-12


def test_an_anchor_that_raises_the_objective_is_not_followed():
    """Half of the way if that is better, none if nothing is."""
    state, problem, _ = small(0)
    value = objective(state, problem)
    place = frobenius.Place(state, problem, np.array([0.0]), value)
    much_worse = replace(problem.data, answer_norm=problem.data.answer_norm + 1e6)
    asked = []

    def half_is_fine(proba):
        asked.append(float(proba[0]))
        return problem.data if proba[0] <= 0.5 else much_worse

    moved = frobenius.follow_consensus(place, np.array([1.0]), half_is_fine)
    assert asked == [1.0, 0.5]
    assert moved.proba[0] == 0.5
    assert moved.value <= value
    stayed = frobenius.follow_consensus(place, np.array([1.0]), lambda proba: much_worse)
    assert stayed.proba[0] == 0.0
    assert stayed.value == value


def test_fit_that_has_not_settled_says_so(crowd):
    fit = fit_frobenius(crowd.votes, max_iter=2)
    assert not fit.converged
    assert fit.n_iter == 2
    assert fit.monitor.change == abs(fit.objective_history[1] - fit.objective_history[0]) > 1e-5
    with pytest.warns(ConvergenceWarning, match=r"AMCC stopped after 2 iterations, last change .* > tol=1.0e-05"):
        fit.monitor.warn_unless_converged("AMCC")
    assert fit.consensus_change > 0.01


# -- what is published --------------------------------------------------------------------------------------------


def test_group_rates_are_means_over_the_groups_votes(monkeypatch):
    """Expected yeses over expected votes of the group's workers, by label; without votes, the crowd's."""
    state, _, _ = small(0)
    state = replace(state, worker_group=np.array([0, 0, 0, 1, 1, 1, 1]))
    rng = np.random.default_rng(0)
    weight = rng.uniform(1, 5, (2, W, L))
    weight[:, :3, 2] = 0  # nobody of group 0 voted on the last label
    rate = rng.uniform(0.3, 0.7, (2, W, L))
    monkeypatch.setattr(frobenius, "RATE_PRIOR", 1e-5)
    rates = frobenius.pooled_rates(rate * weight, weight, state)
    assert_allclose(rates.group[0, 0, :2], np.average(rate[0, :3, :2], axis=0, weights=weight[0, :3, :2]), rtol=1e-4)
    assert_allclose(rates.group[1, 1], np.average(rate[1, 3:], axis=0, weights=weight[1, 3:]), rtol=1e-4)
    assert_allclose(rates.group[:, 0, 2], rates.crowd[:, 2], rtol=1e-4)
    assert_allclose(rates.worker[:, 0, 2], rates.group[:, 0, 2], rtol=1e-4)
    assert_allclose(rates.crowd[0], np.average(rate[0], axis=0, weights=weight[0]), rtol=1e-4)
    assert_allclose(rates.worker[0, 4], rate[0, 4], rtol=1e-4)


def test_label_without_votes_has_the_rates_of_the_others():
    state, _, _ = small(0)
    weight = np.ones((2, W, L))
    weight[:, :, 0] = 0
    count = weight * np.array([0.8, 0.1])[:, None, None]
    rates = frobenius.pooled_rates(count, weight, state)
    assert_allclose(rates.worker, np.broadcast_to(np.array([0.8, 0.1])[:, None, None], (2, W, L)), **EXACT)


def test_vote_rates_are_those_of_answer_rates_for_a_perfect_representation(crowd):
    """Where D_w + C_m gives every answer exactly (his own answers as anchor, the identity), both count the same."""
    votes = crowd.votes
    answers = gather_answers(votes)
    given = frobenius.presence(answers.value)
    state = FrobeniusState(
        np.tile(np.eye(6), (25, 1, 1)), np.zeros((1, 6, 6)), np.ones(1), np.zeros(25, dtype=np.int64),
        np.zeros((25, 6, 6)),
    )  # fmt: skip
    problem = FrobeniusProblem(statistics(answers, given, given.__getitem__), np.ones(25), 0.0, np.zeros((6, 6)), 1.0)
    assert_allclose(frobenius.answer_rates(state, problem).worker[0].min(), 1 - frobenius.RATE_FLOOR, **EXACT)
    one_worker = votes.select(votes.worker == 3)
    rates = frobenius.vote_rates(one_worker, state, (one_worker.value > 0).astype(float))
    assert_allclose(rates.worker[:, 3], frobenius.answer_rates(state, problem).worker[:, 3], **EXACT)


def test_published_groups(fits):
    for crowd, fit in fits:
        assert (np.diff(fit.group_weights) <= 0).all()  # the best first
        assert_allclose(fit.group_weights.sum(), 1, **EXACT)
        assert fit.group_rates.shape == (2, 5, 10)
        assert ((fit.group_rates > 0) & (fit.group_rates < 1)).all()
        informativeness = (fit.group_rates[0] - fit.group_rates[1]).mean(axis=1)
        assert informativeness.argmax() == 0
        assert fit.worker_group.shape == (40,)
        assert fit.commonality.shape == (5, 10, 10)
        assert fit.individuality.shape == (40, 10, 10)
        assert_allclose(fit.label_correlation, fit.label_correlation.T, **EXACT)
        reliable = crowd.worker_kind == "reliable"
        assert fit.worker_group[reliable].max() <= 1


# -- documents ----------------------------------------------------------------------------------------------------


def deviations() -> dict[str, str]:
    page = (Path(__file__).parents[2] / "docs" / "deviations.md").read_text()
    entries = re.split(r"^## (D\d+)\. ", page, flags=re.MULTILINE)
    return dict(zip(entries[1::2], entries[2::2], strict=True))


def test_every_deviation_is_explained():
    entries = deviations()
    assert list(entries) == [f"D{number}" for number in range(1, 13)]
    for name, text in entries.items():
        for part in ("Printed", "If followed", "We do", "Why", "Tests?"):
            assert re.search(rf"\*{part}\*", text), f"{name} does not say *{part}*"


def test_tests_named_in_the_deviations_exist():
    folder = Path(__file__).parents[1]
    existing = set(re.findall(r"def (test_\w+)", "".join(path.read_text() for path in folder.rglob("test_*.py"))))
    named = re.findall(r"`(?:Test\w+::|::)?(test_\w+)`", "".join(deviations().values()))
    assert len(named) > 30
    assert set(named) <= existing
