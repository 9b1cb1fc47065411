import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from amcc import AMCC, DawidSkene, MajorityVote, Votes
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.errors import InputError, MissingExtraError, NotFittedError, ParameterError
from amcc.paper import PaperAMCC
from amcc.report import (
    DOT,
    Findings,
    _account,
    _apart,
    _choices,
    _cooccurrence,
    _first_looks,
    _involved,
    worker_individuality,
    write_report,
)

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


# -- findings ------------------------------------------------------------------------------------------------------


def test_first_looks_name_spammers_the_worst_label_and_open_pairs():
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
    n_open = int((findings.model.pairs()["settled"].to_numpy() == 0).sum())
    assert "1 worker looks like a spammer: e " in looks
    assert "Label hard is agreed on least, α " in looks
    assert f"{n_open} pairs of 400 are open" in looks


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


def test_a_surprising_probability_says_how_it_came_about(crowd):
    model = AMCC().fit(crowd.votes)
    findings = Findings(model, crowd.votes, crowd.votes.describe(n_boot=5))
    votes = crowd.votes
    share = votes.n_yes / votes.pairs.n_votes
    surprise = np.abs(model.pair_proba_ - share)
    plain, odd = int(surprise.argmin()), int(surprise.argmax())
    assert "before any vote" not in _account(findings, plain)
    steps = re.search(
        r"\): (0\.\d\d) before any vote, (\d\.\d\d) by the votes of these workers", _account(findings, odd)
    )
    prior = model.label_prior_[votes.pairs.label[odd]]
    hit, false_alarm = model.rates_of_coins()
    odds = prior / (1 - prior)
    for worker, value in zip(*(column[votes.pairs.start[odd] : votes.pairs.start[odd + 1]] for column in
                               (votes.worker, votes.value)), strict=True):  # fmt: skip
        h, f = hit[worker, votes.pairs.label[odd]], false_alarm[worker, votes.pairs.label[odd]]
        odds *= h / f if value > 0 else (1 - h) / (1 - f)
    assert float(steps[1]) == pytest.approx(prior, rel=0, abs=0.006)
    assert float(steps[2]) == pytest.approx(odds / (1 + odds), rel=0, abs=0.006)


def test_dots_in_one_place_stand_side_by_side_and_others_stay():
    x, y = np.full(40, 0.5), np.full(40, 0.5)
    x[-1] = 0.9
    apart_x, apart_y = _apart(x, y)
    assert (apart_x[0], apart_y[0], apart_x[-1]) == (0.5, 0.5, 0.9)
    distance = np.hypot(*(np.subtract.outer(each, each) for each in (apart_x, apart_y)))
    np.fill_diagonal(distance, 1)
    assert distance.min() > DOT / 2
    assert np.hypot(apart_x[:-1] - 0.5, apart_y[:-1] - 0.5).max() < 6 * DOT


# -- groups and label correlation ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def amcc_model(crowd):
    return AMCC().fit(crowd.votes)


@pytest.fixture(scope="module")
def amcc_page(crowd, amcc_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(amcc_model, crowd.votes, path)
    return Page(path.read_text(encoding="utf-8"))


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


def test_individuality_of_a_worker_is_the_root_mean_square_over_his_votes(amcc_model, crowd):
    votes = crowd.votes
    own = amcc_model.coin_worker_ == 3
    n_votes = np.bincount(votes.label[votes.worker == 3], minlength=votes.n_labels)[amcc_model.coin_label_[own]]
    expected = np.sqrt(np.average((amcc_model.individuality_[own] ** 2).mean(axis=1), weights=n_votes))
    np.testing.assert_allclose(worker_individuality(amcc_model, votes)[3], expected, rtol=1e-12)


def test_correlated_labels_become_neighbours_and_the_idle_are_left_out():
    correlation = np.zeros((40, 40))
    for a, b in ((0, 39), (1, 20), (2, 30)):
        correlation[a, b] = correlation[b, a] = 0.8
    order = _involved(correlation).tolist()
    assert len(order) == 30
    for a, b in ((0, 39), (1, 20), (2, 30)):
        assert abs(order.index(a) - order.index(b)) == 1


def test_choices_in_words():
    labels, coins = _choices({"crisp": 0.98, "counts": 0.0, "correlation": 0.9}, 3)
    assert labels == "Labels of an item tell much about each other: label correlation is used 90%."
    assert coins.startswith("Votes look independent given presence")
    (told,) = _choices({"crisp": 0.75, "counts": 0.0, "correlation": 0.0}, 1, declared=True)
    assert told.startswith("Who shares errors was declared")
    pooled, counts = _choices({"crisp": 0.0, "counts": 0.8, "correlation": 0.0}, 1)  # no other label to tell about
    assert "several readings are pooled" in pooled
    assert "Plain counts predict votes about as well" in counts


@pytest.mark.parametrize("make", [AMCC, PaperAMCC])
@pytest.mark.parametrize("shape", [(1, 1, 1), (4, 6, 1), (1, 6, 3)])
def test_small_crowds_have_a_page_with_groups(shape, make, tmp_path):
    votes = Votes.from_dense(np.random.default_rng(0).choice([-1, 1], shape))
    page = report(votes, tmp_path, make())
    assert "Groups of workers" in page.headings
    for chart in page.charts.values():
        assert "<svg" in vl_convert.vegalite_to_svg(chart)


@pytest.mark.filterwarnings("ignore::amcc.errors.ConvergenceWarning")
def test_three_hundred_labels_are_cut_to_the_most_involved(tmp_path):
    crowd = simulate_crowd(CrowdSpec(n_items=60, n_workers=10, n_labels=300, labels_per_item=8))
    page = report(crowd.votes, tmp_path, AMCC(max_iter=5, adapt=False))
    assert "Shown are 30 of 300 labels: those with the strongest correlations." in page.text
    assert "Shown are 30 of 300 labels: the most frequent." in page.text
    assert (tmp_path / "report.html").stat().st_size < 2_000_000


def test_known_truth_says_what_it_changed(crowd, tmp_path):
    from amcc.truth import PairList, Truth

    votes = crowd.votes
    items, labels = votes.item_names.cast("string"), votes.label_names.cast("string")
    truth = Truth(PairList(items[:1], labels[:1]), known_items=items[:10])
    model = AMCC().fit(votes, truth=truth)
    write_report(model, votes, tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "What known truth changed" in page.headings
    assert model.calibration_.sentence() in page.text


def test_cosines_of_the_papers_objective_are_not_called_more_than_chance(crowd, tmp_path):
    page = report(crowd.votes, tmp_path, PaperAMCC())
    assert "the cosine of eq4" in page.text
    assert "Strongest label correlations" not in page.headings
    assert "What the data chose" not in page.headings


# -- kinds of disagreement -----------------------------------------------------------------------------------------


def test_kinds_of_disagreement_are_counted_and_shown_with_why_and_what_to_do(tmp_path):
    """Two groups of workers against each other on label 0; on label 1 all agree, but for one slip."""
    rng = np.random.default_rng(0)
    truth = rng.random((100, 2)) < 0.5
    yes = np.repeat(truth[None], 12, axis=0)
    opposed = rng.random(100) < 0.4
    yes[:6, opposed, 0] ^= True
    yes[3, 7, 1] ^= True
    votes = Votes.from_dense(np.where(yes, 1, -1), worker_names=[f"w{worker}" for worker in range(12)])
    page = report(votes, tmp_path, DawidSkene())
    n_split = int(opposed.sum())
    assert f"split crowd {n_split}, {n_split / 200:.0%} The same people say yes" in page.text
    assert "decide what the label shall mean here" in page.text
    assert "likely slip 1, 0%" in page.text
    assert "12 of 12 who take sides on other items vote with their side" in page.text
    assert re.search(
        r"likely slip 7 1 \d+ (yes|no), \d+ no; (yes|no) from w3, who errs this way \d % of the time", page.text
    )
    (bars,) = [chart for chart in page.charts.values() if "Why people disagree" in chart["description"]]
    rows = next(iter(bars["datasets"].values())) if "datasets" in bars else bars["data"]["values"]
    assert {(row["label"], row["pairs"]) for row in rows if row["kind"] == "split crowd"} == {("0", n_split), ("1", 0)}
