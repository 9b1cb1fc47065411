"""What is known to be true, and how much of it: a truth says nothing about what it does not cover.

A truth is a table of what is present. Is a pair that is not in it absent, or did nobody look? Three options answer
that: a list of items that were looked at (--known-items), a list of pairs (--known-pairs), or "everything was looked
at" (--truth-unmentioned absent). Without them, only items that the table mentions are taken to be known. To take the
unknown for absent would teach models that workers who say yes are wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from amcc.cli.options.groups import OptionGroup
from amcc.cli.paths import READS
from amcc.errors import ParameterError
from amcc.io import read_truth
from amcc.truth import Truth
from amcc.votes import Unmentioned

# Also of evaluate, where the argument may be left out.
TRUTH_HELP = "What is true: a table item,label or item,labels, or item,label,truth with yes and no."
TruthPath = Annotated[Path, typer.Argument(metavar="TRUTH", help=TRUTH_HELP), READS]
KnownTruth = Annotated[
    Path | None,
    typer.Option(
        "--truth",
        help="What is already known, as for evaluate: it is kept, teaches about workers and corrects probabilities.",
    ),
    READS,
]
KnownItems = Annotated[
    Path | None, typer.Option(help="Table of the items that the truth covers. Default: those it mentions."), READS
]
KnownPairs = Annotated[Path | None, typer.Option(help="Table item,label of the pairs that the truth covers."), READS]
TruthUnmentioned = Annotated[
    Unmentioned, typer.Option(help="What the truth does not mention: absent if it covers everything.")
]

COUNT_TOLD_HELP = (
    "Measure also pairs that the consensus took from workers who are the reference (told is 2): for a truth that does "
    "not come from them."
)
CountTold = Annotated[bool, typer.Option("--count-told", help=COUNT_TOLD_HELP)]


@dataclass(frozen=True)
class TruthCoverage(OptionGroup):
    """Which pairs a truth is about. Outside of them it is unknown what is true, which is not the same as absent.

    >>> TruthCoverage().is_said(), TruthCoverage(truth_unmentioned="absent").is_said()
    (False, True)
    """

    known_items: KnownItems = None
    known_pairs: KnownPairs = None
    truth_unmentioned: TruthUnmentioned = "unknown"

    def is_said(self) -> bool:
        """Whether any of the options was given."""
        return self != TruthCoverage()

    def read(self, truth: Path) -> Truth:
        """The truth of a file."""
        return read_truth(
            truth, known_items=self.known_items, known_pairs=self.known_pairs, unmentioned=self.truth_unmentioned
        )

    def read_if_named(self, truth: Path | None, in_votes: Truth | None = None) -> Truth | None:
        """The truth that --truth names; else what the file of votes itself marks as known, if it does.

        Raises ParameterError where options say what a truth covers that was not named: somebody forgot it.
        """
        if truth is not None:
            return self.read(truth)
        # To go on would be to forget what somebody took care to say.
        if self.is_said():
            raise ParameterError(
                "--known-items, --known-pairs and --truth-unmentioned say what --truth covers; name it."
            )
        return in_votes
