"""Panels about the fit: the histogram by hand, and the curve of the objective."""

import numpy as np
import pytest

from amcc.consensus import DawidSkene

pytest.importorskip("altair")

from amcc.consensus.settling import SettledCounts, Settling
from amcc.report.confidence import MAX_DOTS, N_BINS, confidence_panel, convergence_panel, histogram
from report_pages import findings_of, pretended, rows_with, small_crowd

SETTLING = Settling("measured", 0.03, 80, 1)


def confidence(proba, settled):
    proba, settled = np.array(proba), np.array(settled, dtype=bool)
    counts = SettledCounts.of(proba > 0.5, settled)
    return confidence_panel(
        pretended(pair_proba_=proba, pair_settled_=settled, settled_counts_=counts, settling_=SETTLING)
    )


def curve(history, converged=True):
    return convergence_panel(pretended(objective_history_=history, converged_=converged))


def test_histogram_by_hand():
    counts, settled, edges = histogram(np.array([0.0, 0.01, 0.5, 0.99, 1.0]), np.array([1, 0, 0, 1, 1], dtype=bool))
    assert len(counts) == N_BINS
    assert (counts[0], counts[N_BINS // 2], counts[-1], counts.sum()) == (2, 1, 2, 5)
    assert (settled[0], settled[N_BINS // 2], settled[-1], settled.sum()) == (1, 0, 2, 3)
    assert (edges[0], edges[1], edges[-1]) == (0, 1 / N_BINS, 1)


def test_every_pair_is_counted_once_by_state():
    findings = findings_of(small_crowd().votes, DawidSkene())
    rows = rows_with(confidence_panel(findings).chart, "state")
    counted = {state: sum(row["pairs"] for row in rows if row["state"] == state) for state in ("open", "settled")}
    assert counted == {"open": findings.n_open, "settled": len(findings.model.pair_proba_) - findings.n_open}


def test_settled_bars_stand_in_front_of_bars_for_all():
    panel = confidence([0.999, 0.99, 0.98], [1, 1, 0])
    last = [row for row in rows_with(panel.chart, "state") if row["high"] == 1]
    assert [(row["state"], row["height"], row["pairs"]) for row in last] == [("open", 3, 1), ("settled", 2, 2)]
    assert panel.chart.to_dict()["encoding"]["y"]["stack"] is None  # stacked, they would add up to five
    assert panel.notes == [
        "Of the 3 asked pairs called present 67\N{NO-BREAK SPACE}% are settled, of the 0 called absent –.",
        "Settled is measured: of 80 known pairs that would count as settled, 1 were decided wrongly.",
    ]


@pytest.mark.parametrize(("n_pairs", "ticks"), [(1, [0, 1, 10]), (9, [0, 1, 10]), (10, [0, 1, 10, 100])])
def test_the_scale_ends_at_the_next_power_of_ten(n_pairs, ticks):
    y = confidence([0.5] * n_pairs, [0] * n_pairs).chart.to_dict()["encoding"]["y"]
    assert y["axis"]["values"] == ticks
    assert y["scale"]["domainMax"] == ticks[-1] > n_pairs


def test_a_curve_needs_three_rounds():
    assert curve([]) is None
    assert curve([1.0, 2.0]) is None
    assert curve([1.0, 2.0, 3.0]) is not None


def test_a_likelihood_rises_and_a_loss_falls():
    rising, falling = curve([-30.0, -20.0, -10.0]), curve([3.0, 2.0, 1.0], converged=False)
    assert rising.explanation.startswith("The fit raises its objective round by round; it took 3 rounds and had s")
    assert falling.explanation.startswith("The fit lowers its objective")
    assert "and had not yet settled when it stopped" in falling.explanation
    titles = [panel.chart.to_dict()["encoding"]["y"]["title"] for panel in (rising, falling)]
    assert titles == ["log-likelihood bound", "objective"]


def test_the_curve_shows_every_round():
    rows = rows_with(curve([5.0, 4.0, 3.5, 3.25]).chart, "round")
    assert [(row["round"], row["objective"]) for row in rows] == [(1, 5), (2, 4), (3, 3.5), (4, 3.25)]


@pytest.mark.parametrize(("n_rounds", "dots"), [(MAX_DOTS, True), (MAX_DOTS + 1, False)])
def test_long_curves_have_no_dots(n_rounds, dots):
    assert bool(curve(list(map(float, range(n_rounds)))).chart.to_dict()["mark"]["point"]) == dots


@pytest.mark.parametrize(("history", "digits"), [([0.0, 5.0, 11.0], ",.0f"), ([0.0, 0.5, 1.0], ",.3~f")])
def test_ticks_have_digits_where_the_range_is_small(history, digits):
    assert curve(history).chart.to_dict()["encoding"]["y"]["axis"]["format"] == digits
