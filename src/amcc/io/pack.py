"""Packing: from a table of votes of any size to a folder of blocks, with little memory.

Three passes. The *survey* reads the table once: which workers and labels there are, whether every value is a vote, and
a sample of items that cuts them into ranges of about equally many rows. The *partition* reads it again and puts each
row into the bucket of its item's range. Then every bucket, small by now, is read as any table of votes is, checked, and
written as a block. Buckets and finished blocks wait beside the folder until it is complete: an interrupted packing goes
on where it was.
"""

from __future__ import annotations

import json
import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc import tables
from amcc.arrays import Codes, Ints, all_keys
from amcc.engine.base import coin_keys
from amcc.engine.packed import META, Entry, PackedVotes, write_block, write_meta, write_names, write_shared
from amcc.errors import EmptyInputError, InputError
from amcc.fields import names_from_bytes
from amcc.files import make_folder, whole_file, written_to
from amcc.io import naming, read_batches
from amcc.threads import in_few_threads, read_ahead
from amcc.votes import Reading, Terms, Votes, roles_read

# Votes of a block, about: some ten megabytes, a few of which are in memory at a time.
BLOCK_VOTES = 1_000_000

# Blocks that are made at a time, however many cores there are: one takes some hundred megabytes meanwhile.
MOST_AT_A_TIME = 4

# Rows of a batch that are looked at to cut ranges: a batch has some 100 000, and ranges need only be about equal.
SAMPLED_ROWS = 1000

# Files that may be open at the same time: many systems allow 1024.
MOST_BUCKETS = 500

# Lists of distinct names that are kept before they are merged: merging each time would look at all names each time.
MOST_LISTS = 20

# Written when all rows are in their buckets: without it, a packing begins again.
PLAN = "plan.json"
# Called with what is going on, how far it is, and how far it goes (0: not known).
Progress = Callable[[str, int, int], object]


def pack_votes(
    path: str | Path,
    folder: str | Path,
    *,
    overwrite: bool = False,
    block_votes: int = BLOCK_VOTES,
    progress: Progress | None = None,
    **reading: Any,
) -> PackedVotes:
    """Make a folder of packed votes from a file.

    Parameters
    ----------
    path, reading
        As for `amcc.read_votes`.
    overwrite
        Whether packed votes that are already there may make way, once the new ones are complete.
    block_votes
        Votes of a block, about: a few blocks are in memory at a time.
    progress
        Called with what is going on, how far it is, and how far it goes.
    """
    path, folder = Path(path), Path(folder)
    _check_free(folder, overwrite)
    work = folder.with_name(f".packing-{folder.name}")
    report = progress or (lambda what, done, total: None)
    source = Source(path, reading, block_votes)
    plan = _resumed(work, source) or _partition(work, source, report)
    entries, readings, n_blocks = list[Entry](), list[Reading](), len(plan.bounds) + 1
    report("packing blocks", 0, n_blocks)
    for entry, decided in in_few_threads(lambda number: _block(work, number, source, plan), n_blocks, MOST_AT_A_TIME):
        entries.append(entry)
        readings.append(decided)
        report("packing blocks", len(entries), n_blocks)
    _complete(
        work, [entry for entry in entries if entry.items], _all_of(readings), plan, Terms.of(reading, block_votes)
    )
    _take_place(work, folder)
    return PackedVotes(folder)


def _check_free(folder: Path, overwrite: bool) -> None:
    """Raise InputError where something else is there, or packed votes that must not make way."""
    if (folder / META).exists():
        if not overwrite:
            raise InputError(f"{folder} holds packed votes already. Choose another folder, or say --overwrite.")
    elif folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise InputError(f"{folder} is there and is not a folder of packed votes. Choose another one.")


@dataclass(frozen=True)
class Source:
    """A file of votes, how it is to be read, and about how many votes a block is to have."""

    path: Path
    reading: Mapping[str, Any]
    block_votes: int

    def batches(self) -> Iterator[pa.Table]:
        """Its rows, some at a time, with the columns that matter."""

        def role_columns(names: Sequence[str]) -> list[str]:
            return list(tables.match_columns(names, self.reading.get("columns"), roles=self._roles_read()).values())

        for batch in read_ahead(read_batches(self.path, role_columns, separator=self.reading.get("separator"))):
            if batch.num_rows:
                yield pa.Table.from_batches([batch])

    def columns(self, table: pa.Table) -> tables.Columns:
        """Which column is what."""
        return tables.read_columns(table, self.reading.get("columns"), roles=self._roles_read())

    def _roles_read(self) -> tuple[tables.Role, ...]:
        return roles_read(self.reading.get("on_conflict") or "error")

    def identity(self) -> dict[str, Any]:
        """What must be the same for a packing to go on."""
        state = self.path.stat()
        return {
            "path": str(self.path.resolve()),
            "size": state.st_size,
            "changed": state.st_mtime_ns,  # a hash would need another pass over the file
            "reading": repr(sorted((name, _repeatable(value)) for name, value in self.reading.items())),
            "block_votes": self.block_votes,
        }


def _repeatable(value: Any) -> Any:
    """Lists, arrays and sets of names as lists: other kinds of the same names are the same option."""
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else value


@dataclass(frozen=True)
class Plan:
    """What the survey found.

    worker_names, label_names : the vocabularies of all blocks, sorted.
    bounds : the first items of all buckets but the first.
    items : items that the user named beside those of the table, sorted.
    """

    worker_names: pa.Array
    label_names: pa.Array
    bounds: pa.Array
    items: pa.Array | None


# -- survey --------------------------------------------------------------------------------------------------------


class _Survey:
    """Distinct workers, labels and values, and a sample of the items of rows.

    Items are as many as fill the memory, perhaps: of them only a sample is kept. rows : how many there were; votes :
    how many they may become.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.distinct: dict[str, list[pa.Array]] = {"worker": [], "label": [], "value": []}
        self.sample: list[pa.Array] = []
        self.rows = 0
        self.votes = 0

    def look_at(self, table: pa.Table) -> None:
        """Note what the rows of a batch hold."""
        columns = self.source.columns(table)
        with _counting_from(self.rows):
            item = columns.distinct_ids("item")
            self._add("worker", columns.distinct_ids("worker").names)
            stride = max(1, len(item.codes) // SAMPLED_ROWS)
            # Rows, not distinct items: a range must hold about equally many rows, however many an item has.
            self.sample.append(item.names.take(pa.array(item.codes[::stride])))
            self.votes += self._look_at_labels(columns)
            if columns.has("value"):
                # The spellings of a vote are told apart by what they are together: 0 beside −1 needs an explanation.
                cells = columns.cells("value")
                self._add("value", pc.unique(cells.cast(tables.value_type(cells))))
        self.rows += table.num_rows

    def _look_at_labels(self, columns: tables.Columns) -> int:
        """Note the labels; how many votes the rows may become."""
        n_votes = int(columns.table.num_rows)
        if columns.has("label"):
            self._add("label", columns.distinct_ids("label").names)
        list_roles: tuple[tables.Role, ...] = ("labels", "asked")
        for role in filter(columns.has, list_roles):
            lists = columns.lists(role, self.source.reading.get("label_separator"))
            self._add("label", lists.labels.names)
            n_votes = max(n_votes, len(lists.row))
        return n_votes

    def _add(self, what: str, names: pa.Array) -> None:
        known = self.distinct[what]
        if known and known[0].type != names.type:  # labels given as numbers, and asked as text
            names, known[:] = names.cast(pa.string()), [each.cast(pa.string()) for each in known]
        known.append(names)
        if len(known) > MOST_LISTS:
            self.distinct[what] = [pc.unique(pa.concat_arrays(known))]

    def names_of(self, role: str) -> pa.Array:
        """The vocabulary of workers or labels, sorted."""
        names = pc.unique(pa.concat_arrays(self.distinct[role]))
        return names.take(pc.sort_indices(names))

    def bounds(self, n_buckets: int) -> pa.Array:
        """The first item of all buckets but the first, by the sample."""
        sample = pa.concat_arrays(self.sample)
        sample = sample.take(pc.sort_indices(sample))
        # Cuts at the same item fall together: all rows of an item go into one bucket.
        cuts = np.unique(np.linspace(0, len(sample), n_buckets + 1)[1:-1].astype(np.int64))
        bounds = pc.unique(sample.take(pa.array(cuts)))
        return bounds.filter(pc.not_equal(bounds, sample[0]))  # the first bucket, too, must have a row


def _survey(source: Source, report: Progress) -> tuple[Plan, int]:
    """Look at all rows once; also how many there are."""
    survey = _Survey(source)
    for table in source.batches():
        with naming(source.path):
            survey.look_at(table)
        report("looking at rows", survey.rows, 0)
    if survey.rows == 0:
        raise EmptyInputError(f"{source.path}: there must be at least one vote; the table has columns but no rows.")
    reading, distinct = source.reading, survey.distinct["value"]
    given = reading.get("labels")
    labels = survey.names_of("label") if given is None else tables.vocabulary_of(given, "label")
    if distinct:
        with naming(source.path):
            values = pa.chunked_array([pc.unique(pa.concat_arrays(distinct))])
            tables.parse_values(values, "value", threshold=reading.get("threshold"), zero=reading.get("zero"))
        n_votes = survey.votes
    else:  # only ticks are recorded: an answer may speak of all labels
        n_votes = survey.rows * len(labels) if reading.get("unmentioned") == "absent" else survey.votes
    # More buckets than files may be open make larger blocks: slower, never wrong.
    n_buckets = min(max(1, round(n_votes / source.block_votes)), MOST_BUCKETS)
    return Plan(survey.names_of("worker"), labels, survey.bounds(n_buckets), _further_items(source)), survey.rows


@contextmanager
def _counting_from(row: int) -> Iterator[None]:
    """Errors about a batch count its rows; say where it begins."""
    try:
        yield
    except InputError as error:
        more = f" (Rows are counted from row {row + 1:,} of the table.)" if row else ""
        raise type(error)(f"{error}{more}") from None


# -- partition -----------------------------------------------------------------------------------------------------


def _partition(work: Path, source: Source, report: Progress) -> Plan:
    """Put every row into the bucket of its item."""
    # What another file, or other options, left here is of no use.
    shutil.rmtree(work, ignore_errors=True)
    plan, n_rows = _survey(source, report)
    make_folder(work)
    done = 0
    with written_to(work), ExitStack() as stack:  # closing writes, too
        buckets: dict[int, Any] = {}
        for table in source.batches():
            for number, rows in _rows_of_buckets(source.columns(table), plan.bounds):
                if number not in buckets:
                    sink = stack.enter_context(pa.OSFile(str(_bucket(work, number)), "wb"))
                    buckets[number] = stack.enter_context(pa.ipc.new_stream(sink, rows.schema))
                buckets[number].write_table(rows)
            done += table.num_rows
            report("sorting rows by item", done, n_rows)
    write_names(work / "workers.arrow", plan.worker_names)
    write_names(work / "labels.arrow", plan.label_names)
    write_names(work / "bounds.arrow", plan.bounds)
    with whole_file(work / PLAN) as temporary:
        temporary.write_text(json.dumps(source.identity()))
    return plan


def _resumed(work: Path, source: Source) -> Plan | None:
    """The plan of an earlier packing of the same file, if its rows are all in their buckets."""
    try:
        if json.loads((work / PLAN).read_text()) != source.identity():
            return None
        files = (work / f"{what}.arrow" for what in ("workers", "labels", "bounds"))
        workers, labels, bounds = (names_from_bytes(file.read_bytes()) for file in files)
    except (OSError, ValueError):
        return None
    return Plan(workers, labels, bounds, _further_items(source))


def _further_items(source: Source) -> pa.Array | None:
    """Items that the user named beside those of the table, sorted."""
    given = source.reading.get("items")
    if given is None:
        return None
    names = tables.vocabulary_of(given, "item")
    return names.take(pc.sort_indices(names))


def _bucket(work: Path, number: int) -> Path:
    return work / f"bucket-{number:05}.arrow"


def _rows_of_buckets(columns: tables.Columns, bounds: pa.Array) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each bucket that has some, in their order."""
    table, ids = columns.table, columns.ids("item")
    first = np.array(_places(ids.names, bounds), dtype=np.int64)
    of_name = np.searchsorted(first, np.arange(len(ids.names)), side="right").astype(np.int16)
    bucket = of_name[ids.codes]
    # Stable: where the last vote counts and there is no time, the order of rows says which that is.
    if (bucket[1:] < bucket[:-1]).any():
        order = np.argsort(bucket, kind="stable")
        table, bucket = table.take(pa.array(order)), bucket[order]
    numbers, starts = np.unique(bucket, return_index=True)
    for number, start, end in zip(numbers.tolist(), starts, np.append(starts[1:], len(bucket)), strict=True):
        yield number, _compact(table.slice(start, end - start))


def _places(names: pa.Array, bounds: pa.Array) -> list[int]:
    """Where each bound would stand among the sorted names: the first name that is not before it."""
    return [bisect_left(names, bound, key=lambda name: name.as_py()) for bound in bounds.to_pylist()]


def _compact(table: pa.Table) -> pa.Table:
    """The table with dictionaries of what it uses itself, not of what the whole batch uses."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        encoded = pa.types.is_dictionary(column.type)
        columns[name] = pa.chunked_array(map(_used_only, column.chunks)) if encoded else column
    return pa.table(columns)


def _used_only(cells: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same cells with a dictionary of those entries that occur, renumbered."""
    indices = cells.indices
    used = np.bincount(np.asarray(indices.drop_null()), minlength=len(cells.dictionary)) > 0
    place = pa.array(np.cumsum(used, dtype=np.int32) - 1)
    return pa.DictionaryArray.from_arrays(place.take(indices), cells.dictionary.filter(pa.array(used)))


# -- blocks --------------------------------------------------------------------------------------------------------


def _block(work: Path, number: int, source: Source, plan: Plan) -> tuple[Entry, Reading]:
    """A finished block: of an earlier run, or made now."""
    return _finished(work, number) or _pack_bucket(work, number, source, plan)


def _pack_bucket(work: Path, number: int, source: Source, plan: Plan) -> tuple[Entry, Reading]:
    """Read a bucket as votes and write them as a block; what was decided is noted beside it."""
    path = _bucket(work, number)
    with pa.OSFile(str(path)) as file:  # every bucket has a row: its first item was in the sample
        table = pa.ipc.open_stream(file).read_all()
    votes = _votes_of(table, source, plan, _items_between(plan, number))
    if votes.reading.samples:
        raise further_samples(source.path, votes.reading.samples)
    entry = write_block(work, number, votes)
    with whole_file(work / f"entry-{number:05}.json") as temporary:
        temporary.write_text(json.dumps([asdict(entry), asdict(votes.reading)]))
    path.unlink()  # only now: a packing that is killed before reads the bucket again
    return entry, votes.reading


def further_samples(path: Path, n_samples: int) -> InputError:
    """The error that packed votes have no room for samples."""
    return InputError(
        f"{path}: packed votes hold one vote of each worker on a question; {n_samples:,} are further samples. Read the "
        "file as it is, or keep one sample of each worker."
    )


def _items_between(plan: Plan, number: int) -> pa.Array | None:
    """Further items, given by the user, that belong to the bucket."""
    if plan.items is None:
        return None
    cuts = [0, *_places(plan.items, plan.bounds), len(plan.items)]
    return plan.items.slice(cuts[number], cuts[number + 1] - cuts[number])


def _votes_of(table: pa.Table, source: Source, plan: Plan, items: pa.Array | None) -> Votes:
    """The bucket's votes, with the vocabularies of all."""
    options = {name: value for name, value in source.reading.items() if name not in ("separator", "items", "labels")}
    try:
        votes = Votes.from_frame(table, labels=plan.label_names, items=items, **options)
    except EmptyInputError:  # all rows are blank: the items are there, but nobody was asked anything
        votes = _without_votes(table, source, plan, items)
    except InputError as error:
        raise type(error)(
            f"{source.path}: {error} (Rows are counted among those of nearby items, not in the whole table.)"
        ) from None
    # The bucket knows some workers only: their codes become those of all workers.
    worker = np.asarray(pc.index_in(votes.worker_names, value_set=plan.worker_names)).astype(np.int32)
    return replace(votes, worker=worker[votes.worker], worker_names=plan.worker_names)


def _without_votes(table: pa.Table, source: Source, plan: Plan, items: pa.Array | None) -> Votes:
    """The items of rows that are all blank."""
    names = tables.with_further_names(source.columns(table).ids("item").names, () if items is None else items)
    nothing: Codes = np.empty(0, np.int32)
    no_signs, reading = nothing.astype(np.int8), Reading(blanks=table.num_rows)
    return Votes(nothing, nothing, nothing, no_signs, names, plan.worker_names, plan.label_names, reading)


def _finished(work: Path, number: int) -> tuple[Entry, Reading] | None:
    """What an earlier run said about this block, if it finished it."""
    try:
        entry, reading = json.loads((work / f"entry-{number:05}.json").read_text())
        return Entry(**entry), Reading(**reading)
    except (OSError, ValueError, TypeError):
        return None


def _all_of(readings: Sequence[Reading]) -> Reading:
    """What was decided in all blocks together."""
    counts = ("duplicates_dropped", "conflicts_resolved", "blanks")
    last = next((reading for reading in readings if reading.columns), readings[0])
    return replace(last, **{name: sum(getattr(reading, name) for reading in readings) for name in counts})


def _complete(work: Path, entries: Sequence[Entry], reading: Reading, plan: Plan, terms: Terms) -> None:
    """Write the tables that all blocks share, and the description."""
    if sum(entry.votes for entry in entries) == 0:
        raise EmptyInputError("there must be at least one vote; every row is blank, so nobody was asked anything.")
    coins = _all_coins(work, entries, plan)
    checksums = write_shared(work, plan.worker_names, plan.label_names, coins)
    write_meta(work, entries, checksums, reading, terms)
    # The plan goes first: without it, a packing begins again. Buckets and temporary files are left by killed writers.
    leftovers = (path for kind in ("entry-*.json", "bucket-*.arrow", ".part-*") for path in work.glob(kind))
    for leftover in [work / PLAN, work / "bounds.arrow", *leftovers]:
        leftover.unlink(missing_ok=True)


def _all_coins(work: Path, entries: Sequence[Entry], plan: Plan) -> Codes:
    """(2, n_coins) worker and label of every combination that occurs in any block, sorted."""
    n_labels = len(plan.label_names)

    def keys_of(entry: Entry) -> Ints:
        with (work / entry.file).open("rb") as file:
            # In the order of `write_block`: the fifth and sixth are worker and label of the block's coins.
            arrays = [np.load(file, allow_pickle=False) for _ in range(6)]
        return coin_keys(arrays[4], arrays[5], n_labels)

    keys = all_keys(map(keys_of, entries), len(plan.worker_names) * n_labels)
    return np.stack(np.divmod(keys, n_labels)).astype(np.int32)


def _take_place(work: Path, folder: Path) -> None:
    """Put the finished folder where it belongs; what was there before goes only then.

    A full folder cannot be replaced in one step, hence two renamings: whoever is killed between them leaves both.
    """
    old = folder.with_name(f".old-{folder.name}")
    with written_to(folder, f"The votes are in {work}."):
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            folder.rename(old)
        make_folder(folder.parent)
        work.rename(folder)
        shutil.rmtree(old, ignore_errors=True)  # also that of a packing that was killed between the two renamings
