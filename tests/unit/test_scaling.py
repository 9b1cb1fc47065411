"""The simulated cluster on rounds worked by hand."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from cluster import Costs, Round, Work, arrivals, simulate_round

FREE = Costs(vote=0, place=0, add=0, leader=0, task=0, trip=0, belief=0, sums=0, send=0, between=0, fetch=0)
WORK = Work(votes=800, coins=10, blocks=16)


def test_one_process_takes_the_sum_of_all():
    costs = Costs(vote=1, place=2, add=3, leader=4, task=0, trip=0, belief=5, sums=6, send=7, between=1000, fetch=8)
    found = simulate_round(costs, WORK, n_processes=1, n_parts=8, fan_in=8)
    # 10 coins: 50 bytes out; 800 votes, 16 tables of 10 coins, 8 sums of runs added up in 7 steps; 60 bytes back
    assert found == Round(50 * 7, 800 * 1 + 16 * 10 * 2 + 7 * 10 * 3, 60 * 8, 10 * 4)
    assert found.seconds == 350 + 1330 + 480 + 40


@pytest.mark.parametrize("n_processes", [1, 2, 4, 8])
def test_without_communication_processes_share_the_votes(n_processes):
    found = simulate_round(replace(FREE, vote=1), WORK, n_processes, n_parts=8, fan_in=8)
    assert found == Round(0, 800 / n_processes, 0, 0)


def test_runs_that_cannot_be_shared_equally_keep_some_waiting():
    found = simulate_round(replace(FREE, vote=1), WORK, n_processes=3, n_parts=8, fan_in=8)
    assert found.votes == 300  # three runs of 100 votes for two of them, two for the third


def test_no_more_runs_than_blocks():
    found = simulate_round(replace(FREE, vote=1), replace(WORK, blocks=2), n_processes=8, n_parts=32, fan_in=8)
    assert found.votes == 400


def test_the_belief_spreads_by_doubling():
    costs = replace(FREE, belief=1, send=3, between=1)
    assert arrivals(costs, Work(0, 10, 1), 5) == [30, 40, 50, 50, 60]


def test_sums_of_other_processes_come_one_after_the_other():
    costs = replace(FREE, vote=1, sums=1, between=1, fetch=2, add=5)
    found = simulate_round(costs, WORK, n_processes=4, n_parts=4, fan_in=2)
    # twice two tables side by side: one of 10 bytes comes, and is added in 50 seconds; the leader adds the last two
    assert found.reduce == (10 + 50) + 2 * 20 + 50


def test_the_leader_adds_up_the_last_few():
    costs = replace(FREE, sums=1, between=1000, fetch=2, add=5)
    assert simulate_round(costs, WORK, n_processes=4, n_parts=4, fan_in=4).reduce == 4 * 20 + 3 * 50


def test_the_scheduler_hands_out_tasks_one_by_one():
    found = simulate_round(replace(FREE, task=1), WORK, n_processes=8, n_parts=8, fan_in=8)
    assert found == Round(0, 8, 0, 0)


def test_whoever_waits_for_a_result_hears_of_it_later():
    found = simulate_round(replace(FREE, trip=1), WORK, n_processes=8, n_parts=8, fan_in=4)
    assert found == Round(1, 0, 2, 0)  # the belief; two processes wait for four each, the leader for these two


def test_a_leader_with_many_coins_bounds_the_round():
    costs = replace(FREE, vote=1, leader=1)
    found = simulate_round(costs, replace(WORK, coins=1000), n_processes=8, n_parts=8, fan_in=8)
    assert found.bound == "leader" and found.seconds == 1100
