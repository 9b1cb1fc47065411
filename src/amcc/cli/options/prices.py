"""What votes cost: a price list or the paper's own cost, one price for everybody else, and how amounts are written.

Amounts stay text until the library turns them into whole minor units (`amcc.active.prices`): 0.1 is then a tenth, and
not the binary fraction next to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from amcc.active.prices import EQ12, PriceList, check_kind, is_eq12, price_at_one, read_price_list
from amcc.active.yourself import YOU
from amcc.cli.options.groups import OptionGroup
from amcc.cli.paths import READS
from amcc.errors import InputError, ParameterError


@dataclass(frozen=True)
class PriceOptions(OptionGroup):
    """What votes cost.

    >>> PriceOptions().of_others, PriceOptions(price="3").of_others, PriceOptions(prices="list.csv").of_others
    ('1', '3', None)
    >>> PriceOptions(prices="eq12").by_eq12, PriceOptions(prices="list.csv").by_eq12
    ('eq12', None)
    """

    prices: Annotated[
        str | None,
        typer.Option(
            "--prices",
            metavar="FILE|eq12|eq12-printed",
            help="Price list: a table worker,price; a row without a worker may name a kind. Or the paper's own cost, "
            "by how often a worker says yes to labels that are present: eq12, or eq12-printed to the letter.",
        ),
        READS,
    ] = None
    price: Annotated[
        str | None,
        typer.Option(
            help="What a vote costs of everybody who is not in the price list. Default, without a list: 1. With eq12, "
            "what a vote costs at a cost of 1, as of a worker who never says yes. Default: 100 minor units."
        ),
    ] = None
    decimals: Annotated[
        int, typer.Option(help="Digits after the point of all amounts: 0 for whole cents, 2 for 1.25.")
    ] = 0

    @property
    def by_eq12(self) -> str | None:
        """Which of `EQ12` says the prices, if one does."""
        return self.prices if is_eq12(self.prices) else None

    def listed(self) -> PriceList:
        """Amounts of the price list, by worker and kind; none where eq12 says them, of which --price is checked."""
        if self.by_eq12:
            price_at_one(self.price, self.decimals, "--price")
        if self.prices is None or self.by_eq12:
            return PriceList()
        path = Path(self.prices)
        if not path.exists() and not path.suffix:  # a slip in a word, rather than in the name of a file
            raise InputError(f"--prices must be a file or one of {', '.join(EQ12)}; there is no file {self.prices}.")
        return read_price_list(path, decimals=self.decimals)

    @property
    def of_others(self) -> str | None:
        """The price of those who are in no list; None where everybody must be in it."""
        # Whoever gives a list has forgotten those who are not in it, unless they say what these cost.
        return "1" if self.prices is None and self.price is None else self.price


@dataclass(frozen=True)
class KindPriceOptions(OptionGroup):
    """What people, models and the requester cost, for commands that know who is who.

    >>> KindPriceOptions(kind_price=["model=0.002", "human=0.08"]).arguments()["kind_prices"]
    {'model': '0.002', 'human': '0.08'}
    >>> KindPriceOptions(page_price=["0.02"]).arguments()["page"]
    '0.02'
    """

    kind_price: Annotated[
        list[str] | None,
        typer.Option(
            "--kind-price",
            metavar="KIND=AMOUNT",
            help="What a vote costs of everybody of a kind (human, model, code; see --workers) who has no price of "
            "their own. May be repeated.",
        ),
    ] = None
    page_price: Annotated[
        list[str] | None,
        typer.Option(
            "--page-price",
            metavar="[KIND=]AMOUNT",
            help="What a worker is paid for an item beside their votes on it; of everybody, or of a kind. May be "
            "repeated.",
        ),
    ] = None
    my_price: Annotated[
        str | None, typer.Option(help="What an answer of your own costs: you are then one of those who can be asked.")
    ] = None
    me: Annotated[str, typer.Option(help="What you are called among the workers.")] = YOU

    def given(self) -> dict[str, Any]:
        """Options and whether they say something else than their default."""
        paid = {"--kind-price": self.kind_price, "--page-price": self.page_price}
        return {**paid, "--my-price": self.my_price, "--me": self.me != YOU}

    def arguments(self) -> dict[str, Any]:
        """The same for `amcc.active.next_questions`."""
        if self.me != YOU and self.my_price is None:
            raise ParameterError("--me says what you are called; say with --my-price what an answer of yours costs.")
        page = self.page_price or []
        by_kind = len(page) > 1 or "=" in "".join(page)
        pages = amounts_by_kind("--page-price", page) if by_kind else next(iter(page), None)
        kinds = amounts_by_kind("--kind-price", self.kind_price or [])
        return {"kind_prices": kinds, "page": pages, "my_price": self.my_price, "me": self.me}


def amounts_by_kind(option: str, given: list[str]) -> dict[str, str]:
    """Amounts of KIND=AMOUNT, each kind once."""
    amounts: dict[str, str] = {}
    for text in given:
        kind, found, amount = text.partition("=")
        kind = kind.strip().lower()
        if not found:
            raise ParameterError(f"{option} must be KIND=AMOUNT, like model=0.002; got {text!r}.")
        check_kind(kind, f"{option} {text}")
        if kind in amounts:
            raise ParameterError(f"{option} must say one amount of each kind; {kind} has two. Leave one out.")
        amounts[kind] = amount.strip()
    return amounts
