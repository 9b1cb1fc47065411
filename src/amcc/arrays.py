"""Names for the kinds of arrays that all modules share, and the few sums and look-ups over codes that all need.

Codes count the names of a vocabulary from 0. They are 32 bits wide where there is one for every vote; keys made of
several codes are 64 bits wide, since a product of two of them does not fit in 32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from amcc.special import expit

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]  # where half the memory matters more than the last digits
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Signs = npt.NDArray[np.int8]  # +1 yes, −1 no, 0 where nobody knows
Mask = npt.NDArray[np.bool_]
AnyInts = npt.NDArray[np.integer[Any]]  # codes and counts of whatever width

# By which sums and products of shares may be off where they are compared or rounded: 0.1 · 30 is a little more than 3
# and must not become 4. Millions of roundings (2⁻⁵³ each) add up to less, and no share that anybody means is smaller.
ROUNDING = 1e-9

# Keys for which a table of flags is made rather than sorting: a hundred megabytes at most, as much as a block of votes
# takes while it is packed.
MOST_FLAGS = 10**8


def find_sorted(keys: AnyInts, wanted: AnyInts) -> tuple[Ints, Mask]:
    """Where each wanted key stands among the sorted `keys`, and whether it is there at all.

    Places of keys that are not there are valid indices nevertheless, so that both results can be used together.

    >>> place, found = find_sorted(np.array([2, 5, 9]), np.array([5, 6]))
    >>> place.tolist(), found.tolist()
    ([1, 2], [True, False])
    """
    if len(keys) == 0:
        return np.zeros(wanted.shape, np.int64), np.zeros(wanted.shape, dtype=bool)
    place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    return place, keys[place] == wanted


def all_keys(lists: Iterable[AnyInts], n_keys: int) -> Ints:
    """The keys that are in any of the sorted lists, each once, sorted; all are below `n_keys`.

    (`np.unique` and `np.union1d` put numbers into a hash table first, which takes fifty times as long.)

    >>> all_keys([np.array([2, 5, 9]), np.array([1, 5])], 10).tolist()
    [1, 2, 5, 9]
    """
    if n_keys <= MOST_FLAGS:
        used = np.zeros(n_keys, dtype=bool)
        for keys in lists:
            used[keys] = True
        return np.flatnonzero(used)
    merged, waiting = np.empty(0, np.int64), list[AnyInts]()
    for keys in lists:
        waiting.append(keys)
        # Not one by one: to go through all keys for each list would take longer the more lists there are.
        if sum(map(len, waiting)) > len(merged):
            merged, waiting = _merged([merged, *waiting]), []
    return _merged([merged, *waiting])


def distinct(keys: AnyInts, n_keys: int) -> tuple[Ints, Codes]:
    """The keys that occur, sorted, and the place among them of each one given; all are below `n_keys`.

    >>> [each.tolist() for each in distinct(np.array([7, 2, 7]), 10)]
    [[2, 7], [1, 0, 1]]
    """
    # A table of all keys takes 5 bytes each; sorting takes 8 and more for each one given, and far more time.
    if n_keys > max(4 * len(keys), 1_000_000):
        found, place = np.unique(keys, return_inverse=True)
        return found.astype(np.int64), place.astype(np.int32)
    used = np.zeros(n_keys, dtype=bool)
    used[keys] = True
    return np.flatnonzero(used), (np.cumsum(used, dtype=np.int32) - 1)[keys]


def _merged(lists: list[AnyInts]) -> Ints:
    keys: Ints = np.concatenate(lists)
    keys.sort(kind="stable")  # which finds the sorted runs and merges them
    new = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys[new]


def once_per_pair(slow: Callable[..., Any], first: Ints, second: Ints) -> npt.NDArray[Any]:
    """slow(first, second) for whole numbers ≥ 0, computed once for each pair of values that occurs.

    Counts of yes and no repeat over and over, and integrals of the beta function are slow.

    >>> once_per_pair(np.add, np.array([1, 2, 1]), np.array([5, 6, 5])).tolist()
    [6, 8, 6]
    """
    span = int(second.max(initial=0)) + 1
    key = first * span
    key += second
    size = int(key.max(initial=0)) + 1
    # These are few at times: then a table of many keys would take longer than to sort them.
    found, place = distinct(key, size) if size <= len(key) else np.unique(key, return_inverse=True)
    return np.asarray(slow(*np.divmod(found, span)))[..., place]


def unsigned(codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same codes, of a type that says that none is negative: compiled loops need not ask."""
    return codes.view(f"u{codes.itemsize}")


def weight_per_code(code: npt.NDArray[Any], weight: npt.NDArray[Any], n_codes: int) -> Floats:
    """(n_codes,) sum of the weights that carry each code.

    >>> weight_per_code(np.array([0, 2, 2]), np.array([1.0, 0.5, 0.25]), 4).tolist()
    [1.0, 0.0, 0.75, 0.0]
    """
    return np.bincount(code, weights=weight, minlength=n_codes).astype(np.float64, copy=False)


def safe_log(probability: Floats) -> Floats:
    """Log that stays finite: nobody is more certain than one in 10¹⁰."""
    enough = np.asarray(np.maximum(probability, 1e-10), dtype=np.float64)
    return np.log(enough, out=enough)  # in place: with many coins, new memory takes longer than a logarithm


def safe_logit(probability: Floats) -> Floats:
    """Log-odds that stay finite, likewise: from −23 to 23."""
    return safe_log(probability) - safe_log(1 - probability)


def clipped(numbers: Floats, least: float, most: float) -> Floats:
    """As `numpy.clip`, which takes five times as long for a few numbers."""
    return np.asarray(np.minimum(np.maximum(numbers, least), most))


def sigmoid(log_odds: Floats) -> Floats:
    """Probability from log-odds, without overflow.

    >>> sigmoid(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    # One pass without copies: for a dozen numbers, as small fits have them, seven passes take twenty times as long.
    return np.asarray(expit(log_odds))
