"""What votes are worth beside each other, and how they are counted by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.families.correlations import VoteCorrelations, vote_correlations
from amcc.consensus.families.tree import largest_families, tree_of
from amcc.consensus.families.views import Views, fit_views
from amcc.roster import MODEL, Seats
from amcc.votes import Votes

MOST_SQUARED = 0.95
"""No vote is nearer to what its worker sees than this, squared: one slip must not decide."""


class VoteInformation(NamedTuple):
    """What votes on a pair tell, in units of λ² / (1 − λ²).

    family : (…, n_views) about what each family sees; models : (…,) about what models see; truth : (…,) about truth
    """

    family: Floats
    models: Floats
    truth: Floats


def information_in(views: Views, n_votes: Floats) -> VoteInformation:
    """What (…, n_sources) votes of each source on one pair tell together.

    Within a view votes are independent given what it sees, and add up to t. A view of validity φ passes on
    φ² t / (1 + (1 − φ²) t) of that: however many votes, never more than φ² / (1 − φ²), as a single perfect one.
    """
    tree = views.tree
    each = np.asarray(n_votes) * _information_of_one(views.loading)
    is_family = tree.view_family >= 0
    family = each @ np.where(is_family, tree.seen_by, False)
    passed = passed_on(family, views.validity)
    of_models = is_family & (tree.view_kind == MODEL)
    outside = ~tree.seen_by[:, is_family].any(axis=1)  # sources without a family view
    models = each @ (outside & (tree.source_kind == MODEL) & ~tree.is_truth) + passed @ of_models
    validity = views.validity[~is_family]
    from_models = passed_on(models, float(validity[0])) if len(validity) else np.zeros_like(models)
    direct = each @ (outside & (tree.source_kind != MODEL)) + passed @ (is_family & ~of_models)
    return VoteInformation(family, models, from_models + direct)


def passed_on(told: Floats, validity: Floats | float) -> Floats:
    """What is left of what is known about a view, as knowledge about what lies above it.

    >>> passed_on(np.array([0.25, 100.0]), np.sqrt(0.5)).round(3).tolist()  # at most .5 / (1 − .5) = 1
    [0.111, 0.98]
    """
    squared = np.asarray(validity) ** 2
    return np.asarray(squared * told / (1 + (1 - squared) * told))


def _information_of_one(correlation: Floats) -> Floats:
    """What one vote tells that correlates so with what it is about."""
    squared = np.clip(correlation**2, 0.0, MOST_SQUARED)
    return np.asarray(squared / (1 - squared))


def design_weights(views: Views, together: Floats) -> Floats:
    """(n_sources,) share of a vote's evidence that is its own, beside the other votes on its pair.

    together : (n_sources, n_sources) see `VoteCorrelations`. The coefficient of a vote in
    Fisher's discriminant, given all votes
    on its pair, over that which it would have alone. With n models of equal loading it is 1 / (1 + (n − 1) ρ).
    """
    tree = views.tree
    told = information_in(views, together + np.eye(tree.n_sources))
    is_family, is_model = tree.view_family >= 0, (tree.source_kind == MODEL) & ~tree.is_truth
    validity = views.validity
    through_family = np.where(tree.seen_by & is_family, validity / (1 + (1 - validity**2) * told.family), 1.0).prod(
        axis=1
    )
    of_models = float(validity[~is_family][0]) if (~is_family).any() else 1.0
    through_models = np.where(is_model, of_models / (1 + (1 - of_models**2) * told.models), 1.0)
    squared = np.clip(views.loading**2, 0.0, MOST_SQUARED)
    skill = np.clip(views.to_truth**2 * squared, 0.0, MOST_SQUARED)
    beside_others = through_family * through_models / (1 - squared)
    alone = views.to_truth / (1 - skill)
    return np.asarray(np.clip(beside_others / alone, 0.0, 1.0))


@dataclass(frozen=True)
class Sharing:
    """What the votes say about who shares errors with whom.

    views, correlations : the fitted tree, and what it was fitted to
    weight : (n_workers,) how much a vote of each worker counts: below 1 for those whose votes others repeat
    """

    views: Views
    correlations: VoteCorrelations
    weight: Floats


def shared_errors(votes: Votes, seats: Seats, present: Mask, known: Mask) -> Sharing:
    """Who shares errors with whom, and what their votes are worth; `present` and `known` (n_pairs,) are known truth.

    Several votes of one worker on a pair, as of a model that was asked several times, count as one together.
    """
    n_votes = np.bincount(votes.worker, minlength=votes.n_workers)
    tree = tree_of(largest_families(seats, n_votes), n_votes, truth=bool(known.any()))
    correlations = vote_correlations(votes, tree, present, known)
    views = fit_views(tree, correlations)
    weight = design_weights(views, correlations.together)[tree.source]
    return Sharing(views, correlations, weight / samples_per_pair(votes))


def samples_per_pair(votes: Votes) -> Floats:
    """(n_workers,) mean number of votes of a worker on a pair: 1 unless they were asked several times."""
    if not votes.reading.samples:
        return np.ones(votes.n_workers)
    n_votes, n_pairs = (np.bincount(each.worker, minlength=votes.n_workers) for each in (votes, votes.one_per_worker()))
    return np.asarray(np.maximum(n_votes, 1) / np.maximum(n_pairs, 1))


def effective_counts(votes: Votes, weight: Floats | None) -> tuple[Floats, Floats]:
    """(n_pairs,) yes votes and all votes, each counted by the weight of its worker."""
    if weight is None:
        return votes.n_yes.astype(np.float64), votes.pairs.n_votes.astype(np.float64)
    each, start = weight[votes.worker], votes.pairs.start[:-1]
    return np.add.reduceat(each * (votes.value > 0), start), np.add.reduceat(each, start)


def families_behind(votes: Votes, seats: Seats, proba: Floats) -> Ints:
    """(n_pairs,) how many families are among the workers who agree with the decision; people without one count each.

    Several votes of a family are one voice here: `settled` asks for two.
    """
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    agrees = (votes.value > 0) == (proba > 0.5)[pair]
    alone = len(seats.family_names) + np.arange(votes.n_workers)
    voice = np.where(seats.family >= 0, seats.family, alone)[votes.worker[agrees]].astype(np.int64)
    heard = np.unique(pair[agrees] * (len(seats.family_names) + votes.n_workers) + voice)
    return np.bincount(heard // (len(seats.family_names) + votes.n_workers), minlength=len(proba))
