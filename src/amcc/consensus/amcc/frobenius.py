"""The paper's own objective, eq5, with deviations D1–D8 (docs/deviations.md): one function per equation.

A worker's answers are represented by an anchor, answers ≈ anchor · (individuality + commonality of his group), and
the groups are weighted by how well that works:

    sum over groups m of  group_weights[m] ** weight_exponent
                          · (residual[m] + laplacian_weight · tr(C_mᵀ L C_m)) / scale[m]
    − hsic_weight · (sum over pairs of workers of one group of HSIC(D_w, D_v)) / total scale

`residual[m]` is the sum over the group's workers of ‖answers − anchor · (D_w + C_m)‖², over asked cells only.
`scale[m]` is the amount of data of the group (D7), so that a group is not better because it is smaller. The exact
updates of commonality, weights and groups cannot raise this one function; the ADMM step of the individuality may.
When the consensus moves, so does the anchor, and with it the function.

Scale. Per answer, who ticks the same label everywhere would be the best worker of all: nobody is easier to predict.
So with the consensus as anchor the scale is the variation of the answers about the worker's own habits, which makes
the loss of a group the share of its variation that the consensus does not explain. And every group starts with
`prior_scale` of variation and as much residual: a small group has as many parameters as a large one, and would be
explained perfectly by them alone.

Encoding. With the consensus as anchor, answers and anchor speak of presence: 1 for yes, 0 for no, and probabilities
in between. Then response[g, l] is the paper's "probability of giving label l when the truth is g", which eq6 needs,
and zero rows of the truth predict silence. With ±1 every absent label would predict something.

Not asked. A cell that was not asked enters nothing. If every answer covers all labels, one Gram matrix per worker
will do; otherwise each column l has its own, of the answers that were asked about l: (workers, labels, labels, labels).

Cost per round: O(answers · labels²) for the statistics (· labels if answers are partial) and
O((workers + groups) · labels³) for the updates (· labels likewise); memory workers · labels² (· labels), whatever the
number of items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from amcc import kernels, linalg
from amcc.consensus.dawid_skene import slot_evidence
from amcc.consensus.majority import MajorityVote
from amcc.errors import InputError, ParameterError
from amcc.kernels import Floats, Ints, weight_per_code
from amcc.tables import Codes, Signs
from amcc.votes import Votes

Rows = Literal["simplex", "unit"]
Anchor = Literal["consensus", "self"]

RESIDUAL_FLOOR = 1e-6
"""Loss below which a group counts as perfect, so that its weight stays a number (eq23)."""

RATE_FLOOR = 0.02
"""Nobody is believed to hit or miss with more certainty than this (eq6, D8)."""

RATE_PRIOR = 1.0
"""Answers' worth of the group's rate in a worker's own rate (eq6, D8)."""

ADMM_STEPS = 5
"""Steps of eq18 per round; copy and dual are kept for the next round."""

PENALTY_FLOOR = 1.0
"""ADMM penalty where Theorem 1 asks for less, as without HSIC."""

MAX_NUMBERS = 250_000_000
"""Numbers in the statistics beyond which the fit is refused (2 GB)."""

BLOCK_NUMBERS = 2**22
"""Numbers handled at a time; an answer makes labels² of them."""


# -- data ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answers:
    """The votes as answers, by worker.

    item : (n_answers,) which item was answered.
    value : (n_answers, n_labels) +1 yes, −1 no, 0 not asked.
    start : (n_workers + 1,) answers of worker w are start[w]:start[w + 1].
    """

    item: Codes
    value: Signs
    start: Ints

    @property
    def per_worker(self) -> Ints:
        """(n_workers,) how many answers each worker gave."""
        return np.diff(self.start)

    @property
    def whole(self) -> bool:
        """Whether every answer covers all labels."""
        return bool((self.value != 0).all())


def gather_answers(votes: Votes) -> Answers:
    """One row per answer, sorted by worker and item."""
    key = votes.worker.astype(np.int64) * votes.n_items + votes.item
    answers, place = np.unique(key, return_inverse=True)
    worker, item = np.divmod(answers, max(votes.n_items, 1))
    value = np.zeros((len(answers), votes.n_labels), dtype=np.int8)
    value[place, votes.label] = votes.value
    start = np.append(0, np.cumsum(np.bincount(worker, minlength=votes.n_workers)))
    return Answers(item.astype(np.int32), value, start)


@dataclass(frozen=True)
class FrobeniusProblem:
    """Everything eq5 needs to know: sufficient statistics and settings. K is 1 for whole answers, n_labels otherwise.

    gram : (n_workers, K, n_labels, n_labels). YᵀY over the answers that were asked about a column; Y is the anchor.
    cross : (n_workers, n_labels, n_labels). YᵀA over asked cells, [anchor label, given label].
    anchor_sum : (n_workers, K, n_labels). Column sums of Y, over the same answers as `gram`.
    n_asked : (n_workers, K). How many answers those are.
    answer_norm : (n_workers,). ‖A_w‖² over asked cells.
    worker_scale : (n_workers,). How much data a worker brings: his answers, or their variation (D7).
    prior_scale : float. Amount of unexplained data that every group starts with (D7).
    label_laplacian : (n_labels, n_labels). L of eq4.
    admm_penalty : float. μ of eq17.
    printed : bool. Whether eq20–eq23 run over all workers, whatever their group, and eq20 forgets D_w.
    """

    gram: Floats
    cross: Floats
    anchor_sum: Floats
    n_asked: Floats
    answer_norm: Floats
    worker_scale: Floats
    prior_scale: float
    label_laplacian: Floats
    admm_penalty: float
    hsic_weight: float = 0.1
    laplacian_weight: float = 10.0
    weight_exponent: float = 2.0
    rows: Rows = "simplex"
    printed: bool = False

    @property
    def n_workers(self) -> int:
        """Workers, with or without answers."""
        return len(self.cross)

    @property
    def n_labels(self) -> int:
        """Labels."""
        return int(self.cross.shape[-1])

    @property
    def total_scale(self) -> float:
        """Scale of all workers together."""
        return max(float(self.worker_scale.sum()), RESIDUAL_FLOOR)


@dataclass(frozen=True)
class FrobeniusState:
    """What is estimated.

    individuality : (n_workers, n_labels, n_labels). D_w, [true label, given label].
    commonality : (n_groups, n_labels, n_labels). C_m.
    group_weights : (n_groups,). λ, sums to one.
    worker_group : (n_workers,). W_m as the group of each worker.
    admm_copy, admm_dual : as individuality. S and T of eq16–eq18; the copy obeys the constraint on rows.
    """

    individuality: Floats
    commonality: Floats
    group_weights: Floats
    worker_group: Ints
    admm_copy: Floats
    admm_dual: Floats

    @property
    def n_groups(self) -> int:
        """Groups."""
        return len(self.commonality)

    @property
    def response(self) -> Floats:
        """(n_workers, n_labels, n_labels) D_w + C_m of each worker in his own group."""
        return self.individuality + self.commonality[self.worker_group]


@dataclass(frozen=True)
class FrobeniusFit:
    """Result of `fit_frobenius`.

    pair_proba : (n_pairs,) aligned with `votes.pairs`. label_prior : (n_labels,). worker_cost : (n_workers,) eq12.
    label_similarity : (n_labels, n_labels) B of eq4. objective_history : eq5 after each round.
    hit_rate, false_alarm_rate : (n_workers, n_labels), vote_weight : (n_workers,). What a vote said in eq6 (NaN rates
    with `printed`, which does not use any).
    individuality_moved : how far the D_w went from their start, relative to their length there (D6).
    """

    state: FrobeniusState
    pair_proba: Floats
    label_prior: Floats
    worker_cost: Floats
    label_similarity: Floats
    hit_rate: Floats
    false_alarm_rate: Floats
    vote_weight: Floats
    objective_history: list[float]
    n_iter: int
    converged: bool
    individuality_moved: float


# -- statistics ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Statistics:
    """The part of a `FrobeniusProblem` that changes with the anchor; see there."""

    gram: Floats
    cross: Floats
    anchor_sum: Floats
    n_asked: Floats
    answer_norm: Floats


def statistics(answers: Answers, given: Floats, anchor: Callable[[slice], Floats]) -> Statistics:
    """Sums over each worker's answers, asked cells only.

    given : (n_answers, n_labels), the answers as numbers, 0 where not asked. anchor : rows of Y for a range of answers.
    """
    n_workers, n_labels = len(answers.start) - 1, answers.value.shape[1]
    n_columns = 1 if answers.whole else n_labels
    gram = np.zeros((n_workers, n_columns, n_labels, n_labels))
    cross = np.zeros((n_workers, n_labels, n_labels))
    anchor_sum = np.zeros((n_workers, n_columns, n_labels))
    n_asked = np.zeros((n_workers, n_columns))
    block = max(1, BLOCK_NUMBERS // n_labels**2)
    for worker in range(n_workers):
        for first in range(answers.start[worker], answers.start[worker + 1], block):
            rows = slice(first, min(first + block, answers.start[worker + 1]))
            weight = (answers.value[rows, :n_columns] != 0).T.astype(np.float64)
            basis = anchor(rows)
            cross[worker] += basis.T @ given[rows]
            anchor_sum[worker] += weight @ basis
            n_asked[worker] += weight.sum(axis=1)
            if n_columns == 1:
                gram[worker, 0] += basis.T @ basis
            else:
                squares = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), -1)
                gram[worker] += (weight @ squares).reshape(gram[worker].shape)
    whose = np.repeat(np.arange(n_workers), answers.per_worker)
    answer_norm = weight_per_code(whose, np.sum(given**2, axis=1), n_workers)
    return Statistics(gram, cross, anchor_sum, n_asked, answer_norm)


def presence(value: Signs) -> Floats:
    """Answers as numbers that speak of presence: 1 for yes, 0 for no and for what was not asked."""
    return (value > 0).astype(np.float64)


def answer_variation(answers: Answers) -> Floats:
    """(n_workers,) how much each worker's answers vary from item to item: squares about his own mean of each label.

    Who always says the same is easy to predict and tells nothing. His mean leans by one answer on that of all.
    """
    asked, yes = (answers.value != 0).astype(np.float64), presence(answers.value)
    worker = np.repeat(np.arange(len(answers.per_worker)), answers.per_worker)

    def per_worker(cells: Floats) -> Floats:
        total = np.zeros((len(answers.per_worker), cells.shape[1]))
        np.add.at(total, worker, cells)
        return total

    n_yes, n_asked = per_worker(yes), per_worker(asked)
    crowd = n_yes.sum(axis=0) / np.maximum(n_asked.sum(axis=0), 1.0)
    mean_of_others = [(n_yes - said + crowd) / np.maximum(n_asked, 1.0) for said in (1.0, 0.0)]
    squares = n_yes * (1 - mean_of_others[0]) ** 2 + (n_asked - n_yes) * mean_of_others[1] ** 2
    return np.asarray(squares.sum(axis=1))


# -- the objective ------------------------------------------------------------------------------------------------


def _times(stack: Floats, matrix: Floats) -> Floats:
    """Column l of `matrix` times matrix l of `stack`: (..., K, n, n), (..., n, n) → (..., n, n)."""
    if stack.shape[-3] == 1:
        return np.asarray(stack[..., 0, :, :] @ matrix)
    product = stack @ matrix.swapaxes(-1, -2)[..., None]
    return np.asarray(product[..., 0].swapaxes(-1, -2))


def worker_residuals(individuality: Floats, commonality: Floats, problem: FrobeniusProblem) -> Floats:
    """‖A_w − Y_w (D_w + C_m)‖² of eq5 for every worker in every group, (n_groups, n_workers)."""
    residuals = np.empty((len(commonality), problem.n_workers))
    for group, common in enumerate(commonality):
        response = individuality + common
        fitted = np.sum(response * (_times(problem.gram, response) - 2 * problem.cross), axis=(1, 2))
        residuals[group] = np.maximum(problem.answer_norm + fitted, 0.0)
    return residuals


def hsic_penalty(individuality: Floats, worker_group: Ints) -> float:
    """Ω of eq3, − sum of HSIC(D_w, D_v) over the pairs of workers of one group, each pair once and w ≠ v."""
    gram = linalg.centered_gram(individuality)
    together = np.sum(_group_sums(gram, worker_group, int(worker_group.max()) + 1) ** 2)
    return float(np.sum(gram**2) - together) / 2 * linalg.hsic_scale(individuality.shape[1])


def laplacian_penalties(commonality: Floats, laplacian: Floats) -> Floats:
    """tr(C_mᵀ L C_m) of eq4, (n_groups,)."""
    return np.asarray(np.sum(commonality * (laplacian @ commonality), axis=(1, 2)))


def group_losses(state: FrobeniusState, problem: FrobeniusProblem) -> Floats:
    """(n_groups,) residual and Laplacian penalty of each group per unit of its scale (D7)."""
    residuals = worker_residuals(state.individuality, state.commonality, problem)
    member = _membership(state, problem)
    penalties = problem.laplacian_weight * laplacian_penalties(state.commonality, problem.label_laplacian)
    losses = np.sum(residuals * member, axis=1) + penalties + problem.prior_scale
    return np.asarray(losses / _group_scales(member, problem))


def objective(state: FrobeniusState, problem: FrobeniusProblem) -> float:
    """eq5 with the scale of D6 and D7."""
    data = state.group_weights**problem.weight_exponent @ group_losses(state, problem)
    penalty = hsic_penalty(state.individuality, state.worker_group)
    return float(data + problem.hsic_weight * penalty / problem.total_scale)


def _membership(state: FrobeniusState, problem: FrobeniusProblem) -> Floats:
    """(n_groups, n_workers) one where a worker counts for a group; in print, all count for each."""
    if problem.printed:
        return np.ones((state.n_groups, problem.n_workers))
    return np.asarray(np.arange(state.n_groups)[:, None] == state.worker_group, dtype=np.float64)


def _group_scales(member: Floats, problem: FrobeniusProblem) -> Floats:
    return np.maximum(member @ problem.worker_scale + problem.prior_scale, RESIDUAL_FLOOR)


def _group_sums(matrices: Floats, worker_group: Ints, n_groups: int) -> Floats:
    """Sum of the matrices of each group's workers."""
    member = (np.arange(n_groups)[:, None] == worker_group).astype(np.float64)
    return np.asarray(np.tensordot(member, matrices, axes=1))


# -- individuality ------------------------------------------------------------------------------------------------


def theorem_one_bound(n_labels: int, n_workers: int, hsic_weight: float) -> float:
    """The ADMM penalty from which on D_w's subproblem is convex by Theorem 1: 4 L (W − 1) · hsic_weight.

    The proof writes HSIC as tr(K₁ H K₂ H), without (L − 1)⁻². `hsic_weight` is the weight of that trace: for HSIC as
    it is defined, multiply its weight by `linalg.hsic_scale(n_labels)`.
    """
    return 4.0 * n_labels * (n_workers - 1) * hsic_weight


def default_penalty(n_labels: int, n_workers: int, hsic_weight: float) -> float:
    """Theorem 1's bound for HSIC as defined, and not less than `PENALTY_FLOOR` (D6)."""
    bound = theorem_one_bound(n_labels, n_workers, hsic_weight * linalg.hsic_scale(n_labels))
    return max(bound, PENALTY_FLOOR)


def individuality_hessian(state: FrobeniusState, problem: FrobeniusProblem) -> Floats:
    """Half the Hessian of eq17 in column l of D_w, times the total scale: (n_workers, K, n_labels, n_labels).

    Linear kernels make HSIC quadratic in D_w, so eq17 is too: data − hsic_weight (L − 1)⁻² Σ_v H D_v D_vᵀ H + μ I.
    """
    gram = linalg.centered_gram(state.individuality)
    others = _group_sums(gram, state.worker_group, state.n_groups)[state.worker_group] - gram
    data = _data_weights(state, problem)[:, None, None, None] * problem.gram
    dependence = problem.hsic_weight * linalg.hsic_scale(problem.n_labels) * others[:, None]
    return np.asarray(data - dependence + problem.admm_penalty * np.eye(problem.n_labels))


def _data_weights(state: FrobeniusState, problem: FrobeniusProblem) -> Floats:
    """(n_workers,) factor of a worker's residual in eq5, times the total scale."""
    scales = _group_scales(_membership(state, problem), problem)
    return (state.group_weights**problem.weight_exponent * problem.total_scale / scales)[state.worker_group]


def project_rows(matrix: Floats, rows: Rows) -> Floats:
    """The constraint on D_w: rows sum to one (eq5) or have 2-norm one (eq15), D4."""
    return linalg.project_simplex(matrix) if rows == "simplex" else linalg.project_unit(matrix)


def update_individuality(state: FrobeniusState, problem: FrobeniusProblem, n_steps: int = ADMM_STEPS) -> FrobeniusState:
    """Steps of ADMM on D_w, its copy and its dual (eq17–eq18), all workers at once.

    The other workers' D_v inside HSIC are those at the start of the call.
    """
    inverse = np.asarray(np.linalg.inv(individuality_hessian(state, problem)), dtype=np.float64)
    common = state.commonality[state.worker_group]
    weight = _data_weights(state, problem)[:, None, None]
    wanted = weight * (problem.cross - _times(problem.gram, common))
    individuality, copy, dual = state.individuality, state.admm_copy, state.admm_dual
    for _ in range(n_steps):
        individuality = _times(inverse, wanted + problem.admm_penalty * (copy - dual))
        copy = project_rows(individuality + dual, problem.rows)
        dual = dual + individuality - copy
    return replace(state, individuality=individuality, admm_copy=copy, admm_dual=dual)


# -- commonality, weights, groups ---------------------------------------------------------------------------------


def update_commonality(state: FrobeniusState, problem: FrobeniusProblem) -> FrobeniusState:
    """Minimise eq5 over C_m (eq19–eq21, D2): column by column one linear system per group.

    λ_m^r stands before residual and penalty, and cancels. Where the data leave C_m open, it is as small as possible.
    """
    member = _membership(state, problem)
    target = problem.cross if problem.printed else problem.cross - _times(problem.gram, state.individuality)
    system = np.einsum("mw,wkgh->mkgh", member, problem.gram)
    system += problem.laplacian_weight * problem.label_laplacian
    right = np.einsum("mw,wgl->mgl", member, target)
    if system.shape[1] == 1:
        return replace(state, commonality=linalg.solve_least(system[:, 0], right))
    columns = linalg.solve_least(system, right.swapaxes(-1, -2)[..., None])
    return replace(state, commonality=columns[..., 0].swapaxes(-1, -2))


def group_weights(losses: Floats, weight_exponent: float) -> Floats:
    """Minimise eq5 over λ (eq23): losses to the power 1 / (1 − r), normalised.

    >>> group_weights(np.array([1.0, 4.0]), 3.0).round(4).tolist()  # 1 and 4 to the power −1/2
    [0.6667, 0.3333]
    """
    floored = np.maximum(losses, RESIDUAL_FLOOR)
    power = (floored / floored.min()) ** (1.0 / (1.0 - weight_exponent))
    return np.asarray(power / power.sum())


def update_group_weights(state: FrobeniusState, problem: FrobeniusProblem) -> FrobeniusState:
    """eq23 with losses per unit of scale (D7)."""
    return replace(state, group_weights=group_weights(group_losses(state, problem), problem.weight_exponent))


def assign_groups(state: FrobeniusState, problem: FrobeniusProblem) -> FrobeniusState:
    """Let each worker go to the group that explains him best (D3), unless that raises eq5 or empties his group.

    Those who gain most go first, so that the order of the workers does not matter.
    """
    residuals = worker_residuals(state.individuality, state.commonality, problem)
    everyone = np.arange(problem.n_workers)
    own = residuals[state.worker_group, everyone]
    gain = (own - residuals.min(axis=0)) / np.maximum(problem.worker_scale, RESIDUAL_FLOOR)
    moving = _Membership(state, problem, residuals)
    for worker in np.argsort(-gain, kind="stable"):
        if gain[worker] > 0:
            moving.move(int(worker), int(np.argmin(residuals[:, worker])))
    return replace(state, worker_group=moving.worker_group)


class _Membership:
    """Sums per group that tell at once what a worker's move does to eq5."""

    def __init__(self, state: FrobeniusState, problem: FrobeniusProblem, residuals: Floats) -> None:
        self.worker_group = state.worker_group.copy()
        self._problem = problem
        self._residuals = residuals
        self._power = state.group_weights**problem.weight_exponent
        self._hsic_weight = problem.hsic_weight * linalg.hsic_scale(problem.n_labels) / problem.total_scale
        self._size = np.bincount(self.worker_group, minlength=state.n_groups)
        self._gram = linalg.centered_gram(state.individuality)
        self._gram_sum = _group_sums(self._gram, self.worker_group, state.n_groups)
        member = np.arange(state.n_groups)[:, None] == self.worker_group
        self._scale = member @ problem.worker_scale + problem.prior_scale
        self._loss = np.sum(residuals * member, axis=1) + problem.prior_scale
        self._loss += problem.laplacian_weight * laplacian_penalties(state.commonality, problem.label_laplacian)

    def move(self, worker: int, group: int) -> None:
        """Move the worker if that does not raise eq5 and leaves nobody's group empty."""
        old = self.worker_group[worker]
        if self._size[old] == 1 or self._change(worker, old, group) > 0:
            return
        self.worker_group[worker] = group
        for place, sign in ((old, -1), (group, 1)):
            self._size[place] += sign
            self._scale[place] += sign * self._problem.worker_scale[worker]
            self._loss[place] += sign * self._residuals[place, worker]
            self._gram_sum[place] += sign * self._gram[worker]

    def _change(self, worker: int, old: int, group: int) -> float:
        change = 0.0
        for place, sign in ((old, -1), (group, 1)):
            scale = self._scale[place] + sign * self._problem.worker_scale[worker]
            loss = self._loss[place] + sign * self._residuals[place, worker]
            before = self._loss[place] / max(self._scale[place], RESIDUAL_FLOOR)
            change += self._power[place] * (loss / max(scale, RESIDUAL_FLOOR) - before)
        mates = self._gram_sum[group] - (self._gram_sum[old] - self._gram[worker])
        return float(change - self._hsic_weight * np.sum(mates * self._gram[worker]))


# -- start --------------------------------------------------------------------------------------------------------


def cluster_workers(features: Floats, n_groups: int, rng: np.random.Generator) -> Ints:
    """(n_workers,) groups by k-means, each with at least one worker.

    Centres are drawn among the workers in the order of their features, so that their names and codes do not matter.
    """
    order = np.lexsort(features.T[::-1])
    ordered = features[order]
    centres = ordered[[rng.integers(len(ordered))]]
    for _ in range(1, n_groups):
        far = _squared_distances(ordered, centres).min(axis=1)
        total = far.sum()
        pick = np.searchsorted(np.cumsum(far), rng.random() * total, side="right") if total > 0 else 0
        centres = np.vstack([centres, ordered[min(int(pick), len(ordered) - 1)]])
    for _ in range(100):
        distance = _squared_distances(ordered, centres)
        group = fill_empty_groups(distance.argmin(axis=1), distance.min(axis=1), n_groups)
        moved = np.array([ordered[group == m].mean(axis=0) for m in range(n_groups)])
        if np.array_equal(moved, centres):
            break
        centres = moved
    worker_group = np.empty(len(group), dtype=np.int64)
    worker_group[order] = group
    return worker_group


def fill_empty_groups(worker_group: Ints, badness: Floats, n_groups: int) -> Ints:
    """Give each empty group the worker who is explained worst (D3), among those who do not leave a group empty."""
    filled = worker_group.astype(np.int64)
    for group in range(n_groups):
        size = np.bincount(filled, minlength=n_groups)
        if size[group] == 0:
            filled[np.argmax(np.where(size[filled] > 1, badness, -np.inf))] = group
    return filled


def _squared_distances(points: Floats, centres: Floats) -> Floats:
    return np.asarray(((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2))


def start_state(problem: FrobeniusProblem, worker_group: Ints, individuality: Floats) -> FrobeniusState:
    """Groups as given, equal weights, and the commonality that goes with them."""
    n_groups = int(worker_group.max()) + 1
    individuality = np.tile(individuality, (problem.n_workers, 1, 1))
    state = FrobeniusState(
        individuality=individuality,
        commonality=np.zeros((n_groups, problem.n_labels, problem.n_labels)),
        group_weights=np.full(n_groups, 1.0 / n_groups),
        worker_group=worker_group,
        admm_copy=individuality,
        admm_dual=np.zeros_like(individuality),
    )
    return update_group_weights(update_commonality(state, problem), problem)


# -- consensus and cost -------------------------------------------------------------------------------------------


def answer_rates(state: FrobeniusState, problem: FrobeniusProblem) -> tuple[Floats, Floats]:
    """Hit and false-alarm rate of each worker on each label under his response, 2 × (n_workers, n_labels).

    For an item with anchor row y, the model's chance of a yes on l is y · response[:, l]. The hit rate is its mean
    over the items he answered with y_l set to one, weighted by y_l; the false-alarm rate that with y_l set to zero,
    weighted by 1 − y_l. Both need nothing but the statistics, and lean on the group's rates by `RATE_PRIOR`.
    """
    response, n_labels = state.response, problem.n_labels
    # One matrix for all columns or one for each: after broadcasting, the same.
    gram = np.broadcast_to(problem.gram, (problem.n_workers, n_labels, n_labels, n_labels))
    anchor_sum = np.broadcast_to(problem.anchor_sum, (problem.n_workers, n_labels, n_labels))
    present, square, own = (np.einsum(f"w{'l' * (x.ndim - 1)}->wl", x) for x in (anchor_sum, gram, response))
    yes = np.einsum("wlg,wgl->wl", anchor_sum, response)
    hits = np.einsum("wlg,wgl->wl", np.einsum("wllg->wlg", gram), response) + own * (present - square)
    rates = [(hits, present), (yes - hits, np.maximum(problem.n_asked - present, 0.0))]
    hit, false_alarm = (_leaning_on_group(*rate, state) for rate in rates)
    return hit, false_alarm


def _leaning_on_group(count: Floats, weight: Floats, state: FrobeniusState) -> Floats:
    """Ratio of each worker, as if he had given `RATE_PRIOR` more answers at the rate of his group; in floors."""
    total, whole = (_group_sums(part, state.worker_group, state.n_groups) for part in (count, weight))
    everyone = np.sum(total, axis=0) / np.maximum(np.sum(whole, axis=0), RESIDUAL_FLOOR)
    group = (total + RATE_PRIOR * everyone) / (whole + RATE_PRIOR)
    rate = (count + RATE_PRIOR * group[state.worker_group]) / (weight + RATE_PRIOR)
    return np.asarray(np.clip(rate, RATE_FLOOR, 1.0 - RATE_FLOOR))


def vote_weights(state: FrobeniusState, weight_exponent: float) -> Floats:
    """(n_workers,) what a vote counts in eq6: λ_m^r relative to equal weights, and no more than one vote (D8)."""
    return np.minimum(1.0, state.n_groups * state.group_weights[state.worker_group]) ** weight_exponent


def consensus(votes: Votes, state: FrobeniusState, problem: FrobeniusProblem, label_prior: Floats) -> Floats:
    """eq6 with D8: (n_pairs,) probability that the label is present.

    Log-odds of present against absent: the label's prior, and each vote, yes or no, by its worker's rates and weight.
    """
    coins = votes.coins
    hit, false_alarm = (rate[coins.worker, coins.label] for rate in answer_rates(state, problem))
    weight = vote_weights(state, problem.weight_exponent)[coins.worker]
    evidence = slot_evidence(hit, false_alarm) * np.repeat(weight, 2)
    prior = np.log(label_prior / (1.0 - label_prior))[votes.pairs.label]
    return kernels.posterior_pass(coins.slot, votes.pairs.start, evidence, prior).proba


def printed_consensus(votes: Votes, state: FrobeniusState, weight_exponent: float) -> Floats:
    """eq6 as printed, in logs: (n_pairs,) share of each label in its item's sum over labels.

    Only yes-votes count, every group explains every worker, and what is not positive counts as 10⁻¹⁰. The arg max
    names one label per item, so the shares of an item's labels sum to one (or less, where not all were asked).
    """
    yes = votes.value > 0
    item, worker, label = votes.item[yes], votes.worker[yes], votes.label[yes]
    with np.errstate(divide="ignore"):
        total = np.tile(
            (weight_exponent * np.log(state.group_weights))[:, None, None], (1, votes.n_items, votes.n_labels)
        )
    for group, common in enumerate(state.commonality):
        response = np.log(np.maximum(state.individuality + common, 1e-10))
        np.add.at(total[group], item, response[worker, :, label])
    score = np.logaddexp.reduce(total, axis=0)
    share = np.exp(score - np.logaddexp.reduce(score, axis=1, keepdims=True))
    return np.asarray(share[votes.pairs.item, votes.pairs.label])


def worker_cost(answers: Answers, individuality: Floats) -> Floats:
    """c_w of eq12 with the identity as reward: the mean over a worker's answers of the product of D_w(l, l) over yeses.

    (n_workers,). The print divides by the number of votes; per answer the cost is a share. A worker who has not
    answered yet costs as much as the others on average (1 if nobody has); nobody is free, for eq13 divides by this.
    """
    worker = np.repeat(np.arange(len(individuality)), answers.per_worker)
    certain = np.log(np.clip(np.einsum("wll->wl", individuality), 1e-10, 1.0))
    quality = np.exp(np.sum(presence(answers.value) * certain[worker], axis=1))
    n_answers = answers.per_worker
    total = weight_per_code(worker, quality, len(individuality))
    average = total.sum() / n_answers.sum() if n_answers.sum() else 1.0
    return np.maximum(np.where(n_answers > 0, total / np.maximum(n_answers, 1), average), 1e-3)


# -- all together -------------------------------------------------------------------------------------------------


def fit_frobenius(
    votes: Votes,
    *,
    n_groups: int = 5,
    hsic_weight: float = 0.1,
    laplacian_weight: float = 10.0,
    weight_exponent: float = 2.0,
    rows: Rows = "simplex",
    anchor: Anchor = "consensus",
    max_iter: int = 100,
    tol: float = 1e-5,
    random_state: int = 0,
    printed: bool = False,
) -> FrobeniusFit:
    """Minimise eq5 in turns (eq15–eq23) and take the consensus of eq6.

    Parameters
    ----------
    n_groups : int. M; with fewer workers, each is a group of his own.
    hsic_weight : float, at least 0. How much workers of one group should be alike (α of eq5).
    laplacian_weight : float, at least 0. How much similar labels should be answered alike, in answers (β of eq5).
    weight_exponent : float, above 1. r; near 1 the best group takes all, a large one makes groups equal.
    rows : "simplex" or "unit". What the rows of D_w must be (D4).
    anchor : "consensus" or "self". Whether answers are represented by the consensus, or by themselves (D1).
    max_iter, tol : rounds at most, and the change of the objective below which they end.
    random_state : int. Fixes the start of the groups.
    printed : bool. Follow the print as far as it runs: a worker's own ±1 answers as anchor, eq20–eq23 over all
        workers, eq6 from yes-votes only, Theorem 1's penalty by its letter. For comparison, not for use.
    """
    _check_settings(n_groups, hsic_weight, laplacian_weight, weight_exponent, rows, anchor, max_iter, tol)
    answers = gather_answers(votes)
    _check_size(answers)
    by_itself = printed or anchor == "self"
    given = answers.value.astype(np.float64) if printed else presence(answers.value)
    similarity = linalg.label_similarity(_mean_answers(answers, given, votes.n_items))
    penalty = theorem_one_bound if printed else default_penalty
    scale = answers.per_worker.astype(np.float64) if by_itself else answer_variation(answers)

    def problem_at(proba: Floats, prior: Floats) -> FrobeniusProblem:
        rows_of = (lambda part: given[part]) if by_itself else _consensus_rows(votes, answers, proba, prior)
        return FrobeniusProblem(
            **vars(statistics(answers, given, rows_of)),
            worker_scale=scale,
            prior_scale=0.0 if by_itself else votes.n_labels * float(scale.sum()) / max(len(answers.item), 1),
            label_laplacian=linalg.label_laplacian(similarity),
            admm_penalty=max(penalty(votes.n_labels, votes.n_workers, hsic_weight), PENALTY_FLOOR),
            hsic_weight=hsic_weight,
            laplacian_weight=laplacian_weight,
            weight_exponent=weight_exponent,
            rows=rows,
            printed=printed,
        )

    proba = votes.n_yes / votes.pairs.n_votes
    prior = mean_presence(votes, proba)
    problem = problem_at(proba, prior)
    worker_group = cluster_workers(
        _start_features(votes), min(n_groups, votes.n_workers), np.random.default_rng(random_state)
    )
    # From the identity, self-representation is perfect before it starts; so it starts from "gives any label".
    first = np.full((votes.n_labels, votes.n_labels), 1.0) if by_itself else np.eye(votes.n_labels)
    first = project_rows(first, rows)
    state = start_state(problem, worker_group, first)
    history: list[float] = []
    converged = False
    while not converged and len(history) < max_iter:
        state = update_individuality(state, problem)  # eq17–eq18
        state = update_commonality(state, problem)  # eq19–eq21
        if not printed:
            state = assign_groups(state, problem)  # D3
        state = update_group_weights(state, problem)  # eq23
        history.append(objective(state, problem))  # eq5
        converged = len(history) > 1 and abs(history[-1] - history[-2]) < tol
        if not by_itself and not converged:
            proba = consensus(votes, state, problem, prior)  # eq6
            prior = mean_presence(votes, proba)
            problem = problem_at(proba, prior)  # D1
    # What is published obeys the constraint on rows: the copy, with the commonality and weights that go with it.
    state = replace(state, individuality=state.admm_copy)
    state = update_group_weights(update_commonality(state, problem), problem)
    if printed:
        rates = (np.full((votes.n_workers, votes.n_labels), np.nan),) * 2
        proba = printed_consensus(votes, state, weight_exponent)
    else:
        rates = answer_rates(state, problem)
        proba = consensus(votes, state, problem, prior)
    return FrobeniusFit(
        state=state,
        pair_proba=proba,
        label_prior=mean_presence(votes, proba),
        worker_cost=worker_cost(answers, state.individuality),
        label_similarity=similarity,
        hit_rate=rates[0],
        false_alarm_rate=rates[1],
        vote_weight=vote_weights(state, weight_exponent),
        objective_history=history,
        n_iter=len(history),
        converged=converged,
        individuality_moved=_distance(state.individuality, first),
    )


def _distance(individuality: Floats, first: Floats) -> float:
    """Mean over workers of how far D_w is from where all started, relative to the length there."""
    return float(np.linalg.norm(individuality - first, axis=(1, 2)).mean() / np.linalg.norm(first))


def mean_presence(votes: Votes, proba: Floats) -> Floats:
    """(n_labels,) how often each label is present; leans by one pair on all labels, so it is never 0 nor 1."""
    asked = np.bincount(votes.pairs.label, minlength=votes.n_labels)
    present = weight_per_code(votes.pairs.label, proba, votes.n_labels)
    overall = (present.sum() + 1.0) / (asked.sum() + 2.0)
    return np.asarray((present + overall) / (asked + 1.0))


def _consensus_rows(votes: Votes, answers: Answers, proba: Floats, prior: Floats) -> Callable[[slice], Floats]:
    """Rows of the consensus on the items of a range of answers; the prior where nobody was asked (D1)."""
    table = np.tile(prior, (votes.n_items, 1))
    table[votes.pairs.item, votes.pairs.label] = proba
    return lambda part: np.asarray(table[answers.item[part]])


def _mean_answers(answers: Answers, given: Floats, n_items: int) -> Floats:
    """(n_items, n_labels) sum of all workers' answers, over the number of workers (text below eq4)."""
    total = np.zeros((n_items, given.shape[1]))
    np.add.at(total, answers.item, given)
    return total / len(answers.per_worker)


def _start_features(votes: Votes) -> Floats:
    """(n_workers, 2) hit and false-alarm rate of each worker, judged by the majority of the others."""
    rates = MajorityVote().fit(votes).worker_rates_
    return np.column_stack([rates.hit_rate, rates.false_alarm_rate])


def _check_size(answers: Answers) -> None:
    n_workers, n_labels = len(answers.per_worker), answers.value.shape[1]
    columns = 1 if answers.whole else n_labels
    if n_workers * columns * n_labels**2 > MAX_NUMBERS:
        raise InputError(
            f"the frobenius loss keeps {columns} × {n_labels} × {n_labels} numbers for each worker, too many for "
            f"{n_workers} workers and {n_labels} labels. Use fewer labels, or loss='likelihood'."
        )


def _check_settings(
    n_groups: int,
    hsic_weight: float,
    laplacian_weight: float,
    weight_exponent: float,
    rows: str,
    anchor: str,
    max_iter: int,
    tol: float,
) -> None:
    requirements: list[tuple[str, object, bool, str]] = [
        ("n_groups", n_groups, n_groups >= 1, "at least 1"),
        ("hsic_weight", hsic_weight, 0 <= hsic_weight < np.inf, "at least 0"),
        ("laplacian_weight", laplacian_weight, 0 <= laplacian_weight < np.inf, "at least 0"),
        ("weight_exponent", weight_exponent, 1 < weight_exponent < np.inf, "above 1"),
        ("rows", rows, rows in get_args(Rows), "'simplex' or 'unit'"),
        ("anchor", anchor, anchor in get_args(Anchor), "'consensus' or 'self'"),
        ("max_iter", max_iter, max_iter >= 1, "at least 1"),
        ("tol", tol, tol > 0, "positive"),
    ]
    for name, value, holds, what in requirements:
        if not holds:
            raise ParameterError(f"{name} must be {what}; got {value!r}.")
