"""Threads: results in order, errors that come through, one layer only; sums that do not depend on the machine."""

from __future__ import annotations

import os
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from amcc import passes, threads
from amcc.threads import N_PIECES, in_threads, n_pieces, one_thread


@pytest.fixture(params=[1, 4], ids=["one core", "four cores"])
def cores(request, monkeypatch):
    """A machine with so many cores."""
    monkeypatch.setattr(os, "cpu_count", lambda: request.param)
    threads._threads.cache_clear()
    yield request.param
    threads._threads.cache_clear()


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
    assert in_threads(lambda _: (threading.current_thread(), n_pieces()), 1) == [(threading.current_thread(), N_PIECES)]


@pytest.mark.usefixtures("cores")
def test_an_error_comes_through():
    def task(number):
        if number == 1:
            raise ZeroDivisionError("of the second task")
        return number

    with pytest.raises(ZeroDivisionError, match="of the second task"):
        in_threads(task, 3)
    assert n_pieces() == N_PIECES, "threads are free again"


@pytest.mark.usefixtures("cores")
def test_tasks_within_tasks_run_one_after_the_other():
    """Else every thread would wait for threads that all wait."""

    def outer(_):
        inner = in_threads(lambda _: threading.current_thread(), 3)
        return n_pieces(), set(inner) == {threading.current_thread()}

    assert in_threads(outer, 6) == [(1, True)] * 6


def test_one_thread_holds_inside_only_and_for_its_own_thread():
    assert n_pieces() == N_PIECES
    with one_thread():
        assert n_pieces() == 1
        with one_thread():
            assert n_pieces() == 1
        assert n_pieces() == 1, "the inner one does not free the outer one"
        elsewhere = []
        other = threading.Thread(target=lambda: elsewhere.append(n_pieces()))
        other.start()
        other.join()
    assert elsewhere == [N_PIECES]
    assert n_pieces() == N_PIECES


def test_one_thread_ends_with_an_error():
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    assert n_pieces() == N_PIECES


def test_threads_are_started_once():
    in_threads(lambda number: number, 2)
    first = threads._threads(os.getpid())
    in_threads(lambda number: number, 2)
    assert threads._threads(os.getpid()) is first


def some_votes():
    rng = np.random.default_rng(3)
    start = np.append(0, np.cumsum(rng.integers(1, 9, 4000)))
    slot = rng.integers(60, size=start[-1]).astype(np.int32)
    return slot, start, rng.normal(size=60), rng.normal(size=4000)


def test_sums_are_the_same_to_the_last_digit_on_any_number_of_cores(monkeypatch):
    monkeypatch.setattr(passes, "SMALL", -1)
    expected = passes.posterior_pass(*some_votes())
    for n_cores in (1, 3, 8):
        monkeypatch.setattr(os, "cpu_count", lambda n=n_cores: n)
        threads._threads.cache_clear()
        for one, other in zip(passes.posterior_pass(*some_votes()), expected, strict=True):
            assert_array_equal(one, other)
    threads._threads.cache_clear()


def test_another_number_of_pieces_changes_the_last_digits(monkeypatch):
    """That is why it is fixed: were this to fail, it could follow the machine."""
    monkeypatch.setattr(passes, "SMALL", -1)
    two = passes.posterior_pass(*some_votes())
    monkeypatch.setattr(threads, "N_PIECES", 5)
    five = passes.posterior_pass(*some_votes())
    assert_array_equal(two.proba, five.proba)
    assert not np.array_equal(two.present, five.present)
    assert np.abs(two.present - five.present).max() < 1e-10


@pytest.mark.parametrize("n_pairs", [1, 2, 3, 1000])
def test_pieces_cover_all_pairs_once(n_pairs):
    start = np.append(0, np.cumsum(np.random.default_rng(0).integers(1, 20, n_pairs)))
    bounds = passes.piece_bounds(start)
    assert len(bounds) == N_PIECES + 1
    assert (bounds[0], bounds[-1]) == (0, n_pairs)
    assert (np.diff(bounds) >= 0).all()
    votes = np.diff(start[bounds])
    assert votes.max() - votes.min() <= 2 * 20


def test_a_pair_with_nearly_all_votes_is_not_cut():
    assert_array_equal(passes.piece_bounds(np.array([0, 1, 100, 101])), [0, 2, 3])
