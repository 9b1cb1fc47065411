"""Measure a consensus on a random slice that people answered: what it is worth, and what that makes of its numbers.

    consensus of everything + answers of people to a random slice → corrected shares of labels, calibration, error among
    settled pairs, agreement of every worker with people, and what the consensus and people disagree about

The slice must be random. What the consensus was told is left out; `cross_fitted` gives one that has learned from the
slice and can be audited by all of it. Intervals are those of `amcc.inference`; docs/audit.md derives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import pyarrow as pa

from amcc.audit import doubts, measures
from amcc.audit.cross_fit import cross_fitted
from amcc.audit.slices import AnswerRule, ConsensusPairs, People, Slice, answers_on, without_own, without_told
from amcc.consensus.base import ConsensusModel
from amcc.errors import ParameterError
from amcc.evaluation import told_notes
from amcc.inference import Corrected, SliceEstimate, check_level
from amcc.tables import Frame, as_frame
from amcc.votes import Votes

# The door of the room: what users and commands need. Tables are made in `measures`, warnings in `doubts`.
__all__ = ["LEVEL", "AnswerRule", "Audit", "audit", "cross_fitted"]


# Level of intervals, unless asked otherwise: what readers expect where nothing is said.
LEVEL = 0.95

AuditTable = Literal["prevalence", "errors", "calibration", "decisions", "judges", "disagreements"]


@dataclass(frozen=True)
class Audit:
    """What a slice says about a consensus. Tables are Arrow tables; what was not measured is missing there.

    level : of all intervals, low to high.
    n_items, n_pairs : in the slice, of those in the consensus. n_items_all, n_pairs_all : in the consensus, but for
        those that it was told. n_pairs_told : told pairs that people answered; they are left out.
    prevalence : label, items, slice, share, low, high (corrected), slice_share, slice_low, slice_high (by the slice
        alone), consensus_share (by the consensus alone), power (how far the consensus is used, 0 for not at all).
    labels_per_item : the same for the number of labels, over the items that are known completely; None without them.
    errors : pairs (all, settled, open, present, absent), number, slice, claimed, measured, low, high.
    calibration : low_edge, high_edge, number, slice, claimed, measured, low, high.
    decisions : label (missing: all), votes, then agreement, kappa, hit_rate, false_alarm_rate and informativeness
        of the decisions of the consensus against people, each with _low and _high.
    judges : the same with worker, for every worker who voted on pairs of the slice.
    people : how often two people disagree about a pair; None where one person answered.
    disagreements : item, label, probability, consensus, people_yes, people_no, settled, said_yes, said_no; those of
        which the consensus is surest come first.
    warnings : reasons to doubt that the slice is random, or large enough.
    """

    level: float
    n_items: int
    n_pairs: int
    n_items_all: int
    n_pairs_all: int
    n_pairs_told: int
    prevalence: pa.Table
    labels_per_item: Corrected | None
    errors: pa.Table
    calibration: pa.Table
    decisions: pa.Table
    judges: pa.Table
    people: SliceEstimate | None
    disagreements: pa.Table
    warnings: list[str]

    def table(self, name: AuditTable, frame: Frame = "pandas") -> Any:
        """One of the tables above."""
        if name not in get_args(AuditTable):
            raise ParameterError(f"name must be one of {', '.join(get_args(AuditTable))}; got {name!r}.")
        return as_frame(getattr(self, name), frame)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the list of disagreements as plain lists and numbers, for JSON."""
        per_item, people = self.labels_per_item, self.people
        return {
            "level": self.level,
            "items": self.n_items_all,
            "items_in_slice": self.n_items,
            "pairs": self.n_pairs_all,
            "pairs_in_slice": self.n_pairs,
            "pairs_told": self.n_pairs_told,
            "prevalence": self.prevalence.to_pylist(),
            "labels_per_item": None if per_item is None else measures.corrected_row(per_item, "mean"),
            "errors": self.errors.to_pylist(),
            "calibration": self.calibration.to_pylist(),
            "decisions": self.decisions.to_pylist(),
            "judges": self.judges.to_pylist(),
            "people_disagree": None if people is None else vars(people),
            "disagreements": self.disagreements.num_rows,
            "warnings": self.warnings,
        }


def audit(
    consensus: ConsensusModel | Any,
    votes: Votes,
    people: People,
    *,
    level: float = LEVEL,
    rule: AnswerRule = "majority",
    count_told: bool = False,
) -> Audit:
    """Measure a consensus on the pairs of a random slice that people answered.

    Parameters
    ----------
    consensus : fitted model, or a table item, label, probability, present, settled
        Pairs that it was told (`pair_told_`, the column told) are left out; see `cross_fitted` for another way.
    votes : Votes
        Of the workers, who are compared with people.
    people : Truth or Votes
        Votes may hold several people per pair.
    level : float
        Of the intervals.
    rule : "majority" or "share"
        What several people say about a pair: what most of them say (half a yes where they are even), or the share of
        yes, so that a decision is as wrong as many of them disagree.
    count_told : bool
        Measure also pairs that the consensus took from workers who are the reference, because the slice comes from
        others.
    """
    check_level(level)
    if rule not in get_args(AnswerRule):
        raise ParameterError(f"rule must be 'majority' or 'share'; got {rule!r}.")
    table = consensus.pairs(frame="arrow") if isinstance(consensus, ConsensusModel) else consensus
    pairs = ConsensusPairs.of(table, count_told=count_told)
    people, n_own = without_own(votes, people)
    answers = answers_on(pairs, people)
    left_out = doubts.left_out(pairs, answers, people)
    pairs, answers, n_told, n_reference = without_told(pairs, answers)
    doubts.refuse_told(pairs, answers)  # before anything is measured: its numbers would look excellent
    slice_ = Slice(pairs, answers, answers.said(rule), level)
    cast = measures.cast_on(slice_, votes)
    return Audit(
        level=level,
        n_items=slice_.n_items,
        n_pairs=len(slice_.chosen),
        n_items_all=pairs.n_items,
        n_pairs_all=len(pairs.item),
        n_pairs_told=n_told,
        prevalence=measures.prevalence(slice_),
        labels_per_item=measures.labels_per_item(slice_),
        errors=measures.errors(slice_),
        calibration=measures.calibration(slice_),
        decisions=measures.decisions(slice_),
        judges=measures.judges(slice_, cast, votes.worker_names),
        people=measures.between_people(slice_),
        disagreements=measures.disagreements(slice_, cast, votes.worker_names),
        warnings=[
            *told_notes(n_told, n_reference),
            *left_out,
            *doubts.warnings_about(slice_, votes),
            *doubts.own_votes(votes, people, n_own),
        ],
    )
