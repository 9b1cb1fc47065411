"""NAM: a classifier of the truth per label, and a classifier of when each worker is right.

This file is the model as users see it: what it is told, what it keeps, how it judges new votes. What describes items
and answers is in `descriptions`, one round of learning in `problem`, the solver in `regressions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import pyarrow as pa
import scipy

from amcc import passes
from amcc.arrays import Floats, Ints, safe_logit, sigmoid, weight_per_code
from amcc.consensus.answers import gather_answers
from amcc.consensus.averages import mean_per_code
from amcc.consensus.coins import CoinModel
from amcc.consensus.item_results import ItemResults
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import known_or_mean, new_code
from amcc.consensus.models.nam.descriptions import (
    TIE_BREAK,
    DescribedAnswers,
    item_deviations,
    label_basis,
    label_deviations,
    places_of_codes,
    with_constant,
)
from amcc.consensus.models.nam.problem import NamProblem, ascent, first_weights, newton_round
from amcc.consensus.models.nam.regressions import Regressions
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_at_least_one, check_positive, check_seed
from amcc.consensus.signature import signatures
from amcc.engine.base import Engine
from amcc.fields import Each
from amcc.linalg import row_products
from amcc.passes import Judgement
from amcc.votes import Votes


@dataclass(frozen=True)
class Described:
    """(n_items, n_features) what describes the items, where features were given."""

    features: Annotated[Floats, Each("item", "feature")]


class NAM(CoinModel, methods={"nam": {}}):
    """Truth from features; the accuracy of workers depends on the item and on what they said about similar ones.

    For each label by itself: the label is present with probability σ(v · [1, x]), x the features of the item; worker
    j is right about it with probability σ(w_j · [1, x, c_j]), the same for present and absent labels, where the code
    c_j is the mean of their answers to the k items nearest to this one among those they answered, this one included.
    Estimated by expectation-maximisation from logistic regressions on the majority's labels.

    Parameters
    ----------
    n_neighbors : int
        k of the codes; a worker with fewer answers gives all of them.
    converge : bool
        False: the short gradient ascent of the publication. Its weights hardly leave their start, logistic
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
        self, *, n_neighbors: int = 5, converge: bool = False, shrinkage: float = 1e-3, max_iter: int = 1000,
        tol: float = 1e-3, random_state: int = 0,
    ) -> None:  # fmt: skip
        self.n_neighbors = n_neighbors
        self.converge = converge
        self.shrinkage = shrinkage
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_params(self) -> None:
        for name in ("n_neighbors", "max_iter"):
            check_at_least_one(name, getattr(self, name))
        for name in ("shrinkage", "tol"):
            check_positive(name, getattr(self, name))
        check_seed(self.random_state)

    # -- learning ----------------------------------------------------------------------------------------------

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        answers = self._describe(votes, engine.features)
        truth = Regressions(with_constant(self.item_features_), votes.pairs.item, votes.pairs.label, votes.n_labels)
        workers = Regressions(answers.description, answers.of_vote, votes.coins.slot // 2, len(votes.coins))
        problem = NamProblem(votes, truth, workers, gold, self.shrinkage)
        weights = first_weights(problem)
        step = newton_round if self.converge else ascent
        proba = np.where(gold.known, gold.present, sigmoid(truth.margins(weights.truth)))
        monitor = Monitor(self.tol, self.max_iter)
        # Not `proba` but the likelihood decides when to stop: single pairs may wander long after it has settled.
        for _ in monitor.rounds():
            weights = step(problem, weights, proba)
            margins = problem.margins(weights)
            value = problem.log_likelihood(margins) / len(votes)
            monitor.report(value, abs(value - monitor.history[-1]) if monitor.history else np.inf)
            proba = problem.posterior(margins)
        self._publish(monitor)
        self._keep_coins(votes)
        self.truth_weights_, self.worker_weights_ = weights.truth, weights.workers
        self.average_margin_ = mean_per_code(votes.label, margins.workers, votes.n_labels)
        prior = mean_per_code(votes.pairs.label, proba, votes.n_labels)
        # Substitute features are made of the votes themselves: a vote judged by them would be judged by itself.
        before = margins.truth if self.features_given_ else safe_logit(prior)[votes.pairs.label]
        items = Inferred(proba, Described(self.item_features_) if self.features_given_ else None)
        return Learned(prior, partial(judge_vote_by_vote, votes, margins.workers, before, gold), items)

    def _describe(self, votes: Votes, features: Floats | None) -> DescribedAnswers:
        """Learn how items and answers are described, and describe those of the votes."""
        self.features_given_ = features is not None
        self.yes_share_ = mean_per_code(votes.label, votes.value > 0, votes.n_labels)
        label = np.arange(votes.n_labels)
        self.label_basis_ = label_basis(item_deviations(votes, self.yes_share_, label))
        raw = self._substitute(votes, label) if features is None else features
        # An unanswered item stands at the shares of yes, which no answered item need come near to.
        answered = raw if self.features_given_ else raw[votes.answers_per_item > 0]
        self.feature_low_ = answered.min(axis=0)
        self.feature_span_ = answered.max(axis=0) - self.feature_low_
        self.item_features_, self.fitted_item_names_ = self._scaled(raw), votes.item_names
        self.item_lot_ = TIE_BREAK * signatures(votes, self.random_state).uniform
        item, worker, of_vote = gather_answers(votes)
        self.answer_item_, self.answer_worker_ = item, worker
        self.answer_vector_ = self._answer_vectors(votes, of_vote, len(item), label)
        code = self._codes(self._learned_place[item], worker, item, self.answer_vector_)
        return DescribedAnswers(with_constant(self.item_features_[item], code), of_vote)

    @property
    def _learned_place(self) -> Floats:
        """(n_fitted_items, 1 + n_features) where items lie: by their features, and by chance where these are equal."""
        return np.column_stack([self.item_features_, self.item_lot_])

    def _substitute(self, votes: Votes, label: Ints) -> Floats:
        """(n_items, n) mean vote vectors, the features where none are given; `label` gives the learned codes."""
        return self._in_basis(item_deviations(votes, self.yes_share_, label))

    def _answer_vectors(self, votes: Votes, of_vote: Ints, n_answers: int, label: Ints) -> Floats:
        """(n_answers, n) what was said in each answer."""
        entry, column = (votes.value > 0).astype(np.float64), label[votes.label]
        return self._in_basis(label_deviations(entry, of_vote, column, n_answers, self.yes_share_))

    def _in_basis(self, deviations: scipy.sparse.csr_array) -> Floats:
        """Vectors in place of deviations from the labels' shares of yes, in the coordinates of the basis."""
        return np.asarray(deviations @ self.label_basis_ + self.yes_share_ @ self.label_basis_)

    def _scaled(self, raw: Floats) -> Floats:
        """Features between 0 and 1, as seen at `fit`; those that never vary are 0."""
        span = np.where(self.feature_span_ > 0, self.feature_span_, 1.0)
        return np.asarray(np.where(self.feature_span_ > 0, (raw - self.feature_low_) / span, 0.0))

    def _codes(self, place: Floats, worker: Ints, item: Ints, vector: Floats) -> Floats:
        """(n_answers, code size) mean answer of the same worker to the nearest items that they answered at `fit`.

        place : (n_answers, …) where the items of the answers lie.
        worker, item : codes of `fit`, −1 for newcomers. An item counts among its own neighbours: what is said about a
        new one takes the place of the farthest neighbour.
        """
        from scipy.spatial import cKDTree  # a tenth of a second that other methods need not wait for

        codes = vector.copy()  # all that is known of a newcomer
        asked = places_of_codes(worker, int(self.answer_worker_.max(initial=-1)) + 1)
        known = places_of_codes(self.answer_worker_, len(asked))
        learned_place = self._learned_place
        for new, old in zip(asked, known, strict=True):
            if len(new) == 0 or len(old) == 0:
                continue
            # Fewer answers than neighbours: all of them are near.
            n_near = min(self.n_neighbors, len(old))
            tree = cKDTree(learned_place[self.answer_item_[old]])
            near = old[tree.query(place[new], k=n_near)[1].reshape(len(new), n_near)]
            total = self.answer_vector_[near].sum(axis=1)
            unseen = ~(self.answer_item_[near] == item[new, None]).any(axis=1)
            # A new item is its own nearest neighbour, and the farthest one has to make room.
            total[unseen] += vector[new[unseen]] - self.answer_vector_[near[unseen, -1]]
            codes[new] = total / n_near
        return codes

    # -- answering ---------------------------------------------------------------------------------------------

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        label = new_code(votes.label_names, self.label_names_)
        known_item = new_code(votes.item_names, self.fitted_item_names_)
        features = self._features_of(votes, known_item)
        item, worker, of_vote = gather_answers(votes)
        # A new item has no chance of its own, so it stands in the middle of those that are equal.
        place = np.column_stack([features, np.where(known_item >= 0, self.item_lot_[known_item], TIE_BREAK / 2)])
        vector = self._answer_vectors(votes, of_vote, len(item), label)
        learned_worker = new_code(votes.worker_names, self.worker_names_)[worker]
        code = self._codes(place[item], learned_worker, known_item[item], vector)
        coins = self._match_coins(votes)
        coin = votes.coins.slot // 2
        description = with_constant(features[item], code)
        own = row_products(self.worker_weights_, coins.place[coin], description, of_vote)
        # A newcomer is right as often as the average worker on this label.
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
        # A label without observations keeps weights of zero, which would predict one half.
        learned = (label >= 0) & self.truth_weights_[label].any(axis=1)
        return np.where(learned, predicted, found.label_prior)


def judge_vote_by_vote(votes: Votes, margin: Floats, before: Floats, gold: Gold) -> Judgement:
    """Judge votes by the others: each vote has evidence of its own, which is then summed by slot."""
    # Every vote has a slot of its own here, since its weight depends on the item and not on the coin alone.
    every = np.arange(len(votes), dtype=np.int32)
    by_vote = passes.others_pass(every, votes.pairs.start, votes.value * margin, gold.log_odds(before))
    n_slots = 2 * len(votes.coins)
    return Judgement(*(weight_per_code(votes.coins.slot, part, n_slots) for part in by_vote))
