"""Kinds of label sets: exact against all truths, never downhill, and found where they were planted."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit

from amcc.consensus.default import correlation
from amcc.consensus.default.correlation import (
    LabelSets,
    fit_label_sets,
    kinds_of_items,
    label_set_step,
    update_label_sets,
)
from amcc.consensus.default.settings import Settings
from amcc.votes import Pairs

SETTINGS = Settings()
SETS = LabelSets(np.array([0.3, 0.7]), np.array([[0.9, 0.8, 0.1], [0.2, 0.3, 0.6]]))


def all_pairs(n_items, n_labels, keep=None):
    item, label = np.nonzero(np.ones((n_items, n_labels), bool) if keep is None else keep)
    return Pairs(item.astype(np.int32), label.astype(np.int32), np.arange(len(item) + 1))


def brute_force(pairs, log_odds, sets):
    """Probability of each pair, expected kinds, present and asked pairs, log-evidence: by all truths and kinds."""
    n_items = pairs.item.max() + 1
    proba, share = np.zeros(len(pairs)), np.zeros(len(sets.share))
    present, asked, log_evidence = np.zeros(sets.frequency.shape), np.zeros(sets.frequency.shape), 0.0
    for item in range(n_items):
        mine = np.flatnonzero(pairs.item == item)
        label, outcomes = pairs.label[mine], []
        for kind, truth in product(range(len(sets.share)), product([False, True], repeat=len(mine))):
            truth = np.array(truth, dtype=bool)
            f = sets.frequency[kind, label]
            weight = sets.share[kind] * np.where(truth, f * np.exp(log_odds[mine]), 1 - f).prod()
            outcomes.append((kind, truth, weight))
        total = sum(weight for _, _, weight in outcomes)
        log_evidence += np.log(total)
        for kind, truth, weight in outcomes:
            proba[mine] += truth * weight / total
            share[kind] += weight / total
            present[kind, label] += truth * weight / total
            asked[kind, label] += weight / total
    return proba, share, present, asked, log_evidence


def tiny(seed, keep=None):
    pairs = all_pairs(2, 3, keep)
    return pairs, np.random.default_rng(seed).normal(scale=2, size=len(pairs))


@pytest.mark.parametrize("keep", [None, np.array([[1, 0, 1], [0, 1, 0]])], ids=["all asked", "some asked"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("small", [True, False], ids=["numpy", "compiled"])
def test_step_against_all_truths_and_kinds(seed, keep, small, monkeypatch):
    if not small:
        monkeypatch.setattr(correlation, "FEW_PAIRS", 0)
    pairs, log_odds = tiny(seed, keep)
    step = label_set_step(pairs, log_odds, SETS)
    found = step.proba, step.share, step.present, step.asked, step.log_evidence
    for ours, theirs in zip(found, brute_force(pairs, log_odds, SETS), strict=True):
        assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


def test_kinds_are_those_of_the_step():
    pairs, log_odds = tiny(0)
    member = kinds_of_items(pairs, log_odds, SETS, 2)
    assert_allclose(member.sum(axis=1), 1)
    assert_allclose(member.sum(axis=0), label_set_step(pairs, log_odds, SETS).share)


def test_one_kind_leaves_labels_independent():
    pairs, log_odds = tiny(0)
    alone = LabelSets(np.ones(1), SETS.frequency[:1])
    expected = expit(logit(SETS.frequency[0])[pairs.label] + log_odds)
    assert_allclose(label_set_step(pairs, log_odds, alone).proba, expected)


def test_certain_votes_do_not_overflow():
    pairs, _ = tiny(0)
    step = label_set_step(pairs, np.array([500.0, -500.0] * 3), SETS)
    assert_allclose(step.proba, [1, 0] * 3, rtol=0, atol=1e-12)
    assert np.isfinite(step.log_evidence)


def log_prior(sets, frequency):
    """Log-density of the kinds, against kinds that are all like the whole."""
    here, rest = np.log(sets.frequency / frequency), np.log((1 - sets.frequency) / (1 - frequency))
    shares = np.log(sets.share * len(sets.share)).sum()
    return SETTINGS.pseudo_votes / 2 * (frequency * here + (1 - frequency) * rest).sum() + shares


@pytest.mark.parametrize("seed", range(4))
def test_em_never_falls(seed):
    rng = np.random.default_rng(seed)
    pairs = all_pairs(60, 5, rng.random((60, 5)) < 0.7)
    log_odds = rng.normal(scale=2, size=len(pairs))
    frequency = rng.uniform(0.1, 0.5, 5)
    sets = LabelSets(rng.dirichlet(np.ones(4)), rng.uniform(0.05, 0.95, (4, 5)))
    values = []
    for _ in range(30):
        step = label_set_step(pairs, log_odds, sets)
        values.append(step.log_evidence + log_prior(sets, frequency))
        sets = update_label_sets(step, frequency, SETTINGS)
    assert np.diff(values).min() >= -1e-9 * abs(values[0])
    assert values[-1] > values[0]


def test_correlation_is_that_of_items_drawn_from_the_kinds():
    rng = np.random.default_rng(0)
    kind = rng.choice(2, p=SETS.share, size=200_000)
    truth = rng.random((200_000, 3)) < SETS.frequency[kind]
    assert_allclose(SETS.correlation(), np.corrcoef(truth.T), rtol=0, atol=0.01)


def test_correlation_of_two_opposite_kinds():
    """Frequencies a and 1 − a in equal shares: correlation (1 − 2a)²."""
    sets = LabelSets(np.array([0.5, 0.5]), np.array([[0.9, 0.9, 0.1], [0.1, 0.1, 0.9]]))
    expected = 0.64 * np.array([[1, 1, -1], [1, 1, -1], [-1, -1, 1]])
    np.fill_diagonal(expected, 1)
    assert_allclose(sets.correlation(), expected)


@pytest.fixture(scope="module")
def planted():
    """Items of two kinds: labels 0 and 1 together, or labels 2 and 3 together; votes are nearly certain."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=600)
    truth = rng.random((600, 4)) < np.array([[0.9, 0.8, 0.05, 0.05], [0.05, 0.05, 0.9, 0.8]])[kind]
    log_odds = np.where(truth, 3.0, -3.0).ravel() + rng.normal(size=2400)
    return kind, truth, log_odds


def test_planted_kinds_are_recovered(planted):
    kind, truth, log_odds = planted
    pairs = all_pairs(600, 4)
    sets = fit_label_sets(pairs, log_odds, truth.mean(axis=0), SETTINGS)
    assert_allclose(sets.correlation(), np.corrcoef(truth.T), rtol=0, atol=0.12)
    member = kinds_of_items(pairs, log_odds, sets, 600)
    first = member @ (sets.frequency[:, 0] > sets.frequency[:, 2])
    assert np.mean((first > 0.5) == (kind == 0)) > 0.95


def test_labels_of_an_item_settle_what_the_votes_leave_open(planted):
    _, truth, log_odds = planted
    pairs = all_pairs(600, 4)
    sets = fit_label_sets(pairs, log_odds, truth.mean(axis=0), SETTINGS)
    open_question = all_pairs(2, 4)
    proba = label_set_step(open_question, np.array([4, 0, -4, -4, -4, 0, 4, 4], float), sets).proba
    assert proba[1] > 0.65
    assert proba[5] < 0.2


@pytest.mark.parametrize("small", [True, False], ids=["numpy", "compiled"])
def test_blocks_do_not_matter(planted, small, monkeypatch):
    if not small:
        monkeypatch.setattr(correlation, "FEW_PAIRS", 0)
    log_odds, pairs = planted[2], all_pairs(600, 4)
    sets = LabelSets(SETS.share, np.hstack([SETS.frequency, [[0.5], [0.1]]]))
    whole, kinds = label_set_step(pairs, log_odds, sets), kinds_of_items(pairs, log_odds, sets, 600)
    monkeypatch.setattr(correlation, "BLOCK", 9)
    cut = label_set_step(pairs, log_odds, sets)
    for name in ("proba", "share", "present", "asked", "log_evidence"):
        assert_allclose(getattr(cut, name), getattr(whole, name), rtol=1e-10)
    assert_allclose(kinds_of_items(pairs, log_odds, sets, 600), kinds)


def test_blocks_do_not_cut_items(monkeypatch):
    monkeypatch.setattr(correlation, "BLOCK", 4)
    item = np.repeat([0, 2, 3, 7], [3, 6, 1, 2]).astype(np.int32)
    assert correlation._bounds(item, correlation.BLOCK) == [(0, 9), (9, 12)]


def test_items_without_pairs_are_of_the_usual_kinds():
    pairs = Pairs(np.array([1, 1], np.int32), np.array([0, 2], np.int32), np.arange(3))
    member = kinds_of_items(pairs, np.array([3.0, -3.0]), SETS, 4)
    assert_allclose(member[[0, 2, 3]], np.tile(SETS.share, (3, 1)))
    assert member[1, 0] > 0.7


def test_items_without_pairs_between_others_change_nothing():
    item, label, start = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 2], np.int32), np.arange(5)
    log_odds = np.array([1.0, -2.0, 0.5, 3.0])
    dense, gappy = (
        label_set_step(Pairs(code.astype(np.int32), label, start), log_odds, SETS) for code in (item, 5 * item + 2)
    )
    assert_allclose(gappy.proba, dense.proba)
    assert gappy.log_evidence == pytest.approx(dense.log_evidence)


def test_no_pairs_at_all():
    nothing = Pairs(np.empty(0, np.int32), np.empty(0, np.int32), np.zeros(1, np.int64))
    step = label_set_step(nothing, np.empty(0), SETS)
    assert step.proba.shape == (0,)
    assert step.log_evidence == 0
    sets = fit_label_sets(nothing, np.empty(0), np.full(3, 0.2), SETTINGS)
    assert_allclose(sets.frequency, 0.2)
