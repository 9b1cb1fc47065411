"""Votes in numbers: how many there are of what, and how far workers agree.

Agreement is Krippendorff's α (`amcc.agreement`): 1 is perfect, 0 is what chance gives. It is told for whole label sets
(with MASI distance) and per label, each with a bootstrap interval.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from amcc import agreement
from amcc.arrays import Ints, Mask
from amcc.tables import Tabular

if TYPE_CHECKING:
    from amcc.votes.votes import Votes

# Agreement on 50 000 answers is known well enough. With many labels the matrices decide: two of them, a byte per cell.
MAX_AGREEMENT_ANSWERS = 50_000
MAX_AGREEMENT_CELLS = 20_000_000

# Different label sets among which distances are computed, all with all: 4 million of them.
MAX_PATTERNS = 2000


@dataclass(frozen=True)
class Interval:
    """An estimate with the bounds of its 95 % bootstrap interval; None where it is not defined."""

    estimate: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, estimate: float, low: float, high: float) -> Interval:
        """From numbers that may be NaN."""
        return cls(*(None if np.isnan(bound) else float(bound) for bound in (estimate, low, high)))


@dataclass(frozen=True)
class LabelDescription:
    """One label of a `Description`: how many votes it has, and the share of yes among them."""

    label: str
    asked: int
    yes_share: float | None
    agreement: Interval


@dataclass(frozen=True)
class Description(Tabular):
    """Statistics of votes. `agreement` is Krippendorff's α: with MASI distance on sets, nominal per label.

    An answer is all votes of one worker on one item. `labels_per_answer` is the mean number of yes in an answer,
    `share_unasked` the share of labels that an answer says nothing about.
    """

    workers: int
    items: int
    labels: int
    votes: int
    answers: int
    answers_per_item_mean: float
    answers_per_item_min: int
    answers_per_item_max: int
    labels_per_answer: float
    share_unasked: float
    items_without_answer: int
    workers_with_one_answer: int
    agreement: Interval
    by_label: list[LabelDescription]

    def to_arrow(self) -> pa.Table:
        """Table label, asked, yes_share, agreement, agreement_low, agreement_high: what is said of each label."""
        rows = [
            (each.label, each.asked, each.yes_share, each.agreement.estimate, each.agreement.low, each.agreement.high)
            for each in self.by_label
        ]
        columns = zip(*rows, strict=True) if rows else ((),) * 6
        kinds = (pa.string(), pa.int64(), *(pa.float64(),) * 4)
        names = ("label", "asked", "yes_share", "agreement", "agreement_low", "agreement_high")
        return pa.table([pa.array(each, kind) for each, kind in zip(columns, kinds, strict=True)], names=names)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON."""
        return asdict(self)


def describe(votes: Votes, n_boot: int, seed: int) -> Description:
    """Counts and agreement; see `Votes.describe`.

    Shares without anything to divide by are 0, or 1 for what is unasked: no votes, nothing asked.
    """
    if votes.reading.samples:
        # Samples of one worker agree with each other rather than with others: they would look like agreement.
        return replace(describe(votes.one_per_worker(), n_boot, seed), votes=len(votes))
    per_item, n_votes = votes.answers_per_item, len(votes)
    n_answers, n_yes = int(per_item.sum()), int((votes.value > 0).sum())
    sets, by_label = _agreements(votes, np.random.default_rng(seed), n_boot)
    return Description(
        workers=votes.n_workers,
        items=votes.n_items,
        labels=votes.n_labels,
        votes=n_votes,
        answers=n_answers,
        answers_per_item_mean=float(per_item.mean()) if per_item.size else 0.0,
        answers_per_item_min=int(per_item.min(initial=n_answers)),
        answers_per_item_max=int(per_item.max(initial=0)),
        labels_per_answer=n_yes / n_answers if n_answers else 0.0,
        share_unasked=1 - n_votes / (n_answers * votes.n_labels) if n_answers else 1.0,
        items_without_answer=int((per_item == 0).sum()),
        workers_with_one_answer=int((votes.answers_per_worker == 1).sum()),
        agreement=sets,
        by_label=_labels(votes, by_label),
    )


def _labels(votes: Votes, agreements: list[Interval]) -> list[LabelDescription]:
    """One description per label of the vocabulary, in its order, also of labels that nobody was asked about."""
    asked = np.bincount(votes.label, minlength=votes.n_labels).tolist()
    yes = np.bincount(votes.label[votes.value > 0], minlength=votes.n_labels).tolist()
    names = map(str, votes.label_names.to_pylist())
    return [
        LabelDescription(name, n_asked, n_yes / n_asked if n_asked else None, interval)
        for name, n_asked, n_yes, interval in zip(names, asked, yes, agreements, strict=True)
    ]


def _agreements(votes: Votes, rng: np.random.Generator, n_boot: int) -> tuple[Interval, list[Interval]]:
    """Krippendorff's α on sets (MASI) and per label, with intervals."""
    pairs = votes.pairs
    labels = agreement.nominal_alpha_per_label(
        pairs.item.astype(np.int64),
        pairs.label.astype(np.int64),
        votes.n_yes,
        pairs.n_votes,
        votes.n_labels,
        rng=rng,
        n_boot=n_boot,
    )
    # After the labels, with the same generator: the order of the two fixes the numbers for a seed.
    answer_item, yes, asked = answer_matrices(votes, rng)
    sets = agreement.masi_alpha(answer_item, yes, asked, rng=rng, n_boot=n_boot, max_patterns=MAX_PATTERNS)
    per_label = zip(labels.alpha, labels.low, labels.high, strict=True)
    return Interval.of(sets.alpha, sets.low, sets.high), [Interval.of(*bounds) for bounds in per_label]


def answer_matrices(votes: Votes, rng: np.random.Generator) -> tuple[Ints, Mask, Mask]:
    """Item, ticked labels and asked labels of each answer, (n_answers,) and twice (n_answers, labels that occur).

    Where that would be very many, a random sample of whole items: the answers on an item are what is compared.
    """
    n_answers = votes.answers_per_item
    if n_answers.sum() > min(MAX_AGREEMENT_ANSWERS, MAX_AGREEMENT_CELLS // max(votes.n_labels, 1)):
        # Items in random order, as many as fit: the first ones of the file may be of one kind.
        order = rng.permutation(votes.n_items)
        n_rows = np.cumsum(n_answers[order])
        n_cells = n_rows * _labels_so_far(votes, order)
        chosen = np.zeros(votes.n_items, dtype=bool)
        chosen[order[(n_rows <= MAX_AGREEMENT_ANSWERS) & (n_cells <= MAX_AGREEMENT_CELLS)]] = True
        votes = votes.select(chosen[votes.item])
    answer = votes.item.astype(np.int64) * max(votes.n_workers, 1) + votes.worker
    distinct, row = np.unique(answer, return_inverse=True)
    # Only labels that occur get a column: a sample of items may know few of a hundred thousand.
    labels, column = np.unique(votes.label, return_inverse=True)
    yes, asked = np.zeros((2, len(distinct), len(labels)), dtype=bool)
    yes[row, column] = votes.value > 0
    asked[row, column] = True
    return distinct // max(votes.n_workers, 1), yes, asked


def _labels_so_far(votes: Votes, order: Ints) -> Ints:
    """(n_items,) how many labels the first 1, 2, … items in this order were asked about."""
    place = np.empty(votes.n_items, dtype=np.int64)
    place[order] = np.arange(votes.n_items)
    first = np.full(votes.n_labels, votes.n_items)  # labels that nobody was asked about count for no item
    np.minimum.at(first, votes.pairs.label, place[votes.pairs.item])
    return np.cumsum(np.bincount(first, minlength=votes.n_items + 1)[: votes.n_items])
