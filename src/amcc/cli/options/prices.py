"""What votes cost: a price list, one price for everybody else, and how amounts are written.

Amounts stay text until the library turns them into whole minor units (`amcc.active.prices`): 0.1 is then a tenth, and
not the binary fraction next to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from amcc.active.prices import read_price_list
from amcc.cli.options.groups import OptionGroup
from amcc.cli.paths import READS


@dataclass(frozen=True)
class PriceOptions(OptionGroup):
    """What votes cost.

    >>> PriceOptions().of_others, PriceOptions(price="3").of_others, PriceOptions(prices=Path("list.csv")).of_others
    ('1', '3', None)
    """

    prices: Annotated[Path | None, typer.Option("--prices", help="Price list: a table worker,price."), READS] = None
    price: Annotated[
        str | None,
        typer.Option(help="What a vote costs of everybody who is not in the price list. Default, without a list: 1."),
    ] = None
    decimals: Annotated[
        int, typer.Option(help="Digits after the point of all amounts: 0 for whole cents, 2 for 1.25.")
    ] = 0

    def listed(self) -> dict[str, Any]:
        """Amounts of the price list, by worker."""
        return {} if self.prices is None else read_price_list(self.prices, decimals=self.decimals)

    @property
    def of_others(self) -> str | None:
        """The price of those who are in no list; None where everybody must be in it."""
        # Whoever gives a list has forgotten those who are not in it, unless they say what these cost.
        return "1" if self.prices is None and self.price is None else self.price
