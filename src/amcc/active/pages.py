"""Pages: what else a worker should be asked about an item that they look at anyway.

A page is an item and a worker. It is paid once, by the first question on it; all others cost their votes only. So what
was too expensive on a page of its own may be worth its price on a page that is open.
"""

from __future__ import annotations

import numpy as np

from amcc.active.beliefs import CurrentBeliefs
from amcc.active.candidates import Candidates, OtherPairs, SamePages
from amcc.active.prices import Prices
from amcc.active.questions import Questions
from amcc.active.strategies.voi import ValueOfInformation
from amcc.active.strategy import Strategy
from amcc.arrays import Floats
from amcc.votes import Votes


def select_with_pages(
    strategy: Strategy, beliefs: CurrentBeliefs, candidates: Candidates, prices: Prices, n: int,
    rng: np.random.Generator,
) -> Questions:  # fmt: skip
    """Up to `n` questions of the strategy; where pages cost something, with more on each page that is opened.

    Our own strategy values pages as pages. Others value questions: they choose at the price of a page of their own, and
    then fill the pages that are open.
    """
    if isinstance(strategy, ValueOfInformation) and np.any(prices.page):
        return strategy.select_pages(beliefs, candidates, prices, n, rng)
    chosen = strategy.select(beliefs, candidates, prices.lone_vote.astype(np.float64), n, rng)
    if not np.any(prices.page) or not len(chosen):
        return chosen
    same_pages = SamePages(OtherPairs.than(chosen.asked, candidates), chosen.asked)
    if not same_pages.open_pairs().any():
        return chosen
    # Strategies divide by the price: a vote that is free on an open page costs half a minor unit, less than any other.
    more = strategy.select(beliefs, same_pages, np.maximum(prices.vote, 0.5), n, rng)
    # Those that are the better buy, since the page is paid.
    first = {page: place for place, page in reversed(list(enumerate(chosen.asked.pages())))}
    opened_by = np.array([first[page] for page in more.asked.pages()], dtype=np.int64)
    better = np.flatnonzero(more.utility >= chosen.utility[opened_by])
    order = np.argsort(np.append(np.arange(len(chosen)), opened_by[better]), kind="stable")[:n]
    return chosen.joined(more.take(better)).take(order)


def cost_per_vote(prices: Prices, votes: Votes) -> Floats:
    """(n_workers,) what a vote costs with its part of a page, shared by as many labels as in the votes so far.

    Who has not voted shares pages as the others do; before the first vote, nobody does.

    >>> votes = Votes.from_dense([[[1, 1, -1, 1], [1, 1, 1, -1]], [[0, 0, 0, 0], [0, 0, 0, 0]]])  # 2 pages, 8 votes
    >>> cost_per_vote(Prices(np.array([5, 0]), page=4), votes)
    array([6., 1.])
    """
    n_votes = np.bincount(votes.worker, minlength=votes.n_workers)
    of_all = votes.answers_per_worker.sum() / len(votes) if len(votes) else 1.0
    pages = np.divide(votes.answers_per_worker, n_votes, out=np.full(len(n_votes), of_all), where=n_votes > 0)
    return np.asarray(prices.vote + prices.page_of_worker * pages)
