"""One worker's next page, in milliseconds: what to hand to somebody who comes and asks for work.

Most of a choice does not depend on who asks. `Outlook.of` finds that part once, whenever something was learned; `page`
then only looks at the items that promise most, for this worker at their price.

    outlook = Outlook.of(learner.learn(votes))
    page = outlook.page(worker, vote_price=5, page_price=10)      # an item, and the labels worth asking about
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from amcc.active.beliefs import CurrentBeliefs
from amcc.active.picking import distinct
from amcc.active.questions import NOTHING_ASKED, Questions, Triplets
from amcc.active.skills import Skills
from amcc.active.strategies.voi import ValueOfInformation
from amcc.arrays import Floats, Ints, Mask
from amcc.errors import ParameterError

# Items that are looked at for one worker: half of them promise most by all their labels together, which counts where
# pages are expensive, half by a single one. Two thousand take a few milliseconds, and more people than that hardly come
# before something new is learned.
SHORTLIST = 2000


class BestPage(NamedTuple):
    """A page among values by item and label: its row, its labels (best first), and its value for the money."""

    row: int
    labels: Ints
    per_money: float


def promising_items(together: Floats, alone: Floats, n: int = SHORTLIST) -> Ints:
    """Items that promise most, half of them by all their labels together, half by a single one; sorted.

    together, alone : (n_items,) what all labels of an item promise, and what the best of them does.
    """
    half = min(max(n // 2, 1), len(together))
    return np.unique(np.concatenate([np.argpartition(-each, half - 1)[:half] for each in (together, alone)]))


def best_page(value: Floats, *, vote_price: float, page_price: float, most_labels: int | None) -> BestPage | None:
    """The row, and the labels of it, with the highest value for the money; None where nothing is worth anything.

    value : (n, n_labels) what each answer is worth, 0 where it is not to be asked for.

    >>> best_page(np.array([[3.0, 0.0], [2.0, 2.0]]), vote_price=1, page_price=0, most_labels=None)
    BestPage(row=0, labels=array([0]), per_money=3.0)
    >>> best_page(np.array([[3.0, 0.0], [2.0, 2.0]]), vote_price=1, page_price=4, most_labels=None)
    BestPage(row=1, labels=array([0, 1]), per_money=0.6666666666666666)
    """
    if not (value > 0).any():
        return None
    if page_price == 0:  # each label stands for itself, so that no row need be sorted
        row = int(value.max(axis=1).argmax())
        rows = value[row : row + 1]
    else:
        row, rows = 0, value
    order = np.argsort(-rows, axis=1, kind="stable")[:, :most_labels]
    together = np.cumsum(np.take_along_axis(rows, order, axis=1), axis=1)
    # The first n labels of a page, for what they cost together with the page.
    per_money = together / (page_price + vote_price * np.arange(1, order.shape[1] + 1))
    place, last = np.unravel_index(int(per_money.argmax()), per_money.shape)
    # All are worth something: the first of equal maxima has none that adds nothing.
    return BestPage(row + int(place), order[place, : last + 1].astype(np.int64), float(per_money[place, last]))


@dataclass(frozen=True)
class Outlook:
    """What is worth asking now, whoever comes.

    beliefs : what is known. strategy : what an answer is worth by.
    skill : (n_workers,) by which workers are compared, see `ValueOfInformation.skill_to_ask`.
    weight : (n_items, n_labels) what the value of an answer is multiplied by; 0 where truth is known.
    promise : (n_items, n_labels) the value of the answer of a usual worker.
    """

    beliefs: CurrentBeliefs
    strategy: ValueOfInformation
    skill: Floats
    weight: Floats
    promise: Floats

    @classmethod
    def of(cls, beliefs: CurrentBeliefs, strategy: ValueOfInformation | None = None) -> Outlook:
        """By these beliefs, and the default strategy unless another is given."""
        chooser = strategy or ValueOfInformation()
        skill = chooser.skill_to_ask(beliefs, Skills.of(beliefs, chooser.answers_of_stranger))
        weight = chooser.weight_of_pairs(beliefs)
        if beliefs.known is not None:
            weight = np.where(beliefs.known, 0.0, weight)
        return cls(beliefs, chooser, skill, weight, weight * chooser.value(beliefs.proba, np.sqrt(np.mean(skill**2))))

    @cached_property
    def _best_items(self) -> Ints:
        """Items that promise most, by all their labels together or by a single one."""
        return promising_items(self.promise.sum(axis=1), self.promise.max(axis=1))

    @cached_property
    def _votes_of_workers(self) -> tuple[Ints, Ints]:
        """Places of all votes, those of a worker together, and where each worker's begin."""
        votes = self.beliefs.votes
        order = np.argsort(votes.worker, kind="stable")
        return order, np.searchsorted(votes.worker[order], np.arange(votes.n_workers + 1))

    def page(
        self, worker: int, *, vote_price: float = 1.0, page_price: float = 0.0, most_labels: int | None = None,
        closed: Mask | None = None,
    ) -> Questions:  # fmt: skip
        """The item with the labels that are worth most for the money, as one page of this worker; empty if none is.

        vote_price, page_price : what each answer of theirs costs, and what the page costs beside them; one of the two
            may be 0. Where a page costs nothing, a label stands for itself; the more it costs, the more share it.
        most_labels : labels on a page, at most.
        closed : (n_items,) items that others are working on.
        """
        _check_page(vote_price, page_price, most_labels)
        items = self._best_items
        value = self._values(items, worker)
        if closed is not None:
            value[closed[items]] = 0.0
        if not (value > 0).any():  # nothing is left for them here: look at the others
            others = np.ones(len(self.promise), dtype=bool) if closed is None else ~closed
            others[items] = False
            items = np.flatnonzero(others)
            value = self._values(items, worker)
        best = best_page(value, vote_price=vote_price, page_price=page_price, most_labels=most_labels)
        if best is None:
            return Questions(NOTHING_ASKED, np.empty(0))
        row, label = best.row, best.labels
        asked = Triplets(np.full(len(label), items[row]), label, np.full(len(label), worker))
        parts = {"value": value[row, label], "probability": self.beliefs.proba[items[row], label]}
        return Questions(asked, np.full(len(label), best.per_money), parts)

    def _values(self, items: Ints, worker: int) -> Floats:
        """(n, n_labels) what their answers about these items are worth; 0 where they have answered."""
        skill = self.skill[worker] * np.sqrt(self._new_to(items, worker))
        value = self.weight[items] * self.strategy.value(self.beliefs.proba[items], skill)
        votes, (order, start) = self.beliefs.votes, self._votes_of_workers
        own = order[start[worker] : start[worker + 1]]
        row = self._rows(items)[votes.item[own]]
        value[row[row >= 0], votes.label[own][row >= 0]] = 0.0
        return np.asarray(value)

    def _new_to(self, items: Ints, worker: int) -> Floats:
        """(n, n_labels) share of what this worker could tell that the votes do not have yet, see `not_heard_before`."""
        new, sharing = np.ones((len(items), self.promise.shape[1])), self.beliefs.sharing
        if sharing is not None and worker < len(sharing.source):  # the requester has no family
            row, label, heard = self._heard_of_best if items is self._best_items else self._heard(items)
            new[row, label] = sharing.new_in_next(heard, sharing.source[[worker]])[:, 0]
        return new

    @cached_property
    def _heard_of_best(self) -> tuple[Ints, Ints, Floats]:
        return self._heard(self._best_items)

    def _heard(self, items: Ints) -> tuple[Ints, Ints, Floats]:
        """Pairs of these items that have votes, as places and labels, and (n_pairs, n_sources) votes of each source."""
        votes, sharing = self.beliefs.votes, self.beliefs.sharing
        assert sharing is not None  # for the type checker: nobody asks otherwise
        row = self._rows(items)[votes.item]
        here = row >= 0
        pair, of_vote = distinct(row[here] * votes.n_labels + votes.label[here])
        heard = sharing.votes_of_sources(of_vote, votes.worker[here].astype(np.int64), len(pair))
        return *np.divmod(pair, votes.n_labels), heard

    def _rows(self, items: Ints) -> Ints:
        """(n_items,) place of each item among these; −1 where it is none of them."""
        place = np.full(len(self.promise), -1)
        place[items] = np.arange(len(items))
        return place


def _check_page(vote_price: float, page_price: float, most_labels: int | None) -> None:
    """Raise ParameterError where a page would cost nothing, or hold nothing."""
    for name, price in {"vote_price": vote_price, "page_price": page_price}.items():
        if not 0 <= price < np.inf:
            raise ParameterError(f"{name} must be 0 or more; got {price!r}.")
    if not vote_price + page_price > 0:
        raise ParameterError("an answer must cost something; got 0 for both vote_price and page_price.")
    if most_labels is not None and most_labels < 1:
        raise ParameterError(f"most_labels must be at least 1; got {most_labels!r}.")
