"""Panels about label correlation: which labels are shown, in which order, and where the links run."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc import AMCC, Votes
from amcc.consensus import DawidSkene
from amcc.consensus.models.paper import PaperAMCC
from amcc.data.simulate import CrowdSpec, simulate_crowd

pytest.importorskip("altair")

from amcc.report import correlation as module
from amcc.report.charts import BLUE, VERMILION
from amcc.report.correlation import (
    CHARACTER,
    CIRCLE,
    MAX_CORRELATED,
    MAX_LINKS,
    MAX_NAME_WIDTH,
    MIN_LINK,
    OUTSIDE,
    Links,
    correlation_of,
    correlation_panel,
    links_panel,
    most_involved,
    signs,
    strongest,
)
from amcc.report.findings import Findings
from amcc.report.language import language
from report_pages import amcc_findings, data_of, findings_of, report, rows_with, small_crowd

TOGETHER, APART = signs(language("en"))


def linked(n_labels, *links):
    """A matrix of correlations with these links (a, b, value) and zeros elsewhere."""
    matrix = np.zeros((n_labels, n_labels))
    for a, b, value in links:
        matrix[a, b] = matrix[b, a] = value
    return matrix


class Learned(AMCC):
    """Says that it has learned just this."""

    label_correlation_ = None

    def __init__(self, correlation):
        super().__init__()
        self.label_correlation_ = correlation


def learned(matrix, names=None):
    """Findings of a model that has learned this correlation."""
    n_labels = len(matrix)
    votes = Votes.from_dense(np.ones((1, 1, n_labels), dtype=int), label_names=names or list(map(str, range(n_labels))))
    return Findings(Learned(matrix + np.eye(n_labels)), votes, None)


# -- which labels --------------------------------------------------------------------------------------------------


def test_correlated_labels_become_neighbours_and_the_idle_are_left_out():
    pairs = ((0, 39), (1, 20), (2, 30))
    order = most_involved(linked(40, *((a, b, 0.8) for a, b in pairs))).tolist()
    assert len(order) == MAX_CORRELATED
    for a, b in pairs:
        assert abs(order.index(a) - order.index(b)) == 1


def test_one_real_link_outweighs_the_noise_of_many():
    rng = np.random.default_rng(0)
    noise = rng.uniform(-0.9 * MIN_LINK, 0.9 * MIN_LINK, (60, 60))
    matrix = np.triu(noise, 1) + np.triu(noise, 1).T
    matrix[[10, 50], [50, 10]] = 1.1 * MIN_LINK
    matrix[10, :10] = matrix[:10, 10] = 0  # their noise is the least of all
    matrix[50, :10] = matrix[:10, 50] = 0
    assert {10, 50} <= set(most_involved(matrix).tolist())


def test_labels_that_avoid_each_other_are_far_apart():
    order = most_involved(linked(4, (0, 1, 0.9), (2, 3, 0.9), (0, 2, -0.9), (1, 3, -0.9))).tolist()
    assert abs(order.index(0) - order.index(1)) == 1
    assert abs(order.index(2) - order.index(3)) == 1


@pytest.mark.parametrize(("value", "end"), [(0.0, 0.3), (-0.3, 0.3), (0.31, 0.4), (-0.95, 1.0), (1.0, 1.0)])
def test_the_scale_of_strength_ends_at_the_next_tenth(value, end):
    assert strongest(linked(2, (0, 1, value))) == pytest.approx(end)


@pytest.mark.filterwarnings("ignore::amcc.errors.ConvergenceWarning")
def test_three_hundred_labels_are_cut_to_the_most_involved(tmp_path):
    crowd = simulate_crowd(CrowdSpec(n_items=60, n_workers=10, n_labels=300, labels_per_item=8))
    page = report(crowd.votes, tmp_path, AMCC(max_iter=5))
    assert "Shown are 30 of 300 labels: those with the strongest correlations." in page.text
    assert "Shown are 30 of 300 labels: the most frequent." in page.text
    assert (tmp_path / "report.html").stat().st_size < 2_000_000


# -- who has it ----------------------------------------------------------------------------------------------------


def test_models_without_correlation_have_no_panels_of_it():
    findings = findings_of(small_crowd().votes, DawidSkene())
    assert correlation_of(findings) is None
    assert correlation_panel(findings) is None
    assert links_panel(findings) is None


def test_one_label_has_no_correlation_and_two_have_no_circle():
    one = findings_of(Votes.from_dense(np.ones((3, 8, 1), dtype=int)), AMCC())
    assert correlation_panel(one) is None
    two = learned(linked(2, (0, 1, 0.5)))
    assert correlation_panel(two).chart is not None
    assert links_panel(two) is None


def test_too_many_labels_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(module, "MOST_CORRELATED", 4)
    panel = correlation_panel(learned(linked(5, (0, 1, 0.5))))
    assert panel.explanation == "Not looked at where there are more than 4 labels."
    assert panel.chart is None
    assert links_panel(learned(linked(5, (0, 1, 0.5)))) is None


def test_what_was_learned_is_left_as_it_is():
    findings = amcc_findings()
    before = np.array(findings.model.label_correlation_)
    correlation = correlation_of(findings)
    assert (np.diag(correlation) == 0).all()
    correlation_panel(findings)
    np.testing.assert_array_equal(findings.model.label_correlation_, before)


def test_cosines_of_the_papers_objective_are_not_called_more_than_chance(tmp_path):
    page = report(small_crowd().votes, tmp_path, PaperAMCC())
    assert "the cosine of eq4" in page.text
    assert "Strongest label correlations" not in page.headings
    assert "How the votes were weighed" not in page.headings


# -- the heat map --------------------------------------------------------------------------------------------------


def test_cells_hold_value_strength_and_sign():
    panel = correlation_panel(learned(linked(3, (0, 1, 0.5), (1, 2, -0.25)), list("abc")))
    cells = {(row["first"], row["second"]): row for row in rows_with(panel.chart, "strength")}
    assert len(cells) == 9
    assert (cells["a", "b"]["value"], cells["a", "b"]["strength"], cells["a", "b"]["sign"]) == (0.5, 0.5, TOGETHER)
    assert (cells["c", "b"]["value"], cells["c", "b"]["strength"], cells["c", "b"]["sign"]) == (-0.25, 0.25, APART)
    assert cells["a", "a"]["value"] is None
    assert cells["a", "c"]["value"] == 0


def test_blue_is_together_and_orange_apart_and_the_key_says_so():
    colour = correlation_panel(learned(linked(3, (0, 1, 0.5)))).chart.to_dict()["layer"][0]["encoding"]["color"]
    assert dict(zip(colour["scale"]["domain"], colour["scale"]["range"], strict=True)) == {
        TOGETHER: BLUE,
        APART: VERMILION,
    }
    assert colour["legend"]["title"] is None


# -- links ---------------------------------------------------------------------------------------------------------


def test_links_are_pairs_beyond_the_limit_strongest_first():
    found = Links.among(linked(4, (0, 1, MIN_LINK), (0, 2, 0.2), (1, 3, -0.6), (2, 3, 0.4)))
    assert list(zip(found.first.tolist(), found.second.tolist(), found.value.tolist(), strict=True)) == [
        (1, 3, -0.6), (2, 3, 0.4), (0, 2, 0.2),
    ]  # fmt: skip


def test_no_link_is_said_in_words():
    panel = links_panel(learned(linked(5, (0, 1, 0.05))))
    assert panel.explanation == "No two labels have a correlation beyond ±0.1."
    assert panel.chart is None


def test_links_run_between_the_places_of_their_labels():
    panel = links_panel(learned(linked(4, (0, 1, 0.5), (2, 3, -0.3)), list("abcd")))
    lines = rows_with(panel.chart, "pair")
    places = [row for rows in data_of(panel.chart) for row in rows if "label" in row]
    names = {row["label"]: (row["x"] / OUTSIDE, row["y"] / OUTSIDE) for row in places}
    assert set(names) == set("abcd")
    for line in lines:
        first, second = line["pair"].split(" – ")
        assert_allclose([line["x"], line["y"]], names[first], rtol=0, atol=2e-4)
        assert_allclose([line["x2"], line["y2"]], names[second], rtol=0, atol=2e-4)
    assert [(line["value"], line["sign"]) for line in lines] == [(0.5, TOGETHER), (-0.3, APART)]


def test_names_on_the_left_are_turned_round():
    panel = links_panel(learned(linked(8, *((0, other, 0.5) for other in range(1, 8)))))
    sides = [layer for layer in panel.chart.to_dict()["layer"] if layer["mark"]["type"] == "text"]
    assert [side["mark"]["align"] for side in sides] == ["left", "right"]
    whole = panel.chart.to_dict()
    right, left = (rows_with({**whole, "layer": [side]}, "angle") for side in sides)
    assert all(row["x"] >= 0 for row in right)
    assert all(row["x"] < 0 for row in left)
    assert (len(right), len(left)) == (5, 3)  # top and bottom are on the right
    for row in right + left:  # read from left to right, at most upright
        assert -90 <= (row["angle"] + 180) % 360 - 180 <= 90


def test_long_names_get_room_but_not_all_of_it():
    def reach(name):
        names = [name, *"bc"]
        chart = links_panel(learned(linked(3, (0, 1, 0.5), (1, 2, 0.4), (0, 2, 0.3)), names)).chart.to_dict()
        return chart["layer"][0]["encoding"]["x"]["scale"]["domain"][1]

    assert reach("a") == pytest.approx(OUTSIDE * CIRCLE / (CIRCLE - 2 * CHARACTER))
    assert reach("a" * 500) == pytest.approx(OUTSIDE * CIRCLE / (CIRCLE - 2 * MAX_NAME_WIDTH))


def test_only_the_strongest_links_are_drawn():
    rng = np.random.default_rng(0)
    matrix = np.triu(rng.uniform(0.2, 0.9, (20, 20)), 1)
    panel = links_panel(learned(matrix + matrix.T))
    drawn = [row["value"] for row in rows_with(panel.chart, "pair")]
    every = np.sort(matrix[matrix > 0])[::-1]
    assert_allclose(drawn, every[:MAX_LINKS], rtol=0, atol=1e-4)
    assert panel.notes == [f"Shown are {MAX_LINKS} of {len(every)} correlations: the strongest."]
