"""The page about a model as a whole: order, safety, unusual crowds, refusals."""

import base64
import gzip
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from amcc import AMCC, Votes
from amcc.consensus import DawidSkene, MajorityVote
from amcc.consensus.models.paper import PaperAMCC
from amcc.errors import InputError, MissingExtraError, NotFittedError, ParameterError
from amcc.report import write_report
from report_pages import Page, amcc_findings, findings_of, page_in, random_votes, report, small_crowd

pytest.importorskip("altair")
pytest.importorskip("vl_convert")

import vl_convert

from amcc.report import items
from amcc.report.worker_entries import worker_entries

TOP = ["The answer", "What to do next", "Whom to ask", "What not to trust"]
SURE = ["How sure it is", "Claimed and measured errors", "Confidence"]
LABELS = ["Labels", "Label frequencies", "Labels in numbers", "Labels that occur together"]
CORRELATION = ["Label correlation", "Strongest label correlations"]
CROWD = ["Workers", "Worker map", "Workers in numbers"]
GROUPS = ["Groups of workers", "Individuality"]
REST = [
    "Disagreement",
    "Kinds of disagreement",
    "Most disputed items",
    "The next questions",
    "For you",
    "For the crowd",
]
END = ["Items", "How it was made"]
TITLES = [*TOP, *SURE, *LABELS, "Label by label", *CROWD, "Worker by worker", *REST, *END]
FITTED_TITLES = [*TITLES, "Convergence"]
AMCC_TITLES = [
    *TOP, *SURE, *LABELS, *CORRELATION, "Label by label", *CROWD, *GROUPS, "Worker by worker", *REST, *END,
    "How the votes were weighed", "Convergence",
]  # fmt: skip
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def crowd():
    return small_crowd()


@pytest.fixture(scope="module")
def page(crowd, tmp_path_factory):
    return report(crowd.votes, tmp_path_factory.mktemp("report"), DawidSkene(), title="Birds & bees")


# -- the page ------------------------------------------------------------------------------------------------------


def test_all_panels_come_in_order_each_with_its_explanation(page):
    assert page.headings == FITTED_TITLES
    assert ("title", {}) in page.elements
    for how_to_read in ("The bar is", "Blue pairs are settled", "Each dot is a worker", "Read along a row", "expected"):
        assert how_to_read in page.text


def test_page_fetches_nothing(page):
    assert not any({"src", "srcset"} & set(attributes) for _, attributes in page.elements)
    assert all(attributes["href"].startswith("#") for _, attributes in page.elements if "href" in attributes)
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert not {"link", "img", "iframe", "object", "base"} & {tag for tag, _ in page.elements}
    styles = "".join(text for text in page.texts if "{" in text)
    assert "@import" not in styles
    assert "url(" not in styles
    assert "http" not in json.dumps(page.charts)
    policy = next(attributes["content"] for _, attributes in page.elements if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'")


def test_page_is_small(page, crowd, tmp_path):
    report(crowd.votes, tmp_path)
    assert (tmp_path / "report.html").stat().st_size < 1_500_000


def test_every_chart_has_a_place_and_can_be_drawn(page):
    places = {attributes["id"] for tag, attributes in page.elements if attributes.get("class") == "chart"}
    assert len(page.charts) == 6
    assert set(page.charts) == places
    for chart in page.charts.values():
        assert vl_convert.vegalite_to_svg(chart).count("<path") > 10


def test_head_gives_title_model_and_numbers(page, crowd):
    assert "Birds & bees" in page.text
    for shown in ("DawidSkene()", "workers 20", "items 200", "votes 10,000", "answers per item 5.0 (5 to 5)"):
        assert shown in page.text
    assert re.search(r"agreement α 0\.\d\d \(0\.\d\d to 0\.\d\d\)", page.text)
    assert re.search(r"converged yes, \d+ rounds", page.text)


def test_names_are_escaped_wherever_they_appear(tmp_path):
    votes = Votes.from_dense(
        [[[1, -1], [-1, 1]], [[-1, 1], [1, -1]], [[0, 0], [0, 1]]],
        label_names=[EVIL, 'b"&'],
        worker_names=["</script><b>", "<!--", "w"],
        item_names=["<i>", "&amp;"],
    )
    page = report(votes, tmp_path, title=EVIL)
    assert {"b", "i"}.isdisjoint(tag for tag, _ in page.elements)
    assert sum(tag == "script" and not attributes for tag, attributes in page.elements) == 3
    for name in (EVIL, "</script><b>", "<!--", "<i>", "&amp;"):
        assert name in page.text
    assert EVIL in json.dumps(page.charts)
    written = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all("<" not in data for data in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', written))


# -- unusual crowds ------------------------------------------------------------------------------------------------


def test_one_worker_one_item_one_label(tmp_path):
    page = report(Votes.from_dense([[[1]]]), tmp_path, DawidSkene())
    asked = ["The next questions", "For you", "For the crowd"]
    assert [title for title in page.headings if title != "Convergence"] == [
        title
        for title in TITLES
        if title not in asked[2:]  # who has answered everything is not asked again
    ]
    assert "Agreement cannot be measured" in page.text
    assert "No two labels can be compared" in page.text
    assert "like a spammer" not in page.text


def test_unanimous_votes_leave_nothing_disputed(tmp_path):
    page = report(Votes.from_dense(np.ones((3, 12, 2), dtype=int)), tmp_path)
    assert "No item is disputed" in page.text


def test_thousand_labels_and_twenty_thousand_workers(tmp_path):
    page = report(random_votes(4_000, 40, 20_000, 1000), tmp_path)
    n_active = re.search(r"Shown are 2,000 of ([\d,]+) workers: a random sample", page.text)
    assert int(n_active[1].replace(",", "")) > 3_000
    assert "Shown are 40 of 1,000 labels" in page.text
    assert "Shown are 25 of 1,000 labels" in page.text
    assert "labels with less doubt" in page.text
    assert (tmp_path / "report.html").stat().st_size < 3_000_000


def test_items_without_answer_are_flagged(tmp_path):
    votes = random_votes(60, 5, 4, 3)
    votes = replace(votes, item_names=Votes.from_dense(np.ones((1, 7, 1), dtype=int)).item_names)
    page = report(votes, tmp_path)
    assert "items without answer 2 ⚠" in page.text
    assert "2 items that nobody answered: 5, 6." in page.text


def test_a_fit_that_did_not_settle_is_flagged(crowd, tmp_path):
    with pytest.warns(UserWarning, match="stopped after"):
        page = report(crowd.votes, tmp_path, DawidSkene(max_iter=1))
    assert "converged no ⚠, 1 round" in page.text
    assert "had not settled" in page.text


# -- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_missing_extra_says_how_to_install_it(package, crowd, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"{package} .* pip install 'amcc\[report\]'"):
        report(crowd.votes, tmp_path)
    assert not list(tmp_path.iterdir())


def test_unfitted_model_and_other_votes_are_refused(crowd, tmp_path):
    with pytest.raises(NotFittedError):
        write_report(MajorityVote(), crowd.votes, tmp_path / "report.html")
    some = crowd.votes.select(crowd.votes.item < 100)
    with pytest.raises(ParameterError, match="fitted to"):
        write_report(MajorityVote().fit(some), crowd.votes, tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_failed_writing_keeps_the_old_file_and_nothing_else(crowd, tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(RuntimeError("interrupted")))
    with pytest.raises(RuntimeError, match="interrupted"):
        report(crowd.votes, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "old"


def test_missing_folder_is_an_error_about_the_path(crowd, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        report(crowd.votes, tmp_path / "nowhere")


# -- groups and label correlation ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def amcc_model():
    return amcc_findings().model


@pytest.fixture(scope="module")
def amcc_page(crowd, amcc_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(amcc_model, crowd.votes, path)
    return page_in(path)


def test_groups_correlation_and_course_are_shown_by_models_that_have_them(amcc_page, page, crowd, tmp_path):
    assert amcc_page.headings == AMCC_TITLES
    assert "Groups of workers" not in page.headings
    assert report(crowd.votes, tmp_path).headings == TITLES


def test_every_amcc_chart_can_be_drawn(amcc_page):
    assert len(amcc_page.charts) == 10
    for chart in amcc_page.charts.values():
        assert vl_convert.vegalite_to_svg(chart).count("<path") > 10


def test_groups_are_listed_with_weight_summary_and_all_their_workers(amcc_page, amcc_model):
    for group in amcc_model.groups().query("workers > 0").itertuples():
        what = group.summary.split(": ", 1)[1].rsplit("; ", 1)[0]
        assert f"group {group.group} {group.weight:.2f} {what}" in amcc_page.text
    names = amcc_model.workers().query("answers > 0").worker
    table = amcc_page.text.split("Groups, the most informative first")[1].split("Each mark is a worker")[0]
    if "more" not in table:
        assert all(name in table for name in names)


def test_likely_spammers_come_with_their_evidence(amcc_page, amcc_model):
    assert amcc_model.worker_evidence_
    for sentence in amcc_model.worker_evidence_.values():
        assert f"likely spammer: {sentence}" in amcc_page.text


def test_settled_pairs_are_counted_as_in_the_consensus(amcc_page, amcc_model):
    settled = np.asarray(amcc_model.pairs()["settled"])
    assert f"settled pairs {settled.sum():,} of {len(settled):,}" in amcc_page.text
    assert f"open pairs {(1 - settled).sum():,}" in amcc_page.text


@pytest.mark.parametrize("make", [AMCC, PaperAMCC])
@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 6, 1), (1, 6, 3)])
def test_small_crowds_have_a_page_with_groups(shape, make, tmp_path):
    votes = Votes.from_dense(np.random.default_rng(0).choice([-1, 1], shape))
    page = report(votes, tmp_path, make())
    assert "Groups of workers" in page.headings
    for chart in page.charts.values():
        assert "<svg" in vl_convert.vegalite_to_svg(chart)


# -- workers, labels, items ----------------------------------------------------------------------------------------


def unpacked(text):
    return gzip.decompress(base64.b64decode(text))


def test_every_item_is_in_the_page_as_in_the_consensus(amcc_page, amcc_model):
    data, pairs = amcc_page.data["items"], amcc_model.pairs()
    names = json.loads(unpacked(data["names"]))
    counts, labels = (np.frombuffer(unpacked(data[name]), "<u2") for name in ("counts", "labels"))
    percent = np.frombuffer(unpacked(data["percent"]), np.uint8)
    assert np.repeat(names, counts).tolist() == pairs["item"].tolist()
    assert [data["label_names"][code] for code in labels] == pairs["label"].tolist()
    assert ((percent & 127) > 50).tolist() == pairs["present"].astype(bool).tolist()
    assert (percent >> 7).tolist() == pairs["settled"].tolist()
    assert np.abs((percent & 127) / 100 - pairs["probability"]).max() <= 0.01


def test_the_first_rows_are_there_without_a_script(amcc_page, amcc_model):
    first = amcc_page.text.split("The first 25 items")[1]
    doubt = np.minimum(amcc_model.pair_proba_, 1 - amcc_model.pair_proba_)
    worst = np.bincount(amcc_model.pair_item_, doubt).argmax()
    assert str(amcc_model.item_names_[int(worst)].as_py()) in first
    assert "amcc consensus votes.csv -o consensus.csv" in first


def test_all_workers_and_labels_have_an_entry(tmp_path):
    votes = random_votes(6_000, 60, 90, 40)
    page = report(votes, tmp_path)
    anchors = {attributes.get("id") for _, attributes in page.elements}
    stored = json.loads(unpacked(page.data["entries"]))
    assert {f"worker-{code}" for code in range(90)} | {f"label-{code}" for code in range(40)} <= anchors | set(stored)
    assert len(stored) == 70
    links = {attributes["href"][1:] for _, attributes in page.elements if "href" in attributes}
    assert links <= anchors | set(stored)


def test_an_entry_counts_the_votes_of_the_worker_and_of_others():
    votes = Votes.from_dense(
        [[[1], [1], [-1]], [[1], [-1], [-1]], [[1], [-1], [1]]], worker_names=["ann", "bob", "eve"], label_names=["cat"]
    )
    text = Page(worker_entries(findings_of(votes))["worker-0"]).text
    assert "cat 3 67 % 50 % 50 %" in text  # two yes of three; of six votes of others, three say yes, and three the same
    assert "cat yes 0.33 0 yes, 2 no" in text


def test_too_many_items_leave_the_least_sure(monkeypatch):
    findings = amcc_findings()
    monkeypatch.setattr(items, "MOST_LETTERS", 3_000)
    every = items.ItemColumns.of(findings, np.arange(findings.votes.n_items))
    order = np.argsort(-every.wrong, kind="stable")
    packed, n_kept = items.stored_items(findings, every, order)
    assert sum(map(len, packed.values())) <= 3_000
    assert 0 < n_kept < findings.votes.n_items
    assert json.loads(unpacked(packed["names"])) == items.names_of(findings.votes.item_names, np.sort(order[:n_kept]))


def test_a_page_in_german_has_no_english_heading(crowd, amcc_model, tmp_path):
    write_report(amcc_model, crowd.votes, tmp_path / "r.html", language="de", source="my votes.csv")
    page = page_in(tmp_path / "r.html")
    assert ("html", {"lang": "de"}) in page.elements
    assert not set(page.headings) & set(AMCC_TITLES) - {"Labels"}
    assert "amcc next 'my votes.csv' --for-expert" in page.text
    assert page.data["chart-options"]["formatLocale"]["decimal"] == ","
    for chart in page.charts.values():
        assert "<svg" in vl_convert.vegalite_to_svg(chart)


def test_a_language_that_there_is_none_of_is_refused_before_anything_is_written(crowd, amcc_model, tmp_path):
    with pytest.raises(ParameterError, match="language must be one of"):
        write_report(amcc_model, crowd.votes, tmp_path / "r.html", language="xx")
    assert not list(tmp_path.iterdir())
