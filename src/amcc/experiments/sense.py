"""Common sense as a contract: what any consensus should hold on small crowds, with the limits of each point.

`POINTS` says what may come out of the measures of `sense_measures`; draws come from `sense_draws`. `measured` asks the
points of one draw and shares the fit to its votes; `over_seeds` asks what is a mean over draws of one source;
`result_of` says what all of it comes to. `python benchmarks/sense.py` prints the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from amcc.arrays import Floats
from amcc.experiments.cells import Draw
from amcc.experiments.sense_measures import (
    Case,
    Make,
    against_counts,
    first_vote,
    idle,
    learning_curve,
    majority,
    mirror,
    names,
    one_label,
    other_seed,
    repeat,
    silent_roster,
    smooth,
    smooth_elsewhere,
    stranger,
    twins,
    unanimous,
)


class Limit(NamedTuple):
    """Between what the mean over draws, and each draw, must be; with a workers file, `with_file` for each draw."""

    mean: tuple[float, float] = (-np.inf, np.inf)
    each: tuple[float, float] = (-np.inf, np.inf)
    with_file: tuple[float, float] | None = None


@dataclass(frozen=True)
class Point:
    """A demand of common sense: what is measured, and what is allowed."""

    title: str
    measure: Callable[[Case], float | Floats | None]
    limit: Limit


INF = np.inf
# What is small depends on the crowd: limits are what a plain method (counts, one coin for each worker) keeps. A workers
# file changes more: a stranger is then one more person, and people are who models are measured by.
SMALL: dict[str, Point] = {
    "unanimous": Point("unanimous pairs reversed", unanimous, Limit((0, 0.005))),
    "majority": Point("accuracy less majority's", majority, Limit((-0.005, INF), (-0.10, INF))),
    "mirror": Point("yes and no swapped", mirror, Limit((-0.02, 0.02), (-0.10, 0.10), (-0.16, 0.16))),
    "stranger": Point("a random worker joins", stranger, Limit((-0.01, INF), (-0.10, INF), (-0.20, INF))),
    "repeat": Point("answers three times", repeat, Limit(each=(-0.01, 0.01))),
    "twins": Point("a model copies another: change", twins, Limit((0, 0.01))),
    "smooth": Point("1 % of votes gone: move", smooth, Limit((0, 0.03))),
    "elsewhere": Point("... of untouched pairs", smooth_elsewhere, Limit((0, 0.015))),
    "silent": Point("a roster that says nothing", silent_roster, Limit(each=(0, 1e-9))),
    "idle": Point("a worker who never votes", idle, Limit(each=(0, 1e-9))),
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
    """All these points of a draw; the seed is that of what they draw themselves."""
    case, records = Case(make, draw, seed), []
    for name in points:
        value = POINTS[name].measure(case)
        if value is not None and np.size(value):
            records.append(Record(name, draw.roster is not None, source, float(np.mean(value)), int(np.size(value))))
    return records


def over_seeds(make: Make, draws: Sequence[Draw], points: Iterable[str], source: str) -> list[Record]:
    """One number for all draws of a source: mean log-loss less that of counts, rise of the mean learning curve."""
    # Which limit a set has is decided afterwards, see `on_hard_set`.
    asked = [name for name in points if name in WHOLE and name != "counts-hard"]
    found: dict[tuple[str, bool], list[Any]] = defaultdict(list)
    for seed, draw in enumerate(draws):
        for way in both_ways(make, draw):
            case = Case(make, way, seed)
            for name in asked:
                found[name, way.roster is not None].append(WHOLE[name].measure(case))
    return [
        Record(name, file, source, largest_rise(values) if name == "more" else float(np.mean(values)))
        for (name, file), values in found.items()
    ]


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


def on_hard_set(record: Record, name: str) -> Record:
    """The record under the point whose limit is that of its set."""
    hard = record.point == "counts" and name in (HARD_WITH_FILE if record.file else HARD_SETS)
    return record._replace(point="counts-hard") if hard else record
