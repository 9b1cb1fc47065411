"""Where the rounds start: groups by k-means, one D_w for all, and what follows from these."""

from __future__ import annotations

import numpy as np

from amcc.arrays import Floats, Ints
from amcc.consensus.learned import Gold
from amcc.consensus.models.majority import MajorityVote
from amcc.consensus.models.paper.individuality import project_rows
from amcc.consensus.models.paper.problem import PaperProblem, PaperSettings, PaperState
from amcc.consensus.models.paper.updates import fill_empty_groups, update_commonality, update_group_weights
from amcc.consensus.workers import worker_rates
from amcc.engine.base import InMemory
from amcc.votes import Votes

# Rounds of k-means at most; on two features it stands still after some ten.
KMEANS_ROUNDS = 100


def start_state(problem: PaperProblem, worker_group: Ints) -> PaperState:
    """Groups as given, equal weights, one D_w for all, and the commonality that goes with them."""
    n_groups = int(worker_group.max()) + 1
    individuality = np.tile(first_individuality(problem.n_labels, problem.settings), (problem.n_workers, 1, 1))
    state = PaperState(
        individuality=individuality,
        commonality=np.zeros((n_groups, problem.n_labels, problem.n_labels)),
        group_weights=np.full(n_groups, 1.0 / n_groups),
        worker_group=worker_group,
        admm_dual=np.zeros_like(individuality),
    )
    return update_group_weights(update_commonality(state, problem), problem)


def first_individuality(n_labels: int, settings: PaperSettings) -> Floats:
    """(n_labels, n_labels) D_w of everybody at the start: "gives the true label" (D15).

    From there, self-representation is perfect before it starts (D1), and nothing would move. So it starts from "gives
    any label".
    """
    first = np.full((n_labels, n_labels), 1.0) if settings.starts_uniform else np.eye(n_labels)
    return project_rows(first, settings.rows)


def start_groups(votes: Votes, gold: Gold, settings: PaperSettings) -> Ints:
    """(n_workers,) groups of workers with alike rates, judged by known truth and the majority of the others (D3).

    There are no more groups than workers: an empty one would have nothing to learn from.
    """
    rates = worker_rates(votes, MajorityVote()._learn(InMemory(votes, gold.signs)).judge())
    features = np.column_stack([rates.hit_rate, rates.false_alarm_rate])
    return cluster_workers(features, min(settings.n_groups, votes.n_workers), settings.random_state)


def cluster_workers(features: Floats, n_groups: int, random_state: int) -> Ints:
    """(n_workers,) groups by k-means on (n_workers, n_features), each with at least one worker.

    Centres are drawn among the workers in the order of their features, so that their names and codes do not matter.
    """
    order = np.lexsort(features.T[::-1])
    ordered = features[order]
    centres = draw_centres(ordered, n_groups, np.random.default_rng(random_state))
    for _ in range(KMEANS_ROUNDS):
        distance = _squared_distances(ordered, centres)
        group = fill_empty_groups(distance.argmin(axis=1), distance.min(axis=1), n_groups)
        moved = np.array([ordered[group == m].mean(axis=0) for m in range(n_groups)])
        if np.array_equal(moved, centres):
            break
        centres = moved
    # Back from the order of features to that of the workers.
    worker_group = np.empty(len(group), dtype=np.int64)
    worker_group[order] = group
    return worker_group


def draw_centres(points: Floats, n_centres: int, rng: np.random.Generator) -> Floats:
    """k-means++: the first at random, each further one by its squared distance to the nearest so far."""
    centres = points[[rng.integers(len(points))]]
    for _ in range(1, n_centres):
        far = _squared_distances(points, centres).min(axis=1)
        total = far.sum()
        # Where all points are centres already, any will do; no number is drawn then.
        pick = np.searchsorted(np.cumsum(far), rng.random() * total, side="right") if total > 0 else 0
        # Rounding may carry the last cumulated distance below the total.
        centres = np.vstack([centres, points[min(int(pick), len(points) - 1)]])
    return centres


def _squared_distances(points: Floats, centres: Floats) -> Floats:
    """(n_points, n_centres)."""
    return np.asarray(((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2))
