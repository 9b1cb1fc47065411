"""Common sense as numbers: what any consensus should hold on small crowds, measured on one draw at a time.

A measure takes a way to make models, a draw and a generator, and gives one number, or None where the draw cannot tell.
`POINTS` says what each number may be; `measured` asks all points of a draw and shares the fit to its votes.
Draws come from `sense_draws`; where a draw has a roster, the model is given it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from amcc import Roster, Votes
from amcc.arrays import Floats, Ints, Mask
from amcc.consensus import ConsensusModel
from amcc.experiments.cells import Draw
from amcc.metrics import NEVER
from amcc.votes import OnConflict

Make = Callable[[], ConsensusModel]
Rng = np.random.Generator

# Votes that agree before a reversal is against sense: two may be wrong together by chance.
UNANIMOUS = 3
# Share of the votes that `smooth` takes away.
TAKEN = 0.01
# Of all votes, in steps: what `more` has seen when it is scored.
STEPS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
N_SAMPLES = 3


@dataclass(frozen=True)
class Case:
    """A draw and who makes models for it; the fit to all votes is made once."""

    make: Make
    draw: Draw

    def fitted(self, votes: Votes, roster: Roster | None = None) -> ConsensusModel:
        """A fresh model of these votes, with the roster of the draw or another one."""
        roster = self.draw.roster if roster is None else roster
        # Methods without a use for a roster need not know the argument.
        return self.make().fit(votes) if roster is None else self.make().fit(votes, roster=roster)

    def proba(self, votes: Votes, roster: Roster | None = None) -> Floats:
        """(n_pairs,) probabilities by such a model."""
        return self.fitted(votes, roster).pair_proba_

    @cached_property
    def base(self) -> Floats:
        """(n_pairs,) probabilities of the votes as they are."""
        return self.proba(self.draw.votes)

    @cached_property
    def known(self) -> Mask:
        """(n_pairs,) where the truth is known."""
        return self.draw.known[self.draw.votes.pairs.item, self.draw.votes.pairs.label]

    @cached_property
    def truth(self) -> Mask:
        """(n_pairs,) what is true, where that is known."""
        return self.draw.truth[self.draw.votes.pairs.item, self.draw.votes.pairs.label]

    def accuracy(self, proba: Floats) -> float:
        """Share of the known pairs that are right; what is exactly between yes and no is right by half."""
        right = np.where(np.abs(proba - 0.5) < 1e-9, 0.5, (proba > 0.5) == self.truth)
        return float(right[self.known].mean())


def unanimous(case: Case, rng: Rng) -> Floats | None:
    """Of the pairs with three or more votes that agree, from every declared kind: which are called the other way."""
    votes, pairs = case.draw.votes, case.draw.votes.pairs
    agree = ((votes.n_yes == 0) | (votes.n_yes == pairs.n_votes)) & (pairs.n_votes >= UNANIMOUS)
    if case.draw.roster is not None:
        kind = case.draw.roster.seats(votes.worker_names).kind
        pair = np.repeat(np.arange(len(pairs)), pairs.n_votes)
        for each in np.unique(kind):
            agree &= np.bincount(pair, kind[votes.worker] == each, len(pairs)) > 0
    reversed_ = (case.base > 0.5) != (votes.n_yes > 0)
    return reversed_[agree].astype(float) if agree.any() else None


def majority(case: Case, rng: Rng) -> float:
    """Accuracy less that of majority; a tie of votes is a no, as `amcc consensus -m majority` decides."""
    votes = case.draw.votes
    decided = 2 * votes.n_yes > votes.pairs.n_votes
    right = [(said == case.truth)[case.known].mean() for said in (case.base > 0.5, decided)]
    return float(right[0] - right[1])


def mirror(case: Case, rng: Rng) -> float:
    """Change of accuracy where every yes is a no, and the other way round."""
    votes = case.draw.votes
    mirrored = 1 - case.proba(replace(votes, value=-votes.value))
    return case.accuracy(mirrored) - case.accuracy(case.base)


def stranger(case: Case, rng: Rng) -> float:
    """Change of accuracy where one worker joins who answers every asked pair at random."""
    n_pairs = len(case.draw.votes.pairs)
    joined = with_worker(case.draw.votes, "stranger", np.arange(n_pairs), rng.choice([-1, 1], n_pairs))
    return case.accuracy(case.proba(joined)) - case.accuracy(case.base)


def repeat(case: Case, rng: Rng) -> float:
    """Change of accuracy where every answer is given three times, as samples."""
    votes = case.draw.votes
    codes = [np.tile(code, N_SAMPLES) for code in (votes.item, votes.worker, votes.label, votes.value)]
    sampled = votes_like(votes, codes, votes.worker_names, on_conflict="samples")
    return case.accuracy(case.proba(sampled)) - case.accuracy(case.base)


def twins(case: Case, rng: Rng) -> float | None:
    """Change of accuracy where one more model joins a family, and copies another one."""
    votes, roster = case.draw.votes, case.draw.roster
    if roster is None or not (families := roster.seats(votes.worker_names)).family.max(initial=-1) + 1:
        return None
    first = int(rng.choice(np.flatnonzero(families.family >= 0)))
    theirs = votes.worker == first
    pair = np.repeat(np.arange(len(votes.pairs)), votes.pairs.n_votes)[theirs]
    joined = with_worker(votes, "twin", pair, votes.value[theirs])
    table, name = roster.to_arrow(), str(votes.worker_names[first])
    row = table.filter(pc.equal(table["worker"], name))
    column = pa.array(["twin"], row["worker"].type)
    twin = row.set_column(0, "worker", column)
    extended = Roster.from_frame(pa.concat_tables([table, twin]))
    return case.accuracy(case.proba(joined, extended)) - case.accuracy(case.base)


def smooth(case: Case, rng: Rng) -> float:
    """How far all probabilities move, root mean square, where one vote of a hundred is taken away."""
    return _moves(case, rng)[0]


def smooth_elsewhere(case: Case, rng: Rng) -> float | None:
    """The same of the pairs that lost no vote."""
    return _moves(case, rng)[1]


def _moves(case: Case, rng: Rng) -> tuple[float, float | None]:
    """Root mean square move of all pairs that are left, and of those that lost no vote."""
    votes, n_taken = case.draw.votes, max(1, round(TAKEN * len(case.draw.votes)))
    keep = np.ones(len(votes), dtype=bool)
    keep[rng.permutation(len(votes))[:n_taken]] = False
    fewer = votes.select(keep)
    left = np.isin(keys(votes), keys(fewer))
    move, whole = case.proba(fewer) - case.base[left], np.add.reduceat(~keep, votes.pairs.start[:-1])[left] == 0
    return rms(move), rms(move[whole]) if whole.any() else None


def silent_roster(case: Case, rng: Rng) -> float | None:
    """Largest change by a roster that says nothing: all are people, nobody has a family."""
    if case.draw.roster is not None or not case.make().uses_roster:
        return None
    votes, none = case.draw.votes, pa.nulls(case.draw.votes.n_workers, pa.string())
    kind = ["human"] * votes.n_workers
    roster = Roster.from_frame(pa.table({"worker": votes.worker_names.cast(pa.string()), "kind": kind, "family": none}))
    return float(np.abs(case.proba(votes, roster) - case.base).max())


def first_vote(case: Case, rng: Rng) -> float | None:
    """How far the other probabilities move, root mean square, by the first vote of a person among models."""
    votes, roster = case.draw.votes, case.draw.roster
    person = None if roster is None else (roster.seats(votes.worker_names).kind == 0)[votes.worker]
    if person is None or not person.any() or person.all():
        return None
    one = ~person
    one[rng.choice(np.flatnonzero(person))] = True
    before, after = votes.select(~person), votes.select(one)
    same = np.isin(keys(after), keys(before))
    same[same] = after.pairs.n_votes[same] == before.pairs.n_votes[np.isin(keys(before), keys(after))]
    shared = np.isin(keys(before), keys(after)[same])
    return rms(case.proba(after)[same] - case.proba(before)[shared])


def names(case: Case, rng: Rng) -> float:
    """Largest change where rows come in another order and items, workers and labels have other names."""
    votes, roster = case.draw.votes, case.draw.roster
    table = votes.to_arrow().take(pa.array(rng.permutation(len(votes))))
    new: dict[str, pa.Array] = {}
    for role in ("item", "worker", "label"):
        old = getattr(votes, f"{role}_names")
        new[role] = pa.array([f"{role} {place:06d}" for place in rng.permutation(len(old))])
        code = pc.index_in(table[role].cast(old.type), value_set=old)
        table = table.set_column(table.column_names.index(role), role, new[role].take(code.combine_chunks()))
    if roster is not None:
        place = pc.index_in(roster.worker, value_set=votes.worker_names.cast(pa.string()))
        rows = roster.to_arrow().filter(pc.is_valid(place))
        roster = Roster.from_frame(rows.set_column(0, "worker", new["worker"].take(place.drop_null())))
    renamed = Votes.from_frame(table)
    place = {role: np.asarray(pc.index_in(new[role], value_set=getattr(renamed, f"{role}_names"))) for role in new}
    wanted = place["item"][votes.pairs.item].astype(np.int64) * renamed.n_labels + place["label"][votes.pairs.label]
    found = case.proba(renamed, roster)[np.searchsorted(keys(renamed), wanted)]
    return float(np.abs(found - case.base).max())


def other_seed(case: Case, rng: Rng) -> float | None:
    """Largest change with another `random_state`."""
    if "random_state" not in case.make().get_params():
        return None
    other = Case(lambda: case.make().set_params(random_state=1), case.draw)
    return float(np.abs(other.base - case.base).max())


def one_label(case: Case, rng: Rng) -> float:
    """Share of items whose likeliest label is the true one, less that of plurality; ties count by their share."""
    votes = case.draw.votes
    shape, at = case.draw.truth.shape, (votes.pairs.item, votes.pairs.label)

    def right(score: Floats) -> float:
        scores = np.full(shape, -np.inf)
        scores[at] = score
        top = scores >= scores.max(axis=1, keepdims=True) - 1e-12
        return float(((top & case.draw.truth).sum(axis=1) / top.sum(axis=1)).mean())

    return right(case.base) - right(votes.n_yes / votes.pairs.n_votes)


def against_counts(case: Case, rng: Rng) -> float:
    """Log-loss less that of smoothed counts, (yes + 1/2) / (votes + 1)."""
    votes = case.draw.votes
    counts = (votes.n_yes + 0.5) / (votes.pairs.n_votes + 1)
    return log_loss(case.base[case.known], case.truth[case.known]) - log_loss(
        counts[case.known], case.truth[case.known]
    )


def learning_curve(case: Case, rng: Rng) -> Floats:
    """(n_steps,) log-loss of all known pairs after so many random votes; pairs without a vote have what is usual."""
    votes, pairs = case.draw.votes, case.draw.votes.pairs
    order, losses = rng.permutation(len(votes)), []
    for share in STEPS:
        seen = np.zeros(len(votes), dtype=bool)
        seen[order[: max(1, round(share * len(votes)))]] = True
        proba = case.fitted(votes.select(seen)).predict_proba()[pairs.item, pairs.label]
        losses.append(log_loss(proba[case.known], case.truth[case.known]))
    return np.array(losses)


# -- what each may be ------------------------------------------------------------------------------------------------


class Limit(NamedTuple):
    """Between what the mean over draws, and each draw, must be; with a workers file, `with_file` for each draw."""

    mean: tuple[float, float] = (-np.inf, np.inf)
    each: tuple[float, float] = (-np.inf, np.inf)
    with_file: tuple[float, float] | None = None


@dataclass(frozen=True)
class Point:
    """A demand of common sense: what is measured, and what is allowed."""

    title: str
    measure: Callable[[Case, Rng], float | Floats | None]
    limit: Limit


INF = np.inf
# The limits are those of the design of common sense; floors with a workers file: the worst draw of mirror and stranger.
SMALL: dict[str, Point] = {
    "unanimous": Point("unanimous pairs reversed", unanimous, Limit((0, 0.005))),
    "majority": Point("accuracy less majority's", majority, Limit((-0.005, INF), (-0.10, INF))),
    "mirror": Point("yes and no swapped", mirror, Limit((-0.02, 0.02), (-0.10, 0.10), (-0.16, 0.16))),
    "stranger": Point("a random worker joins", stranger, Limit((-0.01, INF), (-0.10, INF), (-0.20, INF))),
    "repeat": Point("answers three times", repeat, Limit(each=(-0.01, 0.01))),
    "twins": Point("a model copies another", twins, Limit((-0.01, 0.01))),
    "smooth": Point("1 % of votes gone: move", smooth, Limit((0, 0.03))),
    "elsewhere": Point("... of untouched pairs", smooth_elsewhere, Limit((0, 0.015))),
    "silent": Point("a roster that says nothing", silent_roster, Limit(each=(0, 1e-9))),
    "first-vote": Point("first vote of a person: move", first_vote, Limit((0, 0.015))),
    "names": Point("other names and order", names, Limit(each=(0, 1e-9))),
    "seed": Point("another random_state", other_seed, Limit(each=(0, 0.002))),
}
CHOICE: dict[str, Point] = {
    "one-label": Point("one label of four: less plurality", one_label, Limit((-0.005, INF))),
    "one-label-pairs": Point("... pairs less majority's", majority, Limit((0, INF))),
}
# One value for each set: a mean over draws.
WHOLE: dict[str, Point] = {
    "counts": Point("log-loss less smoothed counts", against_counts, Limit(each=(-INF, 0.10))),
    "counts-hard": Point("... on hard sets", against_counts, Limit(each=(-INF, 0.20))),
    "more": Point("more votes: largest rise of log-loss", learning_curve, Limit(each=(-INF, 0.005))),
}
POINTS = SMALL | CHOICE | WHOLE
# Sets whose crowd shares mistakes, which votes cannot show: more is allowed; the last only without a workers file.
HARD_SETS = ("mt_errors", "drug_disease", "rag_pairs")
HARD_WITH_FILE = HARD_SETS[:2]


class Record(NamedTuple):
    """One number: of which point, whether a workers file was given, from where, what, and how much it counts."""

    point: str
    file: bool
    source: str
    value: float
    weight: int = 1


def measured(make: Make, draw: Draw, points: Iterable[str], source: str, seed: int) -> list[Record]:
    """All these points of a draw; every point has its own random numbers, so that it can be asked alone."""
    case, records = Case(make, draw), []
    for name in points:
        # `elsewhere` is about the same votes that `smooth` takes away.
        rng = generator(seed, "smooth" if name == "elsewhere" else name)
        value = POINTS[name].measure(case, rng)
        if value is not None and np.size(value):
            records.append(Record(name, draw.roster is not None, source, float(np.mean(value)), int(np.size(value))))
    return records


def both_ways(make: Make, draw: Draw) -> list[Draw]:
    """The draw without its roster and, if there is one and the model takes it, with it."""
    ways = [replace(draw, roster=None)]
    return [*ways, draw] if draw.roster is not None and make().uses_roster else ways


def largest_rise(curves: Sequence[Floats]) -> float:
    """How far the mean of curves (n_steps,) rises above what it was before.

    >>> round(largest_rise([np.array([0.5, 0.3, 0.4]), np.array([0.5, 0.3, 0.2])]), 3)
    0.0
    """
    mean = np.mean(curves, axis=0)
    return float((mean - np.minimum.accumulate(mean)).max())


@dataclass(frozen=True)
class Result:
    """What the records of a point come to."""

    mean: float
    lowest: float
    highest: float
    n_draws: int
    holds: bool


def result_of(point: str, records: Sequence[Record]) -> Result:
    """Mean, extremes, and whether they are within the limits; the limits of all records must be the same."""
    limit, value = POINTS[point].limit, np.array([record.value for record in records])
    mean = float(np.average(value, weights=[record.weight for record in records]))
    low, high = float(value.min()), float(value.max())
    each = limit.with_file if limit.with_file is not None and all(record.file for record in records) else limit.each
    holds = limit.mean[0] <= mean <= limit.mean[1] and each[0] <= low and high <= each[1]
    return Result(mean, low, high, len(records), holds)


# -- helpers ---------------------------------------------------------------------------------------------------------


def generator(seed: int, name: str) -> Rng:
    """Random numbers for a purpose."""
    return np.random.default_rng((seed, zlib.crc32(name.encode())))


def votes_like(
    votes: Votes, codes: Sequence[npt.NDArray[Any]], worker_names: pa.Array, on_conflict: OnConflict = "error"
) -> Votes:
    """Votes of these codes (item, worker, label, value) about the same items and labels."""
    item, worker, label, value = codes
    return Votes.from_codes(
        item, worker, label, value,
        item_names=votes.item_names, worker_names=worker_names, label_names=votes.label_names, on_conflict=on_conflict,
    )  # fmt: skip


def with_worker(votes: Votes, name: str, pair: Ints, value: Ints) -> Votes:
    """The votes and those of one worker more on these pairs."""
    own = np.full(len(pair), votes.n_workers)
    more: list[npt.NDArray[Any]] = [votes.pairs.item[pair], own, votes.pairs.label[pair], value]
    old: list[npt.NDArray[Any]] = [votes.item, votes.worker, votes.label, votes.value]
    worker_names = pa.array([*votes.worker_names.cast(pa.string()).to_pylist(), name])
    return votes_like(votes, [np.append(one, two) for one, two in zip(old, more, strict=True)], worker_names)


def keys(votes: Votes) -> Ints:
    """(n_pairs,) asked pairs as numbers, ascending; comparable where vocabularies are the same."""
    return votes.pairs.item.astype(np.int64) * votes.n_labels + votes.pairs.label


def rms(move: Floats) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(move**2)))


def log_loss(proba: Floats, truth: Mask) -> float:
    """Mean of −log of what was given to the truth, clipped as in `amcc.metrics`."""
    given = np.clip(np.where(truth, proba, 1 - proba), NEVER, 1 - NEVER)
    return float(-np.log(given).mean())
