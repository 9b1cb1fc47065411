"""The anchor (D1): known truth is in it, and it follows the consensus as far as eq5 does not rise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.testing import assert_array_equal

from amcc.consensus.models.paper import anchor as anchors
from amcc.consensus.models.paper.anchor import Place, anchor_rows, follow_consensus
from amcc.consensus.models.paper.objective import objective
from paper_problems import fit_with, gold_of, small


def test_known_truth_is_the_anchor_in_every_round(crowd, monkeypatch):
    gold = gold_of(crowd, slice(0, 50))
    seen, original = [], anchor_rows

    def watched(votes, answers, proba):
        seen.append(proba)
        return original(votes, answers, proba)

    monkeypatch.setattr(anchors, "anchor_rows", watched)
    fit_with(crowd.votes, gold, max_iter=4)
    assert len(seen) >= 5
    for proba in seen:
        assert_array_equal(proba[gold.known], gold.present[gold.known])


def test_an_anchor_that_raises_the_objective_is_not_followed():
    """Half of the way if that is better, none if nothing is."""
    state, problem, _ = small(0)
    value = objective(state, problem)
    place = Place(state, problem, np.array([0.0]), value)
    much_worse = replace(problem.data, answer_norm=problem.data.answer_norm + 1e6)
    asked = []

    def half_is_fine(proba):
        asked.append(float(proba[0]))
        return problem.data if proba[0] <= 0.5 else much_worse

    moved = follow_consensus(place, np.array([1.0]), half_is_fine)
    assert asked == [1.0, 0.5]
    assert moved.proba[0] == 0.5
    assert moved.value <= value
    stayed = follow_consensus(place, np.array([1.0]), lambda proba: much_worse)
    assert stayed.proba[0] == 0.0
    assert stayed.value == value
