"""The page about a model as a whole: order, safety, unusual crowds, refusals."""

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
from report_pages import amcc_findings, page_in, random_votes, report, small_crowd

pytest.importorskip("altair")
vl_convert = pytest.importorskip("vl_convert")

TITLES = [
    "What to look at first",
    "Label frequencies",
    "Confidence",
    "Worker map",
    "Labels that occur together",
    "Most disputed items",
    "Kinds of disagreement",
    "Workers",
]
FITTED_TITLES = [*TITLES, "Convergence"]
AMCC_TITLES = [
    TITLES[0],
    "What the data chose",
    *TITLES[1:4],
    "Groups of workers",
    "Individuality",
    TITLES[4],
    "Label correlation",
    "Strongest label correlations",
    *TITLES[5:],
    "Convergence",
]
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
    assert not any({"src", "href", "srcset"} & set(attributes) for _, attributes in page.elements)
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
    assert sum(tag == "script" for tag, _ in page.elements) == 2
    for name in (EVIL, "</script><b>", "<!--", "<i>", "&amp;"):
        assert name in page.text
    assert EVIL in json.dumps(page.charts)
    assert "<" not in page.scripts[-1].split("options =")[0]


# -- unusual crowds ------------------------------------------------------------------------------------------------


def test_one_worker_one_item_one_label(tmp_path):
    page = report(Votes.from_dense([[[1]]]), tmp_path, DawidSkene())
    assert [title for title in page.headings if title != "Convergence"] == TITLES
    assert "Agreement cannot be measured" in page.text
    assert "No two labels can be compared" in page.text
    assert "like a spammer" not in page.text


def test_unanimous_votes_leave_nothing_disputed(tmp_path):
    page = report(Votes.from_dense(np.ones((3, 12, 2), dtype=int)), tmp_path)
    assert "Nothing stands out." in page.text
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
    assert "Nobody answered 2 items: 5, 6." in page.text


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
