"""The whole simulated world: workers, truth and votes, in memory or in blocks of items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amcc.arrays import Codes, Floats, Floats32, Ints, Mask
from amcc.data.simulate.labels import Labels, draw_labels
from amcc.data.simulate.names import item_names, label_names, worker_names
from amcc.data.simulate.spec import CrowdSpec
from amcc.data.simulate.votes import CrowdBlock, draw_block
from amcc.data.simulate.workers import Workers, draw_workers
from amcc.votes import Votes

# A block is what must fit in memory at once: a million votes take some tens of MB while they are drawn. Another size
# gives another crowd for the same seed, as each block has its own child of it.
BLOCK_VOTES = 2**20
# Item × label cells: the larger part of a block when few labels are asked.
BLOCK_TRUTHS = 2**22
# Child, of the world's and of each block's generator, from which troubles are drawn: without them nothing changes.
TROUBLE = 1


@dataclass(frozen=True)
class SimulatedWorld:
    """Votes of a simulated crowd and everything behind them.

    To ask its workers more questions, see `amcc.active.crowd.SimulatedCrowd`.

    Attributes
    ----------
    votes : Votes
    truth : (n_items, n_labels) bool, what the experts say.
    present : (n_items, n_labels) bool, what is there; the same unless experts have a convention of their own.
    worker_kind : (n_workers,) str, one of `KINDS`.
    family : (n_workers,) the family of each model, -1 for people.
    taste_group : (n_workers,) the group that shares the leanings of a worker.
    specialty : (n_workers,) the label cluster a worker is best at; -1 for spammers.
    label_cluster : (n_labels,) the cluster each label belongs to.
    hit_rate, false_alarm_rate : (n_workers, n_labels) chance of a yes to a label that is present, absent, on
        an item of difficulty 0, where nothing that is shared moves it.
    difficulty : (n_items,) 0 on average; how much it lowers the log-odds of a hit.
    prices : (n_workers,) cents for one vote.
    features : (n_items, n_features), None without features.
    independent : whether the votes are independent given truth and difficulty, as they are without troubles.
    """

    votes: Votes
    truth: Mask
    present: Mask
    worker_kind: NDArray[np.str_]
    family: Codes
    taste_group: Codes
    specialty: Codes
    label_cluster: Codes
    hit_rate: Floats
    false_alarm_rate: Floats
    difficulty: Floats32
    prices: Ints
    features: Floats32 | None
    independent: bool = True


def simulate_crowd(spec: CrowdSpec) -> SimulatedWorld:
    """The whole crowd of `spec` in memory; the same spec always gives the same crowd.

    >>> world = simulate_crowd(CrowdSpec(n_items=20, n_labels=4, seed=1))
    >>> len(world.votes), world.truth.shape, world.hit_rate.shape
    (400, (20, 4), (50, 4))
    """
    labels, workers = draw_base(spec)
    blocks = list(draw_blocks(spec, labels, workers))

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(block, name) for block in blocks])

    return SimulatedWorld(
        votes=Votes.from_codes(
            *map(joined, ("item", "worker", "label", "value")),
            item_names=item_names(spec, range(spec.n_items)),
            worker_names=worker_names(spec),
            label_names=label_names(spec),
        ),
        truth=joined("truth"),
        present=joined("present"),
        worker_kind=workers.kind_names,
        family=workers.family,
        taste_group=workers.taste,
        specialty=workers.specialty,
        label_cluster=labels.cluster,
        hit_rate=workers.hit_rate,
        false_alarm_rate=workers.false_alarm_rate,
        difficulty=joined("difficulty"),
        prices=workers.prices,
        features=joined("features") if spec.n_features else None,
        independent=spec.is_independent,
    )


def crowd_blocks(spec: CrowdSpec) -> Iterator[CrowdBlock]:
    """The crowd of `spec` in blocks of items, about a million votes each."""
    return draw_blocks(spec, *draw_base(spec))


def draw_base(spec: CrowdSpec) -> tuple[Labels, Workers]:
    """What all blocks share."""
    rng, trouble_rng = _generators(spec, 0)
    labels = draw_labels(rng, trouble_rng, spec)
    return labels, draw_workers(rng, trouble_rng, spec, labels.cluster)


def draw_blocks(spec: CrowdSpec, labels: Labels, workers: Workers) -> Iterator[CrowdBlock]:
    """The blocks of a world, one after the other."""
    fitting = min(BLOCK_VOTES // spec.votes_per_item, BLOCK_TRUTHS // (spec.n_labels * spec.numbers_per_pair))
    block_items = max(1, fitting)  # one item, however large, must be drawn at once
    for number, first in enumerate(range(0, spec.n_items, block_items), start=1):
        items = range(first, min(first + block_items, spec.n_items))
        yield draw_block(*_generators(spec, number), spec, labels, workers, items)


def _generators(spec: CrowdSpec, number: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Generators of the seed's child of this number and of its troubles: 0 for the world, then one for each block."""
    # Children by number and not in turn: a block does not depend on how much was drawn for those before it.
    seeds = (np.random.SeedSequence(spec.seed, spawn_key=key) for key in ((number,), (number, TROUBLE)))
    plain, trouble = map(np.random.default_rng, seeds)
    return plain, trouble
