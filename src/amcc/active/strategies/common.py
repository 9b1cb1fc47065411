"""What several strategies look at: which pairs were asked, who answered items alike, which votes a pair has."""

from __future__ import annotations

import numpy as np

from amcc.active import scores
from amcc.active.beliefs import CurrentBeliefs
from amcc.active.picking import distinct
from amcc.active.questions import Triplets
from amcc.arrays import Floats, Ints, Mask, find_sorted
from amcc.errors import ParameterError
from amcc.votes import Votes


def queried(votes: Votes) -> Mask:
    """(n_items, n_labels) the pairs that anybody was asked about."""
    asked = np.zeros((votes.n_items, votes.n_labels), dtype=bool)
    asked[votes.pairs.item, votes.pairs.label] = True
    return asked


def neighbors_of(beliefs: CurrentBeliefs, item: Ints, k: int) -> scores.Neighbors:
    """The answered items nearest to these, N_k of eq11: by their features, or else by their labels as believed."""
    profile = beliefs.proba if beliefs.features is None else beliefs.features
    # Only answered items tell how workers did; the nearest of all would mostly be items that nobody saw.
    answered = np.flatnonzero(np.bincount(beliefs.votes.item, minlength=beliefs.votes.n_items))
    return scores.nearest(profile, item, answered, k)


def credibility_of(beliefs: CurrentBeliefs, asked: Triplets, known: Mask, k: int) -> Floats:
    """q of eq11 for each question; see `credibility_on`."""
    # Items are far fewer than questions: each is computed once, then looked up.
    item, row = distinct(asked.item)
    return np.asarray(credibility_on(beliefs, item, known, k)[row, asked.worker])


def credibility_on(beliefs: CurrentBeliefs, item: Ints, known: Mask, k: int) -> Floats:
    """(n, n_workers) q of eq11 on these items; where no other item was answered, by the item's own labels as believed.

    known : (n_items, n_labels) the pairs that anybody was asked about.
    """

    def likelihood(item: Ints) -> scores.Singles:
        return scores.answer_likelihood(beliefs.proba[item] > 0.5, known[item], beliefs.hit, beliefs.false_alarm)

    # Neighbours overlap: each is computed once, then looked up.
    near = neighbors_of(beliefs, item, k)
    similar = scores.similarity(near.distance)
    neighbor, place = distinct(near.item)
    by_item = scores.credibility(similar, place, likelihood(neighbor))
    alone = ~similar.any(axis=1)  # before the first answers nobody has neighbours
    by_item[alone] = likelihood(item[alone])
    return by_item


def most_credible(beliefs: CurrentBeliefs) -> Floats:
    """(n_workers,) no q of eq11 is larger: a mean of chances to be right is at most the largest, and S at most 1."""
    return np.asarray(np.maximum(beliefs.hit, 1.0 - beliefs.false_alarm).max(axis=1))


def votes_on_pairs(votes: Votes, item: Ints, label: Ints) -> tuple[Ints, Ints]:
    """Where the votes on each of these pairs begin, and how many there are."""
    pairs = votes.pairs
    if len(pairs) == 0:  # there is no start to look up
        return np.zeros(item.shape, np.int64), np.zeros(item.shape, np.int64)
    key = pairs.item.astype(np.int64) * votes.n_labels + pairs.label
    place, asked = find_sorted(key, item * votes.n_labels + label)
    return pairs.start[place], np.where(asked, pairs.n_votes[place], 0)


def check_share(name: str, value: float) -> None:
    """Raise ParameterError unless it lies in 0 … 1."""
    if not 0.0 <= value <= 1.0:
        raise ParameterError(f"{name} must lie in 0 … 1; got {value!r}.")


def check_count(name: str, value: int) -> None:
    """Raise ParameterError unless it is 1 or more."""
    if value < 1:
        raise ParameterError(f"{name} must be at least 1; got {value!r}.")
