"""Pages valued as pages: an item and a worker, with all labels that are worth asking there.

A page is paid once, whatever is asked on it. So three labels that promise a little each may together be a better buy
than the one label that promises most. Of the labels of a page, sorted by value, the first k are worth asking that give
most for the money:

    value for money = (value₁ + … + valueₖ) / (page + price₁ + … + priceₖ)
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

import numpy as np

from amcc.active.picking import distinct, without_ties
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


def pick_pages(
    asked: Triplets, value: Floats, price: Floats, page_price: Floats, batch: int, rng: np.random.Generator, *,
    parts: Mapping[str, Floats],
) -> Questions:  # fmt: skip
    """The questions of the best pages, the best page first; at most one question about a pair.

    value, price, page_price : (n,) of each question, the last equal for all of a page.
    parts : what the utility was made of, to be kept for those that are chosen.

    What a page is worth falls when another one asks about its pairs. So the page that seems best is valued again with
    what is left of it, and put back where another is better now.
    """
    n_items, n_labels = (int(code.max(initial=0)) + 1 for code in (asked.item, asked.label))
    page, pair = distinct(asked.worker * n_items + asked.item)[1], asked.item * n_labels + asked.label
    order = np.lexsort((-value, page))
    start = np.searchsorted(page[order], np.arange(int(page.max(initial=-1)) + 2))
    first_guess = _value_for_money(value[order], price[order], page_price[order], start)
    # Equals come in random order, or the first item of the table would be asked first, again and again.
    queue = [(-worth, number) for number, worth in enumerate(without_ties(first_guess.astype(np.float32), rng))]
    heapq.heapify(queue)
    taken: set[int] = set()
    chosen: list[int] = []
    utility: list[float] = []
    while queue and len(chosen) < batch:
        number = heapq.heappop(queue)[1]
        rows = [row for row in order[start[number] : start[number + 1]].tolist() if int(pair[row]) not in taken]
        best, worth = best_prefix(value[rows], price[rows], float(page_price[order[start[number]]]))
        if queue and worth < -queue[0][0] * (1 - ROUNDED):
            if best:
                heapq.heappush(queue, (-worth, number))
            continue
        best = min(best, batch - len(chosen))
        chosen += rows[:best]
        utility += [worth] * best
        taken.update(int(pair[row]) for row in rows[:best])
    places = np.array(chosen, dtype=np.int64)
    return Questions(asked.take(places), np.array(utility), {name: part[places] for name, part in parts.items()})


# Single precision, in which pages are first compared, is off by less.
ROUNDED = 1e-6


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


def _value_for_money(value: Floats, price: Floats, page_price: Floats, start: Ints) -> Floats:
    """(n_pages,) `best_prefix` of many pages at once, whose questions stand together, the best first."""
    n = np.diff(start)
    of_page = np.repeat(np.arange(len(n)), n)
    total = [np.concatenate([[0.0], np.cumsum(each)]) for each in (value, price)]
    so_far = [each[1:] - each[start[of_page]] for each in total]
    per_money = so_far[0] / (page_price + so_far[1])
    return np.asarray(np.maximum.reduceat(per_money, start[:-1])) if len(value) else np.empty(0)
