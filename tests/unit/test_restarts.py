"""Random starts that do not depend on names, and the best of several runs for each label."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from amcc import Votes
from amcc.consensus.monitor import Monitor
from amcc.consensus.restarts import RandomStarts, Restarts


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
