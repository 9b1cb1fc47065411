"""Questions by their codes: who is asked whether an item has a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from amcc.arrays import Floats, Ints


@dataclass(frozen=True)
class Triplets:
    """Questions that may be asked: (n,) codes of item, label and worker."""

    item: Ints
    label: Ints
    worker: Ints

    def __len__(self) -> int:
        return len(self.item)

    def take(self, places: Ints) -> Triplets:
        """Some of them, in that order."""
        return Triplets(self.item[places], self.label[places], self.worker[places])


@dataclass(frozen=True)
class Questions:
    """Questions chosen, the best first.

    asked : their codes.
    utility : (n,) higher is better; comparable within one strategy only.
    parts : what the utility was made of, by name (u1, u2, u, q, c, …), each (n,).
    """

    asked: Triplets
    utility: Floats
    parts: Mapping[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.asked)
