"""From matrices to probabilities: rates, weights of votes, and eq6, with D8 and as printed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc import Votes
from amcc.consensus.models.paper import consensus as eq6
from amcc.consensus.models.paper.answers import gather_answers, presence, statistics
from amcc.consensus.models.paper.consensus import (
    answer_rates,
    coin_evidence,
    consensus,
    pooled_rates,
    printed_consensus,
    vote_rates,
    vote_weights,
)
from amcc.consensus.models.paper.problem import PaperProblem, PaperState
from paper_problems import EXACT, L, W, small


@pytest.mark.parametrize("partial", [True, False], ids=["partial answers", "whole answers"])
def test_answer_rates_are_means_over_the_answered_items(partial, monkeypatch):
    """D8: rates from statistics equal those computed item by item."""
    monkeypatch.setattr(eq6, "RATE_PRIOR", 0.0)
    monkeypatch.setattr(eq6, "RATE_FLOOR", -10.0)
    state, problem, dense = small(8, partial=partial)
    hit, false_alarm = answer_rates(state, problem).worker
    w, label = 3, 1
    asked = ~np.isnan(dense[0, w, :, label])
    y, R = dense[1, w][asked], state.response[w]
    with_label, without = y.copy(), y.copy()
    with_label[:, label], without[:, label] = 1, 0
    assert_allclose(hit[w, label], np.average(with_label @ R[:, label], weights=y[:, label]), rtol=1e-9)
    assert_allclose(false_alarm[w, label], np.average(without @ R[:, label], weights=1 - y[:, label]), rtol=1e-9)


def test_denials_count():
    """D8: a no is evidence too; the print reads only yes-votes, and gives the same whether it was said or not."""
    asked = Votes.from_dense([[[1, -1]], [[1, -1]], [[1, 1]]])
    not_asked = asked.select((asked.value > 0) | (asked.worker == 0))
    both = asked, not_asked
    response = np.tile([[0.8, 0.1], [0.1, 0.8]], (3, 1, 1))
    state = PaperState(response, np.zeros((1, 2, 2)), np.ones(1), np.zeros(3, dtype=np.int64), 0 * response)

    def of_second_label(votes):
        answers = gather_answers(votes)
        stats = statistics(answers, presence(answers.value), lambda row: np.full((*row.shape, 2), 0.5))
        problem = PaperProblem(
            stats, worker_scale=np.ones(3), prior_scale=0.0, label_laplacian=np.zeros((2, 2)), admm_penalty=1.0
        )
        of_all = answer_rates(state, problem)
        return consensus(votes, coin_evidence(votes, of_all, np.ones(3)), np.zeros(2))[1]

    assert of_second_label(asked) < of_second_label(not_asked) - 0.1  # one no more
    said, unsaid = (printed_consensus(votes, response, np.zeros((1, 2, 2)), np.ones(1), 2.0) for votes in both)
    assert_allclose(said, unsaid, **EXACT)


def test_printed_consensus_by_hand():
    """eq6 as printed: one item, one yes each, two groups."""
    votes = Votes.from_dense([[[1, -1]], [[-1, 1]]])
    D = np.array([[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.2, 0.8]]])
    C = np.array([[[0.0, 0.1], [0.0, 0.0]], [[-0.1, 0.0], [0.0, -0.3]]])
    first = 0.75**3 * 0.9 * 0.6 + 0.25**3 * 0.8 * 0.5
    second = 0.75**3 * 0.4 * 0.8 + 0.25**3 * 0.4 * 0.5
    expected = np.array([first, second]) / (first + second)
    assert_allclose(printed_consensus(votes, D, C, np.array([0.75, 0.25]), 3.0), expected, **EXACT)


def test_printed_consensus_without_a_yes():
    """D8: products over no vote are equal for all labels, which is no evidence for the only one."""
    for n_labels, share in ((1, 0.5), (2, 0.5), (4, 0.25)):
        votes = Votes.from_dense(-np.ones((3, 1, n_labels), dtype=int))
        none = np.zeros((3, n_labels, n_labels))
        assert_allclose(printed_consensus(votes, none, none[:1], np.ones(1), 2.0), share, **EXACT)


def test_vote_weights_by_hand():
    """D8: below an equal share a vote counts less, above it no more than one vote."""
    zeros = np.zeros((3, 1, 1))
    state = PaperState(zeros, zeros, np.array([0.6, 1 / 3, 1 / 15]), np.arange(3), zeros)
    assert_allclose(vote_weights(state, 2.0), [1, 1, 0.04], **EXACT)


def test_group_rates_are_means_over_the_groups_votes(monkeypatch):
    """Expected yeses over expected votes of the group's workers, by label; without votes, the crowd's."""
    state, _, _ = small(0)
    state = replace(state, worker_group=np.array([0, 0, 0, 1, 1, 1, 1]))
    rng = np.random.default_rng(0)
    weight = rng.uniform(1, 5, (2, W, L))
    weight[:, :3, 2] = 0  # nobody of group 0 voted on the last label
    rate = rng.uniform(0.3, 0.7, (2, W, L))
    monkeypatch.setattr(eq6, "RATE_PRIOR", 1e-5)
    found = pooled_rates(rate * weight, weight, state)
    assert_allclose(found.group[0, 0, :2], np.average(rate[0, :3, :2], axis=0, weights=weight[0, :3, :2]), rtol=1e-4)
    assert_allclose(found.group[1, 1], np.average(rate[1, 3:], axis=0, weights=weight[1, 3:]), rtol=1e-4)
    assert_allclose(found.group[:, 0, 2], found.crowd[:, 2], rtol=1e-4)
    assert_allclose(found.worker[:, 0, 2], found.group[:, 0, 2], rtol=1e-4)
    assert_allclose(found.crowd[0], np.average(rate[0], axis=0, weights=weight[0]), rtol=1e-4)
    assert_allclose(found.worker[0, 4], rate[0, 4], rtol=1e-4)


def test_label_without_votes_has_the_rates_of_the_others():
    state, _, _ = small(0)
    weight = np.ones((2, W, L))
    weight[:, :, 0] = 0
    count = weight * np.array([0.8, 0.1])[:, None, None]
    found = pooled_rates(count, weight, state)
    assert_allclose(found.worker, np.broadcast_to(np.array([0.8, 0.1])[:, None, None], (2, W, L)), **EXACT)


def test_vote_rates_are_those_of_answer_rates_for_a_perfect_representation(crowd):
    """Where D_w + C_m gives every answer exactly (own answers as anchor, the identity), both count the same."""
    votes = crowd.votes
    answers = gather_answers(votes)
    given = presence(answers.value)
    state = PaperState(
        np.tile(np.eye(6), (25, 1, 1)), np.zeros((1, 6, 6)), np.ones(1), np.zeros(25, dtype=np.int64),
        np.zeros((25, 6, 6)),
    )  # fmt: skip
    problem = PaperProblem(statistics(answers, given, given.__getitem__), np.ones(25), 0.0, np.zeros((6, 6)), 1.0)
    assert_allclose(answer_rates(state, problem).worker[0].min(), 1 - eq6.RATE_FLOOR, **EXACT)
    one_worker = votes.select(votes.worker == 3)
    found = vote_rates(one_worker, state, (one_worker.value > 0).astype(float))
    assert_allclose(found.worker[:, 3], answer_rates(state, problem).worker[:, 3], **EXACT)
