"""Where the rounds start: groups by k-means, and the first D_w."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc.consensus.learned import Gold
from amcc.consensus.models.paper.problem import PaperSettings
from amcc.consensus.models.paper.start import (
    cluster_workers,
    draw_centres,
    first_individuality,
    start_groups,
    start_state,
)
from paper_problems import EXACT, crowd_of, small


def test_clear_clusters_are_found():
    rng = np.random.default_rng(0)
    centre = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    kind = np.arange(30) % 3
    found = cluster_workers(centre[kind] + rng.normal(0, 0.01, (30, 2)), 3, random_state=0)
    assert len({(k, f) for k, f in zip(kind.tolist(), found.tolist(), strict=True)}) == 3


def test_order_of_workers_does_not_matter():
    rng = np.random.default_rng(1)
    features, order = rng.random((20, 2)), rng.permutation(20)
    assert_array_equal(cluster_workers(features[order], 4, 3), cluster_workers(features, 4, 3)[order])


@pytest.mark.parametrize("n_groups", [1, 3, 5])
def test_no_group_is_empty_even_if_all_workers_are_alike(n_groups):
    found = cluster_workers(np.full((5, 2), 0.5), n_groups, 0)
    assert_array_equal(np.unique(found), np.arange(n_groups))


def test_centres_are_points_and_differ_where_they_can():
    points = np.array([[0.0], [0.0], [1.0], [5.0]])
    for seed in range(10):
        centres = draw_centres(points, 3, np.random.default_rng(seed))
        assert sorted(centres.ravel().tolist()) == [0.0, 1.0, 5.0]


def test_spammers_and_reliable_workers_start_apart():
    crowd = crowd_of(0)
    groups = start_groups(crowd.votes, Gold.nothing(len(crowd.votes.pairs)), PaperSettings())
    uniform, reliable = (set(groups[crowd.worker_kind == kind]) for kind in ("uniform_spammer", "reliable"))
    assert uniform.isdisjoint(reliable)


def test_first_individuality():
    """The identity, but for self-representation, which it would explain perfectly (D1)."""
    assert_array_equal(first_individuality(3, PaperSettings()), np.eye(3))
    for settings in (PaperSettings(anchor="self"), PaperSettings(printed=True)):
        assert_allclose(first_individuality(3, settings), 1 / 3, **EXACT)
    assert_allclose(first_individuality(4, PaperSettings(anchor="self", rows="unit")), 0.5, **EXACT)


def test_first_individuality_can_be_chosen():
    """D15."""
    assert_allclose(first_individuality(4, PaperSettings(start="uniform")), 1 / 4, **EXACT)
    assert_array_equal(first_individuality(4, PaperSettings(start="identity", printed=True)), np.eye(4))


def test_start_has_the_commonality_and_weights_of_its_groups():
    _, problem, _ = small(0)
    state = start_state(problem, np.arange(7) % 3)
    assert state.n_groups == 3
    assert_allclose(state.group_weights.sum(), 1, **EXACT)
    assert np.abs(state.commonality).max() > 0
    assert_array_equal(state.admm_dual, 0)
