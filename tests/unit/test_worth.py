"""What answers are worth by eq12."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc import Votes
from amcc.consensus import AMCC, DawidSkene, PaperAMCC, worth
from amcc.consensus.worth import worker_costs, worker_worth
from amcc.errors import ParameterError


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


def test_as_printed_items_without_an_answer_count_and_votes_divide():
    """w1: .8 · .5, an answer without a yes and an item without an answer, by 3 votes; w2: .9 and two such, by 2."""
    votes = Votes.from_dense([[[1, 1], [-1, 0], [0, 0]], [[-1, 1], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, 0]]])
    found = worker_worth(votes, np.array([0.8, 0.5, 0.7, 0.9]), printed=True)
    assert_allclose(found, [2.4 / 3, 2.9 / 2, (2.4 + 2.9) / 5])
    assert_allclose(worker_worth(votes.select(votes.value == 0), np.empty(0), printed=True), 1.0)


@pytest.mark.parametrize("make", [AMCC, PaperAMCC])
def test_costs_are_those_that_a_model_with_groups_shows(crowd, make):
    model = make().fit(crowd.votes)
    assert_allclose(worker_costs(model, crowd.votes), model.worker_cost_, rtol=1e-12)
    assert np.ptp(model.worker_cost_) > 0.01  # or all that is said here would hold of any constant


def test_costs_by_the_hit_rates_of_any_model(crowd):
    model = DawidSkene().fit(crowd.votes)
    coins, hit = crowd.votes.coins, model.rates_of_coins()[0]
    assert_allclose(worker_costs(model, crowd.votes), worker_worth(crowd.votes, hit[coins.worker, coins.label]))
    assert not np.allclose(worker_costs(model, crowd.votes, printed=True), worker_costs(model, crowd.votes))


def test_costs_follow_the_votes_between_two_fits(crowd):
    """What a worker answered since then counts, judged by the rates as learned."""
    votes = crowd.votes
    early = votes.select(votes.item < votes.n_items // 2)
    model = DawidSkene().fit(early)
    hit = model.rates_of_coins()[0]
    assert_allclose(worker_costs(model, votes), worker_worth(votes, hit[votes.coins.worker, votes.coins.label]))
    assert not np.allclose(worker_costs(model, votes), worker_costs(model, early))


def test_without_a_model_everybody_costs_one(crowd):
    assert_array_equal(worker_costs(None, crowd.votes), 1.0)


def test_costs_are_of_the_model_s_own_crowd(crowd):
    other = Votes.from_dense([[[1, -1]]])
    with pytest.raises(ParameterError, match="the model must know the votes' 1 workers and 2 labels"):
        worker_costs(DawidSkene().fit(crowd.votes), other)


def test_few_and_many_votes_are_summed_alike(crowd, monkeypatch):
    votes, rng = crowd.votes, np.random.default_rng(0)
    rate = rng.random(len(votes.coins))
    few = worker_worth(votes, rate)
    monkeypatch.setattr("amcc.consensus.worth.SMALL", 0)
    # Sums of logarithms in another order: the last digits may differ.
    assert_allclose(worker_worth(votes, rate), few, rtol=1e-12)
