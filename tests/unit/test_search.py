"""eq13 over all triplets: what the search finds is what a list of all of them would give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from amcc.active import Learner, search
from amcc.active.beliefs import CurrentBeliefs
from amcc.active.candidates import Anything, Recorded
from amcc.active.picking import pick_batch
from amcc.active.scores import per_price
from amcc.active.search import best_triplets
from amcc.active.strategies import STRATEGIES
from amcc.active.strategies.common import credibility_of, credibility_on, most_credible, queried
from amcc.consensus import AMCC
from amcc.data import CrowdSpec, simulate_crowd
from amcc.votes import Votes


def small_world(seed: int, n_items: int = 30, n_labels: int = 4, n_workers: int = 7):
    """Utilities of pairs, values of workers on items, and whom one may ask: a third of the triplets is answered."""
    rng = np.random.default_rng(seed)
    value = rng.choice([-1, 0, 0, 1], (n_workers, n_items, n_labels))
    utility, worth = rng.random((n_items, n_labels)), rng.random((n_items, n_workers))
    utility[rng.random(utility.shape) < 0.2] = np.nan
    return utility, worth, Anything(Votes.from_dense(value))


def listed(utility, worth, candidates, batch: int):
    """The same from a list of everything."""
    asked = candidates.of_pairs(*np.nonzero(~np.isnan(utility)))
    score = utility[asked.item, asked.label] * worth[asked.item, asked.worker]
    return pick_batch(asked, score, batch, np.random.default_rng(0))


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), batch=st.integers(0, 12))
def test_the_best_of_all_triplets_in_their_order(seed, batch):
    utility, worth, candidates = small_world(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "BLOCK", 4)  # so that there are several blocks
        found = best_triplets(utility, lambda item: worth[item], worth.max(axis=0), candidates, batch, rng())
    assert found.asked.rows() == listed(utility, worth, candidates, batch).asked.rows()


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_more_than_there_is_gives_everything_that_can_be_asked_once():
    utility, worth, candidates = small_world(3, n_items=5, n_labels=2, n_workers=3)
    found = best_triplets(utility, lambda item: worth[item], worth.max(axis=0), candidates, 1000, rng())
    assert set(found.asked.rows()) == set(listed(utility, worth, candidates, 1000).asked.rows())


def test_it_ends_early_where_ceilings_are_low():
    utility, worth, candidates = small_world(5, n_items=4000)
    utility[50:] *= 0.01
    worth[:] = 1.0
    looked: list[int] = []

    def value_on(item):
        looked.append(len(item))
        return worth[item]

    best_triplets(utility, value_on, np.ones(7), candidates, 5, rng())
    assert sum(looked) <= search.BLOCK


def test_equals_do_not_send_it_through_everything_and_come_at_random():
    utility, _, candidates = small_world(5, n_items=4000)
    utility = np.where(np.isnan(utility), np.nan, 0.7)
    looked: list[int] = []

    def value_on(item):
        looked.append(len(item))
        return np.full((len(item), 7), 0.3)

    firsts = [
        best_triplets(utility, value_on, np.full(7, 0.3), candidates, 5, np.random.default_rng(seed)).asked.item[0]
        for seed in range(20)
    ]
    assert sum(looked) <= 20 * search.BLOCK
    assert len(set(firsts)) > 15  # of 4,000 items


@pytest.fixture(scope="module")
def beliefs() -> CurrentBeliefs:
    crowd = simulate_crowd(CrowdSpec(n_items=300, n_workers=25, n_labels=6, answers_per_item=2, seed=4))
    return Learner(AMCC).learn(crowd.votes)


def test_the_strategy_asks_for_the_arg_max_of_eq13(beliefs):
    """Mutant: a shortlist of the most open pairs misses the best triplet, whose worker is cheap."""
    prices = np.random.default_rng(0).integers(1, 100, 25).astype(float)
    candidates, known = Anything(beliefs.votes), queried(beliefs.votes)
    asked = candidates.of_pairs(*np.nonzero(candidates.open_pairs()))
    exact = STRATEGIES["amcc"]().select(beliefs, candidates, prices, 5, rng())
    u = at_all_pairs(beliefs)[asked.item, asked.label]
    every = per_price(u * credibility_of(beliefs, asked, known, 10), prices[asked.worker])
    assert_allclose(exact.utility[0], every.max(), rtol=1e-6)
    short = STRATEGIES["amcc"](shortlist=5).select(beliefs, candidates, prices, 5, rng())
    assert short.utility[0] < exact.utility[0] * 0.999


def test_no_pair_is_left_out_however_many_are_more_uncertain():
    """Mutant: a shortlist of 1,000 pairs by u. The best triplet is about the least uncertain pair."""
    n_items, n_labels = 600, 2
    votes = Votes.from_dense(np.ones((2, n_items, n_labels), dtype=int))
    none = votes.select(np.zeros(len(votes), dtype=bool))
    proba = np.full((n_items, n_labels), 0.5)
    proba[-1, -1] = 0.0  # u is lowest here, by a third
    sure = np.full((2, n_labels), 0.9)
    world = CurrentBeliefs(none, proba, sure, 1 - sure, none.answers_per_worker, np.eye(2), np.eye(2))
    last = (votes.item == n_items - 1) & (votes.label == 1)
    # Worker 1, who is cheap, can only be asked about the last pair, and worker 0 about all others.
    candidates, prices = Recorded(votes, last != (votes.worker == 1)), np.array([10.0, 1.0])
    found = STRATEGIES["amcc"]().select(world, candidates, prices, 1, rng())
    assert found.asked.rows() == [(n_items - 1, 1, 1)]
    short = STRATEGIES["amcc-short"]().select(world, candidates, prices, 1, rng())
    assert short.asked.rows() != found.asked.rows()


def at_all_pairs(beliefs: CurrentBeliefs):
    """u of eq9 as the paper prints it, with loops."""
    unqueried, n_labels = ~queried(beliefs.votes), beliefs.votes.n_labels
    u = np.empty_like(beliefs.proba)
    for item, label in np.ndindex(*u.shape):
        left = [k for k in range(n_labels) if unqueried[item, k]]
        gain = sum(abs(beliefs.commonality[label, k]) for k in left) / len(left) if len(left) > 1 else 0.0
        u[item, label] = 0.3 * gain + 0.7 * (1 - abs(0.5 - beliefs.proba[item, label]))
    return u


def test_nobody_is_more_credible_than_the_bound(beliefs):
    known = queried(beliefs.votes)
    everywhere = credibility_on(beliefs, np.arange(300), known, 10)
    assert (everywhere <= most_credible(beliefs) * (1 + 1e-6)).all()
    # Nearly reached where the nearest answered item is equal and a worker is perfect on the only label that counts.
    perfect = replace(beliefs, proba=np.zeros_like(beliefs.proba), false_alarm=np.zeros_like(beliefs.false_alarm))
    reached = credibility_on(perfect, np.arange(300), known, 1).max()
    assert_allclose(reached, most_credible(perfect).max(), rtol=1e-6)
    alone = replace(beliefs, features=np.arange(300.0)[:, None] * 1e9)  # nobody is near
    assert (credibility_on(alone, np.arange(300), known, 10) <= most_credible(beliefs)).all()
