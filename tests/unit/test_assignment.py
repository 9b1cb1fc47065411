"""One worker's next page: the same value as the strategy's, for pages, at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from amcc.active.assignment import Outlook
from amcc.active.beliefs import cold_beliefs
from amcc.active.candidates import Anything
from amcc.active.questions import Triplets
from amcc.active.strategies.voi import ValueOfInformation, not_heard_before
from amcc.errors import ParameterError
from amcc.votes import Votes


@pytest.fixture
def known():
    """Three items with three labels; worker 0 answered item 0, and worker 1 a label of item 1."""
    answers = np.zeros((2, 3, 3))
    answers[0, 0] = [1, -1, 1]
    answers[1, 1, 0] = 1
    proba = np.array([[0.5, 0.5, 0.5], [0.5, 0.45, 0.02], [0.9, 0.3, 0.02]])
    return replace(cold_beliefs(Votes.from_dense(answers)), proba=proba)


def labels_of(page):
    return page.asked.item.tolist()[:1], page.asked.label.tolist()


def test_nobody_is_asked_again(known):
    outlook = Outlook.of(known)
    assert labels_of(outlook.page(0, page_price=100)) == ([1], [1, 0, 2])
    assert 1 not in labels_of(outlook.page(1, most_labels=1))[0] or outlook.page(1).asked.label[0] != 0


def test_the_more_a_page_costs_the_more_labels_share_it(known):
    outlook = Outlook.of(known)
    sizes = [len(outlook.page(1, page_price=price)) for price in (0.0, 1.0, 1000.0)]
    assert sizes[0] == 1 and sizes == sorted(sizes) and sizes[-1] == 3
    assert len(outlook.page(1, page_price=1000.0, most_labels=2)) == 2


def test_the_page_is_the_best_for_its_money(known):
    """By hand: all pages of up to three labels, their values added up, divided by what they cost."""
    outlook, price = Outlook.of(known), 2.0
    page = outlook.page(1, page_price=price)
    best = 0.0
    for item in range(3):
        value = np.sort(outlook._values(np.array([item]), 1)[0])[::-1]
        best = max(best, *(value[:n].sum() / (price + n) for n in (1, 2, 3)))
    assert page.utility[0] == pytest.approx(best)


def test_where_only_the_page_is_paid_all_labels_that_are_worth_something_are_on_it(known):
    certain = replace(known, proba=np.where(known.proba == 0.02, 0.0, known.proba))
    page = Outlook.of(certain).page(0, vote_price=0.0, page_price=3.0)
    assert labels_of(page) == ([1], [1, 0])  # the third label is certain
    assert page.utility[0] == pytest.approx(page.parts["value"].sum() / 3)


@pytest.mark.parametrize("strategy", [ValueOfInformation(), ValueOfInformation(loss="decision", misread=0.1)])
def test_an_answer_is_worth_the_same_on_a_page_and_in_a_batch(known, strategy):
    for worker in (0, 1):
        who = np.arange(2) == worker
        found = strategy.select(known, Anything(known.votes, who), np.ones(2), 9, np.random.default_rng(0))
        outlook = Outlook.of(known, strategy)
        value = outlook._values(np.arange(3), worker)
        # The first; further ones to the same worker count those before them.
        of_found = value[found.asked.item, found.asked.label]
        assert found.parts["value"][0] == pytest.approx(of_found[0])
        assert (found.parts["value"] <= of_found + 1e-12).all()
        assert len(found) == known.proba.size - (known.votes.worker == worker).sum()
        page = outlook.page(worker)
        assert (page.asked.item[0], page.asked.label[0]) == (found.asked.item[0], found.asked.label[0])


def test_an_item_with_one_open_label_is_not_overlooked(monkeypatch):
    """Many items have several labels in some doubt. One has a single label, which is open: cheap pages need just it."""
    proba = np.full((40, 6), 0.1)
    proba[7] = [0.5, *[0.0] * 5]
    votes = Votes.from_dense(np.ones((1, 40, 6)))
    known = replace(cold_beliefs(votes.select(votes.value < 0)), proba=proba)
    monkeypatch.setattr("amcc.active.assignment.SHORTLIST", 10)
    assert labels_of(Outlook.of(known).page(0)) == ([7], [0])
    assert len(Outlook.of(known).page(0, page_price=50.0)) == 6


def test_what_the_family_said_counts_on_a_page_too(known):
    class Heard:
        source = np.array([0, 1])

        def votes_of_sources(self, pair, worker, n_pairs):
            votes = np.zeros((n_pairs, 2))
            np.add.at(votes, (pair, self.source[worker]), 1.0)
            return votes

        def new_in_next(self, votes, sources=(0, 1)):
            return 1.0 / (1.0 + 9.0 * votes[:, ::-1][:, sources])  # each repeats the other

    related = replace(known, sharing=Heard())
    alone = Outlook.of(known)._values(np.arange(3), 1)
    outlook = Outlook.of(related)
    beside = outlook._values(np.arange(3), 1)
    assert (beside[0] < 0.2 * alone[0]).all()  # worker 0 has answered item 0
    assert_allclose(beside[1:], alone[1:])
    everything = np.indices((3, 3)).reshape(2, -1)
    for worker in (0, 1):  # as in a batch, from what is kept and anew
        asked = Triplets(*everything, np.full(9, worker))
        for items in (np.arange(3), outlook._best_items):
            new = outlook._new_to(items, worker)
            assert_allclose(new, not_heard_before(related, asked).reshape(3, 3)[items])


def test_items_of_others_and_known_pairs_are_left_alone(known):
    closed = np.array([True, True, False])
    assert labels_of(Outlook.of(known).page(1, closed=closed))[0] == [2]
    everything = replace(known, known=np.ones((3, 3), dtype=bool))
    assert len(Outlook.of(everything).page(1)) == 0
    assert len(Outlook.of(known).page(1, closed=np.ones(3, dtype=bool))) == 0


def test_who_has_answered_the_best_items_gets_another(known, monkeypatch):
    monkeypatch.setattr("amcc.active.assignment.SHORTLIST", 1)
    outlook = Outlook.of(known)
    first = int(outlook._best_items[0])
    answers = known.votes.to_dense().copy()
    answers[1, first] = 1
    beliefs = replace(known, votes=Votes.from_dense(answers), proba=known.proba)
    assert labels_of(Outlook.of(beliefs).page(1))[0] != [first]


@pytest.mark.parametrize(
    ("options", "words"),
    [({"vote_price": 0}, "an answer must cost something"), ({"page_price": -1}, "page_price must be 0 or more"),
     ({"vote_price": np.nan}, "vote_price must be 0 or more"), ({"most_labels": 0}, "most_labels must be at least 1")],
)  # fmt: skip
def test_wrong_prices_are_refused(known, options, words):
    with pytest.raises(ParameterError, match=words):
        Outlook.of(known).page(0, **options)
