"""What a slice says about a consensus: one function for each table of an audit.

Columns of every table are listed in `amcc.audit.Audit`. Shares come with intervals (`amcc.inference`), and pairs of one
item count as one cluster, since they may err together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from amcc.arrays import Floats, Ints
from amcc.audit.slices import Slice, rows_to_table, with_blanks
from amcc.errors import InputError
from amcc.inference import Corrected, SliceEstimate, corrected_mean, corrected_share, kappas, newcombe
from amcc.truth import positions
from amcc.votes import Votes

# Edges of the bins of the calibration table: finer at the ends, where most probabilities are and errors matter most.
EDGES = np.array([0.0, 0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 0.99, 1.0])

# What is measured of a judge, in the order of the columns, and what people call it.
JUDGE_MEASURES = {
    "agreement": "agreement",
    "kappa": "kappa",
    "hit_rate": "hit rate",
    "false_alarm_rate": "false alarms",
    "informativeness": "informativeness",
}


# -- shares of labels ----------------------------------------------------------------------------------------------


def prevalence(slice_: Slice) -> pa.Table:
    """Share of items that have each label, the most frequent first.

    The slice alone says little about rare labels, and the consensus alone may be biased; `corrected_share` uses both.
    """
    pairs = slice_.pairs
    n_all = np.bincount(pairs.label, minlength=pairs.n_labels)
    mean = np.bincount(pairs.label, pairs.probability, pairs.n_labels) / n_all
    label, predicted = pairs.label[slice_.chosen], pairs.probability[slice_.chosen]
    rows = []
    for code in range(pairs.n_labels):
        mine = label == code
        found = corrected_share(slice_.answer[mine], predicted[mine], float(mean[code]), int(n_all[code]), slice_.level)
        rows.append({"label": pairs.label_names[code].as_py(), **corrected_row(found)})
    # A label nobody answered about has no estimate, so that the consensus decides where it stands.
    rows.sort(key=lambda row: -row["share" if row["slice"] else "consensus_share"])
    return rows_to_table(rows)


def corrected_row(found: Corrected, what: str = "share") -> dict[str, Any]:
    """A corrected share or mean, beside what the slice and the consensus alone say."""
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


def labels_per_item(slice_: Slice) -> Corrected | None:
    """Mean number of labels per item; None where there is no item on which people answered every pair.

    Items that are answered in part would count labels that nobody was asked about as absent.
    """
    pairs = slice_.pairs
    n_pairs = np.bincount(pairs.item, minlength=pairs.n_items)
    complete = np.bincount(slice_.item, minlength=pairs.n_items) == n_pairs
    if not complete.any():
        return None
    answer = np.bincount(slice_.item, slice_.answer, pairs.n_items)[complete]
    expected = np.bincount(pairs.item, pairs.probability, pairs.n_items)
    return corrected_mean(answer, expected[complete], float(expected.mean()), pairs.n_items, slice_.level)


# -- claimed and measured ------------------------------------------------------------------------------------------


def errors(slice_: Slice) -> pa.Table:
    """Claimed and measured error of the decisions, over all pairs and over some kinds of them.

    A consensus claims the probability of the other decision, on average. Where the measured error is above it, the
    consensus is too sure.
    """
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
    return rows_to_table(rows)


def _claim(claimed: float, measured: SliceEstimate) -> dict[str, Any]:
    """Columns that set a claim beside what was measured on `slice` rows."""
    return {
        "slice": measured.n,
        "claimed": claimed,
        "measured": measured.estimate,
        "low": measured.low,
        "high": measured.high,
    }


def calibration(slice_: Slice) -> pa.Table:
    """Claimed probability against the measured share of yes, in bins; empty bins are left out."""
    pairs, n_bins = slice_.pairs, len(EDGES) - 1
    # The last bin is closed on the right, so that a probability of exactly 1 has a bin.
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
    return rows_to_table(rows)


# -- agreement with people -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cast:
    """Votes of workers on pairs of the slice: (n,) worker, place among `Slice.chosen`, and 1 for yes."""

    worker: Ints
    place: Ints
    yes: Floats


def cast_on(slice_: Slice, votes: Votes) -> Cast:
    """The votes of the workers on the pairs of the slice; InputError where the votes are of something else."""
    pairs = slice_.pairs
    in_common = (positions(votes.item_names, pairs.item_names) >= 0)[votes.item]
    in_common &= (positions(votes.label_names, pairs.label_names) >= 0)[votes.label]
    if not in_common.any():
        raise InputError("the consensus must be that of the votes; they have no item and label in common.")
    place = pairs.places_of(votes, slice_.chosen)
    there = place >= 0
    return Cast(votes.worker[there].astype(np.int64), place[there], (votes.value[there] > 0).astype(np.float64))


def _agreement(slice_: Slice, vote: Floats, place: Ints, group: Ints, n_groups: int) -> dict[str, Any]:
    """Columns about how votes on pairs of the slice agree with people, one row per group.

    vote, place, group : (n,) from 0 to 1, place among `Slice.chosen`, and the row to which the vote counts. Of several
    people who are of two minds, a pair is partly yes and partly no: it counts for both rates, by these shares.
    """
    answer = slice_.answer[place]
    agreement = slice_.shares(1 - np.abs(vote - answer), group, n_groups, place)
    hit = slice_.shares(vote, group, n_groups, place, answer)
    false_alarm = slice_.shares(vote, group, n_groups, place, 1 - answer)
    low, high = newcombe(hit, false_alarm)
    informative = replace(agreement, estimate=hit.estimate - false_alarm.estimate, low=low, high=high)
    measures = agreement, kappas(vote, answer, group, agreement, slice_.level), hit, false_alarm, informative
    columns: dict[str, Any] = {"votes": agreement.n}
    for name, shares in zip(JUDGE_MEASURES, measures, strict=True):
        columns |= {name: shares.estimate, f"{name}_low": shares.low, f"{name}_high": shares.high}
    return columns


def decisions(slice_: Slice) -> pa.Table:
    """The decisions of the consensus against people: over all labels, then label by label.

    They are judged like the votes of a worker (`judges`), so that the two tables can be compared.
    """
    pairs, n = slice_.pairs, len(slice_.chosen)
    label = pairs.label[slice_.chosen]
    # Every pair counts twice: in row 0, which is over all labels, and in that of its label.
    place, group = np.tile(np.arange(n), 2), np.concatenate([np.zeros(n, np.int64), 1 + label])
    vote = pairs.present[slice_.chosen].astype(np.float64)[place]
    columns = _agreement(slice_, vote, place, group, 1 + pairs.n_labels)
    table = with_blanks(pa.table({"label": [None, *pairs.label_names.to_pylist()], **columns}))
    return table.filter(pa.array(columns["votes"] > 0))


def judges(slice_: Slice, cast: Cast, worker_names: pa.Array) -> pa.Table:
    """Every worker against people, over all labels and label by label; by the lower bound of their agreement.

    Only workers with votes on pairs of the slice have rows, and only labels on which they voted there.
    """
    labels = 1 + slice_.pairs.n_labels  # 0 is over all labels, as in `decisions`
    label = slice_.pairs.label[slice_.chosen][cast.place]
    place = np.tile(cast.place, 2)
    key, group = np.unique(
        np.concatenate([cast.worker * labels, cast.worker * labels + 1 + label]), return_inverse=True
    )
    columns = _agreement(slice_, np.tile(cast.yes, 2), place, group, len(key))
    worker, of_label = np.divmod(key, labels)
    # Sorted by the lower bound: a worker who agreed on three pairs by luck does not come first.
    overall = np.full(len(worker_names), np.nan)
    overall[worker[of_label == 0]] = columns["agreement_low"][of_label == 0]
    table = pa.table(
        {
            "worker": worker_names.take(pa.array(worker)),
            "label": pa.array([None, *slice_.pairs.label_names.to_pylist()], pa.string()).take(pa.array(of_label)),
            **columns,
        }
    )
    return with_blanks(table).take(pa.array(np.lexsort((of_label, worker, -overall[worker]))))


def between_people(slice_: Slice) -> SliceEstimate | None:
    """How often two people who answered the same pair disagree: a consensus can hardly be expected to do better.

    Of n people on a pair with y yes, y (n − y) of the n (n − 1) / 2 couples disagree. None where one person answered.
    """
    several = np.flatnonzero(slice_.answers.n[slice_.chosen] > 1)
    if not several.size:
        return None
    n, yes = (each[slice_.chosen[several]] for each in (slice_.answers.n, slice_.answers.yes))
    return slice_.share(2 * yes * (n - yes) / (n * (n - 1)), several)


def disagreements(slice_: Slice, cast: Cast, worker_names: pa.Array) -> pa.Table:
    """Pairs about which most people say something else than the consensus, with who voted what; the surest first."""
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


def _who(cast: Cast, places: Ints, worker_names: pa.Array, vote: float) -> pa.Array:
    """For each place, the list of workers who voted so."""
    rank = np.full(int(max(cast.place.max(initial=-1), places.max(initial=-1))) + 1, -1)
    rank[places] = np.arange(len(places))
    of_vote = np.where(cast.yes == vote, rank[cast.place], -1)
    # Sorted by the place they belong to, with those of no place first, which are left out.
    order = np.argsort(of_vote, kind="stable")[np.count_nonzero(of_vote < 0) :]
    offsets = np.append(0, np.cumsum(np.bincount(of_vote[order], minlength=len(places))))
    names = worker_names.cast(pa.string()).take(pa.array(cast.worker[order]))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), names)
