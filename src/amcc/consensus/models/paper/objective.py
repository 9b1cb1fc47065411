"""The objective eq5, which is eq2 with the penalties of eq3 and eq4 written out; one function per part.

    sum over groups m of  group_weights[m] ** weight_exponent
                          · (residual[m] + laplacian_weight · tr(C_mᵀ L C_m)) / scale[m]
    − hsic_weight · (sum over pairs of workers of one group of HSIC(D_w, D_v)) / total scale

`residual[m]` is the sum over the group's workers of ‖A_w − Y_w · (D_w + C_m)‖², over asked cells only (D13): eq1 with
the consensus Y_w in the place of A_w on the right (D1). `scale[m]` is the amount of data of the group (D7), so that a
group is not better because it is smaller.
"""

from __future__ import annotations

import numpy as np

from amcc import linalg
from amcc.arrays import Floats, Ints, weight_per_code
from amcc.consensus.models.paper.answers import times, weighted_sums, worker_blocks
from amcc.consensus.models.paper.problem import RESIDUAL_FLOOR, PaperProblem, PaperState, members_of, who_counts

# How often a step that raises the objective is halved before it is given up: 1/16 of the way is hardly a step.
HALVINGS = 5


def objective(state: PaperState, problem: PaperProblem) -> float:
    """eq5, with its scales (D6, D7) or by its letter."""
    if problem.settings.printed:
        return printed_objective(state, problem)
    return float(group_terms(state, problem).sum())


def printed_objective(state: PaperState, problem: PaperProblem) -> float:
    """eq5 by its letter: each worker in each group, sums that nothing divides, and no λ before the Laplacian (D2)."""
    settings = problem.settings
    residuals = worker_residuals(state.individuality, state.commonality, problem).sum(axis=1)
    dependent = hsic_penalties(state.individuality, state.worker_group, state.n_groups)
    data = state.group_weights**settings.weight_exponent @ residuals
    common = commonality_penalties(state.commonality, problem)
    return float(data + settings.hsic_weight * dependent.sum() + common.sum())


def group_terms(state: PaperState, problem: PaperProblem) -> Floats:
    """(n_groups,) what each group adds to eq5, with the scale of D6 and D7."""
    weights = state.group_weights**problem.settings.weight_exponent
    penalty = hsic_penalties(state.individuality, state.worker_group, state.n_groups)
    return np.asarray(
        weights * group_losses(state, problem) + problem.settings.hsic_weight * penalty / problem.total_scale
    )


def group_losses(state: PaperState, problem: PaperProblem) -> Floats:
    """(n_groups,) residual and Laplacian penalty of each group per unit of its scale (D7)."""
    residuals = worker_residuals(state.individuality, state.commonality, problem)
    member = who_counts(state, problem)
    return per_scale(group_totals(residuals, member, state.commonality, problem), group_scales(member, problem))


def group_totals(residuals: Floats, member: Floats, commonality: Floats, problem: PaperProblem) -> Floats:
    """(n_groups,) losses before they are divided: the brackets of eq19.

    Every group starts with `prior_scale` of data, all unexplained: a small group has as many parameters as a large one,
    and would be explained perfectly by them alone.
    """
    own = np.sum(residuals * member, axis=1)
    return np.asarray(own + commonality_penalties(commonality, problem) + problem.prior_scale)


def group_scales(member: Floats, problem: PaperProblem) -> Floats:
    """(n_groups,) the amount of data of each group (D7)."""
    return np.asarray(member @ problem.worker_scale + problem.prior_scale)


def per_scale(loss: Floats, scale: Floats) -> Floats:
    """Losses per unit of scale, both in floors: neither a perfect nor an empty group divides by zero.

    >>> per_scale(np.array([3.0, 0.0, 0.0]), np.array([2.0, 5.0, 0.0])).tolist()
    [1.5, 1e-06, 1e-06]
    """
    return np.maximum(loss / np.maximum(scale, RESIDUAL_FLOOR), RESIDUAL_FLOOR)


def worker_residuals(individuality: Floats, commonality: Floats, problem: PaperProblem) -> Floats:
    """‖A_w − Y_w (D_w + C_m)‖² of eq1, eq2 and eq5 for every worker in every group, (n_groups, n_workers).

    Multiplied out, so that what a worker brings is computed once for all groups: with G = YᵀY and X = YᵀA it is
    ‖A‖² + ⟨D, G D − 2 X⟩ + 2 ⟨C, G D − X⟩ + ⟨C, G C⟩.
    """
    data, n_groups = problem.data, len(commonality)
    # ⟨C, G C⟩ = ⟨C Cᵀ, G⟩ for one G; with one G per column, each column has its own square.
    one_gram = data.gram.shape[1] == 1
    squares = np.einsum("mgl,mhl->mgh" if one_gram else "mgl,mhl->mlgh", commonality, commonality)
    flat, flat_squares = commonality.reshape(n_groups, -1), squares.reshape(n_groups, -1)
    residuals = np.empty((n_groups, problem.n_workers))
    for some in worker_blocks(data.gram):
        own, gram, cross = individuality[some], data.gram[some], data.cross[some]
        represented = times(gram, own) - cross
        alone = data.answer_norm[some] + np.sum(own * (represented - cross), axis=(1, 2))
        mixed = flat @ represented.reshape(len(own), -1).T
        residuals[:, some] = alone + 2 * mixed + flat_squares @ gram.reshape(len(own), -1).T
    # A difference of large sums: rounding may carry what is zero below it.
    return np.maximum(residuals, 0.0, out=residuals)


def dependence(individuality: Floats) -> Floats:
    """H D_w D_wᵀ H, (n_workers, n_labels, n_labels): HSIC of two workers is the sum of products of their entries."""
    gram = np.empty_like(individuality)
    for some in worker_blocks(individuality):
        gram[some] = linalg.centered_gram(individuality[some])
    return gram


def hsic_penalties(individuality: Floats, worker_group: Ints, n_groups: int) -> Floats:
    """Ω of eq3 by group, − sum of HSIC(D_w, D_v) over the pairs of its workers, each pair once and w ≠ v.

    With K_w as in `dependence`, the sum over pairs is (‖Σ K_w‖² − Σ ‖K_w‖²) / 2: no loop over pairs of workers. With
    w = v, as eq3 may be read, the subproblem of D_w would not be quadratic (D5).
    """
    gram = dependence(individuality)
    # Sums of matrices first: workers · labels² instead of workers² · labels².
    together = np.sum(weighted_sums(members_of(worker_group, n_groups), gram) ** 2, axis=(1, 2))
    alone = weight_per_code(worker_group, np.einsum("wgh,wgh->w", gram, gram), n_groups)
    return np.asarray((alone - together) / 2 * linalg.hsic_scale(individuality.shape[1]))


def commonality_penalties(commonality: Floats, problem: PaperProblem) -> Floats:
    """(n_groups,) what eq5 and eq19 charge for each C_m: β tr(C_mᵀ L C_m), and `ridge` ‖C_m‖² (D17)."""
    unlike = laplacian_penalties(commonality, problem.label_laplacian)
    size = np.sum(commonality**2, axis=(1, 2))
    return np.asarray(problem.settings.laplacian_weight * unlike + problem.settings.ridge * size)


def laplacian_penalties(commonality: Floats, laplacian: Floats) -> Floats:
    """tr(C_mᵀ L C_m) of eq4, (n_groups,)."""
    return np.asarray(np.sum(commonality * (laplacian @ commonality), axis=(1, 2)))
