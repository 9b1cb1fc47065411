"""The tree of views: which sources of votes there are, and which views lie between each of them and the truth.

A *source* is a worker, or several workers who count as alike. A *view* is what several sources see in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from amcc.arrays import Ints, Mask
from amcc.roster import HUMAN, MODEL, Seats

# Models and programs are looked at one by one up to this number; with more, those of a family count as alike. The
# correlations of n sources are n² numbers, and a fit of hundreds would take minutes and show nothing more.
MOST_SOURCES = 32

# Families that are told apart, those with the most votes, for the same reason.
MOST_FAMILIES = 16


@dataclass(frozen=True)
class ViewTree:
    """Sources of votes, and the views between them and the truth.

    source : (n_workers,) the source to which a worker's votes are counted
    seen_by : (n_sources, n_views) which views lie between a source and the truth
    view_kind : (n_views,) kind of the workers who have it, a code of `roster.WORKER_KINDS`
    view_family : (n_views,) family code, −1 for the view that all models share
    source_kind : (n_sources,) kind, like `view_kind`
    is_truth : (n_sources,) the source that is truth itself
    """

    source: Ints
    seen_by: Mask
    view_kind: Ints
    view_family: Ints
    source_kind: Ints
    is_truth: Mask

    @property
    def n_sources(self) -> int:
        """Number of sources, truth included."""
        return len(self.source_kind)

    @property
    def is_model(self) -> Mask:
        """(n_sources,) which sources are models."""
        return np.asarray((self.source_kind == MODEL) & ~self.is_truth)


def largest_families(seats: Seats, n_votes: Ints) -> Seats:
    """The same roster with at most `MOST_FAMILIES` families, those with the most votes; other members have none."""
    member = seats.family >= 0
    size = np.bincount(seats.family[member], n_votes[member], len(seats.family_names))
    kept = np.argsort(-size, kind="stable")[:MOST_FAMILIES]
    return replace(seats, family=np.where(np.isin(seats.family, kept), seats.family, -1).astype(np.int32))


def tree_of(seats: Seats, n_votes: Ints, *, truth: bool) -> ViewTree:
    """The views that a roster implies; `n_votes` (n_workers,) says who voted, `truth` adds truth as the last source.

    People of one family (or of none) are one source together: each of them votes too little to be looked at alone.
    """
    voted = n_votes > 0
    machine = voted & (seats.kind != HUMAN)
    alone = machine & (machine.sum() <= MOST_SOURCES)
    workers = enumerate(zip(seats.kind.tolist(), seats.family.tolist(), alone.tolist(), strict=True))
    keys = [(kind, family, worker if by_itself else -1) for worker, (kind, family, by_itself) in workers]
    # In order of first appearance, not sorted: the order of the sources is part of what rounding makes of the fit.
    code = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    kinds, families, _ = np.array(list(code), dtype=np.int64).reshape(-1, 3).T
    view_kind, view_family = np.array(_views(seats, voted), dtype=np.int64).reshape(-1, 2).T
    is_truth = np.arange(len(code) + truth) == len(code)
    # Truth has kind HUMAN and no view above it: it looks for itself, like a person without a family.
    kinds, families = np.append(kinds, [HUMAN] * truth), np.append(families, [-1] * truth)
    of_kind = kinds[:, None] == view_kind
    seen_by = of_kind & ((view_family < 0) | (families[:, None] == view_family))
    return ViewTree(np.array([code[key] for key in keys]), seen_by, view_kind, view_family, kinds, is_truth)


def _views(seats: Seats, voted: Mask) -> list[tuple[int, int]]:
    """(kind, family) of each view, −1 for that of all models; a view needs two workers who have it."""
    models = voted & (seats.kind == MODEL)
    views = [(MODEL, -1)] if models.any() else []
    for family in range(len(seats.family_names)):
        members = voted & (seats.family == family)
        # A worker alone has no view to share, and a family of all models would have the view of all models twice:
        # two numbers for one thing, which the votes cannot tell apart.
        if members.sum() >= 2 and not np.array_equal(members, models):
            views.append((int(seats.kind[members.argmax()]), family))
    return views
