"""The tree of views: which sources of votes there are, and what lies between each of them and the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from amcc.arrays import Ints, Mask
from amcc.roster import HUMAN, MODEL, Seats

MOST_SOURCES, MOST_FAMILIES = 32, 16
"""Models and programs that are looked at one by one; of more, those of a family count as alike. And families that are
told apart, those with the most votes: a tree of hundreds would take minutes and tell nothing."""


@dataclass(frozen=True)
class ViewTree:
    """Sources of votes, and the views between them and the truth.

    source : (n_workers,) code of the source whose votes a worker's are counted to
    seen_by : (n_sources, n_views) which views lie between a source and the truth
    view_kind : (n_views,) kind; view_family : (n_views,) family code, −1 for the view that all models share
    is_truth : (n_sources,) the source that is truth itself
    source_kind, source_family : (n_sources,)
    """

    source: Ints
    seen_by: Mask
    view_kind: Ints
    view_family: Ints
    source_kind: Ints
    source_family: Ints
    is_truth: Mask

    @property
    def n_sources(self) -> int:
        """Sources, that of truth included."""
        return len(self.source_kind)


def largest_families(seats: Seats, n_votes: Ints) -> Seats:
    """The same with no more than `MOST_FAMILIES`, those with the most votes; members of others have none."""
    member = seats.family >= 0
    size = np.bincount(seats.family[member], n_votes[member], len(seats.family_names))
    kept = np.argsort(-size, kind="stable")[:MOST_FAMILIES]
    return replace(seats, family=np.where(np.isin(seats.family, kept), seats.family, -1).astype(np.int32))


def tree_of(seats: Seats, n_votes: Ints, *, truth: bool) -> ViewTree:
    """The views that a roster implies; `n_votes` (n_workers,) says who voted, `truth` adds truth as the last source."""
    voted = n_votes > 0
    machine = voted & (seats.kind != HUMAN)
    one_by_one = machine.sum() <= MOST_SOURCES
    keys = []
    for worker in range(len(seats.kind)):
        kind, family = int(seats.kind[worker]), int(seats.family[worker])
        keys.append((kind, family, worker if one_by_one and machine[worker] else -1))
    named: dict[tuple[int, int, int], int] = {}
    source = np.array([named.setdefault(key, len(named)) for key in keys], dtype=np.int64)
    kinds, families = (np.array([key[part] for key in named], dtype=np.int64) for part in (0, 1))
    views = _views(seats, voted)
    seen_by = np.zeros((len(named) + truth, len(views)), dtype=bool)
    for place, (kind, family) in enumerate(views):
        seen_by[: len(named), place] = (kinds == kind) & ((family < 0) | (families == family))
    is_truth = np.zeros(len(seen_by), dtype=bool)
    if truth:
        is_truth[-1] = True
        kinds, families = np.append(kinds, HUMAN), np.append(families, -1)
    view_kind, view_family = (np.array([view[part] for view in views], dtype=np.int64) for part in (0, 1))
    return ViewTree(source, seen_by, view_kind, view_family, kinds, families, is_truth)


def _views(seats: Seats, voted: Mask) -> list[tuple[int, int]]:
    """(kind, family) of all views, −1 for that of all models; a view needs two workers who have it."""
    models = voted & (seats.kind == MODEL)
    views = [(MODEL, -1)] if models.any() else []
    for family in range(len(seats.family_names)):
        members = voted & (seats.family == family)
        if members.sum() < 2 or (members.sum() == models.sum() and (members == models).all()):
            continue  # alone it has no view of its own; all models together have theirs already
        views.append((int(seats.kind[members.argmax()]), family))
    return views
