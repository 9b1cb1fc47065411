"""The update of the individuality: eq15 to eq18 and Theorem 1.

eq15 is eq5 in D_w alone, with a constraint on its rows. eq16 gives D_w a copy S that obeys the constraint. eq17 moves
"D_w = S" into the function, with a penalty μ and a dual T. eq18 (ADMM) minimises over D_w, over S, and updates T, in
turns. What is evaluated and published is the copy: it obeys the constraint exactly, and D_w only nearly (D4).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from amcc import linalg
from amcc.arrays import Floats
from amcc.consensus.models.paper.answers import times, weighted_sums, worker_blocks
from amcc.consensus.models.paper.objective import HALVINGS, dependence, group_scales, group_terms
from amcc.consensus.models.paper.problem import (
    RESIDUAL_FLOOR,
    PaperProblem,
    PaperSettings,
    PaperState,
    Rows,
    who_counts,
)

# Steps of eq18 per round; the dual is kept for the next. With 5 there are twice as many rounds, no better ones.
ADMM_STEPS = 10
# ADMM penalty where Theorem 1 asks for less, as without HSIC: the data term is of the size of 1 by its scale.
PENALTY_FLOOR = 1.0


def theorem_one_bound(n_labels: int, n_workers: int, hsic_weight: float) -> float:
    """The ADMM penalty from which on D_w's subproblem, eq17, is convex by Theorem 1: 4 L (W − 1) · hsic_weight.

    The proof writes HSIC as tr(K₁ H K₂ H), without (L − 1)⁻². `hsic_weight` is the weight of that trace: for HSIC as
    it is defined, multiply its weight by `linalg.hsic_scale(n_labels)`.

    >>> round(theorem_one_bound(10, 40, 0.1), 9)
    156.0
    """
    return 4.0 * n_labels * (n_workers - 1) * hsic_weight


def admm_penalty(n_labels: int, n_workers: int, settings: PaperSettings) -> float:
    """μ of eq17: Theorem 1's bound for HSIC as defined (by its letter in print), at least `PENALTY_FLOOR` (D6).

    By its letter the bound is (L − 1)² times too large, and so far above what the data weigh that D_w stays where it
    starts. The bound itself is kept: above it eq17 is convex, and eq18 has one minimum to find.
    """
    trace_weight = settings.hsic_weight * (1.0 if settings.printed else linalg.hsic_scale(n_labels))
    return max(theorem_one_bound(n_labels, n_workers, trace_weight), PENALTY_FLOOR)


def individuality_hessian(state: PaperState, problem: PaperProblem) -> Floats:
    """Half the Hessian of eq17 in column l of D_w, times the total scale: (n_workers, K, n_labels, n_labels).

    Linear kernels make HSIC quadratic in D_w, so eq17 is too: data − hsic_weight (L − 1)⁻² Σ_v H D_v D_vᵀ H + μ I.
    """
    weight = _data_weights(state, problem).sum(axis=0)
    return _hessian(weight, problem.data.gram, _mates(state, problem), problem)


def _hessian(weight: Floats, gram: Floats, mates: Floats, problem: PaperProblem) -> Floats:
    attraction = problem.settings.hsic_weight * linalg.hsic_scale(problem.n_labels)
    fixed = problem.admm_penalty * np.eye(problem.n_labels) - attraction * mates
    return np.asarray(weight[:, None, None, None] * gram + fixed[:, None])


def _mates(state: PaperState, problem: PaperProblem) -> Floats:
    """(n_workers, n_labels, n_labels) sum of H D_v D_vᵀ H over the other workers of each worker's group.

    In print, over all other workers: so eq17 has it, and so Theorem 1 counts them. eq15 has the group, eq18 a W* that
    it does not explain (D6).
    """
    gram = dependence(state.individuality)
    if problem.settings.printed:
        return np.asarray(gram.sum(axis=0) - gram)
    return weighted_sums(state.members, gram)[state.worker_group] - gram


def _data_weights(state: PaperState, problem: PaperProblem) -> Floats:
    """(n_groups, n_workers) factor of a worker's residual in a group in eq5, times the total scale.

    Only the own group has one. In print, all have λ_m^r: so eq15 to eq17 have it, and eq18, which is to minimise eq17,
    forgets it (D6).
    """
    counts = who_counts(state, problem)
    scales = np.maximum(group_scales(counts, problem), RESIDUAL_FLOOR)
    powers = state.group_weights**problem.settings.weight_exponent
    return (powers * problem.total_scale / scales)[:, None] * counts


def project_rows(matrix: Floats, rows: Rows) -> Floats:
    """The nearest matrix that obeys the constraint: rows sum to one (eq2, eq5) or have 2-norm one (eq15, eq16), D4."""
    return linalg.project_simplex(matrix) if rows == "simplex" else linalg.project_unit(matrix)


def admm(state: PaperState, problem: PaperProblem, n_steps: int = ADMM_STEPS) -> tuple[Floats, Floats]:
    """Steps of eq18 on D_w, its copy S and its dual T, all workers side by side: the copy and the dual at the end.

    The copy starts as the state's D_w. The other workers' D_v inside HSIC are those of the state: with them fixed, the
    minimum over D_w is one linear system per column, and its matrix stays the same for all steps.
    """
    by_group, mates = _data_weights(state, problem), _mates(state, problem)
    weight, common = by_group.sum(axis=0), weighted_sums(by_group.T, state.commonality)
    copy, dual = np.empty_like(state.individuality), np.empty_like(state.admm_dual)
    for some in worker_blocks(problem.data.gram):
        gram, s, t = problem.data.gram[some], state.individuality[some], state.admm_dual[some]
        inverse = np.asarray(np.linalg.inv(_hessian(weight[some], gram, mates[some], problem)), dtype=np.float64)
        rest = weight[some, None, None] * problem.data.cross[some] - times(gram, common[some])
        from_data = times(inverse, rest)
        inverse *= problem.admm_penalty
        for _ in range(n_steps):
            d = from_data + times(inverse, s - t)  # eq18, first line: the minimum of eq17 over D_w
            ahead = d + t
            s = project_rows(ahead, problem.settings.rows)  # eq18, second line: the nearest copy, as eq16 wants it
            t = ahead - s  # eq18, third line: T + D_w − S
        copy[some], dual[some] = s, t
    return copy, dual


def update_individuality(state: PaperState, problem: PaperProblem, n_steps: int = ADMM_STEPS) -> PaperState:
    """Go from D_w to ADMM's copy (eq17, eq18), group by group only as far as that does not raise eq5.

    ADMM promises to arrive, not to fall on its way. And it moves all workers of a group at once, each as if the others
    stood still, although HSIC ties them together. Where the whole way is too far, a half, a quarter … of it is tried,
    in the end none. Groups do not enter each other's terms, so each finds its own share. The print knows no such care.
    """
    copy, dual = admm(state, problem, n_steps)
    if problem.settings.printed:
        return replace(state, individuality=copy, admm_dual=dual)
    before = group_terms(state, problem)
    share = np.ones(state.n_groups)
    for _ in range(HALVINGS):
        tried = replace(state, individuality=_part_of_the_way(state, copy, share, problem), admm_dual=dual)
        raised = group_terms(tried, problem) > before
        if not raised.any():
            return tried
        share[raised] /= 2
    share[raised] = 0.0
    # A dual that led nowhere would lead there again in the next round: it starts from zero.
    stopped = (share == 0)[state.worker_group, None, None]
    return replace(
        state, individuality=_part_of_the_way(state, copy, share, problem), admm_dual=np.where(stopped, 0.0, dual)
    )


def _part_of_the_way(state: PaperState, copy: Floats, share: Floats, problem: PaperProblem) -> Floats:
    """D_w moved towards the copy by its group's share."""
    if (share == 1).all():
        return copy
    part = share[state.worker_group, None, None]
    between = state.individuality + part * (copy - state.individuality)
    # The simplex is convex: what lies between two of its points is in it. Rows of norm one have to be brought back.
    if problem.settings.rows == "unit":
        between = project_rows(between, "unit")
    return np.where(part == 0, state.individuality, between)
