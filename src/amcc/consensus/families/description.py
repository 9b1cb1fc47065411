"""Families in numbers and words: how many independent votes each of them is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Ints, Signs
from amcc.consensus.families.correlations import worker_shares
from amcc.consensus.families.tree import ViewTree, largest_families
from amcc.consensus.families.views import Views, fit_views
from amcc.consensus.families.weights import MOST_SQUARED, Sharing, _information_of_one, information_in
from amcc.fields import Each
from amcc.roster import KINDS, MODEL, Seats
from amcc.votes import Votes

CLEARLY = 0.9
"""Effective votes below this share of the band's lower end were measured; nearer to it, they were mostly assumed."""

N_NULL = 39
"""Draws for the band of independent workers: 95 % of them is all but the lowest and the highest."""


@dataclass(frozen=True)
class Families:
    """One row per family of two or more, and one for all models: what they share.

    name : families; "all models" comes first; kind : code into `KINDS`; members, votes : how many
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
        kind = pa.array(np.array(KINDS, dtype=object)[self.kind], pa.string())
        columns = {name: getattr(self, name) for name in list(vars(self))[2:]}
        return pa.table({"family": self.name, "kind": kind, **columns})

    def sentences(self) -> list[str]:
        """Each row in plain words."""
        sentences = []
        for row in self.table().to_pylist():
            text = (
                f"{row['family']}: {row['members']} {row['kind']}s, {row['votes_per_pair']:.1f} votes on a pair are "
                f"worth {row['effective_votes']:.1f} independent ones (if they shared no errors, the same estimate "
                f"would say {row['null_low']:.1f} to {row['null_high']:.1f})"
            )
            told = row["effective_votes"] < CLEARLY * row["null_low"]
            sentences.append(text + ("" if told else "; the votes cannot show which, so this is mostly assumed"))
        return sentences


ALL_MODELS = "all models"


def describe_families(votes: Votes, seats: Seats, sharing: Sharing) -> Families:
    """How many independent votes each family is worth, beside what independent workers of the same skill would show.

    The band comes from the same estimate, on the correlations that workers would have who are independent given truth
    and as skilled as explains these votes best, with the noise of as many votes. Where votes cannot tell sharing from
    skill (nobody, or one person, beside the models), such workers would show the same, and the band says so.
    """
    seats = largest_families(seats, np.bincount(votes.worker, minlength=votes.n_workers))
    groups = _groups(votes, seats, sharing.views.tree)
    measured = _effective(sharing.views, groups)
    rng = np.random.default_rng(0)
    skill = _skill_if_independent(sharing)
    draws = [_null_views(sharing, skill, rng) for _ in range(N_NULL if groups else 0)]
    null = np.array([_effective(views, groups) for views in draws])
    low, high = np.quantile(null, [0.025, 0.975], axis=0) if groups else (np.empty(0), np.empty(0))
    return Families(
        pa.array([group.name for group in groups], pa.string()),
        np.array([group.kind for group in groups], np.int8),
        np.array([group.members for group in groups], np.int64),
        np.array([group.votes for group in groups], np.int64),
        np.array([group.per_pair.sum() for group in groups]),
        np.array([_error_correlation(sharing.views, group) for group in groups]),
        measured,
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


def _groups(votes: Votes, seats: Seats, tree: ViewTree) -> list[_Group]:
    voted = np.bincount(votes.worker, minlength=votes.n_workers) > 0
    chosen = [(ALL_MODELS, MODEL, voted & (seats.kind == MODEL))]
    for code, name in enumerate(seats.family_names.to_pylist()):
        members = voted & (seats.family == code)
        if members.any():
            chosen.append((name, int(seats.kind[members.argmax()]), members))
    pair, worker, _ = worker_shares(votes)
    n_votes = np.bincount(votes.worker, minlength=votes.n_workers)
    groups = []
    for name, kind, members in chosen:
        if members.sum() < 2:
            continue
        mine = members[worker]
        n_pairs = len(np.unique(pair[mine]))
        per_pair = np.bincount(tree.source[worker[mine]], minlength=tree.n_sources) / max(n_pairs, 1)
        groups.append(_Group(name, kind, int(members.sum()), int(n_votes[members].sum()), per_pair))
    return groups


def _effective(views: Views, groups: Sequence[_Group]) -> Floats:
    """(n_groups,) what their votes on a pair tell about truth, over what one of these votes would tell."""
    single = _information_of_one(views.skill)

    def worth(n_votes: Floats) -> float:
        usual = float(n_votes @ single) / max(float(n_votes.sum()), 1e-9)
        return float(information_in(views, n_votes).truth) / max(usual, 1e-9)

    return np.array([worth(group.per_pair) for group in groups])


def _error_correlation(views: Views, group: _Group) -> float:
    """Mean correlation of what two members say beyond truth."""
    skill, squared = views.skill, np.clip(views.skill**2, 0.0, MOST_SQUARED)
    errors = np.sqrt(1 - squared)
    shared = (views.correlation() - np.outer(skill, skill)) / np.outer(errors, errors)
    weight = np.outer(group.per_pair, group.per_pair)
    single = np.minimum(group.per_pair, 1.0)
    weight[np.diag_indices(len(single))] -= single * group.per_pair  # a vote beside itself
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
    noise = np.triu(noise) + np.triu(noise, 1).T
    drawn = expected + noise * (1 - expected**2) / np.sqrt(np.maximum(sharing.correlations.shared, 1))
    return fit_views(sharing.views.tree, sharing.correlations._replace(correlation=np.clip(drawn, -0.99, 0.99)))
