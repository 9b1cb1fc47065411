"""What is known about the items beside the votes: numbers, or texts that are turned into numbers.

Similar items tend to have similar labels, so features help where an item has few votes. Files are read by
`amcc.data.features`, which brings their rows into the order of the items of the votes; docs/features.md says which
methods use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from amcc.cli.console import busy
from amcc.cli.options.groups import OptionGroup
from amcc.cli.paths import READS
from amcc.data.features import Units, read_features, read_text_features
from amcc.errors import ParameterError
from amcc.votes import Votes

Features = Annotated[
    Path | None,
    typer.Option(
        help="Numbers that describe the items, for methods and strategies that use them: a table with a column item, "
        ".npz (X and items, or a sparse matrix of scipy) or .npy."
    ),
    READS,
]
FeaturesItems = Annotated[
    Path | None,
    typer.Option(help="Whose rows those of a .npy or sparse .npz file are: a list of items in their order."),
    READS,
]
ItemTexts = Annotated[
    Path | None,
    typer.Option(
        "--text",
        help="Texts of the items in the place of --features, a table item,text: similar ones inform each other.",
    ),
    READS,
]
TextColumn = Annotated[
    str | None, typer.Option(help="Column of the texts. Default: text, or the only one beside the item.")
]
TextUnits = Annotated[Units, typer.Option(help="What texts are compared by: words, or sequences of characters.")]


@dataclass(frozen=True)
class ItemFeatures(OptionGroup):
    """Numbers that describe the items.

    features : a file with its own item names, or one without them
    features_items : the names, for a file without them
    """

    features: Features = None
    features_items: FeaturesItems = None

    def are_named(self) -> bool:
        """Whether a file was named that describes the items."""
        return bool(self.features or self.features_items)

    def read(self, votes: Votes) -> Any:
        """The features of the items of the votes, (n_items, n_features); None where none were named."""
        if self.features is not None:
            return read_features(self.features, votes, items=self.features_items)
        if self.features_items is not None:
            raise ParameterError("--features-items says whose rows those of --features are; give both.")
        return None


@dataclass(frozen=True)
class ItemDescriptions(ItemFeatures):
    """Numbers or texts that describe the items.

    text : a table of texts, in the place of features
    text_column, text_units : how it is read; they mean nothing without it
    """

    text: ItemTexts = None
    text_column: TextColumn = None
    text_units: TextUnits = "words"

    def are_named(self) -> bool:
        """Whether a file was named that describes the items."""
        return super().are_named() or self.text is not None

    def read(self, votes: Votes) -> Any:
        """The same, also from texts."""
        if self.text is None:
            if self.text_column is not None or self.text_units != "words":
                raise ParameterError("--text-column and --text-units say how to read --text; name it.")
            return super().read(votes)
        # Which of two descriptions should count, and how much, is not for us to guess.
        if self.features is not None:
            raise ParameterError("--features and --text both describe the items; give one of them.")
        with busy(f"Reading {self.text.name}"):
            return read_text_features(self.text, votes, column=self.text_column, units=self.text_units)
