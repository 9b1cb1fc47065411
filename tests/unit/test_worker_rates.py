"""Intervals of worker rates hold in simulated panels, with and without families; too little is called too little."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc import AMCC, Roster, Votes
from amcc.consensus import MajorityVote
from amcc.consensus.measured_rates import measured_rates
from amcc.consensus.panel import MOST_JUDGES, MOST_VOTES

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import worker_rates

PANELS = ["3 judges", "4 judges, two of a family, 60", "5 judges, two families", "5 judges, labels differ"]


def share_held(others):
    """(3,) shares of intervals that hold: of hit rates, false-alarm rates and informativeness."""
    found = []
    for name in PANELS:
        for seed in range(2):
            judged = worker_rates.CELLS[name](seed)
            found.append(worker_rates.held(judged, worker_rates.rates_of(judged, "majority", others=others))[0])
    return np.concatenate(found, axis=1).mean(axis=1)


def test_intervals_hold_in_panels():
    assert (share_held(others=False) >= 0.9).all()


def test_intervals_by_what_the_others_say_do_not_hold_in_panels():
    """Why panels are judged in another way: what two or three others say is itself in doubt."""
    assert share_held(others=True).max() < 0.8


def test_intervals_hold_in_a_crowd_with_spammers():
    judged = worker_rates.CELLS["30 workers, 600 items"](0)
    assert judged.votes.n_workers > MOST_JUDGES
    assert (worker_rates.held(judged, worker_rates.rates_of(judged, "dawid-skene"))[0].mean(axis=1) >= 0.85).all()


def test_a_roster_leaves_the_intervals_as_they_are():
    """The sampler finds out who errs with whom; that a workers file says so must not make anybody surer."""
    judged = worker_rates.panel(0, "aabc", 60, 2)
    plain, told = (AMCC().fit(judged.votes, roster=each).worker_rates_ for each in (None, judged.roster))
    assert_allclose(plain.informativeness_low, told.informativeness_low, rtol=0, atol=1e-12)


def test_order_and_second_look_change_nothing():
    votes = worker_rates.panel(1, "abc", 40, 2).votes
    dense = np.zeros((3, 40, 2), np.int8)
    dense[votes.worker, votes.item, votes.label] = votes.value
    names = [votes.worker_names.to_pylist(), votes.item_names.to_pylist(), votes.label_names.to_pylist()]
    turned = Votes.from_dense(
        dense[::-1, ::-1, ::-1], worker_names=names[0][::-1], item_names=names[1][::-1], label_names=names[2][::-1]
    )
    one, other = (MajorityVote().fit(each).workers().set_index("worker") for each in (votes, turned))
    columns = ["hit_rate", "hit_rate_low", "false_alarm_rate_high"]
    assert_allclose(one[columns], other.loc[one.index][columns], rtol=0, atol=1e-12)


def test_of_many_votes_a_part_is_enough():
    judged = worker_rates.panel(2, "abcde", 500, 4)
    assert len(judged.votes) > MOST_VOTES
    hit = MajorityVote().fit(judged.votes).worker_rates_.hit_rate
    assert_allclose(hit, judged.hit, rtol=0, atol=0.1)


def test_judges_who_always_agree_are_not_said_to_be_perfect():
    votes = Votes.from_dense(np.tile(np.where(np.arange(20) % 3, -1, 1)[:, None], (3, 1, 1)))
    rates = MajorityVote().fit(votes).worker_rates_
    assert rates.hit_rate.max() < 0.99 < rates.hit_rate_high.min()
    assert rates.false_alarm_rate.min() > 0.01


def test_two_who_hardly_agree_are_too_little_to_tell_and_nobody_is_accused():
    rng = np.random.default_rng(0)
    model = MajorityVote().fit(Votes.from_dense(np.where(rng.random((2, 40, 1)) < 0.5, 1, -1)))
    table = model.workers()
    assert not table["known"].any()
    assert (table["informativeness_high"] - table["informativeness_low"] > 0.6).all()
    assert (table["evidence"] == "").all()


def test_known_truth_is_believed_where_all_others_are_wrong():
    """Four copy each other and err on a third of the pairs; the fifth is right. Votes say the opposite of the truth."""
    rng = np.random.default_rng(0)
    present = rng.random((200, 1)) < 0.4
    copied = present ^ (rng.random((200, 1)) < 0.35)
    votes = Votes.from_dense(np.where([copied] * 4 + [present], 1, -1))
    truth = worker_rates.told_truth(votes, present, 60)
    table = MajorityVote().fit(votes, truth=truth).workers()
    assert table["informativeness"][4] > 0.85
    assert (table["informativeness"][:4] < 0.5).all()
    assert (MajorityVote().fit(votes).workers()["informativeness"][:4] > 0.6).all()


def test_rates_measured_on_known_truth_by_hand():
    """Of 4 present pairs 3 hits, of 4 absent ones 1 false alarm; pairs that are not known count for nothing."""
    said = np.array([1, 1, 1, -1, 1, -1, -1, -1, 1, 1]).reshape(1, 10, 1)
    votes = Votes.from_dense(np.repeat(said, 2, axis=0))
    known = np.array([1, 1, 1, 1, -1, -1, -1, -1, 0, 0], np.int8)
    rates = measured_rates(votes, known, votes.answers_per_worker)
    assert_allclose([rates.hit_rate[0], rates.false_alarm_rate[0]], [0.75, 0.25], rtol=1e-12)
    assert rates.by_truth.all()
    assert not rates.known.any()  # eight pairs


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_panel_of_one_or_two_gets_rates_all_the_same(n_workers):
    rates = MajorityVote().fit(Votes.from_dense(np.ones((n_workers, 3, 2), np.int8))).worker_rates_
    assert np.isfinite(rates.hit_rate).all()
    assert not rates.known.any()


def test_roster_of_the_benchmark_names_the_families():
    roster = worker_rates.panel(0, "aab", 10, 1).roster
    assert isinstance(roster, Roster)
    assert roster.family.to_pylist() == ["a", "a", "b"]
