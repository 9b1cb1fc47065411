"""Strategies that the paper's and ours are compared with.

SAC, NAM(A) and MV(rSW) are those of the paper's experiments. ActiveLab, the optimistic knowledge gradient and CEAL are
later or from elsewhere (docs/active.md names the sources). Their equations are functions of `amcc.active.scores`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from amcc.active import scores
from amcc.active.beliefs import CurrentBeliefs
from amcc.active.candidates import Candidates
from amcc.active.picking import best_places, distinct, pick_batch, questions_about, without_ties
from amcc.active.questions import Questions, Triplets
from amcc.active.strategies.common import check_count, neighbors_of, votes_on_pairs
from amcc.active.strategy import UsualStrategy, register
from amcc.arrays import Floats, Ints, Mask
from amcc.votes import Votes


@register("sac")
@dataclass(frozen=True)
class Sac(UsualStrategy):
    """SAC: the pair whose probability is nearest to ½, asked of the worker who agrees most with the consensus."""

    model: ClassVar[str] = "dawid-skene"

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        uncertainty = scores.pair_uncertainty(beliefs.proba, candidates.open_pairs())
        asked = questions_about(uncertainty, candidates, batch, len(prices), rng)
        # Pairs by u1, workers of a pair by their accuracy: a good worker does not make another pair more useful.
        accuracy = scores.agreement(beliefs.votes, beliefs.proba)[asked.worker]
        parts = {"u1": uncertainty[asked.item, asked.label], "accuracy": accuracy, "c": prices[asked.worker]}
        return pick_batch(asked, parts["u1"], batch, rng, worker_score=accuracy, parts=parts)


@register("nam-a")
@dataclass(frozen=True)
class NamActive(UsualStrategy):
    """NAM(A): items with a strange number of labels and few questions so far, their likeliest labels, the best workers.

    Parameters
    ----------
    labels_per_item : l*, labels asked about before the next item; the authors advise 3.
    """

    labels_per_item: int = 3
    model: ClassVar[str] = "nam"

    def __post_init__(self) -> None:
        check_count("labels_per_item", self.labels_per_item)

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
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
        label = np.argsort(-likely, axis=1)  # NaN, which may not be asked, comes last
        # First the `labels_per_item` likeliest labels of every item, item by item; then the next ones of each.
        row, rank = np.nonzero(np.take_along_axis(allowed[item], label, axis=1))
        order = np.lexsort((rank, row, rank // self.labels_per_item))[: max(batch, 0)]
        return item[row[order]], label[row[order], rank[order]]


def cardinality_scores(beliefs: CurrentBeliefs) -> Floats:
    """(n_items,) QCI, against the mean number of labels of the answered items (of all, if there are none)."""
    n_present = (beliefs.proba > 0.5).sum(axis=1).astype(float)
    n_queried = np.bincount(beliefs.votes.item, minlength=beliefs.votes.n_items).astype(float)
    # The usual number of labels is that of items somebody looked at; guesses about others would blur it.
    known = n_present[n_queried > 0] if n_queried.any() else n_present
    inconsistency = scores.label_cardinality_inconsistency(n_present, float(known.mean()) if len(known) else 0.0)
    return scores.query_cardinality_inconsistency(inconsistency, n_queried)


@register("uniform")
@dataclass(frozen=True)
class Uniform(UsualStrategy):
    """Any question, each equally likely."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        asked = candidates.sample(max(batch, 0), rng)  # no score: every question is as good as any other
        return Questions(asked, np.zeros(len(asked)), {"c": prices[asked.worker]})


@register("mv-rsw")
@dataclass(frozen=True)
class RandomSets(UsualStrategy):
    """MV(rSW): a random item with a random set of workers, who are all asked about the same label of it.

    Parameters
    ----------
    set_size : workers of a set, fewer where fewer can be asked. The paper prints no number: its batch of 5.
    """

    set_size: int = 5
    model: ClassVar[str] = "majority"

    def __post_init__(self) -> None:
        check_count("set_size", self.set_size)

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        luck_of_worker = rng.random(len(prices))
        item, label = (code[:batch] for code in self._pairs(candidates.open_pairs(), rng))
        asked = candidates.of_pairs(item, label)
        place = np.empty(beliefs.proba.shape, dtype=np.int64)
        place[item, label] = np.arange(len(item))
        of_pair = place[asked.item, asked.label]
        # Workers stand on a circle, and the set of a pair are those who come next from a random point on.
        luck = (luck_of_worker[asked.worker] + rng.random(len(item))[of_pair]) % 1.0
        order = np.lexsort((luck, of_pair))
        # The how-many-th of its pair each question is: those of a pair stand side by side.
        number = np.arange(len(order)) - np.searchsorted(of_pair[order], of_pair[order])
        chosen = asked.take(order[number < self.set_size][: max(batch, 0)])
        return Questions(chosen, np.zeros(len(chosen)), {"c": prices[chosen.worker]})

    def _pairs(self, allowed: Mask, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Open pairs in random order: a random label of each item, then a second one of each, and so on."""
        luck = np.where(allowed, rng.random(allowed.shape), np.inf)
        rank = np.argsort(np.argsort(luck, axis=1), axis=1)  # the how-many-th of its item each pair is
        item, label = np.nonzero(allowed)
        order = np.lexsort((rng.random(len(allowed))[item], rank[item, label]))
        return item[order], label[order]


@register("activelab")
@dataclass(frozen=True)
class ActiveLab(UsualStrategy):
    """ActiveLab: the pair whose consensus would be least sure after one more vote, and the weightiest worker per price.

    The model of CROWDLAB is the consensus itself, at the temperature that fits the votes best.
    """

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
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
        per_price = scores.per_price(parts["v"], parts["c"])
        return pick_batch(asked, 1.0 - parts["quality"], batch, rng, worker_score=per_price, parts=parts)


def crowdlab_of_labels(beliefs: CurrentBeliefs) -> tuple[Floats, Floats]:
    """ActiveLab's score of every pair (n_items, n_labels), and the weight of every worker on every label."""
    votes = beliefs.votes
    quality, weight = np.empty_like(beliefs.proba), np.empty((votes.n_workers, votes.n_labels))
    # CROWDLAB is for one question with classes; here every label is a question of its own, with yes and no.
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


@register("okg")
@dataclass(frozen=True)
class KnowledgeGradient(UsualStrategy):
    """Optimistic knowledge gradient per price: how much surer the decision can become by one answer of this worker."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        votes = beliefs.votes
        promise = np.where(candidates.open_pairs(), gain_from_counts(votes), np.nan)
        asked = questions_about(promise, candidates, batch, len(prices), rng)
        # To the nearest hundredth, finer than anybody knows it: workers alike are then computed once, and a crowd of
        # thousands has at most a hundred kinds.
        reliability = np.round(scores.reliability_of_workers(votes, beliefs.proba), 2)
        gain = worker_gain(votes, reliability, asked)
        parts = {"gain": gain, "q": reliability[asked.worker], "c": prices[asked.worker]}
        return pick_batch(asked, scores.per_price(gain, parts["c"]), batch, rng, parts=parts)


def gain_from_counts(votes: Votes) -> Floats:
    """(n_items, n_labels) OKG as if all workers were perfect: by the yeses and noes of each pair alone."""
    gain = np.full((votes.n_items, votes.n_labels), float(scores.optimistic_gradient(np.ones(1), np.ones(1))[0]))
    if len(votes):
        n_yes, n_no = votes.n_yes, votes.pairs.n_votes - votes.n_yes
        # Only the counts matter, and few differ: a table of all counts, then one look-up per pair.
        yes, no = np.indices((n_yes.max() + 1, n_no.max() + 1), dtype=float) + 1.0
        gain[votes.pairs.item, votes.pairs.label] = scores.optimistic_gradient(yes, no)[n_yes, n_no]
    return gain


def worker_gain(votes: Votes, reliability: Floats, asked: Triplets) -> Floats:
    """OKG of each question: what is known about its pair from workers of these reliabilities, and who is asked."""
    key = asked.item * votes.n_labels + asked.label
    pair, row = distinct(key)
    yes, no = beta_of_pairs(votes, reliability, *np.divmod(pair, votes.n_labels))
    # What an answer is worth depends on the worker by their reliability only: one column of the table for each kind.
    kind, kind_of_worker = np.unique(reliability, return_inverse=True)
    table = scores.optimistic_gain(yes[:, None], no[:, None], kind)
    return np.asarray(table[row, kind_of_worker[asked.worker]])


def beta_of_pairs(votes: Votes, reliability: Floats, item: Ints, label: Ints) -> tuple[Floats, Floats]:
    """Beta distributions of pairs: uniform, updated by one vote after the other.

    All pairs take their first vote together, then all that have one their second: as many steps as votes on one pair.
    """
    first, count = votes_on_pairs(votes, item, label)
    yes, no = np.ones(len(item)), np.ones(len(item))
    for turn in range(int(count.max(initial=0))):
        pair = np.flatnonzero(count > turn)
        vote = first[pair] + turn
        right = reliability[votes.worker[vote]]
        said_yes = np.where(votes.value[vote] > 0, right, 1.0 - right)
        yes[pair], no[pair] = scores.matched_update(yes[pair], no[pair], said_yes)
    return yes, no


@register("ceal")
@dataclass(frozen=True)
class Ceal(UsualStrategy):
    """CEAL: uncertain pairs, workers who were right about that label of similar items, low prices."""

    n_neighbors: int = 10
    uses_features: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count("n_neighbors", self.n_neighbors)

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """See `Strategy`."""
        uncertainty = scores.pair_uncertainty(beliefs.proba, candidates.open_pairs())
        asked = questions_about(uncertainty, candidates, batch, len(prices), rng)
        proba = beliefs.proba[asked.item, asked.label]
        parts = {"p": proba, "q": self._record(beliefs, asked), "c": prices[asked.worker]}
        return pick_batch(asked, scores.ceal_utility(proba, parts["q"], parts["c"]), batch, rng, parts=parts)

    def _record(self, beliefs: CurrentBeliefs, asked: Triplets) -> Floats:
        """CEAL's q for each question."""
        votes = beliefs.votes
        key = asked.item * votes.n_labels + asked.label
        pair, row = distinct(key)
        item, label = np.divmod(pair, votes.n_labels)
        near = neighbors_of(beliefs, item, self.n_neighbors)
        # All votes on the same label of all neighbours, in one flat list: `where` says which neighbour each belongs to.
        first, count = (each.ravel() for each in votes_on_pairs(votes, near.item, label[:, None]))
        where = np.repeat(np.arange(len(count)), count)  # place in `near` of each vote on a neighbour
        vote = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(len(where))
        right = (votes.value[vote] > 0) == (beliefs.proba[votes.item[vote], votes.label[vote]] > 0.5)
        k, shape = near.item.shape[1], (len(pair), votes.n_workers)
        similar = scores.similarity(near.distance).ravel()[where]
        record = scores.record_among_neighbors(where // max(k, 1), votes.worker[vote], similar, right, shape, k)
        return np.asarray(record[row, asked.worker])
