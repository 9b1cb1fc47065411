"""eq13 to the letter: the best of all (item, label, worker), found without making a list of them.

There are items × labels × workers triplets, too many to hold. But u(item, label) · q(item, worker) / c(worker) has a
ceiling for each item: its largest u times the largest q / c that any worker can have. Items are looked at in the order
of their ceilings, and the search ends where no ceiling is above what was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from amcc.active.candidates import Candidates
from amcc.active.picking import LOOKED_AT, best_places, pick_batch
from amcc.active.questions import NOTHING_ASKED, Questions
from amcc.arrays import Floats, Ints

# Items looked at together, at most: enough that their neighbours are sought in one matrix product, and few enough that
# the search can end soon. Fewer where all their triplets would be more than `LOOKED_AT`.
BLOCK = 256

# How far above the last of the best a ceiling must be to be worth a look. Utilities are compared in single precision,
# whose numbers lie about 1e-7 apart: without it, rounding would send the search through all items that are equal.
CLEARLY = 1e-6


def best_triplets(
    utility_of_pair: Floats,
    value_on: Callable[[Ints], Floats],
    most_value: Floats,
    candidates: Candidates,
    batch: int,
    rng: np.random.Generator,
) -> Questions:
    """The `batch` best triplets by eq13, equals in random order; near-duplicates are left out as by `pick_batch`.

    utility_of_pair : (n_items, n_labels) u of eq9, not negative, NaN where nothing may be asked.
    value_on : (n, n_workers) q / c on some items. most_value : (n_workers,) no q / c of a worker is larger.
    """
    n_items = len(utility_of_pair)
    # NaN where nothing of the item is open.
    ceiling = most_value.max(initial=0.0) * np.fmax.reduce(utility_of_pair, axis=1)
    order = best_places(ceiling, n_items if batch > 0 else 0, rng)
    n_triplets = (~np.isnan(utility_of_pair[order])).sum(axis=1) * len(most_value)
    found, least = Questions(NOTHING_ASKED, np.empty(0)), -np.inf
    for item in _blocks(order, n_triplets):
        if ceiling[item[0]] <= least:
            break
        value = value_on(item)
        # What the best worker could make of each pair; most pairs need no further look.
        row, label = np.nonzero(utility_of_pair[item] * value.max(axis=1, keepdims=True) > least)
        asked = candidates.of_pairs(item[row], label)
        place = np.empty(n_items, dtype=np.int64)
        place[item] = np.arange(len(item))
        utility = utility_of_pair[asked.item, asked.label] * value[place[asked.item], asked.worker]
        # Triplets stand in each other's way within an item only, and an item is in one block: the best of the best of
        # two blocks are the best of both.
        found = found.joined(Questions(asked, utility))
        found = pick_batch(found.asked, found.utility, batch, rng)
        # Those that were put off as near-duplicates give way to anything else, so that they are no measure.
        n_own = len(set(found.asked.pages()))
        least = found.utility[batch - 1] * (1 + CLEARLY) if n_own >= batch else -np.inf
    return found


def _blocks(order: Ints, n_triplets: Ints) -> Iterator[Ints]:
    """The items in their order, at most `BLOCK` together, and fewer where they have more triplets than `LOOKED_AT`.

    >>> [block.tolist() for block in _blocks(np.array([7, 3, 5]), np.array([10, LOOKED_AT, 10]))]
    [[7], [3, 5]]
    """
    # Which block each is in by the triplets up to its end; whatever their number, not more than `BLOCK` together.
    by_triplets = (np.cumsum(n_triplets) - 1) // LOOKED_AT
    starts = np.union1d(np.flatnonzero(np.diff(by_triplets, prepend=-1)), np.arange(0, len(order), BLOCK))
    yield from (block for block in np.split(order, starts[1:]) if len(block))
