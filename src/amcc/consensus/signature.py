"""Chance without names: pseudo-random numbers for items, workers and labels that depend on their votes only.

Folds and starting points need chance. Drawn in the order of the codes, it would change with the names of items,
workers and labels, and so would the result. Here each of them is hashed by its votes, by those it shares them with,
and so on; those equal in all of this are numbered, and it does not matter which is which.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from amcc.kernels import SMALL, compiled
from amcc.votes import Votes

Hashes = npt.NDArray[np.uint64]

ROUNDS = 2
_STEP, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


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
    item, worker, label = (_scrambled(each) for each in _counts(votes))
    item = item ^ _scrambled(np.full(1, random_state + 1, dtype=np.uint64))
    for _ in range(ROUNDS):
        met = (_vote_sums if len(votes) <= SMALL else _vote_sums_compiled)(votes, item, worker, _scrambled(label))
        item, worker = _scrambled(item + met[0]), _scrambled(worker + met[1])
    label = _scrambled(label + met[2])
    return Signatures(_told_apart(item), _told_apart(worker), _told_apart(label))


def _counts(votes: Votes) -> Iterator[Hashes]:
    """How many votes, and how many of them yes, each item, worker and label has, as one number."""
    for code, n in ((votes.item, votes.n_items), (votes.worker, votes.n_workers), (votes.label, votes.n_labels)):
        n_votes, n_yes = np.bincount(code, minlength=n), np.bincount(code[votes.value > 0], minlength=n)
        yield n_votes.astype(np.uint64) + (n_yes.astype(np.uint64) << _HALF)


def _vote_sums(votes: Votes, item: Hashes, worker: Hashes, label: Hashes) -> tuple[Hashes, ...]:
    """Sums of the hashes of votes, by item, worker and label; modulo 2⁶⁴, so exact in any order."""
    is_yes = (votes.value > 0).astype(np.uint64)
    vote = _scrambled(item[votes.item] + _STEP * worker[votes.worker] + label[votes.label] + is_yes)
    sums = tuple(np.zeros_like(each) for each in (item, worker, label))
    for total, code in zip(sums, (votes.item, votes.worker, votes.label), strict=True):
        np.add.at(total, code, vote)
    return sums


def _vote_sums_compiled(votes: Votes, item: Hashes, worker: Hashes, label: Hashes) -> tuple[Hashes, ...]:
    """The same for large input, without a hash per vote in memory."""
    sums = tuple(np.zeros_like(each) for each in (item, worker, label))
    _compiled_sums_loop()(votes.item, votes.worker, votes.label, votes.value, item, worker, label, *sums)
    return sums


def _sums_loop(items, workers, labels, value, item, worker, label, of_item, of_worker, of_label):  # type: ignore[no-untyped-def]
    for number in range(len(value)):
        i, w, l = items[number], workers[number], labels[number]  # noqa: E741
        key = item[i] + _STEP * worker[w] + label[l] + np.uint64(value[number] > 0)
        key = (key ^ (key >> np.uint64(30))) * _FIRST
        key = (key ^ (key >> np.uint64(27))) * _SECOND
        key = key ^ (key >> np.uint64(31))
        of_item[i] += key
        of_worker[w] += key
        of_label[l] += key


_compiled_sums_loop = compiled(_sums_loop)


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
    key = (key ^ (key >> np.uint64(30))) * _FIRST
    key = (key ^ (key >> np.uint64(27))) * _SECOND
    return key ^ (key >> np.uint64(31))
