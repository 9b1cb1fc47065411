"""Threads: results in order, errors that come through, one layer only; sums that do not depend on the machine."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from amcc import AMCC, passes, threads
from amcc.data import CrowdSpec, simulate_crowd
from amcc.errors import ParameterError
from amcc.threads import (
    FEWEST_PIECES,
    MOST_PIECES,
    in_few_threads,
    in_threads,
    n_pieces,
    n_threads,
    one_thread,
    read_ahead,
)

MANY = 10**9  # rows


@pytest.fixture(params=[1, 4], ids=["one core", "four cores"])
def cores(request, monkeypatch):
    """A machine with so many cores."""
    monkeypatch.setenv(threads.VARIABLE, str(request.param))
    return request.param


@pytest.mark.usefixtures("cores")
def test_results_come_in_the_order_of_the_tasks():
    """The first is the slowest."""

    def task(number):
        time.sleep(0.05 if number == 0 else 0)
        return number * 10

    assert in_threads(task, 5) == [0, 10, 20, 30, 40]


def test_no_task_no_result():
    assert in_threads(pytest.fail, 0) == []


def test_a_single_task_stays_in_its_thread_and_may_use_all_others():
    here = threading.current_thread()
    assert in_threads(lambda _: (threading.current_thread(), n_pieces(MANY)), 1) == [(here, MOST_PIECES)]


@pytest.mark.usefixtures("cores")
def test_an_error_comes_through():
    def task(number):
        if number == 1:
            raise ZeroDivisionError("of the second task")
        return number

    with pytest.raises(ZeroDivisionError, match="of the second task"):
        in_threads(task, 3)
    assert n_pieces(MANY) == MOST_PIECES, "threads are free again"


@pytest.mark.usefixtures("cores")
def test_tasks_within_tasks_run_one_after_the_other():
    """Else every thread would wait for threads that all wait."""

    def outer(_):
        inner = in_threads(lambda _: threading.current_thread(), 3)
        return n_pieces(MANY), set(inner) == {threading.current_thread()}

    assert in_threads(outer, 6) == [(1, True)] * 6


def test_one_thread_holds_inside_only_and_for_its_own_thread():
    assert n_pieces(MANY) == MOST_PIECES
    with one_thread():
        assert n_pieces(MANY) == 1
        with one_thread():
            assert n_pieces(MANY) == 1
        assert n_pieces(MANY) == 1, "the inner one does not free the outer one"
        elsewhere = []
        other = threading.Thread(target=lambda: elsewhere.append(n_pieces(MANY)))
        other.start()
        other.join()
    assert elsewhere == [MOST_PIECES]
    assert n_pieces(MANY) == MOST_PIECES


def test_one_thread_ends_with_an_error():
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    assert n_pieces(MANY) == MOST_PIECES


def test_threads_are_started_once():
    in_threads(lambda number: number, 2)
    first = threads._threads(os.getpid(), n_threads())
    in_threads(lambda number: number, 2)
    assert threads._threads(os.getpid(), n_threads()) is first


def some_votes():
    rng = np.random.default_rng(3)
    start = np.append(0, np.cumsum(rng.integers(1, 9, 4000)))
    slot = rng.integers(60, size=start[-1]).astype(np.int32)
    return slot, start, rng.normal(size=60), rng.normal(size=4000)


def test_sums_are_the_same_to_the_last_digit_on_any_number_of_cores(monkeypatch):
    monkeypatch.setattr(passes, "SMALL", -1)
    expected = passes.posterior_pass(*some_votes())
    for n_cores in (1, 3, 8):
        monkeypatch.setenv(threads.VARIABLE, str(n_cores))
        for one, other in zip(passes.posterior_pass(*some_votes()), expected, strict=True):
            assert_array_equal(one, other)


@pytest.mark.parametrize("wanted", ["0", "-1", "two", "1.5"])
def test_a_wrong_number_of_threads_is_an_error_that_names_the_variable(wanted, monkeypatch):
    monkeypatch.setenv(threads.VARIABLE, wanted)
    with pytest.raises(ParameterError, match=threads.VARIABLE):
        n_threads()


def test_threads_are_the_cores_that_the_process_may_use(monkeypatch):
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert n_threads() == 3


def test_pieces_grow_with_the_rows_and_shrink_with_their_sums():
    assert n_pieces(1000) == FEWEST_PIECES
    assert n_pieces(10 * threads.PIECE_ROWS) == 10
    assert n_pieces(10 * threads.PIECE_ROWS, n_sums=10 * threads.PIECE_ROWS) == FEWEST_PIECES


def test_a_fit_is_the_same_on_any_number_of_threads(monkeypatch):
    """All compiled loops, and enough pieces for all threads."""
    votes = simulate_crowd(CrowdSpec(n_items=400, n_workers=30, n_labels=5, answers_per_item=4, seed=0)).votes
    monkeypatch.setattr(passes, "SMALL", -1)
    monkeypatch.setattr(threads, "PIECE_ROWS", 100)
    found = []
    for n in (1, 2, 8):
        monkeypatch.setenv(threads.VARIABLE, str(n))
        found.append(AMCC().fit(votes).pairs()["probability"])
    assert n_pieces(len(votes)) > 8
    assert_array_equal(found[0], found[1])
    assert_array_equal(found[0], found[2])


def test_another_number_of_pieces_changes_the_last_digits(monkeypatch):
    """That is why it is fixed: were this to fail, it could follow the machine."""
    monkeypatch.setattr(passes, "SMALL", -1)
    two = passes.posterior_pass(*some_votes())
    monkeypatch.setattr(threads, "FEWEST_PIECES", 5)
    five = passes.posterior_pass(*some_votes())
    assert_array_equal(two.proba, five.proba)
    assert not np.array_equal(two.present, five.present)
    assert np.abs(two.present - five.present).max() < 1e-10


@pytest.mark.parametrize("n_pairs", [1, 2, 3, 1000])
def test_pieces_cover_all_pairs_once(n_pairs):
    start = np.append(0, np.cumsum(np.random.default_rng(0).integers(1, 20, n_pairs)))
    bounds = passes.piece_bounds(start)
    assert len(bounds) == FEWEST_PIECES + 1
    assert (bounds[0], bounds[-1]) == (0, n_pairs)
    assert (np.diff(bounds) >= 0).all()
    votes = np.diff(start[bounds])
    assert votes.max() - votes.min() <= 2 * 20


def test_a_pair_with_nearly_all_votes_is_not_cut():
    assert_array_equal(passes.piece_bounds(np.array([0, 1, 100, 101])), [0, 2, 3])


# -- a few at a time ---------------------------------------------------------------------------------------------------


def test_few_are_at_work_at_a_time(cores):
    """As many as are allowed, though there are more cores; each sees that threads are taken."""
    at_work, most = [], []

    def task(number):
        at_work.append(number)
        time.sleep(0.02)
        most.append(len(at_work))
        at_work.remove(number)
        return number, n_pieces(MANY)

    assert list(in_few_threads(task, 8, most=2)) == [(number, 1) for number in range(8)]
    assert max(most) == min(cores, 2)
    assert n_pieces(MANY) == MOST_PIECES, "threads are free again"


@pytest.mark.usefixtures("cores")
def test_no_task_is_at_work_after_an_error():
    """Whoever starts again would find what the others still write."""
    begun, ended = [], []

    def task(number):
        begun.append(number)
        if number == 0:
            raise ZeroDivisionError
        time.sleep(0.1)
        ended.append(number)

    with pytest.raises(ZeroDivisionError):
        list(in_few_threads(task, 20, most=4))
    assert sorted(begun) == [0, *sorted(ended)]
    assert len(begun) < 20


@pytest.mark.usefixtures("cores")
def test_reading_ahead_keeps_order_and_errors():
    def source():
        yield from range(3)
        raise ZeroDivisionError

    found = []
    with pytest.raises(ZeroDivisionError):
        for number in read_ahead(source()):
            found.append(number)  # what came before the error counts
    assert found == [0, 1, 2]


def test_the_next_is_read_while_one_is_looked_at(monkeypatch):
    monkeypatch.setenv(threads.VARIABLE, "2")
    second = threading.Event()

    def source():
        yield 1
        second.set()
        yield 2

    reading = read_ahead(source())
    assert next(reading) == 1
    assert second.wait(10), "the second was read though nobody asked for it"
    assert list(reading) == [2]
