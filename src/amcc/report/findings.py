"""What more than one panel needs: a fitted model beside its votes, and small helpers on codes and names.

Workers, items and labels are integer *codes* in all arrays, and have names only where somebody reads them: a panel
computes with codes and calls `names_of` at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc.arrays import Floats, Ints, Mask
from amcc.consensus.base import ConsensusModel
from amcc.consensus.undeclared import Suspicion, suspected_families
from amcc.consensus.workers import likely_spammers
from amcc.report.disagreeing import Disagreement
from amcc.report.html import NO_HTML, Html, link
from amcc.report.language import Language, language
from amcc.report.page import Panel
from amcc.votes import Description, Votes

if TYPE_CHECKING:
    from amcc.report.charts import Chart


@dataclass(frozen=True)
class Findings:
    """A fitted model beside its votes. What is expensive is computed when a panel first asks for it, and kept.

    A *pair* is an item with a label that somebody was asked about; arrays over pairs are in the order of
    `votes.pairs`, sorted by item, then label.

    model : fitted to the votes
    votes : what it was fitted to, as a model does not keep who said what
    description : counts and agreement of the votes, from `votes.describe()`
    say : the texts of the page's language
    source : what people type to name the file of the votes, for commands
    """

    model: ConsensusModel
    votes: Votes
    description: Description
    say: Language = field(default_factory=lambda: language("en"))
    source: str = "votes.csv"

    def panel(
        self, name: str, chart: Chart | None = None, body: Html = NO_HTML, notes: Sequence[str] = (), *,
        numbers: Html = NO_HTML, **places: str,
    ) -> Panel:  # fmt: skip
        """The panel of this name: its title and its explanation are texts of the language."""
        title, explanation = self.say(f"{name}.title"), self.say(f"{name}.explanation", **places)
        return Panel(title, explanation, chart, body, list(notes), name, numbers)

    def plain(self, name: str, why: str) -> Panel:
        """The panel of this name where it has nothing to show, and says why."""
        return Panel(self.say(f"{name}.title"), why, name=name)

    @cached_property
    def spammers(self) -> Mask:
        """(n_workers,) who looks like a spammer."""
        return likely_spammers(self.model.worker_rates_)

    @cached_property
    def active(self) -> Ints:
        """Codes of the workers who gave an answer; nothing is known about the others."""
        return np.flatnonzero(self.model.worker_rates_.answers > 0)

    @cached_property
    def items_per_label(self) -> Floats:
        """(n_labels,) expected number of items with each label."""
        return self.model.items_per_label()

    @cached_property
    def doubt(self) -> Floats:
        """(n_pairs,) probability that the more likely of present and absent is wrong, at most a half."""
        return np.minimum(self.model.pair_proba_, 1 - self.model.pair_proba_)

    @cached_property
    def rates_of_coins(self) -> tuple[Floats, Floats]:
        """(n_workers, n_labels) expected hit and false-alarm rates."""
        return self.model.rates_of_coins()

    @cached_property
    def disagreement(self) -> Disagreement:
        """Why people disagree, pair by pair; it takes a pass over the votes."""
        return Disagreement.of(self.model, self.votes)

    @cached_property
    def suspected(self) -> list[Suspicion]:
        """Workers who seem to share errors though nobody said so."""
        return suspected_families(self.votes, self.model.roster_ if self.model.has_roster else None)

    def worker_links(self, codes: npt.NDArray[np.integer[Any]]) -> list[Html]:
        """Names of workers, each a link to what is known of them."""
        return [link(f"worker-{code}", name) for code, name in _coded(self.votes.worker_names, codes)]

    def label_links(self, codes: npt.NDArray[np.integer[Any]]) -> list[Html]:
        """Names of labels, each a link to what is known of it."""
        return [link(f"label-{code}", name) for code, name in _coded(self.votes.label_names, codes)]

    @property
    def n_open(self) -> int:
        """Asked pairs that are not settled, as in the column settled of the consensus."""
        return int((~self.model.pair_settled_).sum())


def _coded(vocabulary: pa.Array, codes: npt.NDArray[np.integer[Any]]) -> zip[tuple[int, str]]:
    """Codes beside their names."""
    return zip(codes.tolist(), names_of(vocabulary, codes), strict=True)


def largest(values: Floats, most: int) -> Ints:
    """Positions of the largest values, largest first.

    Ties keep their order, so that a report does not change from one run to the next.

    >>> largest(np.array([1.0, 3.0, 3.0, 2.0]), 3).tolist()
    [1, 2, 3]
    """
    return np.argsort(-values, kind="stable")[:most]


def names_of(vocabulary: pa.Array, codes: npt.NDArray[np.integer[Any]]) -> list[str]:
    """The names behind some codes, as text whatever their type.

    >>> names_of(pa.array([10, 20, 30]), np.array([2, 0]))
    ['30', '10']
    """
    return [str(name) for name in vocabulary.take(pa.array(codes)).to_pylist()]
