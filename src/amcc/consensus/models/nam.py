"""NAM: a classifier of the truth per label, and a classifier of when each worker is right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import sparse

from amcc import passes
from amcc.arrays import Codes, Floats, Ints, Mask, safe_logit, sigmoid, weight_per_code
from amcc.consensus.base import ConsensusModel
from amcc.consensus.item_results import ItemResults
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import known_or_mean, match_coins, new_code
from amcc.consensus.models.ml_jmf import row_products
from amcc.consensus.monitor import Monitor
from amcc.consensus.signature import signatures
from amcc.engine.base import Engine
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.passes import Judgement
from amcc.votes import Votes

LARGEST_CODE = 24
"""Columns of answers that are kept; more labels than this are projected onto their main directions."""
TIE_BREAK = 1e-3
"""Largest distance by which chance, drawn from the votes, tells items apart that are equally near."""
START_RIDGE = 1.0
"""Ridge of the logistic regressions that the search starts from."""
BATCH_CELLS = 2**19
"""Numbers in the padded tables of the logistic regressions solved at a time."""
ASCENT_STEP, ASCENT_ROUNDS, ASCENT_TOL = 0.05, 10, 1e-4
"""The short ascent: step divided by its number, the last number, relative change at which it stops.

The published code goes on to 1000, which only labels with few votes ever see; here they go on in the next round."""


@dataclass(frozen=True)
class Described:
    """(n_items, n_features) what describes the items, where features were given."""

    features: Annotated[Floats, Each("item", "feature")]


class NAM(ConsensusModel, methods={"nam": {}}):
    """Truth from features, and workers whose accuracy depends on the item and on what they said about similar ones.

    For each label by itself: the label is present with probability σ(v · [1, x]), x the features of the item; worker
    j is right about it with probability σ(w_j · [1, x, c_j]), the same for present and absent labels, where the code
    c_j is the mean of their answers to the k items nearest to this one among those they answered, this one included.
    Estimated by expectation-maximisation from logistic regressions on the majority's labels.

    Parameters
    ----------
    n_neighbors : int
        k of the codes; a worker with fewer answers gives all of them.
    converge : bool
        False: the short gradient ascent of the publication, whose weights hardly leave their start, logistic
        regressions on the majority's labels. True: a Newton step on all weights in every round, until the estimates
        settle. On six crowds with substitute features the second was never better: it goes where no vote leads.
    shrinkage : float > 0
        Precision λ of the Gaussian prior of the weights, per observation of the label.
    max_iter, tol
        Stop when the log-likelihood per vote moves by less than `tol`. (The publication's 1e-5 of it never comes where
        the votes are explained ever better.)
    random_state : int
        Chance decides between equally near items.

    Attributes
    ----------
    truth_weights_ : (n_labels, 1 + n_features)
        v.
    worker_weights_ : (n_coins, 1 + n_features + code size)
        w, for the (worker, label) combinations that occur: `coin_worker_`, `coin_label_`.
    average_margin_ : (n_labels,)
        Mean log-odds of being right; what a newcomer counts as.
    features_given_ : bool
        Whether `fit` got features.

    Notes
    -----
    ORIGINAL, read in paper and code: the model, the start, the gradient steps, k and λ. The code sums an indicator
    "was asked" where the paper averages the answers; we follow the paper. Ours is a constant beside the features of the
    truth, without which an item of features zero is always even; that weights are found by Newton steps (`converge`);
    and everything about questions that were not asked: such a label stands at its share of yes in features and codes.

    The model needs features. Without them the mean vote vector of the item takes their place, a SUBSTITUTE of ours:
    votes then count twice, and unasked pairs get the label's prior instead of a prediction. With more than
    `LARGEST_CODE` labels, codes and substitute keep the main directions of the items' vote vectors.

    Features are scaled to [0, 1]. New votes on items of `fit` use their features; other items have those of the mean
    item, for `predict_proba` takes none. One round is one pass over votes · weights; the neighbours are found once.

    References
    ----------
    S.-Y. Li, Y. Jiang, N. V. Chawla, Z.-H. Zhou, Multi-label learning from crowds, IEEE TKDE 31(7), 2019.

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> NAM().fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    uses_features = True
    features_judge_workers = True

    item_state_: Annotated[Described | None, Each(optional=True)] = None

    coin_worker_: Annotated[Codes, Each("coin", code="worker")]
    coin_label_: Annotated[Codes, Each("coin", code="label")]
    features_given_: bool
    yes_share_: Annotated[Floats, Each("label")]
    label_basis_: Annotated[Floats, Each("label", None)]
    feature_low_: Annotated[Floats, Each("feature")]
    feature_span_: Annotated[Floats, Each("feature")]
    fitted_item_names_: Annotated[pa.Array, Each("fitted item")]
    item_features_: Annotated[Floats, Each("fitted item", "feature")]
    item_lot_: Annotated[Floats, Each("fitted item")]
    answer_item_: Annotated[Ints, Each("answer", code="fitted item")]
    answer_worker_: Annotated[Ints, Each("answer", code="worker")]
    answer_vector_: Annotated[Floats, Each("answer", None)]
    truth_weights_: Annotated[Floats, Each("label", None)]
    worker_weights_: Annotated[Floats, Each("coin", None)]
    average_margin_: Annotated[Floats, Each("label")]

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        converge: bool = False,
        shrinkage: float = 1e-3,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.converge = converge
        self.shrinkage = shrinkage
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_params(self) -> None:
        for name in ("n_neighbors", "max_iter"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} must be at least 1; got {getattr(self, name)!r}.")
        for name in ("shrinkage", "tol"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ParameterError(f"{name} must be a positive number; got {getattr(self, name)!r}.")
        if self.random_state < 0:
            raise ParameterError(f"random_state must be at least 0; got {self.random_state!r}.")

    # -- learning ----------------------------------------------------------------------------------------------

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        answers = self._describe(votes, engine.features)
        truth = Regressions(with_constant(self.item_features_), votes.pairs.item, votes.pairs.label, votes.n_labels)
        coin = votes.coins.slot // 2
        workers = Regressions(answers.description, answers.of_vote, coin, len(votes.coins))
        problem = Problem(votes, truth, workers, gold, self.shrinkage)
        weights = start(problem)
        step = newton_round if self.converge else ascent
        proba = np.where(gold.known, gold.present, sigmoid(truth.margins(weights.truth)))
        monitor = Monitor(self.tol, self.max_iter)
        for _ in monitor.rounds():
            weights = step(problem, weights, proba)
            margins = problem.margins(weights)
            value = problem.log_likelihood(margins) / len(votes)
            monitor.report(value, abs(value - monitor.history[-1]) if monitor.history else np.inf)
            proba = problem.posterior(margins)
        self._publish(monitor)
        self.coin_worker_, self.coin_label_ = votes.coins.worker, votes.coins.label
        self.truth_weights_, self.worker_weights_ = weights.truth, weights.workers
        self.average_margin_ = _mean_per_code(votes.label, margins.workers, votes.n_labels)
        prior = _mean_per_code(votes.pairs.label, proba, votes.n_labels)
        before = margins.truth if self.features_given_ else safe_logit(prior)[votes.pairs.label]
        items = Inferred(proba, Described(self.item_features_) if self.features_given_ else None)
        return Learned(prior, partial(_judge, votes, margins.workers, before, gold), items)

    def _describe(self, votes: Votes, features: Floats | None) -> Answers:
        """Learn how items and answers are described, and describe those of the votes."""
        self.features_given_ = features is not None
        self.yes_share_ = _mean_per_code(votes.label, votes.value > 0, votes.n_labels)
        label = np.arange(votes.n_labels)
        self.label_basis_ = label_basis(item_deviations(votes, self.yes_share_, label))
        raw = self._substitute(votes, label) if features is None else features
        answered = raw if self.features_given_ else raw[votes.answers_per_item > 0]
        self.feature_low_ = answered.min(axis=0)
        self.feature_span_ = answered.max(axis=0) - self.feature_low_
        self.item_features_, self.fitted_item_names_ = self._scaled(raw), votes.item_names
        self.item_lot_ = TIE_BREAK * signatures(votes, self.random_state).lot
        item, worker, of_vote = gather_answers(votes)
        self.answer_item_, self.answer_worker_ = item, worker
        self.answer_vector_ = self._answer_vectors(votes, of_vote, len(item), label)
        place = np.column_stack([self.item_features_, self.item_lot_])
        code = self._codes(place[item], worker, item, self.answer_vector_, place)
        return Answers(with_constant(self.item_features_[item], code), of_vote)

    def _substitute(self, votes: Votes, label: Ints) -> Floats:
        """(n_items, n) mean vote vectors, the features where none are given; `label` gives the learned codes."""
        return self._in_basis(item_deviations(votes, self.yes_share_, label))

    def _answer_vectors(self, votes: Votes, of_vote: Ints, n_answers: int, label: Ints) -> Floats:
        """(n_answers, n) what was said in each answer."""
        entry, column = (votes.value > 0).astype(np.float64), label[votes.label]
        return self._in_basis(_deviations(entry, of_vote, column, n_answers, self.yes_share_))

    def _in_basis(self, deviations: sparse.csr_array) -> Floats:
        """Vectors in place of deviations from the labels' shares of yes, in the coordinates of the basis."""
        return np.asarray(deviations @ self.label_basis_ + self.yes_share_ @ self.label_basis_)

    def _scaled(self, raw: Floats) -> Floats:
        """Features between 0 and 1, as seen at `fit`; those that never vary are 0."""
        span = np.where(self.feature_span_ > 0, self.feature_span_, 1.0)
        return np.asarray(np.where(self.feature_span_ > 0, (raw - self.feature_low_) / span, 0.0))

    def _codes(
        self,
        place: Floats,
        worker: Ints,
        item: Ints,
        vector: Floats,
        learned_place: Floats,
    ) -> Floats:
        """(n_answers, code size) mean answer of the same worker to the nearest items that they answered at `fit`.

        place : (n_answers, …) where the items of the answers lie; `learned_place` those of `fit`.
        worker, item : codes of `fit`, −1 for newcomers. An item counts among its own neighbours: what is said about a
        new one takes the place of the farthest neighbour.
        """
        from scipy.spatial import cKDTree  # a tenth of a second that other methods need not wait for

        codes = vector.copy()
        asked = _members(worker, int(self.answer_worker_.max(initial=-1)) + 1)
        known = _members(self.answer_worker_, len(asked))
        for new, old in zip(asked, known, strict=True):
            if len(new) == 0 or len(old) == 0:
                continue
            n_near = min(self.n_neighbors, len(old))
            tree = cKDTree(learned_place[self.answer_item_[old]])
            near = old[tree.query(place[new], k=n_near)[1].reshape(len(new), n_near)]
            total = self.answer_vector_[near].sum(axis=1)
            unseen = ~(self.answer_item_[near] == item[new, None]).any(axis=1)
            total[unseen] += vector[new[unseen]] - self.answer_vector_[near[unseen, -1]]
            codes[new] = total / n_near
        return codes

    # -- answering ---------------------------------------------------------------------------------------------

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        label = new_code(votes.label_names, self.label_names_)
        known_item = new_code(votes.item_names, self.fitted_item_names_)
        features = self._features_of(votes, known_item)
        item, worker, of_vote = gather_answers(votes)
        place = np.column_stack([features, np.where(known_item >= 0, self.item_lot_[known_item], TIE_BREAK / 2)])
        vector = self._answer_vectors(votes, of_vote, len(item), label)
        learned_worker = new_code(votes.worker_names, self.worker_names_)[worker]
        learned_place = np.column_stack([self.item_features_, self.item_lot_])
        code = self._codes(place[item], learned_worker, known_item[item], vector, learned_place)
        coins = match_coins(votes, self.worker_names_, self.label_names_, self.coin_worker_, self.coin_label_)
        coin = votes.coins.slot // 2
        description = with_constant(features[item], code)
        own = row_products(self.worker_weights_, coins.place[coin], description, of_vote)
        margin = np.where(coins.met[coin], own, known_or_mean(self.average_margin_, label)[votes.label])
        of_pair = label[votes.pairs.label]
        truth = row_products(self.truth_weights_, of_pair, with_constant(features), votes.pairs.item)
        log_odds = np.where(of_pair >= 0, truth, safe_logit(prior)[votes.pairs.label])
        proba = sigmoid(log_odds + np.add.reduceat(votes.value * margin, votes.pairs.start[:-1]))
        return Inferred(proba, Described(features) if self.features_given_ else None)

    def _features_of(self, votes: Votes, known_item: Ints) -> Floats:
        """(n_items, n_features) of new votes; see Notes."""
        if not self.features_given_:
            return self._scaled(self._substitute(votes, new_code(votes.label_names, self.label_names_)))
        mean = self.item_features_.mean(axis=0)
        return np.where(known_item[:, None] >= 0, self.item_features_[known_item], mean)

    def _unasked(self, found: ItemResults) -> Floats:
        if self.item_state_ is None:
            return super()._unasked(found)
        label = new_code(found.label_names, self.label_names_)
        predicted = sigmoid(with_constant(self.item_state_.features) @ self.truth_weights_[label].T)
        learned = (label >= 0) & self.truth_weights_[label].any(axis=1)
        return np.where(learned, predicted, found.label_prior)


# -- descriptions of items and answers --------------------------------------------------------------------------


class Answers(NamedTuple):
    """description : (n_answers, n) x̂, constant, features and code; of_vote : (n_votes,) the answer of each vote."""

    description: Floats
    of_vote: Ints


def gather_answers(votes: Votes) -> tuple[Ints, Ints, Ints]:
    """Item and worker of each answer, and the answer of each vote."""
    key = votes.item.astype(np.int64) * votes.n_workers + votes.worker
    answer, of_vote = np.unique(key, return_inverse=True)
    item, worker = np.divmod(answer, votes.n_workers)
    return item, worker, of_vote


def with_constant(*columns: Floats) -> Floats:
    """The columns side by side, after a column of ones."""
    return np.column_stack([np.ones(len(columns[0])), *columns])


def item_deviations(votes: Votes, yes_share: Floats, label: Ints) -> sparse.csr_array:
    """(n_items, n_labels) by how much each item's share of yes differs from the label's; 0 where nobody was asked."""
    pairs = votes.pairs
    return _deviations(votes.n_yes / pairs.n_votes, pairs.item, label[pairs.label], votes.n_items, yes_share)


def _deviations(entry: Floats, row: npt.NDArray[Any], column: Ints, n_rows: int, yes_share: Floats) -> sparse.csr_array:
    """Sparse matrix of entries minus the share of their column; columns −1 are left out."""
    kept = column >= 0
    row, column, entry = row[kept], column[kept], entry[kept]
    return sparse.csr_array((entry - yes_share[column], (row, column)), shape=(n_rows, len(yes_share)))


def label_basis(deviations: sparse.csr_array) -> Floats:
    """(n_labels, n) coordinates of label vectors: the labels themselves if few, else their main directions."""
    n_labels = deviations.shape[1]
    if n_labels <= LARGEST_CODE:
        return np.eye(n_labels)
    size = min(LARGEST_CODE, *(side - 1 for side in deviations.shape))
    if size < 1:
        return np.ones((n_labels, 1))
    from scipy.sparse.linalg import svds

    begin = np.ones(min(deviations.shape))  # a fixed start makes the result repeatable
    main = svds(deviations, k=size, v0=begin, return_singular_vectors="vh")[2].T
    return np.asarray(main * np.where(main.sum(axis=0) < 0, -1.0, 1.0))


def _members(code: Ints, n_codes: int) -> list[Ints]:
    """The places that carry each code."""
    order = np.argsort(code, kind="stable")
    return np.split(order, np.searchsorted(code[order], np.arange(n_codes + 1)))[1:-1]


# -- the model --------------------------------------------------------------------------------------------------


class Weights(NamedTuple):
    """Of the truth, (n_labels, …), and of the workers, (n_coins, …); or their margins, by pair and by vote."""

    truth: Floats
    workers: Floats


@dataclass(frozen=True)
class Problem:
    """Two sets of logistic regressions that share their targets, the truth of the pairs."""

    votes: Votes
    truth: Regressions
    workers: Regressions
    gold: Gold
    shrinkage: float

    @cached_property
    def n_observations(self) -> Floats:
        """(n_labels,) C: pairs and votes of each label."""
        pairs, votes = (np.bincount(code, minlength=self.votes.n_labels) for code in self._labels)
        return np.asarray(pairs + votes, dtype=np.float64)

    @property
    def _labels(self) -> tuple[Codes, Codes]:
        return self.votes.pairs.label, self.votes.label

    @property
    def ridges(self) -> Weights:
        """λ C for each regression: the ridge of a sum over observations."""
        ridge = self.shrinkage * np.maximum(self.n_observations, 1.0)
        return Weights(ridge, ridge[self.votes.coins.label])

    def margins(self, weights: Weights) -> Weights:
        """Log-odds of presence of each pair before its votes, and of each vote to be right."""
        return Weights(self.truth.margins(weights.truth), self.workers.margins(weights.workers))

    def targets(self, proba: Floats) -> Weights:
        """Probability that the label is present, and that the vote is right."""
        of_vote = np.repeat(proba, self.votes.pairs.n_votes)
        return Weights(proba, np.where(self.votes.value > 0, of_vote, 1 - of_vote))

    def log_odds(self, margins: Weights) -> Floats:
        """E-step: v·x + Σ ± w·x̂ over the votes of each pair."""
        return margins.truth + np.add.reduceat(self.votes.value * margins.workers, self.votes.pairs.start[:-1])

    def posterior(self, margins: Weights) -> Floats:
        """(n_pairs,) probability of presence, known truth as it is."""
        return np.where(self.gold.known, self.gold.present, sigmoid(self.log_odds(margins)))

    def log_likelihood(self, margins: Weights) -> float:
        """Of the votes, and of the known truth.

        A pair's likelihood is (its likelihood if absent) · (1 + odds); of a known pair only one of the two counts.
        """
        log_odds = self.log_odds(margins)
        by_pair = np.where(self.gold.known, self.gold.present * log_odds, np.logaddexp(0.0, log_odds))
        if_absent = np.logaddexp(0.0, margins.truth).sum() + np.logaddexp(0.0, self.votes.value * margins.workers).sum()
        return float(by_pair.sum() - if_absent)


def start(problem: Problem) -> Weights:
    """Logistic regressions on the majority's labels, and on whether each vote agrees with them."""
    votes = problem.votes
    majority = votes.n_yes / votes.pairs.n_votes > 0.5
    targets = problem.targets(np.where(problem.gold.known, problem.gold.present, majority).astype(np.float64))
    return Weights(
        *(
            regressions.solved(np.zeros(regressions.shape), target, np.full(regressions.n_groups, START_RIDGE), 50)
            for regressions, target in zip((problem.truth, problem.workers), targets, strict=True)
        )
    )


def newton_round(problem: Problem, weights: Weights, proba: Floats) -> Weights:
    """M-step: one damped Newton step on every regression."""
    targets, ridges = problem.targets(proba), problem.ridges
    return Weights(
        problem.truth.solved(weights.truth, targets.truth, ridges.truth, 1),
        problem.workers.solved(weights.workers, targets.workers, ridges.workers, 1),
    )


def ascent(problem: Problem, weights: Weights, proba: Floats) -> Weights:
    """M-step of the publication: gradient steps of length 0.05 / t, t = 2, 3, …, label by label until they rest."""
    targets, labels = problem.targets(proba), problem._labels
    coin_label, n_labels = problem.votes.coins.label, problem.votes.n_labels
    scale = np.maximum(problem.n_observations, 1.0)

    def value(weights: Weights, margins: Weights) -> Floats:
        """(n_labels,) expected log-likelihood per observation plus log-prior."""
        likely = [
            weight_per_code(label, target * margin - np.logaddexp(0.0, margin), n_labels)
            for label, target, margin in zip(labels, targets, margins, strict=True)
        ]
        squares = [np.einsum("gp,gp->g", part, part) for part in weights]
        size = squares[0] + weight_per_code(coin_label, squares[1], n_labels)
        return np.asarray(sum(likely) / scale - problem.shrinkage / 2 * size)

    margins = problem.margins(weights)
    before = value(weights, margins)
    moving = np.ones(n_labels, dtype=bool)
    for number in range(2, ASCENT_ROUNDS + 1):
        step = np.where(moving, ASCENT_STEP / number, 0.0)
        slope = gradient(problem.truth, weights.truth, targets.truth - sigmoid(margins.truth), scale, problem.shrinkage)
        slopes = gradient(
            problem.workers, weights.workers, targets.workers - sigmoid(margins.workers), scale[coin_label],
            problem.shrinkage,
        )  # fmt: skip
        slopes *= step[coin_label, None]
        slopes += weights.workers
        weights = Weights(weights.truth + step[:, None] * slope, slopes)
        margins = problem.margins(weights)
        after = value(weights, margins)
        moving &= np.abs(after - before) > ASCENT_TOL * np.abs(before)
        before = after
        if not moving.any():
            break
    return weights


def gradient(regressions: Regressions, weights: Floats, residual: Floats, scale: Floats, shrinkage: float) -> Floats:
    """g = Xᵀ (target − σ(X w)) / C − λ w of every regression."""
    slope = regressions.weighted_rows(residual)
    slope /= scale[:, None]  # in place: this is the largest table of the model
    slope -= shrinkage * weights
    return slope


# -- many logistic regressions side by side ----------------------------------------------------------------------


@dataclass(frozen=True)
class Regressions:
    """Logistic regressions with targets between 0 and 1; each observation belongs to one of them.

    rows : (n_rows, n) descriptions; row, group : (n_observations,) the description and regression of an observation.
    """

    rows: Floats
    row: npt.NDArray[Any]
    group: npt.NDArray[Any]
    n_groups: int

    @property
    def shape(self) -> tuple[int, int]:
        """Of the weights."""
        return self.n_groups, self.rows.shape[1]

    def margins(self, weights: Floats) -> Floats:
        """(n_observations,) log-odds."""
        return row_products(weights, self.group, self.rows, self.row)

    def weighted_rows(self, weight: Floats) -> Floats:
        """(n_groups, n) sum over the observations of each regression, weight · description."""
        matrix = sparse.csr_array((weight, (self.group, self.row)), shape=(self.n_groups, len(self.rows)))
        return np.asarray(matrix @ self.rows)

    @cached_property
    def batches(self) -> list[tuple[Ints, Ints]]:
        """Regressions of similar size, and their observations as rows of a table padded with −1."""
        return list(self._batches())

    def _batches(self) -> Iterator[tuple[Ints, Ints]]:
        order = np.argsort(self.group, kind="stable")
        size = np.bincount(self.group, minlength=self.n_groups)
        begin = np.cumsum(size) - size
        by_size = np.argsort(-size, kind="stable")
        by_size = by_size[size[by_size] > 0]
        first = 0
        while first < len(by_size):
            widest = int(size[by_size[first]])
            cells = widest * self.shape[1] + min(widest, self.shape[1]) ** 2
            groups = by_size[first : first + max(BATCH_CELLS // cells, 1)]
            column = np.arange(widest)
            inside = column < size[groups, None]
            yield groups, np.where(inside, order[np.where(inside, begin[groups, None] + column, 0)], -1)
            first += len(groups)

    def solved(self, weights: Floats, target: Floats, ridge: Floats, n_steps: int) -> Floats:
        """Weights after at most so many Newton steps up Σ [target · m − log(1 + eᵐ)] − ridge / 2 · ‖w‖², m = w · x."""
        weights = weights.copy()
        for groups, observation in self.batches:
            inside = observation >= 0
            x = np.where(inside[..., None], self.rows[self.row[observation]], 0.0)
            of_batch = weights[groups]
            for _ in range(n_steps):
                step = newton_step(of_batch, x, target[observation], inside, ridge[groups])
                of_batch = of_batch + step
                if np.abs(step).max() < 1e-7:
                    break
            weights[groups] = of_batch
        return weights


def newton_step(weights: Floats, x: Floats, target: Floats, inside: Mask, ridge: Floats) -> Floats:
    """(n_groups, n) Newton steps, each halved until its objective does not fall.

    x : (n_groups, n_observations, n), zero in padding. target, inside : (n_groups, n_observations).
    ridge : (n_groups,).
    """
    margin = _products(x, weights)
    proba = sigmoid(margin)
    slope = _products(x.swapaxes(1, 2), np.where(inside, target - proba, 0.0)) - ridge[:, None] * weights
    step = solve_ridge(x, np.maximum(proba * (1 - proba), 1e-6), ridge, slope)
    along = _products(x, step)

    def value(share: Floats) -> Floats:
        moved = margin + share[:, None] * along
        size = ((weights + share[:, None] * step) ** 2).sum(axis=1)
        return np.asarray(
            np.where(inside, target * moved - np.logaddexp(0.0, moved), 0.0).sum(axis=1) - ridge / 2 * size
        )

    share, now = np.ones(len(weights)), value(np.zeros(len(weights)))
    for _ in range(20):
        worse = value(share) < now - 1e-12 * np.abs(now)
        if not worse.any():
            break
        share = np.where(worse, share / 2, share)
    return share[:, None] * step


def solve_ridge(x: Floats, curvature: Floats, ridge: Floats, right: Floats) -> Floats:
    """(Xᵀ S X + ridge)⁻¹ right for every group, by the smaller of the two equivalent systems."""
    n_observations, n = x.shape[1:]
    if n_observations >= n:
        matrix = (x * curvature[..., None]).swapaxes(1, 2) @ x + ridge[:, None, None] * np.eye(n)
        return np.asarray(np.linalg.solve(matrix, right[..., None])[..., 0])
    # Woodbury: (right − Xᵀ (ridge S⁻¹ + X Xᵀ)⁻¹ X right) / ridge
    matrix = x @ x.swapaxes(1, 2)
    matrix[:, np.arange(n_observations), np.arange(n_observations)] += ridge[:, None] / curvature
    inner: Floats = np.asarray(np.linalg.solve(matrix, _products(x, right)[..., None]), dtype=np.float64)[..., 0]
    return np.asarray((right - _products(x.swapaxes(1, 2), inner)) / ridge[:, None])


def _products(matrix: Floats, vector: Floats) -> Floats:
    """Matrix times vector, group by group."""
    return np.asarray((matrix @ vector[..., None])[..., 0])


def _mean_per_code(code: npt.NDArray[Any], value: npt.NDArray[Any], n_codes: int) -> Floats:
    """Mean of the values that carry each code; codes with few lean on the mean of all."""
    count = np.bincount(code, minlength=n_codes)
    return np.asarray((weight_per_code(code, value, n_codes) + value.mean()) / (count + 1))


def _judge(votes: Votes, margin: Floats, before: Floats, gold: Gold) -> Judgement:
    """Judge votes by the others: each vote has evidence of its own, which is then summed by slot."""
    every = np.arange(len(votes), dtype=np.int32)
    by_vote = passes.others_pass(every, votes.pairs.start, votes.value * margin, gold.log_odds(before))
    n_slots = 2 * len(votes.coins)
    return Judgement(*(weight_per_code(votes.coins.slot, part, n_slots) for part in by_vote))
