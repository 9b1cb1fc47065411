"""What votes are worth beside each other, and how pairs are counted by it.

The information in a vote that correlates by λ with something is λ² / (1 − λ²): independent votes add up in this unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from amcc.arrays import Floats, Ints, Mask, distinct
from amcc.consensus.families.correlations import VoteCorrelations, centred_votes, vote_correlations
from amcc.consensus.families.tree import largest_families, tree_of
from amcc.consensus.families.views import Views, fit_views
from amcc.roster import MODEL, Seats
from amcc.votes import Votes

# No vote is nearer to what its worker sees than this, squared. Nearer to 1 the information of a single vote would go to
# infinity, and one slip would decide a pair: 0.95 is the information of 19 votes that correlate by √½.
MOST_SQUARED = 0.95

# Where no vote is worth anything, a divisor that is not 0.
TINY = 1e-12


class VoteInformation(NamedTuple):
    """Information in the votes on a pair, about what lies above them.

    family : (…, n_views) about what each family sees, 0 for the view of all models
    models : (…,) about what all models see
    truth : (…,) about the truth
    """

    family: Floats
    models: Floats
    truth: Floats


class _Given(NamedTuple):
    """Information that votes give directly: to the view of a family (…, n_views), of all models, to the truth (…,).

    It adds up: that of more votes is the sum of what each gives.
    """

    family: Floats
    models: Floats
    truth: Floats

    @classmethod
    def by(cls, views: Views, n_votes: Floats) -> _Given:
        """By (…, n_sources) votes of each source on one pair."""
        tree = views.tree
        of_votes = np.asarray(n_votes) * information_of_one(views.loading)
        is_family = tree.view_family >= 0
        without_family = ~tree.seen_by[:, is_family].any(axis=1)
        return cls(
            of_votes @ np.where(is_family, tree.seen_by, False),
            of_votes @ (without_family & tree.is_model),
            of_votes @ (without_family & (tree.source_kind != MODEL)),
        )

    def passed_up(self, views: Views) -> VoteInformation:
        """With what views pass on."""
        is_family = views.tree.view_family >= 0
        passed = passed_on(self.family, views.validity)
        of_models = is_family & (views.tree.view_kind == MODEL)
        models = self.models + passed @ of_models
        validity = views.validity[~is_family]
        from_models = passed_on(models, float(validity[0])) if len(validity) else np.zeros_like(models)
        return VoteInformation(self.family, models, from_models + self.truth + passed @ (is_family & ~of_models))


def information_in(views: Views, n_votes: Floats) -> VoteInformation:
    """Information in (…, n_sources) votes of each source on one pair.

    Within a view votes are independent given what it sees, so their information adds up; the view passes on a part of
    it, see `passed_on`. It is summed from the votes upwards: families, then all models, then the truth.
    """
    return _Given.by(views, n_votes).passed_up(views)


def passed_on(information: Floats, validity: Floats | float) -> Floats:
    """Information about what lies above a view, from that about the view itself.

    Of information t, a view of validity φ passes on φ² t / (1 + (1 − φ²) t). However many votes there are, that is
    less than φ² / (1 − φ²), which a single perfect vote would pass on: this is why a family cannot outvote people.

    >>> passed_on(np.array([0.25, 100.0]), np.sqrt(0.5)).round(3).tolist()  # at most .5 / (1 − .5) = 1
    [0.111, 0.98]
    """
    squared = np.asarray(validity) ** 2
    return np.asarray(squared * information / (1 + (1 - squared) * information))


def information_of_one(correlation: Floats) -> Floats:
    """Information in one vote that correlates so with what it is about.

    >>> information_of_one(np.sqrt([0.5, 0.99])).round(6).tolist()  # .99 counts as `MOST_SQUARED`
    [1.0, 19.0]
    """
    squared = np.clip(correlation**2, 0.0, MOST_SQUARED)
    return np.asarray(squared / (1 - squared))


def design_weights(views: Views, together: Floats) -> Floats:
    """(n_sources,) share of a vote's evidence that is its own, beside the other votes on its pair.

    together : (n_sources, n_sources) see `VoteCorrelations`

    The coefficient of a vote in Fisher's discriminant, given all votes on its pair, over the coefficient that it would
    have alone. With n models of equal loading it is 1 / (1 + (n − 1) ρ), the design effect of surveys.
    """
    tree, validity = views.tree, views.validity
    # A vote is beside itself, too: what others repeat is measured against all that is said, the vote included.
    information = information_in(views, together + np.eye(tree.n_sources))
    is_family = tree.view_family >= 0
    kept = validity / (1 + (1 - validity**2) * information.family)
    through_family = np.where(tree.seen_by & is_family, kept, 1.0).prod(axis=1)
    of_models = float(validity[~is_family][0]) if (~is_family).any() else 1.0
    through_models = np.where(tree.is_model, of_models / (1 + (1 - of_models**2) * information.models), 1.0)
    squared = np.clip(views.loading**2, 0.0, MOST_SQUARED)
    skill = np.clip(views.to_truth**2 * squared, 0.0, MOST_SQUARED)
    beside_others = through_family * through_models / (1 - squared)
    alone = views.to_truth / (1 - skill)
    return np.asarray(np.clip(beside_others / alone, 0.0, 1.0))


def within_families(views: Views, together: Floats) -> Floats:
    """(n_sources,) how much a vote teaches about workers, beside those of its own family: less where they repeat it.

    As in `design_weights`, without what all models share: votes that count for little teach little, and a crowd of
    models alone would have too little evidence on any pair to be learned from.
    """
    tree, validity = views.tree, views.validity
    is_family = tree.view_family >= 0

    def kept(n_votes: Floats) -> Floats:
        information = information_in(views, n_votes).family
        repeated = np.where(tree.seen_by & is_family, 1 / (1 + (1 - validity**2) * information), 1.0)
        return np.asarray(repeated.prod(axis=1))

    own = np.eye(tree.n_sources)
    return np.asarray(kept(together + own) / kept(own))


@dataclass(frozen=True)
class Sharing:
    """What the votes say about who shares errors with whom.

    views, correlations : the fitted tree, and what it was fitted to
    weight : (n_workers,) how much a vote of each worker counts: below 1 for those whose votes others repeat
    apart : (n_workers,) the same where only the own family counts as others, see `within_families`
    """

    views: Views
    correlations: VoteCorrelations
    weight: Floats
    apart: Floats

    @property
    def source(self) -> Ints:
        """(n_workers,) the source to which each worker's votes are counted."""
        return self.views.tree.source

    def votes_of_sources(self, pair: Ints, worker: Ints, n_pairs: int) -> Floats:
        """(n_pairs, n_sources) how many votes of each source a pair has; pair, worker : (n_votes,) of each vote."""
        n_sources = self.views.tree.n_sources
        n_votes = np.bincount(pair * n_sources + self.source[worker], minlength=n_pairs * n_sources)
        return n_votes.astype(np.float64).reshape(n_pairs, n_sources)

    def new_in_next(self, n_votes: Floats, sources: Ints | None = None) -> Floats:
        """(n_pairs, n_sources) share of the information in a vote of each source that other votes do not have yet.

        n_votes : (n_pairs, n_sources) the votes that there are, see `votes_of_sources`. sources : of which the next
        votes may be; all, unless they are given. Information adds up the tree of views, see `information_in`: what one
        more vote adds to it, over what the vote would tell alone.
        """
        one = np.eye(self.views.tree.n_sources)[slice(None) if sources is None else sources]
        of_one, of_all = (_Given.by(self.views, votes) for votes in (one, n_votes))
        alone, now = (given.passed_up(self.views).truth for given in (of_one, of_all))
        with_one = _Given(*(each[:, None] + more for each, more in zip(of_all, of_one, strict=True)))
        added = with_one.passed_up(self.views).truth - now[:, None]
        # A source that tells nothing has nothing new either.
        return np.clip(np.divide(added, alone, out=np.zeros(added.shape), where=alone > 0), 0.0, 1.0)


def shared_errors(votes: Votes, seats: Seats, present: Mask, known: Mask) -> Sharing:
    """Who shares errors with whom, and what their votes are worth; `present` and `known` (n_pairs,) are known truth.

    Several votes of one worker on a pair, as of a model that was asked several times, count as one together.
    """
    n_votes = np.bincount(votes.worker, minlength=votes.n_workers)
    tree = tree_of(largest_families(seats, n_votes), n_votes, truth=bool(known.any()))
    correlations = vote_correlations(centred_votes(votes, tree, present, known), len(votes.pairs))
    views = fit_views(tree, correlations)
    weight, samples = design_weights(views, correlations.together)[tree.source], samples_per_pair(votes)
    apart = within_families(views, correlations.together)[tree.source]
    return Sharing(views, correlations, weight / samples, apart)


def samples_per_pair(votes: Votes) -> Floats:
    """(n_workers,) mean number of votes of a worker on a pair: 1 unless they were asked several times."""
    if not votes.reading.samples:
        return np.ones(votes.n_workers)
    n_votes, n_pairs = (np.bincount(each.worker, minlength=votes.n_workers) for each in (votes, votes.one_per_worker()))
    return np.asarray(np.maximum(n_votes, 1) / np.maximum(n_pairs, 1))


def effective_counts(votes: Votes, weight: Floats | None) -> tuple[Floats, Floats]:
    """(n_pairs,) yes votes and all votes on each pair, each counted by the (n_workers,) weight of its worker.

    >>> votes = Votes.from_dense([[[1]], [[1]], [[-1]]])
    >>> [counts.tolist() for counts in effective_counts(votes, np.array([0.5, 0.25, 1.0]))]
    [[0.75], [1.75]]
    """
    if weight is None:
        return votes.n_yes.astype(np.float64), votes.pairs.n_votes.astype(np.float64)
    each, start = weight[votes.worker], votes.pairs.start[:-1]
    return np.add.reduceat(each * (votes.value > 0), start), np.add.reduceat(each, start)


def voices(seats: Seats) -> Ints:
    """(n_workers,) the family of each worker; those without one have a voice of their own, numbered behind them."""
    alone = len(seats.family_names) + np.arange(len(seats.family))
    return np.where(seats.family >= 0, seats.family, alone).astype(np.int64)


def families_behind(votes: Votes, seats: Seats, proba: Floats) -> Ints:
    """(n_pairs,) how many families are among the workers who agree with the decision; people without one count each.

    Several votes of a family are one voice here: `settled` asks for two.
    """
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)
    agrees = (votes.value > 0) == (proba > 0.5)[pair]
    n_voices = len(seats.family_names) + votes.n_workers
    voice = voices(seats)[votes.worker[agrees]]
    heard = distinct(pair[agrees] * n_voices + voice, len(proba) * n_voices)[0]
    return np.bincount(heard // n_voices, minlength=len(proba))
