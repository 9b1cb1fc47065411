import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from amcc import DawidSkene, MajorityVote, Votes
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import InputError, MissingExtraError, NotFittedError, ParameterError
from amcc.report import Findings, _cooccurrence, _first_looks, write_report

pytest.importorskip("altair")
vl_convert = pytest.importorskip("vl_convert")

TITLES = [
    "What to look at first",
    "Label frequencies",
    "Confidence",
    "Worker map",
    "Labels that occur together",
    "Most disputed items",
    "Workers",
]
EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """What a browser would find in the page: its elements, and its text outside of scripts and styles."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.texts, self.headings, self.scripts = [], [], [], []
        self.open = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.open = tag
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        self.open = ""

    def handle_data(self, data):
        place = {"h2": self.headings, "script": self.scripts}.get(self.open, self.texts)
        place.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    @property
    def charts(self):
        """Vega-Lite charts by the id of their place."""
        return json.JSONDecoder().raw_decode(self.scripts[-1].removeprefix("const charts = "))[0]


def report(votes, folder, model=None, **options):
    path = folder / "report.html"
    write_report((model or MajorityVote()).fit(votes), votes, path, **options)
    return Page(path.read_text(encoding="utf-8"))


def findings_of(votes, model=None):
    return Findings((model or MajorityVote()).fit(votes), votes, votes.describe(n_boot=5))


def random_votes(n_votes, n_items, n_workers, n_labels, **names):
    rng = np.random.default_rng(0)
    sizes = {"item": n_items, "worker": n_workers, "label": n_labels}
    codes = [rng.integers(size, size=n_votes) for size in sizes.values()]
    vocabularies = {f"{role}_names": range(size) for role, size in sizes.items()} | names
    return Votes.from_codes(*codes, rng.choice([-1, 1], n_votes), on_conflict="last", **vocabularies)


@pytest.fixture(scope="module")
def crowd():
    return simulate_crowd(CrowdSpec(n_items=200, n_workers=20, seed=1))


@pytest.fixture(scope="module")
def page(crowd, tmp_path_factory):
    return report(crowd.votes, tmp_path_factory.mktemp("report"), DawidSkene(), title="Birds & bees")


# -- the page ------------------------------------------------------------------------------------------------------


def test_all_panels_come_in_order_each_with_its_explanation(page):
    assert page.headings == TITLES
    assert ("title", {}) in page.elements
    for how_to_read in ("The bar is", "bars at the two ends", "Each dot is a worker", "Read along a row", "expected"):
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
    assert len(page.charts) == 4
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
    assert page.headings == TITLES
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


# -- findings ------------------------------------------------------------------------------------------------------


def test_first_looks_name_spammers_the_worst_label_and_the_undecided():
    rng = np.random.default_rng(0)
    truth = rng.random((200, 2)) < 0.5
    honest = np.where(rng.random((4, 200, 2)) < 0.95, truth, ~truth)
    honest[:, :, 1] = rng.random((4, 200)) < 0.5  # nobody knows the second label
    spam = rng.random((1, 200, 2)) < 0.5
    votes = Votes.from_dense(
        np.where(np.concatenate([honest, spam]), 1, -1), label_names=["easy", "hard"], worker_names=list("abcde")
    )
    findings = findings_of(votes)
    looks = " ".join(_first_looks(findings))
    n_undecided = int((np.minimum(findings.model.pair_proba_, 1 - findings.model.pair_proba_) > 0.2 + 1e-9).sum())
    assert "1 worker looks like a spammer: e " in looks
    assert "Label hard is agreed on least, α " in looks
    assert f"{n_undecided} pairs of 400 are undecided" in looks


def test_estimated_items_are_the_column_sums_of_predict_proba(crowd):
    votes = crowd.votes.select(np.random.default_rng(0).random(len(crowd.votes)) < 0.1)
    findings = findings_of(votes)
    np.testing.assert_allclose(findings.items_per_label, findings.model.predict_proba().sum(axis=0), rtol=1e-12)


def test_cooccurrence_counts_items_asked_about_both_labels(monkeypatch):
    monkeypatch.setattr("amcc.report.ITEMS_PER_BLOCK", 2)
    votes = Votes.from_dense([[[1, 1, 0], [1, -1, 1], [1, 0, -1], [1, 1, -1], [-1, 1, -1]]])
    share = _cooccurrence(findings_of(votes), np.array([1, 0, 2]))
    expected = [[np.nan, 2 / 3, 0], [2 / 3, np.nan, 1 / 3], [0, 1, np.nan]]
    np.testing.assert_allclose(share, expected, rtol=1e-12)


def test_most_disputed_item_comes_first(tmp_path):
    settled, disputed = [[1, -1]] * 4, [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    votes = Votes.from_dense(
        np.stack([settled, disputed], axis=1), item_names=["calm", "storm"], label_names=["p", "q"]
    )
    page = report(votes, tmp_path)
    assert re.search(r"expected wrong labels labels storm 1\.00 p: 0\.50 \(2 yes, 2 no\) q: 0\.50", page.text)
    assert "calm" not in page.text
