"""The paper's objective: every update against brute force, and the deviations D1–D8 of docs/deviations.md."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import amcc
from amcc import MajorityVote, ParameterError, Votes, linalg, metrics
from amcc.consensus.amcc import frobenius
from amcc.consensus.amcc.frobenius import (
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
    project_rows,
    statistics,
    theorem_one_bound,
    update_commonality,
    update_group_weights,
    update_individuality,
    worker_cost,
    worker_residuals,
)
from amcc.data.simulate import CrowdSpec, SimulatedCrowd, simulate_crowd
from amcc.errors import InputError

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
        **vars(stats),
        worker_scale=rng.uniform(1, 3, W),
        prior_scale=0.5,
        label_laplacian=linalg.label_laplacian(linalg.label_similarity(rng.random((N, L)))),
        admm_penalty=2.0,
        **({"hsic_weight": 0.3, "laplacian_weight": 0.7, "weight_exponent": 3.0} | settings),
    )
    D = project_rows(rng.normal(size=(W, L, L)), "simplex")
    weights = rng.dirichlet(np.ones(M) * 5)
    state = FrobeniusState(D, rng.normal(size=(M, L, L)), weights, rng.permutation(np.arange(W) % M), D, 0 * D)
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
    assert problem.gram.shape[1] == (L if partial else 1)
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
    updated = update_individuality(state, problem, n_steps=1)
    target = state.admm_copy[0] - state.admm_dual[0]
    total = problem.worker_scale.sum()

    def at(flat):
        D = state.individuality.copy()
        D[0] = flat.reshape(L, L)
        penalty = problem.admm_penalty * np.sum((D[0] - target) ** 2)
        return total * dense_objective(replace(state, individuality=D), problem, dense) + penalty

    brute = minimize(at, state.individuality[0].ravel(), method="BFGS", options={"gtol": 1e-8})
    assert_allclose(updated.individuality[0].ravel(), brute.x, rtol=0, atol=1e-5)
    assert_allclose(updated.admm_copy, project_rows(updated.individuality, rows), **EXACT)
    assert_allclose(updated.admm_dual, updated.individuality - updated.admm_copy, **EXACT)


def test_admm_ends_at_the_constrained_minimum():
    state, problem, dense = small(5, hsic_weight=0.0)
    ended = update_individuality(state, problem, n_steps=3000)
    assert_allclose(ended.individuality, ended.admm_copy, rtol=0, atol=1e-6)  # copy and D_w approach each other

    def at(flat):
        return dense_residual(2, flat.reshape(L, L) + state.commonality[state.worker_group[2]], dense)

    sums = [{"type": "eq", "fun": lambda x, g=g: x.reshape(L, L)[g].sum() - 1} for g in range(L)]
    brute = minimize(at, np.full(L * L, 1 / L), bounds=[(0, 1)] * (L * L), constraints=sums, options={"ftol": 1e-13})
    assert_allclose(at(ended.admm_copy[2].ravel()), brute.fun, rtol=0, atol=1e-6)


@pytest.mark.parametrize("rows", ["simplex", "unit"])
def test_copy_and_individuality_approach_each_other(rows):
    state, problem, _ = small(6, rows=rows)
    gaps = []
    for _ in range(4):
        state = update_individuality(state, problem, n_steps=40)
        gaps.append(np.abs(state.individuality - state.admm_copy).max())
    assert gaps[-1] < 1e-3
    assert gaps[-1] < gaps[0] / 5


@pytest.mark.parametrize("seed", range(5))
def test_theorem_one_makes_the_subproblem_convex(seed):
    """D6: at the bound the Hessian is positive definite, whatever the data say (here: nothing)."""
    state, problem, _ = small(seed, hsic_weight=5.0)
    state = replace(
        state, worker_group=np.zeros(W, dtype=np.int64), commonality=state.commonality[:1], group_weights=np.ones(1)
    )
    silent = replace(problem, gram=0 * problem.gram)
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
    assert fit_frobenius(crowd.votes, printed=True).individuality_moved < 0.05


# -- consensus and cost -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("partial", [True, False], ids=["partial answers", "whole answers"])
def test_answer_rates_are_means_over_the_answered_items(partial, monkeypatch):
    """D8: rates from statistics equal those computed item by item."""
    monkeypatch.setattr(frobenius, "RATE_PRIOR", 0.0)
    monkeypatch.setattr(frobenius, "RATE_FLOOR", -10.0)
    state, problem, dense = small(8, partial=partial)
    hit, false_alarm = frobenius.answer_rates(state, problem)
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
    response = np.tile([[0.8, 0.1], [0.1, 0.8]], (3, 1, 1))
    state = FrobeniusState(
        response, np.zeros((1, 2, 2)), np.ones(1), np.zeros(3, dtype=np.int64), response, 0 * response
    )

    def of_second_label(votes):
        answers = gather_answers(votes)
        stats = statistics(
            answers, frobenius.presence(answers.value), lambda part: np.tile(0.5, (len(answers.item[part]), 2))
        )
        problem = FrobeniusProblem(
            **vars(stats), worker_scale=np.ones(3), prior_scale=0.0, label_laplacian=np.zeros((2, 2)), admm_penalty=1.0
        )
        return frobenius.consensus(votes, state, problem, np.full(2, 0.5))[1]

    assert of_second_label(asked) < of_second_label(not_asked) - 0.1  # one no more
    assert_allclose(
        frobenius.printed_consensus(asked, state, 2.0), frobenius.printed_consensus(not_asked, state, 2.0), **EXACT
    )


def test_printed_consensus_by_hand():
    """eq6 as printed: one item, one yes each, two groups."""
    votes = Votes.from_dense([[[1, -1]], [[-1, 1]]])
    D = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.2, 0.8]]])
    C = np.array([[[0.0, 0.1], [0.0, 0.0]], [[-0.1, 0.0], [0.0, -0.3]]])
    state = FrobeniusState(D, C, np.array([0.75, 0.25]), np.zeros(2, dtype=np.int64), D, 0 * D)
    first = 0.75**3 * 0.9 * 0.6 + 0.25**3 * 0.8 * 0.5
    second = 0.75**3 * 0.4 * 0.8 + 0.25**3 * 0.4 * 0.5
    expected = np.array([first, second]) / (first + second)
    assert_allclose(frobenius.printed_consensus(votes, state, 3.0), expected, **EXACT)


def test_vote_weights_by_hand():
    """D8: below an equal share a vote counts less, above it no more than one vote."""
    zeros = np.zeros((3, 1, 1))
    state = FrobeniusState(zeros, zeros, np.array([0.6, 1 / 3, 1 / 15]), np.arange(3), zeros, zeros)
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
    assert np.abs(ours.commonality[0] - ours.commonality[1]).max() > 0.1


def test_self_representation_is_perfect_before_it_starts(crowd):
    """D1: with D = I and C = 0 everybody's residual is zero, whatever he says."""
    answers = gather_answers(crowd.votes)
    signed = answers.value.astype(float)
    _, problem, _ = small(0)
    problem = replace(problem, **vars(statistics(answers, signed, lambda part: signed[part])))
    identity = np.tile(np.eye(6), (25, 1, 1))
    assert_allclose(worker_residuals(identity, np.zeros((1, 6, 6)), problem), 0, **EXACT)
    assert problem.answer_norm.min() > 0


@pytest.mark.parametrize("seed", range(3))
def test_self_anchor_is_led_by_the_predictable(seed):
    """D1: the weight goes to uniform spammers (to single sloppy workers as well, at seed 2), not to the reliable."""
    crowd = crowd_of(seed)
    fit = fit_frobenius(crowd.votes, anchor="self")
    weight = fit.state.group_weights[fit.state.worker_group]
    assert weight[crowd.worker_kind == "uniform_spammer"].max() > (0.15 if seed == 2 else 0.9)
    assert weight[crowd.worker_kind == "reliable"].max() < 0.1
    majority = metrics.jaccard(crowd.truth, MajorityVote().fit(crowd.votes).predict())
    assert metrics.jaccard(crowd.truth, table(crowd.votes, fit) > 0.5) < majority


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
    assert_allclose(np.diag(fit.label_similarity), 1, **EXACT)


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
    "settings", [{}, {"anchor": "self"}, {"printed": True}, {"rows": "unit"}, {"hsic_weight": 0.0}]
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
    ],
    ids=["one worker", "one item", "one label", "one yes", "one no", "never given", "never asked", "silent worker"],
)
def test_tiny_inputs(dense, settings):
    votes = Votes.from_dense(dense)
    fit = fit_frobenius(votes, **settings)
    for proba in (fit.pair_proba, fit.label_prior):
        assert ((proba >= 0) & (proba <= 1)).all()
    assert np.isfinite(fit.objective_history).all()
    assert (fit.worker_cost > 0).all()
    assert np.isfinite(fit.state.response).all()


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


def test_too_many_labels_are_refused(toy_votes, monkeypatch):
    monkeypatch.setattr(frobenius, "MAX_NUMBERS", 20)
    with pytest.raises(InputError, match=r"3 workers and 2 labels.*loss='likelihood'"):
        fit_frobenius(toy_votes)


def test_no_votes_at_all(toy_votes):
    fit = fit_frobenius(toy_votes.select(toy_votes.value == 0))
    assert fit.pair_proba.shape == (0,)
    assert_array_equal(fit.label_prior, [0.5, 0.5])
