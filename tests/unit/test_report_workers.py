"""Panels about workers: where dots and names stand, who is shown, and what the tables say."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from amcc import Votes

pytest.importorskip("altair")

from amcc.report.language import language
from amcc.report.workers import (
    DOT,
    MAX_LISTED_WORKERS,
    MAX_MAPPED_WORKERS,
    MAX_NAMED_SPAMMERS,
    NAME_HEIGHT,
    apart,
    interval_columns,
    sample_workers,
    spread,
    worker_map_panel,
    workers_panel,
)
from report_pages import Page, amcc_findings, column, pretended, rates_of, rows_with

SHARES = arrays(np.float64, st.integers(1, 60), elements=st.sampled_from([0.0, 0.2, 0.201, 0.5, 0.999, 1.0]))


def crowd_with(hit, false_alarm, **rates):
    """Findings of as many workers as there are rates, called w0, w1, …"""
    names = [f"w{code}" for code in range(len(hit))]
    votes = Votes.from_dense(np.ones((len(hit), 1, 1), dtype=int), worker_names=names)
    told = np.zeros(len(votes.pairs), dtype=bool)
    return pretended(votes, worker_rates_=rates_of(hit, false_alarm, **rates), worker_evidence_={}, pair_told_=told)


def good_crowd_with_spammers(n_good, n_spammers):
    hit = [0.9] * n_good + np.linspace(0.3, 0.31, n_spammers).tolist()
    return crowd_with(hit, [0.1] * n_good + [0.3] * n_spammers)


# -- where dots stand ----------------------------------------------------------------------------------------------


def test_dots_in_one_place_stand_side_by_side_and_others_stay():
    x, y = np.full(40, 0.5), np.full(40, 0.5)
    x[-1] = 0.9
    apart_x, apart_y = apart(x, y)
    assert (apart_x[0], apart_y[0], apart_x[-1]) == (0.5, 0.5, 0.9)
    distance = np.hypot(*(np.subtract.outer(each, each) for each in (apart_x, apart_y)))
    np.fill_diagonal(distance, 1)
    assert distance.min() > DOT / 2
    assert np.hypot(apart_x[:-1] - 0.5, apart_y[:-1] - 0.5).max() < 6 * DOT


def test_dots_in_cells_of_their_own_do_not_move():
    x = np.arange(0, 1, 2 * DOT)
    moved_x, moved_y = apart(x, x[::-1])
    assert_array_equal(moved_x, x)
    assert_array_equal(moved_y, x[::-1])


@given(SHARES, st.randoms(use_true_random=False))
def test_dots_stay_on_the_map_and_near_their_place(x, random):
    y = np.array(random.sample(x.tolist(), len(x)))
    moved_x, moved_y = apart(x, y)
    for moved, at in ((moved_x, x), (moved_y, y)):
        assert moved.min() >= 0
        assert moved.max() <= 1
        assert np.abs(moved - at).max() <= DOT + 0.7 * DOT * np.sqrt(len(x))
    _, first = np.unique(np.floor(np.column_stack([x, y]) / DOT), axis=0, return_index=True)
    assert_array_equal(moved_x[first], x[first])  # the first of each cell stands where it belongs


@given(SHARES, st.floats(0.001, 0.2))
def test_names_are_raised_no_more_than_needed(heights, gap):
    rising = np.sort(heights)
    spaced = spread(rising, gap)
    assert np.diff(spaced).min(initial=gap) >= gap - 1e-12
    assert (spaced >= rising - 1e-12).all()
    raised = np.flatnonzero(spaced > rising + 1e-9)
    assert_allclose(spaced[raised], spaced[raised - 1] + gap, rtol=0, atol=1e-9)  # only to clear the one below


# -- the map -------------------------------------------------------------------------------------------------------


def test_the_map_shows_rates_and_verdicts():
    panel = worker_map_panel(good_crowd_with_spammers(3, 1))
    rows = {row["worker"]: row for row in rows_with(panel.chart, "verdict")}
    assert rows["w0"]["verdict"] == "informative or unclear"
    assert rows["w3"]["verdict"] == "likely spammer"
    assert (rows["w0"]["hit"], rows["w0"]["false_alarm"], rows["w0"]["informativeness"]) == (0.9, 0.1, 0.8)
    assert rows["w0"]["hit_rate"] == rows["w1"]["hit_rate"] == "0.90 (0.89 to 0.91)"  # exact, though dots move
    assert (rows["w1"]["false_alarm"], rows["w1"]["hit"]) != (0.1, 0.9)
    assert panel.notes == []


@pytest.mark.parametrize(
    ("n_spammers", "n_named"), [(0, 0), (1, 1), (MAX_NAMED_SPAMMERS, MAX_NAMED_SPAMMERS), (MAX_NAMED_SPAMMERS + 1, 0)]
)
def test_spammers_are_named_while_they_are_few(n_spammers, n_named):
    chart = worker_map_panel(good_crowd_with_spammers(40, n_spammers)).chart.to_dict()
    named = [layer for layer in chart["layer"] if layer["encoding"].get("text", {}).get("field") == "worker"]
    assert len(named) == bool(n_named)
    if named:
        heights = [row["y"] for row in rows_with({**chart, "layer": named}, "y")]
        assert len(heights) == n_named
        assert np.diff(heights).min(initial=1) >= NAME_HEIGHT - 2e-4  # rounded to four digits


def test_who_gave_no_answer_is_not_shown():
    findings = crowd_with([0.9, 0.5, 0.8], [0.1, 0.5, 0.1], answers=[3, 0, 5])
    assert sample_workers(findings, np.random.default_rng(0)).tolist() == [0, 2]
    assert "w1" not in column(worker_map_panel(findings).chart, "worker")
    assert "w1" not in workers_panel(findings).body


def test_many_workers_are_sampled_in_the_same_way_each_time():
    n_workers = MAX_MAPPED_WORKERS + 5
    findings = crowd_with([0.9] * n_workers, [0.1] * n_workers)
    first, second = (worker_map_panel(findings) for _ in range(2))
    names = column(first.chart, "worker")
    assert len(set(names)) == MAX_MAPPED_WORKERS
    assert names == column(second.chart, "worker")
    assert first.notes == [f"Shown are 2,000 of {n_workers:,} workers: a random sample."]


def test_likely_spammers_of_a_fit_are_ringed():
    findings = amcc_findings()
    rows = rows_with(worker_map_panel(findings).chart, "verdict")
    ringed = {row["worker"] for row in rows if row["verdict"] == "likely spammer"}
    assert ringed == {str(findings.votes.worker_names[code].as_py()) for code in findings.model.worker_evidence_}
    assert ringed


# -- tables --------------------------------------------------------------------------------------------------------


def listed(findings):
    """Names in each table of the panel, by its caption."""
    tables = workers_panel(findings).body.split("<caption>")[1:]
    names = [re.findall(r'<th scope="row"><a href="#worker-\d+">([^<]+)<', table) for table in tables]
    return dict(zip([table.split("<")[0] for table in tables], names, strict=True))


def test_few_workers_are_all_listed_the_most_informative_first():
    assert listed(crowd_with([0.6, 0.9, 0.3], [0.1, 0.1, 0.2])) == {
        "All workers, the most informative first": ["w1", "w0", "w2"]
    }


@pytest.mark.parametrize(("n_workers", "n_tables"), [(2 * MAX_LISTED_WORKERS, 1), (2 * MAX_LISTED_WORKERS + 1, 2)])
def test_of_many_workers_the_best_and_the_worst_are_listed(n_workers, n_tables):
    tables = listed(crowd_with(np.linspace(0.9, 0.2, n_workers).tolist(), [0.1] * n_workers))
    assert len(tables) == n_tables
    if n_tables == 2:
        assert tables["The most informative"] == [f"w{code}" for code in range(MAX_LISTED_WORKERS)]
        worst = range(n_workers - 1, n_workers - 1 - MAX_LISTED_WORKERS, -1)
        assert tables["The least informative"] == [f"w{code}" for code in worst]


def test_rows_hold_answers_rates_and_the_evidence_against_spammers():
    findings = crowd_with([0.5, 0.9], [0.5, 0.1], answers=[1234, 5])
    findings.model.worker_evidence_[0] = "says yes to <all>"
    body = workers_panel(findings).body
    text = Page(body).text
    assert "w0 1,234 0.50 (0.49 to 0.51) 0.50 (0.49 to 0.51) 0.00 likely spammer: says yes to <all>" in text
    assert "w1 5 0.90 (0.89 to 0.91) 0.10 (0.09 to 0.11) 0.80" in text
    assert "<all>" not in body


def test_a_worker_slightly_worse_than_chance_has_no_minus_zero():
    assert "-0.00" not in workers_panel(crowd_with([0.4999], [0.5])).body


def test_columns_of_intervals_are_those_of_the_workers_asked_for():
    hit, false_alarm = interval_columns(rates_of([0.2, 0.4, 0.6], [0.1, 0.2, 0.3]), np.array([2, 0]), language("en"))
    assert hit == ["0.60 (0.59 to 0.61)", "0.20 (0.19 to 0.21)"]
    assert false_alarm == ["0.30 (0.29 to 0.31)", "0.10 (0.09 to 0.11)"]
