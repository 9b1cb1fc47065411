"""What answers are worth by eq12."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from amcc import Votes
from amcc.consensus import worth
from amcc.consensus.worth import worker_worth


def test_worker_worth_by_hand():
    """w1 ticks a and b on the first item (.8 · .5) and nothing on the second (1); w2 ticks b once (.9); w3 nothing."""
    votes = Votes.from_dense([[[1, 1], [-1, -1]], [[-1, 1], [0, 0]], [[0, 0], [0, 0]]])
    found = worker_worth(votes, np.array([0.8, 0.5, 0.7, 0.9]))
    assert_allclose(found, [(0.4 + 1) / 2, 0.9, (0.4 + 1 + 0.9) / 3])


def test_nobody_is_free():
    votes = Votes.from_dense([[[1, 1, 1]]])
    assert_allclose(worker_worth(votes, np.full(3, 1e-5)), 1e-3)


def test_a_worker_without_answers_costs_the_mean_and_one_where_nobody_has_any():
    votes = Votes.from_dense([[[1, -1]], [[1, 1]], [[0, 0]]])
    rates = np.array([0.5, 1.0, 0.4, 0.5])
    assert_allclose(worker_worth(votes, rates), [0.5, 0.2, 0.35])
    assert_allclose(worker_worth(votes.select(votes.value == 0), np.empty(0)), 1.0)


def test_pieces_do_not_tear_answers_apart(crowd, monkeypatch):
    """An answer's product is taken as a whole, however few votes fit into a piece."""
    votes = crowd.votes
    rates = np.random.default_rng(0).uniform(0.2, 0.9, len(votes.coins))
    whole = worker_worth(votes, rates)
    for piece in (7, 100, len(votes) - 1):
        monkeypatch.setattr(worth, "PIECE", piece)
        assert_allclose(worker_worth(votes, rates), whole, rtol=1e-12)


def test_worth_against_a_loop_over_answers(crowd):
    """eq12 by its letter: the mean over answers of the product over yeses."""
    votes = crowd.votes
    rates = np.random.default_rng(1).uniform(0.2, 0.9, len(votes.coins))
    of_vote = np.where(votes.value > 0, rates[votes.coins.slot // 2], 1.0)
    for worker in range(0, votes.n_workers, 6):
        own = votes.worker == worker
        products = [of_vote[own & (votes.item == item)].prod() for item in np.unique(votes.item[own])]
        assert_allclose(worker_worth(votes, rates)[worker], np.mean(products), rtol=1e-12)
