"""Random problems of the paper's objective with their dense twins, and fits, shared by the tests of `models.paper`."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from amcc import Votes, linalg
from amcc.consensus.learned import Gold
from amcc.consensus.models.paper.answers import gather_answers, presence, statistics
from amcc.consensus.models.paper.fitting import PaperFit, fit_paper
from amcc.consensus.models.paper.individuality import project_rows
from amcc.consensus.models.paper.problem import PaperProblem, PaperSettings, PaperState
from amcc.data.simulate import CrowdSpec, SimulatedWorld, simulate_crowd

EXACT = {"rtol": 0, "atol": 1e-9}
W, N, L, M = 7, 12, 3, 2


def small(seed: int = 0, *, partial: bool = True, **settings) -> tuple[PaperState, PaperProblem, np.ndarray]:
    """A random problem and state, and the dense answers and anchor behind it: (2, W, N, L), NaN where not asked."""
    rng = np.random.default_rng(seed)
    value = rng.choice([-1, 0, 1] if partial else [-1, 1], size=(W, N, L))
    value[:, 0] = 1  # everybody answers something
    anchor_table = rng.random((N, L))
    answers = gather_answers(Votes.from_dense(value))
    given = presence(answers.value)
    stats = statistics(answers, given, lambda part: anchor_table[answers.item[part]])
    problem = PaperProblem(
        stats,
        worker_scale=rng.uniform(1, 3, W),
        prior_scale=0.5,
        label_laplacian=linalg.label_laplacian(linalg.label_similarity(rng.random((N, L)))),
        admm_penalty=2.0,
        settings=PaperSettings(**({"hsic_weight": 0.3, "laplacian_weight": 0.7, "weight_exponent": 3.0} | settings)),
    )
    D = project_rows(rng.normal(size=(W, L, L)), "simplex")
    weights = rng.dirichlet(np.ones(M) * 5)
    state = PaperState(D, rng.normal(size=(M, L, L)), weights, rng.permutation(np.arange(W) % M), 0 * D)
    dense = np.stack([np.where(value == 0, np.nan, value > 0), np.broadcast_to(anchor_table, (W, N, L))])
    return state, problem, dense


def dense_residual(w: int, response, dense) -> float:
    answers, anchor = dense[:, w]
    return float(np.nansum((answers - anchor @ response) ** 2))


def dense_objective(state: PaperState, problem: PaperProblem, dense) -> float:
    """eq5 cell by cell and pair by pair."""
    total = 0.0
    for m in range(state.n_groups):
        group = np.flatnonzero(state.worker_group == m)
        C = state.commonality[m]
        loss = problem.prior_scale + problem.settings.laplacian_weight * np.trace(C.T @ problem.label_laplacian @ C)
        loss += problem.settings.ridge * np.sum(C**2)
        loss += sum(dense_residual(w, state.individuality[w] + C, dense) for w in group)
        scale = problem.prior_scale + sum(problem.worker_scale[w] for w in group)
        total += state.group_weights[m] ** problem.settings.weight_exponent * loss / scale
        for w in group:
            for v in group[group > w]:
                alike = linalg.hsic(state.individuality[w], state.individuality[v])
                total -= problem.settings.hsic_weight * alike / problem.worker_scale.sum()
    return total


def dense_printed_objective(state: PaperState, problem: PaperProblem, dense) -> float:
    """eq5 by its letter, cell by cell: every worker in every group; pairs of a group for HSIC, each once (D5)."""
    settings, total = problem.settings, 0.0
    for m, C in enumerate(state.commonality):
        data = sum(dense_residual(w, state.individuality[w] + C, dense) for w in range(problem.n_workers))
        total += state.group_weights[m] ** settings.weight_exponent * data
        total += settings.laplacian_weight * np.trace(C.T @ problem.label_laplacian @ C)
        mates = state.individuality[state.worker_group == m]
        total -= settings.hsic_weight * sum(linalg.hsic(*pair) for pair in combinations(mates, 2))
    return total


def fit_with(votes: Votes, gold: Gold | None = None, **settings) -> PaperFit:
    return fit_paper(votes, gold, PaperSettings(**({"max_iter": 100} | settings)))


def crowd_of(seed: int) -> SimulatedWorld:
    return simulate_crowd(CrowdSpec(n_items=600, n_workers=40, n_labels=10, answers_per_item=6, seed=seed))


def table(votes: Votes, fit: PaperFit) -> np.ndarray:
    proba = np.tile(fit.verdict.label_prior, (votes.n_items, 1))
    proba[votes.pairs.item, votes.pairs.label] = fit.verdict.pair_proba
    return proba


def gold_of(crowd: SimulatedWorld, known_items: slice) -> Gold:
    pairs = crowd.votes.pairs
    known = np.zeros(crowd.votes.n_items, dtype=bool)
    known[known_items] = True
    return Gold(crowd.truth[pairs.item, pairs.label], known[pairs.item])
