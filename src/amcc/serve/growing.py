"""Arrays that grow at their end, for what comes one by one and is looked at all together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


class Column:
    """A one-dimensional array that grows; room doubles, so that an entry costs the same however many there are.

    >>> column = Column(np.int64)
    >>> column.extend([3, 4])
    >>> column.values, len(column)
    (array([3, 4]), 2)
    """

    def __init__(self, dtype: npt.DTypeLike, room: int = 16) -> None:
        self._room: npt.NDArray[Any] = np.empty(room, dtype)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    @property
    def values(self) -> npt.NDArray[Any]:
        """What is in it; a view, which later entries do not change."""
        return self._room[: self._n]

    def extend(self, more: Sequence[int] | npt.NDArray[Any]) -> None:
        """Append entries."""
        n = self._n + len(more)
        if n > len(self._room):
            wider = np.empty(max(n, 2 * len(self._room)), self._room.dtype)
            wider[: self._n] = self.values
            self._room = wider
        self._room[self._n : n] = more
        self._n = n

    def remove(self, entries: Sequence[int]) -> None:
        """Take entries out, wherever they are."""
        kept = self.values[~np.isin(self.values, entries)]
        self._room, self._n = kept.copy(), len(kept)
