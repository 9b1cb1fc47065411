"""Votes packed in integers, sorted and merged."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amcc.errors import ConflictError, ParameterError
from amcc.tables import Coded
from amcc.votes.merging import VoteRows, sort_and_merge
from amcc.votes.reading import Reading
from amcc.votes.vote_keys import KeyLayout, any_neighbours, same_question

NAMES = {"item": pa.array(["i", "j", "k"]), "worker": pa.array(["a", "b"]), "label": pa.array(["x", "y"])}


def rows_of(votes, **more) -> VoteRows:
    """Votes as (item, worker, label, value)."""
    item, worker, label, value = (np.array(column) for column in zip(*votes, strict=True))
    codes = {"item": Coded.of(item), "worker": Coded.of(worker), "label": Coded.of(label)}
    return VoteRows(codes, Coded.of(value), NAMES, Reading(), **more)


def merged(votes, on_conflict="error", **more):
    """What is left, as (item, worker, label, value), and the reading."""
    codes, reading = sort_and_merge(rows_of(votes, **more), on_conflict)
    return list(zip(*(code.tolist() for code in codes), strict=True)), reading


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_keys_hold_all_that_a_vote_is(data):
    """For vocabularies of any size: packed and unpacked, votes are the same, and keys sort like item, label, worker."""
    sizes = {role: data.draw(st.integers(1, 2**20), role) for role in ("item", "label", "worker")}
    n_votes = data.draw(st.integers(1, 20))
    rng = np.random.default_rng(data.draw(st.integers(0, 10)))
    item, label, worker = (rng.integers(0, size, n_votes) for size in sizes.values())
    value = rng.choice([-1, 1], n_votes)
    layout = KeyLayout(*(max(sizes[role] - 1, 0).bit_length() for role in ("label", "worker")))
    keys = layout.pack(*map(Coded.of, (item, label, worker, value)))
    assert keys.min() >= 0
    found = layout.unpack(keys)
    for got, expected in zip(found, (item, worker, label, value), strict=True):
        assert got.tolist() == expected.tolist()
    order = np.lexsort((value, worker, label, item))
    assert (np.diff(keys[order]) >= 0).all()


def test_codes_that_do_not_fit_in_a_key_are_refused():
    class Huge:
        def __len__(self) -> int:
            return 2**21

    with pytest.raises(ParameterError, match="must fit in 62 bits"):
        KeyLayout.of({role: Huge() for role in ("item", "label", "worker")})


def test_neighbours_are_looked_at_across_the_ends_of_pieces(monkeypatch):
    monkeypatch.setattr("amcc.votes.vote_keys.PIECE_ROWS", 2)
    for place in range(5):
        keys = np.arange(0, 12, 2)
        keys[place + 1] = keys[place] + 1
        assert any_neighbours(keys, same_question), place
    assert not any_neighbours(np.arange(0, 12, 2), same_question)
    assert not any_neighbours(np.array([5]), same_question)


def test_blanks_go_and_votes_are_sorted():
    votes, reading = merged([(2, 0, 0, 1), (1, 1, 1, 0), (0, 1, 0, -1), (0, 0, 0, 1)])
    assert votes == [(0, 0, 0, 1), (0, 1, 0, -1), (2, 0, 0, 1)]
    assert reading.blanks == 1


def test_a_repeated_vote_beside_its_contradiction_is_one_case_of_each():
    """no, no, yes: one duplicate and one contradiction; the last one counts."""
    said = [(0, 0, 0, -1), (0, 0, 0, 1), (0, 0, 0, -1)]
    votes, reading = merged(said, "last")
    assert votes == [(0, 0, 0, -1)]
    assert (reading.duplicates_dropped, reading.conflicts_resolved) == (1, 1)
    votes, _ = merged(said, "last", time=np.array([1, 3, 2]))
    assert votes == [(0, 0, 0, 1)]
    votes, reading = merged(said, "samples")
    assert [value for *_, value in votes] == [-1, -1, 1]
    assert reading.samples == 2


def test_a_contradiction_names_the_rows_of_the_table():
    said = [(1, 0, 0, 1), (0, 1, 1, 1), (0, 0, 0, 0), (0, 1, 1, -1)]
    with pytest.raises(ConflictError, match=r"worker 'b' says both for item 'i', label 'y' \(row 2 and 4\)\. Remove"):
        merged(said)
    with pytest.raises(ConflictError, match=r"\(row 8 and 10\)"):  # where a row makes several votes
        merged(said, row=np.array([5, 7, 8, 9]))


def test_samples_may_differ_but_one_sample_says_one_thing():
    said = [(0, 0, 0, 1), (0, 0, 0, -1), (0, 0, 0, -1)]
    votes, reading = merged(said, sample=np.array([1, 2, 2]))
    assert [value for *_, value in votes] == [-1, 1]
    assert (reading.samples, reading.duplicates_dropped) == (1, 1)
    with pytest.raises(ConflictError, match=r"\(row 1 and 3\)"):
        merged(said, sample=np.array([1, 2, 1]))
    votes, reading = merged(said, "last", sample=np.array([1, 2, 1]))
    assert [value for *_, value in votes] == [-1, -1]
    assert reading.conflicts_resolved == 1
