"""When a fit stops, who is told how far it is, and whom a warning names."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from amcc import Votes
from amcc.consensus import DawidSkene, make_model
from amcc.consensus.monitor import Monitor
from amcc.errors import ConvergenceWarning
from amcc.watching import watched_by


def test_rounds_end_when_little_changes_or_patience_does():
    monitor = Monitor(tol=0.1, max_iter=5)
    for number in monitor.rounds():
        monitor.report(-number, 0.5 / (number + 1))
    assert (len(monitor.history), monitor.converged) == (5, False)
    monitor = Monitor(tol=0.2, max_iter=5)
    for number in monitor.rounds():
        monitor.report(-number, 0.5 / (number + 1))
    assert (monitor.history, monitor.converged) == ([0, -1, -2], True)


def test_an_interrupted_fit_goes_on_where_it_was():
    monitor = Monitor(tol=0.1, max_iter=4, history=[-3.0, -2.0], change=0.5)
    assert list(monitor.rounds()) == [2, 3]
    assert list(Monitor(tol=0.6, max_iter=4, history=[-3.0], change=0.5).rounds()) == []


def test_every_round_of_a_fit_is_told_to_who_watches(toy_votes):
    seen: list[tuple[float | None, str]] = []
    with watched_by(lambda share, note: seen.append((share, note))):
        model = DawidSkene().fit(toy_votes)
    assert [note.split(",")[0] for _, note in seen] == [f"round {n}" for n in range(1, model.n_iter_ + 1)]
    assert float(seen[-1][1].split()[-1]) < model.tol
    DawidSkene().fit(toy_votes)  # nobody watches any more
    assert len(seen) == model.n_iter_


@pytest.mark.parametrize("method", ["amcc", "dawid-skene", "ibcc", "ebcc", "mace", "nam", "amcc-frobenius"])
def test_the_warning_names_the_line_that_called_fit(method):
    """And not one of ours, however deep in a model it is given."""
    rng = np.random.default_rng(0)
    votes = Votes.from_dense(rng.choice([-1, 0, 1], (6, 30, 3)))
    model = make_model(method).set_params(max_iter=1)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations") as caught:
        model.fit(votes)
    assert {each.filename for each in caught if issubclass(each.category, ConvergenceWarning)} == {__file__}


def test_no_change_to_tell_is_not_called_infinite():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Monitor(tol=0.1, max_iter=1).warn_unless_converged("Model")
    (warning,) = caught
    assert "inf" not in str(warning.message)
