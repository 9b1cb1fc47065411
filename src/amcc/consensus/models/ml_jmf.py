"""ML-JMF: every worker's answers as a low-rank matrix, over factors of the labels that all workers share.

`rows` are the rows of all U_w one after the other, an answer each; `factors` is V; `trust` are the weights λ with a
floor. `update_rows` and `update_factors` are the two steps of a round; both lower the same objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import numpy as np
import scipy

from amcc import linalg, passes
from amcc.arrays import AnyInts, Codes, Floats, Ints, find_sorted, sigmoid, weight_per_code
from amcc.consensus.answers import gather_answers
from amcc.consensus.averages import mean_per_code
from amcc.consensus.base import ConsensusModel
from amcc.consensus.coins import signed_evidence
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import known_or_mean, new_code
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_at_least_one, check_choice, check_not_negative, check_rounds, check_seed
from amcc.consensus.signature import draws, signatures
from amcc.engine.base import Engine
from amcc.fields import Each
from amcc.passes import Judgement
from amcc.votes import Votes

Anchor = Literal["consensus", "self"]

# Factors that are taken by default at most: a thousand labels with six asked do not fill six hundred.
LARGEST_RANK = 32
# Updates of an item's rows once the factors of the labels stand. Fixed, so that no item depends on the others.
ROW_ROUNDS = 100
# Weight, relative to the mean, with which rows of a worker of weight zero follow the votes where nobody else voted.
LEAST_TRUST = 1e-6
# Log-odds of an average worker's vote when workers are judged: so many that the probability is 0 or 1, as for
# `MajorityVote`.
ONE_VOTE = 40.0
# Scores lie between this and one minus this before they become odds: the odds of 0 and 1 are not finite.
EDGE = 0.01


class MLJMF(ConsensusModel, methods={"ml-jmf": {}}):
    """Joint matrix factorisation of all workers' answers, with weights that may silence a worker entirely.

    The answers of worker w are approximated by U_w Vᵀ: U_w, a row per item, is w's own; V, a row per label, is shared.
    Related labels are drawn together in V, similar workers in U. Weights of the workers sum to one and fall with how
    badly a worker fits. With λ = `worker_weight_`, the objective is

        Σ_w λ_w ‖asked ∘ (yes_w − U_w Vᵀ)‖² + label_smoothing · tr(Vᵀ (D − C) V)
        + worker_smoothing / 2 · Σ_wv s_wv ‖U_w − U_v‖² + γ ‖λ‖²,    U_w ≥ 0, V ≥ 0, λ ≥ 0, Σ λ = 1,

    with C the cosines of labels, D their sums, s the cosines of workers.

    Parameters
    ----------
    anchor : "consensus" or "self"
        What the misfit of a worker, which decides the weight, is measured against: the consensus, or their own low-rank
        matrix. The second is the objective taken literally, and rewards a spammer who always says the same: nothing is
        easier to fit.
    rank : int, optional
        Columns of U and V. By default 0.6 of the number of labels, at least 2 and at most `LARGEST_RANK`.
    label_smoothing, worker_smoothing : float >= 0
        The weights α and β of the two regularisers.
    max_iter, tol
        Stop when the objective moves by less than this share of its first value.
    random_state : int
        U and V start from chance.

    Attributes
    ----------
    worker_weight_ : (n_workers,)
        λ, sums to one; zero for workers whom nobody should listen to.
    label_factors_ : (n_labels, rank)
        V.
    similar_worker_, similar_other_, similarity_ : (n_similar,)
        Pairs of workers who ever said yes to the same, and the cosine of their answers. All others have cosine 0.

    Notes
    -----
    A RECONSTRUCTION: of the publications only the abstracts could be read. They say that each worker's matrix is
    factorised into an individual and a shared part, that label correlation and worker similarity regularise these,
    and that unreliable workers get small weights or none. The objective above, multiplicative updates, γ = n_workers ·
    mean misfit / 2 and anchoring to the consensus are ours. The printed updates of U crawl where likeness outweighs the
    votes; a common step of all rows of an item before each of them lowers the same objective much faster. A low rank
    may give up a rare label altogether; where sets hardly overlap, `rank` should be the number of labels.

    Rows of U exist only for items that the worker answered. Full matrices would give them, on items they never saw, a
    mean of similar workers' rows and let it vote; here the consensus of an item is the weighted mean over those who
    answered it, and workers are drawn together on the items they share. Memory follows votes · rank, and the number of
    pairs of answers on the same item.

    The scores U Vᵀ shrink towards zero, so 0.5 is no threshold for them. An item has as many labels as its yes shares
    add up to (for full answers: the mean number of labels a worker gave), rounded, and at least one if anybody said
    yes: those with the highest scores. `predict_proba` gives σ(logit score − logit threshold), where the threshold lies
    halfway between the last label in the set and the first outside: the order of the scores within an item is kept,
    and above 0.5 means in the set. These are no calibrated probabilities. Labels that tie around the threshold stay
    outside.

    Known truth stands in for the votes in the factorisation, and votes are measured against it. A label that was not
    there at `fit` has no factors; its score is the weighted share of yes. A new worker has the mean weight.

    References
    ----------
    J. Tu, G. Yu, C. Domeniconi, J. Wang, G. Xiao, M. Guo, Multi-label answer aggregation based on joint matrix
    factorization, ICDM 2018.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> model = MLJMF().fit(votes)
    >>> model.predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    >>> bool(model.worker_weight_[0] > model.worker_weight_[2])
    True
    """

    worker_weight_: Annotated[Floats, Each("worker")]
    label_factors_: Annotated[Floats, Each("label", "factor")]
    similar_worker_: Annotated[Ints, Each("similar", code="worker")]
    similar_other_: Annotated[Ints, Each("similar", code="worker")]
    similarity_: Annotated[Floats, Each("similar")]

    def __init__(
        self, *, anchor: Anchor = "consensus", rank: int | None = None, label_smoothing: float = 0.1,
        worker_smoothing: float = 0.1, max_iter: int = 1000, tol: float = 1e-5, random_state: int = 0,
    ) -> None:  # fmt: skip
        self.anchor = anchor
        self.rank = rank
        self.label_smoothing = label_smoothing
        self.worker_smoothing = worker_smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_params(self) -> None:
        check_choice("anchor", self.anchor, Anchor)
        check_at_least_one("rank", self.rank, optional=True)
        for name in ("label_smoothing", "worker_smoothing"):
            check_not_negative(name, getattr(self, name))
        check_rounds(self.max_iter, self.tol)
        check_seed(self.random_state)

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        similarity = worker_similarity(votes)
        answers = AnswerRows.of(votes, similarity)
        known, present = (np.repeat(of_pair, votes.pairs.n_votes) for of_pair in (gold.known, gold.present))
        # What U_w Vᵀ is to come near to: the votes, and where truth is known the truth in their place.
        target = answers.matrix(np.where(known, present, votes.value > 0)[answers.vote].astype(np.float64))
        relations = label_cosines(votes)
        rows, factors = self._start(votes, answers)
        # All workers weigh the same at first, but for those without any vote, who never weigh anything.
        weight = worker_weights(np.where(votes.answers_per_worker > 0, 1.0, np.inf))
        monitor = Monitor(self.tol, self.max_iter)
        for _ in monitor.rounds():
            trust = trusted(weight)
            rows = update_rows(rows, factors, target, trust, answers, self.worker_smoothing)
            factors = update_factors(rows, factors, target, trust, answers, relations, self.label_smoothing)
            value = self._objective(rows, factors, target, trust, answers, relations)
            monitor.report(value, relative_change(monitor.history, value))
            anchor = self._anchor_of_votes(votes, rows, factors, trust, answers)
            weight = worker_weights(misfits(votes, np.where(known, present, anchor)))
        self._publish(monitor)
        self.worker_weight_, self.label_factors_ = weight, factors
        self.similar_worker_, self.similar_other_, self.similarity_ = similarity.row, similarity.col, similarity.data
        proba = rcard_proba(votes, self._scores(votes, answers, factors, weight))
        # These are no calibrated probabilities: what counts is which labels are in the sets.
        label = mean_per_code(votes.pairs.label, proba > 0.5, votes.n_labels)
        return Learned(label, partial(judge_by_weights, votes, weight, gold), Inferred(proba))

    def _start(self, votes: Votes, answers: AnswerRows) -> tuple[Floats, Floats]:
        """U and V, uniform between 0.1 and 1.1: multiplicative updates never leave a zero."""
        rank = self.rank or min(max(round(0.6 * votes.n_labels), 2), LARGEST_RANK)
        signature = signatures(votes, self.random_state)
        of_answers = signature.of_answers(answers.item, answers.worker)
        return 0.1 + draws(of_answers, rank), 0.1 + draws(signature.label, rank)

    def _objective(
        self, rows: Floats, factors: Floats, target: scipy.sparse.csr_array, trust: Floats, answers: AnswerRows,
        relations: scipy.sparse.csr_array,
    ) -> float:  # fmt: skip
        """The objective without the term of the weights: its γ is set anew in every round."""
        squares = (target.data - answers.fitted(rows, factors).data) ** 2
        misfit = trust[answers.worker] @ np.add.reduceat(squares, answers.start[:-1])
        labels = self.label_smoothing * smoothness(factors, relations)
        return float(misfit + labels + self.worker_smoothing * smoothness(rows, answers.alike))

    def _anchor_of_votes(
        self, votes: Votes, rows: Floats, factors: Floats, trust: Floats, answers: AnswerRows
    ) -> Floats:
        """(n_votes,) what each vote is measured against."""
        if self.anchor == "consensus":
            return np.repeat(consensus_scores(votes, rows, factors, trust, answers), votes.pairs.n_votes)
        own = np.empty(len(votes))
        own[answers.vote] = answers.fitted(rows, factors).data
        return own

    def _scores(self, votes: Votes, answers: AnswerRows, factors: Floats, weight: Floats) -> Floats:
        """(n_pairs,) scores of the consensus, from rows that are fitted to the factors item by item."""
        rows = np.full((len(answers.item), factors.shape[1]), 0.5)
        target, trust = answers.matrix((votes.value > 0)[answers.vote].astype(np.float64)), trusted(weight)
        for _ in range(ROW_ROUNDS):
            rows = update_rows(rows, factors, target, trust, answers, self.worker_smoothing)
        return consensus_scores(votes, rows, factors, trust, answers)

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        label = new_code(votes.label_names, self.label_names_)
        worker = new_code(votes.worker_names, self.worker_names_)
        weight = known_or_mean(self.worker_weight_, worker)
        learned = votes.select((label >= 0)[votes.label])
        answers = AnswerRows.of(learned, self._similarity_of(worker))
        # A new label has no factors; its votes are left out here, and its score is the share of yes.
        factors = np.where(label[:, None] >= 0, self.label_factors_[label], 0.0)
        scores = weighted_yes_share(votes, trusted(weight))
        scores[label[votes.pairs.label] >= 0] = self._scores(learned, answers, factors, weight)
        return Inferred(rcard_proba(votes, scores))

    def _similarity_of(self, worker: Ints) -> scipy.sparse.coo_array:
        """Cosines between workers of new votes, from their places among the learned ones; newcomers have none."""
        n_learned = len(self.worker_names_)
        learned = scipy.sparse.csr_array(
            (self.similarity_, (self.similar_worker_, self.similar_other_)), shape=(n_learned, n_learned)
        )
        met = np.flatnonzero(worker >= 0)
        chosen = scipy.sparse.csr_array((np.ones(len(met)), (met, worker[met])), shape=(len(worker), n_learned))
        return scipy.sparse.coo_array(chosen @ learned @ chosen.T)

    def _groups(self) -> tuple[Codes, Floats]:
        return super()._groups()[0], self.worker_weight_


@dataclass(frozen=True)
class AnswerRows:
    """What each worker said on each item that they answered: the rows of all U_w that exist.

    item, worker : (n_answers,) codes.
    vote : (n_votes,) the votes sorted by answer, the order of everything below.
    of_vote, label_of_vote : (n_votes,) answer and label of each vote.
    start : (n_answers + 1,) where the votes of each answer begin.
    on_item : (n_items, n_answers) sparse, which answers belong to which item.
    alike : (n_answers, n_answers) sparse, similarity of the workers of two answers on the same item.
    degree : (n_answers, 1) its row sums.
    """

    item: Ints
    worker: Ints
    vote: Ints
    of_vote: Ints
    label_of_vote: Codes
    start: Ints
    n_labels: int
    on_item: scipy.sparse.csr_array
    alike: scipy.sparse.csr_array
    degree: Floats

    @classmethod
    def of(cls, votes: Votes, similarity: scipy.sparse.coo_array) -> AnswerRows:
        """Gather votes to answers."""
        item, worker, of_vote = gather_answers(votes)
        n_answers = len(item)
        start = np.append(0, np.cumsum(np.bincount(of_vote, minlength=n_answers)))
        vote = np.argsort(of_vote, kind="stable")  # votes are sorted by label before worker
        ones = np.ones(n_answers)
        on_item = scipy.sparse.csr_array((ones, (item, np.arange(n_answers))), shape=(votes.n_items, n_answers))
        alike = same_item(on_item, worker, similarity)
        degree = np.asarray(alike.sum(axis=1))[:, None]
        return cls(item, worker, vote, of_vote[vote], votes.label[vote], start, votes.n_labels, on_item, alike, degree)

    def matrix(self, of_vote: Floats) -> scipy.sparse.csr_array:
        """(n_answers, n_labels) sparse matrix of what is given for each vote."""
        return scipy.sparse.csr_array((of_vote, self.label_of_vote, self.start), shape=(len(self.item), self.n_labels))

    def fitted(self, rows: Floats, factors: Floats) -> scipy.sparse.csr_array:
        """(n_answers, n_labels) sparse matrix of U Vᵀ where votes are."""
        return self.matrix(linalg.row_products(rows, self.of_vote, factors, self.label_of_vote))


def worker_similarity(votes: Votes) -> scipy.sparse.coo_array:
    """s: cosines of the workers' yes votes, without the diagonal; only pairs of workers with a cosine are kept."""
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    yes = votes.value > 0
    return cosines(votes.worker[yes], pair[yes], np.ones(int(yes.sum())), (votes.n_workers, len(votes.pairs)))


def label_cosines(votes: Votes) -> scipy.sparse.csr_array:
    """C: cosines of labels over the items' shares of yes, without the diagonal."""
    share = votes.n_yes / votes.pairs.n_votes
    return scipy.sparse.csr_array(cosines(votes.pairs.label, votes.pairs.item, share, (votes.n_labels, votes.n_items)))


def cosines(row: AnyInts, column: AnyInts, entry: Floats, shape: tuple[int, int]) -> scipy.sparse.coo_array:
    """Cosines between the rows of a sparse matrix, without the diagonal; a row of zeros is like no other."""
    norm = np.sqrt(weight_per_code(row, entry**2, shape[0]))
    kept = entry != 0
    row, column, entry = row[kept], column[kept], entry[kept]
    unit = scipy.sparse.csr_array((entry / norm[row], (row, column)), shape=shape)
    cosine = scipy.sparse.coo_array(unit @ unit.T)
    apart = cosine.row != cosine.col
    return scipy.sparse.coo_array((cosine.data[apart], (cosine.row[apart], cosine.col[apart])), shape=cosine.shape)


def same_item(
    on_item: scipy.sparse.csr_array, worker: Ints, similarity: scipy.sparse.coo_array
) -> scipy.sparse.csr_array:
    """(n_answers, n_answers) similarity of the workers of every two answers on the same item."""
    both = scipy.sparse.coo_array(on_item.T @ on_item)
    n_workers = similarity.shape[0]
    # Looked up by one sorted key of two workers: a dense table of all workers would not fit.
    key = similarity.row.astype(np.int64) * n_workers + similarity.col
    order = np.argsort(key)
    place, like = find_sorted(key[order], worker[both.row] * n_workers + worker[both.col])
    cosine = similarity.data[order[place[like]]]
    return scipy.sparse.csr_array((cosine, (both.row[like], both.col[like])), shape=both.shape)


def update_rows(
    rows: Floats, factors: Floats, target: scipy.sparse.csr_array, trust: Floats, answers: AnswerRows, smoothing: float
) -> Floats:
    """Multiplicative steps of all U_w, first of all rows of an item together, then of each alone.

    U ∘ √[(λ yes V + β s U) / (λ fitted V + β (Σ s) U)]. Where β s outweighs λ, this alone would take thousands of
    rounds: everybody waits for the others. A common factor of the rows of an item is free of that.
    """
    pull = trust[answers.worker, None]
    # The common step: one factor for the rows of an item, along which their differences do not count.
    towards = pull * (target @ factors)
    away = pull * (answers.fitted(rows, factors) @ factors)
    stress = smoothing * (answers.degree * rows - answers.alike @ rows)
    common = root_ratio(answers.on_item @ (rows * towards), answers.on_item @ (rows * (away + stress)))
    rows = rows * common[answers.item]
    # Then each row by itself. `away` has to be computed again, for the rows have moved.
    away = pull * (answers.fitted(rows, factors) @ factors)
    return rows * root_ratio(towards + smoothing * (answers.alike @ rows), away + smoothing * answers.degree * rows)


def update_factors(
    rows: Floats, factors: Floats, target: scipy.sparse.csr_array, trust: Floats, answers: AnswerRows,
    relations: scipy.sparse.csr_array, smoothing: float,
) -> Floats:  # fmt: skip
    """Multiplicative step of V: V ∘ √[(Σ λ yesᵀ U + α C V) / (Σ λ fittedᵀ U + α D V)]."""
    pulled = trust[answers.worker, None] * rows
    towards = target.T @ pulled + smoothing * (relations @ factors)
    away = answers.fitted(rows, factors).T @ pulled + smoothing * (relations.sum(axis=1)[:, None] * factors)
    return factors * root_ratio(towards, away)


def root_ratio(towards: Floats, away: Floats) -> Floats:
    """Square root of the ratio, the damped factor of a multiplicative update; 1 where nothing pulls either way."""
    ratio: Floats = np.divide(towards, away, out=np.ones_like(away), where=away > 0)
    return np.asarray(np.sqrt(ratio))


def smoothness(rows: Floats, relations: scipy.sparse.csr_array) -> float:
    """tr(Rᵀ (D − C) R) = half the sum of C_ab ‖R_a − R_b‖²."""
    squares = np.einsum("nd,nd->n", rows, rows)
    return float(relations.sum(axis=1) @ squares - np.einsum("nd,nd->", rows, relations @ rows))


def relative_change(history: list[float], value: float) -> float:
    """How far the objective moved, as a share of its first value: where the fit is perfect it ends at zero."""
    return abs(value - history[-1]) / max(history[0], np.finfo(float).tiny) if history else np.inf


def misfits(votes: Votes, model: Floats) -> Floats:
    """f: mean squared distance of each worker's votes from the model; infinite for a worker without votes."""
    squares = weight_per_code(votes.worker, ((votes.value > 0) - model) ** 2, votes.n_workers)
    asked = np.bincount(votes.worker, minlength=votes.n_workers)
    misfit: Floats = np.divide(squares, asked, out=np.full(votes.n_workers, np.inf), where=asked > 0)
    return misfit


def worker_weights(misfit: Floats, gamma: float | None = None) -> Floats:
    """λ, which minimises Σ λ f + γ ‖λ‖²: the point of the simplex nearest to −f / 2γ.

    By default γ = n_workers · mean(f) / 2, so that an average worker gets about an equal share.

    Only the ratio of f and γ counts, so f may be a mean or a sum. Workers of infinite misfit get nothing.

    >>> worker_weights(np.array([1.0, 2.0, 6.0]), gamma=1.0).tolist()
    [0.75, 0.25, 0.0]
    """
    active = np.isfinite(misfit)
    if gamma is None:
        gamma = misfit[active].sum() / 2
    weight = np.zeros(len(misfit))
    weight[active] = linalg.project_simplex(-misfit[active] / (2 * gamma) if gamma > 0 else misfit[active])
    return weight


def trusted(weight: Floats) -> Floats:
    """Weights with a floor, so that a silenced worker's votes are still all there is where they are alone."""
    return np.maximum(weight, LEAST_TRUST / len(weight))


def consensus_scores(votes: Votes, rows: Floats, factors: Floats, trust: Floats, answers: AnswerRows) -> Floats:
    """(n_pairs,) scores: weighted mean of the rows of those who answered the item, times the factors of the label."""
    pull = trust[answers.worker]
    pull = pull / weight_per_code(answers.item, pull, votes.n_items)[answers.item]
    mean = np.asarray(answers.on_item @ (pull[:, None] * rows))
    return linalg.row_products(mean, votes.pairs.item, factors, votes.pairs.label)


def weighted_yes_share(votes: Votes, trust: Floats) -> Floats:
    """(n_pairs,) share of yes, every worker with their weight."""
    pull = trust[votes.worker]
    share: Floats = np.add.reduceat(pull * (votes.value > 0), votes.pairs.start[:-1])
    return share / np.add.reduceat(pull, votes.pairs.start[:-1])


def set_sizes(votes: Votes) -> Ints:
    """(n_items,) Rcard: the sum of the item's shares of yes, rounded, and at least 1 if anybody said yes."""
    expected = weight_per_code(votes.pairs.item, votes.n_yes / votes.pairs.n_votes, votes.n_items)
    rounded = np.floor(expected + 0.5 + 1e-9).astype(np.int64)  # half up, whatever the order of the sum
    return np.where(expected > 0, np.maximum(rounded, 1), 0)


def rcard_proba(votes: Votes, scores: Floats) -> Floats:
    """Probabilities above 0.5 for the labels of highest score, as many as the item's set size; the order is kept."""
    item = votes.pairs.item
    # Scores of U Vᵀ may exceed one; then all of the item shrink, and their order stays.
    highest = np.ones(votes.n_items)
    np.maximum.at(highest, item, scores)
    inner = EDGE + (1 - 2 * EDGE) * scores / highest[item]
    # A score of 1 before the first and of 0 after the last label of each item, so that every threshold has both sides.
    everyone = np.arange(votes.n_items)
    all_item, all_score = np.r_[item, everyone, everyone], np.r_[inner, highest * 0 + 1, highest * 0]
    ranked = all_score[np.lexsort((-all_score, all_item))]
    last_inside = np.append(0, np.cumsum(np.bincount(all_item)))[:-1] + set_sizes(votes)
    threshold = (ranked[last_inside] + ranked[last_inside + 1]) / 2
    inner_odds, threshold_odds = (np.log(share) - np.log1p(-share) for share in (inner, threshold))
    return sigmoid(inner_odds - threshold_odds[item])


def judge_by_weights(votes: Votes, weight: Floats, gold: Gold) -> Judgement:
    """Judge votes by the weighted majority of the others; the label's share of yes counts only where that is even."""
    # Weights sum to one, so an average worker's vote is worth ONE_VOTE.
    evidence = signed_evidence(ONE_VOTE * votes.n_workers * weight[votes.coins.worker])
    yes = weight_per_code(votes.label, votes.value > 0, votes.n_labels)
    prior = np.log(yes + 0.5) - np.log(np.bincount(votes.label, minlength=votes.n_labels) - yes + 0.5)
    # Even where one worker has all the weight, their vote does not outweigh known truth.
    known = gold.log_odds(prior[votes.pairs.label], certain=ONE_VOTE * votes.n_workers**2)
    return passes.others_pass(votes.coins.slot, votes.pairs.start, evidence, known)
