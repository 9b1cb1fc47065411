"""What a writer is, what it gets, and the registry of those there are."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from amcc.arrays import Floats, Mask
from amcc.consensus.base import ConsensusModel
from amcc.errors import ParameterError
from amcc.votes import Votes

# Who wrote it: files outlive the version that made them.
VERSION = importlib.metadata.version("amcc")


@dataclass(frozen=True)
class Results:
    """What a model says about the items of some votes, as writers need it.

    texts : what the items are, by name. question, shown : see `write_consensus`.
    """

    model: ConsensusModel
    votes: Votes
    texts: Mapping[str, str] = field(default_factory=dict)
    question: str = "labels"
    shown: str = "text"

    @cached_property
    def items(self) -> list[str]:
        """Names of the items."""
        return [str(name) for name in self.model.item_names_.to_pylist()]

    @cached_property
    def labels(self) -> list[str]:
        """Names of the labels."""
        return [str(name) for name in self.model.item_results().label_names.to_pylist()]

    @cached_property
    def proba(self) -> Floats:
        """(n_items, n_labels) how likely each label is present, also where nobody was asked."""
        return self.model.predict_proba()

    @cached_property
    def present(self) -> Mask:
        """(n_items, n_labels) the label sets."""
        return self.model.predict()

    @cached_property
    def asked(self) -> Mask:
        """(n_items, n_labels) which pairs anybody was asked about."""
        asked = np.zeros((len(self.items), len(self.labels)), dtype=bool)
        asked[self.model.pair_item_, self.model.pair_label_] = True
        return asked

    @cached_property
    def told(self) -> Mask:
        """(n_items, n_labels) what the model was told, by which it must not be measured."""
        found = self.model.item_results()
        told = np.zeros((len(self.items), len(self.labels)), dtype=bool)
        told[found.pair_item[found.pair_told], found.pair_label[found.pair_told]] = True
        return told

    def set_of(self, item: int) -> list[str]:
        """The labels of an item."""
        return [self.labels[label] for label in np.flatnonzero(self.present[item])]


@dataclass(frozen=True)
class Writer:
    """A form in which a consensus can be written.

    name : how people call it. title : the tool, and what is written. write : all of it, to a path.
    """

    name: str
    title: str
    write: Callable[[Results, Path], None]


WRITERS: list[Writer] = []


def register(writer: Writer) -> None:
    """Make a writer known; no two may share a name."""
    if any(other.name == writer.name for other in WRITERS):
        raise ValueError(f"there is a writer {writer.name} already")
    WRITERS.append(writer)
    WRITERS.sort(key=lambda each: each.name)


def writer_named(name: str) -> Writer:
    """The writer of that name."""
    for writer in WRITERS:
        if writer.name == name:
            return writer
    raise ParameterError(f"--to must be one of {', '.join(each.name for each in WRITERS)}; got {name!r}.")
