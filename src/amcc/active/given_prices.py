"""Prices as people give them to `next_questions`, made into what a vote of everybody costs.

One number for all, a mapping, a table, amounts by kind, pages; `prices` has what they become.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pyarrow as pa

from amcc import tables
from amcc.active.prices import EQ12, PriceList, Prices, is_eq12, price_at_one, price_list, prices_by_kind
from amcc.arrays import Mask
from amcc.errors import InputError, ParameterError
from amcc.roster import Roster
from amcc.votes import Votes


def listed_prices(
    prices: Any, price: Any, decimals: int, kinds: Mapping[str, Any] | None = None
) -> tuple[PriceList, Any]:
    """Amounts by worker and kind, and the amount of everybody who is not listed; None where everybody must be."""
    if prices is None:
        # Whoever says what some kinds cost has forgotten the others, unless they say what these cost.
        return PriceList(kinds=kinds), 1 if price is None and not kinds else price
    complete = is_eq12(prices) or isinstance(prices, Prices)
    if kinds and (complete or not (isinstance(prices, Mapping) or hasattr(prices, "columns"))):
        raise ParameterError(f"prices={prices!r} is for everybody already; leave kind_prices out.")
    if is_eq12(prices):
        price_at_one(price, decimals)  # refused before a model is fitted
    if complete:  # `prices_of_allowed` takes these as they are
        return PriceList(), None
    if isinstance(prices, Mapping):
        own = prices.kinds if isinstance(prices, PriceList) else {}
        return PriceList({str(worker): amount for worker, amount in prices.items()}, joined_kinds(own, kinds)), price
    if isinstance(prices, Real | Decimal) or (isinstance(prices, str) and tables.number_in(prices) is not None):
        if price is not None:
            raise ParameterError(f"prices={prices!r} is for everybody already; leave price={price!r} out.")
        return PriceList(), prices
    if not hasattr(prices, "columns"):
        got = repr(prices) if isinstance(prices, str) else type(prices).__name__
        raise ParameterError(
            "prices must be a number, a mapping worker → price, a table with the columns worker and price, Prices, or "
            f"one of {', '.join(EQ12)}; got {got}. A file is read with amcc.active.prices.read_price_list."
        )
    listed = price_list(prices, decimals=decimals)
    return PriceList(listed, joined_kinds(listed.kinds, kinds)), price


def joined_kinds(listed: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Prices of kinds from a list and from the call, each of which must have one."""
    if twice := set(listed).intersection(given or {}):
        raise InputError(
            f"every kind must have one price; that of {min(twice)!r} is in the list and in kind_prices. Leave one out."
        )
    return {**listed, **(given or {})}


def page_prices(page: Any, prices: Any, roster: Roster | None, votes: Votes, decimals: int) -> Any:
    """What a page costs: one amount for all, or amounts by worker where `page` has them by kind."""
    if page is None:
        return 0
    if isinstance(prices, Prices) and np.any(prices.page):
        raise ParameterError(f"prices say what pages cost already; leave page={page!r} out.")
    return (
        prices_by_kind(page, roster, votes.worker_names, decimals, "page price") if isinstance(page, Mapping) else page
    )


def paid_prices(
    votes: Votes, allowed: Mask, prices: Any, listed: PriceList, others: Any, page: Any,
    roster: Roster | None, decimals: int,
) -> Prices:  # fmt: skip
    """What is paid to whom: a worker's own price counts before that of their kind, and that before everybody's.

    prices : as given; listed, others : see `listed_prices`. page : one amount, or amounts by kind.
    """
    amounts: Any = prices
    if not isinstance(prices, Prices):
        amounts = {**prices_by_kind(listed.kinds, roster, votes.worker_names, decimals), **listed}
    pages = page_prices(page, prices, roster, votes, decimals)
    return prices_of_allowed(votes, allowed, amounts, others, decimals, pages)


def prices_of_allowed(votes: Votes, allowed: Mask, listed: Any, others: Any, decimals: int, page: Any = 0) -> Prices:
    """What votes cost of those who may be asked; nobody needs to know what others cost.

    Others get the median of these prices, for strategies look at the median of all, which others must not move.

    listed : amounts by worker, or `Prices` of all. page : one amount, or amounts by worker.
    """
    names = votes.worker_names.cast(pa.string()).filter(pa.array(allowed))
    needed = set(names.to_pylist())  # a list may name people who may not be asked now
    if isinstance(page, Mapping):
        page = {name: amount for name, amount in page.items() if name in needed}
    if isinstance(listed, Prices):
        if len(listed.vote) != votes.n_workers:
            raise ParameterError(f"prices must be those of {votes.n_workers} workers; got {len(listed.vote)}.")
        own_pages = Prices.of(names, default=1, page=page, decimals=listed.decimals).page_of_worker
        known = Prices(listed.vote[allowed], listed.page_of_worker[allowed] + own_pages, listed.decimals)
    else:
        amounts = {name: amount for name, amount in listed.items() if name in needed}
        known = Prices.of(names, amounts, default=others, page=page, decimals=decimals)
    # Nobody pays this: who may not be asked is never offered to a strategy.
    vote, of_page = (
        np.full(votes.n_workers, round(float(np.median(each))), dtype=np.int64)
        for each in (known.vote, known.page_of_worker)
    )
    vote = np.maximum(vote, 1)  # strategies divide by it, also where the votes of an open page are free
    vote[allowed], of_page[allowed] = known.vote, known.page_of_worker
    return Prices(vote, of_page, decimals)
