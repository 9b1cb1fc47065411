"""The set rules against every possible set and truth, and against distributions of counts."""

from __future__ import annotations

import time
from functools import cache
from itertools import product
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from amcc import Votes, metrics
from amcc.consensus import DawidSkene, MajorityVote
from amcc.decode import (
    ITEMS_PER_BLOCK,
    RULES,
    Rule,
    _f1_of_sizes,
    _jaccard_of_sizes,
    decode,
    expected_f1,
    expected_jaccard,
    threshold,
    top_k,
)
from amcc.errors import ParameterError

EXPECTED = {"f1": expected_f1, "jaccard": expected_jaccard}
EXACT = {"rtol": 0, "atol": 1e-9}  # the rules themselves call scores equal that are nearer than this

probabilities = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1e-9, 0.1, 0.3, 0.5, 0.7, 1.0]))
matrices = st.integers(1, 6).flatmap(lambda n: arrays(np.float64, (3, n), elements=probabilities))


@cache
def all_sets(n_labels: int) -> np.ndarray:
    """(2 ** n_labels, n_labels)"""
    return np.array(list(product([False, True], repeat=n_labels)))


@cache
def all_scores(metric: str, n_labels: int) -> np.ndarray:
    """[s, t] score of set s when t is the truth, by the package's own metric."""
    sets = all_sets(n_labels)
    predicted, truth = np.repeat(sets, len(sets), axis=0), np.tile(sets, (len(sets), 1))
    return getattr(metrics.item_scores(truth, predicted), metric).reshape(len(sets), len(sets))


def expected_score_of_sets(metric: str, row: np.ndarray) -> np.ndarray:
    """(2 ** n_labels,) expected score of every set, summed over every truth."""
    chance = np.where(all_sets(len(row)), row, 1 - row).prod(axis=1)
    return all_scores(metric, len(row)) @ chance


@pytest.mark.parametrize("metric", EXPECTED)
@given(proba=matrices)
def test_no_set_scores_better(metric, proba):
    for row, chosen in zip(proba, EXPECTED[metric](proba), strict=True):
        scores = expected_score_of_sets(metric, row)
        place = int("".join(map(str, chosen.astype(int))), 2)
        assert_allclose(scores[place], scores.max(), rtol=0, atol=1e-8)  # ties within the rounding of the search


def counts(row: np.ndarray) -> np.ndarray:
    """(n + 1,) distribution of the number of present labels."""
    share = np.ones(1)
    for p in row:
        share = np.convolve(share, [1 - p, p])
    return share


@pytest.mark.parametrize("n_labels", [1, 2, 9, 30, 120])
@pytest.mark.parametrize("mean", [0.02, 0.3, 0.9])
def test_scores_of_sizes_follow_from_distributions_of_counts(n_labels, mean):
    """Beyond what can be enumerated, where fewer points than for any polynomial are used."""
    ranked = -np.sort(-np.random.default_rng(0).beta(mean, 1 - mean, size=(2, n_labels)), axis=1)
    jaccard, f1 = _jaccard_of_sizes(ranked), _f1_of_sizes(ranked)
    for item, row in enumerate(ranked):
        for k in range(1, n_labels + 1):
            chance = np.outer(counts(row[:k]), counts(row[k:]))
            hits, missed = np.ogrid[: k + 1, : n_labels - k + 1]
            assert_allclose(jaccard[item, k - 1], (chance * hits / (k + missed)).sum(), rtol=1e-11, atol=0)
            assert_allclose(f1[item, k - 1], (chance * 2 * hits / (k + hits + missed)).sum(), rtol=1e-11, atol=0)


def test_worked_numbers():
    """Labels of probability .7 and .4, sets {}, {1} and {1, 2}.

    Jaccard: .3 · .6 = .18, .7 · (.6 / 1 + .4 / 2) = .56, 1.1 / 2 = .55;
    F1: .18, .42 + .28 · 2/3 = .607, (.42 + .12) · 2/3 + .28 = .64.
    """
    row = np.array([[0.7, 0.4]])
    assert_allclose(_jaccard_of_sizes(row), [[0.56, 0.55]], rtol=1e-12)
    assert_allclose(_f1_of_sizes(row), [[0.42 + 0.56 / 3, 0.64]], rtol=1e-12)
    assert_array_equal(expected_jaccard(row), [[True, False]])
    assert_array_equal(expected_f1(row), [[True, True]])
    assert_array_equal(threshold(row), [[True, False]])
    assert_array_equal(threshold(row, cut=0.8), [[False, False]])


def test_ties_go_to_the_first_label_and_the_smallest_set():
    row = [[0.2, 0.6, 0.2, 0.6]]
    assert_array_equal(top_k(row, 1), [[False, True, False, False]])
    assert_array_equal(top_k(row, 3), [[True, True, False, True]])
    many = np.random.default_rng(0).integers(4, size=300) / 4
    first = sorted(range(300), key=lambda label: (-many[label], label))[:100]
    assert_array_equal(np.flatnonzero(top_k([many], 100)), sorted(first))
    for rule in ("threshold", "expected_f1", "expected_jaccard"):  # with one label, all of them score ½ either way
        assert_array_equal(decode([[0.5]], rule), [[False]])


def test_rounding_does_not_break_ties():
    """{1} and {1, 2} have the same Jaccard score, p · (1 − q / 2) = (p + q) / 2, where q = p / (1 + p)."""
    p = np.linspace(0.51, 0.99, 40)
    assert_array_equal(expected_jaccard(np.column_stack([p, p / (1 + p)])), [[True, False]] * 40)


def test_many_unlikely_labels_matter():
    """One label as likely as not: alone, none is as good as it; beside 200 of .005 each, none is seldom right."""
    for rule in EXPECTED.values():
        assert not rule([[0.5]]).any()
        assert_array_equal(rule([[0.5] + [0.005] * 200])[0, :1], [True])


@pytest.mark.parametrize("rule", ["threshold", "expected_f1", "expected_jaccard"])
def test_certainty_is_kept(rule):
    for n_labels in (1, 4, 1000):
        certain = np.random.default_rng(0).random((30, n_labels)) < 0.3
        certain[:2] = [[False], [True]]  # no label, every label
        assert_array_equal(decode(certain, rule), certain)
    assert_array_equal(decode([[0.49], [0.51]], rule), [[False], [True]])  # one label


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_nothing_to_decode(shape):
    for rule in RULES:
        assert decode(np.zeros(shape), rule, 1 if rule == "top_k" else None).shape == shape


def test_top_k_takes_all_where_there_are_no_more():
    assert top_k(np.zeros((2, 3)), 7).all()
    assert_array_equal(top_k(np.random.default_rng(0).random((2000, 9)), np.int64(4)).sum(axis=1), 4)


@pytest.mark.parametrize("metric", EXPECTED)
def test_items_do_not_depend_on_their_neighbours(metric):
    """Neither on the block they fall in nor on how many labels the others need."""
    rng = np.random.default_rng(1)
    proba = rng.beta(0.2, 1, size=(ITEMS_PER_BLOCK + 40, 12)) * rng.integers(2, size=(ITEMS_PER_BLOCK + 40, 12))
    chosen = EXPECTED[metric](proba)
    for item in (0, 7, ITEMS_PER_BLOCK - 1, ITEMS_PER_BLOCK, len(proba) - 1):
        assert_array_equal(EXPECTED[metric](proba[[item]])[0], chosen[item])


@pytest.mark.parametrize("metric", EXPECTED)
def test_rule_pays_on_drawn_truths(metric):
    """What is best in expectation is better on average, by far more than chance would allow."""
    rng = np.random.default_rng(2)
    proba = rng.beta(0.5, 1.5, size=(20_000, 8))
    truth = rng.random(proba.shape) < proba
    score = getattr(metrics, metric)
    assert score(truth, EXPECTED[metric](proba)) > score(truth, threshold(proba)) + 0.02


@pytest.mark.parametrize("metric", EXPECTED)
def test_thousand_labels(metric):
    proba = np.random.default_rng(3).beta(0.02, 1, size=(500, 1000))
    begin = time.perf_counter()
    size = EXPECTED[metric](proba).sum(axis=1)
    assert time.perf_counter() - begin < 10  # about half a second on two quiet cores
    assert_allclose(size.mean(), proba.sum(axis=1).mean(), rtol=0.3)


def test_input_is_unchanged():
    proba = np.random.default_rng(4).random((5, 4))
    before = proba.copy()
    for rule in RULES:
        decode(proba, rule, 2 if rule == "top_k" else None)
    assert_array_equal(proba, before)


def test_rules_have_the_names_of_their_type():
    assert tuple(RULES) == get_args(Rule)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "guess"}, "one of threshold, expected_f1, expected_jaccard, top_k; got 'guess'"),
        ({"rule": "top_k"}, "needs the number of labels"),
        ({"rule": "top_k", "k": 0}, "at least 1; got 0"),
        ({"rule": "top_k", "k": 1.5}, "whole number of at least 1; got 1.5"),
        ({"rule": "expected_f1", "k": 2}, "for decode='top_k' only; got k=2"),
        ({"k": 2}, "with decode='threshold'"),
    ],
)
def test_bad_rules(arguments, message):
    with pytest.raises(ParameterError, match=message):
        decode([[0.5]], **arguments)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("value", [np.nan, -0.1, 1.1, np.inf])
def test_bad_probabilities(rule, value):
    with pytest.raises(ParameterError, match=rf"row 1, column 2 holds {value} \(1 such"):
        decode([[0.1, 0.2, 0.3], [0.4, 0.5, value]], rule, 1 if rule == "top_k" else None)
    with pytest.raises(ParameterError, match=r"shape \(n_items, n_labels\); got \(1,\)"):
        decode([0.5], rule, 1 if rule == "top_k" else None)


def test_bad_cut():
    with pytest.raises(ParameterError, match=r"cut must lie in \[0, 1\]; got 2"):
        threshold([[0.5]], cut=2)


class TestModels:
    def test_every_answer_follows_the_rule(self, crowd):
        model = DawidSkene().fit(crowd.votes)
        proba = model.predict_proba()
        for rule in RULES:
            k = 2 if rule == "top_k" else None
            expected = decode(proba, rule, k)
            assert_array_equal(model.predict(decode=rule, k=k), expected)
            assert_array_equal(model.predict(crowd.votes, decode=rule, k=k)[:3], expected[:3])
            present = model.pairs(all_labels=True, decode=rule, k=k)["present"].to_numpy()
            assert_array_equal(present.reshape(proba.shape), expected)
            asked = model.pairs(decode=rule, k=k)["present"].to_numpy()
            assert_array_equal(asked, expected[model.pair_item_, model.pair_label_])
            names = np.array(model.label_names_.to_pylist())
            assert model.sets(decode=rule, k=k)["labels"].to_list() == [names[row].tolist() for row in expected]

    def test_sets_may_hold_labels_nobody_was_asked_about(self):
        """Nobody was asked about "a" on the second item; elsewhere everybody said yes."""
        model = MajorityVote().fit(Votes.from_dense([[[1, -1], [0, -1]]] * 3, label_names=["a", "b"]))
        assert model.sets()["labels"].to_list() == [["a"], ["a"]]
        assert model.sets(decode="top_k", k=2)["labels"].to_list() == [["a", "b"], ["a", "b"]]

    def test_settled(self):
        """20, 18, 10, 2 and 0 yes of 20: wrong with probability 0, .1, .5, .1, 0, where .05 may be claimed."""
        n_yes = np.array([20, 18, 10, 2, 0])
        dense = np.where(np.arange(20)[:, None] < n_yes, 1, -1)[:, :, None]
        table = MajorityVote().fit(Votes.from_dense(dense)).pairs(frame="arrow")
        assert table.column_names == ["item", "label", "probability", "present", "settled"]
        assert table["settled"].to_pylist() == [1, 0, 0, 0, 1]
        assert table["present"].to_pylist() == [1, 1, 0, 0, 0]

    @pytest.mark.parametrize("ask", ["predict", "pairs", "sets", "pair_present"])
    def test_bad_rules(self, toy_votes, ask):
        answer = getattr(MajorityVote().fit(toy_votes), ask)
        for arguments in ({"decode": "guess"}, {"decode": "top_k"}, {"k": 2}):
            with pytest.raises(ParameterError, match="decode"):
                answer(**arguments)
