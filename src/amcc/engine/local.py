"""Packed votes on this machine: several cores, and no more memory than allowed.

Blocks that fit stay in memory; the others are read from the folder in every round. A fit is the same either way, only
its time differs: memory decides what is kept, never how sums are made.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from amcc.engine.base import added
from amcc.engine.checkpoint import Checkpoint
from amcc.engine.packed import PackedBlock, PackedEngine, PackedVotes
from amcc.threads import in_threads, n_pieces

Result = TypeVar("Result")

# Blocks that `each` works on at the same time: so many results are held until they are taken, and no more.
WAVE = 4

# What a fit takes beside the blocks, in bytes, about: tables for each coin, hashes for each item, and Python with its
# packages.
COIN_BYTES, ITEM_BYTES, PROCESS_BYTES = 500, 60, 400 << 20

# What a block that is being worked on takes for each vote while it is not yet, or never, kept.
VOTE_BYTES = 60


class LocalEngine(PackedEngine):
    """Blocks are read when they are needed; as many as `memory` allows are kept.

    memory : bytes for the whole process, about; None keeps all blocks

    Examples
    --------
    >>> model = DawidSkene().fit(engine := LocalEngine("packed", memory=2 << 30))  # doctest: +SKIP
    >>> for table in model.tables(engine): print(len(table))  # doctest: +SKIP
    """

    def __init__(
        self, packed: PackedVotes | str | Path, memory: int | None = None, checkpoint: Checkpoint | None = None
    ) -> None:
        super().__init__(packed, checkpoint)
        self._room = np.inf if memory is None else memory - self._fixed_bytes()
        self._kept: dict[int, PackedBlock] = {}

    def _fixed_bytes(self) -> int:
        """Memory of a fit that keeps no block."""
        largest = max(entry.votes for entry in self.packed.entries)
        in_work = VOTE_BYTES * WAVE * largest
        return PROCESS_BYTES + COIN_BYTES * len(self.coins) + ITEM_BYTES * self.n_items + in_work

    def total(self, function: Callable[..., Result], *shared: Any) -> Result:
        """Sum over blocks; cores work on different runs of blocks, which are then added in the order of the runs."""
        # Each run holds a table of all slots; how many there are does not depend on the machine (`amcc.threads`).
        n_votes = sum(entry.votes for entry in self.packed.entries)
        runs = runs_of(len(self.packed.entries), n_pieces(n_votes, 2 * len(self.coins)))
        result: Result = added(in_threads(lambda part: self.total_of(runs[part], function, *shared), len(runs)))
        return result

    def total_of(self, run: range, function: Callable[..., Result], *shared: Any) -> Result:
        """Sum over some of the blocks, one after the other."""
        return added(function(self.block(number), *shared) for number in run)

    def each(self, function: Callable[..., Result], *shared: Any) -> Iterator[Result]:
        """Results in order; a few blocks at a time."""
        n_blocks = len(self.packed.entries)
        for first in range(0, n_blocks, WAVE):
            numbers = range(first, min(first + WAVE, n_blocks))
            yield from in_threads(lambda index: function(self.block(numbers[index]), *shared), len(numbers))  # noqa: B023

    def block(self, number: int) -> PackedBlock:
        """A block from memory if it was kept, from the folder otherwise."""
        block = self._kept.get(number)
        if block is None:
            block = self.packed.block(number)
            # The first that fit are kept, and stay: in every round all blocks are needed once, in the same order, so
            # throwing out the oldest would throw out each block just before it is needed again.
            if self._room >= block.n_bytes:
                self._room -= block.n_bytes
                self._kept[number] = block
        return block


def runs_of(n_blocks: int, n_parts: int) -> list[range]:
    """Runs of blocks, about equally long; no more than there are blocks.

    >>> runs_of(5, 2), runs_of(1, 8)
    ([range(0, 2), range(2, 5)], [range(0, 1)])
    """
    bounds = np.linspace(0, n_blocks, min(n_blocks, n_parts) + 1).astype(int).tolist()
    return [range(first, last) for first, last in itertools.pairwise(bounds)]
