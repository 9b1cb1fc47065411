"""Panels about groups and families: rates, members, individuality, and what family votes are worth."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from amcc import AMCC, Roster, Votes
from amcc.consensus import DawidSkene

pytest.importorskip("altair")

from amcc.report.groups import (
    MAX_FAMILIES,
    MAX_GROUP_LABELS,
    MAX_NAMES_IN_GROUP,
    families_panel,
    groups_panel,
    individuality_panel,
    worker_individuality,
)
from report_pages import Page, amcc_findings, column, findings_of, pretended, random_votes, rows_with, small_crowd

RATES = ["hit rate: yes when present", "false-alarm rate: yes when absent"]


@pytest.fixture(scope="module")
def amcc_model():
    return amcc_findings().model


# -- groups --------------------------------------------------------------------------------------------------------


def test_models_without_groups_have_no_panels_of_them():
    findings = findings_of(small_crowd().votes, DawidSkene())
    assert groups_panel(findings) is None
    assert individuality_panel(findings) is None


def test_cells_are_the_rates_of_the_groups(amcc_model):
    findings = amcc_findings()
    labels = findings.votes.label_names.to_pylist()
    rows = rows_with(groups_panel(findings).chart, "rate")
    for row in rows:
        group = int(row["group"].removeprefix("group "))
        expected = amcc_model.commonality_[RATES.index(row["rate"]), group, labels.index(row["label"])]
        assert row["share"] == pytest.approx(expected, rel=0, abs=1e-4)
    n_groups = sum(amcc_model.groups()["workers"] > 0)
    assert len(rows) == 2 * n_groups * len(labels)


def test_groups_without_workers_are_not_shown():
    findings = findings_of(random_votes(60, 10, 2, 3), AMCC(n_groups=5))
    groups = findings.model.groups()
    assert (groups["workers"] == 0).any()
    shown = set(column(groups_panel(findings).chart, "group"))
    assert shown == {f"group {group}" for group in groups.query("workers > 0")["group"]}


def test_the_summary_of_a_group_comes_without_number_and_weight(amcc_model):
    text = Page(groups_panel(amcc_findings()).body).text
    for summary in amcc_model.groups().query("workers > 0")["summary"]:
        number, rest = summary.split(": ", 1)
        said, weight = rest.rsplit("; ", 1)
        assert said in text
        assert weight not in text
        assert f"{number}:" not in text


def test_the_busiest_members_are_named_and_the_rest_counted():
    """Forty workers who answer alike; the last one gave most answers."""
    rng = np.random.default_rng(0)
    truth = rng.random((60, 3)) < 0.5
    dense = np.where(rng.random((40, 60, 3)) < 0.95, truth, ~truth) * 2 - 1
    dense[:39, 30:] = 0
    names = [f"w{code}" for code in range(40)]
    findings = findings_of(Votes.from_dense(dense, worker_names=names), AMCC(n_groups=1))
    text = Page(groups_panel(findings).body).text
    assert f"w39, w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10 and {40 - MAX_NAMES_IN_GROUP} more" in text


@pytest.mark.filterwarnings("ignore::amcc.errors.ConvergenceWarning")
@pytest.mark.parametrize(("n_labels", "has_numbers"), [(12, True), (13, False), (35, False)])
def test_numbers_and_labels_are_cut_where_there_is_no_room(n_labels, has_numbers):
    findings = findings_of(random_votes(3_000, 40, 5, n_labels), AMCC(max_iter=3))
    panel = groups_panel(findings)
    marks = [layer["mark"]["type"] for layer in panel.chart.to_dict()["spec"]["layer"]]
    assert marks == ["rect", "text"][: 1 + has_numbers]
    assert len(set(column(panel.chart, "label"))) == min(n_labels, MAX_GROUP_LABELS)
    assert len(panel.notes) == (n_labels > MAX_GROUP_LABELS)


# -- individuality -------------------------------------------------------------------------------------------------


def test_individuality_of_a_worker_is_the_root_mean_square_over_their_votes(amcc_model):
    votes = small_crowd().votes
    own = amcc_model.coin_worker_ == 3
    n_votes = np.bincount(votes.label[votes.worker == 3], minlength=votes.n_labels)[amcc_model.coin_label_[own]]
    expected = np.sqrt(np.average((amcc_model.individuality_[own] ** 2).mean(axis=1), weights=n_votes))
    assert_allclose(worker_individuality(amcc_model, votes)[3], expected, rtol=1e-12)


def test_individuality_weighs_labels_by_votes():
    """One worker: three votes on the first label, where they are 0.4 off the group; one on the second, 0 off."""
    votes = Votes.from_dense([[[1, 0], [1, 0], [-1, 1]]])
    model = SimpleNamespace(coin_worker_=np.array([0, 0]), individuality_=np.array([[0.4, -0.4], [0.0, 0.0]]))
    assert_allclose(worker_individuality(model, votes), [np.sqrt(3 / 4 * 0.16)])


def test_who_gave_no_answer_has_no_individuality():
    votes = Votes.from_dense([[[1]], [[0]]])
    model = SimpleNamespace(coin_worker_=np.array([0]), individuality_=np.array([[0.3, 0.3]]))
    assert_allclose(worker_individuality(model, votes), [0.3, 0])


def test_marks_stand_in_the_rows_of_their_groups(amcc_model):
    panel = individuality_panel(amcc_findings())
    rows = rows_with(panel.chart, "distance")
    groups = [int(row["group"].split(",")[0].removeprefix("group ")) for row in rows]
    active = np.flatnonzero(amcc_model.worker_rates_.answers > 0)
    assert groups == amcc_model.worker_group_[active].tolist()
    domain = panel.chart.to_dict()["encoding"]["y"]["scale"]["domain"]
    assert domain == sorted({row["group"] for row in rows})  # no empty rows
    assert all(-1 <= row["height"] <= 1 for row in rows)


def test_individuality_is_drawn_in_the_same_way_each_time():
    first, second = (individuality_panel(amcc_findings()).chart.to_dict() for _ in range(2))
    assert first == second


# -- families ------------------------------------------------------------------------------------------------------


def family(name="a", **changes):
    row = {
        "family": name, "kind": "model", "members": 4, "votes": 1200, "votes_per_pair": 4.0, "correlation": 0.31,
        "effective_votes": 1.9, "null_low": 3.2, "null_high": 4.0,
    }  # fmt: skip
    return row | changes


def families(*rows):
    """The panel about a model with these families."""
    table = SimpleNamespace(to_pylist=lambda: list(rows))
    return families_panel(pretended(has_roster=True, families=lambda frame: table))


def test_without_declared_families_there_is_no_panel():
    assert families_panel(pretended(has_roster=False)) is None
    assert families() is None


def test_a_family_in_numbers():
    panel = families(family(), family("b", members=1200, correlation=0.0))
    text = Page(panel.body).text
    assert "a model 4 4.0 0.31 1.9 3.2 – 4.0" in text
    assert "b model 1,200 4.0 0.00 1.9 3.2 – 4.0" in text
    assert column(panel.chart, "effective_votes") == [1.9, 1.9]
    assert panel.notes == []


def test_the_band_of_chance_lies_below_the_points():
    chart = families(family()).chart.to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["bar", "point", "point"]
    assert chart["layer"][0]["encoding"]["x"]["field"] == "null_low"
    assert chart["layer"][0]["encoding"]["x2"]["field"] == "null_high"


def test_many_families_are_all_in_the_table_but_not_in_the_chart():
    panel = families(*(family(f"f{code}") for code in range(MAX_FAMILIES + 2)))
    assert len(column(panel.chart, "family")) == MAX_FAMILIES
    assert f"f{MAX_FAMILIES + 1} model" in Page(panel.body).text
    assert panel.notes == ["Shown are 40 of 42 families: the first."]


def test_names_of_families_are_text():
    assert "<b>" not in families(family("<b>")).body


def test_a_workers_file_makes_the_panel():
    rng = np.random.default_rng(0)
    truth = rng.random((60, 2)) < 0.5
    dense = np.where(rng.random((6, 60, 2)) < 0.8, truth, ~truth) * 2 - 1
    table = pa.table({"worker": list("abcd"), "kind": ["model"] * 4, "family": ["x", "x", None, None]})
    votes = Votes.from_dense(dense, worker_names=list("abcdef"))
    findings = findings_of(votes, AMCC(), roster=Roster.from_frame(table))
    told = [row["family"] for row in findings.model.families(frame="arrow").to_pylist()]
    assert column(families_panel(findings).chart, "family") == told
    assert "x" in told
