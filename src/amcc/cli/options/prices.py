"""What votes cost: a price list or the paper's own cost, one price for everybody else, and how amounts are written.

Amounts stay text until the library turns them into whole minor units (`amcc.active.prices`): 0.1 is then a tenth, and
not the binary fraction next to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from amcc.active.prices import EQ12, is_eq12, price_at_one, read_price_list
from amcc.cli.options.groups import OptionGroup
from amcc.cli.paths import READS
from amcc.errors import InputError


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
            help="Price list: a table worker,price. Or the paper's own cost, by how often a worker says yes to labels "
            "that are present: eq12, or eq12-printed to the letter.",
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

    def listed(self) -> dict[str, Any]:
        """Amounts of the price list, by worker; none where eq12 says them, of which --price is checked."""
        if self.by_eq12:
            price_at_one(self.price, self.decimals, "--price")
        if self.prices is None or self.by_eq12:
            return {}
        path = Path(self.prices)
        if not path.exists() and not path.suffix:  # a slip in a word, rather than in the name of a file
            raise InputError(f"--prices must be a file or one of {', '.join(EQ12)}; there is no file {self.prices}.")
        return read_price_list(path, decimals=self.decimals)

    @property
    def of_others(self) -> str | None:
        """The price of those who are in no list; None where everybody must be in it."""
        # Whoever gives a list has forgotten those who are not in it, unless they say what these cost.
        return "1" if self.prices is None and self.price is None else self.price
