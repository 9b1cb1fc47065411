"""The paper's own objective, eq5, with deviations D1–D8 (docs/deviations.md): one function per equation.

A worker's answers are represented by an anchor, answers ≈ anchor · (individuality + commonality of their group), and
the groups are weighted by how well that works:

    sum over groups m of  group_weights[m] ** weight_exponent
                          · (residual[m] + laplacian_weight · tr(C_mᵀ L C_m)) / scale[m]
    − hsic_weight · (sum over pairs of workers of one group of HSIC(D_w, D_v)) / total scale

`residual[m]` is the sum over the group's workers of ‖answers − anchor · (D_w + C_m)‖², over asked cells only.
`scale[m]` is the amount of data of the group (D7), so that a group is not better because it is smaller.

Falling. No round ends above the one before. The updates of commonality, weights and groups are exact; the ADMM step of
the individuality goes only as far as it does not raise the function, and so does the anchor when it follows the
consensus.

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
O((workers + groups) · labels³) for the updates (· labels likewise); memory workers · labels² (· labels), and
(answers + items) · labels. A worker's matrices cannot be kept on the labels met only: the consensus on the items they
answered has an expected value for every label, the rows of D_w share their sum over all of them, and HSIC compares
whole matrices. Beyond 2 GB the fit is refused before anything is made; the likelihood has no such limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, get_args

import numpy as np

from amcc import linalg, passes
from amcc.arrays import Codes, Floats, Ints, Mask, Signs, weight_per_code
from amcc.consensus.base import Gold, Monitor
from amcc.consensus.dawid_skene import slot_evidence
from amcc.consensus.majority import MajorityVote
from amcc.consensus.matching import known_or_mean
from amcc.consensus.workers import worker_rates
from amcc.errors import ParameterError, TooLargeError
from amcc.votes import Votes

Rows = Literal["simplex", "unit"]
Anchor = Literal["consensus", "self"]

RESIDUAL_FLOOR = 1e-6
"""Loss of a perfect group, so that its weight stays a number (eq23)."""

RATE_FLOOR = 0.02
"""Nobody is believed to hit or miss with more certainty than this (eq6, D8)."""

RATE_PRIOR = 1.0
"""Answers' worth of the group's rate in a worker's own rate (eq6, D8)."""

ADMM_STEPS = 10
"""Steps of eq18 per round; the dual is kept for the next. With 5 there are twice as many rounds, no better ones."""

PENALTY_FLOOR = 1.0
"""ADMM penalty where Theorem 1 asks for less, as without HSIC."""

MAX_NUMBERS = 250_000_000
"""Numbers held at a time beyond which the fit is refused (2 GB)."""

BLOCK_NUMBERS = 2**18
"""Numbers handled at a time where answers are summed up."""

CACHE_NUMBERS = 2**14
"""Numbers handled at a time where the same ones are needed again and again."""

HALVINGS = 5
"""How often a step that raises the objective is halved before it is given up."""


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

    @cached_property
    def whole(self) -> bool:
        """Whether every answer covers all labels."""
        return bool((self.value != 0).all())

    @cached_property
    def blocks(self) -> list[AnswerBlock]:
        """All answers, workers side by side."""
        n_labels = self.value.shape[1]
        numbers = n_labels if self.whole else n_labels**2
        return list(answer_blocks(self.start, max(1, BLOCK_NUMBERS // numbers)))


class AnswerBlock(NamedTuple):
    """Answers of several workers side by side: row[i, j] is one of worker[i], and counts if there[i, j].

    worker : (n,) all different. row : (n, width) places of answers. there : (n, width) bool.
    """

    worker: Ints
    row: Ints
    there: Mask


def answer_blocks(start: Ints, n_answers: int) -> Iterator[AnswerBlock]:
    """All answers in blocks of about `n_answers`; workers with alike numbers of them share one, so little is empty."""
    count = np.diff(start)
    for first in range(0, int(count.max(initial=0)), n_answers):
        length = np.clip(count - first, 0, n_answers)
        doublings = np.ceil(np.log2(np.maximum(length, 1)))
        for size in np.unique(doublings[length > 0]):
            workers = np.flatnonzero((doublings == size) & (length > 0))
            place = np.arange(length[workers].max())
            for some in np.array_split(workers, -(-len(workers) * len(place) // n_answers)):
                there = place < length[some, None]
                yield AnswerBlock(some, start[some, None] + np.where(there, first + place, 0), there)


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
class Statistics:
    """All that eq5 needs to know of answers and anchor Y. K is 1 for whole answers, n_labels otherwise.

    gram : (n_workers, K, n_labels, n_labels). YᵀY over the answers that were asked about a column.
    cross : (n_workers, n_labels, n_labels). YᵀA over asked cells, [anchor label, given label].
    anchor_sum : (n_workers, K, n_labels). Column sums of Y, over the same answers as `gram`.
    n_asked : (n_workers, K). How many answers those are.
    answer_norm : (n_workers,). ‖A_w‖² over asked cells.
    """

    gram: Floats
    cross: Floats
    anchor_sum: Floats
    n_asked: Floats
    answer_norm: Floats


@dataclass(frozen=True)
class FrobeniusProblem:
    """What eq5 is made of, apart from what is estimated.

    data : sufficient statistics.
    worker_scale : (n_workers,). How much data a worker brings: their answers, or their variation (D7).
    prior_scale : float. Amount of unexplained data that every group starts with (D7).
    label_laplacian : (n_labels, n_labels). L of eq4.
    admm_penalty : float. μ of eq17.
    printed : bool. Whether eq20–eq23 run over all workers, whatever their group, and eq20 forgets D_w.
    """

    data: Statistics
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
        return len(self.data.cross)

    @property
    def n_labels(self) -> int:
        """Labels."""
        return int(self.data.cross.shape[-1])

    @property
    def total_scale(self) -> float:
        """Scale of all workers together."""
        return max(float(self.worker_scale.sum()), RESIDUAL_FLOOR)


@dataclass(frozen=True)
class FrobeniusState:
    """What is estimated.

    individuality : (n_workers, n_labels, n_labels). D_w, [true label, given label]; obeys the constraint on rows.
    commonality : (n_groups, n_labels, n_labels). C_m.
    group_weights : (n_groups,). λ, sums to one.
    worker_group : (n_workers,). W_m as the group of each worker.
    admm_dual : as individuality. T of eq17–eq18, kept from round to round.
    """

    individuality: Floats
    commonality: Floats
    group_weights: Floats
    worker_group: Ints
    admm_dual: Floats

    @property
    def n_groups(self) -> int:
        """Groups."""
        return len(self.commonality)

    @property
    def response(self) -> Floats:
        """(n_workers, n_labels, n_labels) D_w + C_m of each worker in their own group."""
        return self.individuality + self.commonality[self.worker_group]


@dataclass(frozen=True)
class AnswerRates:
    """Chances of a yes: [0] where the label is present (hits), [1] where it is absent (false alarms).

    crowd : (2, n_labels). group : (2, n_groups, n_labels). worker : (2, n_workers, n_labels).
    """

    crowd: Floats
    group: Floats
    worker: Floats


@dataclass(frozen=True)
class FrobeniusFit:
    """Result of `fit_frobenius`. Groups are in the order of their weight, the best first.

    state : the estimates themselves; D_w, C_m, λ and W_m also by their names below.
    rates : what eq6 read from them (in print, which needs no rates: votes against the consensus).
    vote_weight : (n_workers,) what a vote counted in eq6.
    evidence : (2 · n_coins,) log-odds that a no and a yes of each coin add to "present", weights included.
    prior : (n_pairs,) log-odds before any vote; certain where truth is known. Both as `passes.others_pass` wants them.
    pair_proba : (n_pairs,) aligned with `votes.pairs`. label_prior : (n_labels,).
    worker_cost : (n_workers,) eq12. label_correlation : (n_labels, n_labels) cosines, B of eq4.
    monitor : objective of eq5 after each round, and its last change.
    consensus_change : the largest change of a pair's probability in the last round.
    individuality_moved : how far the D_w went from their start, relative to their length there (D6).
    """

    state: FrobeniusState
    rates: AnswerRates
    vote_weight: Floats
    evidence: Floats
    prior: Floats
    pair_proba: Floats
    label_prior: Floats
    worker_cost: Floats
    label_correlation: Floats
    monitor: Monitor
    consensus_change: float
    individuality_moved: float

    @property
    def individuality(self) -> Floats:
        """(n_workers, n_labels, n_labels) D_w, [true label, given label]."""
        return self.state.individuality

    @property
    def commonality(self) -> Floats:
        """(n_groups, n_labels, n_labels) C_m, [true label, given label]."""
        return self.state.commonality

    @property
    def group_weights(self) -> Floats:
        """(n_groups,) λ of eq23, sums to one."""
        return self.state.group_weights

    @property
    def worker_group(self) -> Ints:
        """(n_workers,) the group of each worker."""
        return self.state.worker_group

    @property
    def group_rates(self) -> Floats:
        """(2, n_groups, n_labels) usual hit and false-alarm rate of each group on each label."""
        return self.rates.group

    @property
    def objective_history(self) -> list[float]:
        """eq5 after each round."""
        return self.monitor.history

    @property
    def n_iter(self) -> int:
        """Rounds."""
        return len(self.monitor.history)

    @property
    def converged(self) -> bool:
        """Whether the objective had settled."""
        return self.monitor.converged


# -- statistics ---------------------------------------------------------------------------------------------------


def statistics(answers: Answers, given: Floats, anchor: Callable[[Ints], Floats]) -> Statistics:
    """Sums over each worker's answers, asked cells only.

    given : (n_answers, n_labels), the answers as numbers, 0 where not asked. anchor : rows of Y for some answers.
    """
    n_workers, n_labels = len(answers.start) - 1, answers.value.shape[1]
    n_columns = 1 if answers.whole else n_labels
    gram = np.zeros((n_workers, n_columns, n_labels, n_labels))
    cross = np.zeros((n_workers, n_labels, n_labels))
    anchor_sum = np.zeros((n_workers, n_columns, n_labels))
    n_asked = np.zeros((n_workers, n_columns))
    for block in answers.blocks:
        there = block.there[:, :, None]
        basis = anchor(block.row) * there
        weight = ((answers.value[block.row, :n_columns] != 0) & there).astype(np.float64).swapaxes(1, 2)
        cross[block.worker] += basis.swapaxes(1, 2) @ given[block.row]
        anchor_sum[block.worker] += weight @ basis
        n_asked[block.worker] += weight.sum(axis=2)
        if n_columns == 1:
            gram[block.worker, 0] += basis.swapaxes(1, 2) @ basis
        else:
            squares = (basis[..., :, None] * basis[..., None, :]).reshape(*block.row.shape, -1)
            gram[block.worker] += (weight @ squares).reshape(-1, *gram.shape[1:])
    whose = np.repeat(np.arange(n_workers), answers.per_worker)
    answer_norm = weight_per_code(whose, np.sum(given**2, axis=1), n_workers)
    return Statistics(gram, cross, anchor_sum, n_asked, answer_norm)


def presence(value: Signs) -> Floats:
    """Answers as numbers that speak of presence: 1 for yes, 0 for no and for what was not asked."""
    return (value > 0).astype(np.float64)


def answer_variation(answers: Answers) -> Floats:
    """(n_workers,) how much each worker's answers vary from item to item: squares about their own mean of each label.

    Who always says the same is easy to predict and tells nothing. Their mean leans by one answer on that of all.
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
    """‖A_w − Y_w (D_w + C_m)‖² of eq5 for every worker in every group, (n_groups, n_workers).

    Multiplied out, so that what a worker brings is computed once for all groups: with G = YᵀY and X = YᵀA it is
    ‖A‖² + ⟨D, G D − 2 X⟩ + 2 ⟨C, G D − X⟩ + ⟨C, G C⟩.
    """
    n_groups, one_gram = len(commonality), problem.data.gram.shape[1] == 1
    squares = np.einsum("mgl,mhl->mgh" if one_gram else "mgl,mhl->mlgh", commonality, commonality)
    flat, flat_squares = commonality.reshape(n_groups, -1), squares.reshape(n_groups, -1)
    residuals = np.empty((n_groups, problem.n_workers))
    for some in _worker_blocks(problem.data.gram):
        own, gram, cross = individuality[some], problem.data.gram[some], problem.data.cross[some]
        represented = _times(gram, own) - cross
        alone = problem.data.answer_norm[some] + np.sum(own * (represented - cross), axis=(1, 2))
        mixed = flat @ represented.reshape(len(own), -1).T
        residuals[:, some] = alone + 2 * mixed + flat_squares @ gram.reshape(len(own), -1).T
    return np.maximum(residuals, 0.0, out=residuals)


def _worker_blocks(matrices: Floats) -> Iterator[slice]:
    """Few workers at a time, so that what is made of their matrices stays in the cache."""
    block = max(1, CACHE_NUMBERS // max(1, matrices[:1].size))
    for first in range(0, len(matrices), block):
        yield slice(first, min(first + block, len(matrices)))


def dependence(individuality: Floats) -> Floats:
    """H D_w D_wᵀ H, (n_workers, n_labels, n_labels): HSIC of two workers is the sum of products of their entries."""
    gram = np.empty_like(individuality)
    for some in _worker_blocks(individuality):
        gram[some] = linalg.centered_gram(individuality[some])
    return gram


def hsic_penalties(individuality: Floats, worker_group: Ints, n_groups: int) -> Floats:
    """Ω of eq3 by group, − sum of HSIC(D_w, D_v) over the pairs of its workers, each pair once and w ≠ v."""
    gram = dependence(individuality)
    together = np.sum(_group_sums(gram, worker_group, n_groups) ** 2, axis=(1, 2))
    alone = weight_per_code(worker_group, np.einsum("wgh,wgh->w", gram, gram), n_groups)
    return np.asarray((alone - together) / 2 * linalg.hsic_scale(individuality.shape[1]))


def laplacian_penalties(commonality: Floats, laplacian: Floats) -> Floats:
    """tr(C_mᵀ L C_m) of eq4, (n_groups,)."""
    return np.asarray(np.sum(commonality * (laplacian @ commonality), axis=(1, 2)))


def group_losses(state: FrobeniusState, problem: FrobeniusProblem) -> Floats:
    """(n_groups,) residual and Laplacian penalty of each group per unit of its scale (D7)."""
    residuals = worker_residuals(state.individuality, state.commonality, problem)
    member = _membership(state, problem)
    penalties = problem.laplacian_weight * laplacian_penalties(state.commonality, problem.label_laplacian)
    losses = np.sum(residuals * member, axis=1) + penalties + problem.prior_scale
    return np.asarray(np.maximum(losses / _group_scales(member, problem), RESIDUAL_FLOOR))


def group_terms(state: FrobeniusState, problem: FrobeniusProblem) -> Floats:
    """(n_groups,) what each group adds to eq5, with the scale of D6 and D7."""
    data = state.group_weights**problem.weight_exponent * group_losses(state, problem)
    penalty = hsic_penalties(state.individuality, state.worker_group, state.n_groups)
    return np.asarray(data + problem.hsic_weight * penalty / problem.total_scale)


def objective(state: FrobeniusState, problem: FrobeniusProblem) -> float:
    """eq5."""
    return float(group_terms(state, problem).sum())


def _membership(state: FrobeniusState, problem: FrobeniusProblem) -> Floats:
    """(n_groups, n_workers) one where a worker counts for a group; in print, all count for each."""
    if problem.printed:
        return np.ones((state.n_groups, problem.n_workers))
    return np.asarray(np.arange(state.n_groups)[:, None] == state.worker_group, dtype=np.float64)


def _group_scales(member: Floats, problem: FrobeniusProblem) -> Floats:
    return np.maximum(member @ problem.worker_scale + problem.prior_scale, RESIDUAL_FLOOR)


def _group_sums(matrices: Floats, worker_group: Ints, n_groups: int) -> Floats:
    """Sum of the matrices of each group's workers."""
    return _weighted_sums((np.arange(n_groups)[:, None] == worker_group).astype(np.float64), matrices)


def _weighted_sums(weight: Floats, matrices: Floats) -> Floats:
    """Sums of the workers' matrices with the weights of each row: (m, w), (w, ...) → (m, ...)."""
    return np.asarray((weight @ matrices.reshape(len(matrices), -1)).reshape(len(weight), *matrices.shape[1:]))


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
    return _hessian(_data_weights(state, problem), problem.data.gram, _mates(state), problem)


def _hessian(weight: Floats, gram: Floats, mates: Floats, problem: FrobeniusProblem) -> Floats:
    fixed = problem.admm_penalty * np.eye(problem.n_labels)
    fixed = fixed - problem.hsic_weight * linalg.hsic_scale(problem.n_labels) * mates
    return np.asarray(weight[:, None, None, None] * gram + fixed[:, None])


def _mates(state: FrobeniusState) -> Floats:
    """(n_workers, n_labels, n_labels) sum of H D_v D_vᵀ H over the other workers of each worker's group."""
    gram = dependence(state.individuality)
    return _group_sums(gram, state.worker_group, state.n_groups)[state.worker_group] - gram


def _data_weights(state: FrobeniusState, problem: FrobeniusProblem) -> Floats:
    """(n_workers,) factor of a worker's residual in eq5, times the total scale."""
    scales = _group_scales(_membership(state, problem), problem)
    return (state.group_weights**problem.weight_exponent * problem.total_scale / scales)[state.worker_group]


def project_rows(matrix: Floats, rows: Rows) -> Floats:
    """The constraint on D_w: rows sum to one (eq5) or have 2-norm one (eq15), D4."""
    return linalg.project_simplex(matrix) if rows == "simplex" else linalg.project_unit(matrix)


def admm(state: FrobeniusState, problem: FrobeniusProblem, n_steps: int = ADMM_STEPS) -> tuple[Floats, Floats]:
    """Steps of eq18 on D_w, its copy and its dual, all workers side by side: the copy and the dual at the end.

    The copy obeys the constraint on rows and starts as the state's D_w. The other workers' D_v inside HSIC are those
    of the state. In blocks of workers, so that what a step makes stays in the cache.
    """
    weight, mates = _data_weights(state, problem), _mates(state)
    copy, dual = np.empty_like(state.individuality), np.empty_like(state.admm_dual)
    for some in _worker_blocks(problem.data.gram):
        gram, s, t = problem.data.gram[some], state.individuality[some], state.admm_dual[some]
        inverse = np.asarray(np.linalg.inv(_hessian(weight[some], gram, mates[some], problem)), dtype=np.float64)
        rest = problem.data.cross[some] - _times(gram, state.commonality[state.worker_group[some]])
        from_data = _times(inverse, weight[some, None, None] * rest)
        inverse *= problem.admm_penalty
        for _ in range(n_steps):
            ahead = from_data + _times(inverse, s - t) + t  # D_w + T
            s = project_rows(ahead, problem.rows)
            t = ahead - s
        copy[some], dual[some] = s, t
    return copy, dual


def update_individuality(state: FrobeniusState, problem: FrobeniusProblem, n_steps: int = ADMM_STEPS) -> FrobeniusState:
    """Go from D_w to ADMM's copy (eq17–eq18), group by group only as far as that does not raise eq5.

    ADMM promises to arrive, not to fall on its way, and it moves all workers of a group at once. Where the whole way
    is too far, a half, a quarter … of it is tried, in the end none. The print knows no such care.
    """
    copy, dual = admm(state, problem, n_steps)
    if problem.printed:
        return replace(state, individuality=copy, admm_dual=dual)
    before = group_terms(state, problem)
    share = np.ones(state.n_groups)
    for _ in range(HALVINGS):
        tried = replace(state, individuality=_part_of_the_way(state, copy, share, problem.rows), admm_dual=dual)
        raised = group_terms(tried, problem) > before
        if not raised.any():
            return tried
        share[raised] /= 2
    share[raised] = 0.0
    stopped = (share == 0)[state.worker_group, None, None]
    return replace(
        state,
        individuality=_part_of_the_way(state, copy, share, problem.rows),
        admm_dual=np.where(stopped, 0.0, dual),
    )


def _part_of_the_way(state: FrobeniusState, copy: Floats, share: Floats, rows: Rows) -> Floats:
    """D_w moved towards the copy by its group's share; rows of norm one have to be brought back to it."""
    if (share == 1).all():
        return copy
    part = share[state.worker_group, None, None]
    between = state.individuality + part * (copy - state.individuality)
    return np.where(part == 0, state.individuality, project_rows(between, rows) if rows == "unit" else between)


# -- commonality, weights, groups ---------------------------------------------------------------------------------


def update_commonality(state: FrobeniusState, problem: FrobeniusProblem) -> FrobeniusState:
    """Minimise eq5 over C_m (eq19–eq21, D2): column by column one linear system per group.

    λ_m^r stands before residual and penalty, and cancels. Where the data leave C_m open, it is as small as possible.
    """
    member = _membership(state, problem)
    target = (
        problem.data.cross if problem.printed else problem.data.cross - _times(problem.data.gram, state.individuality)
    )
    system = _weighted_sums(member, problem.data.gram) + problem.laplacian_weight * problem.label_laplacian
    right = _weighted_sums(member, target)
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
    """Let each worker go to the group that explains them best (D3), unless that raises eq5 or empties their group.

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
        self._gram = dependence(state.individuality)
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
            change += self._power[place] * (_loss(loss, scale) - _loss(self._loss[place], self._scale[place]))
        mates = self._gram_sum[group] - (self._gram_sum[old] - self._gram[worker])
        return float(change - self._hsic_weight * np.sum(mates * self._gram[worker]))


def _loss(loss: float, scale: float) -> float:
    """Of one group, as in `group_losses`."""
    return max(loss / max(scale, RESIDUAL_FLOOR), RESIDUAL_FLOOR)


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
        admm_dual=np.zeros_like(individuality),
    )
    return update_group_weights(update_commonality(state, problem), problem)


# -- consensus and cost -------------------------------------------------------------------------------------------


def answer_rates(state: FrobeniusState, problem: FrobeniusProblem) -> AnswerRates:
    """Hit and false-alarm rates under the response, by label: of each worker, each group and the crowd.

    For an item with anchor row y, the model's chance of a yes on l is y · response[:, l]. The hit rate is its mean
    over the items they answered with y_l set to one, weighted by y_l; the false-alarm rate that with y_l set to zero,
    weighted by 1 − y_l. Both need nothing but the statistics.
    """
    response, n_labels = state.response, problem.n_labels
    # One matrix for all columns or one for each: after broadcasting, the same.
    gram = np.broadcast_to(problem.data.gram, (problem.n_workers, n_labels, n_labels, n_labels))
    anchor_sum = np.broadcast_to(problem.data.anchor_sum, (problem.n_workers, n_labels, n_labels))
    present, square, own = (np.einsum(f"w{'l' * (x.ndim - 1)}->wl", x) for x in (anchor_sum, gram, response))
    yes = np.einsum("wlg,wgl->wl", anchor_sum, response)
    hits = np.einsum("wlg,wgl->wl", np.einsum("wllg->wlg", gram), response) + own * (present - square)
    absent = np.maximum(problem.data.n_asked - present, 0.0)
    return pooled_rates(np.stack([hits, yes - hits]), np.stack([present, absent]), state)


def vote_rates(votes: Votes, state: FrobeniusState, proba: Floats) -> AnswerRates:
    """The same from the votes themselves and the probabilities of their pairs."""
    present = np.repeat(proba, votes.pairs.n_votes)
    cell = votes.worker.astype(np.int64) * votes.n_labels + votes.label
    weight = np.stack([present, 1.0 - present])
    shape = 2, votes.n_workers, votes.n_labels
    count, whole = (
        np.stack([weight_per_code(cell, part, votes.n_workers * votes.n_labels) for part in parts]).reshape(shape)
        for parts in (weight * (votes.value > 0), weight)
    )
    return pooled_rates(count, whole, state)


def pooled_rates(count: Floats, weight: Floats, state: FrobeniusState) -> AnswerRates:
    """Ratios of expected yeses to expected votes, (2, n_workers, n_labels) each, in floors.

    A worker leans by `RATE_PRIOR` votes on their group, the group on the crowd, the crowd's rate on a label on that on
    all labels: who has no votes is like the others.
    """
    member = (np.arange(state.n_groups)[:, None] == state.worker_group).astype(np.float64)
    overall = count.sum(axis=(1, 2)) / np.maximum(weight.sum(axis=(1, 2)), RESIDUAL_FLOOR)
    crowd = _leaning(count.sum(axis=1), weight.sum(axis=1), overall[:, None])
    group = _leaning(member @ count, member @ weight, crowd[:, None])
    worker = _leaning(count, weight, group[:, state.worker_group])
    return AnswerRates(*(np.clip(rate, RATE_FLOOR, 1.0 - RATE_FLOOR) for rate in (crowd, group, worker)))


def _leaning(count: Floats, weight: Floats, on: Floats) -> Floats:
    """Ratio, as if there were `RATE_PRIOR` more votes at the rate `on`."""
    return (count + RATE_PRIOR * on) / np.maximum(weight + RATE_PRIOR, RESIDUAL_FLOOR)


def vote_weights(state: FrobeniusState, weight_exponent: float) -> Floats:
    """(n_workers,) what a vote counts in eq6: λ_m^r relative to equal weights, and no more than one vote (D8)."""
    return np.minimum(1.0, state.n_groups * state.group_weights[state.worker_group]) ** weight_exponent


def coin_evidence(votes: Votes, rates: AnswerRates, weights: Floats) -> Floats:
    """(2 · n_coins,) log-odds that a no and a yes of each coin add to "present": eq6 with D8."""
    coins = votes.coins
    hit, false_alarm = rates.worker[:, coins.worker, coins.label]
    return slot_evidence(hit, false_alarm) * np.repeat(weights[coins.worker], 2)


def new_evidence(
    votes: Votes, worker: Ints, label: Ints, *, worker_rates: Floats, crowd_rates: Floats, vote_weight: Floats
) -> Floats:
    """The same for new votes, whose workers and labels have these learned codes (−1: newcomers).

    A newcomer has the rates of the crowd and the mean weight; a new label the mean of all labels.
    """
    who, what = worker[votes.coins.worker], label[votes.coins.label]
    met = (who >= 0) & (what >= 0)
    hit, false_alarm = (
        np.where(met, own[who, what], known_or_mean(crowd, what))
        for own, crowd in zip(worker_rates, crowd_rates, strict=True)
    )
    return slot_evidence(hit, false_alarm) * np.repeat(known_or_mean(vote_weight, who), 2)


def pair_priors(votes: Votes, label_prior: Floats, gold: Gold) -> Floats:
    """(n_pairs,) log-odds before any vote; certain where truth is known."""
    return gold.log_odds(np.log(label_prior / (1.0 - label_prior))[votes.pairs.label])


def consensus(votes: Votes, evidence: Floats, prior: Floats) -> Floats:
    """eq6 with D8: (n_pairs,) probability that the label is present.

    Log-odds of present against absent: the label's prior, and each vote, yes or no, by its worker's rates and weight.
    """
    return passes.posterior_pass(votes.coins.slot, votes.pairs.start, evidence, prior).proba


def printed_consensus(
    votes: Votes, individuality: Floats, commonality: Floats, group_weights: Floats, weight_exponent: float
) -> Floats:
    """eq6 as printed, in logs: (n_pairs,) share of each label in its item's sum over labels.

    Only yes-votes count, every group explains every worker, and what is not positive counts as 10⁻¹⁰. The arg max
    names one label per item, so the shares of an item's labels sum to one (or less, where not all were asked). Where
    nobody said yes, every product is empty and every label has the same share; of a single label that would be 1, a
    certain yes from denials alone, so ignorance is at most ½.
    """
    yes = votes.value > 0
    worker, label = votes.worker[yes], votes.label[yes]
    some, first = np.unique(votes.item[yes], return_index=True)  # votes are sorted by item
    with np.errstate(divide="ignore"):
        log_weight = weight_exponent * np.log(group_weights)
    score = np.full((votes.n_items, votes.n_labels), -np.inf)
    for common, log_weight_of_group in zip(commonality, log_weight, strict=True):
        response = np.log(np.maximum(individuality + common, 1e-10))
        term = np.full(score.shape, log_weight_of_group)
        if len(some):
            term[some] += np.add.reduceat(response[worker, :, label], first, axis=0)
        score = np.logaddexp(score, term)
    share = np.exp(score - np.logaddexp.reduce(score, axis=1, keepdims=True))
    unsaid = np.setdiff1d(np.arange(votes.n_items), some)
    share[unsaid] = np.minimum(share[unsaid], 0.5)
    return np.asarray(share[votes.pairs.item, votes.pairs.label])


def for_new_votes(matrices: Floats, label: Ints) -> Floats:
    """D_w or C_m on the labels of new votes, by their learned codes: (n, n_new, n_new).

    A new label (−1) is given in its own place as the others are in theirs, on average, and instead of others likewise.
    """
    n_labels, same = matrices.shape[-1], np.eye(len(label), dtype=bool)
    diagonal = np.einsum("...gg->...", matrices)
    beside = (matrices.sum(axis=(-2, -1)) - diagonal) / max(n_labels * (n_labels - 1), 1)
    average = np.where(same, diagonal[..., None, None] / n_labels, beside[..., None, None])
    known = (label[:, None] >= 0) & (label >= 0)
    return np.where(known, matrices[:, label[:, None], label], average)


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
    gold: Gold | None = None,
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
    gold : Gold. Pairs whose truth is known: they keep it in the consensus and, where that is the anchor, workers are
        judged by it from the start. A worker who represents themselves cannot be.
    n_groups : int. M; with fewer workers, each is a group of their own.
    hsic_weight : float, at least 0. How much workers of one group should be alike (α of eq5).
    laplacian_weight : float, at least 0. How much similar labels should be answered alike, in answers (β of eq5).
    weight_exponent : float, above 1. r; near 1 the best group takes all, a large one makes groups equal.
    rows : "simplex" or "unit". What the rows of D_w must be (D4).
    anchor : "consensus" or "self". Whether answers are represented by the consensus, or by themselves (D1).
    max_iter, tol : rounds at most, and the change of the objective below which they end.
    random_state : int. Fixes the start of the groups.
    printed : bool. Follow the print as far as it runs: a worker's own ±1 answers as anchor, eq20–eq23 over all
        workers, eq6 from yes-votes only, Theorem 1's penalty by its letter. For comparison, not for use; nothing is
        promised about its objective (D2).

    Raises
    ------
    TooLargeError
        If workers × labels² (× labels, where answers leave labels out) numbers are more than fit; see the top.
    """
    _check_settings(n_groups, hsic_weight, laplacian_weight, weight_exponent, rows, anchor, max_iter, tol)
    _check_size(votes)
    gold = gold or Gold(*(np.zeros(len(votes.pairs), dtype=bool),) * 2)
    answers = gather_answers(votes)
    by_itself = printed or anchor == "self"
    given = answers.value.astype(np.float64) if printed else presence(answers.value)
    similarity = linalg.label_similarity(_mean_answers(answers, given, votes.n_items))
    penalty = theorem_one_bound if printed else default_penalty
    scale = answers.per_worker.astype(np.float64) if by_itself else answer_variation(answers)
    proba = np.where(gold.known, gold.present, votes.n_yes / votes.pairs.n_votes)

    def sums(proba: Floats) -> Statistics:
        return statistics(answers, given, given.__getitem__ if by_itself else _anchor(votes, answers, proba))

    problem = FrobeniusProblem(
        data=sums(proba),
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
    worker_group = cluster_workers(
        _start_features(votes, gold), min(n_groups, votes.n_workers), np.random.default_rng(random_state)
    )
    # From the identity, self-representation is perfect before it starts; so it starts from "gives any label".
    first = np.full((votes.n_labels, votes.n_labels), 1.0) if by_itself else np.eye(votes.n_labels)
    first = project_rows(first, rows)
    state = start_state(problem, worker_group, first)
    place = Place(state, problem, proba, objective(state, problem))
    del problem  # the sums of an old anchor are as large as all the rest
    monitor = Monitor(tol, max_iter)
    for _ in monitor.rounds():
        previous = place
        place = place._replace(state=update_all(place.state, place.problem))
        if by_itself:
            place = place._replace(value=objective(place.state, place.problem))  # eq5
        else:
            wanted = judge_pairs(votes, gold, place).pair_proba  # eq6
            place = follow_consensus(place, wanted, sums)  # D1
        monitor.report(place.value, abs(previous.value - place.value))
    place = place._replace(state=by_weight(place.state))
    verdict, before = judge_pairs(votes, gold, place), judge_pairs(votes, gold, previous)
    return FrobeniusFit(
        **verdict._asdict(),
        state=place.state,
        worker_cost=worker_cost(answers, place.state.individuality),
        label_correlation=similarity,
        monitor=monitor,
        consensus_change=float(np.abs(verdict.pair_proba - before.pair_proba).max(initial=0.0)),
        individuality_moved=_distance(place.state.individuality, first),
    )


class Place(NamedTuple):
    """Where the fit stands.

    state : the estimates. problem : what they solve. proba : (n_pairs,) what anchors it. value : eq5.
    """

    state: FrobeniusState
    problem: FrobeniusProblem
    proba: Floats
    value: float


def update_all(state: FrobeniusState, problem: FrobeniusProblem) -> FrobeniusState:
    """One round over everything that eq5 is minimised over; with the print's sums over all, groups do not matter."""
    state = update_individuality(state, problem)  # eq17–eq18
    state = update_commonality(state, problem)  # eq19–eq21
    if not problem.printed:
        state = assign_groups(state, problem)  # D3
    return update_group_weights(state, problem)  # eq23


def follow_consensus(place: Place, wanted: Floats, sums: Callable[[Floats], Statistics]) -> Place:
    """Move the anchor to the consensus, or a part of the way, or not, so that eq5 does not end above its value (D1).

    Commonality and weights come along: they are what the new anchor makes of them.
    """
    for halving in range(HALVINGS):
        proba = place.proba + 0.5**halving * (wanted - place.proba)
        problem = replace(place.problem, data=sums(proba))
        state = update_group_weights(update_commonality(place.state, problem), problem)
        moved = Place(state, problem, proba, objective(state, problem))
        if moved.value <= place.value:
            return moved
    return place._replace(value=objective(place.state, place.problem))


class Verdict(NamedTuple):
    """What eq6 says about every pair, and from what; see `FrobeniusFit`."""

    rates: AnswerRates
    vote_weight: Floats
    evidence: Floats
    prior: Floats
    label_prior: Floats
    pair_proba: Floats


def judge_pairs(votes: Votes, gold: Gold, place: Place) -> Verdict:
    """eq6, with D8 or as printed, and known truth in its place."""
    state, problem = place.state, place.problem
    weights, proba = vote_weights(state, problem.weight_exponent), place.proba
    if problem.printed:
        matrices = state.individuality, state.commonality, state.group_weights
        proba = _with_gold(gold, printed_consensus(votes, *matrices, problem.weight_exponent))
    rates = vote_rates(votes, state, proba) if problem.printed else answer_rates(state, problem)
    label_prior = mean_presence(votes, proba)
    evidence, prior = coin_evidence(votes, rates, weights), pair_priors(votes, label_prior, gold)
    if not problem.printed:
        proba = _with_gold(gold, consensus(votes, evidence, prior))
    return Verdict(rates, weights, evidence, prior, label_prior, proba)


def _with_gold(gold: Gold, proba: Floats) -> Floats:
    return np.where(gold.known, gold.present, proba)


def by_weight(state: FrobeniusState) -> FrobeniusState:
    """Groups in the order of their weight, the best first."""
    order = np.argsort(-state.group_weights, kind="stable")
    return replace(
        state,
        commonality=state.commonality[order],
        group_weights=state.group_weights[order],
        worker_group=np.argsort(order)[state.worker_group],
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


def _anchor(votes: Votes, answers: Answers, proba: Floats) -> Callable[[Ints], Floats]:
    """Rows of the consensus on the items of some answers; what is usual for the label where nobody was asked (D1)."""
    table = np.tile(mean_presence(votes, proba), (votes.n_items, 1))
    table[votes.pairs.item, votes.pairs.label] = proba
    return lambda row: np.asarray(table[answers.item[row]])


def _mean_answers(answers: Answers, given: Floats, n_items: int) -> Floats:
    """(n_items, n_labels) sum of all workers' answers, over the number of workers (text below eq4)."""
    total = np.zeros((n_items, given.shape[1]))
    np.add.at(total, answers.item, given)
    return total / len(answers.per_worker)


def _start_features(votes: Votes, gold: Gold) -> Floats:
    """(n_workers, 2) hit and false-alarm rate of each worker, judged by known truth and the majority of the others."""
    rates = worker_rates(votes, MajorityVote()._fit(votes, None, gold).judge())
    return np.column_stack([rates.hit_rate, rates.false_alarm_rate])


def _check_size(votes: Votes) -> None:
    """Refuse what would not fit, before anything of that size is made."""
    n_workers, n_labels = votes.n_workers, votes.n_labels
    n_answers = int(votes.answers_per_worker.sum())
    columns = 1 if len(votes) == n_answers * n_labels else n_labels
    # Sums of three anchors (now, tried, tried before), some ten matrices a worker, some five numbers a cell.
    numbers = n_workers * n_labels**2 * (3 * columns + 10) + 5 * n_labels * (n_answers + votes.n_items)
    if numbers > MAX_NUMBERS:
        partial = f" × {n_labels} (not every answer covers all labels)" if columns > 1 else ""
        raise TooLargeError(
            f"PaperAMCC must fit into {8 * MAX_NUMBERS / 1e9:.1f} GB; {n_workers} workers × {n_labels} × "
            f"{n_labels} labels{partial} need {8 * numbers / 1e9:.1f} GB. Use AMCC, or fewer labels."
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
