"""Pages valued as pages: an item and a worker, with all labels that are worth asking there.

A page is paid once, whatever is asked on it. So three labels that promise a little each may together be a better buy
than the one label that promises most. Of the labels of a page, sorted by value, the first k are worth asking that give
most for the money:

    value for money = (value₁ + … + valueₖ) / (page + price₁ + … + priceₖ)
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from amcc.active.picking import distinct, in_groups, without_ties
from amcc.active.questions import Questions, Triplets
from amcc.arrays import Floats, Ints


def promise_of_pages(promise: Floats, vote_price: float, page_price: float) -> Floats:
    """(n_items, n_labels) what pairs promise for the money, those of the best page of their item together.

    promise : (n_items, n_labels) the value of an answer, NaN where none is wanted. It says which pairs are looked at.

    >>> promise_of_pages(np.array([[3.0, np.nan, 0.1], [2.0, 2.0, 0.1]]), 1.0, 4.0).round(2).tolist()
    [[0.6, nan, 0.02], [0.67, 0.67, 0.02]]
    """
    value = np.nan_to_num(promise, nan=0.0)
    order = np.argsort(-value, axis=1, kind="stable")
    together = np.cumsum(np.take_along_axis(value, order, axis=1), axis=1)
    per_money = together / (page_price + vote_price * np.arange(1, value.shape[1] + 1))
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(value.shape[1])[None], axis=1)
    on_page = place <= per_money.argmax(axis=1)[:, None]
    alone = promise / (page_price + vote_price)
    return np.where(on_page & ~np.isnan(promise), per_money.max(axis=1)[:, None], alone)


class _Sorted(NamedTuple):
    """Questions page by page, the pages of an item together, the best question of a page first.

    rows : (n,) places of the questions. start : (n_pages + 1,) where each page begins.
    """

    rows: Ints
    start: Ints

    @classmethod
    def of(cls, asked: Triplets, value: Floats) -> _Sorted:
        """Of all these questions."""
        item, worker = distinct(asked.item)[1], distinct(asked.worker)[1]
        page = item * (int(worker.max(initial=0)) + 1) + worker
        rows = in_groups(page, value)
        return cls(rows, _starts(page[rows]))

    def part(self, first: int, last: int) -> _Sorted:
        """The pages from the first to before the last."""
        start = self.start[first : last + 1]
        return _Sorted(self.rows[start[0] : start[-1]], start - start[0])

    def rows_of(self, page: int) -> Ints:
        """Places of the questions of a page, the best first."""
        return self.rows[self.start[page] : self.start[page + 1]]

    def worth(self, value: Floats, price: Floats, page_price: Floats) -> Floats:
        """(n_pages,) value for the money of the best first questions of each page, see `best_prefix`."""
        if not len(self.rows):
            return np.empty(0)
        of_page = np.repeat(self.start[:-1], np.diff(self.start))
        total = [np.concatenate([[0.0], np.cumsum(each[self.rows])]) for each in (value, price)]
        so_far = [each[1:] - each[of_page] for each in total]
        return np.asarray(np.maximum.reduceat(so_far[0] / (page_price[self.rows] + so_far[1]), self.start[:-1]))


def _starts(code: Ints) -> Ints:
    """Where each run of equal codes begins, and where the last one ends.

    >>> _starts(np.array([3, 3, 5])).tolist()
    [0, 2, 3]
    """
    return np.append(np.flatnonzero(np.diff(code, prepend=-1)), len(code))


def worth_of_pages(
    asked: Triplets, value: Floats, price: Floats, page_price: Floats, rng: np.random.Generator
) -> Floats:
    """(n,) value for the money of each question's page, with all that is worth asking there; no two pages are equal."""
    pages, found = _Sorted.of(asked, value), np.empty(len(asked))
    worth = without_ties(pages.worth(value, price, page_price).astype(np.float32), rng)
    found[pages.rows] = np.repeat(worth, np.diff(pages.start))
    return found


def pick_pages(
    asked: Triplets, value: Floats, price: Floats, page_price: Floats, batch: int, rng: np.random.Generator, *,
    parts: Mapping[str, Floats],
) -> Questions:  # fmt: skip
    """The questions of the best pages, the best page first; at most one question about a pair.

    value, price, page_price : (n,) of each question, the last equal for all of a page.
    parts : what the utility was made of, to be kept for those that are chosen.

    What a page is worth falls when another one asks about its pairs, but these are pairs of the same item. So items
    wait in a queue by their best page, and when it is chosen, all that is left of the item is valued again.
    """
    pages = _Sorted.of(asked, value)
    # Equals come in random order, or the first item of the table would be asked first, again and again.
    worth = without_ties(pages.worth(value, price, page_price).astype(np.float32), rng)
    first_page = _starts(asked.item[pages.rows[pages.start[:-1]]])  # of each item
    best = np.maximum.reduceat(worth, first_page[:-1]) if len(worth) else worth
    queue = [(-most, item) for item, most in enumerate(best.tolist())]
    heapq.heapify(queue)
    left: dict[int, _Sorted] = {}  # of items of which a page was chosen
    opening = page_price.copy()  # what is left of a page that is open costs its votes only
    chosen: list[int] = []
    utility: list[float] = []
    while queue and len(chosen) < batch:
        item = heapq.heappop(queue)[1]
        here = left.get(item) or pages.part(*first_page[[item, item + 1]])
        mine = here.rows_of(int(without_ties(here.worth(value, price, opening).astype(np.float32), rng).argmax()))
        n_best, per_money = best_prefix(value[mine], price[mine], float(opening[mine[0]]))
        if not n_best:  # nothing more is worth anything here
            continue
        opening[mine] = 0.0
        mine = mine[: min(n_best, batch - len(chosen))]
        chosen += mine.tolist()
        utility += [per_money] * len(mine)
        rows = here.rows[(value[here.rows] > 0) & ~np.isin(asked.label[here.rows], asked.label[mine])]
        if len(rows):
            left[item] = _Sorted(rows, _starts(asked.worker[rows]))
            rest = left[item].worth(value, price, opening).max().astype(np.float32)
            heapq.heappush(queue, (-float(without_ties(rest, rng)), item))
    places = np.array(chosen, dtype=np.int64)
    return Questions(asked.take(places), np.array(utility), {name: part[places] for name, part in parts.items()})


def best_prefix(value: Floats, price: Floats, page_price: float) -> tuple[int, float]:
    """How many of the first questions of a page give most for the money, and how much; none where none is worth it.

    >>> best_prefix(np.array([3.0, 2.0, 0.1]), np.ones(3), 2.0)
    (2, 1.25)
    """
    if not len(value) or not value[0] > 0:
        return 0, 0.0
    per_money = np.cumsum(value) / (page_price + np.cumsum(price))
    best = int(per_money.argmax())
    return best + 1, float(per_money[best])
