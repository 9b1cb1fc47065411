"""Chance without names: pseudo-random numbers for items, workers and labels that depend on their votes only.

Folds and starting points need chance. Drawn in the order of the codes, it would change with the names of items,
workers and labels, and so would the result. Here each of them is hashed by its votes, by those it shares them with,
and so on; those equal in all of this are numbered, and it does not matter which is which.

Sums of hashes are taken modulo 2⁶⁴. They are exact, so that blocks can be summed in any order, on any engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from amcc.arrays import Codes, Floats, Ints
from amcc.engine.base import Block, Engine, as_engine
from amcc.loops import HASH_FIRST, HASH_SECOND, HASH_STEP
from amcc.passes import SMALL
from amcc.votes import Votes

Hashes = npt.NDArray[np.uint64]

# Rounds of hashing neighbours: after two, an item is told apart by the votes of the workers it shares them with.
HASH_ROUNDS = 2

# Bits of half a key: yes are counted in the upper half, all votes in the lower.
_HALF = np.uint64(32)

# What makes a fraction of a hash.
_SPAN = 2.0**64


@dataclass(frozen=True)
class Signatures:
    """(n_items,), (n_workers,) and (n_labels,) hashes."""

    item: Hashes
    worker: Hashes
    label: Hashes

    @property
    def uniform(self) -> Floats:
        """(n_items,) numbers from 0 to 1, as if drawn at random."""
        return self.item / _SPAN

    def of_answers(self, item: Ints, worker: Ints) -> Hashes:
        """Hashes of answers by their items and workers."""
        return _scrambled(self.item[item] + HASH_STEP * self.worker[worker])


class HashSums(NamedTuple):
    """Sums over votes, modulo 2⁶⁴ and so exact in any order: (n_items,), (n_workers,) and (n_labels,)."""

    item: Hashes
    worker: Hashes
    label: Hashes


def signatures(votes: Votes | Engine, random_state: int) -> Signatures:
    """Hash items, workers and labels by their votes; other seeds give other hashes."""
    engine = as_engine(votes)
    # First by how many votes each has, then, round by round, by the hashes of those with whom it shares votes.
    item, worker, label = (_scrambled(each) for each in _of_all(list(engine.each(count_by_code))))
    item = item ^ _scrambled(np.full(1, random_state + 1, dtype=np.uint64))
    for _ in range(HASH_ROUNDS):
        met = _of_all(list(engine.each(hash_votes, item, worker, _scrambled(label))))
        item, worker = _scrambled(item + met.item), _scrambled(worker + met.worker)
    label = _scrambled(label + met.label)
    return Signatures(_told_apart(item), _told_apart(worker), _told_apart(label))


class Content(NamedTuple):
    """Sums over votes and over pairs whose truth is known, modulo 2⁶⁴ and so the same however they are cut: (1,)."""

    votes: Hashes
    truth: Hashes


def content_hash(votes: Votes | Engine) -> str:
    """Says which votes these are, and what truth is known: by numbers of items, workers and labels, not by names."""
    engine = as_engine(votes)
    sizes = engine.n_items, engine.n_workers, engine.n_labels
    codes = (np.arange(n, dtype=np.uint64) + (np.uint64(role) << _HALF) for role, n in enumerate(sizes, 1))
    sums = engine.total(hash_content, *map(_scrambled, codes))
    return f"{engine.n_votes} votes {int(sums.votes[0]):016x} {int(sums.truth[0]):016x}"


def hash_content(block: Block, item: Hashes, worker: Hashes, label: Hashes) -> Content:
    """Sums over the block, from hashes of all items, workers and labels."""
    known = block.known != 0
    truth: Hashes = np.zeros(1, np.uint64)
    if known.any():  # `known` may be empty where no truth is known at all, and then it has no entry for each pair
        pair = item[block.first_item + block.pairs.item[known]] + label[block.pairs.label[known]]
        truth += _scrambled(pair + (block.known[known] > 0).astype(np.uint64)).sum(dtype=np.uint64)
    return Content(hash_votes(block, item, worker, label).label.sum(keepdims=True), truth)


def _of_all(blocks: Sequence[HashSums]) -> HashSums:
    """Sums of all blocks: every item is in one of them, workers and labels are in several."""
    worker, label = (np.sum([getattr(block, role) for block in blocks], axis=0) for role in ("worker", "label"))
    return HashSums(np.concatenate([block.item for block in blocks]), worker, label)


def count_by_code(block: Block) -> HashSums:
    """How many votes, and how many of them yes, each item, worker and label has, as one number."""
    votes = block.votes()

    def counted(code: Codes, n: int) -> Hashes:
        n_votes, n_yes = np.bincount(code, minlength=n), np.bincount(code[votes.value > 0], minlength=n)
        return n_votes.astype(np.uint64) + (n_yes.astype(np.uint64) << _HALF)

    of_each = (votes.item, votes.n_items), (votes.worker, votes.n_workers), (votes.label, votes.n_labels)
    return HashSums(*(counted(code, n) for code, n in of_each))


def hash_votes(block: Block, item: Hashes, worker: Hashes, label: Hashes) -> HashSums:
    """Sums of the hashes of votes, each made of those of its item, worker and label."""
    votes = block.votes()
    own = item[block.first_item : block.first_item + block.n_items]
    return (_vote_sums if len(votes) <= SMALL else _vote_sums_compiled)(votes, own, worker, label)


def _vote_sums(votes: Votes, item: Hashes, worker: Hashes, label: Hashes) -> HashSums:
    """The numpy twin of `_vote_sums_compiled`."""
    is_yes = (votes.value > 0).astype(np.uint64)
    vote = _scrambled(item[votes.item] + HASH_STEP * worker[votes.worker] + label[votes.label] + is_yes)
    sums = HashSums(*(np.zeros_like(each) for each in (item, worker, label)))
    for total, code in zip(sums, (votes.item, votes.worker, votes.label), strict=True):
        np.add.at(total, code, vote)  # not bincount: its sums are floats, which hold 53 bits only
    return sums


def _vote_sums_compiled(votes: Votes, item: Hashes, worker: Hashes, label: Hashes) -> HashSums:
    """The same for large input, without a hash per vote in memory."""
    from amcc.loops.hashes import add_hashes

    sums = HashSums(*(np.zeros_like(each) for each in (item, worker, label)))
    add_hashes(votes.item, votes.worker, votes.label, votes.value, item, worker, label, *sums)
    return sums


def draws(hashes: Hashes, n_draws: int) -> Floats:
    """(n_hashes, n_draws) numbers from 0 to 1, independent of each other.

    >>> draws(np.array([7, 7, 8], dtype=np.uint64), 2).round(2).tolist()  # equal hashes draw the same
    [[0.39, 0.02], [0.39, 0.02], [0.62, 0.61]]
    """
    number = np.arange(1, n_draws + 1, dtype=np.uint64)
    return _scrambled(hashes[:, None] + HASH_STEP * number) / _SPAN


def _told_apart(key: Hashes) -> Hashes:
    """Equals get hashes of their own, or all items with the same votes would share their chance."""
    order = np.argsort(key, kind="stable")
    number = np.arange(len(key)) - np.searchsorted(key[order], key[order])  # 0, 1, … among those with the same key
    told_apart = np.empty_like(key)
    told_apart[order] = _scrambled(key[order] + HASH_STEP * number.astype(np.uint64))
    return told_apart


def _scrambled(key: Hashes) -> Hashes:
    """The last steps of splitmix64: near keys end far apart."""
    key = (key ^ (key >> np.uint64(30))) * HASH_FIRST
    key = (key ^ (key >> np.uint64(27))) * HASH_SECOND
    return key ^ (key >> np.uint64(31))
