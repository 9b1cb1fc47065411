"""Columns of disagreement and soft labels, as they are read off for blocks of votes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc import Votes
from amcc.consensus import disagreement as kinds
from amcc.consensus import pair_columns
from amcc.consensus.pair_columns import learn_reader, names_of, sample_of
from amcc.engine.base import InMemory


@pytest.fixture(scope="module")
def votes():
    return Votes.from_dense(np.random.default_rng(0).integers(-1, 2, (6, 40, 2)))


def proba_of(votes):
    return votes.n_yes / votes.pairs.n_votes


def test_only_what_was_asked_for_is_learned(votes):
    items = np.arange(40)
    neither = learn_reader(items, votes, proba_of(votes), None, disagreement=False)
    assert neither.columns(votes, proba_of(votes)) == {}
    assert neither.all_columns({}, np.zeros(0, int), 40) == {}
    soft = learn_reader(items, votes, proba_of(votes), np.ones(6), disagreement=False)
    assert list(soft.columns(votes, proba_of(votes))) == ["soft", "soft_low", "soft_high"]


def test_blocks_are_read_as_the_whole(votes):
    reader = learn_reader(np.arange(40), votes, proba_of(votes), np.ones(6), disagreement=True)
    whole = reader.columns(votes, proba_of(votes))
    second = votes.select(votes.item >= 20)
    renumbered = Votes(
        second.item - 20, second.worker, second.label, second.value, votes.item_names[20:], votes.worker_names,
        votes.label_names,
    )  # fmt: skip
    block = reader.columns(renumbered, proba_of(renumbered), first_item=20)
    here = votes.pairs.item >= 20
    assert block["disagreement"].to_pylist() == [
        kind for kind, mine in zip(whole["disagreement"].to_pylist(), here, strict=True) if mine
    ]
    for name in ("soft", "soft_low", "soft_high"):
        assert_allclose(block[name], whole[name][here])


def test_folds_of_a_block_go_by_the_numbers_of_the_whole(votes, monkeypatch):
    """Sides are used on items that did not teach them: a block that counts from 0 would mix up the folds."""
    reader = learn_reader(np.arange(40), votes, proba_of(votes), None, disagreement=True)
    numbers, asked_of = [], kinds.asked_of
    monkeypatch.setattr(kinds, "asked_of", lambda votes, number: numbers.append(number) or asked_of(votes, number))
    reader.columns(votes, proba_of(votes), first_item=100)
    assert numbers[0].tolist() == list(range(100, 140))


def test_unasked_pairs_have_a_kind_of_their_own_and_the_soft_label_of_the_prior(votes):
    reader = learn_reader(np.arange(40), votes, proba_of(votes), np.ones(6), disagreement=True)
    asked = votes.pairs.item * 2 + votes.pairs.label
    found = reader.all_columns(reader.columns(votes, proba_of(votes)), asked, 41)
    kinds = found["disagreement"].to_pylist()
    assert kinds[-2:] == ["not asked"] * 2
    assert [kinds[place] for place in asked] == reader.columns(votes, proba_of(votes))["disagreement"].to_pylist()
    prior = reader.soft_labels.unasked()
    assert_allclose(found["soft"][-2:], prior.mean)
    assert_allclose(prior.mean, reader.soft_labels.mean)
    assert_allclose(found["soft_low"][-2:], prior.low)


def test_samples_are_whole_items_at_even_distances(votes, monkeypatch):
    items, everything = sample_of(InMemory(votes))
    assert len(items) == 40
    assert everything is votes
    monkeypatch.setattr(pair_columns, "MOST_LEARNED", len(votes) // 3)
    items, some = sample_of(InMemory(votes))
    assert items.tolist() == list(range(0, 40, 4))  # a step of three would be a vote too many
    assert len(some) == np.isin(votes.item, items).sum()
    assert some.n_workers == votes.n_workers


def test_kinds_are_stored_once():
    column = names_of(np.array([0, 5, 0], np.int8))
    assert column.to_pylist() == ["clear", "not asked", "clear"]
    assert len(column.dictionary) == 6
