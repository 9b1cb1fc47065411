"""Whether numbers from a file are counts and codes that fit each other: compiled loops will trust them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def is_count(value: Any) -> bool:
    """Whether JSON gave a whole number that sums of a few do not take out of 64 bits; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def below(codes: npt.NDArray[Any], size: int) -> bool:
    """Whether all codes are valid places in something of this size."""
    return not len(codes) or bool(codes.min() >= 0 and codes.max() < size)


def sums_to(counts: npt.NDArray[Any], total: int) -> bool:
    """Whether counts add up; none may be negative, or so large that their sum begins again at zero."""
    return below(counts, total + 1) and int(counts.sum(dtype=np.int64)) == total


def rises(codes: npt.NDArray[Any], lengths: npt.NDArray[Any]) -> bool:
    """Whether codes rise from each to the next within runs of these lengths.

    >>> rises(np.array([1, 4, 2, 3]), np.array([2, 2])), rises(np.array([1, 4, 2, 3]), np.array([1, 3]))
    (True, False)
    """
    # The first of a run may be anything: only neighbours within a run are compared.
    first = np.zeros(len(codes) + 1, dtype=bool)
    first[np.cumsum(lengths, dtype=np.int64)] = True
    return bool(((codes[1:] > codes[:-1]) | first[1:-1]).all())
