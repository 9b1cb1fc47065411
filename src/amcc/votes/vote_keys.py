"""A vote packed in one integer: item, label, worker, and in the last bit yes or no.

Sorting integers is far faster than sorting rows by three columns. Sorted keys put the votes of a pair together, and
two votes of one worker to one question next to each other: the same keys are duplicates, keys that differ in the last
bit only contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc import passes
from amcc.arrays import Codes, Ints, Mask, Signs
from amcc.errors import ParameterError
from amcc.tables import PIECE_ROWS, Coded
from amcc.threads import in_threads


@dataclass(frozen=True)
class KeyLayout:
    """How many bits of a key are the label's and the worker's; the item has those above, yes or no has the last."""

    label_bits: int
    worker_bits: int

    @classmethod
    def of(cls, names: Mapping[str, pa.Array]) -> KeyLayout:
        """As few bits as these vocabularies need."""
        bits = {role: max(len(vocabulary) - 1, 0).bit_length() for role, vocabulary in names.items()}
        # 64 bits, less one for yes or no and one for the sign, which marks blank rows.
        if sum(bits.values()) > 62:
            raise ParameterError(f"item, label and worker codes must fit in 62 bits; they need {bits}.")
        return cls(bits["label"], bits["worker"])

    def pack(self, item: Coded, label: Coded, worker: Coded, value: Coded) -> Ints:
        """(n_rows,) one integer per row, −1 where the row is blank; blank rows come first when keys are sorted.

        >>> column = lambda *codes: Coded.of(np.array(codes))
        >>> KeyLayout(label_bits=2, worker_bits=3).pack(column(1, 1), column(0, 3), column(5, 0), column(1, 0))
        array([75, -1])
        """
        columns = [column.pieces() for column in (item, label, worker, value)]
        ends = np.cumsum([len(piece.raw) for piece in columns[-1]])
        keys = np.empty(len(value), dtype=np.int64)

        def pack_piece(number: int) -> None:
            items, labels, workers, values = (pieces[number].codes() for pieces in columns)
            key = keys[ends[number] - len(values) : ends[number]]
            # In place, bit by bit from the left: nothing but the keys is as long as the table.
            key[:] = items
            for code, bits in ((labels, self.label_bits), (workers, self.worker_bits), (values > 0, 1)):
                key <<= bits
                key |= code
            key[values == 0] = -1  # no vote has this key: the sign bit is never used

        in_threads(pack_piece, len(ends))
        return keys

    def unpack(self, keys: Ints) -> tuple[Codes, Codes, Codes, Signs]:
        """Item, worker, label and value of packed votes; the keys are used up."""
        return passes.unpack_votes(keys, self.label_bits, self.worker_bits)


def same_question(key: Ints, other: Ints) -> Mask:
    """Whether two votes are of one worker on one pair: their keys differ in the last bit at most."""
    return np.asarray(key ^ other <= 1)


def any_neighbours(keys: Ints, related: Callable[..., npt.NDArray[Any]]) -> bool:
    """Whether related(key, next key) holds anywhere; looked at in pieces, so that nothing as long as `keys` is made."""
    starts = range(0, len(keys) - 1, PIECE_ROWS)
    pieces = (keys[start : start + PIECE_ROWS + 1] for start in starts)
    return any(related(piece[:-1], piece[1:]).any() for piece in pieces)
