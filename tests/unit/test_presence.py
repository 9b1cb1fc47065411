"""What counts as present: by the share of people who say yes, and by plain counts."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from amcc import Votes
from amcc.consensus.default.presence import expected_share_of_yes, presence_at, presence_by_counts
from amcc.consensus.default.settings import Settings

SETTINGS = Settings()


def votes_by_degree(seed=0):
    """Every pair has its own share of people who say yes, and nobody is better than others."""
    rng = np.random.default_rng(seed)
    share = rng.beta(0.3, 0.7, size=(150, 6))
    dense = np.zeros((25, 150, 6), dtype=int)
    for item in range(150):
        workers = rng.choice(25, size=8, replace=False)
        dense[workers, item] = np.where(rng.random((8, 6)) < share[item], 1, -1)
    return Votes.from_dense(dense)


def test_ties_are_one_half():
    assert_allclose(presence_by_counts(np.arange(5.0), 2 * np.arange(5.0), SETTINGS), 0.5)


def test_counts_decide_as_majority_does():
    n_votes = np.repeat(np.arange(1.0, 30), 30)
    n_yes = np.minimum(np.tile(np.arange(30.0), 29), n_votes)
    apart = 2 * n_yes != n_votes
    assert ((presence_by_counts(n_yes, n_votes, SETTINGS) > 0.5) == (2 * n_yes > n_votes))[apart].all()


def test_more_votes_that_agree_say_more():
    n = np.arange(1.0, 20)
    assert (np.diff(presence_by_counts(n, n, SETTINGS)) > 0).all()
    assert presence_by_counts(n, n, SETTINGS)[-1] < 0.999  # never certain: the votes may repeat each other
    assert_allclose(expected_share_of_yes(np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 3.0])), [0.5, 0.75, 0.875])


def test_presence_rises_with_the_share_of_yes_and_leans():
    share = np.linspace(0, 1, 101)
    assert (np.diff(presence_at(share, SETTINGS)) >= 0).all()
    assert presence_at(np.array([0.43]), SETTINGS)[0] > 0.5 > presence_at(np.array([0.42]), SETTINGS)[0]
    assert presence_at(np.array([0.5]), SETTINGS, lean=0.0)[0] == 0.5
