"""Old names of what commands share, for files that still use them. New code imports from where things are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amcc.cli.console import busy, notes, screen
from amcc.cli.fitting import DEFAULT_METHOD, Method, effect_as_json, fit, tell_effect
from amcc.cli.options.features import Features, FeaturesItems, ItemFeatures
from amcc.cli.options.roster import WorkersFile, listed_workers
from amcc.cli.options.truth import KnownItems, KnownPairs, KnownTruth, TruthCoverage, TruthPath, TruthUnmentioned
from amcc.cli.options.votes import ReadingOptions, reading_votes
from amcc.cli.output import Json, Output, SafeCsv, print_json, write_rows
from amcc.truth import Truth
from amcc.votes import Unmentioned, Votes

__all__ = [
    "DEFAULT_METHOD",
    "Features",
    "FeaturesItems",
    "Json",
    "KnownItems",
    "KnownPairs",
    "KnownTruth",
    "Method",
    "Output",
    "SafeCsv",
    "TruthPath",
    "TruthUnmentioned",
    "WorkersFile",
    "busy",
    "described_items",
    "effect_as_json",
    "fit",
    "known_truth",
    "listed_workers",
    "load_votes",
    "notes",
    "print_json",
    "reading_votes",
    "reads_votes",
    "screen",
    "tell_effect",
    "write_rows",
]


def load_votes(path: Path, reading: Mapping[str, Any]) -> Votes:
    """See `ReadingOptions.read`."""
    return ReadingOptions(**reading).read(path)


reads_votes = reading_votes(load_votes)


def described_items(votes: Votes, features: Path | None, items: Path | None) -> Any:
    """See `ItemFeatures.read`."""
    return ItemFeatures(features, items).read(votes)


def known_truth(
    truth: Path | None, known_items: Path | None, known_pairs: Path | None, unmentioned: Unmentioned
) -> Truth | None:
    """See `TruthCoverage.read_if_named`."""
    return TruthCoverage(known_items, known_pairs, unmentioned).read_if_named(truth)
