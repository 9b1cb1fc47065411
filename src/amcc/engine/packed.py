"""Packed votes: a folder of blocks of whole items, made once, that every engine reads.

    meta.json                 format, counts, checksums; written last, so a folder that has it is complete
    workers.arrow labels.arrow   the vocabularies
    coins.npy                 (2, n_coins) worker and label of every combination that occurs, sorted
    block-00000.npy           the votes of a block, one array after the other, see `block_arrays`
    block-00000.arrow         the names of its items

A vote takes two or four bytes: its slot among the coins of its own block. Items are sorted by name over all blocks.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc.arrays import Codes, Ints, Signs, find_sorted
from amcc.engine.base import NOTHING_KNOWN, Block
from amcc.errors import FileFormatError
from amcc.fields import names_from_bytes, names_to_bytes
from amcc.files import whole_file
from amcc.tables import note_on_lookalikes
from amcc.votes import Coins, Pairs, Reading, Unmentioned, Votes

FORMAT = 1
META = "meta.json"
SHARED = {"workers.arrow", "labels.arrow", "coins.npy"}
"""Files that all blocks share."""

DENSE = 0.5
"""Share of all coins from which on a block's votes are told their places among all, once: quicker than to take the
block's part of every table, and to put it back, in every round."""


@dataclass(frozen=True)
class Entry:
    """What meta.json says about a block: its number, sizes and checksums."""

    number: int
    votes: int
    pairs: int
    items: int
    coins: int
    checksum: int
    names_checksum: int

    @property
    def file(self) -> str:
        """Name of the file with the votes."""
        return f"block-{self.number:05}.npy"

    @property
    def names_file(self) -> str:
        """Name of the file with the names of the items."""
        return f"block-{self.number:05}.arrow"


@dataclass(eq=False)
class PackedBlock(Block):
    """A block as it was read; `names` are read when somebody asks."""

    owner: PackedVotes
    entry: Entry
    first_item: int
    pairs: Pairs
    coins: Coins
    place: Ints | None
    known: Signs = field(default_factory=lambda: NOTHING_KNOWN)

    def __post_init__(self) -> None:
        self.n_items, self.n_labels, self.n_coins = (
            self.entry.items,
            len(self.owner.label_names),
            len(self.owner.coins),
        )

    @property
    def n_bytes(self) -> int:
        """Memory that the block takes, with the probabilities and counts of yes that it may remember."""
        slot, pairs, place = self.coins.slot, self.pairs, 0 if self.place is None else 2 * self.place.nbytes
        return slot.nbytes + pairs.item.nbytes + pairs.label.nbytes + 3 * pairs.start.nbytes + place

    def votes(self, *, names: bool = False) -> Votes:
        """The block's votes with all workers and labels; items have their names if asked, else numbers."""
        coin, n_votes = self.coins.slot >> 1, self.pairs.n_votes
        votes = Votes(
            np.repeat(self.pairs.item, n_votes),
            self.coins.worker[coin],
            np.repeat(self.pairs.label, n_votes),
            ((self.coins.slot & 1) * 2 - 1).astype(np.int8),
            self.owner.item_names(self.entry) if names else pa.array(np.arange(self.n_items)),
            self.owner.worker_names,
            self.owner.label_names,
        )
        vars(votes).update(pairs=self.pairs, coins=self.coins)  # known already: what the properties would compute
        return votes


class PackedVotes:
    """A folder of packed votes.

    entries : the blocks, in the order of their items
    reading : what was decided and set aside while the votes were read
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._checked: set[str] = set()
        self._sound: set[int] = set()
        meta = self._meta()
        self.entries = self._entries(meta.get("blocks"))
        self.n_votes = sum(entry.votes for entry in self.entries)
        self.n_pairs = sum(entry.pairs for entry in self.entries)
        self.n_items = sum(entry.items for entry in self.entries)
        self.reading = self._reading(meta.get("reading"))
        self.checksums = self._checksums(meta.get("checksums"))
        self.identity = zlib.crc32(json.dumps(meta, sort_keys=True).encode())
        self.worker_names = self._names("workers.arrow", self.checksums["workers.arrow"])
        self.label_names = self._names("labels.arrow", self.checksums["labels.arrow"])
        self.coins = self._coins()
        self.first_items = np.append(0, np.cumsum([entry.items for entry in self.entries]))

    def __repr__(self) -> str:
        return (
            f"PackedVotes({self.n_votes} votes: {len(self.worker_names)} workers, {self.n_items} items, "
            f"{len(self.label_names)} labels, {len(self.entries)} blocks)"
        )

    def __len__(self) -> int:
        return self.n_votes

    def notes(self) -> list[str]:
        """See `Votes.notes`; items are too many to be compared."""
        alike = note_on_lookalikes(self.worker_names, "worker") + note_on_lookalikes(self.label_names, "label")
        return [*self.reading.notes(), *alike]

    def _meta(self) -> dict[str, Any]:
        path = self.folder / META
        if not path.is_file():
            raise FileFormatError(
                f"{self.folder} is not a folder of packed votes: {META} is missing. Name a file of votes, or make "
                f"one with amcc pack VOTES -o {self.folder}."
            )
        try:
            meta: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            version = meta["format"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise FileFormatError(f"{path} cannot be read ({error}). Pack the votes again.") from None
        if version != FORMAT:
            raise FileFormatError(
                f"{path} has format {version}; this amcc reads format {FORMAT}. Pack the votes again."
            )
        return meta

    def _entries(self, blocks: Any) -> tuple[Entry, ...]:
        """What meta.json says about the blocks, checked as far as it can be without reading them."""
        self._must(isinstance(blocks, list) and blocks, META, "field 'blocks' must be a list that is not empty")
        names = [each.name for each in fields(Entry)]
        for block in blocks:
            whole = isinstance(block, dict) and sorted(block) == sorted(names) and all(map(_is_count, block.values()))
            self._must(whole, META, f"every entry of 'blocks' must hold whole numbers for {', '.join(names)}")
        entries = tuple(Entry(**block) for block in blocks)
        self._must(len({entry.number for entry in entries}) == len(entries), META, "'blocks' names a block twice")
        self._must(all(entry.items for entry in entries), META, "every entry of 'blocks' must have items")
        return entries

    def _reading(self, reading: Any) -> Reading:
        names = [each.name for each in fields(Reading)]
        fits = isinstance(reading, dict) and set(reading) <= set(names)  # what is missing is as if nothing happened
        self._must(fits, META, f"field 'reading' must say nothing but {', '.join(names)}")
        for name, value in reading.items():
            if name == "columns":
                fits = isinstance(value, dict) and all(isinstance(column, str) for column in value.values())
            else:
                fits = value in (None, *get_args(Unmentioned)) if name == "unmentioned" else _is_count(value)
            self._must(fits, META, f"field 'reading.{name}' cannot be {value!r}")
        return Reading(**reading)

    def _checksums(self, checksums: Any) -> dict[str, int]:
        fits = isinstance(checksums, dict) and set(checksums) == SHARED and all(map(_is_count, checksums.values()))
        self._must(fits, META, f"field 'checksums' must hold whole numbers for {', '.join(sorted(SHARED))}")
        return dict(checksums)

    def _coins(self) -> Coins:
        name = "coins.npy"
        (coins,) = self._arrays(name, self.checksums[name], 1)
        self._must(coins.ndim == 2 and len(coins) == 2 and coins.size, name, "it must hold two rows of codes")
        worker, label = coins
        self._check_coins(name, worker, label)
        return Coins(_codes(worker), _codes(label), np.empty(0, np.int32))

    def _check_coins(self, name: str, worker: npt.NDArray[Any], label: npt.NDArray[Any]) -> None:
        self._must(_below(worker, len(self.worker_names)), name, "a worker of a coin is not in workers.arrow")
        self._must(_below(label, len(self.label_names)), name, "a label of a coin is not in labels.arrow")
        self._must((np.diff(self._key(worker, label)) > 0).all(), name, "coins must be sorted, each once")

    def _must(self, holds: Any, name: str, reason: str) -> None:
        """Checksums show accidents; a file that was made up has the right ones, and compiled loops trust it."""
        if not holds:
            raise FileFormatError(_unreadable(self.folder / name, reason))

    @cached_property
    def _coin_keys(self) -> Ints:
        return self._key(self.coins.worker, self.coins.label)

    def _key(self, worker: npt.NDArray[Any], label: npt.NDArray[Any]) -> Ints:
        key: Ints = worker.astype(np.int64) * max(len(self.label_names), 1) + label
        return key

    def block(self, number: int) -> PackedBlock:
        """Read one block; an unreadable one is an error that names it."""
        entry = self.entries[number]
        arrays = self._arrays(entry.file, entry.checksum, 6)
        if number not in self._sound:
            self._check_block(entry, arrays)
            self._sound.add(number)  # later reads of this process are spared it
        slot, n_votes, label, n_pairs, worker, coin_label = arrays
        codes = np.arange(entry.items, dtype=np.int32)
        pairs = Pairs(np.repeat(codes, n_pairs), _codes(label), np.append(0, np.cumsum(n_votes, dtype=np.int64)))
        coins = Coins(_codes(worker), _codes(coin_label), _codes(slot))
        place = np.searchsorted(self._coin_keys, self._key(coins.worker, coins.label))
        first_item = int(self.first_items[number])
        if len(coins) < DENSE * len(self.coins):
            return PackedBlock(self, entry, first_item, pairs, coins, place)
        slots = (2 * place[:, None] + [0, 1]).ravel().astype(np.int32)
        return PackedBlock(self, entry, first_item, pairs, replace(self.coins, slot=slots[coins.slot]), None)

    def _check_block(self, entry: Entry, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Raise FileFormatError unless the arrays fit each other, what meta.json says, and the vocabularies."""
        slot, n_votes, label, n_pairs, worker, coin_label = arrays
        sizes = (entry.votes, entry.pairs, entry.pairs, entry.items, entry.coins, entry.coins)
        for array, size in zip(arrays, sizes, strict=True):
            self._must(array.shape == (size,), entry.file, f"an array has {array.shape} entries; {META} says {size}")
        self._must(_sums_to(n_votes, entry.votes) and n_votes.all(), entry.file, "votes of pairs must add up")
        self._must(_sums_to(n_pairs, entry.pairs), entry.file, "pairs of items must add up")
        self._must(_below(label, len(self.label_names)), entry.file, "a label of a pair is not in labels.arrow")
        self._must(_below(slot, 2 * entry.coins), entry.file, "a vote has no coin")
        self._check_coins(entry.file, worker, coin_label)
        keys = self._key(worker, coin_label)
        self._must(find_sorted(self._coin_keys, keys)[1].all(), entry.file, "a coin is not in coins.npy")
        of_pair = np.repeat(label, n_votes)
        self._must((coin_label[slot >> 1] == of_pair).all(), entry.file, "a vote and its pair differ in the label")
        self._must(_rises(slot >> 1, n_votes), entry.file, "votes of a pair must be sorted, each worker once")
        self._must(_rises(label, n_pairs), entry.file, "pairs of an item must be sorted, each label once")

    def item_names(self, entry: Entry) -> pa.Array:
        """Names of a block's items."""
        names = self._names(entry.names_file, entry.names_checksum)
        self._must(len(names) == entry.items, entry.names_file, f"it must name {entry.items} items, as {META} says")
        return names

    def votes(self) -> Votes:
        """All votes in memory."""
        blocks = [self.block(number).votes(names=True) for number in range(len(self.entries))]
        item = [votes.item + np.int32(first) for votes, first in zip(blocks, self.first_items, strict=False)]
        worker, label, value = (
            np.concatenate([getattr(votes, role) for votes in blocks]) for role in ("worker", "label", "value")
        )
        names = pa.concat_arrays([votes.item_names for votes in blocks])
        return Votes(
            np.concatenate(item), worker, label, value, names, self.worker_names, self.label_names, self.reading
        )

    def _read(self, name: str, checksum: int) -> bytes:
        path = self.folder / name
        try:
            content = path.read_bytes()
        except OSError as error:
            raise FileFormatError(_unreadable(path, error.strerror or str(error))) from None
        if name not in self._checked:
            if zlib.crc32(content) != checksum:
                raise FileFormatError(_unreadable(path, "its checksum is not the one it was written with"))
            self._checked.add(name)  # later reads of this process are spared it
        return content

    def _arrays(self, name: str, checksum: int, n_arrays: int) -> list[npt.NDArray[Any]]:
        stream = io.BytesIO(self._read(name, checksum))
        try:
            arrays = [np.load(stream, allow_pickle=False) for _ in range(n_arrays)]
        except Exception:  # numpy raises many kinds, and what it says is not for users
            raise FileFormatError(_unreadable(self.folder / name, f"it does not hold {n_arrays} arrays")) from None
        fits = all(isinstance(array, np.ndarray) and array.dtype.kind in "iu" for array in arrays)
        self._must(fits and not stream.read(1), name, f"it must hold {n_arrays} arrays of whole numbers, nothing else")
        return arrays

    def _names(self, name: str, checksum: int) -> pa.Array:
        try:
            names = names_from_bytes(self._read(name, checksum))
        except ValueError as error:
            raise FileFormatError(_unreadable(self.folder / name, str(error))) from None
        self._must(len(names), name, "it holds no name")
        return names


def _unreadable(path: Path, reason: str) -> str:
    return f"{path} cannot be read: {reason}. Copy the folder again, or pack the votes again."


def _codes(array: npt.NDArray[Any]) -> Codes:
    return array.astype(np.int32, copy=False)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _below(codes: npt.NDArray[Any], size: int) -> bool:
    return not len(codes) or bool(codes.min() >= 0 and codes.max() < size)


def _sums_to(counts: npt.NDArray[Any], total: int) -> bool:
    """Whether counts add up; none may be so large that their sum begins again at zero."""
    return _below(counts, total + 1) and int(counts.sum(dtype=np.int64)) == total


def _rises(codes: npt.NDArray[Any], lengths: npt.NDArray[Any]) -> bool:
    """Whether codes rise from each to the next within runs of these lengths."""
    first = np.zeros(len(codes) + 1, dtype=bool)
    first[np.cumsum(lengths, dtype=np.int64)] = True
    return bool(((codes[1:] > codes[:-1]) | first[1:-1]).all())


# -- writing -------------------------------------------------------------------------------------------------------


def block_arrays(votes: Votes) -> Iterator[npt.NDArray[Any]]:
    """What a fit needs of votes: slots, votes and label of each pair, pairs of each item, worker and label of coins."""
    coins, pairs = votes.coins, votes.pairs
    n_pairs = np.bincount(pairs.item, minlength=votes.n_items)
    for array in (coins.slot, pairs.n_votes, pairs.label, n_pairs, coins.worker, coins.label):
        yield array.astype(np.min_scalar_type(int(array.max(initial=0))))


def write_block(folder: Path, number: int, votes: Votes) -> Entry:
    """Write a block of votes, whose items are its own, and say what meta.json must know of it."""
    entry = Entry(number, len(votes), len(votes.pairs), votes.n_items, len(votes.coins), 0, 0)
    checksum = write_arrays(folder / entry.file, block_arrays(votes))
    names_checksum = write_names(folder / entry.names_file, votes.item_names)
    return Entry(**{**asdict(entry), "checksum": checksum, "names_checksum": names_checksum})


def write_arrays(path: Path, arrays: Iterator[npt.NDArray[Any]] | Sequence[npt.NDArray[Any]]) -> int:
    """Write arrays one after the other; the checksum of the file."""
    buffer = io.BytesIO()
    for array in arrays:
        np.save(buffer, array, allow_pickle=False)
    return _write(path, buffer.getvalue())


def write_names(path: Path, names: pa.Array) -> int:
    """Write a vocabulary; the checksum of the file."""
    return _write(path, names_to_bytes(names))


def write_meta(folder: Path, entries: Sequence[Entry], checksums: Mapping[str, int], reading: Reading) -> None:
    """Write what makes the folder complete."""
    meta = {
        "format": FORMAT,
        "blocks": [asdict(entry) for entry in entries],
        "checksums": dict(checksums),
        "reading": asdict(reading),
    }
    _write(folder / META, json.dumps(meta, indent=1).encode())


def _write(path: Path, content: bytes) -> int:
    with whole_file(path) as temporary:
        temporary.write_bytes(content)
    return zlib.crc32(content)
