"""Workers who stand for all: who they are, and that groups learned from them are those of the whole crowd."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amcc.consensus.default import representatives
from amcc.consensus.default.coins import Counts
from amcc.consensus.default.crowd import CoinCounts, crowd_prior, start_crowd, update_members
from amcc.consensus.default.representatives import Representatives
from amcc.consensus.default.settings import Settings
from amcc.engine.shards import Shards
from amcc.votes import Coins

PRIOR = crowd_prior(Settings())
N_WORKERS, N_LABELS = 3000, 4


@pytest.fixture(scope="module")
def crowd_of_two():
    """A third of the workers sees nine of ten present labels, the others four; coins and what they said, ten votes."""
    rng = np.random.default_rng(0)
    worker, label = (each.ravel().astype(np.int32) for each in np.indices((N_WORKERS, N_LABELS)))
    hit = np.where(worker % 3 == 0, 0.9, 0.4)
    yes, alarms = rng.binomial(10, hit).astype(float), rng.binomial(10, 0.05, len(worker)).astype(float)
    coins = Coins(worker, label, np.empty(0, np.int32))
    return coins, CoinCounts(Counts(yes, 10 - yes), Counts(alarms, 10 - alarms))


def representatives_of(coins, *, n_labels=N_LABELS, votes_per_coin=20):
    """They need not know more of an engine than this."""
    n_votes = votes_per_coin * len(coins)
    engine = SimpleNamespace(coins=coins, n_workers=N_WORKERS, n_labels=n_labels, n_votes=n_votes)
    return Representatives.of(engine, Shards(coins))


def test_nobody_where_coins_are_as_many_as_votes(crowd_of_two):
    coins, _ = crowd_of_two
    assert representatives_of(coins, votes_per_coin=2) is None


def test_all_workers_where_they_are_few(crowd_of_two):
    coins, _ = crowd_of_two
    few = representatives_of(coins)
    assert few.chosen.worker.all()
    assert_array_equal(few.mine.coins.worker, coins.worker)


def test_some_with_all_their_coins_the_same_every_time(crowd_of_two, monkeypatch):
    monkeypatch.setattr(representatives, "ENOUGH_COINS", 1200)
    monkeypatch.setattr(representatives, "ENOUGH_OF_LABEL", 1)
    coins, _ = crowd_of_two
    few, again = (representatives_of(coins) for _ in range(2))
    who = few.chosen.worker
    assert 200 < who.sum() < 400
    assert_array_equal(who, again.chosen.worker)
    assert_array_equal(np.flatnonzero(who)[few.mine.coins.worker], coins.worker[who[coins.worker]])
    assert_array_equal(np.bincount(few.mine.coins.worker), N_LABELS)


def test_rare_labels_ask_for_more_workers(crowd_of_two, monkeypatch):
    monkeypatch.setattr(representatives, "ENOUGH_COINS", 1)
    monkeypatch.setattr(representatives, "ENOUGH_OF_LABEL", 100)
    coins, _ = crowd_of_two
    many_labels = representatives_of(coins, n_labels=10 * N_LABELS)
    assert representatives_of(coins).chosen.worker.sum() < 200 < many_labels.chosen.worker.sum()


def test_groups_of_some_are_groups_of_all(crowd_of_two, monkeypatch):
    monkeypatch.setattr(representatives, "ENOUGH_COINS", 2000)
    monkeypatch.setattr(representatives, "ENOUGH_OF_LABEL", 1)
    coins, counts = crowd_of_two
    few = representatives_of(coins)
    crowd = start_crowd(N_WORKERS, N_LABELS, 4, PRIOR)  # two of which look
    for _ in range(5):
        crowd = few.learn_groups(crowd, PRIOR, counts, temper=1.0)
    assert crowd.member.shape == (N_WORKERS, 4)
    crowd, _ = update_members(crowd, Shards(coins), counts)
    good = crowd.hit.commonality.mean(axis=1).argmax()
    assert_allclose(crowd.share[good], 1 / 3, atol=0.02)
    assert ((crowd.member[:, good] > 0.5) == (np.arange(N_WORKERS) % 3 == 0)).mean() > 0.99


def test_strengths_of_some_move_by_one_step_and_leave_all_else(crowd_of_two):
    coins, counts = crowd_of_two
    few = representatives_of(coins)
    crowd = start_crowd(N_WORKERS, N_LABELS, 2, PRIOR)
    moved = few.learn_strengths(crowd, PRIOR, counts)
    assert np.isin(moved.hit.strength / crowd.hit.strength, [0.5, 1.0, 2.0]).all()
    assert_array_equal(moved.hit.label, crowd.hit.label)
    assert_array_equal(moved.share, crowd.share)
    assert_array_equal(moved.member, crowd.member)
