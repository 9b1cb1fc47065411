"""Votes gathered to answers."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from amcc import Votes
from amcc.consensus.answers import gather_answers


def test_answers_of_the_toy_votes(toy_votes):
    """Three workers answered both items; votes are sorted by item, label, worker."""
    answers = gather_answers(toy_votes)
    assert_array_equal(answers.item, [0, 0, 0, 1, 1, 1])
    assert_array_equal(answers.worker, [0, 1, 2, 0, 1, 2])
    assert_array_equal(answers.of_vote, [0, 1, 2, 0, 1, 2, 3, 4, 3, 4, 5])  # w3 was not asked about l1 on i2


def test_every_vote_is_in_the_answer_of_its_item_and_worker(crowd):
    votes = crowd.votes
    item, worker, of_vote = gather_answers(votes)
    assert_array_equal(item[of_vote], votes.item)
    assert_array_equal(worker[of_vote], votes.worker)
    assert len(set(zip(item.tolist(), worker.tolist(), strict=True))) == len(item)
    assert_array_equal(np.bincount(worker, minlength=votes.n_workers), votes.answers_per_worker)


def test_items_and_workers_without_votes_have_no_answer():
    dense = np.zeros((3, 4, 2))
    dense[1, 2] = [1, -1]
    answers = gather_answers(Votes.from_dense(dense))
    assert (answers.item.tolist(), answers.worker.tolist(), answers.of_vote.tolist()) == ([2], [1], [0, 0])


def test_keys_of_many_items_and_workers_do_not_overflow():
    """The last of 70,000 items times 70,000 workers is beyond 32 bits."""
    many = 70_000
    names = {"worker_names": list(range(many)), "item_names": list(range(many)), "label_names": ["l"]}
    votes = Votes.from_codes(
        item=np.array([0, many - 1]), worker=np.array([0, many - 1]), label=np.zeros(2, int), value=np.array([1, -1]),
        **names,
    )  # fmt: skip
    answers = gather_answers(votes)
    assert_array_equal(answers.item, [0, many - 1])
    assert_array_equal(answers.worker, [0, many - 1])
