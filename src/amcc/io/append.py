"""Appending: new votes join a packed folder, and only the blocks of their items are written again.

New workers and labels get codes behind the old ones, so the codes in all other blocks stay right. Items stay sorted
over all blocks: a new one joins the block in whose range its name falls, and a block that has grown too large is cut.

Files are never changed. New ones are written beside those that meta.json names, under new names; then a new meta.json
takes the place of the old one, in one step; then what it does not name goes. Whoever is killed, or finds the disk full,
leaves the folder as it was before or as it is after, and files that the next append removes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc import tables
from amcc.arrays import Codes, Ints, all_keys, find_sorted
from amcc.engine.base import coin_keys
from amcc.engine.packed import SHARED, Entry, PackedVotes, shared_file, write_block, write_meta, write_shared
from amcc.errors import ConflictError, IdError, InputError, ParameterError
from amcc.files import alone_in, check_readable, put_on_disk, remove_left_behind
from amcc.io import exchange, read_votes
from amcc.io.pack import Progress, further_samples
from amcc.tables import Coded
from amcc.votes import Terms, Votes
from amcc.votes.vote_keys import KeyLayout

# A block is cut when it is this many times as large as blocks are meant to be: less, and blocks that were packed a
# little larger than others would be cut when they are first touched.
TOO_LARGE = 2

# Files of a packed folder, whether meta.json names them or not.
FILES = re.compile(r"(block-\d+|(workers|labels|coins)(-\d+)?)\.(npy|arrow)")

# What stands before the name of a file while it is written (`amcc.files.whole_file`).
UNFINISHED = re.compile(r"\.part-.{8}-")


def append_votes(
    path: str | Path, folder: str | Path, *, progress: Progress | None = None, **reading: Any
) -> PackedVotes:
    """Add the votes of a file to a folder of packed votes.

    What comes out is what packing all files together would give, except that new workers and labels stand behind the
    old ones. A vote that is there already counts once; where nothing is new, nothing changes. New votes are read into
    memory; of the folder, only blocks with their items are read and written.

    Parameters
    ----------
    path, reading
        As for `amcc.read_votes`. What concerns the meaning of rows (unmentioned, threshold, zero, on_conflict, labels)
        must be what the folder was packed with.
    progress
        Called with what is going on, how far it is, and how far it goes.
    """
    path, folder = Path(path), Path(folder)
    with alone_in(folder):
        packed = PackedVotes(folder)
        terms = _checked_terms(packed, reading)
        _remove_leftovers(packed)  # of an append that was killed
        new = _read(path, packed, terms, reading)
        try:
            _Append(path, packed, terms, new).write(progress or (lambda what, done, total: None))
        finally:
            _remove_leftovers(PackedVotes(folder))
        return PackedVotes(folder)


# -- reading -------------------------------------------------------------------------------------------------------


def _checked_terms(packed: PackedVotes, reading: Mapping[str, Any]) -> Terms:
    """How the folder was read. Raises where the new votes would be read otherwise."""
    terms = packed.terms
    if terms is None:
        raise InputError(
            f"{packed.folder} was packed by an older amcc and does not say how its votes were read, so none can be "
            "appended. Pack all votes again."
        )
    given = Terms.of(reading, terms.block_votes)
    for name, wanted in asdict(terms).items():
        if getattr(given, name) != wanted and name != "labels_given":
            said = f"{wanted!r}" if wanted is not None else "no such option"
            raise ParameterError(
                f"new votes must be read as those in {packed.folder} were: {exchange.flag(name)} was {said}, and is "
                f"{getattr(given, name)!r} now. Give the same, or pack all votes again."
            )
    labels = reading.get("labels")
    same = labels is None or tables.vocabulary_of(labels, "label").cast(pa.string()).equals(
        packed.label_names.cast(pa.string())
    )
    if given.labels_given != terms.labels_given or not same:
        before = tables.listed(packed.label_names[:12].to_pylist()) if terms.labels_given else "not given"
        raise ParameterError(
            f"new votes must be read as those in {packed.folder} were: the label list was {before}, and is now "
            f"{'not given' if labels is None else 'another'}. Give the same, or pack all votes again."
        )
    return terms


def _read(path: Path, packed: PackedVotes, terms: Terms, reading: Mapping[str, Any]) -> Votes:
    """The new votes."""
    check_readable(path)  # not another folder
    if terms.unmentioned != "absent" and not terms.labels_given:
        votes = read_votes(path, format="table", **reading)
    else:
        try:
            votes = read_votes(path, format="table", **{**reading, "labels": packed.label_names})
        except IdError as error:
            if terms.labels_given:
                raise
            raise IdError(
                f"{error} (No label can be new here: what an answer does not mention is absent, so each answer that is "
                "packed would have to deny it. Pack all votes together.)"
            ) from None
    if votes.reading.samples:
        raise further_samples(path, votes.reading.samples)
    return votes


def _of_type(names: pa.Array, kind: pa.DataType, role: str, path: Path) -> pa.Array:
    """Names as the folder has them, text or whole numbers: 7 is "7"."""
    if names.type == kind or not pa.types.is_integer(kind):
        return names.cast(kind)
    try:
        numbers = names.cast(kind)
    except pa.ArrowInvalid:
        numbers = None
    # "007" is another name than 7.
    if numbers is None or not numbers.cast(names.type).equals(names):
        raise IdError(
            f"{path}: every {role} must be a whole number, as in the packed votes; some are text, like "
            f"{tables.listed(names[:3].to_pylist())}. Correct the file, or pack all votes together as text."
        )
    return numbers


def _with_new(names: pa.Array, more: pa.Array) -> pa.Array:
    """The vocabulary with new names behind the old ones, in their own order."""
    return pa.concat_arrays([names, more.filter(pc.invert(pc.is_in(more, value_set=names)))])


def _places(names: pa.Array, vocabulary: pa.Array) -> Codes:
    """(n_names,) where each name stands in a vocabulary that has it."""
    return np.asarray(pc.index_in(names, value_set=vocabulary)).astype(np.int32)


# -- joining -------------------------------------------------------------------------------------------------------


class _Append:
    """New votes of a file, and the packed ones that they join.

    names : the vocabularies of workers and labels, the old names first
    new : the new votes as codes into them, in the order of items, whose names are sorted
    repeated, resolved : new votes that were there already, and those that took the place of a contradicting one
    """

    def __init__(self, path: Path, packed: PackedVotes, terms: Terms, read: Votes) -> None:
        self.path, self.packed, self.terms = path, packed, terms
        self.columns = {**packed.reading.columns, **read.reading.columns}
        self.read = read.reading
        self.repeated = self.resolved = 0
        self.first_name = cache(lambda number: packed.item_names(packed.entries[number])[0].as_py())
        kinds = {"worker": packed.worker_names.type, "label": packed.label_names.type}
        kinds["item"] = packed.item_names(packed.entries[0]).type
        own = {role: _of_type(getattr(read, f"{role}_names"), kind, role, path) for role, kind in kinds.items()}
        self.names = {
            "worker": _with_new(packed.worker_names, own["worker"]),
            "label": _with_new(packed.label_names, own["label"]),
            "item": own["item"].take(pc.sort_indices(own["item"])),  # numbers that became text have another order
        }
        codes = {role: _places(own[role], self.names[role])[getattr(read, role)] for role in own}
        order = np.argsort(codes["item"], kind="stable")
        item, worker, label = (codes[role][order] for role in ("item", "worker", "label"))
        self.new = self._votes(item, worker, label, read.value[order], self.names["item"])

    def _votes(self, item: Codes, worker: Codes, label: Codes, value: Any, item_names: pa.Array) -> Votes:
        return Votes(item, worker, label, value, item_names, self.names["worker"], self.names["label"])

    def write(self, report: Progress) -> None:
        """Write the blocks that change, what all blocks share, and last of all meta.json."""
        packed, parts, entries = self.packed, dict(self._parts()), list[Entry]()
        number = 1 + max(entry.number for entry in packed.entries)  # never one that a file had before
        for place, entry in enumerate(packed.entries):
            report("packing blocks", place, len(packed.entries))
            joined = self._joined(packed.block(place).votes(names=True), parts[place]) if place in parts else None
            if joined is None:
                entries.append(entry)
                continue
            for piece in pieces(joined, self.terms.block_votes):
                entries.append(write_block(packed.folder, number, piece))
                number += 1
        if entries != list(packed.entries) or self._has_new_names():
            self._complete(entries)

    def _has_new_names(self) -> bool:
        """Whether there are workers or labels that were not there: also those without a vote are known."""
        old = {"worker": self.packed.worker_names, "label": self.packed.label_names}
        return any(len(self.names[role]) > len(names) for role, names in old.items())

    def _parts(self) -> Iterator[tuple[int, Votes]]:
        """For each block that has some of the new items in its range, its place and the votes on them."""
        names, n_blocks = self.names["item"], len(self.packed.entries)
        first = 0
        while first < len(names):
            # The last block that does not begin after the item; what is before all blocks joins the first.
            place = max(0, bisect_right(range(n_blocks), names[first].as_py(), key=self.first_name) - 1)
            last = len(names)
            if place + 1 < n_blocks:
                last = bisect_left(names, self.first_name(place + 1), key=lambda name: name.as_py())
            yield place, _of_items(self.new, first, last)
            first = last

    def _joined(self, old: Votes, new: Votes) -> Votes | None:
        """The votes of a block with the new ones; None where nothing is new."""
        item_names = tables.with_further_names(old.item_names, new.item_names)
        layout = KeyLayout.of({**self.names, "item": item_names})
        keys, more = (_keys(votes, item_names, layout) for votes in (old, new))
        more.sort()
        place, again = find_sorted(keys >> 1, more >> 1)
        contradict = more[again][keys[place[again]] != more[again]]
        self._check(again.sum(), contradict, layout, item_names)
        if again.all() and not len(contradict) and len(item_names) == old.n_items:
            self.repeated += len(more)
            return None
        self.repeated += int(again.sum()) - len(contradict)
        self.resolved += len(contradict)
        keys[place[again]] = more[again]  # the last one counts
        more = more[~again]
        item, worker, label, value = layout.unpack(np.insert(keys, np.searchsorted(keys, more), more))
        return self._votes(item, worker, label, value, item_names)

    def _check(self, n_again: int, contradict: Ints, layout: KeyLayout, item_names: pa.Array) -> None:
        """Raise where a question has a packed vote already, and it cannot be known which one counts."""
        if n_again and (self.terms.on_conflict == "samples" or "sample" in self.columns):
            raise further_samples(self.path, n_again)
        ticks = "value" not in self.read.columns and "label" in self.read.columns
        if not len(contradict):
            return
        if ticks:
            way_out = "Where rows are ticks, all rows of an answer must be in one file: pack all votes together."
        elif self.terms.on_conflict == "error":
            way_out = "Remove one of them, or pack all votes together and let the last one count: --on-conflict last."
        elif "time" in self.columns:
            way_out = "Packed votes do not say when they were given: pack all votes together."
        else:
            return
        item, worker, label, _ = (int(code[0]) for code in layout.unpack(contradict[:1]))
        who, about, what = self.names["worker"][worker], item_names[item], self.names["label"][label]
        more = f" There are {len(contradict)} such cases." if len(contradict) > 1 else ""
        raise ConflictError(
            f"{self.path}: a worker must say yes or no to a question, not both; worker {who.as_py()!r} says both for "
            f"item {about.as_py()!r}, label {what.as_py()!r}: one here, the other in the packed votes.{more} {way_out}"
        )

    def _complete(self, entries: list[Entry]) -> None:
        """Write what all blocks share, then meta.json."""
        packed, appended = self.packed, self.packed.appended + 1
        folder, n_labels = packed.folder, len(self.names["label"])
        of_both = (coin_keys(coins.worker, coins.label, n_labels) for coins in (packed.coins, self.new.coins))
        keys = all_keys(of_both, len(self.names["worker"]) * n_labels)
        coins = np.stack(np.divmod(keys, n_labels)).astype(np.int32)
        checksums = write_shared(folder, self.names["worker"], self.names["label"], coins, appended)
        written = [entry for entry in entries if entry not in packed.entries]
        files = [name for entry in written for name in (entry.file, entry.names_file)]
        put_on_disk(*(folder / name for name in [*files, *(shared_file(name, appended) for name in SHARED)]), folder)
        if PackedVotes(folder).identity != packed.identity:  # where the system has no locks, or votes were packed anew
            raise InputError(f"{folder} was changed by somebody else meanwhile. Append the votes once more.")
        before, now = packed.reading, self.read
        reading = replace(
            before,
            columns=self.columns,
            duplicates_dropped=before.duplicates_dropped + now.duplicates_dropped + self.repeated,
            conflicts_resolved=before.conflicts_resolved + now.conflicts_resolved + self.resolved,
            blanks=before.blanks + now.blanks,
        )
        write_meta(folder, entries, checksums, reading, self.terms, appended)
        put_on_disk(folder)  # before the files that were named until now go


def _of_items(votes: Votes, first: int, last: int) -> Votes:
    """The votes on a range of items, counted from 0; votes are in the order of items."""
    start, end = np.searchsorted(votes.item, [first, last])
    codes = {role: getattr(votes, role)[start:end] for role in ("worker", "label", "value")}
    names = votes.item_names.slice(first, last - first)
    return replace(votes, item=votes.item[start:end] - np.int32(first), item_names=names, **codes)


def _keys(votes: Votes, item_names: pa.Array, layout: KeyLayout) -> Ints:
    """(n_votes,) the votes as keys, with items counted as in a larger vocabulary."""
    item = _places(votes.item_names, item_names)[votes.item]
    return layout.pack(*(Coded.of(code) for code in (item, votes.label, votes.worker, votes.value)))


def pieces(votes: Votes, block_votes: int) -> Iterator[Votes]:
    """The votes of a block as one, or of one that has grown too large as several of about the size that is meant."""
    n_pieces = round(len(votes) / block_votes) if len(votes) > TOO_LARGE * block_votes else 1
    starts = np.searchsorted(votes.item, np.arange(votes.n_items))
    ends = np.searchsorted(starts, np.linspace(0, len(votes), n_pieces + 1)[1:-1])
    for first, last in pairwise(np.unique([0, *ends, votes.n_items]).tolist()):
        yield _of_items(votes, first, last)


def _remove_leftovers(packed: PackedVotes) -> None:
    """Remove what meta.json does not name: from before the last append, or from one that was killed."""
    named = {name for entry in packed.entries for name in (entry.file, entry.names_file)}
    named |= {shared_file(name, packed.appended) for name in SHARED}
    for path in packed.folder.iterdir():
        if FILES.fullmatch(path.name) and path.name not in named:
            path.unlink(missing_ok=True)
        elif unfinished := UNFINISHED.match(path.name):
            remove_left_behind(path.with_name(path.name[unfinished.end() :]))
