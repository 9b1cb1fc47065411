"""Worker rates by hand, and spammers that cannot hide behind a frequent label."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc import AMCC, Votes, load_model
from amcc.consensus import DawidSkene, MajorityVote
from amcc.consensus.workers import WorkerRates, likely_spammers, wilson_interval, worker_rates
from amcc.data.simulate import CrowdSpec, simulate_crowd
from amcc.passes import Judgement


def rates_of(dense, truth):
    votes = Votes.from_dense(dense)
    q = np.asarray(truth, dtype=float)[votes.item, votes.label]
    slot, n_slots = votes.coins.slot, 2 * len(votes.coins)
    return worker_rates(votes, Judgement(*(np.bincount(slot, weights, n_slots) for weights in (q, q**2))))


def test_rates_by_hand():
    """One label, 4 present and 4 absent items: one worker hits 3 and invents 1, the other hits 1 and invents 0."""
    truth = np.array([1, 1, 1, 1, 0, 0, 0, 0]).reshape(8, 1)
    dense = np.array([[1, 1, 1, -1, 1, -1, -1, -1], [1, -1, -1, -1, -1, -1, -1, -1]]).reshape(2, 8, 1)
    rates = rates_of(dense, truth)
    # Mantel–Haenszel weight 4 · 4 / 8 = 2; the crowd (hit rate 1/2, false alarms 1/8) counts as one more
    assert_allclose(rates.hit_rate, [(2 * 0.75 + 0.5) / 3, (2 * 0.25 + 0.5) / 3], rtol=1e-12)
    assert_allclose(rates.false_alarm_rate, [(2 * 0.25 + 0.125) / 3, (2 * 0.0 + 0.125) / 3], rtol=1e-12)
    assert_allclose(rates.informativeness, rates.hit_rate - rates.false_alarm_rate, rtol=1e-12)
    assert rates.answers.tolist() == [8, 8]


def test_uniform_spammer_is_uninformative():
    """They always tick the most frequent label: right on 80 % of their ticks, and worth nothing."""
    rng = np.random.default_rng(0)
    truth = rng.random((400, 4)) < [0.8, 0.1, 0.1, 0.1]
    honest = np.where(rng.random(truth.shape) < 0.1, ~truth, truth)
    spammer = np.zeros(truth.shape, dtype=bool)
    spammer[:, 0] = True
    dense = np.where([honest, honest, spammer], 1, -1)
    informativeness = rates_of(dense, truth).informativeness
    assert informativeness[0] > 0.7
    assert abs(informativeness[2]) < 0.02


def test_worker_who_met_only_absent_labels_counts_as_the_crowd():
    truth = np.array([[1], [0], [0]])
    dense = np.array([[[1], [-1], [-1]], [[0], [-1], [0]]])
    rates = rates_of(dense, truth)
    assert rates.hit_rate[1] == rates.hit_rate[0]
    assert (rates.hit_rate_low[1], rates.hit_rate_high[1]) == (0, 1)


def test_wilson_interval_matches_the_textbook():
    """8 of 10 at z = 1.96: .4902 to .9433."""
    low, high = wilson_interval(np.array([0.8]), np.array([10.0]))
    assert_allclose([low[0], high[0]], [0.4902, 0.9433], rtol=0, atol=5e-5)


def test_uncertain_judgement_does_not_dilute():
    """q is right on average: a worker with rates .9 and .1 keeps them although no single q is 0 or 1."""
    rng = np.random.default_rng(1)
    q = rng.choice([0.2, 0.7], size=(20_000, 1))
    truth = rng.random(q.shape) < q
    answers = rng.random(q.shape) < np.where(truth, 0.9, 0.1)
    rates = rates_of(np.where(answers, 1, -1)[None], q)
    assert_allclose([rates.hit_rate[0], rates.false_alarm_rate[0]], [0.9, 0.1], rtol=0, atol=0.03)


def test_worker_alone_on_the_items_counts_as_the_crowd_and_is_not_accused():
    truth = np.array([[1], [0]] * 50)
    company = np.where(truth, 1, -1)
    dense = np.zeros((3, 200, 1))
    dense[0, :100] = dense[1, :100] = company
    dense[2, 100:] = company
    q = np.concatenate([truth, np.full((100, 1), 0.5)])  # nobody else voted on the second half
    rates = rates_of(dense, q)
    assert rates.informativeness[2] == rates.informativeness[:2].mean()
    assert (rates.hit_rate_low[2], rates.hit_rate_high[2]) == (0, 1)
    assert not likely_spammers(rates).any()


@pytest.mark.parametrize("seed", range(3))
def test_spammers_of_a_simulated_crowd_are_found(seed):
    crowd = simulate_crowd(CrowdSpec.for_votes(10**5, seed=seed))
    accused = likely_spammers(DawidSkene().fit(crowd.votes).worker_rates_)
    guilty = np.char.endswith(crowd.worker_kind, "spammer")
    assert (accused & guilty).sum() >= 0.8 * accused.sum()
    assert (accused & guilty).sum() >= 0.8 * guilty.sum()


def test_honest_crowd_has_hardly_any_likely_spammer():
    crowd = simulate_crowd(CrowdSpec.for_votes(10**5, spammers=0.0))
    assert likely_spammers(DawidSkene().fit(crowd.votes).worker_rates_).mean() < 0.02


@pytest.mark.parametrize(("n_votes", "accused"), [(3, False), (300, True)])
def test_spammers_are_accused_on_enough_evidence_only(n_votes, accused):
    hit_rate, false_alarm_rate = np.array([0.8, 0.8, 0.3]), np.array([0.1, 0.1, 0.3])
    n = np.array([300.0, 300.0, n_votes])
    rates = WorkerRates.of_independent(
        n.astype(int), hit_rate, *wilson_interval(hit_rate, n), false_alarm_rate, *wilson_interval(false_alarm_rate, n)
    )
    assert likely_spammers(rates).tolist() == [False, False, accused]


def test_worker_without_company_is_not_called_a_spammer():
    crowd = simulate_crowd(CrowdSpec(n_items=600, n_workers=12, seed=2))
    votes = crowd.votes
    loner = int(np.flatnonzero(crowd.worker_kind == "reliable")[0])
    his_items = np.isin(votes.item, votes.item[votes.worker == loner])
    rates = DawidSkene().fit(votes.select((votes.worker == loner) | ~his_items)).worker_rates_
    assert not likely_spammers(rates)[loner]


# -- evidence in plain words -----------------------------------------------------------------------------------------


HABITS = {
    "always": lambda rng, shape: np.tile([False, True, False, False], (shape[0], 1)),
    "pair": lambda rng, shape: np.tile([True, False, True, False], (shape[0], 1)),
    "all": lambda rng, shape: rng.random(shape) < 0.97,
    "none": lambda rng, shape: rng.random(shape) < 0.01,
    "random": lambda rng, shape: rng.random(shape) < 0.4,
    "contrary": None,
}


def crowd_with(habit, seed=0, n_items=60, n_honest=5):
    """Five honest workers and one with a habit, on four labels; that one is the last, 'x'."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n_items, 4)) < [0.8, 0.3, 0.3, 0.2]
    honest = np.where(rng.random((n_honest, n_items, 4)) < 0.08, ~truth, truth)
    own = np.where(rng.random(truth.shape) < 0.2, truth, ~truth) if habit is None else habit(rng, truth.shape)
    return Votes.from_dense(
        np.where([*honest, own], 1, -1),
        label_names=["music", "dog", "cat", "rain"],
        worker_names=[*"abcdefgh"[:n_honest], "x"],
    )


@pytest.mark.parametrize("model", [AMCC, DawidSkene, MajorityVote])
@pytest.mark.parametrize(
    ("habit", "sentence"),
    [
        ("always", r"says yes to 'dog' in 60 of 60 answers \(others: \d+ %\), present or not"),
        ("pair", r"says yes to 'music' in 60 of 60 .* and 'cat' in 60 of 60 .*, present or not"),
        ("all", r"says yes to 23\d of 240 questions, present or not \(others: \d+ %\)"),
        ("none", r"ticked nothing in 5\d of 60 answers \(others: \d+ %\)"),
        (
            "random",
            r"yes to [34]\d % of present and [34]\d % of absent labels \(at most \d+ points .* workers: [78]\d\)",
        ),
        ("contrary", r"yes to [12]\d % of present, but [78]\d % of absent labels"),
    ],
)
def test_each_way_of_spamming_is_named_by_every_model(model, habit, sentence):
    table = model().fit(crowd_with(HABITS[habit])).workers().set_index("worker").evidence
    assert re.fullmatch(sentence, table.pop("x"))
    assert (table == "").all()


def test_habits_that_the_whole_crowd_has_are_no_evidence():
    """One question per answer, to which the true answer is mostly no: nobody is blamed for ticking nothing."""
    rng = np.random.default_rng(0)
    truth = np.zeros((400, 4), dtype=bool)
    truth[np.arange(400), rng.integers(4, size=400)] = True
    dense = np.where(np.where(rng.random((6, 400, 4)) < 0.02, ~truth, truth), 1, -1)
    dense[5] = np.where(rng.random((400, 4)) < 0.1, 1, -1)
    asked = np.arange(4) == np.arange(400)[:, None] % 4
    votes = Votes.from_dense(np.where(asked, dense, 0), worker_names=list("abcdex"))
    evidence = DawidSkene().fit(votes).worker_evidence_
    assert list(evidence) == [5]
    assert evidence[5].startswith("yes to 1")


def test_never_a_yes_to_single_questions():
    """One question per answer: nine of ten answers of the others are empty, so those are not what is counted."""
    rng = np.random.default_rng(1)
    truth = rng.random((600, 1)) < 0.1
    honest = np.where(rng.random((5, 600, 1)) < 0.01, ~truth, truth)
    votes = Votes.from_dense(np.where([*honest, np.zeros_like(truth)], 1, -1))
    (sentence,) = DawidSkene().fit(votes).worker_evidence_.values()
    assert re.fullmatch(r"says yes to none of 600 questions \(others: \d+ %\)", sentence)


@pytest.mark.parametrize("seed", range(5))
def test_careful_and_sparse_workers_are_not_accused(seed):
    votes = crowd_with(HABITS["always"], seed, n_items=8)
    some = votes.select((votes.worker < 5) | (votes.item < 2))  # two answers are not enough for a verdict
    assert DawidSkene().fit(some).worker_evidence_ == {}
    careful = crowd_with(lambda rng, shape: np.zeros(shape, dtype=bool), seed, n_honest=0)
    assert DawidSkene().fit(careful).worker_evidence_ == {}  # one worker is the whole crowd


def test_evidence_outlives_the_votes(tmp_path):
    model = AMCC().fit(crowd_with(HABITS["always"]))
    table = model.workers()
    model.save(tmp_path / "model.amcc")
    again = load_model(tmp_path / "model.amcc")
    assert again.worker_evidence_ == model.worker_evidence_ != {}
    assert again.workers().equals(table)


def test_everybody_whom_likely_spammers_names_gets_a_sentence_and_nobody_else():
    crowd = simulate_crowd(CrowdSpec.for_votes(10**5, seed=1))
    model = DawidSkene().fit(crowd.votes)
    accused = np.flatnonzero(likely_spammers(model.worker_rates_))
    assert list(model.worker_evidence_) == accused.tolist()
    assert all(model.worker_evidence_.values())
    for worker in accused[crowd.worker_kind[accused] == "uniform_spammer"]:
        assert model.worker_evidence_[worker].endswith(", present or not")
    of_random = [model.worker_evidence_[worker] for worker in accused[crowd.worker_kind[accused] == "random_spammer"]]
    assert np.mean([text.startswith("yes to") for text in of_random]) > 0.9


def test_many_favourite_labels_are_summed_up():
    rng = np.random.default_rng(0)
    truth = rng.random((60, 12)) < 0.2
    spam = np.tile(np.arange(12) < 5, (60, 1))
    votes = Votes.from_dense(np.where([truth, truth, truth, spam], 1, -1))
    (sentence,) = DawidSkene().fit(votes).worker_evidence_.values()
    assert sentence.count(" of 60 answers") == 3
    assert sentence.endswith(" and 2 more labels, present or not")


def test_intervals_hold_their_rates_whatever_the_rounding():
    n = np.linspace(0.1, 500, 20_000)
    for rate in (0.0, 1.0, 1 / 3):
        low, high = wilson_interval(np.full_like(n, rate), n)
        assert (low <= rate).all()
        assert (high >= rate).all()
