"""Chance without names: pseudo-random numbers for items, workers and labels that depend on their votes only.

Folds and starting points need chance. Drawn in the order of the codes, it would change with the names of items,
workers and labels, and so would the result. Here each of them is hashed by its votes, by those it shares them with,
and so on; those equal in all of this are numbered, and it does not matter which is which.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from amcc.votes import Votes

Hashes = npt.NDArray[np.uint64]

ROUNDS = 2
_STEP, _HALF, _ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(1)


@dataclass(frozen=True)
class Signatures:
    """(n_items,), (n_workers,) and (n_labels,) hashes."""

    item: Hashes
    worker: Hashes
    label: Hashes

    @property
    def lot(self) -> npt.NDArray[np.float64]:
        """(n_items,) numbers from 0 to 1."""
        return self.item / 2.0**64

    def of_answers(self, item: npt.NDArray[np.int64], worker: npt.NDArray[np.int64]) -> Hashes:
        """Hashes of answers by their items and workers."""
        return _scrambled(self.item[item] + _STEP * self.worker[worker])


def signatures(votes: Votes, random_state: int) -> Signatures:
    """Hash items, workers and labels."""
    is_yes = (votes.value > 0).astype(np.uint64)
    codes = (votes.item, votes.n_items), (votes.worker, votes.n_workers), (votes.label, votes.n_labels)
    item, worker, label = (_scrambled(_sums(code, n, (is_yes << _HALF) + _ONE)) for code, n in codes)
    item = item ^ _scrambled(np.full(1, random_state + 1, dtype=np.uint64))
    for _ in range(ROUNDS):
        vote = _scrambled(item[votes.item] + _STEP * worker[votes.worker] + _scrambled(label)[votes.label] + is_yes)
        item, worker = _scrambled(item + _sums(*codes[0], vote)), _scrambled(worker + _sums(*codes[1], vote))
    label = _scrambled(label + _sums(*codes[2], vote))
    return Signatures(_told_apart(item), _told_apart(worker), _told_apart(label))


def draws(hashes: Hashes, n_draws: int) -> npt.NDArray[np.float64]:
    """(n_hashes, n_draws) numbers from 0 to 1, independent of each other."""
    number = np.arange(1, n_draws + 1, dtype=np.uint64)
    return _scrambled(hashes[:, None] + _STEP * number) / 2.0**64


def _told_apart(key: Hashes) -> Hashes:
    """Equals get hashes of their own, or all items with the same votes would share their chance."""
    order = np.argsort(key, kind="stable")
    number = np.arange(len(key)) - np.searchsorted(key[order], key[order])
    told_apart = np.empty_like(key)
    told_apart[order] = _scrambled(key[order] + _STEP * number.astype(np.uint64))
    return told_apart


def _scrambled(key: Hashes) -> Hashes:
    """The last steps of splitmix64: near keys end far apart."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


def _sums(code: npt.NDArray[np.int32], n_codes: int, weight: Hashes) -> Hashes:
    """Sums by code, modulo 2⁶⁴: exact in any order."""
    total = np.zeros(n_codes, dtype=np.uint64)
    np.add.at(total, code, weight)
    return total
