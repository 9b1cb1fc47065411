"""Old names of what commands share, for files that still use them. New code imports from where things are."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import make_dataclass
from pathlib import Path
from typing import Any

from amcc.cli.console import busy, notes, screen
from amcc.cli.fitting import DEFAULT_METHOD, Method, effect_as_json, fit, tell_effect
from amcc.cli.options.features import Features, FeaturesItems, ItemFeatures
from amcc.cli.options.groups import Command, signed
from amcc.cli.options.roster import WorkersFile, listed_workers
from amcc.cli.options.truth import KnownItems, KnownPairs, KnownTruth, TruthCoverage, TruthPath, TruthUnmentioned
from amcc.cli.options.votes import ReadingOptions, VotesPath
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


def reading_votes(load: Callable[[Path, Mapping[str, Any]], Votes], **kinds: Any) -> Callable[[Command], Command]:
    """A decorator: the command gets the argument VOTES and the options of reading, and is called with `votes`.

    load : reads them, given the path and the options by name.
    kinds : annotations of options of reading, where the command has its own.
    """
    own = make_dataclass(
        "OwnReadingOptions", [(name, kind, None) for name, kind in kinds.items()], bases=(ReadingOptions,), frozen=True
    )

    def decorate(command: Command) -> Command:
        def run(*, path: Path, reading: ReadingOptions, **arguments: Any) -> None:
            command(votes=load(path, vars(reading)), **arguments)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        keyword = inspect.Parameter.KEYWORD_ONLY
        declared = inspect.signature(command, eval_str=True).parameters.values()
        path, reading = (
            inspect.Parameter(name, keyword, annotation=kind) for name, kind in (("path", VotesPath), ("reading", own))
        )
        return signed(run, [path, *(each for each in declared if each.name != "votes"), reading])

    return decorate


reads_votes = reading_votes(load_votes)


def described_items(votes: Votes, features: Path | None, items: Path | None) -> Any:
    """See `ItemFeatures.read`."""
    return ItemFeatures(features, items).read(votes)


def known_truth(
    truth: Path | None, known_items: Path | None, known_pairs: Path | None, unmentioned: Unmentioned
) -> Truth | None:
    """See `TruthCoverage.read_if_named`."""
    return TruthCoverage(known_items, known_pairs, unmentioned).read_if_named(truth)
