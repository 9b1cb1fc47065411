"""Panels about disagreement: the doubtful labels of disputed items, and kinds of disagreement with examples."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from amcc import AMCC, Votes
from amcc.consensus import DawidSkene
from amcc.consensus import disagreement as kinds
from amcc.consensus.disagreement.kinds import CLEAR, TOO_FEW

pytest.importorskip("altair")

from amcc.report.disagreeing import MAX_EXAMPLES, Disagreement
from amcc.report.disagreement import (
    COLOURS,
    MAX_DISAGREEING_LABELS,
    MAX_DISPUTED_ITEMS,
    MAX_LABELS_PER_ITEM,
    SURPRISE,
    account,
    before_and_after_votes,
    disagreement_panel,
    disputed_panel,
    least_clear,
    said_of,
)
from amcc.report.language import language
from report_pages import Page, amcc_findings, column, findings_of, pretended, random_votes, report, rows_with

N_KINDS = len(kinds.KINDS)


def asked(n_yes, n_votes):
    """Votes on pairs, of which only the numbers matter."""
    n_yes, n_votes = np.array(n_yes), np.array(n_votes)
    zeros = np.zeros(len(n_yes), dtype=np.int32)
    start = np.append(0, np.cumsum(n_votes))
    return kinds.AskedPairs(zeros, start, zeros, zeros, n_yes, n_votes, zeros, zeros, 1, 1)


def told(n_yes, n_votes, kind, member=None):
    pairs = len(n_yes)
    member = np.zeros((pairs, 4)) if member is None else np.array(member)
    return Disagreement(asked(n_yes, n_votes), None, np.full(pairs, kind, dtype=np.int8), member)


# -- disputed items ------------------------------------------------------------------------------------------------


def test_most_disputed_item_comes_first(tmp_path):
    settled, disputed = [[1, -1]] * 4, [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    votes = Votes.from_dense(
        np.stack([settled, disputed], axis=1), item_names=["calm", "storm"], label_names=["p", "q"]
    )
    page = report(votes, tmp_path)
    assert re.search(r"wrong labels expected labels storm 1\.00 p: 0\.50 \(2 yes, 2 no\) q: 0\.50", page.text)
    disputed = page.text.split("Items with the most wrong labels expected")[1].split("Pairs whose true answer")[0]
    assert "calm" not in disputed


def test_no_more_items_are_listed_than_somebody_reads():
    findings = findings_of(random_votes(4_000, 60, 6, 10))
    body = disputed_panel(findings).body
    assert body.count('scope="row"') == MAX_DISPUTED_ITEMS
    wrong = [float(cell) for cell in re.findall(r"</th><td>(\d+\.\d\d)</td>", body)]
    assert wrong == sorted(wrong, reverse=True)


def test_expected_wrong_labels_are_the_sum_of_doubts():
    votes = Votes.from_dense([[[1, 1, 1]], [[1, 1, -1]], [[1, -1, 1]], [[1, -1, 1]]], label_names=list("pqr"))
    text = Page(disputed_panel(findings_of(votes)).body).text
    assert "0 0.75 q: 0.50 (2 yes, 2 no) r: 0.75 (3 yes, 1 no)" in text  # doubts 0, 0.5 and 0.25
    assert "and 1 label with less doubt" in text


def test_certain_items_are_not_disputed():
    panel = disputed_panel(findings_of(Votes.from_dense(np.ones((3, 4, 2), dtype=int))))
    assert panel.explanation == "No item is disputed: every asked pair is as good as certain."
    assert panel.body == ""


@pytest.mark.parametrize("n_labels", [MAX_LABELS_PER_ITEM, MAX_LABELS_PER_ITEM + 2])
def test_labels_of_an_item_are_cut(n_labels):
    votes = Votes.from_dense(np.stack([np.ones((1, n_labels)), -np.ones((1, n_labels))]).astype(int))
    body = disputed_panel(findings_of(votes)).body
    more = n_labels - MAX_LABELS_PER_ITEM
    assert body.count("<li>") == MAX_LABELS_PER_ITEM + (more > 0)
    assert (f"and {more} labels with less doubt" in body) == (more > 0)


def test_a_surprising_probability_says_how_it_came_about():
    findings = amcc_findings()
    model, votes = findings.model, findings.votes
    surprise = np.abs(model.pair_proba_ - votes.n_yes / votes.pairs.n_votes)
    plain, odd = int(surprise.argmin()), int(surprise.argmax())
    assert surprise[odd] > SURPRISE
    assert "before any vote" not in account(findings, plain)
    steps = re.search(
        r"\): (0\.\d\d) before any vote, (\d\.\d\d) by the votes of these workers", account(findings, odd)
    )
    label = votes.pairs.label[odd]
    prior = model.label_prior_[label]
    hit, false_alarm = model.rates_of_coins()
    odds = prior / (1 - prior)
    own = slice(votes.pairs.start[odd], votes.pairs.start[odd + 1])
    for worker, value in zip(votes.worker[own], votes.value[own], strict=True):
        h, f = hit[worker, label], false_alarm[worker, label]
        odds *= h / f if value > 0 else (1 - h) / (1 - f)
    assert float(steps[1]) == pytest.approx(prior, rel=0, abs=0.006)
    assert float(steps[2]) == pytest.approx(odds / (1 + odds), rel=0, abs=0.006)


def one_vote(value, hit, false_alarm, prior, proba):
    """One worker's vote on one pair, by a model with these rates."""
    return pretended(
        Votes.from_dense([[[value]]]),
        label_prior_=np.array([prior]),
        pair_proba_=np.array([proba]),
        rates_of_coins=lambda: (np.array([[hit]]), np.array([[false_alarm]])),
    )


def test_a_vote_moves_the_odds_by_its_rates():
    """Odds of 1/3 times 0.8 / 0.2 for a yes, and times 0.2 / 0.8 for a no."""
    assert before_and_after_votes(one_vote(1, 0.8, 0.2, 0.25, 0), 0) == pytest.approx((0.25, 4 / 7))
    assert before_and_after_votes(one_vote(-1, 0.8, 0.2, 0.25, 0), 0) == pytest.approx((0.25, 1 / 13))


def test_an_infallible_worker_is_not_taken_at_their_word():
    _, after = before_and_after_votes(one_vote(1, 1.0, 0.0, 0.5, 0), 0)
    assert after == pytest.approx(0.999)
    _, impossible = before_and_after_votes(one_vote(1, 0.5, 0.5, 0.0, 0), 0)
    assert 0 < impossible < 1e-5


def test_what_else_is_known_is_told_where_it_moves_the_probability():
    assert account(one_vote(1, 0.8, 0.2, 0.25, 0.9), 0) == "0.90 (1\u00a0yes,\u00a00\u00a0no)"
    moved = account(one_vote(1, 0.8, 0.2, 0.25, 0.2), 0)
    assert moved.endswith("0.57 by the votes of these workers, 0.20 with what else is known of the item")
    same = account(one_vote(1, 0.8, 0.2, 0.25, 0.57), 0)
    assert same.endswith(": 0.25 before any vote, 0.57 by the votes of these workers")


# -- kinds of disagreement -----------------------------------------------------------------------------------------


def test_every_kind_has_a_meaning_a_colour_and_advice():
    assert set(kinds.KINDS) == set(COLOURS) == set(kinds.ADVICE)
    assert {kind: said_of(kind, "advice", language("en")) for kind in COLOURS} == kinds.ADVICE
    assert len(set(COLOURS.values())) == N_KINDS


def test_kinds_are_counted_by_label_in_the_order_of_the_chart():
    found = Disagreement(None, None, np.array([CLEAR, kinds.SPLIT_CROWD, CLEAR], dtype=np.int8), None)
    counts = found.by_label(np.array([0, 2, 2], dtype=np.int32), 3)
    order = list(COLOURS)
    assert counts.shape == (3, N_KINDS)
    assert counts[0, order.index("clear")] == 1
    assert counts[2, order.index("clear")] == counts[2, order.index("split crowd")] == 1
    assert counts.sum() == 3


def test_labels_with_the_smallest_share_of_clear_pairs_come_first():
    counts = np.zeros((4, N_KINDS), dtype=np.int64)
    counts[:, 0] = [9, 0, 1, 5]
    counts[:, 1] = [1, 0, 1, 5]
    assert least_clear(counts).tolist() == [2, 3, 0]  # ties keep their order; the second was not asked about


def test_only_so_many_labels_are_shown():
    counts = np.ones((MAX_DISAGREEING_LABELS + 4, N_KINDS), dtype=np.int64)
    assert_array_equal(least_clear(counts), np.arange(MAX_DISAGREEING_LABELS))
    panel = disagreement_panel(findings_of(random_votes(3_000, 30, 5, MAX_DISAGREEING_LABELS + 4)))
    assert panel.notes == ["Shown are 25 of 29 labels: the least clear."]
    assert len(set(column(panel.chart, "label"))) == MAX_DISAGREEING_LABELS


def test_the_clearest_slip_is_one_against_many():
    found = told([1, 1, 9, 1], [3, 20, 10, 5], kinds.LIKELY_SLIP)
    assert found.telling(kinds.LIKELY_SLIP).tolist() == [1, 2, 3]
    assert len(found.telling(kinds.LIKELY_SLIP)) == MAX_EXAMPLES
    assert found.telling(kinds.HARD_ITEM).size == 0


def test_the_clearest_case_of_too_few_votes_is_a_tie():
    found = told([1, 2, 0, 1], [2, 4, 2, 3], TOO_FEW)
    assert found.telling(TOO_FEW).tolist() == [1, 0, 3]  # of two ties, the one with more votes


@pytest.mark.parametrize(("kind", "explanation"), [("hard item", kinds.HARD), ("split crowd", kinds.SPLIT)])
def test_the_clearest_hard_or_split_pair_is_the_surest(kind, explanation):
    code, member = kinds.KINDS.index(kind), np.zeros((3, 4))
    member[:, explanation] = [0.85, 0.95, 0.95]
    found = told([2, 2, 5], [10, 10, 10], code, member)
    assert found.telling(code).tolist() == [2, 1, 0]  # of two equally sure ones, that with the larger minority


def test_shares_of_a_label_add_up():
    panel = disagreement_panel(findings_of(random_votes(1_500, 40, 6, 5), DawidSkene()))
    rows = rows_with(panel.chart, "share")
    for label in {row["label"] for row in rows}:
        own = [row for row in rows if row["label"] == label]
        assert [row["kind"] for row in own] == list(COLOURS)
        assert sum(row["share"] for row in own) == pytest.approx(1, abs=5e-4)
    assert panel.notes == []


def test_votes_without_disagreement_have_no_examples():
    panel = disagreement_panel(findings_of(Votes.from_dense(np.ones((8, 30, 1), dtype=int)), DawidSkene()))
    assert "The most telling examples" not in panel.body
    assert "clear 30, 100 % The votes agree" in Page(panel.body).text


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
    assert f"split crowd {n_split}, {100 * n_split / 200:.0f} % The same people say yes" in page.text
    assert "decide what the label shall mean here" in page.text
    assert "likely slip 1, 0 %" in page.text
    assert "12 of 12 who take sides on other items vote with their side" in page.text
    assert re.search(
        r"likely slip 7 1 \d+ (yes|no), \d+ no; (yes|no) from w3, who errs this way \d % of the time", page.text
    )
    (bars,) = [chart for chart in page.charts.values() if "Why people disagree" in chart["description"]]
    rows = rows_with(bars, "kind")
    assert {(row["label"], row["pairs"]) for row in rows if row["kind"] == "split crowd"} == {("0", n_split), ("1", 0)}


def test_examples_of_all_kinds_name_item_and_label():
    findings = findings_of(random_votes(1_500, 40, 6, 5), AMCC(max_iter=1000))  # votes at random settle slowly
    found = findings.disagreement
    body = Page(disagreement_panel(findings).body).text.partition("The most telling examples")[2]
    for kind in np.unique(found.kind[found.kind != CLEAR]).tolist():
        pair = found.telling(kind)[0]
        item, label = findings.votes.pairs.item[pair], findings.votes.pairs.label[pair]
        assert f"{kinds.KINDS[kind]} {item} {label} " in body
