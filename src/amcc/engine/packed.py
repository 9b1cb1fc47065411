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
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amcc.engine.base import NOTHING_KNOWN, Block
from amcc.errors import FileFormatError
from amcc.files import whole_file
from amcc.kernels import Ints
from amcc.votes import Coins, Pairs, Reading, Votes

FORMAT = 1
META = "meta.json"

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
    known: npt.NDArray[np.int8] = field(default_factory=lambda: NOTHING_KNOWN)

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
        meta = self._meta()
        self.entries = tuple(Entry(**entry) for entry in meta["blocks"])
        self.n_votes = sum(entry.votes for entry in self.entries)
        self.n_pairs = sum(entry.pairs for entry in self.entries)
        self.n_items = sum(entry.items for entry in self.entries)
        self.reading = Reading(**meta["reading"])
        self.checksums: dict[str, int] = meta["checksums"]
        self.identity = zlib.crc32(json.dumps(meta, sort_keys=True).encode())
        self.worker_names = self._names("workers.arrow", self.checksums["workers.arrow"])
        self.label_names = self._names("labels.arrow", self.checksums["labels.arrow"])
        (coins,) = self._arrays("coins.npy", self.checksums["coins.npy"], 1)
        self.coins = Coins(coins[0], coins[1], np.empty(0, np.int32))
        self.first_items = np.append(0, np.cumsum([entry.items for entry in self.entries]))

    def __repr__(self) -> str:
        return (
            f"PackedVotes({self.n_votes} votes: {len(self.worker_names)} workers, {self.n_items} items, "
            f"{len(self.label_names)} labels, {len(self.entries)} blocks)"
        )

    def __len__(self) -> int:
        return self.n_votes

    def _meta(self) -> dict[str, Any]:
        path = self.folder / META
        if not path.is_file():
            raise FileFormatError(
                f"{self.folder} is not a folder of packed votes: {META} is missing. Name a file of votes, or make "
                f"one with amcc pack VOTES -o {self.folder}."
            )
        try:
            meta: dict[str, Any] = json.loads(path.read_text())
            version = meta["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileFormatError(f"{path} cannot be read ({error}). Pack the votes again.") from None
        if version != FORMAT:
            raise FileFormatError(
                f"{path} has format {version}; this amcc reads format {FORMAT}. Pack the votes again."
            )
        return meta

    @cached_property
    def _coin_keys(self) -> Ints:
        return self._key(self.coins.worker, self.coins.label)

    def _key(self, worker: npt.NDArray[Any], label: npt.NDArray[Any]) -> Ints:
        key: Ints = worker.astype(np.int64) * max(len(self.label_names), 1) + label
        return key

    def block(self, number: int) -> PackedBlock:
        """Read one block; an unreadable one is an error that names it."""
        entry = self.entries[number]
        slot, n_votes, label, n_pairs, worker, coin_label = self._arrays(entry.file, entry.checksum, 6)
        codes = np.arange(entry.items, dtype=np.int32)
        pairs = Pairs(np.repeat(codes, n_pairs), _codes(label), np.append(0, np.cumsum(n_votes, dtype=np.int64)))
        coins = Coins(_codes(worker), _codes(coin_label), _codes(slot))
        place = np.searchsorted(self._coin_keys, self._key(coins.worker, coins.label))
        first_item = int(self.first_items[number])
        if len(coins) < DENSE * len(self.coins):
            return PackedBlock(self, entry, first_item, pairs, coins, place)
        slots = (2 * place[:, None] + [0, 1]).ravel().astype(np.int32)
        return PackedBlock(self, entry, first_item, pairs, replace(self.coins, slot=slots[coins.slot]), None)

    def item_names(self, entry: Entry) -> pa.Array:
        """Names of a block's items."""
        return self._names(entry.names_file, entry.names_checksum)

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
            return [np.load(stream, allow_pickle=False) for _ in range(n_arrays)]
        except (ValueError, EOFError, OSError) as error:
            raise FileFormatError(_unreadable(self.folder / name, str(error))) from None

    def _names(self, name: str, checksum: int) -> pa.Array:
        try:
            table = pa.ipc.open_file(pa.py_buffer(self._read(name, checksum))).read_all()
        except pa.ArrowException as error:
            raise FileFormatError(_unreadable(self.folder / name, str(error))) from None
        return table["name"].combine_chunks()


def _unreadable(path: Path, reason: str) -> str:
    return f"{path} cannot be read: {reason}. Copy the folder again, or pack the votes again."


def _codes(array: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    return array.astype(np.int32, copy=False)


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
    table = pa.table({"name": names})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return _write(path, sink.getvalue().to_pybytes())


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
