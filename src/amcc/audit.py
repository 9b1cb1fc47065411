"""Measure a consensus on a random slice that people answered: what it is worth, and what that makes of its numbers.

    consensus of everything + answers of people to a random slice → corrected shares of labels, calibration, error among
    settled pairs, agreement of every worker with people, and what the consensus and people disagree about

The slice must be random, and the consensus must not have seen its answers; `cross_fitted` gives one that has seen them
and can be audited all the same. Intervals are those of `amcc.inference`; docs/audit.md derives them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc import tables
from amcc.consensus.base import ConsensusModel
from amcc.errors import EmptyInputError, InputError, ParameterError
from amcc.evaluate import read_consensus
from amcc.inference import (
    Corrected,
    Estimate,
    Shares,
    check_level,
    clustered_shares,
    corrected_mean,
    corrected_share,
    kappas,
    newcombe,
)
from amcc.roster import Roster
from amcc.truth import PairList, Truth, positions
from amcc.votes import Votes

__all__ = ["Audit", "audit", "cross_fitted"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Rule = Literal["majority", "share"]
People = Truth | Votes

LEVEL = 0.95
"""Of intervals, unless asked otherwise: what readers expect where nothing is said."""

EDGES = np.array([0.0, 0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.99, 1.0])
"""Of the calibration table: finer at the ends, where most probabilities are and where errors matter most."""

STRANGE = 3.0
"""Standard errors from which on a slice differs from the rest by more than chance. Five things are compared, so a
random slice is suspected in about one of a hundred audits."""

FEW = 20
"""Items below which a slice is called small: its intervals hold, and are wide."""

TOLD = 5.0
"""Standard errors from which on a slice has more pairs of certain probability than a consensus without truth gives."""

FOLDS = 5


@dataclass(frozen=True)
class Audit:
    """What a slice says about a consensus. Tables are Arrow tables; what was not measured is missing there.

    level : of all intervals, low to high.
    n_items, n_pairs : in the slice, of those in the consensus. n_items_all, n_pairs_all : in the consensus.
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
    prevalence: pa.Table
    labels_per_item: Corrected | None
    errors: pa.Table
    calibration: pa.Table
    decisions: pa.Table
    judges: pa.Table
    people: Estimate | None
    disagreements: pa.Table
    warnings: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the list of disagreements as plain lists and numbers, for JSON."""
        per_item, people = self.labels_per_item, self.people
        return {
            "level": self.level,
            "items": self.n_items_all,
            "items_in_slice": self.n_items,
            "pairs": self.n_pairs_all,
            "pairs_in_slice": self.n_pairs,
            "prevalence": self.prevalence.to_pylist(),
            "labels_per_item": None if per_item is None else _corrected_row(per_item, "mean"),
            "errors": self.errors.to_pylist(),
            "calibration": self.calibration.to_pylist(),
            "decisions": self.decisions.to_pylist(),
            "judges": self.judges.to_pylist(),
            "people_disagree": None if people is None else vars(people),
            "disagreements": self.disagreements.num_rows,
            "warnings": self.warnings,
        }


def audit(
    consensus: ConsensusModel | Any, votes: Votes, people: People, *, level: float = LEVEL, rule: Rule = "majority"
) -> Audit:
    """Measure a consensus on the pairs of a random slice that people answered.

    Parameters
    ----------
    consensus : fitted model, or a table item, label, probability, present, settled
        It must not have seen the answers of people; see `cross_fitted`.
    votes : Votes
        Of the workers, who are compared with people.
    people : Truth or Votes
        Votes may hold several people per pair.
    level : float
        Of the intervals.
    rule : "majority" or "share"
        What several people say about a pair: what most of them say (half a yes where they are even), or the share of
        yes, so that a decision is as wrong as many of them disagree.
    """
    check_level(level)
    if rule not in get_args(Rule):
        raise ParameterError(f"rule must be 'majority' or 'share'; got {rule!r}.")
    pairs = _Pairs.of(consensus.pairs(frame="arrow") if isinstance(consensus, ConsensusModel) else consensus)
    answers = _answers_on(pairs, people)
    _refuse_told(pairs, answers)
    slice_ = _Slice(pairs, answers, answers.said(rule), level)
    cast = _cast_on(slice_, votes)
    return Audit(
        level=level,
        n_items=slice_.n_items,
        n_pairs=len(slice_.chosen),
        n_items_all=pairs.n_items,
        n_pairs_all=len(pairs.item),
        prevalence=_prevalence(slice_),
        labels_per_item=_labels_per_item(slice_),
        errors=_errors(slice_),
        calibration=_calibration(slice_),
        decisions=_decisions(slice_),
        judges=_judges(slice_, cast, votes.worker_names),
        people=_between_people(slice_),
        disagreements=_disagreements(slice_, cast, votes.worker_names),
        warnings=[*_left_out(slice_, people), *_warnings(slice_, votes), *_own_votes(votes, people)],
    )


# -- pairs, and what people say about them -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pairs:
    """A consensus in codes; items are in the order of its rows."""

    item_names: pa.Array
    label_names: pa.Array
    item: Ints
    label: Ints
    probability: Floats
    present: Mask
    settled: Mask | None

    @classmethod
    def of(cls, table: Any) -> _Pairs:
        listed = read_consensus(tables.as_arrow(table))
        if listed.probability is None:
            raise InputError(
                "an audit needs probabilities; the consensus has sets without them. Use what `amcc consensus` writes "
                "without --sets."
            )
        item, label = listed.item.dictionary_encode(), listed.label.dictionary_encode()
        row, column = (each.indices.to_numpy().astype(np.int64) for each in (item, label))
        probability, present, settled = listed.probability, listed.present, listed.settled
        return cls(item.dictionary, label.dictionary, row, column, probability, present, settled)

    @property
    def n_items(self) -> int:
        return len(self.item_names)

    @property
    def n_labels(self) -> int:
        return len(self.label_names)

    @cached_property
    def keys(self) -> Ints:
        return self.item * self.n_labels + self.label

    @cached_property
    def claimed_error(self) -> Floats:
        """(n_pairs,) probability that the decision is wrong, as the consensus itself says."""
        return np.where(self.present, 1 - self.probability, self.probability)


@dataclass(frozen=True)
class _Answers:
    """(n_pairs,) how many people answered each pair, and how many said yes."""

    n: Ints
    yes: Ints

    def said(self, rule: Rule) -> Floats:
        """(n_pairs,) what people say, from 0 to 1; NaN where nobody was asked."""
        with np.errstate(invalid="ignore"):
            share = self.yes / self.n
        if rule == "share":
            return np.asarray(share)
        return np.asarray(np.where(self.n > 0, (np.sign(share - 0.5) + 1) / 2, np.nan))


def _answers_on(pairs: _Pairs, people: People) -> _Answers:
    where = "the consensus"
    if isinstance(people, Truth):
        people.check_names(where, item=pairs.item_names, label=pairs.label_names)
        true, known = people.lookup(pairs.keys, pairs.item_names, pairs.label_names)
        answers = _Answers(known.astype(np.int64), (true & known).astype(np.int64))
    else:
        _as_truth(people).check_names(where, item=pairs.item_names, label=pairs.label_names)
        item = positions(people.item_names, pairs.item_names)[people.item]
        label = positions(people.label_names, pairs.label_names)[people.label]
        order = np.argsort(pairs.keys)
        place = _places(pairs.keys[order], np.where((item >= 0) & (label >= 0), item * pairs.n_labels + label, -1))
        there, n_pairs = place >= 0, len(order)
        place = order[place[there]]
        n = np.bincount(place, minlength=n_pairs)
        answers = _Answers(n, np.bincount(place[people.value[there] > 0], minlength=n_pairs))
    if not answers.n.any():
        raise EmptyInputError("people must have answered at least one pair of the consensus; they answered none.")
    return answers


def _places(keys: Ints, wanted: Ints) -> Ints:
    """Place of each key among sorted ones, −1 where it is not there."""
    place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    return np.where(keys[place] == wanted, place, -1)


def _as_truth(people: Votes) -> Truth:
    """What most people say; unknown where they are even."""
    pairs = PairList(*_named(people, people.pairs.item, people.pairs.label))
    balance = 2 * people.n_yes - people.pairs.n_votes
    return Truth(pairs.where(balance > 0), known_pairs=pairs.where(balance != 0))


def _named(votes: Votes, item: npt.NDArray[Any], label: npt.NDArray[Any]) -> tuple[pa.Array, pa.Array]:
    names = (votes.item_names, item), (votes.label_names, label)
    first, second = (each.cast(pa.string()).take(pa.array(codes)) for each, codes in names)
    return first, second


def _refuse_told(pairs: _Pairs, answers: _Answers) -> None:
    """A consensus that was given answers as known truth repeats them, with probabilities of exactly 0 and 1.

    Others have such probabilities, too, when votes are counted; but they have them everywhere, and not always right.
    """
    asked, said = answers.n > 0, answers.said("majority")
    certain = (pairs.probability == 0) | (pairs.probability == 1)
    by_item = np.bincount(pairs.item, certain, pairs.n_items) / np.bincount(pairs.item, minlength=pairs.n_items)
    more = standard_errors_apart(by_item[np.unique(pairs.item[asked])], by_item)
    told = asked & certain
    if more > TOLD and (pairs.probability[told] == said[told]).all():
        raise InputError(
            f"the consensus must not have seen the answers it is measured by; it repeats {int(told.sum()):,} of "
            f"{int(asked.sum()):,} with certainty, as after --truth. Use one that was made without them; what they "
            "teach can be measured, too: --cross-fit (in Python cross_fitted)."
        )


@dataclass(frozen=True)
class _Slice:
    """The pairs of a consensus that people answered; `said` is NaN at the others."""

    pairs: _Pairs
    answers: _Answers
    said: Floats
    level: float

    @cached_property
    def chosen(self) -> Ints:
        """Places of the pairs that people answered."""
        return np.flatnonzero(self.answers.n > 0)

    @cached_property
    def answer(self) -> Floats:
        """What they said there."""
        return self.said[self.chosen]

    @cached_property
    def item(self) -> Ints:
        """Items of these pairs."""
        return self.pairs.item[self.chosen]

    @cached_property
    def n_items(self) -> int:
        return len(np.unique(self.item))

    @property
    def left(self) -> float:
        """Share of the pairs that people did not answer."""
        return 1 - len(self.chosen) / len(self.pairs.item)

    @cached_property
    def wrong(self) -> Floats:
        """Share of people, or of what most of them say, that is against the decision."""
        return np.abs(self.pairs.present[self.chosen] - self.answer)

    def shares(
        self, value: Floats, group: Ints, n_groups: int, place: Ints | None = None, weight: Floats | None = None
    ) -> Shares:
        """Means by group over these pairs, or those at `place` among them; pairs of one item may err together."""
        item = self.item if place is None else self.item[place]
        return clustered_shares(value, group, item, n_groups, self.level, left=self.left, weight=weight)

    def share(self, value: Floats, place: Ints) -> Estimate:
        """The mean over those at `place`."""
        return self.shares(value, np.zeros(len(place), np.int64), 1, place).at(0)


def _table_of(rows: list[dict[str, Any]]) -> pa.Table:
    return _with_blanks(pa.Table.from_pylist(rows))


def _with_blanks(table: pa.Table) -> pa.Table:
    """The same table, in which numbers that are not defined are missing."""
    columns = [
        pa.array(column.to_numpy(), from_pandas=True) if pa.types.is_floating(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


# -- shares of labels ----------------------------------------------------------------------------------------------


def _prevalence(slice_: _Slice) -> pa.Table:
    """One row per label, by how many items have it, most frequent first as estimated."""
    pairs = slice_.pairs
    n_all = np.bincount(pairs.label, minlength=pairs.n_labels)
    mean = np.bincount(pairs.label, pairs.probability, pairs.n_labels) / n_all
    label, predicted = pairs.label[slice_.chosen], pairs.probability[slice_.chosen]
    rows = []
    for code in range(pairs.n_labels):
        mine = label == code
        found = corrected_share(slice_.answer[mine], predicted[mine], float(mean[code]), int(n_all[code]), slice_.level)
        rows.append({"label": pairs.label_names[code].as_py(), **_corrected_row(found)})
    rows.sort(key=lambda row: -row["share" if row["slice"] else "consensus_share"])
    return _table_of(rows)


def _corrected_row(found: Corrected, what: str = "share") -> dict[str, Any]:
    return {
        "items": found.n_all,
        "slice": found.n,
        what: found.estimate,
        "low": found.low,
        "high": found.high,
        f"slice_{what}": found.slice.estimate,
        "slice_low": found.slice.low,
        "slice_high": found.slice.high,
        f"consensus_{what}": found.predicted,
        "power": found.power,
    }


def _labels_per_item(slice_: _Slice) -> Corrected | None:
    """Mean number of labels, by the items all of whose pairs people answered."""
    pairs = slice_.pairs
    n_pairs = np.bincount(pairs.item, minlength=pairs.n_items)
    complete = np.bincount(slice_.item, minlength=pairs.n_items) == n_pairs
    if not complete.any():
        return None
    answer = np.bincount(slice_.item, slice_.answer, pairs.n_items)[complete]
    expected = np.bincount(pairs.item, pairs.probability, pairs.n_items)
    return corrected_mean(answer, expected[complete], float(expected.mean()), pairs.n_items, slice_.level)


# -- claimed and measured ------------------------------------------------------------------------------------------


def _errors(slice_: _Slice) -> pa.Table:
    """Claimed and measured error of the decisions, over all pairs and over some kinds of them."""
    pairs = slice_.pairs
    kinds = {"all": np.ones(len(pairs.item), dtype=bool)}
    if pairs.settled is not None:
        kinds |= {"settled": pairs.settled, "open": ~pairs.settled}
    kinds |= {"present": pairs.present, "absent": ~pairs.present}
    rows = []
    for name, kind in kinds.items():
        mine = np.flatnonzero(kind[slice_.chosen])
        measured = slice_.share(slice_.wrong[mine], mine)
        claimed = float(pairs.claimed_error[kind].mean()) if kind.any() else np.nan
        rows.append({"pairs": name, "number": int(kind.sum()), **_claim(claimed, measured)})
    return _table_of(rows)


def _claim(claimed: float, measured: Estimate) -> dict[str, Any]:
    """Columns that set a claim beside what was measured."""
    return {
        "slice": measured.n,
        "claimed": claimed,
        "measured": measured.estimate,
        "low": measured.low,
        "high": measured.high,
    }


def _calibration(slice_: _Slice) -> pa.Table:
    """Claimed probability against the measured share of yes, in bins; empty bins are left out."""
    pairs, n_bins = slice_.pairs, len(EDGES) - 1
    bin_ = np.clip(np.searchsorted(EDGES, pairs.probability, side="right") - 1, 0, n_bins - 1)
    number = np.bincount(bin_, minlength=n_bins)
    claimed = np.bincount(bin_, pairs.probability, n_bins) / np.maximum(number, 1)
    measured = slice_.shares(slice_.answer, bin_[slice_.chosen], n_bins)
    rows = [
        {
            "low_edge": float(EDGES[code]),
            "high_edge": float(EDGES[code + 1]),
            "number": int(number[code]),
            **_claim(float(claimed[code]), measured.at(code)),
        }
        for code in np.flatnonzero(number).tolist()
    ]
    return _table_of(rows)


# -- agreement with people -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cast:
    """Votes of workers on pairs of the slice: (n,) worker, place among `chosen`, and 1 for yes."""

    worker: Ints
    place: Ints
    yes: Floats


def _cast_on(slice_: _Slice, votes: Votes) -> _Cast:
    pairs = slice_.pairs
    item = positions(votes.item_names, pairs.item_names)[votes.item]
    label = positions(votes.label_names, pairs.label_names)[votes.label]
    if not ((item >= 0) & (label >= 0)).any():
        raise InputError("the consensus must be that of the votes; they have no item and label in common.")
    keys = pairs.keys[slice_.chosen]
    order = np.argsort(keys)
    place = _places(keys[order], np.where((item >= 0) & (label >= 0), item * pairs.n_labels + label, -1))
    there = place >= 0
    return _Cast(votes.worker[there].astype(np.int64), order[place[there]], (votes.value[there] > 0).astype(np.float64))


def _agreement(slice_: _Slice, vote: Floats, place: Ints, group: Ints, n_groups: int) -> dict[str, Any]:
    """Columns about how votes on pairs of the slice agree with people, one row per group."""
    answer = slice_.answer[place]
    agreement = slice_.shares(1 - np.abs(vote - answer), group, n_groups, place)
    hit = slice_.shares(vote, group, n_groups, place, answer)
    false_alarm = slice_.shares(vote, group, n_groups, place, 1 - answer)
    low, high = newcombe(hit, false_alarm)
    informative = replace(agreement, estimate=hit.estimate - false_alarm.estimate, low=low, high=high)
    measures = {
        "agreement": agreement,
        "kappa": kappas(vote, answer, group, agreement, slice_.level),
        "hit_rate": hit,
        "false_alarm_rate": false_alarm,
        "informativeness": informative,
    }
    columns: dict[str, Any] = {"votes": agreement.n}
    for name, shares in measures.items():
        columns |= {name: shares.estimate, f"{name}_low": shares.low, f"{name}_high": shares.high}
    return columns


def _decisions(slice_: _Slice) -> pa.Table:
    """The decisions of the consensus against people: over all labels, then label by label."""
    pairs, n = slice_.pairs, len(slice_.chosen)
    label = pairs.label[slice_.chosen]
    place, group = np.tile(np.arange(n), 2), np.concatenate([np.zeros(n, np.int64), 1 + label])
    vote = pairs.present[slice_.chosen].astype(np.float64)[place]
    columns = _agreement(slice_, vote, place, group, 1 + pairs.n_labels)
    table = _with_blanks(pa.table({"label": [None, *pairs.label_names.to_pylist()], **columns}))
    return table.filter(pa.array(columns["votes"] > 0))


def _judges(slice_: _Slice, cast: _Cast, worker_names: pa.Array) -> pa.Table:
    """Every worker against people, over all labels and label by label; by the lower bound of their agreement."""
    labels = 1 + slice_.pairs.n_labels
    label = slice_.pairs.label[slice_.chosen][cast.place]
    place = np.tile(cast.place, 2)
    key, group = np.unique(
        np.concatenate([cast.worker * labels, cast.worker * labels + 1 + label]), return_inverse=True
    )
    columns = _agreement(slice_, np.tile(cast.yes, 2), place, group, len(key))
    worker, of_label = np.divmod(key, labels)
    overall = np.full(len(worker_names), np.nan)
    overall[worker[of_label == 0]] = columns["agreement_low"][of_label == 0]
    table = pa.table(
        {
            "worker": worker_names.take(pa.array(worker)),
            "label": pa.array([None, *slice_.pairs.label_names.to_pylist()], pa.string()).take(pa.array(of_label)),
            **columns,
        }
    )
    return _with_blanks(table).take(pa.array(np.lexsort((of_label, worker, -overall[worker]))))


def _between_people(slice_: _Slice) -> Estimate | None:
    """How often two people who answered the same pair disagree."""
    several = np.flatnonzero(slice_.answers.n[slice_.chosen] > 1)
    if not several.size:
        return None
    n, yes = (each[slice_.chosen[several]] for each in (slice_.answers.n, slice_.answers.yes))
    return slice_.share(2 * yes * (n - yes) / (n * (n - 1)), several)


def _disagreements(slice_: _Slice, cast: _Cast, worker_names: pa.Array) -> pa.Table:
    """Pairs about which most people say something else than the consensus, with who voted what."""
    pairs, chosen = slice_.pairs, slice_.chosen
    yes = slice_.answers.yes[chosen]
    no = slice_.answers.n[chosen] - yes
    against = np.where(pairs.present[chosen], no - yes, yes - no)
    differing = np.flatnonzero(against > 0)
    differing = differing[np.argsort(pairs.claimed_error[chosen[differing]], kind="stable")]
    place = chosen[differing]
    said = {name: _who(cast, differing, worker_names, vote) for name, vote in (("said_yes", 1.0), ("said_no", 0.0))}
    columns: dict[str, Any] = {
        "item": pairs.item_names.take(pa.array(pairs.item[place])),
        "label": pairs.label_names.take(pa.array(pairs.label[place])),
        "probability": pairs.probability[place],
        "consensus": pairs.present[place].astype(np.int8),
        "people_yes": yes[differing],
        "people_no": no[differing],
    }
    if pairs.settled is not None:
        columns["settled"] = pairs.settled[place].astype(np.int8)
    return pa.table({**columns, **said})


def _who(cast: _Cast, places: Ints, worker_names: pa.Array, vote: float) -> pa.Array:
    """For each place, the list of workers who voted so."""
    mine = cast.yes == vote
    order = np.argsort(cast.place[mine], kind="stable")
    place, worker = cast.place[mine][order], cast.worker[mine][order]
    start, end = np.searchsorted(place, places), np.searchsorted(place, places, side="right")
    taken = np.concatenate([np.arange(a, b) for a, b in zip(start, end, strict=True)] or [np.empty(0, np.int64)])
    offsets = np.append(0, np.cumsum(end - start))
    names = worker_names.cast(pa.string()).take(pa.array(worker[taken.astype(np.int64)]))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), names)


# -- what to doubt ------------------------------------------------------------------------------------------


def _left_out(slice_: _Slice, people: People) -> list[str]:
    """What people answered that the consensus does not have."""
    named = pa.concat_arrays(people.items()).unique() if isinstance(people, Truth) else people.item_names
    strange = int((positions(named, slice_.pairs.item_names) < 0).sum())
    if strange:
        return [f"{strange:,} of {len(named):,} items of the slice are not in the consensus; they are left out"]
    if isinstance(people, Truth):
        n_said = 0 if people.known_pairs is None else len(people.known_pairs.item)
    else:
        n_said = len(people.pairs)
    if n_said > len(slice_.chosen):
        return [
            f"{n_said - len(slice_.chosen):,} of {n_said:,} answered pairs are not in the consensus, because no worker "
            "was asked about them; they are left out. To count them in, give every pair a probability (--all-labels)"
        ]
    return []


def _warnings(slice_: _Slice, votes: Votes) -> list[str]:
    """What can be seen of a slice that is not random, or too small."""
    found = _differences(slice_, votes)
    warnings = []
    if found:
        warnings.append(
            f"the slice is not like the rest, so it was hardly drawn at random: {'; '.join(found)}. The numbers of "
            "this audit hold for random slices only; draw one"
        )
    if slice_.n_items < FEW:
        warnings.append(f"{slice_.n_items:,} items are a small slice: intervals are wide, and for rare labels wider")
    return warnings


def _differences(slice_: _Slice, votes: Votes) -> list[str]:
    """What of the items of the slice differs from all items by more than `STRANGE` standard errors."""
    pairs, inside = slice_.pairs, np.unique(slice_.item)
    per_item = np.bincount(pairs.item, minlength=pairs.n_items)

    def mean(values: npt.NDArray[Any]) -> Floats:
        return np.asarray(np.bincount(pairs.item, values, pairs.n_items) / per_item)

    code = positions(votes.item_names, pairs.item_names)
    n_votes = np.bincount(code[votes.item][code[votes.item] >= 0], minlength=pairs.n_items)
    traits = {
        "mean probability": mean(pairs.probability),
        "mean doubt": mean(np.minimum(pairs.probability, 1 - pairs.probability)),
        "votes per item": n_votes.astype(np.float64),
        "place in the file, from 0 to 1": np.arange(pairs.n_items) / max(pairs.n_items - 1, 1),
    }
    if pairs.settled is not None:
        traits["share settled"] = mean(pairs.settled)
    told = []
    for name, values in traits.items():
        z = standard_errors_apart(values[inside], values)
        if abs(z) > STRANGE:
            told.append(
                f"{name} {values[inside].mean():.2f} against {values.mean():.2f} of all ({abs(z):.1f} standard errors)"
            )
    return told


def standard_errors_apart(part: Floats, everything: Floats) -> float:
    """How far the mean of a part drawn at random is from that of everything, in its standard errors.

    >>> round(standard_errors_apart(np.array([9.0, 8.0]), np.arange(10.0)), 1)
    2.1
    """
    n, n_all = len(part), len(everything)
    if n < 2 or n == n_all or everything.std() == 0:
        return 0.0
    error = everything.std(ddof=1) * np.sqrt((1 - n / n_all) / n)
    return float((part.mean() - everything.mean()) / error)


def _own_votes(votes: Votes, people: People) -> list[str]:
    """People whose votes are also in the consensus agree with it because they made it."""
    if isinstance(people, Truth):
        return []
    both = np.flatnonzero(positions(people.worker_names, votes.worker_names) >= 0)
    if not both.size:
        return []
    who = people.worker_names[int(both[0])].as_py()
    more = f" and {both.size - 1:,} more" if both.size > 1 else ""
    return [
        f"{who!r}{more} of the slice also voted: if those are the same answers, the consensus has seen them and looks "
        "better than it is. Leave them out of the votes"
    ]


# -- a consensus that has learned from the slice ------------------------------------------------------------------


def cross_fitted(
    make: Callable[[], ConsensusModel], votes: Votes, people: People, *, folds: int = FOLDS, seed: int = 0,
    all_labels: bool = False, workers: Roster | None = None,
) -> pa.Table:  # fmt: skip
    """The consensus of a model that learns from the slice, fit to be audited by the same slice.

    The items of the slice are dealt into folds. What is said about the items of one fold comes from a fit to which the
    answers to the other folds are known; about other items, it is the mean over the fits, and settled is what most of
    them call so. No answer is measured by a fit that has seen it.
    """
    if folds < 2:
        raise ParameterError(f"folds must be at least 2; got {folds!r}.")
    truth = people if isinstance(people, Truth) else _as_truth(people)
    present, known = truth.on_pairs(votes)
    items = np.unique(votes.pairs.item[known])
    if len(items) < folds:
        raise EmptyInputError(
            f"to learn from a slice and be measured by it takes at least {folds} of its items with votes; there are "
            f"{len(items)}. Leave cross-fitting out."
        )
    fold = np.full(votes.n_items, -1)
    fold[items] = np.random.default_rng(seed).permutation(np.arange(len(items)) % folds)
    fits = []
    for number in range(folds):
        taught = known & (fold[votes.pairs.item] != number)
        model = make().fit(votes, truth=_truth_of(votes, present, taught), workers=workers)
        fits.append(model.pairs(all_labels=all_labels, frame="arrow"))
    return _held_out(fits, fold[positions(fits[0]["item"].combine_chunks(), votes.item_names)])


def _truth_of(votes: Votes, present: Mask, known: Mask) -> Truth:
    pairs = PairList(*_named(votes, votes.pairs.item, votes.pairs.label))
    return Truth(pairs.where(present & known), known_pairs=pairs.where(known))


def _held_out(fits: list[pa.Table], fold: Ints) -> pa.Table:
    """One table of the fits' tables: at each row the fit that did not know it, or where all did not, all of them."""
    columns: Mapping[str, Floats] = {
        name: np.stack([table[name].to_numpy().astype(np.float64) for table in fits])
        for name in ("probability", "settled")
    }
    rows = np.arange(len(fold))
    mine = {name: np.where(fold < 0, each.mean(axis=0), each[fold, rows]) for name, each in columns.items()}
    return pa.table(
        {
            "item": fits[0]["item"],
            "label": fits[0]["label"],
            "probability": mine["probability"],
            "present": (mine["probability"] > 0.5).astype(np.int8),
            "settled": (mine["settled"] > 0.5).astype(np.int8),
        }
    )
