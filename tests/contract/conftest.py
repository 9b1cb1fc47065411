"""Crowds and fits that several parts of the contract look at."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pytest

from amcc import Truth, Votes
from amcc.active.beliefs import CurrentBeliefs, Learner
from amcc.consensus import MajorityVote
from amcc.data.simulate import CrowdSpec, SimulatedWorld, simulate_crowd


@pytest.fixture(scope="session")
def learned(crowd):
    """The model of a maker, fitted to the crowd once for all tests that only ask it."""
    return functools.cache(lambda make: make().fit(crowd.votes))


@pytest.fixture(scope="session")
def small() -> SimulatedWorld:
    """A crowd for everything that takes several fits; two of three labels are asked."""
    return simulate_crowd(CrowdSpec(n_items=40, n_workers=8, n_labels=4, answers_per_item=4, asked_share=0.7, seed=3))


@pytest.fixture(scope="session")
def learned_small(small):
    """Likewise for the small crowd."""
    return functools.cache(lambda make: make().fit(small.votes))


@pytest.fixture(scope="session")
def learned_toy(toy_votes):
    """Likewise for the toy votes."""
    return functools.cache(lambda make: make().fit(toy_votes))


@pytest.fixture(scope="session")
def half_asked() -> np.ndarray:
    """(8, 60, 4) good workers: all are asked about the first 30 items, three about each label of the others."""
    rng = np.random.default_rng(0)
    truth = rng.random((60, 4)) < 0.4
    said = np.where(rng.random((8, 60, 4)) < np.where(truth, 0.9, 0.1), 1, -1)
    asked = np.argsort(rng.random(said.shape), axis=0) < 3
    asked[:, :30] = True
    return np.where(asked, said, 0)


@pytest.fixture(scope="session")
def collusion() -> tuple[Votes, np.ndarray, Truth]:
    """Two honest workers against three who agree on something else; the truth of 60 items, that of 40 given."""
    rng = np.random.default_rng(0)
    truth = rng.random((60, 3)) < 0.4
    honest = np.where(rng.random((2, 60, 3)) < np.where(truth, 0.95, 0.05), 1, -1)
    agreed = np.where(rng.random(truth.shape) < 0.4, 1, -1)
    others = np.where(rng.random((3, 60, 3)) < 0.05, -agreed, agreed)
    votes = Votes.from_dense(np.concatenate([honest, others]))
    item, label = (pa.array(code) for code in np.nonzero(truth[:40]))
    pairs = pa.table({"item": votes.item_names.take(item), "label": votes.label_names.take(label)})
    known = pa.table({"item": votes.item_names.slice(0, 40)})
    return votes, truth, Truth.from_frames(pairs, known_items=known)


@pytest.fixture(scope="session")
def asked_already(crowd) -> np.ndarray:
    """(n_votes,) which votes of the crowd a strategy starts with."""
    return np.random.default_rng(5).random(len(crowd.votes)) < 0.4


@pytest.fixture(scope="session")
def beliefs(crowd, asked_already) -> CurrentBeliefs:
    """What is believed after them."""
    return Learner(MajorityVote).learn(crowd.votes.select(asked_already))
