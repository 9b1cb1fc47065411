"""What benchmarks tell models: truth of items and of pairs, and what is scored then."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from amcc.consensus import MajorityVote
from amcc.experiments.cells import Cell, Draw

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import audit_coverage
import expert


@pytest.fixture(scope="module")
def draw() -> Draw:
    whole = Cell("tiny", "simulated", 1, spec=(1000, ())).draw(0)
    known = whole.known.copy()
    known[:, 0] = False  # of one label, nobody knows
    return replace(whole, known=known)


def told(draw: Draw, truth) -> tuple[np.ndarray, np.ndarray]:
    return truth.matrices(draw.votes.item_names, draw.votes.label_names)


def test_slices_are_answered_where_the_truth_is_known(draw):
    true, known = told(draw, audit_coverage.answers(draw, np.array([2, 5])))
    assert np.flatnonzero(known.any(axis=1)).tolist() == [2, 5]
    assert_array_equal(known[2], draw.known[2])
    assert_array_equal(true, draw.truth & known)


def test_only_pairs_of_known_truth_are_audited(draw):
    table = MajorityVote().fit(draw.votes).pairs(frame="arrow")
    kept = audit_coverage.restricted(draw, table)
    assert 0 < kept.num_rows < table.num_rows
    unknown = str(draw.votes.label_names.to_pylist()[0])
    assert unknown not in set(map(str, kept["label"].to_pylist()))


@pytest.mark.parametrize("name", audit_coverage.CROWDS)
def test_crowds_of_the_audit_have_known_truth(name):
    crowds = list(audit_coverage.crowds(name, 30, 2, None))
    assert len(crowds) == 2
    assert all(each.known.all() and each.votes.n_items == 30 for each in crowds)
    assert crowds[0].votes != crowds[1].votes


def test_half_of_the_items_can_be_asked_and_the_others_are_scored(draw):
    replay = expert.Replay.halved(draw, seed=0)
    asked = np.unique(draw.votes.pairs.item[replay.can_be_asked])
    scored = np.flatnonzero(replay.scored.known.any(axis=1))
    assert not set(asked) & set(scored)
    assert len(asked) == len(draw.known) // 2


def test_the_requester_tells_what_is_asked_and_no_more(draw):
    replay = expert.Replay.halved(draw, seed=0)
    places = replay.drawn(3, whole_items=False, seed=0)
    true, known = told(draw, replay.truth(places))
    pairs = draw.votes.pairs
    assert known.sum() == 3
    assert known[pairs.item[places], pairs.label[places]].all()
    assert_array_equal(true, draw.truth & known)


def test_whole_items_are_told_with_all_their_known_pairs(draw):
    replay = expert.Replay.halved(draw, seed=1)
    places = replay.drawn(2, whole_items=True, seed=0)
    items = np.unique(draw.votes.pairs.item[places])
    assert len(items) == 2
    assert len(places) == draw.known[items].sum()  # everybody is asked about all labels


def test_differences_are_paired_over_families(capsys):
    families = [
        {"a": dict.fromkeys(expert.SCORES, high), "b": dict.fromkeys(expert.SCORES, low)}
        for high, low in ((0.5, 0.3), (0.9, 0.7))
    ]
    expert.differences(families, [("a", "b")])
    assert capsys.readouterr().out.splitlines()[0] == "a − b, log_loss: +0.2000 ± 0.0000"
