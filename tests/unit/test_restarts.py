"""Random starts that do not depend on names, and the best of several runs for each label."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from amcc import Votes
from amcc.consensus.monitor import Monitor
from amcc.consensus.restarts import SAME_END, RandomStarts, Restarts


def test_every_label_keeps_its_best_run():
    runs = Restarts(2)
    settled, unsettled = Monitor(1e-3, 2), Monitor(1e-3, 2)
    settled.report(0.0, 1e-4)
    unsettled.report(0.0, 0.5)
    assert_array_equal(runs.add(np.array([[-9.0, -9.0], [-5.0, -4.0]]), settled), [True, True])
    assert_array_equal(runs.add(np.array([[-8.0, -8.0], [-7.0, -6.0], [-3.0, -5.0]]), unsettled), [True, False])
    assert runs.history() == [-17.0, -11.0, -7.0]
    together = runs.monitor()
    assert (together.history, together.change, together.converged) == (runs.history(), 0.5, False)


def test_workers_without_votes_change_nobodys_chance(toy_votes):
    dense = np.concatenate([np.zeros((1, 2, 2)), toy_votes.to_dense()])
    draws, with_idle = RandomStarts(toy_votes, 3).per_worker(0, 4), RandomStarts(Votes.from_dense(dense), 3)
    assert_array_equal(with_idle.per_worker(0, 4)[1:], draws)


def settled(change=1e-4):
    monitor = Monitor(1e-3, 2)
    monitor.report(0.0, change)
    return monitor


def test_the_first_of_equal_runs_counts():
    """A gain of less than SAME_END is rounding."""
    runs = Restarts(2)
    assert runs.add(np.array([[-5.0, -5.0]]), settled()).all()
    assert_array_equal(runs.add(np.array([[-5.0 + SAME_END / 2, -5.0 + 3 * SAME_END]]), settled()), [False, True])


def test_a_later_run_is_compared_with_the_best_not_with_the_last():
    runs = Restarts(1)
    for end, better in ((-3.0, True), (-9.0, False), (-5.0, False), (-2.0, True)):
        assert runs.add(np.array([[end]]), settled()).item() is better
    assert runs.history() == [-2.0]


def test_runs_have_converged_when_all_have():
    runs = Restarts(1)
    runs.add(np.array([[-3.0]]), settled(1e-4))
    assert runs.monitor().converged
    runs.add(np.array([[-9.0]]), settled(0.7))
    assert (runs.monitor().converged, runs.monitor().change) == (False, 0.7)


def test_starts_do_not_depend_on_names():
    """The same votes with workers and items in another order: everybody keeps their numbers."""
    rng = np.random.default_rng(0)
    dense = rng.choice([-1, 0, 1], size=(6, 9, 2))
    workers, items = rng.permutation(6), rng.permutation(9)
    first, other = RandomStarts(Votes.from_dense(dense), 0), RandomStarts(Votes.from_dense(dense[workers][:, items]), 0)
    assert_array_equal(other.per_worker(1, 3), first.per_worker(1, 3)[workers])
    assert_array_equal(other.per_item(1, 3), first.per_item(1, 3)[items])


def test_starts_depend_on_seed_and_number_only(toy_votes):
    one, again, other = (RandomStarts(toy_votes, seed) for seed in (1, 1, 2))
    one.per_worker(0, 5)  # drawing for one start changes nothing in the next
    assert_array_equal(one.per_worker(1, 5), again.per_worker(1, 5))
    assert not np.isclose(one.per_worker(1, 5), other.per_worker(1, 5)).any()
    assert (one.per_item(0, 50) < 1).all()
    assert (one.per_item(0, 50) >= 0).all()
