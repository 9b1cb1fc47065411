"""RAkEL-GLAD: small sets of labels become multi-class questions for GLAD, and every label is averaged over its sets.

This file is the model as users see it. A fit goes through the files in this order: `subsets` draws sets of labels,
`tasks` makes multi-class questions of them, `glad` and `ascent` solve these, `tally` brings the results back to labels.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Ints, find_sorted, sigmoid
from amcc.consensus.averages import RunningMean, cautious_share, mean_per_code
from amcc.consensus.base import ConsensusModel
from amcc.consensus.coins import judge_later, signed_evidence
from amcc.consensus.learned import Gold, Inferred, Learned, in_memory
from amcc.consensus.matching import new_code
from amcc.consensus.models.rakel_glad.ascent import ClimbResult, climb_by_lbfgs
from amcc.consensus.models.rakel_glad.glad import find_ease, glad_expectation, log_posterior
from amcc.consensus.models.rakel_glad.subsets import NamelessOrder, draw_subsets, subset_batches
from amcc.consensus.models.rakel_glad.tally import PairTally, SubsetScores
from amcc.consensus.models.rakel_glad.tasks import ClassPrior, PartialAnswers, SubsetTasks, class_priors
from amcc.consensus.monitor import Monitor
from amcc.consensus.parameters import check_at_least_one, check_choice, check_rounds, check_seed
from amcc.consensus.signature import signatures
from amcc.engine.base import Engine
from amcc.errors import ParameterError
from amcc.fields import Each
from amcc.passes import Judgement
from amcc.votes import Votes

# A subset has 2^size classes, and every answer a table of them.
MAX_SUBSET_SIZE = 8


class RakelGlad(ConsensusModel, methods={"rakel-glad": {}}):
    """GLAD on random subsets of labels.

    Within a subset of k labels every answer of a worker is one of 2^k classes, and so is the truth of an item. The
    answer is right with probability σ(ability · exp(ease)), where each worker has an ability and each item an ease, and
    otherwise any other class with equal probability. The probability of a label is its average over the subsets that
    contain it. The objective is the log-likelihood of all answers plus the log-densities of the priors N(1, 1) of
    abilities and eases, summed over subsets.

    Parameters
    ----------
    subset_size : int
        k, labels per subset; fewer where fewer labels are asked together. 1 is GLAD label by label.
    n_subsets : int, optional
        By default twice the number of labels; fewer where there are not so many, more where they are needed for every
        label to be in one.
    class_prior : "uniform" or "empirical"
        Probability of the classes before any answer: all equal, or as frequent as among the answers of the subset.
    partial : "marginalise" or "drop"
        What becomes of an answer where some labels of the subset were not asked: it stands for all classes that agree
        with it, or it is left out. Where everything is asked both are the same.
    scores : "marginal" or "votes"
        Whether a subset passes on the probability of a label, or 0 or 1 by its most likely class, as RAkEL's
        classifiers do; votes tie often, so they rank badly.
    max_iter, tol
        Stop when a step improves the objective by less than `tol` per answer and subset.
    random_state : int
        Chooses the subsets.

    Attributes
    ----------
    subset_label_ : (n_subsets, subset_size) int64
        Codes of the labels, −1 where a subset is smaller.
    subset_prior_ : (n_subsets, 2 ** subset_size), rows sum to 1
        Probability of each class; bit j of a class is the label at place j.
    ability_subset_, ability_worker_ : (n_abilities,) int64
        The (subset, worker) combinations that occur.
    ability_ : (n_abilities,)
        Below 0 for workers who are wrong more often than right.
    subset_ability_ : (n_subsets,)
        The average, which is what a newcomer counts as.
    item_ease_ : (n_items,)
        Average over subsets, 1 for unanswered items.

    Notes
    -----
    Reconstruction: nothing of the paper was at hand but its idea. GLAD follows Whitehill et al. and its usual program
    (priors, start, class of K − 1 equal errors), the number and size of the subsets RAkEL's. Ours: labels are drawn
    from those asked in one answer, or a subset might have no answer at all; "marginalise", the default, without which
    half of the labels unasked would leave one answer in eight; abilities belong to a subset. In place of
    expectation-maximisation with conjugate gradients inside, L-BFGS climbs the likelihood itself. Its gradient is
    that of the M-step at the present posterior: the same optima with far fewer passes over the answers. In the end
    eases are found once more for the abilities as learned, so that new votes are judged in the same way. Eases are kept
    within ±5. One pass takes time proportional to votes · subsets per label.

    GLAD knows no habits: workers who give the same answer to everything agree with each other perfectly, and are
    believed. Where they are nearly half of those who answer an item, few labels survive.

    References
    ----------
    K. Yoshimura, Y. Baba and H. Kashima, Quality control for crowdsourced multi-label classification using RAkEL,
    ICONIP 2017. J. Whitehill et al., Whose vote should count more, NIPS 2009. G. Tsoumakas, I. Katakis and I. Vlahavas,
    Random k-labelsets for multilabel classification, IEEE TKDE 23 (2011).

    Examples
    --------
    >>> votes = Votes.from_dense([[[1, -1], [-1, 1]], [[1, -1], [-1, 1]], [[-1, 1], [0, 1]]])
    >>> RakelGlad().fit(votes).predict().astype(int).tolist()
    [[1, 0], [0, 1]]
    """

    subset_label_: Annotated[Ints, Each("subset", None, code="label", least=-1)]
    subset_prior_: Annotated[Floats, Each("subset", None)]
    subset_ability_: Annotated[Floats, Each("subset")]
    ability_subset_: Annotated[Ints, Each("ability", code="subset")]
    ability_worker_: Annotated[Ints, Each("ability", code="worker")]
    ability_: Annotated[Floats, Each("ability")]
    item_ease_: Annotated[Floats, Each("fitted item")]

    def __init__(
        self, *, subset_size: int = 3, n_subsets: int | None = None, class_prior: ClassPrior = "uniform",
        partial: PartialAnswers = "marginalise", scores: SubsetScores = "marginal", max_iter: int = 200,
        tol: float = 1e-6, random_state: int = 0,
    ) -> None:  # fmt: skip
        self.subset_size = subset_size
        self.n_subsets = n_subsets
        self.class_prior = class_prior
        self.partial = partial
        self.scores = scores
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_params(self) -> None:
        if not 1 <= self.subset_size <= MAX_SUBSET_SIZE:
            raise ParameterError(f"subset_size must lie in 1..{MAX_SUBSET_SIZE}; got {self.subset_size!r}.")
        check_at_least_one("n_subsets", self.n_subsets, optional=True)
        for name, choices in (("class_prior", ClassPrior), ("partial", PartialAnswers), ("scores", SubsetScores)):
            check_choice(name, getattr(self, name), choices)
        check_rounds(self.max_iter, self.tol)
        check_seed(self.random_state)

    # -- learning ----------------------------------------------------------------------------------------------

    def _learn(self, engine: Engine) -> Learned:
        votes, gold = in_memory(engine)
        order = NamelessOrder.of(signatures(votes, self.random_state))
        nameless, pair_order = order.apply(votes)
        gold_there = Gold(gold.present[pair_order], gold.known[pair_order])
        subsets = draw_subsets(nameless, self.subset_size, self.n_subsets, self.random_state)
        tally, climbs, eases, abilities, priors = PairTally.empty(nameless), [], RunningMean(votes.n_items), [], []
        for first, last in subset_batches(nameless, subsets):
            tasks = SubsetTasks.of(nameless, subsets[first:last], self.partial)
            prior = class_priors(tasks, self.class_prior)
            log_prior = tasks.log_prior(prior, nameless, gold_there)
            climbed = climb_by_lbfgs(
                partial(log_posterior, tasks, log_prior), tasks.n_abilities + tasks.n_groups, self.max_iter,
                self.tol * tasks.n_rows,
            )  # fmt: skip
            ability = climbed.parameters[: tasks.n_abilities]
            # Found once more for the abilities as learned, as `_infer` does: both must judge in the same way.
            ease = find_ease(tasks, log_prior, ability)
            tally.add(tasks, glad_expectation(tasks, log_prior, ability, ease).proba, self.scores)
            eases.add(tasks.group_item, ease)
            climbs.append((climbed, tasks.n_rows))
            abilities.append((tasks.ability_subset + first, tasks.ability_worker, ability))
            priors.append(prior)
        self._record(climbs)
        self._keep(order, subsets, np.concatenate(priors), abilities, eases)
        proba = np.empty(len(votes.pairs))
        proba[pair_order] = tally.average(np.full(len(votes.pairs), np.nan))
        # With "drop", some pairs may be in no whole answer, and then no subset says anything about them.
        found = ~np.isnan(proba)
        overall = cautious_share(proba[found].sum(), found.sum())
        label_prior = mean_per_code(votes.pairs.label[found], proba[found], votes.n_labels, overall)
        proba = np.where(found, proba, label_prior[votes.pairs.label])
        return Learned(label_prior, partial(self._judge, votes, label_prior, gold), Inferred(proba))

    def _record(self, climbs: list[tuple[ClimbResult, int]]) -> None:
        """How the fit went, over all batches together: those that arrived earlier wait where they are."""
        monitor = Monitor(self.tol, self.max_iter)
        n_rounds = max(len(climb.history) for climb, _ in climbs)
        histories = [np.pad(climb.history, (0, n_rounds - len(climb.history)), mode="edge") for climb, _ in climbs]
        for objective in np.sum(histories, axis=0):
            monitor.report(float(objective), max(climb.last_rise / n_rows for climb, n_rows in climbs))
        self._publish(monitor)

    def _keep(
        self, order: NamelessOrder, subsets: Ints, prior: Floats, abilities: list[tuple[Ints, Ints, Floats]],
        eases: RunningMean,
    ) -> None:  # fmt: skip
        """Set the learned attributes, in the codes of the votes."""
        subset, worker, ability = (np.concatenate(column) for column in zip(*abilities, strict=True))
        worker = order.worker[worker]
        by_key = np.lexsort((worker, subset))  # `_infer` looks abilities up by a sorted key
        self.ability_subset_, self.ability_worker_, self.ability_ = subset[by_key], worker[by_key], ability[by_key]
        self.subset_label_ = np.where(subsets >= 0, order.label[subsets], -1)
        self.subset_prior_ = prior
        mean = RunningMean(len(subsets))
        mean.add(subset, ability)
        self.subset_ability_ = mean.result(np.ones(len(subsets)))
        self.item_ease_ = np.empty(len(order.item))
        self.item_ease_[order.item] = eases.result(np.ones(len(order.item)))

    def _judge(self, votes: Votes, label_prior: Floats, gold: Gold) -> Judgement:
        """Judge votes by the others; each weighs what its worker's abilities make of one label of an answer."""
        n_classes = np.count_nonzero(self.subset_prior_, axis=1)[self.ability_subset_]
        right = sigmoid(self.ability_ * math.e)  # on an item of average ease, 1
        # A wrong answer is any other class; of these, n / 2 − 1 still agree with the truth on one label.
        agree = right + (1 - right) * (n_classes / 2 - 1) / (n_classes - 1)
        weight = np.log(agree) - np.log1p(-agree)
        labels = self.subset_label_[self.ability_subset_]
        there = labels >= 0
        key = (self.ability_worker_[:, None] * votes.n_labels + labels)[there]
        coin_key = votes.coins.worker.astype(np.int64) * votes.n_labels + votes.coins.label
        coin, found = find_sorted(coin_key, key)
        of_coin = RunningMean(len(coin_key))
        of_coin.add(coin[found], np.broadcast_to(weight[:, None], labels.shape)[there][found])
        worth = of_coin.result(np.zeros(len(coin_key)))
        prior = gold.log_odds((np.log(label_prior) - np.log1p(-label_prior))[votes.pairs.label])
        return judge_later(votes, signed_evidence(worth), prior)()

    # -- answering ---------------------------------------------------------------------------------------------

    def _infer(self, votes: Votes, prior: Floats, gold: Gold) -> Inferred:
        subsets, class_prior, average = self._subsets_of(votes.label_names)
        worker = new_code(votes.worker_names, self.worker_names_)
        learned_key = self.ability_subset_ * len(self.worker_names_) + self.ability_worker_
        tally = PairTally.empty(votes)
        for first, last in subset_batches(votes, subsets):
            tasks = SubsetTasks.of(votes, subsets[first:last], self.partial)
            log_prior = tasks.log_prior(class_prior[first:last], votes, Gold.nothing(len(votes.pairs)))
            subset, known = tasks.ability_subset + first, worker[tasks.ability_worker] >= 0
            place, met = find_sorted(learned_key, subset * len(self.worker_names_) + worker[tasks.ability_worker])
            ability = np.where(met & known, self.ability_[place], average[subset])
            ease = find_ease(tasks, log_prior, ability)
            tally.add(tasks, glad_expectation(tasks, log_prior, ability, ease).proba, self.scores)
        return Inferred(tally.average(prior[votes.pairs.label]))

    def _subsets_of(self, label_names: pa.Array) -> tuple[Ints, Floats, Floats]:
        """Subsets in the codes of new votes, their priors and average abilities; a new label is a subset of its own."""
        learned = new_code(self.label_names_, label_names)
        new = np.flatnonzero(new_code(label_names, self.label_names_) < 0)
        # −2 holds the place of a label that is not there: it is part of the subset, and unasked.
        subsets = np.where(self.subset_label_ >= 0, np.where(learned >= 0, learned, -2)[self.subset_label_], -1)
        alone = np.full((len(new), subsets.shape[1]), -1)
        alone[:, :1] = new[:, None]
        even = np.zeros((len(new), self.subset_prior_.shape[1]))
        even[:, :2] = 0.5
        return (
            np.concatenate([subsets, alone]),
            np.concatenate([self.subset_prior_, even]),
            np.append(self.subset_ability_, np.full(len(new), self.subset_ability_.mean())),
        )
