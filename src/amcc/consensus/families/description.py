"""Families in numbers and words: how many independent votes each of them is worth.

What is *measured* and what is *assumed* must not look alike. So each number stands beside the range that the same
estimate would give for workers who share nothing: inside it, the number is mostly the prior's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Ints, Signs
from amcc.consensus.families.correlations import MOST_CORRELATED, worker_shares
from amcc.consensus.families.tree import ViewTree, largest_families
from amcc.consensus.families.views import Views, fit_views
from amcc.consensus.families.weights import MOST_SQUARED, Sharing, information_in, information_of_one
from amcc.fields import Each
from amcc.roster import MODEL, WORKER_KINDS, Seats
from amcc.votes import Votes

# The name of the row for all models together; a family could hardly be called so.
ALL_MODELS = "all models"

# Effective votes below this share of the band's lower end were measured; nearer to it, they were mostly assumed. The
# band is itself drawn, so a number just below its end proves nothing.
CLEARLY = 0.9

# Draws for the band of independent workers: the fewest of which 95 % is all but the lowest and the highest. Each draw
# is a fit, so more would make the table slow.
N_NULL = 39

# Information and votes below this are none: their ratios would be noise.
NO_VOTES = 1e-9


@dataclass(frozen=True)
class Families:
    """One row per family of two or more, and one for all models: what they share.

    name : families; `ALL_MODELS` comes first; kind : code into `WORKER_KINDS`; members, votes : how many
    votes_per_pair : mean number of votes on a pair that any of them voted on (samples of one worker count once)
    correlation : of the errors of two members; effective_votes : how many independent votes theirs are worth
    null_low, null_high : 95 % range of that for independent workers of the same skill, who voted as often
    """

    name: pa.Array
    kind: Annotated[Signs, Each("family", least=0)]
    members: Annotated[Ints, Each("family", least=0)]
    votes: Annotated[Ints, Each("family", least=0)]
    votes_per_pair: Annotated[Floats, Each("family", least=0)]
    correlation: Annotated[Floats, Each("family")]
    effective_votes: Annotated[Floats, Each("family", least=0)]
    null_low: Annotated[Floats, Each("family", least=0)]
    null_high: Annotated[Floats, Each("family", least=0)]

    def table(self) -> pa.Table:
        """The rows, with kinds by name."""
        kind = pa.array(np.array(WORKER_KINDS, dtype=object)[self.kind], pa.string())
        return pa.table({"family": self.name} | vars(self) | {"kind": kind}).drop_columns("name")

    def sentences(self) -> list[str]:
        """Each row in plain words, with a remark where the number was mostly assumed."""
        sentences = []
        for row in self.table().to_pylist():
            text = (
                f"{row['family']}: {row['members']} {row['kind']}s, {row['votes_per_pair']:.1f} votes on a pair are "
                f"worth {row['effective_votes']:.1f} independent ones (if they shared no errors, the same estimate "
                f"would say {row['null_low']:.1f} to {row['null_high']:.1f})"
            )
            measured = row["effective_votes"] < CLEARLY * row["null_low"]
            sentences.append(text + ("" if measured else "; the votes cannot show which, so this is mostly assumed"))
        return sentences


def no_families() -> Families:
    """What there is to say where families were not looked for."""
    no_codes, no_counts, no_numbers = np.empty(0, np.int8), np.empty(0, np.int64), np.empty(0)
    return Families(pa.array([], pa.string()), no_codes, no_counts, no_counts, *[no_numbers] * 5)


def describe_families(votes: Votes, seats: Seats, sharing: Sharing) -> Families:
    """How many independent votes each family is worth, beside what independent workers of the same skill would show.

    The band comes from the same estimate, made of correlations that workers would have who are independent given truth:
    as skilled as explains these votes best, with the noise of as many votes. Where votes cannot tell sharing from skill
    (nobody, or one person, beside the models), such workers would show the same, and the band says so.
    """
    seats = largest_families(seats, np.bincount(votes.worker, minlength=votes.n_workers))
    groups = list(_groups(votes, seats, sharing.views.tree))
    rng, skill = np.random.default_rng(0), _skill_if_independent(sharing)
    draws = [_null_views(sharing, skill, rng) for _ in range(N_NULL if groups else 0)]
    null = np.array([[_effective_votes(views, group.per_pair) for group in groups] for views in draws])
    low, high = np.quantile(null, [0.025, 0.975], axis=0) if groups else (np.empty(0), np.empty(0))
    return Families(
        pa.array([group.name for group in groups], pa.string()),
        np.array([group.kind for group in groups], np.int8),
        np.array([group.members for group in groups], np.int64),
        np.array([group.votes for group in groups], np.int64),
        np.array([group.per_pair.sum() for group in groups]),
        np.array([_error_correlation(sharing.views, group.per_pair) for group in groups]),
        np.array([_effective_votes(sharing.views, group.per_pair) for group in groups]),
        low,
        high,
    )


@dataclass(frozen=True)
class _Group:
    """Workers who may share errors; `per_pair` (n_sources,) are their votes on a pair that any of them voted on."""

    name: str
    kind: int
    members: int
    votes: int
    per_pair: Floats


def _groups(votes: Votes, seats: Seats, tree: ViewTree) -> Iterator[_Group]:
    """All models, then each family, where two or more of them voted."""
    n_votes = np.bincount(votes.worker, minlength=votes.n_workers)
    pair, worker, _ = worker_shares(votes)
    families = [(name, seats.family == code) for code, name in enumerate(seats.family_names.to_pylist())]
    for name, belongs in [(ALL_MODELS, seats.kind == MODEL), *families]:
        members = belongs & (n_votes > 0)
        if members.sum() < 2:
            continue
        mine = members[worker]
        n_pairs = max(len(np.unique(pair[mine])), 1)
        per_pair = np.bincount(tree.source[worker[mine]], minlength=tree.n_sources) / n_pairs
        kind = int(seats.kind[members.argmax()])  # a family is of one kind: rosters with mixed families are refused
        yield _Group(name, kind, int(members.sum()), int(n_votes[members].sum()), per_pair)


def _effective_votes(views: Views, per_pair: Floats) -> float:
    """Information about truth in these votes on a pair, over that in one of them."""
    usual = float(per_pair @ information_of_one(views.skill)) / max(float(per_pair.sum()), NO_VOTES)
    return float(information_in(views, per_pair).truth) / max(usual, NO_VOTES)


def _error_correlation(views: Views, per_pair: Floats) -> float:
    """Mean correlation of what two members say beyond truth."""
    skill = views.skill
    errors = np.sqrt(1 - np.clip(skill**2, 0.0, MOST_SQUARED))
    shared = (views.correlation() - np.outer(skill, skill)) / np.outer(errors, errors)
    weight = np.outer(per_pair, per_pair)
    weight[np.diag_indices(len(weight))] -= np.minimum(per_pair, 1.0) * per_pair  # a vote beside itself
    return float((weight * shared).sum() / weight.sum()) if weight.sum() > 1e-12 else 0.0


def _skill_if_independent(sharing: Sharing) -> Floats:
    """(n_sources,) the skill that explains the correlations best without any view."""
    tree = sharing.views.tree
    nothing = replace(tree, seen_by=tree.seen_by[:, :0], view_kind=tree.view_kind[:0], view_family=tree.view_family[:0])
    return fit_views(nothing, sharing.correlations).skill


def _null_views(sharing: Sharing, skill: Floats, rng: np.random.Generator) -> Views:
    """The views that the same estimate finds in votes of independent workers of this skill."""
    expected = np.outer(skill, skill)
    noise = rng.standard_normal(expected.shape)
    noise = np.triu(noise) + np.triu(noise, 1).T  # a correlation matrix is symmetric
    drawn = expected + noise * (1 - expected**2) / np.sqrt(np.maximum(sharing.correlations.shared, 1))
    drawn = np.clip(drawn, -MOST_CORRELATED, MOST_CORRELATED)
    return fit_views(sharing.views.tree, sharing.correlations._replace(correlation=drawn))
