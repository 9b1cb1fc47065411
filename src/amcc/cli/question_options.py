"""Options of the commands that choose and buy questions, as groups."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from amcc.active.buying import DEFAULT_STRATEGY
from amcc.active.prices import read_price_list
from amcc.active.strategies import STRATEGIES
from amcc.cli.common import (
    Features,
    FeaturesItems,
    Json,
    KnownItems,
    KnownPairs,
    KnownTruth,
    Output,
    SafeCsv,
    TruthUnmentioned,
    WorkersFile,
    known_truth,
    notes,
    print_json,
    write_rows,
)
from amcc.cli.option_groups import OptionGroup
from amcc.cli.paths import READS
from amcc.truth import Truth


@dataclass(frozen=True)
class PriceOptions(OptionGroup):
    """What votes cost."""

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
        return "1" if self.prices is None and self.price is None else self.price


@dataclass(frozen=True)
class TruthOptions(OptionGroup):
    """What is known already."""

    truth: KnownTruth = None
    known_items: KnownItems = None
    known_pairs: KnownPairs = None
    truth_unmentioned: TruthUnmentioned = "unknown"

    def read(self) -> Truth | None:
        """The truth, if there is any."""
        return known_truth(self.truth, self.known_items, self.known_pairs, self.truth_unmentioned)


@dataclass(frozen=True)
class ChoiceOptions(OptionGroup):
    """How questions are chosen, and among what."""

    strategy: Annotated[str, typer.Option(help=f"One of: {', '.join(STRATEGIES)}.")] = DEFAULT_STRATEGY
    worker: Annotated[list[str] | None, typer.Option(help="Ask only this worker. May be repeated.")] = None
    features: Features = None
    features_items: FeaturesItems = None
    roster: WorkersFile = None
    explain: Annotated[bool, typer.Option("--explain", help="Also what the utility was made of.")] = False
    seed: Annotated[int, typer.Option(min=0, help="Decides between questions that are equally good.")] = 0


@dataclass(frozen=True)
class OutputOptions(OptionGroup):
    """Where rows go."""

    output: Output = None
    safe_csv: SafeCsv = False
    as_json: Json = False

    def write(self, rows: pa.Table, as_json: dict[str, Any], sentence: str) -> None:
        """Rows to the file, as CSV or as JSON to standard output, and a sentence for people."""
        if self.as_json:
            print_json(as_json)
        if not self.as_json or self.output is not None:
            write_rows(rows, self.output, safe_csv=self.safe_csv)
        notes.print(sentence, soft_wrap=True)
