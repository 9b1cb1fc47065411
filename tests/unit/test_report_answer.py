"""The top of the report, and its last chapter: what to do, whom to ask, what to doubt, and how it was made."""

from dataclasses import replace
from html import escape

import numpy as np
import pyarrow as pa
import pytest

from amcc import AMCC, Votes, next_questions
from amcc.active import questions_for_expert
from amcc.consensus import DawidSkene, MajorityVote
from amcc.consensus.truth_effect import truth_effect
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.truth import PairList, Truth

pytest.importorskip("altair")

from amcc.report import questions
from amcc.report.answer import MAX_NAMES_IN_TEXT, MIN_COMPARED, Known, answer_chapter, steps, what_to_doubt, whom_to_ask
from amcc.report.errors import measured_errors
from amcc.report.label_entries import LabelFacts
from amcc.report.language import language
from amcc.report.made import made_chapter, readings
from report_pages import Page, findings_of, small_crowd


def agreed(n_items=12, n_workers=3, n_labels=2, **names):
    """Votes on which everybody says yes."""
    return Votes.from_dense(np.ones((n_workers, n_items, n_labels), dtype=int), **names)


def read(trust, n_labels):
    return [text.replace("\u00a0", " ") for text in readings(trust, n_labels, language("en"))]


def known_of(findings):
    asked = questions.for_you(findings), questions.for_crowd(findings)
    return Known(findings, measured_errors(findings), *asked, LabelFacts(findings))


def told(points):
    """Sentences as they are read."""
    return [Page(point).text for point in points]


def first_looks(findings):
    """What not to trust, but for the sentence about errors, which is always there."""
    return [look for look in told(what_to_doubt(known_of(findings))) if "expected error" not in look]


def page_of(findings):
    """How it was made."""
    return Page(made_chapter(findings).intro)


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
    looks = " ".join(first_looks(findings))
    n_open = int((findings.model.pairs()["settled"].to_numpy() == 0).sum())
    assert "1 worker looks like a spammer: e." in looks
    assert "Label hard: workers agree on it least, α " in looks
    assert f"Decisions that are open, {n_open} of 400" in looks


def test_how_votes_were_read_in_words():
    three, independent, labels = read({"independence": 0.98, "correlation": 0.9}, 3)
    assert "three ways" in three
    assert independent == "To 98 %, worker rates alone are believed: votes are independent beyond doubt."
    assert labels == "Labels of an item inform each other: this is believed to 90 %."
    assert read({"independence": 0.0, "correlation": 0.0}, 1) == [three]  # nothing unsoftened, no other label
    assert read({"independence": 0.0, "correlation": 0.0}, 2)[1].startswith("Labels of an item do not inform")


def test_known_truth_says_what_it_changed():
    votes = small_crowd().votes
    items, labels = votes.item_names.cast("string"), votes.label_names.cast("string")
    truth = Truth(PairList(items[:1], labels[:1]), known_items=items[:10])
    findings = findings_of(votes, AMCC(), truth=truth)
    page = page_of(findings)
    assert "What known truth changed" in page.headings
    assert findings.model.calibration_.sentence() in page.text


def test_truth_that_contradicts_everybody_is_warned_of_before_all_else():
    crowd = simulate_crowd(CrowdSpec(n_items=120, n_workers=15, n_labels=4, answers_per_item=6, seed=3))
    names, labels = crowd.votes.item_names.to_pylist()[:60], crowd.votes.label_names.to_pylist()
    opposite = [[labels[code] for code in np.flatnonzero(~crowd.truth[item])] for item in range(60)]
    truth = Truth.from_frames(pa.table({"item": names, "labels": opposite}))
    findings = findings_of(crowd.votes, DawidSkene(), truth=truth)
    effect = truth_effect(findings.model, crowd.votes)
    assert effect.suspicion
    chapter = made_chapter(findings).intro.split("What known truth changed")[1]
    assert chapter.startswith(f'</h3><ul><li><span lang="en">⚠ {escape(effect.suspicion)}')
    assert any(step.startswith("Check the file with the truth.") for step in told(steps(known_of(findings))))


def test_nothing_stands_out_where_all_agree():
    findings = findings_of(agreed())
    assert list(first_looks(findings)) == []
    assert page_of(findings).headings == []


def test_a_fit_that_stopped_too_early_comes_first():
    with pytest.warns(UserWarning, match="stopped after"):
        findings = findings_of(small_crowd().votes, DawidSkene(max_iter=1))
    looks = list(first_looks(findings))
    assert looks[0] == "All numbers: the estimates had not settled when the model stopped."
    assert looks[-1].endswith("further answers may change them (the items).")
    assert "--param max_iter=1000" in told(steps(known_of(findings)))[0]
    assert "converged no ⚠, 1 round" in page_of(findings).text


def test_one_open_pair_is_singular():
    votes = Votes.from_dense([[[1]], [[-1]]])
    assert list(first_looks(findings_of(votes)))[-1].startswith("The decision that is open, 1 of 1:")


@pytest.mark.parametrize(
    ("n_silent", "named"),
    [
        (1, "1 item that nobody answered: 3. All"),
        (MAX_NAMES_IN_TEXT, f"{MAX_NAMES_IN_TEXT} items that nobody answered: 3, 4, 5, 6, 7. All"),
        (MAX_NAMES_IN_TEXT + 1, "6 items that nobody answered: 3, 4, 5, 6, 7 and 1 more. All"),
    ],
)
def test_items_without_answer_are_named_up_to_a_limit(n_silent, named):
    codes = np.repeat(np.arange(3), 2), np.tile([0, 1], 3), np.zeros(6, dtype=int)
    names = {"item_names": range(3 + n_silent), "worker_names": "ab", "label_names": "p"}
    votes = Votes.from_codes(*codes, np.ones(6, dtype=int), **{role: list(each) for role, each in names.items()})
    (look,) = [look for look in first_looks(findings_of(votes)) if look.startswith("What is said of")]
    assert look == f"What is said of {named} that is known there is how frequent labels are."


def test_features_that_say_something_are_all_that_is_known_of_items_without_answer():
    crowd = simulate_crowd(CrowdSpec(n_items=240, n_workers=20, n_labels=4, answers_per_item=2, seed=2))
    votes = crowd.votes.select(crowd.votes.item % 4 > 0)
    features = 3 * crowd.truth + np.random.default_rng(0).normal(size=crowd.truth.shape)
    findings = findings_of(votes, AMCC(), features=features)
    assert findings.model.item_prior_.weight > 0
    assert any(look.endswith("All that is known there is what their features say.") for look in first_looks(findings))
    page = page_of(findings)
    assert "What item features changed" in page.headings
    assert f"{findings.model.item_prior_.sentence()}." in page.text


def test_agreement_needs_two_workers_on_a_pair():
    alone = Votes.from_dense([[[1, -1], [-1, 1]]])
    looks = list(first_looks(findings_of(alone)))
    assert looks[0] == "Agreement cannot be measured: no two workers were asked about the same item and label."
    assert "agreement α –" in page_of(findings_of(alone)).text
    assert not any(look.startswith("Agreement") for look in first_looks(findings_of(agreed())))


@pytest.mark.parametrize(("n_items", "said"), [(MIN_COMPARED - 1, False), (MIN_COMPARED, True)])
def test_agreement_on_a_label_is_judged_from_enough_items(n_items, said):
    votes = np.ones((2, n_items, 1), dtype=int)
    votes[1, ::2] = -1
    looks = list(first_looks(findings_of(Votes.from_dense(votes, label_names=["odd"]))))
    assert any(look.startswith("Label odd: workers agree on it least") for look in looks) == said


def test_the_label_that_is_agreed_on_least_is_named_among_all_low_ones():
    rng = np.random.default_rng(0)
    votes = np.where(rng.random((4, 60, 4)) < 0.5, 1, -1)
    votes[:, :, 0] = votes[0, :, 0]  # all agree on the first label
    votes[1:, :30, 2] = votes[0, :30, 2]  # and on half of the items on the third
    votes[1:, 3:, 3] = votes[0, 3:, 3]  # and on nearly all items on the fourth, which is good enough
    findings = findings_of(Votes.from_dense(votes, label_names=["same", "noise", "half", "nearly"]))
    (look,) = [look for look in first_looks(findings) if "agree on it least" in look]
    assert look.startswith("Label noise: workers agree on it least, α ")
    assert look.endswith("for 2 of 4 labels; also for half.")


def test_several_spammers_are_plural():
    rng = np.random.default_rng(0)
    truth = rng.random((300, 2)) < 0.5
    honest = np.where(rng.random((6, 300, 2)) < 0.95, truth, ~truth)
    votes = np.where(np.concatenate([honest, rng.random((2, 300, 2)) < 0.5]), 1, -1)
    looks = " ".join(first_looks(findings_of(Votes.from_dense(votes, worker_names=list("abcdefgh")))))
    assert "2 workers look like spammers: g, h. Yes comes about as often" in looks


def test_how_the_votes_were_read_is_told():
    frame = pa.table({"worker": ["a", "a", "b"], "item": ["x", "x", "x"], "label": ["p", "p", "p"], "value": [1, 1, 0]})
    votes = Votes.from_frame(frame)
    assert votes.notes()
    page = page_of(findings_of(votes))
    assert page.headings[-1] == "How the votes were read"
    for note in votes.notes():
        assert note in page.text


def test_summary_counts_by_hand():
    dense = [[[1, -1], [1, 0], [0, 0]], [[1, 1], [0, 0], [-1, 1]]]
    page = page_of(findings_of(Votes.from_dense(dense), MajorityVote()))
    for shown in (
        "model MajorityVote()", "workers 2", "items 3", "items without answer 0 labels", "labels 2", "votes 7",
        "answers per item 1.3 (1 to 2)", "labels per answer 1.25", "settled pairs 1 of 5", "open pairs 4",
        "converged yes,",
    ):  # fmt: skip
        assert shown in page.text


# -- what to do, and whom to ask -----------------------------------------------------------------------------------


def test_who_knows_nothing_of_the_error_is_told_to_answer_questions():
    known = known_of(findings_of(small_crowd().votes, AMCC()))
    yourself, crowd, spammers = told(steps(known))
    assert yourself.startswith("Answer 10 questions yourself (the questions)")
    assert "amcc next votes.csv --for-expert -o mine.csv" in yourself
    n_open, n_pairs = known.findings.n_open, len(known.findings.doubt)
    assert crowd.startswith(f"Ask the crowd: {n_open:,} of {n_pairs:,} pairs are open. The next 100 answers")
    assert "amcc next votes.csv --budget 100 -o questions.csv" in crowd
    first = known.findings.votes.worker_names.to_pylist()[np.flatnonzero(known.findings.spammers)[0]]
    assert f"amcc workers votes.csv --worker {first}" in spammers


def test_the_questions_are_those_of_the_command():
    votes = small_crowd().votes
    known = known_of(findings_of(votes, AMCC()))
    mine = known.for_you.table(votes)
    assert mine.equals(questions_for_expert(AMCC().fit(votes), votes, 10).table(votes))
    best = next_questions(votes, budget=100)
    assert known.for_crowd.worth.put_right == pytest.approx(best.next_money().put_right)
    chosen = known.for_crowd.asked
    pairs = [set(zip(q.item.tolist(), q.label.tolist(), strict=True)) for q in (chosen, best.questions.asked)]
    assert len(chosen) == 100
    assert len(pairs[0] & pairs[1]) > 0.9 * len(pairs[0])  # chance decides between equals


def test_best_workers_are_no_spammers_and_lead_to_their_entries():
    known = known_of(findings_of(small_crowd().votes, AMCC()))
    codes = questions.best_workers(known.findings)
    assert len(codes) == questions.MAX_BEST
    assert not known.findings.spammers[codes].any()
    asked = "".join(whom_to_ask(known))
    assert all(f'href="#worker-{code}"' in asked for code in codes)


def test_known_truth_measures_the_error_as_counting_does():
    crowd = small_crowd()
    names, labels = crowd.votes.item_names.to_pylist(), crowd.votes.label_names.to_pylist()
    sets = [[labels[code] for code in np.flatnonzero(row)] for row in crowd.truth[:60]]
    truth = Truth.from_frames(pa.table({"item": names[:60], "labels": sets}))
    findings = findings_of(crowd.votes, AMCC(), truth=truth)
    model, measured = findings.model, measured_errors(findings)
    known = model.pair_known_
    wrong = (model.pair_unseen_ > 0.5)[known] != crowd.truth[model.pair_item_[known], model.pair_label_[known]]
    assert measured.n_pairs == known.sum()
    assert measured.overall["measured"] == pytest.approx(wrong.mean())
    assert any("on known pairs" in look for look in told(what_to_doubt(known_of(findings))))
    assert not any(step.startswith("Answer 10 questions") for step in told(steps(known_of(findings))))


def test_where_nothing_is_open_nothing_is_to_be_done():
    findings = findings_of(agreed(n_workers=12))
    assert findings.n_open == 0
    known = Known(findings, None, None, None, LabelFacts(findings))
    assert "Nothing needs to be done" in Page(answer_chapter(known).intro).text


def test_workers_named_like_models_are_to_be_declared():
    votes = small_crowd().votes
    names = [f"gpt-{code}" if code < 3 else f"w{code}" for code in range(votes.n_workers)]
    findings = findings_of(replace(votes, worker_names=pa.array(names)), AMCC())
    first = told(steps(known_of(findings)))[0]
    assert first.startswith("Say who belongs together.")
    assert "amcc workers votes.csv --suggest-workers workers.csv" in first
    assert any("gpt-0, gpt-1, gpt-2 as independent ones" in look for look in first_looks(findings))
