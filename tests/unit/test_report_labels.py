"""Panels about labels: hand-worked shares, what is left out, what is unknown."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc import Votes
from amcc.report.findings import largest, names_of

pytest.importorskip("altair")

from amcc.report.charts import MAX_CELLS_WITH_NUMBERS
from amcc.report.labels import MAX_COOCCURRING, MAX_FREQUENCIES, cooccurrence, cooccurrence_panel, frequency_panel
from report_pages import column, data_of, findings_of, random_votes, rows_with, small_crowd

# Items i, j, k; label q was not asked about j. One worker: what they say is what the majority says.
DENSE = [[[1, -1], [1, 0], [-1, 1]]]


@pytest.fixture
def three_items():
    return findings_of(Votes.from_dense(DENSE, item_names=list("ijk"), label_names=["p", "q"]))


def test_estimated_items_are_the_column_sums_of_predict_proba():
    votes = small_crowd().votes
    votes = votes.select(np.random.default_rng(0).random(len(votes)) < 0.1)
    findings = findings_of(votes)
    np.testing.assert_allclose(findings.items_per_label, findings.model.predict_proba().sum(axis=0), rtol=1e-12)


def test_cooccurrence_counts_items_asked_about_both_labels(monkeypatch):
    monkeypatch.setattr("amcc.report.labels.ITEMS_PER_BLOCK", 2)
    votes = Votes.from_dense([[[1, 1, 0], [1, -1, 1], [1, 0, -1], [1, 1, -1], [-1, 1, -1]]])
    share = cooccurrence(findings_of(votes), np.array([1, 0, 2]))
    expected = [[np.nan, 2 / 3, 0], [2 / 3, np.nan, 1 / 3], [0, 1, np.nan]]
    np.testing.assert_allclose(share, expected, rtol=1e-12)


def test_frequencies_by_hand(three_items):
    panel = frequency_panel(three_items)
    prior = three_items.model.label_prior_[1]
    assert column(panel.chart, "label") == ["p", "q"]
    assert column(panel.chart, "raw") == [pytest.approx(2 / 3, abs=1e-4), 0.5]
    assert column(panel.chart, "asked") == [3, 2]
    assert_allclose(column(panel.chart, "estimated"), [2 / 3, (1 + prior) / 3], rtol=0, atol=1e-4)
    assert column(panel.chart, "items") == ["2.0", f"{1 + prior:.1f}"]
    assert panel.notes == []


def test_expected_items_have_a_digit_while_they_are_few():
    votes = Votes.from_dense(np.repeat([[[1, 1]]], 3, axis=0).repeat(12, axis=1) * [[[1, -1]]])
    assert column(frequency_panel(findings_of(votes)).chart, "items") == ["12", "0.0"]


def test_more_labels_than_fit_are_left_out_by_frequency():
    findings = findings_of(random_votes(3_000, 60, 5, MAX_FREQUENCIES + 3))
    panel = frequency_panel(findings)
    shown = largest(findings.items_per_label, MAX_FREQUENCIES)
    assert column(panel.chart, "label") == names_of(findings.votes.label_names, shown)
    assert panel.notes == [f"Shown are {MAX_FREQUENCIES} of {MAX_FREQUENCIES + 3} labels: the most frequent."]


def test_a_tick_and_a_bar_have_their_entries_in_the_key(three_items):
    bars, ticks, counts = frequency_panel(three_items).chart.to_dict()["layer"]
    assert (bars["mark"]["type"], ticks["mark"]["type"], counts["mark"]["type"]) == ("bar", "tick", "text")
    entries = bars["encoding"]["color"]["scale"]["domain"]
    assert [layer["transform"][0]["calculate"] for layer in (bars, ticks)] == [json.dumps(entry) for entry in entries]


def test_cooccurrence_is_unknown_on_the_diagonal_and_for_rare_labels():
    votes = Votes.from_dense([[[1, 1, -1], [1, -1, -1]]])
    share = cooccurrence(findings_of(votes), np.array([0, 1, 2]))
    assert_allclose(share, [[np.nan, 0.5, 0], [1, np.nan, 0], [np.nan, np.nan, np.nan]], rtol=1e-12)


@pytest.mark.parametrize("block", [1, 3, 1000])
def test_cooccurrence_does_not_depend_on_blocks(block, monkeypatch):
    findings = findings_of(random_votes(600, 30, 4, 5))
    whole = cooccurrence(findings, np.arange(5))
    monkeypatch.setattr("amcc.report.labels.ITEMS_PER_BLOCK", block)
    assert_allclose(cooccurrence(findings, np.arange(5)), whole, rtol=1e-12)


def test_cooccurrence_panel_reads_along_a_row():
    votes = Votes.from_dense([[[1, 1], [1, -1], [1, -1], [-1, -1]]], label_names=["dog", "pet"])
    panel = cooccurrence_panel(findings_of(votes))
    shares = {(row["given"], row["other"]): row["share"] for row in rows_with(panel.chart, "given")}
    assert shares["dog", "pet"] == pytest.approx(1 / 3, abs=1e-4)
    assert shares["pet", "dog"] == 1
    assert shares["dog", "dog"] is None  # empty, not 100 %


def test_labels_that_were_never_asked_together_cannot_be_compared():
    votes = Votes.from_dense([[[1, 0], [0, 1], [1, 0], [0, 1]]])
    panel = cooccurrence_panel(findings_of(votes))
    assert panel.chart is None
    assert panel.explanation.startswith("No two labels can be compared")


@pytest.mark.parametrize(("n_labels", "has_numbers"), [(15, True), (16, False)])
def test_numbers_are_written_where_there_is_room(n_labels, has_numbers):
    assert (n_labels**2 <= MAX_CELLS_WITH_NUMBERS) == has_numbers
    panel = cooccurrence_panel(findings_of(random_votes(4_000, 80, 5, n_labels)))
    marks = [layer["mark"]["type"] for layer in panel.chart.to_dict()["layer"]]
    assert marks == ["rect", "text"][: 1 + has_numbers]


def test_only_the_most_frequent_labels_are_compared():
    panel = cooccurrence_panel(findings_of(random_votes(9_000, 60, 5, 40)))
    (data,) = data_of(panel.chart)
    assert len(data) == MAX_COOCCURRING**2
    assert panel.notes == ["Shown are 25 of 40 labels: the most frequent, each expected on an item at least."]


def test_largest_keeps_the_order_of_ties_and_takes_what_there_is():
    assert largest(np.array([1.0, 2.0, 2.0]), 2).tolist() == [1, 2]
    assert largest(np.array([1.0]), 5).tolist() == [0]
    assert largest(np.empty(0), 5).tolist() == []
