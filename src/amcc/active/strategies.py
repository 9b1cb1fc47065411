"""Whom to ask about what: the paper's strategy, its ablations, and those that it is compared with.

None of them looks at all (item, label, worker): they score the pairs, and then the workers of the most promising ones.
The attribute `model` of a strategy is the name of the consensus method that it was published with; `uses_features` says
whether it looks at features of the items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from amcc.active import scores
from amcc.active.base import Beliefs, Candidates, Questions, Strategy, Triplets
from amcc.active.picking import best_places, distinct, pick_batch, questions_about, without_ties
from amcc.active.voi import ValueOfInformation
from amcc.arrays import Floats, Ints, Mask, find_sorted
from amcc.consensus import METHODS, ConsensusModel
from amcc.errors import ParameterError
from amcc.votes import Votes

# -- what several strategies look at ---------------------------------------------------------------------------------


def queried(votes: Votes) -> Mask:
    """(n_items, n_labels) the pairs that anybody was asked about."""
    asked = np.zeros((votes.n_items, votes.n_labels), dtype=bool)
    asked[votes.pairs.item, votes.pairs.label] = True
    return asked


def neighbors_of(beliefs: Beliefs, item: Ints, k: int) -> scores.Neighbors:
    """The answered items nearest to these, by their features or else by their labels as believed."""
    profile = beliefs.proba if beliefs.features is None else beliefs.features
    answered = np.flatnonzero(np.bincount(beliefs.votes.item, minlength=beliefs.votes.n_items))
    return scores.nearest(profile, item, answered, k)


def credibility_of(beliefs: Beliefs, asked: Triplets, known: Mask, k: int) -> Floats:
    """q of eq11 for each question; where no other item was answered, by the item's own labels as believed.

    known : (n_items, n_labels) the pairs that anybody was asked about.
    """

    def likelihood(item: Ints) -> scores.Singles:
        return scores.answer_likelihood(beliefs.proba[item] > 0.5, known[item], beliefs.hit, beliefs.false_alarm)

    item, row = distinct(asked.item)
    near = neighbors_of(beliefs, item, k)
    similar = scores.similarity(near.distance)
    neighbor, place = distinct(near.item)
    by_item = scores.credibility(similar, place, likelihood(neighbor))
    alone = ~similar.any(axis=1)
    by_item[alone] = likelihood(item[alone])
    return np.asarray(by_item[row, asked.worker])


def votes_on(votes: Votes, item: Ints, label: Ints) -> tuple[Ints, Ints]:
    """Where the votes on each of these pairs begin, and how many there are."""
    pairs = votes.pairs
    if len(pairs) == 0:
        return np.zeros(item.shape, np.int64), np.zeros(item.shape, np.int64)
    key = pairs.item.astype(np.int64) * votes.n_labels + pairs.label
    place, asked = find_sorted(key, item * votes.n_labels + label)
    return pairs.start[place], np.where(asked, pairs.n_votes[place], 0)


def _check_share(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ParameterError(f"{name} must lie in 0 … 1; got {value!r}.")


def _check_count(name: str, value: int) -> None:
    if value < 1:
        raise ParameterError(f"{name} must be at least 1; got {value!r}.")


# -- AMCC and its ablations ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Amcc:
    """The paper's criterion, eq13: uncertain pairs, credible workers, low prices.

    Parameters
    ----------
    correlation_mix : η of eq9, how much the correlation with unqueried labels counts; 0 is AMCC(nLC).
    n_neighbors : k of eq11, answered items that tell how credible a worker is.
    """

    correlation_mix: float = 0.3
    n_neighbors: int = 10
    model: ClassVar[str] = "amcc"
    uses_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_share("correlation_mix", self.correlation_mix)
        _check_count("n_neighbors", self.n_neighbors)

    def select(
        self, beliefs: Beliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        known = queried(beliefs.votes)
        pair_parts = uncertainty_parts(beliefs, candidates.open_pairs(), known, self.correlation_mix)
        asked = questions_about(pair_parts["u"], candidates, batch, len(prices), rng)
        parts = at_pairs(pair_parts, asked)
        parts |= {"q": credibility_of(beliefs, asked, known, self.n_neighbors), "c": prices[asked.worker]}
        return pick_batch(asked, scores.triplet_utility(parts["u"], parts["q"], parts["c"]), batch, rng, parts=parts)


@dataclass(frozen=True)
class RandomWorkers:
    """AMCC(rW): the most useful pairs by eq10, each asked of a random worker."""

    correlation_mix: float = 0.3
    model: ClassVar[str] = "amcc"
    uses_features: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_share("correlation_mix", self.correlation_mix)

    def select(
        self, beliefs: Beliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        known = queried(beliefs.votes)
        pair_parts = uncertainty_parts(beliefs, candidates.open_pairs(), known, self.correlation_mix)
        asked = questions_about(pair_parts["u"], candidates, batch, len(prices), rng)
        parts = at_pairs(pair_parts, asked) | {"c": prices[asked.worker]}
        return pick_batch(asked, parts["u"], batch, rng, parts=parts)


@dataclass(frozen=True)
class RandomPairs:
    """AMCC(rSL): random pairs, each asked of the worker who is most credible for their price."""

    n_neighbors: int = 10
    model: ClassVar[str] = "amcc"
    uses_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_count("n_neighbors", self.n_neighbors)

    def select(
        self, beliefs: Beliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        anything = np.where(candidates.open_pairs(), 1.0, np.nan)
        # as many as wanted: of more pairs, the choice of workers would choose some
        item, label = np.divmod(best_places(anything, batch, rng), beliefs.votes.n_labels)
        asked = candidates.of_pairs(item, label)
        known = queried(beliefs.votes)
        parts = {"q": credibility_of(beliefs, asked, known, self.n_neighbors), "c": prices[asked.worker]}
        return pick_batch(asked, scores.triplet_utility(np.ones(1), parts["q"], parts["c"]), batch, rng, parts=parts)


def uncertainty_parts(beliefs: Beliefs, allowed: Mask, known: Mask, correlation_mix: float) -> dict[str, Floats]:
    """(n_items, n_labels) u1, u2 and u of eq7, eq8 and eq9; `known` are the pairs that anybody was asked about."""
    u1 = scores.pair_uncertainty(beliefs.proba, allowed)
    u2 = scores.correlation_gain(beliefs.correlation, ~known)
    return {"u1": u1, "u2": u2, "u": scores.pair_utility(u1, u2, correlation_mix)}


def at_pairs(parts: Mapping[str, Floats], asked: Triplets) -> dict[str, Floats]:
    """Scores of pairs, for each question."""
    return {name: part[asked.item, asked.label] for name, part in parts.items()}


# -- controls --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Uniform:
    """Any question, each equally likely. With majority vote for the consensus it is MV(rSW)."""

    model: str = "amcc"
    uses_features: ClassVar[bool] = False

    def select(
        self, beliefs: Beliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        asked = candidates.sample(max(batch, 0), rng)
        return Questions(asked, np.zeros(len(asked)), {"c": prices[asked.worker]})


@dataclass(frozen=True)
class Sac:
    """SAC: the pair whose probability is nearest to ½, asked of the worker who agrees most with the consensus."""

    model: ClassVar[str] = "dawid-skene"
    uses_features: ClassVar[bool] = False

    def select(
        self, beliefs: Beliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        uncertainty = scores.pair_uncertainty(beliefs.proba, candidates.open_pairs())
        asked = questions_about(uncertainty, candidates, batch, len(prices), rng)
        accuracy = scores.agreement(beliefs.votes, beliefs.proba)[asked.worker]
        parts = {"u1": uncertainty[asked.item, asked.label], "accuracy": accuracy, "c": prices[asked.worker]}
        return pick_batch(asked, parts["u1"], batch, rng, worker_score=accuracy, parts=parts)


@dataclass(frozen=True)
class NamActive:
    """NAM(A): items with a strange number of labels and few questions so far, their likeliest labels, the best workers.

    Parameters
    ----------
    labels_per_item : l*, labels asked about before the next item; the authors advise 3.
    """

    labels_per_item: int = 3
    model: ClassVar[str] = "nam"
    uses_features: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_count("labels_per_item", self.labels_per_item)

    def select(
        self, beliefs: Beliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        allowed = candidates.open_pairs()
        qci = cardinality_scores(beliefs)
        item, label = self._pairs(beliefs.proba, np.where(allowed.any(axis=1), qci, np.nan), allowed, batch, rng)
        asked = candidates.of_pairs(item, label)
        right = scores.chance_right(
            beliefs.proba[asked.item, asked.label],
            beliefs.hit[asked.worker, asked.label],
            beliefs.false_alarm[asked.worker, asked.label],
        )
        parts = {"qci": qci[asked.item], "q": right, "c": prices[asked.worker]}
        return pick_batch(asked, parts["qci"], batch, rng, worker_score=right, parts=parts)

    def _pairs(
        self, proba: Floats, item_score: Floats, allowed: Mask, batch: int, rng: np.random.Generator
    ) -> tuple[Ints, Ints]:
        """The likeliest labels of the best items, item by item; once all had theirs, the next ones of each."""
        item = best_places(item_score, batch, rng)
        likely = without_ties(np.where(allowed[item], proba[item], np.nan).astype(np.float32), rng)
        label = np.argsort(-likely, axis=1)  # NaN comes last
        row, rank = np.nonzero(np.take_along_axis(allowed[item], label, axis=1))
        order = np.lexsort((rank, row, rank // self.labels_per_item))[: max(batch, 0)]
        return item[row[order]], label[row[order], rank[order]]


def cardinality_scores(beliefs: Beliefs) -> Floats:
    """(n_items,) QCI, against the mean number of labels of the answered items (of all, if there are none)."""
    n_present = (beliefs.proba > 0.5).sum(axis=1).astype(float)
    n_queried = np.bincount(beliefs.votes.item, minlength=beliefs.votes.n_items).astype(float)
    known = n_present[n_queried > 0] if n_queried.any() else n_present
    inconsistency = scores.label_cardinality_inconsistency(n_present, float(known.mean()) if len(known) else 0.0)
    return scores.query_cardinality_inconsistency(inconsistency, n_queried)


@dataclass(frozen=True)
class Ceal:
    """CEAL: uncertain pairs, workers who were right about that label of similar items, low prices."""

    n_neighbors: int = 10
    model: ClassVar[str] = "amcc"
    uses_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_count("n_neighbors", self.n_neighbors)

    def select(
        self, beliefs: Beliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        uncertainty = scores.pair_uncertainty(beliefs.proba, candidates.open_pairs())
        asked = questions_about(uncertainty, candidates, batch, len(prices), rng)
        proba = beliefs.proba[asked.item, asked.label]
        parts = {"p": proba, "q": self._record(beliefs, asked), "c": prices[asked.worker]}
        return pick_batch(asked, scores.ceal_utility(proba, parts["q"], parts["c"]), batch, rng, parts=parts)

    def _record(self, beliefs: Beliefs, asked: Triplets) -> Floats:
        """CEAL's q for each question."""
        votes = beliefs.votes
        key = asked.item * votes.n_labels + asked.label
        pair, row = distinct(key)
        item, label = np.divmod(pair, votes.n_labels)
        near = neighbors_of(beliefs, item, self.n_neighbors)
        first, count = (each.ravel() for each in votes_on(votes, near.item, label[:, None]))
        where = np.repeat(np.arange(len(count)), count)  # place in `near` of each vote on a neighbour
        vote = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(len(where))
        right = (votes.value[vote] > 0) == (beliefs.proba[votes.item[vote], votes.label[vote]] > 0.5)
        k, shape = near.item.shape[1], (len(pair), votes.n_workers)
        similar = scores.similarity(near.distance).ravel()[where]
        record = scores.record_among_neighbors(where // max(k, 1), votes.worker[vote], similar, right, shape, k)
        return np.asarray(record[row, asked.worker])


@dataclass(frozen=True)
class ActiveLab:
    """ActiveLab: the pair whose consensus would be least sure after one more vote, and the weightiest worker per price.

    The model of CROWDLAB is the consensus itself, at the temperature that fits the votes best.
    """

    model: ClassVar[str] = "amcc"
    uses_features: ClassVar[bool] = False

    def select(
        self, beliefs: Beliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        quality, weight = crowdlab_of_labels(beliefs)
        doubt = np.where(candidates.open_pairs(), 1.0 - quality, np.nan)
        asked = questions_about(doubt, candidates, batch, len(prices), rng)
        parts = {
            "quality": quality[asked.item, asked.label],
            "v": weight[asked.worker, asked.label],
            "c": prices[asked.worker],
        }
        per_price = parts["v"] / np.maximum(parts["c"], scores.CHEAPEST)
        return pick_batch(asked, 1.0 - parts["quality"], batch, rng, worker_score=per_price, parts=parts)


def crowdlab_of_labels(beliefs: Beliefs) -> tuple[Floats, Floats]:
    """ActiveLab's score of every pair (n_items, n_labels), and the weight of every worker on every label."""
    votes = beliefs.votes
    quality, weight = np.empty_like(beliefs.proba), np.empty((votes.n_workers, votes.n_labels))
    for label in range(votes.n_labels):
        of_label = votes.label == label
        item, worker, yes = votes.item[of_label], votes.worker[of_label], votes.value[of_label] > 0
        n_votes, n_yes = (np.bincount(each, minlength=votes.n_items) for each in (item, item[yes]))
        asked = n_votes > 0
        proba = beliefs.proba[:, label]
        temperature = scores.best_temperature(n_yes[asked] / n_votes[asked], proba[asked])
        known = scores.crowdlab(item, worker, yes, scores.at_temperature(proba, temperature), votes.n_workers)
        quality[:, label], weight[:, label] = scores.activelab_quality(known), known.worker_weight
    return quality, weight


@dataclass(frozen=True)
class KnowledgeGradient:
    """Optimistic knowledge gradient per price: how much surer the decision can become by one answer of this worker."""

    model: ClassVar[str] = "amcc"
    uses_features: ClassVar[bool] = False

    def select(
        self, beliefs: Beliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        votes = beliefs.votes
        promise = np.where(candidates.open_pairs(), gain_from_counts(votes), np.nan)
        asked = questions_about(promise, candidates, batch, len(prices), rng)
        # To the nearest hundredth, finer than anybody knows it: workers alike are then computed once.
        reliability = np.round(scores.reliability_of_workers(votes, beliefs.proba), 2)
        gain = worker_gain(votes, reliability, asked)
        parts = {"gain": gain, "q": reliability[asked.worker], "c": prices[asked.worker]}
        return pick_batch(asked, gain / np.maximum(parts["c"], scores.CHEAPEST), batch, rng, parts=parts)


def gain_from_counts(votes: Votes) -> Floats:
    """(n_items, n_labels) OKG as if all workers were perfect: by the yeses and noes of each pair alone."""
    gain = np.full((votes.n_items, votes.n_labels), float(scores.optimistic_gradient(np.ones(1), np.ones(1))[0]))
    if len(votes):
        n_yes, n_no = votes.n_yes, votes.pairs.n_votes - votes.n_yes
        yes, no = np.indices((n_yes.max() + 1, n_no.max() + 1), dtype=float) + 1.0
        gain[votes.pairs.item, votes.pairs.label] = scores.optimistic_gradient(yes, no)[n_yes, n_no]
    return gain


def worker_gain(votes: Votes, reliability: Floats, asked: Triplets) -> Floats:
    """OKG of each question: what is known about its pair from workers of these reliabilities, and who is asked."""
    key = asked.item * votes.n_labels + asked.label
    pair, row = distinct(key)
    yes, no = beta_of_pairs(votes, reliability, *np.divmod(pair, votes.n_labels))
    kind, kind_of_worker = np.unique(reliability, return_inverse=True)
    table = scores.optimistic_gain(yes[:, None], no[:, None], kind)
    return np.asarray(table[row, kind_of_worker[asked.worker]])


def beta_of_pairs(votes: Votes, reliability: Floats, item: Ints, label: Ints) -> tuple[Floats, Floats]:
    """Beta distributions of pairs: uniform, updated by one vote after the other."""
    first, count = votes_on(votes, item, label)
    yes, no = np.ones(len(item)), np.ones(len(item))
    for turn in range(int(count.max(initial=0))):
        pair = np.flatnonzero(count > turn)
        vote = first[pair] + turn
        right = reliability[votes.worker[vote]]
        said_yes = np.where(votes.value[vote] > 0, right, 1.0 - right)
        yes[pair], no[pair] = scores.matched_update(yes[pair], no[pair], said_yes)
    return yes, no


STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "amcc": Amcc,
    "amcc-rw": RandomWorkers,
    "amcc-rsl": RandomPairs,
    "amcc-nlc": partial(Amcc, correlation_mix=0.0),
    "sac": Sac,
    "nam-a": NamActive,
    "mv-rsw": partial(Uniform, model="majority"),
    "uniform": Uniform,
    "activelab": ActiveLab,
    "okg": KnowledgeGradient,
    "ceal": Ceal,
    "voi": ValueOfInformation,
}
"""Strategies by the names that the command line knows."""


def check_features_used(strategy: Strategy, model: ConsensusModel) -> None:
    """Raise ParameterError where neither the strategy nor its model would look at the features that were given."""
    if strategy.uses_features or model.uses_features:
        return
    made = {name: make() for name, make in STRATEGIES.items()}
    users = [name for name, each in made.items() if each.uses_features or METHODS[each.model]().uses_features]
    known = next((name for name, each in made.items() if each == strategy), type(strategy).__name__)
    raise ParameterError(
        f"the strategy {known} does not use features of items, nor does {type(model).__name__}. Leave them out, or use "
        f"a strategy that does: {', '.join(users)}."
    )
