"""Hashes of items, workers and labels that depend on votes only, not on names or order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from amcc import Votes
from amcc.consensus import signature
from amcc.consensus.signature import draws, signatures


@pytest.fixture(scope="module")
def dense():
    """(n_workers, n_items, n_labels)"""
    return np.random.default_rng(0).choice([-1, 0, 1], p=[0.6, 0.2, 0.2], size=(15, 400, 6))


def hashes(dense, random_state=0):
    return signatures(Votes.from_dense(dense), random_state)


@pytest.mark.parametrize("axis", [0, 1, 2], ids=["workers", "items", "labels"])
def test_hashes_move_with_what_they_are_of(dense, axis):
    order = np.random.default_rng(1).permutation(dense.shape[axis])
    before, after = hashes(dense), hashes(np.take(dense, order, axis=axis))
    assert_array_equal(after.item, before.item[order] if axis == 1 else before.item)
    assert_array_equal(after.worker, before.worker[order] if axis == 0 else before.worker)
    assert_array_equal(after.label, before.label[order] if axis == 2 else before.label)


def test_another_random_state_changes_every_item(dense):
    assert (hashes(dense, 0).item != hashes(dense, 1).item).all()
    assert (hashes(dense, 0).label != hashes(dense, 1).label).all()


def test_same_random_state_changes_nothing(dense):
    assert_array_equal(hashes(dense, 5).item, hashes(dense, 5).item)


def test_distinct_items_workers_and_labels_have_distinct_hashes(dense):
    found = hashes(dense)
    assert len(np.unique(found.item)) == 400
    assert len(np.unique(found.worker)) == 15
    assert len(np.unique(found.label)) == 6


def test_labels_nobody_told_apart_have_hashes_of_their_own(dense):
    twins = np.concatenate([dense, dense[:, :, :1]], axis=2)
    assert len(np.unique(hashes(twins).label)) == 7


def test_draws_are_uniform_and_belong_to_their_hash(dense):
    item = hashes(dense).item
    drawn = draws(item, 3)
    assert_array_equal(draws(item[::-1], 3), drawn[::-1])
    assert_array_equal(draws(item, 5)[:, :3], drawn)
    assert np.abs(np.sort(drawn.ravel()) - (np.arange(1200) + 0.5) / 1200).max() < 1.63 / np.sqrt(1200)  # 1 %
    assert np.abs(np.corrcoef(drawn, rowvar=False) - np.eye(3)).max() < 0.15


def test_items_with_equal_counts_are_told_apart_by_their_workers():
    """Both items have one yes and one no; only who said it differs, and workers differ by a third item."""
    dense = np.array([[[1], [-1], [1]], [[-1], [1], [0]]])
    item = hashes(dense).item
    assert item[0] != item[1]


def test_items_with_the_same_votes_have_a_chance_of_their_own():
    """Or all would lose the same worker's answer to a fold, and folds would depend on what was answered."""
    dense = np.array([[[1, -1]] * 400, [[-1, -1]] * 400])
    chance = hashes(dense)
    assert len(set(chance.item.tolist())) == 400
    first = chance.of_answers(np.arange(400), np.zeros(400, np.int64))
    second = chance.of_answers(np.arange(400), np.ones(400, np.int64))
    assert 150 < (first < second).sum() < 250


def test_one_changed_vote_changes_the_item(dense):
    changed = dense.copy()
    changed[3, 7, 2] = 1 if dense[3, 7, 2] < 1 else -1
    assert hashes(changed).item[7] != hashes(dense).item[7]


def test_numbers_of_items_are_roughly_uniform(dense):
    number = hashes(dense).uniform
    assert number.min() >= 0
    assert number.max() < 1
    assert np.abs(np.sort(number) - (np.arange(400) + 0.5) / 400).max() < 1.63 / np.sqrt(400)  # Kolmogorov, 1 %


def test_answers_have_distinct_hashes(dense):
    item, worker = (index.ravel() for index in np.indices((400, 15)))
    assert len(np.unique(hashes(dense).of_answers(item, worker))) == 6000


def test_compiled_hashes_equal_numpy(dense, monkeypatch):
    by_numpy = hashes(dense)
    monkeypatch.setattr(signature, "SMALL", 0)
    compiled = hashes(dense)
    for role in ("item", "worker", "label"):
        assert_array_equal(getattr(compiled, role), getattr(by_numpy, role))
