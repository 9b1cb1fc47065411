"""What every strategy must satisfy. A new strategy joins by its name in STRATEGIES.

Every test takes `make`, which makes a strategy: `test_mutants.py` hands wrong ones to the same tests.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from amcc.active.beliefs import CurrentBeliefs, Learner
from amcc.active.candidates import Anything, Recorded
from amcc.active.questions import Questions, Triplets
from amcc.active.strategies import STRATEGIES
from amcc.consensus import METHODS, MajorityVote
from amcc.votes import Votes

pytestmark = pytest.mark.parametrize("name", STRATEGIES)
COST_BLIND = {"amcc-rw", "sac", "nam-a", "mv-rsw", "uniform"}


@pytest.fixture
def make(name):
    return STRATEGIES[name]


@pytest.fixture
def cost_blind(name) -> bool:
    return name in COST_BLIND


def beliefs_without_votes(n_items: int, n_labels: int, n_workers: int) -> CurrentBeliefs:
    one = Votes.from_dense(np.ones((n_workers, n_items, n_labels), dtype=int))
    votes = one.select(np.zeros(len(one), dtype=bool))
    hit, false_alarm = np.full((n_workers, n_labels), 0.8), np.full((n_workers, n_labels), 0.2)
    proba = np.full((n_items, n_labels), 0.3)
    return CurrentBeliefs(votes, proba, hit, false_alarm, votes.answers_per_worker, np.eye(n_labels), np.eye(n_labels))


def select(make, beliefs, candidates, *, prices=None, batch=10, seed=0) -> Questions:
    prices = np.ones(beliefs.votes.n_workers) if prices is None else prices
    return make().select(beliefs, candidates, prices, batch, np.random.default_rng(seed))


def as_rows(asked: Triplets) -> list[tuple[int, int, int]]:
    return list(zip(asked.item.tolist(), asked.label.tolist(), asked.worker.tolist(), strict=True))


def same(one: Questions, other: Questions) -> bool:
    return as_rows(one.asked) == as_rows(other.asked)


def test_asks_only_what_is_a_candidate_and_nothing_twice(make, crowd, asked_already, beliefs):
    pool = crowd.votes
    candidates = Recorded(pool, asked_already)
    left = {(i, lb, w) for i, lb, w, a in zip(pool.item, pool.label, pool.worker, asked_already, strict=True) if not a}
    for batch in (1, 7, 60):
        rows = as_rows(select(make, beliefs, candidates, batch=batch).asked)
        assert len(rows) == batch
        assert len(set(rows)) == batch
        assert set(rows) <= left


def test_live_crowd_is_not_asked_again(make, beliefs):
    votes = beliefs.votes
    there = np.arange(votes.n_workers) % 2 == 0
    rows = as_rows(select(make, beliefs, Anything(votes, there), batch=40).asked)
    done = set(zip(votes.item.tolist(), votes.label.tolist(), votes.worker.tolist(), strict=True))
    assert len(set(rows)) == 40
    assert not set(rows) & done
    assert all(there[worker] for _, _, worker in rows)


def test_the_best_come_first_and_say_why(make, crowd, asked_already, beliefs):
    questions = select(make, beliefs, Recorded(crowd.votes, asked_already), batch=20)
    single = questions.utility.astype(np.float32)  # equal ones may come in any order
    # A question to a worker who is asked about the same item already comes after all others.
    answers = [(item, worker) for item, _, worker in as_rows(questions.asked)]
    fresh = [place for place, answer in enumerate(answers) if answer not in answers[:place]]
    assert np.all(np.diff(single[fresh]) <= 0)
    assert np.all(np.isfinite(questions.utility))
    assert questions.parts
    assert all(part.shape == (20,) and np.all(np.isfinite(part)) for part in questions.parts.values())


def test_a_seed_fixes_the_choice(make, crowd, asked_already, beliefs):
    candidates = Recorded(crowd.votes, asked_already)
    assert same(select(make, beliefs, candidates, seed=4), select(make, beliefs, candidates, seed=4))


def test_beliefs_are_left_alone(make, crowd, asked_already, beliefs):
    before = [part.copy() for part in (beliefs.proba, beliefs.hit, beliefs.false_alarm, beliefs.correlation)]
    select(make, beliefs, Recorded(crowd.votes, asked_already))
    for old, new in zip(before, (beliefs.proba, beliefs.hit, beliefs.false_alarm, beliefs.correlation), strict=True):
        assert_array_equal(old, new)


def test_cold_start_chooses_among_equals_by_chance(make):
    beliefs = beliefs_without_votes(n_items=40, n_labels=3, n_workers=5)
    choices = [select(make, beliefs, Anything(beliefs.votes), batch=6, seed=seed).asked for seed in range(6)]
    assert all(len(choice) == 6 for choice in choices)
    assert len({tuple(sorted(as_rows(choice))) for choice in choices}) == 6
    assert len({worker for choice in choices for _, _, worker in as_rows(choice)}) == 5
    assert len({item for choice in choices for item, _, _ in as_rows(choice)}) > 6


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 1, 1), (5, 1, 3), (1, 4, 1), (6, 2, 1)])
def test_smallest_crowds(make, shape):
    beliefs = beliefs_without_votes(*shape)
    n_items, n_labels, _ = shape
    rows = as_rows(select(make, beliefs, Anything(beliefs.votes), batch=50).asked)
    assert {(item, label) for item, label, _ in rows} == {(i, lb) for i in range(n_items) for lb in range(n_labels)}


def test_one_answered_item(make):
    beliefs = beliefs_without_votes(n_items=3, n_labels=2, n_workers=3)
    votes = Votes.from_dense(np.array([[[1, -1], [0, 0], [0, 0]]] + [np.zeros((3, 2), int)] * 2))
    beliefs = replace(beliefs, votes=votes, experience=votes.answers_per_worker)
    assert len(select(make, beliefs, Anything(votes), batch=5)) == 5


def test_nothing_left_gives_no_questions(make, crowd, beliefs):
    everything = np.ones(len(crowd.votes), dtype=bool)
    questions = select(make, beliefs, Recorded(crowd.votes, everything))
    assert len(questions) == len(questions.utility) == 0
    assert len(select(make, beliefs, Anything(beliefs.votes, np.zeros(beliefs.votes.n_workers, dtype=bool)))) == 0


def test_no_batch_no_questions(make, crowd, asked_already, beliefs):
    assert len(select(make, beliefs, Recorded(crowd.votes, asked_already), batch=0)) == 0


def test_replay_reaches_every_recorded_vote_once(make):
    rng = np.random.default_rng(1)
    pool = Votes.from_dense(rng.choice((-1, 0, 1), (4, 6, 3)))
    beliefs = beliefs_without_votes(n_items=6, n_labels=3, n_workers=4)
    place = {row: at for at, row in enumerate(zip(pool.item, pool.label, pool.worker, strict=True))}
    asked = np.zeros(len(pool), dtype=bool)
    while not asked.all():
        votes = pool.select(asked)
        beliefs = replace(beliefs, votes=votes, experience=votes.answers_per_worker)
        rows = as_rows(select(make, beliefs, Recorded(pool, asked), batch=5).asked)
        assert rows, "questions are left, yet none was asked"
        assert not asked[[place[row] for row in rows]].any()
        asked[[place[row] for row in rows]] = True


def test_prices(make, cost_blind, beliefs):
    """A more expensive worker is asked no more often; to strategies that do not look at prices nothing changes."""
    candidates = Anything(beliefs.votes)
    prices = np.random.default_rng(2).uniform(1, 3, beliefs.votes.n_workers)
    questions = select(make, beliefs, candidates, prices=prices, batch=30)
    often = np.bincount(questions.asked.worker, minlength=len(prices))
    for worker in np.argsort(-often)[:4]:
        raised = prices.copy()
        raised[worker] *= 2
        after = select(make, beliefs, candidates, prices=raised, batch=30)
        assert (after.asked.worker == worker).sum() <= often[worker]
    far_raised = prices.copy()
    far_raised[often > 0] *= 1000
    after = select(make, beliefs, candidates, prices=far_raised, batch=30)
    if cost_blind:
        assert same(questions, after)
    else:
        assert np.isin(after.asked.worker, np.flatnonzero(often)).sum() < 30


def test_new_workers_can_be_asked(make, crowd, asked_already):
    known = asked_already & (crowd.votes.worker < 20)
    beliefs = Learner(MajorityVote).learn(crowd.votes.select(known))
    new = np.arange(crowd.votes.n_workers) >= 20
    assert not beliefs.experience[new].any()
    rows = as_rows(select(make, beliefs, Anything(beliefs.votes, new), batch=10).asked)
    assert len(rows) == 10
    assert all(new[worker] for _, _, worker in rows)


def test_features_matter_to_who_says_so(make, crowd, asked_already, beliefs):
    """Random features tell other items alike than their labels do: to a strategy that uses them, and to no other."""
    features = np.random.default_rng(0).random((crowd.votes.n_items, 4))
    candidates = Recorded(crowd.votes, asked_already)
    plain, described = (select(make, each, candidates) for each in (beliefs, replace(beliefs, features=features)))
    unchanged = same(plain, described) and np.array_equal(plain.utility, described.utility)
    assert len(described) == 10
    assert unchanged == (not make().uses_features)


def test_names_a_consensus_method(make):
    assert make().model in METHODS
