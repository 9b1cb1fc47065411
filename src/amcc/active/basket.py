"""Where money is reserved: a basket takes the questions that a budget pays for, and refuses the others.

Everybody who buys votes goes through a `Basket`: `amcc.active.next_questions`, `Campaign` and `replay`. Nothing else
decides what fits in a budget. Money is counted in whole minor units (cents), so that sums are exact and a budget is
never overspent, not even by a rounding error.

To reserve is not to pay: a question that nobody answers costs nothing. What was really paid stands in the ledger of a
campaign (`amcc.active.ledger`), and the next basket gets what is left.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from amcc.active.prices import Money, Prices
from amcc.active.questions import NOTHING_ASKED, Questions
from amcc.arrays import Ints, Mask
from amcc.errors import InputError


class Basket:
    """Questions that money, the size of a batch and the shares of workers allow to be asked together.

    Parameters
    ----------
    prices : what votes and pages cost.
    money : what all questions together may cost, in minor units.
    size : how many questions there may be.
    votes_allowed : (n_workers,) how many votes each worker may give; any number, unless it is given.

    Attributes
    ----------
    questions : what is in the basket, in the order in which it was put in.
    price : (n,) what each question costs. The first question on a page bears the price of the page.
    at_random : (n,) whether it was drawn at random.
    left : money that is not reserved yet.

    Examples
    --------
    Ann costs 5, Bob 2. Of 8, Ann can be paid once; her second question is refused, Bob's is not.

    >>> from amcc.active.questions import Triplets
    >>> basket = Basket(Prices(np.array([5, 2])), money=8, size=10)
    >>> wanted = Triplets(np.array([0, 1, 2]), np.zeros(3, np.int64), np.array([0, 0, 1]))
    >>> basket.reserve(Questions(wanted, np.ones(3)))
    2
    >>> basket.price, basket.left
    (array([5, 2]), 1)
    """

    def __init__(self, prices: Prices, money: int, size: int, votes_allowed: Money | None = None) -> None:
        self._prices, self._size = prices, size
        self.left: int = money
        self._page_price = prices.page_of_worker
        self._allowed = np.full(len(prices.vote), size) if votes_allowed is None else votes_allowed.copy()
        self.questions: Questions = Questions(NOTHING_ASKED, np.empty(0))
        self.price: Money = np.empty(0, dtype=np.int64)
        self.at_random: Mask = np.empty(0, dtype=bool)
        # Pages by item and worker, numbered as they were opened: a page is paid once, by the question that opens it.
        self._pages: dict[tuple[int, int], int] = {}
        self._chosen_pairs: set[tuple[int, int]] = set()

    def __len__(self) -> int:
        return len(self.questions)

    @property
    def missing(self) -> int:
        """How many more questions there may be."""
        return self._size - len(self)

    @property
    def most_of_last(self) -> int:
        """How many questions to the last of the workers, who may be the requester, there is money and room for."""
        return min(self.missing, self.left // int(self._prices.lone_vote[-1]))

    @property
    def cost(self) -> int:
        """Money that is reserved."""
        return int(self.price.sum())

    def check_pays_for_a_vote(self, way_out: str = "") -> None:
        """Raise InputError where the money does not even pay for the cheapest vote of those who may be asked.

        way_out : a sentence for the message about where the price is from, and what to do.
        """
        cheapest = int(self._prices.lone_vote[self._allowed > 0].min())
        if cheapest > self.left:
            text = self._prices.text
            raise InputError(
                f"the budget must pay for at least one vote, {text(cheapest)}; got {text(self.left)}.{way_out}"
            )

    def open_workers(self, *, rich: bool = False) -> Mask:
        """(n_workers,) who may be asked one more question; `rich`: ignore the money.

        By the price of a page of their own: who can be paid only on a page that is open already is not offered again.
        """
        affordable = (self._prices.lone_vote <= self.left) | rich
        return np.asarray(affordable & (self._allowed > 0))

    def reserve(self, proposed: Questions, *, at_random: bool = False, until_refused: bool = False) -> int:
        """Put in what fits, the best first, and give the number of questions that did.

        A question is refused where the money does not pay for it, where its worker has given their share, where the
        basket is full, and where an earlier proposal had its pair: an answer changes what is worth asking next.

        at_random : whether they were drawn at random; their pairs may be proposed again.
        until_refused : stop at the first that is refused, instead of taking cheaper ones after it.
        """
        # One question after the other, not all at once: what one costs decides whether the next still fits.
        taken: list[int] = []
        prices: list[int] = []
        for place, (item, label, worker) in enumerate(proposed.asked.rows()):
            page = (item, worker)
            price = int(self._prices.vote[worker] + self._page_price[worker] * (page not in self._pages))
            fits = price <= self.left and self._allowed[worker] > 0 and len(taken) < self.missing
            if fits and (item, label) not in self._chosen_pairs:
                self.left -= price
                self._allowed[worker] -= 1
                self._pages.setdefault(page, len(self._pages))
                taken.append(place)
                prices.append(price)
            elif until_refused:
                break
        kept = proposed.take(np.array(taken, dtype=np.int64))
        # Only now: within one proposal, a strategy that draws at random may have drawn a pair twice.
        if not at_random:
            self._chosen_pairs.update(zip(kept.asked.item.tolist(), kept.asked.label.tolist(), strict=True))
        # An empty basket has no parts, which would be lost for all that come later.
        self.questions = self.questions.joined(kept) if len(self) else kept
        self.price = np.append(self.price, np.array(prices, dtype=np.int64))
        self.at_random = np.append(self.at_random, np.full(len(taken), at_random))
        return len(taken)

    def fill(self, propose: Callable[[], Questions]) -> None:
        """Reserve what is proposed; where a part of it is refused, ask for another proposal to take its place.

        It ends when the basket is full, when nobody can be paid any more, when nothing was refused (then there is
        nothing better to propose), or when everything was.
        """
        while self.missing > 0 and self.open_workers().any():
            proposed = propose()
            if self.reserve(proposed) in (0, len(proposed)):
                break

    def by_page(self) -> Ints:
        """(n,) places of the questions with those of a page next to each other, pages in the order of their opening."""
        return np.argsort([self._pages[page] for page in self.questions.asked.pages()], kind="stable")

    def best_first(self) -> Ints:
        """(n,) places of the questions by falling utility; equals stay in the order in which they were chosen."""
        return np.argsort(-self.questions.utility, kind="stable")
