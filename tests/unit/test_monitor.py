"""When a fit may stop, and where its warning points."""

from __future__ import annotations

import numpy as np
import pytest

from amcc import CDS, IBCC, MACE, MLJMF, ConvergenceWarning, DawidSkene, RakelGlad
from amcc.consensus.monitor import Monitor, watched_by


@pytest.mark.parametrize("model", [CDS, DawidSkene, IBCC, MACE, MLJMF, RakelGlad])
def test_the_warning_points_to_the_line_that_called_fit(model, toy_votes):
    """Whatever lies between: parents, batches of subsets, several starts."""
    with pytest.warns(ConvergenceWarning, match=f"{model.__name__} stopped after 1 iterations") as caught:
        model(max_iter=1).fit(toy_votes)
    assert caught[0].filename == __file__


def test_rounds_end_at_a_small_change_or_out_of_patience():
    monitor = Monitor(tol=0.1, max_iter=4)
    for number in monitor.rounds():
        monitor.report(objective=-float(number), change=1.0 if number < 1 else 0.05)
    assert (monitor.history, monitor.converged) == ([0.0, -1.0], True)
    restless = Monitor(tol=0.1, max_iter=4)
    for _ in restless.rounds():
        restless.report(0.0, 1.0)
    assert (len(restless.history), restless.converged) == (4, False)


def test_an_interrupted_fit_goes_on_where_it_was():
    """Two rounds are in the history already, so two of four are left."""
    assert list(Monitor(0.1, 4, history=[-3.0, -2.0]).rounds()) == [2, 3]
    assert list(Monitor(0.1, 4, history=[-3.0], change=0.01).rounds()) == []


def test_nobody_is_told_after_watching_ends():
    told = []
    with pytest.raises(KeyError), watched_by(lambda number, change: told.append((number, change))):
        Monitor(0.1, 4).report(0.0, 0.5)
        raise KeyError
    Monitor(0.1, 4).report(0.0, np.inf)
    assert told == [(1, 0.5)]
