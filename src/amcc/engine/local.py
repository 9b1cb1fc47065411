"""Packed votes on this machine: both cores, and no more memory than allowed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from amcc.engine.base import Engine, added
from amcc.engine.checkpoint import Checkpoint
from amcc.engine.packed import PackedBlock, PackedVotes
from amcc.threads import in_threads

Result = TypeVar("Result")

N_PARTS = 8
"""Runs of blocks that are added up separately. Fixed, so that results do not depend on how many cores a machine has."""

WAVE = 4
"""Blocks whose single results are held at the same time."""

COIN_BYTES, ITEM_BYTES, PROCESS_BYTES = 500, 60, 400 << 20
"""What a fit takes beside the blocks, about: tables of coins, hashes of items, and Python with its packages."""


class LocalEngine(Engine):
    """Blocks are read when they are needed; as many as `memory` allows are kept.

    memory : bytes for the whole process, about; None keeps all blocks
    """

    def __init__(
        self, packed: PackedVotes | str | Path, memory: int | None = None, checkpoint: Checkpoint | None = None
    ) -> None:
        self.packed = packed if isinstance(packed, PackedVotes) else PackedVotes(packed)
        self.worker_names, self.label_names = self.packed.worker_names, self.packed.label_names
        self.coins, self.identity = self.packed.coins, f"packed votes {self.packed.identity:08x}"
        self.checkpoint = checkpoint
        self.n_votes, self.n_pairs, self.n_items = self.packed.n_votes, self.packed.n_pairs, self.packed.n_items
        self._room = np.inf if memory is None else memory - self._fixed_bytes()
        self._kept: dict[int, PackedBlock] = {}

    def _fixed_bytes(self) -> int:
        """Memory of a fit that keeps no block."""
        largest = max(entry.votes for entry in self.packed.entries)
        return PROCESS_BYTES + COIN_BYTES * len(self.coins) + ITEM_BYTES * self.n_items + 60 * WAVE * largest

    def total(self, function: Callable[..., Result], *shared: Any) -> Result:
        """Sum over blocks; both cores work on different blocks."""
        runs = runs_of(len(self.packed.entries), N_PARTS)
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
            if self._room >= block.n_bytes:
                self._room -= block.n_bytes
                self._kept[number] = block
        return block


def runs_of(n_blocks: int, n_parts: int) -> list[range]:
    """Runs of blocks, about equally long."""
    bounds = np.linspace(0, n_blocks, min(n_blocks, n_parts) + 1).astype(int).tolist()
    return [range(first, last) for first, last in itertools.pairwise(bounds)]
