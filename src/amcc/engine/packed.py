"""Packed votes: a folder of blocks of whole items, made once, that every engine reads.

    meta.json                 format, counts, checksums; written last: what it names is complete, all else is a leftover
    workers.arrow labels.arrow   the vocabularies, sorted; names that were appended stand behind them
    coins.npy                 (2, n_coins) worker and label of every combination that occurs, sorted
    block-00000.npy           the votes of a block, one array after the other, see `block_arrays`
    block-00000.arrow         the names of its items

A vote takes two or four bytes: its slot among the coins of its own block. Items are sorted by name over all blocks.
Votes that are appended (`amcc.io.append`) make new files of other names, `workers-1.arrow`: what meta.json named before
stays as it was until the new meta.json has taken its place.

A folder may have been copied badly or made up by somebody. Compiled loops index arrays without bounds checks, so
everything that they trust is checked here when it is first read: checksums for accidents, then sizes, codes and order.
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
from amcc.engine.base import NOTHING_KNOWN, Block, Engine, coin_keys
from amcc.engine.checkpoint import Checkpoint
from amcc.engine.counts import below, is_count, rises, sums_to
from amcc.errors import FileFormatError
from amcc.fields import fits, hints_of, names_from_bytes, names_to_bytes
from amcc.files import put_on_disk, whole_file
from amcc.tables import note_on_lookalikes
from amcc.threads import READING_HEADERS
from amcc.votes import Coins, Pairs, Reading, Terms, Unmentioned, Votes

# The format that is written, and those that are read. Folders of format 1 do not know how their votes were read.
FORMAT, READ = 2, (1, 2)

META = "meta.json"

# Files that all blocks share, as they are called until votes are appended, see `shared_file`.
SHARED = {"workers.arrow", "labels.arrow", "coins.npy"}

# Share of all coins from which on a block's votes are told their places among all, once: quicker than to take the
# block's part of every table, and to put it back, in every round.
DENSE = 0.5


@dataclass(frozen=True)
class Entry:
    """What meta.json says about a block: its number, sizes and checksums.

    votes, pairs, items, coins : how many the block has
    checksum, names_checksum : CRC-32 of its two files
    """

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
    """A block as it was read; names of its items are read when somebody asks.

    owner, entry : the folder, and what its meta.json says about the block; others as in `Block`
    """

    owner: PackedVotes
    entry: Entry
    first_item: int
    pairs: Pairs
    coins: Coins
    place: Ints | None
    known: Signs = field(default_factory=lambda: NOTHING_KNOWN)

    def __post_init__(self) -> None:
        self.n_items: int = self.entry.items
        self.n_labels: int = len(self.owner.label_names)
        self.n_coins: int = len(self.owner.coins)

    @property
    def n_bytes(self) -> int:
        """Memory that the block takes, with the probabilities and counts of yes that it may remember."""
        # Starts three times: probabilities and counts of yes are as many numbers of the same size.
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
        # Cached properties of `Votes`, put where it would keep them.
        vars(votes).update(pairs=self.pairs, coins=self.coins)  # known already: what the properties would compute
        return votes


class PackedVotes:
    """A folder of packed votes, as `amcc.pack_votes` makes it.

    Opening reads meta.json, the vocabularies and the coins; blocks are read when they are asked for. Whatever is wrong
    with the folder is a FileFormatError that names the file.

    entries : the blocks, in the order of their items
    reading : what was decided and set aside while the votes were read
    terms : how votes that join these must be read; None in folders of format 1, which nothing can join
    appended : how often votes were appended
    first_items : (n_blocks + 1,) number of the first item of each block, and of all items
    identity : a checksum of meta.json, and so of all checksums in it: other votes have another one
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder: Path = Path(folder)
        # Files with the right checksum, and blocks with sound arrays: checked once, however often they are read.
        self._checked: set[str] = set()
        self._sound: set[int] = set()
        meta = self._meta()
        self.entries: tuple[Entry, ...] = self._entries(meta.get("blocks"))
        self.n_votes: int = sum(entry.votes for entry in self.entries)
        self.n_pairs: int = sum(entry.pairs for entry in self.entries)
        self.n_items: int = sum(entry.items for entry in self.entries)
        self.reading: Reading = self._reading(meta.get("reading"))
        self.terms: Terms | None = None if meta["format"] == 1 else self._terms(meta.get("terms"))
        self.appended: int = 0 if meta["format"] == 1 else meta.get("appended", -1)
        self._must(is_count(self.appended), META, "field 'appended' must be a whole number")
        self.checksums: dict[str, int] = self._checksums(meta.get("checksums"))
        # Keys in order: the same content must give the same number, whoever wrote the file.
        self.identity: int = zlib.crc32(json.dumps(meta, sort_keys=True).encode())
        workers, labels = (shared_file(name, self.appended) for name in ("workers.arrow", "labels.arrow"))
        self.worker_names: pa.Array = self._names(workers, self.checksums["workers.arrow"])
        self.label_names: pa.Array = self._names(labels, self.checksums["labels.arrow"])
        self.coins: Coins = self._coins()
        self.first_items: Ints = np.append(0, np.cumsum([entry.items for entry in self.entries]))

    def __repr__(self) -> str:
        return (
            f"PackedVotes({self.n_votes} votes: {len(self.worker_names)} workers, {self.n_items} items, "
            f"{len(self.label_names)} labels, {len(self.entries)} blocks)"
        )

    def __len__(self) -> int:
        return self.n_votes

    def notes(self) -> list[str]:
        """What a user should know about these votes, see `Votes.notes`; items are too many to be compared.

        Names that look alike may be one worker or one label, spelled in two ways.
        """
        alike = note_on_lookalikes(self.worker_names, "worker") + note_on_lookalikes(self.label_names, "label")
        return [*self.reading.notes(), *alike]

    def _meta(self) -> dict[str, Any]:
        """The content of meta.json, if it is of this format; its fields are checked one by one by who needs them."""
        path = self.folder / META
        if not path.is_file():
            raise FileFormatError(
                f"{self.folder} is not a folder of packed votes: {META} is missing. Name a file of votes, or make "
                f"one with amcc pack VOTES -o {self.folder}."
            )
        try:
            meta: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            version = meta["format"]
        # All that damaged text can lead to: no JSON, no object, nested too deeply.
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise FileFormatError(f"{path} cannot be read ({error}). Pack the votes again.") from None
        if version not in READ:
            raise FileFormatError(
                f"{path} has format {version}; this amcc reads formats {READ[0]} to {READ[-1]}. Pack the votes again."
            )
        return meta

    def _entries(self, blocks: Any) -> tuple[Entry, ...]:
        """What meta.json says about the blocks, checked as far as it can be without reading them."""
        self._must(isinstance(blocks, list) and blocks, META, "field 'blocks' must be a list that is not empty")
        # Exactly these fields: a folder of another version may mean something else by the same names.
        names = [each.name for each in fields(Entry)]
        for block in blocks:
            whole = isinstance(block, dict) and sorted(block) == sorted(names) and all(map(is_count, block.values()))
            self._must(whole, META, f"every entry of 'blocks' must hold whole numbers for {', '.join(names)}")
        entries = tuple(Entry(**block) for block in blocks)
        self._must(len({entry.number for entry in entries}) == len(entries), META, "'blocks' names a block twice")
        self._must(all(entry.items for entry in entries), META, "every entry of 'blocks' must have items")
        return entries

    def _reading(self, reading: Any) -> Reading:
        """How the votes were read, checked field by field: it is shown to users and saved with models."""
        names = [each.name for each in fields(Reading)]
        fits = isinstance(reading, dict) and set(reading) <= set(names)  # what is missing is as if nothing happened
        self._must(fits, META, f"field 'reading' must say nothing but {', '.join(names)}")
        for name, value in reading.items():
            if name == "columns":
                fits = isinstance(value, dict) and all(isinstance(column, str) for column in value.values())
            else:
                fits = value in (None, *get_args(Unmentioned)) if name == "unmentioned" else is_count(value)
            self._must(fits, META, f"field 'reading.{name}' cannot be {value!r}")
        return Reading(**reading)

    def _terms(self, terms: Any) -> Terms:
        """How votes that join these must be read, checked field by field."""
        kinds = hints_of(Terms)
        whole = isinstance(terms, dict) and terms.keys() == kinds.keys()
        sound = whole and all(fits(terms[name], kind) for name, kind in kinds.items()) and terms["block_votes"] > 0
        self._must(sound, META, f"field 'terms' must say {', '.join(kinds)}")
        return Terms(**terms)

    def _checksums(self, checksums: Any) -> dict[str, int]:
        """Checksums of the files that all blocks share."""
        fits = isinstance(checksums, dict) and set(checksums) == SHARED and all(map(is_count, checksums.values()))
        self._must(fits, META, f"field 'checksums' must hold whole numbers for {', '.join(sorted(SHARED))}")
        return dict(checksums)

    def _coins(self) -> Coins:
        """All coins, without votes: these are in the blocks."""
        name = shared_file("coins.npy", self.appended)
        (coins,) = self._arrays(name, self.checksums["coins.npy"], 1)
        self._must(coins.ndim == 2 and len(coins) == 2 and coins.size, name, "it must hold two rows of codes")
        worker, label = coins
        self._check_coins(name, worker, label)
        return Coins(_codes(worker), _codes(label), np.empty(0, np.int32))

    def _check_coins(self, name: str, worker: npt.NDArray[Any], label: npt.NDArray[Any]) -> None:
        """Raise FileFormatError unless coins are valid codes in strict order, by which they are looked up."""
        self._must(below(worker, len(self.worker_names)), name, "a worker of a coin is not in workers.arrow")
        self._must(below(label, len(self.label_names)), name, "a label of a coin is not in labels.arrow")
        self._must((np.diff(self._key(worker, label)) > 0).all(), name, "coins must be sorted, each once")

    def _must(self, holds: Any, name: str, reason: str) -> None:
        """Raise FileFormatError about a file where something does not hold.

        Checksums show accidents; a file that was made up has the right ones, and compiled loops trust it.
        """
        if not holds:
            raise FileFormatError(_unreadable(self.folder / name, reason))

    @cached_property
    def _coin_keys(self) -> Ints:
        return self._key(self.coins.worker, self.coins.label)

    def _key(self, worker: npt.NDArray[Any], label: npt.NDArray[Any]) -> Ints:
        return coin_keys(worker, label, len(self.label_names))

    def block(self, number: int) -> PackedBlock:
        """Read one block, counted from 0 in the order of items; an unreadable one is an error that names it.

        It is read again each time: who wants to keep it does so (`LocalEngine`).
        """
        entry = self.entries[number]
        arrays = self._arrays(entry.file, entry.checksum, 6)
        if number not in self._sound:
            self._check_block(entry, arrays)
            self._sound.add(number)
        slot, n_votes, label, n_pairs, worker, coin_label = arrays
        codes = np.arange(entry.items, dtype=np.int32)
        pairs = Pairs(np.repeat(codes, n_pairs), _codes(label), np.append(0, np.cumsum(n_votes, dtype=np.int64)))
        coins = Coins(_codes(worker), _codes(coin_label), _codes(slot))
        # No need to look whether they are there: `_check_block` has.
        place = np.searchsorted(self._coin_keys, self._key(coins.worker, coins.label))
        first_item = int(self.first_items[number])
        if len(coins) < DENSE * len(self.coins):
            return PackedBlock(self, entry, first_item, pairs, coins, place)
        # From slots among the block's coins to slots among all: twice the place, plus 1 for yes.
        slots = (2 * place[:, None] + [0, 1]).ravel().astype(np.int32)
        return PackedBlock(self, entry, first_item, pairs, replace(self.coins, slot=slots[coins.slot]), None)

    def _check_block(self, entry: Entry, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Raise FileFormatError unless the arrays fit each other, what meta.json says, and the vocabularies."""
        # In this order: each check relies on those before it, or would itself read where nothing is.
        slot, n_votes, label, n_pairs, worker, coin_label = arrays
        sizes = (entry.votes, entry.pairs, entry.pairs, entry.items, entry.coins, entry.coins)
        for array, size in zip(arrays, sizes, strict=True):
            self._must(array.shape == (size,), entry.file, f"an array has {array.shape} entries; {META} says {size}")
        self._must(sums_to(n_votes, entry.votes) and n_votes.all(), entry.file, "votes of pairs must add up")
        self._must(sums_to(n_pairs, entry.pairs), entry.file, "pairs of items must add up")
        self._must(below(label, len(self.label_names)), entry.file, "a label of a pair is not in labels.arrow")
        self._must(below(slot, 2 * entry.coins), entry.file, "a vote has no coin")
        self._check_coins(entry.file, worker, coin_label)
        keys = self._key(worker, coin_label)
        self._must(find_sorted(self._coin_keys, keys)[1].all(), entry.file, "a coin is not in coins.npy")
        # The label of a vote is written twice, in its coin and in its pair: both are used, so both must agree.
        of_pair = np.repeat(label, n_votes)
        self._must((coin_label[slot >> 1] == of_pair).all(), entry.file, "a vote and its pair differ in the label")
        self._must(rises(slot >> 1, n_votes), entry.file, "votes of a pair must be sorted, each worker once")
        self._must(rises(label, n_pairs), entry.file, "pairs of an item must be sorted, each label once")

    def item_names(self, entry: Entry) -> pa.Array:
        """Names of a block's items."""
        names = self._names(entry.names_file, entry.names_checksum)
        self._must(len(names) == entry.items, entry.names_file, f"it must name {entry.items} items, as {META} says")
        return names

    def votes(self) -> Votes:
        """All votes in memory, as reading the packed files together would give them."""
        # Vocabularies of workers and labels are shared; items of a block count from 0 and move to their places.
        blocks = [self.block(number).votes(names=True) for number in range(len(self.entries))]
        item = [votes.item + np.int32(first) for votes, first in zip(blocks, self.first_items, strict=False)]
        worker, label, value = (
            np.concatenate([getattr(votes, role) for votes in blocks]) for role in ("worker", "label", "value")
        )
        names = pa.concat_arrays([votes.item_names for votes in blocks])
        votes = Votes(
            np.concatenate(item), worker, label, value, names, self.worker_names, self.label_names, self.reading
        )
        # Names that were appended stand behind the others; labels that the user gave have the order of the list.
        given = self.terms is not None and self.terms.labels_given
        return votes.with_sorted_names(labels=not given) if self.appended else votes

    def _read(self, name: str, checksum: int) -> bytes:
        """The content of a file that has this checksum."""
        path = self.folder / name
        try:
            content = path.read_bytes()
        except OSError as error:
            gone = " (start again if votes were appended meanwhile)" * isinstance(error, FileNotFoundError)
            raise FileFormatError(_unreadable(path, f"{error.strerror or error}{gone}")) from None
        if name not in self._checked:
            if zlib.crc32(content) != checksum:
                raise FileFormatError(_unreadable(path, "its checksum is not the one it was written with"))
            self._checked.add(name)
        return content

    def _arrays(self, name: str, checksum: int, n_arrays: int) -> list[npt.NDArray[Any]]:
        """Arrays of whole numbers that stand one after the other in a file."""
        stream = io.BytesIO(self._read(name, checksum))
        try:
            with READING_HEADERS:
                arrays = [np.load(stream, allow_pickle=False) for _ in range(n_arrays)]
        except Exception:  # numpy raises many kinds, and what it says is not for users; it cannot run code: no pickles
            raise FileFormatError(_unreadable(self.folder / name, f"it does not hold {n_arrays} arrays")) from None
        fits = all(isinstance(array, np.ndarray) and array.dtype.kind in "iu" for array in arrays)
        self._must(fits and not stream.read(1), name, f"it must hold {n_arrays} arrays of whole numbers, nothing else")
        return arrays

    def _names(self, name: str, checksum: int) -> pa.Array:
        """A vocabulary, of at least one name."""
        try:
            names = names_from_bytes(self._read(name, checksum))
        except ValueError as error:
            raise FileFormatError(_unreadable(self.folder / name, str(error))) from None
        self._must(len(names), name, "it holds no name")
        return names


class PackedEngine(Engine):
    """What engines over packed votes share: the folder, and its identity in checkpoints.

    packed : the folder, or its path
    """

    def __init__(self, packed: PackedVotes | str | Path, checkpoint: Checkpoint | None = None) -> None:
        self.packed: PackedVotes = packed if isinstance(packed, PackedVotes) else PackedVotes(packed)
        super().__init__(self.packed, self.packed.n_pairs, checkpoint)
        self.identity: str = f"packed votes {self.packed.identity:08x}"


def _unreadable(path: Path, reason: str) -> str:
    """What is said of a file that is damaged: which, why, and the way out."""
    return f"{path} cannot be read: {reason}. Copy the folder again, or pack the votes again."


def _codes(array: npt.NDArray[Any]) -> Codes:
    """Codes as wide as they are everywhere else, from whatever width they had on disk."""
    return array.astype(np.int32, copy=False)


# -- writing -------------------------------------------------------------------------------------------------------


def block_arrays(votes: Votes) -> Iterator[npt.NDArray[Any]]:
    """What a fit needs of votes: slots, votes and label of each pair, pairs of each item, worker and label of coins.

    Each array in the narrowest type that holds its largest number: most votes then take two bytes. Counts are written
    instead of places, since they are smaller; reading adds them up again.
    """
    coins, pairs = votes.coins, votes.pairs
    n_pairs = np.bincount(pairs.item, minlength=votes.n_items)
    for array in (coins.slot, pairs.n_votes, pairs.label, n_pairs, coins.worker, coins.label):
        yield array.astype(np.min_scalar_type(int(array.max(initial=0))))


def write_block(folder: Path, number: int, votes: Votes) -> Entry:
    """Write a block of votes, with its own items as vocabulary, and say what meta.json must know of it."""
    # Twice an entry, since its number gives the names of the files and these give the checksums.
    entry = Entry(number, len(votes), len(votes.pairs), votes.n_items, len(votes.coins), 0, 0)
    checksum = write_arrays(folder / entry.file, block_arrays(votes))
    names_checksum = write_names(folder / entry.names_file, votes.item_names)
    return Entry(**{**asdict(entry), "checksum": checksum, "names_checksum": names_checksum})


def write_arrays(path: Path, arrays: Iterator[npt.NDArray[Any]] | Sequence[npt.NDArray[Any]]) -> int:
    """Write arrays one after the other; the checksum of the file.

    In memory first, since a checksum of what was meant to be written also finds errors of the disk.
    """
    buffer = io.BytesIO()
    for array in arrays:
        np.save(buffer, array, allow_pickle=False)
    return _write(path, buffer.getvalue())


def write_names(path: Path, names: pa.Array) -> int:
    """Write a vocabulary; the checksum of the file."""
    return _write(path, names_to_bytes(names))


def shared_file(name: str, appended: int) -> str:
    """What a file that all blocks share is called when votes were appended so many times.

    >>> shared_file("coins.npy", 0), shared_file("coins.npy", 2)
    ('coins.npy', 'coins-2.npy')
    """
    stem, dot, suffix = name.partition(".")
    return f"{stem}-{appended}{dot}{suffix}" if appended else name


def write_shared(folder: Path, workers: pa.Array, labels: pa.Array, coins: Codes, appended: int = 0) -> dict[str, int]:
    """Write what all blocks share; the checksums."""
    path = {name: folder / shared_file(name, appended) for name in SHARED}
    return {
        "workers.arrow": write_names(path["workers.arrow"], workers),
        "labels.arrow": write_names(path["labels.arrow"], labels),
        "coins.npy": write_arrays(path["coins.npy"], [coins]),
    }


def write_meta(
    folder: Path, entries: Sequence[Entry], checksums: Mapping[str, int], reading: Reading, terms: Terms,
    appended: int = 0,
) -> None:  # fmt: skip
    """Write what makes the folder complete: last of all, so a packing that was killed leaves no meta.json."""
    meta = {
        "format": FORMAT,
        "appended": appended,
        "blocks": [asdict(entry) for entry in entries],
        "checksums": dict(checksums),
        "reading": asdict(reading),
        "terms": asdict(terms),
    }
    with whole_file(folder / META) as temporary:
        temporary.write_text(json.dumps(meta, indent=1), encoding="utf-8")
        put_on_disk(temporary)  # before it takes the place of one that can be read


def _write(path: Path, content: bytes) -> int:
    """Write a file that is whole or absent; its checksum."""
    # CRC-32 finds accidents of copying quickly. It is no protection against bad will.
    with whole_file(path) as temporary:
        temporary.write_bytes(content)
    return zlib.crc32(content)
