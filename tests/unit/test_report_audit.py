"""The page about an audit: the same numbers as the audit, in words that fit them."""

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from amcc import Votes
from amcc.audit import audit
from amcc.consensus import DawidSkene, MajorityVote
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.inference import SliceEstimate
from amcc.report import write_audit_report
from amcc.truth import Truth

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

import vl_convert

from amcc.report.audit import (
    CONSENSUS,
    MAX_DISAGREEMENTS,
    MAX_JUDGES,
    MAX_LABELS,
    MAX_NAMED,
    calibration_panel,
    disagreements_panel,
    errors_panel,
    judges_panel,
    labels_panel,
    measure,
    percent,
    percent_with_interval,
    prevalence_panel,
    says,
    verdict,
)
from amcc.report.language import language
from report_pages import Page, column, page_in, rows_with

TITLES = [
    "What it says",
    "How frequent labels are",
    "Claimed and measured errors",
    "Calibration",
    "Who agrees with people",
    "Agreement by label",
    "Where people decide otherwise",
]

# Two items that people answered, of three; the consensus errs on (j, b), about which it was sure.
DECISIONS = pa.table(
    {
        "item": list("iijjkk"),
        "label": list("ababab"),
        "probability": [0.9, 0.3, 0.2, 0.98, 0.6, 0.5],
        "present": [1, 0, 0, 1, 1, 0],
        "settled": [1, 0, 0, 1, 0, 0],
    }
)
VOTES = Votes.from_frame(
    pa.table(
        {
            "worker": ["ann", "ann", "ann", "ann", "bob", "bob", "bob"],
            "item": list("iijjijk"),
            "label": list("ababaBa".lower()),
            "value": [1, 0, 0, 1, 0, 0, 1],
        }
    )
)


@pytest.fixture(scope="module")
def by_hand():
    return audit(DECISIONS, VOTES, Truth.from_frames(pa.table({"item": ["i", "j"], "labels": [["a"], []]})))


def audited(n_answered=60, model=None, **spec):
    crowd = simulate_crowd(CrowdSpec(**{"n_items": 300, "n_workers": 12, "n_labels": 5, "seed": 5} | spec))
    names, labels = crowd.votes.item_names.to_pylist(), crowd.votes.label_names.to_pylist()
    chosen = np.sort(np.random.default_rng(0).choice(crowd.votes.n_items, n_answered, replace=False))
    sets = [[labels[code] for code in np.flatnonzero(crowd.truth[item])] for item in chosen]
    truth = Truth.from_frames(pa.table({"item": [names[item] for item in chosen], "labels": sets}))
    return audit((model or DawidSkene()).fit(crowd.votes), crowd.votes, truth)


@pytest.fixture(scope="module")
def found():
    return audited()


def text_of(panel):
    return Page(panel.body).text


# -- the page ------------------------------------------------------------------------------------------------------


def test_all_panels_come_in_order_and_can_be_drawn(found, tmp_path):
    write_audit_report(found, tmp_path / "a.html", title="Ours & theirs")
    page = page_in(tmp_path / "a.html")
    headings = [heading for heading in page.headings if heading != "What to doubt"]
    assert headings == TITLES
    assert page.text.count("Ours & theirs") == 2
    assert len(page.charts) == 4
    for chart in page.charts.values():
        assert "<svg" in vl_convert.vegalite_to_svg(chart)


def test_the_head_says_how_much_was_answered(by_hand, tmp_path):
    write_audit_report(by_hand, tmp_path / "a.html")
    text = page_in(tmp_path / "a.html").text
    assert "items answered by people 2 of 3" in text
    assert "pairs answered by people 4 of 6" in text
    assert "two people disagree about –" in text
    assert "intervals 95 %" in text
    per_item = by_hand.labels_per_item
    assert f"labels per item {per_item.estimate:.2f} ({per_item.low:.2f} to {per_item.high:.2f})" in text


def test_what_was_not_measured_is_a_dash(by_hand, tmp_path):
    write_audit_report(replace(by_hand, labels_per_item=None, level=0.9), tmp_path / "a.html")
    text = page_in(tmp_path / "a.html").text
    assert "labels per item –" in text
    assert "intervals 90 %" in text


def test_how_often_two_people_disagree_is_told(by_hand, tmp_path):
    write_audit_report(replace(by_hand, people=SliceEstimate(0.1, 0.05, 0.2, 40)), tmp_path / "a.html")
    assert "two people disagree about 10.0 % (5.0 to 20.0)" in page_in(tmp_path / "a.html").text


def test_doubts_are_a_chapter_of_their_own(by_hand, tmp_path):
    for warnings in ([], ["The slice is <small>."]):
        write_audit_report(replace(by_hand, warnings=warnings), tmp_path / "a.html")
        page = page_in(tmp_path / "a.html")
        assert ("What to doubt" in page.headings) == bool(warnings)
        for warning in warnings:
            assert warning in page.text


def test_names_are_text_wherever_they_appear(tmp_path):
    evil = ["<b>a</b>", "<script>b"]
    decisions = DECISIONS.set_column(1, "label", pa.array([evil[label == "b"] for label in "ababab"]))
    votes = replace(VOTES, label_names=pa.array(evil), worker_names=pa.array(["<i>ann", "</td>bob"]))
    truth = Truth.from_frames(pa.table({"item": ["i", "j"], "labels": [[evil[0]], []]}))
    write_audit_report(audit(decisions, votes, truth), tmp_path / "a.html")
    page = page_in(tmp_path / "a.html")
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 4  # two that run, two with data
    assert not {"b", "i"} & set(tags)
    for name in (*evil, "<i>ann"):
        assert name in page.text


# -- sentences -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claimed", "said"),
    [
        (0.2, ", and the slice does not contradict that"),
        (0.1, ", and the slice does not contradict that"),
        (0.3, ", and the slice does not contradict that"),
        (0.09, ", so it is worse than it says"),
        (0.31, ", so it is better than it says"),
    ],
)
def test_a_claim_is_judged_by_the_interval(claimed, said):
    assert verdict({"claimed": claimed, "low": 0.1, "high": 0.3}) == said


def test_errors_come_first_and_in_the_numbers_of_the_audit(found):
    errors = {row["pairs"]: row for row in found.errors.to_pylist()}
    everything, settled, *_ = [Page(sentence).text for sentence in says(found)]
    for sentence, row, subject in (
        (everything, errors["all"], "of all pairs"),
        (settled, errors["settled"], "of the settled pairs"),
    ):
        measured = f"{100 * row['measured']:.1f} % ({100 * row['low']:.1f} to {100 * row['high']:.1f})"
        claimed = f"it claims {100 * row['claimed']:.1f} %"
        assert sentence.startswith(f"The consensus is wrong about {measured} {subject}; {claimed}")


def test_errors_of_pairs_that_nobody_answered_are_not_told(by_hand):
    unanswered = [row | {"slice": 0} if row["pairs"] == "settled" else row for row in by_hand.errors.to_pylist()]
    told = list(says(replace(by_hand, errors=pa.Table.from_pylist(unanswered, by_hand.errors.schema))))
    assert any("of all pairs" in sentence for sentence in told)
    assert not any("of the settled pairs" in sentence for sentence in told)


def corrected(n_labels, **changes):
    """Frequencies of labels that the slice corrects from 0.5 to 0.2."""
    row = {
        "items": 100, "slice": 50, "share": 0.2, "low": 0.1, "high": 0.3, "slice_share": 0.2, "slice_low": 0.1,
        "slice_high": 0.3, "consensus_share": 0.5, "power": 0.5,
    }  # fmt: skip
    return pa.Table.from_pylist([{"label": f"l{code}"} | row | changes for code in range(n_labels)])


def test_corrected_labels_are_named_up_to_a_limit(by_hand):
    *_, last = says(replace(by_hand, prevalence=corrected(MAX_NAMED)))
    assert last == "The slice corrects the frequency of 6 labels: l0, l1, l2, l3, l4, l5."
    *_, last = says(replace(by_hand, prevalence=corrected(MAX_NAMED + 2)))
    assert last == "The slice corrects the frequency of 8 labels: l0, l1, l2, l3, l4, l5 and 2 more."


@pytest.mark.parametrize("changes", [{"consensus_share": 0.3}, {"slice": 0}])
def test_labels_that_agree_or_were_not_answered_are_not_corrected(by_hand, changes):
    told = says(replace(by_hand, prevalence=corrected(3, **changes)))
    assert not any("corrects" in sentence for sentence in told)


# -- numbers as text -----------------------------------------------------------------------------------------------


def test_shares_in_percent():
    assert percent(0) == "0.0\u00a0%"
    assert percent(1) == "100.0\u00a0%"
    row = {"share": 0.12345, "low": 0.0, "high": 1.0, "none": None}
    assert Page(percent_with_interval(row, "share")).text == "12.3 % (0.0 to 100.0)"
    assert percent_with_interval(row, "none") == "–"


def test_measures_without_interval_or_value():
    row = {"kappa": 0.5, "kappa_low": None, "kappa_high": None}
    assert Page(measure(row, "kappa")).text == "0.50"
    assert measure(row | {"kappa": None}, "kappa") == "–"
    assert (
        Page(measure({"kappa": -0.001, "kappa_low": -0.2, "kappa_high": 0.2}, "kappa")).text == "0.00 (-0.20 to 0.20)"
    )


# -- panels --------------------------------------------------------------------------------------------------------


def test_frequencies_by_hand(by_hand):
    panel = prevalence_panel(by_hand)
    rows = {row["label"]: row for row in rows_with(panel.chart, "share")}
    assert rows["a"]["consensus_share"] == pytest.approx((0.9 + 0.2 + 0.6) / 3, abs=1e-4)
    assert (rows["a"]["slice_share"], rows["b"]["slice_share"]) == (0.5, 0)
    assert re.search(r"a 3 2 \d+\.\d % \(.* to .*\) 50\.0 % \(.* to .*\) 56\.7 %", text_of(panel))


def test_labels_without_answers_are_in_the_table_only(by_hand):
    table = pa.concat_tables([corrected(2), corrected(1, label="silent", slice=0)])
    panel = prevalence_panel(replace(by_hand, prevalence=table))
    assert column(panel.chart, "label") == ["l0", "l1"]
    assert "silent 100 0" in text_of(panel)
    assert prevalence_panel(replace(by_hand, prevalence=corrected(2, slice=0))).chart is None


def test_more_labels_than_fit_are_left_out(by_hand):
    panel = prevalence_panel(replace(by_hand, prevalence=corrected(MAX_LABELS + 1)))
    assert len(column(panel.chart, "label")) == MAX_LABELS
    assert panel.notes == ["Shown are 40 of 41 labels: the most frequent."]


def test_the_corrected_share_is_drawn_above_the_others(by_hand):
    layers = prevalence_panel(by_hand).chart.to_dict()["layer"]
    assert [layer["encoding"]["x"]["field"] for layer in layers] == ["low", "consensus_share", "slice_share", "share"]


def test_errors_by_hand(by_hand):
    text = text_of(errors_panel(by_hand))
    assert re.search(r"all 6 4 25\.3 % 25\.0 % \(", text)
    assert re.search(r"settled 2 2 6\.0 % 50\.0 % \(", text)
    assert re.search(r"called present 3 2 \d+\.\d % 50\.0 % \(", text)
    assert re.search(r"called absent 3 2 \d+\.\d % 0\.0 % \(", text)


def test_calibration_by_hand(by_hand):
    panel = calibration_panel(by_hand.calibration, language("en"))
    dots = {row["claimed"]: row for row in rows_with(panel.chart, "claimed")}
    assert (dots[0.25]["measured"], dots[0.25]["number"], dots[0.25]["slice"]) == (0, 2, 2)
    assert dots[0.98]["measured"] == 0
    assert 0.6 not in dots  # nobody answered there
    assert "0.6 – 0.8 1 0 60.0 % –" in text_of(panel)


def test_the_consensus_stands_above_the_workers(by_hand):
    panel = judges_panel(by_hand)
    assert column(panel.chart, "who") == [CONSENSUS, "1. ann", "2. bob"]
    assert column(panel.chart, "kind") == ["consensus", "worker", "worker"]
    assert column(panel.chart, "estimate") == [0.75, 0.75, 0.5]
    assert re.search(r"ann 4 0\.75 \(.*?\) .* bob 2 0\.50", text_of(panel))
    assert panel.notes == []


def test_a_worker_may_be_called_like_the_consensus():
    votes = replace(VOTES, worker_names=pa.array([CONSENSUS, "bob"]))
    result = audit(DECISIONS, votes, Truth.from_frames(pa.table({"item": ["i", "j"], "labels": [["a"], []]})))
    who = column(judges_panel(result).chart, "who")
    assert len(set(who)) == 3


def test_only_so_many_workers_are_shown():
    result = audited(n_items=200, n_workers=MAX_JUDGES + 10, n_labels=3, model=MajorityVote())
    n_workers = sum(row["label"] is None for row in result.judges.to_pylist())
    assert n_workers > MAX_JUDGES
    note = f"Shown are {MAX_JUDGES} of {n_workers} workers: those who agree most for certain."
    for panel, field in ((judges_panel(result), "who"), (labels_panel(result), "worker")):
        assert panel.notes == [note]
        assert len(set(column(panel.chart, field))) == MAX_JUDGES + 1  # and the consensus


def test_agreement_by_label_by_hand(by_hand):
    cells = {(row["worker"], row["label"]): row for row in rows_with(labels_panel(by_hand).chart, "agreement")}
    assert (cells[CONSENSUS, "a"]["agreement"], cells[CONSENSUS, "b"]["agreement"]) == (1, 0.5)
    assert (cells["ann", "b"]["agreement"], cells["ann", "b"]["votes"]) == (0.5, 2)
    assert (cells["bob", "a"]["agreement"], cells["bob", "a"]["votes"]) == (0, 1)
    assert not any(label is None for _, label in cells)  # those over all labels have a panel of their own


def test_disagreements_say_who_voted_what(by_hand):
    text = text_of(disagreements_panel(by_hand))
    assert text.endswith("j b 0.980 present, settled 0 yes, 1 no ann bob")


def test_no_disagreement_is_said_in_words(by_hand):
    panel = disagreements_panel(replace(by_hand, disagreements=by_hand.disagreements.slice(0, 0)))
    assert panel.body == "<p>There is none.</p>"


def test_many_disagreements_and_many_voters_are_cut(by_hand):
    (row,) = by_hand.disagreements.to_pylist()
    row["said_no"] = [f"w{code}" for code in range(MAX_NAMED + 3)]
    table = pa.Table.from_pylist([row] * (MAX_DISAGREEMENTS + 5), by_hand.disagreements.schema)
    panel = disagreements_panel(replace(by_hand, disagreements=table))
    assert text_of(panel).count("w0, w1, w2, w3, w4, w5 and 3 more") == MAX_DISAGREEMENTS
    assert panel.notes == ["Shown are 30 of 35 disagreements: those of which the consensus was surest."]
